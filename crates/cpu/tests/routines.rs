//! Compares routines with plain loops.

mod common;
use common::*;
use cuprous_core::attention::RowAttention;
use cuprous_core::recurrent::Steps;
use cuprous_core::routine::{Edge, FftKind, FftScale, sparse_starts};
use cuprous_core::{DType, DType::*, Layout, LayoutRef, RoutineOp, ScanOp};

#[test]
fn transforms_along_an_axis() {
    for (shape, axis) in [([5, 1, 1], 0), ([3, 12, 1], 1), ([2, 7, 40], 1), ([9, 4, 33], 0), ([2, 3, 16], 2)] {
        let n = shape[axis] as usize;
        let below: usize = shape[axis + 1..].iter().product::<i64>() as usize;
        let lines = shape.iter().product::<i64>() as usize / n;
        let x = Noise(3).samples(2 * lines * n);
        let l = Layout::contiguous(C128, &shape);
        for (kind, sign) in [(FftKind::Forward, -1.0), (FftKind::Backward, 1.0)] {
            let op = RoutineOp::Fft { kind, axis: axis as u8, rank: 1, scale: FftScale::Points };
            let got = f64::read(&run_routine(op, &[(f64::bytes(&x), l.clone())], l.clone()));
            for line in 0..lines {
                let at = |j: usize| 2 * ((line / below * n + j) * below + line % below);
                for k in 0..n {
                    let (mut re, mut im) = (0.0, 0.0);
                    for j in 0..n {
                        let (sin, cos) = (sign * std::f64::consts::TAU * (j * k % n) as f64 / n as f64).sin_cos();
                        re += (x[at(j)] * cos - x[at(j) + 1] * sin) / n as f64;
                        im += (x[at(j)] * sin + x[at(j) + 1] * cos) / n as f64;
                    }
                    let (a, b) = (got[at(k)], got[at(k) + 1]);
                    assert!((a - re).abs() + (b - im).abs() < 1e-13, "{shape:?} {axis} {kind:?}: {a} {b} {re} {im}");
                }
            }
        }
    }
}

#[test]
fn transforms_along_neighboring_axes_equal_those_along_each() {
    let fft = |kind, axis, rank, a: &(Vec<u8>, LayoutRef), out: LayoutRef| {
        let op = RoutineOp::Fft { kind, axis, rank, scale: FftScale::Root };
        (run_routine(op, std::slice::from_ref(a), out.clone()), out)
    };
    for [rows, columns, below] in [[3, 8, 1], [4, 5, 1], [6, 7, 2], [1, 2, 3]] {
        let half = columns / 2 + 1;
        let all = Layout::contiguous(C128, &[2, rows, columns, below]);
        let some = Layout::contiguous(C128, &[2, rows, half, below]);
        let real = Layout::contiguous(F64, &[2, rows, columns, below]);
        let points = Noise(5).samples(real.size as usize);
        let x = (f64::bytes(&points), real.clone());
        let z = (f64::bytes(&points.iter().flat_map(|&re| [re, 0.0]).collect::<Vec<_>>()), all.clone());
        let near = |got: &[u8], want: &[u8]| {
            let (got, want) = (f64::read(got), f64::read(want));
            assert!(got.iter().zip(&want).all(|(a, b)| (a - b).abs() < 1e-14), "{rows} {columns} {below}");
        };

        let along_one = fft(FftKind::Forward, 2, 1, &z, all.clone());
        let expected = fft(FftKind::Forward, 1, 1, &along_one, all.clone());
        near(&fft(FftKind::Forward, 2, 2, &z, all.clone()).0, &expected.0);
        near(&fft(FftKind::Whole, 2, 2, &x, all.clone()).0, &expected.0);

        let spectrum = fft(FftKind::Real, 2, 2, &x, some.clone());
        let one = fft(FftKind::Real, 2, 1, &x, some.clone());
        near(&spectrum.0, &fft(FftKind::Forward, 1, 1, &one, some.clone()).0);
        near(&fft(FftKind::Half, 2, 2, &spectrum, real.clone()).0, &x.0);
    }
}

