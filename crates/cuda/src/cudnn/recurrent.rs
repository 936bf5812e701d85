//! Recurrent layers by cuDNN, with its standard algorithm on packed sequences of equal length.

use std::ffi::{c_int, c_void};
use std::fmt;
use std::sync::Arc;

use cuprous_core::DType;
use cuprous_core::recurrent::{Cell, Layers, Recurrence};
use cuprous_cuda_sys as sys;
use sys::cudnn::{
    CudnnApi, cudnnDataType_t, cudnnDirectionMode_t, cudnnDropoutDescriptor_t, cudnnForwardMode_t, cudnnHandle_t,
    cudnnMathType_t, cudnnRNNAlgo_t, cudnnRNNBiasMode_t, cudnnRNNDataDescriptor_t, cudnnRNNDataLayout_t,
    cudnnRNNDescriptor_t, cudnnRNNInputMode_t, cudnnRNNMode_t, cudnnTensorDescriptor_t, cudnnWgradMode_t,
};

use super::{Cudnn, MAX_CACHED_PLANS, call, contiguous, data_type};
use crate::driver::{DevPtr, Stream, memcpy_dtod_async};
use crate::error::Result;

/// The library's descriptors of some layers, and the sizes that it returned for them.
pub(super) struct Plan {
    api: &'static CudnnApi,
    rnn: cudnnRNNDescriptor_t,
    dropout: cudnnDropoutDescriptor_t,
    x: cudnnRNNDataDescriptor_t,
    y: cudnnRNNDataDescriptor_t,
    states: cudnnTensorDescriptor_t,
    mode: cudnnForwardMode_t,
    workspace: usize,
    /// Bytes of the reserve space: values that the backward pass needs.
    reserve: usize,
    /// Bytes of parameters.
    weights: usize,
    recurrence: Arc<Recurrence>,
}

impl Cudnn {
    /// Returns the library's layout of the operands of those layers, or `None` if it does not support them.
    ///
    /// # Errors
    /// The driver fails.
    pub(crate) fn recurrence(&mut self, of: &Layers) -> Result<Option<Arc<Recurrence>>> {
        if let Some(plan) = self.recurrences.get(of) {
            return Ok(plan.as_ref().map(|plan| plan.recurrence.clone()));
        }
        self.context.make_current()?;
        if self.recurrences.len() >= MAX_CACHED_PLANS {
            self.recurrences.clear();
        }
        let plan = if is_supported(of) { Plan::new(sys::cudnn()?, self.handle, of).ok().flatten() } else { None };
        let plan = self.recurrences.entry(of.clone()).or_insert(plan);
        Ok(plan.as_ref().map(|plan| plan.recurrence.clone()))
    }

    fn layers(&mut self, of: &Layers) -> Result<&Plan> {
        self.recurrence(of)?;
        let plan = self.recurrences.get(of).and_then(Option::as_ref);
        plan.ok_or_else(|| crate::error::CudaError::Unsupported(format!("cuDNN does not support {of}")))
    }

    /// Returns the bytes of workspace of the forward pass, or of the backward pass, where it includes a copy of the
    /// reserve space.
    ///
    /// # Errors
    /// The library refuses the layers.
    pub(crate) fn recurrence_workspace(&mut self, of: &Layers, backward: bool) -> Result<usize> {
        let plan = self.layers(of)?;
        Ok(plan.workspace.next_multiple_of(256) + if backward { plan.reserve } else { 0 })
    }

    /// Submits the forward pass, from `operand` to `result`.
    ///
    /// # Errors
    /// The library fails.
    ///
    /// # Safety
    /// Both addresses must be live allocations of the recurrence's sizes, and so must the workspace.
    pub(crate) unsafe fn rnn_forward(
        &mut self,
        of: &Layers,
        [operand, result]: [DevPtr; 2],
        workspace: DevPtr,
        stream: &Stream,
    ) -> Result<()> {
        self.context.make_current()?;
        self.set_stream(stream, of)?;
        let (api, handle) = (sys::cudnn()?, self.handle);
        let plan = self.layers(of)?;
        let what = Some(of as &dyn fmt::Display);
        let (x, h, c) = plan.inputs(operand);
        let (y, hn, cn) = plan.outputs(result);
        let reserve = plan.element(result, plan.recurrence.gradient());
        let null = std::ptr::null;
        // SAFETY: the caller vouches for the memory.
        unsafe {
            call!(
                api,
                what,
                cudnnRNNForward(
                    handle,
                    plan.rnn,
                    plan.mode,
                    null(),
                    plan.x,
                    x,
                    plan.y,
                    y,
                    plan.states,
                    h,
                    hn,
                    plan.states,
                    c,
                    cn,
                    plan.weights,
                    at(operand),
                    plan.workspace,
                    at(workspace),
                    plan.reserve,
                    reserve
                )
            )
        }
    }

