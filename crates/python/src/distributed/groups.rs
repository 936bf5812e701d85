//! Sessions, groups and work.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use cuprous_core::{Access, Buffer, DType, ExternalWork, SharedGuard, profile, tape};
use cuprous_distributed::call::{Op, ReduceKind};
use cuprous_distributed::collectives::{Memory, Message, Request};
use cuprous_distributed::status::describe_status;
use cuprous_distributed::{
    Backend, Communicator, DeviceGroup, Failure, Group, Keep, Lend, Operation, Session, own_address,
};
use cuprous_plan::Engine;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyList;

use super::stores::PyStore;
use super::{raise, register, run, seconds, wait};
use crate::interrupt;
use crate::source_locations::current_line;
use crate::tensor::PyTensor;
use crate::{array::first_byte, devices};

/// Describes a wait status of a process: its exit code or signal.
#[pyfunction]
pub(crate) fn dist_status_text(status: i32) -> String {
    describe_status(status)
}

/// The ranks of a job, as this process sees them.
#[pyclass(frozen, name = "DistSession", module = "cuprous.torch.distributed")]
pub(crate) struct PySession {
    session: Arc<Session>,
}

#[pymethods]
impl PySession {
    /// Joins the ranks of a job.
    #[new]
    #[pyo3(signature = (store, rank, world, master, token, timeout, statuses))]
    #[allow(clippy::too_many_arguments, reason = "one call from Python")]
    fn new(
        py: Python<'_>,
        store: &PyStore,
        rank: u32,
        world: u32,
        master: Option<(String, u16)>,
        token: Option<Vec<u8>>,
        timeout: f64,
        statuses: Option<&PyStore>,
    ) -> PyResult<PySession> {
        let (timeout, store) = (seconds(timeout)?, &store.store);
        let statuses = statuses.map(|store| store.store.clone());
        let session = run(py, || {
            let ip = own_address(master.as_ref().map(|(host, port)| (&**host, *port)))?;
            // The watch thread reads while other threads wait in the store.
            let statuses = statuses.map(|store| store.another()).transpose()?;
            Session::start(&**store, rank, world, ip, token, timeout, statuses)
        })?;
        register(&session);
        Ok(PySession { session })
    }

    /// Ends the job on all ranks with a message.
    fn fail(&self, py: Python<'_>, text: String) {
        py.detach(|| self.session.fail(&text));
    }

    /// Leaves in good order.
    fn leave(&self, py: Python<'_>) {
        py.detach(|| self.session.leave());
    }

    /// Returns the message of the failure that ended the job, if any.
    fn verdict(&self) -> Option<String> {
        self.session.verdict().map(|failure| failure.message)
    }

    /// Returns a rank with its host and process, in words.
    fn name(&self, rank: u32) -> PyResult<String> {
        if rank >= self.session.world() {
            return Err(PyValueError::new_err(format!("there is no rank {rank} among {}", self.session.world())));
        }
        Ok(self.session.name(rank))
    }
}

/// An operation under way.
#[pyclass(frozen, name = "DistWork", module = "cuprous.torch.distributed")]
pub(crate) struct PyWork {
    work: Arc<dyn Operation>,
}

#[pymethods]
impl PyWork {
    /// Waits until later work comes after the operation: until it has ended, or on a GPU by the order of its streams.
    /// With a timeout, waits until it has ended, and returns False if it has not in time.
    #[pyo3(signature = (timeout = None))]
    fn wait(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<bool> {
        locate();
        let timeout = timeout.map(seconds).transpose()?;
        let result = wait(py, || self.work.finish(timeout))?;
        result.transpose().map(|ended| ended.is_some()).map_err(|failure| raise(py, failure))
    }

    /// Returns true if the operation has ended.
    fn is_completed(&self) -> bool {
        self.work.outcome().is_some()
    }

    /// Returns the exception of an operation that failed.
    fn exception(&self, py: Python<'_>) -> Option<PyErr> {
        self.work.outcome()?.err().map(|failure| raise(py, failure))
    }

    /// Returns the rank in the group from which a message came.
    fn source(&self) -> Option<usize> {
        self.work.sender()
    }
}

/// Returns the version of NCCL.
#[pyfunction]
pub(crate) fn dist_nccl_version(py: Python<'_>) -> PyResult<String> {
    cuprous_nccl::version().map_err(|failure| raise(py, failure))
}

/// Notes the line of the program for a profile.
fn locate() {
    if profile::on() {
        tape::capture_location();
    }
}

/// A group of ranks.
#[pyclass(frozen, name = "DistGroup", module = "cuprous.torch.distributed")]
pub(crate) struct PyGroup {
    backend: Box<dyn Backend>,
    /// The number of the GPU's engine; 0 for the CPU's.
    device: u8,
}

/// Memory of tensors, kept for an operation.
struct Borrowed {
    kept: Vec<(Buffer, SharedGuard, Access, Range<usize>)>,
    dtype: Option<DType>,
    device: u8,
}

impl Borrowed {
    fn new(device: u8) -> Borrowed {
        Borrowed { kept: Vec::new(), dtype: None, device }
    }

