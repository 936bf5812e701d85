//! Builds kernels by hand, and compiles their generated code.
#![allow(dead_code, missing_docs, unreachable_pub, reason = "each test uses some of it")]

use cuprous_core::{DType, Dims, Fun, ReduceOp, ScatterOp};
use cuprous_cuda::codegen::{Generated, Options, Part, Stage};
use cuprous_cuda::nvrtc::{self, CompileOptions};
use cuprous_plan::{Access, Inst, Kernel, Level, Typed, Val};

/// Builds a kernel. Every load and store gets a buffer of its own.
pub struct Build {
    pub kernel: Kernel,
    pub level: Level,
}

/// Returns row-major strides.
pub fn dense(shape: &[i64]) -> Vec<i64> {
    let mut strides = vec![1; shape.len()];
    for k in (1..shape.len()).rev() {
        strides[k - 1] = strides[k] * shape[k];
    }
    strides
}

impl Build {
    pub fn new(outer: &[i64], inner: &[i64]) -> Build {
        let kernel =
            Kernel { outer: Dims::from(outer), inner: Dims::from(inner), body: Vec::new(), buffers: Vec::new() };
        Build { kernel, level: Level::Full }
    }

    /// Further instructions run once per row.
    pub fn row(&mut self) -> &mut Build {
        self.level = Level::Row;
        self
    }

    /// Further instructions run for every element.
    pub fn full(&mut self) -> &mut Build {
        self.level = Level::Full;
        self
    }

    fn push(&mut self, inst: Inst, dtype: DType) -> Val {
        self.kernel.body.push(Typed { inst, dtype, level: self.level });
        (self.kernel.body.len() - 1) as Val
    }

    fn buffer(&mut self) -> u16 {
        self.kernel.buffers.push(10 + self.kernel.buffers.len() as u32);
        (self.kernel.buffers.len() - 1) as u16
    }

    fn shape(&self) -> Vec<i64> {
        let inner: &[i64] = if self.level == Level::Row { &[] } else { &self.kernel.inner };
        self.kernel.outer.iter().chain(inner).copied().collect()
    }

    /// Adds a dense operand.
    pub fn load(&mut self, dtype: DType) -> Val {
        let strides = dense(&self.shape());
        self.load_at(dtype, &strides, 0)
    }

    pub fn load_at(&mut self, dtype: DType, strides: &[i64], offset: i64) -> Val {
        let buf = self.buffer();
        self.push(Inst::Load { buf, access: Access { offset, strides: strides.into() } }, dtype)
    }

    pub fn scalar(&mut self, slot: u32, dtype: DType) -> Val {
        self.push(Inst::Scalar { slot }, dtype)
    }

    pub fn iota(&mut self) -> Val {
        let strides = dense(&self.shape());
        self.push(Inst::Iota { access: Access { offset: 0, strides: strides.as_slice().into() } }, DType::I64)
    }

    /// Adds a function with the result type of the operation table.
    pub fn map(&mut self, fun: Fun, args: &[Val]) -> Val {
        let compute = self.kernel.body[args[0] as usize].dtype;
        self.map_to(fun, fun.result(compute), args)
    }

    pub fn map_to(&mut self, fun: Fun, dtype: DType, args: &[Val]) -> Val {
        self.push(Inst::Map { fun, args: args.iter().copied().collect() }, dtype)
    }

    pub fn gather(&mut self, dtype: DType, len: i64, index: Val) -> Val {
        let buf = self.buffer();
        self.push(Inst::Gather { buf, len, index }, dtype)
    }

    pub fn reduce(&mut self, op: ReduceOp, arg: Val) -> Val {
        let d = self.kernel.body[arg as usize].dtype;
        let dtype = match op {
            ReduceOp::ArgMax | ReduceOp::ArgMin => DType::I64,
            ReduceOp::M2 => d.component(),
            _ => d,
        };
        let level = std::mem::replace(&mut self.level, Level::Row);
        let v = self.push(Inst::Reduce { op, arg }, dtype);
        self.level = level;
        v
    }

    pub fn store(&mut self, arg: Val) -> Val {
        let strides = dense(&self.shape());
        self.store_at(arg, &strides, 0)
    }

    pub fn store_at(&mut self, arg: Val, strides: &[i64], offset: i64) -> Val {
        let (buf, dtype) = (self.buffer(), self.kernel.body[arg as usize].dtype);
        self.push(Inst::Store { buf, access: Access { offset, strides: strides.into() }, arg }, dtype)
    }

