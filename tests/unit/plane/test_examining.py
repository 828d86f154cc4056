"""What `doctor` makes of a machine."""

from pathlib import Path

import msgspec
import pytest

from kubedyno.client.access import Access
from kubedyno.plane import examining
from kubedyno.plane.examining import Facts
from kubedyno.plane.finding import Found, Missing

pytestmark = pytest.mark.unit

GIB = 1024**3
GOOD = Facts(
    python="3.11.7",
    system="Linux 6.1 x86_64",
    cores=2,
    memory_bytes=24 * GIB,
    disk_free_bytes={"/cache": 50 * GIB},
    open_files=20000,
    processes=-1,
    loopback_problem="",
    go="1.26.8 (/usr/local/go/bin/go)",
    programs=(Found(name="etcd", path=Path("/bin/etcd"), version="v3.6.16", source="cache"),),
)


def test_a_good_machine_has_nothing_to_fix() -> None:
    findings = examining.judge(GOOD)
    assert {finding.state for finding in findings} == {"ok"}
    assert not any(finding.fix for finding in findings)
    by_name = {finding.name: finding.value for finding in findings}
    assert by_name["etcd"] == "v3.6.16 from cache: /bin/etcd"
    assert by_name["limit of processes"] == "unlimited"


@pytest.mark.parametrize(
    ("change", "name", "state", "fix"),
    [
        ({"system": "Darwin 25 arm64"}, "system", "broken", "run it on Linux"),
        ({"cores": 1}, "cores", "warning", "use two cores or more"),
        ({"memory_bytes": GIB}, "memory", "warning", "use a machine with 4.0 GiB or more"),
        ({"disk_free_bytes": {"/cache": GIB}}, "disk of /cache", "broken", "free 2.0 GiB there, or set XDG_CACHE_HOME"),
        ({"open_files": 1024}, "limit of open files", "broken", "`ulimit -n 65536` in the shell"),
        ({"processes": 100}, "limit of processes", "broken", "`ulimit -u 4096` in the shell"),
        ({"loopback_problem": "No such device"}, "loopback ports", "broken", "check the loopback interface"),
        (
            {"programs": (Missing(name="kwok", version="v0.8.0", skipped=("/usr/bin/kwok is too old",)),)},
            "kwok",
            "warning",
            "`kubedyno setup kwok`",
        ),
    ],
)
def test_each_finding_has_its_fix(change: dict[str, object], name: str, state: str, fix: str) -> None:
    findings = examining.judge(msgspec.structs.replace(GOOD, **change))
    (finding,) = [found for found in findings if found.state != "ok"]
    assert (finding.name, finding.state) == (name, state)
    assert finding.fix.startswith(fix)


def test_building_needs_more_disk_than_running() -> None:
    missing = Missing(name="kwok", version="v0.8.0")
    tight = msgspec.structs.replace(GOOD, disk_free_bytes={"/cache": 5 * GIB})
    assert all(finding.state == "ok" for finding in examining.judge(tight))
    building = msgspec.structs.replace(tight, programs=(missing,))
    assert any(finding.name == "disk of /cache" and finding.state == "broken" for finding in examining.judge(building))


def test_without_go_a_set_up_brings_its_own() -> None:
    finding = next(f for f in examining.judge(msgspec.structs.replace(GOOD, go=None)) if f.name == "Go")
    assert finding.state == "ok"
    assert "brings its own" in finding.value


async def test_the_machine_is_asked_and_nothing_is_made(tmp_path: Path) -> None:
    facts = await examining.gather(
        cache=tmp_path / "cache", state=tmp_path / "state", bin_dir=None, env={"PATH": "/nowhere"}
    )
    assert facts.cores >= 1
    assert facts.loopback_problem == ""
    assert facts.go is None
    assert {type(item) for item in facts.programs} == {Missing}
    assert set(facts.disk_free_bytes) == {str(tmp_path / "cache"), str(tmp_path / "state")}


async def test_a_program_that_could_not_be_built_says_why(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "build-resource-topology-exporter.log").write_text(
        "go: downloading example.com/a v1.0.0\nexample.com/b@v1.0.0: 403 Forbidden\n"
    )
    (logs / "build-kwok.log").write_text("go: downloading example.com/a v1.0.0\n")
    facts = await examining.gather(cache=tmp_path, state=tmp_path, bin_dir=None, env={"PATH": "/nowhere"})
    found = {finding.name: finding for finding in examining.judge(facts)}
    exporter = found["resource-topology-exporter"]
    assert exporter.state == "warning"
    assert exporter.value == (
        "v0.24.0 is not there; it could not be built: example.com/b@v1.0.0: 403 Forbidden"
        f" (log: {logs / 'build-resource-topology-exporter.log'})"
    )
    assert exporter.fix == "`kubedyno setup resource-topology-exporter`"
    assert found["kwok"].value == "v0.8.0 is not there"


async def test_a_cluster_that_does_not_answer_is_a_finding(unused_tcp_port: int) -> None:
    finding = await examining.cluster(Access(server=f"http://127.0.0.1:{unused_tcp_port}"))
    assert finding.state == "broken"
    assert finding.value.startswith(f"the API server at http://127.0.0.1:{unused_tcp_port} cannot be connected to")
