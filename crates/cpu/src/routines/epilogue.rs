//! What follows a matrix product on the way to memory: each operation is rounded by itself as if it were not fused, so
//! that results do not depend on what is fused.

use cuprous_core::{DType, Dims, Fun, Result};
use cuprous_plan::{Access, Addend, Epilogue, Factor, Inst, Kernel, Level, RoutineCall, Typed, Val};
use smallvec::SmallVec;

use super::dot;
use super::operands::View;
use super::workspaces::Workspaces;
use crate::alloc::Block;
use crate::lowered::{self, BoundKernel};
use crate::run::Bindings;
use crate::threads::parallel_for;

/// Bytes of a band of rows, which stays in a cache until it is added.
const BAND: usize = 1 << 18;
/// Longest sums for which a product is computed band by band. Beyond, the product takes much longer than the addition,
/// and is faster in larger blocks.
const MAX_BAND_K: i64 = 128;

/// The part of a product's epilogue that kernels compute.
pub(crate) struct ProductEpilogue {
    /// For all rows; or for those of a band, and those of the last one.
    kernels: [Vec<BoundKernel>; 2],
    /// Rows of a band: all, unless the output holds the addend.
    band: usize,
    /// The product is in memory of its own, because the output holds the addend. Kernels find it after the program's
    /// buffers.
    in_place: bool,
    /// The product is computed without its factor.
    scales: bool,
}

impl ProductEpilogue {
    /// Returns the epilogue of a product in a program of that many buffers. `None` if nothing is left for kernels.
    pub(crate) fn new(call: &RoutineCall, buffers: u32) -> Result<Option<ProductEpilogue>> {
        let (Epilogue { scale, addend, bias }, (to, out)) = (&call.epilogue, &call.out);
        if call.epilogue.is_none() || out.size == 0 {
            return Ok(None);
        }
        let [m, n] = [out.ndim() - 2, out.ndim() - 1].map(|axis| out.shape[axis]);
        let k = call.ins[1].1.shape[out.ndim() - 2];
        let scales = *scale != Factor::default() && !dot::is_scalable(out.dtype, [m, k, n]);
        if addend.is_none() && bias.is_none() && !scales {
            return Ok(None);
        }
        let in_place = addend.as_ref().is_some_and(|addend| addend.array.0 == *to);
        let rows = out.size / n;
        let is_exact = matches!(out.dtype, DType::F32 | DType::F64 | DType::C64 | DType::C128);
        let mut band = rows;
        if in_place && is_exact && rows == m && m > 1 && n > 1 && k <= MAX_BAND_K {
            band = ((BAND / out.dtype.size()) as i64 / n / 8 * 8).max(8);
            // A product of one row is added up in another order.
            while rows % band == 1 {
                band += 8;
            }
            band = band.min(rows);
        }
        let kernel = |rows: i64| -> Result<Vec<BoundKernel>> {
            if rows == 0 {
                return Ok(Vec::new());
            }
            let mut code = Code::new(out.dtype, rows, n, bias.is_some());
            let mut value = code.load(if in_place { buffers } else { *to }, 0, false);
            if scales {
                value = code.scaled(value, *scale);
            }
            if let Some((buffer, layout)) = bias {
                let bias = code.load(*buffer, layout.offset, true);
                value = code.map(Fun::Add, &[value, bias]);
            }
            if let Some(Addend { array: (buffer, layout), factor }) = addend {
                let array = code.load(*buffer, layout.offset, false);
                let array = code.scaled(array, *factor);
                value = code.map(Fun::Add, &[value, array]);
            }
            Ok(lowered::bind(&code.storing(*to, value))?.collect())
        };
        let kernels = [kernel(band)?, kernel(rows % band)?];
        Ok(Some(ProductEpilogue { kernels, band: band as usize, in_place, scales }))
    }

    /// Returns the kernels.
    pub(crate) fn kernels(&self) -> impl Iterator<Item = &BoundKernel> {
        self.kernels.iter().flatten()
    }

