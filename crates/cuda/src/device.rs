//! The CUDA device as the engine sees it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use cuprous_core::recurrent::{Layers, Recurrence};
use cuprous_core::{Buffer, LinalgOp, RoutineOp};
use cuprous_plan::device::{DeviceKernels, DeviceMemory, DeviceOrder, DevicePrograms, DeviceStatistics, Mark};
use cuprous_plan::{Device, Executable, KernelRef, Program, RawModule};

use crate::buffers::{Block, PageLocked};
use crate::codegen::{Vendor, attend};
use crate::compile;
use crate::cudnn::Convolution;
use crate::driver::{self, Context, DevPtr, Event, Stream};
use crate::error::translate;
use crate::gpu::{EventMark, Gpu, MIN_GRAPH_TASKS, lock};
use crate::kernel::{CudaKernel, CudaModule};
use crate::link;
use crate::source;
use crate::staging::{COPY_STREAM_BYTES, CopyStream};
use crate::timing::Timing;

/// Defines the names of devices by number, as many as an array can name.
macro_rules! names {
    ($kind:literal: $($number:literal)*) => { [$(concat!($kind, ":", $number)),*] };
}
const CUDA_NAMES: [&str; 16] = names!("cuda": 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
const HIP_NAMES: [&str; 16] = names!("hip": 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);

/// One GPU. All its work runs in order on one stream.
pub struct CudaDevice(Arc<Gpu>);

impl CudaDevice {
    /// Starts CUDA on a GPU.
    ///
    /// # Errors
    /// No driver, a driver that is too old, no such device, or NVRTC is not installed. Each message says what to do.
    pub fn new(index: u32) -> cuprous_core::Result<CudaDevice> {
        Ok(CudaDevice(Arc::new(Gpu::start(index as usize).map_err(translate)?)))
    }

    /// Wraps a stream of another owner, given by its handle.
    fn foreign(&self, handle: u64) -> Stream {
        // Libraries name the default stream by CUDA's handle, which older versions of HIP do not know.
        let handle = if handle == 1 && self.0.arch.vendor == Vendor::Amd { 0 } else { handle };
        // SAFETY: whoever hands over a stream keeps it alive, in the primary context, while it is waited for.
        unsafe { Stream::from_raw(self.0.context, handle as usize) }
    }
}

impl Device for CudaDevice {
    fn name(&self) -> &'static str {
        let (names, kind) = match self.0.arch.vendor {
            Vendor::Nvidia => (CUDA_NAMES, "cuda"),
            Vendor::Amd => (HIP_NAMES, "hip"),
        };
        names.get(self.0.context.ordinal()).copied().unwrap_or(kind)
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
        if from.len() >= COPY_STREAM_BYTES {
            return self.0.upload_block(from, wait).map_err(translate);
        }
        let block = self.alloc(from.len())?;
        let gpu = &self.0;
        let copy = || {
            gpu.context.make_current()?;
            gpu.mark_profile_gap();
            let to = DevPtr(block.address());
            // SAFETY: the block was just allocated. The slice outlives the call, which returns once it was read.
            unsafe { lock(&gpu.staging).upload(to, from.as_ptr(), from.len(), &gpu.stream) }
        };
        copy().map_err(translate)?;
        Ok(block)
    }

    fn download(&self, from: u64, to: &mut [u8]) -> cuprous_core::Result<()> {
        let gpu = &self.0;
        let mut copy = || {
            gpu.context.make_current()?;
            // SAFETY: the engine passes a live range of that size. The call returns once the slice was written.
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
                    let stream = Stream::new(gpu.context)?;
                    gpu.reads.get_or_init(|| stream)
                }
            };
            reads.wait_event(&mark.0)?;
            // SAFETY: the engine passes a live range of that size. The call returns once the slice was written.
            unsafe { lock(&gpu.staging).download(to.as_mut_ptr(), DevPtr(from), to.len(), reads) }
        };
        copy().map_err(translate)
    }

    fn gpu(&self) -> Option<usize> {
        Some(self.0.context.ordinal())
    }

    fn copy_from(&self, other: &dyn Device, from: u64, bytes: usize) -> Option<cuprous_core::Result<Buffer>> {
        let gpu = &self.0;
        let source = Context::of_device(other.gpu()?).ok().filter(|&source| driver::connected(gpu.context, source))?;
        let copy = || {
            let block = Block { gpu: gpu.clone(), address: gpu.alloc(bytes)?, bytes };
            // SAFETY: the other device's stream lives as long as it does.
            let theirs = unsafe { Stream::from_raw(source, other.stream() as usize) };
            let [ready, done] = [Event::new(source)?, Event::new(gpu.context)?];
            source.make_current()?;
            ready.record(&theirs)?;
            gpu.context.make_current()?;
            gpu.mark_profile_gap();
            gpu.stream.wait_event(&ready)?;
            // SAFETY: the engine passes a live range of the other device, whose stream waits for the copy.
            unsafe {
                let to = (block.address, gpu.context);
                driver::memcpy_peer_async(to, (DevPtr(from), source), bytes, &gpu.stream)?;
            }
            done.record(&gpu.stream)?;
            source.make_current()?;
            theirs.wait_event(&done)?;
            gpu.context.make_current()?;
            Ok(Arc::new(block) as Buffer)
        };
        Some(copy().map_err(translate))
    }

    fn page_locked(&self, bytes: usize) -> cuprous_core::Result<Buffer> {
        let gpu = &self.0;
        let address = lock(&gpu.pinned).alloc(gpu.context, bytes).map_err(translate)?;
        Ok(Arc::new(PageLocked { gpu: gpu.clone(), address, bytes }))
    }

    fn trim(&self) {
        let _ = self.0.context.make_current();
        self.0.free_waiting_blocks();
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
            // Without the library or an engine of it, convolutions are recorded as products of windows.
            RoutineOp::Convolve(part, geometry) => {
                let problem = Convolution { part: *part, geometry: geometry.clone() };
                Convolution::is_supported(geometry)
                    && self.0.with_dnn(|dnn| dnn.supports_convolution(&problem)).unwrap_or(false)
            }
            RoutineOp::Recur(r) | RoutineOp::RecurBackward(r) => self.recurrence(&r.of).is_some(),
            // Without the library or an engine of it, attention is recorded as products and a softmax.
            RoutineOp::Attend(of) | RoutineOp::AttendBackward(of) => {
                self.0.with_dnn(|dnn| dnn.supports_attention(of)).unwrap_or(false)
            }
            RoutineOp::Steps(_) | RoutineOp::StepsBackward(_) => false,
            // hipSOLVER has no eigenvalues of general matrices.
            RoutineOp::Linalg(LinalgOp::Eig { .. }) => self.0.arch.vendor == Vendor::Nvidia,
            RoutineOp::AttendRows(of) => attend::is_supported(of),
            RoutineOp::Normalize(_) => true,
            // Tables are sorts, searches and scatters.
            call => !call.is_composable(),
        }
    }

    fn recurrence(&self, layers: &Layers) -> Option<Arc<Recurrence>> {
        // Without the library or its support, the steps are recorded one by one.
        self.0.with_dnn(|dnn| dnn.recurrence(layers)).ok().flatten()
    }

    fn compile(&self, program: &Arc<Program>) -> cuprous_core::Result<Box<dyn Executable>> {
        let executable = compile::compile(&self.0, program).map_err(translate)?;
        Ok(Box::new(executable))
    }

    fn prepare(&self, programs: &[Arc<Program>], progress: &mut dyn FnMut(usize, usize)) {
        // An error is reported by the run that needs the kernel.
        let _reported_later = compile::prepare(&self.0, programs, progress);
    }

    fn graph_threshold(&self) -> Option<usize> {
        (self.0.arch.vendor == Vendor::Amd).then(|| self.0.graph_from.load(Relaxed))
    }

    fn set_graph_threshold(&self, launches: usize) {
        self.0.graph_from.store(launches.max(MIN_GRAPH_TASKS), Relaxed);
    }

    fn source(&self, program: &Program) -> cuprous_core::Result<String> {
        Ok(source::listing(self.0.arch, Some(&self.0), program))
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
        let record = || {
            self.0.context.make_current()?;
            let event = Event::with_timing(self.0.context)?;
            event.record(&self.0.stream)?;
            Ok(event)
        };
        Ok(Box::new(EventMark(record().map_err(translate)?)))
    }

    fn is_idle(&self) -> cuprous_core::Result<bool> {
        self.0.stream.is_done().map_err(translate)
    }

    fn wait_for_stream(&self, stream: u64) -> cuprous_core::Result<()> {
        self.0.mark_shared();
        self.0.context.make_current().and_then(|()| self.foreign(stream).synchronize()).map_err(translate)
    }

    fn is_stream_done(&self, stream: u64) -> cuprous_core::Result<bool> {
        self.0.context.make_current().and_then(|()| self.foreign(stream).is_done()).map_err(translate)
    }

    fn stream(&self) -> u64 {
        self.0.mark_shared();
        self.0.stream.raw() as u64
    }

    fn hand_over(&self, stream: Option<i64>) -> cuprous_core::Result<()> {
        self.0.mark_shared();
        // 0 and 1 are the legacy default stream, which is ordered with ours anyway; -1 requests no synchronization.
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
            ("kernels_generated", read(&c.kernels_generated)),
            ("modules_loaded", read(&c.modules_loaded)),
            ("library_queries", read(&c.library_queries)),
            ("codegen_ns", read(&c.codegen_ns)),
        ]
    }

    fn memory(&self) -> Vec<(&'static str, u64)> {
        // Blocks that wait for the next copy are not in use.
        let waiting = lock(&self.0.copy_stream).as_ref().map_or(0, CopyStream::waiting_bytes);
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
        // The peak counts waiting blocks and `used_bytes` does not. Once they are freed, the new peak equals what is
        // used.
        self.0.free_waiting_blocks();
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
