//! Routines: operations on whole arrays that are not fused. Each reads its operands from memory, and runs a device's
//! own code or a library.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex};

use crate::attention::{Attention, RowAttention};
use crate::convolution::{Geometry, Part};
use crate::named::named;
use crate::recurrent::{Recurrence, Steps};
use crate::{DType, Dims};

/// The operation of a scan.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum ScanOp {
    Sum,
    Prod,
    Max,
    Min,
}

named! {
    ScanOp {
        Sum = "sum",
        Prod = "prod",
        Max = "max",
        Min = "min",
    }
}

/// What [`RoutineOp::GroupAggregate`] computes of the rows of a group. Results are int64, or the bits of float64 for the
/// sums and extremes of floats.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum GroupFunction {
    /// The sum, in float64 or int64 (which wraps).
    Sum,
    /// The number of rows.
    Count,
    /// The smallest value apart from NaN; NaN without one, and the dtype's largest value without integers.
    Min,
    /// The largest value apart from NaN; NaN without one, and the dtype's smallest value without integers.
    Max,
    /// The number of the first row; -1 without one.
    First,
    /// The number of the last row; -1 without one.
    Last,
}

named! {
    GroupFunction {
        Sum = "sum",
        Count = "count",
        Min = "min",
        Max = "max",
        First = "first",
        Last = "last",
    }
}

/// How an array continues beyond its edges, by SciPy's names.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the names are scipy.ndimage's")]
pub enum Edge {
    /// (d c b a | a b c d | d c b a)
    Reflect,
    /// The constant that the routine has.
    Constant,
    /// (a a a a | a b c d | d d d d)
    Nearest,
    /// (d c b | a b c d | c b a)
    Mirror,
    /// (a b c d | a b c d | a b c d)
    Wrap,
}

named! {
    Edge {
        Reflect = "reflect",
        Constant = "constant",
        Nearest = "nearest",
        Mirror = "mirror",
        Wrap = "wrap",
    }
}

/// A kind of discrete Fourier transform. `n` is the number of points; half of a spectrum is its first `n / 2 + 1`
/// values.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FftKind {
    /// Complex to complex: `out[k] = sum_j a[j] exp(-2πi jk/n)`.
    Forward,
    /// As [`FftKind::Forward`], with a positive exponent.
    Backward,
    /// Real to complex: half of the spectrum.
    Real,
    /// Real to complex: the whole spectrum.
    Whole,
    /// Complex to real: [`FftKind::Backward`] from half of a spectrum. The imaginary parts of frequency zero and, for
    /// even `n`, of the highest frequency are ignored.
    Half,
}

/// The most axes of one transform, as many as libraries support.
pub const FFT_RANK: usize = 3;

/// The divisor of a transform of `n` points.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FftScale {
    /// 1.
    One,
    /// `sqrt(n)`, which makes it unitary.
    Root,
    /// `n`.
    Points,
}

impl FftScale {
    /// Returns the factor on the values, or `None` if it is 1.
    pub fn factor(self, points: i64) -> Option<f64> {
        match self {
            FftScale::One => None,
            FftScale::Root => Some(1.0 / (points as f64).sqrt()),
            FftScale::Points => Some(1.0 / points as f64),
        }
    }
}

/// The results of a QR decomposition.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the names are numpy.linalg.qr's")]
pub enum QrMode {
    /// Q (m × k) and R (k × n), k = min(m, n).
    Reduced,
    /// Q (m × m) and R (m × n).
    Complete,
    /// R (k × n).
    R,
    /// The reflectors below R, transposed (n × m), and their k factors.
    Raw,
}

/// The singular vectors to compute.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Vectors {
    /// None.
    No,
    /// The first min(m, n).
    Thin,
    /// All.
    Full,
}

/// Decompositions and solvers for the matrices (m × n) in the last two axes of operand 0. Dtypes are float32, float64,
/// complex64 and complex128.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LinalgOp {
    /// L (lower) with A = L Lᴴ from the lower triangle, or its adjoint from the upper one.
    Cholesky {
        /// Reads and writes the upper triangle.
        upper: bool,
    },
    /// X with A X = B; operand 1 is B (m × k), of the same dtype and batch.
    Solve,
    /// The determinant's sign (or phase) and the logarithm of its absolute value.
    Slogdet,
    /// A = Q R.
    Qr(QrMode),
    /// The singular values (descending), then U and Vᴴ as [`Vectors`] says.
    Svd(Vectors),
    /// Eigenvalues (ascending) of Hermitian matrices, then the eigenvectors in columns.
    Eigh {
        /// Reads the upper triangle instead of the lower one.
        upper: bool,
        /// Computes eigenvectors.
        vectors: bool,
    },
    /// Eigenvalues, then the eigenvectors in columns (of norm 1); the output is complex.
    Eig {
        /// Computes eigenvectors.
        vectors: bool,
    },
}

