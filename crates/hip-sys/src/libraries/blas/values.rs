//! The values of hipBLASLt and rocBLAS with the meaning of those of cuBLASLt.

use std::ffi::c_char;

use cuprous_cuda_sys::cublaslt::{
    cublasComputeType_t as Compute, cublasLtEpilogue_t as Epilogue, cublasOperation_t as Operation,
    cublasStatus_t as Status, cudaDataType_t as DataType,
};

use crate::hipblaslt::{
    hipblasComputeType_t as HipCompute, hipblasLtEpilogue_t as HipEpilogue, hipblasOperation_t as HipOperation,
    hipblasStatus_t as HipStatus,
};
use crate::rocblas::{rocblas_datatype, rocblas_operation, rocblas_status as RocStatus};

/// The statuses of hipBLASLt with their meaning.
const LT_STATUSES: [(HipStatus, Status); 10] = [
    (HipStatus::HIPBLAS_STATUS_SUCCESS, Status::CUBLAS_STATUS_SUCCESS),
    (HipStatus::HIPBLAS_STATUS_NOT_INITIALIZED, Status::CUBLAS_STATUS_NOT_INITIALIZED),
    (HipStatus::HIPBLAS_STATUS_ALLOC_FAILED, Status::CUBLAS_STATUS_ALLOC_FAILED),
    (HipStatus::HIPBLAS_STATUS_INVALID_VALUE, Status::CUBLAS_STATUS_INVALID_VALUE),
    (HipStatus::HIPBLAS_STATUS_INVALID_ENUM, Status::CUBLAS_STATUS_INVALID_VALUE),
    (HipStatus::HIPBLAS_STATUS_MAPPING_ERROR, Status::CUBLAS_STATUS_MAPPING_ERROR),
    (HipStatus::HIPBLAS_STATUS_EXECUTION_FAILED, Status::CUBLAS_STATUS_EXECUTION_FAILED),
    (HipStatus::HIPBLAS_STATUS_INTERNAL_ERROR, Status::CUBLAS_STATUS_INTERNAL_ERROR),
    (HipStatus::HIPBLAS_STATUS_NOT_SUPPORTED, Status::CUBLAS_STATUS_NOT_SUPPORTED),
    (HipStatus::HIPBLAS_STATUS_ARCH_MISMATCH, Status::CUBLAS_STATUS_ARCH_MISMATCH),
];

/// The statuses of rocBLAS with their meaning. With too little workspace it is slow, but right.
const ROC_STATUSES: [(RocStatus, Status); 9] = [
    (RocStatus::rocblas_status_success, Status::CUBLAS_STATUS_SUCCESS),
    (RocStatus::rocblas_status_perf_degraded, Status::CUBLAS_STATUS_SUCCESS),
    (RocStatus::rocblas_status_invalid_handle, Status::CUBLAS_STATUS_NOT_INITIALIZED),
    (RocStatus::rocblas_status_memory_error, Status::CUBLAS_STATUS_ALLOC_FAILED),
    (RocStatus::rocblas_status_invalid_pointer, Status::CUBLAS_STATUS_INVALID_VALUE),
    (RocStatus::rocblas_status_invalid_size, Status::CUBLAS_STATUS_INVALID_VALUE),
    (RocStatus::rocblas_status_invalid_value, Status::CUBLAS_STATUS_INVALID_VALUE),
    (RocStatus::rocblas_status_not_implemented, Status::CUBLAS_STATUS_NOT_SUPPORTED),
    (RocStatus::rocblas_status_arch_mismatch, Status::CUBLAS_STATUS_ARCH_MISMATCH),
];

pub(super) fn of_lt(status: HipStatus) -> Status {
    LT_STATUSES.iter().find(|row| row.0 == status).map_or(Status::CUBLAS_STATUS_INTERNAL_ERROR, |row| row.1)
}

pub(super) fn of_roc(status: RocStatus) -> Status {
    ROC_STATUSES.iter().find(|row| row.0 == status).map_or(Status::CUBLAS_STATUS_INTERNAL_ERROR, |row| row.1)
}

