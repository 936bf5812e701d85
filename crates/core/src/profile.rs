//! Profiles: what ran, for how long, and for which line of the user's program. While a profile is being made, every
//! part of the engine adds an [`Event`] here for what it does. Otherwise nothing is recorded.
//!
//! Invariants:
//! - There is one profile at a time.
//! - Recording an event never waits for a device and never runs Python.
//! - Memory is bounded: events past [`MAX_EVENTS`] are only added to the sums, so totals stay right.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU32, Ordering::Relaxed};
use std::sync::{LazyLock, Mutex, MutexGuard};
use std::time::Instant;

/// The most events that are kept for the timeline: 48 bytes each.
const MAX_EVENTS: usize = 1 << 20;
/// The most reasons that are kept for a program that was planned several times.
const MAX_REASONS: usize = 8;

/// The track of the timeline on which an event is drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Track {
    /// The host thread that did it.
    Host,
    /// The device's compute stream.
    Device,
    /// The device's copy stream.
    Copies,
    /// The connection with other ranks.
    Network,
    /// A curve over time.
    Counter,
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident $name:literal $track:ident;)*) => {
        /// What an event describes.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Kind { $($(#[$doc])* $kind,)* }

        impl Kind {
            /// Returns the kind's name.
            pub fn name(self) -> &'static str {
                match self { $(Kind::$kind => $name,)* }
            }
            /// Returns the track on which it is drawn.
            pub fn track(self) -> Track {
                match self { $(Kind::$kind => Track::$track,)* }
            }
        }
    };
}

kinds! {
    /// A program was planned and compiled.
    Plan "plan" Host;
    /// A program was submitted to its device, or ran if the device is the host.
    Submit "run" Host;
    /// A user's kernel was submitted to its device. `what` is its name.
    Launch "launch" Host;
    /// `amount` bytes were copied to the device.
    Upload "copy in" Host;
    /// `amount` bytes were copied to the host.
    Download "copy out" Host;
    /// The host waited for the device. `amount` is 1 if the user synchronized explicitly.
    Wait "wait" Host;
    /// A part of the program that the user named. `what` is that name.
    Mark "part" Host;
    /// Step number `amount` of a program, on its device.
    Step "step" Device;
    /// A whole program on its device, whose steps were not timed one by one.
    Program "program" Device;
    /// A user's kernel on its device. `what` is its name.
    Kernel "kernel" Device;
    /// A copy of `amount` bytes on the copy stream.
    Copy "copy" Copies;
    /// An operation with other ranks, from when it was submitted until it had ended; on a device, for as long as it ran.
    /// `what` is its name; it moved `amount` bytes of this rank.
    Collective "collective" Network;
    /// The host waited for other ranks, or moved bytes between them and this one itself.
    RankWait "wait for ranks" Host;
    /// Bytes in use.
    Memory "memory" Counter;
}

/// Where an event comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Origin {
    /// Number of the submission, equal for all of its events; 0 without one.
    pub run: u32,
    /// Index of the program or the name in [`Profile`].
    pub what: u32,
    /// The source location: see [`crate::tape::CURRENT_LOCATION`].
    pub location: u32,
    /// The thread, numbered from 1.
    pub thread: u16,
    /// The engine.
    pub device: u8,
}

/// Something that happened. Times are in nanoseconds: see [`now`].
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Event {
    pub kind: Kind,
    pub origin: Origin,
    pub start: u64,
    pub length: u64,
    /// Bytes, or as the kind says.
    pub amount: u64,
}

/// The key by which events are summed. `step` is 0 for events that are not steps.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "as in `Origin`")]
pub struct Key {
    pub kind: Kind,
    pub device: u8,
    pub what: u32,
    pub location: u32,
    pub step: u32,
}

/// The sum of events with one key.
#[derive(Clone, Copy, Default, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Sum {
    pub count: u64,
    pub length: u64,
    pub amount: u64,
    /// The largest amount.
    pub max: u64,
}

/// A step of a program.
#[derive(Clone, Debug)]
pub struct StepInfo {
    /// The names of its operations.
    pub name: String,
    /// Those operations, as indices of the program's nodes.
    pub nodes: Vec<u32>,
}

/// A program that ran.
#[derive(Clone, Debug, Default)]
pub struct ProgramInfo {
    /// The hash by which `explain()` names it.
    pub hash: u32,
    /// Number of operations.
    pub nodes: usize,
    /// Its steps.
    pub steps: Vec<StepInfo>,
    /// Why it had to be planned, with the source location.
    pub reasons: Vec<(u32, String)>,
}

