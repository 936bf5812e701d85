//! A communicator: collectives and messages on its GPU's stream.

use std::ffi::{c_char, c_int, c_void};
use std::mem::ManuallyDrop;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, TryLockError};
use std::time::{Duration, Instant};

use cuprous_core::interrupt::Token;
use cuprous_core::{Buffer, profile};
use cuprous_cuda::driver::{Context, DevPtr, Event, Stream, memcpy_dtod_async};
use cuprous_cuda_sys::driver::CUstream;
use cuprous_cuda_sys::nccl::{NCCL_UNIQUE_ID_BYTES, NcclApi, ncclComm_t, ncclConfig_t, ncclResult_t, ncclUniqueId};
use cuprous_distributed::call::Op;
use cuprous_distributed::collectives::{Memory, Message, Request};
use cuprous_distributed::network::{Communicator, Ticket};
use cuprous_distributed::{Failure, Result};

use crate::api::{api, call, describe, last_error};
use crate::elements::{BYTES, Elements, reduced};
use crate::{Gpu, device, ras};

/// How often a wait for the other ranks looks for an interrupt.
const LOOK: Duration = Duration::from_millis(20);

/// Work on the stream for collectives, up to an event.
struct Submitted {
    event: ManuallyDrop<Event>,
    /// Events with time stamps before and after the work. Present only if a profile was being made.
    timing: Option<[Event; 2]>,
    working: Arc<Stream>,
    /// Events that can be used again.
    spare: Arc<Mutex<Vec<Event>>>,
    /// Memory that the work needs besides the caller's.
    _staging: Vec<Buffer>,
}

impl Drop for Submitted {
    fn drop(&mut self) {
        // SAFETY: the value is dropped, so nothing uses the field any more. A stream that waits for the event waits for
        // what it recorded before that call.
        let event = unsafe { ManuallyDrop::take(&mut self.event) };
        lock(&self.spare).push(event);
    }
}

impl Ticket for Submitted {
    fn is_done(&self) -> Result<bool> {
        self.working.context().make_current().and_then(|()| self.event.is_done()).map_err(device)
    }

    fn order(&self) -> Result<()> {
        self.working.context().make_current().and_then(|()| self.working.wait_event(&self.event)).map_err(device)
    }

    fn nanoseconds(&self) -> Option<u64> {
        let [first, last] = self.timing.as_ref()?;
        last.elapsed_ms(first).ok().map(|ms| (f64::from(ms) * 1e6) as u64)
    }
}

/// What a communicator is at present.
enum Stage {
    /// The ranks find each other.
    Connecting,
    Connected(ncclComm_t),
    /// It was freed, aborted, or never came about, for this reason.
    Ended(String),
}

// SAFETY: NCCL allows any thread to use a communicator, one at a time; the lock of calls ensures that.
unsafe impl Send for Stage {}

/// How long an abort waits for a call that another thread makes. A call takes longer only if it waits for other ranks,
/// as the first ones do, which connect; such a call ends by the abort.
const CALL: Duration = Duration::from_millis(200);

/// The communicator as the threads share it, also one that is left behind while it waits for other ranks.
///
/// Invariant: every call of NCCL with the communicator is made under the lock `calls`, except an abort while another
/// call waits for other ranks. The lock of the stage is never held during a call.
struct Shared {
    api: &'static NcclApi,
    context: &'static Context,
    stage: Mutex<Stage>,
    changed: Condvar,
    calls: Mutex<()>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|e| e.into_inner())
}

impl Shared {
    /// Connects with the other ranks, which blocks.
    fn connect(&self, n: usize, id: ncclUniqueId, me: usize) {
        let (api, null) = (self.api, std::ptr::null_mut());
        let (mut comm, mut config) = (null, ncclConfig_t { blocking: 1, ..ncclConfig_t::non_blocking() });
        let result = self.context.make_current().map_err(device).and_then(|()| {
            let config = &raw mut config;
            // SAFETY: the call writes one handle and reads the settings; the GPU's context is current.
            unsafe { call!(api, null, ncclCommInitRankConfig(&raw mut comm, n as c_int, id, me as c_int, config)) }
        });
        let mut stage = lock(&self.stage);
        let is_wanted = matches!(*stage, Stage::Connecting);
        match result {
            Ok(()) if is_wanted => *stage = Stage::Connected(comm),
            Err(failure) if is_wanted => *stage = Stage::Ended(failure.message),
            Ok(()) => {
                drop(stage);
                // SAFETY: nobody else has the communicator.
                let _at_worst_leaked = unsafe { call!(api, null, ncclCommAbort(comm)) };
            }
            Err(_) => {}
        }
        self.changed.notify_all();
    }

