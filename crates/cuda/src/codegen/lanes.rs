//! Vectors along one axis: their width, and how each access moves through them.

use cuprous_core::{DType, Fun};
use cuprous_plan::{Access, Inst, Kernel, Level, Typed};

/// How an access steps from one lane of a vector to the next.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Lane {
    /// Neighbours in memory, aligned: one vector access.
    Vector,
    /// The same element for every lane.
    Same,
    /// Any other step: lane by lane.
    Strided,
}

/// How `access` steps along `axis` in vectors of `width`.
pub(crate) fn lane(access: &Access, axis: usize, width: u32, d: DType, aligned: bool) -> Lane {
    match access.strides.get(axis).copied().unwrap_or(0) {
        0 => Lane::Same,
        1 if fits(access, axis, width, d, aligned) => Lane::Vector,
        _ => Lane::Strided,
    }
}

/// True where vectors of that width start at multiples of their alignment.
fn fits(access: &Access, axis: usize, width: u32, d: DType, aligned: bool) -> bool {
    let unit = i64::from(width).min((16 / d.size() as i64).max(1));
    let others = access.strides.iter().enumerate().filter(|(k, _)| *k != axis).map(|(_, s)| *s);
    unit == 1 || aligned && access.offset % unit == 0 && others.into_iter().all(|s| s % unit == 0)
}

/// The accesses of memory at full level (all of them in a map), with the type of their elements.
pub(crate) fn accesses(kernel: &Kernel) -> impl Iterator<Item = (&Typed, &Access)> {
    kernel.body.iter().filter(|t| t.level == Level::Full).filter_map(|t| match &t.inst {
        Inst::Load { access, .. } | Inst::Store { access, .. } => Some((t, access)),
        _ => None,
    })
}

/// Lanes of a vector along `axis`, whose extent is `n`. `partial` says that a last, partial vector may stand at the end.
pub(crate) fn width(kernel: &Kernel, axis: usize, n: i64, partial: bool, aligned: bool) -> u32 {
    let unit_step: Vec<(&Typed, &Access)> =
        accesses(kernel).filter(|(_, a)| a.strides.get(axis).copied() == Some(1)).collect();
    let (Some(least), Some(most)) =
        (unit_step.iter().map(|(t, _)| t.dtype.size()).min(), unit_step.iter().map(|(t, _)| t.dtype.size()).max())
    else {
        return 1;
    };
    // 16 bytes of the smallest type, but no more than 32 of the largest.
    let mut width = (16 / least).min((32 / most).max(1)).max(1) as u32;
    // Random functions give four 32-bit or two 64-bit values at a time.
    for t in &kernel.body {
        if let Inst::Map { fun, .. } = &t.inst {
            width = width.max(random_period(*fun).unwrap_or(1));
        }
    }
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
    // Unaligned neighbours are best read by neighbouring threads, so vectors shrink to four bytes.
    while width as usize * least > 4 && misfit(width, false) {
        width /= 2;
    }
    width
}

/// Values that one Philox block gives to a random function; `None` for other functions.
pub(crate) fn random_period(fun: Fun) -> Option<u32> {
    match fun {
        Fun::RandomBits32 | Fun::RandomUnit32 | Fun::RandomNormal32 => Some(4),
        Fun::RandomBits64 | Fun::RandomUnit64 | Fun::RandomNormal64 => Some(2),
        _ => None,
    }
}

/// True where lanes 0..period of a vector take the words of one block: the index steps by one along the axis and is a
/// multiple of the period at every vector's start.
pub(crate) fn shares_blocks(access: &Access, axis: usize, width: u32, period: u32) -> bool {
    let p = i64::from(period);
    let others = access.strides.iter().enumerate().filter(|(k, _)| *k != axis).map(|(_, s)| *s);
    width.is_multiple_of(period)
        && access.strides.get(axis).copied() == Some(1)
        && access.offset % p == 0
        && others.into_iter().all(|s| s % p == 0)
}
