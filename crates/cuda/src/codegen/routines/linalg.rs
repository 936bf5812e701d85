//! The kernels around decompositions, and decompositions of matrices that fit into shared memory.

use cuprous_core::{DType, Layout, LinalgOp, QrMode, Vectors};
use cuprous_plan::RoutineCall;

use super::super::lower::Target;
use super::super::prelude::Part;
use super::super::types::{Arch, Arg, Generated, Options, ctype, short};
use super::{CallTuning, DivUp, Launch, Made, Source};

const TEXT: &str = include_str!("linalg.cuh");
const SMALL: &str = include_str!("linalg_small.cuh");
const JACOBI: &str = include_str!("linalg_jacobi.cuh");

/// The longest side of a matrix that is left to one block although there is no other to keep the GPU busy.
const ALONE: i64 = 128;
/// The longest side of a matrix that one warp has, warps of a block, and their shared memory at most.
const WARP_SIDE: i64 = 32;
const WARPS: usize = 4;
const WARPS_SHARED: usize = 136 << 10;
/// Threads of a block that has one matrix.
const TEAM: u32 = 256;

/// What [`Work::relay`] does on the way; the templates' values.
pub(crate) mod how {
    pub(crate) const CONJUGATE: u32 = 1;
    /// By powers of two, where squares would overflow or vanish; infinity and NaN make a matrix of zeros.
    pub(crate) const SCALE: u32 = 2;
    /// NaN where the library failed, or there was nothing to compute.
    pub(crate) const SPOIL: u32 = 4;
    /// Zeros below the diagonal.
    pub(crate) const UPPER: u32 = 8;
    /// Zeros above the diagonal.
    pub(crate) const LOWER: u32 = 16;
}

/// Copies a matrix (of each of the batch) into row-major order.
pub(crate) struct Relay {
    pub(crate) dtype: DType,
    pub(crate) from: Source,
    /// Buffer or scratch, and an element of it.
    pub(crate) to: (Arg, i64),
    /// Rows and columns of the destination.
    pub(crate) shape: [i64; 2],
    /// Elements from one row, and from one column, of the destination to the next, in the source.
    pub(crate) steps: [i64; 2],
    /// Elements from one matrix to the next, in the source and in the destination.
    pub(crate) apart: [i64; 2],
    pub(crate) how: u32,
}

/// A decomposition under construction.
pub(crate) struct Work {
    pub(crate) made: Made,
    /// Of the operands.
    pub(crate) dtype: DType,
    pub(crate) out_dtype: DType,
    pub(crate) batch: i64,
    pub(crate) m: i64,
    pub(crate) n: i64,
    /// Columns of the right side.
    pub(crate) k: i64,
    out: Arg,
    /// Where each result starts, and the flag.
    starts: [i64; 4],
    /// Each matrix's largest magnitude.
    largest: Arg,
    /// What the library says of each matrix: first what counts, then what does not.
    info: Arg,
}

/// Bytes of what the library says of a matrix.
const INFO_BYTES: usize = 4;

impl Work {
    pub(crate) fn new(call: &RoutineCall, op: LinalgOp, arch: Arch, options: Options) -> Work {
        let target = Target { arch, options };
        let mut made = Made { out: Generated::default(), target, tuning: CallTuning::default() };
        let a: &Layout = &call.ins[0].1;
        let last = a.ndim() - 2;
        let (m, n) = (a.shape[last], a.shape[last + 1]);
        let batch: i64 = a.shape[..last].iter().product();
        let k = call.ins.get(1).map_or(0, |(_, b)| b.shape[last + 1]);
        let mut starts = [0; 4];
        for (which, elements) in op.results(m, n, k).into_iter().enumerate() {
            starts[which + 1] = starts[which] + elements * batch;
        }
        let largest = made.out.scratch(batch as usize * 8);
        let info = made.out.scratch(2 * batch as usize * INFO_BYTES);
        let out = Arg::Buffer(call.out.0);
        Work { made, dtype: a.dtype, out_dtype: call.out.1.dtype, batch, m, n, k, out, starts, largest, info }
    }

