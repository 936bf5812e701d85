//! Device memory, pinned host memory and copies.

use std::ffi::c_void;
use std::fmt;

use super::context::{Context, enter, for_drop};
use super::stream::Stream;
use super::{api, call};
use crate::error::Result;

/// An address in device memory; 0 is null. It does not own the memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct DevPtr(pub u64);

impl DevPtr {
    /// The null address.
    pub const NULL: DevPtr = DevPtr(0);

    /// Returns true if the address is null.
    #[must_use]
    pub const fn is_null(self) -> bool {
        self.0 == 0
    }

    /// Returns the address plus `bytes`.
    #[must_use]
    pub const fn offset(self, bytes: i64) -> DevPtr {
        DevPtr(self.0.wrapping_add_signed(bytes))
    }
}

impl fmt::LowerHex for DevPtr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::LowerHex::fmt(&self.0, f)
    }
}

/// Allocates device memory directly from the driver. Other code uses the pool.
///
/// # Errors
/// Out of memory, or the driver fails.
pub fn mem_alloc(context: &'static Context, bytes: usize) -> Result<DevPtr> {
    let api = enter(context)?;
    let mut address = 0;
    // SAFETY: the call writes one address; the context is current.
    unsafe { call!(api, cuMemAlloc_v2(&raw mut address, bytes)) }?;
    Ok(DevPtr(address))
}

/// Frees memory of `mem_alloc`. Waits for the device's pending work.
///
/// # Errors
/// The driver fails, or earlier work did.
///
/// # Safety
/// The address must come from `mem_alloc` in this context and must not be used again.
pub unsafe fn mem_free(context: &'static Context, address: DevPtr) -> Result<()> {
    let api = enter(context)?;
    // SAFETY: the caller vouches for the address.
    unsafe { call!(api, cuMemFree_v2(address.0)) }
}

/// Returns the free and the total bytes of the device's memory.
///
/// # Errors
/// The driver fails.
pub fn mem_info(context: &'static Context) -> Result<(u64, u64)> {
    let api = enter(context)?;
    let (mut free, mut total) = (0, 0);
    // SAFETY: the call writes two sizes; the context is current.
    unsafe { call!(api, cuMemGetInfo_v2(&raw mut free, &raw mut total)) }?;
    Ok((free as u64, total as u64))
}

/// Submits a copy from the host. Returns at once if the source is pinned memory. If it is pageable, the driver has read
/// it when this returns.
///
/// # Errors
/// The driver fails, or earlier work did.
///
/// # Safety
/// Both ranges must be valid. A pinned source must stay unchanged until the copy is done.
pub unsafe fn memcpy_htod_async(to: DevPtr, from: *const u8, bytes: usize, stream: &Stream) -> Result<()> {
    let api = api()?;
    // SAFETY: the caller vouches for the ranges.
    unsafe { call!(api, cuMemcpyHtoDAsync_v2(to.0, from.cast::<c_void>(), bytes, stream.raw())) }
}

/// Submits a copy to the host. The data is valid once the stream has done the copy.
///
/// # Errors
/// The driver fails, or earlier work did.
///
/// # Safety
/// Both ranges must be valid, and the target must not be used until then.
pub unsafe fn memcpy_dtoh_async(to: *mut u8, from: DevPtr, bytes: usize, stream: &Stream) -> Result<()> {
    let api = api()?;
    // SAFETY: the caller vouches for the ranges.
    unsafe { call!(api, cuMemcpyDtoHAsync_v2(to.cast::<c_void>(), from.0, bytes, stream.raw())) }
}

/// Submits a copy within the device. The ranges must not overlap.
///
/// # Errors
/// The driver fails, or earlier work did.
///
/// # Safety
/// Both ranges must be live allocations.
pub unsafe fn memcpy_dtod_async(to: DevPtr, from: DevPtr, bytes: usize, stream: &Stream) -> Result<()> {
    let api = api()?;
    // SAFETY: the caller vouches for the ranges.
    unsafe { call!(api, cuMemcpyDtoDAsync_v2(to.0, from.0, bytes, stream.raw())) }
}

/// Submits a fill of `bytes` bytes with one value.
///
/// # Errors
/// The driver fails, or earlier work did.
///
/// # Safety
/// The range must be a live allocation.
pub unsafe fn memset_async(to: DevPtr, value: u8, bytes: usize, stream: &Stream) -> Result<()> {
    let api = api()?;
    // SAFETY: the caller vouches for the range.
    unsafe { call!(api, cuMemsetD8Async(to.0, value, bytes, stream.raw())) }
}

/// Page-locked host memory, fast to read back (not write-combined) and usable from every context.
#[derive(Debug)]
pub struct PinnedBuffer {
    start: *mut u8,
    bytes: usize,
    context: &'static Context,
}

// SAFETY: plain memory owned by this value. It is accessed through raw pointers, whose users ensure the order.
unsafe impl Send for PinnedBuffer {}
// SAFETY: plain memory owned by this value. It is accessed through raw pointers, whose users ensure the order.
unsafe impl Sync for PinnedBuffer {}

impl PinnedBuffer {
    /// Allocates `bytes` bytes of page-locked memory. Costs about 0.04 ms per MiB.
    ///
    /// # Errors
    /// The host is out of memory, or the driver fails.
    pub fn new(context: &'static Context, bytes: usize) -> Result<PinnedBuffer> {
        const PORTABLE: u32 = 1;
        let api = enter(context)?;
        let mut start: *mut c_void = std::ptr::null_mut();
        // SAFETY: the call writes one pointer; the context is current.
        unsafe { call!(api, cuMemHostAlloc(&raw mut start, bytes, PORTABLE)) }?;
        Ok(PinnedBuffer { start: start.cast::<u8>(), bytes, context })
    }

    /// Returns the address of the first byte.
    #[must_use]
    pub fn as_ptr(&self) -> *mut u8 {
        self.start
    }

    /// Returns the size in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Returns true if the size is zero.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }
}

impl Drop for PinnedBuffer {
    fn drop(&mut self) {
        if let Some(api) = for_drop(self.context) {
            // SAFETY: the memory is owned by this value. The driver waits for running copies.
            let _at_worst_leaked = unsafe { call!(api, cuMemFreeHost(self.start.cast::<c_void>())) };
        }
    }
}
