//! Modules, functions, arguments and launches.

use std::ffi::{CStr, c_void};

use cuprous_cuda_sys::driver::{CUfunction, CUfunction_attribute as Attribute, CUmodule};

use super::context::{Context, enter, for_drop};
use super::stream::Stream;
use super::{DevPtr, api, call};
use crate::error::Result;

/// Loaded device code. Its functions must not be launched after it was dropped.
#[derive(Debug)]
pub struct Module {
    raw: CUmodule,
    context: &'static Context,
}

// SAFETY: a module handle may be used from any thread.
unsafe impl Send for Module {}
// SAFETY: a module handle may be used from any thread, and the struct never changes.
unsafe impl Sync for Module {}

impl Module {
    /// Loads a cubin.
    ///
    /// # Errors
    /// The image is not for this device, or the driver fails.
    pub fn load(context: &'static Context, cubin: &[u8]) -> Result<Module> {
        let api = enter(context)?;
        // The driver reads a cubin's length from its header. ELF requires 8-byte alignment, and PTX a zero at the end.
        let mut image = vec![0u64; cubin.len() / 8 + 1];
        // SAFETY: the copy has room for all bytes; the regions do not overlap.
        unsafe { std::ptr::copy_nonoverlapping(cubin.as_ptr(), image.as_mut_ptr().cast::<u8>(), cubin.len()) };
        let mut raw: CUmodule = std::ptr::null_mut();
        // SAFETY: the image lives through the call, which copies what it needs.
        unsafe { call!(api, cuModuleLoadData(&raw mut raw, image.as_ptr().cast::<c_void>())) }?;
        Ok(Module { raw, context })
    }

    /// Returns the driver's handle as a number, for other libraries.
    #[must_use]
    pub fn handle(&self) -> u64 {
        self.raw as u64
    }

    /// Returns a kernel by its (mangled) name.
    ///
    /// # Errors
    /// The module has no such kernel.
    pub fn function(&self, name: &CStr) -> Result<Function> {
        let api = enter(self.context)?;
        let mut raw: CUfunction = std::ptr::null_mut();
        // SAFETY: the call writes one handle; the name ends in a zero.
        unsafe { call!(api, cuModuleGetFunction(&raw mut raw, self.raw, name.as_ptr())) }?;
        Ok(Function { raw })
    }

    /// Returns the address and the size in bytes of a global or constant variable.
    ///
    /// # Errors
    /// The module has no such variable.
    pub fn global(&self, name: &CStr) -> Result<(DevPtr, usize)> {
        let api = enter(self.context)?;
        let (mut address, mut bytes) = (0, 0);
        // SAFETY: the call writes an address and a size; the name ends in a zero.
        unsafe { call!(api, cuModuleGetGlobal_v2(&raw mut address, &raw mut bytes, self.raw, name.as_ptr())) }?;
        Ok((DevPtr(address), bytes))
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        if let Some(api) = for_drop(self.context) {
            // SAFETY: the handle is owned by this value, and no function of a dropped module may be used.
            let _at_worst_leaked = unsafe { call!(api, cuModuleUnload(self.raw)) };
        }
    }
}

/// A kernel. Valid as long as its module.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Function {
    raw: CUfunction,
}

// SAFETY: a function handle may be used from any thread.
unsafe impl Send for Function {}
// SAFETY: a function handle may be used from any thread.
unsafe impl Sync for Function {}

/// The resources that a kernel uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FunctionInfo {
    /// Registers per thread.
    pub registers: u32,
    /// Static shared memory in bytes.
    pub static_shared: u32,
    /// Local memory per thread in bytes: spills and arrays.
    pub local: u32,
    /// Threads per block at most.
    pub max_threads: u32,
    /// Static constant memory in bytes.
    pub constant: u32,
}

/// The configuration of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LaunchShape {
    /// The number of blocks along each axis.
    pub grid: [u32; 3],
    /// The number of threads per block along each axis.
    pub block: [u32; 3],
    /// Dynamic shared memory per block in bytes.
    pub shared: u32,
}

impl LaunchShape {
    /// Returns a one-dimensional shape without dynamic shared memory.
    #[must_use]
    pub const fn linear(blocks: u32, threads: u32) -> Self {
        LaunchShape { grid: [blocks, 1, 1], block: [threads, 1, 1], shared: 0 }
    }
}

