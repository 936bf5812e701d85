//! Binary search in a sorted array.

use cuprous_core::{DType, Result};

use super::sort::{Key, by_key};
use crate::routines::operands::{Contiguous, View};
use crate::threads::{SharedPtr, parallel_parts};

/// # Safety
/// The views are in memory. The output is int64 and has the keys' shape.
pub(crate) unsafe fn search(right: bool, sorted: View, keys: View, out: View) -> Result<()> {
    // SAFETY: by this function's contract.
    let (a, k) = unsafe { (Contiguous::new(sorted, sorted.dtype())?, Contiguous::new(keys, keys.dtype())?) };
    let (n, m) = (sorted.layout.size as usize, keys.layout.size as usize);
    by_key!(sorted.dtype(), find(right, SharedPtr(a.ptr()), n, SharedPtr(k.ptr()), m, SharedPtr(out.origin())))
}

fn find<T: Key>(right: bool, a: SharedPtr, n: usize, keys: SharedPtr, m: usize, out: SharedPtr) -> Result<()> {
    // SAFETY: there are `n` sorted elements, `m` keys and space for `m` results.
    let (a, keys, out) = unsafe {
        (
            std::slice::from_raw_parts(a.0 as *const T, n),
            std::slice::from_raw_parts(keys.0 as *const T, m),
            std::slice::from_raw_parts_mut(out.0 as *mut i64, m),
        )
    };
    let len = if m * (n.max(2).ilog2() as usize) < 1 << 16 { m.max(1) } else { 4096 };
    parallel_parts(out, len, |first, part| {
        for (to, key) in part.iter_mut().zip(&keys[first..]) {
            let before = |e: &T| if right { e.order(key).is_le() } else { e.order(key).is_lt() };
            *to = a.partition_point(before) as i64;
        }
        Ok(())
    })
}
