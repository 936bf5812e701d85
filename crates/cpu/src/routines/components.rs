//! Connected components.

use cuprous_core::{DType, Layout, Result};

use crate::routines::operands::{Contiguous, View};

/// Returns true if the edges have a bit for every step and the output has an index for every element.
pub(crate) fn fits(steps: &[i64], edges: &Layout, out: &Layout) -> bool {
    let bits = 8 * edges.dtype.size();
    edges.ndim() == 2
        && matches!(edges.dtype, DType::U8 | DType::U16 | DType::U32 | DType::U64)
        && edges.shape[0] as usize * bits >= steps.len()
        && steps.iter().all(|&s| s > 0)
        && out.shape[..] == edges.shape[1..]
        && (out.dtype == DType::I64 || out.dtype == DType::I32 && out.size <= i64::from(i32::MAX))
}

/// # Safety
/// The views are in memory and satisfy [`fits`].
pub(crate) unsafe fn components(steps: &[i64], edges: View, out: View) -> Result<()> {
    let n = out.layout.size as usize;
    // SAFETY: by this function's contract.
    let flat = unsafe { Contiguous::new(edges, edges.dtype())? };
    macro_rules! unite {
        ($index:ty, $($dtype:ident: $word:ty),*) => {
            match edges.dtype() {
                // SAFETY: `fits` has checked dtypes and shapes; every element of the output is written before it is
                // read.
                $(DType::$dtype => unsafe {
                    let words = std::slice::from_raw_parts(flat.ptr() as *const $word, edges.layout.size as usize);
                    union_all(steps, words, std::slice::from_raw_parts_mut(out.origin() as *mut $index, n));
                },)*
                _ => {}
            }
        };
    }
    if out.dtype() == DType::I32 {
        unite!(i32, U8: u8, U16: u16, U32: u32, U64: u64);
    } else {
        unite!(i64, U8: u8, U16: u16, U32: u32, U64: u64);
    }
    Ok(())
}

/// An integer type that holds the index of an element.
trait ElementIndex: Copy {
    fn of(element: usize) -> Self;
    fn element(self) -> usize;
}

macro_rules! element_indices {
    ($($index:ty),*) => {
        $(impl ElementIndex for $index {
            fn of(element: usize) -> Self {
                element as $index
            }

            fn element(self) -> usize {
                self as usize
            }
        })*
    };
}
element_indices!(i32, i64);

/// Union-find in which a parent is never behind its child (R. Tarjan, J. ACM 22 (1975), with path halving).
fn union_all<W: Copy + Into<u64>, P: ElementIndex>(steps: &[i64], edges: &[W], parents: &mut [P]) {
    let (n, bits) = (parents.len(), 8 * size_of::<W>());
    let runs = steps.first() == Some(&1);
    for i in 0..n {
        parents[i] = P::of(i);
        let mut root = i;
        for (w, steps) in steps.chunks(bits).enumerate() {
            let mut word: u64 = edges[w * n + i].into();
            if runs && w == 0 && word & 1 == 1 && i > 0 {
                // The edge by another step is redundant if the previous element has the same edge, and the two
                // elements to which these edges lead are joined to each other.
                root = unite(parents, root, i - 1);
                let before: u64 = edges[i - 1].into();
                let mut both = word & before & !1;
                word &= !1;
                while both != 0 {
                    let b = both.trailing_zeros() as usize;
                    both &= both - 1;
                    let at = steps.get(b).map_or(i, |&s| i.saturating_sub(s as usize));
                    let joined: u64 = edges[at].into();
                    word &= !(joined << b & 1 << b);
                }
            }
            while word != 0 {
                let step = steps.get(word.trailing_zeros() as usize).copied().unwrap_or(0) as usize;
                word &= word - 1;
                if step > 0 && step <= i {
                    root = unite(parents, root, i - step);
                }
            }
        }
    }
    // Parents come before their children, so each parent has its root already.
    for i in 0..n {
        parents[i] = parents[parents[i].element()];
    }
}

/// Joins the trees of a root and of an element, and returns the common root.
fn unite<P: ElementIndex>(parents: &mut [P], root: usize, mut at: usize) -> usize {
    while parents[at].element() != at {
        let parent = parents[at].element();
        parents[at] = parents[parent];
        at = parent;
    }
    let (least, most) = (root.min(at), root.max(at));
    parents[most] = P::of(least);
    least
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_and_lone_elements() {
        // 0 - 2 - 4 by steps of 2, 3 - 4 by a step of 1, 1 and 5 isolated. Bits beyond the steps are ignored.
        let edges = [0b00_u8, 0b10, 0b10, 0b00, 0b11, 0b100];
        let (mut parents, mut short) = ([9_i64; 6], [9_i32; 6]);
        union_all(&[1, 2], &edges, &mut parents);
        union_all(&[1, 2], &edges, &mut short);
        assert_eq!((parents, short), ([0, 1, 0, 0, 0, 5], [0, 1, 0, 0, 0, 5]));
    }
}
