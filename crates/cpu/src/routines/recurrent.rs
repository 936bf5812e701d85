//! Steps of an LSTM layer and their backward pass. Sequences are independent, so each task takes some of them through
//! all steps without waiting for other tasks. Weights are packed once for all steps.

use std::marker::PhantomData;

use cuprous_core::recurrent::Steps;
use cuprous_core::{DType, Error, Fun, Result};

use crate::alloc::Block;
use crate::blocks::{MapArgs, MapFn, map};
use crate::isa::{self, Body, Entry, Isa, Level, V1, V3, V4};
use crate::math::{F32, F64, Num};
use crate::routines::operands::{Contiguous, View};
use crate::simd::Simd;
use crate::threads::{SharedPtr, parallel_for};

/// Bytes of weights up to which every task reads all of them in each step: about a free part of an L2 cache and a share
/// of an L3 cache. For larger weights it is better to share one product per step among threads.
const MAX_WEIGHT_BYTES: i64 = 4 << 20;
/// Number of vectors in a row of a panel of packed weights.
const PANEL_VECTORS: usize = 3;
/// Rows of the result that are summed at once, by level: as many as registers hold.
const TILE_ROWS: [usize; 3] = [2, 4, 8];

/// Returns true if there is a routine for the steps.
pub(crate) fn is_supported(steps: &Steps) -> bool {
    matches!(steps.dtype, DType::F32 | DType::F64)
        && 4 * steps.hidden * steps.hidden * steps.dtype.size() as i64 <= MAX_WEIGHT_BYTES
}

/// Arguments of `c = plus + a · b` for rows of `a` and a packed `b`.
struct ProductArgs {
    /// rows × k, with `a_pitch` elements from row to row.
    a: *const u8,
    a_pitch: usize,
    rows: usize,
    /// Panels of columns, each k × (PANEL_VECTORS · lanes).
    panels: *const u8,
    k: usize,
    n: usize,
    /// rows × n in the layout of `c`, or null for zero.
    plus: *const u8,
    c: *mut u8,
    c_pitch: usize,
}

struct Product<S, T, const R: usize>(PhantomData<(S, T)>);

impl<S: Simd<T>, T: Copy + Default + std::ops::Add<Output = T> + 'static, const R: usize> Product<S, T, R> {
    const WIDTH: usize = PANEL_VECTORS * S::LANES;

    #[inline(always)]
    unsafe fn tile<const M: usize>(p: &ProductArgs, row: usize, column: usize) {
        // SAFETY: by the caller's contract, the rows and columns are in memory; a panel is padded to its width.
        unsafe {
            let panel = (p.panels as *const T).add(column / Self::WIDTH * p.k * Self::WIDTH);
            let a = (p.a as *const T).add(row * p.a_pitch);
            let mut sums = [[S::splat(T::default()); PANEL_VECTORS]; M];
            for k in 0..p.k {
                let b: [S::V; PANEL_VECTORS] =
                    std::array::from_fn(|v| S::load(panel.add(k * Self::WIDTH + v * S::LANES)));
                for (r, sums) in sums.iter_mut().enumerate() {
                    let a = S::splat(*a.add(r * p.a_pitch + k));
                    for (sum, &b) in sums.iter_mut().zip(&b) {
                        *sum = S::fma(a, b, *sum);
                    }
                }
            }
            let plus = p.plus as *const T;
            for (r, sums) in sums.iter().enumerate() {
                let at = (row + r) * p.c_pitch + column;
                let c = (p.c as *mut T).add(at);
                if column + Self::WIDTH <= p.n {
                    for (v, &sum) in sums.iter().enumerate() {
                        let there = v * S::LANES;
                        let sum = if plus.is_null() { sum } else { S::add(S::load(plus.add(at + there)), sum) };
                        S::store(c.add(there), sum);
                    }
                    continue;
                }
                // The widest panel has 48 elements.
                let mut last = [T::default(); 48];
                for (v, &sum) in sums.iter().enumerate() {
                    S::store(last.as_mut_ptr().add(v * S::LANES), sum);
                }
                for (k, &sum) in last[..p.n - column].iter().enumerate() {
                    *c.add(k) = if plus.is_null() { sum } else { *plus.add(at + k) + sum };
                }
            }
        }
    }
}

