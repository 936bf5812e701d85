//! From the gradients of what was read to the gradient of the whole value.
//!
//! Operands are read through layouts: broadcasting is a stride of 0, a transposed or sliced view is a layout like any
//! other. So this is the one place where gradients are summed over broadcast axes, brought back from views, and cast.

use std::cell::Cell;
use std::sync::Arc;

use cuprous_core::{DType, Dims, Fun, Layout, LayoutRef, ReduceOp, Result};
use smallvec::SmallVec;

use crate::add_at::add_at;
use crate::node::{Listener, View, locked};
use crate::{Arg, Tensor, ops};

/// The gradient of something that was read through a layout of the value's memory.
pub(crate) struct Piece {
    pub(crate) read: LayoutRef,
    pub(crate) via: Option<Arc<View>>,
    pub(crate) g: Tensor,
}

pub(crate) type Pieces = SmallVec<[Piece; 2]>;

/// The gradient of the whole value, which lies as `base`; those who listen to views on the way are told first.
pub(crate) fn assemble(mut pieces: Pieces, base: &LayoutRef) -> Result<Tensor> {
    while let Some(view) = deepest_tapped(&pieces) {
        let inside = |piece: &Piece| chain(&piece.via).any(|v| Arc::ptr_eq(v, &view));
        let (inner, outer): (Pieces, Pieces) = pieces.into_iter().partition(inside);
        let g = merge(inner, &view.layout)?;
        let taps = locked(&view.taps).iter().map(|tap| tap.listener.clone()).collect();
        pieces = outer;
        pieces.push(Piece { read: view.layout.clone(), via: view.parent.clone(), g: tell(taps, g)? });
    }
    merge(pieces, base)
}

/// Calls those who listen.
pub(crate) fn tell(listeners: Vec<Listener>, mut g: Tensor) -> Result<Tensor> {
    for listener in listeners {
        match listener {
            Listener::Hook(hook) => {
                if let Some(other) = hook.call(&g)? {
                    g = other;
                }
            }
            Listener::Keep(place) => *locked(&place) = Some(g.clone()),
            Listener::After(_) => {}
        }
    }
    Ok(g)
}

fn chain(via: &Option<Arc<View>>) -> impl Iterator<Item = &Arc<View>> {
    std::iter::successors(via.as_ref(), |view| view.parent.as_ref())
}

/// The view with listeners that is farthest from the whole value.
fn deepest_tapped(pieces: &Pieces) -> Option<Arc<View>> {
    let tapped = pieces.iter().flat_map(|piece| chain(&piece.via)).filter(|view| !locked(&view.taps).is_empty());
    tapped.max_by_key(|view| chain(&view.parent).count()).cloned()
}

fn add(sum: &mut Option<Tensor>, g: Tensor) -> Result<()> {
    *sum = Some(match sum.take() {
        None => g,
        Some(before) => ops::map(Fun::Add, &[Arg::Tensor(&before), Arg::Tensor(&g)], None)?,
    });
    Ok(())
}

