//! The handler of SIGINT around Python's, and the thread on which Python handles signals.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};

use cuprous_core::interrupt;

/// A handler that ours replaced and calls.
struct ReplacedHandler {
    /// Address of the function, 0 for none.
    address: AtomicUsize,
    /// True if the handler takes only the signal, false if it was installed with `SA_SIGINFO`.
    simple: AtomicBool,
}

/// The first handler that was replaced, usually Python's.
static FIRST: ReplacedHandler = ReplacedHandler::none();
/// The latest handler that was replaced: the first one, or that of a library which replaced ours.
static LAST: ReplacedHandler = ReplacedHandler::none();

impl ReplacedHandler {
    const fn none() -> ReplacedHandler {
        ReplacedHandler { address: AtomicUsize::new(0), simple: AtomicBool::new(false) }
    }

    fn set(&self, handler: &libc::sigaction) {
        self.simple.store(handler.sa_flags & libc::SA_SIGINFO == 0, Relaxed);
        self.address.store(handler.sa_sigaction, Relaxed);
    }

    fn call(&self, signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
        type SigactionHandler = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);
        match self.address.load(Relaxed) {
            0 => {}
            // SAFETY: the address of a handler that was installed for this signal without SA_SIGINFO.
            address if self.simple.load(Relaxed) => unsafe {
                std::mem::transmute::<usize, extern "C" fn(libc::c_int)>(address)(signal);
            },
            // SAFETY: the address of a handler that was installed for this signal with SA_SIGINFO.
            address => unsafe { std::mem::transmute::<usize, SigactionHandler>(address)(signal, info, context) },
        }
    }
}

extern "C" fn on_interrupt(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    static DEPTH: AtomicUsize = AtomicUsize::new(0);
    // A library's handler may call ours, which it replaced. The nested call then goes to the first handler.
    match DEPTH.fetch_add(1, Relaxed) {
        0 => LAST.call(signal, info, context),
        1 => FIRST.call(signal, info, context),
        _ => {}
    }
    DEPTH.fetch_sub(1, Relaxed);
    // After Python's handler, so that Python has recorded the signal when a wait sees the request.
    interrupt::request();
}

/// Installs our handler unless it is already installed.
pub(crate) fn arm() {
    let ours = on_interrupt as *const () as usize;
    // SAFETY: both calls get valid memory, and every field is initialized.
    unsafe {
        let mut now: libc::sigaction = std::mem::zeroed();
        if libc::sigaction(libc::SIGINT, std::ptr::null(), &mut now) != 0 {
            return;
        }
        let default = now.sa_sigaction == libc::SIG_DFL || now.sa_sigaction == libc::SIG_IGN;
        if default || now.sa_sigaction == ours {
            return;
        }
        if FIRST.address.load(Relaxed) == 0 {
            FIRST.set(&now);
        }
        LAST.set(&now);
        now.sa_sigaction = ours;
        now.sa_flags |= libc::SA_SIGINFO;
        libc::sigaction(libc::SIGINT, &now, std::ptr::null_mut());
    }
}

thread_local! {
    /// The number of forks when this was determined, and true on the process's main thread. After a fork, the thread
    /// that forked is the main thread.
    static IS_MAIN: Cell<Option<(u32, bool)>> = const { Cell::new(None) };
}

/// Returns true on the thread on which Python handles signals.
pub(crate) fn is_main() -> bool {
    let forks = crate::fork::count();
    match IS_MAIN.get() {
        Some((known, main)) if known == forks => main,
        _ => {
            // glibc has `gettid` since 2.30 only.
            // SAFETY: neither call can fail.
            #[cfg(target_os = "linux")]
            let main = unsafe { libc::syscall(libc::SYS_gettid) == libc::c_long::from(libc::getpid()) };
            #[cfg(not(target_os = "linux"))]
            // SAFETY: the call takes no arguments and cannot fail.
            let main = unsafe { libc::pthread_main_np() != 0 };
            IS_MAIN.set(Some((forks, main)));
            main
        }
    }
}
