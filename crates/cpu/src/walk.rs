//! An affine access over a flattened iteration space, and copies along it.

use smallvec::SmallVec;

/// `offset + Σ stride·index` over the row-major flattening of some extents; neighbouring axes that one stride can say
/// are merged.
#[derive(Clone, Debug)]
pub(crate) struct Walk {
    offset: i64,
    /// (extent, stride), outermost first; empty for a single element.
    dims: SmallVec<[(i64, i64); 4]>,
}

/// A piece of a walk with one stride.
pub(crate) struct Run {
    /// Elements before it in the piece that was asked for.
    pub(crate) at: usize,
    /// Its first element.
    pub(crate) offset: i64,
    /// Elements from one to the next.
    pub(crate) stride: i64,
    /// How many.
    pub(crate) len: usize,
}

impl Walk {
    /// From extents and strides, outermost first.
    pub(crate) fn new(offset: i64, axes: impl Iterator<Item = (i64, i64)>) -> Walk {
        let mut dims: SmallVec<[(i64, i64); 4]> = SmallVec::new();
        for (n, s) in axes.filter(|&(n, _)| n != 1) {
            match dims.last_mut() {
                Some((m, t)) if *t == s * n => (*m, *t) = (*m * n, s),
                _ => dims.push((n, s)),
            }
        }
        Walk { offset, dims }
    }

    /// The stride, if one stride says it all.
    pub(crate) fn stride(&self) -> Option<i64> {
        match self.dims.as_slice() {
            [] => Some(0),
            [(_, s)] => Some(*s),
            _ => None,
        }
    }

    /// Element number `start`.
    #[inline]
    pub(crate) fn at(&self, mut start: i64) -> i64 {
        match self.dims.as_slice() {
            [] => self.offset,
            [(_, s)] => self.offset + start * s,
            [outer @ .., (n, s)] => {
                let mut offset = self.offset + start % n * s;
                start /= n;
                for (n, s) in outer.iter().rev() {
                    offset += start % n * s;
                    start /= n;
                }
                offset
            }
        }
    }

    /// If elements `start..start + len` have one stride: the first and the stride.
    #[inline]
    pub(crate) fn straight(&self, start: i64, len: usize) -> Option<(i64, i64)> {
        match self.dims.last() {
            None => Some((self.offset, 0)),
            Some(&(n, s)) if self.dims.len() == 1 || start % n + len as i64 <= n => Some((self.at(start), s)),
            _ => None,
        }
    }

    /// Calls `f` for each run of elements `start..start + len`.
    pub(crate) fn runs(&self, start: i64, len: usize, mut f: impl FnMut(Run)) {
        let Some(&(inner, stride)) = self.dims.last() else {
            return f(Run { at: 0, offset: self.offset, stride: 0, len });
        };
        let outer = &self.dims[..self.dims.len() - 1];
        let mut index: SmallVec<[i64; 8]> = SmallVec::from_elem(0, outer.len());
        let mut rest = start / inner;
        let mut base = self.offset;
        for (k, &(n, s)) in outer.iter().enumerate().rev() {
            index[k] = rest % n;
            base += index[k] * s;
            rest /= n;
        }
        let (mut at, mut first) = (0, start % inner);
        while at < len {
            let run = ((inner - first) as usize).min(len - at);
            f(Run { at, offset: base + first * stride, stride, len: run });
            at += run;
            first = 0;
            for (k, &(n, s)) in outer.iter().enumerate().rev() {
                index[k] += 1;
                base += s;
                if index[k] < n {
                    break;
                }
                base -= n * s;
                index[k] = 0;
            }
        }
    }
}

/// Copies `n` elements of `size` bytes; strides in elements.
///
/// # Safety
/// All elements are in valid memory, and source and destination do not overlap.
#[inline]
pub(crate) unsafe fn copy(to: *mut u8, to_stride: i64, from: *const u8, from_stride: i64, n: usize, size: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        match size {
            _ if to_stride == 1 && from_stride == 1 => std::ptr::copy_nonoverlapping(from, to, n * size),
            1 => strided::<u8>(to, to_stride, from, from_stride, n),
            2 => strided::<u16>(to, to_stride, from, from_stride, n),
            4 => strided::<u32>(to, to_stride, from, from_stride, n),
            8 => strided::<u64>(to, to_stride, from, from_stride, n),
            _ => strided::<u128>(to, to_stride, from, from_stride, n),
        }
    }
}

#[inline(always)]
unsafe fn strided<T: Copy>(to: *mut u8, to_stride: i64, from: *const u8, from_stride: i64, n: usize) {
    let (to, from) = (to as *mut T, from as *const T);
    // SAFETY: the caller's promise; foreign memory may be unaligned.
    unsafe {
        if to_stride == 1 && from_stride == 0 {
            let v = from.read_unaligned();
            for i in 0..n {
                to.add(i).write_unaligned(v);
            }
        } else if to_stride == 1 {
            for i in 0..n {
                to.add(i).write_unaligned(from.offset(i as isize * from_stride as isize).read_unaligned());
            }
        } else {
            for i in 0..n {
                let v = from.offset(i as isize * from_stride as isize).read_unaligned();
                to.offset(i as isize * to_stride as isize).write_unaligned(v);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_cover_the_space_in_order() {
        let w = Walk::new(5, [(3, 100), (1, 7), (4, 10), (2, 5)].into_iter());
        assert_eq!(w.dims.as_slice(), &[(3, 100), (8, 5)]);
        for start in 0..24 {
            for len in 0..=(24 - start) {
                let mut seen = vec![0; len];
                w.runs(start as i64, len, |r| {
                    for i in 0..r.len {
                        seen[r.at + i] = r.offset + i as i64 * r.stride;
                    }
                });
                let want: Vec<i64> = (start..start + len).map(|i| w.at(i as i64)).collect();
                assert_eq!(seen, want);
                assert_eq!(w.at(start as i64), 5 + (start as i64 / 8) * 100 + (start as i64 % 8) * 5);
            }
        }
        assert_eq!(Walk::new(0, [(4, 6), (6, 1)].into_iter()).stride(), Some(1));
        assert_eq!(Walk::new(3, std::iter::empty()).stride(), Some(0));
    }
}
