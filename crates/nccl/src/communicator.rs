//! A communicator: collectives and messages on its GPU's stream.

use std::ffi::{c_char, c_int, c_void};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use cuprous_core::Buffer;
use cuprous_core::interrupt::Token;
use cuprous_cuda::driver::{DevPtr, Event, Stream, memcpy_dtod_async};
use cuprous_cuda_sys::driver::CUstream;
use cuprous_cuda_sys::nccl::{NCCL_UNIQUE_ID_BYTES, NcclApi, ncclComm_t, ncclConfig_t, ncclResult_t, ncclUniqueId};
use cuprous_distributed::call::Op;
use cuprous_distributed::collectives::{Memory, Message, Request};
use cuprous_distributed::network::{Communicator, Ticket};
use cuprous_distributed::{Failure, Result};

use crate::api::{api, call, describe};
use crate::elements::{BYTES, Elements, reduced};
use crate::{Gpu, device};

/// How long to sleep between looks at a call that NCCL has begun.
const PAUSES: [Duration; 2] = [Duration::from_micros(20), Duration::from_millis(1)];

/// Work on the stream for collectives, up to an event.
struct Submitted {
    event: Event,
    working: Arc<Stream>,
    /// Memory that the work needs besides the caller's.
    _staging: Vec<Buffer>,
}

impl Ticket for Submitted {
    fn is_done(&self) -> Result<bool> {
        self.working.context().make_current().and_then(|()| self.event.is_done()).map_err(device)
    }

    fn order(&self) -> Result<()> {
        self.working.context().make_current().and_then(|()| self.working.wait_event(&self.event)).map_err(device)
    }
}

/// A communicator, or null once it was freed or aborted.
struct Handle(ncclComm_t);

// SAFETY: NCCL allows any thread to use a communicator, one at a time; the mutex around it ensures that.
unsafe impl Send for Handle {}

/// One rank of a communicator.
///
/// Invariant: every call of NCCL with the communicator is made under `comm`'s lock, which is never held while something
/// is waited for. So no other call runs during an abort, and an abort never waits long for one.
pub(crate) struct Nccl {
    api: &'static NcclApi,
    gpu: Gpu,
    stream: Arc<Stream>,
    me: usize,
    n: usize,
    comm: Mutex<Handle>,
    /// What a barrier reduces.
    token: Buffer,
}

/// The functions of one group of calls.
struct Calls<'a> {
    api: &'static NcclApi,
    comm: ncclComm_t,
    stream: &'a Stream,
}

fn pointer(memory: Memory) -> *mut c_void {
    memory.address as *mut c_void
}

impl Calls<'_> {
    fn raw(&self) -> CUstream {
        self.stream.raw()
    }

    fn send(&self, from: Memory, to: usize) -> Result<()> {
        if from.bytes == 0 {
            return Ok(());
        }
        let (api, comm, dtype) = (self.api, self.comm, BYTES.dtype);
        // SAFETY: the memory is the operation's until its event; the communicator is valid under its lock.
        unsafe { call!(api, comm, ncclSend(pointer(from), from.bytes, dtype, to as c_int, comm, self.raw())) }
    }

    fn receive(&self, to: Memory, from: usize) -> Result<()> {
        if to.bytes == 0 {
            return Ok(());
        }
        let (api, comm, dtype) = (self.api, self.comm, BYTES.dtype);
        // SAFETY: as for `send`.
        unsafe { call!(api, comm, ncclRecv(pointer(to), to.bytes, dtype, from as c_int, comm, self.raw())) }
    }

    fn copy(&self, from: Memory, to: Memory) -> Result<()> {
        if from.address == to.address || from.bytes == 0 {
            return Ok(());
        }
        // SAFETY: both ranges are the operation's until its event, and have that many bytes.
        unsafe { memcpy_dtod_async(DevPtr(to.address), DevPtr(from.address), from.bytes, self.stream) }.map_err(device)
    }

    /// Performs a collective that is one call of NCCL. `from` and `to` are what this rank gives and gets, if anything.
    fn collective(&self, op: Op, from: Memory, to: Memory, each: usize, e: Elements, root: c_int) -> Result<()> {
        let (api, comm, stream, count) = (self.api, self.comm, self.raw(), each / e.bytes);
        let (from, to) = (pointer(from), pointer(to));
        // SAFETY: as for `send`; the ranges have as many elements as NCCL reads and writes, by the request's checks.
        unsafe {
            match op {
                Op::AllReduce => call!(api, comm, ncclAllReduce(from, to, count, e.dtype, e.op, comm, stream)),
                Op::Reduce => call!(api, comm, ncclReduce(from, to, count, e.dtype, e.op, root, comm, stream)),
                Op::Broadcast => call!(api, comm, ncclBroadcast(from, to, count, e.dtype, root, comm, stream)),
                Op::AllGather => call!(api, comm, ncclAllGather(from, to, count, e.dtype, comm, stream)),
                Op::ReduceScatter => call!(api, comm, ncclReduceScatter(from, to, count, e.dtype, e.op, comm, stream)),
                other => Err(Failure::value(format!("[{}] is not one call of NCCL", other.name()))),
            }
        }
    }
}

