"""The parts and names of PyTorch that Cuprous does not have, with the reasons and what to do instead."""

from __future__ import annotations

import typing
from typing import Any, NamedTuple


class Part(NamedTuple):
    """An unsupported module: why, and its public names."""

    reason: str
    names: str = ""


class _Unpacked(NamedTuple):
    """A tensor, and the tangent that none has here."""

    primal: Any
    tangent: None


_DEVICES = "only CPUs and NVIDIA GPUs are supported"
_EXPORT = "programs are recorded as they run, and not exported; save the state with torch.save and export it in PyTorch"
_SYMBOLIC = "programs are recorded as they run, and not traced symbolically"
_QUANTIZED = "quantized tensors are not supported"
_NESTED = "nested tensors are not supported; pad the sequences, or use nn.utils.rnn"
_MASKED = "masked tensors are not supported; use where, or a mask of your own"
_PACKAGES = "packages are not supported; use torch.save"
_COMPILED = "there is no C++ library to compile against; write kernels with cuprous.cuda.jit or RawKernel"
_COMPILER = "there is no compiler to configure: every program is recorded, fused and replayed"
_REMOTE = "remote procedure calls are not supported; use collectives and messages"
_PIPELINES = "pipelines are not supported; use fully_shard or tensor parallelism"
_FSDP1 = "the first version of FSDP is not supported; use torch.distributed.fsdp.fully_shard"
_LOOPS = "Python's own statements are recorded as they run"
_TRACED = "tensors are not traced"
_CHECKPOINTS = "use torch.distributed.checkpoint.save and load"
_NUMA = "start the ranks under numactl"
_PROFILES = "use cuprous.profile"
_GRAPHS = "repeated steps become one graph launch by themselves; run the step itself"
_REPLICAS = "one process drives one GPU; use DistributedDataParallel"
_PIPES = "use a Dataset and a DataLoader"

