"""Rules of the group storage.k8s.io: classes, attachments, CSI drivers and what they tell of nodes and capacity."""

from collections.abc import Iterator
from typing import Any, Final

from kubedyno.kinds.rules.amounts import nonnegative_amount
from kubedyno.kinds.rules.drivers import driver_name_problems
from kubedyno.kinds.rules.fields import formatted
from kubedyno.kinds.rules.internals import immutable, invalid_printed, label_selector
from kubedyno.kinds.rules.numbers import not_negative
from kubedyno.kinds.rules.rules import Rules
from kubedyno.kinds.rules.selectors import selector_problems
from kubedyno.kinds.rules.texts import byte_length, dns1123_subdomain, label_key
from kubedyno.kube.codec import Object
from kubedyno.kube.problems import Problem, duplicate, forbidden, invalid, not_supported, required, too_long

_GROUP: Final = "storage.k8s.io"
_MOST_PARAMETERS: Final = 512
_BYTES_LIMIT: Final = 256 * 1024
_ERROR_LIMIT: Final = 1024
_NODE_ID_LIMIT: Final = 256
_SHORTEST_TOKEN_S: Final = 600
_LONGEST_TOKEN_S: Final = 2**32
_SHORTEST_UPDATE_PERIOD_S: Final = 10
_RECLAIM_POLICIES: Final = ("Delete", "Retain")
_BINDING_MODES: Final = ("Immediate", "WaitForFirstConsumer")
_FS_GROUP_POLICIES: Final = ("File", "None", "ReadWriteOnceWithFSType")
_LIFECYCLES: Final = ("Persistent", "Ephemeral")


def _bytes(entries: Object | None) -> int:
    return sum(byte_length(key) + byte_length(value) for key, value in (entries or {}).items())


# --- classes --------------------------------------------------------------------------------------------------


def _storage_class(obj: Object) -> Iterator[Problem]:
    yield from _driver(obj.get("provisioner", ""), "provisioner")
    yield from _parameters(obj.get("parameters") or {})
    policy, mode = obj.get("reclaimPolicy"), obj.get("volumeBindingMode")
    if policy and policy not in _RECLAIM_POLICIES:
        yield not_supported("reclaimPolicy", policy, _RECLAIM_POLICIES)
    if mode is None:
        yield required("volumeBindingMode")
    elif mode not in _BINDING_MODES:
        yield not_supported("volumeBindingMode", mode, _BINDING_MODES)
    yield from _topologies(obj.get("allowedTopologies") or ())


def _storage_class_update(new: Object, old: Object) -> Iterator[Problem]:
    for name in ("parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"):
        yield from immutable(name, new.get(name), old.get(name))


def _driver(name: str, path: str) -> Iterator[Problem]:
    if not name:
        yield required(path)
    else:
        yield from formatted(name.lower(), path, label_key)


def _parameters(parameters: Object) -> Iterator[Problem]:
    if len(parameters) > _MOST_PARAMETERS:
        yield too_long("parameters", _MOST_PARAMETERS)
        return
    if "" in parameters:
        yield invalid("parameters", "", "field can not be empty.")
    if _bytes(parameters) > _BYTES_LIMIT:
        yield too_long("parameters", _BYTES_LIMIT)


def _topologies(terms: Any) -> Iterator[Problem]:
    seen: list[dict[str, set[str]]] = []
    for index, term in enumerate(terms):
        path = f"allowedTopologies[{index}].matchLabelExpressions"
        found: dict[str, set[str]] = {}
        for place, expression in enumerate(term.get("matchLabelExpressions") or ()):
            key, values = expression.get("key", ""), expression.get("values") or []
            yield from _topology_values(values, f"{path}[{place}].values")
            yield from formatted(key, f"{path}[{place}].key", label_key)
            if key in found:
                yield duplicate(f"{path}[{place}].key", key)
            found[key] = set(values)
        if found in seen:
            yield duplicate(path, "")
        seen.append(found)


def _topology_values(values: list[str], path: str) -> Iterator[Problem]:
    if not values:
        yield required(path)
    for index, value in enumerate(values):
        if value in values[:index]:
            yield duplicate(f"{path}[{index}]", value)


