//! The tasks of cuSOLVER and the calls of its functions.

use std::ffi::c_void;
use std::fmt;

use cuprous_core::Vectors;
use cuprous_cuda_sys::cusolver::{
    CusolverApi, cublasFillMode_t as Fill, cublasOperation_t as Operation, cudaDataType_t as DataType,
    cusolverEigMode_t as Mode,
};

use super::{Cusolver, Purpose, Workspace, call};
use crate::driver::library_name;
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

    /// Returns the type of singular values.
    fn real(self) -> Number {
        match self {
            Number::F32 | Number::C64 => Number::F32,
            Number::F64 | Number::C128 => Number::F64,
        }
    }

    /// Returns the type of eigenvalues of general matrices.
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

/// A task of the library. Operands are in the order of the comments; the first is overwritten.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "dimensions: see the variants")]
pub enum Task {
    /// `potrf`: the Hermitian matrix, of which one triangle becomes its Cholesky factor.
    Cholesky { n: usize, upper: bool },
    /// `getrf`: the matrix, which becomes L and U; n pivots (int64, from 1).
    Factors { n: usize },
    /// `getrs`: L and U; the pivots; the right-hand sides, which become the solutions (n × columns).
    Substitution { n: usize, columns: usize },
    /// `geqrf`: the matrix, which becomes R and reflectors; their min(rows, columns) factors.
    Reflectors { rows: usize, columns: usize },
    /// `orgqr`, `ungqr`: reflectors, which become the first columns of Q (rows × columns); their factors. Matrices
    /// start `gap` elements apart.
    Basis { rows: usize, columns: usize, reflectors: usize, gap: usize },
    /// `gesvd`, for rows ≥ columns: the matrix; singular values; U; Vᴴ.
    Svd { rows: usize, columns: usize, vectors: Vectors },
    /// `syevd`: the Hermitian matrix, which becomes its eigenvectors; the eigenvalues.
    Eigh { n: usize, upper: bool, vectors: bool },
    /// `syevBatched`: like `Eigh`, for the whole batch.
    SmallEighs { n: usize, upper: bool, vectors: bool },
    /// `geev`: the matrix; eigenvalues (complex); eigenvectors.
    Eig { n: usize, vectors: bool },
}

impl Task {
    /// Returns true if one call handles the whole batch.
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
    /// The number of matrices.
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

/// Returns a dimension for functions with 32-bit dimensions.
fn dimension_i32(n: usize) -> Result<i32> {
    i32::try_from(n).map_err(|_| {
        CudaError::Unsupported(format!("[linalg] a dimension of {n} is too large for {}", library_name("cuSOLVER")))
    })
}

impl Problem {
    /// Returns the distances in bytes between the operands of two matrices.
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

/// Calls a function of the 64-bit interface or the one that returns its workspace.
macro_rules! either {
    ($api:expr, $what:expr, $purpose:expr, $query:ident / $run:ident, ($($arg:expr),*), ($($last:expr),*)) => {
        match $purpose {
            Purpose::Query(workspace_size) => {
                call!($api, $what, $query($($arg,)* &raw mut workspace_size.device, &raw mut workspace_size.host $(,
                $last)*))
            }
            Purpose::Run(workspace) => {
                let (host, on_host) = workspace.on_host();
                let Workspace { device, bytes, info, .. } = workspace;
                call!($api, $what, $run($($arg,)* device, bytes, host, on_host, info $(, $last)*))
            }
        }
    };
}

/// Calls a function of one element type, which counts its workspace in elements, or the one that returns its workspace.
macro_rules! named {
    ($api:expr, $what:expr, $problem:expr, $purpose:expr, $query:ident / $run:ident, ($($arg:expr),*)) => {
        match $purpose {
            Purpose::Query(workspace_size) => {
                let mut elements = 0;
                call!($api, $what, $query($($arg,)* &raw mut elements))?;
                workspace_size.device = usize::try_from(elements).unwrap_or(0) * $problem.number.size();
                Ok(())
            }
            Purpose::Run(Workspace { device, bytes, info, .. }) => {
                let elements = dimension_i32(bytes / $problem.number.size())?;
                call!($api, $what, $run($($arg,)* device.cast(), elements, info))
            }
        }
    };
}

impl Cusolver {
    /// Calls the function of a task, or the one that returns its workspace.
    ///
    /// # Safety
    /// The requirements of [`Cusolver::run`], for one matrix unless the task is batched.
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
        let dimension = |n: usize| n as i64;
        // SAFETY: the caller vouches for the operands, which have these dimensions.
        unsafe {
            match problem.task {
                Task::Cholesky { n, upper } => either!(
                    api,
                    what,
                    purpose,
                    cusolverDnXpotrf_bufferSize / cusolverDnXpotrf,
                    (handle, params, fill(upper), dimension(n), t, a, dimension(n), t),
                    ()
                ),
                Task::Factors { n } => match purpose {
                    Purpose::Query(workspace_size) => call!(
                        api,
                        what,
                        cusolverDnXgetrf_bufferSize(
                            handle,
                            params,
                            dimension(n),
                            dimension(n),
                            t,
                            a,
                            dimension(n),
                            t,
                            &raw mut workspace_size.device,
                            &raw mut workspace_size.host
                        )
                    ),
                    Purpose::Run(workspace) => {
                        let (host, on_host) = workspace.on_host();
                        let Workspace { device, bytes, info, .. } = workspace;
                        let n = dimension(n);
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
                    Purpose::Query(_) => Ok(()),
                    Purpose::Run(Workspace { info, .. }) => call!(
                        api,
                        what,
                        cusolverDnXgetrs(
                            handle,
                            params,
                            Operation::CUBLAS_OP_N,
                            dimension(n),
                            dimension(columns),
                            t,
                            a,
                            dimension(n),
                            b.cast(),
                            t,
                            c,
                            dimension(n),
                            info
                        )
                    ),
                },
                Task::Reflectors { rows, columns } => either!(
                    api,
                    what,
                    purpose,
                    cusolverDnXgeqrf_bufferSize / cusolverDnXgeqrf,
                    (handle, params, dimension(rows), dimension(columns), t, a, dimension(rows), t, b, t),
                    ()
                ),
                Task::Basis { rows, columns, reflectors, .. } => {
                    let (m, n, k) = (dimension_i32(rows)?, dimension_i32(columns)?, dimension_i32(reflectors)?);
                    macro_rules! basis {
                        ($query:ident / $run:ident) => {
                            named!(api, what, problem, purpose, $query / $run, (handle, m, n, k, a.cast(), m, b.cast()))
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
                            dimension(rows),
                            dimension(columns),
                            t,
                            a,
                            dimension(rows),
                            real,
                            b,
                            t,
                            c,
                            dimension(rows),
                            t,
                            d,
                            dimension(columns),
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
                    (handle, params, mode(vectors), fill(upper), dimension(n), t, a, dimension(n), real, b, t),
                    ()
                ),
                Task::SmallEighs { n, upper, vectors } => either!(
                    api,
                    what,
                    purpose,
                    cusolverDnXsyevBatched_bufferSize / cusolverDnXsyevBatched,
                    (handle, params, mode(vectors), fill(upper), dimension(n), t, a, dimension(n), real, b, t),
                    (dimension(problem.batch))
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
                        dimension(n),
                        t,
                        a,
                        dimension(n),
                        complex,
                        b,
                        t,
                        std::ptr::null_mut(),
                        dimension(n),
                        t,
                        c,
                        dimension(n),
                        t
                    ),
                    ()
                ),
            }
        }
    }
}
