//! What a library that connects devices does for a group of them.

use std::sync::Arc;

use crate::collectives::{Message, Request};
use crate::failure::{Failure, Result};

/// Work that a library has submitted to a device.
pub trait Ticket: Send + Sync {
    /// Returns true if it has ended.
    ///
    /// # Errors
    /// The device failed.
    fn is_done(&self) -> Result<bool>;
    /// Makes work that the device gets from now on wait for it.
    ///
    /// # Errors
    /// The device failed.
    fn order(&self) -> Result<()>;
    /// Returns for how long it ran on the device, if it has ended and its times were recorded.
    fn nanoseconds(&self) -> Option<u64>;
}

/// The connection of a device with those of the other ranks. A call of [`Communicator::abort`] ends all others, which may
/// wait for other ranks.
pub trait Communicator: Send + Sync {
    /// Waits until all ranks have connected.
    ///
    /// # Errors
    /// The library failed, or was stopped.
    fn connect(&self) -> Result<()>;
    /// Returns an error for a collective that the library does not have.
    ///
    /// # Errors
    /// It does not have it.
    fn check(&self, request: &Request) -> Result<()>;
    /// Submits a collective, after the work that the device was given so far.
    ///
    /// # Errors
    /// The library failed, or was stopped.
    fn submit(&self, request: &Request) -> Result<Arc<dyn Ticket>>;
    /// Submits messages that do not wait for each other.
    ///
    /// # Errors
    /// As for [`Communicator::submit`].
    fn exchange(&self, messages: &[Message]) -> Result<Arc<dyn Ticket>>;
    /// Returns what the library found wrong since the last call, such as a broken connection.
    fn failure(&self) -> Option<String>;
    /// Returns the text of the library's last error, for an operation that does not end.
    fn last_error(&self) -> Option<String>;
    /// Returns what the library's own watch over the ranks says, on several lines. May take a second.
    fn report(&self) -> Option<String>;
    /// Ends all operations, whose results are lost.
    fn abort(&self);
    /// Frees the connection. All ranks do that after their last operation, and may wait for each other.
    fn close(&self);
}

/// A library that connects devices.
pub trait Network {
    /// Returns PyTorch's name.
    fn name(&self) -> &'static str;
    /// Returns an error if the library is missing.
    ///
    /// # Errors
    /// It is missing or too old.
    fn check(&self) -> Result<()>;
    /// Returns what the ranks need to find each other, on one of them.
    ///
    /// # Errors
    /// The library is missing or fails.
    fn identify(&self) -> Result<Vec<u8>>;
    /// Begins to connect rank `me` of `n`.
    ///
    /// # Errors
    /// The library is missing or fails.
    fn begin(&self, id: &[u8], me: usize, n: usize) -> Result<Arc<dyn Communicator>>;
    /// Makes every later read of the device raise an error, because results are lost.
    fn poison(&self) -> Box<dyn Fn(&Failure) + Send + Sync>;
}
