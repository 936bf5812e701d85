//! Matrix products by cuBLASLt. The chosen kernel is cached for each problem, and small problems of a class share it.

mod class;
mod layout;
mod plan;

use std::collections::HashMap;
use std::ffi::{CStr, c_void};

use cuprous_cuda_sys as sys;
use sys::cublaslt::{
    CublasLtApi, cublasComputeType_t as Compute, cublasLtHandle_t, cublasLtMatmulAlgo_t, cublasStatus_t,
    cudaDataType_t as DataType, cudaStream_t,
};

use crate::codegen::Vendor;
use crate::driver::{self, Context, DevPtr, Stream, is_started};
use crate::error::{CudaError, Result};

pub use layout::Matrix;
use layout::{Layouts, describe, layouts};
use plan::Plan;

/// The largest number of cached plans. The least recently used one is evicted first.
const MAX_PLANS: usize = 512;

/// The workspace in bytes with which cuBLASLt can use all of its kernels on Hopper and later. With less, it has fewer
/// to choose from.
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

    /// Returns the type of alpha and beta.
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

    /// Returns a factor (real, imaginary) as the library reads it.
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

/// An operation on the product before it is stored. Not supported for `F64`, `C64` and `C128`. A bias has one value for
/// each column of the result, of the result's type, and requires a row-major result.
///
/// `Relu` and `ReluBias` lose NaN in some kernels (seen on an H200 with cuBLASLt 13.1: float32 2048×64×2048, float16
/// 33×100×65), so they differ from NumPy's maximum. Bias and `beta` kept NaN in all kernels that were tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Epilogue {
    /// No operation.
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
    /// Returns true if `Operands::bias` is read.
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
    /// The type of `c`: `dtype`, or `F32` if that is `F16` or `Bf16`.
    pub out_dtype: MatmulType,
    /// The first operand, m × k.
    pub a: Matrix,
    /// The second operand, k × n.
    pub b: Matrix,
    /// The result, m × n.
    pub c: Matrix,
    /// Matrices in the batch.
    pub batch: u32,
    /// Factor of the product (real, imaginary). If it is 0, some kernels do not read the operands.
    pub alpha: [f64; 2],
    /// Factor of the addend. If it is 0, the addend is not read.
    pub beta: [f64; 2],
    /// Allows float32 products to round their inputs to TF32.
    pub tf32: bool,
    /// The operation before the result is stored.
    pub epilogue: Epilogue,
}

impl Matmul {
    /// Returns a product of row-major matrices without gaps, with no epilogue.
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

/// The addresses of the operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operands {
    /// The first operand.
    pub a: DevPtr,
    /// The second operand.
    pub b: DevPtr,
    /// The result.
    pub c: DevPtr,
    /// The addend that `beta` multiplies, with the layout of the result. It is the result itself or does not overlap
    /// it.
    pub addend: DevPtr,
    /// The bias if the epilogue has one, else null.
    pub bias: DevPtr,
}

/// Workspace for the calls of one stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Workspace {
    /// A multiple of 256.
    pub start: DevPtr,
    /// The size; see `WORKSPACE_BYTES`.
    pub bytes: usize,
}

/// All parameters that the choice of a kernel depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct PlanKey {
    dtype: MatmulType,
    out_dtype: MatmulType,
    layouts: Layouts,
    batch: u32,
    tf32: bool,
    epilogue: Epilogue,
    /// The alignment of first, second and out in bytes: kernels with wide loads need aligned addresses.
    alignment: [u32; 3],
    workspace: usize,
}

impl PlanKey {
    fn new(problem: &Matmul, layouts: Layouts, alignment: [u32; 3], workspace: Workspace) -> PlanKey {
        PlanKey {
            dtype: problem.dtype,
            out_dtype: problem.out_dtype,
            layouts,
            batch: problem.batch,
            tf32: problem.tf32,
            epilogue: problem.epilogue,
            // Kernels of AMD's libraries take any address of an element.
            alignment: if driver::vendor() == Vendor::Amd { [1; 3] } else { alignment },
            workspace: workspace.bytes,
        }
    }
}

