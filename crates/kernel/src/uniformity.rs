//! How the values of a kernel differ among the threads of a block: what devices need to know that run several threads at
//! a time, as lanes of vectors, or all threads of a block in turn from one barrier to the next.
//!
//! Lanes are threads that differ in `threadIdx.x` alone. They go through a statement together only where all take the same
//! way; where they do not, each runs the whole statement by itself, and then its variables differ.

use std::collections::HashSet;

use cuprous_core::Fun;

use crate::builtin::LAST;
use crate::flow::{exposed, leaves, occurrences, region};
use crate::integer_ranges::Sizes;
use crate::ir::{Expr, Function, Index, Kind, Space, Stmt, StmtKind, each_stmt};

/// How a value differs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// The same in all threads of a block.
    Block,
    /// The same in all lanes.
    Row,
    /// An integer that grows by so much from lane to lane.
    Step(i64),
    /// Nothing is known.
    Each,
}

impl Class {
    /// What holds for values that are of either class.
    pub fn join(self, other: Class) -> Class {
        match (self, other) {
            (a, b) if a == b => a,
            (Class::Block | Class::Row, Class::Block | Class::Row) => Class::Row,
            _ => Class::Each,
        }
    }

    /// Whether all lanes have the same.
    pub fn is_same(self) -> bool {
        matches!(self, Class::Block | Class::Row)
    }

    fn step(k: i64) -> Class {
        if k == 0 { Class::Row } else { Class::Step(k) }
    }

    /// Of a choice by such a value.
    fn control(self) -> Class {
        if self.is_same() { self } else { Class::Each }
    }
}

/// The classes of a function's variables.
pub struct Lanes {
    /// By variable.
    pub vars: Vec<Class>,
    /// Whether a value is known of: assigned somewhere, or there from the beginning.
    seen: Vec<bool>,
    spaces: Vec<Space>,
    sizes: Sizes,
}

/// A statement around another one, with a choice that is not the same for all threads.
struct Around {
    class: Class,
    occurrences: Vec<u32>,
    exposed: HashSet<usize>,
}

impl Lanes {
    /// The classes: everything is taken for the same until an assignment says otherwise.
    pub fn of(function: &Function) -> Lanes {
        let spaces = function.arrays.iter().map(|a| a.space).collect();
        let vars = vec![Class::Block; function.vars.len()];
        let mut seen = vec![false; vars.len()];
        seen[..function.params].fill(true);
        // What may be read before it is assigned is zero at first.
        exposed(&function.body).into_iter().for_each(|v| seen[v] = true);
        let mut lanes = Lanes { vars, seen, spaces, sizes: Sizes::of(function) };
        let total = occurrences(&function.body, lanes.vars.len());
        while lanes.walk(&function.body, &total, &mut Vec::new()) {}
        lanes
    }

    fn walk(&mut self, body: &[Stmt], total: &[u32], around: &mut Vec<Around>) -> bool {
        let mut changed = false;
        let depth = around.len();
        // Where the rest ends that each guess is about.
        let mut guesses: Vec<usize> = Vec::new();
        for (k, stmt) in body.iter().enumerate() {
            while guesses.pop_if(|end| *end <= k).is_some() {
                around.pop();
            }
            match &stmt.kind {
                StmtKind::Assign(v, value) => {
                    let mut class = self.class(value);
                    if class == Class::Each
                        && let rest = region(&body[k..])
                        && let Some(guess) = self.guess(*v, value, rest, total)
                    {
                        class = guess;
                        around.push(Around {
                            class: Class::Each,
                            occurrences: occurrences(rest, total.len()),
                            exposed: exposed(rest),
                        });
                        guesses.push(k + rest.len());
                    }
                    changed |= self.raise(*v, class, total, around);
                }
                kind => {
                    let blocks = kind.blocks();
                    if blocks.is_empty() {
                        continue;
                    }
                    let class = self.control(stmt);
                    if class != Class::Block {
                        let one = std::slice::from_ref(stmt);
                        around.push(Around {
                            class,
                            occurrences: occurrences(one, total.len()),
                            exposed: exposed(one),
                        });
                    }
                    if let StmtKind::For { var, start, step, .. } = kind {
                        let start = self.class(start);
                        let counter = if self.class(step).is_same() { start } else { Class::Each };
                        changed |= self.raise(*var, counter, total, around);
                    }
                    for block in blocks {
                        changed |= self.walk(block, total, around);
                    }
                    if class != Class::Block {
                        around.pop();
                    }
                }
            }
        }
        around.truncate(depth);
        changed
    }

