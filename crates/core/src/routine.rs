//! Operations that are not fused: each works on real memory, by a device's own routine or a library.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex};

use crate::attention::Attention;
use crate::convolution::{Geometry, Part};
use crate::named::named;
use crate::recurrent::{Recurrence, Steps};
use crate::{DType, Dims};

/// A running fold.
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

/// What happens beyond an edge, by SciPy's names.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the names are scipy.ndimage's")]
pub enum Edge {
    /// (d c b a | a b c d | d c b a)
    Reflect,
    /// The value of the call's constant.
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

/// Which discrete Fourier transform; `n` is the number of points, a spectrum of real points has `n / 2 + 1` values.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FftKind {
    /// Complex to complex: `out[k] = sum_j a[j] exp(-2πi jk/n)`.
    Forward,
    /// Complex to complex with the exponent's sign turned.
    Backward,
    /// [`FftKind::Forward`] of real points, of which the first `n / 2 + 1` values are kept.
    Real,
    /// [`FftKind::Forward`] of real points, all values.
    Whole,
    /// [`FftKind::Backward`] of the values of [`FftKind::Real`], to real points; what stands for zero frequency and, with even `n`, for the
    /// highest counts as real.
    Half,
}

/// Axes that one transform goes along, at most: what libraries do at once.
pub const FFT_RANK: usize = 3;

/// What a transform of `n` points is divided by.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FftScale {
    /// Nothing.
    One,
    /// `sqrt(n)`, which makes it unitary.
    Root,
    /// `n`.
    Points,
}

impl FftScale {
    /// What the values are multiplied with, unless that is nothing.
    pub fn factor(self, points: i64) -> Option<f64> {
        match self {
            FftScale::One => None,
            FftScale::Root => Some(1.0 / (points as f64).sqrt()),
            FftScale::Points => Some(1.0 / points as f64),
        }
    }
}

/// What a QR decomposition gives back.
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

/// Which singular vectors.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Vectors {
    /// None.
    No,
    /// The first min(m, n).
    Thin,
    /// All.
    Full,
}

/// Decompositions of the matrices (m × n) in operand 0's last two axes, of float32, float64, complex64 or complex128.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LinalgOp {
    /// L (lower) with A = L Lᴴ from the lower triangle, or its adjoint from the upper one.
    Cholesky {
        /// The upper triangle is read and written.
        upper: bool,
    },
    /// X with A X = B; operand 1 is B (m × k), of the same dtype and batch.
    Solve,
    /// The determinant's sign (or phase) and the logarithm of its absolute value.
    Slogdet,
    /// A = Q R.
    Qr(QrMode),
    /// The singular values (descending), then U and Vᴴ if wanted.
    Svd(Vectors),
    /// Eigenvalues (ascending) of Hermitian matrices, then the eigenvectors in columns.
    Eigh {
        /// The upper triangle is read.
        upper: bool,
        /// Eigenvectors are wanted.
        vectors: bool,
    },
    /// Eigenvalues, then the eigenvectors in columns (of norm 1); the output is complex.
    Eig {
        /// Eigenvectors are wanted.
        vectors: bool,
    },
}

impl LinalgOp {
    /// The decomposition with the options of that name.
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

