//! hipBLASLt and rocBLAS under the interface of cuBLASLt.
//!
//! hipBLASLt is asked first. What it has no kernel for, and all products on GPUs that it does not know, rocBLAS computes,
//! which knows all types and all GPUs but no bias. A product that neither computes is not supported, as a product that
//! cuBLASLt has no kernel for.

mod values;

use std::ffi::{c_int, c_void};
use std::path::Path;
use std::sync::OnceLock;

use cuprous_cuda_sys::MissingLibrary;
use cuprous_cuda_sys::cublaslt::{
    CublasLtApi, cublasComputeType_t as Compute, cublasLtEpilogue_t as Epilogue, cublasLtHandle_t,
    cublasLtMatmulAlgo_t, cublasLtMatmulDesc_t, cublasLtMatmulDescAttributes_t as DescAttribute,
    cublasLtMatmulHeuristicResult_t, cublasLtMatmulPreference_t,
    cublasLtMatmulPreferenceAttributes_t as PreferenceAttribute, cublasLtMatrixLayout_t,
    cublasLtMatrixLayoutAttribute_t as LayoutAttribute, cublasOperation_t as Operation, cublasStatus_t as Status,
    cudaDataType_t as DataType, cudaStream_t,
};

use super::same_data_types;
use crate::hipblaslt::{
    HipblasLtApi, hipDataType, hipblasLtHandle_t, hipblasLtMatmulAlgo_t, hipblasLtMatmulDesc_t,
    hipblasLtMatmulDescAttributes_t as HipDescAttribute, hipblasLtMatmulHeuristicResult_t, hipblasLtMatmulPreference_t,
    hipblasLtMatmulPreferenceAttributes_t as HipPreferenceAttribute, hipblasLtMatrixLayout_t,
    hipblasLtMatrixLayoutAttribute_t as HipLayoutAttribute,
};
use crate::loader;
use crate::rocblas::{RocblasApi, rocblas_atomics_mode, rocblas_gemm_algo, rocblas_handle};
use values::{compute, epilogue, is_real, of_lt, of_roc, operation, roc_operation, roc_type, status_string};

same_data_types!(DataType, hipDataType);

static LT: OnceLock<HipblasLtApi> = OnceLock::new();
static ROC: OnceLock<RocblasApi> = OnceLock::new();

/// Returns the libraries of matrix products: both, or the one that is installed.
///
/// # Errors
/// Neither is installed.
pub fn cublaslt() -> Result<&'static CublasLtApi, MissingLibrary> {
    static LOADED: OnceLock<CublasLtApi> = OnceLock::new();
    if let Some(api) = LOADED.get() {
        return Ok(api);
    }
    let lt = loader::HIPBLASLT.open(|path| {
        // SAFETY: the file is hipBLASLt by its name; opening it has no requirements.
        let api = unsafe { HipblasLtApi::new(path)? };
        LT.get_or_init(|| api);
        table(path)
    });
    let roc = loader::ROCBLAS.open(|path| {
        // SAFETY: the file is rocBLAS by its name; opening it has no requirements.
        let api = unsafe { RocblasApi::new(path)? };
        ROC.get_or_init(|| api);
        table(path)
    });
    let api = match (lt, roc) {
        (Ok(api), _) | (Err(_), Ok(api)) => api,
        (Err(missing), Err(_)) => return Err(missing),
    };
    Ok(LOADED.get_or_init(|| api))
}

