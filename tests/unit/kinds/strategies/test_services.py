"""Addresses and node ports of services, as the real API server 1.36 gives them in a cluster of one family."""

from typing import Any

import pytest

from kubedyno.kinds import strategies
from kubedyno.kinds.strategies.refusal import Refused
from kubedyno.kinds.strategies.services import Unavailable, allocate
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import SERVICES

pytestmark = pytest.mark.unit


class Pool:
    """Addresses and ports that count up; one of each is taken."""

    def __init__(self) -> None:
        self.address, self.port = 1, 30000

    def cluster_ip(self, wanted: str | None) -> str:
        if wanted == "10.96.0.1":
            raise Unavailable("provided IP is already allocated")
        self.address += 1
        return wanted or f"10.96.0.{self.address}"

    def node_port(self, wanted: int | None) -> int:
        if wanted == 30000:
            raise Unavailable("provided port is already allocated")
        self.port += 1
        return wanted or self.port


def service(**spec: Any) -> Object:
    return {"metadata": {"name": "s", "uid": "u"}, "spec": {"selector": {"a": "b"}, **spec}}


def allocated(**spec: Any) -> Object:
    obj = service(**spec)
    before = meta.copied(obj)
    spec_before = obj["spec"]
    allocate(obj, None, Pool())
    assert spec_before == before["spec"]
    strategies.prepare_create(obj, SERVICES, now="")
    return obj


def changed(old: Object, **spec: Any) -> Object:
    new = {"metadata": dict(old["metadata"]), "spec": spec}
    allocate(new, old, Pool())
    strategies.prepare_update(new, old, SERVICES, now="")
    return dict(new["spec"])


FIRST = {"clusterIP": "10.96.0.2", "clusterIPs": ["10.96.0.2"], "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack"}
HEADLESS = {"clusterIP": "None", "clusterIPs": ["None"]}
SINGLE = {"ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack"}


@pytest.mark.parametrize(
    ("spec", "given"),
    [
        ({"type": "ClusterIP"}, FIRST),
        ({"type": "ClusterIP", "clusterIP": "10.96.0.9"}, {**SINGLE, "clusterIPs": ["10.96.0.9"]}),
        ({"type": "ClusterIP", "clusterIP": "None"}, {**SINGLE, **HEADLESS}),
        (
            {"type": "ClusterIP", "clusterIP": "None", "selector": {}},
            {**HEADLESS, "ipFamilies": ["IPv4", "IPv6"], "ipFamilyPolicy": "RequireDualStack"},
        ),
        ({"type": "ExternalName", "externalName": "a.example.com"}, {}),
        ({"type": "NodePort", "ports": [{"port": 1}]}, {**FIRST, "ports": [{"port": 1, "nodePort": 30001}]}),
        (
            {"type": "NodePort", "ports": [{"name": "t", "port": 1}, {"name": "u", "port": 1, "nodePort": 31000}]},
            {
                **FIRST,
                "ports": [{"name": "t", "port": 1, "nodePort": 31000}, {"name": "u", "port": 1, "nodePort": 31000}],
            },
        ),
        (
            {"type": "LoadBalancer", "allocateLoadBalancerNodePorts": False, "ports": [{"port": 1}]},
            {**FIRST, "ports": [{"port": 1}]},
        ),
        (
            {"type": "LoadBalancer", "externalTrafficPolicy": "Local", "ports": [{"port": 1}]},
            {**FIRST, "ports": [{"port": 1, "nodePort": 30001}], "healthCheckNodePort": 30002},
        ),
    ],
)
def test_a_new_service_is_given_what_its_type_needs(spec: Object, given: Object) -> None:
    made = allocated(**spec)
    assert made["spec"] == {"selector": {"a": "b"}, **spec, **given}
    assert made["status"] == {"loadBalancer": {}}


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        (
            {"clusterIP": "10.96.0.1"},
            (
                'spec.clusterIPs: Invalid value: ["10.96.0.1"]: '
                "failed to allocate IP 10.96.0.1: provided IP is already allocated"
            ),
        ),
        (
            {"type": "NodePort", "ports": [{"port": 1, "nodePort": 30000}]},
            "spec.ports[0].nodePort: Invalid value: 30000: provided port is already allocated",
        ),
    ],
)
def test_what_is_taken_is_refused(spec: Object, told: str) -> None:
    with pytest.raises(Refused) as refused:
        allocated(**spec)
    assert (refused.value.status.code, refused.value.status.message) == (422, f'Service "s" is invalid: {told}')


def test_an_update_that_leaves_out_what_was_given_keeps_it() -> None:
    old = allocated(type="NodePort", ports=[{"port": 1}])
    assert changed(old, type="NodePort", ports=[{"port": 2}]) == {
        **FIRST,
        "type": "NodePort",
        "ports": [{"port": 2, "nodePort": 30001}],
    }


def test_a_service_that_is_no_longer_exposed_loses_its_ports() -> None:
    old = allocated(
        type="LoadBalancer", externalTrafficPolicy="Local", loadBalancerClass="a.example.com/c", ports=[{"port": 1}]
    )
    assert changed(old, **{**old["spec"], "type": "ClusterIP"}) == {
        **FIRST,
        "selector": {"a": "b"},
        "type": "ClusterIP",
        "ports": [{"port": 1}],
    }


def test_a_service_that_becomes_a_name_elsewhere_loses_its_address_and_gets_one_again() -> None:
    old = allocated(type="ClusterIP", internalTrafficPolicy="Cluster")
    named = changed(old, **{**old["spec"], "type": "ExternalName", "externalName": "a.example.com"})
    assert named == {"selector": {"a": "b"}, "type": "ExternalName", "externalName": "a.example.com"}
    back = changed({**old, "spec": named}, type="ClusterIP")
    assert back == {"type": "ClusterIP", **FIRST}