impl LinalgOp {
    /// Returns the decomposition, with its options, by the name that Python uses.
    pub fn from_name(name: &str) -> Option<LinalgOp> {
        Some(match name {
            "cholesky" => LinalgOp::Cholesky { upper: false },
            "cholesky_upper" => LinalgOp::Cholesky { upper: true },
            "solve" => LinalgOp::Solve,
            "slogdet" => LinalgOp::Slogdet,
            "qr" => LinalgOp::Qr(QrMode::Reduced),
            "qr_complete" => LinalgOp::Qr(QrMode::Complete),
            "qr_r" => LinalgOp::Qr(QrMode::R),
            "qr_raw" => LinalgOp::Qr(QrMode::Raw),
            "svdvals" => LinalgOp::Svd(Vectors::No),
            "svd" => LinalgOp::Svd(Vectors::Thin),
            "svd_full" => LinalgOp::Svd(Vectors::Full),
            "eigh" => LinalgOp::Eigh { upper: false, vectors: true },
            "eigh_upper" => LinalgOp::Eigh { upper: true, vectors: true },
            "eigvalsh" => LinalgOp::Eigh { upper: false, vectors: false },
            "eigvalsh_upper" => LinalgOp::Eigh { upper: true, vectors: false },
            "eig" => LinalgOp::Eig { vectors: true },
            "eigvals" => LinalgOp::Eig { vectors: false },
            _ => return None,
        })
    }

    /// Returns the number of elements of each result for an m × n matrix (and a right side of k columns); 0 for a
    /// missing result.
    pub fn results(self, m: i64, n: i64, k: i64) -> [i64; 3] {
        let least = m.min(n);
        // A saturated size is an error when the result is allocated.
        let area = i64::saturating_mul;
        match self {
            LinalgOp::Cholesky { .. } => [area(n, n), 0, 0],
            LinalgOp::Solve => [area(n, k), 0, 0],
            LinalgOp::Slogdet => [1, 1, 0],
            LinalgOp::Qr(QrMode::Reduced) => [area(m, least), area(least, n), 0],
            LinalgOp::Qr(QrMode::Complete) => [area(m, m), area(m, n), 0],
            LinalgOp::Qr(QrMode::R) => [area(least, n), 0, 0],
            LinalgOp::Qr(QrMode::Raw) => [area(n, m), least, 0],
            LinalgOp::Svd(Vectors::No) => [least, 0, 0],
            LinalgOp::Svd(Vectors::Thin) => [least, area(m, least), area(least, n)],
            LinalgOp::Svd(Vectors::Full) => [least, area(m, m), area(n, n)],
            LinalgOp::Eigh { vectors, .. } | LinalgOp::Eig { vectors } => [n, if vectors { area(n, n) } else { 0 }, 0],
        }
    }

    /// Returns the name for messages.
    pub fn name(self) -> &'static str {
        match self {
            LinalgOp::Cholesky { .. } => "linalg.cholesky",
            LinalgOp::Solve => "linalg.solve",
            LinalgOp::Slogdet => "linalg.slogdet",
            LinalgOp::Qr(_) => "linalg.qr",
            LinalgOp::Svd(_) => "linalg.svd",
            LinalgOp::Eigh { .. } => "linalg.eigh",
            LinalgOp::Eig { .. } => "linalg.eig",
        }
    }
}

/// The number of elements of a mask that share a count: see [`RoutineOp::PackMask`].
pub const MASK_TILE: i64 = 4096;

/// Returns the number of 64-bit words in the result of [`RoutineOp::PackMask`] for `n` elements, and how many of them
/// (the first ones) are counts.
pub fn packed_mask(n: i64) -> (i64, i64) {
    let tiles = n / MASK_TILE + i64::from(n % MASK_TILE > 0);
    (tiles + tiles * (MASK_TILE / 64), tiles)
}

