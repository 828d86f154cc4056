"""Rules of persistent volumes."""

import functools
import posixpath
from collections.abc import Iterator, Mapping
from typing import Any, Final

from kubedyno.kinds.rules import texts, volume_sources
from kubedyno.kinds.rules.affinity import node_selector_problems
from kubedyno.kinds.rules.amounts import basic_amount, positive_amount
from kubedyno.kinds.rules.differences import printed_difference
from kubedyno.kinds.rules.drivers import driver_name_problems
from kubedyno.kinds.rules.fields import formatted, immutable, required_fields, required_formatted
from kubedyno.kinds.rules.internals import invalid_printed
from kubedyno.kinds.rules.paths import backstep_problems
from kubedyno.kinds.rules.rules import Rules
from kubedyno.kinds.rules.volume_claims import access_mode_problems, volume_mode_problems
from kubedyno.kinds.rules.volume_printing import printed_affinity, printed_source
from kubedyno.kinds.rules.volume_sources import Source, SourceCheck, requiring
from kubedyno.kube.codec import Object
from kubedyno.kube.problems import Problem, forbidden, invalid, not_supported, required

_RECLAIM_POLICIES: Final = ("Delete", "Recycle", "Retain")
_ONE_TOO_MANY: Final = "may not specify more than 1 volume type"
_CSI_SECRETS: Final = (
    "controllerPublishSecretRef", "controllerExpandSecretRef", "nodePublishSecretRef", "nodeExpandSecretRef",
)  # fmt: skip
# Labels of nodes that got new names: a volume may follow them.
_RENAMED_LABELS: Final = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "beta.kubernetes.io/os": "kubernetes.io/os",
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
    "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
}


def _glusterfs_problems(source: Source, path: str) -> Iterator[Problem]:
    yield from required_fields(source, path, "endpoints", "path")
    namespace = source.get("endpointsNamespace")
    at = f"{path}.endpointsNamespace"
    if namespace == "":
        yield invalid(at, namespace, "if the endpointnamespace is set, it must be a valid namespace name")
    elif namespace is not None:
        yield from formatted(namespace, at, texts.dns1123_label)


def _with_secret(check: SourceCheck) -> SourceCheck:
    """The rules of a pod's volume, and that a secret names its namespace."""

    def with_namespace(source: Source, path: str) -> Iterator[Problem]:
        yield from check(source, path)
        if source.get("secretRef") is not None:
            yield from required_fields(source["secretRef"], f"{path}.secretRef", "namespace")

    return with_namespace


def _azure_file_problems(source: Source, path: str) -> Iterator[Problem]:
    yield from required_fields(source, path, "secretName", "shareName")
    if source.get("secretNamespace") == "":
        yield required(f"{path}.secretNamespace")


def _local_problems(source: Source, path: str) -> Iterator[Problem]:
    if not source.get("path"):
        yield required(f"{path}.path")
    else:
        yield from backstep_problems(source["path"], f"{path}.path")


def _csi_problems(source: Source, path: str) -> Iterator[Problem]:
    yield from driver_name_problems(source.get("driver", ""), f"{path}.driver")
    yield from required_fields(source, path, "volumeHandle")
    for name in _CSI_SECRETS:
        if (secret := source.get(name)) is not None:
            yield from required_formatted(secret.get("name"), f"{path}.{name}.name", texts.dns1123_subdomain)
            yield from required_formatted(secret.get("namespace"), f"{path}.{name}.namespace", texts.dns1123_label)


_SOURCES: Final[Mapping[str, SourceCheck]] = {
    "hostPath": volume_sources.host_path_problems,
    "gcePersistentDisk": volume_sources.gce_disk_problems,
    "awsElasticBlockStore": volume_sources.aws_disk_problems,
    "glusterfs": _glusterfs_problems,
    "flocker": volume_sources.flocker_problems,
    "nfs": volume_sources.nfs_problems,
    "rbd": requiring("monitors", "image"),
    "quobyte": volume_sources.quobyte_problems,
    "cephfs": requiring("monitors"),
    "iscsi": requiring(),
    "cinder": _with_secret(volume_sources.cinder_problems),
    "fc": volume_sources.fc_problems,
    "flexVolume": volume_sources.flex_problems,
    "azureFile": _azure_file_problems,
    "vsphereVolume": requiring("volumePath"),
    "photonPersistentDisk": requiring("pdID"),
    "portworxVolume": requiring("volumeID"),
    "azureDisk": volume_sources.azure_disk_problems,
    "scaleIO": requiring("gateway", "system", "volumeName"),
    "local": _local_problems,
    "storageos": _with_secret(volume_sources.storage_os_problems),
    "csi": _csi_problems,
}


