//! Attention by cuDNN: its engines for graphs of products around a softmax keep no scores in memory (T. Dao et al.,
//! "FlashAttention", 2022).

use cuprous_core::DType;
use cuprous_core::attention::{Attention, Part};
use cuprous_cuda_sys as sys;
use sys::cudnn::{cudnnDataType_t, cudnnPointwiseMode_t as P, cudnnReduceTensorOp_t as R};

use super::graph::{self, Graph, Id};
use super::{Cudnn, KEPT, data_type};
use crate::driver::{DevPtr, Stream};
use crate::error::{CudaError, Result};

const F32: cudnnDataType_t = cudnnDataType_t::CUDNN_DATA_FLOAT;

/// The tensors that a run names.
struct Ways {
    parts: [Id; 3],
    outputs: Id,
    sums: Option<Id>,
    /// Of the way back: the gradient of the outputs, those of the parts, and a float32 for each row of Q.
    back: Option<(Id, [Id; 3], Id)>,
}

/// One direction, ready to run.
pub(super) struct Plan {
    plan: graph::Plan,
    ways: Ways,
}

/// Both directions; the second where it is wanted.
pub(super) struct Plans {
    forward: Plan,
    back: Option<Plan>,
}

fn strides(part: Part) -> [i64; 4] {
    let [batch, head, row] = part.strides;
    [batch, head, row, 1]
}

/// With rows and features exchanged.
fn turned<T: Copy>([a, b, c, d]: [T; 4]) -> [T; 4] {
    [a, b, d, c]
}

/// The scores, scaled and with what is not seen at minus infinity.
fn scores(g: &mut Graph, of: &Attention, q: Id, k: Id) -> Id {
    let extents = [of.batch, of.heads, of.queries, of.keys];
    let product = g.between(&extents, F32);
    g.matmul(q, k, product);
    let factor = g.number(f32::from_bits(of.scale));
    g.mapped(P::CUDNN_POINTWISE_MUL, &[product, factor], &extents)
}

/// The operands, with K (and V, for the way back) turned, as products take them.
fn operands(g: &mut Graph, of: &Attention, turn: [bool; 3]) -> [Id; 3] {
    let dtype = data_type(of.dtype).expect("only such attention is planned");
    let extents = of.extents();
    [0, 1, 2].map(|k| {
        let (extents, strides) = (extents[k], strides(of.parts[k]));
        if turn[k] { g.memory(&turned(extents), &turned(strides), dtype) } else { g.memory(&extents, &strides, dtype) }
    })
}

fn outputs(g: &mut Graph, of: &Attention) -> Id {
    let (extents, dtype) = (of.extents()[3], data_type(of.dtype).expect("only such attention is planned"));
    let [batch, head, row] = Attention::by_rows(extents);
    g.memory(&extents, &[batch, head, row, 1], dtype)
}

fn forward(of: &Attention) -> (Graph, Ways) {
    let mut graph = Graph::default();
    let g = &mut graph;
    let dtype = data_type(of.dtype).expect("only such attention is planned");
    let [q, k, v] = operands(g, of, [false, true, false]);
    let outputs = outputs(g, of);
    let all = [of.batch, of.heads, of.queries, of.keys];
    let rows = [of.batch, of.heads, of.queries, 1];
    let mut score = scores(g, of, q, k);
    if of.causal {
        score = g.lower_triangle(score);
    }
    let top = g.between(&rows, F32);
    g.reduce(R::CUDNN_REDUCE_TENSOR_MAX, score, top);
    let centred = g.mapped(P::CUDNN_POINTWISE_SUB, &[score, top], &all);
    let powers = g.mapped(P::CUDNN_POINTWISE_EXP, &[centred], &all);
    let total = g.between(&rows, F32);
    g.reduce(R::CUDNN_REDUCE_TENSOR_ADD, powers, total);
    let sums = of.training.then(|| {
        let log = g.mapped(P::CUDNN_POINTWISE_LOG, &[total], &rows);
        let sums = g.memory(&rows, &graph::dense(&rows), F32);
        g.pointwise(P::CUDNN_POINTWISE_ADD, &[top, log], sums);
        sums
    });
    let weights = g.between(&all, dtype);
    g.pointwise(P::CUDNN_POINTWISE_DIV, &[powers, total], weights);
    g.matmul(weights, v, outputs);
    (graph, Ways { parts: [q, k, v], outputs, sums, back: None })
}

