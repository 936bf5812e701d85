//! Counting what a function takes: its operations go on a tape of their own, and every program that this tape becomes is
//! noted with its cost.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Weak};

use cuprous_advisor::counted::Counted;
use cuprous_core::{Array, Error, Result, Storage, Tape};

use crate::cost;
use crate::engine::{Engine, State, lease};
use crate::program::{Program, Step};

/// What has been counted so far.
#[derive(Default)]
pub(crate) struct Watch {
    /// The tape that is watched.
    tape: u32,
    /// The calling thread's own tape, which waits meanwhile.
    parked: Option<u32>,
    counted: Counted,
    /// Programs that really ran.
    ran: usize,
    kernels: usize,
    /// Values that watched programs made, and leaves that were counted. They are only compared: a weak reference keeps
    /// the address from being given anew.
    made: Vec<Weak<Storage>>,
}

impl Watch {
    fn knows(&self, storage: &Arc<Storage>) -> bool {
        self.made.iter().any(|weak| std::ptr::eq(weak.as_ptr(), Arc::as_ptr(storage)))
    }

    /// Before a watched tape runs: its leaves are what the function was given, unless it made them itself.
    pub(crate) fn leaves(&mut self, tape: &Tape) {
        for leaf in &tape.leaves {
            if !self.knows(leaf) {
                self.counted.upload += leaf.bytes as f64;
                self.made.push(Arc::downgrade(leaf));
            }
        }
        for owner in tape.owners.iter().flatten() {
            if !self.knows(owner) {
                self.made.push(Arc::downgrade(owner));
            }
        }
    }

    /// Counts a program of so many recorded operations.
    fn add(&mut self, program: &Program, nodes: usize) {
        self.counted.programs.push(cost::of(program, nodes));
        self.kernels += program.steps.iter().filter(|step| matches!(step, Step::Launch(_))).count();
    }

    pub(crate) fn is_of(&self, tape: u32) -> bool {
        self.tape == tape
    }

    /// A watched program ran.
    pub(crate) fn ran(&mut self, program: &Program, nodes: usize) {
        self.add(program, nodes);
        self.ran += 1;
    }

    pub(crate) fn read(&mut self, bytes: usize) {
        self.counted.download += bytes as f64;
        self.counted.reads += 1.0;
    }

    pub(crate) fn kernel(&mut self) {
        self.kernels += 1;
    }

    /// The tape that must run before a program that writes what it still has to read.
    pub(crate) fn before(&self, tape: &Tape, tapes: &[Tape]) -> Option<u32> {
        let parked = self.parked?;
        let read = &tapes[parked as usize].leaves;
        let writes = |k: usize| {
            tape.nodes[k].is_write()
                && tape.owners[k].as_ref().is_some_and(|owner| read.iter().any(|leaf| Arc::ptr_eq(leaf, owner)))
        };
        (0..tape.nodes.len()).any(writes).then_some(parked)
    }
}

/// What a function took.
#[derive(Clone, Debug, Default)]
pub struct Taken {
    /// Its programs.
    pub counted: Counted,
    /// How many of them had to run, because something needed their values.
    pub ran: usize,
    /// Kernels of the user that it started: what they do is not known.
    pub kernels: usize,
}

impl Engine {
    /// From now on the calling thread records on a tape of its own, and what its programs take is noted.
    ///
    /// # Errors
    /// Something is being counted already.
    pub fn aside(self: &Arc<Engine>) -> Result<()> {
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
        state.watch = Some(Box::new(Watch { tape, parked: Some(old), ..Watch::default() }));
        drop(state);
        self.threads().fetch_add(1, Relaxed);
        lease(self, tape);
        Ok(())
    }

    /// What has been recorded meanwhile but not run, with these results wanted, is planned and counted; nothing is run
    /// for it.
    pub fn count(self: &Arc<Engine>, results: &[&Array]) {
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
    pub fn back(self: &Arc<Engine>) -> Result<Taken> {
        let mut state = self.enter()?;
        let Some(watch) = state.watch.take() else { return Ok(Taken::default()) };
        let Watch { tape, parked, counted, mut ran, kernels, .. } = *watch;
        let steps = state.stats.planned + state.stats.replayed;
        let first = watch_free_before(&state, tape, parked);
        let result = first.map_or(Ok(()), |parked| self.run_tape(&mut state, parked));
        let result = result.and_then(|()| self.run_tape(&mut state, tape));
        ran += usize::from(first.is_none() && state.stats.planned + state.stats.replayed > steps);
        state.give_tape(tape);
        drop(state);
        self.threads().fetch_sub(1, Relaxed);
        if let Some(parked) = parked {
            lease(self, parked);
        }
        result.map(|()| Taken { counted, ran, kernels })
    }
}

/// The parked tape, if what is still recorded writes what it reads.
fn watch_free_before(state: &State, tape: u32, parked: Option<u32>) -> Option<u32> {
    let watch = Watch { tape, parked, ..Watch::default() };
    watch.before(&state.tapes[tape as usize], &state.tapes)
}
