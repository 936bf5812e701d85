//! Reports of profiles: sums for each line of the user's program, a table, a timeline, a flame graph and advice.
//!
//! The device time of a kernel is divided among the operations that it computes, and each operation belongs to the line
//! that recorded it. Everything else belongs to the line that caused it.

mod advice;
mod flame;
mod table;
mod trace;

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

use cuprous_core::profile::{Event, Kind, Profile};

/// A source location in the user's program, with the location from which it was called.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub struct SourceLocation {
    pub file: Arc<str>,
    pub function: Arc<str>,
    pub line: u32,
    /// Index of the calling location, or 0 without one.
    pub caller: u32,
}

impl SourceLocation {
    /// Returns an unknown location.
    pub fn unknown() -> SourceLocation {
        SourceLocation { file: "?".into(), function: "?".into(), line: 0, caller: 0 }
    }

    /// Returns the file's name without its directory.
    pub fn short(&self) -> &str {
        self.file.rsplit(['/', '\\']).next().unwrap_or(&self.file)
    }
}

macro_rules! columns {
    ($($(#[$doc:meta])* $name:ident $unit:ident;)*) => {
        /// The sums of a source line. Times are in nanoseconds.
        #[derive(Clone, Debug)]
        pub struct Row {
            /// The file.
            pub file: Arc<str>,
            /// The function that contains the line.
            pub function: Arc<str>,
            /// The line number.
            pub line: u32,
            $($(#[$doc])* pub $name: u64,)*
            /// Why programs had to be planned at this line.
            pub reasons: Vec<String>,
        }

        impl Row {
            fn of(location: &SourceLocation) -> Row {
                Row {
                    file: location.file.clone(),
                    function: location.function.clone(),
                    line: location.line,
                    $($name: 0,)*
                    reasons: Vec::new(),
                }
            }

            /// Returns the columns that are times, in seconds.
            #[allow(clippy::vec_init_then_push, reason = "one push a column")]
            pub fn seconds(&self) -> Vec<(&'static str, f64)> {
                let mut all = Vec::new();
                $(columns!(@$unit seconds all self.$name $name);)*
                all
            }

            /// Returns the other columns.
            #[allow(clippy::vec_init_then_push, reason = "one push a column")]
            pub fn counts(&self) -> Vec<(&'static str, u64)> {
                let mut all = Vec::new();
                $(columns!(@$unit counts all self.$name $name);)*
                all
            }

            fn column(&self, name: &str) -> Option<u64> {
                match name {
                    $(stringify!($name) => Some(self.$name),)*
                    _ => None,
                }
            }

            const COLUMNS: &'static [&'static str] = &[$(stringify!($name),)*];
        }
    };
    (@time seconds $all:ident $value:expr, $name:ident) => {};
    (@time seconds $all:ident $self:ident.$field:ident $name:ident) => {
        $all.push((stringify!($name), $self.$field as f64 / 1e9))
    };
    (@count counts $all:ident $self:ident.$field:ident $name:ident) => { $all.push((stringify!($name), $self.$field)) };
    (@$unit:ident $list:ident $all:ident $self:ident.$field:ident $name:ident) => {};
}

columns! {
    /// Time on devices.
    device_time time;
    /// Number of kernels and routines.
    launches count;
    /// Bytes copied to devices.
    bytes_in count;
    /// Number of copies to devices.
    copies_in count;
    /// Bytes copied to the host.
    bytes_out count;
    /// Number of copies to the host.
    copies_out count;
    /// Implicit synchronizations: waits for a device because the host read a value.
    hidden_syncs count;
    /// Explicit synchronizations.
    syncs count;
    /// Host time in copies.
    copy_time time;
    /// Host time waiting.
    wait_time time;
    /// Number of programs that were planned.
    planned count;
    /// Number of programs that were recognized and replayed.
    replayed count;
    /// Host time planning and compiling.
    plan_time time;
    /// Host time submitting work, or running it if the device is the host.
    run_time time;
    /// Number of collectives and messages with other ranks.
    collectives count;
    /// Bytes of this rank that they moved.
    collective_bytes count;
    /// Time from when collectives were submitted until they had ended. Other work may run meanwhile.
    collective_time time;
    /// Host time waiting for other ranks, or moving bytes between them and this one.
    rank_wait_time time;
    /// Peak of the bytes in use, as recorded when something ran.
    memory_peak count;
}

impl Row {
    /// Returns the host's time that is accounted for.
    fn host(&self) -> u64 {
        self.copy_time + self.wait_time + self.rank_wait_time + self.plan_time + self.run_time
    }

    /// Returns the time by which lines are sorted.
    fn weight(&self) -> u64 {
        self.device_time + self.copy_time + self.wait_time + self.rank_wait_time + self.plan_time
    }

    fn name(&self) -> String {
        let file = self.file.rsplit(['/', '\\']).next().unwrap_or(&self.file);
        if self.line == 0 { "elsewhere".into() } else { format!("{file}:{}", self.line) }
    }
}

/// The report of a profile.
pub struct Report {
    profile: Profile,
    locations: Vec<SourceLocation>,
    devices: HashMap<u8, String>,
    /// The lines, sorted by time in descending order.
    pub rows: Vec<Row>,
    /// The sums of all lines. The memory peak is the highest one.
    pub total: Row,
    /// Wall time of the profile in seconds.
    pub wall: f64,
    /// Nanoseconds on devices, by the location of an operation and the name of its step. The flame graph shows these.
    stacks: HashMap<(u32, String), u64>,
}

impl Report {
    /// Computes the report. `locations` are the source locations by number, `devices` the engines' names.
    pub fn new(profile: Profile, locations: Vec<SourceLocation>, devices: Vec<(u8, String)>) -> Report {
        let mut rows = Rows { locations: &locations, at: HashMap::new(), rows: Vec::new(), stacks: HashMap::new() };
        rows.fill(&profile);
        let Rows { mut rows, stacks, .. } = rows;
        rows.sort_by_key(|row| std::cmp::Reverse((row.weight(), row.run_time)));
        let mut total = Row::of(&SourceLocation::unknown());
        for row in &rows {
            total.add(row);
        }
        let wall = profile.end.saturating_sub(profile.begin) as f64 / 1e9;
        Report { profile, locations, devices: devices.into_iter().collect(), rows, total, wall, stacks }
    }

    /// Returns the seconds of Python and of recording: the wall time that is not accounted for otherwise.
    pub fn python(&self) -> f64 {
        (self.wall - self.total.host() as f64 / 1e9).max(0.0)
    }

    /// Returns true if one of the devices is a GPU.
    fn asynchronous(&self) -> bool {
        let is_gpu = |name: &str| name.starts_with("cuda") || name.starts_with("hip");
        self.profile.sums.keys().any(|key| is_gpu(self.device(key.device)))
    }

    fn device(&self, number: u8) -> &str {
        self.devices.get(&number).map_or("?", String::as_str)
    }

    /// Returns the number of all events, and of those that are only in the sums.
    pub fn events(&self) -> (u64, u64) {
        (self.profile.events.len() as u64 + self.profile.summed_events, self.profile.summed_events)
    }

    /// Returns name, number of runs and seconds of each part that the user named.
    pub fn parts(&self) -> Vec<(String, u64, f64)> {
        let mut parts: HashMap<u32, (u64, u64)> = HashMap::new();
        for (key, sum) in self.profile.sums.iter().filter(|(key, _)| key.kind == Kind::Mark) {
            let part = parts.entry(key.what).or_default();
            *part = (part.0 + sum.count, part.1 + sum.length);
        }
        let mut all: Vec<(String, u64, f64)> =
            parts.into_iter().map(|(what, (n, ns))| (self.text(what), n, ns as f64 / 1e9)).collect();
        all.sort_by(|a, b| b.2.total_cmp(&a.2).then_with(|| a.0.cmp(&b.0)));
        all
    }

    /// Returns each run of a named part: name, start, seconds, and the device seconds of what its thread submitted in
    /// it.
    pub fn part_spans(&self) -> Vec<(String, f64, f64, f64)> {
        let mut device: HashMap<u32, u64> = HashMap::new();
        let mut submitted: HashMap<u16, Vec<(u64, u32)>> = HashMap::new();
        for event in &self.profile.events {
            match event.kind {
                Kind::Step | Kind::Program | Kind::Kernel => {
                    *device.entry(event.origin.run).or_default() += event.length
                }
                Kind::Submit | Kind::Launch => {
                    submitted.entry(event.origin.thread).or_default().push((event.start, event.origin.run));
                }
                _ => {}
            }
        }
        submitted.values_mut().for_each(|list| list.sort_unstable());
        let mut spans: Vec<_> = self.profile.events.iter().filter(|event| event.kind == Kind::Mark).collect();
        spans.sort_by_key(|event| event.start);
        let seconds = |ns: u64| ns as f64 / 1e9;
        let span = |event: &&Event| {
            let list = submitted.get(&event.origin.thread).map_or(&[][..], Vec::as_slice);
            let at = |time: u64| list.partition_point(|&(start, _)| start < time);
            let within = &list[at(event.start)..at(event.start + event.length)];
            let work = within.iter().filter_map(|(_, run)| device.get(run)).sum();
            let begin = seconds(event.start.saturating_sub(self.profile.begin));
            (self.text(event.origin.what), begin, seconds(event.length), seconds(work))
        };
        spans.iter().map(span).collect()
    }

    fn text(&self, name: u32) -> String {
        self.profile.names.get(name as usize).cloned().unwrap_or_else(|| "?".into())
    }

    /// Writes the timeline in Chrome's trace format.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn save_trace(&self, path: &Path) -> io::Result<()> {
        trace::save(self, path)
    }

    /// Writes the flame graph as SVG.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn save_flame_graph(&self, path: &Path) -> io::Result<()> {
        flame::save(self, path)
    }

    /// Returns advice on what is slow, most important first.
    pub fn advice(&self) -> Vec<String> {
        advice::advice(self)
    }

    /// Returns the table: `limit` lines, sorted by a column.
    ///
    /// # Errors
    /// The column does not exist.
    pub fn table(&self, limit: usize, sort_by: &str) -> Result<String, String> {
        table::table(self, limit, sort_by)
    }
}

impl Row {
    fn add(&mut self, other: &Row) {
        let peak = self.memory_peak.max(other.memory_peak);
        self.device_time += other.device_time;
        self.launches += other.launches;
        self.bytes_in += other.bytes_in;
        self.copies_in += other.copies_in;
        self.bytes_out += other.bytes_out;
        self.copies_out += other.copies_out;
        self.hidden_syncs += other.hidden_syncs;
        self.syncs += other.syncs;
        self.copy_time += other.copy_time;
        self.wait_time += other.wait_time;
        self.planned += other.planned;
        self.replayed += other.replayed;
        self.plan_time += other.plan_time;
        self.run_time += other.run_time;
        self.collectives += other.collectives;
        self.collective_bytes += other.collective_bytes;
        self.collective_time += other.collective_time;
        self.rank_wait_time += other.rank_wait_time;
        self.memory_peak = peak;
    }
}

/// Rows under construction.
struct Rows<'a> {
    locations: &'a [SourceLocation],
    at: HashMap<(Arc<str>, u32), usize>,
    rows: Vec<Row>,
    stacks: HashMap<(u32, String), u64>,
}

