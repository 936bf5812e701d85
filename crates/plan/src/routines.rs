//! Folds and products with all their cases: what every face records.

use std::sync::Arc;

use cuprous_core::layout::{checked_size, show};
use cuprous_core::scalar::Number;
use cuprous_core::{
    Array, DType, Dims, Error, Fun, In, Layout, LayoutRef, NodeKind, ReduceOp, Result, RoutineOp, Scalar, ScanOp, Src,
};
use smallvec::SmallVec;

use crate::engine::Engine;
use crate::record::{self, Operand};

/// Multiplications of a matrix product up to which a GPU does it in a kernel of ours: a launch less, where what follows is
/// fused with it.
const TINY: i64 = 1 << 16;

impl Engine {
    /// Folds the axes in `mask` (bits; an array has at most 32 here): as [`Engine::record_reduce`], also where nothing is folded or there is nothing to fold.
    pub fn reduce(self: &Arc<Engine>, op: ReduceOp, a: &Array, mask: u32) -> Result<Array> {
        let ndim = a.layout.ndim();
        let extents = |folded: bool| {
            let chosen = move |k: &usize| (mask >> k & 1 == 1) == folded;
            (0..ndim).filter(chosen).map(|k| a.shape()[k]).collect::<Dims>()
        };
        let kept = extents(false);
        let empty = extents(true).iter().product::<i64>() == 0;
        if empty && kept.iter().product::<i64>() > 0 {
            match op {
                ReduceOp::Max | ReduceOp::Min => {
                    let name = if op == ReduceOp::Max { "maximum" } else { "minimum" };
                    return Err(Error::value(format!(
                        "zero-size array to reduction operation {name} which has no identity"
                    )));
                }
                ReduceOp::ArgMax | ReduceOp::ArgMin => {
                    return Err(Error::value("attempt to get argmax or argmin of an empty sequence"));
                }
                _ => {}
            }
        }
        if mask == 0 {
            // Nothing is folded.
            return match op {
                ReduceOp::ArgMax | ReduceOp::ArgMin => self.full(a.shape(), Scalar::default(), DType::I64),
                // The deviation of an element from itself, which is NaN for infinity.
                ReduceOp::M2 => {
                    let itself = Operand::Array(a);
                    let zero = self.map(Fun::Subtract, &[itself, itself], None)?;
                    self.map(Fun::Absolute, &[Operand::Array(&zero)], None)
                }
                _ => self.cast(a, a.dtype()),
            };
        }
        if empty {
            let dtype = if op == ReduceOp::M2 { a.dtype().component() } else { a.dtype() };
            let identity = Number::Int(i128::from(op == ReduceOp::Prod));
            return self.full(&kept, Scalar::new(identity, dtype), dtype);
        }
        self.record_reduce(op, a, mask)
    }

    /// A running fold along an axis; the result lies in memory as the array does.
    pub fn running(self: &Arc<Engine>, op: ScanOp, a: &Array, axis: usize) -> Result<Array> {
        let along =
            |a: &Array, axis: usize| self.whole(RoutineOp::Scan { op, axis: axis as u8 }, &[a], a.dtype(), a.shape());
        let Some(order) = record::lying(a) else {
            return along(a, axis);
        };
        let back = record::inverse(&order);
        let out = along(&a.view(a.layout.permute(&order)), back[axis])?;
        Ok(out.view(out.layout.permute(&back)))
    }

    /// A routine on whole arrays, which is not asked where there is nothing to compute.
    pub fn whole(self: &Arc<Engine>, op: RoutineOp, ins: &[&Array], dtype: DType, shape: &[i64]) -> Result<Array> {
        if shape.contains(&0) {
            return self.empty(dtype, shape);
        }
        self.call(op, ins, dtype, shape)
    }

    /// The product (…, m, k) × (…, k, n) of one dtype and batch.
    pub fn dot(self: &Arc<Engine>, a: &Array, b: &Array) -> Result<Array> {
        let (x, y) = (a.shape(), b.shape());
        let n = x.len();
        if n < 2 || y.len() != n || x[n - 1] != y[n - 2] || x[..n - 2] != y[..n - 2] || a.dtype() != b.dtype() {
            return Err(Error::value(format!(
                "[dot] shapes {} and {} (dtypes {} and {}) do not fit: (…, m, k) x (…, k, n) of one dtype",
                show(x),
                show(y),
                a.dtype().name(),
                b.dtype().name()
            )));
        }
        let mut shape: Dims = x.into();
        shape[n - 1] = y[n - 1];
        checked_size(a.dtype(), &shape)?;
        if x[n - 1] == 0 {
            return self.full(&shape, Scalar::default(), a.dtype());
        }
        if self.is_tiny(a, b) {
            return self.tiny_dot(a, b);
        }
        let (a, b) = (self.matrices(a)?, self.matrices(b)?);
        self.whole(RoutineOp::Dot, &[&a, &b], a.dtype(), &shape)
    }

