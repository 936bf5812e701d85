//! NVIDIA's driver: `cu*` functions over one state behind a lock. Work runs under it, when a stream gets to it.

mod device;
mod fault;
mod graph;
mod log;
mod memory;
mod module;
pub(crate) mod stream;
pub(crate) mod work;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::{CStr, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};

use cuprous_cuda_sys::driver::CUresult;

use crate::settings::settings;

pub(crate) use fault::planned;

pub(crate) const SUCCESS: CUresult = CUresult(0);
pub(crate) const INVALID_VALUE: CUresult = CUresult(1);
pub(crate) const OUT_OF_MEMORY: CUresult = CUresult(2);
pub(crate) const NOT_INITIALIZED: CUresult = CUresult(3);
pub(crate) const INVALID_IMAGE: CUresult = CUresult(200);
pub(crate) const INVALID_CONTEXT: CUresult = CUresult(201);
pub(crate) const INVALID_HANDLE: CUresult = CUresult(400);
pub(crate) const NOT_FOUND: CUresult = CUresult(500);
pub(crate) const NOT_READY: CUresult = CUresult(600);
pub(crate) const PEER_ACCESS_ALREADY_ENABLED: CUresult = CUresult(704);
pub(crate) const LAUNCH_FAILED: CUresult = CUresult(719);
pub(crate) const NOT_SUPPORTED: CUresult = CUresult(801);
pub(crate) const CAPTURE_UNSUPPORTED: CUresult = CUresult(900);
pub(crate) const UPDATE_FAILED: CUresult = CUresult(910);
pub(crate) const UNKNOWN: CUresult = CUresult(999);

/// What a function returns to `enter` if work on another thread must end first: it is called again then.
pub(crate) const BUSY: CUresult = CUresult(u32::MAX);

/// Each status that the simulator returns: its name and what it means.
const STATUSES: &[(CUresult, &CStr, &CStr)] = &[
    (SUCCESS, c"CUDA_SUCCESS", c"no error"),
    (INVALID_VALUE, c"CUDA_ERROR_INVALID_VALUE", c"invalid argument"),
    (OUT_OF_MEMORY, c"CUDA_ERROR_OUT_OF_MEMORY", c"out of memory"),
    (NOT_INITIALIZED, c"CUDA_ERROR_NOT_INITIALIZED", c"initialization error"),
    (INVALID_IMAGE, c"CUDA_ERROR_INVALID_IMAGE", c"device kernel image is invalid"),
    (INVALID_CONTEXT, c"CUDA_ERROR_INVALID_CONTEXT", c"invalid device context"),
    (INVALID_HANDLE, c"CUDA_ERROR_INVALID_HANDLE", c"invalid resource handle"),
    (NOT_FOUND, c"CUDA_ERROR_NOT_FOUND", c"named symbol not found"),
    (NOT_READY, c"CUDA_ERROR_NOT_READY", c"device not ready"),
    (PEER_ACCESS_ALREADY_ENABLED, c"CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", c"peer access has already been enabled"),
    (LAUNCH_FAILED, c"CUDA_ERROR_LAUNCH_FAILED", c"unspecified launch failure"),
    (NOT_SUPPORTED, c"CUDA_ERROR_NOT_SUPPORTED", c"operation not supported"),
    (
        CAPTURE_UNSUPPORTED,
        c"CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
        c"operation not permitted when stream is capturing",
    ),
    (UPDATE_FAILED, c"CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE", c"the graph update was not performed"),
    (UNKNOWN, c"CUDA_ERROR_UNKNOWN", c"unknown error"),
];

pub(crate) type Outcome<T = ()> = Result<T, CUresult>;

/// All that the driver knows.
pub(crate) struct State {
    pub(crate) initialized: bool,
    /// The error of a kernel, which all later calls return.
    pub(crate) failed: Option<CUresult>,
    /// The next handle.
    next: usize,
    /// Allocations of device memory: the bytes by the address.
    pub(crate) blocks: BTreeMap<u64, usize>,
    pub(crate) used: u64,
    /// Page-locked allocations: the bytes by the address.
    pub(crate) pinned: BTreeMap<usize, usize>,
    /// Contexts, each with another one whose memory it reaches.
    pub(crate) peers: HashSet<(usize, usize)>,
    pub(crate) streams: HashMap<usize, stream::Stream>,
    pub(crate) events: HashMap<usize, stream::Event>,
    pub(crate) graphs: HashMap<usize, graph::Graph>,
    pub(crate) execs: HashMap<usize, graph::Exec>,
    pub(crate) modules: HashMap<usize, std::sync::Arc<module::Module>>,
    pub(crate) functions: HashMap<usize, module::Function>,
    random: u64,
}

