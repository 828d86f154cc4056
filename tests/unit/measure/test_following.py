"""Following kinds for a recorder, in virtual time."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from worlds_of_recording import NAMESPACE, World, play

from kubedyno.client.errors import ApiError, Unreachable
from kubedyno.kit.clock import NS_PER_S
from kubedyno.kube.resources import CONFIG_MAPS, JOBS, PODS, Resource
from kubedyno.measure.columns import ObjectRow, SeriesRow
from kubedyno.measure.following import LOOK_AGAIN_S, Probing, following
from kubedyno.measure.spool import Spool, read_objects, read_recording, read_series
from kubedyno.model.lifecycles import Followed, Shown
from kubedyno.schedulers import shows

pytestmark = pytest.mark.unit

KINDS = (Followed(PODS, "pod", shows.pod), Followed(JOBS, "job", shows.job))
WIDGETS = Resource("example.com", "v1", "Widget", "widgets", namespaced=True)
WIDGET_DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "kind": "Widget"},
        "versions": [
            {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
        ],
    },
}


def phases(rows: list[ObjectRow], name: str) -> list[str]:
    return [row.phase for row in rows if row.name == name]


def test_all_that_happens_is_recorded_and_proven() -> None:
    async def scenario(world: World) -> Any:
        await world.pod("old")
        await world.clock.sleep(5.25)
        rows: list[ObjectRow] = []
        async with following(world.client, KINDS, sinks=(rows.append,)) as made:
            await world.clock.sleep(1.7)
            await world.pod("new")
            await world.clock.sleep(0.3)
            await world.bind("new")
            await world.delete("old")
            recording = await made.prove()
            assert made.recorder.held == 0
        left = await world.actor.list_all(CONFIG_MAPS, namespace=NAMESPACE)
        return rows, recording, world.clock.wall_ns(), left.items

    rows, recording, now_ns, left = play(scenario)
    assert phases(rows, "old") == ["created", "deleted"]
    assert phases(rows, "new") == ["created", "scheduled"]
    assert [(row.phase, row.source) for row in rows][:2] == [("created", "server"), ("created", "watch")]
    for row in rows[1:]:
        assert row.lower_ns is not None
        assert row.lower_ns <= row.arrival_ns == row.upper_ns
        # Nothing is in doubt for longer than it takes until the next probe.
        assert row.upper_ns - row.lower_ns <= 0.5 * NS_PER_S
    assert recording.whole
    assert recording.proof == (
        "All 1 objects that the server lists are known at the version that it lists, and no stream broke."
    )
    assert [(one.resource, one.changes > 2, one.cuts, one.relists) for one in recording.watches] == [
        ("pods", True, 0, 0),
        ("jobs.batch", False, 0, 0),
    ]
    assert recording.began_ns < recording.ended_ns <= now_ns
    assert recording.lag is not None
    assert recording.lag.max_s == 0
    assert [one["metadata"]["name"] for one in left] == []


@pytest.mark.parametrize("cut", [False, True])
def test_streams_that_break_are_resumed_and_counted(cut: bool) -> None:
    async def scenario(world: World) -> Any:
        rows: list[ObjectRow] = []
        async with following(world.client, KINDS[:1], sinks=(rows.append,)) as made:
            for number in range(20):
                await world.pod(f"p{number}")
                await world.bind(f"p{number}")
                if number % 5 == 0:
                    await world.clock.sleep(0.7)
                if number % 5 == 1:
                    world.wire.end_streams(cut=cut)
                if number % 5 == 2:
                    await world.delete(f"p{number}")
            return rows, await made.prove()

    rows, recording = play(scenario)
    for number in range(20):
        assert phases(rows, f"p{number}") == ["created", "scheduled", *(["deleted"] if number % 5 == 2 else [])]
    assert recording.whole
    assert recording.watches[0].cuts == 4
    assert recording.proof.endswith("4 broken streams were resumed at the version where they ended.")


def test_a_server_that_is_away_is_waited_for() -> None:
    async def scenario(world: World) -> Any:
        rows: list[ObjectRow] = []
        async with following(world.client, KINDS[:1], sinks=(rows.append,)) as made:
            await world.pod("before")
            await world.clock.sleep(1)
            world.wire.is_away = True
            world.wire.end_streams(cut=True)
            await world.clock.sleep(0.001)
            await world.pod("meanwhile")
            await world.clock.sleep(30)
            world.wire.is_away = False
            await world.clock.sleep(30)
            await world.pod("after")
            return rows, await made.prove()

    rows, recording = play(scenario)
    meanwhile = next(row for row in rows if row.name == "meanwhile")
    assert recording.whole
    assert phases(rows, "before") == phases(rows, "after") == ["created"]
    # It arrived long after it happened. The order of versions and the stamp say when that was.
    assert meanwhile.arrival_ns - meanwhile.upper_ns > 28 * NS_PER_S
    assert meanwhile.lower_ns is not None
    assert meanwhile.upper_ns - meanwhile.lower_ns <= NS_PER_S


def test_states_that_the_server_forgot_make_a_recording_incomplete() -> None:
    async def scenario(world: World) -> Any:
        rows: list[ObjectRow] = []
        async with following(world.client, KINDS[:1], sinks=(rows.append,)) as made:
            await world.pod("a")
            await world.pod("b")
            await world.clock.sleep(1)
            world.wire.is_away = True
            world.wire.end_streams(cut=True)
            await world.clock.sleep(0.001)
            await world.delete("b")
            for number in range(30):
                await world.pod(f"lost-{number}")
                await world.delete(f"lost-{number}")
            await world.bind("a")
            world.wire.is_away = False
            await world.clock.sleep(10)
            return rows, await made.prove()

    rows, recording = play(scenario, keep_events=10)
    assert phases(rows, "a") == ["created", "scheduled"]
    assert phases(rows, "b") == ["created", "deleted"]
    assert not any(row.name.startswith("lost") for row in rows)
    assert not recording.whole
    assert recording.watches[0].relists == 1
    assert recording.proof == (
        "States of pods may be missing: the server no longer had what came after the last version seen, and all were "
        "listed anew (once)."
    )


def test_a_kind_that_the_server_lacks_is_followed_once_it_has_it() -> None:
    kind = Followed(WIDGETS, "workload", lambda obj: [Shown("created", obj["metadata"]["creationTimestamp"])])

    async def scenario(world: World) -> Any:
        rows: list[ObjectRow] = []
        async with following(world.client, (*KINDS, kind), sinks=(rows.append,)) as made:
            first = await made.prove()
            await world.actor.create(await world.actor.resource_of(WIDGET_DEFINITION), WIDGET_DEFINITION)
            await world.clock.sleep(2 * LOOK_AGAIN_S)
            widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}}
            await world.actor.create(WIDGETS, widget, namespace=NAMESPACE)
            await made.settled()
            return rows, first, await made.prove()

    rows, first, recording = play(scenario)
    assert first.whole
    assert recording.whole
    assert [(row.kind, row.name, row.source) for row in rows] == [("Widget", "w", "watch")]
    assert recording.watches[2].changes == 1


def test_a_kind_that_may_not_be_read_is_left_out_and_told() -> None:
    async def scenario(world: World) -> Any:
        world.wire.refused["GET", "jobs"] = 403
        async with following(world.client, KINDS) as made:
            return await made.prove()

    recording = play(scenario)
    assert not recording.whole
    assert recording.proof == "jobs.batch were not recorded: it may not be read."


def test_a_probe_that_may_not_be_written_leaves_the_lag_unknown_and_rows_flow() -> None:
    async def scenario(world: World) -> Any:
        world.wire.refused["POST", "configmaps"] = 403
        rows: list[ObjectRow] = []
        async with following(world.client, KINDS, sinks=(rows.append,)) as made:
            await world.clock.sleep(1.25)
            await world.pod("p")
            await world.clock.sleep(0.01)
            recording = await made.prove()
            return rows, recording

    rows, recording = play(scenario)
    assert recording.whole
    assert recording.lag is None
    assert recording.proof.endswith(
        "How late news arrived is unknown: the probe of the watch's lag failed: "
        "POST /api/v1/namespaces/default/configmaps failed with 403 Forbidden: no."
    )
    assert [(row.phase, row.lower_ns) for row in rows] == [("created", rows[0].server_ns)]


def test_a_probe_that_somebody_deletes_is_made_again() -> None:
    async def scenario(world: World) -> Any:
        series: list[SeriesRow] = []
        async with following(world.client, KINDS, on_series=series.append):
            await world.clock.sleep(2)
            await world.actor.delete_collection(CONFIG_MAPS, namespace=NAMESPACE)
            before = len(series)
            await world.clock.sleep(10)
        return before, series

    before, series = play(scenario)
    assert 3 <= before < len(series) - 15
    assert {(row.series, row.component) for row in series} == {("watch_lag_s", "kubedyno")}


def test_lag_is_what_the_probe_shows_and_probes_come_faster_while_something_happens() -> None:
    async def scenario(world: World) -> Any:
        world.wire.way_s = 0.03
        series: list[SeriesRow] = []
        async with following(world.client, KINDS, on_series=series.append) as made:
            await world.clock.sleep(10)
            idle = len(series)
            for number in range(10):
                await world.pod(f"p{number}")
                await world.clock.sleep(1)
            return idle, len(series) - idle, (await made.prove()).lag

    idle, busy, lag = play(scenario)
    assert 18 <= idle <= 22
    assert 95 <= busy <= 105
    assert lag is not None
    assert (lag.p50_s, lag.max_s) == pytest.approx((0.03, 0.03))


def test_rows_do_not_wait_for_ever_for_a_probe() -> None:
    async def scenario(world: World) -> Any:
        rows: list[ObjectRow] = []
        async with following(world.client, KINDS, sinks=(rows.append,)) as made:
            await world.clock.sleep(1)
            world.wire.refused["PATCH", "configmaps"] = 503
            await world.pod("p")
            await world.clock.sleep(1)
            held = made.recorder.held, len(rows)
            await world.clock.sleep(6)
            return held, made.recorder.held, len(rows)

    assert play(scenario) == ((1, 0), 0, 1)


def test_a_recording_can_be_read_while_it_is_made_and_after(tmp_path: Path) -> None:
    async def scenario(world: World) -> Any:
        with Spool(tmp_path / "records") as spool:
            async with following(world.client, KINDS, spool=spool) as made:
                await world.clock.sleep(1)
                await world.pod("p")
                await world.clock.sleep(1)
                early = [row.phase for rows in read_objects(spool.folder) for row in rows]
                standing = read_recording(spool.folder)
                await world.bind("p")
                recording = await made.prove()
        return early, standing, recording, spool.folder

    early, standing, recording, folder = play(scenario)
    assert early == ["created"]
    assert standing is not None
    assert not standing.whole
    assert standing.proof == "Nothing was proven: the recording goes on, or was broken off."
    assert [row.phase for rows in read_objects(folder) for row in rows] == ["created", "scheduled"]
    assert read_recording(folder) == recording
    assert sum(len(rows) for rows in read_series(folder)) >= 3


def test_an_error_in_the_block_loses_no_row_and_leaves_no_probe(tmp_path: Path) -> None:
    async def fail(world: World) -> None:
        with Spool(tmp_path) as spool:
            async with following(world.client, KINDS, spool=spool):
                await world.clock.sleep(1)
                await world.pod("p")
                await world.clock.sleep(0.001)
                raise RuntimeError("stop")

    async def scenario(world: World) -> Any:
        with pytest.raises(RuntimeError, match="stop"):
            await fail(world)
        return (await world.actor.list_all(CONFIG_MAPS, namespace=NAMESPACE)).items

    assert play(scenario) == []
    assert [row.phase for rows in read_objects(tmp_path / "1") for row in rows] == ["created"]
    recording = read_recording(tmp_path / "1")
    assert recording is not None
    assert not recording.whole


def test_a_server_that_cannot_be_reached_at_the_beginning_is_an_error() -> None:
    async def scenario(world: World) -> None:
        world.wire.is_away = True
        with pytest.raises(Unreachable, match="refused the connection"):
            async with following(world.client, KINDS):
                pass

    play(scenario)


def test_a_refusal_that_is_no_absence_is_an_error() -> None:
    async def scenario(world: World) -> None:
        world.wire.refused["GET", "pods"] = 400
        with pytest.raises(ApiError, match="400"):
            async with following(world.client, KINDS):
                pass

    play(scenario)


def test_a_proof_that_cannot_be_had_is_told() -> None:
    async def scenario(world: World) -> Any:
        async with following(world.client, KINDS, probing=Probing(idle_s=1.0)) as made:
            await world.clock.sleep(1)
            world.wire.is_away = True
            return await made.prove()

    recording = play(scenario)
    assert not recording.whole
    assert recording.proof.startswith("pods could not be listed: the API server at test refused the connection")


def test_in_virtual_time_the_arrival_is_exact_without_a_probe() -> None:
    async def scenario(world: World) -> Any:
        rows: list[ObjectRow] = []
        async with following(world.client, KINDS, sinks=(rows.append,), probing=None, is_instant=True):
            await world.clock.sleep(1.2345)
            await world.pod("p")
            await world.clock.sleep(1)
        return rows, (await world.actor.list_all(CONFIG_MAPS, namespace=NAMESPACE)).items

    rows, left = play(scenario)
    assert [(row.lower_ns, row.upper_ns) for row in rows] == [(rows[0].arrival_ns, rows[0].arrival_ns)]
    assert left == []


def test_a_server_that_is_away_while_a_missing_kind_is_looked_for_is_waited_for() -> None:
    kind = Followed(WIDGETS, "workload", lambda obj: [Shown("created", obj["metadata"]["creationTimestamp"])])

    async def scenario(world: World) -> Any:
        async with following(world.client, (*KINDS, kind)) as made:
            world.wire.is_away = True
            world.wire.end_streams(cut=True)
            await world.clock.sleep(60)
            world.wire.is_away = False
            world.wire.refused["GET", "widgets"] = 503
            await world.clock.sleep(60)
            world.wire.refused.clear()
            await world.clock.sleep(60)
            recording = await made.prove()
        return recording, (await world.actor.list_all(CONFIG_MAPS, namespace=NAMESPACE)).items

    recording, left = play(scenario)
    assert recording.whole
    assert left == []


def test_two_may_ask_for_a_proof_at_once() -> None:
    async def scenario(world: World) -> Any:
        async with following(world.client, KINDS) as made:
            for number in range(20):
                await world.pod(f"p{number}")
            proofs = asyncio.gather(made.prove(), made.prove())
            for number in range(20):
                await world.delete(f"p{number}")
            return await proofs

    assert [recording.whole for recording in play(scenario)] == [True, True]


def test_what_never_arrives_is_found_missing() -> None:
    async def scenario(world: World) -> Any:
        async with following(world.client, KINDS) as made:
            await world.pod("known")
            await world.clock.sleep(1)
            world.wire.way_s = 1000.0
            await world.pod("unheard")
            await world.delete("known")
            return await made.prove(within_s=5)

    recording = play(scenario)
    assert not recording.whole
    assert recording.proof == (
        "Of pods 1 objects or versions that the server lists never arrived, nor did the end of 1."
    )
