//! Beginning and ending a profile.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use cuprous_core::Result;

use super::Engine;

impl Engine {
    /// Makes all tapes record the source locations of operations from now on.
    pub(crate) fn track_all(&self) -> Result<()> {
        let mut state = self.enter()?;
        state.tapes.iter_mut().filter(|tape| tape.nodes.is_empty()).for_each(|tape| tape.track(true));
        self.tracking.store(true, Relaxed);
        Ok(())
    }

    /// Runs what is recorded and waits for the device, before a profile begins.
    ///
    /// # Errors
    /// What was recorded failed.
    pub fn settle_for_profile(self: &Arc<Engine>) -> Result<()> {
        self.synchronize()
    }

    /// Begins a profile: operations record their source locations, and the device its times.
    ///
    /// # Errors
    /// The device failed.
    pub fn begin_profile(self: &Arc<Engine>) -> Result<()> {
        self.track_all()?;
        self.device.set_profiling(true)
    }

    /// Ends a profile: runs what is recorded, and lets the device add what it knows.
    ///
    /// # Errors
    /// What was recorded failed, or the device did.
    pub fn end_profile(self: &Arc<Engine>) -> Result<()> {
        let ran = self.flush();
        let done = self.device.synchronize();
        let profile = self.device.set_profiling(false);
        ran.and(done).and(profile)
    }
}
