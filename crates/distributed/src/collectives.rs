//! The collectives: what each rank sends to whom, as data for [`crate::exchange`]; and messages between two ranks.

use std::time::Duration;

use cuprous_core::DType;

use crate::call::{Call, Op, ReduceKind};
use crate::failure::{Failure, Result};
use crate::link::ALIGN;
use crate::reduce;
use crate::transfer::{Exchange, In, Out, Part, Reduction};

/// Up to this size each rank reduces everything by itself: one round instead of two.
const SMALL: usize = 16 << 10;

/// Memory of a tensor: the address of its first byte, and its size.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    /// The address.
    pub address: u64,
    /// The size in bytes.
    pub bytes: usize,
}

/// A collective as a rank calls it.
#[derive(Clone, Debug)]
pub struct Request {
    /// The operation; not [`Op::Send`].
    pub op: Op,
    /// The element type of all memory.
    pub dtype: DType,
    /// The reduction, for operations that have one.
    pub reduce: Option<ReduceKind>,
    /// The rank in the group from or to which data goes.
    pub root: Option<usize>,
    /// What this rank gives: one tensor, or one for each rank (scatter on its root, reduce_scatter, all_to_all).
    pub inputs: Vec<Memory>,
    /// What this rank gets: one tensor, or one for each rank (gather on its root, all_gather, all_to_all).
    pub outputs: Vec<Memory>,
    /// The source line.
    pub line: String,
    /// How long it may take, if not as long as the group's operations.
    pub timeout: Option<Duration>,
}

impl Request {
    /// Returns the bytes that this rank gives, or those that it gets if it gives none.
    pub(crate) fn bytes(&self) -> usize {
        let all = if self.inputs.is_empty() { &self.outputs } else { &self.inputs };
        all.iter().map(|memory| memory.bytes).sum()
    }

    /// Returns what rank `me` of `n` calls.
    ///
    /// # Errors
    /// The numbers or sizes of tensors do not suit the operation.
    pub(crate) fn call(&self, me: usize, n: usize, group: u32, seq: u64) -> Result<Call> {
        let wrong = |what: String| Failure::runtime(format!("[{}] {what}", self.op.name()));
        let (inputs, outputs) = (&self.inputs, &self.outputs);
        let is_root = self.root == Some(me);
        if let Some(kind) = self.reduce {
            reduce::check(kind, self.dtype)?;
        }
        // How many tensors each operation has on this rank.
        let (ins, outs) = match self.op {
            Op::AllReduce => (1, 1),
            Op::Reduce => (1, is_root.into()),
            Op::Broadcast => (is_root.into(), usize::from(!is_root)),
            Op::AllGather => (1, n),
            Op::Gather => (1, if is_root { n } else { 0 }),
            Op::Scatter => (if is_root { n } else { 0 }, 1),
            Op::ReduceScatter => (n, 1),
            Op::AllToAll => (n, n),
            Op::Barrier => (0, 0),
            Op::Send => return Err(wrong("is not a collective".into())),
        };
        for (name, given, needed) in [("input", inputs.len(), ins), ("output", outputs.len(), outs)] {
            if given != needed {
                return Err(wrong(format!("needs {needed} {name} tensors on this rank of {n}, but got {given}")));
            }
        }
        let first = inputs.first().or(outputs.first()).map_or(0, |part| part.bytes);
        let varies = self.op == Op::AllToAll;
        if let Some(part) = inputs.iter().chain(outputs).find(|part| !varies && part.bytes != first) {
            return Err(wrong(format!(
                "tensors must have the same size, but one has {first} bytes and one {}",
                part.bytes
            )));
        }
        if varies && inputs[me].bytes != outputs[me].bytes {
            return Err(wrong(format!(
                "this rank gives itself {} bytes but expects {}",
                inputs[me].bytes, outputs[me].bytes
            )));
        }
        let count = if varies { 0 } else { first / self.dtype.size() };
        Ok(Call {
            op: self.op,
            dtype: self.dtype,
            reduce: self.reduce,
            group,
            seq,
            tag: 0,
            history: 0,
            root: self.root.map_or(-1, |root| root as i32),
            count: count as u64,
            bytes: 0,
            line: self.line.clone(),
        })
    }

    /// Returns true if a write to an output changes an input that others may still read.
    pub(crate) fn overlaps(&self, me: usize) -> bool {
        let span = |all: &[Memory]| {
            let start = all.iter().map(|m| m.address).min()?;
            Some((start, all.iter().map(|m| m.address + m.bytes as u64).max()?))
        };
        match (span(&self.inputs), span(&self.outputs)) {
            (Some((a, end_a)), Some((b, end_b))) if a < end_b && b < end_a => {}
            _ => return false,
        }
        // What each operation reads into the same place on this rank alone.
        let is_own = |input: usize, output: usize| match self.op {
            Op::AllGather | Op::Gather => output == me,
            Op::Scatter | Op::ReduceScatter => input == me,
            Op::AllToAll => input == me && output == me,
            _ => true,
        };
        let crosses = |(k, a): (usize, &Memory), (j, b): (usize, &Memory)| {
            let is_same = a.address == b.address && a.bytes == b.bytes && is_own(k, j);
            !is_same && a.address < b.address + b.bytes as u64 && b.address < a.address + a.bytes as u64
        };
        self.inputs.iter().enumerate().any(|a| self.outputs.iter().enumerate().any(|b| crosses(a, b)))
    }

