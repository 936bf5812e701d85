//! Where the pool's memory comes from.

use crate::driver::{Context, DevPtr, mem_alloc, mem_free, mem_info};
use crate::error::Result;

/// Gives and takes large pieces of memory.
pub trait SegmentSource {
    /// A piece of `bytes` bytes; its address is a multiple of 512.
    ///
    /// # Errors
    /// An error for which `is_out_of_memory` holds, or another failure.
    fn allocate(&mut self, bytes: u64) -> Result<u64>;

    /// Takes a piece back, once the work that uses it is done.
    ///
    /// # Errors
    /// The driver fails.
    fn release(&mut self, address: u64, bytes: u64) -> Result<()>;

    /// The memory that there is in all.
    ///
    /// # Errors
    /// The driver fails.
    fn capacity(&self) -> Result<u64>;
}

/// A device's memory by `cuMemAlloc`: visible to every stream and library, and `cuMemFree` waits for pending work.
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
        // SAFETY: the pool hands each segment back once, with no block of it in use.
        unsafe { mem_free(self.context, DevPtr(address)) }
    }

    fn capacity(&self) -> Result<u64> {
        mem_info(self.context).map(|(_, total)| total)
    }
}
