"""No argument is silently ignored: it has an effect, is a hint that cannot change the result, or raises."""

from __future__ import annotations

import ast
import inspect
import pathlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import cuprous as cp
import cuprous.cuda
import cuprous.random
import cuprous.scipy.ndimage
import cuprous.scipy.special
import cuprous.torch as torch
from tests.support import outcome

ROOT = pathlib.Path(inspect.getfile(cp)).parent

_ORDERED = "all work is in order on one stream"

#: Parameters that no code reads, by the reason why the result cannot depend on them.
_HINTS = {
    _ORDERED: """
        _common.pointers.copy_from_async.stream _common.pointers.copy_from_device_async.stream
        _common.pointers.copy_from_host_async.stream _common.pointers.copy_to_host_async.stream
        _common.pointers.memset_async.stream cuda._raw_kernels.__call__.stream
        cuda._reduction_kernel.__call__.stream cuda._elementwise_kernel.__call__.stream
        _array.interop.getitem.stream _array.interop.setitem.stream _array.interop.split_at.stream
        cuda._records.copy_to_device.stream cuda._records.copy_to_host.stream cuda._vectorize.__call__.stream
        cuda._vectorize.reduce.stream cuda.random.copy_to_device.stream cuda.random.copy_to_host.stream
        cuda.random.init_xoroshiro128p_states.stream cupyx.jit.__call__.stream cuda._reduce.__call__.stream
        cuda._stream.wait.stream _common.device.free_all_blocks.stream scipy.sparse._compressed.get.stream
        scipy.sparse._coo.get.stream scipy.sparse._dia.get.stream""",
    "a choice between ways to one result": """
        cuda._reduction_kernel.__init__.reduce_dims cuda._elementwise_kernel.__init__.reduce_dims
        cuda._compile.compile.opt cuda._mapped.mapped_array.portable cuda._mapped.mapped_array_like.portable
        cuda._jit.jit.forceinline cuda._jit.jit.lto cuda._jit.jit.opt cuda._jit.jit.inline
        scipy.ndimage._binary.binary_erosion.brute_force scipy.ndimage._binary.binary_dilation.brute_force
        scipy.ndimage._binary.binary_opening.brute_force scipy.ndimage._binary.binary_closing.brute_force
        scipy.sparse.linalg._matfuncs.spsolve.use_umfpack scipy.sparse.linalg._factors.splu.diag_pivot_thresh
        scipy.sparse.linalg._factors.splu.relax scipy.sparse.linalg._factors.splu.panel_size
        scipy.sparse.linalg._factors.splu.options scipy.sparse.linalg._factors.spsolve_triangular.overwrite_A
        scipy.sparse.linalg._factors.spsolve_triangular.overwrite_b scipy.sparse.csgraph._matrices.laplacian.copy
        scipy.sparse.csgraph._paths.shortest_path.overwrite
        scipy.sparse.csgraph._by_scipy.minimum_spanning_tree.overwrite""",
    "every copy goes through pinned memory": "cuda._arrays.pinned.arylist",
    "elements of a footprint are always along the last one": "scipy.ndimage._generic.called.axis",
    "there is one": "cuda._ipc.open_array.context",
    "functions of a table have one signature": """
        frames.expressions.evaluate._literal.context frames.expressions.nulls._first_valid.call
        frames.expressions.nulls._ternary.call frames.expressions.text.<lambda>.a frames.expressions.text.<lambda>.o
        frames.plan.translate._project.view frames.plan.translate_expressions._alias.dtype
        frames.plan.translate_expressions._length.view frames.operations.execute.<lambda>.node
        torch.optim._matrices._start.group""",
    "scikit-learn's protocol: there is nothing to predict": "sklearn._decomposition.fit.y sklearn._umap.fit.y",
    "an interface whose subclasses read them": """
        frames.columns.groups.expect.functions frames.columns.groups.expect.mask frames.columns.groups.expect.values
        torchvision.ops.pyramid.forward.x torchvision.models.detection.retinanet._losses.counts
        torchvision.models.detection.ssd._losses.counts torchvision.models.detection.ssd._of_image.counts""",
    "hooks of modules have one signature": """
        torchvision.models.feature_extraction.keep.inputs torchvision.models.feature_extraction.keep.module""",
    "how a network is traced, and none is": """
        torchvision.models.feature_extraction.create_feature_extractor.concrete_args
        torchvision.models.feature_extraction.create_feature_extractor.suppress_diff_warning
        torchvision.models.feature_extraction.create_feature_extractor.tracer_kwargs""",
    "Polars' advice about the size of its batches": "frames.table.read.batch_size",
    "Arrow's protocol: a wish": "frames.columns.device_arrow.__arrow_c_array__.requested_schema",
    "always an error, which says how to launch": "cuda._jit.__call__.args cuda._jit.__call__.kwargs",
    "taken by __new__": "cuda._jit.__init__.args cuda._jit.__init__.options",
    "compiled code is always kept": "cuda._jit.jit.cache",
    "arrays have no subclasses": """
        _functions.conversion.array.subok _functions.conversion.copy.subok
        _functions.manipulation.broadcast_to.subok _functions.manipulation.broadcast_arrays.subok
        lib.stride_tricks.sliding_window_view.subok""",
    "every view can be written, as in CuPy": "lib.stride_tricks.sliding_window_view.writeable",
    "a transfer never outlives the call": """
        _functions.conversion.asarray.blocking _functions.conversion.array.blocking _array.interop.get.blocking""",
    "a permission to spoil the input, not an order": """
        _functions.quantiles._quantile.overwrite_input _functions.quantiles.median.overwrite_input
        scipy.fft._cosines.transform.overwrite_x scipy.fft._spectra.transform.overwrite_x
        scipy.fftpack.fft.overwrite_x scipy.fftpack.ifft.overwrite_x scipy.fftpack.fft2.overwrite_x
        scipy.fftpack.ifft2.overwrite_x scipy.fftpack.fftn.overwrite_x scipy.fftpack.ifftn.overwrite_x
        scipy.fftpack.rfft.overwrite_x scipy.fftpack.irfft.overwrite_x scipy.fftpack._cosines.function.overwrite_x
        scipy.signal._filters.detrend.overwrite_data""",
    "the blocks of another kernel": "scipy.ndimage._distance.distance_transform_edt.block_params",
    "a permission to leave the result unsorted, not an order": "_functions.sets.unique.sorted",
    "a promise about the input, which needs none here": "_functions.sets.isin.assume_unique",
    "a permission to leave the sample in order, not an order": "random._generator.choice.shuffle",
    "Python's protocol: arrays hold no other objects": "_array.methods.deepcopy.memo",
    "Python's protocol: there are no subclasses": "_array.methods.construct.cls",
    "Ray's interfaces": """
        _clients.for_ray.allgather.allgather_options _clients.for_ray.barrier.barrier_options
        _clients.for_ray.backend.cls _clients.for_ray.check_backend_availability.cls
        ray.on_shutdown.backend_config ray.on_training_start.backend_config""",
    "Python's protocol: a descriptor gets the class, too": """
        _ufuncs.methods.__get__.owner cuda._intrinsics.__get__.owner torch.nn.modules._generated.__get__.layer""",
    "a signature that all workloads have": "_tools.bench.workloads._small.xp _tools.bench.workloads.<lambda>.xp",
    "text without colors": "_tools.charts.<lambda>.code",
    "the import system's and IPython's protocols": """
        _common.same_module.create_module.spec cupyx._scipy.find_spec.path cupyx._scipy.find_spec.target
        runner._finder.find_spec.target runner._real._rule.name
        runner.hooks.unload_ipython_extension.ipython""",
    "how far the result may be off, which it never is": "scipy.special._lambert.lambertw.tol",
    "an order of search, which changes the time it takes": "scipy.spatial.distance.directed_hausdorff.rng",
    "all distances are computed: there is no tree": """
        scipy.spatial._kdtree.__init__.compact_nodes scipy.spatial._kdtree.__init__.balanced_tree""",
    "indices always rise": "scipy.spatial._kdtree.query_ball_point.return_sorted",
    "an order of multiplication, which changes rounding alone": """
        scipy.interpolate._polynomials.__init__.rng scipy.interpolate._polynomials.__init__.random_state
        scipy.interpolate._polynomials.barycentric_interpolate.rng""",
    "a callback's signature": "scipy.ndimage._linear.<lambda>.device",
    "Python's protocol: matrices hold no other objects": "scipy.sparse._base.__deepcopy__.memo",
    "missing files are an error that says that nothing is downloaded": "torchvision.datasets.__init__.download",
    "all is always checked": "scipy.sparse._compressed.check_format.full_check",
    "the other format shares nothing": """
        scipy.sparse._coo.tocsc.copy scipy.sparse._coo.tocsr.copy scipy.sparse._base.todia.copy
        scipy.sparse._dia.tocoo.copy scipy.sparse._dia.tocsc.copy scipy.sparse._dia.tocsr.copy
        scipy.sparse._dia.transpose.copy""",
    "an order of elimination, which changes rounding alone": """scipy.sparse.linalg._matfuncs.spsolve.permc_spec
        scipy.sparse.linalg._factors.splu.permc_spec""",
}
_HINTS["a permission that is not used: operands are never changed"] = """
    scipy.linalg._solving.lu.overwrite_a scipy.linalg._solving.lu_factor.overwrite_a
    scipy.linalg._solving.lu_solve.overwrite_b scipy.linalg._solving.solve_triangular.overwrite_b"""
