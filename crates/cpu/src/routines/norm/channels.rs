//! Statistics of the channels of a batch of shape (batch, channels, ...), and the gradients of its normalization.

use std::marker::PhantomData;
use std::ptr::null_mut as null;

use cuprous_core::routine::ChannelNorm;
use cuprous_core::{DType, LayoutRef, Result};

use super::{TASK, sums};
use crate::isa::{self, Body, Isa, Level, V1, V3, V4};
use crate::math::{F32, F64, Float};
use crate::routines::operands::{Contiguous, View};
use crate::threads::parallel_for;

fn is_batch(x: &LayoutRef) -> bool {
    x.size > 0 && x.ndim() >= 2 && matches!(x.dtype, DType::F32 | DType::F64)
}

/// Returns true if the operands and the result fit together: see `RoutineOp::ChannelStatistics`.
pub(crate) fn fits(x: &LayoutRef, weight: Option<&LayoutRef>, out: &LayoutRef) -> bool {
    is_batch(x)
        && out.shape[..] == [4, x.shape[1]]
        && weight.is_none_or(|w| w.shape[..] == x.shape[1..2])
        && weight.into_iter().chain([out]).all(|l| l.dtype == x.dtype)
}

/// Returns true if the operands and the result fit together: see `RoutineOp::ChannelBackward`.
pub(crate) fn fits_backward(g: &LayoutRef, x: &LayoutRef, statistics: &LayoutRef, out: &LayoutRef) -> bool {
    is_batch(x)
        && g.shape == x.shape
        && statistics.shape[..] == [4, x.shape[1]]
        && out.shape[..] == [x.size + 2 * x.shape[1]]
        && [g, statistics, out].iter().all(|l| l.dtype == x.dtype)
}

/// Channels `first..last` of a contiguous batch of shape (batch, channels, area). Pointers that a loop does not use are
/// null. All others are to memory that holds these elements.
#[derive(Clone, Copy)]
struct Channels {
    g: *mut u8,
    x: *mut u8,
    /// Of the statistics: the factor of each channel, or null. Of the gradients: the statistics.
    given: *mut u8,
    out: *mut u8,
    batch: usize,
    channels: usize,
    area: usize,
    first: usize,
    last: usize,
    eps: f64,
}

// SAFETY: threads write the results of disjoint channels.
unsafe impl Send for Channels {}
// SAFETY: threads write the results of disjoint channels.
unsafe impl Sync for Channels {}

impl Channels {
    /// Returns `count` channels from `first` on, as far as there are any.
    fn part(&self, first: usize, count: usize) -> Channels {
        Channels { first, last: self.channels.min(first + count), ..*self }
    }

    /// Returns the index of the first element of a channel of an image.
    #[inline(always)]
    fn start(&self, image: usize, channel: usize) -> usize {
        (image * self.channels + channel) * self.area
    }
}

/// Computes the statistics. Those of images are combined by the formula of Chan, Golub and LeVeque, Updating formulae and a
/// pairwise algorithm for computing sample variances, 1979.
struct Statistics<E>(PhantomData<E>);

impl<E: Float> Body for Statistics<E> {
    type Args = Channels;

    #[inline(always)]
    unsafe fn run(a: &Channels) {
        let n = a.area;
        for channel in a.first..a.last {
            let (mut mean, mut squares) = (0.0, 0.0);
            for image in 0..a.batch {
                // SAFETY: by the contract of `Channels`.
                let x = unsafe { (a.x as *const E).add(a.start(image, channel)) };
                // SAFETY: as above.
                let [total] = sums(n, |k| unsafe { [*x.add(k)] });
                let own = total.to_f64() / n as f64;
                let center = E::from_f64(own);
                // SAFETY: as above.
                let [spread] = sums(n, |k| unsafe {
                    let centered = (*x.add(k)).sub(center);
                    [centered.mul(centered)]
                });
                let (before, difference) = (image as f64, own - mean);
                mean += difference / (before + 1.0);
                squares += spread.to_f64() + difference * difference * (n as f64 * before / (before + 1.0));
            }
            let variance = squares / (n * a.batch) as f64;
            let scale = 1.0 / (variance + a.eps).sqrt();
            let weight = a.given as *const E;
            // SAFETY: by the contract of `Channels`.
            unsafe {
                let factor = if weight.is_null() { scale } else { scale * (*weight.add(channel)).to_f64() };
                for (k, value) in [mean, variance, scale, factor].into_iter().enumerate() {
                    *(a.out as *mut E).add(k * a.channels + channel) = E::from_f64(value);
                }
            }
        }
    }
}

/// Computes the gradients.
struct Backward<E>(PhantomData<E>);

impl<E: Float> Body for Backward<E> {
    type Args = Channels;

