//! Operations as they come from the faces: each is checked and becomes a node of the calling thread's tape.

use std::sync::Arc;

use cuprous_core::layout::show;
use cuprous_core::{
    Array, DType, Dims, Error, Fun, In, Layout, LayoutRef, NodeKind, ReduceOp, Result, Scalar, ScatterOp, Src, Storage,
    Tape,
};
use smallvec::{SmallVec, smallvec};

use crate::engine::Engine;
use crate::record::{self, Operand};

/// The layouts of a draw of random numbers.
pub(crate) struct Draw {
    fun: Fun,
    word: LayoutRef,
    index: LayoutRef,
    out: LayoutRef,
}

impl Draw {
    fn new(fun: Fun, shape: &[i64]) -> Result<Draw> {
        let dtype = match fun {
            Fun::RandomBits32 => DType::U32,
            Fun::RandomBits64 => DType::U64,
            Fun::RandomUnit32 | Fun::RandomNormal32 => DType::F32,
            Fun::RandomPoisson | Fun::RandomBinomial => DType::I64,
            _ => DType::F64,
        };
        Ok(Draw {
            fun,
            word: Layout::contiguous(DType::U64, &[]),
            index: Layout::try_contiguous(DType::I64, shape)?,
            out: Layout::try_contiguous(dtype, shape)?,
        })
    }
}

impl Engine {
    /// Records an elementwise function.
    pub fn map(self: &Arc<Engine>, fun: Fun, operands: &[Operand], forced: Option<DType>) -> Result<Array> {
        let tape = self.tape()?;
        let mut state = self.enter()?;
        let mut external = false;
        for operand in operands {
            if let Operand::Array(a) = operand {
                self.check(a)?;
                external |= a.storage.is_external();
                self.settle(&mut state, a, tape)?;
            }
        }
        let s = &mut *state;
        let t = &mut s.tapes[tape as usize];
        // SAFETY: the lock is held, foreign tapes are settled.
        let out = unsafe { s.memo.map(t, self.id, fun, operands, forced)? };
        self.close(s, tape, None, external);
        Ok(out)
    }

    /// Records a cast to `dtype`: always a fresh, C-contiguous array.
    pub fn cast(self: &Arc<Engine>, a: &Array, dtype: DType) -> Result<Array> {
        let fresh = Layout::try_contiguous(dtype, a.shape())?;
        let (mut state, tape) = self.open(&[a])?;
        // SAFETY: the lock is held, foreign tapes are settled.
        let out = unsafe { record::record_cast(&mut state.tapes[tape as usize], self.id, a, &fresh) };
        self.close(&mut state, tape, None, a.storage.is_external());
        Ok(out)
    }

    /// Records an array of index values through `layout` (int64).
    pub fn iota(self: &Arc<Engine>, layout: &LayoutRef) -> Result<Array> {
        let (mut state, tape) = self.open(&[])?;
        let t = &mut state.tapes[tape as usize];
        let read = record::iota(t, layout);
        let out = Layout::contiguous(DType::I64, &layout.shape);
        let out = t.push(NodeKind::Map, Fun::Positive as u8, 1, &out, [read, In::default(), In::default()], self.id);
        self.close(&mut state, tape, None, false);
        Ok(out)
    }

    /// Records an array of one value.
    pub fn full(self: &Arc<Engine>, shape: &[i64], value: Scalar, dtype: DType) -> Result<Array> {
        let out = Layout::try_contiguous(dtype, shape)?;
        let (mut state, tape) = self.open(&[])?;
        let s = &mut *state;
        let t = &mut s.tapes[tape as usize];
        let read = t.constant(value, &s.scalars[dtype as usize]);
        let out = t.push(NodeKind::Map, Fun::Positive as u8, 1, &out, [read, In::default(), In::default()], self.id);
        self.close(&mut state, tape, None, false);
        Ok(out)
    }