HINTS = {name: reason for reason, names in _HINTS.items() for name in names.split()}

#: The same for `cuprous.torch`.
_TORCH_HINTS = {
    "for PyTorch's signature: results are the same with and without cuDNN": """
        _native_layers.batch_norm.cudnn_enabled _native_layers.group_norm.cudnn_enabled
        _native_layers.instance_norm.cudnn_enabled _native_layers.layer_norm.cudnn_enable""",
    "for PyTorch's signature, where it is about other layouts": """
        _sparse_methods.to_dense.masked_grad sparse._tensor.clone.memory_format sparse._tensor.to_dense.masked_grad""",
    "only some layers have older versions": "nn.modules._state._before_load.version",
    "for PyTorch's signature: a subclass need not create its copy": """
        distributions._base.expand._instance distributions._mixed.expand._instance
        distributions._transformed.expand._instance""",
    "some Jacobians depend on the argument alone": """
        distributions._transform.log_abs_det_jacobian.y distributions.transforms.log_abs_det_jacobian.y""",
    _ORDERED: """
        _tensor.record_stream.s cuda._streams.record.stream cuda._streams.wait.stream
        cuda._streams.wait_stream.stream cuda._streams.wait_event.event cuda._streams.current_stream.device
        cuda._streams.default_stream.device cuda._device.synchronize.device""",
    "one random number generator serves all devices": """
        cuda.get_rng_state.device cuda.set_rng_state.device random.fork_rng.devices random.fork_rng._caller
        random.fork_rng._devices_kw random.fork_rng.device_type""",
    "every sort is stable, and what is selected by sorting is sorted": """
        _ordering.argsort.stable _ordering.sort.stable _ordering.topk.sorted _ordering.unique.sorted""",
    "a promise about the input, which needs none here": "_statistics.isin.assume_unique",
    "a transfer never outlives the call": """
        _conversions.type_.non_blocking _filling.copy_.non_blocking nn.modules.module._target.non_blocking
        _foreach._foreach_copy_.non_blocking""",
    "a choice between ways to one result": """
        autograd._checkpoint.checkpoint.use_reentrant autograd._checkpoint.checkpoint.early_stop
        autograd._gradcheck.gradcheck.fast_mode autograd._gradcheck.gradcheck.check_undefined_grad
        autograd._gradcheck.gradcheck.check_grad_dtypes autograd.functional.jacobian.vectorize
        func.jacrev.chunk_size func._vmap.vmap.chunk_size nn.modules.transformer.__init__.enable_nested_tensor
        nn.modules.transformer.__init__.mask_check nn.utils._gradients.clip_grad_norm_.foreach
        nn.utils._gradients.get_total_norm.foreach nn.utils._gradients.clip_grads_with_norm_.foreach
        nn.utils._gradients.clip_grad_value_.foreach amp._autocast.__init__.cache_enabled""",
    "programs are recorded, fused and replayed without a compiler's options": """
        _settings.compile.fullgraph _settings.compile.dynamic _settings.compile.backend _settings.compile.disable
        _C._ignored.args _dynamo.graph_break.msg _dynamo.list_backends.exclude_tags _dynamo.mark_dynamic.bounds
        _dynamo.mark_dynamic.index _dynamo.mark_dynamic.t _dynamo.mark_static_address.guard
        _dynamo.mark_static_address.t _dynamo.optimize.args _dynamo.optimize.options
        autograd.graph.disable_saved_tensors_hooks.error_message autograd.graph.save_on_cpu.device_type
        autograd.graph.save_on_cpu.pin_memory backends.can_use_flash_attention.debug
        backends.can_use_flash_attention.params compiler.disable.reason compiler.disable.recursive
        compiler.list_backends.exclude_tags compiler.set_stance.options compiler.set_stance.stance
        compiler.substitute_in_graph.can_constant_fold_through compiler.substitute_in_graph.is_embedded_type
        compiler.substitute_in_graph.original_fn compiler.substitute_in_graph.skip_signature_check jit.Attribute.type
        jit.annotate.the_type jit.enable_onednn_fusion.enabled jit.ignore.kwargs
        jit.optimized_execution.should_optimize jit.script._frames_up jit.script._rcb jit.script.example_inputs
        jit.script.optimize jit.set_fusion_strategy.strategy jit.trace._compilation_unit jit.trace._force_outplace
        jit.trace._module_class jit.trace._store_inputs jit.trace.check_inputs jit.trace.check_tolerance
        jit.trace.check_trace jit.trace.example_inputs jit.trace.example_kwarg_inputs jit.trace.optimize
        jit.trace.strict jit.trace_module.inputs jit.trace_module.options library.custom_op.mutates_args
        library.custom_op.schema library.custom_op.tags library.define.alias_analysis library.define.lib
        library.define.schema library.define.tags library.impl.allow_override library.impl.lib
        library.impl.with_keyset library.register_autograd.lib library.register_fake._stacklevel
        library.register_fake.allow_override library.register_fake.lib library.register_fake.op
        library.register_kernel.lib nn.attention.flex_attention.create_block_mask._compile
        nn.attention.flex_attention.create_block_mask.options nn.attention.flex_attention.create_mask.options
        nn.attention.flex_attention.flex_attention.kernel_options
        optim.optimizer._default_to_fused_or_foreach.differentiable
        optim.optimizer._default_to_fused_or_foreach.params optim.optimizer._default_to_fused_or_foreach.use_fused
        optim.optimizer._get_capturable_supported_devices.supports_xla
        utils._pytree.register_pytree_node.from_dumpable_context
        utils._pytree.register_pytree_node.register_fake_type
        utils._pytree.register_pytree_node.serialized_type_name
        utils._pytree.register_pytree_node.to_dumpable_context utils.flop_counter.__init__.custom_mapping
        utils.flop_counter.__init__.display utils.flop_counter.__init__.mods""",
    "PyTorch's protocol: operations are not intercepted": """
        _C._disabled_torch_function_impl.cls _C._disabled_torch_function_impl.types""",
    "nothing is reported to anybody": "_C._log_api_usage_once.event",
    "attention sums in float32 in any case": "_C._set_math_sdp_allow_fp16_bf16_reduction.flag",
    "of torch.compile's shapes": "_numerical.expand_copy.implicit",
    "there are no pipes": """
        utils.data.functional_datapipe.enable_df_api_tracing utils.data.functional_datapipe.name""",
    "no tensor has a tangent": "_unsupported_parts.<lambda>.level",
    "nothing is downloaded, so no bar shows it, and a local folder is neither cached nor asked about": """
        hub.help.force_reload hub.help.skip_validation hub.help.trust_repo hub.list.force_reload
        hub.list.skip_validation hub.list.trust_repo hub.list.verbose hub.load.force_reload hub.load.skip_validation
        hub.load.trust_repo hub.load.verbose hub.load_state_dict_from_url.progress""",
    "there is one CPU, without streams": """
        cpu.current_stream.device cpu.set_device.device cpu.stream.stream cpu.synchronize.device
        cpu.wait_stream.stream""",
    "there are no subclasses and no other layouts": """
        testing.assert_close.allow_subclasses testing.assert_close.check_layout
        utils._python_dispatch.is_traceable_wrapper_subclass.t""",
    "how a file is read, which changes no result": "serialization._read.load.mmap",
    "the size of a message, which changes no result": "distributed.utils._sync_module_states.broadcast_bucket_size",
    "a function is called once, whatever it draws": "func.jacfwd.randomness",
    "the function returns False: denormals are never flushed": "_settings.set_flush_denormal.mode",
    "both devices are always measured": "profiler.__init__.activities profiler.__init__.use_cuda",
    "availability is always checked": "accelerator.current_accelerator.check_available _C._get_accelerator.check",
    "all ranks are always named": "distributed._collectives.monitored_barrier.wait_all_ranks",
    "each backward pass waits for its reductions": """
        distributed.fsdp._fully_shard.set_is_last_backward.is_last_backward""",
    "later operations wait for a collective in any case": "distributed.tensor._dtensor.redistribute.async_op",
    "of max_norm, which is refused": "distributed.tensor._operators._embedding.norm_type",
    "how far copies run ahead, which changes the time": """
        distributed.checkpoint.filesystem.__init__.per_thread_copy_ahead
        distributed.checkpoint.filesystem.__init__.thread_count
        distributed.checkpoint.hf_storage.__init__.thread_count_consolidation""",
    "the protocols of planners and storages, whose other classes use them": """
        distributed.checkpoint._file_system.validate_checkpoint_id.cls
        distributed.checkpoint._fsspec_filesystem.validate_checkpoint_id.cls
        distributed.checkpoint.default_planner.commit_tensor.read_item
        distributed.checkpoint.default_planner.commit_tensor.tensor
        distributed.checkpoint.default_planner.create_default_local_save_plan.is_coordinator
        distributed.checkpoint.default_planner.set_up_planner.storage_meta
        distributed.checkpoint.filesystem.read_metadata.args
        distributed.checkpoint.filesystem.read_metadata.kwargs
        distributed.checkpoint.filesystem.set_up_storage_reader.args
        distributed.checkpoint.filesystem.set_up_storage_reader.is_coordinator
        distributed.checkpoint.filesystem.set_up_storage_writer.args
        distributed.checkpoint.filesystem.set_up_storage_writer.is_coordinator
        distributed.checkpoint.filesystem.validate_checkpoint_id.cls
        distributed.checkpoint.hf_storage.read_metadata.args
        distributed.checkpoint.hf_storage.read_metadata.kwargs""",
    "plain tensors of several ranks are always saved once": """
        distributed.checkpoint.default_planner.__init__.dedup_replicated_tensors""",
    "gradients are always views": "nn.parallel.distributed.__init__.gradient_as_bucket_view",
    "the table is short": "cuda._memory.memory_summary.abbreviated",
    "PyTorch ignores it too": """
        _softmax.softmax._stacklevel _softmax.log_softmax._stacklevel _conversions.is_pinned.device
        autograd.Variable.volatile nn._pure_activation.gumbel_softmax.eps nn.modules.linear.__init__.args
        nn.modules.linear.__init__.kwargs utils.data._samplers.__init__.data_source""",
    "Python's protocol": """
        _alternative_names.find_spec.path _alternative_names.find_spec.target _alternative_names.create_module.spec
        _tensor.__reduce_ex__.protocol nn.modules.__getattr__.name""",
    "taken by __new__": """
        autograd._modes.__init__.function""",
    "a signature that several functions or classes share": """
        _creation.__init__.data _unsupported_parts.<lambda>.args _utils._rebuild_parameter.backward_hooks
        _utils._rebuild_tensor_v2.backward_hooks _utils._rebuild_tensor_v2.metadata
        distributed.algorithms._checkpoint.checkpoint_wrapper._with_prefix.module
        distributed.algorithms._checkpoint.checkpoint_wrapper._without_prefix.module
        nn.attention.flex_attention.noop_mask.batch nn.attention.flex_attention.noop_mask.head
        nn.attention.flex_attention.noop_mask.token_kv nn.modules._state.<lambda>.module
        nn.modules.module._target.memory_format nn.utils.prune.__call__.inputs
        nn.utils.prune.compute_mask.default_mask nn.utils.prune.compute_mask.t utils._pytree.<lambda>.c
        _printing.__init__.floating
        distributed.fsdp._fully_shard._after_forward.args distributed.tensor._api.<lambda>.inputs
        distributed.tensor.parallel.style._apply.device_mesh distributed.tensor.parallel.style._apply.module
        distributed.tensor.parallel.style._desired.module distributed.tensor.parallel.style.after.args
        distributed.tensor.parallel.style.after.mesh
        nn._normalization._trailing.function nn._padding._constant.first nn._padding._replicate.value
        nn._padding._reflect.value nn._padding._circular.value
        nn._recurrent_autograd._tanh.state nn._recurrent_autograd._relu.state nn.modules._state._before_load.state
        nn.modules._state._before_load.prefix nn.modules.lazy._materialize.like
        nn.utils.parametrizations.__call__.args nn.utils.parametrize.forward.args
        nn.utils.parametrize.forward.kwargs optim._elementwise._names.group
        optim.lr_scheduler._cyclic.<lambda>.x optim.lr_scheduler._cyclic.<lambda>.gamma
        optim.swa_utils.<lambda>.num_averaged profiler.<lambda>.step serialization._read._tensor.hooks
        serialization._read._parameter.hooks serialization._read._parameter.state serialization._read._of_type.kind
        serialization._read._of_type.state utils.data._fetch.<lambda>.indices""",
}
HINTS |= {f"torch.{name}": reason for reason, names in _TORCH_HINTS.items() for name in names.split()}

