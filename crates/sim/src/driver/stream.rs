//! Streams and events. Work waits in its stream's queue until somebody waits for it, or until the seed lets the stream
//! go on: so work that lacks a dependency runs at a wrong time and gives wrong results.

use std::collections::VecDeque;
use std::ffi::{c_uint, c_void};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use cuprous_cuda_sys::driver::{CUevent, CUfunction, CUgraph, CUstream, CUstreamCaptureMode};

use super::graph::{self, Graph};
use super::module::Launch;
use super::work::{External, Recording, Work};
use super::{
    BUSY, CAPTURE_UNSUPPORTED, INVALID_HANDLE, INVALID_VALUE, LAUNCH_FAILED, NOT_READY, Outcome, PAUSE, State,
    functions, lock, put,
};

pub(crate) struct Stream {
    queue: VecDeque<Work>,
    /// The nodes of the graph that is being captured.
    capture: Option<Vec<Work>>,
    /// Ordered with the legacy default stream.
    blocking: bool,
}

impl Stream {
    pub(crate) fn new(blocking: bool) -> Stream {
        Stream { queue: VecDeque::new(), capture: None, blocking }
    }
}

/// An event, by its last recording.
#[derive(Default)]
pub(crate) struct Event(Option<Arc<Recording>>);

/// Returns the stream of a handle. 0, 1 and 2 are the default stream.
fn id(stream: CUstream) -> usize {
    let id = stream as usize;
    if id <= 2 { 0 } else { id }
}

impl State {
    /// Puts work into a stream's queue, or into the graph that the stream captures.
    pub(crate) fn submit(&mut self, stream: usize, work: Work) -> Outcome {
        let target = self.streams.get_mut(&stream).ok_or(INVALID_HANDLE)?;
        if let Some(nodes) = &mut target.capture {
            if matches!(work, Work::Record(_) | Work::Wait(_)) {
                return Err(CAPTURE_UNSUPPORTED);
            }
            nodes.push(work);
            return Ok(());
        }
        // The legacy default stream and blocking streams wait for each other.
        if stream == 0 {
            let others: Vec<usize> =
                self.streams.iter().filter(|(s, x)| **s != 0 && x.blocking).map(|(s, _)| *s).collect();
            others.into_iter().try_for_each(|other| self.drain(other))?;
        } else if target.blocking {
            self.drain(0)?;
        }
        self.streams.get_mut(&stream).ok_or(INVALID_HANDLE)?.queue.push_back(work);
        for _ in 0..self.random(3) {
            self.step_any()?;
        }
        Ok(())
    }

    /// Runs one piece of work of some stream.
    fn step_any(&mut self) -> Outcome {
        let mut busy: Vec<usize> =
            self.streams.iter().filter(|(_, s)| !s.queue.is_empty()).map(|(id, _)| *id).collect();
        busy.sort_unstable();
        if busy.is_empty() {
            return Ok(());
        }
        let stream = busy[self.random(busy.len())];
        if !self.is_blocked(stream) { self.step(stream) } else { Ok(()) }
    }

    /// Returns true if a stream's next work waits for an event that did not happen, or runs on another thread.
    fn is_blocked(&self, stream: usize) -> bool {
        match self.streams.get(&stream).and_then(|s| s.queue.front()) {
            Some(Work::Wait(recording)) => !recording.is_done(),
            Some(Work::External(work)) => {
                work.begin();
                !work.has_ended()
            }
            _ => false,
        }
    }

    /// Runs the next work of a stream, and what it waits for.
    fn step(&mut self, stream: usize) -> Outcome {
        if let Some(Work::Wait(recording)) = self.streams.get(&stream).and_then(|s| s.queue.front()) {
            let recording = recording.clone();
            self.reach(&recording)?;
        }
        if let Some(Work::External(work)) = self.streams.get(&stream).and_then(|s| s.queue.front()) {
            work.begin();
            if !work.has_ended() {
                return Err(BUSY);
            }
        }
        match self.streams.get_mut(&stream).and_then(|s| s.queue.pop_front()) {
            Some(work) => self.run(&work),
            None => Ok(()),
        }
    }

