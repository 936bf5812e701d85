//! How one function runs all threads of a block: which statements are regions, and what threads keep between them.

use std::collections::HashSet;

use cuprous_kernel::Module;
use cuprous_kernel::ir::{Expr, Kind, LocalArray, Space, Stmt, StmtKind, any_expr, each_expr, each_stmt};
use cuprous_kernel::lanes::{Class, Lanes, exposed, has_return, leaves, occurrences};
use cuprous_kernel::place::{Places, is_in_grid};
use cuprous_kernel::table::Row;

use super::values::{array_bytes, parts};

/// Threads of a block at most, and of blocks that are run together if something is kept for each.
const MAX_THREADS: usize = 1024;
/// Threads of a row that are run together, of several blocks.
const MERGED_ROW_THREADS: usize = 4096;
/// Barriers that divide a kernel.
const BARRIERS: [&str; 5] = ["@syncthreads", "@syncthreads_count", "@syncthreads_and", "@syncthreads_or", "@syncwarp"];

/// How the threads of a block are run by one function.
pub(super) struct Plan {
    pub(super) lanes: Lanes,
    /// Where the context has each part of a variable.
    pub(super) context: Vec<Option<Vec<usize>>>,
    /// Bytes of the context for all threads, and of the arrays that each thread has of its own behind them.
    pub(super) bytes: usize,
    pub(super) local: usize,
    /// Whether anything may be read before it is assigned.
    pub(super) clears_context: bool,
    /// What follows from a thread's place is not kept but computed again.
    pub(super) rematerialized: Places,
    /// How often each variable is written down.
    pub(super) total: Vec<u32>,
    /// Whether barriers divide the kernel.
    pub(super) is_divided: bool,
    /// Whether rows of threads are run one below the other, sixteen columns at a time. Where rows are many blocks', or
    /// nobody asks for a row, memory is gone through in its order instead.
    pub(super) columns: bool,
    pub(super) grouping: BlockGrouping,
}

/// How neighbouring blocks are run, so that memory is gone through in its order.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockGrouping {
    /// One after the other: something is theirs alone, or somebody asks which it was that failed.
    Separate,
    /// A row of threads of each in turn.
    Interleaved,
    /// As one block of long rows: threads ask for nothing but their place in the grid.
    Merged,
}

/// Which blocks of a row of the grid are run together.
#[derive(Clone, Copy)]
pub(super) enum BlocksPerCall {
    One,
    /// Of so many threads in all.
    Threads(usize),
    /// Of rows of so many threads.
    Row(usize),
}

impl BlocksPerCall {
    /// How many, of blocks of such a shape.
    pub(super) fn blocks(self, block: [u32; 3]) -> usize {
        let [width, height, depth] = block.map(|n| n as usize);
        match self {
            BlocksPerCall::One => 1,
            BlocksPerCall::Threads(most) => (most / (width * height * depth)).max(1),
            BlocksPerCall::Row(most) => most.div_ceil(width),
        }
    }
}

