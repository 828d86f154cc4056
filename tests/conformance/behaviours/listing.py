"""GET of collections: pages, selectors, versions."""

import base64
from typing import Any

from tests.conformance.api import Answer, Api
from tests.conformance.behaviour import behaviour
from tests.conformance.objects import core_event, job, namespace, pod, secret, with_meta

from kubedyno.kube.resources import CORE_EVENTS, JOBS, NAMESPACES, NODES, PODS, SECRETS

FUTURE = 9_000_000_000_000_000_000
MINE = {"labelSelector": "mine=yes"}


async def some(api: Api, names: str = "abcde") -> list[Answer]:
    """Secrets: a kind that no controller makes, so that a namespace holds these alone."""
    return [await api.create(with_meta(secret(name), labels={"mine": "yes", "is": name})) for name in names]


async def following(api: Api, token: str, **query: Any) -> Answer:
    return await api.list(SECRETS, **MINE, **query, **{"continue": token})


@behaviour
async def an_empty_list_has_items(api: Api) -> None:
    answer = await api.list(PODS)
    assert answer["items"] == []
    assert answer["kind"] == "PodList"


@behaviour
async def a_list_in_a_namespace_that_is_not_there_is_empty(api: Api) -> None:
    answer = await api.list(PODS, namespace=api.own("none"))
    assert (answer.code, answer["items"]) == (200, [])


@behaviour
async def items_come_by_name_and_without_kinds(api: Api) -> None:
    await some(api, "cab")
    answer = await api.list(SECRETS, **MINE)
    assert answer.names == ["a", "b", "c"]
    assert "kind" not in answer["items"][0]


@behaviour
async def a_list_over_all_namespaces_comes_by_namespace_and_name_as_one_key(api: Api) -> None:
    # `x-second/a` comes before `x/a`: a hyphen sorts before a slash.
    other = api.own("second")
    await api.create(namespace(other), recorded=False)
    for name, where in (("b", api.namespace), ("a", other), ("a", api.namespace)):
        await api.create(with_meta(secret(name), labels={"of": api.namespace}), namespace=where)
    answer = await api.list(SECRETS, namespace="", labelSelector=f"of={api.namespace}")
    assert [item["metadata"]["namespace"] for item in answer["items"]] == [other, api.namespace, api.namespace]


@behaviour
async def a_list_comes_in_pages(api: Api) -> None:
    await some(api)
    first = await api.list(SECRETS, limit=2, **MINE)
    assert first.names == ["a", "b"]
    second = await following(api, first.token, limit=2)
    third = await following(api, second.token, limit=2)
    assert (second.names, third.names, third.token) == (["c", "d"], ["e"], "")


@behaviour
async def pages_without_a_selector_tell_how_many_remain(api: Api) -> None:
    for name in "abc":
        await api.create(secret(name))
    first = await api.list(SECRETS, limit=1)
    assert first.meta["remainingItemCount"] == 2
    second = await api.list(SECRETS, limit=1, **{"continue": first.token})
    assert second.meta["remainingItemCount"] == 1


@behaviour
async def the_last_page_may_be_full(api: Api) -> None:
    await some(api, "ab")
    answer = await api.list(SECRETS, limit=2, **MINE)
    assert answer.token == ""


@behaviour
async def a_page_does_not_know_that_nothing_after_it_is_selected(api: Api) -> None:
    await some(api, "ab")
    await api.create(secret("c"))
    first = await api.list(SECRETS, limit=2, **MINE)
    assert first.token
    second = await following(api, first.token, limit=2)
    assert (second["items"], second.token) == ([], "")


@behaviour
async def pages_show_the_moment_of_the_first(api: Api) -> None:
    await some(api)
    first = await api.list(SECRETS, limit=2, **MINE)
    await api.create(with_meta(secret("bb"), labels={"mine": "yes"}))
    await api.delete(SECRETS, "d")
    await api.merge(SECRETS, "e", {"stringData": {"changed": "yes"}})
    second = await following(api, first.token)
    assert second.names == ["c", "d", "e"]
    assert "data" not in second["items"][2]


@behaviour
async def all_pages_have_one_version(api: Api) -> None:
    await some(api)
    first = await api.list(SECRETS, limit=2, **MINE)
    await some(api, "x")
    second = await following(api, first.token, limit=2)
    assert second.version == first.version
    api.note("versions are the same", second.version == first.version)


