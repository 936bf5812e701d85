//! Measures the bandwidth of a fused chain and of a sum, the overhead of a small program, and products and
//! correlations.
//!
//! `cargo run -p cuprous-cpu --release --example throughput`

use std::sync::Arc;
use std::time::Instant;

use cuprous_core::routine::Edge;
use cuprous_core::scalar::Number;
use cuprous_core::{DType, Fun, Layout, ReduceOp, RoutineOp, Scalar};
use cuprous_cpu::CpuDevice;
use cuprous_plan::device::{DeviceMemory, DevicePrograms};
use cuprous_plan::{Access, Assignment, BufferInfo, Epilogue, Inst, Kernel, Level, Program, RoutineCall, Step, Typed};

fn load(buf: u16, strides: &[i64]) -> Inst {
    Inst::Load { buf, access: Access { offset: 0, strides: strides.into() } }
}

fn store(buf: u16, strides: &[i64], arg: u16) -> Inst {
    Inst::Store { buf, access: Access { offset: 0, strides: strides.into() }, arg }
}

fn map(fun: Fun, args: &[u16]) -> Inst {
    Inst::Map { fun, args: args.iter().copied().collect() }
}

/// Returns the shortest time of a run in seconds, after warming up. The buffers hold small positive numbers.
fn measure(step: Step, bytes: &[usize], scalars: &[Scalar], runs: usize) -> f64 {
    let device = CpuDevice::new();
    let buffers = bytes.iter().map(|&b| BufferInfo { bytes: b, assignment: Assignment::Leaf(0) }).collect();
    let program = Arc::new(Program { steps: vec![step], buffers, scalars: scalars.len(), ..Program::default() });
    let memory: Vec<_> = bytes.iter().map(|&b| device.alloc(b).unwrap()).collect();
    for (m, &b) in memory.iter().zip(bytes) {
        // Every byte 0x3f is 0.747 in float32, 4.8e-4 in float64.
        // SAFETY: the block has that size.
        unsafe { std::ptr::write_bytes(m.address() as *mut u8, 0x3f, b) };
    }
    let addresses: Vec<u64> = memory.iter().map(|m| m.address()).collect();
    let mut run = device.compile(&program).unwrap();
    let mut best = f64::MAX;
    for _ in 0..runs {
        let start = Instant::now();
        run.run(&addresses, scalars, true).unwrap();
        best = best.min(start.elapsed().as_secs_f64());
    }
    best
}

/// Returns a chain of `ops` cheap operations on two operands.
fn chain(n: i64, ops: usize, dtype: DType) -> Step {
    let mut body = vec![(load(0, &[1]), dtype), (load(1, &[1]), dtype), (Inst::Scalar { slot: 0 }, dtype)];
    let funs = [Fun::Multiply, Fun::Add, Fun::Subtract, Fun::Maximum];
    for k in 0..ops {
        let last = if k == 0 { 0 } else { body.len() as u16 - 1 };
        body.push((map(funs[k % 4], &[last, if k % 2 == 0 { 1 } else { 2 }]), dtype));
    }
    let last = body.len() as u16 - 1;
    body.push((store(2, &[1], last), dtype));
    kernel(&[n], &[], body, &[0, 1, 2])
}

fn kernel(outer: &[i64], inner: &[i64], body: Vec<(Inst, DType)>, buffers: &[u32]) -> Step {
    let body = body
        .into_iter()
        .map(|(inst, dtype)| {
            let row = matches!(inst, Inst::Reduce { .. }) || !inner.is_empty() && matches!(inst, Inst::Store { .. });
            Typed { inst, dtype, level: if row { Level::Row } else { Level::Full } }
        })
        .collect();
    Step::Kernel(Kernel { outer: outer.into(), inner: inner.into(), body, buffers: buffers.to_vec() })
}

