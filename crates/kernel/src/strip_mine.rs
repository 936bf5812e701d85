//! Strip mining of grid-stride loops, for devices that run the threads of a block one after another.
//!
//! In `for i in range(cuda.grid(1), n, cuda.gridsize(1))`, neighboring threads access neighboring elements, and
//! consecutive iterations of a thread are far apart. Running each thread to the end of the loop touches a page for
//! every iteration and uses a few bytes of it. Running one iteration of all threads at a time keeps nothing in
//! registers. So all threads run [`STRIP`] iterations, then the next ones, with a barrier in between. That is valid
//! because the threads of a block are not ordered. See strip mining and loop interchange (M. Wolfe, "More Iteration
//! Space Tiling", Supercomputing 1989).

use std::collections::HashMap;

use cuprous_core::scalar::Number;
use cuprous_core::{DType, Fun};

use crate::builtin::LAST_THREAD_X;
use crate::flow::{exits_loop, occurrences, upward_exposed};
use crate::integer_ranges::IntegerRanges;
use crate::ir::{Expr, Function, Kind, Space, Stmt, StmtKind, Var, VarId, any_expr, each_stmt};
use crate::rematerialize::Rematerializable;
use crate::rewrite::{rename, rewrite_expr};
use crate::table::row;
use crate::types::{BOOL, INT, Ty};
use crate::uniformity::{Divergence, Uniformity};

/// The iterations that a thread runs before the next thread does.
const STRIP: i64 = 4;
/// The bits of loop counters, so that the arithmetic does not overflow.
const MAX_BITS: u32 = 60;
/// The bytes that a thread may carry from one iteration to the next, because they go through memory.
const MAX_CARRIED_BYTES: usize = 32;

/// Strip-mines the loops of a kernel, which then has barriers. Returns true if there were any.
pub fn strip_mine(function: &mut Function) -> bool {
    // The local arrays of all threads would have to be kept at the same time.
    if function.arrays.iter().any(|array| array.space == Space::Local) {
        return false;
    }
    let (uniformity, rematerializable, ranges) =
        (Uniformity::of(function), Rematerializable::of(function), IntegerRanges::of(function));
    let total = occurrences(&function.body, function.vars.len());
    let mut body = std::mem::take(&mut function.body);
    let mut miner = StripMiner { function, uniformity, rematerializable, ranges, total, found: false };
    miner.block(&mut body);
    let found = miner.found;
    function.body = body;
    found
}

struct StripMiner<'a> {
    function: &'a mut Function,
    uniformity: Uniformity,
    rematerializable: Rematerializable,
    ranges: IntegerRanges,
    total: Vec<u32>,
    found: bool,
}

fn fun(fun: Fun, a: Expr, b: Expr) -> Expr {
    Expr::new(INT, Kind::Fun(fun, DType::I64, vec![a, b]))
}

fn compare(f: Fun, a: Expr, b: Expr) -> Expr {
    Expr::new(BOOL, Kind::Fun(f, DType::I64, vec![a, b]))
}

fn var(v: VarId) -> Expr {
    Expr::new(INT, Kind::Var(v))
}

