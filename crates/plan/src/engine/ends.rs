//! Where a tape ends by itself.
//!
//! On a GPU a cut decides which kernels there are on both sides of it: what is fused, packed, and written to memory. So it
//! depends on the recorded operations and not on their extents, and a program whose lengths differ at each step is cut at
//! the same operations at each step.

use std::sync::atomic::Ordering::Relaxed;

use cuprous_core::node::SrcKind;
use cuprous_core::{Node, NodeKind, Tape};

use super::state::State;
use super::{BIG_WORK, Engine, Replay};

/// Nodes after which a tape ends by itself.
const NODE_CAP: usize = 512;
/// Nodes after which a tape that repeats itself ends, at the same operation of each repetition.
const PERIODIC_CAP: usize = 160;
/// Nodes that equal those before them in a repetition, at least.
const LEAST_REPEATED: usize = 32;
/// Nodes between two searches for a repetition.
const SEARCH_STEP: usize = 32;
/// Nodes after which a tape ends at the next routine on a device that works while the host goes on: after a wait for the
/// device, which is then idle. Recording them takes some 20 µs. The number doubles with each tape.
pub(super) const FIRST_NODES: usize = 32;
/// The largest such number. Recognizing and launching a program takes a twentieth of the time that recording so many
/// nodes takes.
const MOST_NODES: usize = 128;
/// Work of a single routine at which the tape ends in any case: 1 ms of an H200.
const LONG_ROUTINE: u64 = 64 * BIG_WORK;

/// A routine that was just recorded.
#[derive(Clone, Copy)]
pub(super) struct Recorded {
    /// Its work, as the bytes that take as long to move.
    pub(super) work: u64,
    /// Nodes for which the tape stays open after it.
    pub(super) after: usize,
}

impl Engine {
    /// Decides after an operation whether the tape ends here. With `ends` it ends at once.
    #[inline]
    pub(super) fn close(&self, state: &mut State, tape: u32, routine: Option<Recorded>, ends: bool) {
        state.stats.nodes += 1;
        let t = &mut state.tapes[tape as usize];
        let len = t.nodes.len();
        if t.period > 0 && !alike(&t.nodes[len - 1], &t.nodes[len - 1 - t.period]) {
            t.period = 0;
        }
        if len >= PERIODIC_CAP.max(t.searched + SEARCH_STEP) && t.period == 0 {
            search(t);
        }
        if let Some(routine) = routine
            && self.device.is_asynchronous()
            && self.is_enough(t, routine, state.nodes_per_program)
        {
            search(t);
            if t.period == 0 {
                t.ends_at = len + routine.after;
            }
        }
        if ends
            || len >= NODE_CAP
            || len >= t.ends_at
            || (t.period > 0 && len % t.period == t.phase)
            || state.replay == Replay::Single
        {
            self.due.store(true, Relaxed);
        }
    }

    /// Returns true if a device that works while the host goes on should be given a tape after a routine.
    fn is_enough(&self, t: &Tape, routine: Recorded, nodes: usize) -> bool {
        // A device made of two decides by work where a program runs.
        let enough = if self.device.gpu().is_some() { t.nodes.len() >= nodes } else { t.work > BIG_WORK };
        enough || routine.work > LONG_ROUTINE
    }
}

impl State {
    /// Notes that a tape was submitted: the device is busy while the next one is recorded.
    pub(super) fn note_submitted(&mut self) {
        self.nodes_per_program = (2 * self.nodes_per_program).min(MOST_NODES);
    }

    /// Notes that the host waits for the device: the next program is submitted early.
    pub(super) fn note_wait(&mut self) {
        self.launches_per_program = 1;
        self.nodes_per_program = FIRST_NODES;
    }
}

/// Returns true if two nodes do the same with operands of any extents.
fn alike(a: &Node, b: &Node) -> bool {
    let launched = |node: &Node| (node.kind == NodeKind::Launch).then(|| (node.launch_id(), node.launch_array()));
    (a.kind, a.fun, a.nin) == (b.kind, b.fun, b.nin) && launched(a) == launched(b)
}

/// Looks for a repetition at the end of a tape, and for the operation of it at which the tape should end.
pub(super) fn search(tape: &mut Tape) {
    tape.searched = tape.nodes.len();
    tape.period = period(&tape.nodes);
    tape.phase = if tape.period > 0 { phase(&tape.nodes, tape.period) } else { 0 };
}

