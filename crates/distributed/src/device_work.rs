//! Operations of devices under way, and the memory that they keep.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::{Duration, Instant};

use cuprous_core::interrupt::Token;
use cuprous_core::profile::{self, Begun, Kind};
use cuprous_core::{Error, ExternalWork};

use crate::backend::{Keep, Operation};
use crate::call::Call;
use crate::failure::{Failure, Result};
use crate::network::Ticket;

/// An operation of a device.
pub(crate) struct DeviceWork {
    pub(crate) call: Call,
    /// For messages: true if this rank sends it, and the other rank in the group.
    pub(crate) message: Option<(bool, usize)>,
    /// Present once the library has it.
    pub(crate) ticket: OnceLock<Arc<dyn Ticket>>,
    /// Of the thread that submits it.
    pub(crate) token: Token,
    pub(crate) since: Instant,
    pub(crate) timeout: Duration,
    /// True once later work of the device waits for it, and what keeps its memory until then.
    keep: Mutex<(bool, Option<Keep>)>,
    begun: Mutex<Option<Begun>>,
    pub(crate) failure: OnceLock<Failure>,
}

impl DeviceWork {
    pub(crate) fn new(call: Call, bytes: usize, message: Option<(bool, usize)>, timeout: Duration) -> Arc<DeviceWork> {
        let name = message.map_or(call.op.name(), |(is_send, _)| if is_send { "send" } else { "recv" });
        let begun = Mutex::new(Begun::collective(name, bytes as u64));
        Arc::new(DeviceWork {
            call,
            message,
            begun,
            ticket: OnceLock::new(),
            token: Token::current(),
            since: Instant::now(),
            timeout,
            keep: Mutex::default(),
            failure: OnceLock::new(),
        })
    }

    fn keep(&self) -> MutexGuard<'_, (bool, Option<Keep>)> {
        self.keep.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Keeps the memory until later work waits for this.
    pub(crate) fn hold(&self, keep: Keep) {
        let mut state = self.keep();
        if !state.0 {
            state.1 = Some(keep);
        }
    }

    /// Says what it is, for people, in a group of these ranks.
    pub(crate) fn text(&self, ranks: &[u32]) -> String {
        let call = self.call.text();
        match self.message {
            None => format!("#{} {call}", self.call.seq),
            Some((true, peer)) => format!("{call} to rank {}", ranks[peer]),
            Some((false, peer)) => format!("{} from rank {}", call.replacen("send", "recv", 1), ranks[peer]),
        }
    }

    pub(crate) fn is_done(&self) -> Result<bool> {
        self.ticket.get().map_or(Ok(false), |ticket| ticket.is_done())
    }

    fn check(&self) -> Result<()> {
        self.failure.get().map_or(Ok(()), |failure| Err(failure.clone()))
    }

    /// Makes later work of the device wait for this.
    pub(crate) fn order(&self) -> Result<()> {
        self.check()?;
        let mut state = self.keep();
        if !state.0 {
            self.ticket.get().map_or(Ok(()), |ticket| ticket.order())?;
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
        if let Some(begun) = self.begun.lock().unwrap_or_else(|e| e.into_inner()).take() {
            begun.end(self.ticket.get().and_then(|ticket| ticket.nanoseconds()));
        }
        let mut state = self.keep();
        state.0 = true;
        let kept = state.1.take();
        drop(state);
        drop(kept);
    }

    /// Waits on the host until it has ended.
    pub(crate) fn wait(&self, timeout: Duration) -> Option<Result<()>> {
        self.outcome().map_or_else(|| profile::timed(Kind::RankWait, 0, 0, || self.wait_for_end(timeout)), Some)
    }

    fn wait_for_end(&self, timeout: Duration) -> Option<Result<()>> {
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

    fn has_failed(&self) -> bool {
        self.check().is_err()
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
        match (self.check(), self.is_done()) {
            (Err(failure), _) | (_, Err(failure)) => Some(Err(failure)),
            (_, Ok(done)) => done.then_some(Ok(())),
        }
    }

    fn sender(&self) -> Option<usize> {
        self.message.map(|(_, peer)| peer)
    }
}
