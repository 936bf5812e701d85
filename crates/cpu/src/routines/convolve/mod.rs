//! Convolutions, either directly (few channels a group, see [`direct`]) or by im2col: windows are copied to columns, as
//! many as stay in the cache, and multiplied by the `gemm` crate. Products of few columns are slow, because the library
//! orders the weights for each, so small images are the columns of one product together.

mod small_images;

use cuprous_core::convolution::{Geometry, Part};
use cuprous_core::{DType, Result};

use small_images::SmallImages;

use super::direct;
use super::dot::{Shape, block};
use super::workspaces::Workspaces;
use crate::affine::{copy_rect, copy_strided};
use crate::alloc::Block;
use crate::routines::operands::{Contiguous, View};
use crate::threads::{SharedPtr, parallel_for};

/// Bytes of windows that are processed at once: about half of an L2 cache.
const MAX_WINDOW_BYTES: usize = 5 << 18;
/// Number of tasks below which the work is divided further.
const MIN_TASKS: usize = 8;
/// Maximum bytes of partial sums of weights.
const MAX_PARTIAL_BYTES: usize = 64 << 20;
/// Elements of a task that adds up partial sums.
const ADDED_ELEMENTS: usize = 1 << 13;
/// Fewest positions of a task for each channel of the output at which it pays to transpose the sums of the weights.
const MIN_POSITIONS_PER_OUTPUT: usize = 2;
/// Fewest positions of a sum of weights that is less than an image.
const MIN_POSITIONS_PER_SUM: usize = 256;

/// Returns true if there is a routine for the dtype and the order of the axes.
pub(crate) fn is_supported(geometry: &Geometry) -> bool {
    !geometry.channels_last && matches!(geometry.dtype, DType::F32 | DType::F64 | DType::C64 | DType::C128)
}

/// The parameters that tasks share.
struct Job<'a> {
    geometry: &'a Geometry,
    dtype: DType,
    /// Elements of a channel: of a window, of the input and of the output.
    window: usize,
    plane: usize,
    positions: usize,
    /// Channels per group, of the input and of the output.
    in_channels: usize,
    out_channels: usize,
    groups: usize,
    images: usize,
    /// Whether a window is the element at the output's position, so that channels are columns already.
    pointwise: bool,
}

/// # Safety
/// The views are in memory and fit together (`Geometry::shape`). The output is contiguous, of float32, float64,
/// complex64 or complex128.
pub(crate) unsafe fn convolve(part: Part, geometry: &Geometry, a: View, b: View, out: View) -> Result<()> {
    let product = |v: &[i64]| v.iter().product::<i64>() as usize;
    let groups = geometry.groups as usize;
    let (in_channels, out_channels) = match part {
        Part::Output => (a.shape()[1] as usize / groups, b.shape()[0] as usize / groups),
        Part::Input => (b.shape()[1] as usize, a.shape()[1] as usize / groups),
        Part::Weight => (b.shape()[1] as usize / groups, a.shape()[1] as usize / groups),
    };
    let job = Job {
        geometry,
        dtype: out.dtype(),
        window: product(&geometry.kernel),
        plane: product(&geometry.input),
        positions: product(&geometry.output),
        in_channels,
        out_channels,
        groups,
        images: a.shape()[0] as usize,
        pointwise: geometry.input == geometry.output
            && [&geometry.kernel, &geometry.stride].iter().all(|v| v.iter().all(|&n| n == 1))
            && geometry.before.iter().all(|&n| n == 0),
    };
    // SAFETY: by this function's contract.
    unsafe {
        let (fa, fb) = (Contiguous::new(a, job.dtype)?, Contiguous::new(b, job.dtype)?);
        if job.images * job.positions * job.in_channels * job.out_channels == 0 {
            std::ptr::write_bytes(out.origin(), 0, out.layout.size as usize * job.size());
            return Ok(());
        }
        let (a, b, c) = (SharedPtr(fa.ptr()), SharedPtr(fb.ptr()), SharedPtr(out.origin()));
        if let Some(direct) = direct::Direct::new(part, geometry, b) {
            return direct.run(a, b, c);
        }
        match (part, SmallImages::new(&job, part)) {
            (Part::Output, Some(small)) => small.output(a, b, c),
            (Part::Input, Some(small)) => small.input(a, b, c),
            (Part::Weight, Some(small)) => small.weight(a, b, c),
            (Part::Output, None) => job.output(a, b, c),
            (Part::Input, None) => job.input(a, b, c),
            (Part::Weight, None) => job.weight(a, b, c),
        }
    }
}

