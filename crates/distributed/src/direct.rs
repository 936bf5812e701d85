//! Large collectives of one host, in which each rank reads the inputs and writes the outputs of the others in place.
//!
//! Streams copy everything twice, and a rank waits for the others each time a ring is full. Here the ranks exchange
//! addresses, each moves its share by `process_vm_readv` and `process_vm_writev`, and then they wait for each other once.
//! The system allows this to processes of one user, except where a policy or a container forbids it: all ranks try it
//! when the group is made, and use streams if one of them cannot.
//!
//! A rank touches the memory of another one only while that one's door is open (`shm`). A rank whose collective fails
//! closes its door and waits for the hands that are inside, so nobody writes to memory that it uses for something else.

use std::io::Error as IoError;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::call::Call;
use crate::exchange::{self, Place};
use crate::failure::{Failure, Result};
use crate::link::{ALIGN, Link};
use crate::reduce::reduce;
use crate::shm::{Segment, random_name};
use crate::transfer::{Exchange, In, Out, Part};

/// Elements of a rank take at least this many bytes; fewer are faster through streams.
const FROM: u64 = 256 << 10;
/// Contributions that are reduced at a time stay in the second cache.
const SCRATCH: usize = 512 << 10;
/// Bytes that are copied at a time, between two checks for failures.
const COPIED: usize = 1 << 20;
const PAGE: usize = 4096;
/// How long the verdict on a rank that cannot be reached is awaited.
const VERDICT: Duration = Duration::from_secs(15);

/// Where a rank's memory can be found, and what is there.
pub(crate) struct Offer {
    nonce: Box<str>,
}

impl Offer {
    /// Returns this rank's offer, or `None` without random numbers.
    pub(crate) fn new() -> Option<Offer> {
        permit();
        Some(Offer { nonce: random_name().ok()?.into_boxed_str() })
    }

    /// Returns the offer for the other ranks.
    pub(crate) fn text(&self) -> String {
        format!("{} {} {}", std::process::id(), self.nonce.as_ptr() as usize, self.nonce)
    }

    /// Returns the process of another rank if what it offers can be read there.
    pub(crate) fn accept(text: &str) -> Option<i32> {
        let mut words = text.split(' ');
        let (pid, address) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        let nonce = words.next().filter(|nonce| nonce.len() == 32)?;
        let mut found = [0; 32];
        // SAFETY: the array has that many bytes.
        unsafe { transfer(Way::Read, pid, found.as_mut_ptr(), address, found.len()) }.ok()?;
        (found == nonce.as_bytes()).then_some(pid)
    }
}

/// Lets the processes of this process's launcher reach its memory, where the system allows that to ancestors alone
/// (Yama's scope 1).
fn permit() {
    let scope = std::fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    let parent = std::os::unix::process::parent_id();
    if scope.trim() == "1" && parent > 1 {
        // SAFETY: the call reads no memory. Without the permission, streams are used.
        unsafe { libc::prctl(libc::PR_SET_PTRACER, libc::c_ulong::from(parent), 0, 0, 0) };
    }
}

#[derive(Clone, Copy)]
enum Way {
    Read,
    Write,
}

/// Copies `bytes` between this process and another one.
///
/// # Safety
/// `own` has that many bytes, and nothing else uses them.
unsafe fn transfer(way: Way, pid: i32, own: *mut u8, other: u64, bytes: usize) -> std::io::Result<()> {
    let at = |address: *mut libc::c_void| libc::iovec { iov_base: address, iov_len: bytes };
    let (local, remote) = (at(own.cast()), at(other as *mut libc::c_void));
    // SAFETY: as for this function; the system checks the other address.
    let moved = unsafe {
        match way {
            Way::Read => libc::process_vm_readv(pid, &local, 1, &remote, 1, 0),
            Way::Write => libc::process_vm_writev(pid, &local, 1, &remote, 1, 0),
        }
    };
    match moved {
        -1 => Err(IoError::last_os_error()),
        moved if moved as usize == bytes => Ok(()),
        _ => Err(IoError::from_raw_os_error(libc::EFAULT)),
    }
}

