//! What this process publishes for monitors: a page of shared memory with its memory counters for each device, and its
//! rank in a job of several processes.
//!
//! The allocators keep their counters in that page, so publishing them costs nothing. The page is a file in a directory
//! that belongs to the user. The process holds a lock on the file, which the system releases when the process ends for
//! any reason. A file without a lock is ignored, so stale files do no harm, and process ids, which differ inside and
//! outside of containers, need not be trusted.
//!
//! The directory is `/dev/shm/cuprous-<user>` or `CUPROUS_RUNTIME_DIR`, which containers may share with their host. An
//! empty value turns publishing off. Nothing is created before a device is used for the first time.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed, Ordering::Release};
use std::sync::{Mutex, OnceLock};

/// Counters of one device's memory, in bytes. Only the thread that holds the allocator's lock changes them.
#[repr(C)]
#[derive(Debug, Default)]
pub struct Counters {
    used: AtomicU64,
    reserved: AtomicU64,
    peak: AtomicU64,
}

/// Adds `by` to a counter and returns the new value.
#[inline]
fn change(cell: &AtomicU64, by: i64) -> u64 {
    // A load and a store, because there is only one writer. An atomic addition would take ten times as long.
    let value = cell.load(Relaxed).wrapping_add_signed(by);
    cell.store(value, Relaxed);
    value
}

impl Counters {
    /// Returns the bytes in use.
    #[inline]
    pub fn used(&self) -> u64 {
        self.used.load(Relaxed)
    }

    /// Returns the bytes allocated from the device, in use or not.
    #[inline]
    pub fn reserved(&self) -> u64 {
        self.reserved.load(Relaxed)
    }

    /// Returns the largest number of bytes in use so far.
    #[inline]
    pub fn peak(&self) -> u64 {
        self.peak.load(Relaxed)
    }

    /// Adds to the bytes in use; `by` may be negative.
    #[inline]
    pub fn add_used(&self, by: i64) {
        let used = change(&self.used, by);
        if used > self.peak() {
            self.peak.store(used, Relaxed);
        }
    }

    /// Adds to the bytes allocated from the device; `by` may be negative.
    #[inline]
    pub fn add_reserved(&self, by: i64) {
        change(&self.reserved, by);
    }

    /// Resets the peak to what is in use.
    pub fn reset_peak(&self) {
        self.peak.store(self.used(), Relaxed);
    }

    /// Returns counters that are not published.
    pub fn private() -> &'static Counters {
        Box::leak(Box::default())
    }
}

/// A device whose memory is counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Device {
    /// The host.
    Cpu,
    /// A GPU: its number in this process, and its UUID, which is the same in all processes.
    Cuda(u32, [u8; 16]),
}

/// The most devices that one process can publish.
const SLOTS: usize = 17;
/// The size of the page.
const BYTES: usize = 4096;
/// The longest command line, in bytes.
const NAME: usize = 512;
/// The last digit is the version of this layout.
const MAGIC: u64 = u64::from_le_bytes(*b"cuprous2");

#[repr(C)]
struct Slot {
    /// 0: free, 1: the CPU, 2 + k: GPU k.
    kind: AtomicU32,
    uuid: [u8; 16],
    counters: Counters,
}

#[repr(C)]
struct Page {
    magic: u64,
    pid: u32,
    name_length: u32,
    name: [u8; NAME],
    /// The number of ranks in the upper half and this process's rank in the lower one; 0 without a job.
    rank: AtomicU64,
    slots: [Slot; SLOTS],
}

const _: () = assert!(size_of::<Page>() <= BYTES);

/// Returns the directory in which processes publish, or `None` if publishing is off or there is no shared memory.
pub fn directory() -> Option<PathBuf> {
    match std::env::var_os("CUPROUS_RUNTIME_DIR") {
        Some(directory) => (!directory.is_empty()).then(|| directory.into()),
        None => default_directory(),
    }
}

#[cfg(target_os = "linux")]
fn default_directory() -> Option<PathBuf> {
    // SAFETY: `geteuid` takes no arguments and cannot fail.
    let user = unsafe { libc::geteuid() };
    Path::new("/dev/shm").is_dir().then(|| format!("/dev/shm/cuprous-{user}").into())
}

#[cfg(not(target_os = "linux"))]
fn default_directory() -> Option<PathBuf> {
    None
}

/// The page of this process.
struct PublishedPage {
    page: *mut Page,
    path: PathBuf,
    /// Holds the lock on the file.
    _file: File,
}

// SAFETY: the page is written under the mutex around it, except its counters, which are atomic.
unsafe impl Send for PublishedPage {}

static PUBLISHED: OnceLock<Option<Mutex<PublishedPage>>> = OnceLock::new();

