//! What the ranks of a group call, where the transport itself does not compare it: a GPU library that is given different
//! calls hangs, or computes nonsense.
//!
//! Ranks send each other their calls over the control plane some moments later. The next rank of the group gets all of
//! them, so that all ranks agree if each agrees with the one before it; the others get the latest, so that all know who
//! is where. Nothing here waits. A call that is no longer kept when another rank's arrives is compared by the history of
//! the calls after it.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use crate::call::{Call, Op, disagreement};

/// Calls of this rank that are kept for comparison, and calls of a rank that is ahead.
const KEPT: usize = 4096;
/// From so many calls on they are sent before it is time.
const MANY: u64 = KEPT as u64 / 4;

/// A call with the bytes for and from each rank, where those differ.
pub(crate) struct Entry {
    pub(crate) call: Call,
    /// Sent and received, by rank of the group; empty if the call says it all.
    pub(crate) bytes: [Vec<u64>; 2],
}

#[derive(Default)]
struct Book {
    /// Collectives of this rank, the latest last.
    own: VecDeque<Entry>,
    /// The history of the next one.
    history: u64,
    /// The number of the last call of the rank before this one that was compared.
    compared: u64,
    /// Calls by rank that this one has not made yet.
    ahead: Vec<VecDeque<Call>>,
    /// The number of the latest call of each rank.
    latest: Vec<u64>,
    /// The number of the last call that each rank was sent.
    sent: Vec<u64>,
    /// Messages of this rank that their receiver was not sent yet.
    outgoing: Vec<VecDeque<Call>>,
    /// Messages that this rank expects, and that ranks said they send, in order.
    expected: Vec<VecDeque<Call>>,
    announced: Vec<VecDeque<Call>>,
    /// For each rank that has left the group, the number of its last call and the time at which it left.
    ended: Vec<Option<(u64, Instant)>>,
}

/// The calls of a group.
pub(crate) struct Ledger {
    ranks: Vec<u32>,
    me: usize,
    book: Mutex<Book>,
}

