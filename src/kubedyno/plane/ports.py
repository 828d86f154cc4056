"""Free ports on loopback."""

import socket
from collections.abc import Callable

LOOPBACK = "127.0.0.1"

PortSource = Callable[[], int]
"""Gives a port that nobody listened on a moment ago, and never the same one twice."""


def free_ports() -> PortSource:
    """Ports that the kernel hands out.

    One source never draws a port twice. A stranger may still take one before its component listens; the
    component's failure then names the port.
    """
    drawn: set[int] = set()

    def draw() -> int:
        while True:
            with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
                probe.bind((LOOPBACK, 0))
                port = int(probe.getsockname()[1])
            if port not in drawn:
                drawn.add(port)
                return port

    return draw


def counted_ports(first: int) -> PortSource:
    """`first`, `first + 1`, ...: for printing a plan that is never started."""
    following = iter(range(first, 65536))
    return lambda: next(following)
