//! Accumulates the gradient of a whole value from the gradients of its reads.
//!
//! Operands are read through layouts: broadcasting is a stride of 0, and a transposed or sliced view is a layout like
//! any other. So only this module sums gradients over broadcast axes, scatters them from views into the whole value,
//! and casts them to its dtype.

use std::cell::Cell;
use std::sync::Arc;

use cuprous_core::{DType, Dims, Fun, Layout, LayoutRef, ReduceOp, Result};
use smallvec::SmallVec;

use crate::add_at::add_at;
use crate::arg::Arg;
use crate::graph::{HookKind, Tensor, View, locked};
use crate::ops;

/// A contribution to the gradient of a value: the gradient of one read.
pub(crate) struct Contribution {
    /// The layout of the value's memory through which it was read.
    pub(crate) read: LayoutRef,
    pub(crate) via: Option<Arc<View>>,
    pub(crate) g: Tensor,
}

pub(crate) type Contributions = SmallVec<[Contribution; 2]>;

/// Returns the gradient of the whole value of layout `base`. Hooks on views run first, from the innermost view
/// outwards.
pub(crate) fn accumulate(mut contributions: Contributions, base: &LayoutRef) -> Result<Tensor> {
    while let Some(view) = innermost_hooked(&contributions) {
        let inside = |c: &Contribution| chain(&c.via).any(|v| Arc::ptr_eq(v, &view));
        let (inner, outer): (Contributions, Contributions) = contributions.into_iter().partition(inside);
        let g = sum(inner, &view.layout)?;
        let hooks = locked(&view.hooks).iter().map(|hook| hook.kind.clone()).collect();
        contributions = outer;
        let (read, via) = (view.layout.clone(), view.parent.clone());
        contributions.push(Contribution { read, via, g: run_hooks(hooks, g)? });
    }
    sum(contributions, base)
}

/// Runs hooks on a gradient and returns the gradient that they leave.
pub(crate) fn run_hooks(hooks: Vec<HookKind>, g: Tensor) -> Result<Tensor> {
    // Hooks see the gradient row-major, and the same memory each time.
    let mut g = if g.array.layout.engine_order { ops::contiguous(&g)? } else { g };
    for hook in hooks {
        match hook {
            HookKind::Call(hook) => {
                if let Some(other) = hook.call(&g)? {
                    g = other;
                }
            }
            HookKind::Retain(slot) => *locked(&slot) = Some(g.clone()),
            HookKind::PostAccumulate(_) => {}
        }
    }
    Ok(g)
}

/// Returns a view and the views from which it was made, innermost first.
fn chain(via: &Option<Arc<View>>) -> impl Iterator<Item = &Arc<View>> {
    std::iter::successors(via.as_ref(), |view| view.parent.as_ref())
}

/// Returns the view with hooks that is farthest from the whole value.
fn innermost_hooked(contributions: &Contributions) -> Option<Arc<View>> {
    let hooked = contributions.iter().flat_map(|c| chain(&c.via)).filter(|view| !locked(&view.hooks).is_empty());
    hooked.max_by_key(|view| chain(&view.parent).count()).cloned()
}

fn add(total: &mut Option<Tensor>, g: Tensor) -> Result<()> {
    *total = Some(match total.take() {
        None => g,
        Some(before) => ops::map(Fun::Add, &[Arg::Tensor(&before), Arg::Tensor(&g)], None)?,
    });
    Ok(())
}

