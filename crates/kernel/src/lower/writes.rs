//! The parameters that a function may write to, through variables, views and calls.

use std::collections::BTreeSet;

use crate::ir::{self, Expr, Function, Kind, Stmt, StmtKind};

/// The indices of parameters.
type Params = BTreeSet<usize>;

/// Computes [`Function::writes`].
pub(super) fn find(functions: &mut [Function]) {
    loop {
        let mut changed = false;
        for k in 0..functions.len() {
            let found = written(&functions[k], functions);
            changed |= found != functions[k].writes;
            functions[k].writes = found;
        }
        if !changed {
            return;
        }
    }
}

fn written(function: &Function, all: &[Function]) -> Params {
    // For each variable, the parameters whose memory it may refer to.
    let mut aliases: Vec<Params> = vec![Default::default(); function.vars.len()];
    (0..function.params).for_each(|p| aliases[p].extend([p]));
    loop {
        let mut changed = false;
        each_assignment(&function.body, &mut |var, value| {
            let found = aliased_params(value, &aliases);
            let before = aliases[var].len();
            aliases[var].extend(found);
            changed |= aliases[var].len() != before;
        });
        if !changed {
            break;
        }
    }
    let mut writes = Params::new();
    ir::each_stmt(&function.body, &mut |stmt| {
        if let StmtKind::Store { array, .. } = &stmt.kind {
            writes.extend(aliased_params(array, &aliases));
        }
        if let StmtKind::Copy { to, .. } = &stmt.kind {
            writes.extend(aliased_params(to, &aliases));
        }
    });
    ir::each_expr(&function.body, &mut |e| match &e.kind {
        Kind::Atomic { array, .. } => writes.extend(aliased_params(array, &aliases)),
        Kind::Cached { op, array, .. } if !op.is_load() => writes.extend(aliased_params(array, &aliases)),
        Kind::Call(callee, args) => {
            for &p in &all[*callee].writes {
                if let Some(arg) = args.get(p) {
                    writes.extend(aliased_params(arg, &aliases));
                }
            }
        }
        _ => {}
    });
    writes
}

fn each_assignment<'a>(body: &'a [Stmt], f: &mut dyn FnMut(usize, &'a Expr)) {
    ir::each_stmt(body, &mut |stmt| {
        if let StmtKind::Assign(var, value) = &stmt.kind {
            f(*var, value);
        }
    });
}

/// Returns the parameters whose memory a value may refer to.
fn aliased_params(e: &Expr, aliases: &[Params]) -> Params {
    match &e.kind {
        Kind::Var(v) => aliases[*v].clone(),
        // Numbers do not refer to memory, and indices do not matter.
        Kind::Load(..) | Kind::Fun(..) | Kind::Const(_) => Default::default(),
        Kind::View(array, _) | Kind::Reshape(array, _) => aliased_params(array, aliases),
        _ => {
            let mut all = Params::new();
            e.each_operand(&mut |part| all.extend(aliased_params(part, aliases)));
            all
        }
    }
}
