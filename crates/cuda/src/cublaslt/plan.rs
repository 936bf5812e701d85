//! The library's descriptors of one problem, and the kernel that it chose.

use std::ffi::c_void;

use cuprous_cuda_sys as sys;
use sys::cublaslt::{
    CublasLtApi, cublasLtEpilogue_t as LtEpilogue, cublasLtHandle_t, cublasLtMatmulAlgo_t, cublasLtMatmulDesc_t,
    cublasLtMatmulDescAttributes_t as DescAttribute, cublasLtMatmulHeuristicResult_t, cublasLtMatmulPreference_t,
    cublasLtMatmulPreferenceAttributes_t as PreferenceAttribute, cublasLtMatrixLayout_t,
    cublasLtMatrixLayoutAttribute_t as LayoutAttribute, cublasOperation_t as Operation, cublasStatus_t, cudaDataType_t,
};

use super::layout::Layout;
use super::{Epilogue, PlanKey, call, check};
use crate::driver::{self, DevPtr, missing_symbol};
use crate::error::{CudaError, Result};

/// Describes the problem in errors.
type Describe<'a> = &'a dyn Fn() -> String;

/// Defines an owned descriptor. Its three kinds differ only in their functions.
macro_rules! descriptor {
    ($name:ident, $raw:ty, $destroy:ident) => {
        #[derive(Debug)]
        pub(super) struct $name {
            pub(super) raw: $raw,
        }

        // SAFETY: a descriptor is plain host memory of the library, and its owner excludes concurrent use.
        unsafe impl Send for $name {}

        impl Drop for $name {
            fn drop(&mut self) {
                if let Ok(api) = driver::cublaslt()
                    && let Ok(destroy) = &api.$destroy
                {
                    // SAFETY: the descriptor is owned by this value and destroyed once.
                    let _at_worst_leaked = unsafe { destroy(self.raw) };
                }
            }
        }
    };
}

descriptor!(Desc, cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy);
descriptor!(MatrixLayout, cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy);
descriptor!(Preference, cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy);

/// The arguments of `cublasLtMatmul` besides addresses and factors.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) desc: Desc,
    pub(super) first: MatrixLayout,
    pub(super) second: MatrixLayout,
    pub(super) out: MatrixLayout,
    pub(super) algo: cublasLtMatmulAlgo_t,
}

impl Plan {
    /// Creates the descriptors of a problem. The kernel is the one that `known` names if the library accepts it for this
    /// problem, else the library's choice. Returns true if the library was asked for one.
    pub(super) fn new(
        api: &CublasLtApi,
        handle: cublasLtHandle_t,
        key: &PlanKey,
        known: Option<&cublasLtMatmulAlgo_t>,
        bias: DevPtr,
        what: Describe<'_>,
    ) -> Result<(Plan, bool)> {
        let desc = Desc::new(api, key, what)?;
        if key.epilogue.has_bias() {
            desc.set(api, DescAttribute::CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias.0, what)?;
        }
        let data_type = key.dtype.data_type();
        let first = MatrixLayout::new(api, data_type, &key.layouts.first, key.batch, what)?;
        let second = MatrixLayout::new(api, data_type, &key.layouts.second, key.batch, what)?;
        let out = MatrixLayout::new(api, key.out_dtype.data_type(), &key.layouts.out, key.batch, what)?;
        // SAFETY: a plain C struct of numbers, for which zero is a value.
        let algo: cublasLtMatmulAlgo_t = unsafe { std::mem::zeroed() };
        let mut plan = Plan { desc, first, second, out, algo };
        if let Some(known) = known.filter(|algo| plan.accepts(api, handle, key, algo)) {
            plan.algo = *known;
            return Ok((plan, false));
        }
        plan.algo = plan.choice(api, handle, key, what)?;
        Ok((plan, true))
    }

    /// Returns true if the library can compute the problem with a kernel that it chose for a similar one.
    fn accepts(&self, api: &CublasLtApi, handle: cublasLtHandle_t, key: &PlanKey, algo: &cublasLtMatmulAlgo_t) -> bool {
        let Ok(check) = &api.cublasLtMatmulAlgoCheck else { return false };
        let Plan { desc, first, second, out, .. } = self;
        // SAFETY: a plain C struct of numbers, for which zero is a value.
        let mut result: cublasLtMatmulHeuristicResult_t = unsafe { std::mem::zeroed() };
        // SAFETY: the descriptors and the algorithm are live, and there is room for the result.
        let status = unsafe { check(handle, desc.raw, first.raw, second.raw, out.raw, out.raw, algo, &raw mut result) };
        status == cublasStatus_t::CUBLAS_STATUS_SUCCESS
            && result.state == cublasStatus_t::CUBLAS_STATUS_SUCCESS
            && result.workspaceSize <= key.workspace
    }

    /// Returns the kernel that the library chooses.
    fn choice(
        &self,
        api: &CublasLtApi,
        handle: cublasLtHandle_t,
        key: &PlanKey,
        what: Describe<'_>,
    ) -> Result<cublasLtMatmulAlgo_t> {
        let Plan { desc, first, second, out, .. } = self;
        let preference = Preference::new(api, key, what)?;
        let heuristic = api.cublasLtMatmulAlgoGetHeuristic.as_ref();
        let heuristic = heuristic.map_err(|e| missing_symbol("cublasLtMatmulAlgoGetHeuristic", e))?;
        // SAFETY: a plain C struct of numbers, for which zero is a value.
        let mut best: cublasLtMatmulHeuristicResult_t = unsafe { std::mem::zeroed() };
        let mut found = 0;
        // SAFETY: all descriptors were created above; `best` has room for the one requested result.
        let status = unsafe {
            heuristic(
                handle,
                desc.raw,
                first.raw,
                second.raw,
                out.raw,
                out.raw,
                preference.raw,
                1,
                &raw mut best,
                &raw mut found,
            )
        };
        let none = status == cublasStatus_t::CUBLAS_STATUS_NOT_SUPPORTED
            || status == cublasStatus_t::CUBLAS_STATUS_SUCCESS && found == 0;
        if none {
            return Err(CudaError::Unsupported(format!(
                "[matmul] {} has no kernel for {}",
                driver::library_name("cuBLASLt"),
                what()
            )));
        }
        check(api, "cublasLtMatmulAlgoGetHeuristic", what, status)?;
        check(api, "cublasLtMatmulAlgoGetHeuristic", what, best.state)?;
        Ok(best.algo)
    }

