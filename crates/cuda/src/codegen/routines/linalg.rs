//! Kernels around a library's decompositions, and decompositions of matrices that fit into shared memory.

use cuprous_core::{DType, Layout, LinalgOp, QrMode, Vectors};
use cuprous_plan::RoutineCall;

use super::super::lower::Target;
use super::super::prelude::Part;
use super::super::types::{Arch, Arg, Generated, Options, ctype, short};
use super::{Builder, DivUp, Launch, RoutineTuning, Source};

const TEXT: &str = include_str!("linalg.cuh");
const SMALL: &str = include_str!("linalg_small.cuh");
const JACOBI: &str = include_str!("linalg_jacobi.cuh");

/// The longest side of a single matrix that one block decomposes, although the rest of the GPU is idle.
const MAX_SINGLE_SIDE: i64 = 128;
/// The longest side of a matrix for one warp, the warps of a block, and the most shared memory of such a block.
const WARP_SIDE: i64 = 32;
const WARPS: usize = 4;
const WARPS_SHARED: usize = 136 << 10;
/// Threads of a block that decomposes one matrix.
const BLOCK_THREADS: u32 = 256;

/// What [`Decomposition::copy`] does to elements. The templates use the same values.
pub(crate) mod copy_flags {
    pub(crate) const CONJUGATE: u32 = 1;
    /// Scales by powers of two where squares would overflow or vanish. A matrix with infinity or NaN becomes zeros.
    pub(crate) const SCALE: u32 = 2;
    /// Writes NaN if the library failed, or if the matrix has infinity or NaN.
    pub(crate) const NAN_ON_FAILURE: u32 = 4;
    /// Writes zeros below the diagonal.
    pub(crate) const UPPER: u32 = 8;
    /// Writes zeros above the diagonal.
    pub(crate) const LOWER: u32 = 16;
}

/// A copy of each matrix of a batch into row-major order.
pub(crate) struct MatrixCopy {
    pub(crate) dtype: DType,
    pub(crate) from: Source,
    /// A buffer or scratch, and the index of the first element in it.
    pub(crate) to: (Arg, i64),
    /// Rows and columns of the destination.
    pub(crate) shape: [i64; 2],
    /// Distance of elements in the source for a step along the rows, and along the columns, of the destination.
    pub(crate) steps: [i64; 2],
    /// Distance of the matrices in the source and in the destination.
    pub(crate) apart: [i64; 2],
    pub(crate) flags: u32,
}

/// A decomposition under construction.
pub(crate) struct Decomposition {
    pub(crate) builder: Builder,
    /// The dtype of the operands.
    pub(crate) dtype: DType,
    pub(crate) out_dtype: DType,
    pub(crate) batch: i64,
    pub(crate) m: i64,
    pub(crate) n: i64,
    /// Columns of the right-hand side.
    pub(crate) k: i64,
    out: Arg,
    /// Where each result starts; the last entry is the flag.
    starts: [i64; 4],
    /// The largest magnitude of each matrix.
    largest: Arg,
    /// The library's status of each matrix: first those that are checked, then those that are ignored.
    info: Arg,
}

/// Bytes of the library's status of a matrix.
const INFO_BYTES: usize = 4;

impl Decomposition {
    pub(crate) fn new(call: &RoutineCall, op: LinalgOp, arch: Arch, options: Options) -> Decomposition {
        let target = Target { arch, options };
        let mut builder = Builder { out: Generated::default(), target, tuning: RoutineTuning::default() };
        let a: &Layout = &call.ins[0].1;
        let last = a.ndim() - 2;
        let (m, n) = (a.shape[last], a.shape[last + 1]);
        let batch: i64 = a.shape[..last].iter().product();
        let k = call.ins.get(1).map_or(0, |(_, b)| b.shape[last + 1]);
        let mut starts = [0; 4];
        for (which, elements) in op.results(m, n, k).into_iter().enumerate() {
            starts[which + 1] = starts[which] + elements * batch;
        }
        let largest = builder.out.scratch(batch as usize * 8);
        let info = builder.out.scratch(2 * batch as usize * INFO_BYTES);
        let out = Arg::Buffer(call.out.0);
        Decomposition {
            builder,
            dtype: a.dtype,
            out_dtype: call.out.1.dtype,
            batch,
            m,
            n,
            k,
            out,
            starts,
            largest,
            info,
        }
    }

