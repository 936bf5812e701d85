//! Explicit vectors, for loops whose accumulators the compiler would not keep in registers (correlation, recurrent
//! layers).

use crate::isa::V1;
#[cfg(target_arch = "x86_64")]
use crate::isa::own::{V3, V4};

/// Vectors of `T` for an instruction set.
///
/// # Safety
/// The methods may only be called inside functions that have the set's target features.
pub(crate) unsafe trait Simd<T>: 'static {
    type V: Copy;
    const LANES: usize;
    unsafe fn splat(v: T) -> Self::V;
    unsafe fn load(at: *const T) -> Self::V;
    unsafe fn store(at: *mut T, v: Self::V);
    unsafe fn fma(a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    unsafe fn add(a: Self::V, b: Self::V) -> Self::V;
}

macro_rules! plain {
    ($level:ty, $t:ty, $n:literal) => {
        // SAFETY: plain arrays need no target features.
        unsafe impl Simd<$t> for $level {
            type V = [$t; $n];
            const LANES: usize = $n;
            #[inline(always)]
            unsafe fn splat(v: $t) -> Self::V {
                [v; $n]
            }
            #[inline(always)]
            unsafe fn load(at: *const $t) -> Self::V {
                // SAFETY: by the caller's contract, the elements are in memory.
                unsafe { (at as *const Self::V).read_unaligned() }
            }
            #[inline(always)]
            unsafe fn store(at: *mut $t, v: Self::V) {
                // SAFETY: by the caller's contract, the elements are in memory.
                unsafe { (at as *mut Self::V).write_unaligned(v) }
            }
            #[inline(always)]
            unsafe fn fma(a: Self::V, b: Self::V, c: Self::V) -> Self::V {
                std::array::from_fn(|i| a[i] * b[i] + c[i])
            }
            #[inline(always)]
            unsafe fn add(a: Self::V, b: Self::V) -> Self::V {
                std::array::from_fn(|i| a[i] + b[i])
            }
        }
    };
}
plain!(V1, f32, 4);
plain!(V1, f64, 2);

#[cfg(target_arch = "x86_64")]
macro_rules! x86 {
    ($level:ty, $t:ty, $v:ident, $n:literal, $splat:ident, $load:ident, $store:ident, $fma:ident, $add:ident) => {
        // SAFETY: the intrinsics need the level's features, which the trait's contract guarantees.
        unsafe impl Simd<$t> for $level {
            type V = std::arch::x86_64::$v;
            const LANES: usize = $n;
            #[inline(always)]
            unsafe fn splat(v: $t) -> Self::V {
                // SAFETY: the target features are available by the trait's contract.
                unsafe { std::arch::x86_64::$splat(v) }
            }
            #[inline(always)]
            unsafe fn load(at: *const $t) -> Self::V {
                // SAFETY: the target features are available by the trait's contract, and the elements are in memory.
                unsafe { std::arch::x86_64::$load(at) }
            }
            #[inline(always)]
            unsafe fn store(at: *mut $t, v: Self::V) {
                // SAFETY: the target features are available by the trait's contract, and the elements are in memory.
                unsafe { std::arch::x86_64::$store(at, v) }
            }
            #[inline(always)]
            unsafe fn fma(a: Self::V, b: Self::V, c: Self::V) -> Self::V {
                // SAFETY: the target features are available by the trait's contract.
                unsafe { std::arch::x86_64::$fma(a, b, c) }
            }
            #[inline(always)]
            unsafe fn add(a: Self::V, b: Self::V) -> Self::V {
                // SAFETY: the target features are available by the trait's contract.
                unsafe { std::arch::x86_64::$add(a, b) }
            }
        }
    };
}
#[cfg(target_arch = "x86_64")]
x86!(V3, f32, __m256, 8, _mm256_set1_ps, _mm256_loadu_ps, _mm256_storeu_ps, _mm256_fmadd_ps, _mm256_add_ps);
#[cfg(target_arch = "x86_64")]
x86!(V3, f64, __m256d, 4, _mm256_set1_pd, _mm256_loadu_pd, _mm256_storeu_pd, _mm256_fmadd_pd, _mm256_add_pd);
#[cfg(target_arch = "x86_64")]
x86!(V4, f32, __m512, 16, _mm512_set1_ps, _mm512_loadu_ps, _mm512_storeu_ps, _mm512_fmadd_ps, _mm512_add_ps);
#[cfg(target_arch = "x86_64")]
x86!(V4, f64, __m512d, 8, _mm512_set1_pd, _mm512_loadu_pd, _mm512_storeu_pd, _mm512_fmadd_pd, _mm512_add_pd);
