//! Convolutions by cuDNN.

use std::fmt;
use std::sync::Arc;

use cuprous_core::DType;
use cuprous_core::convolution::{Geometry, Part};
use cuprous_cuda_sys as sys;
use sys::cudnn::cudnnDataType_t;

use super::graph::{self, Engines, Graph, Id, Product, Window, dense};
use super::{Cudnn, MAX_CACHED_PLANS, data_type};
use crate::driver::{DevPtr, Stream};
use crate::error::{CudaError, Result};

/// Engines that need more workspace, in bytes, are not used.
const MAX_WORKSPACE: usize = 1 << 30;

/// One of the products of a convolution: the output or a gradient. The operands are contiguous.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Convolution {
    pub(crate) part: Part,
    pub(crate) geometry: Arc<Geometry>,
}

impl Convolution {
    /// Returns true if the library's interface can describe it: its padding is the same on both sides.
    pub(crate) fn is_supported(g: &Geometry) -> bool {
        let symmetric = |k: usize| {
            let (n, p) = (g.input[k], g.before[k]);
            let room = n + 2 * p - (g.kernel[k] - 1) * g.dilation[k] - 1;
            p >= 0 && room >= 0 && room / g.stride[k] + 1 == g.output[k]
        };
        let rank = g.kernel.len();
        (1..=3).contains(&rank) && (0..rank).all(symmetric) && data_type(g.dtype).is_some()
    }

    /// Returns extents of two leading and at least two spatial axes.
    fn extents(&self, first: i64, second: i64, rest: &[i64]) -> Vec<i64> {
        let padding = if rest.len() == 1 { &[1][..] } else { &[] };
        [first, second].iter().chain(padding).chain(rest).copied().collect()
    }

    /// Returns values of at least two spatial axes; `filler` is that of the added axis.
    fn widths(&self, of: &[i64], filler: i64) -> Vec<i64> {
        let padding = if of.len() == 1 { vec![filler] } else { vec![] };
        padding.iter().chain(of).copied().collect()
    }

    /// Returns the product as a graph, and its image, filter and output.
    fn graph(&self) -> (Graph, [Id; 3]) {
        let Convolution { part, geometry: g } = self;
        let dtype = data_type(g.dtype).expect("only such problems are planned");
        let double = g.dtype == DType::F64;
        let compute = if double { cudnnDataType_t::CUDNN_DATA_DOUBLE } else { cudnnDataType_t::CUDNN_DATA_FLOAT };
        let mut graph = Graph::default();
        let strides = if g.channels_last { channels_last } else { dense };
        let tensors = [
            self.extents(g.images, g.inputs, &g.input),
            self.extents(g.outputs, g.inputs / g.groups, &g.kernel),
            self.extents(g.images, g.outputs, &g.output),
        ]
        .map(|extents| graph.memory(&extents, &strides(&extents), dtype));
        let window = Window {
            before: self.widths(&g.before, 0),
            after: self.widths(&g.before, 0),
            stride: self.widths(&g.stride, 1),
            dilation: self.widths(&g.dilation, 1),
            compute,
        };
        let product = match part {
            Part::Output => Product::Output,
            Part::Input => Product::Image,
            Part::Weight => Product::Filter,
        };
        graph.convolve(product, window, tensors);
        (graph, tensors)
    }

    fn unsupported(&self) -> CudaError {
        CudaError::Unsupported(format!("cuDNN has no engine for {self}"))
    }

    /// Returns the tensors of its graph in the order of operands and result.
    fn in_order(&self, [image, filter, output]: [Id; 3]) -> [Id; 3] {
        match self.part {
            Part::Output => [image, filter, output],
            Part::Input => [output, filter, image],
            Part::Weight => [output, image, filter],
        }
    }
}

impl fmt::Display for Convolution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Convolution { part, geometry: g } = self;
        write!(
            f,
            "{part:?} of a convolution of {} × {} × {:?} to {} × {:?} by {:?} ({}, {} groups)",
            g.images,
            g.inputs,
            g.input,
            g.outputs,
            g.output,
            g.kernel,
            g.dtype.name(),
            g.groups
        )
    }
}

/// Returns strides of (N, C, …) in memory that is (N, …, C).
fn channels_last(extents: &[i64]) -> Vec<i64> {
    let mut order = extents.to_vec();
    order[1..].rotate_left(1);
    let mut strides = dense(&order);
    strides[1..].rotate_right(1);
    strides
}

/// A product, the engines that support it, and the selected one.
pub(super) struct Plan {
    engines: Engines,
    tensors: [Id; 3],
    /// Engines that may be selected, the library's first choice first. Empty once measuring is finished.
    candidates: Vec<usize>,
    selected: graph::Plan,
}

impl Plan {
    fn new(dnn: &Cudnn, problem: &Convolution) -> Result<Plan> {
        let (graph, tensors) = problem.graph();
        let engines = graph.engines(sys::cudnn()?, dnn.handle, problem)?;
        let exact = problem.geometry.dtype == DType::F32 && !problem.geometry.tf32;
        let mut candidates = Vec::new();
        for k in 0..engines.len() {
            let traits = engines.traits(k)?;
            if !(traits.is_nondeterministic || traits.is_compiled_at_runtime || exact && traits.reduces_precision) {
                candidates.push(k);
            }
        }
        // If no engine qualifies, the first one that works is used, but not one that reduces the precision.
        let others = (0..engines.len())
            .filter(|&k| candidates.is_empty() && !engines.traits(k).is_ok_and(|t| exact && t.reduces_precision));
        let all: Vec<usize> = candidates.iter().copied().chain(others).collect();
        let fits = |plan: &graph::Plan| plan.workspace <= MAX_WORKSPACE;
        let selected = all.iter().find_map(|&k| engines.plan(k, problem).ok().filter(fits));
        let selected = selected.ok_or_else(|| problem.unsupported())?;
        let tensors = problem.in_order(tensors);
        Ok(Plan { engines, tensors, candidates, selected })
    }
}

