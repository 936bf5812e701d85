//! Key-value stores through which ranks find each other: PyTorch's kinds, with its protocol and file format.

mod client;
mod file;
mod memory;
mod server;
mod wire;

use std::sync::Arc;
use std::time::{Duration, Instant};

pub use client::TcpStore;
pub use file::FileStore;
pub use memory::MemoryStore;
pub use server::Server;
pub use wire::{MAX_KEY, MAX_VALUE, Request, parse};

use crate::failure::{Failure, Result};
use crate::stop;

/// A key-value store that several processes share.
pub trait Store: Send + Sync {
    /// Sets a key.
    fn set(&self, key: &str, value: &[u8]) -> Result<()>;
    /// Returns the value of a key, or `None` if it is not set.
    fn try_get(&self, key: &str) -> Result<Option<Vec<u8>>>;
    /// Adds to the number at a key, which begins at 0, and returns the sum.
    fn add(&self, key: &str, amount: i64) -> Result<i64>;
    /// Returns true if all keys are set.
    fn check(&self, keys: &[String]) -> Result<bool>;
    /// Sets a key to `desired` if it has the value `expected`, or if it is not set and `expected` is empty. Returns the
    /// value afterwards.
    fn compare_set(&self, key: &str, expected: &[u8], desired: &[u8]) -> Result<Vec<u8>>;
    /// Deletes a key. Returns true if it was set.
    fn delete(&self, key: &str) -> Result<bool>;
    /// Returns the number of keys.
    fn num_keys(&self) -> Result<i64>;
    /// Appends to the value at a key.
    fn append(&self, key: &str, value: &[u8]) -> Result<()>;

    /// Waits until all keys are set.
    ///
    /// # Errors
    /// They were not set in time.
    fn wait(&self, keys: &[String], timeout: Duration) -> Result<()> {
        let start = Instant::now();
        while !self.check(keys)? {
            if start.elapsed() >= timeout {
                return Err(late(keys, timeout));
            }
            stop::check()?;
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    /// Returns the value of a key, once it is set.
    ///
    /// # Errors
    /// It was not set in time.
    fn get(&self, key: &str, timeout: Duration) -> Result<Vec<u8>> {
        let keys = [key.to_owned()];
        self.wait(&keys, timeout)?;
        self.try_get(key)?.ok_or_else(|| Failure::store(format!("the key {key:?} was deleted while it was read")))
    }

    /// Returns a store that other threads may use while this one waits.
    ///
    /// # Errors
    /// The server cannot be reached.
    fn another(self: Arc<Self>) -> Result<Arc<dyn Store>>;
}

pub(crate) fn late(keys: &[String], timeout: Duration) -> Failure {
    Failure::store(format!(
        "wait timeout after {}ms, keys: {}",
        timeout.as_millis(),
        keys.iter().map(|key| format!("/{key}")).collect::<Vec<_>>().join(", ")
    ))
}

/// Keys under a prefix of another store.
pub struct PrefixStore {
    prefix: String,
    inner: Arc<dyn Store>,
}

impl PrefixStore {
    /// Returns the keys of `inner` that begin with `prefix` and a slash.
    pub fn new(prefix: &str, inner: Arc<dyn Store>) -> PrefixStore {
        PrefixStore { prefix: format!("{prefix}/"), inner }
    }

    fn key(&self, key: &str) -> String {
        format!("{}{key}", self.prefix)
    }

    fn keys(&self, keys: &[String]) -> Vec<String> {
        keys.iter().map(|key| self.key(key)).collect()
    }
}

impl Store for PrefixStore {
    fn set(&self, key: &str, value: &[u8]) -> Result<()> {
        self.inner.set(&self.key(key), value)
    }
    fn try_get(&self, key: &str) -> Result<Option<Vec<u8>>> {
        self.inner.try_get(&self.key(key))
    }
    fn add(&self, key: &str, amount: i64) -> Result<i64> {
        self.inner.add(&self.key(key), amount)
    }
    fn check(&self, keys: &[String]) -> Result<bool> {
        self.inner.check(&self.keys(keys))
    }
    fn compare_set(&self, key: &str, expected: &[u8], desired: &[u8]) -> Result<Vec<u8>> {
        self.inner.compare_set(&self.key(key), expected, desired)
    }
    fn delete(&self, key: &str) -> Result<bool> {
        self.inner.delete(&self.key(key))
    }
    fn num_keys(&self) -> Result<i64> {
        self.inner.num_keys()
    }
    fn append(&self, key: &str, value: &[u8]) -> Result<()> {
        self.inner.append(&self.key(key), value)
    }
    fn wait(&self, keys: &[String], timeout: Duration) -> Result<()> {
        self.inner.wait(&self.keys(keys), timeout)
    }
    fn another(self: Arc<Self>) -> Result<Arc<dyn Store>> {
        let inner = self.inner.clone().another()?;
        Ok(Arc::new(PrefixStore { prefix: self.prefix.clone(), inner }))
    }
}
