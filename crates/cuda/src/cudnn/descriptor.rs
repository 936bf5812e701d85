//! Descriptors of cuDNN's backend interface, with attributes by type.

use std::ffi::c_void;
use std::fmt;

use cuprous_cuda_sys as sys;
use sys::cudnn::{
    CudnnApi, cudnnBackendAttributeName_t as Name, cudnnBackendAttributeType_t as Type, cudnnBackendBehaviorNote_t,
    cudnnBackendDescriptor_t, cudnnBackendDescriptorType_t as Kind, cudnnBackendHeurMode_t,
    cudnnBackendNumericalNote_t, cudnnConvolutionMode_t, cudnnDataType_t, cudnnHandle_t, cudnnPointwiseMode_t,
    cudnnReduceTensorOp_t,
};

use super::call;
use crate::error::Result;

/// A type of values of attributes.
///
/// # Safety
/// The type must have the size and the meaning that the library gives to `TYPE`.
pub(super) unsafe trait Attribute: Copy {
    const TYPE: Type;
}

/// A descriptor as the value of an attribute.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub(super) struct Raw(cudnnBackendDescriptor_t);

/// An address as the value of an attribute.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub(super) struct Address(pub(super) *const c_void);

macro_rules! attributes {
    ($($of:ty: $kind:ident),* $(,)?) => { $(
        // SAFETY: the library's header pairs these types.
        unsafe impl Attribute for $of {
            const TYPE: Type = Type::$kind;
        }
    )* };
}

attributes! {
    bool: CUDNN_TYPE_BOOLEAN,
    i64: CUDNN_TYPE_INT64,
    f32: CUDNN_TYPE_FLOAT,
    f64: CUDNN_TYPE_DOUBLE,
    Raw: CUDNN_TYPE_BACKEND_DESCRIPTOR,
    Address: CUDNN_TYPE_VOID_PTR,
    cudnnHandle_t: CUDNN_TYPE_HANDLE,
    cudnnDataType_t: CUDNN_TYPE_DATA_TYPE,
    cudnnPointwiseMode_t: CUDNN_TYPE_POINTWISE_MODE,
    cudnnReduceTensorOp_t: CUDNN_TYPE_REDUCTION_OPERATOR_TYPE,
    cudnnConvolutionMode_t: CUDNN_TYPE_CONVOLUTION_MODE,
    cudnnBackendHeurMode_t: CUDNN_TYPE_HEUR_MODE,
    cudnnBackendNumericalNote_t: CUDNN_TYPE_NUMERICAL_NOTE,
    cudnnBackendBehaviorNote_t: CUDNN_TYPE_BEHAVIOR_NOTE,
}

/// One of the library's descriptors, destroyed when dropped.
pub(super) struct Descriptor {
    api: &'static CudnnApi,
    raw: Raw,
}

impl Descriptor {
    pub(super) fn new(api: &'static CudnnApi, kind: Kind) -> Result<Descriptor> {
        let mut raw: cudnnBackendDescriptor_t = std::ptr::null_mut();
        // SAFETY: the call writes one descriptor.
        unsafe { call!(api, None, cudnnBackendCreateDescriptor(kind, &raw mut raw)) }?;
        Ok(Descriptor { api, raw: Raw(raw) })
    }

    /// Returns the handle, as the value of an attribute of another descriptor. This one must live as long as that is
    /// used.
    pub(super) fn raw(&self) -> Raw {
        self.raw
    }

    /// Sets an attribute. Returns the descriptor, so that calls can be chained.
    pub(super) fn set<T: Attribute>(self, name: Name, values: &[T]) -> Result<Descriptor> {
        let (count, at) = (values.len() as i64, values.as_ptr().cast::<c_void>());
        // SAFETY: `values` has `count` elements of the type; the library copies them.
        unsafe { call!(self.api, None, cudnnBackendSetAttribute(self.raw.0, name, T::TYPE, count, at)) }?;
        Ok(self)
    }

    /// Fills `values` with the first values of an attribute and returns how many there are.
    pub(super) fn get<T: Attribute>(&self, name: Name, values: &mut [T]) -> Result<usize> {
        let (capacity, at) = (values.len() as i64, values.as_mut_ptr().cast::<c_void>());
        let mut count = 0i64;
        // SAFETY: `values` has `capacity` elements of the type.
        unsafe {
            call!(self.api, None, cudnnBackendGetAttribute(self.raw.0, name, T::TYPE, capacity, &raw mut count, at))
        }?;
        Ok(count as usize)
    }

    /// Finalizes the descriptor. `what` names the problem in messages.
    pub(super) fn finalize(self, what: Option<&dyn fmt::Display>) -> Result<Descriptor> {
        // SAFETY: the descriptor is owned by this value.
        unsafe { call!(self.api, what, cudnnBackendFinalize(self.raw.0)) }?;
        Ok(self)
    }

    /// Submits a plan with the operands in `pack`.
    ///
    /// # Safety
    /// This must be a plan of the handle, and the memory that `pack` points to must be live and have the plan's sizes.
    pub(super) unsafe fn execute(
        &self,
        handle: cudnnHandle_t,
        pack: &Descriptor,
        what: Option<&dyn fmt::Display>,
    ) -> Result<()> {
        // SAFETY: the caller vouches for the operands.
        unsafe { call!(self.api, what, cudnnBackendExecute(handle, self.raw.0, pack.raw.0)) }
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        // SAFETY: the descriptor is owned by this value.
        let _at_worst_leaked = unsafe { call!(self.api, None, cudnnBackendDestroyDescriptor(self.raw.0)) };
    }
}
