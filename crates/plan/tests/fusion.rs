//! The plans of recorded operations: how many kernels, and what they load and store.

mod common;

use common::{bench, count, kernels, loads, stores};
use cuprous_core::error::ErrorKind;
use cuprous_core::routine::{FftKind, FftScale};
use cuprous_core::scalar::Number;
use cuprous_core::{Array, DType, Fun, ReduceOp, RoutineOp, ScatterOp};
use cuprous_plan::{Assignment, Inst, Operand, Program, Step};

#[test]
fn a_chain_is_one_kernel_with_one_load_and_one_store() {
    let b = bench(1);
    let x = b.array(&[100, 7]);
    let mut y = x.clone();
    for _ in 0..10 {
        y = b.with(Fun::Add, &b.with(Fun::Multiply, &y, 1.5), 0.5);
    }
    let program = b.program();
    let [kernel] = kernels(&program)[..] else { panic!("{program:#?}") };
    assert_eq!((loads(kernel), stores(kernel)), (1, 1));
    assert_eq!(kernel.outer.as_slice(), &[700], "contiguous axes merge");
    drop(y);
}

#[test]
fn softmax_is_one_kernel_that_reads_and_writes_once() {
    let b = bench(2);
    let x = b.array(&[64, 1000]);
    let row = |a: &Array| a.view(a.layout.reshape(&[64, 1]).unwrap());
    let max = row(&b.engine.reduce(ReduceOp::Max, &x, 0b10).unwrap());
    let e = b.one(Fun::Exp, &b.map(Fun::Subtract, &x, &max));
    let sum = row(&b.engine.reduce(ReduceOp::Sum, &e, 0b10).unwrap());
    let out = b.map(Fun::Divide, &e, &sum);
    drop((max, e, sum));
    let program = b.program();
    let [kernel] = kernels(&program)[..] else { panic!("{program:#?}") };
    assert_eq!((loads(kernel), stores(kernel)), (1, 1));
    assert_eq!((kernel.outer.as_slice(), kernel.inner.as_slice()), (&[64][..], &[1000][..]));
    drop(out);
}

/// Rows too long to keep in registers: their maximum and the rest of a sum are two kernels.
fn long_rows(b: &common::Bench, wide: &Array) -> [Array; 2] {
    let row = |a: &Array| a.view(a.layout.reshape(&[4, 1]).unwrap());
    let max = row(&b.engine.reduce(ReduceOp::Max, wide, 0b10).unwrap());
    let sum = b.engine.reduce(ReduceOp::Sum, &b.map(Fun::Subtract, wide, &max), 0b10).unwrap();
    [max, sum]
}

#[test]
fn a_widening_cast_is_recomputed_and_not_written() {
    let b = bench(70);
    let x = b.engine.empty(DType::F16, &[4, 100_000]).unwrap();
    let results = long_rows(&b, &b.engine.cast(&x, DType::F32).unwrap());
    let program = b.program();
    let [first, second] = kernels(&program)[..] else { panic!("{program:#?}") };
    assert_eq!((loads(first), stores(first)), (1, 1));
    assert_eq!((loads(second), stores(second)), (2, 1));
    drop(results);
}

/// Sums a matrix over its rows and multiplies it by the sums, which are known only once it was read.
fn read_twice(b: &common::Bench, matrix: &Array) -> [Array; 2] {
    let sums = b.engine.reduce(ReduceOp::Sum, matrix, 0b1).unwrap();
    let sums = sums.view(sums.layout.reshape(&[1, matrix.layout.shape[1]]).unwrap());
    let products = b.map(Fun::Multiply, matrix, &sums);
    [sums, products]
}

/// Returns how many arrays each kernel loads and stores.
fn accesses(program: &Program) -> Vec<(usize, usize)> {
    kernels(program).iter().map(|kernel| (loads(kernel), stores(kernel))).collect()
}

#[test]
fn a_cheap_value_of_operands_in_memory_is_recomputed_and_not_written() {
    let b = bench(72);
    let (x, mean) = (b.engine.empty(DType::F16, &[1000, 64]).unwrap(), b.array(&[1, 64]));
    let results = read_twice(&b, &b.map(Fun::Subtract, &b.engine.cast(&x, DType::F32).unwrap(), &mean));
    // The second kernel loads the input, the means and the sums.
    assert_eq!(accesses(&b.program()), [(2, 1), (3, 1)]);
    drop(results);
}

