//! Stable sorting along the last axis, in a total order that puts NaN last.

use std::cmp::Ordering;

use cuprous_core::{DType, Error, Result};
use half::{bf16, f16};
use rayon::prelude::*;

use super::radix::{self, Item};
use crate::routines::operands::{Contiguous, PARALLEL, View, gather};
use crate::threads::{SharedPtr, parallel_parts};

/// Rows at least this long are sorted by several threads.
const MIN_PARALLEL_ROW: usize = 1 << 16;

/// Rows at least this long are sorted by radix sort.
const MIN_RADIX: usize = 1 << 12;

/// Returns how many rows of `n` elements a thread takes at a time: enough that taking them costs nothing.
pub(crate) fn rows_per_task(n: usize) -> usize {
    (MIN_RADIX / n.max(1)).max(1)
}

/// A key with NumPy's sort order.
pub(crate) trait Key: Copy + Send + Sync {
    fn order(&self, o: &Self) -> Ordering;
    /// Whether equal keys are indistinguishable, so that an unstable sort is sufficient.
    const PLAIN: bool;
    /// An unsigned word of the key's size with the same order, which can be converted back. The word of -0 comes
    /// directly before that of 0, and those of NaN after all numbers.
    type Word: Item + Ord;
    /// The word of -0, if there is one. `None` for keys without words.
    const ZERO: Option<Option<u64>>;
    fn word(self) -> Self::Word;
    fn of_word(word: Self::Word) -> Self;
    /// Returns a word that equal keys share, and that all NaN share.
    fn equal_word(self) -> Self::Word;
    /// Sorts a long row of keys without words by several threads.
    fn sort_long(_row: &mut [Self]) {
        unreachable!("keys with words are sorted by these")
    }
    /// Sorts many keys without words and their indices, by several threads.
    fn sort_long_pairs(_pairs: &mut [(Self, u32)]) {
        unreachable!("keys with words are sorted by these")
    }
}

/// Compares keys and then their indices.
#[inline(always)]
fn pair_order<T: Key>(a: &(T, u32), b: &(T, u32)) -> Ordering {
    a.0.order(&b.0).then(a.1.cmp(&b.1))
}

/// Sorts indices by an order, with several threads. It is compiled once for all keys.
pub(crate) fn sort_indices(indices: &mut [i64], order: &(dyn Fn(usize, usize) -> Ordering + Sync)) {
    indices.par_sort_by(|&a, &b| order(a as usize, b as usize));
}

macro_rules! int_key {
    ($($t:ty, $word:ty);*) => {$(
        impl Key for $t {
            const PLAIN: bool = true;
            #[inline(always)]
            fn order(&self, o: &$t) -> Ordering { self.cmp(o) }
            type Word = $word;
            const ZERO: Option<Option<u64>> = Some(None);
            #[inline(always)]
            fn word(self) -> $word { self as $word ^ <$t>::MIN as $word }
            #[inline(always)]
            fn of_word(word: $word) -> $t { (word ^ <$t>::MIN as $word) as $t }
            #[inline(always)]
            fn equal_word(self) -> $word { self.word() }
        }
    )*};
}
int_key!(u8, u8; i8, u8; u16, u16; i16, u16; u32, u32; i32, u32; u64, u64; i64, u64);

/// Compares floats. NaN comes last, and zeros are equal.
#[inline(always)]
fn float_order<T: PartialOrd>(a: &T, b: &T) -> Ordering {
    a.partial_cmp(b).unwrap_or_else(|| (a.partial_cmp(a).is_none()).cmp(&b.partial_cmp(b).is_none()))
}

macro_rules! float_key {
    ($($t:ty, $word:ty);*) => {$(
        impl Key for $t {
            const PLAIN: bool = false;
            #[inline(always)]
            fn order(&self, o: &$t) -> Ordering { float_order(self, o) }
            type Word = $word;
            const ZERO: Option<Option<u64>> = Some(Some(<$t>::INFINITY.to_bits() as u64));
            #[inline(always)]
            fn word(self) -> $word {
                const SIGN: $word = 1 << (<$word>::BITS - 1);
                let bits = self.to_bits();
                let ordered = if bits & SIGN != 0 { !bits } else { bits | SIGN };
                // Words of negative NaN would be the smallest. Subtracting their number from all
                // words makes them wrap to the largest.
                ordered.wrapping_sub(SIGN - 1 - <$t>::INFINITY.to_bits())
            }
            #[inline(always)]
            fn of_word(word: $word) -> $t {
                const SIGN: $word = 1 << (<$word>::BITS - 1);
                let ordered = word.wrapping_add(SIGN - 1 - <$t>::INFINITY.to_bits());
                <$t>::from_bits(if ordered & SIGN != 0 { ordered ^ SIGN } else { !ordered })
            }
            #[inline(always)]
            fn equal_word(self) -> $word {
                let word = self.word();
                let (zero, last) = (<$t>::INFINITY.to_bits(), <$t>::INFINITY.word());
                if word > last { <$word>::MAX } else if word == zero { word + 1 } else { word }
            }
        }
    )*};
}
float_key!(f32, u32; f64, u64; f16, u16; bf16, u16);