/// A profile.
#[derive(Default, Debug)]
pub struct Profile {
    /// When it began.
    pub begin: u64,
    /// When it ended.
    pub end: u64,
    /// The first [`MAX_EVENTS`] events, in the order in which they were recorded. They are added to the sums at the
    /// end.
    pub events: Vec<Event>,
    /// Number of events that are only in `sums`.
    pub summed_events: u64,
    /// Sums of all events.
    pub sums: HashMap<Key, Sum>,
    /// The programs that ran.
    pub programs: Vec<ProgramInfo>,
    /// Names of kernels and named parts.
    pub names: Vec<String>,
    /// By program and the source location that submitted it: the source location of each operation.
    pub lines: HashMap<(u32, u32), Vec<u32>>,
    /// By program number: its index in `programs`.
    numbers: HashMap<u64, u32>,
    named: HashMap<String, u32>,
    /// By device and tape: the program that ran last.
    last: HashMap<(u8, u32), u32>,
    /// By program: true if the source locations of its successor were known.
    known: HashMap<u32, bool>,
}

static ON: AtomicBool = AtomicBool::new(false);
static BASE: LazyLock<Instant> = LazyLock::new(Instant::now);
static PROFILE: Mutex<Option<Box<Profile>>> = Mutex::new(None);
static RUNS: AtomicU32 = AtomicU32::new(1);
static THREADS: AtomicU16 = AtomicU16::new(1);

thread_local! {
    static THREAD: u16 = THREADS.fetch_add(1, Relaxed);
    static CURRENT: Cell<Option<Origin>> = const { Cell::new(None) };
}

/// Returns true while a profile is being made. Otherwise one relaxed load is all that profiling costs.
#[inline]
pub fn on() -> bool {
    ON.load(Relaxed)
}

/// Returns the nanoseconds since a fixed moment of this process.
pub fn now() -> u64 {
    BASE.elapsed().as_nanos() as u64
}

fn profile() -> MutexGuard<'static, Option<Box<Profile>>> {
    PROFILE.lock().unwrap_or_else(|e| e.into_inner())
}

/// Begins a profile. Returns false if one is being made already.
pub fn begin() -> bool {
    let mut profile = profile();
    if profile.is_some() {
        return false;
    }
    *profile = Some(Box::new(Profile { begin: now(), ..Profile::default() }));
    ON.store(true, Relaxed);
    true
}

/// A function that is called when a profile ends. It returns false once it need not be called again.
type EndHook = Box<dyn Fn() -> bool + Send>;

static END_HOOKS: Mutex<Vec<EndHook>> = Mutex::new(Vec::new());

/// Registers a function that is called whenever a profile ends, while events are still recorded. It adds the events of work that
/// has ended on a device, and returns false once it need not be called again.
pub fn before_end(add_events: impl Fn() -> bool + Send + 'static) {
    END_HOOKS.lock().unwrap_or_else(|e| e.into_inner()).push(Box::new(add_events));
}

/// Ends the profile and returns it, or `None` if none had begun.
pub fn end() -> Option<Box<Profile>> {
    if on() {
        END_HOOKS.lock().unwrap_or_else(|e| e.into_inner()).retain(|add_events| add_events());
    }
    ON.store(false, Relaxed);
    let mut ended = profile().take()?;
    ended.end = now();
    let events = std::mem::take(&mut ended.events);
    events.iter().for_each(|event| ended.sum(event));
    ended.events = events;
    Some(ended)
}

/// Returns the origin of what the calling thread is submitting, for the device that receives it.
#[inline]
pub fn current() -> Option<Origin> {
    if on() { CURRENT.get() } else { None }
}

/// A guard that sets [`current`] until it is dropped.
pub struct Current(());

impl Current {
    /// Sets the origin of what the calling thread is submitting.
    pub fn new(origin: Origin) -> Current {
        CURRENT.set(Some(origin));
        Current(())
    }
}

impl Drop for Current {
    fn drop(&mut self) {
        CURRENT.set(None);
    }
}

/// Returns the origin of a new submission of the calling thread to `device`, at the source location captured last.
pub fn origin(device: u8) -> Origin {
    let (run, location) = (RUNS.fetch_add(1, Relaxed), crate::tape::captured_location());
    Origin { run, location, device, what: 0, thread: THREAD.with(|t| *t) }
}

/// Adds events.
pub fn add(events: &[Event]) {
    if let Some(profile) = profile().as_deref_mut() {
        events.iter().for_each(|event| profile.add(event));
    }
}

/// Adds an event that lasted from `start` until now.
pub fn since(start: u64, kind: Kind, origin: Origin, amount: u64) {
    add(&[Event { kind, origin, start, length: now().saturating_sub(start), amount }]);
}

/// Runs `run`. While a profile is being made, adds an event for it: `amount` bytes to or from `device`.
#[inline]
pub fn timed<R>(kind: Kind, device: u8, amount: u64, run: impl FnOnce() -> R) -> R {
    if !on() {
        return run();
    }
    let (start, origin) = (now(), origin(device));
    let current = Current::new(origin);
    let result = run();
    drop(current);
    since(start, kind, origin, amount);
    result
}

