//! Users' kernels on a GPU: compiled from Python or from CUDA C++.

use std::ffi::{CString, c_void};
use std::sync::Arc;

use cuprous_core::Error;
use cuprous_core::profile::Kind;
use cuprous_kernel::exception::{Record, WORDS};
use cuprous_kernel::types::Ty;
use cuprous_kernel::{Module as Ir, Options, abi};
use cuprous_plan::{Launch, RawKernel, RawModule, UserKernel};

use crate::codegen::user::{UserCode, generate};
use crate::driver::{Function, FunctionInfo, LaunchShape, Module, memcpy_dtoh_async, memset_async};
use crate::error::{CudaError, Result, translate};
use crate::gpu::{Counters, Gpu};
use crate::link;
use crate::modules;
use crate::nvrtc::CompileOptions;

/// A function of a loaded module.
struct LoadedKernel {
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
    // The code that it is linked with may use any header.
    all.user_source = !options.linked.is_empty();
    all.extra.extend_from_slice(&options.extra);
    all
}

fn c_string(name: &str) -> Result<CString> {
    CString::new(name).map_err(|_| CudaError::Unsupported(format!("the name {name:?} contains a zero byte")))
}

impl LoadedKernel {
    fn new(gpu: &Arc<Gpu>, module: &Arc<Module>, name: &str) -> Result<LoadedKernel> {
        let function = module.function(&c_string(name)?)?;
        let info = function.info()?;
        Ok(LoadedKernel { gpu: gpu.clone(), name: name.into(), function, info, module: module.clone() })
    }

    /// Returns the function, ready for launches with `shared` bytes of dynamic shared memory.
    fn function(&self, shared: u32) -> Result<Function> {
        // More than 48 KiB, static shared memory included, must be requested.
        if shared > 0 && shared + self.info.static_shared > 48 << 10 {
            self.function.set_max_dynamic_shared(shared)?;
        }
        Ok(self.function)
    }

    /// Submits a launch. Argument k is at `args[starts[k]..]`.
    fn submit(&self, launch: &Launch, args: &[u8], starts: &[u32]) -> Result<()> {
        self.gpu.context.make_current()?;
        let function = self.function(launch.shared)?;
        const INLINE: usize = 64;
        let mut inline = [std::ptr::null_mut::<c_void>(); INLINE];
        let mut heap = Vec::new();
        let pointers: &mut [*mut c_void] = if starts.len() <= INLINE {
            &mut inline[..starts.len()]
        } else {
            heap.resize(starts.len(), std::ptr::null_mut());
            &mut heap
        };
        for (pointer, &at) in pointers.iter_mut().zip(starts) {
            *pointer = args[at as usize..].as_ptr().cast_mut().cast();
        }
        let shape = LaunchShape { grid: launch.grid, block: launch.block, shared: launch.shared };
        Counters::add(&self.gpu.counters.launches, 1);
        // SAFETY: the arguments match the kernel's signature, and the engine keeps the arrays' memory alive. How the
        // user's code accesses it is the user's responsibility.
        self.gpu.timed((Kind::Kernel, 0), &self.gpu.stream, || unsafe {
            match launch.cooperative {
                true => function.launch_cooperative(&shape, &self.gpu.stream, pointers),
                false => function.launch(&shape, &self.gpu.stream, pointers),
            }
        })
    }

