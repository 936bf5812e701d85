//! What a rank calls, as every message says it, so that ranks that disagree find out at once.

use cuprous_core::DType;

use crate::failure::{Failure, Result};

/// Bytes of an encoded [`Call`].
pub const BYTES: usize = 256;
/// Room for the source line.
const LINE: usize = BYTES - 64;
/// The most bytes of a message: those of an address space.
const MAX_MESSAGE: u64 = 1 << 47;
const MAGIC: u32 = u32::from_le_bytes(*b"CuD2");

macro_rules! names {
    ($(#[$doc:meta])* $type:ident { $($name:ident = $text:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(u8)]
        #[allow(missing_docs, reason = "the names are PyTorch's")]
        pub enum $type { $($name),* }

        impl $type {
            /// Every member, in order of its number.
            pub const ALL: &'static [$type] = &[$($type::$name),*];

            /// Returns PyTorch's name.
            pub const fn name(self) -> &'static str {
                match self { $($type::$name => $text),* }
            }

            /// Returns the member of that name.
            pub fn parse(name: &str) -> Option<$type> {
                $type::ALL.iter().copied().find(|member| member.name() == name)
            }
        }
    };
}

names!(
    /// An operation of a group.
    Op {
        AllReduce = "all_reduce", Reduce = "reduce", Broadcast = "broadcast", AllGather = "all_gather",
        Gather = "gather", Scatter = "scatter", ReduceScatter = "reduce_scatter", AllToAll = "all_to_all",
        Barrier = "barrier", Send = "send",
    }
);

names!(
    /// How elements of several ranks are combined.
    ReduceKind {
        Sum = "sum", Avg = "avg", Product = "product", Min = "min", Max = "max", Band = "band", Bor = "bor",
        Bxor = "bxor",
    }
);

/// A call of one rank. Everything but `bytes` and `line` must be equal on all ranks.
#[derive(Clone, PartialEq, Debug)]
pub struct Call {
    /// The operation.
    pub op: Op,
    /// The element type.
    pub dtype: DType,
    /// The reduction, for operations that have one.
    pub reduce: Option<ReduceKind>,
    /// The group's number.
    pub group: u32,
    /// The position of this call in the group's sequence, from 1. For messages of a device, their position among those
    /// from the same rank to the same rank; for others, their tag.
    pub seq: u64,
    /// The tag of a message.
    pub tag: u64,
    /// The rank from or to which data goes, in the group, or -1.
    pub root: i32,
    /// Elements of each rank.
    pub count: u64,
    /// Hash of the group's earlier collectives, as far as they must be equal; 0 where each is compared by itself.
    pub history: u64,
    /// Bytes that follow for the rank that receives this message.
    pub bytes: u64,
    /// The source line, as `file:line`.
    pub line: String,
}

impl Call {
    /// Returns the encoded call.
    pub fn encode(&self) -> [u8; BYTES] {
        let mut out = [0; BYTES];
        let mut at = 0;
        let mut put = |bytes: &[u8]| {
            out[at..at + bytes.len()].copy_from_slice(bytes);
            at += bytes.len();
        };
        put(&MAGIC.to_le_bytes());
        put(&[self.op as u8, self.dtype as u8, self.reduce.map_or(u8::MAX, |kind| kind as u8), 0]);
        put(&self.group.to_le_bytes());
        put(&self.root.to_le_bytes());
        put(&self.seq.to_le_bytes());
        put(&self.count.to_le_bytes());
        put(&self.bytes.to_le_bytes());
        // The end of a path says more than its beginning.
        let mut start = self.line.len().saturating_sub(LINE);
        while !self.line.is_char_boundary(start) {
            start += 1;
        }
        let line = &self.line.as_bytes()[start..];
        put(&(line.len() as u64).to_le_bytes());
        put(&self.tag.to_le_bytes());
        put(&self.history.to_le_bytes());
        put(line);
        out
    }

    /// Returns the call that `bytes` encode.
    ///
    /// # Errors
    /// They encode none: another program wrote them, or they were damaged.
    pub fn decode(bytes: &[u8; BYTES]) -> Result<Call> {
        let u32_at = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        let u64_at = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        let bad = |what: &str| Failure::backend(format!("a message of another rank has no valid {what}"));
        if u32_at(0) != MAGIC {
            return Err(bad("beginning"));
        }
        let length = u64_at(40) as usize;
        Ok(Call {
            op: *Op::ALL.get(bytes[4] as usize).ok_or_else(|| bad("operation"))?,
            dtype: *DType::ALL.get(bytes[5] as usize).ok_or_else(|| bad("dtype"))?,
            reduce: match bytes[6] {
                u8::MAX => None,
                kind => Some(*ReduceKind::ALL.get(kind as usize).ok_or_else(|| bad("reduction"))?),
            },
            group: u32_at(8),
            root: u32_at(12) as i32,
            seq: u64_at(16),
            count: u64_at(24),
            bytes: u64_at(32),
            tag: u64_at(48),
            history: u64_at(56),
            line: match bytes[64..].get(..length) {
                Some(line) => String::from_utf8_lossy(line).into_owned(),
                None => return Err(bad("source line")),
            },
        })
    }