    pub(super) fn set_bias(&mut self, api: &CublasLtApi, bias: DevPtr, what: Describe<'_>) -> Result<()> {
        self.desc.set(api, DescAttribute::CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias.0, what)
    }
}

impl Desc {
    fn new(api: &CublasLtApi, key: &PlanKey, what: Describe<'_>) -> Result<Desc> {
        let mut raw: cublasLtMatmulDesc_t = std::ptr::null_mut();
        let (compute, scale) = (key.dtype.compute_type(key.tf32), key.dtype.scale_type());
        // SAFETY: the call writes one descriptor.
        unsafe { call!(api, what, cublasLtMatmulDescCreate(&raw mut raw, compute, scale)) }?;
        let desc = Desc { raw };
        let operation = |layout: &Layout| {
            if layout.transpose { Operation::CUBLAS_OP_T.0 } else { Operation::CUBLAS_OP_N.0 }
        };
        desc.set(api, DescAttribute::CUBLASLT_MATMUL_DESC_TRANSA, &operation(&key.layouts.first), what)?;
        desc.set(api, DescAttribute::CUBLASLT_MATMUL_DESC_TRANSB, &operation(&key.layouts.second), what)?;
        let epilogue = match key.epilogue {
            Epilogue::None => LtEpilogue::CUBLASLT_EPILOGUE_DEFAULT,
            Epilogue::Relu => LtEpilogue::CUBLASLT_EPILOGUE_RELU,
            Epilogue::Bias => LtEpilogue::CUBLASLT_EPILOGUE_BIAS,
            Epilogue::ReluBias => LtEpilogue::CUBLASLT_EPILOGUE_RELU_BIAS,
            Epilogue::Gelu => LtEpilogue::CUBLASLT_EPILOGUE_GELU,
            Epilogue::GeluBias => LtEpilogue::CUBLASLT_EPILOGUE_GELU_BIAS,
        };
        desc.set(api, DescAttribute::CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue.0, what)?;
        Ok(desc)
    }

    /// Sets an attribute. `T` must be its type in C.
    fn set<T>(&self, api: &CublasLtApi, attribute: DescAttribute, value: &T, what: Describe<'_>) -> Result<()> {
        let bytes = std::ptr::from_ref(value).cast::<c_void>();
        // SAFETY: the library copies the bytes of the value, and refuses a size that is not the attribute's.
        unsafe { call!(api, what, cublasLtMatmulDescSetAttribute(self.raw, attribute, bytes, size_of::<T>())) }
    }
}

impl MatrixLayout {
    fn new(
        api: &CublasLtApi,
        data_type: cudaDataType_t,
        layout: &Layout,
        batch: u32,
        what: Describe<'_>,
    ) -> Result<MatrixLayout> {
        let mut raw: cublasLtMatrixLayout_t = std::ptr::null_mut();
        let Layout { rows, cols, leading, .. } = *layout;
        // SAFETY: the call writes one descriptor.
        unsafe { call!(api, what, cublasLtMatrixLayoutCreate(&raw mut raw, data_type, rows, cols, leading)) }?;
        let result = MatrixLayout { raw };
        if batch > 1 {
            let count = i32::try_from(batch).unwrap_or(i32::MAX);
            let set = |attribute: LayoutAttribute, value: *const c_void, bytes: usize| {
                // SAFETY: the library copies the bytes of the value.
                unsafe { call!(api, what, cublasLtMatrixLayoutSetAttribute(raw, attribute, value, bytes)) }
            };
            set(LayoutAttribute::CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, (&raw const count).cast(), 4)?;
            let stride = &raw const layout.batch_stride;
            set(LayoutAttribute::CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, stride.cast(), 8)?;
        }
        Ok(result)
    }
}

impl Preference {
    fn new(api: &CublasLtApi, key: &PlanKey, what: Describe<'_>) -> Result<Preference> {
        let mut raw: cublasLtMatmulPreference_t = std::ptr::null_mut();
        // SAFETY: the call writes one descriptor.
        unsafe { call!(api, what, cublasLtMatmulPreferenceCreate(&raw mut raw)) }?;
        let result = Preference { raw };
        let set = |attribute: PreferenceAttribute, value: *const c_void, bytes: usize| {
            // SAFETY: the library copies the bytes of the value.
            unsafe { call!(api, what, cublasLtMatmulPreferenceSetAttribute(raw, attribute, value, bytes)) }
        };
        let workspace = key.workspace as u64;
        set(PreferenceAttribute::CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, (&raw const workspace).cast(), 8)?;
        let [first, second, out] = key.alignment;
        for (attribute, value) in [
            (PreferenceAttribute::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, first),
            (PreferenceAttribute::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, second),
            (PreferenceAttribute::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, out),
            (PreferenceAttribute::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, out),
        ] {
            set(attribute, (&raw const value).cast(), 4)?;
        }
        Ok(result)
    }
}
