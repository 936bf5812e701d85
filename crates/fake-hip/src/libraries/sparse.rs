//! hipSPARSE on cuSPARSE.

use std::ffi::{c_char, c_void};

use cuprous_cuda_sys::cusparse::{
    cudaDataType_t, cusparseIndexBase_t, cusparseIndexType_t, cusparseOperation_t, cusparseOrder_t, cusparseSpMMAlg_t,
    cusparseSpMVAlg_t, cusparseStatus_t,
};
use cuprous_hip_sys::hipsparse::{
    HipsparseApi, hipDataType, hipStream_t, hipsparseConstDnMatDescr_t, hipsparseConstDnVecDescr_t,
    hipsparseConstSpMatDescr_t, hipsparseDnMatDescr_t, hipsparseDnVecDescr_t, hipsparseHandle_t, hipsparseIndexBase_t,
    hipsparseIndexType_t, hipsparseOperation_t, hipsparseOrder_t, hipsparseSpMMAlg_t, hipsparseSpMVAlg_t,
    hipsparseStatus_t as Status,
};

use super::{declared, library};

declared!(HipsparseApi: hipsparseCreate hipsparseDestroy hipsparseGetErrorString hipsparseSetStream
    hipsparseCreateConstCsr hipsparseDestroySpMat hipsparseCreateConstDnVec hipsparseCreateDnVec hipsparseDestroyDnVec
    hipsparseCreateConstDnMat hipsparseCreateDnMat hipsparseDestroyDnMat hipsparseSpMV hipsparseSpMV_bufferSize
    hipsparseSpMM hipsparseSpMM_bufferSize);

macro_rules! sparse {
    ($name:ident($($arg:expr),* $(,)?)) => {
        match library!(cusparse, cusparseStatus_t::CUSPARSE_STATUS_NOT_SUPPORTED, $name($($arg),*)) {
            cusparseStatus_t::CUSPARSE_STATUS_SUCCESS => Status::HIPSPARSE_STATUS_SUCCESS,
            cusparseStatus_t::CUSPARSE_STATUS_INVALID_VALUE => Status::HIPSPARSE_STATUS_INVALID_VALUE,
            cusparseStatus_t::CUSPARSE_STATUS_NOT_SUPPORTED => Status::HIPSPARSE_STATUS_NOT_SUPPORTED,
            _ => Status::HIPSPARSE_STATUS_INTERNAL_ERROR,
        }
    };
}

fn data_type(of: hipDataType) -> cudaDataType_t {
    match of {
        hipDataType::HIP_R_32F => cudaDataType_t::CUDA_R_32F,
        hipDataType::HIP_R_64F => cudaDataType_t::CUDA_R_64F,
        hipDataType::HIP_C_32F => cudaDataType_t::CUDA_C_32F,
        hipDataType::HIP_C_64F => cudaDataType_t::CUDA_C_64F,
        _ => cudaDataType_t(u32::MAX),
    }
}

fn operation(of: hipsparseOperation_t) -> cusparseOperation_t {
    match of {
        hipsparseOperation_t::HIPSPARSE_OPERATION_TRANSPOSE => cusparseOperation_t::CUSPARSE_OPERATION_TRANSPOSE,
        hipsparseOperation_t::HIPSPARSE_OPERATION_NON_TRANSPOSE => {
            cusparseOperation_t::CUSPARSE_OPERATION_NON_TRANSPOSE
        }
        _ => cusparseOperation_t(u32::MAX),
    }
}

fn index(of: hipsparseIndexType_t) -> cusparseIndexType_t {
    match of {
        hipsparseIndexType_t::HIPSPARSE_INDEX_32I => cusparseIndexType_t::CUSPARSE_INDEX_32I,
        hipsparseIndexType_t::HIPSPARSE_INDEX_64I => cusparseIndexType_t::CUSPARSE_INDEX_64I,
        _ => cusparseIndexType_t(u32::MAX),
    }
}

fn base(of: hipsparseIndexBase_t) -> cusparseIndexBase_t {
    match of {
        hipsparseIndexBase_t::HIPSPARSE_INDEX_BASE_ZERO => cusparseIndexBase_t::CUSPARSE_INDEX_BASE_ZERO,
        _ => cusparseIndexBase_t::CUSPARSE_INDEX_BASE_ONE,
    }
}

fn order(of: hipsparseOrder_t) -> cusparseOrder_t {
    match of {
        hipsparseOrder_t::HIPSPARSE_ORDER_ROW => cusparseOrder_t::CUSPARSE_ORDER_ROW,
        _ => cusparseOrder_t::CUSPARSE_ORDER_COL,
    }
}

fn of_vectors(of: hipsparseSpMVAlg_t) -> cusparseSpMVAlg_t {
    match of {
        hipsparseSpMVAlg_t::HIPSPARSE_SPMV_ALG_DEFAULT => cusparseSpMVAlg_t::CUSPARSE_SPMV_ALG_DEFAULT,
        _ => cusparseSpMVAlg_t(u32::MAX),
    }
}

fn of_matrices(of: hipsparseSpMMAlg_t) -> cusparseSpMMAlg_t {
    match of {
        hipsparseSpMMAlg_t::HIPSPARSE_SPMM_ALG_DEFAULT => cusparseSpMMAlg_t::CUSPARSE_SPMM_ALG_DEFAULT,
        _ => cusparseSpMMAlg_t(u32::MAX),
    }
}