#[test]
fn transforms_of_extents_that_do_not_fit_are_rejected() {
    let half = Layout::contiguous(C64, &[4, 3]);
    for (kind, from, to) in [
        (FftKind::Real, Layout::contiguous(F32, &[4, 6]), half.clone()),
        (FftKind::Real, Layout::contiguous(F64, &[4, 5]), half.clone()),
        (FftKind::Half, half.clone(), Layout::contiguous(F32, &[4, 3])),
        (FftKind::Forward, half.clone(), Layout::contiguous(C128, &[4, 3])),
        (FftKind::Forward, Layout::contiguous(C64, &[3, 3]), half.clone()),
    ] {
        let op = RoutineOp::Fft { kind, axis: 1, rank: 1, scale: FftScale::One };
        let mut data = vec![vec![0; 1024], vec![0; 1024]];
        assert!(run(vec![routine(op, vec![from], to)], &mut data, &[]).is_err(), "{kind:?}");
    }
}

#[test]
fn products_of_floats() {
    for (batch, m, n, k) in [
        (1, 1, 1, 1),
        (1, 3, 5, 7),
        (3, 17, 9, 33),
        (1, 200, 1, 150),
        (2, 1, 130, 77),
        (1, 150, 160, 170),
        (1, 1, 1, 200_000),
        (1, 1000, 1, 1000),
        (64, 4, 4, 4),
        (1, 2, 2, 0),
    ] {
        for how in 0..4 {
            let (a, b) = (Noise(1).samples(batch * m * k * 2 + 1), Noise(2).samples(batch * k * n * 2 + 1));
            let (bi, mi, ni, ki) = (batch as i64, m as i64, n as i64, k as i64);
            // contiguous, transposed, reversed, and every second element with a broadcast batch
            let (sa, sb, oa) = match how {
                0 => ([mi * ki, ki, 1], [ki * ni, ni, 1], 0),
                1 => ([mi * ki, 1, mi], [ki * ni, 1, ki], 0),
                2 => ([mi * ki, -ki, 1], [ki * ni, ni, 1], (mi - 1) * ki),
                _ => ([0, 2 * ki, 2], [ki * ni * 2, 2, 2 * ki], 0),
            };
            let la = Layout::new(F64, &[bi, mi, ki], &sa, oa);
            let lb = Layout::new(F64, &[bi, ki, ni], &sb, 0);
            let out = Layout::contiguous(F64, &[bi, mi, ni]);
            let got = f64::read(&run_routine(RoutineOp::Dot, &[(f64::bytes(&a), la), (f64::bytes(&b), lb)], out));
            for p in 0..batch {
                for i in 0..m.min(40) {
                    for j in 0..n.min(40) {
                        let want: f64 = (0..k as i64)
                            .map(|l| {
                                let (p, i, j) = (p as i64, i as i64, j as i64);
                                a[(oa + p * sa[0] + i * sa[1] + l * sa[2]) as usize]
                                    * b[(p * sb[0] + l * sb[1] + j * sb[2]) as usize]
                            })
                            .sum();
                        let got = got[(p * m + i) * n + j];
                        assert!((got - want).abs() < 1e-9, "{batch} {m} {n} {k} how {how}: {got} {want}");
                    }
                }
            }
        }
    }
}

