//! Ranges for NVIDIA's tools (Nsight Systems, Nsight Compute): NVTX version 3, which is a protocol and not a library.
//!
//! A tool names its library in the variable `NVTX_INJECTION64_PATH`. That library fills in a table of functions, which
//! ranges call. Without the variable nothing is loaded, and a range costs one load.

#![cfg_attr(not(unix), allow(dead_code, reason = "a tool is loaded on Unix only"))]

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

/// The sizes of the modules of functions, numbered from 1. Only functions of the first module are called.
const SIZES: [usize; 7] = [0, 16, 9, 15, 7, 16, 7];
const CORE: usize = 1;
const MARK_EX: usize = 1;
const MARK: usize = 2;
const START_EX: usize = 4;
const START: usize = 5;
const END: usize = 7;
const PUSH_EX: usize = 8;
const PUSH: usize = 9;
const POP: usize = 11;
const MAX_FUNCTIONS: usize = 17;

/// The functions of a module, which a tool fills in.
struct Functions([AtomicPtr<c_void>; MAX_FUNCTIONS]);
/// Pointers to the function pointers of a module, ended by null.
struct Table([AtomicPtr<c_void>; MAX_FUNCTIONS]);

static FUNCTIONS: [Functions; 7] =
    [const { Functions([const { AtomicPtr::new(std::ptr::null_mut()) }; MAX_FUNCTIONS]) }; 7];
static TABLES: [Table; 7] = [const { Table([const { AtomicPtr::new(std::ptr::null_mut()) }; MAX_FUNCTIONS]) }; 7];

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
    // SAFETY: the tool passes valid pointers or null.
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
type PushFn = unsafe extern "C" fn(*const c_char) -> c_int;
type PushExFn = unsafe extern "C" fn(*const Attributes) -> c_int;
type PopFn = unsafe extern "C" fn() -> c_int;
type MarkFn = unsafe extern "C" fn(*const c_char);
type MarkExFn = unsafe extern "C" fn(*const Attributes);
type StartFn = unsafe extern "C" fn(*const c_char) -> u64;
type StartExFn = unsafe extern "C" fn(*const Attributes) -> u64;
type EndFn = unsafe extern "C" fn(u64);

/// A name with a color: `nvtxEventAttributes_t`.
#[repr(C)]
struct Attributes {
    version: u16,
    size: u16,
    category: u32,
    color_type: i32,
    color: u32,
    payload_type: i32,
    reserved: i32,
    payload: u64,
    message_type: i32,
    message: *const c_char,
}

impl Attributes {
    /// Returns attributes that are valid while `name` lives.
    fn new(name: &CStr, color: u32) -> Attributes {
        Attributes {
            version: 3,
            size: size_of::<Attributes>() as u16,
            category: 0,
            color_type: 1,
            color,
            payload_type: 0,
            reserved: 0,
            payload: 0,
            message_type: 1,
            message: name.as_ptr(),
        }
    }
}

/// The functions that the tool provides. `push` and `pop` are required.
#[derive(Clone, Copy)]
struct Tool {
    push: PushFn,
    pop: PopFn,
    push_ex: Option<PushExFn>,
    mark: Option<MarkFn>,
    mark_ex: Option<MarkExFn>,
    start: Option<StartFn>,
    start_ex: Option<StartExFn>,
    end: Option<EndFn>,
}

