//! Fourier transforms by cuFFT, and by our own kernels along axes that are not the last.

use std::fmt;
use std::sync::{Arc, OnceLock};

use cuprous_core::routine::{FFT_RANK, FftKind, FftScale};
use cuprous_core::{DType, Layout, LayoutRef, RoutineOp};
use cuprous_plan::RoutineCall;

use super::{Planned, Routine, Run};
use crate::codegen::{Arch, Arg, Builder, Options, Source, fft};
use crate::cufft::{self, Batch, Plan};
use crate::driver::{DevPtr, Stream, library_name};
use crate::error::Result;
use crate::gpu::Gpu;

/// Lines along an inner axis are transformed by one call for each index before that axis, if there are at most
/// `MAX_CALLS` such indices or each call has at least `MIN_CALL_ELEMENTS` elements. Otherwise the lines are packed
/// first.
const MAX_CALLS: i64 = 4;
const MIN_CALL_ELEMENTS: i64 = 1 << 20;

/// Calls of one plan at equal distances in memory.
struct Transform {
    batch: Batch,
    /// Where the first call reads and writes; offsets in bytes.
    from: (Arg, i64),
    to: (Arg, i64),
    calls: i64,
    /// Bytes from one call to the next.
    advance: [i64; 2],
    /// Kept alive as long as graphs may run its kernels.
    plan: OnceLock<Arc<Plan>>,
}

fn address((place, offset): (Arg, i64), run: Run) -> DevPtr {
    run.address(place).offset(offset)
}

impl Transform {
    fn plan(&self, gpu: &Gpu) -> Result<&Plan> {
        if let Some(plan) = self.plan.get() {
            return Ok(plan);
        }
        let plan = gpu.fft_plan(&self.batch)?;
        Ok(self.plan.get_or_init(|| plan))
    }
}

impl Routine for Transform {
    fn workspace(&self, gpu: &Gpu) -> Result<usize> {
        Ok(self.plan(gpu)?.workspace)
    }

    fn submit(&self, gpu: &Gpu, run: Run, workspace: DevPtr, stream: &Stream) -> Result<()> {
        let (from, to) = (address(self.from, run), address(self.to, run));
        let pairs = (0..self.calls).map(|k| (from.offset(k * self.advance[0]), to.offset(k * self.advance[1])));
        // SAFETY: the plan's buffers are live for the run and have the shapes of the batch. Half spectra are copies,
        // which the library may overwrite.
        unsafe { self.plan(gpu)?.run(self.batch.kind, pairs, workspace, stream) }
    }

    fn same_arguments(&self, one: Run, other: Run) -> bool {
        // The workspace is part of the scratch.
        let addresses = |run: Run| (address(self.from, run), address(self.to, run), run.scratch);
        addresses(one) == addresses(other)
    }
}

impl fmt::Display for Transform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", library_name("cuFFT"), self.batch)?;
        if self.calls > 1 { write!(f, ", {} calls", self.calls) } else { Ok(()) }
    }
}

/// Transforms along the middle axes of a dense array [above, points…, below].
#[derive(Clone, Copy)]
struct Lines {
    kind: FftKind,
    double: bool,
    points: [i64; FFT_RANK],
    rank: usize,
    above: i64,
    below: i64,
    /// The distance between two written lines, if it is not the length of a line. Only for one axis.
    line_distance: Option<i64>,
}

impl Lines {
    /// Returns a batch of lines at equal distances: the `below` lines, or, if that is one, the `above` lines.
    fn batch(&self) -> Batch {
        let &Lines { kind, double, points, rank, above, below, .. } = self;
        let mut batch = Batch { kind, double, points, rank, step: below, distance: [1, 1], count: below };
        if below == 1 {
            batch.distance = self.sizes();
            batch.count = above;
        }
        batch
    }

    /// Returns the number of elements that a transform reads, and that it writes.
    fn sizes(&self) -> [i64; 2] {
        let [reads, writes] = cufft::extents(self.kind, self.points).map(|n| n.iter().product());
        [reads, self.line_distance.unwrap_or(writes)]
    }

