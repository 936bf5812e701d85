//! The worked examples of web calculators, and properties of every profile.

use cuprous_advisor::profile::{cpus, find, gpus};
use cuprous_advisor::simple::{Simple, simple};
use cuprous_advisor::{Bound, ComputeUnit, Prices, Setting, Work, advice, estimate};
use cuprous_core::DType;

fn setting(cpu: &str, gpu: &str) -> Setting {
    Setting::new(find(cpus(), |c| c.name, cpu).unwrap(), find(gpus(), |g| g.name, gpu).unwrap())
}

#[test]
fn a_small_network_is_19_times_faster() {
    // 10,000 GFLOP and 1 GB; the CPU takes 25 s, an RTX 3080 0.8 s, with transfer and overhead of 0.5 s.
    let got = simple(1e13, 400e9, 12.5e12, 1e9, 8e9, 0.375).unwrap();
    assert_eq!(
        got,
        Simple { cpu: 25.0, compute: 0.8, transfer: 0.125, overhead: 0.375, gpu: 1.3, speedup: 25.0 / 1.3 }
    );
    assert_eq!(format!("{:.0}x", got.speedup), "19x");
}

#[test]
fn a_monte_carlo_is_60_times_faster() {
    // 300 s on the CPU, under 5 s on the GPU.
    let got = simple(300.0 * 400e9, 400e9, 30e12, 8e6, 16e9, 0.5).unwrap();
    assert!(got.cpu == 300.0 && got.gpu < 5.0 && got.speedup >= 60.0, "{got:?}");
}

#[test]
fn every_row_of_the_table_of_variables_is_taken() {
    // Operations 100 to 100,000 GFLOP, 4 to 80 TFLOPS, 8 to 32 GB/s, 50 to 500 ms.
    for operations in [1e11, 1e14] {
        for throughput in [4e12, 80e12] {
            for bandwidth in [8e9, 32e9] {
                for overhead in [0.05, 0.5] {
                    let got = simple(operations, 400e9, throughput, 1e9, bandwidth, overhead).unwrap();
                    let sum = operations / throughput + 1e9 / bandwidth + overhead;
                    assert!((got.gpu - sum).abs() < 1e-12 && got.speedup == got.cpu / got.gpu);
                }
            }
        }
    }
}

#[test]
fn adding_vectors_that_must_be_copied_is_the_cpus_work() {
    let n = 1e9 / 4.0;
    let add = Work {
        flops: n,
        traffic: 12.0 * n,
        upload: 8.0 * n,
        download: 4.0 * n,
        footprint: 12.0 * n,
        ..Work::default()
    };
    let answer = estimate(&add, &setting("EPYC 9654", "H200")).unwrap();
    assert!(answer.speedup < 1.0 && answer.break_even_size.is_none(), "{answer:?}");
    assert!(advice::sentence(&answer).starts_with("The CPU is faster for this task"));
    // If the data stays on the GPU, it pays off after some repeats.
    let repeats = answer.break_even_repeats.unwrap();
    let again = |n| estimate(&Work { repeats: n, ..add.clone() }, &setting("EPYC 9654", "H200")).unwrap().speedup;
    assert!(again(repeats) > 1.0 && again(repeats - 1.0) <= 1.0);
}

#[test]
fn a_product_of_large_matrices_is_the_gpus_work() {
    let n = 16384f64;
    let bytes = 4.0 * n * n;
    let dot = Work {
        flops: 2.0 * n.powi(3),
        traffic: 3.0 * bytes,
        upload: 2.0 * bytes,
        download: bytes,
        footprint: 3.0 * bytes,
        unit: ComputeUnit::Matrix,
        ..Work::default()
    };
    let one = setting("7950X", "RTX 4090");
    let answer = estimate(&dot, &one).unwrap();
    assert!(answer.speedup > 3.0 && answer.range[0] < answer.speedup && answer.speedup < answer.range[1]);
    let longer = estimate(&Work { repeats: 100.0, ..dot.clone() }, &one).unwrap();
    assert!(longer.speedup > answer.speedup && longer.bound == Bound::Compute);
    // If a tenth stays on the CPU, the largest speedup is ten.
    let serial = estimate(&Work { repeats: 1e4, parallel: 0.9, ..dot.clone() }, &one).unwrap();
    assert!((serial.limit - 10.0).abs() < 1e-9 && serial.speedup < 10.0 && serial.bound == Bound::Serial);
    // Data that does not fit passes through in pieces, and is copied in each repeat.
    let large = estimate(&Work { footprint: 60e9, repeats: 100.0, ..dot.clone() }, &one).unwrap();
    assert!(large.pieces == 3.0 && large.gpu.copies > 50.0 * answer.gpu.copies);
    assert!(advice::sentence(&large).contains("3 pieces"));
    // Half precision, two GPUs, pinned and overlapped copies, throttling.
    let gain = |setting: Setting, dtype| estimate(&Work { dtype, repeats: 100.0, ..dot.clone() }, &setting).unwrap();
    let base = gain(one.clone(), DType::F32);
    assert!(gain(one.clone(), DType::F16).gpu.compute < base.gpu.compute / 1.9);
    assert_eq!(gain(Setting { gpus: 2.0, ..one.clone() }, DType::F32).gpu.compute, base.gpu.compute / 2.0);
    assert!(gain(Setting { gpus: 2.0, ..one.clone() }, DType::F32).gpu.exchange > 0.0);
    assert!(gain(Setting { pinned: true, ..one.clone() }, DType::F32).gpu.copies < base.gpu.copies / 2.0);
    assert!(gain(Setting { overlapped: true, ..one.clone() }, DType::F32).gpu.total < base.gpu.total);
    assert_eq!(gain(Setting { throttle: 0.5, ..one.clone() }, DType::F32).gpu.compute, 2.0 * base.gpu.compute);
    let prices = Prices { energy: Some(0.3), cpu_hour: Some(1.0), gpu_hour: Some(4.0) };
    let paid = gain(Setting { prices, ..one }, DType::F32);
    let expected = 4.0 * paid.gpu.total / 3600.0 + 0.3 * 450.0 * paid.gpu.total / 3.6e6;
    assert!((paid.gpu_cost.price.unwrap() - expected).abs() < 1e-12);
    assert_eq!(base.gpu_cost.price, None);
}