/// What a rank says to another one: where that one finds what it gets, and where it may write. 0 stands for what the
/// rank that reduces moves.
#[derive(Clone, Copy, Default)]
#[repr(C)]
struct Addresses {
    send: [u64; 2],
    receive: [u64; 2],
}

impl Addresses {
    fn part(&mut self) -> Part {
        Part { address: std::ptr::from_mut(self).cast(), bytes: size_of::<Addresses>() }
    }
}

/// The memory of the other ranks of a group.
pub(crate) struct Direct {
    segment: Arc<Segment>,
    me: usize,
    processes: Vec<i32>,
    scratch: Mutex<Vec<u128>>,
    /// The other ranks read it until the group ends.
    _offer: Offer,
}

impl Direct {
    pub(crate) fn new(segment: Arc<Segment>, me: usize, processes: Vec<i32>, offer: Offer) -> Direct {
        Direct { segment, me, processes, scratch: Mutex::default(), _offer: offer }
    }

    /// Returns true for calls that move memory in this way. All ranks have the same answer.
    pub(crate) fn suits(&self, call: &Call) -> bool {
        call.count * call.dtype.size() as u64 >= FROM
    }

    /// Returns true if another rank has not said that it is done with this one's memory.
    pub(crate) fn is_touched(&self) -> bool {
        self.segment.is_touched(self.me)
    }

    /// Performs a collective.
    ///
    /// # Errors
    /// As for [`exchange::run`].
    pub(crate) fn run(&self, x: &Exchange, place: &Place, link: &mut dyn Link) -> Result<()> {
        let kept = kept(x);
        let _door = self.segment.open_door(self.me, x.call.seq);
        let mut own: Vec<Addresses> = (0..place.ranks.len()).map(|peer| addresses(x, peer, &kept)).collect();
        let mut theirs = vec![Addresses::default(); own.len()];
        let mut met = x.without_data();
        for peer in (0..own.len()).filter(|&peer| peer != self.me) {
            met.send[peer].push(Out::Ready(own[peer].part()));
            met.receive[peer].push(In::Copy(theirs[peer].part()));
        }
        exchange::run(&met, place, link)?;
        x.copy();
        Moves { direct: self, x, place, theirs: &theirs }.all()?;
        exchange::run(&x.without_data(), place, link)
    }
}

/// Copies of what the reduction overwrites while other ranks read it.
fn kept(x: &Exchange) -> Vec<(*mut u8, Vec<u128>)> {
    let overwritten = x.sent().filter(|part| x.reduction.as_ref().is_some_and(|r| r.target.overlaps(part)));
    let copy = |part: Part| {
        let mut copy = vec![0u128; part.bytes.div_ceil(ALIGN)];
        // SAFETY: both have that many bytes.
        unsafe { std::ptr::copy_nonoverlapping(part.address, copy.as_mut_ptr().cast(), part.bytes) };
        (part.address, copy)
    };
    overwritten.map(copy).collect()
}

fn addresses(x: &Exchange, peer: usize, kept: &[(*mut u8, Vec<u128>)]) -> Addresses {
    let mut all = Addresses::default();
    for (at, out) in all.send.iter_mut().zip(&x.send[peer]) {
        if let Out::Ready(part) = out {
            let copy = kept.iter().find(|(address, _)| *address == part.address);
            *at = copy.map_or(part.address.addr() as u64, |(_, copy)| copy.as_ptr().addr() as u64);
        }
    }
    for (at, input) in all.receive.iter_mut().zip(&x.receive[peer]) {
        if let In::Copy(part) = input {
            *at = part.address.addr() as u64;
        }
    }
    all
}

/// This rank's share of a collective, for which all ranks are ready.
struct Moves<'a> {
    direct: &'a Direct,
    x: &'a Exchange,
    place: &'a Place<'a>,
    theirs: &'a [Addresses],
}