#[test]
fn a_value_that_others_need_is_read() {
    let b = bench(73);
    let difference = b.map(Fun::Subtract, &b.array(&[1000, 64]), &b.array(&[1, 64]));
    let results = read_twice(&b, &difference);
    assert_eq!(accesses(&b.program()), [(2, 2), (2, 1)]);
    drop((difference, results));
}

#[test]
fn a_value_of_operands_with_more_bytes_is_written() {
    let b = bench(74);
    let results = read_twice(&b, &b.map(Fun::Subtract, &b.array(&[1000, 64]), &b.array(&[1000, 64])));
    assert_eq!(accesses(&b.program()), [(2, 2), (2, 1)]);
    drop(results);
}

#[test]
fn a_cast_is_written_where_its_operand_changes() {
    let b = bench(71);
    let x = b.engine.empty(DType::F16, &[4, 100_000]).unwrap();
    let wide = b.engine.cast(&x, DType::F32).unwrap();
    b.engine.update(&x, Operand::Weak(Number::Int(0))).unwrap();
    let results = long_rows(&b, &wide);
    drop(wide);
    let program = b.program();
    let written: usize = kernels(&program).iter().map(|k| stores(k)).sum();
    assert_eq!(written, 4, "the cast, the zeros and two reductions: {program:#?}");
    drop(results);
}

#[test]
fn a_column_mean_is_subtracted_in_a_second_kernel() {
    let b = bench(3);
    let x = b.array(&[1000, 64]);
    let mean = b.with(Fun::Divide, &b.engine.reduce(ReduceOp::Sum, &x, 0b01).unwrap(), 1000.0);
    let out = b.map(Fun::Subtract, &x, &mean);
    drop(mean);
    let program = b.program();
    assert_eq!(kernels(&program).len(), 2, "one block does not hold whole columns");
    drop(out);
}

#[test]
fn reductions_of_one_array_share_a_kernel() {
    let b = bench(4);
    let x = b.array(&[50, 60]);
    let results: Vec<Array> =
        [ReduceOp::Sum, ReduceOp::Max, ReduceOp::M2].map(|op| b.engine.reduce(op, &x, 0b10).unwrap()).into();
    let program = b.program();
    let [kernel] = kernels(&program)[..] else { panic!("{program:#?}") };
    assert_eq!(loads(kernel), 1);
    drop(results);
}

#[test]
fn an_update_in_place_reads_and_writes_its_own_element() {
    let b = bench(5);
    let x = b.array(&[1000]);
    let y = b.with(Fun::Add, &x, 1.0);
    b.engine.update(&x, Operand::Array(&y)).unwrap();
    drop(y);
    let program = b.program();
    let [kernel] = kernels(&program)[..] else { panic!("{program:#?}") };
    assert_eq!(kernel.buffers.len(), 1, "no second array");
    assert!(program.outputs.is_empty());
}

#[test]
fn overlapping_assignment_goes_through_a_copy() {
    let b = bench(6);
    let x = b.array(&[1000]);
    let view = |lo: i64| x.view(x.layout.with(&[999], &[1], lo));
    b.engine.update(&view(1), Operand::Array(&view(0))).unwrap();
    let program = b.program();
    assert_eq!(kernels(&program).len(), 2);
    assert_eq!(program.buffers.iter().filter(|i| matches!(i.assignment, Assignment::Arena(_))).count(), 1);
}

#[test]
fn a_read_before_a_write_stays_before_it() {
    let b = bench(7);
    let x = b.array(&[100]);
    let reversed = x.view(x.layout.with(&[100], &[-1], 99));
    let before = b.with(Fun::Multiply, &reversed, 2.0);
    b.engine.update(&x, Operand::Weak(Number::Float(0.0))).unwrap();
    let program = b.program();
    let k = kernels(&program);
    assert_eq!(k.len(), 2, "the reversed read must not share a kernel with the write");
    assert_eq!(loads(k[0]), 1);
    assert_eq!(loads(k[1]), 0);
    drop(before);
}

