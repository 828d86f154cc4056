"""Auditing a lab whose components are played: what they serve over time is all that the auditor sees of them."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from tests.labs import lab_in_process

from kubedyno.kit import tasks
from kubedyno.kit.clock import NS_PER_S, Clock, RealClock
from kubedyno.kit.errors import EngineError
from kubedyno.kit.virtualtime import LoopClock
from kubedyno.lab import planning
from kubedyno.lab.auditing import Auditor
from kubedyno.lab.spec import LabSpec, check
from kubedyno.lab.starting import RunningLab
from kubedyno.measure.audit import Audit
from kubedyno.model.settings import Evidence, Setting
from kubedyno.plane.component import Probe
from kubedyno.plane.ports import counted_ports

pytestmark = pytest.mark.unit

PODS = 200
Served = Callable[[float], str]
"""What a component serves so many seconds after the beginning; empty: it does not answer."""


def binder(seconds: float) -> str:
    """KAI's binder at 20 requests a second after a burst of 100, two of them for each pod."""
    pods = min(PODS, (100 + 20 * seconds) / 2 if seconds else 0)
    return (
        f'rest_client_requests_total{{code="200",method="PATCH"}} {3 * pods}\n'
        f'controller_runtime_active_workers{{controller="bindrequest"}} {10 if 0 < pods < PODS else 0}\n'
    )


def server(seconds: float) -> str:
    pods = min(PODS, (100 + 20 * seconds) / 2 if seconds else 0)
    return f'apiserver_request_duration_seconds_count{{resource="pods",subresource="binding",verb="POST"}} {pods}\n'


class Reader:
    """Answers for the components of a plan."""

    def __init__(self, plan: planning.LabPlan, served: Mapping[str, Served], clock: Clock) -> None:
        self._by_port = {
            str(port): served.get(component.name, lambda _: "")
            for component in plan.components
            for port in component.ports.values()
        }
        self._clock = clock
        self._began_ns = clock.wall_ns()
        self.asked: list[str] = []

    async def fetch(self, probe: Probe) -> bytes:
        self.asked.append(probe.url)
        port = probe.url.split(":")[2].split("/")[0]
        text = self._by_port[port]((self._clock.wall_ns() - self._began_ns) / NS_PER_S)
        if not text:
            raise EngineError(f"{probe.url} could not be read: it is away")
        return text.encode()


def played(
    folder: Path, served: Mapping[str, Served], clock: Clock, *, settings: tuple[Setting, ...] = (), **options: Any
) -> RunningLab:
    defaults = {"engine": "local", "kubelet": "none", "scheduler": "kai"}
    spec = check(LabSpec(name="test", **{**defaults, **options}))
    plan = planning.plan(spec, folder=folder, draw_port=counted_ports(1000))
    processes = {component.name: SimpleNamespace(pid=1 << 30) for component in plan.components}
    return RunningLab(
        plan=plan,
        client=cast("Any", None),
        supervisor=cast("Any", SimpleNamespace(processes=processes)),
        activities=cast("Any", SimpleNamespace(running={})),
        scheduler=cast("Any", None),
        kubeconfig=folder,
        settings=settings,
        reader=Reader(plan, served, clock),
    )


def setting(field: str, value: str, *, wanted: str | None) -> Setting:
    return Setting(
        component="binder", field=field, wanted=wanted, value=value, evidence=Evidence.ARGV, source="/proc/7/cmdline"
    )


LIMITS = (setting("qps", "20", wanted="20"), setting("burst", "100", wanted="100"))


def in_virtual_time(main: Callable[[Clock], Coroutine[Any, Any, Audit]]) -> Audit:
    async def run() -> Audit:
        return await main(LoopClock(asyncio.get_running_loop()))

    return tasks.run(run, virtual=True)


@pytest.mark.parametrize(
    ("options", "settings", "declared"),
    [
        ({"profile": "scale"}, LIMITS, True),
        ({"profile": "scale"}, tuple(setting(one.field, one.value, wanted=None) for one in LIMITS), False),
        ({"profile": "production"}, tuple(setting(one.field, one.value, wanted=None) for one in LIMITS), True),
    ],
)
def test_a_throttled_binder_is_found_and_is_declared_if_somebody_asked_for_it(
    tmp_path: Path, options: dict[str, Any], settings: tuple[Setting, ...], declared: bool
) -> None:
    async def audit(clock: Clock) -> Audit:
        lab = played(tmp_path, {"binder": binder, "kube-apiserver": server}, clock, settings=settings, **options)
        async with Auditor(lab, clock) as auditor:
            await auditor.begin()
            await clock.sleep(30)
            return await auditor.end()

    (finding,) = (one for one in in_virtual_time(audit).findings if one.component)
    assert (finding.name, finding.component, finding.declared) == ("limited by binder.qps", "binder", declared)
    assert "400 calls took 1" in finding.evidence


def test_the_same_binder_at_the_programs_default_is_not_found(tmp_path: Path) -> None:
    async def audit(clock: Clock) -> Audit:
        lab = played(tmp_path, {"binder": binder, "kube-apiserver": server}, clock)
        async with Auditor(lab, clock) as auditor:
            await auditor.begin()
            await clock.sleep(30)
            return await auditor.end()

    assert [one for one in in_virtual_time(audit).findings if one.component] == []