    fn dtypes(&self) -> [DType; 2] {
        let (real, complex) = if self.double { (DType::F64, DType::C128) } else { (DType::F32, DType::C64) };
        match self.kind {
            FftKind::Real => [real, complex],
            FftKind::Half => [complex, real],
            FftKind::Forward | FftKind::Backward | FftKind::Whole => [complex, complex],
        }
    }
}

/// A transform under construction: kernels and library routines in order.
struct Steps {
    builder: Builder,
    routines: Vec<(usize, Arc<dyn Routine>)>,
}

impl Steps {
    fn scratch(&mut self, dtype: DType, count: i64) -> Arg {
        self.builder.out.scratch(count as usize * dtype.size())
    }

    fn library(&mut self, lines: &Lines, from: Source, to: Arg, calls: i64, advance: [i64; 2]) {
        let [reads, writes] = lines.dtypes().map(|d| d.size() as i64);
        let transform = Transform {
            batch: lines.batch(),
            from: (from.at, from.offset * reads),
            to: (to, 0),
            calls,
            advance: [advance[0] * reads, advance[1] * writes],
            plan: OnceLock::new(),
        };
        self.routines.push((self.builder.out.stages.len(), Arc::new(transform)));
    }

    /// Adds a complex transform between dense arrays, times a factor. If our own kernels support all axes but the last,
    /// which takes little more time than a copy, the library transforms only the last one. Otherwise it transforms all.
    fn complex(&mut self, lines: Lines, from: Source, to: Arg, factor: Option<f64>) {
        let dtype = lines.dtypes()[0];
        let own = self.columns(&lines);
        let Some(own) = own else {
            self.run(lines, from, to);
            let count = lines.above * lines.points.iter().product::<i64>() * lines.below;
            return self.scale(to, dtype, count, factor);
        };
        if lines.below > 1 {
            return self.run_columns(&own, from, to, factor);
        }
        let mut points = [1; FFT_RANK];
        points[FFT_RANK - 1] = lines.points[FFT_RANK - 1];
        let above = lines.above * lines.points[..FFT_RANK - 1].iter().product::<i64>();
        self.run(Lines { points, rank: 1, above, ..lines }, from, to);
        self.run_columns(&own, Source { at: to, offset: 0 }, to, factor);
    }

    /// Adds transforms along some axes, one after the other, by our own kernels.
    fn run_columns(&mut self, axes: &[fft::Columns], mut from: Source, to: Arg, factor: Option<f64>) {
        for (k, &columns) in axes.iter().enumerate() {
            let by = if k + 1 == axes.len() { factor.unwrap_or(1.0) } else { 1.0 };
            fft::columns(from, to, columns, by, &mut self.builder);
            from = Source { at: to, offset: 0 };
        }
    }

    /// Returns the axes before the last one as our own kernels take them. `None` unless they support all of these.
    fn columns(&self, lines: &Lines) -> Option<Vec<fft::Columns>> {
        let Lines { points, rank, above, below, .. } = *lines;
        let dtype = lines.dtypes()[0];
        let inverse = lines.kind == FftKind::Backward;
        let mut own = Vec::new();
        let mut behind = below;
        for (axis, &n) in points.iter().enumerate().skip(FFT_RANK - rank).rev() {
            let before: i64 = points[..axis].iter().product();
            if behind > 1 {
                own.push(fft::Columns { dtype, above: above * before, points: n, below: behind, inverse });
            }
            behind *= n;
        }
        (!own.is_empty() && own.iter().all(|columns| columns.fit(&self.builder))).then_some(own)
    }

