//! Memory of arrays: allocation, copies to and from the host and other devices, sharing with code outside.

use std::ops::Range;
use std::sync::Arc;

use cuprous_core::error::ErrorKind;
use cuprous_core::layout::show;
use cuprous_core::profile::{self, Kind};
use cuprous_core::{Access, Array, Buffer, DType, Error, Layout, Result, SharedGuard, Storage};

use super::cache::lost_value;
use super::elementwise::Operand;
use super::state::State;
use super::{BIG_WORK, Engine, capture_location, program_span};
use crate::device;

/// Recorded work after which a read waits before it submits its copy, so that an interrupt can end the wait: 1 ms of an
/// H200. After less work the copy is submitted at once, because submitting it later delays the read by some
/// microseconds.
const LONG_WORK: u64 = 64 * BIG_WORK;
impl Engine {
    /// Returns the memory of a storage after submitting everything recorded for it.
    ///
    /// # Errors
    /// A program failed, or the value was given up.
    pub fn realize(self: &Arc<Engine>, storage: &Arc<Storage>) -> Result<Buffer> {
        capture_location();
        let mut state = self.enter()?;
        if storage.is_external() {
            storage.wait_for_external()?;
        }
        self.submitted(&mut state, storage)
    }

    /// Returns the memory of a storage for reading, after submitting everything recorded for it.
    fn memory(&self, state: &mut State, storage: &Storage) -> Result<Buffer> {
        if storage.is_external() {
            storage.wait_for_writers()?;
        }
        self.submitted(state, storage)
    }

    /// Returns the memory of a storage after submitting everything recorded for it, without waiting for code outside.
    fn submitted(&self, state: &mut State, storage: &Storage) -> Result<Buffer> {
        self.check_storage(storage)?;
        // SAFETY: the caller has the state, so the lock is held.
        if let Some(head) = unsafe { storage.latest_version() } {
            self.run_tape(state, head.tape)?;
        }
        // SAFETY: the caller has the state, so the lock is held.
        unsafe { storage.buffer() }.ok_or_else(lost_value)
    }

    /// Returns what `read` returns for the memory of a storage, or `None` if something is pending for it.
    pub fn peek<R>(&self, storage: &Storage, read: impl FnOnce(&Buffer) -> R) -> Option<R> {
        self.check_storage(storage).ok()?;
        let _state = self.enter().ok()?;
        // SAFETY: the lock is held.
        let buffer = unsafe { storage.latest_version().is_none().then(|| storage.buffer()) };
        if storage.is_external() {
            storage.wait_for_writers().ok()?;
        }
        buffer.flatten().as_ref().map(read)
    }

    /// Returns the memory of a storage, marked as shared with code outside the engine forever. See [`Engine::lend`].
    ///
    /// # Errors
    /// As for [`Engine::lend`].
    pub fn export(self: &Arc<Engine>, storage: &Arc<Storage>) -> Result<Buffer> {
        let (buffer, _loan) = self.lend(storage)?;
        storage.share();
        Ok(buffer)
    }

    /// Returns the memory of a storage, marked as shared with code outside the engine until the loan is dropped.
    /// Everything recorded before is submitted first, so that it reads the present contents.
    ///
    /// # Errors
    /// Arrays have no addresses on the device, or a program failed.
    pub fn lend(self: &Arc<Engine>, storage: &Arc<Storage>) -> Result<(Buffer, SharedGuard)> {
        self.lend_after(storage, Storage::wait_for_external)
    }

    /// Lends a storage as [`Engine::lend`] does, after waiting for what `wait` waits for if it is lent already.
    fn lend_after(
        self: &Arc<Engine>,
        storage: &Arc<Storage>,
        wait: impl FnOnce(&Storage) -> Result<()>,
    ) -> Result<(Buffer, SharedGuard)> {
        if !self.device.has_addresses() {
            return Err(device::no_addresses());
        }
        capture_location();
        let mut state = self.enter()?;
        if storage.is_external() {
            wait(storage)?;
        } else {
            for tape in 0..state.tapes.len() as u32 {
                self.run_tape(&mut state, tape)?;
            }
        }
        let buffer = self.submitted(&mut state, storage)?;
        state.programs.forget_early();
        // The lock is still held, so that no other thread records work on the memory in between.
        Ok((buffer, storage.share_scoped()))
    }

