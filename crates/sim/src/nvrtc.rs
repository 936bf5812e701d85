//! NVRTC: compiles to an image that the simulated driver loads.

use std::ffi::{CStr, CString, c_char, c_int};
use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};

use cuprous_cuda_sys::nvrtc::{nvrtcProgram, nvrtcResult};

use crate::compiler::Source;
use crate::driver::device_version;
use crate::images;

const SUCCESS: nvrtcResult = nvrtcResult(0);
const INVALID_INPUT: nvrtcResult = nvrtcResult(3);
const INVALID_PROGRAM: nvrtcResult = nvrtcResult(4);
const COMPILATION: nvrtcResult = nvrtcResult(6);
const INTERNAL: nvrtcResult = nvrtcResult(11);
/// The compute capabilities that there is a target for.
const ARCHS: [c_int; 1] = [80];

/// A program, behind its handle.
struct Program {
    source: String,
    name: String,
    image: Vec<u8>,
    log: Vec<u8>,
    /// Expressions that name kernels, and what the driver calls these.
    names: Vec<(String, CString)>,
}

/// Returns the program of a handle.
unsafe fn program<'a>(handle: nvrtcProgram) -> Option<&'a mut Program> {
    // SAFETY: the caller passes a handle of `nvrtcCreateProgram`, which only one thread uses at a time.
    unsafe { handle.cast::<Program>().as_mut() }
}

