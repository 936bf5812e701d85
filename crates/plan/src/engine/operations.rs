//! Operations as the Python API records them: each is checked and becomes a node of the calling thread's tape.

use std::sync::Arc;

use cuprous_core::layout::show;
use cuprous_core::node::SrcKind;
use cuprous_core::scalar::Number;
use cuprous_core::{
    Array, DType, Dims, Error, Fun, In, Layout, LayoutRef, NodeKind, ReduceOp, Result, Scalar, ScatterOp, Src, Storage,
};
use smallvec::{SmallVec, smallvec};

use super::Engine;
use super::elementwise::{self, Operand};
use super::recording::Recording;
use super::state::State;

impl Engine {
    /// Records an elementwise function.
    pub fn map(self: &Arc<Engine>, fun: Fun, operands: &[Operand], forced: Option<DType>) -> Result<Array> {
        let tape = self.tape()?;
        let mut recording = Recording::new(self, self.enter()?, tape);
        for operand in operands {
            if let Operand::Array(a) = operand {
                recording.settle(a)?;
            }
        }
        let State { tapes, memo, .. } = &mut *recording.state;
        // SAFETY: the lock is held, and the operands are settled.
        let out = unsafe { memo.map(&mut tapes[tape as usize], self.id, fun, operands, forced)? };
        recording.close(None);
        Ok(out)
    }

    /// Records a cast to `dtype`. The result is always a new, C-contiguous array.
    pub fn cast(self: &Arc<Engine>, a: &Array, dtype: DType) -> Result<Array> {
        let fresh = Layout::try_contiguous(dtype, a.shape())?;
        let mut recording = self.open(&[a])?;
        // SAFETY: the lock is held, and the array is settled.
        let out = unsafe { elementwise::record_cast(recording.tape_mut(), self.id, a, &fresh) };
        recording.close(None);
        Ok(out)
    }

    /// Records an array of index values through `layout` (int64).
    pub fn iota(self: &Arc<Engine>, layout: &LayoutRef) -> Result<Array> {
        let mut recording = self.open(&[])?;
        let read = elementwise::iota(recording.tape_mut(), layout);
        let out = Layout::contiguous(DType::I64, &layout.shape);
        Ok(recording.push(NodeKind::Map, Fun::Positive as u8, 1, &out, [read, In::default(), In::default()]))
    }

    /// Records an array of one value.
    pub fn full(self: &Arc<Engine>, shape: &[i64], value: Scalar, dtype: DType) -> Result<Array> {
        let out = Layout::try_contiguous(dtype, shape)?;
        let mut recording = self.open(&[])?;
        let read = recording.constant(value, dtype);
        Ok(recording.push(NodeKind::Map, Fun::Positive as u8, 1, &out, [read, In::default(), In::default()]))
    }

    /// Returns the smallest and the largest element of an int64 array that is recorded as index values or as one value,
    /// without running anything. `None` for all other arrays.
    pub fn recorded_range(&self, a: &Array) -> Option<(i64, i64)> {
        let whole = a.layout.identity && a.layout.size as usize * DType::I64.size() == a.storage.bytes;
        if a.dtype() != DType::I64 || a.layout.size == 0 || !whole || a.storage.is_external() || self.check(a).is_err()
        {
            return None;
        }
        let state = self.enter().ok()?;
        // SAFETY: the lock is held.
        let version = unsafe { a.storage.latest_version() }?;
        let tape = &state.tapes[version.tape as usize];
        let node = tape.nodes.get(version.node as usize)?;
        if node.kind != NodeKind::Map || node.map_fun() != Fun::Positive {
            return None;
        }
        let layout = |id: u32| tape.layouts.iter().find(|layout| layout.id == id);
        match node.ins[0].src.kind() {
            SrcKind::Iota => layout(node.ins[0].layout)?.span(),
            SrcKind::Const(slot) if layout(node.out)?.dtype == DType::I64 => {
                let value = i64::from_ne_bytes(*tape.consts[slot as usize].0.first_chunk()?);
                Some((value, value))
            }
            _ => None,
        }
    }

