//! The CUDA device as the engine sees it.

use std::any::Any;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use cuprous_core::presence;
use cuprous_core::profile::{self, Kind};
use cuprous_core::recurrent::{Layers, Recurrence};
use cuprous_core::{Buffer, Error, Memory, RoutineOp};
use cuprous_plan::device::{DeviceKernels, DeviceMemory, DeviceOrder, DevicePrograms, DeviceStatistics, Mark};
use cuprous_plan::{Device, Executable, KernelRef, Program, RawModule};

use crate::cache::DiskCache;
use crate::codegen::Arch;
use crate::compile;
use crate::cublaslt::{CublasLt, WORKSPACE_BYTES, Workspace};
use crate::cudnn::{Convolution, Cudnn};
use crate::cufft;
use crate::cusolver::Cusolver;
use crate::cusparse::Cusparse;
use crate::driver::{self, Context, DevPtr, DeviceInfo, Event, Stream};
use crate::error::{CudaError, Result, translate};
use crate::link;
use crate::pool::{DeviceSegments, Pool};
use crate::staging::{APART, Arrivals, Pinned, Staging};
use crate::timing::{Begun, Timing};
use crate::user::{CudaKernel, CudaModule};

/// What devices are called, by number: as many as an array can name.
const NAMES: [&str; 16] = [
    "cuda:0", "cuda:1", "cuda:2", "cuda:3", "cuda:4", "cuda:5", "cuda:6", "cuda:7", "cuda:8", "cuda:9", "cuda:10",
    "cuda:11", "cuda:12", "cuda:13", "cuda:14", "cuda:15",
];

/// One GPU. All its work runs in order on one stream.
pub struct CudaDevice(Arc<Gpu>);

/// What programs, buffers and marks of a device share.
pub(crate) struct Gpu {
    pub(crate) context: &'static Context,
    pub(crate) stream: Stream,
    pub(crate) arch: Arch,
    /// The device's own target, such as `sm_90`.
    pub(crate) target: String,
    pub(crate) cache: DiskCache,
    pub(crate) modules: compile::Modules,
    pub(crate) counters: Counters,
    pool: Mutex<Pool<DeviceSegments>>,
    staging: Mutex<Staging>,
    /// Locks are taken in this order, where several are: `staging`, `arrivals`, `pinned`, `pool`.
    arrivals: Mutex<Option<Arrivals>>,
    pinned: Mutex<Pinned>,
    blas: Mutex<Option<(CublasLt, Workspace)>>,
    ffts: Mutex<cufft::Plans>,
    solver: Mutex<Option<Cusolver>>,
    sparse: Mutex<Option<Cusparse>>,
    dnn: Mutex<Option<Cudnn>>,
    /// While a profile is made. Taken last.
    timing: Mutex<Option<Timing>>,
    /// Others were given memory or streams of ours.
    beside: AtomicBool,
    /// Those of the last profile, for the next.
    events: Mutex<Vec<Event>>,
    /// For values that are read before the work given so far is done.
    reads: OnceLock<Stream>,
}

/// What `stats()` shows of this device.
#[derive(Default)]
pub(crate) struct Counters {
    pub(crate) launches: AtomicU64,
    pub(crate) graph_launches: AtomicU64,
    pub(crate) graphs_built: AtomicU64,
    pub(crate) graph_patches: AtomicU64,
    pub(crate) kernels_compiled: AtomicU64,
    pub(crate) kernels_from_disk: AtomicU64,
}

impl Counters {
    pub(crate) fn add(counter: &AtomicU64, n: u64) {
        counter.fetch_add(n, Relaxed);
    }
}

impl CudaDevice {
    /// Starts CUDA on a GPU.
    ///
    /// # Errors
    /// No driver, one that is too old, no such device, or NVRTC is not installed: each says what to do.
    pub fn new(index: u32) -> cuprous_core::Result<CudaDevice> {
        CudaDevice::start(index as usize).map_err(translate)
    }

