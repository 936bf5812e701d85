//! Matrix products by cuBLASLt, with the choice of kernel cached for each problem.

mod layout;
mod plan;

use std::collections::HashMap;
use std::ffi::{CStr, c_void};

use cuprous_cuda_sys as sys;
use sys::cublaslt::{
    CublasLtApi, cublasComputeType_t as Compute, cublasLtHandle_t, cublasStatus_t, cudaDataType_t as DataType,
    cudaStream_t,
};

use crate::driver::{Context, DevPtr, Stream, is_started};
use crate::error::{CudaError, Result};

pub use layout::Matrix;
use layout::{Layouts, describe, layouts};
use plan::Plan;

/// Plans kept; the one used longest ago goes first.
const MOST_PLANS: usize = 512;

/// The workspace that lets cuBLASLt choose freely on Hopper and later; less works, with fewer kernels to choose from.
pub const WORKSPACE_BYTES: usize = 32 << 20;

/// Element types. Products of `F16` and `Bf16` are summed in float32.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MatmulType {
    /// float16
    F16,
    /// bfloat16
    Bf16,
    /// float32
    F32,
    /// float64
    F64,
    /// complex64
    C64,
    /// complex128
    C128,
}

impl MatmulType {
    fn data_type(self) -> DataType {
        match self {
            MatmulType::F16 => DataType::CUDA_R_16F,
            MatmulType::Bf16 => DataType::CUDA_R_16BF,
            MatmulType::F32 => DataType::CUDA_R_32F,
            MatmulType::F64 => DataType::CUDA_R_64F,
            MatmulType::C64 => DataType::CUDA_C_32F,
            MatmulType::C128 => DataType::CUDA_C_64F,
        }
    }

    /// The type of alpha and beta.
    fn scale_type(self) -> DataType {
        match self {
            MatmulType::F16 | MatmulType::Bf16 | MatmulType::F32 => DataType::CUDA_R_32F,
            other => other.data_type(),
        }
    }

    fn compute_type(self, tf32: bool) -> Compute {
        match self {
            MatmulType::F16 | MatmulType::Bf16 => Compute::CUBLAS_COMPUTE_32F,
            MatmulType::F32 | MatmulType::C64 if tf32 => Compute::CUBLAS_COMPUTE_32F_FAST_TF32,
            MatmulType::F32 | MatmulType::C64 => Compute::CUBLAS_COMPUTE_32F,
            MatmulType::F64 | MatmulType::C128 => Compute::CUBLAS_COMPUTE_64F,
        }
    }

    /// A factor (real, imaginary) as the library reads it.
    fn scale(self, factor: [f64; 2]) -> [u8; 16] {
        let mut bytes = [0; 16];
        match self.scale_type() {
            DataType::CUDA_R_64F => bytes[..8].copy_from_slice(&factor[0].to_ne_bytes()),
            DataType::CUDA_C_64F => {
                bytes[..8].copy_from_slice(&factor[0].to_ne_bytes());
                bytes[8..].copy_from_slice(&factor[1].to_ne_bytes());
            }
            _ => {
                bytes[..4].copy_from_slice(&(factor[0] as f32).to_ne_bytes());
                bytes[4..8].copy_from_slice(&(factor[1] as f32).to_ne_bytes());
            }
        }
        bytes
    }
}

/// What is done to the product before it is stored. Not for `F64`, `C64`, `C128`; a bias has one value for each
/// column of the result, of the result's type, and needs a row-major result.
///
/// The maximum of `Relu` and `ReluBias` loses NaN in some kernels (seen on an H200 with cuBLASLt 13.1: float32
/// 2048×64×2048, float16 33×100×65), so it is not NumPy's; bias and `beta` keep it in all that were tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Epilogue {
    /// Nothing.
    #[default]
    None,
    /// max(x, 0)
    Relu,
    /// x + bias
    Bias,
    /// max(x + bias, 0)
    ReluBias,
    /// GELU by its tanh formula.
    Gelu,
    /// GELU of x + bias by its tanh formula.
    GeluBias,
}

impl Epilogue {
    /// Whether `Operands::bias` is read.
    #[must_use]
    pub fn has_bias(self) -> bool {
        matches!(self, Epilogue::Bias | Epilogue::ReluBias | Epilogue::GeluBias)
    }
}

/// `c = epilogue(alpha · a × b + beta · addend)`, for each matrix of a batch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Matmul {
    /// The type of `a` and `b`.
    pub dtype: MatmulType,
    /// The type of `c`: `dtype`, or `F32` where that is `F16` or `Bf16`.
    pub out_dtype: MatmulType,
    /// The first operand, m × k.
    pub a: Matrix,
    /// The second operand, k × n.
    pub b: Matrix,
    /// The result, m × n.
    pub c: Matrix,
    /// Matrices in the batch.
    pub batch: u32,
    /// Factor of the product (real, imaginary); some kernels read no operands where it is 0.
    pub alpha: [f64; 2],
    /// Factor of the addend; 0 does not read it.
    pub beta: [f64; 2],
    /// Lets float32 products round their inputs to TF32.
    pub tf32: bool,
    /// What is done before the result is stored.
    pub epilogue: Epilogue,
}

