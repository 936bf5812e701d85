//! NumPy's universal functions with an output array.

use cuprous_core::{DType, Fun};

use super::context::LoweringContext;
use crate::diagnostic::Result;
use crate::ir::{Expr, Kind, StmtKind};
use crate::rules::Rule;
use crate::types::{BOOL, INT, Ty};

impl LoweringContext<'_, '_> {
    /// `np.sin(a, out)`: numbers or arrays that broadcast to `out`, which is returned.
    pub(super) fn ufunc_with_out(&mut self, name: &str, fun: Fun, mut args: Vec<Expr>) -> Result<Expr> {
        if args.iter().any(|a| a.ty == Ty::Unknown) {
            return Ok(Expr::unknown());
        }
        let Some(out) = args.pop() else { return Ok(Expr::unknown()) };
        let Ty::Array(ty) = out.ty.clone() else {
            return Err(self.typing(format!("{name}: the output must be an array, not {}", out.ty)));
        };
        let axes = |e: &Expr| match &e.ty {
            Ty::Array(a) => a.ndim,
            _ => 0,
        };
        if let Some(large) = args.iter().find(|a| axes(a) > ty.ndim) {
            let what = format!("{name}: {} does not fit into {}", large.ty, out.ty);
            return Err(self.typing(what));
        }
        let out = self.stabilize("out", out);
        let args: Vec<Expr> = args.into_iter().map(|a| self.stabilize("x", a)).collect();
        self.each_element(name, fun, &out, &args, &mut Vec::new())?;
        Ok(out)
    }

    fn each_element(&mut self, name: &str, fun: Fun, out: &Expr, args: &[Expr], at: &mut Vec<Expr>) -> Result<()> {
        let Ty::Array(ty) = &out.ty else { return Ok(()) };
        let axis = at.len();
        if axis == ty.ndim as usize {
            let mut items = Vec::new();
            for arg in args {
                items.push(match &arg.ty {
                    Ty::Array(a) => {
                        let ndim = a.ndim as usize;
                        let index = (0..ndim).map(|k| self.broadcast(arg, k, &at[axis - ndim + k])).collect();
                        let (array, index) = self.check_bounds(arg.clone(), index)?;
                        self.load(array, index)?
                    }
                    _ => arg.clone(),
                });
            }
            let value = self.function(name, fun, Rule::Ufunc, items)?;
            return self.store_element(out.clone(), at.clone(), value);
        }
        let var = self.variable("k", INT);
        at.push(Expr::new(INT, Kind::Var(var)));
        let ((), body) = self.block(|cx| cx.each_element(name, fun, out, args, at))?;
        at.pop();
        let stop = Expr::new(INT, Kind::Extent(Box::new(out.clone()), axis));
        self.emit(StmtKind::For { var, start: Expr::int(0), stop, step: Expr::int(1), body });
        Ok(())
    }

    /// Returns the index along an axis, which is 0 if the axis has extent 1.
    fn broadcast(&mut self, array: &Expr, axis: usize, at: &Expr) -> Expr {
        let extent = Expr::new(INT, Kind::Extent(Box::new(array.clone()), axis));
        let single = Expr::new(BOOL, Kind::Fun(Fun::Equal, DType::I64, vec![extent, Expr::int(1)]));
        Expr::new(INT, Kind::Select(Box::new(single), Box::new(Expr::int(0)), Box::new(at.clone())))
    }
}
