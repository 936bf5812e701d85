//! The live ranges of a function's names (SSA webs): which assignments reach which uses. All occurrences of a name that
//! are connected this way are one variable with one type. A name that is used for two unrelated purposes has two live
//! ranges, as in Numba's SSA form.

use std::collections::{BTreeSet, HashMap};

use crate::ast::{Expr, ExprKind, Function, Name, Stmt, StmtKind};

/// The live ranges of a function.
#[derive(Debug)]
pub struct LiveRanges {
    /// The live range of each occurrence, by [`Name::id`]. `None` for a use that no assignment reaches.
    of: Vec<Option<usize>>,
    /// The name of each live range.
    pub names: Vec<String>,
    /// Whether each live range is the counter of a single loop: assigned only by its header and used only in its body.
    pub private: Vec<bool>,
    /// The number of assignments of each live range.
    pub assignments: Vec<u32>,
    /// Whether each occurrence, by [`Name::id`], is a use that may come before any assignment.
    maybe_unassigned: Vec<bool>,
}

/// Among reaching definitions: a path without an assignment.
const UNASSIGNED: u32 = u32::MAX;

impl LiveRanges {
    /// Returns the live range of an occurrence.
    pub fn of(&self, name: &Name) -> Option<usize> {
        self.of.get(name.id as usize).copied().flatten()
    }

    /// Returns true if an occurrence is a use that may come before any assignment.
    pub fn maybe_unassigned(&self, name: &Name) -> bool {
        self.maybe_unassigned.get(name.id as usize).copied().unwrap_or(false)
    }

    /// Returns for each live range whether it has such uses.
    pub fn tracked(&self) -> Vec<bool> {
        let mut tracked = vec![false; self.names.len()];
        for (range, maybe) in self.of.iter().zip(&self.maybe_unassigned) {
            if let (Some(range), true) = (*range, *maybe) {
                tracked[range] = true;
            }
        }
        tracked
    }
}

/// For each name, the assignments that may have been the last one.
type ReachingDefinitions = HashMap<String, BTreeSet<u32>>;

struct Builder {
    /// Union-find over occurrences.
    parent: Vec<u32>,
    used: Vec<bool>,
    maybe_unassigned: Vec<bool>,
    /// For each definition, the loop whose counter it assigns; 0 for other assignments.
    counter_of: Vec<usize>,
    defined: Vec<bool>,
    /// Uses, with the loops around them.
    uses: Vec<(u32, Vec<usize>)>,
    loops: Vec<usize>,
    /// For each enclosing loop, the definitions that reach a `continue` and those that reach a `break`.
    exits: Vec<(ReachingDefinitions, ReachingDefinitions)>,
}

/// Computes the live ranges of a function.
pub fn live_ranges(function: &Function) -> LiveRanges {
    let n = function.names as usize;
    let mut builder = Builder {
        parent: (0..n as u32).collect(),
        used: vec![false; n],
        maybe_unassigned: vec![false; n],
        counter_of: vec![0; n],
        defined: vec![false; n],
        uses: Vec::new(),
        loops: Vec::new(),
        exits: Vec::new(),
    };
    let mut names = vec![String::new(); n];
    collect(function, &mut names);
    let mut reaching: ReachingDefinitions =
        names.iter().map(|text| (text.clone(), BTreeSet::from([UNASSIGNED]))).collect();
    for param in &function.params {
        builder.define(&param.name, 0, &mut reaching);
    }
    builder.block(&function.body, &mut reaching);
    builder.finish(&names)
}

/// Collects the name of each occurrence.
fn collect(function: &Function, names: &mut [String]) {
    let mut record = |name: &Name| {
        if let Some(slot) = names.get_mut(name.id as usize) {
            slot.clone_from(&name.text);
        }
    };
    function.params.iter().for_each(|p| record(&p.name));
    for_each_name(&function.body, &mut record);
}