#[test]
fn products_of_transposed_operands() {
    // Rows and columns that are a power of two apart and others, on one thread and on all, block by block and as a whole.
    for (m, n, k) in [(128, 192, 96), (16, 1000, 512), (40, 1024, 300), (1024, 70, 256), (520, 512, 1024)] {
        for dtype in [F32, F64] {
            let matrix = |rows: i64, columns: i64, transposed: bool| {
                let strides = if transposed { [1, rows] } else { [columns, 1] };
                Layout::new(dtype, &[rows, columns], &strides, 0)
            };
            // The same elements in both orders.
            let bytes = |rows: i64, columns: i64, transposed: bool| {
                let v = Noise(rows as u64 + 1).samples((rows * columns) as usize);
                let at = |i: i64| if transposed { i % rows * columns + i / rows } else { i };
                let v: Vec<f64> = (0..rows * columns).map(|i| v[at(i) as usize]).collect();
                if dtype == F64 { f64::bytes(&v) } else { f32::bytes(&v.iter().map(|&v| v as f32).collect::<Vec<_>>()) }
            };
            let product = |of_a: bool, of_b: bool| -> Vec<f64> {
                let ins = [(bytes(m, k, of_a), matrix(m, k, of_a)), (bytes(k, n, of_b), matrix(k, n, of_b))];
                let out = run_routine(RoutineOp::Dot, &ins, Layout::contiguous(dtype, &[m, n]));
                if dtype == F64 { f64::read(&out) } else { f32::read(&out).into_iter().map(f64::from).collect() }
            };
            let (want, bound) = (product(false, false), if dtype == F64 { 1e-11 } else { 5e-3 });
            for (of_a, of_b) in [(false, true), (true, false), (true, true)] {
                let got = product(of_a, of_b);
                let worst = got.iter().zip(&want).map(|(g, w)| (g - w).abs()).fold(0.0, f64::max);
                assert!(got.len() == want.len() && worst < bound, "{m} {n} {k} {dtype:?} {of_a} {of_b}: {worst}");
            }
        }
    }
}

#[test]
fn products_of_other_types() {
    let (m, n, k) = (5, 300, 20);
    let a: Vec<i64> = (0..m * k).map(|i| i * 77 % 13 - 6).collect();
    let b: Vec<i64> = (0..k * n).map(|i| i * 31 % 11 - 5).collect();
    let want = |i: i64, j: i64| (0..k).map(|l| a[(i * k + l) as usize] * b[(l * n + j) as usize]).sum::<i64>();
    let layouts = |d| (Layout::contiguous(d, &[m, k]), Layout::contiguous(d, &[k, n]), Layout::contiguous(d, &[m, n]));
    let (la, lb, lo) = layouts(I64);
    let got = i64::read(&run_routine(RoutineOp::Dot, &[(i64::bytes(&a), la), (i64::bytes(&b), lb)], lo));
    let (la, lb, lo) = layouts(I8);
    let small = |v: &[i64]| v.iter().map(|&x| x as u8).collect::<Vec<u8>>();
    let got8 = i8::read(&run_routine(RoutineOp::Dot, &[(small(&a), la), (small(&b), lb)], lo));
    let (la, lb, lo) = layouts(BF16);
    let bf = |v: &[i64]| v.iter().flat_map(|&x| bf16_bits(x as f32)).collect::<Vec<u8>>();
    let gotb = run_routine(RoutineOp::Dot, &[(bf(&a), la), (bf(&b), lb)], lo);
    let (la, lb, lo) = layouts(Bool);
    let truth = |v: &[i64]| v.iter().map(|&x| u8::from(x == 1)).collect::<Vec<u8>>();
    let gott = run_routine(RoutineOp::Dot, &[(truth(&a), la), (truth(&b), lb)], lo);
    for i in 0..m {
        for j in 0..n {
            let at = (i * n + j) as usize;
            let w = want(i, j);
            assert_eq!((got[at], got8[at]), (w, w as i8));
            assert_eq!(gotb[2 * at..2 * at + 2], bf16_bits(w as f32), "{w}");
            let any = (0..k).any(|l| a[(i * k + l) as usize] == 1 && b[(l * n + j) as usize] == 1);
            assert_eq!(gott[at], u8::from(any));
        }
    }
    // complex: i·i = -1
    let l = Layout::contiguous(C64, &[1, 1]);
    let i = f32::bytes(&[0.0, 1.0]);
    assert_eq!(f32::read(&run_routine(RoutineOp::Dot, &[(i.clone(), l.clone()), (i, l.clone())], l)), [-1.0, 0.0]);
}

