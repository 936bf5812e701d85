//! The engine's lock: waiting for it, and holding it during a fork.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{MutexGuard, TryLockError};
use std::time::{Duration, Instant};

use cuprous_core::interrupt::{self, Token};
use cuprous_core::{Error, Result};

use super::Engine;
use super::state::State;

/// The lock of an engine, held during a fork.
pub struct ForkGuard<'a>(#[allow(dead_code, reason = "held, not read")] MutexGuard<'a, State>);

impl Engine {
    /// Locks the state.
    ///
    /// # Errors
    /// An interrupt ended the wait, or the lock is never released: see [`Engine::orphan`].
    #[inline]
    pub(crate) fn enter(&self) -> Result<MutexGuard<'_, State>> {
        match self.try_enter() {
            Some(state) => Ok(state),
            None => self.wait_to_enter(),
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
        let start = Instant::now();
        loop {
            if let Some(state) = self.try_enter() {
                return Ok(state);
            }
            if Token::MAIN.requested() {
                return Err(interrupt::error());
            }
            // A small part of the time waited so far, so that the lock is taken soon after it is free.
            std::thread::sleep((start.elapsed() / 16).clamp(Duration::from_micros(20), Duration::from_millis(1)));
        }
    }

    #[inline]
    fn try_enter(&self) -> Option<MutexGuard<'_, State>> {
        match self.state.try_lock() {
            Ok(state) => Some(state),
            // After a panic under the lock, the worst case is a tape that has to be run again.
            Err(TryLockError::Poisoned(e)) => Some(e.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Locks the state during a fork, so that the child finds it consistent and unlocked. Returns `None` if another
    /// thread holds the lock until `until`.
    pub fn lock_for_fork(&self, until: Instant) -> Option<ForkGuard<'_>> {
        loop {
            if let Some(state) = self.try_enter() {
                return Some(ForkGuard(state));
            }
            if Instant::now() >= until {
                return None;
            }
            std::thread::sleep(Duration::from_micros(50));
        }
    }

    /// Makes every operation an error from now on, in a child process in which the lock is never released.
    pub fn orphan(&self) {
        self.orphaned.store(true, Relaxed);
    }
}
