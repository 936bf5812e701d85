//! The element types, with NumPy's names and sizes.

/// An element type. Kinds are in promotion order; within a kind, types are ordered by size.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
#[repr(u8)]
#[allow(missing_docs, reason = "the names are NumPy's")]
pub enum DType {
    Bool,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F16,
    BF16,
    F32,
    F64,
    C64,
    C128,
}

/// NumPy's kind letters, as an enum.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the names are NumPy's")]
pub enum Kind {
    Bool,
    Int,
    UInt,
    Float,
    Complex,
}

use DType::*;

impl DType {
    /// Every dtype, in declaration order.
    pub const ALL: [DType; 15] = [Bool, I8, I16, I32, I64, U8, U16, U32, U64, F16, BF16, F32, F64, C64, C128];

    /// Returns NumPy's name (for `bfloat16` that of ml_dtypes).
    pub const fn name(self) -> &'static str {
        match self {
            Bool => "bool",
            I8 => "int8",
            I16 => "int16",
            I32 => "int32",
            I64 => "int64",
            U8 => "uint8",
            U16 => "uint16",
            U32 => "uint32",
            U64 => "uint64",
            F16 => "float16",
            BF16 => "bfloat16",
            F32 => "float32",
            F64 => "float64",
            C64 => "complex64",
            C128 => "complex128",
        }
    }

    /// Returns the dtype of a NumPy name.
    pub fn from_name(name: &str) -> Option<DType> {
        Self::ALL.into_iter().find(|d| d.name() == name)
    }

    /// Returns the dtype of a declaration index.
    pub const fn from_index(index: u8) -> DType {
        Self::ALL[index as usize]
    }

    /// Returns the size of one element in bytes.
    pub const fn size(self) -> usize {
        match self {
            Bool | I8 | U8 => 1,
            I16 | U16 | F16 | BF16 => 2,
            I32 | U32 | F32 => 4,
            I64 | U64 | F64 | C64 => 8,
            C128 => 16,
        }
    }

    /// Returns the kind: bool, signed, unsigned, floating or complex.
    pub const fn kind(self) -> Kind {
        match self {
            Bool => Kind::Bool,
            I8 | I16 | I32 | I64 => Kind::Int,
            U8 | U16 | U32 | U64 => Kind::UInt,
            F16 | BF16 | F32 | F64 => Kind::Float,
            C64 | C128 => Kind::Complex,
        }
    }

    /// Returns true for `float16`, `bfloat16`, `float32` and `float64`.
    pub const fn is_float(self) -> bool {
        matches!(self, F16 | BF16 | F32 | F64)
    }

    /// Returns true for `complex64` and `complex128`.
    pub const fn is_complex(self) -> bool {
        matches!(self, C64 | C128)
    }

    /// Returns true for signed and unsigned integers, but not for bool.
    pub const fn is_int(self) -> bool {
        matches!(self.kind(), Kind::Int | Kind::UInt)
    }

    /// Returns the dtype of the real part: a complex type's component, otherwise the type itself.
    pub const fn component(self) -> DType {
        match self {
            C64 => F32,
            C128 => F64,
            d => d,
        }
    }

    /// Returns the type in which kernels accumulate a sum of this type.
    pub const fn accumulator(self) -> DType {
        match self {
            F16 | BF16 => F32,
            d => d,
        }
    }

    /// Returns the floating type in which NumPy evaluates functions such as `exp`. Integers become the smallest float
    /// that can represent their range: int8 float16, int16 float32, wider ones float64.
    pub const fn to_inexact(self) -> DType {
        match self {
            Bool | I8 | U8 => F16,
            I16 | U16 => F32,
            I32 | I64 | U32 | U64 => F64,
            d => d,
        }
    }
}