    /// Returns the communicator if there is one.
    fn comm(&self) -> Result<ncclComm_t> {
        match &*lock(&self.stage) {
            Stage::Connected(comm) => Ok(*comm),
            Stage::Connecting => Err(Failure::backend("[nccl] the ranks are not connected")),
            Stage::Ended(reason) => Err(Failure::backend(reason)),
        }
    }

    /// Takes the communicator away from all others.
    fn take(&self, reason: &str) -> Option<ncclComm_t> {
        let was = std::mem::replace(&mut *lock(&self.stage), Stage::Ended(reason.into()));
        self.changed.notify_all();
        match was {
            Stage::Connected(comm) => Some(comm),
            _ => None,
        }
    }

    /// Takes the lock of calls unless another thread keeps it for that time.
    fn calls(&self, time: Duration) -> Option<MutexGuard<'_, ()>> {
        let start = Instant::now();
        loop {
            match self.calls.try_lock() {
                Ok(guard) => return Some(guard),
                Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
                Err(TryLockError::WouldBlock) if start.elapsed() >= time => return None,
                Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_micros(100)),
            }
        }
    }
}

/// One rank of a communicator.
///
/// Its calls block until NCCL has submitted their work, in the calling thread: communicators that do not block start a
/// thread for each call, which takes longer than all of the rest.
pub(crate) struct Nccl {
    shared: Arc<Shared>,
    gpu: Gpu,
    stream: Arc<Stream>,
    me: usize,
    n: usize,
    /// What a barrier reduces.
    token: Buffer,
    spare: Arc<Mutex<Vec<Event>>>,
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
        let shared = Arc::new(Shared {
            api,
            context: gpu.context,
            stage: Mutex::new(Stage::Connecting),
            changed: Condvar::new(),
            calls: Mutex::default(),
        });
        let connected = shared.clone();
        std::thread::Builder::new()
            .name("cuprous-connect".into())
            .spawn(move || connected.connect(n, unique, me))
            .map_err(|e| Failure::backend(format!("cannot start a thread: {e}")))?;
        Ok(Nccl { shared, gpu, stream, me, n, token, spare: Arc::default() })
    }

    /// Submits calls, more than one as a group, after the working stream's work so far.
    fn submit_calls(
        &self,
        is_group: bool,
        staging: Vec<Buffer>,
        calls: impl FnOnce(&Calls<'_>) -> Result<()>,
    ) -> Result<Arc<dyn Ticket>> {
        let (api, context) = (self.shared.api, self.gpu.context);
        context.make_current().map_err(device)?;
        let order = || {
            let ready = self.event()?;
            ready.record(&self.gpu.working)?;
            self.stream.wait_event(&ready)?;
            lock(&self.spare).push(ready);
            Ok(())
        };
        order().map_err(device)?;
        let first = self.timed_event().map_err(device)?;
        {
            let _one = lock(&self.shared.calls);
            let comm = self.shared.comm()?;
            if is_group {
                // SAFETY: the functions have no arguments. The group is ended in any case.
                unsafe { call!(api, comm, ncclGroupStart()) }?;
            }
            let result = calls(&Calls { api, comm, stream: &self.stream });
            // SAFETY: as above.
            let ended = if is_group { unsafe { call!(api, comm, ncclGroupEnd()) } } else { Ok(()) };
            result.and(ended)?;
        }
        self.mark(staging, first)
    }

    /// Marks the end of what was submitted, which began at the event `first` if its time is recorded.
    fn mark(&self, staging: Vec<Buffer>, first: Option<Event>) -> Result<Arc<dyn Ticket>> {
        let record = || {
            let event = self.event()?;
            event.record(&self.stream)?;
            Ok(ManuallyDrop::new(event))
        };
        let last = if first.is_some() { self.timed_event().map_err(device)? } else { None };
        let timing = first.zip(last).map(|(first, last)| [first, last]);
        let (event, working, spare) = (record().map_err(device)?, self.gpu.working.clone(), self.spare.clone());
        Ok(Arc::new(Submitted { event, timing, working, spare, _staging: staging }))
    }

    /// Returns an event with its time at this point of the stream; `None` if no profile is being made.
    fn timed_event(&self) -> cuprous_cuda::Result<Option<Event>> {
        let record = || {
            let event = Event::with_timing(self.gpu.context)?;
            event.record(&self.stream)?;
            Ok(event)
        };
        profile::on().then(record).transpose()
    }

    /// Returns an event that nobody uses.
    fn event(&self) -> cuprous_cuda::Result<Event> {
        let spare = lock(&self.spare).pop();
        spare.map_or_else(|| Event::new(self.gpu.context), Ok)
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
        let ticket = self.submit_calls(false, staging, |calls| {
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
        let calls = Calls { api: self.shared.api, comm: std::ptr::null_mut(), stream: &self.stream };
        outputs.iter().enumerate().try_for_each(|(k, &output)| calls.copy(part(to, k), output))?;
        // The first ticket has the staging memory.
        let last = self.mark(Vec::new(), None)?;
        Ok(Arc::new(Both { last, first: ticket }))
    }
}

/// Work after which more was submitted.
struct Both {
    last: Arc<dyn Ticket>,
    first: Arc<dyn Ticket>,
}

impl Ticket for Both {
    fn is_done(&self) -> Result<bool> {
        self.last.is_done()
    }

    fn order(&self) -> Result<()> {
        self.last.order()
    }

    fn nanoseconds(&self) -> Option<u64> {
        self.first.nanoseconds()
    }
}

impl Communicator for Nccl {
    fn connect(&self) -> Result<()> {
        let mut stage = lock(&self.shared.stage);
        while matches!(*stage, Stage::Connecting) {
            if Token::current().requested() {
                return Err(Failure::interrupted("interrupted"));
            }
            let changed = self.shared.changed.wait_timeout(stage, LOOK);
            stage = changed.unwrap_or_else(|e| e.into_inner()).0;
        }
        drop(stage);
        self.shared.comm().map(drop)
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
                self.submit_calls(false, Vec::new(), |c| {
                    c.collective(Op::AllReduce, token, token, token.bytes, BYTES, 0)
                })
            }
            Op::Gather => self.submit_calls(true, Vec::new(), |calls| match *root {
                Some(root) if root != me => calls.send(inputs[0], root),
                _ => {
                    calls.copy(inputs[0], outputs[me])?;
                    others().try_for_each(|peer| calls.receive(outputs[peer], peer))
                }
            }),
            Op::Scatter => self.submit_calls(true, Vec::new(), |calls| match *root {
                Some(root) if root != me => calls.receive(outputs[0], root),
                _ => {
                    calls.copy(inputs[me], outputs[0])?;
                    others().try_for_each(|peer| calls.send(inputs[peer], peer))
                }
            }),
            Op::AllToAll => self.submit_calls(true, Vec::new(), |calls| {
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
        self.submit_calls(true, Vec::new(), |calls| {
            messages.iter().try_for_each(|message| match (message.is_send, message.peer) {
                (true, Some(peer)) => calls.send(message.memory, peer),
                (false, Some(peer)) => calls.receive(message.memory, peer),
                (_, None) => Err(Failure::value("[recv] NCCL receives from a given rank")),
            })
        })
    }

    fn failure(&self) -> Option<String> {
        let _one = self.shared.calls(Duration::ZERO)?;
        let (api, comm) = (self.shared.api, self.shared.comm().ok()?);
        let mut status = ncclResult_t::ncclSuccess;
        // SAFETY: the communicator is valid under the lock of calls; the call writes one status.
        let asked = unsafe { call!(api, comm, ncclCommGetAsyncError(comm, &raw mut status)) };
        match asked {
            Err(failure) => Some(failure.message),
            Ok(()) if status == ncclResult_t::ncclSuccess => None,
            Ok(()) => Some(format!("[nccl] {}", describe(api, comm, status))),
        }
    }

    fn last_error(&self) -> Option<String> {
        let _one = self.shared.calls(Duration::ZERO)?;
        last_error(self.shared.api, self.shared.comm().ok()?)
    }

    fn report(&self) -> Option<String> {
        ras::report()
    }

    fn abort(&self) {
        let Some(comm) = self.shared.take("[nccl] the communicator was aborted") else { return };
        let _one = self.shared.calls(CALL);
        if self.gpu.context.make_current().is_ok() {
            // SAFETY: the communicator was valid, and nobody uses it from here on. NCCL allows an abort beside a call
            // that waits, which ends by it.
            let _at_worst_leaked = unsafe { call!(self.shared.api, std::ptr::null_mut(), ncclCommAbort(comm)) };
        }
    }

    fn close(&self) {
        let Some(comm) = self.shared.take("[nccl] the communicator was closed") else { return };
        let _one = lock(&self.shared.calls);
        if self.gpu.context.make_current().is_ok() {
            // SAFETY: the communicator was valid, and nobody uses it from here on.
            let _at_worst_leaked = unsafe { call!(self.shared.api, std::ptr::null_mut(), ncclCommDestroy(comm)) };
        }
    }
}

impl Drop for Nccl {
    fn drop(&mut self) {
        self.abort();
    }
}
