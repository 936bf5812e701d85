//! hipSPARSE under the interface of cuSPARSE.

use std::ffi::c_void;
use std::path::Path;
use std::sync::OnceLock;

use cuprous_cuda_sys::MissingLibrary;
use cuprous_cuda_sys::cusparse::{
    CusparseApi, cudaDataType_t, cusparseConstDnMatDescr_t, cusparseConstSpMatDescr_t, cusparseDnMatDescr_t,
    cusparseHandle_t, cusparseIndexBase_t, cusparseIndexType_t, cusparseOperation_t, cusparseOrder_t,
    cusparseSpMMAlg_t, cusparseSpMVAlg_t, cusparseStatus_t,
};

use super::{same, same_data_types};
use crate::hipsparse::{
    HipsparseApi, hipDataType, hipsparseIndexBase_t, hipsparseIndexType_t, hipsparseOperation_t, hipsparseOrder_t,
    hipsparseSpMMAlg_t, hipsparseSpMVAlg_t, hipsparseStatus_t,
};
use crate::loader;

same_data_types!(cudaDataType_t, hipDataType);
same! {
    cusparseStatus_t::CUSPARSE_STATUS_SUCCESS = hipsparseStatus_t::HIPSPARSE_STATUS_SUCCESS;
    cusparseOperation_t::CUSPARSE_OPERATION_NON_TRANSPOSE = hipsparseOperation_t::HIPSPARSE_OPERATION_NON_TRANSPOSE;
    cusparseOperation_t::CUSPARSE_OPERATION_TRANSPOSE = hipsparseOperation_t::HIPSPARSE_OPERATION_TRANSPOSE;
    cusparseIndexBase_t::CUSPARSE_INDEX_BASE_ZERO = hipsparseIndexBase_t::HIPSPARSE_INDEX_BASE_ZERO;
    cusparseIndexType_t::CUSPARSE_INDEX_32I = hipsparseIndexType_t::HIPSPARSE_INDEX_32I;
    cusparseIndexType_t::CUSPARSE_INDEX_64I = hipsparseIndexType_t::HIPSPARSE_INDEX_64I;
    cusparseOrder_t::CUSPARSE_ORDER_ROW = hipsparseOrder_t::HIPSPARSE_ORDER_ROW;
    cusparseSpMVAlg_t::CUSPARSE_SPMV_ALG_DEFAULT = hipsparseSpMVAlg_t::HIPSPARSE_SPMV_ALG_DEFAULT;
}

static HIP: OnceLock<HipsparseApi> = OnceLock::new();

/// Returns hipSPARSE.
///
/// # Errors
/// It is not installed.
pub fn cusparse() -> Result<&'static CusparseApi, MissingLibrary> {
    static LOADED: OnceLock<CusparseApi> = OnceLock::new();
    loader::once(&LOADED, &loader::HIPSPARSE, load)
}

fn load(path: &Path) -> Result<CusparseApi, libloading::Error> {
    // SAFETY: the file is hipSPARSE by its name. Each function has the parameters of the field's type: handles are
    // pointers, and the numbers of all values that are passed are asserted above.
    unsafe {
        let library = libloading::Library::new(path)?;
        let hip = HipsparseApi::new(path)?;
        HIP.get_or_init(|| hip);
        // None of CUDA's names is in the library, so all fields are errors until they are filled.
        let mut api = CusparseApi::new(path)?;
        macro_rules! table {
            ($($field:ident: $symbol:literal,)*) => { $(api.$field = library.get($symbol).map(|symbol| *symbol);)* };
        }
        table! {
            cusparseCreate: b"hipsparseCreate\0",
            cusparseDestroy: b"hipsparseDestroy\0",
            cusparseGetErrorString: b"hipsparseGetErrorString\0",
            cusparseSetStream: b"hipsparseSetStream\0",
            cusparseCreateConstCsr: b"hipsparseCreateConstCsr\0",
            cusparseDestroySpMat: b"hipsparseDestroySpMat\0",
            cusparseCreateConstDnVec: b"hipsparseCreateConstDnVec\0",
            cusparseCreateDnVec: b"hipsparseCreateDnVec\0",
            cusparseDestroyDnVec: b"hipsparseDestroyDnVec\0",
            cusparseCreateConstDnMat: b"hipsparseCreateConstDnMat\0",
            cusparseCreateDnMat: b"hipsparseCreateDnMat\0",
            cusparseDestroyDnMat: b"hipsparseDestroyDnMat\0",
            cusparseSpMV: b"hipsparseSpMV\0",
            cusparseSpMV_bufferSize: b"hipsparseSpMV_bufferSize\0",
        }
        api.cusparseSpMM = Ok(multiply);
        api.cusparseSpMM_bufferSize = Ok(multiply_size);
        Ok(api)
    }
}

/// Defines a product of matrices. The library's default algorithm takes matrices of either order: CUDA's other one, which
/// is there for row-major matrices, has no counterpart.
macro_rules! product {
    ($own:ident, $hip:ident, $last:ty) => {
        #[allow(clippy::too_many_arguments, reason = "the library's function")]
        unsafe extern "C" fn $own(
            handle: cusparseHandle_t,
            op_a: cusparseOperation_t,
            op_b: cusparseOperation_t,
            alpha: *const c_void,
            a: cusparseConstSpMatDescr_t,
            b: cusparseConstDnMatDescr_t,
            beta: *const c_void,
            c: cusparseDnMatDescr_t,
            compute: cudaDataType_t,
            _: cusparseSpMMAlg_t,
            last: $last,
        ) -> cusparseStatus_t {
            let Some(Ok(function)) = HIP.get().map(|hip| &hip.$hip) else {
                return cusparseStatus_t::CUSPARSE_STATUS_NOT_SUPPORTED;
            };
            let algorithm = hipsparseSpMMAlg_t::HIPSPARSE_SPMM_ALG_DEFAULT;
            let [op_a, op_b] = [op_a, op_b].map(|op| hipsparseOperation_t(op.0));
            let (handle, a, b, c) = (handle.cast(), a.cast(), b.cast(), c.cast());
            let of = hipDataType(compute.0);
            // SAFETY: as for CUDA's function.
            let status = unsafe { function(handle, op_a, op_b, alpha, a, b, beta, c, of, algorithm, last) };
            cusparseStatus_t(status.0)
        }
    };
}
product!(multiply, hipsparseSpMM, *mut c_void);
product!(multiply_size, hipsparseSpMM_bufferSize, *mut usize);
