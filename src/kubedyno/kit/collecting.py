"""How often Python looks for garbage in cycles: seldom.

Modules and objects of the API are trees that stay. The collector would look at hundreds of thousands of them again and
again: while modules load, and later while everything else waits.
"""

import gc

_COLLECT_SELDOM = (100_000, 50, 100)


def collect_seldom() -> None:
    """Set it for this process."""
    gc.set_threshold(*_COLLECT_SELDOM)
