"""Stores: what PyTorch's do, with its protocol and its file format."""

from __future__ import annotations

import os
import socket
import struct
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

import cuprous.torch.distributed as dist


def _pair(kind: str, folder: Path) -> tuple[dist.Store, dist.Store]:
    """Returns two users of one store."""
    if kind == "tcp":
        server = dist.TCPStore("127.0.0.1", 0, is_master=True)
        return server, dist.TCPStore("localhost", server.port)
    if kind == "file":
        return dist.FileStore(folder / "store", 2), dist.FileStore(folder / "store", 2)
    store = dist.HashStore()
    return (store, store) if kind == "hash" else (dist.PrefixStore("a", store), dist.PrefixStore("a", store))


@pytest.mark.parametrize("kind", ["tcp", "file", "hash", "prefix"])
def test_operations_are_those_of_pytorch(kind: str, tmp_path: Path) -> None:
    """Values, sums, comparisons, deletions, waits."""
    one, two = _pair(kind, tmp_path)
    one.set("k", "v")
    assert two.get("k") == b"v" and two.check(["k"]) and not two.check(["k", "other"])
    assert one.add("n", 3) == 3 and two.add("n", -1) == 2 and two.get("n") == b"2"
    assert two.compare_set("new", "", "a") == b"a" and one.compare_set("new", "b", "c") == b"a"
    assert one.compare_set("new", "a", "c") == b"c" and one.compare_set("none", "x", "y") == b"x"
    assert not two.check(["none"])
    one.append("text", "ab")
    two.append("text", b"\x00c")
    assert one.multi_get(["text", "k"]) == [b"ab\x00c", b"v"]
    two.multi_set(["p", "q"], ["1", "2"])
    assert two.get("q") == b"2"  # a set has no answer: only this client knows that the server has it
    count = one.num_keys()
    assert two.delete_key("p") and not two.check(["p"]) and one.num_keys() == count - 1
    with pytest.raises(dist.DistStoreError, match=r"wait timeout after 50ms, keys: /.*never"):
        one.wait(["never"], timedelta(milliseconds=50))
    thread = threading.Timer(0.1, lambda: two.set("late", b"x" * 100_000))
    thread.start()
    assert one.get("late") == b"x" * 100_000
    thread.join()


@pytest.mark.parametrize("kind", ["tcp", "file", "hash", "prefix"])
def test_keys_are_listed(kind: str, tmp_path: Path) -> None:
    """Those of a prefix, without it."""
    one, two = _pair(kind, tmp_path)
    assert one.list_keys() == []
    one.multi_set(["a", "b/c"], ["1", "2"])
    one.get("b/c")
    assert sorted(two.list_keys()) == ["a", "b/c"]
    assert dist.PrefixStore("b", two).list_keys() == ["c"]
    two.delete_key("a")
    assert one.list_keys() == ["b/c"]


@pytest.mark.parametrize("kind", ["tcp", "hash", "prefix"])
def test_a_value_of_a_queue_is_taken_once(kind: str, tmp_path: Path) -> None:
    """In order, by one of those that wait; a queue is not a key."""
    one, two = _pair(kind, tmp_path)
    for value in (b"a", b"", b"c" * 100_000):
        one.queue_push("q", value)
    assert one.queue_len("q") == 3 and two.check(["q"]) and two.list_keys() == []
    assert [two.queue_pop("q"), one.queue_pop("q", block=False), two.queue_pop("q")] == [b"a", b"", b"c" * 100_000]
    assert one.queue_len("q") == 0 and not one.check(["q"])
    with pytest.raises(dist.QueueEmptyError, match="queue is empty"):
        two.queue_pop("q", block=False)
    two.set_timeout(timedelta(milliseconds=50))
    with pytest.raises(dist.DistStoreError, match=r"wait timeout after 50ms, keys: /.*q"):
        two.queue_pop("q")
    taken: list[bytes] = []
    users = [one.clone() for _ in range(4)]
    threads = [threading.Thread(target=lambda user=user: taken.extend(user.queue_pop("q") for _ in range(25)))
               for user in users]  # fmt: skip
    for thread in threads:
        thread.start()
    for k in range(100):
        two.queue_push("q", str(k))
    for thread in threads:
        thread.join(20)
    assert sorted(map(int, taken)) == list(range(100)) and two.queue_len("q") == 0


