//! Runs sorts, selections and compactions on the CPU through the shim and compares them with plain Rust.

mod common;

use common::host::{self, Case};
use cuprous_core::routine::{Edge, packed_mask};
use cuprous_core::{DType, Layout, RoutineOp};
use cuprous_cuda::codegen::{Arch, Options, RoutineTuning, generate_routine_tuned};
use cuprous_plan::{Epilogue, RoutineCall};

/// Small tiles, so that short rows have several.
const SMALL: RoutineTuning = RoutineTuning::SMALL;

fn case(op: RoutineOp, ins: &[(DType, Vec<u8>, &[i64])], out: DType, shape: &[i64]) -> Case {
    let operands = ins.iter().enumerate().map(|(k, (d, _, s))| (k as u32 + 1, Layout::contiguous(*d, s))).collect();
    let call =
        RoutineCall { op, ins: operands, out: (0, Layout::contiguous(out, shape)), epilogue: Epilogue::default() };
    let arch = Arch { sms: 4, ..Arch::H200.of_target("sm_80") };
    let generated = generate_routine_tuned(&call, arch, Options::default(), SMALL).expect("the routine has code");
    let mut buffers = vec![vec![0xA5; shape.iter().product::<i64>() as usize * out.size()]];
    buffers.extend(ins.iter().map(|i| i.1.clone()));
    Case { generated, buffers, scalars: vec![], runs: 2 }
}

fn floats(n: usize, seed: u64) -> Vec<f32> {
    let mut x = seed;
    (0..n)
        .map(|i| {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            match i % 11 {
                0 => f32::NAN,
                1 => -0.0,
                2 => 0.0,
                3 => f32::NEG_INFINITY,
                _ => ((x >> 40) as f32 - 8e6) / 64.0,
            }
        })
        .collect()
}

/// Returns the positions of the sorted elements: NaN last, or first if `largest`.
fn order(row: &[f32], largest: bool) -> Vec<i64> {
    let mut all: Vec<i64> = (0..row.len() as i64).collect();
    all.sort_by(|&a, &b| {
        let (x, y) = (row[a as usize], row[b as usize]);
        let rising = x.partial_cmp(&y).unwrap_or_else(|| x.is_nan().cmp(&y.is_nan()));
        if largest { rising.reverse() } else { rising }
    });
    all
}

fn bytes<T: Copy, const N: usize>(values: &[T], of: impl Fn(T) -> [u8; N]) -> Vec<u8> {
    values.iter().flat_map(|&v| of(v)).collect()
}

fn int64s(bytes: &[u8]) -> Vec<i64> {
    bytes.chunks_exact(8).map(|b| i64::from_le_bytes(b.try_into().expect("8 bytes"))).collect()
}

fn float32s(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().expect("4 bytes"))).collect()
}

#[test]
fn rows_of_floats() {
    if !host::have_compiler() {
        return;
    }
    let (mut cases, mut wanted) = (Vec::new(), Vec::new());
    // Sorted by lanes, by a block, and by passes over memory.
    for (rows, n) in [(3_usize, 100_usize), (2, 700), (1, 9000)] {
        let values = floats(rows * n, n as u64);
        let shape = [rows as i64, n as i64];
        let operand = [(DType::F32, bytes(&values, f32::to_le_bytes), &shape[..])];
        cases.push(case(RoutineOp::Sort, &operand, DType::F32, &shape));
        cases.push(case(RoutineOp::ArgSort, &operand, DType::I64, &shape));
        let k = 20;
        let selected_shape = [rows as i64, k as i64];
        cases.push(case(RoutineOp::TopK { largest: true }, &operand, DType::I64, &selected_shape));
        cases.push(case(RoutineOp::Select { rank: 30 }, &operand, DType::F32, &selected_shape[..1]));
        for row in values.chunks(n) {
            wanted.push((row.to_vec(), order(row, false), order(row, true)[..k].to_vec()));
        }
    }
    host::run("emulate_sorts", &mut cases);
    let mut wanted = wanted.into_iter();
    for four in cases.chunks(4) {
        let (sorted, positions) = (float32s(&four[0].buffers[0]), int64s(&four[1].buffers[0]));
        let (first, ranked) = (int64s(&four[2].buffers[0]), float32s(&four[3].buffers[0]));
        for (row, (n, rank)) in ranked.iter().map(|r| (sorted.len() / ranked.len(), r)).enumerate() {
            let (values, rising, falling) = wanted.next().expect("a row");
            assert_eq!(positions[row * n..][..n], rising);
            for (got, &at) in sorted[row * n..][..n].iter().zip(&rising) {
                let want = values[at as usize];
                assert!(got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan(), "{got} instead of {want}");
            }
            let k = falling.len();
            assert_eq!(first[row * k..][..k], falling);
            assert!(*rank == values[rising[30] as usize]);
        }
    }
}

