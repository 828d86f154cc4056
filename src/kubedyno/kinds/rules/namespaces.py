"""Rules of namespaces."""

from collections.abc import Iterator
from typing import Final

from kubedyno.kinds.rules import texts
from kubedyno.kinds.rules.fields import formatted
from kubedyno.kinds.rules.metadata import standard_finalizer_problems
from kubedyno.kinds.rules.rules import Comparison, Rules
from kubedyno.kube.codec import Object
from kubedyno.kube.problems import Problem, invalid


def _create(namespace: Object) -> Iterator[Problem]:
    for finalizer in (namespace.get("spec") or {}).get("finalizers") or ():
        yield from _finalizer_problems(finalizer, "spec.finalizers")


def _update(new: Object, _old: Object) -> Iterator[Problem]:
    return _create(new)


def _finalizer_problems(finalizer: str, path: str) -> Iterator[Problem]:
    yield from formatted(finalizer, path, texts.label_key)
    yield from standard_finalizer_problems(finalizer, path)


def _update_status(new: Object, _old: Object) -> Iterator[Problem]:
    phase = (new.get("status") or {}).get("phase", "")
    deleted = (new.get("metadata") or {}).get("deletionTimestamp") is not None
    if deleted and phase != "Terminating":
        yield invalid("status.Phase", phase, "may only be 'Terminating' if `deletionTimestamp` is not empty")
    if not deleted and phase != "Active":
        yield invalid("status.Phase", phase, "may only be 'Active' if `deletionTimestamp` is empty")


def _finalize(new: Object, _old: Object) -> Iterator[Problem]:
    for index, finalizer in enumerate((new.get("spec") or {}).get("finalizers") or ()):
        yield from _finalizer_problems(finalizer, f"spec.finalizers[{index}]")


RULES: Final = {("", "Namespace"): Rules(create=_create, update=_update, update_status=_update_status)}
SUBRESOURCES: Final[dict[tuple[str, str, str], Comparison]] = {("", "Namespace", "finalize"): _finalize}
