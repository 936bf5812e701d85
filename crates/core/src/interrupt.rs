//! Ctrl-C while work runs: a request that the signal handler makes, and tokens by which loops notice it.
//!
//! Only work that the main thread waits for may be interrupted, because Python raises `KeyboardInterrupt` only there.
//! The thread that waits *listens*; a [`Token`] carries that to the threads that help it. A loop that sees the request
//! unwinds with [`Interrupted`], which the device catches with [`catch`]. A wait for other work, such as that of a
//! device, uses [`poll`].

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use crate::{Error, Result};

static REQUESTED: AtomicBool = AtomicBool::new(false);

/// Installs the signal handler that calls [`request`], unless it is installed. Set once by the Python bindings; called
/// without Python's lock.
pub static ARM: OnceLock<fn()> = OnceLock::new();

/// Returns true on the thread on which Python handles signals, if a signal raises `KeyboardInterrupt` there. Set once
/// by the Python bindings; called without Python's lock.
pub static ANSWERS: OnceLock<fn() -> bool> = OnceLock::new();

thread_local! {
    static LISTENS: Cell<bool> = const { Cell::new(false) };
}

/// The payload with which interrupted loops unwind.
#[derive(Debug)]
pub struct Interrupted;

/// Requests an interrupt. Safe in a signal handler.
pub fn request() {
    REQUESTED.store(true, Relaxed);
}

/// Forgets requests made so far.
pub fn clear() {
    REQUESTED.store(false, Relaxed);
}

/// Returns the flag that compiled loops poll.
pub fn flag() -> *const AtomicBool {
    &raw const REQUESTED
}

/// Returns the error of work that was interrupted and can go on later.
#[cold]
pub fn error() -> Error {
    Error::interrupted("interrupted")
}

/// Whether the work that a thread does may be interrupted.
#[derive(Clone, Copy, Debug)]
pub struct Token(bool);

impl Token {
    /// The token of work that nothing interrupts.
    pub const NONE: Token = Token(false);
    /// The token of work for which the main thread waits.
    pub const MAIN: Token = Token(true);

    /// Returns the calling thread's token.
    #[inline]
    pub fn current() -> Token {
        Token(LISTENS.get())
    }

    /// Returns true if such work may be interrupted.
    #[inline]
    pub fn listens(self) -> bool {
        self.0
    }

    /// Returns true if an interrupt is requested for such work.
    #[inline]
    pub fn requested(self) -> bool {
        self.0 && REQUESTED.load(Relaxed)
    }

    /// Unwinds if an interrupt is requested. For loops, between parts of a long computation.
    #[inline]
    pub fn check(self) {
        if self.requested() {
            resume_unwind(Box::new(Interrupted));
        }
    }

    /// Runs `work` with this token as the thread's.
    #[inline]
    pub fn within<R>(self, work: impl FnOnce() -> R) -> R {
        struct Restore(bool);
        impl Drop for Restore {
            fn drop(&mut self) {
                LISTENS.set(self.0);
            }
        }
        let _restore = Restore(LISTENS.replace(self.0));
        work()
    }
}

/// Makes sure that a signal becomes a request, before work that may take long.
pub fn arm() {
    if let Some(arm) = ARM.get() {
        arm();
    }
}

/// Calls [`ANSWERS`]; returns false if it is not set.
pub fn answers() -> bool {
    ANSWERS.get().is_some_and(|answers| answers())
}

/// Runs `work`. If an interrupt made it unwind, returns the error of the interrupt.
pub fn catch<R>(work: impl FnOnce() -> Result<R>) -> Result<R> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(result) => result,
        Err(payload) if payload.is::<Interrupted>() => Err(error()),
        Err(payload) => resume_unwind(payload),
    }
}

/// The time for which a wait polls without sleeping, so that it ends as soon as the work does.
const SPIN: Duration = Duration::from_millis(4);
/// The longest sleep between two polls.
const LONGEST_SLEEP: Duration = Duration::from_millis(1);

/// Calls `done` until it returns true, then returns true. An interrupt ends the wait with an error, while the work
/// continues.
///
/// On a thread that does not listen, `done` is called once and its result returned, because such a thread can block.
pub fn poll(mut done: impl FnMut() -> Result<bool>) -> Result<bool> {
    let token = Token::current();
    if done()? {
        return Ok(true);
    }
    if !token.listens() {
        return Ok(false);
    }
    arm();
    let start = Instant::now();
    while !done()? {
        if token.requested() {
            return Err(error());
        }
        let waited = start.elapsed();
        if waited < SPIN {
            std::hint::spin_loop();
        } else {
            std::thread::sleep((waited / 64).min(LONGEST_SLEEP));
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Serializes the tests, because an interrupt is requested for the whole process.
    static SERIAL: std::sync::Mutex<()> = std::sync::Mutex::new(());

    #[test]
    fn a_wait_ends_with_the_work_or_an_interrupt() {
        let _serial = SERIAL.lock();
        clear();
        let mut polls = 0;
        let tenth = || {
            polls += 1;
            Ok(polls == 10)
        };
        assert!(Token::MAIN.within(|| poll(tenth)).unwrap());
        assert_eq!(polls, 10);
        assert!(!poll(|| Ok(false)).unwrap(), "a thread that does not listen blocks by itself");
        let start = Instant::now();
        let never = || {
            if start.elapsed() > 2 * SPIN {
                request();
            }
            Ok(false)
        };
        let error = Token::MAIN.within(|| poll(never)).unwrap_err();
        assert_eq!(error.kind, crate::error::ErrorKind::Interrupted);
        assert!(Token::MAIN.within(|| poll(|| Ok(true))).unwrap(), "what is done is not interrupted");
        clear();
    }

    #[test]
    fn only_work_that_listens_is_interrupted() {
        let _serial = SERIAL.lock();
        let check = || {
            Token::current().check();
            Ok(())
        };
        request();
        assert!(catch(check).is_ok());
        let result = Token::MAIN.within(|| catch(check));
        assert!(result.is_err_and(|e| e.kind == crate::error::ErrorKind::Interrupted));
        assert!(!Token::current().listens(), "the token is given back when the work unwinds");
        clear();
        assert!(Token::MAIN.within(|| catch(check)).is_ok());
    }
}
