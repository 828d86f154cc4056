import socket
from pathlib import Path

import pytest

from kubedyno.plane import ports
from kubedyno.plane.ports import LOOPBACK, counted_ports, free_ports

pytestmark = pytest.mark.unit


def test_free_ports_can_be_bound_and_never_come_twice() -> None:
    draw = free_ports()
    drawn = [draw() for _ in range(200)]
    assert len(set(drawn)) == len(drawn)
    with socket.socket() as server:
        server.bind((LOOPBACK, drawn[-1]))
        assert server.getsockname() == (LOOPBACK, drawn[-1])


def test_they_are_none_of_those_that_the_kernel_gives_to_connections(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for told, lowest in (("20000\t30000\n", 20000), ("1024 65535", 32768), ("", 32768)):
        (tmp_path / "range").write_text(told)
        monkeypatch.setattr(ports, "_KERNELS", tmp_path / "range")
        draw = free_ports()
        assert all(10000 <= draw() < lowest for _ in range(200))


def test_a_port_that_is_taken_is_not_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as server:
        server.bind((LOOPBACK, 0))
        server.listen()
        taken = server.getsockname()[1]
        offered = iter([taken, taken, free_ports()()])
        monkeypatch.setattr(ports.secrets, "choice", lambda _: next(offered))
        assert free_ports()() != taken


def test_counted_ports_count() -> None:
    draw = counted_ports(10000)
    assert [draw() for _ in range(3)] == [10000, 10001, 10002]
