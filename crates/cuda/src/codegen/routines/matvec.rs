//! Products of up to four rows or columns with a matrix whose terms are contiguous, as when a network computes one token or
//! sample. They are bound by the matrix's bytes. A library's product costs more to submit, and is chosen anew for each shape.

use cuprous_core::{DType, RoutineOp};
use cuprous_plan::RoutineCall;

use super::super::prelude::Part;
use super::super::types::{Arg, ctype, short};
use super::{Builder, DivUp, Launch, Source, WIDE, dot, vector};

const TEXT: &str = include_str!("matvec.cuh");
/// Most rows.
const ROWS: i64 = 4;
const THREADS: u32 = 128;
/// Columns from which on a warp computes four at a time.
const MANY_COLUMNS: i64 = 8192;
/// Elements of the matrix up to which this is faster than tensor cores for several rows of half precision.
const MAX_OF_HALF: i64 = 1 << 22;
/// Vectors of a lane from which on all warps of a block compute one column, if there are not many.
const LONG: i64 = 8;

/// An operand as (which, stride of its rows or columns, stride of its terms).
type Operand = (usize, i64, i64);

/// The few rows and the matrix's columns: how many there are, and the operand that holds them.
struct Problem {
    rows: (i64, Operand),
    columns: (i64, Operand),
    depth: i64,
}

fn problem(call: &RoutineCall) -> Option<Problem> {
    let out = &call.out.1;
    let floats = matches!(out.dtype, DType::F16 | DType::BF16 | DType::F32 | DType::F64);
    if call.op != RoutineOp::Dot || !floats {
        return None;
    }
    let (a, b) = (&call.ins[0].1, &call.ins[1].1);
    let last = out.ndim() - 2;
    let (m, n, depth) = (out.shape[last], out.shape[last + 1], a.shape[last + 1]);
    let left = (m, (0, a.strides[last], a.strides[last + 1]));
    let right = (n, (1, b.strides[last + 1], b.strides[last]));
    let fits = |rows: (i64, Operand), columns: (i64, Operand)| rows.0 <= ROWS && columns.1.2 == 1;
    if out.size != m * n || depth == 0 {
        return None;
    }
    let (rows, columns) = match () {
        () if fits(left, right) => (left, right),
        () if fits(right, left) => (right, left),
        () => return None,
    };
    let by_tensor_cores = out.dtype.size() == 2 && rows.0 > 1 && columns.0.saturating_mul(depth) > MAX_OF_HALF;
    (!by_tensor_cores).then_some(Problem { rows, columns, depth })
}

/// Returns true for products of few rows or columns.
pub(super) fn is_product(call: &RoutineCall) -> bool {
    problem(call).is_some()
}

/// Adds the launch of a product; `None` for others than these.
pub(super) fn matvec(call: &RoutineCall, builder: &mut Builder) -> Option<()> {
    let Problem { rows: (rows, (few, a_step, a_term)), columns: (columns, (many, b_step, _)), depth } = problem(call)?;
    let aligned = builder.target.options.aligned;
    let d = call.out.1.dtype;
    let source = |k: usize| Source { at: Arg::Buffer(call.ins[k].0), offset: call.ins[k].1.offset };
    let (a, b) = (source(few), source(many));
    // What lies beside the only row or column is not read.
    let beside = |count: i64, step: i64| if count == 1 { 0 } else { step };
    let (a_step, b_step) = (beside(rows, a_step), beside(columns, b_step));
    let v = vector(d.size(), aligned, &[depth, b_step, b.offset]);
    let in_vectors = v > 1 && a_term == 1 && vector(d.size(), aligned, &[depth, a_step, a.offset]) >= v;
    let rows_at_once = (rows as u64).next_power_of_two();
    let columns_at_once = if columns >= MANY_COLUMNS { 4 } else { 1 };
    let long = columns_at_once == 1 && depth >= LONG * 32 * i64::from(v);
    let warps = if long { 4 } else { 1 };
    let n = call.out.1.shape[call.out.1.ndim() - 1];
    let steps = if few == 0 { [n, 1, 0, 1] } else { [1, n, 1, 0] };
    let template = format!("matvec<{}, {rows_at_once}, {columns_at_once}, {v}, {in_vectors}, {warps}>", ctype(d));
    let texts: Vec<&str> = [WIDE].into_iter().chain(dot::texts(d)).chain([TEXT]).collect();
    let launch = Launch::new(format!("matvec_{}", short(d)), &[d], &texts)
        .part(Part::Block)
        .source("a", ctype(d), a)
        .source("b", ctype(d), b)
        .pointer("c", ctype(d), Arg::Buffer(call.out.0))
        .int("rows", rows)
        .int("columns", columns)
        .int("depth", depth)
        .int("a_step", a_step)
        .int("a_term", a_term)
        .int("b_step", b_step)
        .int("c_row", steps[0])
        .int("c_column", steps[1])
        .int("bias_row", steps[2])
        .int("bias_column", steps[3]);
    let blocks = columns.div_up(columns_at_once * 4 / warps);
    builder.out.stages.push(dot::epilogue(launch, call).stage(&template, blocks, THREADS, 0));
    Some(())
}
