//! Ctrl-C while the engine works: a signal handler before Python's, and waiting that it ends.
//!
//! Python's own handler only notes a signal; what the user sees, `KeyboardInterrupt`, is raised by the main thread when it
//! runs Python again. So that this is soon, a handler of ours is called first: it calls Python's and requests an interrupt
//! from the engine ([`cuprous_core::interrupt`]). It only does so where Python's answer is `KeyboardInterrupt`; a handler
//! of the user's own may want the work to go on, and is called when it is done.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};

use cuprous_core::interrupt::{self, Token};
use cuprous_core::{Error, Result};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyTuple;

use crate::errors::OrRaise;

/// Python's answer to SIGINT was `KeyboardInterrupt` when the main thread last waited for the engine.
static RAISES: AtomicBool = AtomicBool::new(false);
/// The handler before ours.
static PREVIOUS: AtomicUsize = AtomicUsize::new(0);
/// It takes the signal alone, not what is known of it.
static SIMPLE: AtomicBool = AtomicBool::new(false);

type Handler = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);

extern "C" fn on_interrupt(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    static INSIDE: AtomicBool = AtomicBool::new(false);
    let previous = PREVIOUS.load(Relaxed);
    // Somebody else's handler may have been put before ours and call it.
    if previous != 0 && !INSIDE.swap(true, Relaxed) {
        // SAFETY: a handler that was installed with these flags.
        unsafe {
            if SIMPLE.load(Relaxed) {
                std::mem::transmute::<usize, extern "C" fn(libc::c_int)>(previous)(signal);
            } else {
                std::mem::transmute::<usize, Handler>(previous)(signal, info, context);
            }
        }
        INSIDE.store(false, Relaxed);
    }
    // After Python's: whoever sees the request finds the signal noted.
    interrupt::request();
}

/// Puts our handler before the one that is installed, if that is not ours already.
fn arm() {
    let ours = on_interrupt as *const () as usize;
    // SAFETY: both calls get valid memory, all of whose fields are filled in.
    unsafe {
        let mut now: libc::sigaction = std::mem::zeroed();
        if libc::sigaction(libc::SIGINT, std::ptr::null(), &mut now) != 0 {
            return;
        }
        let default = now.sa_sigaction == libc::SIG_DFL || now.sa_sigaction == libc::SIG_IGN;
        if default || now.sa_sigaction == ours {
            return;
        }
        PREVIOUS.store(now.sa_sigaction, Relaxed);
        SIMPLE.store(now.sa_flags & libc::SA_SIGINFO == 0, Relaxed);
        now.sa_sigaction = ours;
        now.sa_flags |= libc::SA_SIGINFO;
        libc::sigaction(libc::SIGINT, &now, std::ptr::null_mut());
    }
}

thread_local! {
    /// Whether this thread is the process's first one; after a fork that is the one that forked.
    static IS_MAIN: Cell<Option<(u32, bool)>> = const { Cell::new(None) };
}

/// Whether Python handles signals on this thread.
fn is_main() -> bool {
    let forks = crate::fork::count();
    match IS_MAIN.get() {
        Some((known, main)) if known == forks => main,
        _ => {
            // SAFETY: neither call can fail.
            #[cfg(target_os = "linux")]
            let main = unsafe { libc::gettid() == libc::getpid() };
            #[cfg(not(target_os = "linux"))]
            // SAFETY: as above.
            let main = unsafe { libc::pthread_main_np() != 0 };
            IS_MAIN.set(Some((forks, main)));
            main
        }
    }
}

fn answers() -> bool {
    RAISES.load(Relaxed) && is_main()
}

/// Tells the engine of this.
pub(crate) fn install(py: Python<'_>) {
    RAISES.store(raises(py).unwrap_or(false), Relaxed);
    let _ = interrupt::ARM.set(arm);
    let _ = interrupt::ANSWERS.set(answers);
}

/// Whether Python's answer to SIGINT is `KeyboardInterrupt`.
fn raises(py: Python<'_>) -> PyResult<bool> {
    // The arguments are kept, because this is asked whenever the main thread waits.
    static KNOWN: PyOnceLock<(Py<PyAny>, Py<PyTuple>, Py<PyAny>)> = PyOnceLock::new();
    let (get, arguments, default) = KNOWN.get_or_try_init(py, || {
        let signal = py.import("_signal")?;
        let arguments = (libc::SIGINT,).into_pyobject(py)?.unbind();
        Ok::<_, PyErr>((
            signal.getattr("getsignal")?.unbind(),
            arguments,
            signal.getattr("default_int_handler")?.unbind(),
        ))
    })?;
    Ok(get.bind(py).call(arguments.bind(py), None)?.is(default.bind(py)))
}

/// That of work for which this thread is about to wait.
fn token(py: Python<'_>) -> PyResult<Token> {
    if !is_main() {
        return Ok(Token::NONE);
    }
    // What came before now is Python's; from here on it is ours too.
    interrupt::clear();
    py.check_signals()?;
    // Where the interpreter ends, there may be no module to ask.
    let raises = raises(py).unwrap_or(false);
    RAISES.store(raises, Relaxed);
    Ok(if raises { Token::MAIN } else { Token::NONE })
}

/// Does `work` without Python's lock; on the main thread Ctrl-C ends it.
pub(crate) fn detach<R: Send>(py: Python<'_>, work: impl FnOnce() -> R + Send) -> PyResult<R> {
    let token = token(py)?;
    Ok(py.detach(|| token.within(work)))
}

/// The same with its error raised.
pub(crate) fn run<R: Send>(py: Python<'_>, work: impl FnOnce() -> Result<R> + Send) -> PyResult<R> {
    detach(py, work)?.or_raise()
}

/// The exception for work that was interrupted: what Python makes of the signal.
pub(crate) fn raised(error: Error) -> PyErr {
    Python::attach(|py| py.check_signals().err().unwrap_or_else(|| PyKeyboardInterrupt::new_err(error.message)))
}
