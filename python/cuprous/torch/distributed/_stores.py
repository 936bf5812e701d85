"""Key-value stores: PyTorch's classes, protocol and file format."""

from __future__ import annotations

import copy
import time
from datetime import timedelta
from os import PathLike, fspath

from cuprous._core import DistStore, DistStoreError
from cuprous.torch.distributed._options import seconds, unsupported

_DEFAULT_TIMEOUT = timedelta(seconds=300)


def _bytes(value: str | bytes) -> bytes:
    if not isinstance(value, (str, bytes, bytearray)):
        raise TypeError(f"a value of a store must be str or bytes, got {type(value).__name__}; pass str(value)")
    return value.encode() if isinstance(value, str) else bytes(value)


class QueueEmptyError(DistStoreError):
    """A queue of a store has no value.

    See Also
    --------
    torch.distributed.DistError

    Examples
    --------
    >>> try:
    ...     dist.HashStore().queue_pop("jobs", block=False)
    ... except dist.QueueEmptyError as error:
    ...     print(error)
    queue is empty
    """


class Store:
    """Base class of the stores, which all processes of a job can read and write.

    A value is bytes; strings are stored as UTF-8. Waits end with `DistStoreError` after the store's timeout.

    See Also
    --------
    torch.distributed.TCPStore, torch.distributed.FileStore, torch.distributed.HashStore,
    torch.distributed.PrefixStore

    Examples
    --------
    >>> store = dist.HashStore()
    >>> store.set("key", "value")
    >>> store.get("key")
    b'value'
    """

    _native: DistStore

    def __init__(self, native: DistStore, timeout: timedelta = _DEFAULT_TIMEOUT) -> None:
        self._native, self._timeout = native, timeout

    @property
    def timeout(self) -> timedelta:
        """How long waits take at most."""
        return self._timeout

    def set_timeout(self, timeout: timedelta) -> None:
        """Sets how long waits take at most.

        Examples
        --------
        >>> from datetime import timedelta
        >>> dist.HashStore().set_timeout(timedelta(seconds=10))
        """
        self._timeout = timeout

    def clone(self) -> Store:
        """Returns the same store with a connection of its own, so that threads do not wait for each other.

        Examples
        --------
        >>> store = dist.HashStore()
        >>> store.set("key", "value")
        >>> store.clone().get("key")
        b'value'
        """
        other = copy.copy(self)
        other._native = self._connected()
        return other

    def _connected(self) -> DistStore:
        """Returns the native store, by a connection of its own if it has one."""
        return self._native

    def has_extended_api(self) -> bool:
        """Returns True: all stores have `append`, `multi_get` and `multi_set`.

        Examples
        --------
        >>> dist.HashStore().has_extended_api()
        True
        """
        return True

    def set(self, key: str, value: str | bytes) -> None:
        """Sets a key.

        Examples
        --------
        >>> store = dist.HashStore()
        >>> store.set("key", "value")
        >>> store.get("key")
        b'value'
        """
        self._native.set(key, _bytes(value))

    def get(self, key: str) -> bytes:
        """Returns the value of a key, and waits until it is set.

        Raises
        ------
        DistStoreError
            If it was not set in time.

        Examples
        --------
        >>> store = dist.HashStore()
        >>> store.set("key", "value")
        >>> store.get("key")
        b'value'
        """
        return self._native.get(key, seconds(self._timeout))

    def add(self, key: str, amount: int) -> int:
        """Adds to the number at a key, which begins at 0. Returns the sum.

        Examples
        --------
        >>> store = dist.HashStore()
        >>> store.add("count", 1)
        1
        >>> store.add("count", 2)
        3
        """
        return self._native.add(key, amount)

    def wait(self, keys: list[str], timeout: timedelta | None = None) -> None:
        """Waits until all keys are set.

        Raises
        ------
        DistStoreError
            If they were not set in time.

        Examples
        --------
        >>> store = dist.HashStore()
        >>> store.set("key", "value")
        >>> store.wait(["key"])
        """
        self._native.wait(list(keys), seconds(self._timeout if timeout is None else timeout))

    def check(self, keys: list[str]) -> bool:
        """Returns True if all keys are set.

        Examples
        --------
        >>> store = dist.HashStore()
        >>> store.check(["key"])
        False
        """
        return self._native.check(list(keys))

    def compare_set(self, key: str, expected_value: str | bytes, desired_value: str | bytes) -> bytes:
        """Sets a key if it has the expected value, or if it is not set and that value is empty. Returns the value
        afterwards.

        Examples
        --------
        >>> store = dist.HashStore()
        >>> store.set("key", "old")
        >>> store.compare_set("key", "old", "new")
        b'new'
        """
        return self._native.compare_set(key, _bytes(expected_value), _bytes(desired_value))

    def delete_key(self, key: str) -> bool:
        """Deletes a key. Returns True if it was set.

        Examples
        --------
        >>> store = dist.HashStore()
        >>> store.set("key", "value")
        >>> store.delete_key("key")
        True
        """
        return self._native.delete_key(key)

    def num_keys(self) -> int:
        """Returns the number of keys.

        Examples
        --------
        >>> store = dist.HashStore()
        >>> store.set("key", "value")
        >>> store.num_keys()
        1
        """
        return self._native.num_keys()

    def list_keys(self) -> list[str]:
        """Returns the keys, in any order. Queues are not among them.

        Examples
        --------
        >>> store = dist.HashStore()
        >>> store.set("key", "value")
        >>> store.list_keys()
        ['key']
        """
        return self._native.list_keys()

    def queue_push(self, key: str, value: str | bytes) -> None:
        """Appends a value to a queue. `wait` and `check` are True for a queue that is not empty.

        Raises
        ------
        NotImplementedError
            For a `FileStore`, which has no queues.

        Examples
        --------
        >>> store = dist.HashStore()
        >>> store.queue_push("jobs", "first")
        >>> store.queue_len("jobs")
        1
        """
        self._native.queue_push(key, _bytes(value))

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        """Takes the first value of a queue, which only one process gets. Waits until there is one, unless `block` is
        False.

        Raises
        ------
        QueueEmptyError
            If it is empty and `block` is False.
        DistStoreError
            If nothing was pushed in time.
        NotImplementedError
            For a `FileStore`, which has no queues.

        Examples
        --------
        >>> store = dist.HashStore()
        >>> store.queue_push("jobs", "first")
        >>> store.queue_pop("jobs")
        b'first'
        """
        value = self._native.queue_pop(key, seconds(self._timeout) if block else None)
        if value is None:
            raise QueueEmptyError("queue is empty")
        return value

    def queue_len(self, key: str) -> int:
        """Returns how many values a queue has.

        Raises
        ------
        NotImplementedError
            For a `FileStore`, which has no queues.

        Examples
        --------
        >>> dist.HashStore().queue_len("jobs")
        0
        """
        return self._native.queue_len(key)

    def append(self, key: str, value: str | bytes) -> None:
        """Appends to the value of a key.

        Examples
        --------
        >>> store = dist.HashStore()
        >>> store.append("key", "a")
        >>> store.append("key", "b")
        >>> store.get("key")
        b'ab'
        """
        self._native.append(key, _bytes(value))

    def multi_get(self, keys: list[str]) -> list[bytes]:
        """Returns the values of several keys, and waits until they are set.

        Examples
        --------
        >>> store = dist.HashStore()
        >>> store.multi_set(["a", "b"], ["1", "2"])
        >>> store.multi_get(["a", "b"])
        [b'1', b'2']
        """
        return [self.get(key) for key in keys]

    def multi_set(self, keys: list[str], values: list[str | bytes]) -> None:
        """Sets several keys.

        Examples
        --------
        >>> store = dist.HashStore()
        >>> store.multi_set(["a", "b"], ["1", "2"])
        >>> store.multi_get(["a", "b"])
        [b'1', b'2']
        """
        if len(keys) != len(values):
            raise ValueError(f"[multi_set] got {len(keys)} keys and {len(values)} values")
        for key, value in zip(keys, values, strict=True):
            self.set(key, value)