    fn start(ordinal: usize) -> Result<CudaDevice> {
        if let Some(reason) = driver::why_unavailable() {
            return Err(CudaError::Unsupported(format!("{reason}; `cuprous doctor` says what to do")));
        }
        driver::init()?;
        // Without the compiler nothing can run: say so here and not in the middle of a program.
        if cuprous_cuda_sys::nvrtc_file().is_none() {
            cuprous_cuda_sys::nvrtc()?;
        }
        let context = Context::of_device(ordinal)?;
        context.make_current()?;
        let info: DeviceInfo = driver::device_info(ordinal)?;
        let (major, minor) = info.compute_capability;
        let arch = Arch {
            major,
            minor,
            sms: info.sm_count,
            l2_bytes: info.l2_bytes as usize,
            max_shared: info.shared_per_block_optin as usize,
        };
        let counters = presence::counters(presence::Device::Cuda(ordinal as u32, info.uuid));
        Ok(CudaDevice(Arc::new(Gpu {
            context,
            stream: Stream::blocking(context)?,
            arch,
            target: format!("sm_{major}{minor}"),
            cache: DiskCache::open_default(),
            modules: compile::Modules::default(),
            counters: Counters::default(),
            pool: Mutex::new(Pool::new(DeviceSegments::new(context)).counted_by(counters)),
            staging: Mutex::new(Staging::new(context)),
            arrivals: Mutex::new(None),
            pinned: Mutex::default(),
            blas: Mutex::new(None),
            ffts: Mutex::default(),
            solver: Mutex::new(None),
            sparse: Mutex::new(None),
            dnn: Mutex::new(None),
            timing: Mutex::default(),
            beside: AtomicBool::new(false),
            events: Mutex::default(),
            reads: OnceLock::new(),
        })))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing under these locks can leave them half changed and panic.
    mutex.lock().unwrap_or_else(|e| e.into_inner())
}

impl Gpu {
    pub(crate) fn alloc(&self, bytes: usize) -> Result<DevPtr> {
        self.context.make_current()?;
        let first = lock(&self.pool).alloc(bytes as u64);
        match first {
            // Blocks that wait for the next copy may be what is missing. Who holds their lock is about to copy.
            Err(error) if error.is_out_of_memory() && self.return_arrivals() => lock(&self.pool).alloc(bytes as u64),
            first => first,
        }
    }

    pub(crate) fn free(&self, address: DevPtr) {
        if !address.is_null() {
            lock(&self.pool).free(address);
        }
    }

    /// The events of a profile, where one is being made.
    pub(crate) fn timing(&self) -> MutexGuard<'_, Option<Timing>> {
        lock(&self.timing)
    }

    /// Submits something to a stream; a profile learns how long it took there.
    pub(crate) fn timed<T>(&self, what: (Kind, u64), stream: &Stream, submit: impl FnOnce() -> Result<T>) -> Result<T> {
        let Some(note) = profile::current() else { return submit() };
        let working = stream.raw() == self.stream.raw();
        let begun = self.begin_timing(stream);
        let result = submit();
        if let (Some(begun), Some(timing)) = (begun, self.timing().as_mut()) {
            let _at_worst_not_noted = timing.end(begun, note, what, (stream, working));
        }
        result
    }

    /// Something is about to be given to a stream, for a profile.
    pub(crate) fn begin_timing(&self, stream: &Stream) -> Option<Begun> {
        let alone = stream.raw() == self.stream.raw() && !self.beside.load(Relaxed);
        let mut timing = self.timing();
        let timing = timing.as_mut()?;
        if alone { timing.begin_working(stream) } else { timing.begin(stream) }.ok()
    }

    /// Others work on the same device from now on: their work may lie between two programs of ours.
    fn stay_apart(&self) {
        self.beside.store(true, Relaxed);
    }

    /// Something that no profile measures was given to the working stream, or that waits: what comes next begins after it.
    fn set_apart(&self) {
        if profile::on()
            && let Some(timing) = self.timing().as_mut()
        {
            timing.apart();
        }
    }

