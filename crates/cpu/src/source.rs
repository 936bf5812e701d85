//! The bytecode as text.

use std::fmt::Write;

use cuprous_core::LayoutRef;
use cuprous_core::layout::show;
use cuprous_plan::RoutineCall;

use crate::compile::{BlockOp, BlockOpKind, Mode, Rate};
use crate::lowered::BoundKernel;
use crate::routines::dispatch::Routine;
use crate::routines::epilogue::ProductEpilogue;

/// Formats a kernel: its mode, then one line per operation.
pub(crate) fn kernel(kernel: &BoundKernel) -> String {
    let code = &*kernel.code;
    let mut text = String::new();
    let mode = match code.mode {
        Mode::Rows => "rows",
        Mode::Long => "long rows",
        Mode::Columns => "columns",
    };
    let _ = writeln!(
        text,
        "{mode}, {} x {} elements, tile {} ({} rows), {} bytes of registers",
        code.outer, code.inner, code.tile, code.rows, code.scratch
    );
    let mut section = |title: &str, ops: &[BlockOp]| {
        if !ops.is_empty() {
            let _ = writeln!(text, "  {title}:");
            for op in ops {
                let _ = writeln!(text, "    {}", line(kernel, op));
            }
        }
    };
    section("once", &code.once);
    section("for each row", &code.early);
    for (k, pass) in code.passes.iter().enumerate() {
        section(&format!("pass {k}"), &pass.full);
        section(&format!("for each row after pass {k}"), &pass.rows);
    }
    section("for each row at the end", &code.late);
    text
}

fn line(kernel: &BoundKernel, op: &BlockOp) -> String {
    let name = op.dtype.name();
    let buffer = |buf: &u16| format!("b{}", kernel.buffers[usize::from(*buf)]);
    let rate = match op.rate {
        Rate::Once => "once",
        Rate::Row => "row",
        Rate::Full => "full",
    };
    let defines = format!("v{}: {name} {rate} =", op.val);
    match &op.kind {
        BlockOpKind::Scalar { number } => format!("{defines} scalar {}", kernel.scalars[*number]),
        BlockOpKind::Load { buf, access, copy } => {
            format!("{defines} load {} {access:?}{}", buffer(buf), if *copy { " (copied)" } else { "" })
        }
        BlockOpKind::Iota { access } => format!("{defines} iota {access:?}"),
        BlockOpKind::Map { fun, args, direct, .. } => {
            let args: Vec<_> = args.iter().map(|v| format!("v{v}")).collect();
            let to = direct.as_ref().map_or(String::new(), |(buf, access)| format!(" -> {} {access:?}", buffer(buf)));
            format!("{defines} {}({}){to}", fun.op().name, args.join(", "))
        }
        BlockOpKind::Gather { buf, len, index } => format!("{defines} gather {}[v{index} mod {len}]", buffer(buf)),
        BlockOpKind::Expand { arg } => format!("{defines} expand v{arg}"),
        BlockOpKind::Reduce { reduction, arg } => {
            format!("{defines} {} v{arg}", kernel.code.reductions[*reduction].name)
        }
        BlockOpKind::Store { buf, access, arg } => format!("store {} {access:?} <- v{arg}: {name} {rate}", buffer(buf)),
        BlockOpKind::Scatter { buf, len, index, arg, name: how, .. } => {
            format!("scatter {how} {}[v{index} mod {len}] <- v{arg}: {name} {rate}", buffer(buf))
        }
    }
}

/// Formats a routine: its operation, operands, epilogue and output.
pub(crate) fn routine(routine: &Routine) -> String {
    let RoutineCall { op, ins, out, epilogue } = &routine.call;
    let array = |(buffer, l): &(u32, LayoutRef)| format!("b{buffer}: {}{}", l.dtype.name(), show(&l.shape));
    let ins: Vec<_> = ins.iter().map(array).collect();
    let kernels = routine.epilogue.iter().flat_map(ProductEpilogue::kernels);
    let kernels: String = kernels.map(|bound| format!("epilogue: {}", kernel(bound))).collect();
    format!("{op:?}({}){epilogue} -> {}\n{kernels}", ins.join(", "), array(out))
}
