"""The network interface on which ranks listen."""

from __future__ import annotations

import os
import socket

import pytest

from cuprous.torch.distributed import _interface, _rendezvous
from tests.distributed import jobs

_MASTER = "10.1.2.3", 29500


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable names an interface, and what is set here goes away afterwards."""
    for name in (*_interface._VARIABLES, "NCCL_SOCKET_IFNAME"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)


def test_without_a_variable_the_system_chooses_the_interface_that_reaches_the_master() -> None:
    """And a job without a master stays on its host."""
    assert _interface.listening(_MASTER) == _MASTER
    assert _interface.listening(None) is None


@pytest.mark.parametrize("variable", _interface._VARIABLES)
@pytest.mark.parametrize("names", ["lo", "nothing0, lo", "lo,nothing0"])
def test_the_first_interface_that_this_machine_has_is_used(
    variable: str, names: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hosts may name theirs differently."""
    monkeypatch.setenv(variable, names)
    assert _interface.listening(_MASTER) == ("127.0.0.1", 29500)
    assert _interface.requested() == ("lo", "127.0.0.1")
    assert (_interface.listening(None) or [])[0] == "127.0.0.1"


def test_cuprous_variable_goes_before_pytorchs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which may name what only other programs use."""
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "nothing0")
    monkeypatch.setenv("CUPROUS_SOCKET_IFNAME", "lo")
    assert _interface.requested() == ("lo", "127.0.0.1")


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="this machine has no IPv6")
def test_the_address_is_of_the_kind_of_the_masters(monkeypatch: pytest.MonkeyPatch) -> None:
    """An interface may have both."""
    monkeypatch.setenv("CUPROUS_SOCKET_IFNAME", "lo")
    assert _interface.requested("::1") == ("lo", "::1")


def test_an_interface_that_does_not_exist_is_an_error_that_names_those_that_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of one rank."""
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "eth97,eth98")
    with pytest.raises(ValueError, match=r"GLOO_SOCKET_IFNAME=eth97,eth98: this machine has no .*it has.*\blo\b"):
        _interface.listening(_MASTER)


@pytest.mark.parametrize(
    ("cuprous", "gloo", "before", "after"),
    [("lo", "", None, "=lo"), ("lo", "", "ib0", "ib0"), ("", "lo", None, None)],
)
def test_nccl_uses_the_interface_of_cuprous_variable(
    cuprous: str, gloo: str, before: str | None, after: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless its own names one; gloo's is not for it."""
    monkeypatch.setenv("CUPROUS_SOCKET_IFNAME", cuprous)
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", gloo)
    if before is not None:
        monkeypatch.setenv("NCCL_SOCKET_IFNAME", before)
    _rendezvous.choose_interface_of_nccl("10.1.2.3")
    assert os.environ.get("NCCL_SOCKET_IFNAME") == after


def _external() -> str | None:
    """Returns an interface of this machine that is not the loopback interface."""
    names = (name for _, name in socket.if_nameindex() if name != "lo")
    return next((name for name in names if _interface._ipv4(name)), None)


def test_ranks_of_one_host_listen_where_the_variable_says() -> None:
    """Instead of on the loopback interface, where they meet."""
    name = _external()
    if name is None:
        pytest.skip("this machine has only the loopback interface")
    own = str(_interface._ipv4(name))
    ended = jobs.run(f"""
    own = int.from_bytes(bytes(map(int, "{own}".split("."))), sys.byteorder)
    lines = [line.split() for line in open("/proc/self/net/tcp").read().splitlines()[1:]]
    import glob
    files = [os.readlink(path) for path in glob.glob("/proc/self/fd/*") if os.path.islink(path)]
    mine = {{line[1].split(":")[0] for line in lines if f"socket:[{{line[9]}}]" in files}}
    assert f"{{own:08X}}" in mine, (mine, "{own}")
    x = torch.ones(100_000)
    dist.all_reduce(x)
    assert x.sum().item() == 200_000
    """, CUPROUS_SOCKET_IFNAME=name, CUPROUS_DISTRIBUTED_TRANSPORT="socket")  # fmt: skip
    assert len(ended) == 2
