//! Compiles the code that a GPU would run, without loading it. Needs NVRTC, but no GPU.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, MutexGuard};

use cuprous_core::DType;
use cuprous_plan::Program;

use crate::cache::{CacheKey, DiskCache};
use crate::codegen::user;
use crate::codegen::{Arch, Part, Stage, Vendor, ctype, short};
use crate::compile::plan_step;
use crate::error::{CudaError, Result, translate};
use crate::modules;
use crate::nvrtc::{CompileOptions, Compiled};
use crate::{compiler, hiprtc, nvrtc};

/// Compiles the code of programs for one or several targets, each kernel once.
///
/// A kernel compiled alone costs 42 ms of a core, of which 25 ms are the compiler's start. Kernels therefore wait until
/// there are enough for one translation unit: sixteen together cost 28 ms each for machine code, 8 for PTX, and 4 for
/// intermediate code. An error then comes late, but names the test that needed the kernel.
#[derive(Debug)]
pub struct Checker {
    /// The alternatives of each target.
    targets: Vec<Vec<String>>,
    /// The command of a clang that compiles for GPUs of AMD in place of hiprtc.
    clang: Option<String>,
    /// For how many combinations of dtypes each structure is compiled.
    most_types: usize,
    cache: DiskCache,
    state: Mutex<State>,
}

/// The number of kernels that are compiled together by default.
const BATCH: usize = 16;

#[derive(Debug)]
struct State {
    /// The number of kernels in a translation unit.
    batch: usize,
    /// Target and source of every kernel so far.
    seen: HashSet<String>,
    /// For how many combinations of dtypes each structure has been compiled.
    structures: HashMap<String, usize>,
    /// Kernels that wait to be compiled, by target.
    waiting: HashMap<String, Vec<Kernel>>,
}

/// A kernel to compile.
#[derive(Debug)]
struct Kernel {
    stage: Stage,
    /// The running test, as pytest names it.
    test: Option<String>,
}

impl Checker {
    /// Creates a checker for targets. `sm_80,sm_90` compiles for both. `sm_80|sm_90` compiles for one of them, chosen
    /// by the code, so that each target gets its share of many kernels. `compute_90` compiles to PTX only, `lto_90`
    /// (checks names, types and syntax) to the intermediate code for linking. `gfx1100` compiles by hiprtc, or by the clang whose command is in `CUPROUS_CHECK_CLANG`, for targets
    /// that an old hiprtc does not know.
    pub fn new(targets: &str) -> Checker {
        let targets = targets.split(',').map(|all| all.split('|').map(str::to_owned).collect()).collect();
        let state = State { batch: BATCH, seen: HashSet::new(), structures: HashMap::new(), waiting: HashMap::new() };
        let clang = std::env::var("CUPROUS_CHECK_CLANG").ok().filter(|command| !command.is_empty());
        Checker { targets, clang, most_types: usize::MAX, cache: DiskCache::open_default(), state: Mutex::new(state) }
    }

    /// Compiles of kernels that differ in their dtypes alone only `most`, where each function and routine is compiled for
    /// every dtype elsewhere.
    #[must_use]
    pub fn with_most_types(self, most: usize) -> Checker {
        Checker { most_types: most, ..self }
    }

    /// Compiles the kernels that wait. From now on `batch` kernels are compiled together (1: each by itself).
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

    /// Compiles the code of a program for each target, or queues it.
    ///
    /// # Errors
    /// The first kernel that does not compile, including those that waited.
    pub fn check(&self, program: &Program) -> cuprous_core::Result<()> {
        let stages =
            |step, target: &str| Ok(plan_step(Arch::H200.of_target(target), None, program, step)?.kernels.stages);
        program
            .steps
            .iter()
            .try_for_each(|step| self.add(|_| true, self.most_types, |target| stages(step, target)))
            .map_err(translate)
    }

    /// Queues the stages that `code` returns for each target. Among the alternatives for which `accepts` is true, one
    /// is chosen by the code for the first. Of stages of one structure, `most_types` are queued.
    fn add(
        &self,
        accepts: fn(&str) -> bool,
        most_types: usize,
        code: impl Fn(&str) -> Result<Vec<Stage>>,
    ) -> Result<()> {
        for alternatives in &self.targets {
            let mut hash = DefaultHasher::new();
            // Kernels of one structure have one target, or each structure would be compiled for each of them.
            code(&alternatives[0])?.iter().for_each(|stage| match most_types {
                usize::MAX => stage.code.hash(&mut hash),
                _ => structure(stage).hash(&mut hash),
            });
            let accepted: Vec<usize> = (0..alternatives.len()).filter(|&k| accepts(&alternatives[k])).collect();
            let chosen = accepted.get((hash.finish() % accepted.len().max(1) as u64) as usize).copied().unwrap_or(0);
            let target = &alternatives[chosen];
            code(target)?.into_iter().try_for_each(|stage| self.queue(target, stage, most_types))?;
        }
        Ok(())
    }

