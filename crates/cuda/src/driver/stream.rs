//! Streams and events.

use cuprous_cuda_sys::driver::{CUevent, CUresult, CUstream};

use super::context::{Context, enter, for_drop};
use super::{api, call, check, missing_symbol};
use crate::error::Result;

const NON_BLOCKING: u32 = 1;
const EVENT_DISABLE_TIMING: u32 = 2;

/// A queue of device work that runs in order.
#[derive(Debug)]
pub struct Stream {
    raw: CUstream,
    context: &'static Context,
    owned: bool,
}

// SAFETY: the driver's streams may be used from any thread.
unsafe impl Send for Stream {}
// SAFETY: the driver's streams may be used from any thread, and the struct never changes.
unsafe impl Sync for Stream {}

impl Stream {
    /// Creates a stream that does not wait for the legacy default stream.
    ///
    /// # Errors
    /// The driver fails.
    pub fn new(context: &'static Context) -> Result<Stream> {
        Stream::with_priority(context, 0)
    }

    /// Creates a stream that is ordered with the legacy default stream in both directions. PyTorch, CuPy and Numba use
    /// that stream by default, so memory shared with them needs no further synchronization.
    ///
    /// # Errors
    /// The driver fails.
    pub fn blocking(context: &'static Context) -> Result<Stream> {
        Stream::with_flags(context, 0, 0)
    }

    /// Creates a stream with a priority. Lower numbers run first; 0 is the default.
    ///
    /// # Errors
    /// The driver fails.
    pub fn with_priority(context: &'static Context, priority: i32) -> Result<Stream> {
        Stream::with_flags(context, NON_BLOCKING, priority)
    }

    fn with_flags(context: &'static Context, flags: u32, priority: i32) -> Result<Stream> {
        let api = enter(context)?;
        let mut raw: CUstream = std::ptr::null_mut();
        // SAFETY: the call writes one handle; the context is current.
        unsafe { call!(api, cuStreamCreateWithPriority(&raw mut raw, flags, priority)) }?;
        Ok(Stream { raw, context, owned: true })
    }

    /// Wraps a stream of another owner, which is not destroyed here. 0 and 1 are the legacy default stream, 2 is the
    /// default stream of each thread.
    ///
    /// # Safety
    /// The handle must belong to `context` and outlive the result.
    #[must_use]
    pub unsafe fn from_raw(context: &'static Context, handle: usize) -> Stream {
        Stream { raw: handle as CUstream, context, owned: false }
    }

    /// Returns the driver's handle.
    #[must_use]
    pub fn raw(&self) -> CUstream {
        self.raw
    }

    /// Returns the stream's context.
    #[must_use]
    pub fn context(&self) -> &'static Context {
        self.context
    }

    /// Waits until the work submitted so far is done.
    ///
    /// # Errors
    /// That work failed, or the driver fails.
    pub fn synchronize(&self) -> Result<()> {
        let api = api()?;
        // SAFETY: the handle is valid while self lives.
        unsafe { call!(api, cuStreamSynchronize(self.raw)) }
    }

    /// Returns true if the work submitted so far is done.
    ///
    /// # Errors
    /// That work failed, or the driver fails.
    pub fn is_done(&self) -> Result<bool> {
        let api = api()?;
        let query = api.cuStreamQuery.as_ref().map_err(|e| missing_symbol("cuStreamQuery", e))?;
        // SAFETY: the handle is valid while self lives.
        let status = unsafe { query(self.raw) };
        if status == CUresult::CUDA_ERROR_NOT_READY {
            return Ok(false);
        }
        check(api, "cuStreamQuery", status).map(|()| true)
    }

    /// Makes later work of this stream wait for the event.
    ///
    /// # Errors
    /// The driver fails.
    pub fn wait_event(&self, event: &Event) -> Result<()> {
        let api = api()?;
        // SAFETY: both handles are valid while their owners live; flags must be zero.
        unsafe { call!(api, cuStreamWaitEvent(self.raw, event.raw, 0)) }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if let (true, Some(api)) = (self.owned, for_drop(self.context)) {
            // SAFETY: the handle is owned by this value. Pending work continues, and the driver frees the stream after
            // it.
            let _at_worst_leaked = unsafe { call!(api, cuStreamDestroy_v2(self.raw)) };
        }
    }
}

/// A marker in a stream's work.
#[derive(Debug)]
pub struct Event {
    raw: CUevent,
    context: &'static Context,
}

// SAFETY: the driver's events may be used from any thread.
unsafe impl Send for Event {}
// SAFETY: the driver's events may be used from any thread, and the struct never changes.
unsafe impl Sync for Event {}

impl Event {
    /// Creates an event without a time stamp, which is cheaper.
    ///
    /// # Errors
    /// The driver fails.
    pub fn new(context: &'static Context) -> Result<Event> {
        Event::with_flags(context, EVENT_DISABLE_TIMING)
    }

    /// Creates an event with a time stamp, for `elapsed_ms`.
    ///
    /// # Errors
    /// The driver fails.
    pub fn with_timing(context: &'static Context) -> Result<Event> {
        Event::with_flags(context, 0)
    }

    fn with_flags(context: &'static Context, flags: u32) -> Result<Event> {
        let api = enter(context)?;
        let mut raw: CUevent = std::ptr::null_mut();
        // SAFETY: the call writes one handle; the context is current.
        unsafe { call!(api, cuEventCreate(&raw mut raw, flags)) }?;
        Ok(Event { raw, context })
    }

    /// Returns the driver's handle.
    #[must_use]
    pub fn raw(&self) -> CUevent {
        self.raw
    }

    /// Records the event after the work submitted to the stream so far.
    ///
    /// # Errors
    /// The driver fails.
    pub fn record(&self, stream: &Stream) -> Result<()> {
        let api = api()?;
        // SAFETY: both handles are valid while their owners live.
        unsafe { call!(api, cuEventRecord(self.raw, stream.raw)) }
    }

    /// Waits for the work before the event. An event that was never recorded counts as done.
    ///
    /// # Errors
    /// That work failed, or the driver fails.
    pub fn synchronize(&self) -> Result<()> {
        let api = api()?;
        // SAFETY: the handle is valid while self lives.
        unsafe { call!(api, cuEventSynchronize(self.raw)) }
    }

    /// Returns true if the work before the event is done.
    ///
    /// # Errors
    /// That work failed, or the driver fails.
    pub fn is_done(&self) -> Result<bool> {
        let api = api()?;
        let query = api.cuEventQuery.as_ref().map_err(|e| missing_symbol("cuEventQuery", e))?;
        // SAFETY: the handle is valid while self lives.
        let status = unsafe { query(self.raw) };
        if status == CUresult::CUDA_ERROR_NOT_READY {
            return Ok(false);
        }
        check(api, "cuEventQuery", status).map(|()| true)
    }

    /// Returns the milliseconds from `start` to this event. Both must be created by `with_timing`, recorded and done.
    ///
    /// # Errors
    /// One of them is not, or the driver fails.
    pub fn elapsed_ms(&self, start: &Event) -> Result<f32> {
        let api = api()?;
        let mut ms = 0.0;
        // SAFETY: both handles are valid while their owners live; the call writes one float.
        unsafe { call!(api, cuEventElapsedTime(&raw mut ms, start.raw, self.raw)) }?;
        Ok(ms)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        if let Some(api) = for_drop(self.context) {
            // SAFETY: the handle is owned by this value. The driver frees the event once it is done.
            let _at_worst_leaked = unsafe { call!(api, cuEventDestroy_v2(self.raw)) };
        }
    }
}