    /// Returns true if a message of another rank has as many bytes as its elements have, and as memory can have.
    pub(crate) fn is_message(&self) -> bool {
        self.count.checked_mul(self.dtype.size() as u64) == Some(self.bytes) && self.bytes <= MAX_MESSAGE
    }

    /// Returns true if another rank's call belongs to this one, whatever came before.
    pub fn agrees(&self, other: &Call) -> bool {
        let key = |c: &Call| (c.op, c.dtype, c.reduce, c.group, c.seq, c.root, c.count, c.tag);
        key(self) == key(other)
    }

    /// Returns the `history` of the call after this one.
    pub(crate) fn next_history(&self) -> u64 {
        let kinds = [self.op as u64, self.dtype as u64, self.reduce.map_or(u64::MAX, |kind| kind as u64)];
        let words = kinds.into_iter().chain([self.root as u64, self.count]);
        // Ranks may run on different machines, so the hash depends on nothing but the words.
        words.fold(self.history ^ self.seq, |hash, word| {
            (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
        })
    }

    /// Returns the call in words, such as `all_reduce float32[1024] sum at train.py:31`.
    pub fn text(&self) -> String {
        let mut text = String::from(self.op.name());
        if self.op != Op::Barrier {
            text += &format!(" {}[{}]", self.dtype.name(), self.count);
        }
        if let Some(kind) = self.reduce {
            text += &format!(" {}", kind.name());
        }
        if self.root >= 0 {
            text += &format!(" root={}", self.root);
        }
        if !self.line.is_empty() {
            text += &format!(" at {}", self.line);
        }
        text
    }
}

/// Describes calls of two ranks that do not belong together, and how much one of them sends if that is the reason.
pub(crate) fn disagreement(mut both: [(u32, &Call); 2], sizes: &str) -> String {
    both.sort_by_key(|(rank, _)| *rank);
    let [(a, one), (b, other)] = both;
    let seq = if one.seq == other.seq { format!("#{}", one.seq) } else { format!("#{} and #{}", one.seq, other.seq) };
    format!(
        "the ranks disagree at {seq}: rank {a} calls {}, rank {b} calls {}{sizes}. All ranks of a group must make the \
         same calls in the same order, with the same shapes and dtypes",
        one.text(),
        other.text()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(line: &str) -> Call {
        Call {
            op: Op::AllReduce,
            dtype: DType::F32,
            reduce: Some(ReduceKind::Sum),
            group: 3,
            seq: 417,
            tag: 0,
            history: 0,
            root: -1,
            count: 1024,
            bytes: 4096,
            line: line.into(),
        }
    }

    #[test]
    fn calls_survive_encoding() {
        let one = call("train.py:31");
        assert_eq!(Call::decode(&one.encode()).unwrap(), one);
        assert_eq!(one.text(), "all_reduce float32[1024] sum at train.py:31");
        let long = call(&"ä".repeat(300));
        assert!(long.line.ends_with(&Call::decode(&long.encode()).unwrap().line));
    }

    #[test]
    fn lengths_of_messages_are_not_believed() {
        assert!(call("").is_message() && !Call { bytes: 4095, ..call("") }.is_message());
        assert!(!Call { count: 1 << 62, bytes: 0, ..call("") }.is_message());
        assert!(!Call { count: 1 << 61, bytes: 1 << 63, ..call("") }.is_message());
    }

    #[test]
    fn any_bytes_are_a_call_or_an_error() {
        let mut state = 1u64;
        for round in 0..200_000 {
            let mut bytes = call("a.py:1").encode();
            for _ in 0..1 + round % 5 {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                bytes[(state >> 33) as usize % BYTES] = (state >> 56) as u8;
            }
            if let Ok(decoded) = Call::decode(&bytes) {
                assert!(decoded.line.len() <= 3 * BYTES && !decoded.text().is_empty());
                assert!(!decoded.is_message() || decoded.bytes == decoded.count * decoded.dtype.size() as u64);
            }
        }
    }
}
