//! cuSPARSE: products of matrices of compressed rows with vectors and row-major matrices.

mod product;
#[cfg(test)]
mod tests;

use std::ffi::{c_char, c_void};

use cuprous_cuda_sys::cusparse::{
    cudaDataType_t, cudaStream_t, cusparseConstDnMatDescr_t, cusparseConstDnVecDescr_t, cusparseConstSpMatDescr_t,
    cusparseDnMatDescr_t, cusparseDnVecDescr_t, cusparseHandle_t, cusparseIndexBase_t, cusparseIndexType_t,
    cusparseOperation_t as Operation, cusparseOrder_t, cusparseSpMMAlg_t, cusparseSpMVAlg_t,
    cusparseStatus_t as SpStatus,
};

use super::number::{Type, with_element};
use super::{Status, address, ensure, extent, objects, status, write};
use product::{Dense, Product, Sparse};

type Result<T = ()> = std::result::Result<T, SpStatus>;

const INVALID: SpStatus = SpStatus::INVALID;
const UNSUPPORTED: SpStatus = SpStatus::UNSUPPORTED;

#[derive(Clone)]
struct Handle {
    stream: usize,
}

/// A vector as a matrix of one column.
#[derive(Clone, Copy)]
struct Vector(Dense);

/// Returns the element type, if it is supported.
fn element(data_type: cudaDataType_t) -> Result<Type> {
    Type::of(data_type.0).filter(|&element| !matches!(element, Type::F16 | Type::Bf16)).ok_or(UNSUPPORTED)
}

fn vector(size: i64, values: *const c_void, data_type: cudaDataType_t) -> Result<Vector> {
    let element = element(data_type)?;
    let at = if size == 0 { 0 } else { address(values, element.size())? };
    Ok(Vector(Dense { element, rows: extent(size)?, columns: 1, leading: 1, at }))
}

fn matrix(
    [rows, columns, leading]: [i64; 3],
    values: *const c_void,
    data_type: cudaDataType_t,
    order: cusparseOrder_t,
) -> Result<Dense> {
    let element = element(data_type)?;
    ensure(order == cusparseOrder_t::CUSPARSE_ORDER_ROW, UNSUPPORTED)?;
    ensure(leading >= columns, INVALID)?;
    let at = if rows == 0 || columns == 0 { 0 } else { address(values, element.size())? };
    Ok(Dense { element, rows: extent(rows)?, columns: extent(columns)?, leading: extent(leading)?, at })
}

/// Returns a descriptor's value.
fn get<T: Clone + 'static, D>(descriptor: *const D) -> Result<T> {
    objects::get(descriptor.addr()).ok_or(INVALID)
}

/// Creates a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cusparseCreate(handle: *mut cusparseHandle_t) -> SpStatus {
    // SAFETY: by the caller's contract.
    status(|| unsafe { write(handle, objects::create(Handle { stream: 0 }) as cusparseHandle_t) })
}

/// Destroys a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cusparseDestroy(handle: cusparseHandle_t) -> SpStatus {
    status(|| objects::destroy::<Handle>(handle.addr()).ok_or(INVALID))
}

/// Returns the text of a status.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cusparseGetErrorString(status: SpStatus) -> *const c_char {
    match status {
        SpStatus::CUSPARSE_STATUS_SUCCESS => c"success",
        SpStatus::CUSPARSE_STATUS_INVALID_VALUE => c"invalid value",
        SpStatus::CUSPARSE_STATUS_NOT_SUPPORTED => c"operation not supported",
        SpStatus::CUSPARSE_STATUS_EXECUTION_FAILED => c"execution failed",
        SpStatus::CUSPARSE_STATUS_INTERNAL_ERROR => c"internal error",
        _ => c"unknown error",
    }
    .as_ptr()
}

/// Sets the stream of later calls.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cusparseSetStream(handle: cusparseHandle_t, stream: cudaStream_t) -> SpStatus {
    status(|| objects::update(handle.addr(), |h: &mut Handle| h.stream = stream.addr()).ok_or(INVALID))
}

/// Describes a vector.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cusparseCreateDnVec(
    descriptor: *mut cusparseDnVecDescr_t,
    size: i64,
    values: *mut c_void,
    data_type: cudaDataType_t,
) -> SpStatus {
    // SAFETY: by the caller's contract.
    status(|| unsafe { write(descriptor, objects::create(vector(size, values, data_type)?) as cusparseDnVecDescr_t) })
}