/// The passes of digits that are the same everywhere are skipped, for any of the digits.
#[test]
fn integers_of_few_digits() {
    if !host::have_compiler() {
        return;
    }
    let rows: Vec<Vec<i32>> = [(0, 1), (-70_000, 1), (5 << 24, 256)]
        .iter()
        .map(|&(from, step)| (0..9000).map(|i| from + (i * 7919 % 3001) * step).collect())
        .collect();
    let shape = [9000];
    let mut cases: Vec<Case> = rows
        .iter()
        .map(|r| case(RoutineOp::Sort, &[(DType::I32, bytes(r, i32::to_le_bytes), &shape)], DType::I32, &shape))
        .collect();
    host::run("emulate_digits", &mut cases);
    for (mut row, case) in rows.into_iter().zip(cases) {
        row.sort_unstable();
        assert_eq!(case.buffers[0], bytes(&row, i32::to_le_bytes));
    }
}

#[test]
fn top_k_of_long_rows() {
    if !host::have_compiler() {
        return;
    }
    // More elements than a block gathers, and ties at the bound.
    let (n, k) = (6000_usize, 1500_usize);
    let values: Vec<f32> = floats(n, 3).iter().map(|x| if x.is_finite() { (x / 3e4).round() } else { *x }).collect();
    let operand = [(DType::F32, bytes(&values, f32::to_le_bytes), &[n as i64][..])];
    let mut cases: Vec<Case> = [false, true]
        .map(|largest| case(RoutineOp::TopK { largest }, &operand, DType::I64, &[k as i64]))
        .into_iter()
        .collect();
    host::run("emulate_topk", &mut cases);
    for (largest, case) in [false, true].into_iter().zip(cases) {
        assert_eq!(int64s(&case.buffers[0]), order(&values, largest)[..k]);
    }
}

#[test]
fn masks() {
    if !host::have_compiler() {
        return;
    }
    for n in [17_usize, 9001] {
        let mask: Vec<bool> = (0..n).map(|i| i * i % 7 < 3).collect();
        let selected: Vec<i64> = (0..n as i64).filter(|&i| mask[i as usize]).collect();
        let (words, tiles) = packed_mask(n as i64);
        let (size, count) = ([n as i64], [selected.len() as i64]);
        let pack =
            case(RoutineOp::PackMask, &[(DType::Bool, bytes(&mask, |m| [m.into()]), &size)], DType::I64, &[words]);
        let mut cases = vec![pack];
        host::run("emulate_pack", &mut cases);
        let packed = cases[0].buffers[0].clone();
        assert_eq!(int64s(&packed)[tiles as usize - 1], count[0]);
        let values: Vec<f32> = (0..n).map(|i| i as f32 / 2.0).collect();
        let packed = (DType::I64, packed, &[words][..]);
        let mut cases = vec![
            case(RoutineOp::Compact, std::slice::from_ref(&packed), DType::I64, &count),
            case(
                RoutineOp::Compact,
                &[packed, (DType::F32, bytes(&values, f32::to_le_bytes), &size)],
                DType::F32,
                &count,
            ),
        ];
        host::run("emulate_compact", &mut cases);
        assert_eq!(int64s(&cases[0].buffers[0]), selected);
        assert_eq!(float32s(&cases[1].buffers[0]), selected.iter().map(|&i| i as f32 / 2.0).collect::<Vec<_>>());
    }
}

