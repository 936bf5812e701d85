//! Products of sparse matrices with dense ones by cuSPARSE.

use std::ffi::{CStr, c_void};

use cuprous_cuda_sys as sys;
use sys::cusparse::{
    CusparseApi, cudaDataType_t as DataType, cudaStream_t, cusparseConstDnMatDescr_t, cusparseConstDnVecDescr_t,
    cusparseConstSpMatDescr_t, cusparseDnMatDescr_t, cusparseDnVecDescr_t, cusparseHandle_t, cusparseIndexBase_t,
    cusparseIndexType_t, cusparseOperation_t, cusparseOrder_t, cusparseSpMMAlg_t, cusparseSpMVAlg_t, cusparseStatus_t,
};

use crate::driver::{self, Context, DevPtr, Stream, is_started};
use crate::error::{CudaError, Result};

/// Element types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Element {
    F32,
    F64,
    C64,
    C128,
}

impl Element {
    fn data_type(self) -> DataType {
        match self {
            Element::F32 => DataType::CUDA_R_32F,
            Element::F64 => DataType::CUDA_R_64F,
            Element::C64 => DataType::CUDA_C_32F,
            Element::C128 => DataType::CUDA_C_64F,
        }
    }

    /// Returns 1 as the library reads factors of this type.
    fn one(self) -> [u8; 16] {
        let mut bytes = [0; 16];
        match self {
            Element::F32 | Element::C64 => bytes[..4].copy_from_slice(&1f32.to_ne_bytes()),
            Element::F64 | Element::C128 => bytes[..8].copy_from_slice(&1f64.to_ne_bytes()),
        }
        bytes
    }
}

/// `out = matrix × dense`, or with the matrix transposed; dense matrices are row-major.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SparseProduct {
    pub(crate) element: Element,
    /// Indices are int64, not int32.
    pub(crate) wide_index: bool,
    /// Extents of the matrix as it is stored, with compressed rows.
    pub(crate) rows: i64,
    pub(crate) columns: i64,
    pub(crate) count: i64,
    /// Multiplies by the transpose.
    pub(crate) transposed: bool,
    /// Columns of the dense matrix.
    pub(crate) width: i64,
}

/// The addresses of the operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SparseOperands {
    pub(crate) starts: DevPtr,
    pub(crate) columns: DevPtr,
    pub(crate) values: DevPtr,
    pub(crate) dense: DevPtr,
    pub(crate) out: DevPtr,
}

impl SparseProduct {
    fn describe(&self) -> String {
        let SparseProduct { element, rows, columns, count, width, .. } = self;
        let transposed = if self.transposed { ", transposed," } else { "" };
        format!("a product of {rows} × {columns} ({count} values, {element:?}){transposed} with {width} columns")
    }

    /// Returns the rows of the dense matrix and of the result.
    fn heights(&self) -> (i64, i64) {
        if self.transposed { (self.rows, self.columns) } else { (self.columns, self.rows) }
    }

    fn operation(&self) -> cusparseOperation_t {
        if self.transposed {
            cusparseOperation_t::CUSPARSE_OPERATION_TRANSPOSE
        } else {
            cusparseOperation_t::CUSPARSE_OPERATION_NON_TRANSPOSE
        }
    }

    /// Returns the algorithm for row-major matrices. For the transpose there is only the default one.
    fn algorithm(&self) -> cusparseSpMMAlg_t {
        if self.transposed {
            cusparseSpMMAlg_t::CUSPARSE_SPMM_ALG_DEFAULT
        } else {
            cusparseSpMMAlg_t::CUSPARSE_SPMM_CSR_ALG2
        }
    }
}

macro_rules! call {
    ($api:expr, $what:expr, $name:ident($($arg:expr),* $(,)?)) => {
        match &$api.$name {
            Ok(function) => check($api, stringify!($name), $what, function($($arg),*)),
            Err(e) => Err($crate::driver::missing_symbol(stringify!($name), e)),
        }
    };
}

fn check(api: &CusparseApi, call: &'static str, what: &SparseProduct, status: cusparseStatus_t) -> Result<()> {
    if status == cusparseStatus_t::CUSPARSE_STATUS_SUCCESS {
        return Ok(());
    }
    let status = match &api.cusparseGetErrorString {
        // SAFETY: the library returns a static string for every status, known or not.
        Ok(describe) => unsafe { CStr::from_ptr(describe(status)) }.to_string_lossy().into_owned(),
        Err(_) => format!("status {}", status.0),
    };
    Err(CudaError::Library { call, status, what: what.describe() })
}

