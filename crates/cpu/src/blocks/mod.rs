//! Block functions: scalar functions applied to up to a tile of elements.
//!
//! Every loop runs over chunks of [`CHUNK`] elements with a constant trip count, so that the compiler generates one
//! vector loop without a remainder. A short last chunk is copied to the stack. An operand whose `step` is 0 is one
//! chunk of equal elements that is read repeatedly, so that scalars need neither full tiles nor functions of their own.

pub(crate) mod columns;
mod group;
mod random;
pub(crate) mod reduce;
pub(crate) mod reductions;
mod rows;
pub(crate) mod running;
pub(crate) mod scatter;
mod special;

use std::marker::PhantomData;

use cuprous_core::{DType, Fun};

use crate::isa::{self, Body, Entry, Isa, Level, V1, V3, V4};
use crate::math::All;

pub(crate) use group::GROUP;

/// Number of elements in a chunk.
pub(crate) const CHUNK: usize = 128;

/// Arguments of a block function.
///
/// Contract: `args[k]` points to `n` elements (a chunk of them where `step[k]` is 0), and `out` to space for `n`. All
/// are aligned to their element. `out` does not overlap an operand.
#[derive(Clone, Copy)]
pub(crate) struct MapArgs {
    /// Number of elements.
    pub n: usize,
    /// The results.
    pub out: *mut u8,
    /// The operands.
    pub args: [*const u8; 3],
    /// 1, or 0 for an operand that is a single chunk.
    pub step: [usize; 3],
}

/// A block function.
pub(crate) type MapFn = Entry<MapArgs>;

/// A scalar function of one operand. Operands for which `fast` is false are computed by `slow`.
pub(crate) trait UnaryFn<E: Copy>: 'static {
    type Out: Copy;
    const FUN: Fun;
    /// Whether loops run element by element; see [`Fun::vectorizes`].
    const SCALAR: bool = false;
    fn call(a: E) -> Self::Out;
    #[inline(always)]
    fn fast(_a: E) -> bool {
        true
    }
    #[inline(always)]
    fn slow(a: E) -> Self::Out {
        Self::call(a)
    }
}

/// A scalar function of two operands.
pub(crate) trait BinaryFn<E: Copy>: 'static {
    type Out: Copy;
    const FUN: Fun;
    const SCALAR: bool = false;
    fn call(a: E, b: E) -> Self::Out;
    #[inline(always)]
    fn fast(_a: E, _b: E) -> bool {
        true
    }
    #[inline(always)]
    fn slow(a: E, b: E) -> Self::Out {
        Self::call(a, b)
    }
}

/// Returns the next chunk: in place, or a copy padded with zeros if it is short.
#[inline(always)]
unsafe fn chunk<T: Copy>(at: *const T, m: usize, step: usize, pad: &mut Pad<T>) -> &[T; CHUNK] {
    if m == CHUNK || step == 0 {
        // SAFETY: by the contract of `MapArgs`, a complete chunk is in memory.
        unsafe { &*(at as *const [T; CHUNK]) }
    } else {
        // SAFETY: `m` elements are in memory and do not overlap `pad`; zero bits are a valid value of every element
        // type.
        unsafe {
            pad.as_mut_ptr().write_bytes(0, 1);
            std::ptr::copy_nonoverlapping(at, pad.as_mut_ptr() as *mut T, m);
            pad.assume_init_ref()
        }
    }
}

/// Space for a short chunk. Written only if there is one.
type Pad<T> = std::mem::MaybeUninit<[T; CHUNK]>;

/// Returns where a chunk's results go: in place, or `pad` if the chunk is short.
#[inline(always)]
unsafe fn destination<T: Copy>(at: *mut T, m: usize, pad: &mut Pad<T>) -> &mut [T; CHUNK] {
    // SAFETY: by the contract of `MapArgs`, a complete chunk is in memory; zero bits are a valid value of every element
    // type.
    unsafe {
        if m == CHUNK {
            &mut *(at as *mut [T; CHUNK])
        } else {
            pad.as_mut_ptr().write_bytes(0, 1);
            pad.assume_init_mut()
        }
    }
}

/// Applies a function to `N` elements. Of those that need `slow`, the first `n` are recomputed.
#[inline(always)]
fn apply_unary<E: Copy, R: UnaryFn<E>, const N: usize>(src: &[E; N], dst: &mut [R::Out; N], n: usize) {
    let mut fast = true;
    for i in 0..N {
        dst[i] = R::call(src[i]);
        fast &= R::fast(src[i]);
    }
    if !fast {
        for i in 0..n {
            if !R::fast(src[i]) {
                dst[i] = R::slow(src[i]);
            }
        }
    }
}

/// Applies a function to `N` pairs of elements. Of those that need `slow`, the first `n` are recomputed.
#[inline(always)]
fn apply_binary<E: Copy, R: BinaryFn<E>, const N: usize>(p: &[E; N], q: &[E; N], dst: &mut [R::Out; N], n: usize) {
    let mut fast = true;
    for i in 0..N {
        dst[i] = R::call(p[i], q[i]);
        fast &= R::fast(p[i], q[i]);
    }
    if !fast {
        for i in 0..n {
            if !R::fast(p[i], q[i]) {
                dst[i] = R::slow(p[i], q[i]);
            }
        }
    }
}

/// Applies a [`UnaryFn`] to blocks.
struct Map1<R, E>(PhantomData<(R, E)>);