    /// Is a product of m × k by k × n less work than the launch of a library's kernel? That is for devices beside the
    /// host; of those whose arrays have no addresses, for operands that are there.
    fn is_tiny(&self, a: &Array, b: &Array) -> bool {
        let tiny = |m: i64, n: i64, k: i64| m.saturating_mul(n).saturating_mul(k) <= TINY && n > 0;
        let few = matches!((a.shape(), b.shape()), (&[m, k], &[_, n]) if tiny(m, n, k));
        if !few || !matches!(a.dtype(), DType::F32 | DType::F64) || !self.device.is_asynchronous() {
            return false;
        }
        let there = |a: &Array| self.peek(&a.storage, |memory| self.device.is_beside(memory.address())) == Some(true);
        self.device.has_addresses() || there(a) || there(b)
    }

    /// A product as what it is, so that it is fused with what comes before and after it.
    fn tiny_dot(self: &Arc<Engine>, a: &Array, b: &Array) -> Result<Array> {
        let (m, k, n) = (a.shape()[0], a.shape()[1], b.shape()[1]);
        let space = [m, n, k];
        let (s, t) = (&a.layout.strides, &b.layout.strides);
        let layouts = [
            a.layout.with(&space, &[s[0], 0, s[1]], a.layout.offset),
            b.layout.with(&space, &[0, t[1], t[0]], b.layout.offset),
        ];
        self.sum_of_products([a, b], layouts, Layout::contiguous(a.dtype(), &[m, n]))
    }

    /// Records the product of two arrays, read through layouts of one shape, summed over its last axis.
    fn sum_of_products(
        self: &Arc<Engine>,
        operands: [&Array; 2],
        layouts: [LayoutRef; 2],
        out: LayoutRef,
    ) -> Result<Array> {
        let (mut state, tape) = self.open(&operands)?;
        let t = &mut state.tapes[tape as usize];
        let mut ins = [In::default(); 3];
        for ((to, a), layout) in ins.iter_mut().zip(operands).zip(&layouts) {
            // SAFETY: the lock is held, foreign tapes are settled.
            let src = unsafe { t.source(&a.storage) };
            *to = In { src, layout: t.keep_layout(layout) };
        }
        let space = Layout::contiguous(out.dtype, &layouts[0].shape);
        let product = t.push_intermediate(NodeKind::Map, Fun::Multiply as u8, 2, &space, ins, 0);
        let axes = Src(1 << (space.ndim() - 1));
        let ins = [product, In { src: axes, layout: 0 }, In::default()];
        let sum = t.push(NodeKind::Reduce, ReduceOp::Sum as u8, 1, &out, ins, self.id);
        let external = operands.iter().any(|a| a.storage.is_external());
        self.close(&mut state, tape, None, external);
        Ok(sum)
    }

    /// The array in a form that libraries take for products: one of the last two strides is 1 and the other no smaller than its row,
    /// and the batch has a single stride. Otherwise a copy.
    pub fn matrices(self: &Arc<Engine>, a: &Array) -> Result<Array> {
        let layout: &Layout = &a.layout;
        let n = layout.ndim();
        let (shape, strides) = (&layout.shape, &layout.strides);
        let rows = |r: usize, c: usize| (strides[c] == 1 || shape[c] == 1) && (strides[r] >= shape[c] || shape[r] == 1);
        let batch: SmallVec<[(i64, i64); 4]> =
            (0..n - 2).filter(|&k| shape[k] != 1).map(|k| (shape[k], strides[k])).collect();
        let uniform = batch.windows(2).all(|w| w[0].1 == w[1].1 * w[1].0) && batch.iter().all(|b| b.1 >= 0);
        if (rows(n - 2, n - 1) || rows(n - 1, n - 2)) && uniform {
            return Ok(a.clone());
        }
        // A copy in the order of memory is the faster one.
        if shape[n - 1] > 1 && strides[n - 2].unsigned_abs() < strides[n - 1].unsigned_abs() && strides[n - 2] != 0 {
            let mut order: SmallVec<[usize; 6]> = (0..n).collect();
            order.swap(n - 2, n - 1);
            let copy = self.cast(&a.view(layout.permute(&order)), a.dtype())?;
            return Ok(copy.view(copy.layout.permute(&order)));
        }
        self.cast(a, a.dtype())
    }

    /// Does this handle alone see its memory, and all of it?
    pub fn is_sole(&self, a: &Array) -> bool {
        let Ok(_lock) = self.enter() else { return false };
        // SAFETY: the lock is held.
        let recorded = unsafe { a.storage.recorded_refs() } as usize;
        let whole = a.layout.size as usize * a.dtype().size() == a.storage.bytes;
        whole && !a.storage.is_external() && Arc::strong_count(&a.storage) == recorded + 1
    }
}
