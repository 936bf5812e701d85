//! Builtins of Python.

use cuprous_core::scalar::Number;
use cuprous_core::{DType, Fun};

use super::Call;
use crate::ast::{BinOp, Value};
use crate::diagnostic::Result;
use crate::ir::{Expr, Kind, Printed, StmtKind};
use crate::lower::context::{LoweringContext, Operand, tuple};
use crate::rules::{self, Rule};
use crate::types::{BOOL, INT, Ty};

pub(super) fn len(cx: &mut LoweringContext<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let value = call.value(cx, 0)?;
    Ok(Operand::Expr(match &value.ty {
        Ty::Unknown => Expr::unknown(),
        Ty::Array(a) if a.ndim > 0 => Expr::new(INT, Kind::Extent(Box::new(value), 0)),
        Ty::Tuple(items, _) => Expr::int(items.len() as i64),
        ty => return Err(cx.typing(format!("{ty} has no len()"))),
    }))
}

pub(super) fn range(cx: &mut LoweringContext<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let values = call.values(cx)?;
    if values.iter().any(|v| v.ty == Ty::Unknown) {
        return Ok(Operand::Range(Box::new([Expr::unknown(), Expr::unknown(), Expr::unknown()])));
    }
    let types: Option<Vec<DType>> = values.iter().map(|v| v.dtype().filter(|d| d.is_int())).collect();
    let Some(types) = types else {
        let bad = values.iter().find(|v| !v.dtype().is_some_and(|d| d.is_int()));
        let what = bad.map_or("something else".into(), |v| v.ty.to_string());
        return Err(cx.typing(format!("range takes integers, not {what}")).hint("convert it with int(…)"));
    };
    // Numba's types: int32 for small integers, uint64 for unsigned 64-bit ones, int64 for the rest. A literal fits any.
    let small = |(d, v): (&DType, &Expr)| d.size() < 4 || *d == DType::I32 || (types.len() > 1 && v.as_int().is_some());
    let is_small = types.iter().zip(&values).all(small) && types.iter().any(|d| d.size() <= 4);
    let d = if is_small {
        DType::I32
    } else if types.contains(&DType::U64) {
        DType::U64
    } else {
        DType::I64
    };
    let mut values = values.into_iter().map(|v| cx.cast_dtype(v, d)).collect::<Result<Vec<_>>>()?.into_iter();
    let number = |n: i128| Expr::number(Number::Int(n), d);
    let mut next = || values.next();
    let (start, stop, step) = match call.args.len() {
        1 => (Some(number(0)), next(), Some(number(1))),
        2 => (next(), next(), Some(number(1))),
        _ => (next(), next(), next()),
    };
    match (start, stop, step) {
        (Some(start), Some(stop), Some(step)) => {
            if cx.constant_int(&step) == Some(0) {
                return Err(cx.typing("range() arg 3 must not be zero"));
            }
            Ok(Operand::Range(Box::new([start, stop, step])))
        }
        _ => Err(cx.typing("range takes one to three integers")),
    }
}

pub(super) fn enumerate(cx: &mut LoweringContext<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let start = match call.argument(1, "start") {
        Some(start) => cx.value(start.clone())?,
        None => Expr::int(0),
    };
    Ok(Operand::Enumerate(Box::new(call.args[0].clone()), Box::new(start)))
}

pub(super) fn zip(cx: &mut LoweringContext<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let is_false = |operand: &Operand| matches!(operand, Operand::Value(Value::Number(Number::Bool(false))));
    if !call.keywords.iter().all(|(_, strict)| is_false(strict)) {
        return Err(cx.unsupported("zip takes no keyword arguments in kernels"));
    }
    Ok(Operand::Zip(call.args.to_vec()))
}

