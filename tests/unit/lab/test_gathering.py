"""What is gathered of a submission: from recordings, and from a server in virtual time that may be away."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.rows import pods, row, submission, workload
from tests.unit.measure.worlds_of_recording import World, play

from kubedyno.client.errors import Unreachable
from kubedyno.kit import tasks
from kubedyno.kit.clock import NS_PER_S
from kubedyno.kube.resources import JOBS, KAI_POD_GROUPS, PODS
from kubedyno.lab import control, folders, gathering
from kubedyno.lab.folders import LabStatus
from kubedyno.lab.gathering import PATIENCE_S, Gathered
from kubedyno.lab.selecting import Selection
from kubedyno.measure import spool
from kubedyno.measure.columns import ObjectRow
from kubedyno.measure.live import Live
from kubedyno.measure.spool import Spool
from kubedyno.model.lifecycles import Followed, Lifecycle
from kubedyno.model.samples import Recording
from kubedyno.schedulers import shows

pytestmark = pytest.mark.unit

KINDS = (Followed(PODS, "pod", shows.pod), Followed(JOBS, "job", shows.job))
GROUPS = Followed(KAI_POD_GROUPS, "podgroup", shows.kai_pod_group)


async def asked(world: World, gathered: Gathered, *kinds: Followed) -> list[ObjectRow]:
    return await gathering.ask_cluster(world.client, kinds or KINDS, ("default",), gathered)


def told(rows: list[ObjectRow]) -> list[tuple[str, str]]:
    return [(one.name, one.phase) for one in rows]


def test_what_the_cluster_says_has_its_stamps_and_is_news_once() -> None:
    async def scenario(world: World) -> Any:
        await world.pod("a")
        await world.bind("a")
        await world.clock.sleep(7.3)
        gathered = Gathered()
        return await asked(world, gathered), await asked(world, gathered), gathered

    news, again, gathered = play(scenario)
    assert told(news) == [("a", "created"), ("a", "scheduled")]
    assert {one.source for one in news} == {"server"}
    assert all(one.upper_ns - (one.lower_ns or 0) == NS_PER_S for one in news)
    assert (again, gathered.notes) == ([], [])


def test_what_is_gone_was_deleted() -> None:
    async def scenario(world: World) -> Any:
        await world.pod("a")
        await world.pod("b")
        gathered = Gathered()
        await asked(world, gathered)
        await world.delete("a")
        await world.clock.sleep(60)
        return await asked(world, gathered)

    (deleted,) = play(scenario)
    assert (deleted.name, deleted.phase) == ("a", "deleted")
    assert deleted.upper_ns - (deleted.lower_ns or 0) > 59 * NS_PER_S


def test_a_kind_that_the_server_does_not_have_is_left_out_and_one_that_is_forbidden_is_told() -> None:
    async def scenario(world: World) -> Any:
        await world.pod("a")
        world.wire.refused["GET", "jobs"] = 403
        gathered = Gathered()
        return await asked(world, gathered, GROUPS, *KINDS), gathered.notes

    news, notes = play(scenario)
    assert told(news) == [("a", "created")]
    (note,) = notes
    assert note.startswith("jobs.batch could not be listed: GET /apis/batch/v1/namespaces/default/jobs failed with 403")


def test_what_could_not_be_listed_is_not_taken_for_deleted() -> None:
    async def scenario(world: World) -> Any:
        await world.pod("a")
        gathered = Gathered()
        await asked(world, gathered)
        world.wire.refused["GET", "pods"] = 403
        return await asked(world, gathered)

    assert play(scenario) == []


def test_a_server_that_restarts_is_waited_for() -> None:
    async def scenario(world: World) -> Any:
        await world.pod("a")
        world.wire.is_away = True

        async def come_back() -> None:
            await world.clock.sleep(PATIENCE_S / 2)
            world.wire.is_away = False

        async with tasks.owning() as group:
            group.create_task(come_back())
            return await asked(world, Gathered())

    assert told(play(scenario)) == [("a", "created")]


def test_a_server_that_stays_away_is_given_up() -> None:
    async def scenario(world: World) -> Any:
        world.wire.is_away = True
        before_ns = world.clock.wall_ns()
        with pytest.raises(Unreachable):
            await asked(world, Gathered())
        return (world.clock.wall_ns() - before_ns) / NS_PER_S

    assert PATIENCE_S <= play(scenario) <= 2 * PATIENCE_S


def test_only_news_of_the_submission_is_kept(tmp_path: Path) -> None:
    ours, others = pods("ours", created=1), pods("theirs", created=1, owner="else")
    gathered = Gathered()
    for one in (*ours, *others):
        gathered.take(one)
    gathering.keep([*ours, *others], submission(workload()), gathered, tmp_path)
    gathering.keep(others, submission(workload()), gathered, tmp_path)
    gathering.keep([], submission(workload()), gathered, tmp_path)
    (folder,) = spool.folders(tmp_path / "records")
    assert [rows for chunk in spool.read_objects(folder) for rows in chunk] == ours


def test_all_recordings_are_read_and_counted_along(tmp_path: Path) -> None:
    recording = Recording(began_ns=1, ended_ns=2, lag=None, watches=(), whole=True, proof="")
    for name, phase in (("lab", "created"), ("beside", "running")):
        with Spool(tmp_path / name) as spooled:
            spooled.take(row("p", phase, 1, workload="w-0"))
            if name == "lab":
                spooled.tell(recording)
    lifecycle = Lifecycle(kinds=(), general=("submitted", "last_running"), detailed=("submitted",))
    live = Live(submission(workload()), lifecycle)
    gathered = Gathered(live=live)
    gathering.read_recordings([tmp_path / "lab", tmp_path / "beside", tmp_path / "none"], gathered)
    assert gathered.sightings.sighting("p").phases.keys() == {"created", "running"}
    assert gathered.recordings == [recording]
    assert live.is_over


def _lab(state: Path, name: str, server: str) -> folders.LabFolder:
    lab = folders.folder(state / "kubedyno", name)
    lab.path.mkdir(parents=True)
    cluster = {"name": "c", "cluster": {"server": server}}
    context = {"name": "x", "context": {"cluster": "c", "user": "u"}}
    config = {"clusters": [cluster], "contexts": [context], "users": [{"name": "u"}], "current-context": "x"}
    kubeconfig = lab.path / "admin.yaml"
    kubeconfig.write_bytes(msgspec.json.encode({"apiVersion": "v1", "kind": "Config", **config}))
    lab.write_status(
        LabStatus(
            name=name,
            state="ready",
            engine="embedded",
            scheduler="reference",
            kubelet="builtin",
            profile="scale",
            nodes=0,
            owner_pid=1,
            started_at="2026-01-02T03:04:05Z",
            kubeconfig=str(kubeconfig),
        )
    )
    return lab


def test_of_several_labs_the_one_that_was_submitted_to_is_sampled(tmp_path: Path) -> None:
    env = {"XDG_STATE_HOME": str(tmp_path)}
    submitted = submission(workload(), server="https://127.0.0.1:7")
    one, two = _lab(tmp_path, "one", "https://127.0.0.1:6"), _lab(tmp_path, "two", "https://127.0.0.1:7")
    with one.hold(), two.hold():
        found = gathering.cluster_of(submitted, Selection(), env=env)
        assert found is not None
        assert found.lab == two
        assert found.access.server == "https://127.0.0.1:7"
        other = submission(workload(), server="https://127.0.0.1:8")
        assert gathering.cluster_of(other, Selection(), env=env) is None
        # A cluster that happens to be set is no answer to where it was submitted to.
        assert gathering.cluster_of(other, Selection(), env={**env, "KUBECONFIG": str(one.path / "admin.yaml")}) is None
    assert gathering.cluster_of(submitted, Selection(), env=env) is None, "it has no owner any more"
    found = gathering.cluster_of(submitted, Selection(), env={**env, "KUBECONFIG": str(two.path / "admin.yaml")})
    assert found is not None
    assert found.lab is None


@pytest.mark.parametrize(
    ("answer", "expected"), [({"records": "/elsewhere"}, "/elsewhere"), ({"state": "ready"}, None), (None, None)]
)
def test_a_lab_is_asked_where_it_records(tmp_path: Path, answer: dict[str, Any] | None, expected: str | None) -> None:
    lab = folders.LabFolder(tmp_path / "lab")
    lab.path.mkdir()

    async def answering(request: Any) -> dict[str, Any]:
        assert request == {"ask": "records"}
        return answer or {}

    async def ask() -> Path:
        if answer is None:
            return await gathering.records_of(lab)
        async with control.serve(lab.control_socket, answering):
            return await gathering.records_of(lab)

    assert str(tasks.run(ask)) == (expected or str(lab.path / "records"))
