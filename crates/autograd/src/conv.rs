//! Convolutions: three products of windows, of which each is the way back of the others.
//!
//! With input x, weights w and output y: [`forward`] makes y of x and w, [`to_input`] spreads y over x by w, [`to_weight`]
//! sums up y times x. All three are linear in both operands, so that the table in [`backward`] closes under derivatives.
//! Windows are views of the padded input; they are copied next to each other for a matrix product, for as many images at
//! a time as [`COLUMNS`] allows, and never kept; devices that have a routine of their own do it piece by piece.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use cuprous_core::convolution::{Geometry, Part};
use cuprous_core::{Array, DType, Dims, Error, Fun, Layout, ReduceOp, Result, RoutineOp, Saved, Scalar};
use cuprous_plan::{Engine, Operand};
use smallvec::{SmallVec, smallvec};

use crate::engine::engine_of;
use crate::formula::{conj, product};
use crate::graph::{Node, Rule, SavedArrays, Tensor};
use crate::record::record;

/// Bytes of windows that are copied next to each other at a time.
const COLUMNS: i64 = 64 << 20;
/// Bytes of all windows up to which a GPU is given products of windows: below, copies and products are launches of a few
/// microseconds either way, and one program. With 64 images of 28 × 28 and 16 to 32 channels (5 to 42 MiB) a training step
/// took 0.205 ms so and 0.184 ms with engines that were measured and may round to TF32, on an H200.
const SMALL: i64 = 1 << 20;
/// The same where nothing may be rounded to TF32: products of windows keep all digits of float32 in their sums.
const SMALL_EXACT: i64 = 48 << 20;
/// Output positions of one image below which all images are one product.
const FEW: i64 = 128;

static TF32: AtomicBool = AtomicBool::new(true);

/// May convolutions of float32 round their operands to TF32?
pub fn tf32() -> bool {
    TF32.load(Relaxed)
}

/// Sets it for convolutions from now on; what it was before.
pub fn set_tf32(on: bool) -> bool {
    TF32.swap(on, Relaxed)
}

/// (N, O, …) of the input (N, C, …) and the weights (O, C / groups, …).
pub fn forward(x: &Tensor, w: &Tensor, geometry: &Arc<Geometry>) -> Result<Tensor> {
    convolve(Part::Output, x, w, geometry)
}

/// (N, C, …): each element of `y` (N, O, …) times the weights, summed where its window lies.
pub fn to_input(y: &Tensor, w: &Tensor, geometry: &Arc<Geometry>) -> Result<Tensor> {
    convolve(Part::Input, y, w, geometry)
}

/// (O, C / groups, …): the sum over all windows of each element of `y` times its window of `x`.
pub fn to_weight(y: &Tensor, x: &Tensor, geometry: &Arc<Geometry>) -> Result<Tensor> {
    convolve(Part::Weight, y, x, geometry)
}

fn convolve(part: Part, a: &Tensor, b: &Tensor, geometry: &Arc<Geometry>) -> Result<Tensor> {
    let work = Work { engine: engine_of(&a.array), geometry };
    let shape = geometry.shape(part, a.shape(), b.shape());
    let shape = shape.ok_or_else(|| Error::value("[convolution] operands and geometry do not fit"))?;
    let call = RoutineOp::Convolve(part, geometry.clone());
    let filled = a.array.layout.size > 0 && b.array.layout.size > 0;
    let out = match part {
        _ if filled
            && !work.by_elements(part, &a.array, &b.array)
            && !work.is_small(part, &a.array, &b.array)
            && work.engine.can(&call) =>
        {
            let (a, b) = (work.straight(&a.array)?, work.straight(&b.array)?);
            work.engine.whole(call, &[&a, &b], geometry.dtype, &shape)?
        }
        Part::Output => work.forward(&a.array, &b.array)?,
        Part::Input => work.to_input(&a.array, &b.array)?,
        Part::Weight => work.to_weight(&a.array, &b.array)?,
    };
    let out = work.contiguous(out)?;
    record(out, &[a, b], |edges| {
        let mut saved: SavedArrays = Default::default();
        saved[0] = edges[1].is_some().then(|| Saved::new(&a.array));
        saved[1] = edges[0].is_some().then(|| Saved::new(&b.array));
        (Rule::Conv(part, geometry.clone()), saved)
    })
}

