//! Graphs of operations for cuDNN, the engines that support them, and their runs.
//!
//! A [`Graph`] is plain data. [`Graph::engines`] queries the engines that support it, the library's first choice first.
//! [`Engines::plan`] prepares one of them to run.

use std::ffi::c_void;
use std::fmt;

use cuprous_cuda_sys as sys;
use sys::cudnn::{
    CudnnApi, cudnnBackendAttributeName_t as Name, cudnnBackendBehaviorNote_t as Behavior,
    cudnnBackendDescriptorType_t as Kind, cudnnBackendHeurMode_t, cudnnBackendNumericalNote_t as Origin,
    cudnnConvolutionMode_t, cudnnDataType_t, cudnnHandle_t, cudnnPointwiseMode_t, cudnnReduceTensorOp_t,
};

use super::descriptor::{Address, Descriptor, Raw};
use crate::driver::DevPtr;
use crate::error::Result;

/// The index of a tensor in its graph. The library's id is greater by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Id(usize);

impl Id {
    fn unique(self) -> i64 {
        self.0 as i64 + 1
    }
}

/// Where a tensor is stored.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Storage {
    /// In memory, at an address that each run binds.
    Memory,
    /// Not stored: an intermediate value between two operations.
    Virtual,
    /// A constant.
    Constant(f32),
}

/// The alignment of the memory of tensors in bytes.
const ALIGNMENT: i64 = 16;

#[derive(Clone, Debug)]
struct Tensor {
    extents: Vec<i64>,
    strides: Vec<i64>,
    dtype: cudnnDataType_t,
    storage: Storage,
}

/// The parameters of a convolution for each spatial axis. All lists have the same length.
#[derive(Clone, Debug)]
pub(super) struct Window {
    pub(super) before: Vec<i64>,
    pub(super) after: Vec<i64>,
    pub(super) stride: Vec<i64>,
    pub(super) dilation: Vec<i64>,
    /// The type of the accumulator.
    pub(super) compute: cudnnDataType_t,
}

/// The product of a convolution to compute. Operands are in the order image, filter, output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Product {
    Output,
    Image,
    Filter,
}

#[derive(Clone, Debug)]
enum Op {
    Matmul { a: Id, b: Id, out: Id },
    Pointwise { mode: cudnnPointwiseMode_t, compute: cudnnDataType_t, ins: [Option<Id>; 3], axis: Option<i64>, out: Id },
    Reduce { op: cudnnReduceTensorOp_t, x: Id, out: Id },
    Reshape { x: Id, out: Id },
    Convolve { product: Product, window: Window, image: Id, filter: Id, output: Id },
}

/// Operations on tensors, in order.
#[derive(Clone, Debug, Default)]
pub(super) struct Graph {
    tensors: Vec<Tensor>,
    ops: Vec<Op>,
}

const F32: cudnnDataType_t = cudnnDataType_t::CUDNN_DATA_FLOAT;

/// Returns the strides of a row-major tensor in elements.
pub(super) fn dense(extents: &[i64]) -> Vec<i64> {
    let mut strides = vec![1; extents.len()];
    for k in (0..extents.len().saturating_sub(1)).rev() {
        strides[k] = strides[k + 1] * extents[k + 1];
    }
    strides
}

impl Graph {
    fn tensor(&mut self, extents: &[i64], strides: &[i64], dtype: cudnnDataType_t, storage: Storage) -> Id {
        self.tensors.push(Tensor { extents: extents.into(), strides: strides.into(), dtype, storage });
        Id(self.tensors.len() - 1)
    }

    /// Adds a tensor in memory.
    pub(super) fn memory(&mut self, extents: &[i64], strides: &[i64], dtype: cudnnDataType_t) -> Id {
        self.tensor(extents, strides, dtype, Storage::Memory)
    }

    /// Adds a row-major virtual tensor: an intermediate value that is not stored.
    pub(super) fn virtual_tensor(&mut self, extents: &[i64], dtype: cudnnDataType_t) -> Id {
        self.tensor(extents, &dense(extents), dtype, Storage::Virtual)
    }

    /// Adds a float32 constant, which broadcasts to tensors of four axes.
    pub(super) fn constant(&mut self, value: f32) -> Id {
        self.tensor(&[1; 4], &[1; 4], F32, Storage::Constant(value))
    }

    pub(super) fn matmul(&mut self, a: Id, b: Id, out: Id) {
        self.ops.push(Op::Matmul { a, b, out });
    }

