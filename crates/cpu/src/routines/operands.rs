//! Operands of routines: arrays in memory, and contiguous copies of them.

use cuprous_core::{DType, Fun, LayoutRef, Result};
use smallvec::SmallVec;

use crate::affine::{AffineAccess, copy_rect};
use crate::alloc::{ALIGN, Block};
use crate::blocks::{MapArgs, map};

/// Number of elements below which a routine stays on the calling thread.
pub(crate) const PARALLEL: i64 = 1 << 15;

/// An array operand: its memory and layout.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    /// Address of the first byte of its buffer.
    pub(crate) base: *mut u8,
    pub(crate) layout: &'a LayoutRef,
}

// SAFETY: a view is an address and a layout; routines only write disjoint parts of outputs.
unsafe impl Send for View<'_> {}
// SAFETY: a view is an address and a layout; routines only write disjoint parts of outputs.
unsafe impl Sync for View<'_> {}

impl View<'_> {
    /// Returns the address of the element at index zero.
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

/// Copies the elements of a view to `to`, in row-major order and converted to `dtype`.
///
/// # Safety
/// The view is in memory, and `to` has space for its elements of `dtype`.
pub(crate) unsafe fn gather(v: View, dtype: DType, to: *mut u8) -> Result<()> {
    let n = v.layout.size as usize;
    let size = v.dtype().size();
    let walk = AffineAccess::new(0, v.shape().iter().copied().zip(v.strides().iter().copied()));
    let copy_elements = |to: *mut u8| {
        walk.rects(0, n, |r| {
            // SAFETY: by this function's contract.
            unsafe {
                let at = v.origin().offset((r.offset * size as i64) as isize);
                copy_rect(to.add(r.at * size), [r.len as i64, 1], at, r.strides, r.rows, r.len, size);
            }
        });
    };
    if v.dtype() == dtype {
        copy_elements(to);
        return Ok(());
    }
    let cast = map(Fun::Cast, &[v.dtype()], dtype)
        .ok_or_else(|| cuprous_core::Error::type_("[cpu] internal error: no cast between these dtypes"))?;
    let raw = Block::new(n * size)?;
    copy_elements(raw.as_ptr());
    let args = MapArgs { n, out: to, args: [raw.as_ptr(), std::ptr::null(), std::ptr::null()], step: [1, 0, 0] };
    // SAFETY: both sides have `n` elements.
    unsafe { cast(&args) };
    Ok(())
}

/// A view's elements, contiguous and of `dtype`. They are borrowed if the view already has this form, else copied.
pub(crate) enum Contiguous {
    Borrowed(*mut u8),
    Owned(Block),
}

impl Contiguous {
    /// # Safety
    /// The view is in memory for as long as the result is used.
    pub(crate) unsafe fn new(v: View, dtype: DType) -> Result<Contiguous> {
        if v.layout.size == 0 {
            // Empty slices also need an aligned address, and an empty array has no address.
            return Ok(Contiguous::Borrowed(std::ptr::without_provenance_mut(ALIGN)));
        }
        let aligned = (v.origin() as usize).is_multiple_of(v.dtype().size().min(8));
        if v.dtype() == dtype && v.layout.is_c_contiguous() && aligned {
            return Ok(Contiguous::Borrowed(v.origin()));
        }
        let block = Block::new(v.layout.size as usize * dtype.size())?;
        // SAFETY: the block has space for all elements.
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

/// Returns the offsets of a view's lines along its last `drop` axes, as an access over the other axes, and their
/// number.
pub(crate) fn outer_lines(shape: &[i64], strides: &[i64], drop: usize) -> (AffineAccess, i64) {
    let keep = shape.len() - drop;
    let axes: SmallVec<[(i64, i64); 6]> = shape[..keep].iter().copied().zip(strides[..keep].iter().copied()).collect();
    let n = axes.iter().map(|(n, _)| n).product();
    (AffineAccess::new(0, axes.into_iter()), n)
}
