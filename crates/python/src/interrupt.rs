//! Ctrl-C while the engine works: a signal handler around Python's, and waits that it ends.
//!
//! Python's own handler only records the signal; the main thread raises `KeyboardInterrupt` when it runs Python code
//! again. To make this happen soon, our handler calls Python's and then requests an interrupt from the engine
//! ([`cuprous_core::interrupt`]). Waits respond to the request only if Python's reaction is `KeyboardInterrupt`. A
//! handler of the user's may want the work to continue; it is called when the work is done.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};

use cuprous_core::Result;
use cuprous_core::interrupt::{self, Token};
use cuprous_plan::Engine;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyTuple;

use crate::errors::OrRaise;

/// True if Python's reaction to SIGINT was `KeyboardInterrupt` when the main thread last waited for the engine.
static RAISES_KEYBOARD_INTERRUPT: AtomicBool = AtomicBool::new(false);

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
fn arm() {
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
fn is_main() -> bool {
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

fn answers_interrupt() -> bool {
    RAISES_KEYBOARD_INTERRUPT.load(Relaxed) && is_main()
}

/// Registers the functions through which [`cuprous_core::interrupt`] queries Python.
pub(crate) fn install(py: Python<'_>) {
    RAISES_KEYBOARD_INTERRUPT.store(raises_keyboard_interrupt(py).unwrap_or(false), Relaxed);
    let _ = interrupt::ARM.set(arm);
    let _ = interrupt::ANSWERS.set(answers_interrupt);
}

/// Returns true if Python's reaction to SIGINT is `KeyboardInterrupt`.
fn raises_keyboard_interrupt(py: Python<'_>) -> PyResult<bool> {
    // The objects are cached, because this runs whenever the main thread waits.
    static SIGNAL_FUNCTIONS: PyOnceLock<(Py<PyAny>, Py<PyTuple>, Py<PyAny>)> = PyOnceLock::new();
    let (get, arguments, default) = SIGNAL_FUNCTIONS.get_or_try_init(py, || {
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

/// Returns the token for work that this thread is about to wait for.
fn token(py: Python<'_>) -> PyResult<Token> {
    if !is_main() {
        return Ok(Token::NONE);
    }
    // Python raises for signals from before the work; requests are for those that arrive during it.
    interrupt::clear();
    py.check_signals()?;
    // The module may be gone while the interpreter shuts down.
    let raises_keyboard_interrupt = raises_keyboard_interrupt(py).unwrap_or(false);
    RAISES_KEYBOARD_INTERRUPT.store(raises_keyboard_interrupt, Relaxed);
    Ok(if raises_keyboard_interrupt { Token::MAIN } else { Token::NONE })
}

/// Runs `work` without the GIL. On the main thread, Ctrl-C ends it.
pub(crate) fn detach<R: Send>(py: Python<'_>, work: impl FnOnce() -> R + Send) -> PyResult<R> {
    let token = token(py)?;
    Ok(py.detach(|| token.within(work)))
}

/// Like [`detach`], for work that may fail: raises its error.
pub(crate) fn run<R: Send>(py: Python<'_>, work: impl FnOnce() -> Result<R> + Send) -> PyResult<R> {
    detach(py, work)?.or_raise()
}

/// Runs the tape if the last operation ended it.
#[inline]
pub(crate) fn run_due_tape(py: Python<'_>, engine: &'static Arc<Engine>) -> PyResult<()> {
    if engine.take_due() {
        run(py, || engine.flush())?;
    }
    Ok(())
}