impl Rows<'_> {
    fn row(&mut self, location: u32) -> &mut Row {
        let location = self.locations.get(location as usize).unwrap_or(&self.locations[0]);
        let rows = &mut self.rows;
        let at = *self.at.entry((location.file.clone(), location.line)).or_insert_with(|| {
            rows.push(Row::of(location));
            rows.len() - 1
        });
        &mut self.rows[at]
    }

    fn fill(&mut self, profile: &Profile) {
        // The steps' shares of a program's time, for runs of which only the whole was timed.
        let mut shares: HashMap<u32, HashMap<u32, u64>> = HashMap::new();
        for (key, sum) in profile.sums.iter().filter(|(key, _)| key.kind == Kind::Step) {
            *shares.entry(key.what).or_default().entry(key.step).or_default() += sum.length;
        }
        for (key, sum) in &profile.sums {
            let row = match key.kind {
                Kind::Step => {
                    self.step(profile, (key.what, key.location, key.step), sum.length, sum.count);
                    continue;
                }
                Kind::Program => {
                    let steps = profile.programs.get(key.what as usize).map_or(0, |p| p.steps.len()) as u32;
                    let known = shares.get(&key.what);
                    let whole: u64 = known.map_or(0, |known| known.values().sum());
                    let mut left = sum.length;
                    for step in 0..steps {
                        let part = known.and_then(|known| known.get(&step)).copied().unwrap_or(0);
                        let time = match (step + 1 == steps, whole) {
                            (true, _) => left,
                            (false, 0) => sum.length / u64::from(steps),
                            _ => (u128::from(sum.length) * u128::from(part) / u128::from(whole)) as u64,
                        };
                        left -= time.min(left);
                        self.step(profile, (key.what, key.location, step), time, sum.count);
                    }
                    continue;
                }
                Kind::Mark | Kind::Copy => continue,
                _ => self.row(key.location),
            };
            match key.kind {
                Kind::Plan => (row.planned, row.plan_time) = (row.planned + sum.count, row.plan_time + sum.length),
                Kind::Submit => (row.replayed, row.run_time) = (row.replayed + sum.count, row.run_time + sum.length),
                Kind::Launch => row.run_time += sum.length,
                Kind::Upload => {
                    row.bytes_in += sum.amount;
                    row.copies_in += sum.count;
                    row.copy_time += sum.length;
                }
                Kind::Download => {
                    row.bytes_out += sum.amount;
                    row.copies_out += sum.count;
                    row.copy_time += sum.length;
                }
                Kind::Wait => {
                    row.syncs += sum.amount;
                    row.hidden_syncs += sum.count - sum.amount;
                    row.wait_time += sum.length;
                }
                Kind::Collective => {
                    row.collectives += sum.count;
                    row.collective_bytes += sum.amount;
                    row.collective_time += sum.length;
                }
                Kind::RankWait => row.rank_wait_time += sum.length,
                Kind::Memory => row.memory_peak = row.memory_peak.max(sum.max),
                Kind::Kernel => {
                    (row.launches, row.device_time) = (row.launches + sum.count, row.device_time + sum.length);
                    let name = profile.names.get(key.what as usize).cloned().unwrap_or_default();
                    *self.stacks.entry((key.location, name)).or_default() += sum.length;
                }
                Kind::Step | Kind::Program | Kind::Mark | Kind::Copy => {}
            }
        }
        // Every program that ran was submitted. Those that were not planned in that run were replayed.
        for row in &mut self.rows {
            row.replayed = row.replayed.saturating_sub(row.planned);
        }
        for (location, why) in profile.programs.iter().flat_map(|program| &program.reasons) {
            let reasons = &mut self.row(*location).reasons;
            if !reasons.contains(why) {
                reasons.push(why.clone());
            }
        }
    }

    /// Adds a step: its time to the lines of its operations in equal parts, its launches to the line of the last one.
    fn step(&mut self, profile: &Profile, (program, location, step): (u32, u32, u32), time: u64, count: u64) {
        let info = profile.programs.get(program as usize).and_then(|p| p.steps.get(step as usize));
        let name = info.map_or("?", |info| info.name.as_str()).to_owned();
        let lines = profile.lines.get(&(program, location));
        let locations: Vec<u32> = match (lines, info) {
            (Some(lines), Some(info)) if !info.nodes.is_empty() => {
                info.nodes.iter().map(|&node| lines.get(node as usize).copied().unwrap_or(location)).collect()
            }
            _ => vec![location],
        };
        let mut left = time;
        for (k, &of) in locations.iter().enumerate() {
            let part = left / (locations.len() - k) as u64;
            left -= part;
            self.row(of).device_time += part;
            *self.stacks.entry((of, name.clone())).or_default() += part;
        }
        self.row(*locations.last().unwrap_or(&location)).launches += count;
    }
}

