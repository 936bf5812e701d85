//! ThreadSanitizer's view of the simulated threads, in a process that runs under it (`LD_PRELOAD` of libtsan, and
//! `CUPROUS_SIM=flag=-fsanitize=thread` for the kernels): a fiber for each thread, ordered by barriers and by nothing
//! else. A missing `__syncthreads()` is then a data race, in whatever order the threads ran.
//!
//! The blocks of a launch are ordered one after the other, because their shared memory lies at the same addresses.

use std::ffi::c_void;
use std::sync::OnceLock;

use libloading::os::unix::Library;

/// A switch that orders nothing.
const NO_SYNC: u32 = 1;

type Address = *const c_void;

struct Interface {
    current: unsafe extern "C" fn() -> *mut c_void,
    create: unsafe extern "C" fn(u32) -> *mut c_void,
    destroy: unsafe extern "C" fn(*mut c_void),
    switch: unsafe extern "C" fn(*mut c_void, u32),
    acquire: unsafe extern "C" fn(Address),
    release: unsafe extern "C" fn(Address),
}

/// Returns the interface if this process runs under ThreadSanitizer.
fn interface() -> Option<&'static Interface> {
    static INTERFACE: OnceLock<Option<Interface>> = OnceLock::new();
    let load = || {
        let process = Library::this();
        // SAFETY: the signatures are those of sanitizer/tsan_interface.h.
        unsafe {
            Some(Interface {
                current: *process.get(b"__tsan_get_current_fiber\0").ok()?,
                create: *process.get(b"__tsan_create_fiber\0").ok()?,
                destroy: *process.get(b"__tsan_destroy_fiber\0").ok()?,
                switch: *process.get(b"__tsan_switch_to_fiber\0").ok()?,
                acquire: *process.get(b"__tsan_acquire\0").ok()?,
                release: *process.get(b"__tsan_release\0").ok()?,
            })
        }
    };
    INTERFACE.get_or_init(load).as_ref()
}

/// Returns true if this process runs under ThreadSanitizer.
pub(crate) fn is_active() -> bool {
    interface().is_some()
}

/// What comes before a release at an address happens before what comes after a later acquire there.
pub(crate) fn release<T>(at: &T) {
    if let Some(tsan) = interface() {
        // SAFETY: any address is valid.
        unsafe { (tsan.release)(std::ptr::from_ref(at).cast()) };
    }
}

/// See [`release`].
pub(crate) fn acquire<T>(at: &T) {
    if let Some(tsan) = interface() {
        // SAFETY: any address is valid.
        unsafe { (tsan.acquire)(std::ptr::from_ref(at).cast()) };
    }
}

/// A simulated thread.
pub(crate) struct Fiber(*mut c_void);

impl Fiber {
    pub(crate) fn new() -> Fiber {
        // SAFETY: no conditions.
        Fiber(interface().map_or(std::ptr::null_mut(), |tsan| unsafe { (tsan.create)(0) }))
    }

    /// Runs `f` as this thread.
    pub(crate) fn run<R>(&self, f: impl FnOnce() -> R) -> R {
        let Some(tsan) = interface() else { return f() };
        // SAFETY: the fiber is alive and runs nowhere else, and the switch back is to where it came from.
        unsafe {
            let before = (tsan.current)();
            (tsan.switch)(self.0, NO_SYNC);
            let result = f();
            (tsan.switch)(before, NO_SYNC);
            result
        }
    }
}

impl Drop for Fiber {
    fn drop(&mut self) {
        if let Some(tsan) = interface() {
            // SAFETY: created above, and not running.
            unsafe { (tsan.destroy)(self.0) };
        }
    }
}