    /// Returns the memory of a C-contiguous array for work outside the engine, as [`Engine::lend`] does, and its place in
    /// the storage in bytes. Other work may use the memory meanwhile if it does not conflict. If this work `writes`, the
    /// contents are copied first where the backward pass still needs them. [`SharedGuard::during`] makes operations on
    /// the storage wait for the work.
    ///
    /// # Errors
    /// As for [`Engine::lend`].
    pub fn lend_to_work(self: &Arc<Engine>, a: &Array, access: Access) -> Result<(Buffer, SharedGuard, Range<usize>)> {
        if access == Access::Writes {
            self.preserve(a)?;
        }
        let start = a.layout.offset as usize * a.dtype().size();
        let bytes = start..start + a.layout.size as usize * a.dtype().size();
        let (buffer, guard) = self.lend_after(&a.storage, |storage| storage.wait_for(access, bytes.clone()))?;
        Ok((buffer, guard, bytes))
    }

    /// Replaces the memory of a storage by that of another one, which the caller drops; `None` frees it, and reading the
    /// storage is an error until it is replaced. This is not a write: what the backward pass saved of the storage stays
    /// saved, so the new contents must be the old ones.
    ///
    /// # Errors
    /// The sizes differ, the memory is shared with code outside the engine, or a program failed.
    pub fn replace_memory(&self, storage: &Storage, other: Option<&Storage>) -> Result<()> {
        capture_location();
        let mut state = self.enter()?;
        for tape in 0..state.tapes.len() as u32 {
            self.run_tape(&mut state, tape)?;
        }
        if storage.is_external() || other.is_some_and(|other| other.bytes != storage.bytes) {
            return Err(Error::runtime("cannot replace memory that is shared, or by memory of another size"));
        }
        let memory = other.map(|other| self.memory(&mut state, other)).transpose()?;
        state.programs.forget_early();
        // SAFETY: the lock is held, and every program has been submitted, which holds its memory itself.
        unsafe {
            match memory {
                Some(memory) => storage.set_buffer(memory),
                None => storage.discard(),
            }
        }
        Ok(())
    }

    /// Allocates memory. If there is no room, cached programs and free blocks are dropped first.
    ///
    /// # Errors
    /// It does not fit.
    pub fn alloc(&self, bytes: usize) -> Result<Buffer> {
        match self.device.alloc(bytes) {
            Err(e) if e.kind == ErrorKind::Memory => {
                self.trim();
                self.device.alloc(bytes)
            }
            got => got,
        }
    }

    /// Returns an array of uninitialized memory.
    ///
    /// # Errors
    /// It does not fit.
    pub fn empty(&self, dtype: DType, shape: &[i64]) -> Result<Array> {
        let layout = Layout::try_contiguous(dtype, shape)?;
        let bytes = layout.size as usize * dtype.size();
        let storage = Storage::ready(self.alloc(bytes)?, self.id);
        Ok(Array { storage: Arc::new(storage), layout })
    }

    /// Copies host bytes in C order to a new array.
    ///
    /// # Errors
    /// The number of bytes does not fit the shape, or there is no room.
    pub fn upload(&self, bytes: &[u8], dtype: DType, shape: &[i64]) -> Result<Array> {
        self.upload_array(bytes, dtype, shape, true)
    }

    /// Does what [`Engine::upload`] does. Without `wait` it may return before the bytes are read: see
    /// [`DeviceMemory::upload`].
    ///
    /// [`DeviceMemory::upload`]: crate::device::DeviceMemory::upload
    fn upload_array(&self, bytes: &[u8], dtype: DType, shape: &[i64], wait: bool) -> Result<Array> {
        let layout = Layout::try_contiguous(dtype, shape)?;
        if layout.size as usize * dtype.size() != bytes.len() {
            return Err(Error::value(format!(
                "{} bytes cannot be an array of shape {} and dtype {}; pass {}",
                bytes.len(),
                show(shape),
                dtype.name(),
                layout.size as usize * dtype.size()
            )));
        }
        // Outside the engine any byte but 0 may stand for true. The routines rely on 1.
        if dtype == DType::Bool && bytes.chunks(1 << 12).any(|part| part.iter().fold(0, |all, byte| all | byte) > 1) {
            let plain: Vec<u8> = bytes.iter().map(|&byte| u8::from(byte != 0)).collect();
            return self.upload_array(&plain, dtype, shape, true);
        }
        capture_location();
        let copied =
            profile::timed(Kind::Upload, self.id, bytes.len() as u64, || match self.device.upload(bytes, wait) {
                Err(e) if e.kind == ErrorKind::Memory => {
                    self.trim();
                    self.device.upload(bytes, wait)
                }
                got => got,
            });
        let buffer = copied?;
        if profile::on() {
            program_span::memory(&*self.device, profile::origin(self.id));
        }
        Ok(Array { storage: Arc::new(Storage::ready(buffer, self.id)), layout })
    }