fn text(from: *const c_char) -> String {
    // SAFETY: the caller passes a string, or null.
    if from.is_null() { String::new() } else { unsafe { CStr::from_ptr(from) }.to_string_lossy().into_owned() }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvrtcGetErrorString(status: nvrtcResult) -> *const c_char {
    let text = match status {
        SUCCESS => c"NVRTC_SUCCESS",
        INVALID_INPUT => c"NVRTC_ERROR_INVALID_INPUT",
        INVALID_PROGRAM => c"NVRTC_ERROR_INVALID_PROGRAM",
        COMPILATION => c"NVRTC_ERROR_COMPILATION",
        _ => c"NVRTC_ERROR_INTERNAL_ERROR",
    };
    text.as_ptr()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvrtcVersion(major: *mut c_int, minor: *mut c_int) -> nvrtcResult {
    let (first, second) = device_version();
    // SAFETY: the caller passes the addresses of variables.
    unsafe { (*major, *minor) = (first, second) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvrtcGetNumSupportedArchs(to: *mut c_int) -> nvrtcResult {
    // SAFETY: as above.
    unsafe { *to = ARCHS.len() as c_int };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvrtcGetSupportedArchs(to: *mut c_int) -> nvrtcResult {
    // SAFETY: the caller passes an array of as many.
    unsafe { std::ptr::copy_nonoverlapping(ARCHS.as_ptr(), to, ARCHS.len()) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvrtcCreateProgram(
    to: *mut nvrtcProgram,
    source: *const c_char,
    name: *const c_char,
    _count: c_int,
    _headers: *const *const c_char,
    _names: *const *const c_char,
) -> nvrtcResult {
    let program =
        Program { source: text(source), name: text(name), image: Vec::new(), log: vec![0], names: Vec::new() };
    // SAFETY: the caller passes the address of a variable.
    unsafe { *to = Box::into_raw(Box::new(program)).cast() };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvrtcDestroyProgram(handle: *mut nvrtcProgram) -> nvrtcResult {
    // SAFETY: the caller passes the address of a handle that is destroyed once.
    unsafe {
        if (*handle).is_null() {
            return INVALID_PROGRAM;
        }
        drop(Box::from_raw((*handle).cast::<Program>()));
        *handle = std::ptr::null_mut();
    }
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvrtcAddNameExpression(handle: nvrtcProgram, expression: *const c_char) -> nvrtcResult {
    // SAFETY: as for `program`.
    let Some(program) = (unsafe { program(handle) }) else { return INVALID_PROGRAM };
    let lowered = format!("expression{}", program.names.len());
    program.names.push((text(expression), CString::new(lowered).unwrap_or_default()));
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvrtcGetLoweredName(
    handle: nvrtcProgram,
    expression: *const c_char,
    to: *mut *const c_char,
) -> nvrtcResult {
    // SAFETY: as for `program`.
    let Some(program) = (unsafe { program(handle) }) else { return INVALID_PROGRAM };
    let expression = text(expression);
    match program.names.iter().find(|(known, _)| *known == expression) {
        Some((_, lowered)) => {
            // SAFETY: the caller passes the address of a variable. The text lives as long as the program.
            unsafe { *to = lowered.as_ptr() };
            SUCCESS
        }
        None => INVALID_INPUT,
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvrtcCompileProgram(
    handle: nvrtcProgram,
    count: c_int,
    options: *const *const c_char,
) -> nvrtcResult {
    // SAFETY: as for `program`.
    let Some(program) = (unsafe { program(handle) }) else { return INVALID_PROGRAM };
    // SAFETY: the caller passes as many strings.
    let options: Vec<String> = (0..count as usize).map(|k| text(unsafe { *options.add(k) })).collect();
    // Only code that Cuprous generates is compiled with this option. A user's source is compiled at once, for its errors.
    let generated = options.iter().any(|option| option == "--minimal");
    let for_compiler = |option: &String| -> Option<String> {
        let folder = ["--include-path=", "-I"].iter().find_map(|start| option.strip_prefix(start));
        let macros = ["-D", "-U"].iter().any(|start| option.starts_with(start));
        folder.map(|folder| format!("-I{folder}")).or(macros.then(|| option.clone()))
    };
    let options = options.iter().filter_map(for_compiler).collect();
    let mut text = program.source.clone();
    for (expression, lowered) in &program.names {
        // As the compiler describes a kernel with a C name.
        let _infallible = write!(
            text,
            "\nextern \"C\" __attribute__((used)) const sim::kernel sim0_{} = sim::describe<&{expression}>::value;",
            lowered.to_string_lossy()
        );
    }
    let source = Source { name: program.name.clone(), text, options, generated };
    let compile = AssertUnwindSafe(|| {
        if !generated {
            images::locate(&source)?;
        }
        Ok(images::image(source))
    });
    match catch_unwind(compile) {
        Ok(Ok(image)) => {
            program.image = image;
            SUCCESS
        }
        Ok(Err::<_, String>(log)) => {
            program.log = log.into_bytes();
            program.log.push(0);
            COMPILATION
        }
        Err(_) => INTERNAL,
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvrtcGetCUBINSize(handle: nvrtcProgram, to: *mut usize) -> nvrtcResult {
    // SAFETY: as above.
    unsafe {
        program(handle).map_or(INVALID_PROGRAM, |p| {
            *to = p.image.len();
            SUCCESS
        })
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvrtcGetCUBIN(handle: nvrtcProgram, to: *mut c_char) -> nvrtcResult {
    // SAFETY: the caller passes an array of that size.
    unsafe {
        program(handle).map_or(INVALID_PROGRAM, |p| {
            std::ptr::copy_nonoverlapping(p.image.as_ptr(), to.cast(), p.image.len());
            SUCCESS
        })
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvrtcGetProgramLogSize(handle: nvrtcProgram, to: *mut usize) -> nvrtcResult {
    // SAFETY: as above.
    unsafe {
        program(handle).map_or(INVALID_PROGRAM, |p| {
            *to = p.log.len();
            SUCCESS
        })
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvrtcGetProgramLog(handle: nvrtcProgram, to: *mut c_char) -> nvrtcResult {
    // SAFETY: the caller passes an array of that size.
    unsafe {
        program(handle).map_or(INVALID_PROGRAM, |p| {
            std::ptr::copy_nonoverlapping(p.log.as_ptr(), to.cast(), p.log.len());
            SUCCESS
        })
    }
}
