//! Selection along the last axis: the element of a rank, and the first elements in order.

use std::cmp::Ordering;

use cuprous_core::{DType, Result};

use super::sort::{Key, by_key, rows_per_task, sort_indices};
use crate::alloc::Block;
use crate::routines::operands::{Contiguous, PARALLEL, View, gather};
use crate::threads::{SharedPtr, parallel_for, parallel_map};

/// Minimum number of elements that one thread inspects.
const PART: usize = 1 << 16;

/// Returns the number of rows and their length.
fn rows(a: View) -> (usize, usize) {
    let n = *a.shape().last().unwrap_or(&1) as usize;
    (a.layout.size as usize / n.max(1), n)
}

/// Runs `row` for each number below `rows`, in parallel if there is enough work.
fn each_row(rows: usize, n: usize, row: impl Fn(usize) + Sync + Send) {
    if rows > 1 && (rows * n) as i64 >= PARALLEL {
        let many = rows_per_task(n);
        parallel_for(rows.div_ceil(many), |p| (p * many..rows.min((p + 1) * many)).for_each(&row));
    } else {
        (0..rows).for_each(row);
    }
}

/// # Safety
/// The views are in memory. Shapes and dtypes are equal, and the output is contiguous.
pub(crate) unsafe fn partition(kth: usize, a: View, out: View) -> Result<()> {
    // SAFETY: the output has space for all elements.
    unsafe { gather(a, a.dtype(), out.origin())? };
    let (rows, n) = rows(a);
    by_key!(a.dtype(), partition_rows(SharedPtr(out.origin()), rows, n, kth));
    Ok(())
}

fn partition_rows<T: Key>(at: SharedPtr, rows: usize, n: usize, kth: usize) {
    each_row(rows, n, |row| {
        // SAFETY: no other task uses the row.
        let row = unsafe { std::slice::from_raw_parts_mut((at.at(0) as *mut T).add(row * n), n) };
        select_nth(row, kth);
    });
}

/// Moves the element of rank `kth` to its position, and smaller ones before it. Keys are selected as words, whose
/// comparisons have no branches.
fn select_nth<T: Key>(row: &mut [T], kth: usize) {
    if T::ZERO.is_none() {
        row.select_nth_unstable_by(kth, T::order);
        return;
    }
    let (at, n) = (row.as_mut_ptr(), row.len());
    // SAFETY: a word has the size and alignment of its key, and the row is only read and written here.
    unsafe {
        let words = at as *mut T::Word;
        (0..n).for_each(|k| *words.add(k) = (*at.add(k)).word());
        std::slice::from_raw_parts_mut(words, n).select_nth_unstable(kth);
        (0..n).for_each(|k| *at.add(k) = T::of_word(*words.add(k)));
    }
}

/// # Safety
/// The same as for [`partition`], except that the output has one element per row.
pub(crate) unsafe fn select(rank: usize, a: View, out: View) -> Result<()> {
    let copy = Block::new(a.layout.size as usize * a.dtype().size())?;
    // SAFETY: the block has space for all elements.
    unsafe { gather(a, a.dtype(), copy.as_ptr())? };
    let (rows, n) = rows(a);
    by_key!(a.dtype(), select_rows(SharedPtr(copy.as_ptr()), SharedPtr(out.origin()), rows, n, rank));
    Ok(())
}

fn select_rows<T: Key>(at: SharedPtr, to: SharedPtr, rows: usize, n: usize, rank: usize) {
    each_row(rows, n, |row| {
        let (at, to) = (at, to);
        // SAFETY: no other task uses the row or its element of the output.
        unsafe {
            let all = std::slice::from_raw_parts_mut((at.at(0) as *mut T).add(row * n), n);
            select_nth(all, rank);
            *(to.0 as *mut T).add(row) = all[rank];
        }
    });
}

