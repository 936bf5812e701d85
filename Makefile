# Every target does its own set-up: a fresh clone needs Python >= 3.10, cargo and make, nothing else.
#
#   make demo       NumPy beside Cuprous on this machine
#   make test       everything that needs no GPU: formats, lints, types, Rust and Python tests, kernels compiled
#   make check      the part of it that takes minutes: no kernels compiled, no slow tests, no other libraries
#   make t          the Python tests whose name has a word                     (K=cbrt ARGS="-x")
#   make gpu-test   on a GPU: its own tests, the suite, 10,000 random programs, compute-sanitizer where it is installed
#   make bench      Cuprous beside its peers and beside the hardware's floor  (ARGS="--only sum --device cpu"; ARGS=--record
#                   adds the rows to bench/results, of which `python -m bench.report` writes bench/RESULTS.md)
#   make fuzz       100,000 random programs against NumPy                     (PROGRAMS=1000 SEED=7 DEVICE=cuda)
#   make fuzz-ranks  random collectives of 2 to 4 processes against NumPy, and failures of ranks (SEQUENCES=1000 FAULTS=200)
#   make bench-learning  whole networks trained beside PyTorch                (TORCH=/path/to/python, ARGS="--device cuda")
#   make bench-models   72 public models trained beside PyTorch                      (TORCH=/path/to/python, ARGS="--threads 1")
#   make bench-several  checks and times of all GPUs of this machine beside PyTorch's   (ARGS="--parts faults")
#   make oracle     values, gradients, losses and PyTorch's samples of operators against PyTorch itself, which is installed
#                   into .torch if it is nowhere
#   make peers      NumPy's, CuPy's, Numba's, PyCUDA's and Keras's own tests with our arrays (ARGS="numpy --only linalg")
#   make lint       formats, lints and types alone
#   make test-clients  einops, dask, xarray, SciPy, scikit-learn and others with our arrays (part of test)
#   make test-sim   the CUDA device on a simulated GPU                        (part of test; SIM_PROGRAMS=2000)
#   make test-races, test-bounds   random programs on it under ThreadSanitizer and AddressSanitizer (nightly)
#   make wheel      dist/cuprous-*.whl for glibc 2.28, linked by zig          (GLIBC= for this machine's own)
#   make sdist      dist/cuprous-*.tar.gz
#   make coverage   docs/coverage.md, the table of NumPy's functions
#   make docs       the documentation, in build/docs; a broken link or a missing reference is an error (part of test)
#   make clean      removes what these targets made, .venv and .torch too
#
# On a machine that has only a built wheel, name it and the Python to use; nothing is built or downloaded then:
#   make gpu-test WHEEL=dist/cuprous-0.1.0-cp310-abi3-linux_x86_64.whl PYTHON=python3

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

PYTHON   ?= python3
VENV     := .venv
WHEEL    ?=
ARGS     ?=
K        ?=
PROGRAMS ?= 100000
SEED     ?= 0
SEQUENCES ?= 1000
FAULTS   ?= 200
DEVICE   ?= cpu
# Processes of pytest: each begins with a part of the list, so that tests of a file share what it compiles, and takes from the
# others when it is done.
JOBS     ?= -n auto --dist worksteal
# Targets of NVRTC's first part, which checks names, types and syntax; and of the suite's kernels, of which every nineteenth is
# compiled to machine code.
PARSED   ?= lto_80|lto_90|lto_100
# How many kernels that differ in their dtypes alone are compiled, in each process of tests; all if empty.
TYPES    ?= 1
TARGETS  ?= $(PARSED)|$(PARSED)|$(PARSED)|$(PARSED)|$(PARSED)|$(PARSED)|sm_90
CARGO    ?= cargo
# The Python that has PyTorch; on a GPU machine mostly PYTHON itself.
TORCH    ?= $(abspath .torch/bin/python)
# Tests run a build that checks itself (Cargo.toml); what is measured and shown is a release. Each target makes its own the
# package's extension, and what another profile compiled is kept.
CHECKED  := --profile checked
WHEEL_LIMIT_MB := 30
# The oldest glibc that a wheel is for, and the platform if it is not this machine's (a Rust target).
GLIBC    ?= $(if $(filter Linux,$(shell uname -s)),2.28)
TARGET   ?=
# Zig links for an older glibc than this machine's, and for other platforms; maturin finds it as a package of this Python.
ZIG      = $(if $(GLIBC),--zig --compatibility manylinux_$(subst .,_,$(GLIBC)))

