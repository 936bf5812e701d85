//! How programs run, and counters of how often they did.

/// Which optimizations are used, for tests and measurements.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Replay {
    /// All of them.
    #[default]
    Auto,
    /// Each operation on its own, at once.
    Single,
    /// Fusion without graph replay. Launches of user kernels wait for others on every device.
    Fused,
}

/// Counters since the engine started.
#[derive(Clone, Copy, Default, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Stats {
    pub nodes: u64,
    pub planned: u64,
    pub replayed: u64,
    pub steps: u64,
    /// Nanoseconds of planning, by stage: grouping nodes, emitting steps, and the device's compilation.
    pub fusion_ns: u64,
    pub emission_ns: u64,
    pub compile_ns: u64,
    /// Keys of programs that were looked at, to find a program or the least recently used ones.
    pub keys_seen: u64,
    /// Programs and layouts that are kept now.
    pub programs_kept: u64,
    pub layouts_kept: u64,
}