    /// Returns the memory of some tensors after running what is recorded for them.
    fn borrow(
        &mut self,
        py: Python<'_>,
        op: &str,
        tensors: &Bound<'_, PyList>,
        access: Access,
    ) -> PyResult<Vec<Memory>> {
        let mut memory = Vec::with_capacity(tensors.len());
        for tensor in tensors {
            let array = tensor.cast::<PyTensor>()?.get().array();
            let engine = devices::of(&array);
            if engine.id != self.device {
                return Err(PyValueError::new_err(format!(
                    "[{op}] this group moves tensors on {}, but got one on {}",
                    devices::name(devices::by_number(self.device)),
                    devices::name(engine)
                )));
            }
            if !array.layout.is_c_contiguous() {
                return Err(PyValueError::new_err(format!("[{op}] Tensors must be contiguous; pass x.contiguous()")));
            }
            if let Some(other) = self.dtype.replace(array.dtype()).filter(|&other| other != array.dtype()) {
                return Err(PyValueError::new_err(format!(
                    "[{op}] tensors must have one dtype, but got {} and {}",
                    other.name(),
                    array.dtype().name()
                )));
            }
            let (buffer, guard, bytes) = interrupt::run(py, || engine.lend_to_work(&array, access))?;
            memory.push(Memory { address: first_byte(&array, &buffer), bytes: bytes.len() });
            self.kept.push((buffer, guard, access, bytes));
        }
        Ok(memory)
    }

    /// Keeps the memory for `work`.
    fn lend(self) -> Lend<'static> {
        Box::new(move |work: Arc<dyn ExternalWork>| -> Keep {
            let during = |(buffer, guard, access, bytes): (Buffer, SharedGuard, Access, Range<usize>)| {
                (buffer, guard.during(work.clone(), access, bytes))
            };
            Box::new(self.kept.into_iter().map(during).collect::<Vec<_>>())
        })
    }
}

#[pymethods]
impl PyGroup {
    /// Makes a group of these ranks; all of them call it. `mpi` is the file of a library that has opened MPI, with the
    /// handles of a communicator of these ranks and of `MPI_BYTE`.
    #[new]
    #[pyo3(signature = (session, store, number, ranks, timeout, mpi = None))]
    #[allow(clippy::too_many_arguments, reason = "one call from Python")]
    fn new(
        py: Python<'_>,
        session: &PySession,
        store: &PyStore,
        number: u32,
        ranks: Vec<u32>,
        timeout: f64,
        mpi: Option<(PathBuf, usize, usize)>,
    ) -> PyResult<PyGroup> {
        let (timeout, session, store) = (seconds(timeout)?, &session.session, &store.store);
        let group = run(py, || {
            // SAFETY: the Python side gives the handles of the library that it has initialized.
            let communicator = mpi.map(|(library, comm, byte)| unsafe { Communicator::new(&library, comm, byte) });
            Group::new(session, &**store, number, ranks, timeout, communicator.transpose()?)
        })?;
        Ok(PyGroup { backend: Box::new(group), device: 0 })
    }

