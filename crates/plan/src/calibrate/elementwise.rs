//! Rates of elementwise functions.

use cuprous_advisor::Group;
use cuprous_advisor::rates::Rates;
use cuprous_advisor::weights::weight;
use cuprous_core::ops::Class;
use cuprous_core::{Array, Fun, Result};

use super::Bench;
use crate::engine::Operand;

impl Bench<'_> {
    /// Measures the functions of one dtype by chains.
    pub(super) fn chains(&self, rates: &mut Rates, group: Group) -> Result<()> {
        let n = self.chain();
        // A tape that repeats itself ends at 160 operations.
        let plain_lengths = if self.gpu { [40, 78] } else { [2, 8] };
        let dtype = group.dtype();
        let x = self.random(dtype, &[n], if dtype.is_float() { 2.0 } else { 100.0 })?;
        let small = self.random(dtype, &[n], if dtype.is_float() { 0.8 } else { 100.0 })?;
        // On a GPU the chains are so long that arithmetic bounds them, not memory. Ten times a function of 120
        // operations would take the compiler 7 s.
        let lengths = |fun: Fun| match (self.gpu, weight(fun.op().name).0 >= 80.0) {
            (false, _) => [1, 3],
            (true, false) => [4, 10],
            (true, true) => [2, 5],
        };
        let slope = |lengths: [usize; 2], body: &dyn Fn(&Array) -> Result<Array>| -> Result<f64> {
            let chain = |length: usize| {
                self.time(|| {
                    let mut y = x.clone();
                    for _ in 0..length {
                        y = body(&y)?;
                    }
                    Ok(vec![y])
                })
            };
            let [short, long] = lengths;
            Ok((chain(long)? - chain(short)?).max(1e-9) / (long - short) as f64 / n as f64)
        };
        let mut record = |what: &str, seconds: f64| {
            rates.work.entry(what.to_owned()).or_default()[group as usize] = 1.0 / seconds;
        };
        // Each iteration has two operations.
        let plain = slope(plain_lengths, &|y| self.with(Fun::Add, &self.both(Fun::Multiply, y, &small)?, 1.0))? / 2.0;
        record("add", plain);
        if !dtype.is_float() {
            return Ok(());
        }
        let divided = slope(plain_lengths, &|y| self.with(Fun::Add, &self.both(Fun::Divide, y, &x)?, 1.0))? - plain;
        record("divide", divided.max(plain));
        for &fun in Fun::ALL.iter().filter(|fun| group != Group::F16 && is_slow(**fun)) {
            let bounded = matches!(fun, Fun::Arcsin | Fun::Arccos | Fun::Arctanh | Fun::Erfinv);
            let base = if bounded { &small } else { &x };
            // A tenth of the value before keeps the spread of the operand.
            let seconds = slope(lengths(fun), &|y| {
                let at = self.both(Fun::Add, &self.with(Fun::Multiply, y, 0.1)?, base)?;
                if fun.op().arity == 1 {
                    self.engine.map(fun, &[Operand::Array(&at)], None)
                } else {
                    self.both(fun, &at, base)
                }
            })?;
            record(fun.op().name, (seconds - 2.0 * plain).max(plain));
        }
        Ok(())
    }
}

/// Returns true if a function has a rate of its own: slower than an addition, on floats, with one or two operands.
fn is_slow(fun: Fun) -> bool {
    let op = fun.op();
    weight(op.name).0 >= 8.0
        && matches!(op.class, Class::Float | Class::Inexact | Class::Num | Class::Real)
        && op.arity <= 2
        && !matches!(fun, Fun::Divide | Fun::Angle | Fun::Gcd | Fun::Lcm | Fun::Ldexp | Fun::FrexpExponent)
}
