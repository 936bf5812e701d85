//! Compiles CUDA C++ to cubin with NVRTC. Needs no GPU and no driver.
//!
//! Cubin and not PTX: a driver older than NVRTC refuses its PTX, and a cubin loads without the driver's compiler.

use std::ffi::{CStr, CString, c_char};
use std::fmt::Write as _;

use cuprous_cuda_sys as sys;
use sys::nvrtc::{NvrtcApi, nvrtcProgram, nvrtcResult};

use crate::error::{CudaError, Result};

/// How a source is compiled. Everything here is part of the cache's key.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CompileOptions {
    /// The target, such as `sm_90` or `sm_90a`; `best_arch` picks one for a device. `compute_90` stops at PTX.
    pub arch: String,
    /// Lets a multiplication and an addition become one instruction with one rounding. Off where results must equal
    /// NumPy's.
    pub fmad: bool,
    /// Further options, such as `--use_fast_math`.
    pub extra: Vec<String>,
    /// The code is not to be run, only to be compiled: in less than half the time.
    pub untuned: bool,
    /// The source is a user's own, which may use anything; what `extra` says goes before our defaults.
    pub plain: bool,
}

impl CompileOptions {
    /// The defaults for a target: `--fmad=true`, nothing extra.
    #[must_use]
    pub fn new(arch: impl Into<String>) -> Self {
        CompileOptions { arch: arch.into(), fmad: true, extra: Vec::new(), untuned: false, plain: false }
    }

    /// Whether the target is PTX, which no device runs by itself.
    fn is_virtual(&self) -> bool {
        self.arch.starts_with("compute_")
    }

    /// The options as NVRTC gets them.
    #[must_use]
    pub fn arguments(&self, nvrtc: (u32, u32)) -> Vec<String> {
        let says = |what: &str| self.extra.iter().any(|e| e.trim_start_matches('-').starts_with(what));
        let mut list = vec![format!("--gpu-architecture={}", self.arch)];
        if !(self.plain && says("std")) {
            list.push("--std=c++17".into());
        }
        list.push("-default-device".into());
        // Leaves out built-in texture and heap functions: 5 ms of 31. Older versions refuse the option.
        if nvrtc >= (12, 8) && !self.plain {
            list.push("--minimal".into());
        }
        // Sixteen kernels: 240 instead of 530 ms, and as PTX 65 instead of 250.
        if self.untuned && nvrtc >= (12, 9) {
            list.push("--Ofast-compile=max".into());
        }
        if !(self.plain && says("fmad")) {
            list.push(format!("--fmad={}", self.fmad));
        }
        list.extend(self.extra.iter().cloned());
        list
    }
}

/// Compiled code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compiled {
    /// The device code; empty for a target such as `compute_90`.
    pub cubin: Vec<u8>,
    /// The compiler's warnings; mostly empty.
    pub log: String,
}

