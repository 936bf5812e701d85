//! How programs run, and how often they did.

/// How much of the machinery runs; for tests and measurements.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Replay {
    /// Everything.
    #[default]
    Auto,
    /// Each operation on its own, at once.
    Single,
    /// Fused, without graph replay; launches of users' kernels wait for others on every device.
    Fused,
}

/// Counters since the start.
#[derive(Clone, Copy, Default, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Stats {
    pub nodes: u64,
    pub planned: u64,
    pub replayed: u64,
    pub steps: u64,
}
