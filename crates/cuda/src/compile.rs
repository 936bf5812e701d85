//! From a program to launches: generate, compile what is new (in parallel), load, and lay out the arguments.

use std::collections::{HashMap, HashSet};
use std::ffi::CString;
use std::fmt::Write;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, mpsc};

use cuprous_plan::{Program, Step};

use crate::cache::CacheKey;
use crate::codegen::{self, Arch, Options, Stage};
use crate::device::{Counters, Gpu};
use crate::driver::{Function, Module};
use crate::error::Result;
use crate::nvrtc::{self, CompileOptions};
use crate::routines::{self, Planned};
use crate::run::Loaded;

/// Functions by source, each loaded once for the life of the process.
#[derive(Default)]
pub(crate) struct Modules {
    loaded: Mutex<HashMap<String, (Function, Module)>>,
}

fn options(program: &Program) -> Options {
    Options { aligned: program.aligned, ..Options::default() }
}

pub(crate) fn plan_step(arch: Arch, program: &Program, step: &Step) -> Result<Planned> {
    let options = options(program);
    Ok(match step {
        Step::Kernel(kernel) => codegen::generate(kernel, arch, options).into(),
        Step::Pack(kernels) => codegen::generate_pack(kernels, arch, options).into(),
        Step::Routine(call) => routines::plan(call, arch, options)?,
        // It has been compiled.
        Step::Launch(_) => Planned::default(),
    })
}

/// Compiles and loads a program.
pub(crate) fn compile(gpu: &Arc<Gpu>, program: &Arc<Program>) -> Result<Loaded> {
    gpu.context.make_current()?;
    let planned = program.steps.iter().map(|s| plan_step(gpu.arch, program, s)).collect::<Result<Vec<_>>>()?;
    let stages: Vec<&Stage> = planned.iter().flat_map(|p| &p.kernels.stages).collect();
    let functions = load(gpu, &stages, &mut |_, _| ())?;
    let mut functions = &functions[..];
    let mut loaded = Loaded::new(gpu.clone());
    for (step, planned) in program.steps.iter().zip(planned) {
        if let Step::Launch(launched) = step {
            loaded.push_user(launched)?;
            continue;
        }
        let (own, rest) = functions.split_at(planned.kernels.stages.len());
        functions = rest;
        loaded.push(planned, own)?;
    }
    loaded.mark_early(program)?;
    Ok(loaded)
}

/// Compiles all kernels of some programs at once; what cannot be planned is left out.
pub(crate) fn prepare(gpu: &Gpu, programs: &[Arc<Program>], told: &mut dyn FnMut(usize, usize)) -> Result<()> {
    gpu.context.make_current()?;
    let steps = programs.iter().flat_map(|program| program.steps.iter().map(move |step| (program, step)));
    let planned: Vec<Planned> = steps.filter_map(|(program, step)| plan_step(gpu.arch, program, step).ok()).collect();
    let mut stages: Vec<&Stage> = planned.iter().flat_map(|p| &p.kernels.stages).collect();
    // The longest take seconds: none of them should be the last to begin.
    stages.sort_by_key(|stage| std::cmp::Reverse(stage.code.len()));
    load(gpu, &stages, told).map(drop)
}

pub(crate) fn compile_options(target: &str) -> CompileOptions {
    let mut nvrtc_options = CompileOptions::new(target);
    for flag in Options::default().compiler_flags() {
        match flag.strip_prefix("--fmad=") {
            Some(value) => nvrtc_options.fmad = value == "true",
            None => nvrtc_options.extra.push((*flag).into()),
        }
    }
    nvrtc_options
}

