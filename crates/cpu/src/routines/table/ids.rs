//! Numbers rows by their keys, in the order of the first rows.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use cuprous_core::{DType, LayoutRef, Result};
use rayon::prelude::*;

use super::{Column, Id, PART, is_column, is_mask, output};
use crate::routines::operands::View;
use crate::threads::SharedPtr;

/// Rows that are looked at to estimate how many keys there are.
const SAMPLE: usize = 1 << 14;
/// Fewer rows are not partitioned.
const MIN_PARTITIONED: usize = 1 << 18;
/// Partitions of rows with many keys, so that the table of one fits into a cache.
const PARTITIONS: usize = 1 << PARTITION_BITS;
const PARTITION_BITS: u32 = 7;

/// Returns true if the operands and the output fit together.
pub(crate) fn fits(domain: i64, keys: &LayoutRef, mask: Option<&LayoutRef>, out: &LayoutRef) -> bool {
    let ids = if keys.size < 1 << 31 { DType::I32 } else { DType::I64 };
    is_column(keys)
        && keys.dtype == DType::I64
        && is_mask(mask, keys.size)
        && domain >= 0
        && out.dtype == ids
        && out.shape[..] == [2 * keys.size + 1]
}

/// # Safety
/// The views are in memory and fit together.
pub(crate) unsafe fn group_ids(domain: i64, keys: View, mask: Option<View>, out: View) -> Result<()> {
    // SAFETY: by this function's contract.
    unsafe {
        let (keys, mask) = (Column::new(keys)?, mask.map(|m| Column::new(m)).transpose()?);
        let rows = Rows { keys: keys.slice(), mask: mask.as_ref().map(|m| m.slice()) };
        match out.dtype() {
            DType::I32 => rows.number::<i32>(domain as usize, output(out)),
            _ => rows.number::<i64>(domain as usize, output(out)),
        }
    }
    Ok(())
}

