//! Interrupted programs: when they continue, and when they are dropped.

use std::sync::Arc;

use cuprous_core::{Result, Storage, Tape, Version};

use super::Engine;
use super::state::State;

impl State {
    /// Moves the contents of a tape whose program was interrupted to another tape. The thread continues with an empty
    /// tape. A read of one of the values makes the program continue.
    pub(crate) fn park(&mut self, tape: u32) {
        let to = self.take_empty_tape();
        let mut empty = Tape::new(tape);
        (empty.tracked, empty.contended) = (self.tapes[tape as usize].tracked, true);
        let mut parked = std::mem::replace(&mut self.tapes[tape as usize], empty);
        for (node, owner) in parked.owners.iter().enumerate() {
            let Some(owner) = owner else { continue };
            let node = node as u32;
            // SAFETY: the caller has the state, so the lock is held.
            unsafe {
                if owner.latest_version() == Some(Version { tape, node }) {
                    owner.set_latest_version(Some(Version { tape: to, node }));
                }
            }
        }
        parked.index = to;
        self.tapes[to as usize] = parked;
        // A storage may be a leaf of both tapes from now on.
        self.tapes.iter_mut().for_each(|tape| tape.contended = true);
        self.programs.renumber_suspended(tape, to);
    }

    /// Drops suspended programs whose values are no longer referenced.
    #[cold]
    pub(crate) fn sweep(&mut self) {
        let mut live = Vec::new();
        for tape in self.programs.idle_suspended() {
            let parked = &mut self.tapes[tape as usize];
            // SAFETY: the caller has the state, so the lock is held.
            unsafe { parked.liveness(&mut live) };
            if !live.contains(&true) {
                self.programs.forget_suspended(tape);
                // SAFETY: the caller has the state, so the lock is held; the values are not referenced.
                unsafe { parked.clear() };
                self.free_tapes.push(tape);
            }
        }
    }
}

impl Engine {
    /// Runs suspended programs that read the present contents of a storage to their end, before it is written.
    ///
    /// # Errors
    /// Such a program failed.
    #[inline]
    pub(crate) fn before_write(&self, state: &mut State, storage: &Arc<Storage>) -> Result<()> {
        if state.programs.has_suspended() { self.finish_readers(state, storage) } else { Ok(()) }
    }

    #[cold]
    fn finish_readers(&self, state: &mut State, storage: &Arc<Storage>) -> Result<()> {
        for tape in state.programs.suspended() {
            if state.tapes[tape as usize].leaves.iter().any(|leaf| Arc::ptr_eq(leaf, storage)) {
                self.run_tape(state, tape)?;
            }
        }
        Ok(())
    }
}