    /// Records a reduction over `axes` (bits). The result has the other axes, in the array's memory order.
    /// [`Engine::reduce`] also takes empty arrays and no axes.
    pub(crate) fn record_reduce(self: &Arc<Engine>, op: ReduceOp, a: &Array, axes: u32) -> Result<Array> {
        // Indices count in the array's own order, and NumPy returns them in row-major order.
        if !matches!(op, ReduceOp::ArgMax | ReduceOp::ArgMin)
            && let Some(order) = elementwise::axis_order(a)
        {
            let in_memory_order = a.view(a.layout.permute(&order));
            let reduced = order.iter().enumerate().fold(0, |bits, (at, &k)| bits | (axes >> k & 1) << at);
            let out = self.record_reduce(op, &in_memory_order, reduced)?;
            let kept = |k: &usize| axes >> k & 1 == 0;
            let axes_left: SmallVec<[usize; 6]> = (0..a.shape().len()).filter(kept).collect();
            let left: SmallVec<[usize; 6]> =
                order.iter().filter(|k| kept(k)).map(|k| axes_left.binary_search(k).expect("a kept axis")).collect();
            let layout = out.layout.permute(&elementwise::inverse_permutation(&left));
            return Ok(out.view(if a.layout.engine_order { layout.in_engine_order() } else { layout }));
        }
        let kept: Dims = a.shape().iter().enumerate().filter(|(k, _)| axes >> k & 1 == 0).map(|(_, &n)| n).collect();
        let dtype = match op {
            ReduceOp::ArgMax | ReduceOp::ArgMin => DType::I64,
            ReduceOp::M2 => a.dtype().component(),
            _ => a.dtype(),
        };
        let out = Layout::try_contiguous(dtype, &kept)?;
        let mut recording = self.open(&[a])?;
        let ins = [recording.read(a), In { src: Src(axes), layout: 0 }, In::default()];
        let tape = recording.tape_mut();
        tape.work = tape.work.saturating_add((a.layout.size as usize * a.dtype().size()) as u64);
        Ok(recording.push(NodeKind::Reduce, op as u8, 1, &out, ins))
    }

    /// Records a gather: `out[i]` is the element of the storage of `a` at `offset of a + index[i]`.
    pub fn gather(self: &Arc<Engine>, a: &Array, index: &Array) -> Result<Array> {
        let out = Layout::try_contiguous(a.dtype(), index.shape())?;
        let index = self.offset_index(index, a.layout.offset)?;
        let mut recording = self.open(&[a, &index])?;
        let ins = [recording.read(a), recording.read(&index), In::default()];
        Ok(recording.push(NodeKind::Gather, 0, 2, &out, ins))
    }

    /// Copies the element at `offset` of `a`'s storage. If it lies in host memory, it is copied at once, which takes
    /// less time than to record and run a copy. Otherwise the offset is a parameter of the program.
    pub fn element(self: &Arc<Engine>, a: &Array, offset: i64) -> Result<Array> {
        let mut recording = self.open(&[a])?;
        if self.device.is_host() {
            let bytes = a.dtype().size();
            // SAFETY: the lock is held.
            let memory = unsafe { if a.storage.latest_version().is_none() { a.storage.buffer() } else { None } };
            // Without room for a copy the operation is recorded: running programs makes room.
            if let (Some(memory), Ok(copy)) = (memory, self.device.alloc(bytes)) {
                let from = memory.address() + offset as u64 * bytes as u64;
                // SAFETY: layouts lie within their storage, and the copy was just allocated with that many bytes.
                unsafe { std::ptr::copy_nonoverlapping(from as *const u8, copy.address() as *mut u8, bytes) };
                let layout = recording.state.scalars[a.dtype() as usize].clone();
                return Ok(Array { storage: Arc::new(Storage::ready(copy, self.id)), layout });
            }
        }
        let index = recording.constant(Scalar::new(Number::Int(offset.into()), DType::I64), DType::I64);
        let ins = [recording.read(a), index, In::default()];
        let State { tapes, scalars, .. } = &mut *recording.state;
        let tape = &mut tapes[recording.tape as usize];
        let out = tape.push(NodeKind::Gather, 0, 2, &scalars[a.dtype() as usize], ins, self.id);
        recording.close(None);
        Ok(out)
    }

    fn offset_index(self: &Arc<Engine>, index: &Array, by: i64) -> Result<Array> {
        if index.dtype() != DType::I64 {
            return Err(Error::type_(format!("[gather] the index must be int64, not {}", index.dtype().name())));
        }
        if by == 0 {
            return Ok(index.clone());
        }
        self.map(Fun::Add, &[Operand::Array(index), Operand::Weak(Number::Int(by.into()))], None)
    }

    /// Returns the value of an assignment to `a` as an array that can be read through its own layout: broadcast to the
    /// target's shape, of its dtype, and without overlap. Returns `None` if the assignment changes nothing.
    fn assigned_value(self: &Arc<Engine>, a: &Array, v: &Array) -> Result<Option<Array>> {
        self.check(v)?;
        let (shape, dtype) = (a.shape(), a.dtype());
        let aliased = Arc::ptr_eq(&v.storage, &a.storage);
        if !aliased && v.dtype() == dtype && v.shape() == shape {
            return Ok(Some(v.clone()));
        }
        // NumPy drops leading axes of extent 1 in an assignment.
        let extra = v.shape().len().saturating_sub(shape.len());
        let mut layout = v.layout.clone();
        if extra > 0 && v.shape()[..extra].iter().all(|&n| n == 1) {
            layout = layout.with(&v.shape()[extra..], &v.layout.strides[extra..], v.layout.offset);
        }
        let ones = v.shape().iter().take(extra).take_while(|&&n| n == 1).count();
        let mismatch = |_| {
            Error::value(format!(
                "could not broadcast input array from shape {} into shape {}",
                show(&v.shape()[ones..]),
                show(shape)
            ))
        };
        let fitted = layout.broadcast_to(shape).map_err(mismatch)?;
        if aliased && fitted.id == a.layout.id {
            return Ok(None);
        }
        let overlap = aliased
            && match (layout.span(), a.layout.span()) {
                (Some((l1, h1)), Some((l2, h2))) => v.dtype() != dtype || (l1 <= h2 && l2 <= h1),
                _ => false,
            };
        if v.dtype() != dtype || overlap {
            let cast = self.cast_in_memory_order(&v.view(layout), dtype)?;
            let spread = cast.layout.broadcast_to(shape)?;
            return Ok(Some(cast.view(spread)));
        }
        Ok(Some(v.view(fitted)))
    }