/// Returns the table. All of its functions are those below: a library of AMD has none of CUDA's names.
fn table(path: &Path) -> Result<CublasLtApi, libloading::Error> {
    // SAFETY: opening a library again has no requirements.
    let mut api = unsafe { CublasLtApi::new(path)? };
    api.cublasLtCreate = Ok(create);
    api.cublasLtDestroy = Ok(destroy);
    api.cublasLtGetStatusString = Ok(status_string);
    api.cublasLtMatmulDescCreate = Ok(create_desc);
    api.cublasLtMatmulDescDestroy = Ok(destroy_desc);
    api.cublasLtMatmulDescSetAttribute = Ok(set_desc);
    api.cublasLtMatrixLayoutCreate = Ok(create_layout);
    api.cublasLtMatrixLayoutDestroy = Ok(destroy_layout);
    api.cublasLtMatrixLayoutSetAttribute = Ok(set_layout);
    api.cublasLtMatmulPreferenceCreate = Ok(create_preference);
    api.cublasLtMatmulPreferenceDestroy = Ok(destroy_preference);
    api.cublasLtMatmulPreferenceSetAttribute = Ok(set_preference);
    api.cublasLtMatmulAlgoGetHeuristic = Ok(choose);
    api.cublasLtMatmul = Ok(multiply);
    Ok(api)
}

/// A handle of each library that is there; null for the other.
struct Handle {
    lt: hipblasLtHandle_t,
    roc: rocblas_handle,
}

/// What a product does besides its operands. `lt` is null if hipBLASLt cannot compute it.
struct Desc {
    lt: hipblasLtMatmulDesc_t,
    compute: Compute,
    scale: DataType,
    /// Of the first and the second operand.
    operations: [Operation; 2],
    epilogue: Epilogue,
}

/// A column-major matrix. `lt` is null if hipBLASLt cannot have it.
struct Layout {
    lt: hipblasLtMatrixLayout_t,
    data_type: DataType,
    rows: u64,
    columns: u64,
    leading: i64,
    batch: i32,
    stride: i64,
}

struct Preference {
    lt: hipblasLtMatmulPreference_t,
}

/// The library of an algorithm: the last word of CUDA's struct, of which hipBLASLt's algorithm takes the first three.
const LIBRARY: usize = 7;
const BY_LT: u64 = 1;
const BY_ROC: u64 = 2;
const _: () = assert!(size_of::<hipblasLtMatmulAlgo_t>() <= LIBRARY * 8);

/// Calls a function of hipBLASLt. Without it nothing is supported.
macro_rules! lt {
    ($name:ident($($arg:expr),* $(,)?)) => {
        match LT.get().map(|api| &api.$name) {
            Some(Ok(function)) => of_lt(function($($arg),*)),
            _ => Status::CUBLAS_STATUS_NOT_SUPPORTED,
        }
    };
}

/// Calls a function of rocBLAS. Without it nothing is supported.
macro_rules! roc {
    ($name:ident($($arg:expr),* $(,)?)) => {
        match ROC.get().map(|api| &api.$name) {
            Some(Ok(function)) => of_roc(function($($arg),*)),
            _ => Status::CUBLAS_STATUS_NOT_SUPPORTED,
        }
    };
}

// Every function below: the caller meets the requirements of CUDA's function, which imply those of HIP's. Handles are
// those that the functions here created.

unsafe extern "C" fn create(to: *mut cublasLtHandle_t) -> Status {
    let mut handle = Handle { lt: std::ptr::null_mut(), roc: std::ptr::null_mut() };
    // SAFETY: each call writes one handle.
    let [lt, roc] =
        unsafe { [lt!(hipblasLtCreate(&raw mut handle.lt)), roc!(rocblas_create_handle(&raw mut handle.roc))] };
    // Sums by atomic additions would differ in their last bits from run to run.
    let mode = rocblas_atomics_mode::rocblas_atomics_not_allowed;
    let roc = match roc {
        // SAFETY: the handle was just created.
        Status::CUBLAS_STATUS_SUCCESS => unsafe { roc!(rocblas_set_atomics_mode(handle.roc, mode)) },
        failed => failed,
    };
    if lt != Status::CUBLAS_STATUS_SUCCESS {
        handle.lt = std::ptr::null_mut();
    }
    if roc != Status::CUBLAS_STATUS_SUCCESS {
        handle.roc = std::ptr::null_mut();
    }
    if handle.lt.is_null() && handle.roc.is_null() {
        return if LT.get().is_some() { lt } else { roc };
    }
    // SAFETY: as for CUDA's function.
    unsafe { *to = Box::into_raw(Box::new(handle)).cast() };
    Status::CUBLAS_STATUS_SUCCESS
}