fn merge(mut pieces: Pieces, base: &LayoutRef) -> Result<Tensor> {
    if let [piece] = &pieces[..]
        && piece.g.dtype() == base.dtype
    {
        if piece.read.id == base.id {
            return Ok(pieces.pop().expect("there is one").g);
        }
        if is_transposed(&piece.read, base) {
            return Ok(piece.g.view(piece.g.array.layout.permute(&[1, 0])));
        }
    }
    if let Some(whole) = filled(&pieces, base) {
        return Ok(whole);
    }
    let mut sum: Option<Tensor> = None;
    let mut parts: SmallVec<[(Tensor, LayoutRef); 2]> = SmallVec::new();
    // If elements of the value share memory, they divide the gradient of that memory among themselves.
    let shared = !is_injective(base);
    let device = pieces.first().map(|piece| piece.g.clone()).expect("a value without gradients is not visited");
    for piece in pieces {
        let g = if piece.g.dtype() == base.dtype { piece.g } else { ops::cast(&piece.g, base.dtype)? };
        if piece.read.id == base.id {
            add(&mut sum, g)?;
            continue;
        }
        if piece.read.size == 0 {
            continue;
        }
        if let Some(mask) = repeated_in_front(&piece.read, base) {
            add(&mut sum, ops::reduce(ReduceOp::Sum, &g, mask, false)?)?;
            continue;
        }
        let (g, read) = upright(&collapse(g, &piece.read)?, &collapse_layout(&piece.read));
        match covers(&g, &read, base)? {
            Some(g) => add(&mut sum, g)?,
            None => parts.push((g, read)),
        }
    }
    if parts.is_empty() {
        return match sum {
            Some(g) => Ok(g),
            None => ops::full(&device, &base.shape, 0.0, base.dtype),
        };
    }
    // A fresh piece of memory in which the value lies as in its own, from offset 0 on.
    let (low, high) = base.span().unwrap_or((0, -1));
    let flat = ops::full(&device, &[high - low + 1], 0.0, base.dtype)?;
    let seen =
        |layout: &Layout| flat.view(Layout::new(base.dtype, &layout.shape, &layout.strides, layout.offset - low));
    let fresh = Cell::new(shared || sum.is_none());
    if let Some(g) = sum.as_ref().filter(|_| !shared) {
        ops::update(&seen(base), Arg::Tensor(g))?;
    }
    let put = |g: &Tensor, read: &Layout| -> Result<()> {
        let place = seen(read);
        if fresh.replace(false) {
            return ops::update(&place, Arg::Tensor(g));
        }
        let both = ops::map(Fun::Add, &[Arg::Tensor(&place), Arg::Tensor(g)], None)?;
        ops::update(&place, Arg::Tensor(&both))
    };
    for (g, read) in &parts {
        let Some(axes) = overlapping(read) else {
            // Elements are added up one by one.
            fresh.set(false);
            let places = Layout::try_new(DType::I64, &read.shape, &read.strides, read.offset - low)?;
            add_at(&flat, &ops::iota(g, &places)?, g)?;
            continue;
        };
        // Windows that overlap: those elements of all windows at once that lie apart.
        let count: i64 = axes.iter().map(|&k| read.shape[k]).product();
        for at in 0..count {
            let mut rest = at;
            let own = &g.array.layout;
            let (mut shape, mut start, mut from) = (read.shape.clone(), read.offset, own.offset);
            for &k in axes.iter().rev() {
                start += rest % read.shape[k] * read.strides[k];
                from += rest % read.shape[k] * own.strides[k];
                rest /= read.shape[k];
                shape[k] = 1;
            }
            let piece = g.view(own.with(&shape, &own.strides, from));
            put(&piece, &read.with(&shape, &read.strides, start))?;
        }
    }
    if shared {
        let count = ops::full(&device, &[high - low + 1], 0.0, base.dtype)?;
        let own = count.view(Layout::new(base.dtype, &base.shape, &base.strides, base.offset - low));
        let places = Layout::new(DType::I64, &base.shape, &base.strides, base.offset - low);
        let ones = ops::full(&device, &base.shape, 1.0, base.dtype)?;
        add_at(&count, &ops::iota(&device, &places)?, &ones)?;
        add(&mut sum, ops::map(Fun::Divide, &[Arg::Tensor(&seen(base)), Arg::Tensor(&own)], None)?)?;
        return Ok(sum.expect("a part was added"));
    }
    Ok(seen(base))
}

/// The gradient of the whole value, if the pieces are parts of one array that lie in it as what was read lies in the value,
/// and are all of it, each once.
fn filled(pieces: &Pieces, base: &LayoutRef) -> Option<Tensor> {
    let [first, _, ..] = &pieces[..] else { return None };
    let shift = |piece: &Piece| piece.g.array.layout.offset - piece.read.offset;
    let size: i64 = pieces.iter().map(|piece| piece.read.size).sum();
    let alike = |piece: &Piece| {
        let (own, read) = (&piece.g.array.layout, &piece.read);
        let together = Arc::ptr_eq(&piece.g.array.storage, &first.g.array.storage) && shift(piece) == shift(first);
        together
            && !piece.g.requires_grad()
            && own.dtype == base.dtype
            && own.shape == read.shape
            && own.strides == read.strides
    };
    if size != base.size || !pieces.iter().all(alike) || !apart(pieces) {
        return None;
    }
    Some(first.g.view(base.with(&base.shape, &base.strides, base.offset + shift(first))))
}

/// Are the pieces slices of one shape and strides, of which none meets another: side by side along a further axis?
fn apart(pieces: &Pieces) -> bool {
    let read = &pieces[0].read;
    let mut starts: SmallVec<[i64; 4]> = pieces.iter().map(|piece| piece.read.offset).collect();
    starts.sort_unstable();
    let steps = starts.windows(2).map(|w| w[1] - w[0]);
    let step = starts[1] - starts[0];
    if !pieces.iter().all(|piece| piece.read.shape == read.shape && piece.read.strides == read.strides)
        || !steps.clone().all(|s| s == step)
    {
        return false;
    }
    let (mut shape, mut strides) = (read.shape.clone(), read.strides.clone());
    shape.push(pieces.len() as i64);
    strides.push(step);
    is_injective(&read.with(&shape, &strides, 0))
}

/// Is one the other matrix with its axes exchanged?
fn is_transposed(read: &Layout, base: &Layout) -> bool {
    match (&read.shape[..], &read.strides[..], &base.shape[..], &base.strides[..]) {
        (&[a, b], &[s, t], &[c, d], &[u, v]) => (a, b, s, t) == (d, c, v, u) && read.offset == base.offset,
        _ => false,
    }
}

