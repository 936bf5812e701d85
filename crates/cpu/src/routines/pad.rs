//! Pads arrays at their edges.

use cuprous_core::routine::Edge;
use cuprous_core::{Dims, Result, Scalar, scalar::Number};
use rayon::prelude::*;

use crate::affine::copy_strided;
use crate::routines::operands::{PARALLEL, View};
use crate::threads::SharedPtr;

/// Returns the index in `0..n` whose element stands for index `i`, or `None` outside with [`Edge::Constant`].
pub(crate) fn source(i: i64, n: i64, edge: Edge) -> Option<i64> {
    if (0..n).contains(&i) {
        return Some(i);
    }
    if n == 0 {
        return None;
    }
    Some(match edge {
        Edge::Constant => return None,
        Edge::Nearest => i.clamp(0, n - 1),
        Edge::Wrap => i.rem_euclid(n),
        Edge::Reflect => {
            let k = i.rem_euclid(2 * n);
            if k < n { k } else { 2 * n - 1 - k }
        }
        Edge::Mirror if n == 1 => 0,
        Edge::Mirror => {
            let k = i.rem_euclid(2 * n - 2);
            if k < n { k } else { 2 * n - 2 - k }
        }
    })
}

/// # Safety
/// The views are in memory and have the same dtype. The output is contiguous.
pub(crate) unsafe fn pad(edge: Edge, constant: f64, before: &Dims, a: View, out: View) -> Result<()> {
    let size = a.dtype().size();
    let fill = Scalar::new(Number::Float(constant), a.dtype());
    let d = out.shape().len();
    if d == 0 {
        // SAFETY: both sides have one element.
        unsafe { copy_strided(out.origin(), 1, a.origin(), 1, 1, size) };
        return Ok(());
    }
    let (width, have) = (out.shape()[d - 1], a.shape()[d - 1]);
    let stride = a.strides()[d - 1];
    let lines = out.layout.size / width;
    let (to, from) = (SharedPtr(out.origin()), SharedPtr(a.origin()));
    let (a, out_shape) = (a, out.shape());
    let line = |line: i64| {
        let at = |k: i64| to.at((line * width + k) * size as i64);
        let mut rest = line;
        let mut base = Some(0);
        for axis in (0..d - 1).rev() {
            let i = source(rest % out_shape[axis] - before[axis], a.shape()[axis], edge);
            base = base.zip(i).map(|(b, i)| b + i * a.strides()[axis]);
            rest /= out_shape[axis];
        }
        // SAFETY: the line is within the output, and sources are within the operand.
        unsafe {
            let Some(base) = base.filter(|_| have > 0) else {
                return copy_strided(at(0), 1, fill.0.as_ptr(), 0, width as usize, size);
            };
            let lead = before[d - 1];
            let source_of = |k: i64| source(k - lead, have, edge).map(|i| from.at((base + i * stride) * size as i64));
            copy_strided(at(lead), 1, from.at(base * size as i64), stride, have as usize, size);
            for k in (0..lead).chain(lead + have..width) {
                let value = source_of(k).map_or(fill.0.as_ptr(), |p| p as *const u8);
                copy_strided(at(k), 1, value, 1, 1, size);
            }
        }
    };
    if out.layout.size >= PARALLEL {
        (0..lines as usize)
            .into_par_iter()
            .with_min_len((8192 / width.max(1)) as usize + 1)
            .for_each(|k| line(k as i64));
    } else {
        (0..lines).for_each(line);
    }
    Ok(())
}
