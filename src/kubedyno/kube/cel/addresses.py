"""IP addresses, networks and URLs."""

import ipaddress
import json
import re
import urllib.parse
from typing import Final

from kubedyno.kube.cel.errors import EvaluationError, no_such_overload
from kubedyno.kube.cel.library import Library, of, on
from kubedyno.kube.cel.values import Cidr, Ip, Url

_WIDTH: Final = {4: 32, 6: 128}
_V4: Final = 4
_LINK_LOCAL_V4: Final = 0xE00000
_LINK_LOCAL_V6: Final = 0xFF02
_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_BAD_ESCAPE: Final = re.compile(r"%(?![0-9A-Fa-f]{2}).{0,2}")
_PATH_SAFE: Final = "$&+,/:;=@!'()*~-_."


def _address(number: Ip) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    return ipaddress.IPv4Address(number.number) if number.version == _V4 else ipaddress.IPv6Address(number.number)


def ip_text(number: Ip) -> str:
    """The address in its canonical form."""
    return str(_address(number))


def cidr_text(network: Cidr) -> str:
    """`10.0.0.0/8`."""
    return f"{ip_text(network.ip)}/{network.bits}"


def _read_ip(text: str) -> Ip:
    """An address without zone, in the words of the API server when it is none."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        problem = f'ParseAddr("{text}"): {_ip_problem(text)}'
        raise EvaluationError(f'IP Address "{text}" parse error during conversion from string: {problem}') from None
    if "%" in text:
        raise EvaluationError(f'IP address "{text}" with zone value is not allowed')
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        raise EvaluationError(f'IPv4-mapped IPv6 address "{text}" is not allowed')
    return Ip(address.version, int(address))


def _ip_problem(text: str) -> str:
    first = next((sign for sign in text if sign in ".:%"), "")
    if first == "":
        return "unable to parse IP"
    if first == "%":
        return "missing IPv6 address"
    return _ipv4_problem(text) if first == "." else "unexpected character"


def _ipv4_problem(text: str) -> str:
    at = 0
    fields = 1
    digits = ""
    for at, sign in enumerate(text):
        if sign in "0123456789":
            if digits == "0":
                return "IPv4 field has octet with leading zero"
            digits += sign
            if int(digits) > 255:  # noqa: PLR2004 - an octet
                return "IPv4 field has value >255"
        elif sign == ".":
            if not digits or at == len(text) - 1:
                return f'IPv4 field must have at least one digit (at "{text[at:]}")'
            if fields == 4:  # noqa: PLR2004 - an address has four
                return "IPv4 address too long"
            fields, digits = fields + 1, ""
        else:
            return f'unexpected character (at "{text[at:]}")'
    return "IPv4 address too short"


def _is_ip(text: str) -> bool:
    try:
        _read_ip(text)
    except EvaluationError:
        return False
    return True


def _read_cidr(text: str) -> Cidr:
    said = "network address parse error during conversion from string: "
    problem = _cidr_problem(text)
    if problem:
        raise EvaluationError(f'{said}{said}netip.ParsePrefix("{text}"): {problem}')
    address, _, bits = text.rpartition("/")
    ip = ipaddress.ip_address(address)
    if isinstance(ip, ipaddress.IPv6Address) and ip.ipv4_mapped is not None:
        raise EvaluationError(f'{said}IPv4-mapped IPv6 address "{text}" is not allowed')
    return Cidr(Ip(ip.version, int(ip)), int(bits))


def _cidr_problem(text: str) -> str:
    address, slash, bits = text.rpartition("/")
    if not slash:
        return "no '/'"
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return f'ParseAddr("{address}"): {_ip_problem(address)}'
    if "%" in address:
        return "IPv6 zones cannot be present in a prefix"
    if not re.fullmatch(r"0|[1-9][0-9]{0,9}", bits):
        return f'bad bits after slash: "{bits}"'
    return "prefix length out of range" if int(bits) > _WIDTH[ip.version] else ""


def _is_cidr(text: str) -> bool:
    try:
        _read_cidr(text)
    except EvaluationError:
        return False
    return True


def _masked(network: Cidr) -> Cidr:
    rest = _WIDTH[network.ip.version] - network.bits
    return Cidr(Ip(network.ip.version, network.ip.number >> rest << rest), network.bits)


def _contains_ip(network: Cidr, ip: Ip) -> bool:
    rest = _WIDTH[network.ip.version] - network.bits
    return network.ip.version == ip.version and network.ip.number >> rest == ip.number >> rest


def _contains_cidr(network: Cidr, other: Cidr) -> bool:
    return network.bits <= other.bits and _contains_ip(network, other.ip)


def _contains_ip_text(network: Cidr, text: str) -> bool:
    if not _is_ip(text):
        # The error of the conversion is lost there.
        raise no_such_overload()
    return _contains_ip(network, _read_ip(text))


def _contains_cidr_text(network: Cidr, text: str) -> bool:
    if not _is_cidr(text):
        raise no_such_overload()
    return _contains_cidr(network, _read_cidr(text))


def _is_global_unicast(ip: Ip) -> bool:
    address = _address(ip)
    broadcast = ip.version == _V4 and ip.number == 2**32 - 1
    special = address.is_unspecified or address.is_loopback or address.is_multicast or address.is_link_local
    return not (broadcast or special)


def _is_link_local_multicast(ip: Ip) -> bool:
    if ip.version == _V4:
        return ip.number >> 8 == _LINK_LOCAL_V4
    return ip.number >> 112 & 0xFF0F == _LINK_LOCAL_V6


def _read_url(text: str) -> Url:
    """A URL as Go's ParseRequestURI takes it, in its parts as Go's Parse has them."""
    problem = url_problem(text)
    if problem:
        raise EvaluationError(
            f"URL parse error during conversion from string: parse {json.dumps(text, ensure_ascii=False)}: {problem}"
        )
    found = _SCHEME.match(text)
    scheme = found[1].lower() if found else ""
    rest = text[found.end() :] if found else text
    rest, _, fragment = rest.partition("#")
    rest, _, query = rest.partition("?")
    host = authority = ""
    opaque = scheme and not rest.startswith("/")
    if rest.startswith("//") and (scheme or not rest.startswith("///")):
        authority, slash, path = rest[2:].partition("/")
        rest = slash + path
        host = authority.rpartition("@")[2]
    hostname, port = _split_host(host)
    path = rest if opaque else _escaped_path(rest)
    before = f"{scheme}:" if scheme else ""
    shown = f"{before}{'//' if host else ''}{authority}{path}"
    shown += (f"?{query}" if query else "") + (f"#{fragment}" if fragment else "")
    return Url(scheme, host, hostname, port, "" if opaque else path, query, shown)


def url_problem(text: str) -> str:  # noqa: PLR0911 - one sentence per kind of fault
    """Why Go's ParseRequestURI refuses a text; empty: it does not."""
    if any(sign < " " or sign == "\x7f" for sign in text):
        return "net/url: invalid control character in URL"
    if not text:
        return "empty url"
    if text.startswith(":"):
        return "missing protocol scheme"
    found = _SCHEME.match(text)
    rest = text[found.end() :] if found else text
    if not rest.startswith("/"):
        return "" if found else "invalid URI for request"
    path = rest.partition("?")[0]
    if path.startswith("//") and (found or not path.startswith("///")):
        authority, _, path = path[2:].partition("/")
        if problem := _host_problem(authority.rpartition("@")[2]):
            return problem
    if wrong := _BAD_ESCAPE.search(path):
        return f'invalid URL escape "{wrong[0]}"'
    return ""