/// Returns the bits of a number rounded to bfloat16, ties to even.
fn bf16_bits(v: f32) -> [u8; 2] {
    let b = v.to_bits();
    (((b + 0x7fff + (b >> 16 & 1)) >> 16) as u16).to_le_bytes()
}

#[test]
fn scans() {
    for (shape, axis) in [
        (vec![300_000], 0),
        (vec![5, 7, 11], 0),
        (vec![5, 7, 11], 1),
        (vec![5, 7, 11], 2),
        (vec![40, 3000], 0),
        (vec![4, 200_000], 1),
        (vec![1], 0),
    ] {
        let n: i64 = shape.iter().product();
        let x: Vec<i64> = (0..n).map(|i| i * 7919 % 101 - 50).collect();
        for op in [ScanOp::Sum, ScanOp::Max, ScanOp::Min] {
            let l = Layout::contiguous(I64, &shape);
            let got =
                i64::read(&run_routine(RoutineOp::Scan { op, axis: axis as u8 }, &[(i64::bytes(&x), l.clone())], l));
            let (len, below) = (shape[axis], shape[axis + 1..].iter().product::<i64>());
            let mut want = x.clone();
            for at in 0..n {
                if at / below % len > 0 {
                    let before = want[(at - below) as usize];
                    let w = &mut want[at as usize];
                    *w = match op {
                        ScanOp::Max => before.max(*w),
                        ScanOp::Min => before.min(*w),
                        _ => before + *w,
                    };
                }
            }
            assert_eq!(got, want, "{op:?} {shape:?} {axis}");
        }
    }
    // bool operand, int64 output, and a reversed view
    let l = Layout::new(Bool, &[6], &[-1], 5);
    let out = Layout::contiguous(I64, &[6]);
    let got = run_routine(RoutineOp::Scan { op: ScanOp::Sum, axis: 0 }, &[(vec![1, 0, 1, 1, 0, 1], l)], out);
    assert_eq!(i64::read(&got), [1, 1, 2, 3, 3, 4]);
}

#[test]
fn sorts_put_nan_last_and_are_stable() {
    for (rows, n) in [(1, 10), (100, 50), (3, 200_000), (1000, 1)] {
        let mut x = Noise(3).samples(rows * n);
        for k in (0..x.len()).step_by(7) {
            x[k] = f64::NAN;
        }
        for v in x.iter_mut().step_by(3) {
            *v = (*v * 4.0).round() + 0.0;
        }
        let l = Layout::contiguous(F64, &[rows as i64, n as i64]);
        let sorted = f64::read(&run_routine(RoutineOp::Sort, &[(f64::bytes(&x), l.clone())], l.clone()));
        let out = Layout::contiguous(I64, &[rows as i64, n as i64]);
        let index = i64::read(&run_routine(RoutineOp::ArgSort, &[(f64::bytes(&x), l)], out));
        for r in 0..rows {
            let mut want: Vec<usize> = (0..n).collect();
            let row = &x[r * n..][..n];
            want.sort_by(|&a, &b| {
                let nan = (row[a].is_nan(), row[b].is_nan());
                row[a].partial_cmp(&row[b]).unwrap_or(nan.0.cmp(&nan.1))
            });
            for (k, &w) in want.iter().enumerate() {
                assert_eq!(index[r * n + k] as usize, w);
                let s = sorted[r * n + k];
                assert!(s == row[w] || s.is_nan() && row[w].is_nan());
            }
        }
    }
    // complex: lexicographic, the NaN classes at the end
    let nan = f32::NAN;
    let z = [[nan, nan], [1.0, nan], [nan, 0.0], [1.0, 2.0], [1.0, -2.0], [0.0, 9.0]];
    let l = Layout::contiguous(C64, &[6]);
    let index = run_routine(RoutineOp::ArgSort, &[(f32::bytes(z.as_flattened()), l)], Layout::contiguous(I64, &[6]));
    assert_eq!(i64::read(&index), [5, 4, 3, 1, 2, 0]);
}

