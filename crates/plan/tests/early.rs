//! Small values that are there long before their program has ended: who asks for one waits for it alone.

mod common;

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use common::Nowhere;
use cuprous_core::profile::{self, Kind};
use cuprous_core::scalar::Number;
use cuprous_core::{Array, Buffer, DType, Fun, ReduceOp, Result, Scalar};
use cuprous_plan::device::Mark;
use cuprous_plan::{Device, Engine, Executable, Operand, Program, Replay};

/// A device that counts reads of both kinds.
#[derive(Default)]
struct Reads {
    early: AtomicUsize,
    late: AtomicUsize,
    next: AtomicUsize,
    /// Work goes on beside the host, and is never done before somebody waits.
    beside: AtomicBool,
    /// Waits for a mark, and for everything.
    waited: [AtomicUsize; 2],
}

struct There(Arc<Reads>);

impl Mark for There {
    fn wait(&self) -> Result<()> {
        self.0.waited[0].fetch_add(1, Relaxed);
        Ok(())
    }
    fn done(&self) -> Result<bool> {
        Ok(self.0.waited[0].load(Relaxed) > 0)
    }
    fn milliseconds_to(&self, _: &dyn Mark) -> Result<f64> {
        Ok(0.0)
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

struct Ran(Arc<Reads>);

impl Executable for Ran {
    fn run(&mut self, _: &[u64], _: &[Scalar], _: bool) -> Result<()> {
        Ok(())
    }
    fn early(&self, _: usize) -> Option<Arc<dyn Mark>> {
        Some(Arc::new(There(self.0.clone())))
    }
}

struct Shared(Arc<Reads>);

impl Device for Shared {
    fn name(&self) -> &'static str {
        "reads"
    }
    fn alloc(&self, bytes: usize) -> Result<Buffer> {
        Ok(Arc::new(Nowhere { bytes, address: 4096 * (1 + self.0.next.fetch_add(1, Relaxed) as u64) }))
    }
    fn upload(&self, from: &[u8], _: bool) -> Result<Buffer> {
        self.alloc(from.len())
    }
    fn download(&self, _: u64, _: &mut [u8]) -> Result<()> {
        self.0.late.fetch_add(1, Relaxed);
        Ok(())
    }
    fn download_after(&self, _: &dyn Mark, _: u64, _: &mut [u8]) -> Result<()> {
        self.0.early.fetch_add(1, Relaxed);
        Ok(())
    }
    fn synchronize(&self) -> Result<()> {
        self.0.waited[1].fetch_add(1, Relaxed);
        Ok(())
    }
    fn idle(&self) -> Result<bool> {
        Ok(self.0.waited[1].load(Relaxed) > 0)
    }
    fn is_asynchronous(&self) -> bool {
        self.0.beside.load(Relaxed)
    }
    fn compile(&self, _: &Arc<Program>) -> Result<Box<dyn Executable>> {
        Ok(Box::new(Ran(self.0.clone())))
    }
    fn source(&self, _: &Program) -> Result<String> {
        Ok(String::new())
    }
    fn memory(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
    fn reset_peak(&self) {}
    fn set_memory_limit(&self, _: u64) -> Result<()> {
        Ok(())
    }
}

struct Bench {
    engine: Arc<Engine>,
    reads: Arc<Reads>,
}

fn bench(id: u8) -> Bench {
    let reads = Arc::new(Reads::default());
    Bench { engine: Engine::new(id, Arc::new(Shared(reads.clone()))), reads }
}

impl Bench {
    /// A sum of so many numbers, and work on them after it that is no part of the same kernel.
    fn loss_and_rest(&self, n: i64) -> (Array, Array) {
        let x = self.engine.empty(DType::F32, &[n]).unwrap();
        let loss = self.engine.reduce(ReduceOp::Sum, &x, 1).unwrap();
        let rest = self.engine.map(Fun::Multiply, &[Operand::Array(&x), Operand::Array(&loss)], None).unwrap();
        (loss, rest)
    }
    fn read(&self, a: &Array) {
        self.engine.download(a, &mut [0; 4]).unwrap();
    }
    /// Reads that waited for a mark, and for everything.
    fn reads(&self) -> [usize; 2] {
        [self.reads.early.load(Relaxed), self.reads.late.load(Relaxed)]
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
fn little_work_is_waited_for() {
    let b = bench(141);
    let (loss, rest) = b.loss_and_rest(1 << 10);
    b.read(&loss);
    assert_eq!(b.reads(), [0, 1]);
    drop(rest);
}

#[test]
fn what_is_written_again_is_waited_for() {
    let b = bench(142);
    let (loss, rest) = b.loss_and_rest(1 << 24);
    b.engine.flush().unwrap();
    b.engine.update(&loss, Operand::Weak(Number::Float(1.0))).unwrap();
    b.read(&loss);
    assert_eq!(b.reads(), [0, 1]);
    drop(rest);
}

#[test]
fn memory_that_others_know_is_waited_for() {
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
    let b = bench(144);
    b.reads.beside.store(true, Relaxed);
    let (loss, rest) = b.loss_and_rest(1 << 24);
    b.engine.flush().unwrap();
    let waited = || [0, 1].map(|k: usize| b.reads.waited[k].load(Relaxed));
    assert!(profile::begin());
    // For the loss alone, and only while it is not there.
    b.read(&loss);
    assert_eq!((waited(), b.reads()), ([1, 0], [1, 0]));
    b.read(&loss);
    assert_eq!(waited(), [1, 0]);
    // For everything, and only while there is something to wait for.
    let row = rest.view(rest.layout.with(&[1], &[1], 0));
    b.read(&row);
    assert_eq!(waited(), [1, 1]);
    b.read(&row);
    assert_eq!(waited(), [1, 1]);
    // Each read is told as a wait all the same.
    let taken = profile::end().unwrap();
    let waits = taken.events.iter().filter(|e| e.kind == Kind::Wait && e.note.device == 144).count();
    assert_eq!(waits, 4);
}
