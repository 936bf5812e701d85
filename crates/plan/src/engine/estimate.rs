//! Beginning and ending an estimate of a function's cost.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use cuprous_core::{Array, Error, Result, Storage};

use super::Engine;
use super::counting::{CostRecorder, Estimate};
use super::lease::lease;
use super::state::State;

impl Engine {
    /// Begins an estimate: the calling thread records on a tape of its own, and the cost of its programs is counted.
    ///
    /// # Errors
    /// Another estimate is under way.
    pub fn begin_estimate(self: &Arc<Engine>) -> Result<()> {
        let old = self.tape()?;
        let mut state = self.enter()?;
        if state.recorder.is_some() {
            return Err(Error::runtime(
                "[estimate] another estimate is running on this device; estimates cannot be nested, and only one \
                 thread can run one at a time",
            ));
        }
        let tape = state.take_tape();
        // Two tapes may have the same leaves from now on.
        state.tapes.iter_mut().for_each(|tape| tape.contended = true);
        state.recorder = Some(Box::new(CostRecorder::new(tape, Some(old))));
        drop(state);
        self.threads.fetch_add(1, Relaxed);
        lease(self, tape);
        Ok(())
    }

    /// Plans and counts what has been recorded but not run, with these results needed. Nothing is run for it.
    pub fn estimate_results(self: &Arc<Engine>, results: &[&Array]) {
        let Ok(mut state) = self.enter() else { return };
        let State { tapes, programs, recorder, .. } = &mut *state;
        let Some(recorder) = recorder else { return };
        let tape = &tapes[recorder.tape as usize];
        if let Some(program) = programs.preview(tape) {
            recorder.add_leaves(tape);
            recorder.add(&program, tape.nodes.len());
        }
        let mut seen: Vec<*const Storage> = Vec::new();
        for array in results.iter().filter(|a| a.storage.device == self.id) {
            if !seen.contains(&Arc::as_ptr(&array.storage)) {
                seen.push(Arc::as_ptr(&array.storage));
                recorder.counted.download += (array.layout.size as usize * array.dtype().size()) as f64;
            }
        }
    }

    /// Ends an estimate and gives the thread its own tape back. Values of the other tape that are still visible are
    /// computed, the rest is dropped.
    ///
    /// # Errors
    /// They could not be computed.
    pub fn end_estimate(self: &Arc<Engine>) -> Result<Estimate> {
        let mut state = self.enter()?;
        let Some(recorder) = state.recorder.take() else { return Ok(Estimate::default()) };
        let CostRecorder { tape, waiting, counted, mut ran, kernels, .. } = *recorder;
        let steps = state.stats.planned + state.stats.replayed;
        let first = tape_to_run_first(&state, tape, waiting);
        let result = first.map_or(Ok(()), |waiting| self.run_tape(&mut state, waiting));
        let result = result.and_then(|()| self.run_tape(&mut state, tape));
        ran += usize::from(first.is_none() && state.stats.planned + state.stats.replayed > steps);
        state.give_tape(tape);
        drop(state);
        self.threads.fetch_sub(1, Relaxed);
        if let Some(waiting) = waiting {
            lease(self, waiting);
        }
        result.map(|()| Estimate { counted, ran, kernels })
    }
}

/// Returns the waiting tape if what is still recorded on the other writes what it reads.
fn tape_to_run_first(state: &State, tape: u32, waiting: Option<u32>) -> Option<u32> {
    CostRecorder::new(tape, waiting).tape_to_run_first(&state.tapes[tape as usize], &state.tapes)
}
