//! Convolutions by cuDNN.

use std::fmt;
use std::sync::Arc;

use cuprous_core::DType;
use cuprous_core::convolution::{Geometry, Part};
use cuprous_cuda_sys as sys;
use sys::cudnn::cudnnDataType_t;

use super::graph::{self, Engines, Graph, Id, Product, Window, dense};
use super::{Cudnn, KEPT, data_type};
use crate::driver::{DevPtr, Stream};
use crate::error::{CudaError, Result};

/// Workspace above which an engine is not taken.
const WORKSPACE: usize = 1 << 30;

/// One of the products of a convolution, of contiguous operands.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Convolution {
    pub(crate) part: Part,
    pub(crate) geometry: Arc<Geometry>,
}

impl Convolution {
    /// Returns true if the library's interface can describe it: its padding is the same on both sides.
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
    fn extents(&self, first: i64, second: i64, rest: &[i64]) -> Vec<i64> {
        let padding = if rest.len() == 1 { &[1][..] } else { &[] };
        [first, second].iter().chain(padding).chain(rest).copied().collect()
    }

    fn widths(&self, of: &[i64], filler: i64) -> Vec<i64> {
        let padding = if of.len() == 1 { vec![filler] } else { vec![] };
        padding.iter().chain(of).copied().collect()
    }

    /// The product, and image, filter and output in it.
    fn graph(&self) -> (Graph, [Id; 3]) {
        let Convolution { part, geometry: g } = self;
        let dtype = data_type(g.dtype).expect("only such problems are planned");
        let double = g.dtype == DType::F64;
        let compute = if double { cudnnDataType_t::CUDNN_DATA_DOUBLE } else { cudnnDataType_t::CUDNN_DATA_FLOAT };
        let mut graph = Graph::default();
        let tensors = [
            self.extents(g.images, g.inputs, &g.input),
            self.extents(g.outputs, g.inputs / g.groups, &g.kernel),
            self.extents(g.images, g.outputs, &g.output),
        ]
        .map(|extents| graph.memory(&extents, &dense(&extents), dtype));
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

    /// The tensors of its graph in the order of operands and result.
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

/// A product, the engines that do it, and the one that is taken.
pub(super) struct Plan {
    engines: Engines,
    tensors: [Id; 3],
    /// Those that may be taken, the library's favourite first.
    rivals: Vec<usize>,
    taken: graph::Plan,
}

impl Plan {
    fn new(dnn: &Cudnn, problem: &Convolution) -> Result<Plan> {
        let (graph, tensors) = problem.graph();
        let engines = graph.engines(sys::cudnn()?, dnn.handle, problem)?;
        let exact = problem.geometry.dtype == DType::F32 && !problem.geometry.tf32;
        let mut rivals = Vec::new();
        for k in 0..engines.len() {
            let traits = engines.traits(k)?;
            if !(traits.varies || traits.compiles || exact && traits.rounds) {
                rivals.push(k);
            }
        }
        // Where no engine always gives the same, the first that works.
        let others =
            (0..engines.len()).filter(|&k| rivals.is_empty() && !engines.traits(k).is_ok_and(|t| exact && t.rounds));
        let all: Vec<usize> = rivals.iter().copied().chain(others).collect();
        let fits = |plan: &graph::Plan| plan.workspace <= WORKSPACE;
        let taken = all.iter().find_map(|&k| engines.plan(k, problem).ok().filter(fits));
        let taken = taken.ok_or_else(|| problem.unsupported())?;
        let tensors = problem.in_order(tensors);
        Ok(Plan { engines, tensors, rivals, taken })
    }
}

impl Cudnn {
    /// Returns the plan of a product, or `None` if the library has no engine for it.
    fn plan(&mut self, problem: &Convolution) -> Result<Option<&mut Plan>> {
        if !self.convolutions.contains_key(problem) {
            self.context.make_current()?;
            if self.convolutions.len() >= KEPT {
                self.convolutions.clear();
            }
            let plan = match Plan::new(self, problem) {
                // There may be memory the next time.
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
    /// The driver's.
    pub(crate) fn convolves(&mut self, problem: &Convolution) -> Result<bool> {
        Ok(self.plan(problem)?.is_some())
    }

    fn convolution(&mut self, problem: &Convolution) -> Result<&mut Plan> {
        self.plan(problem)?.ok_or_else(|| problem.unsupported())
    }

    /// Bytes of workspace for a product.
    ///
    /// # Errors
    /// The library has no engine for it.
    pub(crate) fn workspace(&mut self, problem: &Convolution) -> Result<usize> {
        Ok(self.convolution(problem)?.taken.workspace)
    }

    /// How many engines there are for a product to be measured.
    ///
    /// # Errors
    /// As for `workspace`.
    pub(crate) fn rivals(&mut self, problem: &Convolution) -> Result<usize> {
        Ok(self.convolution(problem)?.rivals.len())
    }

    /// Takes one of the rivals from now on; gives its workspace.
    ///
    /// # Errors
    /// The engine does not do it after all, or wants too much.
    pub(crate) fn take(&mut self, problem: &Convolution, rival: usize) -> Result<usize> {
        let plan = self.convolution(problem)?;
        let Some(&engine) = plan.rivals.get(rival) else { return Ok(plan.taken.workspace) };
        let taken = plan.engines.plan(engine, problem)?;
        if taken.workspace > WORKSPACE {
            return Err(CudaError::Unsupported(format!("an engine for {problem} wants {} bytes", taken.workspace)));
        }
        plan.taken = taken;
        Ok(plan.taken.workspace)
    }

    /// Measures no more for a product.
    pub(crate) fn settle(&mut self, problem: &Convolution) {
        if let Some(Some(plan)) = self.convolutions.get_mut(problem) {
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
        self.set_stream(stream, problem)?;
        let handle = self.handle;
        let plan = self.convolution(problem)?;
        let tensors: Vec<(Id, DevPtr)> = plan.tensors.into_iter().zip([a, b, out]).collect();
        // SAFETY: the caller vouches for the memory.
        unsafe { plan.taken.run(handle, &tensors, workspace, problem) }
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
        let problem = Convolution { part: Part::Output, geometry: Arc::new(geometry(0, 5)) };
        assert_eq!(problem.extents(2, 3, &problem.geometry.input), [2, 3, 1, 8]);
        assert_eq!(problem.widths(&problem.geometry.before, 0), [0, 0]);
    }
}
