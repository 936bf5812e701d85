//! Converts strided row-major matrices to the form of cuBLASLt: column-major, a leading dimension, a transpose flag.

use crate::error::{CudaError, Result};

/// A strided matrix; strides in elements. One of the two strides must be 1. The stride of an extent of 1 is arbitrary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Matrix {
    /// Rows.
    pub rows: u64,
    /// Columns.
    pub cols: u64,
    /// The distance between rows.
    pub row_stride: i64,
    /// The distance between columns.
    pub col_stride: i64,
    /// The distance between matrices of a batch; 0 repeats one matrix (not for the result).
    pub batch_stride: i64,
}

impl Matrix {
    /// Returns a row-major matrix without gaps.
    #[must_use]
    pub const fn row_major(rows: u64, cols: u64) -> Self {
        Matrix { rows, cols, row_stride: cols as i64, col_stride: 1, batch_stride: (rows * cols) as i64 }
    }

    /// Returns the transpose, which has the same memory.
    #[must_use]
    pub const fn transposed(self) -> Self {
        Matrix {
            rows: self.cols,
            cols: self.rows,
            row_stride: self.col_stride,
            col_stride: self.row_stride,
            batch_stride: self.batch_stride,
        }
    }
}

/// A column-major matrix in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Layout {
    pub(super) rows: u64,
    pub(super) cols: u64,
    pub(super) leading: i64,
    pub(super) batch_stride: i64,
    /// The product uses its transpose.
    pub(super) transpose: bool,
}

/// `out = first × second`, all column-major. If `swapped`, `first` is the caller's `b`, and `out` is the transposed
/// result, which in memory is the row-major result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Layouts {
    pub(super) first: Layout,
    pub(super) second: Layout,
    pub(super) out: Layout,
    pub(super) swapped: bool,
}

/// Returns a column-major layout whose value, transposed if so marked, is the transpose of `matrix`. `None` if no
/// stride is 1.
fn transposed_layout(matrix: &Matrix) -> Option<Layout> {
    let Matrix { rows, cols, row_stride, col_stride, batch_stride } = *matrix;
    // The stride of an extent of 1 is not used, but cuBLASLt still checks the leading dimension.
    let leading = |stride: i64, steps: u64, length: u64| {
        let min_leading = length.max(1) as i64;
        if steps <= 1 { Some(stride.max(min_leading)) } else { (stride >= min_leading).then_some(stride) }
    };
    if col_stride == 1 || cols <= 1 {
        let leading = leading(row_stride, rows, cols);
        if let Some(leading) = leading {
            return Some(Layout { rows: cols, cols: rows, leading, batch_stride, transpose: false });
        }
    }
    if row_stride == 1 || rows <= 1 {
        let leading = leading(col_stride, cols, rows)?;
        return Some(Layout { rows, cols, leading, batch_stride, transpose: true });
    }
    None
}

/// Returns the layouts of `c = a × b`.
pub(super) fn layouts(a: &Matrix, b: &Matrix, c: &Matrix) -> Result<Layouts> {
    if a.cols != b.rows || c.rows != a.rows || c.cols != b.cols {
        return Err(CudaError::Unsupported(format!("[matmul] shapes do not match: {}", describe(a, b, c))));
    }
    let refuse = |which: &str| {
        CudaError::Unsupported(format!(
            "[matmul] neither the rows nor the columns of {which} are contiguous: {}; copy it first",
            describe(a, b, c)
        ))
    };
    // A row-major result is the transposed result in column-major order: cᵀ = bᵀ × aᵀ.
    if let Some(out) = transposed_layout(c).filter(|out| !out.transpose) {
        let first = transposed_layout(b).ok_or_else(|| refuse("the second operand"))?;
        let second = transposed_layout(a).ok_or_else(|| refuse("the first operand"))?;
        return Ok(Layouts { first, second, out, swapped: true });
    }
    // A column-major result needs no transposition.
    let out = transposed_layout(&c.transposed()).filter(|out| !out.transpose).ok_or_else(|| refuse("the result"))?;
    let first = transposed_layout(&a.transposed()).ok_or_else(|| refuse("the first operand"))?;
    let second = transposed_layout(&b.transposed()).ok_or_else(|| refuse("the second operand"))?;
    Ok(Layouts { first, second, out, swapped: false })
}

