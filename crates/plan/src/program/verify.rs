//! The rules of programs and kernels, as code. Every plan is checked against them where debug assertions are on: in the
//! build that tests run.

use std::collections::HashMap;

use cuprous_core::{DType, RoutineOp};

use super::{Addend, Assignment, Epilogue, Inst, Kernel, LaunchStep, Level, Program, RoutineCall, Step};

/// Checks a program.
///
/// # Errors
/// The first rule that the program breaks.
pub fn check(program: &Program) -> Result<(), String> {
    for (s, step) in program.steps.iter().enumerate() {
        for kernel in step.kernels() {
            check_kernel(kernel, program).map_err(|fault| format!("step {s}: {fault}\n{kernel:#?}"))?;
        }
        if let Step::Routine(call) = step {
            check_routine(call, program).map_err(|fault| format!("step {s}: {fault}\n{call:#?}"))?;
        }
        if let Step::Launch(launched) = step {
            check_launch(launched, program).map_err(|fault| format!("step {s}: {fault}\n{launched:#?}"))?;
        }
        if let Step::Pack(kernels) = step {
            check_pack(kernels).map_err(|fault| format!("step {s}: {fault}\n{kernels:#?}"))?;
        }
    }
    for b in &program.buffers {
        if let Assignment::Arena(offset) = b.assignment
            && (offset == usize::MAX || offset.saturating_add(b.bytes) > program.arena_bytes)
        {
            return Err(format!("an arena buffer of {} bytes at {offset} lies outside the arena", b.bytes));
        }
    }
    Ok(())
}

fn check_launch(launched: &LaunchStep, program: &Program) -> Result<(), String> {
    let block = launched.constants.len() * 16;
    if launched.constants.end as usize > program.scalars {
        return Err(format!("the arguments are constants {:?} of {}", launched.constants, program.scalars));
    }
    for &(at, buffer, offset) in &launched.arrays {
        let bytes = program.buffers[buffer as usize].bytes as u64;
        if at as usize + 8 > block || offset >= bytes {
            return Err(format!("an address at {at} of {block} bytes, to byte {offset} of {bytes}"));
        }
    }
    Ok(())
}

fn check_pack(kernels: &[Kernel]) -> Result<(), String> {
    if kernels.len() < 2 || kernels.iter().any(Kernel::reduces) {
        return Err("a pack must have several maps".into());
    }
    // The kernel that touched each buffer first, and whether any kernel has written it.
    let mut seen: HashMap<u32, (usize, bool)> = HashMap::new();
    for (k, kernel) in kernels.iter().enumerate() {
        let mut fault = None;
        kernel.touches(|buffer, writes| {
            let (by, written) = *seen.entry(buffer).or_insert((k, writes));
            if by != k && (written || writes) {
                fault = Some(format!("kernels {by} and {k} of a pack share buffer {buffer}, which one writes"));
            }
        });
        if let Some(fault) = fault {
            return Err(fault);
        }
    }
    Ok(())
}

