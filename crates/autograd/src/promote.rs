//! PyTorch's type promotion. The dtype of an operation is that of its operands with axes. 0-d tensors and numbers
//! change it only if they are of a higher kind.

use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

use cuprous_core::ops::Class;
use cuprous_core::promote::promote;
use cuprous_core::{DType, Error, Fun, Kind, Result, Scalar};

use crate::arg::Arg;

static DEFAULT: AtomicU8 = AtomicU8::new(DType::F32 as u8);

/// Returns the dtype of floats for which the user gives none.
pub fn default_dtype() -> DType {
    DType::from_index(DEFAULT.load(Relaxed))
}

/// Sets the dtype that [`default_dtype`] returns.
pub fn set_default_dtype(dtype: DType) -> Result<()> {
    if !dtype.is_float() {
        return Err(Error::type_("only floating-point types are supported as the default type"));
    }
    DEFAULT.store(dtype as u8, Relaxed);
    Ok(())
}

fn default_complex() -> DType {
    if default_dtype() == DType::F64 { DType::C128 } else { DType::C64 }
}

/// Returns the dtype of two operands of equal priority. Unlike in NumPy, a float with an integer of any width stays as
/// it is.
pub fn promote_types(a: DType, b: DType) -> DType {
    let inexact = |d: DType| d.is_float() || d.is_complex();
    match (inexact(a), inexact(b)) {
        (true, false) => a,
        (false, true) => b,
        (true, true) if a.is_complex() != b.is_complex() => {
            let (z, x) = if a.is_complex() { (a, b) } else { (b, a) };
            if x == DType::F64 { DType::C128 } else { z }
        }
        _ => promote(a, b),
    }
}

/// Returns the dtype of two groups of operands, of which `higher` has priority.
fn combine(higher: Option<DType>, lower: Option<DType>) -> Option<DType> {
    let (Some(h), Some(l)) = (higher, lower) else { return higher.or(lower) };
    Some(if h.is_complex() {
        h
    } else if h.is_float() {
        match (l.is_complex(), h) {
            (true, DType::F64) => DType::C128,
            (true, _) => DType::C64,
            (false, _) => h,
        }
    } else if h == DType::Bool || l.is_float() || l.is_complex() {
        promote_types(h, l)
    } else {
        h
    })
}

/// Returns the dtype of operands together, as `torch.result_type` does.
pub fn result_type(args: &[Arg]) -> DType {
    let (mut with_axes, mut zero_dim, mut number) = (None, None, None);
    let join = |group: &mut Option<DType>, d: DType| *group = Some(group.map_or(d, |g| promote_types(g, d)));
    for arg in args {
        match arg {
            Arg::Tensor(t) if t.array.layout.ndim() > 0 => join(&mut with_axes, t.dtype()),
            Arg::Tensor(t) => join(&mut zero_dim, t.dtype()),
            Arg::Number(n) => join(
                &mut number,
                match n.kind() {
                    Kind::Bool => DType::Bool,
                    Kind::Int | Kind::UInt => DType::I64,
                    Kind::Float => default_dtype(),
                    Kind::Complex => default_complex(),
                },
            ),
        }
    }
    combine(with_axes, combine(zero_dim, number)).unwrap_or_else(default_dtype)
}

/// Returns true for arithmetic in half precision with a number that half precision cannot represent, or with a 0-d
/// tensor of another dtype. PyTorch does not round those operands, only the result ("opmath").
pub(crate) fn in_float32(fun: Fun, args: &[Arg], compute: DType) -> bool {
    matches!(compute, DType::F16 | DType::BF16)
        && matches!(fun, Fun::Add | Fun::Subtract | Fun::Multiply | Fun::Divide | Fun::FloorDivide)
        && args.iter().any(|arg| match arg {
            Arg::Tensor(t) => t.dtype() != compute && t.array.layout.ndim() == 0,
            Arg::Number(n) => {
                Scalar::new(*n, compute).parts(compute) != Scalar::new(*n, DType::C128).parts(DType::C128)
            }
        })
}

/// Returns the dtype in which a function computes.
pub(crate) fn compute(fun: Fun, args: &[Arg]) -> DType {
    // The usual case in networks: one float dtype, and numbers of no higher kind.
    if let [Arg::Tensor(a), rest @ ..] = args
        && a.dtype().is_float()
        && a.array.layout.ndim() > 0
        && rest.iter().all(|arg| match arg {
            Arg::Tensor(b) => b.dtype() == a.dtype(),
            Arg::Number(n) => n.kind() <= Kind::Float,
        })
    {
        return a.dtype();
    }
    let args = match fun {
        Fun::Where => &args[1..],
        Fun::Ldexp => &args[..1],
        _ => args,
    };
    let d = result_type(args);
    match fun.op().class {
        Class::Float | Class::Inexact | Class::Divide if !d.is_float() && !d.is_complex() => default_dtype(),
        _ => d,
    }
}