/// Calls `f` with each occurrence of a name in a block.
fn for_each_name(body: &[Stmt], f: &mut dyn FnMut(&Name)) {
    for stmt in body {
        match &stmt.kind {
            StmtKind::Assign { targets, value } => {
                names_in(value, f);
                targets.iter().for_each(|t| names_in(t, f));
            }
            StmtKind::AugAssign { target, value, .. } => {
                names_in(target, f);
                names_in(value, f);
            }
            StmtKind::If { test, body, orelse } | StmtKind::While { test, body, orelse } => {
                names_in(test, f);
                for_each_name(body, f);
                for_each_name(orelse, f);
            }
            StmtKind::For { target, iter, body, orelse } => {
                names_in(iter, f);
                names_in(target, f);
                for_each_name(body, f);
                for_each_name(orelse, f);
            }
            StmtKind::Return(Some(e)) | StmtKind::Expr(e) | StmtKind::Assert { test: e, .. } => names_in(e, f),
            StmtKind::Return(None)
            | StmtKind::Raise(..)
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Pass
            | StmtKind::Unsupported { .. } => {}
        }
    }
}

fn names_in(e: &Expr, f: &mut dyn FnMut(&Name)) {
    match &e.kind {
        ExprKind::Name(name) => f(name),
        ExprKind::Value(_) | ExprKind::Unsupported { .. } | ExprKind::Undefined(_) => {}
        ExprKind::Bin { left, right, .. } => {
            names_in(left, f);
            names_in(right, f);
        }
        ExprKind::Unary { operand, .. } | ExprKind::Starred(operand) => names_in(operand, f),
        ExprKind::Bool { values, .. } | ExprKind::Tuple(values) => values.iter().for_each(|v| names_in(v, f)),
        ExprKind::Compare { left, rest } => {
            names_in(left, f);
            rest.iter().for_each(|(_, v)| names_in(v, f));
        }
        ExprKind::IfExp { test, body, orelse } => [test, body, orelse].into_iter().for_each(|v| names_in(v, f)),
        ExprKind::Call { func, args, keywords } => {
            names_in(func, f);
            args.iter().for_each(|v| names_in(v, f));
            keywords.iter().for_each(|(_, v)| names_in(v, f));
        }
        ExprKind::Closure { captured, .. } => captured.iter().for_each(|(_, v)| names_in(v, f)),
        ExprKind::Attribute { value, .. } => names_in(value, f),
        ExprKind::Subscript { value, index } => {
            names_in(value, f);
            names_in(index, f);
        }
        ExprKind::Slice { start, stop, step } => {
            [start, stop, step].into_iter().flatten().for_each(|v| names_in(v, f));
        }
    }
}

/// Adds the definitions that reach a point on another path.
fn join(into: &mut ReachingDefinitions, from: &ReachingDefinitions) {
    for (name, defs) in from {
        into.entry(name.clone()).or_default().extend(defs);
    }
}

impl Builder {
    fn root(&mut self, mut id: u32) -> u32 {
        while self.parent[id as usize] != id {
            let up = self.parent[self.parent[id as usize] as usize];
            self.parent[id as usize] = up;
            id = up;
        }
        id
    }

    fn define(&mut self, name: &Name, counter_of: usize, reaching: &mut ReachingDefinitions) {
        self.defined[name.id as usize] = true;
        self.counter_of[name.id as usize] = counter_of;
        reaching.insert(name.text.clone(), BTreeSet::from([name.id]));
    }

    fn uses(&mut self, e: &Expr, reaching: &ReachingDefinitions) {
        let mut names = Vec::new();
        names_in(e, &mut |name| names.push(name.clone()));
        for name in names {
            self.use_name(&name, reaching);
        }
    }

    fn use_name(&mut self, name: &Name, reaching: &ReachingDefinitions) {
        let Some(defs) = reaching.get(&name.text) else { return };
        let unassigned = defs.contains(&UNASSIGNED);
        if defs.len() == usize::from(unassigned) {
            return;
        }
        self.used[name.id as usize] = true;
        self.maybe_unassigned[name.id as usize] |= unassigned;
        self.uses.push((name.id, self.loops.clone()));
        for &def in defs.iter().filter(|def| **def != UNASSIGNED) {
            let (a, b) = (self.root(name.id), self.root(def));
            self.parent[a.max(b) as usize] = a.min(b);
        }
    }

    fn target(&mut self, e: &Expr, counter_of: usize, reaching: &mut ReachingDefinitions) {
        match &e.kind {
            ExprKind::Name(name) => self.define(name, counter_of, reaching),
            ExprKind::Tuple(items) => items.iter().for_each(|item| self.target(item, 0, reaching)),
            _ => self.uses(e, reaching),
        }
    }

    /// Visits statements. Afterwards `reaching` holds the definitions that reach their end; it is empty if the end is
    /// unreachable.
    fn block(&mut self, body: &[Stmt], reaching: &mut ReachingDefinitions) {
        for stmt in body {
            self.stmt(stmt, reaching);
        }
    }

