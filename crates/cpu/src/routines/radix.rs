//! Stable radix sort of words by 11-bit digits, least significant first. Parts of a row are counted and moved in
//! parallel. Digits that are the same everywhere are skipped.

use crate::threads::{SharedPtr, parallel_for, parallel_map};

const BITS: u32 = 11;
const BINS: usize = 1 << BITS;
/// Minimum number of elements in a part.
const PART: usize = 1 << 16;

/// An element with the bits by which it is sorted.
pub(crate) trait Item: Copy + Default + Send + Sync {
    fn bits(self) -> u64;
}

macro_rules! items {
    ($($t:ty)*) => {$(
        impl Item for $t {
            #[inline(always)]
            fn bits(self) -> u64 { u64::from(self) }
        }
    )*};
}
items!(u8 u16 u32 u64);

/// A word with its index.
impl<W: Item> Item for (W, u32) {
    #[inline(always)]
    fn bits(self) -> u64 {
        self.0.bits()
    }
}

/// Sorts `a` with `b`, which is as long, as a buffer. `zero` are the bits of -0, which count as equal to the next
/// larger bits.
pub(crate) fn sort<I: Item>(a: &mut [I], b: &mut [I], zero: Option<u64>) {
    let (n, first) = (a.len(), a.first().map_or(0, |i| i.bits()));
    let part = n.div_ceil(rayon::current_num_threads().max(1)).max(PART);
    let differs = |part: &[I]| part.iter().fold(0, |d, i| d | (i.bits() ^ first));
    let differing = parallel_map(n.div_ceil(PART), |p| differs(chunk(a, PART, p))).into_iter().fold(0, |x, y| x | y);
    let (mut from, mut to) = (a, b);
    let mut moved = false;
    for shift in (0..64).step_by(BITS as usize) {
        if ((differing >> shift) as usize).is_multiple_of(BINS) {
            continue;
        }
        // -0 and 0 differ only in the least significant digit.
        let equal = zero.filter(|_| shift == 0);
        let digit = |i: &I| {
            let bits = i.bits();
            ((bits >> shift) as usize % BINS) | usize::from(equal == Some(bits))
        };
        pass(from, to, part, digit);
        (from, to) = (to, from);
        moved = !moved;
    }
    if moved {
        // The result is in `b`, which is now `from`.
        to.copy_from_slice(from);
    }
}

fn pass<I: Item>(from: &[I], to: &mut [I], part: usize, digit: impl Fn(&I) -> usize + Sync) {
    let count = |part: &[I]| {
        let mut counts = vec![0usize; BINS];
        part.iter().for_each(|i| counts[digit(i)] += 1);
        counts
    };
    let parts = from.len().div_ceil(part);
    let mut places = parallel_map(parts, |p| count(chunk(from, part, p)));
    let mut next = 0;
    for bin in 0..BINS {
        for counts in &mut places {
            next += std::mem::replace(&mut counts[bin], next);
        }
    }
    let at = SharedPtr(to.as_mut_ptr() as *mut u8);
    parallel_for(parts, |p| {
        let mut places = places[p].clone();
        for i in chunk(from, part, p) {
            let place = &mut places[digit(i)];
            // SAFETY: every element has its own index, and there are as many as in `from` and `to`.
            unsafe { *(at.at(0) as *mut I).add(*place) = *i };
            *place += 1;
        }
    });
}

/// Returns part `p` of parts of `len` elements.
fn chunk<T>(all: &[T], len: usize, p: usize) -> &[T] {
    &all[p * len..all.len().min((p + 1) * len)]
}