/// Returns a number whose highest bits depend on all bits of the key.
#[inline(always)]
fn hash(key: i64) -> u64 {
    let key = key as u64;
    (key ^ (key >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Numbers keys in the order of their arrival.
trait Table: Send {
    /// Returns the number of a key, which is `next` if the key is new.
    fn number(&mut self, key: i64, next: u32) -> u32;
}

/// A table of keys from 0, with their numbers plus one.
struct Direct(Vec<u32>);

impl Table for Direct {
    #[inline(always)]
    fn number(&mut self, key: i64, next: u32) -> u32 {
        let entry = &mut self.0[key as usize];
        if *entry == 0 {
            *entry = next + 1;
        }
        *entry - 1
    }
}

/// A hash table with linear probing: keys and their numbers plus one.
struct Hashed {
    entries: Vec<(i64, u32)>,
    /// Highest bits of the hash that all keys share.
    shared: u32,
}

impl Hashed {
    fn new(bits: u32, shared: u32) -> Hashed {
        Hashed { entries: vec![(0, 0); 1 << bits], shared }
    }

    /// Returns the position of a key, or of the free entry where it belongs.
    #[inline(always)]
    fn position(&self, key: i64) -> usize {
        let last = self.entries.len() - 1;
        let mut at = ((hash(key) << self.shared) >> (64 - self.entries.len().ilog2())) as usize;
        while self.entries[at].1 != 0 && self.entries[at].0 != key {
            at = (at + 1) & last;
        }
        at
    }

    #[cold]
    fn grow(&mut self) {
        let larger = Hashed::new(self.entries.len().ilog2() + 1, self.shared);
        for entry in std::mem::replace(self, larger).entries {
            if entry.1 != 0 {
                let at = self.position(entry.0);
                self.entries[at] = entry;
            }
        }
    }
}

impl Table for Hashed {
    #[inline(always)]
    fn number(&mut self, key: i64, next: u32) -> u32 {
        let mut at = self.position(key);
        if self.entries[at].1 == 0 {
            // At most half of the entries are in use.
            if 2 * (next as usize + 1) > self.entries.len() {
                self.grow();
                at = self.position(key);
            }
            self.entries[at] = (key, next + 1);
        }
        self.entries[at].1 - 1
    }
}

#[derive(Clone, Copy)]
struct Rows<'a> {
    keys: &'a [i64],
    mask: Option<&'a [u8]>,
}

impl Rows<'_> {
    fn number<I: Id>(self, domain: usize, out: &mut [I]) {
        let n = self.keys.len();
        let (ids, rest) = out.split_at_mut(n);
        let (firsts, count) = rest.split_at_mut(n);
        let threads = rayon::current_num_threads().min(n / PART).max(1);
        if domain == 0 && n >= MIN_PARTITIONED && self.has_many_keys() {
            count[0] = I::of(self.partitioned(ids, firsts));
            return;
        }
        let found = match (2 * n).checked_div(domain) {
            // Each part has a table of the domain.
            Some(most) => self.by_parts(threads.min(most).max(1), || Direct(vec![0; domain]), ids),
            None => self.by_parts(threads, || Hashed::new(8, 0), ids),
        };
        count[0] = I::of(found.len() as u32);
        firsts.iter_mut().zip(found).for_each(|(to, row)| *to = I::of(row));
    }

    fn is_in(&self, row: usize) -> bool {
        self.mask.is_none_or(|mask| mask[row] != 0)
    }

    /// Returns true if at least half of the first rows have a key of their own.
    fn has_many_keys(&self) -> bool {
        let (mut table, mut found) = (Hashed::new(SAMPLE.ilog2() + 1, 0), 0);
        for &key in &self.keys[..SAMPLE] {
            found += u32::from(table.number(key, found) == found);
        }
        2 * found as usize >= SAMPLE
    }

    /// Numbers adjacent rows with a new table. Returns the first rows and the table.
    fn number_part<I: Id, T: Table>(self, start: usize, mut table: T, ids: &mut [I]) -> (Vec<u32>, T) {
        let mut firsts: Vec<u32> = Vec::new();
        for (k, id) in ids.iter_mut().enumerate() {
            let row = start + k;
            if !self.is_in(row) {
                *id = I::NONE;
                continue;
            }
            let number = table.number(self.keys[row], firsts.len() as u32);
            if number as usize == firsts.len() {
                firsts.push(row as u32);
            }
            *id = I::of(number);
        }
        (firsts, table)
    }

    /// Numbers parts of the rows in parallel, then the keys of all parts. Returns the first rows.
    fn by_parts<I: Id, T: Table>(self, parts: usize, table: impl Fn() -> T + Sync, ids: &mut [I]) -> Vec<u32> {
        let len = self.keys.len().div_ceil(parts).max(1);
        if parts == 1 {
            return self.number_part(0, table(), ids).0;
        }
        let number = |(part, ids): (usize, &mut [I])| self.number_part(part * len, table(), ids);
        let mut found = ids.par_chunks_mut(len).enumerate().map(number).collect::<Vec<_>>().into_iter();
        let Some((mut firsts, mut table)) = found.next() else { return Vec::new() };
        // The first part's numbers are final. Each other part gets the numbers of its keys.
        let maps: Vec<Vec<I>> = found
            .map(|(rows, _)| {
                let number = |row: u32| {
                    let number = table.number(self.keys[row as usize], firsts.len() as u32);
                    if number as usize == firsts.len() {
                        firsts.push(row);
                    }
                    I::of(number)
                };
                rows.into_iter().map(number).collect()
            })
            .collect();
        ids[len..].par_chunks_mut(len).zip(maps).for_each(|(ids, map)| {
            for id in ids {
                if let Some(of_part) = id.slot().checked_sub(1) {
                    *id = map[of_part];
                }
            }
        });
        firsts
    }

    /// Numbers rows that have many keys: rows are moved to partitions by their keys' hashes, which have tables of their
    /// own. Then keys are numbered by the order of their first rows. Returns the number of keys.
    fn partitioned<I: Id>(self, ids: &mut [I], firsts: &mut [I]) -> u32 {
        let n = self.keys.len();
        let (moved, ends) = self.by_partition();
        let partition = |p: usize| &moved[if p == 0 { 0 } else { ends[p - 1] }..ends[p]];
        let is_first: Vec<AtomicU64> = (0..n.div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
        let number = |p: usize| {
            let rows = partition(p);
            let mut table = Hashed::new(rows.len().max(8).ilog2(), PARTITION_BITS);
            let mut firsts: Vec<u32> = Vec::new();
            let of_partition = |&(key, row): &(i64, u32)| {
                let number = table.number(key, firsts.len() as u32);
                if number as usize == firsts.len() {
                    firsts.push(row);
                    is_first[row as usize / 64].fetch_or(1 << (row % 64), Relaxed);
                }
                number
            };
            let numbers: Vec<u32> = rows.iter().map(of_partition).collect();
            (firsts, numbers)
        };
        let found: Vec<(Vec<u32>, Vec<u32>)> = (0..PARTITIONS).into_par_iter().map(number).collect();
        let mut before = Vec::with_capacity(is_first.len());
        let mut count = 0;
        for word in &is_first {
            before.push(count);
            count += word.load(Relaxed).count_ones();
        }
        let rank = |row: u32| {
            let word = is_first[row as usize / 64].load(Relaxed);
            before[row as usize / 64] + (word & ((1 << (row % 64)) - 1)).count_ones()
        };
        if self.mask.is_some() {
            ids.fill(I::NONE);
        }
        let (ids, to) = (SharedPtr(ids.as_mut_ptr() as *mut u8), SharedPtr(firsts.as_mut_ptr() as *mut u8));
        found.par_iter().enumerate().for_each(|(p, (firsts, numbers))| {
            let (ids, to) = (ids.at(0) as *mut I, to.at(0) as *mut I);
            let ranks: Vec<u32> = firsts.iter().map(|&row| rank(row)).collect();
            for (&row, &rank) in firsts.iter().zip(&ranks) {
                // SAFETY: ranks are below the number of keys, and each belongs to one key of one partition.
                unsafe { *to.add(rank as usize) = I::of(row) };
            }
            for (&(_, row), &number) in partition(p).iter().zip(numbers) {
                // SAFETY: each row is in one partition.
                unsafe { *ids.add(row as usize) = I::of(ranks[number as usize]) };
            }
        });
        count
    }

    /// Returns keys and rows ordered by partition, then by row, and the end of each partition.
    fn by_partition(self) -> (Vec<(i64, u32)>, Vec<usize>) {
        let n = self.keys.len();
        let len = n.div_ceil(rayon::current_num_threads()).max(PART);
        let part_of = |key: i64| (hash(key) >> (64 - PARTITION_BITS)) as usize;
        let count = |(part, keys): (usize, &[i64])| {
            let mut counts = vec![0usize; PARTITIONS];
            for (k, &key) in keys.iter().enumerate() {
                counts[part_of(key)] += usize::from(self.is_in(part * len + k));
            }
            counts
        };
        let mut next_of: Vec<Vec<usize>> = self.keys.par_chunks(len).enumerate().map(count).collect();
        let (mut next, mut ends) = (0, Vec::with_capacity(PARTITIONS));
        for partition in 0..PARTITIONS {
            for counts in &mut next_of {
                next += std::mem::replace(&mut counts[partition], next);
            }
            ends.push(next);
        }
        let mut moved = vec![(0i64, 0u32); next];
        let to = SharedPtr(moved.as_mut_ptr() as *mut u8);
        self.keys.par_chunks(len).zip(next_of.par_iter_mut()).enumerate().for_each(|(part, (keys, next))| {
            let to = to.at(0) as *mut (i64, u32);
            for (k, &key) in keys.iter().enumerate() {
                let row = part * len + k;
                if self.is_in(row) {
                    let at = &mut next[part_of(key)];
                    // SAFETY: each row of the mask has a position of its own among those that were counted.
                    unsafe { *to.add(*at) = (key, row as u32) };
                    *at += 1;
                }
            }
        });
        (moved, ends)
    }
}