    /// Prepares for a write to `a`: waits for code outside that still reads the memory, and copies the contents of the
    /// storage if the backward pass still needs them.
    #[inline]
    pub(crate) fn before_change(self: &Arc<Engine>, a: &Array) -> Result<()> {
        if a.storage.is_external() {
            a.storage.wait_for_external()?;
        }
        self.preserve(a)
    }

    /// Copies the contents of `a`'s storage before a write, if the backward pass still needs them.
    #[inline]
    pub(crate) fn preserve(self: &Arc<Engine>, a: &Array) -> Result<()> {
        let Some(epoch) = a.storage.end_epoch() else { return Ok(()) };
        let dtype = if a.storage.bytes.is_multiple_of(a.dtype().size()) { a.dtype() } else { DType::U8 };
        let all = Layout::contiguous(dtype, &[(a.storage.bytes / dtype.size()) as i64]);
        epoch.set_copy(self.cast(&a.view(all), dtype)?.storage);
        Ok(())
    }

    /// As [`Engine::cast`], but the result has the memory order of the array.
    fn cast_in_memory_order(self: &Arc<Engine>, a: &Array, dtype: DType) -> Result<Array> {
        let Some(order) = elementwise::axis_order(a) else { return self.cast(a, dtype) };
        let cast = self.cast(&a.view(a.layout.permute(&order)), dtype)?;
        Ok(cast.view(cast.layout.permute(&elementwise::inverse_permutation(&order))))
    }

    /// Records `a[...] = value`, with broadcasting and casting. A value that overlaps the target is copied first.
    pub fn update(self: &Arc<Engine>, a: &Array, value: Operand) -> Result<()> {
        let prepared;
        let value = match value {
            Operand::Array(v) => match self.assigned_value(a, v)? {
                Some(v) => {
                    prepared = v;
                    Operand::Array(&prepared)
                }
                None => return Ok(()),
            },
            scalar => scalar,
        };
        if a.layout.size == 0 {
            return Ok(());
        }
        // Elements are written in the order of the target's memory.
        if let Some(order) = elementwise::axis_order(a) {
            let target = a.view(a.layout.permute(&order));
            return match value {
                Operand::Array(v) => self.record_update(&target, Operand::Array(&v.view(v.layout.permute(&order)))),
                number => self.record_update(&target, number),
            };
        }
        self.record_update(a, value)
    }

    /// Records `a[...] = value`, where an array has the target's shape and dtype and does not overlap it.
    fn record_update(self: &Arc<Engine>, a: &Array, value: Operand) -> Result<()> {
        let dtype = a.dtype();
        let arrays: SmallVec<[&Array; 2]> = match &value {
            Operand::Array(v) => smallvec![a, *v],
            _ => smallvec![a],
        };
        self.before_change(a)?;
        let mut recording = self.open(&arrays)?;
        self.before_write(&mut recording.state, &a.storage)?;
        let value = match value {
            Operand::Array(v) => recording.read(v),
            Operand::Weak(n) | Operand::Typed(n, _) => recording.constant(Scalar::new(n, dtype), dtype),
        };
        let ins = [recording.read(a), value, In::default()];
        recording.write(NodeKind::Update, 0, 2, a, ins);
        Ok(())
    }

    /// Records writes of `value[i]` to the storage of `a` at `offset of a + index[i]`, combined by `op`.
    pub fn scatter(self: &Arc<Engine>, a: &Array, index: &Array, value: &Array, op: ScatterOp) -> Result<()> {
        let index = self.offset_index(index, a.layout.offset)?;
        let dtype = a.dtype();
        // The value is read while the target is written, so it must not be a view of it.
        let value = if value.dtype() != dtype || Arc::ptr_eq(&value.storage, &a.storage) {
            self.cast(value, dtype)?
        } else {
            value.clone()
        };
        let index = if Arc::ptr_eq(&index.storage, &a.storage) { self.cast(&index, DType::I64)? } else { index };
        if index.layout.size == 0 {
            return Ok(());
        }
        self.before_change(a)?;
        let mut recording = self.open(&[a, &index, &value])?;
        self.before_write(&mut recording.state, &a.storage)?;
        let spread = value.layout.broadcast_to(index.shape())?;
        let ins = [recording.read(a), recording.read(&index), recording.read_through(&value, &spread)];
        recording.write(NodeKind::Scatter, op as u8, 3, a, ins);
        Ok(())
    }
}
