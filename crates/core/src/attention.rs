//! Attention that a device does as one routine, without its matrix of scores in memory.

use std::fmt;

use crate::DType;

/// Where queries, keys or values are in the operand: elements to the first, and from batch to batch, head to head and row
/// to row. The features of a row are next to each other.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Part {
    /// Elements to the first.
    pub start: i64,
    /// Elements from one batch, head and row to the next.
    pub strides: [i64; 3],
}

/// `softmax(scale · Q Kᵀ) V` of Q (batch, heads, queries, width), K (batch, heads, keys, width) and V (batch, heads, keys,
/// depth).
///
/// The operand of the forward routine is flat and holds all three at `parts`. Its result is flat too: the outputs, in the
/// order (batch, query, head, feature), then the logarithms of the sums (float32, (batch, head, query)) if `training`. The
/// way back takes both and the gradient of the outputs, which lies as they do, and gives those of the parts, flat, at
/// [`Attention::gradients`].
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
    /// Query i sees the keys up to i.
    pub causal: bool,
    /// Bits (f32) of what scores are multiplied with.
    pub scale: u32,
    /// What the way back needs is kept.
    pub training: bool,
    /// Element type of everything but sums.
    pub dtype: DType,
    /// Where Q, K and V are.
    pub parts: [Part; 3],
    /// Elements of the operand.
    pub operand: i64,
}

/// Elements by which parts of a result are aligned: 256 bytes of a half.
const ALIGNED: i64 = 128;

impl Attention {
    /// Extents of Q, K, V and the outputs: batch, head, row, feature.
    pub fn extents(&self) -> [[i64; 4]; 4] {
        let of = |rows, features| [self.batch, self.heads, rows, features];
        let (q, k, v) = (of(self.queries, self.width), of(self.keys, self.width), of(self.keys, self.depth));
        [q, k, v, of(self.queries, self.depth)]
    }

    /// Strides for extents (batch, head, row, feature), of elements in the order (batch, row, head, feature).
    pub fn by_rows([_, heads, rows, features]: [i64; 4]) -> [i64; 3] {
        [rows * heads * features, features, heads * features]
    }

    /// Parts behind each other, and their elements.
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

    /// Where the gradients of the parts are in what the way back gives, and its elements: as the parts are in the operand,
    /// if they fill it.
    pub fn gradients(&self) -> ([Part; 3], i64) {
        let all: i64 = self.extents()[..3].iter().map(|extents| extents.iter().product::<i64>()).sum();
        if all == self.operand { (self.parts, self.operand) } else { self.packed() }
    }

    /// Elements of the result before the logarithms.
    pub fn sums(&self) -> i64 {
        aligned(self.extents()[3].iter().product())
    }

    /// Elements of the result.
    pub fn result(&self) -> i64 {
        let rows = self.batch * self.heads * self.queries;
        self.sums() + if self.training { rows * 4 / self.dtype.size() as i64 } else { 0 }
    }

    /// Multiplications of the forward routine.
    pub fn products(&self) -> i64 {
        let all = self.batch * self.heads * self.queries * self.keys * (self.width + self.depth);
        if self.causal { all / 2 } else { all }
    }
}

fn aligned(n: i64) -> i64 {
    (n + ALIGNED - 1) / ALIGNED * ALIGNED
}

impl fmt::Display for Attention {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Attention { batch, heads, queries, keys, width, depth, .. } = self;
        let causal = if self.causal { ", causal" } else { "" };
        write!(
            f,
            "{batch} × {heads} heads, {queries} × {keys} of {width} and {depth} features ({}{causal})",
            self.dtype.name()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attention(parts: [Part; 3], operand: i64) -> Attention {
        let (batch, heads, queries, keys, width, depth) = (2, 3, 5, 5, 8, 8);
        let (causal, scale, training, dtype) = (true, 1f32.to_bits(), true, DType::BF16);
        Attention { batch, heads, queries, keys, width, depth, causal, scale, training, dtype, parts, operand }
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
