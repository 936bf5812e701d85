//! Calls of routines on whole arrays, and the epilogue that a matrix product computes on the way to memory.

use std::fmt;

use cuprous_core::{DType, LayoutRef, RoutineOp, Scalar};

/// An operation on whole arrays: see [`RoutineOp`] for what each reads and writes.
#[derive(Clone, Debug)]
pub struct RoutineCall {
    /// The operation.
    pub op: RoutineOp,
    /// Buffer (of the program) and layout of each operand.
    pub ins: Vec<(u32, LayoutRef)>,
    /// Buffer and layout (C-contiguous from offset 0) of the output.
    pub out: (u32, LayoutRef),
    /// What else a product does.
    pub epilogue: Epilogue,
}

impl RoutineCall {
    /// Every array that the call reads: buffer and layout.
    pub fn reads(&self) -> impl Iterator<Item = &(u32, LayoutRef)> {
        self.ins.iter().chain(self.epilogue.addend.iter().map(|a| &a.array)).chain(&self.epilogue.bias)
    }
}

/// What a product does to its result on the way to memory: `out = scale · product + factor · addend + bias`.
///
/// Invariants (checked by [`super::verify`]): only products of floats or complex numbers have parts; the addend has the
/// output's dtype and shape and is C-contiguous, and if it lies in the output's buffer it is the output itself; the
/// bias (float32, float16 or bfloat16) has a value for each column, without gaps, and is the same for all rows.
///
/// The sum may be rounded once at its end or after each part, and its parts may be added in any order, so results are
/// NumPy's within its own rounding; where NumPy rounds to float16 or bfloat16 after each operation they are closer.
/// Constants are never zero ([`Program::nonzero`](crate::Program)), because libraries leave out what zero multiplies,
/// and with it NaN.
#[derive(Clone, Debug, Default)]
pub struct Epilogue {
    /// Factor of the product.
    pub scale: Factor,
    /// An array that is added.
    pub addend: Option<Addend>,
    /// A vector that is added to each row: buffer and layout (one axis).
    pub bias: Option<(u32, LayoutRef)>,
}

/// An array that a product adds.
#[derive(Clone, Debug)]
pub struct Addend {
    /// Buffer and layout.
    pub array: (u32, LayoutRef),
    /// What it is multiplied by.
    pub factor: Factor,
}

/// A number that is known when the program runs: ±1, or ± a constant of the output's dtype.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Factor {
    /// Index into the program's scalars.
    pub constant: Option<u32>,
    /// Minus.
    pub negative: bool,
}

impl Factor {
    /// Its value (real, imaginary).
    pub fn value(self, scalars: &[Scalar], dtype: DType) -> [f64; 2] {
        let [re, im] = self.constant.map_or([1.0, 0.0], |slot| scalars[slot as usize].parts(dtype));
        if self.negative { [-re, -im] } else { [re, im] }
    }
}

impl Epilogue {
    /// Nothing is done.
    pub fn is_none(&self) -> bool {
        self.scale == Factor::default() && self.addend.is_none() && self.bias.is_none()
    }

    /// Every factor.
    pub fn factors(&self) -> impl Iterator<Item = Factor> {
        [self.scale].into_iter().chain(self.addend.as_ref().map(|a| a.factor))
    }
}

/// The sum, as listings show it: `* s0 + s1 * b2 + b3[columns]`; empty where there is none.
impl fmt::Display for Epilogue {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match (self.scale.constant, self.scale.negative) {
            (Some(slot), minus) => write!(f, " * {}s{slot}", if minus { "-" } else { "" })?,
            (None, true) => write!(f, " * -1")?,
            (None, false) => {}
        }
        if let Some(Addend { array, factor }) = &self.addend {
            write!(f, " {} ", if factor.negative { '-' } else { '+' })?;
            factor.constant.map_or(Ok(()), |slot| write!(f, "s{slot} * "))?;
            write!(f, "b{}", array.0)?;
        }
        self.bias.as_ref().map_or(Ok(()), |(buffer, _)| write!(f, " + b{buffer}[columns]"))
    }
}
