//! The `cuprous` command. `demo` is Python's; all else is here.

mod doctor;
mod probe;
mod report;

use std::io::{self, Write};

/// What the command is told by the extension module.
pub(crate) struct Host<'a> {
    /// Python's version, such as `3.12.3`.
    pub(crate) python: String,
    /// Computes something small on the device of this name and checks the result; says what ran, or what failed.
    pub(crate) run_kernel: &'a dyn Fn(&str) -> Result<String, String>,
}

const COMMANDS: [&str; 4] = ["demo", "doctor", "help", "version"];

const HELP: &str = "\
cuprous: NumPy code on the GPU

  cuprous doctor [--json]   what works here, what does not, and the cure
  cuprous demo [--quick] [--only NAMES] [--json] [--plot FILE.svg]
                            NumPy beside Cuprous on this machine
  cuprous version           also --version
  cuprous help              also --help

Exit codes: 0 all well (no GPU is well), 1 something is broken, 2 the command line was not understood.
";

/// Runs one command line, without the program's own name; the answer is the exit code.
pub(crate) fn run(argv: Vec<String>, host: &Host<'_>) -> i32 {
    let (out, err) = (io::stdout(), io::stderr());
    let code = dispatch(&argv, host, &mut out.lock(), &mut err.lock());
    // A reader that went away (`cuprous doctor | head`) is no failure of ours.
    code.unwrap_or_else(|e| i32::from(e.kind() != io::ErrorKind::BrokenPipe))
}

fn dispatch(argv: &[String], host: &Host<'_>, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<i32> {
    let Some(command) = argv.first() else {
        write!(out, "{HELP}")?;
        return Ok(0);
    };
    let rest: Vec<&str> = argv[1..].iter().map(String::as_str).collect();
    match command.as_str() {
        "help" | "--help" | "-h" => write!(out, "{HELP}").map(|()| 0),
        "version" | "--version" | "-V" => writeln!(out, "cuprous {}", env!("CARGO_PKG_VERSION")).map(|()| 0),
        "doctor" => match rest.as_slice() {
            [] => doctor::run(host, false, out),
            ["--json"] => doctor::run(host, true, out),
            ["--help" | "-h"] => write!(out, "{}", doctor::HELP).map(|()| 0),
            [other, ..] => refuse(err, &format!("doctor has no option {other}"), nearest(other, &["--json", "--help"])),
        },
        other => refuse(err, &format!("there is no command {other}"), nearest(other, &COMMANDS)),
    }
    .and_then(|code| out.flush().map(|()| code))
}

fn refuse(err: &mut dyn Write, what: &str, nearest: Option<&str>) -> io::Result<i32> {
    write!(err, "cuprous: {what}")?;
    match nearest {
        Some(word) => writeln!(err, "; did you mean {word}?")?,
        None => writeln!(err, "; `cuprous help` lists what there is")?,
    }
    Ok(2)
}

/// The word that a typing slip most likely meant: at most two letters away, or one is the start of the other.
fn nearest<'a>(typed: &str, words: &[&'a str]) -> Option<&'a str> {
    let best = words.iter().min_by_key(|word| distance(typed, word))?;
    let prefix = typed.len() >= 2 && (best.starts_with(typed) || typed.starts_with(best));
    (prefix || distance(typed, best) <= 2).then_some(best)
}

/// Letters to insert, remove or replace.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, &y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
