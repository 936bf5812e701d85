//! The cost of a planned program, step by step: operations by kind, bytes between memory and chip, launches.
//!
//! The advisor's table of weights defines the kinds of work and their units. The table of routines is below.

use cuprous_advisor::counted::CountedProgram;
use cuprous_advisor::{Demand, Group, Load};
use cuprous_core::attention::Attention;
use cuprous_core::routine::{FftKind, LinalgOp, QrMode, Vectors};
use cuprous_core::{DType, Fun, LayoutRef, ReduceOp, RoutineOp};

use crate::program::{Inst, Kernel, Level, Program, RoutineCall, Step};

/// Returns the cost of a program of `nodes` recorded operations.
pub fn of(program: &Program, nodes: usize) -> CountedProgram {
    CountedProgram { nodes: nodes as f64, steps: program.steps.iter().map(|step| step_of(step, program)).collect() }
}

fn step_of(step: &Step, program: &Program) -> (String, Load) {
    let mut load = Load { launches: 1.0, ..Load::default() };
    let name = match step {
        Step::Kernel(one) => {
            add_kernel(one, program, &mut load);
            title(one)
        }
        Step::Pack(kernels) => {
            kernels.iter().for_each(|one| add_kernel(one, program, &mut load));
            format!("{} kernels together", kernels.len())
        }
        Step::Routine(one) => {
            add_routine(one, &mut load);
            one.op.name().to_owned()
        }
        // The work of a user kernel is not known.
        Step::Launch(_) => "kernel of the user".to_owned(),
    };
    step.touches(|buffer, _| load.footprint += program.buffers[buffer as usize].bytes as f64);
    (name, load)
}

/// Returns the functions of a kernel, each once, the first few by name.
fn title(kernel: &Kernel) -> String {
    const SHOWN: usize = 6;
    let mut names: Vec<&str> = Vec::new();
    for name in kernel.body.iter().filter_map(|t| operation_name(&t.inst)) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    match names.len() {
        0 => "copy".into(),
        n if n <= SHOWN => names.join(", "),
        n => format!("{} and {} more", names[..SHOWN].join(", "), n - SHOWN),
    }
}

fn operation_name(inst: &Inst) -> Option<&'static str> {
    match inst {
        Inst::Map { fun, .. } => Some(fun.op().name),
        Inst::Reduce { op, .. } => Some(op.name()),
        Inst::Gather { .. } => Some("gather"),
        Inst::Scatter { .. } => Some("scatter"),
        _ => None,
    }
}

/// Returns the number of real operations in an operation on this dtype.
fn real_operations(fun: Fun, dtype: DType) -> f64 {
    match (dtype.is_complex(), fun) {
        (false, _) => 1.0,
        (true, Fun::Add | Fun::Subtract | Fun::Negative | Fun::Where | Fun::Cast | Fun::MakeComplex) => 2.0,
        (true, _) => 6.0,
    }
}

fn add_demand(load: &mut Load, what: &'static str, dtype: DType, amount: f64) {
    let group = Group::of(dtype);
    match load.demands.iter_mut().find(|d| d.what == what && d.group == group) {
        Some(known) => known.amount += amount,
        None => load.demands.push(Demand { what, group, amount }),
    }
}

/// Bytes of a cache line.
const LINE: f64 = 64.0;

/// Bytes that some cache of most processors holds.
const CACHE_BYTES: usize = 8 << 20;

/// Number of elements below which atomic updates are so dense that they wait for one another. Among more elements, the
/// share that waits falls in proportion.
pub(crate) const CONTENDED_ELEMENTS: f64 = 64.0;

/// Counts `count` accesses at indices that are data: each loads a cache line, unless a cache holds the lines. Returns
/// the bytes that come from a cache.
fn random_access(load: &mut Load, count: f64, size: f64, buffer: usize) -> f64 {
    if buffer > CACHE_BYTES {
        load.scattered += count;
        return 0.0;
    }
    (count * LINE.min(4.0 * size)).min(buffer as f64)
}

/// Returns true if the kernel reduces columns: the elements of a column do not lie side by side, but those of
/// neighboring columns do.
fn reduces_across(kernel: &Kernel) -> bool {
    let axes = kernel.outer.len();
    kernel.body.iter().any(|t| match &t.inst {
        Inst::Load { access, .. } if t.level == Level::Full && axes > 0 && !kernel.inner.is_empty() => {
            access.strides[axes - 1].abs() == 1 && access.strides.last().is_some_and(|s| s.abs() > 1)
        }
        _ => false,
    })
}