    /// Elements of each result for a matrix of m × n (and a right side of k columns); 0 where there is no such result.
    pub fn results(self, m: i64, n: i64, k: i64) -> [i64; 3] {
        let least = m.min(n);
        // Saturated sizes are refused when they are allocated.
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

    /// The name that messages show.
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

/// Elements of a mask that are counted together: see [`RoutineOp::PackMask`].
pub const MASK_TILE: i64 = 4096;

/// Words that [`RoutineOp::PackMask`] makes of a mask of `n` elements, and how many of them, the first, are counts.
pub fn packed_mask(n: i64) -> (i64, i64) {
    let tiles = n / MASK_TILE + i64::from(n % MASK_TILE > 0);
    (tiles + tiles * (MASK_TILE / 64), tiles)
}

/// An operation on whole arrays. Operands come through any layout; the output is C-contiguous unless said otherwise.
/// Floats stand as bits, so that calls can be compared and hashed.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum RoutineOp {
    /// Batched matrix product: `(…, m, k) × (…, k, n) -> (…, m, n)`; batch axes are already broadcast to be equal,
    /// dtypes are equal. Accumulates in the dtype's accumulator.
    Dot,
    /// Running fold along `axis`; operand and output have one shape, the operand is cast to the output's dtype first.
    Scan {
        /// The fold.
        op: ScanOp,
        /// The axis.
        axis: u8,
    },
    /// Sorted along the last axis, NaN last; stable.
    Sort,
    /// Indices (int64) that sort along the last axis, NaN last; stable.
    ArgSort,
    /// For each element of operand 1 the index (int64) where it would be inserted in operand 0 (sorted, 1-d).
    SearchSorted {
        /// After equal elements rather than before.
        right: bool,
    },
    /// Operand 0 in an order in which the element at `kth` of each row (last axis) is where sorting puts it, none
    /// before it is greater and none behind it less; with `indices` the positions (int64) of such an order.
    Partition {
        /// The place that is right.
        kth: i64,
        /// The result is positions.
        indices: bool,
    },
    /// Positions (int64) of the first elements of each row (last axis) in order, NaN last, as many as the output has
    /// room for; with `largest` in falling order, NaN first. Equal elements come in the order of their positions.
    /// Operand 0 is not complex and its rows have fewer than 2^31 elements.
    TopK {
        /// In falling order.
        largest: bool,
    },
    /// The element that sorting puts at `rank` of each row (the last axis, which the output has not). Operand 0 is not
    /// complex. -0 may come back as 0, and any NaN as another.
    Select {
        /// Elements before it.
        rank: i64,
    },
    /// The mask in operand 0 (bool, 1-d) as bits, and what is needed to find them: first (int64) how many elements hold up
    /// to the end of each tile of [`MASK_TILE`], then the tiles' bits, 64 a word, least significant first.
    PackMask,
    /// Elements of operand 1 (1-d) at which a mask holds, in order, or without operand 1 their indices (int64). Operand 0
    /// is what [`RoutineOp::PackMask`] gave; it tells the size of the output.
    Compact,
    /// Connected components: element i of `n` is joined to element i - steps[b] for each bit b (of word b / bits) that is
    /// set in its words in operand 0 (words × n, unsigned). The output (n, int64, or int32 where it can count them) is the
    /// first element of each one's component.
    Components {
        /// How far the elements are that bits stand for: positive.
        steps: Dims,
    },
    /// Direct N-d correlation of operand 0 with the weights in operand 1 (equal ndim): the weight at index j meets
    /// the element at i + j - origin. Output has operand 0's shape and the weights' dtype (float32, float64,
    /// int32 or int64, whose sums wrap).
    Correlate {
        /// What lies beyond the edges.
        edge: Edge,
        /// Bits (f64) of the value beyond the edges for [`Edge::Constant`].
        constant: u64,
        /// Index in the weights that falls on the output element, per axis.
        origin: Dims,
    },
    /// Operand 0 extended at its edges by `before` and `after` elements per axis.
    Pad {
        /// What lies beyond the edges.
        edge: Edge,
        /// Bits (f64) of the value beyond the edges for [`Edge::Constant`].
        constant: u64,
        /// Elements added in front, per axis.
        before: Dims,
    },
    /// Discrete Fourier transform along `rank` neighbouring axes, in float32 or float64: operand 0 has the dtype and
    /// the extents that the kind reads, the output those that it writes; for [`FftKind::Half`] the output tells `n`.
    /// [`FftKind::Real`] and [`FftKind::Whole`] go along the last of the axes and are followed by
    /// [`FftKind::Forward`] along the others, [`FftKind::Half`] goes along the last after [`FftKind::Backward`] along
    /// the others.
    Fft {
        /// What is computed.
        kind: FftKind,
        /// The last of the axes.
        axis: u8,
        /// How many axes: 1 to [`FFT_RANK`].
        rank: u8,
        /// What the result is divided by; the points are those of all axes.
        scale: FftScale,
    },
    /// A decomposition. The output is flat: each result in turn for the whole batch, every matrix row-major and real
    /// vectors with zeros for imaginary parts; then one element that is 0, or 1 where a matrix was singular, not
    /// positive definite or its iteration did not converge. Such a matrix has NaN for results.
    Linalg(LinalgOp),
    /// One of the three products of a convolution of two operands. Shapes are those of [`Geometry::shape`].
    Convolve(Part, Arc<Geometry>),
    /// Layers of a recurrence. Operand 0 and the output are flat and laid out as [`Recurrence`] says.
    Recur(Arc<Recurrence>),
    /// The way back of [`RoutineOp::Recur`]: operands are its operand, its output and the gradients (flat), the output lies as its operand.
    RecurBack(Arc<Recurrence>),
    /// Attention, on devices that have a routine for it: see [`Attention`] for operand and result.
    Attend(Arc<Attention>),
    /// The way back of [`RoutineOp::Attend`]: operands are its operand, its output and the gradient of the outputs.
    AttendBack(Arc<Attention>),
    /// Steps of an LSTM layer, on devices that have a routine for them: see [`Steps`].
    Steps(Arc<Steps>),
    /// Their way back.
    StepsBack(Arc<Steps>),
    /// Product of a sparse matrix (m × n, compressed rows) with a dense one: operand 0 has the values, operand 1 the
    /// pattern (int32 or int64): m + 1 row starts, [`sparse_starts`] elements in all, and the column of each value;
    /// operand 2 is dense (n × k). The output is m × k. float32, float64, complex64 or complex128, all three the same.
    SparseDot {
        /// The pattern is that of the transpose: columns are compressed and rows listed.
        transposed: bool,
    },
}

/// Elements of a pattern before its column numbers: `rows + 1`, and as many more as keep the columns aligned.
pub fn sparse_starts(rows: i64) -> i64 {
    (rows + 1 + 31) / 32 * 32
}

/// A shared, interned operation. As long as somebody but the table holds it, its number is its own.
pub type RoutineRef = Arc<RoutineOp>;

/// Operations by number. When the table has doubled since the last sweep, those that only it holds are dropped, and their
/// numbers are given anew.
#[derive(Debug, Default)]
struct Interner {
    numbers: HashMap<RoutineRef, u32>,
    calls: Vec<Option<RoutineRef>>,
    free: Vec<u32>,
    sweep_at: usize,
}

/// Below this the table is not swept.
const FIRST_SWEEP: usize = 1 << 10;

static CALLS: LazyLock<Mutex<Interner>> = LazyLock::new(Mutex::default);

/// Locks the table of calls until the result is dropped. Held over a fork, so that the child finds the table unlocked.
pub fn hold() -> impl Sized + 'static {
    CALLS.lock().unwrap_or_else(|e| e.into_inner())
}

