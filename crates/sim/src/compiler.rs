//! Compiles CUDA C++ with the system's C++ compiler behind `device.h`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use cuprous_cuda_sys::libdevice;

use crate::settings::settings;

const HEADER: &str = include_str!("device.h");

/// A translation unit of CUDA C++.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    /// What messages call it.
    pub(crate) name: String,
    pub(crate) text: String,
    /// Options about macros and headers, for the C++ compiler.
    pub(crate) options: Vec<String>,
    /// Written by Cuprous. A user's source may define anything, so it has no namespace and a library of its own.
    pub(crate) generated: bool,
}

impl Source {
    /// Returns the namespace of the source at position `k`; empty for a user's.
    pub(crate) fn space(&self, k: usize) -> String {
        if self.generated { format!("m{k}") } else { String::new() }
    }
}

/// Compiles sources to one library. What a source defines is in its namespace, and the description of the kernel `name`
/// of the source at position `k` is the symbol `sim<k>_name`.
///
/// # Errors
/// A source has errors, or there is no compiler. The text has the form of NVRTC's log.
pub(crate) fn build(sources: &[Source], library: &Path) -> Result<(), String> {
    let folder = folder()?;
    let text = library.with_extension("cpp");
    let unit: String = sources.iter().enumerate().map(|(k, source)| namespace(k, source)).collect();
    std::fs::write(&text, unit).map_err(|e| format!("{}: {e}", text.display()))?;
    // Other processes may read the library as soon as it has its name.
    let made = library.with_extension(format!("{}.so", std::process::id()));
    let output = compiler()
        .args(sources.iter().flat_map(|source| &source.options))
        .args(["-shared", "-Wl,-Bsymbolic,--no-undefined", "-include"])
        .arg(folder.join("device.h"))
        .arg("-o")
        .args([&made, &text])
        .arg("-lm")
        .output();
    let output = output.map_err(|e| format!("gcc cannot be run ({e}); install g++"))?;
    if !output.status.success() {
        return Err(log(&output, &sources[0].name));
    }
    if !settings().keep {
        let _left_behind_at_worst = std::fs::remove_file(text);
    }
    std::fs::rename(made, library).map_err(|e| format!("{}: {e}", library.display()))
}

/// Returns the compiler with the options that all units and the header share. Most kernels run only once, so the time to
/// compile them matters more than their speed: `-O1` takes one and a half times as long. `gcc` does not link the C++
/// library, of which only headers are used.
fn compiler() -> Command {
    let mut command = Command::new("gcc");
    command.args(["-std=c++17", "-Og", "-fPIC", "-w", "-ffp-contract=off", "-fno-strict-aliasing", "-fwrapv"]);
    command.args(["-fno-gnu-unique", "-fno-math-errno"]);
    command.args(&settings().flags);
    command
}

/// Returns the folder for libraries, with the header in it, compiled in advance.
pub(crate) fn folder() -> Result<&'static Path, String> {
    static FOLDER: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    FOLDER.get_or_init(make_folder).as_deref().map_err(Clone::clone)
}

fn make_folder() -> Result<PathBuf, String> {
    let own = || std::env::temp_dir().join(format!("cuprous-sim-{}", std::process::id()));
    let folder = settings().cache.clone().unwrap_or_else(own);
    std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    if settings().cache.is_none() && !settings().keep {
        // SAFETY: the function only removes files.
        unsafe { libc::atexit(remove_folder) };
    }
    let (header, compiled) = (folder.join("device.h"), folder.join("device.h.gch"));
    if !compiled.exists() {
        let temporary = |file: &Path| file.with_extension(format!("{}.h", std::process::id()));
        let moved = |from: &Path, to: &Path| std::fs::rename(from, to).map_err(|e| format!("{}: {e}", to.display()));
        std::fs::write(temporary(&header), HEADER).map_err(|e| format!("{}: {e}", header.display()))?;
        moved(&temporary(&header), &header)?;
        let output = compiler().args(["-x", "c++-header", "-o"]).arg(temporary(&compiled)).arg(&header).output();
        let output = output.map_err(|e| format!("gcc cannot be run ({e}); install g++"))?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        moved(&temporary(&compiled), &compiled)?;
    }
    Ok(folder)
}

extern "C" fn remove_folder() {
    if let Ok(folder) = folder() {
        let _left_behind_at_worst = std::fs::remove_dir_all(folder);
    }
}

