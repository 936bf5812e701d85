//! Beginning and ending a profile.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use cuprous_core::Result;

use super::Engine;

impl Engine {
    /// Begins to note the places of all operations that are recorded from now on.
    pub(crate) fn track_all(&self) -> Result<()> {
        let mut state = self.enter()?;
        state.tapes.iter_mut().filter(|tape| tape.nodes.is_empty()).for_each(|tape| tape.track(true));
        self.tracking.store(true, Relaxed);
        Ok(())
    }

    /// Before a profile begins: what is recorded runs, and the device has nothing left to do.
    ///
    /// # Errors
    /// What was recorded failed.
    pub fn settle_for_profile(self: &Arc<Engine>) -> Result<()> {
        self.synchronize()
    }

    /// A profile has begun: operations note their places, the device its clock.
    ///
    /// # Errors
    /// The device failed.
    pub fn begin_profile(self: &Arc<Engine>) -> Result<()> {
        self.track_all()?;
        self.device.set_profiling(true)
    }

    /// A profile is about to end: what is recorded runs, and the device says what it knows.
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
