//! Statistics of the channels of a batch of shape (batch, channels, ...), and the gradients of its normalization.

use std::marker::PhantomData;
use std::ptr::null_mut as null;

use cuprous_core::routine::ChannelNorm;
use cuprous_core::{DType, LayoutRef, Result};

use super::{TASK, compiled, sums};
use crate::isa::Body;
use crate::math::Float;
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

/// Images of one element each whose sums are formed at once.
const BLOCK: usize = 64;

/// Calls a function for the channels of a part: for 32 neighbors at once, then for 8, then for one.
macro_rules! for_neighbors {
    ($f:ident, $a:expr) => {{
        let mut channel = $a.first;
        while channel + 32 <= $a.last {
            $f::<E, 32>($a, channel);
            channel += 32;
        }
        while channel + 8 <= $a.last {
            $f::<E, 8>($a, channel);
            channel += 8;
        }
        while channel < $a.last {
            $f::<E, 1>($a, channel);
            channel += 1;
        }
    }};
}

/// The statistics of the elements so far. More are added by the formula of Chan, Golub and LeVeque, Updating formulae and a
/// pairwise algorithm for computing sample variances, 1979.
#[derive(Clone, Copy, Default)]
struct Spread {
    count: f64,
    mean: f64,
    /// The sum of the squared distances from the mean.
    squares: f64,
}

impl Spread {
    /// Adds `count` elements with their mean and squares.
    fn add(&mut self, count: f64, mean: f64, squares: f64) {
        let (all, difference) = (self.count + count, mean - self.mean);
        self.mean += difference * (count / all);
        self.squares += squares + difference * difference * (count * self.count / all);
        self.count = all;
    }

    /// Writes the statistics of a channel.
    ///
    /// # Safety
    /// By the contract of `Channels`.
    unsafe fn write<E: Float>(self, a: &Channels, channel: usize) {
        let variance = self.squares / self.count;
        let scale = 1.0 / (variance + a.eps).sqrt();
        let weight = a.given as *const E;
        // SAFETY: by the contract of `Channels`.
        unsafe {
            let factor = if weight.is_null() { scale } else { scale * (*weight.add(channel)).to_f64() };
            for (k, value) in [self.mean, variance, scale, factor].into_iter().enumerate() {
                *(a.out as *mut E).add(k * a.channels + channel) = E::from_f64(value);
            }
        }
    }
}

/// Computes the statistics.
struct Statistics<E>(PhantomData<E>);

impl<E: Float> Body for Statistics<E> {
    type Args = Channels;

    #[inline(always)]
    unsafe fn run(a: &Channels) {
        if a.area == 1 {
            // SAFETY: by the contract of `Channels`.
            return unsafe { for_neighbors!(statistics_of_neighbors, a) };
        }
        let n = a.area;
        for channel in a.first..a.last {
            let mut all = Spread::default();
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
                all.add(n as f64, own, spread.to_f64());
            }
            // SAFETY: as above.
            unsafe { all.write::<E>(a, channel) };
        }
    }
}

/// Computes the statistics of `N` channels from `channel` on, in images of one element.
///
/// # Safety
/// By the contract of `Channels`.
#[inline(always)]
unsafe fn statistics_of_neighbors<E: Float, const N: usize>(a: &Channels, channel: usize) {
    let mut all = [Spread::default(); N];
    for first in (0..a.batch).step_by(BLOCK) {
        let last = a.batch.min(first + BLOCK);
        let count = (last - first) as f64;
        // SAFETY: by the contract of `Channels`.
        let row = |image: usize| unsafe { (a.x as *const E).add(a.start(image, channel)) };
        let (mut totals, mut squares) = ([E::ZERO; N], [E::ZERO; N]);
        for x in (first..last).map(row) {
            for (k, total) in totals.iter_mut().enumerate() {
                // SAFETY: as above.
                *total = total.add(unsafe { *x.add(k) });
            }
        }
        let means = totals.map(|total| total.to_f64() / count);
        let centers = means.map(E::from_f64);
        for x in (first..last).map(row) {
            for k in 0..N {
                // SAFETY: as above.
                let centered = unsafe { *x.add(k) }.sub(centers[k]);
                squares[k] = squares[k].add(centered.mul(centered));
            }
        }
        for k in 0..N {
            all[k].add(count, means[k], squares[k].to_f64());
        }
    }
    for (k, spread) in all.into_iter().enumerate() {
        // SAFETY: as above.
        unsafe { spread.write::<E>(a, channel + k) };
    }
}