/// Returns a source as C++ in its namespace: dynamic shared memory by its address, libdevice's functions by the names of
/// CUDA C++, and a description of each kernel.
fn namespace(k: usize, source: &Source) -> String {
    let space = source.space(k);
    let mut text = format!("#line 1 \"{}\"\n", source.name);
    if source.generated {
        text = format!("namespace {space} {{\n{text}");
    }
    for line in source.text.lines() {
        let line = dynamic_shared(line).unwrap_or_else(|| line.to_owned());
        if source.generated && line.contains("__nv_") {
            text += &libdevice::by_cuda_names(&line);
        } else if source.generated {
            text += &line.replace("extern \"C\" __global__", "__global__");
        } else {
            text += &line;
        }
        text.push('\n');
    }
    if source.generated {
        text += "}\n";
    }
    for kernel in kernels(&source.text) {
        let _ = writeln!(
            text,
            "extern \"C\" __attribute__((used)) const sim::kernel sim{k}_{kernel} = sim::describe<&{space}::{kernel}>::value;"
        );
    }
    text
}

/// Returns a line that declares dynamic shared memory as a pointer to it.
fn dynamic_shared(line: &str) -> Option<String> {
    let (before, rest) = line.split_once("extern __shared__ ")?;
    let rest = rest.trim_start();
    let rest = rest.strip_prefix("__align__(").map_or(rest, |r| r.split_once(')').map_or(r, |(_, r)| r));
    let (declaration, after) = rest.trim_start().split_once("[]")?;
    let (kind, name) = declaration.split_at(declaration.rfind([' ', '*', '>'])? + 1);
    // Within a function the address is fixed; outside of all functions it is found at each use.
    Some(if before.is_empty() {
        format!("static const sim::dynamic<{kind}> {name}{after}")
    } else {
        format!("{before}{kind}* const {name} = ({kind}*)sim::here.dynamic{after}")
    })
}

/// Returns the names of the kernels that a source defines with C names.
fn kernels(source: &str) -> Vec<&str> {
    let mut names = Vec::new();
    for (at, word) in source.match_indices("__global__") {
        let rest = without_bounds(&source[at + word.len()..]);
        let Some((name, _)) = rest.strip_prefix("void").and_then(|rest| without_bounds(rest).split_once('(')) else {
            continue;
        };
        let before = source[..at].trim_end();
        let extern_c = before.ends_with("extern \"C\"") || source[..at].contains("extern \"C\" {");
        if extern_c && !names.contains(&name.trim()) {
            names.push(name.trim());
        }
    }
    names
}

/// Returns the text after `__launch_bounds__(…)`.
fn without_bounds(text: &str) -> &str {
    let text = text.trim_start();
    match text.strip_prefix("__launch_bounds__") {
        Some(call) => call.split_once(')').map_or("", |(_, rest)| rest).trim_start(),
        None => text,
    }
}

/// Returns the compiler's messages in the form `name(line): error: text`.
fn log(output: &Output, name: &str) -> String {
    let mut log = String::new();
    for line in String::from_utf8_lossy(&output.stderr).lines() {
        let place = line.strip_prefix(name).and_then(|rest| rest.strip_prefix(':'));
        let parts = place.and_then(|rest| rest.split_once(": "));
        match parts {
            Some((place, text)) if place.starts_with(|c: char| c.is_ascii_digit()) => {
                let number = place.split(':').next().unwrap_or(place);
                let _ = writeln!(log, "{name}({number}): {text}");
            }
            _ => {
                let _ = writeln!(log, "{line}");
            }
        }
    }
    log
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_found_by_their_names() {
        let text = "extern \"C\" __global__ void __launch_bounds__(256, 2) one(int* p) {}\n\
                    extern \"C\" __global__ __launch_bounds__(32) void two() {}\n__global__ void three() {}";
        assert_eq!(kernels(text), ["one", "two"]);
    }

    #[test]
    fn dynamic_shared_memory_is_a_pointer() {
        let change = |line: &str| dynamic_shared(line).unwrap_or_default();
        assert_eq!(
            change("    extern __shared__ vec<uint32, 4> room[];"),
            "    vec<uint32, 4> * const room = (vec<uint32, 4> *)sim::here.dynamic;"
        );
        assert_eq!(
            change("  extern __shared__ __align__(16) unsigned char dynamic_shared[];"),
            "  unsigned char * const dynamic_shared = (unsigned char *)sim::here.dynamic;"
        );
        assert_eq!(change("extern __shared__ float big[];"), "static const sim::dynamic<float > big;");
    }
}
