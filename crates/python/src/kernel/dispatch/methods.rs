//! The methods that Python calls.

use super::overloads::key_of_all;
use super::*;

#[pymethods]
impl Kernel {
    #[new]
    #[pyo3(signature = (function, params, fastmath = false, fma = true, max_registers = None, launch_bounds = None, lineinfo = false, checks = (true, false, false, false), device = false, linked = String::new(), extra = Vec::new(), objects = Vec::new(), on_load = None))]
    #[allow(clippy::too_many_arguments, reason = "the options of cuda.jit")]
    pub(super) fn new(
        function: Py<PyAny>,
        params: Vec<(String, Vec<Py<PyAny>>)>,
        fastmath: bool,
        fma: bool,
        max_registers: Option<u32>,
        launch_bounds: Option<[u32; 3]>,
        lineinfo: bool,
        checks: (bool, bool, bool, bool),
        device: bool,
        linked: String,
        extra: Vec<String>,
        objects: Vec<crate::kernel::raw::LinkInput>,
        on_load: Option<Py<PyAny>>,
    ) -> PyResult<Kernel> {
        let objects = objects.into_iter().map(crate::kernel::raw::object).collect::<PyResult<_>>()?;
        let (report, bounds, values, accesses) = checks;
        let checks = Checks { report, bounds, values, quotients: values && !fastmath, accesses };
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
                "a launch configuration has two to four items: kernel[grid, block, stream, shared memory in bytes](…)",
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

    /// Compiles for types and stores them as a signature; `kernel` is False for a device function.
    #[pyo3(signature = (keys, kernel = true))]
    fn compile_for(&self, py: Python<'_>, keys: Vec<Bound<'_, PyAny>>, kernel: bool) -> PyResult<()> {
        let types = keys.iter().map(types::from_key).collect::<PyResult<Vec<_>>>()?;
        if !kernel {
            self.module(py, &types, false)?;
            self.declare(types);
            return Ok(());
        }
        let engine = self.engine_without_arrays()?;
        let key = key_of_all(&types);
        let overload = self.compile(py, engine, types.clone())?;
        if let Some(on_load) = &self.on_load {
            self.notify(py, on_load, &overload)?;
        }
        self.add(overload, key.clone(), key);
        self.declare(types);
        Ok(())
    }

    /// Drops the compiled code. The next launch compiles or reads it from disk, and loads it again.
    fn forget(&self) {
        self.lock().clear();
    }

    /// The argument types for which the kernel is compiled.
    fn compiled_types<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyTuple>>> {
        self.all()
            .iter()
            .map(|o| {
                PyTuple::new(py, o.launch_types.iter().map(|t| types::to_key(py, t)).collect::<PyResult<Vec<_>>>()?)
            })
            .collect()
    }

    /// Returns, for each overload: types, CUDA C++, attributes reported by the device, and the code that runs.
    fn listing<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyTuple>>> {
        self.all()
            .iter()
            .map(|o| {
                let keys = o.launch_types.iter().map(|t| types::to_key(py, t)).collect::<PyResult<Vec<_>>>()?;
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

    /// Returns how many blocks can be resident at once, for the overload at that index of the listing.
    fn resident_blocks(&self, overload: usize, threads: u32, shared: u32) -> PyResult<u64> {
        match self.all().get(overload) {
            Some(found) => found.code.resident_blocks(threads, shared).or_raise(),
            None => Err(PyValueError::new_err("the kernel no longer has that overload")),
        }
    }

    /// Returns a device function for these types: its CUDA C++ with the prelude, its name there, the types of its
    /// result and parameters in C++, and the key of the result type.
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

    /// Returns the CUDA C++ for types, with the prelude if `whole` is set. No device compiles it.
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
    /// Number of blocks.
    #[getter]
    fn griddim(&self) -> (u32, u32, u32) {
        self.launch.grid.into()
    }

    /// Threads per block.
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
