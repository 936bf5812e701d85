//! Inlining of device functions, for devices without an optimizing compiler. The analyses of thread indices and the
//! vectorizer then see through calls.

use std::collections::HashMap;

use crate::flow::{has_return, upward_exposed};
use crate::ir::{
    Expr, Function, Kind, Module, Stmt, StmtKind, VarId, each_call, each_expr, each_stmt, reachable_functions,
};
use crate::rewrite::{rename, rewrite};

/// The number of expressions of a function that may be inlined, and of a function after calls were inlined into it.
const MAX_CALLEE_SIZE: usize = 400;
const MAX_CALLER_SIZE: usize = 4000;

/// Inlines calls and removes functions without callers. A function is not inlined if it is recursive, returns from
/// within a loop, declares arrays (its calls share them) or is too large.
pub fn inline(module: &mut Module) {
    let mut states = vec![State::New; module.functions.len()];
    inline_into(module, 0, &mut states);
    module.functions = reachable_functions(std::mem::take(&mut module.functions).into_iter().map(Some).collect());
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    /// On the current path of calls: a call of it is recursive.
    Active,
    Done,
}

/// Inlines calls into a function, after its callees.
fn inline_into(module: &mut Module, k: usize, states: &mut [State]) {
    states[k] = State::Active;
    let mut calls = Vec::new();
    each_call(&module.functions[k].body, &mut |callee| calls.push(callee));
    for callee in calls {
        if states[callee] == State::New {
            inline_into(module, callee, states);
        }
    }
    let mut body = std::mem::take(&mut module.functions[k].body);
    let mut caller_size = size(&body);
    inline_calls(module, k, &mut body, &mut caller_size, states);
    module.functions[k].body = body;
    states[k] = State::Done;
}

fn size(body: &[Stmt]) -> usize {
    let mut all = 0;
    each_expr(body, &mut |_| all += 1);
    all
}

fn inline_calls(module: &mut Module, k: usize, body: &mut Vec<Stmt>, caller_size: &mut usize, states: &[State]) {
    for mut stmt in std::mem::take(body) {
        if let StmtKind::Assign(_, e) | StmtKind::Eval(e) = &stmt.kind
            && let Kind::Call(callee, args) = &e.kind
            && states[*callee] == State::Done
        {
            let result = if let StmtKind::Assign(v, _) = stmt.kind { Some(v) } else { None };
            let parts = size(&module.functions[*callee].body);
            if parts <= MAX_CALLEE_SIZE
                && *caller_size + parts <= MAX_CALLER_SIZE
                && let Some(statements) = inlinable_body(&module.functions[*callee], result)
            {
                *caller_size += parts;
                let callee = module.functions[*callee].clone();
                body.extend(instantiate(&mut module.functions[k], &callee, args, statements, result, stmt.line));
                continue;
            }
        }
        match &mut stmt.kind {
            StmtKind::If { then, orelse, .. } => {
                inline_calls(module, k, then, caller_size, states);
                inline_calls(module, k, orelse, caller_size, states);
            }
            StmtKind::While { body, .. } | StmtKind::For { body, .. } => {
                inline_calls(module, k, body, caller_size, states)
            }
            _ => {}
        }
        body.push(stmt);
    }
}

/// Returns the statements of a function with its own variables, in which each `return e` is an assignment to the
/// variable after its last one. `None` if the function cannot be inlined.
fn inlinable_body(callee: &Function, result: Option<VarId>) -> Option<Vec<Stmt>> {
    // A variable that is read before it is assigned is zero in each call, but would keep its value across inlined
    // calls.
    let exposed = upward_exposed(&callee.body).iter().any(|&v| v >= callee.params);
    if exposed || !callee.arrays.is_empty() {
        return None;
    }
    structure_returns(&callee.body, result.map(|_| callee.vars.len()))
}

fn structure_returns(body: &[Stmt], result: Option<VarId>) -> Option<Vec<Stmt>> {
    let mut all = Vec::new();
    for (k, stmt) in body.iter().enumerate() {
        match &stmt.kind {
            StmtKind::Return(value) => {
                if let (Some(v), Some(e)) = (result, value) {
                    all.push(Stmt { line: stmt.line, kind: StmtKind::Assign(v, e.clone()) });
                }
                return Some(all);
            }
            StmtKind::If { test, then, orelse } if has_return(then) || has_return(orelse) => {
                let rest = &body[k + 1..];
                let mut arms = [then.clone(), orelse.clone()];
                match arms.each_ref().map(|arm| always_returns(arm)) {
                    [true, true] => {}
                    [true, false] => arms[1].extend_from_slice(rest),
                    [false, true] => arms[0].extend_from_slice(rest),
                    [false, false] if rest.is_empty() => {}
                    [false, false] => return None,
                }
                let [then, orelse] = arms;
                let (then, orelse) = (structure_returns(&then, result)?, structure_returns(&orelse, result)?);
                all.push(Stmt { line: stmt.line, kind: StmtKind::If { test: test.clone(), then, orelse } });
                return Some(all);
            }
            _ if has_return(std::slice::from_ref(stmt)) => return None,
            _ => all.push(stmt.clone()),
        }
    }
    Some(all)
}

