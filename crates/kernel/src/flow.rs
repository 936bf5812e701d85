//! Control flow and variable uses of structured code, for the passes over it.

use std::collections::HashSet;

use crate::ir::{Expr, Kind, Stmt, StmtKind, any_expr, each_expr, each_stmt};

/// Returns the statements before the first barrier or exit from the enclosing loop.
pub fn region(body: &[Stmt]) -> &[Stmt] {
    let ends = |stmt: &Stmt| {
        let one = std::slice::from_ref(stmt);
        exits_loop(one, true) || any_expr(one, &mut |e| matches!(&e.kind, Kind::Builtin(row, _) if row.synchronizes))
    };
    &body[..body.iter().position(ends).unwrap_or(body.len())]
}

/// Returns true if a block may leave the enclosing loop or start its next iteration. Exits of inner loops do not count;
/// a `return` counts if `returns` is set.
pub fn exits_loop(body: &[Stmt], returns: bool) -> bool {
    body.iter().any(|stmt| match &stmt.kind {
        StmtKind::Break | StmtKind::Continue => true,
        StmtKind::Return(_) => returns,
        StmtKind::If { then, orelse, .. } => exits_loop(then, returns) || exits_loop(orelse, returns),
        StmtKind::While { body, .. } | StmtKind::For { body, .. } => returns && has_return(body),
        _ => false,
    })
}

/// Returns true if a block contains a `return`.
pub fn has_return(body: &[Stmt]) -> bool {
    let mut found = false;
    each_stmt(body, &mut |stmt| found |= matches!(stmt.kind, StmtKind::Return(_)));
    found
}

/// Returns the number of definitions and uses of each variable.
pub fn occurrences(body: &[Stmt], vars: usize) -> Vec<u32> {
    let mut counts = vec![0; vars];
    each_stmt(body, &mut |stmt| {
        if let StmtKind::Assign(v, _) | StmtKind::For { var: v, .. } = &stmt.kind {
            counts[*v] += 1;
        }
    });
    each_expr(body, &mut |e| {
        if let Kind::Var(v) = e.kind {
            counts[v] += 1;
        }
    });
    counts
}

/// Returns the variables that may be read before they are assigned.
pub fn upward_exposed(body: &[Stmt]) -> HashSet<usize> {
    let mut found = HashSet::new();
    expose(body, &mut HashSet::new(), &mut found);
    found
}

fn expose(body: &[Stmt], known: &mut HashSet<usize>, found: &mut HashSet<usize>) {
    fn uses(e: &Expr, known: &HashSet<usize>, found: &mut HashSet<usize>) {
        if let Kind::Var(v) = e.kind
            && !known.contains(&v)
        {
            found.insert(v);
        }
        e.each_operand(&mut |part| uses(part, known, found));
    }
    for stmt in body {
        stmt.kind.exprs(&mut |e| uses(e, known, found));
        match &stmt.kind {
            StmtKind::Assign(v, _) => {
                known.insert(*v);
            }
            StmtKind::If { then, orelse, .. } => {
                let mut other = known.clone();
                expose(then, known, found);
                expose(orelse, &mut other, found);
                known.retain(|v| other.contains(v));
            }
            StmtKind::While { body, .. } => expose(body, &mut known.clone(), found),
            StmtKind::For { var, body, .. } => {
                known.insert(*var);
                expose(body, &mut known.clone(), found);
            }
            _ => {}
        }
    }
}
