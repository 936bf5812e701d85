//! Exceptions: those that the program raises, and the run-time checks on request.

use cuprous_core::{DType, Fun};

use super::context::LoweringContext;
use crate::ast::BinOp;
use crate::diagnostic::Result;
use crate::exception::{ExceptionKind, RaiseSite, VALUES, WORDS};
use crate::ir::{Expr, Kind, StmtKind};
use crate::types::{BOOL, INT, Ty};

impl LoweringContext<'_, '_> {
    /// Ends the thread with an exception.
    pub(super) fn raise(&mut self, kind: ExceptionKind, values: Vec<Expr>) {
        let site = self.compiler.checks.report.then(|| {
            let (function, line) = (self.function, self.pos.line);
            let text = function.line(line).to_owned();
            let site = RaiseSite { kind, function: function.name.clone(), file: function.file.clone(), line, text };
            self.compiler.raise_site(site)
        });
        self.emit(StmtKind::Raise(site, if site.is_some() { values } else { Vec::new() }));
    }

    pub(super) fn raise_if(&mut self, test: Expr, kind: ExceptionKind, values: Vec<Expr>) -> Result<()> {
        let ((), then) = self.block(|cx| {
            cx.raise(kind, values);
            Ok(())
        })?;
        self.emit(StmtKind::If { test, then, orelse: Vec::new() });
        Ok(())
    }

    /// Checks the indices of an element. The returned array and indices may be evaluated twice.
    pub(super) fn check_bounds(&mut self, array: Expr, indices: Vec<Expr>) -> Result<(Expr, Vec<Expr>)> {
        let axes: Vec<usize> = (0..indices.len()).collect();
        self.check_bounds_of_axes(array, indices, &axes)
    }

    /// Checks the indices of some of the axes.
    pub(super) fn check_bounds_of_axes(
        &mut self,
        array: Expr,
        indices: Vec<Expr>,
        axes: &[usize],
    ) -> Result<(Expr, Vec<Expr>)> {
        let Ty::Array(ty) = &array.ty else { return Ok((array, indices)) };
        let ndim = ty.ndim as usize;
        if !self.compiler.checks.bounds || axes.is_empty() || 2 * ndim > WORDS - VALUES {
            return Ok((array, indices));
        }
        let name = match &array.kind {
            Kind::Var(v) => format!("array {:?}", self.vars[*v].name).replace('"', "'"),
            _ => "an array".into(),
        };
        let array = self.stabilize("a", array);
        let indices: Vec<Expr> = indices.into_iter().map(|e| self.stabilize("i", e)).collect();
        let extent = |k: usize| Expr::new(INT, Kind::Extent(Box::new(array.clone()), k));
        let extents: Vec<Expr> = (0..ndim).map(extent).collect();
        let mut outside: Option<Expr> = None;
        for (at, &axis) in indices.iter().zip(axes) {
            let n = &extents[axis];
            let test = |fun, a: Expr, b: Expr| Expr::new(BOOL, Kind::Fun(fun, DType::I64, vec![a, b]));
            let lower_bound = Expr::new(INT, Kind::Fun(Fun::Negative, DType::I64, vec![n.clone()]));
            let mut tests = vec![test(Fun::GreaterEqual, at.clone(), n.clone())];
            if !matches!(at.as_int(), Some(0..)) {
                tests.push(test(Fun::Less, at.clone(), lower_bound));
            }
            for test in tests {
                outside = Some(match outside {
                    Some(so_far) => Expr::new(BOOL, Kind::Or(Box::new(so_far), Box::new(test))),
                    None => test,
                });
            }
        }
        if let Some(test) = outside {
            // Axes without an index are reported with index 0.
            let index_of_axis =
                |k| axes.iter().position(|&axis| axis == k).map_or(Expr::int(0), |at| indices[at].clone());
            let values = (0..ndim).map(index_of_axis).chain(extents).collect();
            self.raise_if(test, ExceptionKind::Index(name), values)?;
        }
        Ok((array, indices))
    }

    /// Returns true if a division by zero raises. With approximate divisions, `/` does not raise.
    pub(super) fn checks_divisor(&self, op: BinOp) -> bool {
        let checks = &self.compiler.checks;
        if op == BinOp::Div { checks.quotients } else { checks.values }
    }

    /// Checks that a divisor is not zero.
    pub(super) fn check_divisor(&mut self, e: Expr) -> Result<Expr> {
        let number = e.dtype().filter(|d| !d.is_complex() && *d != DType::Bool);
        let Some(d) = number else { return Ok(e) };
        if e.as_int().is_some_and(|n| n != 0) {
            return Ok(e);
        }
        let e = self.stabilize("d", e);
        let zero = Expr::number(super::context::convert(cuprous_core::scalar::Number::Int(0), DType::I64, d), d);
        let test = Expr::new(BOOL, Kind::Fun(Fun::Equal, d, vec![e.clone(), zero]));
        self.raise_if(test, ExceptionKind::Zero, Vec::new())?;
        Ok(e)
    }

    /// Checks an index of a tuple with `n` items.
    pub(super) fn check_item(&mut self, at: &Expr, n: i64) -> Result<()> {
        let checks = &self.compiler.checks;
        if !(checks.values || checks.accesses) || at.ty != Ty::Scalar(DType::I64) {
            return Ok(());
        }
        let test = |fun, m| Expr::new(BOOL, Kind::Fun(fun, DType::I64, vec![at.clone(), Expr::int(m)]));
        let outside = Kind::Or(Box::new(test(Fun::GreaterEqual, n)), Box::new(test(Fun::Less, -n)));
        self.raise_if(Expr::new(BOOL, outside), ExceptionKind::Item, Vec::new())
    }
}
