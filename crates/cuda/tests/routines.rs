//! Compiles every routine, in every dtype and template, with NVRTC.

mod common;

use common::{compile_all, dense, have_nvrtc, stages};
use cuprous_core::attention::RowAttention;
use cuprous_core::routine::{Edge, RowNorm};
use cuprous_core::{DType, Layout, RoutineOp, ScanOp};
use cuprous_cuda::codegen::{Arch, Generated, Options, Stage, generate_routine};
use cuprous_plan::{Addend, Epilogue, Factor, RoutineCall};

/// Returns the code of a routine on dense operands, or on operands with every axis reversed in memory.
fn call(op: RoutineOp, ins: &[(DType, &[i64])], out: DType, shape: &[i64], strided: bool) -> Generated {
    call_on(Arch::H200, op, ins, out, shape, strided)
}

/// The same for a given device.
fn call_on(arch: Arch, op: RoutineOp, ins: &[(DType, &[i64])], out: DType, shape: &[i64], strided: bool) -> Generated {
    let operand = |d: DType, s: &[i64]| {
        let mut reversed = s.to_vec();
        reversed.reverse();
        let mut strides = dense(&reversed);
        strides.reverse();
        if strided { Layout::new(d, s, &strides, 3) } else { Layout::contiguous(d, s) }
    };
    let ins = ins.iter().enumerate().map(|(k, (d, s))| (k as u32, operand(*d, s))).collect();
    let call = RoutineCall { op, ins, out: (9, Layout::contiguous(out, shape)), epilogue: Epilogue::default() };
    generate_routine(&call, arch, Options::default()).expect("the routine has code")
}

const SCANS: [ScanOp; 4] = [ScanOp::Sum, ScanOp::Prod, ScanOp::Max, ScanOp::Min];
const EDGES: [Edge; 5] = [Edge::Reflect, Edge::Constant, Edge::Nearest, Edge::Mirror, Edge::Wrap];

/// Adds every shape of routine of one dtype.
fn of_dtype(arch: Arch, d: DType, all: &mut Vec<Generated>) {
    let same = |op: &RoutineOp, shape: &[i64]| call_on(arch, op.clone(), &[(d, shape)], d, shape, false);
    for (k, op) in SCANS.into_iter().enumerate() {
        let scan = |axis| RoutineOp::Scan { op, axis };
        // Through shared memory, and through registers.
        all.push(same(&scan(0), &[10_000_000]));
        all.push(same(&scan(0), &[1_000_000]));
        if k == 0 || d == DType::F32 {
            all.push(same(&scan(1), &[1000, 30]));
            all.push(same(&scan(0), &[1_000_000, 3]));
        }
    }
    all.push(same(&RoutineOp::Sort, &[100, 50]));
    all.push(same(&RoutineOp::Sort, &[1_000_000]));
    all.push(same(&RoutineOp::Sort, &[100, 1000]));
    if !d.is_complex() {
        for largest in [false, true] {
            let topk = |shape: &[i64], out: &[i64]| {
                call_on(arch, RoutineOp::TopK { largest }, &[(d, shape)], DType::I64, out, false)
            };
            all.push(topk(&[100, 3000], &[100, 5]));
            all.push(topk(&[1_000_000], &[10_000]));
        }
        all.push(call_on(arch, RoutineOp::Select { rank: 7 }, &[(d, &[1_000_000])], d, &[], false));
    }
    if d == DType::Bool {
        all.push(call_on(arch, RoutineOp::PackMask, &[(d, &[10_000])], DType::I64, &[3 * 65], false));
    }
    if matches!(d, DType::U8 | DType::U16 | DType::U64) {
        for steps in [&[1_i64, 100][..], &[99]] {
            let op = RoutineOp::Components { steps: steps.into() };
            all.push(call_on(arch, op, &[(d, &[1, 10_000])], DType::I64, &[10_000], false));
        }
    }
    let packed = (DType::I64, &[65][..]);
    all.push(call_on(arch, RoutineOp::Compact, &[packed, (d, &[10])], d, &[5], false));
    for shape in [&[3000_i64][..], &[2, 100_000]] {
        all.push(call(RoutineOp::ArgSort, &[(d, shape)], DType::I64, shape, false));
    }
    all.push(call(RoutineOp::SearchSorted { right: false }, &[(d, &[100]), (d, &[70])], DType::I64, &[70], false));
    if matches!(d, DType::I8 | DType::F32 | DType::C128) {
        let ins: [(DType, &[i64]); 2] = [(d, &[1_000_000]), (d, &[10_000_000])];
        all.push(call(RoutineOp::SearchSorted { right: true }, &ins, DType::I64, &[10_000_000], false));
    }
    let pad = RoutineOp::Pad { edge: Edge::Reflect, constant: 0, before: [1, 2].as_slice().into() };
    all.push(call(pad, &[(d, &[10, 20])], d, &[12, 24], true));
    if d.is_float() {
        attention_and_norm(arch, d, all);
        for (m, n, k) in [(1, 512, 512), (3, 8, 4000), (2, 30_000, 100), (700, 1, 9)] {
            all.push(few_rows(arch, d, [m, n, k], true));
        }
        all.push(few_rows(arch, d, [1, 512, 512], false));
    }
    if !d.is_float() && !d.is_complex() {
        all.push(call(RoutineOp::Dot, &[(d, &[2, 5, 7]), (d, &[2, 7, 3])], d, &[2, 5, 3], true));
    }
}

