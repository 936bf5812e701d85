//! Small values that are complete long before their program has ended: a read waits for the value alone.

mod common;

use std::sync::atomic::Ordering::Relaxed;

use common::{Bench, bench, bench_on};
use cuprous_core::profile::{self, Kind};
use cuprous_core::scalar::Number;
use cuprous_core::{Array, DType, Fun, ReduceOp};
use cuprous_plan::{Operand, Replay};

impl Bench {
    /// A sum of `n` numbers, and later work that does not fit into the same kernel.
    fn loss_and_rest(&self, n: i64) -> (Array, Array) {
        let x = self.engine.empty(DType::F32, &[n]).unwrap();
        let loss = self.engine.reduce(ReduceOp::Sum, &x, 1).unwrap();
        let rest = self.engine.map(Fun::Multiply, &[Operand::Array(&x), Operand::Array(&loss)], None).unwrap();
        (loss, rest)
    }
    fn read(&self, a: &Array) {
        self.engine.download(a, &mut [0; 4]).unwrap();
    }
    /// The number of reads that waited for a mark, and that waited for everything.
    fn reads(&self) -> [usize; 2] {
        [self.log.early.load(Relaxed), self.log.downloads.load(Relaxed)]
    }
}

#[test]
fn a_loss_is_read_before_the_rest_has_run() {
    let b = bench(140);
    let (loss, rest) = b.loss_and_rest(1 << 24);
    b.read(&loss);
    assert_eq!(b.reads(), [1, 0]);
    // A later program does not change that.
    let other = b.engine.map(Fun::Negative, &[Operand::Array(&rest)], None).unwrap();
    b.engine.flush().unwrap();
    b.read(&loss);
    assert_eq!(b.reads(), [2, 0]);
    drop((rest, other));
}

#[test]
fn a_read_waits_for_little_work() {
    let b = bench(141);
    let (loss, rest) = b.loss_and_rest(1 << 10);
    b.read(&loss);
    assert_eq!(b.reads(), [0, 1]);
    drop(rest);
}

#[test]
fn a_read_waits_for_a_second_write() {
    let b = bench(142);
    let (loss, rest) = b.loss_and_rest(1 << 24);
    b.engine.flush().unwrap();
    b.engine.update(&loss, Operand::Weak(Number::Float(1.0))).unwrap();
    b.read(&loss);
    assert_eq!(b.reads(), [0, 1]);
    drop(rest);
}

#[test]
fn a_read_waits_for_shared_memory() {
    let b = bench(143);
    let (loss, rest) = b.loss_and_rest(1 << 24);
    b.engine.export(&loss.storage).unwrap();
    b.read(&loss);
    assert_eq!(b.reads(), [0, 1]);
    b.engine.set_replay(Replay::Auto);
    drop(rest);
}

#[test]
fn a_profile_waits_no_longer_than_what_it_measures() {
    let b = bench_on(144, true);
    let (loss, rest) = b.loss_and_rest(1 << 24);
    b.engine.flush().unwrap();
    let waited = || [0, 1].map(|k: usize| b.log.waited[k].load(Relaxed));
    assert!(profile::begin());
    // For the loss alone, and only while it is not complete.
    b.read(&loss);
    assert_eq!((waited(), b.reads()), ([1, 0], [1, 0]));
    b.read(&loss);
    assert_eq!(waited(), [1, 0]);
    // For everything, and only while work is pending.
    let row = rest.view(rest.layout.with(&[1], &[1], 0));
    b.read(&row);
    assert_eq!(waited(), [1, 1]);
    b.read(&row);
    assert_eq!(waited(), [1, 1]);
    // Each read is a wait in the profile all the same.
    let taken = profile::end().unwrap();
    let waits = taken.events.iter().filter(|e| e.kind == Kind::Wait && e.origin.device == 144).count();
    assert_eq!(waits, 4);
}
