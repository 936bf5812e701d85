//! Elements of several ranks combined in the order of the ranks, so that every run gives the same bits. Half precision
//! accumulates in float32.

use cuprous_core::DType;
use half::{bf16, f16};

use crate::call::ReduceKind;
use crate::failure::{Failure, Result};

/// Elements that are combined at a time, in registers and the first cache.
const BLOCK: usize = 256;

/// Combines `len` bytes at each of `sources` into `target`, which may be one of them.
///
/// # Safety
/// All addresses have `len` bytes, whole elements at addresses that suit their type. No other thread uses the target.
pub unsafe fn reduce(kind: ReduceKind, dtype: DType, target: *mut u8, sources: &[*const u8], len: usize) {
    #[cfg(target_arch = "x86_64")]
    if std::is_x86_feature_detected!("avx2") {
        // SAFETY: as for this function, on a processor that has the instructions.
        return unsafe { reduce_avx2(kind, dtype, target, sources, len) };
    }
    // SAFETY: as for this function.
    unsafe { reduce_here(kind, dtype, target, sources, len) }
}

/// Does what [`reduce`] does, compiled for wider vectors. The arithmetic is the same.
///
/// # Safety
/// As for [`reduce`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn reduce_avx2(kind: ReduceKind, dtype: DType, target: *mut u8, sources: &[*const u8], len: usize) {
    // SAFETY: as for this function.
    unsafe { reduce_here(kind, dtype, target, sources, len) }
}

/// Does what [`reduce`] does, for the instructions of its caller.
///
/// # Safety
/// As for [`reduce`].
#[inline(always)]
unsafe fn reduce_here(kind: ReduceKind, dtype: DType, target: *mut u8, sources: &[*const u8], len: usize) {
    macro_rules! table {
        ($($($d:ident)|+ => $element:ty, $acc:ty;)*) => {
            match dtype {$($(DType::$d)|+ => {
                // SAFETY: as for this function.
                unsafe { blocks::<$element, $acc>(kind, target, sources, len / size_of::<$element>()) }
            })*}
        };
    }
    table! {
        Bool => Truth, bool;
        I8 => i8, i8; I16 => i16, i16; I32 => i32, i32; I64 => i64, i64;
        U8 => u8, u8; U16 => u16, u16; U32 => u32, u32; U64 => u64, u64;
        F16 => f16, f32; BF16 => bf16, f32; F32 | C64 => f32, f32; F64 | C128 => f64, f64;
    }
}

/// Returns an error for a reduction that elements of that type do not have.
pub fn check(kind: ReduceKind, dtype: DType) -> Result<()> {
    use ReduceKind::*;
    let exact = !dtype.is_float() && !dtype.is_complex();
    let supported = match kind {
        Sum => true,
        Avg => dtype != DType::Bool,
        Product | Min | Max => !dtype.is_complex(),
        Band | Bor | Bxor => exact,
    };
    if supported {
        return Ok(());
    }
    let text = format!("ReduceOp.{} is not supported for {} tensors", kind.name().to_uppercase(), dtype.name());
    Err(if dtype.is_complex() { Failure::value(text) } else { Failure::runtime(text) })
}

/// A boolean in memory, of which any byte but 0 is true.
#[derive(Clone, Copy)]
struct Truth(u8);

/// The arithmetic of accumulators.
trait Accumulator: Copy {
    /// Combines each accumulator with the one of that number.
    fn combine(kind: ReduceKind, a: &mut [Self; BLOCK], b: impl Fn(usize) -> Self);
    fn divide(self, by: usize) -> Self;
}

/// An element in memory and its accumulator.
trait Element<A>: Copy {
    fn load(self) -> A;
    fn store(a: A) -> Self;
}

macro_rules! elements {
    ($($t:ty),*) => {$(
        impl Element<$t> for $t {
            fn load(self) -> $t { self }
            fn store(a: $t) -> $t { a }
        }
    )*};
}
elements!(i8, i16, i32, i64, u8, u16, u32, u64, f32, f64);

impl Element<f32> for f16 {
    fn load(self) -> f32 {
        self.to_f32()
    }
    fn store(a: f32) -> f16 {
        f16::from_f32(a)
    }
}

impl Element<f32> for bf16 {
    fn load(self) -> f32 {
        self.to_f32()
    }
    fn store(a: f32) -> bf16 {
        bf16::from_f32(a)
    }
}

impl Element<bool> for Truth {
    fn load(self) -> bool {
        self.0 != 0
    }
    fn store(a: bool) -> Truth {
        Truth(a.into())
    }
}

#[inline(always)]
fn zip<T: Copy>(a: &mut [T; BLOCK], b: impl Fn(usize) -> T, f: impl Fn(T, T) -> T) {
    for (k, x) in a.iter_mut().enumerate() {
        *x = f(*x, b(k));
    }
}

macro_rules! integers {
    ($($t:ty),*) => {$(
        impl Accumulator for $t {
            #[inline(always)]
            fn combine(kind: ReduceKind, a: &mut [$t; BLOCK], b: impl Fn(usize) -> $t) {
                match kind {
                    ReduceKind::Sum | ReduceKind::Avg => zip(a, b, |x, y| x.wrapping_add(y)),
                    ReduceKind::Product => zip(a, b, |x, y| x.wrapping_mul(y)),
                    ReduceKind::Min => zip(a, b, |x, y| x.min(y)),
                    ReduceKind::Max => zip(a, b, |x, y| x.max(y)),
                    ReduceKind::Band => zip(a, b, |x, y| x & y),
                    ReduceKind::Bor => zip(a, b, |x, y| x | y),
                    ReduceKind::Bxor => zip(a, b, |x, y| x ^ y),
                }
            }
            // Ranks are fewer than a byte counts only by chance, so the division is done in 128 bits.
            fn divide(self, by: usize) -> $t { (self as i128 / by as i128) as $t }
        }
    )*};
}
integers!(i8, i16, i32, i64, u8, u16, u32, u64);

