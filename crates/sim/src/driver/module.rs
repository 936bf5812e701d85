//! Modules, which are libraries of the process, their kernels, and launches.

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::sync::Arc;

use cuprous_cuda_sys::driver::{
    CUdeviceptr, CUfunction, CUfunction_attribute as Attribute, CUjit_option, CUjitInputType, CUlinkState, CUmodule,
};

use super::device::{SHARED, THREADS_PER_SM};
use super::{INVALID_HANDLE, INVALID_IMAGE, INVALID_VALUE, NOT_FOUND, NOT_SUPPORTED, Outcome, State, functions, put};
use crate::executor::{self, Call, Dim, Position, SERVICES, Services};
use crate::images;
use crate::settings::settings;

/// A source in a loaded library; closed when the last launch of its kernels is done.
pub(crate) struct Module {
    library: *mut c_void,
    /// Its position among the sources of the library, and its namespace.
    index: usize,
    space: String,
    position: unsafe extern "C" fn() -> *mut Position,
}

// SAFETY: the library's handle and functions may be used from any thread.
unsafe impl Send for Module {}
// SAFETY: as above, and the struct never changes.
unsafe impl Sync for Module {}

impl Drop for Module {
    fn drop(&mut self) {
        // SAFETY: opened by this value, and none of its code runs.
        unsafe { libc::dlclose(self.library) };
    }
}

/// `sim::kernel` of device.h.
#[repr(C)]
struct Description {
    call: Call,
    count: u32,
    sizes: *const u32,
}

/// A kernel of a module.
#[derive(Clone)]
pub(crate) struct Function {
    module: Arc<Module>,
    name: Arc<str>,
    call: Call,
    sizes: Arc<[u32]>,
    /// Dynamic shared memory that launches may have.
    max_dynamic: c_int,
}

/// A launch with copies of its arguments.
#[derive(Clone)]
pub(crate) struct Launch {
    function: Function,
    grid: Dim,
    block: Dim,
    dynamic: u32,
    arguments: Arc<Vec<Vec<u64>>>,
    cooperative: bool,
}

impl Module {
    fn load(image: *const c_void) -> Outcome<Module> {
        let report = |why: String| {
            eprintln!("[simulator] {why}");
            INVALID_IMAGE
        };
        // SAFETY: the driver's function requires an image.
        let source = unsafe { images::source(image.cast()) }.ok_or(INVALID_IMAGE)?;
        let (file, index) = images::locate(&source).map_err(report)?;
        let path = CString::new(file.as_os_str().as_encoded_bytes()).map_err(|_| INVALID_IMAGE)?;
        // SAFETY: the library was made by this simulator's compiler; its initializers have no requirements.
        let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if library.is_null() {
            // SAFETY: an error was set by the call before.
            return Err(report(unsafe { CStr::from_ptr(libc::dlerror()) }.to_string_lossy().into_owned()));
        }
        let start = symbol(library, c"sim_start").ok_or(INVALID_IMAGE)?;
        let position = symbol(library, c"sim_position").ok_or(INVALID_IMAGE)?;
        // SAFETY: device.h defines both functions with these types.
        unsafe {
            let start: unsafe extern "C" fn(*const Services) = std::mem::transmute(start);
            start(&raw const SERVICES);
            let position = std::mem::transmute::<*mut c_void, unsafe extern "C" fn() -> *mut Position>(position);
            Ok(Module { library, index, space: source.space(index), position })
        }
    }

    /// Returns the description of a kernel.
    fn kernel(&self, name: &str) -> Outcome<*const Description> {
        let name = CString::new(format!("sim{}_{name}", self.index)).map_err(|_| INVALID_VALUE)?;
        symbol(self.library, &name).map(|found| found.cast_const().cast()).ok_or(NOT_FOUND)
    }

    /// Returns the address of a variable.
    fn variable(&self, name: &str) -> Outcome<*mut c_void> {
        let Module { space, .. } = self;
        // As the C++ ABI for Linux writes names in a namespace.
        let mangled = format!("_ZN{}{space}{}{name}E", space.len(), name.len());
        let exported = CString::new(if space.is_empty() { name.to_owned() } else { mangled });
        symbol(self.library, &exported.map_err(|_| INVALID_VALUE)?).ok_or(NOT_FOUND)
    }

