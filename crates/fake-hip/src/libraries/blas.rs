//! hipBLASLt on cuBLASLt. As on some GPUs of AMD, it has no products of float64.

use std::ffi::{c_int, c_void};
use std::sync::{Mutex, PoisonError};

use cuprous_cuda_sys::cublaslt::{
    cublasComputeType_t, cublasLtEpilogue_t, cublasLtMatmulAlgo_t, cublasLtMatmulDescAttributes_t as DescAttribute,
    cublasLtMatmulHeuristicResult_t, cublasLtMatmulPreferenceAttributes_t as PreferenceAttribute,
    cublasLtMatrixLayoutAttribute_t as LayoutAttribute, cublasOperation_t, cublasStatus_t, cudaDataType_t,
};
use cuprous_hip_sys::hipblaslt::{
    HipblasLtApi, hipDataType, hipStream_t, hipblasComputeType_t, hipblasLtEpilogue_t, hipblasLtHandle_t,
    hipblasLtMatmulAlgo_t, hipblasLtMatmulDesc_t, hipblasLtMatmulDescAttributes_t as HipDescAttribute,
    hipblasLtMatmulHeuristicResult_t, hipblasLtMatmulPreference_t,
    hipblasLtMatmulPreferenceAttributes_t as HipPreferenceAttribute, hipblasLtMatrixLayout_t,
    hipblasLtMatrixLayoutAttribute_t as HipLayoutAttribute, hipblasOperation_t, hipblasStatus_t as Status,
};

use super::{declared, library};

declared!(HipblasLtApi: hipblasLtCreate hipblasLtDestroy hipblasLtMatmul hipblasLtMatmulAlgoGetHeuristic
    hipblasLtMatmulDescCreate hipblasLtMatmulDescDestroy hipblasLtMatmulDescSetAttribute hipblasLtMatmulPreferenceCreate
    hipblasLtMatmulPreferenceDestroy hipblasLtMatmulPreferenceSetAttribute hipblasLtMatrixLayoutCreate
    hipblasLtMatrixLayoutDestroy hipblasLtMatrixLayoutSetAttribute);

pub(super) fn status(of: cublasStatus_t) -> Status {
    match of {
        cublasStatus_t::CUBLAS_STATUS_SUCCESS => Status::HIPBLAS_STATUS_SUCCESS,
        cublasStatus_t::CUBLAS_STATUS_INVALID_VALUE => Status::HIPBLAS_STATUS_INVALID_VALUE,
        cublasStatus_t::CUBLAS_STATUS_NOT_SUPPORTED => Status::HIPBLAS_STATUS_NOT_SUPPORTED,
        cublasStatus_t::CUBLAS_STATUS_ALLOC_FAILED => Status::HIPBLAS_STATUS_ALLOC_FAILED,
        _ => Status::HIPBLAS_STATUS_INTERNAL_ERROR,
    }
}

macro_rules! lt {
    ($name:ident($($arg:expr),* $(,)?)) => {
        status(library!(cublaslt, cublasStatus_t::CUBLAS_STATUS_NOT_SUPPORTED, $name($($arg),*)))
    };
}

fn data_type(of: hipDataType) -> Option<cudaDataType_t> {
    Some(match of {
        hipDataType::HIP_R_16F => cudaDataType_t::CUDA_R_16F,
        hipDataType::HIP_R_16BF => cudaDataType_t::CUDA_R_16BF,
        hipDataType::HIP_R_32F => cudaDataType_t::CUDA_R_32F,
        _ => return None,
    })
}

/// Algorithms of CUDA's library by number: they are larger than the struct of AMD's.
static ALGORITHMS: Mutex<Vec<cublasLtMatmulAlgo_t>> = Mutex::new(Vec::new());

