"""Discovery documents: names and verbs of well known kinds, the order of groups and versions, both forms."""

import pytest

from kubedyno.kinds import discovery, naming
from kubedyno.kube.resources import BUILT_IN, DEPLOYMENTS, NAMESPACES, PODS, Resource, by_plural

pytestmark = pytest.mark.unit

ALL = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
PART = ["get", "patch", "update"]

TOYS = naming.custom(
    Resource("b.example.com", "v1", "Toy", "toys", namespaced=True, subresources=("scale", "status")),
    singular="toy",
    short_names=["t"],
    categories=["all"],
)
OLD_TOYS = naming.custom(Resource("b.example.com", "v1beta1", "Toy", "toys", namespaced=True), singular="toy")
CARS = naming.custom(Resource("a.example.com", "v1alpha1", "Car", "cars", namespaced=False), singular="car")
SERVED = [naming.built_in(DEPLOYMENTS), OLD_TOYS, TOYS, CARS, naming.built_in(PODS), naming.built_in(NAMESPACES)]


@pytest.mark.parametrize(
    ("plural", "short_names", "categories"),
    [
        ("pods", ("po",), ("all",)),
        ("jobs", (), ("all",)),
        ("customresourcedefinitions", ("crd", "crds"), ("api-extensions",)),
        ("leases", (), ()),
        ("events.events.k8s.io", ("ev",), ()),
    ],
)
def test_other_names(plural: str, short_names: tuple[str, ...], categories: tuple[str, ...]) -> None:
    served = naming.built_in(by_plural(plural))
    assert (served.short_names, served.categories) == (short_names, categories)


@pytest.mark.parametrize(
    ("plural", "verbs"),
    [
        ("pods", ALL),
        ("namespaces", ["create", "delete", "get", "list", "patch", "update", "watch"]),
        ("bindings", ["create"]),
        ("componentstatuses", ["get", "list"]),
        ("subjectaccessreviews", ["create"]),
    ],
)
def test_verbs(plural: str, verbs: list[str]) -> None:
    assert list(naming.built_in(by_plural(plural)).verbs) == verbs


def test_subresources_have_kinds_of_their_own() -> None:
    parts = {part.name: (part.group, part.version, part.kind, *part.verbs) for part in SERVED[4].subresources}
    assert parts["status"] == ("", "", "Pod", *PART)
    assert parts["binding"] == ("", "", "Binding", "create")
    assert parts["eviction"] == ("policy", "v1", "Eviction", "create")
    assert parts["log"] == ("", "", "Pod", "get")
    assert parts["exec"] == ("", "", "PodExecOptions", "create", "get")
    assert parts["proxy"] == ("", "", "PodProxyOptions", "create", "delete", "get", "patch", "update")


def test_all_built_in_kinds_have_a_name_in_small_letters() -> None:
    assert all(naming.built_in(resource).singular == resource.kind.lower() for resource in BUILT_IN)


def test_custom_kinds_know_less_while_their_definition_goes() -> None:
    going = naming.custom(TOYS.resource, singular="toy", is_terminating=True)
    assert going.verbs == ("delete", "deletecollection", "get", "list", "watch")
    assert TOYS.verbs == ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")


def test_the_core_group_has_a_document_of_its_own() -> None:
    assert discovery.core_versions("192.0.2.1:6443") == {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": "192.0.2.1:6443"}],
    }


def test_groups_come_in_the_servers_order_and_custom_ones_last() -> None:
    found = discovery.groups(SERVED)
    # By the name of their APIService: v1.b.example.com comes before v1alpha1.a.example.com.
    assert [entry["name"] for entry in found["groups"]] == ["apps", "b.example.com", "a.example.com"]
    assert discovery.group(SERVED, "b.example.com") == {
        "kind": "APIGroup",
        "apiVersion": "v1",
        "name": "b.example.com",
        "versions": [
            {"groupVersion": "b.example.com/v1", "version": "v1"},
            {"groupVersion": "b.example.com/v1beta1", "version": "v1beta1"},
        ],
        "preferredVersion": {"groupVersion": "b.example.com/v1", "version": "v1"},
    }


def test_what_is_not_served_has_no_document() -> None:
    assert discovery.group(SERVED, "batch") is None
    assert discovery.group(SERVED, "") is None
    assert discovery.resource_list(SERVED, "batch/v1") is None


def test_resources_are_listed_with_their_subresources() -> None:
    assert discovery.resource_list(SERVED, "apps/v1") == {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": "apps/v1",
        "resources": [
            {
                "name": "deployments",
                "singularName": "deployment",
                "namespaced": True,
                "kind": "Deployment",
                "verbs": ALL,
                "shortNames": ["deploy"],
                "categories": ["all"],
            },
            {
                "name": "deployments/scale",
                "singularName": "",
                "namespaced": True,
                "group": "autoscaling",
                "version": "v1",
                "kind": "Scale",
                "verbs": PART,
            },
            {
                "name": "deployments/status",
                "singularName": "",
                "namespaced": True,
                "kind": "Deployment",
                "verbs": PART,
            },
        ],
    }
    core = discovery.resource_list(SERVED, "v1")
    assert core is not None
    assert "apiVersion" not in core


def test_aggregated_discovery_spells_out_custom_kinds() -> None:
    found = discovery.aggregated(SERVED, core=False)
    assert (found["kind"], found["apiVersion"]) == ("APIGroupDiscoveryList", "apidiscovery.k8s.io/v2")
    assert [item["metadata"]["name"] for item in found["items"]] == ["apps", "a.example.com", "b.example.com"]
    deployments = found["items"][0]["versions"][0]["resources"][0]
    assert deployments["responseKind"] == {"group": "", "version": "", "kind": "Deployment"}
    toys = found["items"][2]
    assert [version["version"] for version in toys["versions"]] == ["v1", "v1beta1"]
    kind = {"group": "b.example.com", "version": "v1", "kind": "Toy"}
    assert toys["versions"][0] == {
        "version": "v1",
        "freshness": "Current",
        "resources": [
            {
                "resource": "toys",
                "responseKind": kind,
                "scope": "Namespaced",
                "singularResource": "toy",
                "verbs": list(naming.CUSTOM_VERBS),
                "shortNames": ["t"],
                "categories": ["all"],
                "subresources": [
                    {"subresource": "status", "responseKind": kind, "verbs": PART},
                    {
                        "subresource": "scale",
                        "responseKind": {"group": "autoscaling", "version": "v1", "kind": "Scale"},
                        "verbs": PART,
                    },
                ],
            }
        ],
    }
    core = discovery.aggregated(SERVED, core=True)
    assert [item["metadata"] for item in core["items"]] == [{}]


def test_versions_by_preference() -> None:
    mixed = ["v1alpha1", "v1", "foo10", "v2beta1", "v10", "v1beta2", "foo1", "v2"]
    assert discovery.by_preference(mixed) == ["v10", "v2", "v1", "v2beta1", "v1beta2", "v1alpha1", "foo1", "foo10"]
