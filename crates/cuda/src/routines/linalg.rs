//! Decompositions: small matrices by our own kernels, others by cuSOLVER.
//!
//! cuSOLVER's matrices are column-major, so it reads a row-major matrix as its transpose. Where that serves as well,
//! the matrix is not transposed: Aᵀ is conj(A) for Hermitian matrices, and has A's determinant and singular values.

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock};

use cuprous_core::{DType, LinalgOp, QrMode, RoutineOp, Vectors};
use cuprous_plan::RoutineCall;

use super::{Planned, Routine, Run};
use crate::codegen::linalg::{Decomposition, MatrixCopy, copy_flags};
use crate::codegen::{Arch, Arg, Options, Source, Vendor};
use crate::cusolver::{Number, Operands, Problem, Task, WorkspaceSize};
use crate::driver::{DevPtr, PinnedBuffer, Stream, library_name};
use crate::error::Result;
use crate::gpu::Gpu;

/// The largest Hermitian matrices whose whole batch is decomposed by one call, which hipSOLVER does not have.
const BATCHED_EIGH: i64 = 512;

/// Calls of cuSOLVER: one for each matrix of the batch, or one for all.
struct Solver {
    problem: Problem,
    operands: [Arg; 4],
    info: Arg,
    /// Bytes of the workspace on the device, once known.
    device: OnceLock<usize>,
    /// The workspace on the host, which the library copies from and to.
    host: Mutex<Option<PinnedBuffer>>,
}

impl Solver {
    fn operands(&self, run: Run, workspace: DevPtr) -> Operands {
        Operands { at: self.operands.map(|arg| run.address(arg)), info: run.address(self.info), workspace }
    }
}

impl Routine for Solver {
    fn workspace(&self, gpu: &Gpu) -> Result<usize> {
        let WorkspaceSize { device, host } = gpu.with_solver(|solver| solver.workspace_size(&self.problem))?;
        if host > 0 {
            *self.host.lock().unwrap_or_else(|e| e.into_inner()) = Some(PinnedBuffer::new(gpu.context, host)?);
        }
        Ok(*self.device.get_or_init(|| device))
    }

    fn submit(&self, gpu: &Gpu, run: Run, workspace: DevPtr, stream: &Stream) -> Result<()> {
        let operands = self.operands(run, workspace);
        let device = self.device.get().copied().unwrap_or(0);
        let host = self.host.lock().unwrap_or_else(|e| e.into_inner());
        gpu.with_solver(|solver| {
            // SAFETY: operands are buffers and scratch of the run, with the sizes of the plan. The workspaces have the
            // sizes that `workspace` returned, and the program, which owns the one on the host, outlives its runs.
            unsafe { solver.run(&self.problem, &operands, device, host.as_ref(), stream) }
        })
    }

    fn same_arguments(&self, one: Run, other: Run) -> bool {
        let operands = |run: Run| self.operands(run, run.scratch);
        operands(one) == operands(other)
    }

    /// Iterative methods read their progress on the host, and the library does not document that any function can be
    /// captured.
    fn can_capture(&self) -> bool {
        false
    }
}

impl fmt::Display for Solver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", library_name("cuSOLVER"), self.problem)
    }
}

/// Plans a decomposition. `None` for other routines and dtypes.
pub(super) fn decomposition(call: &RoutineCall, arch: Arch, options: Options) -> Option<Planned> {
    let RoutineOp::Linalg(op) = call.op else { return None };
    let number = match call.ins[0].1.dtype {
        DType::F32 => Number::F32,
        DType::F64 => Number::F64,
        DType::C64 => Number::C64,
        DType::C128 => Number::C128,
        _ => return None,
    };
    let mut work = Decomposition::new(call, op, arch, options);
    if work.small(op, call) {
        return Some(Planned::from(work.builder.out));
    }
    let mut plan = Plan { number, work, routines: Vec::new() };
    let a = plan.work.builder.dense(&call.ins[0], plan.work.dtype);
    plan.work.begin();
    match op {
        LinalgOp::Cholesky { upper } => plan.cholesky(a, upper),
        LinalgOp::Solve => {
            let b = plan.work.builder.dense(&call.ins[1], plan.work.dtype);
            plan.solve(a, b);
        }
        LinalgOp::Slogdet => plan.slogdet(a),
        LinalgOp::Qr(mode) => plan.qr(a, mode),
        LinalgOp::Svd(vectors) => plan.svd(a, vectors),
        LinalgOp::Eigh { upper, vectors } => plan.eigh(a, upper, vectors),
        LinalgOp::Eig { vectors } => plan.eig(a, vectors),
    }
    Some(Planned { kernels: plan.work.builder.out, routines: plan.routines })
}

