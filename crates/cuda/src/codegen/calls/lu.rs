//! LU of one matrix by kernels of our own, with right sides beside it: see `lu.cuh`.

use cuprous_core::DType;

use super::super::types::{Arg, ctype, short};
use super::linalg::Work;
use super::{DivUp, Launch, Source};

const TEXT: &str = include_str!("lu.cuh");
/// Columns of a panel.
pub(crate) const WIDTH: i64 = 32;
/// Rows and columns of the triangles that are inverted.
pub(crate) const CORNER: i64 = 64;
/// Blocks of a panel's cluster, and threads of each: the first whose threads are enough for the rows.
const CLUSTERS: [(i64, u32); 3] = [(1, 256), (8, 128), (8, 512)];
/// Columns that a block moves.
const TILE: i64 = 32;

/// Where a factorization is.
#[derive(Clone, Copy)]
pub(crate) struct Lu {
    dtype: DType,
    /// L without its diagonal, and U, and what becomes of the right sides: rows `stride` apart.
    pub(crate) matrix: Arg,
    pub(crate) stride: i64,
    pub(crate) n: i64,
    /// Right sides.
    pub(crate) k: i64,
    /// From 1.
    pub(crate) pivots: Arg,
    moves: Arg,
}

impl Lu {
    fn count(&self, column: i64) -> i64 {
        WIDTH.min(self.n - column)
    }

    /// Where panels begin.
    pub(crate) fn panels(&self) -> impl Iterator<Item = i64> + use<> {
        (0..self.n).step_by(WIDTH as usize)
    }

    /// Bytes from the start to an element.
    pub(crate) fn at(&self, row: i64, column: i64) -> i64 {
        (row * self.stride + column) * self.dtype.size() as i64
    }
}

impl Work {
    /// Is the matrix for these kernels? Clusters came with compute capability 9; a thread has a row.
    pub(crate) fn fits_lu(&self) -> bool {
        let (blocks, threads) = CLUSTERS[CLUSTERS.len() - 1];
        let real = matches!(self.dtype, DType::F32 | DType::F64);
        real && self.made.target.arch.major >= 9 && self.batch == 1 && self.n <= blocks * i64::from(threads)
    }

    /// Brings matrix and right sides (k columns) together.
    pub(crate) fn lu(&mut self, a: Source, b: Option<Source>) -> Lu {
        let (n, k, dtype) = (self.n, if b.is_some() { self.k } else { 0 }, self.dtype);
        let stride = if k == 0 { n } else { (n + k).div_up(4) * 4 };
        let (matrix, pivots) = (self.scratch(n * stride, dtype), self.scratch(n, DType::I64));
        let moves = self.scratch(4 * WIDTH + 2, DType::I32);
        let lu = Lu { dtype, matrix, stride, n, k, pivots, moves };
        let (c, parts) = (ctype(dtype), (n + k).div_up(1024));
        let stage = Launch::new(format!("lu_begin_{}", short(dtype)), &[dtype], &[TEXT])
            .source("a", c, a)
            .source("b", c, b.unwrap_or(a))
            .pointer("matrix", c, matrix)
            .int("n", n)
            .int("k", k)
            .int("stride", stride)
            .int("parts", parts)
            .stage(&format!("lu_begin<{c}>"), n * parts, 256, 0);
        self.made.out.stages.push(stage);
        lu
    }

    /// Factors a panel, and brings the other columns where its pivots are.
    pub(crate) fn lu_panel(&mut self, lu: &Lu, column: i64) {
        let Lu { dtype, matrix, stride, n, k, pivots, moves } = *lu;
        let (c, d, count, width) = (ctype(dtype), short(dtype), lu.count(column), n + k);
        let enough = |&&(blocks, threads): &&(i64, u32)| blocks * i64::from(threads) >= n - column;
        let &(blocks, threads) = CLUSTERS.iter().find(enough).unwrap_or(&CLUSTERS[CLUSTERS.len() - 1]);
        let panel = Launch::new(format!("lu_panel_{d}_{blocks}_{threads}"), &[dtype], &[TEXT])
            .cluster(blocks)
            .shared(threads as usize * (WIDTH as usize + 1) * dtype.size())
            .pointer("matrix", c, matrix)
            .pointer("pivots", "int64", pivots)
            .pointer("moves", "int32", moves)
            .pointer("info", "int32", self.info(false))
            .int("n", n)
            .int("stride", stride)
            .int("column", column)
            .int("count", count)
            .stage(&format!("lu_panel<{c}, {WIDTH}, {blocks}, {threads}>"), blocks, threads, 0);
        self.made.out.stages.push(panel);
        let blocks = column.div_up(TILE) + (width - column - count).div_up(TILE);
        if blocks == 0 {
            return;
        }
        let rows = Launch::new(format!("lu_rows_{d}"), &[dtype], &[TEXT])
            .shared((2 * WIDTH * TILE) as usize * dtype.size())
            .pointer("matrix", c, matrix)
            .pointer("moves", "int32", moves)
            .int("n", n)
            .int("stride", stride)
            .int("width", width)
            .int("column", column)
            .int("count", count)
            .stage(&format!("lu_rows<{c}, {WIDTH}, {TILE}>"), blocks, 256, 0);
        self.made.out.stages.push(rows);
    }

    /// The inverses of U's diagonal blocks, each `CORNER` squared.
    pub(crate) fn lu_corners(&mut self, lu: &Lu) -> Arg {
        let Lu { dtype, matrix, stride, n, .. } = *lu;
        let (c, corners) = (ctype(dtype), n.div_up(CORNER));
        let inverses = self.scratch(corners * CORNER * CORNER, dtype);
        let stage = Launch::new(format!("lu_corners_{}", short(dtype)), &[dtype], &[TEXT])
            .shared((2 * CORNER * (CORNER + 1)) as usize * dtype.size())
            .pointer("matrix", c, matrix)
            .pointer("inverses", c, inverses)
            .int("n", n)
            .int("stride", stride)
            .stage(&format!("lu_corners<{c}, {CORNER}>"), corners, CORNER as u32, 0);
        self.made.out.stages.push(stage);
        inverses
    }
}
