//! Gradients: the API of `torch.autograd`.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, MutexGuard};

use cuprous_autograd::backward::{self, Options};
use cuprous_autograd::mode::Anomaly;
use cuprous_autograd::{Custom, Foreign, Hook, Node, NodeOutput, Recompute, SavedTensor, Tensor, mode, ops};
use cuprous_core::Error;
use pyo3::exceptions::{PyRuntimeError, PyUserWarning};
use pyo3::prelude::*;
use pyo3::pyclass::{PyTraverseError, PyVisit};
use pyo3::types::{PyList, PyTuple};

use super::PyTensor;
use crate::devices;
use crate::errors::OrRaise;
use crate::interrupt::{self, run_due_tape};

thread_local! {
    /// The exception of a Python function that raised during a backward pass, until the pass has ended.
    static RAISED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

fn raised(error: PyErr) -> Error {
    RAISED.set(Some(error));
    Error::runtime("a Python function called by backward raised")
}

/// Returns the exception that Python raised, otherwise the engine's error.
fn answer<T>(result: cuprous_core::Result<T>) -> PyResult<T> {
    let raised = RAISED.take();
    match (result, raised) {
        (Err(_), Some(error)) => Err(error),
        (result, _) => result.or_raise(),
    }
}

/// A Python function that is called with a gradient.
struct GradientHook(Py<PyAny>);

/// A Python function that is called after a leaf's gradient was accumulated.
struct AfterHook(Py<PyAny>);

/// A Python function of the backward pass, and the list of what was saved for it.
struct Function {
    call: Py<PyAny>,
    saved: Py<PyList>,
}

impl Foreign for GradientHook {}
impl Foreign for AfterHook {}
impl Foreign for Function {
    fn release(&self) {
        Python::attach(|py| {
            let saved = self.saved.bind(py);
            // An error would only leave the saved objects in memory.
            let _ = saved.del_slice(0, saved.len());
        });
    }
}

impl Hook for GradientHook {
    fn call(&self, g: &Tensor) -> cuprous_core::Result<Option<Tensor>> {
        Python::attach(|py| {
            let answer = self.0.bind(py).call1((PyTensor::wrap(g.clone()),))?;
            if answer.is_none() {
                return Ok(None);
            }
            Ok(Some(answer.cast::<PyTensor>()?.get().tensor()))
        })
        .map_err(raised)
    }
}

impl Hook for AfterHook {
    fn call(&self, _: &Tensor) -> cuprous_core::Result<Option<Tensor>> {
        Python::attach(|py| self.0.bind(py).call0().map(|_| None)).map_err(raised)
    }
}

impl Custom for Function {
    fn backward(&self, node: &Arc<Node>, gs: &[Option<Tensor>]) -> cuprous_core::Result<Vec<Option<Tensor>>> {
        Python::attach(|py| -> PyResult<_> {
            let wrap = |g: &Option<Tensor>| g.clone().map(|g| Py::new(py, PyTensor::wrap(g))).transpose();
            let gs: Vec<Option<Py<PyTensor>>> = gs.iter().map(wrap).collect::<PyResult<_>>()?;
            let node = PyNode { head: NodeOutput { node: node.clone(), index: 0 }, is_view: false };
            let answer = self.call.bind(py).call1((PyList::new(py, gs)?, node))?;
            let grads: Vec<Option<Bound<'_, PyTensor>>> = answer.cast::<PyTuple>()?.extract()?;
            Ok(grads.iter().map(|g| g.as_ref().map(|g| g.get().in_any_order())).collect())
        })
        .map_err(raised)
    }
}

impl Recompute for Function {
    fn compute(&self) -> cuprous_core::Result<Vec<Tensor>> {
        Python::attach(|py| -> PyResult<_> {
            let results: Vec<Bound<'_, PyTensor>> = self.call.bind(py).call0()?.extract()?;
            Ok(results.iter().map(|t| t.get().in_any_order()).collect())
        })
        .map_err(raised)
    }
}

/// A tensor as it was when it was saved.
#[pyclass(frozen, name = "Saved", module = "cuprous.torch.autograd")]
pub(crate) struct PySaved {
    saved: SavedTensor,
    object: Py<PyTensor>,
}

#[pymethods]
impl PySaved {
    /// Returns the saved tensor: the object itself if it has not changed, otherwise a tensor of the old contents.
    fn tensor<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTensor>> {
        let object = self.object.bind(py);
        if self.saved.is_current(&object.get().in_any_order()) {
            return Ok(object.clone());
        }
        Bound::new(py, PyTensor::wrap(self.saved.tensor()))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.object)
    }
}