/// Returns causal attention, on operands in row-major order or with every axis reversed in memory.
fn attention(
    arch: Arch,
    dtype: DType,
    heads: i64,
    [queries, keys]: [i64; 2],
    features: i64,
    strided: bool,
) -> Generated {
    let of = RowAttention { heads, queries, keys, features, causal: true, scale: 0.125f64.to_bits(), dtype };
    let [q, k] = [queries, keys].map(|rows| [1, heads, rows, features]);
    let ins: [(DType, &[i64]); 3] = [(dtype, &q), (dtype, &k), (dtype, &k)];
    call_on(arch, RoutineOp::AttendRows(of), &ins, dtype, &[1, queries, heads, features], strided)
}

/// Returns the product of (m × k) and the transpose of (n × k), with or without an epilogue.
fn few_rows(arch: Arch, d: DType, [m, n, k]: [i64; 3], with_epilogue: bool) -> Generated {
    let factor = Factor { constant: Some(0), negative: true };
    let whole = Layout::contiguous(d, &[m, n]);
    let addend = Addend { array: (2, whole.clone()), factor };
    let epilogue = Epilogue { scale: factor, addend: Some(addend), bias: Some((3, Layout::new(d, &[n], &[1], 5))) };
    let call = RoutineCall {
        op: RoutineOp::Dot,
        ins: vec![(0, Layout::contiguous(d, &[m, k])), (1, Layout::new(d, &[k, n], &[1, k], 0))],
        out: (9, whole),
        epilogue: if with_epilogue { epilogue } else { Epilogue::default() },
    };
    generate_routine(&call, arch, Options::default()).expect("the product has few rows")
}

/// Adds attention and layer normalization of one dtype.
fn attention_and_norm(arch: Arch, d: DType, all: &mut Vec<Generated>) {
    all.push(attention(arch, d, 8, [1, 40], 64, false));
    all.push(attention(arch, d, 8, [1, 4000], 128, false));
    all.push(attention(arch, d, 2, [7, 9], 20, true));
    all.push(attention(arch, d, 2, [1, 9], 512, false));
    let normalize = RoutineOp::Normalize(RowNorm { first: 1, eps: 1e-5f64.to_bits(), dtype: d });
    for n in [512, 9] {
        let ins: [(DType, &[i64]); 3] = [(d, &[3, n]), (d, &[n]), (d, &[n])];
        all.push(call_on(arch, normalize.clone(), &ins, d, &[3, n], n == 9));
    }
}

