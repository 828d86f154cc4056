"""What a cluster remembers of each pool: its definition, and the names of all that it put on its nodes."""

import zlib
from base64 import b64decode, b64encode
from typing import Final

import msgspec
import yaml

from kubedyno.kube.codec import Object, read_yaml
from kubedyno.sim import marks
from kubedyno.sim.pools import writing
from kubedyno.sim.pools.changing import Written
from kubedyno.sim.pools.pool import Pool
from kubedyno.sim.pools.reading import converted

NAMESPACE: Final = "kube-system"
_FILE: Final = "pool.yaml"
_PACKED: Final = "pool.json.z"
_WRITTEN: Final = "written.json"
# A ConfigMap holds 1 MiB; labels of thousands of single nodes are more than that, and pack well.
_PLAIN_BYTES: Final = 256 * 1024


class Definition(msgspec.Struct, frozen=True, kw_only=True):
    """A pool as it was applied last. `written` is more than its own nodes have while an apply is unfinished."""

    pool: Pool
    written: Written


def config_map_name(pool: str) -> str:
    """The ConfigMap of a pool."""
    return f"kubedyno-pool-{pool}"


def config_map(definition: Definition) -> Object:
    """The definition as an object."""
    pool = definition.pool
    document = writing.document(pool)
    data = {_WRITTEN: msgspec.json.encode(definition.written, order="deterministic").decode()}
    found: Object = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": config_map_name(pool.name),
            "namespace": NAMESPACE,
            "labels": {marks.POOL: pool.name},
        },
        "data": data,
    }
    packed = msgspec.json.encode(document)
    if len(packed) <= _PLAIN_BYTES:
        data[_FILE] = yaml.safe_dump(document, sort_keys=False)
    else:
        found["binaryData"] = {_PACKED: b64encode(zlib.compress(packed)).decode()}
    return found


def read(found: Object) -> Definition:
    """The definition in a ConfigMap."""
    data = found.get("data") or {}
    if _FILE in data:
        (document,) = read_yaml(data[_FILE], source=f"ConfigMap {found['metadata']['name']}")
    else:
        document = msgspec.json.decode(zlib.decompress(b64decode(found["binaryData"][_PACKED])))
    return Definition(pool=converted(document), written=msgspec.json.decode(data[_WRITTEN], type=Written))
