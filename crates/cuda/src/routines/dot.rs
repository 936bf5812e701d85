//! Floating-point matrix products by cuBLASLt.

use std::fmt;

use cuprous_core::{DType, LayoutRef, RoutineOp, Scalar};
use cuprous_plan::{Epilogue, Factor, RoutineCall};

use super::{Routine, Run};
use crate::codegen::Arg;
use crate::cublaslt::{self, Matmul, MatmulType, Matrix, Operands};
use crate::driver::{DevPtr, Stream, library_name};
use crate::error::Result;
use crate::gpu::Gpu;

/// One product; operands as (buffer, byte offset). Its factors are read when it runs.
pub(super) struct Product {
    problem: Matmul,
    dtype: DType,
    a: (u32, u64),
    b: (u32, u64),
    c: u32,
    scale: Factor,
    addend: Option<((u32, u64), Factor)>,
    bias: Option<(u32, u64)>,
    /// The epilogue as listings show it.
    epilogue: String,
}

/// Plans a floating-point matrix product. `None` for other routines and dtypes.
pub(super) fn product(call: &RoutineCall) -> Option<Product> {
    if call.op != RoutineOp::Dot {
        return None;
    }
    let dtype = match call.out.1.dtype {
        DType::F16 => MatmulType::F16,
        DType::BF16 => MatmulType::Bf16,
        DType::F32 => MatmulType::F32,
        DType::F64 => MatmulType::F64,
        DType::C64 => MatmulType::C64,
        DType::C128 => MatmulType::C128,
        _ => return None,
    };
    let matrix = |k: usize| -> (Matrix, u64) {
        let layout = if k < 2 { &call.ins[k].1 } else { &call.out.1 };
        let n = layout.ndim();
        // The caller ensures that the batch axes collapse to one.
        let batch_stride = (0..n - 2).rev().find(|&a| layout.shape[a] != 1).map_or(0, |a| layout.strides[a]);
        let matrix = Matrix {
            rows: layout.shape[n - 2] as u64,
            cols: layout.shape[n - 1] as u64,
            row_stride: layout.strides[n - 2],
            col_stride: layout.strides[n - 1],
            batch_stride,
        };
        (matrix, layout.offset as u64 * layout.dtype.size() as u64)
    };
    let out = &call.out.1;
    let batch: i64 = out.shape[..out.ndim() - 2].iter().product();
    let ((a, a_offset), (b, b_offset), (c, _)) = (matrix(0), matrix(1), matrix(2));
    let mut problem = Matmul::row_major(dtype, a.rows, a.cols, b.cols);
    problem.a = a;
    problem.b = b;
    problem.c = c;
    problem.batch = batch as u32;
    let Epilogue { scale, addend, bias } = &call.epilogue;
    if bias.is_some() {
        problem.epilogue = cublaslt::Epilogue::Bias;
    }
    let at = |(buffer, layout): &(u32, LayoutRef)| (*buffer, layout.offset as u64 * layout.dtype.size() as u64);
    Some(Product {
        problem,
        dtype: out.dtype,
        a: (call.ins[0].0, a_offset),
        b: (call.ins[1].0, b_offset),
        c: call.out.0,
        scale: *scale,
        epilogue: call.epilogue.to_string(),
        addend: addend.as_ref().map(|a| (at(&a.array), a.factor)),
        bias: bias.as_ref().map(at),
    })
}

impl Product {
    /// Returns true if the library is installed and has a kernel for the product.
    pub(super) fn is_supported(&self, gpu: &Gpu) -> bool {
        gpu.with_blas(|blas, workspace| blas.supports(&self.problem, workspace)).unwrap_or(false)
    }

    fn operands(&self, buffers: &[u64]) -> Operands {
        let at = |(buffer, offset): (u32, u64)| DevPtr(buffers[buffer as usize] + offset);
        let c = at((self.c, 0));
        let addend = self.addend.map_or(c, |(array, _)| at(array));
        Operands { a: at(self.a), b: at(self.b), c, addend, bias: self.bias.map_or(DevPtr::NULL, at) }
    }

