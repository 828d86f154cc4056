"""What a phase does: which replicas it makes, changes or deletes, by what the phases before have left. Pure.

A phase says how many replicas of its bundle there are to be in each namespace. How many there are is known by counting
alone: the cluster is not asked, but for objects that others have made (`listUnknownObjectOptions`).
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Literal, TypeAlias

import msgspec

from kubedyno.clusterloader.config import NamespaceRange, ObjectBundle, Phase
from kubedyno.clusterloader.loading.objects import object_name
from kubedyno.kit.errors import UsageError

Operation: TypeAlias = Literal["create", "patch", "delete"]


class Identity(msgspec.Struct, frozen=True):
    """Of which objects a count is: two phases that agree in it in a namespace mean the same objects."""

    basename: str
    kind: str
    api_group: str
    """Empty for the core group."""

    @classmethod
    def of(cls, basename: str, api_version: str, kind: str) -> "Identity":
        """That of a template; of several documents the first one counts."""
        return cls(basename, kind, api_version.rpartition("/")[0])


Key: TypeAlias = tuple[str, Identity]
"""(namespace, identity); the namespace of the cluster's own objects is empty."""


class Known(msgspec.Struct, frozen=True):
    """What there is of an identity in a namespace: indices 0 to `count - 1`."""

    count: int
    names: tuple[str, ...] = ()
    """Of the first ones, where others have made them; the rest are `<basename>-<index>`."""

    def name(self, basename: str, index: int) -> str:
        """How the object with that index is called."""
        return self.names[index] if index < len(self.names) else object_name(basename, index)


class Member(msgspec.Struct, frozen=True):
    """One object template of a bundle, for one replica."""

    bundle: ObjectBundle
    name: str


class Action(msgspec.Struct, frozen=True, kw_only=True):
    """One replica in one namespace: its members are done one after the other, in this order.

    What fails ends a creation or a patch, but not a deletion: the other members are to go all the same.
    """

    operation: Operation
    namespace: str
    """Empty for the cluster's scope."""
    index: int
    members: tuple[Member, ...]


class Plan(msgspec.Struct, frozen=True):
    """What is to be done, and what is known when it was: even if some of it failed."""

    actions: tuple[Action, ...]
    outcome: Mapping[Key, Known]
    """Of the bundle's objects alone: phases that run side by side do not undo each other's."""


class State(msgspec.Struct, frozen=True):
    """What the phases of a test have left."""

    known: Mapping[Key, Known] = {}

    def after(self, plan: Plan) -> "State":
        """What is known when a plan has been carried out."""
        return State({**self.known, **plan.outcome})


class Listing(msgspec.Struct, frozen=True):
    """Live objects that must be found before a phase can be planned."""

    namespace: str
    identity: Identity
    selector: str


def namespaces_of(phase: Phase, prefix: str) -> tuple[str, ...]:
    """The namespaces of a phase in their order; `("",)` for the cluster's scope.

    `prefix` is that of the test's own namespaces.
    """
    match phase.namespaces:
        case None:
            return ("",)
        case NamespaceRange(first=first, last=last, basename=basename):
            return tuple(f"{basename or prefix}-{number}" for number in range(first, last + 1))
        case names:
            return names


def listings(
    phase: Phase, namespaces: Sequence[str], state: State, identities: Sequence[Identity]
) -> tuple[Listing, ...]:
    """Which live objects count as made already: those of members that say so, where no phase has been before.

    `identities` are those of the bundle's members, in their order.
    """
    return tuple(
        Listing(namespace, identity, member.unknown_selector)
        for namespace in namespaces
        for member, identity in zip(phase.bundle, identities, strict=True)
        if member.unknown_selector and (namespace, identity) not in state.known
    )


def plan(
    phase: Phase,
    namespaces: Sequence[str],
    state: State,
    identities: Sequence[Identity],
    found: Mapping[Key, Collection[str]],
) -> Plan:
    """The actions of a phase, one namespace after the other, and what is known afterwards.

    Too few replicas are created and too many deleted, by their indices; if they are as many as wanted, each is patched.
    `found` are the names of the live objects of `listings`; what is not in it is not there.
    """
    actions: list[Action] = []
    outcome: dict[Key, Known] = {}
    for namespace in namespaces:
        members = [
            _known(member, (namespace, identity), state, found)
            for member, identity in zip(phase.bundle, identities, strict=True)
        ]
        _require_equal_counts(phase, namespace, members, identities)
        actions += _actions(phase, namespace, members)
        for known, identity in zip(members, identities, strict=True):
            outcome[namespace, identity] = Known(phase.replicas, known.names[: phase.replicas])
    return Plan(tuple(actions), outcome)


def _known(member: ObjectBundle, key: Key, state: State, found: Mapping[Key, Collection[str]]) -> Known:
    if key in state.known:
        return state.known[key]
    names = sorted(found.get(key, ()), key=lambda name: _place(member.basename, name))
    return Known(len(names), tuple(names))


def _place(basename: str, name: str) -> tuple[bool, int, str]:
    """Where a found object stands among the indices: at its own number, if it is named like those that are made here.

    That is how a StatefulSet names its claims; others come after them by their names.
    """
    stem, _, number = name.rpartition("-")
    is_ours = stem == basename and number.isascii() and number.isdigit()
    return not is_ours, int(number) if is_ours else 0, name


def _require_equal_counts(
    phase: Phase, namespace: str, members: Sequence[Known], identities: Sequence[Identity]
) -> None:
    if len({known.count for known in members}) <= 1:
        return
    counts = [
        f"{known.count} of {identity.basename!r} ({identity.kind})"
        for known, identity in zip(members, identities, strict=True)
    ]
    where = f"namespace {namespace!r} has" if namespace else "the cluster has"
    raise UsageError(
        f"{phase.place}: the objects of a bundle must be equally many, but {where} "
        f"{', '.join(counts[:-1])} and {counts[-1]}: give each of them a phase of its own, "
        "or first bring them to the same number"
    )


def _actions(phase: Phase, namespace: str, members: Sequence[Known]) -> Iterator[Action]:
    if not members:
        return
    have, want = members[0].count, phase.replicas
    operation: Operation = "create" if have < want else "delete" if have > want else "patch"
    indices = range(want) if have == want else range(min(have, want), max(have, want))
    entries = list(zip(phase.bundle, members, strict=True))
    if operation == "delete":
        entries.reverse()
    for index in indices:
        yield Action(
            operation=operation,
            namespace=namespace,
            index=index,
            members=tuple(Member(entry, known.name(entry.basename, index)) for entry, known in entries),
        )