#: PyCUDA: streams, and options of its compiler and cache folders.
_IN_ORDER = """
_gpuarray.set _gpuarray.set_async _gpuarray.get _gpuarray.get_async _gpuarray.fill _gpuarray.reverse _gpuarray.astype
_gpuarray.mul_add _gpuarray.any _gpuarray.all _memory.memcpy_htod_async _memory.memcpy_dtoh_async
_memory.memcpy_dtod_async _memory.pre_call _memory.post_call cumath.fmod cumath.atan2 cumath.frexp cumath.ldexp
cumath.modf cumath.function curandom.rand curandom.fill_uniform curandom.fill_normal curandom.fill_log_normal
curandom.fill_poisson curandom.gen_uniform curandom.gen_normal curandom.gen_log_normal curandom.gen_poisson
curandom.call_skip_ahead _streams.record _modules.prepared_async_call elementwise.__call__ gpuarray.to_gpu_async
gpuarray.arange gpuarray.take gpuarray.multi_take gpuarray.multi_put gpuarray.multi_take_put gpuarray.where
gpuarray.if_positive gpuarray.sum gpuarray.any gpuarray.all gpuarray.dot gpuarray.max gpuarray.min gpuarray.subset_sum
gpuarray.subset_dot gpuarray.subset_max gpuarray.subset_min gpuarray.function reduction.__call__ scan.__call__"""
_UNUSED = {
    "compiler.compile": "nvcc keep code cache_dir",
    "compiler.__init__": "nvcc keep arch code cache_dir log_size log_verbose cuda_libdir",
    "elementwise.__init__": "keep",
    "reduction.__init__": "keep",
}
HINTS |= {f"pycuda.{name}.stream": _ORDERED for name in _IN_ORDER.split()}
HINTS |= {
    f"pycuda.{name}.{parameter}": "NVRTC compiles, for the GPU that is here, and the driver links"
    for name, parameters in _UNUSED.items()
    for parameter in parameters.split()
}
HINTS |= {
    "pycuda._gpuarray.set.async_": "a transfer never outlives the call",
    "pycuda._gpuarray.get.async_": "a transfer never outlives the call",
    "pycuda._gpuarray.get.pagelocked": "every copy goes through pinned memory",
    "pycuda._memory.mem_alloc_pitch.access_size": "rows begin at multiples of 512 bytes, which suits all sizes",
    "pycuda._contexts.make_context.flags": "how the host waits",
    "pycuda._streams.__init__.flags": "how one waits for a stream or an event",
    "pycuda.gpuarray.splay.dev": "a shape of launch that suits every GPU",
    "pycuda.scan.__call__.allocator": "a scan goes to memory that is there",
    "pycuda.scan._store.neutral": "of the other kind of scan",
}