/// Returns the memory of all parts if they lie one after another.
fn contiguous(parts: &[Memory]) -> Option<Memory> {
    let each = parts[0].bytes;
    let next_to_each_other = parts.windows(2).all(|pair| pair[1].address == pair[0].address + each as u64);
    next_to_each_other.then_some(Memory { address: parts[0].address, bytes: each * parts.len() })
}

impl Nccl {
    pub(crate) fn begin(gpu: Gpu, stream: Arc<Stream>, id: &[u8], me: usize, n: usize) -> Result<Nccl> {
        let api = api()?;
        let mut unique = ncclUniqueId { internal: [0; NCCL_UNIQUE_ID_BYTES] };
        for (to, &byte) in unique.internal.iter_mut().zip(id) {
            *to = byte as c_char;
        }
        let token = (gpu.alloc)(BYTES.bytes).map_err(|e| Failure::backend(e.to_string()))?;
        gpu.context.make_current().map_err(device)?;
        let (mut comm, mut config) = (std::ptr::null_mut(), ncclConfig_t::non_blocking());
        // SAFETY: the call writes one handle and reads the settings; the GPU's context is current.
        unsafe {
            let null = std::ptr::null_mut();
            let config = &raw mut config;
            call!(api, null, ncclCommInitRankConfig(&raw mut comm, n as c_int, unique, me as c_int, config))?;
        }
        Ok(Nccl { api, gpu, stream, me, n, comm: Mutex::new(Handle(comm)), token })
    }

    fn handle(&self) -> MutexGuard<'_, Handle> {
        self.comm.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Returns what has become of the last call: `None` while it is in progress.
    fn status(&self) -> Result<Option<ncclResult_t>> {
        let handle = self.handle();
        if handle.0.is_null() {
            return Err(Failure::backend("[nccl] the communicator was aborted"));
        }
        let mut status = ncclResult_t::ncclSuccess;
        // SAFETY: the communicator is valid under its lock; the call writes one status.
        unsafe { call!(self.api, handle.0, ncclCommGetAsyncError(handle.0, &raw mut status)) }?;
        match status {
            ncclResult_t::ncclInProgress => Ok(None),
            ncclResult_t::ncclSuccess => Ok(Some(status)),
            other => Err(Failure::backend(format!("[nccl] {}", describe(self.api, handle.0, other)))),
        }
    }

