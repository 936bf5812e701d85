//! How arguments of a kernel lie in memory. Devices agree on it, so that a launch writes them once.
//!
//! A number is its bytes. An array is its address, then its extents, then, unless its order is C, its strides in bytes;
//! an array without axes has one of each. A tuple is its items, as C++ lays out a struct: one without items takes a byte, and
//! so does `None` in a tuple; by itself it is nothing.

use crate::types::{ArrayTy, Order, Ty};

/// Words of 8 bytes that an array takes.
pub fn array_words(array: &ArrayTy) -> usize {
    let axes = (array.ndim as usize).max(1);
    1 + axes * if array.order == Order::C { 1 } else { 2 }
}

/// Size and alignment in a tuple.
pub fn size_align(ty: &Ty) -> (usize, usize) {
    match ty {
        Ty::Scalar(d) => (d.size(), d.size()),
        Ty::Array(a) => (8 * array_words(a), 8),
        Ty::Tuple(items, _) => {
            let (mut size, mut align) = (0usize, 1);
            for item in items {
                let (s, a) = size_align(item);
                size = size.next_multiple_of(a) + s;
                align = align.max(a);
            }
            (size.next_multiple_of(align).max(1), align)
        }
        Ty::None => (1, 1),
        Ty::Unknown | Ty::Record(_) => (0, 1),
    }
}

/// Where each argument starts in a block of memory aligned to 16, and the block's size.
pub fn offsets(types: &[Ty]) -> (Vec<usize>, usize) {
    let mut at = 0usize;
    let mut starts = Vec::new();
    for ty in types {
        let (size, align) = size_align(ty);
        at = at.next_multiple_of(align.max(8));
        starts.push(at);
        at += if *ty == Ty::None { 0 } else { size };
    }
    (starts, at.next_multiple_of(16))
}

#[cfg(test)]
mod tests {
    use super::*;
    use cuprous_core::DType;

    #[test]
    fn arguments_lie_as_c_lays_them_out() {
        let array = |order| Ty::Array(ArrayTy::new(DType::F32, 2, order));
        let types = [array(Order::C), Ty::Scalar(DType::F32), Ty::None, Ty::Scalar(DType::C128), array(Order::A)];
        assert_eq!(offsets(&types), (vec![0, 24, 32, 32, 48], 96));
        let pair = Ty::Tuple(vec![Ty::Scalar(DType::I8), Ty::Scalar(DType::F64)], None);
        assert_eq!(size_align(&pair), (16, 8));
        let long = Ty::Scalar(DType::I64);
        let hollow = Ty::Tuple(vec![Ty::Tuple(vec![], None), long.clone(), Ty::None, long], None);
        assert_eq!(size_align(&hollow), (32, 8));
    }
}
