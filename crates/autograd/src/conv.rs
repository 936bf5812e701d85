//! Convolution and its two gradients.
//!
//! With input x, weights w and output y: [`forward`] computes y from x and w, [`to_input`] the gradient of x from that
//! of y and w, [`to_weight`] the gradient of w from that of y and x. All three are linear in both operands, so the
//! gradients of each are the other two ([`backward`]).
//!
//! On a GPU, images of many channels lie with their channels last, which is how tensor cores read them: such a result has
//! the [engine's order](cuprous_core::Layout::in_engine_order), elementwise operations keep it, and so it goes from layer
//! to layer without copies. The program sees row-major arrays.
//!
//! Windows are views of the padded input. For a matrix product they are copied next to each other (im2col), for as many
//! images at a time as [`COLUMN_BYTES`] allows, and not saved. Devices that have a routine for convolutions use it
//! instead.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use cuprous_core::convolution::{Geometry, Part};
use cuprous_core::{Array, DType, Dims, Error, Fun, Layout, ReduceOp, Result, RoutineOp, Saved, Scalar};
use cuprous_plan::{Engine, Operand};
use smallvec::{SmallVec, smallvec};

use crate::engine::engine_of;
use crate::formula::{conj, product};
use crate::graph::{Node, Rule, SavedArrays, Tensor};
use crate::mode;
use crate::record::record;

/// The most bytes of windows that are copied at a time.
const COLUMN_BYTES: i64 = 64 << 20;
/// Bytes of all windows up to which a GPU multiplies windows instead of calling its convolution routine. Below, each
/// step is a launch of a few microseconds either way, and windows stay within one program. With 64 images of 28 × 28
/// and 16 to 32 channels (5 to 42 MiB) a training step took 0.205 ms with windows, and 0.184 ms with the fastest
/// measured cuDNN engines, which may round to TF32 (H200).
const SMALL: i64 = 1 << 20;
/// As [`SMALL`], if operands may not be rounded to TF32. Products of windows accumulate in full float32.
const SMALL_EXACT: i64 = 48 << 20;
/// If an image has fewer output positions, the columns of all images form one matrix.
const FEW_POSITIONS: i64 = 128;

/// Channels from which on images lie with their channels last. A training step of two convolutions to 16 and 32 channels took
/// 3.1 ms with row-major images and 3.8 with the second's channels last (4,096 images of 28 × 28, H200).
const MIN_CHANNELS_LAST: i64 = 32;

static TF32: AtomicBool = AtomicBool::new(true);
static ALWAYS_CHANNELS_LAST: AtomicBool = AtomicBool::new(false);

/// Returns true if convolutions of float32 may round their operands to TF32.
pub fn tf32() -> bool {
    TF32.load(Relaxed)
}

/// Sets whether later convolutions may use TF32. Returns the previous setting.
pub fn set_tf32(on: bool) -> bool {
    TF32.swap(on, Relaxed)
}

/// Sets whether images lie with their channels last on every device, as on GPUs with cuDNN: for tests. Returns the
/// previous setting.
pub fn set_always_channels_last(on: bool) -> bool {
    ALWAYS_CHANNELS_LAST.swap(on, Relaxed)
}

/// Returns the output (N, O, …) of the input (N, C, …) and the weights (O, C / groups, …).
pub fn forward(x: &Tensor, w: &Tensor, geometry: &Arc<Geometry>) -> Result<Tensor> {
    convolve(Part::Output, x, w, geometry)
}

/// Returns (N, C, …): each element of `y` (N, O, …) times the weights, added at the element's window.
pub fn to_input(y: &Tensor, w: &Tensor, geometry: &Arc<Geometry>) -> Result<Tensor> {
    convolve(Part::Input, y, w, geometry)
}

/// Returns (O, C / groups, …): the sum over all elements of `y` of the element times its window of `x`.
pub fn to_weight(y: &Tensor, x: &Tensor, geometry: &Arc<Geometry>) -> Result<Tensor> {
    convolve(Part::Weight, y, x, geometry)
}

