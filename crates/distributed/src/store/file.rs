//! A store in a file that all ranks can write, in PyTorch's format: records of a key and a value, each with a 32-bit
//! length, appended under a lock of the whole file.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use super::memory::{Table, not_a_number};
use super::{MAX_KEY, MAX_VALUE, Store};
use crate::failure::{Failure, Result};

const CLEANUP: &str = "cleanup/";

/// A store in a file. With a number of users, the last one removes the file.
pub struct FileStore {
    path: PathBuf,
    users: Option<i64>,
    known: Mutex<(Table, u64)>,
}

struct Locked(File);

impl Drop for Locked {
    fn drop(&mut self) {
        // SAFETY: the file is open.
        unsafe { libc::flock(self.0.as_raw_fd(), libc::LOCK_UN) };
    }
}

impl FileStore {
    /// Uses a file, which is created on first use.
    pub fn new(path: &Path, users: Option<i64>) -> FileStore {
        FileStore { path: path.to_owned(), users, known: Mutex::default() }
    }

    /// Returns the path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn open(&self) -> std::io::Result<Locked> {
        let file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(&self.path)?;
        // SAFETY: the file is open.
        if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX) } != 0 {
            return Err(std::io::Error::last_os_error());
        }
        Ok(Locked(file))
    }

    /// Runs `work` with the present keys and appends the records that it returns.
    fn with<T>(&self, work: impl FnOnce(&mut Table) -> Result<(T, Vec<(String, Vec<u8>)>)>) -> Result<T> {
        let io = |e: std::io::Error| Failure::store(format!("[FileStore] {}: {e}", self.path.display()));
        let mut known = self.known.lock().unwrap_or_else(|e| e.into_inner());
        let mut file = self.open().map_err(io)?;
        let (table, end) = &mut *known;
        file.0.seek(SeekFrom::Start(*end)).map_err(io)?;
        let mut bytes = Vec::new();
        file.0.read_to_end(&mut bytes).map_err(io)?;
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let (key, value);
            (key, rest) = part(rest, MAX_KEY + 2).ok_or_else(|| self.damaged())?;
            (value, rest) = part(rest, MAX_VALUE).ok_or_else(|| self.damaged())?;
            let key = String::from_utf8_lossy(key).into_owned();
            match key.strip_prefix('-') {
                Some(deleted) => drop(table.keys.remove(deleted)),
                None => drop(table.keys.insert(key, value.to_vec())),
            }
        }
        *end += bytes.len() as u64;
        let (result, records) = work(table)?;
        let mut new = Vec::new();
        for (key, value) in records {
            for bytes in [key.as_bytes(), &value] {
                new.extend((bytes.len() as u32).to_le_bytes());
                new.extend(bytes);
            }
        }
        file.0.write_all(&new).map_err(io)?;
        *end += new.len() as u64;
        Ok(result)
    }

    fn damaged(&self) -> Failure {
        Failure::store(format!("[FileStore] {} is not a store, or is damaged; delete it", self.path.display()))
    }

    fn add_to(&self, key: String, amount: i64) -> Result<i64> {
        self.with(|table| {
            let sum = table.add(&key, amount).ok_or_else(|| not_a_number(&key))?;
            Ok((sum, vec![(key, sum.to_string().into_bytes())]))
        })
    }
}

/// Splits a byte string with its length from the front.
fn part(bytes: &[u8], most: usize) -> Option<(&[u8], &[u8])> {
    let length = u32::from_le_bytes(bytes.get(..4)?.try_into().ok()?) as usize;
    (length <= most && bytes.len() >= 4 + length).then(|| bytes[4..].split_at(length))
}

fn regular(key: &str) -> String {
    format!("/{key}")
}

impl Store for FileStore {
    fn set(&self, key: &str, value: &[u8]) -> Result<()> {
        let key = regular(key);
        self.with(|table| {
            table.keys.insert(key.clone(), value.to_vec());
            Ok(((), vec![(key, value.to_vec())]))
        })
    }

    fn try_get(&self, key: &str) -> Result<Option<Vec<u8>>> {
        self.with(|table| Ok((table.keys.get(&regular(key)).cloned(), vec![])))
    }

    fn add(&self, key: &str, amount: i64) -> Result<i64> {
        self.add_to(regular(key), amount)
    }

    fn check(&self, keys: &[String]) -> Result<bool> {
        let keys: Vec<String> = keys.iter().map(|key| regular(key)).collect();
        self.with(|table| Ok((table.has(&keys), vec![])))
    }

    fn compare_set(&self, key: &str, expected: &[u8], desired: &[u8]) -> Result<Vec<u8>> {
        let key = regular(key);
        self.with(|table| {
            let value = table.compare_set(&key, expected, desired);
            Ok((
                value.clone(),
                vec![(key, value)].into_iter().filter(|(key, _)| table.keys.contains_key(key)).collect(),
            ))
        })
    }

    fn delete(&self, key: &str) -> Result<bool> {
        let key = regular(key);
        self.with(|table| {
            let was_set = table.keys.remove(&key).is_some();
            Ok((was_set, vec![(format!("-{key}"), vec![])]))
        })
    }

    fn num_keys(&self) -> Result<i64> {
        self.with(|table| Ok((table.keys.len() as i64, vec![])))
    }

    fn append(&self, key: &str, value: &[u8]) -> Result<()> {
        let key = regular(key);
        self.with(|table| {
            table.append(&key, value);
            let whole = table.keys[&key].clone();
            Ok(((), vec![(key, whole)]))
        })
    }

    fn list_keys(&self) -> Result<Vec<String>> {
        let regular = |key: &String| key.strip_prefix('/').map(str::to_owned);
        self.with(|table| Ok((table.keys.keys().filter_map(regular).collect(), vec![])))
    }

    fn another(self: Arc<Self>) -> Result<Arc<dyn Store>> {
        Ok(self)
    }
}

impl Drop for FileStore {
    fn drop(&mut self) {
        let Some(users) = self.users.filter(|_| self.path.exists()) else { return };
        if self.add_to(CLEANUP.into(), 1).is_ok_and(|ended| ended == users) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}
