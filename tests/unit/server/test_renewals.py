"""Updates that take the short way come out as they would by the long one, byte for byte."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.twins import Twins

from kubedyno.kit.clock import rfc3339
from kubedyno.kube import codec
from kubedyno.kube.codec import Object
from kubedyno.sim.kubelet import nodestates

pytestmark = pytest.mark.unit

LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
UID = "0f812128-0342-4d90-b23c-8269d684074{}"


def lease(twins: Twins, number: int, version: str = "") -> Object:
    renewed = rfc3339(twins.clock.wall_ns())
    made = nodestates.lease(f"n-{number}", UID.format(number % 10), duration_s=40, renewed=renewed)
    if version:
        made["metadata"]["resourceVersion"] = version
    return made


def version_of(twins: Twins, number: int) -> str:
    return str(twins.get(f"{LEASES}/n-{number}")["metadata"]["resourceVersion"])


def test_leases_are_renewed_the_same_either_way() -> None:
    twins = Twins()
    versions = {}
    for number in range(20):
        versions[number] = codec.decode(twins.send("POST", LEASES, lease(twins, number)).body)
        twins.pass_time(0.1)
    for _ in range(4):
        for number, known in versions.items():
            body = lease(twins, number, known["metadata"]["resourceVersion"])
            versions[number] = codec.decode(twins.send("PUT", f"{LEASES}/n-{number}", body).body)
            twins.pass_time(0.3)
    twins.compare()
    assert twins.updated.taken > 60


def test_a_version_is_asked_for_however_well_the_update_is_known() -> None:
    twins = Twins()
    for number in range(6):
        twins.send("POST", LEASES, lease(twins, number))
    for _ in range(3):
        for number in range(6):
            twins.pass_time(1.0)
            version = version_of(twins, number)
            body = lease(twins, number, version)
            assert twins.send("PUT", f"{LEASES}/n-{number}", body).status == 200
            assert twins.send("PUT", f"{LEASES}/n-{number}", body).status == 409
            other = lease(twins, number, str(int(version) + 1000))
            assert twins.send("PUT", f"{LEASES}/n-{number}", other).status == 409
    twins.compare()
    assert twins.updated.taken > 10


def variants(twins: Twins, number: int, old: Object) -> Iterator[Any]:
    """Bodies of updates, good and bad, of clients that spell them in all ways."""
    version = old["metadata"]["resourceVersion"]
    made = lease(twins, number, version)
    spec, metadata = made["spec"], made["metadata"]
    yield made
    yield old
    yield {**old, "spec": {**old["spec"], "renewTime": spec["renewTime"]}}
    yield lease(twins, number)
    yield lease(twins, number, str(int(version) - 1))
    yield {**made, "metadata": {**metadata, "uid": old["metadata"]["uid"]}}
    yield {**made, "metadata": {**metadata, "uid": UID.format(9 - number % 10)}}
    yield {**made, "metadata": {**metadata, "name": f"n-{number + 1}"}}
    yield {**made, "metadata": {**metadata, "namespace": "default"}}
    yield {**made, "metadata": {**metadata, "labels": {"a": f"x{number}"}, "annotations": {"b": "c"}}}
    yield {**made, "metadata": {**metadata, "managedFields": [{}]}}
    yield {**made, "metadata": {**metadata, "finalizers": ["example.com/x"]}}
    owners = [{"apiVersion": "v1", "kind": "Node", "name": f"n-{number}", "uid": UID.format(one)} for one in (1, 2)]
    yield {**made, "metadata": {**metadata, "ownerReferences": owners[:: 1 if number % 2 else -1]}}
    yield {**made, "metadata": {**metadata, "ownerReferences": owners[: number % 2]}}
    yield {**made, "metadata": {"name": f"n-{number}"}}
    for time in ("0001-01-01T00:00:00.000000Z", "2026-02-30T00:00:00.000000Z", "2026-01-02T03:04:05Z", "x", None):
        yield {**made, "spec": {**spec, "renewTime": time}}
    for holder in (f"other-{number}", f'a "{number}"', "", f"ü{number}", 7, None):
        yield {**made, "spec": {**spec, "holderIdentity": holder}}
    yield {**made, "spec": {**spec, "leaseDurationSeconds": number % 2}}
    yield {**made, "spec": {**spec, "leaseTransitions": number, "acquireTime": spec["renewTime"]}}
    yield {**made, "unknown": 1}
    yield msgspec.json.format(codec.encode(made), indent=2)
    yield codec.encode(made).replace(b"n-", b"n\\u002d")
    yield codec.encode(made).replace(b'"renewTime":', b'"renewTime":"2026-01-02T03:04:05.000000Z","renewTime":')
    yield codec.encode(made)[:-1]


COUNT = 33
QUERIES = [{}, {"fieldValidation": "Strict"}, {"fieldValidation": "Ignore"}, {"dryRun": "All"}, {"fieldManager": "x"}]


def update(twins: Twins, number: int, chosen: int, **query: str) -> None:
    found = twins.send("GET", f"{LEASES}/n-{number}")
    if found.status != 200:
        twins.send("POST", LEASES, lease(twins, number))
        found = twins.send("GET", f"{LEASES}/n-{number}")
    bodies = list(variants(twins, number, codec.decode(found.body)))
    assert len(bodies) == COUNT
    twins.send("PUT", f"{LEASES}/n-{number}", bodies[chosen], **query)


def test_every_kind_of_update_does_the_same() -> None:
    twins = Twins()
    for chosen in range(COUNT):
        for number in range(5):
            for _ in range(3):
                update(twins, number, chosen)
                twins.pass_time(0.4)
        for number in range(5):
            twins.send("DELETE", f"{LEASES}/n-{number}")
            twins.send("PUT", f"{LEASES}/n-{number}", lease(twins, number))
            twins.send(
                "PATCH", f"{LEASES}/n-{number}", {"metadata": {"finalizers": None}}, "application/merge-patch+json"
            )
    twins.compare()
    assert twins.updated.taken > COUNT


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.integers(0, COUNT - 1), st.sampled_from(QUERIES), st.sampled_from([0.0, 0.4, 61.0, -5.0]), st.booleans()
        ),
        min_size=1,
        max_size=5,
    )
)
def test_any_updates_do_the_same_to_lease_after_lease(turns: list[tuple[int, dict[str, str], float, bool]]) -> None:
    twins = Twins()
    for number in range(4):
        twins.send("POST", LEASES, lease(twins, number))
    for chosen, query, delay_s, ends in turns:
        for number in range(4):
            update(twins, number, chosen, **query)
            twins.pass_time(delay_s)
            if ends:
                update(twins, number, 0)
    twins.compare()


def test_a_lease_that_is_gone_is_made_anew_by_an_update() -> None:
    twins = Twins()
    for number in range(5):
        twins.send("POST", LEASES, lease(twins, number))
        twins.send("PUT", f"{LEASES}/n-{number}", lease(twins, number))
        twins.send("DELETE", f"{LEASES}/n-{number}")
        assert twins.send("PUT", f"{LEASES}/n-{number}", lease(twins, number)).status == 201
        assert twins.send("PUT", f"{LEASES}/x-{number}", lease(twins, number)).status == 400
    twins.compare()
