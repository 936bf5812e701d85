//! Batched matrix products. Floats and complex numbers use the `gemm` crate, products with a vector use loops that
//! stream the matrix once, and integers and bool use a row-times-scalar loop.

mod block;

use std::marker::PhantomData;
use std::ops::RangeInclusive;

pub(crate) use block::block;
use cuprous_core::interrupt::Token;
use cuprous_core::{DType, Fun, Result};
use rayon::prelude::*;
use smallvec::SmallVec;

use crate::alloc::Block;
use crate::blocks::reductions::Accumulate;
use crate::blocks::{MapArgs, map};
use crate::isa::{self, Body, Entry, Isa, Level, V1, V3, V4};
use crate::math::{B, F32, F64, Num};
use crate::routines::operands::{Contiguous, View, gather, outer_lines};
use crate::threads::SharedPtr;

/// Products with fewer multiplications stay on one thread, because waking others costs 5 to 20 µs.
const MIN_PARALLEL_WORK: u64 = 128 * 128 * 128;
/// Lengths of sums that `gemm` adds up and then scales. It scales longer ones piece by piece, and factors of shorter ones,
/// which rounds otherwise than a multiplication of the sum.
const SCALED_K: RangeInclusive<i64> = 3..=512;
/// Elements of a matrix from which on a product with a vector uses several threads.
const MIN_PARALLEL_MATRIX: usize = 1 << 17;

/// Sizes of one product, and the strides (row, column) of each matrix in elements. The result is `scale · product`, added
/// to what is there if `accumulate`. `scale` is not zero, and 1 unless the product [is scalable](is_scalable).
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) m: usize,
    pub(crate) n: usize,
    pub(crate) k: usize,
    pub(crate) a: (i64, i64),
    pub(crate) b: (i64, i64),
    pub(crate) c: (i64, i64),
    pub(crate) scale: f64,
    pub(crate) accumulate: bool,
}

impl Shape {
    /// Returns the shape of a product of contiguous matrices, without a factor.
    pub(crate) fn contiguous(m: usize, n: usize, k: usize) -> Shape {
        Shape { m, n, k, a: (k as i64, 1), b: (n as i64, 1), c: (n as i64, 1), scale: 1.0, accumulate: false }
    }

    /// Returns the shape of the transposed product, whose operands are the transposed ones in the other order.
    pub(crate) fn transposed(self) -> Shape {
        let swap = |(row, column): (i64, i64)| (column, row);
        Shape { m: self.n, n: self.m, a: swap(self.b), b: swap(self.a), c: swap(self.c), ..self }
    }
}

/// Returns true if a product of m × k and k × n elements can be scaled on the way to memory, with the result of a
/// multiplication afterwards.
pub(crate) fn is_scalable(dtype: DType, [m, k, n]: [i64; 3]) -> bool {
    m > 1 && n > 1 && SCALED_K.contains(&k) && matches!(dtype, DType::F32 | DType::F64)
}

/// Computes `scale · product`, where `scale` is 1 unless the product [is scalable](is_scalable).
///
/// # Safety
/// The views are in memory and fit together. The output is contiguous.
pub(crate) unsafe fn dot(a: View, b: View, out: View, scale: f64) -> Result<()> {
    let d = out.shape().len();
    let dims = |v: &View| (v.shape()[d - 2] as usize, v.shape()[d - 1] as usize);
    let strides = |v: &View| (v.strides()[d - 2], v.strides()[d - 1]);
    let ((m, k), n) = (dims(&a), dims(&b).1);
    let dtype = out.dtype();
    if k == 0 {
        // SAFETY: the output is contiguous; zero bits are zero in every dtype.
        unsafe { std::ptr::write_bytes(out.origin(), 0, out.layout.size as usize * dtype.size()) };
        return Ok(());
    }
    // SAFETY: in all arms, the views are in memory and the shapes fit.
    unsafe {
        match dtype {
            DType::F32 | DType::F64 | DType::C64 | DType::C128 => {
                let shape =
                    Shape { m, n, k, a: strides(&a), b: strides(&b), c: strides(&out), scale, accumulate: false };
                batches(&a, &b, &out, shape);
            }
            // The library adds up some products of float16 in float16.
            DType::F16 | DType::BF16 => {
                let wide = |v: View| -> Result<Block> {
                    let block = Block::new(v.layout.size as usize * 4)?;
                    gather(v, DType::F32, block.as_ptr())?;
                    Ok(block)
                };
                let (wa, wb) = (wide(a)?, wide(b)?);
                let total = out.layout.size as usize;
                let wc = Block::new(total * 4)?;
                let shape = Shape::contiguous(m, n, k);
                for i in 0..total / (m * n) {
                    let at = |block: &Block, size: usize| block.as_ptr().add(i * size * 4);
                    float_product(DType::F32, shape, at(&wa, m * k), at(&wb, k * n), at(&wc, m * n), true);
                }
                if let Some(cast) = map(Fun::Cast, &[DType::F32], dtype) {
                    let null = std::ptr::null();
                    cast(&MapArgs { n: total, out: out.origin(), args: [wc.as_ptr(), null, null], step: [1, 0, 0] });
                }
            }
            _ => {
                let (fa, fb) = (Contiguous::new(a, dtype)?, Contiguous::new(b, dtype)?);
                integers(
                    dtype,
                    m,
                    n,
                    k,
                    SharedPtr(fa.ptr()),
                    SharedPtr(fb.ptr()),
                    SharedPtr(out.origin()),
                    out.layout.size as usize,
                );
            }
        }
    }
    Ok(())
}

