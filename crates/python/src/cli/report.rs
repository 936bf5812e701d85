//! The doctor's findings, as text and as JSON.

use std::io::{self, Write};

use serde::Serialize;

use super::terminal::colored;

/// The state of a check.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum State {
    Ok,
    /// Absent or unused, which is not a fault.
    Note,
    /// Present but not working.
    Broken,
}

impl State {
    fn word(self) -> &'static str {
        match self {
            State::Ok => "ok",
            State::Note => "--",
            State::Broken => "BROKEN",
        }
    }
}

/// The steps of an installation. Each depends on those before it.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Step {
    /// Checks that do not involve a GPU.
    Machine,
    Gpu,
    Driver,
    Libraries,
    Cudnn,
    Packages,
    /// Several processes.
    Ranks,
    /// Running a kernel.
    Run,
}

impl Step {
    fn title(self) -> &'static str {
        match self {
            Step::Machine => "This machine",
            Step::Gpu => "GPU",
            Step::Driver => "Driver",
            Step::Libraries => "GPU libraries",
            Step::Cudnn => "cuDNN",
            Step::Packages => "Python packages",
            Step::Ranks => "Several processes",
            Step::Run => "Kernels",
        }
    }
}

/// One finding: what was checked, what was found, and a fix if it is broken.
#[derive(Serialize)]
pub(super) struct Check {
    pub(super) name: String,
    pub(super) step: Step,
    pub(super) state: State,
    pub(super) found: String,
    pub(super) cure: Option<String>,
}

impl Check {
    pub(super) fn ok(name: &str, found: impl Into<String>) -> Self {
        Check { name: name.into(), step: Step::Machine, state: State::Ok, found: found.into(), cure: None }
    }

    pub(super) fn note(name: &str, found: impl Into<String>) -> Self {
        Check { name: name.into(), step: Step::Machine, state: State::Note, found: found.into(), cure: None }
    }

    pub(super) fn broken(name: &str, found: impl Into<String>, cure: impl Into<String>) -> Self {
        Check {
            name: name.into(),
            step: Step::Machine,
            state: State::Broken,
            found: found.into(),
            cure: Some(cure.into()),
        }
    }

    /// Returns the check as a part of that step.
    pub(super) fn of(mut self, step: Step) -> Self {
        self.step = step;
        self
    }

    pub(super) fn is_broken(&self) -> bool {
        self.state == State::Broken
    }

    /// Returns the check with a fix, for a note about something optional.
    pub(super) fn with_cure(mut self, cure: impl Into<String>) -> Self {
        self.cure = Some(cure.into());
        self
    }
}

/// Returns true if something is broken.
pub(super) fn any_broken(checks: &[Check]) -> bool {
    checks.iter().any(Check::is_broken)
}

pub(super) fn write_text(out: &mut dyn Write, checks: &[Check], summary: &str) -> io::Result<()> {
    let width = checks.iter().map(|check| check.name.len()).max().unwrap_or(0);
    let (mut step, mut number) = (None, 0);
    // What to do stands first: the list of what was searched may fill a screen.
    if let Some(cure) = checks.iter().find(|check| check.is_broken()).and_then(|check| check.cure.as_ref()) {
        writeln!(out, "Do first: {cure}\n")?;
    }
    for (at, check) in checks.iter().enumerate() {
        if step.replace(check.step) != Some(check.step) {
            // Steps without checks are not numbered.
            number += 1;
            writeln!(out, "{number}. {}", check.step.title())?;
        }
        let mut lines = check.found.lines();
        let (red, plain) = if check.is_broken() && colored() { ("\x1b[31m", "\x1b[0m") } else { ("", "") };
        let word = check.state.word();
        writeln!(out, "  {red}{word:<7}{plain}{:<width$}  {}", check.name, lines.next().unwrap_or(""))?;
        for line in lines {
            writeln!(out, "  {:<7}{:<width$}  {line}", "", "")?;
        }
        // A fix that several checks share is shown once, under the last of them.
        let next = checks.get(at + 1).filter(|next| next.step == check.step);
        if let Some(cure) = check.cure.as_ref().filter(|_| next.is_none_or(|next| next.cure != check.cure)) {
            writeln!(out, "  {:<7}{:<width$}  -> {cure}", "", "")?;
        }
    }
    writeln!(out, "\n{summary}")
}

/// Writes all findings as one JSON object.
pub(super) fn write_json(out: &mut dyn Write, checks: &[Check], summary: &str) -> io::Result<()> {
    #[derive(Serialize)]
    struct Report<'a> {
        version: &'a str,
        ok: bool,
        summary: &'a str,
        checks: &'a [Check],
    }
    json(out, &Report { version: env!("CARGO_PKG_VERSION"), ok: !any_broken(checks), summary, checks })
}

/// Writes a value as indented JSON and a newline.
pub(super) fn json(out: &mut dyn Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, value)?;
    writeln!(out)
}
