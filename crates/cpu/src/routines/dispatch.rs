//! Checks routines on whole arrays and calls their implementations.

use cuprous_core::recurrent::Steps;
use cuprous_core::routine::packed_mask;
use cuprous_core::{DType, Error, LayoutRef, LinalgOp, Result, RoutineOp};
use cuprous_plan::RoutineCall;

use crate::routines::epilogue::ProductEpilogue;
use crate::routines::norm::{channels, rows};
use crate::routines::operands::View;
use crate::routines::{
    attention, compact, components, convolve, correlate, dot, fft, linalg, pad, recurrent, scan, search, select, sort,
    sparse, table,
};
use crate::run::Bindings;

/// A checked routine.
pub(crate) struct Routine {
    pub(crate) call: RoutineCall,
    /// What kernels do to a product, if they do anything.
    pub(crate) epilogue: Option<ProductEpilogue>,
}

fn operand_error(call: &RoutineCall, what: &str) -> Error {
    let ins: Vec<_> =
        call.ins.iter().map(|(_, l)| format!("{}{}", l.dtype.name(), cuprous_core::layout::show(&l.shape))).collect();
    Error::value(format!("[{}] {what}: got {}", call.op.name(), ins.join(" and ")))
}

/// Returns true if the three operands and the output of recurrent steps have those sizes and their dtype.
fn has_step_sizes(call: &RoutineCall, of: &Steps, ins: [i64; 3], out: i64) -> bool {
    let sizes = call.ins.iter().map(|(_, l)| l.size).eq(ins) && call.out.1.size == out;
    sizes && call.ins.iter().chain([&call.out]).all(|(_, l)| l.dtype == of.dtype) && recurrent::is_supported(of)
}

