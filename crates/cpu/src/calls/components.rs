//! Connected components.

use cuprous_core::{DType, Layout, Result};

use super::Flat;
use crate::call::View;

/// Are there bits for every step, and places for every element?
pub(crate) fn fits(steps: &[i64], edges: &Layout, out: &Layout) -> bool {
    let bits = 8 * edges.dtype.size();
    edges.ndim() == 2
        && matches!(edges.dtype, DType::U8 | DType::U16 | DType::U32 | DType::U64)
        && edges.shape[0] as usize * bits >= steps.len()
        && steps.iter().all(|&s| s > 0)
        && out.shape[..] == edges.shape[1..]
        && out.dtype == DType::I64
}

/// # Safety
/// The views are in memory and fit together.
pub(crate) unsafe fn components(steps: &[i64], edges: View, out: View) -> Result<()> {
    let n = out.layout.size as usize;
    // SAFETY: passed on.
    let flat = unsafe { Flat::new(edges, edges.dtype())? };
    // SAFETY: the output has room for `n`; every one is written before it is read.
    let root = unsafe { std::slice::from_raw_parts_mut(out.origin() as *mut i64, n) };
    macro_rules! unite {
        ($($dtype:ident: $word:ty),*) => {
            match edges.dtype() {
                // SAFETY: `fits` has seen the dtype and the shape.
                $(DType::$dtype => all(steps, unsafe {
                    std::slice::from_raw_parts(flat.ptr() as *const $word, edges.layout.size as usize)
                }, root),)*
                _ => {}
            }
        };
    }
    unite!(U8: u8, U16: u16, U32: u32, U64: u64);
    Ok(())
}

/// Trees of elements in which a parent is never behind its child (R. Tarjan, J. ACM 22 (1975), paths halved).
fn all<W: Copy + Into<u64>>(steps: &[i64], edges: &[W], root: &mut [i64]) {
    let (n, bits) = (root.len(), 8 * size_of::<W>());
    let runs = steps.first() == Some(&1);
    for i in 0..n {
        root[i] = i as i64;
        let mut own = i;
        for (w, steps) in steps.chunks(bits).enumerate() {
            let mut word: u64 = edges[w * n + i].into();
            if runs && w == 0 && word & 1 == 1 && i > 0 {
                // Where the element before is joined by the same step, and what both are joined to is, all are.
                own = unite(root, own, i - 1);
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
                    own = unite(root, own, i - step);
                }
            }
        }
    }
    // Parents come first, so each has its root already.
    for i in 0..n {
        root[i] = root[root[i] as usize];
    }
}

/// Joins the trees of a root and of an element; gives back the root of both.
fn unite(root: &mut [i64], own: usize, mut at: usize) -> usize {
    while root[at] as usize != at {
        let parent = root[at] as usize;
        root[at] = root[parent];
        at = parent;
    }
    let (least, most) = (own.min(at), own.max(at));
    root[most] = least as i64;
    least
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_and_lone_elements() {
        // 0 - 2 - 4 by steps of 2, 3 - 4 by a step of 1, 1 and 5 alone; bits beyond the steps mean nothing.
        let edges = [0b00_u8, 0b10, 0b10, 0b00, 0b11, 0b100];
        let mut root = [9; 6];
        all(&[1, 2], &edges, &mut root);
        assert_eq!(root, [0, 1, 0, 0, 0, 5]);
    }
}
