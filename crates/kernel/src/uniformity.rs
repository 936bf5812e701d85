//! Uniformity (divergence) analysis: how values differ among the threads of a block. Devices need it to run several
//! threads as the lanes of a vector, or all threads of a block in turn between two barriers.
//!
//! Lanes are threads that differ in `threadIdx.x` only. They execute a statement together if all take the same path.
//! Otherwise each lane executes the whole statement by itself, and the variables that it assigns vary.

use std::collections::HashSet;

use cuprous_core::Fun;

use crate::builtin::LAST_THREAD_X;
use crate::flow::{exits_loop, occurrences, region, upward_exposed};
use crate::integer_ranges::IntegerRanges;
use crate::ir::{Expr, Function, Index, Kind, Space, Stmt, StmtKind, each_stmt};

/// How a value differs among threads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Divergence {
    /// The same in all threads of a block.
    BlockUniform,
    /// The same in all lanes.
    LaneUniform,
    /// An integer that grows by this step from lane to lane.
    Linear(i64),
    /// Different in each thread.
    Varying,
}

impl Divergence {
    /// Returns what holds for a value that is either of the two.
    pub fn join(self, other: Divergence) -> Divergence {
        match (self, other) {
            (a, b) if a == b => a,
            (
                Divergence::BlockUniform | Divergence::LaneUniform,
                Divergence::BlockUniform | Divergence::LaneUniform,
            ) => Divergence::LaneUniform,
            _ => Divergence::Varying,
        }
    }

    /// Returns true if the value is the same in all lanes.
    pub fn is_uniform(self) -> bool {
        matches!(self, Divergence::BlockUniform | Divergence::LaneUniform)
    }

    fn linear(k: i64) -> Divergence {
        if k == 0 { Divergence::LaneUniform } else { Divergence::Linear(k) }
    }

    /// Returns the divergence of a branch on such a value.
    fn control(self) -> Divergence {
        if self.is_uniform() { self } else { Divergence::Varying }
    }
}

/// The divergence of a function's variables.
pub struct Uniformity {
    /// The divergence of each variable.
    pub vars: Vec<Divergence>,
    /// Whether a variable has a value so far: it is assigned somewhere or is a parameter.
    assigned: Vec<bool>,
    spaces: Vec<Space>,
    ranges: IntegerRanges,
}

/// An enclosing statement that not all threads execute in the same way.
struct DivergentRegion {
    divergence: Divergence,
    occurrences: Vec<u32>,
    upward_exposed: HashSet<usize>,
}

impl Uniformity {
    /// Analyzes a function. Values are assumed to be uniform until an assignment contradicts it.
    pub fn of(function: &Function) -> Uniformity {
        let spaces = function.arrays.iter().map(|a| a.space).collect();
        let vars = vec![Divergence::BlockUniform; function.vars.len()];
        let mut assigned = vec![false; vars.len()];
        assigned[..function.params].fill(true);
        // A variable that is read before its assignment is zero.
        upward_exposed(&function.body).into_iter().for_each(|v| assigned[v] = true);
        let mut uniformity = Uniformity { vars, assigned, spaces, ranges: IntegerRanges::of(function) };
        let total = occurrences(&function.body, uniformity.vars.len());
        while uniformity.visit(&function.body, &total, &mut Vec::new()) {}
        uniformity
    }

    fn visit(&mut self, body: &[Stmt], total: &[u32], enclosing: &mut Vec<DivergentRegion>) -> bool {
        let mut changed = false;
        let depth = enclosing.len();
        // For each guess, the end of the statements that depend on it.
        let mut guesses: Vec<usize> = Vec::new();
        for (k, stmt) in body.iter().enumerate() {
            while guesses.pop_if(|end| *end <= k).is_some() {
                enclosing.pop();
            }
            match &stmt.kind {
                StmtKind::Assign(v, value) => {
                    let mut divergence = self.divergence(value);
                    if divergence == Divergence::Varying
                        && let rest = region(&body[k..])
                        && let Some(guess) = self.guess(*v, value, rest, total)
                    {
                        divergence = guess;
                        enclosing.push(DivergentRegion {
                            divergence: Divergence::Varying,
                            occurrences: occurrences(rest, total.len()),
                            upward_exposed: upward_exposed(rest),
                        });
                        guesses.push(k + rest.len());
                    }
                    changed |= self.assign(*v, divergence, total, enclosing);
                }
                kind => {
                    let blocks = kind.blocks();
                    if blocks.is_empty() {
                        continue;
                    }
                    let divergence = self.control(stmt);
                    if divergence != Divergence::BlockUniform {
                        let one = std::slice::from_ref(stmt);
                        enclosing.push(DivergentRegion {
                            divergence,
                            occurrences: occurrences(one, total.len()),
                            upward_exposed: upward_exposed(one),
                        });
                    }
                    if let StmtKind::For { var, start, step, .. } = kind {
                        let start = self.divergence(start);
                        let counter = if self.divergence(step).is_uniform() { start } else { Divergence::Varying };
                        changed |= self.assign(*var, counter, total, enclosing);
                    }
                    for block in blocks {
                        changed |= self.visit(block, total, enclosing);
                    }
                    if divergence != Divergence::BlockUniform {
                        enclosing.pop();
                    }
                }
            }
        }
        enclosing.truncate(depth);
        changed
    }

