//! Optimizer steps. They record the operations that a step written in Python would record, without Python's cost.

use std::convert::Infallible;
use std::sync::Arc;

use cuprous_core::scalar::Number;
use cuprous_core::{Array, DType, Error, Fun, Result};
use cuprous_plan::engine::FormulaValue;
use cuprous_plan::{Engine, Formula, Operand};
use smallvec::SmallVec;

use crate::engine::engine_of;

/// The coefficients of a step of Adam. All are scalar parameters of the recorded program, so new values need no new
/// program. The operations of a coefficient that is 0 (for `left`: 1) are left out.
#[derive(Clone, Copy, Debug)]
pub struct Adam {
    /// Decay of the running mean of gradients.
    pub beta1: f64,
    /// Decay of the running mean of squared gradients.
    pub beta2: f64,
    /// Added to the root of the mean of squares, against division by zero.
    pub eps: f64,
    /// The learning rate divided by `1 - beta1^step`.
    pub size: f64,
    /// The square root of `1 - beta2^step`.
    pub root: f64,
    /// Weight decay that is added to the gradient.
    pub decay: f64,
    /// The factor on the parameter before the step: decoupled weight decay.
    pub left: f64,
}

/// Records a formula: as part of a script, or one operation at a time.
trait Recorder {
    /// A value of the formula.
    type Val: Clone;
    /// The error of recording an operation.
    type Error;
    fn read(&mut self, a: &Array) -> Self::Val;
    fn number(&mut self, n: f64) -> Self::Val;
    fn map(&mut self, fun: Fun, args: &[Self::Val]) -> std::result::Result<Self::Val, Self::Error>;
    /// Writes a value to an array, and returns what stands for the array from then on.
    fn write(&mut self, target: &Array, value: Self::Val) -> std::result::Result<Self::Val, Self::Error>;
}

impl Recorder for Formula<'_> {
    type Val = FormulaValue;
    type Error = Infallible;

    fn read(&mut self, a: &Array) -> FormulaValue {
        Formula::read(self, a)
    }

    fn number(&mut self, n: f64) -> FormulaValue {
        Formula::number(self, n)
    }

    fn map(&mut self, fun: Fun, args: &[FormulaValue]) -> std::result::Result<FormulaValue, Infallible> {
        Ok(Formula::map(self, fun, args))
    }

    fn write(&mut self, target: &Array, value: FormulaValue) -> std::result::Result<FormulaValue, Infallible> {
        Formula::write(self, target, value);
        Ok(value)
    }
}

/// Records one operation at a time.
struct OneByOne<'e>(&'e Arc<Engine>);

/// An array, or a number without a dtype.
#[derive(Clone)]
enum Term {
    Array(Array),
    Number(f64),
}

impl Term {
    fn operand(&self) -> Operand<'_> {
        match self {
            Term::Array(a) => Operand::Array(a),
            Term::Number(n) => Operand::Weak(Number::Float(*n)),
        }
    }
}

impl Recorder for OneByOne<'_> {
    type Val = Term;
    type Error = Error;

    fn read(&mut self, a: &Array) -> Term {
        Term::Array(a.clone())
    }

    fn number(&mut self, n: f64) -> Term {
        Term::Number(n)
    }

    fn map(&mut self, fun: Fun, args: &[Term]) -> Result<Term> {
        let operands: SmallVec<[Operand; 3]> = args.iter().map(Term::operand).collect();
        // Computed in float32: in half precision, a running mean that decays by 0.999 would not decay at all.
        let half = |arg: &Term| matches!(arg, Term::Array(a) if matches!(a.dtype(), DType::F16 | DType::BF16));
        let dtype = args.iter().any(half).then_some(DType::F32);
        self.0.map(fun, &operands, dtype).map(Term::Array)
    }

    fn write(&mut self, target: &Array, value: Term) -> Result<Term> {
        self.0.update(target, value.operand())?;
        Ok(self.read(target))
    }
}

/// The arrays of one parameter's step: the parameter, its gradient, the running means of the gradient and of its
/// square, and for AMSGrad (Reddi, Kale and Kumar, 2018) the largest mean of squares so far.
pub type Row<'a> = SmallVec<[&'a Array; 5]>;

impl Adam {
    /// Updates parameters by their gradients (Kingma and Ba, 2015).
    pub fn steps(&self, rows: &[Row]) -> Result<()> {
        let Some(engine) = rows.first().map(|row| engine_of(row[0])) else { return Ok(()) };
        let (alike, others): (Vec<&Row>, Vec<&Row>) = rows.iter().partition(|row| engine.are_alike(row));
        let arrays: Vec<&[&Array]> = alike.iter().map(|row| &row[..]).collect();
        let recorded = engine.formulas(&arrays, &[0, 2, 3, 4], |script, row| {
            let Ok(()) = self.formula(script, row);
        })?;
        let singly = if recorded { others } else { alike.into_iter().chain(others).collect() };
        singly.into_iter().try_for_each(|row| self.formula(&mut OneByOne(engine), row))
    }

    fn formula<R: Recorder>(&self, r: &mut R, row: &[&Array]) -> std::result::Result<(), R::Error> {
        let with = |r: &mut R, fun: Fun, a: R::Val, n: f64| {
            let n = r.number(n);
            r.map(fun, &[a, n])
        };
        let (p, mean, square) = (r.read(row[0]), r.read(row[2]), r.read(row[3]));
        let mut g = r.read(row[1]);
        if self.decay != 0.0 {
            let decayed = with(r, Fun::Multiply, p.clone(), self.decay)?;
            g = r.map(Fun::Add, &[g, decayed])?;
        }
        let off = r.map(Fun::Subtract, &[g.clone(), mean.clone()])?;
        let change = with(r, Fun::Multiply, off, 1.0 - self.beta1)?;
        let moved = r.map(Fun::Add, &[mean, change])?;
        let mean = r.write(row[2], moved)?;
        let new = r.map(Fun::Multiply, &[g.clone(), g])?;
        let new = with(r, Fun::Multiply, new, 1.0 - self.beta2)?;
        let left = with(r, Fun::Multiply, square, self.beta2)?;
        let sum = r.map(Fun::Add, &[left, new])?;
        let mut second = r.write(row[3], sum)?;
        if let Some(top) = row.get(4) {
            let before = r.read(top);
            let most = r.map(Fun::Maximum, &[before, second])?;
            second = r.write(top, most)?;
        }
        let root = r.map(Fun::Sqrt, &[second])?;
        let below = with(r, Fun::Divide, root, self.root)?;
        let below = with(r, Fun::Add, below, self.eps)?;
        let by = r.map(Fun::Divide, &[mean, below])?;
        let by = with(r, Fun::Multiply, by, self.size)?;
        let before = if self.left == 1.0 { p } else { with(r, Fun::Multiply, p, self.left)? };
        let after = r.map(Fun::Subtract, &[before, by])?;
        r.write(row[0], after).map(|_| ())
    }
}
