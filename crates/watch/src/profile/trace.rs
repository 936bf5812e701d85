//! The timeline in Chrome's trace format, for Perfetto and `cuprous serve`. It has a track for each host thread and
//! each device stream, arrows from each submission to its run on the device, and a curve of the memory in use.

use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use cuprous_core::profile::{Event, Kind, Track};
use serde_json::{Value, json};

use super::Report;

/// The id of the host in the trace. Devices follow.
const HOST: u32 = 1;
/// The ids of a device's streams.
const WORK: u32 = 1;
const COPIES: u32 = 2;
/// The id of the host's track for operations with other ranks, above those of threads.
const RANKS: u32 = 1 << 16;

struct Names<'a> {
    report: &'a Report,
    /// Each source location as `file:line`.
    lines: Vec<String>,
}

impl Names<'_> {
    fn of(&self, event: &Event) -> String {
        let report = self.report;
        let program = report.profile.programs.get(event.origin.what as usize);
        let hash = program.map_or(0, |p| p.hash);
        match event.kind {
            Kind::Plan => format!("plan {hash:08x}"),
            Kind::Submit => format!("run {hash:08x}"),
            Kind::Program => format!("program {hash:08x}"),
            Kind::Step => {
                let step = program.and_then(|p| p.steps.get(event.amount as usize));
                step.map_or_else(|| format!("step {}", event.amount), |step| step.name.clone())
            }
            Kind::Launch | Kind::Kernel | Kind::Mark | Kind::Collective => report.text(event.origin.what),
            Kind::Wait if event.amount == 0 => "wait for a value".into(),
            Kind::Wait => "synchronize".into(),
            Kind::Upload | Kind::Download | Kind::Copy | Kind::RankWait | Kind::Memory => event.kind.name().into(),
        }
    }

    fn arguments(&self, event: &Event) -> Value {
        let line = self.lines.get(event.origin.location as usize).map_or("?", String::as_str);
        let mut all = json!({ "line": line });
        let program = self.report.profile.programs.get(event.origin.what as usize);
        match event.kind {
            Kind::Upload | Kind::Download | Kind::Copy | Kind::Collective => all["bytes"] = event.amount.into(),
            Kind::Plan => {
                let why = program
                    .map(|p| &p.reasons)
                    .into_iter()
                    .flatten()
                    .find(|(location, _)| *location == event.origin.location);
                all["why"] = why.map_or("", |(_, why)| why).into();
            }
            Kind::Submit | Kind::Program => all["operations"] = program.map_or(0, |p| p.nodes).into(),
            Kind::Step => {
                let lines = self.report.profile.lines.get(&(event.origin.what, event.origin.location));
                let nodes = program.and_then(|p| p.steps.get(event.amount as usize)).map(|step| &step.nodes);
                if let (Some(lines), Some(nodes)) = (lines, nodes) {
                    let of = |&node: &u32| lines.get(node as usize).and_then(|&at| self.lines.get(at as usize));
                    let all_of: BTreeSet<&String> = nodes.iter().filter_map(of).collect();
                    all["line"] = all_of.into_iter().cloned().collect::<Vec<_>>().join(", ").into();
                }
                all["program"] = format!("{:08x}", program.map_or(0, |p| p.hash)).into();
            }
            _ => {}
        }
        all
    }
}

fn microseconds(ns: u64) -> f64 {
    ns as f64 / 1e3
}

pub(super) fn save(report: &Report, path: &Path) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
    write(report, &mut out)?;
    out.flush()
}

fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let lines =
        report.locations.iter().map(|p| if p.line == 0 { "?".into() } else { format!("{}:{}", p.short(), p.line) });
    let names = Names { report, lines: lines.collect() };
    let events = &report.profile.events;
    let begin = report.profile.begin;
    write!(out, "{{\"displayTimeUnit\":\"ms\",\"otherData\":")?;
    serde_json::to_writer(
        &mut *out,
        &json!({ "producer": "cuprous", "wall_seconds": report.wall, "events_left_out": report.profile.summed_events }),
    )?;
    write!(out, ",\"traceEvents\":[")?;
    let mut first = true;
    let mut put = |out: &mut dyn Write, event: &Value| -> io::Result<()> {
        out.write_all(if std::mem::take(&mut first) { b"\n" } else { b",\n" })?;
        serde_json::to_writer(out, event).map_err(io::Error::from)
    };
    let mut named: HashMap<(u32, u32), ()> = HashMap::new();
    // By submission with device events: true once its arrow has ended.
    let mut arrows: HashMap<u32, bool> = HashMap::new();
    for event in events.iter().filter(|e| matches!(e.kind.track(), Track::Device | Track::Copies)) {
        arrows.insert(event.origin.run, false);
    }
    put(out, &json!({ "ph": "M", "name": "process_name", "pid": HOST, "args": { "name": "host" } }))?;
    for event in events {
        let ts = microseconds(event.start.saturating_sub(begin));
        let device = HOST + 1 + u32::from(event.origin.device);
        let (pid, tid, title) = match event.kind.track() {
            Track::Host => (HOST, u32::from(event.origin.thread), format!("Python thread {}", event.origin.thread)),
            Track::Device => (device, WORK, "work".to_owned()),
            Track::Copies => (device, COPIES, "copies".to_owned()),
            Track::Network => (HOST, RANKS, "other ranks".to_owned()),
            Track::Counter => {
                let name = format!("memory of {}", report.device(event.origin.device));
                let args = json!({ "bytes": event.amount });
                put(out, &json!({ "ph": "C", "name": name, "pid": HOST, "ts": ts, "args": args }))?;
                continue;
            }
        };
        if named.insert((pid, tid), ()).is_none() {
            if pid != HOST && !named.contains_key(&(pid, 0)) {
                named.insert((pid, 0), ());
                let args = json!({ "name": report.device(event.origin.device) });
                put(out, &json!({ "ph": "M", "name": "process_name", "pid": pid, "args": args }))?;
            }
            let args = json!({ "name": title });
            put(out, &json!({ "ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": args }))?;
        }
        let dur = microseconds(event.length);
        let (name, cat, args) = (names.of(event), event.kind.name(), names.arguments(event));
        put(
            out,
            &json!({ "ph": "X", "name": name, "cat": cat, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args }),
        )?;
        let run = event.origin.run;
        let flow = |ph: &str| json!({ "ph": ph, "name": "runs", "cat": "submitted", "id": run, "pid": pid, "tid": tid, "ts": ts });
        match arrows.get_mut(&run) {
            Some(_) if pid == HOST && starts(event.kind) => put(out, &flow("s"))?,
            Some(ended) if pid != HOST && !*ended => {
                *ended = true;
                let mut end = flow("f");
                end["bp"] = "e".into();
                put(out, &end)?;
            }
            _ => {}
        }
    }
    // Our page draws the flame graph from them; other viewers skip what they do not know.
    write!(out, "\n],\"stacks\":")?;
    serde_json::to_writer(&mut *out, &super::flame::stacks(report))?;
    out.write_all(b"}\n")
}

/// Returns true for kinds from which an arrow leads to a device.
fn starts(kind: Kind) -> bool {
    matches!(kind, Kind::Submit | Kind::Launch | Kind::Upload)
}