/// Returns the counters of a device of this process, and publishes them from now on.
pub fn counters(device: Device) -> &'static Counters {
    let Some(published) = PUBLISHED.get_or_init(|| publish().ok().flatten().map(Mutex::new)) else {
        return Counters::private();
    };
    let mut published = published.lock().unwrap_or_else(|e| e.into_inner());
    // SAFETY: the page stays mapped until the process ends; slots are taken under the lock and never freed.
    let slots = unsafe { &raw mut (*published.page).slots }.cast::<Slot>();
    for index in 0..SLOTS {
        // SAFETY: the page has `SLOTS` slots.
        let slot = unsafe { slots.add(index) };
        // SAFETY: the page stays mapped.
        let kind = unsafe { &(*slot).kind };
        if kind.load(Relaxed) != 0 {
            continue;
        }
        let number = match device {
            Device::Cpu => 1,
            Device::Cuda(ordinal, uuid) => {
                // SAFETY: the page stays mapped, and the UUID is not read before the kind is set.
                unsafe { (*slot).uuid = uuid };
                2 + ordinal
            }
        };
        kind.store(number, Release);
        // SAFETY: the page stays mapped.
        return unsafe { &(*slot).counters };
    }
    Counters::private()
}

/// The rank, for a page that is made later.
static RANK: AtomicU64 = AtomicU64::new(0);

/// Publishes this process's rank and the number of ranks, or that it has none.
pub fn set_rank(rank: Option<[u32; 2]>) {
    let rank = rank.map_or(0, |[rank, world]| u64::from(world) << 32 | u64::from(rank));
    RANK.store(rank, Relaxed);
    if let Some(Some(published)) = PUBLISHED.get() {
        let published = published.lock().unwrap_or_else(|e| e.into_inner());
        // SAFETY: the page stays mapped until the process ends.
        unsafe { &(*published.page).rank }.store(rank, Relaxed);
    }
}

/// Removes the page, because the process is about to end.
pub fn withdraw() {
    if let Some(Some(published)) = PUBLISHED.get() {
        let published = published.lock().unwrap_or_else(|e| e.into_inner());
        // In the child of a fork the page is a copy, and the file belongs to the parent.
        // SAFETY: the page stays mapped until the process ends.
        if unsafe { (*published.page).pid } == std::process::id() {
            let _ = fs::remove_file(&published.path);
        }
    }
}

#[cfg(target_os = "linux")]
fn publish() -> io::Result<Option<PublishedPage>> {
    use std::fs::OpenOptions;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::OpenOptionsExt;
    let Some(directory) = directory().filter(|directory| is_private(directory, true)) else { return Ok(None) };
    let pid = std::process::id();
    let command = fs::read("/proc/self/cmdline").unwrap_or_default();
    // The inode of the namespace distinguishes processes of two containers that have the same id.
    let space = fs::read_link("/proc/self/ns/pid").unwrap_or_default().to_string_lossy().into_owned();
    let space: String = space.chars().filter(char::is_ascii_digit).collect();
    let path = directory.join(format!("{space}-{pid}"));
    let fresh = directory.join(format!("{space}-{pid}.new"));
    let _ = fs::remove_file(&fresh);
    let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&fresh)?;
    file.set_len(BYTES as u64)?;
    file.try_lock().map_err(io::Error::from)?;
    // SAFETY: a new mapping of a file of that size, at an address that the system chooses.
    let page = unsafe {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        libc::mmap(std::ptr::null_mut(), BYTES, access, libc::MAP_SHARED, file.as_raw_fd(), 0)
    };
    if page == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    let page = page.cast::<Page>();
    let name: Vec<u8> = command.iter().map(|&byte| if byte == 0 { b' ' } else { byte }).take(NAME).collect();
    // SAFETY: the page was just mapped and zeroed, and no other thread knows it.
    unsafe {
        (*page).pid = pid;
        std::ptr::copy_nonoverlapping(name.as_ptr(), (&raw mut (*page).name).cast::<u8>(), name.len());
        (*page).name_length = name.len() as u32;
        (*page).rank.store(RANK.load(Relaxed), Relaxed);
        (*page).magic = MAGIC;
        FORKED_PAGE.store(page as u64, Relaxed);
        FORKED_FILE.store(file.as_raw_fd() as u32, Relaxed);
        libc::pthread_atfork(None, None, Some(after_fork_in_child));
    }
    fs::rename(&fresh, &path)?;
    Ok(Some(PublishedPage { page, path, _file: file }))
}

#[cfg(not(target_os = "linux"))]
fn publish() -> io::Result<Option<PublishedPage>> {
    Ok(None)
}

#[cfg(target_os = "linux")]
static FORKED_PAGE: AtomicU64 = AtomicU64::new(0);
#[cfg(target_os = "linux")]
static FORKED_FILE: AtomicU32 = AtomicU32::new(0);

/// Gives the child of a fork a private copy of the page. The page and its lock remain the parent's.
#[cfg(target_os = "linux")]
extern "C" fn after_fork_in_child() {
    let page = FORKED_PAGE.load(Relaxed) as *mut libc::c_void;
    let mut copy = [0_u8; BYTES];
    // SAFETY: only system calls and copies, which are allowed between fork and exec. The address and size are those of
    // the page, and no other thread runs. Closing the file does not release the parent's lock.
    unsafe {
        std::ptr::copy_nonoverlapping(page.cast::<u8>(), copy.as_mut_ptr(), BYTES);
        let (access, kind) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED);
        if libc::mmap(page, BYTES, access, kind, -1, 0) == page {
            std::ptr::copy_nonoverlapping(copy.as_ptr(), page.cast::<u8>(), BYTES);
        }
        libc::close(FORKED_FILE.load(Relaxed) as i32);
    }
}

