"""Each line of the audit on the real engine: a run with the cause is called out, the same run without it is not."""

import asyncio
import contextlib
import itertools
import multiprocessing
import os
import signal
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
import pytest
from tests.faultproxy import FaultProxy, fault_proxy
from tests.labs import lab_in_process
from tests.processes import simulating, until_page
from tests.worlds import until

from kubedyno.client import kubeconfig
from kubedyno.client.rest import Client
from kubedyno.kit.clock import RealClock
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import PODS
from kubedyno.lab.auditing import Auditor
from kubedyno.lab.effective import effective_settings
from kubedyno.lab.judging import Evidence, judge
from kubedyno.lab.starting import RunningLab
from kubedyno.measure.audit import Audit
from kubedyno.measure.following import Following, following
from kubedyno.measure.records import Finding, Verdict
from kubedyno.model.lifecycles import Followed
from kubedyno.model.settings import Evidence as Shown
from kubedyno.plane.health import Prober
from kubedyno.plane.settings import with_flags
from kubedyno.schedulers import SCHEDULERS
from kubedyno.sim import mounting
from kubedyno.workload.pacing import planned

pytestmark = pytest.mark.local

WITHIN_S = 90.0
LEASE_S = 4
_NUMBERS = itertools.count()


def pods(count: int, *, scheduler_name: str) -> list[Object]:
    wave = next(_NUMBERS)
    container = {"name": "main", "image": "simulated", "resources": {"limits": {"nvidia.com/gpu": "1"}}}
    return [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": f"wave-{wave}-{index}",
                "namespace": "default",
                "labels": {"kai.scheduler/queue": "default-queue"},
            },
            "spec": {
                "schedulerName": scheduler_name,
                "terminationGracePeriodSeconds": 0,
                "restartPolicy": "Never",
                "containers": [container],
            },
        }
        for index in range(count)
    ]


async def bound_and_gone(lab: RunningLab, wanted: Sequence[Object]) -> None:
    """Create pods, see them bound, and delete them."""
    names = {pod["metadata"]["name"] for pod in wanted}

    def all_bound(found: list[Object]) -> bool:
        return names <= {pod["metadata"]["name"] for pod in found if pod["spec"].get("nodeName")}

    for pod in wanted:
        await lab.client.create(PODS, pod)
    try:
        await until(lab.client, PODS, all_bound, within_s=WITHIN_S)
    finally:
        for name in names:
            await lab.client.delete(PODS, name, namespace="default")
        await until(
            lab.client, PODS, lambda found: not names & {pod["metadata"]["name"] for pod in found}, within_s=WITHIN_S
        )


async def audited(lab: RunningLab, count: int) -> Audit:
    """The audit of a run in which so many pods are bound."""
    scheduler_name = SCHEDULERS.get(lab.plan.spec.scheduler).dialect.scheduler_name
    async with Auditor(lab, RealClock()) as auditor:
        await auditor.begin()
        await bound_and_gone(lab, pods(count, scheduler_name=scheduler_name))
        return await auditor.end()


def told_as_it_is(audit: Audit) -> bool:
    """Whether the host is a finding exactly if it had nothing left for most of the time; this machine may be busy."""
    found = any(finding.name == "limited by the host" for finding in audit.findings)
    return found == (value(audit, "time with the host's CPU saturated") > 0.5)


def limits_found(audit: Audit) -> dict[str, Finding]:
    """The findings, but for the host's: other tests may keep that busy."""
    return {finding.name: finding for finding in audit.findings if finding.component is not None}


def value(audit: Audit, name: str) -> float:
    return next(line.value for line in audit.lines if line.name == name)


@pytest.fixture(scope="module")
async def kai_lab(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RunningLab]:
    async with lab_in_process(tmp_path_factory.mktemp("audit") / "lab", scheduler="kai", nodes=5) as lab:
        yield lab


@contextlib.asynccontextmanager
async def limited(lab: RunningLab, name: str, flags: Mapping[str, str]) -> AsyncIterator[RunningLab]:
    """The lab with other flags for one of its components, which is started anew; as it was afterwards."""
    (component,) = (one for one in lab.plan.components if one.name == name)
    await lab.supervisor.stop([name])
    await lab.supervisor.start([with_flags(component, flags)])
    try:
        async with Prober(lab.plan.site.pki) as prober:
            settings = await effective_settings(lab.plan, lab.supervisor.processes, prober)
        yield msgspec.structs.replace(lab, settings=tuple(settings))
    finally:
        await lab.supervisor.stop([name])
        await lab.supervisor.start([component])


async def test_a_run_at_full_speed_on_kai_has_no_finding(kai_lab: RunningLab) -> None:
    audit = await audited(kai_lab, 30)
    assert limits_found(audit) == {}
    assert value(audit, "binder: working time that the client's limiter explains") == 0
    assert value(audit, "CPU share of kube-apiserver") > 0


