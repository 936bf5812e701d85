//! Compiles CUDA C++ for GPUs of AMD with hiprtc, behind a header by which HIP has CUDA's names. Needs no GPU and no
//! driver.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::process::{Command, Stdio};

use cuprous_cuda_sys::libdevice;
use cuprous_hip_sys as sys;

use crate::error::{CudaError, Result};
use crate::nvrtc::{CompileOptions, Compiled, compile_with, file_identity, refused};

/// CUDA's names by HIP's.
const HEADER: &str = include_str!("prelude/hip.cuh");

/// Compiles a source, which messages call `name`.
///
/// # Errors
/// hiprtc is not installed, an option has no counterpart, or the source has errors.
pub(crate) fn compile(source: &str, name: &str, options: &CompileOptions) -> Result<Compiled> {
    let (unit, arguments) = (unit(source, name), arguments(options)?);
    compile_with(sys::hiprtc()?, &unit, (name, source), &arguments, &options.expressions, true)
}

/// Returns a string that identifies the compiler and the header.
///
/// # Errors
/// hiprtc is not installed.
pub(crate) fn identity() -> Result<String> {
    // hiprtc calls the compiler in a library of its own.
    let files: Vec<String> = sys::hiprtc_files()?.iter().filter_map(|path| file_identity(path)).collect();
    Ok(format!("{} {}", files.join(" "), header_identity()))
}

fn header_identity() -> String {
    let mut hash = DefaultHasher::new();
    HEADER.hash(&mut hash);
    format!("{:016x}", hash.finish())
}

/// Returns a translation unit: the header, and the source with the line numbers that it has alone.
fn unit(source: &str, name: &str) -> String {
    let source = if source.contains("__nv_") { libdevice::by_cuda_names(source) } else { source.into() };
    format!("{HEADER}\n#line 1 \"{name}\"\n{source}")
}

/// Returns the options of HIP's compilers.
fn arguments(options: &CompileOptions) -> Result<Vec<String>> {
    let mut list = vec![format!("--gpu-architecture={}", options.arch)];
    list.extend(language_arguments(options)?);
    Ok(list)
}

fn language_arguments(options: &CompileOptions) -> Result<Vec<String>> {
    let has = |option: &str| options.extra.iter().any(|e| e.trim_start_matches('-').starts_with(option));
    let mut list = vec![String::from("-O3")];
    if !(options.user_source && has("std")) {
        list.push("-std=c++17".into());
    }
    // HIP contracts across statements by default.
    let fmad = options.fmad && !has("fmad=false");
    list.push(if fmad { "-ffp-contract=fast" } else { "-ffp-contract=off" }.into());
    for option in &options.extra {
        list.extend(translated(option)?);
    }
    Ok(list)
}

/// Returns an option of NVRTC by the names of clang. `None` if it changes no result.
fn translated(option: &str) -> Result<Option<String>> {
    let name = option.trim_start_matches('-');
    let kept = ["-D", "-U", "-I", "-std=", "-f", "-O"].iter().any(|start| option.starts_with(start));
    Ok(match name.split_once('=').unwrap_or((name, "")) {
        _ if kept && !name.starts_with("fmad") => Some(option.into()),
        ("std", version) => Some(format!("-std={version}")),
        ("include-path", folder) => Some(format!("-I{folder}")),
        ("pre-include", file) => Some(format!("--include={file}")),
        ("define-macro", definition) => Some(format!("-D{definition}")),
        ("use_fast_math", _) => Some("-ffast-math".into()),
        ("relocatable-device-code" | "rdc" | "dc" | "dlto" | "gen-opt-lto", _) => {
            return Err(CudaError::Unsupported(format!(
                "{option}: device code cannot be linked on a GPU of AMD; give the functions as source that is compiled with it"
            )));
        }
        ("fmad" | "ptxas-options" | "maxrregcount" | "generate-line-info" | "lineinfo" | "device-debug" | "G", _) => {
            None
        }
        _ => {
            return Err(CudaError::Unsupported(format!(
                "{option} is an option of NVIDIA's compiler, which GPUs of AMD have no counterpart of; leave it out"
            )));
        }
    })
}

