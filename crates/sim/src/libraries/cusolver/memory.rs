//! Matrices in device memory.

use faer::{Mat, MatRef};

use super::super::number::{Element, Field, read, write};

/// A column-major matrix.
#[derive(Clone, Copy)]
pub(super) struct Matrix {
    pub(super) at: usize,
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) leading: usize,
}

impl Matrix {
    /// # Safety
    /// The matrix is in live memory, with elements `T`.
    pub(super) unsafe fn load<T: Element>(self) -> Mat<T::Wide> {
        // SAFETY: by the caller's contract.
        Mat::from_fn(self.rows, self.columns, |i, j| unsafe { read::<T>(self.at, i + j * self.leading) })
    }

    /// Writes the first rows and columns of a matrix.
    ///
    /// # Safety
    /// The matrix is in live memory, with elements `T`.
    pub(super) unsafe fn store<T: Element>(self, from: MatRef<'_, T::Wide>) {
        for j in 0..self.columns {
            for i in 0..self.rows {
                // SAFETY: by the caller's contract.
                unsafe { write::<T>(self.at, i + j * self.leading, from[(i, j)]) };
            }
        }
    }

    /// Overwrites the matrix with NaN, as the library overwrites operands.
    ///
    /// # Safety
    /// The matrix is in live memory, with elements `T`.
    pub(super) unsafe fn destroy<T: Element>(self) {
        let nan = Mat::from_fn(self.rows, self.columns, |_, _| T::Wide::from_parts(f64::NAN, f64::NAN));
        // SAFETY: by the caller's contract.
        unsafe { self.store::<T>(nan.as_ref()) };
    }

    /// Returns the matrix `k` of a batch without gaps.
    pub(super) fn of_batch<T>(self, k: usize) -> Matrix {
        Matrix { at: self.at + k * self.leading * self.columns * size_of::<T>(), ..self }
    }
}