/// Shows Python's garbage collector the hooks and functions that only this tensor keeps alive.
fn traverse(t: &Tensor, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
    let mut outcome = Ok(());
    t.visit_owned(&mut |object| {
        let mut show = |object: &Py<PyAny>| {
            if outcome.is_ok() {
                outcome = visit.call(object);
            }
        };
        if let Some(GradientHook(hook)) = object.downcast_ref() {
            show(hook);
        } else if let Some(AfterHook(hook)) = object.downcast_ref() {
            show(hook);
        } else if let Some(Function { call, saved }) = object.downcast_ref() {
            show(call);
            show(saved.as_any());
        }
    });
    outcome
}

/// Detaches a tensor. The part of the graph that it alone kept alive is dropped without the lock, because destructors
/// of Python objects may use the tensor.
fn leave_graph(mut tensor: MutexGuard<'_, Tensor>) {
    let detached = tensor.detach();
    let graph = std::mem::replace(&mut *tensor, detached);
    drop(tensor);
    drop(graph);
}

#[pymethods]
impl PyTensor {
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        if !self.is_initialized {
            return Ok(());
        }
        match self.tensor.try_lock() {
            Ok(tensor) => traverse(&tensor, &visit),
            // The tensor is in use, so it is not garbage.
            Err(_) => Ok(()),
        }
    }

    fn __clear__(&self) {
        leave_graph(self.lock());
    }
}

/// A node of the graph, as `grad_fn` shows it.
///
/// Examples
/// --------
/// >>> x = torch.tensor([3.0], requires_grad=True)
/// >>> (x * x).grad_fn.name()
/// 'MulBackward0'
#[pyclass(frozen, name = "Node", module = "cuprous.torch.autograd.graph")]
pub(crate) struct PyNode {
    head: NodeOutput,
    /// True for a view of a leaf, which PyTorch shows as a node of its own.
    is_view: bool,
}

#[pymethods]
impl PyNode {
    /// Returns the name of the operation.
    ///
    /// Returns
    /// -------
    /// str
    ///
    /// Examples
    /// --------
    /// >>> x = torch.tensor([3.0], requires_grad=True)
    /// >>> (x * x).grad_fn.name()
    /// 'MulBackward0'
    fn name(&self) -> String {
        if self.is_view { "ViewBackward0".into() } else { self.head.node.name() }
    }

    fn __repr__(&self) -> String {
        format!("<{}>", self.name())
    }

    /// The nodes that receive the gradients of the operands, with the number of their output.
    #[getter]
    fn next_functions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        if self.is_view {
            return PyTuple::new(py, [(Some(PyNode { head: self.head.clone(), is_view: false }), self.head.index)]);
        }
        let sources: Vec<(Option<PyNode>, u32)> = (self.head.node.sources())
            .map(|head| match head {
                Some(head) => {
                    let out = head.index;
                    (Some(PyNode { head, is_view: false }), out)
                }
                None => (None, 0),
            })
            .collect();
        PyTuple::new(py, sources)
    }

    /// Returns a detached result as that output of the node.
    ///
    /// Parameters
    /// ----------
    /// result : Tensor
    ///     The tensor.
    /// out : int
    ///     The number of the output.
    ///
    /// Returns
    /// -------
    /// Tensor
    ///     A tensor on the same memory.
    ///
    /// Examples
    /// --------
    /// >>> x = torch.tensor([3.0], requires_grad=True)
    /// >>> y = x * x
    /// >>> y.grad_fn.output(y.detach(), 0).requires_grad
    /// True
    fn output(&self, result: &PyTensor, out: u32) -> PyTensor {
        PyTensor::wrap(Tensor::output(result.array(), self.head.node.clone(), out))
    }
}

