"""What becomes of a custom resource definition: its defaults, its names among others, and its way to its end.

A definition is created without conditions. Then its names are compared with those that other definitions of its
group hold (`named`), then its kind is served (`established`); on deletion it stays, held by a finalizer, until its
objects are gone (`terminating`). Each function gives a new definition; when to call it is the server's matter.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from kubedyno.kinds.custom import definition_rules, formats
from kubedyno.kinds.custom.schema_rules import formats_of
from kubedyno.kube import meta
from kubedyno.kube.codec import Object

CLEANUP_FINALIZER = "customresourcecleanup.apiextensions.k8s.io"
"""What holds a definition on deletion until its objects are gone."""

_WEBHOOK_PORT = 443


def apply_defaults(definition: Object) -> None:
    """Fill in what a definition leaves out, in place."""
    spec = definition.setdefault("spec", {})
    names = spec.setdefault("names", {})
    kind = names.get("kind") or ""
    if not names.get("singular") and kind:
        names["singular"] = kind.lower()
    if not names.get("listKind") and kind:
        names["listKind"] = f"{kind}List"
    conversion = spec.setdefault("conversion", {"strategy": "None"})
    service = ((conversion.get("webhook") or {}).get("clientConfig") or {}).get("service")
    if service is not None:
        service.setdefault("port", _WEBHOOK_PORT)


def prepared_for_create(definition: Object) -> Object:
    """The definition as it is created: generation 1, and of its status only the version that objects are stored in."""
    made = {**definition, "metadata": {**definition["metadata"], "generation": 1}}
    made["status"] = {"conditions": None, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": None}
    return _with_stored_version(made)


def prepared_for_update(new: Object, old: Object) -> Object:
    """The new state with the status of the old one, and the next generation if its spec changed."""
    made = {**new, "status": old.get("status") or {}}
    if new["spec"] != old["spec"]:
        generation = old["metadata"].get("generation", 0) + 1
        made["metadata"] = {**new["metadata"], "generation": generation}
    return _with_stored_version(made)


def _with_stored_version(definition: Object) -> Object:
    stored = definition["status"].get("storedVersions") or []
    versions = definition["spec"].get("versions") or ()
    storing = next((one["name"] for one in versions if one.get("storage")), None)
    if storing is None or storing in stored:
        return definition
    return {**definition, "status": {**definition["status"], "storedVersions": [*stored, storing]}}


def format_warnings(definition: Object, old: Object | None = None) -> list[str]:
    """What is warned of: formats that the server does not know; on an update those that came with it."""
    before = set(_unknown_formats(old)) if old is not None else set()
    return [f'unrecognized format "{name}"' for name in _unknown_formats(definition) if name not in before]


def _unknown_formats(definition: Object) -> list[str]:
    schemas = [(one.get("schema") or {}).get("openAPIV3Schema") or {} for one in definition["spec"]["versions"]]
    if all(schema == schemas[0] for schema in schemas):
        schemas = schemas[:1]
    return [name for schema in schemas for name, types in formats_of(schema) if not formats.known(name, types)]


def _condition(type_: str, status: str, reason: str, message: str, now: str) -> Object:
    return {"lastTransitionTime": now, "message": message, "reason": reason, "status": status, "type": type_}


def with_condition(definition: Object, condition: Object) -> Object:
    """The definition with a condition in the place of the one of its type; its time is kept if the status is."""
    status = definition.get("status") or {}
    conditions = list(status.get("conditions") or ())
    for index, one in enumerate(conditions):
        if one["type"] == condition["type"]:
            kept = one["status"] == condition["status"] and one.get("lastTransitionTime")
            conditions[index] = {**condition, "lastTransitionTime": kept or condition["lastTransitionTime"]}
            break
    else:
        conditions.append(condition)
    return {**definition, "status": {**status, "conditions": conditions}}


def named(definition: Object, others: Iterable[Object], *, now: str) -> Object:
    """The definition with the names that it may have, and whether these are all that it asks for.

    Names are held against those that other definitions of its group have been given; names of built-in kinds are not
    looked at: they have groups of their own. Nothing changes when it has all its names already.
    """
    asked, held = definition["spec"]["names"], (definition.get("status") or {}).get("acceptedNames") or {}
    if asked == held:
        return definition
    given, reason, message = _given(asked, held, *_taken(definition, others))
    accepted = {**definition, "status": {**(definition.get("status") or {}), "acceptedNames": given}}
    result = ("False", reason, message) if reason else ("True", "NoConflicts", "no conflicts found")
    accepted = with_condition(accepted, _condition("NamesAccepted", *result, now))
    if meta.is_condition_true(definition, "Established"):
        return accepted
    if not reason:
        starting = ("False", "Installing", "the initial names have been accepted")
        return with_condition(accepted, _condition("Established", *starting, now))
    if meta.condition(definition, "Established") is None:
        refused = ("False", "NotAccepted", "not all names are accepted")
        return with_condition(accepted, _condition("Established", *refused, now))
    return accepted


def _taken(definition: Object, others: Iterable[Object]) -> tuple[set[str], set[str]]:
    """The resource names and the kinds that others of the group, and the definition itself, have been given."""
    resources, kinds = set[str](), set[str]()
    group = definition["spec"]["group"]
    for other in (*others, definition):
        if other["spec"]["group"] == group:
            names = (other.get("status") or {}).get("acceptedNames") or {}
            resources.update([names.get("plural", ""), names.get("singular", ""), *(names.get("shortNames") or ())])
            kinds.update([names.get("kind", ""), names.get("listKind", "")])
    return resources, kinds


def _given(
    asked: Mapping[str, Any], held: Mapping[str, Any], resources: set[str], kinds: set[str]
) -> tuple[Object, str, str]:
    """The names that can be given; and of the last one that cannot, why."""
    given, reason, message = dict(held), "", ""
    for field, taken in (("plural", resources), ("singular", resources), ("shortNames", resources), ("kind", kinds),
                         ("listKind", kinds)):  # fmt: skip
        wanted = asked.get(field)
        listed = list(wanted or ()) if field == "shortNames" else [wanted or ""]
        own = list(held.get(field) or ()) if field == "shortNames" else [held.get(field) or ""]
        used = [name for name in listed if name not in own and name in taken]
        if used:
            told = [f'"{name}" is already in use' for name in used]
            reason = f"{field[0].upper()}{field[1:]}Conflict"
            message = told[0] if len(told) == 1 else f"[{', '.join(told)}]"
        elif wanted:
            given[field] = wanted
        else:
            given.pop(field, None)
    if asked.get("categories"):
        given["categories"] = asked["categories"]
    else:
        given.pop("categories", None)
    return given, reason, message


def established(definition: Object, *, now: str) -> Object:
    """The definition as one whose kind is served; as it is when its names are not accepted."""
    if not meta.is_condition_true(definition, "NamesAccepted") or meta.is_condition_true(definition, "Established"):
        return definition
    told = ("True", "InitialNamesAccepted", "the initial names have been accepted")
    return with_condition(definition, _condition("Established", *told, now))


def approval_noted(definition: Object, *, now: str) -> Object:
    """The definition with what its approval annotation says, if its group asks for one."""
    if not definition_rules.is_protected(definition["spec"]["group"]):
        return definition
    state, told = definition_rules.approval(definition)
    status, reason = {
        "missing": ("False", "MissingAnnotation"),
        "invalid": ("False", "InvalidAnnotation"),
        "bypassed": ("False", "UnapprovedAnnotation"),
        "approved": ("True", "ApprovedAnnotation"),
    }[state]
    type_ = "KubernetesAPIApprovalPolicyConformant"
    return with_condition(definition, _condition(type_, status, reason, told, now))


def deletion_pending(definition: Object, *, now: str) -> Object:
    """The definition after the first request to delete it: it stays until its objects are gone."""
    metadata = {**definition["metadata"], "deletionTimestamp": definition["metadata"].get("deletionTimestamp") or now}
    finalizers = list(metadata.get("finalizers") or ())
    if CLEANUP_FINALIZER not in finalizers:
        metadata["finalizers"] = [*finalizers, CLEANUP_FINALIZER]
    told = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"
    pending = _condition("Terminating", "True", "InstanceDeletionPending", told, now)
    return with_condition({**definition, "metadata": metadata}, pending)


def deletion_begun(definition: Object, *, now: str) -> Object:
    """The definition while its objects are being deleted."""
    told = "CustomResource deletion is in progress"
    return with_condition(definition, _condition("Terminating", "True", "InstanceDeletionInProgress", told, now))


def deletion_done(definition: Object, *, now: str) -> Object:
    """The definition without its finalizer: its objects are gone, or its kind was never served."""
    if meta.is_condition_true(definition, "Established"):
        reason, told = "InstanceDeletionCompleted", "removed all instances"
    else:
        reason, told = "NeverEstablished", "resource was never established"
    done = with_condition(definition, _condition("Terminating", "False", reason, told, now))
    finalizers = [one for one in done["metadata"].get("finalizers") or () if one != CLEANUP_FINALIZER]
    metadata = {name: value for name, value in done["metadata"].items() if name != "finalizers"}
    return {**done, "metadata": {**metadata, **({"finalizers": finalizers} if finalizers else {})}}