    /// Runs all work of a stream.
    pub(crate) fn drain(&mut self, stream: usize) -> Outcome {
        while self.streams.get(&stream).is_some_and(|s| !s.queue.is_empty()) {
            self.step(stream)?;
        }
        Ok(())
    }

    /// Runs all work.
    pub(crate) fn drain_all(&mut self) -> Outcome {
        let streams: Vec<usize> = self.streams.keys().copied().collect();
        streams.into_iter().try_for_each(|stream| self.drain(stream))
    }

    /// Runs work until a recording has happened.
    fn reach(&mut self, recording: &Recording) -> Outcome {
        while !recording.is_done() && self.streams.get(&recording.stream).is_some_and(|s| !s.queue.is_empty()) {
            self.step(recording.stream)?;
        }
        Ok(())
    }

    /// Does a piece of work.
    pub(crate) fn run(&mut self, work: &Work) -> Outcome {
        match work {
            Work::Kernel(launch) => {
                if let Err(why) = launch.run() {
                    eprintln!("[simulator] {why}");
                    self.failed = Some(LAUNCH_FAILED);
                    return Err(LAUNCH_FAILED);
                }
            }
            // SAFETY: the caller of the driver's function vouches for the ranges.
            Work::Copy { to, from, bytes } => unsafe { std::ptr::copy(*from as *const u8, *to as *mut u8, *bytes) },
            // SAFETY: as above.
            Work::Write { to, from } => unsafe { std::ptr::copy(from.as_ptr(), *to as *mut u8, from.len()) },
            Work::Fill { to, pattern, count } => {
                for k in 0..*count {
                    // SAFETY: as above.
                    unsafe { std::ptr::copy(pattern.as_ptr(), (*to as *mut u8).add(k * pattern.len()), pattern.len()) };
                }
            }
            Work::Host(work) => work(),
            Work::External(_) => {}
            Work::Graph(plan) => graph::run(self, plan)?,
            Work::Record(recording) => drop(recording.at.set(Instant::now())),
            Work::Wait(_) | Work::RecordAtLaunch(_) => {}
        }
        Ok(())
    }

    /// Returns the work that records an event in a stream. Who waits for the event from now on waits for it.
    pub(crate) fn recording(&mut self, event: usize, stream: usize) -> Outcome<Work> {
        let slot = self.events.get_mut(&event).ok_or(INVALID_HANDLE)?;
        let recording = Arc::new(Recording { stream, at: OnceLock::new() });
        slot.0 = Some(recording.clone());
        Ok(Work::Record(recording))
    }

    /// Returns the last recording of an event.
    fn last(&self, event: CUevent) -> Outcome<Option<Arc<Recording>>> {
        self.events.get(&(event as usize)).map(|event| event.0.clone()).ok_or(INVALID_HANDLE)
    }
}

/// Submits a library's work to a stream.
pub(crate) fn submit(stream: *mut c_void, work: impl Fn() + Send + Sync + 'static) -> Result<(), i32> {
    submit_work(stream, &Work::Host(Arc::new(work)))
}

fn submit_work(stream: *mut c_void, work: &Work) -> Result<(), i32> {
    loop {
        let result = lock().submit(id(stream.cast()), work.clone());
        if result != Err(BUSY) {
            return result.map_err(|status| status.0 as i32);
        }
        std::thread::sleep(PAUSE);
    }
}

/// Submits a library's work that runs on a thread of its own.
pub(crate) fn submit_external(stream: *mut c_void, work: &Arc<External>) -> Result<(), i32> {
    submit_work(stream, &Work::External(work.clone()))
}

/// Runs the work of a stream before `work`, as a GPU does whether or not somebody waits. Returns false if `is_over`, or
/// if earlier work failed.
pub(crate) fn run_until(stream: usize, work: &External, is_over: impl Fn() -> bool) -> bool {
    while !work.has_begun() {
        if is_over() {
            return false;
        }
        let mut state = lock();
        let result = if state.failed.is_some() { Err(LAUNCH_FAILED) } else { state.step(stream) };
        drop(state);
        match result {
            Ok(()) => {}
            Err(BUSY) => std::thread::sleep(PAUSE),
            Err(_) => return false,
        }
    }
    true
}