/// Returns the sum of the contributions in the layout `base`.
fn sum(mut contributions: Contributions, base: &LayoutRef) -> Result<Tensor> {
    if let [only] = &contributions[..]
        && only.g.dtype() == base.dtype
    {
        if only.read.id == base.id {
            return Ok(contributions.pop().expect("there is one contribution").g);
        }
        if is_transposed(&only.read, base) {
            return Ok(only.g.view(only.g.array.layout.permute(&[1, 0])));
        }
    }
    if let Some(whole) = as_one_array(&contributions, base) {
        return Ok(whole);
    }
    let mut total: Option<Tensor> = None;
    let mut parts: SmallVec<[(Tensor, LayoutRef); 2]> = SmallVec::new();
    // If elements of the value share memory, the gradient of that memory is divided among them.
    let shared = !base.is_injective();
    let like = contributions.first().map(|c| c.g.clone()).expect("a value without gradients is not visited");
    for Contribution { g, read, .. } in contributions {
        let g = if g.dtype() == base.dtype { g } else { ops::cast(&g, base.dtype)? };
        if read.id == base.id {
            add(&mut total, g)?;
            continue;
        }
        if read.size == 0 {
            continue;
        }
        if let Some(mask) = leading_broadcast(&read, base) {
            add(&mut total, ops::reduce(ReduceOp::Sum, &g, mask, false)?)?;
            continue;
        }
        let (g, read) = in_memory_order(&sum_broadcast(g, &read)?, &without_broadcast(&read));
        match as_whole(&g, &read, base)? {
            Some(g) => add(&mut total, g)?,
            None => parts.push((g, read)),
        }
    }
    if parts.is_empty() {
        return match total {
            Some(g) => Ok(g),
            None => ops::full(&like, &base.shape, 0.0, base.dtype),
        };
    }
    // New memory in which the value has its own layout, moved to begin at offset 0. Reads by strides may lie outside of
    // the value.
    let (low, high) = span_of(parts.iter().map(|(_, read)| read).chain([base]).map(|layout| &**layout));
    let flat = ops::full(&like, &[high - low + 1], 0.0, base.dtype)?;
    let view =
        |layout: &Layout| flat.view(Layout::new(base.dtype, &layout.shape, &layout.strides, layout.offset - low));
    let is_zero = Cell::new(shared || total.is_none());
    if let Some(g) = total.as_ref().filter(|_| !shared) {
        ops::update(&view(base), Arg::Tensor(g))?;
    }
    let add_to = |g: &Tensor, read: &Layout| -> Result<()> {
        let target = view(read);
        if is_zero.replace(false) {
            return ops::update(&target, Arg::Tensor(g));
        }
        let both = ops::map(Fun::Add, &[Arg::Tensor(&target), Arg::Tensor(g)], None)?;
        ops::update(&target, Arg::Tensor(&both))
    };
    for (g, read) in &parts {
        let Some(axes) = overlapping_axes(read) else {
            is_zero.set(false);
            let positions = Layout::try_new(DType::I64, &read.shape, &read.strides, read.offset - low)?;
            add_at(&flat, &ops::iota(g, &positions)?, g)?;
            continue;
        };
        // Overlapping windows: for each index along `axes`, the elements of all windows at once do not overlap.
        let count: i64 = axes.iter().map(|&k| read.shape[k]).product();
        for flat_index in 0..count {
            let mut rest = flat_index;
            let own = &g.array.layout;
            let (mut shape, mut start, mut from) = (read.shape.clone(), read.offset, own.offset);
            for &k in axes.iter().rev() {
                start += rest % read.shape[k] * read.strides[k];
                from += rest % read.shape[k] * own.strides[k];
                rest /= read.shape[k];
                shape[k] = 1;
            }
            let part = g.view(own.with(&shape, &own.strides, from));
            add_to(&part, &read.with(&shape, &read.strides, start))?;
        }
    }
    if shared {
        let count = ops::full(&like, &[high - low + 1], 0.0, base.dtype)?;
        let own = count.view(Layout::new(base.dtype, &base.shape, &base.strides, base.offset - low));
        let positions = Layout::new(DType::I64, &base.shape, &base.strides, base.offset - low);
        let ones = ops::full(&like, &base.shape, 1.0, base.dtype)?;
        add_at(&count, &ops::iota(&like, &positions)?, &ones)?;
        add(&mut total, ops::map(Fun::Divide, &[Arg::Tensor(&view(base)), Arg::Tensor(&own)], None)?)?;
        return Ok(total.expect("a part was added"));
    }
    Ok(view(base))
}

/// Returns the gradient of the whole value as a view, if the contributions are parts of one array that together cover
/// the value once, and lie in that array as the reads lie in the value.
fn as_one_array(contributions: &Contributions, base: &LayoutRef) -> Option<Tensor> {
    let [first, _, ..] = &contributions[..] else { return None };
    let shift = |c: &Contribution| c.g.array.layout.offset - c.read.offset;
    let size: i64 = contributions.iter().map(|c| c.read.size).sum();
    let (low, high) = base.span()?;
    let inside = |c: &Contribution| c.read.span().is_none_or(|(from, to)| low <= from && to <= high);
    let alike = |c: &Contribution| {
        let (own, read) = (&c.g.array.layout, &c.read);
        let together = Arc::ptr_eq(&c.g.array.storage, &first.g.array.storage) && shift(c) == shift(first);
        together
            && !c.g.requires_grad()
            && own.dtype == base.dtype
            && own.shape == read.shape
            && own.strides == read.strides
    };
    // Reads by strides may lie outside of the value or in its gaps.
    let covered = size == base.size && base.size == high - low + 1 && contributions.iter().all(inside);
    if !covered || !contributions.iter().all(alike) || !are_disjoint(contributions) {
        return None;
    }
    Some(first.g.view(base.with(&base.shape, &base.strides, base.offset + shift(first))))
}

