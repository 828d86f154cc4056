"""Which fields of its data a template may read, by its text alone."""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from kubedyno.kube.gotemplate.nodes import Field, Variable

_DATA = "$"


def mentioned(nodes: Iterable[Any]) -> Iterator[str]:
    """The first name of each `.X` and `$.X`. Within `range` and `with` some are fields of other data."""
    for node in nodes:
        match node:
            case Field():
                yield node.names[0]
            case Variable(names=(_, name, *_)) if node.names[0] == _DATA:
                yield name
            case msgspec.Struct():
                yield from mentioned(getattr(node, field) for field in node.__struct_fields__)
            case tuple() | list():
                yield from mentioned(node)
