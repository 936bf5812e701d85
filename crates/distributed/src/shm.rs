//! Streams through memory that the ranks of one host share: a ring of bytes for each direction of each pair. Beside
//! them, doors say whose own memory others may touch (`direct`).
//!
//! The file is unlinked as soon as all ranks have it open, so nothing stays behind if they die.

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};
use std::time::{Duration, Instant};

use crate::call;
use crate::link::{ALIGN, Closed, Interest, Link, Waker};

/// The streams of collectives and those of messages between two ranks.
pub(crate) const LANES: usize = 2;
const LINE: usize = 128;
/// Memory of all rings of a group, which are at most 1 MiB each, so that they stay in the cache.
const TOTAL: usize = 16 << 20;
const FOLDER: &str = "/dev/shm";
/// How long a wait polls before it sleeps, if each rank has a core of its own.
const SPIN: Duration = Duration::from_micros(30);
/// How long ranks have to take their hands out of a rank's memory: a copy takes microseconds, but a rank may be stopped.
const LEAVING: Duration = Duration::from_secs(1);

/// A word by which a rank is woken.
#[repr(C, align(128))]
struct Bell {
    count: AtomicU32,
    sleeping: AtomicU32,
}

/// Positions of a ring. The reader writes `tail`, the writer `head`; both only grow.
#[repr(C)]
struct Ends {
    head: AtomicU64,
    _pad: [u8; LINE - 8],
    tail: AtomicU64,
    _pad2: [u8; LINE - 8],
}

/// The number of the call in which the other ranks may touch a rank's memory, or 0.
#[repr(C, align(128))]
struct Door(AtomicU64);

const _: () = assert!(size_of::<Bell>() == LINE && size_of::<Ends>() == 2 * LINE && size_of::<Door>() == LINE);

/// Memory mapped by all ranks of a group.
pub(crate) struct Segment {
    base: NonNull<u8>,
    bytes: usize,
    n: usize,
}

// SAFETY: the memory is accessed through atomics, or by the one side of a ring that owns that part.
unsafe impl Send for Segment {}
// SAFETY: as above.
unsafe impl Sync for Segment {}

fn capacity(n: usize) -> usize {
    (TOTAL / (n * n)).clamp(64 << 10, 1 << 20).next_power_of_two()
}

/// Bytes of the flags of one rank, which say whose memory it is touching.
fn hands(n: usize) -> usize {
    (n * size_of::<AtomicU32>()).next_multiple_of(LINE)
}

/// Where the rings begin, after bells, doors and hands.
fn rings(n: usize) -> usize {
    (LANES + 1) * n * LINE + n * hands(n)
}

fn bytes(n: usize) -> usize {
    rings(n) + LANES * n * n * (size_of::<Ends>() + capacity(n))
}

/// Returns random characters for names.
pub(crate) fn random_name() -> std::io::Result<String> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|b| format!("{b:02x}")).collect())
}

fn path(name: &str) -> PathBuf {
    PathBuf::from(FOLDER).join(format!("cuprous-{name}"))
}