#[test]
fn components_of_random_edges() {
    if !host::have_compiler() {
        return;
    }
    let n = 700_usize;
    // Steps with and without pairs of neighbors, which images have.
    let steps = [1_i64, 25, 26, 27, 5, 60, 61, 62, 300];
    for (words, backwards) in [(2_usize, false), (2, true), (1, false), (1, true)] {
        let count = if words == 2 { 9 } else { 4 };
        let mut x = 7_u64;
        let mut edges = vec![0_u8; words * n];
        for i in 0..n {
            for (b, &step) in steps[..count].iter().enumerate() {
                x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let likely = if b == 0 { 2 } else { 7 };
                if (x >> 33).is_multiple_of(likely) && i as i64 >= step {
                    edges[b / 8 * n + i] |= 1 << (b % 8);
                }
            }
        }
        let shape = [words as i64, n as i64];
        let op = RoutineOp::Components { steps: steps[..count].into() };
        let mut cases: Vec<Case> = [DType::I64, DType::I32]
            .map(|d| case(op.clone(), &[(DType::U8, edges.clone(), &shape)], d, &[n as i64]))
            .into();
        host::run_in_order("emulate_components", &mut cases, backwards);
        let mut root: Vec<usize> = (0..n).collect();
        let mut changed = true;
        while changed {
            changed = false;
            for i in 0..n {
                for (b, &step) in steps[..count].iter().enumerate() {
                    if edges[b / 8 * n + i] >> (b % 8) & 1 == 1 {
                        let j = i - step as usize;
                        let least = root[i].min(root[j]);
                        changed |= root[i] != least || root[j] != least;
                        (root[i], root[j]) = (least, least);
                    }
                }
            }
        }
        assert_eq!(int64s(&cases[0].buffers[0]), root.iter().map(|&r| r as i64).collect::<Vec<_>>());
        assert_eq!(cases[1].buffers[0], bytes(&root, |r| (r as i32).to_le_bytes()));
    }
}

/// Several launches, each of which adds to the sums of the one before; elements near the edges and far from them.
#[test]
fn long_weights_along_an_axis() {
    if !host::have_compiler() {
        return;
    }
    for (shape, window) in [
        ([58_i64, 65_i64], [249_i64, 1_i64]),
        ([58, 65], [1, 249]),
        ([300, 3], [249, 1]),
        ([3, 300], [1, 249]),
        ([20, 6], [93, 1]),
    ] {
        let (count, k) = ((shape[0] * shape[1]) as usize, (window[0] * window[1]) as usize);
        let values: Vec<f64> = (0..count).map(|i| ((i * 7919 % 257) as f64 - 128.0) / 16.0).collect();
        let weights: Vec<f64> = (0..k).map(|i| ((i * 31 % 17) as f64 - 8.0) / 64.0).collect();
        let middle = (k / 2) as i64;
        let axis = usize::from(window[0] == 1);
        let origin = if axis == 0 { [middle, 0] } else { [0, middle] };
        for edge in [Edge::Mirror, Edge::Reflect, Edge::Wrap] {
            let op = RoutineOp::Correlate { edge, constant: 0, origin: origin.as_slice().into() };
            let ins = [
                (DType::F64, bytes(&values, f64::to_le_bytes), &shape[..]),
                (DType::F64, bytes(&weights, f64::to_le_bytes), &window[..]),
            ];
            let mut cases = vec![case(op, &ins, DType::F64, &shape)];
            host::run("emulate_long_weights", &mut cases);
            let n = shape[axis];
            let inside = |i: i64| match edge {
                Edge::Wrap => i.rem_euclid(n),
                Edge::Mirror => {
                    let j = i.rem_euclid(2 * n - 2);
                    j.min(2 * n - 2 - j)
                }
                _ => {
                    let j = i.rem_euclid(2 * n);
                    j.min(2 * n - 1 - j)
                }
            };
            let got = cases[0].buffers[0].chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().expect("8 bytes")));
            for (i, got) in got.enumerate() {
                let position = [i as i64 / shape[1], i as i64 % shape[1]];
                let mut want = 0.0;
                for (j, w) in weights.iter().enumerate() {
                    let mut at = position;
                    at[axis] = inside(position[axis] + j as i64 - middle);
                    want += w * values[(at[0] * shape[1] + at[1]) as usize];
                }
                assert!(
                    (got - want).abs() < 1e-9,
                    "{shape:?} {window:?} {edge:?} at {position:?}: {got} instead of {want}"
                );
            }
        }
    }
}
