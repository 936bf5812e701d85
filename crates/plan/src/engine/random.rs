//! Recording draws of random numbers.

use std::sync::Arc;

use cuprous_core::{Array, DType, Fun, In, Layout, LayoutRef, NodeKind, Result, Scalar, Tape};

use super::{Engine, elementwise};

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
        let index = elementwise::iota(t, &plain.index);
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
}

/// A mixing step of SplitMix64 (Steele, Lea, Flood 2014).
fn splitmix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
