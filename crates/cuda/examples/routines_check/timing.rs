//! Medians of a few large routines, for several launch shapes.

use std::collections::HashMap;

use cuprous_core::routine::Edge;
use cuprous_core::{DType, Layout, RoutineOp, ScanOp};
use cuprous_cuda::codegen::{RadixTile, RoutineTuning};
use cuprous_cuda::driver::{DevPtr, Event};
use cuprous_plan::{Epilogue, RoutineCall};

use crate::host::Random;
use crate::{Gpu, generated};

/// One routine to time.
struct Benchmark {
    name: &'static str,
    op: RoutineOp,
    ins: Vec<(DType, Vec<i64>)>,
    out: (DType, Vec<i64>),
    tunings: Vec<RoutineTuning>,
    /// Time in milliseconds to transfer its bytes at 4.3 TB/s.
    floor: f64,
    /// The time it must reach, in milliseconds.
    target: f64,
}

const N: i64 = 100_000_000;
const SIDE: i64 = 4096;

fn benchmarks() -> Vec<Benchmark> {
    let plain = RoutineTuning::default();
    let f = DType::F32;
    let line = |d| vec![(d, vec![N])];
    let image = |h, w| vec![(f, vec![SIDE, SIDE]), (f, vec![h, w])];
    let window = |h: i64, w: i64| RoutineOp::Correlate {
        edge: Edge::Reflect,
        constant: 0,
        origin: [h / 2, w / 2].as_slice().into(),
    };
    let sum = RoutineOp::Scan { op: ScanOp::Sum, axis: 0 };
    let mut all = Vec::new();
    let mut add =
        |name, op: &RoutineOp, ins: Vec<(DType, Vec<i64>)>, out: DType, tunings: Vec<RoutineTuning>, floor, target| {
            let shape = ins[0].1.clone();
            all.push(Benchmark { name, op: op.clone(), ins, out: (out, shape), tunings, floor, target });
        };
    // Without stages, blocks hold their tile in registers.
    let scans = [(256, 7, 0), (256, 7, 5), (256, 9, 6)];
    let scans = scans.map(|(stream_threads, stream_vectors, stream_stages)| RoutineTuning {
        stream_threads,
        stream_vectors,
        stream_stages,
        ..plain
    });
    let scans = scans.to_vec();
    add("cumsum f32 1e8", &sum, line(f), f, scans, 0.186, 0.220);
    add(
        "cumsum f64 1e8",
        &sum,
        line(DType::F64),
        DType::F64,
        vec![plain, RoutineTuning { stream_stages: 0, ..plain }],
        0.372,
        0.44,
    );
    let registers = RoutineTuning { stream_stages: 0, ..plain };
    for n in [1_000_000, 2_000_000, 5_000_000, 10_000_000] {
        let floor = 8e-3 * n as f64 / 4.3e6;
        add("cumsum f32 shorter", &sum, vec![(f, vec![n])], f, vec![plain, registers], floor, 2.0 * floor);
    }
    add("cumsum bf16 1e8", &sum, line(DType::BF16), DType::BF16, vec![plain, registers], 0.093, 0.12);
    add("cumsum i8 1e8", &sum, line(DType::I8), DType::I8, vec![plain], 0.047, 0.1);
    let shapes = [
        // threads, items, blocks, lookback, match, prefetch, histogram threads, histogram bytes
        (384, 18, 3, 2, 0, 1, 256, 32),
        (384, 18, 3, 2, 0, 0, 512, 64),
        (384, 18, 3, 2, 1, 1, 1024, 128),
        (384, 18, 4, 2, 0, 1, 512, 64),
        (384, 22, 3, 2, 0, 1, 512, 64),
        (384, 22, 3, 4, 0, 1, 512, 64),
        (384, 22, 2, 2, 0, 1, 512, 64),
        (256, 24, 4, 2, 0, 1, 512, 64),
        (256, 24, 5, 2, 0, 1, 512, 64),
        (512, 16, 3, 2, 0, 1, 512, 64),
        (512, 14, 3, 2, 0, 1, 512, 64),
        (320, 22, 4, 2, 0, 1, 512, 64),
        (256, 18, 6, 2, 0, 1, 512, 64),
    ];
    let shape = |s: (u32, u32, u32, u32, u32, u32, u32, usize)| RoutineTuning {
        radix: RadixTile { threads: s.0, items: s.1, blocks: s.2 },
        radix_pairs: RadixTile { threads: s.0, items: s.1, blocks: s.2 },
        radix_lookback: s.3,
        radix_match: s.4,
        radix_prefetch: s.5,
        radix_histogram_threads: s.6,
        radix_histogram_bytes: s.7 << 10,
        ..plain
    };
    let sorts = shapes.map(shape).to_vec();
    let some = sorts.clone();
    add("sort f32 1e8", &RoutineOp::Sort, line(f), f, sorts, 0.84, 2.7);
    add("argsort f32 1e8", &RoutineOp::ArgSort, line(f), DType::I64, some, 2.1, 6.0);
    add("sort f64 1e8", &RoutineOp::Sort, line(DType::F64), DType::F64, vec![plain], 3.2, 9.0);
    add("sort i8 1e8", &RoutineOp::Sort, line(DType::I8), DType::I8, vec![plain], 0.07, 0.3);
    for (rows, n) in [(100_000, 100), (10_000, 1000), (1_000_000, 16), (2_500, 4000), (1_250, 8000), (1_000, 10_000)] {
        let floor = 8e-3 * (rows * n) as f64 / 4.3e6;
        add("sort of rows f32", &RoutineOp::Sort, vec![(f, vec![rows, n])], f, vec![plain], floor, floor * 3.0);
        add(
            "argsort of rows f32",
            &RoutineOp::ArgSort,
            vec![(f, vec![rows, n])],
            DType::I64,
            vec![plain],
            floor,
            floor * 3.0,
        );
    }
    add("correlate 15x15", &window(15, 15), image(15, 15), f, vec![plain], 0.11, 0.5);
    add("correlate 3x3", &window(3, 3), image(3, 3), f, vec![plain], 0.031, 0.06);
    add("correlate 1x25", &window(1, 25), image(1, 25), f, vec![plain], 0.031, 0.05);
    add("correlate 25x1", &window(25, 1), image(25, 1), f, vec![plain], 0.031, 0.05);
    let rows = vec![(f, vec![10_000, 10_000])];
    add("cumsum f32 1e4x1e4 axis 0", &sum, rows.clone(), f, vec![plain], 0.186, 0.3);
    add("cumsum f32 1e4x1e4 axis 1", &RoutineOp::Scan { op: ScanOp::Sum, axis: 1 }, rows, f, vec![plain], 0.186, 0.3);
    add("sort f32 1e5x1000", &RoutineOp::Sort, vec![(f, vec![100_000, 1000])], f, vec![plain], 0.2, 10.0);
    all
}

