"""Bodies in protobuf are read to what JSON would be: the real API server writes both of the same object."""

import json
import os
import re
from pathlib import Path

import pytest

from kubedyno.kit.places import cache_dir
from kubedyno.kube import codec, schema
from kubedyno.kube.codec import Object
from kubedyno.kube.normalizing import normalized
from kubedyno.kube.resources import BUILT_IN, CONFIG_MAPS, Resource
from kubedyno.lab.starting import RunningLab
from kubedyno.plane.toolchain import find_toolchain
from kubedyno.server import numbers, protobuf
from kubedyno.server.messages import Refused

from .test_schema import module_cache

pytestmark = pytest.mark.local

BODIES: list[Object] = json.loads(Path(__file__).with_name("defaults_bodies.json").read_text())
RESOURCES = {(resource.api_version, resource.kind): resource for resource in BUILT_IN}
# Definitions are read as JSON only; the claim templates of a StatefulSet lose their kind on the way.
UNLIKE_JSON = frozenset({"CustomResourceDefinition", "APIService", "StatefulSet"})
DRAWN = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}|kube-api-access-\w{5}|10\.\d+\.\d+\.\d+")
DRAWN_PORT = re.compile(r'"nodePort": \d+')


def masked(obj: Object, resource: Resource) -> Object:
    """What does not differ between two dry runs."""
    made = normalized(obj, resource.api_version, resource.kind)
    for name in ("creationTimestamp", "managedFields"):
        made["metadata"].pop(name, None)
    text = DRAWN_PORT.sub('"nodePort": 0', DRAWN.sub("drawn", json.dumps(made, sort_keys=True)))
    return dict(json.loads(text))


async def test_objects_of_all_kinds_are_read_as_from_json(shared_lab: RunningLab) -> None:
    client, compared = shared_lab.client, set()
    for body in BODIES:
        resource = RESOURCES.get((body["apiVersion"], body["kind"]))
        if resource is None or resource.kind in UNLIKE_JSON:
            continue
        path = resource.path(namespace="default" if resource.namespaced else None)
        sent = codec.encode(body)
        plain = await client.request_raw("POST", path, query={"dryRun": "All"}, body=sent)
        packed = await client.request_raw("POST", path, query={"dryRun": "All"}, body=sent, accept=protobuf.MEDIA_TYPE)
        if plain.status != 201:
            continue
        read = protobuf.decode_object(packed.body)
        assert masked(read, resource) == masked(codec.decode(plain.body), resource)
        compared.add(resource.kind)
    assert len(compared) > 50


async def test_the_numbers_have_not_drifted_from_the_server() -> None:
    toolchain = await find_toolchain(cache=cache_dir(), env=os.environ)
    if toolchain is None:
        pytest.skip("no Go here: nothing is known of its modules")
    types = schema._table().types
    sources = numbers.read_sources(types, module_cache(toolchain), schema.kubernetes_version())
    if not sources:
        pytest.skip("the programs were not built here: the sources of the server are not there")
    made = numbers.text(numbers.table(types, sources))
    assert numbers.PATH.read_text() == made, "run scripts/schema and look at what changed"


def envelope(api_version: str, kind: str, raw: bytes) -> bytes:
    def field(number: int, value: bytes) -> bytes:
        return bytes([number << 3 | 2, len(value)]) + value

    return b"k8s\x00" + field(1, field(1, api_version.encode()) + field(2, kind.encode())) + field(2, raw)


def test_other_kinds_are_refused_with_what_to_set() -> None:
    with pytest.raises(Refused) as refused:
        protobuf.decode_object(envelope("clients.example.com/v1", "Train", b""))
    assert (refused.value.status.code, refused.value.status.reason) == (415, "UnsupportedMediaType")
    assert "set the client's content type to application/json" in refused.value.status.message


@pytest.mark.parametrize("body", [b"{}", b"k8s\x00\xff", b"k8s\x00\x12\x05a", envelope("v1", "ConfigMap", b"\x0a\x01")])
def test_broken_bytes_are_a_bad_request(body: bytes) -> None:
    with pytest.raises(Refused) as refused:
        protobuf.decode_object(body)
    assert refused.value.status.code == 400


def test_maps_and_metadata_are_read() -> None:
    metadata = b"\x0a\x07\x0a\x05small"
    read = protobuf.decode_object(envelope("v1", "ConfigMap", metadata + b"\x12\x06\x0a\x01a\x12\x01b"))
    assert read == {
        "kind": CONFIG_MAPS.kind,
        "apiVersion": "v1",
        "metadata": {"name": "small"},
        "data": {"a": "b"},
    }