    /// Submits the backward pass, from the layers' operand and result and the gradients of outputs and last states to
    /// the gradient of the operand.
    ///
    /// # Errors
    /// The library fails.
    ///
    /// # Safety
    /// All addresses must be live allocations of the recurrence's sizes, and so must the workspace.
    pub(crate) unsafe fn rnn_backward(
        &mut self,
        of: &Layers,
        [operand, result, gradient, out]: [DevPtr; 4],
        workspace: DevPtr,
        stream: &Stream,
    ) -> Result<()> {
        self.context.make_current()?;
        self.set_stream(stream, of)?;
        let (api, handle) = (sys::cudnn()?, self.handle);
        let plan = self.layers(of)?;
        let what = Some(of as &dyn fmt::Display);
        let (x, h, c) = plan.inputs(operand);
        let (y, ..) = plan.outputs(result);
        let (dy, dhn, dcn) = plan.outputs(gradient);
        let (dx, dh, dc) = plan.inputs(out);
        // The library overwrites the reserve space, which another backward pass may need, so it gets a copy.
        let copy = workspace.offset(plan.workspace.next_multiple_of(256) as i64);
        let null = std::ptr::null;
        let mode = cudnnWgradMode_t::CUDNN_WGRAD_MODE_ADD;
        // SAFETY: the caller vouches for the memory.
        unsafe {
            let reserve = plan.element(result, plan.recurrence.gradient());
            memcpy_dtod_async(copy, DevPtr(reserve as u64), plan.reserve, stream)?;
            // The library adds to the gradients of parameters.
            crate::driver::memset_async(out, 0, plan.weights, stream)?;
            call!(
                api,
                what,
                cudnnRNNBackwardData_v8(
                    handle,
                    plan.rnn,
                    null(),
                    plan.y,
                    y,
                    dy,
                    plan.x,
                    dx,
                    plan.states,
                    h,
                    dhn,
                    dh,
                    plan.states,
                    c,
                    dcn,
                    dc,
                    plan.weights,
                    at(operand),
                    plan.workspace,
                    at(workspace),
                    plan.reserve,
                    at(copy)
                )
            )?;
            call!(
                api,
                what,
                cudnnRNNBackwardWeights_v8(
                    handle,
                    plan.rnn,
                    mode,
                    null(),
                    plan.x,
                    x,
                    plan.states,
                    h,
                    plan.y,
                    y,
                    plan.weights,
                    at(out),
                    plan.workspace,
                    at(workspace),
                    plan.reserve,
                    at(copy)
                )
            )
        }
    }
}

fn at(p: DevPtr) -> *mut c_void {
    p.0 as *mut c_void
}

/// Returns true if the library may support the layers.
fn is_supported(of: &Layers) -> bool {
    let dtypes = matches!(of.dtype, DType::F16 | DType::F32 | DType::F64);
    let sizes = [of.input, of.hidden, of.layers, of.steps, of.batch];
    dtypes && sizes.iter().all(|&n| (1..1 << 24).contains(&n))
}