/// Computes rows `first..first + count` of a product on this thread, to contiguous memory at `to`.
///
/// # Safety
/// The views are matrices of one dtype in memory, float32, float64 or complex, and have these rows. `to` has space for
/// them.
pub(crate) unsafe fn rows(a: &View, b: &View, scale: f64, first: usize, count: usize, to: *mut u8) {
    let strides = |v: &View| (v.strides()[0], v.strides()[1]);
    let (k, n) = (b.shape()[0] as usize, b.shape()[1] as usize);
    let shape = Shape { a: strides(a), b: strides(b), scale, ..Shape::contiguous(count, n, k) };
    let from = a.origin().wrapping_offset(first as isize * a.strides()[0] as isize * a.dtype().size() as isize);
    // SAFETY: by this function's contract.
    unsafe { block(a.dtype(), shape, from, b.origin(), to) };
}

/// Computes all products of a batch, in parallel if there are many small ones.
unsafe fn batches(a: &View, b: &View, out: &View, shape: Shape) {
    let (dtype, size) = (out.dtype(), out.dtype().size() as i64);
    let walk = |v: &View| outer_lines(v.shape(), v.strides(), 2);
    let ((wa, count), (wb, _), (wc, _)) = (walk(a), walk(b), walk(out));
    let (pa, pb, pc) = (SharedPtr(a.origin()), SharedPtr(b.origin()), SharedPtr(out.origin()));
    let product = |i: i64, share: bool| {
        // SAFETY: the addresses are those of matrix `i` of each batch; outputs are disjoint.
        unsafe {
            float_product(dtype, shape, pa.at(wa.at(i) * size), pb.at(wb.at(i) * size), pc.at(wc.at(i) * size), share)
        }
    };
    let work = (shape.m * shape.n * shape.k) as u64;
    if count > 1 && work < MIN_PARALLEL_WORK && work * count as u64 >= MIN_PARALLEL_WORK {
        let least = (MIN_PARALLEL_WORK / 16 / work.max(1)).max(1) as usize;
        let token = Token::current();
        (0..count as usize).into_par_iter().with_min_len(least).for_each(|i| {
            token.check();
            product(i as i64, false)
        });
    } else {
        (0..count).for_each(|i| product(i, true));
    }
}

/// Computes one product of floats or complex numbers, on all threads if it is large and `share`.
unsafe fn float_product(dtype: DType, s: Shape, a: *const u8, b: *const u8, c: *mut u8, share: bool) {
    // SAFETY: by the caller's contract.
    unsafe {
        if (s.n == 1 || s.m == 1) && matches!(dtype, DType::F32 | DType::F64) && matrix_vector(dtype, s, a, b, c, share)
        {
            return;
        }
    }
    if !share || ((s.m * s.n * s.k) as u64) < MIN_PARALLEL_WORK {
        // SAFETY: by the caller's contract.
        return unsafe { block(dtype, s, a, b, c) };
    }
    // SAFETY: by the caller's contract.
    unsafe { block::blocks(dtype, s, a, b, c) };
}

/// Arguments of the product of a matrix (rows × k, one axis contiguous) with a contiguous vector.
struct VectorArgs {
    matrix: *const u8,
    rows: usize,
    k: usize,
    /// Distance between rows, or between columns if `columns`.
    pitch: i64,
    /// The matrix has contiguous columns, which are added up.
    columns: bool,
    vector: *const u8,
    out: *mut u8,
}

struct MatrixVector<E>(PhantomData<E>);

