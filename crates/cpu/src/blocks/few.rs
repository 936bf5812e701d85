//! The same functions for one element or for [`FEW`], as the threads of users' kernels call them: there a chunk would
//! be mostly padding. Both loops compute alike, bit for bit.

use std::marker::PhantomData;

use super::{Bin, MapArgs, MapFn, Un, rows};
use crate::isa::{self, Body, Level, V1, V3, V4};
use cuprous_core::{DType, Fun};

/// Elements of a group. Operands of a group begin at any address that suits an element, and `step` is not looked at.
pub(crate) const FEW: usize = 16;

/// [`Un`] for one element or for a group.
pub(super) struct Few1<R, E>(PhantomData<(R, E)>);

#[inline(always)]
fn one1<E: Copy, R: Un<E>>(a: E) -> R::Out {
    if R::fast(a) { R::call(a) } else { R::slow(a) }
}

#[inline(always)]
fn one2<E: Copy, R: Bin<E>>(a: E, b: E) -> R::Out {
    if R::fast(a, b) { R::call(a, b) } else { R::slow(a, b) }
}

impl<E: Copy + 'static, R: Un<E>> Body for Few1<R, E> {
    type Args = MapArgs;

    #[inline(always)]
    unsafe fn run(m: &MapArgs) {
        let (a, out) = (m.args[0] as *const E, m.out as *mut R::Out);
        // SAFETY: one element or a group is there, by the contract of `MapArgs`.
        unsafe {
            if m.n != FEW {
                *out = one1::<E, R>(*a);
                return;
            }
            let (a, out) = (&*(a as *const [E; FEW]), &mut *(out as *mut [R::Out; FEW]));
            let mut fast = true;
            for i in 0..FEW {
                out[i] = R::call(a[i]);
                fast &= R::fast(a[i]);
            }
            if !fast {
                for i in 0..FEW {
                    out[i] = one1::<E, R>(a[i]);
                }
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
        let (a, b, out) = (m.args[0] as *const E, m.args[1] as *const E, m.out as *mut R::Out);
        // SAFETY: as in `Few1`.
        unsafe {
            if m.n != FEW {
                *out = one2::<E, R>(*a, *b);
                return;
            }
            let (a, b) = (&*(a as *const [E; FEW]), &*(b as *const [E; FEW]));
            let out = &mut *(out as *mut [R::Out; FEW]);
            let mut fast = true;
            for i in 0..FEW {
                out[i] = R::call(a[i], b[i]);
                fast &= R::fast(a[i], b[i]);
            }
            if !fast {
                for i in 0..FEW {
                    out[i] = one2::<E, R>(a[i], b[i]);
                }
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
