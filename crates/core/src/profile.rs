//! What ran, how long, and for which line of the user's program. Nothing is noted unless somebody profiles: then every
//! part of the engine that does something worth a row adds an [`Event`] here.
//!
//! Invariants: one profile at a time; noting never waits for a device and calls nothing of the user's language; events
//! past [`MAX_EVENTS`] go into the sums only, so that memory is bounded and totals stay right.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU32, Ordering::Relaxed};
use std::sync::{LazyLock, Mutex, MutexGuard};
use std::time::Instant;

/// Events kept for the timeline: 48 bytes each.
const MAX_EVENTS: usize = 1 << 20;
/// Reasons kept for a program that was planned several times.
const MAX_REASONS: usize = 8;

/// Where an event is drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Track {
    /// The thread that did it.
    Host,
    /// The device's stream of work.
    Device,
    /// The device's stream of copies.
    Copies,
    /// A curve.
    Counter,
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident $name:literal $track:ident;)*) => {
        /// What an event tells.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Kind { $($(#[$doc])* $kind,)* }

        impl Kind {
            /// The kind's name.
            pub fn name(self) -> &'static str {
                match self { $(Kind::$kind => $name,)* }
            }
            /// Where it is drawn.
            pub fn track(self) -> Track {
                match self { $(Kind::$kind => Track::$track,)* }
            }
        }
    };
}

kinds! {
    /// A program was planned and compiled.
    Plan "plan" Host;
    /// A program was given to its device, or ran where the device is the host.
    Submit "run" Host;
    /// A user's kernel was given to its device; `what` is a name.
    Launch "launch" Host;
    /// Bytes (`amount`) went to the device.
    Upload "copy in" Host;
    /// Bytes came back.
    Download "copy out" Host;
    /// The host waited for the device; `amount` is 1 where the user asked for it in so many words.
    Wait "wait" Host;
    /// A part of the program to which the user gave a name; `what` is that name.
    Mark "part" Host;
    /// Step `amount` of a program, on its device.
    Step "step" Device;
    /// A whole program on its device, whose steps were not told apart.
    Program "program" Device;
    /// A user's kernel on its device; `what` is a name.
    Kernel "kernel" Device;
    /// A copy of so many bytes that has a stream of its own.
    Copy "copy" Copies;
    /// Bytes in use.
    Memory "memory" Counter;
}

/// Whom an event concerns.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Origin {
    /// Events of one submission have the same number; 0 for those of none.
    pub run: u32,
    /// The program's or the name's location in [`Profile`].
    pub what: u32,
    /// The line of the user's program: see [`crate::tape::CURRENT_LOCATION`].
    pub location: u32,
    /// The thread, counted from 1.
    pub thread: u16,
    /// The engine.
    pub device: u8,
}

/// Something that happened. Times are in nanoseconds, see [`now`].
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Event {
    pub kind: Kind,
    pub origin: Origin,
    pub start: u64,
    pub length: u64,
    /// Bytes, or what the kind says.
    pub amount: u64,
}

/// What events of one kind for one line are summed by; `step` only where they are steps.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "as in Origin")]
pub struct Key {
    pub kind: Kind,
    pub device: u8,
    pub what: u32,
    pub location: u32,
    pub step: u32,
}

/// Such events together.
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
    /// Its operations, in words.
    pub name: String,
    /// Those operations, as locations in the program.
    pub nodes: Vec<u32>,
}

/// A program that ran.
#[derive(Clone, Debug, Default)]
pub struct ProgramInfo {
    /// As `explain()` names it.
    pub hash: u32,
    /// Operations.
    pub nodes: usize,
    /// What it does.
    pub steps: Vec<StepInfo>,
    /// Why it had to be planned, and for which location.
    pub reasons: Vec<(u32, String)>,
}

/// What a profile took.
#[derive(Default, Debug)]
pub struct Profile {
    /// When it began and ended.
    pub begin: u64,
    #[allow(missing_docs, reason = "above")]
    pub end: u64,
    /// In the order in which they were noted, the first ones; they go into the sums at the end.
    pub events: Vec<Event>,
    /// Events that are only in `sums`.
    pub summed_events: u64,
    /// All events.
    pub sums: HashMap<Key, Sum>,
    /// The programs.
    pub programs: Vec<ProgramInfo>,
    /// Names of kernels and parts.
    pub names: Vec<String>,
    /// For a program that was started by a line: the line of each of its operations.
    pub lines: HashMap<(u32, u32), Vec<u32>>,
    numbers: HashMap<u64, u32>,
    named: HashMap<String, u32>,
    /// By tape: the program that ran last; by program: were the lines of its successor known?
    last: HashMap<(u8, u32), u32>,
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

/// Does somebody profile? One relaxed load: all that this costs otherwise.
#[inline]
pub fn on() -> bool {
    ON.load(Relaxed)
}

/// Nanoseconds since some moment of this process.
pub fn now() -> u64 {
    BASE.elapsed().as_nanos() as u64
}

fn profile() -> MutexGuard<'static, Option<Box<Profile>>> {
    PROFILE.lock().unwrap_or_else(|e| e.into_inner())
}

/// Begins; false where a profile is being made already.
pub fn begin() -> bool {
    let mut profile = profile();
    if profile.is_some() {
        return false;
    }
    *profile = Some(Box::new(Profile { begin: now(), ..Profile::default() }));
    ON.store(true, Relaxed);
    true
}

/// Ends, and gives what was profile; none where nothing had begun.
pub fn end() -> Option<Box<Profile>> {
    ON.store(false, Relaxed);
    let mut ended = profile().take()?;
    ended.end = now();
    let events = std::mem::take(&mut ended.events);
    events.iter().for_each(|event| ended.sum(event));
    ended.events = events;
    Some(ended)
}

/// What the calling thread is submitting now, for the device that it submits to.
#[inline]
pub fn current() -> Option<Origin> {
    if on() { CURRENT.get() } else { None }
}

/// While it lives, [`current`] is what it was made for.
pub struct Current(());

impl Current {
    /// The calling thread submits that now.
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

/// For a submission of the calling thread to that device, from the location that was noted last.
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

/// Adds an event that has gone on from `start` until now.
pub fn since(start: u64, kind: Kind, origin: Origin, amount: u64) {
    add(&[Event { kind, origin, start, length: now().saturating_sub(start), amount }]);
}

/// Runs something, which is noted if somebody profiles: so many bytes to or from that device.
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

/// The number of a name.
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

/// A program is about to run for `origin`: with a number that no other program ever has, on that tape, with the
/// locations of its operations where they were noted. `describe` is asked once a program. Gives its location in
/// [`Profile`], and whether the locations of the next program's operations should be noted, because nobody knows them.
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