    /// Adds a transform between dense arrays by the library. Strided real lines are packed first: the library takes
    /// twice the time of a copy to read them with a stride, and requires pairs.
    fn run(&mut self, lines: Lines, from: Source, to: Arg) {
        let Lines { above, below, .. } = lines;
        let steps = below > 1 && lines.kind != FftKind::Forward && lines.kind != FftKind::Backward;
        if below == 1 || (above == 1 && !steps) {
            return self.library(&lines, from, to, 1, [0, 0]);
        }
        let [reads, writes] = lines.sizes();
        let advance = [reads * below, writes * below];
        if !steps && (above <= MAX_CALLS || advance[1] >= MIN_CALL_ELEMENTS) {
            return self.library(&lines, from, to, above, advance);
        }
        let [input, output] = lines.dtypes();
        let packed = self.scratch(input, above * below * reads);
        let layout = Layout::contiguous(input, &[above, reads, below]);
        let layout = layout.with(&layout.shape, &layout.strides, from.offset).permute(&[0, 2, 1]);
        self.builder.pack(from.at, &layout, packed, input);
        let written = if input == output { packed } else { self.scratch(output, above * below * writes) };
        let rows = Lines { above: above * below, below: 1, ..lines };
        self.library(&rows, Source { at: packed, offset: 0 }, written, 1, [0, 0]);
        let layout = Layout::contiguous(output, &[above, below, writes]).permute(&[0, 2, 1]);
        self.builder.pack(written, &layout, to, output);
    }

    /// Returns dense real numbers aligned to pairs, as the library reads them.
    fn pairs(&mut self, operand: &(u32, LayoutRef)) -> Source {
        let (buffer, layout) = operand;
        if layout.offset % 2 == 0 && self.builder.target.options.aligned {
            return self.builder.dense(operand, layout.dtype);
        }
        let copy = self.scratch(layout.dtype, layout.size);
        self.builder.pack(Arg::Buffer(*buffer), layout, copy, layout.dtype);
        Source { at: copy, offset: 0 }
    }

    fn scale(&mut self, at: Arg, dtype: DType, count: i64, factor: Option<f64>) {
        if let Some(factor) = factor {
            let parts = count * (dtype.size() / dtype.component().size()) as i64;
            fft::scale(at, dtype.component(), parts, factor, &mut self.builder);
        }
    }
}

/// Plans a Fourier transform. `None` for other routines.
pub(super) fn transform(call: &RoutineCall, arch: Arch, options: Options) -> Option<Planned> {
    let RoutineOp::Fft { kind, axis, rank, scale } = call.op else { return None };
    let mut steps = Steps { builder: Builder::new(arch, options), routines: Vec::new() };
    if call.out.1.size > 0 {
        plan_transform(call, kind, usize::from(axis), usize::from(rank), scale, &mut steps);
    }
    Some(Planned { kernels: steps.builder.out, routines: steps.routines })
}

