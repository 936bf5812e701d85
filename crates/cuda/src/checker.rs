//! Compiles what a GPU would run and loads nothing: needs NVRTC and no GPU.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, MutexGuard};

use cuprous_plan::Program;

use crate::cache::{CacheKey, DiskCache};
use crate::codegen::user;
use crate::codegen::{Arch, Part, Stage};
use crate::compile::plan_step;
use crate::error::{CudaError, Result, translate};
use crate::modules;
use crate::nvrtc::{self, CompileOptions};

/// Compiles the code of programs for targets, once each.
///
/// By itself a kernel costs 42 ms of a core, of which 25 are the compiler's start. Kernels may therefore wait until there
/// are enough to be one translation unit: sixteen cost 19 ms each. An error then comes late, but names the test that asked
/// for the kernel.
#[derive(Debug)]
pub struct Checker {
    /// For each the alternatives.
    targets: Vec<Vec<String>>,
    cache: DiskCache,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// Kernels that make a translation unit.
    batch: usize,
    /// The target and source of all that came.
    seen: HashSet<String>,
    /// By target.
    waiting: HashMap<String, Vec<Kernel>>,
}

/// A kernel to compile.
#[derive(Debug)]
struct Kernel {
    stage: Stage,
    /// What pytest says is running.
    test: Option<String>,
}

impl Checker {
    /// A checker for targets: `sm_80,sm_90` for both; `sm_80|sm_90` for one of them, by the code, so that of many kernels
    /// each target gets its share; `compute_90` to PTX only, for a quarter of the time.
    pub fn new(targets: &str) -> Checker {
        let targets = targets.split(',').map(|all| all.split('|').map(str::to_owned).collect()).collect();
        let state = State { batch: 1, seen: HashSet::new(), waiting: HashMap::new() };
        Checker { targets, cache: DiskCache::open_default(), state: Mutex::new(state) }
    }

    /// Compiles what waits; from now on as many kernels wait for one another as `batch` says (1: none).
    ///
    /// # Errors
    /// The first kernel that does not compile.
    pub fn in_batches(&self, batch: usize) -> cuprous_core::Result<()> {
        let mut state = self.lock();
        state.batch = batch.max(1);
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        waiting.into_iter().try_for_each(|(target, kernels)| self.compile(&target, &kernels)).map_err(translate)
    }

    /// Compiles all code of a program for each target, or lets it wait.
    ///
    /// # Errors
    /// The first kernel that does not compile, of those that waited too.
    pub fn check(&self, program: &Program) -> cuprous_core::Result<()> {
        let stages = |step, target: &str| Ok(plan_step(Arch::H200.of_target(target), program, step)?.kernels.stages);
        program.steps.iter().try_for_each(|step| self.add(|_| true, |target| stages(step, target))).map_err(translate)
    }

    /// Adds what `code` gives for each target. Which of the alternatives that `may` is taken follows from the code for the
    /// first.
    fn add(&self, may: fn(&str) -> bool, code: impl Fn(&str) -> Result<Vec<Stage>>) -> Result<()> {
        for alternatives in &self.targets {
            let mut hash = DefaultHasher::new();
            code(&alternatives[0])?.iter().for_each(|stage| stage.code.hash(&mut hash));
            let those: Vec<usize> = (0..alternatives.len()).filter(|&k| may(&alternatives[k])).collect();
            let chosen = those.get((hash.finish() % those.len().max(1) as u64) as usize).copied().unwrap_or(0);
            let target = &alternatives[chosen];
            code(target)?.into_iter().try_for_each(|stage| self.queue(target, stage))?;
        }
        Ok(())
    }

    /// Compiles a user's kernel for each target, or lets it wait.
    ///
    /// # Errors
    /// The first kernel that does not compile, of those that waited too.
    pub fn check_user(
        &self,
        module: &cuprous_kernel::Module,
        options: &cuprous_kernel::Options,
    ) -> cuprous_core::Result<()> {
        let unit = user::generate(module, options);
        if !options.objects.is_empty() || !unit.linked.is_empty() {
            let mut told = options.extra.clone();
            if !options.objects.is_empty() {
                // What it calls is elsewhere: code that is still to be linked.
                told.push("--relocatable-device-code=true".into());
            }
            return self.check_source(&unit.source(), &unit.name, &told);
        }
        let (name, prelude, code) = (unit.name, unit.prelude, unit.code);
        let stage = Stage { name, code, prelude, args: Vec::new(), grid: [1; 3], block: [1; 3], shared: 0 };
        // What users write reaches every corner of the assembler: each kernel goes on to it.
        self.add(|target| target.starts_with("sm_"), |_| Ok(vec![stage.clone()])).map_err(translate)
    }

    /// Compiles CUDA C++ of a user's for each target.
    ///
    /// # Errors
    /// It does not compile.
    pub fn check_source(&self, source: &str, name: &str, extra: &[String]) -> cuprous_core::Result<()> {
        for target in self.targets.iter().filter_map(|alternatives| alternatives.first()) {
            let mut options = CompileOptions::new(target.as_str());
            (options.plain, options.untuned) = (true, true);
            options.extra.extend_from_slice(extra);
            nvrtc::compile(source, name, &options).map_err(translate)?;
        }
        Ok(())
    }

    fn queue(&self, target: &str, stage: Stage) -> Result<()> {
        let mut state = self.lock();
        if !state.seen.insert(format!("{target}\n{}", stage.source())) {
            return Ok(());
        }
        if self.is_known(target, &stage)? {
            return Ok(());
        }
        let batch = state.batch;
        let waiting = state.waiting.entry(target.to_owned()).or_default();
        waiting.push(Kernel { stage, test: std::env::var("PYTEST_CURRENT_TEST").ok() });
        if waiting.len() < batch {
            return Ok(());
        }
        let kernels = std::mem::take(waiting);
        drop(state);
        self.compile(target, &kernels)
    }

