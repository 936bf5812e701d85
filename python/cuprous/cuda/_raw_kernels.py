"""CuPy's `RawKernel` and `RawModule`: CUDA C++ that is compiled on first use for the default device."""

from __future__ import annotations

import os
import warnings
from typing import Any

from cuprous import _core
from cuprous.cuda import _nvrtc
from cuprous.cuda._device import Device, is_available
from cuprous.cuda._headers import has_standard, include_options, stand_in, translated, with_headers_noted
from cuprous.cuda._nvrtc import SEPARATE


class _FileNotFound(FileNotFoundError, RuntimeError):
    """A missing file. Also a RuntimeError, which CuPy raises."""

    def __str__(self) -> str:
        return f"CUDA_ERROR_FILE_NOT_FOUND: file not found: {self.filename}"


def _check(what: str, backend: str, jitify: bool | None) -> None:
    if backend not in ("nvrtc", "nvcc", "auto"):
        raise ValueError(f"[{what}] backend={backend!r} is none of nvrtc and nvcc")
    if jitify is None:
        return
    if jitify and backend == "nvcc":
        raise ValueError("jitify can only be used with the NVRTC backend")
    said = (
        "jitify=True is deprecated: NVIDIA's headers are found without it, and it is needed only for the standard"
        " library's (<type_traits>), for which <cuda/std/type_traits> stands"
        if jitify
        else "The jitify argument is deprecated and changes nothing. Avoid passing jitify=False"
    )
    warnings.warn(said, DeprecationWarning, stacklevel=3)


def _amd_target() -> str | None:
    """Returns the compilation target of a GPU of AMD, such as `gfx90a`. None for one of NVIDIA."""
    return Device().attributes.get("gcnArchName")


def target() -> str:
    """Returns the compilation target."""
    if (of_amd := _amd_target()) is not None:
        return of_amd
    own = int(Device().compute_capability)
    # A GPU newer than the compiler runs code for the newest of its family that the compiler knows.
    return f"sm_{max(a for a in _nvrtc.architectures() if a <= own and a // 10 == own // 10)}"


