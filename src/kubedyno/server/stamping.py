"""What every new object is stamped with: the time, an identity, a generated name."""

import random
from datetime import UTC, datetime

from kubedyno.kit.clock import NS_PER_S, Clock

_SUFFIX_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
"""Of generated names: no vowels and nothing that looks alike, so that they spell nothing."""

_SUFFIX_CHARS = 5
BASE_CHARS = 63 - _SUFFIX_CHARS
"""What is kept of a `generateName`: with its suffix a name fits into a label."""


class Stamps:
    """Time and randomness as objects carry them."""

    def __init__(self, clock: Clock, rng: random.Random) -> None:
        self._clock = clock
        self._rng = rng
        self._second = -1
        self._text = ""

    def now(self) -> str:
        """The time as objects carry it: `2026-01-02T03:04:05Z`."""
        second = self._clock.wall_ns() // NS_PER_S
        if second != self._second:
            self._second = second
            self._text = datetime.fromtimestamp(second, tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return self._text

    def new_uid(self) -> str:
        """A version 4 UUID."""
        bits = self._rng.getrandbits(128) & ~(0xF << 76) & ~(0x3 << 62) | (0x4 << 76) | (0x2 << 62)
        text = f"{bits:032x}"
        return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"

    def new_name(self, base: str) -> str:
        """A name for a `generateName`."""
        return base[:BASE_CHARS] + "".join(self._rng.choices(_SUFFIX_ALPHABET, k=_SUFFIX_CHARS))
