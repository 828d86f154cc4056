import asyncio
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest
from tests.unit.results.publishing.conftest import RunMaker, over

from kubedyno.kit.errors import UsageError
from kubedyno.measure.records import Verdict
from kubedyno.results.publishing import store as module
from kubedyno.results.publishing.foreign_rows import BROKEN
from kubedyno.results.publishing.manifest import MANIFEST
from kubedyno.results.publishing.places import Place, Stored, StoreError
from kubedyno.results.publishing.store import Store

pytestmark = pytest.mark.unit

GINKGO = b"""[{"SuiteDescription": "S", "SuiteSucceeded": true, "SpecReports": [{"ContainerHierarchyTexts": ["A", "B"],
"LeafNodeType": "It", "LeafNodeText": "fill 10 nodes", "State": "passed", "RunTime": 4000000000, "ReportEntries":
[{"Name": "Test Metrics", "Value": {"AsJSON": "{\\"nodes\\":10,\\"time\\":\\"4s\\"}"}}]}]}]"""


class Watched:
    """A place of which one sees what is written, and at whose files one is stopped or loses."""

    def __init__(self, place: Place, *, stops_at: str = "", loses: bool = False) -> None:
        self._place = place
        self._stops_at = stops_at
        self._loses = loses
        self.written: list[str] = []

    @property
    def url(self) -> str:
        return self._place.url

    async def read(self, name: str) -> Stored | None:
        return await self._place.read(name)

    async def names(self, below: str) -> list[str]:
        return await self._place.names(below)

    async def delete(self, names: list[str]) -> None:
        await self._place.delete(names)

    async def write(self, name: str, source: bytes | Path) -> None:
        self._note(name)
        await self._place.write(name, source)

    async def replace(self, name: str, data: bytes, *, mark: str | None) -> bool:
        self._note(name)
        return not self._loses and await self._place.replace(name, data, mark=mark)

    def _note(self, name: str) -> None:
        if self._stops_at and name.endswith(self._stops_at):
            raise OSError("somebody pulled the plug")
        self.written.append(name)


async def names(store: Store) -> list[str]:
    return sorted(await store.place.names("Public"))


async def content(store: Store) -> dict[str, Stored | None]:
    return {name: await store.place.read(name) for name in await names(store)}


async def ids(store: Store) -> list[str]:
    return [row.id for row in await store.rows()]


async def test_a_run_is_laid_out_as_everybody_reads_it(store: Store, make_run: RunMaker) -> None:
    done = await store.publish(make_run("r1"), commit="abc")
    stored = await store.place.read("Public/manifest.json")
    assert stored is not None
    assert msgspec.json.decode(stored.data) == {
        "runs": [{"timestamp": "2026-01-02T03:04:05.000000Z", "path": "Public/r1/report.json", "commit": "abc"}]
    }
    written = await names(store)
    assert written[:7] == [
        "Public/index/2026-01.json",
        "Public/manifest.json",
        "Public/r1/junit.xml",
        "Public/r1/kwok_scale_test.json",
        "Public/r1/report.json",
        "Public/r1/run.json",
        "Public/r1/summary.md",
    ]
    assert "Public/r1/trials/1-hello/objects.parquet" in written
    assert done.files == len(written) - 2


async def test_the_index_has_what_is_searched_and_drawn(store: Store, make_run: RunMaker) -> None:
    failed = {"scenario": "fill", "verdict": Verdict.FAILED, "message": "n-1 is crowded", "parameters": {"nodes": 9}}
    await store.publish(make_run("r1", trials=[{}, failed]), commit="abc")
    (row,) = await store.rows()
    assert (row.id, row.source, row.commit) == ("r1", "kubedyno", "abc")
    assert row.versions == {"kubedyno": "0.1", "etcd": "v3"}
    assert [(test.name, test.status, test.message, test.nodes, test.scheduler) for test in row.tests] == [
        ("hello", "passed", "", 4, "kai"),
        ("fill", "failed", "n-1 is crowded", 9, "kai"),
    ]
    (figure,) = row.tests[0].figures
    assert (figure.name, figure.unit, figure.value, figure.lower, figure.upper) == ("time", "s", 1.25, 1.0, 1.5)
    assert row.tests[0].series != row.tests[1].series


async def test_a_second_time_changes_nothing(store: Store, make_run: RunMaker) -> None:
    folder = make_run("r1")
    await store.publish(folder, commit="abc")
    before = await content(store)
    watched = Watched(store.place)
    assert (await over(watched).publish(folder, commit="abc")).files == 0
    assert watched.written == []
    assert await content(store) == before


async def test_of_many_that_publish_at_once_nobody_is_lost(store: Store, make_run: RunMaker) -> None:
    wanted = {f"r{number}" for number in range(12)}
    await asyncio.gather(*(over(store.place).publish(make_run(run_id), commit="") for run_id in sorted(wanted)))
    assert {entry.run_id for entry in (await store.manifest()).runs} == wanted
    assert set(await ids(store)) == wanted


@pytest.mark.parametrize("at", ["run.json", "report.json", "2026-01.json", "manifest.json"])
async def test_who_is_stopped_in_the_middle_has_published_nothing_and_may_begin_again(
    store: Store, make_run: RunMaker, at: str
) -> None:
    await store.publish(make_run("r1"), commit="")
    folder = make_run("r2")
    with pytest.raises(OSError, match="somebody pulled the plug"):
        await over(Watched(store.place, stops_at=at)).publish(folder, commit="")
    assert [entry.run_id for entry in (await store.manifest()).runs] == ["r1"]
    assert await ids(store) == ["r1"]
    await store.publish(folder, commit="")
    assert await ids(store) == ["r1", "r2"]


