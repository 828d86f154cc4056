"""Specs of Jobs without what Jobs of one kind differ in: what the labels and annotations of their pods say.

The server copies these values, and checks each by itself; the rest of a Job does not depend on them. It adds labels
with the Job's own name and uid, and a selector for them.
"""

from typing import Final

import msgspec

from kubedyno.kinds.strategies.workloads import JOB_NAME_LABELS, JOB_UID_LABELS
from kubedyno.kube.codec import Object
from kubedyno.server import spelling
from kubedyno.server.templates import is_good_value, is_plain_key

NAME_MAX_CHARS: Final = 52
"""Pods and their labels are named after a Job, and the longest index is ten digits: this is never too long."""

_SELECTING: Final = ("selector", "manualSelector")
_OF_METADATA: Final = frozenset({"labels", "annotations", "creationTimestamp"})
ANNOTATIONS_MAX_BYTES: Final = 100_000
"""Far below the limit."""


class Taken(msgspec.Struct, frozen=True):
    """What was taken out of a spec."""

    labels: tuple[str, ...]
    annotations: tuple[str, ...]
    """Names, in their order."""
    values: tuple[bytes, ...]
    """JSON of the values, of labels first."""
    marks: tuple[tuple[str, str], ...]
    """Annotations that may mean something."""
    rest: tuple[tuple[str, bytes], ...]
    """The other members: of the spec, the template, and its metadata."""

    @property
    def key(self) -> tuple[object, ...]:
        """What matters of the names."""
        return self.labels, self.annotations, self.marks


def taken_out(spec: bytes) -> Taken:
    """The parts of a Job's spec; `ValueError` or `KeyError` where values may matter, or are bad."""
    of_spec = spelling.members(spec)
    template = spelling.members(bytes(of_spec.pop("template")))
    metadata = spelling.members(bytes(template.pop("metadata", b"{}")))
    labels, annotations = (
        spelling.texts(bytes(metadata.pop(part)) if part in metadata else None) for part in ("labels", "annotations")
    )
    own = any(name in labels for name in (*JOB_NAME_LABELS, *JOB_UID_LABELS))
    if own or any(name in of_spec for name in _SELECTING) or not metadata.keys() <= _OF_METADATA:
        raise ValueError("the selector is checked against the labels")
    values = tuple(map(msgspec.json.encode, annotations.values()))
    if not all(map(is_good_value, labels.values())) or sum(map(len, values)) > ANNOTATIONS_MAX_BYTES:
        raise ValueError("a value needs a closer look")
    parts = (("spec", of_spec), ("template", template), ("metadata", metadata))
    return Taken(
        tuple(labels),
        tuple(annotations),
        (*map(msgspec.json.encode, labels.values()), *values),
        tuple(item for item in annotations.items() if not is_plain_key(item[0])),
        tuple((f"{part} {name}", bytes(value)) for part, found in parts for name, value in found.items()),
    )


def mark(job: Object, taken: Taken, *, value: str, name: str, uid: str) -> None:
    """Put marks, in place, where a stored Job has the values (`value` and their number), its name, and its uid."""
    metadata, own = job["spec"]["template"]["metadata"], job["metadata"]
    names = [("labels", one) for one in taken.labels] + [("annotations", one) for one in taken.annotations]
    for place, (part, one) in enumerate(names):
        metadata[part][one] = f"{value}{place}"
    for labels in (metadata["labels"], job["spec"]["selector"]["matchLabels"]):
        labels.update({one: name for one in JOB_NAME_LABELS if labels.get(one) == own["name"]})
        labels.update({one: uid for one in JOB_UID_LABELS if labels.get(one) == own["uid"]})