impl Ledger {
    pub(crate) fn new(ranks: Vec<u32>, me: usize) -> Ledger {
        let n = ranks.len();
        let queues = || (0..n).map(|_| VecDeque::new()).collect();
        let book = Book {
            own: VecDeque::new(),
            history: 0,
            compared: 0,
            ahead: queues(),
            latest: vec![0; n],
            sent: vec![0; n],
            outgoing: queues(),
            expected: queues(),
            announced: queues(),
            ended: vec![None; n],
        };
        Ledger { ranks, me, book: Mutex::new(book) }
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Notes a collective of this rank. Returns what is wrong if another rank is known to call something else.
    pub(crate) fn record(&self, mut entry: Entry) -> Option<String> {
        let mut book = self.book();
        entry.call.history = book.history;
        book.history = entry.call.next_history();
        let seq = entry.call.seq;
        let mut wrong = None;
        for peer in 0..self.ranks.len() {
            while book.ahead[peer].front().is_some_and(|call| call.seq <= seq) {
                let call = book.ahead[peer].pop_front().expect("it has a front");
                if call.seq == seq {
                    let skipped = self.skipped(&mut book, peer, seq);
                    wrong = wrong.or_else(|| self.compare(&entry, peer, &call, skipped));
                }
            }
        }
        if book.own.len() == KEPT {
            book.own.pop_front();
        }
        book.own.push_back(entry);
        wrong
    }

    /// Notes a message that this rank sends or receives.
    pub(crate) fn record_message(&self, is_send: bool, peer: usize, call: Call) -> Option<String> {
        let mut book = self.book();
        if is_send {
            book.outgoing[peer].push_back(call);
            return None;
        }
        book.expected[peer].push_back(call);
        self.match_messages(&mut book, peer)
    }

    /// Notes a call of another rank. Returns what is wrong if this rank calls something else.
    pub(crate) fn hear(&self, rank: u32, call: Call) -> Option<String> {
        let peer = self.ranks.iter().position(|&other| other == rank)?;
        let mut book = self.book();
        if call.op == Op::Send {
            if book.announced[peer].len() < KEPT {
                book.announced[peer].push_back(call);
            }
            return self.match_messages(&mut book, peer);
        }
        if call.seq <= book.latest[peer] {
            return None;
        }
        book.latest[peer] = call.seq;
        match book.own.back().map(|entry| entry.call.seq) {
            Some(last) if call.seq <= last => {
                let back = (last - call.seq) as usize;
                let at = book.own.len().checked_sub(1 + back)?;
                let skipped = self.skipped(&mut book, peer, call.seq);
                self.compare(&book.own[at], peer, &call, skipped)
            }
            _ => {
                if book.ahead[peer].len() < KEPT {
                    book.ahead[peer].push_back(call);
                }
                None
            }
        }
    }

    /// Notes that a call is compared. Returns true if it is the first after some that were not, of the rank that sends
    /// all of its calls to this one.
    fn skipped(&self, book: &mut Book, peer: usize, seq: u64) -> bool {
        let before = (self.me + self.ranks.len() - 1) % self.ranks.len();
        peer == before && std::mem::replace(&mut book.compared, seq) + 1 < seq
    }

    /// Compares calls of the same number, and their histories if calls before them were `skipped`.
    fn compare(&self, own: &Entry, peer: usize, call: &Call, skipped: bool) -> Option<String> {
        let expected = own.bytes[1].get(peer).copied();
        let (me, other) = (self.ranks[self.me], self.ranks[peer]);
        let agrees = own.call.agrees(call);
        if agrees && skipped && call.history != own.call.history {
            return Some(format!(
                "the ranks disagree before #{}, which is {} on rank {me} and rank {other}: an earlier call of theirs had \
                 another operation, shape, dtype or root. All ranks of a group must make the same calls in the same order",
                call.seq,
                own.call.text()
            ));
        }
        if agrees && expected.is_none_or(|bytes| bytes == call.bytes) {
            return None;
        }
        let sizes = match expected {
            Some(bytes) if agrees => {
                format!(" (rank {other} sends {} bytes to rank {me}, which expects {bytes})", call.bytes)
            }
            _ => String::new(),
        };
        Some(disagreement([(me, &own.call), (other, call)], &sizes))
    }

    fn match_messages(&self, book: &mut Book, peer: usize) -> Option<String> {
        while let (Some(expected), Some(sent)) = (book.expected[peer].front(), book.announced[peer].front()) {
            if (expected.dtype, expected.count, expected.tag) != (sent.dtype, sent.count, sent.tag) {
                let say = |call: &Call| Call { root: -1, ..call.clone() }.text();
                return Some(format!(
                    "the ranks disagree about a message: rank {} calls {} with tag {}, but rank {} expects {} with tag {}. \
                     Messages of GPUs match in the order in which they are sent",
                    self.ranks[peer],
                    say(sent),
                    sent.tag,
                    self.ranks[self.me],
                    say(expected).replacen("send", "recv", 1),
                    expected.tag
                ));
            }
            book.expected[peer].pop_front();
            book.announced[peer].pop_front();
        }
        None
    }

    /// Returns true if the next rank lacks so many calls that some may be forgotten before it compares them.
    pub(crate) fn is_late(&self) -> bool {
        let book = self.book();
        let sent = book.sent[(self.me + 1) % self.ranks.len()];
        book.own.back().is_some_and(|entry| entry.call.seq - sent >= MANY)
    }

    /// Returns what each other rank has not been sent yet, by world rank.
    pub(crate) fn unsent(&self) -> Vec<(u32, Vec<Call>)> {
        let mut book = self.book();
        let n = self.ranks.len();
        let Book { own, sent, outgoing, .. } = &mut *book;
        let last = own.back().map_or(0, |entry| entry.call.seq);
        let mut all = Vec::new();
        for peer in (0..n).filter(|&peer| peer != self.me) {
            let new = ((last - sent[peer]) as usize).min(own.len());
            let count = if peer == (self.me + 1) % n { new } else { new.min(1) };
            sent[peer] = last;
            let for_peer = |entry: &Entry| {
                let bytes = entry.bytes[0].get(peer).copied().unwrap_or(entry.call.bytes);
                Call { bytes, ..entry.call.clone() }
            };
            let mut calls: Vec<Call> = own.iter().skip(own.len() - count).map(for_peer).collect();
            calls.extend(outgoing[peer].drain(..));
            if !calls.is_empty() {
                all.push((self.ranks[peer], calls));
            }
        }
        all
    }

    /// Notes that a rank calls nothing more after that number.
    pub(crate) fn end(&self, rank: u32, seq: u64) {
        if let Some(peer) = self.ranks.iter().position(|&other| other == rank) {
            self.book().ended[peer].get_or_insert((seq, Instant::now()));
        }
    }

    /// Returns true if all other ranks have left.
    pub(crate) fn have_ended(&self) -> bool {
        let book = self.book();
        (0..self.ranks.len()).all(|peer| peer == self.me || book.ended[peer].is_some())
    }

    /// Returns a rank that has left without the call of that number.
    pub(crate) fn gone_before(&self, seq: u64) -> Option<u32> {
        let gone = |ended: &Option<(u64, Instant)>| ended.is_some_and(|(last, _)| last < seq);
        self.book().ended.iter().position(gone).map(|peer| self.ranks[peer])
    }

    /// Returns how long ago a rank of the group left, if it has.
    pub(crate) fn gone_for(&self, peer: usize) -> Option<Duration> {
        self.book().ended[peer].map(|(_, since)| since.elapsed())
    }

    /// Returns the ranks that are not known to have made the call of that number.
    pub(crate) fn behind(&self, seq: u64) -> Vec<u32> {
        let book = self.book();
        let others = (0..self.ranks.len()).filter(|&peer| peer != self.me);
        others.filter(|&peer| book.latest[peer] < seq).map(|peer| self.ranks[peer]).collect()
    }
}

#[cfg(test)]
mod tests {
    use cuprous_core::DType;