unsafe extern "C" fn destroy(handle: cublasLtHandle_t) -> Status {
    // SAFETY: the handle is one of `create` and destroyed once.
    unsafe {
        let handle = Box::from_raw(handle.cast::<Handle>());
        if !handle.roc.is_null() {
            let _at_worst_leaked = roc!(rocblas_destroy_handle(handle.roc));
        }
        if handle.lt.is_null() { Status::CUBLAS_STATUS_SUCCESS } else { lt!(hipblasLtDestroy(handle.lt)) }
    }
}

unsafe extern "C" fn create_desc(to: *mut cublasLtMatmulDesc_t, of: Compute, scale: DataType) -> Status {
    let mut lt: hipblasLtMatmulDesc_t = std::ptr::null_mut();
    if let Some(compute) = compute(of).filter(|_| is_real(scale)) {
        // SAFETY: the call writes one descriptor.
        let status = unsafe { lt!(hipblasLtMatmulDescCreate(&raw mut lt, compute, hipDataType(scale.0))) };
        if status != Status::CUBLAS_STATUS_SUCCESS {
            lt = std::ptr::null_mut();
        }
    }
    let operations = [Operation::CUBLAS_OP_N; 2];
    let desc = Desc { lt, compute: of, scale, operations, epilogue: Epilogue::CUBLASLT_EPILOGUE_DEFAULT };
    // SAFETY: as for CUDA's function.
    unsafe { *to = Box::into_raw(Box::new(desc)).cast() };
    Status::CUBLAS_STATUS_SUCCESS
}

unsafe extern "C" fn destroy_desc(desc: cublasLtMatmulDesc_t) -> Status {
    // SAFETY: the descriptor is one of `create_desc` and destroyed once.
    unsafe {
        let desc = Box::from_raw(desc.cast::<Desc>());
        if desc.lt.is_null() { Status::CUBLAS_STATUS_SUCCESS } else { lt!(hipblasLtMatmulDescDestroy(desc.lt)) }
    }
}

impl Desc {
    /// Sets an attribute of hipBLASLt's descriptor, if there is one.
    unsafe fn set<T>(&self, attribute: HipDescAttribute, value: &T) -> Status {
        if self.lt.is_null() {
            return Status::CUBLAS_STATUS_SUCCESS;
        }
        let value = std::ptr::from_ref(value).cast();
        // SAFETY: the library copies the bytes of the value, which has the attribute's type.
        unsafe { lt!(hipblasLtMatmulDescSetAttribute(self.lt, attribute, value, size_of::<T>())) }
    }
}

unsafe extern "C" fn set_desc(
    desc: cublasLtMatmulDesc_t,
    attribute: DescAttribute,
    value: *const c_void,
    bytes: usize,
) -> Status {
    // SAFETY: the descriptor is one of `create_desc`, and the value has the bytes of the attribute's type.
    unsafe {
        let desc = &mut *desc.cast::<Desc>();
        match (attribute, bytes) {
            (DescAttribute::CUBLASLT_MATMUL_DESC_TRANSA, 4) => {
                desc.operations[0] = Operation(value.cast::<u32>().read());
                desc.set(HipDescAttribute::HIPBLASLT_MATMUL_DESC_TRANSA, &operation(desc.operations[0]).0)
            }
            (DescAttribute::CUBLASLT_MATMUL_DESC_TRANSB, 4) => {
                desc.operations[1] = Operation(value.cast::<u32>().read());
                desc.set(HipDescAttribute::HIPBLASLT_MATMUL_DESC_TRANSB, &operation(desc.operations[1]).0)
            }
            (DescAttribute::CUBLASLT_MATMUL_DESC_EPILOGUE, 4) => {
                desc.epilogue = Epilogue(value.cast::<u32>().read());
                match epilogue(desc.epilogue) {
                    Some(own) => desc.set(HipDescAttribute::HIPBLASLT_MATMUL_DESC_EPILOGUE, &own.0),
                    None => Status::CUBLAS_STATUS_NOT_SUPPORTED,
                }
            }
            (DescAttribute::CUBLASLT_MATMUL_DESC_BIAS_POINTER, 8) => {
                desc.set(HipDescAttribute::HIPBLASLT_MATMUL_DESC_BIAS_POINTER, &value.cast::<u64>().read())
            }
            _ => Status::CUBLAS_STATUS_INVALID_VALUE,
        }
    }
}

