//! What is known of the size of integers: where an index cannot be negative, and where a sum cannot overflow.

use std::collections::HashSet;

use cuprous_core::{DType, Fun};

use crate::ir::{Expr, Function, Kind, StmtKind, each_stmt};

/// Facts about a function's variables.
pub struct IntegerRanges {
    /// Variables that are never negative.
    non_negative: HashSet<usize>,
    /// Bits of what is assigned to variables.
    bits: Vec<u32>,
}

impl IntegerRanges {
    /// The facts: all variables are taken for natural until an assignment says otherwise.
    pub fn of(function: &Function) -> IntegerRanges {
        let integer = |v: usize| function.vars[v].ty.scalar().is_some_and(|d| d.is_int());
        let bits = function.vars.iter().map(|v| v.ty.scalar().map_or(64, width)).collect();
        let mut ranges = IntegerRanges { non_negative: HashSet::new(), bits };
        let mut assigned: Vec<Vec<&StmtKind>> = vec![Vec::new(); function.vars.len()];
        each_stmt(&function.body, &mut |stmt| match &stmt.kind {
            StmtKind::Assign(v, _) | StmtKind::For { var: v, .. } => assigned[*v].push(&stmt.kind),
            _ => {}
        });
        // A sum is natural if it cannot overflow, so what is known of bits may make more numbers natural.
        for _ in 0..2 {
            ranges.non_negative = (function.params..function.vars.len()).filter(|&v| integer(v)).collect();
            ranges.find_non_negative(&assigned);
            ranges.find_bits(&assigned, function.params);
        }
        ranges
    }

    /// Takes out what is not natural. A variable that is not assigned on some way starts at zero, which is.
    fn find_non_negative(&mut self, assigned: &[Vec<&StmtKind>]) {
        loop {
            let non_negative = self.non_negative.iter().copied();
            let wrong: Vec<usize> =
                non_negative.filter(|&v| !assigned[v].iter().all(|stmt| self.keeps_non_negative(stmt))).collect();
            if wrong.is_empty() {
                break;
            }
            self.non_negative.retain(|v| !wrong.contains(v));
        }
    }

    /// What held for a variable before holds for what is computed from it, so each round only makes bounds closer.
    fn find_bits(&mut self, assigned: &[Vec<&StmtKind>], params: usize) {
        for _ in 0..4 {
            for (v, stmts) in assigned.iter().enumerate().skip(params) {
                let all = stmts.iter().map(|stmt| match stmt {
                    StmtKind::Assign(_, value) => self.bits(value),
                    StmtKind::For { start, stop, .. } => self.bits(start).max(self.bits(stop)),
                    _ => 64,
                });
                self.bits[v] = self.bits[v].min(all.max().unwrap_or(64));
            }
        }
    }

    fn keeps_non_negative(&self, stmt: &StmtKind) -> bool {
        match stmt {
            StmtKind::Assign(_, value) => self.is_non_negative(value),
            // A loop that counts down stops at its end, exclusive: a natural one where the end is -1 or more.
            StmtKind::For { start, stop, step, .. } => match step.as_int() {
                Some(n) if n > 0 => self.is_non_negative(start),
                Some(_) => self.is_non_negative(stop) || stop.as_int() == Some(-1),
                None => self.is_non_negative(step) && self.is_non_negative(start),
            },
            _ => false,
        }
    }

    /// Whether a number is never negative.
    pub fn is_non_negative(&self, e: &Expr) -> bool {
        if e.dtype().is_some_and(|d| matches!(d, DType::U8 | DType::U16 | DType::U32 | DType::U64 | DType::Bool)) {
            return true;
        }
        match &e.kind {
            Kind::Const(_) => e.as_int().is_some_and(|n| n >= 0),
            Kind::Var(v) => self.non_negative.contains(v),
            Kind::Cast(from) => is_integer_or_bool(from) && self.is_non_negative(from) && self.is_preserved(from, e),
            Kind::Extent(..) => true,
            Kind::Builtin(row, args) => args.is_empty() && row.name.starts_with("cuda."),
            Kind::Select(_, a, b) => self.is_non_negative(a) && self.is_non_negative(b),
            Kind::Fun(fun, _, args) => {
                let all = || args.iter().all(|a| self.is_non_negative(a));
                match fun {
                    // What may overflow may become negative.
                    Fun::Add | Fun::Multiply => all() && self.bits(e) < 63,
                    Fun::FloorDivide | Fun::RightShift | Fun::Minimum | Fun::BitwiseOr | Fun::BitwiseXor => all(),
                    Fun::Remainder => self.is_non_negative(&args[1]),
                    Fun::BitwiseAnd | Fun::Maximum => args.iter().any(|a| self.is_non_negative(a)),
                    _ => false,
                }
            }
            _ => false,
        }
    }

    /// Whether a natural number keeps its value in a cast. One of 64 bits without a sign counts as if it did: as an index
    /// it would be out of bounds either way.
    fn is_preserved(&self, from: &Expr, to: &Expr) -> bool {
        let width = to.dtype().map_or(0, width);
        self.bits(from) <= width || width == 63 && from.dtype() == Some(DType::U64)
    }

    /// A number's size is below two to that power.
    pub fn bits(&self, e: &Expr) -> u32 {
        let own = e.dtype().map_or(64, width);
        let found = match &e.kind {
            Kind::Const(_) => e.as_int().map_or(64, |n| 64 - n.unsigned_abs().leading_zeros()),
            Kind::Var(v) => self.bits[*v],
            // A negative number is a large one where there is no sign.
            Kind::Cast(from) if is_integer_or_bool(from) && (is_signed(e) || self.is_non_negative(from)) => {
                self.bits(from)
            }
            // An array fills no more than the address space.
            Kind::Extent(..) => 47,
            Kind::Builtin(row, _) if row.name.starts_with("cuda.threadIdx.") => 10,
            Kind::Builtin(row, _) if row.name.starts_with("cuda.blockDim.") => 11,
            Kind::Select(_, a, b) => self.bits(a).max(self.bits(b)),
            Kind::Fun(fun, _, args) => {
                let each: Vec<u32> = args.iter().map(|a| self.bits(a)).collect();
                match (fun, &each[..]) {
                    (Fun::Add | Fun::Subtract, [a, b]) => a.max(b) + 1,
                    (Fun::Multiply, [a, b]) => a + b,
                    (Fun::FloorDivide, [a, _]) => *a,
                    (Fun::Remainder, [_, b]) => *b,
                    (Fun::Minimum | Fun::Maximum, [a, b]) => *a.max(b),
                    (Fun::RightShift, [a, _]) => *a,
                    // No more than a natural one of the two.
                    (Fun::BitwiseAnd, _) => {
                        let non_negative = args.iter().zip(&each).filter(|(a, _)| self.is_non_negative(a));
                        non_negative.map(|(_, bits)| *bits).min().unwrap_or(own)
                    }
                    (Fun::Negative, [a]) => *a,
                    _ => own,
                }
            }
            _ => own,
        };
        // A sum that might be larger than its type wraps to anything in it.
        if found > own { own } else { found }
    }
}

fn is_integer_or_bool(e: &Expr) -> bool {
    e.dtype().is_some_and(|d| d.is_int() || d == DType::Bool)
}

fn is_signed(e: &Expr) -> bool {
    e.dtype().is_some_and(|d| d.kind() == cuprous_core::Kind::Int)
}

fn width(d: DType) -> u32 {
    match d {
        DType::Bool => 1,
        d if d.kind() == cuprous_core::Kind::Int => 8 * d.size() as u32 - 1,
        d => 8 * d.size() as u32,
    }
}
