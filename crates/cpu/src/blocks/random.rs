//! Random numbers over blocks. Complete Philox blocks are computed at once where the indices are consecutive, which is
//! always so unless an array of random numbers was permuted before it was computed.

use std::marker::PhantomData;

use cuprous_core::{DType, Fun};

use super::{CHUNK, MapArgs, MapFn};
use crate::isa::{Body, Isa};
use crate::math::{normal, philox, reject};

/// The `N` consecutive elements of a Philox block.
trait BlockDraw<const N: usize>: 'static {
    type Out: Copy + Default;
    fn draw(words: [u32; 4]) -> [Self::Out; N];
}

macro_rules! draws {
    ($($name:ident $n:literal $t:ty, |$w:ident| $e:expr;)*) => {$(
        struct $name;
        impl BlockDraw<$n> for $name {
            type Out = $t;
            #[inline(always)]
            fn draw($w: [u32; 4]) -> [$t; $n] { $e }
        }
    )*};
}
draws! {
    Bits32 4 u32, |w| w;
    Bits64 2 u64, |w| philox::pair(w);
    Unit32 4 f32, |w| [philox::unit32(w[0]), philox::unit32(w[1]), philox::unit32(w[2]), philox::unit32(w[3])];
    Unit64 2 f64, |w| { let p = philox::pair(w); [philox::unit64(p[0]), philox::unit64(p[1])] };
    Normal32 4 f32, |w| {
        let ([a, b], [c, d]) = (normal::normal32([w[0], w[1]]), normal::normal32([w[2], w[3]]));
        [a, b, c, d]
    };
    Normal64 2 f64, |w| normal::normal64(philox::pair(w));
}

struct PhiloxStream<D, const N: usize>(PhantomData<D>);

impl<D: BlockDraw<N>, const N: usize> Body for PhiloxStream<D, N> {
    type Args = MapArgs;

    #[inline(always)]
    unsafe fn run(m: &MapArgs) {
        let (index, out) = (m.args[0] as *const i64, m.out as *mut D::Out);
        let (seeds, offsets) = (m.args[1] as *const u64, m.args[2] as *const u64);
        let mut start = 0;
        while start < m.n {
            let n = (m.n - start).min(CHUNK);
            // SAFETY: by the contract of `MapArgs`, element `i` of each operand is in memory.
            let get = |i: usize| unsafe {
                let at = |k: usize| if m.step[k] == 0 { i % CHUNK } else { i };
                (*index.add(at(0)) as u64, *seeds.add(at(1)), *offsets.add(at(2)))
            };
            let (first, seed, offset) = get(start);
            let mut in_order = m.step == [1, 0, 0] && first % N as u64 == 0;
            for i in 0..n {
                in_order &= get(start + i).0 == first.wrapping_add(i as u64);
            }
            if in_order {
                let mut buffer = [[D::Out::default(); N]; CHUNK];
                let number = offset.wrapping_add(first / N as u64);
                for (g, group) in buffer[..CHUNK / N].iter_mut().enumerate() {
                    *group = D::draw(philox::block(number.wrapping_add(g as u64), seed));
                }
                // SAFETY: there is space for `n` elements; the buffer holds a chunk.
                unsafe { std::ptr::copy_nonoverlapping(buffer.as_ptr() as *const D::Out, out.add(start), n) };
            } else {
                for i in start..start + n {
                    let (index, seed, offset) = get(i);
                    let words = philox::block(offset.wrapping_add(index / N as u64), seed);
                    // SAFETY: `i < start + n`, and there is space for all elements.
                    unsafe { *out.add(i) = D::draw(words)[(index % N as u64) as usize] };
                }
            }
            start += n;
        }
    }
}

/// A random number by rejection sampling, element by element.
trait RejectionDraw: 'static {
    type Parameter: Copy;
    type Out: Copy;
    fn draw(index: u64, seed: u64, p: Self::Parameter) -> Self::Out;
}

macro_rules! rejects {
    ($($name:ident $p:ty => $out:ty, $f:path;)*) => {$(
        struct $name;
        impl RejectionDraw for $name {
            type Parameter = $p;
            type Out = $out;
            #[inline(always)]
            fn draw(index: u64, seed: u64, p: $p) -> $out { $f(index, seed, p) }
        }
    )*};
}
rejects! {
    Gamma f64 => f64, reject::gamma;
    Poisson f64 => i64, reject::poisson;
    Binomial [f64; 2] => i64, reject::binomial;
}

struct RejectionStream<R>(PhantomData<R>);

impl<R: RejectionDraw> Body for RejectionStream<R> {
    type Args = MapArgs;

    #[inline(always)]
    unsafe fn run(m: &MapArgs) {
        for i in 0..m.n {
            let at = |k: usize| if m.step[k] == 0 { i % CHUNK } else { i };
            // SAFETY: by the contract of `MapArgs`.
            unsafe {
                let index = *(m.args[0] as *const u64).add(at(0));
                let seed = *(m.args[1] as *const u64).add(at(1));
                let p = *(m.args[2] as *const R::Parameter).add(at(2));
                *(m.out as *mut R::Out).add(i) = R::draw(index, seed, p);
            }
        }
    }
}

pub(super) fn map<S: Isa>(fun: Fun, args: &[DType], out: DType) -> Option<MapFn> {
    let &[DType::I64, DType::U64, third] = args else { return None };
    Some(match (fun, third, out) {
        (Fun::RandomBits32, DType::U64, DType::U32) => S::entry::<PhiloxStream<Bits32, 4>>(),
        (Fun::RandomBits64, DType::U64, DType::U64) => S::entry::<PhiloxStream<Bits64, 2>>(),
        (Fun::RandomUnit32, DType::U64, DType::F32) => S::entry::<PhiloxStream<Unit32, 4>>(),
        (Fun::RandomUnit64, DType::U64, DType::F64) => S::entry::<PhiloxStream<Unit64, 2>>(),
        (Fun::RandomNormal32, DType::U64, DType::F32) => S::entry::<PhiloxStream<Normal32, 4>>(),
        (Fun::RandomNormal64, DType::U64, DType::F64) => S::entry::<PhiloxStream<Normal64, 2>>(),
        (Fun::RandomGamma, DType::F64, DType::F64) => S::entry::<RejectionStream<Gamma>>(),
        (Fun::RandomPoisson, DType::F64, DType::I64) => S::entry::<RejectionStream<Poisson>>(),
        (Fun::RandomBinomial, DType::C128, DType::I64) => S::entry::<RejectionStream<Binomial>>(),
        _ => return None,
    })
}
