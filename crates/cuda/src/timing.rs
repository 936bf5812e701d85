//! Times on the device, for a profile: events recorded on our own streams around submitted work, read once they are
//! done. CUPTI is not used, so no privileges are needed.
//!
//! The cost of a program is one span between two events. Where the device continues from one program to the next
//! without a pause, the last event of one span is the first of the next. Some runs are sampled step by step: on the
//! stream with events between the steps, as a graph with event record nodes between them. Samples tell how a program's
//! span divides into its steps.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use cuprous_core::profile::{self, Kind, Origin};
use smallvec::{SmallVec, smallvec};

use crate::driver::{Context, Event, Stream};
use crate::error::Result;
use crate::graph::GraphExec;

/// Spans that may wait to be read before those that are done are read.
const MAX_PENDING: usize = 4096;
/// Spans read at a time.
const BATCH: usize = 256;
/// The longest time in milliseconds over which events are compared with the anchor: the difference is a 32-bit float.
const MAX_ANCHOR_MS: f32 = 1000.0;
/// After this many queries in a row that found the device idle, it is queried only once in so many times.
const MAX_IDLE_QUERIES: u32 = 16;
/// Simultaneous readings of the host's and the device's clock. The shortest one counts.
const CLOCK_SAMPLES: usize = 5;

/// The number of the latest profile.
static GENERATION: AtomicU32 = AtomicU32::new(0);

/// Events created before a profile begins, so that the first profiled steps do not create them: each costs about as
/// much as a launch.
const PREALLOCATED_EVENTS: usize = 512;
/// Events kept from one profile to the next.
const MAX_SAVED_EVENTS: usize = 2 * MAX_PENDING;

/// Events with what they end: the kind and its amount. In order; nearly always one.
pub(crate) type Marks = SmallVec<[(Kind, u64, Event); 1]>;

/// A submitted span: its parts lie between the first event and each of the others.
struct Pending {
    origin: Origin,
    /// `None` if the span begins where the one before it on the same stream ends, which was not done when this one
    /// came.
    first: Option<Event>,
    marks: Marks,
    /// The host's time of submission. The span cannot have begun earlier, whatever the clocks say.
    submitted: u64,
    /// Its last event is in order with the working stream.
    working: bool,
    /// Kept alive until it has run.
    _graph: Option<GraphExec>,
}

/// The events of a profile on one device.
pub(crate) struct Timing {
    context: &'static Context,
    pub(crate) generation: u32,
    free: Vec<Event>,
    pending: VecDeque<Pending>,
    /// The last event of the span that was read last. The next span may begin with it.
    previous_end: Option<Event>,
    /// Only spans of `pending` were submitted to the working stream since the last of them.
    contiguous: bool,
    /// The end of the latest span of the working stream that was read.
    ended: u64,
    /// How often in a row the device was idle when more work came.
    idle: u32,
    /// An event that is done, and the host's time at that moment.
    anchor: (Event, u64),
}

/// The first event of a span that is being submitted, and the time of submission. Without an event the span begins
/// where the one before it ends.
pub(crate) struct SpanStart(Option<Event>, u64);

impl Timing {
    /// Begins a profile. Waits for the device, to compare its clock with the host's. `free` are events of an earlier
    /// profile.
    pub(crate) fn new(context: &'static Context, stream: &Stream, mut free: Vec<Event>) -> Result<Timing> {
        context.make_current()?;
        let sample = || -> Result<(u64, Event, u64)> {
            let event = Event::with_timing(context)?;
            stream.synchronize()?;
            let before = profile::now();
            event.record(stream)?;
            stream.synchronize()?;
            let after = profile::now();
            Ok((after - before, event, before + (after - before) / 2))
        };
        let mut best = sample()?;
        for _ in 1..CLOCK_SAMPLES {
            let other = sample()?;
            if other.0 < best.0 {
                best = other;
            }
        }
        let generation = GENERATION.fetch_add(1, Relaxed) + 1;
        while free.len() < PREALLOCATED_EVENTS {
            free.push(Event::with_timing(context)?);
        }
        let (_, event, at) = best;
        let pending = VecDeque::with_capacity(MAX_PENDING + 1);
        Ok(Timing {
            context,
            generation,
            free,
            pending,
            previous_end: None,
            contiguous: false,
            ended: 0,
            idle: 0,
            anchor: (event, at),
        })
    }

