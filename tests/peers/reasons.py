"""Reasons of failures by error text, which `--update` writes for tests that are not listed yet.

A rule has three regular expressions (suite, file and test, error) and the reason. The first that matches counts. An
error that could be a wrong result has no rule for all tests: each is looked at.
"""

from __future__ import annotations

import re

_DTYPES = "documented: dtypes of objects, text, dates, records, long doubles and foreign byte orders"
_WARNINGS = "documented: no floating-point warnings"
_PRIVATE = "private: looks into the peer's own modules"
_RANDOM = "documented: other random numbers"
_SCALARS = "documented: 0-d arrays for scalars"
_LIMITS = "documented: accepted here: more than 64 dimensions and operands"
_COPIED = "documented: what comes from the host is copied"
_CUPYS = "documented: accepted here: as CuPy and the array API standard have it"
_WRITABLE = "documented: all arrays and views are writable"
_TAKEN = "documented: accepted here: any iterable"
_TAKEN_OUT = "documented: accepted here: `out=...` by position"
_ROUNDING = "documented: rounding: within a few units of the last place"
_NUMPYS = "as NumPy, where CuPy's own rule differs"
_CLASS = "another class of error for an argument of a wrong type or value"
_RANGE = "documented: indices out of range raise"
_LAYOUT = "documented: the array's layout and memory are not NumPy's"
_STRIDES = "documented: strides of results"
_STATES = "CuPy's own layout of a filter's state, where it has the length of SciPy's"
_BOOLS = "accepted here: bool and float16"
_SPLINES = "documented: splines start exactly"
_SINGLE = "float16: computed in single precision"
_NAN = "documented: NaN in windows of extremes and ranks"
_GENERIC = "needs a GPU: kernels of CUDA C++ as functions of filters"
_FLAGS = "flags of order: unknown once the arrays were handed out"
_ROWS = "missing: csr_array of one axis, and some methods of coo_array of one axis"
_INDICES = "dtype: index arrays are int32 where the extents fit"
_OBJECTS = "sparse: conversions give new objects"
_SMALL = "documented: special functions of small integers and float16 are float64"
_NO_NAME = "has no attribute|No module named|ValueError"  # for the name, or for both sides
_EXACT = "a value or limit, where SciPy has NaN"
_ALL_TYPES = "works here; CuPy has types 2 and 3 only"
_COMPLEX = "missing: complex numbers"
_UNCHECKED = "documented: elements are not checked, which would wait for the device"
_METHODS = "missing: RegularGridInterpolator's methods quintic and pchip, and those by FITPACK"
_GPU = "needs a GPU"
_UNALIGNED = "documented: views at unaligned bytes"
_INITIAL = "documented: accepted here: `initial=None` is as if it were not given"
_HOSTS = "documented: `__array__` gives NumPy's arrays, not ours"
_PRIORITIES = "documented: no priorities and wrappers of other classes"
_MISSING = "documented: functions without a counterpart on a device"
_OTHER_DEVICES = "documented: devices beside the CPU"
_CACHE = "private: CuPy's cache of compiled code"
_COMPILER = "private: the inside of Numba's compiler or dispatcher, or an extension of it"
_CODE = "private: PTX, LLVM IR or machine code of Numba's compiler; kernels are CUDA C++ here"
_DEVICE = "CuPy's rules of device arrays, where Numba's differ: elements are arrays, strides, copies, truth values"
_DRIVER = "private: Numba's driver layer: contexts, memory managers, device array classes"

_EXPORT = "documented: programs are not exported"
_PACKAGE = "needs a package that is not installed, with PyTorch too"

