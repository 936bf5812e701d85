//! Programs that run out of memory in the middle.

mod common;

use std::sync::atomic::Ordering::Relaxed;

use common::bench;
use cuprous_core::error::ErrorKind;
use cuprous_core::{DType, Fun, RoutineOp};
use cuprous_plan::Operand;

#[test]
fn a_write_in_place_is_not_repeated() {
    let b = bench(160);
    let p = b.array(&[8]);
    let sum = b.with(Fun::Add, &p, 1.0);
    b.engine.update(&p, Operand::Array(&sum)).unwrap();
    drop(sum);
    let sorted = b.engine.record_routine(RoutineOp::Sort, &[&p], DType::F32, &[8]).unwrap();
    b.log.no_scratch.store(true, Relaxed);
    let error = b.engine.realize(&sorted.storage).err().unwrap();
    assert_eq!(error.kind, ErrorKind::Memory);
    assert_eq!(b.log.ran.load(Relaxed), 1, "the program is not run again");
    // The first step has ended, so its results are kept.
    b.engine.realize(&p.storage).unwrap();
    assert!(b.engine.realize(&sorted.storage).is_err());
}

#[test]
fn a_program_without_writes_in_place_runs_again_with_fewer_results() {
    let b = bench(161);
    let x = b.array(&[4, 8]);
    let twice = b.with(Fun::Multiply, &x, 2.0);
    let sorted = b.engine.record_routine(RoutineOp::Sort, &[&x], DType::F32, &[4, 8]).unwrap();
    b.log.no_scratch.store(true, Relaxed);
    let error = b.engine.realize(&sorted.storage).err().unwrap();
    assert_eq!(error.kind, ErrorKind::Memory);
    assert_eq!(b.log.ran.load(Relaxed), 2);
    let there = [&twice, &sorted].map(|a| b.engine.realize(&a.storage).is_ok());
    assert_eq!(there.iter().filter(|&&there| there).count(), 1);
}

#[test]
fn a_step_that_wrote_in_place_and_failed_is_not_repeated() {
    let b = bench(162);
    let p = b.array(&[8]);
    let sum = b.with(Fun::Add, &p, 1.0);
    b.engine.update(&p, Operand::Array(&sum)).unwrap();
    drop(sum);
    b.log.no_scratch.store(true, Relaxed);
    b.log.in_the_middle.store(true, Relaxed);
    let error = b.engine.realize(&p.storage).err().unwrap();
    assert_eq!(error.kind, ErrorKind::Memory);
    assert_eq!(b.log.ran.load(Relaxed), 1, "the program is not run again");
    assert!(b.engine.realize(&p.storage).is_err(), "contents that are partly written are given up");
}
