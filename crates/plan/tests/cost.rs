//! The counted cost of programs, and that counting changes nothing else.

mod common;

use common::{Bench, bench, bench_on};
use cuprous_advisor::Load;
use cuprous_advisor::counted::Counted;
use cuprous_core::routine::LinalgOp;
use cuprous_core::{Array, DType, Fun, ReduceOp, RoutineOp, ScatterOp};
use cuprous_plan::Operand;

impl Bench {
    /// Counts what `work` records, with its results needed.
    fn counted(&self, work: impl FnOnce() -> Vec<Array>) -> Counted {
        self.engine.begin_estimate().unwrap();
        let results = work();
        self.engine.estimate_results(&results.iter().collect::<Vec<_>>());
        drop(results);
        self.engine.end_estimate().unwrap().counted
    }
}

#[test]
fn a_chain_counts_each_operation_and_its_memory_once() {
    let b = bench(1);
    let x = b.array(&[1000]);
    let got = b.counted(|| vec![b.with(Fun::Add, &b.with(Fun::Multiply, &x, 2.0), 1.0)]);
    assert_eq!(got.sum(|l| l.flops()), 2000.0);
    assert_eq!((got.sum(|l| l.read), got.sum(|l| l.written), got.sum(|l| l.launches)), (4000.0, 4000.0, 1.0));
    assert_eq!((got.upload, got.download), (4000.0, 4000.0));
    assert!(b.log.programs.lock().unwrap().is_empty(), "nothing has run");
}

#[test]
fn a_short_row_is_reduced_by_one_thread() {
    let b = bench(11);
    for (n, short) in [(10_000, true), (100_000, false)] {
        let x = b.array(&[n]);
        let sum = b.counted(|| vec![b.engine.reduce(ReduceOp::Sum, &b.one(Fun::Exp, &x), 1).unwrap()]);
        let map = b.counted(|| vec![b.one(Fun::Exp, &x)]);
        assert_eq!((sum.loads().all(|l| l.whole), map.loads().any(|l| l.whole)), (short, false));
    }
}

#[test]
fn a_matmul_counts_two_operations_for_each_element_of_its_rows() {
    let b = bench(2);
    let (x, y) = (b.array(&[20, 30]), b.array(&[30, 40]));
    let got = b.counted(|| vec![b.engine.record_routine(RoutineOp::Dot, &[&x, &y], DType::F32, &[20, 40]).unwrap()]);
    assert_eq!(got.sum(|l| l.flops()), 2.0 * 20.0 * 30.0 * 40.0);
    assert_eq!(got.sum(|l| l.read), 4.0 * (600.0 + 1200.0));
}

#[test]
fn a_matmul_with_a_vector_is_a_kind_of_its_own() {
    let b = bench_on(10, true);
    for (shapes, wanted) in
        [([[30_000, 32], [32, 1]], "thin dot"), ([[2, 300], [300, 400]], "thin dot"), ([[500, 300], [300, 400]], "dot")]
    {
        let [x, y] = shapes.map(|shape| b.array(&shape));
        let out = [shapes[0][0], shapes[1][1]];
        let got = b.counted(|| vec![b.engine.record_routine(RoutineOp::Dot, &[&x, &y], DType::F32, &out).unwrap()]);
        assert!(got.loads().any(|l| l.demands.iter().any(|d| d.what == wanted)), "{shapes:?}");
    }
}

#[test]
fn a_stencil_reads_its_array_once_and_reductions_count_their_elements() {
    let b = bench(3);
    let x = b.array(&[1002]);
    let part = |k: i64| x.view(x.layout.with(&[1000], &[1], k));
    let got = b.counted(|| vec![b.map(Fun::Add, &b.map(Fun::Add, &part(0), &part(1)), &part(2))]);
    assert_eq!(got.sum(|l| l.read), 4.0 * 1002.0);
    let square = b.array(&[64, 1000]);
    let rows = b.counted(|| vec![b.engine.reduce(ReduceOp::Sum, &square, 0b10).unwrap()]);
    assert_eq!(rows.sum(|l| l.flops()), 64_000.0);
    assert!(rows.loads().next().unwrap().demands.iter().any(|d| d.what == "sum"));
    let columns = b.counted(|| vec![b.engine.reduce(ReduceOp::Sum, &square, 0b01).unwrap()]);
    assert!(columns.loads().next().unwrap().demands.iter().any(|d| d.what == "reduce across"));
}

#[test]
fn pending_values_stay_pending() {
    let b = bench(4);
    let x = b.array(&[100]);
    let mine = b.with(Fun::Multiply, &x, 2.0);
    let got = b.counted(|| vec![b.one(Fun::Exp, &x)]);
    assert_eq!(got.programs.len(), 1);
    assert!(b.log.programs.lock().unwrap().is_empty());
    let more = b.with(Fun::Add, &mine, 1.0);
    drop(mine);
    let program = b.program();
    assert_eq!((program.steps.len(), b.log.programs.lock().unwrap().len()), (1, 1), "one program of both operations");
    drop(more);
}

