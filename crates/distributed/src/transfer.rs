//! What the ranks of a collective send, receive and reduce.

use std::time::Duration;

use cuprous_core::DType;

use crate::call::{Call, ReduceKind};

/// Memory of an operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    pub(crate) address: *mut u8,
    pub(crate) bytes: usize,
}

// SAFETY: whoever makes a part keeps its memory alive and away from others until the operation has ended.
unsafe impl Send for Part {}

impl Part {
    pub(crate) fn slice(self, start: usize, bytes: usize) -> Part {
        debug_assert!(start + bytes <= self.bytes);
        Part { address: self.address.wrapping_add(start), bytes }
    }

    pub(crate) fn overlaps(&self, other: &Part) -> bool {
        let (a, b) = (self.address as usize, other.address as usize);
        a < b + other.bytes && b < a + self.bytes
    }
}

/// What is sent to a rank.
pub(crate) enum Out {
    /// Memory that is ready.
    Ready(Part),
    /// The result of the reduction, as far as it is done.
    Reduced,
}

/// What arrives from a rank.
pub(crate) enum In {
    /// Bytes for this memory.
    Copy(Part),
    /// A contribution to the reduction.
    Contribution,
}

/// A reduction of one part of each rank's data, in the order of the ranks.
pub(crate) struct Reduction {
    pub(crate) kind: ReduceKind,
    pub(crate) dtype: DType,
    /// This rank's contribution.
    pub(crate) own: Part,
    pub(crate) target: Part,
}

/// A collective of one rank.
pub(crate) struct Exchange {
    pub(crate) call: Call,
    pub(crate) send: Vec<Vec<Out>>,
    pub(crate) receive: Vec<Vec<In>>,
    pub(crate) reduction: Option<Reduction>,
    /// Copies within this rank: from, to.
    pub(crate) copies: Vec<(Part, Part)>,
    /// How long it may take, if not as long as the group's operations.
    pub(crate) timeout: Option<Duration>,
}

impl Exchange {
    /// Returns the memory that other ranks get as it is.
    pub(crate) fn sent(&self) -> impl Iterator<Item = Part> {
        self.send.iter().flatten().filter_map(|out| match out {
            Out::Ready(part) => Some(*part),
            Out::Reduced => None,
        })
    }

    /// Performs the copies within this rank.
    pub(crate) fn copy(&self) {
        for (from, to) in &self.copies {
            // SAFETY: both parts have that many bytes; `copy` allows any overlap.
            unsafe { std::ptr::copy(from.address, to.address, from.bytes.min(to.bytes)) };
        }
    }

    /// Returns an exchange of the calls alone.
    pub(crate) fn without_data(&self) -> Exchange {
        let none = self.send.len();
        Exchange {
            call: self.call.clone(),
            send: (0..none).map(|_| Vec::new()).collect(),
            receive: (0..none).map(|_| Vec::new()).collect(),
            reduction: None,
            copies: Vec::new(),
            timeout: self.timeout,
        }
    }
}
