//! The flame graph: stacks of source lines, with the kernels, copies and waits that they caused on top.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use cuprous_core::profile::Kind;
use inferno::flamegraph::{self, Options};

use super::{Report, SourceLocation};

/// Returns the frame of an event on the host, in brackets. Steps that run on the host have frames already.
fn of_host(kind: Kind) -> Option<&'static str> {
    match kind {
        Kind::Plan => Some("[planning and compiling]"),
        Kind::Upload => Some("[copy to the device]"),
        Kind::Download => Some("[copy to the host]"),
        Kind::Wait => Some("[waiting for the device]"),
        Kind::RankWait => Some("[waiting for other ranks]"),
        _ => None,
    }
}

/// Returns the frames of a source location, outermost first. Names must not contain `;` or line breaks.
fn stack(locations: &[SourceLocation], mut at: u32) -> String {
    let mut frames = Vec::new();
    while let Some(location) = locations.get(at as usize).filter(|_| at != 0) {
        let name = format!("{} ({}:{})", location.function, location.short(), location.line);
        frames.push(name.replace([';', '\n', '\r'], "_"));
        at = location.caller;
    }
    frames.reverse();
    if frames.is_empty() { "elsewhere".into() } else { frames.join(";") }
}

/// Returns a line `frame;frame;frame microseconds` for each stack, sorted.
pub(super) fn stacks(report: &Report) -> Vec<String> {
    let mut all: HashMap<String, u64> = HashMap::new();
    let mut add = |location: u32, leaf: &str, ns: u64| {
        let stack = stack(&report.locations, location);
        *all.entry(format!("{stack};{}", leaf.replace([';', '\n', '\r'], "_"))).or_default() += ns;
    };
    for ((location, name), &ns) in &report.stacks {
        add(*location, name, ns);
    }
    for (key, sum) in &report.profile.sums {
        if let Some(name) = of_host(key.kind) {
            add(key.location, name, sum.length);
        }
    }
    let mut lines: Vec<String> = all
        .into_iter()
        .filter(|(_, ns)| *ns >= 500)
        .map(|(stack, ns)| format!("{stack} {}", (ns + 500) / 1000))
        .collect();
    lines.sort_unstable();
    lines
}

pub(super) fn save(report: &Report, path: &Path) -> io::Result<()> {
    let mut lines = stacks(report);
    if lines.is_empty() {
        lines.push("nothing ran 1".into());
    }
    let mut options = Options::default();
    options.title = "Cuprous: where the time goes".into();
    options.count_name = "µs".into();
    options.notes = "kernels on their device; planning, copies and waits in brackets".into();
    let mut svg = Vec::new();
    flamegraph::from_lines(&mut options, lines.iter().map(String::as_str), &mut svg).map_err(io::Error::other)?;
    let mut file = BufWriter::new(File::create(path)?);
    file.write_all(&svg)?;
    file.flush()
}