    /// Notes that unmeasured work was submitted to the working stream, or that it waits for another one.
    pub(crate) fn mark_gap(&mut self) {
        self.contiguous = false;
    }

    /// Returns the events for the next profile. Every span must have been read.
    pub(crate) fn into_events(mut self) -> Vec<Event> {
        self.free.extend(self.previous_end.take());
        self.free.truncate(MAX_SAVED_EVENTS);
        self.free
    }

    /// Returns an unused event with a time stamp.
    pub(crate) fn event(&mut self) -> Result<Event> {
        self.free.pop().map_or_else(|| Event::with_timing(self.context), Ok)
    }

    /// Records an event.
    pub(crate) fn mark(&mut self, stream: &Stream) -> Result<Event> {
        let event = self.event()?;
        event.record(stream)?;
        Ok(event)
    }

    /// Begins a span on the working stream. While the device is still busy with the span before, this one begins where
    /// that ends, which saves an event on host and device.
    pub(crate) fn begin_working(&mut self, stream: &Stream) -> Result<SpanStart> {
        let last =
            self.pending.back().filter(|last| self.contiguous && last.working).and_then(|last| last.marks.last());
        if let Some((.., event)) = last {
            // If the device is always idle, a query each time would cost as much as the event.
            let queries = self.idle < MAX_IDLE_QUERIES || self.idle.is_multiple_of(MAX_IDLE_QUERIES);
            if queries && matches!(event.is_done(), Ok(false)) {
                self.idle = 0;
                return Ok(SpanStart(None, profile::now()));
            }
            self.idle = self.idle.saturating_add(1);
        }
        self.begin(stream)
    }

    /// Begins a span on any stream.
    pub(crate) fn begin(&mut self, stream: &Stream) -> Result<SpanStart> {
        Ok(SpanStart(Some(self.mark(stream)?), profile::now()))
    }

    /// Ends a span that has no parts: its work has been submitted.
    pub(crate) fn end(
        &mut self,
        start: SpanStart,
        origin: Origin,
        (kind, amount): (Kind, u64),
        (stream, working): (&Stream, bool),
    ) -> Result<()> {
        let mark = match self.mark(stream) {
            Ok(mark) => mark,
            Err(e) => {
                self.contiguous = false;
                return Err(e);
            }
        };
        self.record(start, origin, smallvec![(kind, amount, mark)], working, None);
        Ok(())
    }

    /// Records a span whose work has been submitted, with the events in it. `graph` is a graph that is dropped once it
    /// has run.
    pub(crate) fn record(
        &mut self,
        start: SpanStart,
        origin: Origin,
        marks: Marks,
        working: bool,
        graph: Option<GraphExec>,
    ) {
        let SpanStart(first, submitted) = start;
        // Without an event the end of the span is unknown.
        self.contiguous = working && !marks.is_empty();
        self.pending.push_back(Pending { origin, first, marks, submitted, working, _graph: graph });
        if self.pending.len() > MAX_PENDING {
            for _ in 0..BATCH {
                let last = self.pending.front().and_then(|p| p.marks.last());
                if !last.is_none_or(|(.., event)| event.is_done().unwrap_or(false)) {
                    break;
                }
                self.read_oldest();
            }
        }
    }

    /// Begins a span whose first event is recorded by the first node of a graph.
    pub(crate) fn inside_graph(first: Event) -> SpanStart {
        SpanStart(Some(first), profile::now())
    }

    /// Reads all spans. The device must be done with them.
    pub(crate) fn read(&mut self) {
        while !self.pending.is_empty() {
            self.read_oldest();
        }
    }

