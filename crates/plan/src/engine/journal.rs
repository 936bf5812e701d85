//! The journal: why a program was or was not replayed.

use std::collections::{HashMap, VecDeque};
use std::fmt::Write;

use cuprous_core::tape::format_location;
use cuprous_core::{Node, NodeKind, RoutineRef, Tape};

use crate::program::{Program, Step};

/// Number of events kept.
const MAX_EVENTS: usize = 64;
/// Number of new programs in a row whose successors have source locations, and how many more there are to each one that
/// has them from then on. Where all shapes are new, capturing locations would take a fifth of planning.
const LOCATED: u32 = 8;

enum Event {
    Replayed { hash: u64, times: u64 },
    Planned { hash: u64, nodes: usize, kernels: usize, routines: usize, epilogues: usize, why: String },
}

/// The last programs, and whether each was planned or replayed.
#[derive(Default)]
pub(crate) struct Journal {
    events: VecDeque<Event>,
    /// The program that followed each program last time.
    expected: HashMap<u64, u64>,
    /// Nodes of programs, with the routines that they refer to.
    nodes: HashMap<u64, (Vec<Node>, Vec<RoutineRef>)>,
    /// For a profile: the last program of each source line.
    last_of_line: HashMap<u32, u64>,
    last: u64,
    /// By how much planned programs exceed replayed ones since replayed ones last exceeded them.
    surplus: u32,
}

impl Journal {
    /// Records that a program was recognized.
    pub(crate) fn replayed(&mut self, hash: u64) {
        self.surplus = self.surplus.saturating_sub(1);
        let before = std::mem::replace(&mut self.last, hash);
        if let Some(Event::Replayed { hash: h, times }) = self.events.back_mut()
            && *h == hash
        {
            *times += 1;
            if *times == 2 {
                self.followed(before, hash);
            }
            return;
        }
        self.followed(before, hash);
        self.push(Event::Replayed { hash, times: 1 });
    }

    /// Records that a program was seen for the first time.
    pub(crate) fn planned(&mut self, hash: u64, tape: &Tape, program: &Program) {
        self.surplus = self.surplus.saturating_add(1);
        let nodes = &tape.nodes;
        let why = match self.expected.get(&self.last).and_then(|next| self.nodes.get(next)) {
            None => "nothing was recorded after this point before".to_owned(),
            Some((before, _)) => difference(before, nodes, &tape.locations),
        };
        if self.nodes.len() > 256 {
            self.nodes.clear();
        }
        self.nodes.insert(hash, (nodes.clone(), tape.routines.clone()));
        self.followed(self.last, hash);
        self.last = hash;
        let kernels = program.steps.iter().filter(|s| !matches!(s, Step::Routine(_))).count();
        let routines = program.steps.len() - kernels;
        let epilogues = program.steps.iter().filter(|s| matches!(s, Step::Routine(c) if !c.epilogue.is_none())).count();
        self.push(Event::Planned { hash, nodes: nodes.len(), kernels, routines, epilogues, why });
    }

    /// Called for a program that was just planned or recognized for a source line. If it was planned, returns why: the
    /// difference from the line's last program, or else from the program that followed last time.
    pub(crate) fn why(&mut self, line: u32, hash: u64, tape: &Tape) -> Option<String> {
        if self.last_of_line.len() > 256 {
            self.last_of_line.clear();
        }
        let before = self.last_of_line.insert(line, hash).filter(|&before| before != hash && line != 0);
        let Some(Event::Planned { why, .. }) = self.events.back() else { return None };
        let before = before.and_then(|before| self.nodes.get(&before));
        Some(before.map_or_else(|| why.clone(), |(nodes, _)| difference(nodes, &tape.nodes, &tape.locations)))
    }

    /// Returns true if the program after this one, which was planned, should have source locations.
    pub(crate) fn wants_locations(&self) -> bool {
        self.surplus <= LOCATED || self.surplus.is_multiple_of(LOCATED)
    }

    fn followed(&mut self, before: u64, hash: u64) {
        if self.expected.len() > 256 {
            self.expected.clear();
        }
        self.expected.insert(before, hash);
    }

    fn push(&mut self, event: Event) {
        if self.events.len() == MAX_EVENTS {
            self.events.pop_front();
        }
        self.events.push_back(event);
    }

    /// Returns the journal, one line for each event, oldest first.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        for event in &self.events {
            let _ = match event {
                Event::Replayed { hash, times } => writeln!(text, "program {:08x}: replayed {times}×", *hash as u32),
                Event::Planned { hash, nodes, kernels, routines, epilogues, why } => writeln!(
                    text,
                    "program {:08x}: planned anew, {nodes} operations in {kernels} kernels and {routines} \
                     calls{}: {why}",
                    *hash as u32,
                    if *epilogues > 0 { format!(", {epilogues} with an epilogue") } else { String::new() }
                ),
            };
        }
        if text.is_empty() {
            text.push_str("nothing has run yet\n");
        }
        text
    }
}

/// Describes the first node in which two programs differ.
fn difference(before: &[Node], now: &[Node], places: &[u32]) -> String {
    match before.iter().zip(now).position(|(a, b)| a != b) {
        Some(k) => {
            let (a, b) = (&before[k], &now[k]);
            let what = if (a.kind, a.fun) != (b.kind, b.fun) {
                format!("{} instead of {}", name(b), name(a))
            } else if a.out != b.out {
                format!("{} with another shape or dtype", name(b))
            } else {
                format!("{} of other operands", name(b))
            };
            format!(
                "operation {} of {} differs from last time: {what}{}",
                k + 1,
                now.len(),
                format_location(places.get(k))
            )
        }
        None if before.len() != now.len() => {
            let last = now.len().min(before.len()).saturating_sub(1);
            format!("{} operations instead of {}{}", now.len(), before.len(), format_location(places.get(last)))
        }
        None => "the same operations, but other values are still in use or other memory is read".into(),
    }
}

/// Returns an operation's name.
pub(crate) fn name(node: &Node) -> String {
    match node.kind {
        NodeKind::Map => node.map_fun().op().name.into(),
        NodeKind::Reduce => format!("{:?}", node.reduce_op()).to_lowercase(),
        NodeKind::Gather => "indexing".into(),
        NodeKind::Update => "assignment".into(),
        NodeKind::Scatter => "indexed assignment".into(),
        NodeKind::Launch => "kernel of the user".into(),
        NodeKind::Routine => cuprous_core::RoutineOp::interned(node.routine_id()).name().into(),
    }
}