#[test]
fn searches() {
    let a = [1.0, 2.0, 2.0, 2.0, 5.0, f64::NAN];
    let k = [0.0, 1.0, 2.0, 3.0, 9.0, f64::NAN];
    let (la, lk, out) =
        (Layout::contiguous(F64, &[6]), Layout::contiguous(F64, &[2, 3]), Layout::contiguous(I64, &[2, 3]));
    let ins = [(f64::bytes(&a), la), (f64::bytes(&k), lk)];
    let find = |right| i64::read(&run_routine(RoutineOp::SearchSorted { right }, &ins, out.clone()));
    assert_eq!(find(false), [0, 0, 1, 4, 5, 5]);
    assert_eq!(find(true), [0, 1, 4, 4, 5, 6]);
}

/// Returns the index that stands for an index beyond an edge, in the simplest way.
fn source(mut i: i64, n: i64, edge: Edge) -> Option<i64> {
    loop {
        if (0..n).contains(&i) {
            return Some(i);
        }
        i = match edge {
            Edge::Constant => return None,
            Edge::Nearest => i.clamp(0, n - 1),
            Edge::Wrap => {
                if i < 0 {
                    i + n
                } else {
                    i - n
                }
            }
            Edge::Reflect => {
                if i < 0 {
                    -1 - i
                } else {
                    2 * n - 1 - i
                }
            }
            Edge::Mirror if n == 1 => 0,
            Edge::Mirror => {
                if i < 0 {
                    -i
                } else {
                    2 * n - 2 - i
                }
            }
        };
    }
}

const EDGES: [Edge; 5] = [Edge::Reflect, Edge::Constant, Edge::Nearest, Edge::Mirror, Edge::Wrap];

#[test]
fn correlations() {
    let cases: [(&[i64], &[i64]); 9] = [
        (&[20], &[3]),
        (&[5], &[9]),
        (&[37, 53], &[3, 5]),
        (&[33, 70], &[1, 15]),
        (&[33, 70], &[15, 1]),
        (&[3, 4], &[7, 9]),
        (&[130, 300], &[15, 15]),
        (&[6, 7, 40], &[3, 2, 4]),
        (&[2, 3, 4, 5], &[3, 1, 2, 3]),
    ];
    for (shape, taps) in cases {
        for edge in EDGES {
            for dtype in [F32, F64] {
                let origin: Vec<i64> = taps.iter().map(|t| t / 2).collect();
                check_correlation(shape, taps, &origin, shape, edge, dtype);
                // All positions at which the weights overlap the operand, and fewer than its extents.
                let last: Vec<i64> = taps.iter().map(|t| t - 1).collect();
                let longest: Vec<i64> = shape.iter().zip(&last).map(|(n, t)| n + t).collect();
                check_correlation(shape, taps, &last, &longest, edge, dtype);
                let shorter: Vec<i64> = shape.iter().map(|n| n - n / 3).collect();
                check_correlation(shape, taps, &vec![0; taps.len()], &shorter, edge, dtype);
            }
        }
    }
}

