//! Large collectives of one host, in which each rank reads the inputs and writes the outputs of the others in place.
//!
//! Streams copy everything twice, and a rank waits for the others each time a ring is full. Here the ranks exchange
//! addresses, each moves its share by `process_vm_readv` and `process_vm_writev`, and then they wait for each other once.
//! The system allows this to processes of one user, except where a policy or a container forbids it: all ranks try it
//! when the group is made, and use streams if one of them cannot.
//!
//! A rank touches the memory of another one only while that one's door is open (`shm`). A rank whose collective fails
//! closes its door and waits for the hands that are inside, so nobody writes to memory that it uses for something else.
//! A rank that was killed leaves its door open, and its number may belong to another process soon: a descriptor of the
//! process says that it still runs.

use std::collections::BTreeMap;
use std::io::Error as IoError;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use crate::call::{Call, Op};
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
/// The same if the system says that it forbids to reach it, which no verdict will explain.
const FORBIDDEN: Duration = Duration::from_millis(200);

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
    pub(crate) fn accept(text: &str) -> Option<Arc<Process>> {
        let mut words = text.split(' ');
        let (pid, address) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        let nonce = words.next().filter(|nonce| nonce.len() == 32)?;
        let process = Process::of(pid)?;
        let mut found = [0; 32];
        // SAFETY: the array has that many bytes.
        unsafe { process.transfer(Way::Read, found.as_mut_ptr(), address, found.len()) }.ok()?;
        (found == nonce.as_bytes()).then_some(process)
    }
}

/// A process whose memory is reached.
pub(crate) struct Process {
    pid: i32,
    /// Refers to this process alone, unlike the number, which the system gives to another one later.
    watch: OwnedFd,
}

/// Processes that groups reach: all groups have the same descriptors.
static REACHED: Mutex<BTreeMap<i32, Weak<Process>>> = Mutex::new(BTreeMap::new());

impl Process {
    /// Returns the running process of that number, if this process may copy from and to others at all.
    fn of(pid: i32) -> Option<Arc<Process>> {
        // A policy may forbid one of the two calls, also later: what is allowed here is allowed for the others' memory if
        // reading is.
        let (from, mut to) = ([1u8], [0u8]);
        // SAFETY: both arrays have one byte, and the second one is not used meanwhile.
        unsafe {
            copy(Way::Write, std::process::id() as i32, from.as_ptr().cast_mut(), to.as_mut_ptr().addr() as u64, 1)
        }
        .ok()?;
        if to != from {
            return None;
        }
        let mut reached = REACHED.lock().unwrap_or_else(|e| e.into_inner());
        if let Some(known) = reached.get(&pid).and_then(Weak::upgrade).filter(|known| known.runs()) {
            return Some(known);
        }
        // SAFETY: the call reads no memory.
        let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
        // SAFETY: a new descriptor, which nobody else has.
        let watch = (fd >= 0).then(|| unsafe { OwnedFd::from_raw_fd(fd as i32) })?;
        let process = Arc::new(Process { pid, watch });
        reached.insert(pid, Arc::downgrade(&process));
        Some(process)
    }

