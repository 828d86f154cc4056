"""Rules of pods: what they may be, what an update may change, and bindings to nodes."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from kubedyno.kinds.rules import texts
from kubedyno.kinds.rules.differences import difference
from kubedyno.kinds.rules.fields import NO_FIELD
from kubedyno.kinds.rules.images import padding_problems
from kubedyno.kinds.rules.internals import go_json, internal, invalid_printed
from kubedyno.kinds.rules.pod_annotations import MIRROR, annotation_change_problems, annotation_state_problems
from kubedyno.kinds.rules.pod_resizing import resize_problems
from kubedyno.kinds.rules.pod_specs import pod_spec_problems
from kubedyno.kinds.rules.pod_status import status_problems
from kubedyno.kinds.rules.profiles import app_armor_match_problems, seccomp_match_problems
from kubedyno.kinds.rules.rules import Comparison, Rules
from kubedyno.kinds.rules.tolerations import only_added_problems
from kubedyno.kube.codec import Object
from kubedyno.kube.meta import annotations
from kubedyno.kube.problems import Problem, forbidden, invalid, not_supported, required

_LONGEST_DEADLINE_S: Final = 2**31 - 1
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_UPDATABLE: Final = (
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
    "`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


def state_problems(pod: Object, *, known_spec: bool = False) -> Iterator[Problem]:
    """What is wrong with a pod, its metadata aside; `known_spec` tells that the same spec was found right before."""
    spec = pod.get("spec") or {}
    given = annotations(pod)
    yield from annotation_state_problems(given, spec, "metadata.annotations")
    if known_spec and MIRROR not in given:
        return
    name = (pod.get("metadata") or {}).get("name", "")
    yield from pod_spec_problems(spec, "spec", pod_name=name, mirror=MIRROR in given)
    if not spec.get("serviceAccountName"):
        yield from _token_problems(spec)
    for part in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(part) or ()):
            yield from padding_problems(container, f"spec.{part}[{index}]")


def _token_problems(spec: Object) -> Iterator[Problem]:
    for index, volume in enumerate(spec.get("volumes") or ()):
        for place, source in enumerate((volume.get("projected") or {}).get("sources") or ()):
            if source.get("serviceAccountToken") is not None:
                at = f"spec.volumes[{index}].projected.sources[{place}].serviceAccountToken"
                yield forbidden(at, "must not be specified when serviceAccountName is not set")


def create_problems(pod: Object, *, known_spec: bool = False) -> Iterator[Problem]:
    """What is wrong with a new pod."""
    spec = pod.get("spec") or {}
    yield from state_problems(pod, known_spec=known_spec)
    if spec.get("ephemeralContainers"):
        yield forbidden("spec.ephemeralContainers", "cannot be set on create")
    if spec.get("nodeName") and spec.get("schedulingGates"):
        yield forbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared")
    if given := annotations(pod):
        yield from seccomp_match_problems(given, spec, "spec")
        yield from app_armor_match_problems(given, spec, "spec")


def update_problems(new: Object, old: Object, *, known_spec: bool = False) -> Iterator[Problem]:
    """What is wrong with an update of a pod."""
    yield from state_problems(new, known_spec=known_spec)
    yield from _annotation_problems(new, old)
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    for part in ("containers", "initContainers"):
        if len(spec.get(part) or ()) != len(before.get(part) or ()):
            yield forbidden(f"spec.{part}", "pod updates may not add or remove containers")
            return
        for index, container in enumerate(spec.get(part) or ()):
            if not container.get("image"):
                yield required(f"spec.{part}[{index}].image")
            yield from padding_problems(container, f"spec.{part}[{index}]")
    wrong = list(_deadline_problems(spec.get("activeDeadlineSeconds"), before.get("activeDeadlineSeconds")))
    yield from wrong
    if wrong and spec.get("activeDeadlineSeconds") is not None:
        return
    yield from only_added_problems(spec.get("tolerations") or (), before.get("tolerations") or (), "spec.tolerations")
    yield from _only_deleted_gates(spec.get("schedulingGates") or (), before.get("schedulingGates") or ())
    if spec != before:
        yield from _immutable_problems(spec, before)


def _annotation_problems(new: Object, old: Object) -> Iterator[Problem]:
    given = annotations(new)
    yield from annotation_change_problems(given, annotations(old), "metadata.annotations")
    yield from annotation_state_problems(given, new.get("spec") or {}, "metadata.annotations")


def _deadline_problems(new: int | None, old: int | None) -> Iterator[Problem]:
    path = "spec.activeDeadlineSeconds"
    if new is None:
        if old is not None:
            yield invalid(path, None, "must not update from a positive integer to nil value")
    elif not 0 <= new <= _LONGEST_DEADLINE_S:
        yield invalid(path, new, texts.range_text(0, _LONGEST_DEADLINE_S))
    elif old is not None and old < new:
        yield invalid(path, new, "must be less than or equal to previous value")


def _only_deleted_gates(new: Sequence[Object], old: Sequence[Object]) -> Iterator[Problem]:
    before = {gate.get("name", "") for gate in old}
    places = {gate.get("name", ""): index for index, gate in enumerate(new)}
    for name, index in places.items():
        if name not in before:
            detail = f"only deletion is allowed, but found new scheduling gate '{name}'"
            yield forbidden(f"spec.schedulingGates[{index}].name", detail)


def _immutable_problems(spec: Object, before: Object) -> Iterator[Problem]:
    """All but a few fields stay; while gates hold the pod back, it may also ask for fewer nodes."""
    compared = _with_allowed_taken_back(spec, before)
    if before.get("schedulingGates"):
        yield from _narrowing_problems(compared, before)
    if compared != before:
        detail = f"pod updates may not change fields other than {_UPDATABLE}"
        yield forbidden("spec", f"{detail}\n{difference('PodSpec', before, compared)}")


def _with_allowed_taken_back(spec: Object, before: Object) -> Object:
    """The new spec with everything that may change set back to what it was."""
    compared = dict(spec)
    for part in ("containers", "initContainers"):
        if spec.get(part):
            pairs = zip(spec[part], before[part], strict=True)
            compared[part] = [{**container, "image": old.get("image", "")} for container, old in pairs]
    for name in ("activeDeadlineSeconds", "schedulingGates", "tolerations"):
        _set_back(compared, before, name)
    grace = "terminationGracePeriodSeconds"
    if before.get(grace, 0) < 0 and compared.get(grace) == 1:
        _set_back(compared, before, grace)
    return compared


def _set_back(compared: dict[str, Any], before: Object, name: str) -> None:
    if name in before:
        compared[name] = before[name]
    else:
        compared.pop(name, None)


def _narrowing_problems(compared: dict[str, Any], before: Object) -> Iterator[Problem]:
    """What a gated pod asks of nodes may only grow; `compared` gets back what it was."""
    selector = compared.get("nodeSelector") or {}
    if any(selector.get(key) != value for key, value in (before.get("nodeSelector") or {}).items()):
        detail = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        yield invalid_printed("spec.nodeSelector", go_json(compared.get("nodeSelector")), detail)
    _set_back(compared, before, "nodeSelector")
    of_nodes = (compared.get("affinity") or {}).get("nodeAffinity")
    of_nodes_before = (before.get("affinity") or {}).get("nodeAffinity")
    if of_nodes == of_nodes_before:
        return
    yield from _affinity_narrowing_problems(of_nodes or {}, of_nodes_before or {})
    affinity = {name: value for name, value in (compared.get("affinity") or {}).items() if name != "nodeAffinity"}
    if of_nodes_before is not None:
        affinity["nodeAffinity"] = of_nodes_before
    if affinity or "affinity" in before:
        compared["affinity"] = affinity
    else:
        compared.pop("affinity", None)


def _affinity_narrowing_problems(of_nodes: Object, before: Object) -> Iterator[Problem]:
    path = f"spec.affinity.nodeAffinity.{_REQUIRED}.nodeSelectorTerms"
    old_terms = (before.get(_REQUIRED) or {}).get("nodeSelectorTerms") or []
    terms = (of_nodes.get(_REQUIRED) or {}).get("nodeSelectorTerms")
    if old_terms and len(old_terms) != len(terms or ()):
        detail = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        shown = "null" if terms is None else f"[{','.join(internal('NodeSelectorTerm', term) for term in terms)}]"
        yield invalid_printed(path, shown, detail)
        return
    for index, old_term in enumerate(old_terms):
        term = (terms or [])[index]
        if not _has_only_additions(term, old_term):
            detail = "only additions are allowed (no mutations or deletions)"
            yield invalid_printed(f"{path}[{index}]", internal("NodeSelectorTerm", term), detail)


def _has_only_additions(term: Object, before: Object) -> bool:
    parts = ("matchExpressions", "matchFields")
    # A term without requirements matches nothing, and must go on doing so.
    if not any(before.get(part) for part in parts) and any(term.get(part) for part in parts):
        return False
    return all((term.get(part) or [])[: len(before.get(part) or ())] == (before.get(part) or []) for part in parts)


def _update_status(new: Object, old: Object) -> Iterator[Problem]:
    yield from _annotation_problems(new, old)
    yield from status_problems(new, old)


def _update_ephemeral_containers(new: Object, old: Object) -> Iterator[Problem]:
    if MIRROR in annotations(old):
        yield forbidden(NO_FIELD, "static pods do not support ephemeral containers")
        return
    yield from state_problems(new)
    yield from _annotation_problems(new, old)
    containers = {entry.get("name", ""): entry for entry in (new.get("spec") or {}).get("ephemeralContainers") or ()}
    for before in (old.get("spec") or {}).get("ephemeralContainers") or ():
        name = before.get("name", "")
        if name not in containers:
            detail = f'existing ephemeral containers "{name}" may not be removed\n'
            yield forbidden("spec.ephemeralContainers", detail)
        elif containers[name] != before:
            detail = f'existing ephemeral containers "{name}" may not be changed'
            shown = difference("EphemeralContainer", before, containers[name])
            yield forbidden("spec.ephemeralContainers", f"{detail}\n{shown}")


def _resize(new: Object, old: Object) -> Iterator[Problem]:
    return resize_problems(new, old, list(state_problems(new)))


def binding_problems(binding: Object) -> Iterator[Problem]:
    """What is wrong with a Binding: it must name a node."""
    target = binding.get("target") or {}
    if target.get("kind", "") not in {"", "Node"}:
        yield not_supported("target.kind", target["kind"], ("Node", "<empty>"))
    if not target.get("name"):
        yield required("target.name")


RULES: Final = {
    ("", "Pod"): Rules(create=create_problems, update=update_problems, update_status=_update_status),
}
SUBRESOURCES: Final[dict[tuple[str, str, str], Comparison]] = {
    ("", "Pod", "ephemeralcontainers"): _update_ephemeral_containers,
    ("", "Pod", "resize"): _resize,
}
