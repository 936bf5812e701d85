//! How one function runs all threads of a block: which statements form regions, and which variables threads keep
//! between them.

use std::collections::HashSet;

use cuprous_kernel::Module;
use cuprous_kernel::builtin::Builtin;
use cuprous_kernel::flow::{exits_loop, has_return, occurrences, upward_exposed};
use cuprous_kernel::ir::{Expr, Kind, LocalArray, Space, Stmt, StmtKind, any_expr, each_expr, each_stmt};
use cuprous_kernel::rematerialize::{Rematerializable, uses_only_global_index_x};
use cuprous_kernel::uniformity::{Divergence, Uniformity};

use super::values::{array_bytes, parts};

/// Maximum number of threads in a block, and in blocks that run together if threads keep variables.
const MAX_THREADS: usize = 1024;
/// Number of threads in a row of several blocks that run together.
const MERGED_ROW_THREADS: usize = 4096;
/// Barriers that divide a kernel into regions.
const BARRIERS: [&str; 5] = ["@syncthreads", "@syncthreads_count", "@syncthreads_and", "@syncthreads_or", "@syncwarp"];

/// How one function runs the threads of a block.
pub(super) struct Plan {
    pub(super) lanes: Uniformity,
    /// Offsets of each variable's parts in the context.
    pub(super) context: Vec<Option<Vec<usize>>>,
    /// Bytes of the context for all threads, and of each thread's local arrays behind it.
    pub(super) bytes: usize,
    pub(super) local: usize,
    /// Whether some variable of the context may be read before it is assigned.
    pub(super) clears_context: bool,
    /// Variables that are recomputed from the thread index instead of kept (rematerialization).
    pub(super) rematerialized: Rematerializable,
    /// Number of occurrences of each variable.
    pub(super) occurrences: Vec<u32>,
    /// Whether barriers divide the kernel.
    pub(super) is_divided: bool,
    /// Whether a group of sixteen columns runs all rows before the next group starts. Not used if rows belong to
    /// several blocks or threads do not read their row index; threads then run in the order of memory.
    pub(super) by_columns: bool,
    pub(super) grouping: BlockGrouping,
}

/// How adjacent blocks run, so that memory is accessed in order.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockGrouping {
    /// One block after the other, because blocks have their own memory or a fault must name its block.
    Separate,
    /// One row of threads of each block in turn.
    Interleaved,
    /// As one block with long rows, because threads only use their index in the grid.
    Merged,
}

/// Which adjacent blocks of a row of the grid one call runs.
#[derive(Clone, Copy)]
pub(super) enum BlocksPerCall {
    One,
    /// As many blocks as have at most this number of threads in all.
    Threads(usize),
    /// As many blocks as have at least this number of threads in a row.
    Row(usize),
}

impl BlocksPerCall {
    /// Returns the number of blocks per call for a block shape.
    pub(super) fn blocks(self, block: [u32; 3]) -> usize {
        let [width, height, depth] = block.map(|n| n as usize);
        match self {
            BlocksPerCall::One => 1,
            BlocksPerCall::Threads(most) => (most / (width * height * depth)).max(1),
            BlocksPerCall::Row(most) => most.div_ceil(width),
        }
    }
}

/// A part of a list of statements.
pub(super) enum Part<'a> {
    /// A barrier: the statement, its row in the table of builtins, and its operand.
    Barrier(&'a Stmt, &'static Builtin, Option<&'a Expr>),
    /// A statement that runs once for the block: a branch or loop with barriers inside, or a jump out of such a loop.
    BlockLevel(&'a Stmt),
    /// Statements without barriers, which run for each thread.
    Region(&'a [Stmt]),
}

/// Returns the row of the table of builtins and the operand, if an expression is a barrier.
fn barrier_call(e: &Expr) -> Option<(&'static Builtin, Option<&Expr>)> {
    match &e.kind {
        Kind::Builtin(row, args) if row.synchronizes => {
            Some((row, if row.host == "@syncwarp" { None } else { args.first() }))
        }
        Kind::Cast(inner) => barrier_call(inner),
        _ => None,
    }
}

/// The same for a statement.
fn barrier(stmt: &Stmt) -> Option<(&'static Builtin, Option<&Expr>)> {
    match &stmt.kind {
        StmtKind::Eval(e) | StmtKind::Assign(_, e) => barrier_call(e),
        _ => None,
    }
}

fn has_barrier(body: &[Stmt]) -> bool {
    any_expr(body, &mut |e| matches!(&e.kind, Kind::Builtin(row, _) if row.synchronizes))
}

/// Splits a list of statements into barriers, statements of the block, and regions.
pub(super) fn split_at_barriers<'a>(body: &'a [Stmt], lanes: &Uniformity) -> Vec<Part<'a>> {
    let mut all = Vec::new();
    let mut start = 0;
    // Assignments that are the same for all threads run once, at both ends of a region.
    let once = |stmt: &Stmt| matches!(&stmt.kind, StmtKind::Assign(v, e) if lanes.vars[*v] == Divergence::BlockUniform && lanes.divergence(e) == Divergence::BlockUniform);
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
            None if has_barrier(one) || exits_loop(one, false) => Part::BlockLevel(stmt),
            None => continue,
        };
        run(&mut all, &body[start..k]);
        all.push(piece);
        start = k + 1;
    }
    run(&mut all, &body[start..]);
    all
}