fn convolve(part: Part, a: &Tensor, b: &Tensor, geometry: &Arc<Geometry>) -> Result<Tensor> {
    let convolution = Convolution { engine: engine_of(&a.array), geometry };
    let shape = geometry.shape(part, a.shape(), b.shape());
    let shape =
        shape.ok_or_else(|| Error::value("[convolution] the shapes of the operands do not match the geometry"))?;
    let filled = a.array.layout.size > 0 && b.array.layout.size > 0;
    let by_routine = filled
        && !convolution.by_kernel_elements(part, &a.array, &b.array)
        && !convolution.is_small(part, &a.array, &b.array);
    let last = (by_routine && convolution.prefers_channels_last())
        .then(|| RoutineOp::Convolve(part, Arc::new(Geometry { channels_last: true, ..Geometry::clone(geometry) })))
        .filter(|last| convolution.engine.supports(last));
    // The operands as the routine reads them, which is how they are saved.
    let (mut x, mut y) = (a.array.clone(), b.array.clone());
    if filled && ALWAYS_CHANNELS_LAST.load(Relaxed) {
        (x, y) = (convolution.channels_last(&x)?, convolution.channels_last(&y)?);
    }
    let routine = RoutineOp::Convolve(part, geometry.clone());
    let out = match (last, part) {
        (Some(last), _) => {
            (x, y) = (convolution.channels_last(&x)?, convolution.channels_last(&y)?);
            let [x, y] = [&x, &y].map(|a| permuted(a, &convolution.channels_to_the_end()));
            let mut shape = shape.clone();
            shape[1..].rotate_left(1);
            let out = convolution.engine.routine(last, &[&x, &y], geometry.dtype, &shape)?;
            convolution.as_channels_last(&out)
        }
        _ if by_routine && convolution.engine.supports(&routine) => {
            let (a, b) = (convolution.aligned(&x)?, convolution.aligned(&y)?);
            convolution.engine.routine(routine, &[&a, &b], geometry.dtype, &shape)?
        }
        _ => convolution.composed(part, &x, &y)?,
    };
    let out = match part {
        Part::Weight => convolution.contiguous(out)?,
        _ if out.layout.engine_order => out,
        _ if ALWAYS_CHANNELS_LAST.load(Relaxed) && filled => {
            let last = convolution.channels_last(&out)?;
            last.view(last.layout.in_engine_order())
        }
        _ => convolution.contiguous(out)?,
    };
    record(out, &[a, b], |edges| {
        let mut saved: SavedArrays = Default::default();
        saved[0] = edges[1].is_some().then(|| Saved::new(&x));
        saved[1] = edges[0].is_some().then(|| Saved::new(&y));
        (Rule::Conv(part, geometry.clone()), saved)
    })
}

/// Returns the gradient of an output as both products of the backward pass read it, so that neither makes a copy of its
/// own. A gradient that is recorded stays as it is.
pub(crate) fn shared_gradient(node: &Node, geometry: &Geometry, g: &Tensor) -> Result<Tensor> {
    let lies_last = |k: usize| node.saves(k) && node.saved(k).is_ok_and(|a| a.layout.engine_order);
    if mode::enabled() || g.array.layout.engine_order || !(lies_last(0) || lies_last(1)) {
        return Ok(g.clone());
    }
    let convolution = Convolution { engine: engine_of(&g.array), geometry };
    Ok(Tensor::new(convolution.channels_last(&g.array)?))
}