/// A range of rows of output positions. A row is a line along the last axis.
#[derive(Clone, Copy)]
struct Rows {
    from: usize,
    to: usize,
}

/// A row of columns for one element of the kernel: `n` elements of the input, starting at `at` in a channel's plane,
/// behind `skipped` columns whose windows read a zero there. The rest of the row reads zeros too.
struct Run {
    element: usize,
    column: usize,
    at: isize,
    n: usize,
    skipped: usize,
}

/// Copies a few bytes. Runs are usually so short that a call of memcpy would take longer.
#[inline(always)]
unsafe fn copy_run(to: *mut u8, from: *const u8, bytes: usize) {
    type Piece = [u8; 32];
    // SAFETY: by the caller's contract, the bytes are in memory; the last piece overlaps the one before.
    unsafe {
        if !(32..=512).contains(&bytes) {
            return std::ptr::copy_nonoverlapping(from, to, bytes);
        }
        let mut at = 0;
        while at + 32 < bytes {
            (to.add(at) as *mut Piece).write_unaligned((from.add(at) as *const Piece).read_unaligned());
            at += 32;
        }
        (to.add(bytes - 32) as *mut Piece).write_unaligned((from.add(bytes - 32) as *const Piece).read_unaligned());
    }
}

impl Job<'_> {
    fn size(&self) -> usize {
        self.dtype.size()
    }

    /// Returns the number of elements in a row of output positions.
    fn width(&self) -> usize {
        self.geometry.output[self.geometry.output.len() - 1] as usize
    }

    /// Divides the output positions into about equal parts, at least so many if rows suffice, whose windows over
    /// `channels` channels stay in the cache.
    fn parts(&self, channels: usize, least: usize) -> Vec<Rows> {
        let each = channels * self.window * self.width() * self.size();
        let count = self.positions / self.width();
        // Products of few columns are slow, so there are at least 64 if there are that many.
        let most =
            (MAX_WINDOW_BYTES / each.max(1)).min(count.div_ceil(least)).max(64usize.div_ceil(self.width())).max(1);
        let step = count.div_ceil(count.div_ceil(most));
        (0..count).step_by(step).map(|from| Rows { from, to: (from + step).min(count) }).collect()
    }

    /// Returns the number of channels of a group that one task processes.
    fn channels(&self, tasks: usize) -> usize {
        self.in_channels.div_ceil(MIN_TASKS.div_ceil(tasks.max(1)).min(self.in_channels).max(1))
    }

    fn columns(&self, rows: Rows) -> usize {
        (rows.to - rows.from) * self.width()
    }

    fn new_workspace(&self, channels: usize, parts: &[(Rows, Vec<Run>)]) -> Result<Block> {
        let copied: &[(Rows, Vec<Run>)] = if self.pointwise { &[] } else { parts };
        let widest = copied.iter().map(|(rows, _)| self.columns(*rows)).max().unwrap_or(0);
        Block::new(channels * self.window * widest * self.size())
    }

    /// Returns the runs of some rows' windows in a channel of the input, element by element of the kernel.
    fn runs(&self, rows: Rows) -> Vec<Run> {
        let g = self.geometry;
        let rank = g.kernel.len();
        let (last, width) = (rank - 1, self.width());
        let mut pitch = vec![1i64; rank];
        for k in (0..last).rev() {
            pitch[k] = pitch[k + 1] * g.input[k + 1];
        }
        let unravel = |mut at: usize, shape: &[i64], to: &mut [i64]| {
            for k in (0..to.len()).rev() {
                to[k] = at as i64 % shape[k];
                at /= shape[k] as usize;
            }
        };
        let (mut place, mut row) = (vec![0; rank], vec![0; last]);
        let mut runs = Vec::with_capacity(self.window * (rows.to - rows.from));
        for element in 0..self.window {
            unravel(element, &g.kernel, &mut place);
            // The columns whose element lies inside the input along the last axis.
            let shift = place[last] * g.dilation[last] - g.before[last];
            let columns_before = |at: i64| if at > 0 { (at - 1) / g.stride[last] + 1 } else { 0 };
            let end = columns_before(g.input[last] - shift).min(width as i64) as usize;
            let first = (columns_before(-shift) as usize).min(end);
            for r in rows.from..rows.to {
                unravel(r, &g.output[..last], &mut row);
                let mut at = 0;
                let mut inside = end > first;
                for k in 0..last {
                    let i = row[k] * g.stride[k] + place[k] * g.dilation[k] - g.before[k];
                    inside &= (0..g.input[k]).contains(&i);
                    at += i * pitch[k];
                }
                let (skipped, n) = if inside { (first, end - first) } else { (0, 0) };
                at += skipped as i64 * g.stride[last] + shift;
                runs.push(Run { element, column: (r - rows.from) * width, at: at as isize, n, skipped });
            }
        }
        runs
    }

    /// Returns the parts of the output positions, each with its runs.
    fn parts_and_runs(&self, channels: usize, least: usize) -> Vec<(Rows, Vec<Run>)> {
        self.parts(channels, least).into_iter().map(|rows| (rows, self.runs(rows))).collect()
    }

    /// Copies the windows over some channels of an image to a matrix with a row per (channel, element), `pitch` apart,
    /// and a column per window.
    unsafe fn pack(&self, image: *const u8, channels: usize, runs: &[Run], to: *mut u8, pitch: usize) {
        let (size, width) = (self.size(), self.width());
        let stride = self.geometry.stride[self.geometry.stride.len() - 1];
        for channel in 0..channels {
            // SAFETY: runs stay within the plane, and the matrix has space for all columns.
            unsafe {
                let plane = image.add(channel * self.plane * size);
                let to = to.add(channel * self.window * pitch * size);
                for run in runs {
                    let row = to.add((run.element * pitch + run.column) * size);
                    let (skipped, end) = (run.skipped, run.skipped + run.n);
                    if skipped > 0 {
                        std::ptr::write_bytes(row, 0, skipped * size);
                    }
                    if end < width {
                        std::ptr::write_bytes(row.add(end * size), 0, (width - end) * size);
                    }
                    if run.n > 0 {
                        let (to, from) = (row.add(skipped * size), plane.offset(run.at * size as isize));
                        if stride == 1 {
                            copy_run(to, from, run.n * size);
                        } else {
                            copy_strided(to, 1, from, stride, run.n, size);
                        }
                    }
                }
            }
        }
    }

    /// Returns the windows over some channels of an image as a matrix, and the distance of its rows. Windows are copied to
    /// the workspace unless the matrix is in memory.
    unsafe fn windows(
        &self,
        image: *mut u8,
        channels: usize,
        part: &(Rows, Vec<Run>),
        workspace: &Block,
    ) -> (*mut u8, i64) {
        // SAFETY: by the caller's contract, as for `pack`.
        unsafe {
            if self.pointwise {
                return (image.add(part.0.from * self.width() * self.size()), self.plane as i64);
            }
            self.pack(image, channels, &part.1, workspace.as_ptr(), self.columns(part.0));
        }
        (workspace.as_ptr(), self.columns(part.0) as i64)
    }

    /// Adds columns to the positions of their windows: the inverse of `pack`.
    unsafe fn unpack(&self, columns: *const u8, channels: usize, runs: &[Run], image: *mut u8, pitch: usize) {
        let size = self.size();
        let stride = self.geometry.stride[self.geometry.stride.len() - 1];
        for channel in 0..channels {
            // SAFETY: runs stay within the plane.
            unsafe {
                let plane = image.add(channel * self.plane * size);
                let from = columns.add(channel * self.window * pitch * size);
                for run in runs.iter().filter(|run| run.n > 0) {
                    let from = from.add((run.element * pitch + run.column + run.skipped) * size);
                    add(self.dtype, plane.offset(run.at * size as isize), stride, from, run.n);
                }
            }
        }
    }

    unsafe fn output(&self, x: SharedPtr, w: SharedPtr, y: SharedPtr) -> Result<()> {
        // Of a few images, many small parts are faster, on two threads too.
        let tasks = self.images * self.groups;
        let least = if tasks < MIN_TASKS { 4 * MIN_TASKS.div_ceil(tasks) } else { 1 };
        let (size, rows) = (self.size() as i64, self.parts_and_runs(self.in_channels, least));
        let k = self.in_channels * self.window;
        let workspaces = Workspaces::new(|| self.new_workspace(self.in_channels, &rows));
        parallel_for(self.images * self.groups * rows.len(), |task| {
            let (part, group) = (&rows[task % rows.len()], task / rows.len());
            let n = self.columns(part.0);
            let Some(workspace) = workspaces.take() else { return };
            let shape = Shape { c: (self.positions as i64, 1), ..Shape::contiguous(self.out_channels, n, k) };
            let g = (group % self.groups) as i64;
            // SAFETY: the block belongs to one image's group, and no other task writes it.
            unsafe {
                let image = x.at((group * self.in_channels * self.plane) as i64 * size);
                let (windows, pitch) = self.windows(image, self.in_channels, part, &workspace);
                let at = group * self.out_channels * self.positions + part.0.from * self.width();
                let w = w.at(g * (self.out_channels * k) as i64 * size);
                block(self.dtype, Shape { b: (pitch, 1), ..shape }, w, windows, y.at(at as i64 * size));
            }
            workspaces.put_back(workspace);
        });
        workspaces.finish()
    }

    unsafe fn input(&self, y: SharedPtr, w: SharedPtr, x: SharedPtr) -> Result<()> {
        let size = self.size() as i64;
        let channels = self.channels(self.images * self.groups);
        let (rows, chunks) = (self.parts_and_runs(channels, 1), self.in_channels.div_ceil(channels));
        let workspaces = Workspaces::new(|| self.new_workspace(channels, &rows));
        parallel_for(self.images * self.groups * chunks, |task| {
            let (chunk, group) = (task % chunks, task / chunks);
            let first = chunk * channels;
            let count = channels.min(self.in_channels - first);
            let Some(workspace) = workspaces.take() else { return };
            let k = self.in_channels * self.window;
            let g = group % self.groups;
            // SAFETY: the channels belong to one image, and no other task writes them.
            unsafe {
                let to = x.at(((group * self.in_channels + first) * self.plane) as i64 * size);
                if !self.pointwise {
                    std::ptr::write_bytes(to, 0, count * self.plane * size as usize);
                }
                let w = w.at((g * self.out_channels * k + first * self.window) as i64 * size);
                for part in &rows {
                    let n = self.columns(part.0);
                    let from = group * self.out_channels * self.positions + part.0.from * self.width();
                    let shape = Shape::contiguous(count * self.window, n, self.out_channels);
                    let shape = Shape { a: (1, k as i64), b: (self.positions as i64, 1), ..shape };
                    let y = y.at(from as i64 * size);
                    if self.pointwise {
                        let to = to.add(part.0.from * self.width() * size as usize);
                        block(self.dtype, Shape { c: (self.plane as i64, 1), ..shape }, w, y, to);
                        continue;
                    }
                    block(self.dtype, shape, w, y, workspace.as_ptr());
                    self.unpack(workspace.as_ptr(), count, &part.1, to, n);
                }
            }
            workspaces.put_back(workspace);
        });
        workspaces.finish()
    }

    unsafe fn weight(&self, y: SharedPtr, x: SharedPtr, w: SharedPtr) -> Result<()> {
        let size = self.size();
        let k = self.in_channels * self.window;
        let elements = self.groups * self.out_channels * k;
        // The gradient is added up in several sums, each over some of the images' parts, which are then added in order. The
        // number of sums depends only on sizes.
        let wanted = self.images.max(self.images * self.positions / MIN_POSITIONS_PER_SUM);
        let sums = wanted.min(MIN_TASKS).min((MAX_PARTIAL_BYTES / (elements * size)).max(1));
        let channels = self.channels(sums * self.groups);
        let (rows, chunks) = (self.parts_and_runs(channels, 1), self.in_channels.div_ceil(channels));
        let parts = self.images * rows.len();
        let sums = sums.min(parts);
        let partial = Block::new((sums - 1) * elements * size)?;
        let place = |sum: usize| {
            if sum == 0 { w } else { SharedPtr(partial.as_ptr().wrapping_add((sum - 1) * elements * size)) }
        };
        // The transposed product has the windows as they are in memory on its left, and gradients to copy, which are fewer,
        // on its right. Its sums are transposed at the end of a task.
        let across = channels * self.window > self.out_channels
            && self.images * self.positions / sums >= MIN_POSITIONS_PER_OUTPUT * self.out_channels;
        let workspaces = Workspaces::new(|| self.new_workspace(channels, &rows));
        let scratch =
            Workspaces::new(|| Block::new(if across { channels * self.window * self.out_channels * size } else { 0 }));
        parallel_for(sums * self.groups * chunks, |task| {
            let (chunk, g, sum) = (task % chunks, task / chunks % self.groups, task / chunks / self.groups);
            let first = chunk * channels;
            let count = channels.min(self.in_channels - first);
            let (Some(workspace), Some(transposed)) = (workspaces.take(), scratch.take()) else { return };
            let to = place(sum).at(((g * self.out_channels * k + first * self.window) * size) as i64);
            let mut accumulate = false;
            for part in sum * parts / sums..(sum + 1) * parts / sums {
                let (group, part) = (part / rows.len() * self.groups + g, &rows[part % rows.len()]);
                let columns = self.columns(part.0);
                // SAFETY: the columns belong to one partial sum, and no other task writes them.
                unsafe {
                    let from = x.at(((group * self.in_channels + first) * self.plane * size) as i64);
                    let (windows, pitch) = self.windows(from, count, part, &workspace);
                    let at = group * self.out_channels * self.positions + part.0.from * self.width();
                    let gradients = y.at((at * size) as i64);
                    let straight = Shape {
                        a: (self.positions as i64, 1),
                        b: (1, pitch),
                        c: (k as i64, 1),
                        accumulate,
                        ..Shape::contiguous(self.out_channels, count * self.window, columns)
                    };
                    if across {
                        let shape = Shape { c: (self.out_channels as i64, 1), ..straight.transposed() };
                        block(self.dtype, shape, windows, gradients, transposed.as_ptr());
                    } else {
                        block(self.dtype, straight, gradients, windows, to);
                    }
                }
                accumulate = true;
            }
            if across {
                let (rows, columns) = (self.out_channels, count * self.window);
                // SAFETY: all sums were computed, and no other task writes these weights.
                unsafe { copy_rect(to, [k as i64, 1], transposed.as_ptr(), [1, rows as i64], rows, columns, size) };
            }
            workspaces.put_back(workspace);
            scratch.put_back(transposed);
        });
        if sums > 1 {
            parallel_for(elements.div_ceil(ADDED_ELEMENTS), |task| {
                let first = task * ADDED_ELEMENTS;
                let (at, n) = ((first * size) as i64, ADDED_ELEMENTS.min(elements - first));
                // SAFETY: all sums have `elements` elements, and no other task writes these.
                (1..sums).for_each(|sum| unsafe { add(self.dtype, w.at(at), 1, place(sum).at(at), n) });
            });
        }
        scratch.finish()?;
        workspaces.finish()
    }
}

