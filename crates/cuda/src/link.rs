//! Links device code: with the driver, or with nvJitLink if there is LTO IR.

use std::ffi::{CStr, CString, c_char, c_uint, c_void};
use std::ptr::null_mut;
use std::sync::Arc;

use cuprous_cuda_sys as sys;
use cuprous_kernel::linked::{Object, ObjectKind};
use sys::driver::{CUjit_option as JitOption, CUjitInputType as Input, CUlinkState, DriverApi};
use sys::nvjitlink::{NvJitLinkApi, nvJitLinkHandle, nvJitLinkInputType as JitInput, nvJitLinkResult};

use crate::cache::CacheKey;
use crate::codegen::Vendor;
use crate::driver::{self, call};
use crate::error::{CudaError, Result};
use crate::gpu::Gpu;

/// Room for the linker's error log.
const LOG_BYTES: usize = 16 << 10;

/// Options of a link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinkOptions<'a> {
    /// The name of the result in messages.
    pub name: &'a str,
    /// The target, such as `sm_90`.
    pub target: &'a str,
    /// The largest number of registers per thread, for code that is still to be assembled.
    pub max_registers: Option<u32>,
}

/// Links relocatable device code with `objects`. The result is cached in memory or on disk.
pub(crate) fn link(
    gpu: &Gpu,
    code: &[u8],
    objects: &[Object],
    name: &str,
    max_registers: Option<u32>,
) -> Result<Arc<[u8]>> {
    if gpu.arch.vendor == Vendor::Amd {
        return Err(CudaError::Unsupported(format!(
            "{name}: device code cannot be linked on a GPU of AMD; give the functions as source that is compiled with it"
        )));
    }
    let registers = max_registers.unwrap_or(0).to_le_bytes();
    let kinds: Vec<u8> = objects.iter().map(|object| object.kind as u8).collect();
    let mut parts: Vec<&[u8]> = vec![b"linked", gpu.target.as_bytes(), &registers, &kinds, code];
    parts.extend(objects.iter().map(|object| &object.data[..]));
    let key = CacheKey::of(&parts);
    if let Some(linked) = gpu.cache.get(&key) {
        return Ok(linked);
    }
    let options = LinkOptions { name, target: &gpu.target, max_registers };
    gpu.context.make_current()?;
    let linked = match objects.iter().any(|object| object.kind == ObjectKind::Ltoir) {
        true => by_nvjitlink(&options, code, objects)?,
        false => by_driver(driver::api()?, &options, code, objects)?,
    };
    gpu.cache.put(&key, &linked);
    Ok(linked.into())
}

fn link_error(name: &str, status: String, log: &[u8]) -> CudaError {
    let end = log.iter().position(|&b| b == 0).unwrap_or(log.len());
    let log = String::from_utf8_lossy(&log[..end]).into_owned();
    CudaError::Compile {
        name: name.into(),
        status: format!("it cannot be linked: {status}"),
        log,
        excerpt: String::new(),
    }
}

/// Returns an input's bytes as linkers expect them: text ends in a zero.
fn bytes(object: &Object) -> Vec<u8> {
    let mut data = object.data.to_vec();
    if object.kind == ObjectKind::Ptx && data.last() != Some(&0) {
        data.push(0);
    }
    data
}

fn c_string(name: &str) -> CString {
    CString::new(name.replace('\0', "")).unwrap_or_default()
}

/// A link by the driver. It owns the linked code.
struct State<'a>(&'a DriverApi, CUlinkState);

impl Drop for State<'_> {
    fn drop(&mut self) {
        // SAFETY: the driver created the state, and it is not used again.
        let _at_worst_leaked = unsafe { call!(self.0, cuLinkDestroy(self.1)) };
    }
}

fn by_driver(api: &DriverApi, options: &LinkOptions<'_>, code: &[u8], objects: &[Object]) -> Result<Vec<u8>> {
    let mut log = vec![0u8; LOG_BYTES];
    let mut names = vec![JitOption::CU_JIT_ERROR_LOG_BUFFER, JitOption::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
    // Numbers are passed as the pointers themselves.
    let mut values: Vec<*mut c_void> = vec![log.as_mut_ptr().cast(), LOG_BYTES as *mut c_void];
    if let Some(max) = options.max_registers {
        names.push(JitOption::CU_JIT_MAX_REGISTERS);
        values.push(max as usize as *mut c_void);
    }
    let mut run = || -> Result<Vec<u8>> {
        let mut raw: CUlinkState = null_mut();
        let count = names.len() as c_uint;
        // SAFETY: there are `count` options and values, and they and the log outlive the state.
        unsafe { call!(api, cuLinkCreate_v2(count, names.as_mut_ptr(), values.as_mut_ptr(), &raw mut raw)) }?;
        let state = State(api, raw);
        let own = Object { kind: ObjectKind::Cubin, name: options.name.into(), data: code.into() };
        for object in std::iter::once(&own).chain(objects) {
            let kind = match object.kind {
                ObjectKind::Ptx => Input::CU_JIT_INPUT_PTX,
                ObjectKind::Cubin => Input::CU_JIT_INPUT_CUBIN,
                ObjectKind::Fatbin => Input::CU_JIT_INPUT_FATBINARY,
                ObjectKind::Object => Input::CU_JIT_INPUT_OBJECT,
                ObjectKind::Archive => Input::CU_JIT_INPUT_LIBRARY,
                ObjectKind::Ltoir => {
                    return Err(CudaError::Unsupported(format!("{}: the driver cannot link LTO IR", object.name)));
                }
            };
            let (mut data, name) = (bytes(object), c_string(&object.name));
            let (at, size) = (data.as_mut_ptr().cast::<c_void>(), data.len());
            // SAFETY: the driver copies the data and the name.
            unsafe { call!(api, cuLinkAddData_v2(state.1, kind, at, size, name.as_ptr(), 0, null_mut(), null_mut())) }?;
        }
        let (mut out, mut size) = (null_mut::<c_void>(), 0usize);
        // SAFETY: the call writes an address and a size. The memory belongs to the state, which lives until it was
        // copied.
        unsafe {
            call!(api, cuLinkComplete(state.1, &raw mut out, &raw mut size))?;
            Ok(std::slice::from_raw_parts(out.cast::<u8>(), size).to_vec())
        }
    };
    let linked = run();
    linked.map_err(|error| match error {
        CudaError::Driver { name: status, text, .. } => link_error(options.name, format!("{status}: {text}"), &log),
        other => other,
    })
}

macro_rules! jit {
    ($api:expr, $name:ident($($arg:expr),* $(,)?)) => {
        match &$api.$name {
            Ok(function) => match function($($arg),*) {
                nvJitLinkResult::NVJITLINK_SUCCESS => Ok(()),
                status => Err(CudaError::Library {
                    call: stringify!($name), status: format!("status {}", status.0), what: "device code".into(),
                }),
            },
            Err(e) => Err(driver::missing_symbol(stringify!($name), e)),
        }
    };
}

/// A link by nvJitLink.
struct Linker<'a>(&'a NvJitLinkApi, nvJitLinkHandle);

