//! Simplification of kernels for devices without an optimizing compiler: early returns become branches, variables that
//! stand for one array are replaced by it, and short loops are unrolled.

use std::collections::HashMap;

use cuprous_core::Fun;
use cuprous_core::scalar::Number;

use crate::flow::{exits_loop, has_return, occurrences, upward_exposed};
use crate::ir::{Expr, Function, Kind, Stmt, StmtKind, any_expr, each_expr, each_stmt};
use crate::rewrite::rewrite;
use crate::strip_mine;

/// The iterations of a loop that is fully unrolled, and the expressions of all of them together.
const MAX_UNROLLED_ITERATIONS: i64 = 4;
const MAX_UNROLLED_SIZE: i64 = 640;
/// The expressions of a loop body that is unrolled four times.
const MAX_SIZE_BY_FOUR: i64 = 100;

/// Simplifies a kernel. With `strip`, grid-stride loops are strip-mined where that pays off. Returns true if any was.
pub fn prepare(function: &mut Function, strip: bool) -> bool {
    function.body = structure_returns(&function.body);
    propagate_arrays(function);
    let stripped = strip && strip_mine::strip_mine(function);
    let total = occurrences(&function.body, function.vars.len());
    let body = std::mem::take(&mut function.body);
    function.body = unroll(body, &total);
    stripped
}

/// Replaces variables that always hold the same declared or constant array.
fn propagate_arrays(function: &mut Function) {
    let mut arrays: HashMap<usize, Kind> = HashMap::new();
    let mut reassigned = upward_exposed(&function.body);
    each_stmt(&function.body, &mut |stmt| match &stmt.kind {
        StmtKind::Assign(v, e) => match &e.kind {
            Kind::Declared(_) | Kind::Constant(_) if function.vars[*v].ty == e.ty => {
                if arrays.insert(*v, e.kind.clone()).is_some() {
                    reassigned.insert(*v);
                }
            }
            _ => {
                reassigned.insert(*v);
            }
        },
        StmtKind::For { var, .. } => {
            reassigned.insert(*var);
        }
        _ => {}
    });
    arrays.retain(|v, _| !reassigned.contains(v));
    rewrite(&mut function.body, &mut |e| {
        if let Kind::Var(v) = e.kind
            && let Some(kind) = arrays.get(&v)
        {
            e.kind = kind.clone();
        }
    });
}

fn unroll(body: Vec<Stmt>, total: &[u32]) -> Vec<Stmt> {
    let mut result = Vec::new();
    for mut stmt in body {
        match &mut stmt.kind {
            StmtKind::If { then, orelse, .. } => {
                *then = unroll(std::mem::take(then), total);
                *orelse = unroll(std::mem::take(orelse), total);
            }
            StmtKind::While { body, .. } | StmtKind::For { body, .. } => {
                *body = unroll(std::mem::take(body), total);
            }
            _ => {}
        }
        match unrolled_values(&stmt, total) {
            Some(values) => {
                let StmtKind::For { var, start, body, .. } = stmt.kind else { continue };
                for n in values {
                    let mut iteration = body.clone();
                    rewrite(&mut iteration, &mut |e| {
                        if matches!(e.kind, Kind::Var(v) if v == var) {
                            *e = Expr::new(start.ty.clone(), Kind::Const(Number::Int(n.into())));
                        }
                    });
                    result.extend(iteration);
                }
            }
            None => result.push(unrolled_by_four(stmt, total)),
        }
    }
    result
}