/// `min` and `max`: the first of equal values; NaN has the effect that it has in Python's comparisons.
pub(super) fn extremum(cx: &mut LoweringContext<'_, '_>, call: &Call<'_>, wins: Fun) -> Result<Operand> {
    let name = call.name;
    let mut values = call.values(cx)?;
    if let [one] = &values[..] {
        values = match one.ty {
            Ty::Tuple(..) => cx.items(one.clone()),
            Ty::Unknown => return Ok(Operand::Expr(Expr::unknown())),
            _ => Vec::new(),
        };
    }
    if let Some(unknown) = super::unknown_among(&values) {
        return Ok(unknown);
    }
    let types: Option<Vec<DType>> = values.iter().map(Expr::dtype).collect();
    let common = types.and_then(|t| rules::compute(Rule::Plain, Fun::Maximum, &t)).filter(|d| !d.is_complex());
    let Some(d) = common else {
        return Err(cx.typing(format!("{name} takes two or more numbers")).hint("write a loop over an array"));
    };
    let mut values = values.into_iter();
    let Some(first) = values.next() else { return Err(cx.typing(format!("{name} takes two or more numbers"))) };
    let mut best = cx.cast_dtype(first, d)?;
    for value in values {
        let value = cx.cast_dtype(value, d)?;
        let (a, b) = (cx.duplicable("a", best), cx.duplicable("b", value));
        let test = Expr::new(BOOL, Kind::Fun(wins, d, vec![b.clone(), a.clone()]));
        best = Expr::new(Ty::Scalar(d), Kind::Select(Box::new(test), Box::new(b), Box::new(a)));
    }
    Ok(Operand::Expr(best))
}

/// `round(x)` gives an integer, ties to even. `round(x, ndigits)` calls `cuprous.cuda._library.round_to`.
pub(super) fn round(cx: &mut LoweringContext<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let x = call.value(cx, 0)?;
    if x.ty == Ty::Unknown {
        return Ok(Operand::Expr(x));
    }
    let is_int = x.dtype().is_some_and(|d| d.is_int());
    if let Some(digits) = call.argument(1, "ndigits") {
        let digits = cx.value(digits.clone())?;
        return match (is_int, cx.constant_int(&digits), cx.compiler.source.round_to) {
            (true, Some(0..), _) => Ok(Operand::Expr(x)),
            (true, ..) => Err(cx.unsupported("round of an integer to negative digits is not supported in kernels")),
            _ if digits.ty == Ty::Unknown => Ok(Operand::Expr(digits)),
            _ if !digits.dtype().is_some_and(DType::is_int) => {
                Err(cx.typing(format!("the number of digits of round must be an integer, not {}", digits.ty)))
            }
            (false, _, Some(function)) => {
                cx.call_function(function, vec![Operand::Expr(x), Operand::Expr(digits)], Vec::new())
            }
            _ => Err(cx.unsupported("round to digits is not supported here")),
        };
    }
    if is_int {
        return Ok(Operand::Expr(x));
    }
    let rounded = cx.function("round", Fun::Rint, Rule::Math, vec![x])?;
    Ok(Operand::Expr(cx.cast(rounded, &INT)?))
}

pub(super) fn pow(cx: &mut LoweringContext<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let (a, b) = (call.value(cx, 0)?, call.value(cx, 1)?);
    cx.binary(BinOp::Pow, a, b).map(Operand::Expr)
}

pub(super) fn divmod(cx: &mut LoweringContext<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let (a, b) = (call.value(cx, 0)?, call.value(cx, 1)?);
    let (a, b) = (cx.stabilize("a", a), cx.stabilize("b", b));
    let quotient = cx.binary(BinOp::FloorDiv, a.clone(), b.clone())?;
    let remainder = cx.binary(BinOp::Mod, a, b)?;
    Ok(Operand::Expr(tuple(vec![quotient, remainder], None)))
}