/// Returns the gradient of operand `k`.
pub(crate) fn backward(node: &Arc<Node>, part: Part, k: usize, geometry: &Arc<Geometry>, g: &Tensor) -> Result<Tensor> {
    let other = conj(&node.operand(1 - k)?)?;
    match (part, k) {
        (Part::Output, 0) => to_input(g, &other, geometry),
        (Part::Output, _) => to_weight(g, &other, geometry),
        (Part::Input, 0) => forward(g, &other, geometry),
        (Part::Input, _) => to_weight(&other, g, geometry),
        (Part::Weight, 0) => forward(&other, g, geometry),
        (Part::Weight, _) => to_input(&other, g, geometry),
    }
}

struct Convolution<'a> {
    engine: &'static Arc<Engine>,
    geometry: &'a Geometry,
}

/// Concatenates lists of extents.
fn dims(parts: &[&[i64]]) -> Dims {
    parts.iter().flat_map(|part| part.iter().copied()).collect()
}

/// Returns `length` elements of an axis from `start` on, as a view.
fn slice(a: &Array, axis: usize, start: i64, length: i64) -> Array {
    let own = &a.layout;
    let mut shape = own.shape.clone();
    shape[axis] = length;
    a.view(own.with(&shape, &own.strides, own.offset + start * own.strides[axis]))
}

fn permuted(a: &Array, order: &[usize]) -> Array {
    a.view(a.layout.permute(order))
}