/// Returns the length of the repetition with which a list of nodes ends, or 0. It is seen three times, and over as many
/// nodes that it is no accident within the body of a loop. A loop that never reads a value is cut at the same node of its
/// body each time, so that its programs are recognized.
fn period(nodes: &[Node]) -> usize {
    let n = nodes.len();
    let repeats = |p: usize| (n - (2 * p).max(LEAST_REPEATED).min(n - p)..n).all(|k| alike(&nodes[k], &nodes[k - p]));
    (1..=n / 3).find(|&p| repeats(p)).unwrap_or(0)
}

/// Returns the position in the repetition, counted from the start of the tape, at which a tape that ends with three
/// repetitions of `p` nodes should end. If all of the tape repeats itself, it is where the tape began. Else it depends on
/// the repetition alone, and not on what came before: the fewest values pass from one side to the other there.
fn phase(nodes: &[Node], p: usize) -> usize {
    let n = nodes.len();
    if (p..n).all(|k| alike(&nodes[k], &nodes[k - p])) {
        return 0;
    }
    // Values that are computed before a node and used at it or later, for the nodes of the second repetition.
    let first = n - 3 * p;
    let mut last_use: Vec<usize> = (first..n).collect();
    for (k, node) in nodes.iter().enumerate().skip(first) {
        for operand in node.operands() {
            if let SrcKind::Node(source) = operand.src.kind()
                && source as usize >= first
            {
                last_use[source as usize - first] = k;
            }
        }
    }
    let crossing = |at: usize| (first..at).filter(|&k| last_use[k - first] >= at).count();
    // Of equals the least rotation, by what the operations are.
    let code = |k: usize| (nodes[k].kind as u8, nodes[k].fun, nodes[k].nin);
    let rotation = |at: usize| (at..at + p).map(code);
    let positions = (n - 2 * p..n - p).map(|at| (crossing(at), at));
    let best = positions.min_by(|a, b| a.0.cmp(&b.0).then_with(|| rotation(a.1).cmp(rotation(b.1))));
    best.map_or(0, |(_, at)| at % p)
}

#[cfg(test)]
mod tests {
    use cuprous_core::{DType, In, Layout, Src};

    use super::*;

    /// Records a function of earlier nodes, `back` nodes before.
    fn record(tape: &mut Tape, fun: u8, back: &[usize]) {
        let at = tape.nodes.len();
        let mut ins = [In::default(); 3];
        for (to, back) in ins.iter_mut().zip(back) {
            let src = if *back <= at { Src::node((at - back) as u32) } else { Src::leaf(0) };
            *to = In { src, layout: 1 };
        }
        tape.push_intermediate(NodeKind::Map, fun, back.len() as u8, &Layout::contiguous(DType::F32, &[4]), ins, 0);
    }

    /// Repetitions of five nodes after some others. A single value passes from the first node to the second, and from the
    /// second to the third.
    fn tape(before: usize, count: usize) -> Vec<Node> {
        let body: [(u8, &[usize]); 5] = [(1, &[1, 2]), (2, &[1, 1]), (3, &[1]), (4, &[1, 2]), (5, &[1, 2])];
        let mut tape = Tape::new(0);
        (0..before).for_each(|k| record(&mut tape, 20 + k as u8, &[]));
        for k in 0..5 * count {
            let (fun, back) = body[k % 5];
            record(&mut tape, fun, back);
        }
        std::mem::take(&mut tape.nodes)
    }

    #[test]
    fn a_repetition_is_cut_at_the_same_node_wherever_it_begins() {
        let cut = |before: usize, rest: usize| {
            let mut nodes = tape(before, 9);
            nodes.truncate(nodes.len() - rest);
            assert_eq!(period(&nodes), 5);
            let phase = phase(&nodes, 5);
            (before..nodes.len()).find(|k| k % 5 == phase).map(|k| nodes[k].fun)
        };
        for before in 1..12 {
            for rest in 0..5 {
                assert_eq!(cut(before, rest), Some(2), "{before} {rest}");
            }
        }
    }

    #[test]
    fn a_tape_that_repeats_itself_from_the_start_is_cut_at_its_start() {
        assert_eq!(phase(&tape(0, 9), 5), 0);
        assert_eq!(period(&tape(0, 2)), 0);
    }
}
