"""How often Python looks for garbage in cycles: seldom.

Modules and objects of the API are trees that stay. The collector would look at hundreds of thousands of them again and
again: while modules load, and later while everything else waits.
"""

import contextlib
import gc
from collections.abc import Iterator

_COLLECT_SELDOM = (100_000, 50, 100)
_COLLECT_HARDLY = (20_000_000, 50, 100)
"""A bound for what runs for hours; what is made in minutes stays below it."""


def collect_seldom() -> None:
    """Set it for this process."""
    gc.set_threshold(*_COLLECT_SELDOM)


@contextlib.contextmanager
def collecting_hardly() -> Iterator[None]:
    """Set it so for the block: what is made in it is let go of at its end, and next to nothing of it are cycles."""
    before = gc.get_threshold()
    gc.set_threshold(*_COLLECT_HARDLY)
    try:
        yield
    finally:
        gc.set_threshold(*before)
