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
    let mut shows: Vec<Params> = vec![Default::default(); function.vars.len()];
    (0..function.params).for_each(|p| shows[p].extend([p]));
    loop {
        let mut changed = false;
        each_assignment(&function.body, &mut |var, value| {
            let reach = memory(value, &shows);
            let before = shows[var].len();
            shows[var].extend(reach);
            changed |= shows[var].len() != before;
        });
        if !changed {
            break;
        }
    }
    let mut writes = Params::new();
    ir::each_stmt(&function.body, &mut |stmt| {
        if let StmtKind::Store { array, .. } = &stmt.kind {
            writes.extend(memory(array, &shows));
        }
        if let StmtKind::Copy { to, .. } = &stmt.kind {
            writes.extend(memory(to, &shows));
        }
    });
    ir::each_expr(&function.body, &mut |e| match &e.kind {
        Kind::Atomic { array, .. } => writes.extend(memory(array, &shows)),
        Kind::Cached { op, array, .. } if !op.is_load() => writes.extend(memory(array, &shows)),
        Kind::Call(callee, args) => {
            for &p in &all[*callee].writes {
                if let Some(arg) = args.get(p) {
                    writes.extend(memory(arg, &shows));
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
fn memory(e: &Expr, shows: &[Params]) -> Params {
    match &e.kind {
        Kind::Var(v) => shows[*v].clone(),
        // Numbers do not refer to memory, and indices do not matter.
        Kind::Load(..) | Kind::Fun(..) | Kind::Const(_) => Default::default(),
        Kind::View(array, _) | Kind::Reshape(array, _) => memory(array, shows),
        _ => {
            let mut all = Params::new();
            e.parts(&mut |part| all.extend(memory(part, shows)));
            all
        }
    }
}