    /// Computes a product and its epilogue.
    ///
    /// # Safety
    /// The views are those of the call and in memory, and fit together. The output does not overlap an operand.
    pub(crate) unsafe fn run(&self, call: &RoutineCall, a: View, b: View, out: View, bindings: Bindings) -> Result<()> {
        let (dtype, size) = (out.dtype(), out.dtype().size());
        let scale = if self.scales { 1.0 } else { call.epilogue.scale.value(bindings.scalars, dtype)[0] };
        let finish = |kernels: &[BoundKernel], product: *mut u8, skipped: usize| {
            let mut buffers: SmallVec<[u64; 16]> = bindings.buffers.iter().copied().chain([product as u64]).collect();
            buffers[call.out.0 as usize] += skipped as u64;
            // SAFETY: by this function's contract; the product is in memory.
            kernels.iter().try_for_each(|kernel| unsafe { kernel.run(Bindings { buffers: &buffers, ..bindings }) })
        };
        let n = call.out.1.shape[call.out.1.ndim() - 1] as usize;
        let rows = out.layout.size as usize / n;
        if self.band == rows {
            let block = self.in_place.then(|| Block::new(out.layout.size as usize * size)).transpose()?;
            let base = block.as_ref().map_or(out.base, Block::as_ptr);
            // SAFETY: by this function's contract; the block has the output's size.
            unsafe { dot::dot(a, b, View { base, ..out }, scale)? };
            return finish(&self.kernels[0], base, 0);
        }
        let workspaces = Workspaces::new(|| Block::new(self.band * n * size));
        parallel_for(rows.div_ceil(self.band), |t| {
            let (first, count) = (t * self.band, self.band.min(rows - t * self.band));
            let Some(product) = workspaces.take() else { return };
            // SAFETY: by this function's contract; the workspace has space for the rows of a band.
            unsafe { dot::rows(&a, &b, scale, first, count, product.as_ptr()) };
            let kernels = &self.kernels[usize::from(count < self.band)];
            finish(kernels, product.as_ptr(), first * n * size).unwrap_or_else(|error| workspaces.fail(error));
            workspaces.put_back(product);
        });
        workspaces.finish()
    }
}

/// A kernel in the making over rows and columns. Axes of extent 1 are left out, and both are one unless there is a vector
/// with a value for each column.
struct Code {
    dtype: DType,
    /// The extent of each axis, and the strides of arrays and of vectors along it.
    axes: SmallVec<[(i64, i64, i64); 2]>,
    body: Vec<Typed>,
    buffers: Vec<u32>,
}

impl Code {
    fn new(dtype: DType, rows: i64, n: i64, has_vectors: bool) -> Code {
        let axes = if has_vectors { [(rows, n, 0), (n, 1, 1)] } else { [(rows * n, 1, 0), (1, 1, 0)] };
        let axes = axes.into_iter().filter(|(extent, ..)| *extent != 1).collect();
        Code { dtype, axes, body: Vec::new(), buffers: Vec::new() }
    }

    fn push(&mut self, inst: Inst) -> Val {
        self.body.push(Typed { inst, dtype: self.dtype, level: Level::Full });
        self.body.len() as Val - 1
    }

    fn map(&mut self, fun: Fun, args: &[Val]) -> Val {
        self.push(Inst::Map { fun, args: args.into() })
    }

    fn access(&mut self, buffer: u32, offset: i64, is_vector: bool) -> (u16, Access) {
        let at = self.buffers.iter().position(|b| *b == buffer).unwrap_or(self.buffers.len());
        if at == self.buffers.len() {
            self.buffers.push(buffer);
        }
        let strides = self.axes.iter().map(|&(_, step, along)| if is_vector { along } else { step }).collect();
        (at as u16, Access { offset, strides })
    }

    fn load(&mut self, buffer: u32, offset: i64, is_vector: bool) -> Val {
        let (buf, access) = self.access(buffer, offset, is_vector);
        self.push(Inst::Load { buf, access })
    }

    fn scaled(&mut self, mut value: Val, by: Factor) -> Val {
        if let Some(slot) = by.constant {
            let constant = self.push(Inst::Scalar { slot });
            value = self.map(Fun::Multiply, &[value, constant]);
        }
        if by.negative { self.map(Fun::Negative, &[value]) } else { value }
    }

    fn storing(mut self, to: u32, value: Val) -> Kernel {
        let (buf, access) = self.access(to, 0, false);
        self.push(Inst::Store { buf, access, arg: value });
        let outer = self.axes.iter().map(|a| a.0).collect();
        Kernel { outer, inner: Dims::new(), body: self.body, buffers: self.buffers }
    }
}
