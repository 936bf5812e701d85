//! Reductions, scans, matrix products and other routines on whole arrays, with all their special cases.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use cuprous_core::layout::{checked_size, show};
use cuprous_core::scalar::Number;
use cuprous_core::{
    Array, DType, Dims, Error, Fun, In, Layout, LayoutRef, Node, NodeKind, ReduceOp, Result, RoutineOp, Scalar, ScanOp,
    Src, profile, tape,
};
use smallvec::SmallVec;

use super::Engine;
use super::elementwise::{self, Operand};
use super::ends::Recorded;

/// Nodes for which a tape stays open after a matmul at which it ends, unless another routine is recorded. They
/// may become its epilogue, or one kernel, such as the backward pass through a softmax with its scale and mask.
/// Recording them takes some microseconds.
const EPILOGUE_NODES: usize = 64;
/// Multiplications of a matmul up to which a GPU computes it in a fused kernel: that saves a launch if what follows is
/// fused with it.
const TINY_MATMUL: i64 = 1 << 16;

impl Engine {
    /// Returns true if the device has a routine.
    pub fn supports(&self, op: &RoutineOp) -> bool {
        self.device.supports(op)
    }

    /// Records a routine on whole arrays whose result has this dtype and shape.
    ///
    /// # Errors
    /// The device does not support the routine, or an operand's tape failed.
    pub fn record_routine(
        self: &Arc<Engine>,
        op: RoutineOp,
        ins: &[&Array],
        dtype: DType,
        shape: &[i64],
    ) -> Result<Array> {
        if !self.device.supports(&op) {
            return Err(Error::not_implemented(format!(
                "[{}] not supported on {} yet; take the array to the CPU with .to_device(\"cpu\")",
                op.name(),
                self.device.name()
            )));
        }
        let out = Layout::try_contiguous(dtype, shape)?;
        let mut recording = self.open(ins)?;
        if recording.tape_mut().ends_at != usize::MAX {
            if profile::on() {
                drop(recording);
                tape::capture_location();
                recording = self.open(ins)?;
            }
            // The tape has stayed open for an epilogue of the previous matmul. Another routine ends it.
            let index = recording.tape;
            self.run_tape(&mut recording.state, index)?;
            self.due.store(false, Relaxed);
        }
        let mut moved = 0;
        let mut operands = [In::default(); 3];
        debug_assert!(ins.len() <= operands.len(), "{} has too many operands", op.name());
        for (operand, a) in operands.iter_mut().zip(ins) {
            *operand = recording.read(a);
            moved = u64::saturating_add(moved, (a.layout.size as usize * a.dtype().size()) as u64);
        }
        let work = op.work(moved, ins.first().map_or(&[], |a| a.shape()), dtype, shape);
        let tape = recording.tape_mut();
        tape.work = tape.work.saturating_add(work);
        let after = if op == RoutineOp::Dot { EPILOGUE_NODES } else { 0 };
        let (number, call) = op.intern();
        tape.routines.push(call);
        if ins.len() == 3 && number >= Node::MAX_ROUTINES {
            return Err(Error::runtime("too many different routines in one process"));
        }
        let out = tape.push(NodeKind::Routine, 0, ins.len() as u8, &out, operands, self.id);
        if let Some(node) = tape.nodes.last_mut() {
            node.set_routine_id(number);
        }
        recording.close(Some(Recorded { work, after }));
        Ok(out)
    }

