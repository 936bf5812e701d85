//! All threads of a block by one function: a region without barriers is a loop over the threads, and what a thread knows
//! beyond the region's end is kept for it in memory, the *context*.
//!
//! Kernels without barriers are one region. Barriers divide the others where all threads of a block come to them, which is
//! so where the choices around them are the same for all; such choices and loops are made once for the block. Known as
//! deep fission (J. Stratton, S. Stone, W. Hwu, "MCUDA: An Efficient Implementation of CUDA Kernels for Multi-Core CPUs",
//! LCPC 2008) and as parallel region formation (P. Jääskeläinen et al., "pocl: A Performance-Portable OpenCL
//! Implementation", Int. J. Parallel Programming 43, 2015). All other kernels are [`super::fibers`].

use std::collections::HashSet;
use std::rc::Rc;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, Value, types};
use cranelift_frontend::Variable;
use cuprous_core::Result;
use cuprous_kernel::Module;
use cuprous_kernel::builtin::Builtin;
use cuprous_kernel::flow::{exits_loop, has_return, occurrences, upward_exposed};
use cuprous_kernel::ir::{Expr, Kind, LocalArray, Space, Stmt, StmtKind, any_expr};
use cuprous_kernel::rematerialize::{Rematerializable, uses_only_global_index_x};
use cuprous_kernel::uniformity::{Divergence, Uniformity};

use super::by_lane::names;
use super::code::{Body, array_bytes};
use super::host::offset;
use super::values::{Values, parts};
use super::wide::WIDTH;

/// Threads of a block at most, and of blocks that are run together if something is kept for each.
const MOST: usize = 1024;
/// Threads of a row that are run together, of several blocks.
const STRIP: usize = 4096;
/// Barriers that divide a kernel.
const BARRIERS: [&str; 5] = ["@syncthreads", "@syncthreads_count", "@syncthreads_and", "@syncthreads_or", "@syncwarp"];

/// How the threads of a block are run by one function.
pub(super) struct Plan {
    pub(super) lanes: Uniformity,
    /// Where the context has each part of a variable.
    context: Vec<Option<Vec<usize>>>,
    /// Bytes of the context for all threads, and of the arrays that each thread has of its own behind them.
    pub(super) bytes: usize,
    pub(super) local: usize,
    /// Whether anything may be read before it is assigned.
    clear: bool,
    /// What follows from a thread's place is not kept but computed again.
    places: Rematerializable,
    /// How often each variable is written down.
    total: Vec<u32>,
    /// Whether barriers divide the kernel.
    divided: bool,
    /// Whether rows of threads are run one below the other, sixteen columns at a time. Where rows are many blocks', or
    /// nobody asks for a row, memory is gone through in its order instead.
    columns: bool,
    pub(super) neighbours: Neighbours,
}

/// How neighbouring blocks are run, so that memory is gone through in its order.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Neighbours {
    /// One after the other: something is theirs alone, or somebody asks which it was that failed.
    Apart,
    /// A row of threads of each in turn.
    InTurn,
    /// As one block of long rows: threads ask for nothing but their place in the grid.
    AsOne,
}

/// Which blocks of a row of the grid are run together.
#[derive(Clone, Copy)]
pub(super) enum Strip {
    One,
    /// Of so many threads in all.
    Threads(usize),
    /// Of rows of so many threads.
    Row(usize),
}

impl Strip {
    /// How many, of blocks of such a shape.
    pub(super) fn blocks(self, block: [u32; 3]) -> usize {
        let [width, height, depth] = block.map(|n| n as usize);
        match self {
            Strip::One => 1,
            Strip::Threads(most) => (most / (width * height * depth)).max(1),
            Strip::Row(most) => most.div_ceil(width),
        }
    }
}

