//! Ranges of integers: which indices cannot be negative, and which sums cannot overflow.

use std::collections::HashSet;

use cuprous_core::{DType, Fun};

use crate::ir::{Expr, Function, Kind, StmtKind, each_stmt};

/// The ranges of a function's variables.
pub struct IntegerRanges {
    /// The variables that are never negative.
    non_negative: HashSet<usize>,
    /// For each variable, a number of bits that its absolute value fits in.
    bits: Vec<u32>,
}

impl IntegerRanges {
    /// Analyzes a function. All local integers are assumed to be non-negative until an assignment contradicts it.
    pub fn of(function: &Function) -> IntegerRanges {
        let integer = |v: usize| function.vars[v].ty.scalar().is_some_and(|d| d.is_int());
        let bits = function.vars.iter().map(|v| v.ty.scalar().map_or(64, width)).collect();
        let mut ranges = IntegerRanges { non_negative: HashSet::new(), bits };
        let mut assigned: Vec<Vec<&StmtKind>> = vec![Vec::new(); function.vars.len()];
        each_stmt(&function.body, &mut |stmt| match &stmt.kind {
            StmtKind::Assign(v, _) | StmtKind::For { var: v, .. } => assigned[*v].push(&stmt.kind),
            _ => {}
        });
        // A sum of non-negative numbers is non-negative if it cannot overflow, so bounds found in the first pass help
        // the second.
        for _ in 0..2 {
            ranges.non_negative = (function.params..function.vars.len()).filter(|&v| integer(v)).collect();
            ranges.find_non_negative(&assigned);
            ranges.find_bits(&assigned, function.params);
        }
        ranges
    }

    /// Removes variables that may be negative. A variable without an assignment on some path starts at zero.
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

    /// Each round derives bounds from valid bounds, so it can only make them tighter.
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
            // The counter of a loop that counts down stays above the exclusive end, so it is non-negative if the end is
            // -1 or more.
            StmtKind::For { start, stop, step, .. } => match step.as_int() {
                Some(n) if n > 0 => self.is_non_negative(start),
                Some(_) => self.is_non_negative(stop) || stop.as_int() == Some(-1),
                None => self.is_non_negative(step) && self.is_non_negative(start),
            },
            _ => false,
        }
    }

    /// Returns true if a number is never negative.
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
                    // An overflow may produce a negative number.
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

    /// Returns true if a cast preserves a non-negative number. A uint64 counts as preserved: an index that does not fit
    /// an int64 is out of bounds either way.
    fn is_preserved(&self, from: &Expr, to: &Expr) -> bool {
        let width = to.dtype().map_or(0, width);
        self.bits(from) <= width || width == 63 && from.dtype() == Some(DType::U64)
    }

    /// Returns a number of bits that the absolute value fits in.
    pub fn bits(&self, e: &Expr) -> u32 {
        let own = e.dtype().map_or(64, width);
        let found = match &e.kind {
            Kind::Const(_) => e.as_int().map_or(64, |n| 64 - n.unsigned_abs().leading_zeros()),
            Kind::Var(v) => self.bits[*v],
            // A negative number becomes a large one in an unsigned type.
            Kind::Cast(from) if is_integer_or_bool(from) && (is_signed(e) || self.is_non_negative(from)) => {
                self.bits(from)
            }
            // An array is no larger than the address space.
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
                    // The result is at most the smaller non-negative operand.
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
        // A result that may exceed its type wraps around to any value of it.
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