async def test_a_binder_held_back_by_its_client_is_called_out_though_it_says_nothing(kai_lab: RunningLab) -> None:
    # Of two workers none waits for more than a second, from which on a line is printed.
    flags = {"qps": "4", "burst": "8", "max-concurrent-reconciles": "2"}
    async with limited(kai_lab, "binder", flags) as slow:
        audit = await audited(slow, 30)
    finding = limits_found(audit)["limited by binder.qps"]
    assert (finding.component, finding.declared) == ("binder", True)
    assert "60 calls took" in finding.evidence
    assert "the limiter alone explains 1" in finding.evidence
    assert "no line in its log says so" in finding.evidence
    assert "says 4 a second and a burst of 8" in finding.evidence
    shown = {(setting.component, setting.field): setting.evidence for setting in audit.settings}
    assert shown["binder", "qps"] == Shown.BEHAVED
    assert judge(Evidence(audit=audit.lines, findings=audit.findings))[0] == Verdict.PASSED


async def test_a_kai_scheduler_held_back_by_its_client_is_called_out(kai_lab: RunningLab) -> None:
    async with limited(kai_lab, "scheduler", {"qps": "3", "burst": "3"}) as slow:
        audit = await audited(slow, 30)
    assert list(limits_found(audit)) == ["limited by scheduler.qps"]
    finding = limits_found(audit)["limited by scheduler.qps"]
    assert "30 calls took" in finding.evidence
    assert "a bind took" in finding.evidence


async def test_a_kube_scheduler_held_back_by_its_client_is_called_out(tmp_path: Path) -> None:
    slow = {"kube-scheduler": {"clientConnection.qps": "5", "clientConnection.burst": "5"}}
    async with lab_in_process(tmp_path / "lab", scheduler="kube-scheduler", nodes=5, settings=slow) as lab:
        audit = await audited(lab, 30)
    (finding,) = limits_found(audit).values()
    assert (finding.name, finding.declared) == ("limited by kube-scheduler.clientConnection.qps", True)
    assert "requests waited for the client's own limiter" in finding.evidence


async def test_a_run_at_full_speed_on_kube_scheduler_has_no_finding(shared_lab: RunningLab) -> None:
    audit = await audited(shared_lab, 30)
    assert limits_found(audit) == {}
    assert told_as_it_is(audit)
    assert judge(Evidence(audit=audit.lines, findings=audit.findings))[0] == Verdict.PASSED


@pytest.mark.parametrize(("stall_s", "verdict"), [(1.3, Verdict.INVALID), (0.0, Verdict.PASSED)])
async def test_an_event_loop_that_stood_still_makes_a_run_invalid(
    shared_lab: RunningLab, stall_s: float, verdict: Verdict
) -> None:
    async with Auditor(shared_lab, RealClock()) as auditor:
        await auditor.begin()
        await asyncio.sleep(0.1)
        time.sleep(stall_s)  # noqa: ASYNC251, TID251 - the fault that is to be found
        await asyncio.sleep(0.1)
        audit = await auditor.end()
    found, why = judge(Evidence(audit=audit.lines, findings=audit.findings))
    assert found == verdict
    assert ("longest event-loop stall" in why) == (verdict == Verdict.INVALID)


@pytest.fixture
async def proxy(shared_lab: RunningLab, tmp_path: Path) -> AsyncIterator[FaultProxy]:
    async with fault_proxy(kubeconfig.load(shared_lab.kubeconfig), tmp_path) as running:
        yield running


@contextlib.asynccontextmanager
async def audited_behind(proxy: FaultProxy, lab: RunningLab) -> AsyncIterator[tuple[Auditor, Following]]:
    """An auditor of the lab, and a recording of its pods that goes through the proxy."""
    kinds = (Followed(role="pod", resource=PODS, shows=lambda _: ()),)
    async with (
        Client.connect(proxy.access, clock=RealClock()) as client,
        Auditor(lab, client.clock) as auditor,
        following(client, kinds) as followed,
    ):
        yield auditor, followed


@pytest.mark.parametrize(("delay_s", "verdict"), [(2.5, Verdict.INVALID), (0.0, Verdict.PASSED)])
async def test_news_that_comes_late_makes_a_run_invalid(
    shared_lab: RunningLab, proxy: FaultProxy, delay_s: float, verdict: Verdict
) -> None:
    proxy.watch_delay_s = delay_s
    async with audited_behind(proxy, shared_lab) as (auditor, followed):
        await auditor.begin()
        await asyncio.sleep(4.0)
        audit = await auditor.end(recording=followed.recording())
    found, why = judge(Evidence(audit=audit.lines, findings=audit.findings))
    assert found == verdict
    assert ("watch lag p99" in why) == (verdict == Verdict.INVALID)


