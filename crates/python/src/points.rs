//! Keys with an index array for each axis, such as `a[rows, columns]`, for few indices on the CPU, where recording the
//! arithmetic of indices takes longer than doing it. The Python API handles the other keys with index arrays.

use cuprous_core::{Array, DType};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use smallvec::SmallVec;

use crate::array::PyArray;
use crate::errors::OrRaise;
use crate::{devices, interrupt};

/// The most indices.
const FEW: i64 = 1 << 12;

/// Returns true if the index arrays are on a device, of one shape, and contiguous.
fn are_simple(items: &[Bound<'_, PyArray>], device: u8) -> bool {
    let first = &items[0].get().array.layout;
    (1..=FEW).contains(&first.size)
        && first.ndim() >= 1
        && items.iter().all(|item| {
            let Array { layout, storage } = &item.get().array;
            layout.dtype == DType::I64
                && layout.shape == first.shape
                && layout.is_c_contiguous()
                && storage.device == device
        })
}

/// Returns the offset of each selected element from the array's first one, as an array of the index arrays' shape.
/// `None` for other keys.
pub(crate) fn offsets<'py>(py: Python<'py>, array: &Array, key: &Bound<'py, PyAny>) -> PyResult<Option<Array>> {
    let engine = devices::of(array);
    let layout = &array.layout;
    if engine.name() != "cpu" || layout.size == 0 {
        return Ok(None);
    }
    let mut items: SmallVec<[Bound<'py, PyArray>; 4]> = SmallVec::new();
    let mut add = |item: &Bound<'py, PyAny>| item.cast_exact::<PyArray>().map(|item| items.push(item.clone())).is_ok();
    let arrays = match key.cast_exact::<PyTuple>() {
        Ok(tuple) => tuple.iter().all(|item| add(&item)),
        Err(_) => add(key),
    };
    if !arrays || items.is_empty() || items.len() != layout.ndim() || !are_simple(&items, array.storage.device) {
        return Ok(None);
    }
    let count = items[0].get().array.layout.size as usize;
    let mut offsets = vec![0_i64; count];
    let mut bytes = vec![0_u8; count * DType::I64.size()];
    for (axis, item) in items.iter().enumerate() {
        let index = &item.get().array;
        interrupt::run(py, || engine.download(index, &mut bytes))?;
        let indices = || bytes.as_chunks::<8>().0.iter().map(|&i| i64::from_ne_bytes(i));
        let (n, stride) = (layout.shape[axis], layout.strides[axis]);
        let range = indices().fold((i64::MAX, i64::MIN), |(low, high), i| (low.min(i), high.max(i)));
        for i in [range.0, range.1] {
            if !(-n..n).contains(&i) {
                return Err(PyIndexError::new_err(format!("index {i} is out of bounds for axis {axis} with size {n}")));
            }
        }
        for (offset, i) in offsets.iter_mut().zip(indices()) {
            *offset += (if i < 0 { i + n } else { i }) * stride;
        }
    }
    for (to, offset) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(&offsets) {
        *to = offset.to_ne_bytes();
    }
    engine.upload(&bytes, DType::I64, items[0].get().array.shape()).or_raise().map(Some)
}