    /// Records random numbers: element i of the stream (seed, offset). `parameter` has the result's shape.
    pub fn random(
        self: &Arc<Engine>,
        fun: Fun,
        shape: &[i64],
        seed: u64,
        offset: u64,
        parameter: Option<&Array>,
    ) -> Result<Array> {
        let operands: Vec<&Array> = parameter.into_iter().collect();
        let (mut state, tape) = self.open(&operands)?;
        let s = &mut *state;
        let t = &mut s.tapes[tape as usize];
        let plain = match &s.draw {
            Some(draw) if draw.fun == fun && draw.index.shape.as_slice() == shape => draw,
            _ => s.draw.insert(Draw::new(fun, shape)?),
        };
        let word = plain.word.clone();
        let index = record::iota(t, &plain.index);
        let constant = |t: &mut Tape, v: u64| {
            t.constant(Scalar::new(cuprous_core::scalar::Number::Int(v.into()), DType::U64), &word)
        };
        let ins = match parameter {
            None => [index, constant(t, seed), constant(t, offset)],
            Some(p) => {
                // Each call has a key of its own: there is no room for an offset beside the parameter.
                let key = constant(t, splitmix(seed ^ splitmix(offset)));
                // SAFETY: the lock is held, foreign tapes are settled.
                let src = unsafe { t.source(&p.storage) };
                let layout = p.layout.broadcast_to(shape)?;
                [index, key, In { src, layout: t.note(&layout) }]
            }
        };
        let out = t.push(NodeKind::Map, fun as u8, 3, &plain.out, ins, self.id);
        self.close(&mut state, tape, None, parameter.is_some_and(|p| p.storage.is_external()));
        Ok(out)
    }

    /// Records a fold over `axes` (bits); the result has the other axes, and they lie in memory as the array's do.
    pub(crate) fn record_reduce(self: &Arc<Engine>, op: ReduceOp, a: &Array, axes: u32) -> Result<Array> {
        // Indices count in the array's own order (and NumPy returns them in row-major order).
        if !matches!(op, ReduceOp::ArgMax | ReduceOp::ArgMin)
            && let Some(order) = record::lying(a)
        {
            let upright = a.view(a.layout.permute(&order));
            let folded = order.iter().enumerate().fold(0, |bits, (at, &k)| bits | (axes >> k & 1) << at);
            let out = self.record_reduce(op, &upright, folded)?;
            let kept = |k: &usize| axes >> k & 1 == 0;
            let places: SmallVec<[usize; 6]> = (0..a.shape().len()).filter(kept).collect();
            let left: SmallVec<[usize; 6]> =
                order.iter().filter(|k| kept(k)).map(|k| places.binary_search(k).expect("it is kept")).collect();
            return Ok(out.view(out.layout.permute(&record::inverse(&left))));
        }
        let kept: Dims = a.shape().iter().enumerate().filter(|(k, _)| axes >> k & 1 == 0).map(|(_, &n)| n).collect();
        let dtype = match op {
            ReduceOp::ArgMax | ReduceOp::ArgMin => DType::I64,
            ReduceOp::M2 => a.dtype().component(),
            _ => a.dtype(),
        };
        let out = Layout::try_contiguous(dtype, &kept)?;
        let (mut state, tape) = self.open(&[a])?;
        let t = &mut state.tapes[tape as usize];
        // SAFETY: the lock is held, foreign tapes are settled.
        let src = unsafe { t.source(&a.storage) };
        let ins = [In { src, layout: t.note(&a.layout) }, In { src: Src(axes), layout: 0 }, In::default()];
        t.work = t.work.saturating_add((a.layout.size as usize * a.dtype().size()) as u64);
        let out = t.push(NodeKind::Reduce, op as u8, 1, &out, ins, self.id);
        self.close(&mut state, tape, None, a.storage.is_external());
        Ok(out)
    }

    /// Records `out[i] = a's storage at a's offset + index[i]`.
    pub fn gather(self: &Arc<Engine>, a: &Array, index: &Array) -> Result<Array> {
        let out = Layout::try_contiguous(a.dtype(), index.shape())?;
        let index = self.shifted(index, a.layout.offset)?;
        let (mut state, tape) = self.open(&[a, &index])?;
        let t = &mut state.tapes[tape as usize];
        // SAFETY: the lock is held, foreign tapes are settled.
        let (src, at) = unsafe { (t.source(&a.storage), t.source(&index.storage)) };
        let ins = [In { src, layout: t.note(&a.layout) }, In { src: at, layout: t.note(&index.layout) }, In::default()];
        let out = t.push(NodeKind::Gather, 0, 2, &out, ins, self.id);
        self.close(&mut state, tape, None, a.storage.is_external());
        Ok(out)
    }

