//! In-place transformations of expressions and variables.

use crate::ir::{Expr, Kind, Stmt, StmtKind, VarId};

/// Calls `f` with each expression, operands first.
pub(crate) fn rewrite(body: &mut [Stmt], f: &mut dyn FnMut(&mut Expr)) {
    for stmt in body {
        stmt.kind.exprs_mut(&mut |e| rewrite_expr(e, f));
        stmt.kind.blocks_mut().into_iter().for_each(|block| rewrite(block, f));
    }
}

pub(crate) fn rewrite_expr(e: &mut Expr, f: &mut dyn FnMut(&mut Expr)) {
    e.each_operand_mut(&mut |part| rewrite_expr(part, f));
    f(e);
}

/// Renumbers the variables of a block.
pub(crate) fn rename(body: &mut [Stmt], number: &dyn Fn(VarId) -> VarId) {
    fn assigned(body: &mut [Stmt], number: &dyn Fn(VarId) -> VarId) {
        for stmt in body {
            if let StmtKind::Assign(v, _) | StmtKind::For { var: v, .. } = &mut stmt.kind {
                *v = number(*v);
            }
            stmt.kind.blocks_mut().into_iter().for_each(|block| assigned(block, number));
        }
    }
    assigned(body, number);
    rewrite(body, &mut |e| {
        if let Kind::Var(v) = &mut e.kind {
            *v = number(*v);
        }
    });
}