impl<S: Simd<T>, T: Copy + Default + std::ops::Add<Output = T> + 'static, const R: usize> Body for Product<S, T, R> {
    type Args = ProductArgs;

    #[inline(always)]
    unsafe fn run(p: &ProductArgs) {
        for column in (0..p.n).step_by(Self::WIDTH) {
            let mut row = 0;
            while row < p.rows {
                // SAFETY: by the contract of `ProductArgs`.
                unsafe {
                    row += match (p.rows - row).min(R) {
                        8.. => {
                            Self::tile::<8>(p, row, column);
                            8
                        }
                        4..8 => {
                            Self::tile::<4>(p, row, column);
                            4
                        }
                        2..4 => {
                            Self::tile::<2>(p, row, column);
                            2
                        }
                        _ => {
                            Self::tile::<1>(p, row, column);
                            1
                        }
                    };
                }
            }
        }
    }
}

/// Arguments for one row of a step: the gates i, f, g, o next to each other, `n` elements each.
struct CellArgs {
    n: usize,
    gates: *const u8,
    /// c before and after the step, and tanh of c after the step.
    old: *const u8,
    cell: *mut u8,
    tanh_cell: *mut u8,
    /// Forward: h after the step. Backward: the gradients of h (in), of c (in and out) and of the gates' inputs (out).
    h: *mut u8,
    dc: *mut u8,
    sums: *mut u8,
    dy: *const u8,
}

/// Computes c after the step.
struct CellState<E>(PhantomData<E>);
/// Computes h after the step.
struct HiddenState<E>(PhantomData<E>);
/// Computes the gradients of the gates' inputs and of c before the step.
struct BackwardCell<E>(PhantomData<E>);

impl<E: Num> Body for CellState<E> {
    type Args = CellArgs;
    #[inline(always)]
    unsafe fn run(p: &CellArgs) {
        let (gates, old, cell) = (p.gates as *const E, p.old as *const E, p.cell as *mut E);
        for k in 0..p.n {
            // SAFETY: each operand has a row in memory.
            unsafe {
                let (i, f, g) = (*gates.add(k), *gates.add(p.n + k), *gates.add(2 * p.n + k));
                *cell.add(k) = f.mul(*old.add(k)).add(i.mul(g));
            }
        }
    }
}

impl<E: Num> Body for HiddenState<E> {
    type Args = CellArgs;
    #[inline(always)]
    unsafe fn run(p: &CellArgs) {
        let (gates, tanh_cell, h) = (p.gates as *const E, p.tanh_cell as *const E, p.h as *mut E);
        for k in 0..p.n {
            // SAFETY: each operand has a row in memory.
            unsafe { *h.add(k) = (*gates.add(3 * p.n + k)).mul(*tanh_cell.add(k)) };
        }
    }
}

impl<E: Num> Body for BackwardCell<E> {
    type Args = CellArgs;
    #[inline(always)]
    unsafe fn run(p: &CellArgs) {
        let (gates, old, tanh_cell) = (p.gates as *const E, p.old as *const E, p.tanh_cell as *const E);
        let (dh, dc, sums, dy) = (p.h as *const E, p.dc as *mut E, p.sums as *mut E, p.dy as *const E);
        let n = p.n;
        for k in 0..n {
            // SAFETY: each operand has a row in memory.
            unsafe {
                let (i, f, g, o) = (*gates.add(k), *gates.add(n + k), *gates.add(2 * n + k), *gates.add(3 * n + k));
                let (y, dh) = (*tanh_cell.add(k), (*dh.add(k)).add(*dy.add(k)));
                let d = (*dc.add(k)).add(dh.mul(o).mul(E::ONE.sub(y.mul(y))));
                *sums.add(k) = d.mul(g).mul(i.mul(E::ONE.sub(i)));
                *sums.add(n + k) = d.mul(*old.add(k)).mul(f.mul(E::ONE.sub(f)));
                *sums.add(2 * n + k) = d.mul(i).mul(E::ONE.sub(g.mul(g)));
                *sums.add(3 * n + k) = dh.mul(y).mul(o.mul(E::ONE.sub(o)));
                *dc.add(k) = d.mul(f);
            }
        }
    }
}