    /// Makes a group of these ranks for tensors on a GPU, by NCCL; all of them call it.
    #[staticmethod]
    fn nccl(
        py: Python<'_>,
        session: &PySession,
        store: &PyStore,
        number: u32,
        ranks: Vec<u32>,
        timeout: f64,
        device: &str,
    ) -> PyResult<PyGroup> {
        let (timeout, session, store) = (seconds(timeout)?, &session.session, &store.store);
        let engine = interrupt::run(py, || devices::by_name(device))?;
        let ordinal = devices::gpu(engine)
            .ok_or_else(|| PyValueError::new_err(format!("NCCL connects GPUs, not {}", devices::name(engine))))?;
        let lost: &'static Arc<Engine> = engine;
        let alloc = move |bytes: usize| engine.alloc(bytes);
        let poison = move |failure: &Failure| lost.lose(failure.clone().into());
        // SAFETY: an engine lives as long as the process, and its stream as long as the engine.
        let gpu = unsafe { cuprous_nccl::Gpu::new(ordinal, engine.device.stream(), Arc::new(alloc), Arc::new(poison)) };
        let gpu = gpu.map_err(|failure| raise(py, failure))?;
        let group = run(py, || DeviceGroup::new(session, &**store, number, ranks, timeout, &gpu))?;
        Ok(PyGroup { backend: Box::new(group), device: engine.id })
    }

    /// Performs a collective. With `is_async` it has only begun when this returns work.
    #[allow(clippy::too_many_arguments, reason = "one call from Python")]
    fn collective(
        &self,
        py: Python<'_>,
        op: &str,
        inputs: &Bound<'_, PyList>,
        outputs: &Bound<'_, PyList>,
        reduce: Option<&str>,
        root: Option<usize>,
        is_async: bool,
        timeout: Option<f64>,
    ) -> PyResult<Option<PyWork>> {
        locate();
        let timeout = timeout.map(seconds).transpose()?;
        let unknown = |what: &str, name: &str| PyValueError::new_err(format!("unknown {what} {name:?}"));
        let kind = Op::parse(op).ok_or_else(|| unknown("operation", op))?;
        let reduce =
            reduce.map(|name| ReduceKind::parse(name).ok_or_else(|| unknown("reduction", name))).transpose()?;
        let mut borrowed = Borrowed::new(self.device);
        // Outputs first: what the backward pass still needs of them is copied before the memory counts as shared.
        let is_in_place = inputs.len() == outputs.len() && inputs.iter().zip(outputs).all(|(a, b)| a.is(&b));
        let outputs = borrowed.borrow(py, op, outputs, Access::Writes)?;
        let inputs = if is_in_place { outputs.clone() } else { borrowed.borrow(py, op, inputs, Access::Reads)? };
        let dtype = borrowed.dtype.unwrap_or(DType::U8);
        let request = Request { op: kind, dtype, reduce, root, inputs, outputs, line: current_line(py), timeout };
        if is_async {
            let work = run(py, || self.backend.submit(&request, borrowed.lend()))?;
            return Ok(Some(PyWork { work }));
        }
        run(py, || self.backend.run(&request, Box::new(borrowed.kept)))?;
        Ok(None)
    }

    /// Begins messages that do not wait for each other: whether one is sent, the other rank in the group (or None to
    /// receive from any), its tag, and its tensor.
    fn messages(
        &self,
        py: Python<'_>,
        all: Vec<(bool, Option<usize>, u64, Bound<'_, PyTensor>)>,
    ) -> PyResult<Vec<PyWork>> {
        locate();
        let mut messages = Vec::with_capacity(all.len());
        for (is_send, peer, tag, tensor) in all {
            let mut borrowed = Borrowed::new(self.device);
            let op = if is_send { "send" } else { "recv" };
            let access = if is_send { Access::Reads } else { Access::Writes };
            let memory = borrowed.borrow(py, op, &PyList::new(py, [tensor])?, access)?[0];
            let dtype = borrowed.dtype.unwrap_or(DType::U8);
            let message = Message { is_send, peer, tag, dtype, memory, line: current_line(py) };
            messages.push((message, borrowed.lend()));
        }
        let begun = run(py, || self.backend.exchange(messages))?;
        Ok(begun.into_iter().map(|work| PyWork { work }).collect())
    }

    /// Waits for the operations that were called, for at most that many seconds, and ends the threads.
    fn end(&self, py: Python<'_>, timeout: f64) -> PyResult<()> {
        let timeout = seconds(timeout)?;
        py.detach(|| self.backend.end(timeout));
        Ok(())
    }

    /// World ranks, in the order of the group.
    #[getter]
    fn ranks(&self) -> Vec<u32> {
        self.backend.ranks().to_vec()
    }

    /// This process's rank in the group.
    #[getter]
    fn rank(&self) -> usize {
        self.backend.rank()
    }

    /// How bytes move: "shared memory", "sockets", "MPI" or "nccl".
    #[getter]
    fn transport(&self) -> &'static str {
        self.backend.transport()
    }
}
