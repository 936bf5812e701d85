//! Byte streams between the ranks of a group: through shared memory on one host, through sockets otherwise, or through
//! MPI where the program chose it.

use std::time::Duration;

/// A multiple of this many bytes is written and consumed at a time, so that elements are whole and aligned.
pub(crate) const ALIGN: usize = 16;

/// The stream of a rank ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Closed;

/// What a rank waits for, by peer.
#[derive(Clone, Copy, Default)]
pub(crate) struct Interest {
    pub(crate) read: bool,
    pub(crate) write: bool,
}

/// The streams of one rank to and from all others of its group. No function blocks but `wait`.
pub(crate) trait Link: Send {
    /// Begins a look at all streams: a change from here on ends the next `wait` at once.
    fn begin(&mut self);
    /// Writes as much as fits and returns how much that is.
    fn write(&mut self, to: usize, bytes: &[u8]) -> Result<usize, Closed>;
    /// Returns the bytes that have arrived, which stay valid until `consume`. With fewer than `want` of them, looks for
    /// more. The address is a multiple of [`ALIGN`].
    fn readable(&mut self, from: usize, want: usize) -> Result<(*const u8, usize), Closed>;
    /// Removes bytes that have arrived.
    fn consume(&mut self, from: usize, count: usize);
    /// Sends what was written and wakes the ranks concerned. Returns true if nothing is left to send.
    fn flush(&mut self) -> bool;
    /// Returns true if all that was written to a rank is sent, so that it arrives even if this process ends now.
    fn is_sent(&self, to: usize) -> bool;
    /// Waits until a stream may have changed, or for that time.
    fn wait(&mut self, interest: &[Interest], time: Duration);
    /// Returns a function that ends `wait` from another thread.
    fn waker(&self) -> Waker;
    /// Returns how bytes move, for messages.
    fn name(&self) -> &'static str;
}

/// Ends a wait from another thread.
pub(crate) type Waker = Box<dyn Fn() + Send + Sync>;

/// Returns `n` rounded up to whole units of [`ALIGN`].
pub(crate) const fn padded(n: usize) -> usize {
    n.next_multiple_of(ALIGN)
}