@pytest.mark.parametrize(("is_gone", "verdict"), [(True, Verdict.INVALID), (False, Verdict.PASSED)])
async def test_watches_that_had_to_list_again_make_a_run_invalid(
    shared_lab: RunningLab, proxy: FaultProxy, verdict: Verdict, *, is_gone: bool
) -> None:
    async with audited_behind(proxy, shared_lab) as (auditor, followed):
        await auditor.begin()
        proxy.fail("410" if is_gone else None, share=1.0, of=("watches",))
        await proxy.go_away()
        await proxy.come_back()
        await asyncio.sleep(1.0)
        proxy.fail(None, of=("watches",))
        await asyncio.sleep(3.0)
        audit = await auditor.end(recording=followed.recording())
    found, why = judge(Evidence(audit=audit.lines, findings=audit.findings))
    assert found == verdict
    assert ("watch relists" in why) == (value(audit, "watch relists") > 0) == is_gone
    assert value(audit, "watch streams cut") > 0


@pytest.fixture
async def beating_lab(tmp_path: Path) -> AsyncIterator[RunningLab]:
    """A lab whose leases are short."""
    folder = tmp_path / "lab"
    async with lab_in_process(folder, scheduler="none", nodes=2, heartbeats=f"{LEASE_S}s") as lab:
        yield lab


async def test_kubelets_that_stood_still_and_kubelets_that_are_played_twice_are_called_out(
    beating_lab: RunningLab, tmp_path: Path
) -> None:
    async def audited_for(seconds: float) -> Audit:
        async with Auditor(beating_lab, RealClock()) as auditor:
            await auditor.begin()
            await asyncio.sleep(seconds)
            return await auditor.end()

    late, contested = "leases renewed too late", "nodes with two simulators"
    audit = await audited_for(LEASE_S)
    assert (value(audit, late), value(audit, contested)) == (0, 0)
    kubelets = beating_lab.supervisor.processes[mounting.NAME]
    os.kill(kubelets.pid, signal.SIGSTOP)
    await asyncio.sleep(1.5 * LEASE_S)
    os.kill(kubelets.pid, signal.SIGCONT)
    audit = await audited_for(LEASE_S)
    assert (value(audit, late) > 0, value(audit, contested)) == (True, 0)
    found, why = judge(Evidence(audit=audit.lines, findings=audit.findings))
    assert (found, late in why) == (Verdict.INVALID, True)
    env = {**os.environ, "XDG_STATE_HOME": str(tmp_path)}
    with simulating(str(beating_lab.kubeconfig), env, "--lease-seconds", str(LEASE_S)) as (_, url):
        await until_page(f"{url}/healthz")
        audit = await audited_for(2.0 * LEASE_S)
    assert value(audit, contested) == 2
    found, why = judge(Evidence(audit=audit.lines, findings=audit.findings))
    assert (found, contested in why) == (Verdict.INVALID, True)


@pytest.mark.parametrize(("blocked_s", "verdict"), [(1.5, Verdict.INVALID), (0.0, Verdict.PASSED)])
async def test_a_submitter_that_is_blocked_makes_a_run_invalid(
    shared_lab: RunningLab, blocked_s: float, verdict: Verdict
) -> None:
    clock = RealClock()
    wanted = iter(pods(10, scheduler_name="nobody"))
    async with Auditor(shared_lab, clock) as auditor:
        await auditor.begin()
        async for planned_ns in planned([0.05 * index for index in range(10)], clock):
            auditor.lateness.note(planned_ns, clock.wall_ns())
            pod = next(wanted)
            await shared_lab.client.create(PODS, pod)
            await shared_lab.client.delete(PODS, pod["metadata"]["name"], namespace="default")
            await asyncio.sleep(blocked_s)
            blocked_s = 0.0
        audit = await auditor.end()
    found, why = judge(Evidence(audit=audit.lines, findings=audit.findings))
    assert found == verdict
    assert ("submit lateness p99" in why) == (verdict == Verdict.INVALID)


def burn() -> None:
    while True:
        sum(range(100_000))


@contextlib.contextmanager
def busy_machine() -> Iterator[None]:
    """More processes that compute than there are cores."""
    context = multiprocessing.get_context("spawn")
    burners = [context.Process(target=burn, daemon=True) for _ in range(multiprocessing.cpu_count() + 1)]
    for burner in burners:
        burner.start()
    try:
        yield
    finally:
        for burner in burners:
            burner.kill()
            burner.join()


async def test_a_busy_host_is_told_as_the_limit_of_a_valid_run(shared_lab: RunningLab) -> None:
    async with Auditor(shared_lab, RealClock()) as auditor:
        with busy_machine():
            await asyncio.sleep(1.0)  # the processes start
            await auditor.begin()
            await asyncio.sleep(4.0)
            audit = await auditor.end()
    (finding,) = (one for one in audit.findings if one.component is None)
    assert (finding.name, finding.declared) == ("limited by the host", True)
    assert "cores were busy in " in finding.evidence
    assert "others " in finding.evidence
    assert judge(Evidence(audit=audit.lines, findings=audit.findings))[0] == Verdict.PASSED