/// Computes the gradients.
struct Backward<E>(PhantomData<E>);

impl<E: Float> Body for Backward<E> {
    type Args = Channels;

    #[inline(always)]
    unsafe fn run(a: &Channels) {
        if a.area == 1 {
            // SAFETY: by the contract of `Channels`.
            return unsafe { for_neighbors!(backward_of_neighbors, a) };
        }
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

/// Computes the gradients of `N` channels from `channel` on, in images of one element.
///
/// # Safety
/// By the contract of `Channels`.
#[inline(always)]
unsafe fn backward_of_neighbors<E: Float, const N: usize>(a: &Channels, channel: usize) {
    // SAFETY: by the contract of `Channels`.
    let given = |k: usize| unsafe { *((a.given as *const E).add(k * a.channels + channel) as *const [E; N]) };
    let (means, scales, factors) = (given(0), given(2), given(3));
    // SAFETY: as above.
    let row = |of: *mut u8, image: usize| unsafe { (of as *mut E).add(a.start(image, channel)) };
    let (mut shifts, mut slopes) = ([0.0; N], [0.0; N]);
    for first in (0..a.batch).step_by(BLOCK) {
        let (mut totals, mut products) = ([E::ZERO; N], [E::ZERO; N]);
        for image in first..a.batch.min(first + BLOCK) {
            let (g, x) = (row(a.g, image), row(a.x, image));
            for k in 0..N {
                // SAFETY: as above.
                let (g, x) = unsafe { (*g.add(k), *x.add(k)) };
                totals[k] = totals[k].add(g);
                products[k] = products[k].add(g.mul(x.sub(means[k])));
            }
        }
        for k in 0..N {
            shifts[k] += totals[k].to_f64();
            slopes[k] += products[k].to_f64();
        }
    }
    let count = a.batch as f64;
    let averages = shifts.map(|shift| E::from_f64(shift / count));
    let (mut gradients, mut steepnesses) = ([E::ZERO; N], [E::ZERO; N]);
    for k in 0..N {
        let slope = slopes[k] * scales[k].to_f64();
        gradients[k] = E::from_f64(slope);
        steepnesses[k] = E::from_f64(slope * scales[k].to_f64() / count);
    }
    for image in 0..a.batch {
        let (g, x, out) = (row(a.g, image), row(a.x, image), row(a.out, image));
        for k in 0..N {
            // SAFETY: as above.
            unsafe {
                let rest = (*g.add(k)).sub(averages[k]).sub((*x.add(k)).sub(means[k]).mul(steepnesses[k]));
                *out.add(k) = rest.mul(factors[k]);
            }
        }
    }
    // SAFETY: as above.
    let sums = unsafe { (a.out as *mut E).add(a.start(a.batch, 0) + channel) };
    for k in 0..N {
        // SAFETY: as above.
        unsafe {
            *sums.add(k) = gradients[k];
            *sums.add(a.channels + k) = E::from_f64(shifts[k]);
        }
    }
}

macro_rules! run {
    ($body:ident, $dtype:expr, $all:expr) => {{
        let entry = compiled!($body, $dtype);
        let all: Channels = $all;
        let least = if all.area == 1 { 32 } else { 1 };
        let step = (TASK / (all.batch * all.area)).next_multiple_of(least).max(least);
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