impl Function {
    /// Returns the driver's handle.
    #[must_use]
    pub fn raw(self) -> CUfunction {
        self.raw
    }

    /// Returns the resources that the kernel uses.
    ///
    /// # Errors
    /// The driver fails.
    pub fn info(self) -> Result<FunctionInfo> {
        let api = api()?;
        let get = |attribute: Attribute| -> Result<u32> {
            let mut value = 0;
            // SAFETY: the call writes one int; the handle is valid as long as its module.
            unsafe { call!(api, cuFuncGetAttribute(&raw mut value, attribute, self.raw)) }?;
            Ok(value.unsigned_abs())
        };
        Ok(FunctionInfo {
            registers: get(Attribute::CU_FUNC_ATTRIBUTE_NUM_REGS)?,
            static_shared: get(Attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?,
            local: get(Attribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)?,
            max_threads: get(Attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
            constant: get(Attribute::CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES)?,
        })
    }

    /// Allows launches with `bytes` bytes of dynamic shared memory. Never lowers the limit. Needed above 48 KiB.
    ///
    /// # Errors
    /// More than `DeviceInfo::shared_per_block_optin` less the static part.
    pub fn set_max_dynamic_shared(self, bytes: u32) -> Result<()> {
        let api = api()?;
        let bytes = i32::try_from(bytes).unwrap_or(i32::MAX);
        let attribute = Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        let mut allowed = 0;
        // SAFETY: the call writes one int; the handle is valid as long as its module.
        unsafe { call!(api, cuFuncGetAttribute(&raw mut allowed, attribute, self.raw)) }?;
        if allowed >= bytes {
            return Ok(());
        }
        // SAFETY: the handle is valid as long as its module.
        unsafe { call!(api, cuFuncSetAttribute(self.raw, attribute, bytes)) }
    }

    /// Returns how many blocks of `threads` threads and `shared` bytes of dynamic shared memory a multiprocessor runs
    /// at once.
    ///
    /// # Errors
    /// The driver fails.
    pub fn max_blocks_per_sm(self, threads: u32, shared: u32) -> Result<u32> {
        let api = api()?;
        let mut blocks = 0;
        let threads = i32::try_from(threads).unwrap_or(i32::MAX);
        // SAFETY: the call writes one int; the handle is valid as long as its module.
        unsafe {
            call!(api, cuOccupancyMaxActiveBlocksPerMultiprocessor(&raw mut blocks, self.raw, threads, shared as usize))
        }?;
        Ok(blocks.unsigned_abs())
    }

    /// Submits the kernel. `args` holds a pointer to each argument's value, which the driver copies before returning.
    ///
    /// # Errors
    /// The shape is beyond the device's limits, or earlier work failed.
    ///
    /// # Safety
    /// The arguments must be what the kernel's signature says, the stream's context current, and the kernel's memory
    /// accesses within live allocations.
    #[inline]
    pub unsafe fn launch(self, shape: &LaunchShape, stream: &Stream, args: &mut [*mut c_void]) -> Result<()> {
        let api = api()?;
        let LaunchShape { grid, block, shared } = *shape;
        // SAFETY: the caller vouches for the arguments; the handles are valid while their owners live.
        unsafe {
            call!(
                api,
                cuLaunchKernel(
                    self.raw,
                    grid[0],
                    grid[1],
                    grid[2],
                    block[0],
                    block[1],
                    block[2],
                    shared,
                    stream.raw(),
                    args.as_mut_ptr(),
                    std::ptr::null_mut(),
                )
            )
        }
    }
}

impl Function {
    /// Submits the kernel with all blocks running at the same time.
    ///
    /// # Errors
    /// The blocks do not all fit on the device, or the errors of [`Function::launch`].
    ///
    /// # Safety
    /// The requirements of [`Function::launch`].
    pub unsafe fn launch_cooperative(
        self,
        shape: &LaunchShape,
        stream: &Stream,
        args: &mut [*mut c_void],
    ) -> Result<()> {
        let api = api()?;
        let LaunchShape { grid: [gx, gy, gz], block: [bx, by, bz], shared } = *shape;
        let args = args.as_mut_ptr();
        // SAFETY: the caller vouches for the arguments; the handles are valid while their owners live.
        unsafe { call!(api, cuLaunchCooperativeKernel(self.raw, gx, gy, gz, bx, by, bz, shared, stream.raw(), args)) }
    }
}

/// The values of a kernel's arguments. The driver takes a pointer to each, so gaps between them do not matter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ArgBlock {
    words: Vec<u64>,
    /// The offset of each argument in bytes.
    starts: Vec<u32>,
}

impl ArgBlock {
    /// Returns a block without arguments.
    #[must_use]
    pub fn new() -> Self {
        ArgBlock::default()
    }

