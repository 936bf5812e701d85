//! Run-time choice of the instruction set: a generic loop is compiled once per level.
//!
//! A loop is a type that implements [`Body`]. [`Isa::entry`] returns a function that runs it with the level's target
//! features. Everything that the loop calls must be `#[inline(always)]`; otherwise it is compiled without those features.

use std::sync::LazyLock;

/// A function compiled for some level.
pub(crate) type Entry<A> = unsafe fn(&A);

/// A loop over its arguments.
pub(crate) trait Body: 'static {
    /// The arguments.
    type Args;
    /// Runs the loop.
    ///
    /// # Safety
    /// The pointers in `args` satisfy the contract of the arguments' type.
    unsafe fn run(args: &Self::Args);
}

/// A set of target features.
pub(crate) trait Isa: Copy + Default + Send + Sync + 'static {
    /// Whether fused multiply-add is one instruction. Where it is not, `mul_add` is a library call and must be avoided.
    const FMA: bool;
    /// Returns `B` compiled for this level.
    fn entry<B: Body>() -> Entry<B::Args>;
}

macro_rules! levels {
    ($($(#[$doc:meta])* $name:ident $run:ident fma $fma:expr; $(#[$attr:meta])*;)*) => {
        /// A loop compiled for each level. These are methods of the loop, because the compiler makes a unit of each
        /// module's types: of functions in this module it would make a single unit, which one thread compiles for minutes.
        trait Compiled: Body {$(
            /// # Safety
            /// As for [`Body::run`], and the processor has the level's features.
            #[cfg_attr(debug_assertions, allow(dead_code, reason = "a level that is not chosen"))]
            unsafe fn $run(args: &Self::Args);
        )*}

        impl<B: Body> Compiled for B {$(
            $(#[$attr])*
            unsafe fn $run(args: &B::Args) {
                // SAFETY: by the body's contract, which the caller satisfies.
                unsafe { B::run(args) }
            }
        )*}

        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Default)]
            #[cfg_attr(debug_assertions, allow(dead_code, reason = "a level that is not chosen"))]
            pub(crate) struct $name;

            impl Isa for $name {
                const FMA: bool = $fma;
                fn entry<B: Body>() -> Entry<B::Args> {
                    B::$run
                }
            }
        )*
    };
}

/// The levels with code of their own.
pub(crate) mod own {
    use super::{Body, Entry, Isa};

    #[cfg(target_arch = "x86_64")]
    levels! {
        /// The baseline: SSE2.
        V1 run_v1 fma false; ;
        /// x86-64-v3: AVX2 and FMA.
        V3 run_v3 fma true; #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt,f16c")];
        /// x86-64-v4: AVX-512.
        V4 run_v4 fma true; #[target_feature(
            enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,fma,bmi1,bmi2,lzcnt,popcnt,f16c")];
    }

    #[cfg(not(target_arch = "x86_64"))]
    levels! {
        /// The baseline.
        V1 run_v1 fma cfg!(target_arch = "aarch64"); ;
    }
}

// A level that is never chosen is another name of the one below it, so that it takes no code: on other architectures, and in
// a build with debug assertions, which runs where it is made, on a processor without AVX-512 (build.rs).
#[cfg(all(target_arch = "x86_64", debug_assertions, not(builder_has_v4)))]
pub(crate) use own::V3 as V4;
#[cfg(all(target_arch = "x86_64", any(not(debug_assertions), builder_has_v4)))]
pub(crate) use own::V4;
#[cfg(not(target_arch = "x86_64"))]
pub(crate) use own::{V1, V1 as V3, V1 as V4};
#[cfg(target_arch = "x86_64")]
pub(crate) use own::{V1, V3};

/// The levels, in increasing order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Level {
    /// [`V1`].
    V1,
    /// [`V3`].
    V3,
    /// [`V4`].
    V4,
}

static LEVEL: LazyLock<Level> = LazyLock::new(|| {
    let best = detect();
    // An override for tests and debugging.
    match std::env::var("CUPROUS_CPU_LEVEL").as_deref() {
        Ok("v1") => Level::V1,
        Ok("v3") => best.min(Level::V3),
        _ => best,
    }
});

#[cfg(target_arch = "x86_64")]
fn detect() -> Level {
    let has = |all: &[bool]| all.iter().all(|&b| b);
    let v3 = has(&[
        is_x86_feature_detected!("avx2"),
        is_x86_feature_detected!("fma"),
        is_x86_feature_detected!("bmi1"),
        is_x86_feature_detected!("bmi2"),
        is_x86_feature_detected!("lzcnt"),
        is_x86_feature_detected!("popcnt"),
        is_x86_feature_detected!("f16c"),
    ]);
    let v4 = has(&[
        is_x86_feature_detected!("avx512f"),
        is_x86_feature_detected!("avx512bw"),
        is_x86_feature_detected!("avx512cd"),
        is_x86_feature_detected!("avx512dq"),
        is_x86_feature_detected!("avx512vl"),
    ]);
    match (v3, v4) {
        (true, true) => Level::V4,
        (true, false) => Level::V3,
        _ => Level::V1,
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn detect() -> Level {
    Level::V1
}

/// Returns the level in use.
pub(crate) fn level() -> Level {
    *LEVEL
}