#[pymethods]
impl PyTensor {
    /// True if operations on the tensor are recorded for gradients.
    ///
    /// Examples
    /// --------
    /// >>> torch.ones(2).requires_grad
    /// False
    #[getter]
    fn get_requires_grad(&self) -> bool {
        self.lock().requires_grad()
    }

    #[setter]
    fn set_requires_grad(&self, on: bool) -> PyResult<()> {
        self.lock().set_requires_grad(on).or_raise()
    }

    /// True for a tensor that was not computed from others that require gradients.
    ///
    /// Examples
    /// --------
    /// >>> x = torch.tensor([3.0], requires_grad=True)
    /// >>> x.is_leaf, (2 * x).is_leaf
    /// (True, False)
    #[getter]
    fn is_leaf(&self) -> PyResult<bool> {
        let tensor = self.lock();
        tensor.check_position().or_raise()?;
        Ok(tensor.is_leaf())
    }

    /// How often the tensor was written to in place. Views and `detach()` share the count.
    ///
    /// Examples
    /// --------
    /// >>> x = torch.zeros(2)
    /// >>> _ = x.add_(1)
    /// >>> x._version, x[:1]._version
    /// (1, 1)
    #[getter(_version)]
    fn version(&self) -> u32 {
        self.lock().version()
    }

    /// The tensor of which this one is a view; None for a tensor that is not a view.
    ///
    /// Examples
    /// --------
    /// >>> x = torch.zeros(2)
    /// >>> x._base, x[:1]._base
    /// (None, tensor([0., 0.]))
    #[getter(_base)]
    fn base(&self) -> Option<PyTensor> {
        let tensor = self.lock();
        tensor.is_view().then(|| PyTensor::wrap(tensor.base()))
    }

    /// Returns true for a view of another tensor.
    ///
    /// Returns
    /// -------
    /// bool
    ///
    /// Examples
    /// --------
    /// >>> torch.zeros(2)[:1]._is_view()
    /// True
    #[pyo3(name = "_is_view")]
    fn is_view(&self) -> bool {
        self.lock().is_view()
    }

    /// Counts a write in place.
    ///
    /// Examples
    /// --------
    /// >>> x = torch.zeros(2)
    /// >>> x._count_write()
    /// >>> x._version
    /// 1
    #[pyo3(name = "_count_write")]
    fn count_write(&self) {
        self.lock().count_write();
    }

    /// Makes the object show what a view of it shows: for methods such as `unsqueeze_`.
    ///
    /// Parameters
    /// ----------
    /// view : Tensor
    ///     A view of the tensor.
    ///
    /// Raises
    /// ------
    /// RuntimeError
    ///     For a leaf that requires a gradient, while gradients are recorded.
    ///
    /// Examples
    /// --------
    /// >>> x = torch.zeros(2)
    /// >>> x._become_view(x[None])
    /// >>> x.shape
    /// torch.Size([1, 2])
    #[pyo3(name = "_become_view")]
    fn become_view(&self, view: &PyTensor) -> PyResult<()> {
        let view = view.tensor();
        self.lock().become_view(view).or_raise()
    }

    /// The node of the graph that computed the tensor; None for a leaf.
    ///
    /// Examples
    /// --------
    /// >>> x = torch.tensor([3.0], requires_grad=True)
    /// >>> x.grad_fn is None
    /// True
    #[getter]
    fn grad_fn(&self) -> PyResult<Option<PyNode>> {
        let tensor = self.tensor();
        tensor.check_position().or_raise()?;
        let head = if tensor.is_leaf() { None } else { tensor.source() };
        Ok(head.map(|head| {
            let is_view = head.node.is_leaf();
            PyNode { head, is_view }
        }))
    }

    /// The gradient that backward passes accumulated; None without one.
    ///
    /// Examples
    /// --------
    /// >>> x = torch.tensor([3.0], requires_grad=True)
    /// >>> (x * x).backward()
    /// >>> x.grad
    /// tensor([6.])
    #[getter]
    fn get_grad(&self) -> Option<PyTensor> {
        self.tensor().grad().map(PyTensor::wrap)
    }

