//! The routines behind calls, one file a kind.

pub(crate) mod compact;
pub(crate) mod components;
pub(crate) mod convolve;
pub(crate) mod correlate;
pub(crate) mod dispatch;
pub(crate) mod dot;
pub(crate) mod fft;
pub(crate) mod linalg;
pub(crate) mod pad;
pub(crate) mod radix;
pub(crate) mod recurrent;
pub(crate) mod scan;
pub(crate) mod search;
pub(crate) mod select;
pub(crate) mod sort;
pub(crate) mod sparse;

use cuprous_core::{DType, Fun, Result};
use smallvec::SmallVec;

use crate::alloc::{ALIGN, Block};
use crate::blocks::{MapArgs, map};
use crate::routines::dispatch::View;
use crate::walk::{Walk, copy};

/// Elements and work below which a routine stays on the calling thread.
pub(crate) const PARALLEL: i64 = 1 << 15;

/// An address that threads share, each for its own part of the memory behind it.
#[derive(Clone, Copy)]
pub(crate) struct Ptr(pub(crate) *mut u8);
// SAFETY: see the type.
unsafe impl Send for Ptr {}
// SAFETY: see the type.
unsafe impl Sync for Ptr {}

impl Ptr {
    pub(crate) fn at(self, bytes: i64) -> *mut u8 {
        self.0.wrapping_offset(bytes as isize)
    }
}

/// Elements of a view, row-major and converted, into `to`.
///
/// # Safety
/// The view is in memory, and `to` has room for its elements of `dtype`.
pub(crate) unsafe fn gather(v: View, dtype: DType, to: *mut u8) -> Result<()> {
    let n = v.layout.size as usize;
    let size = v.dtype().size();
    let walk = Walk::new(0, v.shape().iter().copied().zip(v.strides().iter().copied()));
    let pick = |to: *mut u8| {
        walk.runs(0, n, |r| {
            // SAFETY: the caller's promise.
            unsafe {
                let at = v.origin().offset((r.offset * size as i64) as isize);
                copy(to.add(r.at * size), 1, at, r.stride, r.len, size);
            }
        });
    };
    if v.dtype() == dtype {
        pick(to);
        return Ok(());
    }
    let cast = map(Fun::Cast, &[v.dtype()], dtype).ok_or_else(|| cuprous_core::Error::type_("[cpu] no such cast"))?;
    let raw = Block::new(n * size)?;
    pick(raw.as_ptr());
    let args = MapArgs { n, out: to, args: [raw.as_ptr(), std::ptr::null(), std::ptr::null()], step: [1, 0, 0] };
    // SAFETY: `n` elements are on both sides.
    unsafe { cast(&args) };
    Ok(())
}

/// A view's elements, contiguous and of `dtype`: in place where they are so already.
pub(crate) enum Flat {
    There(*mut u8),
    Here(Block),
}

impl Flat {
    /// # Safety
    /// The view is in memory, for as long as the result is used.
    pub(crate) unsafe fn new(v: View, dtype: DType) -> Result<Flat> {
        if v.layout.size == 0 {
            // Slices of no elements start at an aligned address too; an empty array has none.
            return Ok(Flat::There(std::ptr::without_provenance_mut(ALIGN)));
        }
        let aligned = (v.origin() as usize).is_multiple_of(v.dtype().size().min(8));
        if v.dtype() == dtype && v.layout.is_c_contiguous() && aligned {
            return Ok(Flat::There(v.origin()));
        }
        let block = Block::new(v.layout.size as usize * dtype.size())?;
        // SAFETY: the block has room.
        unsafe { gather(v, dtype, block.as_ptr())? };
        Ok(Flat::Here(block))
    }

    pub(crate) fn ptr(&self) -> *mut u8 {
        match self {
            Flat::There(p) => *p,
            Flat::Here(b) => b.as_ptr(),
        }
    }
}

/// Offsets of the lines of a view along its last axes: the walk over all axes but the last `drop`.
pub(crate) fn outer(shape: &[i64], strides: &[i64], drop: usize) -> (Walk, i64) {
    let keep = shape.len() - drop;
    let axes: SmallVec<[(i64, i64); 6]> = shape[..keep].iter().copied().zip(strides[..keep].iter().copied()).collect();
    let n = axes.iter().map(|(n, _)| n).product();
    (Walk::new(0, axes.into_iter()), n)
}
