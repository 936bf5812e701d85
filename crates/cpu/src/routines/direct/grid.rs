//! How direct convolutions lay out their operands.
//!
//! An input channel, with its padding, is divided into *phases*: the elements at the same position modulo the strides.
//! The phases have the same extents, so a flat index names one element in each. With the output laid out in the same
//! extents, the element of the input that a kernel element reads for an output lies at a fixed distance from the output's
//! flat index, whatever the rank, strides and dilations are. So a convolution is a sum of shifted lines.
//!
//! Between the rows of outputs lie positions that are not outputs. What is computed there is not used; where they are read
//! they hold zeros.

use cuprous_core::convolution::Geometry;

/// An element of the kernel: the phase that it reads, and how far its input lies behind the output's flat index.
#[derive(Clone, Copy)]
pub(super) struct Tap {
    pub(super) phase: usize,
    pub(super) shift: usize,
}

/// Neighboring elements: `n` from flat index `at` of a phase on, and in the plane every `stride` elements from `plane` on.
#[derive(Clone, Copy)]
pub(super) struct Line {
    pub(super) at: usize,
    pub(super) plane: usize,
    pub(super) n: usize,
}

pub(super) struct Grid {
    /// Elements of a phase.
    pub(super) phase: usize,
    /// One more than the flat index of the last output.
    pub(super) span: usize,
    /// The largest shift.
    pub(super) reach: usize,
    /// In the order of the kernel's elements.
    pub(super) taps: Vec<Tap>,
    /// The lines of each phase that lie in the input.
    pub(super) phases: Vec<Vec<Line>>,
    /// The lines of the output.
    pub(super) outputs: Vec<Line>,
    /// Distance of a line's elements in the input's plane.
    pub(super) stride: usize,
}

/// Calls `each` with all indices of a shape, the last axis fastest.
fn for_each_index(shape: &[i64], mut each: impl FnMut(&[i64])) {
    let mut index = vec![0; shape.len()];
    for _ in 0..shape.iter().product::<i64>() {
        each(&index);
        for k in (0..shape.len()).rev() {
            index[k] += 1;
            if index[k] < shape[k] {
                break;
            }
            index[k] = 0;
        }
    }
}

fn flat(index: &[i64], pitch: &[i64]) -> i64 {
    index.iter().zip(pitch).map(|(i, p)| i * p).sum()
}

/// Returns the distances between neighbors of a contiguous array along each axis.
fn pitches(shape: &[i64]) -> Vec<i64> {
    let mut pitch = vec![1; shape.len()];
    for k in (1..shape.len()).rev() {
        pitch[k - 1] = pitch[k] * shape[k];
    }
    pitch
}

impl Grid {
    pub(super) fn new(g: &Geometry) -> Grid {
        let rank = g.kernel.len();
        let last = rank - 1;
        let extents: Vec<i64> =
            (0..rank).map(|k| g.output[k] + (g.kernel[k] - 1) * g.dilation[k] / g.stride[k]).collect();
        let (pitch, input_pitch) = (pitches(&extents), pitches(&g.input));
        // The phases along each axis that kernel elements read.
        let along: Vec<Vec<i64>> = (0..rank)
            .map(|k| {
                let mut phases: Vec<i64> = (0..g.kernel[k]).map(|e| e * g.dilation[k] % g.stride[k]).collect();
                phases.sort_unstable();
                phases.dedup();
                phases
            })
            .collect();
        let counts: Vec<i64> = along.iter().map(|phases| phases.len() as i64).collect();
        let count_pitch = pitches(&counts);

        let mut taps = Vec::new();
        for_each_index(&g.kernel, |element| {
            let at: Vec<i64> = (0..rank).map(|k| element[k] * g.dilation[k]).collect();
            let phase = (0..rank).map(|k| {
                along[k].binary_search(&(at[k] % g.stride[k])).expect("each is listed") as i64 * count_pitch[k]
            });
            let shift = (0..rank).map(|k| at[k] / g.stride[k] * pitch[k]);
            taps.push(Tap { phase: phase.sum::<i64>() as usize, shift: shift.sum::<i64>() as usize });
        });

        let mut phases = Vec::new();
        for_each_index(&counts, |number| {
            let phase: Vec<i64> = (0..rank).map(|k| along[k][number[k] as usize] - g.before[k]).collect();
            let mut lines = Vec::new();
            // Elements of a line lie at `stride * i + phase` in the input.
            let (stride, first) = (g.stride[last], phase[last]);
            let up = |at: i64| if at > 0 { (at - 1) / stride + 1 } else { 0 };
            let (from, to) = (up(-first), up(g.input[last] - first).min(extents[last]));
            for_each_index(&extents[..last], |row| {
                let at: Vec<i64> = (0..last).map(|k| row[k] * g.stride[k] + phase[k]).collect();
                if from < to && (0..last).all(|k| (0..g.input[k]).contains(&at[k])) {
                    lines.push(Line {
                        at: (flat(row, &pitch) + from) as usize,
                        plane: (flat(&at, &input_pitch) + from * stride + first) as usize,
                        n: (to - from) as usize,
                    });
                }
            });
            phases.push(lines);
        });

        let (mut outputs, width) = (Vec::new(), g.output[last] as usize);
        for_each_index(&g.output[..last], |row| {
            outputs.push(Line { at: flat(row, &pitch) as usize, plane: outputs.len() * width, n: width });
        });
        Grid {
            phase: extents.iter().product::<i64>() as usize,
            span: outputs.last().map_or(0, |line| line.at + line.n),
            reach: taps.iter().map(|tap| tap.shift).max().unwrap_or(0),
            taps,
            phases,
            outputs,
            stride: g.stride[last] as usize,
        }
    }
}
