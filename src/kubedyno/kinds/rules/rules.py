"""What the rules of a kind are: functions from objects, defaulted and normalised, to what is wrong with them."""

from collections.abc import Callable, Iterable

import msgspec

from kubedyno.kube.codec import Object
from kubedyno.kube.problems import Problem

Check = Callable[[Object], Iterable[Problem]]
"""An object to its problems, in the order in which the server tells them."""

Comparison = Callable[[Object, Object], Iterable[Problem]]
"""The new state and the one before to problems."""


def _none(_new: Object, _old: Object) -> Iterable[Problem]:
    return ()


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """The rules of one kind, beside those of `metadata`, which all kinds share."""

    create: Check
    update: Comparison
    """All problems of an update of the main resource: those that `create` would find too, and what may not change."""
    update_status: Comparison = _none
