//! Fourier transforms: a transform along several axes becomes one routine for each group of axes that are neighbors in
//! memory.

use cuprous_core::layout::checked_size;
use cuprous_core::routine::{FFT_RANK, FftKind, FftScale};
use cuprous_core::{DType, Dims, RoutineOp};
use cuprous_plan::elementwise;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::array::{PyArray, finish};
use crate::errors::OrRaise;
use crate::functions::record_routine;
use crate::{devices, index};

#[pyfunction]
pub(crate) fn fft(py: Python<'_>, a: &PyArray, kind: &str, axes: Vec<i64>, n: i64, divisor: &str) -> PyResult<PyArray> {
    let kind = match kind {
        "forward" => FftKind::Forward,
        "backward" => FftKind::Backward,
        "real" => FftKind::Real,
        "whole" => FftKind::Whole,
        "half" => FftKind::Half,
        _ => return Err(PyValueError::new_err(format!("unknown Fourier transform {kind:?}"))),
    };
    let scale = match divisor {
        "one" => FftScale::One,
        "root" => FftScale::Root,
        "points" => FftScale::Points,
        _ => {
            return Err(PyValueError::new_err(format!(
                "the divisor of a transform must be \"one\", \"root\" or \"points\", not {divisor:?}"
            )));
        }
    };
    let dtype = match (kind, a.array.dtype()) {
        (FftKind::Real | FftKind::Whole, DType::F32) => DType::C64,
        (FftKind::Real | FftKind::Whole, DType::F64) => DType::C128,
        (FftKind::Half, d @ (DType::C64 | DType::C128)) => d.component(),
        (FftKind::Forward | FftKind::Backward, d @ (DType::C64 | DType::C128)) => d,
        (_, d) => {
            return Err(PyTypeError::new_err(format!("[fft] a {kind:?} transform of {} is not supported", d.name())));
        }
    };
    let ndim = a.array.layout.ndim();
    let axes = axes.iter().map(|&axis| index::axis(axis, ndim));
    let (axes, _) = index::distinct_axes(axes, |_| PyValueError::new_err("repeated axis"))?;
    let Some(&last) = axes.last() else { return Err(PyValueError::new_err("[fft] at least one axis is needed")) };
    let (reads, writes) = match kind {
        FftKind::Forward | FftKind::Backward | FftKind::Whole => (n, n),
        FftKind::Real => (n, n / 2 + 1),
        FftKind::Half => (n / 2 + 1, n),
    };
    if n < 1 || a.array.shape()[last] != reads || axes.iter().any(|&axis| a.array.shape()[axis] < 1) {
        return Err(PyValueError::new_err(format!("[fft] {} elements for {n} points", a.array.shape()[last])));
    }
    let engine = devices::of(&a.array);
    // Axes are transformed in memory order, and the result has the same order. An array with gaps is copied first.
    let order = elementwise::axis_order(&a.array).unwrap_or_else(|| (0..ndim).collect());
    let back = elementwise::inverse_permutation(&order);
    let mut lines = PyArray::own(a.array.view(a.array.layout.permute(&order)));
    if !lines.array.layout.is_c_contiguous() {
        lines = finish(py, engine, engine.cast(&lines.array, lines.array.dtype()))?;
    }
    let last = back[last];
    let mut sorted_axes: Vec<usize> = axes.iter().map(|&axis| back[axis]).collect();
    sorted_axes.sort_unstable();
    for (kind, axis, rank) in split_into_routines(kind, last, &sorted_axes) {
        let mut shape: Dims = lines.array.shape().into();
        if axis == last {
            shape[axis] = writes;
        }
        let dtype = match kind {
            FftKind::Real | FftKind::Whole | FftKind::Half => dtype,
            FftKind::Forward | FftKind::Backward => lines.array.dtype(),
        };
        checked_size(dtype, &shape).or_raise()?;
        let op = RoutineOp::Fft { kind, axis: axis as u8, rank: rank as u8, scale };
        lines = record_routine(py, op, &[&lines], dtype, &shape)?;
    }
    Ok(PyArray::own(lines.array.view(lines.array.layout.permute(&back))))
}

/// Splits a transform along axes into routines, each with its last axis and its rank. Neighboring axes are transformed
/// together. The axis `last`, along which half a spectrum is read or written, comes first or last.
fn split_into_routines(kind: FftKind, last: usize, sorted_axes: &[usize]) -> Vec<(FftKind, usize, usize)> {
    let others = match kind {
        FftKind::Real | FftKind::Whole => FftKind::Forward,
        FftKind::Half => FftKind::Backward,
        kind => kind,
    };
    let mut routines: Vec<(FftKind, usize, usize)> = Vec::new();
    for &axis_position in sorted_axes.iter().rev() {
        match routines.last_mut() {
            // The half-spectrum axis can only be grouped with the axes before it.
            Some((_, axis, rank))
                if *axis == axis_position + *rank && *rank < FFT_RANK && (axis_position != last || others == kind) =>
            {
                *rank += 1;
            }
            _ => routines.push((if axis_position == last { kind } else { others }, axis_position, 1)),
        }
    }
    match routines.iter().position(|call| call.0 == kind && call.0 != others) {
        Some(at) if kind == FftKind::Half => routines[at..].rotate_left(1),
        Some(at) => routines[..=at].rotate_right(1),
        None => {}
    }
    routines
}
