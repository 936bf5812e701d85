//! Launches: arguments by position and name, copies of the host's arrays there and back, exceptions.

use super::*;

impl Kernel {
    /// Arguments by position and name, with defaults.
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

impl Overload {
    /// A launch of that shape, with addresses at these places.
    pub(super) fn launch(&self, launch: &Launch, places: &[u32]) -> cuprous_core::Result<Arc<UserLaunch>> {
        const KEPT: usize = 16;
        let mut known = self.launches.lock().unwrap_or_else(|e| e.into_inner());
        if let Some(found) = known.iter().find(|known| known.config == *launch && *known.address_offsets == *places) {
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
            && let Some(record) = crate::interrupt::run(py, || engine.flush().and_then(|()| self.code.fault()))?
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