#[allow(clippy::print_stdout, reason = "the example prints its results")]
fn main() {
    let one = [Scalar::new(Number::Float(1.5), DType::F64)];
    let n = 10_000_000;
    let t = measure(chain(n as i64, 10, DType::F64), &[n * 8; 3], &one, 10);
    println!(
        "10-op float64 chain, 1e7: {:.2} ms, {:.3} ns/element, {:.1} GB/s",
        t * 1e3,
        t / n as f64 * 1e9,
        24.0 * n as f64 / t * 1e-9
    );
    let t = measure(chain(n as i64, 1, DType::F64), &[n * 8; 3], &one, 10);
    println!(" 1-op float64 chain, 1e7: {:.2} ms, {:.1} GB/s", t * 1e3, 24.0 * n as f64 / t * 1e-9);
    let t = measure(chain(8192, 20, DType::F64), &[8192 * 8; 3], &one, 2000);
    println!(
        "20-op float64 chain in cache, 8192: {:.3} ns/element, {:.4} an op",
        t / 8192.0 * 1e9,
        t / 8192.0 / 20.0 * 1e9
    );
    let t = measure(chain(1000, 20, DType::F64), &[8000; 3], &one, 20_000);
    println!("20 operations on 1000 float64: {:.2} µs", t * 1e6);
    let t = measure(chain(10, 20, DType::F64), &[80; 3], &one, 20_000);
    println!("20 operations on 10 float64: {:.2} µs", t * 1e6);

    let n = 100_000_000;
    for (dtype, size) in [(DType::F32, 4), (DType::F64, 8)] {
        let sum = |op| {
            let out = if op == ReduceOp::ArgMax { DType::I64 } else { dtype };
            kernel(
                &[],
                &[n],
                vec![(load(0, &[1]), dtype), (Inst::Reduce { op, arg: 0 }, out), (store(1, &[], 1), out)],
                &[0, 1],
            )
        };
        for op in [ReduceOp::Sum, ReduceOp::Max, ReduceOp::ArgMax, ReduceOp::M2] {
            let t = measure(sum(op), &[n as usize * size, 8], &[], 4);
            println!(
                "{op:?} of 1e8 {}: {:.2} ms, {:.1} GB/s",
                dtype.name(),
                t * 1e3,
                (n as usize * size) as f64 / t * 1e-9
            );
        }
    }
    for (rows, cols, strides) in
        [(10_000, 1000, [1000, 1]), (1000, 10_000, [1, 1000]), (10, 1_000_000, [1, 10]), (1_000_000, 10, [10, 1])]
    {
        let step = kernel(
            &[rows],
            &[cols],
            vec![
                (load(0, &strides), DType::F32),
                (Inst::Reduce { op: ReduceOp::Sum, arg: 0 }, DType::F32),
                (store(1, &[1], 1), DType::F32),
            ],
            &[0, 1],
        );
        let t = measure(step, &[(rows * cols) as usize * 4, rows as usize * 4], &[], 5);
        println!(
            "float32 sums of {rows} x {cols}, strides {strides:?}: {:.2} ms, {:.1} GB/s",
            t * 1e3,
            (rows * cols * 4) as f64 / t * 1e-9
        );
    }
    let transpose = kernel(
        &[4096, 4096],
        &[],
        vec![(load(0, &[1, 4096]), DType::F32), (store(1, &[4096, 1], 0), DType::F32)],
        &[0, 1],
    );
    let t = measure(transpose, &[4096 * 4096 * 4; 2], &[], 4);
    println!("float32 transpose 4096: {:.1} ms", t * 1e3);

    let n = 1_000_000;
    for dtype in [DType::F32, DType::F64] {
        for fun in [
            Fun::Exp,
            Fun::Log,
            Fun::Log2,
            Fun::Sin,
            Fun::Tanh,
            Fun::Erf,
            Fun::Expit,
            Fun::Expm1,
            Fun::Log1p,
            Fun::Arctan,
            Fun::Arcsin,
            Fun::Sqrt,
            Fun::Divide,
            Fun::Power,
            Fun::Remainder,
            Fun::Cbrt,
        ] {
            let args: &[u16] = if fun.op().arity == 2 { &[0, 0] } else { &[0] };
            let step = kernel(
                &[n],
                &[],
                vec![(load(0, &[1]), dtype), (map(fun, args), dtype), (store(1, &[1], 1), dtype)],
                &[0, 1],
            );
            let t = measure(step, &[n as usize * 8; 2], &[], 6);
            print!("{} {:.2}  ", fun.op().name, t / n as f64 * 1e9);
        }
        println!("ns/element of {}", dtype.name());
    }
    for (fun, out) in [
        (Fun::RandomBits32, DType::U32),
        (Fun::RandomUnit64, DType::F64),
        (Fun::RandomNormal32, DType::F32),
        (Fun::RandomNormal64, DType::F64),
    ] {
        let body = vec![
            (Inst::Iota { access: Access { offset: 0, strides: [1i64].as_slice().into() } }, DType::I64),
            (Inst::Scalar { slot: 0 }, DType::U64),
            (map(fun, &[0, 1, 1]), out),
            (store(0, &[1], 2), out),
        ];
        let t = measure(kernel(&[n], &[], body, &[0]), &[n as usize * 8], &one, 6);
        print!("{} {:.2}  ", fun.op().name, t / n as f64 * 1e9);
    }
    println!("ns/element");

    for (n, dtype) in [(64, DType::F32), (1024, DType::F32), (1024, DType::F64)] {
        let l = Layout::contiguous(dtype, &[n, n]);
        let call = RoutineCall {
            op: RoutineOp::Dot,
            ins: vec![(0, l.clone()), (1, l.clone())],
            out: (2, l),
            epilogue: Epilogue::default(),
        };
        let t = measure(Step::Routine(call), &[(n * n) as usize * 8; 3], &[], 10);
        println!("{} product {n}: {:.3} ms, {:.0} GFLOP/s", dtype.name(), t * 1e3, 2.0 * (n * n * n) as f64 / t * 1e-9);
    }
    let (a, x, y) = (
        Layout::contiguous(DType::F32, &[8192, 8192]),
        Layout::contiguous(DType::F32, &[8192, 1]),
        Layout::contiguous(DType::F32, &[8192, 1]),
    );
    let t = measure(
        Step::Routine(RoutineCall {
            op: RoutineOp::Dot,
            ins: vec![(0, a.clone()), (1, x.clone())],
            out: (2, y.clone()),
            epilogue: Epilogue::default(),
        }),
        &[8192 * 8192 * 4, 8192 * 4, 8192 * 4],
        &[],
        6,
    );
    println!("float32 matrix-vector 8192: {:.2} ms, {:.1} GB/s", t * 1e3, 8192.0 * 8192.0 * 4e-9 / t);
    let t = measure(
        Step::Routine(RoutineCall {
            op: RoutineOp::Dot,
            ins: vec![(0, a.permute(&[1, 0])), (1, x)],
            out: (2, y),
            epilogue: Epilogue::default(),
        }),
        &[8192 * 8192 * 4, 8192 * 4, 8192 * 4],
        &[],
        6,
    );
    println!("float32 transposed matrix-vector 8192: {:.2} ms, {:.1} GB/s", t * 1e3, 8192.0 * 8192.0 * 4e-9 / t);

    for (kh, kw) in [(15, 15), (1, 15), (15, 1)] {
        for dtype in [DType::F32, DType::F64] {
            let l = Layout::contiguous(dtype, &[4096, 4096]);
            let op =
                RoutineOp::Correlate { edge: Edge::Reflect, constant: 0, origin: [kh / 2, kw / 2].as_slice().into() };
            let call = RoutineCall {
                op,
                ins: vec![(0, l.clone()), (1, Layout::contiguous(dtype, &[kh, kw]))],
                out: (2, l),
                epilogue: Epilogue::default(),
            };
            let t = measure(Step::Routine(call), &[4096 * 4096 * 8, 15 * 15 * 8, 4096 * 4096 * 8], &[], 3);
            println!(
                "{} correlate {kh}x{kw} on 4096x4096: {:.1} ms, {:.0} GFMA/s",
                dtype.name(),
                t * 1e3,
                4096.0 * 4096.0 * (kh * kw) as f64 / t * 1e-9
            );
        }
    }
    let n = 1_000_000i64;
    let l = Layout::contiguous(DType::F64, &[n]);
    for op in [RoutineOp::Sort, RoutineOp::Scan { op: cuprous_core::ScanOp::Sum, axis: 0 }] {
        let name = op.name();
        let call = RoutineCall { op, ins: vec![(0, l.clone())], out: (1, l.clone()), epilogue: Epilogue::default() };
        let t = measure(Step::Routine(call), &[n as usize * 8; 2], &[], 5);
        println!("{name} of 1e6 float64: {:.2} ms", t * 1e3);
    }
}