class TCPStore(Store):
    """A store on a server, with PyTorch's protocol: either side may be PyTorch's.

    The server listens on the address of `host_name` alone. Its connections are not encrypted and need no password, as
    PyTorch's, so that any program that reaches the port can read and write keys.

    Parameters
    ----------
    host_name : str
        The server's host.
    port : int
        Its port; 0 with `is_master` is any free port.
    world_size : int, optional
        The number of clients, the master included, for which the master waits.
    is_master : bool, default False
        Starts the server in this process.
    timeout : timedelta, optional
        How long waits take at most.
    wait_for_workers : bool, default True
        Waits until all clients have connected.
    multi_tenant : bool, default False
        False.
    master_listen_fd : int, optional
        None.
    use_libuv : bool, default True
        True, PyTorch's default, whose protocol this is.

    Raises
    ------
    DistNetworkError
        If the port is taken, or the server cannot be reached in time.

    See Also
    --------
    torch.distributed.FileStore, torch.distributed.HashStore, torch.distributed.PrefixStore, torch.distributed.Store

    Examples
    --------
    >>> store = dist.TCPStore("127.0.0.1", 0, is_master=True)
    >>> store.set("key", "value")
    >>> store.get("key")
    b'value'
    """

    def __init__(self, host_name: str, port: int, world_size: int | None = None, is_master: bool = False,
                 timeout: timedelta = _DEFAULT_TIMEOUT, wait_for_workers: bool = True, multi_tenant: bool = False,
                 master_listen_fd: int | None = None, use_libuv: bool = True) -> None:  # fmt: skip
        unsupported("TCPStore", multi_tenant=multi_tenant, master_listen_fd=master_listen_fd)
        if not use_libuv:
            raise NotImplementedError("[TCPStore] use_libuv=False is not supported: PyTorch's older protocol")
        super().__init__(DistStore.tcp(host_name, port, is_master, seconds(timeout)), timeout)
        self.host = host_name
        port_in_use = self._native.port
        assert port_in_use is not None
        self.port = port_in_use
        if world_size is not None and wait_for_workers:
            self._native.add("init/", 1)
            if is_master:
                self._wait_for(world_size)

    def _connected(self) -> DistStore:
        return DistStore.tcp(self.host, self.port, False, seconds(self._timeout))

    def _wait_for(self, world_size: int) -> None:
        start = time.monotonic()
        while (joined := self._native.add("init/", 0)) < world_size:
            if time.monotonic() - start > seconds(self._timeout):
                raise DistStoreError(
                    f"Timed out after {seconds(self._timeout):g} seconds waiting for clients. "
                    f"{joined}/{world_size} clients joined."
                )
            time.sleep(0.01)


