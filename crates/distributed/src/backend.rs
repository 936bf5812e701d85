//! What every backend of a group can do: the ring on host memory, and libraries of devices.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use cuprous_core::ExternalWork;

use crate::collectives::{Message, Request};
use crate::failure::Result;

/// What keeps the memory of an operation alive and away from others until it has ended.
pub type Keep = Box<dyn Any + Send>;

/// Makes what keeps the memory of an operation, which waits for the operation where it must.
pub type Lend<'a> = Box<dyn FnOnce(Arc<dyn ExternalWork>) -> Keep + Send + 'a>;

/// An operation under way.
pub trait Operation: ExternalWork {
    /// Waits until later work on the memory comes after the operation: on the host until it has ended, on a device by
    /// the order of its streams. With a timeout, waits until it has ended, and returns `None` if it has not in time.
    ///
    /// # Errors
    /// The operation failed, or the main thread was interrupted.
    fn finish(&self, timeout: Option<Duration>) -> Option<Result<()>>;
    /// Returns the result if the operation has ended.
    fn outcome(&self) -> Option<Result<()>>;
    /// Returns the rank in the group from which a message came.
    fn sender(&self) -> Option<usize>;
}

/// The collectives and messages of a group of ranks.
pub trait Backend: Send + Sync {
    /// Returns how bytes move, for people.
    fn transport(&self) -> &'static str;
    /// Returns the world ranks, in the order of the group.
    fn ranks(&self) -> &[u32];
    /// Returns this process's rank in the group.
    fn rank(&self) -> usize;
    /// Performs a collective. When this returns, later work on the memory comes after it.
    ///
    /// # Errors
    /// The request is wrong, or the job failed.
    fn run(&self, request: &Request, keep: Keep) -> Result<()>;
    /// Submits a collective.
    ///
    /// # Errors
    /// As for [`Backend::run`].
    fn submit(&self, request: &Request, lend: Lend) -> Result<Arc<dyn Operation>>;
    /// Submits messages, which do not wait for each other.
    ///
    /// # Errors
    /// As for [`Backend::run`].
    fn exchange(&self, messages: Vec<(Message, Lend)>) -> Result<Vec<Arc<dyn Operation>>>;
    /// Waits until the operations that were called have ended, up to that time, and ends the threads.
    fn end(&self, time: Duration);
}
