//! Operations on rows of tables: groups of rows with equal keys, aggregates of groups, pairs of rows with equal keys.

pub(crate) mod aggregate;
pub(crate) mod ids;
pub(crate) mod join;

use cuprous_core::{DType, LayoutRef, Result};

use crate::routines::operands::{Contiguous, View};

/// Rows in the smallest part of an operand that has a thread of its own.
const PART: usize = 1 << 16;
/// The most rows of an operand: numbers of rows are kept in 32 bits.
const MOST_ROWS: i64 = u32::MAX as i64 - 1;

/// Returns true if an operand is a column of at most [`MOST_ROWS`] rows.
fn is_column(layout: &LayoutRef) -> bool {
    layout.ndim() == 1 && layout.size <= MOST_ROWS
}

/// Returns true if an optional operand is a mask of `n` rows.
fn is_mask(layout: Option<&LayoutRef>, n: i64) -> bool {
    layout.is_none_or(|mask| mask.ndim() == 1 && mask.dtype == DType::Bool && mask.size == n)
}

/// The elements of an operand in one piece of memory.
struct Column {
    memory: Contiguous,
    len: usize,
}

impl Column {
    /// # Safety
    /// The view is in memory for as long as the column is used.
    unsafe fn new(view: View) -> Result<Column> {
        // SAFETY: by this function's contract.
        Ok(Column { memory: unsafe { Contiguous::new(view, view.dtype())? }, len: view.layout.size as usize })
    }

    /// # Safety
    /// The elements are of this type.
    unsafe fn slice<T>(&self) -> &[T] {
        // SAFETY: by this function's contract; the memory has `len` elements.
        unsafe { std::slice::from_raw_parts(self.memory.ptr() as *const T, self.len) }
    }
}

/// Returns the elements of the output.
///
/// # Safety
/// The output is contiguous, of this type, and nothing else refers to it while the result is used.
unsafe fn output<'a, T>(out: View<'a>) -> &'a mut [T] {
    // SAFETY: by this function's contract.
    unsafe { std::slice::from_raw_parts_mut(out.origin() as *mut T, out.layout.size as usize) }
}

/// The number of a group in memory, -1 for none.
trait Id: Copy + Send + Sync {
    const NONE: Self;
    fn of(number: u32) -> Self;
    /// Returns the number plus one, 0 for none.
    fn slot(self) -> usize;
}

macro_rules! id {
    ($($t:ty)*) => {$(
        impl Id for $t {
            const NONE: $t = -1;
            #[inline(always)]
            fn of(number: u32) -> $t { number as $t }
            #[inline(always)]
            fn slot(self) -> usize { (self as i64 + 1) as usize }
        }
    )*};
}
id!(i32 i64);
