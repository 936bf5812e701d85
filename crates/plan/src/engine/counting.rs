//! Counting the cost of a function: its operations go on a tape of their own, and the cost of every program that this
//! tape becomes is recorded.

use std::sync::{Arc, Weak};

use cuprous_advisor::counted::Counted;
use cuprous_core::{Storage, Tape};

use crate::cost;
use crate::program::{Program, Step};

/// The costs counted so far.
#[derive(Default)]
pub(crate) struct CostRecorder {
    /// The tape whose programs are counted.
    pub(super) tape: u32,
    /// The calling thread's own tape, which waits meanwhile.
    pub(super) waiting: Option<u32>,
    pub(super) counted: Counted,
    /// Number of programs that were really run.
    pub(super) ran: usize,
    pub(super) kernels: usize,
    /// Values that counted programs computed, and leaves that were counted. They are only compared; a weak reference
    /// keeps the address from being reused.
    known: Vec<Weak<Storage>>,
}

impl CostRecorder {
    /// Returns a recorder for `tape`, while the calling thread's own tape waits.
    pub(super) fn new(tape: u32, waiting: Option<u32>) -> CostRecorder {
        CostRecorder { tape, waiting, ..CostRecorder::default() }
    }

    fn knows(&self, storage: &Arc<Storage>) -> bool {
        self.known.iter().any(|weak| std::ptr::eq(weak.as_ptr(), Arc::as_ptr(storage)))
    }

    /// Counts the leaves of a tape before it runs: they were given to the function, unless it computed them itself.
    pub(crate) fn add_leaves(&mut self, tape: &Tape) {
        for leaf in &tape.leaves {
            if !self.knows(leaf) {
                self.counted.upload += leaf.bytes as f64;
                self.known.push(Arc::downgrade(leaf));
            }
        }
        for owner in tape.owners.iter().flatten() {
            if !self.knows(owner) {
                self.known.push(Arc::downgrade(owner));
            }
        }
    }

    /// Counts a program of `nodes` recorded operations.
    pub(super) fn add(&mut self, program: &Program, nodes: usize) {
        self.counted.programs.push(cost::of(program, nodes));
        self.kernels += program.steps.iter().filter(|step| matches!(step, Step::Launch(_))).count();
    }

    pub(crate) fn records(&self, tape: u32) -> bool {
        self.tape == tape
    }

    /// Counts a program that has run.
    pub(crate) fn add_run(&mut self, program: &Program, nodes: usize) {
        self.add(program, nodes);
        self.ran += 1;
    }

    pub(crate) fn add_read(&mut self, bytes: usize) {
        self.counted.download += bytes as f64;
        self.counted.reads += 1.0;
    }

    pub(crate) fn add_kernel(&mut self) {
        self.kernels += 1;
    }

    /// Returns the waiting tape if it must run before `tape`, because `tape` writes what it still has to read.
    pub(crate) fn tape_to_run_first(&self, tape: &Tape, tapes: &[Tape]) -> Option<u32> {
        let waiting = self.waiting?;
        let read = &tapes[waiting as usize].leaves;
        let writes = |k: usize| {
            tape.nodes[k].is_write()
                && tape.owners[k].as_ref().is_some_and(|owner| read.iter().any(|leaf| Arc::ptr_eq(leaf, owner)))
        };
        (0..tape.nodes.len()).any(writes).then_some(waiting)
    }
}

/// The cost of a function.
#[derive(Clone, Debug, Default)]
pub struct Estimate {
    /// Its programs.
    pub counted: Counted,
    /// How many of them had to run because something needed their values.
    pub ran: usize,
    /// Number of user kernels that it launched. Their work is not known.
    pub kernels: usize,
}
