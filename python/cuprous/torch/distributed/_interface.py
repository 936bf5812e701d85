"""The network interface or address on which a rank listens, if the environment names one."""

from __future__ import annotations

import ipaddress
import os
import socket
import struct
import sys
from pathlib import Path

if sys.platform == "linux":
    import fcntl

#: Names an address of this machine, before any interface. The launcher's `--local-addr` sets it.
_ADDRESS_VARIABLE = "CUPROUS_LOCAL_ADDR"
#: The variables that name interfaces; the first one that is set wins. The second is PyTorch's.
_VARIABLES = ("CUPROUS_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME")
#: The request of Linux for the IPv4 address of an interface, and where it lies in the answer.
_SIOCGIFADDR, _ADDRESS = 0x8915, slice(20, 24)
_IPV6 = Path("/proc/net/if_inet6")
#: The scope of IPv6 addresses that need the number of an interface beside them.
_LINK_LOCAL = "20"
#: The port in place of the store's where there is none. Nothing is sent to it.
_DISCARD = 9


def _ipv4(name: str) -> str | None:
    if sys.platform != "linux":
        return None
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        try:
            found = fcntl.ioctl(any_socket, _SIOCGIFADDR, struct.pack("256s", name.encode()[:15]))
        except OSError:
            return None
    return socket.inet_ntoa(found[_ADDRESS])


def _ipv6(name: str) -> str | None:
    lines = _IPV6.read_text().splitlines() if _IPV6.exists() else []
    for address, _, _, scope, _, interface in map(str.split, lines):
        if interface == name and scope != _LINK_LOCAL:
            return str(ipaddress.IPv6Address(bytes.fromhex(address)))
    return None


def _is_ipv6(host: str) -> bool:
    try:
        return socket.getaddrinfo(host, None)[0][0] is socket.AF_INET6
    except OSError:
        return False  # connecting says what is wrong


def requested(host: str | None = None) -> tuple[str, str] | None:
    """Returns the name and an address of the first interface in the environment's list that this machine has, or None
    if the environment names none. The address is IPv6 where that of `host` is, if there is one.

    Raises
    ------
    ValueError
        If this machine has none of them, or they have no address.
    """
    variable = next((name for name in _VARIABLES if os.environ.get(name)), None)
    if variable is None:
        return None
    families = (_ipv6, _ipv4) if host is not None and _is_ipv6(host) else (_ipv4, _ipv6)
    for name in os.environ[variable].split(","):
        for family in families:
            if (address := family(name.strip())) is not None:
                return name.strip(), address
    existing = ", ".join(name for _, name in socket.if_nameindex() if _ipv4(name) or _ipv6(name))
    raise ValueError(
        f"{variable}={os.environ[variable]}: this machine has no such network interface with an address; it has "
        f"{existing}"
    )


def _given_address() -> str | None:
    """Returns the address of this machine that the environment gives.

    Raises
    ------
    ValueError
        If it is not one of this machine.
    """
    host = os.environ.get(_ADDRESS_VARIABLE)
    if not host:
        return None
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, 0, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, kind) as any_socket:
            any_socket.bind(address)
    except OSError as error:
        raise ValueError(f"{_ADDRESS_VARIABLE}={host}: this machine does not have that address ({error})") from None
    return host


def listening(master: tuple[str, int] | None) -> tuple[str, int] | None:
    """Returns the host and port by which a rank chooses the address on which it listens: an address of its own if the
    environment names one or an interface, otherwise those of the master."""
    own = _given_address()
    if own is None:
        named = requested(None if master is None else master[0])
        own = None if named is None else named[1]
    if own is None:
        return master
    return own, _DISCARD if master is None else master[1]
