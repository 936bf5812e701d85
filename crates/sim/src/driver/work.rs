//! What streams and graphs run.

use std::sync::Arc;

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
    Graph(Arc<Plan>),
    /// An event's recording, by its number.
    Record(usize, u64),
    Wait(usize, u64),
}

/// The nodes of a graph with their dependencies, as positions.
#[derive(Clone, Default)]
pub(crate) struct Plan(pub(crate) Vec<(Work, Vec<usize>)>);
