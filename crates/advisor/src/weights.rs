//! **The table of weights**: the cost of one unit of each kind of work, in additions of its dtype. For scalar functions
//! it is the `cost` in [`cuprous_core::ops`].
//!
//! Work in `flops` is the sum of these. If a kind of work was measured on a device, the measured rate is used instead.

use cuprous_core::Fun;

use crate::profile::ComputeUnit::{self, Matrix, Vector};

/// Kinds of work other than scalar functions, the operations of one unit, and the compute unit. A unit is an element, unless stated otherwise.
const WEIGHTS: &[(&[&str], f64, ComputeUnit)] = &[
    // Reductions, per element that is reduced.
    (&["sum", "prod", "max", "min"], 1.0, Vector),
    (&["argmax", "argmin"], 2.0, Vector),
    (&["m2"], 4.0, Vector),
    // Reductions over elements that are not contiguous.
    (&["reduce across"], 1.0, Vector),
    (&["m2 across"], 4.0, Vector),
    // Elements at computed indices, and elements read with a large stride.
    (&["gather", "strided"], 10.0, Vector),
    // Elements read with a large stride from memory that does not fit into a cache.
    (&["strided far"], 30.0, Vector),
    (&["scatter"], 20.0, Vector),
    // Updates of a few elements, which wait for each other.
    (&["crowded scatter"], 20.0, Vector),
    // Multiplications and additions, counted separately.
    (&["dot", "convolve", "recurrence"], 1.0, Matrix),
    // Products with one or a few vectors: each element of the matrix is used only as often.
    (&["thin dot"], 1.0, Vector),
    (&["correlate"], 1.0, Vector),
    (&["sparse dot"], 10.0, Vector),
    // 5 n log2 n for n points.
    (&["fft"], 3.0, Vector),
    // Flops as in LAPACK's working notes: n³/3 for Cholesky, 4n³/3 for QR, and so on.
    (&["factor"], 2.0, Matrix),
    // Columns that are factored one after another: no operations, but a wait for each on a GPU.
    (&["column"], 0.0, Vector),
    (&["spectrum"], 10.0, Matrix),
    // n log2 n for n elements.
    (&["sort"], 20.0, Vector),
    // Elements that are read and written in order, with a decision for each.
    (&["scan", "select", "compact", "pad"], 6.0, Vector),
    (&["search"], 20.0, Vector),
];

/// Returns the operations of one unit of work, and its compute unit. Unknown work counts as additions.
pub fn weight(what: &str) -> (f64, ComputeUnit) {
    match Fun::from_name(what) {
        Some(fun) => (fun.op().cost, Vector),
        None => WEIGHTS.iter().find(|row| row.0.contains(&what)).map_or((1.0, Vector), |row| (row.1, row.2)),
    }
}

/// Returns true if the kind of work has a weight.
pub fn known(what: &str) -> bool {
    all().any(|name| name == what)
}

/// Returns all kinds of work.
pub fn all() -> impl Iterator<Item = &'static str> {
    let functions = Fun::ALL.iter().map(|fun| fun.op().name);
    functions.chain(WEIGHTS.iter().flat_map(|row| row.0.iter().copied()))
}