/// Returns true if a block always returns.
fn always_returns(body: &[Stmt]) -> bool {
    match body.last().map(|stmt| &stmt.kind) {
        Some(StmtKind::Return(_)) => true,
        Some(StmtKind::If { then, orelse, .. }) => always_returns(then) && always_returns(orelse),
        _ => false,
    }
}

/// Returns the statements of `callee` with new variables of `caller`. Simple arguments replace parameters that are not
/// assigned to. That is valid because the statements assign only new variables, and `result` last.
fn instantiate(
    caller: &mut Function,
    callee: &Function,
    args: &[Expr],
    mut body: Vec<Stmt>,
    result: Option<VarId>,
    line: u32,
) -> Vec<Stmt> {
    let first = caller.vars.len();
    caller.vars.extend(callee.vars.iter().cloned());
    let mut changed = vec![false; callee.params];
    each_stmt(&callee.body, &mut |stmt| {
        if let StmtKind::Assign(v, _) | StmtKind::For { var: v, .. } = stmt.kind
            && v < callee.params
        {
            changed[v] = true;
        }
    });
    let mut simple: HashMap<VarId, &Expr> = HashMap::new();
    let mut all = Vec::new();
    for (p, arg) in args.iter().enumerate() {
        if arg.is_simple() && !changed[p] {
            simple.insert(p, arg);
        } else {
            all.push(Stmt { line, kind: StmtKind::Assign(first + p, arg.clone()) });
        }
    }
    rename(&mut body, &|v| if v == callee.vars.len() { result.unwrap_or(v) } else { first + v });
    rewrite(&mut body, &mut |e| {
        if let Kind::Var(v) = e.kind
            && let Some(arg) = v.checked_sub(first).and_then(|p| simple.get(&p))
        {
            *e = (*arg).clone();
        }
    });
    all.extend(body);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Var;
    use crate::types::{BOOL, INT, Ty};

    fn var(v: VarId) -> Expr {
        Expr::new(INT, Kind::Var(v))
    }

    fn stmt(kind: StmtKind) -> Stmt {
        Stmt { line: 1, kind }
    }

    fn function(name: &str, vars: usize, ret: Ty, body: Vec<Stmt>) -> Function {
        Function {
            name: name.into(),
            file: String::new(),
            lines: Vec::new(),
            first_line: 1,
            vars: vec![Var { name: "v".into(), ty: INT }; vars],
            params: 1,
            ret,
            body,
            arrays: Vec::new(),
            writes: Default::default(),
        }
    }

    /// Inlines a function with the given body into a kernel `y = f(x)`.
    fn inlined(body: Vec<Stmt>) -> Module {
        let call = Expr::new(INT, Kind::Call(1, vec![var(0)]));
        let kernel = function("kernel", 2, Ty::None, vec![stmt(StmtKind::Assign(1, call))]);
        let mut module = Module {
            functions: vec![kernel, function("f", 2, INT, body)],
            constants: Vec::new(),
            barriers: false,
            cooperative: false,
            raise_sites: Vec::new(),
            reports: false,
            dynamic_shared: false,
            is_checked: false,
        };
        inline(&mut module);
        module
    }

    #[test]
    fn early_returns_become_branches() {
        let test = Expr::new(BOOL, Kind::Not(Box::new(Expr::bool(true))));
        let then = vec![stmt(StmtKind::Return(Some(var(0))))];
        let early = StmtKind::If { test, then, orelse: Vec::new() };
        let rest = [StmtKind::Assign(1, Expr::int(7)), StmtKind::Return(Some(var(1)))];
        let module = inlined([early].into_iter().chain(rest).map(stmt).collect());
        let [kernel] = &module.functions[..] else { panic!("a function without callers") };
        assert_eq!(kernel.vars.len(), 4, "the variables of caller and callee");
        let [Stmt { kind: StmtKind::If { then, orelse, .. }, .. }] = &kernel.body[..] else { panic!("{kernel:?}") };
        let is = |stmt: &Stmt, v: VarId, from: VarId| match &stmt.kind {
            StmtKind::Assign(to, e) => *to == v && matches!(e.kind, Kind::Var(w) if w == from),
            _ => false,
        };
        assert!(is(&then[0], 1, 0), "the argument replaces the parameter");
        assert!(matches!(orelse[0].kind, StmtKind::Assign(3, _)) && is(&orelse[1], 1, 3));
    }

    #[test]
    fn functions_that_cannot_be_inlined_stay() {
        let ends = || stmt(StmtKind::Return(Some(var(0))));
        let looped = StmtKind::While { test: Expr::bool(true), body: vec![ends()] };
        assert_eq!(inlined(vec![stmt(looped), ends()]).functions.len(), 2, "a return in a loop");
        let own = Expr::new(INT, Kind::Call(1, vec![var(0)]));
        assert_eq!(inlined(vec![stmt(StmtKind::Assign(1, own)), ends()]).functions.len(), 2, "a recursive function");
        let unassigned = stmt(StmtKind::Return(Some(var(1))));
        assert_eq!(inlined(vec![unassigned]).functions.len(), 2, "a variable that is zero in each call");
    }
}