    fn stmt(&mut self, stmt: &Stmt, reaching: &mut ReachingDefinitions) {
        match &stmt.kind {
            StmtKind::Assign { targets, value } => {
                self.uses(value, reaching);
                targets.iter().for_each(|target| self.target(target, 0, reaching));
            }
            StmtKind::AugAssign { target, value, .. } => {
                self.uses(value, reaching);
                // One occurrence reads and writes the name, so old and new value belong to one live range.
                self.uses(target, reaching);
                if let ExprKind::Name(name) = &target.kind {
                    self.define(name, 0, reaching);
                }
            }
            StmtKind::If { test, body, orelse } => {
                self.uses(test, reaching);
                let mut other = reaching.clone();
                self.block(body, reaching);
                self.block(orelse, &mut other);
                join(reaching, &other);
            }
            StmtKind::While { test, body, orelse } => {
                self.iterate(reaching, |builder, reaching| {
                    builder.uses(test, reaching);
                    let skipped = reaching.clone();
                    builder.block(body, reaching);
                    skipped
                });
                self.exit_loop(orelse, reaching);
            }
            StmtKind::For { target, iter, body, orelse } => {
                self.uses(iter, reaching);
                // Identifies the loop; the same in every round of the fixed-point iteration.
                let this = std::ptr::from_ref(stmt) as usize;
                self.iterate(reaching, |builder, reaching| {
                    let skipped = reaching.clone();
                    builder.loops.push(this);
                    builder.target(target, this, reaching);
                    builder.block(body, reaching);
                    builder.loops.pop();
                    skipped
                });
                self.exit_loop(orelse, reaching);
            }
            StmtKind::Return(value) => {
                if let Some(e) = value {
                    self.uses(e, reaching);
                }
                reaching.clear();
            }
            StmtKind::Expr(e) | StmtKind::Assert { test: e, .. } => self.uses(e, reaching),
            StmtKind::Break => {
                if let Some((_, by_break)) = self.exits.last_mut() {
                    join(by_break, reaching);
                }
                reaching.clear();
            }
            StmtKind::Continue => {
                if let Some((by_continue, _)) = self.exits.last_mut() {
                    join(by_continue, reaching);
                }
                reaching.clear();
            }
            StmtKind::Raise(..) | StmtKind::Pass | StmtKind::Unsupported { .. } => {}
        }
    }

    /// Visits a loop until no new definition reaches its header. `iteration` returns the definitions that reach the
    /// regular end of the loop, which become `reaching`. [`Builder::exit_loop`] adds `else` and the definitions that
    /// leave by `break`.
    fn iterate(
        &mut self,
        reaching: &mut ReachingDefinitions,
        mut iteration: impl FnMut(&mut Builder, &mut ReachingDefinitions) -> ReachingDefinitions,
    ) {
        self.exits.push(Default::default());
        loop {
            let mut inside = reaching.clone();
            let end = iteration(self, &mut inside);
            let by_continue = self.exits.last().map(|e| e.0.clone()).unwrap_or_default();
            join(&mut inside, &by_continue);
            let mut head = reaching.clone();
            join(&mut head, &inside);
            if head == *reaching {
                *reaching = end;
                return;
            }
            *reaching = head;
        }
    }

    /// Ends a loop. In its `else`, `break` and `continue` belong to the enclosing loop.
    fn exit_loop(&mut self, orelse: &[Stmt], reaching: &mut ReachingDefinitions) {
        let (_, by_break) = self.exits.pop().unwrap_or_default();
        self.block(orelse, reaching);
        join(reaching, &by_break);
    }