/// Elements of a single row below which a CPU reduces it on one thread.
const SHORT_ROW: f64 = 32768.0;

fn add_kernel(kernel: &Kernel, program: &Program, load: &mut Load) {
    let outer = kernel.outer_size() as f64;
    let all = outer * kernel.inner_size() as f64;
    let across = reduces_across(kernel);
    // Bytes read from each buffer. The loads of a stencil find most of it in caches.
    let mut read = vec![0.0; kernel.buffers.len()];
    let mut written = vec![0.0; kernel.buffers.len()];
    let bytes_of = |buf: u16| program.buffers[kernel.buffers[buf as usize] as usize].bytes;
    for typed in &kernel.body {
        let full = typed.level == Level::Full;
        let count = if full { all } else { outer };
        let size = typed.dtype.size() as f64;
        match &typed.inst {
            Inst::Load { buf, access } | Inst::Store { buf, access, .. } => {
                let extents = kernel.outer.iter().chain(if full { kernel.inner.iter() } else { [].iter() });
                let pairs = extents.zip(&access.strides);
                let elements: f64 = pairs.clone().filter(|p| *p.1 != 0).map(|p| *p.0 as f64).product();
                let last = pairs.last().map_or(1, |p| p.1.abs());
                let nearest = access.strides.iter().map(|s| s.abs()).filter(|&s| s != 0).min().unwrap_or(1);
                let bytes = elements * size * (nearest as f64).min((LINE / size).max(1.0));
                let moved = if matches!(typed.inst, Inst::Load { .. }) { &mut read } else { &mut written };
                moved[*buf as usize] += bytes;
                if last > 1 && elements > 1.0 && !across {
                    add_demand(
                        load,
                        if bytes_of(*buf) > CACHE_BYTES { "strided far" } else { "strided" },
                        typed.dtype,
                        elements,
                    );
                }
            }
            Inst::Gather { buf, .. } => {
                add_demand(load, "gather", typed.dtype, count);
                let cached = random_access(load, count, size, bytes_of(*buf));
                load.read += cached;
            }
            Inst::Scatter { buf, .. } => {
                let crowded = (CONTENDED_ELEMENTS * size / (bytes_of(*buf) as f64).max(1.0)).min(1.0);
                add_demand(load, "crowded scatter", typed.dtype, count * crowded);
                if crowded < 1.0 {
                    add_demand(load, "scatter", typed.dtype, count * (1.0 - crowded));
                }
                let cached = random_access(load, count, size, bytes_of(*buf));
                load.written += cached;
            }
            Inst::Map { fun, args } => {
                let from = args.first().map_or(typed.dtype, |&a| kernel.body[a as usize].dtype);
                let special =
                    matches!(fun, Fun::Cast | Fun::Bitcast | Fun::MakeComplex) || fun.op().name.starts_with("random");
                let dtype = if special { typed.dtype } else { from };
                add_demand(load, fun.op().name, dtype, count * real_operations(*fun, dtype));
            }
            Inst::Reduce { op, arg } => {
                let from = &kernel.body[*arg as usize];
                let width = if from.dtype.is_complex() { 2.0 } else { 1.0 };
                let what = match (across, op) {
                    (false, _) => op.name(),
                    (true, ReduceOp::M2) => "m2 across",
                    (true, _) => "reduce across",
                };
                add_demand(load, what, from.dtype, width * if from.level == Level::Full { all } else { outer });
            }
            Inst::Scalar { .. } | Inst::Iota { .. } => {}
        }
    }
    for k in 0..kernel.buffers.len() {
        let most = bytes_of(k as _) as f64;
        load.read += read[k].min(most);
        load.written += written[k].min(most);
    }
    load.loops += 1.0;
    let reduces = kernel.body.iter().any(|t| matches!(t.inst, Inst::Reduce { .. }));
    load.whole = reduces && outer == 1.0 && all < SHORT_ROW;
}

/// Returns the number of elements that a layout refers to, each counted once.
fn elements(layout: &LayoutRef) -> f64 {
    layout.shape.iter().zip(&layout.strides).filter(|p| *p.1 != 0).map(|p| *p.0 as f64).product()
}