pub fn all(gpu: &mut Gpu, chosen: impl Fn(&str) -> bool) {
    let mut random = Random(99);
    // Random bits are unsuitable for sums: numbers between -4 and 4 with many exponents.
    let mut block = Vec::new();
    for _ in 0..1 << 22 {
        let x = (random.next() >> 11) as f64 / (1u64 << 53) as f64 * 8.0 - 4.0;
        block.push(x);
    }
    for benchmark in benchmarks().into_iter().filter(|w| chosen(w.name)) {
        let mut buffers: HashMap<u32, DevPtr> = HashMap::new();
        for (k, (d, shape)) in benchmark.ins.iter().enumerate() {
            let n = shape.iter().product::<i64>() as usize;
            let mut bytes = Vec::with_capacity(n * d.size());
            for i in 0..n {
                let x = block[(i + i / block.len() * 7919) % block.len()];
                match d {
                    DType::F64 => bytes.extend(&(x + i as f64 * 1e-9).to_le_bytes()),
                    DType::F32 => bytes.extend(&(x as f32 + i as f32 * 1e-7).to_le_bytes()),
                    DType::BF16 => bytes.extend(&(x as f32).to_le_bytes()[2..]),
                    _ => bytes.push(x.to_bits() as u8),
                }
            }
            buffers.insert(k as u32 + 1, gpu.put(&bytes));
        }
        let size = benchmark.out.1.iter().product::<i64>() as usize * benchmark.out.0.size();
        buffers.insert(0, gpu.filled(size, 0xA5));
        let layouts =
            benchmark.ins.iter().enumerate().map(|(k, (d, s))| (k as u32 + 1, Layout::contiguous(*d, s))).collect();
        let call = RoutineCall {
            op: benchmark.op.clone(),
            ins: layouts,
            out: (0, Layout::contiguous(benchmark.out.0, &benchmark.out.1)),
            epilogue: Epilogue::default(),
        };
        for tuning in &benchmark.tunings {
            time(gpu, &benchmark, &call, *tuning, &buffers);
        }
        buffers.values().for_each(|&b| gpu.free(b));
    }
}

