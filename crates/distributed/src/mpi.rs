//! Streams through the MPI library on which the program already runs.
//!
//! The library is the one that mpi4py has opened and initialized, and the communicator is one of its own, so nothing is
//! linked. MPI carries bytes only: checks, sequence numbers and reductions are those of every group.

use std::collections::VecDeque;
use std::ffi::{c_int, c_void};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use libloading::Library;

use crate::failure::{Failure, Result};
use crate::link::{ALIGN, Closed, Interest, Link, Waker};

/// Bytes of a message at most.
const CHUNK: usize = 256 << 10;
/// Messages to a rank that are on their way at a time.
const WINDOW: usize = 4;
/// Bytes that are read ahead for each rank.
const AHEAD: usize = 2 * CHUNK;
/// Polls without a sleep, and with one of the shortest kind.
const YIELDS: u32 = 200;
const NAPS: u32 = 400;

/// A handle of MPI: an integer in MPICH, a pointer in Open MPI. Both travel in one register, and fit here in memory.
type Handle = usize;
/// Room for a status of any library.
type Status = [u64; 8];

/// The functions of MPI that streams need. All return 0 on success.
struct Functions {
    isend: unsafe extern "C" fn(*const c_void, c_int, Handle, c_int, c_int, Handle, *mut Handle) -> c_int,
    improbe: unsafe extern "C" fn(c_int, c_int, Handle, *mut c_int, *mut Handle, *mut Status) -> c_int,
    imrecv: unsafe extern "C" fn(*mut c_void, c_int, Handle, *mut Handle, *mut Handle) -> c_int,
    test: unsafe extern "C" fn(*mut Handle, *mut c_int, *mut Status) -> c_int,
    get_count: unsafe extern "C" fn(*const Status, Handle, *mut c_int) -> c_int,
    /// Keeps the functions loaded.
    _library: Library,
}

/// A communicator whose ranks are those of a group.
pub struct Communicator {
    functions: Functions,
    handle: Handle,
    /// The datatype `MPI_BYTE`.
    byte: Handle,
    /// False once MPI may be finalized: nothing calls it any more.
    is_open: RwLock<bool>,
}

impl Communicator {
    /// Takes a communicator that nobody else uses.
    ///
    /// # Safety
    /// `library` has opened MPI, which is initialized for several threads (`MPI_THREAD_MULTIPLE`) until
    /// [`Communicator::close`], and the handles are its own.
    ///
    /// # Errors
    /// The library lacks a function of MPI 3.
    pub unsafe fn new(library: &Path, handle: usize, byte: usize) -> Result<Communicator> {
        let wrong = |e: libloading::Error| Failure::backend(format!("the MPI library cannot be used: {e}"));
        // SAFETY: it is loaded already, so nothing runs.
        let library = unsafe { Library::new(library) }.map_err(wrong)?;
        macro_rules! get {
            ($name:literal) => {
                // SAFETY: the standard defines the function's type.
                *unsafe { library.get($name) }.map_err(wrong)?
            };
        }
        let functions = Functions {
            isend: get!(b"MPI_Isend\0"),
            improbe: get!(b"MPI_Improbe\0"),
            imrecv: get!(b"MPI_Imrecv\0"),
            test: get!(b"MPI_Test\0"),
            get_count: get!(b"MPI_Get_count\0"),
            _library: library,
        };
        Ok(Communicator { functions, handle, byte, is_open: RwLock::new(true) })
    }

    /// Ends all calls of MPI: links are closed from here on.
    pub fn close(&self) {
        *self.is_open.write().unwrap_or_else(PoisonError::into_inner) = false;
    }

    /// Calls functions of MPI, unless it may be finalized.
    fn call(&self, call: impl FnOnce(&Functions) -> c_int) -> std::result::Result<(), Closed> {
        let is_open = self.is_open.read().unwrap_or_else(PoisonError::into_inner);
        if *is_open && call(&self.functions) == 0 { Ok(()) } else { Err(Closed) }
    }

    /// Begins to receive the next message of a rank, if one has arrived.
    ///
    /// # Safety
    /// `room` has [`CHUNK`] bytes until the operation has ended.
    unsafe fn receive(&self, from: usize, tag: c_int, room: *mut u8) -> std::result::Result<Option<Handle>, Closed> {
        let (mut flag, mut message, mut request, mut status) = (0, 0, 0, Status::default());
        // SAFETY: all addresses are those of variables of the right size, and of the room for a message.
        self.call(|f| unsafe {
            match (f.improbe)(from as c_int, tag, self.handle, &mut flag, &mut message, &mut status) {
                0 if flag != 0 => (f.imrecv)(room.cast(), CHUNK as c_int, self.byte, &mut message, &mut request),
                error => error,
            }
        })?;
        Ok((flag != 0).then_some(request))
    }

