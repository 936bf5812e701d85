//! Compiles programs: generates the code of their steps, compiles what is new, loads it and binds the arguments.

use std::sync::Arc;
use std::time::Instant;

use cuprous_plan::{Program, Step};

use crate::codegen::{self, Arch, Options, Stage};
use crate::error::Result;
use crate::gpu::{Counters, Gpu};
use crate::modules::load;
use crate::progress::Progress;
use crate::routines::{self, Planned};
use crate::run::CudaProgram;
use crate::templates;

fn options(program: &Program) -> Options {
    Options { aligned: program.aligned, ..Options::default() }
}

/// Plans one step of a program: its kernels and library routines.
///
/// Without a GPU, libraries that may lack the problem are taken to lack it.
pub(crate) fn plan_step(arch: Arch, gpu: Option<&Gpu>, program: &Program, step: &Step) -> Result<Planned> {
    match step {
        Step::Kernel(kernel) => Ok(codegen::generate(kernel, arch, options(program)).into()),
        Step::Pack(kernels) => Ok(codegen::generate_pack(kernels, arch, options(program)).into()),
        Step::Routine(call) => routines::plan(call, arch, options(program), gpu),
        // A user's kernel was compiled when it was created.
        Step::Launch(_) => Ok(Planned::default()),
    }
}

/// Returns true for steps that are generated code alone.
fn is_generated(step: &Step) -> bool {
    match step {
        Step::Kernel(_) | Step::Pack(_) => true,
        Step::Routine(call) => codegen::is_always_generated(call),
        Step::Launch(_) => false,
    }
}

/// Compiles and loads a program.
pub(crate) fn compile(gpu: &Arc<Gpu>, program: &Arc<Program>) -> Result<CudaProgram> {
    gpu.context.make_current()?;
    let start = Instant::now();
    let planned = {
        let steps: Vec<&Step> = program.steps.iter().filter(|step| is_generated(step)).collect();
        let generate = |step: &Step| plan_step(gpu.arch, None, program, step).map(|planned| planned.kernels);
        let mut generated = templates::generated(&gpu.templates, program.aligned, &steps, generate)?.into_iter();
        let plan = |step: &Step| match step {
            _ if is_generated(step) => Ok(generated.next().unwrap_or_default().into()),
            _ => plan_step(gpu.arch, Some(gpu), program, step),
        };
        program.steps.iter().map(plan).collect::<Result<Vec<_>>>()?
    };
    let stages: Vec<&Stage> = planned.iter().flat_map(|p| &p.kernels.stages).collect();
    Counters::add(&gpu.counters.codegen_ns, start.elapsed().as_nanos() as u64);
    Counters::add(&gpu.counters.kernels_generated, stages.len() as u64);
    let mut progress = Progress::new();
    let functions = load(gpu, &stages, &mut |done, all| progress.show(done, all))?;
    drop(progress);
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
    let planned: Vec<Planned> =
        steps.filter_map(|(program, step)| plan_step(gpu.arch, Some(gpu), program, step).ok()).collect();
    let mut stages: Vec<&Stage> = planned.iter().flat_map(|p| &p.kernels.stages).collect();
    // The longest kernels take seconds to compile, so they begin first.
    stages.sort_by_key(|stage| std::cmp::Reverse(stage.code.len()));
    load(gpu, &stages, progress).map(drop)
}

#[cfg(test)]
#[path = "compile_tests.rs"]
mod tests;
