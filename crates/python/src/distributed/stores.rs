//! Stores.

use std::net::{IpAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::Arc;

use cuprous_distributed::store::{FileStore, MemoryStore, PrefixStore, Server, Store, TcpStore};
use cuprous_distributed::{Failure, Result};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::{run, seconds};

/// A key-value store. `cuprous.torch.distributed` has a class for each kind.
#[pyclass(frozen, name = "DistStore", module = "cuprous.torch.distributed")]
pub(crate) struct PyStore {
    pub(crate) store: Arc<dyn Store>,
    port: Option<u16>,
}

/// Returns the first address of a host.
fn resolve(host: &str) -> Result<IpAddr> {
    let found = (host, 0).to_socket_addrs().ok().and_then(|mut all| all.next());
    let ip = found.ok_or_else(|| Failure::network(format!("the host {host:?} is unknown")))?.ip();
    match ip.is_unspecified() {
        false => Ok(ip),
        true => Err(Failure::value(format!(
            "[TCPStore] {host} would accept connections from everywhere; give the address of one interface, or 127.0.0.1"
        ))),
    }
}

#[pymethods]
impl PyStore {
    /// Connects to a TCPStore, and starts its server first if `is_master`.
    #[staticmethod]
    fn tcp(py: Python<'_>, host: String, port: u16, is_master: bool, timeout: f64) -> PyResult<PyStore> {
        let timeout = seconds(timeout)?;
        let store = run(py, || {
            let server = if is_master { Some(Server::start(resolve(&host)?, port)?) } else { None };
            let port = server.as_ref().map_or(port, |server| server.port());
            TcpStore::connect(&host, port, timeout, server)
        })?;
        Ok(PyStore { port: Some(store.port()), store: Arc::new(store) })
    }

    /// Uses a file.
    #[staticmethod]
    fn file(path: PathBuf, users: Option<i64>) -> PyStore {
        PyStore { store: Arc::new(FileStore::new(&path, users)), port: None }
    }

    /// Returns a store of this process alone.
    #[staticmethod]
    fn memory() -> PyStore {
        PyStore { store: Arc::new(MemoryStore::default()), port: None }
    }

    /// Returns the keys of this store under a prefix.
    fn prefixed(&self, prefix: &str) -> PyStore {
        PyStore { store: Arc::new(PrefixStore::new(prefix, self.store.clone())), port: self.port }
    }

    /// The port of a TCPStore.
    #[getter]
    fn port(&self) -> Option<u16> {
        self.port
    }

    fn set(&self, py: Python<'_>, key: String, value: Vec<u8>) -> PyResult<()> {
        run(py, || self.store.set(&key, &value))
    }

    fn get<'py>(&self, py: Python<'py>, key: String, timeout: f64) -> PyResult<Bound<'py, PyBytes>> {
        let timeout = seconds(timeout)?;
        Ok(PyBytes::new(py, &run(py, || self.store.get(&key, timeout))?))
    }

    fn add(&self, py: Python<'_>, key: String, amount: i64) -> PyResult<i64> {
        run(py, || self.store.add(&key, amount))
    }

    fn check(&self, py: Python<'_>, keys: Vec<String>) -> PyResult<bool> {
        run(py, || self.store.check(&keys))
    }

    fn compare_set<'py>(
        &self,
        py: Python<'py>,
        key: String,
        expected: Vec<u8>,
        desired: Vec<u8>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &run(py, || self.store.compare_set(&key, &expected, &desired))?))
    }

    fn delete_key(&self, py: Python<'_>, key: String) -> PyResult<bool> {
        run(py, || self.store.delete(&key))
    }

    fn num_keys(&self, py: Python<'_>) -> PyResult<i64> {
        run(py, || self.store.num_keys())
    }

    fn list_keys(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        run(py, || self.store.list_keys())
    }

    fn queue_push(&self, py: Python<'_>, key: String, value: Vec<u8>) -> PyResult<()> {
        run(py, || self.store.queue_push(&key, &value))
    }

    /// Takes the first value of a queue. Without a timeout, returns `None` if it is empty.
    fn queue_pop<'py>(
        &self,
        py: Python<'py>,
        key: String,
        timeout: Option<f64>,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let timeout = timeout.map(seconds).transpose()?;
        let value = run(py, || match timeout {
            Some(timeout) => self.store.queue_pop(&key, timeout).map(Some),
            None => self.store.try_queue_pop(&key),
        })?;
        Ok(value.map(|value| PyBytes::new(py, &value)))
    }

    fn queue_len(&self, py: Python<'_>, key: String) -> PyResult<i64> {
        run(py, || self.store.queue_len(&key))
    }

    fn append(&self, py: Python<'_>, key: String, value: Vec<u8>) -> PyResult<()> {
        run(py, || self.store.append(&key, &value))
    }

    fn wait(&self, py: Python<'_>, keys: Vec<String>, timeout: f64) -> PyResult<()> {
        let timeout = seconds(timeout)?;
        run(py, || self.store.wait(&keys, timeout))
    }
}