    fn read_oldest(&mut self) {
        let Some(Pending { origin, first, mut marks, submitted, working, .. }) = self.pending.pop_front() else {
            return;
        };
        let previous_end = self.previous_end.take();
        let (first, spare) = match first {
            Some(first) => (first, previous_end),
            None => match previous_end {
                Some(previous_end) => (previous_end, None),
                None => return,
            },
        };
        self.free.extend(spare);
        // Spans of one stream do not overlap, however their times are rounded.
        let earliest = if working { submitted.max(self.ended) } else { submitted };
        let last = self.publish(origin, &first, &marks, earliest);
        if let (true, Some((.., end))) = (working, last) {
            self.ended = end;
        }
        self.previous_end = marks.pop().map(|(.., event)| event);
        self.free.extend(marks.into_iter().map(|(.., event)| event));
        match last {
            Some((ms, at, _)) if ms > MAX_ANCHOR_MS => {
                let (old, _) = std::mem::replace(&mut self.anchor, (first, at));
                self.free.push(old);
            }
            _ => self.free.push(first),
        }
    }

    /// Adds a span's parts to the profile. Returns the time of the first event, in milliseconds of the device since the
    /// anchor and in nanoseconds of the host, and the host's time of the last event.
    fn publish(&self, origin: Origin, first: &Event, marks: &Marks, earliest: u64) -> Option<(f32, u64, u64)> {
        let nanoseconds = |ms: f32| (f64::from(ms) * 1e6) as i64;
        // An event that failed leaves a gap in the profile. The failure itself is reported where the work is waited
        // for.
        let since = first.elapsed_ms(&self.anchor.0).ok()?;
        let at = self.anchor.1.saturating_add_signed(nanoseconds(since));
        let start = at.max(earliest);
        let mut events: SmallVec<[profile::Event; 1]> = SmallVec::with_capacity(marks.len());
        let mut from = 0;
        for (kind, amount, event) in marks {
            let Ok(ms) = event.elapsed_ms(first) else { break };
            let to = nanoseconds(ms).max(from);
            let (at, length) = (start.saturating_add_signed(from), (to - from) as u64);
            events.push(profile::Event { kind: *kind, origin, start: at, length, amount: *amount });
            from = to;
        }
        profile::add(&events);
        Some((since, at, start.saturating_add_signed(from)))
    }
}

/// Decides which runs of a program are sampled step by step, by counting its runs since the profile began.
#[derive(Default, Clone, Copy)]
pub(crate) struct ProfileSampling {
    generation: u32,
    stream_runs: u32,
    graph_runs: u32,
}

impl ProfileSampling {
    /// Counts a run on the stream and returns true if it is sampled. The first two are, and then one in 64: an event
    /// costs about as much as a launch.
    pub(crate) fn samples_stream_run(&mut self, generation: u32) -> bool {
        self.restart_if_new(generation);
        self.stream_runs = self.stream_runs.wrapping_add(1);
        self.stream_runs <= 2 || self.stream_runs.is_multiple_of(64)
    }

    /// Counts a run as a graph and returns true if it is sampled. The second is, and then one in 1024: a graph must be
    /// built for it.
    pub(crate) fn samples_graph_run(&mut self, generation: u32) -> bool {
        self.restart_if_new(generation);
        self.graph_runs = self.graph_runs.wrapping_add(1);
        self.graph_runs % 1024 == 2
    }

    fn restart_if_new(&mut self, generation: u32) {
        if self.generation != generation {
            *self = ProfileSampling { generation, ..ProfileSampling::default() };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_runs_are_sampled() {
        let mut sampling = ProfileSampling::default();
        let stream_runs: Vec<u32> = (1..200).filter(|_| sampling.samples_stream_run(1)).collect();
        let graph_runs: Vec<u32> = (1..3000).filter(|_| sampling.samples_graph_run(1)).collect();
        assert_eq!((stream_runs, graph_runs), (vec![1, 2, 64, 128, 192], vec![2, 1026, 2050]));
        assert!(sampling.samples_stream_run(2) && !sampling.samples_graph_run(2) && sampling.samples_graph_run(2));
    }
}
