"""Public names of PyTorch that Cuprous does not have and that no other table describes: they can be imported, and raise
when they are used. `python -m tests.torch.make_further_names` writes this file.
"""

from __future__ import annotations

REASON = "Cuprous does not have it"

#: Modules by their path below `torch`, with their public names. What the packages around a module have is theirs.
MODULES: dict[str, str] = {
    "accelerator.memory": (
        "empty_cache get_memory_info max_memory_allocated max_memory_reserved memory_allocated memory_reserved "
        "memory_stats reset_accumulated_memory_stats reset_peak_memory_stats"
    ),
    "autograd.gradcheck": (
        "GradcheckError get_analytical_jacobian get_numerical_jacobian get_numerical_jacobian_wrt_specific_input "
        "gradcheck gradgradcheck"
    ),
    "cpu.amp.autocast_mode": "autocast",
    "cpu.amp.grad_scaler": "GradScaler",
    "distributed.algorithms.ddp_comm_hooks.ddp_zero_hook": "hook_with_zero_step hook_with_zero_step_interleaved",
    "distributed.algorithms.ddp_comm_hooks.debugging_hooks": "noop_hook",
    "distributed.algorithms.ddp_comm_hooks.quantization_hooks": (
        "quantization_perchannel_hook quantization_pertensor_hook"
    ),
    "distributed.algorithms.model_averaging.hierarchical_model_averager": "HierarchicalModelAverager",
    "distributed.algorithms.model_averaging.utils": (
        "average_parameters average_parameters_or_parameter_groups get_params_to_average"
    ),
    "distributed.argparse_util": "check_env env",
    "distributed.autograd": "context is_available",
    "distributed.checkpoint.quantized_hf_storage": "QuantizedHuggingFaceStorageReader",
    "distributed.checkpoint.utils": "find_state_dict_object find_tensor_shard",
    "distributed.collective_utils": "SyncPayload all_gather all_gather_object_enforce_type broadcast",
    "distributed.config": "compile_on_one_rank use_torchcomms",
    "distributed.debug": "start_debug_server stop_debug_server",
    "distributed.launch": "launch main parse_args",
    "distributed.nn.api.remote_module": "RemoteModule",
    "distributed.nn.jit.instantiator": (
        "get_arg_return_types_from_interface instantiate_non_scriptable_remote_module_template "
        "instantiate_scriptable_remote_module_template"
    ),
    "distributed.nn.jit.templates.remote_module_template": "get_remote_module_template",
    "distributed.optim.optimizer": "DistributedOptimizer",
    "distributed.optim.post_localSGD_optimizer": "PostLocalSGDOptimizer",
    "distributed.optim.utils": "as_functional_optim register_functional_optim",
    "distributed.optim.zero_redundancy_optimizer": "ZeroRedundancyOptimizer",
    "distributed.rendezvous": "register_rendezvous_handler rendezvous",
    "distributed.tensor.debug": "CommDebugMode visualize_sharding",
    "distributed.tensor.device_mesh": "DeviceMesh init_device_mesh",
    "distributed.tensor.parallel.fsdp": "DTensorExtensions",
    "distributed.tensor.parallel.input_reshard": "input_reshard",
    "distributed.tensor.parallel.loss": "loss_parallel",
    "functional": (
        "align_tensors atleast_1d atleast_2d atleast_3d block_diag broadcast_shapes broadcast_tensors cartesian_prod "
        "cdist chain_matmul einsum istft lu meshgrid norm pca_lowrank split stft svd_lowrank tensordot unique "
        "unique_consecutive unravel_index"
    ),
    "fx.annotate": "annotate",
    "fx.immutable_collections": "immutable_dict immutable_list",
    "fx.operator_schemas": (
        "ArgsKwargsPair check_for_mutable_operation create_type_hint get_signature_for_torch_op normalize_function "
        "normalize_module type_matches"
    ),
    "fx.subgraph_rewriter": "Match ReplacedPatterns replace_pattern replace_pattern_with_filters",
    "fx.tensor_type": "Dyn TensorType is_consistent is_more_precise",
    "fx.traceback": (
        "NodeSource NodeSourceAction annotate annotate_fn format_stack get_current_meta get_current_replay_node "
        "get_graph_provenance_json has_preserved_node_meta preserve_node_meta reset_grad_fn_seq_nr set_current_meta "
        "set_current_replay_node set_grad_fn_seq_nr set_stack_trace"
    ),
    "monitor": "TensorboardEventHandler",
    "multiprocessing.pool": "Pool clean_worker",
    "multiprocessing.queue": "ConnectionWrapper Queue SimpleQueue",
    "multiprocessing.reductions": (
        "SharedCache StorageWeakRef fd_id init_reductions rebuild_cuda_tensor rebuild_event rebuild_meta_tensor "
        "rebuild_nested_tensor rebuild_sparse_compressed_tensor rebuild_sparse_coo_tensor rebuild_storage_empty "
        "rebuild_storage_fd rebuild_storage_filename rebuild_tensor rebuild_typed_storage rebuild_typed_storage_child "
        "reduce_event reduce_nested_tensor reduce_sparse_tensor reduce_storage reduce_tensor reduce_typed_storage "
        "reduce_typed_storage_child shared_cache storage_from_cache"
    ),
    "nn.attention.bias": "CausalBias CausalVariant causal_lower_right causal_upper_left",
    "nn.attention.varlen": "AuxRequest varlen_attn",
    "nn.common_types": "T",
    "nn.cpp": "ModuleWrapper OrderedDictWrapper",
    "nn.grad": "conv1d_input conv1d_weight conv2d_input conv2d_weight conv3d_input conv3d_weight",
    "nn.modules.channelshuffle": "ChannelShuffle",
    "nn.parallel.comm": "broadcast broadcast_coalesced gather reduce_add reduce_add_coalesced scatter",
    "nn.utils.init": "skip_init",
    "nn.utils.memory_format": "convert_conv2d_weight_memory_format convert_conv3d_weight_memory_format",
    "nn.utils.spectral_norm": (
        "SpectralNorm SpectralNormLoadStateDictPreHook SpectralNormStateDictHook remove_spectral_norm spectral_norm"
    ),
    "nn.utils.weight_norm": "WeightNorm remove_weight_norm weight_norm",
    "optim.adamax": "Adamax adamax",
    "optim.nadam": "NAdam nadam",
    "optim.radam": "RAdam radam",
    "optim.sparse_adam": "SparseAdam",
    "profiler.itt": "is_available mark range range_pop range_push",
    "signal.windows.windows": (
        "bartlett blackman cosine exponential gaussian general_cosine general_hamming hamming hann kaiser nuttall"
    ),
    "utils.backend_registration": "generate_methods_for_privateuse1_backend rename_privateuse1_backend",
    "utils.collect_env": (
        "SystemEnv check_release_file get_cachingallocator_config get_clang_version get_cmake_version "
        "get_conda_packages get_cpu_info get_cuda_module_loading_config get_cudnn_version get_env_info get_gcc_version "
        "get_gpu_info get_intel_gpu_detected get_intel_gpu_driver_version get_intel_gpu_onboard get_libc_version "
        "get_linux_pkg_version get_lsb_version get_mac_version get_nvidia_driver_version get_nvidia_smi get_os "
        "get_pip_packages get_platform get_pretty_env_info get_python_platform get_running_cuda_version "
        "get_windows_version is_xnnpack_available main pretty_str run run_and_parse_first_match run_and_read_all "
        "run_and_return_first_line"
    ),
    "utils.cpp_backtrace": "get_cpp_backtrace",
    "utils.data.backward_compatibility": "worker_init_fn",
    "utils.data.graph": "traverse traverse_dps",
    "utils.file_baton": "FileBaton",
    "utils.mkldnn": "MkldnnBatchNorm MkldnnConv1d MkldnnConv2d MkldnnConv3d MkldnnLinear MkldnnPrelu to_mkldnn",
    "utils.module_tracker": "ModuleTracker",
    "utils.show_pickle": "DumpUnpickler FakeClass FakeObject main",
    "utils.throughput_benchmark": "ExecutionStats ThroughputBenchmark format_time",
    "utils.weak": "TensorWeakRef WeakIdKeyDictionary WeakIdRef WeakTensorKeyDictionary",
}