#[cfg(test)]
mod tests {
    use cuprous_core::profile::{Key, ProgramInfo, StepInfo, Sum};

    use super::*;

    fn location(line: u32, caller: u32) -> SourceLocation {
        SourceLocation { file: "/home/me/train.py".into(), function: "step".into(), line, caller }
    }

    /// A program of two lines that a third one calls. In one run its steps were timed, in four runs only the whole.
    fn report() -> Report {
        let mut profile = Profile::default();
        let step = |name: &str, nodes: &[u32]| StepInfo { name: name.into(), nodes: nodes.to_vec() };
        let steps = vec![step("exp, add", &[0, 1]), step("sum", &[2])];
        profile.programs = vec![ProgramInfo { hash: 1, nodes: 3, steps, reasons: vec![(1, "new".into())] }];
        profile.lines.insert((0, 1), vec![2, 3, 3]);
        let mut add = |kind, step, count, length, amount| {
            let key = Key { kind, device: 1, what: 0, location: 1, step };
            profile.sums.insert(key, Sum { count, length, amount, max: amount });
        };
        add(Kind::Step, 0, 1, 3000, 0);
        add(Kind::Step, 1, 1, 1000, 1);
        add(Kind::Program, 0, 4, 40_000, 0);
        add(Kind::Plan, 0, 1, 7000, 0);
        add(Kind::Submit, 0, 5, 900, 0);
        add(Kind::Wait, 0, 6, 20_000, 1);
        add(Kind::Download, 0, 1000, 12_000_000, 80_000_000_000);
        (profile.begin, profile.end) = (1000, 20_001_000);
        let locations = vec![SourceLocation::unknown(), location(41, 0), location(7, 1), location(8, 1)];
        Report::new(profile, locations, vec![(1, "cuda:0".into())])
    }

