//! Writes the code and the launches of the kernels with a documented speed, for timing and disassembly elsewhere:
//! `kernels_dump FOLDER [knob=value …]`, where the knobs are the fields of [`Tuning`].
#![allow(missing_docs, unreachable_pub, reason = "a tool, not an interface")]

#[path = "../tests/common/mod.rs"]
mod common;

use std::fmt::Write as _;

use common::Build;
use cuprous_core::{DType, Fun, ReduceOp};
use cuprous_cuda::codegen::{Arch, Arg, Generated, Options, Tuning, generate};

const F: DType = DType::F32;

fn black_scholes(d: DType) -> Build {
    use Fun::{Add, Divide, Erf, Exp, Log, Multiply, Sqrt, Subtract};
    let mut b = Build::new(&[10_000_000], &[]);
    let (s, k, t) = (b.load(d), b.load(d), b.load(d));
    let c: Vec<u16> = (0..6).map(|slot| b.scalar(slot, d)).collect();
    let root = b.map(Sqrt, &[t]);
    let x = b.map(Divide, &[s, k]);
    let x = b.map(Log, &[x]);
    let y = b.map(Multiply, &[c[0], t]);
    let x = b.map(Add, &[x, y]);
    let spread = b.map(Multiply, &[c[1], root]);
    let d1 = b.map(Divide, &[x, spread]);
    let d2 = b.map(Subtract, &[d1, spread]);
    let mut cdf = |z: u16| {
        let z = b.map(Multiply, &[z, c[2]]);
        let z = b.map(Erf, &[z]);
        let z = b.map(Add, &[c[3], z]);
        b.map(Multiply, &[c[4], z])
    };
    let (c1, c2) = (cdf(d1), cdf(d2));
    let e = b.map(Multiply, &[c[5], t]);
    let e = b.map(Exp, &[e]);
    let ke = b.map(Multiply, &[k, e]);
    let sc = b.map(Multiply, &[s, c1]);
    let kec = b.map(Multiply, &[ke, c2]);
    let call = b.map(Subtract, &[sc, kec]);
    let put = b.map(Subtract, &[call, s]);
    let put = b.map(Add, &[put, ke]);
    b.store(call);
    b.store(put);
    b
}

fn monte_carlo(steps: u32) -> Build {
    let mut b = Build::new(&[1_000_000], &[]);
    let x = b.load(F);
    let (i, seed) = (b.iota(), b.scalar(0, DType::U64));
    let (drift, spread) = (b.scalar(1, F), b.scalar(2, F));
    let mut s = x;
    for step in 0..steps {
        let offset = b.scalar(3 + step, DType::U64);
        let z = b.map_to(Fun::RandomNormal32, F, &[i, seed, offset]);
        let z = b.map(Fun::Multiply, &[spread, z]);
        let z = b.map(Fun::Add, &[drift, z]);
        let z = b.map(Fun::Exp, &[z]);
        s = b.map(Fun::Multiply, &[s, z]);
    }
    b.store_over(x, s);
    b
}

fn normals(fun: Fun, d: DType) -> Build {
    let mut b = Build::new(&[100_000_000], &[]);
    let (i, seed, offset) = (b.iota(), b.scalar(0, DType::U64), b.scalar(1, DType::U64));
    let v = b.map_to(fun, d, &[i, seed, offset]);
    b.store(v);
    b
}

fn reduction(op: ReduceOp, outer: &[i64], inner: &[i64], strides: &[i64]) -> Build {
    let mut b = Build::new(outer, inner);
    let x = b.load_at(F, strides, 0);
    let r = b.reduce(op, x);
    b.row().store(r);
    b
}

fn softmax() -> Build {
    let mut b = Build::new(&[10_000], &[10_000]);
    let x = b.load(F);
    let m = b.reduce(ReduceOp::Max, x);
    let y = b.map(Fun::Subtract, &[x, m]);
    let e = b.map(Fun::Exp, &[y]);
    let s = b.reduce(ReduceOp::Sum, e);
    let v = b.map(Fun::Divide, &[e, s]);
    b.store(v);
    b
}

fn tuning(knobs: &[String]) -> Tuning {
    let mut t = Tuning::default();
    for knob in knobs {
        let (name, value) = knob.split_once('=').expect("knob=value");
        let value: u32 = value.parse().expect("a number");
        let slot = match name {
            "map_threads" => &mut t.map_threads,
            "map_vectors" => &mut t.map_vectors,
            "row_threads" => &mut t.row_threads,
            "row_vectors" => &mut t.row_vectors,
            "split_blocks" => &mut t.split_blocks,
            "resident_bytes" => &mut t.resident_bytes,
            "column_rows" => &mut t.column_rows,
            "column_height" => &mut t.column_height,
            "column_blocks" => &mut t.column_blocks,
            other => panic!("no knob {other}"),
        };
        *slot = value;
    }
    t
}

/// Writes one line per stage: name, grid, block, shared memory, arguments.
fn write(folder: &str, name: &str, generated: &Generated) {
    let mut lines = String::new();
    for (n, stage) in generated.stages.iter().enumerate() {
        std::fs::write(format!("{folder}/{name}.{n}.cu"), stage.source()).expect("the folder can be written");
        let args: Vec<String> = stage
            .args
            .iter()
            .map(|a| match a {
                Arg::Buffer(b) => format!("buffer:{b}"),
                Arg::Scalar { slot, dtype } => format!("scalar:{slot}:{}", dtype.name()),
                Arg::I32(x) => format!("i32:{x}"),
                Arg::I64(x) => format!("i64:{x}"),
                Arg::Scratch(at) => format!("scratch:{at}"),
                Arg::State(at) => format!("state:{at}"),
            })
            .collect();
        let ([gx, gy, gz], [bx, by, bz]) = (stage.grid, stage.block);
        let _infallible =
            writeln!(lines, "{} {gx},{gy},{gz} {bx},{by},{bz} {} {}", stage.name, stage.shared, args.join(" "));
    }
    std::fs::write(format!("{folder}/{name}.txt"), lines).expect("the folder can be written");
}

fn main() {
    let all: Vec<String> = std::env::args().skip(1).collect();
    let (folder, knobs) = all.split_first().expect("kernels_dump FOLDER [knob=value …]");
    std::fs::create_dir_all(folder).expect("the folder can be created");
    let options = Options { tuning: tuning(knobs), ..Options::default() };
    for (name, b) in [
        ("black_scholes_f32", black_scholes(F)),
        ("black_scholes_f64", black_scholes(DType::F64)),
        ("monte_carlo", monte_carlo(21)),
        ("normals_f32", normals(Fun::RandomNormal32, F)),
        ("normals_f64", normals(Fun::RandomNormal64, DType::F64)),
        ("sum", reduction(ReduceOp::Sum, &[], &[100_000_000], &[1])),
        ("variance", reduction(ReduceOp::M2, &[10_000], &[10_000], &[1, 10_000])),
        ("softmax", softmax()),
    ] {
        write(folder, name, &generate(&b.kernel, Arch::H200, options));
    }
}