/// Returns true if the reads are slices of one shape and strides, equally spaced along a further axis, that do not
/// overlap.
fn are_disjoint(contributions: &Contributions) -> bool {
    let read = &contributions[0].read;
    let mut starts: SmallVec<[i64; 4]> = contributions.iter().map(|c| c.read.offset).collect();
    starts.sort_unstable();
    let steps = starts.windows(2).map(|w| w[1] - w[0]);
    let step = starts[1] - starts[0];
    if !contributions.iter().all(|c| c.read.shape == read.shape && c.read.strides == read.strides)
        || !steps.clone().all(|s| s == step)
    {
        return false;
    }
    let (mut shape, mut strides) = (read.shape.clone(), read.strides.clone());
    shape.push(contributions.len() as i64);
    strides.push(step);
    read.with(&shape, &strides, 0).is_injective()
}

/// Returns true if both layouts are the same matrix, one of them transposed.
fn is_transposed(read: &Layout, base: &Layout) -> bool {
    match (&read.shape[..], &read.strides[..], &base.shape[..], &base.strides[..]) {
        (&[a, b], &[s, t], &[c, d], &[u, v]) => (a, b, s, t) == (d, c, v, u) && read.offset == base.offset,
        _ => false,
    }
}

/// Returns the leading axes, as bits, if `read` is the whole value broadcast along them, as a bias is.
fn leading_broadcast(read: &Layout, base: &Layout) -> Option<u32> {
    let lead = read.ndim().checked_sub(base.ndim())?;
    let rest = read.shape[lead..] == base.shape[..] && read.strides[lead..] == base.strides[..];
    let front = read.strides[..lead].iter().all(|&s| s == 0);
    (lead > 0 && rest && front && read.offset == base.offset).then(|| (1u32 << lead) - 1)
}

/// Sums over the axes of `read` that are broadcast, and drops them and axes of extent 1.
fn sum_broadcast(g: Tensor, read: &Layout) -> Result<Tensor> {
    let repeated = |k: usize| read.strides[k] == 0 || read.shape[k] == 1;
    let mask = (0..read.ndim()).filter(|&k| repeated(k) && g.shape()[k] > 1).fold(0u32, |mask, k| mask | 1 << k);
    let g = if mask == 0 { g } else { ops::reduce(ReduceOp::Sum, &g, mask, true)? };
    let layout = &g.array.layout;
    let left = |d: &Dims| (0..read.ndim()).filter(|&k| !repeated(k)).map(|k| d[k]).collect::<Dims>();
    let squeezed = layout.with(&left(&layout.shape), &left(&layout.strides), layout.offset);
    Ok(if squeezed.id == layout.id { g } else { g.view(squeezed) })
}

/// Returns `read` without the axes that [`sum_broadcast`] drops.
fn without_broadcast(read: &Layout) -> LayoutRef {
    let left = |d: &Dims| {
        (0..read.ndim()).filter(|&k| read.strides[k] != 0 && read.shape[k] != 1).map(|k| d[k]).collect::<Dims>()
    };
    read.with(&left(&read.shape), &left(&read.strides), read.offset)
}

/// Returns the same elements in the order of `read`'s memory: its strides become positive and descend.
fn in_memory_order(g: &Tensor, read: &Layout) -> (Tensor, LayoutRef) {
    let mut order: SmallVec<[usize; 6]> = (0..read.ndim()).collect();
    order.sort_by_key(|&k| -read.strides[k].abs());
    let own = &g.array.layout;
    let (mut shape, mut strides, mut theirs) = (Dims::new(), Dims::new(), Dims::new());
    let (mut offset, mut start) = (own.offset, read.offset);
    for k in order {
        let (n, mut s, mut t) = (read.shape[k], own.strides[k], read.strides[k]);
        if t < 0 {
            offset += (n - 1) * s;
            start += (n - 1) * t;
            (s, t) = (-s, -t);
        }
        shape.push(n);
        strides.push(s);
        theirs.push(t);
    }
    let layout = own.with(&shape, &strides, offset);
    let g = if layout.id == own.id { g.clone() } else { g.view(layout) };
    (g, read.with(&shape, &theirs, start))
}

