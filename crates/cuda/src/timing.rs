//! Times on the device, for a profile: events on our own streams around what is submitted, read once they are done. No
//! CUPTI, so no privileges.
//!
//! What a program costs is one span, of two events, the first of which is the last of the span before where the device goes
//! on from one to the other. Now and then a run is looked into: on the stream with events between
//! its steps, as a graph with nodes between them that record. Such runs tell how a span is shared out among the steps.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use cuprous_core::profile::{self, Kind, Origin};
use smallvec::{SmallVec, smallvec};

use crate::driver::{Context, Event, Stream};
use crate::error::Result;
use crate::graph::GraphExec;

/// Spans that wait to be read, before those that are done are.
const PENDING: usize = 4096;
/// Spans read at a time.
const BATCH: usize = 256;
/// Distance in time, in milliseconds, over which events are compared: their difference is a 32-bit float.
const FAR: f32 = 1000.0;
/// So often in a row the device is asked whether it still has something to do; then once in so many times.
const IDLE: u32 = 16;
/// Looks at the clocks of host and device together; the shortest counts.
const LOOKS: usize = 5;

/// One for each profile.
static GENERATION: AtomicU32 = AtomicU32::new(0);

/// Events made before a profile begins, so that the first steps of what is profiled do not make them: each costs about as
/// much as a launch.
const AHEAD: usize = 512;
/// Events kept from one profile to the next.
const KEPT: usize = 2 * PENDING;

/// With what the kind calls its amount, in order; nearly always one.
pub(crate) type Marks = SmallVec<[(Kind, u64, Event); 1]>;

/// Something submitted: what lies between its first event and each of the others.
struct Pending {
    origin: Origin,
    /// None where it began when what was submitted before it ended: that was not done yet, on the same stream.
    first: Option<Event>,
    marks: Marks,
    /// When the host submitted it: it cannot have begun earlier, whatever the clocks say.
    submitted: u64,
    /// Its last event is in order with the working stream.
    working: bool,
    /// Lives until it has run.
    _graph: Option<GraphExec>,
}

/// The events of a profile on one device.
pub(crate) struct Timing {
    context: &'static Context,
    pub(crate) generation: u32,
    free: Vec<Event>,
    pending: VecDeque<Pending>,
    /// The last event of what was read last: what began there wants it.
    before: Option<Event>,
    /// Nothing but what is in `pending` was submitted to the working stream since the last of it.
    joined: bool,
    /// When what was read last of the working stream had ended.
    ended: u64,
    /// How often in a row the device had nothing left to do when more came.
    idle: u32,
    /// An event that is done, and the host's time when it was.
    anchor: (Event, u64),
}

/// The first event of something that is being submitted, and when; no event where it begins with the end of the last.
pub(crate) struct Begun(Option<Event>, u64);

impl Timing {
    /// Waits for the device, to compare its clock with the host's. `free` are events of an earlier profile.
    pub(crate) fn new(context: &'static Context, stream: &Stream, mut free: Vec<Event>) -> Result<Timing> {
        context.make_current()?;
        let look = || -> Result<(u64, Event, u64)> {
            let event = Event::with_timing(context)?;
            stream.synchronize()?;
            let before = profile::now();
            event.record(stream)?;
            stream.synchronize()?;
            let after = profile::now();
            Ok((after - before, event, before + (after - before) / 2))
        };
        let mut best = look()?;
        for _ in 1..LOOKS {
            let other = look()?;
            if other.0 < best.0 {
                best = other;
            }
        }
        let generation = GENERATION.fetch_add(1, Relaxed) + 1;
        while free.len() < AHEAD {
            free.push(Event::with_timing(context)?);
        }
        let (_, event, at) = best;
        let pending = VecDeque::with_capacity(PENDING + 1);
        Ok(Timing {
            context,
            generation,
            free,
            pending,
            before: None,
            joined: false,
            ended: 0,
            idle: 0,
            anchor: (event, at),
        })
    }

    /// Something else is submitted to the working stream, or it waits for another one.
    pub(crate) fn apart(&mut self) {
        self.joined = false;
    }

    /// The events, for the next profile. Everything has been read.
    pub(crate) fn into_events(mut self) -> Vec<Event> {
        self.free.extend(self.before.take());
        self.free.truncate(KEPT);
        self.free
    }

    /// An event with a time.
    pub(crate) fn event(&mut self) -> Result<Event> {
        self.free.pop().map_or_else(|| Event::with_timing(self.context), Ok)
    }

    /// An event recorded now.
    pub(crate) fn mark(&mut self, stream: &Stream) -> Result<Event> {
        let event = self.event()?;
        event.record(stream)?;
        Ok(event)
    }

    /// Something is about to be submitted to the working stream. While the device still has the last to do, this begins
    /// where that ends: an event fewer, for host and device.
    pub(crate) fn begin_working(&mut self, stream: &Stream) -> Result<Begun> {
        let last = self.pending.back().filter(|last| self.joined && last.working).and_then(|last| last.marks.last());
        if let Some((.., event)) = last {
            // Where it never has, asking each time costs as much as the event.
            let asks = self.idle < IDLE || self.idle.is_multiple_of(IDLE);
            if asks && matches!(event.is_done(), Ok(false)) {
                self.idle = 0;
                return Ok(Begun(None, profile::now()));
            }
            self.idle = self.idle.saturating_add(1);
        }
        self.begin(stream)
    }

