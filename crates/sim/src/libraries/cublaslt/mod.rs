//! cuBLASLt: descriptors as values, one algorithm, and matrix products by the `gemm` crate.

mod problem;
mod product;
#[cfg(test)]
mod tests;

use std::ffi::{c_char, c_int, c_void};

use cuprous_cuda_sys::cublaslt::{
    cublasComputeType_t as Compute, cublasLtEpilogue_t as LtEpilogue, cublasLtHandle_t, cublasLtMatmulAlgo_t,
    cublasLtMatmulDesc_t, cublasLtMatmulDescAttributes_t as DescAttribute, cublasLtMatmulHeuristicResult_t,
    cublasLtMatmulPreference_t, cublasLtMatmulPreferenceAttributes_t as PreferenceAttribute, cublasLtMatrixLayout_t,
    cublasLtMatrixLayoutAttribute_t as LayoutAttribute, cublasStatus_t as LtStatus, cudaDataType_t, cudaStream_t,
};
use half::{bf16, f16};
use num_complex::Complex;

use super::number::Type;
use super::{Status, address, ensure, objects, status, submit, write};
use problem::problem;
use product::{Addresses, Number, Problem, multiply};

type Result<T = ()> = std::result::Result<T, LtStatus>;

const INVALID: LtStatus = LtStatus::INVALID;
const UNSUPPORTED: LtStatus = LtStatus::UNSUPPORTED;

/// Marks an algorithm of this library. The other words are the alignments that it requires.
const ALGORITHM: u64 = 0x6375_7072_6f75_7331;

/// The largest alignment that an algorithm requires, which is also the default of a preference.
const MAX_ALIGNMENT: u32 = 256;

struct Handle;

/// A column-major matrix, or a batch of matrices at equal distances.
#[derive(Clone, Copy, PartialEq)]
struct Layout {
    element: Option<Type>,
    rows: u64,
    columns: u64,
    leading: i64,
    batch: i32,
    batch_stride: i64,
}

#[derive(Clone, Copy)]
struct Desc {
    compute: Compute,
    scale: cudaDataType_t,
    transposes: [i32; 2],
    epilogue: u32,
    bias: usize,
}

/// Alignments in bytes of A, B, C and D.
#[derive(Clone, Copy)]
struct Preference {
    alignment: [u32; 4],
}

/// Reads an attribute.
///
/// # Safety
/// `from` is null or valid for a read of `bytes` bytes.
unsafe fn attribute<T: Copy>(from: *const c_void, bytes: usize) -> Result<T> {
    ensure(!from.is_null() && bytes == size_of::<T>(), INVALID)?;
    // SAFETY: the attribute has this size.
    Ok(unsafe { from.cast::<T>().read_unaligned() })
}

/// Creates a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cublasLtCreate(handle: *mut cublasLtHandle_t) -> LtStatus {
    // SAFETY: by the caller's contract.
    status(|| unsafe { write(handle, objects::create(Handle) as cublasLtHandle_t) })
}

/// Destroys a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cublasLtDestroy(handle: cublasLtHandle_t) -> LtStatus {
    status(|| objects::destroy::<Handle>(handle.addr()).ok_or(INVALID))
}

/// Returns the text of a status.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cublasLtGetStatusString(status: LtStatus) -> *const c_char {
    match status {
        LtStatus::CUBLAS_STATUS_SUCCESS => c"CUBLAS_STATUS_SUCCESS",
        LtStatus::CUBLAS_STATUS_INVALID_VALUE => c"CUBLAS_STATUS_INVALID_VALUE",
        LtStatus::CUBLAS_STATUS_NOT_SUPPORTED => c"CUBLAS_STATUS_NOT_SUPPORTED",
        LtStatus::CUBLAS_STATUS_EXECUTION_FAILED => c"CUBLAS_STATUS_EXECUTION_FAILED",
        LtStatus::CUBLAS_STATUS_INTERNAL_ERROR => c"CUBLAS_STATUS_INTERNAL_ERROR",
        _ => c"unknown cuBLAS status",
    }
    .as_ptr()
}

