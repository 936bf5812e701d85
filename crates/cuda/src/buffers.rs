//! Memory that a device hands out: blocks of its pool, blocks filled from the host, and page-locked host memory.

use std::sync::Arc;

use cuprous_core::profile::Kind;
use cuprous_core::{Buffer, Memory};

use crate::driver::{self, DevPtr};
use crate::error::Result;
use crate::gpu::{Gpu, get_or_create, lock};
use crate::staging::CopyStream;

/// A block of a device's pool.
pub(crate) struct Block {
    pub(crate) gpu: Arc<Gpu>,
    pub(crate) address: DevPtr,
    pub(crate) bytes: usize,
}

impl Memory for Block {
    fn address(&self) -> u64 {
        self.address.0
    }
    fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        self.gpu.free(self.address);
    }
}

/// A block that was filled by the copy stream. When dropped, it waits for the next copy instead of going back to the
/// pool.
struct UploadedBlock {
    block: Block,
    /// Its size in the pool.
    pool_bytes: u64,
}

impl Memory for UploadedBlock {
    fn address(&self) -> u64 {
        self.block.address()
    }
    fn bytes(&self) -> usize {
        self.block.bytes()
    }
}

impl Drop for UploadedBlock {
    fn drop(&mut self) {
        let Block { gpu, address, .. } = &mut self.block;
        let mut copies = lock(&gpu.copy_stream);
        let Some(copies) = copies.as_mut() else { return };
        if let Ok(evicted) = copies.recycle(*address, self.pool_bytes, &gpu.stream) {
            *address = DevPtr::NULL; // the copy stream owns it now
            evicted.into_iter().for_each(|address| gpu.free(address));
        }
    }
}

impl Gpu {
    /// Copies `from` into a new block on the copy stream. Returns once `from` was read, or, with `wait`, once the copy
    /// from page-locked memory is done.
    pub(crate) fn upload_block(self: &Arc<Gpu>, from: &[u8], wait: bool) -> Result<Buffer> {
        self.context.make_current()?;
        let mut staging = lock(&self.staging);
        let mut copies = lock(&self.copy_stream);
        let copies = get_or_create(&mut copies, || CopyStream::new(self.context))?;
        let want = from.len() as u64;
        let address = match copies.reuse(want)? {
            Some(address) => address,
            None => {
                let block = lock(&self.pool).alloc(want);
                let address = match block {
                    Err(error) if error.is_out_of_memory() => {
                        copies.take_all().into_iter().for_each(|address| self.free(address));
                        lock(&self.pool).alloc(want)?
                    }
                    block => block?,
                };
                copies.wait_for(&self.stream)?;
                address
            }
        };
        let mut copy = || -> Result<()> {
            let mut pinned = lock(&self.pinned);
            let page_locked = pinned.contains(from.as_ptr(), from.len());
            self.timed((Kind::Copy, want), copies.stream(), || {
                if page_locked {
                    // SAFETY: the block has that many bytes. Page-locked memory is not handed out again before its
                    // copies are done.
                    unsafe { driver::memcpy_htod_async(address, from.as_ptr(), from.len(), copies.stream())? };
                    pinned.record_read(from.as_ptr(), copies.stream())
                } else {
                    // SAFETY: the block has that many bytes. The slice outlives the call, which returns once it was
                    // read.
                    unsafe { staging.upload(address, from.as_ptr(), from.len(), copies.stream()) }
                }
            })?;
            copies.make_wait(&self.stream)?;
            self.mark_profile_gap();
            if wait && page_locked { copies.stream().synchronize() } else { Ok(()) }
        };
        if let Err(error) = copy() {
            self.free(address);
            return Err(error);
        }
        let pool_bytes = lock(&self.pool).block_bytes(address).unwrap_or(want);
        Ok(Arc::new(UploadedBlock { block: Block { gpu: self.clone(), address, bytes: from.len() }, pool_bytes }))
    }
}

/// Page-locked memory of the host.
pub(crate) struct PageLocked {
    pub(crate) gpu: Arc<Gpu>,
    pub(crate) address: u64,
    pub(crate) bytes: usize,
}

impl Memory for PageLocked {
    fn address(&self) -> u64 {
        self.address
    }
    fn bytes(&self) -> usize {
        self.bytes
    }
    fn is_page_locked(&self) -> bool {
        true
    }
}

impl Drop for PageLocked {
    fn drop(&mut self) {
        lock(&self.gpu.pinned).free(self.address);
    }
}
