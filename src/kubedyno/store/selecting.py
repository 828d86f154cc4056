"""A selection of the objects of one resource: what a list or a watch was narrowed to, and how it sees events."""

import msgspec

from kubedyno.kit.errors import UsageError
from kubedyno.kube.selectors import FieldSelector, LabelSelector, Operator, Requirement
from kubedyno.store.log import Event, EventType
from kubedyno.store.records import NAMESPACE, Record, Schema, restamped

_EQUALITY = {Operator.EQUALS, Operator.DOUBLE_EQUALS}


class FieldCondition(msgspec.Struct, frozen=True):
    """The text that the field at a position of the schema must have or, negated, must not have."""

    position: int
    value: str
    negated: bool


class Selection(msgspec.Struct, frozen=True):
    """Resolved once against a resource's schema (`Store.selection`), then matched against records only."""

    namespace: str = ""
    """Empty: all namespaces, and cluster-scoped objects."""
    labels: tuple[tuple[str, str], ...] = ()
    """Labels that must have a value; by far the most frequent requirements."""
    requirements: tuple[Requirement, ...] = ()
    """The other requirements on labels."""
    fields: tuple[FieldCondition, ...] = ()
    matches_nothing: bool = False

    @classmethod
    def of(
        cls, schema: Schema, resource: str, *, namespace: str, labels: LabelSelector, fields: FieldSelector
    ) -> "Selection":
        """The selection by these selectors; a usage error for a field by which the resource cannot be selected."""
        for term in fields.terms:
            if term.path not in schema.positions:
                raise UsageError(
                    f"{resource} cannot be selected by the field {term.path!r}: use {', '.join(schema.positions)}"
                )
        return cls(
            namespace,
            tuple((entry.key, entry.values[0]) for entry in labels.requirements if entry.operator in _EQUALITY),
            tuple(entry for entry in labels.requirements if entry.operator not in _EQUALITY),
            tuple(FieldCondition(schema.positions[term.path], term.value, term.negated) for term in fields.terms),
            labels.matches_nothing,
        )

    @property
    def has_selectors(self) -> bool:
        """Whether labels or fields narrow it, so that Kubernetes counts no remaining items."""
        return bool(self.labels or self.requirements or self.fields or self.matches_nothing)

    @property
    def range(self) -> str:
        """The one namespace that can hold selected objects, also where a field condition says so; empty: any."""
        if self.namespace:
            return self.namespace
        named = (entry.value for entry in self.fields if entry.position == NAMESPACE and not entry.negated)
        return next(named, "")

    def matches(self, record: Record) -> bool:
        """Whether the object is selected in this state."""
        if self.matches_nothing or (self.namespace and record.fields[NAMESPACE] != self.namespace):
            return False
        for condition in self.fields:
            if (record.fields[condition.position] == condition.value) is condition.negated:
                return False
        for name, value in self.labels:
            if record.labels.get(name) != value:
                return False
        return not self.requirements or all(entry.matches(record.labels) for entry in self.requirements)

    def translated(self, event: Event) -> Event | None:
        """The event as a watch of this selection sees it; None: it does not.

        An object that enters the selection is added, one that leaves is deleted. As the API server does, the latter
        is sent in its previous state, which is the one that was selected, with the revision at which it left.
        """
        before = event.previous is not None and self.matches(event.previous)
        now = event.type is not EventType.DELETED and self.matches(event.record)
        if now:
            kind = EventType.MODIFIED if before else EventType.ADDED
            return event if event.type is kind else Event(kind, event.record, event.previous)
        if not before or event.previous is None:
            return None
        if event.type is EventType.DELETED:
            return event
        return Event(EventType.DELETED, restamped(event.previous, event.revision), event.previous)