impl Drop for Linker<'_> {
    fn drop(&mut self) {
        // SAFETY: the library created the handle, and it is not used again.
        let _at_worst_leaked = unsafe { jit!(self.0, nvJitLinkDestroy(&raw mut self.1)) };
    }
}

impl Linker<'_> {
    /// Returns the library's error log.
    fn log(&self) -> Vec<u8> {
        let mut size = 0;
        // SAFETY: the call writes a size.
        if unsafe { jit!(self.0, nvJitLinkGetErrorLogSize(self.1, &raw mut size)) }.is_err() {
            return Vec::new();
        }
        let mut log = vec![0u8; size + 1];
        // SAFETY: the buffer has room for the log.
        let _without_it = unsafe { jit!(self.0, nvJitLinkGetErrorLog(self.1, log.as_mut_ptr().cast::<c_char>())) };
        log
    }
}

/// Links with nvJitLink. Needs no GPU and no driver.
pub(crate) fn by_nvjitlink(options: &LinkOptions<'_>, code: &[u8], objects: &[Object]) -> Result<Vec<u8>> {
    let api = sys::nvjitlink()?;
    let mut arguments = vec![c_string(&format!("-arch={}", options.target))];
    // Without LTO IR the option is an error.
    arguments.extend(objects.iter().any(|o| o.kind == ObjectKind::Ltoir).then(|| c_string("-lto")));
    arguments.extend(options.max_registers.map(|max| c_string(&format!("-maxrregcount={max}"))));
    let mut pointers: Vec<*const c_char> = arguments.iter().map(|option: &CString| CStr::as_ptr(option)).collect();
    let mut raw: nvJitLinkHandle = null_mut();
    // SAFETY: the options live through the call, and their number is passed.
    unsafe { jit!(api, nvJitLinkCreate(&raw mut raw, pointers.len() as u32, pointers.as_mut_ptr())) }?;
    let linker = Linker(api, raw);
    let run = || -> Result<Vec<u8>> {
        let own = Object { kind: ObjectKind::Cubin, name: options.name.into(), data: code.into() };
        for object in std::iter::once(&own).chain(objects) {
            let kind = match object.kind {
                ObjectKind::Ptx => JitInput::NVJITLINK_INPUT_PTX,
                ObjectKind::Cubin => JitInput::NVJITLINK_INPUT_CUBIN,
                ObjectKind::Fatbin => JitInput::NVJITLINK_INPUT_FATBIN,
                ObjectKind::Object => JitInput::NVJITLINK_INPUT_OBJECT,
                ObjectKind::Archive => JitInput::NVJITLINK_INPUT_LIBRARY,
                ObjectKind::Ltoir => JitInput::NVJITLINK_INPUT_LTOIR,
            };
            let (data, name) = (bytes(object), c_string(&object.name));
            let at = data.as_ptr().cast::<c_void>();
            // SAFETY: data and name live through the call, which copies what it needs.
            unsafe { jit!(api, nvJitLinkAddData(linker.1, kind, at, data.len(), name.as_ptr())) }?;
        }
        let mut size = 0;
        // SAFETY: the handle is valid; the buffer has the size that the library returned.
        unsafe {
            jit!(api, nvJitLinkComplete(linker.1))?;
            jit!(api, nvJitLinkGetLinkedCubinSize(linker.1, &raw mut size))?;
            let mut linked = vec![0u8; size];
            jit!(api, nvJitLinkGetLinkedCubin(linker.1, linked.as_mut_ptr().cast::<c_void>()))?;
            Ok(linked)
        }
    };
    run().map_err(|error| match error {
        CudaError::Library { call, status, .. } => link_error(options.name, format!("{call}: {status}"), &linker.log()),
        other => other,
    })
}

#[cfg(test)]
#[path = "link_tests.rs"]
mod tests;
