//! Long steps on a thread of their own, so that the thread that waits for one can be interrupted. The wait ends at once
//! and the step continues.

use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use cuprous_core::interrupt::{self, Token};
use cuprous_core::{Error, Result, RoutineOp, Scalar};
use cuprous_plan::RoutineCall;

use crate::run::Bindings;
use crate::threads::with_threads;

/// Interval at which a waiting thread checks for an interrupt.
const PERIOD: Duration = Duration::from_millis(10);

type Outcome = std::result::Result<Result<()>, Box<dyn Any + Send>>;

/// A step that runs on its own thread.
pub(crate) struct BackgroundStep {
    outcome: Mutex<Receiver<Outcome>>,
    thread: JoinHandle<()>,
    /// The process that started the thread. A forked child does not have the thread.
    process: u32,
}

impl BackgroundStep {
    /// Starts `step` with copies of the addresses and scalars in `bindings`. `token` decides whether an interrupt ends
    /// the step.
    ///
    /// # Errors
    /// Fails if the system cannot start a thread.
    ///
    /// # Safety
    /// Whatever `step` borrows lives until the outcome is known or the thread is joined.
    pub(crate) unsafe fn start<'a>(
        bindings: Bindings<'_>,
        token: Token,
        step: impl FnOnce(Bindings) -> Result<()> + Send + 'a,
    ) -> io::Result<BackgroundStep> {
        let (send, receive) = channel();
        let (buffers, scalars): (Vec<u64>, Vec<Scalar>) = (bindings.buffers.to_vec(), bindings.scalars.to_vec());
        let work = move || {
            let bindings = Bindings { buffers: &buffers, scalars: &scalars };
            let work = || with_threads(|| interrupt::catch(|| step(bindings)));
            // The receiver is gone if the process is ending.
            let _ = send.send(catch_unwind(AssertUnwindSafe(|| token.within(work))));
        };
        let work: Box<dyn FnOnce() + Send + 'a> = Box::new(work);
        // SAFETY: only the lifetime changes; by this function's contract the borrowed values live long enough.
        let work: Box<dyn FnOnce() + Send + 'static> = unsafe { std::mem::transmute(work) };
        let thread = Builder::new().name("cuprous-step".into()).spawn(work)?;
        Ok(BackgroundStep { outcome: Mutex::new(receive), thread, process: std::process::id() })
    }

    fn is_ours(&self) -> bool {
        self.process == std::process::id()
    }

    /// Returns true until the thread has ended.
    pub(crate) fn is_busy(&self) -> bool {
        self.is_ours() && !self.thread.is_finished()
    }

    /// Waits until the thread has ended.
    pub(crate) fn join(self) {
        if self.is_ours() {
            // Panics of the step were sent as outcomes.
            let _ = self.thread.join();
        }
    }

    /// Waits for the outcome. Returns `None` if an interrupt came first.
    pub(crate) fn wait(&self, token: Token) -> Option<Result<()>> {
        if !self.is_ours() {
            return Some(Err(Error::runtime(
                "[cpu] the process was forked while this value was being computed; compute it again",
            )));
        }
        let outcome = self.outcome.lock().unwrap_or_else(|e| e.into_inner());
        loop {
            match outcome.recv_timeout(PERIOD) {
                Ok(Ok(result)) => return Some(result),
                Ok(Err(panic)) => resume_unwind(panic),
                Err(RecvTimeoutError::Timeout) if token.requested() => return None,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Some(Err(Error::runtime(
                        "[cpu] internal error: the thread of a background step ended without a result",
                    )));
                }
            }
        }
    }
}

/// Returns true for a routine that takes tens of milliseconds or more, so that the cost of starting a thread does not
/// matter.
pub(crate) fn is_long(call: &RoutineCall) -> bool {
    let (a, out) = (&call.ins[0].1, &call.out.1);
    let elements = a.size.max(out.size).unsigned_abs();
    let last = a.shape.last().map_or(1, |n| n.unsigned_abs());
    match &call.op {
        RoutineOp::Dot => out.size.unsigned_abs().saturating_mul(last) >= 1 << 28,
        RoutineOp::AttendRows(of) => elements.saturating_mul(of.keys.unsigned_abs()) >= 1 << 28,
        RoutineOp::Linalg(_) => elements.saturating_mul(last) >= 1 << 26,
        RoutineOp::Convolve(_, geometry) => geometry.products() >= 1 << 28,
        RoutineOp::Correlate { .. } => {
            let taps = call.ins.get(1).map_or(1, |b| b.1.size.unsigned_abs());
            elements.saturating_mul(taps) >= 1 << 28
        }
        RoutineOp::Scan { .. } | RoutineOp::PackMask | RoutineOp::Compact | RoutineOp::Pad { .. } => {
            elements >= 1 << 25
        }
        _ => elements >= 1 << 21,
    }
}