impl Matmul {
    /// A plain product of row-major matrices without gaps.
    #[must_use]
    pub fn row_major(dtype: MatmulType, m: u64, k: u64, n: u64) -> Self {
        Matmul {
            dtype,
            out_dtype: dtype,
            a: Matrix::row_major(m, k),
            b: Matrix::row_major(k, n),
            c: Matrix::row_major(m, n),
            batch: 1,
            alpha: [1.0, 0.0],
            beta: [0.0, 0.0],
            tf32: false,
            epilogue: Epilogue::None,
        }
    }

    fn describe(&self) -> String {
        let Matmul { dtype, out_dtype, batch, epilogue, .. } = self;
        let shapes = describe(&self.a, &self.b, &self.c);
        format!("{dtype:?} → {out_dtype:?} matmul {shapes}, batch {batch}, epilogue {epilogue:?}")
    }
}

/// Where the data is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operands {
    /// The first operand.
    pub a: DevPtr,
    /// The second operand.
    pub b: DevPtr,
    /// The result.
    pub c: DevPtr,
    /// What `beta` multiplies, laid out as the result: the result itself, or no part of it.
    pub addend: DevPtr,
    /// The bias, where the epilogue has one; else null.
    pub bias: DevPtr,
}

/// Scratch memory for the calls of one stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Workspace {
    /// A multiple of 256.
    pub start: DevPtr,
    /// The size; see `WORKSPACE_BYTES`.
    pub bytes: usize,
}

/// Everything that the choice of a kernel depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct PlanKey {
    dtype: MatmulType,
    out_dtype: MatmulType,
    layouts: Layouts,
    batch: u32,
    tf32: bool,
    epilogue: Epilogue,
    /// Of first, second and out: kernels with wide loads need aligned addresses.
    alignment: [u32; 3],
    workspace: usize,
}

macro_rules! call {
    ($api:expr, $what:expr, $name:ident($($arg:expr),* $(,)?)) => {
        match &$api.$name {
            Ok(function) => $crate::cublaslt::check($api, stringify!($name), $what, function($($arg),*)),
            Err(e) => Err($crate::driver::missing_symbol(stringify!($name), e)),
        }
    };
}
use call;

fn check(api: &CublasLtApi, call: &'static str, what: &dyn Fn() -> String, status: cublasStatus_t) -> Result<()> {
    if status == cublasStatus_t::CUBLAS_STATUS_SUCCESS {
        return Ok(());
    }
    let status = match &api.cublasLtGetStatusString {
        // SAFETY: the library returns a static string for every status, known or not.
        Ok(describe) => unsafe { CStr::from_ptr(describe(status)) }.to_string_lossy().into_owned(),
        Err(_) => format!("status {}", status.0),
    };
    Err(CudaError::Library { call, status, what: what() })
}

/// cuBLASLt in one context. Calls are one at a time (`&mut self`).
#[derive(Debug)]
pub struct CublasLt {
    handle: cublasLtHandle_t,
    context: &'static Context,
    plans: HashMap<PlanKey, (u64, Plan)>,
    /// Counts calls: the age of a plan's last use.
    clock: u64,
}

// SAFETY: the handle may be used from any thread, and `&mut self` keeps threads apart.
unsafe impl Send for CublasLt {}

impl CublasLt {
    /// Loads the library on the first call.
    ///
    /// # Errors
    /// The library is not installed or does not start.
    pub fn new(context: &'static Context) -> Result<CublasLt> {
        let api = sys::cublaslt()?;
        context.make_current()?;
        let mut handle: cublasLtHandle_t = std::ptr::null_mut();
        // SAFETY: the call writes one handle; the context is current.
        unsafe { call!(api, &|| "a new handle".into(), cublasLtCreate(&raw mut handle)) }?;
        Ok(CublasLt { handle, context, plans: HashMap::new(), clock: 0 })
    }