    /// Returns a block of `bytes` zero bytes with arguments at the offsets `starts`.
    #[must_use]
    pub fn packed(starts: &[u32], bytes: usize) -> Self {
        ArgBlock { words: vec![0; bytes.div_ceil(8)], starts: starts.to_vec() }
    }

    /// Replaces the contents of the block.
    ///
    /// # Panics
    /// `bytes` is longer than the block.
    pub fn fill(&mut self, bytes: &[u8]) {
        for (slot, part) in self.words[..bytes.len().div_ceil(8)].iter_mut().zip(bytes.chunks(8)) {
            let mut word = [0; 8];
            word[..part.len()].copy_from_slice(part);
            *slot = u64::from_ne_bytes(word);
        }
    }

    /// Writes an address at an offset that is a multiple of 8.
    ///
    /// # Panics
    /// The offset is beyond the block.
    pub fn put_address(&mut self, at: usize, address: u64) {
        self.words[at / 8] = address;
    }

    /// Adds an argument, given by its bytes in the layout of the device. Its offset is a multiple of 8.
    pub fn push_bytes(&mut self, value: &[u8]) {
        self.starts.push(8 * self.words.len() as u32);
        for part in value.chunks(8) {
            let mut word = [0; 8];
            word[..part.len()].copy_from_slice(part);
            self.words.push(u64::from_ne_bytes(word));
        }
    }

    /// Adds an address.
    pub fn push_ptr(&mut self, ptr: DevPtr) {
        self.push_bytes(&ptr.0.to_ne_bytes());
    }

    /// Replaces the bytes of an argument. The length must be the argument's.
    ///
    /// # Panics
    /// The argument does not exist, or the number of 64-bit words differs.
    pub fn set_bytes(&mut self, index: usize, value: &[u8]) {
        let start = self.starts[index] as usize / 8;
        let end = self.starts.get(index + 1).map_or(self.words.len(), |&next| next as usize / 8);
        assert_eq!(value.len().div_ceil(8), end - start, "argument {index} has another size");
        for (slot, part) in self.words[start..end].iter_mut().zip(value.chunks(8)) {
            let mut word = [0; 8];
            word[..part.len()].copy_from_slice(part);
            *slot = u64::from_ne_bytes(word);
        }
    }

    /// Removes all arguments and keeps the memory.
    pub fn clear(&mut self) {
        self.words.clear();
        self.starts.clear();
    }

    /// Returns the number of arguments.
    #[must_use]
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// Returns true if there are no arguments.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// Writes a pointer to each argument to `out`, for `Function::launch`. The pointers are valid until the block
    /// changes.
    pub fn pointers(&mut self, out: &mut Vec<*mut c_void>) {
        out.clear();
        let base = self.words.as_mut_ptr().cast::<u8>();
        // `wrapping_add`: an empty argument at the end points one past the last word.
        out.extend(self.starts.iter().map(|&start| base.wrapping_add(start as usize).cast::<c_void>()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_keep_their_bytes_and_can_be_replaced() {
        let mut args = ArgBlock::new();
        args.push_ptr(DevPtr(0x1234_5678_9abc_def0));
        args.push_bytes(&7i32.to_ne_bytes());
        args.push_bytes(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
        args.set_bytes(1, &(-9i32).to_ne_bytes());
        let mut pointers = Vec::new();
        args.pointers(&mut pointers);
        assert_eq!(pointers.len(), args.len());
        // SAFETY: each pointer leads to the value pushed, aligned on 8 bytes.
        unsafe {
            assert_eq!(*pointers[0].cast::<u64>(), 0x1234_5678_9abc_def0);
            assert_eq!(*pointers[1].cast::<i32>(), -9);
            assert_eq!(*pointers[2].cast::<[u8; 12]>(), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
        }
    }
}