fn check_correlation(shape: &[i64], taps: &[i64], origin: &[i64], out: &[i64], edge: Edge, dtype: DType) {
    let (n, t): (i64, i64) = (shape.iter().product(), taps.iter().product());
    let (x, w) = (Noise(1).samples(n as usize), Noise(2).samples(t as usize));
    let op = RoutineOp::Correlate { edge, constant: 0.5f64.to_bits(), origin: dims(origin) };
    // The operand is always float64, so the float32 routine converts it.
    let weights = match dtype {
        F32 => f32::bytes(&w.iter().map(|&v| v as f32).collect::<Vec<_>>()),
        _ => f64::bytes(&w),
    };
    let ins = [(f64::bytes(&x), Layout::contiguous(F64, shape)), (weights, Layout::contiguous(dtype, taps))];
    let got = run_routine(op, &ins, Layout::contiguous(dtype, out));
    let got: Vec<f64> = match dtype {
        F32 => f32::read(&got).into_iter().map(f64::from).collect(),
        _ => f64::read(&got),
    };
    let bound = if dtype == F32 { 3e-5 } else { 1e-12 };
    let total: i64 = out.iter().product();
    assert_eq!(got.len() as i64, total);
    for i in (0..total).step_by((total as usize / 2000).max(1)) {
        let mut want = 0.0;
        for j in 0..t {
            let (mut ri, mut rj, mut at, mut stride) = (i, j, Some(0), 1);
            for k in (0..shape.len()).rev() {
                let s = source(ri % out[k] + rj % taps[k] - origin[k], shape[k], edge);
                at = at.zip(s).map(|(a, s)| a + s * stride);
                (ri, rj, stride) = (ri / out[k], rj / taps[k], stride * shape[k]);
            }
            want += w[j as usize] * at.map_or(0.5, |a| x[a as usize]);
        }
        assert!(
            (got[i as usize] - want).abs() < bound,
            "{shape:?} {taps:?} {origin:?} {out:?} {edge:?} {dtype:?} at {i}: {} {want}",
            got[i as usize]
        );
    }
}

#[test]
fn pads() {
    for edge in EDGES {
        let (shape, before, total) = ([3, 4], [4, 9], [10, 20]);
        let x: Vec<i32> = (0..12).collect();
        let op = RoutineOp::Pad { edge, constant: 7f64.to_bits(), before: dims(&before) };
        // column-major operand
        let ins = [(i32::bytes(&x), Layout::new(I32, &shape, &[1, 3], 0))];
        let got = i32::read(&run_routine(op, &ins, Layout::contiguous(I32, &total)));
        for i in 0..total[0] {
            for j in 0..total[1] {
                let at = source(i - before[0], 3, edge).zip(source(j - before[1], 4, edge));
                let want = at.map_or(7, |(p, q)| x[(p + 3 * q) as usize]);
                assert_eq!(got[(i * total[1] + j) as usize], want, "{edge:?} {i} {j}");
            }
        }
    }
}

#[test]
fn operands_that_do_not_fit_are_rejected() {
    let l = Layout::contiguous(F64, &[2, 3]);
    let step = routine(RoutineOp::Dot, vec![l.clone(), l.clone()], Layout::contiguous(F64, &[2, 3]));
    assert!(run(vec![step], &mut [vec![0; 48], vec![0; 48], vec![0; 48]], &[]).is_err());
}