def test_a_file_has_no_queues(tmp_path: Path) -> None:
    """As in PyTorch."""
    store = dist.PrefixStore("p", dist.FileStore(tmp_path / "store"))
    uses: list[Callable[[], object]] = [
        lambda: store.queue_push("q", "v"), lambda: store.queue_pop("q"), lambda: store.queue_len("q")
    ]  # fmt: skip
    for use in uses:
        with pytest.raises(NotImplementedError, match="use TCPStore or HashStore"):
            use()


def test_the_file_is_removed_by_its_last_user_and_read_by_others(tmp_path: Path) -> None:
    """The records are those of PyTorch: 32-bit lengths."""
    path = tmp_path / "store"
    one, two = dist.FileStore(path, 2), dist.FileStore(path, 2)
    one.set("k", "v")
    assert path.read_bytes() == struct.pack("<I2sI1s", 2, b"/k", 1, b"v")
    assert path.stat().st_mode & 0o077 == 0
    assert two.get("k") == b"v"
    del one
    assert path.exists()
    del two
    assert not path.exists()
    path.write_bytes(b"\xff" * 40)
    with pytest.raises(dist.DistStoreError, match="is not a store"):
        dist.FileStore(path).set("k", "v")


def _talk(port: int, data: bytes, then: Callable[[socket.socket], None] = lambda s: None) -> bytes:
    """Sends bytes to a server and returns its answer until it closes, or is silent."""
    with socket.create_connection(("127.0.0.1", port), 5) as s:
        s.settimeout(0.3)
        try:
            s.sendall(data)
            then(s)
            answer = b""
            while part := s.recv(4096):
                answer += part
        except (TimeoutError, ConnectionError):
            return b""
        return answer


_VALIDATE = b"\x00" + struct.pack("<I", 0x3C85F7CE)


def test_the_server_speaks_the_wire_protocol_and_survives_nonsense() -> None:
    """Requests in pieces, absurd lengths, other protocols, random bytes: the server goes on."""
    import random

    store = dist.TCPStore("127.0.0.1", 0, is_master=True)
    key = struct.pack("<Q", 2) + b"/k"
    with socket.create_connection(("127.0.0.1", store.port)) as s:
        request = (
            _VALIDATE + b"\x0d" + struct.pack("<I", 77) + b"\x01" + key + struct.pack("<Q", 3) + b"abc" + b"\x03" + key
        )
        for k in range(len(request)):
            s.sendall(request[k : k + 1])
        expected = struct.pack("<I", 77) + struct.pack("<Q", 3) + b"abc"
        got = b""
        while len(got) < len(expected):
            got += s.recv(64)
        assert got == expected
    assert _talk(store.port, b"GET / HTTP/1.1\r\n\r\n") == b""
    assert _talk(store.port, _VALIDATE + b"\x01" + struct.pack("<Q", 1 << 60)) == b""
    assert _talk(store.port, _VALIDATE + b"\x06" + struct.pack("<Q", 1 << 40)) == b""
    rng = random.Random(0)
    for _ in range(60):
        _talk(store.port, _VALIDATE + rng.randbytes(rng.randrange(1, 200)), lambda s: s.shutdown(socket.SHUT_WR))
    assert store.get("k") == b"abc"


def test_clients_that_wait_and_then_take_get_a_value_each() -> None:
    """As PyTorch's clients do, which do not wait again. One that takes nothing keeps a value for a moment only."""
    store = dist.TCPStore("127.0.0.1", 0, is_master=True)
    key = struct.pack("<Q", 2) + b"/q"
    wait, pop = b"\x06" + struct.pack("<Q", 1) + key, b"\x0f" + key
    counts: list[int] = []

    def take(times: int) -> None:
        with socket.create_connection(("127.0.0.1", store.port), 10) as s:
            s.sendall(_VALIDATE)
            for _ in range(times):
                s.sendall(wait)
                assert s.recv(1) == b"\x00"
                s.sendall(pop)
                (count,) = struct.unpack("<q", s.recv(8, socket.MSG_WAITALL))
                counts.append(count)
                if count > 0:
                    s.recv(struct.unpack("<Q", s.recv(8, socket.MSG_WAITALL))[0], socket.MSG_WAITALL)

    threads = [threading.Thread(target=take, args=(20,)) for _ in range(5)]
    for thread in threads:
        thread.start()
    for k in range(100):
        store.queue_push("q", str(k))
    for thread in threads:
        thread.join(20)
    assert len(counts) == 100 and min(counts) > 0 and store.queue_len("q") == 0
    store.queue_push("q", "last")
    with socket.create_connection(("127.0.0.1", store.port), 10) as idle:
        idle.sendall(_VALIDATE + wait)
        assert idle.recv(1) == b"\x00"
        take(1)
        assert counts[100:] == [1]