    /// Returns where the library writes its status of each matrix; `spare` for a status that is ignored.
    pub(crate) fn info(&self, spare: bool) -> Arg {
        match self.info {
            Arg::Scratch(at) if spare => Arg::Scratch(at + self.batch as usize * INFO_BYTES),
            info => info,
        }
    }

    /// Returns where a result starts.
    pub(crate) fn result(&self, which: usize) -> (Arg, i64) {
        (self.out, self.starts[which])
    }

    /// Reserves scratch for `elements` elements.
    pub(crate) fn scratch(&mut self, elements: i64, dtype: DType) -> Arg {
        self.builder.out.scratch(elements as usize * dtype.size())
    }

    fn launch(&self, name: &str, dtypes: &[DType], variant: &str) -> Launch {
        let types: Vec<&str> = dtypes.iter().map(|&d| short(d)).collect();
        Launch::new(format!("linalg_{name}_{}{variant}", types.join("_")), dtypes, &[TEXT]).part(Part::Arith)
    }

    /// Resets the magnitudes, the statuses and the flag to 0.
    pub(crate) fn begin(&mut self) {
        let d = self.out_dtype;
        let stage = self
            .launch("init", &[d], "")
            .pointer("largest", "uint64", self.largest)
            .pointer("info", "int32", self.info)
            .pointer("out", ctype(d), self.out)
            .int("flag", self.starts[3])
            .int("batch", self.batch)
            .stage(&format!("linalg_init<{}>", ctype(d)), self.batch.div_up(256), 256, 0);
        self.builder.out.stages.push(stage);
    }

    /// Finds the largest magnitude of each matrix, of all elements or of a triangle (`Some(upper)`). With `only_nan` it
    /// only detects NaN.
    pub(crate) fn scan(&mut self, a: Source, triangle: Option<bool>, only_nan: bool) {
        let d = self.dtype;
        let what = triangle.map_or("ALL", |upper| if upper { "UPPER_HALF" } else { "LOWER_HALF" });
        let parts = (self.m * self.n).div_up(4096).min(2048);
        let stage = self
            .launch("scan", &[d], &format!("_{}{}", what.to_lowercase(), if only_nan { "_nan" } else { "" }))
            .source("a", ctype(d), a)
            .pointer("largest", "uint64", self.largest)
            .int("rows", self.m)
            .int("columns", self.n)
            .int("parts", parts)
            .stage(&format!("linalg_scan<{}, {what}, {only_nan}>", ctype(d)), self.batch * parts, 256, 0);
        self.builder.out.stages.push(stage);
    }

    pub(crate) fn copy(&mut self, copy: MatrixCopy) {
        let MatrixCopy { dtype: d, from, to: (to, at), shape: [rows, columns], steps, apart, flags } = copy;
        let (down, across) = (rows.div_up(32), columns.div_up(32));
        let stage = self
            .launch("copy", &[d], &format!("_{flags}"))
            .source("from", ctype(d), from)
            .pointer("to", ctype(d), to)
            .pointer("largest", "uint64", self.largest)
            .pointer("info", "int32", self.info)
            .int("to_at", at)
            .int("rows", rows)
            .int("columns", columns)
            .int("row_step", steps[0])
            .int("column_step", steps[1])
            .int("from_batch", apart[0])
            .int("to_batch", apart[1])
            .int("tiles_down", down)
            .int("tiles_across", across)
            .stage(&format!("linalg_copy<{}, {flags}>", ctype(d)), self.batch * down * across, 256, 0);
        self.builder.out.stages.push(stage);
    }

    /// Writes the library's values, `each` per matrix, as a result.
    pub(crate) fn values(&mut self, from: (Arg, DType), each: i64, which: usize) {
        let (d, (to, at)) = (self.out_dtype, self.result(which));
        let count = each * self.batch;
        let stage = self
            .launch("values", &[d, from.1], "")
            .pointer("from", ctype(from.1), from.0)
            .pointer("to", ctype(d), to)
            .pointer("largest", "uint64", self.largest)
            .pointer("info", "int32", self.info)
            .int("to_at", at)
            .int("each", each)
            .int("count", count)
            .stage(&format!("linalg_values<{}, {}>", ctype(d), ctype(from.1)), count.div_up(256), 256, 0);
        self.builder.out.stages.push(stage);
    }

