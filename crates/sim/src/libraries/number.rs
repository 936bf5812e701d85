//! Element types. Most routines compute in float64 or complex128 whatever the type in memory.

use std::ops::{Add, AddAssign, Div, DivAssign, Mul, Sub, SubAssign};

use cuprous_numerics::Decompose;
use faer::traits::ComplexField;
use num_complex::Complex;

/// The element types in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Type {
    F16,
    Bf16,
    F32,
    F64,
    C64,
    C128,
}

impl Type {
    /// Returns the type of a value of `cudaDataType_t`. `None` for types that the simulator does not support.
    pub(super) fn of(data_type: u32) -> Option<Type> {
        Some(match data_type {
            0 => Type::F32,
            1 => Type::F64,
            2 => Type::F16,
            4 => Type::C64,
            5 => Type::C128,
            14 => Type::Bf16,
            _ => return None,
        })
    }

    pub(super) fn size(self) -> usize {
        match self {
            Type::F16 | Type::Bf16 => 2,
            Type::F32 => 4,
            Type::F64 | Type::C64 => 8,
            Type::C128 => 16,
        }
    }

    /// Returns the complex type of the same precision.
    pub(super) fn complex(self) -> Type {
        if matches!(self, Type::F64 | Type::C128) { Type::C128 } else { Type::C64 }
    }

    /// Returns the real type of the same precision.
    pub(super) fn real(self) -> Type {
        match self {
            Type::C64 => Type::F32,
            Type::C128 => Type::F64,
            real => real,
        }
    }
}

/// Evaluates an expression with `$t` as the Rust type of a [`Type`] of at least 32 bits. The result is `None` for the
/// others.
macro_rules! with_element {
    ($number:expr, $t:ident => $body:expr) => {
        match $number {
            $crate::libraries::number::Type::F32 => {
                type $t = f32;
                Some($body)
            }
            $crate::libraries::number::Type::F64 => {
                type $t = f64;
                Some($body)
            }
            $crate::libraries::number::Type::C64 => {
                type $t = num_complex::Complex<f32>;
                Some($body)
            }
            $crate::libraries::number::Type::C128 => {
                type $t = num_complex::Complex<f64>;
                Some($body)
            }
            _ => None,
        }
    };
}
pub(super) use with_element;

/// What routines compute in: float64 or complex128.
pub(super) trait Field:
    Decompose
    + ComplexField<Real = f64>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + AddAssign
    + SubAssign
    + DivAssign
{
    /// A real number drops the imaginary part.
    fn from_parts(re: f64, im: f64) -> Self;
    /// Returns the real and the imaginary part.
    fn parts(self) -> (f64, f64);
    fn conjugate(self) -> Self;

    fn from_real(re: f64) -> Self {
        Self::from_parts(re, 0.0)
    }

    fn is_finite(self) -> bool {
        let (re, im) = self.parts();
        re.is_finite() && im.is_finite()
    }

    fn square(self) -> f64 {
        let (re, im) = self.parts();
        re * re + im * im
    }
}

impl Field for f64 {
    fn from_parts(re: f64, _: f64) -> f64 {
        re
    }
    fn parts(self) -> (f64, f64) {
        (self, 0.0)
    }
    fn conjugate(self) -> f64 {
        self
    }
}

impl Field for Complex<f64> {
    fn from_parts(re: f64, im: f64) -> Self {
        Complex::new(re, im)
    }
    fn parts(self) -> (f64, f64) {
        (self.re, self.im)
    }
    fn conjugate(self) -> Self {
        self.conj()
    }
}

/// An element in memory, with the type in which routines compute.
pub(super) trait Element: Copy + Send + Sync + 'static {
    type Wide: Field;
    fn wide(self) -> Self::Wide;
    fn narrow(wide: Self::Wide) -> Self;
}

macro_rules! elements {
    ($($t:ty)*) => {$(
        impl Element for $t {
            type Wide = f64;
            fn wide(self) -> f64 {
                f64::from(self)
            }
            fn narrow(wide: f64) -> $t {
                wide as $t
            }
        }

        impl Element for Complex<$t> {
            type Wide = Complex<f64>;
            fn wide(self) -> Complex<f64> {
                Complex::new(f64::from(self.re), f64::from(self.im))
            }
            fn narrow(wide: Complex<f64>) -> Self {
                Complex::new(wide.re as $t, wide.im as $t)
            }
        }
    )*};
}
elements!(f32 f64);

/// Reads an element of an array in device memory.
///
/// # Safety
/// The element is within live memory, aligned to its size.
pub(super) unsafe fn read<T: Element>(at: usize, index: usize) -> T::Wide {
    // SAFETY: by the caller's contract.
    unsafe { (at as *const T).add(index).read() }.wide()
}

/// Writes an element of an array in device memory.
///
/// # Safety
/// The element is within live memory, aligned to its size.
pub(super) unsafe fn write<T: Element>(at: usize, index: usize, value: T::Wide) {
    // SAFETY: by the caller's contract.
    unsafe { (at as *mut T).add(index).write(T::narrow(value)) };
}