#: Modules by their path below `torch`.
PARTS: dict[str, Part] = {
    "onnx": Part(
        _EXPORT,
        "ExportableModule InputObserver ONNXProgram OnnxExporterError export is_in_onnx_export "
        "OperatorExportTypes TrainingMode ExportOptions dynamo_export register_custom_op_symbolic "
        "unregister_custom_op_symbolic select_model_mode_for_export",
    ),
    "onnx.symbolic_helper": Part(_EXPORT, "parse_args cast_pytorch_to_onnx _get_tensor_sizes"),
    "onnx.symbolic_opset9": Part(_EXPORT, "dropout masked_fill softmax"),
    "onnx.symbolic_opset11": Part(_EXPORT, "dropout masked_fill softmax"),
    "onnx.symbolic_opset12": Part(_EXPORT, "dropout masked_fill softmax"),
    "onnx.utils": Part(_EXPORT, "export"),
    "export": Part(
        _EXPORT,
        "AdditionalInputs Constraint CustomDecompTable Dim ExportBackwardSignature ExportGraphSignature "
        "ExportedProgram FlatArgsAdapter ModuleCallEntry ModuleCallSignature ShapesCollection UnflattenedModule "
        "default_decompositions draft_export export load register_dataclass save unflatten",
    ),
    "export.dynamic_shapes": Part(_EXPORT, "Dim"),
    "export.decomp_utils": Part(_EXPORT, "CustomDecompTable"),
    "_dynamo._trace_wrapped_higher_order_op": Part(_TRACED, "TransformGetItemToIndex"),
    "distributed._tensor.experimental": Part("use the placements of DTensor", "implicit_replication"),
    "distributed.checkpoint._consolidate_hf_safetensors": Part(_CHECKPOINTS, "consolidate_safetensors_files"),
    "distributed.checkpoint.default_planner": Part(_CHECKPOINTS, "DefaultLoadPlanner DefaultSavePlanner"),
    "distributed.checkpoint.format_utils": Part(
        _CHECKPOINTS,
        "_EmptyStateDictLoadPlanner _load_state_dict dcp_to_torch_save torch_save_to_dcp BroadcastingTorchSaveReader",
    ),
    "distributed.checkpoint.hf_storage": Part(_CHECKPOINTS, "HuggingFaceStorageReader HuggingFaceStorageWriter"),
    "distributed.checkpoint.optimizer": Part(_CHECKPOINTS, "load_sharded_optimizer_state_dict"),
    "distributed.checkpoint.planner": Part(_CHECKPOINTS, "LoadPlan LoadPlanner SavePlan SavePlanner"),
    "distributed.checkpoint.state_dict_saver": Part(_CHECKPOINTS, "save_state_dict"),
    "distributed.elastic.multiprocessing": Part("use python -m cuprous.run"),
    "distributed.elastic.multiprocessing.errors": Part("use python -m cuprous.run", "ChildFailedError record"),
    "export._trace": Part(_EXPORT),
    "numa": Part(_NUMA),
    "numa.binding": Part(_NUMA, "AffinityMode NumaOptions"),
    "onnx._internal": Part(_EXPORT),
    "onnx._internal.exporter": Part(_EXPORT, "ONNXProgram"),
    "utils.data.datapipes": Part(_PIPES),
    "utils.data.datapipes.iter": Part(_PIPES, "Batcher IterDataPipe"),
    "utils.data.datapipes.iter.combinatorics": Part(_PIPES, "ShufflerIterDataPipe"),
    "utils.data.datapipes.datapipe": Part(_PIPES, "IterDataPipe MapDataPipe"),
    "utils.data.graph_settings": Part(_PIPES, "apply_random_seed apply_sharding apply_shuffle_settings"),
    "_functorch": Part("use torch.func"),
    "_jit_internal": Part(_EXPORT, "boolean_dispatch"),
    "_inductor.cpu_vec_isa": Part(_COMPILER, "VecISA pick_vec_isa valid_vec_isa_list"),
    "_inductor.runtime": Part(_COMPILER),
    "_logging": Part("messages are Python's own; use the module logging", "set_logs"),
    "_ops": Part("operations are functions of torch", "HigherOrderOperator OpOverload OpOverloadPacket"),
    "ao.quantization.fx": Part(_QUANTIZED),
    "autograd.forward_ad": Part(
        "use torch.func.jvp", "dual_level enter_dual_level exit_dual_level make_dual unpack_dual UnpackedDualTensor"
    ),
    "autograd.profiler_legacy": Part(_PROFILES, "profile"),
    "autograd.profiler_util": Part(
        _PROFILES, "EventList FunctionEvent FormattedTimesMixin Interval Kernel MemRecordsAcc"
    ),
    "cuda.comm": Part(_REPLICAS, "broadcast broadcast_coalesced gather reduce_add reduce_add_coalesced scatter"),
    "cuda.graphs": Part(
        _GRAPHS, "CUDAGraph graph graph_pool_handle is_current_stream_capturing make_graphed_callables"
    ),
    "cuda.nccl": Part(
        "use torch.distributed", "all_gather all_reduce broadcast init_rank is_available reduce unique_id"
    ),
    "cuda.profiler": Part(_PROFILES, "CudaError init profile start stop"),
    "cuda.sparse": Part(
        "there are no classes of sparse tensors; use torch.sparse_coo_tensor", "FloatTensor DoubleTensor"
    ),
    "distributed.rpc.api": Part(_REMOTE, "RRef rpc_async rpc_sync remote"),
    "distributed.run": Part("use python -m cuprous.run", "get_args_parser main parse_args run config_from_args"),
    "fx._pytree": Part(_SYMBOLIC, "register_pytree_flatten_spec tree_flatten_spec"),
    "fx._symbolic_trace": Part(_SYMBOLIC, "Tracer symbolic_trace wrap"),
    "fx.interpreter": Part(_SYMBOLIC, "Interpreter Transformer"),
    "fx.passes.infra": Part(_SYMBOLIC),
    "jit._recursive": Part(_EXPORT, "create_script_module infer_methods_to_compile"),
    "nn.parallel.parallel_apply": Part(_REPLICAS, "parallel_apply"),
    "nn.parallel.replicate": Part(_REPLICAS, "replicate"),
    "nn.parallel.scatter_gather": Part(_REPLICAS, "gather scatter scatter_kwargs"),
    "profiler.profiler": Part(_PROFILES, "profile KinetoStepTracker"),
    "utils._sympy": Part(_SYMBOLIC),
    "utils.benchmark": Part("use cuprous.timeit", "Timer Measurement Compare"),
    "fx": Part(
        _SYMBOLIC,
        "Graph GraphModule Interpreter Node Proxy Tracer Transformer map_arg replace_pattern symbolic_trace",
    ),
    "fx.node": Part(_SYMBOLIC, "Node map_arg map_aggregate"),
    "fx.graph": Part(_SYMBOLIC, "Graph"),
    "fx.graph_module": Part(_SYMBOLIC, "GraphModule"),
    "fx.proxy": Part(_SYMBOLIC, "Proxy ParameterProxy"),
    "fx.experimental": Part(_SYMBOLIC),
    "fx.experimental.proxy_tensor": Part(_SYMBOLIC, "get_proxy_mode make_fx"),
    "fx.experimental.symbolic_shapes": Part(
        _SYMBOLIC,
        "GuardOnDataDependentSymNode ShapeEnv free_symbols free_unbacked_symbols guard_or_false guard_or_true "
        "is_concrete_int statically_known_true",
    ),
    "fx.passes": Part(_SYMBOLIC),
    "jit.annotations": Part(_EXPORT),
    "jit._script": Part(_EXPORT, "RecursiveScriptModule ScriptModule"),
    "package": Part(
        _PACKAGES,
        "Directory EmptyMatchError GlobGroup Importer ObjMismatchError ObjNotFoundError OrderedImporter "
        "PackageExporter PackageImporter PackagingError analyze file_structure_representation "
        "find_file_dependencies glob_group importer is_from_package package_exporter package_importer "
        "sys_importer",
    ),
    "quantization": Part(
        _QUANTIZED,
        "DeQuantStub HistogramObserver ObserverBase QConfig QuantStub QuantType QuantWrapper WeightObserver "
        "add_quant_dequant convert default_dynamic_qconfig default_eval_fn default_fake_quant "
        "default_fixed_qparams_range_0to1_fake_quant default_fixed_qparams_range_neg1to1_fake_quant "
        "default_histogram_fake_quant default_observer default_per_channel_weight_fake_quant "
        "default_per_channel_weight_observer default_placeholder_observer default_qat_qconfig default_qconfig "
        "default_weight_fake_quant default_weight_observer float16_dynamic_qconfig "
        "float_qparams_weight_only_qconfig fuse_modules get_default_compare_output_module_list "
        "get_default_dynamic_quant_module_mappings get_default_qat_module_mappings "
        "get_default_qconfig_propagation_list get_default_static_quant_module_mappings get_fuser_method "
        "get_quantized_operator get_static_quant_module_class prepare prepare_qat propagate_qconfig_ quantize "
        "quantize_dynamic quantize_dynamic_jit quantize_jit quantize_qat swap_module",
    ),
    "ao": Part(_QUANTIZED),
    "ao.quantization": Part(
        _QUANTIZED,
        "DeQuantStub FakeQuantize HistogramObserver MinMaxObserver ObserverBase QConfig QConfigMapping QuantStub "
        "QuantType QuantWrapper WeightObserver add_quant_dequant convert default_dynamic_qconfig default_eval_fn "
        "default_fake_quant default_fixed_qparams_range_0to1_fake_quant "
        "default_fixed_qparams_range_neg1to1_fake_quant default_histogram_fake_quant default_observer "
        "default_per_channel_weight_fake_quant default_per_channel_weight_observer default_placeholder_observer "
        "default_qat_qconfig default_qconfig default_weight_fake_quant default_weight_observer "
        "float16_dynamic_qconfig float_qparams_weight_only_qconfig fuse_modules "
        "get_default_compare_output_module_list get_default_dynamic_quant_module_mappings "
        "get_default_qat_module_mappings get_default_qconfig_propagation_list "
        "get_default_static_quant_module_mappings get_fuser_method get_quantized_operator "
        "get_static_quant_module_class prepare prepare_qat propagate_qconfig_ quantize quantize_dynamic "
        "quantize_dynamic_jit quantize_jit quantize_qat swap_module",
    ),
    "nested": Part(
        _NESTED,
        "as_nested_tensor masked_select narrow nested_tensor nested_tensor_from_jagged to_padded_tensor",
    ),
    "masked": Part(
        _MASKED,
        "MaskedTensor amax amin argmax argmin as_masked_tensor cumprod cumsum is_masked_tensor log_softmax "
        "logaddexp logsumexp masked_tensor mean median norm normalize prod softmax softmin std sum var",
    ),
    "mps": Part(
        _DEVICES,
        "Event compile_shader current_allocated_memory driver_allocated_memory empty_cache get_rng_state "
        "manual_seed recommended_max_memory seed set_per_process_memory_fraction set_rng_state synchronize",
    ),
    "xpu": Part(
        _DEVICES,
        "Event MemPool Stream StreamContext XPUGraph XPUPluggableAllocator can_device_access_peer "
        "change_current_allocator current_device current_stream default_generators device device_of empty_cache "
        "get_arch_list get_device_capability get_device_name get_device_properties get_gencode_flags "
        "get_per_process_memory_fraction get_rng_state get_rng_state_all get_stream_from_external graph "
        "graph_pool_handle initial_seed is_current_stream_capturing is_tf32_supported make_graphed_callables "
        "manual_seed manual_seed_all max_memory_allocated max_memory_reserved mem_get_info memory_allocated "
        "memory_reserved memory_snapshot memory_stats memory_stats_as_nested_dict reset_accumulated_memory_stats "
        "reset_peak_memory_stats seed seed_all set_device set_per_process_memory_fraction set_rng_state "
        "set_rng_state_all set_stream stream streams synchronize use_mem_pool",
    ),
    "mtia": Part(
        _DEVICES,
        "Event MemPool Stream StreamContext XPUGraph XPUPluggableAllocator can_device_access_peer "
        "change_current_allocator current_device current_stream default_generators device device_of empty_cache "
        "get_arch_list get_device_capability get_device_name get_device_properties get_gencode_flags "
        "get_per_process_memory_fraction get_rng_state get_rng_state_all get_stream_from_external graph "
        "graph_pool_handle initial_seed is_current_stream_capturing is_tf32_supported make_graphed_callables "
        "manual_seed manual_seed_all max_memory_allocated max_memory_reserved mem_get_info memory_allocated "
        "memory_reserved memory_snapshot memory_stats memory_stats_as_nested_dict reset_accumulated_memory_stats "
        "reset_peak_memory_stats seed seed_all set_device set_per_process_memory_fraction set_rng_state "
        "set_rng_state_all set_stream stream streams synchronize use_mem_pool",
    ),
    "utils.cpp_extension": Part(
        _COMPILED,
        "BuildExtension CUDAExtension CppExtension SyclExtension check_compiler_is_gcc "
        "check_compiler_ok_for_platform get_compiler_abi_compatibility_and_version get_cxx_compiler "
        "get_default_build_root include_paths is_ninja_available library_paths load load_inline "
        "remove_extension_h_precompiler_headers verify_ninja_availability",
    ),
    "utils.mobile_optimizer": Part(_EXPORT, "optimize_for_mobile"),
    "utils.bottleneck": Part(_PROFILES),
    "utils.bundled_inputs": Part(_EXPORT),
    "_inductor": Part(_COMPILER, "compile cudagraph_mark_step_begin list_mode_options list_options config"),
    "_inductor.utils": Part(_COMPILER, "is_big_gpu"),
    "_subclasses": Part(_TRACED, "FakeTensor FakeTensorMode UnsupportedFakeTensorException"),
    "_subclasses.fake_tensor": Part(_TRACED, "FakeTensor FakeTensorMode is_fake"),
    "_guards": Part(_TRACED, "TracingContext detect_fake_mode"),
    "_prims_common": Part(_TRACED, "is_contiguous_or_false"),
    "distributed.rpc": Part(
        _REMOTE,
        "init_rpc BackendType TensorPipeRpcBackendOptions shutdown get_worker_info remote rpc_sync rpc_async RRef",
    ),
    "distributed.pipelining": Part(
        _PIPELINES,
        "Pipe pipe_split SplitPoint pipeline PipelineStage build_stage Schedule1F1B ScheduleGPipe "
        "ScheduleInterleaved1F1B ScheduleLoopedBFS ScheduleInterleavedZeroBubble ScheduleZBVZeroBubble",
    ),
    "distributed.optim": Part(
        "sharded optimizers are not supported; fully_shard shards the states of optimizers",
        "DistributedOptimizer PostLocalSGDOptimizer ZeroRedundancyOptimizer",
    ),
    "distributed.launcher": Part("use python -m cuprous.run", "LaunchConfig elastic_launch launch_agent"),
    "distributed.launcher.api": Part("use python -m cuprous.run", "LaunchConfig elastic_launch launch_agent"),
    "distributed.elastic": Part("use python -m cuprous.run"),
    "distributed.tensor.experimental": Part(
        "use the placements of DTensor",
        "context_parallel implicit_replication local_map register_sharding",
    ),
    "distributed.tensor.experimental._attention": Part("use the placements of DTensor", "set_rotate_method"),
    "distributed.algorithms.join": Part(
        "all ranks must make the same number of steps",
        "JoinHook Joinable Join",
    ),
    "distributed.algorithms.model_averaging": Part("average parameters with all_reduce"),
    "distributed.algorithms.model_averaging.averagers": Part(
        "average parameters with all_reduce",
        "ModelAverager PeriodicModelAverager",
    ),
    "distributed.algorithms.ddp_comm_hooks.post_localSGD_hook": Part(
        "average parameters with all_reduce",
        "PostLocalSGDState post_localSGD_hook",
    ),
    "distributed.algorithms.ddp_comm_hooks.powerSGD_hook": Part(
        "gradients are not compressed; use the hooks of default_hooks",
        "PowerSGDState powerSGD_hook batched_powerSGD_hook",
    ),
    "distributed.fsdp.fully_sharded_data_parallel": Part(
        _FSDP1,
        "BackwardPrefetch CPUOffload FullOptimStateDictConfig FullStateDictConfig FullyShardedDataParallel "
        "LocalOptimStateDictConfig LocalStateDictConfig MixedPrecision OptimStateDictConfig OptimStateKeyType "
        "ShardedOptimStateDictConfig ShardedStateDictConfig ShardingStrategy StateDictConfig StateDictSettings "
        "StateDictType",
    ),
    "distributed.fsdp.api": Part(
        _FSDP1,
        "BackwardPrefetch CPUOffload FullOptimStateDictConfig FullStateDictConfig FullyShardedDataParallel "
        "LocalOptimStateDictConfig LocalStateDictConfig MixedPrecision OptimStateDictConfig OptimStateKeyType "
        "ShardedOptimStateDictConfig ShardedStateDictConfig ShardingStrategy StateDictConfig StateDictSettings "
        "StateDictType",
    ),
    "distributed.fsdp.sharded_grad_scaler": Part(_FSDP1, "ShardedGradScaler"),
    "distributed.fsdp.wrap": Part(
        _FSDP1,
        "always_wrap_policy lambda_auto_wrap_policy transformer_auto_wrap_policy size_based_auto_wrap_policy "
        "enable_wrap wrap CustomPolicy _or_policy ModuleWrapPolicy",
    ),
}