/// Returns the version of CUDA 13.1's library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cublasLtGetVersion() -> usize {
    130_100
}

/// Creates a layout.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cublasLtMatrixLayoutCreate(
    layout: *mut cublasLtMatrixLayout_t,
    data_type: cudaDataType_t,
    rows: u64,
    columns: u64,
    leading: i64,
) -> LtStatus {
    let value = Layout { element: Type::of(data_type.0), rows, columns, leading, batch: 1, batch_stride: 0 };
    // SAFETY: by the caller's contract.
    status(|| unsafe { write(layout, objects::create(value) as cublasLtMatrixLayout_t) })
}

/// Destroys a layout.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cublasLtMatrixLayoutDestroy(layout: cublasLtMatrixLayout_t) -> LtStatus {
    status(|| objects::destroy::<Layout>(layout.addr()).ok_or(INVALID))
}

/// Sets the number of matrices or their distance. Other attributes are not supported.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cublasLtMatrixLayoutSetAttribute(
    layout: cublasLtMatrixLayout_t,
    which: LayoutAttribute,
    from: *const c_void,
    bytes: usize,
) -> LtStatus {
    let set = |layout: &mut Layout| -> Result {
        // SAFETY: by the caller's contract.
        unsafe {
            match which {
                LayoutAttribute::CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT => layout.batch = attribute(from, bytes)?,
                LayoutAttribute::CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET => {
                    layout.batch_stride = attribute(from, bytes)?;
                }
                _ => return Err(UNSUPPORTED),
            }
        }
        Ok(())
    };
    status(|| objects::update(layout.addr(), set).ok_or(INVALID)?)
}

/// Creates the description of a product.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cublasLtMatmulDescCreate(
    desc: *mut cublasLtMatmulDesc_t,
    compute: Compute,
    scale: cudaDataType_t,
) -> LtStatus {
    let epilogue = LtEpilogue::CUBLASLT_EPILOGUE_DEFAULT.0;
    let value = Desc { compute, scale, transposes: [0; 2], epilogue, bias: 0 };
    // SAFETY: by the caller's contract.
    status(|| unsafe { write(desc, objects::create(value) as cublasLtMatmulDesc_t) })
}

/// Destroys the description of a product.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cublasLtMatmulDescDestroy(desc: cublasLtMatmulDesc_t) -> LtStatus {
    status(|| objects::destroy::<Desc>(desc.addr()).ok_or(INVALID))
}

/// Sets transposes, the epilogue or the bias. Other attributes are not supported.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cublasLtMatmulDescSetAttribute(
    desc: cublasLtMatmulDesc_t,
    which: DescAttribute,
    from: *const c_void,
    bytes: usize,
) -> LtStatus {
    let set = |desc: &mut Desc| -> Result {
        // SAFETY: by the caller's contract.
        unsafe {
            match which {
                DescAttribute::CUBLASLT_MATMUL_DESC_TRANSA => desc.transposes[0] = attribute(from, bytes)?,
                DescAttribute::CUBLASLT_MATMUL_DESC_TRANSB => desc.transposes[1] = attribute(from, bytes)?,
                DescAttribute::CUBLASLT_MATMUL_DESC_EPILOGUE => desc.epilogue = attribute(from, bytes)?,
                DescAttribute::CUBLASLT_MATMUL_DESC_BIAS_POINTER => desc.bias = attribute(from, bytes)?,
                _ => return Err(UNSUPPORTED),
            }
        }
        Ok(())
    };
    status(|| objects::update(desc.addr(), set).ok_or(INVALID)?)
}

/// Creates a preference.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cublasLtMatmulPreferenceCreate(preference: *mut cublasLtMatmulPreference_t) -> LtStatus {
    let value = Preference { alignment: [MAX_ALIGNMENT; 4] };
    // SAFETY: by the caller's contract.
    status(|| unsafe { write(preference, objects::create(value) as cublasLtMatmulPreference_t) })
}

