//! The native module `cuprous._core`: translation between Python and the engine, without logic of its own.

#![allow(clippy::doc_lazy_continuation)] // doc comments are docstrings, whose examples begin with ">>>"

mod arguments;
mod array;
mod buffer;
mod checked;
mod cli;
mod counter;
mod devices;
#[cfg(unix)]
mod distributed;
mod errors;
mod estimate;
mod fft;
#[cfg(unix)]
mod fork;
mod functions;
mod hooks;
mod index;
mod interop;
mod interrupt;
mod kernel;
mod machine;
mod numpy;
mod operand;
mod operators;
mod points;
mod profile;
mod session;
#[cfg(unix)]
mod sigint;
mod source_locations;
mod stream;
mod tensor;
mod ufunc;

use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

use pyo3::exceptions::PyImportError;
use pyo3::prelude::*;

use tensor::{attention, autocast, convolution, creation, functions as tensor_functions, grad, products, recurrent};

/// Runs the `cuprous` command and returns the exit code.
#[pyfunction(name = "cli")]
fn command(py: Python<'_>, argv: Vec<String>) -> i32 {
    let python = py.version_info();
    let host = cli::Host {
        python: format!("{}.{}.{}", python.major, python.minor, python.patch),
        run_kernel: &session::try_kernel,
        package: &|name| {
            Python::attach(|py| {
                py.import("importlib.metadata").ok()?.call_method1("version", (name,)).ok()?.extract().ok()
            })
        },
        time_recording: &|| Python::attach(machine::time_recording),
    };
    // Recording threads may need the GIL to find their source location.
    py.detach(|| cli::run(argv, &host))
}

/// Shuts down before the interpreter ends.
#[pyfunction]
fn shutdown() {
    cuprous_plan::end();
    cuprous_core::presence::withdraw();
}

/// Passes the folders of NVIDIA's wheels to the loader: the namespace package `nvidia`, a folder of that name anywhere
/// on `sys.path`. AMD's are searched for when they are needed.
fn set_library_roots(py: Python<'_>) -> PyResult<()> {
    let path: Vec<Bound<'_, PyAny>> = py.import("sys")?.getattr("path")?.extract()?;
    let sites: Vec<std::path::PathBuf> = path.iter().filter_map(|entry| entry.extract().ok()).collect();
    let roots = sites.iter().map(|site| site.join("nvidia")).filter(|folder| folder.is_dir()).collect();
    cuprous_cuda::set_library_roots(roots);
    cuprous_cuda::set_sites(sites);
    Ok(())
}

/// Raises in any interpreter but the first, because arrays, classes and hooks are shared by the whole process.
fn check_single_interpreter() -> PyResult<()> {
    static FIRST: AtomicI64 = AtomicI64::new(-1);
    // SAFETY: called with the GIL of an interpreter held.
    let id = unsafe { pyo3::ffi::PyInterpreterState_GetID(pyo3::ffi::PyInterpreterState_Get()) };
    match FIRST.compare_exchange(-1, id, Relaxed, Relaxed) {
        Err(first) if first != id => Err(PyImportError::new_err(
            "cannot load module more than once per process: cuprous runs in one interpreter",
        )),
        _ => Ok(()),
    }
}

// Free-threaded interpreters keep the GIL until the test suite passes without it.
#[pymodule(gil_used = true)]
fn _core(m: &Bound<'_, PyModule>) -> PyResult<()> {
    check_single_interpreter()?;
    m.add_class::<array::PyArray>()?;
    m.add_class::<ufunc::PyUfunc>()?;
    m.add_class::<counter::Counter>()?;
    m.add_class::<tensor::PyTensor>()?;
    m.add_class::<tensor::grad::PyNode>()?;
    m.add_class::<tensor::grad::PySaved>()?;
    m.add_class::<kernel::Kernel>()?;
    m.add_class::<kernel::Launcher>()?;
    m.add_class::<kernel::NativeModule>()?;
    m.add_class::<kernel::NativeKernel>()?;
    m.add_class::<stream::Stream>()?;
    m.add_class::<stream::Event>()?;
    m.add_class::<estimate::WorkCounter>()?;
    m.add_class::<profile::PyReport>()?;
    m.add("OutOfMemoryError", m.py().get_type::<errors::OutOfMemoryError>())?;
    source_locations::install();
    interrupt::install(m.py());
    #[cfg(unix)]
    {
        fork::install();
        distributed::add_to(m)?;
    }
    let _ = cuprous_autograd::engine::ENGINES.set(devices::by_number);
    set_library_roots(m.py())?;
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    macro_rules! functions {
        ($($module:ident: $($name:ident)*;)*) => {$($(
            m.add_function(wrap_pyfunction!($module::$name, m)?)?;
        )*)*};
    }
    m.add_function(wrap_pyfunction!(command, m)?)?;
    m.py().import("atexit")?.call_method1("register", (wrap_pyfunction!(shutdown, m)?,))?;
    functions! {
        functions: map result_dtype cast promote_types can_cast empty full iota random broadcast_to without_base update gather
            scatter reduce int_range scan dot sort argsort searchsorted partition topk select pack_mask compact components
            has_table_routines group_ids group_aggregate join_match join_pairs correlate pad decompose sparse_dot;
        session: flush synchronize explain show_code set_device enter_device enter_device_of leave_device get_device device_count
            hip_version can_access_peer unusable_gpu_reason set_library_roots set_replay stats memory_stats set_memory_limit reset_peak_memory trim_memory stand_in_device
            stand_in_auto no_op;
        numpy: from_numpy to_numpy to_bytes to_device as_strided;
        fft: fft;
        interop: to_dlpack from_dlpack from_address;
        stream: device_properties;
        hooks: set_hook;
        kernel: kernel_builtins kernel_warnings declare_linked link_code compile_code compiler_identity load_cached_code store_cached_code missing_header;
        creation: t_empty t_full t_iota t_random;
        tensor_functions: t_wrap t_map t_map_inplace t_result_type t_promote_types t_default_dtype t_set_default_dtype t_cast
            t_to_device t_pin t_is_pinned t_contiguous t_reduce t_scan t_strided t_reshape t_permute t_expand t_gather
            t_indexable t_scatter t_assign t_update t_cat t_adam t_with_gradients t_clear_gradients t_mse_loss t_softmax t_log_likelihood
            t_cross_entropy t_check_classes t_relu t_gelu t_layer_norm t_batch_norm t_max_pool;
        products: t_matmul t_linear;
        convolution: t_convolution t_in_engine_order set_always_channels_last set_convolution_tf32 has_cudnn;
        attention: t_attention;
        autocast: t_map_wide t_operand t_to_half t_to_float32 autocast_enabled autocast_dtype set_autocast_dtype;
        recurrent: t_recurrent t_lstm_steps t_lstm_steps_backward;
        grad: t_backward t_grad t_custom t_at_backward_end t_move_gradients t_save t_replace_memory t_mark t_checkpoint t_other_leaves set_anomaly set_grad_enabled
            is_grad_enabled;
        checked: check_in_batches;
        estimate: device_side estimate_simple parse_quantity profiles quantity;
        profile: profile_begin profile_end is_profiling profile_now profile_part nvtx_push nvtx_pop nvtx_mark nvtx_start nvtx_end;
    }
    Ok(())
}
