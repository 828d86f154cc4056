"""Events in both of their groups, which show each other's."""

from tests.conformance.api import Api
from tests.conformance.behaviour import behaviour
from tests.conformance.objects import core_event, of

from kubedyno.kube.codec import Object
from kubedyno.kube.resources import CORE_EVENTS, EVENTS

STAMP = "2021-01-01T00:00:00.000000Z"


def new_event(name: str, namespace: str) -> Object:
    return of(
        "events.k8s.io/v1",
        "Event",
        name,
        eventTime=STAMP,
        reportingController="example.com/scheduler",
        reportingInstance="one",
        action="Binding",
        reason="Scheduled",
        type="Normal",
        note="Successfully assigned",
        regarding={"apiVersion": "v1", "kind": "Pod", "namespace": namespace, "name": "pod"},
    )


@behaviour
async def a_new_event_is_read_as_an_old_one(api: Api) -> None:
    await api.create(new_event("one", api.namespace))
    answer = await api.get(CORE_EVENTS, "one")
    assert (answer["message"], answer["involvedObject"]["name"]) == ("Successfully assigned", "pod")


@behaviour
async def an_old_event_is_read_as_a_new_one(api: Api) -> None:
    body = core_event("one", api.namespace, count=3, source={"component": "me"}, firstTimestamp="2021-01-01T00:00:00Z")
    await api.create(body)
    answer = await api.get(EVENTS, "one")
    assert (answer["note"], answer["deprecatedCount"]) == ("it was tested", 3)


@behaviour
async def an_event_is_in_the_namespace_of_what_it_is_about(api: Api) -> None:
    answer = await api.create(core_event("one", "elsewhere"))
    assert answer.code == 422


@behaviour
async def a_new_event_needs_its_fields(api: Api) -> None:
    answer = await api.create(of("events.k8s.io/v1", "Event", "one", regarding={"namespace": api.namespace}))
    assert answer.code == 422


@behaviour
async def an_event_of_a_type_that_nobody_knows(api: Api) -> None:
    body = {**new_event("one", api.namespace), "type": "Odd"}
    answer = await api.create(body)
    assert answer.code == 422


@behaviour
async def a_series_counts_on(api: Api) -> None:
    await api.create(new_event("one", api.namespace))
    series = {"count": 2, "lastObservedTime": STAMP}
    answer = await api.merge(EVENTS, "one", {"series": series})
    assert answer["series"] == series


@behaviour
async def a_new_event_is_fixed(api: Api) -> None:
    await api.create(new_event("one", api.namespace))
    answer = await api.merge(EVENTS, "one", {"note": "something else"})
    assert answer.code == 422


@behaviour
async def an_old_event_may_change(api: Api) -> None:
    await api.create(core_event("one", api.namespace))
    answer = await api.strategic(CORE_EVENTS, "one", {"count": 2, "message": "again"})
    assert (answer["count"], answer["message"]) == (2, "again")


@behaviour
async def both_groups_list_the_same_events(api: Api) -> None:
    await api.create(core_event("a", api.namespace))
    await api.create(new_event("b", api.namespace))
    for at in (CORE_EVENTS, EVENTS):
        assert (await api.list(at)).names == ["a", "b"]


@behaviour
async def a_watch_of_one_group_tells_of_the_other(api: Api) -> None:
    start = (await api.list(EVENTS, recorded=False)).version
    async with api.watch(EVENTS, resourceVersion=start) as watch:
        await api.create(core_event("a", api.namespace))
        (frame,) = await watch.next()
    assert frame.object["apiVersion"] == "events.k8s.io/v1"


@behaviour
async def new_events_are_selected_by_what_they_are_about(api: Api) -> None:
    await api.create(new_event("a", api.namespace))
    answer = await api.list(EVENTS, fieldSelector="regarding.name=pod,reason=Scheduled")
    assert answer.names == ["a"]


@behaviour
async def a_name_of_the_other_group_is_taken(api: Api) -> None:
    await api.create(core_event("a", api.namespace))
    answer = await api.create(new_event("a", api.namespace))
    assert answer.code == 409


@behaviour
async def an_update_may_create_an_event(api: Api) -> None:
    answer = await api.replace(core_event("a", api.namespace))
    assert answer.code == 201


@behaviour
async def an_event_of_the_other_group_is_refused(api: Api) -> None:
    body = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "one"}}
    answer = await api.send("POST", f"/apis/events.k8s.io/v1/namespaces/{api.namespace}/events", body)
    assert answer.code == 400


@behaviour
async def something_else_than_an_event_is_refused(api: Api) -> None:
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "one"}}
    answer = await api.send("POST", f"/apis/events.k8s.io/v1/namespaces/{api.namespace}/events", body)
    assert answer.code == 400