    /// Waits until the last call is no longer in progress, up to that time. Returns false if it still is.
    fn settle(&self, time: Duration) -> Result<bool> {
        let start = Instant::now();
        let [mut pause, longest] = PAUSES;
        while self.status()?.is_none() {
            if start.elapsed() >= time {
                return Ok(false);
            }
            if Token::current().requested() {
                return Err(Failure::interrupted("interrupted"));
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(longest);
        }
        Ok(true)
    }

    /// Submits a group of calls after the working stream's work so far.
    fn submit_calls(
        &self,
        staging: Vec<Buffer>,
        calls: impl FnOnce(&Calls<'_>) -> Result<()>,
    ) -> Result<Arc<dyn Ticket>> {
        let (api, context) = (self.api, self.gpu.context);
        context.make_current().map_err(device)?;
        let order = || {
            let ready = Event::new(context)?;
            ready.record(&self.gpu.working)?;
            self.stream.wait_event(&ready)
        };
        order().map_err(device)?;
        {
            let handle = self.handle();
            if handle.0.is_null() {
                return Err(Failure::backend("[nccl] the communicator was aborted"));
            }
            // SAFETY: the functions have no arguments. The group is ended in any case.
            unsafe { call!(api, handle.0, ncclGroupStart()) }?;
            let result = calls(&Calls { api, comm: handle.0, stream: &self.stream });
            // SAFETY: as above.
            let ended = unsafe { call!(api, handle.0, ncclGroupEnd()) };
            result.and(ended)?;
        }
        self.settle(Duration::MAX)?;
        self.mark(staging)
    }

    fn mark(&self, staging: Vec<Buffer>) -> Result<Arc<dyn Ticket>> {
        let event = Event::new(self.gpu.context).map_err(device)?;
        event.record(&self.stream).map_err(device)?;
        Ok(Arc::new(Submitted { event, working: self.gpu.working.clone(), _staging: staging }))
    }

    fn staging(&self, bytes: usize) -> Result<(Buffer, Memory)> {
        let buffer = (self.gpu.alloc)(bytes).map_err(|e| Failure::backend(e.to_string()))?;
        let memory = Memory { address: buffer.address(), bytes };
        Ok((buffer, memory))
    }

    fn elements(request: &Request) -> Result<Elements> {
        request.reduce.map_or(Ok(BYTES), |kind| reduced(request.dtype, kind))
    }

    /// Submits a collective that is one call. Which call it is depends on the operation alone, never on where a rank's
    /// tensors lie: parts that are not next to each other are copied.
    fn submit_one(&self, request: &Request, e: Elements) -> Result<Arc<dyn Ticket>> {
        let (inputs, outputs) = (&request.inputs, &request.outputs);
        let each = inputs.first().or(outputs.first()).map_or(0, |memory| memory.bytes);
        let root = request.root.map_or(0, |root| root as c_int);
        let nowhere = Memory { address: 0, bytes: 0 };
        let (mut from, mut to) = (nowhere, nowhere);
        let mut staging = Vec::new();
        let mut whole = |parts: &[Memory]| match parts {
            [] => Ok(nowhere),
            [one] => Ok(*one),
            parts => contiguous(parts).map_or_else(
                || {
                    let (buffer, memory) = self.staging(each * parts.len())?;
                    staging.push(buffer);
                    Ok(memory)
                },
                Ok,
            ),
        };
        if each > 0 {
            (from, to) = (whole(inputs)?, whole(outputs)?);
        }
        if request.op == Op::Broadcast {
            // The root gives what the others get.
            let both = if inputs.is_empty() { to } else { from };
            (from, to) = (both, both);
        }
        let part = |memory: Memory, k: usize| Memory { address: memory.address + (k * each) as u64, bytes: each };
        let is_staged = |parts: &[Memory], memory: Memory| parts.len() > 1 && memory.address != parts[0].address;
        let (gathers, scatters) = (is_staged(outputs, to), is_staged(inputs, from));
        let ticket = self.submit_calls(staging, |calls| {
            if each == 0 {
                return Ok(());
            }
            if scatters {
                inputs.iter().enumerate().try_for_each(|(k, &input)| calls.copy(input, part(from, k)))?;
            }
            calls.collective(request.op, from, to, each, e, root)
        })?;
        if !gathers {
            return Ok(ticket);
        }
        let calls = Calls { api: self.api, comm: std::ptr::null_mut(), stream: &self.stream };
        outputs.iter().enumerate().try_for_each(|(k, &output)| calls.copy(part(to, k), output))?;
        // The first ticket has the staging memory.
        let last = self.mark(Vec::new())?;
        Ok(Arc::new(Both { last, _first: ticket }))
    }
}

/// Work after which more was submitted.
struct Both {
    last: Arc<dyn Ticket>,
    _first: Arc<dyn Ticket>,
}

impl Ticket for Both {
    fn is_done(&self) -> Result<bool> {
        self.last.is_done()
    }

    fn order(&self) -> Result<()> {
        self.last.order()
    }
}

impl Communicator for Nccl {
    fn connect(&self) -> Result<()> {
        self.settle(Duration::MAX).map(drop)
    }

    fn check(&self, request: &Request) -> Result<()> {
        Nccl::elements(request).map(drop)
    }

    fn submit(&self, request: &Request) -> Result<Arc<dyn Ticket>> {
        let Request { op, inputs, outputs, root, .. } = request;
        let (me, n) = (self.me, self.n);
        let others = || (0..n).filter(move |&peer| peer != me);
        match op {
            Op::Barrier => {
                let token = Memory { address: self.token.address(), bytes: BYTES.bytes };
                self.submit_calls(Vec::new(), |c| c.collective(Op::AllReduce, token, token, token.bytes, BYTES, 0))
            }
            Op::Gather => self.submit_calls(Vec::new(), |calls| match *root {
                Some(root) if root != me => calls.send(inputs[0], root),
                _ => {
                    calls.copy(inputs[0], outputs[me])?;
                    others().try_for_each(|peer| calls.receive(outputs[peer], peer))
                }
            }),
            Op::Scatter => self.submit_calls(Vec::new(), |calls| match *root {
                Some(root) if root != me => calls.receive(outputs[0], root),
                _ => {
                    calls.copy(inputs[me], outputs[0])?;
                    others().try_for_each(|peer| calls.send(inputs[peer], peer))
                }
            }),
            Op::AllToAll => self.submit_calls(Vec::new(), |calls| {
                calls.copy(inputs[me], outputs[me])?;
                others().try_for_each(|peer| {
                    calls.send(inputs[peer], peer)?;
                    calls.receive(outputs[peer], peer)
                })
            }),
            _ => self.submit_one(request, Nccl::elements(request)?),
        }
    }

    fn exchange(&self, messages: &[Message]) -> Result<Arc<dyn Ticket>> {
        self.submit_calls(Vec::new(), |calls| {
            messages.iter().try_for_each(|message| match (message.is_send, message.peer) {
                (true, Some(peer)) => calls.send(message.memory, peer),
                (false, Some(peer)) => calls.receive(message.memory, peer),
                (_, None) => Err(Failure::value("[recv] NCCL receives from a given rank")),
            })
        })
    }

    fn failure(&self) -> Option<String> {
        if self.handle().0.is_null() {
            return None;
        }
        self.status().err().map(|failure| failure.message)
    }

    fn abort(&self) {
        let mut handle = self.handle();
        let comm = std::mem::replace(&mut handle.0, std::ptr::null_mut());
        if !comm.is_null() && self.gpu.context.make_current().is_ok() {
            // SAFETY: the communicator was valid, and nobody uses it from here on.
            let _at_worst_leaked = unsafe { call!(self.api, std::ptr::null_mut(), ncclCommAbort(comm)) };
        }
    }

    fn close(&self, time: Duration) -> bool {
        let handle = self.handle();
        let comm = handle.0;
        if comm.is_null() || self.gpu.context.make_current().is_err() {
            return true;
        }
        // SAFETY: the communicator is valid under its lock.
        let begun = unsafe { call!(self.api, comm, ncclCommFinalize(comm)) };
        drop(handle);
        if !begun.and_then(|()| self.settle(time)).unwrap_or(false) {
            return false;
        }
        let mut handle = self.handle();
        let comm = std::mem::replace(&mut handle.0, std::ptr::null_mut());
        // SAFETY: the communicator is finalized, and nobody uses it from here on.
        comm.is_null() || unsafe { call!(self.api, std::ptr::null_mut(), ncclCommDestroy(comm)) }.is_ok()
    }
}

impl Drop for Nccl {
    fn drop(&mut self) {
        self.abort();
    }
}
