//! Ranges for NVIDIA's tools (Nsight Systems, Nsight Compute): NVTX version 3, which is an agreement and no library.
//!
//! A tool names a library of its own in `NVTX_INJECTION64_PATH`, to which we show a table of functions that it fills in.
//! Without that variable nothing is loaded, and a range costs one load.

use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

/// Modules of functions, counted from 1, with their sizes; only the first one's are called.
const SIZES: [usize; 7] = [0, 16, 9, 15, 7, 16, 7];
const CORE: usize = 1;
const PUSH: usize = 9;
const POP: usize = 11;
const MOST: usize = 17;

/// The functions of a module, which a tool fills in.
struct Functions([AtomicPtr<c_void>; MOST]);
/// Where they are: a table of pointers to function pointers, with an end.
struct Table([AtomicPtr<c_void>; MOST]);

static FUNCTIONS: [Functions; 7] = [const { Functions([const { AtomicPtr::new(std::ptr::null_mut()) }; MOST]) }; 7];
static TABLES: [Table; 7] = [const { Table([const { AtomicPtr::new(std::ptr::null_mut()) }; MOST]) }; 7];

#[repr(C)]
struct Callbacks {
    size: usize,
    table: extern "C" fn(c_int, *mut *const c_void, *mut c_uint) -> c_int,
}

#[repr(C)]
struct VersionInfo {
    size: usize,
    version: u32,
    reserved: u32,
    set_tools_version: extern "C" fn(u32),
}

static CALLBACKS: Callbacks = Callbacks { size: size_of::<Callbacks>(), table: function_table };
static VERSION: VersionInfo =
    VersionInfo { size: size_of::<VersionInfo>(), version: 3, reserved: 0, set_tools_version: ignore };

extern "C" fn ignore(_: u32) {}

extern "C" fn function_table(module: c_int, table: *mut *const c_void, size: *mut c_uint) -> c_int {
    let Some(module) = usize::try_from(module).ok().filter(|module| (1..SIZES.len()).contains(module)) else {
        return 0;
    };
    for k in 1..SIZES[module] {
        TABLES[module].0[k].store(FUNCTIONS[module].0[k].as_ptr().cast(), Relaxed);
    }
    // SAFETY: the tool gives places to write to, or null.
    unsafe {
        if !table.is_null() {
            *table = TABLES[module].0.as_ptr().cast();
        }
        if !size.is_null() {
            *size = SIZES[module] as c_uint;
        }
    }
    1
}

extern "C" fn export_table(id: u32) -> *const c_void {
    match id {
        1 => (&raw const CALLBACKS).cast(),
        3 => (&raw const VERSION).cast(),
        _ => std::ptr::null(),
    }
}

type ExportTable = extern "C" fn(u32) -> *const c_void;
type Push = unsafe extern "C" fn(*const c_char) -> c_int;
type Pop = unsafe extern "C" fn() -> c_int;

/// What a tool filled in.
#[derive(Clone, Copy)]
struct Tool {
    push: Push,
    pop: Pop,
}

#[cfg(unix)]
fn load() -> Option<Tool> {
    use std::os::unix::ffi::OsStrExt;

    let path = std::env::var_os("NVTX_INJECTION64_PATH").filter(|path| !path.is_empty())?;
    let path = CString::new(path.as_bytes()).ok()?;
    // SAFETY: the path is a string; the library is one that the user's tool wants in this process, as NVTX says.
    unsafe {
        let library = libc::dlopen(path.as_ptr(), libc::RTLD_LAZY);
        if library.is_null() {
            return None;
        }
        let start = libc::dlsym(library, c"InitializeInjectionNvtx2".as_ptr());
        if start.is_null() {
            return None;
        }
        let start = std::mem::transmute::<*mut c_void, extern "C" fn(ExportTable) -> c_int>(start);
        if start(export_table) == 0 {
            return None;
        }
        let [push, pop] = [PUSH, POP].map(|k| FUNCTIONS[CORE].0[k].load(Relaxed));
        if push.is_null() || pop.is_null() {
            return None;
        }
        Some(Tool {
            push: std::mem::transmute::<*mut c_void, Push>(push),
            pop: std::mem::transmute::<*mut c_void, Pop>(pop),
        })
    }
}

#[cfg(not(unix))]
fn load() -> Option<Tool> {
    None
}

static TOOL: OnceLock<Option<Tool>> = OnceLock::new();

/// Does a tool listen?
#[inline]
pub fn on() -> bool {
    TOOL.get_or_init(load).is_some()
}

/// A range of the calling thread that ends when this is dropped.
pub struct Range(Tool);

/// Begins a range, if a tool listens; only then is it asked for its name.
#[inline]
pub fn range(name: impl FnOnce() -> String) -> Option<Range> {
    (*TOOL.get_or_init(load)).map(|tool| begin(tool, name()))
}

#[cold]
fn begin(tool: Tool, name: String) -> Range {
    let name = CString::new(name.replace('\0', " ")).unwrap_or_default();
    // SAFETY: the tool's function, and a string that it copies.
    unsafe { (tool.push)(name.as_ptr()) };
    Range(tool)
}

impl Drop for Range {
    fn drop(&mut self) {
        // SAFETY: the tool's function; the range was begun by this thread.
        unsafe { (self.0.pop)() };
    }
}

/// Begins a range that [`pop`] ends; does a tool listen?
pub fn push(name: &str) -> bool {
    range(|| name.to_owned()).map(std::mem::forget).is_some()
}

/// Ends the range of the calling thread that was begun last.
pub fn pop() {
    if let Some(Some(tool)) = TOOL.get() {
        drop(Range(*tool));
    }
}