#[test]
fn pending_values_are_computed_when_read_and_before_they_are_overwritten() {
    let b = bench(5);
    let x = b.array(&[100]);
    let mine = b.with(Fun::Multiply, &x, 2.0);
    b.engine.begin_estimate().unwrap();
    b.engine.update(&x, Operand::Array(&b.array(&[100]))).unwrap();
    // The write is visible outside, so it is done at the end. What reads the old contents comes first.
    assert!(b.log.programs.lock().unwrap().is_empty());
    b.engine.end_estimate().unwrap();
    let programs = b.log.programs.lock().unwrap().clone();
    assert_eq!(programs.len(), 2);
    assert_eq!(programs[0].outputs.len(), 1, "the matmul of the old contents");
    assert!(programs[1].outputs.is_empty(), "the write");
    drop(mine);
}

#[test]
fn programs_that_must_run_are_counted_as_they_run() {
    let b = bench(6);
    let x = b.array(&[100]);
    b.engine.begin_estimate().unwrap();
    let y = b.one(Fun::Exp, &x);
    b.engine.realize(&y.storage).unwrap();
    let z = b.one(Fun::Log, &y);
    b.engine.estimate_results(&[&z]);
    drop((y, z));
    let taken = b.engine.end_estimate().unwrap();
    assert_eq!((taken.counted.programs.len(), taken.ran), (2, 1));
    assert_eq!(taken.counted.upload, 400.0, "results of the first program are not uploads");
}

#[test]
fn estimates_run_one_at_a_time() {
    let b = bench(7);
    b.engine.begin_estimate().unwrap();
    assert!(b.engine.begin_estimate().unwrap_err().message.contains("another estimate"));
    b.engine.end_estimate().unwrap();
    b.engine.begin_estimate().unwrap();
    b.engine.end_estimate().unwrap();
}

#[test]
fn a_small_matmul_counts_the_same_as_a_kernel_and_as_a_routine() {
    let counts = [bench(8), bench_on(9, true)].map(|b| {
        let (x, y) = (b.array(&[20, 30]), b.array(&[30, 40]));
        let got = b.counted(|| vec![b.engine.dot(&x, &y).unwrap()]);
        [got.sum(|l| l.flops()), got.sum(Load::fetched), got.sum(|l| l.written)]
    });
    assert_eq!(counts[0], counts[1]);
    assert_eq!(counts[0], [2.0 * 20.0 * 30.0 * 40.0, 4.0 * (600.0 + 1200.0), 4.0 * 800.0]);
}

#[test]
fn random_reads_move_a_line_each_unless_a_cache_holds_the_table() {
    let b = bench(10);
    let read = |table: i64| {
        let (x, index) = (b.array(&[table]), b.engine.empty(DType::I64, &[1000]).unwrap());
        let got = b.counted(|| vec![b.engine.gather(&x, &index).unwrap()]);
        got.sum(Load::fetched)
    };
    assert_eq!(read(10), 8000.0 + 40.0);
    assert_eq!(read(1 << 24), 8000.0 + 64.0 * 1000.0);
}

#[test]
fn updates_of_few_elements_wait_for_one_another() {
    let b = bench(11);
    let amounts = |elements: i64| {
        let (target, index) = (b.array(&[elements]), b.engine.empty(DType::I64, &[1000]).unwrap());
        let ones = b.array(&[1000]);
        let got = b.counted(|| {
            b.engine.scatter(&target, &index, &ones, ScatterOp::Add).unwrap();
            vec![target.clone()]
        });
        ["scatter", "crowded scatter"].map(|what| {
            let demands = got.loads().flat_map(|load| &load.demands);
            demands.filter(|d| d.what == what).map(|d| d.amount).sum::<f64>()
        })
    };
    assert_eq!(amounts(64), [0.0, 1000.0]);
    assert_eq!(amounts(640), [900.0, 100.0]);
}

#[test]
fn a_factorization_counts_its_columns_once_however_many_matrices_there_are() {
    let b = bench(12);
    let (a, x) = (b.array(&[5, 100, 100]), b.array(&[5, 100, 1]));
    let solve = RoutineOp::Linalg(LinalgOp::Solve);
    let got = b.counted(|| vec![b.engine.record_routine(solve.clone(), &[&a, &x], DType::F32, &[5 * 101]).unwrap()]);
    let columns = got.loads().flat_map(|load| &load.demands).find(|d| d.what == "column").unwrap();
    assert_eq!((columns.amount, columns.flops()), (100.0, 0.0));
}