class FileStore(Store):
    """A store in a file that all processes can write, in PyTorch's format.

    Parameters
    ----------
    file_name : str or path-like
        The file, which is created if it does not exist.
    world_size : int, default -1
        The number of users, the last of which removes the file; -1 keeps it.

    See Also
    --------
    torch.distributed.HashStore, torch.distributed.PrefixStore, torch.distributed.Store, torch.distributed.TCPStore

    Examples
    --------
    >>> import tempfile, os
    >>> store = dist.FileStore(os.path.join(tempfile.mkdtemp(), "store"), 1)
    >>> store.set("key", "value")
    >>> store.get("key")
    b'value'
    """

    def __init__(self, file_name: str | PathLike[str], world_size: int = -1) -> None:
        super().__init__(DistStore.file(fspath(file_name), world_size if world_size >= 0 else None))
        self.path = fspath(file_name)


class HashStore(Store):
    """A store within this process.

    See Also
    --------
    torch.distributed.PrefixStore, torch.distributed.Store, torch.distributed.TCPStore, torch.distributed.FileStore

    Examples
    --------
    >>> store = dist.HashStore()
    >>> store.set("key", "value")
    >>> store.get("key")
    b'value'
    """

    def __init__(self) -> None:
        super().__init__(DistStore.memory())


class PrefixStore(Store):
    """The keys of another store that begin with a prefix and a slash.

    See Also
    --------
    torch.distributed.Store, torch.distributed.TCPStore, torch.distributed.FileStore, torch.distributed.HashStore

    Examples
    --------
    >>> inner = dist.HashStore()
    >>> store = dist.PrefixStore("run1", inner)
    >>> store.set("key", "value")
    >>> store.get("key")
    b'value'
    """

    def __init__(self, prefix: str, store: Store) -> None:
        super().__init__(store._native.prefixed(prefix), store.timeout)
        self.underlying_store, self._prefix = store, prefix

    def _connected(self) -> DistStore:
        return self.underlying_store._connected().prefixed(self._prefix)
