//! Collectives of GPUs by NCCL, which is opened at run time.
//!
//! All communicators of a GPU share one stream of the highest priority. A collective begins after the work that the
//! GPU's own stream was given before (an event), and work that needs its result waits for it (another event). It is never
//! captured in a graph, because ranks may differ in what they capture. Calls block until NCCL has submitted their work,
//! which takes microseconds except for the first ones, which connect the ranks; another thread may abort those.
#![cfg(unix)]

mod api;
mod communicator;
mod elements;
mod ras;

use std::sync::{Arc, Mutex};

use cuprous_core::Buffer;
use cuprous_cuda::driver::{Context, Stream};
use cuprous_distributed::network::{Communicator, Network};
use cuprous_distributed::{Failure, Result};

pub use api::version;

/// A priority beyond the highest one, which the driver takes for it.
const HIGHEST: i32 = -100;

/// Allocates memory of a GPU.
pub type Alloc = Arc<dyn Fn(usize) -> cuprous_core::Result<Buffer> + Send + Sync>;
/// Makes later reads of a GPU fail.
pub type Poison = Arc<dyn Fn(&Failure) + Send + Sync>;

/// A GPU that takes part in collectives.
#[derive(Clone)]
pub struct Gpu {
    context: &'static Context,
    /// The stream of all its other work.
    working: Arc<Stream>,
    alloc: Alloc,
    poison: Poison,
}

impl Gpu {
    /// Describes a GPU by its number, the stream of its work, and how to allocate its memory.
    ///
    /// # Safety
    /// The stream belongs to the GPU's primary context and lives as long as `alloc` does.
    ///
    /// # Errors
    /// The GPU does not exist.
    pub unsafe fn new(ordinal: usize, working: u64, alloc: Alloc, poison: Poison) -> Result<Gpu> {
        let context = Context::of_device(ordinal).map_err(device)?;
        // SAFETY: by the caller's contract; the communicator that has the stream has `alloc` too.
        let working = unsafe { Stream::from_raw(context, working as usize) };
        Ok(Gpu { context, working: Arc::new(working), alloc, poison })
    }
}

impl Network for Gpu {
    fn name(&self) -> &'static str {
        "nccl"
    }

    fn check(&self) -> Result<()> {
        api::api().map(drop)
    }

    fn identify(&self) -> Result<Vec<u8>> {
        api::unique_id()
    }

    fn begin(&self, id: &[u8], me: usize, n: usize) -> Result<Arc<dyn Communicator>> {
        let stream = stream_of(self.context)?;
        Ok(Arc::new(communicator::Nccl::begin(self.clone(), stream, id, me, n)?))
    }

    fn poison(&self) -> Box<dyn Fn(&Failure) + Send + Sync> {
        let poison = self.poison.clone();
        Box::new(move |failure| poison(failure))
    }
}

/// Returns the stream for the collectives of a GPU, so that those of all groups run one after another.
fn stream_of(context: &'static Context) -> Result<Arc<Stream>> {
    static STREAMS: Mutex<Vec<Arc<Stream>>> = Mutex::new(Vec::new());
    let mut streams = STREAMS.lock().unwrap_or_else(|e| e.into_inner());
    if let Some(stream) = streams.iter().find(|stream| stream.context().ordinal() == context.ordinal()) {
        return Ok(stream.clone());
    }
    let stream = Arc::new(Stream::with_priority(context, HIGHEST).map_err(device)?);
    streams.push(stream.clone());
    Ok(stream)
}

/// Translates an error of the driver.
fn device(error: cuprous_cuda::CudaError) -> Failure {
    Failure::backend(error.to_string())
}