    /// Reduces the axes in `mask` (bits; an array has at most 32 here). Extends `record_reduce` to empty
    /// arrays and empty masks.
    ///
    /// # Errors
    /// The reduction has no identity for an empty array.
    pub fn reduce(self: &Arc<Engine>, op: ReduceOp, a: &Array, mask: u32) -> Result<Array> {
        let ndim = a.layout.ndim();
        let extents = |reduced: bool| {
            let chosen = move |k: &usize| (mask >> k & 1 == 1) == reduced;
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
            // Without axes to reduce.
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

    /// Records a scan (running reduction) along an axis. The result has the array's memory order.
    pub fn scan(self: &Arc<Engine>, op: ScanOp, a: &Array, axis: usize) -> Result<Array> {
        let along =
            |a: &Array, axis: usize| self.routine(RoutineOp::Scan { op, axis: axis as u8 }, &[a], a.dtype(), a.shape());
        let Some(order) = elementwise::axis_order(a) else {
            return along(a, axis);
        };
        let back = elementwise::inverse_permutation(&order);
        let out = along(&a.view(a.layout.permute(&order)), back[axis])?;
        let layout = out.layout.permute(&back);
        Ok(out.view(if a.layout.engine_order { layout.in_engine_order() } else { layout }))
    }

    /// Records a routine on whole arrays, unless its result is empty.
    ///
    /// # Errors
    /// As for [`Engine::record_routine`].
    pub fn routine(self: &Arc<Engine>, op: RoutineOp, ins: &[&Array], dtype: DType, shape: &[i64]) -> Result<Array> {
        if shape.contains(&0) {
            return self.empty(dtype, shape);
        }
        self.record_routine(op, ins, dtype, shape)
    }

    /// Returns the product (…, m, k) × (…, k, n) of arrays of one dtype and batch.
    ///
    /// # Errors
    /// The shapes or dtypes do not fit.
    pub fn dot(self: &Arc<Engine>, a: &Array, b: &Array) -> Result<Array> {
        let (x, y) = (a.shape(), b.shape());
        let n = x.len();
        if n < 2 || y.len() != n || x[n - 1] != y[n - 2] || x[..n - 2] != y[..n - 2] || a.dtype() != b.dtype() {
            return Err(Error::value(format!(
                "[dot] shapes {} and {} (dtypes {} and {}) do not match: expected (…, m, k) x (…, k, n) of one \
                 dtype",
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
        let (a, b) = (self.matmul_operand(a)?, self.matmul_operand(b)?);
        self.routine(RoutineOp::Dot, &[&a, &b], a.dtype(), &shape)
    }

    /// Returns true if a product of m × k by k × n is less work than the launch of a library's kernel. That holds on
    /// asynchronous devices only. If arrays have no addresses, one operand must already be on the GPU.
    fn is_tiny(&self, a: &Array, b: &Array) -> bool {
        let tiny = |m: i64, n: i64, k: i64| m.saturating_mul(n).saturating_mul(k) <= TINY_MATMUL && n > 0;
        let few = matches!((a.shape(), b.shape()), (&[m, k], &[_, n]) if tiny(m, n, k));
        if !few || !matches!(a.dtype(), DType::F32 | DType::F64) || !self.device.is_asynchronous() {
            return false;
        }
        let there =
            |a: &Array| self.peek(&a.storage, |memory| self.device.is_asynchronous_at(memory.address())) == Some(true);
        self.device.has_addresses() || there(a) || there(b)
    }

    /// Records a matmul as a multiplication and a sum, so that it is fused with what comes before and after it.
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
        let mut recording = self.open(&operands)?;
        let mut ins = [In::default(); 3];
        for ((to, a), layout) in ins.iter_mut().zip(operands).zip(&layouts) {
            *to = recording.read_through(a, layout);
        }
        let space = Layout::contiguous(out.dtype, &layouts[0].shape);
        let product = recording.tape_mut().push_intermediate(NodeKind::Map, Fun::Multiply as u8, 2, &space, ins, 0);
        let axes = Src(1 << (space.ndim() - 1));
        let ins = [product, In { src: axes, layout: 0 }, In::default()];
        Ok(recording.push(NodeKind::Reduce, ReduceOp::Sum as u8, 1, &out, ins))
    }

    /// Returns the array in a form that libraries take for matmuls: one of the last two strides is 1, the other is no
    /// smaller than a row, and the batch has a single stride. Otherwise returns a copy.
    pub fn matmul_operand(self: &Arc<Engine>, a: &Array) -> Result<Array> {
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
        // A copy in memory order is faster.
        if shape[n - 1] > 1 && strides[n - 2].unsigned_abs() < strides[n - 1].unsigned_abs() && strides[n - 2] != 0 {
            let mut order: SmallVec<[usize; 6]> = (0..n).collect();
            order.swap(n - 2, n - 1);
            let copy = self.cast(&a.view(layout.permute(&order)), a.dtype())?;
            return Ok(copy.view(copy.layout.permute(&order)));
        }
        self.cast(a, a.dtype())
    }

    /// Returns true if this handle is the only one to its memory and covers all of it.
    pub fn is_sole_owner(&self, a: &Array) -> bool {
        let Ok(_lock) = self.enter() else { return false };
        // SAFETY: the lock is held.
        let recorded = unsafe { a.storage.recorded_refs() } as usize;
        let whole = a.layout.size as usize * a.dtype().size() == a.storage.bytes;
        whole && !a.storage.is_external() && Arc::strong_count(&a.storage) == recorded + 1
    }
}