    /// The class of the greater or lesser of a number that grows evenly and one that does not: mostly one of the two in all
    /// lanes. Where they differ, each lane runs the `rest` by itself, which therefore must be all that knows the variable.
    fn guess(&self, v: usize, e: &Expr, rest: &[Stmt], total: &[u32]) -> Option<Class> {
        let class = match &e.kind {
            _ if self.compares(e) => Class::Row,
            Kind::Select(_, a, b) if e.dtype().is_some_and(|d| d.is_int()) => match (self.class(a), self.class(b)) {
                (Class::Step(k), other) | (other, Class::Step(k)) if other.is_same() => Class::Step(k),
                _ => return None,
            },
            _ => return None,
        };
        let fits = occurrences(rest, total.len())[v] == total[v] && !exposed(rest).contains(&v) && !leaves(rest, true);
        let mut assigned = 0;
        each_stmt(rest, &mut |stmt| assigned += usize::from(matches!(stmt.kind, StmtKind::Assign(w, _) if w == v)));
        (fits && assigned == 1).then_some(class)
    }

    /// Whether a truth value is made of comparisons of integers that grow evenly.
    fn compares(&self, e: &Expr) -> bool {
        match &e.kind {
            Kind::Not(a) => self.compares(a),
            Kind::And(a, b) | Kind::Or(a, b) => self.compares(a) && self.compares(b),
            Kind::Fun(fun, d, args) => {
                matches!(fun, Fun::Less | Fun::LessEqual | Fun::Greater | Fun::GreaterEqual)
                    && d.is_int()
                    && args.iter().all(|a| self.class(a) != Class::Each)
            }
            _ => false,
        }
    }

    /// Whether a variable is taken to grow evenly, or for the same, though nothing says so of the value that it is given.
    pub fn is_guess(&self, v: usize, e: &Expr) -> bool {
        self.vars[v] != Class::Each && self.class(e) == Class::Each
    }

    /// A variable of which nothing is left after a statement is of no concern to the statement's choice.
    fn raise(&mut self, v: usize, class: Class, total: &[u32], around: &[Around]) -> bool {
        let mut class = class;
        for stmt in around {
            if stmt.occurrences[v] != total[v] || stmt.exposed.contains(&v) {
                class = match (stmt.class, class) {
                    (Class::Row, Class::Block) => Class::Row,
                    (Class::Row, class) => class,
                    _ => Class::Each,
                };
            }
        }
        let (old, seen) = (self.vars[v], std::mem::replace(&mut self.seen[v], true));
        self.vars[v] = if seen { old.join(class) } else { class };
        !seen || self.vars[v] != old
    }

    /// Whether all threads, or lanes, go the same way through a statement.
    pub fn control(&self, stmt: &Stmt) -> Class {
        let mut class = match &stmt.kind {
            StmtKind::If { test, .. } | StmtKind::While { test, .. } => self.class(test).control(),
            StmtKind::For { start, stop, step, .. } => {
                [start, stop, step].into_iter().map(|e| self.class(e).control()).fold(Class::Block, Class::join)
            }
            _ => Class::Block,
        };
        if let StmtKind::While { body, .. } | StmtKind::For { body, .. } = &stmt.kind {
            class = class.join(self.exits(body));
        }
        class
    }

    /// Of the ways out of a loop's body.
    fn exits(&self, body: &[Stmt]) -> Class {
        let mut class = Class::Block;
        for stmt in body {
            if let StmtKind::If { then, orelse, .. } = &stmt.kind {
                if leaves(then, true) || leaves(orelse, true) {
                    class = class.join(self.control(stmt)).join(self.exits(then)).join(self.exits(orelse));
                }
            } else if leaves(std::slice::from_ref(stmt), true) && !stmt.kind.blocks().is_empty() {
                // `return` from an inner loop.
                class = Class::Each;
            }
        }
        class
    }