/// Normalization of the rows of an array.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RowNorm {
    /// The first axis of a row.
    pub first: u8,
    /// Bits (f64) of what is added to the variance.
    pub eps: u64,
    /// The dtype of all operands and of the output.
    pub dtype: DType,
}

impl RowNorm {
    /// Returns what is added to the variance.
    pub fn epsilon(&self) -> f64 {
        f64::from_bits(self.eps)
    }
}

/// Normalization of the channels of a batch.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ChannelNorm {
    /// Bits (f64) of what is added to the variance.
    pub eps: u64,
    /// The dtype of all operands and of the output.
    pub dtype: DType,
}

impl ChannelNorm {
    /// Returns what is added to the variance.
    pub fn epsilon(&self) -> f64 {
        f64::from_bits(self.eps)
    }
}

/// An operation on whole arrays. Operands may have any layout; the output is C-contiguous unless stated otherwise.
/// Float parameters are stored as bits, so that routines can be compared and hashed.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum RoutineOp {
    /// Batched matrix product: `(…, m, k) × (…, k, n) -> (…, m, n)`. Batch axes and dtypes are equal. Sums are
    /// accumulated in [`DType::accumulator`].
    Dot,
    /// Scan along `axis`. Operand and output have the same shape; the operand is cast to the output's dtype first.
    Scan {
        /// The operation.
        op: ScanOp,
        /// The axis.
        axis: u8,
    },
    /// Stable sort along the last axis, NaN last.
    Sort,
    /// Indices (int64) that sort along the last axis, NaN last. Stable.
    ArgSort,
    /// For each element of operand 1, the index (int64) at which to insert it into operand 0 (1-d, sorted).
    SearchSorted {
        /// Inserts after equal elements instead of before.
        right: bool,
    },
    /// Operand 0 partitioned along the last axis: the element at `kth` of each row is the one that sorting would put
    /// there, none before it is greater, and none after it is less.
    Partition {
        /// The index that gets the sorted element.
        kth: i64,
        /// Returns the indices (int64) of such an order instead of the elements.
        indices: bool,
    },
    /// Indices (int64) of the smallest elements of each row (last axis) in ascending order, NaN last, as many as the
    /// output has room for. Equal elements are in the order of their indices. Operand 0 is not complex, and its rows
    /// have fewer than 2^31 elements.
    TopK {
        /// The largest elements in descending order, NaN first.
        largest: bool,
    },
    /// The element that sorting would put at `rank` of each row. The output lacks the last axis. Operand 0 is not
    /// complex. The result may be 0 for -0, and another NaN for a NaN.
    Select {
        /// Number of elements before it.
        rank: i64,
    },
    /// The mask in operand 0 (bool, 1-d) as bits, with counts. The output (int64) holds first, for each tile of
    /// [`MASK_TILE`] elements, the number of true elements up to its end, then the bits of all tiles, 64 per word,
    /// least significant first.
    PackMask,
    /// The elements of operand 1 (1-d) at which a mask is true, in order, or without operand 1 their indices (int64).
    /// Operand 0 is the result of [`RoutineOp::PackMask`], from which the size of the output is known.
    Compact,
    /// Connected components of `n` elements. Operand 0 (words × n, unsigned) holds bits: if bit b of element i is set
    /// (in word b / bits per word), elements i and i - steps[b] are connected. The output (n, int64, or int32 if that
    /// is wide enough) is the first element of each element's component.
    Components {
        /// The distance for each bit. Positive.
        steps: Dims,
    },
    /// Direct N-d correlation of operand 0 with the weights in operand 1 (equal ndim): the weight at index j is
    /// multiplied with the element at i + j - origin. The output has any extents along the same axes, and the dtype of
    /// the weights (float32, float64, int32 or int64; sums of integers wrap).
    Correlate {
        /// How operand 0 continues beyond its edges.
        edge: Edge,
        /// Bits (f64) of the value beyond the edges for [`Edge::Constant`].
        constant: u64,
        /// The index in the weights that belongs to the output element, per axis.
        origin: Dims,
    },
    /// Operand 0 padded to the shape of the output.
    Pad {
        /// How operand 0 continues beyond its edges.
        edge: Edge,
        /// Bits (f64) of the value beyond the edges for [`Edge::Constant`].
        constant: u64,
        /// Elements added before the first, per axis.
        before: Dims,
    },
    /// Discrete Fourier transform along `rank` adjacent axes, in float32 or float64. Operand 0 has the dtype and
    /// extents that the kind reads, the output those that it writes; for [`FftKind::Half`] `n` is the extent of the
    /// output. [`FftKind::Real`] and [`FftKind::Whole`] transform the last of the axes, then [`FftKind::Forward`] the
    /// others. For [`FftKind::Half`], [`FftKind::Backward`] transforms the other axes first.
    Fft {
        /// The kind.
        kind: FftKind,
        /// The last of the axes.
        axis: u8,
        /// The number of axes: 1 to [`FFT_RANK`].
        rank: u8,
        /// How results are normalized by the number of points along all axes.
        scale: FftScale,
    },
    /// A decomposition. The output is flat: each result in turn for the whole batch, with row-major matrices, and real
    /// vectors with imaginary parts of zero. The last element is 1 if a matrix was singular, not positive definite or
    /// did not converge, and 0 otherwise. The results of such a matrix are NaN.
    Linalg(LinalgOp),
    /// A convolution of two operands or one of its gradients. The output has the shape of [`Geometry::shape`].
    Convolve(Part, Arc<Geometry>),
    /// Recurrent layers. Operand 0 and the output are flat: see [`Recurrence`].
    Recur(Arc<Recurrence>),
    /// The gradient of [`RoutineOp::Recur`]. Operands are its operand, its output and the gradients (flat). The output
    /// has the offsets of its operand.
    RecurBackward(Arc<Recurrence>),
    /// Attention, on devices that have a routine for it: see [`Attention`].
    Attend(Arc<Attention>),
    /// The gradient of [`RoutineOp::Attend`]. Operands are its operand, its output and the gradient of the outputs.
    AttendBackward(Arc<Attention>),
    /// `softmax(scale · Q Kᵀ) V` of three operands of any layout, on devices that have a routine for it: Q (batch, heads,
    /// queries, width), K (batch, heads, keys, width) and V (batch, heads, keys, depth). The output is (batch, queries,
    /// heads, depth). With at least one key.
    AttendRows(RowAttention),
    /// Layer normalization, on devices that have a routine for it: operand 0 normalized to mean 0 and variance 1 over the
    /// axes of a row, times operand 1, plus operand 2, which have these axes. Half precision is computed in float32 and
    /// rounded once.
    Normalize(RowNorm),
    /// The gradients of [`RoutineOp::Normalize`], on devices that have a routine for it. Operands are the gradient of the
    /// output, and operands 0 and 1. The output (flat) has the gradients of operands 0, 1 and 2, one after the other.
    NormalizeBackward(RowNorm),
    /// Statistics of each channel, on devices that have a routine for them. Operand 0 is (batch, channels, ...), operand 1,
    /// which may be absent, has a factor for each channel. The output is (4, channels): the mean, the variance (divided by
    /// the number of elements), the reciprocal standard deviation, and that times the factor.
    ChannelStatistics(ChannelNorm),
    /// The gradients of a batch, normalized by [`RoutineOp::ChannelStatistics`], times the factors, plus a term for each
    /// channel. Operands are the gradient of that, the batch and its statistics. The output (flat) has the gradients of
    /// the batch, of the factors and of the terms, one after the other.
    ChannelBackward(ChannelNorm),
    /// Steps of an LSTM layer, on devices that have a routine for them: see [`Steps`].
    Steps(Arc<Steps>),
    /// The gradient of [`RoutineOp::Steps`].
    StepsBackward(Arc<Steps>),
    /// Product of a sparse matrix (m × n, compressed rows) with a dense matrix (n × k). Operand 0 has the values.
    /// Operand 1 (int32 or int64) has the pattern: m + 1 row starts, padded to [`sparse_starts`] elements, and the
    /// column of each value. Operand 2 is dense. The output is m × k. All values have the same dtype: float32, float64,
    /// complex64 or complex128.
    SparseDot {
        /// The pattern is that of the transpose: columns are compressed, and rows are listed.
        transposed: bool,
    },
    /// Numbers rows by their keys (operand 0: int64, n), in the order of the first rows with each key. The output (int32
    /// below 2^31 rows, else int64) has 2n + 1 elements: the number of each row's group, then the first row of each
    /// group (n elements, of which as many are used as there are groups), then the number of groups. Rows where
    /// operand 1 (bool), if there is one, is false have the number -1.
    GroupIds {
        /// Keys are from 0 below it; 0 for any keys.
        domain: i64,
    },
    /// Aggregates rows by the numbers of their groups (operand 0: int32 or int64, n). Operand 1, which is absent if no
    /// function needs it, has the values (n, bool, integers, float32 or float64). Rows whose number is -1, or where
    /// operand 2 (bool), if there is one, is false, do not count. The output (int64) is functions × groups.
    GroupAggregate {
        /// The functions.
        functions: Arc<[GroupFunction]>,
    },
    /// For each left key (operand 1: int64, m), the first row of the right keys (operand 0: int64, n) that is equal,
    /// or -1. Negative keys equal none. The output (int64) has three more elements: the number of pairs of equal
    /// keys, of left keys that have one, and the largest number of pairs of one left key.
    JoinMatch {
        /// Keys are below it.
        domain: i64,
    },
    /// The pairs of equal keys of [`RoutineOp::JoinMatch`], ordered by the left row, then by the right row. The output
    /// (int64) is 2 × pairs: left rows, then right rows.
    JoinPairs {
        /// Keys are below it.
        domain: i64,
        /// Left rows without an equal key have a pair with the right row -1.
        keep_left: bool,
    },
}

