//! From a program to launches: generate, compile what is new (in parallel), load, and lay out the arguments.

use std::collections::HashMap;
use std::ffi::CString;
use std::fmt::Write;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};

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
        Step::Call(call) => routines::plan(call, arch, options)?,
        // It has been compiled.
        Step::Launch(_) => Planned::default(),
    })
}

/// Compiles and loads a program.
pub(crate) fn compile(gpu: &Arc<Gpu>, program: &Arc<Program>) -> Result<Loaded> {
    gpu.context.make_current()?;
    let planned = program.steps.iter().map(|s| plan_step(gpu.arch, program, s)).collect::<Result<Vec<_>>>()?;
    let stages: Vec<&Stage> = planned.iter().flat_map(|p| &p.kernels.stages).collect();
    let functions = load(gpu, &stages)?;
    let mut functions = &functions[..];
    let mut loaded = Loaded::new(gpu.clone(), program.steps.len());
    for (step, planned) in program.steps.iter().zip(planned) {
        if let Step::Launch(launched) = step {
            loaded.push_user(launched)?;
            continue;
        }
        let (own, rest) = functions.split_at(planned.kernels.stages.len());
        functions = rest;
        loaded.push(planned, own)?;
    }
    Ok(loaded)
}

/// What one thread made of a source, once it has.
type Compiled = Option<Result<Arc<[u8]>>>;

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

/// Functions of some stages, compiled in parallel where they are not known yet.
fn load(gpu: &Gpu, stages: &[&Stage]) -> Result<Vec<Function>> {
    let sources: Vec<String> = stages.iter().map(|s| s.source()).collect();
    let mut missing: Vec<usize> = Vec::new();
    {
        let loaded = gpu.modules.loaded.lock().unwrap_or_else(|e| e.into_inner());
        for (k, source) in sources.iter().enumerate() {
            if !loaded.contains_key(source) && !missing.iter().any(|&m| sources[m] == *source) {
                missing.push(k);
            }
        }
    }
    let options = compile_options(&gpu.target);
    let one = |k: usize| cubin(gpu, &sources[k], &stages[k].name, &options);
    let cubins: Vec<Result<Arc<[u8]>>> = if missing.len() < 2 {
        missing.iter().map(|&k| one(k)).collect()
    } else {
        let next = std::sync::atomic::AtomicUsize::new(0);
        let results: Vec<Mutex<Compiled>> = missing.iter().map(|_| Mutex::default()).collect();
        let workers = std::thread::available_parallelism().map_or(4, |n| n.get()).min(missing.len());
        std::thread::scope(|scope| {
            for _ in 0..workers {
                scope.spawn(|| {
                    loop {
                        let at = next.fetch_add(1, Relaxed);
                        let Some(&k) = missing.get(at) else { break };
                        *results[at].lock().unwrap_or_else(|e| e.into_inner()) = Some(one(k));
                    }
                });
            }
        });
        results
            .into_iter()
            .map(|r| r.into_inner().unwrap_or_else(|e| e.into_inner()).expect("every source was taken"))
            .collect()
    };
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