impl Cudnn {
    /// Returns the plan of a product, or `None` if the library has no engine for it.
    fn plan(&mut self, problem: &Convolution) -> Result<Option<&mut Plan>> {
        if !self.convolutions.contains_key(problem) {
            self.context.make_current()?;
            self.queries += 1;
            if self.convolutions.len() >= MAX_CACHED_PLANS {
                self.convolutions.clear();
            }
            let plan = match Plan::new(self, problem) {
                // Not cached: there may be enough memory the next time.
                Err(error) if error.is_out_of_memory() => return Err(error),
                plan => plan.ok(),
            };
            self.convolutions.insert(problem.clone(), plan);
        }
        Ok(self.convolutions.get_mut(problem).and_then(Option::as_mut))
    }

    /// Returns true if the library has an engine for a product.
    ///
    /// # Errors
    /// The driver fails.
    pub(crate) fn supports_convolution(&mut self, problem: &Convolution) -> Result<bool> {
        Ok(self.plan(problem)?.is_some())
    }

    fn convolution(&mut self, problem: &Convolution) -> Result<&mut Plan> {
        self.plan(problem)?.ok_or_else(|| problem.unsupported())
    }

    /// Returns the bytes of workspace for a product.
    ///
    /// # Errors
    /// The library has no engine for it.
    pub(crate) fn workspace(&mut self, problem: &Convolution) -> Result<usize> {
        Ok(self.convolution(problem)?.selected.workspace)
    }

    /// Returns the number of engines to measure for a product.
    ///
    /// # Errors
    /// The library has no engine for it.
    pub(crate) fn candidates(&mut self, problem: &Convolution) -> Result<usize> {
        Ok(self.convolution(problem)?.candidates.len())
    }

    /// Selects one of the candidates and returns the bytes of its workspace.
    ///
    /// # Errors
    /// The engine turns out not to support the product, or needs too much workspace.
    pub(crate) fn select(&mut self, problem: &Convolution, candidate: usize) -> Result<usize> {
        let plan = self.convolution(problem)?;
        let Some(&engine) = plan.candidates.get(candidate) else { return Ok(plan.selected.workspace) };
        let selected = plan.engines.plan(engine, problem)?;
        if selected.workspace > MAX_WORKSPACE {
            return Err(CudaError::Unsupported(format!(
                "an engine for {problem} needs {} bytes of workspace",
                selected.workspace
            )));
        }
        plan.selected = selected;
        Ok(plan.selected.workspace)
    }

    /// Keeps the selected engine for good.
    pub(crate) fn finish_measuring(&mut self, problem: &Convolution) {
        if let Some(Some(plan)) = self.convolutions.get_mut(problem) {
            plan.candidates.clear();
        }
    }

    /// Submits a product of `a` and `b` to `out`.
    ///
    /// # Errors
    /// The library fails.
    ///
    /// # Safety
    /// Operands and workspace must be live allocations of the problem's sizes.
    pub(crate) unsafe fn run(
        &mut self,
        problem: &Convolution,
        [a, b, out]: [DevPtr; 3],
        workspace: DevPtr,
        stream: &Stream,
    ) -> Result<()> {
        self.context.make_current()?;
        self.set_stream(stream, problem)?;
        let handle = self.handle;
        let plan = self.convolution(problem)?;
        let tensors: Vec<(Id, DevPtr)> = plan.tensors.into_iter().zip([a, b, out]).collect();
        // SAFETY: the caller vouches for the memory.
        unsafe { plan.selected.run(handle, &tensors, workspace, problem) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn geometry(before: i64, output: i64) -> Geometry {
        let one = |n: i64| [n].as_slice().into();
        Geometry {
            images: 2,
            inputs: 3,
            outputs: 4,
            input: one(8),
            kernel: one(4),
            output: one(output),
            stride: one(1),
            dilation: one(1),
            before: one(before),
            groups: 1,
            dtype: DType::F32,
            channels_last: false,
            tf32: true,
        }
    }

    #[test]
    fn asymmetric_padding_is_not_supported() {
        assert!(Convolution::is_supported(&geometry(0, 5)));
        assert!(Convolution::is_supported(&geometry(1, 7)));
        assert!(!Convolution::is_supported(&geometry(1, 8)));
    }

    #[test]
    fn channels_last_are_adjacent() {
        assert_eq!(channels_last(&[2, 3, 4, 5]), [60, 1, 15, 3]);
        assert_eq!(dense(&[2, 3, 4, 5]), [60, 20, 5, 1]);
    }

    #[test]
    fn a_line_is_an_image_of_one_row() {
        let problem = Convolution { part: Part::Output, geometry: Arc::new(geometry(0, 5)) };
        assert_eq!(problem.extents(2, 3, &problem.geometry.input), [2, 3, 1, 8]);
        assert_eq!(problem.widths(&problem.geometry.before, 0), [0, 0]);
    }
}