#[test]
fn products_with_sparse_matrices() {
    for (rows, columns, width, most) in [(7i64, 5i64, 1i64, 4u64), (4, 9, 3, 3), (3000, 40, 45, 30), (40, 3, 1, 900)] {
        let mut noise = Noise(11);
        let (mut starts, mut indices) = (vec![0i32], Vec::new());
        for _ in 0..rows {
            let count = (noise.next().abs() * most as f64) as usize;
            indices.extend((0..count).map(|_| (noise.next().abs() * columns as f64) as i32));
            starts.push(indices.len() as i32);
        }
        starts.resize(sparse_starts(rows) as usize, -1);
        let pattern = [starts.clone(), indices.clone()].concat();
        let values = noise.samples(indices.len());
        let l = |n: usize| Layout::contiguous(F64, &[n as i64]);
        let lp = Layout::contiguous(I32, &[pattern.len() as i64]);
        for transposed in [false, true] {
            let (high, low) = if transposed { (rows, columns) } else { (columns, rows) };
            let dense = noise.samples((high * width) as usize);
            let ins = [
                (f64::bytes(&values), l(values.len())),
                (i32::bytes(&pattern), lp.clone()),
                (f64::bytes(&dense), Layout::contiguous(F64, &[high, width])),
            ];
            let out = Layout::contiguous(F64, &[low, width]);
            let got = f64::read(&run_routine(RoutineOp::SparseDot { transposed }, &ins, out));
            let mut want = vec![0.0; (low * width) as usize];
            for r in 0..rows as usize {
                for j in starts[r] as usize..starts[r + 1] as usize {
                    let c = indices[j] as usize;
                    let (from, to) = if transposed { (r, c) } else { (c, r) };
                    for k in 0..width as usize {
                        want[to * width as usize + k] += values[j] * dense[from * width as usize + k];
                    }
                }
            }
            let worst = got.iter().zip(&want).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(worst < 1e-10, "{rows} x {columns}, {width} columns, transposed {transposed}: {worst}");
        }
    }
}

/// Returns outputs, then the last h and c, of single steps.
fn by_steps(of: &Steps, x: &[f64], w: &[f64], first: &[f64]) -> Vec<f64> {
    let (steps, batch, n) = (of.steps as usize, of.batch as usize, of.hidden as usize);
    let (mut h, mut c) = (first[..batch * n].to_vec(), first[batch * n..].to_vec());
    let mut out = vec![0.0; steps * batch * n];
    for turn in 0..steps {
        let t = if of.reverse { steps - 1 - turn } else { turn };
        let before = h.clone();
        for b in 0..batch {
            for k in 0..n {
                let gate = |g: usize| {
                    let row = g * n + k;
                    let sum: f64 = (0..n).map(|j| w[row * n + j] * before[b * n + j]).sum();
                    x[(t * batch + b) * 4 * n + row] + sum
                };
                let logistic = |v: f64| 1.0 / (1.0 + (-v).exp());
                let at = b * n + k;
                c[at] = logistic(gate(1)) * c[at] + logistic(gate(0)) * gate(2).tanh();
                h[at] = logistic(gate(3)) * c[at].tanh();
                out[t * batch * n + at] = h[at];
            }
        }
    }
    [out, h, c].concat()
}

#[test]
fn lstm_steps_and_their_backward_pass() {
    for (steps, batch, hidden, reverse) in [(3, 2, 5, false), (4, 17, 3, true), (1, 1, 1, false), (2, 9, 50, true)] {
        for training in [false, true] {
            let of = Steps { steps, batch, hidden, reverse, training, dtype: F64 };
            let [all, one] = of.sizes().map(|n| n as usize);
            let (gates, square) = (4 * all, (4 * hidden * hidden) as usize);
            let x = Noise(1).samples(gates);
            let w: Vec<f64> = Noise(2).samples(square).iter().map(|v| v / hidden as f64).collect();
            let first = Noise(3).samples(2 * one);
            let flat = |v: &[f64]| (f64::bytes(v), Layout::contiguous(F64, &[v.len() as i64]));
            let end = of.results()[4];
            let op = RoutineOp::Steps(of.clone().into());
            let done =
                f64::read(&run_routine(op, &[flat(&x), flat(&w), flat(&first)], Layout::contiguous(F64, &[end])));
            let want = by_steps(&of, &x, &w, &first);
            let near = |a: &[f64], b: &[f64], by: f64| a.iter().zip(b).all(|(a, b)| (a - b).abs() < by);
            assert!(near(&done[..want.len()], &want, 1e-12), "{of:?}");
            if !training {
                continue;
            }
            // The gradients of a weighted sum of all outputs, the last h and the last c.
            let g = Noise(4).samples(all + 2 * one);
            let gradient = [&g[..], &first[one..]].concat();
            let op = RoutineOp::StepsBackward(of.clone().into());
            let ins = [flat(&w), flat(&done), flat(&gradient)];
            let back = f64::read(&run_routine(op, &ins, Layout::contiguous(F64, &[(gates + 2 * one) as i64])));
            let loss = |x: &[f64], first: &[f64]| -> f64 {
                by_steps(&of, x, &w, first).iter().zip(&g).map(|(v, g)| v * g).sum()
            };
            for k in (0..gates + 2 * one).step_by(1 + gates / 40) {
                let mut sides = [1e-5, -1e-5].into_iter().map(|by| {
                    let (mut x, mut first) = (x.clone(), first.clone());
                    if k < gates {
                        x[k] += by
                    } else {
                        first[k - gates] += by
                    }
                    loss(&x, &first)
                });
                let slope = (sides.next().unwrap() - sides.next().unwrap()) / 2e-5;
                assert!((back[k] - slope).abs() < 1e-8, "{of:?}, {k}: {} {slope}", back[k]);
            }
        }
    }
}

