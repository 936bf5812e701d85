//! Affine accesses over a flattened iteration space, and copies along them.

use smallvec::SmallVec;

/// The offsets `offset + Σ stride·index` over the row-major flattening of some extents. Neighboring axes that one
/// stride can describe are merged.
#[derive(Clone, Debug)]
pub(crate) struct AffineAccess {
    offset: i64,
    /// (extent, stride) of each axis, outermost first. Empty for a single element.
    dims: SmallVec<[(i64, i64); 4]>,
}

/// A rectangle of a range of elements: rows of equal length with one stride within a row and one between rows.
pub(crate) struct Rect {
    /// Number of elements of the range before it.
    pub(crate) at: usize,
    /// Offset of its first element.
    pub(crate) offset: i64,
    /// Distances from row to row and from element to element.
    pub(crate) strides: [i64; 2],
    /// Number of rows.
    pub(crate) rows: usize,
    /// Number of elements in a row.
    pub(crate) len: usize,
}

/// A part of a range of elements with one stride.
pub(crate) struct Run {
    /// Number of elements of the range before it.
    pub(crate) at: usize,
    /// Offset of its first element.
    pub(crate) offset: i64,
    /// Distance from one element to the next.
    pub(crate) stride: i64,
    /// Number of elements.
    pub(crate) len: usize,
}

impl AffineAccess {
    /// Creates an access from extents and strides, outermost first.
    pub(crate) fn new(offset: i64, axes: impl Iterator<Item = (i64, i64)>) -> AffineAccess {
        let mut dims: SmallVec<[(i64, i64); 4]> = SmallVec::new();
        for (n, s) in axes.filter(|&(n, _)| n != 1) {
            match dims.last_mut() {
                Some((m, t)) if *t == s * n => (*m, *t) = (*m * n, s),
                _ => dims.push((n, s)),
            }
        }
        AffineAccess { offset, dims }
    }

    /// Returns the number of elements of a run, if there are several runs.
    pub(crate) fn run(&self) -> Option<i64> {
        self.dims.last().filter(|_| self.dims.len() > 1).map(|&(n, _)| n)
    }

    /// Returns true if neighboring elements of a run are neighbors in memory.
    pub(crate) fn has_contiguous_runs(&self) -> bool {
        self.dims.last().is_some_and(|&(_, s)| s == 1)
    }

    /// Returns the offset of element number `start`.
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

    /// Returns the first offset and the stride of elements `start..start + len` if they have one stride.
    #[inline]
    pub(crate) fn single_stride(&self, start: i64, len: usize) -> Option<(i64, i64)> {
        match self.dims.last() {
            None => Some((self.offset, 0)),
            Some(&(n, s)) if self.dims.len() == 1 || start % n + len as i64 <= n => Some((self.at(start), s)),
            _ => None,
        }
    }

    /// Calls `f` for each run of elements `start..start + len`.
    pub(crate) fn runs(&self, start: i64, len: usize, mut f: impl FnMut(Run)) {
        self.rects(start, len, |r| {
            for row in 0..r.rows {
                let offset = r.offset + row as i64 * r.strides[0];
                f(Run { at: r.at + row * r.len, offset, stride: r.strides[1], len: r.len });
            }
        });
    }

    /// Calls `f` for the rectangles that cover elements `start..start + len`. Complete runs at one distance form one
    /// rectangle.
    pub(crate) fn rects(&self, start: i64, len: usize, mut f: impl FnMut(Rect)) {
        let Some(&(inner, stride)) = self.dims.last() else {
            return f(Rect { at: 0, offset: self.offset, strides: [0, 0], rows: 1, len });
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
            let (rows, pitch) = match (outer.last(), index.last()) {
                (Some(&(n, s)), Some(&i)) if run == inner as usize => (((len - at) / run).min((n - i) as usize), s),
                _ => (1, 0),
            };
            f(Rect { at, offset: base + first * stride, strides: [pitch, stride], rows, len: run });
            at += rows * run;
            first = 0;
            let mut step = rows as i64;
            for (k, &(n, s)) in outer.iter().enumerate().rev() {
                index[k] += step;
                base += step * s;
                if index[k] < n {
                    break;
                }
                base -= n * s;
                index[k] = 0;
                step = 1;
            }
        }
    }
}