    /// cuBLASLt with its workspace, loaded on first use.
    pub(crate) fn with_blas<T>(&self, f: impl FnOnce(&mut CublasLt, Workspace) -> Result<T>) -> Result<T> {
        let mut blas = lock(&self.blas);
        if blas.is_none() {
            let library = CublasLt::new(self.context)?;
            let start = self.alloc(WORKSPACE_BYTES)?;
            *blas = Some((library, Workspace { start, bytes: WORKSPACE_BYTES }));
        }
        let (library, workspace) = blas.as_mut().expect("just made");
        f(library, *workspace)
    }

    /// A plan for Fourier transforms. Its tables do not come from the pool, which therefore gives back what is free
    /// where there is no memory for them.
    pub(crate) fn fft_plan(&self, batch: &cufft::Batch) -> Result<Arc<cufft::Plan>> {
        lock(&self.ffts).get(batch, || match cufft::Plan::new(self.context, batch) {
            Err(error) if error.is_out_of_memory() => {
                lock(&self.pool).free_all_blocks()?;
                cufft::Plan::new(self.context, batch)
            }
            plan => plan,
        })
    }

    /// cuSOLVER, loaded on first use.
    pub(crate) fn with_solver<T>(&self, f: impl FnOnce(&mut Cusolver) -> Result<T>) -> Result<T> {
        let mut solver = lock(&self.solver);
        match solver.as_mut() {
            Some(library) => f(library),
            None => f(solver.insert(Cusolver::new(self.context)?)),
        }
    }

    /// cuSPARSE, loaded on first use.
    pub(crate) fn with_sparse<T>(&self, f: impl FnOnce(&mut Cusparse) -> Result<T>) -> Result<T> {
        let mut sparse = lock(&self.sparse);
        if sparse.is_none() {
            *sparse = Some(Cusparse::new(self.context)?);
        }
        f(sparse.as_mut().expect("just made"))
    }

    /// cuDNN, loaded on first use.
    pub(crate) fn with_dnn<T>(&self, f: impl FnOnce(&mut Cudnn) -> Result<T>) -> Result<T> {
        let mut dnn = lock(&self.dnn);
        if dnn.is_none() {
            *dnn = Some(Cudnn::new(self.context)?);
        }
        f(dnn.as_mut().expect("just made"))
    }
}

impl Gpu {
    /// A block with those bytes, by the copying stream.
    fn arrive(self: &Arc<Gpu>, from: &[u8], wait: bool) -> Result<Buffer> {
        self.context.make_current()?;
        let mut staging = lock(&self.staging);
        let mut arrivals = lock(&self.arrivals);
        let arrivals = match arrivals.as_mut() {
            Some(arrivals) => arrivals,
            None => arrivals.insert(Arrivals::new(self.context)?),
        };
        let want = from.len() as u64;
        let address = match arrivals.take(want)? {
            Some(address) => address,
            None => {
                let block = lock(&self.pool).alloc(want);
                let address = match block {
                    Err(error) if error.is_out_of_memory() => {
                        arrivals.empty().into_iter().for_each(|address| self.free(address));
                        lock(&self.pool).alloc(want)?
                    }
                    block => block?,
                };
                arrivals.follow(&self.stream)?;
                address
            }
        };
        let mut copy = || -> Result<()> {
            let mut pinned = lock(&self.pinned);
            let by_itself = pinned.holds(from.as_ptr(), from.len());
            self.timed((Kind::Copy, want), arrivals.stream(), || {
                if by_itself {
                    // SAFETY: the block has that many bytes; page-locked memory is given to nobody else before its copies
                    // are done.
                    unsafe { driver::memcpy_htod_async(address, from.as_ptr(), from.len(), arrivals.stream())? };
                    pinned.note(from.as_ptr(), arrivals.stream())
                } else {
                    // SAFETY: the block has that many bytes; the slice outlives the call, which returns when it has been
                    // read.
                    unsafe { staging.upload(address, from.as_ptr(), from.len(), arrivals.stream()) }
                }
            })?;
            arrivals.lead(&self.stream)?;
            self.set_apart();
            if wait && by_itself { arrivals.stream().synchronize() } else { Ok(()) }
        };
        if let Err(error) = copy() {
            self.free(address);
            return Err(error);
        }
        let whole = lock(&self.pool).block_bytes(address).unwrap_or(want);
        Ok(Arc::new(Arrived { block: Block { gpu: self.clone(), address, bytes: from.len() }, whole }))
    }

