//! NCCL between processes of one machine, through Unix sockets.
//!
//! As on GPUs, nothing is compared: ranks that call different things wait for each other forever or get wrong numbers,
//! a rank that died is waited for, and only an abort ends a collective.

mod connections;
mod transfers;

use std::cell::RefCell;
use std::ffi::{c_char, c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering::*};
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
/// The longest time after which a GPU gets to a collective that it has.
const LATE: u64 = 1_500;

type Status = Result<(), ncclResult_t>;

/// The calls of one group on one communicator.
struct Job {
    calls: Vec<Call>,
    stream: usize,
    work: Arc<External>,
}

/// A communicator. Its thread connects and then performs the jobs in order.
struct Comm {
    is_aborted: Arc<AtomicBool>,
    /// What `ncclCommGetAsyncError` returns.
    status: Arc<AtomicI32>,
    jobs: Mutex<Option<Sender<Job>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Comm {
    fn begin(name: String, me: usize, n: usize) -> Arc<Comm> {
        let (sender, receiver) = channel();
        let is_aborted = Arc::new(AtomicBool::new(false));
        let status = Arc::new(AtomicI32::new(ncclResult_t::ncclInProgress.0));
        let (over, answer) = (is_aborted.clone(), status.clone());
        let thread = std::thread::spawn(move || {
            let connections = Connections::open(&name, me, n, &over);
            let done = if connections.is_some() { ncclResult_t::ncclSuccess } else { ncclResult_t::ncclSystemError };
            answer.store(done.0, Release);
            perform(connections, &receiver, &over);
            if answer.load(Acquire) == ncclResult_t::ncclInProgress.0 {
                answer.store(ncclResult_t::ncclSuccess.0, Release);
            }
        });
        Arc::new(Comm { is_aborted, status, jobs: Mutex::new(Some(sender)), thread: Mutex::new(Some(thread)) })
    }

    /// Ends the thread after the jobs that it has.
    fn end(&self) {
        drop(lock(&self.jobs).take());
        if let Some(thread) = lock(&self.thread).take() {
            let _ = thread.join();
        }
    }
}

/// Performs jobs until there are no more. Those of an aborted communicator end without a result.
fn perform(mut connections: Option<Connections>, jobs: &Receiver<Job>, is_aborted: &AtomicBool) {
    let mut random = settings().seed ^ 0x9e37_79b9_7f4a_7c15 ^ u64::from(std::process::id());
    for Job { calls, stream, work } in jobs {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        std::thread::sleep(Duration::from_micros((random >> 33) % LATE));
        let over = || is_aborted.load(Acquire);
        if run_until(stream, &work, over)
            && let Some(connections) = &mut connections
        {
            connections.perform(&calls, &over);
        }
        work.end();
    }
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
        let job = Job { calls: own.into_iter().map(|(.., call)| call).collect(), stream, work };
        let jobs = lock(&communicator.jobs);
        jobs.as_ref().and_then(|jobs| jobs.send(job).ok()).ok_or(ncclResult_t::ncclInvalidUsage)?;
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
        if !(0..n).contains(&rank) || blocks {
            return Err(ncclResult_t::ncclInvalidArgument);
        }
        let name: String = id.internal.iter().map(|&byte| byte as u8 as char).take_while(|&c| c != '\0').collect();
        let comm = objects::create(Comm::begin(name, rank as usize, n as usize));
        // SAFETY: the caller passes the address of a variable.
        unsafe { to.write(comm as ncclComm_t) };
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ncclCommGetAsyncError(comm: ncclComm_t, to: *mut ncclResult_t) -> ncclResult_t {
    enter("ncclCommGetAsyncError", || {
        let status = ncclResult_t(find(comm)?.status.load(Acquire));
        // SAFETY: the caller passes the address of a variable.
        unsafe { to.write(status) };
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ncclCommFinalize(comm: ncclComm_t) -> ncclResult_t {
    enter("ncclCommFinalize", || {
        let comm = find(comm)?;
        comm.status.store(ncclResult_t::ncclInProgress.0, Release);
        drop(lock(&comm.jobs).take());
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
