"""JSON text without what differs from object to object: times, addresses, uids, identities of containers and machines.

The server copies such texts and compares them with each other; what it does depends on nothing else about them, as
long as they are of one class: a time is a time, an address an address. So two texts whose frames are equal, and whose
leaves are of the same classes and equal to each other at the same places, are treated alike.
"""

import functools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from kubedyno.kube.gotimes import time_problem

Frame = tuple[bytes, ...]
"""What stands between the leaves."""

NO_VERSION: Final = b'"resourceVersion":"\0"'
"""How a text looks `without_version`."""

_FORMED: Final = rb"[0-9a-f][0-9a-fTZ:./-]{6,35}"
"""What may be a time, an address or a uid: a closer look follows."""
_IDENTITY: Final = rb"[a-z-]{1,20}://[0-9a-f]{1,64}"
_TEXT: Final = rb"[ !#-\[\]-~]{1,253}"
"""Printable ASCII without quotes and backslashes: what it means is what is written."""

_OCTET: Final = rb"(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_DAY: Final = rb"[1-9][0-9]{3}-[0-9]{2}-[0-9]{2}"  # no year that may be that of the zero time, which is printed as null
_TIME: Final = re.compile(_DAY + rb"T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")
_MICROTIME: Final = re.compile(_DAY + rb"T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z")
_DIGEST: Final = re.compile(rb"(?=[0-9e]*[abcdf])[0-9a-f]{32}")  # one that cannot be read as a number
_UID: Final = re.compile(rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_ADDRESS: Final = re.compile(rb"\.".join([_OCTET] * 4))
_RANGE: Final = re.compile(rb"(%b)/(3[0-2]|[12]?[0-9])" % rb"\.".join([_OCTET] * 4))
_ORDERED: Final = (b"time", b"address")
"""Owners are ordered by time, items of lists by address; of others the server only asks whether they are equal."""
_FORMED_WHOLE: Final = re.compile(_FORMED)


# Each leaf begins behind a quote, which is not part of the frame: nothing else is left out of it.
def _or_text_of(*members: bytes) -> re.Pattern[bytes]:
    """Finds leaves by their form, and any text that is the value of one of these members."""
    of_member = b"|".join(b'(?<="%b":")' % member for member in members)
    return re.compile(rb'"(%b|(?<=":")(?:%b)%b)(?=\\?")' % (_FORMED, of_member, _TEXT))


OF_PODS: Final = re.compile(rb'"(%b|%b)(?=\\?")' % (_FORMED, _IDENTITY))
OF_NODES: Final = _or_text_of(b"address", b"providerID")
OF_LEASES: Final = _or_text_of(b"holderIdentity", b"name")
OF_EVENTS: Final = _or_text_of(b"message", b"name", b"resourceVersion")


def taken_apart(text: bytes, pattern: re.Pattern[bytes]) -> tuple[Frame, list[bytes]]:
    """The frame of a text, and its leaves in their order."""
    parts = pattern.split(text)
    return tuple(parts[::2]), parts[1::2]


def is_respelled(text: bytes) -> bool:
    """Whether it may say what is not written so, or what stands for something here: it goes the long way."""
    return b"\0" in text or (b"\\" in text and (b"\\u" in text or b"\\/" in text))


def without_version(text: bytes, revision: int) -> bytes | None:
    """A text without the version that it tells or is meant for; None when that is not the given one."""
    if b'"resourceVersion"' not in text:
        return text
    found = text.replace(b'"resourceVersion":"%d"' % revision, NO_VERSION)
    return found if found.count(b'"resourceVersion"') == found.count(NO_VERSION) == 1 else None


def template(frame: Frame) -> bytes:
    """What `filled` makes the text of that frame from."""
    return b'"%b'.join(part.replace(b"%", b"%%") for part in frame)


def filled(made: bytes, leaves: Iterable[bytes]) -> bytes:
    """The text of a template with these leaves."""
    return made % tuple(leaves)


class Leaves:
    """The leaves of one request, each once, and how they compare. `name` is that of its object."""

    __slots__ = ("alike", "distinct", "places")

    def __init__(self, leaves: Sequence[bytes], name: bytes) -> None:
        classes = {leaf: _class(leaf, name) for leaf in dict.fromkeys(leaves)}
        self.distinct = sorted(classes, key=classes.__getitem__)
        """In their order where the server might order by them, else as they came."""
        for ordered in _ORDERED:
            _sort(self.distinct, [leaf for leaf in self.distinct if classes[leaf] == ordered])
        self.places = {leaf: place for place, leaf in enumerate(self.distinct)}
        self.alike = (tuple(map(classes.__getitem__, self.distinct)), tuple(map(self.places.__getitem__, leaves)))
        """Equal for leaves that can stand for each other."""

    def stand_in(self, text: bytes) -> bool:
        """Whether one of them stands in a text, too, where it was not taken for one."""
        return any(leaf in text for leaf in self.distinct)


def _class(leaf: bytes, name: bytes) -> bytes:
    """The class of a leaf; one that is of none is its own."""
    found = _CLASS_BY_CHARS.get(len(leaf))
    if found is not None and found[1](leaf):
        return found[0]
    if b"://" in leaf:
        return b"identity"
    if _FORMED_WHOLE.fullmatch(leaf) is None:
        # A leaf without a form is the value of a member that takes any text.
        return b"name" if leaf == name else b"text"
    if _ADDRESS.fullmatch(leaf):
        return b"address"
    return b"range" if _is_range(leaf) else b"name" if leaf == name else b"=" + leaf


def _sort(distinct: list[bytes], alike: list[bytes]) -> None:
    """Sort those leaves of one class, which stand together."""
    if len(alike) > 1:
        at = distinct.index(alike[0])
        distinct[at : at + len(alike)] = sorted(alike)


@functools.lru_cache(maxsize=4096)
def _is_time(leaf: bytes) -> bool:
    return bool(_TIME.fullmatch(leaf)) and not time_problem(leaf.decode())


def _is_microtime(leaf: bytes) -> bool:
    return bool(_MICROTIME.fullmatch(leaf)) and not time_problem(leaf.decode(), micro=True)


def _is_range(leaf: bytes) -> bool:
    """Whether it is a range as it is printed: nothing is set beyond its prefix."""
    found = _RANGE.fullmatch(leaf)
    if found is None:
        return False
    address = int.from_bytes(map(int, found[1].split(b".")))
    return not address & ((1 << (32 - int(found[2]))) - 1)


_CLASS_BY_CHARS: Final[Mapping[int, tuple[bytes, Callable[[bytes], object]]]] = {
    20: (b"time", _is_time),
    27: (b"microtime", _is_microtime),
    32: (b"digest", _DIGEST.fullmatch),
    36: (b"uid", _UID.fullmatch),
}
