//! Convolutions by cuDNN.

use std::ffi::{c_int, c_void};
use std::fmt;
use std::sync::Arc;

use cuprous_core::DType;
use cuprous_core::convolution::{Geometry, Part};
use cuprous_cuda_sys as sys;
use sys::cudnn::{
    CudnnApi, cudaStream_t, cudnnConvolutionBwdDataAlgo_t, cudnnConvolutionBwdDataAlgoPerf_t,
    cudnnConvolutionBwdFilterAlgo_t, cudnnConvolutionBwdFilterAlgoPerf_t, cudnnConvolutionDescriptor_t,
    cudnnConvolutionFwdAlgo_t, cudnnConvolutionFwdAlgoPerf_t, cudnnConvolutionMode_t, cudnnDataType_t,
    cudnnDeterminism_t, cudnnFilterDescriptor_t, cudnnHandle_t, cudnnMathType_t, cudnnStatus_t,
    cudnnTensorDescriptor_t, cudnnTensorFormat_t,
};

use super::{Cudnn, KEPT, call, contiguous, data_type};
use crate::driver::{DevPtr, Stream};
use crate::error::{CudaError, Result};

/// Workspace above which an algorithm is not taken.
const WORKSPACE: usize = 1 << 30;
/// Algorithms that are looked at.
const ALGORITHMS: usize = 8;

/// One of the products of a convolution, of contiguous operands.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Convolution {
    pub(crate) part: Part,
    pub(crate) geometry: Arc<Geometry>,
    /// Images, channels of the input and of the output.
    pub(crate) images: i64,
    pub(crate) inputs: i64,
    pub(crate) outputs: i64,
}

impl Convolution {
    /// Is it one that the library has? Its padding is the same on both sides.
    pub(crate) fn known(g: &Geometry) -> bool {
        let even = |k: usize| {
            let (n, p) = (g.input[k], g.before[k]);
            let room = n + 2 * p - (g.kernel[k] - 1) * g.dilation[k] - 1;
            p >= 0 && room >= 0 && room / g.stride[k] + 1 == g.output[k]
        };
        let rank = g.kernel.len();
        (1..=3).contains(&rank) && (0..rank).all(even) && data_type(g.dtype).is_some()
    }

    /// Extents with two leading ones, of at least two spatial axes.
    fn extents(&self, first: i64, second: i64, rest: &[i64]) -> Vec<c_int> {
        let padding = if rest.len() == 1 { &[1][..] } else { &[] };
        [first, second].iter().chain(padding).chain(rest).map(|&n| n as c_int).collect()
    }

    fn widths(&self, of: &[i64], filler: i64) -> Vec<c_int> {
        let padding = if of.len() == 1 { vec![filler] } else { vec![] };
        padding.iter().chain(of).map(|&n| n as c_int).collect()
    }
}

impl fmt::Display for Convolution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Convolution { part, geometry: g, images, inputs, outputs } = self;
        write!(
            f,
            "{part:?} of a convolution of {images} × {inputs} × {:?} to {outputs} × {:?} by {:?} ({}, {} groups)",
            g.input,
            g.output,
            g.kernel,
            g.dtype.name(),
            g.groups
        )
    }
}

impl Cudnn {
    fn plan(&mut self, problem: &Convolution) -> Result<&Plan> {
        if !self.convolutions.contains_key(problem) {
            self.context.make_current()?;
            if self.convolutions.len() >= KEPT {
                self.convolutions.clear();
            }
            let plan = Plan::new(sys::cudnn()?, self.handle, problem)?;
            self.convolutions.insert(problem.clone(), plan);
        }
        Ok(&self.convolutions[problem])
    }

    /// Bytes of workspace for a product.
    ///
    /// # Errors
    /// The library has no algorithm for it.
    pub(crate) fn workspace(&mut self, problem: &Convolution) -> Result<usize> {
        Ok(self.plan(problem)?.workspace)
    }

    /// How many algorithms there are for a product to be measured, and the largest of their workspaces.
    ///
    /// # Errors
    /// As for `workspace`.
    pub(crate) fn rivals(&mut self, problem: &Convolution) -> Result<(usize, usize)> {
        let rivals = &self.plan(problem)?.rivals;
        Ok((rivals.len(), rivals.iter().map(|rival| rival.1).max().unwrap_or(0)))
    }

