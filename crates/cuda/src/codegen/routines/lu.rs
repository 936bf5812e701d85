//! LU decomposition of a single matrix by our own kernels, with right-hand sides as further columns: see `lu.cuh`.

use std::ops::Range;

use cuprous_core::DType;

use super::super::types::{Arch, Arg, ctype, short};
use super::linalg::Decomposition;
use super::{DivUp, Launch, Source};

const TEXT: &str = include_str!("lu.cuh");
/// Columns of a panel, and panels that update the other columns together.
pub(crate) const WIDTH: i64 = 32;
const PANELS: i64 = 4;
/// Up to this many rows each panel is a group of its own, because the updates are too small to matter.
const SMALL_ROWS: i64 = 2048;
/// Length of a panel's list of moves: their number, and pairs of rows.
const MOVES_LEN: i64 = 4 * WIDTH + 4;
/// Rows and columns of the diagonal blocks of U that are inverted.
pub(crate) const DIAGONAL_BLOCK: i64 = 64;
/// Blocks of a panel's cluster, and threads of each. The first entry with enough threads for the rows is used.
const CLUSTERS: [(i64, u32); 3] = [(1, 512), (4, 512), (8, 512)];
/// Columns that a block updates.
const TILE: i64 = 32;

/// Bytes of a panel's shared memory besides its rows.
const EXTRA_SHARED: usize = 16 << 10;

/// Returns the bytes of shared memory for the rows of a panel's block.
fn rows_shared(threads: u32, dtype: DType) -> usize {
    threads as usize * (WIDTH as usize + 1) * dtype.size()
}

/// The memory of a factorization.
#[derive(Clone, Copy)]
pub(crate) struct Lu {
    dtype: DType,
    /// L without its diagonal, U, and the right-hand sides, which become L⁻¹ P B. Rows are `stride` apart.
    pub(crate) matrix: Arg,
    pub(crate) stride: i64,
    pub(crate) n: i64,
    /// Number of right-hand sides.
    pub(crate) k: i64,
    /// Row indices from 1.
    pub(crate) pivots: Arg,
    moves: Arg,
}

/// A range of columns.
pub(crate) type Columns = Range<i64>;

impl Lu {
    /// Returns the columns of each group of panels.
    pub(crate) fn groups(&self) -> impl Iterator<Item = Columns> + use<> {
        split(0..self.n, if self.n > SMALL_ROWS { WIDTH * PANELS } else { WIDTH })
    }

    /// Returns the rows that back substitution solves together, from the last to the first.
    pub(crate) fn back_substitution_blocks(&self) -> impl Iterator<Item = Columns> + use<> {
        split(0..self.n, 2 * DIAGONAL_BLOCK).rev()
    }

    /// Returns the columns of each panel of a group.
    pub(crate) fn panels(&self, group: Columns) -> impl Iterator<Item = Columns> + use<> {
        split(group, WIDTH)
    }

    /// Returns a panel's list of moves.
    fn moves(&self, panel: &Columns) -> Arg {
        let Arg::Scratch(at) = self.moves else { return self.moves };
        Arg::Scratch(at + (panel.start / WIDTH % PANELS * MOVES_LEN) as usize * DType::I32.size())
    }

    /// Returns the byte offset of an element.
    pub(crate) fn at(&self, row: i64, column: i64) -> i64 {
        (row * self.stride + column) * self.dtype.size() as i64
    }
}

/// Splits a range into parts of that length; the last one may be shorter.
pub(crate) fn split(all: Columns, length: i64) -> impl DoubleEndedIterator<Item = Columns> {
    let parts = (all.end - all.start).div_up(length);
    (0..parts).map(move |k| all.start + k * length..all.end.min(all.start + (k + 1) * length))
}

impl Decomposition {
    /// Returns true if these kernels support the matrix. Clusters need compute capability 9. Each thread holds a row,
    /// so the rows are limited, and so is the shared memory of some devices.
    pub(crate) fn supports_own_lu(&self) -> bool {
        let (blocks, threads) = CLUSTERS[CLUSTERS.len() - 1];
        let Arch { major, max_shared, .. } = self.builder.target.arch;
        let real = matches!(self.dtype, DType::F32 | DType::F64);
        let shared = rows_shared(threads, self.dtype) + EXTRA_SHARED <= max_shared;
        real && shared && major >= 9 && self.batch == 1 && self.n <= blocks * i64::from(threads)
    }

