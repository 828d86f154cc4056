"""Watches: where they begin, what enters and leaves a selection, bookmarks, errors in the stream."""

from tests.conformance.api import Api, Frame
from tests.conformance.behaviour import behaviour
from tests.conformance.objects import config_map, edited, job, lease, namespace, pod, with_meta

from kubedyno.kube.resources import CONFIG_MAPS, JOBS, NODES, PODS, Resource

FUTURE = 9_000_000_000_000_000_000
INITIAL_END = "k8s.io/initial-events-end"


def told(frames: list[Frame]) -> list[tuple[str, str]]:
    return [(frame.type, frame.name) for frame in frames]


async def version(api: Api, at: Resource = CONFIG_MAPS) -> str:
    """The version to watch from: that of a list now."""
    return (await api.list(at, recorded=False)).version


@behaviour
async def a_watch_from_a_list_tells_all_that_follows(api: Api) -> None:
    async with api.watch(CONFIG_MAPS, resourceVersion=await version(api), labelSelector="mine") as watch:
        await api.create(with_meta(config_map("a"), labels={"mine": ""}))
        await api.merge(CONFIG_MAPS, "a", {"data": {"k": "v"}})
        await api.delete(CONFIG_MAPS, "a")
        assert told(await watch.next(3)) == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]


@behaviour
async def the_versions_of_events_are_those_of_the_writes(api: Api) -> None:
    start = await version(api)
    made = await api.create(with_meta(config_map(), labels={"mine": ""}))
    changed = await api.merge(CONFIG_MAPS, "map", {"data": {"k": "v"}})
    async with api.watch(CONFIG_MAPS, resourceVersion=start, labelSelector="mine") as watch:
        first, second = await watch.next(2)
    assert first.object["metadata"]["resourceVersion"] == made.version
    assert second.object["metadata"]["resourceVersion"] == changed.version


@behaviour
async def a_deletion_has_a_version_of_its_own(api: Api) -> None:
    made = await api.create(with_meta(config_map(), labels={"mine": ""}))
    async with api.watch(CONFIG_MAPS, resourceVersion=made.version, labelSelector="mine") as watch:
        await api.delete(CONFIG_MAPS, "map")
        (frame,) = await watch.next()
    assert int(frame.object["metadata"]["resourceVersion"]) > int(made.version)


@behaviour
async def a_watch_without_a_version_begins_with_what_is_there(api: Api) -> None:
    for name in "ba":
        await api.create(with_meta(config_map(name), labels={"mine": ""}))
    async with api.watch(CONFIG_MAPS, labelSelector="mine") as watch:
        assert told(await watch.next(2)) == [("ADDED", "a"), ("ADDED", "b")]
        await api.delete(CONFIG_MAPS, "b")
        assert told(await watch.next()) == [("DELETED", "b")]


@behaviour
async def a_watch_from_any_version_begins_with_what_is_there(api: Api) -> None:
    made = await api.create(with_meta(config_map(), labels={"mine": ""}))
    await api.list(CONFIG_MAPS, resourceVersion=made.version, recorded=False)
    async with api.watch(CONFIG_MAPS, resourceVersion=0, labelSelector="mine") as watch:
        assert told(await watch.next()) == [("ADDED", "map")]


@behaviour
async def a_watch_from_an_old_version_tells_what_was_missed(api: Api) -> None:
    made = await api.create(with_meta(config_map(), labels={"mine": ""}))
    for value in "xyz":
        await api.merge(CONFIG_MAPS, "map", {"data": {"k": value}})
    await api.delete(CONFIG_MAPS, "map")
    async with api.watch(CONFIG_MAPS, resourceVersion=made.version, labelSelector="mine") as watch:
        frames = await watch.next(4)
    assert [frame.type for frame in frames] == ["MODIFIED", "MODIFIED", "MODIFIED", "DELETED"]


@behaviour
async def a_watch_from_the_future_is_silent(api: Api) -> None:
    async with api.watch(CONFIG_MAPS, resourceVersion=FUTURE, timeoutSeconds=1) as watch:
        assert await watch.rest() == []


@behaviour
async def a_watch_from_what_is_no_version_is_refused(api: Api) -> None:
    answer = await api.list(CONFIG_MAPS, watch="true", resourceVersion="abc")
    assert answer.code == 500


