//! Updates of parameters, as recorded operations: what a step of an optimizer would record from the language, without
//! the language's cost.

use cuprous_core::scalar::Number;
use cuprous_core::{Array, Fun, Result};
use cuprous_plan::script::Val;
use cuprous_plan::{Operand, Script};
use smallvec::SmallVec;

use crate::ops::engine_of;

/// What a step of Adam is computed with. All are scalars of the recorded program; those that are 0 (or 1) leave their
/// operations out.
#[derive(Clone, Copy, Debug)]
pub struct Adam {
    /// How much of the mean of gradients stays.
    pub beta1: f64,
    /// How much of the mean of squares stays.
    pub beta2: f64,
    /// Added to the root of the mean of squares.
    pub eps: f64,
    /// The learning rate over `1 - beta1^step`.
    pub size: f64,
    /// The root of `1 - beta2^step`.
    pub root: f64,
    /// Weight decay by way of the gradient.
    pub decay: f64,
    /// What is left of the parameter before the step: decoupled weight decay.
    pub left: f64,
}

fn with(fun: Fun, a: &Array, n: f64) -> Result<Array> {
    engine_of(a).map(fun, &[Operand::Array(a), Operand::Weak(Number::Float(n))], None)
}

fn both(fun: Fun, a: &Array, b: &Array) -> Result<Array> {
    engine_of(a).map(fun, &[Operand::Array(a), Operand::Array(b)], None)
}

fn write(target: &Array, value: &Array) -> Result<()> {
    engine_of(target).update(target, Operand::Array(value))
}

/// What one parameter's step reads and writes: the parameter, its gradient, the running means of the gradient and of its
/// square, and the largest mean of squares so far where that is asked for (Reddi, Kale and Kumar, 2018).
pub type Row<'a> = SmallVec<[&'a Array; 5]>;

impl Adam {
    /// Updates parameters by their gradients (Kingma and Ba, 2015).
    pub fn steps(&self, rows: &[Row]) -> Result<()> {
        let Some(engine) = rows.first().map(|row| engine_of(row[0])) else { return Ok(()) };
        let (alike, others): (Vec<&Row>, Vec<&Row>) = rows.iter().partition(|row| engine.are_alike(row));
        let arrays: Vec<&[&Array]> = alike.iter().map(|row| &row[..]).collect();
        if !engine.formulas(&arrays, &[0, 2, 3, 4], |s, row| self.formula(s, row))? {
            alike.iter().try_for_each(|row| self.step(row[0], row[1], row[2], row[3], row.get(4).copied()))?;
        }
        others.iter().try_for_each(|row| self.step(row[0], row[1], row[2], row[3], row.get(4).copied()))
    }

    /// As [`Adam::step`].
    fn formula(&self, s: &mut Script, row: &[&Array]) {
        let with = |s: &mut Script, fun: Fun, a: Val, n: f64| {
            let n = s.number(n);
            s.map(fun, &[a, n])
        };
        let (p, mean, square) = (s.read(row[0]), s.read(row[2]), s.read(row[3]));
        let mut g = s.read(row[1]);
        if self.decay != 0.0 {
            let decayed = with(s, Fun::Multiply, p, self.decay);
            g = s.map(Fun::Add, &[g, decayed]);
        }
        let off = s.map(Fun::Subtract, &[g, mean]);
        let change = with(s, Fun::Multiply, off, 1.0 - self.beta1);
        let mean = s.map(Fun::Add, &[mean, change]);
        s.write(row[2], mean);
        let new = s.map(Fun::Multiply, &[g, g]);
        let new = with(s, Fun::Multiply, new, 1.0 - self.beta2);
        let left = with(s, Fun::Multiply, square, self.beta2);
        let mut second = s.map(Fun::Add, &[left, new]);
        s.write(row[3], second);
        if let Some(top) = row.get(4) {
            let before = s.read(top);
            second = s.map(Fun::Maximum, &[before, second]);
            s.write(top, second);
        }
        let root = s.map(Fun::Sqrt, &[second]);
        let below = with(s, Fun::Divide, root, self.root);
        let below = with(s, Fun::Add, below, self.eps);
        let by = s.map(Fun::Divide, &[mean, below]);
        let by = with(s, Fun::Multiply, by, self.size);
        let before = if self.left == 1.0 { p } else { with(s, Fun::Multiply, p, self.left) };
        let after = s.map(Fun::Subtract, &[before, by]);
        s.write(row[0], after);
    }

    /// Updates a parameter that does not lie as its gradient and state do.
    fn step(&self, p: &Array, g: &Array, mean: &Array, square: &Array, top: Option<&Array>) -> Result<()> {
        let decayed;
        let g = if self.decay == 0.0 {
            g
        } else {
            decayed = both(Fun::Add, g, &with(Fun::Multiply, p, self.decay)?)?;
            &decayed
        };
        let change = with(Fun::Multiply, &both(Fun::Subtract, g, mean)?, 1.0 - self.beta1)?;
        write(mean, &both(Fun::Add, mean, &change)?)?;
        let new = with(Fun::Multiply, &both(Fun::Multiply, g, g)?, 1.0 - self.beta2)?;
        write(square, &both(Fun::Add, &with(Fun::Multiply, square, self.beta2)?, &new)?)?;
        let second = match top {
            None => square,
            Some(top) => {
                write(top, &both(Fun::Maximum, top, square)?)?;
                top
            }
        };
        let root = engine_of(second).map(Fun::Sqrt, &[Operand::Array(second)], None)?;
        let below = with(Fun::Add, &with(Fun::Divide, &root, self.root)?, self.eps)?;
        let by = with(Fun::Multiply, &both(Fun::Divide, mean, &below)?, self.size)?;
        let before = if self.left == 1.0 { p.clone() } else { with(Fun::Multiply, p, self.left)? };
        write(p, &both(Fun::Subtract, &before, &by)?)
    }
}