    /// Copies the element at `offset` of `a`'s storage: at once where it lies in the host's memory, which takes less time
    /// than to record and run that. Recorded, the offset is a parameter of the program.
    pub fn element(self: &Arc<Engine>, a: &Array, offset: i64) -> Result<Array> {
        let (mut state, tape) = self.open(&[a])?;
        if self.device.is_host() {
            let bytes = a.dtype().size();
            // SAFETY: the lock is held.
            let memory = unsafe { if a.storage.head().is_none() { a.storage.buffer() } else { None } };
            // Without room for a copy it is recorded: running programs makes room.
            if let (Some(memory), Ok(copy)) = (memory, self.device.alloc(bytes)) {
                let from = memory.address() + offset as u64 * bytes as u64;
                // SAFETY: layouts lie within their storage, and the copy was just made, with that many bytes.
                unsafe { std::ptr::copy_nonoverlapping(from as *const u8, copy.address() as *mut u8, bytes) };
                let layout = state.scalars[a.dtype() as usize].clone();
                return Ok(Array { storage: Arc::new(Storage::ready(copy, self.id)), layout });
            }
        }
        let s = &mut *state;
        let t = &mut s.tapes[tape as usize];
        // SAFETY: the lock is held, foreign tapes are settled.
        let src = unsafe { t.source(&a.storage) };
        let offset = Scalar::new(cuprous_core::scalar::Number::Int(offset.into()), DType::I64);
        let at = t.constant(offset, &s.scalars[DType::I64 as usize]);
        let ins = [In { src, layout: t.note(&a.layout) }, at, In::default()];
        let out = t.push(NodeKind::Gather, 0, 2, &s.scalars[a.dtype() as usize], ins, self.id);
        self.close(&mut state, tape, None, a.storage.is_external());
        Ok(out)
    }

    fn shifted(self: &Arc<Engine>, index: &Array, by: i64) -> Result<Array> {
        if index.dtype() != DType::I64 {
            return Err(Error::type_(format!("[gather] the index must be int64, not {}", index.dtype().name())));
        }
        if by == 0 {
            return Ok(index.clone());
        }
        self.map(Fun::Add, &[Operand::Array(index), Operand::Weak(cuprous_core::scalar::Number::Int(by.into()))], None)
    }

    /// The value of an assignment to `a`, as an array that can be read through its own layout: broadcast to the
    /// target's shape, of its dtype, and no part of the target. `None` where there is nothing to do.
    fn assignable(self: &Arc<Engine>, a: &Array, v: &Array) -> Result<Option<Array>> {
        self.check(v)?;
        let (shape, dtype) = (a.shape(), a.dtype());
        let aliased = Arc::ptr_eq(&v.storage, &a.storage);
        if !aliased && v.dtype() == dtype && v.shape() == shape {
            return Ok(Some(v.clone()));
        }
        // NumPy lets leading axes of extent 1 go when it assigns.
        let extra = v.shape().len().saturating_sub(shape.len());
        let mut layout = v.layout.clone();
        if extra > 0 && v.shape()[..extra].iter().all(|&n| n == 1) {
            layout = layout.with(&v.shape()[extra..], &v.layout.strides[extra..], v.layout.offset);
        }
        let ones = v.shape().iter().take(extra).take_while(|&&n| n == 1).count();
        let refused = |_| {
            Error::value(format!(
                "could not broadcast input array from shape {} into shape {}",
                show(&v.shape()[ones..]),
                show(shape)
            ))
        };
        let fits = layout.broadcast_to(shape).map_err(refused)?;
        if aliased && fits.id == a.layout.id {
            return Ok(None);
        }
        let overlap = aliased
            && match (layout.span(), a.layout.span()) {
                (Some((l1, h1)), Some((l2, h2))) => v.dtype() != dtype || (l1 <= h2 && l2 <= h1),
                _ => false,
            };
        if v.dtype() != dtype || overlap {
            let cast = self.cast(&v.view(layout), dtype)?;
            let spread = cast.layout.broadcast_to(shape)?;
            return Ok(Some(cast.view(spread)));
        }
        Ok(Some(v.view(fits)))
    }