/// The leading axes, as bits, if all that a layout does is to repeat the whole value along them: a bias.
fn repeated_in_front(read: &Layout, base: &Layout) -> Option<u32> {
    let lead = read.ndim().checked_sub(base.ndim())?;
    let rest = read.shape[lead..] == base.shape[..] && read.strides[lead..] == base.strides[..];
    let front = read.strides[..lead].iter().all(|&s| s == 0);
    (lead > 0 && rest && front && read.offset == base.offset).then(|| (1u32 << lead) - 1)
}

/// Sums over the axes along which one element was read again and again, and leaves out axes of extent 1.
fn collapse(g: Tensor, read: &Layout) -> Result<Tensor> {
    let repeated = |k: usize| read.strides[k] == 0 || read.shape[k] == 1;
    let mask = (0..read.ndim()).filter(|&k| repeated(k) && g.shape()[k] > 1).fold(0u32, |mask, k| mask | 1 << k);
    let g = if mask == 0 { g } else { ops::reduce(ReduceOp::Sum, &g, mask, true)? };
    let layout = &g.array.layout;
    let left = |d: &Dims| (0..read.ndim()).filter(|&k| !repeated(k)).map(|k| d[k]).collect::<Dims>();
    let squeezed = layout.with(&left(&layout.shape), &left(&layout.strides), layout.offset);
    Ok(if squeezed.id == layout.id { g } else { g.view(squeezed) })
}

fn collapse_layout(read: &Layout) -> LayoutRef {
    let left = |d: &Dims| {
        (0..read.ndim()).filter(|&k| read.strides[k] != 0 && read.shape[k] != 1).map(|k| d[k]).collect::<Dims>()
    };
    read.with(&left(&read.shape), &left(&read.strides), read.offset)
}

/// The same elements in the order of memory: strides positive and from the largest to the smallest.
fn upright(g: &Tensor, read: &Layout) -> (Tensor, LayoutRef) {
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

/// Returns true if different indices are known to be different elements of memory: every axis steps over all that the
/// axes with smaller strides reach.
pub(crate) fn is_injective(layout: &Layout) -> bool {
    if layout.size <= 1 || layout.is_c_contiguous() {
        return true;
    }
    let axes = layout.shape.iter().zip(&layout.strides).filter(|&(&n, _)| n != 1);
    let mut axes: SmallVec<[(i64, i64); 6]> = axes.map(|(&n, &s)| (s.saturating_abs(), n)).collect();
    axes.sort_unstable();
    let mut reach = 0_i64;
    axes.into_iter().all(|(s, n)| {
        let apart = s > reach;
        reach = reach.saturating_add((n - 1).saturating_mul(s));
        apart
    })
}

/// Pieces in which overlapping windows are added, at most.
const PIECES: i64 = 256;

/// The axes, of as few places as possible, at each place of which what is left is injective; `None` where there are too
/// many places. `read` is upright.
fn overlapping(read: &Layout) -> Option<SmallVec<[usize; 4]>> {
    let n = read.ndim();
    let places = |set: u32| (0..n).filter(|&k| set >> k & 1 == 1).map(|k| read.shape[k]).product::<i64>();
    let rest = |set: u32| {
        let left = |d: &Dims| (0..n).filter(|&k| set >> k & 1 == 0).map(|k| d[k]).collect::<Dims>();
        read.with(&left(&read.shape), &left(&read.strides), read.offset)
    };
    if is_injective(read) {
        return Some(SmallVec::new());
    }
    let sets = (1..1u32 << n.min(12)).filter(|&set| places(set) <= PIECES && is_injective(&rest(set)));
    let set = sets.min_by_key(|&set| places(set))?;
    Some((0..n).filter(|&k| set >> k & 1 == 1).collect())
}

/// The gradient in the whole value's shape, if what was read (upright) is all of it.
fn covers(g: &Tensor, read: &Layout, base: &LayoutRef) -> Result<Option<Tensor>> {
    if read.size != base.size || !is_injective(read) {
        return Ok(None);
    }
    // Both name the same elements in the order of memory, so that one is the other in another shape.
    let mut order: SmallVec<[usize; 6]> = (0..base.ndim()).filter(|&k| base.shape[k] != 1).collect();
    order.sort_by_key(|&k| -base.strides[k].abs());
    if order.iter().any(|&k| base.strides[k] <= 0) {
        return Ok(None);
    }
    let sorted: Dims = order.iter().map(|&k| base.shape[k]).collect();
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

/// The gradient of a whole value in memory of its own, in which the value lies as `base` does, and how to see other
/// layouts of the value's memory in it.
pub(crate) fn lay(g: &Tensor, base: &Layout) -> Result<(Tensor, i64)> {
    let own = &g.array.layout;
    let (low, high) = base.span().unwrap_or((0, -1));
    if own.strides == base.strides {
        return Ok((g.clone(), own.offset - base.offset));
    }
    let flat = ops::full(g, &[high - low + 1], 0.0, g.dtype())?;
    let place = flat.view(Layout::new(g.dtype(), &base.shape, &base.strides, base.offset - low));
    ops::update(&place, Arg::Tensor(g))?;
    Ok((place, -low))
}
