//! Running reductions (scans) along columns of memory.

use std::marker::PhantomData;

use cuprous_core::{DType, ScanOp};

use super::reductions::{Max, Min, Prod, Reduction, Sum};
use crate::isa::{Body, Entry, Isa, V1};
use crate::math::complex::{C64, C128};
use crate::math::{B, BF16, F16, F32, F64};

/// Arguments of a running reduction, in place, of `columns` neighboring columns.
///
/// Contract: element (i, c) is at `at + i·pitch + c`. With `carry`, each element is instead combined once with the
/// element at `from`.
pub(crate) struct ScanArgs {
    /// First element.
    pub at: *mut u8,
    /// Number of elements in a column.
    pub n: usize,
    /// Number of columns.
    pub columns: usize,
    /// Distance between the elements of a column.
    pub pitch: usize,
    /// Combine elements with `from` instead of with each other.
    pub carry: bool,
    /// See `carry`.
    pub from: *mut u8,
}

struct Running<F, E>(PhantomData<(F, E)>);

impl<E: Copy + 'static, F: Reduction<E, Out = E>> Body for Running<F, E> {
    type Args = ScanArgs;

    #[inline(always)]
    unsafe fn run(a: &ScanArgs) {
        let at = a.at as *mut E;
        // SAFETY: by the contract of `ScanArgs`.
        unsafe {
            if a.carry {
                let carry = F::single(*(a.from as *const E));
                for i in 0..a.n {
                    *at.add(i) = F::finish(F::push(carry, *at.add(i), 0));
                }
            } else if a.columns == 1 {
                if a.n == 0 {
                    return;
                }
                let mut acc = F::single(*at);
                for i in 1..a.n {
                    acc = F::push(acc, *at.add(i * a.pitch), 0);
                    *at.add(i * a.pitch) = F::finish(acc);
                }
            } else {
                for i in 1..a.n {
                    let above = std::slice::from_raw_parts(at.add((i - 1) * a.pitch), a.columns);
                    let row = std::slice::from_raw_parts_mut(at.add(i * a.pitch), a.columns);
                    for (e, &before) in row.iter_mut().zip(above) {
                        *e = F::finish(F::push(F::single(before), *e, 0));
                    }
                }
            }
        }
    }
}

/// Returns the running reduction of that kind for that type.
pub(crate) fn running_fn(op: ScanOp, d: DType) -> Entry<ScanArgs> {
    macro_rules! all {
        ($F:ty) => {
            match d {
                DType::Bool => V1::entry::<Running<$F, B>>(),
                DType::I8 => V1::entry::<Running<$F, i8>>(),
                DType::I16 => V1::entry::<Running<$F, i16>>(),
                DType::I32 => V1::entry::<Running<$F, i32>>(),
                DType::I64 => V1::entry::<Running<$F, i64>>(),
                DType::U8 => V1::entry::<Running<$F, u8>>(),
                DType::U16 => V1::entry::<Running<$F, u16>>(),
                DType::U32 => V1::entry::<Running<$F, u32>>(),
                DType::U64 => V1::entry::<Running<$F, u64>>(),
                DType::F16 => V1::entry::<Running<$F, F16<V1>>>(),
                DType::BF16 => V1::entry::<Running<$F, BF16<V1>>>(),
                DType::F32 => V1::entry::<Running<$F, F32<V1>>>(),
                DType::F64 => V1::entry::<Running<$F, F64<V1>>>(),
                DType::C64 => V1::entry::<Running<$F, C64<V1>>>(),
                DType::C128 => V1::entry::<Running<$F, C128<V1>>>(),
            }
        };
    }
    match op {
        ScanOp::Sum => all!(Sum),
        ScanOp::Prod => all!(Prod),
        ScanOp::Max => all!(Max),
        ScanOp::Min => all!(Min),
    }
}
