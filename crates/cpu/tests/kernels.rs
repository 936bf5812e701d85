//! Compares fused kernels with plain loops.

mod common;
use common::*;
use cuprous_core::{DType::*, Fun, ReduceOp, ScatterOp};

/// Runs a kernel with float64 inputs and an output of `out` elements in the last buffer.
fn run_f64(b: KernelBuilder, inputs: &[&[f64]], out: usize, scalars: &[f64]) -> Vec<f64> {
    let mut data: Vec<Vec<u8>> = inputs.iter().map(|i| f64::bytes(i)).collect();
    data.push(vec![0xee; out * 8]);
    let scalars: Vec<_> = scalars.iter().map(|&s| scalar(s, F64)).collect();
    run(vec![b.step()], &mut data, &scalars).unwrap();
    f64::read(data.last().unwrap())
}

const SIZES: [usize; 12] = [1, 2, 7, 127, 128, 129, 1000, 4096, 4097, 10_001, 70_000, 300_000];

#[test]
fn chain_of_maps() {
    for n in SIZES {
        let (x, y) = (Noise(1).samples(n), Noise(2).samples(n));
        let mut b = KernelBuilder::new(&[n as i64], &[]);
        let (p, q, s) = (b.load(0, F64, &[1]), b.load(1, F64, &[1]), b.scalar(0, F64));
        let t = b.map(Fun::Multiply, F64, &[p, q]);
        let t = b.map(Fun::Add, F64, &[t, s]);
        let u = b.map(Fun::Maximum, F64, &[t, p]);
        let t = b.map(Fun::Subtract, F64, &[u, t]);
        b.store(2, F64, &[1], t);
        let got = run_f64(b, &[&x, &y], n, &[0.25]);
        for i in 0..n {
            let t = x[i] * y[i] + 0.25;
            assert_eq!(got[i], t.max(x[i]) - t, "{i} of {n}");
        }
    }
}

#[test]
fn strided_reversed_broadcast_and_scalar_operands() {
    let (n, m) = (37, 211);
    let (x, y, z) = (Noise(1).samples(2 * n * m), Noise(2).samples(m), Noise(3).samples(n * m));
    let mut b = KernelBuilder::new(&[n as i64, m as i64], &[]);
    let p = b.load_at(0, F64, &[2 * m as i64, -2], 2 * m as i64 - 2);
    let q = b.load(1, F64, &[0, 1]);
    let r = b.load(2, F64, &[1, n as i64]);
    let one = b.load_at(1, F64, &[0, 0], 3);
    let t = b.map(Fun::Add, F64, &[p, q]);
    let t = b.map(Fun::Subtract, F64, &[t, r]);
    let t = b.map(Fun::Multiply, F64, &[t, one]);
    // stored transposed
    b.store(3, F64, &[1, n as i64], t);
    let got = run_f64(b, &[&x, &y, &z], n * m, &[]);
    for i in 0..n {
        for j in 0..m {
            let want = (x[i * 2 * m + 2 * m - 2 - 2 * j] + y[j] - z[i + j * n]) * y[3];
            assert_eq!(got[i + j * n], want, "{i} {j}");
        }
    }
}

#[test]
fn in_place_and_two_outputs() {
    let n = 5000;
    let x = Noise(1).samples(n);
    let mut b = KernelBuilder::new(&[n as i64], &[]);
    let p = b.load(0, F64, &[1]);
    let t = b.map(Fun::Add, F64, &[p, p]);
    b.store(0, F64, &[1], t);
    // reads the old value after the store
    let u = b.map(Fun::Negative, F64, &[p]);
    b.store(1, F64, &[1], u);
    let mut data = vec![f64::bytes(&x), vec![0; n * 8]];
    run(vec![b.step()], &mut data, &[]).unwrap();
    let (a, c) = (f64::read(&data[0]), f64::read(&data[1]));
    for i in 0..n {
        assert_eq!((a[i], c[i]), (2.0 * x[i], -x[i]));
    }
}

