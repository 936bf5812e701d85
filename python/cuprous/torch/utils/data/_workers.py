"""Worker processes of a data loader.

A worker receives indices through a pipe and sends batches back: small ones through the pipe, large ones in shared
memory, which it reuses once the loader has copied the batch. A worker therefore never blocks while it sends, and the
two sides cannot deadlock. If processes are forked, as on Linux, the dataset is not pickled.
"""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import sys
import traceback
import warnings
import weakref
from multiprocessing import connection, context, get_all_start_methods, get_context, resource_tracker, shared_memory
from typing import Any, NamedTuple

import numpy as np

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch import _random_numbers, _types
from cuprous.torch.utils.data._fetch import fetcher

#: Batches up to this size in bytes are sent through the pipe.
_MAX_PIPE_SIZE = 1 << 15
_ALIGN = 64


class WorkerInfo(NamedTuple):
    """Information for the code that runs in a worker."""

    id: int
    num_workers: int
    seed: int
    dataset: Any


_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """Returns what a worker process knows about itself.

    Returns
    -------
    WorkerInfo or None
        `id`, `num_workers`, `seed` and `dataset`; None outside of a worker.

    See Also
    --------
    torch.utils.data.DataLoader

    Examples
    --------
    >>> torch.utils.data.get_worker_info() is None
    True
    """
    return _info


class _Pickler(pickle.Pickler):
    """Pickles a batch without the elements of tensors and arrays, which it collects in `parts`."""

    def __init__(self, file: Any) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self.parts: list[np.ndarray[Any, Any]] = []

    def persistent_id(self, obj: Any) -> Any:
        """Returns the placeholder of a tensor or an array."""
        if isinstance(obj, Tensor) and type(obj) is Tensor:
            host, name = obj.detach().to_numpy(), obj.dtype_name
        elif type(obj) is np.ndarray and not obj.dtype.hasobject:
            host, name = obj, None
        else:
            return None
        self.parts.append(np.ascontiguousarray(host))
        return len(self.parts) - 1, host.shape, host.dtype, name


class _Unpickler(pickle.Unpickler):
    """Restores tensors and arrays with elements copied from a buffer."""

    def __init__(self, file: Any, buffer: Any, offsets: list[int]) -> None:
        super().__init__(file)
        self.buffer, self.offsets = buffer, offsets

    def persistent_load(self, pid: Any) -> Any:
        """Returns the tensor or array of a placeholder."""
        position, shape, dtype, name = pid
        host = np.ndarray(shape, dtype, self.buffer, self.offsets[position])
        return host.copy() if name is None else _core.t_wrap(_core.from_numpy(host, "cpu"))


class _Blocks:
    """A worker's shared memory: blocks whose sizes are powers of two, each reused after the loader released it."""

    def __init__(self) -> None:
        self.all: dict[str, shared_memory.SharedMemory] = {}
        self.free: list[str] = []

    def take(self, size: int) -> shared_memory.SharedMemory:
        """Returns a block of at least `size` bytes."""
        for name in self.free:
            if self.all[name].size >= size:
                self.free.remove(name)
                return self.all[name]
        block = shared_memory.SharedMemory(create=True, size=1 << (size - 1).bit_length())
        self.all[block.name] = block
        return block

    def drop(self) -> None:
        """Frees all blocks."""
        for block in self.all.values():
            block.close()
            with contextlib.suppress(FileNotFoundError):
                block.unlink()