/// Unrolls a loop of known length by four if its body is short.
fn unrolled_by_four(mut stmt: Stmt, total: &[u32]) -> Stmt {
    let Some((first, count, by)) = trip_count(&stmt, total) else { return stmt };
    let StmtKind::For { var, start, stop, step, body } = &mut stmt.kind else { return stmt };
    let mut size = 0;
    each_expr(body, &mut |_| size += 1);
    let (Some(d), Some(end)) = (start.dtype(), first.checked_add((count as i64).saturating_mul(by))) else {
        return stmt;
    };
    if count % 4 != 0 || 4 * size > MAX_SIZE_BY_FOUR || d.size() < 8 || body.iter().any(|s| !s.kind.blocks().is_empty())
    {
        return stmt;
    }
    let mut iterations = Vec::new();
    for k in 0..4 {
        let mut iteration = body.clone();
        if k > 0 {
            rewrite(&mut iteration, &mut |e| {
                if matches!(e.kind, Kind::Var(v) if v == *var) {
                    let more = Expr::new(e.ty.clone(), Kind::Const(Number::Int((k * by).into())));
                    e.kind = Kind::Fun(Fun::Add, d, vec![e.clone(), more]);
                }
            });
        }
        iterations.extend(iteration);
    }
    *body = iterations;
    *stop = Expr::new(stop.ty.clone(), Kind::Const(Number::Int(end.into())));
    *step = Expr::new(step.ty.clone(), Kind::Const(Number::Int((4 * by).into())));
    stmt
}

/// Returns the values of the counter of a loop that can be fully unrolled.
fn unrolled_values(stmt: &Stmt, total: &[u32]) -> Option<Vec<i64>> {
    let (start, count, step) = trip_count(stmt, total)?;
    let mut size = 0i64;
    stmt.kind.blocks().iter().for_each(|body| each_expr(body, &mut |_| size += 1));
    let short = count <= MAX_UNROLLED_ITERATIONS as u64 && size.saturating_mul(count as i64) <= MAX_UNROLLED_SIZE;
    short.then(|| (0..count as i64).map(|k| start + k * step).collect())
}

/// Returns the first value, the trip count and the step of a loop that may be unrolled.
fn trip_count(stmt: &Stmt, total: &[u32]) -> Option<(i64, u64, i64)> {
    let StmtKind::For { var, start, stop, step, body } = &stmt.kind else { return None };
    let (start, stop, step) = (start.as_int()?, stop.as_int()?, step.as_int()?);
    if step == 0 || exits_loop(body, true) || occurrences(std::slice::from_ref(stmt), total.len())[*var] != total[*var]
    {
        return None;
    }
    let distance = if step > 0 { stop.checked_sub(start)? } else { start.checked_sub(stop)? };
    let count = (distance.max(0) as u64).div_ceil(step.unsigned_abs());
    let waits = any_expr(body, &mut |e| matches!(&e.kind, Kind::Builtin(row, _) if row.synchronizes));
    (!waits).then_some((start, count, step))
}

/// Returns a kernel's body in which `if test: return` at the end of a branch encloses the rest in the other branch.
fn structure_returns(body: &[Stmt]) -> Vec<Stmt> {
    let mut result = Vec::new();
    for (k, stmt) in body.iter().enumerate() {
        match &stmt.kind {
            StmtKind::Return(None) => return result,
            StmtKind::If { test, then, orelse } if has_return(then) || has_return(orelse) => {
                let ends = |block: &[Stmt]| matches!(block.last().map(|s| &s.kind), Some(StmtKind::Return(None)));
                let rest = &body[k + 1..];
                let (mut then, mut orelse) = (then.clone(), orelse.clone());
                match (ends(&then), ends(&orelse), rest.is_empty()) {
                    (true, true, _) | (_, _, true) => {}
                    (true, false, _) => orelse.extend_from_slice(rest),
                    (false, true, _) => then.extend_from_slice(rest),
                    (false, false, _) => {
                        result.extend_from_slice(&body[k..]);
                        return result;
                    }
                }
                let kind = StmtKind::If {
                    test: test.clone(),
                    then: structure_returns(&then),
                    orelse: structure_returns(&orelse),
                };
                result.push(Stmt { line: stmt.line, kind });
                return result;
            }
            _ => result.push(stmt.clone()),
        }
    }
    result
}
