//! Compiles programs: generates the code of their steps, compiles what is new, loads it and binds the arguments.

use std::sync::Arc;

use cuprous_plan::{Program, Step};

use crate::codegen::{self, Arch, Options, Stage};
use crate::error::Result;
use crate::gpu::Gpu;
use crate::modules::load;
use crate::routines::{self, Planned};
use crate::run::CudaProgram;

/// Plans one step of a program: its kernels and library routines.
pub(crate) fn plan_step(arch: Arch, program: &Program, step: &Step) -> Result<Planned> {
    let options = Options { aligned: program.aligned, ..Options::default() };
    Ok(match step {
        Step::Kernel(kernel) => codegen::generate(kernel, arch, options).into(),
        Step::Pack(kernels) => codegen::generate_pack(kernels, arch, options).into(),
        Step::Routine(call) => routines::plan(call, arch, options)?,
        // A user's kernel was compiled when it was created.
        Step::Launch(_) => Planned::default(),
    })
}

/// Compiles and loads a program.
pub(crate) fn compile(gpu: &Arc<Gpu>, program: &Arc<Program>) -> Result<CudaProgram> {
    gpu.context.make_current()?;
    let planned = program.steps.iter().map(|s| plan_step(gpu.arch, program, s)).collect::<Result<Vec<_>>>()?;
    let stages: Vec<&Stage> = planned.iter().flat_map(|p| &p.kernels.stages).collect();
    let functions = load(gpu, &stages, &mut |_, _| ())?;
    let mut functions = &functions[..];
    let mut compiled = CudaProgram::new(gpu.clone());
    for (step, planned) in program.steps.iter().zip(planned) {
        if let Step::Launch(launched) = step {
            compiled.push_launch(launched)?;
            continue;
        }
        let (own, rest) = functions.split_at(planned.kernels.stages.len());
        functions = rest;
        compiled.push(planned, own)?;
    }
    compiled.create_early_marks(program)?;
    Ok(compiled)
}

/// Compiles all kernels of several programs at once. Steps that cannot be planned are left out. `progress` is called
/// with the number of kernels that are done and the number of all.
pub(crate) fn prepare(gpu: &Gpu, programs: &[Arc<Program>], progress: &mut dyn FnMut(usize, usize)) -> Result<()> {
    gpu.context.make_current()?;
    let steps = programs.iter().flat_map(|program| program.steps.iter().map(move |step| (program, step)));
    let planned: Vec<Planned> = steps.filter_map(|(program, step)| plan_step(gpu.arch, program, step).ok()).collect();
    let mut stages: Vec<&Stage> = planned.iter().flat_map(|p| &p.kernels.stages).collect();
    // The longest kernels take seconds to compile, so they begin first.
    stages.sort_by_key(|stage| std::cmp::Reverse(stage.code.len()));
    load(gpu, &stages, progress).map(drop)
}

#[cfg(test)]
#[path = "compile_tests.rs"]
mod tests;
