//! Compiles CUDA C++ to cubin with NVRTC. Needs no GPU and no driver.
//!
//! The output is cubin instead of PTX: a driver older than NVRTC refuses its PTX, and a cubin loads without the
//! driver's compiler.

use std::ffi::{CStr, CString, c_char};
use std::fmt::Write as _;
use std::path::Path;

use cuprous_cuda_sys as sys;
use sys::nvrtc::{NvrtcApi, nvrtcProgram, nvrtcResult};

use crate::codegen::Vendor;
use crate::error::{CudaError, Result};

/// Options of a compilation. All of them are part of the cache key.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CompileOptions {
    /// The target, such as `sm_90` or `sm_90a`; `best_arch` picks one for a device. `compute_90` compiles to PTX only, and
    /// `lto_90` only to the intermediate code for linking: everything but the optimizer.
    pub arch: String,
    /// Lets a multiplication and an addition become one instruction with one rounding (FMA). Off if results must equal
    /// NumPy's.
    pub fmad: bool,
    /// Further options, such as `--use_fast_math`.
    pub extra: Vec<String>,
    /// Compiles in less than half the time, for code that is never run.
    pub fast_compile: bool,
    /// The source is a user's, which may include any header. `extra` overrides our defaults.
    pub user_source: bool,
    /// Names such as `sum<float>`, which instantiate templates and are wanted as the linker knows them.
    pub expressions: Vec<String>,
}

impl CompileOptions {
    /// Returns the defaults for a target: `--fmad=true`, no extra options.
    #[must_use]
    pub fn new(arch: impl Into<String>) -> Self {
        CompileOptions {
            arch: arch.into(),
            fmad: true,
            extra: Vec::new(),
            fast_compile: false,
            user_source: false,
            expressions: Vec::new(),
        }
    }

    /// Returns the maker of the target.
    pub(crate) fn vendor(&self) -> Vendor {
        Vendor::of_target(&self.arch)
    }

    /// Returns true if the target is PTX or intermediate code, for which there is no cubin.
    pub(crate) fn is_virtual(&self) -> bool {
        is_virtual(&self.arch)
    }

    /// Returns the command line for this version of NVRTC.
    #[must_use]
    pub fn arguments(&self, nvrtc: (u32, u32)) -> Vec<String> {
        let has = |option: &str| self.extra.iter().any(|e| e.trim_start_matches('-').starts_with(option));
        let mut list = match self.arch.strip_prefix("lto_") {
            Some(number) => vec![format!("--gpu-architecture=compute_{number}"), "-dlto".into()],
            None => vec![format!("--gpu-architecture={}", self.arch)],
        };
        if !(self.user_source && has("std")) {
            list.push("--std=c++17".into());
        }
        list.push("-default-device".into());
        // Leaves out built-in texture and heap functions: 5 ms of 31. Older versions refuse the option.
        if nvrtc >= (12, 8) && !self.user_source {
            list.push("--minimal".into());
        }
        // Measured on sixteen kernels: 240 ms instead of 530, and 65 instead of 250 as PTX.
        if self.fast_compile && nvrtc >= (12, 9) {
            list.push("--Ofast-compile=max".into());
        }
        if !(self.user_source && has("fmad")) {
            list.push(format!("--fmad={}", self.fmad));
        }
        list.extend(self.extra.iter().cloned());
        list
    }
}

/// Returns true if code for a target is not machine code.
pub(crate) fn is_virtual(target: &str) -> bool {
    target.starts_with("compute_") || target.starts_with("lto_")
}

/// Compiled code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compiled {
    /// The device code; empty for a target such as `compute_90`.
    pub cubin: Vec<u8>,
    /// The compiler's warnings; mostly empty.
    pub log: String,
    /// The linker's names of [`CompileOptions::expressions`].
    pub names: Vec<String>,
}

impl Compiled {
    /// Returns true if ptxas spilled registers inside a libdevice call, such as a division of doubles. ptxas 13.0 and
    /// 13.5 miscompile this: registers of the kernel are overwritten before they are saved, and results are wrong.
    /// Known only if the options include `--warn-on-spills`.
    #[must_use]
    pub fn has_libdevice_spills(&self) -> bool {
        self.log.lines().any(|line| line.contains("spilled") && line.contains("'__cuda"))
    }
}

macro_rules! call {
    ($api:expr, $name:ident($($arg:expr),* $(,)?)) => {
        match &$api.$name {
            Ok(function) => check($api, stringify!($name), function($($arg),*)),
            Err(e) => Err(crate::driver::missing_symbol(stringify!($name), e)),
        }
    };
}