/// Defines functions that take a handle alone.
macro_rules! forward {
    ($($hip:ident = $cuda:ident($arg:ident: $type:ty);)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $hip($arg: $type) -> Status {
            // SAFETY: the caller passes what the library requires.
            unsafe { lt!($cuda($arg.cast())) }
        }
    )*};
}
forward! {
    hipblasLtCreate = cublasLtCreate(to: *mut hipblasLtHandle_t);
    hipblasLtDestroy = cublasLtDestroy(handle: hipblasLtHandle_t);
    hipblasLtMatmulDescDestroy = cublasLtMatmulDescDestroy(desc: hipblasLtMatmulDesc_t);
    hipblasLtMatrixLayoutDestroy = cublasLtMatrixLayoutDestroy(layout: hipblasLtMatrixLayout_t);
    hipblasLtMatmulPreferenceDestroy = cublasLtMatmulPreferenceDestroy(preference: hipblasLtMatmulPreference_t);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipblasLtMatmulDescCreate(
    to: *mut hipblasLtMatmulDesc_t,
    compute: hipblasComputeType_t,
    scale: hipDataType,
) -> Status {
    let compute = match compute {
        hipblasComputeType_t::HIPBLAS_COMPUTE_32F => cublasComputeType_t::CUBLAS_COMPUTE_32F,
        hipblasComputeType_t::HIPBLAS_COMPUTE_32F_FAST_TF32 => cublasComputeType_t::CUBLAS_COMPUTE_32F_FAST_TF32,
        _ => return Status::HIPBLAS_STATUS_NOT_SUPPORTED,
    };
    let Some(scale) = data_type(scale) else { return Status::HIPBLAS_STATUS_NOT_SUPPORTED };
    // SAFETY: the caller passes the address of a variable.
    unsafe { lt!(cublasLtMatmulDescCreate(to.cast(), compute, scale)) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipblasLtMatmulDescSetAttribute(
    desc: hipblasLtMatmulDesc_t,
    attribute: HipDescAttribute,
    value: *const c_void,
    bytes: usize,
) -> Status {
    // SAFETY: the caller passes a value of the attribute's type.
    unsafe {
        let own = match attribute {
            HipDescAttribute::HIPBLASLT_MATMUL_DESC_TRANSA => DescAttribute::CUBLASLT_MATMUL_DESC_TRANSA,
            HipDescAttribute::HIPBLASLT_MATMUL_DESC_TRANSB => DescAttribute::CUBLASLT_MATMUL_DESC_TRANSB,
            HipDescAttribute::HIPBLASLT_MATMUL_DESC_EPILOGUE => DescAttribute::CUBLASLT_MATMUL_DESC_EPILOGUE,
            HipDescAttribute::HIPBLASLT_MATMUL_DESC_BIAS_POINTER => {
                return lt!(cublasLtMatmulDescSetAttribute(
                    desc.cast(),
                    DescAttribute::CUBLASLT_MATMUL_DESC_BIAS_POINTER,
                    value,
                    bytes
                ));
            }
            // The result's type, which CUDA's library takes by default.
            HipDescAttribute::HIPBLASLT_MATMUL_DESC_BIAS_DATA_TYPE if bytes == 4 => {
                let known = data_type(hipDataType(value.cast::<u32>().read())).is_some();
                return if known { Status::HIPBLAS_STATUS_SUCCESS } else { Status::HIPBLAS_STATUS_INVALID_VALUE };
            }
            _ => return Status::HIPBLAS_STATUS_INVALID_VALUE,
        };
        if bytes != 4 {
            return Status::HIPBLAS_STATUS_INVALID_VALUE;
        }
        let given = value.cast::<u32>().read();
        let translated = if own == DescAttribute::CUBLASLT_MATMUL_DESC_EPILOGUE {
            match hipblasLtEpilogue_t(given) {
                hipblasLtEpilogue_t::HIPBLASLT_EPILOGUE_DEFAULT => cublasLtEpilogue_t::CUBLASLT_EPILOGUE_DEFAULT.0,
                hipblasLtEpilogue_t::HIPBLASLT_EPILOGUE_RELU => cublasLtEpilogue_t::CUBLASLT_EPILOGUE_RELU.0,
                hipblasLtEpilogue_t::HIPBLASLT_EPILOGUE_BIAS => cublasLtEpilogue_t::CUBLASLT_EPILOGUE_BIAS.0,
                hipblasLtEpilogue_t::HIPBLASLT_EPILOGUE_RELU_BIAS => cublasLtEpilogue_t::CUBLASLT_EPILOGUE_RELU_BIAS.0,
                hipblasLtEpilogue_t::HIPBLASLT_EPILOGUE_GELU => cublasLtEpilogue_t::CUBLASLT_EPILOGUE_GELU.0,
                hipblasLtEpilogue_t::HIPBLASLT_EPILOGUE_GELU_BIAS => cublasLtEpilogue_t::CUBLASLT_EPILOGUE_GELU_BIAS.0,
                _ => return Status::HIPBLAS_STATUS_INVALID_VALUE,
            }
        } else {
            match hipblasOperation_t(given) {
                hipblasOperation_t::HIPBLAS_OP_N => cublasOperation_t::CUBLAS_OP_N.0,
                hipblasOperation_t::HIPBLAS_OP_T => cublasOperation_t::CUBLAS_OP_T.0,
                _ => return Status::HIPBLAS_STATUS_INVALID_VALUE,
            }
        };
        lt!(cublasLtMatmulDescSetAttribute(desc.cast(), own, (&raw const translated).cast(), 4))
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipblasLtMatrixLayoutCreate(
    to: *mut hipblasLtMatrixLayout_t,
    of: hipDataType,
    rows: u64,
    columns: u64,
    leading: i64,
) -> Status {
    let Some(of) = data_type(of) else { return Status::HIPBLAS_STATUS_NOT_SUPPORTED };
    // SAFETY: the caller passes the address of a variable.
    unsafe { lt!(cublasLtMatrixLayoutCreate(to.cast(), of, rows, columns, leading)) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipblasLtMatrixLayoutSetAttribute(
    layout: hipblasLtMatrixLayout_t,
    attribute: HipLayoutAttribute,
    value: *const c_void,
    bytes: usize,
) -> Status {
    let own = match attribute {
        HipLayoutAttribute::HIPBLASLT_MATRIX_LAYOUT_BATCH_COUNT => LayoutAttribute::CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT,
        HipLayoutAttribute::HIPBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET => {
            LayoutAttribute::CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET
        }
        _ => return Status::HIPBLAS_STATUS_INVALID_VALUE,
    };
    // SAFETY: the caller passes what the library requires.
    unsafe { lt!(cublasLtMatrixLayoutSetAttribute(layout.cast(), own, value, bytes)) }
}

/// A preference for kernels that take any address of an element, as all of AMD's do.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipblasLtMatmulPreferenceCreate(to: *mut hipblasLtMatmulPreference_t) -> Status {
    let element = 2_u32;
    // SAFETY: the caller passes the address of a variable.
    unsafe {
        let mut status = lt!(cublasLtMatmulPreferenceCreate(to.cast()));
        for attribute in [
            PreferenceAttribute::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
            PreferenceAttribute::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
            PreferenceAttribute::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
            PreferenceAttribute::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES,
        ] {
            if status == Status::HIPBLAS_STATUS_SUCCESS {
                let value = (&raw const element).cast();
                status = lt!(cublasLtMatmulPreferenceSetAttribute((*to).cast(), attribute, value, 4));
            }
        }
        status
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipblasLtMatmulPreferenceSetAttribute(
    preference: hipblasLtMatmulPreference_t,
    attribute: HipPreferenceAttribute,
    value: *const c_void,
    bytes: usize,
) -> Status {
    if attribute != HipPreferenceAttribute::HIPBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES {
        return Status::HIPBLAS_STATUS_INVALID_VALUE;
    }
    let own = PreferenceAttribute::CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES;
    // SAFETY: the caller passes what the library requires.
    unsafe { lt!(cublasLtMatmulPreferenceSetAttribute(preference.cast(), own, value, bytes)) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipblasLtMatmulAlgoGetHeuristic(
    handle: hipblasLtHandle_t,
    desc: hipblasLtMatmulDesc_t,
    a: hipblasLtMatrixLayout_t,
    b: hipblasLtMatrixLayout_t,
    c: hipblasLtMatrixLayout_t,
    d: hipblasLtMatrixLayout_t,
    preference: hipblasLtMatmulPreference_t,
    wanted: c_int,
    to: *mut hipblasLtMatmulHeuristicResult_t,
    found: *mut c_int,
) -> Status {
    if wanted < 1 {
        return Status::HIPBLAS_STATUS_INVALID_VALUE;
    }
    // SAFETY: the caller passes what the library requires, with room for the results that are wanted.
    unsafe {
        let (mut own, mut count): (cublasLtMatmulHeuristicResult_t, c_int) = (std::mem::zeroed(), 0);
        let result = lt!(cublasLtMatmulAlgoGetHeuristic(
            handle.cast(),
            desc.cast(),
            a.cast(),
            b.cast(),
            c.cast(),
            d.cast(),
            preference.cast(),
            1,
            &raw mut own,
            &raw mut count
        ));
        *found = count;
        if result == Status::HIPBLAS_STATUS_SUCCESS && count > 0 {
            let mut all = ALGORITHMS.lock().unwrap_or_else(PoisonError::into_inner);
            let number = all.iter().position(|known| known.data == own.algo.data).unwrap_or_else(|| {
                all.push(own.algo);
                all.len() - 1
            });
            let mut algo: hipblasLtMatmulAlgo_t = std::mem::zeroed();
            // Not zero, which would be an algorithm that was not written.
            algo.data[..8].copy_from_slice(&(number as u64 + 1).to_ne_bytes());
            to.write(hipblasLtMatmulHeuristicResult_t {
                algo,
                workspaceSize: own.workspaceSize,
                state: status(own.state),
                wavesCount: own.wavesCount,
                reserved: [0; 4],
            });
        }
        result
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipblasLtMatmul(
    handle: hipblasLtHandle_t,
    desc: hipblasLtMatmulDesc_t,
    alpha: *const c_void,
    a: *const c_void,
    of_a: hipblasLtMatrixLayout_t,
    b: *const c_void,
    of_b: hipblasLtMatrixLayout_t,
    beta: *const c_void,
    c: *const c_void,
    of_c: hipblasLtMatrixLayout_t,
    d: *mut c_void,
    of_d: hipblasLtMatrixLayout_t,
    algo: *const hipblasLtMatmulAlgo_t,
    workspace: *mut c_void,
    bytes: usize,
    stream: hipStream_t,
) -> Status {
    // SAFETY: the caller passes what the library requires.
    unsafe {
        let number = algo.cast::<u64>().read_unaligned();
        let known = ALGORITHMS.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(own) = (number as usize).checked_sub(1).and_then(|number| known.get(number)).copied() else {
            return Status::HIPBLAS_STATUS_INVALID_VALUE;
        };
        drop(known);
        lt!(cublasLtMatmul(
            handle.cast(),
            desc.cast(),
            alpha,
            a,
            of_a.cast(),
            b,
            of_b.cast(),
            beta,
            c,
            of_c.cast(),
            d,
            of_d.cast(),
            &raw const own,
            workspace,
            bytes,
            stream.cast()
        ))
    }
}