/// Destroys a preference.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cublasLtMatmulPreferenceDestroy(preference: cublasLtMatmulPreference_t) -> LtStatus {
    status(|| objects::destroy::<Preference>(preference.addr()).ok_or(INVALID))
}

/// Sets the workspace, which no algorithm needs, or the alignment of an operand. Other attributes are not supported.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cublasLtMatmulPreferenceSetAttribute(
    preference: cublasLtMatmulPreference_t,
    which: PreferenceAttribute,
    from: *const c_void,
    bytes: usize,
) -> LtStatus {
    let operand = match which {
        PreferenceAttribute::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES => Some(0),
        PreferenceAttribute::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES => Some(1),
        PreferenceAttribute::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES => Some(2),
        PreferenceAttribute::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES => Some(3),
        _ => None,
    };
    let set = |preference: &mut Preference| -> Result {
        // SAFETY: by the caller's contract.
        unsafe {
            if let Some(operand) = operand {
                let bytes: u32 = attribute(from, bytes)?;
                ensure(bytes.is_power_of_two(), INVALID)?;
                preference.alignment[operand] = bytes.min(MAX_ALIGNMENT);
            } else if which == PreferenceAttribute::CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES {
                attribute::<u64>(from, bytes)?;
            } else {
                return Err(UNSUPPORTED);
            }
        }
        Ok(())
    };
    status(|| objects::update(preference.addr(), set).ok_or(INVALID)?)
}

/// Returns the four layouts of a product.
fn layouts(handles: [cublasLtMatrixLayout_t; 4]) -> Result<[Layout; 4]> {
    let [a, b, c, d] = handles.map(|layout| objects::get::<Layout>(layout.addr()).ok_or(INVALID));
    Ok([a?, b?, c?, d?])
}

/// Returns the algorithm for a product. It requires the alignments of the preference.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cublasLtMatmulAlgoGetHeuristic(
    handle: cublasLtHandle_t,
    desc: cublasLtMatmulDesc_t,
    a: cublasLtMatrixLayout_t,
    b: cublasLtMatrixLayout_t,
    c: cublasLtMatrixLayout_t,
    d: cublasLtMatrixLayout_t,
    preference: cublasLtMatmulPreference_t,
    requested: c_int,
    results: *mut cublasLtMatmulHeuristicResult_t,
    count: *mut c_int,
) -> LtStatus {
    status(|| {
        objects::update(handle.addr(), |_: &mut Handle| ()).ok_or(INVALID)?;
        ensure(requested > 0 && !results.is_null() && !count.is_null(), INVALID)?;
        // SAFETY: the count is not null.
        unsafe { write(count, 0) }?;
        let desc: Desc = objects::get(desc.addr()).ok_or(INVALID)?;
        let Preference { alignment } = objects::get(preference.addr()).ok_or(INVALID)?;
        problem(&desc, layouts([a, b, c, d])?.each_ref())?;
        let [a, b, c, d] = alignment.map(u64::from);
        let algo = cublasLtMatmulAlgo_t { data: [ALGORITHM, a, b, c, d, 0, 0, 0] };
        let result = cublasLtMatmulHeuristicResult_t {
            algo,
            workspaceSize: 0,
            state: LtStatus::SUCCESS,
            wavesCount: 1.0,
            reserved: [0; 4],
        };
        // SAFETY: neither is null, and there is room for at least one result.
        unsafe {
            write(results, result)?;
            write(count, 1)
        }
    })
}