    #[setter]
    fn set_grad(&self, gradient: Option<&Bound<'_, PyTensor>>) -> PyResult<()> {
        self.tensor().set_grad(gradient.map(|g| g.get().tensor())).or_raise()
    }

    /// The tensor without its history, on the same memory. Setting it gives the tensor another memory.
    ///
    /// Examples
    /// --------
    /// >>> x = torch.tensor([3.0], requires_grad=True)
    /// >>> x.data.requires_grad
    /// False
    #[getter]
    fn get_data(&self) -> PyTensor {
        PyTensor::wrap(Tensor::new(self.array()))
    }

    #[setter]
    fn set_data(&self, other: &PyTensor) -> PyResult<()> {
        let array = other.array();
        self.lock().set_data(array).or_raise()
    }

    /// Returns the tensor without its history, on the same memory.
    ///
    /// Returns
    /// -------
    /// Tensor
    ///     A tensor that does not require gradients.
    ///
    /// Examples
    /// --------
    /// >>> x = torch.tensor([3.0], requires_grad=True)
    /// >>> (2 * x).detach()
    /// tensor([6.])
    fn detach(&self) -> PyTensor {
        PyTensor::wrap(self.tensor().detach())
    }

    /// Makes the tensor a leaf. Earlier views of it keep their history.
    ///
    /// Raises
    /// ------
    /// RuntimeError
    ///     For a view of a tensor that was computed from one that requires a gradient.
    ///
    /// Examples
    /// --------
    /// >>> y = 2 * torch.tensor([3.0], requires_grad=True)
    /// >>> y.leave_graph()
    /// >>> y.is_leaf
    /// True
    fn leave_graph(&self) -> PyResult<()> {
        let tensor = self.lock();
        if !tensor.is_whole() && tensor.requires_grad() {
            return Err(PyRuntimeError::new_err(
                "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel (DDP) for \
                 training, and gradient_as_bucket_view is set as True, gradients are views of DDP buckets, and hence \
                 detach_() cannot be called on these gradients.",
            ));
        }
        leave_graph(tensor);
        Ok(())
    }

    /// Makes backward passes store the gradient of a tensor that is not a leaf.
    ///
    /// Raises
    /// ------
    /// RuntimeError
    ///     For a tensor that does not require gradients.
    ///
    /// Examples
    /// --------
    /// >>> y = 2 * torch.tensor([3.0], requires_grad=True)
    /// >>> y.retain_grad()
    /// >>> (y * y).backward()
    /// >>> y.grad
    /// tensor([12.])
    fn retain_grad(&self) -> PyResult<()> {
        self.tensor().retain_grad().or_raise()
    }

    /// True for a tensor that is not a leaf and stores its gradient.
    ///
    /// Examples
    /// --------
    /// >>> y = 2 * torch.tensor([3.0], requires_grad=True)
    /// >>> y.retains_grad
    /// False
    #[getter]
    fn retains_grad(&self) -> bool {
        self.tensor().retains_grad()
    }

    /// Registers a function that is called with each gradient. `register_hook` is PyTorch's name for it.
    ///
    /// Parameters
    /// ----------
    /// hook : callable
    ///     A function of the gradient; a tensor that it returns replaces the gradient.
    ///
    /// Returns
    /// -------
    /// int
    ///     A number for `remove_hook`.
    ///
    /// Examples
    /// --------
    /// >>> x = torch.tensor([3.0], requires_grad=True)
    /// >>> number = x.add_hook(lambda grad: 10 * grad)
    /// >>> (2 * x).backward()
    /// >>> x.grad
    /// tensor([20.])
    fn add_hook(&self, hook: Py<PyAny>) -> PyResult<u64> {
        self.tensor().register_hook(Arc::new(GradientHook(hook))).or_raise()
    }