    /// Writes over the operand that `load` read.
    pub fn store_over(&mut self, load: Val, arg: Val) -> Val {
        let Inst::Load { buf, access } = self.kernel.body[load as usize].inst.clone() else { panic!("not a load") };
        let dtype = self.kernel.body[arg as usize].dtype;
        self.push(Inst::Store { buf, access, arg }, dtype)
    }

    pub fn scatter(&mut self, op: ScatterOp, len: i64, index: Val, arg: Val) -> Val {
        let (buf, dtype) = (self.buffer(), self.kernel.body[arg as usize].dtype);
        self.push(Inst::Scatter { buf, len, index, arg, op }, dtype)
    }
}

/// Returns true if NVRTC can be loaded; otherwise prints why the test is skipped.
pub fn have_nvrtc() -> bool {
    if let Some(roots) = std::env::var_os("CUPROUS_NVIDIA_ROOTS") {
        cuprous_cuda_sys::set_roots(std::env::split_paths(&roots).collect());
    }
    match nvrtc::version() {
        Ok(_) => true,
        Err(e) => {
            eprintln!("skipped: cannot load NVRTC ({e}); set CUPROUS_NVIDIA_ROOTS");
            false
        }
    }
}

/// Kernels per translation unit. Parsing the prelude once for many kernels saves most of the time.
const BATCH: usize = 16;

/// Returns one translation unit of several stages, each kernel under a name of its own.
fn together(stages: &[Stage]) -> String {
    let mut text = String::new();
    let used: Vec<&str> = stages.iter().flat_map(|s| s.prelude.iter().copied()).collect();
    let mut prelude: Vec<&str> = Part::ALL.iter().map(|p| p.text()).filter(|p| used.contains(p)).collect();
    for part in used {
        if !prelude.contains(&part) {
            prelude.push(part);
        }
    }
    for part in prelude {
        text += part;
        text.push('\n');
    }
    for (i, stage) in stages.iter().enumerate() {
        text += &stage.code.replace(&format!("{}(", stage.name), &format!("{}_{i}(", stage.name));
    }
    text
}

/// Compiles stages for one target, two units at a time: every fourth unit to machine code and the others to PTX, which
/// takes a quarter of the time; all to machine code with `CUPROUS_MACHINE_CODE`. Panics with the first error.
pub fn compile_all(stages: &[Stage], arch: &str, options: Options) {
    let next = std::sync::atomic::AtomicUsize::new(0);
    let extra: Vec<String> = options.compiler_flags().iter().map(|s| s.to_string()).collect();
    let [verbose, all] = ["CUPROUS_VERBOSE", "CUPROUS_MACHINE_CODE"].map(|name| std::env::var_os(name).is_some());
    let units: Vec<&[Stage]> = stages.chunks(BATCH).collect();
    let work = || {
        loop {
            let i = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let Some(unit) = units.get(i) else { return };
            let target = if i.is_multiple_of(4) || all { arch.to_owned() } else { arch.replace("sm_", "compute_") };
            let mut o = CompileOptions { fast_compile: true, ..CompileOptions::new(target) };
            o.fmad = extra.iter().all(|e| e != "--fmad=false");
            o.extra = extra.iter().filter(|e| !e.starts_with("--fmad")).cloned().collect();
            if verbose {
                o.extra.push("--ptxas-options=-v".into());
            }
            let start = std::time::Instant::now();
            match nvrtc::compile(&together(unit), &unit[0].name, &o) {
                Ok(done) if verbose => {
                    let relevant = |l: &&str| ["Compiling", "registers", "spill"].iter().any(|w| l.contains(w));
                    let lines: Vec<&str> = done.log.lines().filter(relevant).collect();
                    eprintln!("{} and more, {arch} {:?}:\n{}", unit[0].name, start.elapsed(), lines.join("\n"));
                }
                Ok(_) => {}
                Err(e) => panic!("{e}"),
            }
        }
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..2).map(|_| scope.spawn(work)).collect();
        for t in threads {
            if let Err(e) = t.join() {
                std::panic::resume_unwind(e);
            }
        }
    });
}

/// Returns the stages of many kernels.
pub fn stages(all: impl IntoIterator<Item = Generated>) -> Vec<Stage> {
    all.into_iter().flat_map(|g| g.stages).collect()
}
