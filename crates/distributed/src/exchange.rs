//! One collective as bytes that each rank sends to and receives from each other one.
//!
//! Every rank sends every other rank its call first, and a collective ends when the calls of all ranks have arrived and
//! agree. So a rank that calls something else is found out by all others, whoever has data for whom.

use std::time::{Duration, Instant};

use crate::call::{self, Call, disagreement};
use crate::failure::{Failure, Result};
use crate::link::{ALIGN, Closed, Interest, Link, padded};
use crate::mesh::{NOTICE, names};
use crate::reduce::reduce;
use crate::session::Session;
use crate::stop;
use crate::transfer::{Exchange, In, Out};
use crate::waits::NOTED;

/// Bytes that are reduced at a time: the contributions of a few ranks stay in the second cache.
const PIECE: usize = 64 << 10;
/// The longest sleep between two looks for Ctrl-C, verdicts and timeouts.
const SLICE: Duration = Duration::from_millis(50);
/// How long data of a rank that has left may still be on its way once it is known that it has left.
pub(crate) const LAST_DATA: Duration = Duration::from_millis(300);
static ZEROS: [u8; ALIGN] = [0; ALIGN];

/// The group as an exchange needs it.
pub(crate) struct Place<'a> {
    pub(crate) session: &'a Session,
    pub(crate) ranks: &'a [u32],
    pub(crate) me: usize,
    pub(crate) timeout: Duration,
}

impl Place<'_> {
    /// Ends the job if the user interrupts the main thread in a call.
    ///
    /// # Errors
    /// The user did.
    pub(crate) fn interrupted(&self, call: &Call) -> Result<()> {
        stop::check().inspect_err(|_| {
            let rank = self.ranks[self.me];
            self.session.fail(&format!("rank {rank} was interrupted by its user in #{} {}", call.seq, call.text()));
        })
    }

    /// Ends the job, because a rank sends another number of bytes to this one than it expects.
    pub(crate) fn sizes_differ(&self, own: &Call, peer: usize, other: &Call, sent: u64, expected: usize) -> Failure {
        let (rank, me) = (self.ranks[peer], self.ranks[self.me]);
        let sizes = format!(" (rank {rank} sends {sent} bytes to rank {me}, which expects {expected})");
        self.session.fail(&disagreement([(me, own), (rank, other)], &sizes))
    }

    /// Names the call of this rank in a failure that another part of the process, or another rank, found.
    pub(crate) fn failed_with(&self, call: &Call, verdict: Failure) -> Failure {
        let own = format!("rank {} was in #{} {}", self.ranks[self.me], call.seq, call.text());
        match verdict.message.contains(&own) {
            true => verdict,
            false => Failure { message: format!("{}\n  {own}", verdict.message), ..verdict },
        }
    }
}

#[derive(Default)]
struct Progress {
    header_out: usize,
    header_in: bool,
    out: usize,
    out_at: usize,
    input: usize,
    in_at: usize,
    /// The stream takes nothing more now.
    is_full: bool,
    is_closed: bool,
}

struct Run<'a> {
    x: &'a Exchange,
    place: &'a Place<'a>,
    link: &'a mut dyn Link,
    peers: Vec<Progress>,
    reduced: usize,
    sources: Vec<*const u8>,
    /// True if the reduction overwrites what is sent, which must be on its way first.
    overwrites: bool,
}

/// Performs a collective.
///
/// # Errors
/// A rank disagrees, died, left, or did not come in time. The job has then failed for all ranks.
pub(crate) fn run(x: &Exchange, place: &Place, link: &mut dyn Link) -> Result<()> {
    x.copy();
    place.session.note(place.ranks[place.me], &x.call);
    let peers = place.ranks.iter().map(|_| Progress::default()).collect();
    let sources = vec![std::ptr::null(); place.ranks.len()];
    let overwrites = x.reduction.as_ref().is_some_and(|r| x.sent().any(|part| r.target.overlaps(&part)));
    Run { x, place, link, peers, reduced: 0, sources, overwrites }.finish()
}

