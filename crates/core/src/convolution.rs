//! The shapes of a convolution and how its windows lie.

use crate::{DType, Dims};

/// Everything that a convolution depends on besides its values. Lists have one entry for each spatial axis.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Geometry {
    /// Number of images.
    pub images: i64,
    /// Channels of the input.
    pub inputs: i64,
    /// Channels of the output.
    pub outputs: i64,
    /// Extents of the input.
    pub input: Dims,
    /// Extents of the weights.
    pub kernel: Dims,
    /// Extents of the output.
    pub output: Dims,
    /// From one window to the next.
    pub stride: Dims,
    /// From one element of a window to the next.
    pub dilation: Dims,
    /// Zeros before the first element; those behind the last follow from the extents.
    pub before: Dims,
    /// Parts of the channels that do not see each other.
    pub groups: i64,
    /// Element type of operands and result.
    pub dtype: DType,
    /// Operands of float32 may be rounded to 10 bits of mantissa (TF32), where that is faster.
    pub tf32: bool,
}

/// Which product of a convolution. Each is linear in both operands, and is the way back of the others.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Part {
    /// (N, O, …) of the input (N, C, …) and the weights (O, C / groups, …).
    Output,
    /// (N, C, …): each element of (N, O, …) times the weights, summed where its window lies.
    Input,
    /// (O, C / groups, …): the sum over all windows of each element of (N, O, …) times its window of (N, C, …).
    Weight,
}

impl Geometry {
    /// Shapes of the input, the weights and the output.
    fn shapes(&self) -> [Dims; 3] {
        let shape = |n: i64, m: i64, rest: &Dims| [n, m].iter().chain(rest).copied().collect::<Dims>();
        [
            shape(self.images, self.inputs, &self.input),
            shape(self.outputs, self.inputs / self.groups, &self.kernel),
            shape(self.images, self.outputs, &self.output),
        ]
    }

    /// Multiplications and additions of a product: every element of the output meets its window once, whichever of the
    /// three is computed.
    pub fn products(&self) -> u64 {
        let factors = self.output.iter().chain(&self.kernel).copied();
        let channels = [self.images, self.outputs, self.inputs / self.groups.max(1)];
        factors.chain(channels).fold(1, |product: u64, n| product.saturating_mul(n.unsigned_abs()))
    }

    /// Returns the shape of a product of operands of shapes `a` and `b`, or `None` if they do not fit.
    pub fn shape(&self, part: Part, a: &[i64], b: &[i64]) -> Option<Dims> {
        let rank = self.kernel.len();
        let lists = [&self.input, &self.output, &self.stride, &self.dilation, &self.before];
        let positive = self.stride.iter().chain(&self.dilation).chain(&self.kernel).all(|&n| n >= 1);
        if rank == 0 || lists.iter().any(|v| v.len() != rank) || !positive {
            return None;
        }
        if self.groups < 1 || self.inputs % self.groups != 0 || self.outputs % self.groups != 0 {
            return None;
        }
        let [x, w, y] = self.shapes();
        let (first, second, shape) = match part {
            Part::Output => (x, w, y),
            Part::Input => (y, w, x),
            Part::Weight => (y, x, w),
        };
        (first[..] == *a && second[..] == *b).then_some(shape)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_product_has_the_shape_of_the_third_tensor() {
        let one = |n: i64| Dims::from_slice(&[n]);
        let geometry = Geometry {
            images: 2,
            inputs: 6,
            outputs: 4,
            input: one(8),
            kernel: one(3),
            output: one(6),
            stride: one(1),
            dilation: one(1),
            before: one(0),
            groups: 2,
            dtype: DType::F32,
            tf32: false,
        };
        let [x, w, y] = [[2, 6, 8], [4, 3, 3], [2, 4, 6]];
        assert_eq!(geometry.shape(Part::Output, &x, &w).as_deref(), Some(&y[..]));
        assert_eq!(geometry.shape(Part::Input, &y, &w).as_deref(), Some(&x[..]));
        assert_eq!(geometry.shape(Part::Weight, &y, &x).as_deref(), Some(&w[..]));
        assert_eq!(geometry.shape(Part::Output, &x, &[4, 6, 3]), None);
        assert_eq!(Geometry { groups: 4, ..geometry }.shape(Part::Output, &x, &w), None);
    }
}
