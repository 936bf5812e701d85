//! Kernels as Python sees them: compiled for the types they are launched with, launched in order with recorded work.

use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};

use cuprous_core::Array;
use cuprous_kernel::ast::Value;
use cuprous_kernel::fault::{Checks, FaultKind, Record};
use cuprous_kernel::lower::{Arg as Given, compile_function};
use cuprous_kernel::{ArrayTy, Module, Options, Order, Ty, abi};
use cuprous_plan::{Engine, KernelRef, Launch, UserLaunch};
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt, PyTuple};
use smallvec::SmallVec;

use super::args::{Arg, HostArray, Key, Packed, Records, key_of};
use super::quick::Table;
use super::{dates, parse, raise, types};
use crate::devices;
use crate::errors::OrRaise;
use crate::operand;

/// What Numba warns of, where somebody asked: too few blocks, arrays of the host.
static WARN: AtomicU8 = AtomicU8::new(0);
const FEW_BLOCKS: u8 = 1;
const HOST_ARRAYS: u8 = 2;

/// Switches the warnings.
pub(super) fn warn_of(few_blocks: bool, host_arrays: bool) {
    WARN.store((u8::from(few_blocks) * FEW_BLOCKS) | (u8::from(host_arrays) * HOST_ARRAYS), Relaxed);
}

/// A kernel for one list of argument types on one device.
struct Overload {
    engine: u8,
    /// Types of what a launch passes, and of that with what is captured.
    given: Vec<Ty>,
    types: Vec<Ty>,
    starts: Vec<usize>,
    bytes: usize,
    /// For each array among the arguments, whether it may be written.
    writes: Vec<bool>,
    module: Arc<Module>,
    /// Classes of the exceptions that it raises.
    classes: Arc<[Py<PyAny>]>,
    /// Arrays that it uses without being given them; they are its last arguments.
    captured: Vec<Array>,
    code: KernelRef,
    /// For launches with arguments of its own types, where it has only simple ones.
    table: Option<Table>,
    /// Launches of it so far, the last ones: their shapes are checked once.
    launches: Mutex<Vec<Arc<UserLaunch>>>,
}

/// An overload and the keys of the arguments that it serves, that of its own types first.
struct Entry {
    keys: Vec<Key>,
    overload: Arc<Overload>,
}

/// A Python function that runs on devices.
#[pyclass(frozen, subclass, dict, weakref, module = "cuprous.cuda")]
pub(crate) struct Kernel {
    function: Py<PyAny>,
    options: Options,
    /// Names of the parameters and their default values.
    params: Vec<(String, Option<Py<PyAny>>)>,
    overloads: Mutex<Vec<Entry>>,
    /// The one that was launched last.
    recent: AtomicUsize,
    /// Types given with the decorator: others are converted to them.
    signatures: Mutex<Vec<Vec<Ty>>>,
    /// Whether those are of a function that kernels call.
    device: bool,
}

/// A kernel with the shape of its launch.
#[pyclass(frozen, module = "cuprous.cuda")]
pub(crate) struct Launcher {
    kernel: Py<Kernel>,
    launch: Launch,
}

/// A number of blocks or threads, or up to three.
pub(super) fn extents(what: &str, object: &Bound<'_, PyAny>) -> PyResult<[u32; 3]> {
    let wrong = || PyTypeError::new_err(format!("{what} must be an int or a tuple of up to three, got {object}"));
    let number = |o: &Bound<'_, PyAny>| -> PyResult<u32> {
        let n = match o.extract::<i64>() {
            Ok(n) => n,
            Err(_) => o.call_method0("__index__").and_then(|n| n.extract()).map_err(|_| wrong())?,
        };
        u32::try_from(n).map_err(|_| PyValueError::new_err(format!("{what} cannot be {n}")))
    };
    let mut all = [1; 3];
    if let Ok(n) = object.cast_exact::<PyInt>() {
        all[0] = number(n)?;
    } else if let Ok(items) = object.cast::<PyTuple>() {
        for (k, item) in items.iter().enumerate() {
            *all.get_mut(k).ok_or_else(wrong)? = number(&item)?;
        }
    } else if let Ok(items) = object.try_iter() {
        for (k, item) in items.enumerate() {
            *all.get_mut(k).ok_or_else(wrong)? = number(&item?)?;
        }
    } else {
        all[0] = number(object)?;
    }
    Ok(all)
}