    /// Registers a function that is called after the gradient of this leaf was accumulated.
    ///
    /// Parameters
    /// ----------
    /// hook : callable
    ///     A function without arguments.
    ///
    /// Returns
    /// -------
    /// int
    ///     A number for `remove_hook`.
    ///
    /// Examples
    /// --------
    /// >>> x = torch.tensor([3.0], requires_grad=True)
    /// >>> number = x.add_after_hook(lambda: print("has a gradient"))
    /// >>> (2 * x).backward()
    /// has a gradient
    fn add_after_hook(&self, hook: Py<PyAny>) -> PyResult<u64> {
        self.tensor().register_post_accumulate(Arc::new(AfterHook(hook))).or_raise()
    }

    /// Removes a function that `add_hook` or `add_after_hook` registered.
    ///
    /// Parameters
    /// ----------
    /// id : int
    ///     The number that it returned.
    ///
    /// Examples
    /// --------
    /// >>> x = torch.tensor([3.0], requires_grad=True)
    /// >>> x.remove_hook(x.add_hook(lambda grad: 10 * grad))
    /// >>> (2 * x).backward()
    /// >>> x.grad
    /// tensor([2.])
    fn remove_hook(&self, id: u64) {
        self.tensor().remove_hook(id);
    }

    /// Computes the gradients of the leaves that the tensor depends on, and adds them to their `grad`.
    ///
    /// Parameters
    /// ----------
    /// gradient : Tensor, optional
    ///     The gradient of the tensor; it may be left out for one element.
    /// retain_graph : bool, optional
    ///     Whether the graph is kept for another pass, by default what `create_graph` says.
    /// create_graph : bool, default False
    ///     Whether operations of the pass are recorded for gradients.
    /// inputs : Tensor or sequence of Tensors, optional
    ///     The leaves whose gradients are wanted, by default all.
    ///
    /// Raises
    /// ------
    /// RuntimeError
    ///     For a tensor without history, several elements without `gradient`, or a graph that was freed.
    ///
    /// Examples
    /// --------
    /// >>> x = torch.tensor([3.0], requires_grad=True)
    /// >>> (x * x).sum().backward()
    /// >>> x.grad
    /// tensor([6.])
    #[pyo3(signature = (gradient = None, retain_graph = None, create_graph = false, inputs = None))]
    fn backward(
        &self,
        py: Python<'_>,
        gradient: Option<&Bound<'_, PyTensor>>,
        retain_graph: Option<bool>,
        create_graph: bool,
        inputs: Option<Vec<Bound<'_, PyTensor>>>,
    ) -> PyResult<()> {
        let gradient = gradient.map(|g| g.get().tensor());
        run(py, &[self.tensor()], &[gradient], retain_graph, create_graph, inputs)
    }
}

/// Warns once, with PyTorch's text, that gradients with a graph keep their leaves alive.
fn warn_of_cycle(py: Python<'_>) -> PyResult<()> {
    static WARNED: AtomicBool = AtomicBool::new(false);
    if WARNED.swap(true, Relaxed) {
        return Ok(());
    }
    let text = c"Using backward() with create_graph=True will create a reference cycle between the parameter and its \
gradient which can cause a memory leak. We recommend using autograd.grad when creating the graph to avoid this. If you \
have to use this function, make sure to reset the .grad fields of your parameters to None after use to break the cycle \
and avoid the leak.";
    PyErr::warn(py, &py.get_type::<PyUserWarning>(), text, 1)
}

fn run(
    py: Python<'_>,
    results: &[Tensor],
    gradients: &[Option<Tensor>],
    retain_graph: Option<bool>,
    create_graph: bool,
    inputs: Option<Vec<Bound<'_, PyTensor>>>,
) -> PyResult<()> {
    let pairs: Vec<_> = results.iter().zip(gradients.iter().map(Option::as_ref)).collect();
    let inputs: Option<Vec<Tensor>> = inputs.map(|all| all.iter().map(|t| t.get().tensor()).collect());
    let inputs: Option<Vec<&Tensor>> = inputs.as_ref().map(|all| all.iter().collect());
    let options = Options { retain_graph: retain_graph.unwrap_or(create_graph), create_graph };
    if create_graph {
        warn_of_cycle(py)?;
    }
    // Programs run without the GIL; only hooks take it again.
    answer(interrupt::detach(py, || backward::backward(&pairs, inputs.as_deref(), options))?)?;
    results.iter().try_for_each(|t| run_due_tape(py, devices::of(&t.array)))
}

