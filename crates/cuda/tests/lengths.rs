//! Kernels that differ in their lengths only have the same text, so that a new length compiles nothing.

mod common;

use std::collections::HashSet;

use common::{Build, compile_all, have_nvrtc, stages};
use cuprous_core::{DType, Fun, ReduceOp};
use cuprous_cuda::codegen::{Arch, Options, generate};
use cuprous_plan::Kernel;

const F: DType = DType::F32;

/// Returns the number of different texts of a kernel over some lengths.
fn texts(lengths: impl Iterator<Item = i64>, kernel: impl Fn(i64) -> Kernel) -> usize {
    let generated = lengths.flat_map(|n| generate(&kernel(n), Arch::H200, Options::default()).stages);
    generated.map(|stage| stage.code).collect::<HashSet<_>>().len()
}

/// Softmax of rows of `n` with a mask.
fn softmax(rows: i64, n: i64) -> Kernel {
    let mut b = Build::new(&[8, rows], &[n]);
    let x = b.load(F);
    let mask = b.load_at(DType::Bool, &[0, n, 1], 0);
    let x = b.map_to(Fun::Where, F, &[mask, x, x]);
    let m = b.reduce(ReduceOp::Max, x);
    let y = b.map(Fun::Subtract, &[x, m]);
    let e = b.map(Fun::Exp, &[y]);
    let s = b.reduce(ReduceOp::Sum, e);
    let v = b.map(Fun::Divide, &[e, s]);
    b.store(v);
    b.kernel
}

fn bias(rows: i64, n: i64) -> Kernel {
    let mut b = Build::new(&[rows, n], &[]);
    let (x, y) = (b.load(F), b.load_at(F, &[0, 1], 0));
    let v = b.map(Fun::Add, &[x, y]);
    b.store(v);
    b.kernel
}

fn heads(n: i64) -> Kernel {
    let mut b = Build::new(&[8, n, 64], &[]);
    let x = b.load_at(F, &[64, 512 * 3, 1], 512);
    b.store(x);
    b.kernel
}

fn sum_of_columns(rows: i64, n: i64) -> Kernel {
    let mut b = Build::new(&[n], &[rows]);
    let x = b.load_at(F, &[1, n], 0);
    let s = b.reduce(ReduceOp::Sum, x);
    b.row().store(s);
    b.kernel
}

fn sum_of_one_row(n: i64) -> Kernel {
    let mut b = Build::new(&[], &[n]);
    let x = b.load(F);
    let s = b.reduce(ReduceOp::Sum, x);
    b.row().store(s);
    b.kernel
}

#[test]
fn little_work_has_one_text() {
    assert_eq!(texts(5..=256, |n| softmax(n, n)), 1);
    assert_eq!(texts(2..=250, |n| bias(n, n)), 1);
    assert_eq!(texts(2..=250, |n| bias(4 * n, 33)), 1);
    assert_eq!(texts(5..=500, heads), 1);
    assert_eq!(texts(5..=500, |n| sum_of_columns(n, 64)), 1);
    assert_eq!(texts(2..=2048, sum_of_one_row), 1);
}

#[test]
fn much_work_has_few_texts() {
    // By the width of vectors and by the vectors of a thread.
    assert!(texts(600..=1600, |n| bias(n, n)) <= 6);
    assert!(texts((2..=100_000).step_by(7), sum_of_one_row) <= 12);
    assert!(texts(300..=1024, |n| softmax(n, n)) <= 24);
}

#[test]
fn shared_texts_compile() {
    if !have_nvrtc() {
        return;
    }
    let rows = [500, 5000, 20_000].map(sum_of_one_row);
    let kernels = [softmax(40, 40), bias(40, 41), heads(9), sum_of_columns(50, 64)].into_iter().chain(rows);
    let all = stages(kernels.map(|kernel| generate(&kernel, Arch::H200, Options::default())));
    compile_all(&all, "sm_90", Options::default());
    compile_all(&all, "sm_80", Options::default());
}
