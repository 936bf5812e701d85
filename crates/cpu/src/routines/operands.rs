//! Operands of routines: arrays in memory, and contiguous copies of them.

use cuprous_core::{DType, Fun, LayoutRef, Result};
use smallvec::SmallVec;

use crate::affine::{AffineAccess, copy_strided};
use crate::alloc::{ALIGN, Block};
use crate::blocks::{MapArgs, map};

/// Elements and work below which a routine stays on the calling thread.
pub(crate) const PARALLEL: i64 = 1 << 15;

/// An array operand: its memory and layout.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    /// First byte of its buffer.
    pub(crate) base: *mut u8,
    pub(crate) layout: &'a LayoutRef,
}

// SAFETY: a view is an address and a layout; the routines write disjoint parts of outputs only.
unsafe impl Send for View<'_> {}
// SAFETY: as above.
unsafe impl Sync for View<'_> {}

impl View<'_> {
    /// The element at index zero.
    pub(crate) fn origin(&self) -> *mut u8 {
        self.base.wrapping_offset((self.layout.offset * self.layout.dtype.size() as i64) as isize)
    }

    pub(crate) fn dtype(&self) -> DType {
        self.layout.dtype
    }

    pub(crate) fn shape(&self) -> &[i64] {
        &self.layout.shape
    }

    pub(crate) fn strides(&self) -> &[i64] {
        &self.layout.strides
    }
}

/// Elements of a view, row-major and converted, into `to`.
///
/// # Safety
/// The view is in memory, and `to` has room for its elements of `dtype`.
pub(crate) unsafe fn gather(v: View, dtype: DType, to: *mut u8) -> Result<()> {
    let n = v.layout.size as usize;
    let size = v.dtype().size();
    let walk = AffineAccess::new(0, v.shape().iter().copied().zip(v.strides().iter().copied()));
    let copy_elements = |to: *mut u8| {
        walk.runs(0, n, |r| {
            // SAFETY: the caller's promise.
            unsafe {
                let at = v.origin().offset((r.offset * size as i64) as isize);
                copy_strided(to.add(r.at * size), 1, at, r.stride, r.len, size);
            }
        });
    };
    if v.dtype() == dtype {
        copy_elements(to);
        return Ok(());
    }
    let cast = map(Fun::Cast, &[v.dtype()], dtype).ok_or_else(|| cuprous_core::Error::type_("[cpu] no such cast"))?;
    let raw = Block::new(n * size)?;
    copy_elements(raw.as_ptr());
    let args = MapArgs { n, out: to, args: [raw.as_ptr(), std::ptr::null(), std::ptr::null()], step: [1, 0, 0] };
    // SAFETY: `n` elements are on both sides.
    unsafe { cast(&args) };
    Ok(())
}

/// A view's elements, contiguous and of `dtype`: in place where they are so already.
pub(crate) enum Contiguous {
    Borrowed(*mut u8),
    Owned(Block),
}

impl Contiguous {
    /// # Safety
    /// The view is in memory, for as long as the result is used.
    pub(crate) unsafe fn new(v: View, dtype: DType) -> Result<Contiguous> {
        if v.layout.size == 0 {
            // Slices of no elements start at an aligned address too; an empty array has none.
            return Ok(Contiguous::Borrowed(std::ptr::without_provenance_mut(ALIGN)));
        }
        let aligned = (v.origin() as usize).is_multiple_of(v.dtype().size().min(8));
        if v.dtype() == dtype && v.layout.is_c_contiguous() && aligned {
            return Ok(Contiguous::Borrowed(v.origin()));
        }
        let block = Block::new(v.layout.size as usize * dtype.size())?;
        // SAFETY: the block has room.
        unsafe { gather(v, dtype, block.as_ptr())? };
        Ok(Contiguous::Owned(block))
    }

    pub(crate) fn ptr(&self) -> *mut u8 {
        match self {
            Contiguous::Borrowed(p) => *p,
            Contiguous::Owned(b) => b.as_ptr(),
        }
    }
}

/// Offsets of the lines of a view along its last axes: the walk over all axes but the last `drop`.
pub(crate) fn outer_lines(shape: &[i64], strides: &[i64], drop: usize) -> (AffineAccess, i64) {
    let keep = shape.len() - drop;
    let axes: SmallVec<[(i64, i64); 6]> = shape[..keep].iter().copied().zip(strides[..keep].iter().copied()).collect();
    let n = axes.iter().map(|(n, _)| n).product();
    (AffineAccess::new(0, axes.into_iter()), n)
}