pub(super) extern "C" fn status_string(status: Status) -> *const c_char {
    let text = match status {
        Status::CUBLAS_STATUS_SUCCESS => c"success",
        Status::CUBLAS_STATUS_NOT_INITIALIZED => c"the library is not initialized",
        Status::CUBLAS_STATUS_ALLOC_FAILED => c"the library is out of memory",
        Status::CUBLAS_STATUS_INVALID_VALUE => c"an argument has an invalid value",
        Status::CUBLAS_STATUS_MAPPING_ERROR => c"memory of the GPU cannot be reached",
        Status::CUBLAS_STATUS_EXECUTION_FAILED => c"a kernel failed",
        Status::CUBLAS_STATUS_NOT_SUPPORTED => c"not supported",
        Status::CUBLAS_STATUS_ARCH_MISMATCH => c"the GPU does not support this",
        _ => c"an internal operation failed",
    };
    text.as_ptr()
}

pub(super) fn compute(of: Compute) -> Option<HipCompute> {
    Some(match of {
        Compute::CUBLAS_COMPUTE_32F => HipCompute::HIPBLAS_COMPUTE_32F,
        Compute::CUBLAS_COMPUTE_32F_FAST_TF32 => HipCompute::HIPBLAS_COMPUTE_32F_FAST_TF32,
        Compute::CUBLAS_COMPUTE_64F => HipCompute::HIPBLAS_COMPUTE_64F,
        _ => return None,
    })
}

pub(super) fn epilogue(of: Epilogue) -> Option<HipEpilogue> {
    Some(match of {
        Epilogue::CUBLASLT_EPILOGUE_DEFAULT => HipEpilogue::HIPBLASLT_EPILOGUE_DEFAULT,
        Epilogue::CUBLASLT_EPILOGUE_RELU => HipEpilogue::HIPBLASLT_EPILOGUE_RELU,
        Epilogue::CUBLASLT_EPILOGUE_BIAS => HipEpilogue::HIPBLASLT_EPILOGUE_BIAS,
        Epilogue::CUBLASLT_EPILOGUE_RELU_BIAS => HipEpilogue::HIPBLASLT_EPILOGUE_RELU_BIAS,
        Epilogue::CUBLASLT_EPILOGUE_GELU => HipEpilogue::HIPBLASLT_EPILOGUE_GELU,
        Epilogue::CUBLASLT_EPILOGUE_GELU_BIAS => HipEpilogue::HIPBLASLT_EPILOGUE_GELU_BIAS,
        _ => return None,
    })
}

pub(super) fn operation(of: Operation) -> HipOperation {
    match of {
        Operation::CUBLAS_OP_N => HipOperation::HIPBLAS_OP_N,
        Operation::CUBLAS_OP_T => HipOperation::HIPBLAS_OP_T,
        _ => HipOperation::HIPBLAS_OP_C,
    }
}

pub(super) fn roc_operation(of: Operation) -> rocblas_operation {
    match of {
        Operation::CUBLAS_OP_N => rocblas_operation::rocblas_operation_none,
        Operation::CUBLAS_OP_T => rocblas_operation::rocblas_operation_transpose,
        _ => rocblas_operation::rocblas_operation_conjugate_transpose,
    }
}

pub(super) fn roc_type(of: DataType) -> Option<rocblas_datatype> {
    Some(match of {
        DataType::CUDA_R_16F => rocblas_datatype::rocblas_datatype_f16_r,
        DataType::CUDA_R_16BF => rocblas_datatype::rocblas_datatype_bf16_r,
        DataType::CUDA_R_32F => rocblas_datatype::rocblas_datatype_f32_r,
        DataType::CUDA_R_64F => rocblas_datatype::rocblas_datatype_f64_r,
        DataType::CUDA_C_32F => rocblas_datatype::rocblas_datatype_f32_c,
        DataType::CUDA_C_64F => rocblas_datatype::rocblas_datatype_f64_c,
        _ => return None,
    })
}

/// Returns true for types that hipBLASLt has.
pub(super) fn is_real(of: DataType) -> bool {
    [DataType::CUDA_R_16F, DataType::CUDA_R_16BF, DataType::CUDA_R_32F, DataType::CUDA_R_64F].contains(&of)
}
