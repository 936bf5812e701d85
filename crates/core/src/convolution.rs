//! The geometry of a convolution: shapes, and how its windows lie.

use crate::{DType, Dims};

/// Everything but the values on which a convolution depends. Lists have one entry for each spatial axis.
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
    /// Elements from one window to the next.
    pub stride: Dims,
    /// Elements from one element of a window to the next.
    pub dilation: Dims,
    /// Zeros before the first element. The number after the last element follows from the extents.
    pub before: Dims,
    /// Groups of channels that are convolved separately.
    pub groups: i64,
    /// Element type of operands and result.
    pub dtype: DType,
    /// The arrays have their channels last: (N, …, C) instead of (N, C, …), and the weights (O, …, C / groups).
    pub channels_last: bool,
    /// Operands of float32 may be rounded to 10 bits of mantissa (TF32), where that is faster.
    pub tf32: bool,
}

/// A convolution or one of its gradients. Each is linear in both operands, and its gradients are the other two.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Part {
    /// The output (N, O, …), from the input (N, C, …) and the weights (O, C / groups, …).
    Output,
    /// The gradient of the input (N, C, …): each element of (N, O, …) times the weights, added at its window.
    Input,
    /// The gradient of the weights (O, C / groups, …): the sum of each element of (N, O, …) times its window of (N, C,
    /// …).
    Weight,
}

impl Geometry {
    /// Returns the shapes of the input, the weights and the output.
    fn shapes(&self) -> [Dims; 3] {
        let shape = |n: i64, m: i64, rest: &Dims| {
            let mut shape: Dims = [n, m].iter().chain(rest).copied().collect();
            if self.channels_last {
                shape[1..].rotate_left(1);
            }
            shape
        };
        [
            shape(self.images, self.inputs, &self.input),
            shape(self.outputs, self.inputs / self.groups, &self.kernel),
            shape(self.images, self.outputs, &self.output),
        ]
    }

    /// Returns the number of multiply-adds, which is the same for each [`Part`]: every element of the output is
    /// combined with its window once.
    pub fn products(&self) -> u64 {
        let factors = self.output.iter().chain(&self.kernel).copied();
        let channels = [self.images, self.outputs, self.inputs / self.groups.max(1)];
        factors.chain(channels).fold(1, |product: u64, n| product.saturating_mul(n.unsigned_abs()))
    }

    /// Returns the shape of the result that `part` names, given the shapes of its two operands, or `None` if they do not
    /// fit the geometry.
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
            channels_last: false,
            tf32: false,
        };
        let [x, w, y] = [[2, 6, 8], [4, 3, 3], [2, 4, 6]];
        assert_eq!(geometry.shape(Part::Output, &x, &w).as_deref(), Some(&y[..]));
        assert_eq!(geometry.shape(Part::Input, &y, &w).as_deref(), Some(&x[..]));
        assert_eq!(geometry.shape(Part::Weight, &y, &x).as_deref(), Some(&w[..]));
        assert_eq!(geometry.shape(Part::Output, &x, &[4, 6, 3]), None);
        let last = Geometry { channels_last: true, ..geometry.clone() };
        assert_eq!(last.shape(Part::Output, &[2, 8, 6], &[4, 3, 3]).as_deref(), Some(&[2, 6, 4][..]));
        assert_eq!(last.shape(Part::Output, &x, &w), None);
        assert_eq!(Geometry { groups: 4, ..geometry }.shape(Part::Output, &x, &w), None);
    }
}