/// `torch.autograd.backward`.
#[pyfunction]
#[pyo3(signature = (tensors, gradients, retain_graph, create_graph, inputs))]
pub(crate) fn t_backward(
    py: Python<'_>,
    tensors: Vec<Bound<'_, PyTensor>>,
    gradients: Vec<Option<Bound<'_, PyTensor>>>,
    retain_graph: Option<bool>,
    create_graph: bool,
    inputs: Option<Vec<Bound<'_, PyTensor>>>,
) -> PyResult<()> {
    let tensors: Vec<Tensor> = tensors.iter().map(|t| t.get().tensor()).collect();
    let gradients: Vec<_> = gradients.iter().map(|g| g.as_ref().map(|g| g.get().tensor())).collect();
    run(py, &tensors, &gradients, retain_graph, create_graph, inputs)
}

/// `torch.autograd.grad`: a list with None where a result does not depend on an input.
#[pyfunction]
pub(crate) fn t_grad(
    py: Python<'_>,
    outputs: Vec<Bound<'_, PyTensor>>,
    inputs: Vec<Bound<'_, PyTensor>>,
    gradients: Vec<Option<Bound<'_, PyTensor>>>,
    retain_graph: Option<bool>,
    create_graph: bool,
) -> PyResult<Vec<Option<PyTensor>>> {
    let outputs: Vec<Tensor> = outputs.iter().map(|t| t.get().tensor()).collect();
    let inputs: Vec<Tensor> = inputs.iter().map(|t| t.get().tensor()).collect();
    let gradients: Vec<_> = gradients.iter().map(|g| g.as_ref().map(|g| g.get().tensor())).collect();
    let pairs: Vec<_> = outputs.iter().zip(gradients.iter().map(Option::as_ref)).collect();
    let inputs: Vec<&Tensor> = inputs.iter().collect();
    let options = Options { retain_graph: retain_graph.unwrap_or(create_graph), create_graph };
    let grads = answer(interrupt::detach(py, || backward::gradients(&pairs, &inputs, options))?)?;
    for output in &outputs {
        run_due_tape(py, devices::of(&output.array))?;
    }
    Ok(grads.into_iter().map(|g| g.map(PyTensor::wrap)).collect())
}

/// Calls a function when the outermost backward pass has reached all leaves.
#[pyfunction]
pub(crate) fn t_at_backward_end(function: Py<PyAny>) -> PyResult<()> {
    let call = move || Python::attach(|py| function.bind(py).call0().map(drop)).map_err(raised);
    backward::at_end(Box::new(call)).or_raise()
}

/// Moves the gradients of leaves into the memory of views, which are their gradients from then on. The view of a leaf
/// without a gradient becomes zero.
#[pyfunction]
pub(crate) fn t_move_gradients(
    py: Python<'_>,
    leaves: Vec<Bound<'_, PyTensor>>,
    views: Vec<Bound<'_, PyTensor>>,
) -> PyResult<()> {
    for (leaf, view) in leaves.iter().zip(&views) {
        let (leaf, view) = (leaf.get().tensor(), view.get().tensor());
        answer(interrupt::detach(py, || backward::move_gradient(&leaf, &view))?)?;
    }
    Ok(())
}

/// Gives the outputs of a function a backward pass: `rule(list of gradients or None, node)` returns one gradient or
/// None for each input. The list `saved` is cleared when the graph is freed. `has_others` says that the function may have
/// kept outputs: both handles show the same memory, and so are row-major from the start, where each for itself would be
/// copied when it is looked at.
#[pyfunction]
pub(crate) fn t_custom(
    name: &str,
    outputs: Vec<Bound<'_, PyTensor>>,
    inputs: Vec<Bound<'_, PyTensor>>,
    rule: Py<PyAny>,
    saved: Py<PyList>,
    has_others: bool,
) -> PyResult<Vec<PyTensor>> {
    let array = |t: &Bound<'_, PyTensor>| if has_others { t.get().array() } else { t.get().in_any_order().array };
    let arrays = outputs.iter().map(array).collect();
    let inputs: Vec<Tensor> = inputs.iter().map(|t| t.get().in_any_order()).collect();
    let inputs: Vec<&Tensor> = inputs.iter().collect();
    let rule = Box::new(Function { call: rule, saved });
    Ok(ops::custom(name, arrays, &inputs, rule).or_raise()?.into_iter().map(PyTensor::wrap).collect())
}