/// A part of a block of statements.
enum Piece<'a> {
    /// A barrier: the statement, its row, what it asks of each thread.
    Barrier(&'a Stmt, &'static Builtin, Option<&'a Expr>),
    /// A choice or loop with barriers in it, or a way out of such a loop: once for the block.
    Level(&'a Stmt),
    /// A region.
    Run(&'a [Stmt]),
}

fn waits(e: &Expr) -> Option<(&'static Builtin, Option<&Expr>)> {
    match &e.kind {
        Kind::Builtin(row, args) if row.synchronizes => {
            Some((row, if row.host == "@syncwarp" { None } else { args.first() }))
        }
        Kind::Cast(inner) => waits(inner),
        _ => None,
    }
}

fn barrier(stmt: &Stmt) -> Option<(&'static Builtin, Option<&Expr>)> {
    match &stmt.kind {
        StmtKind::Eval(e) | StmtKind::Assign(_, e) => waits(e),
        _ => None,
    }
}

fn has_barrier(body: &[Stmt]) -> bool {
    any_expr(body, &mut |e| matches!(&e.kind, Kind::Builtin(row, _) if row.synchronizes))
}

fn pieces<'a>(body: &'a [Stmt], lanes: &Uniformity) -> Vec<Piece<'a>> {
    let mut all = Vec::new();
    let mut start = 0;
    // What is the same for all threads is done once at both ends of a region.
    let once = |stmt: &Stmt| matches!(&stmt.kind, StmtKind::Assign(v, e) if lanes.vars[*v] == Divergence::BlockUniform && lanes.divergence(e) == Divergence::BlockUniform);
    let run = |all: &mut Vec<Piece<'a>>, part: &'a [Stmt]| {
        let front = part.iter().take_while(|s| once(s)).count();
        let back = part[front..].iter().rev().take_while(|s| once(s)).count();
        all.extend(part[..front].iter().map(Piece::Level));
        if front + back < part.len() {
            all.push(Piece::Run(&part[front..part.len() - back]));
        }
        all.extend(part[part.len() - back..].iter().map(Piece::Level));
    };
    for (k, stmt) in body.iter().enumerate() {
        let one = std::slice::from_ref(stmt);
        let piece = match barrier(stmt) {
            Some((row, asked)) => Piece::Barrier(stmt, row, asked),
            None if has_barrier(one) || exits_loop(one, false) => Piece::Level(stmt),
            None => continue,
        };
        run(&mut all, &body[start..k]);
        all.push(piece);
        start = k + 1;
    }
    run(&mut all, &body[start..]);
    all
}

/// Calls `f` with each region.
fn regions<'a>(body: &'a [Stmt], lanes: &Uniformity, f: &mut dyn FnMut(&'a [Stmt])) {
    for piece in pieces(body, lanes) {
        match piece {
            Piece::Run(part) => f(part),
            Piece::Barrier(stmt, _, Some(_)) => f(std::slice::from_ref(stmt)),
            Piece::Barrier(..) => {}
            Piece::Level(stmt) => stmt.kind.blocks().into_iter().for_each(|block| regions(block, lanes, f)),
        }
    }
}

/// Whether all threads of a block come to each barrier.
fn is_regular(body: &[Stmt], lanes: &Uniformity) -> bool {
    pieces(body, lanes).iter().all(|piece| match piece {
        Piece::Run(_) => true,
        Piece::Barrier(_, row, asked) => {
            BARRIERS.contains(&row.host) && asked.is_none_or(|e| !any_expr_of(e, &mut |e| waits(e).is_some()))
        }
        Piece::Level(stmt) => {
            lanes.control(stmt) == Divergence::BlockUniform
                && stmt.kind.blocks().into_iter().all(|block| is_regular(block, lanes))
        }
    })
}

fn any_expr_of(e: &Expr, f: &mut dyn FnMut(&Expr) -> bool) -> bool {
    let mut found = f(e);
    e.each_operand(&mut |part| found |= any_expr_of(part, f));
    found
}