impl Compiled {
    /// Had one of NVIDIA's functions, such as a division of doubles, too few registers? ptxas 13.0 and 13.5 then overwrite
    /// some of the kernel's before it saves them, and the kernel computes wrong values. Known where spills are warned of.
    #[must_use]
    pub fn is_lossy(&self) -> bool {
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

/// NVRTC's version, (major, minor).
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

/// What tells this NVRTC from any other: its file's path, size and time where they can be had without opening it
/// (141 MB, some 10 ms), else its version.
///
/// # Errors
/// NVRTC is not installed.
pub fn identity() -> Result<String> {
    let seen = sys::nvrtc_file().and_then(|path| {
        let meta = std::fs::metadata(&path).ok()?;
        let time = meta.modified().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
        Some(format!("{} {} {}", path.display(), meta.len(), time.as_nanos()))
    });
    match seen {
        Some(identity) => Ok(identity),
        None => version().map(|(major, minor)| format!("{major}.{minor}")),
    }
}

/// The targets that NVRTC knows, such as 90 for `sm_90`, ascending.
///
/// # Errors
/// NVRTC is not installed.
pub fn supported_archs() -> Result<Vec<u32>> {
    let api = sys::nvrtc()?;
    let mut count = 0;
    // SAFETY: the call writes one int.
    unsafe { call!(api, nvrtcGetNumSupportedArchs(&raw mut count)) }?;
    let mut archs = vec![0; count.unsigned_abs() as usize];
    // SAFETY: the call writes as many ints as it has just announced.
    unsafe { call!(api, nvrtcGetSupportedArchs(archs.as_mut_ptr())) }?;
    let mut archs: Vec<u32> = archs.into_iter().map(i32::unsigned_abs).collect();
    archs.sort_unstable();
    Ok(archs)
}

/// The target whose code runs on a device of this compute capability: its own, or the nearest below it within the
/// same major version where NVRTC is older than the device.
///
/// # Errors
/// NVRTC is not installed or knows nothing near the device.
pub fn best_arch(compute_capability: (u32, u32)) -> Result<String> {
    let archs = supported_archs()?;
    pick_arch(&archs, compute_capability).ok_or_else(|| {
        let (major, minor) = compute_capability;
        CudaError::Unsupported(format!(
            "the installed NVRTC cannot compile for compute capability {major}.{minor}; it knows {archs:?}; \
             install a matching nvidia-cuda-nvrtc"
        ))
    })
}

fn pick_arch(archs: &[u32], (major, minor): (u32, u32)) -> Option<String> {
    let device = major * 10 + minor;
    let best = archs.iter().filter(|&&arch| arch / 10 == major && arch <= device).max()?;
    Some(format!("sm_{best}"))
}

/// Frees the program on every path.
struct Program<'a> {
    api: &'a NvrtcApi,
    raw: nvrtcProgram,
}

impl Drop for Program<'_> {
    fn drop(&mut self) {
        // SAFETY: the program was made by nvrtcCreateProgram and is freed once.
        let _at_worst_leaked = unsafe { call!(self.api, nvrtcDestroyProgram(&raw mut self.raw)) };
    }
}

impl Program<'_> {
    fn log(&self) -> Result<String> {
        let mut size = 0;
        // SAFETY: the call writes one size.
        unsafe { call!(self.api, nvrtcGetProgramLogSize(self.raw, &raw mut size)) }?;
        let mut log = vec![0u8; size.max(1)];
        // SAFETY: the call writes as many bytes as it has just announced, with its final zero.
        unsafe { call!(self.api, nvrtcGetProgramLog(self.raw, log.as_mut_ptr().cast::<c_char>())) }?;
        Ok(String::from_utf8_lossy(&log).trim_end_matches(['\0', '\n']).to_owned())
    }

    fn cubin(&self) -> Result<Vec<u8>> {
        let mut size = 0;
        // SAFETY: the call writes one size.
        unsafe { call!(self.api, nvrtcGetCUBINSize(self.raw, &raw mut size)) }?;
        let mut cubin = vec![0u8; size];
        // SAFETY: the call writes as many bytes as it has just announced.
        unsafe { call!(self.api, nvrtcGetCUBIN(self.raw, cubin.as_mut_ptr().cast::<c_char>())) }?;
        Ok(cubin)
    }
}

/// Compiles a source. `name` is what messages call it. May run in several threads at once.
///
/// # Errors
/// NVRTC is not installed, or the source has errors: then the message holds the log and the lines around the first.
pub fn compile(source: &str, name: &str, options: &CompileOptions) -> Result<Compiled> {
    let Some(roomy) = without_least_blocks(source) else { return compile_once(source, name, options) };
    let mut told = options.clone();
    told.extra.push("--ptxas-options=--warn-on-spills".into());
    // NVRTC's own cache remembers no warnings.
    if version()? >= (13, 0) {
        told.extra.push("--no-cache".into());
    }
    let compiled = compile_once(source, name, &told)?;
    if compiled.is_lossy() { compile_once(&roomy, name, options) } else { Ok(compiled) }
}