fn time(
    gpu: &mut Gpu,
    benchmark: &Benchmark,
    call: &RoutineCall,
    tuning: RoutineTuning,
    buffers: &HashMap<u32, DevPtr>,
) {
    let code = generated(call, tuning);
    gpu.compile(code.stages.iter());
    let (scratch, state) = (gpu.filled(code.scratch_bytes, 0xC3), gpu.filled(code.state_bytes, 0));
    let events: Vec<Event> =
        (0..code.stages.len() * 24 + 24).map(|_| Event::with_timing(gpu.context).expect("an event")).collect();
    let functions: Vec<_> = code.stages.iter().map(|s| gpu.modules[&s.source()].0).collect();
    gpu.launch(&code, buffers, scratch, state);
    gpu.launch(&code, buffers, scratch, state);
    // Whole runs, then single stages.
    let mut whole = Vec::new();
    for k in 0..12 {
        events[2 * k].record(&gpu.stream).expect("the driver call succeeds");
        for (stage, f) in code.stages.iter().zip(&functions) {
            gpu.launch_one(stage, *f, buffers, scratch, state);
        }
        events[2 * k + 1].record(&gpu.stream).expect("the driver call succeeds");
    }
    gpu.stream.synchronize().expect("the driver call succeeds");
    for k in 0..12 {
        whole.push(events[2 * k + 1].elapsed_ms(&events[2 * k]).expect("timed"));
    }
    let mut stages = String::new();
    for (k, (stage, f)) in code.stages.iter().zip(&functions).enumerate() {
        events[2 * k].record(&gpu.stream).expect("the driver call succeeds");
        gpu.launch_one(stage, *f, buffers, scratch, state);
        events[2 * k + 1].record(&gpu.stream).expect("the driver call succeeds");
    }
    gpu.stream.synchronize().expect("the driver call succeeds");
    if code.stages.len() > 1 {
        for k in 0..code.stages.len() {
            stages += &format!(" {:.3}", events[2 * k + 1].elapsed_ms(&events[2 * k]).expect("timed"));
        }
    }
    let last = functions.last().expect("a stage").info().expect("known");
    whole.sort_by(f32::total_cmp);
    let t = f64::from(whole[6]);
    let RoutineTuning {
        scan_threads,
        scan_vectors,
        scan_blocks,
        stream_threads,
        stream_vectors,
        stream_stages,
        radix: RadixTile { threads: radix_threads, items: radix_items, blocks: radix_blocks },
        radix_pairs: _,
        radix_lookback,
        radix_match,
        radix_prefetch,
        radix_histogram_threads,
        radix_histogram_bytes,
        column_outputs,
        column_blocks,
        row_outputs,
    } = tuning;
    println!(
        "{:26} {t:7.4} ms (best {:.4}), floor {:.3} x{:.2}, target {:.3} | scan {scan_threads}x{scan_vectors}/{scan_blocks} stream {stream_threads}x{stream_vectors}x{stream_stages} radix {radix_threads}x{radix_items}/{radix_blocks} back {radix_lookback} way {radix_match} ahead {radix_prefetch} histogram {radix_histogram_threads}/{radix_histogram_bytes} column {column_outputs}/{column_blocks} row {row_outputs} | {} registers, {} local |{stages}",
        benchmark.name,
        whole[0],
        benchmark.floor,
        t / benchmark.floor,
        benchmark.target,
        last.registers,
        last.local
    );
    gpu.free(scratch);
    gpu.free(state);
}