def _attributes_class(obj: Object) -> Iterator[Problem]:
    yield from _driver(obj.get("driverName", ""), "driverName")
    parameters = obj.get("parameters") or {}
    yield from _parameters(parameters)
    if not parameters:
        yield required("parameters", "must contain at least one key/value pair")


def _attributes_class_update(new: Object, old: Object) -> Iterator[Problem]:
    for name in ("driverName", "parameters"):
        if new.get(name) != old.get(name):
            yield forbidden(name, f"updates to {name} are forbidden.")
    yield from _attributes_class(new)


# --- attachments ----------------------------------------------------------------------------------------------


def _attachment(obj: Object) -> Iterator[Problem]:
    spec = obj.get("spec") or {}
    yield from driver_name_problems(spec.get("attacher", ""), "spec.attacher")
    source = spec.get("source") or {}
    inline, volume = source.get("inlineVolumeSpec"), source.get("persistentVolumeName")
    exactly_one = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
    if inline is None and volume is None:
        yield required("spec.source", exactly_one)
    elif inline is not None and volume is not None:
        yield forbidden("spec.source", exactly_one)
    elif volume == "":
        yield required("spec.source.persistentVolumeName", "must specify non empty persistentVolumeName")
    yield from formatted(spec.get("nodeName", ""), "spec.nodeName", dns1123_subdomain)
    yield from _attachment_state(obj.get("status") or {})
    if volume is not None:
        yield from formatted(volume, "spec.source.persistentVolumeName", dns1123_subdomain)


def _attachment_state(status: Object) -> Iterator[Problem]:
    if _bytes(status.get("attachmentMetadata")) > _BYTES_LIMIT:
        yield too_long("status.attachmentMetadata", _BYTES_LIMIT)
    for name in ("attachError", "detachError"):
        error = status.get(name) or {}
        if byte_length(error.get("message", "")) > _ERROR_LIMIT:
            # The server tells the limit of the metadata here.
            yield too_long(f"status.{name}.message", _BYTES_LIMIT)
        if error.get("errorCode", 0) < 0:
            yield invalid(f"status.{name}.errorCode", error["errorCode"], "must be between 0 and 2147483647, inclusive")


def _attachment_update(new: Object, old: Object) -> Iterator[Problem]:
    yield from _attachment(new)
    yield from immutable("spec", new.get("spec"), old.get("spec"), "storage.VolumeAttachmentSpec")


# --- CSI ------------------------------------------------------------------------------------------------------


def _csi_node(obj: Object) -> Iterator[Problem]:
    seen: set[str] = set()
    for index, driver in enumerate((obj.get("spec") or {}).get("drivers") or ()):
        path, name = f"spec.drivers[{index}]", driver.get("name", "")
        yield from driver_name_problems(name, f"{path}.name")
        yield from _node_id(driver.get("nodeID", ""), f"{path}.nodeID")
        yield from not_negative(driver.get("allocatable") or {}, f"{path}.allocatable", "count")
        if name in seen:
            yield duplicate(f"{path}.name", name)
        seen.add(name)
        yield from _topology_keys(driver.get("topologyKeys") or [], path)


def _node_id(node_id: str, path: str) -> Iterator[Problem]:
    if not node_id:
        yield required(path)
    elif byte_length(node_id) > _NODE_ID_LIMIT:
        yield invalid(path, node_id, f"must be {_NODE_ID_LIMIT} characters or less")


def _topology_keys(keys: list[str], path: str) -> Iterator[Problem]:
    for index, key in enumerate(keys):
        if not key:
            yield required(path)
        if key in keys[:index]:
            yield duplicate(path, key)
        yield from formatted(key, path, label_key)


def _csi_node_update(new: Object, old: Object) -> Iterator[Problem]:
    yield from _csi_node(new)
    drivers = (new.get("spec") or {}).get("drivers") or ()
    for before in (old.get("spec") or {}).get("drivers") or ():
        for driver in drivers:
            if driver.get("name", "") == before.get("name", ""):
                yield from immutable("spec.drivers", _fixed(driver), _fixed(before), "storage.CSINodeDriver")


def _fixed(driver: Object) -> Object:
    return {name: value for name, value in driver.items() if name != "allocatable"}


