"""IP addresses and CIDRs in fields that are older than strict checks: any spelling, but nothing ambiguous."""

import ipaddress
import re
from collections.abc import Container, Iterator, Sequence
from typing import Final

from kubedyno.kube.problems import Problem, invalid

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_LEADING_ZEROS: Final = re.compile(r"(?<![0-9])0+(?=[0-9])")


def parsed(text: str) -> Address | None:
    """The address, also where an IPv4 one has leading zeros; IPv6 zones are none."""
    if "%" in text:
        return None
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        if ":" in text:
            return None
    try:
        return ipaddress.IPv4Address(_LEADING_ZEROS.sub("", text))
    except ValueError:
        return None


def is_ipv6(text: str) -> bool:
    """Whether it is an IPv6 address that is no IPv4 one in disguise."""
    address = parsed(text)
    return isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is None


def ip_complaints(text: str) -> tuple[str, ...]:
    """What is wrong with an IP address in any spelling."""
    address = parsed(text)
    if address is None:
        return ("must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",)
    if isinstance(address, ipaddress.IPv6Address):
        return () if address.ipv4_mapped is None else ("must not be an IPv4-mapped IPv6 address",)
    return () if str(address) == text else ("must not have leading 0s",)


def ip_problems(path: str, text: str, accepted_before: Container[str] = ()) -> Iterator[Problem]:
    """An IP address; what the object had before stays accepted."""
    if text not in accepted_before:
        for told in ip_complaints(text):
            yield invalid(path, text, told)


def cidr_problems(path: str, text: str, accepted_before: Container[str] = ()) -> Iterator[Problem]:
    """A CIDR whose address has no bits beyond its prefix; what the object had before stays accepted."""
    if text in accepted_before:
        return
    written, slash, length = text.partition("/")
    address = parsed(written)
    bits = 128 if ":" in written else 32
    if address is None or not slash or not re.fullmatch("[0-9]{1,4}", length) or int(length) > bits:
        yield invalid(path, text, "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)")
    elif str(int(length)) != length or (bits == 32 and str(address) != written):  # noqa: PLR2004, the bits of IPv4
        yield invalid(path, text, "must not have leading 0s in IP or prefix length")
    elif isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        yield invalid(path, text, "must not have an IPv4-mapped IPv6 address")
    elif ipaddress.ip_network(f"{written}/{length}", strict=False).network_address != address:
        yield invalid(path, text, "must not have bits set beyond the prefix length")


def is_dual_stack(texts: Sequence[str]) -> bool:
    """Whether there are addresses of both families."""
    return len({is_ipv6(text.partition("/")[0]) for text in texts}) > 1


def endpoint_ip_problems(path: str, text: str) -> Iterator[Problem]:
    """An address that traffic can be sent to."""
    address = parsed(text)
    if address is None:
        yield invalid(path, text, "must be a valid IP address")
        return
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    if address.is_unspecified:
        yield invalid(path, text, f"may not be unspecified ({text})")
    if address.is_loopback:
        yield invalid(path, text, "may not be in the loopback range (127.0.0.0/8, ::1/128)")
    if address.is_link_local:
        yield invalid(path, text, "may not be in the link-local range (169.254.0.0/16, fe80::/10)")
    if any(address in network for network in _LINK_LOCAL_MULTICAST if network.version == address.version):
        yield invalid(path, text, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)")


_LINK_LOCAL_MULTICAST: Final = (ipaddress.ip_network("224.0.0.0/24"), ipaddress.ip_network("ff02::/16"))


def canonical_ip(text: str) -> tuple[str, ...]:
    """What is wrong with an address that must be spelled in the one canonical way."""
    wrong = ip_complaints(text)
    address = parsed(text)
    if wrong or address is None or str(address) == text:
        return wrong
    return (f'must be in canonical form ("{address}")',)
