//! The engine's lock: waiting for it, and holding it over a fork.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{MutexGuard, TryLockError};
use std::time::{Duration, Instant};

use cuprous_core::interrupt::{self, Token};
use cuprous_core::{Error, Result};

use crate::engine::{Engine, State};

/// An engine whose lock is held while the process forks.
pub struct Held<'a>(#[allow(dead_code, reason = "held, not read")] MutexGuard<'a, State>);

impl Engine {
    /// The state, once no other thread has it.
    ///
    /// # Errors
    /// An interrupt ended the wait, or nobody can have it any more: see [`Engine::orphan`].
    #[inline]
    pub(crate) fn enter(&self) -> Result<MutexGuard<'_, State>> {
        match self.state.try_lock() {
            Ok(state) => Ok(state),
            // A panic under the lock leaves at worst a tape to be run again.
            Err(TryLockError::Poisoned(e)) => Ok(e.into_inner()),
            Err(TryLockError::WouldBlock) => self.wait_to_enter(),
        }
    }

    #[cold]
    fn wait_to_enter(&self) -> Result<MutexGuard<'_, State>> {
        if self.orphaned.load(Relaxed) {
            return Err(Error::runtime(format!(
                "this process was forked while another thread was computing on {}, so Cuprous cannot use that device \
                 here; fork when no thread computes, or start processes with the \"spawn\" or \"forkserver\" method",
                self.device.name()
            )));
        }
        // The lock is mostly held for less than a microsecond.
        for _ in 0..200 {
            std::hint::spin_loop();
            if let Some(state) = self.try_enter() {
                return Ok(state);
            }
        }
        if !Token::current().listens() {
            if !interrupt::answers() {
                return Ok(self.state.lock().unwrap_or_else(|e| e.into_inner()));
            }
            interrupt::clear();
        }
        interrupt::arm();
        let mut pause = Duration::from_micros(20);
        loop {
            if let Some(state) = self.try_enter() {
                return Ok(state);
            }
            if Token::MAIN.requested() {
                return Err(interrupt::error());
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(1));
        }
    }

    fn try_enter(&self) -> Option<MutexGuard<'_, State>> {
        match self.state.try_lock() {
            Ok(state) => Some(state),
            Err(TryLockError::Poisoned(e)) => Some(e.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Holds the lock over a fork, so that the child finds the state as it should be; `None` if another thread has it
    /// until then.
    pub fn hold(&self, until: Instant) -> Option<Held<'_>> {
        loop {
            if let Some(state) = self.try_enter() {
                return Some(Held(state));
            }
            if Instant::now() >= until {
                return None;
            }
            std::thread::sleep(Duration::from_micros(50));
        }
    }

    /// In a child whose parent's thread had the lock: every operation is an error from now on.
    pub fn orphan(&self) {
        self.orphaned.store(true, Relaxed);
    }
}