    /// Takes one of the rivals from now on.
    ///
    /// # Errors
    /// The library's failure.
    pub(crate) fn take(&mut self, problem: &Convolution, rival: usize) -> Result<()> {
        self.plan(problem)?;
        let Some(plan) = self.convolutions.get_mut(problem) else { return Ok(()) };
        let Some(&(algorithm, bytes, math)) = plan.rivals.get(rival) else { return Ok(()) };
        (plan.algorithm, plan.workspace) = (algorithm, bytes);
        // SAFETY: the descriptor is the plan's.
        unsafe { call!(plan.api, None, cudnnSetConvolutionMathType(plan.conv, math)) }
    }

    /// Measures no more for a product.
    pub(crate) fn settle(&mut self, problem: &Convolution) {
        if let Some(plan) = self.convolutions.get_mut(problem) {
            plan.rivals.clear();
        }
    }

    /// Submits a product of `a` and `b` to `out`.
    ///
    /// # Errors
    /// The library's failure.
    ///
    /// # Safety
    /// Operands and workspace are live allocations of the problem's sizes.
    pub(crate) unsafe fn run(
        &mut self,
        problem: &Convolution,
        [a, b, out]: [DevPtr; 3],
        workspace: DevPtr,
        stream: &Stream,
    ) -> Result<()> {
        self.context.make_current()?;
        let api = sys::cudnn()?;
        let handle = self.handle;
        let plan = self.plan(problem)?;
        let (what, bytes) = (Some(problem as &dyn fmt::Display), plan.workspace);
        let (one, zero) = (plan.one(1.0), plan.one(0.0));
        let (one, zero) = (one.as_ptr().cast::<c_void>(), zero.as_ptr().cast::<c_void>());
        let at = |p: DevPtr| p.0 as *mut c_void;
        let Plan { x, w, y, conv, algorithm, .. } = plan;
        let space = at(workspace);
        // SAFETY: the caller vouches for the memory; factors are read before the calls return; the driver's and the
        // runtime's stream handles are the same.
        unsafe {
            call!(api, what, cudnnSetStream(handle, stream.raw() as cudaStream_t))?;
            match *algorithm {
                Algorithm::Output(algorithm) => call!(
                    api,
                    what,
                    cudnnConvolutionForward(
                        handle,
                        one,
                        *x,
                        at(a),
                        *w,
                        at(b),
                        *conv,
                        algorithm,
                        space,
                        bytes,
                        zero,
                        *y,
                        at(out)
                    )
                ),
                Algorithm::Input(algorithm) => call!(
                    api,
                    what,
                    cudnnConvolutionBackwardData(
                        handle,
                        one,
                        *w,
                        at(b),
                        *y,
                        at(a),
                        *conv,
                        algorithm,
                        space,
                        bytes,
                        zero,
                        *x,
                        at(out)
                    )
                ),
                Algorithm::Weight(algorithm) => call!(
                    api,
                    what,
                    cudnnConvolutionBackwardFilter(
                        handle,
                        one,
                        *x,
                        at(b),
                        *y,
                        at(a),
                        *conv,
                        algorithm,
                        space,
                        bytes,
                        zero,
                        *w,
                        at(out)
                    )
                ),
            }
        }
    }
}

#[derive(Clone, Copy)]
enum Algorithm {
    Output(cudnnConvolutionFwdAlgo_t),
    Input(cudnnConvolutionBwdDataAlgo_t),
    Weight(cudnnConvolutionBwdFilterAlgo_t),
}

/// A product in the library's words, and how it does it.
pub(super) struct Plan {
    api: &'static CudnnApi,
    x: cudnnTensorDescriptor_t,
    y: cudnnTensorDescriptor_t,
    w: cudnnFilterDescriptor_t,
    conv: cudnnConvolutionDescriptor_t,
    algorithm: Algorithm,
    workspace: usize,
    double: bool,
    /// Algorithms with their workspaces, the library's favourite first; empty once one was measured to be the fastest.
    rivals: Vec<(Algorithm, usize, cudnnMathType_t)>,
}