/// Returns true if only this user can write to the directory; with `make`, creates it first if it is missing. In any
/// other directory, other users could publish false data.
#[cfg(target_os = "linux")]
fn is_private(directory: &Path, make: bool) -> bool {
    use std::os::unix::fs::{DirBuilderExt, MetadataExt};
    if make {
        let _ = fs::DirBuilder::new().recursive(true).mode(0o700).create(directory);
    }
    // SAFETY: `geteuid` takes no arguments and cannot fail.
    let user = unsafe { libc::geteuid() };
    fs::symlink_metadata(directory).is_ok_and(|data| data.is_dir() && data.uid() == user && data.mode() & 0o022 == 0)
}

#[cfg(not(target_os = "linux"))]
fn is_private(_: &Path, _: bool) -> bool {
    false
}

/// A process that publishes its counters.
#[derive(Clone, Debug)]
pub struct Process {
    /// Its id in its own namespace, which in a container differs from the host's.
    pub pid: u32,
    /// True if that id means the same process in this namespace.
    pub here: bool,
    /// Its command line.
    pub name: String,
    /// Its rank and the number of ranks, if it is one of several processes of a job.
    pub rank: Option<[u32; 2]>,
    /// The devices that it uses, with the bytes in use, reserved and in use at the peak.
    pub devices: Vec<(Device, [u64; 3])>,
}

/// Returns the running processes of this user that publish counters, ordered by id. Removes files of processes that
/// ended.
pub fn processes() -> Vec<Process> {
    let Some(directory) = directory().filter(|directory| is_private(directory, false)) else { return Vec::new() };
    let space = fs::read_link("/proc/self/ns/pid").unwrap_or_default().to_string_lossy().into_owned();
    let space: String = space.chars().filter(char::is_ascii_digit).collect();
    let mine =
        PUBLISHED.get().and_then(Option::as_ref).map(|s| s.lock().unwrap_or_else(|e| e.into_inner()).path.clone());
    let mut found: Vec<Process> = fs::read_dir(directory)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let path = entry.path();
            let file = File::open(&path).ok()?;
            if mine.as_ref() != Some(&path) && file.try_lock_shared().is_ok() {
                // The file is not locked: its process ended, or has not locked it yet.
                let aged = entry.metadata().ok()?.modified().ok()?.elapsed().is_ok_and(|age| age.as_secs() > 10);
                if path.extension().is_none() || aged {
                    let _ = fs::remove_file(&path);
                }
                return None;
            }
            let here = path.file_name()?.to_str()?.split('-').next() == Some(&space);
            read(file, here)
        })
        .collect();
    found.sort_by_key(|process| (!process.here, process.pid));
    found
}

fn read(file: File, here: bool) -> Option<Process> {
    let mut bytes = [0_u8; BYTES];
    let mut file = file.take(BYTES as u64);
    file.read_exact(&mut bytes).ok()?;
    // SAFETY: the buffer has at least the size of a page, and any bytes are valid because all fields are numbers.
    let page = unsafe { std::ptr::read_unaligned(bytes.as_ptr().cast::<Page>()) };
    if page.magic != MAGIC {
        return None;
    }
    let name = page.name.get(..page.name_length as usize)?;
    let name = String::from_utf8_lossy(name).chars().map(|c| if c.is_control() { ' ' } else { c }).collect::<String>();
    let devices = page
        .slots
        .iter()
        .filter_map(|slot| {
            let device = match slot.kind.load(Relaxed) {
                0 => return None,
                1 => Device::Cpu,
                k => Device::Cuda(k - 2, slot.uuid),
            };
            Some((device, [slot.counters.used(), slot.counters.reserved(), slot.counters.peak()]))
        })
        .collect();
    let rank = page.rank.load(Relaxed);
    let rank = (rank != 0).then_some([rank as u32, (rank >> 32) as u32]);
    Some(Process { pid: page.pid, here, name: name.trim().to_owned(), rank, devices })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_know_their_peak() {
        let counters = Counters::private();
        counters.add_reserved(100);
        counters.add_used(60);
        counters.add_used(-20);
        assert_eq!((counters.used(), counters.reserved(), counters.peak()), (40, 100, 60));
        counters.reset_peak();
        assert_eq!(counters.peak(), 40);
    }

    #[test]
    fn any_bytes_are_read_without_harm() {
        let directory = std::env::temp_dir();
        let path = directory.join(format!("cuprous-page-{}", std::process::id()));
        for bytes in [vec![], vec![255; BYTES], [&MAGIC.to_le_bytes()[..], &[255; BYTES - 8]].concat()] {
            fs::write(&path, &bytes).unwrap();
            assert!(read(File::open(&path).unwrap(), true).is_none());
        }
        fs::remove_file(path).unwrap();
    }
}