impl Routine {
    /// Checks that the routine is supported and its operands fit.
    pub(crate) fn new(call: &RoutineCall, buffers: usize) -> Result<Routine> {
        if call.reads().chain([&call.out]).any(|(b, _)| *b as usize >= buffers) {
            return Err(Error::runtime(
                "[cpu] internal error: a routine refers to a buffer that the program does not have",
            ));
        }
        let arity = match call.op {
            RoutineOp::Dot | RoutineOp::SearchSorted { .. } | RoutineOp::Correlate { .. } | RoutineOp::Convolve(..) => {
                2
            }
            RoutineOp::Linalg(LinalgOp::Solve) | RoutineOp::JoinMatch { .. } | RoutineOp::JoinPairs { .. } => 2,
            RoutineOp::SparseDot { .. }
            | RoutineOp::RecurBackward(_)
            | RoutineOp::AttendRows(_)
            | RoutineOp::Normalize(_)
            | RoutineOp::NormalizeBackward(_)
            | RoutineOp::ChannelBackward(_)
            | RoutineOp::Steps(_)
            | RoutineOp::StepsBackward(_) => 3,
            _ => 1,
        };
        let optional = match call.op {
            RoutineOp::Compact | RoutineOp::GroupIds { .. } | RoutineOp::ChannelStatistics(_) => 1,
            RoutineOp::GroupAggregate { .. } => 2,
            _ => 0,
        };
        if !(arity..=arity + optional).contains(&call.ins.len()) {
            return Err(operand_error(call, "wrong number of operands"));
        }
        let (a, out) = (&call.ins[0].1, &call.out.1);
        if !out.identity {
            return Err(operand_error(call, "the output is not contiguous"));
        }
        let fits = match &call.op {
            RoutineOp::Dot => {
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
            RoutineOp::Scan { axis, .. } => usize::from(*axis) < a.ndim() && a.shape == out.shape,
            RoutineOp::Sort => a.ndim() >= 1 && a.shape == out.shape && a.dtype == out.dtype,
            RoutineOp::ArgSort => a.ndim() >= 1 && a.shape == out.shape && out.dtype == DType::I64,
            RoutineOp::Partition { kth, indices } => {
                a.ndim() >= 1
                    && a.shape == out.shape
                    && out.dtype == if *indices { DType::I64 } else { a.dtype }
                    && (0..a.shape[a.ndim() - 1]).contains(kth)
            }
            RoutineOp::TopK { .. } => {
                let n = a.ndim();
                n >= 1
                    && out.ndim() == n
                    && a.shape[..n - 1] == out.shape[..n - 1]
                    && out.shape[n - 1] <= a.shape[n - 1]
                    && a.shape[n - 1] < 1 << 31
                    && out.dtype == DType::I64
                    && !a.dtype.is_complex()
            }
            RoutineOp::Select { rank } => {
                let n = a.ndim();
                n >= 1
                    && a.shape[..n - 1] == out.shape[..]
                    && (0..a.shape[n - 1]).contains(rank)
                    && out.dtype == a.dtype
                    && !a.dtype.is_complex()
            }
            RoutineOp::PackMask => {
                a.dtype == DType::Bool
                    && a.ndim() == 1
                    && out.shape[..] == [packed_mask(a.size).0]
                    && out.dtype == DType::I64
            }
            RoutineOp::Compact => {
                let values = call.ins.get(1).map(|b| &b.1);
                a.ndim() == 1
                    && a.dtype == DType::I64
                    && out.ndim() == 1
                    && values.is_none_or(|v| v.ndim() == 1 && packed_mask(v.size).0 == a.size)
                    && out.dtype == values.map_or(DType::I64, |v| v.dtype)
            }
            RoutineOp::SearchSorted { .. } => {
                let b = &call.ins[1].1;
                a.ndim() == 1 && b.dtype == a.dtype && b.shape == out.shape && out.dtype == DType::I64
            }
            RoutineOp::Components { steps } => components::fits(steps, a, out),
            RoutineOp::Correlate { origin, .. } => {
                let w = &call.ins[1].1;
                w.ndim() == a.ndim()
                    && origin.len() == a.ndim()
                    && out.ndim() == a.ndim()
                    && out.dtype == w.dtype
                    && correlate::is_supported(w.dtype)
                    && w.shape.iter().all(|&n| n >= 1)
            }
            RoutineOp::Pad { before, .. } => {
                a.ndim() == out.ndim()
                    && before.len() == a.ndim()
                    && a.dtype == out.dtype
                    && (0..a.ndim()).all(|k| before[k] >= 0 && out.shape[k] >= a.shape[k] + before[k])
            }
            RoutineOp::Fft { kind, axis, rank, .. } => fft::fits(*kind, usize::from(*axis), usize::from(*rank), a, out),
            RoutineOp::Linalg(op) => linalg::fits(*op, a, call.ins.get(1).map(|b| &b.1), out),
            RoutineOp::Convolve(part, geometry) => {
                let b = &call.ins[1].1;
                geometry.shape(*part, &a.shape, &b.shape).is_some_and(|shape| shape == out.shape)
                    && [a.dtype, b.dtype, out.dtype].iter().all(|&d| d == geometry.dtype)
                    && convolve::is_supported(geometry)
            }
            RoutineOp::SparseDot { transposed } => sparse::fits(*transposed, a, &call.ins[1].1, &call.ins[2].1, out),
            RoutineOp::GroupIds { domain } => table::ids::fits(*domain, a, call.ins.get(1).map(|m| &m.1), out),
            RoutineOp::GroupAggregate { functions } => table::aggregate::fits(functions, &call.ins, out),
            RoutineOp::JoinMatch { domain } => table::join::fits_match(*domain, a, &call.ins[1].1, out),
            RoutineOp::JoinPairs { domain, .. } => table::join::fits_pairs(*domain, a, &call.ins[1].1, out),
            // Recorded as single operations on the CPU: see `CpuDevice::supports`.
            RoutineOp::Recur(_) | RoutineOp::RecurBackward(_) | RoutineOp::Attend(_) | RoutineOp::AttendBackward(_) => {
                false
            }
            RoutineOp::AttendRows(_) => attention::fits(a, &call.ins[1].1, &call.ins[2].1, out),
            RoutineOp::Normalize(of) => rows::fits(of, a, &[&call.ins[1].1, &call.ins[2].1], out),
            RoutineOp::NormalizeBackward(of) => rows::fits_backward(of, a, &call.ins[1].1, &call.ins[2].1, out),
            RoutineOp::ChannelStatistics(_) => channels::fits(a, call.ins.get(1).map(|b| &b.1), out),
            RoutineOp::ChannelBackward(_) => channels::fits_backward(a, &call.ins[1].1, &call.ins[2].1, out),
            RoutineOp::Steps(of) => {
                let ([all, one], [.., end]) = (of.sizes(), of.results());
                has_step_sizes(call, of, [4 * all, 4 * of.hidden * of.hidden, 2 * one], end)
            }
            RoutineOp::StepsBackward(of) => {
                let ([all, one], [.., end]) = (of.sizes(), of.results());
                of.training
                    && has_step_sizes(call, of, [4 * of.hidden * of.hidden, end, all + 3 * one], 4 * all + 2 * one)
            }
        };
        if !fits {
            return Err(operand_error(call, "shapes or dtypes do not fit together"));
        }
        Ok(Routine { call: call.clone(), epilogue: ProductEpilogue::new(call, buffers as u32)? })
    }

    /// # Safety
    /// The buffers hold the elements that the layouts describe. The output does not overlap an operand.
    pub(crate) unsafe fn run(&self, bindings: Bindings) -> Result<()> {
        let view = |operand: &(u32, LayoutRef)| bindings.buffers[operand.0 as usize] as *mut u8;
        let of = |k: usize| View { base: view(&self.call.ins[k]), layout: &self.call.ins[k].1 };
        let out = View { base: view(&self.call.out), layout: &self.call.out.1 };
        if out.layout.size == 0 {
            return Ok(());
        }
        // SAFETY: by this function's contract; the shapes were checked.
        unsafe {
            match &self.call.op {
                RoutineOp::Dot => match &self.epilogue {
                    Some(epilogue) => epilogue.run(&self.call, of(0), of(1), out, bindings),
                    None => {
                        dot::dot(of(0), of(1), out, self.call.epilogue.scale.value(bindings.scalars, out.dtype())[0])
                    }
                },
                RoutineOp::Scan { op, axis } => scan::scan(*op, usize::from(*axis), of(0), out),
                RoutineOp::Sort => sort::sort(of(0), out),
                RoutineOp::ArgSort => sort::argsort(of(0), out),
                RoutineOp::Partition { kth, indices: false } => select::partition(*kth as usize, of(0), out),
                RoutineOp::Partition { kth, indices: true } => select::argpartition(*kth as usize, of(0), out),
                RoutineOp::TopK { largest } => select::topk(*largest, of(0), out),
                RoutineOp::Select { rank } => select::select(*rank as usize, of(0), out),
                RoutineOp::PackMask => compact::pack(of(0), out),
                RoutineOp::Compact => compact::compact(of(0), (self.call.ins.len() > 1).then(|| of(1)), out),
                RoutineOp::SearchSorted { right } => search::search(*right, of(0), of(1), out),
                RoutineOp::Components { steps } => components::components(steps, of(0), out),
                RoutineOp::Correlate { edge, constant, origin } => {
                    correlate::correlate(*edge, f64::from_bits(*constant), origin, of(0), of(1), out)
                }
                RoutineOp::Pad { edge, constant, before } => {
                    pad::pad(*edge, f64::from_bits(*constant), before, of(0), out)
                }
                RoutineOp::Fft { kind, axis, rank, scale } => {
                    fft::fft(*kind, usize::from(*axis), usize::from(*rank), *scale, of(0), out)
                }
                RoutineOp::Linalg(op) => {
                    let right = (self.call.ins.len() > 1).then(|| of(1));
                    linalg::run(*op, of(0), right, out)
                }
                RoutineOp::Convolve(part, geometry) => convolve::convolve(*part, geometry, of(0), of(1), out),
                RoutineOp::SparseDot { transposed } => sparse::dot(*transposed, of(0), of(1), of(2), out),
                RoutineOp::AttendRows(rows) => {
                    attention::attend(rows.causal, f64::from_bits(rows.scale), of(0), of(1), of(2), out)
                }
                RoutineOp::Normalize(norm) => rows::normalize(norm, of(0), of(1), of(2), out),
                RoutineOp::NormalizeBackward(norm) => rows::backward(norm, of(0), of(1), of(2), out),
                RoutineOp::ChannelStatistics(norm) => {
                    channels::statistics(norm, of(0), (self.call.ins.len() > 1).then(|| of(1)), out)
                }
                RoutineOp::ChannelBackward(_) => channels::backward(of(0), of(1), of(2), out),
                RoutineOp::GroupIds { domain } => {
                    table::ids::group_ids(*domain, of(0), (self.call.ins.len() > 1).then(|| of(1)), out)
                }
                RoutineOp::GroupAggregate { functions } => {
                    let ins: Vec<View> = (0..self.call.ins.len()).map(of).collect();
                    table::aggregate::aggregate(functions, &ins, out)
                }
                RoutineOp::JoinMatch { domain } => table::join::find(*domain, of(0), of(1), out),
                RoutineOp::JoinPairs { domain, keep_left } => {
                    table::join::pairs(*domain, *keep_left, of(0), of(1), out)
                }
                RoutineOp::Steps(steps) => recurrent::steps(steps, of(0), of(1), of(2), out),
                RoutineOp::StepsBackward(steps) => recurrent::backward(steps, of(0), of(1), of(2), out),
                RoutineOp::Recur(_)
                | RoutineOp::RecurBackward(_)
                | RoutineOp::Attend(_)
                | RoutineOp::AttendBackward(_) => {
                    Err(operand_error(&self.call, "the routine is not supported on the CPU"))
                }
            }
        }
    }
}