    /// Returns the request with copies of its inputs, and the copies, if it overlaps.
    ///
    /// # Safety
    /// The inputs can be read.
    pub(crate) unsafe fn staged(&self, me: usize) -> Option<(Request, Vec<u128>)> {
        if !self.overlaps(me) {
            return None;
        }
        let words = |memory: &Memory| memory.bytes.div_ceil(size_of::<u128>());
        let mut copies = vec![0u128; self.inputs.iter().map(words).sum()];
        let mut request = self.clone();
        let mut free = &mut copies[..];
        for memory in &mut request.inputs {
            let (copy, rest) = free.split_at_mut(words(memory));
            // SAFETY: by the caller's contract, and there is room for as many bytes.
            unsafe {
                std::ptr::copy_nonoverlapping(memory.address as *const u8, copy.as_mut_ptr().cast(), memory.bytes)
            };
            (memory.address, free) = (copy.as_ptr() as u64, rest);
        }
        Some((request, copies))
    }

    /// Returns the exchange of rank `me` of `n`.
    ///
    /// # Errors
    /// As for [`Request::call`].
    pub(crate) fn exchange(&self, me: usize, n: usize, group: u32, seq: u64) -> Result<Exchange> {
        let call = self.call(me, n, group, seq)?;
        let parts = |memory: &[Memory]| -> Vec<Part> {
            memory.iter().map(|m| Part { address: m.address as *mut u8, bytes: m.bytes }).collect()
        };
        let (inputs, outputs) = (parts(&self.inputs), parts(&self.outputs));
        let is_root = self.root == Some(me);
        let first = inputs.first().or(outputs.first()).map_or(0, |part| part.bytes);
        let mut x = Exchange {
            call,
            send: (0..n).map(|_| Vec::new()).collect(),
            receive: (0..n).map(|_| Vec::new()).collect(),
            reduction: None,
            copies: Vec::new(),
            timeout: self.timeout,
        };
        let reduction = |own: Part, target: Part| {
            Some(Reduction { kind: self.reduce.unwrap_or(ReduceKind::Sum), dtype: self.dtype, own, target })
        };
        let others = || (0..n).filter(|&rank| rank != me);
        match self.op {
            Op::Barrier | Op::Send => {}
            Op::AllReduce if first <= SMALL || n == 1 => {
                for rank in others() {
                    x.send[rank].push(Out::Ready(inputs[0]));
                    x.receive[rank].push(In::Contribution);
                }
                x.reduction = reduction(inputs[0], outputs[0]);
            }
            Op::AllReduce => {
                let chunk = |part: Part, rank: usize| {
                    let each = part.bytes.div_ceil(n).next_multiple_of(4 * ALIGN);
                    let start = (rank * each).min(part.bytes);
                    part.slice(start, (start + each).min(part.bytes) - start)
                };
                for rank in others() {
                    x.send[rank].extend([Out::Ready(chunk(inputs[0], rank)), Out::Reduced]);
                    x.receive[rank].extend([In::Contribution, In::Copy(chunk(outputs[0], rank))]);
                }
                x.reduction = reduction(chunk(inputs[0], me), chunk(outputs[0], me));
            }
            Op::Reduce if is_root => {
                others().for_each(|rank| x.receive[rank].push(In::Contribution));
                x.reduction = reduction(inputs[0], outputs[0]);
            }
            Op::Broadcast if is_root => others().for_each(|rank| x.send[rank].push(Out::Ready(inputs[0]))),
            Op::Broadcast => x.receive[self.root.unwrap_or(0)].push(In::Copy(outputs[0])),
            Op::AllGather => {
                for rank in others() {
                    x.send[rank].push(Out::Ready(inputs[0]));
                    x.receive[rank].push(In::Copy(outputs[rank]));
                }
                x.copies.push((inputs[0], outputs[me]));
            }
            Op::Gather if is_root => {
                others().for_each(|rank| x.receive[rank].push(In::Copy(outputs[rank])));
                x.copies.push((inputs[0], outputs[me]));
            }
            Op::Reduce | Op::Gather => x.send[self.root.unwrap_or(0)].push(Out::Ready(inputs[0])),
            Op::Scatter if is_root => {
                others().for_each(|rank| x.send[rank].push(Out::Ready(inputs[rank])));
                x.copies.push((inputs[me], outputs[0]));
            }
            Op::Scatter => x.receive[self.root.unwrap_or(0)].push(In::Copy(outputs[0])),
            Op::ReduceScatter => {
                for rank in others() {
                    x.send[rank].push(Out::Ready(inputs[rank]));
                    x.receive[rank].push(In::Contribution);
                }
                x.reduction = reduction(inputs[me], outputs[0]);
            }
            Op::AllToAll => {
                for rank in others() {
                    x.send[rank].push(Out::Ready(inputs[rank]));
                    x.receive[rank].push(In::Copy(outputs[rank]));
                }
                x.copies.push((inputs[me], outputs[me]));
            }
        }
        Ok(x)
    }
}

/// A message as a rank calls it.
pub struct Message {
    /// True for the rank that sends.
    pub is_send: bool,
    /// The other rank in the group; `None` receives from any.
    pub peer: Option<usize>,
    /// Messages match by tag.
    pub tag: u64,
    /// The element type.
    pub dtype: DType,
    /// The memory.
    pub memory: Memory,
    /// The source line.
    pub line: String,
}

impl Message {
    /// Returns the other rank.
    ///
    /// # Errors
    /// It is this rank.
    pub(crate) fn check_peer(&self, me: usize) -> Result<Option<usize>> {
        if self.peer == Some(me) {
            let role = if self.is_send { "destination" } else { "source" };
            return Err(Failure::value(format!(
                "Invalid {role} rank: {role} rank should not be the same as the rank of the current process."
            )));
        }
        Ok(self.peer)
    }
}
