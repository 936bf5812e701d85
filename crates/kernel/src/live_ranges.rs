//! Which assignments reach which uses. Occurrences of a name that belong together are a *web*: one variable with one
//! type. A name that is used for two things, one after the other, is two webs, as Numba's SSA form has it.

use std::collections::{BTreeSet, HashMap};

use crate::ast::{Expr, ExprKind, Function, Name, Stmt, StmtKind};

/// The webs of a function.
#[derive(Debug)]
pub struct Webs {
    /// The web of each occurrence, by [`Name::id`]; `None` for a use that no assignment reaches.
    of: Vec<Option<usize>>,
    /// The name of each web.
    pub names: Vec<String>,
    /// Whether each web's counter belongs to one loop alone: assigned there only and used only inside.
    pub private: Vec<bool>,
    /// How many assignments each web has.
    pub assignments: Vec<u32>,
    /// For each occurrence, by [`Name::id`], whether it is a use that some path reaches without an assignment.
    maybe_unassigned: Vec<bool>,
}

/// Stands among reaching assignments for a path without one.
const UNASSIGNED: u32 = u32::MAX;

impl Webs {
    /// The web of an occurrence.
    pub fn of(&self, name: &Name) -> Option<usize> {
        self.of.get(name.id as usize).copied().flatten()
    }

    /// Returns true if an occurrence is a use that some path reaches without an assignment.
    pub fn maybe_unassigned(&self, name: &Name) -> bool {
        self.maybe_unassigned.get(name.id as usize).copied().unwrap_or(false)
    }

    /// Returns for each web whether it has such uses.
    pub fn tracked(&self) -> Vec<bool> {
        let mut tracked = vec![false; self.names.len()];
        for (web, maybe) in self.of.iter().zip(&self.maybe_unassigned) {
            if let (Some(web), true) = (*web, *maybe) {
                tracked[web] = true;
            }
        }
        tracked
    }
}

/// The assignments that may have been the last, for each name.
type Reach = HashMap<String, BTreeSet<u32>>;

struct Walk {
    /// Union-find over occurrences.
    parent: Vec<u32>,
    used: Vec<bool>,
    maybe_unassigned: Vec<bool>,
    /// For assignments: 0 for a plain one, else the loop whose counter it is.
    counter_of: Vec<usize>,
    defined: Vec<bool>,
    /// (use, the loops around it).
    uses: Vec<(u32, Vec<usize>)>,
    loops: Vec<usize>,
    /// What reaches the ends of the loops around: by `continue`, by `break`.
    exits: Vec<(Reach, Reach)>,
}