fn add_routine(call: &RoutineCall, load: &mut Load) {
    for (_, layout) in call.reads() {
        load.read += elements(layout) * layout.dtype.size() as f64;
    }
    let out = &call.out.1;
    let size = out.size as f64;
    load.written += size * out.dtype.size() as f64;
    load.loops += 1.0;
    let first = call.ins.first().map_or(out, |(_, layout)| layout);
    for (what, dtype, amount) in routine_work(&call.op, first, call.ins.get(1).map(|i| &i.1), out) {
        add_demand(load, what, dtype, amount);
    }
    let extras = usize::from(!call.epilogue.scale.eq(&Default::default()))
        + 2 * usize::from(call.epilogue.addend.is_some())
        + usize::from(call.epilogue.bias.is_some());
    if extras > 0 {
        add_demand(load, "add", out.dtype, size * extras as f64);
    }
    if let RoutineOp::Fft { rank, .. } = call.op {
        // Each axis is a pass.
        load.read *= f64::from(rank);
        load.written *= f64::from(rank);
    }
}

/// Rows or columns up to which memory, not arithmetic, bounds a matmul.
const THIN: f64 = 4.0;

/// **The table of routines**: the kinds of work, their dtypes and amounts. `a` and `b` are the operands, `out` is the
/// result.
fn routine_work(
    op: &RoutineOp,
    a: &LayoutRef,
    b: Option<&LayoutRef>,
    out: &LayoutRef,
) -> Vec<(&'static str, DType, f64)> {
    let (n, size) = (a.size as f64, out.size as f64);
    let row = a.shape.last().map_or(1.0, |&n| n as f64);
    let log = |n: f64| n.max(2.0).log2();
    let products = if a.dtype.is_complex() { 8.0 } else { 2.0 };
    match op {
        RoutineOp::Dot => {
            let columns = out.shape.last().map_or(1.0, |&n| n as f64);
            let rows = n / row.max(1.0);
            let what = if rows.min(columns) <= THIN { "thin dot" } else { "dot" };
            vec![(what, out.dtype, products * size * row)]
        }
        RoutineOp::Scan { .. } => vec![("scan", out.dtype, size)],
        RoutineOp::Sort | RoutineOp::ArgSort => vec![("sort", a.dtype, n * log(row))],
        RoutineOp::SearchSorted { .. } => vec![("search", a.dtype, size * log(n))],
        RoutineOp::Partition { .. } | RoutineOp::TopK { .. } | RoutineOp::Select { .. } => vec![("select", a.dtype, n)],
        RoutineOp::PackMask => vec![("compact", a.dtype, n)],
        RoutineOp::Compact => vec![("compact", out.dtype, size)],
        RoutineOp::Components { .. } => vec![("search", out.dtype, 4.0 * size)],
        RoutineOp::Correlate { .. } => {
            vec![("correlate", out.dtype, 2.0 * size * b.map_or(1.0, |w| w.size as f64))]
        }
        RoutineOp::Pad { .. } => vec![("pad", out.dtype, size)],
        RoutineOp::Fft { kind, axis, rank, .. } => {
            // The side that has all points. Real points are half the work.
            let whole = if *kind == FftKind::Half { out } else { a };
            let last = usize::from(*axis) + 1;
            let axes = &whole.shape[last.saturating_sub(usize::from(*rank))..last];
            let points: f64 = axes.iter().map(|&n| n as f64).product();
            let share = if matches!(kind, FftKind::Forward | FftKind::Backward) { 5.0 } else { 2.5 };
            vec![("fft", out.dtype, share * whole.size as f64 * log(points))]
        }
        RoutineOp::Linalg(op) => linalg(*op, a, b),
        RoutineOp::Convolve(_, geometry) => vec![("convolve", out.dtype, 2.0 * geometry.products() as f64)],
        RoutineOp::Recur(r) => vec![("recurrence", out.dtype, 2.0 * (r.of.steps * r.of.batch * r.weights) as f64)],
        RoutineOp::RecurBackward(r) => {
            vec![("recurrence", out.dtype, 4.0 * (r.of.steps * r.of.batch * r.weights) as f64)]
        }
        RoutineOp::Attend(of) => vec![("dot", of.dtype, attention(of))],
        RoutineOp::AttendBackward(of) => vec![("dot", of.dtype, 2.5 * attention(of))],
        RoutineOp::AttendRows(of) => {
            let products = 2.0 * of.keys as f64 * (n + size);
            vec![("dot", out.dtype, if of.causal { products / 2.0 } else { products })]
        }
        RoutineOp::Normalize(_) => vec![("add", out.dtype, 8.0 * size)],
        RoutineOp::ChannelStatistics(_) => vec![("add", out.dtype, 4.0 * n)],
        RoutineOp::NormalizeBackward(_) | RoutineOp::ChannelBackward(_) => vec![("add", out.dtype, 16.0 * size)],
        RoutineOp::Steps(s) => vec![("recurrence", out.dtype, 8.0 * (s.steps * s.batch * s.hidden * s.hidden) as f64)],
        RoutineOp::StepsBackward(s) => {
            vec![("recurrence", out.dtype, 16.0 * (s.steps * s.batch * s.hidden * s.hidden) as f64)]
        }
        RoutineOp::SparseDot { .. } => {
            vec![("sparse dot", out.dtype, products * n * out.shape.last().map_or(1.0, |&k| k as f64))]
        }
        RoutineOp::GroupIds { .. } => vec![("search", a.dtype, 4.0 * n)],
        RoutineOp::GroupAggregate { functions } => vec![("search", a.dtype, functions.len() as f64 * n)],
        RoutineOp::JoinMatch { .. } | RoutineOp::JoinPairs { .. } => {
            vec![("search", a.dtype, 4.0 * (n + b.map_or(0.0, |left| left.size as f64)))]
        }
    }
}

