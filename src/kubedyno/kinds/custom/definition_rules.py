"""Which custom resource definitions the API server accepts, and which changes of them.

The server reads a definition into an older form, in which what all versions have in common stands once, above them;
so with one version, problems of its schema are told at `spec.validation`.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from kubedyno.kinds.custom import conversion_rules, printed, structural
from kubedyno.kinds.custom.schema_rules import schema_problems
from kubedyno.kinds.custom.structural import Schema
from kubedyno.kinds.rules import texts
from kubedyno.kinds.rules.rules import Rules
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.problems import Problem, duplicate, invalid, not_supported, required, too_many

_Part = Mapping[str, Any]

_COLUMN_TYPES = "boolean,date,integer,number,string"
_COLUMN_FORMATS = "byte,date,date-time,double,float,int32,int64,password"
_MOST_SELECTABLE = 8
_LONGEST_WARNING = 256
_APPROVAL = "api-approved.kubernetes.io"
_HOISTED = ("schema", "subresources", "additionalPrinterColumns", "selectableFields")


def create_problems(definition: Object) -> list[Problem]:
    """What is wrong with a new definition: its name and all but the rest of its metadata."""
    spec = definition.get("spec") or {}
    return [
        *_name_problems(definition, spec),
        *_spec_problems(spec),
        *_stored_problems(definition.get("status") or {}, spec),
        *_approval_problems(definition, None),
        *_preserving_problems(spec, {}),
    ]


def update_problems(new: Object, old: Object) -> list[Problem]:
    """What is wrong with a new state of a definition; it has the status of the one before."""
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    return [
        *_spec_problems(spec),
        *_change_problems(spec, before, is_established=meta.is_condition_true(old, "Established")),
        *_stored_problems(new.get("status") or {}, spec),
        *_approval_problems(new, old),
        *_preserving_problems(spec, before),
    ]


def status_problems(new: Object, _old: Object) -> list[Problem]:
    """What is wrong with a new status."""
    return [*_naming_problems((new.get("status") or {}).get("acceptedNames") or {}, "status.acceptedNames")]


RULES = {
    ("apiextensions.k8s.io", "CustomResourceDefinition"): Rules(
        create=create_problems, update=update_problems, update_status=status_problems
    )
}


def _name_problems(definition: Object, spec: _Part) -> Iterator[Problem]:
    name = (definition.get("metadata") or {}).get("name") or ""
    wanted = f"{(spec.get('names') or {}).get('plural') or ''}.{spec.get('group') or ''}"
    if name:
        for told in texts.dns1123_subdomain(name):
            yield invalid("metadata.name", name, told)
        if name != wanted:
            yield invalid("metadata.name", name, 'must be spec.names.plural+"."+spec.group')


def _change_problems(spec: _Part, before: _Part, *, is_established: bool) -> Iterator[Problem]:
    names, names_before = spec.get("names") or {}, before.get("names") or {}
    if is_established:
        yield from _immutable("spec.scope", spec.get("scope"), before.get("scope"))
        yield from _immutable("spec.names.kind", names.get("kind"), names_before.get("kind"))
    yield from _immutable("spec.group", spec.get("group"), before.get("group"))
    yield from _immutable("spec.names.plural", names.get("plural"), names_before.get("plural"))


def _immutable(path: str, new: str | None, old: str | None) -> Iterator[Problem]:
    if (new or "") != (old or ""):
        yield invalid(path, new or "", "field is immutable")


def _spec_problems(spec: _Part) -> Iterator[Problem]:
    versions: list[_Part] = spec.get("versions") or []
    shared = {name: versions[0].get(name) for name in _HOISTED if versions and _is_shared(versions, name)}
    yield from _group_problems(spec.get("group") or "")
    yield from _choice_problems("spec.scope", spec.get("scope") or "", ("Cluster", "Namespaced"))
    if not (shared.get("schema") or {}).get("openAPIV3Schema"):
        for index, version in enumerate(versions):
            if (version.get("schema") or {}).get("openAPIV3Schema") is None:
                yield required(f"spec.versions[{index}].schema.openAPIV3Schema")
    if spec.get("preserveUnknownFields") and any(_has_defaults(version) for version in versions):
        detail = "must be false in order to use defaults in the schema"
        yield invalid("spec.preserveUnknownFields", value=True, detail=detail)
    for index, version in enumerate(versions):
        yield from _version_problems(version, f"spec.versions[{index}]", shared)
    yield from _version_list_problems(versions, shared)
    names = spec.get("names") or {}
    for name in ("plural", "singular", "kind", "listKind"):
        if not names.get(name):
            yield required(f"spec.names.{name}")
    yield from _naming_problems(names, "spec.names")
    any_status = any((version.get("subresources") or {}).get("status") is not None for version in versions)
    yield from _part_problems(shared, "spec", "spec.validation", has_status=any_status)
    conversion = spec.get("conversion")
    if conversion is not None:
        yield from conversion_rules.conversion_problems(
            conversion, preserves_unknown=bool(spec.get("preserveUnknownFields"))
        )


def _is_shared(versions: Sequence[_Part], name: str) -> bool:
    return all(version.get(name) == versions[0].get(name) for version in versions)


def _has_defaults(version: _Part) -> bool:
    return structural.parse((version.get("schema") or {}).get("openAPIV3Schema")).has_defaults


def _group_problems(group: str) -> Iterator[Problem]:
    if not group:
        yield required("spec.group")
    elif told := texts.dns1123_subdomain(group):
        yield invalid("spec.group", group, ",".join(told))
    elif "." not in group:
        yield invalid("spec.group", group, "should be a domain with at least one dot")


def _choice_problems(path: str, value: str, known: tuple[str, ...]) -> Iterator[Problem]:
    if not value:
        yield required(path)
    elif value not in known:
        yield not_supported(path, value, known)


def _version_problems(version: _Part, path: str, shared: _Part) -> Iterator[Problem]:
    name = version.get("name") or ""
    if told := texts.dns1035_label(name):
        yield invalid(f"{path}.name", name, ",".join(told))
    yield from _warning_problems(version, f"{path}.deprecationWarning")
    own = {part: version.get(part) for part in _HOISTED if part not in shared}
    has_status = (version.get("subresources") or {}).get("status") is not None
    yield from _part_problems(own, path, f"{path}.schema", has_status=has_status)


def _warning_problems(version: _Part, path: str) -> Iterator[Problem]:
    warning = version.get("deprecationWarning")
    if warning is None:
        return
    if not version.get("deprecated"):
        yield invalid(path, warning, "can only be set for deprecated versions")
        return
    if len(warning.encode()) > _LONGEST_WARNING:
        yield invalid(path, warning, "must be <= 256 characters long")
    if not warning:
        yield invalid(path, warning, "must not be an empty string")
    unprintable = next((index for index, sign in enumerate(warning) if not sign.isprintable()), None)
    if unprintable is not None:
        at = len(warning[:unprintable].encode())
        detail = f"must only contain printable UTF-8 characters; non-printable character found at index {at}"
        yield invalid(path, warning, detail)


def _part_problems(part: _Part, path: str, schema_path: str, *, has_status: bool) -> Iterator[Problem]:
    """Schema, subresources, columns and selectable fields, of one version or of all."""
    raw = (part.get("schema") or {}).get("openAPIV3Schema")
    if raw is not None:
        yield from schema_problems(raw, schema_path, has_status=has_status)
    scale = (part.get("subresources") or {}).get("scale")
    if scale is not None:
        yield from _scale_problems(scale, f"{path}.subresources.scale")
    for index, column in enumerate(part.get("additionalPrinterColumns") or ()):
        yield from _column_problems(column, f"{path}.additionalPrinterColumns[{index}]")
    selectable = part.get("selectableFields") or ()
    if selectable:
        yield from _selectable_problems(selectable, raw, f"{path}.selectableFields")


def _scale_problems(scale: _Part, path: str) -> Iterator[Problem]:
    for name, below in (("specReplicasPath", (".spec.",)), ("statusReplicasPath", (".status.",))):
        if not scale.get(name):
            yield required(f"{path}.{name}")
        else:
            yield from _path_problems(scale[name], f"{path}.{name}", below)
    if scale.get("labelSelectorPath"):
        yield from _path_problems(scale["labelSelectorPath"], f"{path}.labelSelectorPath", (".spec.", ".status."))


def _path_problems(value: str, path: str, below: tuple[str, ...] = ()) -> Iterator[Problem]:
    if not value.startswith("."):
        yield invalid(path, value, "must be a simple json path starting with .")
    elif below and not value.startswith(below):
        roots = [root.rstrip(".") for root in below]
        told = roots[0] if len(roots) == 1 else f"either {' or '.join(roots)}"
        yield invalid(path, value, f"should be a json path under {told}")


def _column_problems(column: _Part, path: str) -> Iterator[Problem]:
    if not column.get("name"):
        yield required(f"{path}.name")
    if not column.get("type"):
        yield required(f"{path}.type", f"must be one of {_COLUMN_TYPES}")
    elif column["type"] not in _COLUMN_TYPES.split(","):
        yield invalid(f"{path}.type", column["type"], f"must be one of {_COLUMN_TYPES}")
    if column.get("format") and column["format"] not in _COLUMN_FORMATS.split(","):
        yield invalid(f"{path}.format", column["format"], f"must be one of {_COLUMN_FORMATS}")
    if not column.get("jsonPath"):
        yield required(f"{path}.JSONPath")
    else:
        yield from _path_problems(column["jsonPath"], f"{path}.JSONPath")


def _selectable_problems(fields: Sequence[_Part], raw: _Part | None, path: str) -> Iterator[Problem]:
    schema, seen = structural.parse(raw), set[str]()
    for index, field in enumerate(fields):
        at, value = f"{path}[{index}].jsonPath", field.get("jsonPath") or ""
        if not value:
            yield required(at)
            continue
        found, told = _selected(value, schema)
        if told:
            yield invalid(at, value, f"is an invalid path: {told}")
            continue
        if value.startswith(".metadata."):
            yield invalid(at, value, "must not point to fields in metadata")
        if found.type not in {"string", "boolean", "integer"}:
            allowed = "Enum string fields and strings with formats are allowed."
            yield invalid(at, value, f"must point to a field of type string, boolean or integer. {allowed}")
        if value in seen:
            yield duplicate(at, value)
        seen.add(value)
    if len(seen) > _MOST_SELECTABLE:
        yield too_many(path, len(seen), _MOST_SELECTABLE)


def _selected(path: str, schema: Schema) -> tuple[Schema, str]:
    """The schema at a path of names, or what is wrong with the path."""
    if not path.startswith("."):
        first = path.partition(".")[0].partition("[")[0]
        return schema, "array notation is not allowed" if not first else f"expected [ or . but got: {first}"
    for name in path[1:].split("."):
        if not name:
            return schema, "unexpected end of JSON path"
        own, bracket, _ = name.partition("[")
        below = schema.properties.get(own) if schema.properties else schema.member(own)
        if below is None:
            return schema, "does not refer to a valid field"
        if bracket:
            return schema, "array notation is not allowed"
        schema = below
    return schema, ""


def _version_list_problems(versions: Sequence[_Part], shared: _Part) -> Iterator[Problem]:
    names = [version.get("name") or "" for version in versions]
    # What all versions share is no longer theirs when they are printed.
    shown = [printed.version({**version, **dict.fromkeys(shared)}) for version in versions]
    if len(set(names)) != len(names):
        yield printed.invalid("spec.versions", shown, "must contain unique version names")
    if sum(bool(version.get("storage")) for version in versions) != 1:
        yield printed.invalid("spec.versions", shown, "must have exactly one version marked as storage version")
    if names and names[0] and (told := texts.dns1035_label(names[0])):
        yield invalid("spec.version", names[0], ",".join(told))


def _naming_problems(names: _Part, path: str) -> Iterator[Problem]:
    for name in ("plural", "singular"):
        if names.get(name) and (told := texts.dns1035_label(names[name])):
            yield invalid(f"{path}.{name}", names[name], ",".join(told))
    for name in ("kind", "listKind"):
        if names.get(name) and (told := texts.dns1035_label(names[name].lower())):
            detail = f"may have mixed case, but should otherwise match: {','.join(told)}"
            yield invalid(f"{path}.{name}", names[name], detail)
    yield from _label_problems(names.get("shortNames") or (), f"{path}.shortNames")
    if names.get("kind") and names["kind"] == names.get("listKind"):
        yield invalid(f"{path}.listKind", names["listKind"], "kind and listKind may not be the same")
    yield from _label_problems(names.get("categories") or (), f"{path}.categories")


def _label_problems(labels: Sequence[str], path: str) -> Iterator[Problem]:
    for index, label in enumerate(labels):
        if told := texts.dns1035_label(label):
            yield invalid(f"{path}[{index}]", label, ",".join(told))


def _stored_problems(status: _Part, spec: _Part) -> Iterator[Problem]:
    """Versions in which objects may still be stored must not go."""
    path, stored = "status.storedVersions", status.get("storedVersions") or []
    if not stored:
        yield invalid(path, None, "must have at least one stored version")
        return
    names = [version.get("name") or "" for version in spec.get("versions") or ()]
    for version in spec.get("versions") or ():
        if version.get("storage") and version.get("name") not in stored:
            yield invalid(path, stored, f"must have the storage version {version.get('name')}")
    for index, name in enumerate(stored):
        if name not in names:
            detail = (
                f"missing from spec.versions; {name} was previously a storage version, and must remain in "
                f"spec.versions until a storage migration ensures no data remains persisted in {name} and removes "
                f"{name} from status.storedVersions"
            )
            yield invalid(f"{path}[{index}]", name, detail)


def is_protected(group: str) -> bool:
    """Whether the group is one of Kubernetes' community, whose kinds must be approved."""
    return f".{group}".endswith((".k8s.io", ".kubernetes.io"))


