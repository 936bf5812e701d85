//! The device "auto", made of two devices that count their work: where programs run, and what is copied for them.

mod common;

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use common::{DeviceLog, Recorder};
use cuprous_advisor::profile::{self, Level};
use cuprous_advisor::rates::{Copies, MemoryLevel, Rates};
use cuprous_core::error::ErrorKind;
use cuprous_core::scalar::Number;
use cuprous_core::{Array, DType, Fun, ReduceOp};
use cuprous_plan::auto::AutoDevice;
use cuprous_plan::{Engine, Operand, Step};

/// An engine on "auto". The GPU has ten times the memory bandwidth, and copies cost as much as five passes of the host.
struct Bench {
    engine: Arc<Engine>,
    host: Arc<DeviceLog>,
    gpu: Arc<DeviceLog>,
}

fn bench(id: u8) -> Bench {
    bench_with(id, 1e-6)
}

/// The same with a latency for each copy, in seconds.
fn bench_with(id: u8, latency: f64) -> Bench {
    let paper = Rates::of_cpu(profile::find(profile::cpus(), |c| c.name, "7763").unwrap(), Level::Typical);
    let rates = |bandwidth: f64, program: f64, copies: Option<f64>| Rates {
        memory_levels: vec![MemoryLevel { bytes: 0.0, bandwidth }],
        program,
        copies: copies.map(|rate| Copies { up: rate, down: rate, up_pinned: rate, down_pinned: rate, latency }),
        work: paper.work.iter().map(|(what, row)| (what.clone(), row.map(|rate| rate * 1e3))).collect(),
        ..paper.clone()
    };
    let [host, gpu] = [(); 2].map(|()| Arc::new(Recorder { real: true, ..Recorder::default() }));
    let log = [&host, &gpu].map(|side| side.log.clone());
    log[1].asynchronous.store(true, Relaxed);
    let names = ["cpu".to_owned(), "gpu".to_owned()];
    let auto = AutoDevice::new(host, gpu, names, [rates(1e9, 1e-6, None), rates(1e10, 2e-5, Some(1e8))]);
    let [host, gpu] = log;
    Bench { engine: Engine::new(id, Arc::new(auto)), host, gpu }
}

impl Bench {
    fn array(&self, n: i64) -> Array {
        self.engine.upload(&vec![1; n as usize * 4], DType::F32, &[n]).unwrap()
    }
    fn run(&self, fun: Fun, a: &Array) {
        let y = self.engine.map(fun, &[Operand::Array(a), Operand::Weak(Number::Float(2.0))], None).unwrap();
        self.engine.flush().unwrap();
        drop(y);
    }
    fn ran(&self) -> [usize; 2] {
        [self.host.ran.load(Relaxed), self.gpu.ran.load(Relaxed)]
    }
}

#[test]
fn small_work_stays() {
    let b = bench(1);
    let x = b.array(100);
    (0..1000).for_each(|_| b.run(Fun::Add, &x));
    assert_eq!(b.ran(), [1000, 0]);
    assert!(b.engine.explain().contains("ran 1000× on cpu"), "{}", b.engine.explain());
}

#[test]
fn large_work_moves_once_when_staying_has_cost_as_much() {
    let b = bench(2);
    // 8 MB through the host's memory take 8 ms; on the GPU 0.8, and 40 to copy 4 MB there. Compilation goes on
    // meanwhile.
    let x = b.array(1_000_000);
    b.run(Fun::Add, &x);
    assert_eq!(b.ran(), [1, 0], "once is not worth it");
    (0..50).for_each(|_| b.run(Fun::Add, &x));
    let [host, gpu] = b.ran();
    assert!((5..=8).contains(&host), "40 ms at 7.2 ms a run: {host}");
    assert_eq!([&b.gpu.prepared, &b.gpu.elsewhere].map(|n| n.load(Relaxed)), [1, 1], "once, on a background thread");
    assert_eq!(host + gpu, 51);
    assert_eq!((b.gpu.uploads.load(Relaxed), b.gpu.downloads.load(Relaxed)), (1, 0));
    assert!(b.engine.explain().contains("staying has cost as much as the move"), "{}", b.engine.explain());
}

#[test]
fn programs_of_a_loop_wait_for_their_compiler_together() {
    // Each program loses 0.72 ms per iteration, and none is worth 30 ms of waiting by itself before 40 iterations.
    let b = bench(6);
    let x = b.array(100_000);
    let iteration = || [Fun::Add, Fun::Multiply, Fun::Subtract].into_iter().for_each(|fun| b.run(fun, &x));
    let mut iterations = 0;
    while b.ran()[1] == 0 {
        iteration();
        iterations += 1;
        assert!(iterations < 40, "{}", b.engine.explain());
    }
    // Three iterations until they are worth compiling, then 30 ms at 2.4 ms per iteration.
    assert!((12..=22).contains(&iterations), "{iterations}");
    let before = b.ran();
    (0..10).for_each(|_| iteration());
    assert_eq!(b.ran()[0] - before[0], 0, "all three moved: {}", b.engine.explain());
    assert_eq!((b.gpu.prepared.load(Relaxed), b.gpu.uploads.load(Relaxed)), (3, 1));
}

