//! A doctor's findings, as text for people and as JSON for programs.

use std::io::{self, Write};

/// How one thing stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Ok,
    /// Absent or not used, and that is all right.
    Note,
    /// There, and it does not work.
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

    fn json(self) -> &'static str {
        match self {
            State::Ok => "ok",
            State::Note => "note",
            State::Broken => "broken",
        }
    }
}

/// One finding: what was looked at, what was found, and where it is broken the one cure.
pub(super) struct Check {
    pub(super) name: String,
    pub(super) state: State,
    pub(super) found: String,
    pub(super) cure: Option<String>,
}

impl Check {
    pub(super) fn ok(name: &str, found: impl Into<String>) -> Self {
        Check { name: name.into(), state: State::Ok, found: found.into(), cure: None }
    }

    pub(super) fn note(name: &str, found: impl Into<String>) -> Self {
        Check { name: name.into(), state: State::Note, found: found.into(), cure: None }
    }

    pub(super) fn broken(name: &str, found: impl Into<String>, cure: impl Into<String>) -> Self {
        Check { name: name.into(), state: State::Broken, found: found.into(), cure: Some(cure.into()) }
    }

    /// A note that names what would make it work.
    pub(super) fn with_cure(mut self, cure: impl Into<String>) -> Self {
        self.cure = Some(cure.into());
        self
    }
}

/// True where something is broken.
pub(super) fn any_broken(checks: &[Check]) -> bool {
    checks.iter().any(|check| check.state == State::Broken)
}

pub(super) fn write_text(out: &mut dyn Write, checks: &[Check], summary: &str) -> io::Result<()> {
    let width = checks.iter().map(|check| check.name.len()).max().unwrap_or(0);
    for check in checks {
        let mut lines = check.found.lines();
        writeln!(out, "  {:<7}{:<width$}  {}", check.state.word(), check.name, lines.next().unwrap_or(""))?;
        for line in lines {
            writeln!(out, "  {:<7}{:<width$}  {line}", "", "")?;
        }
        if let Some(cure) = &check.cure {
            writeln!(out, "  {:<7}{:<width$}  -> {cure}", "", "")?;
        }
    }
    writeln!(out, "\n{summary}")
}

pub(super) fn write_json(out: &mut dyn Write, checks: &[Check], summary: &str) -> io::Result<()> {
    writeln!(out, "{{")?;
    writeln!(out, "  \"version\": {},", quoted(env!("CARGO_PKG_VERSION")))?;
    writeln!(out, "  \"ok\": {},", !any_broken(checks))?;
    writeln!(out, "  \"summary\": {},", quoted(summary))?;
    writeln!(out, "  \"checks\": [")?;
    for (i, check) in checks.iter().enumerate() {
        let cure = check.cure.as_deref().map_or_else(|| "null".to_owned(), quoted);
        let (name, state, found) = (quoted(&check.name), check.state.json(), quoted(&check.found));
        let comma = if i + 1 < checks.len() { "," } else { "" };
        writeln!(out, "    {{\"name\": {name}, \"state\": \"{state}\", \"found\": {found}, \"cure\": {cure}}}{comma}")?;
    }
    writeln!(out, "  ]\n}}")
}

fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            c if u32::from(c) < 0x20 => quoted.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