/// The algorithms that work, give the same in each run and want no more workspace than we give, the library's favourite
/// first; where there is none that gives the same, the first that works.
macro_rules! choose {
    ($found:expr, $count:expr, $kind:path) => {{
        let found = $found[..$count as usize]
            .iter()
            .filter(|p| p.status == cudnnStatus_t::CUDNN_STATUS_SUCCESS && p.memory <= WORKSPACE);
        let steady = found.clone().filter(|p| p.determinism == cudnnDeterminism_t::CUDNN_DETERMINISTIC);
        let one = usize::from(steady.clone().next().is_none());
        steady.chain(found.clone().take(one)).map(|p| ($kind(p.algo), p.memory, p.mathType)).collect::<Vec<_>>()
    }};
}

impl Plan {
    fn new(api: &'static CudnnApi, handle: cudnnHandle_t, problem: &Convolution) -> Result<Plan> {
        let (what, g) = (Some(problem as &dyn fmt::Display), &problem.geometry);
        let (images, inputs, outputs) = (problem.images, problem.inputs, problem.outputs);
        let null = std::ptr::null_mut();
        let first = Algorithm::Output(cudnnConvolutionFwdAlgo_t(0));
        let double = g.dtype == DType::F64;
        // Whatever is made before a call fails is destroyed with `plan`.
        let mut plan = Plan {
            api,
            x: null,
            y: null,
            w: null.cast(),
            conv: null.cast(),
            algorithm: first,
            workspace: 0,
            double,
            rivals: Vec::new(),
        };
        let dtype = data_type(g.dtype).expect("only such problems are planned");
        let compute = if double { cudnnDataType_t::CUDNN_DATA_DOUBLE } else { cudnnDataType_t::CUDNN_DATA_FLOAT };
        let math = match g.dtype {
            DType::F32 if g.tf32 => cudnnMathType_t::CUDNN_DEFAULT_MATH,
            DType::F32 => cudnnMathType_t::CUDNN_FMA_MATH,
            DType::F64 => cudnnMathType_t::CUDNN_DEFAULT_MATH,
            _ => cudnnMathType_t::CUDNN_TENSOR_OP_MATH,
        };
        let x = problem.extents(images, inputs, &g.input);
        let y = problem.extents(images, outputs, &g.output);
        let w = problem.extents(outputs, inputs / g.groups, &g.kernel);
        let (pads, steps) = (problem.widths(&g.before, 0), problem.widths(&g.stride, 1));
        let spaces = problem.widths(&g.dilation, 1);
        let n = x.len() as c_int;
        // SAFETY: each call writes or reads one descriptor; extents and widths live until the calls return.
        unsafe {
            call!(api, what, cudnnCreateTensorDescriptor(&raw mut plan.x))?;
            call!(api, what, cudnnCreateTensorDescriptor(&raw mut plan.y))?;
            call!(api, what, cudnnCreateFilterDescriptor(&raw mut plan.w))?;
            call!(api, what, cudnnCreateConvolutionDescriptor(&raw mut plan.conv))?;
            for (descriptor, extents) in [(plan.x, &x), (plan.y, &y)] {
                let strides = contiguous(extents);
                call!(api, what, cudnnSetTensorNdDescriptor(descriptor, dtype, n, extents.as_ptr(), strides.as_ptr()))?;
            }
            let format = cudnnTensorFormat_t::CUDNN_TENSOR_NCHW;
            call!(api, what, cudnnSetFilterNdDescriptor(plan.w, dtype, format, n, w.as_ptr()))?;
            call!(
                api,
                what,
                cudnnSetConvolutionNdDescriptor(
                    plan.conv,
                    n - 2,
                    pads.as_ptr(),
                    steps.as_ptr(),
                    spaces.as_ptr(),
                    cudnnConvolutionMode_t::CUDNN_CROSS_CORRELATION,
                    compute
                )
            )?;
            call!(api, what, cudnnSetConvolutionGroupCount(plan.conv, g.groups as c_int))?;
            call!(api, what, cudnnSetConvolutionMathType(plan.conv, math))?;
            let most = ALGORITHMS as c_int;
            let mut count = 0;
            let counted = &raw mut count;
            let chosen = match problem.part {
                Part::Output => {
                    let mut found: [cudnnConvolutionFwdAlgoPerf_t; ALGORITHMS] = std::mem::zeroed();
                    let (x, w, conv, y, into) = (plan.x, plan.w, plan.conv, plan.y, found.as_mut_ptr());
                    call!(
                        api,
                        what,
                        cudnnGetConvolutionForwardAlgorithm_v7(handle, x, w, conv, y, most, counted, into)
                    )?;
                    choose!(found, count, Algorithm::Output)
                }
                Part::Input => {
                    let mut found: [cudnnConvolutionBwdDataAlgoPerf_t; ALGORITHMS] = std::mem::zeroed();
                    let (x, w, conv, y, into) = (plan.x, plan.w, plan.conv, plan.y, found.as_mut_ptr());
                    call!(
                        api,
                        what,
                        cudnnGetConvolutionBackwardDataAlgorithm_v7(handle, w, y, conv, x, most, counted, into)
                    )?;
                    choose!(found, count, Algorithm::Input)
                }
                Part::Weight => {
                    let mut found: [cudnnConvolutionBwdFilterAlgoPerf_t; ALGORITHMS] = std::mem::zeroed();
                    let (x, w, conv, y, into) = (plan.x, plan.w, plan.conv, plan.y, found.as_mut_ptr());
                    call!(
                        api,
                        what,
                        cudnnGetConvolutionBackwardFilterAlgorithm_v7(handle, x, y, conv, w, most, counted, into)
                    )?;
                    choose!(found, count, Algorithm::Weight)
                }
            };
            let Some(&(algorithm, bytes, math)) = chosen.first() else {
                return Err(CudaError::Unsupported(format!("cuDNN has no algorithm for {problem}")));
            };
            call!(api, what, cudnnSetConvolutionMathType(plan.conv, math))?;
            (plan.algorithm, plan.workspace) = (algorithm, bytes);
            plan.rivals = chosen;
        }
        Ok(plan)
    }