@behaviour
async def an_object_that_enters_a_selection_is_added(api: Api) -> None:
    await api.create(config_map())
    async with api.watch(CONFIG_MAPS, resourceVersion=await version(api), labelSelector="mine=yes") as watch:
        await api.merge(CONFIG_MAPS, "map", {"metadata": {"labels": {"mine": "yes"}}})
        assert told(await watch.next()) == [("ADDED", "map")]


@behaviour
async def an_object_that_leaves_a_selection_is_deleted_as_it_was(api: Api) -> None:
    made = await api.create(with_meta(config_map(), labels={"mine": "yes"}))
    async with api.watch(CONFIG_MAPS, resourceVersion=made.version, labelSelector="mine=yes") as watch:
        await api.merge(CONFIG_MAPS, "map", {"metadata": {"labels": {"mine": "no"}}})
        (frame,) = await watch.next()
    assert frame.type == "DELETED"
    assert frame.object["metadata"]["labels"] == {"mine": "yes"}


@behaviour
async def changes_outside_of_a_selection_are_not_told(api: Api) -> None:
    async with api.watch(CONFIG_MAPS, resourceVersion=await version(api), labelSelector="mine") as watch:
        await api.create(config_map("other"))
        await api.merge(CONFIG_MAPS, "other", {"data": {"k": "v"}})
        await api.delete(CONFIG_MAPS, "other")
        await api.create(with_meta(config_map("a"), labels={"mine": ""}))
        assert told(await watch.next()) == [("ADDED", "a")]


@behaviour
async def a_pod_that_is_bound_enters_the_watch_of_its_node(api: Api) -> None:
    made = await api.create(pod())
    async with api.watch(PODS, resourceVersion=made.version, fieldSelector="spec.nodeName=here") as watch:
        await api.post(PODS, "pod", "binding", _binding("here"))
        assert told(await watch.next()) == [("ADDED", "pod")]


@behaviour
async def a_pod_that_finishes_leaves_the_watch_of_a_scheduler(api: Api) -> None:
    made = await api.create(pod())
    selector = "status.phase!=Succeeded,status.phase!=Failed"
    async with api.watch(PODS, resourceVersion=made.version, fieldSelector=selector) as watch:
        await api.merge(PODS, "pod", {"status": {"phase": "Failed"}}, "status")
        (frame,) = await watch.next()
    assert frame.type == "DELETED"


@behaviour
async def one_object_is_watched_by_its_name(api: Api) -> None:
    start = await version(api)
    async with api.watch(CONFIG_MAPS, resourceVersion=start, fieldSelector="metadata.name=b") as watch:
        await api.create(config_map("a"))
        await api.create(config_map("b"))
        assert told(await watch.next()) == [("ADDED", "b")]


@behaviour
async def all_namespaces_are_watched_at_once(api: Api) -> None:
    other = api.own("second")
    await api.create(namespace(other), recorded=False)
    mine = {"labelSelector": f"of={api.namespace}"}
    async with api.watch(CONFIG_MAPS, namespace="", resourceVersion=await version(api), **mine) as watch:
        await api.create(with_meta(config_map("a"), labels={"of": api.namespace}))
        await api.create(with_meta(config_map("b"), labels={"of": api.namespace}), namespace=other)
        assert told(await watch.next(2)) == [("ADDED", "a"), ("ADDED", "b")]


@behaviour
async def a_timeout_ends_the_watch_in_order(api: Api) -> None:
    start = await version(api)
    async with api.watch(CONFIG_MAPS, resourceVersion=start, labelSelector="mine", timeoutSeconds=1) as watch:
        assert await watch.rest() == []


@behaviour
async def initial_events_end_with_a_bookmark(api: Api) -> None:
    for name in "ab":
        await api.create(with_meta(config_map(name), labels={"mine": ""}))
    async with api.watch(
        CONFIG_MAPS,
        sendInitialEvents="true",
        resourceVersionMatch="NotOlderThan",
        allowWatchBookmarks="true",
        labelSelector="mine",
    ) as watch:
        frames = await watch.next(3)
        assert [frame.type for frame in frames] == ["ADDED", "ADDED", "BOOKMARK"]
        assert frames[2].object["metadata"]["annotations"] == {INITIAL_END: "true"}
        await api.delete(CONFIG_MAPS, "a")
        assert told([await watch.change()]) == [("DELETED", "a")]


