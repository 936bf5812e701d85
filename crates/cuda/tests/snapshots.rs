//! Compares the generated code of representative kernels with the files in `snapshots/`. `CUPROUS_BLESS=1` rewrites
//! them.

mod common;

use std::fmt::Write as _;
use std::path::Path;

use common::Build;
use cuprous_core::{DType, Fun, ReduceOp, ScatterOp};
use cuprous_cuda::codegen::{Arch, Generated, Options, generate, generate_pack};

fn check(name: &str, generated: &Generated) {
    let mut text = generated.to_string();
    for stage in &generated.stages {
        let _infallible = writeln!(text, "\n// arguments of {}: {:?}", stage.name, stage.args);
    }
    let _infallible =
        writeln!(text, "// scratch {} bytes, state {} bytes", generated.scratch_bytes, generated.state_bytes);
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots").join(format!("{name}.cu"));
    if std::env::var_os("CUPROUS_BLESS").is_some() {
        std::fs::write(&file, text).expect("the folder of snapshots can be written");
        return;
    }
    let expected = std::fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(expected, text, "{name} changed; if that is right, run again with CUPROUS_BLESS=1");
}

fn kernel(name: &str, b: &Build) {
    check(name, &generate(&b.kernel, Arch::H200, Options::default()));
}

const F: DType = DType::F32;

#[test]
fn map_dense() {
    let mut b = Build::new(&[100_000_000], &[]);
    let (x, y) = (b.load(F), b.load(F));
    let s = b.scalar(0, F);
    let v = b.map(Fun::Add, &[x, y]);
    let v = b.map(Fun::Multiply, &[v, s]);
    let v = b.map(Fun::Exp, &[v]);
    b.store(v);
    kernel("map_dense", &b);
}

#[test]
fn pack_of_maps() {
    // Two maps that differ in extents only, and a different one.
    let mut kernels = Vec::new();
    for n in [1000, 77] {
        let mut b = Build::new(&[n], &[]);
        let (x, s) = (b.load(F), b.scalar(n as u32, F));
        let v = b.map(Fun::Multiply, &[x, s]);
        b.store(v);
        kernels.push(b.kernel);
    }
    let mut b = Build::new(&[30, 8], &[]);
    let (x, y) = (b.load(DType::F64), b.load_at(DType::F64, &[0, 1], 0));
    let v = b.map(Fun::Add, &[x, y]);
    b.store(v);
    kernels.push(b.kernel);
    check("pack_of_maps", &generate_pack(&kernels, Arch::H200, Options::default()));
}

#[test]
fn map_broadcast() {
    let mut b = Build::new(&[30, 1000, 1024], &[]);
    let (x, y) = (b.load(DType::F16), b.load_at(DType::F16, &[1024, 0, 1], 0));
    let v = b.map(Fun::Add, &[x, y]);
    b.store_over(x, v);
    kernel("map_broadcast", &b);
}

#[test]
fn map_transposed() {
    let mut b = Build::new(&[4096, 4096], &[]);
    let (x, y) = (b.load(F), b.load_at(F, &[1, 4096], 0));
    let v = b.map(Fun::Add, &[x, y]);
    b.store(v);
    kernel("map_transposed", &b);
}

#[test]
fn random_unit() {
    let mut b = Build::new(&[100_000_000], &[]);
    let (i, seed, offset) = (b.iota(), b.scalar(0, DType::U64), b.scalar(1, DType::U64));
    let v = b.map_to(Fun::RandomUnit32, F, &[i, seed, offset]);
    b.store(v);
    kernel("random_unit", &b);
}

#[test]
fn random_normal() {
    let mut b = Build::new(&[100_000_000], &[]);
    let (i, seed, offset) = (b.iota(), b.scalar(0, DType::U64), b.scalar(1, DType::U64));
    let v = b.map_to(Fun::RandomNormal32, F, &[i, seed, offset]);
    b.store(v);
    kernel("random_normal", &b);
}

#[test]
fn scatter_set() {
    let mut b = Build::new(&[1000], &[]);
    let (i, x) = (b.load(DType::I64), b.load(F));
    b.scatter(ScatterOp::Set, 500, i, x);
    kernel("scatter_set", &b);
}

fn reduction(name: &str, op: ReduceOp, outer: &[i64], inner: &[i64], strides: &[i64]) {
    let mut b = Build::new(outer, inner);
    let x = b.load_at(F, strides, 0);
    let r = b.reduce(op, x);
    b.row().store(r);
    kernel(name, &b);
}

#[test]
fn sum_of_all() {
    reduction("sum_of_all", ReduceOp::Sum, &[], &[100_000_000], &[1]);
}

#[test]
fn m2_of_columns() {
    reduction("m2_of_columns", ReduceOp::M2, &[10_000], &[10_000], &[1, 10_000]);
}

#[test]
fn argmax_of_short_rows() {
    reduction("argmax_of_short_rows", ReduceOp::ArgMax, &[10_000], &[12], &[12, 1]);
}

fn softmax(name: &str, outer: &[i64], inner: &[i64], strides: &[i64]) {
    let mut b = Build::new(outer, inner);
    let x = b.load_at(F, strides, 0);
    let m = b.reduce(ReduceOp::Max, x);
    let y = b.map(Fun::Subtract, &[x, m]);
    let e = b.map(Fun::Exp, &[y]);
    let s = b.reduce(ReduceOp::Sum, e);
    let v = b.map(Fun::Divide, &[e, s]);
    b.store_at(v, strides, 0);
    kernel(name, &b);
}

#[test]
fn softmax_of_rows() {
    softmax("softmax_of_rows", &[10_000], &[10_000], &[10_000, 1]);
}

#[test]
fn softmax_of_long_rows() {
    softmax("softmax_of_long_rows", &[1000], &[1_000_000], &[1_000_000, 1]);
}

#[test]
fn softmax_of_columns() {
    softmax("softmax_of_columns", &[4096], &[4096], &[1, 4096]);
}
