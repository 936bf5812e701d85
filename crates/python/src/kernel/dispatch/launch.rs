//! Launches: binding of arguments, copies of host arrays to the device and back, exceptions.

use super::*;
use crate::interrupt;

impl Kernel {
    /// Returns the engine of a launch whose arguments have no arrays of a device. Checked kernels run on the CPU.
    pub(super) fn engine_without_arrays(&self) -> PyResult<&'static Arc<Engine>> {
        if self.options.checks.accesses { devices::by_name("cpu") } else { devices::default_engine() }.or_raise()
    }

    /// Binds arguments by position and name, with defaults.
    #[cold]
    pub(super) fn bind<'py>(
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

    pub(super) fn launch<'py>(
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
        if self.launch_fast(launch, args)? {
            return Ok(());
        }
        let mut key = Key::with_capacity(args.len());
        let mut list: SmallVec<[Arg<'py>; 16]> = SmallVec::with_capacity(args.len());
        dates::reset();
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
            Some(array) if !self.options.checks.accesses => devices::of(array),
            _ => self.engine_without_arrays()?,
        };
        let mut moved = Vec::new();
        if self.options.checks.accesses {
            list.iter_mut().try_for_each(|arg| arg.move_to_cpu(py, &mut moved))?;
        }
        if WARN.load(Relaxed) & HOST_ARRAYS != 0 {
            warn_of_host_arrays(py, &list)?;
        }
        let (mut copies_back, mut unaligned) = (Vec::new(), Vec::new());
        if engine.id == 0 {
            for arg in &mut list {
                arg.align(&mut unaligned)?;
            }
            if !unaligned.is_empty() || !moved.is_empty() {
                key.clear();
                list.iter().for_each(|arg| key_of(&arg.ty(), &mut key));
            }
        } else {
            let mut count = 0;
            for arg in &mut list {
                to_device(py, engine, arg, &mut count, &mut copies_back)?;
            }
            if !copies_back.is_empty() {
                // The copies are contiguous, so types may have changed.
                key.clear();
                list.iter().for_each(|arg| key_of(&arg.ty(), &mut key));
            }
        }
        let overload = match self.find(&key, engine.id) {
            Some(found) => found,
            None => self.find_or_compile(py, engine, &list, key)?,
        };
        list.extend(overload.captured.iter().map(|a| Arg::Array(a.clone(), true)));
        let mut packed = ArgumentBlock::new(overload.bytes);
        for ((arg, ty), &at) in list.iter().zip(&overload.types).zip(&overload.starts) {
            if !packed.write(at, ty, arg) {
                return Err(PyTypeError::new_err(format!("[cuda.jit] {} does not fit the parameter {ty}", arg.ty())));
            }
        }
        let mut arrays: SmallVec<[&Array; 16]> = SmallVec::new();
        list.iter().for_each(|arg| arg.arrays(&mut |a| arrays.push(a)));
        // Host arrays are not arrays of the engine, but count in the list of arrays that may be written.
        let mut slots: SmallVec<[bool; 16]> = SmallVec::new();
        let mut next = 0;
        list.iter().for_each(|arg| collect_writable(arg, &overload.writes, &mut next, &mut slots));
        overload.submit(py, engine, launch, &packed, &arrays, &slots)?;
        for CopyBack { array, host, records } in copies_back {
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
        for (array, copy) in moved {
            let back = interrupt::run(py, || devices::of(&copy).send(&copy, devices::of(&array), true))?;
            devices::of(&array).update(&array, Operand::Array(&back)).or_raise()?;
        }
        overload.report(py, engine)
    }

    /// Launches on the fast path if the arguments are like those of the previous launch. Returns false otherwise.
    fn launch_fast(&self, launch: &Launch, args: &Bound<'_, PyTuple>) -> PyResult<bool> {
        let recent = self.lock().get(self.recent.load(Relaxed)).map(|e| e.overload.clone());
        let Some(overload) = recent else { return Ok(false) };
        let Some((packed, arrays)) =
            overload.fast_path.as_ref().and_then(|t| t.pack(args, overload.bytes, overload.engine))
        else {
            return Ok(false);
        };
        let engine = devices::by_number(overload.engine);
        if arrays.is_empty() && self.engine_without_arrays()?.id != overload.engine {
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

impl Overload {
    /// Returns a launch of that shape, with addresses at these offsets.
    pub(super) fn launch(&self, launch: &Launch, offsets: &[u32]) -> cuprous_core::Result<Arc<UserLaunch>> {
        const KEPT: usize = 16;
        let mut known = self.launches.lock().unwrap_or_else(|e| e.into_inner());
        if let Some(found) = known.iter().find(|known| known.config == *launch && *known.address_offsets == *offsets) {
            return Ok(found.clone());
        }
        let new = UserLaunch::new(self.code.clone(), *launch, offsets)?;
        if known.len() == KEPT {
            known.remove(0);
        }
        known.push(new.clone());
        Ok(new)
    }

    /// Records a launch with packed arguments. `slots` has true for each array that may be written.
    fn submit(
        &self,
        py: Python<'_>,
        engine: &'static Arc<Engine>,
        launch: &Launch,
        packed: &ArgumentBlock,
        arrays: &[&Array],
        slots: &[bool],
    ) -> PyResult<()> {
        let named = self.launch(launch, &packed.addresses).or_raise()?;
        engine.launch(&named, packed.block(), arrays, |k| slots[k]).or_raise()?;
        crate::interrupt::run_due_tape(py, engine)
    }

    /// Raises the exception that the kernel raised, if any.
    fn report(&self, py: Python<'_>, engine: &'static Arc<Engine>) -> PyResult<()> {
        if !self.module.reports && !self.module.is_checked {
            return Ok(());
        }
        let (fault, problems) =
            interrupt::run(py, || engine.flush().and_then(|()| Ok((self.code.fault()?, self.code.report()))))?;
        let class = || py.import("cuprous.cuda.errors")?.getattr("KernelCheckError");
        let problems = match problems {
            Some(text) => Some(PyErr::from_value(class()?.call1((text,))?)),
            None => None,
        };
        match (fault, problems) {
            (Some(record), problems) => {
                let error = self.exception(py, &record);
                error.set_cause(py, problems);
                Err(error)
            }
            (None, Some(problems)) => Err(problems),
            (None, None) => Ok(()),
        }
    }

    /// Returns the exception that a kernel raised.
    #[cold]
    fn exception(&self, py: Python<'_>, record: &Record) -> PyErr {
        let number = usize::try_from(record[0] - 1).unwrap_or(usize::MAX);
        let Some(fault) = self.module.raise_sites.get(number) else {
            return PyRuntimeError::new_err("[cuda.jit] a kernel raised an exception, but its record is damaged");
        };
        let class = match &fault.kind {
            ExceptionKind::Raise(Some(k), _) => self.classes.get(*k).map(|class| class.bind(py).clone()),
            _ => py.import("builtins").and_then(|m| m.getattr(fault.class())).ok(),
        };
        match class.map(|class| class.call1((fault.message(record),))) {
            Some(Ok(error)) => PyErr::from_value(error),
            _ => PyRuntimeError::new_err(fault.message(record)),
        }
    }
}

/// Appends, for each of our arrays in an argument, whether it may be written.
fn collect_writable(arg: &Arg<'_>, writes: &[bool], next: &mut usize, slots: &mut SmallVec<[bool; 16]>) {
    match arg {
        Arg::Array(..) | Arg::Records(_) => {
            slots.push(writes.get(*next).copied().unwrap_or(true));
            *next += 1;
        }
        Arg::Host(_) => *next += 1,
        Arg::Tuple(items, _) => items.iter().for_each(|item| collect_writable(item, writes, next, slots)),
        Arg::None | Arg::Number(..) => {}
    }
}

/// A host array that was copied to a device.
struct CopyBack<'py> {
    /// Its index among the arrays.
    array: usize,
    host: Bound<'py, PyAny>,
    records: bool,
}

/// Replaces a host array by a copy on the device. `copies_back` gets the arrays to copy back after the launch.
fn to_device<'py>(
    py: Python<'py>,
    engine: &Arc<Engine>,
    arg: &mut Arg<'py>,
    count: &mut usize,
    copies_back: &mut Vec<CopyBack<'py>>,
) -> PyResult<()> {
    match arg {
        Arg::Array(..) | Arg::Records(_) => *count += 1,
        Arg::Host(host) => {
            let device = devices::name(engine);
            let records = Records::of(py, host, &device)?;
            copies_back.push(CopyBack { array: *count, host: host.object.clone(), records: records.is_some() });
            *count += 1;
            *arg = match records {
                Some(records) => Arg::Records(Box::new(records)),
                None => Arg::Array(copy_to_device(py, host, &device)?, host.writable),
            };
        }
        Arg::Tuple(items, _) => {
            for item in items {
                to_device(py, engine, item, count, copies_back)?;
            }
        }
        _ => {}
    }
    Ok(())
}

/// Returns a copy of a host array with the same order of elements, because a kernel's type may depend on the order.
fn copy_to_device(py: Python<'_>, host: &HostArray<'_>, device: &str) -> PyResult<Array> {
    if host.order() != Order::F {
        return Ok(crate::numpy::from_numpy(py, &host.object, Some(device))?.array);
    }
    let transposed = crate::numpy::from_numpy(py, &host.object.getattr("T")?, Some(device))?.array;
    let layout = &transposed.layout;
    let reversed = |numbers: &[i64]| numbers.iter().rev().copied().collect::<Vec<_>>();
    Ok(transposed.view(layout.with(&reversed(&layout.shape), &reversed(&layout.strides), layout.offset)))
}