    /// The class of an expression.
    pub fn class(&self, e: &Expr) -> Class {
        let all = |parts: &[&Expr]| {
            let classes = parts.iter().map(|e| self.class(e));
            classes.fold(Class::Block, |a, b| if b.is_same() { a.join(b) } else { Class::Each })
        };
        match &e.kind {
            Kind::Const(_) | Kind::Nothing | Kind::Constant(_) => Class::Block,
            Kind::Var(v) => self.vars[*v],
            Kind::Declared(k) if self.spaces[*k] == Space::Local => Class::Each,
            Kind::Declared(_) => Class::Block,
            Kind::Call(..) | Kind::Atomic { .. } => Class::Each,
            Kind::Cast(from) => match self.class(from) {
                Class::Step(k) => {
                    let (Some(a), Some(b)) = (from.dtype(), e.dtype()) else { return Class::Each };
                    // What is made wider must not have wrapped around among the lanes.
                    let kept = b.is_int() && (b.size() <= a.size() || self.sizes.bits(from) < 31);
                    if kept { Class::Step(k) } else { Class::Each }
                }
                class => class,
            },
            Kind::Fun(fun, d, args) => {
                if d.is_int() {
                    let classes: Vec<Class> = args.iter().map(|a| self.class(a)).collect();
                    let steps: Vec<Option<i64>> = classes
                        .iter()
                        .map(|c| match c {
                            Class::Step(k) => Some(*k),
                            Class::Each => None,
                            _ => Some(0),
                        })
                        .collect();
                    let moves = classes.iter().any(|c| !c.is_same());
                    match (fun, &steps[..]) {
                        (Fun::Add, [Some(a), Some(b)]) if moves => return Class::step(a.wrapping_add(*b)),
                        (Fun::Subtract, [Some(a), Some(b)]) if moves => return Class::step(a.wrapping_sub(*b)),
                        (Fun::Negative, [Some(a)]) if moves => return Class::step(a.wrapping_neg()),
                        (Fun::Positive, [Some(a)]) if moves => return Class::step(*a),
                        (Fun::Multiply, [Some(a), Some(b)]) if moves => {
                            let by = |k: i64, e: &Expr| e.as_int().and_then(|n| k.checked_mul(n)).map(Class::step);
                            return by(*a, &args[1]).or_else(|| by(*b, &args[0])).unwrap_or(Class::Each);
                        }
                        _ => {}
                    }
                }
                all(&args.iter().collect::<Vec<_>>())
            }
            Kind::Builtin(row, args) => match row.host {
                "@threadIdx.x" => Class::Step(1),
                "@threadIdx.y" | "@threadIdx.z" => Class::Row,
                "@syncthreads_count" | "@syncthreads_and" | "@syncthreads_or" | "@syncthreads" => Class::Block,
                host if host == LAST.host => Class::Block,
                host if host.starts_with("@blockIdx")
                    || host.starts_with("@blockDim")
                    || host.starts_with("@gridDim") =>
                {
                    Class::Block
                }
                host if host.starts_with('@') || row.effect || row.waits => Class::Each,
                _ => all(&args.iter().collect::<Vec<_>>()),
            },
            Kind::Select(c, a, b) => {
                let (c, a, b) = (self.class(c), self.class(a), self.class(b));
                match c {
                    Class::Block => a.join(b),
                    Class::Row => a.join(b).join(if a.is_same() && b.is_same() { Class::Row } else { a }),
                    _ => Class::Each,
                }
            }
            Kind::Item(of, k) => match &of.kind {
                Kind::Tuple(items) => self.class(&items[*k]),
                _ => self.class(of).control(),
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
                e.parts(&mut |part| parts.push(part));
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
        let place = row("cuda.threadIdx.x").map(|row| Kind::Builtin(row, Vec::new()));
        let place = Expr::new(Ty::Scalar(DType::I32), place.unwrap_or(Kind::Nothing));
        Expr::new(INT, Kind::Cast(Box::new(place)))
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
    fn numbers_that_follow_from_the_thread_grow_evenly() {
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
        let lanes = Lanes::of(&function(5, body));
        // What is known outside of the choice differs there: not all threads went in.
        assert_eq!(lanes.vars, [Class::Block, Class::Step(1), Class::Step(4), Class::Each, Class::Each]);
    }

    #[test]
    fn a_loop_that_threads_leave_at_different_turns_makes_its_variables_differ() {
        let step = fun(Fun::Add, var(1), Expr::int(1));
        let count = |test: Expr| {
            let body = vec![stmt(StmtKind::Assign(1, step.clone()))];
            let first = stmt(StmtKind::Assign(1, Expr::int(0)));
            Lanes::of(&function(2, vec![first, stmt(StmtKind::While { test, body })])).vars[1]
        };
        assert_eq!(count(fun(Fun::Less, var(1), var(0))), Class::Block);
        assert_eq!(count(fun(Fun::Less, var(1), thread())), Class::Each);
    }

    #[test]
    fn an_early_return_is_the_choice_of_what_follows() {
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