impl State {
    /// Returns a handle that no other object has.
    pub(crate) fn handle(&mut self) -> usize {
        self.next += 64;
        self.next
    }

    /// Returns a number below `n` by the seed.
    pub(crate) fn random(&mut self, n: usize) -> usize {
        // xorshift64* (S. Vigna, 2016).
        self.random ^= self.random >> 12;
        self.random ^= self.random << 25;
        self.random ^= self.random >> 27;
        (self.random.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % n
    }
}

/// How long a function that waits for another thread leaves the lock alone.
pub(crate) const PAUSE: std::time::Duration = std::time::Duration::from_micros(50);

static STATE: Mutex<Option<State>> = Mutex::new(None);

/// The state under its lock.
pub(crate) struct Locked(MutexGuard<'static, Option<State>>);

impl std::ops::Deref for Locked {
    type Target = State;
    fn deref(&self) -> &State {
        self.0.as_ref().expect("created when it was locked")
    }
}

impl std::ops::DerefMut for Locked {
    fn deref_mut(&mut self) -> &mut State {
        self.0.as_mut().expect("created when it was locked")
    }
}

pub(crate) fn lock() -> Locked {
    let mut guard = STATE.lock().unwrap_or_else(PoisonError::into_inner);
    guard.get_or_insert_with(|| State {
        initialized: false,
        failed: None,
        next: 0x5100_0000,
        blocks: BTreeMap::new(),
        used: 0,
        pinned: BTreeMap::new(),
        peers: HashSet::new(),
        streams: HashMap::from([(0, stream::Stream::new(true))]),
        events: HashMap::new(),
        graphs: HashMap::new(),
        execs: HashMap::new(),
        modules: HashMap::new(),
        functions: HashMap::new(),
        random: settings().seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
    });
    Locked(guard)
}

/// Runs the body of a driver function: with the error that a test planned for it, or that a kernel left behind. A body
/// that has to wait for work on another thread runs again from its beginning, without the lock in between.
pub(crate) fn enter(name: &'static str, mut body: impl FnMut(&mut State) -> Outcome) -> CUresult {
    log::note(name);
    if let Some(status) = fault::planned(name) {
        return status;
    }
    let run = AssertUnwindSafe(|| {
        loop {
            let mut state = lock();
            if !state.initialized && !matches!(name, "cuInit" | "cuDriverGetVersion") {
                return NOT_INITIALIZED;
            }
            let status = match state.failed {
                Some(status) => status,
                None => body(&mut state).err().unwrap_or(SUCCESS),
            };
            if status != BUSY {
                return status;
            }
            drop(state);
            std::thread::sleep(PAUSE);
        }
    });
    catch_unwind(run).unwrap_or(UNKNOWN)
}

/// Defines functions of the driver. The body gets the state and returns the status of an error.
macro_rules! functions {
    ($($name:ident($state:ident $(, $arg:ident: $ty:ty)* $(,)?) $body:block)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($arg: $ty),*) -> cuprous_cuda_sys::driver::CUresult {
            $crate::driver::enter(stringify!($name), |$state| $body)
        }
    )*};
}
pub(crate) use functions;

/// The version of CUDA that the simulator has, as (major, minor).
pub(crate) fn device_version() -> (i32, i32) {
    device::VERSION
}

/// Writes a result to where the caller wants it.
pub(crate) fn put<T>(to: *mut T, value: T) -> Outcome {
    if to.is_null() {
        return Err(INVALID_VALUE);
    }
    // SAFETY: the caller of the driver's function passes the address of a variable.
    unsafe { to.write(value) };
    Ok(())
}

fn text(
    status: CUresult,
    to: *mut *const c_char,
    pick: impl Fn(&(CUresult, &'static CStr, &'static CStr)) -> &'static CStr,
) -> CUresult {
    let found = STATUSES.iter().find(|row| row.0 == status).map(pick);
    let Ok(()) = put(to, found.map_or(std::ptr::null(), CStr::as_ptr)) else { return INVALID_VALUE };
    if found.is_some() { SUCCESS } else { INVALID_VALUE }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetErrorName(status: CUresult, to: *mut *const c_char) -> CUresult {
    text(status, to, |row| row.1)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetErrorString(status: CUresult, to: *mut *const c_char) -> CUresult {
    text(status, to, |row| row.2)
}

#[cfg(test)]
pub(crate) mod tests;