    fn finish(mut self, texts: &[String]) -> LiveRanges {
        let n = self.parent.len();
        let mut range_of_root: HashMap<u32, usize> = HashMap::new();
        let maybe_unassigned = std::mem::take(&mut self.maybe_unassigned);
        let (names, private, assignments) = (Vec::new(), Vec::new(), Vec::new());
        let mut result = LiveRanges { of: vec![None; n], names, private, assignments, maybe_unassigned };
        let mut counters: Vec<Option<usize>> = Vec::new();
        for id in 0..n as u32 {
            if !self.used[id as usize] && !self.defined[id as usize] {
                continue;
            }
            let root = self.root(id);
            let range = *range_of_root.entry(root).or_insert_with(|| {
                result.names.push(texts[root as usize].clone());
                result.assignments.push(0);
                counters.push(None);
                result.names.len() - 1
            });
            result.of[id as usize] = Some(range);
            if self.defined[id as usize] {
                result.assignments[range] += 1;
                counters[range] = Some(self.counter_of[id as usize]);
            }
        }
        result.private = (0..counters.len())
            .map(|range| result.assignments[range] == 1 && counters[range].is_some_and(|c| c > 0))
            .collect();
        for (id, loops) in &self.uses {
            if let Some(range) = result.of[*id as usize]
                && let Some(counter) = counters[range]
                && !loops.contains(&counter)
            {
                result.private[range] = false;
            }
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ast::{Param, Pos, Value};
    use cuprous_core::scalar::Number;

    fn name(text: &str, id: u32) -> Name {
        Name { text: text.into(), id }
    }

    fn load(text: &str, id: u32) -> Expr {
        Expr { pos: Pos::default(), kind: ExprKind::Name(name(text, id)) }
    }

    fn one() -> Expr {
        Expr { pos: Pos::default(), kind: ExprKind::Value(Value::Number(Number::Int(1))) }
    }

    fn stmt(kind: StmtKind) -> Stmt {
        Stmt { pos: Pos::default(), kind }
    }

    fn assign(target: Expr, value: Expr) -> Stmt {
        stmt(StmtKind::Assign { targets: vec![target], value })
    }

    #[test]
    fn unrelated_uses_of_a_name_are_separate_live_ranges() {
        // def f(n): x = 1; y = x; x = n; (while x: x = y)
        let body = vec![
            assign(load("x", 1), one()),
            assign(load("y", 2), load("x", 3)),
            assign(load("x", 4), load("n", 5)),
            stmt(StmtKind::While {
                test: load("x", 6),
                body: vec![assign(load("x", 7), load("y", 8))],
                orelse: Vec::new(),
            }),
        ];
        let params = vec![Param { name: name("n", 0), default: None }];
        let live_ranges = live_ranges(&Function { params, body, names: 9, ..Function::default() });
        let of = |id| live_ranges.of(&name("", id));
        assert_eq!(of(1), of(3));
        assert_ne!(of(1), of(4));
        assert_eq!(of(4), of(6));
        assert_eq!(of(6), of(7));
        assert_eq!(of(2), of(8));
    }

    #[test]
    fn uses_that_may_come_before_an_assignment_are_found() {
        // def f(n): if n: x = 1; (return) else: x = 2; y = x; (if n: z = 1); y = z
        let branch = |target, returns: bool| {
            let end = returns.then(|| stmt(StmtKind::Return(None)));
            std::iter::once(assign(load("x", target), one())).chain(end).collect::<Vec<_>>()
        };
        let body = vec![
            stmt(StmtKind::If { test: load("n", 1), body: branch(2, false), orelse: branch(3, false) }),
            assign(load("y", 4), load("x", 5)),
            stmt(StmtKind::If { test: load("n", 6), body: vec![assign(load("z", 7), one())], orelse: Vec::new() }),
            assign(load("y", 8), load("z", 9)),
            stmt(StmtKind::Expr(load("w", 10))),
        ];
        let params = vec![Param { name: name("n", 0), default: None }];
        let live_ranges = live_ranges(&Function { params, body, names: 11, ..Function::default() });
        let maybe = |id| live_ranges.maybe_unassigned(&name("", id));
        assert!(!maybe(5) && maybe(9) && !maybe(6));
        assert_eq!(live_ranges.of(&name("", 10)), None);
        assert_eq!(live_ranges.tracked().iter().filter(|t| **t).count(), 1);
    }

    #[test]
    fn a_counter_is_private_until_it_is_used_outside() {
        let count = |target, after: Vec<Stmt>| {
            let iteration = stmt(StmtKind::For {
                target: load("i", target),
                iter: one(),
                body: vec![stmt(StmtKind::Expr(load("i", target + 1)))],
                orelse: Vec::new(),
            });
            std::iter::once(iteration).chain(after).collect::<Vec<_>>()
        };
        let inside = live_ranges(&Function { body: count(0, Vec::new()), names: 3, ..Function::default() });
        assert!(inside.private[0]);
        let after = vec![stmt(StmtKind::Expr(load("i", 2)))];
        let outside = live_ranges(&Function { body: count(0, after), names: 3, ..Function::default() });
        assert!(!outside.private[0]);
    }
}