macro_rules! floats {
    ($($t:ty),*) => {$(
        impl Accumulator for $t {
            #[inline(always)]
            fn combine(kind: ReduceKind, a: &mut [$t; BLOCK], b: impl Fn(usize) -> $t) {
                match kind {
                    ReduceKind::Sum | ReduceKind::Avg => zip(a, b, |x, y| x + y),
                    ReduceKind::Product => zip(a, b, |x, y| x * y),
                    // NaN stays, as in NumPy.
                    ReduceKind::Min => zip(a, b, |x, y| if x < y || x.is_nan() { x } else { y }),
                    ReduceKind::Max => zip(a, b, |x, y| if x > y || x.is_nan() { x } else { y }),
                    ReduceKind::Band | ReduceKind::Bor | ReduceKind::Bxor => unreachable!("`check` refuses it"),
                }
            }
            fn divide(self, by: usize) -> $t { self / by as $t }
        }
    )*};
}
floats!(f32, f64);

impl Accumulator for bool {
    #[inline(always)]
    fn combine(kind: ReduceKind, a: &mut [bool; BLOCK], b: impl Fn(usize) -> bool) {
        match kind {
            ReduceKind::Product | ReduceKind::Min | ReduceKind::Band => zip(a, b, |x, y| x & y),
            ReduceKind::Bxor => zip(a, b, |x, y| x ^ y),
            _ => zip(a, b, |x, y| x | y),
        }
    }
    fn divide(self, _: usize) -> bool {
        self
    }
}

/// Does what [`reduce`] does for `count` elements of one type.
///
/// # Safety
/// As for [`reduce`].
#[inline(always)]
unsafe fn blocks<E: Element<A>, A: Accumulator + Default>(
    kind: ReduceKind,
    target: *mut u8,
    sources: &[*const u8],
    count: usize,
) {
    let whole = count / BLOCK * BLOCK;
    for start in (0..whole).step_by(BLOCK) {
        // SAFETY: as for this function.
        unsafe { block::<E, A>(kind, target, sources, start, BLOCK) };
    }
    if whole < count {
        // SAFETY: as for this function.
        unsafe { block::<E, A>(kind, target, sources, whole, count - whole) };
    }
}

/// Combines the `n` elements from `start` on, at most a block.
///
/// # Safety
/// As for [`reduce`].
#[inline(always)]
unsafe fn block<E: Element<A>, A: Accumulator + Default>(
    kind: ReduceKind,
    target: *mut u8,
    sources: &[*const u8],
    start: usize,
    n: usize,
) {
    // SAFETY: each source has these elements.
    let element = |source: *const u8, k: usize| unsafe { source.cast::<E>().add(start + k).read() }.load();
    let load = |source: *const u8| {
        let mut all = [A::default(); BLOCK];
        all[..n].iter_mut().enumerate().for_each(|(k, x)| *x = element(source, k));
        all
    };
    let mut total = load(sources[0]);
    for &source in &sources[1..] {
        if n == BLOCK {
            A::combine(kind, &mut total, |k| element(source, k));
        } else {
            let other = load(source);
            A::combine(kind, &mut total, |k| other[k]);
        }
    }
    for (k, &x) in total[..n].iter().enumerate() {
        let x = if kind == ReduceKind::Avg { x.divide(sources.len()) } else { x };
        // SAFETY: the target has these elements, and those of the sources have been read.
        unsafe { target.cast::<E>().add(start + k).write(E::store(x)) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run<T: Copy>(kind: ReduceKind, dtype: DType, ranks: &[Vec<T>]) -> Vec<T> {
        let mut out = ranks[0].clone();
        let sources: Vec<*const u8> = ranks.iter().map(|r| r.as_ptr().cast()).collect();
        // SAFETY: all vectors have that length.
        unsafe { reduce(kind, dtype, out.as_mut_ptr().cast(), &sources, size_of_val(&out[..])) };
        out
    }

    #[test]
    fn half_precision_is_rounded_once() {
        // 1 + 2^-9 + 2^-9: each addition alone would be rounded away in bfloat16.
        let small = bf16::from_f32(1.0 / 512.0);
        let ranks = [vec![bf16::from_f32(1.0); 300], vec![small; 300], vec![small; 300], vec![small; 300]];
        assert_eq!(run(ReduceKind::Sum, DType::BF16, &ranks)[299], bf16::from_f32(1.0 + 3.0 / 512.0));
    }

    #[test]
    fn integers_wrap_and_average_toward_zero() {
        assert_eq!(run(ReduceKind::Sum, DType::I8, &[vec![100i8; 3], vec![100; 3]]), [-56; 3]);
        assert_eq!(run(ReduceKind::Avg, DType::I32, &[vec![-3i32; 3], vec![0; 3]]), [-1; 3]);
        assert_eq!(run(ReduceKind::Bxor, DType::U8, &[vec![6u8; 3], vec![3; 3]]), [5; 3]);
    }

    #[test]
    fn nan_stays() {
        for kind in [ReduceKind::Min, ReduceKind::Max] {
            assert!(run(kind, DType::F32, &[vec![f32::NAN], vec![1.0]])[0].is_nan());
            assert!(run(kind, DType::F64, &[vec![1.0], vec![f64::NAN]])[0].is_nan());
        }
        assert!(check(ReduceKind::Max, DType::C64).is_err() && check(ReduceKind::Sum, DType::C64).is_ok());
    }
}