/// A decomposition by cuSOLVER under construction.
pub(super) struct Plan {
    number: Number,
    pub(super) work: Decomposition,
    pub(super) routines: Vec<(usize, Arc<dyn Routine>)>,
}

/// Returns the matrix at the start of `arg`.
pub(super) fn at(arg: Arg) -> Source {
    Source { at: arg, offset: 0 }
}

impl Plan {
    /// Adds a call of the library after the kernels so far. With `spare` its status for each matrix is not kept.
    fn call(&mut self, task: Task, operands: &[Arg], spare: bool) {
        let mut all = [Arg::I64(0); 4];
        all[..operands.len()].copy_from_slice(operands);
        let problem = Problem { task, number: self.number, batch: self.work.batch as usize };
        let info = self.work.info(spare);
        let solver = Solver { problem, operands: all, info, device: OnceLock::new(), host: Mutex::default() };
        self.routines.push((self.work.builder.out.stages.len(), Arc::new(solver)));
    }

    /// Adds a copy of matrices of the operands' dtype; the arguments are those of [`MatrixCopy`].
    pub(super) fn copy_matrix(
        &mut self,
        from: Source,
        to: (Arg, i64),
        shape: [i64; 2],
        steps: [i64; 2],
        apart: [i64; 2],
        flags: u32,
    ) {
        let dtype = self.work.dtype;
        self.work.copy(MatrixCopy { dtype, from, to, shape, steps, apart, flags });
    }

    /// Copies a row-major operand `rows × columns` for the library. With `transposed` the copy is column-major, so that the
    /// library reads the operand; without, it reads the transpose.
    fn load(&mut self, from: Source, [rows, columns]: [i64; 2], transposed: bool, to: Arg, flags: u32) {
        let size = rows * columns;
        match transposed {
            true => self.copy_matrix(from, (to, 0), [columns, rows], [1, columns], [size, size], flags),
            false => self.copy_matrix(from, (to, 0), [rows, columns], [columns, 1], [size, size], flags),
        }
    }

    /// Uses the library's lower triangle, which takes half the time of the upper one. For a lower factor A is transposed
    /// while it is loaded, so that the library reads A. For an upper factor the library reads A as it is stored, which
    /// to it is Aᵀ = conj(A): the lower factor of that is Uᵀ, which in row-major order is U.
    fn cholesky(&mut self, a: Source, upper: bool) {
        let Decomposition { n, batch, dtype, .. } = self.work;
        let (out, start) = self.work.result(0);
        let matrix = if upper { out } else { self.work.scratch(batch * n * n, dtype) };
        self.work.scan(a, Some(upper), true);
        self.load(a, [n, n], !upper, matrix, 0);
        self.call(Task::Cholesky { n: n as usize, upper: false }, &[matrix], false);
        let (steps, clear) = if upper { ([n, 1], copy_flags::UPPER) } else { ([1, n], copy_flags::LOWER) };
        self.copy_matrix(at(matrix), (out, start), [n, n], steps, [n * n, n * n], copy_flags::NAN_ON_FAILURE | clear);
        self.work.report_status(false);
    }

    fn solve(&mut self, a: Source, b: Source) {
        if self.work.supports_own_lu() {
            return self.eliminate(a, b);
        }
        let (n, k, batch, dtype) = (self.work.n, self.work.k, self.work.batch, self.work.dtype);
        let factors = self.work.scratch(batch * n * n, dtype);
        let pivots = self.work.scratch(batch * n, DType::I64);
        let x = self.work.scratch(batch * n * k, dtype);
        self.load(a, [n, n], true, factors, 0);
        self.load(b, [n, k], true, x, 0);
        self.call(Task::Factors { n: n as usize }, &[factors, pivots], false);
        self.call(Task::Substitution { n: n as usize, columns: k as usize }, &[factors, pivots, x], true);
        let result = self.work.result(0);
        self.copy_matrix(at(x), result, [n, k], [1, n], [n * k, n * k], copy_flags::NAN_ON_FAILURE);
        self.work.report_status(false);
    }