    use super::*;

    fn entry(seq: u64, count: u64) -> Entry {
        let call = Call {
            op: Op::AllReduce,
            dtype: DType::F32,
            reduce: None,
            group: 0,
            seq,
            tag: 0,
            root: -1,
            count,
            history: 0,
            bytes: 0,
            line: format!("a.py:{seq}"),
        };
        Entry { call, bytes: [Vec::new(), Vec::new()] }
    }

    /// Moves all that is unsent between the ledgers of ranks 0, 1, …; returns what is wrong.
    fn talk(all: &[Ledger]) -> Vec<String> {
        let mut wrong = Vec::new();
        for (from, ledger) in all.iter().enumerate() {
            for (to, calls) in ledger.unsent() {
                wrong.extend(calls.into_iter().filter_map(|call| all[to as usize].hear(from as u32, call)));
            }
        }
        wrong
    }

    #[test]
    fn a_different_call_is_found_whoever_is_ahead() {
        for late in 0..3 {
            let all: Vec<Ledger> = (0..3).map(|me| Ledger::new(vec![0, 1, 2], me)).collect();
            for (rank, ledger) in all.iter().enumerate().filter(|(rank, _)| *rank != late) {
                for seq in 1..=10 {
                    assert!(ledger.record(entry(seq, if seq == 7 && rank == 1 { 5 } else { 4 })).is_none());
                }
            }
            let mut wrong = talk(&all);
            wrong.extend(
                (1..=10).filter_map(|seq| all[late].record(entry(seq, if seq == 7 && late == 1 { 5 } else { 4 }))),
            );
            wrong.extend(talk(&all));
            assert!(!wrong.is_empty() && wrong.iter().all(|text| text.contains("#7: ")), "{late}: {wrong:?}");
            assert!(wrong[0].contains("rank 1 calls all_reduce float32[5] at a.py:7"), "{}", wrong[0]);
        }
    }

    #[test]
    fn a_different_call_is_found_when_its_own_comparison_comes_too_late() {
        for (one, other) in [(0, 1), (1, 0)] {
            let all: Vec<Ledger> = (0..2).map(|me| Ledger::new(vec![0, 1], me)).collect();
            for seq in 1..=3 * KEPT as u64 {
                assert!(all[one].record(entry(seq, if seq == 7 { 5 } else { 4 })).is_none());
                assert!(all[other].record(entry(seq, 4)).is_none());
            }
            assert!(all[one].is_late());
            let wrong = talk(&all);
            assert!(!wrong.is_empty() && wrong.iter().all(|text| text.contains("disagree before #")), "{wrong:?}");
            assert!(!all[one].is_late());
        }
    }

    #[test]
    fn ranks_that_agree_are_left_alone_and_those_behind_are_known() {
        let all: Vec<Ledger> = (0..4).map(|me| Ledger::new(vec![0, 1, 2, 3], me)).collect();
        for seq in 1..=3 * KEPT as u64 {
            all[..3].iter().for_each(|ledger| assert!(ledger.record(entry(seq, 1)).is_none()));
            if seq % 1000 == 0 {
                assert!(talk(&all).is_empty());
            }
        }
        talk(&all);
        assert_eq!(all[0].behind(5), [3]);
        assert!(all[0].unsent().is_empty());
    }

    #[test]
    fn a_rank_that_has_left_lacks_only_later_calls() {
        let ledger = Ledger::new(vec![0, 5, 7], 0);
        ledger.end(7, 3);
        assert!(!ledger.have_ended() && ledger.gone_for(1).is_none() && ledger.gone_for(2).is_some());
        assert_eq!((ledger.gone_before(3), ledger.gone_before(4)), (None, Some(7)));
        ledger.end(5, 9);
        assert!(ledger.have_ended());
    }

    #[test]
    fn messages_match_in_order() {
        let message = |count| Call { op: Op::Send, ..entry(1, count).call };
        let all: Vec<Ledger> = (0..2).map(|me| Ledger::new(vec![0, 1], me)).collect();
        assert!(all[0].record_message(true, 1, message(3)).is_none());
        assert!(all[0].record_message(true, 1, message(4)).is_none());
        assert!(all[1].record_message(false, 0, message(3)).is_none());
        assert!(talk(&all).is_empty());
        let wrong = all[1].record_message(false, 0, message(5)).unwrap();
        assert!(wrong.contains("rank 0 calls send float32[4] at a.py:1 with tag 0"), "{wrong}");
        assert!(wrong.contains("rank 1 expects recv float32[5] at a.py:1"), "{wrong}");
    }
}
