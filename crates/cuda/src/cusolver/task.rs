//! What cuSOLVER can be asked for, and the calls.

use std::ffi::c_void;
use std::fmt;

use cuprous_core::Vectors;
use cuprous_cuda_sys::cusolver::{
    CusolverApi, cublasFillMode_t as Fill, cublasOperation_t as Operation, cudaDataType_t as DataType,
    cusolverEigMode_t as Mode,
};

use super::{Cusolver, Purpose, Workspace, call};
use crate::error::{CudaError, Result};

/// Element types.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Number {
    /// float32
    F32,
    /// float64
    F64,
    /// complex64
    C64,
    /// complex128
    C128,
}

impl Number {
    fn data_type(self) -> DataType {
        match self {
            Number::F32 => DataType::CUDA_R_32F,
            Number::F64 => DataType::CUDA_R_64F,
            Number::C64 => DataType::CUDA_C_32F,
            Number::C128 => DataType::CUDA_C_64F,
        }
    }

    /// The type of singular values.
    fn real(self) -> Number {
        match self {
            Number::F32 | Number::C64 => Number::F32,
            Number::F64 | Number::C128 => Number::F64,
        }
    }

    /// The type of eigenvalues of matrices that are not symmetric.
    fn complex(self) -> Number {
        match self {
            Number::F32 | Number::C64 => Number::C64,
            Number::F64 | Number::C128 => Number::C128,
        }
    }

    fn size(self) -> usize {
        match self {
            Number::F32 => 4,
            Number::F64 | Number::C64 => 8,
            Number::C128 => 16,
        }
    }
}

/// A function of the library. Operands come in the order of the comments; the first is overwritten.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "dimensions: see the variants")]
pub enum Task {
    /// `potrf`: the Hermitian matrix, of which one triangle becomes its Cholesky factor.
    Cholesky { n: usize, upper: bool },
    /// `getrf`: the matrix, which becomes L and U; n pivots (int64, from 1).
    Factors { n: usize },
    /// `getrs`: L and U; the pivots; the right sides, which become the solutions (n × columns).
    Substitution { n: usize, columns: usize },
    /// `geqrf`: the matrix, which becomes R and reflectors; their min(rows, columns) factors.
    Reflectors { rows: usize, columns: usize },
    /// `orgqr`, `ungqr`: reflectors, which become the first columns of Q (rows × columns); their factors. `gap` elements
    /// lie between two matrices.
    Basis { rows: usize, columns: usize, reflectors: usize, gap: usize },
    /// `gesvd`, for rows ≥ columns: the matrix; singular values; U; Vᴴ.
    Svd { rows: usize, columns: usize, vectors: Vectors },
    /// `syevd`: the Hermitian matrix, which becomes its eigenvectors; the eigenvalues.
    Eigh { n: usize, upper: bool, vectors: bool },
    /// `syevBatched`: as `Eigh`.
    SmallEighs { n: usize, upper: bool, vectors: bool },
    /// `geev`: the matrix; eigenvalues (complex); eigenvectors.
    Eig { n: usize, vectors: bool },
}

impl Task {
    /// One call does the whole batch.
    pub fn is_batched(self) -> bool {
        matches!(self, Task::SmallEighs { .. })
    }
}

/// A task for each matrix of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Problem {
    /// The task.
    pub task: Task,
    /// The elements.
    pub number: Number,
    /// How many matrices.
    pub batch: usize,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} of {:?}, batch {}", self.task, self.number, self.batch)
    }
}

fn mode(vectors: bool) -> Mode {
    if vectors { Mode::CUSOLVER_EIG_MODE_VECTOR } else { Mode::CUSOLVER_EIG_MODE_NOVECTOR }
}

fn fill(upper: bool) -> Fill {
    if upper { Fill::CUBLAS_FILL_MODE_UPPER } else { Fill::CUBLAS_FILL_MODE_LOWER }
}

/// A dimension for the functions that count in 32 bits.
fn short(n: usize) -> Result<i32> {
    i32::try_from(n)
        .map_err(|_| CudaError::Unsupported(format!("[linalg] a dimension of {n} is too long for cuSOLVER")))
}

