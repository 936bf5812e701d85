//! Counting what a function takes: its operations go on a tape of their own, and every program that this tape becomes is
//! noted with its cost.

use std::sync::{Arc, Weak};

use cuprous_advisor::counted::Counted;
use cuprous_core::{Storage, Tape};

use crate::cost;
use crate::program::{Program, Step};

/// What has been counted so far.
#[derive(Default)]
pub(crate) struct CostRecorder {
    /// The tape that is watched.
    pub(super) tape: u32,
    /// The calling thread's own tape, which waits meanwhile.
    pub(super) parked: Option<u32>,
    pub(super) counted: Counted,
    /// Programs that really ran.
    pub(super) ran: usize,
    pub(super) kernels: usize,
    /// Values that watched programs made, and leaves that were counted. They are only compared: a weak reference keeps
    /// the address from being given anew.
    made: Vec<Weak<Storage>>,
}

impl CostRecorder {
    /// Returns a watch on `tape`, while the calling thread's own tape waits.
    pub(super) fn new(tape: u32, parked: Option<u32>) -> CostRecorder {
        CostRecorder { tape, parked, ..CostRecorder::default() }
    }

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
    pub(super) fn add(&mut self, program: &Program, nodes: usize) {
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
pub struct Estimate {
    /// Its programs.
    pub counted: Counted,
    /// How many of them had to run, because something needed their values.
    pub ran: usize,
    /// Kernels of the user that it started: what they do is not known.
    pub kernels: usize,
}
