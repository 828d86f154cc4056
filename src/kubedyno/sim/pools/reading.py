"""Reading `pools.yaml`: documents with `pools:`, strictly; NodePool objects of the kwok-operator are let through.

Every fault is a UsageError that names file, pool, field and what to write instead.
"""

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from kubedyno.kit.errors import UsageError, located
from kubedyno.kit.nearest import suggestion
from kubedyno.kube import codec
from kubedyno.kube.codec import Object
from kubedyno.sim.devices.inventory import Mig, Plain, Sharing
from kubedyno.sim.kubelet.settings import KubeletSettings, Numa
from kubedyno.sim.pools import traces
from kubedyno.sim.pools.checking import check
from kubedyno.sim.pools.pool import DEFAULT_COUNT, Gpus, Level, Pool, Taint, Topology

COUNT_VARIABLE: Final = "NODE_COUNT"
NODE_POOL_GROUP: Final = "kwok.sigs.run-ai.com"
_AT: Final = re.compile(r"(.*) - at `\$(.*)`")
# Which keys each mapping of a pool may have.
_MAPPINGS: Final[tuple[tuple[str, type[msgspec.Struct]], ...]] = (
    ("gpus", Gpus),
    ("gpus.mig", Mig),
    ("gpus.sharing", Sharing),
    ("gpus.plain", Plain),
    ("kubelet", KubeletSettings),
    ("kubelet.numa", Numa),
    ("topology", Topology),
)
_LISTS: Final[tuple[tuple[str, type[msgspec.Struct]], ...]] = (("taints", Taint), ("topology.levels", Level))


class Contents(msgspec.Struct, frozen=True):
    """What files ask for."""

    pools: tuple[Pool, ...]
    objects: tuple[Object, ...]
    """NodePool objects, to be applied as they are."""


def read_files(paths: Iterable[Path], *, env: Mapping[str, str] = os.environ) -> Contents:
    """The pools and objects of all files together."""
    pools: dict[str, tuple[Path, Pool]] = {}
    objects: list[Object] = []
    for path in paths:
        try:
            text = path.read_bytes()
        except OSError as error:
            raise UsageError(f"{path}: {error.strerror}; name a file with pools") from error
        found = read(text, source=str(path), env=env)
        objects += found.objects
        for pool in found.pools:
            if pool.name in pools:
                raise UsageError(
                    f"{path}: pool {pool.name}: name: {pools[pool.name][0]} has a pool of that name; rename one"
                )
            pools[pool.name] = (path, pool)
    return Contents(tuple(pool for _, pool in pools.values()), tuple(objects))


def read(text: str | bytes, *, source: str, env: Mapping[str, str] = os.environ) -> Contents:
    """The pools and objects of one file; `source` names it in errors."""
    pools: dict[str, Pool] = {}
    objects: list[Object] = []
    documents = codec.read_yaml(text, source=source)
    if not documents:
        raise UsageError(f"{source}: the file is empty; write `pools:` and a list of pools")
    for document in documents:
        if "apiVersion" in document or "kind" in document:
            objects.append(_node_pool(document, source))
            continue
        for number, given in enumerate(_listed(document, source)):
            pool = _pool(given, number, source, env)
            if pool.name in pools:
                raise UsageError(f"{source}: pool {pool.name}: name: two pools have this name; rename one")
            pools[pool.name] = pool
    return Contents(tuple(pools.values()), tuple(objects))


def _node_pool(document: Object, source: str) -> Object:
    group = str(document.get("apiVersion", "")).partition("/")[0]
    if group != NODE_POOL_GROUP or document.get("kind") != "NodePool":
        raise UsageError(
            f"{source}: {document.get('kind', 'an object without kind')} of {document.get('apiVersion', 'no API')}: "
            f"here are pools and NodePools of {NODE_POOL_GROUP} only; use `kubectl apply` for others"
        )
    return document