unsafe extern "C" fn create_layout(
    to: *mut cublasLtMatrixLayout_t,
    data_type: DataType,
    rows: u64,
    columns: u64,
    leading: i64,
) -> Status {
    let mut lt: hipblasLtMatrixLayout_t = std::ptr::null_mut();
    // SAFETY: the call writes one descriptor.
    let created = is_real(data_type)
        && unsafe { lt!(hipblasLtMatrixLayoutCreate(&raw mut lt, hipDataType(data_type.0), rows, columns, leading)) }
            == Status::CUBLAS_STATUS_SUCCESS;
    if !created {
        lt = std::ptr::null_mut();
    }
    let layout = Layout { lt, data_type, rows, columns, leading, batch: 1, stride: 0 };
    // SAFETY: as for CUDA's function.
    unsafe { *to = Box::into_raw(Box::new(layout)).cast() };
    Status::CUBLAS_STATUS_SUCCESS
}

unsafe extern "C" fn destroy_layout(layout: cublasLtMatrixLayout_t) -> Status {
    // SAFETY: the descriptor is one of `create_layout` and destroyed once.
    unsafe {
        let layout = Box::from_raw(layout.cast::<Layout>());
        if layout.lt.is_null() { Status::CUBLAS_STATUS_SUCCESS } else { lt!(hipblasLtMatrixLayoutDestroy(layout.lt)) }
    }
}

unsafe extern "C" fn set_layout(
    layout: cublasLtMatrixLayout_t,
    attribute: LayoutAttribute,
    value: *const c_void,
    bytes: usize,
) -> Status {
    // SAFETY: the descriptor is one of `create_layout`, and the value has the bytes of the attribute's type.
    unsafe {
        let layout = &mut *layout.cast::<Layout>();
        let own = match (attribute, bytes) {
            (LayoutAttribute::CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, 4) => {
                layout.batch = value.cast::<i32>().read();
                HipLayoutAttribute::HIPBLASLT_MATRIX_LAYOUT_BATCH_COUNT
            }
            (LayoutAttribute::CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, 8) => {
                layout.stride = value.cast::<i64>().read();
                HipLayoutAttribute::HIPBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET
            }
            _ => return Status::CUBLAS_STATUS_INVALID_VALUE,
        };
        if layout.lt.is_null() {
            return Status::CUBLAS_STATUS_SUCCESS;
        }
        lt!(hipblasLtMatrixLayoutSetAttribute(layout.lt, own, value, bytes))
    }
}

unsafe extern "C" fn create_preference(to: *mut cublasLtMatmulPreference_t) -> Status {
    let mut lt: hipblasLtMatmulPreference_t = std::ptr::null_mut();
    // SAFETY: the call writes one descriptor.
    let created = unsafe { lt!(hipblasLtMatmulPreferenceCreate(&raw mut lt)) } == Status::CUBLAS_STATUS_SUCCESS;
    let preference = Preference { lt: if created { lt } else { std::ptr::null_mut() } };
    // SAFETY: as for CUDA's function.
    unsafe { *to = Box::into_raw(Box::new(preference)).cast() };
    Status::CUBLAS_STATUS_SUCCESS
}

unsafe extern "C" fn destroy_preference(preference: cublasLtMatmulPreference_t) -> Status {
    // SAFETY: the descriptor is one of `create_preference` and destroyed once.
    unsafe {
        let preference = Box::from_raw(preference.cast::<Preference>());
        if preference.lt.is_null() {
            return Status::CUBLAS_STATUS_SUCCESS;
        }
        lt!(hipblasLtMatmulPreferenceDestroy(preference.lt))
    }
}

