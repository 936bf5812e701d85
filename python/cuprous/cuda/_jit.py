"""`cuda.jit`: Python functions as kernels."""

from __future__ import annotations

import math
import sys
import weakref
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any, overload

from cuprous import _core
from cuprous.cuda import _debug, _pickling, types

#: The default number of threads of a block.
_THREADS = 256


def parameters(function: Any) -> list[tuple[str, list[Any]]]:
    """Returns the names of a function's parameters, each with its default value if it has one."""
    if not isinstance(function, FunctionType) or hasattr(function, "__wrapped__"):
        import inspect  # takes as long as all of the package

        return [
            (p.name, [] if p.default is p.empty else [p.default])
            for p in inspect.signature(function).parameters.values()
            if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
        ]
    code, values = function.__code__, function.__defaults__ or ()
    count = code.co_argcount
    names = code.co_varnames[: count + code.co_kwonlyargcount]
    known = {**dict(zip(names[count - len(values) : count], values, strict=True)), **(function.__kwdefaults__ or {})}
    return [(name, [known[name]] if name in known else []) for name in names]


class Dispatcher(_core.Kernel):
    """A function for devices. `kernel[grid, block, stream, shared_bytes](…)` launches it.

    It is compiled at the first launch with new argument types. NumPy arrays are copied to the device and back,
    device arrays are used in place.

    Parameters
    ----------
    function : callable
        The function.
    device : bool, default False
        Whether kernels call it.
    callbacks : callable, optional
        What loading and unloading its module calls.
    options : tuple of str
        The options of `cuda.jit`.

    Examples
    --------
    >>> @cuda.jit
    ... def zero(x):
    ...     x[cuda.grid(1)] = 0
    >>> x = np.ones(4)
    >>> zero[1, 4](x)
    >>> x
    array([0., 0., 0., 0.])
    """

    #: True if it accepts only the types of its decorator or of `specialize`.
    specialized: bool
    #: The kernels created by `specialize`, by types.
    specializations: dict[tuple[types.Type, ...], Dispatcher]
    device: bool
    _options: dict[str, Any]
    #: The signatures that it was declared with.
    _declared: list[Any]

    if _debug.LEVEL:

        def __getitem__(self, key: Any) -> Any:
            return _debug.Launch(self, key, super().__getitem__(key))

    def __new__(cls, function: Any, device: bool = False, callbacks: Any = (), **options: Any) -> Dispatcher:
        params = parameters(function)
        load_options: dict[str, Any] = {}
        if callbacks:
            from cuprous.cuda import _link  # few kernels link anything

            # Not the kernel itself, which would keep itself alive.
            load_options["on_load"] = _link.loader(callbacks, lambda: reference())
        self: Any = super().__new__(cls, function, params, device=device, **options, **load_options)
        reference: Any = weakref.ref(self)
        self.device = device
        self.specialized = False
        self.specializations = {}
        self._options = {**options, "callbacks": callbacks} if callbacks else options
        self._declared = []
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__
        self.__wrapped__ = function
        self.__module__ = function.__module__
        return self

    def __init__(self, *args: Any, **options: Any) -> None:
        pass

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.device:
            raise RuntimeError(f"{self.__name__} is a device function: kernels can call it")  # type: ignore[attr-defined]
        raise ValueError(
            "Kernel launch configuration was not specified. Use the syntax:\n\n"
            "kernel_function[blockspergrid, threadsperblock](arg0, arg1, ..., argn)"
        )

    def configure(self, griddim: Any, blockdim: Any, stream: Any = 0, sharedmem: int = 0) -> Any:
        """Returns the kernel with a grid and a block, as `kernel[griddim, blockdim, stream, sharedmem]` does.

        Parameters
        ----------
        griddim : int
            The number of blocks, a number or up to three.
        blockdim : int
            The number of threads of a block, a number or up to three.
        stream : Stream, default 0
            The stream. Work runs in the order of the program on any of them.
        sharedmem : int, default 0
            The bytes of dynamic shared memory.

        Returns
        -------
        callable
            A function that launches the kernel.

        Examples
        --------
        >>> @cuda.jit
        ... def zero(x):
        ...     x[cuda.grid(1)] = 0
        >>> x = np.ones(4)
        >>> zero.configure(1, 4)(x)
        >>> x
        array([0., 0., 0., 0.])
        """
        return self[griddim, blockdim, stream, sharedmem]

    def forall(self, ntasks: int, tpb: int = 0, stream: Any = 0, sharedmem: int = 0) -> Callable[..., None]:
        """Returns a launch with at least a number of threads. The last block may have more.

        Parameters
        ----------
        ntasks : int
            The number of threads.
        tpb : int, default 0
            The number of threads of a block; 0 for one that fits.
        stream : Stream, default 0
            The stream. Work runs in the order of the program on any of them.
        sharedmem : int, default 0
            The bytes of dynamic shared memory.

        Returns
        -------
        callable
            A function that launches the kernel.

        Examples
        --------
        >>> @cuda.jit
        ... def zero(x):
        ...     i = cuda.grid(1)
        ...     if i < x.size:
        ...         x[i] = 0
        >>> x = np.ones(5)
        >>> zero.forall(x.size)(x)
        >>> x
        array([0., 0., 0., 0., 0.])
        """
        if ntasks < 0:
            raise ValueError(f"Can't create ForAll with negative task count: {ntasks}")
        threads = tpb or _THREADS

        def launch(*args: Any, **kwargs: Any) -> None:
            if ntasks:
                self[-(-ntasks // threads), threads, stream, sharedmem](*args, **kwargs)

        return launch

    def compile(self, sig: Any) -> None:
        """Compiles the kernel for argument types.

        Parameters
        ----------
        sig : str or tuple of types
            The types, as a string, a signature or a tuple.

        Examples
        --------
        >>> @cuda.jit
        ... def zero(x):
        ...     x[cuda.grid(1)] = 0
        >>> zero.compile("void(float64[:])")
        >>> len(zero.signatures)
        1
        """
        found = types.signature_of(sig)
        returns = isinstance(found, types.Signature) and found.return_type is not types.none
        if returns and not self.device:
            raise TypeError("CUDA kernel must have void return type.")
        args = types.argument_types(found)
        self.compile_for([t.key for t in args], not self.device)
        self._declared.append(args)

    def recompile(self) -> None:
        """Discards the compiled code, so that globals are read again. A kernel with declared types is compiled for them
        at once.

        Examples
        --------
        >>> factor = 2
        >>> @cuda.jit
        ... def scale(x):
        ...     x[cuda.grid(1)] *= factor
        >>> scale.recompile()
        """
        self.forget()
        for args in self._declared:
            self.compile_for([t.key for t in args], not self.device)

    def specialize(self, *args: Any) -> Dispatcher:
        """Returns a kernel that accepts only some argument types.

        Parameters
        ----------
        *args : any
            The types, or values that have them.

        Returns
        -------
        Dispatcher

        Raises
        ------
        RuntimeError
            If the kernel is already specialized.

        Examples
        --------
        >>> @cuda.jit
        ... def zero(x):
        ...     x[cuda.grid(1)] = 0
        >>> zero.specialize(np.ones(4)).signatures
        [(array(float64, 1d, C),)]
        """
        if self.specialized:
            raise RuntimeError("Dispatcher already specialized")
        key = tuple(a if isinstance(a, types.Type) else types.typeof(a) for a in args)
        if key not in self.specializations:
            kernel = Dispatcher(self.py_func, self.device, **self._options)
            kernel.compile(key)
            kernel.specialized = True
            self.specializations[key] = kernel
        found: Dispatcher = self.specializations[key]
        return found

    # --- compiled code

    @property
    def signatures(self) -> list[tuple[types.Type, ...]]:
        """The argument types that it is compiled for."""
        return [tuple(types._from_key(key) for key in keys) for keys in self.compiled_types()]

    @property
    def overloads(self) -> dict[tuple[types.Type, ...], Facts]:
        """The attributes reported by the device, by argument types."""
        listing = enumerate(self.listing())
        return {tuple(map(types._from_key, keys)): Facts(facts, self, k) for k, (keys, _, facts, _) in listing}

    def cuda_source(self, *signature: Any) -> str:
        """Returns the CUDA C++ of the kernel.

        Parameters
        ----------
        *signature : any
            The argument types, by default those that it is compiled for.

        Returns
        -------
        str

        Examples
        --------
        >>> @cuda.jit
        ... def zero(x):
        ...     x[cuda.grid(1)] = 0
        >>> "__global__" in zero.cuda_source("void(float64[:])")
        True
        """
        if signature:
            args = types.argument_types(signature[0] if len(signature) == 1 else signature)
            return self.cuda_code([t.key for t in args], False, not self.device)
        return "\n".join(code for _, code, _, _ in self.listing())

    def native_code(self) -> str:
        """Returns the code that runs: on the CPU the compiler's intermediate code, on a GPU the CUDA C++.

        Returns
        -------
        str

        Examples
        --------
        >>> @cuda.jit("void(float64[:])")
        ... def zero(x):
        ...     x[cuda.grid(1)] = 0
        >>> len(zero.native_code()) > 0
        True
        """
        return "\n".join(code for _, _, _, code in self.listing())

    def inspect_types(self, file: Any = None) -> None:
        """Prints the types that the kernel is compiled for.

        Parameters
        ----------
        file : file, optional
            Where to print, by default the standard output.

        Examples
        --------
        >>> @cuda.jit("void(float64[:])")
        ... def zero(x):
        ...     x[cuda.grid(1)] = 0
        >>> zero.inspect_types()
        zero (array(float64, 1d, A),)
        """
        for signature in self.signatures:
            print(f"{self.__name__} {signature}", file=file)  # type: ignore[attr-defined]

    def inspect_llvm(self, signature: Any = None) -> Any:
        """Raises an error: kernels do not go through LLVM. `cuda_source` returns their code.

        Parameters
        ----------
        signature : str or tuple of types, optional
            The argument types.

        Returns
        -------
        None

        Raises
        ------
        NotImplementedError
            Always.

        Examples
        --------
        >>> @cuda.jit
        ... def zero(x):
        ...     x[cuda.grid(1)] = 0
        >>> zero.inspect_llvm()
        Traceback (most recent call last):
            ...
        NotImplementedError: [inspect_llvm] kernels are CUDA C++ here: use kernel.cuda_source()
        """
        raise NotImplementedError("[inspect_llvm] kernels are CUDA C++ here: use kernel.cuda_source()")

    def inspect_asm(self, signature: Any = None) -> Any:
        """Returns the PTX of the kernel.

        Parameters
        ----------
        signature : str or tuple of types, optional
            The argument types, by default all that it is compiled for.

        Returns
        -------
        str
            A string, or without a signature a dict of strings by argument types.

        Raises
        ------
        RuntimeError
            If NVRTC is not installed.

        Examples
        --------
        >>> @cuda.jit("void(float64[:])")
        ... def zero(x):
        ...     x[cuda.grid(1)] = 0
        >>> ptx = zero.inspect_asm()  # doctest: +SKIP
        """
        from cuprous.cuda._ptx import ptx  # imports NVRTC's interface

        if signature is None:
            return {found: ptx(self, found) for found in self.signatures}
        return ptx(self, types.argument_types(signature))

    def inspect_sass(self, signature: Any = None) -> Any:
        """Raises an error: no disassembler is included.

        Parameters
        ----------
        signature : str or tuple of types, optional
            The argument types.

        Returns
        -------
        None

        Raises
        ------
        NotImplementedError
            Always.

        Examples
        --------
        >>> @cuda.jit
        ... def zero(x):
        ...     x[cuda.grid(1)] = 0
        >>> zero.inspect_sass()
        Traceback (most recent call last):
            ...
        NotImplementedError: [inspect_sass] is not supported; inspect_asm gives PTX, cuda_source CUDA C++
        """
        raise NotImplementedError("[inspect_sass] is not supported; inspect_asm gives PTX, cuda_source CUDA C++")

    def __reduce__(self) -> Any:
        function: Any = self.py_func
        # By name if the function is importable: unpickling imports the module.
        if _pickling.is_importable(function):
            return str(function.__qualname__)
        return unpickled, (_pickling.reduced(function), self.device, self._options, self._declared)

    def _fact(self, name: str, signature: Any) -> Any:
        all_facts = {sig: facts[name] for sig, facts in self.overloads.items()}
        if signature is not None:
            return all_facts[types.argument_types(signature)]
        # As in Numba, a kernel declared with types has one result, any other kernel one for each compiled signature.
        return next(iter(all_facts.values())) if self.specialized else all_facts

    def get_regs_per_thread(self, signature: Any = None) -> Any:
        """Returns the number of registers of a thread, which is 0 on the CPU.

        Parameters
        ----------
        signature : str or tuple of types, optional
            The argument types, by default all that it is compiled for.

        Returns
        -------
        int
            An integer; without a signature a dict of integers by argument types, unless the kernel is specialized.

        Examples
        --------
        >>> @cuda.jit("void(float64[:])")
        ... def zero(x):
        ...     x[cuda.grid(1)] = 0
        >>> zero.get_regs_per_thread() >= 0
        True
        """
        return self._fact("registers", signature)

    def get_shared_mem_per_block(self, signature: Any = None) -> Any:
        """Returns the bytes of static shared memory of a block.

        Parameters
        ----------
        signature : str or tuple of types, optional
            The argument types, by default all that it is compiled for.

        Returns
        -------
        int
            An integer; without a signature a dict of integers by argument types, unless the kernel is specialized.

        Examples
        --------
        >>> @cuda.jit("void(float64[:])")
        ... def zero(x):
        ...     x[cuda.grid(1)] = 0
        >>> zero.get_shared_mem_per_block()
        0
        """
        return self._fact("static_shared", signature)

    def get_local_mem_per_thread(self, signature: Any = None) -> Any:
        """Returns the bytes of a thread's own memory.

        Parameters
        ----------
        signature : str or tuple of types, optional
            The argument types, by default all that it is compiled for.

        Returns
        -------
        int
            An integer; without a signature a dict of integers by argument types, unless the kernel is specialized.

        Examples
        --------
        >>> @cuda.jit("void(float64[:])")
        ... def zero(x):
        ...     x[cuda.grid(1)] = 0
        >>> zero.get_local_mem_per_thread() >= 0
        True
        """
        return self._fact("local", signature)

    def get_max_threads_per_block(self, signature: Any = None) -> Any:
        """Returns the number of threads that a block may have.

        Parameters
        ----------
        signature : str or tuple of types, optional
            The argument types, by default all that it is compiled for.

        Returns
        -------
        int
            An integer; without a signature a dict of integers by argument types, unless the kernel is specialized.

        Examples
        --------
        >>> @cuda.jit("void(float64[:])")
        ... def zero(x):
        ...     x[cuda.grid(1)] = 0
        >>> zero.get_max_threads_per_block() >= 256
        True
        """
        return self._fact("max_threads", signature)

    def get_const_mem_size(self, signature: Any = None) -> Any:
        """Returns the bytes of constant memory of the kernel.

        Parameters
        ----------
        signature : str or tuple of types, optional
            The argument types, by default all that it is compiled for.

        Returns
        -------
        int
            An integer; without a signature a dict of integers by argument types, unless the kernel is specialized.

        Examples
        --------
        >>> @cuda.jit("void(float64[:])")
        ... def zero(x):
        ...     x[cuda.grid(1)] = 0
        >>> zero.get_const_mem_size() >= 0
        True
        """
        return self._fact("constant", signature)

    def __repr__(self) -> str:
        word = "device function" if self.device else "kernel"
        return f"<cuda {word} {self.__name__}>"  # type: ignore[attr-defined]


class Facts(dict[str, int]):
    """Attributes of a compiled kernel as reported by the device, such as `registers`."""

    def __init__(self, facts: dict[str, int], kernel: Dispatcher, place: int) -> None:
        super().__init__(facts)
        self._kernel, self._place = kernel, place

    @property
    def cooperative(self) -> bool:
        """True if all blocks of a launch run at once, because they wait for one another."""
        return bool(self["cooperative"])

    def max_cooperative_grid_blocks(self, blockdim: Any, dynsmemsize: int = 0) -> int:
        """Returns how many blocks of this shape can run at once, the limit of a cooperative grid."""
        threads = math.prod(blockdim) if isinstance(blockdim, tuple) else int(blockdim)
        return self._kernel.resident_blocks(self._place, threads, dynsmemsize)


#: The names of shared memory carveouts.
_CARVEOUTS = {"default": -1, "maxl1": 0, "maxshared": 100}


def _check_carveout(value: int | str) -> None:
    number = _CARVEOUTS.get(value.lower()) if isinstance(value, str) else value
    if number is None:
        raise ValueError(f"Invalid carveout value: {value!r}. Must be one of {', '.join(_CARVEOUTS)}, or a percentage")
    if not -1 <= number <= 100:
        raise ValueError(f"Carveout value must be between -1 and 100, got {value}")


def _linked(function: Any, link: Any) -> dict[str, Any]:
    """Returns the options for what a function is linked with."""
    # Functions are declared only if the module is loaded.
    if not link and "cuprous.cuda._link" not in sys.modules:
        return {}
    from cuprous.cuda import _link  # few kernels link anything

    found = _link.linked(function, link)
    named = {"linked": found.source, "extra": found.extra, "objects": found.objects, "callbacks": found.callbacks}
    return {name: value for name, value in named.items() if value}


@overload
def jit(
    func_or_sig: str | types.Signature | Sequence[Any] | None = None, device: bool = False, **options: Any
) -> Callable[[Callable[..., Any]], Dispatcher]: ...


@overload
def jit(func_or_sig: Callable[..., Any], device: bool = False, **options: Any) -> Dispatcher: ...


def jit(
    func_or_sig: Any = None, device: bool = False, inline: str | bool = "never", forceinline: bool = False,
    link: Any = (), debug: bool | None = None, opt: bool | None = None, lineinfo: bool = False, cache: bool = False,
    fastmath: bool = False, max_registers: int | None = None, launch_bounds: Any = None,
    boundscheck: bool | None = None, fma: bool = True, lto: bool | None = None,
    shared_memory_carveout: int | str | None = None, check: bool | None = None, **unknown: Any,
) -> Any:  # fmt: skip
    """Makes a function a kernel, or with `device=True` one that kernels call.

    Parameters
    ----------
    func_or_sig : callable, str or signature, optional
        The function; or a signature (`"void(float32[:], int32)"`, a type call, a tuple of types) or a list of them, for
        which it is compiled at once.
    device : bool, default False
        Kernels call it; it may return a value.
    inline : str or bool, default "never"
        Has no effect: the compiler decides.
    forceinline : bool, default False
        Has no effect: the compiler decides.
    link : sequence of str, optional
        Code whose functions it calls (`declare_device`): files (CUDA C++ as .cu; device code as .ptx, .cubin, .fatbin,
        .o, .a, .ltoir) or objects such as `cuda.CUSource`, `cuda.Cubin`. It only runs on GPUs then. The driver links
        device code; for .ltoir nvJitLink does (`pip install nvidia-nvjitlink`).
    debug : bool, optional
        True also looks for divisions by zero (with `fastmath` not for those of `/`) and indices beyond tuples, and
        raises. False: what the kernel raises itself ends the thread only; left out, that is raised at the launch, which
        then waits for the kernel.
    opt : bool, optional
        Accepted; code is always optimized.
    lineinfo : bool, default False
        As for the CUDA compiler.
    cache : bool, default False
        Accepted; compiled code is always kept on disk.
    fastmath : bool, default False
        Approximate functions and divisions.
    max_registers : int, optional
        As for the CUDA compiler.
    launch_bounds : int or tuple of ints, optional
        As for the CUDA compiler.
    boundscheck : bool, optional
        Indices beyond an array raise an IndexError with the array, the index, the shape, the thread and the line.
    fma : bool, default True
        A multiplication and an addition may become one instruction.
    lto : bool, optional
        Has no effect: the compiler decides.
    shared_memory_carveout : int or str, optional
        Accepted (-1 to 100, "default", "MaxL1", "MaxShared"); the driver divides the memory.
    check : bool, optional
        Runs the kernel on the CPU, one thread after the other, and raises a KernelCheckError for races, reads of shared
        and local arrays that were not written, and barriers that not all threads of a block reach; checks indices as
        `boundscheck` does. Left out: True if the environment has CUPROUS_KERNEL_CHECK=1.
    **unknown : any
        For clear errors about options that do not exist.

    Returns
    -------
    callable
        A kernel or device function (`Dispatcher`); a decorator if no function is given.

    Raises
    ------
    TypeError
        For other options, and for an invalid signature.
    LinkerError
        For a file to link that does not exist.
    ValueError
        For an invalid `shared_memory_carveout`.
    TypingError, UnsupportedError
        If the function cannot be compiled, with the source location and what to do.

    See Also
    --------
    cuda.reduce

    Examples
    --------
    >>> @cuda.jit
    ... def add(x, y, out):
    ...     i = cuda.grid(1)
    ...     if i < out.size:
    ...         out[i] = x[i] + y[i]
    >>> out = cuda.device_array(3)
    >>> add[1, 32](np.arange(3.0), np.ones(3), out)
    >>> out.copy_to_host()
    array([1., 2., 3.])
    """
    if unknown:
        raise TypeError(f"jit() got an unexpected keyword argument '{min(unknown)}'")
    bounds: Any = (launch_bounds, None) if isinstance(launch_bounds, int) else launch_bounds
    if bounds is not None and len(bounds) > 3:
        raise ValueError(
            f"Got {len(bounds)} launch bounds: {str(tuple(bounds))[1:-1]}. A maximum of three arguments are supported:"
            " (max_threads_per_block, min_blocks_per_sm, max_blocks_per_cluster)"
        )
    if bounds is not None:
        bounds = [int(n or 0) for n in (*bounds, None, None)][:3]
    if shared_memory_carveout is not None:
        _check_carveout(shared_memory_carveout)
    accesses = _debug.CHECKS if check is None else bool(check)
    indices = bool(boundscheck) or accesses
    options = {
        "fastmath": bool(fastmath), "fma": fma, "max_registers": max_registers, "launch_bounds": bounds,
        "lineinfo": bool(lineinfo), "checks": (debug is not False or indices, indices, bool(debug), accesses),
    }  # fmt: skip

    def make(function: Any) -> Dispatcher:
        if isinstance(function, Dispatcher):
            function = function.py_func
        if debug:
            from cuprous.cuda import _source  # imports the parser

            _source.DEBUGGED.add(function)
        kernel = Dispatcher(function, device, **_linked(function, link), **options)
        for signature in signatures:
            kernel.compile(signature)
        kernel.specialized = bool(signatures)
        return kernel

    signatures: list[Any] = []
    if func_or_sig is None:
        return make
    if isinstance(func_or_sig, (FunctionType, Dispatcher)):
        return make(func_or_sig)
    signatures = list(func_or_sig) if isinstance(func_or_sig, list) else [func_or_sig]
    return make


def unpickled(function: tuple[Any, ...], device: bool, options: dict[str, Any], signatures: list[Any]) -> Dispatcher:
    """Returns a kernel from the parts that it was pickled as."""
    kernel = Dispatcher(_pickling.restored(*function), device, **options)
    for signature in signatures:
        kernel.compile(signature)
    kernel.specialized = bool(signatures)
    return kernel
