//! Overloads: looked up by the types of arguments, matched to signatures, compiled if missing.

use super::*;

impl Kernel {
    pub(super) fn lock(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.overloads.lock().unwrap_or_else(|e| e.into_inner())
    }

    pub(super) fn find(&self, key: &Key, engine: u8) -> Option<Arc<Overload>> {
        let entries = self.lock();
        let found = entries.iter().position(|e| e.overload.engine == engine && e.keys.contains(key))?;
        self.recent.store(found, Relaxed);
        Some(entries[found].overload.clone())
    }

    /// Returns the types of the signature that matches the arguments best; `None` if the kernel has no signatures.
    fn best_signature(&self, args: &[Arg<'_>]) -> PyResult<Option<Vec<Ty>>> {
        let signatures = self.signatures.lock().unwrap_or_else(|e| e.into_inner());
        if signatures.is_empty() {
            return Ok(None);
        }
        let have: Vec<Ty> = args.iter().map(Arg::ty).collect();
        // The cost of a conversion, from lowest: same type, same kind, another kind, possible loss of the value. The
        // signature with the lowest sum is the best.
        let loss = |signature: &[Ty]| -> Option<usize> {
            if signature.len() != have.len() {
                return None;
            }
            let each = have.iter().zip(signature).map(|(have, want)| match (have, want) {
                _ if have == want => Some(0),
                (Ty::Scalar(a), Ty::Scalar(b)) if cuprous_core::promote::promote(*a, *b) == *b => {
                    Some(if a.kind() == b.kind() { 1 } else { 2 })
                }
                (Ty::Scalar(a), Ty::Scalar(b)) if a.kind() == b.kind() => Some(LOSSY),
                _ => have.converts_to(want).then_some(2 * LOSSY),
            });
            each.sum()
        };
        let best = signatures.iter().filter_map(|s| Some((loss(s)?, s))).min_by_key(|(loss, _)| *loss);
        match best {
            Some((least, types)) => {
                let mut equal = signatures.iter().filter(|s| *s != types && loss(s) == Some(least));
                match equal.next() {
                    Some(other) if least >= LOSSY => Err(ambiguous(&have, &[types, other])),
                    _ => Ok(Some(types.clone())),
                }
            }
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

    pub(super) fn declare(&self, types: Vec<Ty>) {
        let mut all = self.signatures.lock().unwrap_or_else(|e| e.into_inner());
        if !all.contains(&types) {
            all.push(types);
        }
    }

    /// Returns the signatures of a device function.
    pub(in crate::kernel) fn device_signatures(&self) -> Vec<Vec<Ty>> {
        let all = self.signatures.lock().unwrap_or_else(|e| e.into_inner());
        if self.device { all.clone() } else { Vec::new() }
    }

    pub(super) fn compile(
        &self,
        py: Python<'_>,
        engine: &Arc<Engine>,
        launch_types: Vec<Ty>,
    ) -> PyResult<Arc<Overload>> {
        let (module, classes, captured) = self.module(py, &launch_types, true)?;
        let mut types = launch_types.clone();
        types.extend(captured.iter().map(Arg::type_of));
        if let Some(other) = captured.iter().find(|a| devices::of(a).id != engine.id) {
            return Err(PyValueError::new_err(format!(
                "[cuda.jit] the kernel runs on {} and captures an array on {}; pass the array as an argument",
                devices::name(engine),
                devices::name(devices::of(other)),
            )));
        }
        let (module, classes) = (Arc::new(module), classes.into());
        let code = py.detach(|| engine.device.user_kernel(&module, &self.options)).or_raise()?;
        let (starts, bytes) = abi::offsets(&types);
        let fast_path = if captured.is_empty() { FastPath::of(&types, &starts) } else { None };
        let kernel = module.kernel();
        let mut writes = Vec::new();
        for (k, ty) in types.iter().enumerate() {
            arrays_in(ty, &mut |_| writes.push(kernel.writes.contains(&k)));
        }
        Ok(Arc::new(Overload {
            engine: engine.id,
            launch_types,
            types,
            starts,
            bytes,
            writes,
            module,
            classes,
            captured,
            code,
            fast_path,
            launches: Mutex::default(),
        }))
    }

    /// Returns all overloads.
    pub(super) fn all(&self) -> Vec<Arc<Overload>> {
        self.lock().iter().map(|e| e.overload.clone()).collect()
    }

    #[allow(clippy::type_complexity, reason = "the code, classes of exceptions, and arrays")]
    pub(super) fn module(
        &self,
        py: Python<'_>,
        list: &[Ty],
        kernel: bool,
    ) -> PyResult<(Module, Vec<Py<PyAny>>, Vec<Array>)> {
        let parse::Translated { source, classes, arrays } = parse::translate(self.function.bind(py))?;
        let mut captured = Vec::new();
        for object in arrays {
            match Arg::new(object.bind(py), &mut Key::new())? {
                Arg::Array(array, _) => captured.push(array),
                _ => {
                    return Err(PyTypeError::new_err("[cuda.jit] a captured object is not an array"));
                }
            }
        }
        // A class of numbers is a constant.
        let arg = |ty: &Ty| match types::class_of(ty) {
            Some(d) => ParamKind::Static(Value::Type(Ty::Scalar(d))),
            None => ParamKind::Ty(ty.clone()),
        };
        let mut params: Vec<ParamKind> = list.iter().map(arg).collect();
        params.extend(captured.iter().map(|a| ParamKind::Ty(Arg::type_of(a))));
        let module = compile_function(&source, &params, kernel, self.options.checks).map_err(|e| raise(py, &e))?;
        Ok((module, classes, captured))
    }

    /// Returns the overload for some arguments and compiles it if necessary.
    #[cold]
    pub(super) fn find_or_compile(
        &self,
        py: Python<'_>,
        engine: &Arc<Engine>,
        args: &[Arg<'_>],
        key: Key,
    ) -> PyResult<Arc<Overload>> {
        let types = match self.best_signature(args)? {
            Some(types) => types,
            None => args.iter().map(Arg::ty).collect(),
        };
        let exact = key_of_all(&types);
        let Some(on_load) = &self.on_load else {
            let overload = match self.find(&exact, engine.id) {
                Some(found) => found,
                None => self.compile(py, engine, types)?,
            };
            return Ok(self.add(overload, exact, key));
        };
        let mine = self.loading_on_this_thread();
        if let Some(found) = mine.iter().find(|o| o.engine == engine.id && key_of_all(&o.launch_types) == exact) {
            return Ok(found.clone());
        }
        // No other thread may launch it before `on_load` has set its globals. The thread that runs `on_load` may.
        let attached = || self.compiling.lock_py_attached(py).unwrap_or_else(|e| e.into_inner());
        let _one_at_a_time = mine.is_empty().then(attached);
        let overload = match self.find(&exact, engine.id) {
            Some(found) => found,
            None => {
                let new = self.compile(py, engine, types)?;
                self.notify(py, on_load, &new)?;
                new
            }
        };
        Ok(self.add(overload, exact, key))
    }

    /// Returns the overloads whose `on_load` callback runs on this thread, which may launch them.
    fn loading_on_this_thread(&self) -> Vec<Arc<Overload>> {
        let all = self.loading.lock().unwrap_or_else(|e| e.into_inner());
        let me = std::thread::current().id();
        all.iter().filter(|(thread, _)| *thread == me).map(|(_, overload)| overload.clone()).collect()
    }

    /// Calls `on_load` with the module that was loaded.
    pub(super) fn notify(&self, py: Python<'_>, on_load: &Py<PyAny>, overload: &Arc<Overload>) -> PyResult<()> {
        let Some(handle) = overload.code.module() else { return Ok(()) };
        let all = || self.loading.lock().unwrap_or_else(|e| e.into_inner());
        all().push((std::thread::current().id(), overload.clone()));
        let result = on_load.call1(py, (handle,));
        all().retain(|(_, other)| !Arc::ptr_eq(other, overload));
        result.map(drop)
    }

    /// Stores an overload, or returns the existing one for its types. It accepts arguments with that key too.
    pub(super) fn add(&self, overload: Arc<Overload>, exact: Key, key: Key) -> Arc<Overload> {
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
}

pub(super) fn key_of_all(types: &[Ty]) -> Key {
    let mut key = Key::new();
    types.iter().for_each(|ty| key_of(ty, &mut key));
    key
}

fn arrays_in(ty: &Ty, f: &mut dyn FnMut(&ArrayTy)) {
    match ty {
        Ty::Array(a) => f(a),
        Ty::Tuple(items, _) => items.iter().for_each(|item| arrays_in(item, f)),
        _ => {}
    }
}

/// The cost of a conversion that may lose the value.
const LOSSY: usize = 4;

#[cold]
fn ambiguous(have: &[Ty], best: &[&Vec<Ty>]) -> PyErr {
    let best: Vec<String> = best.iter().map(|types| show(types)).collect();
    PyTypeError::new_err(format!(
        "Ambiguous overloading for argument type(s) {}: {} match equally well; add a signature, or convert the arguments",
        show(have),
        best.join(" and ")
    ))
}

fn show(types: &[Ty]) -> String {
    format!("({})", types.iter().map(Ty::to_string).collect::<Vec<_>>().join(", "))
}
