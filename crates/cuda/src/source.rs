//! Listings of a program's code, for people.

use std::fmt::Write;

use cuprous_plan::{Program, Step};

use crate::codegen::Arch;
use crate::compile::plan_step;
use crate::gpu::Gpu;
use crate::routines::Planned;

/// Returns the code of a program, step by step, for a GPU or for any of its architecture.
pub(crate) fn listing(arch: Arch, gpu: Option<&Gpu>, program: &Program) -> String {
    let mut text = String::new();
    for (k, step) in program.steps.iter().enumerate() {
        let _ = writeln!(text, "// --- step {} of {}", k + 1, program.steps.len());
        if let Step::Launch(launched) = step {
            let _ = writeln!(text, "// {:?}\n{}", launched.launch, launched.launch.kernel.source());
            continue;
        }
        let _ = match plan_step(arch, gpu, program, step) {
            Ok(Planned { kernels, routines }) => {
                routines.iter().for_each(|(_, routine)| text.push_str(&format!("// {routine}\n")));
                writeln!(text, "{kernels}")
            }
            Err(error) => writeln!(text, "// {error}\n"),
        };
    }
    text
}
