//! Streams and events.

use cuprous_cuda_sys::driver::{CUevent, CUresult, CUstream};

use super::context::{Context, enter, for_drop};
use super::{api, call, check, missing_symbol};
use crate::error::Result;

const NON_BLOCKING: u32 = 1;
const EVENT_DISABLE_TIMING: u32 = 2;

/// A queue of device work, run in order.
#[derive(Debug)]
pub struct Stream {
    raw: CUstream,
    context: &'static Context,
    owned: bool,
}

// SAFETY: the driver's streams may be used from any thread.
unsafe impl Send for Stream {}
// SAFETY: as above; the struct never changes.
unsafe impl Sync for Stream {}

impl Stream {
    /// A stream that does not wait for the legacy default stream.
    ///
    /// # Errors
    /// The driver fails.
    pub fn new(context: &'static Context) -> Result<Stream> {
        Stream::with_priority(context, 0)
    }

    /// A stream that is ordered with the legacy default stream both ways, on which PyTorch, CuPy and Numba work by
    /// default: memory shared with them needs no further synchronisation.
    ///
    /// # Errors
    /// The driver fails.
    pub fn blocking(context: &'static Context) -> Result<Stream> {
        Stream::with_flags(context, 0, 0)
    }

    /// A stream with a priority: lower numbers go first, 0 is the default.
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

    /// A stream made elsewhere: 0 or 1 is the legacy default stream, 2 each thread's own. It is not destroyed here.
    ///
    /// # Safety
    /// The handle must be of `context` and outlive the result.
    #[must_use]
    pub unsafe fn from_raw(context: &'static Context, handle: usize) -> Stream {
        Stream { raw: handle as CUstream, context, owned: false }
    }

    /// The driver's handle.
    #[must_use]
    pub fn raw(&self) -> CUstream {
        self.raw
    }

    /// The context that the stream is of.
    #[must_use]
    pub fn context(&self) -> &'static Context {
        self.context
    }

    /// Waits until the work submitted so far is done.
    ///
    /// # Errors
    /// That work failed, or the driver does.
    pub fn synchronize(&self) -> Result<()> {
        let api = api()?;
        // SAFETY: the handle is valid while self lives.
        unsafe { call!(api, cuStreamSynchronize(self.raw)) }
    }

    /// True where the work submitted so far is done.
    ///
    /// # Errors
    /// That work failed, or the driver does.
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

    /// Later work of this stream waits for the event.
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
            // SAFETY: the handle is ours; pending work goes on, the driver frees the stream after it.
            let _at_worst_leaked = unsafe { call!(api, cuStreamDestroy_v2(self.raw)) };
        }
    }
}

/// A mark in a stream's work.
#[derive(Debug)]
pub struct Event {
    raw: CUevent,
    context: &'static Context,
}

// SAFETY: the driver's events may be used from any thread.
unsafe impl Send for Event {}
// SAFETY: as above; the struct never changes.
unsafe impl Sync for Event {}

impl Event {
    /// An event without a time stamp: the cheap kind.
    ///
    /// # Errors
    /// The driver fails.
    pub fn new(context: &'static Context) -> Result<Event> {
        Event::with_flags(context, EVENT_DISABLE_TIMING)
    }

    /// An event with a time stamp, for `elapsed_ms`.
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

    /// The driver's handle.
    #[must_use]
    pub fn raw(&self) -> CUevent {
        self.raw
    }

    /// Marks the work submitted to the stream so far.
    ///
    /// # Errors
    /// The driver fails.
    pub fn record(&self, stream: &Stream) -> Result<()> {
        let api = api()?;
        // SAFETY: both handles are valid while their owners live.
        unsafe { call!(api, cuEventRecord(self.raw, stream.raw)) }
    }

    /// Waits for the marked work. An event never recorded is done.
    ///
    /// # Errors
    /// That work failed, or the driver does.
    pub fn synchronize(&self) -> Result<()> {
        let api = api()?;
        // SAFETY: the handle is valid while self lives.
        unsafe { call!(api, cuEventSynchronize(self.raw)) }
    }

    /// True where the marked work is done.
    ///
    /// # Errors
    /// That work failed, or the driver does.
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

    /// Milliseconds from `start` to this event; both made by `with_timing`, recorded and done.
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
            // SAFETY: the handle is ours; the driver frees it once it is done.
            let _at_worst_leaked = unsafe { call!(api, cuEventDestroy_v2(self.raw)) };
        }
    }
}
