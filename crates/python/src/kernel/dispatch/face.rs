//! What Python calls.

use super::overloads::key_of_all;
use super::*;

/// A number of blocks or threads, or up to three.
pub(in crate::kernel) fn extents(what: &str, object: &Bound<'_, PyAny>) -> PyResult<[u32; 3]> {
    let mut all = [1; 3];
    if let Ok(n) = object.cast_exact::<PyInt>() {
        all[0] = extent(what, n, object)?;
        return Ok(all);
    }
    if let Ok(items) = object.cast::<PyTuple>()
        && (1..=3).contains(&items.len())
    {
        for (n, item) in all.iter_mut().zip(items.iter()) {
            *n = extent(what, &item, object)?;
        }
        return Ok(all);
    }
    let Ok(items) = object.try_iter() else {
        all[0] = extent(what, object, object)?;
        return Ok(all);
    };
    let items = items.collect::<PyResult<Vec<_>>>()?;
    if !(1..=3).contains(&items.len()) {
        let message = format!("{what} must be a sequence of 1, 2 or 3 integers, got {}", listed(object));
        return Err(PyValueError::new_err(message));
    }
    for (n, item) in all.iter_mut().zip(&items) {
        *n = extent(what, item, object)?;
    }
    Ok(all)
}

/// One of them.
fn extent(what: &str, item: &Bound<'_, PyAny>, all: &Bound<'_, PyAny>) -> PyResult<u32> {
    let number = item.extract::<i64>().or_else(|_| item.call_method0("__index__").and_then(|n| n.extract()));
    let Ok(n) = number else {
        return Err(PyTypeError::new_err(format!("{what} must be a sequence of integers, got {}", listed(all))));
    };
    u32::try_from(n).map_err(|_| PyValueError::new_err(format!("{what} cannot be {n}")))
}

/// What was given, as a list.
fn listed(object: &Bound<'_, PyAny>) -> String {
    let items = object.try_iter().and_then(|items| items.collect::<PyResult<Vec<_>>>());
    match items.unwrap_or_else(|_| vec![object.clone()]) {
        items if items.len() > 8 => format!("{} of them", items.len()),
        items => format!("[{}]", items.iter().map(|item| item.to_string()).collect::<Vec<_>>().join(", ")),
    }
}

#[pymethods]
impl Kernel {
    #[new]
    #[pyo3(signature = (function, params, fastmath = false, fma = true, max_registers = None, launch_bounds = None, lineinfo = false, checks = (true, false, false), device = false, linked = String::new(), extra = Vec::new(), objects = Vec::new(), on_load = None))]
    #[allow(clippy::too_many_arguments, reason = "the options of cuda.jit")]
    pub(super) fn new(
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
        extra: Vec<String>,
        objects: Vec<crate::kernel::raw::GivenObject>,
        on_load: Option<Py<PyAny>>,
    ) -> PyResult<Kernel> {
        let objects = objects.into_iter().map(crate::kernel::raw::object).collect::<PyResult<_>>()?;
        let (report, bounds, values) = checks;
        let checks = Checks { report, bounds, values, quotients: values && !fastmath };
        Ok(Kernel {
            function,
            options: Options { fastmath, fma, max_registers, launch_bounds, lineinfo, checks, linked, extra, objects },
            params: params.into_iter().map(|(name, default)| (name, default.into_iter().next())).collect(),
            overloads: Mutex::default(),
            recent: AtomicUsize::new(0),
            signatures: Mutex::default(),
            device,
            on_load,
            compiling: Mutex::default(),
            loading: Mutex::default(),
        })
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
            self.declare(types);
            return Ok(());
        }
        let engine = devices::default_engine().or_raise()?;
        let key = key_of_all(&types);
        let overload = self.compile(py, engine, types.clone())?;
        if let Some(on_load) = &self.on_load {
            self.tell(py, on_load, &overload)?;
        }
        self.add(overload, key.clone(), key);
        self.declare(types);
        Ok(())
    }

    /// Lets go of what it was compiled to: the next launch compiles, or reads from disk, and loads again.
    fn forget(&self) {
        self.lock().clear();
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
                for (name, value) in o.code.attributes().or_raise()? {
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