fn compile_once(source: &str, name: &str, options: &CompileOptions) -> Result<Compiled> {
    let api = sys::nvrtc()?;
    let has_zero = |_| CudaError::Unsupported(format!("the source or an option of {name} holds a zero byte"));
    let text = CString::new(source).map_err(has_zero)?;
    let title = CString::new(name).map_err(has_zero)?;
    let arguments = options.arguments(version()?).into_iter().map(CString::new);
    let arguments = arguments.collect::<std::result::Result<Vec<_>, _>>().map_err(has_zero)?;
    let pointers: Vec<*const c_char> = arguments.iter().map(|argument| argument.as_ptr()).collect();

    let mut program = Program { api, raw: std::ptr::null_mut() };
    let none = std::ptr::null();
    // SAFETY: the strings end in a zero and live through the call, which copies them; no headers are passed.
    unsafe { call!(api, nvrtcCreateProgram(&raw mut program.raw, text.as_ptr(), title.as_ptr(), 0, none, none)) }?;
    let run = api.nvrtcCompileProgram.as_ref().map_err(|e| crate::driver::missing_symbol("nvrtcCompileProgram", e))?;
    // SAFETY: the program was made above; the options live through the call.
    let status = unsafe { run(program.raw, pointers.len() as i32, pointers.as_ptr()) };
    let log = program.log().unwrap_or_default();
    if status != nvrtcResult::NVRTC_SUCCESS {
        let mut excerpt = first_error_line(&log, name).map_or_else(String::new, |line| numbered(source, line));
        excerpt.extend(missing_header(&log));
        return Err(CudaError::Compile { name: name.into(), status: status_text(api, status), log, excerpt });
    }
    let cubin = if options.is_virtual() { Vec::new() } else { program.cubin()? };
    Ok(Compiled { cubin, log })
}

/// The source without the second number of `__launch_bounds__(threads, blocks)`, with which a kernel gets fewer registers;
/// `None` where no kernel has one.
fn without_least_blocks(source: &str) -> Option<String> {
    const BOUNDS: &str = "__launch_bounds__(";
    let mut parts = source.split(BOUNDS);
    let (mut roomy, mut any) = (parts.next()?.to_owned(), false);
    for part in parts {
        roomy += BOUNDS;
        match part.split_once(')') {
            Some((bounds, rest)) if bounds.matches(',').count() == 1 => {
                let threads = bounds.split(',').next().unwrap_or_default();
                any = true;
                roomy.extend([threads, ")", rest]);
            }
            _ => roomy += part,
        }
    }
    any.then_some(roomy)
}

/// NVIDIA's headers by how their names begin, and the wheel that has them.
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

/// What to do about a header of NVIDIA's that is not there, or is not for this compiler.
pub fn missing_header(log: &str) -> Option<String> {
    let Some((_, rest)) = log.split_once("cannot open source file \"") else {
        let mut errors = log.lines().filter(|line| line.contains("error"));
        let hosts = errors.any(|line| line.contains("/thrust/") || line.contains("/cub/device/"));
        let said = "this header is for nvcc (RawModule's backend=\"nvcc\"): of thrust, NVRTC takes <thrust/complex.h>, \
                    <thrust/tuple.h> and <thrust/functional.h>; <cub/block/…> and <cub/warp/…> have algorithms\n";
        return hosts.then(|| said.into());
    };
    let name = rest.split_once('"')?.0;
    let (_, wheel) = HEADERS.iter().find(|(starts, _)| starts.iter().any(|start| name.starts_with(start)))?;
    Some(format!("{name} is a header of NVIDIA's that is not installed: pip install {wheel}\n"))
}

/// The line of the first `name(LINE): error` in a log.
fn first_error_line(log: &str, name: &str) -> Option<usize> {
    let with_errors = log.lines().filter(|line| line.contains("error"));
    let mut numbers = with_errors.filter_map(|line| line.strip_prefix(name)?.strip_prefix('(')?.split_once(')'));
    numbers.find_map(|(number, _)| number.parse().ok())
}

/// The source around a line, each line with its number, the line itself marked.
fn numbered(source: &str, line: usize) -> String {
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

    /// Tells the loader where the wheels are; false where NVRTC is not there, so that the test has nothing to do.
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
    fn functions_get_the_registers_they_need() {
        let roomy = without_least_blocks(CROWDED).expect("it has a bound");
        assert!(roomy.contains("__launch_bounds__(256) crowded"), "{roomy}");
        assert_eq!(without_least_blocks(&roomy), None);
        if !nvrtc_is_here() {
            return;
        }
        let mut told = CompileOptions::new("sm_90");
        told.extra.extend(["--ptxas-options=--warn-on-spills".into()]);
        assert!(compile_once(CROWDED, "crowded", &told).expect("compiles").is_lossy());
        assert!(!compile(CROWDED, "crowded", &told).expect("compiles").is_lossy());
    }

    #[test]
    fn options_follow_the_version() {
        let options = CompileOptions { fmad: false, ..CompileOptions::new("sm_90") };
        assert!(options.arguments((13, 5)).contains(&"--minimal".to_owned()));
        assert!(!options.arguments((12, 0)).contains(&"--minimal".to_owned()));
        assert!(options.arguments((12, 0)).contains(&"--fmad=false".to_owned()));
    }
}
