"""What the server does to an object between defaulting and validation: status and generation are its own.

All functions change the new object: its own mapping and that of its metadata in place; deeper values are replaced,
never changed, and may afterwards be shared with the object before.
"""

from kubedyno.kinds.strategies import certificates, core, pods
from kubedyno.kinds.strategies.disabled import drop_disabled
from kubedyno.kinds.strategies.keeping import bump_generation, keep, keep_metadata
from kubedyno.kinds.strategies.strategy import META_OF_STATUS, NOBODY, Occasion, Strategy, User
from kubedyno.kinds.strategies.table import FRESH_STATUS, STRATEGIES
from kubedyno.kinds.strategies.warning import warnings_on_create, warnings_on_update
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import Resource

__all__ = [
    "NOBODY",
    "User",
    "allows_create_on_update",
    "allows_unconditional_update",
    "prepare_create",
    "prepare_status_update",
    "prepare_update",
    "unwritten_fields",
    "warnings_on_create",
    "warnings_on_update",
]


def prepare_create(obj: Object, resource: Resource, *, now: str, user: User = NOBODY) -> None:
    """Make a new object what the server lets it be: `name`, `uid` and `creationTimestamp` are there already.

    `now` is the time as the server writes it (`2026-01-02T03:04:05Z`). Kinds that are not built in stay as they are.
    """
    strategy = _strategy(resource)
    if strategy is None:
        return
    drop_disabled(obj, resource)
    if strategy.starts_at_1:
        obj["metadata"]["generation"] = 1
    if strategy.on_create is not None:
        strategy.on_create(obj, Occasion(now, user))
    elif strategy.has_status:
        obj["status"] = dict(FRESH_STATUS.get((resource.api_version, resource.plural), {}))


def prepare_update(new: Object, old: Object, resource: Resource, *, now: str, subresource: str = "") -> None:
    """Keep from the old object what this update may not change, and count the generation.

    `subresource` is where it was sent to: `status`, `approval`, `finalize`, `ephemeralcontainers`, `resize`.
    """
    strategy = _strategy(resource)
    if strategy is None:
        return
    keep_metadata(new, old)
    drop_disabled(new, resource)
    if subresource == "status":
        _update_status(new, old, strategy, Occasion(now))
    elif subresource == "approval":
        certificates.update_approval(new, old, now)
    elif subresource == "finalize":
        core.finalize_namespace(new, old)
    elif subresource == "ephemeralcontainers":
        pods.update_ephemeral_containers(new, old)
    elif subresource == "resize":
        pods.update_resize(new, old)
    else:
        if strategy.has_status:
            keep(new, old, "status")
        if strategy.on_update is not None:
            strategy.on_update(new, old, Occasion(now))
        bump_generation(new, old, strategy.bumped_by)


def prepare_status_update(new: Object, old: Object, resource: Resource, *, now: str) -> None:
    """Keep everything but the status, and the metadata that the kind lets such an update change."""
    prepare_update(new, old, resource, now=now, subresource="status")


def allows_create_on_update(resource: Resource) -> bool:
    """Whether a PUT of what is not there creates it."""
    strategy = _strategy(resource)
    return strategy is not None and strategy.creates_on_update


def allows_unconditional_update(resource: Resource) -> bool:
    """Whether a PUT needs no resourceVersion; custom resources need one."""
    strategy = _strategy(resource)
    return strategy is not None and strategy.updates_unconditionally


def unwritten_fields(resource: Resource, subresource: str = "") -> tuple[tuple[str, ...], ...]:
    """The paths that a write to this endpoint cannot change, with all below: nobody comes to own them by it."""
    strategy = _strategy(resource)
    if strategy is None or not strategy.has_status:
        return ()
    if resource.plural == "certificatesigningrequests":
        return certificates.UNWRITTEN.get(subresource, ())
    if subresource != "status":
        return (("status",),)
    if set(META_OF_STATUS).issubset(strategy.kept_by_status):
        return (("metadata",), ("spec",))
    return (("spec",), *(("metadata", field) for field in strategy.kept_by_status))


def _strategy(resource: Resource) -> Strategy | None:
    return STRATEGIES.get((resource.group, resource.plural))


def _update_status(new: Object, old: Object, strategy: Strategy, occasion: Occasion) -> None:
    keep(new, old, "spec")
    for field in strategy.kept_by_status:
        keep(new["metadata"], old["metadata"], field)
    if strategy.on_status is not None:
        strategy.on_status(new, old, occasion)