@behaviour
async def a_token_may_be_used_twice(api: Api) -> None:
    await some(api)
    first = await api.list(SECRETS, limit=2, **MINE)
    one = await following(api, first.token, limit=1)
    other = await following(api, first.token, limit=2)
    assert (one.names, other.names) == (["c"], ["c", "d"])


@behaviour
async def a_broken_token_is_refused(api: Api) -> None:
    answer = await following(api, "nonsense", limit=1)
    assert answer.code == 400


@behaviour
async def a_token_that_leads_elsewhere_is_refused(api: Api) -> None:
    token = base64.urlsafe_b64encode(b'{"v":"meta.k8s.io/v1","rv":5,"start":"../../secrets/a"}').decode().rstrip("=")
    answer = await following(api, token, limit=1)
    assert answer.code == 400


@behaviour
async def a_token_and_a_version_exclude_each_other(api: Api) -> None:
    await some(api)
    first = await api.list(SECRETS, limit=2, **MINE)
    answer = await following(api, first.token, limit=2, resourceVersion=first.version)
    assert answer.code == 400


@behaviour
async def a_negative_limit_means_all(api: Api) -> None:
    await some(api, "ab")
    answer = await api.list(SECRETS, limit=-1, **MINE)
    assert answer.names == ["a", "b"]


@behaviour
async def a_limit_that_is_no_number_is_refused(api: Api) -> None:
    answer = await api.list(SECRETS, limit="many")
    assert answer.code == 400


@behaviour
async def the_cache_gives_pages_too(api: Api) -> None:
    made = await some(api, "abc")
    await api.list(SECRETS, resourceVersion=made[-1].version, recorded=False)
    answer = await api.list(SECRETS, limit=1, resourceVersion=0, **MINE)
    api.note("names", answer.names)
    assert answer.code == 200


@behaviour
async def a_list_at_least_at_a_version_waits_for_it(api: Api) -> None:
    made = await some(api, "ab")
    answer = await api.list(SECRETS, resourceVersion=made[-1].version, resourceVersionMatch="NotOlderThan", **MINE)
    assert answer.names == ["a", "b"]


@behaviour
async def a_list_exactly_at_a_version_shows_the_past(api: Api) -> None:
    made = await some(api, "abc")
    await api.delete(SECRETS, "a")
    answer = await api.list(SECRETS, resourceVersion=made[1].version, resourceVersionMatch="Exact", **MINE)
    assert answer.names == ["a", "b"]
    assert answer.version == made[1].version


@behaviour
async def exactly_at_any_version_is_refused(api: Api) -> None:
    answer = await api.list(SECRETS, resourceVersion=0, resourceVersionMatch="Exact")
    assert answer.code == 422


@behaviour
async def a_match_needs_a_version(api: Api) -> None:
    answer = await api.list(SECRETS, resourceVersionMatch="NotOlderThan")
    assert answer.code == 422


@behaviour
async def a_match_that_nobody_knows_is_refused(api: Api) -> None:
    answer = await api.list(SECRETS, resourceVersion=1, resourceVersionMatch="Newer")
    assert answer.code == 422


@behaviour
async def a_list_may_not_ask_for_initial_events(api: Api) -> None:
    answer = await api.list(SECRETS, sendInitialEvents="true")
    assert answer.code == 422


@behaviour
async def a_version_that_is_no_number_is_refused(api: Api) -> None:
    answer = await api.list(SECRETS, resourceVersion="abc")
    assert answer.code == 400


@behaviour
async def labels_are_selected_by_equality(api: Api) -> None:
    await some(api)
    for selector, names in (("is=a", "a"), ("is==b", "b"), ("mine,is!=a,is!=b", "cde"), ("mine=yes,is=c", "c")):
        assert (await api.list(SECRETS, labelSelector=selector)).names == list(names)


@behaviour
async def labels_are_selected_by_sets(api: Api) -> None:
    await some(api)
    for selector, names in (("is in (a,c)", "ac"), ("mine, is notin (a, c)", "bde"), ("mine,!other", "abcde")):
        assert (await api.list(SECRETS, labelSelector=selector)).names == list(names)


@behaviour
async def labels_are_selected_by_numbers(api: Api) -> None:
    for name, size in (("a", "1"), ("b", "5"), ("c", "many")):
        await api.create(with_meta(secret(name), labels={"size": size}))
    for selector, names in (("size>1", "b"), ("size<5", "a"), ("size", "abc")):
        assert (await api.list(SECRETS, labelSelector=selector)).names == list(names)


