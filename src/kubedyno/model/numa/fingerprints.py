"""The fingerprint that exporters put on a NodeResourceTopology: which pods it has counted.

Names and namespaces alone are in it: a pod that took another's name is not told from it.
"""

import functools
from collections.abc import Iterable
from typing import Final

_PREFIX: Final = "pfp0v001"
_WORD: Final = (1 << 64) - 1
_P1, _P2, _P3, _P4, _P5 = (
    0x9E3779B185EBCA87,
    0xC2B2AE3D27D4EB4F,
    0x165667B19E3779F9,
    0x85EBCA77C2B2AE63,
    0x27D4EB2F165667C5,
)
_STRIPE: Final = 32


def fingerprint(pods: Iterable[tuple[str, str]]) -> str:
    """The signature of these pods, each (namespace, name), in whatever order."""
    hashes = sorted(_pod(namespace, name) for namespace, name in pods)
    return f"{_PREFIX}{xxh64(b''.join(one.to_bytes(8, 'little') for one in hashes)):016x}"


@functools.lru_cache(maxsize=65_536)
def _pod(namespace: str, name: str) -> int:
    return xxh64(name.encode(), xxh64(namespace.encode()))


def xxh64(data: bytes, seed: int = 0) -> int:
    """The 64-bit xxHash of bytes."""
    length, place = len(data), 0
    if length >= _STRIPE:
        lanes = [seed + _P1 + _P2, seed + _P2, seed, seed - _P1]
        while place + _STRIPE <= length:
            lanes = [
                _round(lane, int.from_bytes(data[place + 8 * i : place + 8 * i + 8], "little"))
                for i, lane in enumerate(lanes)
            ]
            place += _STRIPE
        found = sum(_turned(lane, turn) for lane, turn in zip(lanes, (1, 7, 12, 18), strict=True)) & _WORD
        for lane in lanes:
            found = ((found ^ _round(0, lane)) * _P1 + _P4) & _WORD
    else:
        found = (seed + _P5) & _WORD
    found = (found + length) & _WORD
    while place + 8 <= length:
        found ^= _round(0, int.from_bytes(data[place : place + 8], "little"))
        found = (_turned(found, 27) * _P1 + _P4) & _WORD
        place += 8
    if place + 4 <= length:
        found ^= int.from_bytes(data[place : place + 4], "little") * _P1 & _WORD
        found = (_turned(found, 23) * _P2 + _P3) & _WORD
        place += 4
    for byte in data[place:]:
        found ^= byte * _P5 & _WORD
        found = _turned(found, 11) * _P1 & _WORD
    found = (found ^ found >> 33) * _P2 & _WORD
    found = (found ^ found >> 29) * _P3 & _WORD
    return found ^ found >> 32


def _round(lane: int, word: int) -> int:
    return _turned((lane + word * _P2) & _WORD, 31) * _P1 & _WORD


def _turned(word: int, by: int) -> int:
    word &= _WORD
    return (word << by | word >> 64 - by) & _WORD
