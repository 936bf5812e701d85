//! The kernel IR's rules, as a program: every plan is checked against them in debug builds and in the tests.

use std::collections::HashMap;

use crate::kernel::{Inst, Kernel, Level};
use crate::program::{Place, Program, Step};

/// The first rule that a program breaks, in words.
pub fn check(program: &Program) -> Result<(), String> {
    for (s, step) in program.steps.iter().enumerate() {
        for kernel in step.kernels() {
            check_kernel(kernel, program).map_err(|fault| format!("step {s}: {fault}\n{kernel:#?}"))?;
        }
        if let Step::Pack(kernels) = step {
            check_pack(kernels).map_err(|fault| format!("step {s}: {fault}\n{kernels:#?}"))?;
        }
    }
    for b in &program.buffers {
        if let Place::Arena(offset) = b.place
            && (offset == usize::MAX || offset + b.bytes > program.arena_bytes)
        {
            return Err(format!("an arena buffer of {} bytes at {offset} was not placed", b.bytes));
        }
    }
    Ok(())
}

fn check_pack(kernels: &[Kernel]) -> Result<(), String> {
    if kernels.len() < 2 || kernels.iter().any(Kernel::reduces) {
        return Err("a pack is of several maps".into());
    }
    // Who has touched each buffer so far, and whether anybody wrote it.
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

fn check_kernel(kernel: &Kernel, program: &Program) -> Result<(), String> {
    let reduces = kernel.reduces();
    if kernel.inner.is_empty() == reduces {
        return Err("inner axes stand exactly where something is folded".into());
    }
    if kernel.outer.contains(&0) || kernel.inner.contains(&0) {
        return Err("empty work is never planned".into());
    }
    let (outer, all) = (kernel.outer.len(), kernel.outer.len() + kernel.inner.len());
    let scatters = kernel.body.iter().filter(|t| matches!(t.inst, Inst::Scatter { .. })).count();
    let stores = kernel.body.iter().filter(|t| matches!(t.inst, Inst::Store { .. })).count();
    if scatters > 1 || (scatters == 1 && stores > 0) {
        return Err("a scatter stands alone".into());
    }
    for (i, t) in kernel.body.iter().enumerate() {
        let mut fault = None;
        t.inst.operands(|v| {
            if v as usize >= i {
                fault = Some(format!("instruction {i} uses value {v} before it is made"));
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