RULES: tuple[tuple[str, str, str, str], ...] = (
    # Keras
    ("keras", "", "(?i)tensorflow", "needs TensorFlow, with PyTorch too"),
    ("keras", "", "No module named '(grain|onnx|litert_torch|jax2onnx)|requires the grain|orbax", _PACKAGE),
    ("keras", "", "float8", "documented: no tensors of float8"),
    ("keras", "export|Export", "", _EXPORT),
    ("keras", "", r"\[torch\.export", _EXPORT),
    ("keras", "test_awq_transformer_accuracy", "Top-1 agreement", _RANDOM),  # outputs are near ties
    ("keras", "test_legacy_load_skips", "fixture missing", "needs a file that the wheel lacks, with PyTorch too"),
    ("keras", "gptq_test|quantizers_test", r"\[divide\] needs a tensor", "missing: torch.divide of two numbers"),
    ("keras", "sklearn_test", "XPASS", "works with this version of scikit-learn"),
    ("keras", "test_input_conversion", "a Tensor and a numpy.ndarray", "documented: tensors take no NumPy arrays"),
    ("keras", "test_torch_meta_device", "AssertionError", 'documented: tensors for "meta" are on the CPU'),
    ("keras", "test_dropout_rescaling", "Not equal to tolerance", _RANDOM),  # 2.2 standard deviations
    ("dask", "test_basic", "XPASS", "works here: products with NumPy arrays"),
    ("dask", "test_cupy_unsupported", "DID NOT RAISE", "works here: permutations and choices of generators"),
    ("dask", "test_asanyarray", "DID NOT RAISE", "documented: `np.asarray` of an array works"),
    ("dask", "test_(diagonal|lstsq)", "different type", "dask's own: on the host, unless a class has cupy in its name"),
    ("numpy", "test_extension_incref_elide", "ends the process", _PRIVATE),  # C code that accepts only NumPy arrays
    ("cupy", "random_tests", "Unsupported dtype '(u?int|bool|float16)", "missing: dtypes of CuPy's samples"),
    # dtypes and classes
    (".*", "", r"dtype .* is not supported on a device|Unsupported dtype", _DTYPES),
    (".*", "", r"it would become an array of Python objects|numpy\.c?longdouble|float128|complex256", _DTYPES),
    (".*", "", r"Unsupported type <class 'numpy\.(str_|bytes_|void|datetime64|timedelta64)", _DTYPES),
    (".*", "", r"not an acceptable base type", "documented: no subclasses of ndarray"),
    (".*", "", r"numpy\.(ma\.|matrix)|MaskedArray|masked arrays are not", "documented: no masked arrays and matrices"),
    (".*", "", r"fpe error|FloatingPointError|RuntimeWarning", _WARNINGS),
    (".*", "", r"not a multiple of \w+'s size|are not multiples of the item size", _UNALIGNED),
    # NumPy, by test: differences that docs/differences.md has
    ("numpy", "", r"\[\w+\] not supported on device arrays", _MISSING),
    ("numpy", "TestDevice::test_device", "unknown device", _OTHER_DEVICES),
    ("numpy", "", r"has no attribute '(resize|__setstate__|__array_finalize__|__array_wrap__)'", _LAYOUT),
    ("numpy", "test_set_stridesattr", "", _LAYOUT),
    ("numpy", "test_array_too_big", "too big", "documented: sizes up to 2**62 bytes"),
    ("numpy", "TestAttributes::test_attributes|test_ufunc_noncontiguous|TestPolynomial::test_objects", "", _DTYPES),
    ("numpy", "test_output_ellipsis_errors", "DID NOT RAISE", _TAKEN_OUT),
    ("numpy", "TestCApiAccess|test_flatiter_method_sig", "", _PRIVATE),
    ("numpy", "random/tests/|TestDot::test_dot(mat|vec)|second_order_accurate|scott_vs_stone", "", _RANDOM),
    ("numpy", "TestMatmul::test_matmul_bool|test_roundtrip_repr", "", _RANDOM),
    ("numpy", "TestNanToNum|TestImag|TestReal|Ufunclike::test_scalar|TestDet::test_(zero|0_s)|TestVdot", "", _SCALARS),
    ("numpy", "scalar_return|test_result_types|test_nep50_isclose|test_non_finite_scalar|TestIsscalar", "", _SCALARS),
    ("numpy", "test_scalar_q|quantile_scalar_nan|zero_dimensional_interp|test_test_zero_rank", "", _SCALARS),
    ("numpy", "test_empty_tuple_index|test_interning|test_to_(int|float)_scalar|__complex__should", "", _SCALARS),
    ("numpy", "TestStats::test_empty|TestFloatExceptions|test_tol_warnings", "", _WARNINGS),
    ("numpy", "", r"DID NOT WARN.*RuntimeWarning", _WARNINGS),
    ("numpy", "", r"DID NOT WARN.*(Deprecation|Future)Warning", "documented: no warnings of NumPy's past"),
    ("numpy", "NanFunctions_(MeanVarStd|Median|Percentile|Quantile)::test_(empty|ddof_too_big)", "", _WARNINGS),
    ("numpy", "NanFunctions_Percentile::test_scalar|test_correct_quantile_value", "", _SCALARS),
    ("numpy", "test_array_equal_equal_nan", "^AssertionError$", _SCALARS),
    ("numpy", "test__replace_nan", "", _PRIVATE),
    ("numpy", "CopyArgument::test_order_mismatch", "attribute 'obj'", _LAYOUT),
    ("numpy", r"TestNonarrayArgs::test_(mean|std|var)$|TestMedian::test_empty|test_log2_special|TestUfunc::test_sum",
     r"list index out of range|ACTUAL: \d", _WARNINGS),
    ("numpy", r"(integer|signed)_direct_comparison|test_collections_hashable|boolean_singleton", "", _SCALARS),
    ("numpy", "TestUfunc::test_scalar_reduction|CopyArgument::test_scalars|test_array_equiv", "", _SCALARS),
    ("numpy", "TestUfunc::test_initial_reduction", "", _INITIAL),
    (".*", "", r"return arrays must be of cuprous\.ndarray, not <class 'numpy", "documented: NumPy arrays as `out=`"),
    ("numpy", "TestFromBuffer::test_(array_base|mmap)|pickle_with_buffercallback", "", _COPIED),
    ("numpy", "___array__copy_arg|CopyArgument::test_buffer_interface|BufferProtocol::test_(ex|round)", "", _COPIED),
    ("numpy", "", "object __array__ method not producing an array", _HOSTS),
    ("numpy", "NeighborhoodIter", "SystemError", _PRIVATE),
    ("numpy", "test_malloc_fails", "too big", "documented: sizes up to 2**62 bytes"),
    ("numpy", "test_isin_mixed_dtype", "DID NOT RAISE", "documented: arguments that cannot change a result"),
    ("numpy", "TestQR::test_mode_all_but_economic", "", "documented: decompositions of float32 are in float32"),
    ("numpy", "test_where_warns", "", "documented: no warning: elements that `where=` leaves out are 0"),
    ("numpy", "TestDevice::test_to_device", "", "documented: accepted here: streams, which belong to GPUs"),
    ("numpy", "test_clip_min_max_args|TestWhere::test_kwargs", "DID NOT RAISE|not raised", _CUPYS),
    ("numpy", "[wW]riteable|notwriteable|test_einsum_views", "", _WRITABLE),
    ("numpy", "TestUfunc::test_broadcast", "", _WRITABLE),
    ("numpy", "TestEig(vals)?::test_types", "", "documented: eigenvalues of real matrices are complex"),
    ("numpy", "test_integer_to_negative_power", "", "documented: integers to negative powers"),
    ("numpy", "TestVectorize", "", "documented: vectorize compiles the function"),
    ("numpy", "test_output_order|test_memory_order", "", "documented: strides of results"),
    ("numpy", "", r"decimal\.Decimal|fractions\.Fraction|object None", _DTYPES),
    ("numpy", "metadata|test_structured_non_void|TestWhere::test_exotic|RationalFunctions|gh_29003", "", _DTYPES),
    ("numpy", "test_bitwise_count", "out of bounds for int64", _DTYPES),
    ("numpy", "test_accepts_npcomplexfloating|TestDiff::test_times", "", _DTYPES),
    # NumPy, by test: the rest
    ("numpy", "TestSpecialMethods|TestBinop|array_priority", "", _PRIORITIES),
    ("numpy", "[sS]ignature|test_doc$|test_ufunc_docstring|newdoc", "", _PRIVATE),
    ("numpy", "", r"must be numpy\.|test needs ndarray|lapack_lite|not supported for cuprous arrays", _PRIVATE),
    ("numpy", "TestSizeOf|test_import_entry_point|TestTemporaryElide|TestWritebackIfCopy", "", _PRIVATE),
    ("numpy", "test_pickle_withstring", "", _PRIVATE),
    ("numpy", "maxdims|test_max_dims|too_many_(advanced|fancy)|args_limit|test_number_of_arguments", "", _LIMITS),
    ("numpy", "test_generator|: test_stack$|TestBlock::test_tuple|test_operator_concat|TestAsType", "", _TAKEN),
    ("numpy", "", r"XPASS\(strict\)", "works here; NumPy expects a failure"),
    ("numpy", "test_max_ulp|with_mean_keyword|TestDet::test_gener|test_rcond", "", _ROUNDING),
    # CuPy, by test
    ("cupy", "", r"'(_use_multi_gpus|_index_32_bits)'|'cupy\.(_core|_util)' has no|has no attribute 'cub'", _PRIVATE),
    ("cupy", "", r"allocator= is not supported|\[using_allocator\]", "documented: no allocators of others"),
    ("cupy", "test_einsum_unary_(dtype|views)", "", "einsum: a view's base is not shown"),
    ("cupy", "TestLstsq", r"dtypes are returned.\s*cupy: int64\s*numpy: int32", "lstsq: the rank is int64"),
    ("cupy", "_subok|test_indices_list3|test_delete_array_like|clip4|disallow_arraylike|roots_zero_dim", "", _NUMPYS),
    ("cupy", "test_bool_empty|test_excessive_ndim|fill_with_numpy_scalar|negative_one", "", _NUMPYS),
    ("cupy", "test_contiguous_array_with_error|writeable_views_not|test_relu_type_error", "", _NUMPYS),
    ("cupy", "", "index -5 is out of bounds", _RANGE),
    ("cupy", "TestNdarrayTakeError", "", _RANGE),
    ("cupy", "TestFlags|TestContiguityFlags|TestNdarrayShape|test_docstring|test_argspec", "", _PRIVATE),
    ("cupy", "random_tests", "DID NOT RAISE ValueError", "documented: arrays of parameters are not looked at"),
    ("cupy", "int32_overflow|workspace_oom", "", "needs 32 GiB of memory, or CuPy's own allocator"),
    ("cupy", "functional_tests/test_vectorize", "", "documented: vectorize computes in the types of kernels"),
    ("cupy", "nan(max|min)_all_nan", "", _WARNINGS),
    ("cupy", "", "DID NOT WARN.*PerformanceWarning", _PRIVATE),
    ("cupy", "", "CudaArrayInterface|CuPyGetNDArray", "missing: operands of other libraries without asarray"),
    ("cupy", "test_eigh", "float16", "documented: linalg takes no float16, as NumPy's"),
    ("cupy", "(percentile|quantile)_overwrite", "", "documented: overwrite_input leaves the input alone"),
    ("cupy", "test_percentile_(monotonic|defaults)", "", _ROUNDING),
    ("cupy", "fft_tests|row_stack", "DID NOT WARN", "documented: no warnings of NumPy's past"),
    ("cupy", "pyscalar_int_and_bool|TestMatrixRank|pow_python_scalar_fastpath", "", _NUMPYS),
    ("cupy", "ImplicitConversion|binary_mixed_op|with_numpy_input|numpy_ndarray_rejected", "DID NOT RAISE", _NUMPYS),
    ("cupy", "boolean_view|boolarray", "a byte is", "documented: views as bool of other bytes are refused"),
    ("cupy", "", r"XPASS\(strict\)", "works here; CuPy expects a failure"),
    ("cupyx", "", r"XPASS\(strict\)", "works here; CuPy expects a failure"),
    ("cupy", "random_tests", "expected call not found|to be called once|has no attribute 'get_size'", _PRIVATE),
    ("cupy", "GetRandomState|SetRandomState|RandomStateThreadSafe|TestInterval", "", _PRIVATE),
    ("cupy", "TestDirichlet|TestHypergeometric|TestRandint.*lo_hi_equal|Poisson|StandardGamma", "", _NUMPYS),
    ("cupy", "TestChoiceFailure|test_seed_not_none", "", _CLASS),
    ("cupy", "test_goodness_of_fit", "", _RANDOM),
    ("cupy", "TestArrayUfunc.*test_lt", "", "reflected: for `a < other` the other class is asked for `other > a`"),
    ("cupy", "test_class_getitem", "not subscriptable", "missing: a name"),
    ("cupy", "test_import_error", "", _PRIVATE),
    ("cupy", r"tri[lu]_indices(_4)?\b|TestFlatiterSubscriptIndexError|TestMinScalarType|ndim_gt1_list", "", _NUMPYS),
    ("cupy", "test_select_(type_error_condlist|default_scalar)|tri[lu]_indices_from_4", "", _CLASS),
    ("cupy", "test_require_incorrect|test_copy_arg_str|test_r_7|invalid_order|pad_failure", "", _CLASS),
    ("cupy", r"test_cov(_empty)?\b|polyfit_weighted_diff_types", "", "accepted here: operands that NumPy refuses"),
    ("cupy", "reshape_zerosize2", "Strides are not equal", "documented: strides of results"),
    ("cupy", "test_bfloat16", "dtypes are returned", "bfloat16 with a Python number stays bfloat16"),
    ("cupy", r"TestArrayAsType.*test_astype_type\b", "", "dtypes of one size have one name: longlong is int64"),
    # CuPy's scipy, by test: signal, ndimage, sparse
    ("cupyx", "signal|ndimage|sparse", "DID NOT RAISE NotImplementedError", "works here; CuPy expects an error"),
    ("cupyx", "signal_tests|sparse_tests/test_linalg", "state of [cf]_contiguous", _STRIDES),
    ("cupyx", r"TestLFilter::test_fir_iir_zi|TestSosFilt::test_zi", "", _STATES),
    ("cupyx", "TestLFilter::test_lfiltic", "decimals", _STATES),
    ("cupyx", r"TestConvolveCorrelate(2D)?::", "Unsupported type$|not available for this type", _BOOLS),
    ("cupyx", "test_iir_filter_design", r"Skipped: SciPy>=1\.17", "skipped for SciPy alone"),
    ("cupyx", "TestCheby2::test_bandpass", "Mismatched", "documented: order of zeros and poles"),
    ("cupyx", "TestPeakWidths::test_mismatching_prominence", "DID NOT RAISE", "documented: values are not looked at"),
    ("cupyx", r"fftconvolve1\[511-141-valid\]", "at least as large", "refused, as in other modes"),
    ("cupyx", r"TestFilter::.*cval=nan.*filter='(minimum|maximum|median)_", "nan location", _NAN),
    ("cupyx", "TestGeneric(1D)?Filter(Axes)?::", r"runs on a GPU only|numpy\.ndarray", _GENERIC),
    ("cupyx", "TestOutputOverlapsInput::test_generic", "runs on a GPU only", _GENERIC),
    ("cupyx", "TestSpecialWeightCases::test_extra_0_dim", "weights.ndim", "refused here: weights without elements"),
    ("cupyx", "(MapCoordinatesHalf|TestZoomOutputSize1).*'(reflect|grid-mirror)'", "Mismatch", _SPLINES),
    ("cupyx", "distance_transform_inplace_indices", "must be int32", _NUMPYS),
    ("cupyx", "TestStats::test_invalid_", "DID NOT RAISE TypeError", "accepted here: NumPy arrays"),
    ("cupyx", r"TestStats::.*'(variance|standard_deviation)'", "inf location|Mismatch", _SINGLE),
    ("cupyx", "TestStats::test_no_values.*'sum", r"cupy: float64\s*numpy: int64", "dtype: sums of nothing"),
    ("cupyx", "BinaryMorphologyTupleFootprint", "must have same dimensionality", _NUMPYS),
    ("cupyx", r"TestStats::test_zero_dim.*center_of_mass", "DID NOT RAISE", "accepted here: arrays without axes"),
    ("cupyx", "sparse_tests", "DID NOT WARN.*DeprecationWarning", "no warnings of SciPy's history"),
    ("cupyx", "sparse_tests", "property '(shape|has_sorted_indices)' of", "missing: attributes that can be set"),
    ("cupyx", "has_canonical_format4", "len.M.indices", "missing: attributes that can be set"),
    ("cupyx", r"test_coo: .*(Diagonal::test_setdiag)", "Mismatched", "COO in order after a write"),
    ("cupyx", "test_coo: .*(check_if_row_major|duplicates_compat)|uncached_canonical", "AssertionError", _FLAGS),
    ("cupyx", "preserves_sort_flags", "AssertionError", _FLAGS),
    ("cupyx", "(row|col)_invalid|1d_three_tuple_float|coo_bad_ndim", "invalid input format|integer data", _CLASS),
    ("cupyx", "zero_d_dense_rejected|scalar_input_matches|matrix_power_errors", "", _CLASS),
    ("cupyx", "sparse_tests.*test_unsupported_dtype", "DID NOT RAISE", "accepted here: every dtype of arrays"),
    ("cupyx", "test_dot_zero_dim", "DID NOT RAISE", _SCALARS),
    ("cupyx", "test_to(csr|csc)_copy", "AssertionError", "empty arrays are shared: there is nothing to copy"),
    ("cupyx", "TestCsrMatrixComparison::test_ng_shape", "DID NOT RAISE", _NUMPYS),
    ("cupyx", "test_divide_dense_.*make_duplicate", "nan location", "equal positions are added first"),
    ("cupyx", r"TestArrayIndexing::test_\w+ing.*\(\[\], \[\]\)", "type of return", "picked elements are an array"),
    ("cupyx", "TestSetitemIndexing::test_set_sparse", "Mismatched", "written zeros are stored"),
    ("cupyx", "TestEigsh::test_invalid", r"k=\d+ must be less", _CLASS),
    ("cupyx", "TestEigsh::test_starting", "ncv must be", "refused as SciPy refuses it: ncv not above k"),
    ("cupyx", "Test(Svds|Gmres)::test_invalid", "satisfying|DID NOT RAISE TypeError", "accepted: integers"),
    ("cupyx", "TestLsqr|TestMinres", r"cupy: float32\s*numpy: float64", "documented: minres, lsqr of float32"),
    ("cupyx", "sparray: .*(three_tuple|from_scipy_1d|_1d|1d_)", "2-tuple|too many val|not enough val", _ROWS),
    ("cupyx", "sparray: .*1d_(nonzero|count_nonzero|sparse_enl|add|sub|mult)|nonzero_1d", "", _ROWS),
    ("cupyx", "sparray: .*sum_tuple_axis", "axis out of range", _ROWS),
    ("cupyx", "coo_2d_getitem", "not subscriptable", "missing: indices of coo_array"),
    ("cupyx", "preserve|uses_int64|int64_matches|empty_(coo|csr)_int64", "AssertionError$|are not equal", _INDICES),
    ("cupyx", "test_empty_coo_sum_duplicates|TestInt64RealImag", "AssertionError$", _INDICES),
    ("cupyx", "sparse_tests", r"data must have \d+ values", "documented: a matrix's arrays keep their length"),
    ("cupyx", "LegacyWraparound", "out of bounds", _RANGE),
    ("cupyx", "sparse_tests", r"has no \d{11} bytes of memory", "needs 32 GiB: by extents of 2**31"),
    ("cupyx", "SparseTypingAliases", "not subscriptable", "missing: classes as type parameters"),
    ("cupyx", "test_inplace_bool_scalar", "Cannot cast", _NUMPYS),
    ("cupyx", "test_round_array", "__round__", "missing: round() of sparse arrays"),
    ("cupyx", "get_array_module_sparray|test_conversion_type_and", "AssertionError$", _OBJECTS),
    # CuPy's scipy, by test
    ("cupyx", r"special_tests|TestEntropy", r"cupy: float64\s+numpy: float(16|32)$", _SMALL),
    ("cupyx", "TestMultigammaln::test_linspace", "dtypes are returned", "documented: float32 stays float32"),
    ("cupyx", "TestMultigammaln", "DID NOT RAISE", _UNCHECKED),
    ("cupyx", "TestCubicHermiteSpline::test_ctor_error_handling", "DID NOT RAISE", _UNCHECKED),
    ("cupyx", "special_tests|stats_tests", "TypeError: .*(input type complex|complex numbers are not)", _COMPLEX),
    ("cupyx", "TestBeta::test_logspace|TestBinom::test_nan_inf", "nan location", _EXACT),
    ("cupyx", "TestPolygamma|TestZeta", "nan location", "documented: NaN where zeta would have to be continued"),
    ("cupyx", "TestSpecialConvex::test_huber|TestZmap::test_zmap_multi_dim", "Max absolute", _ROUNDING),
    ("cupyx", "softmax_ndarray_1|TestLogsumexp::test_(array|b_m|sign_m)", "Max absolute", _ROUNDING),
    ("cupyx", r"TestHfftn::test_hfftn\[", "Max absolute", _ROUNDING),
    ("cupyx", "TestGammaincc::test_roundtrip", "Max absolute", "gammaincc for a below 1: an absolute error of 1e-16"),
    ("cupyx", "test_ufunc_dispatch", "", _PRIVATE),
    ("cupyx", r"fft_tests.*_plan(_manager)?\b", _NO_NAME, "missing: plans of FFTs"),
    ("cupyx", r"fft_tests.*_backend\b", _NO_NAME, "missing: backends of FFTs"),
    ("cupyx", r"TestDctDst::test_dct\[", "DID NOT RAISE", _ALL_TYPES),
    ("cupyx", r"TestDctDst::test_dct\[", "Invalid number of FFT data points", _ALL_TYPES),
    ("cupyx", "TestNextFastLen", "^AssertionError$", _NUMPYS),
    ("cupyx", "TestBSpline::test_ctor", "not 'complex'", _NUMPYS),
    ("cupyx", "TestInterp::test_deriv_spec", "DID NOT RAISE", "accepted here: conditions as for CubicSpline"),
    ("cupyx", "TestFiltFilt::.*gust", "", "right here: SciPy discards imaginary parts of complex coefficients"),
    ("cupyx", "TestInterp1D::test_previous_3", "Mismatch", "points that are not sorted, against assume_sorted"),
    ("cupyx", "TestPPoly::test_antiderivative_simple", "c_contiguous flag", _LAYOUT),
    ("cupyx", "test_rgi", r"Method '\w+_legacy' is not defined|method='(pchip|quintic)' is not", _METHODS),
    # CuPy's kernels, by test
    ("cupy_kernels", "TestCachePayload|NameExpressionCache", "", _CACHE),
    ("cupy_kernels", "", "_cached_codes", _CACHE),
    ("cupy_kernels", "multigpu|context_switch", "", "needs two GPUs"),
    ("cupy_kernels", "test_jitify_deprecation", "", "private: CuPy's compiler by its inner name"),
    ("cupy_kernels", "test_bad_argument", "", "wording: another text of the same error"),
    ("cupy_kernels", "TestRaw|RawGridSync|RawPicklable|cupy_like_protocols", "", _GPU),
    # Numba, by test
    ("numba", "", "No module named '(cuda|cffi|llvmlite|filecheck)'", "needs a package that is not installed"),
    ("numba", "", "__cuda_array_interface__", _GPU),
    ("numba", "", "CPointer", "missing: types.CPointer, addresses as arguments"),
    ("numba", "test_(analysis|typeinfer|typeconv|extending)", "", _COMPILER),
    ("numba", "", r"(No module named|from|module) 'numba\.cuda\.(cudadrv|deviceufunc)", _DRIVER),
    ("numba", "", r"(No module named|from|module) 'numba\.", _COMPILER),
    ("numba", "", "truth value of an array", _DEVICE),
    ("numba", "", "inspect_(llvm|lto_ptx)", _CODE),
    ("numba", "", "'memory_manager'|memory comes from the engine's pool", _DRIVER),
    # the peer's own modules
    (".*", "", r"No module named '(\w+\.)*_\w+|has no attribute '_\w+'|No module named 'cupy_backends", _PRIVATE),
    (".*", "", r"cannot import name '_\w+'", _PRIVATE),
    ("numpy", "", r"has no attribute '(setflags|ctypes|__array_interface__|newbyteorder|byteswap)'",
     _LAYOUT),
    (".*", "", r"'writeable' is read-only|attribute '(shape|strides|dtype)' of .* not writable",
     _LAYOUT),
    # unsupported features
    (".*", "", "runs on a GPU only|no usable GPU|no NVIDIA dev|needs a (GPU|CUDA device)|__cuda_array_int", _GPU),
    (".*", "", r"got an unexpected keyword argument '(\w+)'", "missing: an argument"),
    (".*", "", r"takes .* positional arguments? but|positional arguments? but", "missing: an argument"),
    (".*", "", r"No module named|has no attribute|cannot import name", "missing: a name"),
    (".*", "", r"NotImplementedError", "missing: NotImplementedError says what"),
    (".*", "", r"Regex pattern did not match|[\"'] does not match [\"']", "wording: another text of the same error"),
)  # fmt: skip


def reason_for(suite: str, test: str, error: str) -> str | None:
    """Returns the reason of the first rule that matches, None if there is none."""
    for suites, tests, errors, reason in RULES:
        if re.fullmatch(suites, suite) and re.search(tests, test) and re.search(errors, error):
            return reason
    return None
