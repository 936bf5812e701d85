//! The bytecode as text.

use std::fmt::Write;

use cuprous_core::LayoutRef;
use cuprous_core::layout::show;
use cuprous_plan::RoutineCall;

use crate::compile::{Code, Mode, Op, Rate, What};
use crate::routines::dispatch::Routine;

/// A kernel: how it walks, then one line an operation.
pub(crate) fn kernel(code: &Code) -> String {
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
    let mut section = |title: &str, ops: &[Op]| {
        if !ops.is_empty() {
            let _ = writeln!(text, "  {title}:");
            for op in ops {
                let _ = writeln!(text, "    {}", line(code, op));
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

fn line(code: &Code, op: &Op) -> String {
    let name = op.dtype.name();
    let buffer = |buf: &u16| format!("b{}", code.buffers[usize::from(*buf)]);
    let rate = match op.rate {
        Rate::Once => "once",
        Rate::Row => "row",
        Rate::Full => "full",
    };
    let makes = format!("v{}: {name} {rate} =", op.val);
    match &op.what {
        What::Scalar { slot } => format!("{makes} scalar {slot}"),
        What::Load { buf, walk, copy } => {
            format!("{makes} load {} {walk:?}{}", buffer(buf), if *copy { " (copied)" } else { "" })
        }
        What::Iota { walk } => format!("{makes} iota {walk:?}"),
        What::Map { fun, args, direct, .. } => {
            let args: Vec<_> = args.iter().map(|v| format!("v{v}")).collect();
            let to = direct.as_ref().map_or(String::new(), |(buf, walk)| format!(" -> {} {walk:?}", buffer(buf)));
            format!("{makes} {}({}){to}", fun.op().name, args.join(", "))
        }
        What::Gather { buf, len, index } => format!("{makes} gather {}[v{index} mod {len}]", buffer(buf)),
        What::Expand { arg } => format!("{makes} expand v{arg}"),
        What::Reduce { fold, arg } => format!("{makes} {} v{arg}", code.folds[*fold].name),
        What::Store { buf, walk, arg } => format!("store {} {walk:?} <- v{arg}: {name} {rate}", buffer(buf)),
        What::Scatter { buf, len, index, arg, name: how, .. } => {
            format!("scatter {how} {}[v{index} mod {len}] <- v{arg}: {name} {rate}", buffer(buf))
        }
    }
}

/// A call: the routine, its operands, what else it does and its output.
pub(crate) fn call(routine: &Routine) -> String {
    let RoutineCall { op, ins, out, epilogue } = &routine.call;
    let array = |(buffer, l): &(u32, LayoutRef)| format!("b{buffer}: {}{}", l.dtype.name(), show(&l.shape));
    let ins: Vec<_> = ins.iter().map(array).collect();
    let before = routine.before.as_ref().map_or(String::new(), |code| format!("before it {}", kernel(code)));
    format!("{op:?}({}){epilogue} -> {}\n{before}", ins.join(", "), array(out))
}