impl Plan {
    /// A plan, where one function may run all threads of a block; `ends` says where a thread may end, `cut` whether
    /// loops are cut, so that there are barriers which no thread asked for.
    pub(super) fn of(ir: &Module, ends: &[bool], cut: bool) -> Option<Plan> {
        let kernel = ir.kernel();
        let lanes = Uniformity::of(kernel);
        let total = occurrences(&kernel.body, kernel.vars.len());
        let own = |array: &LocalArray| array.space != Space::Local;
        let alone = ir.barriers || ends.contains(&true) || ir.functions.iter().any(|f| f.arrays.iter().any(own));
        let mut plan = Plan {
            lanes,
            context: vec![None; kernel.vars.len()],
            bytes: 0,
            local: 0,
            clear: false,
            places: Rematerializable::of(kernel),
            total,
            divided: ir.barriers || cut,
            columns: ir.barriers
                && any_expr(
                    &kernel.body,
                    &mut |e| matches!(&e.kind, Kind::Builtin(row, _) if row.host == "@threadIdx.y"),
                ),
            neighbours: match alone {
                true => Neighbours::Apart,
                false if uses_only_global_index_x(ir) => Neighbours::AsOne,
                false => Neighbours::InTurn,
            },
        };
        if !plan.divided {
            return Some(plan);
        }
        if plan.neighbours == Neighbours::InTurn {
            // Rows of other blocks would come between.
            return None;
        }
        let below = ir.functions[1..].iter().any(|f| has_barrier(&f.body));
        if below || ir.cooperative || ends[0] || has_return(&kernel.body) || !is_regular(&kernel.body, &plan.lanes) {
            return None;
        }
        let mut kept = HashSet::new();
        regions(&kernel.body, &plan.lanes, &mut |part| kept.extend(upward_exposed(part)));
        kept.retain(|&v| plan.lanes.vars[v] != Divergence::BlockUniform && plan.places.get(v).is_none());
        if kept.iter().any(|&v| v < kernel.params) {
            return None;
        }
        for &v in &kept {
            let mut places = Vec::new();
            for t in parts(&kernel.vars[v].ty) {
                places.push(plan.bytes);
                // Not a multiple of a page apart: these would share lines of the cache.
                plan.bytes += MOST * t.bytes() as usize + 192;
            }
            plan.context[v] = Some(places);
        }
        let first = upward_exposed(&kernel.body);
        plan.clear = kept.iter().any(|v| first.contains(v));
        let own = kernel.arrays.iter().filter(|a| a.space == Space::Local);
        plan.local = own.map(array_bytes).sum();
        Some(plan)
    }

    /// Whether a statement of a kernel that is divided says what is computed again wherever it is asked for.
    fn is_known(&self, stmt: &Stmt) -> bool {
        matches!(stmt.kind, StmtKind::Assign(v, _) if self.places.get(v).is_some())
    }

    /// Which blocks are run together.
    pub(super) fn strip(&self) -> Strip {
        match self.neighbours {
            Neighbours::Apart => Strip::One,
            _ if self.divided => Strip::Threads(MOST),
            _ => Strip::Row(STRIP),
        }
    }
}

/// What is done for each thread of a region.
#[derive(Clone, Copy)]
pub(super) enum Work<'a> {
    Statements(&'a [Stmt]),
    /// Adds up answers of all threads.
    Vote(&'a Expr, &'static Builtin, Variable),
}

/// What threads of a region begin with and leave.
pub(super) struct Region {
    /// Variables that begin with what was there before the first thread.
    again: Vec<(usize, Values)>,
    /// Variables that the context has, and those of them that the region assigns.
    kept: Vec<usize>,
    left: Vec<usize>,
    /// What follows from a thread's place.
    known: Vec<Stmt>,
}

/// A loop that is being written: its counter, head and end.
pub(super) type Turn = (Variable, Block, Block);