/// Returns the number of elements of a pattern before its column indices: `rows + 1`, padded so that the columns are
/// aligned.
pub fn sparse_starts(rows: i64) -> i64 {
    (rows + 1 + 31) / 32 * 32
}

/// A shared, interned routine. Its number stays valid as long as a reference outside the table exists.
pub type RoutineRef = Arc<RoutineOp>;

/// The table of routines by number. When its size has doubled since the last sweep, routines that only the table holds
/// are dropped and their numbers reused.
#[derive(Debug, Default)]
struct Interner {
    numbers: HashMap<RoutineRef, u32>,
    routines: Vec<Option<RoutineRef>>,
    free: Vec<u32>,
    sweep_at: usize,
}

/// A smaller table is not swept.
const FIRST_SWEEP: usize = 1 << 10;

static ROUTINES: LazyLock<Mutex<Interner>> = LazyLock::new(Mutex::default);

/// Locks the table of routines until the result is dropped. Held over a fork, so that the child finds the table
/// unlocked.
pub fn hold() -> impl Sized + 'static {
    ROUTINES.lock().unwrap_or_else(|e| e.into_inner())
}

impl Interner {
    fn sweep(&mut self) {
        let Interner { numbers, routines, free, .. } = self;
        numbers.retain(|routine, &mut number| {
            // Two references are those of `numbers` and `routines`.
            let used = Arc::strong_count(routine) > 2;
            if !used {
                routines[number as usize] = None;
                free.push(number);
            }
            used
        });
        self.sweep_at = (2 * self.numbers.len()).max(FIRST_SWEEP);
    }
}

