//! NCCL between processes of one machine, through Unix sockets.
//!
//! As on GPUs, nothing is compared: ranks that call different things wait for each other forever or get wrong numbers,
//! a rank that died is waited for, and only an abort ends a collective. As NCCL's, calls block: the creation of a
//! communicator and its first call until all ranks have come, and its destruction until all ranks destroy theirs.

mod connections;
mod transfers;

use std::cell::RefCell;
use std::ffi::{c_char, c_int, c_void};
use std::sync::atomic::{AtomicBool, Ordering::*};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use cuprous_cuda_sys::driver::{CUresult, CUstream};
use cuprous_cuda_sys::nccl::{
    NCCL_UNIQUE_ID_BYTES, ncclComm_t, ncclConfig_t, ncclDataType_t, ncclRedOp_t, ncclResult_t, ncclUniqueId,
};

use self::connections::Connections;
use self::transfers::{Call, Kind};
use super::objects;
use crate::driver::planned;
use crate::driver::stream::{run_until, submit_external};
use crate::driver::work::External;
use crate::settings::settings;

const VERSION: c_int = 23_007;
/// How often calls that block look whether they may return.
const PAUSE: Duration = Duration::from_micros(100);
/// The longest time after which a GPU gets to a collective that it has.
const LATE: u64 = 1_500;

type Status = Result<(), ncclResult_t>;

/// The calls of one group on one communicator.
struct Job {
    calls: Vec<Call>,
    stream: usize,
    work: Arc<External>,
}

impl Job {
    /// Returns true unless it consists of messages, which concern two ranks.
    fn connects(&self) -> bool {
        !self.calls.iter().all(Call::is_message)
    }
}