impl StripMiner<'_> {
    /// Visits statements that all threads of a block execute.
    fn block(&mut self, body: &mut Vec<Stmt>) {
        for mut stmt in std::mem::take(body) {
            if let Some(last) = self.last_start(&stmt) {
                self.found = true;
                body.extend(self.split(stmt, last));
                continue;
            }
            if self.uniformity.control(&stmt) == Divergence::BlockUniform {
                match &mut stmt.kind {
                    StmtKind::If { then, orelse, .. } => {
                        self.block(then);
                        self.block(orelse);
                    }
                    StmtKind::While { body, .. } | StmtKind::For { body, .. } => self.block(body),
                    _ => {}
                }
            }
            body.push(stmt);
        }
    }

    /// Returns the value at which the last thread of a block starts a loop, if the loop is worth strip-mining.
    fn last_start(&self, stmt: &Stmt) -> Option<Expr> {
        let StmtKind::For { var, start, stop, step, body } = &stmt.kind else { return None };
        let Divergence::Linear(1..) = self.uniformity.divergence(start) else { return None };
        let uniform = [stop, step].into_iter().all(|e| self.uniformity.divergence(e) == Divergence::BlockUniform);
        let small = start.ty == INT && self.ranges.is_non_negative(start) && self.ranges.bits(start) <= MAX_BITS;
        let private = occurrences(std::slice::from_ref(stmt), self.total.len())[*var] == self.total[*var];
        let waits = any_expr(body, &mut |e| matches!(&e.kind, Kind::Builtin(row, _) if row.synchronizes));
        let simple = !waits && !exits_loop(body, true) && !has_loop(body);
        if !uniform
            || !small
            || !private
            || !simple
            || !self.accesses_adjacent_elements(body)
            || !self.carries_little(*var, body)
        {
            return None;
        }
        let mut last = self.rematerializable.expand(start)?;
        let mut along = true;
        rewrite_expr(&mut last, &mut |e| {
            let Kind::Builtin(row, _) = &e.kind else { return };
            match row.host {
                "@threadIdx.x" => e.kind = Kind::Builtin(&LAST_THREAD_X, Vec::new()),
                "@threadIdx.y" | "@threadIdx.z" => along = false,
                _ => {}
            }
        });
        along.then_some(last)
    }

    /// Returns true if a body accesses an array at neighboring elements in neighboring threads.
    fn accesses_adjacent_elements(&self, body: &[Stmt]) -> bool {
        let steps = |array: &Expr, indices: &[Expr]| {
            let own = matches!(array.kind, Kind::Declared(_));
            !own && indices.last().is_some_and(|i| matches!(self.uniformity.divergence(i), Divergence::Linear(_)))
        };
        let mut stores = false;
        each_stmt(body, &mut |stmt| {
            stores |= matches!(&stmt.kind, StmtKind::Store { array, indices, .. } if steps(array, indices));
        });
        stores || any_expr(body, &mut |e| matches!(&e.kind, Kind::Load(array, indices) if steps(array, indices)))
    }

    /// Returns true if a thread carries little data from one iteration to the next.
    fn carries_little(&self, counter: VarId, body: &[Stmt]) -> bool {
        let differs = |&v: &VarId| {
            v != counter
                && self.uniformity.vars[v] != Divergence::BlockUniform
                && self.rematerializable.get(v).is_none()
        };
        let carried: Vec<VarId> = upward_exposed(body).into_iter().filter(differs).collect();
        let types = || carried.iter().map(|&v| &self.function.vars[v].ty);
        types().all(|ty| ty.scalar().is_some()) && types().map(Ty::item_size).sum::<usize>() <= MAX_CARRIED_BYTES
    }

    /// Creates copies of the variables that only this loop uses. The strips and the remainder loop then have separate
    /// variables, because only the remainder makes threads diverge.
    fn duplicate_private_variables(&mut self, counter: VarId, body: &[Stmt]) -> HashMap<VarId, VarId> {
        let counts = occurrences(body, self.total.len());
        let exposed = upward_exposed(body);
        let all = counts.iter().zip(&self.total).enumerate();
        let own = all.filter(|(v, (here, all))| *v == counter || **here > 0 && here == all && !exposed.contains(v));
        let own: Vec<VarId> = own.map(|(v, _)| v).collect();
        let mut other = |v: VarId| {
            let of = self.function.vars[v].clone();
            self.function.vars.push(of);
            (v, self.function.vars.len() - 1)
        };
        own.into_iter().map(&mut other).collect()
    }

    fn variable(&mut self, name: &str) -> VarId {
        self.function.vars.push(Var { name: name.into(), ty: INT });
        self.function.vars.len() - 1
    }

    /// Returns the loop over strips, which all threads run, and the remainder loop.
    fn split(&mut self, stmt: Stmt, last: Expr) -> Vec<Stmt> {
        let line = stmt.line;
        let new = |kind: StmtKind| Stmt { line, kind };
        let StmtKind::For { var: i, start, stop, step, body } = stmt.kind else { return vec![stmt] };
        let [first, end, by, at, limit, done, iteration] =
            ["first", "end", "by", "at", "limit", "done", "iteration"].map(|name| self.variable(name));
        let int = |n: i64| Expr::number(Number::Int(n.into()), DType::I64);
        let less = |a: Expr, b: Expr| compare(Fun::Less, a, b);
        let and = |a: Expr, b: Expr| Expr::new(BOOL, Kind::And(Box::new(a), Box::new(b)));
        // Loops that count down or very far run entirely in the remainder.
        let regular = [
            less(int(0), var(by)),
            less(var(by), int(1 << 31)),
            less(var(at), var(end)),
            less(var(end), int(1 << MAX_BITS)),
        ];
        let regular = regular.into_iter().reduce(and).unwrap_or_else(|| Expr::bool(false));
        let full = fun(Fun::Subtract, var(end), fun(Fun::Multiply, var(by), int(STRIP - 1)));
        let limit_value = Expr::new(INT, Kind::Select(Box::new(regular), Box::new(full), Box::new(var(at))));
        // The distance is below `end`, so the mask keeps its value. It tells the range analysis that the index is not
        // negative.
        let from_first =
            |distance: Expr| fun(Fun::Add, var(first), fun(Fun::BitwiseAnd, distance, int((1 << MAX_BITS) - 1)));
        let distance = fun(Fun::Add, var(done), fun(Fun::Multiply, var(by), var(iteration)));
        let mut one = vec![new(StmtKind::Assign(i, from_first(distance)))];
        one.extend(body.iter().cloned());
        let duplicates = self.duplicate_private_variables(i, &body);
        rename(&mut one, &|v| duplicates.get(&v).copied().unwrap_or(v));
        let iterations = StmtKind::For { var: iteration, start: int(0), stop: int(STRIP), step: int(1), body: one };
        let next = |v: VarId| new(StmtKind::Assign(v, fun(Fun::Add, var(v), fun(Fun::Multiply, var(by), int(STRIP)))));
        let rest = StmtKind::For { var: i, start: from_first(var(done)), stop: var(end), step: var(by), body };
        vec![
            new(StmtKind::Assign(end, stop)),
            new(StmtKind::Assign(by, step)),
            new(StmtKind::Assign(at, last)),
            new(StmtKind::Assign(limit, limit_value)),
            new(StmtKind::Assign(done, int(0))),
            new(StmtKind::Assign(first, start)),
            new(StmtKind::While {
                test: less(var(at), var(limit)),
                body: vec![new(iterations), barrier(line), next(at), next(done)],
            }),
            new(rest),
        ]
    }
}

