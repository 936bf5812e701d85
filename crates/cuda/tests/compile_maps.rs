//! Compiles every scalar function in every dtype, and every map template, with NVRTC.

mod common;

use common::{Build, compile_all, have_nvrtc, stages};
use cuprous_core::{DType, Fun, ScatterOp};
use cuprous_cuda::codegen::{Arch, Options, Stage, generate};

const H200: Arch = Arch::H200;

/// Returns kernels with `batch` functions each: all functions that compute in `d`.
fn all_functions(d: DType, batch: usize) -> Vec<Stage> {
    let funs: Vec<Fun> = Fun::ALL.iter().copied().filter(|f| !f.op().cuda.is_empty()).collect();
    let funs: Vec<Fun> = funs.into_iter().filter(|f| f.op().class.compute(d) == Some(d)).collect();
    let options = Options { aligned: false, ..Options::default() };
    let kernels = funs.chunks(batch).map(|some| {
        let mut b = Build::new(&[1000], &[]);
        let (x, y) = (b.load(d), b.load(d));
        for &fun in some {
            let v = b.map(fun, &[x, y][..fun.op().arity as usize]);
            b.store(v);
        }
        generate(&b.kernel, H200, options)
    });
    stages(kernels)
}

fn specials() -> Vec<Stage> {
    let mut all = Vec::new();
    for d in DType::ALL {
        let mut b = Build::new(&[1 << 20], &[]);
        let x = b.load(d);
        let mut half = b.load(DType::Bool);
        for to in DType::ALL {
            let v = b.map_to(Fun::Cast, to, &[x]);
            b.store(v);
        }
        let v = b.map_to(Fun::Where, d, &[half, x, x]);
        b.store(v);
        if d.is_float() {
            half = b.load(DType::I32);
            for v in
                [b.map_to(Fun::Ldexp, d, &[x, half]), b.map(Fun::FrexpExponent, &[x]), b.map(Fun::MakeComplex, &[x, x])]
            {
                b.store(v);
            }
        }
        if d.is_int() {
            let v = b.map(Fun::BitwiseCount, &[x]);
            b.store(v);
            if matches!(d, DType::I64 | DType::U64) {
                let y = b.load(if d == DType::I64 { DType::U64 } else { DType::I64 });
                let v = b.map_to(Fun::CompareIntegers, DType::I8, &[x, y]);
                b.store(v);
            }
        }
        all.push(generate(&b.kernel, H200, Options { aligned: false, ..Options::default() }));
    }
    stages(all)
}

fn random(n: i64) -> Vec<Stage> {
    let mut all = Vec::new();
    for (fun, d) in [
        (Fun::RandomBits32, DType::U32),
        (Fun::RandomBits64, DType::U64),
        (Fun::RandomUnit32, DType::F32),
        (Fun::RandomUnit64, DType::F64),
        (Fun::RandomNormal32, DType::F32),
        (Fun::RandomNormal64, DType::F64),
    ] {
        let mut b = Build::new(&[n], &[]);
        let (i, seed, offset) = (b.iota(), b.scalar(0, DType::U64), b.scalar(1, DType::U64));
        let v = b.map_to(fun, d, &[i, seed, offset]);
        b.store(v);
        all.push(generate(&b.kernel, H200, Options::default()));
    }
    for (fun, parameter, d) in [
        (Fun::RandomGamma, DType::F64, DType::F64),
        (Fun::RandomPoisson, DType::F64, DType::I64),
        (Fun::RandomBinomial, DType::C128, DType::I64),
    ] {
        let mut b = Build::new(&[n], &[]);
        let (i, seed, p) = (b.iota(), b.scalar(0, DType::U64), b.load(parameter));
        let v = b.map_to(fun, d, &[i, seed, p]);
        b.store(v);
        all.push(generate(&b.kernel, H200, Options::default()));
    }
    stages(all)
}

fn shapes() -> Vec<Stage> {
    let f = DType::F32;
    let mut all = Vec::new();
    let mut push = |b: Build| all.push(generate(&b.kernel, H200, Options::default()));
    // Dense chains with mixed widths.
    for d in [DType::F16, DType::F32, DType::F64, DType::C128, DType::I8] {
        let mut b = Build::new(&[100_000_000], &[]);
        let (x, y) = (b.load(d), b.load(d));
        let v = b.map(Fun::Add, &[x, y]);
        let w = b.map(Fun::Equal, &[v, y]);
        b.store(v);
        b.store(w);
        push(b);
    }
    // Broadcast row and column, strided, reversed, three axes, 64-bit indices.
    for (shape, strides) in [
        (&[1000, 1024][..], &[0, 1][..]),
        (&[1000, 1024], &[1, 0]),
        (&[1000, 1001], &[0, 1]),
        (&[1000, 1024], &[2048, 2]),
        (&[1000, 1024], &[-1024, -1]),
        (&[30, 40, 64], &[64, 0, 1]),
        (&[100_000, 100_000], &[0, 1]),
        (&[4096, 4096], &[1, 4096]),
        (&[8, 4096, 4096], &[1 << 24, 1, 4096]),
        (&[3, 70, 4096], &[1, 4096 * 3, 3]),
    ] {
        let mut b = Build::new(shape, &[]);
        let x = b.load(f);
        let y = b.load_at(f, strides, if strides.iter().any(|&s| s < 0) { 1000 * 1024 - 1 } else { 0 });
        let i = b.iota();
        let i = b.map_to(Fun::Cast, f, &[i]);
        let v = b.map(Fun::Multiply, &[x, y]);
        let v = b.map(Fun::Add, &[v, i]);
        b.store_over(x, v);
        push(b);
    }
    // Gather and every scatter operation.
    for d in DType::ALL {
        for op in ScatterOp::ALL {
            let mut b = Build::new(&[100_000], &[]);
            let (i, x) = (b.load(DType::I64), b.load(d));
            let g = b.gather(d, 77, i);
            let v = b.map_to(Fun::Where, d, &[i, g, x]);
            b.scatter(op, 1000, i, v);
            if matches!(op, ScatterOp::Set | ScatterOp::Add | ScatterOp::Multiply) {
                push(b);
            }
        }
    }
    stages(all)
}

#[test]
fn every_function_in_every_dtype_compiles() {
    if !have_nvrtc() {
        return;
    }
    let mut all: Vec<Stage> = DType::ALL.into_iter().flat_map(|d| all_functions(d, 24)).collect();
    all.extend(specials());
    compile_all(&all, "sm_90", Options::default());
    // The other targets compile the dtype that has code of its own.
    for arch in ["sm_80", "sm_100"] {
        compile_all(&all_functions(DType::F16, 64), arch, Options::default());
    }
    let fast = Options { fast_math: true, ..Options::default() };
    compile_all(&all_functions(DType::F32, 64), "sm_90", fast);
}

#[test]
fn every_map_shape_compiles() {
    if !have_nvrtc() {
        return;
    }
    let mut all = shapes();
    all.extend(random(100_000_000));
    all.extend(random(1001));
    compile_all(&all, "sm_90", Options::default());
    // The code is the same for all targets, so the others compile a part of it.
    let few: Vec<Stage> = all.into_iter().step_by(7).collect();
    for arch in ["sm_80", "sm_100"] {
        compile_all(&few, arch, Options::default());
    }
}
