//! Convolutions of small images: the windows of several images are the columns of one product. A product copies all
//! weights to another order before it multiplies, so a product for each image of a few positions would spend its time
//! on that. The gradient of many weights is one sum for all images, of which each task adds up its channels.

use cuprous_core::Result;
use cuprous_core::convolution::Part;

use super::{Job, MIN_TASKS, Rows, Run, copy_run};
use crate::alloc::Block;
use crate::routines::dot::{Shape, block};
use crate::routines::workspaces::Workspaces;
use crate::threads::{SharedPtr, parallel_for};

/// Most positions of a small image. Products of 49 and 64 columns take as long as those of several such images.
const MAX_POSITIONS: usize = 36;
/// Columns of a product that are enough.
const COLUMNS: usize = 128;
/// The same for the gradient of the weights, which is added up in place instead of in a sum for each of some images.
/// Windows of one element need no copy otherwise.
const MAX_SUMMED_POSITIONS: usize = 256;
const MAX_SUMMED_POINTS: usize = 64;
const SUMMED_COLUMNS: usize = 256;
/// Fewest weights for each position: below, a sum of all weights for each of some images costs less.
const MIN_WEIGHTS_PER_POSITION: usize = 2048;
/// Weights of a group below which it is faster to order them for each image than to divide the work in this way.
const MIN_WEIGHTS: usize = 1 << 17;
/// Fewest rows of a task's product.
const MIN_ROWS: usize = 64;
/// Most bytes of windows that are in memory at once, if one product needs no more.
const MAX_WINDOW_BYTES: usize = 16 << 20;

/// A convolution of small images.
pub(super) struct SmallImages<'a> {
    job: &'a Job<'a>,
    /// Runs of an image's windows.
    runs: Vec<Run>,
    /// Images of a product.
    images: usize,
}