/// The most parts into which overlapping windows are split.
const MAX_PARTS: i64 = 256;

/// Returns axes such that for each index along them the rest of `read` is injective, with as few indices as possible.
/// `None` if there are more than [`MAX_PARTS`]. `read` is in memory order.
fn overlapping_axes(read: &Layout) -> Option<SmallVec<[usize; 4]>> {
    let n = read.ndim();
    let indices = |set: u32| (0..n).filter(|&k| set >> k & 1 == 1).map(|k| read.shape[k]).product::<i64>();
    let rest = |set: u32| {
        let left = |d: &Dims| (0..n).filter(|&k| set >> k & 1 == 0).map(|k| d[k]).collect::<Dims>();
        read.with(&left(&read.shape), &left(&read.strides), read.offset)
    };
    if read.is_injective() {
        return Some(SmallVec::new());
    }
    let sets = (1..1u32 << n.min(12)).filter(|&set| indices(set) <= MAX_PARTS && rest(set).is_injective());
    let set = sets.min_by_key(|&set| indices(set))?;
    Some((0..n).filter(|&k| set >> k & 1 == 1).collect())
}

/// Returns the gradient in the shape of the whole value, if `read` covers all of it once. `read` is in memory order.
fn as_whole(g: &Tensor, read: &Layout, base: &LayoutRef) -> Result<Option<Tensor>> {
    if read.size != base.size || read.offset != base.offset || !read.is_injective() {
        return Ok(None);
    }
    let mut order: SmallVec<[usize; 6]> = (0..base.ndim()).filter(|&k| base.shape[k] != 1).collect();
    order.sort_by_key(|&k| -base.strides[k].abs());
    if order.iter().any(|&k| base.strides[k] <= 0) {
        return Ok(None);
    }
    let sorted: Dims = order.iter().map(|&k| base.shape[k]).collect();
    let strides: Dims = order.iter().map(|&k| base.strides[k]).collect();
    if merged(&sorted, &strides) != merged(&read.shape, &read.strides) {
        return Ok(None);
    }
    // In memory order both list the same elements, so one is the other reshaped.
    let g = if g.shape() == sorted.as_slice() { g.clone() } else { ops::reshape(g, &sorted)? };
    let own = &g.array.layout;
    let mut strides = Dims::from_elem(1, base.ndim());
    for (at, &k) in order.iter().enumerate() {
        strides[k] = own.strides[at];
    }
    for k in (0..base.ndim()).rev() {
        if base.shape[k] == 1 {
            strides[k] = if k + 1 < base.ndim() { strides[k + 1] * base.shape[k + 1] } else { 1 };
        }
    }
    let layout = own.with(&base.shape, &strides, own.offset);
    Ok(Some(if layout.id == own.id { g } else { g.view(layout) }))
}

/// Returns the lowest and highest element that any of some layouts reaches; (0, -1) if there is none.
pub(crate) fn span_of<'a>(layouts: impl IntoIterator<Item = &'a Layout>) -> (i64, i64) {
    let spans = layouts.into_iter().filter_map(Layout::span);
    spans.reduce(|(low, high), (from, to)| (low.min(from), high.max(to))).unwrap_or((0, -1))
}

/// Returns extents and strides in memory order with axes merged where they can be: equal for the same elements.
fn merged(shape: &Dims, strides: &Dims) -> SmallVec<[(i64, i64); 4]> {
    let mut axes: SmallVec<[(i64, i64); 4]> = SmallVec::new();
    for (&n, &s) in shape.iter().zip(strides) {
        match axes.last_mut() {
            _ if n == 1 => {}
            Some((count, stride)) if *stride == n * s => (*count, *stride) = (*count * n, s),
            _ => axes.push((n, s)),
        }
    }
    axes
}

/// Returns the gradient of a whole value in a layout with the strides of `base`, and what to add to offsets in the
/// value's memory to find the same elements in the gradient's.
pub(crate) fn in_layout(g: &Tensor, base: &Layout) -> Result<(Tensor, i64)> {
    let own = &g.array.layout;
    let (low, high) = base.span().unwrap_or((0, -1));
    if own.strides == base.strides {
        return Ok((g.clone(), own.offset - base.offset));
    }
    let flat = ops::full(g, &[high - low + 1], 0.0, g.dtype())?;
    let target = flat.view(Layout::new(g.dtype(), &base.shape, &base.strides, base.offset - low));
    ops::update(&target, Arg::Tensor(g))?;
    Ok((target, -low))
}