    /// Returns how many bytes an operation has moved, if it has ended.
    fn test(&self, request: &mut Handle) -> std::result::Result<Option<usize>, Closed> {
        let (mut flag, mut count, mut status) = (0, 0, Status::default());
        // SAFETY: all addresses are those of variables of the right size.
        self.call(|f| unsafe {
            match (f.test)(request, &mut flag, &mut status) {
                0 if flag != 0 => (f.get_count)(&status, self.byte, &mut count),
                error => error,
            }
        })?;
        Ok((flag != 0).then_some(count as usize))
    }
}

/// The stream to and from one rank.
#[derive(Default)]
struct Stream {
    /// What was written since the last message.
    pending: Vec<u8>,
    /// Messages on their way: their bytes must stay where they are.
    sent: VecDeque<(Handle, Vec<u8>)>,
    /// Buffers for other messages.
    spare: Vec<Vec<u8>>,
    /// Aligned for any element; empty before the first message.
    arrived: Vec<u128>,
    start: usize,
    end: usize,
    /// A message that is being received at `end`.
    arriving: Option<Handle>,
    is_closed: bool,
}

impl Drop for Stream {
    fn drop(&mut self) {
        // MPI may still read or write the memory of operations that never ended.
        self.sent.drain(..).for_each(|(_, bytes)| std::mem::forget(bytes));
        if self.arriving.is_some() {
            std::mem::forget(std::mem::take(&mut self.arrived));
        }
    }
}

/// Streams of messages with one tag.
pub(crate) struct MpiLink {
    on: Arc<Communicator>,
    tag: c_int,
    streams: Vec<Stream>,
    /// True if another thread wants `wait` to end.
    woken: Arc<(Mutex<bool>, Condvar)>,
}

impl MpiLink {
    /// Makes the streams to and from `n` ranks with that tag.
    pub(crate) fn new(on: Arc<Communicator>, tag: usize, n: usize) -> MpiLink {
        let streams = (0..n).map(|_| Stream::default()).collect();
        MpiLink { on, tag: tag as c_int, streams, woken: Arc::default() }
    }

    /// Sends the pending bytes to a rank as a message.
    fn post(&mut self, to: usize) -> std::result::Result<(), Closed> {
        let stream = &mut self.streams[to];
        let bytes = std::mem::replace(&mut stream.pending, stream.spare.pop().unwrap_or_default());
        let (on, mut request) = (&self.on, 0);
        // SAFETY: the bytes stay where they are until the operation has ended.
        let posted = on.call(|f| unsafe {
            let address = bytes.as_ptr().cast();
            (f.isend)(address, bytes.len() as c_int, on.byte, to as c_int, self.tag, on.handle, &mut request)
        });
        stream.is_closed |= posted.is_err();
        if posted.is_ok() {
            stream.sent.push_back((request, bytes));
        }
        posted
    }

    /// Takes back the buffers of messages that have been sent. Returns true if there were some.
    fn reclaim(&mut self, to: usize) -> bool {
        let stream = &mut self.streams[to];
        let before = stream.sent.len();
        while let Some((request, _)) = stream.sent.front_mut() {
            match self.on.test(request) {
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(Closed) => {
                    stream.is_closed = true;
                    break;
                }
            }
            if let Some((_, mut bytes)) = stream.sent.pop_front() {
                bytes.clear();
                stream.spare.push(bytes);
            }
        }
        stream.sent.len() < before
    }

    /// Receives what has arrived from a rank, if there is room. Returns true if something changed.
    fn receive(&mut self, from: usize) -> bool {
        let stream = &mut self.streams[from];
        if stream.arriving.is_none() && stream.has_room() {
            let end = stream.end;
            let room = stream.bytes_mut()[end..].as_mut_ptr();
            // SAFETY: a message has at most `CHUNK` bytes, for which there is room until it has arrived.
            match unsafe { self.on.receive(from, self.tag, room) } {
                Ok(request) => stream.arriving = request,
                Err(Closed) => stream.is_closed = true,
            }
        }
        let Some(request) = &mut stream.arriving else { return stream.is_closed };
        match self.on.test(request) {
            Ok(None) => return false,
            Ok(Some(count)) => (stream.arriving, stream.end) = (None, stream.end + count),
            Err(Closed) => stream.is_closed = true,
        }
        true
    }
}

