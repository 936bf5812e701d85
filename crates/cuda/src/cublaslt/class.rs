//! Classes of products. A product whose shape is new takes the kernel that the library chose for its class, because asking
//! the library takes longer than a small product.

use super::layout::{Layout, Layouts};
use super::{MatmulType, PlanKey};

/// Multiplications up to which products of a class share a kernel: some 10 µs of an H200. For larger ones the library's
/// choice for the exact shape is worth the question.
const MOST_WORK: u64 = 1 << 28;
/// Bytes of the widest access of a kernel.
const WIDEST: u64 = 16;

impl PlanKey {
    /// Returns the problem that stands for the class of this one: its extents are rounded up to one of four steps for each
    /// power of two, and its strides have the same alignment. `None` if the problem is too large for a class.
    pub(super) fn representative(&self) -> Option<PlanKey> {
        let Layouts { first, second, out, .. } = &self.layouts;
        let inner = if first.transpose { first.rows } else { first.cols };
        let work = [out.rows, out.cols, inner, self.batch.into()].into_iter().try_fold(1_u64, u64::checked_mul)?;
        if work > MOST_WORK {
            return None;
        }
        let batch = u32::try_from(rounded(self.batch.into())).ok()?;
        let of = |layout: &Layout, dtype: MatmulType| of_class(layout, WIDEST / size(dtype), batch > 1);
        let layouts = Layouts {
            first: of(first, self.dtype),
            second: of(second, self.dtype),
            out: of(out, self.out_dtype),
            swapped: self.layouts.swapped,
        };
        Some(PlanKey { layouts, batch, ..*self })
    }
}

fn size(dtype: MatmulType) -> u64 {
    match dtype {
        MatmulType::F16 | MatmulType::Bf16 => 2,
        MatmulType::F32 => 4,
        MatmulType::F64 | MatmulType::C64 => 8,
        MatmulType::C128 => 16,
    }
}

/// Returns the smallest step that is not below `n`: up to 8 each number, then four for each power of two.
fn rounded(n: u64) -> u64 {
    if n <= 8 { n } else { n.next_multiple_of(1 << ((n - 1).ilog2() - 2)) }
}

/// Returns the largest power of two up to `unit` that divides a stride.
fn alignment(stride: i64, unit: u64) -> u64 {
    let stride = stride.unsigned_abs();
    if stride == 0 { unit } else { (1 << stride.trailing_zeros()).min(unit) }
}

/// Returns the smallest number that is not below `least` and has the alignment of `stride`.
fn like(least: u64, stride: i64, unit: u64) -> i64 {
    let alignment = alignment(stride, unit);
    let multiple = least.next_multiple_of(alignment);
    // An odd multiple, unless the stride has the full alignment.
    let odd = multiple + if alignment < unit && (multiple / alignment).is_multiple_of(2) { alignment } else { 0 };
    odd as i64
}

/// Returns the matrix that stands for the class of a matrix; `unit` is the number of elements of the widest access.
fn of_class(layout: &Layout, unit: u64, batched: bool) -> Layout {
    let (rows, cols) = (rounded(layout.rows), rounded(layout.cols));
    let leading = like(rows, layout.leading, unit);
    let batch_stride = match (batched, layout.batch_stride) {
        (false, _) | (_, 0) => 0,
        (true, stride) => like(leading as u64 * cols, stride, unit),
    };
    Layout { rows, cols, leading, batch_stride, transpose: layout.transpose }
}

#[cfg(test)]
mod tests {
    use super::super::layout::layouts;
    use super::super::{Epilogue, Matrix};
    use super::*;

    fn key(m: u64, k: u64, n: u64, batch: u32) -> PlanKey {
        let (a, b, c) = (Matrix::row_major(m, k), Matrix::row_major(k, n), Matrix::row_major(m, n));
        PlanKey {
            dtype: MatmulType::F32,
            out_dtype: MatmulType::F32,
            layouts: layouts(&a, &b, &c).expect("row-major matrices are supported"),
            batch,
            tf32: false,
            epilogue: Epilogue::None,
            alignment: [256; 3],
            workspace: 0,
        }
    }

    #[test]
    fn neighboring_lengths_have_one_class() {
        let class = |t: u64| key(t, 512, 512, 1).representative();
        assert_eq!(class(193), class(224));
        assert_ne!(class(192), class(193));
        let lengths = 1..=400;
        let classes: std::collections::HashSet<_> = lengths.map(|t| class(t).expect("it is small")).collect();
        assert!(classes.len() < 32, "{}", classes.len());
        assert_eq!(key(4096, 4096, 4096, 1).representative(), None);
    }

    #[test]
    fn a_class_has_one_alignment() {
        for t in 1..300 {
            let problem = key(t, 64, t, 8);
            let class = problem.representative().expect("it is small");
            for (own, of_class) in
                [(problem.layouts.first, class.layouts.first), (problem.layouts.out, class.layouts.out)]
            {
                assert_eq!(alignment(own.leading, 4), alignment(of_class.leading, 4), "{t}");
                assert_eq!(alignment(own.batch_stride, 4), alignment(of_class.batch_stride, 4), "{t}");
                assert!(of_class.leading as u64 >= of_class.rows && of_class.rows >= own.rows, "{t}");
                assert!(of_class.batch_stride as u64 >= of_class.leading as u64 * of_class.cols, "{t}");
            }
            // The class of a representative is its own.
            assert_eq!(class.representative(), Some(class));
        }
    }
}