fn check(api: &NvrtcApi, call: &'static str, status: nvrtcResult) -> Result<()> {
    if status == nvrtcResult::NVRTC_SUCCESS {
        return Ok(());
    }
    Err(CudaError::Library { call, status: status_text(api, status), what: "a kernel source".into() })
}

fn status_text(api: &NvrtcApi, status: nvrtcResult) -> String {
    let Ok(describe) = &api.nvrtcGetErrorString else { return format!("status {}", status.0) };
    // SAFETY: NVRTC returns a static string for every status, known or not.
    unsafe { CStr::from_ptr(describe(status)) }.to_string_lossy().into_owned()
}

/// Returns NVRTC's version, (major, minor).
///
/// # Errors
/// NVRTC is not installed.
pub fn version() -> Result<(u32, u32)> {
    let api = sys::nvrtc()?;
    let (mut major, mut minor) = (0, 0);
    // SAFETY: the call writes two ints.
    unsafe { call!(api, nvrtcVersion(&raw mut major, &raw mut minor)) }?;
    Ok((major.unsigned_abs(), minor.unsigned_abs()))
}

/// Returns a string that identifies this NVRTC: its file's path, size and time if the file is found without opening it
/// (141 MB, about 10 ms), else its version.
///
/// # Errors
/// NVRTC is not installed.
pub fn identity() -> Result<String> {
    match sys::nvrtc_file().and_then(|path| file_identity(&path)) {
        Some(identity) => Ok(identity),
        None => version().map(|(major, minor)| format!("{major}.{minor}")),
    }
}

/// Returns a file's path, size and time.
pub(crate) fn file_identity(path: &Path) -> Option<String> {
    let meta = std::fs::metadata(path).ok()?;
    let time = meta.modified().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
    Some(format!("{} {} {}", path.display(), meta.len(), time.as_nanos()))
}

/// Returns the targets that NVRTC supports, such as 90 for `sm_90`, in ascending order.
///
/// # Errors
/// NVRTC is not installed.
pub fn supported_archs() -> Result<Vec<u32>> {
    let api = sys::nvrtc()?;
    let mut count = 0;
    // SAFETY: the call writes one int.
    unsafe { call!(api, nvrtcGetNumSupportedArchs(&raw mut count)) }?;
    let mut archs = vec![0; count.unsigned_abs() as usize];
    // SAFETY: the call writes as many ints as the call before returned.
    unsafe { call!(api, nvrtcGetSupportedArchs(archs.as_mut_ptr())) }?;
    let mut archs: Vec<u32> = archs.into_iter().map(i32::unsigned_abs).collect();
    archs.sort_unstable();
    Ok(archs)
}

/// Returns the target whose code runs on a device of this compute capability: its own, or, if NVRTC is older than the
/// device, the nearest below it of the same major version.
///
/// # Errors
/// NVRTC is not installed or supports no such target.
pub fn best_arch(compute_capability: (u32, u32)) -> Result<String> {
    let archs = supported_archs()?;
    pick_arch(&archs, compute_capability).ok_or_else(|| {
        let (major, minor) = compute_capability;
        CudaError::Unsupported(format!(
            "the installed NVRTC cannot compile for compute capability {major}.{minor}; it supports {archs:?}; \
             install a matching nvidia-cuda-nvrtc"
        ))
    })
}

fn pick_arch(archs: &[u32], (major, minor): (u32, u32)) -> Option<String> {
    let device = major * 10 + minor;
    let best = archs.iter().filter(|&&arch| arch / 10 == major && arch <= device).max()?;
    Some(format!("sm_{best}"))
}

/// A program of NVRTC, destroyed when dropped.
struct Program<'a> {
    api: &'a NvrtcApi,
    raw: nvrtcProgram,
}

impl Drop for Program<'_> {
    fn drop(&mut self) {
        // SAFETY: nvrtcCreateProgram created the program, and it is destroyed once.
        let _at_worst_leaked = unsafe { call!(self.api, nvrtcDestroyProgram(&raw mut self.raw)) };
    }
}