    /// Copies an array to another engine's device. Without `wait` the copy of page-locked memory may still be running
    /// when this returns; later work of the other engine is ordered after it.
    ///
    /// # Errors
    /// A program failed, or there is no room.
    pub fn send(self: &Arc<Engine>, a: &Array, to: &Arc<Engine>, wait: bool) -> Result<Array> {
        let bytes = a.layout.size as usize * a.dtype().size();
        if bytes == 0 {
            return to.empty(a.dtype(), a.shape());
        }
        if self.device.is_host() {
            let packed = if a.layout.is_c_contiguous() { a.clone() } else { self.cast(a, a.dtype())? };
            let buffer = self.realize(&packed.storage)?;
            let start = buffer.address() + packed.layout.offset as u64 * packed.dtype().size() as u64;
            // SAFETY: the memory is the host's, has that many bytes from `start` on and lives as long as `buffer`.
            let from = unsafe { std::slice::from_raw_parts(start as *const u8, bytes) };
            return to.upload_array(from, a.dtype(), a.shape(), wait);
        }
        if to.device.is_host() {
            let array = to.empty(a.dtype(), a.shape())?;
            // SAFETY: no other code has the new storage.
            if let Some(buffer) = unsafe { array.storage.buffer() } {
                // SAFETY: the memory is new, lies on the host and has that many bytes.
                let room = unsafe { std::slice::from_raw_parts_mut(buffer.address() as *mut u8, bytes) };
                self.download(a, room)?;
            }
            return Ok(array);
        }
        self.send_between(a, bytes, to)
    }

    /// Copies an array from one GPU to another: directly if they can, else through page-locked memory of the host.
    fn send_between(self: &Arc<Engine>, a: &Array, bytes: usize, to: &Arc<Engine>) -> Result<Array> {
        let packed = if a.layout.is_c_contiguous() { a.clone() } else { self.cast(a, a.dtype())? };
        let buffer = self.realize(&packed.storage)?;
        let from = buffer.address() + packed.layout.offset as u64 * packed.dtype().size() as u64;
        if let Some(copied) = to.device.copy_from(&*self.device, from, bytes) {
            let layout = Layout::contiguous(a.dtype(), a.shape());
            return Ok(Array { storage: Arc::new(Storage::ready(copied?, to.id)), layout });
        }
        let Ok(host) = to.device.page_locked(bytes) else {
            let mut host = vec![0; bytes];
            self.download(&packed, &mut host)?;
            return to.upload(&host, a.dtype(), a.shape());
        };
        // SAFETY: the memory is new, lies on the host and has that many bytes; copies from it hold it.
        let room = unsafe { std::slice::from_raw_parts_mut(host.address() as *mut u8, bytes) };
        self.download(&packed, room)?;
        to.upload(room, a.dtype(), a.shape())
    }

    /// Copies a host array to memory from which `device` copies without the CPU.
    ///
    /// # Errors
    /// The device has no such memory, or a program failed.
    pub fn pin(self: &Arc<Engine>, a: &Array, device: &Arc<Engine>) -> Result<Array> {
        let layout = Layout::contiguous(a.dtype(), a.shape());
        let buffer = device.device.page_locked(layout.size as usize * a.dtype().size())?;
        let array = Array { storage: Arc::new(Storage::ready(buffer, self.id)), layout };
        self.update(&array, Operand::Array(a))?;
        // A device may copy from it as soon as the caller has it.
        self.realize(&array.storage)?;
        Ok(array)
    }

    /// Copies the elements to the host in C order.
    ///
    /// # Errors
    /// A program failed, or an interrupt ended the wait.
    pub fn download(self: &Arc<Engine>, a: &Array, to: &mut [u8]) -> Result<()> {
        if to.is_empty() {
            return Ok(());
        }
        let packed = if a.layout.is_c_contiguous() { a.clone() } else { self.cast(a, a.dtype())? };
        capture_location();
        let mut state = self.enter()?;
        let buffer = self.memory(&mut state, &packed.storage)?;
        state.note_wait();
        if let Some(recorder) = &mut state.recorder {
            recorder.add_read(to.len());
        }
        let early = state.programs.early(&buffer);
        let waits = self.device.is_asynchronous() && (profile::on() || state.submitted > LONG_WORK);
        if !waits {
            state.submitted = 0;
        }
        drop(state);
        let start = packed.layout.offset as u64 * packed.dtype().size() as u64;
        if waits {
            // A separate wait, because the copy cannot be interrupted. It ends when the copy could begin.
            profile::timed(Kind::Wait, self.id, 0, || self.wait(early.as_deref()))?;
        }
        let from = buffer.address() + start;
        profile::timed(Kind::Download, self.id, to.len() as u64, || match early {
            // A loss is complete before the backward pass has ended.
            Some(mark) => self.device.download_after(&*mark, from, to),
            None => self.device.download(from, to),
        })?;
        // Only now is everything done that the values depend on.
        self.check_lost()
    }
}
