//! **The table of weights**: what one unit of each kind of work takes, in plain operations of its dtype.
//!
//! `flops` are sums of these. Where a device's rates were measured, what was measured counts instead; the weights then
//! stand in only for what was not.

use crate::profile::ComputeUnit::{self, Matrix, Vector};

/// Kinds of work, the operations that one unit takes, and who does them. The unit is an element, unless said otherwise.
const WEIGHTS: &[(&[&str], f64, ComputeUnit)] = &[
    // Folds, by element folded.
    (&["sum", "prod", "max", "min"], 1.0, Vector),
    (&["argmax", "argmin"], 2.0, Vector),
    (&["m2"], 4.0, Vector),
    // The same over elements that do not lie side by side.
    (&["fold across"], 1.0, Vector),
    (&["m2 across"], 4.0, Vector),
    // Elements at places that are data, and elements read across the grain of memory.
    (&["gather", "strided"], 10.0, Vector),
    // Across the grain of memory that no cache holds.
    (&["strided far"], 30.0, Vector),
    (&["scatter"], 20.0, Vector),
    // Updates of a few places, which wait for one another.
    (&["crowded scatter"], 20.0, Vector),
    // Multiplications and additions, each counted.
    (&["dot", "convolve", "recurrence"], 1.0, Matrix),
    // Products with a vector or a few: each element of the matrix is used once or a few times.
    (&["thin dot"], 1.0, Vector),
    (&["correlate"], 1.0, Vector),
    (&["sparse dot"], 10.0, Vector),
    // 5 n log2 n for n points.
    (&["fft"], 3.0, Vector),
    // The flops of LAPACK's working notes: n³/3 of Cholesky, 4n³/3 of a QR, and so on.
    (&["factor"], 2.0, Matrix),
    // Columns that are factored one after another: no operations, but on a GPU a wait each.
    (&["column"], 0.0, Vector),
    (&["spectrum"], 10.0, Matrix),
    // n log2 n for n elements.
    (&["sort"], 20.0, Vector),
    // Elements that are read and written in order, with a decision each.
    (&["scan", "select", "compact", "pad"], 6.0, Vector),
    (&["search"], 20.0, Vector),
];

/// Operations of one unit of that work, and the units that do them; those of an addition for what is not in the table.
pub fn weight(what: &str) -> (f64, ComputeUnit) {
    WEIGHTS.iter().find(|row| row.0.contains(&what)).map_or((1.0, Vector), |row| (row.1, row.2))
}

/// Is it in the table?
pub fn known(what: &str) -> bool {
    WEIGHTS.iter().any(|row| row.0.contains(&what))
}

/// Every kind of work.
pub fn all() -> impl Iterator<Item = &'static str> {
    WEIGHTS.iter().flat_map(|row| row.0.iter().copied())
}
