//! Rows of the operation table whose operands differ in type.

use std::marker::PhantomData;

use cuprous_core::{DType, Fun};

use super::{CHUNK, Map1, MapArgs, MapFn, Pad, UnaryFn, chunk, destination, random};
use crate::isa::{Body, Isa};
use crate::math::cast::{Cast as By, Real};
use crate::math::{
    B, BF16, Cx, F16, F32, F64, Float,
    complex::{C64, C128, Part},
};

/// Returns the block function of a special row, or `None` if the row is not special or does not accept the types.
pub(super) fn map<S: Isa>(fun: Fun, args: &[DType], out: DType) -> Option<MapFn> {
    match (fun, args) {
        (Fun::Where, &[DType::Bool, a, b]) if a == b && a == out => Some(select::<S>(a)),
        (Fun::Cast, &[from]) if from == out => Some(copy::<S>(out)),
        (Fun::Cast, &[from]) => cast_from::<S>(from, out),
        (Fun::Bitcast, &[from]) if from.size() == out.size() => Some(copy::<S>(out)),
        (Fun::BitwiseCount, &[d]) if out == DType::U8 => count::<S>(d),
        (Fun::CompareIntegers, &[DType::I64, DType::U64]) => Some(S::entry::<Map2Mixed<Compare<i64, u64>>>()),
        (Fun::CompareIntegers, &[DType::U64, DType::I64]) => Some(S::entry::<Map2Mixed<Compare<u64, i64>>>()),
        (Fun::MakeComplex, &[a, b]) if a == b => make_complex::<S>(a, out),
        (Fun::Ldexp, &[a, DType::I64]) if a == out => ldexp::<S>(a),
        (Fun::FrexpExponent, &[a]) if out == DType::I32 => exponent::<S>(a),
        (_, args) => random::map::<S>(fun, args, out),
    }
}

/// A function of two operands of different types.
trait MixedFn: 'static {
    type A: Copy;
    type B: Copy;
    type Out: Copy;
    fn call(a: Self::A, b: Self::B) -> Self::Out;
}

struct Map2Mixed<R>(PhantomData<R>);

impl<R: MixedFn> Body for Map2Mixed<R> {
    type Args = MapArgs;

    #[inline(always)]
    unsafe fn run(m: &MapArgs) {
        for start in (0..m.n).step_by(CHUNK) {
            let n = (m.n - start).min(CHUNK);
            let (mut pad_a, mut pad_b, mut pad_out) =
                (Pad::<R::A>::uninit(), Pad::<R::B>::uninit(), Pad::<R::Out>::uninit());
            // SAFETY: by the contract of `MapArgs`, `n` elements from `start` are in memory.
            unsafe {
                let a = chunk((m.args[0] as *const R::A).add(start * m.step[0]), n, m.step[0], &mut pad_a);
                let b = chunk((m.args[1] as *const R::B).add(start * m.step[1]), n, m.step[1], &mut pad_b);
                let out = (m.out as *mut R::Out).add(start);
                let dst = destination(out, n, &mut pad_out);
                for i in 0..CHUNK {
                    dst[i] = R::call(a[i], b[i]);
                }
                if n < CHUNK {
                    std::ptr::copy_nonoverlapping(pad_out.as_ptr() as *const _, out, n);
                }
            }
        }
    }
}

/// `where`, on the bits of elements of a size.
struct Select<T>(PhantomData<T>);

impl<T: Copy + 'static> Body for Select<T> {
    type Args = MapArgs;

    #[inline(always)]
    unsafe fn run(m: &MapArgs) {
        for start in (0..m.n).step_by(CHUNK) {
            let n = (m.n - start).min(CHUNK);
            let (mut pad_c, mut pad_a) = (Pad::<u8>::uninit(), Pad::<T>::uninit());
            let (mut pad_b, mut pad_out) = (Pad::<T>::uninit(), Pad::<T>::uninit());
            // SAFETY: by the contract of `MapArgs`, `n` elements from `start` are in memory.
            unsafe {
                let c = chunk(m.args[0].add(start * m.step[0]), n, m.step[0], &mut pad_c);
                let a = chunk((m.args[1] as *const T).add(start * m.step[1]), n, m.step[1], &mut pad_a);
                let b = chunk((m.args[2] as *const T).add(start * m.step[2]), n, m.step[2], &mut pad_b);
                let out = (m.out as *mut T).add(start);
                let dst = destination(out, n, &mut pad_out);
                for i in 0..CHUNK {
                    dst[i] = if c[i] != 0 { a[i] } else { b[i] };
                }
                if n < CHUNK {
                    std::ptr::copy_nonoverlapping(pad_out.as_ptr() as *const _, out, n);
                }
            }
        }
    }
}

