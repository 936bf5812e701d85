//! Beginning and ending an estimate of what a function takes.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use cuprous_core::{Array, Error, Result, Storage};

use super::Engine;
use super::counting::{CostRecorder, Estimate};
use super::lease::lease;
use super::state::State;

impl Engine {
    /// From now on the calling thread records on a tape of its own, and what its programs take is noted.
    ///
    /// # Errors
    /// Something is being counted already.
    pub fn begin_estimate(self: &Arc<Engine>) -> Result<()> {
        let old = self.tape()?;
        let mut state = self.enter()?;
        if state.watch.is_some() {
            return Err(Error::runtime(
                "[estimate] another estimate is being made on this device: they cannot be nested, and of threads one has to \
                 wait for the other",
            ));
        }
        let tape = state.take_tape();
        // Two tapes may know the same leaves now.
        state.tapes.iter_mut().for_each(|tape| tape.contended = true);
        state.watch = Some(Box::new(CostRecorder::new(tape, Some(old))));
        drop(state);
        self.threads.fetch_add(1, Relaxed);
        lease(self, tape);
        Ok(())
    }

    /// What has been recorded meanwhile but not run, with these results wanted, is planned and counted; nothing is run
    /// for it.
    pub fn estimate_results(self: &Arc<Engine>, results: &[&Array]) {
        let Ok(mut state) = self.enter() else { return };
        let State { tapes, programs, watch, .. } = &mut *state;
        let Some(watch) = watch else { return };
        let tape = &tapes[watch.tape as usize];
        if let Some(program) = programs.preview(tape) {
            watch.leaves(tape);
            watch.add(&program, tape.nodes.len());
        }
        let mut seen: Vec<*const Storage> = Vec::new();
        for array in results.iter().filter(|a| a.storage.device == self.id) {
            if !seen.contains(&Arc::as_ptr(&array.storage)) {
                seen.push(Arc::as_ptr(&array.storage));
                watch.counted.download += (array.layout.size as usize * array.dtype().size()) as f64;
            }
        }
    }

    /// Gives the thread its tape back. What somebody still sees of the other one is computed, the rest forgotten.
    ///
    /// # Errors
    /// It could not be computed.
    pub fn end_estimate(self: &Arc<Engine>) -> Result<Estimate> {
        let mut state = self.enter()?;
        let Some(watch) = state.watch.take() else { return Ok(Estimate::default()) };
        let CostRecorder { tape, parked, counted, mut ran, kernels, .. } = *watch;
        let steps = state.stats.planned + state.stats.replayed;
        let first = tape_to_run_first(&state, tape, parked);
        let result = first.map_or(Ok(()), |parked| self.run_tape(&mut state, parked));
        let result = result.and_then(|()| self.run_tape(&mut state, tape));
        ran += usize::from(first.is_none() && state.stats.planned + state.stats.replayed > steps);
        state.give_tape(tape);
        drop(state);
        self.threads.fetch_sub(1, Relaxed);
        if let Some(parked) = parked {
            lease(self, parked);
        }
        result.map(|()| Estimate { counted, ran, kernels })
    }
}

/// The parked tape, if what is still recorded writes what it reads.
fn tape_to_run_first(state: &State, tape: u32, parked: Option<u32>) -> Option<u32> {
    CostRecorder::new(tape, parked).before(&state.tapes[tape as usize], &state.tapes)
}