    pub(super) fn reduce(&mut self, op: cudnnReduceTensorOp_t, x: Id, out: Id) {
        self.ops.push(Op::Reduce { op, x, out });
    }

    /// Adds an elementwise function, computed in float32.
    pub(super) fn pointwise(&mut self, mode: cudnnPointwiseMode_t, ins: &[Id], out: Id) {
        self.map(mode, F32, ins, None, out);
    }

    /// Adds an elementwise function, computed in float32, whose result is a new virtual tensor.
    pub(super) fn pointwise_virtual(&mut self, mode: cudnnPointwiseMode_t, ins: &[Id], extents: &[i64]) -> Id {
        let out = self.virtual_tensor(extents, F32);
        self.pointwise(mode, ins, out);
        out
    }

    /// Adds `x` with minus infinity above the diagonal of the last two axes.
    pub(super) fn lower_triangle(&mut self, x: Id) -> Id {
        use cudnnDataType_t as D;
        use cudnnPointwiseMode_t as P;
        let extents = self.tensors[x.0].extents.clone();
        let axes = extents.len() as i64;
        let [row, column] = [axes - 2, axes - 1].map(|axis| {
            let index = self.virtual_tensor(&extents, D::CUDNN_DATA_INT32);
            self.map(P::CUDNN_POINTWISE_GEN_INDEX, F32, &[x], Some(axis), index);
            index
        });
        let mask = self.virtual_tensor(&extents, D::CUDNN_DATA_BOOLEAN);
        self.map(P::CUDNN_POINTWISE_CMP_GE, D::CUDNN_DATA_BOOLEAN, &[row, column], None, mask);
        let minus_infinity = self.constant(f32::NEG_INFINITY);
        self.pointwise_virtual(P::CUDNN_POINTWISE_BINARY_SELECT, &[x, minus_infinity, mask], &extents)
    }

    fn map(&mut self, mode: cudnnPointwiseMode_t, compute: cudnnDataType_t, ins: &[Id], axis: Option<i64>, out: Id) {
        let ins = [0, 1, 2].map(|k| ins.get(k).copied());
        self.ops.push(Op::Pointwise { mode, compute, ins, axis, out });
    }

    /// Adds a view of `x` with the extents and strides of `out`.
    pub(super) fn reshape(&mut self, x: Id, out: Id) {
        self.ops.push(Op::Reshape { x, out });
    }

    /// Adds a virtual tensor with the given strides.
    pub(super) fn virtual_strided(&mut self, extents: &[i64], strides: &[i64], dtype: cudnnDataType_t) -> Id {
        self.tensor(extents, strides, dtype, Storage::Virtual)
    }

    pub(super) fn convolve(&mut self, product: Product, window: Window, [image, filter, output]: [Id; 3]) {
        self.ops.push(Op::Convolve { product, window, image, filter, output });
    }

    /// Returns the engines that the library has for the graph, its first choice first. Allocates no device memory.
    ///
    /// # Errors
    /// The library has no engine for it.
    pub(super) fn engines(
        &self,
        api: &'static CudnnApi,
        handle: cudnnHandle_t,
        what: &dyn fmt::Display,
    ) -> Result<Engines> {
        let what = Some(what);
        let mut descriptors = Vec::new();
        for (k, tensor) in self.tensors.iter().enumerate() {
            descriptors.push(tensor.describe(api, Id(k), what)?);
        }
        let mut ops = Vec::new();
        for op in &self.ops {
            let describe = op.describe(api, &descriptors[..self.tensors.len()], what)?;
            descriptors.extend(describe.of);
            ops.push(describe.op);
        }
        let raws: Vec<Raw> = ops.iter().map(Descriptor::raw).collect();
        let graph = Descriptor::new(api, Kind::CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR)?
            .set(Name::CUDNN_ATTR_OPERATIONGRAPH_HANDLE, &[handle])?
            .set(Name::CUDNN_ATTR_OPERATIONGRAPH_OPS, &raws)?
            .finalize(what)?;
        let heuristic = Descriptor::new(api, Kind::CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR)?
            .set(Name::CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, &[graph.raw()])?
            .set(Name::CUDNN_ATTR_ENGINEHEUR_MODE, &[cudnnBackendHeurMode_t::CUDNN_HEUR_MODE_A])?
            .finalize(what)?;
        let mut configurations = Vec::new();
        for _ in 0..MAX_ENGINES {
            configurations.push(Descriptor::new(api, Kind::CUDNN_BACKEND_ENGINECFG_DESCRIPTOR)?);
        }
        let mut room: Vec<Raw> = configurations.iter().map(Descriptor::raw).collect();
        let count = heuristic.get(Name::CUDNN_ATTR_ENGINEHEUR_RESULTS, &mut room)?;
        configurations.truncate(count.min(MAX_ENGINES));
        let constants = self.tensors.iter().enumerate().filter_map(|(k, tensor)| match tensor.storage {
            Storage::Constant(value) => Some((Id(k), Box::new(value))),
            _ => None,
        });
        descriptors.extend(ops);
        descriptors.push(graph);
        Ok(Engines { api, handle, configurations, constants: constants.collect(), _descriptors: descriptors })
    }
}