fn plan_transform(call: &RoutineCall, kind: FftKind, axis: usize, rank: usize, scale: FftScale, steps: &mut Steps) {
    let (operand, (out, result)): (&(u32, LayoutRef), &(u32, LayoutRef)) = (&call.ins[0], &call.out);
    let (a, out, real) = (&operand.1, Arg::Buffer(*out), result.dtype.component());
    let complex = if real == DType::F64 { DType::C128 } else { DType::C64 };
    let first = axis + 1 - rank;
    let product = |part: &[i64]| part.iter().product::<i64>();
    let all = if kind == FftKind::Real { &a.shape[first..=axis] } else { &result.shape[first..=axis] };
    let (factor, last) = (scale.factor(product(all)), all[rank - 1]);
    // A transform along an axis of one point changes nothing.
    let points: Vec<i64> = all.iter().copied().filter(|&n| n > 1).collect();
    let lines = |kind: FftKind, points: &[i64]| {
        let mut padded = [1; FFT_RANK];
        padded[FFT_RANK - points.len()..].copy_from_slice(points);
        Lines {
            kind,
            double: real == DType::F64,
            points: padded,
            rank: points.len(),
            above: product(&result.shape[..first]),
            below: product(&result.shape[axis + 1..]),
            line_distance: None,
        }
    };
    if points.is_empty() {
        return steps.builder.pack(Arg::Buffer(operand.0), a, out, result.dtype);
    }
    match kind {
        // The spectrum of one point is the point. A batch of planes is converted to complex first: after the rows have
        // been completed, a single call could not reach the columns.
        FftKind::Real | FftKind::Whole
            if last == 1 || kind == FftKind::Whole && points.len() > 1 && product(&result.shape[..first]) > 1 =>
        {
            steps.builder.pack(Arg::Buffer(operand.0), a, out, complex);
            steps.complex(lines(FftKind::Forward, &points), Source { at: out, offset: 0 }, out, factor);
        }
        FftKind::Half if last == 1 => {
            let (from, values) = (steps.builder.dense(operand, complex), steps.scratch(complex, a.size));
            steps.complex(lines(FftKind::Backward, &points), from, values, factor);
            steps.builder.pack(values, &Layout::contiguous(complex, &a.shape), out, real);
        }
        FftKind::Half => {
            // The library overwrites its input and relies on the symmetry of spectra of real points, so it gets a copy.
            let (from, copy) = (steps.builder.dense(operand, complex), steps.scratch(complex, a.size));
            let whole = lines(kind, &points);
            let extents = cufft::extents(kind, whole.points)[0];
            let highest = if last % 2 == 0 { last / 2 } else { 0 };
            let shape = fft::HalfSpectrum { dtype: complex, above: whole.above, below: whole.below, extents, highest };
            fft::half_spectrum(from, copy, shape, factor.unwrap_or(1.0), &mut steps.builder);
            steps.run(whole, Source { at: copy, offset: 0 }, out);
        }
        FftKind::Whole => {
            let from = steps.pairs(operand);
            let (others, one) = points.split_at(points.len() - 1);
            let others = lines(FftKind::Forward, others);
            let above = others.above * product(&others.points);
            let one = Lines { above, line_distance: Some(last), ..lines(FftKind::Real, one) };
            steps.run(one, from, out);
            fft::mirror(out, complex, [one.above, last, one.below], &mut steps.builder);
            if others.rank > 0 {
                let others = Lines { below: last * others.below, ..others };
                return steps.complex(others, Source { at: out, offset: 0 }, out, factor);
            }
            steps.scale(out, complex, result.size, factor);
        }
        FftKind::Real => {
            let from = steps.pairs(operand);
            let whole = lines(kind, &points);
            let (others, one) = points.split_at(points.len() - 1);
            let others = lines(FftKind::Forward, others);
            let others = Lines { below: (one[0] / 2 + 1) * others.below, ..others };
            if let Some(own) = steps.columns(&others) {
                let above = others.above * product(&others.points);
                steps.run(Lines { above, ..lines(kind, one) }, from, out);
                return steps.run_columns(&own, Source { at: out, offset: 0 }, out, factor);
            }
            steps.run(whole, from, out);
            steps.scale(out, complex, result.size, factor);
        }
        FftKind::Forward | FftKind::Backward => {
            let from = steps.builder.dense(operand, complex);
            steps.complex(lines(kind, &points), from, out, factor);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Kernels by name and calls of the library, in order.
    fn listing(kind: FftKind, rank: u8, scale: FftScale, a: LayoutRef, axis: u8, out: LayoutRef) -> Vec<String> {
        let op = RoutineOp::Fft { kind, axis, rank, scale };
        let call = RoutineCall { op, ins: vec![(0, a)], out: (1, out), epilogue: Default::default() };
        let Planned { kernels, routines } = transform(&call, Arch::H200, Options::default()).unwrap();
        let mut lines: Vec<(usize, u8, String)> =
            routines.iter().map(|(before, routine)| (*before, 0, routine.to_string())).collect();
        lines.extend(kernels.stages.iter().enumerate().map(|(k, stage)| (k, 1, stage.name.to_string())));
        lines.sort();
        lines.into_iter().map(|(_, _, line)| line).collect()
    }

    fn array(dtype: DType, shape: &[i64]) -> LayoutRef {
        Layout::contiguous(dtype, shape)
    }

    #[test]
    fn lines_at_equal_distances_are_one_call() {
        use DType::{C64, C128, F32};
        let rows = array(C64, &[4, 8]);
        assert_eq!(
            listing(FftKind::Forward, 1, FftScale::One, rows.clone(), 1, rows.clone()),
            ["cuFFT: Forward transform of 8 points in float32, batch 4, step 1, distance 8 → 8"]
        );
        assert_eq!(
            listing(FftKind::Backward, 1, FftScale::Points, rows.clone(), 0, rows),
            ["cuFFT: Backward transform of 4 points in float32, batch 8, step 8, distance 1 → 1", "fft_scale_f32"]
        );
        let planes = array(C128, &[2, 3, 4, 5]);
        assert_eq!(
            listing(FftKind::Forward, 2, FftScale::One, planes.clone(), 3, planes),
            ["cuFFT: Forward transform of 4 × 5 points in float64, batch 6, step 1, distance 20 → 20"]
        );
        assert_eq!(
            listing(FftKind::Real, 2, FftScale::One, array(F32, &[3, 4, 6]), 2, array(C64, &[3, 4, 4])),
            ["cuFFT: Real transform of 4 × 6 points in float32, batch 3, step 1, distance 24 → 16"]
        );
    }

    #[test]
    fn columns_of_powers_of_two_use_our_own_kernels() {
        let planes = array(DType::C64, &[64, 32, 128]);
        assert_eq!(
            listing(FftKind::Forward, 1, FftScale::One, planes.clone(), 1, planes.clone()),
            ["fft_lines_c64_32_128"]
        );
        assert_eq!(
            listing(FftKind::Backward, 3, FftScale::Points, planes.clone(), 2, planes),
            [
                "cuFFT: Backward transform of 128 points in float32, batch 2048, step 1, distance 128 → 128",
                "fft_lines_c64_32_128_inverse",
                "fft_lines_c64_64_64_inverse",
            ]
        );
        assert_eq!(
            listing(
                FftKind::Real,
                2,
                FftScale::One,
                array(DType::F64, &[3, 64, 6]),
                2,
                array(DType::C128, &[3, 64, 4])
            ),
            ["cuFFT: Real transform of 6 points in float64, batch 192, step 1, distance 6 → 4", "fft_lines_c128_64_4",]
        );
    }

    #[test]
    fn lines_along_inner_axes_are_packed_or_transformed_by_several_calls() {
        let many = array(DType::C64, &[50, 40, 60]);
        let lines = listing(FftKind::Forward, 1, FftScale::One, many.clone(), 1, many);
        assert_eq!(lines.len(), 3, "{lines:?}");
        assert_eq!(lines[1], "cuFFT: Forward transform of 40 points in float32, batch 3000, step 1, distance 40 → 40");
        let few = array(DType::C64, &[2, 40, 60]);
        let lines = listing(FftKind::Forward, 1, FftScale::One, few.clone(), 1, few);
        assert_eq!(
            lines,
            ["cuFFT: Forward transform of 40 points in float32, batch 60, step 60, distance 1 → 1, 2 calls"]
        );
    }

    #[test]
    fn half_spectra_are_copied_and_scaled_by_one_kernel() {
        let lines =
            listing(FftKind::Half, 1, FftScale::Points, array(DType::C64, &[3, 5]), 1, array(DType::F32, &[3, 8]));
        assert_eq!(
            lines,
            ["fft_half_c64", "cuFFT: Half transform of 8 points in float32, batch 3, step 1, distance 5 → 8"]
        );
    }

    #[test]
    fn spectra_of_real_points_are_completed() {
        let lines =
            listing(FftKind::Whole, 2, FftScale::One, array(DType::F64, &[6, 8]), 1, array(DType::C128, &[6, 8]));
        assert_eq!(
            lines,
            [
                "cuFFT: Real transform of 8 points in float64, batch 6, step 1, distance 8 → 8",
                "fft_mirror_c128",
                "cuFFT: Forward transform of 6 points in float64, batch 8, step 8, distance 1 → 1",
            ]
        );
    }

    #[test]
    fn one_point_is_its_own_spectrum() {
        let lines =
            listing(FftKind::Real, 1, FftScale::Root, array(DType::F32, &[7, 1]), 1, array(DType::C64, &[7, 1]));
        assert_eq!(lines.len(), 1);
        assert!(!lines[0].starts_with("cuFFT"), "{lines:?}");
    }
}
