"""What tells which machine, cluster or account a node is of: it is left out of a snapshot."""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from kubedyno.kube import meta
from kubedyno.kube.codec import Object

_KEYS: Final = re.compile(
    r"hostname|account|cluster-?name|azure\.com/cluster$|uuid|(^|[-_./])uid$|instance-?id|machine-?id|node-?id|"
    r"provider-?id|host-?id|project-?id|subscription|tenant|serial|e-?mail|owner|/node$|eni-?config|subnet|vpc",
    re.IGNORECASE,
)
_VALUES: Final = re.compile(
    r"\d{1,3}([.-]\d{1,3}){3}"  # an address, or the host name that is made from it
    r"|ip-\d{1,3}(-\d{1,3}){3}.*"
    r"|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}.*"
    r"|\d{12}"  # an account of AWS
    r"|[a-z]{1,8}-[0-9a-f]{8,}"  # i-0123456789abcdef0, subnet-..., ami-...
    r"|[0-9a-f]{16,}",
    re.IGNORECASE,
)
_PLACES: Final = re.compile(
    r"(^|[-_./])(topology|region|zone|datacenter|block|rack|row|superpod|leaf|spine)([-_./]|$)", re.IGNORECASE
)
_FEW: Final = 3  # nodes: among fewer, a label of its own on each one says nothing


def is_place(key: str) -> bool:
    """Whether the label tells where a node stands: nodes of one pool may differ in it."""
    return bool(_PLACES.search(key))


def looks_like_one(text: str) -> bool:
    """Whether a value names a machine, a network or an account."""
    return bool(_VALUES.fullmatch(text))


def unique_keys(nodes: Sequence[Object]) -> frozenset[str]:
    """Labels that have another value on each node: names by another name. Places are none."""
    seen: dict[str, list[str]] = {}
    for node in nodes:
        for key, value in meta.labels(node).items():
            seen.setdefault(key, []).append(value)
    return frozenset(
        key
        for key, values in seen.items()
        if len(values) >= _FEW and len(set(values)) == len(values) and not is_place(key)
    )


def without(labels: Mapping[str, str], unique: Collection[str]) -> dict[str, str]:
    """The labels that anybody may see."""
    return {
        key: value
        for key, value in labels.items()
        if key not in unique and not _KEYS.search(key) and not looks_like_one(value)
    }