/// A placeholder for messages about the handle, which concern no product.
const NO_PROBLEM: SparseProduct = SparseProduct {
    element: Element::F32,
    wide_index: false,
    rows: 0,
    columns: 0,
    count: 0,
    transposed: false,
    width: 0,
};

/// cuSPARSE in one context. Its functions are called one at a time (`&mut self`).
#[derive(Debug)]
pub(crate) struct Cusparse {
    handle: cusparseHandle_t,
    context: &'static Context,
}

// SAFETY: the handle may be used from any thread, and `&mut self` excludes concurrent use.
unsafe impl Send for Cusparse {}

#[repr(align(16))]
struct Aligned([u8; 16]);

impl Cusparse {
    /// Loads the library on the first call.
    ///
    /// # Errors
    /// The library is not installed or does not start.
    pub(crate) fn new(context: &'static Context) -> Result<Cusparse> {
        let api = driver::cusparse()?;
        context.make_current()?;
        let mut handle: cusparseHandle_t = std::ptr::null_mut();
        // SAFETY: the call writes one handle; the context is current.
        unsafe { call!(api, &NO_PROBLEM, cusparseCreate(&raw mut handle)) }?;
        Ok(Cusparse { handle, context })
    }

    /// Returns the bytes of workspace for a product.
    ///
    /// # Errors
    /// The library refuses the product.
    pub(crate) fn workspace(&mut self, product: &SparseProduct) -> Result<usize> {
        // The library reads no memory here, but refuses null.
        let dummy = DevPtr(1 << 8);
        let operands = SparseOperands { starts: dummy, columns: dummy, values: dummy, dense: dummy, out: dummy };
        self.context.make_current()?;
        let api = driver::cusparse()?;
        let descriptors = Descriptors::new(api, product, &operands)?;
        let (one, zero) = (Aligned(product.element.one()), Aligned([0; 16]));
        let (one, zero) = (one.0.as_ptr().cast::<c_void>(), zero.0.as_ptr().cast::<c_void>());
        let (handle, op, element) = (self.handle, product.operation(), product.element.data_type());
        let mut bytes = 0;
        let size = &raw mut bytes;
        // SAFETY: descriptors and factors live until the call returns, which writes one size.
        unsafe {
            match &descriptors.dense {
                Dense::Vectors(x, y) => {
                    let algorithm = cusparseSpMVAlg_t::CUSPARSE_SPMV_ALG_DEFAULT;
                    let matrix = descriptors.matrix;
                    call!(
                        api,
                        product,
                        cusparseSpMV_bufferSize(handle, op, one, matrix, *x, zero, *y, element, algorithm, size)
                    )
                }
                Dense::Matrices(x, y) => {
                    let plain = cusparseOperation_t::CUSPARSE_OPERATION_NON_TRANSPOSE;
                    let (matrix, algorithm) = (descriptors.matrix, product.algorithm());
                    call!(
                        api,
                        product,
                        cusparseSpMM_bufferSize(handle, op, plain, one, matrix, *x, zero, *y, element, algorithm, size)
                    )
                }
            }
        }?;
        Ok(bytes)
    }

    /// Submits a product.
    ///
    /// # Errors
    /// The library fails.
    ///
    /// # Safety
    /// Operands and workspace must be live allocations of the product's sizes, and starts and columns must be within
    /// the matrix.
    pub(crate) unsafe fn run(
        &mut self,
        product: &SparseProduct,
        operands: &SparseOperands,
        workspace: DevPtr,
        stream: &Stream,
    ) -> Result<()> {
        self.context.make_current()?;
        let api = driver::cusparse()?;
        let descriptors = Descriptors::new(api, product, operands)?;
        let (one, zero) = (Aligned(product.element.one()), Aligned([0; 16]));
        let (one, zero) = (one.0.as_ptr().cast::<c_void>(), zero.0.as_ptr().cast::<c_void>());
        let (handle, op, element) = (self.handle, product.operation(), product.element.data_type());
        let buffer = workspace.0 as *mut c_void;
        // SAFETY: the caller vouches for the memory; factors and descriptors are read before the calls return; the
        // driver's and the runtime's stream handles are the same.
        unsafe {
            call!(api, product, cusparseSetStream(handle, stream.raw() as cudaStream_t))?;
            match &descriptors.dense {
                Dense::Vectors(x, y) => {
                    let algorithm = cusparseSpMVAlg_t::CUSPARSE_SPMV_ALG_DEFAULT;
                    let matrix = descriptors.matrix;
                    call!(api, product, cusparseSpMV(handle, op, one, matrix, *x, zero, *y, element, algorithm, buffer))
                }
                Dense::Matrices(x, y) => {
                    let plain = cusparseOperation_t::CUSPARSE_OPERATION_NON_TRANSPOSE;
                    let (matrix, algorithm) = (descriptors.matrix, product.algorithm());
                    call!(
                        api,
                        product,
                        cusparseSpMM(handle, op, plain, one, matrix, *x, zero, *y, element, algorithm, buffer)
                    )
                }
            }
        }
    }
}

