//! Max pooling over windows that do not overlap. The gradient rule is not that of a formula of maxima: they would
//! divide a gradient among equal elements.

use std::sync::Arc;

use cuprous_core::layout::contiguous_strides;
use cuprous_core::scalar::Number;
use cuprous_core::{DType, Dims, Fun, Layout, LayoutRef, Result, Saved};
use cuprous_plan::engine::elementwise::{axis_order, inverse_permutation};

use crate::arg::Arg;
use crate::engine::engine_of;
use crate::formula::{ZERO, choose, map, product};
use crate::graph::{Edge, Node, Rule, SavedArrays, Tensor};
use crate::record::{needs_graph, record};
use crate::{mode, ops};

/// The most elements in a window: positions are saved as bytes.
const MAX_WINDOW: i64 = 255;

/// Adjacent windows of `kernel` elements along the last axes. Elements after the last whole window are not covered.
struct Windows<'a> {
    kernel: &'a [i64],
    /// Number of axes before those of the windows.
    lead: usize,
    /// Number of windows along each of the last axes.
    output: Dims,
}

impl<'a> Windows<'a> {
    fn new(shape: &[i64], kernel: &'a [i64]) -> Windows<'a> {
        let lead = shape.len() - kernel.len();
        let output = shape[lead..].iter().zip(kernel).map(|(n, k)| n / k).collect();
        Windows { kernel, lead, output }
    }

    /// Returns the shape of the result for an input of shape `of`.
    fn shape(&self, of: &[i64]) -> Dims {
        of[..self.lead].iter().chain(&self.output).copied().collect()
    }

    /// Returns for each position in a window a view of the elements there, one of each window.
    fn positions(&self, x: &Tensor) -> Vec<Tensor> {
        let own = &x.array.layout;
        let shape = self.shape(&own.shape);
        let mut strides = own.strides.clone();
        (0..self.kernel.len()).for_each(|k| strides[self.lead + k] *= self.kernel[k]);
        let at = |mut position: i64| {
            let mut offset = own.offset;
            for k in (0..self.kernel.len()).rev() {
                offset += position % self.kernel[k] * own.strides[self.lead + k];
                position /= self.kernel[k];
            }
            x.view(own.with(&shape, &strides, offset))
        };
        (0..self.kernel.iter().product()).map(at).collect()
    }

    /// Returns a layout with the axes (leading axes, position in the window, window) of an array of layout `of`.
    fn layout(&self, of: &Layout) -> LayoutRef {
        let inner = &of.strides[self.lead..];
        let outer = inner.iter().zip(self.kernel).map(|(s, k)| s * k);
        let strides: Dims = of.strides[..self.lead].iter().chain(inner).copied().chain(outer).collect();
        of.with(&self.split_shape(&of.shape), &strides, of.offset)
    }

    /// Returns the shape (leading axes, position in the window, window) for an input of shape `of`.
    fn split_shape(&self, of: &[i64]) -> Dims {
        of[..self.lead].iter().chain(self.kernel).chain(&self.output).copied().collect()
    }

    /// Broadcasts a value of each window to all positions in the window.
    fn broadcast(&self, t: &Tensor, of: &[i64]) -> Tensor {
        let own = &t.array.layout;
        let (front, back) = own.strides.split_at(self.lead);
        let none = std::iter::repeat_n(&0, self.kernel.len());
        let strides: Dims = front.iter().chain(none).chain(back).copied().collect();
        t.view(own.with(&self.split_shape(of), &strides, own.offset))
    }
}

/// Returns true if [`max_pool`] supports the input and the kernel.
pub fn is_supported(x: &Tensor, kernel: &[i64]) -> bool {
    let shape = x.shape();
    let sizes = !kernel.is_empty() && shape.len() >= kernel.len() && product(kernel) <= MAX_WINDOW;
    sizes
        && x.dtype().is_float()
        && x.array.layout.size > 0
        && kernel.iter().zip(&shape[shape.len() - kernel.len()..]).all(|(&k, &n)| k >= 1 && n >= k)
}

/// Returns the largest element of each window of `kernel` elements along the last axes, or NaN if a window contains
/// one. The first of equal elements receives the gradient.
pub fn max_pool(x: &Tensor, kernel: &[i64]) -> Result<Tensor> {
    let windows = Windows::new(x.shape(), kernel);
    let tracked = needs_graph(&[x]);
    let (best, index) = {
        let _mode = mode::Guard::new(false);
        let elements = windows.positions(&x.detach());
        let mut best = elements[0].clone();
        let mut index: Option<Tensor> = None;
        for (position, element) in (1..).zip(&elements[1..]) {
            if !tracked {
                best = map(Fun::Maximum, &[&best, element])?;
                continue;
            }
            let larger = map(Fun::Greater, &[element, &best])?;
            let nan = map(Fun::Isnan, &[element])?;
            let better = map(Fun::LogicalOr, &[&larger, &nan])?;
            best = choose(&better, Arg::Tensor(element), Arg::Tensor(&best))?;
            let previous = index.as_ref().map_or(ZERO, Arg::Tensor);
            let operands = [Arg::Tensor(&better), Arg::Number(Number::Int(position)), previous];
            index = Some(ops::map(Fun::Where, &operands, Some(DType::U8))?);
        }
        if elements.len() == 1 {
            best = ops::cast(&best, best.dtype())?;
        }
        (best, index)
    };
    let layout = &best.array.layout;
    let best = if x.array.layout.engine_order { best.array.view(layout.in_engine_order()) } else { best.array };
    record(best, &[x], |_| {
        let mut saved: SavedArrays = Default::default();
        saved[0] = index.map(|index| Saved::new(&index.array));
        (Rule::MaxPool(kernel.into()), saved)
    })
}

/// Returns the gradient of [`max_pool`]: each window's gradient at its largest element, 0 elsewhere.
pub(crate) fn backward(node: &Arc<Node>, kernel: &[i64], edge: &Edge, g: &Tensor) -> Result<Tensor> {
    let shape = &edge.read.shape;
    let windows = Windows::new(shape, kernel);
    let covered = windows.output.iter().zip(kernel).zip(&shape[windows.lead..]).all(|((n, k), m)| n * k == *m);
    // The gradient has the order in memory of the results'.
    let order = axis_order(&g.array).filter(|_| g.array.layout.engine_order);
    let in_memory: Dims = order.iter().flatten().map(|&k| shape[k]).collect();
    let in_memory = if order.is_some() { &in_memory } else { shape };
    let mut out = if covered {
        engine_of(&g.array).empty(g.dtype(), in_memory)?
    } else {
        ops::full(g, in_memory, 0.0, g.dtype())?.array
    };
    if let Some(order) = order {
        out = out.view(out.layout.permute(&inverse_permutation(&order)).in_engine_order());
    }
    let out = Tensor::new(out);
    let mut value = windows.broadcast(g, shape);
    if kernel.iter().any(|&k| k > 1) {
        let index = windows.broadcast(&Tensor::new(node.saved(0)?), shape);
        let split = windows.split_shape(shape);
        let mut strides = Dims::from_elem(0, split.len());
        strides[windows.lead..][..kernel.len()].copy_from_slice(&contiguous_strides(kernel));
        let position = ops::iota(g, &Layout::try_new(DType::I64, &split, &strides, 0)?)?;
        let is_largest = map(Fun::Equal, &[&index, &position])?;
        value = choose(&is_largest, Arg::Tensor(&value), ZERO)?;
    }
    ops::update(&out.view(windows.layout(&out.array.layout)), Arg::Tensor(&value))?;
    Ok(out)
}