fn backward(of: &Attention) -> (Graph, Ways) {
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
    let sums = g.memory(&rows, &graph::dense(&rows), F32);
    // For each row of Q, the sum of what its softmax gives times its gradient.
    let products = g.mapped(P::CUDNN_POINTWISE_MUL, &[dout, out], &extents[3]);
    let reduced = g.between(&rows, F32);
    g.reduce(R::CUDNN_REDUCE_TENSOR_ADD, products, reduced);
    let along = g.memory(&rows, &graph::dense(&rows), F32);
    let one = g.number(1.0);
    g.pointwise(P::CUDNN_POINTWISE_MUL, &[reduced, one], along);
    // The softmax again, and V's gradient.
    let scaled = scores(g, of, q, k);
    let mut centred = g.mapped(P::CUDNN_POINTWISE_SUB, &[scaled, sums], &all);
    if of.causal {
        centred = g.lower_triangle(centred);
    }
    let weights = g.mapped(P::CUDNN_POINTWISE_EXP, &[centred], &all);
    let across = [of.batch, of.heads, of.keys, of.queries];
    let [a, b, c, d] = [0, 1, 2, 3].map(|k| graph::dense(&all)[k]);
    let columns = turned([a, b, c, d]);
    let flipped = g.turned(&across, &columns, dtype);
    g.reshape(weights, flipped);
    g.matmul(flipped, dout, grads[2]);
    // The scores' gradient, K's and Q's.
    let dweights = g.between(&all, F32);
    g.matmul(dout, v, dweights);
    let less = g.mapped(P::CUDNN_POINTWISE_SUB, &[dweights, along], &all);
    let dsoftmax = g.mapped(P::CUDNN_POINTWISE_MUL, &[less, weights], &all);
    let factor = g.number(f32::from_bits(of.scale));
    let dscores = g.mapped(P::CUDNN_POINTWISE_MUL, &[dsoftmax, factor], &all);
    let flipped = g.turned(&across, &columns, dtype);
    g.reshape(dscores, flipped);
    g.matmul(flipped, q, grads[1]);
    let straight = g.turned(&extents[1], &strides(of.parts[1]), dtype);
    g.reshape(k, straight);
    // Written at once, not added up piece by piece: each run gives the same.
    g.matmul(dscores, straight, grads[0]);
    (graph, Ways { parts: [q, k, v], outputs: out, sums: Some(sums), back: Some((dout, grads, along)) })
}

/// Features up to which the engines for training go, and by which they count.
const FEATURES: i64 = 128;
const GRANULE: i64 = 8;

/// Attention that the library may have an engine for.
fn known(of: &Attention) -> bool {
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
        if !known(of) {
            return Ok(None);
        }
        self.context.make_current()?;
        let (api, handle) = (sys::cudnn()?, self.handle);
        let plan = |(graph, ways): (Graph, Ways)| -> Result<Option<Plan>> {
            // A library that knows no such graph has no engines for it.
            let Ok(engines) = graph.engines(api, handle, of) else { return Ok(None) };
            Ok(engines.first(of)?.map(|plan| Plan { plan, ways }))
        };
        let Some(forward) = plan(forward(of))? else { return Ok(None) };
        let back = if of.training { plan(backward(of))? } else { None };
        Ok((back.is_some() == of.training).then_some(Plans { forward, back }))
    }

    /// Does the library have engines for it?
    ///
    /// # Errors
    /// The driver's.
    pub(crate) fn attends(&mut self, of: &Attention) -> Result<bool> {
        if !self.attentions.contains_key(of) {
            if self.attentions.len() >= KEPT {
                self.attentions.clear();
            }
            let plans = self.plan_attention(of)?;
            self.attentions.insert(of.clone(), plans);
        }
        Ok(self.attentions[of].is_some())
    }

    fn attention(&mut self, of: &Attention, back: bool) -> Result<&Plan> {
        self.attends(of)?;
        let plans = self.attentions.get(of).and_then(Option::as_ref);
        let plan = plans.and_then(|plans| if back { plans.back.as_ref() } else { Some(&plans.forward) });
        plan.ok_or_else(|| CudaError::Unsupported(format!("cuDNN does not do attention of {of}")))
    }

    /// Bytes of workspace of one direction.
    ///
    /// # Errors
    /// The library has no engine for it.
    pub(crate) fn attention_workspace(&mut self, of: &Attention, back: bool) -> Result<usize> {
        let plan = self.attention(of, back)?;
        let rows = if back { (of.batch * of.heads * of.queries) as usize * size_of::<f32>() } else { 0 };
        Ok(plan.plan.workspace.next_multiple_of(256) + rows)
    }

    /// Submits attention: from `operand` to `result`, or with a `gradient` of the outputs and where those of the operand go
    /// the way back.
    ///
    /// # Errors
    /// The library's failure.
    ///
    /// # Safety
    /// All are live allocations of the sizes that `of` tells, and so is the workspace.
    pub(crate) unsafe fn attend(
        &mut self,
        of: &Attention,
        operand: DevPtr,
        result: DevPtr,
        back: Option<[DevPtr; 2]>,
        workspace: DevPtr,
        stream: &Stream,
    ) -> Result<()> {
        self.context.make_current()?;
        self.set_stream(stream, of)?;
        let handle = self.handle;
        let Plan { plan, ways } = self.attention(of, back.is_some())?;
        let at = |base: DevPtr, elements: i64| base.offset(elements * of.dtype.size() as i64);
        let mut tensors: Vec<(Id, DevPtr)> =
            ways.parts.iter().zip(&of.parts).map(|(&id, part)| (id, at(operand, part.start))).collect();
        tensors.push((ways.outputs, result));
        tensors.extend(ways.sums.map(|id| (id, at(result, of.sums()))));
        if let Some((back, [gradient, out])) = ways.back.as_ref().zip(back) {
            let (dout, grads, along) = back;
            tensors.push((*dout, gradient));
            tensors.extend(grads.iter().zip(of.gradients().0).map(|(&id, part)| (id, at(out, part.start))));
            tensors.push((*along, workspace.offset(plan.workspace.next_multiple_of(256) as i64)));
        }
        // SAFETY: the caller vouches for the memory.
        unsafe { plan.run(handle, &tensors, workspace, of) }
    }
}