@behaviour
async def initial_events_of_nothing_are_a_bookmark(api: Api) -> None:
    async with api.watch(
        JOBS, sendInitialEvents="true", resourceVersionMatch="NotOlderThan", allowWatchBookmarks="true"
    ) as watch:
        (frame,) = await watch.next()
    assert frame.type == "BOOKMARK"
    assert frame.object["kind"] == "Job"


@behaviour
async def initial_events_at_least_at_a_version(api: Api) -> None:
    made = await api.create(with_meta(config_map(), labels={"mine": ""}))
    async with api.watch(
        CONFIG_MAPS,
        sendInitialEvents="true",
        resourceVersionMatch="NotOlderThan",
        resourceVersion=made.version,
        allowWatchBookmarks="true",
        labelSelector="mine",
    ) as watch:
        frames = await watch.next(2)
    assert [frame.type for frame in frames] == ["ADDED", "BOOKMARK"]


@behaviour
async def initial_events_need_a_match(api: Api) -> None:
    answer = await api.list(CONFIG_MAPS, watch="true", sendInitialEvents="true")
    assert answer.code == 422


@behaviour
async def initial_events_need_no_exact_match(api: Api) -> None:
    answer = await api.list(
        CONFIG_MAPS, watch="true", sendInitialEvents="true", resourceVersionMatch="Exact", resourceVersion=5
    )
    assert answer.code == 422


@behaviour
async def initial_events_do_without_bookmarks(api: Api) -> None:
    answer = await api.list(
        CONFIG_MAPS,
        watch="true",
        sendInitialEvents="true",
        resourceVersionMatch="NotOlderThan",
        timeoutSeconds=1,
        recorded=False,
    )
    api.note("code", answer.code)
    assert answer.code == 200


@behaviour
async def initial_events_can_be_declined(api: Api) -> None:
    await api.create(with_meta(config_map("a"), labels={"mine": ""}))
    async with api.watch(
        CONFIG_MAPS,
        sendInitialEvents="false",
        resourceVersionMatch="NotOlderThan",
        allowWatchBookmarks="true",
        labelSelector="mine",
        resourceVersion=await version(api),
    ) as watch:
        await api.create(with_meta(config_map("b"), labels={"mine": ""}))
        assert told(await watch.next()) == [("ADDED", "b")]


@behaviour
async def a_match_without_initial_events_is_refused(api: Api) -> None:
    answer = await api.list(CONFIG_MAPS, watch="true", resourceVersionMatch="NotOlderThan", resourceVersion=5)
    assert answer.code == 422


@behaviour
async def a_bad_selector_is_refused_before_the_stream(api: Api) -> None:
    answer = await api.list(CONFIG_MAPS, watch="true", labelSelector="a in b")
    assert answer.code == 400
    fields = await api.list(CONFIG_MAPS, watch="true", fieldSelector="data.a=1")
    assert fields.code == 400


@behaviour
async def a_timeout_that_is_no_number_is_refused(api: Api) -> None:
    answer = await api.list(CONFIG_MAPS, watch="true", timeoutSeconds="soon")
    assert answer.code == 400


@behaviour
async def watch_may_be_written_as_a_number_or_not_at_all(api: Api) -> None:
    answer = await api.list(CONFIG_MAPS, watch="false", labelSelector="mine")
    assert answer["kind"] == "ConfigMapList"
    again = await api.list(CONFIG_MAPS, watch="0", labelSelector="mine")
    assert again["kind"] == "ConfigMapList"


@behaviour
async def a_word_that_is_no_boolean_is_taken_for_true(api: Api) -> None:
    answer = await api.list(CONFIG_MAPS, watch="maybe", labelSelector="mine", timeoutSeconds=1, resourceVersion="x")
    assert answer.code == 500


@behaviour
async def the_old_path_of_watches_is_served(api: Api) -> None:
    await api.create(with_meta(config_map(), labels={"mine": ""}))
    path = f"/api/v1/watch/namespaces/{api.namespace}/configmaps"
    answer = await api.send("GET", path, labelSelector="mine", timeoutSeconds=1, recorded=False)
    assert answer.code == 200
    api.note("added", "ADDED" in str(answer.body))


@behaviour
async def a_finalizer_makes_a_deletion_a_change_first(api: Api) -> None:
    made = await api.create(with_meta(config_map(), labels={"mine": ""}, finalizers=["example.com/stay"]))
    async with api.watch(CONFIG_MAPS, resourceVersion=made.version, labelSelector="mine") as watch:
        await api.delete(CONFIG_MAPS, "map")
        await api.merge(CONFIG_MAPS, "map", {"metadata": {"finalizers": None}})
        frames = await watch.next(2)
    assert [frame.type for frame in frames] == ["MODIFIED", "DELETED"]


