//! Direct convolutions: no windows are copied, only channels (see [`grid`]). Used for few channels a group, whose matrix
//! products would be too small, and where channels stay in the cache.

mod grid;
mod kernels;

use std::ops::Range;

use cuprous_core::convolution::{Geometry, Part};
use cuprous_core::{DType, Result};

use self::grid::Grid;
use self::kernels::{CHANNELS, Element, Loops, ProductArgs, SLACK, SumArgs};
use super::workspaces::Workspaces;
use crate::affine::copy_strided;
use crate::alloc::Block;
use crate::threads::{SharedPtr, parallel_for};

/// Channels of a group up to which its matrix products are slower.
const MAX_CHANNELS: usize = 16;
/// Bytes of a group's channels up to which all of them stay in the cache.
const MAX_GROUP_BYTES: usize = 1 << 20;
/// Number of tasks below which the work is divided further.
const MIN_TASKS: usize = 8;
/// Number of products from which on a task is worth another thread: those of about ten microseconds.
const TASK_PRODUCTS: usize = 1 << 17;
/// Number of products that are added up in the precision of the elements before they are added to a sum in float64.
const MAX_RUN: usize = 4096;
/// Maximum bytes of sums of weights.
const MAX_SUM_BYTES: usize = 16 << 20;
/// Maximum bytes of sums of weights, with a sum for each lane, that a task keeps from image to image.
const MAX_KEPT_BYTES: usize = 256 << 10;

/// A direct convolution, or one of its gradients.
pub(super) struct Direct<'a> {
    part: Part,
    geometry: &'a Geometry,
    grid: Grid,
    /// Channels of a group.
    inputs: usize,
    outputs: usize,
    groups: usize,
    images: usize,
    /// Elements of a channel.
    plane: usize,
    positions: usize,
}

/// Returns true if all elements are finite.
fn all_finite<T: Element>(at: SharedPtr, n: usize) -> bool {
    const STEP: usize = 1 << 16;
    let failed = std::sync::atomic::AtomicBool::new(false);
    parallel_for(n.div_ceil(STEP), |k| {
        let first = k * STEP;
        // SAFETY: by the caller's contract, there are `n` elements.
        let part = unsafe { std::slice::from_raw_parts((at.at(0) as *const T).add(first), STEP.min(n - first)) };
        if !part.chunks(64).all(|chunk| chunk.iter().fold(true, |all, v| all & v.is_finite())) {
            failed.store(true, std::sync::atomic::Ordering::Relaxed);
        }
    });
    !failed.into_inner()
}

