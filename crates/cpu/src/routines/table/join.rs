//! Pairs of rows of two tables that have equal keys.

use cuprous_core::{DType, LayoutRef, Result};
use rayon::prelude::*;

use super::{Column, MOST_ROWS, PART, is_column, output};
use crate::routines::operands::View;
use crate::threads::SharedPtr;

/// Left rows whose pairs are counted, then written, at a time.
const CHUNK: usize = 1 << 14;
/// The most parts of the domain that threads fill at the same time. Each reads all of the right keys.
const MOST_RANGES: usize = 8;

/// Returns true if the keys of both sides and the domain fit together.
fn are_keys(domain: i64, right: &LayoutRef, left: &LayoutRef) -> bool {
    let of_side = |keys: &LayoutRef| is_column(keys) && keys.dtype == DType::I64;
    (0..=MOST_ROWS).contains(&domain) && of_side(right) && of_side(left)
}

/// Returns true if the operands and the output of a match fit together.
pub(crate) fn fits_match(domain: i64, right: &LayoutRef, left: &LayoutRef, out: &LayoutRef) -> bool {
    are_keys(domain, right, left) && out.dtype == DType::I64 && out.shape[..] == [left.size + 3]
}

/// Returns true if the operands and the output of pairs fit together.
pub(crate) fn fits_pairs(domain: i64, right: &LayoutRef, left: &LayoutRef, out: &LayoutRef) -> bool {
    are_keys(domain, right, left) && out.dtype == DType::I64 && out.ndim() == 2 && out.shape[0] == 2
}

/// Calls `fill` for parts of a table of the domain in parallel, each with its first key.
fn each_range<T: Send>(table: &mut [T], rows: usize, fill: impl Fn(usize, &mut [T]) + Sync + Send) {
    let ranges = if rows < PART { 1 } else { rayon::current_num_threads().clamp(1, MOST_RANGES) };
    let width = table.len().div_ceil(ranges).max(1);
    if ranges == 1 {
        fill(0, table);
    } else {
        table.par_chunks_mut(width).enumerate().for_each(|(k, part)| fill(k * width, part));
    }
}

/// Returns the entry of a key in the part of a table that starts with the key `first`.
#[inline(always)]
fn entry<T>(part: &mut [T], first: usize, key: i64) -> Option<&mut T> {
    // Negative keys and those before the part become large.
    part.get_mut((key as usize).wrapping_sub(first))
}

/// Returns the entry of a key; none for a negative one.
#[inline(always)]
fn of_key<T: Copy>(table: &[T], key: i64) -> Option<T> {
    table.get(key as usize).copied()
}

/// # Safety
/// The views are in memory and fit together.
pub(crate) unsafe fn find(domain: i64, right: View, left: View, out: View) -> Result<()> {
    // SAFETY: by this function's contract.
    let (right, left, out) = unsafe { (Column::new(right)?, Column::new(left)?, output::<i64>(out)) };
    // SAFETY: both are int64.
    let (right, left): (&[i64], &[i64]) = unsafe { (right.slice(), left.slice()) };
    // The first row with each key plus one, and the number of rows.
    let mut table = vec![(0u32, 0u32); domain as usize];
    each_range(&mut table, right.len(), |first, part| {
        for (row, &key) in right.iter().enumerate() {
            if let Some(entry) = entry(part, first, key) {
                if entry.1 == 0 {
                    entry.0 = row as u32 + 1;
                }
                entry.1 += 1;
            }
        }
    });
    let (rows, totals) = out.split_at_mut(left.len());
    let one = |(rows, keys): (&mut [i64], &[i64])| {
        let (mut pairs, mut matched, mut most) = (0i64, 0i64, 0i64);
        for (row, &key) in rows.iter_mut().zip(keys) {
            let (first, count) = of_key(&table, key).unwrap_or_default();
            *row = i64::from(first) - 1;
            pairs += i64::from(count);
            matched += i64::from(count > 0);
            most = most.max(i64::from(count));
        }
        (pairs, matched, most)
    };
    let sum = |a: (i64, i64, i64), b: (i64, i64, i64)| (a.0 + b.0, a.1 + b.1, a.2.max(b.2));
    let found = if left.len() < PART {
        one((rows, left))
    } else {
        rows.par_chunks_mut(CHUNK).zip(left.par_chunks(CHUNK)).map(one).reduce(Default::default, sum)
    };
    totals.copy_from_slice(&[found.0, found.1, found.2]);
    Ok(())
}

/// # Safety
/// The views are in memory and fit together.
pub(crate) unsafe fn pairs(domain: i64, keep_left: bool, right: View, left: View, out: View) -> Result<()> {
    let total = out.shape()[1] as usize;
    // SAFETY: by this function's contract.
    let (right, left, out) = unsafe { (Column::new(right)?, Column::new(left)?, output::<i64>(out)) };
    // SAFETY: both are int64.
    let (right, left): (&[i64], &[i64]) = unsafe { (right.slice(), left.slice()) };
    let (starts, order) = by_key(domain as usize, right);
    let rows_of = |key: i64| {
        let at = key as usize; // large if negative
        if at < domain as usize { &order[starts[at] as usize..starts[at + 1] as usize] } else { &[] }
    };
    let count = |&key: &i64| match rows_of(key).len() {
        0 => usize::from(keep_left),
        rows => rows,
    };
    let mut next = 0;
    let mut begins: Vec<usize> = left.par_chunks(CHUNK).map(|keys| keys.iter().map(count).sum()).collect();
    for begin in &mut begins {
        next += std::mem::replace(begin, next);
    }
    assert_eq!(next, total, "the output has another number of pairs");
    let to = SharedPtr(out.as_mut_ptr() as *mut u8);
    left.par_chunks(CHUNK).zip(begins).enumerate().for_each(|(k, (keys, mut at))| {
        let to = to.at(0) as *mut i64;
        let mut push = |left: usize, right: i64| {
            // SAFETY: the pairs of each part were counted, and the parts are disjoint.
            unsafe {
                *to.add(at) = left as i64;
                *to.add(total + at) = right;
            }
            at += 1;
        };
        for (row, &key) in (k * CHUNK..).zip(keys) {
            let rows = rows_of(key);
            rows.iter().for_each(|&right| push(row, i64::from(right)));
            if keep_left && rows.is_empty() {
                push(row, -1);
            }
        }
    });
    Ok(())
}

/// Returns the rows in the order of their keys, and where those of each key begin.
fn by_key(domain: usize, keys: &[i64]) -> (Vec<u32>, Vec<u32>) {
    // At a key is the number of rows that have it, then where the next of them goes, and at last where the next key's begin.
    let mut ends = vec![0u32; domain];
    each_range(&mut ends, keys.len(), |first, part| {
        for &key in keys {
            if let Some(count) = entry(part, first, key) {
                *count += 1;
            }
        }
    });
    let mut next = 0;
    for end in &mut ends {
        next += std::mem::replace(end, next);
    }
    let mut order = vec![0u32; next as usize];
    let to = SharedPtr(order.as_mut_ptr() as *mut u8);
    each_range(&mut ends, keys.len(), |first, part| {
        let to = to.at(0) as *mut u32;
        for (row, &key) in keys.iter().enumerate() {
            if let Some(next) = entry(part, first, key) {
                // SAFETY: the rows of each key were counted.
                unsafe { *to.add(*next as usize) = row as u32 };
                *next += 1;
            }
        }
    });
    let starts = std::iter::once(0).chain(ends).collect();
    (starts, order)
}