    /// Factors Aᵀ, whose determinant is that of A.
    fn slogdet(&mut self, a: Source) {
        let (n, batch, dtype) = (self.work.n, self.work.batch, self.work.dtype);
        if self.work.supports_own_lu() {
            let lu = self.factors(a, None);
            return self.work.determinant(lu.matrix, lu.pivots);
        }
        let factors = self.work.scratch(batch * n * n, dtype);
        let pivots = self.work.scratch(batch * n, DType::I64);
        self.load(a, [n, n], false, factors, 0);
        self.call(Task::Factors { n: n as usize }, &[factors, pivots], false);
        self.work.determinant(factors, pivots);
    }

    fn qr(&mut self, a: Source, mode: QrMode) {
        let Decomposition { m, n, batch, dtype, .. } = self.work;
        let least = m.min(n);
        let width = if mode == QrMode::Complete { m } else { least };
        // The transposed reflectors in row-major order are LAPACK's column-major ones.
        let raw = mode == QrMode::Raw;
        let factors = if raw { self.work.result(0).0 } else { self.work.scratch(batch * m * n, dtype) };
        let taus = self.work.scratch(batch * least, dtype);
        self.load(a, [m, n], true, factors, 0);
        self.call(Task::Reflectors { rows: m as usize, columns: n as usize }, &[factors, taus], true);
        if raw {
            let to = self.work.result(1);
            self.copy_matrix(at(taus), to, [1, least], [least, 1], [least, least], 0);
            return;
        }
        let wants_q = mode != QrMode::R;
        let r = self.work.result(usize::from(wants_q));
        self.copy_matrix(at(factors), r, [width, n], [1, m], [m * n, width * n], copy_flags::UPPER);
        if !wants_q {
            return;
        }
        let (mut q, mut gap) = (factors, m * n);
        if width > n {
            gap = m * m;
            q = self.work.scratch(batch * gap, dtype);
            self.copy_matrix(at(factors), (q, 0), [least, m], [m, 1], [m * n, gap], 0);
        }
        let (rows, columns, reflectors) = (m as usize, width as usize, least as usize);
        self.call(Task::Basis { rows, columns, reflectors, gap: gap as usize }, &[q, taus], true);
        let result = self.work.result(0);
        self.copy_matrix(at(q), result, [m, width], [1, m], [gap, m * width], 0);
    }

    /// Decomposes A if it is tall, else Aᵀ = conj(V) S Uᵀ, because the library requires at least as many rows as
    /// columns. Its polar decomposition (`gesvdp`) is not used: it is wrong for matrices of low rank (residuals of 0.15
    /// in float32 and 4e-11 in float64 for 1,500 × 1,500, seen with 12.0 on an H200).
    fn svd(&mut self, a: Source, vectors: Vectors) {
        let Decomposition { m, n, batch, dtype, .. } = self.work;
        let (rows, columns) = (m.max(n), m.min(n));
        let tall = m >= n;
        let wants = vectors != Vectors::No;
        // Columns of U and rows of Vᴴ in the results, and columns of the library's left vectors.
        let (wide_u, wide_v) = if vectors == Vectors::Full { (m, n) } else { (columns, columns) };
        let width = if vectors == Vectors::Full { rows } else { columns };
        let real = self.work.dtype.component();
        let matrix = self.work.scratch(batch * rows * columns, dtype);
        let values = self.work.scratch(batch * columns, real);
        let left = self.work.scratch(if wants { batch * rows * width } else { 1 }, dtype);
        let right = self.work.scratch(if wants { batch * columns * columns } else { 1 }, dtype);
        self.work.scan(a, None, false);
        self.load(a, [m, n], tall, matrix, copy_flags::SCALE);
        let (r, c) = (rows as usize, columns as usize);
        self.call(Task::Svd { rows: r, columns: c, vectors }, &[matrix, values, left, right], false);
        self.work.values((values, real), columns, 0);
        if wants {
            let (u, v) = (self.work.result(1), self.work.result(2));
            let (left_distance, right_distance) = (rows * width, columns * columns);
            if tall {
                self.copy_matrix(
                    at(left),
                    u,
                    [m, wide_u],
                    [1, rows],
                    [left_distance, m * wide_u],
                    copy_flags::NAN_ON_FAILURE,
                );
                self.copy_matrix(
                    at(right),
                    v,
                    [wide_v, n],
                    [1, columns],
                    [right_distance, wide_v * n],
                    copy_flags::NAN_ON_FAILURE,
                );
            } else {
                self.copy_matrix(
                    at(right),
                    u,
                    [m, wide_u],
                    [columns, 1],
                    [right_distance, m * wide_u],
                    copy_flags::NAN_ON_FAILURE,
                );
                self.copy_matrix(
                    at(left),
                    v,
                    [wide_v, n],
                    [rows, 1],
                    [left_distance, wide_v * n],
                    copy_flags::NAN_ON_FAILURE,
                );
            }
        }
        self.work.report_status(true);
    }