/// Returns true if a body contains a loop. Then memory access is not the bottleneck, or follows the inner loop.
fn has_loop(body: &[Stmt]) -> bool {
    let mut found = false;
    each_stmt(body, &mut |stmt| found |= matches!(stmt.kind, StmtKind::While { .. } | StmtKind::For { .. }));
    found
}

fn barrier(line: u32) -> Stmt {
    let all = Expr::number(Number::Int(u32::MAX.into()), DType::U32);
    let wait = row("cuda.syncwarp").map_or(Kind::Nothing, |row| Kind::Builtin(row, vec![all]));
    Stmt { line, kind: StmtKind::Eval(Expr::new(Ty::None, wait)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{ArrayTy, Order};

    fn index_builtin(name: &str) -> Expr {
        let kind = row(name).map_or(Kind::Nothing, |row| Kind::Builtin(row, Vec::new()));
        Expr::new(INT, Kind::Cast(Box::new(Expr::new(Ty::Scalar(DType::I32), kind))))
    }

    /// `for i in range(thread, n, by): total += a[i]`, with the variables `a`, `n`, `i` and `total`.
    fn summed(by: Expr, inner: Option<StmtKind>) -> Function {
        let stmt = |kind: StmtKind| Stmt { line: 1, kind };
        let array = Ty::Array(ArrayTy::new(DType::I64, 1, Order::C));
        let a = Expr::new(array.clone(), Kind::Var(0));
        let load = Expr::new(INT, Kind::Load(Box::new(a), vec![var(2)]));
        let mut body = vec![stmt(StmtKind::Assign(3, fun(Fun::Add, var(3), load)))];
        body.extend(inner.map(stmt));
        let start = index_builtin("cuda.threadIdx.x");
        let iterations = StmtKind::For { var: 2, start, stop: var(1), step: by, body };
        let var = |name: &str, ty: &Ty| Var { name: name.into(), ty: ty.clone() };
        Function {
            name: "f".into(),
            file: String::new(),
            lines: Vec::new(),
            first_line: 1,
            vars: vec![var("a", &array), var("n", &INT), var("i", &INT), var("total", &INT)],
            params: 2,
            ret: Ty::None,
            body: vec![stmt(StmtKind::Assign(3, Expr::int(0))), stmt(iterations)],
            arrays: Vec::new(),
            writes: Default::default(),
        }
    }

    #[test]
    fn all_threads_run_a_strip_between_barriers() {
        let mut function = summed(index_builtin("cuda.blockDim.x"), None);
        assert!(strip_mine(&mut function));
        let uniformity = Uniformity::of(&function);
        let mut iterations = 0;
        each_stmt(&function.body, &mut |stmt| {
            if let StmtKind::While { body, .. } = &stmt.kind {
                assert_eq!(uniformity.control(stmt), Divergence::BlockUniform, "all threads of a block stay together");
                assert!(
                    matches!(&body[1].kind, StmtKind::Eval(e) if matches!(&e.kind, Kind::Builtin(row, _) if row.synchronizes))
                );
                iterations += 1;
            }
            if let StmtKind::Assign(i, e) = &stmt.kind
                && function.vars[*i].name == "i"
            {
                assert_eq!(uniformity.divergence(e), Divergence::Linear(1));
                assert!(IntegerRanges::of(&function).is_non_negative(e));
                iterations += 1;
            }
        });
        assert_eq!(iterations, 2);
    }

    #[test]
    fn unsuitable_loops_are_not_strip_mined() {
        assert!(!strip_mine(&mut summed(var(3), None)), "a divergent step");
        let inner = StmtKind::While { test: Expr::bool(false), body: Vec::new() };
        assert!(!strip_mine(&mut summed(index_builtin("cuda.blockDim.x"), Some(inner))), "an inner loop");
        assert!(!strip_mine(&mut summed(index_builtin("cuda.blockDim.x"), Some(StmtKind::Break))), "a break");
    }
}