/// An operation with other ranks that has begun and may end on another thread.
#[derive(Debug)]
pub struct Begun {
    name: &'static str,
    start: u64,
    origin: Origin,
    amount: u64,
}

impl Begun {
    /// Returns the beginning of an operation of `amount` bytes; `None` if no profile is being made.
    pub fn collective(name: &'static str, amount: u64) -> Option<Begun> {
        on().then(|| Begun { name, start: now(), origin: origin(0), amount })
    }

    /// Adds the event. It lasted until now, or for `length` nanoseconds.
    pub fn end(self, length: Option<u64>) {
        let Begun { start, amount, .. } = self;
        // The number of a name is that of the profile in which the operation ends.
        let origin = Origin { what: name(self.name), ..self.origin };
        let length = length.unwrap_or_else(|| now().saturating_sub(start));
        add(&[Event { kind: Kind::Collective, origin, start, length, amount }]);
    }
}

/// Returns the index of a name in the profile.
pub fn name(name: &str) -> u32 {
    let mut profile = profile();
    let Some(profile) = profile.as_deref_mut() else { return 0 };
    if let Some(&number) = profile.named.get(name) {
        return number;
    }
    let number = profile.names.len() as u32;
    profile.names.push(name.to_owned());
    profile.named.insert(name.to_owned(), number);
    number
}

/// Adds a program that is about to run for `origin` on a tape. `number` is unique among all programs. `locations` are
/// the source locations of its operations, if they were recorded. `describe` is called once for each program.
///
/// Returns the index of the program in the profile, and true if the locations of the next program's operations should
/// be recorded because they are unknown.
pub fn program(
    number: u64,
    (origin, tape): (&Origin, u32),
    locations: Option<&[u32]>,
    why: Option<&str>,
    describe: impl FnOnce() -> ProgramInfo,
) -> (u32, bool) {
    let mut profile = profile();
    let Some(profile) = profile.as_deref_mut() else { return (0, false) };
    let at = match profile.numbers.get(&number) {
        Some(&at) => at,
        None => {
            let at = profile.programs.len() as u32;
            profile.numbers.insert(number, at);
            profile.programs.push(describe());
            at
        }
    };
    let reasons = &mut profile.programs[at as usize].reasons;
    if let Some(why) = why
        && reasons.len() < MAX_REASONS
    {
        reasons.push((origin.location, why.to_owned()));
    }
    if let Some(locations) = locations {
        profile.lines.entry((at, origin.location)).or_insert_with(|| locations.to_vec());
    }
    let known = profile.lines.contains_key(&(at, origin.location));
    if let Some(before) = profile.last.insert((origin.device, tape), at) {
        profile.known.insert(before, known);
    }
    (at, !profile.known.get(&at).copied().unwrap_or(false))
}

impl Profile {
    fn add(&mut self, event: &Event) {
        if self.events.len() < MAX_EVENTS {
            self.events.push(*event);
        } else {
            self.summed_events += 1;
            self.sum(event);
        }
    }

    fn sum(&mut self, event: &Event) {
        let Event { kind, origin, length, amount, .. } = *event;
        let step = if kind == Kind::Step { amount as u32 } else { 0 };
        let key = Key { kind, device: origin.device, what: origin.what, location: origin.location, step };
        let sum = self.sums.entry(key).or_default();
        sum.count += 1;
        sum.length += length;
        sum.amount += amount;
        sum.max = sum.max.max(amount);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_profile_at_a_time_and_sums_of_all() {
        assert!(end().is_none() && !on());
        assert!(begin() && on() && !begin());
        let origin = origin(0);
        let event = Event { kind: Kind::Upload, origin, start: now(), length: 5, amount: 100 };
        add(&[event, Event { amount: 300, ..event }]);
        assert_eq!((name("a"), name("b"), name("a")), (0, 1, 0));
        // The first program's successor is not known; once it is itself, and its locations are, it is.
        let seen = || ProgramInfo { nodes: 2, ..ProgramInfo::default() };
        let run = |locations: Option<&[u32]>| program(7, (&origin, 0), locations, Some("new"), seen);
        assert_eq!([run(Some(&[1, 2])), run(None), run(None)], [(0, true), (0, false), (0, false)]);
        let profile = end().unwrap();
        assert!(end().is_none() && !on());
        let sum = profile.sums[&Key { kind: Kind::Upload, device: 0, what: 0, location: origin.location, step: 0 }];
        assert_eq!((sum.count, sum.length, sum.amount, sum.max), (2, 10, 400, 300));
        assert_eq!((profile.events.len(), profile.programs.len(), profile.summed_events), (2, 1, 0));
        assert_eq!(profile.programs[0].reasons.len(), 3);
    }
}