impl Problem {
    /// Bytes from one matrix's operands to the next one's.
    pub(super) fn steps(&self) -> [usize; 4] {
        let (element, real, complex) = (self.number.size(), self.number.real().size(), self.number.complex().size());
        match self.task {
            Task::Cholesky { n, .. } => [n * n * element, 0, 0, 0],
            Task::Factors { n } => [n * n * element, n * 8, 0, 0],
            Task::Substitution { n, columns } => [n * n * element, n * 8, n * columns * element, 0],
            Task::Reflectors { rows, columns } => [rows * columns * element, rows.min(columns) * element, 0, 0],
            Task::Basis { gap, reflectors, .. } => [gap * element, reflectors * element, 0, 0],
            Task::Svd { rows, columns, vectors } => {
                let width = if vectors == Vectors::Full { rows } else { columns };
                [rows * columns * element, columns * real, rows * width * element, columns * columns * element]
            }
            Task::SmallEighs { .. } => [0; 4],
            Task::Eigh { n, .. } => [n * n * element, n * real, 0, 0],
            Task::Eig { n, .. } => [n * n * element, n * complex, n * n * element, 0],
        }
    }
}

/// A function of the 64-bit interface, asked or run: operands in between, then the workspaces.
macro_rules! either {
    ($api:expr, $what:expr, $purpose:expr, $ask:ident / $run:ident, ($($arg:expr),*), ($($last:expr),*)) => {
        match $purpose {
            Purpose::Ask(room) => {
                call!($api, $what, $ask($($arg,)* &raw mut room.device, &raw mut room.host $(, $last)*))
            }
            Purpose::Run(workspace) => {
                let (host, on_host) = workspace.on_host();
                let Workspace { device, bytes, info, .. } = workspace;
                call!($api, $what, $run($($arg,)* device, bytes, host, on_host, info $(, $last)*))
            }
        }
    };
}

/// A function that has a name for each element type and counts its workspace in elements.
macro_rules! named {
    ($api:expr, $what:expr, $problem:expr, $purpose:expr, $ask:ident / $run:ident, ($($arg:expr),*)) => {
        match $purpose {
            Purpose::Ask(room) => {
                let mut elements = 0;
                call!($api, $what, $ask($($arg,)* &raw mut elements))?;
                room.device = usize::try_from(elements).unwrap_or(0) * $problem.number.size();
                Ok(())
            }
            Purpose::Run(Workspace { device, bytes, info, .. }) => {
                let elements = short(bytes / $problem.number.size())?;
                call!($api, $what, $run($($arg,)* device.cast(), elements, info))
            }
        }
    };
}