    /// Guesses the divergence of a comparison of linear numbers, or of the smaller or larger of a linear and a uniform
    /// number: mostly the same operand decides in all lanes. If not, each lane runs `rest` by itself, so `rest` must contain
    /// all uses of the variable.
    fn guess(&self, v: usize, e: &Expr, rest: &[Stmt], total: &[u32]) -> Option<Divergence> {
        let divergence = match &e.kind {
            _ if self.compares_linear(e) => Divergence::LaneUniform,
            Kind::Select(_, a, b) if e.dtype().is_some_and(|d| d.is_int()) => {
                match (self.divergence(a), self.divergence(b)) {
                    (Divergence::Linear(k), other) | (other, Divergence::Linear(k)) if other.is_uniform() => {
                        Divergence::Linear(k)
                    }
                    _ => return None,
                }
            }
            _ => return None,
        };
        let fits = occurrences(rest, total.len())[v] == total[v]
            && !upward_exposed(rest).contains(&v)
            && !exits_loop(rest, true);
        let mut assigned = 0;
        each_stmt(rest, &mut |stmt| assigned += usize::from(matches!(stmt.kind, StmtKind::Assign(w, _) if w == v)));
        (fits && assigned == 1).then_some(divergence)
    }

    /// Returns true if a bool depends only on comparisons of linear or uniform integers.
    fn compares_linear(&self, e: &Expr) -> bool {
        match &e.kind {
            Kind::Not(a) => self.compares_linear(a),
            Kind::And(a, b) | Kind::Or(a, b) => self.compares_linear(a) && self.compares_linear(b),
            Kind::Fun(fun, d, args) => {
                matches!(fun, Fun::Less | Fun::LessEqual | Fun::Greater | Fun::GreaterEqual)
                    && d.is_int()
                    && args.iter().all(|a| self.divergence(a) != Divergence::Varying)
            }
            _ => false,
        }
    }

    /// Returns true if a variable is assumed to be uniform or linear although its value is not known to be.
    pub fn is_guess(&self, v: usize, e: &Expr) -> bool {
        self.vars[v] != Divergence::Varying && self.divergence(e) == Divergence::Varying
    }

    /// Records an assignment. A divergent statement does not matter for a variable that is used only inside it.
    fn assign(&mut self, v: usize, divergence: Divergence, total: &[u32], enclosing: &[DivergentRegion]) -> bool {
        let mut divergence = divergence;
        for stmt in enclosing {
            if stmt.occurrences[v] != total[v] || stmt.upward_exposed.contains(&v) {
                divergence = match (stmt.divergence, divergence) {
                    (Divergence::LaneUniform, Divergence::BlockUniform) => Divergence::LaneUniform,
                    (Divergence::LaneUniform, divergence) => divergence,
                    _ => Divergence::Varying,
                };
            }
        }
        let (old, assigned) = (self.vars[v], std::mem::replace(&mut self.assigned[v], true));
        self.vars[v] = if assigned { old.join(divergence) } else { divergence };
        !assigned || self.vars[v] != old
    }

    /// Returns whether all threads, or all lanes, take the same path through a statement.
    pub fn control(&self, stmt: &Stmt) -> Divergence {
        let mut divergence = match &stmt.kind {
            StmtKind::If { test, .. } | StmtKind::While { test, .. } => self.divergence(test).control(),
            StmtKind::For { start, stop, step, .. } => [start, stop, step]
                .into_iter()
                .map(|e| self.divergence(e).control())
                .fold(Divergence::BlockUniform, Divergence::join),
            _ => Divergence::BlockUniform,
        };
        if let StmtKind::While { body, .. } | StmtKind::For { body, .. } = &stmt.kind {
            divergence = divergence.join(self.exit_divergence(body));
        }
        divergence
    }

