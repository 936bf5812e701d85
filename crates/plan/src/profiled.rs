//! Programs as a profile sees them, and the engine's side of beginning and ending one.

use std::sync::Arc;

use cuprous_core::profile::{self, Current, Kind, Origin, ProgramInfo, StepInfo};
use cuprous_core::tape::{captured_location, format_location};
use cuprous_core::{Result, Tape};

use crate::engine::Engine;
use crate::explain::{self, Journal};
use crate::program::{Program, Step};

/// Operations that a step's name tells.
const TOLD: usize = 4;

/// A program that is being run for a profile.
pub(crate) struct Noted {
    origin: Origin,
    start: u64,
    /// Devices find in it whom they work for.
    _current: Current,
}

/// A program that is about to run, recognised or planned since `start`, of which the journal has just heard. Says how the
/// tape notes places from now on.
pub(crate) fn begin(
    start: u64,
    (number, hash, program): (u64, u64, &Program),
    tape: &mut Tape,
    engine: &Engine,
    journal: &mut Journal,
) -> Noted {
    let mut origin = profile::origin(engine.id);
    let why = journal.why(origin.location, hash, tape);
    let places = (tape.locations.len() == tape.nodes.len()).then_some(&tape.locations[..]);
    let describe = || seen(hash, program, tape);
    let (what, track) = profile::program(number, (&origin, tape.index), places, why.as_deref(), describe);
    origin.what = what;
    tape.track(track);
    if why.is_some() {
        profile::since(start, Kind::Plan, origin, 0);
    }
    Noted { origin, start: profile::now(), _current: Current::new(origin) }
}

impl Noted {
    /// It has its memory.
    pub(crate) fn memory(&self, engine: &Engine) {
        memory(engine, self.origin);
    }

    /// It was submitted.
    pub(crate) fn end(self) {
        profile::since(self.start, Kind::Submit, self.origin, 0);
    }
}

/// What NVIDIA's tools call the run of a program: with its first operations, and its line where that is known.
#[cold]
pub(crate) fn range(hash: u64, tape: &Tape) -> String {
    let names: Vec<String> = tape.nodes.iter().take(TOLD).map(explain::name).collect();
    let more = if tape.nodes.len() > TOLD { ", …" } else { "" };
    let line = if profile::on() { format_location(Some(&captured_location())) } else { String::new() };
    format!("cuprous {:08x}: {}{more}{line}", hash as u32, names.join(", "))
}

/// Notes how much memory is in use.
pub(crate) fn memory(engine: &Engine, origin: Origin) {
    let used = engine.device.memory().iter().find(|(name, _)| *name == "used_bytes").map_or(0, |&(_, bytes)| bytes);
    profile::since(profile::now(), Kind::Memory, origin, used);
}

fn seen(hash: u64, program: &Program, tape: &Tape) -> ProgramInfo {
    let step = |(step, nodes): (&Step, &Vec<u32>)| {
        if let Step::Launch(launched) = step {
            return StepInfo { name: launched.launch.kernel.name().to_owned(), nodes: nodes.clone() };
        }
        let mut names: Vec<String> = Vec::new();
        for &node in nodes {
            let name = explain::name(&tape.nodes[node as usize]);
            if names.last() != Some(&name) {
                names.push(name);
            }
        }
        let more = names.len().saturating_sub(TOLD);
        names.truncate(TOLD);
        let many = if let Step::Pack(kernels) = step { format!("{} maps: ", kernels.len()) } else { String::new() };
        let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
        StepInfo { name: many + &names.join(", ") + &rest, nodes: nodes.clone() }
    };
    let steps = program.steps.iter().zip(&program.nodes).map(step).collect();
    ProgramInfo { hash: hash as u32, nodes: tape.nodes.len(), steps, reasons: Vec::new() }
}

impl Engine {
    /// Before a profile begins: what is recorded runs, and the device has nothing left to do.
    ///
    /// # Errors
    /// What was recorded failed.
    pub fn settle_for_profile(self: &Arc<Engine>) -> Result<()> {
        self.synchronize()
    }

    /// A profile has begun: operations note their places, the device its clock.
    ///
    /// # Errors
    /// The device failed.
    pub fn begin_profile(self: &Arc<Engine>) -> Result<()> {
        self.track_all()?;
        self.device.profile(true)
    }

    /// A profile is about to end: what is recorded runs, and the device says what it knows.
    ///
    /// # Errors
    /// What was recorded failed, or the device did.
    pub fn end_profile(self: &Arc<Engine>) -> Result<()> {
        let ran = self.flush();
        let done = self.device.synchronize();
        let told = self.device.profile(false);
        ran.and(done).and(told)
    }
}