/// A communicator. Its thread performs the jobs in order.
struct Comm {
    is_aborted: Arc<AtomicBool>,
    /// True once the ranks have met in their first jobs.
    have_met: Arc<AtomicBool>,
    jobs: Mutex<Option<Sender<Job>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Comm {
    /// Connects with the other ranks. `None` if that fails.
    fn connect(name: &str, me: usize, n: usize) -> Option<Arc<Comm>> {
        let is_aborted = Arc::new(AtomicBool::new(false));
        let connections = Connections::open(name, me, n, &is_aborted)?;
        let (sender, receiver) = channel();
        let have_met = Arc::new(AtomicBool::new(false));
        let (over, met) = (is_aborted.clone(), have_met.clone());
        let thread = std::thread::spawn(move || perform(connections, &receiver, &over, &met));
        Some(Arc::new(Comm { is_aborted, have_met, jobs: Mutex::new(Some(sender)), thread: Mutex::new(Some(thread)) }))
    }

    /// Submits a job. The first collective returns when all ranks have theirs.
    fn submit(&self, job: Job) -> Status {
        let connects = job.connects();
        let jobs = lock(&self.jobs);
        jobs.as_ref().and_then(|jobs| jobs.send(job).ok()).ok_or(ncclResult_t::ncclInvalidUsage)?;
        drop(jobs);
        while connects && !self.have_met.load(Acquire) {
            if self.is_aborted.load(Acquire) {
                return Err(ncclResult_t::ncclInternalError);
            }
            std::thread::sleep(PAUSE);
        }
        Ok(())
    }

    /// Ends the thread after the jobs that it has, and after those of all ranks unless it is aborted.
    fn end(&self) {
        drop(lock(&self.jobs).take());
        if let Some(thread) = lock(&self.thread).take() {
            let _ = thread.join();
        }
    }
}

/// Performs jobs until there are no more. Those of an aborted communicator end without a result.
fn perform(mut connections: Connections, jobs: &Receiver<Job>, is_aborted: &AtomicBool, have_met: &AtomicBool) {
    let mut random = settings().seed ^ 0x9e37_79b9_7f4a_7c15 ^ u64::from(std::process::id());
    let over = || is_aborted.load(Acquire);
    for job in jobs {
        let connects = job.connects();
        let Job { calls, stream, work } = job;
        if connects && !have_met.load(Acquire) && connections.meet(&over) {
            have_met.store(true, Release);
        }
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        std::thread::sleep(Duration::from_micros((random >> 33) % LATE));
        if run_until(stream, &work, over) {
            connections.perform(&calls, &over);
        }
        work.end();
    }
    connections.part(&over);
}

/// How many groups a thread has begun, and their calls so far.
type Begun = (u32, Vec<(usize, usize, Call)>);

thread_local! {
    static GROUP: RefCell<Begun> = const { RefCell::new((0, Vec::new())) };
}

/// Runs the body of a function: with the status that a test planned for it.
fn enter(name: &str, body: impl FnOnce() -> Status) -> ncclResult_t {
    match planned(name) {
        Some(CUresult(status)) => ncclResult_t(status as c_int),
        None => body().err().unwrap_or(ncclResult_t::ncclSuccess),
    }
}

fn find(comm: ncclComm_t) -> Result<Arc<Comm>, ncclResult_t> {
    objects::get::<Arc<Comm>>(comm as usize).ok_or(ncclResult_t::ncclInvalidArgument)
}

/// Adds a call to the thread's group, or submits it at once.
fn add(name: &str, comm: ncclComm_t, stream: CUstream, call: Call) -> ncclResult_t {
    enter(name, || {
        find(comm)?;
        let is_open = GROUP.with_borrow_mut(|(depth, calls)| {
            calls.push((comm as usize, stream as usize, call));
            *depth > 0
        });
        if is_open { Ok(()) } else { submit() }
    })
}

/// Submits the calls of the thread's group, those of a communicator together.
fn submit() -> Status {
    let mut calls = GROUP.with_borrow_mut(|(_, calls)| std::mem::take(calls));
    while let Some((comm, stream, _)) = calls.first() {
        let (comm, stream) = (*comm, *stream);
        let (own, others): (Vec<_>, Vec<_>) = calls.into_iter().partition(|(other, ..)| *other == comm);
        calls = others;
        if own.iter().any(|(_, other, _)| *other != stream) {
            return Err(ncclResult_t::ncclInvalidUsage);
        }
        let communicator = find(comm as ncclComm_t)?;
        let work = Arc::new(External::default());
        submit_external(stream as *mut c_void, &work).map_err(|_| ncclResult_t::ncclUnhandledCudaError)?;
        communicator.submit(Job { calls: own.into_iter().map(|(.., call)| call).collect(), stream, work })?;
    }
    Ok(())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ncclGetVersion(to: *mut c_int) -> ncclResult_t {
    // SAFETY: the caller passes the address of a variable.
    unsafe { to.write(VERSION) };
    ncclResult_t::ncclSuccess
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ncclGetErrorString(status: ncclResult_t) -> *const c_char {
    match status {
        ncclResult_t::ncclSuccess => c"no error".as_ptr(),
        ncclResult_t::ncclInvalidArgument => c"invalid argument".as_ptr(),
        ncclResult_t::ncclInvalidUsage => c"invalid usage".as_ptr(),
        ncclResult_t::ncclRemoteError => c"remote process exited or there was a network error".as_ptr(),
        ncclResult_t::ncclInProgress => c"NCCL operation in progress".as_ptr(),
        _ => c"unhandled error of the simulator".as_ptr(),
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ncclGetLastError(_comm: ncclComm_t) -> *const c_char {
    std::ptr::null()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ncclGetUniqueId(to: *mut ncclUniqueId) -> ncclResult_t {
    enter("ncclGetUniqueId", || {
        let mut id = ncclUniqueId { internal: [0; NCCL_UNIQUE_ID_BYTES] };
        for (to, byte) in id.internal.iter_mut().zip(connections::new_name().bytes()) {
            *to = byte as c_char;
        }
        // SAFETY: the caller passes the address of an id.
        unsafe { to.write(id) };
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ncclCommInitRankConfig(
    to: *mut ncclComm_t,
    n: c_int,
    id: ncclUniqueId,
    rank: c_int,
    config: *mut ncclConfig_t,
) -> ncclResult_t {
    enter("ncclCommInitRankConfig", || {
        // SAFETY: the caller passes null or settings.
        let blocks = unsafe { config.as_ref() }.is_none_or(|config| config.blocking != 0);
        if !(0..n).contains(&rank) || !blocks {
            return Err(ncclResult_t::ncclInvalidArgument);
        }
        let name: String = id.internal.iter().map(|&byte| byte as u8 as char).take_while(|&c| c != '\0').collect();
        let connected = Comm::connect(&name, rank as usize, n as usize).ok_or(ncclResult_t::ncclSystemError)?;
        let comm = objects::create(connected);
        // SAFETY: the caller passes the address of a variable.
        unsafe { to.write(comm as ncclComm_t) };
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ncclCommGetAsyncError(comm: ncclComm_t, to: *mut ncclResult_t) -> ncclResult_t {
    enter("ncclCommGetAsyncError", || {
        find(comm)?;
        // SAFETY: the caller passes the address of a variable.
        unsafe { to.write(ncclResult_t::ncclSuccess) };
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ncclCommDestroy(comm: ncclComm_t) -> ncclResult_t {
    enter("ncclCommDestroy", || {
        find(comm)?.end();
        objects::destroy::<Arc<Comm>>(comm as usize).ok_or(ncclResult_t::ncclInvalidArgument)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ncclCommAbort(comm: ncclComm_t) -> ncclResult_t {
    enter("ncclCommAbort", || {
        let found = find(comm)?;
        found.is_aborted.store(true, Release);
        found.end();
        objects::destroy::<Arc<Comm>>(comm as usize).ok_or(ncclResult_t::ncclInvalidArgument)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ncclGroupStart() -> ncclResult_t {
    enter("ncclGroupStart", || {
        GROUP.with_borrow_mut(|(depth, _)| *depth += 1);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ncclGroupEnd() -> ncclResult_t {
    let is_last = GROUP.with_borrow_mut(|(depth, _)| {
        *depth = depth.saturating_sub(1);
        *depth == 0
    });
    enter("ncclGroupEnd", || if is_last { submit() } else { Ok(()) })
}

/// Defines the collectives. Where the element type is missing, the call moves bytes.
macro_rules! collectives {
    ($($name:ident($($arg:ident: $ty:ty),*) => $call:expr;)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($arg: $ty,)* comm: ncclComm_t, stream: CUstream) -> ncclResult_t {
            add(stringify!($name), comm, stream, $call)
        }
    )*};
}
collectives! {
    ncclAllReduce(from: *const c_void, to: *mut c_void, count: usize, dtype: ncclDataType_t, op: ncclRedOp_t) =>
        Call::new(Kind::AllReduce, from, to, count, dtype).reducing(op);
    ncclReduce(from: *const c_void, to: *mut c_void, count: usize, dtype: ncclDataType_t, op: ncclRedOp_t, root: c_int) =>
        Call::new(Kind::Reduce, from, to, count, dtype).reducing(op).with(root);
    ncclBroadcast(from: *const c_void, to: *mut c_void, count: usize, dtype: ncclDataType_t, root: c_int) =>
        Call::new(Kind::Broadcast, from, to, count, dtype).with(root);
    ncclAllGather(from: *const c_void, to: *mut c_void, count: usize, dtype: ncclDataType_t) =>
        Call::new(Kind::AllGather, from, to, count, dtype);
    ncclReduceScatter(from: *const c_void, to: *mut c_void, count: usize, dtype: ncclDataType_t, op: ncclRedOp_t) =>
        Call::new(Kind::ReduceScatter, from, to, count, dtype).reducing(op);
    ncclSend(from: *const c_void, count: usize, dtype: ncclDataType_t, peer: c_int) =>
        Call::new(Kind::Send, from, std::ptr::null_mut(), count, dtype).with(peer);
    ncclRecv(to: *mut c_void, count: usize, dtype: ncclDataType_t, peer: c_int) =>
        Call::new(Kind::Receive, std::ptr::null(), to, count, dtype).with(peer);
}

#[cfg(test)]
mod tests;