impl Interner {
    fn sweep(&mut self) {
        let Interner { numbers, calls, free, .. } = self;
        numbers.retain(|call, &mut number| {
            // Held by `numbers` and by `calls`.
            let used = Arc::strong_count(call) > 2;
            if !used {
                calls[number as usize] = None;
                free.push(number);
            }
            used
        });
        self.sweep_at = (2 * self.numbers.len()).max(FIRST_SWEEP);
    }
}

impl RoutineOp {
    /// The number that stands for this operation in nodes, for as long as the operation that comes with it is held.
    pub fn intern(self) -> (u32, RoutineRef) {
        let mut guard = CALLS.lock().unwrap_or_else(|e| e.into_inner());
        let table = &mut *guard;
        if let Some((call, &number)) = table.numbers.get_key_value(&self) {
            return (number, call.clone());
        }
        if table.numbers.len() >= table.sweep_at.max(FIRST_SWEEP) {
            table.sweep();
        }
        let call = Arc::new(self);
        let number = table.free.pop().unwrap_or_else(|| {
            table.calls.push(None);
            table.calls.len() as u32 - 1
        });
        table.calls[number as usize] = Some(call.clone());
        table.numbers.insert(call.clone(), number);
        (number, call)
    }

    /// The operation of a number that is held.
    pub fn interned(number: u32) -> RoutineRef {
        let table = CALLS.lock().unwrap_or_else(|e| e.into_inner());
        table.calls[number as usize].clone().unwrap_or_else(|| unreachable!("call {number} is held by what names it"))
    }

    /// What it costs on a GPU, in bytes of memory that are read or written in the same time. `moved` are the operands'
    /// bytes, `operand` is the shape of the first, `dtype` and `out` are the result's. Rates are those of an H200 (4.5 TB/s; 26, 31
    /// and 350 tera-multiplications a second in single, double and half precision), which is near enough to tell big
    /// work from small.
    pub fn work(&self, moved: u64, operand: &[i64], dtype: DType, out: &[i64]) -> u64 {
        let last = operand.last().map_or(1, |&n| n.unsigned_abs());
        let size: u64 = out.iter().map(|n| n.unsigned_abs()).product();
        match self {
            RoutineOp::Dot if matches!(dtype, DType::F16 | DType::BF16) => moved.max(size.saturating_mul(last) / 80),
            RoutineOp::Dot => moved.max(size.saturating_mul(last) / 6),
            // About n³ multiplications at half the rate.
            RoutineOp::Linalg(_) => moved.max(moved.saturating_mul(last) / 16),
            // Each step reads the weights anew, and takes some microseconds whatever it does.
            RoutineOp::Recur(r) | RoutineOp::RecurBack(r) => {
                let (steps, weights) = (r.of.steps * r.of.layers, r.weights * dtype.size() as i64 / r.of.layers.max(1));
                moved.max((steps * weights.max(8 << 20)).unsigned_abs())
            }
            RoutineOp::Attend(of) => moved.max(of.products().unsigned_abs() / 80),
            RoutineOp::AttendBack(of) => moved.max(of.products().unsigned_abs() / 32),
            _ => moved,
        }
    }

    /// The name that messages and listings show.
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
            RoutineOp::RecurBack(_) => "recurrence backward",
            RoutineOp::Attend(_) => "attention",
            RoutineOp::AttendBack(_) => "attention backward",
            RoutineOp::Steps(_) => "steps of an lstm",
            RoutineOp::StepsBack(_) => "steps of an lstm backward",
            RoutineOp::SparseDot { .. } => "sparse dot",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_nobody_holds_are_given_anew() {
        let select = |rank| RoutineOp::Select { rank };
        let (number, held) = select(-1).intern();
        let most = (0..100_000).map(|rank| select(rank).intern().0).max();
        assert!(most < Some(4 * FIRST_SWEEP as u32), "{most:?}");
        assert_eq!((*RoutineOp::interned(number)).clone(), select(-1));
        assert_eq!(select(-1).intern().0, number);
        drop(held);
    }
}