export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Tests start many processes, which would compile every module again without a cache.
export PYTHONDONTWRITEBYTECODE :=
export CARGO_TERM_COLOR ?= auto

SOURCES := Cargo.toml Cargo.lock pyproject.toml \
           $(shell find crates -type f ! -name '*.md')

ifeq ($(strip $(WHEEL)),)
  PY    := $(abspath $(VENV)/bin/python)
  READY := $(VENV)/.built
  TEST_READY := $(VENV)/.checked
  BENCH_READY := $(VENV)/.built $(VENV)/.bench
  CLIENTS_READY := $(VENV)/.checked $(VENV)/.clients
  DOCS_READY := $(VENV)/.checked $(VENV)/.docs
  ENV   :=
else
  # The wheel is unpacked beside the sources; the given Python's own packages serve for the rest.
  SITE  := build/site
  PY    := $(PYTHON)
  READY := $(SITE)/.installed
  TEST_READY := $(READY)
  BENCH_READY := $(READY)
  CLIENTS_READY := $(READY)
  DOCS_READY := $(READY)
  ENV   := PYTHONPATH=$(abspath $(SITE))
endif

# Folders where pip puts NVIDIA's libraries, for the Rust tests; the package finds them itself.
NVIDIA_ROOTS = $$($(PY) -c 'import importlib.util as u; s = u.find_spec("nvidia"); print(":".join(s.submodule_search_locations) if s else "")')

.PHONY: default develop demo test check t test-sim test-races test-bounds test-amd test-amd-all bench bench-learning bench-models bench-several oracle coverage gpu-test fuzz fuzz-ranks peers \
        lint lint-rust lint-python \
        test-rust test-python test-clients docs wheel sdist clean
default: test

# --- set-up ---------------------------------------------------------------------------------------------------------