@behaviour
async def a_graceful_deletion_is_a_change_first(api: Api) -> None:
    made = await api.create(pod(nodeName="here"))
    async with api.watch(PODS, resourceVersion=made.version) as watch:
        await api.delete(PODS, "pod")
        await api.delete(PODS, "pod", {"gracePeriodSeconds": 0})
        frames = await watch.next(3)
    assert [frame.type for frame in frames] == ["MODIFIED", "MODIFIED", "DELETED"]


@behaviour
async def a_write_that_changes_nothing_is_not_told(api: Api) -> None:
    made = await api.create(with_meta(config_map(a="1"), labels={"mine": ""}))
    async with api.watch(CONFIG_MAPS, resourceVersion=made.version, labelSelector="mine") as watch:
        await api.replace(made.body)
        await api.merge(CONFIG_MAPS, "map", {"data": {"a": "1"}})
        await api.merge(CONFIG_MAPS, "map", {"data": {"a": "2"}})
        (frame,) = await watch.next()
    assert frame.object["data"] == {"a": "2"}


@behaviour
async def a_dry_run_is_not_told(api: Api) -> None:
    made = await api.create(with_meta(config_map(), labels={"mine": ""}))
    async with api.watch(CONFIG_MAPS, resourceVersion=made.version, labelSelector="mine") as watch:
        await api.delete(CONFIG_MAPS, "map", dryRun="All")
        await api.create(with_meta(config_map("dry"), labels={"mine": ""}), dryRun="All")
        await api.create(with_meta(config_map("wet"), labels={"mine": ""}))
        assert told(await watch.next()) == [("ADDED", "wet")]


@behaviour
async def a_deleted_collection_is_told_one_by_one(api: Api) -> None:
    for name in "abc":
        made = await api.create(with_meta(config_map(name), labels={"mine": ""}))
    async with api.watch(CONFIG_MAPS, resourceVersion=made.version, labelSelector="mine") as watch:
        await api.send("DELETE", api.path(CONFIG_MAPS), labelSelector="mine", recorded=False)
        frames = await watch.next(3, recorded=False)  # in any order
    assert sorted(frame.name for frame in frames) == ["a", "b", "c"]
    api.note("types", sorted(frame.type for frame in frames))


@behaviour
async def kinds_are_written_into_each_event(api: Api) -> None:
    made = await api.create(job())
    async with api.watch(JOBS, resourceVersion=made.version) as watch:
        await api.replace(edited(made.body, "spec/parallelism", 2))
        (frame,) = await watch.next()
    assert (frame.object["apiVersion"], frame.object["kind"]) == ("batch/v1", "Job")


@behaviour
async def a_name_in_the_path_is_watched_alone(api: Api) -> None:
    await api.create(lease("a"))
    path = f"/apis/coordination.k8s.io/v1/watch/namespaces/{api.namespace}/leases/a"
    answer = await api.send("GET", path, timeoutSeconds=1, recorded=False)
    api.note("added", "ADDED" in str(answer.body))
    assert answer.code == 200


@behaviour
async def a_watch_of_one_object_by_get_is_a_get(api: Api) -> None:
    await api.create(config_map())
    answer = await api.get(CONFIG_MAPS, "map", watch="true", timeoutSeconds=1, recorded=False)
    api.note("code", answer.code)
    assert answer.code == 200


@behaviour
async def nodes_are_watched_by_name(api: Api) -> None:
    name = api.own("none")
    start = await version(api, NODES)
    async with api.watch(
        NODES, resourceVersion=start, fieldSelector=f"metadata.name={name}", timeoutSeconds=1
    ) as watch:
        assert await watch.rest() == []


@behaviour
async def a_bookmark_comes_before_the_end(api: Api) -> None:
    start = await version(api, JOBS)
    async with api.watch(JOBS, resourceVersion=start, allowWatchBookmarks="true", timeoutSeconds=8) as watch:
        (frame,) = await watch.next()
    assert frame.type == "BOOKMARK"
    assert "annotations" not in frame.object["metadata"]


def _binding(where: str) -> dict[str, object]:
    return {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "pod"},
        "target": {"apiVersion": "v1", "kind": "Node", "name": where},
    }
