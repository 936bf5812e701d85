//! Runs templates that work together with libraries on the CPU through the shim: transforms along columns, and LU.

mod common;

use common::host::{self, Case};
use cuprous_cuda::codegen::{Arg, Generated, Part, Stage};

const LINES: &str = include_str!("../src/codegen/routines/fft_lines.cuh");
const LU: &str = include_str!("../src/codegen/routines/lu.cuh");

/// Returns one launch of `template` with the given parameters (type, argument).
fn stage(name: &str, parts: &[&'static str], template: &str, args: &[(&str, Arg)], blocks: u32, threads: u32) -> Stage {
    let params: Vec<String> = args.iter().enumerate().map(|(k, (ty, _))| format!("{ty} p{k}")).collect();
    let passed: Vec<String> = (0..args.len()).map(|k| format!("p{k}")).collect();
    Stage {
        name: name.into(),
        prelude: parts.to_vec(),
        code: format!("__global__ void {name}({}) {{ {template}({}); }}", params.join(", "), passed.join(", ")),
        args: args.iter().map(|a| a.1).collect(),
        grid: [blocks, 1, 1],
        block: [threads, 1, 1],
        shared: 0,
    }
}

fn numbers(n: usize) -> Vec<f64> {
    (0..n).map(|i| ((i * 7919 % 1013) as f64 - 506.0) / 64.0).collect()
}

fn float64s(bytes: &[u8]) -> Vec<f64> {
    bytes.chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().expect("8 bytes"))).collect()
}

/// Transforms one line by the definition.
fn dft(line: &[[f64; 2]], inverse: bool) -> Vec<[f64; 2]> {
    let n = line.len();
    (0..n)
        .map(|k| {
            line.iter().enumerate().fold([0.0; 2], |sum, (i, x)| {
                let angle = std::f64::consts::TAU * ((i * k) % n) as f64 / n as f64;
                let (s, c) = (if inverse { angle } else { -angle }).sin_cos();
                [sum[0] + x[0] * c - x[1] * s, sum[1] + x[0] * s + x[1] * c]
            })
        })
        .collect()
}

#[test]
fn transforms_along_columns() {
    if !host::have_compiler() {
        return;
    }
    let base = [Part::Base.text(), Part::Arith.text(), Part::Complex.text(), LINES];
    // Points, columns per block, lines. The last tile is not full.
    let shapes = [(16_usize, 32_usize, 35_usize), (32, 16, 3), (64, 8, 13), (128, 4, 4), (512, 2, 3)];
    let mut cases = Vec::new();
    for &(n, side, below) in &shapes {
        for inverse in [false, true] {
            let values = numbers(2 * 2 * n * below);
            let tiles = below.div_ceil(side);
            let args = [
                ("const complex128*", Arg::Buffer(1)),
                ("complex128*", Arg::Buffer(0)),
                ("int64", Arg::I64(below as i64)),
                ("int64", Arg::I64(tiles as i64)),
                ("int64", Arg::I64(0.5_f64.to_bits() as i64)),
            ];
            let name = format!("lines_{n}_{inverse}");
            let template = format!("fft_lines<complex128, {n}, 16, {side}, {inverse}>");
            let (blocks, threads) = (2 * tiles as u32, (n / 16 * side) as u32);
            let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
            cases.push(Case {
                generated: Generated {
                    stages: vec![stage(&name, &base, &template, &args, blocks, threads)],
                    ..Generated::default()
                },
                buffers: vec![vec![0; bytes.len()], bytes],
                scalars: vec![],
                runs: 1,
            });
        }
    }
    host::run("emulate_lines", &mut cases);
    let wanted = shapes.iter().flat_map(|shape| [(shape, false), (shape, true)]);
    for (case, (&(n, _, below), inverse)) in cases.iter().zip(wanted) {
        let (from, to) = (float64s(&case.buffers[1]), float64s(&case.buffers[0]));
        for above in 0..2 {
            for column in 0..below {
                let at = |i: usize| 2 * ((above * n + i) * below + column);
                let line: Vec<[f64; 2]> = (0..n).map(|i| [from[at(i)], from[at(i) + 1]]).collect();
                for (k, want) in dft(&line, inverse).into_iter().enumerate() {
                    let got = [to[at(k)], to[at(k) + 1]];
                    let off = (got[0] - want[0] / 2.0).abs().max((got[1] - want[1] / 2.0).abs());
                    assert!(off < 1e-10, "{n} points of {below} columns, inverse {inverse}: value {k} off by {off}");
                }
            }
        }
    }
}

/// The update between panels, which a library does on a GPU. One block.
const UPDATE: &str =
    "template <class T> DEV void update(T* a, int64 n, int64 stride, int64 width, int64 from, int64 next) {
    for (int64 i = threadIdx.x; i < (n - next) * (width - next); i += blockDim.x) {
        const int64 r = next + i / (width - next), c = next + i % (width - next);
        T sum = a[r * stride + c];
        for (int64 k = from; k < next; k++) sum -= a[r * stride + k] * a[k * stride + c];
        a[r * stride + c] = sum;
    }
}
";