def approval(definition: Object) -> tuple[str, str]:
    """What the approval annotation says (`missing`, `bypassed`, `approved`, `invalid`), and that in words."""
    value = meta.annotations(definition).get(_APPROVAL) or ""
    see = "see https://github.com/kubernetes/enhancements/pull/1111"
    must = f'protected groups must have approval annotation "{_APPROVAL}"'
    if not value:
        return "missing", f"{must}, {see}"
    if value.startswith("unapproved"):
        return "bypassed", f'not approved: "{value}"'
    if _is_address(value):
        return "approved", f"approved in {value}"
    return "invalid", f'{must} with either a URL or a reason starting with "unapproved", {see}'


def _is_address(value: str) -> bool:
    try:
        parts = urlsplit(value)
    except ValueError:
        return False
    return bool(parts.scheme and parts.netloc)


def _approval_problems(new: Object, old: Object | None) -> Iterator[Problem]:
    if not is_protected((new.get("spec") or {}).get("group") or ""):
        return
    state, told = approval(new)
    if old is not None and approval(old)[0] == state:
        return
    path = f"metadata.annotations[{_APPROVAL}]"
    if state == "missing":
        yield required(path, told)
    elif state == "invalid":
        yield invalid(path, meta.annotations(new)[_APPROVAL], told)


def _preserving_problems(spec: _Part, before: _Part) -> Iterator[Problem]:
    if spec.get("preserveUnknownFields") and not before.get("preserveUnknownFields"):
        detail = (
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
        )
        yield invalid("spec.preserveUnknownFields", value=True, detail=detail)
