//! Recording random numbers.

use std::sync::Arc;

use cuprous_core::scalar::Number;
use cuprous_core::{Array, DType, Fun, Layout, NodeKind, Result, Scalar};

use super::state::{Draw, State};
use super::{Engine, elementwise};

impl Draw {
    fn new(fun: Fun, shape: &[i64]) -> Result<Draw> {
        let dtype = match fun {
            Fun::RandomBits32 => DType::U32,
            Fun::RandomBits64 => DType::U64,
            Fun::RandomUnit32 | Fun::RandomNormal32 => DType::F32,
            Fun::RandomPoisson | Fun::RandomBinomial => DType::I64,
            _ => DType::F64,
        };
        Ok(Draw { fun, index: Layout::try_contiguous(DType::I64, shape)?, out: Layout::try_contiguous(dtype, shape)? })
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
        let mut recording = self.open(&operands)?;
        let State { tapes, draw, .. } = &mut *recording.state;
        let draw = match draw {
            Some(draw) if draw.fun == fun && draw.index.shape.as_slice() == shape => draw,
            other => other.insert(Draw::new(fun, shape)?),
        };
        let index = elementwise::iota(&mut tapes[recording.tape as usize], &draw.index);
        let out = draw.out.clone();
        let mut constant = |v: u64| recording.constant(Scalar::new(Number::Int(v.into()), DType::U64), DType::U64);
        let ins = match parameter {
            None => [index, constant(seed), constant(offset)],
            Some(p) => {
                // Each call has a key of its own, because a node has no fourth operand for the offset.
                let key = constant(splitmix(seed ^ splitmix(offset)));
                let layout = p.layout.broadcast_to(shape)?;
                [index, key, recording.read_through(p, &layout)]
            }
        };
        Ok(recording.push(NodeKind::Map, fun as u8, 3, &out, ins))
    }
}

/// A mixing step of SplitMix64 (Steele, Lea, Flood 2014).
fn splitmix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
