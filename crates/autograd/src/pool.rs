//! The largest element of each window, of windows that lie side by side.

use std::sync::Arc;

use cuprous_core::layout::contiguous_strides;
use cuprous_core::scalar::Number;
use cuprous_core::{DType, Dims, Fun, Layout, LayoutRef, Result, Saved};

use crate::conv::extent;
use crate::node::{Edge, Kept, Node, Rule};
use crate::ops::{self, noted_result};
use crate::{Arg, Tensor, mode};

/// Positions in a window that a byte can tell.
const MOST: i64 = 255;

/// The windows of `kernel` elements along the last axes: what of the input they cover is whole windows.
struct Windows<'a> {
    kernel: &'a [i64],
    lead: usize,
    output: Dims,
}

impl<'a> Windows<'a> {
    fn new(shape: &[i64], kernel: &'a [i64]) -> Windows<'a> {
        let lead = shape.len() - kernel.len();
        let output = shape[lead..].iter().zip(kernel).map(|(n, k)| n / k).collect();
        Windows { kernel, lead, output }
    }

    /// The shape of the result.
    fn shape(&self, of: &[i64]) -> Dims {
        of[..self.lead].iter().chain(&self.output).copied().collect()
    }

    /// The element at each position of all windows.
    fn taps(&self, x: &Tensor) -> Vec<Tensor> {
        let own = &x.array.layout;
        let shape = self.shape(&own.shape);
        let mut strides = own.strides.clone();
        (0..self.kernel.len()).for_each(|k| strides[self.lead + k] *= self.kernel[k]);
        let at = |mut place: i64| {
            let mut offset = own.offset;
            for k in (0..self.kernel.len()).rev() {
                offset += place % self.kernel[k] * own.strides[self.lead + k];
                place /= self.kernel[k];
            }
            x.view(own.with(&shape, &strides, offset))
        };
        (0..self.kernel.iter().product()).map(at).collect()
    }

    /// All windows in a layout: leading axes, positions, windows.
    fn all(&self, of: &Layout) -> LayoutRef {
        let inner = &of.strides[self.lead..];
        let outer = inner.iter().zip(self.kernel).map(|(s, k)| s * k);
        let strides: Dims = of.strides[..self.lead].iter().chain(inner).copied().chain(outer).collect();
        of.with(&self.space(&of.shape), &strides, of.offset)
    }

    fn space(&self, of: &[i64]) -> Dims {
        of[..self.lead].iter().chain(self.kernel).chain(&self.output).copied().collect()
    }

    /// A value for each window, seen at all of its positions.
    fn spread(&self, t: &Tensor, of: &[i64]) -> Tensor {
        let own = &t.array.layout;
        let (front, back) = own.strides.split_at(self.lead);
        let none = std::iter::repeat_n(&0, self.kernel.len());
        let strides: Dims = front.iter().chain(none).chain(back).copied().collect();
        t.view(own.with(&self.space(of), &strides, own.offset))
    }
}

/// Can [`max_pool`] do it?
pub fn known(x: &Tensor, kernel: &[i64]) -> bool {
    let shape = x.shape();
    let sizes = !kernel.is_empty() && shape.len() >= kernel.len() && extent(kernel) <= MOST;
    sizes
        && x.dtype().is_float()
        && x.array.layout.size > 0
        && kernel.iter().zip(&shape[shape.len() - kernel.len()..]).all(|(&k, &n)| k >= 1 && n >= k)
}

/// The largest element of each window of `kernel` elements along the last axes, and NaN where there is one; of equal ones
/// the first gets the gradient.
pub fn max_pool(x: &Tensor, kernel: &[i64]) -> Result<Tensor> {
    let windows = Windows::new(x.shape(), kernel);
    let noted = ops::noted(&[x]);
    let (best, index) = {
        let _mode = mode::Guard::new(false);
        let taps = windows.taps(&x.detach());
        let mut best = taps[0].clone();
        let mut index: Option<Tensor> = None;
        for (place, tap) in (1..).zip(&taps[1..]) {
            if !noted {
                best = ops::map(Fun::Maximum, &[Arg::Tensor(&best), Arg::Tensor(tap)], None)?;
                continue;
            }
            let larger = ops::map(Fun::Greater, &[Arg::Tensor(tap), Arg::Tensor(&best)], None)?;
            let nan = ops::map(Fun::Isnan, &[Arg::Tensor(tap)], None)?;
            let better = ops::map(Fun::LogicalOr, &[Arg::Tensor(&larger), Arg::Tensor(&nan)], None)?;
            best = ops::map(Fun::Where, &[Arg::Tensor(&better), Arg::Tensor(tap), Arg::Tensor(&best)], None)?;
            let before = index.as_ref().map_or(Arg::Number(Number::Int(0)), Arg::Tensor);
            let here = [Arg::Tensor(&better), Arg::Number(Number::Int(place)), before];
            index = Some(ops::map(Fun::Where, &here, Some(DType::U8))?);
        }
        if taps.len() == 1 {
            best = ops::cast(&best, best.dtype())?;
        }
        (best, index)
    };
    noted_result(best.array, &[x], |_| {
        let mut kept: Kept = Default::default();
        kept[0] = index.map(|index| Saved::new(&index.array));
        (Rule::MaxPool(kernel.into()), kept)
    })
}

/// The way back: each gradient goes where its window's largest element was.
pub(crate) fn backward(node: &Arc<Node>, kernel: &[i64], edge: &Edge, g: &Tensor) -> Result<Tensor> {
    let shape = &edge.read.shape;
    let windows = Windows::new(shape, kernel);
    let covered = windows.output.iter().zip(kernel).zip(&shape[windows.lead..]).all(|((n, k), m)| n * k == *m);
    let out = if covered {
        Tensor::new(ops::engine_of(&g.array).empty(g.dtype(), shape)?)
    } else {
        ops::full(g, shape, 0.0, g.dtype())?
    };
    let mut value = windows.spread(g, shape);
    if kernel.iter().any(|&k| k > 1) {
        let index = windows.spread(&Tensor::new(node.saved(0)?), shape);
        let space = windows.space(shape);
        let mut strides = Dims::from_elem(0, space.len());
        strides[windows.lead..][..kernel.len()].copy_from_slice(&contiguous_strides(kernel));
        let place = ops::iota(g, &Layout::try_new(DType::I64, &space, &strides, 0)?)?;
        let here = ops::map(Fun::Equal, &[Arg::Tensor(&index), Arg::Tensor(&place)], None)?;
        let zero = Arg::Number(Number::Int(0));
        value = ops::map(Fun::Where, &[Arg::Tensor(&here), Arg::Tensor(&value), zero], None)?;
    }
    ops::update(&out.view(windows.all(&out.array.layout)), Arg::Tensor(&value))?;
    Ok(out)
}