    /// Where the library writes of each matrix whether it failed; `spare` where that is nothing to keep.
    pub(crate) fn info(&self, spare: bool) -> Arg {
        match self.info {
            Arg::Scratch(at) if spare => Arg::Scratch(at + self.batch as usize * INFO_BYTES),
            info => info,
        }
    }

    /// Where a result starts.
    pub(crate) fn result(&self, which: usize) -> (Arg, i64) {
        (self.out, self.starts[which])
    }

    /// Scratch for so many elements.
    pub(crate) fn scratch(&mut self, elements: i64, dtype: DType) -> Arg {
        self.made.out.scratch(elements as usize * dtype.size())
    }

    fn launch(&self, name: &str, dtypes: &[DType], variant: &str) -> Launch {
        let types: Vec<&str> = dtypes.iter().map(|&d| short(d)).collect();
        Launch::new(format!("linalg_{name}_{}{variant}", types.join("_")), dtypes, &[TEXT]).part(Part::Arith)
    }

    /// Forgets what was known of the matrices; the flag is 0.
    pub(crate) fn begin(&mut self) {
        let d = self.out_dtype;
        let stage = self
            .launch("begin", &[d], "")
            .pointer("largest", "uint64", self.largest)
            .pointer("info", "int32", self.info)
            .pointer("out", ctype(d), self.out)
            .int("flag", self.starts[3])
            .int("batch", self.batch)
            .stage(&format!("linalg_begin<{}>", ctype(d)), self.batch.div_up(256), 256, 0);
        self.made.out.stages.push(stage);
    }

