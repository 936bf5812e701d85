//! Numbers of any dtype: the values of constant operands.

use half::{bf16, f16};

use crate::{DType, Kind};

/// A Python number, before a dtype is chosen.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Number {
    /// `True` or `False`.
    Bool(bool),
    /// An integer; `u64::MAX` fits.
    Int(i128),
    /// A float.
    Float(f64),
    /// A complex number.
    Complex(f64, f64),
}

/// The bits of one element in its dtype's representation, low bytes first; the unused bytes are zero.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[repr(C, align(16))]
pub struct Scalar(pub [u8; 16]);

impl Scalar {
    /// Returns the bytes of a list of scalars.
    pub fn bytes_of(list: &[Scalar]) -> &[u8] {
        // SAFETY: a scalar is 16 bytes without padding, so the list is `size_of_val(list)` initialized bytes.
        unsafe { std::slice::from_raw_parts(list.as_ptr().cast(), size_of_val(list)) }
    }

    /// Returns a scalar of these low bytes.
    fn of<const N: usize>(bytes: [u8; N]) -> Scalar {
        let mut all = [0; 16];
        all[..N].copy_from_slice(&bytes);
        Scalar(all)
    }

    /// Converts `number` to `dtype`. Integers wrap and floats are truncated, as C casts do. The caller checks ranges.
    pub fn new(number: Number, dtype: DType) -> Scalar {
        let (re, im, int) = match number {
            Number::Bool(b) => (f64::from(u8::from(b)), 0.0, i128::from(b)),
            Number::Int(i) => (i as f64, 0.0, i),
            Number::Float(x) => (x, 0.0, x as i128),
            Number::Complex(re, im) => (re, im, re as i128),
        };
        match dtype {
            DType::Bool => Scalar::of([u8::from(re != 0.0 || im != 0.0 || int != 0)]),
            DType::I8 | DType::U8 => Scalar::of((int as u8).to_le_bytes()),
            DType::I16 | DType::U16 => Scalar::of((int as u16).to_le_bytes()),
            DType::I32 | DType::U32 => Scalar::of((int as u32).to_le_bytes()),
            DType::I64 | DType::U64 => Scalar::of((int as u64).to_le_bytes()),
            DType::F16 => Scalar::of(f16::from_f64(re).to_le_bytes()),
            DType::BF16 => Scalar::of(bf16::from_f64(re).to_le_bytes()),
            DType::F32 => Scalar::of((re as f32).to_le_bytes()),
            DType::F64 => Scalar::of(re.to_le_bytes()),
            DType::C64 => {
                let (re, im) = (u64::from((re as f32).to_bits()), u64::from((im as f32).to_bits()));
                Scalar::of((re | im << 32).to_le_bytes())
            }
            DType::C128 => {
                let (re, im) = (u128::from(re.to_bits()), u128::from(im.to_bits()));
                Scalar::of((re | im << 64).to_le_bytes())
            }
        }
    }

    /// Returns the first `N` bytes.
    pub fn bytes<const N: usize>(&self) -> [u8; N] {
        std::array::from_fn(|i| self.0[i])
    }

    /// Returns the real and imaginary part of the number that the bits represent in `dtype`. Integers are rounded.
    pub fn parts(&self, dtype: DType) -> [f64; 2] {
        match self.number(dtype) {
            Number::Bool(b) => [f64::from(u8::from(b)), 0.0],
            Number::Int(i) => [i as f64, 0.0],
            Number::Float(x) => [x, 0.0],
            Number::Complex(re, im) => [re, im],
        }
    }

    /// Returns true if the number is zero, of either sign.
    pub fn is_zero(&self, dtype: DType) -> bool {
        self.parts(dtype) == [0.0, 0.0]
    }

    /// Returns the number that the bits represent in `dtype`.
    pub fn number(&self, dtype: DType) -> Number {
        match dtype {
            DType::Bool => Number::Bool(self.0[0] != 0),
            DType::I8 => Number::Int((self.0[0] as i8).into()),
            DType::I16 => Number::Int(i16::from_le_bytes(self.bytes()).into()),
            DType::I32 => Number::Int(i32::from_le_bytes(self.bytes()).into()),
            DType::I64 => Number::Int(i64::from_le_bytes(self.bytes()).into()),
            DType::U8 => Number::Int(self.0[0].into()),
            DType::U16 => Number::Int(u16::from_le_bytes(self.bytes()).into()),
            DType::U32 => Number::Int(u32::from_le_bytes(self.bytes()).into()),
            DType::U64 => Number::Int(u64::from_le_bytes(self.bytes()).into()),
            DType::F16 => Number::Float(f16::from_le_bytes(self.bytes()).to_f64()),
            DType::BF16 => Number::Float(bf16::from_le_bytes(self.bytes()).to_f64()),
            DType::F32 => Number::Float(f32::from_le_bytes(self.bytes()).into()),
            DType::F64 => Number::Float(f64::from_le_bytes(self.bytes())),
            DType::C64 => {
                let bits = u64::from_le_bytes(self.bytes());
                let part = |b: u64| f64::from(f32::from_bits(b as u32));
                Number::Complex(part(bits), part(bits >> 32))
            }
            DType::C128 => {
                let bits = u128::from_le_bytes(self.0);
                Number::Complex(f64::from_bits(bits as u64), f64::from_bits((bits >> 64) as u64))
            }
        }
    }
}

impl Number {
    /// Returns the weakest kind that can represent the number.
    pub fn kind(self) -> Kind {
        match self {
            Number::Bool(_) => Kind::Bool,
            Number::Int(_) => Kind::Int,
            Number::Float(_) => Kind::Float,
            Number::Complex(..) => Kind::Complex,
        }
    }
}
