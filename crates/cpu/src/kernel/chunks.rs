//! Vectors of the values of several threads.

use cranelift_codegen::ir::{ConstantData, Endianness, InstBuilder, MemFlagsData, Type, Value, types};
use cuprous_core::DType;
use cuprous_kernel::ir::Expr;

use super::function::FunctionCompiler;
use super::values::register;
use super::vector::{Chunks, LaneValue, WIDTH};

/// Returns the flags of accesses that need not be aligned to a vector.
fn unaligned() -> MemFlagsData {
    MemFlagsData::new().with_notrap()
}

impl FunctionCompiler<'_, '_, '_> {
    /// Returns the vector type for numbers of a type. Truth values are bytes.
    pub(super) fn vector(d: DType) -> Type {
        let t = register(d);
        t.by(16 / t.bytes()).unwrap_or(types::I8X16)
    }

    pub(super) fn load_chunks(&mut self, d: DType, at: Value, far: i32) -> Chunks {
        let t = Self::vector(d);
        let count = WIDTH as i32 / t.lane_count() as i32;
        let chunks: Chunks = (0..count).map(|k| self.b.ins().load(t, unaligned(), at, far + 16 * k)).collect();
        if d == DType::Bool { chunks.into_iter().map(|c| self.b.ins().ineg(c)).collect() } else { chunks }
    }

    pub(super) fn store_chunks(&mut self, d: DType, chunks: &[Value], at: Value, far: i32) {
        let chunks: Chunks = if d == DType::Bool {
            let bytes = self.resize_mask(chunks.into(), 1);
            bytes.into_iter().map(|c| self.b.ins().ineg(c)).collect()
        } else {
            chunks.into()
        };
        for (k, &chunk) in chunks.iter().enumerate() {
            self.b.ins().store(unaligned(), chunk, at, far + 16 * k as i32);
        }
    }

    /// Broadcasts a number to all lanes.
    pub(super) fn splat(&mut self, value: Value, d: DType) -> Chunks {
        let t = Self::vector(d);
        let value = if d == DType::Bool { self.b.ins().ineg(value) } else { value };
        let chunk = self.b.ins().splat(t, value);
        (0..WIDTH / i64::from(t.lane_count())).map(|_| chunk).collect()
    }

    /// Returns a value as vectors of numbers of a type.
    pub(super) fn chunks(&mut self, value: LaneValue, d: DType) -> Chunks {
        match value {
            LaneValue::Varying(chunks) if d == DType::I64 && self.is_narrowed(&chunks) => {
                let widened = chunks.iter().flat_map(|&c| [self.b.ins().swiden_low(c), self.b.ins().swiden_high(c)]);
                widened.collect()
            }
            LaneValue::Uniform(value) => self.splat(value, d),
            LaneValue::Linear(first, k) => {
                let t = Self::vector(d);
                let (lanes, size) = (t.lane_count() as usize, t.lane_type().bytes() as usize);
                let base = self.b.ins().splat(t, first);
                (0..WIDTH as usize / lanes)
                    .map(|c| {
                        let far = (0..lanes).flat_map(|l| {
                            let far = (c * lanes + l) as i64;
                            far.wrapping_mul(k).to_le_bytes()[..size].to_vec()
                        });
                        let data: Vec<u8> = far.collect();
                        let constant = self.b.func.dfg.constants.insert(ConstantData::from(&data[..]));
                        let steps = self.b.ins().vconst(t, constant);
                        self.b.ins().iadd(base, steps)
                    })
                    .collect()
            }
            LaneValue::Varying(chunks) => chunks,
        }
    }

    /// Returns true if 64-bit integers are held in 32-bit lanes.
    pub(super) fn is_narrowed(&self, chunks: &Chunks) -> bool {
        self.b.func.dfg.value_type(chunks[0]).lane_type() == types::I32
    }

    /// Converts 64-bit integers that fit into 32 bits to 32-bit lanes.
    pub(super) fn narrow_chunks(&mut self, value: LaneValue) -> Chunks {
        match value {
            LaneValue::Varying(chunks) if self.is_narrowed(&chunks) => chunks,
            LaneValue::Varying(chunks) => self.narrowed(&chunks),
            LaneValue::Uniform(value) => {
                let value = self.b.ins().ireduce(types::I32, value);
                self.chunks(LaneValue::Uniform(value), DType::I32)
            }
            LaneValue::Linear(first, k) => {
                let first = self.b.ins().ireduce(types::I32, first);
                self.chunks(LaneValue::Linear(first, k), DType::I32)
            }
        }
    }

    /// Returns true if a 64-bit integer is known to fit into 32 bits.
    pub(super) fn fits_in_32_bits(&self, e: &Expr) -> bool {
        e.dtype() == Some(DType::I64) && self.sizes.bits(e) <= 30
    }

    /// Converts a mask to lanes of that many bytes.
    pub(super) fn resize_mask(&mut self, mut chunks: Chunks, bytes: u32) -> Chunks {
        let size = |body: &Self, chunks: &Chunks| body.b.func.dfg.value_type(chunks[0]).lane_type().bytes();
        while size(self, &chunks) < bytes {
            let widened = chunks.iter().flat_map(|&c| [self.b.ins().swiden_low(c), self.b.ins().swiden_high(c)]);
            chunks = widened.collect();
        }
        while size(self, &chunks) > bytes {
            chunks = self.narrowed(&chunks);
        }
        chunks
    }

    /// Truncates integers to half their size.
    pub(super) fn narrowed(&mut self, chunks: &Chunks) -> Chunks {
        let from = self.b.func.dfg.value_type(chunks[0]);
        let size = from.lane_type().bytes() as u8;
        let to = Type::int_with_byte_size(u16::from(size) / 2).and_then(|t| t.by(32 / u32::from(size)));
        let to = to.unwrap_or(types::I8X16);
        let kept: Vec<u8> = (0..32u8).filter(|b| b % size < size / 2).collect();
        let widened = chunks.chunks(2).map(|pair| self.shuffle_bytes([pair[0], pair[pair.len() - 1]], to, &kept));
        widened.collect()
    }

    /// Returns a vector with its upper and lower part swapped.
    pub(super) fn swapped_halves(&mut self, chunk: Value) -> Value {
        let (t, kept) = (self.b.func.dfg.value_type(chunk), Vec::from_iter((8..16).chain(0..8)));
        self.shuffle_bytes([chunk; 2], t, &kept)
    }

    /// Combines the lower widened of pairs of vectors into vectors.
    pub(super) fn low_lanes(&mut self, chunks: &Chunks) -> Chunks {
        let (t, kept) = (self.b.func.dfg.value_type(chunks[0]), Vec::from_iter((0..8).chain(16..24)));
        chunks.chunks(2).map(|pair| self.shuffle_bytes([pair[0], pair[1]], t, &kept)).collect()
    }

    /// Selects bytes of two vectors by their indices.
    fn shuffle_bytes(&mut self, pair: [Value; 2], to: Type, kept: &[u8]) -> Value {
        let kept = self.b.func.dfg.immediates.push(ConstantData::from(kept));
        let little = MemFlagsData::new().with_endianness(Endianness::Little);
        let [a, b] = pair.map(|c| self.b.ins().bitcast(types::I8X16, little, c));
        let both = self.b.ins().shuffle(a, b, kept);
        if to == types::I8X16 { both } else { self.b.ins().bitcast(to, little, both) }
    }

    /// Extracts the number in a lane.
    pub(super) fn lane_of(&mut self, value: &LaneValue, d: DType, lane: i64) -> Value {
        match value {
            LaneValue::Uniform(value) => *value,
            LaneValue::Linear(first, k) => self.b.ins().iadd_imm_s(*first, lane.wrapping_mul(*k)),
            LaneValue::Varying(chunks) => {
                let t = self.b.func.dfg.value_type(chunks[0]);
                let lanes = i64::from(t.lane_count());
                let value = self.b.ins().extractlane(chunks[(lane / lanes) as usize], (lane % lanes) as u8);
                if d == DType::I64 {
                    return self.resize(value, types::I64, true);
                }
                if d != DType::Bool {
                    return value;
                }
                let value = self.resize(value, types::I8, true);
                self.b.ins().band_imm_s(value, 1)
            }
        }
    }

    /// Builds vectors from the numbers of all lanes.
    pub(super) fn insert_lanes(&mut self, values: &[Value], d: DType) -> Chunks {
        let t = Self::vector(d);
        let mut chunks = Chunks::new();
        for part in values.chunks(t.lane_count() as usize) {
            let mut chunk = self.b.ins().splat(t, part[0]);
            for (lane, &value) in part.iter().enumerate().skip(1) {
                chunk = self.b.ins().insertlane(chunk, value, lane as u8);
            }
            chunks.push(if d == DType::Bool { self.b.ins().ineg(chunk) } else { chunk });
        }
        chunks
    }
}