impl Program<'_> {
    fn log(&self) -> Result<String> {
        let mut size = 0;
        // SAFETY: the call writes one size.
        unsafe { call!(self.api, nvrtcGetProgramLogSize(self.raw, &raw mut size)) }?;
        let mut log = vec![0u8; size.max(1)];
        // SAFETY: the call writes as many bytes as the call before returned, the final zero included.
        unsafe { call!(self.api, nvrtcGetProgramLog(self.raw, log.as_mut_ptr().cast::<c_char>())) }?;
        Ok(String::from_utf8_lossy(&log).trim_end_matches(['\0', '\n']).to_owned())
    }

    /// Returns the linker's name of an expression.
    fn lowered(&self, expression: &CStr) -> Result<String> {
        let mut name = std::ptr::null();
        // SAFETY: the call writes the address of a string that lives as long as the program.
        unsafe { call!(self.api, nvrtcGetLoweredName(self.raw, expression.as_ptr(), &raw mut name)) }?;
        // SAFETY: as above.
        Ok(unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned())
    }

    fn cubin(&self) -> Result<Vec<u8>> {
        let mut size = 0;
        // SAFETY: the call writes one size.
        unsafe { call!(self.api, nvrtcGetCUBINSize(self.raw, &raw mut size)) }?;
        let mut cubin = vec![0u8; size];
        // SAFETY: the call writes as many bytes as the call before returned.
        unsafe { call!(self.api, nvrtcGetCUBIN(self.raw, cubin.as_mut_ptr().cast::<c_char>())) }?;
        Ok(cubin)
    }
}

/// Compiles a source, which messages call `name`. May run in several threads at once.
///
/// If a bound on blocks per multiprocessor leaves a libdevice call too few registers, the source is compiled again
/// without the bound ([`Compiled::has_libdevice_spills`]).
///
/// # Errors
/// NVRTC is not installed, or the source has errors. The message then contains the log and the lines around the first
/// error.
pub fn compile(source: &str, name: &str, options: &CompileOptions) -> Result<Compiled> {
    let Some(unbounded) = without_min_blocks_per_sm(source) else { return compile_once(source, name, options) };
    let mut with_warnings = options.clone();
    with_warnings.extra.push("--ptxas-options=--warn-on-spills".into());
    // NVRTC's own cache does not store warnings.
    if version()? >= (13, 0) {
        with_warnings.extra.push("--no-cache".into());
    }
    let compiled = compile_once(source, name, &with_warnings)?;
    if compiled.has_libdevice_spills() { compile_once(&unbounded, name, options) } else { Ok(compiled) }
}

fn compile_once(source: &str, name: &str, options: &CompileOptions) -> Result<Compiled> {
    let api = sys::nvrtc()?;
    let (arguments, with_code) = (options.arguments(version()?), !options.is_virtual());
    compile_with(api, source, (name, source), &arguments, &options.expressions, with_code)
}

/// Compiles a translation unit by an API like NVRTC's. `shown` are the name that messages have and the text whose lines
/// they count. Without `with_code` only the log is returned.
pub(crate) fn compile_with(
    api: &NvrtcApi,
    unit: &str,
    shown: (&str, &str),
    arguments: &[String],
    expressions: &[String],
    with_code: bool,
) -> Result<Compiled> {
    let (name, _) = shown;
    let has_zero = |_| CudaError::Unsupported(format!("the source or an option of {name} contains a zero byte"));
    let text = CString::new(unit).map_err(has_zero)?;
    let title = CString::new(name).map_err(has_zero)?;
    let arguments = arguments.iter().map(|argument| CString::new(argument.as_str()));
    let arguments = arguments.collect::<std::result::Result<Vec<_>, _>>().map_err(has_zero)?;
    let pointers: Vec<*const c_char> = arguments.iter().map(|argument| argument.as_ptr()).collect();
    let expressions = expressions.iter().map(|expression| CString::new(expression.as_str()));
    let expressions = expressions.collect::<std::result::Result<Vec<_>, _>>().map_err(has_zero)?;

    let mut program = Program { api, raw: std::ptr::null_mut() };
    let none = std::ptr::null();
    // SAFETY: the strings end in a zero and live through the call, which copies them. No headers are passed.
    unsafe { call!(api, nvrtcCreateProgram(&raw mut program.raw, text.as_ptr(), title.as_ptr(), 0, none, none)) }?;
    for expression in &expressions {
        // SAFETY: the program was created above; the string lives longer than the program.
        unsafe { call!(api, nvrtcAddNameExpression(program.raw, expression.as_ptr())) }?;
    }
    let run = api.nvrtcCompileProgram.as_ref().map_err(|e| crate::driver::missing_symbol("nvrtcCompileProgram", e))?;
    // SAFETY: the program was created above; the options live through the call.
    let status = unsafe { run(program.raw, pointers.len() as i32, pointers.as_ptr()) };
    let log = program.log().unwrap_or_default();
    if status != nvrtcResult::NVRTC_SUCCESS {
        return Err(refused(shown, log, status_text(api, status)));
    }
    let cubin = if with_code { program.cubin()? } else { Vec::new() };
    let names = expressions.iter().map(|expression| program.lowered(expression)).collect::<Result<_>>()?;
    Ok(Compiled { cubin, log, names })
}

