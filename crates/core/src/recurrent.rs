//! Layers of a recurrence that a device does as one routine.

use std::fmt;

use crate::{DType, Dims};

/// What one step computes, by PyTorch's formulas and order of gates.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Cell {
    Relu,
    Tanh,
    Lstm,
    Gru,
}

impl Cell {
    /// Rows of weights for each element of the state.
    pub fn gates(self) -> i64 {
        match self {
            Cell::Relu | Cell::Tanh => 1,
            Cell::Gru => 3,
            Cell::Lstm => 4,
        }
    }

    /// Tensors of state: h, and c of an LSTM.
    pub fn states(self) -> usize {
        if self == Cell::Lstm { 2 } else { 1 }
    }
}

/// Layers of one recurrence over sequences of one length, `(steps, batch, input)`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Layers {
    /// The formula.
    pub cell: Cell,
    /// Features of the input.
    pub input: i64,
    /// Features of a state.
    pub hidden: i64,
    /// Layers.
    pub layers: i64,
    /// Each layer goes both ways.
    pub bidirectional: bool,
    /// There are two vectors of biases.
    pub bias: bool,
    /// Length of the sequences.
    pub steps: i64,
    /// Sequences.
    pub batch: i64,
    /// Element type of everything.
    pub dtype: DType,
    /// float32 may be rounded to TF32.
    pub tf32: bool,
    /// What the way back needs is kept.
    pub training: bool,
}

impl Layers {
    /// Directions.
    pub fn directions(&self) -> i64 {
        1 + i64::from(self.bidirectional)
    }

    /// Elements of the input, of all outputs of the last layer, and of the states of one kind.
    pub fn sizes(&self) -> [i64; 3] {
        let rows = self.steps * self.batch;
        let states = self.layers * self.directions() * self.batch * self.hidden;
        [rows * self.input, rows * self.directions() * self.hidden, states]
    }

    /// The shapes of the parameters, in PyTorch's order: for each layer and direction those of the input, of the state,
    /// and their biases.
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

/// How a device wants the operands, and what it keeps.
///
/// The operand of the forward routine is one array: parameters, input and first states, at `places`. Its result is one
/// array too: the outputs, the last states and what is kept, at `results`. The way back takes both and the gradients of
/// outputs and last states, one behind the other, and gives gradients that lie as the operand does.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Recurrence {
    /// What is computed.
    pub of: Layers,
    /// Where each parameter starts, then the input, then the first states; in elements.
    pub offsets: Dims,
    /// Elements of the operand.
    pub operand: i64,
    /// Elements from the start of the operand that parameters take, with gaps.
    pub weights: i64,
    /// Where the outputs, the last states and what is kept start; in elements.
    pub result_offsets: Dims,
    /// Elements of the result.
    pub result: i64,
}

/// Elements by which parts of the arrays are aligned: 512 bytes of the smallest dtype.
const ALIGNED: i64 = 256;

impl Recurrence {
    /// Lays out arrays for a routine that wants parameters at `parameters` (in elements, `weights` in all) and keeps
    /// `kept` elements.
    pub fn new(of: Layers, parameters: &[i64], weights: i64, kept: i64) -> Recurrence {
        let aligned = |n: i64| (n + ALIGNED - 1) / ALIGNED * ALIGNED;
        let [input, outputs, states] = of.sizes();
        let mut offsets: Dims = parameters.into();
        let mut at = aligned(weights);
        for size in std::iter::once(input).chain(std::iter::repeat_n(states, of.cell.states())) {
            offsets.push(at);
            at += aligned(size);
        }
        let (operand, mut result_offsets, mut end) = (at, Dims::new(), 0);
        for size in std::iter::once(outputs).chain(std::iter::repeat_n(states, of.cell.states())).chain([kept]) {
            result_offsets.push(end);
            end += aligned(size);
        }
        Recurrence { of, offsets, operand, weights, result_offsets, result: end }
    }

    /// Elements of the gradients of outputs and last states.
    pub fn gradient(&self) -> i64 {
        self.result_offsets[1 + self.of.cell.states()]
    }
}

/// The steps of one direction of an LSTM layer, of inputs that have been multiplied by their weights already.
///
/// Operands of the forward routine: the inputs' part of the gates (steps · batch, 4 · hidden), the states' weights
/// (4 · hidden, hidden), and h and c before the first step, one behind the other. Its result is flat: outputs, then what
/// [`Steps::results`] says. Operands of the way back: the weights, that result, and the gradients of the outputs, of h and
/// c after the last step, with c before the first step behind them. Its result is flat: the gradients of the inputs' part,
/// which are those of the states' product too, and of h and c before the first step.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Steps {
    /// How many.
    pub steps: i64,
    /// Sequences.
    pub batch: i64,
    /// Features of a state.
    pub hidden: i64,
    /// The last step comes first.
    pub reverse: bool,
    /// What the way back needs is kept.
    pub training: bool,
    /// Element type of everything.
    pub dtype: DType,
}

impl Steps {
    /// Elements of one state of all steps, and of one step.
    pub fn sizes(&self) -> [i64; 2] {
        [self.steps * self.batch * self.hidden, self.batch * self.hidden]
    }

    /// Where in the result the last h and c, c of all steps and the gates of all steps start, and its elements.
    pub fn results(&self) -> [i64; 5] {
        let [all, one] = self.sizes();
        let kept = if self.training { all } else { 0 };
        let cells = all + 2 * one;
        [all, all + one, cells, cells + kept, cells + 5 * kept]
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