impl RoutineOp {
    /// Returns the number of this routine in nodes, and a reference that keeps the number valid.
    pub fn intern(self) -> (u32, RoutineRef) {
        let mut guard = ROUTINES.lock().unwrap_or_else(|e| e.into_inner());
        let table = &mut *guard;
        if let Some((routine, &number)) = table.numbers.get_key_value(&self) {
            return (number, routine.clone());
        }
        if table.numbers.len() >= table.sweep_at.max(FIRST_SWEEP) {
            table.sweep();
        }
        let routine = Arc::new(self);
        let number = table.free.pop().unwrap_or_else(|| {
            table.routines.push(None);
            table.routines.len() as u32 - 1
        });
        table.routines[number as usize] = Some(routine.clone());
        table.numbers.insert(routine.clone(), number);
        (number, routine)
    }

    /// Returns the routine of a valid number.
    pub fn interned(number: u32) -> RoutineRef {
        let table = ROUTINES.lock().unwrap_or_else(|e| e.into_inner());
        table.routines[number as usize]
            .clone()
            .unwrap_or_else(|| unreachable!("routine {number} is kept alive by every tape that uses it"))
    }

    /// Returns the cost on a GPU, in bytes of memory that could be read or written in the same time. `moved` is the
    /// number of bytes of all operands, `operand` the shape of the first, and `dtype` and `out` are those of the
    /// result. Rates are those of an H200 (4.5 TB/s; 26, 31 and 350 tera-multiplications per second in single, double
    /// and half precision), which is accurate enough to decide whether a tape holds enough work.
    pub fn work(&self, moved: u64, operand: &[i64], dtype: DType, out: &[i64]) -> u64 {
        let last = operand.last().map_or(1, |&n| n.unsigned_abs());
        let size: u64 = out.iter().map(|n| n.unsigned_abs()).product();
        match self {
            RoutineOp::Dot if matches!(dtype, DType::F16 | DType::BF16) => moved.max(size.saturating_mul(last) / 80),
            RoutineOp::Dot => moved.max(size.saturating_mul(last) / 6),
            // About n³ multiplications at half the rate.
            RoutineOp::Linalg(_) => moved.max(moved.saturating_mul(last) / 16),
            // Each step reads the weights again, and takes at least some microseconds.
            RoutineOp::Recur(r) | RoutineOp::RecurBackward(r) => {
                let (steps, weights) = (r.of.steps * r.of.layers, r.weights * dtype.size() as i64 / r.of.layers.max(1));
                moved.max((steps * weights.max(8 << 20)).unsigned_abs())
            }
            RoutineOp::Attend(of) => moved.max(of.products().unsigned_abs() / 80),
            RoutineOp::AttendBackward(of) => moved.max(of.products().unsigned_abs() / 32),
            _ => moved,
        }
    }

