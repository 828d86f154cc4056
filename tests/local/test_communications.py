"""The six communications of trials with the real API server, etcd and scheduler-plugins, against counts of our own."""

from pathlib import Path

import pytest
from tests.labs import lab_in_process
from tests.trials import played, played_on

from kubedyno.kube.resources import NODE_RESOURCE_TOPOLOGIES
from kubedyno.lab.auditlogs import audit_logs
from kubedyno.lab.communicating import Part
from kubedyno.lab.lab import Lab
from kubedyno.lab.scenario import scenario
from kubedyno.measure import bottleneck
from kubedyno.measure.records import Communication
from kubedyno.scenarios.numa import zoned

pytestmark = pytest.mark.local

NODES = 4
PODS = 6
ABSENT = 11
COUNTED: dict[str, int] = {}
PARTS: list[Part] = []


@scenario("numa/counted", tags=("numa",))
async def counted(lab: Lab, *, beside: bool = False) -> None:
    """Pods on nodes with zones, with everything counted that we can count ourselves."""
    await zoned.begin(lab, NODES, exporters=None)
    await lab.exporters.start(zoned.EXPORTERS, beside=beside)
    await lab.running(await lab.submit(zoned.exclusive(), count=PODS))
    report = await lab.exporters.refresh()
    COUNTED.update(looks=len(report.view_s), writes=sum(report.writes.values()))
    assert lab.communicating is not None
    PARTS.append(await lab.communicating.take())
    # What the instrument itself asks for belongs to none of them, whatever it is about.
    for _ in range(ABSENT):
        await lab.client.list(NODE_RESOURCE_TOPOLOGIES[0])


def by_number(found: tuple[Communication, ...]) -> dict[int, Communication]:
    return {one.number: one for one in found}


def expect_all(found: dict[int, Communication]) -> None:
    """What every run of the scenario comes to."""
    assert list(found) == [1, 2, 3, 4, 5, 6]
    requests = {number: one.requests or 0 for number, one in found.items()}
    assert requests[1] >= COUNTED["looks"] >= NODES
    assert requests[2] >= COUNTED["writes"] >= NODES
    # A status for each pod, and one for the filler on each node.
    assert requests[3] >= NODES + PODS
    # Without a cache each node is asked for as a pod is filtered, and again as it is scored.
    assert requests[4] >= PODS
    # A binding and an event for each pod.
    assert requests[5] >= 2 * PODS
    # Every write goes to etcd.
    assert requests[6] >= requests[2] // 2 + requests[3]
    for one in found.values():
        assert [percentile.percent for percentile in one.latency] == [50.0, 90.0, 99.0]
        for percentile in one.latency:
            assert 0 <= percentile.lower <= percentile.value <= percentile.upper < 60
    # Exporters look for an object before they create it.
    assert found[2].errors.get("404", 0) <= NODES
    assert found[5].source == "the audit log of the API server"
    assert found[6].source == "etcd_request_duration_seconds of the API server"


@pytest.mark.parametrize("beside", [False, True])
def test_a_numa_trial_with_the_real_plugin_tells_who_asked_whom(beside: bool) -> None:
    PARTS.clear()
    record = played(counted, engine="local", scheduler="plugins", beside=beside)
    assert record.message == ""
    found = by_number(record.communications)
    expect_all(found)
    (part,) = PARTS
    seen = part.seen
    assert seen.server is not None
    assert seen.store is not None
    assert seen.scheduler is not None
    assert seen.kubelets is not None
    assert (seen.scheduler.component, seen.scheduler.attempts) == ("plugins", PODS)
    assert {"kube-apiserver", "etcd", "plugins", "kubelets", "kubedyno"} <= set(seen.cpu_s)
    assert seen.server.requests >= sum(found_of.requests or 0 for found_of in part.communications[1:5]) // 2
    assert bottleneck.decide(seen).evidence


async def test_the_log_is_left_where_somebody_asked_for_it_and_is_read_from_the_beginning_of_the_trial(
    tmp_path: Path,
) -> None:
    async with lab_in_process(tmp_path / "lab", scheduler="plugins", audit_log=True) as lab:
        (log,) = audit_logs(lab.plan)
        records = [await played_on(lab, counted, tmp_path / str(number)) for number in range(2)]
        assert log.stat().st_size > 0
    for record in records:
        assert record.message == ""
        expect_all(by_number(record.communications))
    first, second = (by_number(record.communications)[5].requests or 0 for record in records)
    assert abs(first - second) < first, "the second trial does not count what the first one did"


async def test_a_log_that_is_kept_for_the_figures_alone_is_gone_after_the_trial(tmp_path: Path) -> None:
    async with lab_in_process(tmp_path / "lab", scheduler="plugins", audit_log=True, keeps_audit_log=False) as lab:
        (log,) = audit_logs(lab.plan)
        assert log.exists()
        record = await played_on(lab, counted, tmp_path / "trial")
        assert (record.message, log.exists()) == ("", False)


async def test_without_an_audit_log_it_is_said_what_is_missing(tmp_path: Path) -> None:
    async with lab_in_process(tmp_path / "lab", scheduler="plugins") as lab:
        record = await played_on(lab, counted, tmp_path / "trial")
    found = by_number(record.communications)
    assert [found[number].requests for number in (2, 3, 4, 5)] == [None] * 4
    assert {found[number].note for number in (2, 3, 4, 5)} == {"the lab keeps no audit log: use --audit-log"}
    assert found[1].requests
    assert found[6].requests