    /// Compiles a user's kernel for each target, or queues it.
    ///
    /// # Errors
    /// The first kernel that does not compile, including those that waited.
    pub fn check_user(
        &self,
        module: &cuprous_kernel::Module,
        options: &cuprous_kernel::Options,
    ) -> cuprous_core::Result<()> {
        let unit = user::generate(module, options);
        if !options.objects.is_empty() || !unit.linked.is_empty() {
            let mut extra = options.extra.clone();
            if !options.objects.is_empty() {
                // The functions that it calls are in objects that are linked later.
                extra.push("--relocatable-device-code=true".into());
            }
            return self.check_source(&unit.source(), &unit.name, &extra);
        }
        let (name, prelude, code) = (unit.name.into(), unit.prelude.into(), unit.code.into());
        let (args, grid, block) = (Vec::new(), [1; 3], [1; 3]);
        let stage = Stage { name, code, prelude, args, grid, block, shared: 0, own_instructions: false };
        // Users' kernels exercise all of the assembler, so they are not compiled to PTX only.
        self.add(|target| !nvrtc::is_virtual(target), usize::MAX, |_| Ok(vec![stage.clone()])).map_err(translate)
    }

    /// Compiles a user's CUDA C++ for each target.
    ///
    /// # Errors
    /// The source does not compile.
    pub fn check_source(&self, source: &str, name: &str, extra: &[String]) -> cuprous_core::Result<()> {
        for target in self.targets.iter().filter_map(|alternatives| alternatives.first()) {
            let mut options = CompileOptions::new(target.as_str());
            (options.user_source, options.fast_compile) = (true, true);
            options.extra.extend_from_slice(extra);
            self.compile_one(source, name, &options).map_err(translate)?;
        }
        Ok(())
    }