class RawModule:
    """A module of CUDA C++ (`code`), or a file of source or device code (`path`).

    NVIDIA's headers are found where its wheels are: `<cuda_fp16.h>` and `<cooperative_groups.h>` in
    `nvidia-cuda-runtime`, `<cub/…>`, `<thrust/…>` and `<cuda/std/…>` in `nvidia-cuda-cccl`.

    Parameters
    ----------
    code : str, optional
        The source.
    path : str, optional
        A file with source (`.cu`) or device code (`.cubin`, `.fatbin`, `.ptx`).
    options : tuple of str, optional
        Options for the compiler. `-dc` compiles separately and links with the device's runtime, so that kernels may
        launch kernels.
    backend : str, default "nvrtc"
        "nvrtc", or "nvcc", which is looked for on PATH, in CUDA_HOME and among NVIDIA's wheels.
    translate_cucomplex : bool, default False
        CUDA's complex numbers become CuPy's.
    enable_cooperative_groups : bool, default False
        All blocks of a launch run at once, so that they may wait for one another.
    name_expressions : sequence of str, optional
        Names such as `sum<float>` that `get_function` and `get_global` will be asked for; templates are instantiated
        for them.
    jitify : bool, optional
        Headers of the standard library (`<type_traits>`) are those of `<cuda/std/…>`, and headers that are not found
        count as empty, with a warning.

    Raises
    ------
    NotImplementedError
        If the device is a CPU.
    RuntimeError
        If the source does not compile, with the compiler's log and the lines around the first error; if the compiler
        asked for is not installed, with what to install.
    ValueError
        For another backend, and `name_expressions` with nvcc.

    See Also
    --------
    RawKernel, ElementwiseKernel

    Examples
    --------
    >>> module = cp.RawModule(code='extern "C" __global__ void zero(float* x) { x[threadIdx.x] = 0; }')
    >>> zero = module.get_function("zero")
    >>> x = cp.ones(4, cp.float32)
    >>> zero((1,), (4,), (x,))  # doctest: +SKIP
    """

    def __init__(
        self, code: str | None = None, *, path: str | None = None, options: tuple[str, ...] = (),
        backend: str = "nvrtc", translate_cucomplex: bool = False, enable_cooperative_groups: bool = False,
        name_expressions: Any = None, jitify: bool | None = None,
    ) -> None:  # fmt: skip
        if (code is None) == (path is None):
            raise TypeError("Exactly one of `code` and `path` keyword arguments must be given.")
        if name_expressions and path is not None:
            raise TypeError("name_expressions= needs code=: a file's names are what they are")
        _check("RawModule", backend, jitify)
        if name_expressions and backend == "nvcc":
            raise ValueError("name_expressions= needs the nvrtc backend: nvcc does not say how the linker knows them")
        self.enable_cooperative_groups = enable_cooperative_groups
        self.code = code
        self.file_path = path
        self.options = tuple(options)
        self.backend = backend
        self.translate_cucomplex = translate_cucomplex
        self.name_expressions = tuple(name_expressions or ())
        self.jitify = bool(jitify)
        #: Precompiled device code.
        self._binary: bytes | None = None
        self._lowered: dict[str, str] = {}
        self._modules: dict[str, _core.NativeModule] = {}

    def __getstate__(self) -> dict[str, Any]:
        # What was compiled is this process's: where it is unpickled it is compiled, or read from disk, again.
        return {**self.__dict__, "_lowered": {}, "_modules": {}}

    def _native(self, name: str = "RawModule") -> _core.NativeModule:
        """Returns the module on the default device."""
        device = _core.get_device()
        found = self._modules.get(device)
        if found is None:
            found = self._modules[device] = self._make(name, device)
        return found

    def _make(self, name: str, device: str) -> _core.NativeModule:
        options = [*self.options, *include_options()]
        if self._binary is not None:
            return _core.NativeModule(self._binary, True, name, [])
        if self.file_path is None:
            code = self.code or ""
        else:
            try:
                with open(self.file_path, "rb") as file:
                    data = file.read()
            except FileNotFoundError:
                import errno

                raise _FileNotFound(errno.ENOENT, os.strerror(errno.ENOENT), self.file_path) from None
            if not self.file_path.endswith((".cu", ".cuh", ".cpp")):
                return _core.NativeModule(data, True, name, options)
            code = data.decode()
            options.append(f"--include-path={os.path.dirname(os.path.abspath(self.file_path))}")
        code = with_headers_noted(translated(code, self.translate_cucomplex), options[: len(self.options)])
        if device != "cpu" and self._by_hand:
            compiled = self._compiled(code, name, options, target())
            self._lowered = compiled.names
            return _core.NativeModule(compiled.code, True, name, options)
        # Where there is no GPU and something compiles all the same, it does so the engine's way.
        apart = self.jitify or self.backend == "nvcc" or self._separate
        return _core.NativeModule(code.encode(), device == "cpu" and apart, name, options)

    @property
    def _separate(self) -> bool:
        return not SEPARATE.isdisjoint(self.options)

    @property
    def _by_hand(self) -> bool:
        """Returns true if the options need more than the engine's own compilation."""
        return bool(self.name_expressions or self.jitify or self.backend == "nvcc" or self._separate)

    def _compiled(self, code: str, name: str, options: list[str], target: str) -> Any:
        """Device code for a target, what the compiler said, and the names asked for as the linker knows them."""
        import json

        if self.backend == "nvcc":
            from cuprous.cuda import _nvcc  # imports subprocess and shutil, which take longer than all else here

            return _nvcc.compile_source(code, name, target, options)
        compiler = _core.compiler_identity(target) if target.startswith("gfx") else f"{_nvrtc.version()}"
        asked = [compiler, target, str(self.jitify), code, *options, "names", *self.name_expressions]
        parts = [part.encode() for part in asked]
        kept = _core.load_cached_code(parts)
        if kept is not None:
            facts, _, rest = kept.partition(b"\0")
            return _nvrtc.Compiled(rest, *json.loads(facts))
        compiled = self._by_nvrtc(code, name, options, target)
        if self._separate and target.startswith("sm_"):
            from cuprous.cuda import _nvcc  # as above

            library = _nvcc.device_runtime()
            whole = _core.link_code(compiled.code, [("a", library.name, library.read_bytes())], name)
            compiled = compiled._replace(code=whole)
        facts = json.dumps((compiled.log, compiled.names)).encode()
        _core.store_cached_code(parts, facts + b"\0" + compiled.code)
        return compiled

    def _by_nvrtc(self, code: str, name: str, options: list[str], target: str) -> Any:
        import re

        headers: dict[str, str] = {}
        while True:
            try:
                return _nvrtc.compile_source(code, name, target, options, self.name_expressions, headers=headers)
            except RuntimeError as error:
                missing = re.search(r'cannot open source file "([^"]+)"', str(error))
                if not self.jitify or missing is None or missing[1] in headers:
                    raise
                headers[missing[1]], known = stand_in(missing[1])
                if not known and "." not in missing[1] and not has_standard():
                    raise RuntimeError(f"{error}\n<cuda/std/…> stands for it: pip install nvidia-cuda-cccl") from None
                if not known:
                    warnings.warn(f"[{name}] {missing[1]} was not found and counts as empty", stacklevel=2)

    def compile(self, log_stream: Any = None) -> None:
        """Compiles now instead of at the first use.

        Parameters
        ----------
        log_stream : file, optional
            A text stream for the compiler's log.

        Raises
        ------
        RuntimeError
            If the source does not compile.

        Examples
        --------
        >>> module = cp.RawModule(code='extern "C" __global__ void zero(float* x) { x[threadIdx.x] = 0; }')
        >>> module.compile()  # doctest: +SKIP
        """
        if log_stream is not None and self.code is not None:
            log_stream.write(self._log())
        self._native()

    def _log(self) -> str:
        """Returns the compiler's log for the source."""
        own = int(Device().compute_capability) if is_available() else 90
        code = translated(self.code or "", self.translate_cucomplex)
        options = [*self.options, *include_options()]
        of_amd = _amd_target() if is_available() else None
        wanted = of_amd or (f"sm_{own}" if self.backend == "nvcc" else f"compute_{own}")
        log: str = self._compiled(code, "RawModule", options, wanted).log
        return log

    def get_function(self, name: str) -> RawKernel:
        """Returns a kernel of the module.

        Parameters
        ----------
        name : str
            The name of the kernel.

        Returns
        -------
        RawKernel

        Raises
        ------
        RuntimeError
            If the module has no kernel of this name.

        Examples
        --------
        >>> module = cp.RawModule(code='extern "C" __global__ void zero(float* x) { x[threadIdx.x] = 0; }')
        >>> module.get_function("zero").name
        'zero'
        """
        kernel = RawKernel.__new__(RawKernel)
        kernel._set(self, name)
        if _core.get_device() != "cpu":  # which has none, and says so at the launch
            kernel.kernel  # noqa: B018
        return kernel

    def get_global(self, name: str) -> Any:
        """Returns a variable of the module.

        Parameters
        ----------
        name : str
            The name of the variable.

        Returns
        -------
        object
            An object with the address (`ptr`) and the number of bytes (`size`).

        Examples
        --------
        >>> module = cp.RawModule(code="__device__ float table[4];")
        >>> module.get_global("table").size  # doctest: +SKIP
        16
        """
        module = self._native()
        return Variable(*module.variable(self._lowered.get(name, name)))


