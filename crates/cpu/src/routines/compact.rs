//! Packs masks to bits, and compacts the elements that a mask selects.

use cuprous_core::routine::{MASK_TILE, packed_mask};
use cuprous_core::{DType, Result};

use crate::routines::operands::{Contiguous, PARALLEL, View};
use crate::threads::{SharedPtr, parallel_for};

const TILE: usize = MASK_TILE as usize;
const WORDS: usize = TILE / 64;

/// Runs `tile` for each number below `n`, in parallel if there is enough work.
fn each_tile(n: usize, tile: impl Fn(usize) + Sync + Send) {
    let step = if (n * TILE) as i64 >= PARALLEL { PARALLEL as usize / TILE / 2 } else { n.max(1) };
    parallel_for(n.div_ceil(step), |t| (t * step..n.min((t + 1) * step)).for_each(&tile));
}

/// Returns up to 64 bytes, each 0 or 1, as bits.
#[inline(always)]
fn bits_of(bytes: &[u8]) -> u64 {
    let (eights, rest) = bytes.as_chunks::<8>();
    // The product moves the lowest bit of each byte to one of the highest eight.
    let whole = eights.iter().enumerate().fold(0, |word, (k, eight)| {
        word | (u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * k)
    });
    rest.iter().enumerate().fold(whole, |word, (k, &b)| word | u64::from(b) << (8 * eights.len() + k))
}

/// # Safety
/// The views are in memory. The output is int64 and has space for counts and bits.
pub(crate) unsafe fn pack(mask: View, out: View) -> Result<()> {
    // SAFETY: by this function's contract.
    let flat = unsafe { Contiguous::new(mask, DType::Bool)? };
    let n = mask.layout.size as usize;
    let tiles = packed_mask(n as i64).1 as usize;
    let (mask, to) = (SharedPtr(flat.ptr()), SharedPtr(out.origin()));
    each_tile(tiles, |k| {
        let (mask, to) = (mask, to);
        // SAFETY: the tile is within the mask, whose bytes are 0 or 1; only this tile writes its count and words.
        unsafe {
            let bytes = std::slice::from_raw_parts(mask.0.add(k * TILE), TILE.min(n - k * TILE));
            let to = to.0 as *mut u64;
            let mut count = 0;
            for w in 0..WORDS {
                let part = bytes.get(w * 64..).map_or(&[][..], |b| &b[..b.len().min(64)]);
                let word = bits_of(part);
                *to.add(tiles + k * WORDS + w) = word;
                count += u64::from(word.count_ones());
            }
            *to.add(k) = count;
        }
    });
    // SAFETY: every count was written above.
    let sums = unsafe { std::slice::from_raw_parts_mut(out.origin() as *mut i64, tiles) };
    let mut sum = 0;
    for x in sums {
        sum += *x;
        *x = sum;
    }
    Ok(())
}

/// # Safety
/// The views are in memory and their shapes were checked. Without values the output is int64.
pub(crate) unsafe fn compact(packed: View, values: Option<View>, out: View) -> Result<()> {
    // SAFETY: by this function's contract.
    let flat = unsafe { Contiguous::new(packed, DType::I64)? };
    // SAFETY: by this function's contract.
    let values = values.map(|v| unsafe { Contiguous::new(v, v.dtype()) }).transpose()?;
    let at = values.as_ref().map(|v| SharedPtr(v.ptr()));
    let tiles = packed.layout.size as usize / (WORDS + 1);
    let task = CompactTask {
        packed: SharedPtr(flat.ptr()),
        tiles,
        out: SharedPtr(out.origin()),
        size: out.layout.size as usize,
    };
    match (at, out.dtype().size()) {
        (None, _) => task.run(|i| i as i64),
        (Some(v), 1) => task.pick::<u8>(v),
        (Some(v), 2) => task.pick::<u16>(v),
        (Some(v), 4) => task.pick::<u32>(v),
        (Some(v), 8) => task.pick::<u64>(v),
        (Some(v), _) => task.pick::<[u64; 2]>(v),
    }
    Ok(())
}

struct CompactTask {
    packed: SharedPtr,
    tiles: usize,
    out: SharedPtr,
    size: usize,
}

impl CompactTask {
    fn pick<T: Copy>(&self, values: SharedPtr) {
        self.run(|i| {
            // SAFETY: each bit of the mask stands for an element of the values.
            unsafe { *(values.at(0) as *const T).add(i) }
        });
    }

    fn run<T: Copy>(&self, value: impl Fn(usize) -> T + Sync + Send) {
        let CompactTask { packed, tiles, out, size } = *self;
        each_tile(tiles, |k| {
            let (packed, out) = (packed, out);
            // SAFETY: a tile's elements go to a part of the output that no other tile writes.
            unsafe {
                let packed = packed.0 as *const u64;
                let mut to = if k > 0 { *packed.add(k - 1) as usize } else { 0 };
                for w in 0..WORDS {
                    let mut word = *packed.add(tiles + k * WORDS + w);
                    let (first, room) = (k * TILE + w * 64, size - to.min(size));
                    if word == u64::MAX && room >= 64 {
                        (0..64).for_each(|i| *(out.0 as *mut T).add(to + i) = value(first + i));
                        to += 64;
                        continue;
                    }
                    while word != 0 && to < size {
                        *(out.0 as *mut T).add(to) = value(first + word.trailing_zeros() as usize);
                        word &= word - 1;
                        to += 1;
                    }
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::bits_of;

    #[test]
    fn bits_are_bytes_in_order() {
        for n in 0..=64 {
            let bytes: Vec<u8> = (0..n).map(|k: u32| u8::from(k * k % 7 < 3)).collect();
            let expected = bytes.iter().rev().fold(0, |word, &b| word << 1 | u64::from(b));
            assert_eq!(bits_of(&bytes), expected, "{n} bytes");
        }
    }
}
