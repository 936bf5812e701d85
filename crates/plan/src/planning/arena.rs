//! The arena: scratch memory that intermediate values share, by lifetime.

use cuprous_core::layout::MAX_BYTES;

use crate::program::{Assignment, Program};

const ALIGN: usize = 256;

/// Gives every arena buffer an offset, largest first: the lowest at which it overlaps no buffer that is alive at the
/// same time.
pub(crate) fn place(program: &mut Program) {
    let mut life: Vec<Option<(usize, usize)>> = vec![None; program.buffers.len()];
    for (step, s) in program.steps.iter().enumerate() {
        let mut touch = |buffer: u32| {
            let span = life[buffer as usize].get_or_insert((step, step));
            span.1 = step;
        };
        s.touches(|buffer, _| touch(buffer));
    }
    let mut order: Vec<usize> =
        (0..life.len()).filter(|&b| matches!(program.buffers[b].assignment, Assignment::Arena(_))).collect();
    order.sort_by_key(|&b| (std::cmp::Reverse(program.buffers[b].bytes), b));
    // (offset, end, first step, last step) of each buffer placed so far.
    let mut placed: Vec<(usize, usize, usize, usize)> = Vec::with_capacity(order.len());
    let mut in_the_way: Vec<(usize, usize)> = Vec::with_capacity(order.len());
    for b in order {
        let bytes = program.buffers[b].bytes.next_multiple_of(ALIGN).max(ALIGN);
        let (first, last) = life[b].unwrap_or((0, 0));
        in_the_way.clear();
        in_the_way.extend(placed.iter().filter(|p| p.2 <= last && first <= p.3).map(|p| (p.0, p.1)));
        in_the_way.sort_unstable();
        let mut offset = 0_usize;
        for &(start, end) in &in_the_way {
            if offset.saturating_add(bytes) <= start {
                break;
            }
            offset = offset.max(end);
        }
        placed.push((offset, offset.saturating_add(bytes), first, last));
        program.buffers[b].assignment = Assignment::Arena(offset);
    }
    // No device has that much memory, so the allocation fails.
    program.arena_bytes = placed.iter().map(|p| p.1).max().unwrap_or(0).min(MAX_BYTES as usize);
}