fn select<S: Isa>(d: DType) -> MapFn {
    match d.size() {
        1 => S::entry::<Select<u8>>(),
        2 => S::entry::<Select<u16>>(),
        4 => S::entry::<Select<u32>>(),
        8 => S::entry::<Select<u64>>(),
        _ => S::entry::<Select<[u64; 2]>>(),
    }
}

/// Copies elements of a size.
struct Copied<T>(PhantomData<T>);

impl<T: Copy + 'static> UnaryFn<T> for Copied<T> {
    type Out = T;
    const FUN: Fun = Fun::Positive;
    #[inline(always)]
    fn call(a: T) -> T {
        a
    }
}

fn copy<S: Isa>(d: DType) -> MapFn {
    match d.size() {
        1 => S::entry::<Map1<Copied<u8>, u8>>(),
        2 => S::entry::<Map1<Copied<u16>, u16>>(),
        4 => S::entry::<Map1<Copied<u32>, u32>>(),
        8 => S::entry::<Map1<Copied<u64>, u64>>(),
        _ => S::entry::<Map1<Copied<[u64; 2]>, [u64; 2]>>(),
    }
}

/// Casts a real number.
struct CastReal<T>(PhantomData<T>);

impl<A: Copy + 'static, T: Copy + 'static> UnaryFn<A> for CastReal<T>
where
    Real<A>: By<T>,
{
    type Out = T;
    const FUN: Fun = Fun::Cast;
    #[inline(always)]
    fn call(a: A) -> T {
        Real(a).cast()
    }
}

/// Casts a complex number to a real one, which drops the imaginary part. The cast to bool is [`ComplexToBool`].
struct CastRealPart<T>(PhantomData<T>);

impl<F: Part, T: Copy + 'static> UnaryFn<Cx<F>> for CastRealPart<T>
where
    Real<F>: By<T>,
{
    type Out = T;
    const FUN: Fun = Fun::Cast;
    #[inline(always)]
    fn call(a: Cx<F>) -> T {
        Real(a.re).cast()
    }
}

struct ComplexToBool;

impl<F: Part> UnaryFn<Cx<F>> for ComplexToBool {
    type Out = B;
    const FUN: Fun = Fun::Cast;
    #[inline(always)]
    fn call(a: Cx<F>) -> B {
        B::from(a.re.ne(F::ZERO) | a.im.ne(F::ZERO))
    }
}

struct ComplexToComplex<G>(PhantomData<G>);

impl<F: Part, G: Part> UnaryFn<Cx<F>> for ComplexToComplex<G> {
    type Out = Cx<G>;
    const FUN: Fun = Fun::Cast;
    #[inline(always)]
    fn call(a: Cx<F>) -> Cx<G> {
        Cx::new(G::from_f64(a.re.to_f64()), G::from_f64(a.im.to_f64()))
    }
}

