//! Recurrent layers as one routine.

use std::fmt;

use crate::{DType, Dims};

/// The formula of one step, with PyTorch's order of gates.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Cell {
    Relu,
    Tanh,
    Lstm,
    Gru,
}

impl Cell {
    /// Returns the number of gates: rows of weights for each element of the state.
    pub fn gates(self) -> i64 {
        match self {
            Cell::Relu | Cell::Tanh => 1,
            Cell::Gru => 3,
            Cell::Lstm => 4,
        }
    }

    /// Returns the number of state tensors: h, and c for an LSTM.
    pub fn states(self) -> usize {
        if self == Cell::Lstm { 2 } else { 1 }
    }
}

/// The layers of a recurrent network on sequences of one length, `(steps, batch, input)`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Layers {
    /// The formula.
    pub cell: Cell,
    /// Features of the input.
    pub input: i64,
    /// Features of a state.
    pub hidden: i64,
    /// Number of layers.
    pub layers: i64,
    /// Each layer runs in both directions.
    pub bidirectional: bool,
    /// Each layer has two vectors of biases.
    pub bias: bool,
    /// Length of the sequences.
    pub steps: i64,
    /// Number of sequences.
    pub batch: i64,
    /// Element type of everything.
    pub dtype: DType,
    /// float32 may be rounded to TF32.
    pub tf32: bool,
    /// The result includes what the backward routine reads.
    pub training: bool,
}

impl Layers {
    /// Returns the number of directions.
    pub fn directions(&self) -> i64 {
        1 + i64::from(self.bidirectional)
    }

    /// Returns the number of elements of the input, of the outputs of the last layer, and of one state tensor.
    pub fn sizes(&self) -> [i64; 3] {
        let rows = self.steps * self.batch;
        let states = self.layers * self.directions() * self.batch * self.hidden;
        [rows * self.input, rows * self.directions() * self.hidden, states]
    }

    /// Returns the shapes of the parameters in PyTorch's order: for each layer and direction the weights of the input,
    /// the weights of the state, and their biases.
    pub fn parameters(&self) -> Vec<Dims> {
        let rows = self.cell.gates() * self.hidden;
        let mut shapes = Vec::new();
        for layer in 0..self.layers {
            let width = if layer == 0 { self.input } else { self.directions() * self.hidden };
            for _ in 0..self.directions() {
                shapes.push([rows, width].as_slice().into());
                shapes.push([rows, self.hidden].as_slice().into());
                if self.bias {
                    shapes.extend([[rows].as_slice().into(), [rows].as_slice().into()]);
                }
            }
        }
        shapes
    }
}

impl fmt::Display for Layers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} × {:?} of {} to {} features{}, {} × {} steps ({})",
            self.layers,
            self.cell,
            self.input,
            self.hidden,
            if self.bidirectional { " both ways" } else { "" },
            self.batch,
            self.steps,
            self.dtype.name()
        )
    }
}

/// The arrays of a device's routine for recurrent layers.
///
/// The operand of the forward routine is one array: parameters, input and initial states, at `offsets`. Its result is
/// one array too: the outputs, the final states and the reserve (what the backward routine reads), at `result_offsets`.
/// The backward routine takes both, and the gradients of outputs and final states one after another. Its result holds
/// the gradients at the offsets of the operand.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Recurrence {
    /// The layers.
    pub of: Layers,
    /// Offsets of each parameter, the input and the initial states, in elements.
    pub offsets: Dims,
    /// Elements of the operand.
    pub operand: i64,
    /// Elements of the operand that the parameters occupy, with gaps.
    pub weights: i64,
    /// Offsets of the outputs, the final states and the reserve, in elements.
    pub result_offsets: Dims,
    /// Elements of the result.
    pub result: i64,
}

/// The alignment of parts in elements: 512 bytes of the smallest dtype.
const ALIGNMENT: i64 = 256;