impl Run<'_> {
    fn others(&self) -> impl Iterator<Item = usize> + use<> {
        let me = self.place.me;
        (0..self.place.ranks.len()).filter(move |&peer| peer != me)
    }

    fn finish(&mut self) -> Result<()> {
        let headers: Vec<[u8; call::BYTES]> = (0..self.peers.len()).map(|peer| self.header(peer)).collect();
        let start = Instant::now();
        let (mut left_since, mut notice, mut looks) = (None, NOTICE, 0u32);
        let mut interest = vec![Interest::default(); self.peers.len()];
        let mut waiting = self.place.session.waiting();
        loop {
            self.link.begin();
            let (mut moved, mut done) = (false, true);
            for peer in self.others() {
                let sent = self.send(peer, &headers[peer]);
                let received = self.receive(peer)?;
                // A rank whose stream ended is waited for until the control plane says why.
                moved |= sent | received;
                let p = &self.peers[peer];
                let write = p.header_out < call::BYTES || p.out < self.x.send[peer].len();
                let read = !p.header_in || p.input < self.x.receive[peer].len();
                interest[peer] = Interest { read: read && !p.is_closed, write: p.is_full && !p.is_closed };
                done &= !read && !write;
            }
            moved |= self.reduce();
            done &= self.x.reduction.as_ref().is_none_or(|r| self.reduced >= padded(r.target.bytes));
            done &= self.link.flush();
            if done {
                return Ok(());
            }
            looks = looks.wrapping_add(1);
            if moved {
                left_since = None;
                waiting.clear();
                // The main thread's Ctrl-C, in a long transfer too.
                if looks % 64 == 0 {
                    self.place.interrupted(&self.x.call)?;
                }
                continue;
            }
            self.link.wait(&interest, SLICE);
            if let Some(verdict) = self.place.session.verdict() {
                return Err(self.place.failed_with(&self.x.call, verdict));
            }
            self.place.interrupted(&self.x.call)?;
            let waited = start.elapsed();
            self.check_left(&mut left_since)?;
            if waited >= NOTED {
                let call = &self.x.call;
                waiting.note(self.awaited(), format!("#{} {}", call.seq, call.text()));
            }
            if waited >= notice {
                eprintln!("[cuprous] {}", self.stuck(waited));
                notice += Duration::from_secs(60);
            }
            let timeout = self.x.timeout.unwrap_or(self.place.timeout);
            if waited >= timeout {
                let causes = self.place.session.explain(&self.awaited());
                let text = format!("{}{causes}; the timeout is {} s", self.stuck(waited), timeout.as_secs_f32());
                return Err(self.place.session.fail(&text));
            }
        }
    }

    fn header(&self, peer: usize) -> [u8; call::BYTES] {
        let length = |out: &Out| match out {
            Out::Ready(part) => part.bytes,
            Out::Reduced => self.x.reduction.as_ref().map_or(0, |r| r.target.bytes),
        };
        let bytes = self.x.send[peer].iter().map(length).sum::<usize>() as u64;
        Call { bytes, ..self.x.call.clone() }.encode()
    }

    /// Sends what fits. Returns true if something was sent.
    fn send(&mut self, peer: usize, header: &[u8; call::BYTES]) -> bool {
        let Run { x, link, peers, reduced, .. } = self;
        let p = &mut peers[peer];
        if p.is_closed {
            return false;
        }
        let mut moved = false;
        p.is_full = false;
        while p.header_out < call::BYTES {
            match link.write(peer, &header[p.header_out..]) {
                Ok(0) => {
                    p.is_full = true;
                    return moved;
                }
                Ok(count) => p.header_out += count,
                Err(Closed) => {
                    p.is_closed = true;
                    return moved;
                }
            }
            moved = true;
        }
        while let Some(out) = x.send[peer].get(p.out) {
            let (part, ready) = match out {
                Out::Ready(part) => (*part, part.bytes),
                Out::Reduced => {
                    let target = x.reduction.as_ref().map(|r| r.target).expect("it sends a reduction");
                    (target, (*reduced).min(target.bytes))
                }
            };
            let bytes = if p.out_at >= part.bytes {
                &ZEROS[..padded(part.bytes) - p.out_at]
            } else {
                // SAFETY: the part is this operation's, and its first `ready` bytes are not written any more.
                unsafe { std::slice::from_raw_parts(part.address.add(p.out_at), ready - p.out_at) }
            };
            if !bytes.is_empty() {
                match link.write(peer, bytes) {
                    Ok(0) => {
                        p.is_full = true;
                        return moved;
                    }
                    Ok(count) => p.out_at += count,
                    Err(Closed) => {
                        p.is_closed = true;
                        return moved;
                    }
                }
                moved = true;
            }
            if p.out_at >= padded(part.bytes) {
                (p.out, p.out_at) = (p.out + 1, 0);
            } else if p.out_at == ready && ready < part.bytes {
                return moved;
            }
        }
        moved
    }

    /// Takes what has arrived, up to the next contribution. Returns true if something was taken.
    fn receive(&mut self, peer: usize) -> Result<bool> {
        let mut moved = false;
        if self.peers[peer].is_closed {
            return Ok(false);
        }
        if !self.peers[peer].header_in {
            match self.link.readable(peer, call::BYTES) {
                Ok((_, count)) if count < call::BYTES => return Ok(false),
                Ok((address, _)) => {
                    // SAFETY: that many bytes have arrived.
                    let bytes = unsafe { address.cast::<[u8; call::BYTES]>().read() };
                    self.link.consume(peer, call::BYTES);
                    self.peers[peer].header_in = true;
                    self.check(peer, &bytes)?;
                    moved = true;
                }
                Err(Closed) => {
                    self.peers[peer].is_closed = true;
                    return Ok(false);
                }
            }
        }
        let Run { x, link, peers, .. } = self;
        let p = &mut peers[peer];
        if p.input == 0 && x.reduction.as_ref().is_some_and(|r| r.target.bytes == 0) {
            p.input = 1;
        }
        while let Some(In::Copy(part)) = x.receive[peer].get(p.input) {
            let left = padded(part.bytes) - p.in_at;
            if left > 0 {
                let Ok((address, count)) = link.readable(peer, left) else {
                    p.is_closed = true;
                    return Ok(moved);
                };
                let count = count.min(left);
                if count == 0 {
                    return Ok(moved);
                }
                let real = count.min(part.bytes.saturating_sub(p.in_at));
                // SAFETY: so many bytes have arrived, and the part has room for them.
                unsafe { std::ptr::copy_nonoverlapping(address, part.address.add(p.in_at), real) };
                link.consume(peer, count);
                p.in_at += count;
                moved = true;
            }
            if p.in_at >= padded(part.bytes) {
                (p.input, p.in_at) = (p.input + 1, 0);
            }
        }
        Ok(moved)
    }

    /// Reduces the contributions that all ranks have sent. Returns true if there were some.
    fn reduce(&mut self) -> bool {
        let Some(r) = &self.x.reduction else { return false };
        let total = padded(r.target.bytes);
        let mut moved = false;
        if self.overwrites && self.others().any(|peer| self.peers[peer].out < self.x.send[peer].len()) {
            return false;
        }
        while self.reduced < total {
            let mut piece = PIECE.min(total - self.reduced);
            for peer in self.others() {
                let p = &mut self.peers[peer];
                if !p.header_in || p.is_closed {
                    return moved;
                }
                match self.link.readable(peer, piece) {
                    Ok((address, count)) => {
                        self.sources[peer] = address;
                        piece = piece.min(count);
                    }
                    Err(Closed) => p.is_closed = true,
                }
            }
            if piece == 0 || self.others().any(|peer| self.peers[peer].is_closed) {
                return moved;
            }
            let real = piece.min(r.target.bytes - self.reduced);
            self.sources[self.place.me] = r.own.address.wrapping_add(self.reduced);
            // SAFETY: `real` bytes have arrived from each rank, and both parts have them.
            unsafe { reduce(r.kind, r.dtype, r.target.address.add(self.reduced), &self.sources, real) };
            self.reduced += piece;
            for peer in self.others() {
                self.link.consume(peer, piece);
                if self.reduced >= total {
                    self.peers[peer].input += 1;
                }
            }
            moved = true;
            // What is reduced can be sent while the rest arrives.
            if self.x.send.iter().flatten().any(|out| matches!(out, Out::Reduced)) {
                return true;
            }
        }
        moved
    }

    /// Compares another rank's call with this one's.
    fn check(&mut self, peer: usize, bytes: &[u8; call::BYTES]) -> Result<()> {
        let (session, ranks) = (self.place.session, self.place.ranks);
        let other = Call::decode(bytes).map_err(|f| session.fail(&format!("rank {}: {f}", ranks[peer])))?;
        session.note(ranks[peer], &other);
        let own = &self.x.call;
        let length = |input: &In| match input {
            In::Copy(part) => part.bytes,
            In::Contribution => self.x.reduction.as_ref().map_or(0, |r| r.target.bytes),
        };
        let expected: usize = self.x.receive[peer].iter().map(length).sum();
        if own.agrees(&other) && other.bytes == expected as u64 {
            return Ok(());
        }
        Err(match own.agrees(&other) {
            true => self.place.sizes_differ(own, peer, &other, other.bytes, expected),
            false => session.fail(&disagreement([(ranks[self.place.me], own), (ranks[peer], &other)], "")),
        })
    }

    /// Returns the ranks whose call or data has not arrived, or that do not take what is sent to them.
    fn awaited(&mut self) -> Vec<u32> {
        let Run { x, place, link, peers, .. } = self;
        let (n, me) = (peers.len(), place.me);
        let awaits = |&peer: &usize| {
            let p = &peers[peer];
            let expects = p.input < x.receive[peer].len();
            !p.header_in || p.is_full || expects && link.readable(peer, 1).map_or(true, |(_, count)| count == 0)
        };
        (0..n).filter(|&peer| peer != me).filter(awaits).map(|peer| place.ranks[peer]).collect()
    }

    fn stuck(&mut self, waited: Duration) -> String {
        let awaited = self.awaited();
        let me = self.place.ranks[self.place.me];
        let call = &self.x.call;
        let mut text = format!("rank {me} has waited {} s in #{} {}", waited.as_secs(), call.seq, call.text());
        text += &format!(" for {}", names(&awaited));
        for rank in awaited {
            text += &format!("; rank {rank}: {}", self.place.session.last(rank));
        }
        text
    }

    /// Returns an error if a rank that this one waits for has left, and nothing of it has arrived since that was known.
    ///
    /// What a rank sent last may be taken only after the news that it has left: then the exchange goes on.
    fn check_left(&self, since: &mut Option<Instant>) -> Result<()> {
        for peer in self.others() {
            let p = &self.peers[peer];
            let waits = !p.header_in || p.input < self.x.receive[peer].len() || p.out < self.x.send[peer].len();
            let rank = self.place.ranks[peer];
            if waits && let Some(last) = self.place.session.left(rank) {
                if since.get_or_insert_with(Instant::now).elapsed() < LAST_DATA {
                    return Ok(());
                }
                let text = format!(
                    "rank {rank} left the job ({last}), while rank {} waits for it in #{} {}. If ranks have different \
                     numbers of batches, use DistributedDataParallel's join(), or a DistributedSampler",
                    self.place.ranks[self.place.me],
                    self.x.call.seq,
                    self.x.call.text()
                );
                return Err(self.place.session.fail(&text));
            }
        }
        Ok(())
    }
}