/// Defines functions: the name, CUDA's name, the parameters, and the arguments that differ.
macro_rules! forward {
    ($($hip:ident = $cuda:ident($($arg:ident: $type:ty = $value:expr),* $(,)?);)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $hip($($arg: $type),*) -> Status {
            // SAFETY: the caller passes what the library requires.
            unsafe { sparse!($cuda($($value),*)) }
        }
    )*};
}

forward! {
    hipsparseCreate = cusparseCreate(to: *mut hipsparseHandle_t = to.cast());
    hipsparseDestroy = cusparseDestroy(handle: hipsparseHandle_t = handle.cast());
    hipsparseSetStream = cusparseSetStream(handle: hipsparseHandle_t = handle.cast(), stream: hipStream_t = stream.cast());
    hipsparseCreateConstCsr = cusparseCreateConstCsr(
        to: *mut hipsparseConstSpMatDescr_t = to.cast(), rows: i64 = rows, columns: i64 = columns, count: i64 = count,
        starts: *const c_void = starts, indices: *const c_void = indices, values: *const c_void = values,
        of_starts: hipsparseIndexType_t = index(of_starts), of_indices: hipsparseIndexType_t = index(of_indices),
        from: hipsparseIndexBase_t = base(from), of: hipDataType = data_type(of),
    );
    hipsparseDestroySpMat = cusparseDestroySpMat(matrix: hipsparseConstSpMatDescr_t = matrix.cast());
    hipsparseCreateConstDnVec = cusparseCreateConstDnVec(
        to: *mut hipsparseConstDnVecDescr_t = to.cast(), size: i64 = size, values: *const c_void = values,
        of: hipDataType = data_type(of),
    );
    hipsparseCreateDnVec = cusparseCreateDnVec(
        to: *mut hipsparseDnVecDescr_t = to.cast(), size: i64 = size, values: *mut c_void = values,
        of: hipDataType = data_type(of),
    );
    hipsparseDestroyDnVec = cusparseDestroyDnVec(vector: hipsparseConstDnVecDescr_t = vector.cast());
    hipsparseCreateConstDnMat = cusparseCreateConstDnMat(
        to: *mut hipsparseConstDnMatDescr_t = to.cast(), rows: i64 = rows, columns: i64 = columns, leading: i64 = leading,
        values: *const c_void = values, of: hipDataType = data_type(of), by: hipsparseOrder_t = order(by),
    );
    hipsparseCreateDnMat = cusparseCreateDnMat(
        to: *mut hipsparseDnMatDescr_t = to.cast(), rows: i64 = rows, columns: i64 = columns, leading: i64 = leading,
        values: *mut c_void = values, of: hipDataType = data_type(of), by: hipsparseOrder_t = order(by),
    );
    hipsparseDestroyDnMat = cusparseDestroyDnMat(matrix: hipsparseConstDnMatDescr_t = matrix.cast());
    hipsparseSpMV_bufferSize = cusparseSpMV_bufferSize(
        handle: hipsparseHandle_t = handle.cast(), op: hipsparseOperation_t = operation(op), alpha: *const c_void = alpha,
        matrix: hipsparseConstSpMatDescr_t = matrix.cast(), x: hipsparseConstDnVecDescr_t = x.cast(),
        beta: *const c_void = beta, y: hipsparseDnVecDescr_t = y.cast(), of: hipDataType = data_type(of),
        algorithm: hipsparseSpMVAlg_t = of_vectors(algorithm), bytes: *mut usize = bytes,
    );
    hipsparseSpMV = cusparseSpMV(
        handle: hipsparseHandle_t = handle.cast(), op: hipsparseOperation_t = operation(op), alpha: *const c_void = alpha,
        matrix: hipsparseConstSpMatDescr_t = matrix.cast(), x: hipsparseConstDnVecDescr_t = x.cast(),
        beta: *const c_void = beta, y: hipsparseDnVecDescr_t = y.cast(), of: hipDataType = data_type(of),
        algorithm: hipsparseSpMVAlg_t = of_vectors(algorithm), workspace: *mut c_void = workspace,
    );
    hipsparseSpMM_bufferSize = cusparseSpMM_bufferSize(
        handle: hipsparseHandle_t = handle.cast(), op: hipsparseOperation_t = operation(op),
        op_b: hipsparseOperation_t = operation(op_b), alpha: *const c_void = alpha,
        matrix: hipsparseConstSpMatDescr_t = matrix.cast(), b: hipsparseConstDnMatDescr_t = b.cast(),
        beta: *const c_void = beta, c: hipsparseDnMatDescr_t = c.cast(), of: hipDataType = data_type(of),
        algorithm: hipsparseSpMMAlg_t = of_matrices(algorithm), bytes: *mut usize = bytes,
    );
    hipsparseSpMM = cusparseSpMM(
        handle: hipsparseHandle_t = handle.cast(), op: hipsparseOperation_t = operation(op),
        op_b: hipsparseOperation_t = operation(op_b), alpha: *const c_void = alpha,
        matrix: hipsparseConstSpMatDescr_t = matrix.cast(), b: hipsparseConstDnMatDescr_t = b.cast(),
        beta: *const c_void = beta, c: hipsparseDnMatDescr_t = c.cast(), of: hipDataType = data_type(of),
        algorithm: hipsparseSpMMAlg_t = of_matrices(algorithm), workspace: *mut c_void = workspace,
    );
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipsparseGetErrorString(status: Status) -> *const c_char {
    match status {
        Status::HIPSPARSE_STATUS_SUCCESS => c"success",
        Status::HIPSPARSE_STATUS_INVALID_VALUE => c"invalid value",
        Status::HIPSPARSE_STATUS_NOT_SUPPORTED => c"not supported",
        _ => c"internal error",
    }
    .as_ptr()
}