@behaviour
async def label_selectors_that_cannot_be_read_are_refused(api: Api) -> None:
    for bad in ("a in b", "a=b=c", "!", "a in (", "a>b", "bad key!=x", ",,"):
        assert (await api.list(SECRETS, labelSelector=bad)).code == 400


@behaviour
async def any_kind_is_selected_by_name_and_namespace(api: Api) -> None:
    await some(api)
    for selector, names in (("metadata.name=b", "b"), (f"metadata.namespace={api.namespace}", "abcde")):
        assert (await api.list(SECRETS, fieldSelector=selector, **MINE)).names == list(names)


@behaviour
async def fields_that_a_kind_does_not_index_are_refused(api: Api) -> None:
    answer = await api.list(SECRETS, fieldSelector="data.a=1")
    assert answer.code == 400


@behaviour
async def field_selectors_that_cannot_be_read_are_refused(api: Api) -> None:
    for bad in ("metadata.name", "metadata.name>a", "=a"):
        assert (await api.list(SECRETS, fieldSelector=bad)).code == 400


@behaviour
async def pods_are_selected_by_where_they_run_and_how(api: Api) -> None:
    for name, where in (("a", "here"), ("b", "there"), ("c", "")):
        await api.create(pod(name, **({"nodeName": where} if where else {})), recorded=False)
    for selector, names in (
        ("spec.nodeName=here", "a"),
        ("spec.nodeName=", "c"),
        ("spec.nodeName!=here", "bc"),
        ("status.phase=Pending,spec.nodeName!=", "ab"),
        ("spec.schedulerName=nobody", "abc"),
        ("spec.restartPolicy=Never", ""),
        ("spec.serviceAccountName=default,metadata.name!=a", "bc"),
        ("spec.hostNetwork=false", "abc"),
        ("status.nominatedNodeName=", "abc"),
    ):
        assert (await api.list(PODS, fieldSelector=selector, recorded=False)).names == list(names), selector
        api.note(selector, names)


@behaviour
async def pods_are_not_selected_by_their_image(api: Api) -> None:
    answer = await api.list(PODS, fieldSelector="spec.containers=x")
    assert answer.code == 400


@behaviour
async def events_are_selected_by_what_they_are_about(api: Api) -> None:
    await api.create(core_event("a", api.namespace))
    for selector in ("involvedObject.name=pod,reason=Tested", "involvedObject.kind=Node", "type=Normal"):
        answer = await api.list(CORE_EVENTS, fieldSelector=selector)
        assert len(answer["items"]) == (0 if "Node" in selector else 1)


@behaviour
async def jobs_are_selected_by_their_success(api: Api) -> None:
    await api.create(job())
    answer = await api.list(JOBS, fieldSelector="status.successful=0")
    assert answer.names == ["job"]


@behaviour
async def nodes_are_selected_by_whether_they_can_be_used(api: Api) -> None:
    answer = await api.list(NODES, fieldSelector=f"spec.unschedulable=true,metadata.name={api.own('none')}")
    assert answer["items"] == []


@behaviour
async def namespaces_are_selected_by_phase(api: Api) -> None:
    answer = await api.list(NAMESPACES, fieldSelector=f"status.phase=Active,metadata.name={api.namespace}")
    assert answer.names == [api.namespace]


@behaviour
async def secrets_are_selected_by_type(api: Api) -> None:
    await api.create(secret("a"))
    await api.create({**secret("b"), "type": "example.com/other"})
    answer = await api.list(SECRETS, fieldSelector="type=example.com/other")
    assert answer.names == ["b"]


@behaviour
async def both_selectors_must_hold(api: Api) -> None:
    await some(api)
    answer = await api.list(SECRETS, fieldSelector="metadata.name!=a", labelSelector="is in (a,b)")
    assert answer.names == ["b"]


@behaviour
async def a_page_of_a_selection_is_full(api: Api) -> None:
    await some(api)
    answer = await api.list(SECRETS, labelSelector="is in (b,d,e)", limit=2)
    assert answer.names == ["b", "d"]
    assert "remainingItemCount" not in answer.meta


@behaviour
async def a_field_selector_by_name_works_on_a_namespaced_collection_of_all(api: Api) -> None:
    await some(api, "a")
    answer = await api.list(SECRETS, namespace="", fieldSelector=f"metadata.name=a,metadata.namespace={api.namespace}")
    assert answer.names == ["a"]


@behaviour
async def a_list_at_a_version_of_the_future_times_out(api: Api) -> None:
    answer = await api.list(SECRETS, resourceVersion=FUTURE)
    assert (answer.code, answer.reason) == (504, "Timeout")