/// Copies `rows` × `n` elements of `size` bytes. Strides (row, column) are in elements.
///
/// # Safety
/// The same as for [`copy_strided`].
pub(crate) unsafe fn copy_rect(
    to: *mut u8,
    to_strides: [i64; 2],
    from: *const u8,
    from_strides: [i64; 2],
    rows: usize,
    n: usize,
    size: usize,
) {
    let crosswise = |[row, column]: [i64; 2]| row != 0 && row.abs() < column.abs();
    // SAFETY: by this function's contract.
    unsafe {
        if rows > 1 && (crosswise(from_strides) || crosswise(to_strides)) {
            return match size {
                1 => copy_by_columns::<u8>(to, to_strides, from, from_strides, rows, n),
                2 => copy_by_columns::<u16>(to, to_strides, from, from_strides, rows, n),
                4 => copy_by_columns::<u32>(to, to_strides, from, from_strides, rows, n),
                8 => copy_by_columns::<u64>(to, to_strides, from, from_strides, rows, n),
                _ => copy_by_columns::<u128>(to, to_strides, from, from_strides, rows, n),
            };
        }
        for row in 0..rows as i64 {
            let at = |strides: [i64; 2]| (row * strides[0] * size as i64) as isize;
            let (to, from) = (to.offset(at(to_strides)), from.offset(at(from_strides)));
            copy_strided(to, to_strides[1], from, from_strides[1], n, size);
        }
    }
}

/// Copies down the columns, [`LINE`] rows at a time, so that a cache line is used completely before the next one is
/// needed.
#[inline(always)]
unsafe fn copy_by_columns<T: Copy>(
    to: *mut u8,
    [tr, tc]: [i64; 2],
    from: *const u8,
    [fr, fc]: [i64; 2],
    rows: usize,
    n: usize,
) {
    const LINE: usize = 16;
    let (to, from, size) = (to as *mut T, from as *const T, size_of::<T>());
    let [tr, tc, fr, fc] = [tr, tc, fr, fc].map(|s| s as isize);
    // In registers where both sides are contiguous, one along the rows and the other along the columns.
    let edge = if fr == 1 && tc == 1 { small_transpose::EDGES[size.min(16) / 4] } else { 1 };
    // SAFETY: by the caller's contract. Accesses are unaligned because memory of other libraries may be.
    unsafe {
        for row in (0..rows).step_by(LINE) {
            let (to, from) = (to.offset(row as isize * tr), from.offset(row as isize * fr));
            let m = LINE.min(rows - row);
            let full = if edge > 1 && m == LINE { n / edge * edge } else { 0 };
            for j in (0..full as isize).step_by(edge) {
                for i in (0..LINE as isize).step_by(edge) {
                    let (to, from) = (to.offset(i * tr + j), from.offset(i + j * fc));
                    small_transpose::transpose(
                        to as *mut u8,
                        tr * size as isize,
                        from as *const u8,
                        fc * size as isize,
                        size,
                    );
                }
            }
            for j in full as isize..n as isize {
                for i in 0..m as isize {
                    to.offset(i * tr + j * tc).write_unaligned(from.offset(i * fr + j * fc).read_unaligned());
                }
            }
        }
    }
}

/// Transposes 4 × 4 elements of four bytes, or 2 × 2 of eight, in SSE2 registers. There are fewer stores than elements,
/// so that more reads are in flight.
#[cfg(target_arch = "x86_64")]
mod small_transpose {
    use std::arch::x86_64::*;

    /// Rows of a square, indexed by a quarter of the element's size. 1 means that no square is used.
    pub(super) const EDGES: [usize; 5] = [1, 4, 2, 1, 1];