/// The gradient of operand `k`.
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

struct Work<'a> {
    engine: &'static Arc<Engine>,
    geometry: &'a Geometry,
}

/// Some dimensions one behind the other.
fn dims(parts: &[&[i64]]) -> Dims {
    parts.iter().flat_map(|part| part.iter().copied()).collect()
}

fn part_of(a: &Array, axis: usize, start: i64, length: i64) -> Array {
    let own = &a.layout;
    let mut shape = own.shape.clone();
    shape[axis] = length;
    a.view(own.with(&shape, &own.strides, own.offset + start * own.strides[axis]))
}

fn permuted(a: &Array, order: &[usize]) -> Array {
    a.view(a.layout.permute(order))
}

impl Work<'_> {
    fn rank(&self) -> usize {
        self.geometry.kernel.len()
    }

    /// Results are contiguous, as PyTorch's are. A copy is one more elementwise operation, which fuses with what follows.
    fn contiguous(&self, a: Array) -> Result<Array> {
        if a.layout.is_c_contiguous() { Ok(a) } else { self.engine.cast(&a, a.dtype()) }
    }

    /// The array, or a copy of it in row-major order that starts where libraries like it.
    fn straight(&self, a: &Array) -> Result<Array> {
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

    /// Extents that all windows together reach.
    fn reach(&self) -> Dims {
        let g = self.geometry;
        let along = |k: usize| (g.output[k] - 1) * g.stride[k] + (g.kernel[k] - 1) * g.dilation[k] + 1;
        (0..self.rank()).map(along).collect()
    }

    /// The part of an input (…, spatial) that windows reach, and the place where it lies in what they reach; `None`
    /// where they reach nothing of it.
    fn reached(&self, x: &Array, reach: &[i64]) -> Option<(Array, Dims)> {
        let (mut x, mut start) = (x.clone(), Dims::new());
        let lead = x.layout.ndim() - self.rank();
        for (k, &reach) in reach.iter().enumerate() {
            let before = self.geometry.before[k];
            let begin = (-before).max(0);
            let end = self.geometry.input[k].min(reach - before);
            if end <= begin {
                return None;
            }
            x = part_of(&x, lead + k, begin, end - begin);
            start.push(begin + before);
        }
        Some((x, start))
    }

    fn inside(&self, padded: &Array, start: &[i64], shape: &[i64]) -> Array {
        let lead = padded.layout.ndim() - self.rank();
        (0..self.rank()).fold(padded.clone(), |a, k| part_of(&a, lead + k, start[k], shape[lead + k]))
    }

    /// The input with zeros around it, as far as windows reach.
    fn padded(&self, x: &Array) -> Result<Array> {
        let reach = self.reach();
        let shape = dims(&[&x.shape()[..x.layout.ndim() - self.rank()], &reach]);
        let part = self.reached(x, &reach);
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

    /// All windows of a padded input (N, C, …) as a view (N, groups, C / groups, kernel…, output…).
    fn windows(&self, padded: &Array) -> Result<Array> {
        let (g, own) = (self.geometry, &padded.layout);
        let channels = own.shape[1] / g.groups;
        let shape = dims(&[&[own.shape[0], g.groups, channels], &g.kernel, &g.output]);
        let mut strides: Dims = smallvec![own.strides[0], own.strides[1] * channels, own.strides[1]];
        strides.extend((0..self.rank()).map(|k| own.strides[2 + k].saturating_mul(g.dilation[k])));
        strides.extend((0..self.rank()).map(|k| own.strides[2 + k].saturating_mul(g.stride[k])));
        Ok(padded.view(Layout::try_new(own.dtype, &shape, &strides, own.offset)?))
    }

    /// Images that are worked on together.
    fn images(&self, n: i64, channels: i64, size: usize) -> i64 {
        let each = product(&[channels, product(&self.geometry.kernel), product(&self.geometry.output), size as i64]);
        (COLUMNS / each.max(1)).clamp(1, n.max(1))
    }

    /// Is it cheaper on a GPU to copy all windows than to call a library? The copies and products of a network are then
    /// one program.
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

    /// Does each output channel see one input channel alone, and each input channel one output channel?
    fn is_depthwise(&self, w: &[i64]) -> bool {
        self.geometry.groups > 1 && w[1] == 1 && w[0] == self.geometry.groups
    }

    /// Is it better done as fused multiplications, one for each element of the kernel?
    fn by_elements(&self, part: Part, a: &Array, b: &Array) -> bool {
        let groups = self.geometry.groups;
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
            let part = self.forward_part(&part_of(&padded, 0, start, count), w)?;
            let part = self.reshape(&part, &dims(&[&[count, out], &g.output]))?;
            self.engine.update(&part_of(&y, 0, start, count), Operand::Array(&part))?;
        }
        Ok(y)
    }

    /// Are all images one product, with the images among the columns?
    fn merged(&self, n: i64) -> bool {
        self.geometry.groups > 1 || (n > 1 && product(&self.geometry.output) < FEW)
    }

    /// The weights as (groups, O / groups, C / groups * kernel).
    fn matrices(&self, w: &Array) -> Result<Array> {
        let groups = self.geometry.groups;
        self.reshape(w, &[groups, w.shape()[0] / groups, product(&w.shape()[1..])])
    }

    /// (N, groups, O / groups, output).
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

    /// Windows as (groups, C / groups, kernel…, N, output…).
    fn images_inside(&self, windows: &Array) -> Array {
        let r = self.rank();
        let order: SmallVec<[usize; 9]> = (1..3 + r).chain([0]).chain(3 + r..3 + 2 * r).collect();
        permuted(windows, &order)
    }

    /// One multiplication for each element of the kernel, all of them fused.
    fn depthwise(&self, padded: &Array, w: &Array) -> Result<Array> {
        let windows = self.windows(padded)?;
        let shape = dims(&[&padded.shape()[..2], &self.geometry.output]);
        let mut sum: Option<Array> = None;
        for place in places(&self.geometry.kernel) {
            let term = self.map(Fun::Multiply, &self.tap(&windows, &place, &shape), &self.factor(w, &place))?;
            sum = Some(match sum {
                Some(before) => self.map(Fun::Add, &before, &term)?,
                None => term,
            });
        }
        Ok(sum.expect("a kernel is not empty"))
    }

    /// What the element at `place` of the kernel meets, as (N, C, output…).
    fn tap(&self, windows: &Array, place: &[i64], shape: &[i64]) -> Array {
        let (own, r) = (&windows.layout, self.rank());
        let offset = own.offset + (0..r).map(|k| place[k] * own.strides[3 + k]).sum::<i64>();
        let mut strides: Dims =
            smallvec![own.strides[0], if own.shape[2] > 1 { own.strides[2] } else { own.strides[1] }];
        strides.extend_from_slice(&own.strides[3 + r..]);
        windows.view(own.with(shape, &strides, offset))
    }

    /// The weights (C, 1, kernel…) at `place`, as (C, 1…).
    fn factor(&self, w: &Array, place: &[i64]) -> Array {
        let (own, r) = (&w.layout, self.rank());
        let offset = own.offset + (0..r).map(|k| place[k] * own.strides[2 + k]).sum::<i64>();
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
        let reach = self.reach();
        let padded = self.engine.full(&dims(&[&[n, channels], &reach]), Scalar::default(), y.dtype())?;
        let step = self.images(n, channels, y.dtype().size());
        for start in (0..n).step_by(step as usize) {
            let count = step.min(n - start);
            let columns =
                if self.is_depthwise(w.shape()) { None } else { Some(self.columns(&part_of(y, 0, start, count), w)?) };
            self.spread(&part_of(&padded, 0, start, count), columns, &part_of(y, 0, start, count), w)?;
        }
        let Some((part, at)) = self.reached(&self.probe(&padded, &shape), &reach) else {
            return self.engine.full(&shape, Scalar::default(), y.dtype());
        };
        let got = self.inside(&padded, &at, part.shape());
        if got.shape() == shape.as_slice() {
            return if got.layout.id == padded.layout.id { Ok(padded) } else { self.engine.cast(&got, got.dtype()) };
        }
        let out = self.engine.full(&shape, Scalar::default(), y.dtype())?;
        let begin: Dims = g.before.iter().map(|&p| (-p).max(0)).collect();
        self.engine.update(&self.inside(&out, &begin, part.shape()), Operand::Array(&got))?;
        Ok(out)
    }

    /// A handle of the input's shape, of which only the shape is used.
    fn probe(&self, of: &Array, shape: &[i64]) -> Array {
        of.view(of.layout.with(shape, &Dims::from_elem(0, shape.len()), 0))
    }

    /// The weights times `y`: (N, groups, C / groups * kernel, output).
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

    /// Elements of the kernel that lie apart in memory for all windows, per axis: they are added at once.
    fn apart(&self) -> Dims {
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

    /// Adds columns (or, channel by channel, `y` times the weights) to where their windows lie.
    fn spread(&self, padded: &Array, columns: Option<Array>, y: &Array, w: &Array) -> Result<()> {
        let (g, r, n) = (self.geometry, self.rank(), padded.shape()[0]);
        let windows = self.windows(padded)?;
        let columns = match columns {
            Some(c) => Some(self.split(&c, n)?),
            None => None,
        };
        let apart = if columns.is_some() { self.apart() } else { Dims::from_elem(1, r) };
        let blocks: Dims = (0..r).map(|k| (g.kernel[k] + apart[k] - 1) / apart[k]).collect();
        for (at, block) in places(&blocks).enumerate() {
            let (mut to, mut term) = (windows.clone(), columns.clone());
            for k in 0..r {
                let start = block[k] * apart[k];
                let count = apart[k].min(g.kernel[k] - start);
                to = part_of(&to, 3 + k, start, count);
                term = term.map(|c| part_of(&c, 3 + k, start, count));
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

    /// Columns (N, groups, C / groups * kernel, output) with all axes apart.
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
            let seen = y.view(own.with(windows.shape(), &strides, own.offset));
            let terms = self.map(Fun::Multiply, &windows, &seen)?;
            let mask = (2 + r..3 + 2 * r).fold(0u32, |mask, k| mask | 1 << k);
            return self.engine.reduce(ReduceOp::Sum, &terms, mask);
        }
        let columns = product(&g.output);
        let inner = channels * product(&g.kernel);
        let step = self.images(n, x.shape()[1], x.dtype().size());
        let mut sum: Option<Array> = None;
        for start in (0..n).step_by(step as usize) {
            let count = step.min(n - start);
            let windows = self.images_inside(&self.windows(&part_of(&padded, 0, start, count))?);
            let windows = self.reshape(&windows, &[g.groups, inner, count * columns])?;
            let y = self.reshape(&part_of(y, 0, start, count), &[count, g.groups, out / g.groups, columns])?;
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

/// All indices of a shape, the last axis fastest.
fn places(shape: &[i64]) -> impl Iterator<Item = Dims> + '_ {
    (0..product(shape)).map(|at| {
        let mut rest = at;
        let mut place = Dims::from_elem(0, shape.len());
        for k in (0..shape.len()).rev() {
            place[k] = rest % shape[k];
            rest /= shape[k];
        }
        place
    })
}
