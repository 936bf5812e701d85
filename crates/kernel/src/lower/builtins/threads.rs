//! Indices and sizes of the grid and of cooperative groups.

use cuprous_core::{DType, Fun};

use super::Call;
use crate::ast::Value;
use crate::diagnostic::Result;
use crate::ir::{Expr, Kind};
use crate::lower::context::{LoweringContext, Operand, tuple};
use crate::table;
use crate::types::INT;

fn integers(fun: Fun, a: Expr, b: Expr) -> Expr {
    Expr::new(INT, Kind::Fun(fun, DType::I64, vec![a, b]))
}

/// `cuda.grid(ndim)`: the thread's index in the grid, as a number or a tuple.
pub(super) fn grid(cx: &mut LoweringContext<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    by_axis(cx, call, |cx, axis| {
        let thread = component(cx, "threadIdx", axis)?;
        let (block, width) = (component(cx, "blockIdx", axis)?, component(cx, "blockDim", axis)?);
        Ok(integers(Fun::Add, integers(Fun::Multiply, block, width), thread))
    })
}

/// `cuda.gridsize(ndim)`: the number of threads along each axis of the grid.
pub(super) fn gridsize(cx: &mut LoweringContext<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    by_axis(cx, call, |cx, axis| {
        Ok(integers(Fun::Multiply, component(cx, "blockDim", axis)?, component(cx, "gridDim", axis)?))
    })
}

fn by_axis<'c, 'a>(
    cx: &mut LoweringContext<'c, 'a>,
    call: &Call<'_>,
    item: impl Fn(&mut LoweringContext<'c, 'a>, &str) -> Result<Expr>,
) -> Result<Operand> {
    let n = call.value(cx, 0)?;
    let Some(n @ 1..=3) = cx.constant_int(&n) else {
        let what = format!("{} takes 1, 2 or 3, known when the kernel is compiled (RequireLiteralValue)", call.name);
        return Err(cx.typing(what));
    };
    let mut items = Vec::new();
    for axis in ["x", "y", "z"].into_iter().take(n as usize) {
        items.push(item(cx, axis)?);
    }
    if n == 1 {
        return Ok(Operand::Expr(items.remove(0)));
    }
    Ok(Operand::Expr(tuple(items, None)))
}

/// Returns `cuda.what.axis` as an int64.
fn component(cx: &mut LoweringContext<'_, '_>, what: &str, axis: &str) -> Result<Expr> {
    let row = table::row(&format!("cuda.{what}.{axis}"));
    let row = row.ok_or_else(|| cx.unsupported(format!("cuda.{what} is not supported")))?;
    let value = cx.device_builtin(row, Vec::new())?;
    cx.cast(value, &INT)
}

fn components(cx: &mut LoweringContext<'_, '_>, what: &str) -> Result<[Expr; 3]> {
    Ok([component(cx, what, "x")?, component(cx, what, "y")?, component(cx, what, "z")?])
}

/// `cg.sync(group)`.
pub(super) fn sync(cx: &mut LoweringContext<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let row = match &call.args[0] {
        Operand::Value(Value::Builtin(group)) => table::row(&format!("{group}.sync")),
        _ => None,
    };
    let row = row.ok_or_else(|| cx.typing("cg.sync takes a group: cg.this_thread_block(), cg.this_grid()"))?;
    cx.device_builtin(row, Vec::new()).map(Operand::Expr)
}

/// Returns `cuda.threadIdx`, `cuda.blockIdx` and the like, as a tuple of x, y and z.
pub(super) fn index(cx: &mut LoweringContext<'_, '_>, what: &str) -> Result<Operand> {
    cx.resolve(Value::Builtin(format!("cuda.{what}")))
}

/// Returns the product of the extents.
pub(super) fn count(cx: &mut LoweringContext<'_, '_>, extents: &str) -> Result<Expr> {
    let [x, y, z] = components(cx, extents)?;
    Ok(integers(Fun::Multiply, integers(Fun::Multiply, x, y), z))
}

/// Returns the linear index, with x fastest.
fn rank(cx: &mut LoweringContext<'_, '_>, index: &str, extents: &str) -> Result<Expr> {
    let ([x, y, z], [width, height, _]) = (components(cx, index)?, components(cx, extents)?);
    let row = integers(Fun::Add, y, integers(Fun::Multiply, height, z));
    Ok(integers(Fun::Add, x, integers(Fun::Multiply, width, row)))
}

pub(super) fn rank_of_thread(cx: &mut LoweringContext<'_, '_>) -> Result<Expr> {
    rank(cx, "threadIdx", "blockDim")
}

pub(super) fn rank_of_block(cx: &mut LoweringContext<'_, '_>) -> Result<Expr> {
    rank(cx, "blockIdx", "gridDim")
}

pub(super) fn threads_of_grid(cx: &mut LoweringContext<'_, '_>, _: &Call<'_>) -> Result<Operand> {
    Ok(Operand::Expr(integers(Fun::Multiply, count(cx, "gridDim")?, count(cx, "blockDim")?)))
}

pub(super) fn rank_in_grid(cx: &mut LoweringContext<'_, '_>, _: &Call<'_>) -> Result<Operand> {
    let before = integers(Fun::Multiply, rank_of_block(cx)?, count(cx, "blockDim")?);
    Ok(Operand::Expr(integers(Fun::Add, before, rank_of_thread(cx)?)))
}