$(VENV)/.dev: requirements-dev.txt
	@$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 10) else "Python 3.10 or newer is needed; name one with PYTHON=")'
	@command -v $(CARGO) >/dev/null || { echo "cargo was not found; install Rust from https://rustup.rs"; exit 1; }
	test -x $(VENV)/bin/python || $(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --upgrade --requirement requirements-dev.txt
	touch $@

$(VENV)/.bench: requirements-bench.txt $(VENV)/.dev
	$(VENV)/bin/python -m pip install --quiet --requirement requirements-bench.txt
	touch $@

# Some libraries have PyTorch among their dependencies, so they are installed without these.
$(VENV)/.clients: requirements-clients.txt requirements-programs.txt $(VENV)/.dev
	$(VENV)/bin/python -m pip install --quiet --requirement requirements-clients.txt
	$(VENV)/bin/python -m pip install --quiet --no-deps --requirement requirements-programs.txt
	touch $@

$(VENV)/.docs: requirements-docs.txt $(VENV)/.dev
	$(VENV)/bin/python -m pip install --quiet --requirement requirements-docs.txt
	touch $@

# An editable install: Python files are used in place, the extension lies beside them.
$(VENV)/.built: $(VENV)/.dev $(SOURCES)
	rm -f $(VENV)/.checked
	VIRTUAL_ENV=$(abspath $(VENV)) $(VENV)/bin/maturin develop --release --quiet
	touch $@

$(VENV)/.checked: $(VENV)/.dev $(SOURCES)
	rm -f $(VENV)/.built
	VIRTUAL_ENV=$(abspath $(VENV)) $(VENV)/bin/maturin develop $(CHECKED) --quiet
	touch $@

# The simulated GPU under the names of NVIDIA's libraries, for CUPROUS_TEST_DEVICE=sim:32 and sim:64. Cargo builds the library
# for a test in Rust: with the whole workspace, dependencies have the features that they have in all other builds, and so are
# not compiled a second time.
LIBRARY_TESTS := $(CARGO) test $(CHECKED) --workspace --test library --no-run --quiet
build/sim/.built: $(SOURCES)
	$(LIBRARY_TESTS)
	rm -rf build/sim; mkdir -p build/sim
	for name in cuda.so.1 nvrtc.so.13 cublasLt.so.13 cufft.so.12 cusolver.so.12 cusparse.so.12 nccl.so.2; do \
	  ln -sf ../../target/checked/deps/libcuprous_sim.so build/sim/lib$$name; done
	touch $@

# HIP on CUDA's driver, for CUPROUS_TEST_DEVICE=hip:32 and hip:64: what the device does on a GPU of AMD, on the simulated GPU.
build/fake-hip/.built: $(SOURCES)
	$(LIBRARY_TESTS)
	rm -rf build/fake-hip; mkdir -p build/fake-hip
	for name in amdhip64.so.5 hiprtc.so.5 hipblaslt.so.0 rocblas.so.4 hipfft.so.0 hipsolver.so.0 hipsparse.so.1; do \
	  ln -sf ../../target/checked/deps/libcuprous_fake_hip.so build/fake-hip/lib$$name; done
	touch $@

build/site/.installed: $(WHEEL)
	rm -rf build/site
	$(PYTHON) -m pip install --quiet --no-index --no-deps --no-compile --target build/site $(WHEEL)
	touch $@

develop: $(READY)

# --- what people come for -------------------------------------------------------------------------------------------

demo: $(READY)
	$(ENV) $(PY) -m cuprous demo $(ARGS)

bench: $(BENCH_READY)
	$(ENV) $(PY) -m bench.run $(ARGS)

# The version that `torch.__version__` names; its wheel and what it needs take 5.4 GB. Later ones have changed gradients
# where functions have corners (2.15: `clamp` at its bounds, ties of `fmax`).
TORCH_READY = $(if $(filter $(abspath .torch)/%,$(TORCH)),.torch/.installed)
.torch/.installed:
	$(PYTHON) -m venv .torch
	.torch/bin/python -m pip install --quiet torch==2.11.* numpy ml_dtypes expecttest
	touch $@

bench-learning: $(READY) $(TORCH_READY)
	$(ENV) $(PY) -m bench.learning --torch-python $(TORCH) $(ARGS)

bench-models: $(READY) $(if $(strip $(WHEEL)),,$(VENV)/.clients) $(TORCH_READY)
	$(TORCH) -m pip install --quiet $$(grep -ho '^\(timm\|transformers\)==[0-9.]*' requirements-*.txt)
	$(ENV) $(PY) -m bench.public_models --torch-python $(TORCH) $(ARGS)

bench-several: $(READY) $(TORCH_READY)
	$(ENV) $(PY) -m bench.several_gpus --torch-python $(TORCH) $(ARGS)

oracle: $(READY) $(TORCH_READY)
	$(TORCH) -m tests.torch.make_golden build/oracle/golden.json
	$(ENV) CUPROUS_GOLDEN=build/oracle $(PY) -m pytest tests/torch/test_golden.py tests/torch/test_layers.py -k as_pytorch
	$(TORCH) -m tests.torch.operators.record build/oracle/operators
	$(ENV) $(PY) -m tests.torch.operators.compare build/oracle/operators
	$(ENV) $(PY) examples/learning/compare.py --torch-python $(TORCH) $(ARGS)
	$(ENV) $(PY) examples/learning/compare.py --torch-python $(TORCH) --double $(ARGS)

fuzz: $(TEST_READY)
	$(ENV) $(PY) -m tests.fuzz --programs $(PROGRAMS) --seed $(SEED) --device $(DEVICE)
	$(ENV) $(PY) -m tests.fuzz.gradients --programs $$(($(PROGRAMS) / 10)) --seed $(SEED) --processes 2
	$(ENV) $(PY) -m tests.fuzz.functions --cases $(PROGRAMS) --seed $(SEED)

fuzz-ranks: $(TEST_READY)
	$(ENV) $(PY) -m tests.distributed.sequences --sequences $(SEQUENCES) --seed $(SEED)
	$(ENV) $(PY) -m tests.distributed.faults --faults $(FAULTS) --seed $(SEED)

coverage: $(READY)
	$(ENV) $(PY) docs/coverage.py

docs: $(DOCS_READY)
	$(ENV) $(PY) -m sphinx --jobs auto --fresh-env --quiet --fail-on-warning --keep-going --builder html docs build/docs
	@echo "build/docs/index.html"

$(VENV)/.zig: $(VENV)/.dev
	$(VENV)/bin/python -m pip install --quiet 'ziglang==0.17.1'
	touch $@

wheel: $(VENV)/.dev $(if $(GLIBC),$(VENV)/.zig)
	rm -rf dist
	CARGO_ZIGBUILD_PYTHON_PATH=$(abspath $(VENV)/bin/python) \
	$(VENV)/bin/maturin build --profile wheel $(ZIG) $(if $(TARGET),--target $(TARGET)) --out dist
	@size=$$(du -k dist/*.whl | cut -f1); echo "dist/$$(basename dist/*.whl): $$((size / 1024)).$$((size % 1024 * 10 / 1024)) MB"; \
	test $$size -le $$(($(WHEEL_LIMIT_MB) * 1024)) || { echo "the wheel is over $(WHEEL_LIMIT_MB) MB"; exit 1; }
	$(VENV)/bin/python -m tests.symbols dist/*.whl $(if $(GLIBC),--glibc $(GLIBC))

sdist: $(VENV)/.dev
	$(VENV)/bin/maturin sdist --out dist

# --- checks ---------------------------------------------------------------------------------------------------------

lint: lint-rust lint-python

lint-rust: $(VENV)/.dev
	$(CARGO) fmt --all --check
	PYO3_BUILD_EXTENSION_MODULE=1 PYO3_PYTHON=$(PY) $(CARGO) clippy $(CHECKED) --workspace --all-targets --quiet -- --deny warnings

lint-python: $(VENV)/.dev
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

# The extension is named too, though it has no tests here: with it dependencies have the features that they have in a build of
# it, and so are not compiled a second time. There are no examples in Rust comments, and looking for them in each crate takes its
# time; clippy has compiled what lies in examples/.
test-rust: $(VENV)/.dev
	CUPROUS_NVIDIA_ROOTS="$(NVIDIA_ROOTS)" $(CARGO) test $(CHECKED) --workspace --tests --quiet

# Every kernel that a GPU would run in a test is compiled by NVRTC, which is much of the work; hence all cores. Each is for
# one of the compute capabilities 8.0, 9.0 and 10.0, by its code, and every nineteenth one goes on to machine code.
# TARGETS=sm_80,sm_90,sm_100 makes machine code for all (nightly). tests/inputs runs everything in many layouts of
# the same kinds of kernel: for these NVRTC's first part is enough. Of kernels that differ in their dtypes alone
# the first is compiled (nightly all: TYPES=), because the tests in Rust compile each function and routine for every dtype.
test-python: $(TEST_READY)
	CUPROUS_CHECK_CUDA='$(TARGETS)' CUPROUS_CHECK_TYPES=$(TYPES) CUPROUS_CACHE_DIR=$(abspath build/kernels) \
	CUPROUS_NVIDIA_ROOTS="$(NVIDIA_ROOTS)" $(ENV) $(PY) -m pytest tests --ignore=tests/gpu --ignore=tests/clients --ignore=tests/frames --ignore=tests/ported --ignore=tests/inputs $(JOBS)
	CUPROUS_CHECK_CUDA='$(PARSED)' CUPROUS_CHECK_TYPES=$(TYPES) CUPROUS_CACHE_DIR=$(abspath build/kernels) \
	CUPROUS_NVIDIA_ROOTS="$(NVIDIA_ROOTS)" $(ENV) $(PY) -m pytest tests/inputs $(JOBS)

# The CUDA device on a simulated GPU, with waves of 32 threads and of 64: what it generates is compiled by g++ and run. The
# second width finds what the first one compiled, and leaves out what no width changes.
SIM_TESTS    := tests/sim tests/test_tour.py tests/test_docstrings.py::test_examples_run[intrinsics] tests/kernels tests/gpu/test_engine.py tests/gpu/test_transfers.py \
                tests/gpu/test_cache.py tests/gpu/test_elimination.py tests/gpu/test_generated.py \
                tests/gpu/test_special_values.py tests/test_fuzz.py::test_every_template_is_valid \
                tests/arrays/test_assignment.py tests/arrays/test_other_device.py tests/arrays/test_few_rows.py tests/torch/test_by_routine.py \
                tests/torch/test_autograd.py tests/torch/test_optim.py tests/torch/test_replay.py tests/torch/test_training.py \
                tests/torch/test_channels_last.py tests/scipy/test_signal.py::test_every_kind_of_window
SIM_ONCE     := tests/sim/test_hip.py tests/sim/test_hip_headers.py tests/sim/test_hip_lanes.py tests/sim/test_hip_libraries.py tests/sim/test_nccl.py tests/sim/test_several_gpus.py tests/sim/test_sharded.py tests/sim/test_shapes.py tests/arrays/test_few_rows.py tests/torch/test_by_routine.py \
                tests/gpu/test_engine.py tests/gpu/test_transfers.py tests/gpu/test_cache.py tests/gpu/test_special_values.py \
                tests/test_fuzz.py::test_every_template_is_valid tests/arrays/test_assignment.py tests/arrays/test_other_device.py \
                tests/torch/test_autograd.py tests/torch/test_optim.py tests/torch/test_replay.py tests/torch/test_training.py \
                tests/torch/test_channels_last.py tests/scipy/test_signal.py::test_every_kind_of_window
SIM_PROGRAMS ?= 300
test-sim: $(TEST_READY) build/sim/.built build/fake-hip/.built
	tests="$(SIM_TESTS)"; for device in sim:32 sim:64; do \
	  CUPROUS_TEST_DEVICE=$$device $(PY) -m pytest $$tests -m "not slow" -k "not 2080" $(JOBS); \
	  $(PY) -m tests.fuzz --programs $(SIM_PROGRAMS) --seed $(SEED) --device $$device --modes fused,auto,sizes; \
	  $(PY) -m tests.fuzz.functions --cases $$(($(SIM_PROGRAMS) / 4)) --seed $(SEED) --device $$device; \
	  $(PY) -m tests.kernels.fuzz --what threads --programs $$(($(SIM_PROGRAMS) / 2)) --device $$device; \
	  tests="$(filter-out $(SIM_ONCE),$(SIM_TESTS)) $(SIM_ONCE:%=--ignore=%)"; done

# The kernels of these tests compile for GPUs of AMD, each for one of the targets by its code. The compiler is Debian's clang-19,
# with the headers of libamdhip64-dev under HIP_PATH; hiprtc of CUPROUS_ROCM_PATH with HIP_CLANG= and AMD='gfx90a|gfx1030'.
# Left out are tests of what HIP does not have: libdevice's roundings other than to the nearest, and linking of device code.
AMD       ?= gfx90a|gfx942|gfx1030|gfx1100|gfx1201
HIP_PATH  ?= /usr
HIP_CLANG ?= $(firstword $(wildcard $(HIP_PATH)/lib/llvm-19/bin/clang++) clang++-19)
AMD_TESTS ?= tests/test_tour.py 'tests/test_docstrings.py::test_examples_run[intrinsics]' tests/kernels tests/torch/test_autograd.py tests/torch/test_optim.py tests/torch/test_training.py
AMD_CACHE ?= build/kernels
test-amd: $(TEST_READY)
	@if ! command -v $(or $(HIP_CLANG),true) > /dev/null || [ ! -e $(HIP_PATH)/include/hip/hip_runtime.h ]; then \
	  echo "test-amd: skipped, no compiler for AMD: apt-get install clang-19 libamdhip64-dev"; exit 0; fi; \
	CUPROUS_CHECK_CUDA='$(AMD)' CUPROUS_CHECK_TYPES=$(AMD_TYPES) CUPROUS_CACHE_DIR=$(abspath $(AMD_CACHE)) \
	CUPROUS_CHECK_CLANG='$(if $(HIP_CLANG),$(AMD_RECORD) $(HIP_CLANG) -x hip --cuda-device-only -nogpulib -w --hip-path=$(HIP_PATH) -I$(HIP_PATH)/include -include hip/hip_runtime.h)' \
	$(PY) -m pytest $(AMD_TESTS) -k 'not functions_of_libdevice and not declared_to_the_compiler' $(JOBS)

# The same for all kernels of these folders, which are those that NVRTC compiles in `make test`. Of kernels that differ in their
# dtypes alone the first is compiled (TYPES= for all). Each is compiled anew: the table has the compiler's time (tests/amd.py).
AMD_ALL := tests/arrays tests/inputs tests/kernels tests/random tests/scipy tests/torch $(filter-out tests/test_cuda_code.py, $(wildcard tests/test_*.py))
test-amd-all: $(VENV)/.dev
	rm -rf build/amd; mkdir -p build/amd
	$(MAKE) test-amd AMD_TESTS='$(AMD_ALL)' AMD_TYPES=$(TYPES) AMD_CACHE=build/amd/kernels \
	  AMD_RECORD='$(abspath $(PY)) $(abspath tests/amd.py) $(abspath build/amd/compiled.jsonl)'; \
	status=$$?; $(PY) tests/amd.py build/amd/compiled.jsonl; exit $$status

# The same programs under ThreadSanitizer (nightly): a barrier that a generated kernel lacks is a data race.
test-races: $(TEST_READY) build/sim/.built
	LD_PRELOAD=$$(g++ -print-file-name=libtsan.so) \
	TSAN_OPTIONS="ignore_noninstrumented_modules=1:exitcode=66:suppressions=$(abspath tests/sim/tsan.supp)" \
	CUPROUS_SIM=flag=-fsanitize=thread,flag=-g,cache=$(abspath build/races) \
	$(PY) -m tests.fuzz --programs $(SIM_PROGRAMS) --seed $(SEED) --processes 1 --device sim:32 --modes fused,auto,sizes

# AddressSanitizer on the simulated GPU, with an allocation for each array, and bounds of arrays in shared memory.
test-bounds: $(TEST_READY) build/sim/.built
	export LD_PRELOAD=$$(g++ -print-file-name=libasan.so) ASAN_OPTIONS=detect_leaks=0 CUPROUS_CUDA_POOL=exact \
	CUPROUS_SIM=flag=-fsanitize=address,flag=-fsanitize=bounds,flag=-fno-sanitize-recover=bounds,flag=-g,cache=$(abspath build/bounds); \
	$(PY) -m tests.fuzz --programs $(SIM_PROGRAMS) --seed $(SEED) --processes 1 --device sim:32 --modes single,auto; \
	$(PY) -m tests.fuzz.functions --cases $(SIM_PROGRAMS) --seed $(SEED) --device sim:32

# Other libraries with our arrays. SciPy reads SCIPY_ARRAY_API when it is imported, hence a run of their own. Of the pages,
# clients.md, cluster.md and from-pandas-polars-cudf.md use these libraries; test-python runs the others. Docstrings are read
# twice, because half of the modules that need other libraries are missing there.
test-clients: $(CLIENTS_READY)
	CUPROUS_CHECK_CUDA='$(PARSED)' CUPROUS_CHECK_TYPES=$(TYPES) CUPROUS_CACHE_DIR=$(abspath build/kernels) CUPROUS_NVIDIA_ROOTS="$(NVIDIA_ROOTS)" \
	SCIPY_ARRAY_API=1 CUPROUS_ALL_EXAMPLES=1 $(ENV) $(PY) -m pytest tests/clients tests/frames tests/ported --ignore=tests/clients/test_host.py \
	'tests/test_docs.py::test_examples[clients.md]' 'tests/test_docs.py::test_examples[cluster.md]' \
	'tests/test_docs.py::test_examples[from-pandas-polars-cudf.md]' tests/test_docs.py::test_no_example_of_a_client_is_left_out \
	tests/test_docstrings.py $(JOBS)
	$(ENV) $(PY) -m pytest tests/clients/test_host.py

# The suites of others at the versions that the lists of known failures are about. NumPy's comes with NumPy. Without a
# connection only what is there already is run; CUPY=/path, NUMBA_CUDA=/path and PYCUDA=/path name other copies.
PEERS := cupy:cupy/cupy@6b6d9563c4f7410cd1866a11b2f71a60dd45a68c numba_cuda:NVIDIA/numba-cuda@v0.30.4 \
         pycuda:inducer/pycuda@19bed9035edb9990b2928e297125d8e9d470130b
build/peers/%/.git:
	@pinned='$(filter $*:%,$(PEERS))'; from=$${pinned#*:}; mkdir -p build/peers/$*; cd build/peers/$*; \
	git init --quiet . && git fetch --quiet --depth 1 https://github.com/$${from%@*} $${from#*@} && \
	git checkout --quiet FETCH_HEAD || { rm -rf .git; echo "$*: cannot be fetched from github.com/$${from%@*}"; }

peers: $(TEST_READY) $(foreach peer,$(PEERS),build/peers/$(firstword $(subst :, ,$(peer)))/.git)
	$(ENV) $(PY) -m tests.peers $(ARGS)

# Slow tests are marked so: those that start many processes, wait for clocks, or run thousands of cases.
check: $(TEST_READY)
	@$(MAKE) --no-print-directory lint-python
	@$(MAKE) --no-print-directory lint-rust
	$(CARGO) test $(CHECKED) --workspace --tests --quiet -- --skip _compile
	$(ENV) $(PY) -m pytest tests -m "not (slow or gpu or clients)" --ignore=tests/inputs $(JOBS)

t: $(TEST_READY)
	$(ENV) $(PY) -m pytest tests -k '$(K)' --ignore=tests/gpu --ignore=tests/clients $(ARGS)

# In this order a slip in a format shows before anything is compiled. Sub-makes keep the order under -j.
test:
	@$(MAKE) --no-print-directory lint-python
	@$(MAKE) --no-print-directory lint-rust
	@$(MAKE) --no-print-directory test-rust
	@$(MAKE) --no-print-directory test-python
	@$(MAKE) --no-print-directory test-sim
	@$(MAKE) --no-print-directory test-clients
	@$(MAKE) --no-print-directory docs

gpu-test: $(READY)
	$(ENV) CUPROUS_NVIDIA_ROOTS="$(NVIDIA_ROOTS)" $(PY) tests/gpu/run.py $(ARGS)

clean:
	rm -rf $(VENV) .torch build dist .pytest_cache .ruff_cache .mypy_cache .hypothesis python/cuprous/_core*.so
	find python tests bench -name __pycache__ -type d -prune -exec rm -rf {} +
	$(CARGO) clean
