//! Operations under way.

use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use cuprous_core::interrupt::{self, Token};
use cuprous_core::profile::{self, Begun, Kind};
use cuprous_core::{Error, ExternalWork};

use crate::backend::{Keep, Operation};
use crate::failure::{Failure, Result};
use crate::mesh::NOTICE;

const SLICE: Duration = Duration::from_millis(50);

#[derive(Default)]
struct State {
    result: Option<Result<()>>,
    source: Option<usize>,
    begun: Option<Begun>,
}

/// An operation that runs on another thread.
#[derive(Default)]
pub(crate) struct Work {
    state: Mutex<State>,
    changed: Condvar,
    /// For a message between two ranks: what it is, for a rank that waits long.
    text: Option<String>,
}

impl Work {
    /// Returns work of `bytes` bytes that has been submitted.
    pub(crate) fn new(name: &'static str, bytes: usize) -> Work {
        let begun = Begun::collective(name, bytes as u64);
        Work { state: Mutex::new(State { begun, ..State::default() }), ..Work::default() }
    }

    pub(crate) fn of_message(name: &'static str, bytes: usize, text: String) -> Work {
        Work { text: Some(text), ..Work::new(name, bytes) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Ends the operation and gives its memory back. Whoever waits finds memory of an operation that has succeeded free,
    /// and memory of one that has failed is never free without its failure.
    pub(crate) fn end(&self, result: Result<()>, source: Option<usize>, keep: Option<Keep>) {
        let keep = keep.filter(|_| result.is_err());
        self.finish(result, source);
        drop(keep);
    }

    fn finish(&self, result: Result<()>, source: Option<usize>) {
        let mut state = self.state();
        state.result.get_or_insert(result);
        state.source = source;
        let begun = state.begun.take();
        drop(state);
        if let Some(begun) = begun {
            begun.end(None);
        }
        self.changed.notify_all();
    }

    /// Returns the result if the operation has ended.
    pub(crate) fn result(&self) -> Option<Result<()>> {
        self.state().result.clone()
    }

    /// Waits until the operation has ended. Returns `None` if it has not within `timeout`.
    ///
    /// # Errors
    /// The operation failed, or the main thread was interrupted; the operation then continues.
    pub(crate) fn wait(&self, timeout: Duration) -> Option<Result<()>> {
        self.result().map_or_else(|| profile::timed(Kind::RankWait, 0, 0, || self.wait_for_end(timeout)), Some)
    }

    fn wait_for_end(&self, timeout: Duration) -> Option<Result<()>> {
        let (start, mut notice) = (Instant::now(), NOTICE);
        let mut state = self.state();
        loop {
            if let Some(result) = &state.result {
                return Some(result.clone());
            }
            if Token::current().requested() {
                return Some(Err(Failure::interrupted("interrupted")));
            }
            let waited = start.elapsed();
            if waited >= timeout {
                return None;
            }
            if let Some(text) = self.text.as_ref().filter(|_| waited >= notice) {
                eprintln!("[cuprous] {text} has waited {} s", waited.as_secs());
                notice += Duration::from_secs(60);
            }
            let slice = SLICE.min(timeout - waited);
            state = self.changed.wait_timeout(state, slice).unwrap_or_else(|e| e.into_inner()).0;
        }
    }
}

impl ExternalWork for Work {
    fn wait(&self) -> cuprous_core::Result<()> {
        if let Some(result) = self.result() {
            return result.map_err(Error::from);
        }
        // The caller records an operation: Ctrl-C ends the wait if it would raise.
        let answers = Token::current().listens() || interrupt::answers();
        if answers && !Token::current().listens() {
            interrupt::clear();
        }
        interrupt::arm();
        let token = if answers { Token::MAIN } else { Token::NONE };
        loop {
            if let Some(result) = token.within(|| Work::wait(self, Duration::from_secs(3600))) {
                return result.map_err(Error::from);
            }
        }
    }
    fn has_failed(&self) -> bool {
        self.result().is_some_and(|result| result.is_err())
    }
}

impl Operation for Work {
    fn finish(&self, timeout: Option<Duration>) -> Option<Result<()>> {
        Work::wait(self, timeout.unwrap_or(Duration::MAX))
    }

    fn outcome(&self) -> Option<Result<()>> {
        self.result()
    }

    fn sender(&self) -> Option<usize> {
        self.state().source
    }
}