/// The loops for a dtype on this machine.
struct Loops {
    product: Entry<ProductArgs>,
    /// Columns of a panel, and rows that are summed at once.
    width: usize,
    rows: usize,
    cell: Entry<CellArgs>,
    output: Entry<CellArgs>,
    backward: Entry<CellArgs>,
    logistic: MapFn,
    tanh: MapFn,
}

impl Loops {
    fn new(dtype: DType) -> Result<Loops> {
        macro_rules! at {
            ($level:ident, $t:ty, $e:ident, $rows:expr) => {
                Loops {
                    product: $level::entry::<Product<$level, $t, { $rows }>>(),
                    width: PANEL_VECTORS * <$level as Simd<$t>>::LANES,
                    rows: $rows,
                    cell: $level::entry::<CellState<$e<$level>>>(),
                    output: $level::entry::<HiddenState<$e<$level>>>(),
                    backward: $level::entry::<BackwardCell<$e<$level>>>(),
                    logistic: block_function(Fun::Expit, dtype)?,
                    tanh: block_function(Fun::Tanh, dtype)?,
                }
            };
        }
        Ok(match (isa::level(), dtype) {
            (Level::V1, DType::F32) => at!(V1, f32, F32, TILE_ROWS[0]),
            (Level::V3, DType::F32) => at!(V3, f32, F32, TILE_ROWS[1]),
            (Level::V4, DType::F32) => at!(V4, f32, F32, TILE_ROWS[2]),
            (Level::V1, _) => at!(V1, f64, F64, TILE_ROWS[0]),
            (Level::V3, _) => at!(V3, f64, F64, TILE_ROWS[1]),
            (Level::V4, _) => at!(V4, f64, F64, TILE_ROWS[2]),
        })
    }
}

fn block_function(fun: Fun, dtype: DType) -> Result<MapFn> {
    map(fun, &[dtype], dtype).ok_or_else(|| Error::type_("[cpu] internal error: no such function for this dtype"))
}

/// The parameters that tasks share.
struct Job<'a> {
    of: &'a Steps,
    loops: Loops,
    size: usize,
    batch: usize,
    hidden: usize,
}

