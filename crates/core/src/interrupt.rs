//! Ctrl-C while work runs: a request that the signal handler makes, and tokens by which loops notice it.
//!
//! Only work that the main thread waits for may be interrupted, because only there Python raises `KeyboardInterrupt`. The
//! thread that waits *listens*; a [`Token`] carries that to the threads that help it. A loop that sees the request unwinds
//! with [`Interrupted`], which the device catches: [`catch`].

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::{Error, Result};

static REQUESTED: AtomicBool = AtomicBool::new(false);

/// Installs the signal handler that calls [`request`], where it is not installed; set once by the language's side. Called
/// without Python's lock.
pub static ARM: OnceLock<fn()> = OnceLock::new();

/// Returns true on the thread on which the language handles signals, if an interrupt would end what it does; set once by
/// the language's side. Called without Python's lock.
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

/// The flag that compiled loops poll.
pub fn flag() -> *const AtomicBool {
    &raw const REQUESTED
}

/// The error of work that was interrupted and can go on later.
#[cold]
pub fn error() -> Error {
    Error::interrupted("interrupted")
}

/// Whether the work that a thread does may be interrupted.
#[derive(Clone, Copy, Debug)]
pub struct Token(bool);

impl Token {
    /// That of work that nothing interrupts.
    pub const NONE: Token = Token(false);
    /// That of work for which the main thread waits.
    pub const MAIN: Token = Token(true);

    /// The calling thread's.
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

    /// Unwinds if an interrupt is requested; between parts of a long computation.
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

/// [`ANSWERS`], false where nobody set it.
pub fn answers() -> bool {
    ANSWERS.get().is_some_and(|answers| answers())
}

/// Runs `work`; where it unwound because of an interrupt, the error of that.
pub fn catch<R>(work: impl FnOnce() -> Result<R>) -> Result<R> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(result) => result,
        Err(payload) if payload.is::<Interrupted>() => Err(error()),
        Err(payload) => resume_unwind(payload),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_work_that_listens_is_interrupted() {
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