/// Returns the error of a source that a compiler refused.
pub(crate) fn refused((name, source): (&str, &str), log: String, status: String) -> CudaError {
    let mut excerpt = first_error_line(&log, name).map_or_else(String::new, |line| numbered_excerpt(source, line));
    excerpt.extend(missing_header(&log));
    CudaError::Compile { name: name.into(), status, log, excerpt }
}

/// Returns the source without the second argument of `__launch_bounds__(threads, min_blocks_per_sm)`, which limits the
/// registers of a kernel. `None` if no kernel has it.
fn without_min_blocks_per_sm(source: &str) -> Option<String> {
    const BOUNDS: &str = "__launch_bounds__(";
    let mut parts = source.split(BOUNDS);
    let (mut out, mut found) = (parts.next()?.to_owned(), false);
    for part in parts {
        out += BOUNDS;
        match part.split_once(')') {
            Some((bounds, rest)) if bounds.matches(',').count() == 1 => {
                let threads = bounds.split(',').next().unwrap_or_default();
                found = true;
                out.extend([threads, ")", rest]);
            }
            _ => out += part,
        }
    }
    found.then_some(out)
}

/// NVIDIA's headers by the start of their names, and the wheel that contains them.
const HEADERS: [(&[&str], &str); 4] = [
    (&["cub/", "thrust/", "cuda/", "nv/"], "nvidia-cuda-cccl"),
    (&["curand"], "nvidia-curand"),
    (&["crt/"], "nvidia-cuda-crt"),
    (
        &[
            "cuda",
            "cuComplex.h",
            "cooperative_groups",
            "mma.h",
            "math_constants.h",
            "math_functions.h",
            "vector_",
            "device_",
            "driver_",
            "builtin_types.h",
            "channel_descriptor.h",
            "host_defines.h",
            "library_types.h",
            "sm_",
            "surface_",
            "texture_",
        ],
        "nvidia-cuda-runtime",
    ),
];

/// Returns advice if a log shows that one of NVIDIA's headers is missing or needs another compiler.
pub fn missing_header(log: &str) -> Option<String> {
    let Some((_, rest)) = log.split_once("cannot open source file \"") else {
        let mut errors = log.lines().filter(|line| line.contains("error"));
        let needs_nvcc = errors.any(|line| line.contains("/thrust/") || line.contains("/cub/device/"));
        let advice = "this header is for nvcc (RawModule's backend=\"nvcc\"): of thrust, NVRTC accepts \
                    <thrust/complex.h>, <thrust/tuple.h> and <thrust/functional.h>; \
                    for algorithms use <cub/block/…> and <cub/warp/…>\n";
        return needs_nvcc.then(|| advice.into());
    };
    let name = rest.split_once('"')?.0;
    let (_, wheel) = HEADERS.iter().find(|(starts, _)| starts.iter().any(|start| name.starts_with(start)))?;
    Some(format!("NVIDIA's header {name} is not installed: pip install {wheel}\n"))
}

/// Returns the line number of the first `name(LINE): error` in a log, or of clang's `name:LINE:COLUMN: error`.
fn first_error_line(log: &str, name: &str) -> Option<usize> {
    let with_errors = log.lines().filter(|line| line.contains("error"));
    let numbers = with_errors.filter_map(|line| line.strip_prefix(name)?.strip_prefix(['(', ':']));
    let mut numbers = numbers.filter_map(|line| line.split_once([')', ':']));
    numbers.find_map(|(number, _)| number.parse().ok())
}

