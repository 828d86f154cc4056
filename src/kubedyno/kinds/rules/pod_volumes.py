"""Rules of the volumes of a pod."""

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from kubedyno.kinds.rules import texts, volume_sources
from kubedyno.kinds.rules.fields import required_formatted
from kubedyno.kinds.rules.images import pull_policy_problems
from kubedyno.kinds.rules.projections import projected_problems
from kubedyno.kinds.rules.volume_claims import claim_template_problems
from kubedyno.kinds.rules.volume_files import downward_problems, keyed_problems
from kubedyno.kinds.rules.volume_sources import SourceCheck, requiring
from kubedyno.kube.codec import Object
from kubedyno.kube.problems import Problem, duplicate, forbidden, invalid, required
from kubedyno.kube.quantities import Quantity

_ONE_TOO_MANY: Final = "may not specify more than 1 volume type"


def _empty_dir_problems(source: Mapping[str, Any], path: str) -> Iterator[Problem]:
    if source.get("sizeLimit") is not None and Quantity.parse(source["sizeLimit"]).nanos < 0:
        yield forbidden(f"{path}.sizeLimit", "SizeLimit field must be a valid resource quantity")


def _ephemeral_problems(source: Mapping[str, Any], path: str) -> Iterator[Problem]:
    if source.get("volumeClaimTemplate") is None:
        yield required(f"{path}.volumeClaimTemplate")
    else:
        yield from claim_template_problems(source["volumeClaimTemplate"], f"{path}.volumeClaimTemplate")


# In the order in which the server looks at them: the first is the volume, the others are too many.
_SOURCES: Final[Mapping[str, SourceCheck]] = {
    "emptyDir": _empty_dir_problems,
    "hostPath": volume_sources.host_path_problems,
    "gitRepo": volume_sources.git_repo_problems,
    "gcePersistentDisk": volume_sources.gce_disk_problems,
    "awsElasticBlockStore": volume_sources.aws_disk_problems,
    "secret": functools.partial(keyed_problems, name="secretName"),
    "nfs": volume_sources.nfs_problems,
    "iscsi": functools.partial(volume_sources.iscsi_problems, volume="", persistent=False),
    "glusterfs": requiring("endpoints", "path"),
    "flocker": volume_sources.flocker_problems,
    "persistentVolumeClaim": requiring("claimName"),
    "rbd": requiring("monitors", "image"),
    "cinder": volume_sources.cinder_problems,
    "cephfs": requiring("monitors"),
    "quobyte": volume_sources.quobyte_problems,
    "downwardAPI": downward_problems,
    "fc": volume_sources.fc_problems,
    "flexVolume": volume_sources.flex_problems,
    "configMap": functools.partial(keyed_problems, name="name"),
    "azureFile": requiring("secretName", "shareName"),
    "vsphereVolume": requiring("volumePath"),
    "photonPersistentDisk": requiring("pdID"),
    "portworxVolume": requiring("volumeID"),
    "azureDisk": volume_sources.azure_disk_problems,
    "storageos": volume_sources.storage_os_problems,
    "projected": projected_problems,
    "scaleIO": requiring("gateway", "system", "volumeName"),
    "csi": volume_sources.csi_problems,
    "ephemeral": _ephemeral_problems,
    "image": requiring(),
}
# What a source is called when it is one too many, where that differs from its field.
_OTHER_NAMES: Final = {"cephfs": "cephFS", "downwardAPI": "downwarAPI"}


def volume_problems(
    volumes: Sequence[Object], path: str, *, pod_name: str, is_pod: bool
) -> tuple[dict[str, Object], list[Problem]]:
    """The volumes that are right, by name, and what is wrong with the others."""
    made = {f"{pod_name}-{volume.get('name', '')}" for volume in volumes if pod_name and "ephemeral" in volume}
    right: dict[str, Object] = {}
    problems: list[Problem] = []
    for index, volume in enumerate(volumes):
        at = f"{path}[{index}]"
        name = volume.get("name", "")
        found = list(_source_problems(volume, at, pod_name=pod_name, is_pod=is_pod))
        found += required_formatted(name, f"{at}.name", texts.dns1123_label)
        if name in right:
            found.append(duplicate(f"{at}.name", name))
        if not found:
            right[name] = volume
        problems += found
        claim = (volume.get("persistentVolumeClaim") or {}).get("claimName")
        if claim in made:
            detail = "must not reference a PVC that gets created for an ephemeral volume"
            problems.append(invalid(f"{at}.persistentVolumeClaim.claimName", claim, detail))
    return right, problems


def _source_problems(volume: Object, path: str, *, pod_name: str, is_pod: bool) -> Iterator[Problem]:
    given = [name for name in _SOURCES if volume.get(name) is not None]
    for name in given:
        if name is not given[0]:
            yield forbidden(f"{path}.{_OTHER_NAMES.get(name, name)}", _ONE_TOO_MANY)
        else:
            yield from _SOURCES[name](volume[name], f"{path}.{name}")
            yield from _further_problems(name, volume, path, pod_name=pod_name, is_pod=is_pod)
        if name == "iscsi" and volume_sources.is_portal_too_long(volume[name], volume.get("name", "")):
            yield invalid(f"{path}.name", volume.get("name", ""), volume_sources.PORTAL_TOO_LONG)
    if not given:
        yield required(path, "must specify a volume type")


def _further_problems(source: str, volume: Object, path: str, *, pod_name: str, is_pod: bool) -> Iterator[Problem]:
    """What depends on more than the source itself."""
    name = volume.get("name", "")
    if source == "ephemeral" and pod_name and name:
        claim = f"{pod_name}-{name}"
        for told in texts.dns1123_subdomain(claim):
            yield invalid(f"{path}.name", name, f'PVC name "{claim}": {told}')
    if source == "image":
        if is_pod and not volume["image"].get("reference"):
            yield required(f"{path}.image.reference")
        yield from pull_policy_problems(volume["image"].get("pullPolicy"), f"{path}.image.pullPolicy")
