"""The name that was probably meant."""

import difflib
from collections.abc import Iterable
from typing import Final

_FEW: Final = 24


def suggestion(wrong: str, known: Iterable[str]) -> str:
    """Sentence part for an error about an unknown name: the nearest known one, else all of them, if they are few."""
    names = sorted(known)
    close = difflib.get_close_matches(wrong, names, n=1, cutoff=0.6)
    if close:
        return f"did you mean {close[0]!r}?"
    more = f", and {len(names) - _FEW} more" if len(names) > _FEW else ""
    return f"known are: {', '.join(names[:_FEW])}{more}" if names else "none are known"
