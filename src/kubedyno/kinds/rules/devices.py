"""Rules of the group resource.k8s.io: claims of devices, templates of claims, classes, slices, taint rules."""

from collections.abc import Iterator
from typing import Final

from kubedyno.kinds.rules.amounts import is_extended
from kubedyno.kinds.rules.conditions import condition_problems
from kubedyno.kinds.rules.device_claims import claim_spec_problems, claim_status_problems, device_selector_problems
from kubedyno.kinds.rules.device_lists import configuration_problems, listed, pool_name_problems, taint_problems
from kubedyno.kinds.rules.device_slices import slice_problems, slice_update_problems
from kubedyno.kinds.rules.drivers import driver_name_problems
from kubedyno.kinds.rules.fields import annotation_problems, formatted, label_problems
from kubedyno.kinds.rules.internals import immutable
from kubedyno.kinds.rules.rules import Rules
from kubedyno.kinds.rules.texts import dns1123_label
from kubedyno.kube.codec import Object
from kubedyno.kube.problems import Problem, invalid, too_many

_GROUP: Final = "resource.k8s.io"
_MOST_CONFIGURATIONS: Final = 32
_MOST_CONDITIONS: Final = 8


def _claim(obj: Object) -> Iterator[Problem]:
    return claim_spec_problems(obj.get("spec") or {}, "spec")


def _claim_update(new: Object, old: Object) -> list[Problem]:
    return immutable("spec", new.get("spec"), old.get("spec"), "resource.ResourceClaimSpec")


def _claim_template(obj: Object) -> Iterator[Problem]:
    template = obj.get("spec") or {}
    metadata = template.get("metadata") or {}
    yield from annotation_problems(metadata.get("annotations"), "spec.metadata.annotations")
    yield from label_problems(metadata.get("labels"), "spec.metadata.labels")
    yield from claim_spec_problems(template.get("spec") or {}, "spec.spec")


def _claim_template_update(new: Object, old: Object) -> list[Problem]:
    return immutable("spec", new.get("spec"), old.get("spec"), "resource.ResourceClaimTemplateSpec")


def _class(obj: Object) -> Iterator[Problem]:
    return _class_spec(obj.get("spec") or {}, None)


def _class_update(new: Object, old: Object) -> Iterator[Problem]:
    return _class_spec(new.get("spec") or {}, old.get("spec") or {})


def _class_spec(spec: Object, before: Object | None) -> Iterator[Problem]:
    yield from device_selector_problems(spec.get("selectors"), "spec.selectors")
    stored = before is not None and (spec.get("config") or []) == (before.get("config") or [])
    yield from listed(
        spec.get("config"),
        _MOST_CONFIGURATIONS,
        lambda item, at: configuration_problems(item, at, stored=stored),
        "spec.config",
    )
    name = spec.get("extendedResourceName")
    if name is not None and not is_extended(name):
        yield invalid("spec.extendedResourceName", name, "must be a valid extended resource name")


def _taint_rule(obj: Object) -> Iterator[Problem]:
    return _taint_rule_spec(obj.get("spec") or {}, None)


def _taint_rule_update(new: Object, old: Object) -> Iterator[Problem]:
    return _taint_rule_spec(new.get("spec") or {}, old.get("spec") or {})


def _taint_rule_spec(spec: Object, before: Object | None) -> Iterator[Problem]:
    selector, path = spec.get("deviceSelector") or {}, "spec.deviceSelector"
    if selector.get("driver") is not None:
        yield from driver_name_problems(selector["driver"], f"{path}.driver")
    if selector.get("pool") is not None:
        yield from pool_name_problems(selector["pool"], f"{path}.pool")
    if selector.get("device") is not None:
        yield from formatted(selector["device"], f"{path}.device", dns1123_label)
    former = None if before is None else before.get("taint") or {}
    yield from taint_problems(spec.get("taint") or {}, former, "spec.taint")


def _taint_rule_status(new: Object, _old: Object) -> Iterator[Problem]:
    conditions = (new.get("status") or {}).get("conditions") or ()
    yield from condition_problems(conditions, "status.conditions")
    if len(conditions) > _MOST_CONDITIONS:
        yield too_many("status.conditions", len(conditions), _MOST_CONDITIONS)


RULES: Final[dict[tuple[str, str], Rules]] = {
    (_GROUP, "ResourceClaim"): Rules(create=_claim, update=_claim_update, update_status=claim_status_problems),
    (_GROUP, "ResourceClaimTemplate"): Rules(create=_claim_template, update=_claim_template_update),
    (_GROUP, "DeviceClass"): Rules(create=_class, update=_class_update),
    (_GROUP, "ResourceSlice"): Rules(create=slice_problems, update=slice_update_problems),
    (_GROUP, "DeviceTaintRule"): Rules(create=_taint_rule, update=_taint_rule_update, update_status=_taint_rule_status),
}
"""By group and kind."""
