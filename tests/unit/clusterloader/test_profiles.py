"""Profiles of components: where they are asked for, when they are taken, and what is told without them."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, cast

import pytest

from kubedyno.clusterloader.config import Place
from kubedyno.clusterloader.measurements import METHODS
from kubedyno.clusterloader.measurements.measuring import Background, Measurement, Method, Result, Scene
from kubedyno.clusterloader.measurements.params import Params
from kubedyno.clusterloader.measurements.profiles import ALONG
from kubedyno.clusterloader.reporting import summaries
from kubedyno.clusterloader.reporting.profiles import profile_summary
from kubedyno.kit import tasks
from kubedyno.kit.errors import UsageError
from kubedyno.kit.virtualtime import LoopClock
from kubedyno.lab.profiling import Profile, profile_probe, why_not
from kubedyno.lab.scraping import Scraper
from kubedyno.plane.component import Component, Probe

pytestmark = pytest.mark.unit

ETCD = Component(name="etcd", program="etcd", args=("--enable-pprof=true",), ports={"client": 1, "metrics": 2})
SERVER = Component(name="kube-apiserver-1", program="kube-apiserver", ports={"secure": 3})
SCHEDULER = Component(name="kube-scheduler", program="kube-scheduler", ports={"secure": 4})


def test_each_program_is_asked_where_it_serves_with_the_identity_that_it_lets_in() -> None:
    assert profile_probe(ETCD, "heap", takes_s=0) == Probe(
        url="https://127.0.0.1:1/debug/pprof/heap", identity="etcd-client", within_s=20.0
    )
    assert profile_probe(SERVER, "block", takes_s=0) == Probe(
        url="https://127.0.0.1:3/debug/pprof/block", identity="admin", within_s=20.0
    )
    assert profile_probe(SCHEDULER, "profile", takes_s=10) == Probe(
        url="https://127.0.0.1:4/debug/pprof/profile?seconds=10", identity="admin", self_signed=True, within_s=30.0
    )


def test_who_serves_no_profiles_says_what_to_do() -> None:
    assert [why_not(one) for one in (ETCD, SERVER, SCHEDULER)] == ["", "", ""]
    told = "etcd serves no profiles unless it is told to; add --set etcd.enable-pprof=true"
    assert why_not(Component(name="etcd", program="etcd")) == told
    assert why_not(Component(name="binder", program="kai-binder")) == "binder serves no profiles"
    assert Scraper(None).why_unprofiled("etcd").startswith("where the components of this cluster are is not known")


def test_files_are_named_by_host_component_and_method(tmp_path: Path) -> None:
    one = profile_summary("MemoryProfile", "etcd", "etcd", b"\x1f\x8b\xff")
    assert (one.name, one.extension) == ("127.0.0.1_etcd_MemoryProfile", "pprof")
    assert profile_summary("CPUProfile", "etcd-2", "etcd", b"").name == "etcd-2_etcd_CPUProfile"
    path = summaries.write(tmp_path, one, config_name="load", identifier="", wall_ns=0)
    assert path.name.startswith("127.0.0.1_etcd_MemoryProfile_load_1970-01-01T")
    assert path.read_bytes() == b"\x1f\x8b\xff"
    assert one.shown == "3 bytes\n"


class Components:
    """In place of a lab's: each profile is the second at which it was asked for, and takes its time."""

    def __init__(self, clock: LoopClock, problem: str = "") -> None:
        self._clock = clock
        self._begun_ns = clock.monotonic_ns()
        self._problem = problem

    def why_unprofiled(self, program: str) -> str:
        return "" if program == "kube-apiserver" else f"this lab has no {program}"

    async def profiles(self, program: str, kind: str, *, takes_s: int = 0) -> list[Profile]:
        at_s = (self._clock.monotonic_ns() - self._begun_ns) // 10**9
        await self._clock.sleep(takes_s)
        data = b"" if self._problem else f"{kind} {at_s}".encode()
        return [Profile(component=program, program=program, data=data, problem=self._problem)]


Play = Callable[[Measurement, LoopClock], Coroutine[Any, Any, Result]]


def played(method: Method, play: Play, *, problem: str = "") -> Result:
    async def run() -> Result:
        clock = LoopClock(asyncio.get_running_loop())
        async with tasks.owning() as group:
            background = Background(group)
            unused = cast("Any", None)
            scene = Scene(
                client=unused,
                clock=clock,
                background=background,
                scraper=cast("Scraper", Components(clock, problem)),
                scrapes=unused,
                prefix="",
                render=unused,
                unleash=unused,
            )
            try:
                return await play(method.make("A", scene), clock)
            finally:
                background.end()

    return tasks.run(run, virtual=True)


def params(action: str, component: str = "kube-apiserver") -> Params:
    values = {"action": action, "componentName": component}
    return Params(values, of="CPUProfile A", place=Place("config.yaml", 1))


def after(seconds: float) -> Play:
    async def play(measurement: Measurement, clock: LoopClock) -> Result:
        assert await measurement.execute(params("start")) == Result()
        await clock.sleep(seconds)
        return await measurement.execute(params("gather"))

    return play


@pytest.mark.parametrize(
    ("method", "seconds", "taken"),
    [
        # Whoever asks for a CPU profile gets one of the beginning; one that is being taken is waited for.
        (METHODS["CPUProfile"], 0, [b"profile 0"]),
        (METHODS["CPUProfile"], 3, [b"profile 0"]),
        (METHODS["CPUProfile"], 700, [b"profile 0", b"profile 310", b"profile 620"]),
        # What is there at once tells of all the time before: it is asked for at the end, too.
        (METHODS["MemoryProfile"], 3, [b"heap 3"]),
        (METHODS["BlockProfile"], 700, [b"block 300", b"block 600", b"block 700"]),
        # As a part of TestMetrics it does not disturb the first five minutes.
        (ALONG["CPUProfile"], 299, []),
        (ALONG["CPUProfile"], 301, [b"profile 300"]),
        (ALONG["MemoryProfile"], 3, [b"heap 3"]),
    ],
)
def test_profiles_are_taken_every_five_minutes(method: Method, seconds: float, taken: list[bytes]) -> None:
    result = played(method, after(seconds))
    assert [one.text for one in result.summaries] == taken
    assert result.errors == result.remarks == ()


def test_a_profile_that_cannot_be_read_is_an_error_when_there_is_no_other() -> None:
    result = played(METHODS["MemoryProfile"], after(3), problem="answered 404")
    assert result == Result(errors=("MemoryProfile of kube-apiserver: answered 404",))


def test_what_is_not_there_is_skipped_and_what_is_wrong_is_said() -> None:
    async def play(measurement: Measurement, clock: LoopClock) -> Result:
        del clock
        with pytest.raises(UsageError, match="CPUProfile A: gather without a start before it"):
            await measurement.execute(params("gather"))
        with pytest.raises(UsageError, match="'api-server' is not one of etcd, kube-apiserver,"):
            await measurement.execute(params("start", "api-server"))
        skipped = Result(skipped="this lab has no etcd")
        assert await measurement.execute(params("start", "etcd")) == skipped
        return await measurement.execute(params("gather", "etcd"))

    assert played(METHODS["CPUProfile"], play) == Result(skipped="this lab has no etcd")
