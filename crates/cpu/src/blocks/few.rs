//! The same functions for one element or for [`FEW`], as the threads of users' kernels call them: there a chunk would
//! be mostly padding. Both loops compute alike, bit for bit.

use std::marker::PhantomData;

use super::{Bin, MapArgs, MapFn, Un, apply1, apply2, rows};
use crate::isa::{self, Body, Level, V1, V3, V4};
use cuprous_core::{DType, Fun};

/// Elements of a group. Operands of a group begin at any address that suits an element, and `step` is not looked at.
pub(crate) const FEW: usize = 16;

/// [`Un`] for one element or for a group.
pub(super) struct Few1<R, E>(PhantomData<(R, E)>);

impl<E: Copy + 'static, R: Un<E>> Body for Few1<R, E> {
    type Args = MapArgs;

    #[inline(always)]
    unsafe fn run(m: &MapArgs) {
        // SAFETY: one element or a group is there, by the contract of `MapArgs`.
        unsafe {
            match m.n {
                FEW => apply1::<E, R, FEW>(&*m.args[0].cast(), &mut *m.out.cast(), FEW),
                _ => apply1::<E, R, 1>(&*m.args[0].cast(), &mut *m.out.cast(), 1),
            }
        }
    }
}

/// [`Bin`] for one element or for a group.
pub(super) struct Few2<R, E>(PhantomData<(R, E)>);

impl<E: Copy + 'static, R: Bin<E>> Body for Few2<R, E> {
    type Args = MapArgs;

    #[inline(always)]
    unsafe fn run(m: &MapArgs) {
        let [a, b, _] = m.args;
        // SAFETY: as in `Few1`.
        unsafe {
            match m.n {
                FEW => apply2::<E, R, FEW>(&*a.cast(), &*b.cast(), &mut *m.out.cast(), FEW),
                _ => apply2::<E, R, 1>(&*a.cast(), &*b.cast(), &mut *m.out.cast(), 1),
            }
        }
    }
}

/// The function for one element or a group of them, float32 or float64; `None` where a vector would gain nothing.
pub(crate) fn few(fun: Fun, d: DType) -> Option<MapFn> {
    match isa::level() {
        Level::V4 => rows::few::<V4>(fun, d),
        Level::V3 => rows::few::<V3>(fun, d),
        Level::V1 => rows::few::<V1>(fun, d),
    }
}