    /// A factor, as the library reads it.
    fn one(&self, value: f64) -> [u8; 8] {
        if self.double {
            return value.to_ne_bytes();
        }
        let mut bytes = [0; 8];
        bytes[..4].copy_from_slice(&(value as f32).to_ne_bytes());
        bytes
    }
}

impl Drop for Plan {
    fn drop(&mut self) {
        let api = self.api;
        // SAFETY: the descriptors are ours, or null where none was made.
        unsafe {
            for tensor in [self.x, self.y].into_iter().filter(|d| !d.is_null()) {
                let _at_worst_leaked = call!(api, None, cudnnDestroyTensorDescriptor(tensor));
            }
            if !self.w.is_null() {
                let _at_worst_leaked = call!(api, None, cudnnDestroyFilterDescriptor(self.w));
            }
            if !self.conv.is_null() {
                let _at_worst_leaked = call!(api, None, cudnnDestroyConvolutionDescriptor(self.conv));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn geometry(before: i64, output: i64) -> Geometry {
        let one = |n: i64| [n].as_slice().into();
        Geometry {
            input: one(8),
            kernel: one(4),
            output: one(output),
            stride: one(1),
            dilation: one(1),
            before: one(before),
            groups: 1,
            dtype: DType::F32,
            tf32: true,
        }
    }

    #[test]
    fn uneven_padding_is_left_to_others() {
        assert!(Convolution::known(&geometry(0, 5)));
        assert!(Convolution::known(&geometry(1, 7)));
        assert!(!Convolution::known(&geometry(1, 8)));
    }

    #[test]
    fn a_line_is_an_image_of_one_row() {
        let problem =
            Convolution { part: Part::Output, geometry: Arc::new(geometry(0, 5)), images: 2, inputs: 3, outputs: 4 };
        assert_eq!(problem.extents(2, 3, &problem.geometry.input), [2, 3, 1, 8]);
        assert_eq!(problem.widths(&problem.geometry.before, 0), [0, 0]);
        assert_eq!(contiguous(&[2, 3, 1, 8]), [24, 8, 8, 1]);
    }
}