/// Calls `f` for each region.
fn regions<'a>(body: &'a [Stmt], lanes: &Uniformity, f: &mut dyn FnMut(&'a [Stmt])) {
    for piece in split_at_barriers(body, lanes) {
        match piece {
            Part::Region(part) => f(part),
            Part::Barrier(stmt, _, Some(_)) => f(std::slice::from_ref(stmt)),
            Part::Barrier(..) => {}
            Part::BlockLevel(stmt) => stmt.kind.blocks().into_iter().for_each(|block| regions(block, lanes, f)),
        }
    }
}

/// Returns true if all threads of a block reach each barrier.
fn is_regular(body: &[Stmt], lanes: &Uniformity) -> bool {
    split_at_barriers(body, lanes).iter().all(|piece| match piece {
        Part::Region(_) => true,
        Part::Barrier(_, row, operand) => {
            BARRIERS.contains(&row.host) && operand.is_none_or(|e| !any_expr_of(e, &mut |e| barrier_call(e).is_some()))
        }
        Part::BlockLevel(stmt) => {
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
    /// Returns a plan if one function can run all threads of a block. `may_exit` says in which functions a thread may
    /// exit. `cut` says that loops were strip-mined, which adds barriers that are not in the user's code.
    pub(super) fn of(ir: &Module, may_exit: &[bool], cut: bool) -> Option<Plan> {
        let kernel = ir.kernel();
        let lanes = Uniformity::of(kernel);
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
            rematerialized: Rematerializable::of(kernel),
            occurrences: total,
            is_divided: ir.barriers || cut,
            by_columns: ir.barriers
                && any_expr(
                    &kernel.body,
                    &mut |e| matches!(&e.kind, Kind::Builtin(row, _) if row.host == "@threadIdx.y"),
                ),
            grouping: match separate {
                true => BlockGrouping::Separate,
                false if uses_only_global_index_x(ir) => BlockGrouping::Merged,
                false => BlockGrouping::Interleaved,
            },
        };
        if !plan.is_divided {
            return Some(plan);
        }
        if plan.grouping == BlockGrouping::Interleaved {
            // Rows of other blocks would run between the regions of a block.
            return None;
        }
        let below = ir.functions[1..].iter().any(|f| has_barrier(&f.body));
        if below || ir.cooperative || may_exit[0] || has_return(&kernel.body) || !is_regular(&kernel.body, &plan.lanes)
        {
            return None;
        }
        let mut kept = HashSet::new();
        regions(&kernel.body, &plan.lanes, &mut |part| kept.extend(upward_exposed(part)));
        kept.retain(|&v| plan.lanes.vars[v] != Divergence::BlockUniform && plan.rematerialized.get(v).is_none());
        if kept.iter().any(|&v| v < kernel.params) {
            return None;
        }
        for &v in &kept {
            let mut offsets = Vec::new();
            for t in parts(&kernel.vars[v].ty) {
                offsets.push(plan.bytes);
                // The distance is not a multiple of a page, so that variables use different cache sets.
                plan.bytes += MAX_THREADS * t.bytes() as usize + 192;
            }
            plan.context[v] = Some(offsets);
        }
        let first = upward_exposed(&kernel.body);
        plan.clears_context = kept.iter().any(|v| first.contains(v));
        let local_arrays = kernel.arrays.iter().filter(|a| a.space == Space::Local);
        plan.local = local_arrays.map(array_bytes).sum();
        Some(plan)
    }

    /// Returns true if a statement assigns a variable that is recomputed at each use.
    pub(super) fn is_rematerialized(&self, stmt: &Stmt) -> bool {
        matches!(stmt.kind, StmtKind::Assign(v, _) if self.rematerialized.get(v).is_some())
    }

    /// Returns which blocks one call runs.
    pub(super) fn blocks_per_call(&self) -> BlocksPerCall {
        match self.grouping {
            BlockGrouping::Separate => BlocksPerCall::One,
            _ if self.is_divided => BlocksPerCall::Threads(MAX_THREADS),
            _ => BlocksPerCall::Row(MERGED_ROW_THREADS),
        }
    }
}

/// Returns the variables that statements assign, and all variables that they name.
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
