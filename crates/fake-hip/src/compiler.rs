//! hiprtc on NVRTC.

use std::ffi::{CStr, CString, c_char, c_int};

use cuprous_cuda_sys::driver::CUdevice_attribute as Attribute;
use cuprous_cuda_sys::nvrtc::{nvrtcProgram, nvrtcResult};

use crate::context::cuda;

const INTERNAL: nvrtcResult = nvrtcResult(11);
/// A line of the prelude that all generated code has, and no user's.
const GENERATED: &str = "#define DEV __device__ __forceinline__";

/// A program and whether Cuprous wrote it.
pub struct Program {
    own: nvrtcProgram,
    generated: bool,
}

macro_rules! nvrtc {
    ($name:ident($($arg:expr),* $(,)?)) => {
        match cuprous_cuda_sys::nvrtc().map(|api| &api.$name) {
            Ok(Ok(function)) => function($($arg),*),
            _ => INTERNAL,
        }
    };
}

/// Defines functions of a program's handle: the name, NVRTC's name, the other parameter.
macro_rules! forward {
    ($($hip:ident = $cuda:ident($arg:ident: $type:ty);)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $hip(program: *mut Program, $arg: $type) -> nvrtcResult {
            // SAFETY: the caller passes a handle of `hiprtcCreateProgram` and what NVRTC requires.
            unsafe { nvrtc!($cuda((*program).own, $arg)) }
        }
    )*};
}
forward! {
    hiprtcGetCodeSize = nvrtcGetCUBINSize(to: *mut usize);
    hiprtcGetCode = nvrtcGetCUBIN(to: *mut c_char);
    hiprtcGetProgramLogSize = nvrtcGetProgramLogSize(to: *mut usize);
    hiprtcGetProgramLog = nvrtcGetProgramLog(to: *mut c_char);
    hiprtcAddNameExpression = nvrtcAddNameExpression(expression: *const c_char);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hiprtcGetLoweredName(
    program: *mut Program,
    expression: *const c_char,
    to: *mut *const c_char,
) -> nvrtcResult {
    // SAFETY: the caller passes a handle of `hiprtcCreateProgram`, a string and the address of a variable.
    unsafe { nvrtc!(nvrtcGetLoweredName((*program).own, expression, to)) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hiprtcVersion(major: *mut c_int, minor: *mut c_int) -> nvrtcResult {
    // SAFETY: the caller passes the addresses of variables.
    unsafe { nvrtc!(nvrtcVersion(major, minor)) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hiprtcGetErrorString(status: nvrtcResult) -> *const c_char {
    match cuprous_cuda_sys::nvrtc().map(|api| &api.nvrtcGetErrorString) {
        // SAFETY: any status may be passed.
        Ok(Ok(text)) => unsafe { text(status) },
        _ => c"unknown".as_ptr(),
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hiprtcCreateProgram(
    to: *mut *mut Program,
    source: *const c_char,
    name: *const c_char,
    count: c_int,
    headers: *const *const c_char,
    names: *const *const c_char,
) -> nvrtcResult {
    let mut own: nvrtcProgram = std::ptr::null_mut();
    // SAFETY: the caller passes strings and the address of a variable.
    unsafe {
        let generated = CStr::from_ptr(source).to_string_lossy().contains(GENERATED);
        let status = nvrtc!(nvrtcCreateProgram(&raw mut own, source, name, count, headers, names));
        *to = Box::into_raw(Box::new(Program { own, generated }));
        status
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hiprtcDestroyProgram(program: *mut *mut Program) -> nvrtcResult {
    // SAFETY: the caller passes the address of a handle that is destroyed once.
    unsafe {
        let mut own = Box::from_raw(*program).own;
        *program = std::ptr::null_mut();
        nvrtc!(nvrtcDestroyProgram(&raw mut own))
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hiprtcCompileProgram(
    program: *mut Program,
    count: c_int,
    options: *const *const c_char,
) -> nvrtcResult {
    // SAFETY: the caller passes a handle and as many strings.
    let (program, given) = unsafe {
        let text = |k: usize| CStr::from_ptr(*options.add(k)).to_string_lossy().into_owned();
        (&*program, (0..count.unsigned_abs() as usize).map(text).collect::<Vec<_>>())
    };
    let mut list = vec![format!("--gpu-architecture=sm_{}", capability()), "-default-device".into()];
    if program.generated {
        list.push("--minimal".into());
    }
    list.extend(given.iter().filter_map(|option| translated(option)));
    let list: Vec<CString> = list.into_iter().filter_map(|option| CString::new(option).ok()).collect();
    let pointers: Vec<*const c_char> = list.iter().map(|option| option.as_ptr()).collect();
    // SAFETY: the options live through the call.
    unsafe { nvrtc!(nvrtcCompileProgram(program.own, pointers.len() as c_int, pointers.as_ptr())) }
}

/// Returns the compute capability of the first device, such as 90.
fn capability() -> c_int {
    let get = |attribute| {
        let mut value = 0;
        // SAFETY: the call writes one int.
        unsafe { cuda!(cuDeviceGetAttribute(&raw mut value, attribute, 0)) };
        value
    };
    get(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) * 10
        + get(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)
}

/// Returns an option by NVRTC's names; `None` for one that NVRTC does not need.
fn translated(option: &str) -> Option<String> {
    match option {
        "-ffp-contract=off" => Some("--fmad=false".into()),
        "-ffp-contract=fast" => Some("--fmad=true".into()),
        "-ffast-math" => Some("--use_fast_math".into()),
        _ if option.starts_with("-std=") => Some(format!("-{option}")),
        _ if ["-D", "-U", "-I"].iter().any(|start| option.starts_with(start)) => Some(option.into()),
        _ => None,
    }
}