def volume_spec_problems(spec: Object, path: str, *, name: str) -> Iterator[Problem]:
    """The spec of a persistent volume of that name."""
    modes = spec.get("accessModes") or ()
    if not modes:
        yield required(f"{path}.accessModes")
    yield from access_mode_problems(modes, f"{path}.accessModes")
    yield from _capacity_problems(spec.get("capacity") or {}, f"{path}.capacity")
    policy = spec.get("persistentVolumeReclaimPolicy", "")
    if policy and policy not in _RECLAIM_POLICIES:
        yield not_supported(f"{path}.persistentVolumeReclaimPolicy", policy, _RECLAIM_POLICIES)
    affinity = spec.get("nodeAffinity")
    if affinity is not None and affinity.get("required") is None:
        yield required(f"{path}.nodeAffinity.required", "must specify required node constraints")
    elif affinity is not None:
        yield from node_selector_problems(affinity["required"], f"{path}.nodeAffinity.required")
    yield from _source_problems(spec, path, name)
    root = posixpath.normpath((spec.get("hostPath") or {}).get("path", "") or ".") in {"/", "//"}
    if root and policy == "Recycle":
        at = f"{path}.persistentVolumeReclaimPolicy"
        yield forbidden(at, "may not be 'recycle' for a hostPath mount of '/'")
    if spec.get("storageClassName"):
        yield from formatted(spec["storageClassName"], f"{path}.storageClassName", texts.dns1123_subdomain)
    yield from volume_mode_problems(spec.get("volumeMode"), f"{path}.volumeMode")
    yield from _attributes_class_problems(spec, path)


def _capacity_problems(capacity: Mapping[str, str], path: str) -> Iterator[Problem]:
    if not capacity:
        yield required(path)
    if set(capacity) != {"storage"}:
        yield not_supported(path, dict(sorted(capacity.items())) or None, ("storage",))
    for name, amount in capacity.items():
        yield from basic_amount(amount, f"{path}[{name}]")
        yield from positive_amount(amount, f"{path}[{name}]")


def _source_problems(spec: Object, path: str, name: str) -> Iterator[Problem]:
    given = [source for source in _SOURCES if spec.get(source) is not None]
    for source in given:
        # A flexVolume is not counted as one too many.
        if source is not given[0] and source != "flexVolume":
            yield forbidden(f"{path}.{'cephFS' if source == 'cephfs' else source}", _ONE_TOO_MANY)
            continue
        check = _SOURCES[source]
        if source == "iscsi":
            check = functools.partial(volume_sources.iscsi_problems, volume=name, persistent=True)
        yield from check(spec[source], f"{path}.{source}")
        if source == "local" and spec.get("nodeAffinity") is None:
            yield required(f"{path}.nodeAffinity", "Local volume requires node affinity")
    if not given:
        yield required(path, "must specify a volume type")


def _attributes_class_problems(spec: Object, path: str) -> Iterator[Problem]:
    name, at = spec.get("volumeAttributesClassName"), f"{path}.volumeAttributesClassName"
    if name is None:
        return
    if not name:
        yield required(at, "an empty string is disallowed")
    else:
        yield from formatted(name, at, texts.dns1123_subdomain)
    if spec.get("csi") is None:
        yield required(f"{path}.csi", "has to be specified when using volumeAttributesClassName")


def _create(volume: Object) -> Iterator[Problem]:
    name = (volume.get("metadata") or {}).get("name", "")
    yield from volume_spec_problems(volume.get("spec") or {}, "spec", name=name)


def _update(new: Object, old: Object) -> Iterator[Problem]:
    # The server asks twice: as of every volume, and as part of the update.
    yield from _create(new)
    yield from _create(new)
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    source, kept = _source(spec), _source(before)
    _forgive_secret(source, kept)
    if source != kept:
        shown = printed_difference(printed_source(kept), printed_source(source))
        yield forbidden(
            "spec.persistentvolumesource", f"spec.persistentvolumesource is immutable after creation\n{shown}"
        )
    yield from immutable(spec.get("volumeMode"), before.get("volumeMode"), "volumeMode")
    affinity, had = spec.get("nodeAffinity"), before.get("nodeAffinity")
    if had is not None and not _same_affinity(affinity, had):
        detail = "field is immutable, except for updating from beta label to GA"
        yield invalid_printed("nodeAffinity", printed_affinity(affinity), detail)
    name = "volumeAttributesClassName"
    if before.get(name) is not None and spec.get(name) is None:
        yield forbidden(f"spec.{name}", "update from non-nil value to nil is forbidden")


def _source(spec: Object) -> dict[str, Any]:
    return {name: spec[name] for name in _SOURCES if spec.get(name) is not None}


def _forgive_secret(source: dict[str, Any], before: Mapping[str, Any]) -> None:
    """A secret for growing may be added later."""
    name = "controllerExpandSecretRef"
    if name in source.get("csi", {}) and "csi" in before and name not in before["csi"]:
        source["csi"] = {key: value for key, value in source["csi"].items() if key != name}


def _same_affinity(new: Any, old: Any) -> bool:
    """Whether both are the same but for labels that were renamed."""
    if isinstance(new, dict) and isinstance(old, dict):
        if new.keys() != old.keys():
            return False
        return all(
            _RENAMED_LABELS.get(old[key]) == new[key] or old[key] == new[key]
            if key == "key"
            else _same_affinity(new[key], old[key])
            for key in new
        )
    if isinstance(new, list) and isinstance(old, list):
        return len(new) == len(old) and all(map(_same_affinity, new, old))
    return bool(new == old)


def _update_status(new: Object, _old: Object) -> Iterator[Problem]:
    if not (new.get("metadata") or {}).get("resourceVersion"):
        yield required("resourceVersion")


RULES: Final = {("", "PersistentVolume"): Rules(create=_create, update=_update, update_status=_update_status)}
