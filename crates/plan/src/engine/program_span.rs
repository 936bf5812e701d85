//! Programs in a profile.

use cuprous_core::Tape;
use cuprous_core::profile::{self, Current, Kind, Origin, ProgramInfo, StepInfo};
use cuprous_core::tape::{captured_location, format_location};

use super::journal::{self, Journal};
use crate::device::Device;
use crate::program::{Program, Step};

/// Number of operations in the name of a step.
const MAX_NAMES: usize = 4;

/// A program that is being run during a profile.
pub(crate) struct ProgramSpan {
    origin: Origin,
    start: u64,
    /// Devices find in it the origin to which their work belongs.
    _current: Current,
}

/// Begins the span of a program that is about to run. It was recognized or planned since `start`, and the journal has
/// recorded it. Sets whether the tape records source locations from now on.
pub(crate) fn begin(
    start: u64,
    (number, hash, program): (u64, u64, &Program),
    tape: &mut Tape,
    device: u8,
    journal: &mut Journal,
) -> ProgramSpan {
    let mut origin = profile::origin(device);
    let why = journal.why(origin.location, hash, tape);
    let places = (tape.locations.len() == tape.nodes.len()).then_some(&tape.locations[..]);
    let describe = || seen(hash, program, tape);
    let (what, track) = profile::program(number, (&origin, tape.index), places, why.as_deref(), describe);
    origin.what = what;
    tape.track(track);
    if why.is_some() {
        profile::since(start, Kind::Plan, origin, 0);
    }
    ProgramSpan { origin, start: profile::now(), _current: Current::new(origin) }
}

impl ProgramSpan {
    /// Records that the program has its memory.
    pub(crate) fn memory(&self, device: &dyn Device) {
        memory(device, self.origin);
    }

    /// Records that the program was submitted.
    pub(crate) fn end(self) {
        profile::since(self.start, Kind::Submit, self.origin, 0);
    }
}

/// Returns the name of a program's run for NVIDIA's tools: its first operations, and its source line if that is known.
#[cold]
pub(crate) fn range(hash: u64, tape: &Tape) -> String {
    let names: Vec<String> = tape.nodes.iter().take(MAX_NAMES).map(journal::name).collect();
    let more = if tape.nodes.len() > MAX_NAMES { ", …" } else { "" };
    let line = if profile::on() { format_location(Some(&captured_location())) } else { String::new() };
    format!("cuprous {:08x}: {}{more}{line}", hash as u32, names.join(", "))
}

/// Records how much memory is in use.
pub(crate) fn memory(device: &dyn Device, origin: Origin) {
    let used = device.memory().iter().find(|(name, _)| *name == "used_bytes").map_or(0, |&(_, bytes)| bytes);
    profile::since(profile::now(), Kind::Memory, origin, used);
}

fn seen(hash: u64, program: &Program, tape: &Tape) -> ProgramInfo {
    let step = |(step, nodes): (&Step, &Vec<u32>)| {
        if let Step::Launch(launched) = step {
            return StepInfo { name: launched.launch.kernel.name().to_owned(), nodes: nodes.clone() };
        }
        let mut names: Vec<String> = Vec::new();
        for &node in nodes {
            let name = journal::name(&tape.nodes[node as usize]);
            if names.last() != Some(&name) {
                names.push(name);
            }
        }
        let more = names.len().saturating_sub(MAX_NAMES);
        names.truncate(MAX_NAMES);
        let many = if let Step::Pack(kernels) = step { format!("{} maps: ", kernels.len()) } else { String::new() };
        let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
        StepInfo { name: many + &names.join(", ") + &rest, nodes: nodes.clone() }
    };
    let steps = program.steps.iter().zip(&program.nodes).map(step).collect();
    ProgramInfo { hash: hash as u32, nodes: tape.nodes.len(), steps, reasons: Vec::new() }
}