    /// Kernels of one target; where they do not compile together, each by itself.
    fn compile(&self, target: &str, kernels: &[Kernel]) -> Result<()> {
        let options = options(target);
        let as_one = |kernels| nvrtc::compile(&together(kernels), "batch", &options).is_ok_and(|all| !all.is_lossy());
        if kernels.len() > 1 && as_one(kernels) {
            return kernels.iter().try_for_each(|kernel| self.remember(target, &kernel.stage, b"compiled with others"));
        }
        for Kernel { stage, test } in kernels {
            let compiled = nvrtc::compile(&stage.source(), &stage.name, &options).and_then(|compiled| {
                let lossy = || CudaError::Unsupported(format!("{}: too few registers:\n{}", stage.name, compiled.log));
                if compiled.is_lossy() { Err(lossy()) } else { Ok(compiled) }
            });
            let compiled = compiled.map_err(|error| match test {
                Some(test) => CudaError::Unsupported(format!("{error}\nA kernel of {test}")),
                None => error,
            });
            self.remember(target, stage, &compiled?.cubin)?;
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Did another process compile it? The keys differ from those of code to run: the options do.
    fn is_known(&self, target: &str, stage: &Stage) -> Result<bool> {
        Ok(self.cache.get(&key(target, stage)?).is_some())
    }

    fn remember(&self, target: &str, stage: &Stage, what: &[u8]) -> Result<()> {
        self.cache.put(&key(target, stage)?, what);
        Ok(())
    }
}

fn options(target: &str) -> CompileOptions {
    let mut options = CompileOptions { untuned: true, ..modules::compile_options(target) };
    // Whether a kernel with no other bound than its threads is lossy too.
    options.extra.push("--ptxas-options=--warn-on-spills".into());
    options
}

fn key(target: &str, stage: &Stage) -> Result<CacheKey> {
    Ok(CacheKey::new(&stage.source(), &options(target), &nvrtc::identity()?))
}

/// One translation unit: the preludes' parts once, and each kernel in a namespace of its own.
fn together(kernels: &[Kernel]) -> String {
    let mut text = String::new();
    let needed: Vec<&str> = kernels.iter().flat_map(|kernel| kernel.stage.prelude.iter().copied()).collect();
    // The shared parts stand in their order, before the templates of calls.
    let shared = Part::ALL.iter().map(|part| part.text()).filter(|text| needed.contains(text));
    let mut written = HashSet::new();
    for part in shared.chain(needed.iter().copied()) {
        if written.insert(part) {
            text.push_str(part);
            text.push('\n');
        }
    }
    for (k, kernel) in kernels.iter().enumerate() {
        let code = kernel.stage.code.replace("extern \"C\" __global__", "__global__");
        let _infallible = writeln!(text, "namespace kernel_{k} {{\n{code}\n}}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nvrtc::tests::nvrtc_is_here;

    fn kernel(body: &str) -> Stage {
        let code = format!("extern \"C\" __global__ void store(int* x) {{ {body} }}");
        let prelude = vec![Part::Base.text()];
        Stage { name: "store".into(), code, prelude, args: Vec::new(), grid: [1; 3], block: [1; 3], shared: 0 }
    }

    #[test]
    fn of_alternatives_each_kernel_is_compiled_for_one() {
        if !nvrtc_is_here() {
            return;
        }
        let folder = std::env::temp_dir().join(format!("cuprous-checker-one-{}", std::process::id()));
        let checker =
            Checker { cache: DiskCache::open(&folder, 1 << 20), ..Checker::new("sm_80|sm_90|compute_90,compute_100") };
        checker.in_batches(1000).expect("nothing waits");
        for k in 0..100 {
            checker.add(|_| true, |_| Ok(vec![kernel(&format!("*x = {k};"))])).expect("waits");
        }
        let state = checker.lock();
        let waiting = |target: &str| state.waiting.get(target).map_or(0, Vec::len);
        assert_eq!(waiting("sm_80") + waiting("sm_90") + waiting("compute_90"), 100);
        assert!(waiting("sm_80") > 10 && waiting("sm_90") > 10 && waiting("compute_90") > 10);
        assert_eq!(waiting("compute_100"), 100);
        drop(state);
        let _at_worst_left_behind = std::fs::remove_dir_all(&folder);
    }

    #[test]
    fn what_waits_is_compiled_together_and_an_error_names_its_kernel() {
        if !nvrtc_is_here() {
            return;
        }
        let folder = std::env::temp_dir().join(format!("cuprous-checker-{}", std::process::id()));
        let checker = Checker { cache: DiskCache::open(&folder, 1 << 20), ..Checker::new("sm_90") };
        checker.in_batches(3).expect("nothing waits");
        checker.queue("sm_90", kernel("*x = 1;")).expect("waits");
        checker.queue("sm_90", kernel("*x = missing;")).expect("waits");
        let error = checker.queue("sm_90", kernel("*x = 2;")).expect_err("three are enough").to_string();
        assert!(error.contains("missing"), "{error}");
        assert!(checker.is_known("sm_90", &kernel("*x = 1;")).expect("has NVRTC"));
        checker.queue("sm_90", kernel("*x = 3;")).expect("waits");
        checker.queue("sm_90", kernel("*x = 4;")).expect("waits");
        checker.in_batches(1).expect("both compile, in one unit");
        assert!(checker.is_known("sm_90", &kernel("*x = 4;")).expect("has NVRTC"));
        let _at_worst_left_behind = std::fs::remove_dir_all(&folder);
    }
}
