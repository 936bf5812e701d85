//! Compiles every reduction in every dtype and template with NVRTC.

mod common;

use common::{Build, compile_all, have_nvrtc, stages};
use cuprous_core::{DType, Fun, ReduceOp};
use cuprous_cuda::codegen::{Arch, Generated, Options, generate};

fn generated(b: &Build) -> Generated {
    generate(&b.kernel, Arch::H200, Options::default())
}

/// (outer, inner, strides): rows in a group, rows in a block, long rows, one long row, columns, split columns, two
/// inner axes.
const SHAPES: &[(&[i64], &[i64], &[i64])] = &[
    (&[10_000], &[12], &[12, 1]),
    (&[10_000], &[10_000], &[10_000, 1]),
    (&[1000], &[1_000_000], &[1_000_000, 1]),
    (&[], &[100_000_007], &[1]),
    (&[1_000_000], &[8], &[1, 1_000_000]),
    (&[10_000], &[10_000], &[1, 10_000]),
    (&[64], &[128, 784], &[784, 64 * 784, 1]),
    (&[20, 64], &[30, 128], &[64, 1, 128 * 64 * 20, 64 * 20]),
];

fn ops_for(d: DType) -> Vec<ReduceOp> {
    let m2 = d.is_float() || d.is_complex();
    ReduceOp::ALL.into_iter().filter(|&op| op != ReduceOp::M2 || m2).collect()
}

#[test]
fn every_reduction_compiles() {
    if !have_nvrtc() {
        return;
    }
    // All operations of a dtype are in one kernel. float32 goes through all shapes, the other dtypes through every
    // fifth.
    let mut all = Vec::new();
    for (i, d) in DType::ALL.into_iter().enumerate() {
        for (k, (outer, inner, strides)) in SHAPES.iter().enumerate() {
            if (i + k) % 5 != 0 && d != DType::F32 {
                continue;
            }
            let mut b = Build::new(outer, inner);
            let x = b.load_at(d, strides, 0);
            let results: Vec<u16> = ops_for(d).into_iter().map(|op| b.reduce(op, x)).collect();
            b.row();
            results.into_iter().for_each(|r| {
                b.store(r);
            });
            all.push(generated(&b));
        }
    }
    let all = stages(all);
    compile_all(&all, "sm_90", Options::default());
}

/// Softmax along the inner axes.
fn softmax(outer: &[i64], inner: &[i64], strides: &[i64], d: DType) -> Generated {
    let mut b = Build::new(outer, inner);
    let x = b.load_at(d, strides, 0);
    let m = b.reduce(ReduceOp::Max, x);
    let y = b.map(Fun::Subtract, &[x, m]);
    let e = b.map(Fun::Exp, &[y]);
    let s = b.reduce(ReduceOp::Sum, e);
    let v = b.map(Fun::Divide, &[e, s]);
    b.store_at(v, strides, 0);
    generated(&b)
}

/// Layer norm with weights, which stores its mean as well.
fn layer_norm(rows: i64, n: i64, d: DType) -> Generated {
    let mut b = Build::new(&[rows], &[n]);
    let x0 = b.load(d);
    let f = DType::F32;
    let x = b.map_to(Fun::Cast, f, &[x0]);
    let w = b.load_at(d, &[0, 1], 0);
    let s = b.reduce(ReduceOp::Sum, x);
    let m2 = b.reduce(ReduceOp::M2, x);
    b.row();
    let c = b.scalar(0, f);
    let mean = b.map(Fun::Multiply, &[s, c]);
    let var = b.map(Fun::Multiply, &[m2, c]);
    let r = b.map(Fun::Rsqrt, &[var]);
    b.store(mean);
    b.full();
    let y = b.map(Fun::Subtract, &[x, mean]);
    let y = b.map(Fun::Multiply, &[y, r]);
    let w = b.map_to(Fun::Cast, f, &[w]);
    let y = b.map(Fun::Multiply, &[y, w]);
    let y = b.map_to(Fun::Cast, d, &[y]);
    b.store_over(x0, y);
    generated(&b)
}

/// Batch norm over rows, which updates running statistics in place.
fn batch_norm(rows: i64, n: i64) -> Generated {
    let f = DType::F32;
    let mut b = Build::new(&[n], &[rows]);
    let x = b.load_at(f, &[1, n], 0);
    let s = b.reduce(ReduceOp::Sum, x);
    b.row();
    let running = b.load(f);
    let c = b.scalar(0, f);
    let mean = b.map(Fun::Multiply, &[s, c]);
    let next = b.map(Fun::Add, &[running, mean]);
    b.store_over(running, next);
    b.full();
    let y = b.map(Fun::Subtract, &[x, mean]);
    let z = b.map(Fun::Multiply, &[y, running]);
    b.store_at(z, &[1, n], 0);
    generated(&b)
}

#[test]
fn kernels_with_phases_compile() {
    if !have_nvrtc() {
        return;
    }
    let mut all = Vec::new();
    for (outer, inner, strides) in SHAPES {
        all.push(softmax(outer, inner, strides, DType::F32));
    }
    all.push(softmax(&[10_000], &[1000], &[1000, 1], DType::F16));
    all.push(softmax(&[10_000], &[1001], &[1001, 1], DType::F64));
    all.push(layer_norm(10_000, 768, DType::F16));
    all.push(layer_norm(10_000, 768, DType::F32));
    all.push(layer_norm(4, 1_000_000, DType::F32));
    all.push(layer_norm(4000, 1_000_000, DType::BF16));
    all.push(batch_norm(4096, 512));
    // The reductions with a documented speed, each alone.
    type Case = (ReduceOp, &'static [i64], &'static [i64], &'static [i64]);
    let cases: [Case; 2] =
        [(ReduceOp::Sum, &[], &[100_000_000], &[1]), (ReduceOp::M2, &[10_000], &[10_000], &[1, 10_000])];
    for (op, outer, inner, strides) in cases {
        let mut b = Build::new(outer, inner);
        let x = b.load_at(DType::F32, strides, 0);
        let r = b.reduce(op, x);
        b.row().store(r);
        all.push(generated(&b));
    }
    let all = stages(all);
    compile_all(&all, "sm_90", Options::default());
    let few: Vec<_> = all.into_iter().step_by(5).collect();
    for arch in ["sm_80", "sm_100"] {
        compile_all(&few, arch, Options::default());
    }
}