impl<E: Num> Body for MatrixVector<E> {
    type Args = VectorArgs;

    #[inline(always)]
    unsafe fn run(a: &VectorArgs) {
        const W: usize = 64;
        let (matrix, x, out) = (a.matrix as *const E, a.vector as *const E, a.out as *mut E);
        // SAFETY: all elements are in memory (see the type).
        unsafe {
            if !a.columns {
                for r in 0..a.rows {
                    let row = matrix.offset(r as isize * a.pitch as isize);
                    let mut acc = [E::ZERO; W];
                    let mut i = 0;
                    while i + W <= a.k {
                        for (l, s) in acc.iter_mut().enumerate() {
                            *s = s.add((*row.add(i + l)).mul(*x.add(i + l)));
                        }
                        i += W;
                    }
                    for (l, s) in acc[..a.k - i].iter_mut().enumerate() {
                        *s = s.add((*row.add(i + l)).mul(*x.add(i + l)));
                    }
                    let mut half = W / 2;
                    while half > 0 {
                        for l in 0..half {
                            acc[l] = acc[l].add(acc[l + half]);
                        }
                        half /= 2;
                    }
                    *out.add(r) = acc[0];
                }
                return;
            }
            // Blocks of rows that stay in registers or L1 while the columns are added.
            const ROWS: usize = 512;
            for start in (0..a.rows).step_by(ROWS) {
                let n = ROWS.min(a.rows - start);
                let out = std::slice::from_raw_parts_mut(out.add(start), n);
                for o in out.iter_mut() {
                    *o = E::ZERO;
                }
                for j in 0..a.k {
                    let column = std::slice::from_raw_parts(matrix.offset(j as isize * a.pitch as isize).add(start), n);
                    let v = *x.add(j);
                    for (o, &e) in out.iter_mut().zip(column) {
                        *o = o.add(e.mul(v));
                    }
                }
            }
        }
    }
}

fn entry<F1: Body, F3: Body<Args = F1::Args>, F4: Body<Args = F1::Args>>() -> Entry<F1::Args> {
    match isa::level() {
        Level::V1 => V1::entry::<F1>(),
        Level::V3 => V3::entry::<F3>(),
        Level::V4 => V4::entry::<F4>(),
    }
}

/// Computes a product with a vector. Returns false if the strides do not suit the loops.
unsafe fn matrix_vector(dtype: DType, s: Shape, a: *const u8, b: *const u8, c: *mut u8, share: bool) -> bool {
    let size = dtype.size();
    // The matrix as rows of the result (elements, strides (row, k)), then the vector and its stride.
    let (rows, matrix, (row, along), x, step, to_stride) =
        if s.n == 1 { (s.m, a, s.a, b, s.b.0, s.c.0) } else { (s.n, b, (s.b.1, s.b.0), a, s.a.1, s.c.1) };
    let columns = rows > 1 && row == 1 && along != 1;
    if !(columns || along == 1 || s.k == 1) || to_stride != 1 && rows > 1 {
        return false;
    }
    if step != 1 && s.k > 1 {
        return false;
    }
    let f = match dtype {
        DType::F32 => entry::<MatrixVector<F32<V1>>, MatrixVector<F32<V3>>, MatrixVector<F32<V4>>>(),
        _ => entry::<MatrixVector<F64<V1>>, MatrixVector<F64<V3>>, MatrixVector<F64<V4>>>(),
    };
    let pitch = if columns { along } else { row };
    let (matrix, x, c) = (SharedPtr(matrix as *mut u8), SharedPtr(x as *mut u8), SharedPtr(c));
    let part = |from: usize, to: usize| {
        let matrix = matrix.at(from as i64 * row * size as i64);
        let out = c.at((from * size) as i64);
        // SAFETY: the addresses are those of rows `from..to` of the product.
        unsafe { f(&VectorArgs { matrix, rows: to - from, k: s.k, pitch, columns, vector: x.at(0), out }) };
    };
    if rows * s.k < MIN_PARALLEL_MATRIX || !share {
        part(0, rows);
    } else if rows == 1 {
        // One long inner product: pieces of fixed size, whose sums are added in order.
        const PIECE: usize = 1 << 16;
        let pieces = s.k.div_ceil(PIECE);
        let sums: Vec<[u8; 8]> = (0..pieces)
            .into_par_iter()
            .map(|p| {
                let (from, k) = (p * PIECE, PIECE.min(s.k - p * PIECE));
                let mut sum = [0u64; 1];
                let at = |q: SharedPtr| q.at((from * size) as i64);
                let out = sum.as_mut_ptr() as *mut u8;
                // SAFETY: the addresses are those of elements `from..from + k` of both vectors.
                unsafe {
                    f(&VectorArgs { matrix: at(matrix), rows: 1, k, pitch: 0, columns: false, vector: at(x), out })
                };
                sum[0].to_le_bytes()
            })
            .collect();
        // SAFETY: the result is one element.
        unsafe {
            match dtype {
                DType::F32 => {
                    let part = |b: &[u8; 8]| f32::from_le_bytes([b[0], b[1], b[2], b[3]]);
                    *(c.0 as *mut f32) = pairwise(&sums.iter().map(part).collect::<Vec<_>>());
                }
                _ => *(c.0 as *mut f64) = pairwise(&sums.iter().map(|b| f64::from_le_bytes(*b)).collect::<Vec<_>>()),
            }
        }
    } else {
        let grain = (MIN_PARALLEL_MATRIX / 4 / s.k).max(1).next_multiple_of(64).min(rows);
        (0..rows.div_ceil(grain)).into_par_iter().for_each(|t| part(t * grain, ((t + 1) * grain).min(rows)));
    }
    true
}