    /// Returns true if the address lies in one of the module's variables.
    pub(crate) fn contains(&self, at: u64) -> bool {
        owner(at as *const c_void).is_some_and(|base| Some(base) == owner(self.position as *const c_void))
    }
}

fn symbol(library: *mut c_void, name: &CStr) -> Option<*mut c_void> {
    // SAFETY: the library is open and the name ends in a zero.
    let found = unsafe { libc::dlsym(library, name.as_ptr()) };
    (!found.is_null()).then_some(found)
}

/// Returns the address at which the library that contains an address is loaded.
fn owner(at: *const c_void) -> Option<usize> {
    // SAFETY: a plain C struct of pointers, for which zero is a value.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: the call only looks the address up.
    (unsafe { libc::dladdr(at, &raw mut info) } != 0).then_some(info.dli_fbase as usize)
}

/// The size of a symbol: `Elf64_Sym`.
#[repr(C)]
struct Symbol {
    name: u32,
    info: u8,
    other: u8,
    section: u16,
    value: u64,
    size: u64,
}

unsafe extern "C" {
    fn dladdr1(at: *const c_void, info: *mut libc::Dl_info, extra: *mut *mut c_void, flags: c_int) -> c_int;
}
const RTLD_DL_SYMENT: c_int = 1;

impl Launch {
    /// Copies the arguments of a launch and checks its shape.
    pub(crate) fn new(
        state: &State,
        function: CUfunction,
        [grid, block]: [[c_uint; 3]; 2],
        dynamic: c_uint,
        arguments: *mut *mut c_void,
        cooperative: bool,
    ) -> Outcome<Launch> {
        let function = state.functions.get(&(function as usize)).ok_or(INVALID_HANDLE)?.clone();
        let dim = |[x, y, z]: [c_uint; 3]| Dim { x, y, z };
        let (grid, block) = (dim(grid), dim(block));
        let fits = grid.count() > 0
            && grid.y <= 65535
            && grid.z <= 65535
            && (1..=1024).contains(&block.count())
            && block.z <= 64;
        let resident =
            u64::from(settings().sms) * u64::from(occupancy(block.count() as i32, dynamic as usize).unsigned_abs());
        if !fits || dynamic as c_int > function.max_dynamic || cooperative && grid.count() > resident {
            return Err(INVALID_VALUE);
        }
        let copy = |(k, &bytes): (usize, &u32)| {
            let mut words = vec![0u64; (bytes as usize).div_ceil(8).max(1)];
            // SAFETY: the caller passes as many addresses as the kernel has parameters, each of a value of its size.
            unsafe {
                std::ptr::copy_nonoverlapping(
                    (*arguments.add(k)).cast::<u8>(),
                    words.as_mut_ptr().cast(),
                    bytes as usize,
                )
            };
            words
        };
        let arguments = Arc::new(function.sizes.iter().enumerate().map(copy).collect());
        Ok(Launch { function, grid, block, dynamic, arguments, cooperative })
    }

    /// Returns the kernel's name.
    pub(crate) fn name(&self) -> &str {
        &self.function.name
    }

    pub(crate) fn run(&self) -> Result<(), String> {
        let arguments: Vec<*mut c_void> = self.arguments.iter().map(|words| words.as_ptr().cast_mut().cast()).collect();
        executor::run(&executor::Launch {
            name: &self.function.name,
            call: self.function.call,
            position: self.function.module.position,
            grid: self.grid,
            block: self.block,
            dynamic_bytes: self.dynamic,
            arguments: &arguments,
            cooperative: self.cooperative,
        })
    }

    /// Returns true if a graph's node for this launch may become one for the other.
    pub(crate) fn same_kernel(&self, other: &Launch) -> bool {
        self.function.name == other.function.name
    }
}

/// Returns the blocks of a multiprocessor.
fn occupancy(threads: c_int, dynamic: usize) -> c_int {
    let by_threads = THREADS_PER_SM / threads.max(1);
    // Few, so that the system runs the blocks of a cooperative launch at once.
    by_threads.min(SHARED[2] / (dynamic as c_int).max(1)).clamp(0, 2)
}