impl Convolution<'_> {
    fn rank(&self) -> usize {
        self.geometry.kernel.len()
    }

    /// Computes a product from windows. Sums of half precision that are not those of a matrix product would round each
    /// term, so these are computed in float32.
    fn composed(&self, part: Part, a: &Array, b: &Array) -> Result<Array> {
        let half = matches!(self.geometry.dtype, DType::F16 | DType::BF16);
        if half && (part == Part::Input || self.by_kernel_elements(part, a, b)) {
            let geometry = Geometry { dtype: DType::F32, ..self.geometry.clone() };
            let wide = Convolution { engine: self.engine, geometry: &geometry };
            let (a, b) = (self.engine.cast(a, DType::F32)?, self.engine.cast(b, DType::F32)?);
            return self.engine.cast(&wide.composed(part, &a, &b)?, self.geometry.dtype);
        }
        match part {
            Part::Output => self.forward(a, b),
            Part::Input => self.to_input(a, b),
            Part::Weight => self.to_weight(a, b),
        }
    }

    /// Returns true if a GPU computes the convolution faster with channels last: by tensor cores, whose tiles need a
    /// multiple of 16 bytes of channels.
    fn prefers_channels_last(&self) -> bool {
        let g = self.geometry;
        let by_tensor_cores = matches!(g.dtype, DType::F16 | DType::BF16) || g.dtype == DType::F32 && g.tf32;
        let many = |channels: i64| channels >= MIN_CHANNELS_LAST && channels % (16 / g.dtype.size() as i64) == 0;
        let fits = self.rank() == 2 && g.groups == 1 && many(g.inputs) && many(g.outputs);
        by_tensor_cores && fits && self.engine.name() != "cpu"
    }

    /// Returns the axes of (N, C, …) in the order (N, …, C).
    fn channels_to_the_end(&self) -> SmallVec<[usize; 5]> {
        let r = self.rank();
        std::iter::once(0).chain(2..2 + r).chain([1]).collect()
    }

    /// Returns the array with its channels last in memory, aligned as in [`Self::aligned`].
    fn channels_last(&self, a: &Array) -> Result<Array> {
        let memory = permuted(a, &self.channels_to_the_end());
        let aligned = self.aligned(&memory)?;
        Ok(if aligned.layout.id == memory.layout.id { a.clone() } else { self.as_channels_last(&aligned) })
    }

    /// Returns an array (N, …, C) as (N, C, …).
    fn as_channels_last(&self, a: &Array) -> Array {
        let r = self.rank();
        let order: SmallVec<[usize; 5]> = [0, r + 1].into_iter().chain(1..=r).collect();
        a.view(a.layout.permute(&order).in_engine_order())
    }

    /// Returns a contiguous array, because PyTorch's results are. A copy is an elementwise operation that fuses with
    /// later ones.
    fn contiguous(&self, a: Array) -> Result<Array> {
        if a.layout.is_c_contiguous() { Ok(a) } else { self.engine.cast(&a, a.dtype()) }
    }

    /// Returns the array if it is contiguous and starts at a multiple of 16 bytes, as libraries require, otherwise a
    /// copy.
    fn aligned(&self, a: &Array) -> Result<Array> {
        let start = a.layout.offset * a.dtype().size() as i64;
        if a.layout.is_c_contiguous() && start % 16 == 0 { Ok(a.clone()) } else { self.engine.cast(a, a.dtype()) }
    }

    fn reshape(&self, a: &Array, shape: &[i64]) -> Result<Array> {
        Ok(match a.layout.reshape(shape) {
            Some(layout) => a.view(layout),
            None => {
                let copy = self.engine.cast(a, a.dtype())?;
                let layout = copy.layout.reshape(shape).expect("a copy is contiguous");
                copy.view(layout)
            }
        })
    }

    fn map(&self, fun: Fun, a: &Array, b: &Array) -> Result<Array> {
        self.engine.map(fun, &[Operand::Array(a), Operand::Array(b)], None)
    }

    /// Returns the extents of the padded input that all windows together cover.
    fn padded_extents(&self) -> Dims {
        let g = self.geometry;
        let along = |k: usize| (g.output[k] - 1) * g.stride[k] + (g.kernel[k] - 1) * g.dilation[k] + 1;
        (0..self.rank()).map(along).collect()
    }

    /// Returns the part of an input (…, spatial) that windows cover, and where it starts in the padded input. `None` if
    /// they cover only padding.
    fn covered_part(&self, x: &Array, extents: &[i64]) -> Option<(Array, Dims)> {
        let (mut x, mut start) = (x.clone(), Dims::new());
        let lead = x.layout.ndim() - self.rank();
        for (k, &extent) in extents.iter().enumerate() {
            let before = self.geometry.before[k];
            let begin = (-before).max(0);
            let end = self.geometry.input[k].min(extent - before);
            if end <= begin {
                return None;
            }
            x = slice(&x, lead + k, begin, end - begin);
            start.push(begin + before);
        }
        Some((x, start))
    }

    /// Returns the part of a padded input that starts at `start` and has the spatial extents of `shape`.
    fn inside(&self, padded: &Array, start: &[i64], shape: &[i64]) -> Array {
        let lead = padded.layout.ndim() - self.rank();
        (0..self.rank()).fold(padded.clone(), |a, k| slice(&a, lead + k, start[k], shape[lead + k]))
    }

    /// Returns the input with zeros around it, as far as windows cover.
    fn padded(&self, x: &Array) -> Result<Array> {
        let extents = self.padded_extents();
        let shape = dims(&[&x.shape()[..x.layout.ndim() - self.rank()], &extents]);
        let part = self.covered_part(x, &extents);
        if let Some((part, _)) = &part
            && part.shape() == shape.as_slice()
        {
            return Ok(part.clone());
        }
        let padded = self.engine.full(&shape, Scalar::default(), x.dtype())?;
        if let Some((part, start)) = part {
            self.engine.update(&self.inside(&padded, &start, part.shape()), Operand::Array(&part))?;
        }
        Ok(padded)
    }

    /// Returns all windows of a padded input (N, C, …) as a view (N, groups, C / groups, kernel…, output…).
    fn windows(&self, padded: &Array) -> Result<Array> {
        let (g, own) = (self.geometry, &padded.layout);
        let channels = own.shape[1] / g.groups;
        let shape = dims(&[&[own.shape[0], g.groups, channels], &g.kernel, &g.output]);
        let mut strides: Dims = smallvec![own.strides[0], own.strides[1] * channels, own.strides[1]];
        strides.extend((0..self.rank()).map(|k| own.strides[2 + k].saturating_mul(g.dilation[k])));
        strides.extend((0..self.rank()).map(|k| own.strides[2 + k].saturating_mul(g.stride[k])));
        Ok(padded.view(Layout::try_new(own.dtype, &shape, &strides, own.offset)?))
    }

    /// Returns the number of images whose windows are copied at a time.
    fn images(&self, n: i64, channels: i64, size: usize) -> i64 {
        let each = product(&[channels, product(&self.geometry.kernel), product(&self.geometry.output), size as i64]);
        (COLUMN_BYTES / each.max(1)).clamp(1, n.max(1))
    }

    /// Returns true if a GPU should copy all windows rather than call a library: see [`SMALL`].
    fn is_small(&self, part: Part, a: &Array, b: &Array) -> bool {
        let channels = match part {
            Part::Output => a.shape()[1],
            Part::Input => b.shape()[1] * self.geometry.groups,
            Part::Weight => b.shape()[1],
        };
        let elements =
            product(&[a.shape()[0], channels, product(&self.geometry.kernel), product(&self.geometry.output)]);
        let exact = a.dtype() == DType::F64 || a.dtype() == DType::F32 && !self.geometry.tf32;
        let most = if exact { SMALL_EXACT } else { SMALL };
        self.engine.name() != "cpu" && elements.saturating_mul(a.dtype().size() as i64) <= most
    }

    /// Returns true if each input channel has its own group and one output channel.
    fn is_depthwise(&self, w: &[i64]) -> bool {
        self.geometry.groups > 1 && w[1] == 1 && w[0] == self.geometry.groups
    }

    /// Returns true if fused multiplications, one for each element of the kernel, are faster than a matrix product.
    fn by_kernel_elements(&self, part: Part, a: &Array, b: &Array) -> bool {
        let groups = self.geometry.groups;
        // The CPU's routine computes few channels a group directly.
        if self.engine.name() == "cpu" && matches!(self.geometry.dtype, DType::F32 | DType::F64) {
            return false;
        }
        match part {
            Part::Output | Part::Input => self.is_depthwise(b.shape()),
            Part::Weight => groups > 1 && a.shape()[1] == groups && b.shape()[1] == groups,
        }
    }

    fn forward(&self, x: &Array, w: &Array) -> Result<Array> {
        let g = self.geometry;
        let (n, out) = (x.shape()[0], w.shape()[0]);
        let shape = dims(&[&[n, out], &g.output]);
        if shape.contains(&0) || w.layout.size == 0 {
            return self.engine.full(&shape, Scalar::default(), x.dtype());
        }
        let padded = self.padded(x)?;
        if self.is_depthwise(w.shape()) {
            return self.depthwise(&padded, w);
        }
        let step = self.images(n, x.shape()[1], x.dtype().size());
        if step >= n {
            let y = self.forward_part(&padded, w)?;
            return self.reshape(&y, &shape);
        }
        let y = self.engine.empty(x.dtype(), &shape)?;
        for start in (0..n).step_by(step as usize) {
            let count = step.min(n - start);
            let part = self.forward_part(&slice(&padded, 0, start, count), w)?;
            let part = self.reshape(&part, &dims(&[&[count, out], &g.output]))?;
            self.engine.update(&slice(&y, 0, start, count), Operand::Array(&part))?;
        }
        Ok(y)
    }

    /// Returns true if the columns of all images form one matrix.
    fn merged(&self, n: i64) -> bool {
        self.geometry.groups > 1 || (n > 1 && product(&self.geometry.output) < FEW_POSITIONS)
    }

    /// Returns the weights as (groups, O / groups, C / groups * kernel).
    fn matrices(&self, w: &Array) -> Result<Array> {
        let groups = self.geometry.groups;
        self.reshape(w, &[groups, w.shape()[0] / groups, product(&w.shape()[1..])])
    }

    /// Returns the output of some images as (N, groups, O / groups, output).
    fn forward_part(&self, padded: &Array, w: &Array) -> Result<Array> {
        let (groups, n) = (self.geometry.groups, padded.shape()[0]);
        let w = self.matrices(w)?;
        let [rows, inner] = [w.shape()[1], w.shape()[2]];
        let columns = product(&self.geometry.output);
        let windows = self.windows(padded)?;
        if self.merged(n) {
            let windows = self.reshape(&self.images_inside(&windows), &[groups, inner, n * columns])?;
            let y = self.engine.dot(&w, &windows)?;
            let y = self.reshape(&y, &[groups, rows, n, columns])?;
            return Ok(permuted(&y, &[2, 0, 1, 3]));
        }
        let windows = self.reshape(&windows, &[n, inner, columns])?;
        let w = w.view(w.layout.broadcast_to(&[n, rows, inner])?);
        self.engine.dot(&w, &windows)
    }

    /// Returns windows as (groups, C / groups, kernel…, N, output…).
    fn images_inside(&self, windows: &Array) -> Array {
        let r = self.rank();
        let order: SmallVec<[usize; 9]> = (1..3 + r).chain([0]).chain(3 + r..3 + 2 * r).collect();
        permuted(windows, &order)
    }

    /// Computes a depthwise convolution by one multiplication for each element of the kernel; all are fused.
    fn depthwise(&self, padded: &Array, w: &Array) -> Result<Array> {
        let windows = self.windows(padded)?;
        let shape = dims(&[&padded.shape()[..2], &self.geometry.output]);
        let mut sum: Option<Array> = None;
        for index in indices(&self.geometry.kernel) {
            let term =
                self.map(Fun::Multiply, &self.window_elements(&windows, &index, &shape), &self.factor(w, &index))?;
            sum = Some(match sum {
                Some(before) => self.map(Fun::Add, &before, &term)?,
                None => term,
            });
        }
        Ok(sum.expect("a kernel is not empty"))
    }

    /// Returns the element at `index` of every window, as (N, C, output…).
    fn window_elements(&self, windows: &Array, index: &[i64], shape: &[i64]) -> Array {
        let (own, r) = (&windows.layout, self.rank());
        let offset = own.offset + (0..r).map(|k| index[k] * own.strides[3 + k]).sum::<i64>();
        let mut strides: Dims =
            smallvec![own.strides[0], if own.shape[2] > 1 { own.strides[2] } else { own.strides[1] }];
        strides.extend_from_slice(&own.strides[3 + r..]);
        windows.view(own.with(shape, &strides, offset))
    }

    /// Returns the weights (C, 1, kernel…) at `index`, as (C, 1…).
    fn factor(&self, w: &Array, index: &[i64]) -> Array {
        let (own, r) = (&w.layout, self.rank());
        let offset = own.offset + (0..r).map(|k| index[k] * own.strides[2 + k]).sum::<i64>();
        let mut shape = Dims::from_elem(1, r + 1);
        let mut strides = Dims::from_elem(1, r + 1);
        (shape[0], strides[0]) = (own.shape[0], own.strides[0]);
        w.view(own.with(&shape, &strides, offset))
    }

    fn to_input(&self, y: &Array, w: &Array) -> Result<Array> {
        let g = self.geometry;
        let (n, channels) = (y.shape()[0], w.shape()[1] * g.groups);
        let shape = dims(&[&[n, channels], &g.input]);
        if shape.contains(&0) || y.layout.size == 0 || w.layout.size == 0 {
            return self.engine.full(&shape, Scalar::default(), y.dtype());
        }
        let pointwise = g.kernel.iter().all(|&k| k == 1) && g.stride.iter().all(|&s| s == 1);
        if pointwise && g.input == g.output && g.before.iter().all(|&p| p == 0) {
            let columns = self.columns(y, w)?;
            return self.reshape(&columns, &shape);
        }
        let extents = self.padded_extents();
        let padded = self.engine.full(&dims(&[&[n, channels], &extents]), Scalar::default(), y.dtype())?;
        let step = self.images(n, channels, y.dtype().size());
        for start in (0..n).step_by(step as usize) {
            let count = step.min(n - start);
            let columns =
                if self.is_depthwise(w.shape()) { None } else { Some(self.columns(&slice(y, 0, start, count), w)?) };
            self.add_columns(&slice(&padded, 0, start, count), columns, &slice(y, 0, start, count), w)?;
        }
        let Some((part, start)) = self.covered_part(&self.with_shape(&padded, &shape), &extents) else {
            return self.engine.full(&shape, Scalar::default(), y.dtype());
        };
        let inner = self.inside(&padded, &start, part.shape());
        if inner.shape() == shape.as_slice() {
            return if inner.layout.id == padded.layout.id {
                Ok(padded)
            } else {
                self.engine.cast(&inner, inner.dtype())
            };
        }
        let out = self.engine.full(&shape, Scalar::default(), y.dtype())?;
        let begin: Dims = g.before.iter().map(|&p| (-p).max(0)).collect();
        self.engine.update(&self.inside(&out, &begin, part.shape()), Operand::Array(&inner))?;
        Ok(out)
    }

    /// Returns a view with the given shape, of which the caller uses only the shape.
    fn with_shape(&self, of: &Array, shape: &[i64]) -> Array {
        of.view(of.layout.with(shape, &Dims::from_elem(0, shape.len()), 0))
    }

    /// Returns the transposed weights times `y`: (N, groups, C / groups * kernel, output).
    fn columns(&self, y: &Array, w: &Array) -> Result<Array> {
        let (groups, n) = (self.geometry.groups, y.shape()[0]);
        let w = permuted(&self.matrices(w)?, &[0, 2, 1]);
        let [inner, rows] = [w.shape()[1], w.shape()[2]];
        let columns = product(&self.geometry.output);
        if self.merged(n) {
            let y = permuted(&self.reshape(y, &[n, groups, rows, columns])?, &[1, 2, 0, 3]);
            let product = self.engine.dot(&w, &self.reshape(&y, &[groups, rows, n * columns])?)?;
            let product = self.reshape(&product, &[groups, inner, n, columns])?;
            return Ok(permuted(&product, &[2, 0, 1, 3]));
        }
        let w = w.view(w.layout.broadcast_to(&[n, inner, rows])?);
        let product = self.engine.dot(&w, &self.reshape(y, &[n, rows, columns])?)?;
        self.reshape(&product, &[n, 1, inner, columns])
    }

    /// Returns for each axis how many neighboring kernel elements can be added at once: those whose positions, over all
    /// windows, do not overlap in memory.
    fn disjoint(&self) -> Dims {
        let g = self.geometry;
        let along = |k: usize| {
            let (kernel, stride, dilation) = (g.kernel[k], g.stride[k], g.dilation[k]);
            if (kernel - 1) * dilation < stride || g.output[k] == 1 {
                kernel
            } else if stride % dilation == 0 {
                (stride / dilation).min(kernel)
            } else {
                1
            }
        };
        (0..self.rank()).map(along).collect()
    }

    /// Adds columns to the elements of their windows (col2im). For a depthwise convolution, without columns, it adds
    /// `y` times the weights channel by channel.
    fn add_columns(&self, padded: &Array, columns: Option<Array>, y: &Array, w: &Array) -> Result<()> {
        let (g, r, n) = (self.geometry, self.rank(), padded.shape()[0]);
        let windows = self.windows(padded)?;
        let columns = match columns {
            Some(c) => Some(self.split(&c, n)?),
            None => None,
        };
        let disjoint = if columns.is_some() { self.disjoint() } else { Dims::from_elem(1, r) };
        let blocks: Dims = (0..r).map(|k| (g.kernel[k] + disjoint[k] - 1) / disjoint[k]).collect();
        for (at, block) in indices(&blocks).enumerate() {
            let (mut to, mut term) = (windows.clone(), columns.clone());
            for k in 0..r {
                let start = block[k] * disjoint[k];
                let count = disjoint[k].min(g.kernel[k] - start);
                to = slice(&to, 3 + k, start, count);
                term = term.map(|c| slice(&c, 3 + k, start, count));
            }
            let term = match term {
                Some(term) => term,
                None => {
                    let term = self.map(Fun::Multiply, y, &self.factor(w, &block))?;
                    let shape = dims(&[&[n, g.groups, 1], &Dims::from_elem(1, r), &g.output]);
                    self.reshape(&term, &shape)?
                }
            };
            let sum = if at == 0 { term } else { self.map(Fun::Add, &to, &term)? };
            self.engine.update(&to, Operand::Array(&sum))?;
        }
        Ok(())
    }

    /// Returns columns (N, groups, C / groups * kernel, output) with separate axes for kernel and output.
    fn split(&self, columns: &Array, n: i64) -> Result<Array> {
        let g = self.geometry;
        let channels = columns.shape()[2] / product(&g.kernel);
        self.reshape(columns, &dims(&[&[n, g.groups, channels], &g.kernel, &g.output]))
    }

    fn to_weight(&self, y: &Array, x: &Array) -> Result<Array> {
        let g = self.geometry;
        let (n, out, channels) = (y.shape()[0], y.shape()[1], x.shape()[1] / g.groups);
        let shape = dims(&[&[out, channels], &g.kernel]);
        if shape.contains(&0) || y.layout.size == 0 {
            return self.engine.full(&shape, Scalar::default(), y.dtype());
        }
        let padded = self.padded(x)?;
        if self.is_depthwise(&shape) {
            let windows = self.windows(&padded)?;
            let r = self.rank();
            // (C, 1, kernel…, N, output…)
            let windows = self.images_inside(&windows);
            let own = &y.layout;
            let mut strides: Dims = smallvec![own.strides[1]];
            strides.extend(std::iter::repeat_n(0, r + 1));
            strides.push(own.strides[0]);
            strides.extend_from_slice(&own.strides[2..]);
            let y = y.view(own.with(windows.shape(), &strides, own.offset));
            let terms = self.map(Fun::Multiply, &windows, &y)?;
            let mask = (2 + r..3 + 2 * r).fold(0u32, |mask, k| mask | 1 << k);
            return self.engine.reduce(ReduceOp::Sum, &terms, mask);
        }
        let columns = product(&g.output);
        let inner = channels * product(&g.kernel);
        let step = self.images(n, x.shape()[1], x.dtype().size());
        let mut sum: Option<Array> = None;
        for start in (0..n).step_by(step as usize) {
            let count = step.min(n - start);
            let windows = self.images_inside(&self.windows(&slice(&padded, 0, start, count))?);
            let windows = self.reshape(&windows, &[g.groups, inner, count * columns])?;
            let y = self.reshape(&slice(y, 0, start, count), &[count, g.groups, out / g.groups, columns])?;
            let y = self.reshape(&permuted(&y, &[1, 2, 0, 3]), &[g.groups, out / g.groups, count * columns])?;
            let part = self.engine.dot(&y, &permuted(&windows, &[0, 2, 1]))?;
            sum = Some(match sum {
                Some(before) => self.map(Fun::Add, &before, &part)?,
                None => part,
            });
        }
        self.reshape(&sum.expect("there are images"), &shape)
    }
}

/// Returns all indices of a shape, the last axis fastest.
fn indices(shape: &[i64]) -> impl Iterator<Item = Dims> + '_ {
    (0..product(shape)).map(|at| {
        let mut rest = at;
        let mut index = Dims::from_elem(0, shape.len());
        for k in (0..shape.len()).rev() {
            index[k] = rest % shape[k];
            rest /= shape[k];
        }
        index
    })
}
