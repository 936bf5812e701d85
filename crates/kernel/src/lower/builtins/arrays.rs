//! Arrays that a kernel declares, constant arrays, and vectors.

use cuprous_core::DType;

use super::Call;
use crate::ast::Value;
use crate::diagnostic::{ErrorKind, Result};
use crate::ir::{self, Expr, Kind, Space};
use crate::lower::context::{LoweringContext, Operand, tuple};
use crate::types::{ArrayTy, Order, Ty};

/// The parameters of `cuda.shared.array` and `cuda.local.array`.
pub(super) const PARAMETERS: &[&str] = &["shape", "dtype", "alignment"];
/// Bytes of a declared array.
const MAX_BYTES: i64 = 1 << 24;

/// `cuda.shared.array(shape, dtype)` and `cuda.local.array(shape, dtype)`.
pub(super) fn declare(cx: &mut LoweringContext<'_, '_>, call: &Call<'_>, space: Space) -> Result<Operand> {
    let name = if space == Space::Shared { "cuda.shared.array" } else { "cuda.local.array" };
    let argument = |k: usize| call.argument(k, PARAMETERS[k]).cloned();
    let (Some(shape), Some(dtype)) = (argument(0), argument(1)) else {
        return Err(cx.typing(format!("{name} takes a shape and a dtype")));
    };
    let elem = match &dtype {
        Operand::Value(Value::Type(ty @ (Ty::Scalar(_) | Ty::Record(_)))) => Some(ty.clone()),
        Operand::Value(Value::Str(name)) => DType::from_name(name).map(Ty::Scalar),
        Operand::Expr(e) if e.ty == Ty::Unknown => return Ok(dtype),
        _ => None,
    };
    let Some(elem) = elem else {
        if let Operand::Value(Value::Str(text)) = &dtype {
            return Err(cx.typing(format!("{name}: Invalid NumPy dtype specified: '{text}'")));
        }
        return Err(cx.typing(format!("{name}: the dtype must be a type, such as float32")));
    };
    let shape = cx.value(shape)?;
    if shape.ty.is_unknown() {
        return Ok(Operand::Expr(Expr::unknown()));
    }
    let extents = extents(cx, name, space, shape)?;
    let align = alignment(cx, name, argument(2))?;
    let dynamic = space == Space::Shared && extents == [0];
    let (space, shape) = if dynamic { (Space::Dynamic, Vec::new()) } else { (space, extents) };
    let bytes = shape.iter().try_fold(elem.item_size() as i64, |n, &d| n.checked_mul(d));
    if bytes.is_none_or(|b| b > MAX_BYTES) {
        return Err(cx.typing(format!("{name}: the array is too large")));
    }
    let ndim = shape.len().max(1);
    let ty = ArrayTy { elem: Box::new(elem.clone()), ndim: ndim as u8, order: Order::C, mutable: true };
    cx.arrays.push(ir::LocalArray { space, elem, shape, align });
    Ok(Operand::Expr(Expr::new(Ty::Array(ty), Kind::Declared(cx.arrays.len() - 1))))
}

fn extents(cx: &mut LoweringContext<'_, '_>, name: &str, space: Space, shape: Expr) -> Result<Vec<i64>> {
    let axes = match &shape.ty {
        Ty::Tuple(..) => cx.items(shape),
        _ => vec![shape],
    };
    let extents: Option<Vec<i64>> = axes.iter().map(|e| cx.constant_int(e).filter(|&n| n >= 0)).collect();
    let Some(extents) = extents else {
        let error = cx.typing(format!("{name}: the shape must be known when the kernel is compiled")).literal();
        return Err(match space {
            Space::Local => error.hint("use a literal or a global constant"),
            _ => error.hint(
                "use a literal or a global constant, or give the size at the launch: \
                 cuda.shared.array(0, dtype) and kernel[grid, block, stream, bytes](…)",
            ),
        });
    };
    if extents.is_empty() {
        let error = cx.typing(format!("{name}: the shape is empty"));
        return Err(error.hint("use the shape (1,), or a variable"));
    }
    Ok(extents)
}

fn alignment(cx: &mut LoweringContext<'_, '_>, name: &str, operand: Option<Operand>) -> Result<u32> {
    let operand = match operand {
        None | Some(Operand::Value(Value::None)) => return Ok(0),
        Some(operand) => operand,
    };
    let known = match &operand {
        Operand::Value(Value::Str(_)) => None,
        _ => cx.value(operand).map(|value| cx.constant_int(&value))?,
    };
    match known.map(u32::try_from) {
        Some(Ok(n)) if n.is_power_of_two() => Ok(n),
        Some(_) => Err(cx.error(ErrorKind::Value, format!("{name}: Alignment must be a power of two"))),
        None => {
            let message = format!("RequireLiteralValue: {name}: alignment must be a constant integer");
            Err(cx.typing(message).literal())
        }
    }
}

/// `cupyx.jit.shared_memory(dtype, size)`: a size of None is the size that the launch gives.
pub(super) fn cupy_shared_memory(cx: &mut LoweringContext<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let size = match &call.args[1] {
        Operand::Value(Value::None) => Operand::Expr(Expr::int(0)),
        size => size.clone(),
    };
    let mut args = vec![size, call.args[0].clone()];
    args.extend_from_slice(&call.args[2..]);
    declare(cx, &Call { name: call.name, args: &args, keywords: call.keywords }, Space::Shared)
}

pub(super) fn const_array_like(cx: &mut LoweringContext<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let value = call.value(cx, 0)?;
    match value.kind {
        Kind::Constant(_) | Kind::Nothing => Ok(Operand::Expr(value)),
        // A captured device array, which is a parameter.
        Kind::Var(v) if cx.vars[v].name.starts_with('@') => Ok(Operand::Expr(value)),
        _ => Err(cx
            .typing("cuda.const.array_like takes an array that is known when the kernel is compiled")
            .hint("pass a global array")),
    }
}

/// `cuda.float32x3(…)`: a vector of the given numbers and of the items of given vectors.
pub(super) fn vector(cx: &mut LoweringContext<'_, '_>, d: DType, count: usize, args: Vec<Operand>) -> Result<Operand> {
    let mut items = Vec::new();
    for arg in args {
        let value = cx.value(arg)?;
        match &value.ty {
            Ty::Unknown => return Ok(Operand::Expr(value)),
            Ty::Tuple(..) => items.extend(cx.items(value)),
            _ => items.push(value),
        }
    }
    if items.len() != count {
        return Err(cx.typing(format!("a vector of {count} {} is made of {} numbers", d.name(), items.len())));
    }
    let items = items.into_iter().map(|e| cx.cast_dtype(e, d)).collect::<Result<Vec<_>>>()?;
    let names: Vec<String> = ["x", "y", "z", "w"].iter().take(count).map(|&n| n.to_owned()).collect();
    Ok(Operand::Expr(tuple(items, Some(names.into()))))
}
