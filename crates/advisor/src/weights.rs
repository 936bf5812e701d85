//! **The table of weights**: the cost of one unit of each kind of work, in plain operations of its dtype.
//!
//! Work in `flops` is the sum of these. If a kind of work was measured on a device, the measured rate is used instead.

use crate::profile::ComputeUnit::{self, Matrix, Vector};

/// Kinds of work, the operations of one unit, and the compute unit. A unit is an element, unless stated otherwise.
const WEIGHTS: &[(&[&str], f64, ComputeUnit)] = &[
    (&["positive", "real", "imag", "conjugate", "make_complex", "cast", "bitcast"], 1.0, Vector),
    (&["add", "subtract", "multiply", "negative", "absolute", "fabs", "square", "maximum", "minimum"], 1.0, Vector),
    (&["fmax", "fmin", "sign", "copysign", "where", "heaviside", "rint", "floor", "ceil", "trunc"], 1.0, Vector),
    (&["equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "compare_integers"], 1.0, Vector),
    (&["logical_and", "logical_or", "logical_xor", "logical_not"], 1.0, Vector),
    (&["bitwise_and", "bitwise_or", "bitwise_xor", "invert", "left_shift", "right_shift"], 1.0, Vector),
    (&["isnan", "isinf", "isfinite", "signbit", "degrees", "radians", "bitwise_count"], 1.0, Vector),
    (&["divide", "reciprocal", "sqrt", "rsqrt"], 8.0, Vector),
    (
        &["floor_divide", "remainder", "fmod", "ldexp", "frexp_mantissa", "frexp_exponent", "modf_fraction"],
        12.0,
        Vector,
    ),
    (&["nextafter", "spacing", "hypot", "cbrt"], 20.0, Vector),
    (&["exp", "exp2", "log", "log2", "log10", "sin", "cos"], 20.0, Vector),
    (&["expm1", "log1p", "tan", "tanh", "sinh", "cosh", "arctan", "expit", "sinc"], 30.0, Vector),
    (
        &["arcsin", "arccos", "arctan2", "arcsinh", "arccosh", "arctanh", "angle", "logaddexp", "logaddexp2"],
        40.0,
        Vector,
    ),
    (&["erf", "erfc", "ndtr", "i0"], 50.0, Vector),
    (&["power", "float_power", "erfinv", "gammaln", "digamma"], 80.0, Vector),
    (&["gamma", "gcd", "lcm"], 120.0, Vector),
    (&["random_bits32", "random_unit32"], 25.0, Vector),
    (&["random_bits64", "random_unit64"], 50.0, Vector),
    (&["random_normal32"], 50.0, Vector),
    (&["random_normal64"], 100.0, Vector),
    (&["random_gamma", "random_poisson", "random_binomial"], 400.0, Vector),
    // Reductions, per element that is reduced.
    (&["sum", "prod", "max", "min"], 1.0, Vector),
    (&["argmax", "argmin"], 2.0, Vector),
    (&["m2"], 4.0, Vector),
    // Reductions over elements that are not contiguous.
    (&["fold across"], 1.0, Vector),
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
    WEIGHTS.iter().find(|row| row.0.contains(&what)).map_or((1.0, Vector), |row| (row.1, row.2))
}

/// Returns true if the kind of work is in the table.
pub fn known(what: &str) -> bool {
    WEIGHTS.iter().any(|row| row.0.contains(&what))
}

/// Returns all kinds of work.
pub fn all() -> impl Iterator<Item = &'static str> {
    WEIGHTS.iter().flat_map(|row| row.0.iter().copied())
}
