//! Calls: routines on whole arrays.

use cuprous_core::{CallOp, DType, Error, LayoutRef, Result};
use cuprous_plan::Call;

use crate::calls::{correlate, dot, pad, scan, search, sort};
use crate::run::Env;

/// A call, checked.
#[derive(Debug)]
pub(crate) struct Routine {
    pub(crate) call: Call,
}

/// An array operand: its memory and layout.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    /// First byte of its buffer.
    pub(crate) base: *mut u8,
    pub(crate) layout: &'a LayoutRef,
}

// SAFETY: a view is an address and a layout; the routines write disjoint parts of outputs only.
unsafe impl Send for View<'_> {}
// SAFETY: as above.
unsafe impl Sync for View<'_> {}

impl View<'_> {
    /// The element at index zero.
    pub(crate) fn origin(&self) -> *mut u8 {
        self.base.wrapping_offset((self.layout.offset * self.layout.dtype.size() as i64) as isize)
    }

    pub(crate) fn dtype(&self) -> DType {
        self.layout.dtype
    }

    pub(crate) fn shape(&self) -> &[i64] {
        &self.layout.shape
    }

    pub(crate) fn strides(&self) -> &[i64] {
        &self.layout.strides
    }
}

fn bad(call: &Call, what: &str) -> Error {
    let ins: Vec<_> =
        call.ins.iter().map(|(_, l)| format!("{}{}", l.dtype.name(), cuprous_core::layout::show(&l.shape))).collect();
    Error::value(format!("[{}] {what}: got {}", call.op.name(), ins.join(" and ")))
}

impl Routine {
    /// Checks that the call is one that the routines can run.
    pub(crate) fn new(call: &Call, buffers: usize) -> Result<Routine> {
        if call.ins.iter().chain([&call.out]).any(|(b, _)| *b as usize >= buffers) {
            return Err(Error::runtime("[cpu] a call names a buffer that the program has not"));
        }
        let arity = match call.op {
            CallOp::Dot | CallOp::SearchSorted { .. } | CallOp::Correlate { .. } => 2,
            _ => 1,
        };
        if call.ins.len() != arity {
            return Err(bad(call, "wrong number of operands"));
        }
        let (a, out) = (&call.ins[0].1, &call.out.1);
        if !out.identity {
            return Err(bad(call, "the output is not contiguous"));
        }
        let fits = match &call.op {
            CallOp::Dot => {
                let b = &call.ins[1].1;
                let n = a.ndim();
                n >= 2
                    && b.ndim() == n
                    && out.ndim() == n
                    && a.dtype == b.dtype
                    && a.dtype == out.dtype
                    && a.shape[n - 1] == b.shape[n - 2]
                    && out.shape[n - 2] == a.shape[n - 2]
                    && out.shape[n - 1] == b.shape[n - 1]
                    && a.shape[..n - 2] == b.shape[..n - 2]
                    && a.shape[..n - 2] == out.shape[..n - 2]
            }
            CallOp::Scan { axis, .. } => usize::from(*axis) < a.ndim() && a.shape == out.shape,
            CallOp::Sort => a.ndim() >= 1 && a.shape == out.shape && a.dtype == out.dtype,
            CallOp::ArgSort => a.ndim() >= 1 && a.shape == out.shape && out.dtype == DType::I64,
            CallOp::SearchSorted { .. } => {
                let b = &call.ins[1].1;
                a.ndim() == 1 && b.dtype == a.dtype && b.shape == out.shape && out.dtype == DType::I64
            }
            CallOp::Correlate { origin, .. } => {
                let w = &call.ins[1].1;
                w.ndim() == a.ndim()
                    && origin.len() == a.ndim()
                    && out.shape == a.shape
                    && out.dtype == w.dtype
                    && matches!(w.dtype, DType::F32 | DType::F64)
                    && w.shape.iter().all(|&n| n >= 1)
            }
            CallOp::Pad { before, .. } => {
                a.ndim() == out.ndim()
                    && before.len() == a.ndim()
                    && a.dtype == out.dtype
                    && (0..a.ndim()).all(|k| before[k] >= 0 && out.shape[k] >= a.shape[k] + before[k])
            }
        };
        if !fits {
            return Err(bad(call, "shapes or dtypes do not fit together"));
        }
        Ok(Routine { call: call.clone() })
    }

    /// # Safety
    /// The buffers hold what the layouts reach; the output overlaps no operand.
    pub(crate) unsafe fn run(&self, env: Env) -> Result<()> {
        let view = |operand: &(u32, LayoutRef)| env.buffers[operand.0 as usize] as *mut u8;
        let of = |k: usize| View { base: view(&self.call.ins[k]), layout: &self.call.ins[k].1 };
        let out = View { base: view(&self.call.out), layout: &self.call.out.1 };
        if out.layout.size == 0 {
            return Ok(());
        }
        // SAFETY: passed on; the shapes were checked.
        unsafe {
            match &self.call.op {
                CallOp::Dot => dot::dot(of(0), of(1), out),
                CallOp::Scan { op, axis } => scan::scan(*op, usize::from(*axis), of(0), out),
                CallOp::Sort => sort::sort(of(0), out),
                CallOp::ArgSort => sort::argsort(of(0), out),
                CallOp::SearchSorted { right } => search::search(*right, of(0), of(1), out),
                CallOp::Correlate { edge, constant, origin } => {
                    correlate::correlate(*edge, f64::from_bits(*constant), origin, of(0), of(1), out)
                }
                CallOp::Pad { edge, constant, before } => {
                    pad::pad(*edge, f64::from_bits(*constant), before, of(0), out)
                }
            }
        }
    }
}
