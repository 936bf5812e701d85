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

use crate::failure::{Failure, Kind, Result};
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
    /// Returns the keys, in any order.
    fn list_keys(&self) -> Result<Vec<String>>;
    /// Appends to the value at a key.
    fn append(&self, key: &str, value: &[u8]) -> Result<()>;
    /// Appends a value to a queue.
    fn queue_push(&self, _key: &str, _value: &[u8]) -> Result<()> {
        Err(no_queues())
    }
    /// Takes the first value of a queue, or returns `None` if it is empty.
    fn try_queue_pop(&self, _key: &str) -> Result<Option<Vec<u8>>> {
        Err(no_queues())
    }
    /// Returns the number of values in a queue.
    fn queue_len(&self, _key: &str) -> Result<i64> {
        Err(no_queues())
    }

    /// Takes the first value of a queue, once it has one.
    ///
    /// # Errors
    /// None was pushed in time, or others took it.
    fn queue_pop(&self, key: &str, timeout: Duration) -> Result<Vec<u8>> {
        let start = Instant::now();
        loop {
            if let Some(value) = self.try_queue_pop(key)? {
                return Ok(value);
            }
            let keys = [key.to_owned()];
            let left = timeout.checked_sub(start.elapsed()).ok_or_else(|| late(&keys, timeout))?;
            self.wait(&keys, left).map_err(|failure| match failure.kind {
                Kind::Store => late(&keys, timeout),
                _ => failure,
            })?;
        }
    }

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

fn no_queues() -> Failure {
    Failure::unsupported("this kind of store has no queues; use TCPStore or HashStore")
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
    fn list_keys(&self) -> Result<Vec<String>> {
        let own = |key: String| key.strip_prefix(&self.prefix).map(str::to_owned);
        Ok(self.inner.list_keys()?.into_iter().filter_map(own).collect())
    }
    fn queue_push(&self, key: &str, value: &[u8]) -> Result<()> {
        self.inner.queue_push(&self.key(key), value)
    }
    fn try_queue_pop(&self, key: &str) -> Result<Option<Vec<u8>>> {
        self.inner.try_queue_pop(&self.key(key))
    }
    fn queue_len(&self, key: &str) -> Result<i64> {
        self.inner.queue_len(&self.key(key))
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
