//! Compiles CUDA C++ with the system's C++ compiler behind `device.h`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::settings::settings;

const HEADER: &str = include_str!("device.h");
/// What every image starts with. The length of the library follows, as eight bytes, and then the library.
pub(crate) const MAGIC: &[u8; 8] = b"CUPROSIM";

/// Compiles a source, which messages call `name`. Of NVRTC's options those about macros and headers have an effect.
/// Returns an image that `cuModuleLoadData` takes.
///
/// # Errors
/// The source has errors, or there is no compiler. The text has the form of NVRTC's log.
pub(crate) fn compile(source: &str, name: &str, options: &[String]) -> Result<Vec<u8>, String> {
    let folder = folder()?;
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let stem = format!("k{}", COUNT.fetch_add(1, Ordering::Relaxed));
    let (text, library) = (folder.join(format!("{stem}.cpp")), folder.join(format!("{stem}.so")));
    std::fs::write(&text, translation_unit(source, name)).map_err(|e| format!("{}: {e}", text.display()))?;
    let output = compiler()
        .args(options.iter().filter(|option| ["-D", "-U", "-I"].iter().any(|start| option.starts_with(start))))
        .args(["-x", "c++", "-shared", "-Wl,-Bsymbolic,--no-undefined", "-include"])
        .arg(folder.join("device.h"))
        .arg("-o")
        .args([&library, &text])
        .output();
    let output = output.map_err(|e| format!("g++ cannot be run ({e}); install a C++ compiler"))?;
    let result = if output.status.success() {
        std::fs::read(&library).map_err(|e| e.to_string())
    } else {
        Err(log(&output, name))
    };
    let keep = std::env::var_os("CUPROUS_SIM_KEEP").is_some();
    for file in [text, library] {
        if !keep {
            let _left_behind_at_worst = std::fs::remove_file(file);
        }
    }
    let code = result?;
    let mut image = MAGIC.to_vec();
    image.extend((code.len() as u64).to_ne_bytes());
    image.extend(code);
    Ok(image)
}

fn compiler() -> Command {
    let mut command = Command::new("g++");
    command.args(["-std=c++17", "-O1", "-fPIC", "-w", "-ffp-contract=off", "-fno-strict-aliasing", "-fwrapv"]);
    command.args(["-fno-gnu-unique", "-fno-math-errno"]);
    command.args(&settings().flags);
    command
}

/// Returns this process's folder for sources, with the header in it, compiled in advance.
fn folder() -> Result<&'static Path, String> {
    static FOLDER: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    FOLDER
        .get_or_init(|| {
            let folder = std::env::temp_dir().join(format!("cuprous-sim-{}", std::process::id()));
            std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
            let header = folder.join("device.h");
            std::fs::write(&header, HEADER).map_err(|e| format!("{}: {e}", header.display()))?;
            let output =
                compiler().args(["-x", "c++-header", "-o"]).arg(folder.join("device.h.gch")).arg(&header).output();
            let output = output.map_err(|e| format!("g++ cannot be run ({e}); install a C++ compiler"))?;
            if !output.status.success() {
                return Err(String::from_utf8_lossy(&output.stderr).into_owned());
            }
            // SAFETY: the function only removes files.
            unsafe { libc::atexit(remove_folder) };
            Ok(folder)
        })
        .as_deref()
        .map_err(Clone::clone)
}

extern "C" fn remove_folder() {
    if std::env::var_os("CUPROUS_SIM_KEEP").is_none()
        && let Ok(folder) = folder()
        && folder.ends_with(format!("cuprous-sim-{}", std::process::id()))
    {
        let _left_behind_at_worst = std::fs::remove_dir_all(folder);
    }
}

/// Returns the source as C++: dynamic shared memory by its address, and a description of each kernel.
fn translation_unit(source: &str, name: &str) -> String {
    let mut text = format!("#line 1 \"{name}\"\n");
    for line in source.lines() {
        text += &dynamic_shared(line).unwrap_or_else(|| line.to_owned());
        text.push('\n');
    }
    for kernel in kernels(source) {
        let _ = writeln!(
            text,
            "extern \"C\" __attribute__((used)) const sim::kernel sim_kernel_{kernel} = sim::describe<&{kernel}>::value;"
        );
    }
    text
}

/// Returns a line that declares dynamic shared memory as a pointer to it.
fn dynamic_shared(line: &str) -> Option<String> {
    let (before, rest) = line.split_once("extern __shared__ ")?;
    let rest = rest.trim_start();
    let rest = rest.strip_prefix("__align__(").map_or(rest, |r| r.split_once(')').map_or(r, |(_, r)| r));
    let (declaration, after) = rest.split_once("[]")?;
    let (kind, name) = declaration.split_at(declaration.rfind([' ', '*', '>'])? + 1);
    // Within a function the address is fixed; outside of all functions it is found at each use.
    Some(if before.trim().is_empty() && line.starts_with("extern") {
        format!("{before}static const sim::dynamic<{kind}> {name}{after}")
    } else {
        format!("{before}{kind}* const {name} = ({kind}*)sim::here.dynamic{after}")
    })
}

/// Returns the names of the kernels that a source defines with C names.
fn kernels(source: &str) -> Vec<&str> {
    let mut names = Vec::new();
    for (at, word) in source.match_indices("__global__") {
        let mut rest = source[at + word.len()..].trim_start();
        while let Some(call) = rest.strip_prefix("__launch_bounds__") {
            rest = call.split_once(')').map_or("", |(_, r)| r).trim_start();
        }
        let Some(rest) = rest.strip_prefix("void") else { continue };
        let mut rest = rest.trim_start();
        while let Some(call) = rest.strip_prefix("__launch_bounds__") {
            rest = call.split_once(')').map_or("", |(_, r)| r).trim_start();
        }
        let Some((name, _)) = rest.split_once('(') else { continue };
        let before = source[..at].trim_end();
        let extern_c = before.ends_with("extern \"C\"") || source[..at].contains("extern \"C\" {");
        if extern_c && !names.contains(&name.trim()) {
            names.push(name.trim());
        }
    }
    names
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