impl<'a> SmallImages<'a> {
    /// Returns `None` for images that have enough columns, for few weights, and for a single image.
    pub(super) fn new(job: &'a Job<'a>, part: Part) -> Option<SmallImages<'a>> {
        let (most, columns) = match part {
            Part::Weight => (if job.pointwise { MAX_SUMMED_POINTS } else { MAX_SUMMED_POSITIONS }, SUMMED_COLUMNS),
            _ => (MAX_POSITIONS, COLUMNS),
        };
        let images = (columns / job.positions).clamp(1, job.images);
        let weights = job.in_channels * job.window * job.out_channels;
        let few = match part {
            Part::Weight => MIN_WEIGHTS.max(MIN_WEIGHTS_PER_POSITION * job.positions),
            _ => MIN_WEIGHTS,
        };
        if job.positions > most || weights < few || job.images < 2 {
            return None;
        }
        let runs = job.runs(Rows { from: 0, to: job.positions / job.width() });
        Some(SmallImages { job, runs, images })
    }

    /// Returns the number of channels of a task, of `channels` in each of so many products. A channel has `rows` rows.
    fn channels_of_task(channels: usize, rows: usize, products: usize) -> usize {
        channels.div_ceil(MIN_TASKS.div_ceil(products)).max(MIN_ROWS.div_ceil(rows)).min(channels)
    }

    /// Computes the output `y`.
    ///
    /// # Safety
    /// The operands are contiguous and in memory, with the sizes of the job.
    pub(super) unsafe fn output(&self, x: SharedPtr, w: SharedPtr, y: SharedPtr) -> Result<()> {
        let job = self.job;
        let (size, k, columns) = (job.size(), job.in_channels * job.window, self.images * job.positions);
        let at = |p: SharedPtr, elements: usize| p.at((elements * size) as i64);
        let matrix = k * columns;
        let step = (MAX_WINDOW_BYTES / (job.groups * matrix * size)).clamp(1, job.images.div_ceil(self.images));
        let each = Self::channels_of_task(job.out_channels, 1, step * job.groups);
        let chunks = job.out_channels.div_ceil(each);
        let all_windows = Block::new(step * job.groups * matrix * size)?;
        let windows = SharedPtr(all_windows.as_ptr());
        let workspaces = Workspaces::new(|| Block::new(each * columns * size));
        for start in (0..job.images).step_by(step * self.images) {
            let images = (step * self.images).min(job.images - start);
            // Windows are copied once and read by the tasks of all channels.
            parallel_for(images * job.groups, |task| {
                let (group, image) = (task % job.groups, task / job.groups);
                let from = ((start + image) * job.groups + group) * job.in_channels * job.plane;
                let product = image / self.images * job.groups + group;
                let to = at(windows, product * matrix + image % self.images * job.positions);
                // SAFETY: the matrix has these columns, and no other task writes them.
                unsafe { job.pack(at(x, from), job.in_channels, &self.runs, to, columns) };
            });
            parallel_for(images.div_ceil(self.images) * job.groups * chunks, |task| {
                let (product, first) = (task / chunks, task % chunks * each);
                let (group, image) = (product % job.groups, product / job.groups * self.images);
                let (images, channels) = (self.images.min(images - image), each.min(job.out_channels - first));
                let Some(sums) = workspaces.take() else { return };
                let n = images * job.positions;
                let shape = Shape { b: (columns as i64, 1), ..Shape::contiguous(channels, n, k) };
                let first = group * job.out_channels + first;
                // SAFETY: the windows were copied before, and no other task writes these channels of the images.
                unsafe {
                    block(job.dtype, shape, at(w, first * k), at(windows, product * matrix), sums.as_ptr());
                    for i in 0..images {
                        let first = (start + image + i) * job.groups * job.out_channels + first;
                        let (to, from) = (at(y, first * job.positions), sums.as_ptr().add(i * job.positions * size));
                        job.copy_channels(channels, (to, job.positions), (from, n));
                    }
                }
                workspaces.put_back(sums);
            });
        }
        workspaces.finish()
    }

    /// Computes the gradient of the input `x` from that of the output.
    ///
    /// # Safety
    /// As for [`Self::output`].
    pub(super) unsafe fn input(&self, y: SharedPtr, w: SharedPtr, x: SharedPtr) -> Result<()> {
        let job = self.job;
        let (size, k) = (job.size(), job.in_channels * job.window);
        let at = |p: SharedPtr, elements: usize| p.at((elements * size) as i64);
        let batches = job.images.div_ceil(self.images);
        let each = Self::channels_of_task(job.in_channels, job.window, batches * job.groups);
        let chunks = job.in_channels.div_ceil(each);
        let rows = each * job.window + job.out_channels;
        let workspaces = Workspaces::new(|| Block::new(rows * self.images * job.positions * size));
        parallel_for(batches * job.groups * chunks, |task| {
            let (product, first) = (task / chunks, task % chunks * each);
            let (group, image) = (product % job.groups, product / job.groups * self.images);
            let (images, channels) = (self.images.min(job.images - image), each.min(job.in_channels - first));
            let Some(workspace) = workspaces.take() else { return };
            let (m, n) = (channels * job.window, images * job.positions);
            let shape = Shape { a: (1, k as i64), ..Shape::contiguous(m, n, job.out_channels) };
            // SAFETY: no other task writes these channels of the images. The workspace has space for the windows and
            // behind them for the gradients of the output.
            unsafe {
                let (windows, gradients) = (workspace.as_ptr(), workspace.as_ptr().add(m * n * size));
                for i in 0..images {
                    let from = at(y, ((image + i) * job.groups + group) * job.out_channels * job.positions);
                    let to = gradients.add(i * job.positions * size);
                    job.copy_channels(job.out_channels, (to, n), (from, job.positions));
                }
                let w = at(w, group * job.out_channels * k + first * job.window);
                block(job.dtype, shape, w, gradients, windows);
                for i in 0..images {
                    let to = at(x, (((image + i) * job.groups + group) * job.in_channels + first) * job.plane);
                    std::ptr::write_bytes(to, 0, channels * job.plane * size);
                    job.unpack(windows.add(i * job.positions * size), channels, &self.runs, to, n);
                }
            }
            workspaces.put_back(workspace);
        });
        workspaces.finish()
    }

    /// Computes the gradient of the weights `w` from that of the output and the input.
    ///
    /// # Safety
    /// As for [`Self::output`].
    pub(super) unsafe fn weight(&self, y: SharedPtr, x: SharedPtr, w: SharedPtr) -> Result<()> {
        let job = self.job;
        let (size, k) = (job.size(), job.in_channels * job.window);
        let at = |p: SharedPtr, elements: usize| p.at((elements * size) as i64);
        // The gradients of all images in a row for each channel, which the tasks of all channels of the input read.
        let row = job.images * job.positions;
        let all_gradients = Block::new(job.groups * job.out_channels * row * size)?;
        let gradients = SharedPtr(all_gradients.as_ptr());
        let channels = job.groups * job.out_channels;
        parallel_for(job.images, |image| {
            let from = at(y, image * channels * job.positions);
            // SAFETY: no other task writes these columns.
            unsafe { job.copy_channels(channels, (at(gradients, image * job.positions), row), (from, job.positions)) };
        });
        let each = Self::channels_of_task(job.in_channels, job.window, job.groups);
        let chunks = job.in_channels.div_ceil(each);
        let workspaces = Workspaces::new(|| Block::new(each * job.window * self.images * job.positions * size));
        parallel_for(job.groups * chunks, |task| {
            let (group, first) = (task / chunks, task % chunks * each);
            let channels = each.min(job.in_channels - first);
            let Some(windows) = workspaces.take() else { return };
            let to = at(w, group * job.out_channels * k + first * job.window);
            for start in (0..job.images).step_by(self.images) {
                let images = self.images.min(job.images - start);
                let n = images * job.positions;
                let shape = Shape {
                    a: (row as i64, 1),
                    b: (1, n as i64),
                    c: (k as i64, 1),
                    accumulate: start > 0,
                    ..Shape::contiguous(job.out_channels, channels * job.window, n)
                };
                // SAFETY: no other task writes the weights of these channels.
                unsafe {
                    for i in 0..images {
                        let from = ((start + i) * job.groups + group) * job.in_channels + first;
                        let to = windows.as_ptr().add(i * job.positions * size);
                        job.pack(at(x, from * job.plane), channels, &self.runs, to, n);
                    }
                    let gradients = at(gradients, group * job.out_channels * row + start * job.positions);
                    block(job.dtype, shape, gradients, windows.as_ptr(), to);
                }
            }
            workspaces.put_back(windows);
        });
        workspaces.finish()
    }
}

impl Job<'_> {
    /// Copies the positions of an image in some channels between two matrices, each with the length of its rows.
    unsafe fn copy_channels(&self, channels: usize, to: (*mut u8, usize), from: (*const u8, usize)) {
        let size = self.size();
        for channel in 0..channels {
            // SAFETY: by the caller's contract, both matrices have these rows.
            unsafe {
                let (to, from) = (to.0.add(channel * to.1 * size), from.0.add(channel * from.1 * size));
                copy_run(to, from, self.positions * size);
            }
        }
    }
}