/// Complex numbers are sorted by (re, im), in NumPy's classes: without NaN, NaN in im, in re, in both.
impl<T: PartialOrd + Copy + Send + Sync> Key for [T; 2] {
    const PLAIN: bool = false;
    type Word = u64;
    const ZERO: Option<Option<u64>> = None;
    fn word(self) -> u64 {
        unreachable!("complex numbers have no words")
    }
    fn of_word(_: u64) -> Self {
        unreachable!("complex numbers have no words")
    }
    fn equal_word(self) -> u64 {
        unreachable!("complex numbers have no words")
    }
    #[inline(always)]
    fn order(&self, o: &Self) -> Ordering {
        let nan = |v: &T| v.partial_cmp(v).is_none();
        let class = |z: &[T; 2]| (nan(&z[0]), nan(&z[1]));
        class(self).cmp(&class(o)).then_with(|| match class(self) {
            (true, true) => Ordering::Equal,
            (true, false) => float_order(&self[1], &o[1]),
            (false, true) => float_order(&self[0], &o[0]),
            _ => float_order(&self[0], &o[0]).then_with(|| float_order(&self[1], &o[1])),
        })
    }
    fn sort_long(row: &mut [Self]) {
        row.par_sort_by(Self::order);
    }
    fn sort_long_pairs(pairs: &mut [(Self, u32)]) {
        pairs.par_sort_unstable_by(pair_order);
    }
}

/// Calls `$f::<T>(…)` with the key type of a dtype.
macro_rules! by_key {
    ($d:expr, $f:ident($($a:expr),*)) => {
        match $d {
            DType::Bool | DType::U8 => $f::<u8>($($a),*),
            DType::I8 => $f::<i8>($($a),*),
            DType::I16 => $f::<i16>($($a),*),
            DType::I32 => $f::<i32>($($a),*),
            DType::I64 => $f::<i64>($($a),*),
            DType::U16 => $f::<u16>($($a),*),
            DType::U32 => $f::<u32>($($a),*),
            DType::U64 => $f::<u64>($($a),*),
            DType::F16 => $f::<half::f16>($($a),*),
            DType::BF16 => $f::<half::bf16>($($a),*),
            DType::F32 => $f::<f32>($($a),*),
            DType::F64 => $f::<f64>($($a),*),
            DType::C64 => $f::<[f32; 2]>($($a),*),
            DType::C128 => $f::<[f64; 2]>($($a),*),
        }
    };
}
pub(crate) use by_key;

/// # Safety
/// The views are in memory. Shapes and dtypes are equal, and the output is contiguous.
pub(crate) unsafe fn sort(a: View, out: View) -> Result<()> {
    // SAFETY: the output has space for all elements.
    unsafe { gather(a, a.dtype(), out.origin())? };
    let n = *a.shape().last().unwrap_or(&1) as usize;
    let rows = a.layout.size as usize / n.max(1);
    by_key!(a.dtype(), sort_rows(SharedPtr(out.origin()), rows, n))
}

/// Returns an empty vector with capacity for `n` elements.
fn try_with_capacity<T>(n: usize) -> Result<Vec<T>> {
    let mut buffer = Vec::new();
    buffer.try_reserve_exact(n).map_err(|_| {
        let bytes = n.saturating_mul(size_of::<T>());
        Error::memory(format!(
            "[sort] cannot allocate {bytes} bytes of host memory to sort {n} elements; free arrays first"
        ))
    })?;
    Ok(buffer)
}

fn sort_rows<T: Key>(at: SharedPtr, rows: usize, n: usize) -> Result<()> {
    // SAFETY: the output has `rows·n` elements, and nothing else accesses it.
    let all = unsafe { std::slice::from_raw_parts_mut(at.0 as *mut T, rows * n) };
    let one = |row: &mut [T]| {
        match (T::ZERO, T::PLAIN) {
            (Some(zero), _) if n >= MIN_RADIX => return radix_sort(row, zero),
            (_, true) => row.sort_unstable_by(T::order),
            (_, false) => row.sort_by(T::order),
        }
        Ok(())
    };
    if n >= MIN_PARALLEL_ROW && rows < 2 * rayon::current_num_threads() {
        all.chunks_mut(n).try_for_each(|row| match T::ZERO {
            Some(zero) => radix_sort(row, zero),
            None => {
                T::sort_long(row);
                Ok(())
            }
        })
    } else if all.len() as i64 >= PARALLEL {
        parallel_parts(all, n * rows_per_task(n), |_, rows| rows.chunks_mut(n).try_for_each(one))
    } else {
        all.chunks_mut(n.max(1)).try_for_each(one)
    }
}