    /// Gives all blocks that wait for the next copy to the pool; were there any? Not while somebody copies.
    fn return_arrivals(&self) -> bool {
        let waiting = match self.arrivals.try_lock() {
            Ok(mut arrivals) => arrivals.as_mut().map(Arrivals::empty).unwrap_or_default(),
            Err(_) => return false,
        };
        waiting.iter().for_each(|&address| self.free(address));
        !waiting.is_empty()
    }
}

/// A block that came from the host, and its size in the pool.
struct Arrived {
    block: Block,
    whole: u64,
}

impl Memory for Arrived {
    fn address(&self) -> u64 {
        self.block.address()
    }
    fn bytes(&self) -> usize {
        self.block.bytes()
    }
}

impl Drop for Arrived {
    /// The next copy may have it.
    fn drop(&mut self) {
        let Block { gpu, address, .. } = &mut self.block;
        let mut arrivals = lock(&gpu.arrivals);
        let Some(arrivals) = arrivals.as_mut() else { return };
        if let Ok(gone) = arrivals.give_back(*address, self.whole, &gpu.stream) {
            *address = DevPtr::NULL; // it is theirs now
            gone.into_iter().for_each(|address| gpu.free(address));
        }
    }
}

/// Page-locked memory of the host.
struct PageLocked {
    gpu: Arc<Gpu>,
    address: u64,
    bytes: usize,
}

impl Memory for PageLocked {
    fn address(&self) -> u64 {
        self.address
    }
    fn bytes(&self) -> usize {
        self.bytes
    }
    fn is_page_locked(&self) -> bool {
        true
    }
}

impl Drop for PageLocked {
    fn drop(&mut self) {
        lock(&self.gpu.pinned).free(self.address);
    }
}

/// A block of a device's pool.
struct Block {
    gpu: Arc<Gpu>,
    address: DevPtr,
    bytes: usize,
}

impl Memory for Block {
    fn address(&self) -> u64 {
        self.address.0
    }
    fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        self.gpu.free(self.address);
    }
}

impl CudaDevice {
    /// A stream by the handle that its owner gave out.
    fn foreign(&self, handle: u64) -> Stream {
        // SAFETY: whoever hands over a stream keeps it alive, in the primary context, while it is waited for.
        unsafe { Stream::from_raw(self.0.context, handle as usize) }
    }
}

impl Device for CudaDevice {
    fn name(&self) -> &'static str {
        NAMES.get(self.0.context.ordinal()).copied().unwrap_or("cuda")
    }
}

impl DeviceMemory for CudaDevice {
    fn is_host(&self) -> bool {
        false
    }

    fn has_addresses(&self) -> bool {
        true
    }

    fn alloc(&self, bytes: usize) -> cuprous_core::Result<Buffer> {
        let address = self.0.alloc(bytes).map_err(translate)?;
        Ok(Arc::new(Block { gpu: self.0.clone(), address, bytes }))
    }

    fn upload(&self, from: &[u8], wait: bool) -> cuprous_core::Result<Buffer> {
        if from.len() >= APART {
            return self.0.arrive(from, wait).map_err(translate);
        }
        let block = self.alloc(from.len())?;
        let gpu = &self.0;
        let copy = || {
            gpu.context.make_current()?;
            gpu.set_apart();
            let to = DevPtr(block.address());
            // SAFETY: the block was just made; the slice outlives the call, which returns when it has been read.
            unsafe { lock(&gpu.staging).upload(to, from.as_ptr(), from.len(), &gpu.stream) }
        };
        copy().map_err(translate)?;
        Ok(block)
    }

    fn download(&self, from: u64, to: &mut [u8]) -> cuprous_core::Result<()> {
        let gpu = &self.0;
        let mut copy = || {
            gpu.context.make_current()?;
            // SAFETY: as for uploads; the call returns when the slice has been written.
            unsafe { lock(&gpu.staging).download(to.as_mut_ptr(), DevPtr(from), to.len(), &gpu.stream) }
        };
        copy().map_err(translate)
    }

