//! What the engine's lock guards.

use cuprous_core::{Fun, LayoutRef, Tape, profile};

use super::cache::Programs;
use super::counting::CostRecorder;
use super::elementwise::Memo;
use super::journal::Journal;
use super::replay::{Replay, Stats};

/// The layouts of a draw of random numbers.
pub(crate) struct Draw {
    pub(super) fun: Fun,
    /// The index values from which the numbers are computed.
    pub(super) index: LayoutRef,
    pub(super) out: LayoutRef,
}

/// What the engine's lock guards.
pub(crate) struct State {
    pub(crate) tapes: Vec<Tape>,
    pub(crate) free_tapes: Vec<u32>,
    pub(crate) memo: Memo,
    pub(crate) programs: Programs,
    pub(crate) journal: Journal,
    pub(crate) replay: Replay,
    pub(crate) stats: Stats,
    /// The layouts of the last draw of random numbers: a loop repeats the same draw.
    pub(crate) draw: Option<Draw>,
    /// Number of launches of user kernels that are submitted together: see [`Engine::launch`](super::Engine::launch).
    pub(crate) launches_per_program: usize,
    /// Number of nodes after which a tape ends at a routine, on a device that works while the host goes on.
    pub(super) nodes_per_program: usize,
    /// Work submitted since the last wait for the device, as the bytes that take as long to move.
    pub(super) submitted: u64,
    /// Present while the cost of a function is counted.
    pub(crate) recorder: Option<Box<CostRecorder>>,
    /// The layouts without axes, by dtype.
    pub(crate) scalars: Vec<LayoutRef>,
}

impl State {
    /// Returns a tape that no thread has.
    pub(crate) fn take_tape(&mut self) -> u32 {
        let tape = self.free_tapes.pop().unwrap_or_else(|| self.add_tape());
        if profile::on() && self.tapes[tape as usize].nodes.is_empty() {
            self.tapes[tape as usize].track(true);
        }
        tape
    }

    /// Returns a tape that no thread has and on which nothing is pending. A tape of an ended thread may have pending
    /// values.
    pub(crate) fn take_empty_tape(&mut self) -> u32 {
        match self.free_tapes.iter().position(|&tape| self.tapes[tape as usize].nodes.is_empty()) {
            Some(at) => self.free_tapes.swap_remove(at),
            None => self.add_tape(),
        }
    }

    fn add_tape(&mut self) -> u32 {
        let index = self.tapes.len() as u32;
        self.tapes.push(Tape::new(index));
        index
    }

    /// Returns true if a tape records source locations.
    pub(super) fn tracks(&self) -> bool {
        self.tapes.iter().any(|tape| tape.tracked)
    }

    pub(crate) fn give_tape(&mut self, tape: u32) {
        self.free_tapes.push(tape);
    }
}