/// Compiles a source by a clang, for tests: `command` is how to run it for HIP, without target and source. The code is
/// generated and thrown away.
///
/// # Errors
/// The command cannot be run, or the source has errors.
pub(crate) fn compile_by_clang(command: &str, source: &str, name: &str, options: &CompileOptions) -> Result<Compiled> {
    let failed = |error: std::io::Error| CudaError::Unsupported(format!("{command}: {error}"));
    let mut words = command.split_whitespace();
    let mut clang = Command::new(words.next().unwrap_or_default());
    clang.args(words).arg(format!("--offload-arch={}", options.arch)).args(language_arguments(options)?);
    clang.args(["-S", "-o", "/dev/null", "-"]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut running = clang.spawn().map_err(failed)?;
    let written = running.stdin.take().map_or(Ok(()), |mut input| input.write_all(unit(source, name).as_bytes()));
    let output = running.wait_with_output().map_err(failed)?;
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() {
        return Err(refused((name, source), log, output.status.to_string()));
    }
    written.map_err(failed)?;
    Ok(Compiled { cubin: Vec::new(), log, names: Vec::new() })
}

/// Returns a string that identifies a clang and the header.
pub(crate) fn clang_identity(command: &str) -> String {
    format!("{command} {}", header_identity())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_have_clangs_names() {
        let mut options = CompileOptions { fmad: false, user_source: true, ..CompileOptions::new("gfx1100") };
        options.extra = ["--std=c++20", "-DN=3", "--include-path=/x", "--pre-include=y.h", "--maxrregcount=32"]
            .map(String::from)
            .into();
        let given = arguments(&options).expect("all have a counterpart");
        assert_eq!(
            given,
            ["--gpu-architecture=gfx1100", "-O3", "-ffp-contract=off", "-std=c++20", "-DN=3", "-I/x", "--include=y.h"]
        );
        options.extra = vec!["--relocatable-device-code=true".into()];
        let error = arguments(&options).expect_err("nothing is linked").to_string();
        assert!(error.contains("cannot be linked"), "{error}");
    }

    #[test]
    fn lines_are_those_of_the_source() {
        let unit = unit("first\nextern \"C\" __device__ float __nv_sinf(float);\n__nv_sinf(x)", "own.cu");
        let (_, own) = unit.split_once("#line 1 \"own.cu\"\n").expect("a header comes first");
        assert_eq!(own, "first\n\nsinf(x)");
    }

    #[test]
    fn hiprtc_compiles_without_a_gpu() {
        if sys::hiprtc().is_err() {
            eprintln!("skipped: hiprtc was not found; name its folder in CUPROUS_ROCM_PATH");
            return;
        }
        let source = "extern \"C\" __global__ void store(int* x) {\n  *x = __shfl_xor_sync(~0u, *x, 1);\n}\n";
        let compiled = compile(source, "store.cu", &CompileOptions::new("gfx90a")).expect("sound");
        assert!(!compiled.cubin.is_empty());
        let error = compile(&source.replace("*x =", "*y ="), "store.cu", &CompileOptions::new("gfx90a"));
        let text = error.expect_err("y is undeclared").to_string();
        assert!(text.contains(">    2 |   *y"), "{text}");
        let template = "template <class T> __global__ void twice(T* x) { x[threadIdx.x] *= 2; }";
        let expressions = vec![String::from("twice<float>"), String::from("twice<int>")];
        let options = CompileOptions { expressions, user_source: true, ..CompileOptions::new("gfx90a") };
        let compiled = compile(template, "twice.cu", &options).expect("sound");
        assert_eq!(compiled.names, ["_Z5twiceIfEvPT_", "_Z5twiceIiEvPT_"]);
        for name in &compiled.names {
            assert!(compiled.cubin.windows(name.len()).any(|text| text == name.as_bytes()), "{name}");
        }
    }
}