functions! {
    cuStreamCreateWithPriority(state, to: *mut CUstream, flags: u32, _priority: i32) {
        let handle = state.handle();
        state.streams.insert(handle, Stream::new(flags & 1 == 0));
        put(to, handle as CUstream)
    }

    cuStreamDestroy_v2(state, stream: CUstream) {
        state.drain(id(stream))?;
        state.streams.remove(&id(stream)).map(|_| ()).ok_or(INVALID_HANDLE)
    }

    cuStreamSynchronize(state, stream: CUstream) {
        if state.streams.get(&id(stream)).ok_or(INVALID_HANDLE)?.capture.is_some() {
            return Err(CAPTURE_UNSUPPORTED);
        }
        state.drain(id(stream))
    }

    cuStreamQuery(state, stream: CUstream) {
        state.step_any()?;
        let stream = state.streams.get(&id(stream)).ok_or(INVALID_HANDLE)?;
        if stream.queue.is_empty() { Ok(()) } else { Err(NOT_READY) }
    }

    cuStreamWaitEvent(state, stream: CUstream, event: CUevent, _flags: u32) {
        match state.last(event)? {
            Some(recording) => state.submit(id(stream), Work::Wait(recording)),
            None => Ok(()),
        }
    }

    cuStreamBeginCapture_v2(state, stream: CUstream, _mode: CUstreamCaptureMode) {
        let stream = state.streams.get_mut(&id(stream)).ok_or(INVALID_HANDLE)?;
        if stream.capture.is_some() {
            return Err(CAPTURE_UNSUPPORTED);
        }
        stream.capture = Some(Vec::new());
        Ok(())
    }

    cuStreamEndCapture(state, stream: CUstream, to: *mut CUgraph) {
        let nodes = state.streams.get_mut(&id(stream)).and_then(|s| s.capture.take()).ok_or(INVALID_VALUE)?;
        let handle = state.handle();
        state.graphs.insert(handle, Graph::chain(nodes));
        put(to, handle as CUgraph)
    }

    cuLaunchKernel(
        state, function: CUfunction, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint, block_y: c_uint,
        block_z: c_uint, dynamic: c_uint, stream: CUstream, arguments: *mut *mut c_void, _extra: *mut *mut c_void,
    ) {
        let shape = [[grid_x, grid_y, grid_z], [block_x, block_y, block_z]];
        let launch = Launch::new(state, function, shape, dynamic, arguments, false)?;
        state.submit(id(stream), Work::Kernel(launch))
    }

    cuLaunchCooperativeKernel(
        state, function: CUfunction, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint, block_y: c_uint,
        block_z: c_uint, dynamic: c_uint, stream: CUstream, arguments: *mut *mut c_void,
    ) {
        let shape = [[grid_x, grid_y, grid_z], [block_x, block_y, block_z]];
        let launch = Launch::new(state, function, shape, dynamic, arguments, true)?;
        state.submit(id(stream), Work::Kernel(launch))
    }

    cuEventCreate(state, to: *mut CUevent, _flags: u32) {
        let handle = state.handle();
        state.events.insert(handle, Event::default());
        put(to, handle as CUevent)
    }

    cuEventDestroy_v2(state, event: CUevent) {
        state.events.remove(&(event as usize)).map(|_| ()).ok_or(INVALID_HANDLE)
    }

    cuEventRecord(state, event: CUevent, stream: CUstream) {
        let work = state.recording(event as usize, id(stream))?;
        state.submit(id(stream), work)
    }

    cuEventQuery(state, event: CUevent) {
        state.step_any()?;
        if state.last(event)?.is_none_or(|recording| recording.is_done()) { Ok(()) } else { Err(NOT_READY) }
    }

    cuEventSynchronize(state, event: CUevent) {
        match state.last(event)? {
            Some(recording) => state.reach(&recording),
            None => Ok(()),
        }
    }

    cuEventElapsedTime(state, to: *mut f32, start: CUevent, end: CUevent) {
        let at = |event: CUevent| -> Outcome<Instant> {
            state.last(event)?.ok_or(INVALID_HANDLE)?.at.get().copied().ok_or(NOT_READY)
        };
        let passed = at(end)?.saturating_duration_since(at(start)?);
        put(to, passed.as_secs_f32() * 1e3)
    }
}
