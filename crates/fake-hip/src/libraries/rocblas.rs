//! rocBLAS on cuBLASLt.

use std::ffi::c_void;

use cuprous_cuda_sys::cublaslt::{
    cublasComputeType_t as Compute, cublasLtHandle_t, cublasLtMatmulDescAttributes_t as DescAttribute,
    cublasLtMatmulHeuristicResult_t, cublasLtMatmulPreferenceAttributes_t as PreferenceAttribute,
    cublasLtMatrixLayout_t, cublasLtMatrixLayoutAttribute_t as LayoutAttribute, cublasOperation_t, cublasStatus_t,
    cudaDataType_t as DataType,
};
use cuprous_hip_sys::rocblas::{
    RocblasApi, hipStream_t, rocblas_atomics_mode, rocblas_datatype, rocblas_gemm_algo, rocblas_handle,
    rocblas_operation, rocblas_status as Status,
};

use super::{declared, library};

declared!(RocblasApi: rocblas_create_handle rocblas_destroy_handle rocblas_set_stream rocblas_set_workspace
    rocblas_set_atomics_mode rocblas_gemm_strided_batched_ex);

struct Handle {
    lt: cublasLtHandle_t,
    stream: hipStream_t,
    workspace: (*mut c_void, usize),
}

/// Calls a function of CUDA's library, and returns from the caller if it fails.
macro_rules! lt {
    ($name:ident($($arg:expr),* $(,)?)) => {
        match library!(cublaslt, cublasStatus_t::CUBLAS_STATUS_NOT_SUPPORTED, $name($($arg),*)) {
            cublasStatus_t::CUBLAS_STATUS_SUCCESS => {}
            cublasStatus_t::CUBLAS_STATUS_NOT_SUPPORTED => return Status::rocblas_status_not_implemented,
            cublasStatus_t::CUBLAS_STATUS_INVALID_VALUE => return Status::rocblas_status_invalid_value,
            _ => return Status::rocblas_status_internal_error,
        }
    };
}

fn data_type(of: rocblas_datatype) -> DataType {
    match of {
        rocblas_datatype::rocblas_datatype_f16_r => DataType::CUDA_R_16F,
        rocblas_datatype::rocblas_datatype_bf16_r => DataType::CUDA_R_16BF,
        rocblas_datatype::rocblas_datatype_f32_r => DataType::CUDA_R_32F,
        rocblas_datatype::rocblas_datatype_f64_r => DataType::CUDA_R_64F,
        rocblas_datatype::rocblas_datatype_f32_c => DataType::CUDA_C_32F,
        rocblas_datatype::rocblas_datatype_f64_c => DataType::CUDA_C_64F,
        _ => DataType(u32::MAX),
    }
}

