//! The tape of each thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use cuprous_core::Result;

use super::Engine;

/// The calling thread's tape on each device; gives the tapes back when the thread ends.
struct Lease {
    tapes: Vec<(Arc<Engine>, u32)>,
}

thread_local! {
    static LEASE: std::cell::RefCell<Lease> = const { std::cell::RefCell::new(Lease { tapes: Vec::new() }) };
}

/// The process is about to end: what is still recorded will not be asked for.
static ENDING: AtomicBool = AtomicBool::new(false);

/// Says that the process is about to end; tapes of ending threads are no longer run.
pub(crate) fn end() {
    ENDING.store(true, Relaxed);
}

impl Drop for Lease {
    fn drop(&mut self) {
        if ENDING.load(Relaxed) {
            // Handles may be gone in any order by now; the system takes all memory back.
            self.tapes.drain(..).for_each(std::mem::forget);
            return;
        }
        // What is pending stays: a reader finds the tape through the value, or the next thread goes on with it. Running
        // it here would need thread-local memory that may be gone already.
        for (engine, tape) in self.tapes.drain(..) {
            if let Ok(mut state) = engine.enter() {
                state.free_tapes.push(tape);
            }
            engine.threads.fetch_sub(1, Relaxed);
        }
    }
}

/// Makes that tape the calling thread's.
pub(crate) fn lease(engine: &Arc<Engine>, tape: u32) {
    LEASE.with_borrow_mut(|lease| {
        if let Some(held) = lease.tapes.iter_mut().find(|(held, _)| held.id == engine.id) {
            held.1 = tape;
        }
    });
}

impl Engine {
    /// The calling thread's tape.
    #[inline]
    pub(crate) fn tape(self: &Arc<Engine>) -> Result<u32> {
        if self.tracking.load(Relaxed) {
            cuprous_core::tape::note_place();
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