#[test]
fn elimination() {
    if !host::have_compiler() {
        return;
    }
    let base = [Part::Base.text(), LU, UPDATE];
    let (n, k, stride, width, tile) = (75_i64, 3_i64, 80_i64, 32_i64, 32_i64);
    let int = |x: i64| ("int64", Arg::I64(x));
    let matrix = ("double*", Arg::Buffer(0));
    let mut stages = vec![stage(
        "begin",
        &base,
        "lu_init<double>",
        &[("double*", Arg::Buffer(1)), ("double*", Arg::Buffer(2)), matrix, int(n), int(k), int(stride), int(2)],
        2 * n as u32,
        32,
    )];
    let gap = 4 * width + 4;
    let rows = |panels: i64, list: i64, from: i64, to: i64, start: i64, end: i64| {
        let args =
            [matrix, ("int32*", Arg::Scratch((list * gap * 4) as usize)), int(stride), int(from), int(to), int(start)];
        let args: Vec<_> = args.into_iter().chain([int(end), int(gap)]).collect();
        let blocks = (start - from + tile - 1) / tile + (to - end + tile - 1) / tile;
        let name = format!("rows_{panels}");
        stage(&name, &base, &format!("lu_rows<double, 32, {panels}, 32>"), &args, blocks as u32, 64)
    };
    let update = |to: i64, start: i64, end: i64| {
        let args = [matrix, int(n), int(stride), int(to), int(start), int(end)];
        stage("update_", &base, "update<double>", &args, 1, 32)
    };
    // In groups of two panels.
    for group in (0..n).step_by(2 * width as usize) {
        let last = n.min(group + 2 * width);
        for (list, column) in (group..last).step_by(width as usize).enumerate() {
            let (list, next) = (list as i64, n.min(column + width));
            let moves = ("int32*", Arg::Scratch((list * gap * 4) as usize));
            let panel = [matrix, ("int64*", Arg::Buffer(3)), moves, ("int32*", Arg::Buffer(4)), int(n), int(stride)];
            let panel: Vec<_> = panel.into_iter().chain([int(column), int(next - column)]).collect();
            stages.push(stage("panel", &base, "lu_panel<double, 32, 1, 96>", &panel, 1, 96));
            stages.push(rows(1, list, group, last, column, next));
            stages.push(update(last, column, next));
        }
        stages.push(rows(2, 0, 0, n + k, group, last));
        stages.push(update(n + k, group, last));
    }
    let corners = [matrix, ("double*", Arg::Buffer(5)), int(n), int(stride)];
    stages.push(stage("corners", &base, "lu_invert_diagonal<double, 32>", &corners, 3, 32));
    let bytes = |values: &[f64]| values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
    let a: Vec<f64> = (0..n * n).map(|i| ((i * i * 31 + i * 7919) % 1013) as f64 / 101.0 - 5.0).collect();
    let b = numbers((n * k) as usize);
    let generated = Generated { stages, scratch_bytes: (2 * gap * 4) as usize, ..Generated::default() };
    let room = |count: i64, size: i64| vec![0_u8; (count * size) as usize];
    let buffers = vec![room(n * stride, 8), bytes(&a), bytes(&b), room(n, 8), room(1, 4), room(3 * 32 * 32, 8)];
    let mut cases = [Case { generated, buffers, scalars: vec![], runs: 1 }];
    host::run("emulate_lu", &mut cases);
    let [case] = cases;
    let (lu, inverses) = (float64s(&case.buffers[0]), float64s(&case.buffers[5]));
    let lu = |r: i64, c: i64| lu[(r * stride + c) as usize];
    let pivots: Vec<i64> = float64s(&case.buffers[3]).iter().map(|p| p.to_bits() as i64).collect();
    let mut order: Vec<i64> = (0..n).collect();
    for (j, p) in pivots.iter().enumerate() {
        assert!((j as i64..n).contains(&(p - 1)));
        order.swap(j, (p - 1) as usize);
    }
    assert_eq!(case.buffers[4], [0; 4]);
    for r in 0..n {
        for c in 0..n + k {
            let row = order[r as usize];
            let want = if c < n { a[(row * n + c) as usize] } else { b[(row * k + c - n) as usize] };
            let lower = |j: i64| if j == r { 1.0 } else { lu(r, j) };
            let last = if c < n { r.min(c) } else { r };
            let got: f64 = (0..=last).map(|j| lower(j) * lu(j, c)).sum();
            assert!((got - want).abs() < 1e-11, "row {r}, column {c}: {got} instead of {want}");
            assert!(c >= r || lu(r, c).abs() <= 1.0);
        }
    }
    for (block, inverse) in inverses.chunks(32 * 32).enumerate() {
        let first = 32 * block as i64;
        let count = 32.min(n - first);
        for r in 0..count {
            for c in 0..count {
                let got: f64 = (r..count).map(|j| lu(first + r, first + j) * inverse[(j * 32 + c) as usize]).sum();
                assert!((got - f64::from(u8::from(r == c))).abs() < 1e-9, "corner {block}: {got} at {r}, {c}");
            }
        }
    }
}
