//! Registers and memory of the language's values. A number is one register and a complex number two. An array is its
//! address, its extents and, unless its order is C, its strides in bytes. A tuple is its items.

use cranelift_codegen::ir::{Type, Value, types};
use cuprous_core::DType;
use cuprous_kernel::ir::LocalArray;
use cuprous_kernel::types::{ArrayTy, Order, Ty};
use smallvec::SmallVec;

/// The registers of a value.
pub(super) type Values = SmallVec<[Value; 4]>;

/// Returns the register type of a number. A complex number has two registers of its component's type.
pub(super) fn register(d: DType) -> Type {
    match d {
        DType::Bool | DType::I8 | DType::U8 => types::I8,
        DType::I16 | DType::U16 | DType::F16 | DType::BF16 => types::I16,
        DType::I32 | DType::U32 => types::I32,
        DType::I64 | DType::U64 => types::I64,
        DType::F32 | DType::C64 => types::F32,
        DType::F64 | DType::C128 => types::F64,
    }
}

/// Returns the types of a value's registers.
pub(super) fn parts(ty: &Ty) -> SmallVec<[Type; 4]> {
    let mut all = SmallVec::new();
    collect(ty, &mut all);
    all
}

fn collect(ty: &Ty, into: &mut SmallVec<[Type; 4]>) {
    match ty {
        Ty::Scalar(d) => {
            into.push(register(*d));
            if d.is_complex() {
                into.push(register(*d));
            }
        }
        Ty::Array(a) => into.extend(std::iter::repeat_n(types::I64, cuprous_kernel::abi::array_words(a))),
        Ty::Tuple(items, _) => items.iter().for_each(|item| collect(item, into)),
        // A record is only an element of an array, never a value.
        Ty::None | Ty::Unknown | Ty::Record(_) => {}
    }
}

/// Returns the index of the first register of a tuple's item.
pub(super) fn item_start(items: &[Ty], k: usize) -> usize {
    items[..k].iter().map(|ty| parts(ty).len()).sum()
}

/// The registers of an array by name.
pub(super) struct ArrayParts<'v> {
    pub(super) shape: &'v [Value],
    /// Empty for order C.
    pub(super) strides: &'v [Value],
}

pub(super) fn array_parts<'v>(ty: &ArrayTy, values: &'v [Value]) -> ArrayParts<'v> {
    let axes = (ty.ndim as usize).max(1);
    let strides = if ty.order == Order::C { &[][..] } else { &values[1 + axes..] };
    ArrayParts { shape: &values[1..1 + axes], strides }
}

/// Returns the bytes of an array declared in a kernel, including padding for the next one.
pub(super) fn array_bytes(array: &LocalArray) -> usize {
    let count: i64 = array.shape.iter().product();
    (count.max(1) as usize * array.elem.item_size()).next_multiple_of(128.max(array.align as usize))
}
