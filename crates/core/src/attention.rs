//! Attention as one routine, which keeps its matrix of scores out of memory.

use std::fmt;

use crate::DType;

/// The position of queries, keys or values in the operand. The features of a row are contiguous.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Part {
    /// Index of the first element.
    pub start: i64,
    /// Elements from one batch, head and row to the next.
    pub strides: [i64; 3],
}

/// A finite mask that is added to the scaled scores, in the operand: (batches, heads, queries, keys), contiguous.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Mask {
    /// Index of the first element.
    pub start: i64,
    /// 1, or as many as of Q.
    pub batches: i64,
    /// 1, or as many as of Q.
    pub heads: i64,
}

/// `softmax(scale · Q Kᵀ + mask) V` of Q (batch, heads, queries, width), K (batch, heads, keys, width) and V (batch,
/// heads, keys, depth).
///
/// The operand of the forward routine is flat and holds all three at `parts`, and the mask. Its result is flat too: the
/// outputs, in the order (batch, query, head, feature), then the logarithms of the softmax's sums (float32, in the order
/// (batch, head, query)). The backward routine takes operand, result and the gradient of the outputs, in the outputs'
/// order. Its result holds the gradients of the parts at [`Attention::gradients`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Attention {
    /// Batches.
    pub batch: i64,
    /// Heads.
    pub heads: i64,
    /// Rows of Q.
    pub queries: i64,
    /// Rows of K and V.
    pub keys: i64,
    /// Features of Q and K.
    pub width: i64,
    /// Features of V.
    pub depth: i64,
    /// Query i attends only to keys up to i.
    pub causal: bool,
    /// What is added to the scaled scores.
    pub mask: Option<Mask>,
    /// Bits (f32) of the factor on the scores.
    pub scale: u32,
    /// The backward routine is needed.
    pub training: bool,
    /// Element type of everything but sums.
    pub dtype: DType,
    /// Where Q, K and V are in the operand.
    pub parts: [Part; 3],
    /// Elements of the operand.
    pub operand: i64,
}

/// What [`RoutineOp::AttendRows`](crate::RoutineOp::AttendRows) computes. A device decides by it whether it has a routine.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RowAttention {
    /// Heads of all batches together.
    pub heads: i64,
    /// Rows of Q.
    pub queries: i64,
    /// Rows of K and V.
    pub keys: i64,
    /// Features of Q and K, or of V if these are more.
    pub features: i64,
    /// Query i attends only to keys up to i.
    pub causal: bool,
    /// Bits (f64) of the factor on the scores.
    pub scale: u64,
    /// The dtype of the operands and of the output.
    pub dtype: DType,
}

/// The alignment of parts in elements of half precision: 256 bytes.
const ALIGNMENT: i64 = 128;

impl Attention {
    /// Returns the extents of Q, K, V and the outputs: batch, head, row, feature.
    pub fn extents(&self) -> [[i64; 4]; 4] {
        let of = |rows, features| [self.batch, self.heads, rows, features];
        let (q, k, v) = (of(self.queries, self.width), of(self.keys, self.width), of(self.keys, self.depth));
        [q, k, v, of(self.queries, self.depth)]
    }

    /// Returns the strides of the first three axes for extents (batch, head, row, feature), if elements are in the
    /// order (batch, row, head, feature).
    pub fn by_rows([_, heads, rows, features]: [i64; 4]) -> [i64; 3] {
        [rows * heads * features, features, heads * features]
    }

    /// Returns the extents of the mask: batch, head, row, column.
    pub fn extents_of_mask(&self, mask: Mask) -> [i64; 4] {
        [mask.batches, mask.heads, self.queries, self.keys]
    }

    /// Returns positions for the parts one after another, and the size of what holds them.
    pub fn packed(&self) -> ([Part; 3], i64) {
        let mut start = 0;
        let extents = self.extents();
        let parts = [0, 1, 2].map(|k| {
            let part = Part { start, strides: Attention::by_rows(extents[k]) };
            start += aligned(extents[k].iter().product());
            part
        });
        (parts, start)
    }

    /// Returns the positions of the parts' gradients in the result of the backward routine, and its size. They are the
    /// positions of the parts in the operand, if the parts fill it.
    pub fn gradients(&self) -> ([Part; 3], i64) {
        let all: i64 = self.extents()[..3].iter().map(|extents| extents.iter().product::<i64>()).sum();
        if all == self.operand { (self.parts, self.operand) } else { self.packed() }
    }

    /// Returns the number of elements of the result before the logarithms of the sums.
    pub fn sums(&self) -> i64 {
        aligned(self.extents()[3].iter().product())
    }

    /// Returns the number of elements of the result.
    pub fn result(&self) -> i64 {
        let rows = self.batch * self.heads * self.queries;
        self.sums() + rows * 4 / self.dtype.size() as i64
    }

    /// Returns the number of multiplications of the forward routine.
    pub fn products(&self) -> i64 {
        let all = self.batch * self.heads * self.queries * self.keys * (self.width + self.depth);
        if self.causal { all / 2 } else { all }
    }
}

fn aligned(n: i64) -> i64 {
    (n + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT
}

impl fmt::Display for Attention {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Attention { batch, heads, queries, keys, width, depth, .. } = self;
        let causal = if self.causal { ", causal" } else { "" };
        let masked = if self.mask.is_some() { ", masked" } else { "" };
        write!(
            f,
            "{batch} × {heads} heads, {queries} × {keys} of {width} and {depth} features ({}{causal}{masked})",
            self.dtype.name()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attention(parts: [Part; 3], operand: i64) -> Attention {
        let (batch, heads, queries, keys, width, depth) = (2, 3, 5, 5, 8, 8);
        let (causal, mask, scale, training, dtype) = (true, None, 1f32.to_bits(), true, DType::BF16);
        Attention { batch, heads, queries, keys, width, depth, causal, mask, scale, training, dtype, parts, operand }
    }

    #[test]
    fn gradients_lie_as_parts_that_fill_the_operand() {
        let part = |start| Part { start, strides: [5 * 3 * 24, 8, 3 * 24] };
        let interleaved = attention([part(0), part(24), part(48)], 2 * 5 * 3 * 24);
        assert_eq!(interleaved.gradients(), (interleaved.parts, interleaved.operand));
        let gaps = attention([part(0), part(24), part(48)], 2 * 5 * 3 * 24 + 8);
        let (parts, elements) = gaps.gradients();
        assert_eq!(parts.map(|p| p.start), [0, 256, 512]);
        assert_eq!((parts[1].strides, elements), ([120, 8, 24], 768));
    }

    #[test]
    fn sums_are_behind_the_outputs() {
        let of = attention([Part { start: 0, strides: [1; 3] }; 3], 1);
        assert_eq!((of.sums(), of.result()), (256, 256 + 2 * 2 * 3 * 5));
    }
}