impl<'a> Direct<'a> {
    /// Returns `None` if a direct convolution is not possible or not faster.
    ///
    /// Where a window ends beside an input, its gradients have products with zeros. These are left out of sums by other
    /// ways of computing them, so factors that are not finite exclude this one.
    ///
    /// # Safety
    /// The second operand is contiguous and has the shape and dtype of the geometry.
    pub(super) unsafe fn new(part: Part, geometry: &'a Geometry, b: SharedPtr) -> Option<Direct<'a>> {
        let size = |v: &[i64]| v.iter().product::<i64>() as usize;
        if !matches!(geometry.dtype, DType::F32 | DType::F64) {
            return None;
        }
        let groups = geometry.groups as usize;
        let (inputs, outputs) = (geometry.inputs as usize / groups, geometry.outputs as usize / groups);
        if groups == 1 || inputs.min(outputs) > MAX_CHANNELS {
            return None;
        }
        let taps = size(&geometry.kernel);
        let sums = inputs * outputs * groups * taps * 8;
        if taps > 1024 || part == Part::Weight && sums > MAX_SUM_BYTES {
            return None;
        }
        let grid = Grid::new(geometry);
        let channels = if part == Part::Input { outputs } else { inputs };
        let bytes = channels * grid.phases.len() * grid.phase * geometry.dtype.size();
        if inputs.max(outputs) > 2 && bytes > MAX_GROUP_BYTES {
            return None;
        }
        let (plane, positions) = (size(&geometry.input), size(&geometry.output));
        let images = geometry.images as usize;
        let factors = match part {
            Part::Output => None,
            Part::Input => Some((b, inputs * outputs * groups * taps)),
            Part::Weight => Some((b, images * groups * inputs * plane)),
        };
        let finite = factors.is_none_or(|(at, n)| match geometry.dtype {
            DType::F32 => all_finite::<f32>(at, n),
            _ => all_finite::<f64>(at, n),
        });
        finite.then_some(Direct { part, geometry, grid, inputs, outputs, groups, images, plane, positions })
    }

    /// # Safety
    /// The operands and the result are contiguous, have the geometry's shapes and dtype, and are not empty.
    pub(super) unsafe fn run(&self, a: SharedPtr, b: SharedPtr, out: SharedPtr) -> Result<()> {
        // SAFETY: by this function's contract.
        unsafe {
            match self.geometry.dtype {
                DType::F32 => self.run_elements::<f32>(a, b, out),
                _ => self.run_elements::<f64>(a, b, out),
            }
        }
    }

    unsafe fn run_elements<T: Element>(&self, a: SharedPtr, b: SharedPtr, out: SharedPtr) -> Result<()> {
        let of = Elements { job: self, loops: T::loops() };
        // SAFETY: by the caller's contract.
        unsafe {
            match self.part {
                Part::Output => of.output(a, b, out),
                Part::Input => of.input(a, b, out),
                Part::Weight => of.weight(a, b, out),
            }
        }
    }

    fn taps(&self) -> usize {
        self.grid.taps.len()
    }

    /// Elements of a channel of the input in the grid.
    fn channel(&self) -> usize {
        self.grid.phases.len() * self.grid.phase
    }

    /// Divides `count` channels into parts, so that `tasks` times their number is enough. Returns the channels of a part.
    fn share(&self, count: usize, tasks: usize) -> usize {
        count.div_ceil(MIN_TASKS.div_ceil(tasks)).next_multiple_of(CHANNELS).min(count)
    }
}

/// The number of channels of the next block.
fn block_of(left: usize) -> usize {
    match left {
        CHANNELS.. => CHANNELS,
        2.. => 2,
        _ => 1,
    }
}

/// Returns the first channel and the number of channels of each block.
fn blocks(channels: Range<usize>) -> impl Iterator<Item = (usize, usize)> {
    let Range { start: mut at, end } = channels;
    std::iter::from_fn(move || {
        let block = (at < end).then(|| (at, block_of(end - at)))?;
        at += block.1;
        Some(block)
    })
}

/// A direct convolution of elements of type `T`.
struct Elements<'a, T> {
    job: &'a Direct<'a>,
    loops: Loops<T>,
}

unsafe fn copy<T: Copy>(to: *mut T, to_stride: usize, from: *const T, from_stride: usize, n: usize) {
    // SAFETY: by the caller's contract.
    unsafe {
        if to_stride == 1 && from_stride == 1 && n <= 64 {
            for k in 0..n {
                *to.add(k) = *from.add(k);
            }
        } else {
            copy_strided(to as *mut u8, to_stride as i64, from as *const u8, from_stride as i64, n, size_of::<T>());
        }
    }
}

/// Returns memory of `n` zeros.
fn zeros<T>(n: usize) -> Result<Block> {
    let block = Block::new(n * size_of::<T>())?;
    // SAFETY: the block has this size.
    unsafe { std::ptr::write_bytes(block.as_ptr(), 0, n * size_of::<T>()) };
    Ok(block)
}