#[test]
fn small_work_is_bound_by_what_stands_around_it() {
    let few = Work { flops: 1e3, traffic: 12e3, repeats: 1e6, ..Work::default() };
    assert_eq!(estimate(&few, &setting("5600X", "RTX 3080")).unwrap().bound, Bound::Launches);
    let once = Work { flops: 1e3, traffic: 12e3, ..Work::default() };
    let answer = estimate(&once, &setting("5600X", "RTX 3080")).unwrap();
    assert!(answer.bound == Bound::Startup && answer.speedup < 1.0);
}

#[test]
fn break_even_is_found_though_far_larger_data_no_longer_fit() {
    // A thousand passes over resident data are faster on the GPU, until the data must be copied for each pass.
    let (n, setting) = (1e9, setting("EPYC 9654", "H200"));
    let passes =
        Work { flops: n, traffic: n, upload: n, footprint: n, repeats: 1000.0, launches: 0.0, ..Work::default() };
    let answer = estimate(&passes, &setting).unwrap();
    assert!(answer.speedup > 1.0 && answer.break_even_size.is_some_and(|size| size < 1.0), "{answer:?}");
    assert!(estimate(&passes.scaled(1e9), &setting).unwrap().speedup < 1.0, "the case that is meant");
    // With a tenth of the data the CPU is faster, but larger data would make the GPU faster.
    let small = estimate(&passes.scaled(0.1), &setting).unwrap();
    assert!(small.speedup < 1.0 && small.break_even_size.is_some_and(|size| size > 1.0), "{small:?}");
    let sentence = advice::sentence(&small);
    assert!(sentence.contains("the GPU is faster.") && !sentence.contains("No size"), "{sentence}");
}

#[test]
fn more_never_takes_less() {
    let work = Work { flops: 1e12, traffic: 1e10, upload: 1e9, download: 1e8, footprint: 2e9, ..Work::default() };
    for cpu in cpus() {
        for gpu in gpus() {
            let setting = Setting::new(cpu, gpu);
            let base = estimate(&work, &setting).unwrap();
            assert!(base.range[0] <= base.speedup && base.speedup <= base.range[1], "{} {}", cpu.name, gpu.name);
            for factor in [2.0, 10.0, 1e3] {
                let more = estimate(&work.scaled(factor), &setting).unwrap();
                assert!(more.cpu > base.cpu && more.gpu.total > base.gpu.total);
            }
            if let Some(size) = base.break_even_size.filter(|size| *size > 1e-8) {
                let at = |factor: f64| estimate(&work.scaled(size * factor), &setting).unwrap().speedup;
                assert!(at(1.01) > 1.0 && at(0.99) < 1.0, "{} {}: {size}", cpu.name, gpu.name);
            }
        }
    }
}

#[test]
fn what_is_no_number_is_named() {
    let s = setting("5600X", "L4");
    let refused = |work: Work, setting: &Setting| estimate(&work, setting).unwrap_err().message;
    assert!(refused(Work { flops: f64::NAN, ..Work::default() }, &s).contains("operations is NaN"));
    assert!(refused(Work { upload: -1.0, ..Work::default() }, &s).contains("bytes to the GPU is -1"));
    assert!(refused(Work { parallel: 1.5, ..Work::default() }, &s).contains("parallel part is 1.5"));
    assert!(refused(Work { repeats: 0.0, ..Work::default() }, &s).contains("repeats is 0"));
    for gpus in [0.5, 1.5, 1e300, f64::INFINITY, f64::NAN] {
        assert!(refused(Work::default(), &Setting { gpus, ..s.clone() }).contains("number of GPUs"), "{gpus}");
    }
    assert!(refused(Work::default(), &Setting { throttle: 0.0, ..s }).contains("throttling"));
    assert!(simple(1.0, 0.0, 1.0, 1.0, 1.0, 1.0).unwrap_err().message.contains("CPU throughput is 0"));
    assert!(simple(f64::INFINITY, 1.0, 1.0, 1.0, 1.0, 1.0).is_err());
}