    /// Something is about to be submitted to a stream.
    pub(crate) fn begin(&mut self, stream: &Stream) -> Result<Begun> {
        Ok(Begun(Some(self.mark(stream)?), profile::now()))
    }

    /// It has been submitted, and nothing of it was told apart.
    pub(crate) fn end(
        &mut self,
        begun: Begun,
        origin: Origin,
        (kind, amount): (Kind, u64),
        (stream, working): (&Stream, bool),
    ) -> Result<()> {
        let mark = match self.mark(stream) {
            Ok(mark) => mark,
            Err(e) => {
                self.joined = false;
                return Err(e);
            }
        };
        self.keep(begun, origin, smallvec![(kind, amount, mark)], working, None);
        Ok(())
    }

    /// It has been submitted, with these events in it; by a graph that is of no use any more once it has run.
    pub(crate) fn keep(&mut self, begun: Begun, origin: Origin, marks: Marks, working: bool, graph: Option<GraphExec>) {
        let Begun(first, submitted) = begun;
        // What could not be marked is not known to have ended.
        self.joined = working && !marks.is_empty();
        self.pending.push_back(Pending { origin, first, marks, submitted, working, _graph: graph });
        if self.pending.len() > PENDING {
            for _ in 0..BATCH {
                let last = self.pending.front().and_then(|p| p.marks.last());
                if !last.is_none_or(|(.., event)| event.is_done().unwrap_or(false)) {
                    break;
                }
                self.read_first();
            }
        }
    }

    /// As a graph's first node, recorded by the graph itself.
    pub(crate) fn within(first: Event) -> Begun {
        Begun(Some(first), profile::now())
    }

    /// Reads everything; the device has nothing left to do.
    pub(crate) fn read(&mut self) {
        while !self.pending.is_empty() {
            self.read_first();
        }
    }

    fn read_first(&mut self) {
        let Some(Pending { origin, first, mut marks, submitted, working, .. }) = self.pending.pop_front() else {
            return;
        };
        let before = self.before.take();
        let (first, spare) = match first {
            Some(first) => (first, before),
            None => match before {
                Some(before) => (before, None),
                None => return,
            },
        };
        self.free.extend(spare);
        // One stream's spans follow one another, however their times are rounded.
        let earliest = if working { submitted.max(self.ended) } else { submitted };
        let last = self.told(origin, &first, &marks, earliest);
        if let (true, Some((.., end))) = (working, last) {
            self.ended = end;
        }
        self.before = marks.pop().map(|(.., event)| event);
        self.free.extend(marks.into_iter().map(|(.., event)| event));
        match last {
            Some((ms, at, _)) if ms > FAR => {
                let (old, _) = std::mem::replace(&mut self.anchor, (first, at));
                self.free.push(old);
            }
            _ => self.free.push(first),
        }
    }

    /// Adds the events; when the first was, by the device since the anchor and by the host, and when the last was.
    fn told(&self, origin: Origin, first: &Event, marks: &Marks, earliest: u64) -> Option<(f32, u64, u64)> {
        let nanoseconds = |ms: f32| (f64::from(ms) * 1e6) as i64;
        // An event that failed leaves a gap, no more: the failure is told where the work is waited for.
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

/// How often a program has run since a profile began, and when a run is looked into.
#[derive(Default, Clone, Copy)]
pub(crate) struct Looks {
    generation: u32,
    on_stream: u32,
    as_graph: u32,
}

impl Looks {
    /// Is the next run on the stream one? The first two are, and then few: an event costs about as much as a launch.
    pub(crate) fn on_stream(&mut self, generation: u32) -> bool {
        self.renew(generation);
        self.on_stream = self.on_stream.wrapping_add(1);
        self.on_stream <= 2 || self.on_stream.is_multiple_of(64)
    }

    /// Is the next run as a graph one? The second is, and then very few: a graph must be built for it.
    pub(crate) fn as_graph(&mut self, generation: u32) -> bool {
        self.renew(generation);
        self.as_graph = self.as_graph.wrapping_add(1);
        self.as_graph % 1024 == 2
    }

    fn renew(&mut self, generation: u32) {
        if self.generation != generation {
            *self = Looks { generation, ..Looks::default() };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_runs_are_looked_into() {
        let mut looks = Looks::default();
        let on_stream: Vec<u32> = (1..200).filter(|_| looks.on_stream(1)).collect();
        let as_graph: Vec<u32> = (1..3000).filter(|_| looks.as_graph(1)).collect();
        assert_eq!((on_stream, as_graph), (vec![1, 2, 64, 128, 192], vec![2, 1026, 2050]));
        assert!(looks.on_stream(2) && !looks.as_graph(2) && looks.as_graph(2));
    }
}