impl Body<'_, '_, '_> {
    fn plan(&self) -> Option<Rc<Plan>> {
        self.shared.plan.clone()
    }

    /// The threads of a block.
    pub(super) fn write_block(&mut self) -> Result<()> {
        if let Some(plan) = self.plan()
            && plan.divided
        {
            self.context = self.b.ins().load(types::I64, Self::trusted(), self.env, offset::CONTEXT);
            if plan.clear {
                let bytes = self.b.ins().iconst(types::I64, plan.bytes as i64);
                self.call_library("host_clear", &[self.context, bytes], None)?;
            }
        }
        self.level = true;
        self.block(&self.function.body)?;
        self.b.ins().return_(&[]);
        Ok(())
    }

    /// Statements of the block itself, with regions between them.
    pub(super) fn level(&mut self, body: &[Stmt]) -> Result<()> {
        let Some(plan) = self.plan() else { return Ok(()) };
        let plan = &*plan;
        if !plan.divided {
            return self.run(Work::Statements(body), body);
        }
        for piece in pieces(body, &plan.lanes) {
            match piece {
                Piece::Run(part) if part.iter().all(|stmt| plan.is_known(stmt)) => {}
                Piece::Run(part) => self.run(Work::Statements(part), part)?,
                Piece::Level(stmt) => self.stmt(&stmt.kind)?,
                Piece::Barrier(stmt, row, asked) => {
                    if let Some(asked) = asked {
                        let sum = self.b.declare_var(types::I32);
                        let first = self.b.ins().iconst(types::I32, i64::from(row.host == "@syncthreads_and"));
                        self.b.def_var(sum, first);
                        self.run(Work::Vote(asked, row, sum), std::slice::from_ref(stmt))?;
                        self.answer = Some(self.b.use_var(sum));
                    }
                    if matches!(stmt.kind, StmtKind::Assign(..)) {
                        self.stmt(&stmt.kind)?;
                    }
                    self.answer = None;
                }
            }
        }
        Ok(())
    }

    pub(super) fn begin(&mut self, counter: Variable, first: Value) -> Turn {
        self.b.def_var(counter, first);
        let (head, end) = (self.b.create_block(), self.b.create_block());
        self.b.ins().jump(head, &[]);
        self.b.switch_to_block(head);
        (counter, head, end)
    }

    /// Goes on while the last of the next `lanes` threads is one of the block's.
    pub(super) fn inside(&mut self, (counter, _, end): Turn, lanes: i64, extent: Value) {
        let body = self.b.create_block();
        let at = self.b.use_var(counter);
        let last = if lanes == 1 { at } else { self.b.ins().iadd_imm_s(at, lanes - 1) };
        let more = self.b.ins().icmp(IntCC::SignedLessThan, last, extent);
        self.enter(more, body, end);
        self.b.switch_to_block(body);
    }

    pub(super) fn next(&mut self, (counter, head, end): Turn, lanes: i64) {
        let at = self.b.use_var(counter);
        let at = self.b.ins().iadd_imm_s(at, lanes);
        self.b.def_var(counter, at);
        self.b.ins().jump(head, &[]);
        self.b.switch_to_block(end);
    }

    /// What threads of a region begin with and leave; `part` is what it reads and assigns.
    fn region(&mut self, plan: &Plan, part: &[Stmt], assigns: bool) -> Region {
        let counts = occurrences(part, plan.total.len());
        let open = upward_exposed(part);
        let (mut assigned, used) = names(part);
        if !assigns {
            assigned.clear();
        }
        let kept: Vec<usize> = used.iter().copied().filter(|&v| plan.context[v].is_some()).collect();
        let left = kept.iter().copied().filter(|v| assigned.contains(v)).collect();
        let again = used
            .iter()
            .copied()
            .filter(|v| plan.context[*v].is_none() && (assigned.contains(v) || *v < self.function.params))
            .filter(|v| {
                (plan.lanes.vars[*v] == Divergence::BlockUniform && counts[*v] != plan.total[*v]) || open.contains(v)
            })
            .map(|v| {
                let own = v >= self.function.params && plan.lanes.vars[v] != Divergence::BlockUniform;
                let first = if own { self.zeros(v) } else { self.get(v) };
                (v, first)
            })
            .collect();
        let mut known: Vec<usize> =
            open.into_iter().filter(|&v| plan.lanes.vars[v] != Divergence::BlockUniform).collect();
        known.sort_unstable();
        let known = known.into_iter().filter_map(|v| Some(StmtKind::Assign(v, plan.places.get(v)?.clone())));
        let known = known.map(|kind| Stmt { line: 0, kind }).collect();
        Region { again, kept, left, known }
    }

    /// A region: its work for each thread of the block. `part` is what it reads and assigns.
    fn run(&mut self, work: Work<'_>, part: &[Stmt]) -> Result<()> {
        let Some(plan) = self.plan() else { return Ok(()) };
        let plan = &*plan;
        let region = self.region(plan, part, matches!(work, Work::Statements(_)));
        let vectors = match work {
            Work::Statements(body) if self.is_worth(plan, body) => Some(body),
            _ => None,
        };
        self.groups = vectors.is_some();
        let dims = self.places[1];
        let zero = self.b.ins().iconst(types::I32, 0);
        let layer = self.begin(self.thread[2], zero);
        self.inside(layer, 1, dims[2]);
        self.level = false;
        if plan.columns {
            self.by_columns(plan, &region, work, vectors)?;
        } else {
            let top = match vectors {
                Some(body) if plan.has_streams(body) => self.bands(plan, &region, body)?,
                _ => zero,
            };
            let row = self.begin(self.thread[1], top);
            self.inside(row, 1, dims[1]);
            let strip = (plan.neighbours == Neighbours::InTurn).then(|| self.next_block());
            let first = match vectors {
                Some(body) => self.row_of_groups(&mut |this| this.group(plan, &region, body))?,
                None => zero,
            };
            self.rest_of_row(plan, &region, work, first)?;
            if let Some(turn) = strip {
                self.block_x = None;
                self.next(turn, 1);
            }
            self.next(row, 1);
        }
        self.next(layer, 1);
        self.level = true;
        self.groups = false;
        Ok(())
    }

    /// Groups of lanes side by side: the first thread that is in none.
    pub(super) fn row_of_groups(&mut self, group: &mut dyn FnMut(&mut Self) -> Result<()>) -> Result<Value> {
        let zero = self.b.ins().iconst(types::I32, 0);
        let turn = self.begin(self.thread[0], zero);
        self.inside(turn, WIDTH, self.width);
        group(self)?;
        self.next(turn, WIDTH);
        Ok(self.b.use_var(self.thread[0]))
    }

    /// The threads of a row from one on, each by itself.
    pub(super) fn rest_of_row(&mut self, plan: &Plan, region: &Region, work: Work<'_>, first: Value) -> Result<()> {
        let turn = self.begin(self.thread[0], first);
        self.inside(turn, 1, self.width);
        self.one_thread(plan, region, work)?;
        self.next(turn, 1);
        Ok(())
    }

    /// The rows of a layer one below the other, for lanes after lanes: what follows from a thread's column is found once.
    fn by_columns(&mut self, plan: &Plan, region: &Region, work: Work<'_>, vectors: Option<&[Stmt]>) -> Result<()> {
        let [width, height, _] = self.places[1];
        let zero = self.b.ins().iconst(types::I32, 0);
        let mut first = zero;
        if let Some(body) = vectors {
            let group = self.begin(self.thread[0], zero);
            self.inside(group, WIDTH, width);
            let mut top = zero;
            if plan.pairs(self.function, body) {
                let pair = self.begin(self.thread[1], zero);
                self.inside(pair, 2, height);
                self.pair(plan, region, body)?;
                self.next(pair, 2);
                top = self.b.use_var(self.thread[1]);
            }
            let row = self.begin(self.thread[1], top);
            self.inside(row, 1, height);
            self.group(plan, region, body)?;
            self.next(row, 1);
            self.next(group, WIDTH);
            first = self.b.use_var(self.thread[0]);
        }
        let turn = self.begin(self.thread[0], first);
        self.inside(turn, 1, width);
        let row = self.begin(self.thread[1], zero);
        self.inside(row, 1, height);
        self.one_thread(plan, region, work)?;
        self.next(row, 1);
        self.next(turn, 1);
        Ok(())
    }

    /// A loop over blocks that are run together, a row of each in turn.
    fn next_block(&mut self) -> Turn {
        let counter = self.b.declare_var(types::I32);
        let turn = self.begin(counter, self.places[0][0]);
        self.inside(turn, 1, self.last_block);
        let at = self.b.use_var(counter);
        self.block_x = Some(at);
        if self.shared.ir.functions.len() > 1 {
            // Functions that are called look there.
            self.b.ins().store(Self::trusted(), at, self.env, offset::BLOCK);
        }
        turn
    }

    /// A group of lanes.
    pub(super) fn group(&mut self, plan: &Plan, region: &Region, body: &[Stmt]) -> Result<()> {
        self.begin_group(plan, region)?;
        self.wide_block(plan, body)?;
        self.end_group(plan, region);
        Ok(())
    }

    /// What a group of lanes begins with.
    pub(super) fn begin_group(&mut self, plan: &Plan, region: &Region) -> Result<()> {
        for (v, values) in &region.again {
            self.start_wide(plan, *v, values);
        }
        let thread = self.number_of_thread(&region.kept);
        for &v in &region.kept {
            self.load_wide(plan, v, thread);
        }
        self.wide_block(plan, &region.known)
    }

    /// What a group of lanes leaves.
    pub(super) fn end_group(&mut self, plan: &Plan, region: &Region) {
        let thread = self.number_of_thread(&region.left);
        for &v in &region.left {
            self.store_wide(plan, v, thread);
        }
    }

    /// A thread's work.
    fn one_thread(&mut self, plan: &Plan, region: &Region, work: Work<'_>) -> Result<()> {
        let after = self.b.create_block();
        for (v, values) in &region.again {
            self.set(*v, values);
        }
        let thread = self.number_of_thread(&region.kept);
        self.place_local_arrays(plan);
        for &v in &region.kept {
            let values = self.kept_at(plan, v, thread);
            let types = parts(&self.function.vars[v].ty);
            let values: Values =
                values.iter().zip(types).map(|(&at, t)| self.b.ins().load(t, Self::trusted(), at, 0)).collect();
            self.set(v, &values);
        }
        self.block(&region.known)?;
        self.next_thread = Some(after);
        match work {
            Work::Statements(body) => self.block(body)?,
            Work::Vote(asked, row, sum) => {
                let value = self.one(asked)?;
                let said = self.b.ins().icmp_imm_s(IntCC::NotEqual, value, 0);
                let said = self.resize(said, types::I32, false);
                let old = self.b.use_var(sum);
                let new = match row.host {
                    "@syncthreads_count" => self.b.ins().iadd(old, said),
                    "@syncthreads_and" => self.b.ins().band(old, said),
                    _ => self.b.ins().bor(old, said),
                };
                self.b.def_var(sum, new);
            }
        }
        for &v in &region.left {
            let (places, values) = (self.kept_at(plan, v, thread), self.get(v));
            for (&at, &value) in places.iter().zip(&values) {
                self.b.ins().store(Self::trusted(), value, at, 0);
            }
        }
        self.b.ins().jump(after, &[]);
        self.b.switch_to_block(after);
        self.next_thread = None;
        Ok(())
    }

    pub(super) fn zeros(&mut self, v: usize) -> Values {
        parts(&self.function.vars[v].ty).iter().map(|&t| self.zero(t)).collect()
    }

    /// The thread's number in its block, where somebody asks for it.
    fn number_of_thread(&mut self, kept: &[usize]) -> Value {
        if kept.is_empty() {
            return self.context;
        }
        let linear = self.linear();
        self.b.ins().uextend(types::I64, linear)
    }

    /// Where the context has the parts of a variable.
    pub(super) fn kept_at(&mut self, plan: &Plan, v: usize, thread: Value) -> Values {
        let types = parts(&self.function.vars[v].ty);
        let places = plan.context[v].as_deref().unwrap_or_default();
        let mut all = Values::new();
        for (t, &place) in types.iter().zip(places) {
            let far = self.b.ins().imul_imm_s(thread, i64::from(t.bytes()));
            let at = self.b.ins().iadd(self.context, far);
            all.push(self.b.ins().iadd_imm_s(at, place as i64));
        }
        all
    }

    /// Arrays that a thread has of its own in each of the regions lie behind the context.
    fn place_local_arrays(&mut self, plan: &Plan) {
        if !plan.divided || plan.local == 0 {
            return;
        }
        let linear = self.linear();
        let thread = self.b.ins().uextend(types::I64, linear);
        let far = self.b.ins().imul_imm_s(thread, plan.local as i64);
        let base = self.b.ins().iadd(self.context, far);
        let mut start = plan.bytes.next_multiple_of(128);
        for (k, array) in self.function.arrays.iter().enumerate() {
            if array.space == Space::Local {
                self.arrays[k][0] = self.b.ins().iadd_imm_s(base, start as i64);
                start += array_bytes(array);
            }
        }
    }
}