impl Kernel {
    /// The Python function.
    pub(super) fn function<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        self.function.bind(py).clone()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.overloads.lock().unwrap_or_else(|e| e.into_inner())
    }

    fn find(&self, key: &Key, engine: u8) -> Option<Arc<Overload>> {
        let entries = self.lock();
        let found = entries.iter().position(|e| e.overload.engine == engine && e.keys.contains(key))?;
        self.recent.store(found, Relaxed);
        Some(entries[found].overload.clone())
    }

    /// The types of the signature that arguments fit, where there are signatures.
    fn fitting(&self, args: &[Arg<'_>]) -> PyResult<Option<Vec<Ty>>> {
        let signatures = self.signatures.lock().unwrap_or_else(|e| e.into_inner());
        if signatures.is_empty() {
            return Ok(None);
        }
        let have: Vec<Ty> = args.iter().map(Arg::ty).collect();
        // What loses least: nothing, then no kind, then anything.
        let loss = |wanted: &[Ty]| -> Option<usize> {
            if wanted.len() != have.len() {
                return None;
            }
            let each = have.iter().zip(wanted).map(|(have, want)| match (have, want) {
                _ if have == want => Some(0),
                (Ty::Scalar(a), Ty::Scalar(b)) if cuprous_core::promote::promote(*a, *b) == *b => Some(1),
                (Ty::Scalar(a), Ty::Scalar(b)) if a.kind() == b.kind() => Some(2),
                _ => have.converts_to(want).then_some(4),
            });
            each.sum()
        };
        let best = signatures.iter().filter_map(|s| Some((loss(s)?, s))).min_by_key(|(loss, _)| *loss);
        match best {
            Some((_, types)) => Ok(Some(types.clone())),
            None => {
                let list: Vec<String> = have.iter().map(Ty::to_string).collect();
                Err(PyTypeError::new_err(format!(
                    "No matching definition for argument type(s) {}; the decorator has {}",
                    list.join(", "),
                    signatures.iter().map(|s| show(s)).collect::<Vec<_>>().join(" and ")
                )))
            }
        }
    }

    /// The signatures of a function that kernels call.
    pub(super) fn device_signatures(&self) -> Vec<Vec<Ty>> {
        let all = self.signatures.lock().unwrap_or_else(|e| e.into_inner());
        if self.device { all.clone() } else { Vec::new() }
    }

    fn compile(&self, py: Python<'_>, engine: &Arc<Engine>, given: Vec<Ty>) -> PyResult<Arc<Overload>> {
        let (module, classes, captured) = self.module(py, &given, true)?;
        let mut types = given.clone();
        types.extend(captured.iter().map(Arg::type_of));
        if let Some(other) = captured.iter().find(|a| devices::of(a).id != engine.id) {
            return Err(PyValueError::new_err(format!(
                "[cuda.jit] the kernel runs on {} and uses an array on {} from outside; pass it as an argument",
                devices::name(engine),
                devices::name(devices::of(other)),
            )));
        }
        let (module, classes) = (Arc::new(module), classes.into());
        let code = py.detach(|| engine.device.user_kernel(&module, &self.options)).or_raise()?;
        let (starts, bytes) = abi::offsets(&types);
        let table = if captured.is_empty() { Table::of(&types, &starts) } else { None };
        let kernel = module.kernel();
        let mut writes = Vec::new();
        for (k, ty) in types.iter().enumerate() {
            arrays_in(ty, &mut |_| writes.push(kernel.writes.contains(&k)));
        }
        Ok(Arc::new(Overload {
            engine: engine.id,
            given,
            types,
            starts,
            bytes,
            writes,
            module,
            classes,
            captured,
            code,
            table,
            launches: Mutex::default(),
        }))
    }

    /// All overloads.
    fn all(&self) -> Vec<Arc<Overload>> {
        self.lock().iter().map(|e| e.overload.clone()).collect()
    }

    #[allow(clippy::type_complexity, reason = "the code, classes of exceptions, and arrays")]
    fn module(&self, py: Python<'_>, list: &[Ty], kernel: bool) -> PyResult<(Module, Vec<Py<PyAny>>, Vec<Array>)> {
        let parse::Translated { source, classes, arrays } = parse::translate(self.function.bind(py))?;
        let mut captured = Vec::new();
        for object in arrays {
            match Arg::new(object.bind(py), &mut Key::new())? {
                Arg::Array(array, _) => captured.push(array),
                _ => {
                    return Err(PyTypeError::new_err(
                        "[cuda.jit] a kernel uses something from outside that is no array",
                    ));
                }
            }
        }
        // A class of numbers is known now.
        let arg = |ty: &Ty| match types::class_of(ty) {
            Some(d) => Given::Static(Value::Type(Ty::Scalar(d))),
            None => Given::Ty(ty.clone()),
        };
        let mut given: Vec<Given> = list.iter().map(arg).collect();
        given.extend(captured.iter().map(|a| Given::Ty(Arg::type_of(a))));
        let module = compile_function(&source, &given, kernel, self.options.checks).map_err(|e| raise(py, &e))?;
        Ok((module, classes, captured))
    }

    /// The overload for some arguments, compiled where there is none.
    #[cold]
    fn make(&self, py: Python<'_>, engine: &Arc<Engine>, args: &[Arg<'_>], key: Key) -> PyResult<Arc<Overload>> {
        let types = match self.fitting(args)? {
            Some(types) => types,
            None => args.iter().map(Arg::ty).collect(),
        };
        let exact = key_of_all(&types);
        let overload = match self.find(&exact, engine.id) {
            Some(found) => found,
            None => self.compile(py, engine, types)?,
        };
        Ok(self.add(overload, exact, key))
    }

    /// Keeps an overload, or the one that is known for its types; it serves arguments of that key too.
    fn add(&self, overload: Arc<Overload>, exact: Key, key: Key) -> Arc<Overload> {
        let mut entries = self.lock();
        let known = entries.iter().position(|e| e.overload.engine == overload.engine && e.keys[0] == exact);
        let at = known.unwrap_or(entries.len());
        if known.is_none() {
            entries.push(Entry { keys: vec![exact], overload });
        }
        let entry = &mut entries[at];
        if !entry.keys.contains(&key) {
            entry.keys.push(key);
        }
        entry.overload.clone()
    }

    /// Arguments by position and name, with defaults.
    #[cold]
    fn bind<'py>(
        &self,
        args: &Bound<'py, PyTuple>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let py = args.py();
        let name: String = self.function.bind(py).getattr("__name__")?.extract()?;
        let mut all: Vec<Option<Bound<'py, PyAny>>> = args.iter().map(Some).collect();
        if all.len() > self.params.len() {
            return Err(PyTypeError::new_err(format!(
                "{name}() takes {} arguments, {} given",
                self.params.len(),
                all.len()
            )));
        }
        all.resize(self.params.len(), None);
        for (key, value) in named.into_iter().flat_map(|d| d.iter()) {
            let key: String = key.extract()?;
            let Some(k) = self.params.iter().position(|(p, _)| *p == key) else {
                return Err(PyTypeError::new_err(format!("{name}() got an unexpected keyword argument '{key}'")));
            };
            if all[k].replace(value).is_some() {
                return Err(PyTypeError::new_err(format!("{name}() got multiple values for argument '{key}'")));
            }
        }
        for (slot, (param, default)) in all.iter_mut().zip(&self.params) {
            if slot.is_none() {
                *slot = default.as_ref().map(|d| d.bind(py).clone());
            }
            if slot.is_none() {
                return Err(PyTypeError::new_err(format!("{name}() missing the argument '{param}'")));
            }
        }
        PyTuple::new(py, all.into_iter().flatten().collect::<Vec<_>>())
    }

    fn launch<'py>(
        &self,
        launch: &Launch,
        args: &Bound<'py, PyTuple>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<()> {
        let py = args.py();
        let bound;
        let args = if args.len() == self.params.len() && named.is_none() {
            args
        } else {
            bound = self.bind(args, named)?;
            &bound
        };
        if self.launch_again(launch, args)? {
            return Ok(());
        }
        let mut key = Key::with_capacity(args.len());
        let mut list: SmallVec<[Arg<'py>; 16]> = SmallVec::with_capacity(args.len());
        dates::begin();
        for object in args.iter_borrowed() {
            list.push(Arg::new(&object, &mut key)?);
        }
        dates::check()?;
        let mut first: Option<&Array> = None;
        for arg in &list {
            arg.arrays(&mut |a| {
                first.get_or_insert(a);
            });
        }
        let engine = match first {
            Some(array) => devices::of(array),
            None => devices::default_engine().or_raise()?,
        };
        if WARN.load(Relaxed) & HOST_ARRAYS != 0 {
            warn_of_host_arrays(py, &list)?;
        }
        let (mut back, mut unaligned) = (Vec::new(), Vec::new());
        if engine.id == 0 {
            for arg in &mut list {
                arg.align(&mut unaligned)?;
            }
            if !unaligned.is_empty() {
                key.clear();
                list.iter().for_each(|arg| key_of(&arg.ty(), &mut key));
            }
        } else {
            let mut count = 0;
            for arg in &mut list {
                to_device(py, engine, arg, &mut count, &mut back)?;
            }
            if !back.is_empty() {
                // The copies are packed, so that types may have changed.
                key.clear();
                list.iter().for_each(|arg| key_of(&arg.ty(), &mut key));
            }
        }
        let overload = match self.find(&key, engine.id) {
            Some(found) => found,
            None => self.make(py, engine, &list, key)?,
        };
        list.extend(overload.captured.iter().map(|a| Arg::Array(a.clone(), true)));
        let mut packed = Packed::new(overload.bytes);
        for ((arg, ty), &at) in list.iter().zip(&overload.types).zip(&overload.starts) {
            if !packed.write(at, ty, arg) {
                return Err(PyTypeError::new_err(format!("[cuda.jit] {} does not fit the parameter {ty}", arg.ty())));
            }
        }
        let mut arrays: SmallVec<[&Array; 16]> = SmallVec::new();
        list.iter().for_each(|arg| arg.arrays(&mut |a| arrays.push(a)));
        // Arrays of the host are no arrays of the engine, but count among those that may be written.
        let mut slots: SmallVec<[bool; 16]> = SmallVec::new();
        let mut next = 0;
        list.iter().for_each(|arg| note(arg, &overload.writes, &mut next, &mut slots));
        overload.submit(py, engine, launch, &packed, &arrays, &slots)?;
        for Back { array, host, records } in back {
            match arrays.get(array) {
                Some(copy) if slots.get(array).copied().unwrap_or(true) => {
                    if records {
                        Records::copy_to(py, copy, &host)?;
                    } else {
                        let copy = Py::new(py, crate::array::PyArray::own((*copy).clone()))?;
                        crate::numpy::to_numpy(py, copy.get(), Some(host))?;
                    }
                }
                _ => {}
            }
        }
        for (array, copy) in unaligned {
            array.set_item(py.Ellipsis(), copy)?;
        }
        overload.report(py, engine)
    }

    /// The launch, if its arguments are like those of the launch before.
    fn launch_again(&self, launch: &Launch, args: &Bound<'_, PyTuple>) -> PyResult<bool> {
        let recent = self.lock().get(self.recent.load(Relaxed)).map(|e| e.overload.clone());
        let Some(overload) = recent else { return Ok(false) };
        let Some((packed, arrays)) =
            overload.table.as_ref().and_then(|t| t.pack(args, overload.bytes, overload.engine))
        else {
            return Ok(false);
        };
        let engine = devices::numbered(overload.engine);
        if arrays.is_empty() && devices::default_engine().or_raise()?.id != overload.engine {
            return Ok(false);
        }
        overload.submit(args.py(), engine, launch, &packed, &arrays, &overload.writes)?;
        overload.report(args.py(), engine)?;
        Ok(true)
    }
}