/// Replaces the memory of a whole tensor by that of another one with the same contents, or frees it.
#[pyfunction]
#[pyo3(signature = (t, other = None))]
pub(crate) fn t_replace_memory(
    py: Python<'_>,
    t: &Bound<'_, PyTensor>,
    other: Option<&Bound<'_, PyTensor>>,
) -> PyResult<()> {
    let (array, other) = (t.get().array(), other.map(|other| other.get().array()));
    let engine = devices::of(&array);
    interrupt::run(py, || engine.replace_memory(&array.storage, other.as_ref().map(|other| &*other.storage)))
}

/// Saves the tensor as it is now; later writes do not change what was saved.
#[pyfunction]
pub(crate) fn t_save(t: &Bound<'_, PyTensor>) -> PySaved {
    PySaved { saved: SavedTensor::new(&t.get().in_any_order()), object: t.clone().unbind() }
}

/// Returns the current point in time for `t_checkpoint`.
#[pyfunction]
pub(crate) fn t_mark() -> u64 {
    ops::mark()
}

/// Checkpoints results that were computed after `start`: `again()` computes the list of them again when their gradients
/// arrive. The list `saved` is cleared when the graph is freed.
#[pyfunction]
pub(crate) fn t_checkpoint(
    outputs: Vec<Bound<'_, PyTensor>>,
    start: u64,
    again: Py<PyAny>,
    saved: Py<PyList>,
) -> PyResult<Vec<PyTensor>> {
    let outputs: Vec<Tensor> = outputs.iter().map(|t| t.get().tensor()).collect();
    let again = Box::new(Function { call: again, saved });
    Ok(ops::checkpoint(&outputs, start, again).or_raise()?.into_iter().map(PyTensor::wrap).collect())
}

/// Returns true if results depend on leaves that are not among the inputs.
#[pyfunction]
pub(crate) fn t_other_leaves(results: Vec<Bound<'_, PyTensor>>, inputs: Vec<Bound<'_, PyTensor>>) -> bool {
    let all = |tensors: &[Bound<'_, PyTensor>]| tensors.iter().map(|t| t.get().tensor()).collect::<Vec<Tensor>>();
    let (results, inputs) = (all(&results), all(&inputs));
    ops::has_other_leaves(&results.iter().collect::<Vec<_>>(), &inputs.iter().collect::<Vec<_>>())
}

/// Sets what is checked during backward passes ("off", "lines" or "nan") and returns the previous setting.
#[pyfunction]
pub(crate) fn set_anomaly(to: &str) -> PyResult<&'static str> {
    let to = match to {
        "off" => Anomaly::Off,
        "lines" => Anomaly::Lines,
        "nan" => Anomaly::Nan,
        _ => return Err(pyo3::exceptions::PyValueError::new_err(format!("unknown anomaly mode {to:?}"))),
    };
    Ok(match mode::set_anomaly(to) {
        Anomaly::Off => "off",
        Anomaly::Lines => "lines",
        Anomaly::Nan => "nan",
    })
}

/// Enables or disables recording for gradients and returns the previous setting.
#[pyfunction]
pub(crate) fn set_grad_enabled(on: bool) -> bool {
    mode::set(on)
}

/// Returns true if operations are recorded for gradients.
///
/// Returns
/// -------
/// bool
///
/// Examples
/// --------
/// >>> with torch.no_grad():
/// ...     torch.is_grad_enabled()
/// False
#[pyfunction]
pub(crate) fn is_grad_enabled() -> bool {
    mode::enabled()
}
