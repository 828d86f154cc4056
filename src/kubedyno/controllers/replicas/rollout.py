"""How a Deployment gets from one template to the next: sizes of its ReplicaSets, as decisions on data."""

import hashlib
import math
from collections.abc import Sequence
from typing import Any

import msgspec

from kubedyno.controllers.podfacts import is_deleting, uid
from kubedyno.controllers.stamps import ns_of
from kubedyno.kube import meta
from kubedyno.kube.codec import Object

HASH_LABEL = "pod-template-hash"
REVISION = "deployment.kubernetes.io/revision"
HISTORY = "deployment.kubernetes.io/revision-history"
DESIRED = "deployment.kubernetes.io/desired-replicas"
MOST = "deployment.kubernetes.io/max-replicas"
OWN_ANNOTATIONS = frozenset(
    {
        REVISION,
        HISTORY,
        DESIRED,
        MOST,
        "kubectl.kubernetes.io/last-applied-configuration",
        "deprecated.deployment.rollback.to",
    }
)

# Kubernetes' own alphabet for generated names: without vowels, no words come out.
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_HISTORY_CHARS = 2000

Sizes = list[tuple[Object, int]]


def replicas(obj: Object) -> int:
    """`spec.replicas`."""
    number: int = obj["spec"].get("replicas", 1)
    return number


def count(obj: Object | None, field: str) -> int:
    """A count in a status."""
    number: int = ((obj or {}).get("status") or {}).get(field) or 0
    return number


def is_rolling(deployment: Object) -> bool:
    """Whether pods are replaced bit by bit."""
    return bool((deployment["spec"].get("strategy") or {}).get("type", "RollingUpdate") == "RollingUpdate")


def _bounds(deployment: Object) -> tuple[int, int]:
    """Pods that there may be too many, and too few, during a rollout."""
    if not is_rolling(deployment):
        return 0, 0
    rolling = (deployment["spec"].get("strategy") or {}).get("rollingUpdate") or {}
    wanted = replicas(deployment)
    surge = scaled(rolling.get("maxSurge", 0), wanted, up=True)
    unavailable = scaled(rolling.get("maxUnavailable", 0), wanted, up=False)
    # Both zero would never get anywhere.
    return (surge, unavailable) if surge or unavailable else (0, 1)


def scaled(value: int | str, total: int, *, up: bool) -> int:
    """A number, or a share of `total` in percent."""
    if isinstance(value, int):
        return value
    share = int(value.removesuffix("%")) * total / 100
    return math.ceil(share) if up else math.floor(share)


def max_surge(deployment: Object) -> int:
    """Pods beyond the wanted number that a rollout may have."""
    return _bounds(deployment)[0]


def max_unavailable(deployment: Object) -> int:
    """Pods of the wanted number that a rollout may do without."""
    if not is_rolling(deployment) or replicas(deployment) == 0:
        return 0
    return min(_bounds(deployment)[1], replicas(deployment))


def _age(replica_set: Object) -> tuple[int, str]:
    return ns_of(replica_set["metadata"].get("creationTimestamp")) or 0, replica_set["metadata"]["name"]


def _without_hash(template: Object) -> Object:
    metadata = template.get("metadata") or {}
    labels = {key: value for key, value in (metadata.get("labels") or {}).items() if key != HASH_LABEL}
    return {**template, "metadata": {**metadata, "labels": labels}}


def find_new(deployment: Object, sets: Sequence[Object]) -> Object | None:
    """The oldest set that has the Deployment's template."""
    wanted = _without_hash(deployment["spec"]["template"])
    for replica_set in sorted(sets, key=_age):
        if _without_hash(replica_set["spec"]["template"]) == wanted:
            return replica_set
    return None


def template_hash(deployment: Object) -> str:
    """A short name of the template; differs again after a collision."""
    text = msgspec.json.encode([deployment["spec"]["template"], count(deployment, "collisionCount")], order="sorted")
    number = int.from_bytes(hashlib.sha256(text).digest()[:4], "big")
    return "".join(_ALPHABET[ord(digit) % len(_ALPHABET)] for digit in str(number))


def revision(obj: Object) -> int:
    """The revision in an annotation; 0 without a proper one."""
    text = meta.annotations(obj).get(REVISION, "0")
    return int(text) if text.isdigit() else 0


def annotations_of(deployment: Object, replica_set: Object, new_revision: int) -> dict[str, str]:
    """The annotations that the new set shall have: the Deployment's, its revision, and those it had before."""
    found = dict(meta.annotations(replica_set))
    found.update({key: value for key, value in meta.annotations(deployment).items() if key not in OWN_ANNOTATIONS})
    before = revision(replica_set)
    if before < new_revision:
        found[REVISION] = str(new_revision)
        if REVISION in meta.annotations(replica_set):
            history = [entry for entry in found.get(HISTORY, "").split(",") if entry]
            history.append(str(before))
            while len(",".join(history)) > _HISTORY_CHARS:
                del history[0]
            found[HISTORY] = ",".join(history)
    return found


def size_annotations(deployment: Object) -> dict[str, str]:
    """What a set remembers of the Deployment's size."""
    wanted = replicas(deployment)
    return {DESIRED: str(wanted), MOST: str(wanted + max_surge(deployment))}


def new_size(deployment: Object, sets: Sequence[Object], current: int) -> int:
    """The size of the new set, as far as all together may go; `sets` includes it if it exists."""
    wanted = replicas(deployment)
    if not is_rolling(deployment):
        return wanted
    room = wanted + max_surge(deployment) - sum(map(replicas, sets))
    return current if room <= 0 else current + min(room, wanted - current)