/// Returns correlations and paddings with every edge mode, and operands that are copied first.
fn with_every_edge() -> Vec<Stage> {
    let mut all = Vec::new();
    for edge in EDGES {
        let mut correlate = |shape: &[i64], window: &[i64], d: DType, strided: bool| {
            let origin = window.iter().map(|w| w / 2).collect();
            let op = RoutineOp::Correlate { edge, constant: 0, origin };
            all.push(call(op.clone(), &[(d, shape), (d, window)], d, shape, strided));
            let longest: Vec<i64> = shape.iter().zip(window).map(|(n, w)| n + w - 1).collect();
            all.push(call(op, &[(d, shape), (d, window)], d, &longest, strided));
        };
        correlate(&[4096, 4096], &[15, 15], DType::F32, false);
        correlate(&[30, 40, 50], &[3, 3, 3], DType::F64, true);
        if edge == Edge::Constant {
            correlate(&[4096, 4096], &[5, 5], DType::F64, false);
            correlate(&[100, 100], &[3, 3], DType::F32, false);
            correlate(&[400, 400], &[7, 45], DType::F32, false);
            correlate(&[100_000], &[301], DType::F32, false);
            correlate(&[400, 400], &[61, 1], DType::F32, false);
            for d in [DType::I32, DType::I64] {
                correlate(&[100_000], &[30], d, false);
                correlate(&[100_000], &[301], d, false);
                correlate(&[100_000], &[5001], d, false);
            }
        }
        correlate(&[4096, 4096], &[1, 25], DType::F32, false);
        correlate(&[4096, 4096], &[25, 1], DType::F32, false);
        let pad = RoutineOp::Pad { edge, constant: 0, before: [1, 0, 2].as_slice().into() };
        all.push(call(pad, &[(DType::BF16, &[3, 4, 5])], DType::BF16, &[5, 4, 9], false));
    }
    let shape = &[300_i64, 7000][..];
    all.push(call(RoutineOp::Sort, &[(DType::F16, shape)], DType::F16, shape, true));
    all.push(call(RoutineOp::Scan { op: ScanOp::Sum, axis: 0 }, &[(DType::I8, shape)], DType::I64, shape, true));
    stages(all)
}

#[test]
fn every_dtype_compiles() {
    if !have_nvrtc() {
        return;
    }
    let mut all = Vec::new();
    DType::ALL.into_iter().for_each(|d| of_dtype(Arch::H200, d, &mut all));
    let mut all = stages(all);
    all.extend(with_every_edge());
    all.sort_by(|a, b| a.code.cmp(&b.code));
    all.dedup_by(|a, b| a.code == b.code && a.prelude == b.prelude);
    compile_all(&all, "sm_90", Options::default());
}

#[test]
fn other_targets_compile() {
    if !have_nvrtc() {
        return;
    }
    for target in ["sm_80", "sm_100"] {
        let (mut all, arch) = (Vec::new(), Arch::H200.of_target(target));
        [DType::F16, DType::C64].into_iter().for_each(|d| of_dtype(arch, d, &mut all));
        compile_all(&stages(all), target, Options::default());
    }
}

#[test]
fn code_holds_no_extents() {
    let source = |n: i64| {
        let generated = call(RoutineOp::Sort, &[(DType::F32, &[n])], DType::F32, &[n], false);
        generated.stages.iter().map(|s| s.code.clone()).collect::<Vec<_>>()
    };
    assert_eq!(source(1_000_000), source(7_654_321));
    let source = |n: i64| {
        let generated =
            call(RoutineOp::Scan { op: ScanOp::Sum, axis: 0 }, &[(DType::F32, &[n])], DType::F32, &[n], false);
        generated.stages[0].code.clone()
    };
    assert_eq!(source(100_000), source(1_000_001));
    assert_eq!(source(10_000_000), source(17_654_321));
    let source = |rows: [i64; 2]| {
        let generated = attention(Arch::H200, DType::F32, 8, rows, 64, false);
        generated.stages.into_iter().map(|s| s.code).collect::<Vec<_>>()
    };
    assert_eq!(source([1, 5]), source([1, 128]));
    assert_eq!(source([1, 5]), source([1, 4001])[..1]);
    assert_eq!(source([2, 5]), source([100, 128]));
    let source = |sizes| few_rows(Arch::H200, DType::F32, sizes, true).stages[0].code.clone();
    assert_eq!(source([3, 5, 12]), source([4, 8191, 1020]));
}

#[test]
fn keys_of_a_head_are_divided_where_blocks_are_few() {
    let of = |heads, keys| {
        let generated = attention(Arch::H200, DType::F32, heads, [1, keys], 64, false);
        (generated.stages.len(), generated.stages[0].grid[0])
    };
    assert_eq!(of(8, 100), (1, 8));
    assert_eq!(of(8, 1024), (2, 8 * 8));
    assert_eq!(of(1024, 4096), (1, 1024), "the blocks fill the device");
}

#[test]
fn floating_products_are_left_to_the_library() {
    let shape = &[5_i64, 5][..];
    let op = RoutineCall {
        op: RoutineOp::Dot,
        ins: (0..2).map(|k| (k, Layout::contiguous(DType::F32, shape))).collect(),
        out: (2, Layout::contiguous(DType::F32, shape)),
        epilogue: Epilogue::default(),
    };
    assert!(generate_routine(&op, Arch::H200, Options::default()).is_none());
}