    fn queue(&self, target: &str, stage: Stage, most_types: usize) -> Result<()> {
        let target = &*stage.target(target);
        let mut state = self.lock();
        if !state.seen.insert(format!("{target}\n{}", stage.source())) {
            return Ok(());
        }
        if most_types < usize::MAX {
            let count = state.structures.entry(format!("{target}\n{}", structure(&stage))).or_default();
            *count += 1;
            if *count > most_types {
                return Ok(());
            }
        }
        if self.is_compiled(target, &stage)? {
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

    /// Compiles kernels for one target together, or, if that fails, each by itself.
    fn compile(&self, target: &str, kernels: &[Kernel]) -> Result<()> {
        let options = options(target);
        let as_one = |kernels| {
            self.compile_one(&translation_unit(kernels), "batch", &options).is_ok_and(|all| !all.has_libdevice_spills())
        };
        if kernels.len() > 1 && as_one(kernels) {
            return kernels
                .iter()
                .try_for_each(|kernel| self.mark_compiled(target, &kernel.stage, b"compiled with others"));
        }
        for Kernel { stage, test } in kernels {
            let compiled = self.compile_one(&stage.source(), &stage.name, &options).and_then(|compiled| {
                let spills = || CudaError::Unsupported(format!("{}: too few registers:\n{}", stage.name, compiled.log));
                if compiled.has_libdevice_spills() { Err(spills()) } else { Ok(compiled) }
            });
            let compiled = compiled.map_err(|error| match test {
                Some(test) => CudaError::Unsupported(format!("{error}\nThe kernel belongs to {test}")),
                None => error,
            });
            self.mark_compiled(target, stage, &compiled?.cubin)?;
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Returns true if another process compiled the kernel. The options, and so the keys, differ from those of code to
    /// run.
    fn is_compiled(&self, target: &str, stage: &Stage) -> Result<bool> {
        Ok(self.cache.get(&self.key(target, stage)?).is_some())
    }

    fn mark_compiled(&self, target: &str, stage: &Stage, what: &[u8]) -> Result<()> {
        self.cache.put(&self.key(target, stage)?, what);
        Ok(())
    }

    fn key(&self, target: &str, stage: &Stage) -> Result<CacheKey> {
        let identity = match self.clang_for(target) {
            Some(command) => hiprtc::clang_identity(command),
            None => compiler::identity(target)?,
        };
        Ok(CacheKey::new(&stage.source(), &options(target), &identity))
    }

    fn compile_one(&self, source: &str, name: &str, options: &CompileOptions) -> Result<Compiled> {
        match self.clang_for(&options.arch) {
            Some(command) => hiprtc::compile_by_clang(command, source, name, options),
            None => compiler::compile(source, name, options),
        }
    }

    fn clang_for(&self, target: &str) -> Option<&str> {
        self.clang.as_deref().filter(|_| Vendor::of_target(target) == Vendor::Amd)
    }
}

fn options(target: &str) -> CompileOptions {
    let mut options = CompileOptions { fast_compile: true, ..modules::compile_options(target) };
    if options.vendor() == Vendor::Amd {
        return options;
    }
    // Detects spills in libdevice calls also for kernels that are only bounded by their threads per block.
    options.extra.push("--ptxas-options=--warn-on-spills".into());
    options
}

/// Returns the code of a kernel without its name, comments, and what differs between dtypes: types, also as the end of a
/// name.
fn structure(stage: &Stage) -> String {
    let mut text = String::with_capacity(stage.code.len());
    for line in stage.code.lines().filter(|line| !line.trim_start().starts_with("//")) {
        let mut rest = line;
        while let Some(start) = rest.find(|c: char| c.is_ascii_alphabetic() || c == '_') {
            let end =
                rest[start..].find(|c: char| !c.is_ascii_alphanumeric() && c != '_').map_or(rest.len(), |n| start + n);
            let word = &rest[start..end];
            let is_type = word == &*stage.name || DType::ALL.into_iter().any(|dtype| ctype(dtype) == word);
            text.push_str(&rest[..start]);
            text.push_str(match word.rsplit_once('_') {
                _ if is_type => "_",
                Some((name, end)) if DType::ALL.into_iter().any(|dtype| short(dtype) == end) => name,
                _ => word,
            });
            rest = &rest[end..];
        }
        text.push_str(rest);
        text.push('\n');
    }
    text
}

/// Returns one translation unit: each part of the preludes once, and each kernel in its own namespace.
fn translation_unit(kernels: &[Kernel]) -> String {
    let mut text = String::new();
    let needed: Vec<&str> = kernels.iter().flat_map(|kernel| kernel.stage.prelude.iter().copied()).collect();
    // The shared parts come first, in their order, then the templates of routines.
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
        let (name, prelude) = ("store".into(), [Part::Base.text()].into());
        let (code, args, grid, block) = (code.into(), Vec::new(), [1; 3], [1; 3]);
        Stage { name, code, prelude, args, grid, block, shared: 0, own_instructions: false }
    }

    #[test]
    fn each_kernel_is_compiled_for_one_of_the_alternatives() {
        if !nvrtc_is_here() {
            return;
        }
        let folder = std::env::temp_dir().join(format!("cuprous-checker-one-{}", std::process::id()));
        let checker =
            Checker { cache: DiskCache::open(&folder, 1 << 20), ..Checker::new("sm_80|lto_90|compute_90,compute_100") };
        checker.in_batches(1000).expect("nothing waits");
        for k in 0..100 {
            checker.add(|_| true, usize::MAX, |_| Ok(vec![kernel(&format!("*x = {k};"))])).expect("waits");
        }
        let state = checker.lock();
        let waiting = |target: &str| state.waiting.get(target).map_or(0, Vec::len);
        assert_eq!(waiting("sm_80") + waiting("lto_90") + waiting("compute_90"), 100);
        assert!(waiting("sm_80") > 10 && waiting("lto_90") > 10 && waiting("compute_90") > 10);
        assert_eq!(waiting("compute_100"), 100);
        drop(state);
        let _at_worst_left_behind = std::fs::remove_dir_all(&folder);
    }

    #[test]
    fn kernels_that_differ_in_their_dtypes_alone_have_one_structure() {
        let [float, double, other] =
            ["float v = x[0] + c_f32;", "double v = x[0] + c_f64;", "float v = x[1] + c_f32;"].map(kernel);
        assert_eq!(structure(&float), structure(&double));
        assert_ne!(structure(&float), structure(&other));
        if !nvrtc_is_here() {
            return;
        }
        let folder = std::env::temp_dir().join(format!("cuprous-checker-types-{}", std::process::id()));
        let checker = Checker { cache: DiskCache::open(&folder, 1 << 20), ..Checker::new("compute_90") };
        checker.in_batches(1000).expect("nothing waits");
        for stage in [float, double, other] {
            checker.queue("compute_90", stage, 1).expect("waits or is left out");
        }
        assert_eq!(checker.lock().waiting["compute_90"].len(), 2);
        let _at_worst_left_behind = std::fs::remove_dir_all(&folder);
    }

    #[test]
    fn queued_kernels_are_compiled_together_and_an_error_names_its_kernel() {
        if !nvrtc_is_here() {
            return;
        }
        for target in ["sm_90", "lto_90"] {
            queued_kernels_are_compiled_together(target);
        }
    }

    fn queued_kernels_are_compiled_together(target: &str) {
        let folder = std::env::temp_dir().join(format!("cuprous-checker-{target}-{}", std::process::id()));
        let checker = Checker { cache: DiskCache::open(&folder, 1 << 20), ..Checker::new(target) };
        checker.in_batches(3).expect("nothing waits");
        checker.queue(target, kernel("*x = 1;"), usize::MAX).expect("waits");
        checker.queue(target, kernel("*x = missing;"), usize::MAX).expect("waits");
        let error = checker.queue(target, kernel("*x = 2;"), usize::MAX).expect_err("three are enough").to_string();
        assert!(error.contains("missing"), "{error}");
        assert!(checker.is_compiled(target, &kernel("*x = 1;")).expect("has NVRTC"));
        checker.queue(target, kernel("*x = 3;"), usize::MAX).expect("waits");
        checker.queue(target, kernel("*x = 4;"), usize::MAX).expect("waits");
        checker.in_batches(1).expect("both compile, in one unit");
        assert!(checker.is_compiled(target, &kernel("*x = 4;")).expect("has NVRTC"));
        let _at_worst_left_behind = std::fs::remove_dir_all(&folder);
    }
}