    /// # Safety
    /// All elements are in memory. Strides are in bytes.
    #[inline(always)]
    pub(super) unsafe fn transpose(to: *mut u8, to_row: isize, from: *const u8, from_column: isize, size: usize) {
        // SAFETY: by this function's contract; SSE2 is part of the architecture.
        unsafe {
            if size == 4 {
                let get = |j: isize| _mm_loadu_ps(from.offset(j * from_column) as *const f32);
                let (mut a, mut b, mut c, mut d) = (get(0), get(1), get(2), get(3));
                _MM_TRANSPOSE4_PS(&mut a, &mut b, &mut c, &mut d);
                for (i, v) in [a, b, c, d].into_iter().enumerate() {
                    _mm_storeu_ps(to.offset(i as isize * to_row) as *mut f32, v);
                }
            } else {
                let (a, b) = (_mm_loadu_pd(from as *const f64), _mm_loadu_pd(from.offset(from_column) as *const f64));
                _mm_storeu_pd(to as *mut f64, _mm_unpacklo_pd(a, b));
                _mm_storeu_pd(to.offset(to_row) as *mut f64, _mm_unpackhi_pd(a, b));
            }
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod small_transpose {
    pub(super) const EDGES: [usize; 5] = [1; 5];

    pub(super) unsafe fn transpose(_: *mut u8, _: isize, _: *const u8, _: isize, _: usize) {
        unreachable!("squares are not used on this architecture")
    }
}

/// Copies `n` elements of `size` bytes. Strides are in elements.
///
/// # Safety
/// All elements are in valid memory. Source and destination do not overlap, or each element is copied to itself.
#[inline]
pub(crate) unsafe fn copy_strided(
    to: *mut u8,
    to_stride: i64,
    from: *const u8,
    from_stride: i64,
    n: usize,
    size: usize,
) {
    // SAFETY: by this function's contract.
    unsafe {
        match size {
            _ if from_stride == to_stride && from == to.cast_const() => (),
            _ if to_stride == 1 && from_stride == 1 => std::ptr::copy_nonoverlapping(from, to, n * size),
            1 => copy_typed::<u8>(to, to_stride, from, from_stride, n),
            2 => copy_typed::<u16>(to, to_stride, from, from_stride, n),
            4 => copy_typed::<u32>(to, to_stride, from, from_stride, n),
            8 => copy_typed::<u64>(to, to_stride, from, from_stride, n),
            _ => copy_typed::<u128>(to, to_stride, from, from_stride, n),
        }
    }
}

#[inline(always)]
unsafe fn copy_typed<T: Copy>(to: *mut u8, to_stride: i64, from: *const u8, from_stride: i64, n: usize) {
    let (to, from) = (to as *mut T, from as *const T);
    // SAFETY: by the caller's contract. Accesses are unaligned because memory of other libraries may be.
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
    fn rectangles_are_copied_both_ways() {
        for (rows, n) in [(1, 5), (16, 16), (37, 3), (20, 64), (3, 50)] {
            let (r, c) = (rows as i64, n as i64);
            let from: Vec<u32> = (0..rows * n).map(|i| i as u32).collect();
            let want: Vec<u32> = (0..rows * n).map(|i| from[i % n * rows + i / n]).collect();
            let mut turned = vec![0; rows * n];
            let mut back = vec![0; rows * n];
            let pointers = (turned.as_mut_ptr() as *mut u8, back.as_mut_ptr() as *mut u8, from.as_ptr() as *const u8);
            // SAFETY: each vector holds all the elements.
            unsafe {
                copy_rect(pointers.0, [c, 1], pointers.2, [1, r], rows, n, 4);
                copy_rect(pointers.1, [1, r], pointers.0, [c, 1], rows, n, 4);
            }
            assert_eq!((turned, back), (want, from));
        }
    }

    #[test]
    fn runs_cover_the_space_in_order() {
        let w = AffineAccess::new(5, [(3, 100), (1, 7), (4, 10), (2, 5)].into_iter());
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
        assert_eq!(AffineAccess::new(0, [(4, 6), (6, 1)].into_iter()).single_stride(0, 24), Some((0, 1)));
        assert_eq!(AffineAccess::new(3, std::iter::empty()).single_stride(0, 1), Some((3, 0)));
    }
}