    fn download_after(&self, mark: &dyn Mark, from: u64, to: &mut [u8]) -> cuprous_core::Result<()> {
        let Some(mark) = mark.as_any().downcast_ref::<EventMark>() else { return self.download(from, to) };
        let gpu = &self.0;
        let mut copy = || {
            gpu.context.make_current()?;
            let reads = match gpu.reads.get() {
                Some(reads) => reads,
                None => {
                    let made = Stream::new(gpu.context)?;
                    gpu.reads.get_or_init(|| made)
                }
            };
            reads.wait_event(&mark.0)?;
            // SAFETY: as for uploads; the call returns when the slice has been written.
            unsafe { lock(&gpu.staging).download(to.as_mut_ptr(), DevPtr(from), to.len(), reads) }
        };
        copy().map_err(translate)
    }

    fn page_locked(&self, bytes: usize) -> cuprous_core::Result<Buffer> {
        let gpu = &self.0;
        let address = lock(&gpu.pinned).alloc(gpu.context, bytes).map_err(translate)?;
        Ok(Arc::new(PageLocked { gpu: gpu.clone(), address, bytes }))
    }

    fn trim(&self) {
        let _ = self.0.context.make_current();
        self.0.return_arrivals();
        lock(&self.0.ffts).clear();
        let _ = lock(&self.0.pool).free_all_blocks();
    }

    fn set_memory_limit(&self, bytes: u64) -> cuprous_core::Result<()> {
        lock(&self.0.pool).set_limit((bytes > 0).then_some(bytes));
        Ok(())
    }
}

impl DevicePrograms for CudaDevice {
    fn supports(&self, call: &RoutineOp) -> bool {
        match call {
            // Without the library, or where it has no engine, convolutions are recorded as products of windows.
            RoutineOp::Convolve(part, geometry) => {
                let problem = Convolution { part: *part, geometry: geometry.clone() };
                Convolution::known(geometry) && self.0.with_dnn(|dnn| dnn.convolves(&problem)).unwrap_or(false)
            }
            RoutineOp::Recur(r) | RoutineOp::RecurBackward(r) => self.recurrence(&r.of).is_some(),
            // Without the library, or where it refuses, products and a softmax are recorded.
            RoutineOp::Attend(of) | RoutineOp::AttendBackward(of) => {
                self.0.with_dnn(|dnn| dnn.attends(of)).unwrap_or(false)
            }
            RoutineOp::Steps(_) | RoutineOp::StepsBackward(_) => false,
            _ => true,
        }
    }

    fn recurrence(&self, layers: &Layers) -> Option<Arc<Recurrence>> {
        // Without the library, or where it refuses, steps are recorded one by one.
        self.0.with_dnn(|dnn| dnn.recurrence(layers)).ok().flatten()
    }

    fn compile(&self, program: &Arc<Program>) -> cuprous_core::Result<Box<dyn Executable>> {
        let executable = compile::compile(&self.0, program).map_err(translate)?;
        Ok(Box::new(executable))
    }

    fn prepare(&self, programs: &[Arc<Program>], progress: &mut dyn FnMut(usize, usize)) {
        // The run that needs what failed will say why.
        let _told_later = compile::prepare(&self.0, programs, progress);
    }

    fn source(&self, program: &Program) -> cuprous_core::Result<String> {
        Ok(compile::source(self.0.arch, program))
    }
}

impl DeviceKernels for CudaDevice {
    fn user_kernel(
        &self,
        module: &cuprous_kernel::Module,
        options: &cuprous_kernel::Options,
    ) -> cuprous_core::Result<KernelRef> {
        let kernel = CudaKernel::new(&self.0, module, options).map_err(translate)?;
        Ok(Arc::new(kernel))
    }

    fn raw_module(
        &self,
        code: &[u8],
        binary: bool,
        name: &str,
        options: &[String],
    ) -> cuprous_core::Result<Arc<dyn RawModule>> {
        Ok(Arc::new(CudaModule::new(&self.0, code, binary, name, options).map_err(translate)?))
    }

