//! Launches of user kernels among recorded operations.

mod common;

use std::sync::Arc;

use common::{bench, bench_on};
use cuprous_core::{Array, DType, Fun, Result, Scalar};
use cuprous_plan::{KernelRef, Launch, Replay, Step, UserKernel, UserLaunch};

/// A kernel that is never run.
struct Fake;

impl UserKernel for Fake {
    fn check(&self, launch: &Launch) -> Result<()> {
        launch.check("fake").map(|_| ())
    }
    fn attributes(&self) -> Result<Vec<(&'static str, u64)>> {
        Ok(Vec::new())
    }
    fn resident_blocks(&self, _: u32, _: u32) -> Result<u64> {
        Ok(1)
    }
    fn source(&self) -> String {
        String::new()
    }
}

fn shape(blocks: u32) -> Launch {
    Launch { grid: [blocks, 1, 1], block: [64, 1, 1], ..Launch::default() }
}

/// Returns a launch with `arrays` arrays, whose addresses are at the start of its block of arguments.
fn launch(arrays: usize) -> Arc<UserLaunch> {
    let kernel: KernelRef = Arc::new(Fake);
    let offsets: Vec<u32> = (0..arrays as u32).map(|k| 8 * k).collect();
    UserLaunch::new(kernel, shape(1), &offsets).unwrap()
}

fn block(arrays: usize) -> Vec<Scalar> {
    vec![Scalar::default(); arrays.div_ceil(2)]
}

/// Returns the kinds of the steps, one letter each.
fn letters(steps: &[Step]) -> String {
    let letter = |step: &Step| match step {
        Step::Kernel(_) => 'k',
        Step::Pack(_) => 'p',
        Step::Routine(_) => 'c',
        Step::Launch(_) => 'l',
    };
    steps.iter().map(letter).collect()
}

#[test]
fn a_launch_runs_between_its_operands_and_its_readers() {
    let b = bench(120);
    b.engine.set_replay(Replay::Fused);
    let x = b.array(&[100]);
    let y = b.with(Fun::Add, &x, 1.0);
    let before = b.with(Fun::Multiply, &y, 2.0);
    b.engine.launch(&launch(2), &block(2), &[&y, &x], |k| k == 0).unwrap();
    let after = b.map(Fun::Multiply, &y, &x);
    let program = b.program();
    assert_eq!(letters(&program.steps), "klk", "{program:#?}");
    let Step::Launch(launched) = &program.steps[1] else { unreachable!() };
    assert_eq!(launched.arrays.iter().map(|a| a.0).collect::<Vec<_>>(), [0, 8]);
    assert_eq!(program.outputs.len(), 3);
    drop((before, after, x, y));
}

#[test]
fn a_launch_runs_even_if_its_results_are_unused() {
    let b = bench(121);
    b.engine.set_replay(Replay::Fused);
    b.engine.launch(&launch(0), &[], &[], |_| false).unwrap();
    let x = b.with(Fun::Add, &b.array(&[100]), 1.0);
    b.engine.launch(&launch(1), &block(1), &[&x], |_| true).unwrap();
    drop(x);
    assert_eq!(letters(&b.program().steps), "lkl");
}

#[test]
fn one_storage_given_twice_is_one_launch_and_empty_arrays_have_no_address() {
    let b = bench(122);
    b.engine.set_replay(Replay::Fused);
    let x = b.array(&[100]);
    let none = b.engine.empty(DType::F32, &[0]).unwrap();
    let part = x.view(x.layout.with(&[10], &[1], 90));
    b.engine.launch(&launch(3), &block(3), &[&x, &none, &part], |_| true).unwrap();
    let program = b.program();
    let [Step::Launch(launched)] = &program.steps[..] else { panic!("{program:#?}") };
    assert_eq!(launched.arrays, [(0, 0, 0), (16, 0, 360)]);
}

#[test]
fn a_matmul_does_not_wait_past_a_launch_that_changes_its_operand() {
    let b = bench(123);
    b.engine.set_replay(Replay::Fused);
    let (x, y, z) = (b.array(&[256, 256]), b.array(&[256, 256]), b.array(&[256, 256]));
    let matmul = b.engine.dot(&x, &y).unwrap();
    b.engine.launch(&launch(1), &block(1), &[&x], |_| true).unwrap();
    let sum: Array = b.map(Fun::Add, &matmul, &z);
    drop(matmul);
    assert_eq!(letters(&b.program().steps), "clk");
    drop(sum);
}

/// Returns the number of launches of each program.
fn sizes(b: &common::Bench) -> Vec<usize> {
    b.log.programs.lock().unwrap().iter().map(|p| p.steps.len()).collect()
}

#[test]
fn launches_are_submitted_at_once_after_a_wait_and_then_more_and_more_together() {
    let b = bench_on(124, true);
    let one = launch(1);
    let x = b.array(&[100]);
    let mut flushed = 0;
    for _ in 0..63 {
        b.engine.launch(&one, &block(1), &[&x], |_| true).unwrap();
        if b.engine.take_due() {
            b.engine.flush().unwrap();
            flushed += 1;
        }
    }
    // 1, 2, 4, 8, 16, 32: repeated sizes are known programs.
    assert_eq!((flushed, sizes(&b)), (6, vec![1, 2, 4, 8, 16, 32]));
    b.engine.synchronize().unwrap();
    b.engine.launch(&one, &block(1), &[&x], |_| true).unwrap();
    assert!(b.engine.take_due(), "after a wait the first is submitted at once");
}

#[test]
fn loops_of_launches_end_where_they_repeat() {
    let b = bench_on(125, true);
    let (one, two, three) = (launch(1), launch(1), launch(1));
    let (x, y) = (b.array(&[100]), b.array(&[200]));
    for _ in 0..400 {
        for (which, array) in [(&one, &x), (&two, &y), (&three, &x)] {
            b.engine.launch(which, &block(1), &[array], |_| true).unwrap();
            if b.engine.take_due() {
                b.engine.flush().unwrap();
            }
        }
    }
    let planned = sizes(&b);
    assert!(planned.len() <= 9 && planned.last().is_some_and(|n| n % 3 == 0), "{planned:?}");
}

#[test]
fn shapes_are_checked_before_anything_is_recorded() {
    let kernel: KernelRef = Arc::new(Fake);
    assert!(UserLaunch::new(kernel, shape(0), &[]).unwrap_err().message.contains("at least"));
}
