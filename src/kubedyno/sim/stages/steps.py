"""What a stage does to an object, as data: requests are made from its steps, whoever sends them."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from kubedyno.kube import decoding
from kubedyno.kube.codec import Object
from kubedyno.kube.gotemplate.functions import Functions
from kubedyno.kube.gotemplate.kwok import render_object
from kubedyno.kube.gotemplate.problems import TemplateError
from kubedyno.kube.merge_keys import merge_keys_for
from kubedyno.kube.normalizing import normalized
from kubedyno.kube.patches import RefusedPatch, apply_json_patch, apply_merge_patch
from kubedyno.kube.strategic import apply_strategic_patch
from kubedyno.sim.stages.addresses import OutOfAddresses
from kubedyno.sim.stages.stage import NODE, POD, Apply, ApplyKind, Event, Finalizers, Kind, Patch, PatchKind, Step


class PatchRequest(msgspec.Struct, frozen=True):
    """A patch of the object itself."""

    data: Any
    kind: PatchKind
    subresource: str = ""


class ApplyRequest(msgspec.Struct, frozen=True):
    """Another object to be created, or patched where it exists; with a subresource only patched."""

    data: Object
    kind: ApplyKind
    subresource: str = ""


class DeleteRequest(msgspec.Struct, frozen=True):
    """The object is deleted without grace."""


Request = Event | PatchRequest | ApplyRequest | DeleteRequest


class Unrenderable(TemplateError):
    """A template fails on this object; the message names field and place."""


class Wanting(Unrenderable):
    """What a template asks for is not there now, and may be later: all addresses are taken."""


def requests(step: Step, obj: Object, functions: Functions, *, plain: PatchKind) -> Iterator[Request]:
    """What one step does, in its order, each rendered when it is asked for; `plain` is the kind of patches without one.

    A step that deletes does nothing else but its event and finalizers, as in KWOK.
    """
    if step.event is not None:
        yield step.event
    if step.finalizers is not None:
        operations = finalizer_operations((obj.get("metadata") or {}).get("finalizers") or [], step.finalizers)
        if operations:
            yield PatchRequest(operations, "json")
    if step.delete:
        yield DeleteRequest()
        return
    if step.patch is not None:
        yield _patch(step.patch, obj, functions, plain)
    if step.apply is not None:
        yield _apply(step.apply, obj, functions)


def plain_kind(kind: Kind) -> PatchKind:
    """The kind of a patch that names none: KWOK knows the types of pods and nodes only."""
    return "strategic" if kind in {POD, NODE} else "merge"


def _patch(patch: Patch, obj: Object, functions: Functions, plain: PatchKind) -> PatchRequest:
    data = _rendered(patch, obj, functions)
    kind = patch.kind or plain
    if kind == "json":
        if not isinstance(data, list) or not all(isinstance(operation, dict) for operation in data):
            raise Unrenderable(f"{patch.field}: a patch of type json must be a list of operations, not {data!r}")
        if patch.root:
            data = [{**operation, "path": f"/{patch.root}{operation.get('path', '')}"} for operation in data]
        return PatchRequest(data, kind, patch.subresource)
    if patch.root:
        data = {patch.root: data}
    elif not isinstance(data, dict):
        raise Unrenderable(f"{patch.field}: a patch of type {kind} must be a mapping, not {data!r}")
    return PatchRequest(data, kind, patch.subresource)


def _apply(apply: Apply, obj: Object, functions: Functions) -> ApplyRequest:
    data = _rendered(apply, obj, functions)
    if not isinstance(data, dict) or not data.get("apiVersion") or not data.get("kind"):
        raise Unrenderable(f"{apply.field}: an object to apply must have apiVersion and kind")
    return ApplyRequest(data, apply.kind, apply.subresource)


def _rendered(part: Patch | Apply, obj: Object, functions: Functions) -> Any:
    try:
        return render_object(part.template, obj, functions)
    except TemplateError as error:
        if isinstance(error.__cause__, OutOfAddresses):
            raise Wanting(f"{part.field}: {error.__cause__}") from error
        raise Unrenderable(f"{part.field}: {error}") from error


def finalizer_operations(present: list[str], change: Finalizers) -> list[Object]:
    """The JSON patch that makes the change; empty when there is nothing to do."""
    removed = [index for index, name in enumerate(present) if name in change.remove]
    if change.empty or (change.remove and len(removed) == len(present)):
        operations: list[Object] = [{"op": "remove", "path": "/metadata/finalizers"}] if present else []
        present = []
    else:
        # From the last to the first, so that indexes stay true.
        operations = [{"op": "remove", "path": f"/metadata/finalizers/{index}"} for index in reversed(removed)]
    if change.add and not present:
        operations.append({"op": "add", "path": "/metadata/finalizers", "value": list(change.add)})
    elif change.add:
        operations += [
            {"op": "add", "path": "/metadata/finalizers/-", "value": name} for name in change.add if name not in present
        ]
    return operations


def changes(obj: Object, request: PatchRequest, kind: Kind) -> bool:
    """Whether the patch makes another object of this one, as the server would print it.

    A patch that cannot be applied here counts as a change: the server shall say what is wrong with it.
    """
    if request.kind != "json" and _changes_a_word(obj, request.data):
        return True
    try:
        patched = _patched(obj, request, kind)
    except RefusedPatch:
        return True
    if patched == obj:
        return False
    reading = decoding.read(patched, kind.api_version, kind.name)
    if reading is None or reading.error:
        return True
    return bool(normalized(patched, kind.api_version, kind.name) != normalized(obj, kind.api_version, kind.name))


def _changes_a_word(obj: Any, patch: Any) -> bool:
    """Whether a word (`phase: Running`) becomes another: seen at a glance, and what most stages do."""
    if not isinstance(patch, dict):
        return isinstance(patch, str) and patch.isalpha() and obj != patch
    held = obj if isinstance(obj, dict) else {}
    return any(_changes_a_word(held.get(name), value) for name, value in patch.items() if not name.startswith("$"))


def _patched(obj: Object, request: PatchRequest, kind: Kind) -> Any:
    if request.kind == "json":
        return apply_json_patch(obj, request.data)
    if request.kind == "merge":
        return apply_merge_patch(obj, request.data)
    merge_keys = merge_keys_for(kind.api_version, kind.name)
    if merge_keys is None or not isinstance(request.data, Mapping):
        return None  # custom resources have no strategic patch, which the server answers better
    return apply_strategic_patch(obj, request.data, merge_keys)