#: Names of modules that Cuprous has in part.
NAMES: dict[str, str] = {
    "": (
        "AVG AcceleratorError AggregationType AliasDb AnyType Argument ArgumentSpec AwaitType BenchmarkConfig "
        "BenchmarkExecutionStats Block BoolType BufferDict CallStack Capsule ClassType Code CompilationUnit "
        "CompleteArgumentSpec ComplexType ConcreteModuleType ConcreteModuleTypeBuilder DeepCopyMemoTable "
        "DeserializationStorageContext DeviceObjType DictType DisableTorchFunction DisableTorchFunctionSubclass "
        "DispatchKey DispatchKeySet EnumType ErrorReport ExcludeDispatchKeyGuard ExecutionPlan FatalError FileCheck "
        "FloatType FunctionSchema FutureType GradScaler Gradient Graph GraphExecutorState IODescriptor InferredType "
        "IntType InterfaceType JITException ListType LiteScriptModule LockingLogger ModuleDict Node NoneType "
        "NoopLogger NumberType OperatorInfo OptionalType ParameterDict PyObjectType RRefType SUM ScriptClass "
        "ScriptClassFunction ScriptDict ScriptDictIterator ScriptDictKeyIterator ScriptFunction ScriptList "
        "ScriptListIterator ScriptMethod ScriptModuleSerializer ScriptObject ScriptObjectProperty "
        "SerializationStorageContext StaticModule StreamObjType StringType SymBoolType SymIntType Tag TensorType "
        "ThroughputBenchmark TracingState TupleType Type UnionType Use Value addmv_ affine_grid_generator alias_copy "
        "align_tensors as_strided_ as_strided_copy autocast_decrement_nesting autocast_increment_nesting "
        "batch_norm_backward_elemt batch_norm_backward_reduce batch_norm_elemt batch_norm_gather_stats "
        "batch_norm_gather_stats_with_counts batch_norm_stats batch_norm_update_stats binomial bit bits16 bits1x8 "
        "bits2x4 bits4x2 bits8 ccol_indices_copy choose_qparams_optimized clear_autocast_cache clip_ col_indices_copy "
        "constant_pad_nd conv_tbc convolution cpp crow_indices_copy cudnn_affine_grid_generator cudnn_batch_norm "
        "cudnn_convolution cudnn_convolution_add_relu cudnn_convolution_relu cudnn_convolution_transpose "
        "cudnn_grid_sampler cudnn_is_acceptable detach_ detach_copy diagonal_copy embedding_renorm_ empty_permuted "
        "empty_quantized fbgemm_linear_fp16_weight fbgemm_linear_fp16_weight_fp32_activation fbgemm_linear_int8_weight "
        "fbgemm_linear_int8_weight_fp32_activation fbgemm_linear_quantize_weight fbgemm_pack_gemm_matrix_fp16 "
        "fbgemm_pack_quantized_matrix feature_dropout feature_dropout_ fill fill_ float4_e2m1fn_x2 fork "
        "fused_moving_avg_obs_fake_quant get_autocast_ipu_dtype get_autocast_xla_dtype grid_sampler grid_sampler_2d "
        "grid_sampler_3d gru gru_cell has_lapack has_mkl has_openmp has_spectral hash_tensor histogramdd hsmm "
        "import_ir_module import_ir_module_from_buffer index_put_ indices_copy init_num_threads int_repr "
        "is_anomaly_check_nan_enabled is_anomaly_enabled is_autocast_cache_enabled is_autocast_ipu_enabled "
        "is_autocast_xla_enabled is_inference is_vulkan_available is_warn_always_enabled ldexp_ lstm lstm_cell "
        "max_pool1d_with_indices merge_type_from_type_comment miopen_batch_norm miopen_convolution "
        "miopen_convolution_add_relu miopen_convolution_relu miopen_convolution_transpose miopen_ctc_loss "
        "miopen_depthwise_convolution miopen_rnn mkldnn_adaptive_avg_pool2d mkldnn_convolution "
        "mkldnn_linear_backward_weights mkldnn_max_pool2d mkldnn_max_pool3d mkldnn_rnn_layer native_batch_norm "
        "native_channel_shuffle native_dropout native_group_norm native_layer_norm native_norm nonzero_static "
        "norm_except_dim nuclear_norm parse_ir parse_schema parse_type_comment permute_copy q_per_channel_axis "
        "q_per_channel_scales q_per_channel_zero_points q_scale q_zero_point qint32 qint8 qscheme "
        "quantize_per_tensor_dynamic quantized_gru_cell quantized_lstm_cell quantized_max_pool3d "
        "quantized_rnn_relu_cell quantized_rnn_tanh_cell quint2x4 quint4x2 quint8 range read_vitals resize_as_ "
        "resize_as_sparse_ rnn_relu rnn_relu_cell rnn_tanh rnn_tanh_cell row_indices_copy saddmm select_copy "
        "set_anomaly_enabled set_autocast_cache_enabled set_autocast_cpu_dtype set_autocast_cpu_enabled "
        "set_autocast_dtype set_autocast_enabled set_autocast_gpu_dtype set_autocast_ipu_dtype "
        "set_autocast_ipu_enabled set_autocast_xla_dtype set_autocast_xla_enabled set_vital set_warn_always slice_copy "
        "slice_inverse split_copy split_with_sizes_copy squeeze_copy sym_constrain_range sym_constrain_range_for_size "
        "sym_fresh_size t_copy transpose_copy unbind_copy unify_type_list unsqueeze_copy values_copy "
        "view_as_complex_copy view_as_real_copy view_copy wait zero_"
    ),
    "accelerator": "device_index get_device_capability get_memory_info reset_accumulated_memory_stats",
    "amp.autocast_mode": "autocast_decorator",
    "amp.grad_scaler": "OptState",
    "autograd": "NestedIOFunction set_multithreading_enabled",
    "autograd.function": "BackwardCFunction FunctionMeta InplaceFunction NestedIOFunction",
    "autograd.grad_mode": "set_multithreading_enabled",
    "autograd.graph": (
        "GradientEdge allow_mutation_on_saved_tensors get_gradient_edge saved_tensors_hooks "
        "set_warn_on_accumulate_grad_stream_mismatch"
    ),
    "autograd.profiler": "KinetoStepTracker MemRecordsAcc parse_nvprof_trace",
    "autograd.profiler_util": "FunctionEventAvg StringTable",
    "autograd.variable": "VariableMeta",
    "compiler": (
        "compile config keep_portable_guards_unsafe keep_tensor_guards_unsafe set_enable_guard_collectives "
        "skip_all_guards_unsafe skip_guard_on_all_nn_modules_unsafe skip_guard_on_globals_unsafe "
        "skip_guard_on_inbuilt_nn_modules_unsafe wrap_numpy"
    ),
    "cpu": "Event StreamContext get_capabilities",
    "cuda": (
        "BFloat16Storage BoolStorage ByteStorage CharStorage ComplexDoubleStorage ComplexFloatStorage "
        "DeferredCudaCallError DoubleStorage FloatStorage GreenContext HalfStorage IntStorage LongStorage ShortStorage "
        "caching_allocator_alloc caching_allocator_delete caching_allocator_enable clock_rate cudaStatus "
        "current_blas_handle device_memory_used device_of get_allocator_backend get_arch_list get_gencode_flags "
        "get_per_process_memory_fraction get_stream_from_external get_sync_debug_mode has_half has_magma "
        "host_memory_stats host_memory_stats_as_nested_dict ipc_collect is_tf32_supported jiterator list_gpu_processes "
        "memory_snapshot memory_stats_as_nested_dict memory_usage power_draw reset_accumulated_host_memory_stats "
        "reset_accumulated_memory_stats reset_peak_host_memory_stats set_sync_debug_mode temperature tunable "
        "utilization"
    ),
    "distributed": "breakpoint",
    "distributed.algorithms.ddp_comm_hooks": "DDPCommHookType register_ddp_comm_hook",
    "distributed.checkpoint.filesystem": "SerializationFormat",
    "distributed.checkpoint.format_utils": "DynamicMetaLoadPlanner",
    "distributed.checkpoint.state_dict": (
        "DictValueType FQNS_T ListDictValueType OptimizerStateType PrimitiveType ValueType"
    ),
    "distributed.checkpoint.stateful": "StatefulT",
    "distributed.distributed_c10d": (
        "AllToAllOptions AllreduceCoalescedOptions AllreduceOptions BackendConfig BarrierOptions BroadcastOptions "
        "DebugLevel GatherOptions GroupName ProcessGroupGloo ProcessGroupNCCL ReduceOptions ReduceScatterOptions "
        "ScatterOptions all_gather_coalesced all_reduce_coalesced get_backend_config get_debug_level get_pg_count "
        "reduce_op shrink_group split_group supports_complex"
    ),
    "distributed.fsdp": "share_comm_ctx",
    "distributed.optim": "as_functional_optim",
    "distributed.run": "determine_local_world_size get_rdzv_endpoint get_use_env parse_min_max_nnodes run_script_path",
    "distributed.tensor.parallel": "PrepareModuleInputOutput loss_parallel",
    "distributed.tensor.parallel.style": "PrepareModuleInputOutput",
    "func": "debug_unwrap functionalize linearize replace_all_batch_norm_modules_",
    "fx.graph": "CodeGen PythonCode",
    "fx.graph_module": "reduce_graph_module reduce_package_graph_module",
    "fx.node": "has_side_effect",
    "fx.proxy": "Attribute GraphAppendingTracer MetaProxy Scope ScopeContextManager TraceError TracerBase",
    "multiprocessing.spawn": "ProcessContext ProcessException ProcessExitedException SpawnContext",
    "nn": "factory_kwargs",
    "nn.attention": (
        "WARN_FOR_UNFUSED_KERNELS activate_flash_attention_impl current_flash_attention_impl "
        "list_flash_attention_impls register_flash_attention_impl restore_flash_attention_impl"
    ),
    "nn.attention.flex_attention": "FlexKernelOptions",
    "nn.functional": (
        "adaptive_max_pool1d_with_indices adaptive_max_pool2d_with_indices adaptive_max_pool3d_with_indices "
        "assert_int_or_pair fractional_max_pool2d_with_indices fractional_max_pool3d_with_indices "
        "max_pool1d_with_indices max_pool2d_with_indices max_pool3d_with_indices"
    ),
    "nn.modules": "Container CrossMapLRN2d NLLLoss2d",
    "nn.modules.batchnorm": "LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d",
    "nn.modules.container": "Container",
    "nn.modules.conv": "LazyConv1d LazyConv2d LazyConv3d LazyConvTranspose1d LazyConvTranspose2d LazyConvTranspose3d",
    "nn.modules.instancenorm": "LazyInstanceNorm1d LazyInstanceNorm2d LazyInstanceNorm3d",
    "nn.modules.linear": "LazyLinear",
    "nn.modules.loss": "NLLLoss2d",
    "nn.modules.module": (
        "register_module_backward_hook register_module_buffer_registration_hook register_module_forward_hook "
        "register_module_forward_pre_hook register_module_full_backward_hook register_module_full_backward_pre_hook "
        "register_module_module_registration_hook register_module_parameter_registration_hook"
    ),
    "nn.modules.normalization": "CrossMapLRN2d",
    "nn.modules.utils": "consume_prefix_in_state_dict_if_present",
    "nn.parallel": "gather scatter",
    "nn.parallel.parallel_apply": "get_a_var",
    "nn.parameter": "UninitializedBuffer UninitializedTensorMixin is_lazy",
    "nn.utils": "convert_conv2d_weight_memory_format convert_conv3d_weight_memory_format",
    "nn.utils.parametrizations": "orthogonal",
    "nn.utils.parametrize": "transfer_parametrizations_and_params",
    "optim.optimizer": "register_optimizer_step_post_hook register_optimizer_step_pre_hook",
    "overrides": (
        "enable_reentrant_dispatch get_ignored_functions get_overridable_functions get_testing_overrides "
        "is_tensor_method_or_property resolve_name wrap_torch_function"
    ),
    "profiler": "DeviceType ExecutionTraceObserver",
    "profiler.profiler": (
        "ExecutionTraceObserver ProfilerAction schedule supported_activities tensorboard_trace_handler"
    ),
    "return_types": (
        "all_return_types aminmax_out cummax_out cummin_out frexp frexp_out geqrf geqrf_out histogram histogram_out "
        "histogramdd kthvalue_out linalg_cholesky_ex linalg_cholesky_ex_out linalg_eig linalg_eig_out linalg_eigh "
        "linalg_eigh_out linalg_inv_ex linalg_inv_ex_out linalg_ldl_factor linalg_ldl_factor_ex "
        "linalg_ldl_factor_ex_out linalg_ldl_factor_out linalg_lstsq linalg_lstsq_out linalg_lu linalg_lu_factor "
        "linalg_lu_factor_ex linalg_lu_factor_ex_out linalg_lu_factor_out linalg_lu_out linalg_qr linalg_qr_out "
        "linalg_slogdet linalg_slogdet_out linalg_solve_ex linalg_solve_ex_out linalg_svd linalg_svd_out lu_unpack "
        "lu_unpack_out max_out median_out min_out mode_out nanmedian_out pytree_register_structseq qr qr_out slogdet "
        "slogdet_out sort_out svd svd_out topk_out triangular_solve triangular_solve_out"
    ),
    "serialization": (
        "LoadEndianness SourceChangeWarning StorageType check_module_version_greater_or_equal default_restore_location "
        "get_crc32_options get_default_load_endianness get_default_mmap_options location_tag mkdtemp "
        "normalize_storage_type set_crc32_options set_default_load_endianness set_default_mmap_options "
        "storage_to_tensor_type validate_cuda_device validate_hpu_device"
    ),
    "signal.windows": "cosine exponential gaussian general_cosine general_hamming nuttall",
    "special": "airy_ai",
    "utils.bundled_inputs": (
        "InflatableArg T augment_many_model_functions_with_bundled_inputs augment_model_with_bundled_inputs "
        "bundle_inputs bundle_large_tensor bundle_randn"
    ),
    "utils.checkpoint": (
        "CheckpointError CheckpointFunction CheckpointPolicy DefaultDeviceType GraphExecGroup SAC_IGNORED_OPS "
        "SelectiveCheckpointContext check_backward_validity create_selective_checkpoint_contexts detach_variable "
        "get_device_states noop_context_fn set_checkpoint_debug_enabled set_checkpoint_early_stop set_device_states"
    ),
    "utils.data": (
        "argument_validation guaranteed_datapipes_determinism non_deterministic runtime_validation "
        "runtime_validation_disabled"
    ),
    "utils.data.graph_settings": "apply_shuffle_seed get_all_graph_pipes",
    "utils.dlpack": "DLDeviceType",
    "utils.flop_counter": "register_flop_formula",
    "utils.hooks": "BackwardHook warn_if_has_hooks",
    "utils.mobile_optimizer": "LintCode generate_mobile_module_lints",
    "version": "rocm",
}

__all__ = ["MODULES", "NAMES", "REASON"]
