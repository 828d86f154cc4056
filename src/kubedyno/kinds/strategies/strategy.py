"""What a strategy is: how the server keeps users from writing what is not theirs, as data with a few hooks."""

from collections.abc import Callable

import msgspec

from kubedyno.kube.codec import Object

META_OF_STATUS = ("labels", "annotations", "finalizers", "ownerReferences")
"""What users write of metadata, beside names."""

KEPT_FOR_STATUS = (*META_OF_STATUS, "deletionTimestamp", "selfLink")
"""The metadata that newer kinds do not let a status update change."""


class User(msgspec.Struct, frozen=True):
    """Who sent the request, as authentication found out."""

    name: str = ""
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: dict[str, list[str]] = {}


NOBODY = User()


class Occasion(msgspec.Struct, frozen=True):
    """What hooks need to know of the request: `now` as the server writes times, and who asks."""

    now: str
    user: User = NOBODY


CreateHook = Callable[[Object, Occasion], None]
"""Changes the new object in place."""

UpdateHook = Callable[[Object, Object, Occasion], None]
"""Changes the first, new state in place; the second is the one before."""


class Strategy(msgspec.Struct, frozen=True, kw_only=True):
    """One kind's strategy. Fields name what lies beside `metadata`, or in it (`metadata.labels`)."""

    starts_at_1: bool = True
    """Whether a new object's generation is 1; else it is what the user wrote."""

    bumped_by: tuple[str, ...] = ("spec",)
    """The fields whose change makes the generation one more."""

    has_status: bool = True
    """Whether status is the server's: dropped on creation, kept by an update of the main resource."""

    kept_by_status: tuple[str, ...] = ()
    """The fields of metadata that an update of status cannot change; the spec never can be."""

    creates_on_update: bool = False
    """Whether a PUT of what is not there creates it."""

    updates_unconditionally: bool = True
    """Whether a PUT needs no resourceVersion."""

    on_create: CreateHook | None = None
    on_update: UpdateHook | None = None
    on_status: UpdateHook | None = None