/// Says whether an algorithm is for a product; this library's only one is for every product that it has.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cublasLtMatmulAlgoCheck(
    handle: cublasLtHandle_t,
    desc: cublasLtMatmulDesc_t,
    a: cublasLtMatrixLayout_t,
    b: cublasLtMatrixLayout_t,
    c: cublasLtMatrixLayout_t,
    d: cublasLtMatrixLayout_t,
    algo: *const cublasLtMatmulAlgo_t,
    result: *mut cublasLtMatmulHeuristicResult_t,
) -> LtStatus {
    status(|| {
        objects::update(handle.addr(), |_: &mut Handle| ()).ok_or(INVALID)?;
        ensure(!algo.is_null() && !result.is_null(), INVALID)?;
        let desc: Desc = objects::get(desc.addr()).ok_or(INVALID)?;
        problem(&desc, layouts([a, b, c, d])?.each_ref())?;
        // SAFETY: the algorithm is not null.
        let algo = unsafe { *algo };
        ensure(algo.data[0] == ALGORITHM, INVALID)?;
        let state = LtStatus::SUCCESS;
        let found =
            cublasLtMatmulHeuristicResult_t { algo, workspaceSize: 0, state, wavesCount: 1.0, reserved: [0; 4] };
        // SAFETY: the result is not null.
        unsafe { write(result, found) }
    })
}

/// Submits a product: D = epilogue(alpha · A × B + beta · C).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cublasLtMatmul(
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
    _workspace: *mut c_void,
    _workspace_bytes: usize,
    stream: cudaStream_t,
) -> LtStatus {
    status(|| {
        objects::update(handle.addr(), |_: &mut Handle| ()).ok_or(INVALID)?;
        let desc: Desc = objects::get(desc.addr()).ok_or(INVALID)?;
        let layouts = layouts([a_layout, b_layout, c_layout, d_layout])?;
        let (element, out, problem) = problem(&desc, layouts.each_ref())?;
        ensure(!alpha.is_null() && !beta.is_null(), INVALID)?;
        let mut alignment = [element.size(), element.size(), out.size(), out.size()];
        if !algo.is_null() {
            // SAFETY: the algorithm is not null.
            let [mark, required @ .., _, _, _] = unsafe { *algo }.data;
            ensure(mark == ALGORITHM, INVALID)?;
            alignment = std::array::from_fn(|k| alignment[k].max(required[k] as usize));
        }
        let at = Addresses {
            a: address(a, alignment[0])?,
            b: address(b, alignment[1])?,
            // An addend that is not read may be null.
            c: if c.is_null() { 0 } else { address(c, alignment[2])? },
            d: address(d, alignment[3])?,
            bias: if problem.bias { address(desc.bias as *const c_void, out.size())? } else { 0 },
        };
        ensure(at.c != at.d || layouts[2] == layouts[3], INVALID)?;
        /// Submits a product of elements `T` with a result of elements `Out`.
        unsafe fn run<T: Number, Out: Number<Wide = T::Wide>>(
            problem: Problem,
            at: Addresses,
            factors: [*const c_void; 2],
            stream: usize,
        ) -> Result {
            // SAFETY: the factors are of the scale type, which is the type of the sum.
            let [alpha, beta] = factors.map(|factor| unsafe { factor.cast::<T::Wide>().read_unaligned() });
            ensure(at.c != 0 || beta == T::Wide::default(), INVALID)?;
            // SAFETY: the caller of the library vouches for the memory when the work runs.
            submit(stream, move || unsafe { multiply::<T, Out>(&problem, at, alpha, beta) })
        }
        let (factors, stream) = ([alpha, beta], stream.addr());
        // SAFETY: by the caller's contract; the types are those of the layouts.
        unsafe {
            match (element, out) {
                (Type::F16, Type::F16) => run::<f16, f16>(problem, at, factors, stream),
                (Type::F16, _) => run::<f16, f32>(problem, at, factors, stream),
                (Type::Bf16, Type::Bf16) => run::<bf16, bf16>(problem, at, factors, stream),
                (Type::Bf16, _) => run::<bf16, f32>(problem, at, factors, stream),
                (Type::F32, _) => run::<f32, f32>(problem, at, factors, stream),
                (Type::F64, _) => run::<f64, f64>(problem, at, factors, stream),
                (Type::C64, _) => run::<Complex<f32>, Complex<f32>>(problem, at, factors, stream),
                (Type::C128, _) => run::<Complex<f64>, Complex<f64>>(problem, at, factors, stream),
            }
        }
    })
}
