//! The layout of a kernel's arguments in memory, the same on all devices, so that a launch writes them once.
//!
//! A number is its bytes. An array is its address and its extents, followed by its strides in bytes unless its order is
//! C. An array without axes has one extent and one stride. A tuple is laid out as a C++ struct of its items. In a
//! tuple, an empty tuple and `None` take a byte; `None` as an argument takes no memory.

use crate::types::{ArrayTy, Order, Ty};

/// Returns the number of 8-byte words of an array.
pub fn array_words(array: &ArrayTy) -> usize {
    let axes = (array.ndim as usize).max(1);
    1 + axes * if array.order == Order::C { 1 } else { 2 }
}

/// Returns the size and the alignment of a value in a tuple.
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

/// Returns the offset of each argument in a block of memory aligned to 16, and the size of the block.
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
    fn tuples_are_laid_out_as_in_c() {
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