#[test]
fn only_constants_and_indices() {
    let n = 3000;
    let mut b = KernelBuilder::new(&[n], &[]);
    let s = b.scalar(0, F64);
    let t = b.map(Fun::Square, F64, &[s]);
    b.store(0, F64, &[1], t);
    let i = b.iota(&[-2], 10);
    b.store(1, I64, &[1], i);
    let mut data = vec![vec![0; n as usize * 8], vec![0; n as usize * 8]];
    run(vec![b.step()], &mut data, &[scalar(3.0, F64)]).unwrap();
    assert!(f64::read(&data[0]).iter().all(|&v| v == 9.0));
    assert!(i64::read(&data[1]).iter().enumerate().all(|(k, &v)| v == 10 - 2 * k as i64));
}

/// Sums over the last, first, middle and all axes, of short and long extents.
#[test]
fn reductions_over_every_axis_pattern() {
    for shape in [[3, 5, 7], [1, 1, 20_000], [40, 3, 300], [2, 9000, 3], [5000, 2, 3], [2, 3, 5000], [1, 300_000, 1]] {
        let [a, b, c] = shape;
        let x = Noise(7).samples(a * b * c);
        let strides = [(b * c) as i64, c as i64, 1];
        for mask in 1..8usize {
            let pick = |on: bool| -> (Vec<i64>, Vec<i64>) {
                (0..3).filter(|k| (mask >> k & 1 == 1) == on).map(|k| (shape[k] as i64, strides[k])).unzip()
            };
            let ((outer, so), (inner, si)) = (pick(false), pick(true));
            let rows: usize = outer.iter().product::<i64>() as usize;
            for op in [ReduceOp::Sum, ReduceOp::Max, ReduceOp::ArgMin, ReduceOp::M2] {
                let mut k = KernelBuilder::new(&outer, &inner);
                let p = k.load(0, F64, &[so.clone(), si.clone()].concat());
                let out = if op == ReduceOp::ArgMin { I64 } else { F64 };
                let r = k.reduce(op, out, p);
                k.row();
                let o = cuprous_core::layout::contiguous_strides(&outer);
                k.store(1, out, &o, r);
                let mut data = vec![f64::bytes(&x), vec![0; rows * 8]];
                run(vec![k.step()], &mut data, &[]).unwrap();
                let got = f64::read(&data[1]);
                // naive
                let mut groups = vec![Vec::new(); rows];
                for i in 0..a {
                    for j in 0..b {
                        for l in 0..c {
                            let at = [i, j, l];
                            let row = (0..3).filter(|k| mask >> k & 1 == 0).fold(0, |r, k| r * shape[k] + at[k]);
                            groups[row].push(x[i * b * c + j * c + l]);
                        }
                    }
                }
                for (r, g) in groups.iter().enumerate() {
                    let n = g.len() as f64;
                    let what = format!("{op:?} {shape:?} mask {mask:b} row {r}");
                    match op {
                        ReduceOp::Sum => assert!((got[r] - g.iter().sum::<f64>()).abs() < 1e-10, "{what}"),
                        ReduceOp::Max => assert_eq!(got[r], g.iter().copied().fold(f64::MIN, f64::max), "{what}"),
                        ReduceOp::ArgMin => {
                            let want = (0..g.len()).min_by(|&p, &q| g[p].total_cmp(&g[q])).unwrap();
                            assert_eq!(got[r].to_bits() as usize, want, "{what}");
                        }
                        _ => {
                            let mean = g.iter().sum::<f64>() / n;
                            let m2 = g.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>();
                            assert!((got[r] - m2).abs() <= 1e-12 * m2.max(1e-3), "{what}: {} {m2}", got[r]);
                        }
                    }
                }
            }
        }
    }
}