fn operation(of: rocblas_operation) -> cublasOperation_t {
    match of {
        rocblas_operation::rocblas_operation_none => cublasOperation_t::CUBLAS_OP_N,
        rocblas_operation::rocblas_operation_transpose => cublasOperation_t::CUBLAS_OP_T,
        _ => cublasOperation_t(u32::MAX),
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocblas_create_handle(to: *mut rocblas_handle) -> Status {
    let mut lt: cublasLtHandle_t = std::ptr::null_mut();
    // SAFETY: the caller passes the address of a variable.
    unsafe {
        lt!(cublasLtCreate(&raw mut lt));
        let handle = Handle { lt, stream: std::ptr::null_mut(), workspace: (std::ptr::null_mut(), 0) };
        *to = Box::into_raw(Box::new(handle)).cast();
    }
    Status::rocblas_status_success
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocblas_destroy_handle(handle: rocblas_handle) -> Status {
    // SAFETY: the caller passes a handle that is destroyed once.
    unsafe { lt!(cublasLtDestroy(Box::from_raw(handle.cast::<Handle>()).lt)) };
    Status::rocblas_status_success
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocblas_set_stream(handle: rocblas_handle, stream: hipStream_t) -> Status {
    // SAFETY: the caller passes a handle.
    unsafe { (*handle.cast::<Handle>()).stream = stream };
    Status::rocblas_status_success
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocblas_set_workspace(handle: rocblas_handle, start: *mut c_void, bytes: usize) -> Status {
    // SAFETY: the caller passes a handle.
    unsafe { (*handle.cast::<Handle>()).workspace = (start, bytes) };
    Status::rocblas_status_success
}

/// CUDA's library has no such mode: its kernels are chosen by the problem.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocblas_set_atomics_mode(handle: rocblas_handle, mode: rocblas_atomics_mode) -> Status {
    if handle.is_null() || mode != rocblas_atomics_mode::rocblas_atomics_not_allowed {
        return Status::rocblas_status_invalid_value;
    }
    Status::rocblas_status_success
}

/// Creates the layout of a batch of matrices.
unsafe fn layout(
    to: &mut cublasLtMatrixLayout_t,
    of: rocblas_datatype,
    [rows, columns, leading]: [i32; 3],
    batch: i32,
    stride: i64,
) -> Status {
    // SAFETY: each value has its attribute's type.
    unsafe {
        let (rows, columns) = (u64::from(rows.unsigned_abs()), u64::from(columns.unsigned_abs()));
        lt!(cublasLtMatrixLayoutCreate(to, data_type(of), rows, columns, i64::from(leading)));
        let (count, distance) = (LayoutAttribute::CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, (&raw const stride).cast());
        lt!(cublasLtMatrixLayoutSetAttribute(*to, count, (&raw const batch).cast(), 4));
        let attribute = LayoutAttribute::CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET;
        lt!(cublasLtMatrixLayoutSetAttribute(*to, attribute, distance, 8));
    }
    Status::rocblas_status_success
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocblas_gemm_strided_batched_ex(
    handle: rocblas_handle,
    op_a: rocblas_operation,
    op_b: rocblas_operation,
    m: i32,
    n: i32,
    k: i32,
    alpha: *const c_void,
    a: *const c_void,
    of_a: rocblas_datatype,
    lda: i32,
    stride_a: i64,
    b: *const c_void,
    of_b: rocblas_datatype,
    ldb: i32,
    stride_b: i64,
    beta: *const c_void,
    c: *const c_void,
    of_c: rocblas_datatype,
    ldc: i32,
    stride_c: i64,
    d: *mut c_void,
    of_d: rocblas_datatype,
    ldd: i32,
    stride_d: i64,
    batch: i32,
    computed: rocblas_datatype,
    _: rocblas_gemm_algo,
    _: i32,
    flags: u32,
) -> Status {
    let compute = match computed {
        rocblas_datatype::rocblas_datatype_f32_r | rocblas_datatype::rocblas_datatype_f32_c => {
            Compute::CUBLAS_COMPUTE_32F
        }
        rocblas_datatype::rocblas_datatype_f64_r | rocblas_datatype::rocblas_datatype_f64_c => {
            Compute::CUBLAS_COMPUTE_64F
        }
        _ => return Status::rocblas_status_not_implemented,
    };
    if flags != 0 {
        return Status::rocblas_status_not_implemented;
    }
    let plain = rocblas_operation::rocblas_operation_none;
    let (shape_a, shape_b) = (if op_a == plain { [m, k] } else { [k, m] }, if op_b == plain { [k, n] } else { [n, k] });
    let matrices = [
        (of_a, [shape_a[0], shape_a[1], lda], stride_a),
        (of_b, [shape_b[0], shape_b[1], ldb], stride_b),
        (of_c, [m, n, ldc], stride_c),
        (of_d, [m, n, ldd], stride_d),
    ];
    // SAFETY: the caller passes what the library requires. If a call fails, descriptors are leaked.
    unsafe {
        let handle = &*handle.cast::<Handle>();
        let (mut desc, mut preference) = (std::ptr::null_mut(), std::ptr::null_mut());
        lt!(cublasLtMatmulDescCreate(&raw mut desc, compute, data_type(computed)));
        for (attribute, op) in [
            (DescAttribute::CUBLASLT_MATMUL_DESC_TRANSA, operation(op_a).0),
            (DescAttribute::CUBLASLT_MATMUL_DESC_TRANSB, operation(op_b).0),
        ] {
            lt!(cublasLtMatmulDescSetAttribute(desc, attribute, (&raw const op).cast(), 4));
        }
        let mut layouts: [cublasLtMatrixLayout_t; 4] = [std::ptr::null_mut(); 4];
        for (to, (of, shape, stride)) in layouts.iter_mut().zip(matrices) {
            let status = layout(to, of, shape, batch, stride);
            if status != Status::rocblas_status_success {
                return status;
            }
        }
        lt!(cublasLtMatmulPreferenceCreate(&raw mut preference));
        for (attribute, address) in [
            (PreferenceAttribute::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, a as usize),
            (PreferenceAttribute::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, b as usize),
            (PreferenceAttribute::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, c as usize),
            (PreferenceAttribute::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, d as usize),
        ] {
            let alignment = 1_u32 << address.trailing_zeros().min(8);
            lt!(cublasLtMatmulPreferenceSetAttribute(preference, attribute, (&raw const alignment).cast(), 4));
        }
        let [la, lb, lc, ld] = layouts;
        let (mut best, mut found): (cublasLtMatmulHeuristicResult_t, i32) = (std::mem::zeroed(), 0);
        let (to, count) = (&raw mut best, &raw mut found);
        lt!(cublasLtMatmulAlgoGetHeuristic(handle.lt, desc, la, lb, lc, ld, preference, 1, to, count));
        let ((workspace, bytes), stream) = (handle.workspace, handle.stream.cast());
        let algo = &raw const best.algo;
        lt!(cublasLtMatmul(handle.lt, desc, alpha, a, la, b, lb, beta, c, lc, d, ld, algo, workspace, bytes, stream));
        for layout in layouts {
            lt!(cublasLtMatrixLayoutDestroy(layout));
        }
        lt!(cublasLtMatmulPreferenceDestroy(preference));
        lt!(cublasLtMatmulDescDestroy(desc));
    }
    Status::rocblas_status_success
}