def _host_problem(host: str) -> str:
    if host.startswith("["):
        closing = host.rfind("]")
        if closing < 0:
            return "missing ']' in host"
        port = host[closing + 1 :]
    else:
        colon = host.find(":")
        port = host[colon:] if colon >= 0 else ""
        if " " in host:
            return 'invalid character " " in host name'
    if port and not re.fullmatch(r":[0-9]*", port):
        return f'invalid port "{port}" after host'
    return ""


def _split_host(host: str) -> tuple[str, str]:
    found = re.fullmatch(r"(.*?)(?::([0-9]*))?", host) if not host.startswith("[") else None
    if found:
        return found[1], found[2] or ""
    inside, _, port = host.removeprefix("[").rpartition("]")
    return inside, port.removeprefix(":")


def _escaped_path(path: str) -> str:
    """As it was written where that is a valid encoding, else encoded anew."""
    if re.fullmatch(r"(?:[A-Za-z0-9\-_.~$&+,/:;=@!'()*\[\]]|%[0-9A-Fa-f]{2})*", path):
        return path
    return urllib.parse.quote(
        urllib.parse.unquote(path, errors="surrogateescape"), safe=_PATH_SAFE, errors="surrogateescape"
    )


def _query(url: Url) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for part in url.query.split("&"):
        # Go drops pairs with a semicolon or a broken escape.
        if not part or ";" in part or _BAD_ESCAPE.search(part):
            continue
        key, _, value = part.partition("=")
        found.setdefault(urllib.parse.unquote_plus(key), []).append(urllib.parse.unquote_plus(value))
    return found


FUNCTIONS: Final[Library] = {
    "ip": (of("string", _read_ip), on("cidr", lambda network: network.ip)),
    "isIP": (of("string", _is_ip),),
    "ip.isCanonical": (of("string", lambda text: ip_text(_read_ip(text)) == text),),
    "family": (on("ip", lambda ip: ip.version),),
    "isUnspecified": (on("ip", lambda ip: ip.number == 0),),
    "isLoopback": (on("ip", lambda ip: _address(ip).is_loopback),),
    "isLinkLocalMulticast": (on("ip", _is_link_local_multicast),),
    "isLinkLocalUnicast": (on("ip", lambda ip: _address(ip).is_link_local),),
    "isGlobalUnicast": (on("ip", _is_global_unicast),),
    "cidr": (of("string", _read_cidr),),
    "isCIDR": (of("string", _is_cidr),),
    "containsIP": (
        on("cidr ip", _contains_ip),
        on("cidr string", _contains_ip_text),
    ),
    "containsCIDR": (
        on("cidr cidr", _contains_cidr),
        on("cidr string", _contains_cidr_text),
    ),
    "prefixLength": (on("cidr", lambda network: network.bits),),
    "masked": (on("cidr", _masked),),
    "string": (of("ip", ip_text), of("cidr", cidr_text)),
    "url": (of("string", _read_url),),
    "isURL": (of("string", lambda text: not url_problem(text)),),
    "getScheme": (on("url", lambda url: url.scheme),),
    "getHost": (on("url", lambda url: url.host),),
    "getHostname": (on("url", lambda url: url.hostname),),
    "getPort": (on("url", lambda url: url.port),),
    "getEscapedPath": (on("url", lambda url: url.escaped_path),),
    "getQuery": (on("url", _query),),
}