/// Describes a vector that is not written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cusparseCreateConstDnVec(
    descriptor: *mut cusparseConstDnVecDescr_t,
    size: i64,
    values: *const c_void,
    data_type: cudaDataType_t,
) -> SpStatus {
    // SAFETY: by the caller's contract.
    status(|| unsafe {
        write(descriptor, objects::create(vector(size, values, data_type)?) as cusparseConstDnVecDescr_t)
    })
}

/// Destroys the description of a vector.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cusparseDestroyDnVec(descriptor: cusparseConstDnVecDescr_t) -> SpStatus {
    status(|| objects::destroy::<Vector>(descriptor.addr()).ok_or(INVALID))
}

/// Destroys the description of a sparse matrix.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cusparseDestroySpMat(descriptor: cusparseConstSpMatDescr_t) -> SpStatus {
    status(|| objects::destroy::<Sparse>(descriptor.addr()).ok_or(INVALID))
}

/// Describes a matrix of compressed rows, with indices from 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cusparseCreateConstCsr(
    descriptor: *mut cusparseConstSpMatDescr_t,
    rows: i64,
    columns: i64,
    count: i64,
    starts: *const c_void,
    indices: *const c_void,
    values: *const c_void,
    starts_type: cusparseIndexType_t,
    index_type: cusparseIndexType_t,
    base: cusparseIndexBase_t,
    data_type: cudaDataType_t,
) -> SpStatus {
    status(|| {
        let element = element(data_type)?;
        let wide_index = match index_type {
            cusparseIndexType_t::CUSPARSE_INDEX_32I => false,
            cusparseIndexType_t::CUSPARSE_INDEX_64I => true,
            _ => return Err(UNSUPPORTED),
        };
        ensure(starts_type == index_type && base == cusparseIndexBase_t::CUSPARSE_INDEX_BASE_ZERO, UNSUPPORTED)?;
        let (rows, columns, count) = (extent(rows)?, extent(columns)?, extent(count)?);
        let index_bytes = if wide_index { 8 } else { 4 };
        let at = |pointer: *const c_void, bytes: usize| if count == 0 { Ok(0) } else { address(pointer, bytes) };
        let (indices, values) = (at(indices, index_bytes)?, at(values, element.size())?);
        let starts = address(starts, index_bytes)?;
        let sparse = Sparse { element, rows, columns, count, starts, indices, values, wide_index };
        // SAFETY: by the caller's contract.
        unsafe { write(descriptor, objects::create(sparse) as cusparseConstSpMatDescr_t) }
    })
}

/// Describes a row-major matrix.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cusparseCreateDnMat(
    descriptor: *mut cusparseDnMatDescr_t,
    rows: i64,
    columns: i64,
    leading: i64,
    values: *mut c_void,
    data_type: cudaDataType_t,
    order: cusparseOrder_t,
) -> SpStatus {
    status(|| {
        let dense = matrix([rows, columns, leading], values, data_type, order)?;
        // SAFETY: by the caller's contract.
        unsafe { write(descriptor, objects::create(dense) as cusparseDnMatDescr_t) }
    })
}

/// Describes a row-major matrix that is not written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cusparseCreateConstDnMat(
    descriptor: *mut cusparseConstDnMatDescr_t,
    rows: i64,
    columns: i64,
    leading: i64,
    values: *const c_void,
    data_type: cudaDataType_t,
    order: cusparseOrder_t,
) -> SpStatus {
    status(|| {
        let dense = matrix([rows, columns, leading], values, data_type, order)?;
        // SAFETY: by the caller's contract.
        unsafe { write(descriptor, objects::create(dense) as cusparseConstDnMatDescr_t) }
    })
}

/// Destroys the description of a dense matrix.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cusparseDestroyDnMat(descriptor: cusparseConstDnMatDescr_t) -> SpStatus {
    status(|| objects::destroy::<Dense>(descriptor.addr()).ok_or(INVALID))
}