    #[test]
    fn time_of_whole_programs_is_divided_as_the_steps_were_timed() {
        let report = report();
        let row = |line: u32| report.rows.iter().find(|row| row.line == line).unwrap();
        assert_eq!((row(7).device_time, row(7).launches), (1500 + 15_000, 0));
        assert_eq!((row(8).device_time, row(8).launches), (2500 + 25_000, 10));
        assert_eq!(report.total.device_time, 44_000);
        let submitting = row(41);
        assert_eq!((submitting.planned, submitting.replayed, submitting.reasons.len()), (1, 4, 1));
        assert_eq!((submitting.syncs, submitting.hidden_syncs), (1, 5));
    }

    #[test]
    fn stacks_and_advice() {
        let report = report();
        let caller = "step (train.py:41)";
        let stacks = flame::stacks(&report);
        assert!(stacks.contains(&format!("{caller};step (train.py:7);exp, add 17")), "{stacks:?}");
        assert!(stacks.contains(&format!("{caller};[copy to the host] 12000")), "{stacks:?}");
        let advice = report.advice();
        let expected = "train.py:41 copies 80.0 MB to the host in each of 1,000 iterations, 80.00 GB in all (12.000 ms of \
                      20.000 ms, 60 %). Compute on the device what is needed of it, and copy the result.";
        assert_eq!(advice[0], expected);
        assert!(advice.iter().any(|text| text.starts_with("The device is busy for 0 % of the time")), "{advice:?}");
        assert!(report.table(0, "time").unwrap().contains("3 other lines"));
    }
}