#[cold]
fn warn_of_host_arrays(py: Python<'_>, args: &[Arg<'_>]) -> PyResult<()> {
    for arg in args {
        match arg {
            Arg::Host(host) => {
                py.import("cuprous.cuda.config")?.call_method1("warn_of_host_array", (&host.object,))?;
            }
            Arg::Tuple(items, _) => warn_of_host_arrays(py, items)?,
            _ => {}
        }
    }
    Ok(())
}

fn key_of_all(types: &[Ty]) -> Key {
    let mut key = Key::new();
    types.iter().for_each(|ty| key_of(ty, &mut key));
    key
}

impl Overload {
    /// A launch of that shape, with addresses at these places.
    fn launch(&self, launch: &Launch, places: &[u32]) -> cuprous_core::Result<Arc<UserLaunch>> {
        const KEPT: usize = 16;
        let mut known = self.launches.lock().unwrap_or_else(|e| e.into_inner());
        if let Some(found) = known.iter().find(|known| known.launch == *launch && *known.places == *places) {
            return Ok(found.clone());
        }
        let new = UserLaunch::new(self.code.clone(), *launch, places)?;
        if known.len() == KEPT {
            known.remove(0);
        }
        known.push(new.clone());
        Ok(new)
    }

    /// Records a launch with arguments that are ready; `slots` says which of the arrays may be written.
    fn submit(
        &self,
        py: Python<'_>,
        engine: &'static Arc<Engine>,
        launch: &Launch,
        packed: &Packed,
        arrays: &[&Array],
        slots: &[bool],
    ) -> PyResult<()> {
        let named = self.launch(launch, &packed.addresses).or_raise()?;
        engine.launch(&named, packed.block(), arrays, |k| slots[k]).or_raise()?;
        operand::settle(py, engine)
    }