#[test]
fn a_write_stays_behind_readers_of_versions_that_are_never_written() {
    let b = bench(14);
    let x = b.array(&[4, 4]);
    let matmul = b.engine.record_routine(RoutineOp::Dot, &[&x, &x], DType::F32, &[4, 4]).unwrap();
    // The write of everything replaces the write of a row.
    let row = x.view(x.layout.with(&[4], &[1], 4));
    b.engine.update(&row, Operand::Weak(Number::Float(1.0))).unwrap();
    b.engine.update(&x, Operand::Weak(Number::Float(0.0))).unwrap();
    let program = b.program();
    assert_eq!(program.steps.len(), 2);
    assert!(matches!(program.steps[0], Step::Routine(_)), "{program:#?}");
    drop(matmul);
}

#[test]
fn a_reduction_that_only_an_empty_value_needs_is_not_computed() {
    let b = bench(15);
    let x = b.array(&[2, 3]);
    let double = b.with(Fun::Multiply, &x, 2.0);
    let sum = b.engine.reduce(ReduceOp::Sum, &double, 0b01).unwrap();
    let none = b.map(Fun::Add, &x.view(x.layout.with(&[0, 3], &[3, 1], 0)), &sum);
    drop(sum);
    let program = b.program();
    let [kernel] = kernels(&program)[..] else { panic!("{program:#?}") };
    assert_eq!((kernel.outer.as_slice(), kernel.inner.len()), (&[6][..], 0));
    drop((double, none));
}

#[test]
fn a_reduction_whose_write_is_overwritten_leaves_a_plain_map() {
    let b = bench(16);
    let (x, y) = (b.array(&[8, 9]), b.array(&[10]));
    let part = y.view(y.layout.with(&[8], &[1], 1));
    let sum = b.engine.reduce(ReduceOp::Sum, &x, 0b10).unwrap();
    let kept = b.with(Fun::Multiply, &x, 2.0);
    b.engine.update(&part, Operand::Array(&sum)).unwrap();
    b.engine.update(&part, Operand::Weak(Number::Float(0.0))).unwrap();
    drop(sum);
    let program = b.program();
    assert!(kernels(&program).iter().all(|k| k.reduces() != k.inner.is_empty()), "{program:#?}");
    drop(kept);
}

#[test]
fn a_result_has_the_memory_order_of_its_operands() {
    let b = bench(13);
    let t = b.array(&[10, 20]);
    let t = t.view(t.layout.permute(&[1, 0]));
    let y = b.with(Fun::Add, &t, 1.0);
    assert_eq!(y.layout.strides.as_slice(), &[1, 20]);
    // Operands of different memory orders give C order.
    let z = b.map(Fun::Add, &t, &b.array(&[20, 10]));
    assert_eq!(z.layout.strides.as_slice(), &[10, 1]);
    drop(z);
    let program = b.program();
    let [kernel] = kernels(&program)[..] else { panic!("{program:#?}") };
    assert_eq!(kernel.outer.as_slice(), &[200], "no transposition in memory");
    drop(y);
}

#[test]
fn unused_values_are_not_computed() {
    let b = bench(8);
    let x = b.array(&[10]);
    let kept = b.with(Fun::Add, &x, 1.0);
    drop(b.one(Fun::Exp, &x));
    let program = b.program();
    let [kernel] = kernels(&program)[..] else { panic!("{program:#?}") };
    assert_eq!(count(kernel, |i| matches!(i, Inst::Map { fun: Fun::Exp, .. })), 0);
    drop(kept);
}

#[test]
fn scratch_is_shared_by_values_of_disjoint_lifetimes() {
    let b = bench(9);
    let x = b.array(&[256, 256]);
    let mut y = x.clone();
    for _ in 0..6 {
        y = b.engine.record_routine(RoutineOp::Dot, &[&y, &x], DType::F32, &[256, 256]).unwrap();
    }
    let program = b.program();
    assert_eq!(program.steps.len(), 6);
    assert_eq!(program.arena_bytes, 2 * 256 * 256 * 4, "two blocks alternate");
    drop(y);
}

#[test]
fn a_scatter_stands_alone_after_its_operands() {
    let b = bench(10);
    let x = b.array(&[100]);
    let index = b.engine.iota(&cuprous_core::Layout::contiguous(DType::I64, &[50])).unwrap();
    let value = b.with(Fun::Add, &b.array(&[50]), 1.0);
    b.engine.scatter(&x, &index, &value, ScatterOp::Add).unwrap();
    drop((index, value));
    let program = b.program();
    let k = kernels(&program);
    let last = k.last().unwrap();
    assert_eq!(count(last, |i| matches!(i, Inst::Scatter { .. })), 1);
    assert_eq!(stores(last), 0);
}