/// The largest number of engines to query.
const MAX_ENGINES: usize = 16;

/// The descriptor of an operation, and those that it refers to.
struct OperationDescriptors {
    op: Descriptor,
    of: Vec<Descriptor>,
}

impl Tensor {
    fn describe(&self, api: &'static CudnnApi, id: Id, what: Option<&dyn fmt::Display>) -> Result<Descriptor> {
        Descriptor::new(api, Kind::CUDNN_BACKEND_TENSOR_DESCRIPTOR)?
            .set(Name::CUDNN_ATTR_TENSOR_UNIQUE_ID, &[id.unique()])?
            .set(Name::CUDNN_ATTR_TENSOR_DATA_TYPE, &[self.dtype])?
            .set(Name::CUDNN_ATTR_TENSOR_DIMENSIONS, &self.extents)?
            .set(Name::CUDNN_ATTR_TENSOR_STRIDES, &self.strides)?
            .set(Name::CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, &[ALIGNMENT])?
            .set(Name::CUDNN_ATTR_TENSOR_IS_VIRTUAL, &[self.storage == Storage::Virtual])?
            .set(Name::CUDNN_ATTR_TENSOR_IS_BY_VALUE, &[matches!(self.storage, Storage::Constant(_))])?
            .finalize(what)
    }
}

impl Op {
    fn describe(
        &self,
        api: &'static CudnnApi,
        tensors: &[Descriptor],
        what: Option<&dyn fmt::Display>,
    ) -> Result<OperationDescriptors> {
        let new = |kind| Descriptor::new(api, kind);
        let raw = |id: Id| [tensors[id.0].raw()];
        Ok(match self {
            Op::Matmul { a, b, out } => {
                let descriptor = new(Kind::CUDNN_BACKEND_MATMUL_DESCRIPTOR)?
                    .set(Name::CUDNN_ATTR_MATMUL_COMP_TYPE, &[F32])?
                    .finalize(what)?;
                let op = new(Kind::CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR)?
                    .set(Name::CUDNN_ATTR_OPERATION_MATMUL_ADESC, &raw(*a))?
                    .set(Name::CUDNN_ATTR_OPERATION_MATMUL_BDESC, &raw(*b))?
                    .set(Name::CUDNN_ATTR_OPERATION_MATMUL_CDESC, &raw(*out))?
                    .set(Name::CUDNN_ATTR_OPERATION_MATMUL_DESC, &[descriptor.raw()])?;
                OperationDescriptors { op: op.finalize(what)?, of: vec![descriptor] }
            }
            Op::Pointwise { mode, compute, ins, axis, out } => {
                let mut descriptor = new(Kind::CUDNN_BACKEND_POINTWISE_DESCRIPTOR)?
                    .set(Name::CUDNN_ATTR_POINTWISE_MODE, &[*mode])?
                    .set(Name::CUDNN_ATTR_POINTWISE_MATH_PREC, &[*compute])?;
                if let Some(axis) = axis {
                    descriptor = descriptor.set(Name::CUDNN_ATTR_POINTWISE_AXIS, &[*axis])?;
                }
                let descriptor = descriptor.finalize(what)?;
                let names = [
                    Name::CUDNN_ATTR_OPERATION_POINTWISE_XDESC,
                    Name::CUDNN_ATTR_OPERATION_POINTWISE_BDESC,
                    Name::CUDNN_ATTR_OPERATION_POINTWISE_TDESC,
                ];
                let mut op = new(Kind::CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR)?
                    .set(Name::CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, &[descriptor.raw()])?
                    .set(Name::CUDNN_ATTR_OPERATION_POINTWISE_YDESC, &raw(*out))?;
                for (name, id) in names.into_iter().zip(ins) {
                    if let Some(id) = id {
                        op = op.set(name, &raw(*id))?;
                    }
                }
                OperationDescriptors { op: op.finalize(what)?, of: vec![descriptor] }
            }
            Op::Reduce { op, x, out } => {
                let descriptor = new(Kind::CUDNN_BACKEND_REDUCTION_DESCRIPTOR)?
                    .set(Name::CUDNN_ATTR_REDUCTION_OPERATOR, &[*op])?
                    .set(Name::CUDNN_ATTR_REDUCTION_COMP_TYPE, &[F32])?
                    .finalize(what)?;
                let op = new(Kind::CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR)?
                    .set(Name::CUDNN_ATTR_OPERATION_REDUCTION_DESC, &[descriptor.raw()])?
                    .set(Name::CUDNN_ATTR_OPERATION_REDUCTION_XDESC, &raw(*x))?
                    .set(Name::CUDNN_ATTR_OPERATION_REDUCTION_YDESC, &raw(*out))?;
                OperationDescriptors { op: op.finalize(what)?, of: vec![descriptor] }
            }
            Op::Reshape { x, out } => {
                let op = new(Kind::CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR)?
                    .set(Name::CUDNN_ATTR_OPERATION_RESHAPE_XDESC, &raw(*x))?
                    .set(Name::CUDNN_ATTR_OPERATION_RESHAPE_YDESC, &raw(*out))?;
                OperationDescriptors { op: op.finalize(what)?, of: Vec::new() }
            }
            Op::Convolve { product, window, image, filter, output } => {
                let descriptor = window.describe(api, what)?;
                let (kind, names, [alpha, beta]) = product.names();
                let mut op = new(kind)?.set(names[3], &[descriptor.raw()])?;
                for (name, id) in names.into_iter().zip([image, filter, output]) {
                    op = op.set(name, &raw(*id))?;
                }
                let op = if window.compute == cudnnDataType_t::CUDNN_DATA_DOUBLE {
                    op.set(alpha, &[1.0f64])?.set(beta, &[0.0f64])?
                } else {
                    op.set(alpha, &[1.0f32])?.set(beta, &[0.0f32])?
                };
                OperationDescriptors { op: op.finalize(what)?, of: vec![descriptor] }
            }
        })
    }
}