    /// Checks the shape of a launch, because the driver's own error does not say what is wrong.
    fn check(&self, launch: &Launch) -> cuprous_core::Result<()> {
        let name = &self.name;
        let threads = launch.check(name)?;
        let (max, registers) = (self.info.max_threads, self.info.registers);
        if threads > max {
            return Err(Error::value(format!(
                "[{name}] {threads} threads a block > {max} allowed: the kernel uses {registers} registers a thread; \
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

    /// Checks that all blocks of a cooperative launch can run at the same time.
    fn check_cooperative(&self, launch: &Launch) -> cuprous_core::Result<()> {
        let threads = launch.block.iter().product();
        let (max, blocks) = (self.resident_blocks(threads, launch.shared)?, launch.blocks());
        if blocks > max {
            return Err(Error::value(format!(
                "[{}] {blocks} blocks wait for one another > {max} of {threads} threads that this GPU runs at once; \
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

    /// Reads and clears the record of an exception. Waits for the stream.
    fn fault(&self) -> Result<Option<Record>> {
        self.gpu.context.make_current()?;
        let (address, bytes) = self.module.global(c"fault_record")?;
        let mut record: Record = [0; WORDS];
        let bytes = bytes.min(8 * WORDS);
        // SAFETY: the record lives until the copy is done, which is waited for. The source is the module's variable.
        unsafe { memcpy_dtoh_async(record.as_mut_ptr().cast(), address, bytes, &self.gpu.stream)? };
        self.gpu.stream.synchronize()?;
        if record[0] == 0 {
            return Ok(None);
        }
        // SAFETY: the module's variable has at least `bytes` bytes.
        unsafe { memset_async(address, 0, bytes, &self.gpu.stream)? };
        Ok(Some(record))
    }

    fn attributes(&self) -> Vec<(&'static str, u64)> {
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

/// A kernel compiled from Python.
pub(crate) struct CudaKernel {
    loaded: LoadedKernel,
    code: UserCode,
    /// The offset in bytes of each parameter in the block of arguments.
    pub(crate) starts: Vec<u32>,
    /// The size of that block in bytes.
    pub(crate) bytes: usize,
    reports: bool,
    /// Its blocks wait for one another, so all of them must run at the same time.
    pub(crate) cooperative: bool,
}

impl CudaKernel {
    pub(crate) fn new(gpu: &Arc<Gpu>, ir: &Ir, options: &Options) -> Result<CudaKernel> {
        gpu.context.make_current()?;
        let code = generate(ir, options);
        let mut nvrtc_options = compile_options(&gpu.target, options);
        let needs_linking = !options.objects.is_empty();
        if needs_linking {
            nvrtc_options.extra.push("--relocatable-device-code=true".into());
        }
        // Line information refers to the code that `source()` shows, comments included.
        let source = if options.lineinfo { code.source() } else { code.compiled() };
        let mut cubin = modules::cubin(gpu, &source, &code.name, &nvrtc_options)?;
        if needs_linking {
            cubin = link::link(gpu, &cubin, &options.objects, &code.name, options.max_registers)?;
        }
        let module = Arc::new(Module::load(gpu.context, &cubin)?);
        let kernel = ir.kernel();
        let types: Vec<Ty> = kernel.vars[..kernel.params].iter().map(|v| v.ty.clone()).collect();
        let (starts, bytes) = abi::offsets(&types);
        let starts = starts.into_iter().zip(&types).filter(|(_, ty)| **ty != Ty::None).map(|(at, _)| at as u32);
        Ok(CudaKernel {
            loaded: LoadedKernel::new(gpu, &module, &code.name)?,
            starts: starts.collect(),
            code,
            bytes,
            reports: ir.reports,
            cooperative: ir.cooperative,
        })
    }

    /// Returns the function, ready for launches with `shared` bytes of dynamic shared memory.
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

    fn attributes(&self) -> cuprous_core::Result<Vec<(&'static str, u64)>> {
        Ok(self.loaded.attributes())
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

/// A module of CUDA C++, or a cubin.
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
            let mut nvrtc_options = CompileOptions::new(&gpu.target);
            nvrtc_options.user_source = true;
            nvrtc_options.extra.extend_from_slice(options);
            modules::cubin(gpu, &source, name, &nvrtc_options)?
        };
        Ok(CudaModule { gpu: gpu.clone(), module: Arc::new(Module::load(gpu.context, &cubin)?) })
    }
}

impl RawModule for CudaModule {
    fn kernel(&self, name: &str) -> cuprous_core::Result<Arc<dyn RawKernel>> {
        let loaded = LoadedKernel::new(&self.gpu, &self.module, name).map_err(translate)?;
        Ok(Arc::new(CudaFunction(loaded)))
    }

    fn global(&self, name: &str) -> cuprous_core::Result<(u64, usize)> {
        let find = || self.module.global(&c_string(name)?);
        find().map(|(address, bytes)| (address.0, bytes)).map_err(translate)
    }
}

/// A kernel of a [`CudaModule`].
struct CudaFunction(LoadedKernel);

impl RawKernel for CudaFunction {
    fn launch(&self, launch: &Launch, args: &[u8], starts: &[u32]) -> cuprous_core::Result<()> {
        self.0.check(launch)?;
        self.0.submit(launch, args, starts).map_err(translate)
    }

    fn attributes(&self) -> cuprous_core::Result<Vec<(&'static str, u64)>> {
        Ok(self.0.attributes())
    }
}
