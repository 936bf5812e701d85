//! The arithmetic of products, which are summed in float64 or complex128.

use std::ffi::c_void;

use cuprous_cuda_sys::cusparse::{cudaDataType_t, cusparseOperation_t as Operation};

use super::super::number::{Element, Field, read, write};
use super::super::{address, scribble, submit};
use super::{INVALID, Result, Type, UNSUPPORTED, ensure, with_element};

/// A matrix of compressed rows; addresses of device memory.
#[derive(Clone, Copy)]
pub(super) struct Sparse {
    pub(super) element: Type,
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) count: usize,
    pub(super) starts: usize,
    pub(super) indices: usize,
    pub(super) values: usize,
    /// Starts and indices are int64, not int32.
    pub(super) wide_index: bool,
}

/// A row-major matrix.
#[derive(Clone, Copy)]
pub(super) struct Dense {
    pub(super) element: Type,
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) leading: usize,
    pub(super) at: usize,
}

/// `y = alpha · op(a) · x + beta · y`
#[derive(Clone, Copy)]
pub(super) struct Product {
    a: Sparse,
    x: Dense,
    y: Dense,
    transposed: bool,
}

impl Sparse {
    /// Reads an index. `None` if it is not in `0..limit`.
    ///
    /// # Safety
    /// The array is in live memory.
    unsafe fn index(&self, at: usize, position: usize, limit: usize) -> Option<usize> {
        // SAFETY: by the caller's contract.
        let index = unsafe {
            if self.wide_index {
                (at as *const i64).add(position).read()
            } else {
                i64::from((at as *const i32).add(position).read())
            }
        };
        usize::try_from(index).ok().filter(|&index| index < limit)
    }

    /// Returns row, column and position of each value. `None` if an index is out of range.
    ///
    /// # Safety
    /// Starts and indices are in live memory.
    unsafe fn entries(&self) -> Option<Vec<(usize, usize, usize)>> {
        let mut entries = Vec::new();
        for row in 0..self.rows {
            // SAFETY: by the caller's contract; the positions of indices are less than the count.
            unsafe {
                let start = self.index(self.starts, row, self.count + 1)?;
                let end = self.index(self.starts, row + 1, self.count + 1)?;
                for position in start..end {
                    entries.push((row, self.index(self.indices, position, self.columns)?, position));
                }
            }
        }
        Some(entries)
    }
}

impl Product {
    /// Checks the operands of a product.
    pub(super) fn new(a: Sparse, x: Dense, y: Dense, op: Operation, compute: cudaDataType_t) -> Result<Product> {
        let transposed = match op {
            Operation::CUSPARSE_OPERATION_NON_TRANSPOSE => false,
            Operation::CUSPARSE_OPERATION_TRANSPOSE => true,
            _ => return Err(UNSUPPORTED),
        };
        let same = x.element == a.element && y.element == a.element && Type::of(compute.0) == Some(a.element);
        ensure(same, UNSUPPORTED)?;
        let (high, low) = if transposed { (a.rows, a.columns) } else { (a.columns, a.rows) };
        ensure(x.rows == high && y.rows == low && x.columns == y.columns, INVALID)?;
        Ok(Product { a, x, y, transposed })
    }

    pub(super) fn workspace(&self) -> usize {
        self.a.rows * 8
    }

    /// Submits the product.
    ///
    /// # Safety
    /// Alpha and beta are valid for reads. The operands are in live memory when the work runs.
    pub(super) unsafe fn submit(self, stream: usize, factors: [*const c_void; 2], buffer: *mut c_void) -> Result {
        ensure(factors.iter().all(|factor| !factor.is_null()), INVALID)?;
        let bytes = self.workspace();
        let buffer = if bytes == 0 { 0 } else { address(buffer, 1)? };
        with_element!(self.a.element, T => {
            // SAFETY: factors are of the type of the elements.
            let [alpha, beta] = factors.map(|factor| unsafe { factor.cast::<T>().read_unaligned() }.wide());
            // SAFETY: the caller vouches for the memory when the work runs.
            submit(stream, move || unsafe {
                scribble(buffer, bytes);
                self.run::<T>(alpha, beta);
            })
        })
        .ok_or(UNSUPPORTED)?
    }

    /// Computes the product. The result of a matrix with an index out of range is NaN.
    ///
    /// # Safety
    /// The operands are in live memory.
    unsafe fn run<T: Element>(&self, alpha: T::Wide, beta: T::Wide) {
        let Product { a, x, y, transposed } = *self;
        let zero = T::Wide::from_real(0.0);
        let mut sums = vec![zero; y.rows * y.columns];
        // SAFETY: by the caller's contract.
        unsafe {
            let Some(entries) = a.entries() else {
                sums.fill(T::Wide::from_parts(f64::NAN, f64::NAN));
                return y.each(|position, at| write::<T>(y.at, at, sums[position]));
            };
            for (row, column, position) in entries {
                let (from, to) = if transposed { (row, column) } else { (column, row) };
                let value = read::<T>(a.values, position);
                for k in 0..y.columns {
                    let sum = &mut sums[to * y.columns + k];
                    *sum += value * read::<T>(x.at, from * x.leading + k);
                }
            }
            y.each(|position, at| {
                let addend = if beta == zero { zero } else { beta * read::<T>(y.at, at) };
                write::<T>(y.at, at, alpha * sums[position] + addend);
            });
        }
    }
}

impl Dense {
    /// Calls a function for each element, with its position in row-major order and in memory.
    fn each(&self, mut f: impl FnMut(usize, usize)) {
        for position in 0..self.rows * self.columns {
            f(position, position / self.columns * self.leading + position % self.columns);
        }
    }
}