def _listed(document: Object, source: str) -> list[Any]:
    for key in document:
        if key != "pools":
            raise UsageError(f"{source}: {key}: there is no such key; {suggestion(key, ['pools'])}")
    pools = document.get("pools")
    if not isinstance(pools, list):
        raise UsageError(f"{source}: pools: write a list of pools, each with a name")
    return pools


def _pool(given: Any, number: int, source: str, env: Mapping[str, str]) -> Pool:
    where = f"{source}: pools[{number}]"
    if not isinstance(given, dict):
        raise UsageError(f"{where}: a pool is a mapping with a name, not a {type(given).__name__}")
    name = given.get("name")
    if not isinstance(name, str) or not name:
        raise UsageError(f"{where}: name: every pool needs one; write it like gpu-nodes")
    with located(f"{source}: pool {name}"):
        pool = converted(given)
        pool = msgspec.structs.replace(pool, kubelet=traces.resolved(pool.kubelet, Path(source).parent))
    if pool.count is None and pool.topology is None and not pool.nodes:
        pool = msgspec.structs.replace(pool, count=_default_count(env))
    with located(source):
        return check(pool)


def _default_count(env: Mapping[str, str]) -> int:
    text = env.get(COUNT_VARIABLE, "")
    if text and not text.isdecimal():
        raise UsageError(f"{COUNT_VARIABLE}={text}: this is no number of nodes; write it like {DEFAULT_COUNT}")
    return int(text) if text else DEFAULT_COUNT


def converted(given: Mapping[str, Any]) -> Pool:
    """The pool that a mapping of a file means, not checked yet; UsageError begins with the field."""
    filled = {key: value for key, value in given.items() if value is not None}
    if "topology" in filled:
        filled["topology"] = _topology(filled["topology"])
    _refuse_unknown(filled, Pool, "")
    for path, kind in _MAPPINGS:
        _refuse_unknown(_at(filled, path), kind, f"{path}.")
    for path, kind in _LISTS:
        entries = _at(filled, path)
        for number, entry in enumerate(entries if isinstance(entries, list) else ()):
            _refuse_unknown(entry, kind, f"{path}[{number}].")
    for path in ("labels", "annotations"):
        _refuse_other_than_texts(filled.get(path), path)
    for number, labels in enumerate(filled.get("nodes") or ()):
        _refuse_other_than_texts(labels, f"nodes[{number}]")
    try:
        return msgspec.convert(filled, Pool)
    except msgspec.ValidationError as error:
        raise UsageError(_told(str(error))) from None


def _topology(given: Any) -> Any:
    """The short forms as the long one: `{zone: 2, rack: 4}`, or a list of levels."""
    levels = given.get("levels", given) if isinstance(given, dict) else given
    name = {"name": given["name"]} if isinstance(given, dict) and "levels" in given and "name" in given else {}
    if isinstance(given, dict) and "levels" in given:
        name |= {key: value for key, value in given.items() if key not in {"levels", "name"}}
    if isinstance(levels, dict):
        levels = [{"level": level, "count": count} for level, count in levels.items()]
    return {"levels": levels, **name}


def _at(given: Any, path: str) -> Any:
    for key in path.split("."):
        if not isinstance(given, dict):
            return None
        given = given.get(key)
    return given


def _refuse_unknown(given: Any, kind: type[msgspec.Struct], prefix: str) -> None:
    if not isinstance(given, dict):
        return
    known = [field.encode_name for field in msgspec.structs.fields(kind)]
    for key in given:
        if key not in known:
            raise UsageError(f"{prefix}{key}: there is no such key; {suggestion(key, known)}")


def _refuse_other_than_texts(given: Any, path: str) -> None:
    if not isinstance(given, dict):
        return
    for key, value in given.items():
        if not isinstance(value, str):
            raise UsageError(f"{path}.{key}: {value!r} is no text; put it in quotes")


def _told(message: str) -> str:
    found = _AT.fullmatch(message)
    if not found:
        return f"{message[0].lower()}{message[1:]}"
    text, path = found[1], found[2].lstrip(".")
    return f"{path}: {text[0].lower()}{text[1:]}"