fn check_routine(call: &RoutineCall, program: &Program) -> Result<(), String> {
    let (buffer, out) = &call.out;
    if !out.identity {
        return Err("the output is not contiguous from its buffer's start".into());
    }
    for (b, layout) in call.reads().chain([&call.out]) {
        let bytes = program.buffers[*b as usize].bytes as i64;
        if let Some((lo, hi)) = layout.span()
            && (lo < 0 || (hi + 1) * layout.dtype.size() as i64 > bytes)
        {
            return Err(format!("an operand reaches elements {lo}..={hi} of {bytes} bytes"));
        }
    }
    let Epilogue { addend, bias, .. } = &call.epilogue;
    if call.ins.iter().chain(bias).any(|(b, _)| b == buffer) {
        return Err("the output is an operand of the routine".into());
    }
    if call.epilogue.is_none() {
        return Ok(());
    }
    if call.op != RoutineOp::Dot || !(out.dtype.is_float() || out.dtype.is_complex()) {
        return Err("only matmuls of floats or complex numbers have an epilogue".into());
    }
    if let Some(Addend { array: (b, layout), .. }) = addend {
        let in_place = b != buffer || layout.id == out.id;
        if layout.dtype != out.dtype || layout.shape != out.shape || !layout.is_c_contiguous() || !in_place {
            return Err("the addend is not an array like the output, or overlaps it".into());
        }
    }
    if let Some((_, layout)) = bias {
        let columns = [out.shape[out.ndim() - 1]];
        let quick = matches!(out.dtype, DType::F32 | DType::F16 | DType::BF16);
        if !quick || layout.dtype != out.dtype || layout.shape[..] != columns || layout.strides[..] != [1] {
            return Err("the bias is not one value for each column".into());
        }
    }
    for slot in call.epilogue.factors().filter_map(|f| f.constant) {
        if slot as usize >= program.scalars || !program.nonzero.contains(&(slot, out.dtype)) {
            return Err(format!("the factor {slot} is not a constant that is never zero"));
        }
    }
    Ok(())
}

fn check_kernel(kernel: &Kernel, program: &Program) -> Result<(), String> {
    let reduces = kernel.reduces();
    if kernel.inner.is_empty() == reduces {
        return Err("inner axes are present exactly if there is a reduction".into());
    }
    if kernel.outer.contains(&0) || kernel.inner.contains(&0) {
        return Err("empty work is never planned".into());
    }
    let (outer, all) = (kernel.outer.len(), kernel.outer.len() + kernel.inner.len());
    let scatters = kernel.body.iter().filter(|t| matches!(t.inst, Inst::Scatter { .. })).count();
    let stores = kernel.body.iter().filter(|t| matches!(t.inst, Inst::Store { .. })).count();
    if scatters > 1 || (scatters == 1 && stores > 0) {
        return Err("a scatter must be alone in its kernel".into());
    }
    for (i, t) in kernel.body.iter().enumerate() {
        let mut fault = None;
        t.inst.operands(|v| {
            if v as usize >= i {
                fault = Some(format!("instruction {i} uses value {v} before it is computed"));
            } else if t.level == Level::Row
                && kernel.body[v as usize].level == Level::Full
                && !matches!(t.inst, Inst::Reduce { .. })
            {
                fault = Some(format!("row-level instruction {i} uses the full-level value {v}"));
            }
        });
        if let Some(fault) = fault {
            return Err(fault);
        }
        if !reduces && t.level == Level::Row {
            return Err(format!("instruction {i} is row-level in a kernel without rows"));
        }
        if let Inst::Reduce { .. } = t.inst
            && t.level != Level::Row
        {
            return Err(format!("reduction {i} is not row-level"));
        }
        if let Some(access) = t.inst.access() {
            let want = if t.level == Level::Row { outer } else { all };
            if access.strides.len() != want {
                return Err(format!("instruction {i} has {} strides for {want} axes", access.strides.len()));
            }
        }
        let buffer = match t.inst {
            Inst::Load { buf, .. } | Inst::Store { buf, .. } => Some(buf),
            _ => None,
        };
        if let (Some(buf), Some(access)) = (buffer, t.inst.access()) {
            let extents = kernel.outer.iter().chain(&kernel.inner);
            let (mut lo, mut hi) = (access.offset, access.offset);
            for (&n, &s) in extents.zip(&access.strides) {
                let reach = (n.max(1) - 1) * s;
                if reach < 0 { lo += reach } else { hi += reach }
            }
            let bytes = program.buffers[kernel.buffers[buf as usize] as usize].bytes as i64;
            if kernel.inner_size() > 0 && (lo < 0 || (hi + 1) * t.dtype.size() as i64 > bytes) {
                return Err(format!("instruction {i} reaches elements {lo}..={hi} of {bytes} bytes"));
            }
        }
    }
    Ok(())
}