impl Moves<'_> {
    /// The other ranks, beginning with the next one, so that not all read from the same.
    fn others(&self) -> impl Iterator<Item = usize> + use<> {
        let (me, n) = (self.direct.me, self.theirs.len());
        (1..n).map(move |k| (me + k) % n)
    }

    fn all(&self) -> Result<()> {
        self.reduce()?;
        for peer in self.others() {
            for (input, &from) in self.x.receive[peer].iter().zip(&self.theirs[peer].send) {
                if let In::Copy(part) = input
                    && from != 0
                {
                    for at in (0..part.bytes).step_by(COPIED) {
                        let bytes = COPIED.min(part.bytes - at);
                        self.transfer(Way::Read, peer, part.address.wrapping_add(at), from + at as u64, bytes)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Reduces this rank's part and writes the result to the ranks that get it.
    fn reduce(&self) -> Result<()> {
        let Some(r) = &self.x.reduction else { return Ok(()) };
        let (me, n) = (self.direct.me, self.theirs.len());
        let piece = (SCRATCH / n).max(PAGE) / PAGE * PAGE;
        let mut scratch = self.direct.scratch.lock().unwrap_or_else(|e| e.into_inner());
        scratch.resize(n * piece / ALIGN, 0);
        let scratch: *mut u8 = scratch.as_mut_ptr().cast();
        let mut sources: Vec<*const u8> = (0..n).map(|peer| scratch.wrapping_add(peer * piece).cast_const()).collect();
        for at in (0..r.target.bytes).step_by(piece) {
            let bytes = piece.min(r.target.bytes - at);
            for peer in self.others() {
                for (input, &from) in self.x.receive[peer].iter().zip(&self.theirs[peer].send) {
                    if matches!(input, In::Contribution) {
                        let own = scratch.wrapping_add(peer * piece);
                        self.transfer(Way::Read, peer, own, from + at as u64, bytes)?;
                    }
                }
            }
            sources[me] = r.own.address.wrapping_add(at);
            let target = r.target.address.wrapping_add(at);
            // SAFETY: all parts have these bytes.
            unsafe { reduce(r.kind, r.dtype, target, &sources, bytes) };
            for peer in self.others() {
                for (out, &to) in self.x.send[peer].iter().zip(&self.theirs[peer].receive) {
                    if matches!(out, Out::Reduced) {
                        self.transfer(Way::Write, peer, target, to + at as u64, bytes)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Copies between this rank and another one.
    fn transfer(&self, way: Way, peer: usize, own: *mut u8, other: u64, bytes: usize) -> Result<()> {
        let call = &self.x.call;
        if let Some(verdict) = self.place.session.verdict() {
            return Err(self.place.failed_with(call, verdict));
        }
        self.place.interrupted(call)?;
        let Some(_hand) = self.direct.segment.touch(self.direct.me, peer, call.seq) else {
            return Err(self.lost(peer, "it left the collective"));
        };
        // SAFETY: the caller's part of this rank's memory.
        unsafe { transfer(way, self.direct.processes[peer], own, other, bytes) }
            .map_err(|e| self.lost(peer, &e.to_string()))
    }

    /// Returns the failure of a rank whose memory cannot be reached: that of the job, which arrives soon if the rank
    /// died or failed.
    fn lost(&self, peer: usize, why: &str) -> Failure {
        let (start, session) = (Instant::now(), self.place.session);
        while start.elapsed() < VERDICT {
            if let Some(verdict) = session.verdict() {
                return self.place.failed_with(&self.x.call, verdict);
            }
            if let Err(interrupted) = self.place.interrupted(&self.x.call) {
                return interrupted;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let rank = self.place.ranks[peer];
        session.fail(&format!(
            "rank {} cannot reach the memory of rank {rank} in #{} {}: {why}; CUPROUS_DISTRIBUTED_TRANSPORT=shm does \
             without",
            self.place.ranks[self.direct.me],
            self.x.call.seq,
            self.x.call.text()
        ))
    }
}