    /// Decomposes Aᵀ = conj(A), of which the other triangle is read and whose eigenvectors are conj(V).
    fn eigh(&mut self, a: Source, upper: bool, vectors: bool) {
        let Decomposition { n, batch, dtype, .. } = self.work;
        let real = dtype.component();
        let matrix = self.work.scratch(batch * n * n, dtype);
        let values = self.work.scratch(batch * n, real);
        self.work.scan(a, Some(upper), false);
        self.load(a, [n, n], false, matrix, copy_flags::SCALE);
        let size = n as usize;
        let batched = self.work.builder.target.arch.vendor == Vendor::Nvidia && batch > 1 && n <= BATCHED_EIGH;
        let task = if batched {
            Task::SmallEighs { n: size, upper: !upper, vectors }
        } else {
            Task::Eigh { n: size, upper: !upper, vectors }
        };
        self.call(task, &[matrix, values], false);
        self.work.values((values, real), n, 0);
        if vectors {
            let result = self.work.result(1);
            self.copy_matrix(
                at(matrix),
                result,
                [n, n],
                [1, n],
                [n * n, n * n],
                copy_flags::NAN_ON_FAILURE | copy_flags::CONJUGATE,
            );
        }
        self.work.report_status(false);
    }

    fn eig(&mut self, a: Source, vectors: bool) {
        let Decomposition { n, batch, dtype, out_dtype, .. } = self.work;
        let matrix = self.work.scratch(batch * n * n, dtype);
        let values = self.work.scratch(batch * n, out_dtype);
        let v = self.work.scratch(if vectors { batch * n * n } else { 1 }, dtype);
        self.work.scan(a, None, false);
        self.load(a, [n, n], true, matrix, copy_flags::SCALE);
        self.call(Task::Eig { n: n as usize, vectors }, &[matrix, values, v], false);
        self.work.values((values, out_dtype), n, 0);
        if vectors && dtype.is_complex() {
            let result = self.work.result(1);
            self.copy_matrix(at(v), result, [n, n], [1, n], [n * n, n * n], copy_flags::NAN_ON_FAILURE);
        } else if vectors {
            self.work.pairs(v, values);
        }
        self.work.report_status(true);
    }
}

#[cfg(test)]
mod tests {
    use cuprous_core::Layout;
    use cuprous_plan::Epilogue;

    use super::*;

    /// Plans a decomposition of float32. Returns the number of kernels and the library's tasks.
    fn planned(op: LinalgOp, shape: &[i64], columns: i64) -> (usize, Vec<String>) {
        planned_for("sm_80", op, shape, columns)
    }

