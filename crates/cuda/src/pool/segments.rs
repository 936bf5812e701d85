//! The source of the pool's memory.

use crate::driver::{Context, DevPtr, mem_alloc, mem_free, mem_info};
use crate::error::Result;

/// Allocates and releases large pieces of memory.
pub trait SegmentSource {
    /// Allocates a piece of `bytes` bytes. Its address is a multiple of 512.
    ///
    /// # Errors
    /// Out of memory (`is_out_of_memory` returns true), or another failure.
    fn allocate(&mut self, bytes: u64) -> Result<u64>;

    /// Releases a piece once the work that uses it is done.
    ///
    /// # Errors
    /// The driver fails.
    fn release(&mut self, address: u64, bytes: u64) -> Result<()>;

    /// Returns the bytes of memory in total.
    ///
    /// # Errors
    /// The driver fails.
    fn capacity(&self) -> Result<u64>;
}

/// A device's memory from `cuMemAlloc`. It is visible to every stream and library, and `cuMemFree` waits for pending
/// work.
#[derive(Debug)]
pub struct DeviceSegments {
    context: &'static Context,
}

impl DeviceSegments {
    /// The memory of a device.
    #[must_use]
    pub fn new(context: &'static Context) -> Self {
        DeviceSegments { context }
    }
}

impl SegmentSource for DeviceSegments {
    fn allocate(&mut self, bytes: u64) -> Result<u64> {
        mem_alloc(self.context, bytes as usize).map(|address| address.0)
    }

    fn release(&mut self, address: u64, _bytes: u64) -> Result<()> {
        // SAFETY: the pool releases each segment once, when none of its blocks is in use.
        unsafe { mem_free(self.context, DevPtr(address)) }
    }

    fn capacity(&self) -> Result<u64> {
        mem_info(self.context).map(|(_, total)| total)
    }
}