impl<E: Copy + 'static, R: UnaryFn<E>> Body for Map1<R, E> {
    type Args = MapArgs;

    #[inline(always)]
    unsafe fn run(m: &MapArgs) {
        let (mut a, mut out) = (m.args[0] as *const E, m.out as *mut R::Out);
        let mut left = m.n;
        if R::SCALAR {
            for i in 0..left {
                // SAFETY: in range by the contract of `MapArgs`; an operand with step 0 is read within its chunk.
                unsafe { *out.add(i) = R::call(*a.add(if m.step[0] == 0 { i % CHUNK } else { i })) };
            }
            return;
        }
        while left > 0 {
            let n = left.min(CHUNK);
            let (mut pad, mut pad_out) = (Pad::<E>::uninit(), Pad::<R::Out>::uninit());
            // SAFETY: `n` elements are in memory; the results of a short chunk are written to the stack first.
            unsafe {
                let src = chunk(a, n, m.step[0], &mut pad);
                let dst = destination(out, n, &mut pad_out);
                apply_unary::<E, R, CHUNK>(src, dst, n);
                if n < CHUNK {
                    std::ptr::copy_nonoverlapping(pad_out.as_ptr() as *const R::Out, out, n);
                }
                a = a.add(n * m.step[0]);
                out = out.add(n);
            }
            left -= n;
        }
    }
}

/// Applies a [`BinaryFn`] to blocks.
struct Map2<R, E>(PhantomData<(R, E)>);

impl<E: Copy + 'static, R: BinaryFn<E>> Body for Map2<R, E> {
    type Args = MapArgs;

    #[inline(always)]
    unsafe fn run(m: &MapArgs) {
        let (mut a, mut b) = (m.args[0] as *const E, m.args[1] as *const E);
        let mut out = m.out as *mut R::Out;
        let mut left = m.n;
        if R::SCALAR {
            for i in 0..left {
                let at = |k: usize| if m.step[k] == 0 { i % CHUNK } else { i };
                // SAFETY: in range by the contract of `MapArgs`; an operand with step 0 is read within its chunk.
                unsafe { *out.add(i) = R::call(*a.add(at(0)), *b.add(at(1))) };
            }
            return;
        }
        while left > 0 {
            let n = left.min(CHUNK);
            let (mut pad_a, mut pad_b, mut pad_out) = (Pad::<E>::uninit(), Pad::<E>::uninit(), Pad::<R::Out>::uninit());
            // SAFETY: `n` elements are in memory; the results of a short chunk are written to the stack first.
            unsafe {
                let p = chunk(a, n, m.step[0], &mut pad_a);
                let q = chunk(b, n, m.step[1], &mut pad_b);
                let dst = destination(out, n, &mut pad_out);
                apply_binary::<E, R, CHUNK>(p, q, dst, n);
                if n < CHUNK {
                    std::ptr::copy_nonoverlapping(pad_out.as_ptr() as *const R::Out, out, n);
                }
                a = a.add(n * m.step[0]);
                b = b.add(n * m.step[1]);
                out = out.add(n);
            }
            left -= n;
        }
    }
}

/// Returns true for types whose loops are worth a third version for AVX-512.
const fn has_v4(d: DType) -> bool {
    matches!(d, DType::F32 | DType::F64 | DType::I32 | DType::I64)
}

/// Returns the block function of `fun` on operands of `args` dtypes with the result `out`, or `None` where NumPy has no
/// loop.
pub(crate) fn map(fun: Fun, args: &[DType], out: DType) -> Option<MapFn> {
    match isa::level() {
        Level::V4 if args.iter().any(|&d| has_v4(d)) || has_v4(out) => map_at::<V4>(fun, args, out),
        Level::V4 | Level::V3 => map_at::<V3>(fun, args, out),
        Level::V1 => map_at::<V1>(fun, args, out),
    }
}

/// Returns the function for one element or a group of them, for float32 or float64. Returns `None` where a vector would
/// gain nothing.
pub(crate) fn group_map(fun: Fun, d: DType) -> Option<MapFn> {
    match isa::level() {
        Level::V4 => rows::group::<V4>(fun, d),
        Level::V3 => rows::group::<V3>(fun, d),
        Level::V1 => rows::group::<V1>(fun, d),
    }
}

fn map_at<S: Isa>(fun: Fun, args: &[DType], out: DType) -> Option<MapFn> {
    let &first = args.first()?;
    if let Some(found) = special::map::<S>(fun, args, out) {
        return Some(found);
    }
    let arity = usize::from(fun.op().arity);
    if args.len() != arity || args.iter().any(|&d| d != first) || fun.result(first) != out {
        return None;
    }
    if arity == 1 { rows::unary::<S>(fun, first) } else { rows::binary::<S>(fun, first) }
}

/// Returns the block function of a unary row of the operation table.
fn unary<S: Isa, R: UnaryFn<E>, E: All>() -> MapFn {
    S::entry::<Map1<R, E>>()
}

/// Returns the block function of a binary row of the operation table.
fn binary<S: Isa, R: BinaryFn<E>, E: All>() -> MapFn {
    S::entry::<Map2<R, E>>()
}

/// Returns true if the loop of a row does not vectorize.
const fn is_scalar_for<E: All>(fun: Fun) -> bool {
    !fun.vectorizes(E::DTYPE)
}