#[test]
fn a_small_loss_is_not_worth_compiling() {
    let b = bench(7);
    // 32 KB: 33 µs on the host, 23 on the GPU.
    let x = b.array(4000);
    (0..150).for_each(|_| b.run(Fun::Add, &x));
    assert_eq!((b.ran(), b.gpu.prepared.load(Relaxed)), ([150, 0], 0));
}

#[test]
fn programs_that_disagree_do_not_pull_data_back_and_forth() {
    let b = bench(3);
    let (x, n) = (b.array(1_000_000), 100);
    for _ in 0..n {
        b.run(Fun::Add, &x);
        // Written where it runs: the other side's copy is dropped.
        b.engine.update(&x.view(x.layout.with(&[1], &[1], 0)), Operand::Weak(Number::Float(1.0))).unwrap();
        b.engine.flush().unwrap();
    }
    let moves = b.gpu.uploads.load(Relaxed) + b.gpu.downloads.load(Relaxed);
    assert!(moves <= 2, "{moves}\n{}", b.engine.explain());
    assert!(b.ran()[1] > n, "both ended on the GPU: {:?}", b.ran());
}

#[test]
fn contents_are_complete_wherever_they_are_read() {
    let b = bench(4);
    let x = b.engine.upload(&[1, 2, 3, 4, 5, 6, 7, 8], DType::U8, &[8]).unwrap();
    let mut got = [0; 8];
    b.engine.download(&x, &mut got).unwrap();
    assert_eq!(got, [1, 2, 3, 4, 5, 6, 7, 8]);
    assert!(b.engine.export(&x.storage).err().unwrap().message.contains("no address"));
}

#[test]
fn without_room_on_the_gpu_the_host_runs_it() {
    let b = bench(5);
    b.gpu.full.store(true, Relaxed);
    let x = b.array(1_000_000);
    (0..30).for_each(|_| b.run(Fun::Add, &x));
    assert_eq!(b.ran(), [30, 0]);
    assert!(b.engine.explain().contains("gpu failed: no room"), "{}", b.engine.explain());
}

#[test]
fn small_matmuls_are_fused_or_routines_by_the_side_of_their_operands() {
    let b = bench(8);
    let (x, y) = (b.array(1_000_000), b.array(100));
    let square = |a: &Array| a.view(a.layout.with(&[10, 10], &[10, 1], 0));
    // True if the program that the host was given last has a routine.
    let is_routine = || {
        let kept = b.engine.dot(&square(&x), &square(&y)).unwrap();
        b.engine.flush().unwrap();
        drop(kept);
        let programs = b.host.programs.lock().unwrap();
        programs.last().unwrap().steps.iter().any(|step| matches!(step, Step::Routine(_)))
    };
    assert!(is_routine(), "the host has one for it");
    (0..50).for_each(|_| b.run(Fun::Add, &x));
    assert!(b.ran()[1] > 0, "other work has taken an operand to the GPU");
    assert!(!is_routine(), "there it is fused with what is around it");
}

#[test]
fn a_value_that_the_host_reads_each_time_costs_the_copy_back() {
    // 82 µs on the host, 29 on the GPU, and 100 until the host has the sum.
    for (id, reads) in [(9, true), (10, false)] {
        let b = bench_with(id, 1e-4);
        let x = b.array(20_000);
        for _ in 0..1000 {
            let sum = b.engine.reduce(ReduceOp::Sum, &x, 1).unwrap();
            b.engine.flush().unwrap();
            if reads {
                b.engine.download(&sum, &mut [0; 4]).unwrap();
            }
        }
        assert_eq!(b.ran()[1] == 0, reads, "{}", b.engine.explain());
    }
}

#[test]
fn an_interrupted_program_continues_where_it_ran() {
    let b = bench(13);
    let x = b.array(1000);
    let with = |fun: Fun| b.engine.map(fun, &[Operand::Array(&x), Operand::Weak(Number::Float(2.0))], None).unwrap();
    let y = with(Fun::Add);
    b.host.interrupts.store(2, Relaxed);
    for _ in 0..2 {
        let error = b.engine.realize(&y.storage).err().unwrap();
        assert_eq!(error.kind, ErrorKind::Interrupted);
    }
    // Another program of the same operations runs meanwhile.
    for fun in [Fun::Add, Fun::Multiply] {
        b.engine.realize(&with(fun).storage).unwrap();
    }
    assert_eq!(b.ran(), [2, 0]);
    b.engine.realize(&y.storage).unwrap();
    assert_eq!(b.ran(), [3, 0]);
    let runs = b.host.addresses.lock().unwrap();
    assert_eq!(runs.len(), 5);
    assert!(runs[1] == runs[0] && runs[4] == runs[0], "{runs:?}");
    assert!(runs[2] != runs[0] && runs[3] != runs[0], "{runs:?}");
}
