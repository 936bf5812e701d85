//! Compares normalization with plain loops.

mod common;
use common::*;
use cuprous_core::routine::{ChannelNorm, RowNorm};
use cuprous_core::{DType::*, Layout, LayoutRef, RoutineOp};

/// Returns the normalized row and its reciprocal standard deviation.
fn normalized(x: &[f64], eps: f64) -> (Vec<f64>, f64) {
    let n = x.len() as f64;
    let mean = x.iter().sum::<f64>() / n;
    let scale = 1.0 / (x.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / n + eps).sqrt();
    (x.iter().map(|v| (v - mean) * scale).collect(), scale)
}

fn assert_close(got: &[f64], want: &[f64], case: &str) {
    assert_eq!(got.len(), want.len(), "{case}");
    for (k, (got, want)) in got.iter().zip(want).enumerate() {
        assert!((got - want).abs() < 1e-11 * (1.0 + want.abs()), "{case}, element {k}: {got}, not {want}");
    }
}

fn noise(seed: u64, of: &LayoutRef) -> Vec<f64> {
    Noise(seed).samples(of.size as usize)
}

/// Shapes with rows of every kind of length, fewer and more than there are in a task.
const SHAPES: [([i64; 3], usize); 8] = [
    ([2, 3, 7], 2),
    ([4, 5, 16], 1),
    ([1, 1, 40], 2),
    ([3, 1, 1], 2),
    ([70, 5, 75], 2),
    ([130, 9, 64], 2),
    ([9, 8, 3000], 1),
    ([1, 2, 33_000], 2),
];

#[test]
fn rows() {
    for (shape, first) in SHAPES {
        let all = Layout::contiguous(F64, &shape);
        let row = Layout::contiguous(F64, &shape[first..]);
        let width = row.size as usize;
        let (x, weight, bias) = (noise(4, &all), noise(5, &row), noise(6, &row));
        let op = RoutineOp::Normalize(RowNorm { first: first as u8, eps: 0.5f64.to_bits(), dtype: F64 });
        let ins = [(f64::bytes(&x), all.clone()), (f64::bytes(&weight), row.clone()), (f64::bytes(&bias), row)];
        let got = f64::read(&run_routine(op, &ins, all));
        for (x, got) in x.chunks(width).zip(got.chunks(width)) {
            let (normal, _) = normalized(x, 0.5);
            let want: Vec<f64> = (0..width).map(|k| normal[k] * weight[k] + bias[k]).collect();
            assert_close(got, &want, &format!("{shape:?} from axis {first}"));
        }
    }
}

#[test]
fn gradients_of_rows() {
    for (shape, first) in SHAPES {
        let all = Layout::contiguous(F64, &shape);
        let row = Layout::contiguous(F64, &shape[first..]);
        let width = row.size as usize;
        let (g, x, weight) = (noise(7, &all), noise(4, &all), noise(5, &row));
        let op = RoutineOp::NormalizeBackward(RowNorm { first: first as u8, eps: 0.5f64.to_bits(), dtype: F64 });
        let ins = [(f64::bytes(&g), all.clone()), (f64::bytes(&x), all.clone()), (f64::bytes(&weight), row)];
        let got = f64::read(&run_routine(op, &ins, Layout::contiguous(F64, &[all.size + 2 * width as i64])));
        let (mut dx, mut scales, mut shifts) = (Vec::new(), vec![0.0; width], vec![0.0; width]);
        for (x, g) in x.chunks(width).zip(g.chunks(width)) {
            let (normal, scale) = normalized(x, 0.5);
            let weighted: Vec<f64> = (0..width).map(|k| g[k] * weight[k]).collect();
            let average = weighted.iter().sum::<f64>() / width as f64;
            let slope = (0..width).map(|k| weighted[k] * normal[k]).sum::<f64>() / width as f64;
            dx.extend((0..width).map(|k| scale * (weighted[k] - average - normal[k] * slope)));
            for k in 0..width {
                scales[k] += g[k] * normal[k];
                shifts[k] += g[k];
            }
        }
        let want = [dx, scales, shifts].concat();
        assert_close(&got, &want, &format!("{shape:?} from axis {first}"));
    }
}

#[test]
fn channels() {
    for shape in [[3, 2, 7], [1, 5, 64], [40, 3, 900], [2, 130, 300], [5, 4, 1], [150, 75, 1]] {
        let all = Layout::contiguous(F64, &shape);
        let [batch, channels, area] = shape.map(|n| n as usize);
        let of_channels = Layout::contiguous(F64, &[channels as i64]);
        let (g, x, weight) = (noise(7, &all), noise(4, &all), noise(5, &of_channels));
        let channel = |of: &[f64], c: usize| -> Vec<f64> {
            (0..batch).flat_map(|b| of[(b * channels + c) * area..][..area].to_vec()).collect()
        };
        let norm = ChannelNorm { eps: 0.5f64.to_bits(), dtype: F64 };
        let known = Layout::contiguous(F64, &[4, channels as i64]);

        let mut want = vec![0.0; 4 * channels];
        for c in 0..channels {
            let x = channel(&x, c);
            let mean = x.iter().sum::<f64>() / x.len() as f64;
            let variance = x.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / x.len() as f64;
            let scale = 1.0 / (variance + 0.5).sqrt();
            for (k, v) in [mean, variance, scale, scale * weight[c]].into_iter().enumerate() {
                want[k * channels + c] = v;
            }
        }
        let ins = [(f64::bytes(&x), all.clone()), (f64::bytes(&weight), of_channels)];
        let statistics = f64::read(&run_routine(RoutineOp::ChannelStatistics(norm), &ins, known.clone()));
        assert_close(&statistics, &want, &format!("statistics of {shape:?}"));
        let plain = f64::read(&run_routine(RoutineOp::ChannelStatistics(norm), &ins[..1], known.clone()));
        assert_eq!(plain[3 * channels..], plain[2 * channels..3 * channels], "no weight, {shape:?}");

        let ins = [(f64::bytes(&g), all.clone()), (f64::bytes(&x), all.clone()), (f64::bytes(&statistics), known)];
        let out = Layout::contiguous(F64, &[all.size + 2 * channels as i64]);
        let got = f64::read(&run_routine(RoutineOp::ChannelBackward(norm), &ins, out));
        let mut want = vec![0.0; got.len()];
        for c in 0..channels {
            let (normal, scale) = normalized(&channel(&x, c), 0.5);
            let g = channel(&g, c);
            let n = g.len() as f64;
            let shift = g.iter().sum::<f64>();
            let slope = g.iter().zip(&normal).map(|(g, v)| g * v).sum::<f64>();
            for k in 0..g.len() {
                let at = (k / area * channels + c) * area + k % area;
                want[at] = (g[k] - shift / n - normal[k] * slope / n) * scale * weight[c];
            }
            want[x.len() + c] = slope;
            want[x.len() + channels + c] = shift;
        }
        assert_close(&got, &want, &format!("gradients of {shape:?}"));
    }
}