impl Segment {
    /// Creates the memory of a group of `n` ranks and returns it with its name. It is empty.
    pub(crate) fn create(n: usize) -> std::io::Result<(Segment, String)> {
        let name = random_name()?;
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .custom_flags(libc::O_NOFOLLOW)
            .open(path(&name))?;
        // Memory that is not there would end the process later, at the first write.
        // SAFETY: the descriptor is open.
        let full = unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, bytes(n) as libc::off_t) };
        let mapped = if full == 0 { Segment::map(&file, n) } else { Err(std::io::Error::from_raw_os_error(full)) };
        if mapped.is_err() {
            Segment::unlink(&name);
        }
        Ok((mapped?, name))
    }

    /// Opens memory that another rank created.
    pub(crate) fn open(name: &str, n: usize) -> std::io::Result<Segment> {
        if !name.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(std::io::ErrorKind::InvalidInput.into());
        }
        let file = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NOFOLLOW).open(path(name))?;
        if file.metadata()?.len() != bytes(n) as u64 {
            return Err(std::io::ErrorKind::InvalidData.into());
        }
        Segment::map(&file, n)
    }

    /// Removes the name. The memory stays until the last rank ends.
    pub(crate) fn unlink(name: &str) {
        // An error means that it is gone already.
        let _ = std::fs::remove_file(path(name));
    }

    fn map(file: &File, n: usize) -> std::io::Result<Segment> {
        let (write, shared) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
        // SAFETY: a new mapping of an open file.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), bytes(n), write, shared, file.as_raw_fd(), 0) };
        if base == libc::MAP_FAILED {
            return Err(std::io::Error::last_os_error());
        }
        Ok(Segment { base: NonNull::new(base.cast()).expect("mapped"), bytes: bytes(n), n })
    }

    fn bell(&self, lane: usize, rank: usize) -> &Bell {
        // SAFETY: within the mapping, aligned, and zero bytes are a bell.
        unsafe { &*self.base.as_ptr().add((lane * self.n + rank) * LINE).cast() }
    }

    fn ring(&self, lane: usize, from: usize, to: usize) -> (&Ends, *mut u8) {
        let at = (lane * self.n + from) * self.n + to;
        let start = rings(self.n) + at * (size_of::<Ends>() + capacity(self.n));
        // SAFETY: within the mapping, aligned, and zero bytes are an empty ring.
        unsafe {
            let ends = self.base.as_ptr().add(start);
            (&*ends.cast(), ends.add(size_of::<Ends>()))
        }
    }

    fn door(&self, rank: usize) -> &AtomicU64 {
        // SAFETY: within the mapping, aligned, and zero bytes are a closed door.
        unsafe { &(*self.base.as_ptr().add((LANES * self.n + rank) * LINE).cast::<Door>()).0 }
    }

    /// The flag of a rank that touches the memory of another one.
    fn hand(&self, from: usize, to: usize) -> &AtomicU32 {
        let start = (LANES + 1) * self.n * LINE + from * hands(self.n);
        // SAFETY: within the mapping, aligned, and any bytes are a flag.
        unsafe { &*self.base.as_ptr().add(start).cast::<AtomicU32>().add(to) }
    }

    /// Lets the other ranks touch this rank's memory in a call, until the result is dropped.
    pub(crate) fn open_door(&self, me: usize, call: u64) -> Opened<'_> {
        self.door(me).store(call, SeqCst);
        Opened { segment: self, me }
    }

    /// Lets rank `me` touch the memory of another one until the result is dropped, or returns `None` if that one has
    /// left the call.
    pub(crate) fn touch(&self, me: usize, other: usize, call: u64) -> Option<Touch<'_>> {
        let hand = self.hand(me, other);
        hand.store(1, SeqCst);
        let touch = Touch(hand);
        (self.door(other).load(SeqCst) == call).then_some(touch)
    }

    /// Returns true if another rank touches this one's memory.
    pub(crate) fn is_touched(&self, me: usize) -> bool {
        (0..self.n).any(|rank| self.hand(rank, me).load(SeqCst) != 0)
    }

    fn ring_bell(&self, lane: usize, rank: usize) {
        let bell = self.bell(lane, rank);
        bell.count.fetch_add(1, SeqCst);
        if bell.sleeping.load(SeqCst) != 0 {
            // SAFETY: the word lives as long as the mapping.
            unsafe { libc::syscall(libc::SYS_futex, &bell.count, libc::FUTEX_WAKE, i32::MAX) };
        }
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        // SAFETY: the mapping is this object's.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.bytes) };
    }
}

/// An open door. It closes when dropped, after the ranks that are inside have left.
pub(crate) struct Opened<'a> {
    segment: &'a Segment,
    me: usize,
}

impl Drop for Opened<'_> {
    fn drop(&mut self) {
        self.segment.door(self.me).store(0, SeqCst);
        let start = Instant::now();
        while self.segment.is_touched(self.me) && start.elapsed() < LEAVING {
            std::thread::sleep(Duration::from_micros(100));
        }
    }
}

/// A rank's hand in the memory of another one.
pub(crate) struct Touch<'a>(&'a AtomicU32);

impl Drop for Touch<'_> {
    fn drop(&mut self) {
        self.0.store(0, SeqCst);
    }
}

/// Room for a call, aligned for any element.
type Joined = [u128; call::BYTES / ALIGN];

/// One lane of a segment, as one rank sees it.
pub(crate) struct ShmLink {
    segment: Arc<Segment>,
    lane: usize,
    me: usize,
    capacity: usize,
    seen: u32,
    touched: Vec<bool>,
    /// By rank: the beginning of what has arrived, if it goes over the end of the ring.
    joined: Vec<Joined>,
    spin: Duration,
}

impl ShmLink {
    pub(crate) fn new(segment: Arc<Segment>, lane: usize, me: usize) -> ShmLink {
        let n = segment.n;
        let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
        let spin = if n <= cores { SPIN } else { Duration::ZERO };
        ShmLink {
            capacity: capacity(n),
            segment,
            lane,
            me,
            seen: 0,
            touched: vec![false; n],
            joined: vec![[0; 16]; n],
            spin,
        }
    }
}

impl Link for ShmLink {
    fn begin(&mut self) {
        self.seen = self.segment.bell(self.lane, self.me).count.load(SeqCst);
    }

