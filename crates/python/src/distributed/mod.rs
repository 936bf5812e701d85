//! Several processes: `cuprous_distributed` for Python. Every wait releases the GIL and ends at Ctrl-C.

mod groups;
mod stores;

use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use cuprous_distributed::failure::Kind;
use cuprous_distributed::{Failure, Session};
use pyo3::exceptions::{PyKeyboardInterrupt, PyNotImplementedError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::errors::{DistBackendError, DistError};
use crate::{fork, interrupt};

pyo3::create_exception!(
    cuprous.torch.distributed,
    DistNetworkError,
    DistError,
    "An address cannot be reached, or a port is taken."
);
pyo3::create_exception!(cuprous.torch.distributed, DistStoreError, DistError, "A key was not set in time.");

/// Returns the Python exception of a failure.
fn raise(py: Python<'_>, failure: Failure) -> PyErr {
    let message = failure.message;
    match failure.kind {
        Kind::Backend => DistBackendError::new_err(message),
        Kind::Network => DistNetworkError::new_err(message),
        Kind::Store => DistStoreError::new_err(message),
        Kind::Value => PyValueError::new_err(message),
        Kind::Type => PyTypeError::new_err(message),
        Kind::Runtime => PyRuntimeError::new_err(message),
        Kind::Unsupported => PyNotImplementedError::new_err(message),
        Kind::Interrupted => py.check_signals().err().unwrap_or_else(|| PyKeyboardInterrupt::new_err(message)),
    }
}

/// Runs work that may wait for other processes.
fn run<R: Send>(py: Python<'_>, work: impl FnOnce() -> cuprous_distributed::Result<R> + Send) -> PyResult<R> {
    wait(py, work)?.map_err(|failure| raise(py, failure))
}

/// Runs work without the GIL. On the main thread, Ctrl-C becomes a request that its waits notice.
fn wait<R: Send>(py: Python<'_>, work: impl FnOnce() -> R + Send) -> PyResult<R> {
    interrupt::detach(py, || {
        cuprous_core::interrupt::arm();
        work()
    })
}

/// Returns a duration of that many seconds.
fn seconds(seconds: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(seconds)
        .map_err(|_| PyValueError::new_err(format!("timeout must be a positive number of seconds, got {seconds}")))
}

/// Sessions whose descriptors a child process closes.
static SESSIONS: Mutex<Vec<Weak<Session>>> = Mutex::new(Vec::new());

fn register(session: &Arc<Session>) {
    let mut sessions = SESSIONS.lock().unwrap_or_else(|e| e.into_inner());
    sessions.retain(|known| known.strong_count() > 0);
    sessions.push(Arc::downgrade(session));
}

/// Closes the connections of sessions in a child process after a fork.
fn close_in_child() {
    // Another thread may have held the lock during the fork; then the child keeps the descriptors.
    if let Ok(sessions) = SESSIONS.try_lock() {
        sessions.iter().filter_map(Weak::upgrade).for_each(|session| session.close_in_child());
    }
}

/// Adds classes and exceptions to the module.
pub(crate) fn add_to(m: &Bound<'_, PyModule>) -> PyResult<()> {
    let _ = fork::CLOSE_IN_CHILD.set(close_in_child);
    m.add_class::<stores::PyStore>()?;
    m.add_class::<groups::PySession>()?;
    m.add_class::<groups::PyGroup>()?;
    m.add_class::<groups::PyWork>()?;
    m.add("DistError", m.py().get_type::<DistError>())?;
    m.add("DistBackendError", m.py().get_type::<DistBackendError>())?;
    m.add("DistNetworkError", m.py().get_type::<DistNetworkError>())?;
    m.add("DistStoreError", m.py().get_type::<DistStoreError>())?;
    m.add_function(wrap_pyfunction!(groups::dist_status_text, m)?)?;
    m.add_function(wrap_pyfunction!(groups::dist_nccl_version, m)?)?;
    Ok(())
}
