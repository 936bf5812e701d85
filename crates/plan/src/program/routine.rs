//! Calls of routines on whole arrays, and the epilogue that a matrix product computes on the way to memory.

use std::fmt;

use cuprous_core::{DType, LayoutRef, RoutineOp, Scalar};

/// A call of a routine on whole arrays. [`RoutineOp`] documents what each routine reads and writes.
#[derive(Clone, Debug)]
pub struct RoutineCall {
    /// The routine.
    pub op: RoutineOp,
    /// Buffer (of the program) and layout of each operand.
    pub ins: Vec<(u32, LayoutRef)>,
    /// Buffer and layout (C-contiguous from offset 0) of the output.
    pub out: (u32, LayoutRef),
    /// What a matmul computes in addition.
    pub epilogue: Epilogue,
}

impl RoutineCall {
    /// Returns the buffer and layout of every array that the routine reads.
    pub fn reads(&self) -> impl Iterator<Item = &(u32, LayoutRef)> {
        self.ins.iter().chain(self.epilogue.addend.iter().map(|a| &a.array)).chain(&self.epilogue.bias)
    }
}

/// What a matmul does to its result on the way to memory: `out = (scale · product + bias) + factor · addend`.
///
/// Invariants (checked by [`super::verify`]): only matmuls of floats or complex numbers have an epilogue. The addend
/// has the output's dtype and shape and is C-contiguous; if it lies in the output's buffer, it is the output itself.
/// The bias (float32, float16 or bfloat16) has one value for each column, without gaps, and is the same for all rows.
///
/// The operations were recorded in this order: the factor, the bias, the addend. A device may round each part, as if it
/// were not fused, so that results do not depend on what is fused. The CPU does. A device may also round once at the end.
/// Then results agree with NumPy's within NumPy's own rounding; where NumPy rounds to float16 or bfloat16 after each
/// operation, they are closer to the exact value. Constants are never zero ([`Program::nonzero`](crate::Program)),
/// because libraries skip what zero multiplies, and with it NaN.
#[derive(Clone, Debug, Default)]
pub struct Epilogue {
    /// Factor of the matmul's result.
    pub scale: Factor,
    /// A vector that is added to each row: buffer and layout (one axis).
    pub bias: Option<(u32, LayoutRef)>,
    /// An array that is added.
    pub addend: Option<Addend>,
}

/// An array that a matmul adds to its result.
#[derive(Clone, Debug)]
pub struct Addend {
    /// Buffer and layout.
    pub array: (u32, LayoutRef),
    /// The factor that the array is multiplied by.
    pub factor: Factor,
}

/// A number that is known when the program runs: ±1, or ± a constant of the output's dtype.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Factor {
    /// Index into the program's scalars.
    pub constant: Option<u32>,
    /// True for a minus sign.
    pub negative: bool,
}

impl Factor {
    /// Returns the value (real, imaginary).
    pub fn value(self, scalars: &[Scalar], dtype: DType) -> [f64; 2] {
        let [re, im] = self.constant.map_or([1.0, 0.0], |slot| scalars[slot as usize].parts(dtype));
        if self.negative { [-re, -im] } else { [re, im] }
    }
}

impl Epilogue {
    /// Returns true if the epilogue changes nothing.
    pub fn is_none(&self) -> bool {
        self.scale == Factor::default() && self.addend.is_none() && self.bias.is_none()
    }

    /// Returns every factor.
    pub fn factors(&self) -> impl Iterator<Item = Factor> {
        [self.scale].into_iter().chain(self.addend.as_ref().map(|a| a.factor))
    }
}

/// The epilogue as listings show it, `* s0 + b3[columns] + s1 * b2`; nothing if there is none.
impl fmt::Display for Epilogue {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match (self.scale.constant, self.scale.negative) {
            (Some(slot), minus) => write!(f, " * {}s{slot}", if minus { "-" } else { "" })?,
            (None, true) => write!(f, " * -1")?,
            (None, false) => {}
        }
        self.bias.as_ref().map_or(Ok(()), |(buffer, _)| write!(f, " + b{buffer}[columns]"))?;
        let Some(Addend { array, factor }) = &self.addend else { return Ok(()) };
        write!(f, " {} ", if factor.negative { '-' } else { '+' })?;
        factor.constant.map_or(Ok(()), |slot| write!(f, "s{slot} * "))?;
        write!(f, "b{}", array.0)
    }
}