    fn write(&mut self, to: usize, bytes: &[u8]) -> Result<usize, Closed> {
        let (ends, data) = self.segment.ring(self.lane, self.me, to);
        let head = ends.head.load(Relaxed);
        // Another process wrote the other position: whatever it is, accesses stay within the ring.
        let room = self.capacity.saturating_sub(head.wrapping_sub(ends.tail.load(Acquire)) as usize);
        let count = bytes.len().min(room);
        let at = head as usize & (self.capacity - 1);
        let first = count.min(self.capacity - at);
        // SAFETY: the reader does not touch the room, which is within the ring.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), data.add(at), first);
            std::ptr::copy_nonoverlapping(bytes.as_ptr().add(first), data, count - first);
        }
        if count > 0 {
            ends.head.store(head.wrapping_add(count as u64), Release);
            self.touched[to] = true;
        }
        Ok(count)
    }

    fn readable(&mut self, from: usize, want: usize) -> Result<(*const u8, usize), Closed> {
        let (ends, data) = self.segment.ring(self.lane, from, self.me);
        let tail = ends.tail.load(Relaxed);
        let at = tail as usize & (self.capacity - 1);
        let arrived = (ends.head.load(Acquire).wrapping_sub(tail) as usize).min(self.capacity);
        let first = arrived.min(self.capacity - at);
        let joined = self.joined[from].as_mut_ptr().cast::<u8>();
        if first < want && want <= arrived && want <= size_of::<Joined>() {
            // A few bytes that go over the end of the ring are needed in one piece, such as a call.
            // SAFETY: so many bytes have arrived, within the ring, and the other memory has room for them.
            unsafe {
                std::ptr::copy_nonoverlapping(data.add(at), joined, first);
                std::ptr::copy_nonoverlapping(data, joined.add(first), want - first);
            }
            return Ok((joined, want));
        }
        // SAFETY: within the ring.
        Ok((unsafe { data.add(at) }, first / ALIGN * ALIGN))
    }

    fn consume(&mut self, from: usize, count: usize) {
        let (ends, _) = self.segment.ring(self.lane, from, self.me);
        ends.tail.store(ends.tail.load(Relaxed).wrapping_add(count as u64), Release);
        self.touched[from] = true;
    }

    fn flush(&mut self) -> bool {
        for rank in 0..self.segment.n {
            if std::mem::take(&mut self.touched[rank]) {
                self.segment.ring_bell(self.lane, rank);
            }
        }
        true
    }

    fn is_sent(&self, _: usize) -> bool {
        true // the memory outlives this process
    }

    fn wait(&mut self, _: &[Interest], time: Duration) {
        let bell = self.segment.bell(self.lane, self.me);
        let start = Instant::now();
        while start.elapsed() < self.spin {
            if bell.count.load(SeqCst) != self.seen {
                return;
            }
            std::hint::spin_loop();
        }
        bell.sleeping.store(1, SeqCst);
        let time = libc::timespec { tv_sec: time.as_secs() as i64, tv_nsec: time.subsec_nanos().into() };
        // SAFETY: the word lives as long as the mapping; the call returns at once if the count has changed.
        unsafe { libc::syscall(libc::SYS_futex, &bell.count, libc::FUTEX_WAIT, self.seen, &time) };
        bell.sleeping.store(0, SeqCst);
    }

    fn waker(&self) -> Waker {
        let (segment, lane, me) = (self.segment.clone(), self.lane, self.me);
        Box::new(move || segment.ring_bell(lane, me))
    }

    fn name(&self) -> &'static str {
        "shared memory"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever another process writes to the positions of a ring, accesses stay within the ring or the room for a call.
    #[test]
    fn any_positions_stay_within_the_ring() {
        let (segment, name) = Segment::create(2).expect("shared memory");
        Segment::unlink(&name);
        let segment = Arc::new(segment);
        let mut link = ShmLink::new(segment.clone(), 0, 0);
        let mut state = 1u64;
        let mut random = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            state ^ state >> 29
        };
        let written = [1; call::BYTES];
        for round in 0..100_000 {
            for (from, to) in [(0, 1), (1, 0)] {
                let (ends, _) = segment.ring(0, from, to);
                let tail = random();
                ends.tail.store(tail, SeqCst);
                // Near each other in half of the rounds, and anywhere in the others.
                ends.head.store(if round % 2 == 0 { tail.wrapping_add(random() % 4096) } else { random() }, SeqCst);
            }
            let (ends, data) = segment.ring(0, 1, 0);
            let tail = ends.tail.load(SeqCst);
            let (address, count) = link.readable(1, random() as usize % 1024).expect("a ring is never closed");
            let (start, end) = (address.addr(), address.addr() + count);
            let joined = link.joined[1].as_ptr().addr();
            let is_in = |base: usize, bytes: usize| start >= base && end <= base + bytes;
            assert!(is_in(data.addr(), link.capacity) || is_in(joined, size_of::<Joined>()), "at {tail}");
            assert!(link.write(1, &written).expect("a ring is never closed") <= written.len());
        }
    }
}