class Variable:
    """A variable of a module."""

    def __init__(self, ptr: int, size: int) -> None:
        self.ptr = ptr
        self.size = size

    def __int__(self) -> int:
        return self.ptr


def _attribute(name: str, doc: str) -> int:
    """Returns the property of a kernel that is one of its `attributes`."""
    return property(lambda self: self.attributes[name], doc=doc)  # type: ignore[return-value]


class RawKernel:
    """A kernel of CUDA C++: `RawKernel(code, name)((blocks,), (threads,), (x, y, np.float32(2)))`.

    Parameters
    ----------
    code : str
        The source; it declares the kernel `extern "C" __global__`.
    name : str
        Its name.
    options : tuple of str, optional
        As for `RawModule`.
    backend : str, default "nvrtc"
        As for `RawModule`.
    translate_cucomplex : bool, default False
        As for `RawModule`.
    jitify : bool, optional
        As for `RawModule`.
    enable_cooperative_groups : bool, default False
        All blocks of a launch run at once, so that they may wait for one another.

    Raises
    ------
    NotImplementedError
        If the device is a CPU.
    RuntimeError
        If the source does not compile, or the compiler asked for is not installed.

    See Also
    --------
    RawModule, ElementwiseKernel, ReductionKernel

    Examples
    --------
    >>> code = 'extern "C" __global__ void zero(float* x) { x[threadIdx.x] = 0; }'
    >>> zero = cp.RawKernel(code, "zero")
    >>> x = cp.ones(4, cp.float32)
    >>> zero((1,), (4,), (x,))  # doctest: +SKIP
    """

    def __init__(
        self, code: str, name: str, options: tuple[str, ...] = (), backend: str = "nvrtc",
        translate_cucomplex: bool = False, *, enable_cooperative_groups: bool = False, jitify: bool | None = None,
    ) -> None:  # fmt: skip
        _check("RawKernel", backend, jitify)
        module = RawModule(
            code, options=options, backend=backend, translate_cucomplex=translate_cucomplex,
            enable_cooperative_groups=enable_cooperative_groups,
        )  # fmt: skip
        module.jitify = bool(jitify)
        self._set(module, name)

    def _set(self, module: RawModule, name: str) -> None:
        self._module = module
        self.name = name
        self.code = module.code
        self.options = module.options
        self.file_path = module.file_path
        self.enable_cooperative_groups = module.enable_cooperative_groups
        self.backend = module.backend
        self._kernels: dict[str, _core.NativeKernel] = {}
        #: Accepted: a launch asks for as much as it was given.
        self.max_dynamic_shared_size_bytes = 48 << 10
        #: Accepted: the driver divides memory between cache and blocks.
        self.preferred_shared_memory_carveout = -1

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_kernels": {}}

    @property
    def kernel(self) -> _core.NativeKernel:
        """The compiled kernel of the default device."""
        device = _core.get_device()
        found = self._kernels.get(device)
        if found is None:
            module = self._module._native(self.name)
            found = self._kernels[device] = module.kernel(self._module._lowered.get(self.name, self.name))
        return found

    def compile(self, log_stream: Any = None) -> None:
        """Compiles now instead of at the first launch.

        Parameters
        ----------
        log_stream : file, optional
            A text stream for the compiler's log.

        Raises
        ------
        RuntimeError
            If the source does not compile.

        Examples
        --------
        >>> zero = cp.RawKernel('extern "C" __global__ void zero(float* x) { x[threadIdx.x] = 0; }', "zero")
        >>> zero.compile()  # doctest: +SKIP
        """
        self._module.compile(log_stream)
        self.kernel  # noqa: B018

    def __call__(self, grid: Any, block: Any, args: Any, *, shared_mem: int = 0, stream: Any = None) -> None:
        """Launches the kernel, in order with all other work.

        Parameters
        ----------
        grid : tuple of ints
            Blocks, up to three numbers.
        block : tuple of ints
            Threads of a block, up to three numbers.
        args : array_like
            Arrays, and numbers as what they are in C: an int is a `long long`, a float a `double`, a number of NumPy's
            what it says.
        shared_mem : int, default 0
            Bytes of dynamic shared memory.
        stream : Stream, optional
            Accepted; all work runs in order on one stream.
        """
        self.kernel(grid, block, args, shared_mem, self.enable_cooperative_groups)

    @property
    def attributes(self) -> dict[str, int]:
        """The attributes reported by the driver."""
        facts = self.kernel.facts()
        own = int(Device().compute_capability)
        return {
            "binary_version": own,
            "ptx_version": own,
            "cache_mode_ca": 0,
            "max_dynamic_shared_size_bytes": self.max_dynamic_shared_size_bytes,
            "preferred_shared_memory_carveout": self.preferred_shared_memory_carveout,
            "max_threads_per_block": facts["max_threads"],
            "shared_size_bytes": facts["static_shared"],
            "const_size_bytes": facts["constant"],
            "local_size_bytes": facts["local"],
            "num_regs": facts["registers"],
        }

    max_threads_per_block = _attribute("max_threads_per_block", "The maximum number of threads of a block.")
    num_regs = _attribute("num_regs", "Registers of a thread.")
    shared_size_bytes = _attribute("shared_size_bytes", "Bytes of static shared memory.")
    local_size_bytes = _attribute("local_size_bytes", "Bytes of local memory per thread.")
    const_size_bytes = _attribute("const_size_bytes", "Bytes of constant memory.")


__all__ = ["RawKernel", "RawModule"]
