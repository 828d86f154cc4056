"""Rules of endpoints."""

from collections.abc import Iterator, Sequence
from typing import Final

from kubedyno.kinds.rules import texts
from kubedyno.kinds.rules.addresses import endpoint_ip_problems, ip_problems
from kubedyno.kinds.rules.containers import protocol_problems
from kubedyno.kinds.rules.fields import formatted
from kubedyno.kinds.rules.rules import Rules
from kubedyno.kube.codec import Object
from kubedyno.kube.problems import Problem, invalid, required


def _create(endpoints: Object) -> Iterator[Problem]:
    for index, subset in enumerate(endpoints.get("subsets") or ()):
        at = f"subsets[{index}]"
        if not subset.get("addresses") and not subset.get("notReadyAddresses"):
            yield required(at, "must specify `addresses` or `notReadyAddresses`")
        for part in ("addresses", "notReadyAddresses"):
            for place, address in enumerate(subset.get(part) or ()):
                yield from _address_problems(address, f"{at}.{part}[{place}]")
        yield from _port_problems(subset.get("ports") or (), f"{at}.ports")


def _address_problems(address: Object, path: str) -> Iterator[Problem]:
    yield from ip_problems(f"{path}.ip", address.get("ip", ""))
    if address.get("hostname"):
        yield from formatted(address["hostname"], f"{path}.hostname", texts.dns1123_label)
    if (node := address.get("nodeName")) is not None:
        yield from formatted(node, f"{path}.nodeName", texts.dns1123_subdomain)
    yield from endpoint_ip_problems(f"{path}.ip", address.get("ip", ""))


def _port_problems(ports: Sequence[Object], path: str) -> Iterator[Problem]:
    for index, port in enumerate(ports):
        at = f"{path}[{index}]"
        if port.get("name"):
            yield from formatted(port["name"], f"{at}.name", texts.dns1123_label)
        elif len(ports) > 1:
            yield required(f"{at}.name")
        for told in texts.port_number(port.get("port", 0)):
            yield invalid(f"{at}.port", port.get("port", 0), told)
        yield from protocol_problems(port.get("protocol"), f"{at}.protocol")
        if (protocol := port.get("appProtocol")) is not None:
            yield from formatted(protocol, f"{at}.appProtocol", texts.label_key)


def _update(new: Object, old: Object) -> Iterator[Problem]:
    # What was there before is forgiven.
    if (new.get("subsets") or []) != (old.get("subsets") or []):
        yield from _create(new)


RULES: Final = {("", "Endpoints"): Rules(create=_create, update=_update)}