impl Window {
    fn describe(&self, api: &'static CudnnApi, what: Option<&dyn fmt::Display>) -> Result<Descriptor> {
        Descriptor::new(api, Kind::CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR)?
            .set(Name::CUDNN_ATTR_CONVOLUTION_COMP_TYPE, &[self.compute])?
            .set(Name::CUDNN_ATTR_CONVOLUTION_CONV_MODE, &[cudnnConvolutionMode_t::CUDNN_CROSS_CORRELATION])?
            .set(Name::CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, &[self.stride.len() as i64])?
            .set(Name::CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, &self.before)?
            .set(Name::CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, &self.after)?
            .set(Name::CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, &self.stride)?
            .set(Name::CUDNN_ATTR_CONVOLUTION_DILATIONS, &self.dilation)?
            .finalize(what)
    }
}

impl Product {
    /// Returns the operation, its attributes for image, filter, output and window, and those for alpha and beta.
    fn names(self) -> (Kind, [Name; 4], [Name; 2]) {
        match self {
            Product::Output => (
                Kind::CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
                [
                    Name::CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
                    Name::CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
                    Name::CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
                    Name::CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
                ],
                [
                    Name::CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
                    Name::CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA,
                ],
            ),
            Product::Image => (
                Kind::CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
                [
                    Name::CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
                    Name::CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
                    Name::CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
                    Name::CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
                ],
                [
                    Name::CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
                    Name::CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA,
                ],
            ),
            Product::Filter => (
                Kind::CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
                [
                    Name::CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
                    Name::CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
                    Name::CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
                    Name::CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
                ],
                [
                    Name::CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
                    Name::CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA,
                ],
            ),
        }
    }
}

/// Properties of an engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Traits {
    /// Results may differ from run to run.
    pub(super) is_nondeterministic: bool,
    /// Operands are rounded first, or the algorithm rounds more than a sum of products does.
    pub(super) reduces_precision: bool,
    /// The engine is compiled when it is prepared, which takes long.
    pub(super) is_compiled_at_runtime: bool,
}

/// Engines for a graph.
pub(super) struct Engines {
    api: &'static CudnnApi,
    handle: cudnnHandle_t,
    configurations: Vec<Descriptor>,
    constants: Vec<(Id, Box<f32>)>,
    /// Descriptors that the configurations refer to.
    _descriptors: Vec<Descriptor>,
}

