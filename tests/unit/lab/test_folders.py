import asyncio
import sys
from pathlib import Path

import pytest

from kubedyno.kit.errors import UsageError
from kubedyno.lab.folders import ComponentStatus, LabFolder, LabStatus, choose, folder, labs
from kubedyno.lab.spec import LabSpec

pytestmark = pytest.mark.unit

OWNER = """
import pathlib, sys
from kubedyno.lab.folders import LabFolder
with LabFolder(pathlib.Path(sys.argv[1])).hold() as mine:
    print(mine, flush=True)
    sys.stdin.read()
"""


def status(state: str = "ready") -> LabStatus:
    return LabStatus(
        name="lab",
        state=state,
        engine="local",
        scheduler="kai",
        kubelet="kwok",
        profile="scale",
        nodes=3,
        owner_pid=1,
        started_at="2026-01-02T03:04:05.000000Z",
        kubeconfig="/k",
        components=(ComponentStatus(name="etcd", program="etcd", version="v3", pid=2, ports={"client": 1}),),
        settings=({"component": "etcd", "wanted": None},),
    )


def made(state: Path, *names: str) -> list[LabFolder]:
    for name in names:
        folder(state, name).path.mkdir(parents=True)
    return [folder(state, name) for name in names]


async def test_a_lab_is_owned_until_its_owner_is_killed(tmp_path: Path) -> None:
    (lab,) = made(tmp_path, "lab")
    assert not lab.owned()
    owner = await asyncio.create_subprocess_exec(
        sys.executable, "-c", OWNER, lab.path, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert owner.stdout is not None
    assert await owner.stdout.readline() == b"True\n"
    lab.write_status(status())
    assert lab.owned()
    assert lab.read_status() == status()
    with lab.hold() as mine:
        assert not mine
    owner.kill()
    await owner.wait()
    assert not lab.owned()
    dead = lab.read_status()
    assert dead is not None
    assert (dead.state, dead.components, dead.message) == ("dead", (), "its owner process is gone")


@pytest.mark.parametrize(("said", "read"), [("failed", "failed"), ("starting", "dead"), ("stopping", "dead")])
def test_without_an_owner_only_a_failure_stays_what_it_was(tmp_path: Path, said: str, read: str) -> None:
    (lab,) = made(tmp_path, "lab")
    lab.write_status(status(said))
    found = lab.read_status()
    assert found is not None
    assert found.state == read


def test_a_status_that_is_missing_or_broken_is_none(tmp_path: Path) -> None:
    (lab,) = made(tmp_path, "lab")
    assert lab.read_status() is None
    (lab.path / "status.json").write_text('{"name": "cut')
    assert lab.read_status() is None


def test_the_spec_is_kept(tmp_path: Path) -> None:
    (lab,) = made(tmp_path, "lab")
    spec = LabSpec(name="lab", scheduler="kai", settings={"binder": {"qps": "1"}})
    lab.write_spec(spec)
    assert lab.read_spec() == spec


def test_removing_leaves_nothing(tmp_path: Path) -> None:
    (lab,) = made(tmp_path, "lab")
    lab.write_status(status())
    assert not lab.owned()
    lab.remove()
    assert list((tmp_path / "labs").iterdir()) == []
    lab.remove()


def test_labs_are_listed_by_name_without_their_locks(tmp_path: Path) -> None:
    assert list(labs(tmp_path)) == []
    made(tmp_path, "b", "a")
    assert not folder(tmp_path, "a").owned()
    with folder(tmp_path, "a").hold():
        assert (tmp_path / "labs" / "a.lock").exists()
        assert [lab.name for lab in labs(tmp_path)] == ["a", "b"]


def test_the_only_lab_needs_no_name(tmp_path: Path) -> None:
    (lab,) = made(tmp_path, "mine")
    assert choose(tmp_path, None) == lab
    assert choose(tmp_path, "mine") == lab


@pytest.mark.parametrize(
    ("there", "name", "sentence"),
    [
        ((), None, "there is no lab: `kubedyno up` makes one"),
        ((), "x", "there is no lab 'x': none are known; `kubedyno up --name x` makes one"),
        (
            ("default",),
            "dfault",
            "there is no lab 'dfault': did you mean 'default'?; `kubedyno up --name dfault` makes one",
        ),
        (("b", "a"), None, "there are several labs (a, b): choose one with --name"),
        (("b", "a"), "zzz", "there is no lab 'zzz': known are: a, b; `kubedyno up --name zzz` makes one"),
    ],
)
def test_what_is_not_clear_is_asked_for(
    tmp_path: Path, there: tuple[str, ...], name: str | None, sentence: str
) -> None:
    made(tmp_path, *there)
    with pytest.raises(UsageError) as caught:
        choose(tmp_path, name)
    assert str(caught.value) == sentence
