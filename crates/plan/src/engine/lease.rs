//! The tape of each thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use cuprous_core::Result;

use super::Engine;

/// The calling thread's tape on each device. Returns the tapes when the thread ends.
struct Lease {
    tapes: Vec<(Arc<Engine>, u32)>,
}

thread_local! {
    static LEASE: std::cell::RefCell<Lease> = const { std::cell::RefCell::new(Lease { tapes: Vec::new() }) };
}

/// The process is about to end, so pending values will not be read.
static ENDING: AtomicBool = AtomicBool::new(false);

/// Prepares for the end of the process: tapes of ending threads are no longer run.
pub(crate) fn end() {
    ENDING.store(true, Relaxed);
}

impl Drop for Lease {
    fn drop(&mut self) {
        if ENDING.load(Relaxed) {
            // Handles may have been dropped in any order. The operating system frees all memory.
            self.tapes.drain(..).for_each(std::mem::forget);
            return;
        }
        // Pending values stay: a reader finds the tape through the value, or the next thread continues with the tape.
        // Running it here would need thread-local memory that may be freed already.
        for (engine, tape) in self.tapes.drain(..) {
            if let Ok(mut state) = engine.enter() {
                state.free_tapes.push(tape);
            }
            engine.threads.fetch_sub(1, Relaxed);
        }
    }
}

/// Makes a tape the calling thread's.
pub(crate) fn lease(engine: &Arc<Engine>, tape: u32) {
    LEASE.with_borrow_mut(|lease| {
        if let Some(held) = lease.tapes.iter_mut().find(|(held, _)| held.id == engine.id) {
            held.1 = tape;
        }
    });
}

impl Engine {
    /// Returns the calling thread's tape.
    #[inline]
    pub(crate) fn tape(self: &Arc<Engine>) -> Result<u32> {
        if self.tracking.load(Relaxed) {
            cuprous_core::tape::capture_location();
        }
        LEASE.with_borrow_mut(|lease| {
            for (engine, tape) in &lease.tapes {
                if engine.id == self.id {
                    return Ok(*tape);
                }
            }
            let mut state = self.enter()?;
            let contended = self.threads.fetch_add(1, Relaxed) > 0;
            let index = state.take_tape();
            if contended {
                state.tapes.iter_mut().for_each(|tape| tape.contended = true);
            }
            self.tracking.fetch_or(state.tracks(), Relaxed);
            lease.tapes.push((self.clone(), index));
            Ok(index)
        })
    }
}
