//! Attention by cuDNN. Its engines for graphs of products around a softmax do not store the scores in memory (T. Dao et
//! al., "FlashAttention", 2022).

use cuprous_core::DType;
use cuprous_core::attention::{Attention, Part};
use cuprous_cuda_sys as sys;
use sys::cudnn::{cudnnDataType_t, cudnnPointwiseMode_t as P, cudnnReduceTensorOp_t as R};

use super::graph::{self, Graph, Id};
use super::{Cudnn, MAX_CACHED_PLANS, data_type};
use crate::driver::{DevPtr, Stream};
use crate::error::{CudaError, Result};

const F32: cudnnDataType_t = cudnnDataType_t::CUDNN_DATA_FLOAT;

/// The tensors in memory, whose addresses each run binds.
struct Bindings {
    parts: [Id; 3],
    mask: Option<Id>,
    outputs: Id,
    logsumexp: Id,
    /// For the backward pass: the gradient of the outputs, those of the parts, and the row sums of dO · O in float32.
    backward: Option<(Id, [Id; 3], Id)>,
}

/// One pass, ready to run.
pub(super) struct Plan {
    plan: graph::Plan,
    bindings: Bindings,
}

/// The plans of both passes; the backward pass only for training.
pub(super) struct Plans {
    forward: Plan,
    backward: Option<Plan>,
}

fn strides(part: Part) -> [i64; 4] {
    let [batch, head, row] = part.strides;
    [batch, head, row, 1]
}

/// Exchanges the last two axes.
fn transposed<T: Copy>([a, b, c, d]: [T; 4]) -> [T; 4] {
    [a, b, d, c]
}

/// Adds the scaled scores, Q · Kᵀ, and the mask.
fn scores(g: &mut Graph, of: &Attention, q: Id, k: Id) -> (Id, Option<Id>) {
    let extents = [of.batch, of.heads, of.queries, of.keys];
    let product = g.virtual_tensor(&extents, F32);
    g.matmul(q, k, product);
    let factor = g.constant(f32::from_bits(of.scale));
    let scaled = g.pointwise_virtual(P::CUDNN_POINTWISE_MUL, &[product, factor], &extents);
    let Some(mask) = of.mask else { return (scaled, None) };
    let extents_of_mask = of.extents_of_mask(mask);
    let dtype = data_type(of.dtype).expect("only such attention is planned");
    let mask = g.memory(&extents_of_mask, &graph::dense(&extents_of_mask), dtype);
    (g.pointwise_virtual(P::CUDNN_POINTWISE_ADD, &[scaled, mask], &extents), Some(mask))
}

/// Adds Q, K and V, transposed where `transpose` says so: K, and in the backward pass V too.
fn operands(g: &mut Graph, of: &Attention, transpose: [bool; 3]) -> [Id; 3] {
    let dtype = data_type(of.dtype).expect("only such attention is planned");
    let extents = of.extents();
    [0, 1, 2].map(|k| {
        let (extents, strides) = (extents[k], strides(of.parts[k]));
        if transpose[k] {
            g.memory(&transposed(extents), &transposed(strides), dtype)
        } else {
            g.memory(&extents, &strides, dtype)
        }
    })
}

fn outputs(g: &mut Graph, of: &Attention) -> Id {
    let (extents, dtype) = (of.extents()[3], data_type(of.dtype).expect("only such attention is planned"));
    let [batch, head, row] = Attention::by_rows(extents);
    g.memory(&extents, &[batch, head, row, 1], dtype)
}

fn forward(of: &Attention) -> (Graph, Bindings) {
    let mut graph = Graph::default();
    let g = &mut graph;
    let dtype = data_type(of.dtype).expect("only such attention is planned");
    let [q, k, v] = operands(g, of, [false, true, false]);
    let outputs = outputs(g, of);
    let all = [of.batch, of.heads, of.queries, of.keys];
    let rows = [of.batch, of.heads, of.queries, 1];
    let (mut score, mask) = scores(g, of, q, k);
    if of.causal {
        score = g.lower_triangle(score);
    }
    let row_max = g.virtual_tensor(&rows, F32);
    g.reduce(R::CUDNN_REDUCE_TENSOR_MAX, score, row_max);
    let centred = g.pointwise_virtual(P::CUDNN_POINTWISE_SUB, &[score, row_max], &all);
    let exponentials = g.pointwise_virtual(P::CUDNN_POINTWISE_EXP, &[centred], &all);
    let total = g.virtual_tensor(&rows, F32);
    g.reduce(R::CUDNN_REDUCE_TENSOR_ADD, exponentials, total);
    // Written in inference too: there is no engine that leaves it out.
    let log = g.pointwise_virtual(P::CUDNN_POINTWISE_LOG, &[total], &rows);
    let logsumexp = g.memory(&rows, &graph::dense(&rows), F32);
    g.pointwise(P::CUDNN_POINTWISE_ADD, &[row_max, log], logsumexp);
    let weights = g.virtual_tensor(&all, dtype);
    g.pointwise(P::CUDNN_POINTWISE_DIV, &[exponentials, total], weights);
    g.matmul(weights, v, outputs);
    (graph, Bindings { parts: [q, k, v], mask, outputs, logsumexp, backward: None })
}