fn pairwise<T: Copy + std::ops::Add<Output = T>>(v: &[T]) -> T {
    match v {
        [x] => *x,
        _ => pairwise(&v[..v.len() / 2]) + pairwise(&v[v.len() / 2..]),
    }
}

/// Arguments of some rows of an integer product.
struct RowsArgs {
    a: *const u8,
    b: *const u8,
    c: *mut u8,
    rows: usize,
    n: usize,
    k: usize,
}

struct Integers<E>(PhantomData<E>);

impl<E: Accumulate> Body for Integers<E> {
    type Args = RowsArgs;

    #[inline(always)]
    unsafe fn run(s: &RowsArgs) {
        const W: usize = 256;
        let (a, b, c) = (s.a as *const E, s.b as *const E, s.c as *mut E);
        for i in 0..s.rows {
            for start in (0..s.n).step_by(W) {
                let n = W.min(s.n - start);
                let mut acc = [E::WIDE_ZERO; W];
                for p in 0..s.k {
                    // SAFETY: all three matrices are contiguous and have these sizes.
                    let (x, row) = unsafe {
                        ((*a.add(i * s.k + p)).widen(), std::slice::from_raw_parts(b.add(p * s.n + start), n))
                    };
                    for (acc, &y) in acc.iter_mut().zip(row) {
                        *acc = E::plus(*acc, E::times(x, y.widen()));
                    }
                }
                for (l, &v) in acc[..n].iter().enumerate() {
                    // SAFETY: all three matrices are contiguous and have these sizes.
                    unsafe { *c.add(i * s.n + start + l) = E::narrow(v) };
                }
            }
        }
    }
}

#[allow(clippy::too_many_arguments, reason = "the sizes and matrices of one product")]
unsafe fn integers(dtype: DType, m: usize, n: usize, k: usize, a: SharedPtr, b: SharedPtr, c: SharedPtr, total: usize) {
    fn of<E: Accumulate>() -> Entry<RowsArgs> {
        entry::<Integers<E>, Integers<E>, Integers<E>>()
    }
    let f = match dtype {
        DType::Bool => of::<B>(),
        DType::I8 => of::<i8>(),
        DType::I16 => of::<i16>(),
        DType::I32 => of::<i32>(),
        DType::I64 => of::<i64>(),
        DType::U8 => of::<u8>(),
        DType::U16 => of::<u16>(),
        DType::U32 => of::<u32>(),
        _ => of::<u64>(),
    };
    let size = dtype.size();
    // Rows of all products of the batch, several at a time.
    let grain = (1usize << 15).div_ceil(n * k).min(m).max(1);
    let parts: SmallVec<[(usize, usize); 16]> =
        (0..total / (m * n)).flat_map(|i| (0..m).step_by(grain).map(move |r| (i, r))).collect();
    let part = |&(i, r): &(usize, usize)| {
        let at = |p: SharedPtr, element: usize| p.at((element * size) as i64);
        let args = RowsArgs {
            a: at(a, (i * m + r) * k),
            b: at(b, i * k * n),
            c: at(c, (i * m + r) * n),
            rows: grain.min(m - r),
            n,
            k,
        };
        // SAFETY: tasks write disjoint rows of the output.
        unsafe { f(&args) };
    };
    if total * k < 1 << 17 { parts.iter().for_each(part) } else { parts.par_iter().for_each(part) }
}