impl Recurrence {
    /// Lays out the arrays of a routine whose parameters are at the offsets `parameters` (`weights` elements in all)
    /// and whose reserve has `reserve` elements.
    pub fn new(of: Layers, parameters: &[i64], weights: i64, reserve: i64) -> Recurrence {
        let aligned = |n: i64| (n + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        let [input, outputs, states] = of.sizes();
        let mut offsets: Dims = parameters.into();
        let mut at = aligned(weights);
        for size in std::iter::once(input).chain(std::iter::repeat_n(states, of.cell.states())) {
            offsets.push(at);
            at += aligned(size);
        }
        let (operand, mut result_offsets, mut end) = (at, Dims::new(), 0);
        for size in std::iter::once(outputs).chain(std::iter::repeat_n(states, of.cell.states())).chain([reserve]) {
            result_offsets.push(end);
            end += aligned(size);
        }
        Recurrence { of, offsets, operand, weights, result_offsets, result: end }
    }

    /// Returns the number of elements of the gradients of outputs and final states.
    pub fn gradient(&self) -> i64 {
        self.result_offsets[1 + self.of.cell.states()]
    }
}

/// The steps of one direction of an LSTM layer. Inputs have already been multiplied by their weights.
///
/// Operands of the forward routine are the inputs' part of the gates (steps · batch, 4 · hidden), the states' weights
/// (4 · hidden, hidden), and h and c before the first step, concatenated. Its result is flat: the outputs, then the
/// parts at [`Steps::results`].
///
/// Operands of the backward routine are the weights, that result, and, concatenated, the gradients of the outputs and
/// of h and c after the last step, and c before the first step. Its result is flat: the gradients of the inputs' part
/// (which are also those of the states' product) and of h and c before the first step.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Steps {
    /// Number of steps.
    pub steps: i64,
    /// Number of sequences.
    pub batch: i64,
    /// Features of a state.
    pub hidden: i64,
    /// Runs from the last step to the first.
    pub reverse: bool,
    /// The result includes what the backward routine reads.
    pub training: bool,
    /// Element type of everything.
    pub dtype: DType,
}

impl Steps {
    /// Returns the number of elements of a state tensor for all steps, and for one step.
    pub fn sizes(&self) -> [i64; 2] {
        [self.steps * self.batch * self.hidden, self.batch * self.hidden]
    }

    /// Returns the offsets in the result of the final h and c, of c for all steps and of the gates for all steps, and
    /// the size of the result.
    pub fn results(&self) -> [i64; 5] {
        let [all, one] = self.sizes();
        let reserve = if self.training { all } else { 0 };
        let cells = all + 2 * one;
        [all, all + one, cells, cells + reserve, cells + 5 * reserve]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_do_not_overlap() {
        let of = Layers {
            cell: Cell::Lstm,
            input: 3,
            hidden: 5,
            layers: 2,
            bidirectional: true,
            bias: true,
            steps: 7,
            batch: 2,
            dtype: DType::F32,
            tf32: false,
            training: true,
        };
        let sizes: Vec<i64> = of.parameters().iter().map(|d| d.iter().product()).collect();
        assert_eq!(sizes.len(), 16);
        assert_eq!(of.parameters()[8].as_slice(), [20, 10]);
        let starts: Vec<i64> = sizes.iter().scan(0, |at, n| Some(std::mem::replace(at, *at + n))).collect();
        let laid = Recurrence::new(of.clone(), &starts, sizes.iter().sum(), 100);
        assert_eq!(laid.offsets.len(), 16 + 1 + 2);
        let [input, outputs, states] = of.sizes();
        assert!(laid.offsets[16] >= laid.weights && laid.offsets[17] >= laid.offsets[16] + input);
        assert!(laid.offsets[18] >= laid.offsets[17] + states && laid.operand >= laid.offsets[18] + states);
        assert!(laid.result_offsets[1] >= outputs && laid.gradient() >= laid.result_offsets[2] + states);
        assert!(laid.result >= laid.gradient() + 100);
    }
}
