//! Softmax, its logarithm, and that at given places: rules that keep one array, where the formulas' own would keep
//! several. Halves are computed in float32 and rounded once.

use std::sync::Arc;

use cuprous_core::scalar::Number;
use cuprous_core::{DType, Dims, Fun, Layout, ReduceOp, Result, Saved};

use crate::formula::{map, narrow, wide};
use crate::node::{Edge, Kept, Node, Rule};
use crate::ops::{self, noted_result};
use crate::rules::stretched;
use crate::{Arg, Tensor, mode};

/// An axis as bits; a tensor without axes has none to fold.
fn bits(t: &Tensor, axis: usize) -> u32 {
    if t.shape().is_empty() { 0 } else { 1 << axis }
}

/// `exp(x) / Σ exp(x)` along an axis, or the logarithm of that.
pub fn softmax(t: &Tensor, axis: usize, log: bool) -> Result<Tensor> {
    let out = {
        let _mode = mode::Guard::new(false);
        let x = wide(&t.detach())?;
        let mask = bits(t, axis);
        let centred = map(Fun::Subtract, &[&x, &ops::reduce(ReduceOp::Max, &x, mask, true)?])?;
        let powers = map(Fun::Exp, &[&centred])?;
        let total = ops::reduce(ReduceOp::Sum, &powers, mask, true)?;
        let y = if log {
            map(Fun::Subtract, &[&centred, &map(Fun::Log, &[&total])?])?
        } else {
            map(Fun::Divide, &[&powers, &total])?
        };
        narrow(y, t.dtype())?
    };
    let result = out.array.clone();
    noted_result(out.array, &[t], |_| {
        let mut kept: Kept = Default::default();
        kept[3] = Some(Saved::new(&result));
        (Rule::Softmax(axis, log), kept)
    })
}

/// The way back of [`softmax`].
pub(crate) fn backward(node: &Arc<Node>, axis: usize, log: bool, g: &Tensor) -> Result<Tensor> {
    let (y, g) = (wide(&node.result()?)?, wide(g)?);
    let mask = bits(&y, axis);
    if log {
        let all = ops::reduce(ReduceOp::Sum, &g, mask, true)?;
        return map(Fun::Subtract, &[&g, &map(Fun::Multiply, &[&map(Fun::Exp, &[&y])?, &all])?]);
    }
    let along = ops::reduce(ReduceOp::Sum, &map(Fun::Multiply, &[&g, &y])?, mask, true)?;
    map(Fun::Multiply, &[&map(Fun::Subtract, &[&g, &along])?, &y])
}

/// The logarithm of the softmax along an axis, at one place for each of the other axes' indices: `index` (int64) has the
/// shape of `x` without the axis. The result is of `dtype`.
pub fn likelihood(x: &Tensor, index: &Tensor, axis: usize, dtype: DType) -> Result<Tensor> {
    let mask = bits(x, axis);
    let without = |d: &Dims| (0..d.len()).filter(|&k| k != axis).map(|k| d[k]).collect::<Dims>();
    let (out, total) = {
        let _mode = mode::Guard::new(false);
        let source = x.detach();
        let values = wide(&source)?;
        let top = ops::reduce(ReduceOp::Max, &values, mask, true)?;
        let sum = ops::reduce(ReduceOp::Sum, &map(Fun::Exp, &[&map(Fun::Subtract, &[&values, &top])?])?, mask, true)?;
        let total = map(Fun::Add, &[&map(Fun::Log, &[&sum])?, &top])?;
        let own = &source.array.layout;
        let places = Layout::try_new(DType::I64, &without(&own.shape), &without(&own.strides), 0)?;
        let step = Arg::Number(Number::Int(own.strides[axis].into()));
        let along = ops::map(Fun::Multiply, &[Arg::Tensor(index), step], None)?;
        let picked = ops::gather(&source, &map(Fun::Add, &[&ops::iota(&source, &places)?, &along])?)?;
        let layout = &total.array.layout;
        let flat = total.view(layout.with(&without(&layout.shape), &without(&layout.strides), layout.offset));
        let out = map(Fun::Subtract, &[&wide(&picked)?, &flat])?;
        (narrow(out, dtype)?, total)
    };
    noted_result(out.array, &[x], |_| {
        let mut kept: Kept = Default::default();
        kept[0] = Some(Saved::new(&x.array));
        kept[1] = Some(Saved::new(&index.array));
        kept[2] = Some(Saved::new(&total.array));
        (Rule::Likelihood(axis), kept)
    })
}

/// The way back of [`likelihood`]: the gradient at the place, less its share of the softmax.
pub(crate) fn likelihood_backward(node: &Arc<Node>, axis: usize, edge: &Edge, g: &Tensor) -> Result<Tensor> {
    let shape = &edge.read.shape;
    let (x, index) = (wide(&node.operand(0)?)?, Tensor::new(node.saved(1)?));
    let share = if mode::enabled() {
        softmax(&x, axis, false)?
    } else {
        map(Fun::Exp, &[&map(Fun::Subtract, &[&x, &Tensor::new(node.saved(2)?)])?])?
    };
    let g = stretched(&wide(g)?, 1 << axis, shape);
    let mut strides = Dims::from_elem(0, shape.len());
    strides[axis] = 1;
    let numbers = ops::iota(&x, &Layout::try_new(DType::I64, shape, &strides, 0)?)?;
    let here = map(Fun::Equal, &[&numbers, &stretched(&index, 1 << axis, shape)])?;
    let own = ops::map(Fun::Where, &[Arg::Tensor(&here), Arg::Tensor(&g), Arg::Number(Number::Int(0))], None)?;
    map(Fun::Subtract, &[&own, &map(Fun::Multiply, &[&g, &share])?])
}
