//! What streams and graphs run.

use std::sync::atomic::{AtomicBool, Ordering::*};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use super::module::Launch;

/// Work of a stream or of a graph's node.
#[derive(Clone)]
pub(crate) enum Work {
    Kernel(Launch),
    Copy {
        to: u64,
        from: u64,
        bytes: usize,
    },
    /// A copy of bytes that the caller passed.
    Write {
        to: u64,
        from: Arc<Vec<u8>>,
    },
    Fill {
        to: u64,
        pattern: Vec<u8>,
        count: usize,
    },
    /// A library's.
    Host(Arc<dyn Fn() + Send + Sync>),
    /// A library's, on a thread of its own, such as a transfer between processes.
    External(Arc<External>),
    Graph(Arc<Plan>),
    Record(Arc<Recording>),
    Wait(Arc<Recording>),
    /// The recording of an event by a graph's node; each launch makes one.
    RecordAtLaunch(usize),
}

impl Work {
    /// Returns the name of a kernel, or what else the work does.
    pub(crate) fn name(&self) -> &str {
        match self {
            Work::Kernel(launch) => launch.name(),
            Work::Copy { .. } | Work::Write { .. } => "a copy",
            Work::Fill { .. } => "a fill",
            Work::Host(_) | Work::External(_) => "a library's function",
            Work::Graph(_) => "a graph",
            Work::Record(_) | Work::RecordAtLaunch(_) | Work::Wait(_) => "an event",
        }
    }
}

/// The nodes of a graph with their dependencies, as positions.
#[derive(Clone, Default)]
pub(crate) struct Plan(pub(crate) Vec<(Work, Vec<usize>)>);

/// Work on a thread of its own. It begins when its stream gets to it, which goes on when it has ended.
#[derive(Default)]
pub(crate) struct External {
    has_begun: AtomicBool,
    has_ended: AtomicBool,
}

impl External {
    pub(crate) fn begin(&self) {
        self.has_begun.store(true, Release);
    }

    pub(crate) fn has_begun(&self) -> bool {
        self.has_begun.load(Acquire)
    }

    pub(crate) fn end(&self) {
        self.has_ended.store(true, Release);
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended.load(Acquire)
    }
}

/// One recording of an event, which outlives the event if somebody waits for it.
pub(crate) struct Recording {
    pub(crate) stream: usize,
    /// When it happened.
    pub(crate) at: OnceLock<Instant>,
}

impl Recording {
    /// Returns true if it has happened.
    pub(crate) fn is_done(&self) -> bool {
        self.at.get().is_some()
    }
}