#[cfg(unix)]
fn load() -> Option<Tool> {
    use std::os::unix::ffi::OsStrExt;

    let path = std::env::var_os("NVTX_INJECTION64_PATH").filter(|path| !path.is_empty())?;
    let path = CString::new(path.as_bytes()).ok()?;
    // SAFETY: the path is a C string. NVTX defines that the library is loaded into this process and initialized this
    // way, and which function has which index and type.
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
        let filled = |k: usize| FUNCTIONS[CORE].0[k].load(Relaxed);
        Some(Tool {
            push: std::mem::transmute::<*mut c_void, PushFn>(push),
            pop: std::mem::transmute::<*mut c_void, PopFn>(pop),
            // A null pointer becomes `None`.
            push_ex: std::mem::transmute::<*mut c_void, Option<PushExFn>>(filled(PUSH_EX)),
            mark: std::mem::transmute::<*mut c_void, Option<MarkFn>>(filled(MARK)),
            mark_ex: std::mem::transmute::<*mut c_void, Option<MarkExFn>>(filled(MARK_EX)),
            start: std::mem::transmute::<*mut c_void, Option<StartFn>>(filled(START)),
            start_ex: std::mem::transmute::<*mut c_void, Option<StartExFn>>(filled(START_EX)),
            end: std::mem::transmute::<*mut c_void, Option<EndFn>>(filled(END)),
        })
    }
}

#[cfg(not(unix))]
fn load() -> Option<Tool> {
    None
}

static TOOL: OnceLock<Option<Tool>> = OnceLock::new();

/// Returns true if a tool is attached.
#[inline]
pub fn on() -> bool {
    TOOL.get_or_init(load).is_some()
}

/// A range of the calling thread. Ends when dropped.
pub struct Range(Tool);

/// Begins a range if a tool is attached. Only then is `name` called.
#[inline]
pub fn range(name: impl FnOnce() -> String) -> Option<Range> {
    (*TOOL.get_or_init(load)).map(|tool| begin(tool, name()))
}

#[cold]
fn begin(tool: Tool, name: String) -> Range {
    let name = text(&name);
    // SAFETY: a function of the tool, called with a C string that it copies.
    unsafe { (tool.push)(name.as_ptr()) };
    Range(tool)
}

fn text(name: &str) -> CString {
    CString::new(name.replace('\0', " ")).unwrap_or_default()
}

fn tool() -> Option<Tool> {
    *TOOL.get_or_init(load)
}

impl Drop for Range {
    fn drop(&mut self) {
        // SAFETY: a function of the tool without arguments.
        unsafe { (self.0.pop)() };
    }
}

/// Begins a range that [`pop`] ends, with an optional color (0xAARRGGBB). Returns its depth if a tool is attached.
pub fn push(name: &str, color: Option<u32>) -> Option<i32> {
    let (tool, name) = (tool()?, text(name));
    // SAFETY: functions of the tool, called with a name that they copy.
    Some(unsafe {
        match (tool.push_ex, color) {
            (Some(push), Some(color)) => push(&Attributes::new(&name, color)),
            _ => (tool.push)(name.as_ptr()),
        }
    })
}

/// Ends the innermost range of the calling thread. Returns its depth.
pub fn pop() -> Option<i32> {
    // SAFETY: a function of the tool without arguments.
    tool().map(|tool| unsafe { (tool.pop)() })
}

/// Marks a moment.
pub fn mark(name: &str, color: Option<u32>) {
    let Some(tool) = tool() else { return };
    let name = text(name);
    // SAFETY: functions of the tool, called with a name that they copy.
    unsafe {
        match (tool.mark_ex, color, tool.mark) {
            (Some(mark), Some(color), _) => mark(&Attributes::new(&name, color)),
            (.., Some(mark)) => mark(name.as_ptr()),
            _ => {}
        }
    }
}

/// Begins a range that any thread may end. Returns its number if a tool is attached.
pub fn start(name: &str, color: Option<u32>) -> Option<u64> {
    let (tool, name) = (tool()?, text(name));
    // SAFETY: functions of the tool, called with a name that they copy.
    unsafe {
        match (tool.start_ex, color, tool.start) {
            (Some(start), Some(color), _) => Some(start(&Attributes::new(&name, color))),
            (.., Some(start)) => Some(start(name.as_ptr())),
            _ => None,
        }
    }
}

/// Ends a range that [`start`] began.
pub fn end(range: u64) {
    if let Some(end) = tool().and_then(|tool| tool.end) {
        // SAFETY: a function of the tool, called with a number.
        unsafe { end(range) };
    }
}