    /// Returns the divergence of the exits from a loop's body.
    fn exit_divergence(&self, body: &[Stmt]) -> Divergence {
        let mut divergence = Divergence::BlockUniform;
        for stmt in body {
            if let StmtKind::If { then, orelse, .. } = &stmt.kind {
                if exits_loop(then, true) || exits_loop(orelse, true) {
                    divergence = divergence
                        .join(self.control(stmt))
                        .join(self.exit_divergence(then))
                        .join(self.exit_divergence(orelse));
                }
            } else if exits_loop(std::slice::from_ref(stmt), true) && !stmt.kind.blocks().is_empty() {
                // A `return` inside an inner loop.
                divergence = Divergence::Varying;
            }
        }
        divergence
    }

    /// Returns the divergence of an expression.
    pub fn divergence(&self, e: &Expr) -> Divergence {
        let all = |parts: &[&Expr]| {
            let divergences = parts.iter().map(|e| self.divergence(e));
            divergences
                .fold(Divergence::BlockUniform, |a, b| if b.is_uniform() { a.join(b) } else { Divergence::Varying })
        };
        match &e.kind {
            Kind::Const(_) | Kind::Nothing | Kind::Constant(_) => Divergence::BlockUniform,
            Kind::Var(v) => self.vars[*v],
            Kind::Declared(k) if self.spaces[*k] == Space::Local => Divergence::Varying,
            Kind::Declared(_) => Divergence::BlockUniform,
            Kind::Call(..) | Kind::Atomic { .. } | Kind::Cached { .. } => Divergence::Varying,
            Kind::Cast(from) => match self.divergence(from) {
                Divergence::Linear(k) => {
                    let (Some(a), Some(b)) = (from.dtype(), e.dtype()) else { return Divergence::Varying };
                    // A widening cast is linear only if the narrow value does not wrap around among the lanes.
                    let preserved = b.is_int() && (b.size() <= a.size() || self.ranges.bits(from) < 31);
                    if preserved { Divergence::Linear(k) } else { Divergence::Varying }
                }
                divergence => divergence,
            },
            Kind::Fun(fun, d, args) => {
                if d.is_int() {
                    let divergences: Vec<Divergence> = args.iter().map(|a| self.divergence(a)).collect();
                    let steps: Vec<Option<i64>> = divergences
                        .iter()
                        .map(|c| match c {
                            Divergence::Linear(k) => Some(*k),
                            Divergence::Varying => None,
                            _ => Some(0),
                        })
                        .collect();
                    let varies = divergences.iter().any(|c| !c.is_uniform());
                    match (fun, &steps[..]) {
                        (Fun::Add, [Some(a), Some(b)]) if varies => return Divergence::linear(a.wrapping_add(*b)),
                        (Fun::Subtract, [Some(a), Some(b)]) if varies => return Divergence::linear(a.wrapping_sub(*b)),
                        (Fun::Negative, [Some(a)]) if varies => return Divergence::linear(a.wrapping_neg()),
                        (Fun::Positive, [Some(a)]) if varies => return Divergence::linear(*a),
                        (Fun::Multiply, [Some(a), Some(b)]) if varies => {
                            let by =
                                |k: i64, e: &Expr| e.as_int().and_then(|n| k.checked_mul(n)).map(Divergence::linear);
                            return by(*a, &args[1]).or_else(|| by(*b, &args[0])).unwrap_or(Divergence::Varying);
                        }
                        _ => {}
                    }
                }
                all(&args.iter().collect::<Vec<_>>())
            }
            Kind::Builtin(row, args) => match row.host {
                "@threadIdx.x" => Divergence::Linear(1),
                "@threadIdx.y" | "@threadIdx.z" => Divergence::LaneUniform,
                "@syncthreads_count" | "@syncthreads_and" | "@syncthreads_or" | "@syncthreads" => {
                    Divergence::BlockUniform
                }
                host if host == LAST_THREAD_X.host => Divergence::BlockUniform,
                host if host.starts_with("@blockIdx")
                    || host.starts_with("@blockDim")
                    || host.starts_with("@gridDim") =>
                {
                    Divergence::BlockUniform
                }
                host if host.starts_with('@') || row.has_effect || row.synchronizes => Divergence::Varying,
                _ => all(&args.iter().collect::<Vec<_>>()),
            },
            Kind::Select(c, a, b) => {
                let (c, a, b) = (self.divergence(c), self.divergence(a), self.divergence(b));
                match c {
                    Divergence::BlockUniform => a.join(b),
                    Divergence::LaneUniform => {
                        a.join(b).join(if a.is_uniform() && b.is_uniform() { Divergence::LaneUniform } else { a })
                    }
                    _ => Divergence::Varying,
                }
            }
            Kind::Item(of, k) => match &of.kind {
                Kind::Tuple(items) => self.divergence(&items[*k]),
                _ => self.divergence(of).control(),
            },
            Kind::View(array, indices) => {
                let mut parts: Vec<&Expr> = vec![array];
                for index in indices {
                    match index {
                        Index::At(e) => parts.push(e),
                        Index::Slice(a, b, c) => parts.extend([a, b, c].into_iter().flatten()),
                        Index::New => {}
                    }
                }
                all(&parts)
            }
            _ => {
                let mut parts = Vec::new();
                e.each_operand(&mut |part| parts.push(part));
                all(&parts)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Var;
    use crate::table::row;
    use crate::types::{INT, Ty};
    use cuprous_core::DType;

    fn var(v: usize) -> Expr {
        Expr::new(INT, Kind::Var(v))
    }

    fn fun(fun: Fun, a: Expr, b: Expr) -> Expr {
        let ty = if fun == Fun::Less { crate::types::BOOL } else { INT };
        Expr::new(ty, Kind::Fun(fun, DType::I64, vec![a, b]))
    }

    fn stmt(kind: StmtKind) -> Stmt {
        Stmt { line: 1, kind }
    }

    fn thread() -> Expr {
        let index = row("cuda.threadIdx.x").map(|row| Kind::Builtin(row, Vec::new()));
        let index = Expr::new(Ty::Scalar(DType::I32), index.unwrap_or(Kind::Nothing));
        Expr::new(INT, Kind::Cast(Box::new(index)))
    }

    fn function(vars: usize, body: Vec<Stmt>) -> Function {
        Function {
            name: "f".into(),
            file: String::new(),
            lines: Vec::new(),
            first_line: 1,
            vars: vec![Var { name: "v".into(), ty: INT }; vars],
            params: 1,
            ret: Ty::None,
            body,
            arrays: Vec::new(),
            writes: Default::default(),
        }
    }

    #[test]
    fn functions_of_the_thread_index_are_linear() {
        // i = thread; if i < n: (j = 4 * i + n; k = n); l = k
        let inner = fun(Fun::Add, fun(Fun::Multiply, var(1), Expr::int(4)), var(0));
        let body = vec![
            stmt(StmtKind::Assign(1, thread())),
            stmt(StmtKind::If {
                test: fun(Fun::Less, var(1), var(0)),
                then: vec![stmt(StmtKind::Assign(2, inner)), stmt(StmtKind::Assign(3, var(0)))],
                orelse: Vec::new(),
            }),
            stmt(StmtKind::Assign(4, var(3))),
        ];
        let uniformity = Uniformity::of(&function(5, body));
        // Outside the branch the values vary, because not all threads took it.
        assert_eq!(
            uniformity.vars,
            [
                Divergence::BlockUniform,
                Divergence::Linear(1),
                Divergence::Linear(4),
                Divergence::Varying,
                Divergence::Varying
            ]
        );
    }

    #[test]
    fn a_divergent_loop_makes_its_variables_vary() {
        let step = fun(Fun::Add, var(1), Expr::int(1));
        let count = |test: Expr| {
            let body = vec![stmt(StmtKind::Assign(1, step.clone()))];
            let first = stmt(StmtKind::Assign(1, Expr::int(0)));
            Uniformity::of(&function(2, vec![first, stmt(StmtKind::While { test, body })])).vars[1]
        };
        assert_eq!(count(fun(Fun::Less, var(1), var(0))), Divergence::BlockUniform);
        assert_eq!(count(fun(Fun::Less, var(1), thread())), Divergence::Varying);
    }

    #[test]
    fn an_early_return_becomes_a_branch() {
        let mut kernel = function(
            2,
            vec![
                stmt(StmtKind::If {
                    test: fun(Fun::Less, var(0), Expr::int(3)),
                    then: vec![stmt(StmtKind::Return(None))],
                    orelse: Vec::new(),
                }),
                stmt(StmtKind::Assign(1, var(0))),
            ],
        );
        crate::prepare::prepare(&mut kernel, false);
        let [Stmt { kind: StmtKind::If { then, orelse, .. }, .. }] = &kernel.body[..] else { panic!("{kernel:?}") };
        assert!(then.is_empty() && matches!(orelse[..], [Stmt { kind: StmtKind::Assign(1, _), .. }]));
    }
}
