"""Rules of the name resolution of a pod."""

from collections.abc import Iterator
from typing import Final

from kubedyno.kinds.rules import texts
from kubedyno.kinds.rules.addresses import ip_problems
from kubedyno.kinds.rules.fields import formatted
from kubedyno.kube.codec import Object
from kubedyno.kube.problems import Problem, invalid, required

_SERVERS_LIMIT: Final = 3
_PATHS_LIMIT: Final = 32
_CHARACTERS_LIMIT: Final = 2048


def dns_problems(spec: Object, path: str) -> Iterator[Problem]:
    """The `dnsConfig` of a pod; `path` is its own."""
    config = spec.get("dnsConfig")
    servers = (config or {}).get("nameservers") or []
    if spec.get("dnsPolicy") == "None" and not servers:
        if config is None:
            yield required(path, "must provide `dnsConfig` when `dnsPolicy` is None")
        else:
            detail = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            yield required(f"{path}.nameservers", detail)
        return
    if config is not None:
        yield from _server_problems(servers, path)
        yield from _search_problems(config.get("searches") or [], path)
        for index, option in enumerate(config.get("options") or ()):
            if not option.get("name"):
                yield required(f"{path}.options[{index}]", "must not be empty")


def _server_problems(servers: list[str], path: str) -> Iterator[Problem]:
    if len(servers) > _SERVERS_LIMIT:
        yield invalid(f"{path}.nameservers", servers, f"must not have more than {_SERVERS_LIMIT} nameservers")
    for index, server in enumerate(servers):
        yield from ip_problems(f"{path}.nameservers[{index}]", server)


def _search_problems(searches: list[str], path: str) -> Iterator[Problem]:
    if len(searches) > _PATHS_LIMIT:
        yield invalid(f"{path}.searches", searches, f"must not have more than {_PATHS_LIMIT} search paths")
    if texts.byte_length(" ".join(searches)) > _CHARACTERS_LIMIT:
        detail = f"must not have more than {_CHARACTERS_LIMIT} characters (including spaces) in the search list"
        yield invalid(f"{path}.searches", searches, detail)
    for index, search in enumerate(searches):
        if search != ".":
            name = search.removesuffix(".")
            yield from formatted(name, f"{path}.searches[{index}]", texts.dns1123_subdomain_with_underscore)