/// Numerical notes of engines that round more than a sum of products.
const ROUNDING_NOTES: [Origin; 3] = [
    Origin::CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS,
    Origin::CUDNN_NUMERICAL_NOTE_FFT,
    Origin::CUDNN_NUMERICAL_NOTE_WINOGRAD,
];
/// An upper bound on the notes of an engine.
const MAX_NOTES: usize = 32;

impl Engines {
    pub(super) fn len(&self) -> usize {
        self.configurations.len()
    }

    pub(super) fn traits(&self, k: usize) -> Result<Traits> {
        let engine = Descriptor::new(self.api, Kind::CUDNN_BACKEND_ENGINE_DESCRIPTOR)?;
        self.configurations[k].get(Name::CUDNN_ATTR_ENGINECFG_ENGINE, &mut [engine.raw()])?;
        let mut notes = [Origin::CUDNN_NUMERICAL_NOTE_TYPE_COUNT; MAX_NOTES];
        let count = engine.get(Name::CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, &mut notes)?;
        let notes = &notes[..count.min(MAX_NOTES)];
        let mut behaviors = [Behavior::CUDNN_BEHAVIOR_NOTE_TYPE_COUNT; MAX_NOTES];
        let count = engine.get(Name::CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, &mut behaviors)?;
        Ok(Traits {
            is_nondeterministic: notes.contains(&Origin::CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC),
            reduces_precision: ROUNDING_NOTES.iter().any(|note| notes.contains(note)),
            is_compiled_at_runtime: behaviors[..count.min(MAX_NOTES)]
                .contains(&Behavior::CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION),
        })
    }

    /// Prepares an engine to run.
    ///
    /// # Errors
    /// The engine turns out not to support the graph, which happens.
    pub(super) fn plan(&self, k: usize, what: &dyn fmt::Display) -> Result<Plan> {
        let plan = Descriptor::new(self.api, Kind::CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR)?
            .set(Name::CUDNN_ATTR_EXECUTION_PLAN_HANDLE, &[self.handle])?
            .set(Name::CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, &[self.configurations[k].raw()])?
            .finalize(Some(what))?;
        let mut bytes = [0i64];
        plan.get(Name::CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, &mut bytes)?;
        Ok(Plan { api: self.api, plan, workspace: bytes[0] as usize, constants: self.constants.clone() })
    }

    /// Returns the first engine that works, deterministic ones first. `None` if none works.
    ///
    /// # Errors
    /// The library cannot describe an engine.
    pub(super) fn first(&self, what: &dyn fmt::Display) -> Result<Option<Plan>> {
        let (mut deterministic, mut others) = (Vec::new(), Vec::new());
        for k in 0..self.len() {
            if self.traits(k)?.is_nondeterministic { &mut others } else { &mut deterministic }.push(k);
        }
        Ok(deterministic.into_iter().chain(others).find_map(|k| self.plan(k, what).ok()))
    }
}

/// A graph prepared on an engine, ready to run.
pub(super) struct Plan {
    api: &'static CudnnApi,
    plan: Descriptor,
    pub(super) workspace: usize,
    constants: Vec<(Id, Box<f32>)>,
}

impl Plan {
    /// Submits a run.
    ///
    /// # Errors
    /// The library fails.
    ///
    /// # Safety
    /// `tensors` must list each tensor in memory with the address of a live allocation of its size. The workspace must
    /// have the plan's size.
    pub(super) unsafe fn run(
        &self,
        handle: cudnnHandle_t,
        tensors: &[(Id, DevPtr)],
        workspace: DevPtr,
        what: &dyn fmt::Display,
    ) -> Result<()> {
        let at = |p: DevPtr| Address(p.0 as *const c_void);
        let constants = self.constants.iter().map(|(id, value)| (id.unique(), Address((&raw const **value).cast())));
        let named = tensors.iter().map(|&(id, address)| (id.unique(), at(address)));
        let (names, addresses): (Vec<i64>, Vec<Address>) = named.chain(constants).unzip();
        let pack = Descriptor::new(self.api, Kind::CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR)?
            .set(Name::CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, &names)?
            .set(Name::CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, &addresses)?
            .set(Name::CUDNN_ATTR_VARIANT_PACK_WORKSPACE, &[at(workspace)])?
            .finalize(Some(what))?;
        // SAFETY: the caller vouches for the memory. Constants live as long as the plan and are read before the call
        // returns.
        unsafe { self.plan.execute(handle, &pack, Some(what)) }
    }
}
