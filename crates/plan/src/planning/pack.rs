//! Packing: small independent maps of different shapes become one step, so one launch.
//!
//! A launch takes longer than such a map itself: 3.7 µs on a stream and 0.75 µs in a graph (H200), where 65,536
//! elements take less than one. Up to 262,144 elements all threads of a GPU run at the same time, so that parts of a launch
//! do not wait for each other.

use smallvec::SmallVec;

use crate::program::{Inst, Kernel, Step};

/// Largest map that is packed, in elements.
const MAX_ELEMENTS: i64 = 1 << 18;
/// Largest number of maps in one step.
const MAX_KERNELS: usize = 64;
/// How many steps earlier a map may run.
const LOOK_BACK: usize = 16;

/// The buffers that a step touches, and whether it writes them.
type Touched = SmallVec<[(u32, bool); 8]>;

/// Packs small maps: each joins the nearest earlier step that takes it, if it does not depend on a step in between.
/// `nodes` are the nodes of each step.
pub(crate) fn pack(steps: Vec<Step>, nodes: Vec<Vec<u32>>) -> (Vec<Step>, Vec<Vec<u32>>) {
    let mut packed: Vec<Step> = Vec::with_capacity(steps.len());
    let mut sources: Vec<Vec<u32>> = Vec::with_capacity(steps.len());
    let mut touched: Vec<Touched> = Vec::with_capacity(steps.len());
    for (step, nodes) in steps.into_iter().zip(nodes) {
        let mut ours = Touched::new();
        step.touches(|buffer, writes| ours.push((buffer, writes)));
        match step {
            Step::Kernel(kernel) if is_small_map(&kernel) => match pack_for(&packed, &touched, &ours) {
                Some(at) => {
                    join(&mut packed[at], kernel);
                    sources[at].extend(nodes);
                    touched[at].extend(ours);
                    continue;
                }
                None => packed.push(Step::Kernel(kernel)),
            },
            other => packed.push(other),
        }
        sources.push(nodes);
        touched.push(ours);
    }
    (packed, sources)
}

fn is_small_map(kernel: &Kernel) -> bool {
    !kernel.reduces()
        && kernel.outer_size() <= MAX_ELEMENTS
        && !kernel.body.iter().any(|t| matches!(t.inst, Inst::Scatter { .. }))
}

fn pack_for(packed: &[Step], touched: &[Touched], ours: &Touched) -> Option<usize> {
    for (at, step) in packed.iter().enumerate().rev().take(LOOK_BACK) {
        if !independent(&touched[at], ours) {
            return None;
        }
        let has_room = match step {
            Step::Kernel(first) => is_small_map(first),
            Step::Pack(kernels) => kernels.len() < MAX_KERNELS,
            Step::Routine(_) | Step::Launch(_) => false,
        };
        if has_room {
            return Some(at);
        }
    }
    None
}

/// Returns true if neither writes what the other touches.
fn independent(theirs: &Touched, ours: &Touched) -> bool {
    theirs
        .iter()
        .all(|&(their, they_write)| ours.iter().all(|&(our, we_write)| our != their || !(they_write || we_write)))
}

fn join(step: &mut Step, kernel: Kernel) {
    match step {
        Step::Pack(kernels) => kernels.push(kernel),
        Step::Kernel(first) => *step = Step::Pack(vec![first.clone(), kernel]),
        Step::Routine(_) | Step::Launch(_) => unreachable!("routines and launches take no maps"),
    }
}
