//! Kernels of the user on a GPU: compiled from Python or from CUDA C++.

use std::ffi::{CString, c_void};
use std::sync::Arc;

use cuprous_core::Error;
use cuprous_core::profile::Kind;
use cuprous_kernel::fault::{Record, WORDS};
use cuprous_kernel::types::Ty;
use cuprous_kernel::{Module as Ir, Options, abi};
use cuprous_plan::kernels::{Launch, RawKernel, RawModule, UserKernel};

use crate::codegen::user::{UserCode, generate};
use crate::driver::{Function, FunctionInfo, LaunchShape, Module, memcpy_dtoh_async, memset_async};
use crate::error::{CudaError, Result, translate};
use crate::gpu::{Counters, Gpu};
use crate::link;
use crate::modules;
use crate::nvrtc::CompileOptions;

/// A function of a loaded module.
struct Loaded {
    gpu: Arc<Gpu>,
    name: String,
    function: Function,
    info: FunctionInfo,
    module: Arc<Module>,
}

/// NVRTC's options for a kernel.
pub(crate) fn compile_options(target: &str, options: &Options) -> CompileOptions {
    let mut all = CompileOptions::new(target);
    all.fmad = options.fma;
    if options.fastmath {
        all.extra.push("--use_fast_math".into());
    }
    if let Some(n) = options.max_registers {
        all.extra.push(format!("--maxrregcount={n}"));
    }
    if options.lineinfo {
        all.extra.push("-lineinfo".into());
    }
    // What it is compiled with may use anything.
    all.plain = !options.linked.is_empty();
    all.extra.extend_from_slice(&options.extra);
    all
}

fn c_string(name: &str) -> Result<CString> {
    CString::new(name).map_err(|_| CudaError::Unsupported(format!("the name {name:?} holds a zero byte")))
}

impl Loaded {
    fn new(gpu: &Arc<Gpu>, module: &Arc<Module>, name: &str) -> Result<Loaded> {
        let function = module.function(&c_string(name)?)?;
        let info = function.info()?;
        Ok(Loaded { gpu: gpu.clone(), name: name.into(), function, info, module: module.clone() })
    }

    /// The function, ready for launches with so many bytes of dynamic shared memory.
    fn function(&self, shared: u32) -> Result<Function> {
        // Beyond 48 KiB, the kernel's own included, it must be asked for.
        if shared > 0 && shared + self.info.static_shared > 48 << 10 {
            self.function.set_max_dynamic_shared(shared)?;
        }
        Ok(self.function)
    }

    fn submit(&self, launch: &Launch, args: &[u8], starts: &[u32]) -> Result<()> {
        self.gpu.context.make_current()?;
        let function = self.function(launch.shared)?;
        const FEW: usize = 64;
        let mut few = [std::ptr::null_mut::<c_void>(); FEW];
        let mut many = Vec::new();
        let pointers: &mut [*mut c_void] = if starts.len() <= FEW {
            &mut few[..starts.len()]
        } else {
            many.resize(starts.len(), std::ptr::null_mut());
            &mut many
        };
        for (pointer, &at) in pointers.iter_mut().zip(starts) {
            *pointer = args[at as usize..].as_ptr().cast_mut().cast();
        }
        let shape = LaunchShape { grid: launch.grid, block: launch.block, shared: launch.shared };
        Counters::add(&self.gpu.counters.launches, 1);
        // SAFETY: the arguments lie where the kernel's signature wants them, and the engine holds the arrays' memory; what
        // the user's code does with it is the user's.
        self.gpu.timed((Kind::Kernel, 0), &self.gpu.stream, || unsafe {
            match launch.cooperative {
                true => function.launch_cooperative(&shape, &self.gpu.stream, pointers),
                false => function.launch(&shape, &self.gpu.stream, pointers),
            }
        })
    }

    /// What is wrong with a launch's shape, before the driver says only that something is.
    fn check(&self, launch: &Launch) -> cuprous_core::Result<()> {
        let name = &self.name;
        let threads = launch.check(name)?;
        let (most, registers) = (self.info.max_threads, self.info.registers);
        if threads > most {
            return Err(Error::value(format!(
                "[{name}] {threads} threads a block > {most} allowed: the kernel uses {registers} registers a thread; \
                 @cuda.jit(max_registers=…) lowers that"
            )));
        }
        let shared = launch.shared as usize + self.info.static_shared as usize;
        if shared > self.gpu.arch.max_shared {
            return Err(Error::value(format!(
                "[{name}] {shared} bytes of shared memory a block > {} allowed on this GPU",
                self.gpu.arch.max_shared
            )));
        }
        if launch.cooperative { self.check_cooperative(launch) } else { Ok(()) }
    }

    /// Refuses blocks that wait for one another and cannot all run at once.
    fn check_cooperative(&self, launch: &Launch) -> cuprous_core::Result<()> {
        let threads = launch.block.iter().product();
        let (most, blocks) = (self.resident_blocks(threads, launch.shared)?, launch.blocks());
        if blocks > most {
            return Err(Error::value(format!(
                "[{}] {blocks} blocks wait for one another > {most} of {threads} threads that this GPU runs at once; \
                 launch fewer, and let each do more in a loop",
                self.name
            )));
        }
        Ok(())
    }

    fn resident_blocks(&self, threads: u32, shared: u32) -> cuprous_core::Result<u64> {
        self.gpu.context.make_current().map_err(translate)?;
        let each = self.function.max_blocks_per_sm(threads, shared).map_err(translate)?;
        Ok(u64::from(each) * u64::from(self.gpu.arch.sms))
    }