    fn link(
        &self,
        code: &[u8],
        objects: &[cuprous_kernel::linked::Object],
        name: &str,
    ) -> cuprous_core::Result<Arc<[u8]>> {
        link::link(&self.0, code, objects, name, None).map_err(translate)
    }
}

impl DeviceOrder for CudaDevice {
    fn is_asynchronous(&self) -> bool {
        true
    }

    fn is_asynchronous_at(&self, _: u64) -> bool {
        true
    }

    fn synchronize(&self) -> cuprous_core::Result<()> {
        self.0.stream.synchronize().map_err(translate)
    }

    fn mark(&self) -> cuprous_core::Result<Box<dyn Mark>> {
        let make = || {
            self.0.context.make_current()?;
            let event = Event::with_timing(self.0.context)?;
            event.record(&self.0.stream)?;
            Ok(event)
        };
        Ok(Box::new(EventMark(make().map_err(translate)?)))
    }

    fn is_idle(&self) -> cuprous_core::Result<bool> {
        self.0.stream.is_done().map_err(translate)
    }

    fn wait_for_stream(&self, stream: u64) -> cuprous_core::Result<()> {
        self.0.stay_apart();
        self.0.context.make_current().and_then(|()| self.foreign(stream).synchronize()).map_err(translate)
    }

    fn is_stream_done(&self, stream: u64) -> cuprous_core::Result<bool> {
        self.0.context.make_current().and_then(|()| self.foreign(stream).is_done()).map_err(translate)
    }

    fn stream(&self) -> u64 {
        self.0.stay_apart();
        self.0.stream.raw() as u64
    }

    fn hand_over(&self, stream: Option<i64>) -> cuprous_core::Result<()> {
        self.0.stay_apart();
        // 0 and 1 are the legacy default stream, which is ordered with ours by itself; -1 asks for nothing.
        match stream {
            None | Some(-1..=1) => Ok(()),
            Some(_) => self.synchronize(),
        }
    }
}

impl DeviceStatistics for CudaDevice {
    fn counters(&self) -> Vec<(&'static str, u64)> {
        let c = &self.0.counters;
        let read = |n: &AtomicU64| n.load(Relaxed);
        vec![
            ("launches", read(&c.launches)),
            ("graph_launches", read(&c.graph_launches)),
            ("graphs_built", read(&c.graphs_built)),
            ("graph_patches", read(&c.graph_patches)),
            ("kernels_compiled", read(&c.kernels_compiled)),
            ("kernels_from_disk", read(&c.kernels_from_disk)),
        ]
    }

    fn memory(&self) -> Vec<(&'static str, u64)> {
        // Blocks that wait for the next copy are nobody's.
        let waiting = lock(&self.0.arrivals).as_ref().map_or(0, Arrivals::waiting_bytes);
        let pool = lock(&self.0.pool);
        let stats = pool.stats();
        vec![
            ("used_bytes", stats.used_bytes - waiting),
            ("free_bytes", stats.free_bytes + waiting),
            ("total_bytes", stats.total_bytes),
            ("limit_bytes", pool.limit().unwrap_or(0)),
            ("n_free_blocks", stats.n_free_blocks as u64),
            ("peak_bytes", stats.peak_bytes),
        ]
    }

    fn reset_peak(&self) {
        // The peak counts waiting blocks, `used_bytes` does not: without them, the peak starts at what is used.
        self.0.return_arrivals();
        lock(&self.0.pool).reset_peak();
    }

    fn set_profiling(&self, on: bool) -> cuprous_core::Result<()> {
        let gpu = &self.0;
        if on {
            let events = std::mem::take(&mut *lock(&gpu.events));
            let timing = Timing::new(gpu.context, &gpu.stream, events).map_err(translate)?;
            *gpu.timing() = Some(timing);
        } else if let Some(mut timing) = gpu.timing().take() {
            gpu.context.make_current().map_err(translate)?;
            timing.read();
            *lock(&gpu.events) = timing.into_events();
        }
        Ok(())
    }

    fn explain(&self) -> String {
        String::new()
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
