//! One GPU: its context, streams, memory pool and libraries. Everything that a device hands out shares it.

use std::any::Any;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use cuprous_core::profile::{self, Kind};
use cuprous_core::{Error, presence};
use cuprous_plan::device::Mark;

use crate::cache::DiskCache;
use crate::codegen::{Arch, Vendor};
use crate::cublaslt::{CublasLt, WORKSPACE_BYTES, Workspace};
use crate::cudnn::Cudnn;
use crate::cufft;
use crate::cusolver::Cusolver;
use crate::cusparse::Cusparse;
use crate::driver::{self, Context, DevPtr, DeviceInfo, Event, Stream};
use crate::error::{CudaError, Result, translate};
use crate::pool::{DeviceSegments, Pool};
use crate::staging::{CopyStream, Pinned, Staging};
use crate::templates::{Kernels, Templates};
use crate::timing::{SpanStart, Timing};

/// Fewer tasks than this gain nothing by a graph.
pub(crate) const MIN_GRAPH_TASKS: usize = 2;
/// The number of tasks on a GPU of AMD, until `cuprous calibrate` has measured it. Replaying took 15 µs for one node and 3.9
/// µs a node for 941 (gfx1100, ROCm's issue rocm-systems#10834). At some 5 µs a launch, ten nodes take the same either way.
const AMD_GRAPH_TASKS: usize = 10;

/// The state of one GPU, shared by its programs, kernels, buffers and marks. All work runs in order on `stream`, except
/// large copies from the host (`copy_stream`) and early reads (`reads`).
///
/// Lock order, where several are held: `staging`, `copy_stream`, `pinned`, `pool`; `timing` last.
pub(crate) struct Gpu {
    pub(crate) context: &'static Context,
    pub(crate) stream: Stream,
    pub(crate) arch: Arch,
    /// The device's own target, such as `sm_90`.
    pub(crate) target: String,
    pub(crate) cache: DiskCache,
    /// Kernels by source, each loaded once for the life of the process.
    pub(crate) kernels: Mutex<Kernels>,
    /// Generated code by kernel.
    pub(crate) templates: Mutex<Templates>,
    pub(crate) counters: Counters,
    pub(crate) pool: Mutex<Pool<DeviceSegments>>,
    pub(crate) staging: Mutex<Staging>,
    /// Created at the first large copy from the host.
    pub(crate) copy_stream: Mutex<Option<CopyStream>>,
    pub(crate) pinned: Mutex<Pinned>,
    blas: Mutex<Option<(CublasLt, Workspace)>>,
    pub(crate) ffts: Mutex<cufft::Plans>,
    solver: Mutex<Option<Cusolver>>,
    sparse: Mutex<Option<Cusparse>>,
    dnn: Mutex<Option<Cudnn>>,
    /// Set while a profile is being recorded.
    timing: Mutex<Option<Timing>>,
    /// Set once other code was given memory or streams of this device: its work may lie between two of our programs.
    shared: AtomicBool,
    /// Events of the last profile, reused by the next one.
    pub(crate) events: Mutex<Vec<Event>>,
    /// The stream for values that are read before the submitted work is done.
    pub(crate) reads: OnceLock<Stream>,
    /// The number of tasks from which a program runs as a graph.
    pub(crate) graph_from: AtomicUsize,
}

/// Counters of this device that `stats()` shows.
#[derive(Default)]
pub(crate) struct Counters {
    pub(crate) launches: AtomicU64,
    pub(crate) graph_launches: AtomicU64,
    pub(crate) graphs_built: AtomicU64,
    pub(crate) graph_patches: AtomicU64,
    pub(crate) kernels_compiled: AtomicU64,
    pub(crate) kernels_from_disk: AtomicU64,
    /// Kernels of planned programs, whether or not their code was new.
    pub(crate) kernels_generated: AtomicU64,
    pub(crate) modules_loaded: AtomicU64,
    /// How often a library was asked for the algorithm of a problem.
    pub(crate) library_queries: AtomicU64,
    /// Nanoseconds in which the code of planned programs was generated.
    pub(crate) codegen_ns: AtomicU64,
}

impl Counters {
    pub(crate) fn add(counter: &AtomicU64, n: u64) {
        counter.fetch_add(n, Relaxed);
    }
}

/// Locks a mutex, poisoned or not: no code under these locks panics while their contents are inconsistent.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|e| e.into_inner())
}

