//! Scratch memory that tasks of a routine share.

use cuprous_core::Result;

use crate::alloc::Block;

/// A pool of workspaces, one for each running task.
pub(super) struct Workspaces<F> {
    make: F,
    free: std::sync::Mutex<Vec<Block>>,
    failed: std::sync::Mutex<Option<cuprous_core::Error>>,
}

impl<F: Fn() -> Result<Block> + Sync> Workspaces<F> {
    pub(super) fn new(make: F) -> Workspaces<F> {
        Workspaces { make, free: Default::default(), failed: Default::default() }
    }

    pub(super) fn take(&self) -> Option<Block> {
        if let Some(workspace) = self.free.lock().unwrap_or_else(|e| e.into_inner()).pop() {
            return Some(workspace);
        }
        match (self.make)() {
            Ok(workspace) => Some(workspace),
            Err(error) => {
                self.fail(error);
                None
            }
        }
    }

    pub(super) fn put_back(&self, workspace: Block) {
        self.free.lock().unwrap_or_else(|e| e.into_inner()).push(workspace);
    }

    /// Records that a task failed.
    pub(super) fn fail(&self, error: cuprous_core::Error) {
        *self.failed.lock().unwrap_or_else(|e| e.into_inner()) = Some(error);
    }

    pub(super) fn finish(self) -> Result<()> {
        match self.failed.into_inner().unwrap_or_else(|e| e.into_inner()) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}