pub(super) fn tuple_of(cx: &mut LoweringContext<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let value = call.value(cx, 0)?;
    match &value.ty {
        Ty::Tuple(..) | Ty::Unknown => Ok(Operand::Expr(value)),
        ty => Err(cx.unsupported(format!("tuple() of {ty} is not supported in kernels"))),
    }
}

/// `isinstance`: the translation of the syntax passes the names of the classes.
pub(super) fn isinstance(cx: &mut LoweringContext<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let value = match &call.args[0] {
        Operand::Value(Value::Str(_)) => None,
        operand => Some(cx.value(operand.clone())?),
    };
    let names = match &call.args[1] {
        Operand::Value(Value::Tuple(names, _)) => names.clone(),
        _ => return Err(cx.typing("isinstance takes a class or a tuple of classes")),
    };
    if value.as_ref().is_some_and(|v| v.ty == Ty::Unknown) {
        return Ok(Operand::Expr(Expr::unknown()));
    }
    let ty = value.map(|v| v.ty);
    let is = |v: &Value| matches!(v, Value::Str(name) if is_instance(ty.as_ref(), name));
    Ok(Operand::Expr(Expr::bool(names.iter().any(is))))
}

/// Returns true if values of a type (`None` for a string) are of a class, given by Python's or NumPy's name.
fn is_instance(ty: Option<&Ty>, class: &str) -> bool {
    match ty {
        None => class == "str",
        Some(Ty::None) => class == "NoneType",
        Some(Ty::Tuple(..)) => class == "tuple",
        Some(Ty::Array(a)) => class == if a.ndim == 0 && a.record().is_some() { "np.void" } else { "np.ndarray" },
        Some(Ty::Scalar(d)) => match class {
            "bool" => *d == DType::Bool,
            "int" => d.is_int() || *d == DType::Bool,
            "float" => d.is_float(),
            "complex" => d.is_complex(),
            "np.integer" => d.is_int(),
            "np.signedinteger" => d.kind() == cuprous_core::Kind::Int,
            "np.unsignedinteger" => d.kind() == cuprous_core::Kind::UInt,
            "np.floating" => d.is_float(),
            "np.complexfloating" => d.is_complex(),
            "np.inexact" => d.is_float() || d.is_complex(),
            "np.number" => *d != DType::Bool,
            exact => exact.strip_prefix("np.") == Some(d.name()) || exact == "np.bool" && *d == DType::Bool,
        },
        _ => false,
    }
}

pub(super) fn print(cx: &mut LoweringContext<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let mut parts = Vec::new();
    for (k, arg) in call.args.iter().enumerate() {
        if k > 0 {
            parts.push(Printed::Text(" ".into()));
        }
        if let Operand::Value(Value::Str(text)) = arg {
            parts.push(Printed::Text(text.clone()));
            continue;
        }
        let value = cx.value(arg.clone())?;
        print_value(cx, value, &mut parts)?;
    }
    cx.emit(StmtKind::Print(parts));
    Ok(Operand::Value(Value::None))
}

/// Appends a number, or a tuple in Python's notation.
fn print_value(cx: &mut LoweringContext<'_, '_>, value: Expr, parts: &mut Vec<Printed>) -> Result<()> {
    match &value.ty {
        Ty::Unknown => {}
        Ty::Scalar(_) => {
            let value = cx.stabilize("t", value);
            parts.push(Printed::Value(value));
        }
        Ty::None => parts.push(Printed::Text("None".into())),
        Ty::Tuple(..) => {
            let items = cx.items(value);
            let single = items.len() == 1;
            parts.push(Printed::Text("(".into()));
            for (k, item) in items.into_iter().enumerate() {
                if k > 0 {
                    parts.push(Printed::Text(", ".into()));
                }
                print_value(cx, item, parts)?;
            }
            parts.push(Printed::Text(if single { ",)" } else { ")" }.into()));
        }
        ty => {
            return Err(cx.typing(format!("{ty} cannot be printed from a kernel")).hint("print its elements"));
        }
    }
    Ok(())
}
