//! Device functions in place of their calls, for devices that are given no compiler behind their own: what follows from
//! a thread's place is then known inside of them too, and vectors go through them.

use std::collections::HashMap;

use crate::flow::{has_return, upward_exposed};
use crate::ir::{
    Expr, Function, Kind, Module, Stmt, StmtKind, VarId, each_call, each_expr, each_stmt, reachable_functions,
};
use crate::rewrite::{rename, rewrite};

/// Expressions of a function that is put in place, and what a function may have of them afterwards.
const MAX_CALLEE_SIZE: usize = 400;
const MAX_CALLER_SIZE: usize = 4000;

/// Puts functions in place of their calls, and takes out those that nobody calls any more. A function stays where it
/// calls itself, returns from within a loop, declares arrays (two calls of it share them) or is long.
pub fn inline(module: &mut Module) {
    let mut states = vec![State::New; module.functions.len()];
    inline_into(module, 0, &mut states);
    module.functions = reachable_functions(std::mem::take(&mut module.functions).into_iter().map(Some).collect());
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    /// Its calls are being looked at: who calls it now calls itself.
    Active,
    Done,
}

/// Functions that are called come first.
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

/// The statements of a function that may stand in its caller, with its own variables: `return e` at its ends as an
/// assignment to a variable that is not among them.
fn inlinable_body(callee: &Function, result: Option<VarId>) -> Option<Vec<Stmt>> {
    // A variable that is read before it is assigned is zero at each call.
    let open = upward_exposed(&callee.body).iter().any(|&v| v >= callee.params);
    if open || !callee.arrays.is_empty() {
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

/// Whether a block always returns.
fn always_returns(body: &[Stmt]) -> bool {
    match body.last().map(|stmt| &stmt.kind) {
        Some(StmtKind::Return(_)) => true,
        Some(StmtKind::If { then, orelse, .. }) => always_returns(then) && always_returns(orelse),
        _ => false,
    }
}

/// Statements of `callee` with new variables of `caller`. What is simple stands where a parameter stood that keeps its
/// value: nothing that the statements assign is a variable of the caller but, at their ends, the `result`.
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

    /// A kernel `y = f(x)` with an `f` of that body, after all is in place.
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
        };
        inline(&mut module);
        module
    }

    #[test]
    fn early_returns_become_choices() {
        let test = Expr::new(BOOL, Kind::Not(Box::new(Expr::bool(true))));
        let then = vec![stmt(StmtKind::Return(Some(var(0))))];
        let early = StmtKind::If { test, then, orelse: Vec::new() };
        let rest = [StmtKind::Assign(1, Expr::int(7)), StmtKind::Return(Some(var(1)))];
        let module = inlined([early].into_iter().chain(rest).map(stmt).collect());
        let [kernel] = &module.functions[..] else { panic!("a function that nobody calls") };
        assert_eq!(kernel.vars.len(), 4, "its own variables and those of the function");
        let [Stmt { kind: StmtKind::If { then, orelse, .. }, .. }] = &kernel.body[..] else { panic!("{kernel:?}") };
        let is = |stmt: &Stmt, v: VarId, from: VarId| match &stmt.kind {
            StmtKind::Assign(to, e) => *to == v && matches!(e.kind, Kind::Var(w) if w == from),
            _ => false,
        };
        assert!(is(&then[0], 1, 0), "the argument stands for the parameter");
        assert!(matches!(orelse[0].kind, StmtKind::Assign(3, _)) && is(&orelse[1], 1, 3));
    }

    #[test]
    fn functions_stay_where_calls_must() {
        let ends = || stmt(StmtKind::Return(Some(var(0))));
        let looped = StmtKind::While { test: Expr::bool(true), body: vec![ends()] };
        assert_eq!(inlined(vec![stmt(looped), ends()]).functions.len(), 2, "a return in a loop");
        let own = Expr::new(INT, Kind::Call(1, vec![var(0)]));
        assert_eq!(inlined(vec![stmt(StmtKind::Assign(1, own)), ends()]).functions.len(), 2, "it calls itself");
        let open = stmt(StmtKind::Return(Some(var(1))));
        assert_eq!(inlined(vec![open]).functions.len(), 2, "a variable is zero at each call");
    }
}
