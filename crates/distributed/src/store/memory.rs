//! A store within one process, and what the other kinds keep their keys in.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};

use super::Store;
use crate::failure::{Failure, Result};

/// Keys and values, and queues of values, none of which is empty.
#[derive(Default)]
pub(crate) struct Table {
    pub(crate) keys: HashMap<String, Vec<u8>>,
    queues: HashMap<String, VecDeque<Vec<u8>>>,
}

impl Table {
    pub(crate) fn has(&self, keys: &[String]) -> bool {
        keys.iter().all(|key| self.keys.contains_key(key) || self.queues.contains_key(key))
    }

    pub(crate) fn push(&mut self, key: String, value: Vec<u8>) {
        self.queues.entry(key).or_default().push_back(value);
    }

    pub(crate) fn pop(&mut self, key: &str) -> Option<Vec<u8>> {
        let queue = self.queues.get_mut(key)?;
        let value = queue.pop_front();
        if queue.is_empty() {
            self.queues.remove(key);
        }
        value
    }

    pub(crate) fn is_queue(&self, key: &str) -> bool {
        self.queues.contains_key(key) && !self.keys.contains_key(key)
    }

    pub(crate) fn queue_len(&self, key: &str) -> i64 {
        self.queues.get(key).map_or(0, |queue| queue.len() as i64)
    }

    /// Adds to a number, which is stored as decimal text. Returns `None` if the value is not a number.
    pub(crate) fn add(&mut self, key: &str, amount: i64) -> Option<i64> {
        let before = match self.keys.get(key) {
            Some(text) => std::str::from_utf8(text).ok()?.parse::<i64>().ok()?,
            None => 0,
        };
        let sum = before.wrapping_add(amount);
        self.keys.insert(key.to_owned(), sum.to_string().into_bytes());
        Some(sum)
    }

    pub(crate) fn compare_set(&mut self, key: &str, expected: &[u8], desired: &[u8]) -> Vec<u8> {
        match self.keys.get(key) {
            Some(value) if value == expected => {}
            Some(value) => return value.clone(),
            None if expected.is_empty() => {}
            // PyTorch's answer for a key that is not set.
            None => return expected.to_vec(),
        }
        self.keys.insert(key.to_owned(), desired.to_vec());
        desired.to_vec()
    }

    pub(crate) fn append(&mut self, key: &str, value: &[u8]) {
        self.keys.entry(key.to_owned()).or_default().extend_from_slice(value);
    }
}

pub(crate) fn not_a_number(key: &str) -> Failure {
    Failure::store(format!("add({key:?}) needs a number, but the key has another value"))
}

/// A store within one process: PyTorch's `HashStore`.
#[derive(Default)]
pub struct MemoryStore(Mutex<Table>);

impl MemoryStore {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(|e| e.into_inner())
    }
}

impl Store for MemoryStore {
    fn set(&self, key: &str, value: &[u8]) -> Result<()> {
        self.table().keys.insert(key.to_owned(), value.to_vec());
        Ok(())
    }
    fn try_get(&self, key: &str) -> Result<Option<Vec<u8>>> {
        Ok(self.table().keys.get(key).cloned())
    }
    fn add(&self, key: &str, amount: i64) -> Result<i64> {
        self.table().add(key, amount).ok_or_else(|| not_a_number(key))
    }
    fn check(&self, keys: &[String]) -> Result<bool> {
        Ok(self.table().has(keys))
    }
    fn compare_set(&self, key: &str, expected: &[u8], desired: &[u8]) -> Result<Vec<u8>> {
        Ok(self.table().compare_set(key, expected, desired))
    }
    fn delete(&self, key: &str) -> Result<bool> {
        Ok(self.table().keys.remove(key).is_some())
    }
    fn num_keys(&self) -> Result<i64> {
        Ok(self.table().keys.len() as i64)
    }
    fn append(&self, key: &str, value: &[u8]) -> Result<()> {
        self.table().append(key, value);
        Ok(())
    }
    fn list_keys(&self) -> Result<Vec<String>> {
        Ok(self.table().keys.keys().cloned().collect())
    }
    fn queue_push(&self, key: &str, value: &[u8]) -> Result<()> {
        self.table().push(key.to_owned(), value.to_vec());
        Ok(())
    }
    fn try_queue_pop(&self, key: &str) -> Result<Option<Vec<u8>>> {
        Ok(self.table().pop(key))
    }
    fn queue_len(&self, key: &str) -> Result<i64> {
        Ok(self.table().queue_len(key))
    }
    fn another(self: Arc<Self>) -> Result<Arc<dyn Store>> {
        Ok(self)
    }
}
