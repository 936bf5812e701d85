//! Compiled kernels on disk, so that a second process compiles nothing.
//!
//! Invariants:
//! - The folder belongs to the user and is closed to others, since a cubin is code that we run.
//! - A file is used only if its magic, key, length and checksum agree.
//! - Files appear by rename, so a reader never sees a partial file.
//!
//! If the folder cannot be used, kernels are kept in memory and `DiskCache::disabled_because` says why.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
#[cfg(unix)]
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use sha2::{Digest as _, Sha256};

use crate::nvrtc::CompileOptions;

const MAGIC: &[u8; 8] = b"CUPRCUB1";
/// Magic, key, length, checksum.
const HEADER: usize = 8 + 32 + 8 + 32;
const DEFAULT_LIMIT: u64 = 1 << 30;
/// The total size of the entries kept in memory if there is no folder.
const MEMORY_LIMIT: usize = 64 << 20;
/// The folder's size is summed at the first write of a process and then once in so many writes.
const WRITES_PER_PRUNE: u64 = 256;
/// A hit renews a file's time only if it is older than this, so that reading does not write each time.
const RENEW_AFTER: Duration = Duration::from_secs(24 * 3600);
/// A temporary file of this age was left behind by a process that died.
const STALE: Duration = Duration::from_secs(3600);

/// The key of a cubin: SHA-256 of source, options, target and compiler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CacheKey([u8; 32]);

/// Incremented when the same source with the same options is compiled to another cubin.
const COMPILE_REVISION: u8 = 1;

impl CacheKey {
    /// Returns the key of a source compiled with these options by the NVRTC of this identity.
    #[must_use]
    pub fn new(source: &str, options: &CompileOptions, nvrtc: &str) -> Self {
        let mut hash = Sha256::new();
        // Each part is preceded by its length, so that different lists of parts have different keys.
        let mut add = |part: &[u8]| {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        };
        add(source.as_bytes());
        add(options.arch.as_bytes());
        add(nvrtc.as_bytes());
        add(&[COMPILE_REVISION, options.fmad.into(), options.fast_compile.into(), options.user_source.into()]);
        options.extra.iter().chain(&options.expressions).for_each(|argument| add(argument.as_bytes()));
        CacheKey(hash.finalize().into())
    }

    /// Returns the key of an entry that is determined by these parts, in this order.
    #[must_use]
    pub fn of(parts: &[&[u8]]) -> Self {
        let mut hash = Sha256::new();
        for part in parts {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        CacheKey(hash.finalize().into())
    }

    /// Returns the name of the entry's file.
    fn file_name(&self) -> String {
        let mut name: String = self.0.iter().map(|byte| format!("{byte:02x}")).collect();
        name.push_str(".cubin");
        name
    }
}

/// The disk cache. Any number of threads and processes may use one folder.
#[derive(Debug)]
pub struct DiskCache {
    folder: std::result::Result<PathBuf, String>,
    limit: u64,
    writes: AtomicU64,
    memory: Mutex<Memory>,
}

#[derive(Debug, Default)]
struct Memory {
    entries: HashMap<CacheKey, Arc<[u8]>>,
    bytes: usize,
}

impl DiskCache {
    /// Opens the user's cache: `CUPROUS_CACHE_DIR`, else `$XDG_CACHE_HOME/cuprous`, else `~/.cache/cuprous`.
    #[must_use]
    pub fn open_default() -> Self {
        let from = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let folder = from("CUPROUS_CACHE_DIR")
            .or_else(|| from("XDG_CACHE_HOME").map(|dir| dir.join("cuprous")))
            .or_else(|| from("HOME").map(|dir| dir.join(".cache").join("cuprous")));
        match folder {
            Some(folder) => DiskCache::open(&folder, DEFAULT_LIMIT),
            None => DiskCache::with_folder(Err("neither CUPROUS_CACHE_DIR nor HOME is set".into()), DEFAULT_LIMIT),
        }
    }

    /// Opens a cache of at most `limit` bytes in a folder, which is created if it is missing.
    #[must_use]
    pub fn open(folder: &Path, limit: u64) -> Self {
        let usable = prepare(folder).map(|()| folder.to_path_buf());
        DiskCache::with_folder(usable.map_err(|why| format!("{}: {why}", folder.display())), limit)
    }

    fn with_folder(folder: std::result::Result<PathBuf, String>, limit: u64) -> Self {
        DiskCache { folder, limit, writes: AtomicU64::new(0), memory: Mutex::default() }
    }

    /// Returns the folder in use.
    #[must_use]
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref().ok()
    }

    /// Returns the reason why no folder is in use, or `None` if one is.
    #[must_use]
    pub fn disabled_because(&self) -> Option<&str> {
        self.folder.as_ref().err().map(String::as_str)
    }