/// Checks a product with a vector.
fn with_vector(
    op: Operation,
    a: cusparseConstSpMatDescr_t,
    x: cusparseConstDnVecDescr_t,
    y: cusparseDnVecDescr_t,
    compute: cudaDataType_t,
    algorithm: cusparseSpMVAlg_t,
) -> Result<Product> {
    let (Vector(x), Vector(y)) = (get(x)?, get(y.cast_const())?);
    ensure(algorithm == cusparseSpMVAlg_t::CUSPARSE_SPMV_ALG_DEFAULT, UNSUPPORTED)?;
    Product::new(get(a)?, x, y, op, compute)
}

/// Checks a product with a matrix.
fn with_matrix(
    [op, op_x]: [Operation; 2],
    a: cusparseConstSpMatDescr_t,
    x: cusparseConstDnMatDescr_t,
    y: cusparseDnMatDescr_t,
    compute: cudaDataType_t,
    algorithm: cusparseSpMMAlg_t,
) -> Result<Product> {
    let plain = Operation::CUSPARSE_OPERATION_NON_TRANSPOSE;
    let for_rows = algorithm == cusparseSpMMAlg_t::CUSPARSE_SPMM_CSR_ALG2 && op == plain;
    ensure(op_x == plain && (for_rows || algorithm == cusparseSpMMAlg_t::CUSPARSE_SPMM_ALG_DEFAULT), UNSUPPORTED)?;
    Product::new(get(a)?, get(x)?, get(y.cast_const())?, op, compute)
}

/// Returns the workspace of a product with a vector.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cusparseSpMV_bufferSize(
    handle: cusparseHandle_t,
    op: Operation,
    _alpha: *const c_void,
    a: cusparseConstSpMatDescr_t,
    x: cusparseConstDnVecDescr_t,
    _beta: *const c_void,
    y: cusparseDnVecDescr_t,
    compute: cudaDataType_t,
    algorithm: cusparseSpMVAlg_t,
    bytes: *mut usize,
) -> SpStatus {
    status(|| {
        get::<Handle, _>(handle)?;
        // SAFETY: by the caller's contract.
        unsafe { write(bytes, with_vector(op, a, x, y, compute, algorithm)?.workspace()) }
    })
}

/// Submits y = alpha · op(a) · x + beta · y.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cusparseSpMV(
    handle: cusparseHandle_t,
    op: Operation,
    alpha: *const c_void,
    a: cusparseConstSpMatDescr_t,
    x: cusparseConstDnVecDescr_t,
    beta: *const c_void,
    y: cusparseDnVecDescr_t,
    compute: cudaDataType_t,
    algorithm: cusparseSpMVAlg_t,
    buffer: *mut c_void,
) -> SpStatus {
    status(|| {
        let Handle { stream } = get(handle)?;
        // SAFETY: by the caller's contract.
        unsafe { with_vector(op, a, x, y, compute, algorithm)?.submit(stream, [alpha, beta], buffer) }
    })
}

/// Returns the workspace of a product with a matrix.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cusparseSpMM_bufferSize(
    handle: cusparseHandle_t,
    op: Operation,
    op_x: Operation,
    _alpha: *const c_void,
    a: cusparseConstSpMatDescr_t,
    x: cusparseConstDnMatDescr_t,
    _beta: *const c_void,
    y: cusparseDnMatDescr_t,
    compute: cudaDataType_t,
    algorithm: cusparseSpMMAlg_t,
    bytes: *mut usize,
) -> SpStatus {
    status(|| {
        get::<Handle, _>(handle)?;
        // SAFETY: by the caller's contract.
        unsafe { write(bytes, with_matrix([op, op_x], a, x, y, compute, algorithm)?.workspace()) }
    })
}

/// Submits y = alpha · op(a) · x + beta · y for matrices x and y.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cusparseSpMM(
    handle: cusparseHandle_t,
    op: Operation,
    op_x: Operation,
    alpha: *const c_void,
    a: cusparseConstSpMatDescr_t,
    x: cusparseConstDnMatDescr_t,
    beta: *const c_void,
    y: cusparseDnMatDescr_t,
    compute: cudaDataType_t,
    algorithm: cusparseSpMMAlg_t,
    buffer: *mut c_void,
) -> SpStatus {
    status(|| {
        let Handle { stream } = get(handle)?;
        // SAFETY: by the caller's contract.
        unsafe { with_matrix([op, op_x], a, x, y, compute, algorithm)?.submit(stream, [alpha, beta], buffer) }
    })
}