/// Returns shapes and strides for messages.
pub(super) fn describe(a: &Matrix, b: &Matrix, c: &Matrix) -> String {
    let one = |m: &Matrix| format!("({}, {}) strides ({}, {})", m.rows, m.cols, m.row_stride, m.col_stride);
    format!("{} × {} → {}", one(a), one(b), one(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computes what cuBLASLt does with the layouts, on small integers.
    fn multiply(layouts: &Layouts, first: &[i64], second: &[i64], out: &mut [i64]) {
        let at = |l: &Layout, data: &[i64], row: u64, col: u64| {
            let (row, col) = if l.transpose { (col, row) } else { (row, col) };
            assert!(row < l.rows && col < l.cols && l.leading >= l.rows as i64);
            data[row as usize + col as usize * l.leading as usize]
        };
        let inner = if layouts.first.transpose { layouts.first.rows } else { layouts.first.cols };
        for row in 0..layouts.out.rows {
            for col in 0..layouts.out.cols {
                out[row as usize + col as usize * layouts.out.leading as usize] =
                    (0..inner).map(|k| at(&layouts.first, first, row, k) * at(&layouts.second, second, k, col)).sum();
            }
        }
    }

    fn offset(matrix: &Matrix, row: u64, col: u64) -> usize {
        (row as i64 * matrix.row_stride + col as i64 * matrix.col_stride) as usize
    }

    /// Returns all layouts of a matrix: row- and column-major, each with and without a gap.
    fn layouts_of(rows: u64, cols: u64) -> Vec<Matrix> {
        let row_major = |gap: i64| Matrix { row_stride: cols as i64 + gap, ..Matrix::row_major(rows, cols) };
        let col_major =
            |gap: i64| Matrix { row_stride: 1, col_stride: rows as i64 + gap, ..Matrix::row_major(rows, cols) };
        vec![row_major(0), row_major(3), col_major(0), col_major(2)]
    }

    #[test]
    fn every_layout_of_the_operands_gives_the_product() {
        for (m, k, n) in [(3, 4, 5), (1, 4, 5), (3, 1, 5), (3, 4, 1), (1, 1, 4), (4, 1, 1), (1, 5, 1), (1, 1, 1)] {
            for a in layouts_of(m, k) {
                for b in layouts_of(k, n) {
                    for c in layouts_of(m, n) {
                        check(&a, &b, &c);
                    }
                }
            }
        }
    }

    fn check(a: &Matrix, b: &Matrix, c: &Matrix) {
        let a_data: Vec<i64> = (0..64).map(|i| i * 7 % 11).collect();
        let b_data: Vec<i64> = (0..64).map(|i| i * 5 % 13).collect();
        let mut c_data = vec![-1; 64];
        let chosen = layouts(a, b, c).expect("each of these is supported");
        let (first, second) = if chosen.swapped { (&b_data, &a_data) } else { (&a_data, &b_data) };
        multiply(&chosen, first, second, &mut c_data);
        for row in 0..c.rows {
            for col in 0..c.cols {
                let expected: i64 = (0..a.cols).map(|k| a_data[offset(a, row, k)] * b_data[offset(b, k, col)]).sum();
                assert_eq!(c_data[offset(c, row, col)], expected, "{}", describe(a, b, c));
            }
        }
    }

    #[test]
    fn unsupported_layouts_are_refused_with_the_shapes() {
        let good = Matrix::row_major(4, 4);
        let strided = Matrix { row_stride: 8, col_stride: 2, ..good };
        let repeated = Matrix { row_stride: 0, ..good };
        for bad in [strided, repeated] {
            let text = layouts(&bad, &good, &good).expect_err("no unit stride").to_string();
            assert!(text.contains("the first operand") && text.contains("(4, 4)"), "{text}");
            assert!(layouts(&good, &good, &bad).is_err());
        }
        assert!(layouts(&Matrix::row_major(4, 3), &good, &good).is_err());
    }
}