impl Stream {
    fn bytes_mut(&mut self) -> &mut [u8] {
        self.arrived.resize(AHEAD / ALIGN, 0);
        // SAFETY: the buffer has that many bytes, and any bytes are valid.
        unsafe { std::slice::from_raw_parts_mut(self.arrived.as_mut_ptr().cast(), AHEAD) }
    }

    /// Returns true if a message fits at the end of what has arrived, after moving that to the beginning.
    fn has_room(&mut self) -> bool {
        let (start, end) = (self.start, self.end);
        if AHEAD - end < CHUNK && end - start <= AHEAD - CHUNK {
            self.bytes_mut().copy_within(start..end, 0);
            (self.start, self.end) = (0, end - start);
        }
        AHEAD - self.end >= CHUNK
    }
}

impl Link for MpiLink {
    fn begin(&mut self) {
        *self.woken.0.lock().unwrap_or_else(PoisonError::into_inner) = false;
    }

    fn write(&mut self, to: usize, bytes: &[u8]) -> std::result::Result<usize, Closed> {
        let mut count = 0;
        while count < bytes.len() {
            if self.streams[to].is_closed {
                return Err(Closed);
            }
            if self.streams[to].sent.len() == WINDOW && !self.reclaim(to) {
                break;
            }
            let stream = &mut self.streams[to];
            let part = (bytes.len() - count).min(CHUNK - stream.pending.len());
            stream.pending.extend_from_slice(&bytes[count..count + part]);
            count += part;
            if stream.pending.len() == CHUNK {
                self.post(to)?;
            }
        }
        Ok(count)
    }

    fn readable(&mut self, from: usize, want: usize) -> std::result::Result<(*const u8, usize), Closed> {
        while self.streams[from].end - self.streams[from].start < want.min(CHUNK) && self.receive(from) {
            if self.streams[from].is_closed {
                break;
            }
        }
        let stream = &mut self.streams[from];
        let count = (stream.end - stream.start) / ALIGN * ALIGN;
        if count == 0 && stream.is_closed {
            return Err(Closed);
        }
        let start = stream.start;
        Ok((stream.bytes_mut()[start..].as_ptr(), count))
    }

    fn consume(&mut self, from: usize, count: usize) {
        let stream = &mut self.streams[from];
        stream.start += count;
        if stream.start == stream.end && stream.arriving.is_none() {
            (stream.start, stream.end) = (0, 0);
        }
    }

    fn flush(&mut self) -> bool {
        for to in 0..self.streams.len() {
            if !self.streams[to].pending.is_empty() {
                // A closed stream is noticed where its answer is read.
                let _ = self.post(to);
            }
            self.reclaim(to);
        }
        self.streams.iter().all(|stream| stream.sent.is_empty() || stream.is_closed)
    }

    fn is_sent(&self, to: usize) -> bool {
        self.streams[to].pending.is_empty() // the rest is MPI's
    }

    fn wait(&mut self, interest: &[Interest], time: Duration) {
        let (start, mut polls) = (Instant::now(), 0);
        loop {
            let mut moved = false;
            for (peer, wants) in interest.iter().enumerate() {
                moved |= wants.read && !self.streams[peer].is_closed && self.receive(peer);
            }
            for to in 0..self.streams.len() {
                moved |= !self.streams[to].is_closed && self.reclaim(to);
            }
            let left = time.saturating_sub(start.elapsed());
            if moved || left.is_zero() {
                return;
            }
            // MPI moves data only while it is called. Without operations there is nothing to move.
            let is_idle = interest.iter().all(|i| !i.read && !i.write) && self.flush();
            polls += 1;
            let nap = match polls {
                _ if is_idle => left,
                ..YIELDS => Duration::ZERO,
                YIELDS..NAPS => Duration::from_micros(20),
                _ => Duration::from_micros(500),
            };
            if nap.is_zero() {
                std::thread::yield_now();
            }
            let woken = self.woken.0.lock().unwrap_or_else(PoisonError::into_inner);
            let woken = match *woken || nap.is_zero() {
                true => *woken,
                false => *self.woken.1.wait_timeout(woken, nap).unwrap_or_else(PoisonError::into_inner).0,
            };
            if woken {
                return;
            }
        }
    }

    fn waker(&self) -> Waker {
        let woken = self.woken.clone();
        Box::new(move || {
            *woken.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
            woken.1.notify_all();
        })
    }

    fn name(&self) -> &'static str {
        "MPI"
    }
}
