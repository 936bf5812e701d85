//! From a program to launches: generate, compile what is new (in parallel), load, and lay out the arguments.

use std::collections::{HashMap, HashSet};
use std::ffi::CString;
use std::fmt::Write;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};

use cuprous_core::{CallOp, DType, LayoutRef};
use cuprous_plan::{Call, Epilogue, Program, Step};

use crate::cache::{CacheKey, DiskCache};
use crate::codegen::{self, Arch, Generated, Options, Stage};
use crate::cublaslt::{self, Matmul, MatmulType, Matrix};
use crate::device::{Counters, Gpu};
use crate::driver::{DevPtr, Function, LaunchShape, Module, memset_async};
use crate::error::{CudaError, Result, translate};
use crate::nvrtc::{self, CompileOptions};
use crate::run::{Launch, Loaded, Product, Task};

/// Functions by source, each loaded once for the life of the process.
#[derive(Default)]
pub(crate) struct Modules {
    loaded: Mutex<HashMap<String, (Function, Module)>>,
}

/// What one step becomes, before anything is compiled.
enum Planned {
    Generated(Generated),
    Product(Box<Product>),
}

fn options(program: &Program) -> Options {
    Options { aligned: program.aligned, ..Options::default() }
}

fn plan_step(arch: Arch, program: &Program, step: &Step) -> Result<Planned> {
    Ok(match step {
        Step::Kernel(kernel) => Planned::Generated(codegen::generate(kernel, arch, options(program))),
        Step::Pack(kernels) => Planned::Generated(codegen::generate_pack(kernels, arch, options(program))),
        Step::Call(call) => match product(call) {
            Some(product) => Planned::Product(Box::new(product)),
            None => Planned::Generated(codegen::generate_call(call, arch, options(program)).ok_or_else(|| {
                CudaError::Unsupported(format!("[{}] has no CUDA code for these dtypes yet", call.op.name()))
            })?),
        },
    })
}

/// Compiles and loads a program.
pub(crate) fn compile(gpu: &Arc<Gpu>, program: &Arc<Program>) -> Result<Loaded> {
    gpu.context.make_current()?;
    let planned = program.steps.iter().map(|s| plan_step(gpu.arch, program, s)).collect::<Result<Vec<_>>>()?;
    let stages: Vec<&Stage> = planned
        .iter()
        .filter_map(|p| if let Planned::Generated(g) = p { Some(g) } else { None })
        .flat_map(|g| &g.stages)
        .collect();
    let functions = load(gpu, &stages)?;
    let mut functions = functions.into_iter();
    let mut tasks = Vec::new();
    let mut scratch_bytes = 0;
    let mut state = Vec::new();
    for p in &planned {
        match p {
            Planned::Product(product) => tasks.push(Task::Product((**product).clone())),
            Planned::Generated(g) => {
                scratch_bytes = scratch_bytes.max(g.scratch_bytes);
                let address = if g.state_bytes > 0 {
                    let address = gpu.alloc(g.state_bytes)?;
                    // SAFETY: the block was just allocated with that size.
                    unsafe { memset_async(address, 0, g.state_bytes, &gpu.stream)? };
                    state.push(address);
                    address
                } else {
                    DevPtr::NULL
                };
                for stage in &g.stages {
                    let function = functions.next().expect("one function a stage");
                    let shape = LaunchShape { grid: stage.grid, block: stage.block, shared: stage.shared };
                    tasks.push(Task::Kernel(Launch::new(function, shape, &stage.args, address)));
                }
            }
        }
    }
    Ok(Loaded::new(gpu.clone(), tasks, scratch_bytes, state, program.steps.len()))
}

/// What one thread made of a source, once it has.
type Compiled = Option<Result<Arc<[u8]>>>;

fn compile_options(target: &str) -> CompileOptions {
    let mut nvrtc_options = CompileOptions::new(target);
    for flag in Options::default().compiler_flags() {
        match flag.strip_prefix("--fmad=") {
            Some(value) => nvrtc_options.fmad = value == "true",
            None => nvrtc_options.extra.push((*flag).into()),
        }
    }
    nvrtc_options
}

/// False for what libraries do that are not called yet.
pub(crate) fn has_code(call: &CallOp) -> bool {
    !matches!(call, CallOp::Fft { .. } | CallOp::Linalg(_))
}

/// Compiles what a GPU would run and loads nothing: needs NVRTC and no GPU. Cubins go to the user's cache, so a GPU of
/// one of the targets finds them there.
#[derive(Debug)]
pub struct Checker {
    /// For each the alternatives.
    targets: Vec<Vec<String>>,
    cache: DiskCache,
    /// The sources that passed.
    seen: Mutex<HashSet<String>>,
}

impl Checker {
    /// A checker for targets: `sm_80,sm_90` for both, `sm_80|sm_90` for one of them, by the code.
    pub fn new(targets: &str) -> Checker {
        let targets = targets.split(',').map(|all| all.split('|').map(str::to_owned).collect()).collect();
        Checker { targets, cache: DiskCache::open_default(), seen: Mutex::default() }
    }

    /// Compiles all code of a program for each target.
    ///
    /// # Errors
    /// The first source that does not compile.
    pub fn check(&self, program: &Program) -> cuprous_core::Result<()> {
        self.compile(program).map_err(translate)
    }