/// Fills an empty vector that has room with what `make` returns for the index and the value of each key.
fn fill<K: Copy + Sync, T: Send>(to: &mut Vec<T>, keys: &[K], make: impl Fn(usize, K) -> T + Sync) {
    let room = &mut to.spare_capacity_mut()[..keys.len()];
    let _never_fails: Result<()> = parallel_parts(room, MIN_PARALLEL_ROW, |first, part| {
        for (i, (to, key)) in part.iter_mut().zip(&keys[first..]).enumerate() {
            to.write(make(first + i, *key));
        }
        Ok(())
    });
    // SAFETY: the elements are written.
    unsafe { to.set_len(keys.len()) };
}

fn radix_sort<T: Key>(row: &mut [T], zero: Option<u64>) -> Result<()> {
    let (mut words, mut buffer) = (try_with_capacity::<T::Word>(row.len())?, try_with_capacity(row.len())?);
    fill(&mut words, row, |_, key| key.word());
    buffer.resize(row.len(), T::Word::default());
    radix::sort(&mut words, &mut buffer, zero);
    parallel_parts(row, MIN_PARALLEL_ROW, |first, part| {
        part.iter_mut().zip(&words[first..]).for_each(|(to, word)| *to = T::of_word(*word));
        Ok(())
    })
}

/// # Safety
/// The same as for [`sort`], with an int64 output.
pub(crate) unsafe fn argsort(a: View, out: View) -> Result<()> {
    // SAFETY: by this function's contract.
    let flat = unsafe { Contiguous::new(a, a.dtype())? };
    let n = *a.shape().last().unwrap_or(&1) as usize;
    let rows = a.layout.size as usize / n.max(1);
    by_key!(a.dtype(), argsort_rows(SharedPtr(flat.ptr()), SharedPtr(out.origin()), rows, n))
}

fn radix_argsort<T: Key>(row: &mut [i64], keys: &[T]) -> Result<()> {
    let (mut pairs, mut buffer) = (try_with_capacity::<(T::Word, u32)>(keys.len())?, try_with_capacity(keys.len())?);
    fill(&mut pairs, keys, |i, key| (key.equal_word(), i as u32));
    buffer.resize(keys.len(), (T::Word::default(), 0));
    radix::sort(&mut pairs, &mut buffer, None);
    parallel_parts(row, MIN_PARALLEL_ROW, |first, part| {
        part.iter_mut().zip(&pairs[first..]).for_each(|(to, (_, i))| *to = i64::from(*i));
        Ok(())
    })
}

fn argsort_rows<T: Key>(from: SharedPtr, to: SharedPtr, rows: usize, n: usize) -> Result<()> {
    // SAFETY: both have `rows·n` elements; nothing else accesses the output.
    let (keys, index) = unsafe {
        (
            std::slice::from_raw_parts(from.0 as *const T, rows * n),
            std::slice::from_raw_parts_mut(to.0 as *mut i64, rows * n),
        )
    };
    let one = |(row, keys): (&mut [i64], &[T]), parallel: bool| {
        if n >= MIN_RADIX && T::ZERO.is_some() {
            return radix_argsort(row, keys);
        }
        // Keys are moved together with their indices, so that comparisons do not access memory at random. All (key,
        // index) pairs are different, so an unstable sort of them is stable.
        let mut pairs: Vec<(T, u32)> = try_with_capacity(n)?;
        pairs.extend(keys.iter().zip(0u32..).map(|(&k, i)| (k, i)));
        match parallel {
            true => T::sort_long_pairs(&mut pairs),
            false => pairs.sort_unstable_by(pair_order),
        }
        for (to, (_, i)) in row.iter_mut().zip(pairs) {
            *to = i64::from(i);
        }
        Ok(())
    };
    if n > u32::MAX as usize {
        // Too long for 32-bit indices: sort the indices themselves.
        for (row, keys) in index.chunks_mut(n).zip(keys.chunks(n)) {
            row.iter_mut().zip(0..).for_each(|(to, i)| *to = i);
            sort_indices(row, &|a, b| keys[a].order(&keys[b]));
        }
        Ok(())
    } else if n >= MIN_PARALLEL_ROW && rows < 2 * rayon::current_num_threads() {
        index.chunks_mut(n).zip(keys.chunks(n)).try_for_each(|pair| one(pair, true))
    } else if (rows * n) as i64 >= PARALLEL {
        parallel_parts(index, n * rows_per_task(n), |first, rows| {
            rows.chunks_mut(n).zip(keys[first..].chunks(n)).try_for_each(|pair| one(pair, false))
        })
    } else {
        index.chunks_mut(n.max(1)).zip(keys.chunks(n.max(1))).try_for_each(|pair| one(pair, false))
    }
}
