"""Lines in a component's log that tell of client-side throttling. Pure.

client-go prints one when a request waited for more than a second, and not more often than every ten seconds or so: a
log without any proves nothing.
"""

import re
from typing import Final

_SAYS: Final = re.compile(rb"client-side throttling")
_LOOKING_ROUND: Final = re.compile(rb"timeout=32s")
"""Of requests by which a client finds out what the API server serves, as it starts."""


def throttled(text: bytes) -> int:
    """How many lines tell of a request that waited, those at the start of a process aside."""
    return sum(1 for line in text.splitlines() if _SAYS.search(line) and not _LOOKING_ROUND.search(line))