/// Returns the operations for scores and weighted sums. Causal attention needs half of them.
fn attention(of: &Attention) -> f64 {
    let scores = (of.batch * of.heads * of.queries * of.keys) as f64;
    2.0 * scores * (of.width + of.depth) as f64 * if of.causal { 0.5 } else { 1.0 }
}

/// The operation counts of the LAPACK working notes, with m rows, n columns and k right-hand sides.
fn linalg(op: LinalgOp, a: &LayoutRef, b: Option<&LayoutRef>) -> Vec<(&'static str, DType, f64)> {
    let side = |from_end: usize| a.shape.iter().rev().nth(from_end).map_or(1.0, |&n| n as f64);
    let (m, n) = (side(1), side(0));
    let k = b.and_then(|b| b.shape.last()).map_or(0.0, |&k| k as f64);
    let many = a.size as f64 / (m * n).max(1.0) * if a.dtype.is_complex() { 4.0 } else { 1.0 };
    let (long, short) = (m.max(n), m.min(n));
    let factored = 2.0 * short * short * (long - short / 3.0);
    let (what, flops) = match op {
        LinalgOp::Cholesky { .. } => ("factor", n * n * n / 3.0),
        LinalgOp::Solve => ("factor", 2.0 / 3.0 * n * n * n + 2.0 * n * n * k),
        LinalgOp::Slogdet => ("factor", 2.0 / 3.0 * n * n * n),
        LinalgOp::Qr(QrMode::R | QrMode::Raw) => ("factor", factored),
        LinalgOp::Qr(QrMode::Reduced) => ("factor", 2.0 * factored),
        LinalgOp::Qr(QrMode::Complete) => ("factor", factored + 4.0 * m * m * short),
        LinalgOp::Svd(Vectors::No) => ("spectrum", 8.0 / 3.0 * long * short * short),
        LinalgOp::Svd(_) => ("spectrum", 8.0 * long * short * short + 9.0 * short * short * short),
        LinalgOp::Eigh { vectors: false, .. } => ("spectrum", 4.0 / 3.0 * n * n * n),
        LinalgOp::Eigh { vectors: true, .. } => ("spectrum", 9.0 * n * n * n),
        LinalgOp::Eig { vectors: false } => ("spectrum", 10.0 * n * n * n),
        LinalgOp::Eig { vectors: true } => ("spectrum", 25.0 * n * n * n),
    };
    let mut work = vec![(what, a.dtype, many * flops)];
    if what == "factor" {
        // Of all matrices at once: the columns of a panel depend on one another, whatever the processor.
        work.push(("column", a.dtype, short));
    }
    work
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_has_a_weight() {
        for fun in Fun::ALL {
            assert!(cuprous_advisor::weights::known(fun.op().name), "{}", fun.op().name);
        }
        for op in ReduceOp::ALL {
            assert!(cuprous_advisor::weights::known(op.name()));
        }
    }
}