    fn planned_for(target: &str, op: LinalgOp, shape: &[i64], columns: i64) -> (usize, Vec<String>) {
        let last = shape.len() - 2;
        let mut right = shape.to_vec();
        right[last + 1] = columns;
        let operands = [shape, &right];
        let ins = operands[..if op == LinalgOp::Solve { 2 } else { 1 }].iter().enumerate();
        let batch: i64 = shape[..last].iter().product();
        let size = op.results(shape[last], shape[last + 1], columns).iter().sum::<i64>() * batch + 1;
        let dtype = if matches!(op, LinalgOp::Eig { .. }) { DType::C64 } else { DType::F32 };
        let call = RoutineCall {
            op: RoutineOp::Linalg(op),
            ins: ins.map(|(k, s)| (k as u32, Layout::contiguous(DType::F32, s))).collect(),
            out: (2, Layout::contiguous(dtype, &[size])),
            epilogue: Epilogue::default(),
        };
        let Planned { kernels, routines } =
            decomposition(&call, Arch::H200.of_target(target), Options::default()).expect("float32 is decomposed");
        assert!(routines.iter().all(|(before, _)| *before <= kernels.stages.len()));
        let task = |text: String| {
            let (library, task) = text.split_once(": ").unwrap_or_default();
            if library == "cuSOLVER" { task.split(' ').next().unwrap_or_default().to_owned() } else { text }
        };
        (kernels.stages.len(), routines.iter().map(|(_, routine)| task(routine.to_string())).collect())
    }

    #[test]
    fn a_batch_of_small_matrices_is_one_kernel_or_one_call() {
        let shape = [10_000, 32, 32];
        for op in [
            LinalgOp::Cholesky { upper: false },
            LinalgOp::Solve,
            LinalgOp::Slogdet,
            LinalgOp::Qr(QrMode::Complete),
            LinalgOp::Qr(QrMode::Raw),
            LinalgOp::Svd(Vectors::Full),
            LinalgOp::Eigh { upper: false, vectors: true },
        ] {
            assert_eq!(planned(op, &shape, 32), (2, vec![]), "{op:?}");
        }
        let eigh = planned(LinalgOp::Eigh { upper: false, vectors: true }, &[9, 300, 300], 0);
        assert_eq!(eigh, (6, vec!["SmallEighs".to_owned()]));
    }

    #[test]
    fn large_matrices_are_decomposed_by_the_library() {
        let table: [(LinalgOp, &[&str]); 7] = [
            (LinalgOp::Cholesky { upper: true }, &["Cholesky"]),
            (LinalgOp::Solve, &["Factors", "Substitution"]),
            (LinalgOp::Slogdet, &["Factors"]),
            (LinalgOp::Qr(QrMode::Reduced), &["Reflectors", "Basis"]),
            (LinalgOp::Qr(QrMode::R), &["Reflectors"]),
            (LinalgOp::Svd(Vectors::Thin), &["Svd"]),
            (LinalgOp::Eig { vectors: true }, &["Eig"]),
        ];
        for (op, tasks) in table {
            assert_eq!(planned(op, &[1000, 1000], 5).1, tasks, "{op:?}");
        }
    }

    /// Panels of 32 columns in groups of four, the rest of the matrix by products; substitution by blocks of 64 rows.
    #[test]
    fn newer_devices_factor_by_our_own_kernels() {
        let (kernels, products) = planned_for("sm_90", LinalgOp::Solve, &[200, 200], 5);
        // Flags and operands; 7 panels with their rows; corners; the result and its flag.
        assert_eq!(kernels, 2 + 2 * 7 + 1 + 2);
        assert_eq!(products.len(), 6 + (4 + 2 + 1));
        assert_eq!(products[0], "cuBLASLt: -(168 × 32) · (32 × 173)");
        assert_eq!(products.last().map(String::as_str), Some("cuBLASLt: (64 × 64) · (64 × 5)"));
        assert_eq!(planned_for("sm_90", LinalgOp::Slogdet, &[200, 200], 0).1.len(), 6);
        let (kernels, products) = planned_for("sm_90", LinalgOp::Solve, &[2080, 2080], 5);
        // 16 groups of 4 panels, and one of a single panel.
        assert_eq!(kernels, 2 + (16 * 9 + 2) + 1 + 2);
        assert_eq!(products.len(), 16 * (3 + 1) + (16 * 3 + 15 + 2));
        assert_eq!(products[3], "cuBLASLt: -(1952 × 128) · (128 × 1957)");
        assert_eq!(planned_for("sm_90", LinalgOp::Solve, &[5000, 5000], 5).1, ["Factors", "Substitution"]);
        assert_eq!(planned_for("sm_90", LinalgOp::Solve, &[2, 500, 500], 5).1, ["Factors", "Substitution"]);
    }
}
