//! The primary context, shared with PyTorch, CuPy and Numba in the same process.

use std::sync::{Mutex, PoisonError};

use cuprous_cuda_sys::driver::{CUcontext, DriverApi};

use super::info::device_handle;
use super::{api, api_if_started, call};
use crate::error::{CudaError, Result};

/// A device's primary context. Retained once and never released, because other libraries of the process use its memory.
#[derive(Debug)]
pub struct Context {
    ordinal: usize,
    raw: CUcontext,
}

// SAFETY: a context handle may be used from any thread.
unsafe impl Send for Context {}
// SAFETY: a context handle may be used from any thread, and the struct never changes.
unsafe impl Sync for Context {}

impl Context {
    /// Returns the primary context of a device, created on the first call.
    ///
    /// # Errors
    /// The device does not exist, or the driver fails.
    pub fn of_device(ordinal: usize) -> Result<&'static Context> {
        static CONTEXTS: Mutex<Vec<&'static Context>> = Mutex::new(Vec::new());
        let api = api()?;
        let mut contexts = CONTEXTS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(context) = contexts.iter().find(|context| context.ordinal == ordinal) {
            return Ok(context);
        }
        let device = device_handle(ordinal)?;
        let mut raw: CUcontext = std::ptr::null_mut();
        // SAFETY: the call writes one handle; the device exists.
        unsafe { call!(api, cuDevicePrimaryCtxRetain(&raw mut raw, device)) }?;
        let context: &'static Context = Box::leak(Box::new(Context { ordinal, raw }));
        contexts.push(context);
        Ok(context)
    }

    /// Returns the device's number.
    #[must_use]
    pub fn ordinal(&self) -> usize {
        self.ordinal
    }

    pub(crate) fn raw(&self) -> CUcontext {
        self.raw
    }

    /// Makes the context current in this thread. Cheap if it already is. Other libraries may change the current
    /// context, so it is queried each time.
    ///
    /// # Errors
    /// The driver fails, or the process was forked.
    #[inline]
    pub fn make_current(&self) -> Result<()> {
        self.make_current_with(api()?)
    }

    fn make_current_with(&self, api: &DriverApi) -> Result<()> {
        let mut current: CUcontext = std::ptr::null_mut();
        // SAFETY: the call writes one handle.
        unsafe { call!(api, cuCtxGetCurrent(&raw mut current)) }?;
        if current == self.raw {
            return Ok(());
        }
        // SAFETY: the context is retained for the life of the process.
        unsafe { call!(api, cuCtxSetCurrent(self.raw)) }
    }

    /// Waits for all work of the device in this context.
    ///
    /// # Errors
    /// The driver fails, or earlier work did.
    pub fn synchronize(&self) -> Result<()> {
        self.make_current()?;
        let api = api()?;
        // SAFETY: the function has no arguments; the context is current.
        unsafe { call!(api, cuCtxSynchronize()) }
    }
}

/// Makes the context current and returns the driver, or `None` if that fails. For destructors.
pub(crate) fn for_drop(context: &Context) -> Option<&'static DriverApi> {
    let api = api_if_started()?;
    context.make_current_with(api).ok()?;
    Some(api)
}

/// Makes the context current and returns the driver. Handles are created in the current context.
pub(crate) fn enter(context: &Context) -> std::result::Result<&'static DriverApi, CudaError> {
    let api = api()?;
    context.make_current_with(api)?;
    Ok(api)
}
