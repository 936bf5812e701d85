//! Updates of parameters, as recorded operations: what a step of an optimizer would record from the language, without
//! the language's cost.

use cuprous_core::scalar::Number;
use cuprous_core::{Array, Fun, Result};
use cuprous_plan::Operand;

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

impl Adam {
    /// Updates a parameter by its gradient (Kingma and Ba, 2015), and the running means of the gradient and of its
    /// square; with `top` by the largest mean of squares so far (Reddi, Kale and Kumar, 2018).
    pub fn step(&self, p: &Array, g: &Array, mean: &Array, square: &Array, top: Option<&Array>) -> Result<()> {
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