    /// Returns true for operations that devices may lack, because they can be composed of others: those on rows of tables,
    /// attention without a gradient, and norms.
    pub fn is_composable(&self) -> bool {
        matches!(
            self,
            RoutineOp::AttendRows(_)
                | RoutineOp::Normalize(_)
                | RoutineOp::NormalizeBackward(_)
                | RoutineOp::ChannelStatistics(_)
                | RoutineOp::ChannelBackward(_)
                | RoutineOp::GroupIds { .. }
                | RoutineOp::GroupAggregate { .. }
                | RoutineOp::JoinMatch { .. }
                | RoutineOp::JoinPairs { .. }
        )
    }

    /// Returns the name for messages and listings.
    pub fn name(&self) -> &'static str {
        match self {
            RoutineOp::Dot => "dot",
            RoutineOp::Scan { .. } => "scan",
            RoutineOp::Sort => "sort",
            RoutineOp::ArgSort => "argsort",
            RoutineOp::SearchSorted { .. } => "searchsorted",
            RoutineOp::Partition { .. } => "partition",
            RoutineOp::TopK { .. } => "topk",
            RoutineOp::Select { .. } => "select",
            RoutineOp::PackMask => "pack_mask",
            RoutineOp::Compact => "compact",
            RoutineOp::Components { .. } => "components",
            RoutineOp::Correlate { .. } => "correlate",
            RoutineOp::Pad { .. } => "pad",
            RoutineOp::Fft { .. } => "fft",
            RoutineOp::Linalg(op) => op.name(),
            RoutineOp::Convolve(..) => "convolve",
            RoutineOp::Recur(_) => "recurrence",
            RoutineOp::RecurBackward(_) => "recurrence backward",
            RoutineOp::Attend(_) => "attention",
            RoutineOp::AttendBackward(_) => "attention backward",
            RoutineOp::AttendRows(_) => "attention",
            RoutineOp::Normalize(_) => "layer norm",
            RoutineOp::NormalizeBackward(_) => "layer norm backward",
            RoutineOp::ChannelStatistics(_) => "batch statistics",
            RoutineOp::ChannelBackward(_) => "batch norm backward",
            RoutineOp::Steps(_) => "steps of an lstm",
            RoutineOp::StepsBackward(_) => "steps of an lstm backward",
            RoutineOp::SparseDot { .. } => "sparse dot",
            RoutineOp::GroupIds { .. } => "group_ids",
            RoutineOp::GroupAggregate { .. } => "group_aggregate",
            RoutineOp::JoinMatch { .. } => "join_match",
            RoutineOp::JoinPairs { .. } => "join_pairs",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_dropped_routines_are_reused() {
        let select = |rank| RoutineOp::Select { rank };
        let (number, held) = select(-1).intern();
        let most = (0..100_000).map(|rank| select(rank).intern().0).max();
        assert!(most < Some(4 * FIRST_SWEEP as u32), "{most:?}");
        assert_eq!((*RoutineOp::interned(number)).clone(), select(-1));
        assert_eq!(select(-1).intern().0, number);
        drop(held);
    }
}
