//! Scattered writes, one after the other. With duplicate indices, the last write wins or all are combined.

use std::marker::PhantomData;

use cuprous_core::{DType, ScatterOp};

use super::reductions::Accumulate;
use crate::isa::{Body, Entry, Isa, V1};
use crate::math::{
    All, B, BF16, F16, F32, F64,
    complex::{C64, C128},
};

/// Arguments of a scatter.
///
/// Contract: there are `n` indices and values (one where the step is 0), and `to` has `len` elements.
pub(crate) struct ScatterArgs {
    /// Number of writes.
    pub n: usize,
    /// int64 indices.
    pub index: *const i64,
    /// 0 for a single index, else 1.
    pub index_step: usize,
    /// Values.
    pub value: *const u8,
    /// 0 for a single value, else 1.
    pub value_step: usize,
    /// Destination.
    pub to: *mut u8,
    /// Number of elements in the destination.
    pub len: i64,
}

/// Wraps `index` into `0..len`.
#[inline(always)]
pub(crate) fn wrap(index: i64, len: i64) -> usize {
    if (index as u64) < len as u64 { index as usize } else { index.rem_euclid(len) as usize }
}

trait Combine<E>: 'static {
    fn combine(old: E, new: E) -> E;
}

macro_rules! combine {
    ($($name:ident: $bound:ident, |$a:ident, $b:ident| $e:expr;)*) => {$(
        struct $name;
        impl<E: $bound> Combine<E> for $name {
            #[inline(always)]
            fn combine($a: E, $b: E) -> E { $e }
        }
    )*};
}
combine! {
    Set: All, |_a, b| b;
    Add: Accumulate, |a, b| E::narrow(E::plus(a.widen(), b.widen()));
    Multiply: Accumulate, |a, b| E::narrow(E::times(a.widen(), b.widen()));
    Maximum: All, |a, b| a.maximum(b);
    Minimum: All, |a, b| a.minimum(b);
}

struct Scatter<C, E>(PhantomData<(C, E)>);

impl<E: All, C: Combine<E>> Body for Scatter<C, E> {
    type Args = ScatterArgs;

    #[inline(always)]
    unsafe fn run(a: &ScatterArgs) {
        let (value, to) = (a.value as *const E, a.to as *mut E);
        for i in 0..a.n {
            // SAFETY: by the contract of `ScatterArgs`; the index is wrapped.
            unsafe {
                let at = to.add(wrap(*a.index.add(i * a.index_step), a.len));
                at.write_unaligned(C::combine(at.read_unaligned(), *value.add(i * a.value_step)));
            }
        }
    }
}

/// Returns the function for that combination and type.
pub(crate) fn scatter(op: ScatterOp, d: DType) -> Entry<ScatterArgs> {
    macro_rules! all {
        ($C:ty) => {
            match d {
                DType::Bool => V1::entry::<Scatter<$C, B>>(),
                DType::I8 => V1::entry::<Scatter<$C, i8>>(),
                DType::I16 => V1::entry::<Scatter<$C, i16>>(),
                DType::I32 => V1::entry::<Scatter<$C, i32>>(),
                DType::I64 => V1::entry::<Scatter<$C, i64>>(),
                DType::U8 => V1::entry::<Scatter<$C, u8>>(),
                DType::U16 => V1::entry::<Scatter<$C, u16>>(),
                DType::U32 => V1::entry::<Scatter<$C, u32>>(),
                DType::U64 => V1::entry::<Scatter<$C, u64>>(),
                DType::F16 => V1::entry::<Scatter<$C, F16<V1>>>(),
                DType::BF16 => V1::entry::<Scatter<$C, BF16<V1>>>(),
                DType::F32 => V1::entry::<Scatter<$C, F32<V1>>>(),
                DType::F64 => V1::entry::<Scatter<$C, F64<V1>>>(),
                DType::C64 => V1::entry::<Scatter<$C, C64<V1>>>(),
                DType::C128 => V1::entry::<Scatter<$C, C128<V1>>>(),
            }
        };
    }
    match op {
        ScatterOp::Set => all!(Set),
        ScatterOp::Add => all!(Add),
        ScatterOp::Multiply => all!(Multiply),
        ScatterOp::Maximum => all!(Maximum),
        ScatterOp::Minimum => all!(Minimum),
    }
}
