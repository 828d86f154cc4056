"""One kubelet's socket."""

import asyncio
import contextlib
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from grpclib.const import Status
from grpclib.exceptions import GRPCError, StreamTerminatedError

from kubedyno.kit.clock import RealClock
from kubedyno.kit.errors import EngineError, UsageError
from kubedyno.model.numa.podresources import Holding, Pod, View
from kubedyno.sim.exporters.views import ViewUnavailable
from kubedyno.sim.podresources import messages
from kubedyno.sim.podresources.serving import serving

pytestmark = pytest.mark.unit

Asks = Callable[[Path], Any]
VIEW = View(pods=(Pod("default", "a", {"main": Holding(cpus=(2, 3))}),), allocatable=Holding(cpus=(0, 1, 2, 3)))
REQUEST = bytes.fromhex("0a0161120764656661756c74")  # default/a


async def told() -> View:
    return VIEW


@pytest.fixture
def path(folder: Path) -> Path:
    return folder / "n" / "kubelet.sock"


async def test_the_three_calls_are_answered(path: Path, asking: Asks) -> None:
    async with serving(path, told, clock=RealClock()):
        ask = asking(path)
        assert await ask("List") == messages.listed(VIEW)
        assert await ask("GetAllocatableResources") == messages.allocatable(VIEW)
        assert await ask("Get", REQUEST) == messages.got(VIEW.pods[0])


async def test_the_socket_is_ours_alone_and_goes_with_its_folder(path: Path) -> None:
    async with serving(path, told, clock=RealClock()):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not path.parent.exists()


@pytest.mark.parametrize(
    ("request_bytes", "status", "message"),
    [
        (bytes.fromhex("0a0162120764656661756c74"), Status.UNKNOWN, "pod b in namespace default not found"),
        (b"\x0a\x05a", Status.INTERNAL, "the request is no protobuf message"),
    ],
)
async def test_a_pod_that_is_not_there_has_the_kubelets_own_error(
    path: Path, asking: Asks, request_bytes: bytes, status: Status, message: str
) -> None:
    async with serving(path, told, clock=RealClock()):
        with pytest.raises(GRPCError) as caught:
            await asking(path)("Get", request_bytes)
    assert (caught.value.status, caught.value.message) == (status, message)


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (ViewUnavailable("node n is gone"), Status.UNAVAILABLE, "node n is gone"),
        (
            ViewUnavailable("rpc error: code = ResourceExhausted desc = rejected by rate limit", "ResourceExhausted"),
            Status.RESOURCE_EXHAUSTED,
            "rejected by rate limit",
        ),
    ],
)
async def test_a_kubelet_that_does_not_tell_says_why(
    path: Path, asking: Asks, error: ViewUnavailable, status: Status, message: str
) -> None:
    async def fail() -> View:
        raise error

    async with serving(path, fail, clock=RealClock()):
        with pytest.raises(GRPCError) as caught:
            await asking(path)("List")
    assert (caught.value.status, caught.value.message) == (status, message)


async def test_who_asks_too_often_is_refused_as_by_a_kubelet(path: Path, asking: Asks) -> None:
    async with serving(path, told, clock=RealClock()):
        ask = asking(path)
        answers = await asyncio.gather(*(ask("List") for _ in range(100)), return_exceptions=True)
    refused = [answer for answer in answers if isinstance(answer, GRPCError)]
    assert len(answers) - len(refused) >= 10
    assert refused
    assert {(error.status, error.message) for error in refused} == {
        (Status.RESOURCE_EXHAUSTED, "rejected by rate limit")
    }


async def test_a_caller_whose_time_is_over_is_not_waited_for(path: Path, asking: Asks) -> None:
    ended = asyncio.Event()

    async def hang() -> View:
        try:
            await asyncio.sleep(3600)
        finally:
            ended.set()
        return VIEW

    async with serving(path, hang, clock=RealClock()):
        with pytest.raises((asyncio.TimeoutError, GRPCError)):
            await asking(path)("List", timeout_s=0.05)
        async with asyncio.timeout(5):
            await ended.wait()


async def test_closing_ends_connections_and_calls_under_way(path: Path, asking: Asks) -> None:
    called = asyncio.Event()

    async def hang() -> View:
        called.set()
        await asyncio.sleep(3600)
        return VIEW

    async with contextlib.AsyncExitStack() as stack:
        await stack.enter_async_context(serving(path, hang, clock=RealClock()))
        call = asyncio.ensure_future(asking(path)("List"))
        await called.wait()
        async with asyncio.timeout(5):
            await stack.aclose()
    with pytest.raises((StreamTerminatedError, GRPCError)):
        await call


async def test_a_socket_that_nobody_listens_at_is_replaced(path: Path, asking: Asks) -> None:
    async with serving(path, told, clock=RealClock()):
        path.rename(path.with_name("left"))
    path.with_name("left").rename(path)
    async with serving(path, told, clock=RealClock()):
        assert await asking(path)("List")


async def test_a_socket_that_somebody_answers_at_is_left_alone(path: Path, asking: Asks) -> None:
    async with serving(path, told, clock=RealClock()):
        with pytest.raises(UsageError, match=r"somebody answers at .*kubelet\.sock already: end that simulator"):
            async with serving(path, told, clock=RealClock()):
                pass
        assert await asking(path)("List")


async def test_a_file_that_is_no_socket_is_left_alone(path: Path) -> None:
    path.parent.mkdir()
    path.write_text("mine")
    with pytest.raises(UsageError, match="is there and is no socket: take it away, or name another folder"):
        async with serving(path, told, clock=RealClock()):
            pass
    assert path.read_text() == "mine"


async def test_a_folder_that_cannot_be_made_is_told(folder: Path) -> None:
    (folder / "n").write_text("a file")
    with pytest.raises((UsageError, EngineError), match="cannot be made: "):
        async with serving(folder / "n" / "kubelet.sock", told, clock=RealClock()):
            pass