    /// Returns the problem with the factors of this run.
    fn problem(&self, scalars: &[Scalar]) -> Matmul {
        let alpha = self.scale.value(scalars, self.dtype);
        let beta = self.addend.map_or([0.0; 2], |(_, factor)| factor.value(scalars, self.dtype));
        Matmul { alpha, beta, ..self.problem }
    }
}

impl Routine for Product {
    fn submit(&self, gpu: &Gpu, run: Run, _: DevPtr, stream: &Stream) -> Result<()> {
        let (problem, operands) = (self.problem(run.scalars), self.operands(run.buffers));
        gpu.with_blas(|blas, workspace| {
            // SAFETY: the plan's buffers are live for the run and have the shapes of the problem.
            unsafe { blas.matmul(&problem, &operands, workspace, stream) }
        })
    }

    fn same_arguments(&self, one: Run, other: Run) -> bool {
        self.operands(one.buffers) == self.operands(other.buffers)
            && self.problem(one.scalars) == self.problem(other.scalars)
    }
}

/// A program's buffer or scratch, and an offset in bytes.
type Location = (Arg, i64);

/// A product within another routine, of row-major float32 or float64 matrices: location, extents and row stride of each
/// operand. The result is stored, or with `minus` subtracted from `c`.
pub(super) struct Update {
    pub(super) dtype: DType,
    pub(super) a: (Location, [u64; 2], i64),
    pub(super) b: (Location, [u64; 2], i64),
    pub(super) c: (Location, i64),
    pub(super) minus: bool,
}

impl Update {
    fn problem(&self) -> Matmul {
        let matrix =
            |[rows, cols]: [u64; 2], row_stride: i64| Matrix { rows, cols, row_stride, col_stride: 1, batch_stride: 0 };
        let (a, b) = (matrix(self.a.1, self.a.2), matrix(self.b.1, self.b.2));
        let dtype = if self.dtype == DType::F64 { MatmulType::F64 } else { MatmulType::F32 };
        let c = matrix([a.rows, b.cols], self.c.1);
        let (alpha, beta) = if self.minus { ([-1.0, 0.0], [1.0, 0.0]) } else { ([1.0, 0.0], [0.0; 2]) };
        Matmul { a, b, c, alpha, beta, ..Matmul::row_major(dtype, a.rows, a.cols, b.cols) }
    }

    fn operands(&self, run: Run) -> Operands {
        let at = |(arg, bytes): Location| run.address(arg).offset(bytes);
        let c = at(self.c.0);
        Operands { a: at(self.a.0), b: at(self.b.0), c, addend: c, bias: DevPtr::NULL }
    }
}

impl Routine for Update {
    fn submit(&self, gpu: &Gpu, run: Run, _: DevPtr, stream: &Stream) -> Result<()> {
        gpu.with_blas(|blas, workspace| {
            // SAFETY: the scratch and the buffers are live for the run and have the sizes of the plan.
            unsafe { blas.matmul(&self.problem(), &self.operands(run), workspace, stream) }
        })
    }

    fn same_arguments(&self, one: Run, other: Run) -> bool {
        self.operands(one) == self.operands(other)
    }
}

impl fmt::Display for Update {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ([m, k], n) = (self.a.1, self.b.1[1]);
        write!(f, "{}: {}({m} × {k}) · ({k} × {n})", library_name("cuBLASLt"), if self.minus { "-" } else { "" })
    }
}

impl fmt::Display for Product {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Matmul { a, b, batch, .. } = &self.problem;
        let epilogue = &self.epilogue;
        let library = library_name("cuBLASLt");
        write!(f, "{library}: ({} × {}) · ({} × {}){epilogue}, batch {batch}", a.rows, a.cols, b.rows, b.cols)
    }
}
