//! Operations of devices under way, and the memory that they keep.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::{Duration, Instant};

use cuprous_core::interrupt::Token;
use cuprous_core::{Error, ExternalWork};

use crate::backend::{Keep, Operation};
use crate::failure::{Failure, Result};
use crate::network::Ticket;

/// An operation of a device.
pub(crate) struct DeviceWork {
    pub(crate) ticket: Arc<dyn Ticket>,
    /// What it is, for people: `rank 1 … in #3 all_reduce …`.
    pub(crate) text: String,
    /// Its number if all ranks call it.
    pub(crate) seq: Option<u64>,
    pub(crate) peer: Option<usize>,
    pub(crate) since: Instant,
    pub(crate) timeout: Duration,
    /// True once later work of the device waits for it, and what keeps its memory until then.
    pub(crate) keep: Mutex<(bool, Option<Keep>)>,
    pub(crate) failure: OnceLock<Failure>,
}

impl DeviceWork {
    pub(crate) fn keep(&self) -> MutexGuard<'_, (bool, Option<Keep>)> {
        self.keep.lock().unwrap_or_else(|e| e.into_inner())
    }

    fn check(&self) -> Result<()> {
        self.failure.get().map_or(Ok(()), |failure| Err(failure.clone()))
    }

    /// Makes later work of the device wait for this.
    pub(crate) fn order(&self) -> Result<()> {
        self.check()?;
        let mut state = self.keep();
        if !state.0 {
            self.ticket.order()?;
            state.0 = true;
        }
        // From here on memory is free in the order of the device's stream, as everywhere else.
        let kept = state.1.take();
        drop(state);
        drop(kept);
        Ok(())
    }

    /// Ends it: nothing of the device touches its memory any more.
    pub(crate) fn end(&self, failure: Option<&Failure>) {
        if let Some(failure) = failure {
            let _ = self.failure.set(failure.clone());
        }
        let mut state = self.keep();
        state.0 = true;
        let kept = state.1.take();
        drop(state);
        drop(kept);
    }

    /// Waits on the host until it has ended.
    pub(crate) fn wait(&self, timeout: Duration) -> Option<Result<()>> {
        let start = Instant::now();
        let mut pause = Duration::from_micros(20);
        loop {
            if let Some(outcome) = self.outcome() {
                return Some(outcome);
            }
            if Token::current().requested() {
                return Some(Err(Failure::interrupted("interrupted")));
            }
            if start.elapsed() >= timeout {
                return None;
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(1));
        }
    }
}

impl ExternalWork for DeviceWork {
    fn wait(&self) -> cuprous_core::Result<()> {
        self.order().map_err(Error::from)
    }
}

impl Operation for DeviceWork {
    fn finish(&self, timeout: Option<Duration>) -> Option<Result<()>> {
        if let Err(failure) = self.order() {
            return Some(Err(failure));
        }
        timeout.map_or(Some(Ok(())), |timeout| DeviceWork::wait(self, timeout))
    }

    fn outcome(&self) -> Option<Result<()>> {
        match (self.check(), self.ticket.is_done()) {
            (Err(failure), _) | (_, Err(failure)) => Some(Err(failure)),
            (_, Ok(done)) => done.then_some(Ok(())),
        }
    }

    fn sender(&self) -> Option<usize> {
        self.peer
    }
}