/// Returns the value of `slot`, created on first use. After a failure the next use tries again.
pub(crate) fn get_or_create<T>(slot: &mut Option<T>, create: impl FnOnce() -> Result<T>) -> Result<&mut T> {
    Ok(match slot {
        Some(value) => value,
        empty => empty.insert(create()?),
    })
}

impl Gpu {
    /// Starts CUDA on a GPU.
    ///
    /// # Errors
    /// No usable driver, no such device, or NVRTC is not installed.
    pub(crate) fn start(ordinal: usize) -> Result<Gpu> {
        if let Some(reason) = driver::why_unavailable() {
            return Err(CudaError::Unsupported(format!("{reason}; `cuprous doctor` says what to do")));
        }
        driver::init()?;
        // Nothing runs without the compiler, so its absence is reported here and not in the middle of a program.
        match driver::vendor() {
            Vendor::Nvidia if cuprous_cuda_sys::nvrtc_file().is_some() => {}
            Vendor::Nvidia => {
                cuprous_cuda_sys::nvrtc()?;
            }
            Vendor::Amd => {
                cuprous_hip_sys::hiprtc_files()?;
            }
        }
        let context = Context::of_device(ordinal)?;
        context.make_current()?;
        let info: DeviceInfo = driver::device_info(ordinal)?;
        let (major, minor) = info.compute_capability;
        let arch = Arch {
            vendor: driver::vendor(),
            major,
            minor,
            sms: info.sm_count,
            l2_bytes: info.l2_bytes as usize,
            max_shared: info.shared_per_block_optin as usize,
        };
        let counters = presence::counters(presence::Device::Cuda(ordinal as u32, info.uuid));
        Ok(Gpu {
            context,
            stream: Stream::blocking(context)?,
            arch,
            target: driver::target(ordinal, info.compute_capability)?,
            cache: DiskCache::open_default(),
            kernels: Mutex::default(),
            templates: Mutex::default(),
            counters: Counters::default(),
            pool: Mutex::new(Pool::new(DeviceSegments::new(context)).counted_by(counters).exact(wants_exact_pool())),
            staging: Mutex::new(Staging::new(context)),
            copy_stream: Mutex::new(None),
            pinned: Mutex::default(),
            blas: Mutex::new(None),
            ffts: Mutex::default(),
            solver: Mutex::new(None),
            sparse: Mutex::new(None),
            dnn: Mutex::new(None),
            timing: Mutex::default(),
            shared: AtomicBool::new(false),
            events: Mutex::default(),
            reads: OnceLock::new(),
            graph_from: AtomicUsize::new(match arch.vendor {
                Vendor::Nvidia => MIN_GRAPH_TASKS,
                Vendor::Amd => AMD_GRAPH_TASKS,
            }),
        })
    }

    /// Allocates device memory from the pool.
    pub(crate) fn alloc(&self, bytes: usize) -> Result<DevPtr> {
        self.context.make_current()?;
        let first = lock(&self.pool).alloc(bytes as u64);
        match first {
            // Blocks that wait for the next copy may be what is missing. If their lock is taken, a copy is about to
            // use them.
            Err(error) if error.is_out_of_memory() && self.free_waiting_blocks() => {
                lock(&self.pool).alloc(bytes as u64)
            }
            first => first,
        }
    }

    /// Gives device memory back to the pool.
    pub(crate) fn free(&self, address: DevPtr) {
        if !address.is_null() {
            lock(&self.pool).free(address);
        }
    }

    /// Gives all blocks that wait for the next copy back to the pool. Returns true if there were any; false while a
    /// copy is being submitted.
    pub(crate) fn free_waiting_blocks(&self) -> bool {
        let waiting = match self.copy_stream.try_lock() {
            Ok(mut copies) => copies.as_mut().map(CopyStream::take_all).unwrap_or_default(),
            Err(_) => return false,
        };
        waiting.iter().for_each(|&address| self.free(address));
        !waiting.is_empty()
    }

