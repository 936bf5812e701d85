//! Rematerialization of thread indices: variables that are cheap functions of the thread index are recomputed instead
//! of stored. Also tells which kernels depend on the index along x only through the global index.

use std::collections::HashMap;

use cuprous_core::{DType, Fun};

use crate::flow::upward_exposed;
use crate::ir::{Expr, Function, Kind, Module, StmtKind, each_stmt};

/// Index builtins with the same value in all threads along x.
const UNIFORM_ALONG_X: [&str; 10] = [
    "@threadIdx.y",
    "@threadIdx.z",
    "@blockIdx.y",
    "@blockIdx.z",
    "@blockDim.x",
    "@blockDim.y",
    "@blockDim.z",
    "@gridDim.x",
    "@gridDim.y",
    "@gridDim.z",
];
/// The number of expressions of a variable that is recomputed instead of stored.
const MAX_SIZE: usize = 12;

/// Integers that are assigned once and depend only on thread indices and constants, with the expressions that compute
/// them.
pub struct Rematerializable(HashMap<usize, Expr>);

impl Rematerializable {
    /// Analyzes a function.
    pub fn of(function: &Function) -> Rematerializable {
        let mut counts = vec![0; function.vars.len()];
        each_stmt(&function.body, &mut |stmt| {
            if let StmtKind::Assign(v, _) | StmtKind::For { var: v, .. } = &stmt.kind {
                counts[*v] += 1;
            }
        });
        let exposed = upward_exposed(&function.body);
        let mut result = Rematerializable(HashMap::new());
        // Variables that may be read before their assignment are excluded, so what an expression names was assigned
        // before it.
        each_stmt(&function.body, &mut |stmt| {
            if let StmtKind::Assign(v, e) = &stmt.kind
                && counts[*v] == 1
                && !exposed.contains(v)
                && let Some(known) = result.expand(e)
                && size(&known) <= MAX_SIZE
            {
                result.0.insert(*v, known);
            }
        });
        result
    }

    /// Returns the expression of a variable.
    pub fn get(&self, v: usize) -> Option<&Expr> {
        self.0.get(&v)
    }

    /// Returns an integer expression with all variables replaced, if all can be.
    pub(crate) fn expand(&self, e: &Expr) -> Option<Expr> {
        if !e.dtype().is_some_and(DType::is_int) {
            return None;
        }
        let kind = match &e.kind {
            Kind::Const(n) => Kind::Const(*n),
            Kind::Var(v) => return self.get(*v).cloned(),
            Kind::Item(of, k) => match &of.kind {
                Kind::Tuple(items) => return self.expand(&items[*k]),
                _ => return None,
            },
            Kind::Cast(from) => Kind::Cast(Box::new(self.expand(from)?)),
            Kind::Fun(fun, d, args) => Kind::Fun(*fun, *d, args.iter().map(|a| self.expand(a)).collect::<Option<_>>()?),
            Kind::Builtin(row, args) if args.is_empty() && is_index_builtin(row.host) => e.kind.clone(),
            _ => return None,
        };
        Some(Expr::new(e.ty.clone(), kind))
    }

    /// Returns true if an expression depends on the index along x only through the global index.
    fn reads_only_global_index_x(&self, e: &Expr) -> bool {
        if self.expand(e).is_some_and(|known| is_global_index_x(&known)) {
            return true;
        }
        let mut all = match &e.kind {
            // A barrier does not read an index.
            Kind::Builtin(row, _) => {
                !row.host.starts_with('@') || row.synchronizes || UNIFORM_ALONG_X.contains(&row.host)
            }
            Kind::Var(v) => self.get(*v).is_none_or(|known| self.reads_only_global_index_x(known)),
            _ => true,
        };
        e.each_operand(&mut |part| all &= self.reads_only_global_index_x(part));
        all
    }
}

fn is_index_builtin(host: &str) -> bool {
    UNIFORM_ALONG_X.contains(&host) || matches!(host, "@threadIdx.x" | "@threadIdx.last" | "@blockIdx.x")
}

fn size(e: &Expr) -> usize {
    let mut all = 1;
    e.each_operand(&mut |part| all += size(part));
    all
}

/// Returns an integer without casts that preserve any thread index.
fn without_casts(e: &Expr) -> &Expr {
    match &e.kind {
        Kind::Cast(from) if e.dtype().is_some_and(|d| d.size() >= DType::I32.size()) => without_casts(from),
        _ => e,
    }
}

/// Returns the operands of a binary function of integers.
fn operands(e: &Expr, of: Fun) -> Option<[&Expr; 2]> {
    match &without_casts(e).kind {
        Kind::Fun(fun, d, args) if *fun == of && d.is_int() && d.size() >= DType::I32.size() => match &args[..] {
            [a, b] => Some([without_casts(a), without_casts(b)]),
            _ => None,
        },
        _ => None,
    }
}

/// Returns true for `blockIdx.x * blockDim.x + threadIdx.x`.
fn is_global_index_x(e: &Expr) -> bool {
    let is = |e: &Expr, host: &str| matches!(&e.kind, Kind::Builtin(row, _) if row.host == host);
    let start = |e: &Expr| {
        operands(e, Fun::Multiply).is_some_and(|[a, b]| {
            is(a, "@blockIdx.x") && is(b, "@blockDim.x") || is(b, "@blockIdx.x") && is(a, "@blockDim.x")
        })
    };
    let thread = |e: &Expr| is(e, "@threadIdx.x") || is(e, "@threadIdx.last");
    operands(e, Fun::Add).is_some_and(|[a, b]| start(a) && thread(b) || start(b) && thread(a))
}

/// Returns true if the kernel reads its index along x only as `blockIdx.x * blockDim.x + threadIdx.x`. Then the blocks
/// of a row may run as one long block, unless their threads synchronize.
pub fn uses_only_global_index_x(module: &Module) -> bool {
    module.functions.iter().all(|function| {
        let known = Rematerializable::of(function);
        let mut all = true;
        each_stmt(&function.body, &mut |stmt| match &stmt.kind {
            // Checked at its uses.
            StmtKind::Assign(v, _) if known.get(*v).is_some() => {}
            kind => kind.exprs(&mut |e| all &= known.reads_only_global_index_x(e)),
        });
        all
    })
}