impl Plan {
    /// Creates the descriptors. `None` if the library's parameters are not laid out as PyTorch's, gate by gate.
    fn new(api: &'static CudnnApi, handle: cudnnHandle_t, of: &Layers) -> Result<Option<Plan>> {
        let what = Some(of as &dyn fmt::Display);
        let null: *mut c_void = std::ptr::null_mut();
        let mode = if of.training {
            cudnnForwardMode_t::CUDNN_FWD_MODE_TRAINING
        } else {
            cudnnForwardMode_t::CUDNN_FWD_MODE_INFERENCE
        };
        let placeholder = Arc::new(Recurrence::new(of.clone(), &[], 0, 0));
        // If a call fails, the descriptors created so far are destroyed with `plan`.
        let mut plan = Plan {
            api,
            rnn: null.cast(),
            dropout: null.cast(),
            x: null.cast(),
            y: null.cast(),
            states: null.cast(),
            mode,
            workspace: 0,
            reserve: 0,
            weights: 0,
            recurrence: placeholder,
        };
        let dtype = data_type(of.dtype).expect("`is_supported` checked the dtype");
        let compute =
            if of.dtype == DType::F64 { cudnnDataType_t::CUDNN_DATA_DOUBLE } else { cudnnDataType_t::CUDNN_DATA_FLOAT };
        let math = match of.dtype {
            DType::F32 if !of.tf32 => cudnnMathType_t::CUDNN_FMA_MATH,
            DType::F16 => cudnnMathType_t::CUDNN_TENSOR_OP_MATH,
            _ => cudnnMathType_t::CUDNN_DEFAULT_MATH,
        };
        let cell = match of.cell {
            Cell::Relu => cudnnRNNMode_t::CUDNN_RNN_RELU,
            Cell::Tanh => cudnnRNNMode_t::CUDNN_RNN_TANH,
            Cell::Lstm => cudnnRNNMode_t::CUDNN_LSTM,
            Cell::Gru => cudnnRNNMode_t::CUDNN_GRU,
        };
        let bias =
            if of.bias { cudnnRNNBiasMode_t::CUDNN_RNN_DOUBLE_BIAS } else { cudnnRNNBiasMode_t::CUDNN_RNN_NO_BIAS };
        let direction = if of.bidirectional {
            cudnnDirectionMode_t::CUDNN_BIDIRECTIONAL
        } else {
            cudnnDirectionMode_t::CUDNN_UNIDIRECTIONAL
        };
        let lengths = vec![of.steps as c_int; of.batch as usize];
        let steps = cudnnRNNDataLayout_t::CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED;
        let states = [of.layers * of.directions(), of.batch, of.hidden].map(|n| n as c_int);
        // SAFETY: each call writes or reads one descriptor or number; lengths and extents live until the calls return.
        unsafe {
            call!(api, what, cudnnCreateDropoutDescriptor(&raw mut plan.dropout))?;
            call!(api, what, cudnnSetDropoutDescriptor(plan.dropout, handle, 0.0, null, 0, 0))?;
            call!(api, what, cudnnCreateRNNDescriptor(&raw mut plan.rnn))?;
            call!(
                api,
                what,
                cudnnSetRNNDescriptor_v8(
                    plan.rnn,
                    cudnnRNNAlgo_t::CUDNN_RNN_ALGO_STANDARD,
                    cell,
                    bias,
                    direction,
                    cudnnRNNInputMode_t::CUDNN_LINEAR_INPUT,
                    dtype,
                    compute,
                    math,
                    of.input as i32,
                    of.hidden as i32,
                    of.hidden as i32,
                    of.layers as i32,
                    plan.dropout,
                    0
                )
            )?;
            call!(api, what, cudnnCreateRNNDataDescriptor(&raw mut plan.x))?;
            call!(api, what, cudnnCreateRNNDataDescriptor(&raw mut plan.y))?;
            for (descriptor, width) in [(plan.x, of.input), (plan.y, of.directions() * of.hidden)] {
                call!(
                    api,
                    what,
                    cudnnSetRNNDataDescriptor(
                        descriptor,
                        dtype,
                        steps,
                        of.steps as c_int,
                        of.batch as c_int,
                        width as c_int,
                        lengths.as_ptr(),
                        null
                    )
                )?;
            }
            call!(api, what, cudnnCreateTensorDescriptor(&raw mut plan.states))?;
            let strides = contiguous(&states);
            let extents = states.as_ptr();
            call!(api, what, cudnnSetTensorNdDescriptor(plan.states, dtype, 3, extents, strides.as_ptr()))?;
            let (work, reserve, weights) = (&raw mut plan.workspace, &raw mut plan.reserve, &raw mut plan.weights);
            call!(api, what, cudnnGetRNNTempSpaceSizes(handle, plan.rnn, mode, plan.x, work, reserve))?;
            call!(api, what, cudnnGetRNNWeightSpaceSize(handle, plan.rnn, weights))?;
        }
        let Some(parameters) = plan.parameters(handle, of)? else { return Ok(None) };
        let size = of.dtype.size();
        let elements = |bytes: usize| bytes.div_ceil(size) as i64;
        plan.recurrence =
            Arc::new(Recurrence::new(of.clone(), &parameters, elements(plan.weights), elements(plan.reserve)));
        Ok(Some(plan))
    }

