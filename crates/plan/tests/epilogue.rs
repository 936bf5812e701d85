//! What is fused into the epilogue of a matmul, and what is left to kernels.

mod common;

use common::{Bench, bench, bench_on};
use cuprous_core::scalar::Number;
use cuprous_core::{Array, DType, Fun, RoutineOp};
use cuprous_plan::{Assignment, Operand, Program, RoutineCall, Step};

impl Bench {
    fn dot(&self, a: &Array, b: &Array) -> Array {
        self.engine.record_routine(RoutineOp::Dot, &[a, b], a.dtype(), &[a.shape()[0], b.shape()[1]]).unwrap()
    }
    fn set(&self, a: &Array, value: &Array) {
        self.engine.update(a, Operand::Array(value)).unwrap();
    }
}

/// Returns the program's only step, a routine.
fn only_routine(program: &Program) -> &RoutineCall {
    let [Step::Routine(call)] = &program.steps[..] else { panic!("{program:#?}") };
    call
}

#[test]
fn scale_bias_and_addend_go_into_the_epilogue() {
    let b = bench(1);
    let (x, w, bias, c) = (b.array(&[8, 9]), b.array(&[9, 7]), b.array(&[7]), b.array(&[8, 7]));
    let scaled = b.with(Fun::Multiply, &b.dot(&x, &w), 0.5);
    let y = b.map(Fun::Subtract, &b.map(Fun::Add, &bias, &scaled), &b.with(Fun::Multiply, &c, 3.0));
    drop(scaled);
    let program = b.program();
    let epilogue = &only_routine(&program).epilogue;
    let addend = epilogue.addend.as_ref().unwrap();
    assert_eq!((epilogue.scale.constant, epilogue.scale.negative), (Some(0), false));
    assert_eq!((addend.factor.constant, addend.factor.negative), (Some(1), true));
    assert_eq!(epilogue.bias.as_ref().unwrap().1.shape.as_slice(), &[7]);
    assert_eq!(program.nonzero.iter().map(|n| n.0).collect::<Vec<_>>(), [0, 1]);
    assert_eq!(program.arena_bytes, 0);
    drop(y);
}

#[test]
fn a_step_of_gradient_descent_is_one_routine_in_place() {
    let b = bench(2);
    let (x, g, w) = (b.array(&[9, 8]), b.array(&[9, 7]), b.array(&[8, 7]));
    let t = x.view(x.layout.permute(&[1, 0]));
    let step = b.with(Fun::Multiply, &b.dot(&t, &g), 0.1);
    b.set(&w, &b.map(Fun::Subtract, &w, &step));
    drop(step);
    let program = b.program();
    let call = only_routine(&program);
    let addend = call.epilogue.addend.as_ref().unwrap();
    assert!(call.epilogue.scale.negative && !addend.factor.negative);
    assert_eq!(addend.array.0, call.out.0);
    assert!(matches!(program.buffers[call.out.0 as usize].assignment, Assignment::Leaf(_)));
    assert!(program.outputs.is_empty());
}

#[test]
fn a_matmul_is_written_where_it_is_assigned() {
    let b = bench(3);
    let (x, y) = (b.array(&[8, 8]), b.array(&[8, 8]));
    b.set(&y, &b.dot(&x, &x));
    let program = b.program();
    assert!(only_routine(&program).epilogue.is_none() && program.arena_bytes == 0);
    // Not over an operand.
    b.set(&x, &b.dot(&x, &x));
    assert_eq!(b.program().steps.len(), 2);
    // Nor where a part is assigned.
    let part = y.view(y.layout.with(&[4, 8], &[8, 1], 32));
    b.set(&part, &b.dot(&x.view(x.layout.with(&[4, 8], &[8, 1], 0)), &x));
    assert_eq!(b.program().steps.len(), 2);
}

#[test]
fn sums_in_place_on_the_matmul_are_fused() {
    let b = bench(4);
    let (x, w, bias, c) = (b.array(&[8, 9]), b.array(&[9, 7]), b.array(&[7]), b.array(&[8, 7]));
    let z = b.dot(&x, &w);
    b.set(&z, &b.map(Fun::Add, &z, &bias));
    b.set(&z, &b.map(Fun::Add, &z, &c));
    let program = b.program();
    let epilogue = &only_routine(&program).epilogue;
    assert!(epilogue.bias.is_some() && epilogue.addend.is_some());
    assert_eq!(program.outputs.len(), 1);
    drop(z);
}

#[test]
fn a_bias_after_an_addend_is_left_to_a_kernel() {
    let b = bench(25);
    let (x, w, bias, c) = (b.array(&[8, 9]), b.array(&[9, 7]), b.array(&[7]), b.array(&[8, 7]));
    let y = b.map(Fun::Add, &b.map(Fun::Add, &b.dot(&x, &w), &c), &bias);
    let program = b.program();
    assert_eq!(program.steps.len(), 2);
    drop(y);
}

/// Records something with a matmul in it, which must stay without an epilogue.
fn stays_plain(id: u8, record: impl Fn(&Bench, [&Array; 4]) -> Vec<Array>) {
    let b = bench(id);
    let (x, w, bias, c) = (b.array(&[8, 9]), b.array(&[9, 7]), b.array(&[7]), b.array(&[8, 7]));
    let kept = record(&b, [&x, &w, &bias, &c]);
    let program = b.program();
    let calls: Vec<&RoutineCall> =
        program.steps.iter().filter_map(|s| if let Step::Routine(c) = s { Some(c) } else { None }).collect();
    assert!(calls[0].epilogue.is_none() && program.steps.len() > 1, "{program:#?}");
    drop(kept);
}