    /// Raises what the kernel raised.
    fn report(&self, py: Python<'_>, engine: &'static Arc<Engine>) -> PyResult<()> {
        if self.module.reports
            && let Some(record) = py.detach(|| engine.flush().and_then(|()| self.code.fault())).or_raise()?
        {
            return Err(self.exception(py, &record));
        }
        Ok(())
    }

    /// The exception that a kernel raised.
    #[cold]
    fn exception(&self, py: Python<'_>, record: &Record) -> PyErr {
        let number = usize::try_from(record[0] - 1).unwrap_or(usize::MAX);
        let Some(fault) = self.module.faults.get(number) else {
            return PyRuntimeError::new_err("[cuda.jit] a kernel left a broken record of an exception");
        };
        let class = match &fault.kind {
            FaultKind::Raise(Some(k), _) => self.classes.get(*k).map(|class| class.bind(py).clone()),
            _ => py.import("builtins").and_then(|m| m.getattr(fault.class())).ok(),
        };
        match class.map(|class| class.call1((fault.message(record),))) {
            Some(Ok(error)) => PyErr::from_value(error),
            _ => PyRuntimeError::new_err(fault.message(record)),
        }
    }
}

/// For each of our arrays in an argument, whether it may be written.
fn note(arg: &Arg<'_>, writes: &[bool], next: &mut usize, slots: &mut SmallVec<[bool; 16]>) {
    match arg {
        Arg::Array(..) | Arg::Records(_) => {
            slots.push(writes.get(*next).copied().unwrap_or(true));
            *next += 1;
        }
        Arg::Host(_) => *next += 1,
        Arg::Tuple(items, _) => items.iter().for_each(|item| note(item, writes, next, slots)),
        Arg::None | Arg::Number(..) => {}
    }
}