fn backward(of: &Attention) -> (Graph, Bindings) {
    let mut graph = Graph::default();
    let g = &mut graph;
    let dtype = data_type(of.dtype).expect("only such attention is planned");
    let extents = of.extents();
    let [q, k, v] = operands(g, of, [false, true, true]);
    let (out, dout) = (outputs(g, of), outputs(g, of));
    let (gradients, _) = of.gradients();
    let grads = [0, 1, 2].map(|k| g.memory(&extents[k], &strides(gradients[k]), dtype));
    let all = [of.batch, of.heads, of.queries, of.keys];
    let rows = [of.batch, of.heads, of.queries, 1];
    let logsumexp = g.memory(&rows, &graph::dense(&rows), F32);
    // The sum of dO · O for each row of Q, as the gradient of the softmax needs it.
    let products = g.pointwise_virtual(P::CUDNN_POINTWISE_MUL, &[dout, out], &extents[3]);
    let reduced = g.virtual_tensor(&rows, F32);
    g.reduce(R::CUDNN_REDUCE_TENSOR_ADD, products, reduced);
    let row_sums = g.memory(&rows, &graph::dense(&rows), F32);
    let one = g.constant(1.0);
    g.pointwise(P::CUDNN_POINTWISE_MUL, &[reduced, one], row_sums);
    // Recomputes the softmax; then the gradient of V.
    let (scaled, mask) = scores(g, of, q, k);
    let mut centred = g.pointwise_virtual(P::CUDNN_POINTWISE_SUB, &[scaled, logsumexp], &all);
    if of.causal {
        centred = g.lower_triangle(centred);
    }
    let weights = g.pointwise_virtual(P::CUDNN_POINTWISE_EXP, &[centred], &all);
    let across = [of.batch, of.heads, of.keys, of.queries];
    let [a, b, c, d] = [0, 1, 2, 3].map(|k| graph::dense(&all)[k]);
    let columns = transposed([a, b, c, d]);
    let flipped = g.virtual_strided(&across, &columns, dtype);
    g.reshape(weights, flipped);
    g.matmul(flipped, dout, grads[2]);
    // The gradients of the scores, K and Q.
    let dweights = g.virtual_tensor(&all, F32);
    g.matmul(dout, v, dweights);
    let less = g.pointwise_virtual(P::CUDNN_POINTWISE_SUB, &[dweights, row_sums], &all);
    let dsoftmax = g.pointwise_virtual(P::CUDNN_POINTWISE_MUL, &[less, weights], &all);
    let factor = g.constant(f32::from_bits(of.scale));
    let dscores = g.pointwise_virtual(P::CUDNN_POINTWISE_MUL, &[dsoftmax, factor], &all);
    let flipped = g.virtual_strided(&across, &columns, dtype);
    g.reshape(dscores, flipped);
    g.matmul(flipped, q, grads[1]);
    let straight = g.virtual_strided(&extents[1], &strides(of.parts[1]), dtype);
    g.reshape(k, straight);
    // Written by one product instead of accumulated in parts, so that every run gives the same bits.
    g.matmul(dscores, straight, grads[0]);
    (graph, Bindings { parts: [q, k, v], mask, outputs: out, logsumexp, backward: Some((dout, grads, row_sums)) })
}

/// The largest number of features that the engines for training support, and the number that it must be a multiple of.
const FEATURES: i64 = 128;
const GRANULE: i64 = 8;

