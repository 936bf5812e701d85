//! Products of sparse matrices with dense ones by cuSPARSE.

use std::fmt;

use cuprous_core::routine::sparse_starts;
use cuprous_core::{DType, LayoutRef, RoutineOp};
use cuprous_plan::RoutineCall;

use super::{Routine, Run};
use crate::cusparse::{Element, SparseOperands, SparseProduct};
use crate::driver::{DevPtr, Stream, library_name};
use crate::error::Result;
use crate::gpu::Gpu;

/// One product with a sparse matrix; operands as (buffer, byte offset).
pub(super) struct Product {
    problem: SparseProduct,
    values: (u32, u64),
    pattern: (u32, u64),
    /// Bytes from the start of a pattern to its column indices.
    columns: u64,
    dense: (u32, u64),
    out: u32,
}

/// Plans a product with a sparse matrix. `None` for other routines and dtypes.
pub(super) fn product(call: &RoutineCall) -> Option<Product> {
    let RoutineOp::SparseDot { transposed } = call.op else { return None };
    let [(_, values), (_, pattern), (_, dense)] = call.ins.as_slice() else { return None };
    let out = &call.out.1;
    let element = match out.dtype {
        DType::F32 => Element::F32,
        DType::F64 => Element::F64,
        DType::C64 => Element::C64,
        DType::C128 => Element::C128,
        _ => return None,
    };
    let (rows, columns) = if transposed { (dense.shape[0], out.shape[0]) } else { (out.shape[0], dense.shape[0]) };
    let at = |k: usize| {
        let (buffer, layout): &(u32, LayoutRef) = &call.ins[k];
        (*buffer, layout.offset as u64 * layout.dtype.size() as u64)
    };
    let problem = SparseProduct {
        element,
        wide_index: pattern.dtype == DType::I64,
        rows,
        columns,
        count: values.size,
        transposed,
        width: out.shape[1],
    };
    let columns = sparse_starts(rows) as u64 * pattern.dtype.size() as u64;
    Some(Product { problem, values: at(0), pattern: at(1), columns, dense: at(2), out: call.out.0 })
}

impl Product {
    fn operands(&self, run: Run) -> SparseOperands {
        let at = |(buffer, offset): (u32, u64)| DevPtr(run.buffers[buffer as usize] + offset);
        let starts = at(self.pattern);
        let columns = DevPtr(starts.0 + self.columns);
        SparseOperands { starts, columns, values: at(self.values), dense: at(self.dense), out: at((self.out, 0)) }
    }
}

impl Routine for Product {
    fn workspace(&self, gpu: &Gpu) -> Result<usize> {
        gpu.with_sparse(|sparse| sparse.workspace(&self.problem))
    }

    fn submit(&self, gpu: &Gpu, run: Run, workspace: DevPtr, stream: &Stream) -> Result<()> {
        let operands = self.operands(run);
        gpu.with_sparse(|sparse| {
            // SAFETY: the plan's buffers are live for the run and have the shapes of the problem. Patterns are checked
            // when they are created.
            unsafe { sparse.run(&self.problem, &operands, workspace, stream) }
        })
    }

    fn same_arguments(&self, one: Run, other: Run) -> bool {
        self.operands(one) == self.operands(other) && one.scratch == other.scratch
    }
}

impl fmt::Display for Product {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SparseProduct { rows, columns, count, width, transposed, .. } = self.problem;
        let transposed = if transposed { "ᵀ" } else { "" };
        let library = library_name("cuSPARSE");
        write!(f, "{library}: ({rows} × {columns}, {count} values){transposed} · {width} columns")
    }
}
