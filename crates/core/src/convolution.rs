//! How the windows of a convolution lie.

use crate::Dims;

/// How windows lie in the input; one entry for each spatial axis.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Geometry {
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
    /// The shape of a product of operands of two shapes; `None` where they do not fit.
    pub fn shape(&self, part: Part, a: &[i64], b: &[i64]) -> Option<Dims> {
        let rank = self.kernel.len();
        let all = [&self.input, &self.output, &self.stride, &self.dilation, &self.before];
        let positive = self.stride.iter().chain(&self.dilation).chain(&self.kernel).all(|&n| n >= 1);
        if rank == 0 || a.len() != rank + 2 || b.len() != rank + 2 || self.groups < 1 || !positive {
            return None;
        }
        if all.iter().any(|v| v.len() != rank) {
            return None;
        }
        let join = |n: i64, m: i64, rest: &Dims| [n, m].iter().chain(rest).copied().collect::<Dims>();
        let ends = |shape: &[i64], rest: &Dims| shape[2..] == rest[..];
        let g = self.groups;
        let (fits, shape) = match part {
            Part::Output => (
                ends(a, &self.input) && ends(b, &self.kernel) && a[1] == b[1] * g && b[0] % g == 0,
                join(a[0], b[0], &self.output),
            ),
            Part::Input => (
                ends(a, &self.output) && ends(b, &self.kernel) && a[1] == b[0] && b[0] % g == 0,
                join(a[0], b[1] * g, &self.input),
            ),
            Part::Weight => (
                ends(a, &self.output) && ends(b, &self.input) && a[0] == b[0] && a[1] % g == 0 && b[1] % g == 0,
                join(a[1], b[1] / g, &self.kernel),
            ),
        };
        fits.then_some(shape)
    }
}
