//! Fast path for launches whose arguments have the same classes as in the previous launch: Python floats and integers,
//! and arrays of the same layout. A table of the overload holds the expected argument kinds and their offsets. Any
//! other launch takes the general path.

use cuprous_core::{Array, DType};
use cuprous_kernel::{Order, Ty};
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyInt, PyTuple};
use smallvec::SmallVec;

use super::args::{ArgumentBlock, key_of_array, layout_order};
use crate::array::PyArray;

/// The expected kind of an argument, and the offset of its bytes.
enum Expected {
    Float(usize),
    Int(usize),
    Array(u32, usize),
}

/// The arguments that an overload expects.
pub(super) struct FastPath(Vec<Expected>);

/// The packed arguments, and the arrays among them.
pub(super) type PackedLaunch<'a> = (ArgumentBlock, SmallVec<[&'a Array; 16]>);

impl FastPath {
    /// Returns the table for parameters of these types if all are Python numbers or arrays of numbers.
    pub(super) fn of(types: &[Ty], starts: &[usize]) -> Option<FastPath> {
        let expected = |(ty, &at): (&Ty, &usize)| match ty {
            Ty::Scalar(DType::F64) => Some(Expected::Float(at)),
            Ty::Scalar(DType::I64) => Some(Expected::Int(at)),
            Ty::Array(a) if a.mutable && a.order != Order::A => {
                Some(Expected::Array(key_of_array(a.dtype()?, a.ndim as usize, a.order), at))
            }
            _ => None,
        };
        types.iter().zip(starts).map(expected).collect::<Option<Vec<_>>>().map(FastPath)
    }

    /// Packs the arguments of a launch on the device of that number if they are as expected.
    pub(super) fn pack<'a>(&self, args: &'a Bound<'_, PyTuple>, bytes: usize, device: u8) -> Option<PackedLaunch<'a>> {
        if args.len() != self.0.len() {
            return None;
        }
        let mut packed = ArgumentBlock::new(bytes);
        let mut arrays: SmallVec<[&'a Array; 16]> = SmallVec::new();
        for (object, expected) in args.iter_borrowed().zip(&self.0) {
            match *expected {
                Expected::Float(at) => packed.put(at, &object.cast_exact::<PyFloat>().ok()?.value().to_ne_bytes()),
                Expected::Int(at) => {
                    let number = object.cast_exact::<PyInt>().ok()?;
                    packed.word(at, number.extract().ok()?);
                }
                Expected::Array(key, at) => {
                    let array: &'a Array = &object.cast_exact::<PyArray>().ok()?.get().array;
                    let layout = &array.layout;
                    let same = key_of_array(layout.dtype, layout.ndim(), layout_order(layout)) == key;
                    if !same || array.storage.device != device {
                        return None;
                    }
                    packed.array(at, layout);
                    arrays.push(array);
                }
            }
        }
        Some((packed, arrays))
    }
}