    fn compile(&self, program: &Program) -> Result<()> {
        let identity = nvrtc::identity()?;
        for alternatives in &self.targets {
            for step in &program.steps {
                if matches!(step, Step::Call(call) if !has_code(&call.op)) {
                    continue;
                }
                let code = |target: &str| plan_step(Arch::H200.of_target(target), program, step);
                let Planned::Generated(first) = code(&alternatives[0])? else { continue };
                let mut hash = DefaultHasher::new();
                first.stages.iter().for_each(|stage| stage.code.hash(&mut hash));
                let target = &alternatives[(hash.finish() % alternatives.len() as u64) as usize];
                let Planned::Generated(generated) = code(target)? else { continue };
                for stage in &generated.stages {
                    let source = stage.source();
                    let new = format!("{target}\n{source}");
                    if !self.seen.lock().unwrap_or_else(|e| e.into_inner()).insert(new) {
                        continue;
                    }
                    let options = compile_options(target);
                    let key = CacheKey::new(&source, &options, &identity);
                    if self.cache.get(&key).is_none() {
                        self.cache.put(&key, &nvrtc::compile(&source, &stage.name, &options)?.cubin);
                    }
                }
            }
        }
        Ok(())
    }
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
    let identity = nvrtc::identity()?;
    let one = |k: usize| -> Result<Arc<[u8]>> {
        let key = CacheKey::new(&sources[k], &compile_options(&gpu.target), &identity);
        if let Some(cubin) = gpu.cache.get(&key) {
            Counters::add(&gpu.counters.kernels_from_disk, 1);
            return Ok(cubin);
        }
        Counters::add(&gpu.counters.kernels_compiled, 1);
        // A device newer than NVRTC gets code for the newest target that NVRTC knows.
        let (major, minor) = (gpu.arch.major, gpu.arch.minor);
        let options = compile_options(&nvrtc::best_arch((major, minor))?);
        let cubin = nvrtc::compile(&sources[k], &stages[k].name, &options)?.cubin;
        gpu.cache.put(&key, &cubin);
        Ok(cubin.into())
    };
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
            if stage.shared > 48 << 10 {
                function.set_max_dynamic_shared(stage.shared)?;
            }
            Ok(function)
        })
        .collect()
}

/// A floating-point matrix product, for cuBLASLt.
fn product(call: &Call) -> Option<Product> {
    if call.op != CallOp::Dot {
        return None;
    }
    let dtype = match call.out.1.dtype {
        DType::F16 => MatmulType::F16,
        DType::BF16 => MatmulType::Bf16,
        DType::F32 => MatmulType::F32,
        DType::F64 => MatmulType::F64,
        DType::C64 => MatmulType::C64,
        DType::C128 => MatmulType::C128,
        _ => return None,
    };
    let matrix = |k: usize| -> (Matrix, u64) {
        let layout = if k < 2 { &call.ins[k].1 } else { &call.out.1 };
        let n = layout.ndim();
        // Batch axes collapse to one: the caller has made sure of it.
        let batch_stride = (0..n - 2).rev().find(|&a| layout.shape[a] != 1).map_or(0, |a| layout.strides[a]);
        let matrix = Matrix {
            rows: layout.shape[n - 2] as u64,
            cols: layout.shape[n - 1] as u64,
            row_stride: layout.strides[n - 2],
            col_stride: layout.strides[n - 1],
            batch_stride,
        };
        (matrix, layout.offset as u64 * layout.dtype.size() as u64)
    };
    let out = &call.out.1;
    let batch: i64 = out.shape[..out.ndim() - 2].iter().product();
    let ((a, a_offset), (b, b_offset), (c, _)) = (matrix(0), matrix(1), matrix(2));
    let mut problem = Matmul::row_major(dtype, a.rows, a.cols, b.cols);
    problem.a = a;
    problem.b = b;
    problem.c = c;
    problem.batch = batch as u32;
    let Epilogue { scale, addend, bias } = &call.epilogue;
    if bias.is_some() {
        problem.epilogue = cublaslt::Epilogue::Bias;
    }
    let at = |(buffer, layout): &(u32, LayoutRef)| (*buffer, layout.offset as u64 * layout.dtype.size() as u64);
    Some(Product {
        problem,
        dtype: out.dtype,
        a: (call.ins[0].0, a_offset),
        b: (call.ins[1].0, b_offset),
        c: call.out.0,
        scale: *scale,
        addend: addend.as_ref().map(|a| (at(&a.array), a.factor)),
        bias: bias.as_ref().map(at),
    })
}

/// A readable listing of a program's code.
pub(crate) fn source(gpu: &Gpu, program: &Program) -> String {
    let mut text = String::new();
    for (k, step) in program.steps.iter().enumerate() {
        let _ = writeln!(text, "// --- step {} of {}", k + 1, program.steps.len());
        let _ = match plan_step(gpu.arch, program, step) {
            Ok(Planned::Generated(g)) => writeln!(text, "{g}"),
            Ok(Planned::Product(p)) => writeln!(
                text,
                "// cuBLASLt: ({} × {}) · ({} × {}){}, batch {}\n",
                p.problem.a.rows,
                p.problem.a.cols,
                p.problem.b.rows,
                p.problem.b.cols,
                if let Step::Call(call) = step { call.epilogue.to_string() } else { String::new() },
                p.problem.batch
            ),
            Err(error) => writeln!(text, "// {error}\n"),
        };
    }
    text
}