/// The webs of a function.
pub fn webs(function: &Function) -> Webs {
    let n = function.names as usize;
    let mut walk = Walk {
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
    let mut reach: Reach = names.iter().map(|text| (text.clone(), BTreeSet::from([UNASSIGNED]))).collect();
    for param in &function.params {
        walk.define(&param.name, 0, &mut reach);
    }
    walk.block(&function.body, &mut reach);
    walk.finish(&names)
}

/// The text of each occurrence.
fn collect(function: &Function, names: &mut [String]) {
    let mut note = |name: &Name| {
        if let Some(slot) = names.get_mut(name.id as usize) {
            slot.clone_from(&name.text);
        }
    };
    function.params.iter().for_each(|p| note(&p.name));
    for_each_name(&function.body, &mut note);
}

/// Calls `f` with each occurrence of a name in some statements.
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

/// What either brings.
fn join(into: &mut Reach, from: &Reach) {
    for (name, defs) in from {
        into.entry(name.clone()).or_default().extend(defs);
    }
}

impl Walk {
    fn root(&mut self, mut id: u32) -> u32 {
        while self.parent[id as usize] != id {
            let up = self.parent[self.parent[id as usize] as usize];
            self.parent[id as usize] = up;
            id = up;
        }
        id
    }

    fn define(&mut self, name: &Name, counter_of: usize, reach: &mut Reach) {
        self.defined[name.id as usize] = true;
        self.counter_of[name.id as usize] = counter_of;
        reach.insert(name.text.clone(), BTreeSet::from([name.id]));
    }

    fn uses(&mut self, e: &Expr, reach: &Reach) {
        let mut names = Vec::new();
        names_in(e, &mut |name| names.push(name.clone()));
        for name in names {
            self.use_name(&name, reach);
        }
    }

    fn use_name(&mut self, name: &Name, reach: &Reach) {
        let Some(defs) = reach.get(&name.text) else { return };
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

    fn target(&mut self, e: &Expr, counter_of: usize, reach: &mut Reach) {
        match &e.kind {
            ExprKind::Name(name) => self.define(name, counter_of, reach),
            ExprKind::Tuple(items) => items.iter().for_each(|item| self.target(item, 0, reach)),
            _ => self.uses(e, reach),
        }
    }

    /// Statements; afterwards `reach` says what reaches their end, nothing where control never comes there.
    fn block(&mut self, body: &[Stmt], reach: &mut Reach) {
        for stmt in body {
            self.stmt(stmt, reach);
        }
    }

    fn stmt(&mut self, stmt: &Stmt, reach: &mut Reach) {
        match &stmt.kind {
            StmtKind::Assign { targets, value } => {
                self.uses(value, reach);
                targets.iter().for_each(|target| self.target(target, 0, reach));
            }
            StmtKind::AugAssign { target, value, .. } => {
                self.uses(value, reach);
                // The name is read and written by one occurrence, so both are of one web.
                self.uses(target, reach);
                if let ExprKind::Name(name) = &target.kind {
                    self.define(name, 0, reach);
                }
            }
            StmtKind::If { test, body, orelse } => {
                self.uses(test, reach);
                let mut other = reach.clone();
                self.block(body, reach);
                self.block(orelse, &mut other);
                join(reach, &other);
            }
            StmtKind::While { test, body, orelse } => {
                self.turns(reach, |walk, reach| {
                    walk.uses(test, reach);
                    let skipped = reach.clone();
                    walk.block(body, reach);
                    skipped
                });
                self.leave(orelse, reach);
            }
            StmtKind::For { target, iter, body, orelse } => {
                self.uses(iter, reach);
                // The same number in every round.
                let this = std::ptr::from_ref(stmt) as usize;
                self.turns(reach, |walk, reach| {
                    let skipped = reach.clone();
                    walk.loops.push(this);
                    walk.target(target, this, reach);
                    walk.block(body, reach);
                    walk.loops.pop();
                    skipped
                });
                self.leave(orelse, reach);
            }
            StmtKind::Return(value) => {
                if let Some(e) = value {
                    self.uses(e, reach);
                }
                reach.clear();
            }
            StmtKind::Expr(e) | StmtKind::Assert { test: e, .. } => self.uses(e, reach),
            StmtKind::Break => {
                if let Some((_, by_break)) = self.exits.last_mut() {
                    join(by_break, reach);
                }
                reach.clear();
            }
            StmtKind::Continue => {
                if let Some((by_continue, _)) = self.exits.last_mut() {
                    join(by_continue, reach);
                }
                reach.clear();
            }
            StmtKind::Raise(..) | StmtKind::Pass | StmtKind::Unsupported { .. } => {}
        }
    }

    /// A loop: walked until nothing new reaches its head. `turn` gives what reaches the point where the loop ends by
    /// itself, which `reach` is set to; [`Walk::leave`] adds `else` and what comes by `break`.
    fn turns(&mut self, reach: &mut Reach, mut turn: impl FnMut(&mut Walk, &mut Reach) -> Reach) {
        self.exits.push(Default::default());
        loop {
            let mut inside = reach.clone();
            let end = turn(self, &mut inside);
            let by_continue = self.exits.last().map(|e| e.0.clone()).unwrap_or_default();
            join(&mut inside, &by_continue);
            let mut head = reach.clone();
            join(&mut head, &inside);
            if head == *reach {
                *reach = end;
                return;
            }
            *reach = head;
        }
    }

    /// The end of a loop. What stands in its `else` is no longer inside: `break` and `continue` are of the loop around.
    fn leave(&mut self, orelse: &[Stmt], reach: &mut Reach) {
        let (_, by_break) = self.exits.pop().unwrap_or_default();
        self.block(orelse, reach);
        join(reach, &by_break);
    }

    fn finish(mut self, texts: &[String]) -> Webs {
        let n = self.parent.len();
        let mut web_of_root: HashMap<u32, usize> = HashMap::new();
        let maybe_unassigned = std::mem::take(&mut self.maybe_unassigned);
        let (names, private, assignments) = (Vec::new(), Vec::new(), Vec::new());
        let mut result = Webs { of: vec![None; n], names, private, assignments, maybe_unassigned };
        let mut counters: Vec<Option<usize>> = Vec::new();
        for id in 0..n as u32 {
            if !self.used[id as usize] && !self.defined[id as usize] {
                continue;
            }
            let root = self.root(id);
            let web = *web_of_root.entry(root).or_insert_with(|| {
                result.names.push(texts[root as usize].clone());
                result.assignments.push(0);
                counters.push(None);
                result.names.len() - 1
            });
            result.of[id as usize] = Some(web);
            if self.defined[id as usize] {
                result.assignments[web] += 1;
                counters[web] = Some(self.counter_of[id as usize]);
            }
        }
        result.private = (0..counters.len())
            .map(|web| result.assignments[web] == 1 && counters[web].is_some_and(|c| c > 0))
            .collect();
        for (id, loops) in &self.uses {
            if let Some(web) = result.of[*id as usize]
                && let Some(counter) = counters[web]
                && !loops.contains(&counter)
            {
                result.private[web] = false;
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
    fn a_name_used_for_two_things_is_two_webs_and_a_loop_is_one() {
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
        let webs = webs(&Function { params, body, names: 9, ..Function::default() });
        let of = |id| webs.of(&name("", id));
        assert_eq!(of(1), of(3));
        assert_ne!(of(1), of(4));
        assert_eq!(of(4), of(6));
        assert_eq!(of(6), of(7));
        assert_eq!(of(2), of(8));
    }

    #[test]
    fn a_use_that_a_path_reaches_without_an_assignment_is_known() {
        // def f(n): if n: x = 1; (return) else: x = 2; y = x; (if n: z = 1); y = z
        let branch = |target, leaves: bool| {
            let leave = leaves.then(|| stmt(StmtKind::Return(None)));
            std::iter::once(assign(load("x", target), one())).chain(leave).collect::<Vec<_>>()
        };
        let body = vec![
            stmt(StmtKind::If { test: load("n", 1), body: branch(2, false), orelse: branch(3, false) }),
            assign(load("y", 4), load("x", 5)),
            stmt(StmtKind::If { test: load("n", 6), body: vec![assign(load("z", 7), one())], orelse: Vec::new() }),
            assign(load("y", 8), load("z", 9)),
            stmt(StmtKind::Expr(load("w", 10))),
        ];
        let params = vec![Param { name: name("n", 0), default: None }];
        let webs = webs(&Function { params, body, names: 11, ..Function::default() });
        let maybe = |id| webs.maybe_unassigned(&name("", id));
        assert!(!maybe(5) && maybe(9) && !maybe(6));
        assert_eq!(webs.of(&name("", 10)), None);
        assert_eq!(webs.tracked().iter().filter(|t| **t).count(), 1);
    }

    #[test]
    fn a_counter_is_private_until_it_is_used_outside() {
        let count = |target, after: Vec<Stmt>| {
            let turn = stmt(StmtKind::For {
                target: load("i", target),
                iter: one(),
                body: vec![stmt(StmtKind::Expr(load("i", target + 1)))],
                orelse: Vec::new(),
            });
            std::iter::once(turn).chain(after).collect::<Vec<_>>()
        };
        let inside = webs(&Function { body: count(0, Vec::new()), names: 3, ..Function::default() });
        assert!(inside.private[0]);
        let after = vec![stmt(StmtKind::Expr(load("i", 2)))];
        let outside = webs(&Function { body: count(0, after), names: 3, ..Function::default() });
        assert!(!outside.private[0]);
    }
}
