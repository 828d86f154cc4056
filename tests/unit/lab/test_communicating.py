"""Communications of a trial on the embedded engine, and audit logs whose files change."""

from pathlib import Path

import pytest
from tests.trials import failed_checks, played

from kubedyno.lab import matrix, planning
from kubedyno.lab.auditlogs import AuditLog, audit_logs
from kubedyno.lab.communicating import Part, parties_of
from kubedyno.lab.lab import Lab
from kubedyno.lab.scenario import scenario
from kubedyno.lab.spec import LabSpec
from kubedyno.measure import bottleneck
from kubedyno.plane.ports import counted_ports
from kubedyno.scenarios.numa import zoned

pytestmark = pytest.mark.unit

PARTS: list[Part] = []


@scenario("numa/few", tags=("numa",))
async def few(lab: Lab, *, parts: bool = False) -> None:
    """Four pods on two nodes with zones, in two parts if wanted."""
    await zoned.begin(lab, 2)
    for _ in range(2):
        await lab.running(await lab.submit(zoned.exclusive(), count=2))
        if parts:
            assert lab.communicating is not None
            PARTS.append(await lab.communicating.take())


@scenario("plain")
async def plain(lab: Lab) -> None:
    """Nothing of NUMA."""
    lab.expect("nobody counts who asks whom", lab.communicating is None)


def test_a_numa_trial_tells_who_asked_whom() -> None:
    record = played(few)
    assert (record.message, failed_checks(record)) == ("", [])
    found = {one.number: one for one in record.communications}
    assert list(found) == [1, 2, 3, 4, 5, 6]
    requests = {number: one.requests or 0 for number, one in found.items()}
    assert requests[1] >= 2
    # Each node's object is created, and patched as pods come.
    assert requests[2] >= 4
    # A status for each pod: four, and one filler on each node.
    assert requests[3] >= 6
    # The reference scheduler watches the objects, and did so before the trial began.
    assert requests[4] == 0
    # A binding for each pod.
    assert requests[5] >= 4
    assert (found[6].requests, found[6].note) == (None, "not applicable: the store is in the process of the API server")
    assert [one.latency for one in record.communications] == [()] * 6, "virtual time tells nothing of latency"
    assert found[5].note == "in virtual time a request takes what is charged for it"


def test_parts_of_a_trial_are_told_apart_and_are_in_the_whole() -> None:
    PARTS.clear()
    record = played(few, parts=True)
    assert record.message == ""
    first, second = PARTS
    assert first.until_ns == second.since_ns
    for number, whole in enumerate(record.communications, start=1):
        parts = [part.communications[number - 1] for part in PARTS]
        assert [one.number for one in parts] == [number, number]
        if whole.requests is not None:
            assert sum(one.requests or 0 for one in parts) <= whole.requests
    assert first.communications[4].requests
    assert second.communications[4].requests
    # Nothing takes time there but what is charged: nobody is at his limit.
    assert bottleneck.decide(second.seen).component == bottleneck.NOBODY


def test_other_trials_do_not() -> None:
    record = played(plain)
    assert (record.message, record.communications, failed_checks(record)) == ("", (), [])


@pytest.mark.parametrize(
    ("tags", "engine", "asked", "logs", "kept"),
    [
        (("numa",), "local", False, True, False),
        (("numa",), "local", True, True, True),
        (("numa",), "embedded", False, False, True),
        (("fill",), "local", False, False, True),
        (("fill",), "local", True, True, True),
    ],
)
def test_numa_trials_on_the_real_api_server_keep_an_audit_log_for_their_figures(
    tags: tuple[str, ...], engine: str, asked: bool, logs: bool, kept: bool
) -> None:
    scheduler = {"local": "plugins", "embedded": "reference"}[engine]
    spec = LabSpec(name="r", engine=engine, scheduler=scheduler, audit_log=asked)
    made = matrix.for_scenario(spec, scenario("some", tags=tags)(plain.function))
    assert (made.audit_log, made.keeps_audit_log) == (logs, kept)
    plan = planning.plan(made, folder=Path("/lab"), draw_port=counted_ports(1))
    assert audit_logs(plan) == ([Path("/lab/logs/kube-apiserver-audit.jsonl")] if logs else [])
    assert any("--audit-log-path" in arg for one in plan.components for arg in one.args) is logs


@pytest.mark.parametrize(
    ("options", "kubelets", "schedulers"),
    [
        (
            {"engine": "local", "scheduler": "plugins"},
            {"kubedyno-kubelets"},
            {"system:kube-scheduler", "scheduler-plugins"},
        ),
        ({"engine": "local", "scheduler": "reference"}, {"kubedyno-kubelets"}, {"kubedyno-scheduler"}),
        ({"engine": "embedded", "scheduler": "reference"}, {"kubelet"}, {"kubedyno-scheduler"}),
        (
            {"engine": "local", "scheduler": "plugins", "kubelet": "kwok"},
            {"kwok", "kubelet"},
            {"system:kube-scheduler", "scheduler-plugins"},
        ),
    ],
)
def test_parties_are_known_by_users_and_programs(
    options: dict[str, str], kubelets: set[str], schedulers: set[str]
) -> None:
    plan = planning.plan(LabSpec(name="r", **options), folder=Path("/lab"), draw_port=counted_ports(1))
    found = parties_of(plan)
    assert (found.kubelets, found.schedulers) == (kubelets, schedulers)


def test_every_api_server_of_a_control_plane_has_a_log_of_its_own() -> None:
    spec = LabSpec(name="r", engine="local", scheduler="plugins", audit_log=True, ha="stacked")
    plan = planning.plan(spec, folder=Path("/lab"), draw_port=counted_ports(1))
    assert [path.name for path in audit_logs(plan)] == [f"kube-apiserver-{index}-audit.jsonl" for index in range(3)]


def text_of(log: AuditLog) -> bytes:
    return b"".join(log.pieces())


def test_an_audit_log_is_read_on_through_changes_of_its_file(tmp_path: Path) -> None:
    path = tmp_path / "kube-apiserver-audit.jsonl"
    path.write_bytes(b"before\n")
    log = AuditLog(path)
    log.skip()
    assert text_of(log) == b""
    with path.open("ab") as file:
        file.write(b"one\n")
    assert text_of(log) == b"one\n"
    # Full, and full again before anybody looks.
    for number, name in enumerate(("2026-11-16T06-05-25.408", "2026-11-16T07-05-25.001")):
        with path.open("ab") as file:
            file.write(f"late {number}\n".encode())
        path.rename(tmp_path / f"kube-apiserver-audit-{name}.jsonl")
    path.write_bytes(b"two\n")
    assert text_of(log) == b"late 0\nlate 1\ntwo\n"
    assert text_of(log) == b""
    log.close()
    log.remove()
    assert list(tmp_path.iterdir()) == []


def test_an_audit_log_that_is_not_there_yet_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "kube-apiserver-audit.jsonl"
    log = AuditLog(path)
    log.skip()
    assert text_of(log) == b""
    path.write_bytes(b"one\n")
    assert text_of(log) == b"one\n"
    log.close()
