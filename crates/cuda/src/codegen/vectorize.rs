//! Vectorization along one axis: the width of vectors, and how each access steps from lane to lane.

use cuprous_core::{DType, Fun};
use cuprous_plan::{Access, Inst, Kernel, Level, Typed};

/// How an access steps from one lane of a vector to the next.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum LaneStep {
    /// Aligned neighbors in memory: one vector access.
    Contiguous,
    /// The same element for every lane.
    Broadcast,
    /// Any other step: one access per lane.
    Strided,
}

/// Returns how `access` steps along `axis` in vectors of `width`.
pub(crate) fn lane_step(access: &Access, axis: usize, width: u32, d: DType, aligned: bool) -> LaneStep {
    match access.strides.get(axis).copied().unwrap_or(0) {
        0 => LaneStep::Broadcast,
        1 if fits(access, axis, width, d, aligned) => LaneStep::Contiguous,
        _ => LaneStep::Strided,
    }
}

/// Returns true if all vectors of that width start at multiples of their alignment.
fn fits(access: &Access, axis: usize, width: u32, d: DType, aligned: bool) -> bool {
    let unit = i64::from(width).min((16 / d.size() as i64).max(1));
    let others = access.strides.iter().enumerate().filter(|(k, _)| *k != axis).map(|(_, s)| *s);
    unit == 1 || aligned && access.offset % unit == 0 && others.into_iter().all(|s| s % unit == 0)
}

/// Returns the full-level loads and stores (all of them in a map) with the type of their elements.
pub(crate) fn accesses(kernel: &Kernel) -> impl Iterator<Item = (&Typed, &Access)> {
    kernel.body.iter().filter(|t| t.level == Level::Full).filter_map(|t| match &t.inst {
        Inst::Load { access, .. } | Inst::Store { access, .. } => Some((t, access)),
        _ => None,
    })
}

/// Returns the accesses that step by one element along `axis`.
fn unit_steps(kernel: &Kernel, axis: usize) -> impl Iterator<Item = (&Typed, &Access)> {
    accesses(kernel).filter(move |(_, a)| a.strides.get(axis).copied() == Some(1))
}

/// Returns the width of vectors along `axis` if every extent and address is a multiple of it.
pub(crate) fn full_width(kernel: &Kernel, axis: usize) -> u32 {
    let sizes = || unit_steps(kernel, axis).map(|(t, _)| t.dtype.size());
    let (Some(smallest), Some(largest)) = (sizes().min(), sizes().max()) else { return 1 };
    // 16 bytes of the smallest type, but at most 32 of the largest.
    let mut width = (16 / smallest).min((32 / largest).max(1)).max(1) as u32;
    // Random functions give four 32-bit or two 64-bit values at a time.
    for t in &kernel.body {
        if let Inst::Map { fun, .. } = &t.inst {
            width = width.max(random_period(*fun).unwrap_or(1));
        }
    }
    width
}

/// Returns the width of vectors along `axis`, whose extent is `n`. With `partial` the last vector may be incomplete.
pub(crate) fn width(kernel: &Kernel, axis: usize, n: i64, partial: bool, aligned: bool) -> u32 {
    let unit_step: Vec<(&Typed, &Access)> = unit_steps(kernel, axis).collect();
    let smallest = unit_step.iter().map(|(t, _)| t.dtype.size()).min().unwrap_or(4);
    let mut width = full_width(kernel, axis);
    while width > 1 && !partial && n % i64::from(width) != 0 {
        width /= 2;
    }
    let misfit = |w: u32, stores: bool| {
        unit_step
            .iter()
            .any(|(t, a)| matches!(t.inst, Inst::Store { .. }) == stores && !fits(a, axis, w, t.dtype, aligned))
    };
    while width > 1 && misfit(width, true) {
        width /= 2;
    }
    // Unaligned elements are best read by neighboring threads, so vectors shrink to four bytes.
    while width as usize * smallest > 4 && misfit(width, false) {
        width /= 2;
    }
    width
}

/// Returns how many values one Philox block gives to a random function; `None` for other functions.
pub(crate) fn random_period(fun: Fun) -> Option<u32> {
    match fun {
        Fun::RandomBits32 | Fun::RandomUnit32 | Fun::RandomNormal32 => Some(4),
        Fun::RandomBits64 | Fun::RandomUnit64 | Fun::RandomNormal64 => Some(2),
        _ => None,
    }
}

/// Returns true if lanes 0..period of a vector take the words of one block: the index steps by one along the axis and
/// is a multiple of the period at the start of every vector.
pub(crate) fn shares_blocks(access: &Access, axis: usize, width: u32, period: u32) -> bool {
    let p = i64::from(period);
    let others = access.strides.iter().enumerate().filter(|(k, _)| *k != axis).map(|(_, s)| *s);
    width.is_multiple_of(period)
        && access.strides.get(axis).copied() == Some(1)
        && access.offset % p == 0
        && others.into_iter().all(|s| s % p == 0)
}