    /// Submits a product. An empty result is no work; an empty sum (k = 0) is the caller's to fill.
    ///
    /// # Errors
    /// `Unsupported` where strides or epilogue are not for cuBLASLt, so that the caller can copy or compose; else the
    /// library's failure.
    ///
    /// # Safety
    /// Operands and workspace must be live allocations of the given shapes, and the result overlap none of the others
    /// but an addend that is the result itself. The addend may be null where `beta` is 0.
    pub unsafe fn matmul(
        &mut self,
        problem: &Matmul,
        operands: &Operands,
        workspace: Workspace,
        stream: &Stream,
    ) -> Result<()> {
        let Matmul { dtype, a, b, c, .. } = problem;
        if c.rows == 0 || c.cols == 0 || problem.batch == 0 {
            return Ok(());
        }
        if a.cols == 0 {
            return Err(CudaError::Unsupported(format!("[matmul] an empty sum: {}", problem.describe())));
        }
        let layouts = layouts(a, b, c)?;
        if problem.epilogue.has_bias() && !layouts.swapped {
            return Err(CudaError::Unsupported("[matmul] a bias needs a row-major result".into()));
        }
        let (first, second) = if layouts.swapped { (operands.b, operands.a) } else { (operands.a, operands.b) };
        // Kernels read addend and bias as widely as they write the result.
        let addend = if problem.beta == [0.0; 2] { operands.c } else { operands.addend };
        let bias = if problem.epilogue.has_bias() { operands.bias } else { operands.c };
        let out = [operands.c, addend, bias].map(alignment).into_iter().min().unwrap_or(1);
        let key = PlanKey {
            dtype: *dtype,
            out_dtype: problem.out_dtype,
            layouts,
            batch: problem.batch,
            tf32: problem.tf32,
            epilogue: problem.epilogue,
            alignment: [alignment(first), alignment(second), out],
            workspace: workspace.bytes,
        };
        let api = sys::cublaslt()?;
        self.context.make_current()?;
        let what: &dyn Fn() -> String = &|| problem.describe();
        self.clock += 1;
        if !self.plans.contains_key(&key) {
            self.make_room();
            let plan = Plan::new(api, self.handle, &key, operands.bias, what)?;
            self.plans.insert(key, (self.clock, plan));
        }
        let Some((last_use, plan)) = self.plans.get_mut(&key) else {
            return Err(CudaError::Unsupported("[matmul] a plan vanished".into()));
        };
        *last_use = self.clock;
        if problem.epilogue.has_bias() {
            plan.set_bias(api, operands.bias, what)?;
        }
        let alpha = Aligned(dtype.scale(problem.alpha));
        let beta = Aligned(dtype.scale(problem.beta));
        let pointer = |address: DevPtr| address.0 as *mut c_void;
        // SAFETY: the caller vouches for the memory; the descriptors were made for these shapes; the factors are in
        // host memory and read before the call returns; the driver's and the runtime's stream handles are the same.
        unsafe {
            call!(
                api,
                what,
                cublasLtMatmul(
                    self.handle,
                    plan.desc.raw,
                    alpha.0.as_ptr().cast(),
                    pointer(first),
                    plan.first.raw,
                    pointer(second),
                    plan.second.raw,
                    beta.0.as_ptr().cast(),
                    pointer(addend),
                    plan.out.raw,
                    pointer(operands.c),
                    plan.out.raw,
                    &raw const plan.algo,
                    pointer(workspace.start),
                    workspace.bytes,
                    stream.raw() as cudaStream_t,
                )
            )
        }
    }

    /// Returns the number of cached plans.
    #[cfg(test)]
    pub(crate) fn plan_count(&self) -> usize {
        self.plans.len()
    }

    fn make_room(&mut self) {
        if self.plans.len() < MOST_PLANS {
            return;
        }
        let oldest = self.plans.iter().min_by_key(|(_, (last_use, _))| *last_use).map(|(key, _)| *key);
        if let Some(key) = oldest {
            self.plans.remove(&key);
        }
    }
}

impl Drop for CublasLt {
    fn drop(&mut self) {
        self.plans.clear();
        if is_started()
            && let Ok(api) = sys::cublaslt()
        {
            // SAFETY: the handle is ours.
            let _at_worst_leaked = unsafe { call!(api, &String::new, cublasLtDestroy(self.handle)) };
        }
    }
}

#[repr(align(16))]
struct Aligned([u8; 16]);

/// What an address is a multiple of, up to 256.
fn alignment(address: DevPtr) -> u32 {
    1 << address.0.trailing_zeros().min(8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_have_the_type_that_the_library_reads() {
        assert_eq!(MatmulType::Bf16.scale([1.5, 0.0])[..4], 1.5f32.to_ne_bytes());
        assert_eq!(MatmulType::F64.scale([1.5, 9.0]), [&1.5f64.to_ne_bytes()[..], &[0; 8]].concat()[..]);
        assert_eq!(MatmulType::C64.scale([1.5, -2.0])[4..8], (-2f32).to_ne_bytes());
        assert_eq!(MatmulType::C128.scale([1.5, -2.0])[8..], (-2f64).to_ne_bytes());
    }

    #[test]
    fn float32_is_full_float32_unless_asked() {
        assert_eq!(MatmulType::F32.compute_type(false), Compute::CUBLAS_COMPUTE_32F);
        assert_eq!(MatmulType::F32.compute_type(true), Compute::CUBLAS_COMPUTE_32F_FAST_TF32);
        assert_eq!(MatmulType::F64.compute_type(true), Compute::CUBLAS_COMPUTE_64F);
    }

    #[test]
    fn alignment_of_addresses() {
        assert_eq!([0x1000, 0x1004, 0x1010, 0x1001].map(|a| alignment(DevPtr(a))), [256, 4, 16, 1]);
    }
}
