//! cuDNN: its handle and the calls of its functions.

mod attention;
mod convolution;
mod descriptor;
mod graph;
mod recurrent;

use std::collections::HashMap;
use std::ffi::{CStr, c_int};
use std::fmt;

use cuprous_core::DType;
use cuprous_core::attention::Attention;
use cuprous_core::recurrent::Layers;
use cuprous_cuda_sys as sys;
use sys::cudnn::{CudnnApi, cudaStream_t, cudnnDataType_t, cudnnHandle_t, cudnnStatus_t};

pub(crate) use convolution::Convolution;

use crate::driver::{Context, Stream, is_started};
use crate::error::{CudaError, Result};

/// The largest number of plans of each kind that are kept.
const MAX_CACHED_PLANS: usize = 256;

fn data_type(dtype: DType) -> Option<cudnnDataType_t> {
    Some(match dtype {
        DType::F32 => cudnnDataType_t::CUDNN_DATA_FLOAT,
        DType::F64 => cudnnDataType_t::CUDNN_DATA_DOUBLE,
        DType::F16 => cudnnDataType_t::CUDNN_DATA_HALF,
        DType::BF16 => cudnnDataType_t::CUDNN_DATA_BFLOAT16,
        _ => return None,
    })
}

/// Calls a function of the library. An error names the problem `$what`, if it is given.
macro_rules! call {
    ($api:expr, $what:expr, $name:ident($($arg:expr),* $(,)?)) => {
        match &$api.$name {
            Ok(function) => $crate::cudnn::check($api, stringify!($name), $what, function($($arg),*)),
            Err(e) => Err($crate::driver::missing_symbol(stringify!($name), e)),
        }
    };
}
use call;

fn check(api: &CudnnApi, call: &'static str, what: Option<&dyn fmt::Display>, status: cudnnStatus_t) -> Result<()> {
    if status == cudnnStatus_t::CUDNN_STATUS_SUCCESS {
        return Ok(());
    }
    let status = match &api.cudnnGetErrorString {
        // SAFETY: the library returns a static string for every status, known or not.
        Ok(describe) => unsafe { CStr::from_ptr(describe(status)) }.to_string_lossy().into_owned(),
        Err(_) => format!("status {}", status.0),
    };
    let what = what.map_or_else(|| "a handle".into(), ToString::to_string);
    Err(CudaError::Library { call, status, what })
}

/// cuDNN in one context. Its functions are called one at a time (`&mut self`).
pub(crate) struct Cudnn {
    handle: cudnnHandle_t,
    context: &'static Context,
    convolutions: HashMap<Convolution, Option<convolution::Plan>>,
    recurrences: HashMap<Layers, Option<recurrent::Plan>>,
    attentions: HashMap<Attention, Option<attention::Plans>>,
    /// How often the library was asked for the engines of a problem.
    pub(crate) queries: u64,
}

// SAFETY: the handle may be used from any thread, and `&mut self` excludes concurrent use.
unsafe impl Send for Cudnn {}

impl Cudnn {
    /// Loads the library on the first call.
    ///
    /// # Errors
    /// The library is not installed or does not start.
    pub(crate) fn new(context: &'static Context) -> Result<Cudnn> {
        let api = sys::cudnn()?;
        context.make_current()?;
        let mut handle: cudnnHandle_t = std::ptr::null_mut();
        // SAFETY: the call writes one handle; the context is current.
        unsafe { call!(api, None, cudnnCreate(&raw mut handle)) }?;
        Ok(Cudnn {
            handle,
            context,
            convolutions: HashMap::new(),
            recurrences: HashMap::new(),
            attentions: HashMap::new(),
            queries: 0,
        })
    }
}

impl Cudnn {
    /// Sets the stream of later calls.
    fn set_stream(&mut self, stream: &Stream, what: &dyn fmt::Display) -> Result<()> {
        // SAFETY: the driver's and the runtime's stream handles are the same.
        unsafe { call!(sys::cudnn()?, Some(what), cudnnSetStream(self.handle, stream.raw() as cudaStream_t)) }
    }

    /// Returns the library's version, which is part of the cache key of measurements.
    pub(crate) fn version(&self) -> usize {
        match sys::cudnn().map(|api| &api.cudnnGetVersion) {
            // SAFETY: the function has no arguments.
            Ok(Ok(version)) => unsafe { version() },
            _ => 0,
        }
    }
}

impl Drop for Cudnn {
    fn drop(&mut self) {
        if is_started()
            && let Ok(api) = sys::cudnn()
        {
            self.convolutions.clear();
            self.recurrences.clear();
            self.attentions.clear();
            // SAFETY: the handle is owned by this value.
            let _at_worst_leaked = unsafe { call!(api, None, cudnnDestroy(self.handle)) };
        }
    }
}

fn contiguous(extents: &[c_int]) -> Vec<c_int> {
    let mut strides = vec![1; extents.len()];
    for k in (0..extents.len() - 1).rev() {
        strides[k] = strides[k + 1] * extents[k + 1];
    }
    strides
}