def test_lines_of_the_log_count_from_the_beginning_on(tmp_path: Path) -> None:
    line = "Waited for 1.2s due to client-side throttling, not priority and fairness, request: POST:https://x\n"
    log = tmp_path / "logs" / "podgroupcontroller.log"
    log.parent.mkdir()
    log.write_text(line * 5)

    async def audit(clock: Clock) -> Audit:
        async with Auditor(played(tmp_path, {}, clock), clock) as auditor:
            await auditor.begin()
            with log.open("a") as file:
                file.write(line * 2)
            return await auditor.end()

    (finding,) = (one for one in in_virtual_time(audit).findings if one.component)
    assert finding.name == "limited by podgroupcontroller.qps"
    assert "2 lines in its log say so" in finding.evidence
    assert "the program's own default says 50 a second and a burst of 300" in finding.evidence
    assert not finding.declared


def test_whoever_cannot_be_read_is_told_of_and_ends_nothing(tmp_path: Path) -> None:
    async def audit(clock: Clock) -> Audit:
        async with Auditor(played(tmp_path, {"binder": binder}, clock), clock) as auditor:
            await auditor.begin()
            await clock.sleep(3)
            return await auditor.end()

    names = {line.name for line in in_virtual_time(audit).lines}
    assert "kube-apiserver: figures that could not be read" in names
    assert "scheduler: figures that could not be read" in names
    assert "binder: figures that could not be read" not in names


def test_a_paused_component_is_not_asked(tmp_path: Path) -> None:
    async def audit(clock: Clock) -> Audit:
        lab = played(tmp_path, {"binder": binder, "kube-apiserver": server}, clock)
        cast("Any", lab.supervisor).processes.pop("scheduler")
        async with Auditor(lab, clock) as auditor:
            await auditor.begin()
            return await auditor.end()

    assert not any(line.name.startswith("scheduler:") for line in in_virtual_time(audit).lines)


def test_components_are_asked_less_often_as_time_goes_by(tmp_path: Path) -> None:
    readers: list[Reader] = []

    async def audit(clock: Clock) -> Audit:
        lab = played(tmp_path, {"binder": binder}, clock)
        readers.append(cast("Reader", lab.reader))
        async with Auditor(lab, clock) as auditor:
            await auditor.begin()
            await clock.sleep(100)
            return await auditor.end()

    in_virtual_time(audit)
    port = max(readers[0].asked, key=readers[0].asked.count)
    assert 45 <= readers[0].asked.count(port) <= 60  # every second at first, every five in the end


async def test_a_cluster_that_is_not_ours_leaves_the_instrument_to_be_looked_at() -> None:
    async with Auditor(None, RealClock()) as auditor:
        await auditor.begin()
        await asyncio.sleep(0.05)
        audit = await auditor.end()
    names = {line.name for line in audit.lines}
    assert {"longest event-loop stall", "CPU used by kubedyno", "host CPU busy, mean"} <= names
    assert audit.settings == ()
    assert stall_limit(audit) == 1.0
    assert {row.series for row in auditor.rows} >= {"cpu_s", "memory_bytes", "host_busy_s"}


def stall_limit(audit: Audit) -> float | None:
    return next(line.limit for line in audit.lines if line.name == "longest event-loop stall")


async def test_an_embedded_lab_is_audited_and_nothing_is_left_running(tmp_path: Path) -> None:
    before = asyncio.all_tasks()
    async with (
        lab_in_process(tmp_path / "lab", engine="embedded", nodes=1) as lab,
        Auditor(lab, RealClock()) as auditor,
    ):
        await auditor.begin()
        audit = await auditor.end()
    assert {"longest event-loop stall", "lag of kubelets, start p99"} <= {line.name for line in audit.lines}
    assert asyncio.all_tasks() == before
    assert stall_limit(audit) is None  # the API server stands still with us


def test_in_virtual_time_neither_host_nor_loop_is_looked_at(tmp_path: Path) -> None:
    async def audit(clock: Clock) -> Audit:
        lab = played(tmp_path, {}, clock, engine="embedded", scheduler="reference", kubelet="builtin", time="virtual")
        async with Auditor(lab, clock) as auditor:
            await auditor.begin()
            auditor.lateness.note(clock.wall_ns(), clock.wall_ns())
            await clock.sleep(30)
            return await auditor.end()

    first, second = in_virtual_time(audit), in_virtual_time(audit)
    assert first == second
    assert [line.name for line in first.lines] == ["submit lateness p99", "submit lateness at most"]


async def test_a_trial_that_fails_leaves_no_task_of_the_auditor() -> None:
    async def broken_off() -> None:
        async with Auditor(None, RealClock()) as auditor:
            await auditor.begin()
            raise EngineError("the scheduler died")

    before = asyncio.all_tasks()
    with pytest.raises(EngineError):
        await broken_off()
    assert asyncio.all_tasks() == before
