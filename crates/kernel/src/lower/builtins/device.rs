//! Calls of builtins that devices implement.

use cuprous_core::DType;

use crate::builtin::{Builtin, TypeSpec};
use crate::diagnostic::Result;
use crate::ir::{Expr, Kind};
use crate::lower::context::LoweringContext;
use crate::types::{BOOL, Ty};

impl LoweringContext<'_, '_> {
    /// Calls a builtin of the devices: resolves its type variable and converts the arguments.
    pub(in crate::lower) fn device_builtin(&mut self, row: &'static Builtin, mut args: Vec<Expr>) -> Result<Expr> {
        if args.iter().any(|a| a.ty == Ty::Unknown) {
            return Ok(Expr::unknown());
        }
        let missing = row.params.len().saturating_sub(args.len());
        if args.len() > row.params.len() || missing > row.defaults.len() {
            return Err(self.arity_error(row.name, &row.params.len().to_string(), args.len()));
        }
        let defaults = &row.defaults[row.defaults.len() - missing..];
        args.extend(defaults.iter().map(|&n| Expr::int(n)));
        if let [TypeSpec::Is(DType::U32), rest @ ..] = row.params
            && row.synchronizes
        {
            if !args[0].dtype().is_some_and(DType::is_int) {
                return Err(self.typing(format!("{}: Mask type must be an integer, not {}", row.name, args[0].ty)));
            }
            let truth = |e: &Expr| e.dtype().is_some_and(|d| d.is_int() || d == DType::Bool);
            if rest.first() == Some(&TypeSpec::Is(DType::Bool)) && !truth(&args[1]) {
                let what = &args[1].ty;
                return Err(self.typing(format!("{}: Predicate must be an integer or boolean, not {what}", row.name)));
            }
        }
        let mut variable: Option<DType> = None;
        for (arg, slot) in args.iter().zip(row.params) {
            if *slot == TypeSpec::T {
                let Some(d) = arg.dtype().and_then(|d| nearest_type(d, row.types)) else {
                    return Err(self.typing(format!("{} is not defined for {}", row.name, arg.ty)));
                };
                variable = Some(variable.map_or(d, |v| cuprous_core::promote::promote(v, d)));
            }
        }
        let variable = match variable {
            Some(d) => match nearest_type(d, row.types) {
                Some(d) => Some(d),
                None => return Err(self.typing(format!("{} is not defined for {}", row.name, d.name()))),
            },
            None => None,
        };
        let types = |slot: TypeSpec| match slot {
            TypeSpec::Is(d) => Ty::Scalar(d),
            TypeSpec::T => variable.map_or(Ty::Unknown, Ty::Scalar),
            TypeSpec::Nothing => Ty::None,
            TypeSpec::Several(all) => Ty::Tuple(all.iter().copied().map(Ty::Scalar).collect(), None),
            TypeSpec::IntBool => Ty::Tuple(vec![Ty::Scalar(DType::I32), BOOL], None),
        };
        let args = args.into_iter().zip(row.params);
        let args = args
            .map(|(arg, slot)| match slot {
                TypeSpec::Is(DType::Bool) => self.truth_value(arg),
                slot => self.cast(arg, &types(*slot)),
            })
            .collect::<Result<Vec<_>>>()?;
        let value = Expr::new(types(row.ret), Kind::Builtin(row, args));
        Ok(self.emit_effect(value))
    }
}

/// Returns the first of the types that represents the values of `d`. An integer becomes a float only if no integer type
/// does.
fn nearest_type(d: DType, types: &[DType]) -> Option<DType> {
    if types.contains(&d) {
        return Some(d);
    }
    let wide = |to: &&DType| cuprous_core::promote::promote(d, **to) == **to;
    let same_kind = types.iter().find(|to| to.is_int() == d.is_int() && wide(to));
    // An integer literal has type int64, but may be meant as a uint64.
    let word = || types.iter().find(|to| **to == DType::U64 && d == DType::I64);
    same_kind.or_else(|| types.iter().find(wide)).or_else(word).copied()
}