Function = ast.FunctionDef | ast.Lambda


def _functions() -> Iterator[tuple[str, Function]]:
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        if parts[:2] == ("_tools", "demo"):
            continue
        module = ".".join(part for part in parts if part != "__init__")
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, (ast.FunctionDef, ast.Lambda)):
                yield f"{module}.{getattr(node, 'name', '<lambda>')}", node


def _unread(function: Function) -> list[str]:
    """Returns the parameters that no expression of the body reads, but for those named `_`, which only fill a place."""
    args = function.args
    names = [a.arg for a in (*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg) if a is not None]
    body = function.body if isinstance(function.body, list) else [function.body]
    read = {n.id for part in body for n in ast.walk(part) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    return [name for name in names if name not in read and name.strip("_")]


def _is_declaration(function: Function) -> bool:
    """Returns true for overloads (the body is an ellipsis) and functions that only raise, such as abstract methods."""
    body = function.body
    if not isinstance(body, list):
        return False
    *doc, last = body
    return all(isinstance(part, ast.Expr) for part in doc) and (
        isinstance(last, ast.Raise) or ast.unparse(last) in ("...", "return NotImplemented")
    )


def test_every_parameter_is_read_or_a_known_hint() -> None:
    unread = set()
    for name, function in _functions():
        if not _is_declaration(function):
            unread |= {f"{name}.{p}" for p in _unread(function) if p != "self" and not name.endswith(".__exit__")}
    assert unread == set(HINTS)


def test_the_check_sees_an_ignored_parameter() -> None:
    ignored = ast.parse("def f(a, /, b, *c, d, e=1, **g):\n    del d\n    e = 2\n    return a + b").body[0]
    assert isinstance(ignored, ast.FunctionDef)
    assert _unread(ignored) == ["d", "e", "c", "g"]


def test_arrays_have_no_subclasses() -> None:
    with pytest.raises(TypeError):
        type("Mine", (cp.ndarray,), {})


def test_hints_change_no_result() -> None:
    a = cp.asarray(np.array([3.0, 1, 2, 1]))
    spoiled = a.copy()
    assert float(cp.median(spoiled, overwrite_input=True)) == 1.5
    assert float(cp.percentile(spoiled, 50, overwrite_input=True)) == 1.5
    assert spoiled.tolist() == a.tolist()
    for hint in (True, False):
        assert cp.isin(a, [1], assume_unique=hint).tolist() == [False, True, False, True]
        assert cp.unique(a, sorted=hint).tolist() == [1, 2, 3]
        assert cp.array(a, subok=hint, blocking=hint).tolist() == a.tolist()
        assert cp.asarray([1], blocking=hint).tolist() == [1]
        assert a.get(blocking=hint).tolist() == a.tolist()
        assert sorted(cp.random.default_rng(0).choice(4, 4, replace=False, shuffle=hint).tolist()) == [0, 1, 2, 3]
    for kind in (None, "quicksort", "mergesort", "heapsort", "stable"):
        assert cp.sort(a, kind=kind).tolist() == [1, 1, 2, 3]
    for kind in (None, "sort", "table"):
        assert cp.isin(a.astype(int), [1], kind=kind).tolist() == [False, True, False, True]


#: Values that NumPy rejects too.
CHECKED: dict[str, Callable[[Any, Any], Any]] = {
    "ufunc subok": lambda xp, a: xp.add(a, 1, subok=2),
    "matmul subok": lambda xp, a: xp.matmul(a, a, subok="x"),
    "zeros_like subok": lambda xp, a: xp.zeros_like(a, subok="x"),
    "astype subok": lambda xp, a: a.astype(int, subok="x"),
    "ufunc casting": lambda xp, a: xp.add(a, 1, casting="loose"),
    "ufunc order": lambda xp, a: xp.add(a, 1, order="Z"),
    "divmod order": lambda xp, a: xp.divmod(a, 1, order="Z"),
    "ufunc keyword": lambda xp, a: xp.add(a, 1, wehre=True),
    "sort kind": lambda xp, a: xp.sort(a, kind="bogo"),
    "partition kind": lambda xp, a: xp.partition(a, 1, kind="bogo"),
    "sort order": lambda xp, a: xp.sort(a, order="x"),
    "sort kind and stable": lambda xp, a: xp.sort(a, kind="stable", stable=True),
    "isin kind": lambda xp, a: xp.isin(a, a, kind="bogo"),
    "shares_memory max_work": lambda xp, a: xp.shares_memory(a, a, max_work="x"),
    "histogram_bin_edges weights": lambda xp, a: xp.histogram_bin_edges(a, weights=xp.ones(7)),
    "array namespace": lambda xp, a: a.__array_namespace__(api_version="1999.12"),
    "reshape order": lambda xp, a: a.reshape(3, order="K"),
    "copy order": lambda xp, a: a.copy("Z"),
    "clip bounds twice": lambda xp, a: xp.clip(a, a_min=1, a_max=2, min=1),
    "var ddof twice": lambda xp, a: xp.var(a, ddof=1, correction=1),
    "load mode": lambda xp, a: xp.load("no such file", mmap_mode="bogo"),
}


@pytest.mark.parametrize("name", CHECKED)
def test_values_are_checked_as_numpy_does(name: str) -> None:
    expected = outcome(lambda: CHECKED[name](np, np.ones(3)))
    actual = outcome(lambda: CHECKED[name](cp, cp.ones(3)))
    assert isinstance(expected, Exception)
    assert isinstance(actual, Exception), actual
    assert type(actual) is type(expected) or isinstance(expected, type(actual)), (actual, expected)


#: Unsupported calls: (call, words of the message).
REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "ndarray strides": (lambda: cp.ndarray((2,), strides=(8,)), "strides"),
    "stream priority": (lambda: cp.cuda.Stream(priority=1), "Stream.*priority"),
    "stream ptds": (lambda: cp.cuda.Stream(ptds=True), "Stream.*ptds"),
    "event interprocess": (lambda: cp.cuda.Event(interprocess=True), "Event.*interprocess"),
    "special where": (lambda: cp.scipy.special.erf(cp.ones(2), where=cp.ones(2) > 0), "erf.*where"),
    "legacy state": (lambda: cp.random.RandomState(0).get_state(legacy=True), "get_state.*legacy"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_supported_says_so(name: str) -> None:
    call, words = REFUSED[name]
    with pytest.raises(NotImplementedError, match=words):
        call()


def _x() -> Any:
    return torch.arange(4.0)


def _index() -> Any:
    return torch.tensor([1])


#: Calls of `cuprous.torch` with an argument that is refused: (call, class of the error, words of the message).
TORCH_REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "clone memory_format": (lambda: _x().clone(memory_format=1), TypeError, "must be torch.memory_format"),
    "float memory_format": (lambda: _x().float(memory_format=1), TypeError, "must be torch.memory_format"),
    "gather sparse_grad": (
        lambda: torch.gather(_x(), 0, _index(), sparse_grad=True), NotImplementedError, "gather.*sparse_grad",
    ),
    "fftfreq layout": (lambda: torch.fft.fftfreq(3, layout="sparse"), NotImplementedError, "layout"),
    "cdist compute_mode": (lambda: torch.cdist(_x()[None], _x()[None], compute_mode="no"), ValueError, "compute_mode"),
    "svdvals driver": (lambda: torch.linalg.svdvals(torch.eye(2), driver="no"), RuntimeError, "driver='no'"),
    "repeat output_size": (lambda: _x().repeat_interleave(2, output_size=7), RuntimeError, "output_size 8, got 7"),
    "repeats output_size": (
        lambda: _x().repeat_interleave(torch.tensor([1, 2, 0, 1]), output_size=5), RuntimeError, "output_size 4, got 5",
    ),
    "array copy": (lambda: np.asarray(_x(), copy=False), ValueError, "without a copy"),
    "profile acc_events": (lambda: torch.profiler.profile(acc_events=True), NotImplementedError, "acc_events"),
    "record args": (lambda: torch.profiler.record_function("a", "b"), NotImplementedError, "record_function.*args"),
    "checkpoint determinism": (
        lambda: torch.utils.checkpoint.checkpoint(len, [], determinism_check="no"), ValueError, "determinism_check",
    ),
    "gradcheck backward": (
        lambda: torch.autograd.gradcheck(len, _x(), check_backward_ad=False), NotImplementedError, "check_backward_ad",
    ),
    "jvp strict": (
        lambda: torch.autograd.functional.jvp(lambda a, b: a * 2, (_x(), _x()), (_x(), _x()), strict=True),
        RuntimeError, "strict",
    ),
    "func.jvp strict": (
        lambda: torch.func.jvp(lambda a, b: a * 2, (_x(), _x()), (_x(), _x()), strict=True), RuntimeError, "strict",
    ),
    "solve_ex check_errors": (
        lambda: torch.linalg.solve_ex(torch.zeros(2, 2), torch.ones(2), check_errors=True),
        torch.linalg.LinAlgError, "Singular",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TORCH_REFUSED)
def test_torch_refuses_what_it_does_not_do(name: str) -> None:
    call, error, words = TORCH_REFUSED[name]
    with pytest.raises(error, match=words):
        call()


def test_arguments_of_torch_have_an_effect() -> None:
    assert _x().repeat_interleave(2, output_size=8).tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert np.asarray(_x(), copy=True).tolist() == [0, 1, 2, 3]

    module = torch.nn.Sequential(torch.nn.Linear(1, 1), torch.nn.BatchNorm1d(1))
    weight = module[0].weight.item()
    assert module.to_empty(device="cpu", recurse=False)[0].weight.item() == weight

    _, back = torch.func.vjp(torch.sin, _x())
    seed = torch.ones(4, requires_grad=True)
    assert back(seed)[0].requires_grad and back(seed, create_graph=True)[0].requires_grad
    assert not back(seed, create_graph=False)[0].requires_grad


def test_solve_ex_reports_singular_matrices() -> None:
    a = torch.tensor([[[1.0, 2], [3, 4]], [[1, 2], [2, 4]]], requires_grad=True)
    for b, left in ((torch.ones(2, 2), True), (torch.ones(2, 2, 3), True), (torch.ones(2, 3, 2), False)):
        found = torch.linalg.solve_ex(a, b, left=left)
        assert found.info.tolist() == [0, 1] and found.info.dtype == torch.int32
        assert found.result[1].isnan().all()
        expected = torch.linalg.solve(a[0], b[0], left=left)
        assert torch.allclose(found.result[0], expected)
    found.result[0].sum().backward()
    assert a.grad.isfinite().all() and a.grad[0].abs().sum() > 0


def test_gradcheck_finds_a_backward_pass_that_varies() -> None:
    class Varying(torch.autograd.Function):
        calls = 0

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            Varying.calls += 1
            return g * (2 + 1e-9 * Varying.calls)

    x = torch.ones(2, dtype=torch.float64, requires_grad=True)
    with pytest.raises(RuntimeError, match="not reentrant"):
        torch.autograd.gradcheck(Varying.apply, x)
    assert not torch.autograd.gradcheck(Varying.apply, x, raise_exception=False)
    assert torch.autograd.gradcheck(Varying.apply, x, nondet_tol=1e-6)


def test_fuse_takes_cupys_arguments_only() -> None:
    assert cp.fuse(kernel_name="mine")(len) is len
    assert cp.fuse(len) is len
    with pytest.raises(TypeError):
        cp.fuse(kernel="mine")
    with pytest.raises(TypeError):
        cp.fuse("mine")


def test_transfers_wait_for_the_stream_named() -> None:
    waited = []
    stream = type("Theirs", (), {"synchronize": lambda self: waited.append(self)})()
    a = cp.zeros(3)
    a.set(np.ones(3), stream=stream)
    assert a.get(stream=stream).tolist() == [1, 1, 1]
    assert cp.asnumpy(a, stream=stream).tolist() == [1, 1, 1]
    a.to_device(cp.get_device(), stream=stream)
    cp.cuda.Event().record(stream)
    assert waited == [stream] * 5
    with pytest.raises(TypeError, match=r"\[get\] stream"):
        a.get(stream=7)


def test_an_event_without_timing_measures_nothing() -> None:
    start, end = cp.cuda.Event(disable_timing=True), cp.cuda.Event()
    start.record()
    end.record()
    with pytest.raises(ValueError, match="disable_timing"):
        cp.cuda.get_elapsed_time(start, end)


def test_max_work() -> None:
    for xp in (np, cp):
        a = xp.ones(8)
        evens, odds = a[::2], a[1::2]
        assert not xp.shares_memory(evens, odds)
        assert xp.may_share_memory(evens, odds)
        assert xp.may_share_memory(evens, odds, max_work=0)
        assert not xp.may_share_memory(evens, odds, max_work=100)
        with pytest.raises(np.exceptions.TooHardError):
            xp.shares_memory(evens, odds, max_work=0)