    /// Sets the flag if a matrix failed. With `strict` infinity and NaN count as failures; otherwise such matrices
    /// never fail.
    pub(crate) fn report_status(&mut self, strict: bool) {
        let d = self.out_dtype;
        let stage = self
            .launch("status", &[d], if strict { "_strict" } else { "" })
            .pointer("largest", "uint64", self.largest)
            .pointer("info", "int32", self.info)
            .pointer("out", ctype(d), self.out)
            .int("flag", self.starts[3])
            .int("batch", self.batch)
            .stage(&format!("linalg_status<{}, {strict}>", ctype(d)), self.batch.div_up(256), 256, 0);
        self.builder.out.stages.push(stage);
    }

    /// Writes the sign and the logarithm of determinants from the factors.
    pub(crate) fn determinant(&mut self, factors: Arg, pivots: Arg) {
        let d = self.dtype;
        let stage = self
            .launch("determinant", &[d], "")
            .pointer("factors", ctype(d), factors)
            .pointer("pivots", "int64", pivots)
            .pointer("out", ctype(d), self.out)
            .int("batch", self.batch)
            .int("n", self.n)
            .stage(&format!("linalg_determinant<{}>", ctype(d)), self.batch, 256, 0);
        self.builder.out.stages.push(stage);
    }

    /// Writes eigenvectors of real matrices as complex numbers.
    pub(crate) fn pairs(&mut self, vectors: Arg, values: Arg) {
        let (d, (to, at)) = (self.out_dtype, self.result(1));
        let count = self.batch * self.n * self.n;
        let stage = self
            .launch("eigenvectors", &[d], "")
            .pointer("vectors", ctype(self.dtype), vectors)
            .pointer("values", ctype(d), values)
            .pointer("to", ctype(d), to)
            .pointer("largest", "uint64", self.largest)
            .pointer("info", "int32", self.info)
            .int("to_at", at)
            .int("n", self.n)
            .int("count", count)
            .stage(&format!("linalg_eigenvectors<{}>", ctype(d)), count.div_up(256), 256, 0);
        self.builder.out.stages.push(stage);
    }