async def test_old_runs_are_taken_out_with_all_that_they_have(store: Store, make_run: RunMaker) -> None:
    for run_id, day in (("old", "2026-01-31"), ("new", "2026-02-02")):
        await store.publish(make_run(run_id, started_at=f"{day}T00:00:00Z"), commit="")
    gone = await store.prune(older_than=datetime(2026, 2, 1, tzinfo=UTC))
    assert [entry.run_id for entry in gone] == ["old"]
    assert await ids(store) == ["new"]
    assert not [name for name in await names(store) if "old" in name]
    assert await store.prune(older_than=datetime(2026, 2, 1, tzinfo=UTC)) == ()


@pytest.mark.parametrize(
    "path", ["report.json", "Public/report.json", "../elsewhere/report.json", "Public/../x/report.json"]
)
async def test_pruning_an_entry_of_others_takes_nothing_that_is_not_its(
    store: Store, make_run: RunMaker, tmp_path: Path, path: str
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "precious").write_text("")
    await store.publish(make_run("r1"), commit="")
    before = set(await names(store))
    odd = b'{"timestamp": "2020-01-01T00:00:00Z", "path": "%s"}' % path.encode()
    stored = await store.place.read(MANIFEST)
    assert stored is not None
    await store.place.write(MANIFEST, stored.data.replace(b'"runs": [', b'"runs": [' + odd + b", "))
    gone = await store.prune(older_than=datetime(2025, 1, 1, tzinfo=UTC))
    assert [entry.path for entry in gone] == [path]
    assert set(await names(store)) == before
    assert await ids(store) == ["r1"]
    assert (elsewhere / "precious").exists()


async def test_a_store_is_rebuilt_from_what_lies_there(store: Store, make_run: RunMaker) -> None:
    await store.publish(make_run("r1"), commit="abc")
    await store.publish(make_run("r2", started_at="2026-03-01T00:00:00Z"), commit="")
    before = await content(store)
    await store.place.delete(["Public/index/2026-01.json", "Public/index/2026-03.json"])
    await store.rebuild()
    assert {name: stored and stored.data for name, stored in (await content(store)).items()} == {
        name: stored and stored.data for name, stored in before.items()
    }
    await store.place.write(MANIFEST, b'{"runs": [{"timest')
    with pytest.raises(StoreError, match=r"half-written or no JSON: .* `kubedyno index rebuild --from "):
        await store.manifest()
    await store.rebuild()
    assert [(entry.run_id, entry.timestamp) for entry in (await store.manifest()).runs] == [
        ("r1", "2026-01-02T03:04:05.000000Z"),
        ("r2", "2026-03-01T00:00:00Z"),
    ]


async def test_an_index_that_cannot_be_read_is_made_anew_where_it_is_needed(store: Store, make_run: RunMaker) -> None:
    await store.publish(make_run("r1"), commit="abc")
    await store.place.write("Public/index/2026-01.json", b'{"runs"')
    assert await ids(store) == ["r1"]


async def test_reports_of_others_are_runs_too_and_broken_ones_say_why(store: Store, make_run: RunMaker) -> None:
    await store.publish(make_run("r1"), commit="")
    await store.place.write("Public/theirs/report.json", GINKGO)
    await store.place.write("Public/cut/report.json", GINKGO[:50])
    await store.place.write(
        MANIFEST,
        b'{"runs": [{"timestamp": "2026-01-01T00:00:00Z", "path": "Public/theirs/report.json"},'
        b'{"timestamp": "2026-01-03T00:00:00Z", "path": "Public/cut/report.json"},'
        b'{"timestamp": "2026-01-04T00:00:00Z", "path": "Public/gone/report.json"}]}',
    )
    rows = {row.id: row for row in await store.rebuild()}
    assert set(rows) == {"r1", "theirs", "cut", "gone"}
    assert rows["theirs"].tests[0].name == "A > B > fill 10 nodes"
    assert (rows["cut"].status, rows["cut"].reason) == (
        BROKEN,
        "it is half-written or no JSON: Input data was truncated",
    )
    assert (rows["gone"].status, rows["gone"].reason) == (BROKEN, "Public/gone/report.json is missing")
    assert await ids(store) == ["theirs", "r1", "cut", "gone"]


async def test_a_manifest_of_a_newer_version_is_left_alone(store: Store, make_run: RunMaker) -> None:
    newer = b'{"format": 7, "runs": []}'
    await store.place.write(MANIFEST, newer)
    for doing in (store.publish(make_run("r1"), commit=""), store.rebuild()):
        with pytest.raises(StoreError, match=r"has format 7, and this kubedyno knows 1: use the one that wrote it$"):
            await doing
    assert {name: stored and stored.data for name, stored in (await content(store)).items()} == {MANIFEST: newer}


async def test_a_folder_that_is_incomplete_is_not_published(store: Store, make_run: RunMaker) -> None:
    folder = make_run("r1")
    (folder / "report.json").unlink()
    with pytest.raises(UsageError, match=r"report.json is missing: the run folder is incomplete; copy it whole$"):
        await store.publish(folder, commit="")
    assert await names(store) == []


async def test_who_loses_each_time_gives_up_with_a_sentence(
    store: Store, make_run: RunMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_TRIES", 3)
    with pytest.raises(StoreError, match=r"was changed by others each of 3 times that it was tried: try again later$"):
        await over(Watched(store.place, loses=True)).publish(make_run("r1"), commit="")