/// Returns the numbered source lines around a line, with that line marked.
fn numbered_excerpt(source: &str, line: usize) -> String {
    const AROUND: usize = 4;
    let mut out = String::new();
    let shown = source.lines().enumerate().map(|(i, text)| (i + 1, text));
    for (number, text) in shown.filter(|(number, _)| number.abs_diff(line) <= AROUND) {
        let mark = if number == line { '>' } else { ' ' };
        let _infallible = writeln!(out, "{mark}{number:5} | {text}");
    }
    out
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Tells the loader where the wheels are. Returns false if NVRTC is not installed, so that the test is skipped.
    pub(crate) fn nvrtc_is_here() -> bool {
        if let Some(roots) = std::env::var_os("CUPROUS_NVIDIA_ROOTS") {
            sys::set_roots(std::env::split_paths(&roots).collect());
        }
        let here = sys::nvrtc().is_ok();
        if !here {
            eprintln!("skipped: NVRTC was not found; name the wheels' folder in CUPROUS_NVIDIA_ROOTS");
        }
        here
    }

    #[test]
    fn empty_kernels_compile_without_a_gpu() {
        if !nvrtc_is_here() {
            return;
        }
        for arch in ["sm_80", "sm_90", "sm_90a", "sm_100"] {
            let source = "extern \"C\" __global__ void nothing() {}";
            let compiled = compile(source, "nothing.cu", &CompileOptions::new(arch)).expect(arch);
            assert_eq!(&compiled.cubin[..4], b"\x7fELF", "{arch}");
            assert_eq!(compiled.log, "");
        }
        assert!(supported_archs().expect("NVRTC is here").contains(&90));
        assert_eq!(best_arch((9, 0)).expect("NVRTC is here"), "sm_90");
    }

    #[test]
    fn an_error_shows_its_line() {
        if !nvrtc_is_here() {
            return;
        }
        let source = "extern \"C\" __global__ void broken(float* x) {\n  int i = 0;\n  x[i] = undefined_name;\n}\n";
        let error = compile(source, "broken.cu", &CompileOptions::new("sm_90")).expect_err("the name is undefined");
        let text = error.to_string();
        assert!(text.contains("undefined_name"), "{text}");
        assert!(text.contains(">    3 |   x[i] = undefined_name;"), "{text}");
    }

    #[test]
    fn a_device_newer_than_nvrtc_gets_its_own_majors_code() {
        let archs = [75, 80, 86, 90, 100, 120];
        assert_eq!(pick_arch(&archs, (9, 0)).as_deref(), Some("sm_90"));
        assert_eq!(pick_arch(&archs, (8, 9)).as_deref(), Some("sm_86"));
        assert_eq!(pick_arch(&archs, (10, 3)).as_deref(), Some("sm_100"));
        assert_eq!(pick_arch(&archs, (7, 0)), None);
    }

    #[test]
    fn missing_headers_name_their_wheel() {
        let of =
            |name: &str| missing_header(&format!("k(1): catastrophic error: cannot open source file \"{name}\"\n"));
        for (name, wheel) in [
            ("cub/cub.cuh", "cccl"),
            ("cuda/std/atomic", "cccl"),
            ("cuda_fp16.h", "runtime"),
            ("cuda_fp8.h", "runtime"),
            ("mma.h", "runtime"),
            ("crt/mma.h", "crt"),
            ("curand_kernel.h", "curand"),
        ] {
            assert!(of(name).is_some_and(|text| text.contains(wheel)), "{name}");
        }
        let hosts = "/x/cccl/thrust/detail/contiguous_storage.h(33): error: namespace \"std\" has no member\n";
        assert!(missing_header(hosts).is_some_and(|text| text.contains("backend=\"nvcc\"")));
        assert_eq!(of("mine.h"), None);
    }

    /// Twelve doubles that live across divisions, in 32 registers.
    const CROWDED: &str = "extern \"C\" __global__ void __launch_bounds__(256, 8) crowded(double* a, double* b) {\n\
        double x[12], y[12];\n\
        for (int k = 0; k < 12; k++) x[k] = a[threadIdx.x + 256 * k];\n\
        for (int k = 0; k < 12; k++) y[k] = x[k] / (x[(k + 1) % 12] + 2.0);\n\
        for (int k = 0; k < 12; k++) b[threadIdx.x + 256 * k] = x[k] - y[k];\n}\n";

    #[test]
    fn libdevice_calls_get_the_registers_that_they_need() {
        let unbounded = without_min_blocks_per_sm(CROWDED).expect("it has a bound");
        assert!(unbounded.contains("__launch_bounds__(256) crowded"), "{unbounded}");
        assert_eq!(without_min_blocks_per_sm(&unbounded), None);
        if !nvrtc_is_here() {
            return;
        }
        let mut options = CompileOptions::new("sm_90");
        options.extra.extend(["--ptxas-options=--warn-on-spills".into()]);
        assert!(compile_once(CROWDED, "crowded", &options).expect("compiles").has_libdevice_spills());
        assert!(!compile(CROWDED, "crowded", &options).expect("compiles").has_libdevice_spills());
    }

    #[test]
    fn options_follow_the_version() {
        let options = CompileOptions { fmad: false, ..CompileOptions::new("sm_90") };
        assert!(options.arguments((13, 5)).contains(&"--minimal".to_owned()));
        assert!(!options.arguments((12, 0)).contains(&"--minimal".to_owned()));
        assert!(options.arguments((12, 0)).contains(&"--fmad=false".to_owned()));
    }
}
