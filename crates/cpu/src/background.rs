//! Long steps on a thread of their own, so that who waits for one may be interrupted: the wait ends at once, whatever the
//! step does, and the step goes on.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use cuprous_core::interrupt::{self, Token};
use cuprous_core::{CallOp, Error, Result, Scalar};
use cuprous_plan::Call;

use crate::run::Env;
use crate::threads::with_threads;

/// How often a waiting thread looks for an interrupt.
const PERIOD: Duration = Duration::from_millis(10);

type Outcome = std::result::Result<Result<()>, Box<dyn Any + Send>>;

/// A step that runs.
pub(crate) struct Background {
    outcome: Mutex<Receiver<Outcome>>,
    thread: JoinHandle<()>,
    /// The process that it is of: a fork leaves it behind.
    process: u32,
}

impl Background {
    /// Runs `step` with copies of what the program gives it; `token` says whether an interrupt ends it.
    ///
    /// # Errors
    /// There is no thread for it.
    ///
    /// # Safety
    /// `step` is right to call until the outcome is known, whatever it borrows.
    pub(crate) unsafe fn start<'a>(
        env: Env<'_>,
        token: Token,
        step: impl FnOnce(Env) -> Result<()> + Send + 'a,
    ) -> Result<Background> {
        let (send, receive) = channel();
        let (buffers, scalars): (Vec<u64>, Vec<Scalar>) = (env.buffers.to_vec(), env.scalars.to_vec());
        let work = move || {
            let env = Env { buffers: &buffers, scalars: &scalars };
            let work = || with_threads(|| interrupt::catch(|| step(env)));
            // Nobody listens where the process ends.
            let _ = send.send(catch_unwind(AssertUnwindSafe(|| token.within(work))));
        };
        let work: Box<dyn FnOnce() + Send + 'a> = Box::new(work);
        // SAFETY: only the lifetime changes; the caller vouches for it.
        let work: Box<dyn FnOnce() + Send + 'static> = unsafe { std::mem::transmute(work) };
        let thread = Builder::new().name("cuprous-step".into()).spawn(work);
        let thread = thread.map_err(|e| Error::runtime(format!("[cpu] no thread for a long step: {e}")))?;
        Ok(Background { outcome: Mutex::new(receive), thread, process: std::process::id() })
    }

    /// Returns true until the thread has ended.
    pub(crate) fn is_busy(&self) -> bool {
        !self.thread.is_finished()
    }

    /// Waits for the outcome; `None` if an interrupt came first.
    pub(crate) fn wait(&self, token: Token) -> Option<Result<()>> {
        if self.process != std::process::id() {
            return Some(Err(Error::runtime("[cpu] this value was being computed when the process was forked")));
        }
        let outcome = self.outcome.lock().unwrap_or_else(|e| e.into_inner());
        loop {
            match outcome.recv_timeout(PERIOD) {
                Ok(Ok(result)) => return Some(result),
                Ok(Err(panic)) => resume_unwind(panic),
                Err(RecvTimeoutError::Timeout) if token.requested() => return None,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Some(Err(Error::runtime("[cpu] the thread of a long step ended early")));
                }
            }
        }
    }
}

/// Returns true for a call that takes tens of milliseconds or more: there a thread of its own costs nothing.
pub(crate) fn is_long(call: &Call) -> bool {
    let (a, out) = (&call.ins[0].1, &call.out.1);
    let elements = a.size.max(out.size).unsigned_abs();
    let last = a.shape.last().map_or(1, |n| n.unsigned_abs());
    match &call.op {
        CallOp::Dot => out.size.unsigned_abs().saturating_mul(last) >= 1 << 28,
        CallOp::Linalg(_) => elements.saturating_mul(last) >= 1 << 26,
        CallOp::Convolve(_, geometry) => geometry.products() >= 1 << 28,
        CallOp::Correlate { .. } => {
            let taps = call.ins.get(1).map_or(1, |b| b.1.size.unsigned_abs());
            elements.saturating_mul(taps) >= 1 << 28
        }
        CallOp::Scan { .. } | CallOp::PackMask | CallOp::Compact | CallOp::Pad { .. } => elements >= 1 << 25,
        _ => elements >= 1 << 21,
    }
}