def test_a_program_that_is_no_store_is_an_error_within_the_timeout() -> None:
    """One that says nothing, and one that says something else."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        start = time.monotonic()
        with pytest.raises(dist.DistNetworkError, match=rf"127\.0\.0\.1:{port} accepts connections but is not a store"):
            dist.TCPStore("127.0.0.1", port, timeout=timedelta(seconds=0.5))
        assert time.monotonic() - start < 5
        other.accept()[0].close()

        def greet() -> None:
            with other.accept()[0] as client:
                client.sendall(b"220 mail.example.org ESMTP")

        thread = threading.Thread(target=greet)
        thread.start()
        with pytest.raises(dist.DistNetworkError, match="another program may use the port"):
            dist.TCPStore("127.0.0.1", port, timeout=timedelta(seconds=5))
        thread.join()


def test_a_server_waits_for_its_workers() -> None:
    """As `world_size` says."""
    server: list[dist.TCPStore] = []
    master = dist.TCPStore("127.0.0.1", 0, is_master=True)
    start = time.monotonic()

    def join() -> None:
        time.sleep(0.2)
        server.append(dist.TCPStore("127.0.0.1", master.port, 2))

    thread = threading.Thread(target=join)
    thread.start()
    first = dist.TCPStore("127.0.0.1", master.port, 2)
    first._wait_for(2)
    assert time.monotonic() - start > 0.15
    thread.join()
    with pytest.raises(dist.DistNetworkError, match=r"cannot connect to 127\.0\.0\.1:1 within 0.2 s"):
        dist.TCPStore("127.0.0.1", 1, timeout=timedelta(seconds=0.2))
    with pytest.raises(ValueError, match="at most"):
        master.set("k" * 9000, "v")


@pytest.mark.skipif("CUPROUS_PEER_TORCH" not in os.environ, reason="needs a Python with PyTorch: CUPROUS_PEER_TORCH=…")
def test_clients_and_servers_of_pytorch_understand_ours() -> None:
    """Both ways, in one conversation."""
    import subprocess

    ours = dist.TCPStore("127.0.0.1", 0, is_master=True)
    program = """
import sys, datetime, torch.distributed as dist
theirs = dist.TCPStore("127.0.0.1", int(sys.argv[1]), None, False)
theirs.set("from", "pytorch"); assert theirs.add("n", 5) == 5
assert theirs.get("ours") == b"cuprous" and theirs.check(["ours"]) and theirs.num_keys() == 3
assert theirs.compare_set("c", "", "d") == b"d"
try: theirs.wait(["never"], datetime.timedelta(seconds=0.1)); raise SystemExit(1)
except dist.DistStoreError: pass
theirs.multi_set(["a", "b"], ["1", "2"]); assert theirs.multi_get(["a", "b"]) == [b"1", b"2"]
assert theirs.delete_key("a")
assert sorted(theirs.list_keys()) == ["b", "c", "from", "n", "ours"]
theirs.queue_push("q", "one"); theirs.queue_push("q", "two")
assert theirs.queue_pop("q") == b"one" and theirs.queue_len("q") == 1 and theirs.queue_pop("q", False) == b"two"
try: theirs.queue_pop("q", False); raise SystemExit(1)
except dist.QueueEmptyError: pass
server = dist.TCPStore("127.0.0.1", 0, None, True, use_libuv=True)
theirs.set("port", str(server.port)); assert server.get("back") == b"x" and server.get("n") == b"2"
assert server.queue_pop("back/q") == b"y"; server.queue_push("q2", "z")
theirs.set("end", "")
"""
    ours.set("ours", "cuprous")
    peer = subprocess.Popen([os.environ["CUPROUS_PEER_TORCH"], "-c", program, str(ours.port)],
                            env={k: v for k, v in os.environ.items() if k != "PYTHONPATH"})  # fmt: skip
    client = dist.TCPStore("127.0.0.1", int(ours.get("port")))
    client.set("back", "x")
    assert client.add("n", 2) == 2 and client.compare_set("q", "", "r") == b"r" and not client.check(["z"])
    client.queue_push("back/q", "y")
    assert client.queue_pop("q2") == b"z" and client.queue_len("q2") == 0
    assert sorted(client.list_keys()) == ["back", "n", "q"]
    ours.wait(["end"], timedelta(seconds=20))
    assert peer.wait(20) == 0
    assert ours.get("from") == b"pytorch"