macro_rules! to {
    ($row:ident $S:ident $A:ty, $out:ident: $($dtype:ident $t:ty;)*) => {
        match $out { $(DType::$dtype => S::entry::<Map1<$row<$t>, $A>>(),)* #[allow(unreachable_patterns, reason = "some lists have all dtypes")] _ => return None }
    };
}

fn cast_from<S: Isa>(from: DType, out: DType) -> Option<MapFn> {
    macro_rules! from {
        ($($dtype:ident $A:ty;)*) => {
            match from {
                $(DType::$dtype => to!(CastReal S $A, out: Bool B; I8 i8; I16 i16; I32 i32; I64 i64; U8 u8; U16 u16;
                    U32 u32; U64 u64; F16 F16<S>; BF16 BF16<S>; F32 F32<S>; F64 F64<S>; C64 C64<S>; C128 C128<S>;),)*
                DType::C64 => return complex_from::<S, F32<S>>(out),
                DType::C128 => return complex_from::<S, F64<S>>(out),
            }
        };
    }
    Some(from!(Bool B; I8 i8; I16 i16; I32 i32; I64 i64; U8 u8; U16 u16; U32 u32; U64 u64;
        F16 F16<S>; BF16 BF16<S>; F32 F32<S>; F64 F64<S>;))
}

fn complex_from<S: Isa, F: Part + crate::math::cast::Source>(out: DType) -> Option<MapFn> {
    Some(match out {
        DType::Bool => S::entry::<Map1<ComplexToBool, Cx<F>>>(),
        DType::C64 => S::entry::<Map1<ComplexToComplex<F32<S>>, Cx<F>>>(),
        DType::C128 => S::entry::<Map1<ComplexToComplex<F64<S>>, Cx<F>>>(),
        _ => to!(CastRealPart S Cx<F>, out: I8 i8; I16 i16; I32 i32; I64 i64; U8 u8; U16 u16; U32 u32; U64 u64;
            F16 F16<S>; BF16 BF16<S>; F32 F32<S>; F64 F64<S>;),
    })
}

/// Counts the set bits of the absolute value, as NumPy does.
struct PopCount;

macro_rules! count {
    ($($dtype:ident $t:ident $($abs:ident)?;)*) => {
        $(impl UnaryFn<$t> for PopCount {
            type Out = u8;
            const FUN: Fun = Fun::BitwiseCount;
            #[inline(always)]
            fn call(a: $t) -> u8 { a$(.$abs())?.count_ones() as u8 }
        })*
        fn count<S: Isa>(d: DType) -> Option<MapFn> {
            Some(match d { $(DType::$dtype => S::entry::<Map1<PopCount, $t>>(),)* _ => return None })
        }
    };
}
count!(I8 i8 unsigned_abs; I16 i16 unsigned_abs; I32 i32 unsigned_abs; I64 i64 unsigned_abs;
    U8 u8; U16 u16; U32 u32; U64 u64;);

/// Compares the exact values of a signed and an unsigned integer, which no 64-bit type can both represent.
struct Compare<A, B>(PhantomData<(A, B)>);

impl MixedFn for Compare<i64, u64> {
    type A = i64;
    type B = u64;
    type Out = i8;
    #[inline(always)]
    fn call(a: i64, b: u64) -> i8 {
        let unsigned = a as u64;
        if a < 0 { -1 } else { (unsigned > b) as i8 - (unsigned < b) as i8 }
    }
}

impl MixedFn for Compare<u64, i64> {
    type A = u64;
    type B = i64;
    type Out = i8;
    #[inline(always)]
    fn call(a: u64, b: i64) -> i8 {
        -Compare::<i64, u64>::call(b, a)
    }
}

struct PairToComplex<F, C>(PhantomData<(F, C)>);

impl<F: Float, C: Part> MixedFn for PairToComplex<F, C> {
    type A = F;
    type B = F;
    type Out = Cx<C>;
    #[inline(always)]
    fn call(a: F, b: F) -> Cx<C> {
        Cx::new(C::from_f64(a.to_f64()), C::from_f64(b.to_f64()))
    }
}

fn make_complex<S: Isa>(d: DType, out: DType) -> Option<MapFn> {
    Some(match (d, out) {
        (DType::F64, DType::C128) => S::entry::<Map2Mixed<PairToComplex<F64<S>, F64<S>>>>(),
        (DType::F32, DType::C64) => S::entry::<Map2Mixed<PairToComplex<F32<S>, F32<S>>>>(),
        (DType::F16, DType::C64) => S::entry::<Map2Mixed<PairToComplex<F16<S>, F32<S>>>>(),
        (DType::BF16, DType::C64) => S::entry::<Map2Mixed<PairToComplex<BF16<S>, F32<S>>>>(),
        _ => return None,
    })
}

struct Ldexp<F>(PhantomData<F>);

impl<F: Float> MixedFn for Ldexp<F> {
    type A = F;
    type B = i64;
    type Out = F;
    #[inline(always)]
    fn call(a: F, b: i64) -> F {
        a.ldexp(b.clamp(i32::MIN.into(), i32::MAX.into()) as i32)
    }
}

/// The exponent of `frexp`.
struct Exponent;

impl<F: Float> UnaryFn<F> for Exponent {
    type Out = i32;
    const FUN: Fun = Fun::FrexpExponent;
    const SCALAR: bool = true;
    #[inline(always)]
    fn call(a: F) -> i32 {
        a.frexp_exponent()
    }
}

macro_rules! floats {
    ($name:ident) => {
        fn $name<S: Isa>(d: DType) -> Option<MapFn> {
            Some(match d {
                DType::F16 => S::entry::<floats!(@ $name F16<S>)>(),
                DType::BF16 => S::entry::<floats!(@ $name BF16<S>)>(),
                DType::F32 => S::entry::<floats!(@ $name F32<S>)>(),
                DType::F64 => S::entry::<floats!(@ $name F64<S>)>(),
                _ => return None,
            })
        }
    };
    (@ ldexp $F:ty) => { Map2Mixed<Ldexp<$F>> };
    (@ exponent $F:ty) => { Map1<Exponent, $F> };
}
floats!(ldexp);
floats!(exponent);