functions! {
    cuModuleLoadData(state, to: *mut CUmodule, image: *const c_void) {
        let module = Module::load(image)?;
        let handle = state.handle();
        state.modules.insert(handle, Arc::new(module));
        put(to, handle as CUmodule)
    }

    cuModuleUnload(state, module: CUmodule) {
        // Work may use the module's variables.
        state.drain_all()?;
        state.modules.remove(&(module as usize)).ok_or(INVALID_HANDLE)?;
        state.functions.retain(|_, function| Arc::strong_count(&function.module) > 1);
        Ok(())
    }

    cuModuleGetFunction(state, to: *mut CUfunction, module: CUmodule, name: *const c_char) {
        let module = state.modules.get(&(module as usize)).ok_or(INVALID_HANDLE)?.clone();
        // SAFETY: the caller passes a string.
        let name = unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned();
        let description = module.kernel(&name)?;
        // SAFETY: the compiler's text defines the symbol as a description, whose sizes are as many as it says.
        let (call, sizes) = unsafe {
            let Description { call, count, sizes } = &*description;
            (*call, std::slice::from_raw_parts(*sizes, *count as usize).into())
        };
        let handle = state.handle();
        state.functions.insert(handle, Function { module, name: name.into(), call, sizes, max_dynamic: SHARED[0] });
        put(to, handle as CUfunction)
    }

    cuModuleGetGlobal_v2(state, to: *mut CUdeviceptr, bytes: *mut usize, module: CUmodule, name: *const c_char) {
        let module = state.modules.get(&(module as usize)).ok_or(INVALID_HANDLE)?;
        // SAFETY: the caller passes a string.
        let name = unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned();
        let address = module.variable(&name)?;
        // SAFETY: a plain C struct of pointers, for which zero is a value.
        let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
        let mut entry: *mut c_void = std::ptr::null_mut();
        // SAFETY: the call looks the address up and writes the address of its symbol.
        let found = unsafe { dladdr1(address, &raw mut info, &raw mut entry, RTLD_DL_SYMENT) };
        if found == 0 || entry.is_null() {
            return Err(NOT_FOUND);
        }
        put(to, address as u64)?;
        // SAFETY: the entry is an ELF symbol of the open library.
        put(bytes, unsafe { (*entry.cast::<Symbol>()).size } as usize)
    }

    cuLinkCreate_v2(_state, _count: c_uint, _options: *mut CUjit_option, _values: *mut *mut c_void, _to: *mut CUlinkState) {
        Err(NOT_SUPPORTED)
    }

    cuLinkAddData_v2(
        _state, _link: CUlinkState, _kind: CUjitInputType, _data: *mut c_void, _size: usize, _name: *const c_char,
        _count: c_uint, _options: *mut CUjit_option, _values: *mut *mut c_void,
    ) {
        Err(NOT_SUPPORTED)
    }

    cuLinkComplete(_state, _link: CUlinkState, _to: *mut *mut c_void, _size: *mut usize) {
        Err(NOT_SUPPORTED)
    }

    cuLinkDestroy(_state, _link: CUlinkState) {
        Err(NOT_SUPPORTED)
    }

    cuFuncGetAttribute(state, to: *mut c_int, attribute: Attribute, function: CUfunction) {
        let function = state.functions.get(&(function as usize)).ok_or(INVALID_HANDLE)?;
        let value = match attribute {
            Attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK => 1024,
            Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES => function.max_dynamic,
            Attribute::CU_FUNC_ATTRIBUTE_NUM_REGS => 32,
            Attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES
            | Attribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES
            | Attribute::CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES => 0,
            _ => return Err(INVALID_VALUE),
        };
        put(to, value)
    }

    cuFuncSetAttribute(state, function: CUfunction, attribute: Attribute, value: c_int) {
        let function = state.functions.get_mut(&(function as usize)).ok_or(INVALID_HANDLE)?;
        if attribute != Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES || value > SHARED[1] {
            return Err(INVALID_VALUE);
        }
        function.max_dynamic = value;
        Ok(())
    }

    cuOccupancyMaxActiveBlocksPerMultiprocessor(state, to: *mut c_int, function: CUfunction, threads: c_int, dynamic: usize) {
        state.functions.get(&(function as usize)).ok_or(INVALID_HANDLE)?;
        put(to, occupancy(threads, dynamic))
    }
}