    /// The record of an exception, which is empty afterwards.
    fn fault(&self) -> Result<Option<Record>> {
        self.gpu.context.make_current()?;
        let (address, bytes) = self.module.global(c"fault_record")?;
        let mut record: Record = [0; WORDS];
        let bytes = bytes.min(8 * WORDS);
        // SAFETY: the record lives until the copy is done, which is waited for; the module holds the device's.
        unsafe { memcpy_dtoh_async(record.as_mut_ptr().cast(), address, bytes, &self.gpu.stream)? };
        self.gpu.stream.synchronize()?;
        if record[0] == 0 {
            return Ok(None);
        }
        // SAFETY: the module's variable has so many bytes.
        unsafe { memset_async(address, 0, bytes, &self.gpu.stream)? };
        Ok(Some(record))
    }

    fn facts(&self) -> Vec<(&'static str, u64)> {
        let info = self.info;
        vec![
            ("registers", info.registers.into()),
            ("static_shared", info.static_shared.into()),
            ("local", info.local.into()),
            ("max_threads", info.max_threads.into()),
            ("constant", info.constant.into()),
        ]
    }
}

/// A kernel from Python.
pub(crate) struct CudaKernel {
    loaded: Loaded,
    code: UserCode,
    /// Where each parameter starts in the block of arguments.
    pub(crate) starts: Vec<u32>,
    /// Bytes of that block.
    pub(crate) bytes: usize,
    reports: bool,
    /// Its blocks wait for one another.
    pub(crate) cooperative: bool,
}

impl CudaKernel {
    pub(crate) fn new(gpu: &Arc<Gpu>, ir: &Ir, options: &Options) -> Result<CudaKernel> {
        gpu.context.make_current()?;
        let code = generate(ir, options);
        let mut told = compile_options(&gpu.target, options);
        let whole = options.objects.is_empty();
        if !whole {
            told.extra.push("--relocatable-device-code=true".into());
        }
        // Who asks for lines wants those of the code that is shown.
        let source = if options.lineinfo { code.source() } else { code.compiled() };
        let mut cubin = modules::cubin(gpu, &source, &code.name, &told)?;
        if !whole {
            cubin = link::link(gpu, &cubin, &options.objects, &code.name, options.max_registers)?;
        }
        let module = Arc::new(Module::load(gpu.context, &cubin)?);
        let kernel = ir.kernel();
        let types: Vec<Ty> = kernel.vars[..kernel.params].iter().map(|v| v.ty.clone()).collect();
        let (starts, bytes) = abi::offsets(&types);
        let starts = starts.into_iter().zip(&types).filter(|(_, ty)| **ty != Ty::None).map(|(at, _)| at as u32);
        Ok(CudaKernel {
            loaded: Loaded::new(gpu, &module, &code.name)?,
            starts: starts.collect(),
            code,
            bytes,
            reports: ir.reports,
            cooperative: ir.cooperative,
        })
    }

    /// The function, ready for launches with so many bytes of dynamic shared memory.
    pub(crate) fn function(&self, shared: u32) -> Result<Function> {
        self.loaded.function(shared)
    }
}

impl UserKernel for CudaKernel {
    fn name(&self) -> &str {
        &self.loaded.name
    }

    fn check(&self, launch: &Launch) -> cuprous_core::Result<()> {
        self.loaded.check(&Launch { cooperative: launch.cooperative || self.cooperative, ..*launch })
    }

    fn facts(&self) -> cuprous_core::Result<Vec<(&'static str, u64)>> {
        Ok(self.loaded.facts())
    }

    fn resident_blocks(&self, threads: u32, shared: u32) -> cuprous_core::Result<u64> {
        self.loaded.resident_blocks(threads, shared)
    }

    fn fault(&self) -> cuprous_core::Result<Option<Record>> {
        match self.reports {
            true => self.loaded.fault().map_err(translate),
            false => Ok(None),
        }
    }

    fn module(&self) -> Option<u64> {
        Some(self.loaded.module.handle())
    }

    fn source(&self) -> String {
        self.code.code.clone()
    }
}

/// A module of CUDA C++.
pub(crate) struct CudaModule {
    gpu: Arc<Gpu>,
    module: Arc<Module>,
}

impl CudaModule {
    pub(crate) fn new(gpu: &Arc<Gpu>, code: &[u8], binary: bool, name: &str, options: &[String]) -> Result<CudaModule> {
        gpu.context.make_current()?;
        let cubin: Arc<[u8]> = if binary {
            code.into()
        } else {
            let source = String::from_utf8_lossy(code);
            let mut all = CompileOptions::new(&gpu.target);
            all.plain = true;
            all.extra.extend_from_slice(options);
            modules::cubin(gpu, &source, name, &all)?
        };
        Ok(CudaModule { gpu: gpu.clone(), module: Arc::new(Module::load(gpu.context, &cubin)?) })
    }
}

impl RawModule for CudaModule {
    fn kernel(&self, name: &str) -> cuprous_core::Result<Arc<dyn RawKernel>> {
        let loaded = Loaded::new(&self.gpu, &self.module, name).map_err(translate)?;
        Ok(Arc::new(CudaFunction(loaded)))
    }

    fn global(&self, name: &str) -> cuprous_core::Result<(u64, usize)> {
        let find = || self.module.global(&c_string(name)?);
        find().map(|(address, bytes)| (address.0, bytes)).map_err(translate)
    }
}

/// A kernel of such a module.
struct CudaFunction(Loaded);

impl RawKernel for CudaFunction {
    fn launch(&self, launch: &Launch, args: &[u8], starts: &[u32]) -> cuprous_core::Result<()> {
        self.0.check(launch)?;
        self.0.submit(launch, args, starts).map_err(translate)
    }

    fn facts(&self) -> cuprous_core::Result<Vec<(&'static str, u64)>> {
        Ok(self.0.facts())
    }
}