    /// Before a write to `a`'s storage: copies the contents that somebody still wants to see.
    #[inline]
    pub(crate) fn preserve(self: &Arc<Engine>, a: &Array) -> Result<()> {
        let Some(epoch) = a.storage.end_epoch() else { return Ok(()) };
        let dtype = if a.storage.bytes.is_multiple_of(a.dtype().size()) { a.dtype() } else { DType::U8 };
        let whole = Layout::contiguous(dtype, &[(a.storage.bytes / dtype.size()) as i64]);
        epoch.keep(self.cast(&a.view(whole), dtype)?.storage);
        Ok(())
    }

    /// Records `a[...] = value`, with broadcasting and casting. A value that overlaps the target is copied first.
    pub fn update(self: &Arc<Engine>, a: &Array, value: Operand) -> Result<()> {
        let dtype = a.dtype();
        let prepared;
        let value = match value {
            Operand::Array(v) => match self.assignable(a, v)? {
                Some(v) => {
                    prepared = v;
                    Operand::Array(&prepared)
                }
                None => return Ok(()),
            },
            scalar => scalar,
        };
        let arrays: SmallVec<[&Array; 2]> = match &value {
            Operand::Array(v) => smallvec![a, *v],
            _ => smallvec![a],
        };
        if a.layout.size == 0 {
            return Ok(());
        }
        self.preserve(a)?;
        let (mut state, tape) = self.open(&arrays)?;
        self.before_write(&mut state, &a.storage)?;
        let t = &mut state.tapes[tape as usize];
        let mut external = a.storage.is_external();
        let read = match value {
            Operand::Array(v) => {
                external |= v.storage.is_external();
                // SAFETY: the lock is held, foreign tapes are settled.
                let src = unsafe { t.source(&v.storage) };
                In { src, layout: t.note(&v.layout) }
            }
            Operand::Weak(n) | Operand::Typed(n, _) => {
                t.constant(Scalar::new(n, dtype), &Layout::contiguous(dtype, &[]))
            }
        };
        // SAFETY: as above.
        let src = unsafe { t.source(&a.storage) };
        let ins = [In { src, layout: t.note(&a.layout) }, read, In::default()];
        // SAFETY: as above.
        unsafe { t.push_write(NodeKind::Update, 0, 2, a, ins) };
        self.close(&mut state, tape, None, external);
        Ok(())
    }

    /// Records writes of `value[i]` to a's storage at a's offset + index[i].
    pub fn scatter(self: &Arc<Engine>, a: &Array, index: &Array, value: &Array, op: ScatterOp) -> Result<()> {
        let index = self.shifted(index, a.layout.offset)?;
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
        self.preserve(a)?;
        let (mut state, tape) = self.open(&[a, &index, &value])?;
        self.before_write(&mut state, &a.storage)?;
        let t = &mut state.tapes[tape as usize];
        let read = value.layout.broadcast_to(index.shape())?;
        // SAFETY: the lock is held, foreign tapes are settled.
        let (src, at, v) = unsafe { (t.source(&a.storage), t.source(&index.storage), t.source(&value.storage)) };
        let ins = [
            In { src, layout: t.note(&a.layout) },
            In { src: at, layout: t.note(&index.layout) },
            In { src: v, layout: t.note(&read) },
        ];
        // SAFETY: as above.
        unsafe { t.push_write(NodeKind::Scatter, op as u8, 3, a, ins) };
        self.close(&mut state, tape, None, a.storage.is_external());
        Ok(())
    }
}

/// A mixing step of SplitMix64 (Steele, Lea, Flood 2014).
fn splitmix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