#[test]
fn a_matmul_with_another_reader_stays_plain() {
    stays_plain(5, |b, [x, w, bias, _]| {
        let matmul = b.dot(x, w);
        let sum = b.map(Fun::Add, &matmul, bias);
        vec![matmul, sum]
    });
    stays_plain(6, |b, [x, w, bias, c]| {
        let matmul = b.dot(x, w);
        vec![b.map(Fun::Add, &matmul, bias), b.map(Fun::Add, &matmul, c)]
    });
}

#[test]
fn what_a_kernel_continues_is_left_to_it() {
    stays_plain(7, |b, [x, w, bias, _]| vec![b.with(Fun::Maximum, &b.map(Fun::Add, &b.dot(x, w), bias), 0.0)]);
    // The kernel that computes the addend can add it.
    stays_plain(8, |b, [x, w, _, c]| vec![b.map(Fun::Add, &b.dot(x, w), &b.one(Fun::Exp, c))]);
}

#[test]
fn a_factor_of_zero_is_left_to_a_kernel() {
    stays_plain(9, |b, [x, w, _, _]| vec![b.with(Fun::Multiply, &b.dot(x, w), -0.0)]);
    stays_plain(10, |b, [x, w, _, c]| vec![b.map(Fun::Add, &b.dot(x, w), &b.with(Fun::Multiply, c, 0.0))]);
}

#[test]
fn nothing_moves_across_a_write_of_what_it_reads() {
    stays_plain(11, |b, [x, w, bias, _]| {
        let matmul = b.dot(x, w);
        b.engine.update(x, Operand::Weak(Number::Float(1.0))).unwrap();
        vec![b.map(Fun::Add, &matmul, bias)]
    });
    // The addend is another part of the memory that is written.
    stays_plain(12, |b, [x, w, _, _]| {
        let twice = b.array(&[16, 7]);
        let half = |k: i64| twice.view(twice.layout.with(&[8, 7], &[7, 1], 56 * k));
        b.set(&half(0), &b.map(Fun::Add, &b.dot(x, w), &half(1)));
        vec![twice.clone()]
    });
}

#[test]
fn integers_and_biases_of_float64_are_left_to_kernels() {
    for (id, dtype, fused) in
        [(13, DType::I32, [false; 2]), (14, DType::F64, [false, true]), (15, DType::F16, [true; 2])]
    {
        let b = bench(id);
        let array = |shape: &[i64]| b.engine.empty(dtype, shape).unwrap();
        let (x, bias, c) = (array(&[8, 8]), array(&[8]), array(&[8, 8]));
        for (other, fused) in [&bias, &c].into_iter().zip(fused) {
            let sum = b.map(Fun::Add, &b.dot(&x, &x), other);
            assert_eq!(b.program().steps.len() == 1, fused, "{dtype:?}");
            drop(sum);
        }
    }
}

#[test]
fn a_changed_factor_is_the_same_program_and_zero_another() {
    let b = bench(16);
    let x = b.array(&[8, 8]);
    for factor in [1.5, 2.5, 0.0, 3.5, 0.0, -1.0] {
        let y = b.with(Fun::Multiply, &b.dot(&x, &x), factor);
        b.engine.flush().unwrap();
        drop(y);
    }
    assert_eq!((b.engine.stats().planned, b.engine.stats().replayed), (2, 4));
}

#[test]
fn large_matmuls_wait_for_an_epilogue_but_not_for_the_next_matmul() {
    let b = bench_on(17, true);
    let (x, bias) = (b.array(&[4096, 4096]), b.array(&[4096]));
    let h = b.map(Fun::Add, &b.dot(&x, &x), &bias);
    assert!(!b.engine.take_due());
    let mut y = b.dot(&h, &x);
    assert_eq!(b.log.programs.lock().unwrap().len(), 1, "the first matmul runs when the second is recorded");
    assert!(only_routine(&b.log.programs.lock().unwrap()[0]).epilogue.bias.is_some());
    for k in 0..64 {
        assert!(!b.engine.take_due(), "{k}");
        y = b.one(Fun::Exp, &y);
    }
    assert!(b.engine.take_due());
    drop((h, y));
}

#[test]
fn small_matmuls_do_not_wait() {
    let b = bench_on(19, true);
    let x = b.array(&[256, 256]);
    let mut y = x.clone();
    // 22 times 256³ multiplications, six of which take as long as a byte, and 256 KiB written are just over 64 MiB.
    for _ in 0..21 {
        y = b.dot(&y, &x);
        assert!(!b.engine.take_due());
    }
    y = b.dot(&y, &x);
    assert!(b.engine.take_due());
    drop(y);
}

#[test]
fn one_matmul_is_the_addend_of_another() {
    let b = bench(18);
    let (x, w) = (b.array(&[8, 8]), b.array(&[8, 8]));
    let sum = b.map(Fun::Add, &b.dot(&x, &w), &b.dot(&w, &x));
    let program = b.program();
    let [Step::Routine(first), Step::Routine(second)] = &program.steps[..] else { panic!("{program:#?}") };
    assert!(first.epilogue.is_none());
    assert_eq!(second.epilogue.addend.as_ref().unwrap().array.0, first.out.0);
    drop(sum);
}