#[test]
fn a_repeated_step_is_planned_once_and_a_changed_constant_too() {
    let b = bench(11);
    let x = b.array(&[100]);
    for step in 0..5 {
        let y = b.with(Fun::Add, &b.with(Fun::Multiply, &x, f64::from(step)), 1.0);
        b.engine.flush().unwrap();
        drop(y);
    }
    assert_eq!(b.engine.stats().planned, 1);
    assert_eq!(b.engine.stats().replayed, 4);
    // A value that stays alive makes another program.
    let half = b.with(Fun::Multiply, &x, 2.0);
    let y = b.with(Fun::Add, &half, 1.0);
    b.engine.flush().unwrap();
    assert_eq!(b.engine.stats().planned, 2);
    drop((half, y));
}

#[test]
fn a_loop_without_reads_repeats_its_programs() {
    let b = bench(12);
    let mut x = b.array(&[100]);
    for _ in 0..700 {
        x = b.with(Fun::Add, &b.with(Fun::Multiply, &b.one(Fun::Sin, &x), 2.0), 1.0);
        if b.engine.take_due() {
            b.engine.flush().unwrap();
        }
    }
    let stats = b.engine.stats();
    assert_eq!((stats.nodes, stats.planned), (2100, 1), "162 nodes, 54 whole repetitions, each time");
    assert_eq!(stats.replayed, 11);
}

fn packs(program: &Program) -> Vec<usize> {
    program.steps.iter().map(|s| s.kernels().len()).collect()
}

#[test]
fn small_maps_of_different_shapes_are_one_step() {
    let b = bench(17);
    let arrays: Vec<Array> = [10, 20, 3000, 7].iter().map(|&n| b.array(&[n])).collect();
    let kept: Vec<Array> = arrays.iter().map(|a| b.with(Fun::Multiply, a, 2.0)).collect();
    assert_eq!(packs(&b.program()), [4]);
    drop(kept);
}

#[test]
fn a_map_is_packed_across_steps_that_it_does_not_depend_on() {
    let b = bench(18);
    let (x, y, z) = (b.array(&[10]), b.array(&[64, 64]), b.array(&[30]));
    let first = b.with(Fun::Multiply, &x, 2.0);
    let matmul = b.engine.record_routine(RoutineOp::Dot, &[&y, &y], DType::F32, &[64, 64]).unwrap();
    let second = b.with(Fun::Multiply, &z, 2.0);
    assert_eq!(packs(&b.program()), [2, 0]);
    drop((first, matmul, second));
}

#[test]
fn maps_that_depend_on_one_another_are_not_packed() {
    let b = bench(19);
    let (x, y) = (b.array(&[10]), b.array(&[40]));
    // A write of x must come after the read of x, and the sum needs all of it.
    let spread = x.view(x.layout.with(&[4, 10], &[0, 1], 0));
    let read = b.map(Fun::Add, &spread, &y.view(y.layout.reshape(&[4, 10]).unwrap()));
    let ten = b.with(Fun::Multiply, &x, 2.0);
    b.engine.update(&x, Operand::Array(&ten)).unwrap();
    let program = b.program();
    assert!(packs(&program).iter().all(|&n| n == 1), "{program:#?}");
    drop((read, ten));
}

#[test]
fn large_maps_are_not_packed() {
    let b = bench(20);
    let kept = [1 << 20, 1 << 21].map(|n| b.with(Fun::Multiply, &b.array(&[n]), 2.0));
    assert_eq!(packs(&b.program()), [1, 1]);
    drop(kept);
}

#[test]
fn an_unsupported_routine_is_an_error_at_once() {
    let b = bench(21);
    let x = b.array(&[4]);
    let y = b.one(Fun::Exp, &x);
    let op = RoutineOp::Fft { kind: FftKind::Real, axis: 0, rank: 1, scale: FftScale::One };
    let error = b.engine.record_routine(op, &[&y], DType::C64, &[3]).err().unwrap();
    assert_eq!(error.kind, ErrorKind::NotImplemented);
    assert!(error.message.starts_with("[fft]") && error.message.contains("recorder"), "{error}");
    // Operations recorded before are unaffected.
    assert_eq!(b.program().steps.len(), 1);
}
