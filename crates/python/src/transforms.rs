//! Fourier transforms: one call of the face becomes a call for each group of axes that are neighbors in memory.

use cuprous_core::layout::checked_size;
use cuprous_core::routine::{FFT_RANK, FftKind, FftScale};
use cuprous_core::{DType, Dims, RoutineOp};
use cuprous_plan::elementwise;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::array::PyArray;
use crate::devices;
use crate::errors::OrRaise;
use crate::functions::whole;
use crate::operand::finish;

#[pyfunction]
pub(crate) fn fft(py: Python<'_>, a: &PyArray, kind: &str, axes: Vec<i64>, n: i64, divisor: &str) -> PyResult<PyArray> {
    let kind = match kind {
        "forward" => FftKind::Forward,
        "backward" => FftKind::Backward,
        "real" => FftKind::Real,
        "whole" => FftKind::Whole,
        "half" => FftKind::Half,
        _ => return Err(PyValueError::new_err(format!("no Fourier transform is called {kind:?}"))),
    };
    let scale = match divisor {
        "one" => FftScale::One,
        "root" => FftScale::Root,
        "points" => FftScale::Points,
        _ => {
            return Err(PyValueError::new_err(format!(
                "a transform is divided by \"one\", \"root\" or \"points\", not {divisor:?}"
            )));
        }
    };
    let dtype = match (kind, a.0.dtype()) {
        (FftKind::Real | FftKind::Whole, DType::F32) => DType::C64,
        (FftKind::Real | FftKind::Whole, DType::F64) => DType::C128,
        (FftKind::Half, d @ (DType::C64 | DType::C128)) => d.component(),
        (FftKind::Forward | FftKind::Backward, d @ (DType::C64 | DType::C128)) => d,
        (_, d) => return Err(PyTypeError::new_err(format!("[fft] {kind:?} of {}", d.name()))),
    };
    let ndim = a.0.layout.ndim();
    let mut seen = vec![false; ndim];
    let axes = axes.iter().map(|&axis| crate::index::axis(axis, ndim, &mut seen)).collect::<PyResult<Vec<usize>>>()?;
    let Some(&last) = axes.last() else { return Err(PyValueError::new_err("[fft] at least one axis is needed")) };
    let (reads, writes) = match kind {
        FftKind::Forward | FftKind::Backward | FftKind::Whole => (n, n),
        FftKind::Real => (n, n / 2 + 1),
        FftKind::Half => (n / 2 + 1, n),
    };
    if n < 1 || a.0.shape()[last] != reads || axes.iter().any(|&axis| a.0.shape()[axis] < 1) {
        return Err(PyValueError::new_err(format!("[fft] {} elements for {n} points", a.0.shape()[last])));
    }
    let engine = devices::of(&a.0);
    // Lines are transformed as they lie in memory, and so does the result; what lies apart is brought together first.
    let order = elementwise::axis_order(&a.0).unwrap_or_else(|| (0..ndim).collect());
    let back = elementwise::inverse_permutation(&order);
    let mut lines = PyArray::own(a.0.view(a.0.layout.permute(&order)));
    if !lines.0.layout.is_c_contiguous() {
        lines = finish(py, engine, engine.cast(&lines.0, lines.0.dtype()))?;
    }
    let last = back[last];
    let mut places: Vec<usize> = axes.iter().map(|&axis| back[axis]).collect();
    places.sort_unstable();
    for (kind, axis, rank) in fft_calls(kind, last, &places) {
        let mut shape: Dims = lines.0.shape().into();
        if axis == last {
            shape[axis] = writes;
        }
        let dtype = match kind {
            FftKind::Real | FftKind::Whole | FftKind::Half => dtype,
            FftKind::Forward | FftKind::Backward => lines.0.dtype(),
        };
        checked_size(dtype, &shape).or_raise()?;
        let op = RoutineOp::Fft { kind, axis: axis as u8, rank: rank as u8, scale };
        lines = whole(py, op, &[&lines], dtype, &shape)?;
    }
    Ok(PyArray::own(lines.0.view(lines.0.layout.permute(&back))))
}

/// A transform along axes as calls, each with its last axis and how many: neighbors go together. What reads or makes
/// half a spectrum goes along `last`, first or last of all.
fn fft_calls(kind: FftKind, last: usize, places: &[usize]) -> Vec<(FftKind, usize, usize)> {
    let others = match kind {
        FftKind::Real | FftKind::Whole => FftKind::Forward,
        FftKind::Half => FftKind::Backward,
        kind => kind,
    };
    let mut calls: Vec<(FftKind, usize, usize)> = Vec::new();
    for &place in places.iter().rev() {
        match calls.last_mut() {
            // The half goes together with those before it only.
            Some((_, axis, rank))
                if *axis == place + *rank && *rank < FFT_RANK && (place != last || others == kind) =>
            {
                *rank += 1;
            }
            _ => calls.push((if place == last { kind } else { others }, place, 1)),
        }
    }
    match calls.iter().position(|call| call.0 == kind && call.0 != others) {
        Some(at) if kind == FftKind::Half => calls[at..].rotate_left(1),
        Some(at) => calls[..=at].rotate_right(1),
        None => {}
    }
    calls
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbors_go_together_and_halves_come_first_or_last() {
        use FftKind::{Backward, Forward, Half, Real};
        assert_eq!(fft_calls(Forward, 1, &[0, 1]), [(Forward, 1, 2)]);
        assert_eq!(fft_calls(Forward, 0, &[0, 2, 3]), [(Forward, 3, 2), (Forward, 0, 1)]);
        assert_eq!(fft_calls(Forward, 3, &[0, 1, 2, 3]), [(Forward, 3, 3), (Forward, 0, 1)]);
        assert_eq!(fft_calls(Real, 2, &[0, 1, 2]), [(Real, 2, 3)]);
        assert_eq!(fft_calls(Real, 1, &[0, 1, 2]), [(Real, 1, 2), (Forward, 2, 1)]);
        assert_eq!(fft_calls(Real, 0, &[0, 2]), [(Real, 0, 1), (Forward, 2, 1)]);
        assert_eq!(fft_calls(Half, 1, &[0, 1, 3]), [(Backward, 3, 1), (Half, 1, 2)]);
        assert_eq!(fft_calls(Half, 2, &[0, 2]), [(Backward, 0, 1), (Half, 2, 1)]);
    }
}