/// An array of the host that was copied to a device.
struct Back<'py> {
    /// Its number among the arrays.
    array: usize,
    host: Bound<'py, PyAny>,
    records: bool,
}

/// Replaces an array of the host by a copy on the device; `back` gets what is copied back.
fn to_device<'py>(
    py: Python<'py>,
    engine: &Arc<Engine>,
    arg: &mut Arg<'py>,
    count: &mut usize,
    back: &mut Vec<Back<'py>>,
) -> PyResult<()> {
    match arg {
        Arg::Array(..) | Arg::Records(_) => *count += 1,
        Arg::Host(host) => {
            let device = devices::name(engine);
            let records = Records::of(py, host, &device)?;
            back.push(Back { array: *count, host: host.object.clone(), records: records.is_some() });
            *count += 1;
            *arg = match records {
                Some(records) => Arg::Records(Box::new(records)),
                None => Arg::Array(copied(py, host, &device)?, host.writable),
            };
        }
        Arg::Tuple(items, _) => {
            for item in items {
                to_device(py, engine, item, count, back)?;
            }
        }
        _ => {}
    }
    Ok(())
}

/// A copy of an array of the host whose elements lie in the same order, which a kernel's type may name.
fn copied(py: Python<'_>, host: &HostArray<'_>, device: &str) -> PyResult<Array> {
    if host.order() != Order::F {
        return Ok(crate::numpy::from_numpy(py, &host.object, Some(device))?.0);
    }
    let turned = crate::numpy::from_numpy(py, &host.object.getattr("T")?, Some(device))?.0;
    let layout = &turned.layout;
    let reversed = |numbers: &[i64]| numbers.iter().rev().copied().collect::<Vec<_>>();
    Ok(turned.view(layout.with(&reversed(&layout.shape), &reversed(&layout.strides), layout.offset)))
}

