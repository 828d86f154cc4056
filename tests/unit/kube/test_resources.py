import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubedyno.kit.errors import UsageError
from kubedyno.kube import resources
from kubedyno.kube.resources import BUILT_IN, JOBS, NAMESPACES, NODES, PODS, Resource, UnknownResource

pytestmark = pytest.mark.unit


def test_paths_of_core_and_other_groups() -> None:
    assert PODS.path() == "/api/v1/pods"
    assert PODS.path(namespace="a") == "/api/v1/namespaces/a/pods"
    assert PODS.path(namespace="a", name="b") == "/api/v1/namespaces/a/pods/b"
    assert PODS.path(namespace="a", name="b", subresource="binding") == "/api/v1/namespaces/a/pods/b/binding"
    assert NODES.path(name="n") == "/api/v1/nodes/n"
    assert NAMESPACES.path(name="a", subresource="finalize") == "/api/v1/namespaces/a/finalize"
    assert JOBS.path(namespace="a") == "/apis/batch/v1/namespaces/a/jobs"


def test_names_are_quoted_and_colons_stay() -> None:
    assert NODES.path(name="a/../b?c#d e") == "/api/v1/nodes/a%2F..%2Fb%3Fc%23d%20e"
    roles = resources.CLUSTER_ROLES
    assert roles.path(name="system:node") == "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:node"


@given(st.text(min_size=1), st.text(min_size=1))
def test_no_name_leaves_its_segment(namespace: str, name: str) -> None:
    path = PODS.path(namespace=namespace, name=name)
    assert path.count("/") == 6
    assert "?" not in path
    assert "#" not in path


def test_wrong_paths_are_refused() -> None:
    with pytest.raises(UsageError, match="pods are namespaced: the namespace of 'a' is missing"):
        PODS.path(name="a")
    with pytest.raises(UsageError, match="nodes are cluster-wide: leave out the namespace 'a'"):
        NODES.path(namespace="a", name="b")
    with pytest.raises(UsageError, match="pods/binding needs the name"):
        PODS.path(namespace="a", subresource="binding")
    with pytest.raises(UsageError, match=r"the name of an object of jobs\.batch is empty"):
        JOBS.path(namespace="a", name="")


def test_api_versions_and_full_names() -> None:
    assert (PODS.api_version, PODS.full_name) == ("v1", "pods")
    assert (JOBS.api_version, JOBS.full_name) == ("batch/v1", "jobs.batch")


def test_the_table_has_each_kind_and_plural_once() -> None:
    assert len({(item.api_version, item.kind) for item in BUILT_IN}) == len(BUILT_IN)
    assert len({(item.api_version, item.plural) for item in BUILT_IN}) == len(BUILT_IN)


@pytest.mark.parametrize("item", BUILT_IN, ids=lambda item: f"{item.api_version}/{item.kind}")
def test_lookups_find_every_row(item: Resource) -> None:
    assert resources.by_kind(item.api_version, item.kind) is item
    assert resources.for_object({"apiVersion": item.api_version, "kind": item.kind}) is item
    found = resources.by_plural(item.full_name)
    assert (found.group, found.plural) == (item.group, item.plural)


def test_plurals_prefer_core_and_the_stable_version() -> None:
    assert resources.by_plural("jobs") is JOBS
    assert resources.by_plural("events") is resources.CORE_EVENTS
    assert resources.by_plural("events.events.k8s.io") is resources.EVENTS
    assert resources.by_plural("resourceclaims.resource.k8s.io").version == "v1"
    assert resources.by_plural("resourceclaims").version == "v1"
    assert resources.by_plural("horizontalpodautoscalers").version == "v2"


def test_unknown_ones_are_typed_and_name_the_nearest() -> None:
    with pytest.raises(UnknownResource, match=r"kind 'Pood' of 'v1' is not built in: did you mean 'Pod'\?"):
        resources.by_kind("v1", "Pood")
    with pytest.raises(LookupError):
        resources.by_kind("example.com/v1", "Thing")
    with pytest.raises(UsageError, match=r"did you mean 'pods'\?"):
        resources.by_plural("pod")
    with pytest.raises(UnknownResource):
        resources.by_plural("jobs.other")
    for incomplete in ({}, {"kind": "Pod"}, {"apiVersion": "v1"}, {"apiVersion": "v1", "kind": 7}):
        with pytest.raises(UsageError, match="without apiVersion and kind"):
            resources.for_object(incomplete)
