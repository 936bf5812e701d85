//! LU factorization by our own kernels (`lu.cuh`), with products of cuBLASLt between them.

use std::ops::Range;
use std::sync::Arc;

use super::dot::Update;
use super::linalg::{Plan, at};
use crate::codegen::Source;
use crate::codegen::linalg::copy_flags;
use crate::codegen::lu::{DIAGONAL_BLOCK, Lu, split};

impl Plan {
    /// Adds a product, which is stored or subtracted.
    fn product(&mut self, update: Update) {
        self.routines.push((self.work.builder.out.stages.len(), Arc::new(update)));
    }

    /// Subtracts from a block of rows and columns the product of the `inner` columns of those rows and the `inner` rows
    /// of those columns.
    fn subtract(&mut self, lu: &Lu, rows: Range<i64>, columns: Range<i64>, inner: &Range<i64>) {
        let length = |range: &Range<i64>| (range.end - range.start) as u64;
        let at = |row: i64, column: i64| (lu.matrix, lu.at(row, column));
        if rows.is_empty() || columns.is_empty() {
            return;
        }
        self.product(Update {
            dtype: self.work.dtype,
            a: (at(rows.start, inner.start), [length(&rows), length(inner)], lu.stride),
            b: (at(inner.start, columns.start), [length(inner), length(&columns)], lu.stride),
            c: (at(rows.start, columns.start), lu.stride),
            minus: true,
        });
    }

    /// Factors a matrix: the panels of a group one by one, then the update of the rest by the whole group.
    pub(super) fn factors(&mut self, a: Source, b: Option<Source>) -> Lu {
        let lu = self.work.lu(a, b);
        let all = 0..lu.n + lu.k;
        for group in lu.groups() {
            for panel in lu.panels(group.clone()) {
                self.work.lu_panel(&lu, &panel);
                self.work.lu_rows(&lu, &group, &panel);
                self.subtract(&lu, panel.end..lu.n, panel.end..group.end, &panel);
            }
            self.work.lu_rows(&lu, &all, &group);
            self.subtract(&lu, group.end..lu.n, group.end..all.end, &group);
        }
        lu
    }

    /// Solves a system: factors the matrix with the right-hand sides beside it, then substitutes back from the last
    /// rows to the first.
    pub(super) fn eliminate(&mut self, a: Source, b: Source) {
        let dtype = self.work.dtype;
        let lu = self.factors(a, Some(b));
        let (n, k, size) = (lu.n, lu.k, dtype.size() as i64);
        let inverses = self.work.lu_invert_diagonal(&lu);
        let x = self.work.scratch(n * k, dtype);
        // Subtracts the product of U's columns and the known solutions from the right-hand sides of `rows`.
        let put = |known: Range<i64>, rows: Range<i64>| Update {
            dtype,
            a: (
                (lu.matrix, lu.at(rows.start, known.start)),
                [&rows, &known].map(|r| (r.end - r.start) as u64),
                lu.stride,
            ),
            b: ((x, known.start * k * size), [(known.end - known.start) as u64, k as u64], k),
            c: ((lu.matrix, lu.at(rows.start, n)), lu.stride),
            minus: true,
        };
        for group in lu.back_substitution_blocks() {
            for block in split(group.clone(), DIAGONAL_BLOCK).rev() {
                let m = (block.end - block.start) as u64;
                self.product(Update {
                    dtype,
                    a: ((inverses, block.start * DIAGONAL_BLOCK * size), [m, m], DIAGONAL_BLOCK),
                    b: ((lu.matrix, lu.at(block.start, n)), [m, k as u64], lu.stride),
                    c: ((x, block.start * k * size), k),
                    minus: false,
                });
                if block.start > group.start {
                    self.product(put(block.clone(), group.start..block.start));
                }
            }
            if group.start > 0 {
                self.product(put(group.clone(), 0..group.start));
            }
        }
        let result = self.work.result(0);
        self.copy_matrix(at(x), result, [n, k], [k, 1], [n * k, n * k], copy_flags::NAN_ON_FAILURE);
        self.work.report_status(false);
    }
}