/// Returns the layouts of a product that the library may support.
fn checked_layouts(problem: &Matmul) -> Result<Layouts> {
    let layouts = layouts(&problem.a, &problem.b, &problem.c)?;
    if problem.epilogue.has_bias() && !layouts.swapped {
        return Err(CudaError::Unsupported("[matmul] a bias needs a row-major result".into()));
    }
    Ok(layouts)
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

/// cuBLASLt in one context. Its functions are called one at a time (`&mut self`).
#[derive(Debug)]
pub struct CublasLt {
    handle: cublasLtHandle_t,
    context: &'static Context,
    plans: HashMap<PlanKey, (u64, Plan)>,
    /// The kernel that the library chose for the representative of each class; `None` if it has none for it.
    classes: HashMap<PlanKey, Option<cublasLtMatmulAlgo_t>>,
    /// The number of calls so far, by which the last use of a plan is dated.
    clock: u64,
    /// How often the library was asked for an algorithm.
    pub(crate) queries: u64,
}

// SAFETY: the handle may be used from any thread, and `&mut self` excludes concurrent use.
unsafe impl Send for CublasLt {}

impl CublasLt {
    /// Loads the library on the first call.
    ///
    /// # Errors
    /// The library is not installed or does not start.
    pub fn new(context: &'static Context) -> Result<CublasLt> {
        let api = driver::cublaslt()?;
        context.make_current()?;
        let mut handle: cublasLtHandle_t = std::ptr::null_mut();
        // SAFETY: the call writes one handle; the context is current.
        unsafe { call!(api, &|| "a new handle".into(), cublasLtCreate(&raw mut handle)) }?;
        Ok(CublasLt { handle, context, plans: HashMap::new(), classes: HashMap::new(), clock: 0, queries: 0 })
    }

    /// Submits a product. An empty result needs no work; the caller must fill the result of an empty sum (k = 0).
    ///
    /// # Errors
    /// `Unsupported` if cuBLASLt does not support the strides or the epilogue, so that the caller can copy or use
    /// several operations. Otherwise the library's own error.
    ///
    /// # Safety
    /// Operands and workspace must be live allocations of the given shapes. The result must not overlap the others,
    /// except an addend that is the result itself. The addend may be null if `beta` is 0.
    pub unsafe fn matmul(
        &mut self,
        problem: &Matmul,
        operands: &Operands,
        workspace: Workspace,
        stream: &Stream,
    ) -> Result<()> {
        let Matmul { dtype, a, c, .. } = problem;
        if c.rows == 0 || c.cols == 0 || problem.batch == 0 {
            return Ok(());
        }
        if a.cols == 0 {
            return Err(CudaError::Unsupported(format!("[matmul] the sum over k is empty: {}", problem.describe())));
        }
        let layouts = checked_layouts(problem)?;
        let (first, second) = if layouts.swapped { (operands.b, operands.a) } else { (operands.a, operands.b) };
        // Kernels read addend and bias with accesses as wide as those that write the result.
        let addend = if problem.beta == [0.0; 2] { operands.c } else { operands.addend };
        let bias = if problem.epilogue.has_bias() { operands.bias } else { operands.c };
        let out = [operands.c, addend, bias].map(alignment).into_iter().min().unwrap_or(1);
        let key = PlanKey::new(problem, layouts, [alignment(first), alignment(second), out], workspace);
        let api = driver::cublaslt()?;
        self.context.make_current()?;
        let what: &dyn Fn() -> String = &|| problem.describe();
        self.clock += 1;
        self.prepare(api, &key, operands.bias, what)?;
        let Some((last_use, plan)) = self.plans.get_mut(&key) else {
            return Err(CudaError::Unsupported("[matmul] internal error: the plan is missing".into()));
        };
        *last_use = self.clock;
        if problem.epilogue.has_bias() {
            plan.set_bias(api, operands.bias, what)?;
        }
        let alpha = Aligned(dtype.scale(problem.alpha));
        let beta = Aligned(dtype.scale(problem.beta));
        let pointer = |address: DevPtr| address.0 as *mut c_void;
        // SAFETY: the caller vouches for the memory. The descriptors were created for these shapes. The factors are in
        // host memory and read before the call returns. The driver's and the runtime's stream handles are the same.
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

    /// Returns true if the library has a kernel for a product, at any addresses.
    ///
    /// # Errors
    /// The library fails otherwise.
    pub(crate) fn supports(&mut self, problem: &Matmul, workspace: Workspace) -> Result<bool> {
        let Ok(layouts) = checked_layouts(problem) else { return Ok(false) };
        let key = PlanKey::new(problem, layouts, [1; 3], workspace);
        let api = driver::cublaslt()?;
        self.context.make_current()?;
        self.clock += 1;
        // The bias is given again with each product.
        match self.prepare(api, &key, DevPtr::NULL, &|| problem.describe()) {
            Ok(()) => Ok(true),
            Err(CudaError::Unsupported(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Adds the plan of a problem, if there is none.
    fn prepare(&mut self, api: &CublasLtApi, key: &PlanKey, bias: DevPtr, what: &dyn Fn() -> String) -> Result<()> {
        if !self.plans.contains_key(key) {
            self.evict();
            let known = self.choice_of_class(api, key, bias);
            let (plan, asked) = Plan::new(api, self.handle, key, known.as_ref(), bias, what)?;
            self.queries += u64::from(asked);
            self.plans.insert(*key, (self.clock, plan));
        }
        Ok(())
    }

    /// Returns the kernel of a problem's class, if it has one. The choice depends on the class alone and not on the
    /// problems that were seen before, so that the same problem has the same bits in every process.
    fn choice_of_class(&mut self, api: &CublasLtApi, key: &PlanKey, bias: DevPtr) -> Option<cublasLtMatmulAlgo_t> {
        // Without this function, a kernel of another problem cannot be tried.
        api.cublasLtMatmulAlgoCheck.as_ref().ok()?;
        let class = key.representative()?;
        if let Some(known) = self.classes.get(&class) {
            return *known;
        }
        if self.classes.len() >= MAX_PLANS {
            self.classes.clear();
        }
        self.queries += 1;
        let what: &dyn Fn() -> String = &|| format!("a class of products: {class:?}");
        let plan = Plan::new(api, self.handle, &class, None, bias, what);
        let choice = plan.ok().map(|(plan, _)| plan.algo);
        self.classes.insert(class, choice);
        choice
    }

    /// Returns the number of cached plans.
    #[cfg(test)]
    pub(crate) fn plan_count(&self) -> usize {
        self.plans.len()
    }

    fn evict(&mut self) {
        if self.plans.len() < MAX_PLANS {
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
            && let Ok(api) = driver::cublaslt()
        {
            // SAFETY: the handle is owned by this value.
            let _at_worst_leaked = unsafe { call!(api, &String::new, cublasLtDestroy(self.handle)) };
        }
    }
}

#[repr(align(16))]
struct Aligned([u8; 16]);

/// Returns the largest power of two up to 256 that divides an address.
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
    fn float32_has_full_precision_unless_tf32_is_allowed() {
        assert_eq!(MatmulType::F32.compute_type(false), Compute::CUBLAS_COMPUTE_32F);
        assert_eq!(MatmulType::F32.compute_type(true), Compute::CUBLAS_COMPUTE_32F_FAST_TF32);
        assert_eq!(MatmulType::F64.compute_type(true), Compute::CUBLAS_COMPUTE_64F);
    }

    #[test]
    fn alignment_of_addresses() {
        assert_eq!([0x1000, 0x1004, 0x1010, 0x1001].map(|a| alignment(DevPtr(a))), [256, 4, 16, 1]);
    }
}
