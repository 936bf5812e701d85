//! Ctrl-C while the engine works: waits that it ends.
//!
//! Python's own handler only records the signal; the main thread raises `KeyboardInterrupt` when it runs Python code
//! again. To make this happen soon, our handler (`sigint.rs`) calls Python's and then requests an interrupt from the
//! engine ([`cuprous_core::interrupt`]). Waits respond to the request only if Python's reaction is
//! `KeyboardInterrupt`. A handler of the user's may want the work to continue; it is called when the work is done.
//!
//! On Windows no handler is installed, and Ctrl-C is raised when the work is done.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::*};

use cuprous_core::Result;
use cuprous_core::interrupt::{self, Token};
use cuprous_plan::Engine;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyTuple;

use crate::errors::OrRaise;
#[cfg(unix)]
use crate::sigint::{arm, is_main};

/// True if Python's reaction to SIGINT was `KeyboardInterrupt` when the main thread last waited for the engine.
static RAISES_KEYBOARD_INTERRUPT: AtomicBool = AtomicBool::new(false);

/// Returns false, so that no wait on this system responds to an interrupt.
#[cfg(not(unix))]
fn is_main() -> bool {
    false
}

fn answers_interrupt() -> bool {
    RAISES_KEYBOARD_INTERRUPT.load(Relaxed) && is_main()
}

/// Registers the functions through which [`cuprous_core::interrupt`] queries Python.
pub(crate) fn install(py: Python<'_>) {
    RAISES_KEYBOARD_INTERRUPT.store(raises_keyboard_interrupt(py).unwrap_or(false), Relaxed);
    #[cfg(unix)]
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