def _csi_driver(obj: Object) -> Iterator[Problem]:
    spec = obj.get("spec") or {}
    # The server's path of attachRequired is not the field's.
    for name, told in (
        ("attachRequired", "attachedRequired"),
        ("podInfoOnMount", "podInfoOnMount"),
        ("storageCapacity", "storageCapacity"),
    ):
        if spec.get(name) is None:
            yield required(f"spec.{told}")
    policy = spec.get("fsGroupPolicy")
    if policy is not None and policy not in _FS_GROUP_POLICIES:
        yield not_supported("spec.fsGroupPolicy", policy, _FS_GROUP_POLICIES)
    tokens = spec.get("tokenRequests") or ()
    yield from _token_requests(tokens)
    for mode in spec.get("volumeLifecycleModes") or ():
        if mode not in _LIFECYCLES:
            yield not_supported("spec.volumeLifecycleModes", mode, _LIFECYCLES)
    if spec.get("seLinuxMount") is None:
        yield required("spec.seLinuxMount")
    period = spec.get("nodeAllocatableUpdatePeriodSeconds")
    if period is not None and period < _SHORTEST_UPDATE_PERIOD_S:
        said = f"must be greater than or equal to {_SHORTEST_UPDATE_PERIOD_S} seconds"
        yield invalid("spec.nodeAllocatableUpdatePeriodSeconds", period, said)
    in_secrets = spec.get("serviceAccountTokenInSecrets")
    if in_secrets is not None and not tokens:
        said = "serviceAccountTokenInSecrets is set but no tokenRequests are specified"
        yield invalid("spec.serviceAccountTokenInSecrets", in_secrets, said)


def _token_requests(requests: Any) -> Iterator[Problem]:
    seen: set[str] = set()
    for index, request in enumerate(requests):
        path, audience = f"spec.tokenRequests[{index}]", request.get("audience", "")
        if audience in seen:
            yield duplicate(f"{path}.audience", audience)
            continue
        seen.add(audience)
        seconds = request.get("expirationSeconds")
        if seconds is None:
            continue
        if seconds < _SHORTEST_TOKEN_S:
            yield invalid(f"{path}.expirationSeconds", seconds, "may not specify a duration less than 10 minutes")
        if seconds > _LONGEST_TOKEN_S:
            yield invalid(f"{path}.expirationSeconds", seconds, "may not specify a duration larger than 2^32 seconds")


def _csi_driver_update(new: Object, old: Object) -> Iterator[Problem]:
    yield from _csi_driver(new)
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    yield from immutable("spec.attachedRequired", spec.get("attachRequired"), before.get("attachRequired"))
    name = "volumeLifecycleModes"
    yield from immutable(f"spec.{name}", spec.get(name), before.get(name))


def _capacity(obj: Object) -> Iterator[Problem]:
    yield from selector_problems(obj.get("nodeTopology"), "nodeTopology")
    yield from formatted(obj.get("storageClassName", ""), "storageClassName", dns1123_subdomain)
    if obj.get("capacity") is not None:
        yield from nonnegative_amount(obj["capacity"], "capacity")


def _capacity_update(new: Object, old: Object) -> Iterator[Problem]:
    topology, name = new.get("nodeTopology"), new.get("storageClassName", "")
    if topology != old.get("nodeTopology"):
        printed = "null" if topology is None else label_selector(topology)
        yield invalid_printed("nodeTopology", printed, "field is immutable")
    if name != old.get("storageClassName", ""):
        yield invalid("storageClassName", name, "field is immutable")


RULES: Final[dict[tuple[str, str], Rules]] = {
    (_GROUP, "StorageClass"): Rules(create=_storage_class, update=_storage_class_update),
    (_GROUP, "VolumeAttributesClass"): Rules(create=_attributes_class, update=_attributes_class_update),
    (_GROUP, "VolumeAttachment"): Rules(
        create=_attachment, update=_attachment_update, update_status=_attachment_update
    ),
    (_GROUP, "CSINode"): Rules(create=_csi_node, update=_csi_node_update),
    (_GROUP, "CSIDriver"): Rules(create=_csi_driver, update=_csi_driver_update),
    (_GROUP, "CSIStorageCapacity"): Rules(create=_capacity, update=_capacity_update),
}
"""By group and kind."""