impl Cusolver {
    /// Calls the function of a task, or the one that tells its workspace.
    ///
    /// # Safety
    /// As [`Cusolver::run`], for one matrix unless the task is batched.
    #[allow(clippy::too_many_lines, reason = "a table of functions")]
    pub(super) unsafe fn each_function(
        &mut self,
        api: &CusolverApi,
        problem: &Problem,
        at: [*mut c_void; 4],
        purpose: Purpose<'_>,
    ) -> Result<()> {
        let what: &dyn Fn() -> String = &|| problem.to_string();
        let Cusolver { handle, params, .. } = *self;
        let t = problem.number.data_type();
        let (real, complex) = (problem.number.real().data_type(), problem.number.complex().data_type());
        let [a, b, c, d] = at;
        let long = |n: usize| n as i64;
        // SAFETY: the caller vouches for the operands; the dimensions are theirs.
        unsafe {
            match problem.task {
                Task::Cholesky { n, upper } => either!(
                    api,
                    what,
                    purpose,
                    cusolverDnXpotrf_bufferSize / cusolverDnXpotrf,
                    (handle, params, fill(upper), long(n), t, a, long(n), t),
                    ()
                ),
                Task::Factors { n } => match purpose {
                    Purpose::Ask(room) => call!(
                        api,
                        what,
                        cusolverDnXgetrf_bufferSize(
                            handle,
                            params,
                            long(n),
                            long(n),
                            t,
                            a,
                            long(n),
                            t,
                            &raw mut room.device,
                            &raw mut room.host
                        )
                    ),
                    Purpose::Run(workspace) => {
                        let (host, on_host) = workspace.on_host();
                        let Workspace { device, bytes, info, .. } = workspace;
                        let n = long(n);
                        call!(
                            api,
                            what,
                            cusolverDnXgetrf(
                                handle,
                                params,
                                n,
                                n,
                                t,
                                a,
                                n,
                                b.cast(),
                                t,
                                device,
                                bytes,
                                host,
                                on_host,
                                info
                            )
                        )
                    }
                },
                Task::Substitution { n, columns } => match purpose {
                    Purpose::Ask(_) => Ok(()),
                    Purpose::Run(Workspace { info, .. }) => call!(
                        api,
                        what,
                        cusolverDnXgetrs(
                            handle,
                            params,
                            Operation::CUBLAS_OP_N,
                            long(n),
                            long(columns),
                            t,
                            a,
                            long(n),
                            b.cast(),
                            t,
                            c,
                            long(n),
                            info
                        )
                    ),
                },
                Task::Reflectors { rows, columns } => either!(
                    api,
                    what,
                    purpose,
                    cusolverDnXgeqrf_bufferSize / cusolverDnXgeqrf,
                    (handle, params, long(rows), long(columns), t, a, long(rows), t, b, t),
                    ()
                ),
                Task::Basis { rows, columns, reflectors, .. } => {
                    let (m, n, k) = (short(rows)?, short(columns)?, short(reflectors)?);
                    macro_rules! basis {
                        ($ask:ident / $run:ident) => {
                            named!(api, what, problem, purpose, $ask / $run, (handle, m, n, k, a.cast(), m, b.cast()))
                        };
                    }
                    match problem.number {
                        Number::F32 => basis!(cusolverDnSorgqr_bufferSize / cusolverDnSorgqr),
                        Number::F64 => basis!(cusolverDnDorgqr_bufferSize / cusolverDnDorgqr),
                        Number::C64 => basis!(cusolverDnCungqr_bufferSize / cusolverDnCungqr),
                        Number::C128 => basis!(cusolverDnZungqr_bufferSize / cusolverDnZungqr),
                    }
                }
                Task::Svd { rows, columns, vectors } => {
                    let job = match vectors {
                        Vectors::No => b'N',
                        Vectors::Thin => b'S',
                        Vectors::Full => b'A',
                    } as i8;
                    either!(
                        api,
                        what,
                        purpose,
                        cusolverDnXgesvd_bufferSize / cusolverDnXgesvd,
                        (
                            handle,
                            params,
                            job,
                            job,
                            long(rows),
                            long(columns),
                            t,
                            a,
                            long(rows),
                            real,
                            b,
                            t,
                            c,
                            long(rows),
                            t,
                            d,
                            long(columns),
                            t
                        ),
                        ()
                    )
                }
                Task::Eigh { n, upper, vectors } => either!(
                    api,
                    what,
                    purpose,
                    cusolverDnXsyevd_bufferSize / cusolverDnXsyevd,
                    (handle, params, mode(vectors), fill(upper), long(n), t, a, long(n), real, b, t),
                    ()
                ),
                Task::SmallEighs { n, upper, vectors } => either!(
                    api,
                    what,
                    purpose,
                    cusolverDnXsyevBatched_bufferSize / cusolverDnXsyevBatched,
                    (handle, params, mode(vectors), fill(upper), long(n), t, a, long(n), real, b, t),
                    (long(problem.batch))
                ),
                Task::Eig { n, vectors } => either!(
                    api,
                    what,
                    purpose,
                    cusolverDnXgeev_bufferSize / cusolverDnXgeev,
                    (
                        handle,
                        params,
                        mode(false),
                        mode(vectors),
                        long(n),
                        t,
                        a,
                        long(n),
                        complex,
                        b,
                        t,
                        std::ptr::null_mut(),
                        long(n),
                        t,
                        c,
                        long(n),
                        t
                    ),
                    ()
                ),
            }
        }
    }
}
