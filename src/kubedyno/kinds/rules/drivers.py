"""The names of storage and device drivers."""

from collections.abc import Iterator
from typing import Final

from kubedyno.kinds.rules.texts import byte_length, dns1123_subdomain
from kubedyno.kube.problems import Problem, invalid, required, too_long

_LIMIT: Final = 63


def driver_name_problems(name: str, path: str) -> Iterator[Problem]:
    """A DNS name in any case, no longer than a label."""
    if not name:
        yield required(path)
        return
    if byte_length(name) > _LIMIT:
        yield too_long(path, _LIMIT)
    for told in dns1123_subdomain(name.lower()):
        yield invalid(path, name, told)