def _pack(batch: Any, blocks: _Blocks) -> tuple[Any, ...]:
    """Returns the message for a batch: the name of its block or the bytes, the offsets of the parts, the offset of the
    pickle, and the end."""
    file = io.BytesIO()
    pickler = _Pickler(file)
    pickler.dump(batch)
    offsets, size = [], 0
    for part in pickler.parts:
        offsets.append(size)
        size += -(-part.nbytes // _ALIGN) * _ALIGN
    total = size + file.tell()
    block = blocks.take(total) if total > _MAX_PIPE_SIZE else None
    memory: Any = bytearray(total) if block is None else block.buf
    for at, part in zip(offsets, pickler.parts, strict=True):
        np.ndarray(part.shape, part.dtype, memory, at)[...] = part
    memory[size:total] = file.getbuffer()
    return memory if block is None else block.name, offsets, size, total


def _run(conn: Any, inherited: list[Any], info: WorkerInfo, make: Any, init: Any, blocks: _Blocks) -> None:
    for other in inherited:  # the loader's pipe ends, copied by fork; a pipe closes only when no process holds them
        other.close()
    fetch: Any = None
    problem: Any = None
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        while (task := conn.recv()) is not None:
            if task[0] == "epoch":
                try:
                    problem = None
                    _seed(info._replace(seed=task[1] + info.id))
                    if task[2] and init is not None:
                        init(info.id)
                    fetch = fetcher(info.dataset, *make)
                except Exception as error:
                    problem = _describe_error(error)
                continue
            _, indices, recycled = task
            blocks.free += recycled
            try:
                receive = ("error", problem) if problem else ("batch", *_pack(fetch(indices), blocks))
            except StopIteration:
                receive = ("end",)
            except Exception as error:
                receive = ("error", _describe_error(error))
            conn.send(receive)


def _describe_error(error: Exception) -> tuple[Any, str]:
    kind = type(error)
    try:
        pickle.dumps(kind)
    except Exception:
        kind = RuntimeError
    return kind, traceback.format_exc()


def _seed(info: WorkerInfo) -> None:
    import random

    global _info
    _info = info
    random.seed(info.seed)
    np.random.seed(info.seed % (1 << 32))
    _random_numbers.manual_seed(info.seed)


def _main(conn: Any, inherited: list[Any], info: WorkerInfo, make: Any, init: Any) -> None:
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the loader receives the signal and stops its workers
    os.environ["RAYON_NUM_THREADS"] = "1"
    _core.set_device("cpu")
    _types.set_default_device("cpu")
    blocks = _Blocks()
    try:
        _run(conn, inherited, info, make, init, blocks)
    finally:
        blocks.drop()
        conn.close()


def choose_context(given: Any) -> Any:
    """Returns the context that starts processes: by default fork on Linux, otherwise spawn.

    Raises
    ------
    ValueError
        For an unknown start method.
    TypeError
        For other types.
    """
    if given is None:
        return get_context("fork" if sys.platform == "linux" else "spawn")
    if isinstance(given, str):
        if given not in get_all_start_methods():
            raise ValueError("multiprocessing_context option should specify a valid start method in "
                             f"{get_all_start_methods()!r}, but got multiprocessing_context={given!r}")  # fmt: skip
        return get_context(given)
    if isinstance(given, context.BaseContext):
        return given
    raise TypeError("multiprocessing_context option should be a valid context object or a string specifying the start "
                    f"method, but got multiprocessing_context={given}")  # fmt: skip


class Workers:
    """The worker processes of one loader."""

    def __init__(self, dataset: Any, make: Any, count: int, init: Any, method: Any) -> None:
        method = choose_context(method)
        resource_tracker.ensure_running()  # one tracker for all processes, so that one may free what another created
        _core.flush()
        self.pipes: list[Any] = []
        self.processes: list[Any] = []
        self.blocks: dict[str, shared_memory.SharedMemory] = {}
        self.stopped = False
        self.recycled: list[list[str]] = [[] for _ in range(count)]
        forked = method.get_start_method() == "fork"
        self._stop = weakref.finalize(self, _stop, self.pipes, self.processes, self.blocks)
        for k in range(count):
            parent_end, child_end = method.Pipe()
            self.pipes.append(parent_end)
            info = WorkerInfo(k, count, 0, dataset)
            process = method.Process(
                target=_main, args=(child_end, [*self.pipes] if forked else [], info, make, init), daemon=True
            )
            with warnings.catch_warnings():
                # The engine handles forks: a forked child does not use the threads of its parent.
                warnings.filterwarnings("ignore", message=".*multi-threaded.*fork", category=DeprecationWarning)
                process.start()
            self.processes.append(process)
            child_end.close()

    def start_epoch(self, seed: int, first: bool) -> None:
        """Starts an epoch."""
        for k in range(len(self.pipes)):
            self._send(k, ("epoch", seed, first))

    def request(self, k: int, indices: Any) -> None:
        """Requests a batch from a worker."""
        self._send(k, ("batch", indices, self.recycled[k]))
        self.recycled[k] = []

    def _send(self, k: int, message: Any) -> None:
        try:
            self.pipes[k].send(message)
        except (BrokenPipeError, ConnectionResetError):
            self._raise_worker_exit(k)

    def _raise_worker_exit(self, k: int) -> None:
        process = self.processes[k]
        process.join(1)
        self.stopped = True
        self.stop()
        raise RuntimeError(
            f"DataLoader worker (pid(s) {process.pid}) exited unexpectedly (exit code {process.exitcode}). Processes "
            "that do not come up, and those killed for memory, print nothing here; num_workers=0 shows the cause"
        )

    def receive(self, k: int, timeout: float) -> tuple[str, Any]:
        """Returns a worker's next batch, or "end" at the end of its stream.

        Raises
        ------
        RuntimeError
            If the worker exited, or took longer than a timeout greater than 0.
        """
        end, process = self.pipes[k], self.processes[k]
        ready = connection.wait([end, process.sentinel], timeout if timeout > 0 else None)
        if not ready:
            for process in self.processes:
                process.terminate()
            self.stopped = True
            raise RuntimeError(f"DataLoader timed out after {timeout} seconds")
        try:
            kind, *rest = end.recv()
        except (EOFError, ConnectionResetError):
            self._raise_worker_exit(k)
        if kind == "error":
            _raise(k, *rest[0])
        return kind, self._unpack(k, *rest) if kind == "batch" else None

    def _unpack(self, k: int, memory: Any, offsets: list[int], start: int, total: int) -> Any:
        if isinstance(memory, str):
            if memory not in self.blocks:
                self.blocks[memory] = shared_memory.SharedMemory(memory)
            self.recycled[k].append(memory)
            memory = self.blocks[memory].buf
        return _Unpickler(io.BytesIO(memory[start:total]), memory, offsets).load()

    def stop(self) -> None:
        """Stops the processes."""
        self._stop()


def _stop(pipes: list[Any], processes: list[Any], blocks: dict[str, shared_memory.SharedMemory]) -> None:
    for end in pipes:
        with contextlib.suppress(OSError):
            end.send(None)
        end.close()
    for process in processes:
        process.join(5)
        if process.is_alive():
            process.terminate()
            process.join(5)
    for block in blocks.values():
        block.close()
        # A worker that was killed could not free its blocks. If both sides free one, the second finds nothing.
        if any(process.exitcode for process in processes):
            with contextlib.suppress(FileNotFoundError):
                block.unlink()


class _KeyErrorMessage(str):
    """A message that KeyError prints without quotes."""

    def __repr__(self) -> str:
        return str(self)


def _raise(k: int, kind: type[Exception], text: str) -> None:
    message = f"Caught {kind.__name__} in DataLoader worker process {k}.\nOriginal {text}"
    try:
        error = kind(_KeyErrorMessage(message))
    except Exception:  # a class with other constructor arguments
        error = RuntimeError(message)
    raise error