impl<T: Element> Elements<'_, T> {
    /// Copies channels of the input to the grid.
    unsafe fn place(&self, input: *const T, channels: usize, to: *mut T) {
        let (grid, size) = (&self.job.grid, self.job.channel());
        for channel in 0..channels {
            // SAFETY: lines stay within the channel and its phases.
            unsafe {
                let (from, to) = (input.add(channel * self.job.plane), to.add(channel * size));
                for (number, lines) in grid.phases.iter().enumerate() {
                    for line in lines {
                        copy(to.add(number * grid.phase + line.at), 1, from.add(line.plane), grid.stride, line.n);
                    }
                }
            }
        }
    }

    /// Copies lines of outputs between a channel and the grid's extents.
    unsafe fn place_outputs(&self, output: *const T, to: *mut T) {
        for line in &self.job.grid.outputs {
            // SAFETY: lines stay within the channel and the grid.
            unsafe { copy(to.add(line.at), 1, output.add(line.plane), 1, line.n) };
        }
    }

    /// Returns where each kernel element reads in the channels of the input.
    fn offsets(&self) -> Vec<usize> {
        let (grid, channel) = (&self.job.grid, self.job.channel());
        let of = |c: usize| grid.taps.iter().map(move |tap| c * channel + tap.phase * grid.phase + tap.shift);
        (0..self.job.inputs).flat_map(of).collect()
    }

    /// Divides `channels` of each of `groups` among the threads. `each` gets a workspace of `size` elements, which begins
    /// as zeros, the group, and its channels.
    fn for_shares(
        &self,
        groups: usize,
        channels: usize,
        size: usize,
        each: impl Fn(*mut T, usize, Range<usize>) + Sync,
    ) -> Result<()> {
        let job = self.job;
        let share = job.share(channels, groups);
        let shares = channels.div_ceil(share);
        let products = share * (job.inputs * job.outputs / channels) * job.taps() * job.grid.span;
        let (count, step) = (groups * shares, TASK_PRODUCTS.div_ceil(products));
        let workspaces = Workspaces::new(|| zeros::<T>(size));
        parallel_for(count.div_ceil(step), |k| {
            let Some(workspace) = workspaces.take() else { return };
            for task in k * step..((k + 1) * step).min(count) {
                let first = task % shares * share;
                each(workspace.as_ptr() as *mut T, task / shares, first..(first + share).min(channels));
            }
            workspaces.put_back(workspace);
        });
        workspaces.finish()
    }

    unsafe fn output(&self, x: SharedPtr, w: SharedPtr, y: SharedPtr) -> Result<()> {
        let (job, grid) = (self.job, &self.job.grid);
        let taps = job.inputs * job.taps();
        let size = job.inputs * job.channel() + SLACK;
        let pitch = grid.span + SLACK;
        let offsets = self.offsets();
        self.for_shares(job.images * job.groups, job.outputs, size + CHANNELS * pitch, |lines, group, share| {
            // SAFETY: no other task writes these channels of the output; the workspace has space for channels and results.
            unsafe {
                let sums = lines.add(size);
                self.place((x.at(0) as *const T).add(group * job.inputs * job.plane), job.inputs, lines);
                for (at, channels) in blocks(share) {
                    let weights = (w.at(0) as *const T).add((group % job.groups * job.outputs + at) * taps);
                    (self.loops.sum)(&SumArgs {
                        lines,
                        offsets: offsets.as_ptr(),
                        taps,
                        weights,
                        channels,
                        out: sums,
                        pitch,
                        span: grid.span,
                    });
                    for c in 0..channels {
                        let to = (y.at(0) as *mut T).add((group * job.outputs + at + c) * job.positions);
                        for line in &grid.outputs {
                            copy(to.add(line.plane), 1, sums.add(c * pitch + line.at), 1, line.n);
                        }
                    }
                }
            }
        })
    }

    unsafe fn input(&self, y: SharedPtr, w: SharedPtr, x: SharedPtr) -> Result<()> {
        let (job, grid) = (self.job, &self.job.grid);
        // Zeros before a channel of outputs, behind its lines, and behind the last.
        let channel = grid.reach + grid.phase;
        let size = job.outputs * channel + SLACK;
        let pitch = grid.phase + SLACK;
        // For each phase the kernel elements that read it, with their offsets for all outputs.
        let phases: Vec<(Vec<usize>, Vec<usize>)> = (0..grid.phases.len())
            .map(|number| {
                let of: Vec<usize> = (0..job.taps()).filter(|&t| grid.taps[t].phase == number).collect();
                let offsets = (0..job.outputs)
                    .flat_map(|o| of.iter().map(move |&t| o * channel + grid.reach - grid.taps[t].shift))
                    .collect();
                (of, offsets)
            })
            .collect();
        // The weights of each phase, as rows of an input channel.
        let (taps, all) = (job.taps(), job.groups * job.inputs * job.outputs * job.taps());
        let weights = Block::new(all * size_of::<T>())?;
        let turned = SharedPtr(weights.as_ptr());
        let begin = |group: usize, number: usize| {
            let before: usize = phases[..number].iter().map(|(of, _)| of.len()).sum();
            (group * taps + before) * job.inputs * job.outputs
        };
        let whole = phases.len() == 1;
        parallel_for(job.groups, |group| {
            for (number, (of, _)) in phases.iter().enumerate() {
                // SAFETY: both hold all weights, and tasks write those of different groups.
                unsafe {
                    let mut to = (turned.at(0) as *mut T).add(begin(group, number));
                    for (c, o) in (0..job.inputs).flat_map(|c| (0..job.outputs).map(move |o| (c, o))) {
                        let from = (w.at(0) as *const T).add(((group * job.outputs + o) * job.inputs + c) * taps);
                        if whole {
                            copy(to, 1, from, 1, taps);
                        } else {
                            of.iter().enumerate().for_each(|(k, &t)| *to.add(k) = *from.add(t));
                        }
                        to = to.add(of.len());
                    }
                }
            }
        });
        self.for_shares(job.images * job.groups, job.inputs, size + CHANNELS * pitch, |lines, group, share| {
            // SAFETY: no other task writes these channels of the input; the workspace has space for channels and results.
            unsafe {
                let sums = lines.add(size);
                for o in 0..job.outputs {
                    let from = (y.at(0) as *const T).add((group * job.outputs + o) * job.positions);
                    self.place_outputs(from, lines.add(o * channel + grid.reach));
                }
                let to = (x.at(0) as *mut T).add(group * job.inputs * job.plane);
                std::ptr::write_bytes(to.add(share.start * job.plane), 0, share.len() * job.plane);
                for (at, channels) in blocks(share) {
                    for (number, (of, offsets)) in phases.iter().enumerate() {
                        let taps = job.outputs * of.len();
                        let weights = (turned.at(0) as *const T).add(begin(group % job.groups, number) + at * taps);
                        (self.loops.sum)(&SumArgs {
                            lines,
                            offsets: offsets.as_ptr(),
                            taps,
                            weights,
                            channels,
                            out: sums,
                            pitch,
                            span: grid.phase,
                        });
                        for c in 0..channels {
                            let to = to.add((at + c) * job.plane);
                            for line in &grid.phases[number] {
                                copy(to.add(line.plane), grid.stride, sums.add(c * pitch + line.at), 1, line.n);
                            }
                        }
                    }
                }
            }
        })
    }

    unsafe fn weight(&self, y: SharedPtr, x: SharedPtr, w: SharedPtr) -> Result<()> {
        let (job, grid, lanes) = (self.job, &self.job.grid, self.loops.lanes);
        let taps = job.inputs * job.taps();
        let size = job.inputs * job.channel() + SLACK;
        // Factors are aligned, as vectors of lines cannot be.
        let (size, pitch) = (size.next_multiple_of(lanes), (grid.span + SLACK).next_multiple_of(lanes));
        let offsets = self.offsets();
        // Images are summed in several parts, which are then added in order. Their number depends only on sizes.
        let parts = job.images.min(MIN_TASKS.div_ceil(job.groups));
        let elements = job.groups * job.outputs * taps;
        let sums_of_parts = Block::new(parts * elements * size_of::<f64>())?;
        let totals = SharedPtr(sums_of_parts.as_ptr());
        let share = job.share(job.outputs, parts * job.groups);
        let keeps = block_of(share) == share || share * taps * lanes * size_of::<T>() <= MAX_KEPT_BYTES;
        let space = size + CHANNELS * pitch + if keeps { share } else { CHANNELS } * taps * lanes;
        self.for_shares(parts * job.groups, job.outputs, space, |lines, number, share| {
            let (group, part) = (number % job.groups, number / job.groups);
            let images = part * job.images / parts..(part + 1) * job.images / parts;
            // SAFETY: no other task writes these sums; the workspace has space for channels, factors and sums.
            unsafe {
                let factors = lines.add(size);
                let sums = factors.add(CHANNELS * pitch);
                let total = (totals.at(0) as *mut f64).add(part * elements + (group * job.outputs) * taps);
                total.add(share.start * taps).write_bytes(0, share.len() * taps);
                // What was added to each sum since it was added to the totals.
                let mut pending = 0;
                for image in images.clone() {
                    let number = image * job.groups + group;
                    self.place((x.at(0) as *const T).add(number * job.inputs * job.plane), job.inputs, lines);
                    let before = pending;
                    for (at, channels) in blocks(share.clone()) {
                        let sums = if keeps { sums.add((at - share.start) * taps * lanes) } else { sums };
                        pending = before;
                        for c in 0..channels {
                            let from = (y.at(0) as *const T).add((number * job.outputs + at + c) * job.positions);
                            self.place_outputs(from, factors.add(c * pitch));
                        }
                        let mut q = 0;
                        while q < grid.span {
                            let span = (grid.span - q).min(MAX_RUN * lanes);
                            (self.loops.product)(&ProductArgs {
                                lines: lines.add(q),
                                offsets: offsets.as_ptr(),
                                taps,
                                factors: factors.add(q),
                                channels,
                                pitch,
                                span,
                                sums,
                            });
                            (q, pending) = (q + span, pending + span);
                            if !keeps || pending >= MAX_RUN * lanes || image + 1 == images.end && q == grid.span {
                                self.add_sums(sums, channels * taps, total.add(at * taps));
                                pending = 0;
                            }
                        }
                    }
                }
                if parts == 1 {
                    let own = std::slice::from_raw_parts(total.add(share.start * taps), share.len() * taps);
                    let to = (w.at(0) as *mut T).add((group * job.outputs + share.start) * taps);
                    own.iter().enumerate().for_each(|(k, &sum)| *to.add(k) = T::rounded(sum));
                }
            }
        })?;
        if parts > 1 {
            // SAFETY: the totals have `parts` times as many elements as the weights.
            unsafe {
                let totals = std::slice::from_raw_parts(totals.at(0) as *const f64, parts * elements);
                for (k, to) in std::slice::from_raw_parts_mut(w.at(0) as *mut T, elements).iter_mut().enumerate() {
                    *to = T::rounded((0..parts).map(|part| totals[part * elements + k]).sum());
                }
            }
        }
        Ok(())
    }

    /// Adds the sums of all lanes to totals, and sets them to zero.
    unsafe fn add_sums(&self, sums: *mut T, n: usize, totals: *mut f64) {
        let lanes = self.loops.lanes;
        for k in 0..n {
            // SAFETY: there are `n` sums of `lanes` elements, and `n` totals.
            unsafe {
                let of = std::slice::from_raw_parts_mut(sums.add(k * lanes), lanes);
                // Two independent sums, or as many as fit into a register.
                let mut sum = [0.0; 2];
                for pair in of.chunks_exact(2) {
                    sum = [sum[0] + pair[0].into(), sum[1] + pair[1].into()];
                }
                *totals.add(k) += sum[0] + sum[1];
                of.fill(T::default());
            }
        }
    }
}
