//! Runs generated kernels on the CPU through the shim and compares them with the interpreter.

mod common;

use common::host::{self, Case};
use common::{Build, reference};
use cuprous_core::scalar::Number;
use cuprous_core::{DType, Fun, ReduceOp, Scalar, ScatterOp};
use cuprous_cuda::codegen::{Arch, Options, Tuning, generate};
use cuprous_plan::{Inst, Kernel};

const F: DType = DType::F32;
/// A small device, so that small sizes are split as large ones are on a large device.
const SMALL: Arch = Arch { sms: 4, ..Arch::H200 };

/// Fills a buffer with a repeatable stream of small numbers.
fn fill(bytes: &mut [u8], d: DType, seed: u64) {
    let mut x = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    for i in 0..bytes.len() / d.size() {
        x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let unit = (x >> 40) as f64 / (1u64 << 24) as f64;
        let value = if d.is_float() { 4.0 * unit - 2.0 } else { (unit * 50.0).floor() };
        reference::set(bytes, i as i64, d, if d == DType::Bool { f64::from(unit > 0.5) } else { value });
    }
}

/// Returns the bytes that each buffer of a kernel needs, and the type of its first use.
fn sizes(kernel: &Kernel) -> Vec<(usize, DType)> {
    let mut all = vec![(0, F); kernel.buffers.len()];
    let extents: Vec<i64> = kernel.outer.iter().chain(&kernel.inner).copied().collect();
    for t in &kernel.body {
        let (buf, n) = match &t.inst {
            Inst::Load { buf, access } | Inst::Store { buf, access, .. } => {
                let reach = access.strides.iter().zip(&extents).map(|(s, n)| (s * (n - 1)).max(0)).sum::<i64>();
                (*buf, access.offset + reach + 1)
            }
            Inst::Gather { buf, len, .. } | Inst::Scatter { buf, len, .. } => (*buf, *len),
            _ => continue,
        };
        let slot = &mut all[buf as usize];
        *slot = (slot.0.max(n as usize * t.dtype.size()), t.dtype);
    }
    all
}

fn scalars() -> Vec<Scalar> {
    vec![Scalar::new(Number::Float(0.125), F); 2]
}

/// Runs kernels both ways and compares every buffer: with the templates that small work shares, and with those for large
/// work.
fn compare(name: &str, kernels: Vec<Kernel>, options: Options) {
    compare_one(name, kernels.clone(), options);
    let tuning = Tuning { general_threads: 0, ..options.tuning };
    compare_one(&format!("{name}_large"), kernels, Options { tuning, ..options });
}

fn compare_one(name: &str, kernels: Vec<Kernel>, options: Options) {
    if !host::have_compiler() {
        return;
    }
    let mut cases = Vec::new();
    for mut kernel in kernels.clone() {
        let buffers: Vec<Vec<u8>> = sizes(&kernel)
            .into_iter()
            .enumerate()
            .map(|(i, (n, d))| {
                let mut bytes = vec![0; n];
                fill(&mut bytes, d, i as u64 + 1);
                bytes
            })
            .collect();
        kernel.buffers = (0..buffers.len() as u32).collect();
        let generated = generate(&kernel, SMALL, options);
        // A kernel that overwrites its operand would give other results in a second run.
        let in_place = kernel.body.iter().any(|t| match &t.inst {
            Inst::Store { buf, .. } => {
                kernel.body.iter().any(|u| matches!(&u.inst, Inst::Load { buf: b, .. } if b == buf))
            }
            Inst::Scatter { .. } => true,
            _ => false,
        });
        cases.push(Case { generated, buffers, scalars: scalars(), runs: if in_place { 1 } else { 2 } });
    }
    let inputs: Vec<Vec<Vec<u8>>> = cases.iter().map(|c| c.buffers.clone()).collect();
    host::run(name, &mut cases);
    for ((kernel, case), mut want) in kernels.iter().zip(&cases).zip(inputs) {
        reference::run(kernel, &mut want, &scalars());
        for (i, (_, d)) in sizes(kernel).into_iter().enumerate() {
            for k in 0..want[i].len() / d.size() {
                let (a, b) = (reference::get(&case.buffers[i], k as i64, d), reference::get(&want[i], k as i64, d));
                let slack = if d == DType::F16 { 4e-3 } else { 2e-5 };
                assert!(
                    (a - b).abs() <= slack * (1.0 + b.abs()) || a.is_nan() && b.is_nan(),
                    "buffer {i} [{k}] is {a}, not {b}\n{}",
                    case.generated
                );
            }
        }
    }
}