/// exp(x - max)/sum along rows and along columns.
#[test]
fn softmax() {
    for (rows, n) in [(1, 1), (7, 10), (300, 33), (40, 1000), (3, 20_000), (1, 200_000), (2000, 3)] {
        for transposed in [false, true] {
            let x = Noise(3).samples(rows * n);
            let strides = if transposed { [1, rows as i64] } else { [n as i64, 1] };
            let mut b = KernelBuilder::new(&[rows as i64], &[n as i64]);
            let p = b.load(0, F64, &strides);
            let top = b.reduce(ReduceOp::Max, F64, p);
            let d = b.map(Fun::Subtract, F64, &[p, top]);
            let e = b.map(Fun::Exp, F64, &[d]);
            let s = b.reduce(ReduceOp::Sum, F64, e);
            b.row();
            let inv = b.map(Fun::Reciprocal, F64, &[s]);
            b.store(2, F64, &[1], inv);
            b.full();
            let y = b.map(Fun::Multiply, F64, &[e, inv]);
            b.store(1, F64, &strides, y);
            let mut data = vec![f64::bytes(&x), vec![0; rows * n * 8], vec![0; rows * 8]];
            run(vec![b.step()], &mut data, &[]).unwrap();
            let (y, inv) = (f64::read(&data[1]), f64::read(&data[2]));
            for (r, &inv) in inv.iter().enumerate() {
                let at = |j: usize| (r as i64 * strides[0] + j as i64 * strides[1]) as usize;
                let top = (0..n).map(|j| x[at(j)]).fold(f64::MIN, f64::max);
                let sum: f64 = (0..n).map(|j| (x[at(j)] - top).exp()).sum();
                assert!((inv * sum - 1.0).abs() < 1e-12, "{rows} {n} {transposed} row {r}");
                for j in 0..n {
                    let want = (x[at(j)] - top).exp() / sum;
                    assert!((y[at(j)] / want - 1.0).abs() < 1e-12, "{rows} {n} {transposed} {r} {j}");
                }
            }
        }
    }
}

/// x -= mean(x), in place, on long rows: later passes must read the original values.
#[test]
fn centring_in_place() {
    for (rows, n) in [(3, 50_000), (50, 100), (4, 5000)] {
        let x = Noise(5).samples(rows * n);
        let mut b = KernelBuilder::new(&[rows as i64], &[n as i64]);
        let p = b.load(0, F64, &[n as i64, 1]);
        let s = b.reduce(ReduceOp::Sum, F64, p);
        let k = b.scalar(0, F64);
        b.row();
        let mean = b.map(Fun::Multiply, F64, &[s, k]);
        b.full();
        let y = b.map(Fun::Subtract, F64, &[p, mean]);
        b.store(0, F64, &[n as i64, 1], y);
        let mut data = vec![f64::bytes(&x)];
        run(vec![b.step()], &mut data, &[scalar(1.0 / n as f64, F64)]).unwrap();
        let y = f64::read(&data[0]);
        for r in 0..rows {
            let mean = x[r * n..][..n].iter().sum::<f64>() / n as f64;
            for j in 0..n {
                assert!((y[r * n + j] - (x[r * n + j] - mean)).abs() < 1e-12);
            }
        }
    }
}

#[test]
fn empty_reductions_and_reduced_constants() {
    let mut b = KernelBuilder::new(&[5], &[0]);
    let p = b.load(0, F64, &[0, 1]);
    let s = b.reduce(ReduceOp::Sum, F64, p);
    b.row();
    b.store(1, F64, &[1], s);
    assert_eq!(run_f64(b, &[&[]], 5, &[]), [0.0; 5]);
    for n in [6, 9000] {
        let mut b = KernelBuilder::new(&[5], &[n]);
        let p = b.scalar(0, F64);
        let s = b.reduce(ReduceOp::Sum, F64, p);
        b.row();
        b.store(0, F64, &[1], s);
        assert_eq!(run_f64(b, &[], 5, &[2.0]), [2.0 * n as f64; 5]);
    }
}

#[test]
fn nan_rules_of_reductions() {
    for n in [5, 100, 9000] {
        let mut x = Noise(4).samples(n);
        x[3] = f64::NAN;
        x[n - 1] = f64::NAN;
        let mut b = KernelBuilder::new(&[], &[n as i64]);
        let p = b.load(0, F64, &[1]);
        let (m, a) = (b.reduce(ReduceOp::Max, F64, p), b.reduce(ReduceOp::ArgMax, I64, p));
        b.row();
        b.store(1, F64, &[], m);
        b.store(2, I64, &[], a);
        let mut data = vec![f64::bytes(&x), vec![0; 8], vec![0; 8]];
        run(vec![b.step()], &mut data, &[]).unwrap();
        assert!(f64::read(&data[1])[0].is_nan());
        assert_eq!(i64::read(&data[2])[0], 3);
    }
}