    /// Finds each matrix's largest magnitude, of all elements or of a triangle (`Some(upper)`), or whether there is NaN.
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
        self.made.out.stages.push(stage);
    }

    pub(crate) fn relay(&mut self, relay: Relay) {
        let Relay { dtype: d, from, to: (to, at), shape: [rows, columns], steps, apart, how } = relay;
        let (down, across) = (rows.div_up(32), columns.div_up(32));
        let stage = self
            .launch("relay", &[d], &format!("_{how}"))
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
            .stage(&format!("linalg_relay<{}, {how}>", ctype(d)), self.batch * down * across, 256, 0);
        self.made.out.stages.push(stage);
    }

    /// Values, `each` for every matrix, as they came from the library.
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
        self.made.out.stages.push(stage);
    }

    /// Says in the flag whether a matrix failed. `strict`: infinity and NaN are failures, else they excuse one.
    pub(crate) fn judge(&mut self, strict: bool) {
        let d = self.out_dtype;
        let stage = self
            .launch("judge", &[d], if strict { "_strict" } else { "" })
            .pointer("largest", "uint64", self.largest)
            .pointer("info", "int32", self.info)
            .pointer("out", ctype(d), self.out)
            .int("flag", self.starts[3])
            .int("batch", self.batch)
            .stage(&format!("linalg_judge<{}, {strict}>", ctype(d)), self.batch.div_up(256), 256, 0);
        self.made.out.stages.push(stage);
    }

    /// Sign and logarithm of determinants, from the factors.
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
        self.made.out.stages.push(stage);
    }

    /// Eigenvectors of real matrices as complex numbers.
    pub(crate) fn pairs(&mut self, vectors: Arg, values: Arg) {
        let (d, (to, at)) = (self.out_dtype, self.result(1));
        let count = self.batch * self.n * self.n;
        let stage = self
            .launch("pairs", &[d], "")
            .pointer("vectors", ctype(self.dtype), vectors)
            .pointer("values", ctype(d), values)
            .pointer("to", ctype(d), to)
            .pointer("largest", "uint64", self.largest)
            .pointer("info", "int32", self.info)
            .int("to_at", at)
            .int("n", self.n)
            .int("count", count)
            .stage(&format!("linalg_pairs<{}>", ctype(d)), count.div_up(256), 256, 0);
        self.made.out.stages.push(stage);
    }

    /// The whole decomposition in shared memory, by one warp or block for each matrix. False where that is not fast or
    /// does not fit.
    pub(crate) fn small(&mut self, op: LinalgOp, call: &RoutineCall) -> bool {
        let Work { m, n, k, batch, dtype: d, .. } = *self;
        let (odd, least, most) = (|n: i64| n | 1, m.min(n), m.max(n));
        let width = if op == LinalgOp::Qr(QrMode::Complete) { m } else { least };
        let wants_q = matches!(op, LinalgOp::Qr(QrMode::Reduced | QrMode::Complete));
        let elements = match op {
            LinalgOp::Cholesky { .. } => n * odd(n),
            LinalgOp::Solve => n * odd(n + k) + n,
            LinalgOp::Slogdet => n * odd(n) + n,
            LinalgOp::Svd(vectors) => {
                let u = odd(most) * if vectors == Vectors::Full { most } else { least };
                u + most + 2 * least + if vectors == Vectors::No { 0 } else { least * odd(least) }
            }
            LinalgOp::Qr(_) => m * odd(n) + least + if wants_q { m * odd(width) } else { 0 },
            LinalgOp::Eigh { vectors, .. } => {
                let even = n + n % 2;
                even * odd(even) * (1 + i64::from(vectors)) + 5 * even
            }
            LinalgOp::Eig { .. } => return false,
        };
        let bytes = elements as usize * d.size();
        if bytes > self.made.target.arch.max_shared || (batch == 1 && most > ALONE) {
            return false;
        }
        // From there on the library's is twice as fast.
        if matches!(op, LinalgOp::Eigh { .. }) && n > WARP_SIDE {
            return false;
        }
        let warp = most <= WARP_SIDE && WARPS * bytes <= WARPS_SHARED.min(self.made.target.arch.max_shared);
        let (matrices, team, threads) = if warp { (WARPS, 32, 32 * WARPS as u32) } else { (1, TEAM, TEAM) };
        let a = self.made.dense(&call.ins[0], d);
        let c = ctype(d);
        let launch = |name: &str, variant: &str| {
            let jacobi = matches!(op, LinalgOp::Svd(_) | LinalgOp::Eigh { .. });
            let own: &[&'static str] = if jacobi { &[TEXT, SMALL, JACOBI] } else { &[TEXT, SMALL] };
            Launch::new(format!("small_{name}_{}_{team}{variant}", short(d)), &[d], own)
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
                .stage(&format!("small_cholesky<{c}, {team}, {upper}>"), blocks, threads, 0),
            LinalgOp::Solve => {
                let b = self.made.dense(&call.ins[1], d);
                launch("solve", "")
                    .source("b", c, b)
                    .pointer("out", c, self.out)
                    .int("n", n)
                    .int("columns", k)
                    .int("across", (k as u64).next_power_of_two().min(32) as i64)
                    .int("flag", flag)
                    .int("batch", batch)
                    .stage(&format!("small_solve<{c}, {team}>"), blocks, threads, 0)
            }
            LinalgOp::Slogdet => launch("slogdet", "")
                .pointer("out", c, self.out)
                .int("n", n)
                .int("batch", batch)
                .stage(&format!("small_slogdet<{c}, {team}>"), blocks, threads, 0),
            LinalgOp::Svd(vectors) => {
                let wants = vectors != Vectors::No;
                launch("svd", if wants { "_vectors" } else { "" })
                    .pointer("out", c, self.out)
                    .int("m", m)
                    .int("n", n)
                    .int("width", if vectors == Vectors::Full { most } else { least })
                    .int("u_at", self.starts[1])
                    .int("v_at", self.starts[2])
                    .int("flag", flag)
                    .int("batch", batch)
                    .stage(&format!("small_svd<{c}, {team}, {lanes}, {wants}>"), blocks, threads, 0)
            }
            LinalgOp::Eigh { upper, vectors } => launch("eigh", if vectors { "_vectors" } else { "" })
                .pointer("out", c, self.out)
                .int("n", n)
                .int("upper", i64::from(upper))
                .int("v_at", self.starts[1])
                .int("flag", flag)
                .int("batch", batch)
                .stage(&format!("small_eigh<{c}, {team}, {lanes}, {vectors}>"), blocks, threads, 0),
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
                    .stage(&format!("small_qr<{c}, {team}, {group}, {wants_q}, {raw}>"), blocks, threads, 0)
            }
        };
        self.made.out.stages.push(stage);
        true
    }
}