fn arrays_in(ty: &Ty, f: &mut dyn FnMut(&ArrayTy)) {
    match ty {
        Ty::Array(a) => f(a),
        Ty::Tuple(items, _) => items.iter().for_each(|item| arrays_in(item, f)),
        _ => {}
    }
}

fn show(types: &[Ty]) -> String {
    format!("({})", types.iter().map(Ty::to_string).collect::<Vec<_>>().join(", "))
}

#[pymethods]
impl Kernel {
    #[new]
    #[pyo3(signature = (function, params, fastmath = false, fma = true, max_registers = None, launch_bounds = None, lineinfo = false, checks = (true, false, false), device = false, linked = String::new()))]
    #[allow(clippy::too_many_arguments, reason = "the options of cuda.jit")]
    fn new(
        function: Py<PyAny>,
        params: Vec<(String, Vec<Py<PyAny>>)>,
        fastmath: bool,
        fma: bool,
        max_registers: Option<u32>,
        launch_bounds: Option<[u32; 3]>,
        lineinfo: bool,
        checks: (bool, bool, bool),
        device: bool,
        linked: String,
    ) -> Kernel {
        let (report, bounds, values) = checks;
        let checks = Checks { report, bounds, values };
        Kernel {
            function,
            options: Options { fastmath, fma, max_registers, launch_bounds, lineinfo, checks, linked },
            params: params.into_iter().map(|(name, default)| (name, default.into_iter().next())).collect(),
            overloads: Mutex::default(),
            recent: AtomicUsize::new(0),
            signatures: Mutex::default(),
            device,
        }
    }

    /// The Python function.
    #[getter]
    fn py_func(&self, py: Python<'_>) -> Py<PyAny> {
        self.function.clone_ref(py)
    }

    /// `kernel[grid, block]`, with a stream and the bytes of dynamic shared memory after them.
    fn __getitem__(slf: &Bound<'_, Self>, key: &Bound<'_, PyAny>) -> PyResult<Launcher> {
        let Ok(parts) = key.cast::<PyTuple>() else {
            return Err(PyValueError::new_err(
                "must specify at least the griddim and blockdim: kernel[blockspergrid, threadsperblock](…)",
            ));
        };
        if !(2..=4).contains(&parts.len()) {
            return Err(PyValueError::new_err(
                "a launch takes two to four things: kernel[grid, block, stream, shared memory in bytes](…)",
            ));
        }
        let shared = if parts.len() == 4 { parts.get_item(3)?.extract()? } else { 0 };
        let (grid, block) = (extents("griddim", &parts.get_item(0)?)?, extents("blockdim", &parts.get_item(1)?)?);
        if slf.get().device {
            let message = "Cannot compile a device function as a kernel! It has device=True; kernels can call it.";
            return Err(PyRuntimeError::new_err(message));
        }
        if WARN.load(Relaxed) & FEW_BLOCKS != 0 {
            let blocks = grid.iter().map(|&n| u64::from(n)).product::<u64>();
            slf.py().import("cuprous.cuda.config")?.call_method1("warn_of_few_blocks", (blocks,))?;
        }
        Ok(Launcher { kernel: slf.clone().unbind(), launch: Launch { grid, block, shared, cooperative: false } })
    }