/// Computes `to[i * stride] += from[i]`.
unsafe fn add(dtype: DType, to: *mut u8, stride: i64, from: *const u8, n: usize) {
    unsafe fn add_elements<T: Copy + std::ops::Add<Output = T>, const W: usize>(
        to: *mut u8,
        stride: i64,
        from: *const u8,
        n: usize,
    ) {
        let (to, from) = (to as *mut [T; W], from as *const [T; W]);
        // SAFETY: by the caller's contract; elements are aligned.
        unsafe {
            if stride == 1 {
                let (to, from) = (std::slice::from_raw_parts_mut(to, n), std::slice::from_raw_parts(from, n));
                for (t, f) in to.iter_mut().zip(from) {
                    for k in 0..W {
                        t[k] = t[k] + f[k];
                    }
                }
                return;
            }
            for i in 0..n {
                let t = &mut *to.offset(i as isize * stride as isize);
                let f = &*from.add(i);
                for k in 0..W {
                    t[k] = t[k] + f[k];
                }
            }
        }
    }
    // SAFETY: by the caller's contract, the elements are in memory.
    unsafe {
        match dtype {
            DType::F32 => add_elements::<f32, 1>(to, stride, from, n),
            DType::F64 => add_elements::<f64, 1>(to, stride, from, n),
            DType::C64 => add_elements::<f32, 2>(to, stride, from, n),
            _ => add_elements::<f64, 2>(to, stride, from, n),
        }
    }
}
