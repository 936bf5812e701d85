//! The `cuprous` command. `bench`, `completions`, `demo`, `kernels`, `profile`, `run` and `scaling` are written in Python;
//! the other commands are here.

mod calibrate;
mod doctor;
mod estimate;
pub(crate) mod probe;
mod report;
mod serve;
mod terminal;
mod top;

use std::io::{self, Write};

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, Subcommand};

/// What the extension module provides to the command.
pub(crate) struct Host<'a> {
    /// Python's version, such as `3.12.3`.
    pub(crate) python: String,
    /// Runs a small computation on the device of this name and checks the result; returns what ran, or what failed.
    pub(crate) run_kernel: &'a (dyn Fn(&str) -> Result<String, String> + Sync),
    /// The version of an installed Python package.
    pub(crate) package: &'a (dyn Fn(&str) -> Option<String> + Sync),
    /// Measures the seconds that recording an operation from Python takes.
    pub(crate) time_recording: &'a (dyn Fn() -> f64 + Sync),
}

/// NumPy code on the GPU
#[derive(Parser)]
#[command(
    name = "cuprous",
    version,
    after_help = "Exit codes: 0 all well (no GPU is well), 1 something is broken, 2 the command line was not understood."
)]
struct CommandLine {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Compares Cuprous with other array libraries on this machine, in three minutes
    #[command(disable_help_flag = true)]
    Bench {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
        _options: Vec<String>,
    },
    /// Measures this machine, for estimates and placement
    ///
    /// Measures arithmetic, memory, routines, launches and copies of the CPU, and of the first GPU if there is one, in
    /// less than a minute. The figures are stored in the user's cache folder.
    Calibrate(calibrate::Options),
    /// Prints a script with which a shell completes commands and options
    #[command(disable_help_flag = true)]
    Completions {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
        _options: Vec<String>,
    },
    /// Checks the installation and suggests fixes
    ///
    /// Checks the steps of an installation: NVIDIA's GPU, its driver, CUDA's libraries, cuDNN, Python packages, what
    /// several processes need; then runs a kernel on each device. Each fault is shown with its cause and a fix. A
    /// machine without a GPU is not an error. With programs, `cuprous doctor train.py`, it lists the names that they
    /// use and Cuprous lacks.
    #[command(override_usage = "cuprous doctor [OPTIONS] [PROGRAM.py]...")]
    Doctor {
        /// Prints JSON
        #[arg(long)]
        json: bool,
    },
    /// Compares NumPy and Cuprous on this machine
    #[command(disable_help_flag = true)]
    Demo {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
        _options: Vec<String>,
    },
    /// Estimates the time of a computation on a CPU and a GPU, and its bottleneck
    Estimate(Box<estimate::Options>),
    /// Reports what each kernel of a program costs on a GPU
    #[command(disable_help_flag = true)]
    Kernels {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
        _options: Vec<String>,
    },
    /// Profiles a Python script line by line
    #[command(disable_help_flag = true)]
    Profile {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
        _options: Vec<String>,
    },
    /// Estimates how much faster several GPUs or hosts train
    #[command(disable_help_flag = true)]
    Scaling {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
        _options: Vec<String>,
    },
    /// Runs a program that imports PyTorch, CuPy, Numba's CUDA or PyCUDA, with these bound to Cuprous
    #[command(disable_help_flag = true)]
    Run {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
        _options: Vec<String>,
    },
    /// Serves the calculator, the monitor and the profile viewer as a web page of this machine
    Serve(serve::Options),
    /// Shows what GPUs, CPU and processes are doing
    Top(top::Options),
    /// Prints the version, like --version
    Version {
        /// Prints JSON
        #[arg(long)]
        json: bool,
    },
}

/// Runs one command line, without the program's own name, and returns the exit code.
pub(crate) fn run(argv: Vec<String>, host: &Host<'_>) -> i32 {
    let (out, err) = (io::stdout(), io::stderr());
    let code = dispatch(argv, host, &mut out.lock(), &mut err.lock());
    // A closed pipe (`cuprous doctor | head`) is not a failure.
    code.unwrap_or_else(|e| i32::from(e.kind() != io::ErrorKind::BrokenPipe))
}

/// Restores the default action of Ctrl-C, which ends the process. Python's handler would wait for this call to return.
fn restore_default_sigint() {
    // SAFETY: the default action runs no code of ours.
    #[cfg(unix)]
    unsafe {
        libc::signal(libc::SIGINT, libc::SIG_DFL);
    }
}

fn dispatch(argv: Vec<String>, host: &Host<'_>, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<i32> {
    let line = match CommandLine::try_parse_from(std::iter::once("cuprous".to_owned()).chain(argv)) {
        Ok(line) => line,
        Err(e) if matches!(e.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => {
            return write!(out, "{e}").map(|()| 0);
        }
        Err(e) => return write!(err, "{e}").map(|()| 2),
    };
    match line.command {
        None => write!(out, "{}", CommandLine::command().render_help()).map(|()| 0),
        Some(Command::Bench { .. }) => {
            writeln!(err, "cuprous: the comparison is `python -m cuprous bench`").map(|()| 2)
        }
        Some(Command::Completions { .. }) => {
            writeln!(err, "cuprous: completions are `python -m cuprous completions`").map(|()| 2)
        }
        Some(Command::Doctor { json }) => doctor::run(host, json, out),
        Some(Command::Calibrate(options)) => calibrate::run(&options, host, out, err),
        Some(Command::Demo { .. }) => {
            writeln!(err, "cuprous: the demonstration is `python -m cuprous demo`").map(|()| 2)
        }
        Some(Command::Kernels { .. }) => {
            writeln!(err, "cuprous: the report of kernels is `python -m cuprous kernels`").map(|()| 2)
        }
        Some(Command::Estimate(options)) => estimate::run(&options, out, err),
        Some(Command::Profile { .. }) => {
            writeln!(err, "cuprous: the profiler is `python -m cuprous profile`").map(|()| 2)
        }
        Some(Command::Scaling { .. }) => {
            writeln!(err, "cuprous: the estimate of several GPUs is `python -m cuprous scaling`").map(|()| 2)
        }
        Some(Command::Run { .. }) => writeln!(err, "cuprous: programs run by `python -m cuprous run`").map(|()| 2),
        Some(Command::Serve(options)) => serve::run(&options, out, err),
        Some(Command::Top(options)) => top::run(&options, out, err),
        Some(Command::Version { json: true }) => {
            report::json(out, &serde_json::json!({ "version": env!("CARGO_PKG_VERSION") })).map(|()| 0)
        }
        Some(Command::Version { .. }) => writeln!(out, "cuprous {}", env!("CARGO_PKG_VERSION")).map(|()| 0),
    }
    .and_then(|code| out.flush().map(|()| code))
}
