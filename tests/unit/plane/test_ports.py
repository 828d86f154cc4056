import socket

import pytest

from kubedyno.plane.ports import LOOPBACK, counted_ports, free_ports

pytestmark = pytest.mark.unit


def test_free_ports_can_be_bound_and_never_come_twice() -> None:
    draw = free_ports()
    ports = [draw() for _ in range(200)]
    assert len(set(ports)) == len(ports)
    with socket.socket() as server:
        server.bind((LOOPBACK, ports[-1]))
        assert server.getsockname() == (LOOPBACK, ports[-1])


def test_a_port_that_is_taken_is_not_drawn() -> None:
    draw = free_ports()
    with socket.socket() as server:
        server.bind((LOOPBACK, 0))
        server.listen()
        taken = server.getsockname()[1]
        assert taken not in [draw() for _ in range(50)]


def test_counted_ports_count() -> None:
    draw = counted_ports(10000)
    assert [draw() for _ in range(3)] == [10000, 10001, 10002]