unsafe extern "C" fn set_preference(
    preference: cublasLtMatmulPreference_t,
    attribute: PreferenceAttribute,
    value: *const c_void,
    bytes: usize,
) -> Status {
    // SAFETY: the descriptor is one of `create_preference`.
    let preference = unsafe { &*preference.cast::<Preference>() };
    match attribute {
        PreferenceAttribute::CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES if !preference.lt.is_null() => {
            let own = HipPreferenceAttribute::HIPBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES;
            // SAFETY: the library copies the bytes of the value.
            unsafe { lt!(hipblasLtMatmulPreferenceSetAttribute(preference.lt, own, value, bytes)) }
        }
        // rocBLAS takes the workspace with the product. Kernels of both take any address of an element.
        PreferenceAttribute::CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES
        | PreferenceAttribute::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES
        | PreferenceAttribute::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES
        | PreferenceAttribute::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES
        | PreferenceAttribute::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES => Status::CUBLAS_STATUS_SUCCESS,
        _ => Status::CUBLAS_STATUS_INVALID_VALUE,
    }
}

/// Chooses a kernel of hipBLASLt, else rocBLAS.
#[allow(clippy::too_many_arguments, reason = "the library's function")]
unsafe extern "C" fn choose(
    handle: cublasLtHandle_t,
    desc: cublasLtMatmulDesc_t,
    a: cublasLtMatrixLayout_t,
    b: cublasLtMatrixLayout_t,
    c: cublasLtMatrixLayout_t,
    d: cublasLtMatrixLayout_t,
    preference: cublasLtMatmulPreference_t,
    wanted: c_int,
    to: *mut cublasLtMatmulHeuristicResult_t,
    found: *mut c_int,
) -> Status {
    // SAFETY: the handles are those of the functions above, and there is room for the results that are wanted.
    unsafe {
        let (handle, desc) = (&*handle.cast::<Handle>(), &*desc.cast::<Desc>());
        let [a, b, c, d] = [a, b, c, d].map(|layout| &*layout.cast::<Layout>());
        let preference = &*preference.cast::<Preference>();
        *found = 0;
        if wanted < 1 {
            return Status::CUBLAS_STATUS_INVALID_VALUE;
        }
        let mut result: cublasLtMatmulHeuristicResult_t = std::mem::zeroed();
        let known = ![a.lt, b.lt, c.lt, d.lt].iter().any(|layout| layout.is_null());
        let mut chosen = false;
        if known && !handle.lt.is_null() && !desc.lt.is_null() && !preference.lt.is_null() {
            // Without it, versions differ in the type that they assume.
            let set = desc.set(HipDescAttribute::HIPBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, &d.data_type.0);
            let (mut own, mut count): (hipblasLtMatmulHeuristicResult_t, c_int) = (std::mem::zeroed(), 0);
            let status = lt!(hipblasLtMatmulAlgoGetHeuristic(
                handle.lt,
                desc.lt,
                a.lt,
                b.lt,
                c.lt,
                d.lt,
                preference.lt,
                1,
                &raw mut own,
                &raw mut count
            ));
            chosen = [set, status, of_lt(own.state)].iter().all(|status| *status == Status::CUBLAS_STATUS_SUCCESS)
                && count > 0;
            if chosen {
                result.algo.data.as_mut_ptr().cast::<hipblasLtMatmulAlgo_t>().write(own.algo);
                result.algo.data[LIBRARY] = BY_LT;
                result.workspaceSize = own.workspaceSize;
            }
        }
        if !chosen {
            let types = [a, b, c, d].iter().all(|layout| roc_type(layout.data_type).is_some());
            let plain = desc.epilogue == Epilogue::CUBLASLT_EPILOGUE_DEFAULT;
            if handle.roc.is_null() || !types || !plain || narrow(desc, a, b, d).is_none() {
                return Status::CUBLAS_STATUS_NOT_SUPPORTED;
            }
            result.algo.data[LIBRARY] = BY_ROC;
        }
        result.state = Status::CUBLAS_STATUS_SUCCESS;
        to.write(result);
        *found = 1;
        Status::CUBLAS_STATUS_SUCCESS
    }
}

