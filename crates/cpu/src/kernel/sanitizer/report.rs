//! The problems of a launch as text.

use std::fmt::Write as _;

use super::Stamp;

/// Maximum number of problems in a report.
const MAX_PROBLEMS: usize = 10;

/// What a site does with memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in super::super) enum Access {
    Read,
    Write,
    Atomic,
    /// It accesses nothing, and waits for other threads.
    Barrier,
}

/// A location in the source that accesses memory or waits.
#[derive(Clone, Debug)]
pub(in super::super) struct Site {
    pub(in super::super) access: Access,
    /// The array or the barrier, such as `array 'a'`.
    pub(in super::super) what: String,
    /// Bytes of an element.
    pub(in super::super) bytes: u32,
    pub(in super::super) function: String,
    pub(in super::super) file: String,
    pub(in super::super) line: u32,
    /// The text of the line.
    pub(in super::super) text: String,
}

impl Site {
    fn location(&self) -> String {
        format!("file {}, line {}, in '{}'\n      {}", self.file, self.line, self.function, self.text.trim())
    }
}

/// A problem of a launch.
#[derive(Debug)]
pub(super) enum Problem {
    Race {
        before: Stamp,
        here: Stamp,
        indices: Vec<i64>,
    },
    Uninitialized {
        here: Stamp,
        indices: Vec<i64>,
    },
    /// The threads of a block at each of several barriers; without a barrier, those that have ended.
    Barrier(Vec<(Option<u32>, Vec<u32>)>),
}

impl Problem {
    /// Returns true if both are about the same lines.
    fn is_like(&self, other: &Problem) -> bool {
        let sites = |groups: &[(Option<u32>, Vec<u32>)]| groups.iter().map(|(site, _)| *site).collect::<Vec<_>>();
        match (self, other) {
            (Problem::Race { before: a, here: b, .. }, Problem::Race { before: c, here: d, .. }) => {
                (a.site.min(b.site), a.site.max(b.site)) == (c.site.min(d.site), c.site.max(d.site))
            }
            (Problem::Uninitialized { here: a, .. }, Problem::Uninitialized { here: b, .. }) => a.site == b.site,
            (Problem::Barrier(a), Problem::Barrier(b)) => sites(a) == sites(b),
            _ => false,
        }
    }
}

/// The problems found so far, each with the number of those like it.
#[derive(Default)]
pub(in super::super) struct Problems {
    all: Vec<(Problem, u64)>,
}

impl Problems {
    pub(super) fn add(&mut self, problem: Problem) {
        match self.all.iter_mut().find(|(known, _)| known.is_like(&problem)) {
            Some((_, count)) => *count += 1,
            None => self.all.push((problem, 1)),
        }
    }

    /// Returns the report. `name` returns a thread's name.
    pub(super) fn text(&self, kernel: &str, sites: &[Site], name: impl Fn(u32) -> String) -> Option<String> {
        // What a race lets be read too early is no problem of its own.
        let races = |site: u32| {
            let is_there = |stamp: &Stamp| stamp.site == site;
            self.all.iter().any(|(problem, _)| {
                matches!(problem, Problem::Race { before, here, .. } if is_there(before) || is_there(here))
            })
        };
        let is_own = |p: &&(Problem, u64)| !matches!(p.0, Problem::Uninitialized { here, .. } if races(here.site));
        let all: Vec<&(Problem, u64)> = self.all.iter().filter(is_own).collect();
        let count = all.len();
        if count == 0 {
            return None;
        }
        let mut text = format!("{count} problem{} in kernel '{kernel}'", if count == 1 { "" } else { "s" });
        for (problem, count) in all.iter().take(MAX_PROBLEMS) {
            let _infallible = write!(text, "\n{}", describe(problem, sites, &name));
            if *count > 1 {
                let _infallible = write!(text, "\n  and {} more at the same lines", count - 1);
            }
        }
        if count > MAX_PROBLEMS {
            let _infallible = write!(text, "\nand {} more problems", count - MAX_PROBLEMS);
        }
        Some(text)
    }
}

/// Returns `array 'a', index 3`.
fn element(site: &Site, indices: &[i64]) -> String {
    match indices {
        [] => site.what.clone(),
        [index] => format!("{}, index {index}", site.what),
        _ => {
            let all: Vec<String> = indices.iter().map(i64::to_string).collect();
            format!("{}, index ({})", site.what, all.join(", "))
        }
    }
}

fn describe(problem: &Problem, sites: &[Site], name: &impl Fn(u32) -> String) -> String {
    match problem {
        Problem::Race { before, here, indices } => {
            let [one, other] = [before, here].map(|stamp| {
                let site = &sites[stamp.site as usize];
                let verb = match site.access {
                    Access::Read => "reads",
                    Access::Write => "writes",
                    Access::Atomic => "updates atomically",
                    Access::Barrier => "waits",
                };
                format!("\n  {} {verb}: {}", name(stamp.thread), site.location())
            });
            let at = element(&sites[here.site as usize], indices);
            format!("race: two threads access {at}, and nothing orders them{one}{other}")
        }
        Problem::Uninitialized { here, indices } => {
            let site = &sites[here.site as usize];
            let at = element(site, indices);
            format!("uninitialized read: {at} was not written\n  {}: {}", name(here.thread), site.location())
        }
        Problem::Barrier(groups) => {
            let mut text =
                "divergent barrier: the threads of a block wait at different barriers, or some have ended".to_owned();
            for (site, threads) in groups {
                let count = threads.len();
                let who = match count {
                    1 => format!("1 thread, {},", name(threads[0])),
                    _ => format!("{count} threads, the first is {},", name(threads[0])),
                };
                let _infallible = match site.map(|site| &sites[site as usize]) {
                    Some(site) => write!(text, "\n  {who} at {}: {}", site.what, site.location()),
                    None => write!(text, "\n  {who} ended"),
                };
            }
            text
        }
    }
}
