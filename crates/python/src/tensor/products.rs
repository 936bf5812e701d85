//! Matrix products by PyTorch's rules for vectors, matrices and batches of matrices.

use cuprous_autograd::{Arg, Tensor, ops};
use cuprous_core::layout::broadcast_shapes;
use cuprous_core::{Dims, Error, Fun, Result};
use pyo3::prelude::*;
use smallvec::SmallVec;

use super::{PyTensor, autocast, finish};

fn shape_mismatch(a: &Tensor, b: &Tensor) -> Error {
    let show = |s: &[i64]| s.iter().map(i64::to_string).collect::<Vec<_>>().join("x");
    Error::runtime(format!("mat1 and mat2 shapes cannot be multiplied ({} and {})", show(a.shape()), show(b.shape())))
}

/// Inserts an axis of extent 1 before axis `at`.
fn unsqueeze(t: &Tensor, at: usize) -> Tensor {
    let own = &t.array.layout;
    let (mut shape, mut strides) = (own.shape.clone(), own.strides.clone());
    shape.insert(at, 1);
    strides.insert(at, 1);
    t.view(own.with(&shape, &strides, own.offset))
}

fn expand_batch(t: &Tensor, batch: &[i64]) -> Result<Tensor> {
    let n = t.shape().len();
    let mut shape: Dims = batch.into();
    shape.extend_from_slice(&t.shape()[n - 2..]);
    if shape.as_slice() == t.shape() { Ok(t.clone()) } else { ops::expand(t, &shape) }
}

/// Computes `a @ b`.
fn matmul(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    if a.dtype() != b.dtype() {
        return Err(Error::runtime(format!(
            "expected m1 and m2 to have the same dtype, but got: {} != {}",
            a.dtype().name(),
            b.dtype().name()
        )));
    }
    let (n, m) = (a.shape().len(), b.shape().len());
    match (n, m) {
        (0, _) | (_, 0) => {
            Err(Error::runtime(format!("both arguments to matmul need to be at least 1D, but they are {n}D and {m}D")))
        }
        (1, 1) if a.shape() != b.shape() => Err(Error::runtime(format!(
            "inconsistent tensor size, expected tensor [{}] and src [{}] to have the same number of elements",
            a.shape()[0],
            b.shape()[0]
        ))),
        (1, _) => {
            if b.shape()[m.max(2) - 2] != a.shape()[0] {
                return Err(shape_mismatch(a, b));
            }
            let b = if m == 1 { unsqueeze(b, 1) } else { b.clone() };
            let product = matmul(&unsqueeze(a, 0), &b)?;
            let mut shape: Dims = product.shape().into();
            shape.remove(shape.len() - 2);
            if m == 1 {
                shape.clear();
            }
            ops::reshape(&product, &shape)
        }
        (_, 1) => {
            if a.shape()[n - 1] != b.shape()[0] {
                return Err(shape_mismatch(a, b));
            }
            let product = matmul(a, &unsqueeze(b, 1))?;
            ops::reshape(&product, &product.shape()[..n - 1])
        }
        _ if a.shape()[n - 1] != b.shape()[m - 2] => Err(shape_mismatch(a, b)),
        (2, 2) => ops::dot(a, b),
        (_, 2) => {
            // A batch of matrices times one matrix is one product with more rows.
            let k = a.shape()[n - 1];
            let rows = a.shape()[..n - 1].iter().product();
            let product = ops::dot(&ops::reshape(a, &[rows, k])?, b)?;
            let mut shape: Dims = a.shape().into();
            shape[n - 1] = b.shape()[1];
            ops::reshape(&product, &shape)
        }
        _ => {
            let batch =
                broadcast_shapes(&a.shape()[..n - 2], &b.shape()[..m - 2]).ok_or_else(|| shape_mismatch(a, b))?;
            ops::dot(&expand_batch(a, &batch)?, &expand_batch(b, &batch)?)
        }
    }
}

/// Computes `a @ b` in the dtype of `autocast`.
#[inline]
pub(super) fn autocast_matmul(mut a: Tensor, mut b: Tensor) -> Result<Tensor> {
    autocast::cast_product([&mut a, &mut b])?;
    matmul(&a, &b)
}

/// Computes the matrix product by PyTorch's rules.
#[pyfunction]
pub(crate) fn t_matmul(py: Python<'_>, a: &PyTensor, b: &PyTensor) -> PyResult<PyTensor> {
    finish(py, autocast_matmul(a.tensor(), b.tensor()))
}

/// Computes `x @ weight.T + bias`.
#[pyfunction]
#[pyo3(signature = (x, weight, bias = None))]
pub(crate) fn t_linear(py: Python<'_>, x: &PyTensor, weight: &PyTensor, bias: Option<&PyTensor>) -> PyResult<PyTensor> {
    let (mut x, mut w, mut bias) = (x.tensor(), weight.tensor(), bias.map(PyTensor::tensor));
    let mut linear = || -> Result<Tensor> {
        autocast::cast_product([&mut x, &mut w].into_iter().chain(&mut bias))?;
        let n = w.shape().len();
        let order: SmallVec<[usize; 2]> = (0..n).rev().collect();
        let product = matmul(&x, &w.view(w.array.layout.permute(&order)))?;
        match &bias {
            Some(b) => ops::map(Fun::Add, &[Arg::Tensor(&product), Arg::Tensor(b)], None),
            None => Ok(product),
        }
    };
    finish(py, linear())
}