    /// Does the whole decomposition in shared memory, by one warp or block per matrix. Returns false if the matrix does
    /// not fit or the library is faster.
    pub(crate) fn small(&mut self, op: LinalgOp, call: &RoutineCall) -> bool {
        let Decomposition { m, n, k, batch, dtype: d, .. } = *self;
        let (odd, short_side, long_side) = (|n: i64| n | 1, m.min(n), m.max(n));
        let width = if op == LinalgOp::Qr(QrMode::Complete) { m } else { short_side };
        let wants_q = matches!(op, LinalgOp::Qr(QrMode::Reduced | QrMode::Complete));
        let elements = match op {
            LinalgOp::Cholesky { .. } => n * odd(n),
            LinalgOp::Solve => n * odd(n + k) + n,
            LinalgOp::Slogdet => n * odd(n) + n,
            LinalgOp::Svd(vectors) => {
                let u = odd(long_side) * if vectors == Vectors::Full { long_side } else { short_side };
                u + long_side + 2 * short_side + if vectors == Vectors::No { 0 } else { short_side * odd(short_side) }
            }
            LinalgOp::Qr(_) => m * odd(n) + short_side + if wants_q { m * odd(width) } else { 0 },
            LinalgOp::Eigh { vectors, .. } => {
                let even = n + n % 2;
                even * odd(even) * (1 + i64::from(vectors)) + 5 * even
            }
            LinalgOp::Eig { .. } => return false,
        };
        let bytes = elements as usize * d.size();
        if bytes > self.builder.target.arch.max_shared || (batch == 1 && long_side > MAX_SINGLE_SIDE) {
            return false;
        }
        // For larger matrices the library is twice as fast.
        if matches!(op, LinalgOp::Eigh { .. }) && n > WARP_SIDE {
            return false;
        }
        let warp = long_side <= WARP_SIDE && WARPS * bytes <= WARPS_SHARED.min(self.builder.target.arch.max_shared);
        let (matrices, threads_per_matrix, threads) =
            if warp { (WARPS, 32, 32 * WARPS as u32) } else { (1, BLOCK_THREADS, BLOCK_THREADS) };
        let a = self.builder.dense(&call.ins[0], d);
        let c = ctype(d);
        let launch = |name: &str, variant: &str| {
            let jacobi = matches!(op, LinalgOp::Svd(_) | LinalgOp::Eigh { .. });
            let own: &[&'static str] = if jacobi { &[TEXT, SMALL, JACOBI] } else { &[TEXT, SMALL] };
            Launch::new(format!("small_{name}_{}_{threads_per_matrix}{variant}", short(d)), &[d], own)
                .part(Part::Arith)
                .shared(bytes * matrices)
                .source("a", c, a)
        };
        // Threads that share a pair of columns.
        let lanes = if warp { 2 } else { 8 };
        let (blocks, flag) = (batch.div_up(matrices as i64), self.starts[3]);
        self.begin();
        let stage = match op {
            LinalgOp::Cholesky { upper } => launch("cholesky", if upper { "_upper" } else { "" })
                .pointer("out", c, self.out)
                .int("n", n)
                .int("flag", flag)
                .int("batch", batch)
                .stage(&format!("small_cholesky<{c}, {threads_per_matrix}, {upper}>"), blocks, threads, 0),
            LinalgOp::Solve => {
                let b = self.builder.dense(&call.ins[1], d);
                launch("solve", "")
                    .source("b", c, b)
                    .pointer("out", c, self.out)
                    .int("n", n)
                    .int("columns", k)
                    .int("across", (k as u64).next_power_of_two().min(32) as i64)
                    .int("flag", flag)
                    .int("batch", batch)
                    .stage(&format!("small_solve<{c}, {threads_per_matrix}>"), blocks, threads, 0)
            }
            LinalgOp::Slogdet => launch("slogdet", "")
                .pointer("out", c, self.out)
                .int("n", n)
                .int("batch", batch)
                .stage(&format!("small_slogdet<{c}, {threads_per_matrix}>"), blocks, threads, 0),
            LinalgOp::Svd(vectors) => {
                let wants_vectors = vectors != Vectors::No;
                launch("svd", if wants_vectors { "_vectors" } else { "" })
                    .pointer("out", c, self.out)
                    .int("m", m)
                    .int("n", n)
                    .int("width", if vectors == Vectors::Full { long_side } else { short_side })
                    .int("u_at", self.starts[1])
                    .int("v_at", self.starts[2])
                    .int("flag", flag)
                    .int("batch", batch)
                    .stage(
                        &format!("small_svd<{c}, {threads_per_matrix}, {lanes}, {wants_vectors}>"),
                        blocks,
                        threads,
                        0,
                    )
            }
            LinalgOp::Eigh { upper, vectors } => launch("eigh", if vectors { "_vectors" } else { "" })
                .pointer("out", c, self.out)
                .int("n", n)
                .int("upper", i64::from(upper))
                .int("v_at", self.starts[1])
                .int("flag", flag)
                .int("batch", batch)
                .stage(&format!("small_eigh<{c}, {threads_per_matrix}, {lanes}, {vectors}>"), blocks, threads, 0),
            _ => {
                let raw = op == LinalgOp::Qr(QrMode::Raw);
                let group = if warp { 1 } else { 8 };
                let variant = if raw {
                    "_raw"
                } else if wants_q {
                    "_q"
                } else {
                    ""
                };
                launch("qr", variant)
                    .pointer("out", c, self.out)
                    .int("m", m)
                    .int("n", n)
                    .int("width", width)
                    .int("second", self.starts[1])
                    .int("batch", batch)
                    .stage(
                        &format!("small_qr<{c}, {threads_per_matrix}, {group}, {wants_q}, {raw}>"),
                        blocks,
                        threads,
                        0,
                    )
            }
        };
        self.builder.out.stages.push(stage);
        true
    }
}