impl<'a> Job<'a> {
    fn new(of: &'a Steps) -> Result<Job<'a>> {
        let (batch, hidden) = (of.batch as usize, of.hidden as usize);
        Ok(Job { of, loops: Loops::new(of.dtype)?, size: of.dtype.size(), batch, hidden })
    }

    /// Packs a matrix (k × n, strides in elements) into panels.
    unsafe fn packed(&self, from: SharedPtr, k: usize, n: usize, strides: (usize, usize)) -> Result<Block> {
        let (width, size) = (self.loops.width, self.size);
        let block = Block::new(k * n.next_multiple_of(width) * size)?;
        let to = SharedPtr(block.as_ptr());
        parallel_for(n.div_ceil(width), |panel| {
            let first = panel * width;
            let columns = width.min(n - first);
            // SAFETY: no other task writes this panel.
            unsafe {
                if columns < width {
                    std::ptr::write_bytes(to.at((first * k * size) as i64), 0, k * width * size);
                }
                match size {
                    4 => pack::<u32>(from, to, k, first, columns, width, strides),
                    _ => pack::<u64>(from, to, k, first, columns, width, strides),
                }
            }
        });
        Ok(block)
    }

    /// Calls `work(first sequence, number of sequences)` for groups of sequences in parallel. The result of a sequence
    /// does not depend on its group.
    fn for_each_group(&self, work: impl Fn(usize, usize) -> Result<()> + Sync) -> Result<()> {
        let rows = self.batch.div_ceil(rayon::current_num_threads()).next_multiple_of(self.loops.rows);
        let failed = std::sync::Mutex::new(Ok(()));
        parallel_for(self.batch.div_ceil(rows), |task| {
            let first = task * rows;
            if let Err(error) = work(first, rows.min(self.batch - first)) {
                *failed.lock().unwrap_or_else(|e| e.into_inner()) = Err(error);
            }
        });
        failed.into_inner().unwrap_or_else(|e| e.into_inner())
    }

    /// Returns the steps in the order in which they run.
    fn order(&self) -> impl DoubleEndedIterator<Item = usize> + use<> {
        let (n, reverse) = (self.of.steps as usize, self.of.reverse);
        (0..n).map(move |t| if reverse { n - 1 - t } else { t })
    }

    /// Returns the address of an element.
    fn at(&self, from: SharedPtr, element: usize) -> *mut u8 {
        from.at((element * self.size) as i64)
    }
}

/// Copies some columns of a matrix to a panel.
unsafe fn pack<T: Copy>(
    from: SharedPtr,
    to: SharedPtr,
    k: usize,
    first: usize,
    columns: usize,
    width: usize,
    (down, right): (usize, usize),
) {
    let (from, to) = (from.0 as *const T, to.0 as *mut T);
    // SAFETY: by the caller's contract, matrix and panel are in memory.
    unsafe {
        let to = to.add(first * k);
        for row in 0..k {
            for column in 0..columns {
                *to.add(row * width + column) = *from.add(row * down + (first + column) * right);
            }
        }
    }
}

unsafe fn apply(f: MapFn, n: usize, from: *const u8, to: *mut u8) {
    // SAFETY: by the caller's contract, the elements are in memory and do not overlap.
    unsafe { f(&MapArgs { n, out: to, args: [from, std::ptr::null(), std::ptr::null()], step: [1, 0, 0] }) };
}

/// # Safety
/// The views are in memory and have the sizes that [`Steps`] describes. The output is contiguous.
pub(crate) unsafe fn steps(of: &Steps, x: View, weight: View, first: View, out: View) -> Result<()> {
    let job = Job::new(of)?;
    let (size, batch, n) = (job.size, job.batch, job.hidden);
    // SAFETY: by this function's contract; tasks write the rows of their own sequences.
    unsafe {
        let (x, weight, first) =
            (Contiguous::new(x, of.dtype)?, Contiguous::new(weight, of.dtype)?, Contiguous::new(first, of.dtype)?);
        let (x, start, out) = (SharedPtr(x.ptr()), SharedPtr(first.ptr()), SharedPtr(out.origin()));
        let panels = job.packed(SharedPtr(weight.ptr()), n, 4 * n, (1, n))?;
        let panels = SharedPtr(panels.as_ptr());
        let [last, _, cells, gates, _] = of.results().map(|at| at as usize);
        job.for_each_group(|from, rows| {
            // The gates' inputs of a step; without training also its gates and two states of c; and tanh of c.
            let space = Block::new(rows * 11 * n * size)?;
            let space = SharedPtr(space.as_ptr());
            let tanh_cell = job.at(space, rows * 10 * n);
            let (mut h, mut c) = (job.at(start, from * n), job.at(start, (batch + from) * n));
            for (step, t) in job.order().enumerate() {
                let row = t * batch + from;
                let (gate, cell) = match of.training {
                    true => (job.at(out, gates + row * 4 * n), job.at(out, cells + row * n)),
                    false => (job.at(space, rows * 4 * n), job.at(space, rows * (8 + step % 2) * n)),
                };
                (job.loops.product)(&ProductArgs {
                    a: h,
                    a_pitch: n,
                    rows,
                    panels: panels.at(0),
                    k: n,
                    n: 4 * n,
                    plus: job.at(x, row * 4 * n),
                    c: space.0,
                    c_pitch: 4 * n,
                });
                let new = job.at(out, row * n);
                for r in 0..rows {
                    let (sums, gate) = (job.at(space, r * 4 * n), job.at(SharedPtr(gate), r * 4 * n));
                    apply(job.loops.logistic, 2 * n, sums, gate);
                    apply(job.loops.tanh, n, job.at(SharedPtr(sums), 2 * n), job.at(SharedPtr(gate), 2 * n));
                    apply(job.loops.logistic, n, job.at(SharedPtr(sums), 3 * n), job.at(SharedPtr(gate), 3 * n));
                    let nothing = std::ptr::null_mut();
                    let args = CellArgs {
                        n,
                        gates: gate,
                        old: job.at(SharedPtr(c), r * n),
                        cell: job.at(SharedPtr(cell), r * n),
                        tanh_cell,
                        h: job.at(SharedPtr(new), r * n),
                        dc: nothing,
                        sums: nothing,
                        dy: nothing,
                    };
                    (job.loops.cell)(&args);
                    apply(job.loops.tanh, n, args.cell, tanh_cell);
                    (job.loops.output)(&args);
                }
                (h, c) = (new, cell);
            }
            std::ptr::copy_nonoverlapping(h, job.at(out, last + from * n), rows * n * size);
            std::ptr::copy_nonoverlapping(c, job.at(out, last + (batch + from) * n), rows * n * size);
            Ok(())
        })
    }
}

/// # Safety
/// The same as for [`steps`], which ran with `training`.
pub(crate) unsafe fn backward(of: &Steps, weight: View, done: View, gradient: View, out: View) -> Result<()> {
    let job = Job::new(of)?;
    let (size, batch, n) = (job.size, job.batch, job.hidden);
    // SAFETY: by this function's contract; tasks write the rows of their own sequences.
    unsafe {
        let (weight, done) = (Contiguous::new(weight, of.dtype)?, Contiguous::new(done, of.dtype)?);
        let gradient = Contiguous::new(gradient, of.dtype)?;
        let (done, gradient, out) = (SharedPtr(done.ptr()), SharedPtr(gradient.ptr()), SharedPtr(out.origin()));
        let panels = job.packed(SharedPtr(weight.ptr()), 4 * n, n, (n, 1))?;
        let panels = SharedPtr(panels.as_ptr());
        let [_, _, cells, gates, _] = of.results().map(|at| at as usize);
        let all = of.steps as usize * batch * n;
        let order: Vec<usize> = job.order().collect();
        job.for_each_group(|from, rows| {
            let tanh_cell = Block::new(n * size)?;
            // Gradients of h and c, updated in place in the output.
            let dh = job.at(out, 4 * all + from * n);
            let dc = job.at(out, 4 * all + (batch + from) * n);
            std::ptr::copy_nonoverlapping(job.at(gradient, all + from * n), dh, rows * n * size);
            std::ptr::copy_nonoverlapping(job.at(gradient, all + (batch + from) * n), dc, rows * n * size);
            for (step, &t) in order.iter().enumerate().rev() {
                let row = t * batch + from;
                let old = match step {
                    0 => job.at(gradient, all + (2 * batch + from) * n),
                    _ => job.at(done, cells + (order[step - 1] * batch + from) * n),
                };
                let sums = job.at(out, row * 4 * n);
                for r in 0..rows {
                    let cell = job.at(done, cells + (row + r) * n);
                    apply(job.loops.tanh, n, cell, tanh_cell.as_ptr());
                    (job.loops.backward)(&CellArgs {
                        n,
                        gates: job.at(done, gates + (row + r) * 4 * n),
                        old: job.at(SharedPtr(old), r * n),
                        cell,
                        tanh_cell: tanh_cell.as_ptr(),
                        h: job.at(SharedPtr(dh), r * n),
                        dc: job.at(SharedPtr(dc), r * n),
                        sums: job.at(SharedPtr(sums), r * 4 * n),
                        dy: job.at(gradient, (row + r) * n),
                    });
                }
                (job.loops.product)(&ProductArgs {
                    a: sums,
                    a_pitch: 4 * n,
                    rows,
                    panels: panels.at(0),
                    k: 4 * n,
                    n,
                    plus: std::ptr::null(),
                    c: dh,
                    c_pitch: n,
                });
            }
            Ok(())
        })
    }
}