#[test]
fn maps() {
    let mut all = Vec::new();
    for n in [1, 3, 4, 1000, 1024, 2049] {
        for d in [F, DType::F16, DType::F64, DType::I8] {
            let mut b = Build::new(if n == 1 { &[] } else { std::slice::from_ref(&n) }, &[]);
            let x = b.load(d);
            let y = b.load(F);
            let z = b.map_to(Fun::Cast, F, &[x]);
            let v = b.map(Fun::Add, &[z, y]);
            let i = b.iota();
            let i = b.map_to(Fun::Cast, F, &[i]);
            let v = b.map(Fun::Add, &[v, i]);
            b.store_over(y, v);
            all.push(b.kernel);
        }
    }
    for (shape, strides, offset) in [
        (&[10, 64][..], &[0, 1][..], 0),
        (&[10, 64], &[1, 0], 0),
        (&[10, 33], &[0, 1], 0),
        (&[10, 64], &[128, 2], 1),
        (&[10, 64], &[-64, -1], 639),
        (&[3, 4, 64], &[64, 0, 1], 0),
        (&[3, 4, 5, 8], &[0, 1, 4, 20], 0),
        (&[160, 130], &[1, 160], 0),
        (&[3, 100, 160], &[16000, 1, 100], 0),
        (&[100, 3, 160], &[1, 16000, 100], 0),
        (&[2, 2, 100, 160], &[3, 5, 7, 1], 0),
    ] {
        let mut b = Build::new(shape, &[]);
        let x = b.load(F);
        let y = b.load_at(F, strides, offset);
        let c = b.scalar(0, F);
        let v = b.map(Fun::Multiply, &[x, y]);
        let v = b.map(Fun::Add, &[v, c]);
        let i = b.iota();
        let i = b.map_to(Fun::Cast, F, &[i]);
        let v = b.map(Fun::Add, &[v, i]);
        b.store(v);
        all.push(b.kernel);
    }
    compare("maps", all.clone(), Options::default());
    all.truncate(12);
    compare("maps_unaligned", all, Options { aligned: false, ..Options::default() });
}

#[test]
fn scatters() {
    let mut all = Vec::new();
    for d in [F, DType::F16, DType::I32, DType::I8, DType::I64] {
        for op in [ScatterOp::Set, ScatterOp::Add, ScatterOp::Maximum, ScatterOp::Minimum] {
            for shape in [&[100][..], &[7, 12], &[7, 5]] {
                let mut b = Build::new(shape, &[]);
                let i = b.load(DType::I64);
                let x = if op == ScatterOp::Add && d == DType::I8 { b.load(DType::Bool) } else { b.load(d) };
                let x = b.map_to(Fun::Cast, d, &[x]);
                let g = b.gather(d, 7, i);
                let e = b.map(Fun::Equal, &[i, i]);
                let x = b.map_to(Fun::Where, d, &[e, x, g]);
                b.scatter(op, 33, i, x);
                all.push(b.kernel);
            }
        }
    }
    compare("scatters", all, Options::default());
}

const SHAPES: &[(&[i64], &[i64], &[i64])] = &[
    (&[50], &[12], &[12, 1]),
    (&[50], &[13], &[13, 1]),
    (&[3], &[1], &[1, 1]),
    (&[5], &[700], &[700, 1]),
    (&[5], &[6000], &[6000, 1]),
    (&[9], &[42_000], &[42_000, 1]),
    (&[], &[100_007], &[1]),
    (&[2], &[40_001], &[40_001, 1]),
    (&[100], &[8], &[1, 100]),
    (&[101], &[9], &[1, 101]),
    (&[12], &[3000], &[1, 12]),
    (&[6], &[8, 28], &[28, 6 * 28, 1]),
    (&[3, 8], &[5, 16], &[8, 1, 16 * 24, 24]),
];

#[test]
fn reductions() {
    let mut all = Vec::new();
    for (outer, inner, strides) in SHAPES {
        for d in [F, DType::I32, DType::F16] {
            let mut b = Build::new(outer, inner);
            let x = b.load_at(d, strides, 0);
            let ops = ReduceOp::ALL
                .into_iter()
                .filter(|o| !matches!(o, ReduceOp::Prod | ReduceOp::M2) || d == F && *o == ReduceOp::M2);
            // float16 sums of long rows overflow.
            let ops = ops.filter(|o| *o != ReduceOp::Sum || d != DType::F16);
            let results: Vec<u16> = ops.map(|op| b.reduce(op, x)).collect();
            b.row();
            results.into_iter().for_each(|r| {
                b.store(r);
            });
            all.push(b.kernel);
        }
    }
    compare("reductions", all, Options::default());
}

#[test]
fn phases() {
    let mut all = Vec::new();
    for (outer, inner, strides) in SHAPES {
        let mut b = Build::new(outer, inner);
        let x = b.load_at(F, strides, 0);
        let m = b.reduce(ReduceOp::Max, x);
        let y = b.map(Fun::Subtract, &[x, m]);
        let e = b.map(Fun::Exp, &[y]);
        let s = b.reduce(ReduceOp::Sum, e);
        let v = b.map(Fun::Divide, &[e, s]);
        b.store_over(x, v);
        all.push(b.kernel);

        let mut b = Build::new(outer, inner);
        let x = b.load_at(F, strides, 0);
        let i = b.iota();
        let i = b.map_to(Fun::Cast, F, &[i]);
        let x2 = b.map(Fun::Multiply, &[x, x]);
        let s = b.reduce(ReduceOp::Sum, x2);
        b.row();
        let running = b.load(F);
        let c = b.scalar(0, F);
        let mean = b.map(Fun::Multiply, &[s, c]);
        let next = b.map(Fun::Add, &[running, mean]);
        b.store_over(running, next);
        b.full();
        let y = b.map(Fun::Multiply, &[x, running]);
        let y = b.map(Fun::Add, &[y, i]);
        let z = b.map(Fun::Add, &[y, mean]);
        b.store_at(z, strides, 0);
        all.push(b.kernel);
    }
    compare("phases", all, Options::default());
}