#[test]
fn integer_sums_wrap_and_small_floats_accumulate_in_float32() {
    let mut b = KernelBuilder::new(&[], &[300]);
    let p = b.load(0, U8, &[1]);
    let s = b.reduce(ReduceOp::Sum, U8, p);
    b.row();
    b.store(1, U8, &[], s);
    let mut data = vec![vec![7; 300], vec![0]];
    run(vec![b.step()], &mut data, &[]).unwrap();
    assert_eq!(data[1][0], (300 * 7 % 256) as u8);

    // The sum of 4096 times 1.5 in float16: an accumulator in float16 would stop at 2048.
    let mut b = KernelBuilder::new(&[], &[4096]);
    let p = b.load(0, F16, &[1]);
    let s = b.reduce(ReduceOp::Sum, F16, p);
    b.row();
    b.store(1, F16, &[], s);
    let mut data = vec![u16::bytes(&[0x3c00; 4096]), vec![0; 2]];
    run(vec![b.step()], &mut data, &[]).unwrap();
    assert_eq!(u16::read(&data[1]), [0x6c00]);
}

#[test]
fn long_sums_are_accurate() {
    // 0.1 in float32: a simple running sum would be wrong in the third digit.
    for (outer, inner, strides) in [(1, 10_000_000, [0, 1]), (2, 3_000_000, [1, 2])] {
        let x = vec![0.1f32; (outer * inner) as usize];
        let mut b = KernelBuilder::new(&[outer], &[inner]);
        let p = b.load(0, F32, &strides);
        let s = b.reduce(ReduceOp::Sum, F32, p);
        b.row();
        b.store(1, F32, &[1], s);
        let mut data = vec![f32::bytes(&x), vec![0; 4 * outer as usize]];
        run(vec![b.step()], &mut data, &[]).unwrap();
        let want = 0.1f32 as f64 * inner as f64;
        let got = f32::read(&data[1])[0] as f64;
        assert!((got / want - 1.0).abs() < 8e-7, "{got} {want}");
    }
}

#[test]
fn gathers_wrap_and_scatters_combine() {
    let n = 3000;
    let index: Vec<i64> = (0..n).map(|i| (i * 7919) % 20 - 10).collect();
    let x: Vec<f64> = (0..10).map(f64::from).collect();
    let mut b = KernelBuilder::new(&[n], &[]);
    let i = b.load(0, I64, &[1]);
    let g = b.gather(1, F64, 10, i);
    b.store(2, F64, &[1], g);
    let mut data = vec![i64::bytes(&index), f64::bytes(&x), vec![0; 8 * n as usize]];
    run(vec![b.step()], &mut data, &[]).unwrap();
    let got = f64::read(&data[2]);
    assert!((0..n as usize).all(|k| got[k] == index[k].rem_euclid(10) as f64));

    for op in ScatterOp::ALL {
        let mut b = KernelBuilder::new(&[n], &[]);
        let i = b.load(0, I64, &[1]);
        let v = b.iota(&[1], 0);
        b.scatter(1, I64, 10, i, v, op);
        let start = vec![3i64; 10];
        let mut data = vec![i64::bytes(&index), i64::bytes(&start)];
        run(vec![b.step()], &mut data, &[]).unwrap();
        let mut want = start.clone();
        for (k, &at) in index.iter().enumerate() {
            let w = &mut want[at.rem_euclid(10) as usize];
            *w = match op {
                ScatterOp::Set => k as i64,
                ScatterOp::Add => *w + k as i64,
                ScatterOp::Multiply => w.wrapping_mul(k as i64),
                ScatterOp::Maximum => (*w).max(k as i64),
                ScatterOp::Minimum => (*w).min(k as i64),
            };
        }
        assert_eq!(i64::read(&data[1]), want, "{op:?}");
    }
}

#[test]
fn broken_kernels_are_refused() {
    let mut b = KernelBuilder::new(&[4], &[]);
    let p = b.load(0, F64, &[1]);
    let q = b.map(Fun::LogicalAnd, F64, &[p, p]);
    b.store(1, F64, &[1], q);
    assert!(run(vec![b.step()], &mut [vec![0; 32], vec![0; 32]], &[]).is_err());
    let mut b = KernelBuilder::new(&[4], &[]);
    let p = b.load(0, F64, &[1, 1]);
    b.store(1, F64, &[1], p);
    assert!(run(vec![b.step()], &mut [vec![0; 32], vec![0; 32]], &[]).is_err());
    let mut b = KernelBuilder::new(&[4], &[]);
    let p = b.scalar(3, F64);
    b.store(0, F64, &[1], p);
    assert!(run(vec![b.step()], &mut [vec![0; 32]], &[]).is_err());
}