/// A part of a block of statements.
pub(super) enum Part<'a> {
    /// A barrier: the statement, its row, what it asks of each thread.
    Barrier(&'a Stmt, &'static Row, Option<&'a Expr>),
    /// A choice or loop with barriers in it, or a way out of such a loop: once for the block.
    BlockLevel(&'a Stmt),
    /// A region.
    Region(&'a [Stmt]),
}

fn barrier_call(e: &Expr) -> Option<(&'static Row, Option<&Expr>)> {
    match &e.kind {
        Kind::Builtin(row, args) if row.waits => Some((row, if row.host == "@syncwarp" { None } else { args.first() })),
        Kind::Cast(inner) => barrier_call(inner),
        _ => None,
    }
}

fn barrier(stmt: &Stmt) -> Option<(&'static Row, Option<&Expr>)> {
    match &stmt.kind {
        StmtKind::Eval(e) | StmtKind::Assign(_, e) => barrier_call(e),
        _ => None,
    }
}

fn has_barrier(body: &[Stmt]) -> bool {
    any_expr(body, &mut |e| matches!(&e.kind, Kind::Builtin(row, _) if row.waits))
}

pub(super) fn split_at_barriers<'a>(body: &'a [Stmt], lanes: &Lanes) -> Vec<Part<'a>> {
    let mut all = Vec::new();
    let mut start = 0;
    // What is the same for all threads is done once at both ends of a region.
    let once = |stmt: &Stmt| matches!(&stmt.kind, StmtKind::Assign(v, e) if lanes.vars[*v] == Class::Block && lanes.class(e) == Class::Block);
    let run = |all: &mut Vec<Part<'a>>, part: &'a [Stmt]| {
        let front = part.iter().take_while(|s| once(s)).count();
        let back = part[front..].iter().rev().take_while(|s| once(s)).count();
        all.extend(part[..front].iter().map(Part::BlockLevel));
        if front + back < part.len() {
            all.push(Part::Region(&part[front..part.len() - back]));
        }
        all.extend(part[part.len() - back..].iter().map(Part::BlockLevel));
    };
    for (k, stmt) in body.iter().enumerate() {
        let one = std::slice::from_ref(stmt);
        let piece = match barrier(stmt) {
            Some((row, operand)) => Part::Barrier(stmt, row, operand),
            None if has_barrier(one) || leaves(one, false) => Part::BlockLevel(stmt),
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
fn regions<'a>(body: &'a [Stmt], lanes: &Lanes, f: &mut dyn FnMut(&'a [Stmt])) {
    for piece in split_at_barriers(body, lanes) {
        match piece {
            Part::Region(part) => f(part),
            Part::Barrier(stmt, _, Some(_)) => f(std::slice::from_ref(stmt)),
            Part::Barrier(..) => {}
            Part::BlockLevel(stmt) => stmt.kind.blocks().into_iter().for_each(|block| regions(block, lanes, f)),
        }
    }
}

/// Whether all threads of a block come to each barrier.
fn is_regular(body: &[Stmt], lanes: &Lanes) -> bool {
    split_at_barriers(body, lanes).iter().all(|piece| match piece {
        Part::Region(_) => true,
        Part::Barrier(_, row, operand) => {
            BARRIERS.contains(&row.host) && operand.is_none_or(|e| !any_expr_of(e, &mut |e| barrier_call(e).is_some()))
        }
        Part::BlockLevel(stmt) => {
            lanes.control(stmt) == Class::Block && stmt.kind.blocks().into_iter().all(|block| is_regular(block, lanes))
        }
    })
}

fn any_expr_of(e: &Expr, f: &mut dyn FnMut(&Expr) -> bool) -> bool {
    let mut found = f(e);
    e.parts(&mut |part| found |= any_expr_of(part, f));
    found
}

impl Plan {
    /// A plan, where one function may run all threads of a block; `may_exit` says where a thread may end, `cut` whether
    /// loops are cut, so that there are barriers which no thread asked for.
    pub(super) fn of(ir: &Module, may_exit: &[bool], cut: bool) -> Option<Plan> {
        let kernel = ir.kernel();
        let lanes = Lanes::of(kernel);
        let total = occurrences(&kernel.body, kernel.vars.len());
        let is_block_array = |array: &LocalArray| array.space != Space::Local;
        let separate =
            ir.barriers || may_exit.contains(&true) || ir.functions.iter().any(|f| f.arrays.iter().any(is_block_array));
        let mut plan = Plan {
            lanes,
            context: vec![None; kernel.vars.len()],
            bytes: 0,
            local: 0,
            clears_context: false,
            rematerialized: Places::of(kernel),
            total,
            is_divided: ir.barriers || cut,
            columns: ir.barriers
                && any_expr(
                    &kernel.body,
                    &mut |e| matches!(&e.kind, Kind::Builtin(row, _) if row.host == "@threadIdx.y"),
                ),
            grouping: match separate {
                true => BlockGrouping::Separate,
                false if is_in_grid(ir) => BlockGrouping::Merged,
                false => BlockGrouping::Interleaved,
            },
        };
        if !plan.is_divided {
            return Some(plan);
        }
        if plan.grouping == BlockGrouping::Interleaved {
            // Rows of other blocks would come between.
            return None;
        }
        let below = ir.functions[1..].iter().any(|f| has_barrier(&f.body));
        if below || ir.cooperative || may_exit[0] || has_return(&kernel.body) || !is_regular(&kernel.body, &plan.lanes)
        {
            return None;
        }
        let mut kept = HashSet::new();
        regions(&kernel.body, &plan.lanes, &mut |part| kept.extend(exposed(part)));
        kept.retain(|&v| plan.lanes.vars[v] != Class::Block && plan.rematerialized.get(v).is_none());
        if kept.iter().any(|&v| v < kernel.params) {
            return None;
        }
        for &v in &kept {
            let mut offsets = Vec::new();
            for t in parts(&kernel.vars[v].ty) {
                offsets.push(plan.bytes);
                // Not a multiple of a page apart: these would share lines of the cache.
                plan.bytes += MAX_THREADS * t.bytes() as usize + 192;
            }
            plan.context[v] = Some(offsets);
        }
        let first = exposed(&kernel.body);
        plan.clears_context = kept.iter().any(|v| first.contains(v));
        let local_arrays = kernel.arrays.iter().filter(|a| a.space == Space::Local);
        plan.local = local_arrays.map(array_bytes).sum();
        Some(plan)
    }

    /// Whether a statement of a kernel that is divided says what is computed again wherever it is asked for.
    pub(super) fn is_rematerialized(&self, stmt: &Stmt) -> bool {
        matches!(stmt.kind, StmtKind::Assign(v, _) if self.rematerialized.get(v).is_some())
    }

    /// Which blocks are run together.
    pub(super) fn blocks_per_call(&self) -> BlocksPerCall {
        match self.grouping {
            BlockGrouping::Separate => BlocksPerCall::One,
            _ if self.is_divided => BlocksPerCall::Threads(MAX_THREADS),
            _ => BlocksPerCall::Row(MERGED_ROW_THREADS),
        }
    }
}

/// The variables that statements assign, and those that they name.
pub(super) fn assigned_and_named(body: &[Stmt]) -> (Vec<usize>, Vec<usize>) {
    let (mut assigned, mut named) = (Vec::new(), Vec::new());
    each_stmt(body, &mut |stmt| {
        if let StmtKind::Assign(v, _) | StmtKind::For { var: v, .. } = &stmt.kind {
            assigned.push(*v);
        }
    });
    each_expr(body, &mut |e| {
        if let Kind::Var(v) = e.kind {
            named.push(v);
        }
    });
    named.extend(&assigned);
    for all in [&mut assigned, &mut named] {
        all.sort_unstable();
        all.dedup();
    }
    (assigned, named)
}
