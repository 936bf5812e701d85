//! Copies between two GPUs of this process.

use std::ffi::c_int;
use std::sync::{Mutex, PoisonError};

use super::context::{Context, enter};
use super::info::device_handle;
use super::memory::{mem_alloc, mem_free, memcpy_dtoh_async, memcpy_htod_async};
use super::stream::Stream;
use super::{DevPtr, api, call, missing_symbol};
use crate::error::Result;

/// The status of `cuCtxEnablePeerAccess` for a pair that another library has enabled.
const ALREADY_ENABLED: u32 = 704;
/// Bytes of the copy that shows whether a pair works: virtual machines and some PCIe settings lose data.
const PATTERN: usize = 1 << 20;

/// Returns true if the driver says that `to` can access the memory of `from`.
///
/// # Errors
/// A device does not exist, or the driver fails.
pub fn can_access(to: usize, from: usize) -> Result<bool> {
    let (to, from) = (device_handle(to)?, device_handle(from)?);
    let api = api()?;
    let mut can: c_int = 0;
    // SAFETY: the call writes one int; the devices exist.
    unsafe { call!(api, cuDeviceCanAccessPeer(&raw mut can, to, from)) }?;
    Ok(can != 0)
}

/// Returns true if `to` copies from `from` without the host. The first call for a pair enables the access, which is never
/// taken back, and tries it.
pub(crate) fn connected(to: &'static Context, from: &'static Context) -> bool {
    static PAIRS: Mutex<Vec<(usize, usize, bool)>> = Mutex::new(Vec::new());
    let mut pairs = PAIRS.lock().unwrap_or_else(PoisonError::into_inner);
    let pair = (to.ordinal(), from.ordinal());
    if let Some(known) = pairs.iter().find(|known| (known.0, known.1) == pair) {
        return known.2;
    }
    let works = pair.0 != pair.1
        && can_access(pair.0, pair.1).unwrap_or(false)
        && enable(to, from).is_ok()
        && is_exact(to, from).unwrap_or(false);
    pairs.push((pair.0, pair.1, works));
    works
}

fn enable(to: &'static Context, from: &'static Context) -> Result<()> {
    let api = enter(to)?;
    let enable = api.cuCtxEnablePeerAccess.as_ref().map_err(|e| missing_symbol("cuCtxEnablePeerAccess", e))?;
    // SAFETY: the context is retained for the life of the process; the flags must be zero.
    let status = unsafe { enable(from.raw(), 0) };
    if status.0 == ALREADY_ENABLED { Ok(()) } else { super::check(api, "cuCtxEnablePeerAccess", status) }
}

/// Copies a pattern and compares it.
fn is_exact(to: &'static Context, from: &'static Context) -> Result<bool> {
    let pattern: Vec<u8> = (0..PATTERN as u32).map(|k| (k.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let mut got = vec![0; PATTERN];
    let (source, target) = (mem_alloc(from, PATTERN)?, mem_alloc(to, PATTERN)?);
    let mut copy = || {
        let [reads, writes] = [Stream::new(to)?, Stream::new(from)?];
        from.make_current()?;
        // SAFETY: both blocks have that many bytes, and the slices outlive the waits.
        unsafe {
            memcpy_htod_async(source, pattern.as_ptr(), PATTERN, &writes)?;
            writes.synchronize()?;
            to.make_current()?;
            memcpy_peer_async((target, to), (source, from), PATTERN, &reads)?;
            memcpy_dtoh_async(got.as_mut_ptr(), target, PATTERN, &reads)?;
        }
        reads.synchronize()
    };
    let copied = copy();
    // SAFETY: the blocks are from above, and the copies have ended or failed.
    unsafe {
        mem_free(from, source)?;
        mem_free(to, target)?;
    }
    copied.map(|()| got == pattern)
}

/// Submits a copy from the memory of one device to that of another.
///
/// # Errors
/// The driver fails, or earlier work did.
///
/// # Safety
/// Both ranges must be live allocations of the contexts beside them.
pub(crate) unsafe fn memcpy_peer_async(
    to: (DevPtr, &'static Context),
    from: (DevPtr, &'static Context),
    bytes: usize,
    stream: &Stream,
) -> Result<()> {
    let api = api()?;
    // SAFETY: the caller vouches for the ranges.
    unsafe { call!(api, cuMemcpyPeerAsync(to.0.0, to.1.raw(), from.0.0, from.1.raw(), bytes, stream.raw())) }
}
