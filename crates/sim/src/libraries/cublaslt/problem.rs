//! Checks what the descriptors of a product ask for.

use cuprous_cuda_sys::cublaslt::{
    cublasComputeType_t as Compute, cublasLtEpilogue_t as LtEpilogue, cublasOperation_t as Operation,
};

use super::product::{Activation, Matrix, Problem};
use super::{Desc, INVALID, Layout, Result, Type, UNSUPPORTED, ensure};

/// Returns the elements of operands and result, and the product without its factors and addresses.
pub(super) fn problem(desc: &Desc, [a, b, c, d]: [&Layout; 4]) -> Result<(Type, Type, Problem)> {
    let (element, out) = (a.element.ok_or(UNSUPPORTED)?, d.element.ok_or(UNSUPPORTED)?);
    let half = matches!(element, Type::F16 | Type::Bf16);
    ensure(b.element == a.element && c.element == d.element, UNSUPPORTED)?;
    ensure(out == element || half && out == Type::F32, UNSUPPORTED)?;
    let compute = match element {
        Type::F64 | Type::C128 => desc.compute == Compute::CUBLAS_COMPUTE_64F,
        Type::F32 | Type::C64 if desc.compute == Compute::CUBLAS_COMPUTE_32F_FAST_TF32 => true,
        _ => desc.compute == Compute::CUBLAS_COMPUTE_32F,
    };
    let scale = if half { Type::F32 } else { element };
    ensure(compute && Type::of(desc.scale.0) == Some(scale), UNSUPPORTED)?;

    let matrix = |layout: &Layout, operation: i32| -> Result<Matrix> {
        let Layout { rows, columns, leading, batch_stride, .. } = *layout;
        ensure(rows > 0 && columns > 0 && leading >= rows as i64, INVALID)?;
        let operation = Operation(operation as u32);
        let transposed = match operation {
            Operation::CUBLAS_OP_N => false,
            Operation::CUBLAS_OP_T => true,
            Operation::CUBLAS_OP_C if element == element.real() => true,
            _ => return Err(UNSUPPORTED),
        };
        let (rows, columns, leading) = (rows as usize, columns as usize, leading as usize);
        Ok(match transposed {
            false => Matrix { rows, columns, row_step: 1, column_step: leading, batch_stride },
            true => Matrix { rows: columns, columns: rows, row_step: leading, column_step: 1, batch_stride },
        })
    };
    let (first, second) = (matrix(a, desc.transposes[0])?, matrix(b, desc.transposes[1])?);
    let (addend, result) = (matrix(c, 0)?, matrix(d, 0)?);
    let extents = |m: &Matrix| (m.rows, m.columns);
    ensure(first.columns == second.rows && extents(&result) == (first.rows, second.columns), INVALID)?;
    ensure(extents(&addend) == extents(&result), INVALID)?;
    ensure(d.batch > 0 && [a, b, c].iter().all(|layout| layout.batch == d.batch), INVALID)?;
    ensure(d.batch == 1 || d.batch_stride.unsigned_abs() >= d.rows, INVALID)?;

    let (activation, bias) = match LtEpilogue(desc.epilogue) {
        LtEpilogue::CUBLASLT_EPILOGUE_DEFAULT => (Activation::None, false),
        LtEpilogue::CUBLASLT_EPILOGUE_BIAS => (Activation::None, true),
        LtEpilogue::CUBLASLT_EPILOGUE_RELU => (Activation::Relu, false),
        LtEpilogue::CUBLASLT_EPILOGUE_RELU_BIAS => (Activation::Relu, true),
        LtEpilogue::CUBLASLT_EPILOGUE_GELU => (Activation::Gelu, false),
        LtEpilogue::CUBLASLT_EPILOGUE_GELU_BIAS => (Activation::Gelu, true),
        _ => return Err(UNSUPPORTED),
    };
    let plain = activation == Activation::None && !bias;
    ensure(plain || half || element == Type::F32, UNSUPPORTED)?;
    Ok((element, out, Problem { first, second, addend, result, batch: d.batch as usize, activation, bias }))
}