impl Drop for Cusparse {
    fn drop(&mut self) {
        if is_started()
            && let Ok(api) = driver::cusparse()
        {
            // SAFETY: the handle is owned by this value.
            let _at_worst_leaked = unsafe { call!(api, &NO_PROBLEM, cusparseDestroy(self.handle)) };
        }
    }
}

/// Dense operand and result.
enum Dense {
    Vectors(cusparseConstDnVecDescr_t, cusparseDnVecDescr_t),
    Matrices(cusparseConstDnMatDescr_t, cusparseDnMatDescr_t),
}

/// The library's descriptors of a product's operands.
struct Descriptors {
    api: &'static CusparseApi,
    matrix: cusparseConstSpMatDescr_t,
    dense: Dense,
}

impl Descriptors {
    fn new(api: &'static CusparseApi, product: &SparseProduct, operands: &SparseOperands) -> Result<Descriptors> {
        let SparseProduct { rows, columns, count, width, .. } = *product;
        let element = product.element.data_type();
        let index = if product.wide_index {
            cusparseIndexType_t::CUSPARSE_INDEX_64I
        } else {
            cusparseIndexType_t::CUSPARSE_INDEX_32I
        };
        let (base, order) = (cusparseIndexBase_t::CUSPARSE_INDEX_BASE_ZERO, cusparseOrder_t::CUSPARSE_ORDER_ROW);
        let at = |address: DevPtr| address.0 as *mut c_void;
        let (high, low) = product.heights();
        let vectors = width == 1;
        let dense = if vectors {
            Dense::Vectors(std::ptr::null(), std::ptr::null_mut())
        } else {
            Dense::Matrices(std::ptr::null(), std::ptr::null_mut())
        };
        // If a call fails, the descriptors created so far are destroyed with `descriptors`.
        let mut descriptors = Descriptors { api, matrix: std::ptr::null(), dense };
        let SparseOperands { starts, columns: column_indices, values, dense, out } = operands;
        let matrix = &raw mut descriptors.matrix;
        // SAFETY: each call writes one descriptor, which stores addresses and reads no memory.
        unsafe {
            call!(
                api,
                product,
                cusparseCreateConstCsr(
                    matrix,
                    rows,
                    columns,
                    count,
                    at(*starts),
                    at(*column_indices),
                    at(*values),
                    index,
                    index,
                    base,
                    element
                )
            )?;
            match &mut descriptors.dense {
                Dense::Vectors(x, y) => {
                    call!(api, product, cusparseCreateConstDnVec(&raw mut *x, high, at(*dense), element))?;
                    call!(api, product, cusparseCreateDnVec(&raw mut *y, low, at(*out), element))?;
                }
                Dense::Matrices(x, y) => {
                    let from = at(*dense);
                    call!(
                        api,
                        product,
                        cusparseCreateConstDnMat(&raw mut *x, high, width, width, from, element, order)
                    )?;
                    call!(api, product, cusparseCreateDnMat(&raw mut *y, low, width, width, at(*out), element, order))?;
                }
            }
        }
        Ok(descriptors)
    }
}

impl Drop for Descriptors {
    fn drop(&mut self) {
        let api = self.api;
        // SAFETY: the descriptors are owned by this value, or null if they were not created.
        unsafe {
            if !self.matrix.is_null() {
                let _at_worst_leaked = call!(api, &NO_PROBLEM, cusparseDestroySpMat(self.matrix));
            }
            match self.dense {
                Dense::Vectors(x, y) => {
                    for vector in [x, y.cast_const()].into_iter().filter(|v| !v.is_null()) {
                        let _at_worst_leaked = call!(api, &NO_PROBLEM, cusparseDestroyDnVec(vector));
                    }
                }
                Dense::Matrices(x, y) => {
                    for matrix in [x, y.cast_const()].into_iter().filter(|m| !m.is_null()) {
                        let _at_worst_leaked = call!(api, &NO_PROBLEM, cusparseDestroyDnMat(matrix));
                    }
                }
            }
        }
    }
}