/// # Safety
/// The same as for [`partition`], with an int64 output.
pub(crate) unsafe fn argpartition(kth: usize, a: View, out: View) -> Result<()> {
    // SAFETY: by this function's contract.
    let flat = unsafe { Contiguous::new(a, a.dtype())? };
    let (rows, n) = rows(a);
    by_key!(a.dtype(), argpartition_rows(SharedPtr(flat.ptr()), SharedPtr(out.origin()), rows, n, kth));
    Ok(())
}

/// Returns keys with their indices, which makes them all different.
fn with_indices<T: Key>(keys: &[T], first: usize) -> Vec<(T, usize)> {
    keys.iter().enumerate().map(|(i, &k)| (k, first + i)).collect()
}

fn argpartition_rows<T: Key>(from: SharedPtr, to: SharedPtr, rows: usize, n: usize, kth: usize) {
    each_row(rows, n, |row| {
        let (from, to) = (from, to);
        // SAFETY: the row is in memory, and no other task uses that of the output.
        let (keys, out) = unsafe {
            (
                std::slice::from_raw_parts((from.0 as *const T).add(row * n), n),
                std::slice::from_raw_parts_mut((to.0 as *mut i64).add(row * n), n),
            )
        };
        let mut pairs = with_indices(keys, 0);
        pairs.select_nth_unstable_by(kth, |a, b| a.0.order(&b.0).then(a.1.cmp(&b.1)));
        out.iter_mut().zip(pairs).for_each(|(to, (_, i))| *to = i as i64);
    });
}

/// # Safety
/// The same as for [`argpartition`], except that rows of the output may be shorter than those of the operand.
pub(crate) unsafe fn topk(largest: bool, a: View, out: View) -> Result<()> {
    // SAFETY: by this function's contract.
    let flat = unsafe { Contiguous::new(a, a.dtype())? };
    let ((rows, n), k) = (rows(a), *out.shape().last().unwrap_or(&1) as usize);
    by_key!(a.dtype(), topk_rows(largest, SharedPtr(flat.ptr()), SharedPtr(out.origin()), rows, n, k));
    Ok(())
}

fn topk_rows<T: Key>(largest: bool, from: SharedPtr, to: SharedPtr, rows: usize, n: usize, k: usize) {
    let order = |a: &(T, usize), b: &(T, usize)| -> Ordering {
        let keys = if largest { b.0.order(&a.0) } else { a.0.order(&b.0) };
        keys.then(a.1.cmp(&b.1))
    };
    let first = |mut pairs: Vec<(T, usize)>| {
        if k < pairs.len() {
            pairs.select_nth_unstable_by(k, order);
            pairs.truncate(k);
        }
        pairs
    };
    each_row(rows, n, |row| {
        let (from, to) = (from, to);
        // SAFETY: the row is in memory, and no other task uses that of the output.
        let (keys, out) = unsafe {
            (
                std::slice::from_raw_parts((from.0 as *const T).add(row * n), n),
                std::slice::from_raw_parts_mut((to.0 as *mut i64).add(row * k), k),
            )
        };
        // Each part provides its own first elements, from which those of the row are chosen.
        let part = PART.max(4 * k);
        let pairs: Vec<(T, usize)> = if n >= 2 * part {
            let one = |p: usize| first(with_indices(&keys[p * part..n.min((p + 1) * part)], p * part));
            parallel_map(n.div_ceil(part), one).concat()
        } else {
            with_indices(keys, 0)
        };
        let mut pairs = first(pairs);
        if k >= PART {
            out.iter_mut().zip(0..).for_each(|(to, i)| *to = i);
            sort_indices(out, &|a, b| order(&pairs[a], &pairs[b]));
            out.iter_mut().for_each(|to| *to = pairs[*to as usize].1 as i64);
        } else {
            pairs.sort_unstable_by(order);
            out.iter_mut().zip(pairs).for_each(|(to, (_, i))| *to = i as i64);
        }
    });
}