    #[inline(always)]
    unsafe fn run(a: &Channels) {
        let count = (a.area * a.batch) as f64;
        for channel in a.first..a.last {
            // SAFETY: by the contract of `Channels`.
            let [mean, _, scale, factor] =
                std::array::from_fn(|k| unsafe { *(a.given as *const E).add(k * a.channels + channel) });
            let (mut shift, mut slope) = (0.0, 0.0);
            for image in 0..a.batch {
                // SAFETY: by the contract of `Channels`.
                let [g, x] = unsafe { [a.g, a.x].map(|p| (p as *const E).add(a.start(image, channel))) };
                // SAFETY: as above.
                let [total, product] = sums(a.area, |k| unsafe {
                    let g = *g.add(k);
                    [g, g.mul((*x.add(k)).sub(mean))]
                });
                shift += total.to_f64();
                slope += product.to_f64();
            }
            let slope = slope * scale.to_f64();
            let (average, steepness) = (E::from_f64(shift / count), E::from_f64(slope * scale.to_f64() / count));
            for image in 0..a.batch {
                let start = a.start(image, channel);
                // SAFETY: by the contract of `Channels`.
                unsafe {
                    let [g, x] = [a.g, a.x].map(|p| (p as *const E).add(start));
                    let out = (a.out as *mut E).add(start);
                    for k in 0..a.area {
                        let rest = (*g.add(k)).sub(average).sub((*x.add(k)).sub(mean).mul(steepness));
                        *out.add(k) = rest.mul(factor);
                    }
                }
            }
            // SAFETY: by the contract of `Channels`.
            unsafe {
                let sums = (a.out as *mut E).add(a.start(a.batch, 0) + channel);
                *sums = E::from_f64(slope);
                *sums.add(a.channels) = E::from_f64(shift);
            }
        }
    }
}

macro_rules! run {
    ($body:ident, $dtype:expr, $all:expr) => {{
        let entry = match (isa::level(), $dtype) {
            (Level::V1, DType::F32) => V1::entry::<$body<F32<V1>>>(),
            (Level::V3, DType::F32) => V3::entry::<$body<F32<V3>>>(),
            (Level::V4, DType::F32) => V4::entry::<$body<F32<V4>>>(),
            (Level::V1, _) => V1::entry::<$body<F64<V1>>>(),
            (Level::V3, _) => V3::entry::<$body<F64<V3>>>(),
            (Level::V4, _) => V4::entry::<$body<F64<V4>>>(),
        };
        let all: Channels = $all;
        let step = (TASK / (all.batch * all.area)).max(1);
        // SAFETY: by the contract of `Channels`; the channels of tasks are disjoint.
        parallel_for(all.channels.div_ceil(step), |t| unsafe {
            entry(&all.part(t * step, step));
        });
    }};
}

fn extents(x: &View) -> [usize; 3] {
    let &[batch, channels, ref area @ ..] = x.shape() else { unreachable!("checked by `fits`") };
    [batch, channels, area.iter().product()].map(|n| n as usize)
}

/// Computes statistics: see `RoutineOp::ChannelStatistics`.
///
/// # Safety
/// The views are in memory and [fit](fits) together. The output is contiguous.
pub(crate) unsafe fn statistics(of: &ChannelNorm, x: View, weight: Option<View>, out: View) -> Result<()> {
    let ([batch, channels, area], dtype, eps) = (extents(&x), x.dtype(), of.epsilon());
    // SAFETY: by this function's contract.
    let x = unsafe { Contiguous::new(x, dtype)? };
    // SAFETY: as above.
    let weight = weight.map(|weight| unsafe { Contiguous::new(weight, dtype) }).transpose()?;
    let (given, x, out) = (weight.as_ref().map_or(null(), Contiguous::ptr), x.ptr(), out.origin());
    run!(Statistics, dtype, Channels { g: null(), x, given, out, batch, channels, area, first: 0, last: 0, eps });
    Ok(())
}

/// Computes the gradients: see `RoutineOp::ChannelBackward`.
///
/// # Safety
/// The views are in memory and [fit](fits_backward) together. The output is contiguous.
pub(crate) unsafe fn backward(g: View, x: View, statistics: View, out: View) -> Result<()> {
    let ([batch, channels, area], dtype) = (extents(&x), x.dtype());
    // SAFETY: by this function's contract.
    let [g, x, given] =
        unsafe { [Contiguous::new(g, dtype)?, Contiguous::new(x, dtype)?, Contiguous::new(statistics, dtype)?] };
    let (g, x, given, out) = (g.ptr(), x.ptr(), given.ptr(), out.origin());
    run!(Backward, dtype, Channels { g, x, given, out, batch, channels, area, first: 0, last: 0, eps: 0.0 });
    Ok(())
}