    /// Returns true until the process ends.
    fn runs(&self) -> bool {
        let mut polled = libc::pollfd { fd: self.watch.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: the array has one entry.
        unsafe { libc::poll(&mut polled, 1, 0) == 0 }
    }

    /// Copies `bytes` between this process and the other one.
    ///
    /// # Safety
    /// `own` has that many bytes, and nothing else uses them.
    unsafe fn transfer(&self, way: Way, own: *mut u8, other: u64, bytes: usize) -> std::io::Result<()> {
        if !self.runs() {
            return Err(IoError::from_raw_os_error(libc::ESRCH));
        }
        // SAFETY: as for this function.
        unsafe { copy(way, self.pid, own, other, bytes) }
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

/// Copies `bytes` between this process and the one of that number.
///
/// # Safety
/// `own` has that many bytes, and nothing else uses them.
unsafe fn copy(way: Way, pid: i32, own: *mut u8, other: u64, bytes: usize) -> std::io::Result<()> {
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
    /// The size of what the other rank gets, which may be another one for each rank in `all_to_all`.
    bytes: u64,
    /// The largest of these sizes.
    most: u64,
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
    processes: Vec<Arc<Process>>,
    scratch: Mutex<Vec<u128>>,
    /// The other ranks read it until the group ends.
    _offer: Offer,
}

impl Direct {
    pub(crate) fn new(segment: Arc<Segment>, me: usize, processes: Vec<Arc<Process>>, offer: Offer) -> Direct {
        Direct { segment, me, processes, scratch: Mutex::default(), _offer: offer }
    }

    /// Returns true for calls that may move memory in this way. All ranks have the same answer.
    pub(crate) fn suits(&self, call: &Call) -> bool {
        call.op == Op::AllToAll || call.count * call.dtype.size() as u64 >= FROM
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
        if x.call.op == Op::AllToAll {
            self.check(x, place, &theirs)?;
            if own.iter().chain(&theirs).all(|each| each.most < FROM) {
                return exchange::run(x, place, link);
            }
        }
        x.copy();
        Moves { direct: self, x, place, theirs: &theirs }.all()?;
        exchange::run(&x.without_data(), place, link)
    }

    /// Compares what the other ranks send with what this one expects.
    fn check(&self, x: &Exchange, place: &Place, theirs: &[Addresses]) -> Result<()> {
        for (peer, input) in x.receive.iter().enumerate().filter_map(|(peer, all)| Some((peer, all.first()?))) {
            let In::Copy(part) = input else { continue };
            if theirs[peer].bytes != part.bytes as u64 {
                let other = place.session.last_call(place.ranks[peer]).unwrap_or_else(|| x.call.clone());
                return Err(place.sizes_differ(&x.call, peer, &other, theirs[peer].bytes, part.bytes));
            }
        }
        Ok(())
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
    let most = x.sent().map(|part| part.bytes as u64).max().unwrap_or(0);
    let mut all = Addresses { most, ..Addresses::default() };
    for (at, out) in all.send.iter_mut().zip(&x.send[peer]) {
        if let Out::Ready(part) = out {
            let copy = kept.iter().find(|(address, _)| *address == part.address);
            *at = copy.map_or(part.address.addr() as u64, |(_, copy)| copy.as_ptr().addr() as u64);
            all.bytes = part.bytes as u64;
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
            return Err(self.lost(peer, "it left the collective", VERDICT));
        };
        // SAFETY: the caller's part of this rank's memory.
        unsafe { self.direct.processes[peer].transfer(way, own, other, bytes) }.map_err(|e| {
            let wait = if e.raw_os_error() == Some(libc::EPERM) { FORBIDDEN } else { VERDICT };
            self.lost(peer, &e.to_string(), wait)
        })
    }

    /// Returns the failure of a rank whose memory cannot be reached: that of the job, which arrives soon if the rank
    /// died or failed.
    fn lost(&self, peer: usize, why: &str, wait: Duration) -> Failure {
        let (start, session) = (Instant::now(), self.place.session);
        while start.elapsed() < wait {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a child that sleeps.
    fn child() -> std::process::Child {
        std::process::Command::new("sleep").arg("60").spawn().unwrap()
    }

    #[test]
    fn an_offer_is_accepted_by_its_content() {
        let offer = Offer::new().unwrap();
        let text = offer.text();
        assert_eq!(Offer::accept(&text).map(|process| process.pid), Some(std::process::id() as i32));
        let [pid, address, nonce] = text.split(' ').collect::<Vec<_>>()[..] else { panic!("{text}") };
        let mut child = child();
        for wrong in [
            format!("{} {address} {nonce}", child.id()),
            format!("{pid} 8 {nonce}"),
            format!("{pid} {} {nonce}", u64::MAX - 8),
            format!("{pid} {address} {}", "0".repeat(32)),
            format!("{pid} {address} {}", &nonce[1..]),
            format!("-1 {address} {nonce}"),
            format!("{pid} {address}"),
            String::new(),
        ] {
            assert!(Offer::accept(&wrong).is_none(), "{wrong}");
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn the_memory_of_a_process_with_the_number_of_a_dead_one_is_not_touched() {
        let mut child = child();
        let dead = Process::of(child.id() as i32).unwrap();
        assert!(dead.runs());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!dead.runs());
        let watch = dead.watch.try_clone().unwrap();
        // As if the system had given the number to this process.
        let again = Process { pid: std::process::id() as i32, watch };
        let (mut own, other) = (*b"own", *b"old");
        for way in [Way::Read, Way::Write] {
            // SAFETY: both arrays have these bytes.
            let moved = unsafe { again.transfer(way, own.as_mut_ptr(), other.as_ptr().addr() as u64, 3) };
            assert_eq!(moved.unwrap_err().raw_os_error(), Some(libc::ESRCH));
        }
        assert_eq!((&own, &other), (b"own", b"old"));
    }
}