/// Functions of some stages, compiled in parallel where they are not known yet; `told` hears how many of how many are.
fn load(gpu: &Gpu, stages: &[&Stage], told: &mut dyn FnMut(usize, usize)) -> Result<Vec<Function>> {
    let sources: Vec<String> = stages.iter().map(|s| s.source()).collect();
    let mut missing: Vec<usize> = Vec::new();
    {
        let loaded = gpu.modules.loaded.lock().unwrap_or_else(|e| e.into_inner());
        let mut seen = HashSet::new();
        missing.extend((0..sources.len()).filter(|&k| !loaded.contains_key(&sources[k]) && seen.insert(&sources[k])));
    }
    let options = compile_options(&gpu.target);
    let cubins = in_parallel(&missing, |&k| cubin(gpu, &sources[k], &stages[k].name, &options), told);
    let mut loaded = gpu.modules.loaded.lock().unwrap_or_else(|e| e.into_inner());
    for (&k, cubin) in missing.iter().zip(cubins) {
        let module = Module::load(gpu.context, &cubin?)?;
        let name = CString::new(stages[k].name.as_str()).unwrap_or_default();
        let function = module.function(&name)?;
        loaded.insert(sources[k].clone(), (function, module));
    }
    stages
        .iter()
        .zip(&sources)
        .map(|(stage, source)| {
            let function = loaded[source].0;
            // Beyond 48 KiB, the kernel's own included, it must be asked for.
            if stage.shared > 16 << 10 {
                function.set_max_dynamic_shared(stage.shared)?;
            }
            Ok(function)
        })
        .collect()
}

/// What `work` makes of each, on all processors; `told` hears how many of how many are done.
fn in_parallel<T: Sync, R: Send>(
    items: &[T],
    work: impl Fn(&T) -> R + Sync,
    told: &mut dyn FnMut(usize, usize),
) -> Vec<R> {
    if items.len() < 2 {
        return items.iter().map(work).collect();
    }
    let next = AtomicUsize::new(0);
    let (done, finished) = mpsc::channel();
    let workers = std::thread::available_parallelism().map_or(4, |n| n.get()).min(items.len());
    std::thread::scope(|scope| {
        for _ in 0..workers {
            let (done, next, work) = (done.clone(), &next, &work);
            scope.spawn(move || {
                loop {
                    let at = next.fetch_add(1, Relaxed);
                    let Some(item) = items.get(at) else { break };
                    let _nobody_left_to_hear = done.send((at, work(item)));
                }
            });
        }
        drop(done);
        let mut results: Vec<(usize, R)> = Vec::with_capacity(items.len());
        for result in finished {
            results.push(result);
            told(results.len(), items.len());
        }
        results.sort_by_key(|(at, _)| *at);
        results.into_iter().map(|(_, result)| result).collect()
    })
}

/// Device code of a source: from memory or disk, else compiled.
pub(crate) fn cubin(gpu: &Gpu, source: &str, name: &str, options: &CompileOptions) -> Result<Arc<[u8]>> {
    let key = CacheKey::new(source, options, &nvrtc::identity()?);
    if let Some(cubin) = gpu.cache.get(&key) {
        Counters::add(&gpu.counters.kernels_from_disk, 1);
        return Ok(cubin);
    }
    Counters::add(&gpu.counters.kernels_compiled, 1);
    // A device newer than NVRTC gets code for the newest target that NVRTC knows.
    let options = CompileOptions { arch: nvrtc::best_arch((gpu.arch.major, gpu.arch.minor))?, ..options.clone() };
    let cubin = nvrtc::compile(source, name, &options)?.cubin;
    gpu.cache.put(&key, &cubin);
    Ok(cubin.into())
}

/// A readable listing of a program's code.
pub(crate) fn source(arch: Arch, program: &Program) -> String {
    let mut text = String::new();
    for (k, step) in program.steps.iter().enumerate() {
        let _ = writeln!(text, "// --- step {} of {}", k + 1, program.steps.len());
        if let Step::Launch(launched) = step {
            let _ = writeln!(text, "// {:?}\n{}", launched.launch, launched.launch.kernel.source());
            continue;
        }
        let _ = match plan_step(arch, program, step) {
            Ok(Planned { kernels, routines }) => {
                routines.iter().for_each(|(_, routine)| text.push_str(&format!("// {routine}\n")));
                writeln!(text, "{kernels}")
            }
            Err(error) => writeln!(text, "// {error}\n"),
        };
    }
    text
}

#[cfg(test)]
#[path = "compile_tests.rs"]
mod tests;
