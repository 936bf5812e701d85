//! Lower bounds of integers that follow from the conditions around a statement. An index that is known to be
//! nonnegative needs no check.

use cuprous_core::{DType, Fun, Kind as DTypeKind};
use cuprous_kernel::ir::{Expr, Kind, Stmt, StmtKind, each_stmt};

use super::function::FunctionCompiler;

/// Returns the variable that an expression reads, possibly through a widening cast.
fn variable(e: &Expr) -> Option<usize> {
    match &e.kind {
        Kind::Var(v) if e.dtype().is_some_and(|d| d.kind() == DTypeKind::Int) => Some(*v),
        Kind::Cast(from) => {
            let (from_d, to) = (from.dtype()?, e.dtype()?);
            let wider = from_d.kind() == DTypeKind::Int && to.kind() == DTypeKind::Int && from_d.size() <= to.size();
            if wider { variable(from) } else { None }
        }
        _ => None,
    }
}

fn signed(d: DType) -> bool {
    d.kind() == DTypeKind::Int
}

impl FunctionCompiler<'_, '_, '_> {
    /// Records the bounds that hold where `test` is true, for variables that `body` does not assign. Returns the number
    /// of bounds before.
    pub(super) fn assume(&mut self, test: &Expr, body: &[Stmt]) -> usize {
        let before = self.lower_bounds.len();
        let mut found = Vec::new();
        self.collect(test, &mut found);
        each_stmt(body, &mut |stmt| {
            if let StmtKind::Assign(v, _) | StmtKind::For { var: v, .. } = &stmt.kind {
                found.retain(|(known, _)| known != v);
            }
        });
        self.lower_bounds.extend(found);
        before
    }

    fn collect(&self, test: &Expr, found: &mut Vec<(usize, i64)>) {
        match &test.kind {
            Kind::And(a, b) => {
                self.collect(a, found);
                self.collect(b, found);
            }
            Kind::Fun(fun, d, args) if signed(*d) && args.len() == 2 => {
                let (low, high, more) = match fun {
                    Fun::Less => (&args[0], &args[1], 1),
                    Fun::LessEqual => (&args[0], &args[1], 0),
                    Fun::Greater => (&args[1], &args[0], 1),
                    Fun::GreaterEqual => (&args[1], &args[0], 0),
                    _ => return,
                };
                if let (Some(v), Some(least)) = (variable(high), self.least(low)) {
                    found.push((v, least.saturating_add(more)));
                }
            }
            _ => {}
        }
    }

    /// Returns a lower bound of an integer.
    pub(super) fn least(&self, e: &Expr) -> Option<i64> {
        let own = self.sizes.is_non_negative(e).then_some(0);
        let found = match &e.kind {
            Kind::Const(_) => e.as_int(),
            Kind::Var(v) => self.lower_bounds.iter().filter(|(known, _)| known == v).map(|&(_, n)| n).max(),
            Kind::Cast(from) => variable(e).and_then(|_| self.least(from)),
            Kind::Fun(fun, d, args) if signed(*d) && args.len() == 2 => {
                let fits = self.sizes.bits(e) < 8 * d.size() as u32 - 1;
                match (fun, self.least(&args[0]), self.least(&args[1])) {
                    (Fun::Add, Some(a), Some(b)) if fits => a.checked_add(b),
                    (Fun::Subtract, Some(a), _) if fits => args[1].as_int().and_then(|n| a.checked_sub(n)),
                    (Fun::Maximum, a, b) => a.max(b),
                    (Fun::Minimum, Some(a), Some(b)) => Some(a.min(b)),
                    _ => None,
                }
            }
            _ => None,
        };
        own.max(found)
    }

    /// Returns true if an index is never negative.
    pub(super) fn is_non_negative(&self, e: &Expr) -> bool {
        self.sizes.is_non_negative(e) || self.least(e).is_some_and(|n| n >= 0)
    }
}