#[test]
fn attention_of_separate_operands() {
    let sizes =
        [(1, 2, 1, 40, 16, 16), (2, 3, 7, 9, 5, 3), (1, 2, 2, 5, 20, 33), (1, 1, 130, 130, 64, 80), (2, 1, 5, 1, 0, 2)];
    for ((batch, heads, rows, keys, width, depth), causal) in sizes.iter().flat_map(|&s| [(s, false), (s, true)]) {
        let [n, h] = [batch as usize, heads as usize];
        // Heads lie next to each other in the rows of queries and keys; the features of values are strided.
        let by_rows = |n: i64, f: i64| Layout::new(F64, &[batch, heads, n, f], &[n * heads * f, f, heads * f, 1], 0);
        let (lq, lk) = (by_rows(rows, width), by_rows(keys, width));
        let lv = Layout::new(F64, &[batch, heads, keys, depth], &[heads * keys * depth, keys * depth, 1, keys], 0);
        let (q, k, v) = (
            Noise(1).samples((batch * heads * rows * width) as usize),
            Noise(2).samples((batch * heads * keys * width) as usize),
            Noise(3).samples((batch * heads * keys * depth) as usize),
        );
        let op = RoutineOp::AttendRows(RowAttention {
            heads: batch * heads,
            queries: rows,
            keys,
            features: width.max(depth),
            causal,
            scale: 2f64.to_bits(),
            dtype: F64,
        });
        let ins = [(f64::bytes(&q), lq), (f64::bytes(&k), lk), (f64::bytes(&v), lv)];
        let got = f64::read(&run_routine(op, &ins, Layout::contiguous(F64, &[batch, rows, heads, depth])));
        let [rows, keys, width, depth] = [rows, keys, width, depth].map(|n| n as usize);
        for (at, &value) in got.iter().enumerate() {
            let (d, head, i, b) = (at % depth, at / depth % h, at / depth / h % rows, at / depth / h / rows);
            assert!(b < n);
            let seen = if causal { keys.min(i + 1) } else { keys };
            let score = |j: usize| {
                let element =
                    |x: &[f64], row: usize, rows: usize, f: usize| x[((b * rows + row) * h + head) * width + f];
                (0..width).map(|f| element(&q, i, rows, f) * element(&k, j, keys, f)).sum::<f64>() * 2.0
            };
            let powers: Vec<f64> = (0..seen).map(|j| score(j).exp()).collect();
            let mean = |j: usize| powers[j] * v[((b * h + head) * depth + d) * keys + j];
            let want = (0..seen).map(mean).sum::<f64>() / powers.iter().sum::<f64>();
            assert!(
                (value - want).abs() < 1e-11,
                "{rows} × {keys}, {width}, {depth}, causal {causal}: {value}, {want}"
            );
        }
    }
}