    /// Compiles for types and remembers them as a signature; `kernel` False for a device function.
    #[pyo3(signature = (keys, kernel = true))]
    fn compile_for(&self, py: Python<'_>, keys: Vec<Bound<'_, PyAny>>, kernel: bool) -> PyResult<()> {
        let types = keys.iter().map(types::from_key).collect::<PyResult<Vec<_>>>()?;
        if !kernel {
            self.module(py, &types, false)?;
            self.signatures.lock().unwrap_or_else(|e| e.into_inner()).push(types);
            return Ok(());
        }
        let engine = devices::default_engine().or_raise()?;
        let key = key_of_all(&types);
        let overload = self.compile(py, engine, types.clone())?;
        self.add(overload, key.clone(), key);
        self.signatures.lock().unwrap_or_else(|e| e.into_inner()).push(types);
        Ok(())
    }

    /// The types that it is compiled for.
    fn compiled_types<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyTuple>>> {
        self.all()
            .iter()
            .map(|o| PyTuple::new(py, o.given.iter().map(|t| types::to_key(py, t)).collect::<PyResult<Vec<_>>>()?))
            .collect()
    }

    /// For each overload: types, CUDA C++, what the device says of it, and the code that runs.
    fn listing<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyTuple>>> {
        self.all()
            .iter()
            .map(|o| {
                let keys = o.given.iter().map(|t| types::to_key(py, t)).collect::<PyResult<Vec<_>>>()?;
                let cuda = cuprous_cuda::codegen::user::generate(&o.module, &self.options);
                let facts = PyDict::new(py);
                for (name, value) in o.code.facts().or_raise()? {
                    facts.set_item(name, value)?;
                }
                facts.set_item("cooperative", u64::from(o.module.cooperative))?;
                (PyTuple::new(py, keys)?, cuda.code, facts, o.code.source()).into_pyobject(py)
            })
            .collect()
    }

    /// How many blocks may wait for one another, of the overload with that place in the listing.
    fn resident_blocks(&self, overload: usize, threads: u32, shared: u32) -> PyResult<u64> {
        match self.all().get(overload) {
            Some(found) => found.code.resident_blocks(threads, shared).or_raise(),
            None => Err(PyValueError::new_err("the kernel has no such overload any more")),
        }
    }

    /// A function that kernels call, for types: its CUDA C++ with the prelude, its name there, the type of what it returns
    /// and those of its parameters in C++, and the former as a key.
    fn device_code<'py>(
        &self,
        py: Python<'py>,
        keys: Vec<Bound<'_, PyAny>>,
        name: &str,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let types = keys.iter().map(types::from_key).collect::<PyResult<Vec<_>>>()?;
        let (module, ..) = self.module(py, &types, false)?;
        let (code, ret, params) = cuprous_cuda::codegen::user::generate_function(&module, &self.options, name);
        let key = types::to_key(py, &module.kernel().ret)?;
        (code.source(), code.name, ret, params, key).into_pyobject(py)
    }

    /// The CUDA C++ for types, with the prelude where `whole` is set; nothing is compiled by a device.
    #[pyo3(signature = (keys, whole = false, kernel = true))]
    fn cuda_code(&self, py: Python<'_>, keys: Vec<Bound<'_, PyAny>>, whole: bool, kernel: bool) -> PyResult<String> {
        let types = keys.iter().map(types::from_key).collect::<PyResult<Vec<_>>>()?;
        let (module, ..) = self.module(py, &types, kernel)?;
        let code = cuprous_cuda::codegen::user::generate(&module, &self.options);
        Ok(if whole { code.source() } else { code.code })
    }
}

#[pymethods]
impl Launcher {
    /// Blocks.
    #[getter]
    fn griddim(&self) -> (u32, u32, u32) {
        self.launch.grid.into()
    }

    /// Threads of a block.
    #[getter]
    fn blockdim(&self) -> (u32, u32, u32) {
        self.launch.block.into()
    }

    /// Bytes of dynamic shared memory.
    #[getter]
    fn sharedmem(&self) -> u32 {
        self.launch.shared
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let shape = (self.griddim(), self.blockdim(), 0, self.sharedmem()).into_pyobject(py)?;
        let args = (self.kernel.clone_ref(py), shape).into_pyobject(py)?;
        Ok((py.import("operator")?.getattr("getitem")?, args))
    }

    #[pyo3(signature = (*args, **kwargs))]
    fn __call__<'py>(
        slf: &Bound<'py, Self>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<()> {
        let this = slf.get();
        this.kernel.get().launch(&this.launch, args, kwargs)
    }
}