    /// The events of the profile that is being recorded, if any.
    pub(crate) fn timing(&self) -> MutexGuard<'_, Option<Timing>> {
        lock(&self.timing)
    }

    /// Runs `submit`, which submits work to a stream. While a profile is recorded, measures how long the work takes
    /// there.
    pub(crate) fn timed<T>(&self, what: (Kind, u64), stream: &Stream, submit: impl FnOnce() -> Result<T>) -> Result<T> {
        let Some(origin) = profile::current() else { return submit() };
        let working = stream.raw() == self.stream.raw();
        let start = self.begin_timing(stream);
        let result = submit();
        if let (Some(start), Some(timing)) = (start, self.timing().as_mut()) {
            let _at_worst_not_noted = timing.end(start, origin, what, (stream, working));
        }
        result
    }

    /// Begins a span of the profile: work is about to be submitted to a stream.
    pub(crate) fn begin_timing(&self, stream: &Stream) -> Option<SpanStart> {
        let exclusive = stream.raw() == self.stream.raw() && !self.shared.load(Relaxed);
        let mut timing = self.timing();
        let timing = timing.as_mut()?;
        if exclusive { timing.begin_working(stream) } else { timing.begin(stream) }.ok()
    }

    /// Notes that other code works on this device from now on.
    pub(crate) fn mark_shared(&self) {
        self.shared.store(true, Relaxed);
    }

    /// Notes that the working stream was given unmeasured work or a wait. The next span of the profile begins after it.
    pub(crate) fn mark_profile_gap(&self) {
        if profile::on()
            && let Some(timing) = self.timing().as_mut()
        {
            timing.mark_gap();
        }
    }

    /// Runs `f` with cuBLASLt and its workspace, loaded on first use.
    pub(crate) fn with_blas<T>(&self, f: impl FnOnce(&mut CublasLt, Workspace) -> Result<T>) -> Result<T> {
        let mut blas = lock(&self.blas);
        let (library, workspace) = get_or_create(&mut blas, || {
            let library = CublasLt::new(self.context)?;
            let start = self.alloc(WORKSPACE_BYTES)?;
            Ok((library, Workspace { start, bytes: WORKSPACE_BYTES }))
        })?;
        let before = library.queries;
        let result = f(library, *workspace);
        Counters::add(&self.counters.library_queries, library.queries - before);
        result
    }

    /// Returns a plan for Fourier transforms. Its tables do not come from the pool, so the pool releases its free
    /// memory if there is too little for them.
    pub(crate) fn fft_plan(&self, batch: &cufft::Batch) -> Result<Arc<cufft::Plan>> {
        lock(&self.ffts).get(batch, || match cufft::Plan::new(self.context, batch) {
            Err(error) if error.is_out_of_memory() => {
                lock(&self.pool).free_all_blocks()?;
                cufft::Plan::new(self.context, batch)
            }
            plan => plan,
        })
    }

    /// Runs `f` with cuSOLVER, loaded on first use.
    pub(crate) fn with_solver<T>(&self, f: impl FnOnce(&mut Cusolver) -> Result<T>) -> Result<T> {
        f(get_or_create(&mut lock(&self.solver), || Cusolver::new(self.context))?)
    }

    /// Runs `f` with cuSPARSE, loaded on first use.
    pub(crate) fn with_sparse<T>(&self, f: impl FnOnce(&mut Cusparse) -> Result<T>) -> Result<T> {
        f(get_or_create(&mut lock(&self.sparse), || Cusparse::new(self.context))?)
    }

    /// Runs `f` with cuDNN, loaded on first use.
    pub(crate) fn with_dnn<T>(&self, f: impl FnOnce(&mut Cudnn) -> Result<T>) -> Result<T> {
        if self.arch.vendor == Vendor::Amd {
            return Err(CudaError::Unsupported(
                "fused convolutions, attention and recurrent layers need MIOpen on a GPU of AMD, which Cuprous does not \
                 call"
                    .into(),
            ));
        }
        let mut dnn = lock(&self.dnn);
        let library = get_or_create(&mut dnn, || Cudnn::new(self.context))?;
        let before = library.queries;
        let result = f(library);
        Counters::add(&self.counters.library_queries, library.queries - before);
        result
    }
}

/// An event on the device's stream.
pub(crate) struct EventMark(pub(crate) Event);

impl Mark for EventMark {
    fn wait(&self) -> cuprous_core::Result<()> {
        self.0.synchronize().map_err(translate)
    }
    fn done(&self) -> cuprous_core::Result<bool> {
        self.0.is_done().map_err(translate)
    }
    fn milliseconds_to(&self, later: &dyn Mark) -> cuprous_core::Result<f64> {
        match later.as_any().downcast_ref::<EventMark>() {
            Some(later) => later.0.elapsed_ms(&self.0).map(f64::from).map_err(translate),
            None => Err(Error::value("[Event] the two events belong to different devices")),
        }
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Returns true if `CUPROUS_CUDA_POOL=exact` is set, for runs under a memory checker.
fn wants_exact_pool() -> bool {
    std::env::var_os("CUPROUS_CUDA_POOL").is_some_and(|value| value == "exact")
}
