//! What the calls of a group move and compute.

use std::ffi::{c_int, c_void};

use cuprous_core::DType;
use cuprous_cuda_sys::nccl::{ncclDataType_t, ncclRedOp_t};
use cuprous_distributed::call::ReduceKind;
use cuprous_distributed::reduce::reduce;

use super::connections::Connections;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    AllReduce,
    Reduce,
    Broadcast,
    AllGather,
    ReduceScatter,
    Send,
    Receive,
}

/// One call. Addresses are those of memory of the simulated GPU.
#[derive(Clone, Copy)]
pub(super) struct Call {
    kind: Kind,
    from: usize,
    to: usize,
    count: usize,
    dtype: DType,
    reduce: ReduceKind,
    /// The root, or the other rank of a message.
    rank: usize,
}

fn element(dtype: ncclDataType_t) -> DType {
    const ALL: [DType; 10] = [
        DType::I8,
        DType::U8,
        DType::I32,
        DType::U32,
        DType::I64,
        DType::U64,
        DType::F16,
        DType::F32,
        DType::F64,
        DType::BF16,
    ];
    ALL[dtype.0 as usize]
}

fn reduction(op: ncclRedOp_t) -> ReduceKind {
    [ReduceKind::Sum, ReduceKind::Product, ReduceKind::Max, ReduceKind::Min, ReduceKind::Avg][op.0 as usize]
}

impl Call {
    pub(super) fn new(kind: Kind, from: *const c_void, to: *mut c_void, count: usize, dtype: ncclDataType_t) -> Call {
        let dtype = element(dtype);
        Call { kind, from: from as usize, to: to as usize, count, dtype, reduce: ReduceKind::Sum, rank: 0 }
    }

    pub(super) fn reducing(self, op: ncclRedOp_t) -> Call {
        Call { reduce: reduction(op), ..self }
    }

    pub(super) fn with(self, rank: c_int) -> Call {
        Call { rank: rank as usize, ..self }
    }

    pub(super) fn is_message(&self) -> bool {
        matches!(self.kind, Kind::Send | Kind::Receive)
    }

    fn bytes(&self) -> usize {
        self.count * self.dtype.size()
    }

    /// Returns true if this rank sends to `peer`, and with which part of `from`.
    fn sends(&self, me: usize, peer: usize) -> Option<usize> {
        match self.kind {
            Kind::AllReduce | Kind::AllGather => Some(0),
            Kind::ReduceScatter => Some(peer),
            Kind::Reduce => (peer == self.rank).then_some(0),
            Kind::Broadcast => (me == self.rank).then_some(0),
            Kind::Send => (peer == self.rank).then_some(0),
            Kind::Receive => None,
        }
    }

    fn receives(&self, me: usize, peer: usize) -> bool {
        match self.kind {
            Kind::AllReduce | Kind::AllGather | Kind::ReduceScatter => true,
            Kind::Reduce => me == self.rank,
            Kind::Broadcast | Kind::Receive => peer == self.rank,
            Kind::Send => false,
        }
    }

    /// Returns a copy of a part of what this rank gives.
    fn read(&self, part: usize) -> Vec<u8> {
        // SAFETY: the caller of NCCL's function vouches for the range until the stream has passed the call.
        unsafe { std::slice::from_raw_parts((self.from + part * self.bytes()) as *const u8, self.bytes()) }.to_vec()
    }

    fn write(&self, part: usize, bytes: &[u8]) {
        // SAFETY: as for `read`.
        unsafe { std::ptr::copy(bytes.as_ptr(), (self.to + part * self.bytes()) as *mut u8, bytes.len()) };
    }

    /// Writes the result, given the parts of all ranks; this rank's own is empty.
    fn finish(&self, me: usize, mut parts: Vec<Vec<u8>>) {
        match self.kind {
            Kind::Send => {}
            Kind::Receive => self.write(0, &parts[self.rank]),
            Kind::Broadcast if me == self.rank => self.write(0, &self.read(0)),
            Kind::Broadcast => self.write(0, &parts[self.rank]),
            Kind::AllGather => {
                parts[me] = self.read(0);
                parts.iter().enumerate().for_each(|(rank, part)| self.write(rank, part));
            }
            Kind::Reduce if me != self.rank => {}
            Kind::AllReduce | Kind::Reduce | Kind::ReduceScatter => {
                parts[me] = self.read(if self.kind == Kind::ReduceScatter { me } else { 0 });
                let sources: Vec<*const u8> = parts.iter().map(|part| part.as_ptr()).collect();
                // SAFETY: as for `read`; each source has that many bytes.
                unsafe { reduce(self.reduce, self.dtype, self.to as *mut u8, &sources, self.bytes()) };
            }
        }
    }
}

impl Connections {
    /// Performs calls together.
    pub(super) fn perform(&mut self, calls: &[Call], is_over: &dyn Fn() -> bool) {
        let (me, n) = (self.me, self.streams.len());
        let others = || (0..n).filter(move |&peer| peer != me);
        let mut out = vec![Vec::new(); n];
        let mut into = vec![Vec::new(); n];
        for call in calls {
            for peer in others() {
                if let Some(part) = call.sends(me, peer) {
                    out[peer].extend(call.read(part));
                }
                if call.receives(me, peer) {
                    into[peer].extend(std::iter::repeat_n(0, call.bytes()));
                }
            }
        }
        if !self.exchange(&out, &mut into, is_over) {
            return;
        }
        let mut at = vec![0; n];
        for call in calls {
            let mut parts = vec![Vec::new(); n];
            for peer in others().filter(|&peer| call.receives(me, peer)) {
                parts[peer] = into[peer][at[peer]..at[peer] + call.bytes()].to_vec();
                at[peer] += call.bytes();
            }
            call.finish(me, parts);
        }
    }
}