    /// Returns the offsets of PyTorch's parameters in elements, or `None` if the gates of a parameter are not
    /// contiguous.
    fn parameters(&self, handle: cudnnHandle_t, of: &Layers) -> Result<Option<Vec<i64>>> {
        let (api, what) = (self.api, Some(of as &dyn fmt::Display));
        let shapes = of.parameters();
        let each = if of.bias { 4 } else { 2 };
        // The library only adds offsets to this address.
        let base = 1usize << 30;
        let mut scratch: [cudnnTensorDescriptor_t; 2] = [std::ptr::null_mut(); 2];
        let mut starts: Vec<i64> = Vec::new();
        let mut parameter_starts = |layer: i64, number: i64| -> Result<[i64; 2]> {
            let (mut matrix, mut bias) = (std::ptr::null_mut(), std::ptr::null_mut());
            // SAFETY: the calls write two descriptors and two addresses, and read no weights.
            unsafe {
                for descriptor in scratch.iter_mut().filter(|d| d.is_null()) {
                    call!(api, what, cudnnCreateTensorDescriptor(descriptor))?;
                }
                call!(
                    api,
                    what,
                    cudnnGetRNNWeightParams(
                        handle,
                        self.rnn,
                        layer as i32,
                        self.weights,
                        base as *const c_void,
                        number as i32,
                        scratch[0],
                        &raw mut matrix,
                        scratch[1],
                        &raw mut bias
                    )
                )?;
            }
            Ok([matrix, bias].map(|p: *mut c_void| (p as usize).wrapping_sub(base) as i64))
        };
        let mut fits = true;
        let size = of.dtype.size() as i64;
        let gates = of.cell.gates();
        let mut find = || -> Result<()> {
            for layer in 0..of.layers * of.directions() {
                let own = &shapes[layer as usize * each..][..each];
                // The matrices of the input and of the state, then their biases.
                let mut of_layer = vec![0; each];
                for gate in 0..2 * gates {
                    let (part, place) = ((gate / gates) as usize, gate % gates);
                    for (kind, start) in parameter_starts(layer, gate)?.into_iter().enumerate().take(each / 2) {
                        let k = 2 * kind + part;
                        if place == 0 {
                            of_layer[k] = start;
                        }
                        let bytes = own[k].iter().product::<i64>() * size;
                        fits &= start == of_layer[k] + place * bytes / gates && start % size == 0;
                        fits &= start >= 0 && of_layer[k] + bytes <= self.weights as i64;
                    }
                }
                starts.extend(of_layer.iter().map(|start| start / size));
            }
            Ok(())
        };
        let result = find();
        for descriptor in scratch.into_iter().filter(|d| !d.is_null()) {
            // SAFETY: the descriptors were created above.
            let _at_worst_leaked = unsafe { call!(api, None, cudnnDestroyTensorDescriptor(descriptor)) };
        }
        result?;
        Ok(fits.then_some(starts))
    }

    /// Returns the address of the element `start` of an array.
    fn element(&self, array: DevPtr, start: i64) -> *mut c_void {
        at(array.offset(start * self.recurrence.of.dtype.size() as i64))
    }

    /// Returns the addresses of the input and the initial states in the layers' operand. That of c is null unless it is
    /// an LSTM.
    fn inputs(&self, operand: DevPtr) -> (*mut c_void, *mut c_void, *mut c_void) {
        let r = &self.recurrence;
        let from = r.offsets.len() - 1 - r.of.cell.states();
        let c = if r.of.cell == Cell::Lstm { self.element(operand, r.offsets[from + 2]) } else { std::ptr::null_mut() };
        (self.element(operand, r.offsets[from]), self.element(operand, r.offsets[from + 1]), c)
    }

    /// Returns the addresses of the outputs and the final states in the layers' result.
    fn outputs(&self, result: DevPtr) -> (*mut c_void, *mut c_void, *mut c_void) {
        let r = &self.recurrence;
        let c = if r.of.cell == Cell::Lstm { self.element(result, r.result_offsets[2]) } else { std::ptr::null_mut() };
        (self.element(result, r.result_offsets[0]), self.element(result, r.result_offsets[1]), c)
    }
}

impl Drop for Plan {
    fn drop(&mut self) {
        let api = self.api;
        // SAFETY: the descriptors are owned by this value, or null if they were not created.
        unsafe {
            for data in [self.x, self.y].into_iter().filter(|d| !d.is_null()) {
                let _at_worst_leaked = call!(api, None, cudnnDestroyRNNDataDescriptor(data));
            }
            if !self.states.is_null() {
                let _at_worst_leaked = call!(api, None, cudnnDestroyTensorDescriptor(self.states));
            }
            if !self.rnn.is_null() {
                let _at_worst_leaked = call!(api, None, cudnnDestroyRNNDescriptor(self.rnn));
            }
            if !self.dropout.is_null() {
                let _at_worst_leaked = call!(api, None, cudnnDestroyDropoutDescriptor(self.dropout));
            }
        }
    }
}

// SAFETY: descriptors may be used from any thread, one at a time, which `&mut Cudnn` ensures.
unsafe impl Send for Plan {}