    /// Returns a cubin if the cache has an intact one.
    #[must_use]
    pub fn get(&self, key: &CacheKey) -> Option<Arc<[u8]>> {
        if let Some(cubin) = self.memory().entries.get(key) {
            return Some(cubin.clone());
        }
        let path = self.folder()?.join(key.file_name());
        let mut file = File::open(&path).ok()?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).ok()?;
        let cubin = payload(&bytes, key)?;
        let written = file.metadata().and_then(|m| m.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
        if written.elapsed().is_ok_and(|age| age > RENEW_AFTER) {
            // Another process may have removed the file.
            let _may_fail = File::options().append(true).open(&path).and_then(|f| f.set_modified(SystemTime::now()));
        }
        Some(cubin.into())
    }

    /// Stores a cubin. If it cannot be written, it is kept in memory instead.
    pub fn put(&self, key: &CacheKey, cubin: &[u8]) {
        let written = self.folder().is_some_and(|folder| write(folder, key, cubin).is_ok());
        if !written {
            self.memory().insert(*key, cubin);
            return;
        }
        if self.writes.fetch_add(1, Ordering::Relaxed).is_multiple_of(WRITES_PER_PRUNE) {
            self.prune();
        }
    }

    /// If the limit is exceeded, removes the least recently used files until three quarters of the limit are left.
    pub fn prune(&self) {
        let Some(folder) = self.folder() else { return };
        let Ok(entries) = fs::read_dir(folder) else { return };
        let mut files = Vec::new();
        for entry in entries.flatten() {
            let Ok(meta) = entry.metadata() else { continue };
            let time = meta.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            let path = entry.path();
            match path.extension().and_then(|e| e.to_str()) {
                Some("cubin") => files.push((time, meta.len(), path)),
                Some("tmp") if time.elapsed().is_ok_and(|age| age > STALE) => {
                    let _may_be_gone = fs::remove_file(path);
                }
                _ => {}
            }
        }
        let mut total: u64 = files.iter().map(|file| file.1).sum();
        if total <= self.limit {
            return;
        }
        files.sort();
        for (_, bytes, path) in files {
            if total <= self.limit / 4 * 3 {
                break;
            }
            let _may_be_gone = fs::remove_file(path);
            total -= bytes;
        }
    }

    fn memory(&self) -> std::sync::MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Memory {
    fn insert(&mut self, key: CacheKey, cubin: &[u8]) {
        if self.bytes + cubin.len() > MEMORY_LIMIT {
            *self = Memory::default();
        }
        if self.entries.insert(key, cubin.into()).is_none() {
            self.bytes += cubin.len();
        }
    }
}

/// Creates the folder if it is missing and checks that it is writable and belongs to this user only.
#[cfg(unix)]
fn prepare(folder: &Path) -> std::result::Result<(), String> {
    let make = fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    make.map_err(|e| format!("cannot be created: {e}"))?;
    let meta = fs::metadata(folder).map_err(|e| e.to_string())?;
    if !meta.is_dir() {
        return Err("is not a folder".into());
    }
    // SAFETY: the call has no arguments and cannot fail.
    let user = unsafe { libc::geteuid() };
    if meta.uid() != user {
        return Err(format!("belongs to user {}, not to {user}", meta.uid()));
    }
    if meta.mode() & 0o022 != 0 {
        return Err("others may write to it (chmod 700 it)".into());
    }
    let probe = folder.join(temp_name());
    create_private(&probe).map_err(|e| format!("cannot be written to: {e}"))?;
    let _may_be_gone = fs::remove_file(probe);
    Ok(())
}

#[cfg(not(unix))]
fn prepare(_folder: &Path) -> std::result::Result<(), String> {
    Err("cannot be checked for its owner on this system".into())
}

/// Creates a file that only this user may read and write.
fn create_private(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    options.mode(0o600);
    options.open(path)
}

/// Returns a file name that no other thread or process uses at the same time.
fn temp_name() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let nanos = SystemTime::UNIX_EPOCH.elapsed().map_or(0, |d| d.as_nanos());
    format!("{}-{}-{nanos}.tmp", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

fn write(folder: &Path, key: &CacheKey, cubin: &[u8]) -> io::Result<()> {
    let temp = folder.join(temp_name());
    let result = (|| {
        let mut file = create_private(&temp)?;
        file.write_all(MAGIC)?;
        file.write_all(&key.0)?;
        file.write_all(&(cubin.len() as u64).to_le_bytes())?;
        file.write_all(&Sha256::digest(cubin))?;
        file.write_all(cubin)?;
        drop(file);
        fs::rename(&temp, folder.join(key.file_name()))
    })();
    if result.is_err() {
        let _may_be_gone = fs::remove_file(&temp);
    }
    result
}

/// Returns the cubin in a file's bytes if the file is intact.
fn payload<'a>(bytes: &'a [u8], key: &CacheKey) -> Option<&'a [u8]> {
    let (header, cubin) = bytes.split_at_checked(HEADER)?;
    let length = u64::from_le_bytes(header[40..48].try_into().ok()?);
    let intact = &header[..8] == MAGIC
        && header[8..40] == key.0
        && length == cubin.len() as u64
        && header[48..] == Sha256::digest(cubin)[..];
    intact.then_some(cubin)
}

#[cfg(test)]
#[path = "cache_tests.rs"]
mod tests;
