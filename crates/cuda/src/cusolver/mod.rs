//! Matrix decompositions by cuSOLVER. Matrices are column-major without gaps.

mod task;

use std::ffi::c_void;

use cuprous_cuda_sys as sys;
use sys::cusolver::{cudaStream_t, cusolverDnHandle_t, cusolverDnParams_t, cusolverStatus_t};

use crate::codegen::Vendor;
use crate::driver::{self, Context, DevPtr, PinnedBuffer, Stream, is_started};
use crate::error::{CudaError, Result};

pub use task::{Number, Problem, Task};

/// The addresses of a task's operands; see [`Task`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operands {
    /// In the order of the task.
    pub at: [DevPtr; 4],
    /// A status (int32) for each matrix: 0 for success.
    pub info: DevPtr,
    /// The workspace on the device.
    pub workspace: DevPtr,
}

/// The bytes of workspace that a call needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WorkspaceSize {
    /// On the device.
    pub device: usize,
    /// On the host.
    pub host: usize,
}

macro_rules! call {
    ($api:expr, $what:expr, $name:ident($($arg:expr),* $(,)?)) => {
        match &$api.$name {
            Ok(function) => $crate::cusolver::check(stringify!($name), $what, function($($arg),*)),
            Err(e) => Err($crate::driver::missing_symbol(stringify!($name), e)),
        }
    };
}
use call;

fn check(call: &'static str, what: &dyn Fn() -> String, status: cusolverStatus_t) -> Result<()> {
    let status = match driver::vendor() {
        Vendor::Nvidia => status,
        Vendor::Amd => cuprous_hip_sys::cusolver_status(status),
    };
    let status = match status {
        cusolverStatus_t::CUSOLVER_STATUS_SUCCESS => return Ok(()),
        cusolverStatus_t::CUSOLVER_STATUS_NOT_INITIALIZED => "the library is not initialized".into(),
        cusolverStatus_t::CUSOLVER_STATUS_ALLOC_FAILED => "the library is out of memory".into(),
        cusolverStatus_t::CUSOLVER_STATUS_INVALID_VALUE => "an argument has an invalid value".into(),
        cusolverStatus_t::CUSOLVER_STATUS_ARCH_MISMATCH => "the GPU does not support this".into(),
        cusolverStatus_t::CUSOLVER_STATUS_EXECUTION_FAILED => "a kernel failed".into(),
        cusolverStatus_t::CUSOLVER_STATUS_INTERNAL_ERROR => "an internal operation failed".into(),
        cusolverStatus_t::CUSOLVER_STATUS_NOT_SUPPORTED => "not supported".into(),
        other => format!("status {}", other.0),
    };
    Err(CudaError::Library { call, status, what: what() })
}

/// cuSOLVER in one context. Its functions are called one at a time (`&mut self`).
#[derive(Debug)]
pub struct Cusolver {
    handle: cusolverDnHandle_t,
    params: cusolverDnParams_t,
    context: &'static Context,
}

// SAFETY: the handles may be used from any thread, and `&mut self` excludes concurrent use.
unsafe impl Send for Cusolver {}

impl Cusolver {
    /// Loads the library on the first call.
    ///
    /// # Errors
    /// The library is not installed or does not start.
    pub fn new(context: &'static Context) -> Result<Cusolver> {
        let api = driver::cusolver()?;
        context.make_current()?;
        let what: &dyn Fn() -> String = &|| "a new handle".into();
        let mut solver = Cusolver { handle: std::ptr::null_mut(), params: std::ptr::null_mut(), context };
        // SAFETY: each call writes one handle; the context is current.
        unsafe {
            call!(api, what, cusolverDnCreate(&raw mut solver.handle))?;
            call!(api, what, cusolverDnCreateParams(&raw mut solver.params))?;
        }
        Ok(solver)
    }

    /// Returns the workspace of one call. Tasks that are not batched are called once for each matrix.
    ///
    /// # Errors
    /// The library refuses the problem or lacks the function.
    pub fn workspace_size(&mut self, problem: &Problem) -> Result<WorkspaceSize> {
        let api = driver::cusolver()?;
        self.context.make_current()?;
        let mut workspace_size = WorkspaceSize::default();
        // The library reads dimensions and types only, but some functions refuse null for an operand.
        let dummy = 256 as *mut c_void;
        // SAFETY: no operand is read.
        unsafe { self.each_function(api, problem, [dummy; 4], Purpose::Query(&mut workspace_size)) }?;
        Ok(workspace_size)
    }

    /// Submits the problem's whole batch.
    ///
    /// # Errors
    /// The library fails. A matrix that has no decomposition is not an error: `info` reports it.
    ///
    /// # Safety
    /// Operands must be live and have the shapes of the task, and the workspaces must have the sizes that
    /// [`Cusolver::workspace_size`] returns. The workspace on the host must live until the work is done.
    pub unsafe fn run(
        &mut self,
        problem: &Problem,
        operands: &Operands,
        device: usize,
        host: Option<&PinnedBuffer>,
        stream: &Stream,
    ) -> Result<()> {
        let api = driver::cusolver()?;
        self.context.make_current()?;
        let what: &dyn Fn() -> String = &|| problem.to_string();
        // SAFETY: the driver's and the runtime's stream handles are the same.
        unsafe { call!(api, what, cusolverDnSetStream(self.handle, stream.raw() as cudaStream_t)) }?;
        let (calls, steps) = if problem.task.is_batched() { (1, [0; 4]) } else { (problem.batch, problem.steps()) };
        for k in 0..calls {
            let at: [*mut c_void; 4] =
                std::array::from_fn(|o| operands.at[o].offset((k * steps[o]) as i64).0 as *mut c_void);
            let info = operands.info.offset((k * size_of::<i32>()) as i64).0 as *mut i32;
            let workspace = Workspace { device: operands.workspace.0 as *mut c_void, bytes: device, host, info };
            // SAFETY: the caller vouches for operands and workspaces.
            unsafe { self.each_function(api, problem, at, Purpose::Run(workspace)) }?;
        }
        Ok(())
    }
}

/// Arguments of a function of the library besides its operands.
struct Workspace<'a> {
    device: *mut c_void,
    bytes: usize,
    host: Option<&'a PinnedBuffer>,
    info: *mut i32,
}

impl Workspace<'_> {
    /// Returns the workspace on the host and its size in bytes.
    fn on_host(&self) -> (*mut c_void, usize) {
        self.host.map_or((std::ptr::dangling_mut::<c_void>(), 0), |buffer| (buffer.as_ptr().cast(), buffer.len()))
    }
}

/// The purpose of a call: to query the size of the workspace, or to run the task.
enum Purpose<'a> {
    Query(&'a mut WorkspaceSize),
    Run(Workspace<'a>),
}

impl Drop for Cusolver {
    fn drop(&mut self) {
        if is_started()
            && let Ok(api) = driver::cusolver()
        {
            let what: &dyn Fn() -> String = &String::new;
            // SAFETY: the handles are owned by this value, or null if they were not created.
            unsafe {
                if !self.params.is_null() {
                    let _at_worst_leaked = call!(api, what, cusolverDnDestroyParams(self.params));
                }
                if !self.handle.is_null() {
                    let _at_worst_leaked = call!(api, what, cusolverDnDestroy(self.handle));
                }
            }
        }
    }
}
