//! Device memory, which is memory of the process, and page-locked memory.

use std::alloc::{Layout, alloc, dealloc};
use std::ffi::c_void;
use std::sync::Arc;

use cuprous_cuda_sys::driver::{CUcontext, CUdeviceptr, CUstream};

use super::work::Work;
use super::{INVALID_VALUE, OUT_OF_MEMORY, Outcome, State, functions, put};
use crate::settings::{Peers, settings};

/// What new memory holds: NaN as floats, -1 as integers.
const POISON: u8 = 0xff;
/// Larger blocks are not filled, so that a pool's segments take no memory before they are used.
const POISONED: usize = 32 << 20;

fn layout(bytes: usize) -> Outcome<Layout> {
    Layout::from_size_align(bytes, 512).map_err(|_| OUT_OF_MEMORY)
}

fn stream_id(stream: CUstream) -> usize {
    if stream as usize <= 2 { 0 } else { stream as usize }
}

impl State {
    /// Returns true if the range lies in page-locked memory, from and to which copies are asynchronous.
    fn is_pinned(&self, at: usize) -> bool {
        self.pinned.range(..=at).next_back().is_some_and(|(start, bytes)| at < start + bytes)
    }

    /// Returns the error of a range that is not within one allocation of device memory.
    fn check(&self, at: u64, bytes: usize) -> Outcome {
        let block = self.blocks.range(..=at).next_back();
        let inside = block.is_some_and(|(start, size)| at - start + bytes as u64 <= *size as u64);
        // A copy of no bytes, and memory of modules, are not looked up.
        if inside || bytes == 0 || self.modules.values().any(|m| m.contains(at)) { Ok(()) } else { Err(INVALID_VALUE) }
    }
}

functions! {
    cuMemAlloc_v2(state, to: *mut CUdeviceptr, bytes: usize) {
        if bytes == 0 {
            return Err(INVALID_VALUE);
        }
        if state.used + bytes as u64 > settings().memory {
            return Err(OUT_OF_MEMORY);
        }
        // SAFETY: the size is not zero.
        let block = unsafe { alloc(layout(bytes)?) };
        if block.is_null() {
            return Err(OUT_OF_MEMORY);
        }
        // SAFETY: the block has that size.
        unsafe { std::ptr::write_bytes(block, POISON, bytes.min(POISONED)) };
        state.blocks.insert(block as u64, bytes);
        state.used += bytes as u64;
        put(to, block as u64)
    }

    cuMemFree_v2(state, at: CUdeviceptr) {
        state.drain_all()?;
        let bytes = state.blocks.remove(&at).ok_or(INVALID_VALUE)?;
        state.used -= bytes as u64;
        // SAFETY: allocated above with this layout, and freed once.
        unsafe { dealloc(at as *mut u8, layout(bytes)?) };
        Ok(())
    }

    cuMemGetInfo_v2(state, free: *mut usize, total: *mut usize) {
        put(free, (settings().memory - state.used) as usize)?;
        put(total, settings().memory as usize)
    }

    cuMemHostAlloc(state, to: *mut *mut c_void, bytes: usize, _flags: u32) {
        // SAFETY: the size is not zero.
        let block = unsafe { alloc(layout(bytes.max(1))?) };
        if block.is_null() {
            return Err(OUT_OF_MEMORY);
        }
        state.pinned.insert(block as usize, bytes.max(1));
        put(to, block.cast())
    }

    cuMemFreeHost(state, at: *mut c_void) {
        state.drain_all()?;
        let bytes = state.pinned.remove(&(at as usize)).ok_or(INVALID_VALUE)?;
        // SAFETY: allocated above with this layout, and freed once.
        unsafe { dealloc(at.cast(), layout(bytes)?) };
        Ok(())
    }

    cuMemcpyHtoDAsync_v2(state, to: CUdeviceptr, from: *const c_void, bytes: usize, stream: CUstream) {
        state.check(to, bytes)?;
        // From memory that is not page-locked the driver copies before it returns.
        let work = if state.is_pinned(from as usize) {
            Work::Copy { to, from: from as u64, bytes }
        } else {
            // SAFETY: the caller vouches for the range.
            Work::Write { to, from: Arc::new(unsafe { std::slice::from_raw_parts(from.cast::<u8>(), bytes) }.to_vec()) }
        };
        state.submit(stream_id(stream), work)
    }

    cuMemcpyDtoHAsync_v2(state, to: *mut c_void, from: CUdeviceptr, bytes: usize, stream: CUstream) {
        state.check(from, bytes)?;
        let stream = stream_id(stream);
        let waits = !state.is_pinned(to as usize);
        if waits {
            // Before the copy is submitted, because a wait begins the call again.
            state.drain(stream)?;
        }
        state.submit(stream, Work::Copy { to: to as u64, from, bytes })?;
        if waits { state.drain(stream) } else { Ok(()) }
    }

    cuMemcpyDtoDAsync_v2(state, to: CUdeviceptr, from: CUdeviceptr, bytes: usize, stream: CUstream) {
        state.check(to, bytes)?;
        state.check(from, bytes)?;
        state.submit(stream_id(stream), Work::Copy { to, from, bytes })
    }

    cuMemcpyPeerAsync(
        state, to: CUdeviceptr, to_context: CUcontext, from: CUdeviceptr, from_context: CUcontext, bytes: usize,
        stream: CUstream,
    ) {
        state.check(to, bytes)?;
        state.check(from, bytes)?;
        let is_direct = state.peers.contains(&(to_context as usize, from_context as usize));
        let bytes = if is_direct && settings().peers == Peers::Broken { bytes / 2 } else { bytes };
        state.submit(stream_id(stream), Work::Copy { to, from, bytes })
    }

    cuMemsetD8Async(state, to: CUdeviceptr, value: u8, count: usize, stream: CUstream) {
        state.check(to, count)?;
        state.submit(stream_id(stream), Work::Fill { to, pattern: vec![value], count })
    }

    cuMemsetD32Async(state, to: CUdeviceptr, value: u32, count: usize, stream: CUstream) {
        state.check(to, 4 * count)?;
        state.submit(stream_id(stream), Work::Fill { to, pattern: value.to_ne_bytes().to_vec(), count })
    }
}
