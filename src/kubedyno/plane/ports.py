"""Free ports on loopback."""

import secrets
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Final

LOOPBACK = "127.0.0.1"

_KERNELS: Final = Path("/proc/sys/net/ipv4/ip_local_port_range")
_USUAL_LOWEST: Final = 32768
_LOWEST: Final = 10000
_ENOUGH: Final = 5000

PortSource = Callable[[], int]
"""Gives a port that nobody listened on a moment ago, and never the same one twice."""


def free_ports() -> PortSource:
    """Ports below those that the kernel gives to outgoing connections, by chance.

    Among the kernel's own a port is easily taken by somebody's connection before its component listens. One source
    never draws a port twice. A stranger may still take one; the component's failure then names the port.
    """
    drawn: set[int] = set()
    choices = range(_LOWEST, _kernels_lowest())

    def draw() -> int:
        while True:
            port = secrets.choice(choices)
            if port not in drawn and _is_free(port):
                drawn.add(port)
                return port

    return draw


def _kernels_lowest() -> int:
    """Where the kernel's ports for outgoing connections begin; at least as high that there are some below."""
    try:
        told = int(_KERNELS.read_text().split()[0])
    except (OSError, ValueError, IndexError):
        told = _USUAL_LOWEST
    return told if told >= _LOWEST + _ENOUGH else _USUAL_LOWEST


def _is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def counted_ports(first: int) -> PortSource:
    """`first`, `first + 1`, ...: for printing a plan that is never started."""
    following = iter(range(first, 65536))
    return lambda: next(following)