/// Returns m, n, k and the leading dimensions as rocBLAS takes them; `None` if one is too large.
fn narrow(desc: &Desc, a: &Layout, b: &Layout, d: &Layout) -> Option<([i32; 3], [i32; 3])> {
    let inner = if desc.operations[0] == Operation::CUBLAS_OP_N { a.columns } else { a.rows };
    let [m, n, k] = [d.rows, d.columns, inner].map(|extent| i32::try_from(extent).ok());
    let [lda, ldb, ldd] = [a.leading, b.leading, d.leading].map(|extent| i32::try_from(extent).ok());
    Some(([m?, n?, k?], [lda?, ldb?, ldd?]))
}

#[allow(clippy::too_many_arguments, reason = "the library's function")]
unsafe extern "C" fn multiply(
    handle: cublasLtHandle_t,
    desc: cublasLtMatmulDesc_t,
    alpha: *const c_void,
    a: *const c_void,
    a_layout: cublasLtMatrixLayout_t,
    b: *const c_void,
    b_layout: cublasLtMatrixLayout_t,
    beta: *const c_void,
    c: *const c_void,
    c_layout: cublasLtMatrixLayout_t,
    d: *mut c_void,
    d_layout: cublasLtMatrixLayout_t,
    algo: *const cublasLtMatmulAlgo_t,
    workspace: *mut c_void,
    bytes: usize,
    stream: cudaStream_t,
) -> Status {
    // SAFETY: the handles are those of the functions above; the rest is as for CUDA's function.
    unsafe {
        let (handle, desc) = (&*handle.cast::<Handle>(), &*desc.cast::<Desc>());
        let [of_a, of_b, of_c, of_d] = [a_layout, b_layout, c_layout, d_layout].map(|layout| &*layout.cast::<Layout>());
        if (*algo).data[LIBRARY] == BY_LT {
            let algo = (*algo).data.as_ptr().cast::<hipblasLtMatmulAlgo_t>();
            return lt!(hipblasLtMatmul(
                handle.lt,
                desc.lt,
                alpha,
                a,
                of_a.lt,
                b,
                of_b.lt,
                beta,
                c,
                of_c.lt,
                d,
                of_d.lt,
                algo,
                workspace,
                bytes,
                stream.cast()
            ));
        }
        let types = [of_a.data_type, of_b.data_type, of_c.data_type, of_d.data_type, desc.scale].map(roc_type);
        let ([Some(type_a), Some(type_b), Some(type_c), Some(type_d), Some(scale)], Some((extents, leading))) =
            (types, narrow(desc, of_a, of_b, of_d))
        else {
            return Status::CUBLAS_STATUS_NOT_SUPPORTED;
        };
        debug_assert!(compute(desc.compute).is_some(), "rocBLAS computes in the type of the factors");
        let ([m, n, k], [lda, ldb, ldd], ldc) = (extents, leading, of_c.leading as i32);
        for status in [
            roc!(rocblas_set_stream(handle.roc, stream.cast())),
            roc!(rocblas_set_workspace(handle.roc, workspace, bytes)),
        ] {
            if status != Status::CUBLAS_STATUS_SUCCESS {
                return status;
            }
        }
        let [op_a, op_b] = desc.operations.map(roc_operation);
        let algo = rocblas_gemm_algo::rocblas_gemm_algo_standard;
        roc!(rocblas_gemm_strided_batched_ex(
            handle.roc,
            op_a,
            op_b,
            m,
            n,
            k,
            alpha,
            a,
            type_a,
            lda,
            of_a.stride,
            b,
            type_b,
            ldb,
            of_b.stride,
            beta,
            c,
            type_c,
            ldc,
            of_c.stride,
            d,
            type_d,
            ldd,
            of_d.stride,
            of_d.batch,
            scale,
            algo,
            0,
            0
        ))
    }
}