def shrunk(deployment: Object, old: Sequence[Object], new: Object) -> Sizes:
    """Smaller sizes for old sets in a rolling update: first what is unhealthy, then as many as can be missed."""
    active = [entry for entry in sorted(old, key=_age) if replicas(entry) > 0]
    least = replicas(deployment) - max_unavailable(deployment)
    total = sum(map(replicas, active)) + replicas(new)
    spare = total - least - (replicas(new) - count(new, "availableReplicas"))
    if not active or spare <= 0:
        return []
    sizes = {uid(entry): replicas(entry) for entry in active}
    for entry in active:
        unhealthy = min(spare, sizes[uid(entry)] - count(entry, "availableReplicas"))
        if unhealthy > 0:
            sizes[uid(entry)] -= unhealthy
            spare -= unhealthy
    surplus = sum(count(entry, "availableReplicas") for entry in (*active, new)) - least
    for entry in active:
        gone = min(sizes[uid(entry)], surplus)
        if gone > 0:
            sizes[uid(entry)] -= gone
            surplus -= gone
    return [(entry, sizes[uid(entry)]) for entry in active if sizes[uid(entry)] != replicas(entry)]


def resized(deployment: Object, new: Object | None, old: Sequence[Object]) -> Sizes:
    """Sizes of the sets after the Deployment itself was scaled, all in proportion when several have pods."""
    wanted = replicas(deployment)
    everything = [*old, *([new] if new is not None else [])]
    active = [entry for entry in everything if replicas(entry) > 0]
    if len(active) <= 1:
        latest = active[0] if active else new or max(old, key=_age, default=None)
        return [(latest, wanted)] if latest is not None and replicas(latest) != wanted else []
    if new is not None and _is_saturated(deployment, new):
        return [(entry, 0) for entry in active if entry is not new]
    if not is_rolling(deployment):
        return []
    allowed = wanted + max_surge(deployment) if wanted > 0 else 0
    to_add = allowed - sum(map(replicas, active))
    # The largest first; of equal ones the newest grows and the oldest shrinks.
    active.sort(key=lambda entry: (-replicas(entry), -_age(entry)[0] if to_add > 0 else _age(entry)[0]))
    added = 0
    sizes: list[int] = []
    for entry in active:
        part = _proportion(entry, deployment, to_add, added)
        sizes.append(replicas(entry) + part)
        added += part
    sizes[0] = max(0, sizes[0] + to_add - added)
    return list(zip(active, sizes, strict=True))


def _is_saturated(deployment: Object, new: Object) -> bool:
    wanted = replicas(deployment)
    remembered = meta.annotations(new).get(DESIRED)
    return replicas(new) == wanted == count(new, "availableReplicas") and remembered == str(wanted)


def _proportion(replica_set: Object, deployment: Object, to_add: int, added: int) -> int:
    if to_add in {0, added}:
        return 0
    if replicas(deployment) == 0:
        share = -replicas(replica_set)
    else:
        remembered = meta.annotations(replica_set).get(MOST, "")
        before = int(remembered) if remembered.isdigit() and int(remembered) else count(deployment, "replicas")
        if before == 0:
            return 0
        most = replicas(deployment) + max_surge(deployment)
        share = math.floor(replicas(replica_set) * most / before + 0.5) - replicas(replica_set)
    return min(share, to_add - added) if to_add > 0 else max(share, to_add - added)


def is_scaled(deployment: Object, sets: Sequence[Object]) -> bool:
    """Whether the Deployment's size was changed since its sets were sized."""
    remembered = [meta.annotations(entry).get(DESIRED, "") for entry in sets if replicas(entry) > 0]
    return any(text.isdigit() and int(text) != replicas(deployment) for text in remembered)


def expired(deployment: Object, old: Sequence[Object]) -> list[Object]:
    """Old empty sets beyond the history that is kept."""
    limit = deployment["spec"].get("revisionHistoryLimit", 10)
    alive = sorted((entry for entry in old if not is_deleting(entry)), key=lambda entry: (revision(entry), _age(entry)))
    surplus = alive[: max(0, len(alive) - limit)]
    return [
        entry
        for entry in surplus
        if not replicas(entry)
        and not count(entry, "replicas")
        and entry["metadata"].get("generation", 0) <= count(entry, "observedGeneration")
    ]


def new_set(deployment: Object, old: Sequence[Object], reference: dict[str, Any]) -> Object:
    """The ReplicaSet of a template that has none yet."""
    spec, hashed = deployment["spec"], template_hash(deployment)
    template = meta.copied(spec["template"])
    labels = {**((template.get("metadata") or {}).get("labels") or {}), HASH_LABEL: hashed}
    template["metadata"] = {**(template.get("metadata") or {}), "labels": labels}
    selector = meta.copied(spec["selector"])
    selector["matchLabels"] = {**(selector.get("matchLabels") or {}), HASH_LABEL: hashed}
    body: Object = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": f"{deployment['metadata']['name'][: 252 - len(hashed)]}-{hashed}",
            "namespace": deployment["metadata"]["namespace"],
            "labels": labels,
            "ownerReferences": [reference],
        },
        "spec": {"replicas": new_size(deployment, old, 0), "selector": selector, "template": template},
    }
    if spec.get("minReadySeconds"):
        body["spec"]["minReadySeconds"] = spec["minReadySeconds"]
    next_revision = max(map(revision, old), default=0) + 1
    body["metadata"]["annotations"] = annotations_of(deployment, body, next_revision) | size_annotations(deployment)
    return body