    /// Copies the matrix and the right-hand sides (k columns) into one array.
    pub(crate) fn lu(&mut self, a: Source, b: Option<Source>) -> Lu {
        let (n, k, dtype) = (self.n, if b.is_some() { self.k } else { 0 }, self.dtype);
        let stride = if k == 0 { n } else { (n + k).div_up(4) * 4 };
        let (matrix, pivots) = (self.scratch(n * stride, dtype), self.scratch(n, DType::I64));
        let moves = self.scratch(PANELS * MOVES_LEN, DType::I32);
        let lu = Lu { dtype, matrix, stride, n, k, pivots, moves };
        let (c, parts) = (ctype(dtype), (n + k).div_up(1024));
        let stage = Launch::new(format!("lu_init_{}", short(dtype)), &[dtype], &[TEXT])
            .source("a", c, a)
            .source("b", c, b.unwrap_or(a))
            .pointer("matrix", c, matrix)
            .int("n", n)
            .int("k", k)
            .int("stride", stride)
            .int("parts", parts)
            .stage(&format!("lu_init<{c}>"), n * parts, 256, 0);
        self.builder.out.stages.push(stage);
        lu
    }

    /// Factors a panel.
    pub(crate) fn lu_panel(&mut self, lu: &Lu, panel: &Columns) {
        let Lu { dtype, matrix, stride, n, pivots, .. } = *lu;
        let (c, d) = (ctype(dtype), short(dtype));
        let enough = |&&(blocks, threads): &&(i64, u32)| blocks * i64::from(threads) >= n - panel.start;
        let &(blocks, threads) = CLUSTERS.iter().find(enough).unwrap_or(&CLUSTERS[CLUSTERS.len() - 1]);
        let stage = Launch::new(format!("lu_panel_{d}_{blocks}_{threads}"), &[dtype], &[TEXT])
            .cluster(blocks)
            .shared(rows_shared(threads, dtype))
            .pointer("matrix", c, matrix)
            .pointer("pivots", "int64", pivots)
            .pointer("moves", "int32", lu.moves(panel))
            .pointer("info", "int32", self.info(false))
            .int("n", n)
            .int("stride", stride)
            .int("column", panel.start)
            .int("count", panel.end - panel.start)
            .stage(&format!("lu_panel<{c}, {WIDTH}, {blocks}, {threads}>"), blocks, threads, 0);
        self.builder.out.stages.push(stage);
    }

    /// Applies a panel or a group of panels to the other columns within `all`.
    pub(crate) fn lu_rows(&mut self, lu: &Lu, all: &Columns, done: &Columns) {
        let Lu { dtype, matrix, stride, .. } = *lu;
        let blocks = (done.start - all.start).div_up(TILE) + (all.end - done.end).div_up(TILE);
        if blocks == 0 {
            return;
        }
        let (c, panels) = (ctype(dtype), if done.end - done.start > WIDTH { PANELS } else { 1 });
        let shared = WIDTH * (2 * TILE).max(panels * (WIDTH + 1)) + panels * WIDTH * TILE;
        let stage = Launch::new(format!("lu_rows_{}_{panels}", short(dtype)), &[dtype], &[TEXT])
            .shared(shared as usize * dtype.size())
            .pointer("matrix", c, matrix)
            .pointer("moves", "int32", lu.moves(done))
            .int("stride", stride)
            .int("from", all.start)
            .int("to", all.end)
            .int("start", done.start)
            .int("end", done.end)
            .int("gap", MOVES_LEN)
            .stage(&format!("lu_rows<{c}, {WIDTH}, {panels}, {TILE}>"), blocks, 256, 0);
        self.builder.out.stages.push(stage);
    }

    /// Computes the inverses of U's diagonal blocks, each `DIAGONAL_BLOCK` squared.
    pub(crate) fn lu_invert_diagonal(&mut self, lu: &Lu) -> Arg {
        let Lu { dtype, matrix, stride, n, .. } = *lu;
        let (c, corners) = (ctype(dtype), n.div_up(DIAGONAL_BLOCK));
        let inverses = self.scratch(corners * DIAGONAL_BLOCK * DIAGONAL_BLOCK, dtype);
        let stage = Launch::new(format!("lu_invert_diagonal_{}", short(dtype)), &[dtype], &[TEXT])
            .shared((2 * DIAGONAL_BLOCK * (DIAGONAL_BLOCK + 1)) as usize * dtype.size())
            .pointer("matrix", c, matrix)
            .pointer("inverses", c, inverses)
            .int("n", n)
            .int("stride", stride)
            .stage(&format!("lu_invert_diagonal<{c}, {DIAGONAL_BLOCK}>"), corners, DIAGONAL_BLOCK as u32, 0);
        self.builder.out.stages.push(stage);
        inverses
    }
}
