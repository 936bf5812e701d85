//! Block functions for one element or for [`GROUP`] elements, called by the threads of user kernels, where a chunk
//! would be mostly padding. Both loops give the same results bit for bit.

use std::marker::PhantomData;

use super::{BinaryFn, MapArgs, UnaryFn, apply_binary, apply_unary};
use crate::isa::Body;

/// Number of elements in a group. Operands of a group need only the alignment of an element, and `step` is ignored.
pub(crate) const GROUP: usize = 16;

/// [`UnaryFn`] for one element or for a group.
pub(super) struct GroupMap1<R, E>(PhantomData<(R, E)>);

impl<E: Copy + 'static, R: UnaryFn<E>> Body for GroupMap1<R, E> {
    type Args = MapArgs;

    #[inline(always)]
    unsafe fn run(m: &MapArgs) {
        // SAFETY: by the contract of `MapArgs`, there is one element or a group.
        unsafe {
            match m.n {
                GROUP => apply_unary::<E, R, GROUP>(&*m.args[0].cast(), &mut *m.out.cast(), GROUP),
                _ => apply_unary::<E, R, 1>(&*m.args[0].cast(), &mut *m.out.cast(), 1),
            }
        }
    }
}

/// [`BinaryFn`] for one element or for a group.
pub(super) struct GroupMap2<R, E>(PhantomData<(R, E)>);

impl<E: Copy + 'static, R: BinaryFn<E>> Body for GroupMap2<R, E> {
    type Args = MapArgs;

    #[inline(always)]
    unsafe fn run(m: &MapArgs) {
        let [a, b, _] = m.args;
        // SAFETY: by the contract of `MapArgs`, there is one element or a group.
        unsafe {
            match m.n {
                GROUP => apply_binary::<E, R, GROUP>(&*a.cast(), &*b.cast(), &mut *m.out.cast(), GROUP),
                _ => apply_binary::<E, R, 1>(&*a.cast(), &*b.cast(), &mut *m.out.cast(), 1),
            }
        }
    }
}