/// Returns true if the library may have an engine.
fn is_supported(of: &Attention) -> bool {
    let whole = |n: i64| n % GRANULE == 0;
    let features = |n: i64| n > 0 && n <= FEATURES && whole(n);
    let aligned = |part: &Part| whole(part.start) && part.strides.iter().all(|&n| whole(n));
    matches!(of.dtype, DType::F16 | DType::BF16)
        && features(of.width)
        && features(of.depth)
        && of.queries > 1
        && of.keys > 1
        && of.parts.iter().all(aligned)
}

impl Cudnn {
    fn plan_attention(&mut self, of: &Attention) -> Result<Option<Plans>> {
        if !is_supported(of) {
            return Ok(None);
        }
        self.context.make_current()?;
        self.queries += 1;
        let (api, handle) = (sys::cudnn()?, self.handle);
        let plan = |(graph, bindings): (Graph, Bindings)| -> Result<Option<Plan>> {
            // A library that refuses the graph has no engines for it.
            let Ok(engines) = graph.engines(api, handle, of) else { return Ok(None) };
            Ok(engines.first(of)?.map(|plan| Plan { plan, bindings }))
        };
        let Some(forward) = plan(forward(of))? else { return Ok(None) };
        let backward = if of.training { plan(backward(of))? } else { None };
        Ok((backward.is_some() == of.training).then_some(Plans { forward, backward }))
    }

    /// Returns true if the library has engines for both passes, or for the forward pass if not training.
    ///
    /// # Errors
    /// The driver fails.
    pub(crate) fn supports_attention(&mut self, of: &Attention) -> Result<bool> {
        if !self.attentions.contains_key(of) {
            if self.attentions.len() >= MAX_CACHED_PLANS {
                self.attentions.clear();
            }
            let plans = self.plan_attention(of)?;
            self.attentions.insert(of.clone(), plans);
        }
        Ok(self.attentions[of].is_some())
    }

    fn attention(&mut self, of: &Attention, backward: bool) -> Result<&Plan> {
        self.supports_attention(of)?;
        let plans = self.attentions.get(of).and_then(Option::as_ref);
        let plan = plans.and_then(|plans| if backward { plans.backward.as_ref() } else { Some(&plans.forward) });
        plan.ok_or_else(|| CudaError::Unsupported(format!("cuDNN does not support attention of {of}")))
    }

    /// Returns the bytes of workspace of one pass. In the backward pass they include the row sums.
    ///
    /// # Errors
    /// The library has no engine for it.
    pub(crate) fn attention_workspace(&mut self, of: &Attention, backward: bool) -> Result<usize> {
        let plan = self.attention(of, backward)?;
        let rows = if backward { (of.batch * of.heads * of.queries) as usize * size_of::<f32>() } else { 0 };
        Ok(plan.plan.workspace.next_multiple_of(256) + rows)
    }

    /// Submits the forward pass, from `operand` to `result`, or the backward pass, given the gradient of the outputs
    /// and where to store that of the operand.
    ///
    /// # Errors
    /// The library fails.
    ///
    /// # Safety
    /// All addresses must be live allocations of the sizes of `of`, and so must the workspace.
    pub(crate) unsafe fn run_attention(
        &mut self,
        of: &Attention,
        operand: DevPtr,
        result: DevPtr,
        backward: Option<[DevPtr; 2]>,
        workspace: DevPtr,
        stream: &Stream,
    ) -> Result<()> {
        self.context.make_current()?;
        self.set_stream(stream, of)?;
        let handle = self.handle;
        let Plan { plan, bindings } = self.attention(of, backward.is_some())?;
        let at = |base: DevPtr, elements: i64| base.offset(elements * of.dtype.size() as i64);
        let mut tensors: Vec<(Id, DevPtr)> =
            bindings.parts.iter().zip(&of.parts).map(|(&id, part)| (id, at(operand, part.start))).collect();
        tensors.extend(bindings.mask.zip(of.mask).map(|(id, mask)| (id, at(operand, mask.start))));
        tensors.push((bindings.outputs, result));
        tensors.push((bindings.logsumexp, at(result, of.sums())));
        if let Some((backward, [gradient, out])) = bindings.backward.as_ref().zip(backward) {
            let (dout, grads, row_sums) = backward;
            tensors.push((*dout, gradient));
            tensors.extend(grads.iter().zip(of.gradients().0).map(|(&id, part)| (id, at(out, part.start))));
            tensors.push((*row_sums, workspace.offset(plan.workspace.next_multiple_of(256) as i64)));
        }
        // SAFETY: the caller vouches for the memory.
        unsafe { plan.run(handle, &tensors, workspace, of) }
    }
}