#: Queries that a part still answers, so that programs can find out that it is unavailable.
ANSWERS: dict[str, dict[str, Any]] = {
    **{
        device: {"is_available": lambda: False, "is_initialized": lambda: False, "is_bf16_supported": lambda: False,
                 "device_count": lambda: 0}
        for device in ("mps", "xpu", "mtia")
    },
    "fx": {"wrap": lambda function: function, "has_side_effect": lambda function: function},
    "jit.annotations": {name: getattr(typing, name) for name in ("List", "Dict", "Optional", "Tuple", "Union", "Any")},
    "onnx": {"is_in_onnx_export": lambda: False},
    "distributed.rpc": {"is_available": lambda: False},
    "distributed.rpc.api": {"_require_initialized": lambda function: function},
    "_jit_internal": {
        name: lambda function: function
        for name in ("_copy_to_script_wrapper", "_overload", "_overload_method", "export", "ignore", "unused")
    },
    "autograd.forward_ad": {"unpack_dual": lambda tensor, *, level=None: _Unpacked(tensor, None)},
    "_guards": {"detect_fake_mode": lambda *args: None},
}  # fmt: skip

#: Names of modules that exist otherwise: module -> reason -> names.
NAMES: dict[str, dict[str, str]] = {
    "": {
        "sparse tensors have no blocks here; use sparse_csr_tensor": "sparse_bsc_tensor sparse_bsr_tensor hspmm",
        _QUANTIZED: "dequantize fake_quantize_per_channel_affine fake_quantize_per_tensor_affine quantize_per_channel "
        "quantize_per_tensor quantized_batch_norm quantized_max_pool1d quantized_max_pool2d",
        "use linalg.eig, linalg.lstsq or linalg.solve": "eig lstsq solve symeig",
        "memory is that of arrays; use torch.frombuffer or torch.from_numpy": (
            "BoolStorage ByteStorage DoubleStorage FloatStorage HalfStorage IntStorage LongStorage ShortStorage "
            "BFloat16Storage CharStorage from_file"
        ),
        _EXPORT: "PyTorchFileReader PyTorchFileWriter",
        "it returns intermediate results of PyTorch's; use torch.nn.functional.embedding_bag": "embedding_bag",
        "use linalg.eigh or scipy.sparse.linalg.eigsh": "lobpcg",
        "float8 products are not supported; use float16 or bfloat16": "_scaled_mm",
        _LOOPS: "while_loop cond scan",
        _TRACED: "SymBool SymFloat SymInt vitals_enabled ScriptModule",
    },
    "jit": {
        _EXPORT: (
            "CompilationUnit ScriptFunction ScriptModule export_opnames freeze load optimize_for_inference "
            "run_frozen_optimizations save strict_fusion"
        ),
    },
    "cuda": {
        _GRAPHS: ("CUDAGraph graph graph_pool_handle make_graphed_callables"),
        "one stream orders all work; leave the stream out": "ExternalStream StreamContext set_stream",
        "there is no access to CUDA's runtime; use cuprous.cuda": "cudart CudaError check_error",
        "the memory pool is Cuprous's own": "CUDAPluggableAllocator MemPool change_current_allocator use_mem_pool",
    },
    "distributed.fsdp": {_FSDP1: PARTS["distributed.fsdp.api"].names},
    "_higher_order_ops": {_TRACED: "cond map scan while_loop"},
    "autograd.profiler": {_PROFILES: "EnforceUnique EventList FunctionEvent emit_itt emit_nvtx load_nvprof"},
    "distributed.checkpoint": {
        _CHECKPOINTS: (
            "DefaultLoadPlanner DefaultSavePlanner LoadPlanner SavePlanner StorageReader StorageWriter load_state_dict "
            "save_state_dict"
        )
    },
    "nn.functional": {
        "float8 products are not supported; use float16 or bfloat16": (
            "scaled_mm scaled_grouped_mm ScalingType SwizzleType"
        )
    },
    "sparse": {
        "sparse tensors of two in four elements are not supported; use dense products": (
            "SparseSemiStructuredTensor SparseSemiStructuredTensorCUSPARSELT SparseSemiStructuredTensorCUTLASS "
            "to_sparse_semi_structured"
        ),
        "use cuprous.scipy.sparse.linalg": "solve spsolve",
        "use torch.autograd.gradcheck of a function of the values": "as_sparse_gradcheck",
        **{
            f"there is no {name}; use torch.sparse_coo_tensor": name
            for name in (
                "BFloat16Tensor",
                "ByteTensor",
                "CharTensor",
                "DoubleTensor",
                "FloatTensor",
                "HalfTensor",
                "IntTensor",
                "LongTensor",
                "ShortTensor",
            )
        },
    },
    "autograd": {"use torch.func.jvp": "forward_ad", _PROFILES: "_disable_profiler _enable_profiler"},
    "utils.data": {_PIPES: "IterDataPipe MapDataPipe DFIterDataPipe DataChunk"},
    "serialization": {
        "files are read without running code": "get_unsafe_globals_in_checkpoint register_package skip_data"
    },
    "compiler": {_EXPORT: "load_compiled_function save_cache_artifacts load_cache_artifacts"},
    "optim": {
        "gradients are dense here; use Adam": "SparseAdam",
    },
}
