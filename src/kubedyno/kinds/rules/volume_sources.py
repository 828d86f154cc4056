"""Rules of the kinds of volumes that pods and persistent volumes share or nearly share."""

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from kubedyno.kinds.rules import texts
from kubedyno.kinds.rules.drivers import driver_name_problems
from kubedyno.kinds.rules.fields import formatted, required_fields, required_formatted
from kubedyno.kinds.rules.paths import backstep_problems, descending_problems
from kubedyno.kube.problems import Problem, invalid, not_supported, required

Source = Mapping[str, Any]
SourceCheck = Callable[[Source, str], Iterator[Problem]]

_HOST_PATH_TYPES: Final = (
    "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket",
)  # fmt: skip
_DISK_LIMIT: Final = 255
_NAME_AND_PORTAL_LIMIT: Final = 64
_TENANT_LIMIT: Final = 64
_INITIATORS: Final = {
    "iqn": re.compile(r"iqn\.\d{4}-\d{2}\.([A-Za-z0-9.-]+)(:[^,;*&$|\s]+)$", re.ASCII),
    "eui": re.compile(r"^eui.[A-Za-z0-9]{16}$"),
    "naa": re.compile(r"^naa.[A-Za-z0-9]{32}$"),
}
_HOST_PORT: Final = re.compile(r"(?:[^:\[\]]*|\[[^\[\]]*\]):[^:\[\]]*")
_REGISTRY: Final = "must be a host:port pair or multiple pairs separated by commas"
_CACHING_MODES: Final = ("None", "ReadOnly", "ReadWrite")
_DISK_KINDS: Final = ("Dedicated", "Managed", "Shared")
_MANAGED_DISK: Final = "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"
_BLOB_DISK: Final = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"


def requiring(*names: str) -> SourceCheck:
    """A kind of volume of which nothing is asked but that these fields are there."""

    def check(source: Source, path: str) -> Iterator[Problem]:
        return required_fields(source, path, *names)

    return check


def host_path_problems(source: Source, path: str) -> Iterator[Problem]:
    """A directory or file of the node."""
    if not source.get("path"):
        yield required(f"{path}.path")
        return
    yield from backstep_problems(source["path"], f"{path}.path")
    if source.get("type", "") not in _HOST_PATH_TYPES:
        yield not_supported(f"{path}.type", source["type"], _HOST_PATH_TYPES)


def git_repo_problems(source: Source, path: str) -> Iterator[Problem]:
    """A clone of a repository."""
    yield from required_fields(source, path, "repository")
    yield from descending_problems(source.get("directory", ""), f"{path}.directory")


def nfs_problems(source: Source, path: str) -> Iterator[Problem]:
    """An exported directory."""
    yield from required_fields(source, path, "server", "path")
    if not source.get("path", "").startswith("/"):
        yield invalid(f"{path}.path", source.get("path", ""), "must be an absolute path")


def gce_disk_problems(source: Source, path: str) -> Iterator[Problem]:
    """A disk of a cloud; the server tells it as `persistentDisk`."""
    yield from _disk_problems(source, f"{posixpath.splitext(path)[0]}.persistentDisk", "pdName")


def aws_disk_problems(source: Source, path: str) -> Iterator[Problem]:
    """A disk of another cloud."""
    yield from _disk_problems(source, path, "volumeID")


def _disk_problems(source: Source, path: str, name: str) -> Iterator[Problem]:
    yield from required_fields(source, path, name)
    if not 0 <= source.get("partition", 0) <= _DISK_LIMIT:
        yield invalid(f"{path}.partition", source["partition"], texts.range_text(1, _DISK_LIMIT))


def iscsi_problems(source: Source, path: str, *, volume: str, persistent: bool) -> Iterator[Problem]:
    """A disk over the network; `volume` is the name of the volume, which is part of the session's name."""
    strange = "must be valid format" if persistent else "must be valid format starting with iqn, eui, or naa"
    yield from required_fields(source, path, "targetPortal")
    portal = source.get("targetPortal", "")
    long = f"{volume}:{portal}"
    if persistent and source.get("initiatorName") is not None and texts.byte_length(long) > _NAME_AND_PORTAL_LIMIT:
        yield invalid(f"{path}.targetportal", portal, PORTAL_TOO_LONG)
    if not source.get("iqn"):
        yield required(f"{path}.iqn")
    else:
        yield from _initiator_problems(source["iqn"], f"{path}.iqn", strange)
    if not 0 <= source.get("lun", 0) <= _DISK_LIMIT:
        yield invalid(f"{path}.lun", source["lun"], texts.range_text(0, _DISK_LIMIT))
    secret = source.get("secretRef")
    if (source.get("chapAuthDiscovery") or source.get("chapAuthSession")) and secret is None:
        yield required(f"{path}.secretRef")
    if persistent and secret is not None:
        yield from required_fields(secret, f"{path}.secretRef", "name")
    if source.get("initiatorName") is not None:
        yield from _initiator_problems(source["initiatorName"], f"{path}.initiatorname", strange)


PORTAL_TOO_LONG: Final = (
    "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters "
    "if iscsi.initiatorName is specified."
)


def is_portal_too_long(source: Source, volume: str) -> bool:
    """Whether the session of a pod's volume would have too long a name."""
    long = f"{volume}:{source.get('targetPortal', '')}"
    return source.get("initiatorName") is not None and texts.byte_length(long) > _NAME_AND_PORTAL_LIMIT


def _initiator_problems(name: str, path: str, strange: str) -> Iterator[Problem]:
    pattern = _INITIATORS.get(name[:3])
    if pattern is None:
        yield invalid(path, name, strange)
    elif not pattern.search(name):
        yield invalid(path, name, "must be valid format")


def fc_problems(source: Source, path: str) -> Iterator[Problem]:
    """A fibre channel disk, found by its targets or by its own names."""
    targets, ids = source.get("targetWWNs"), source.get("wwids")
    if not targets and not ids:
        yield required(f"{path}.targetWWNs", "must specify either targetWWNs or wwids, but not both")
    if targets and ids:
        yield invalid(f"{path}.targetWWNs", targets, "targetWWNs and wwids can not be specified simultaneously")
    if targets:
        lun = source.get("lun")
        if lun is None:
            yield required(f"{path}.lun", "lun is required if targetWWNs is specified")
        elif not 0 <= lun <= _DISK_LIMIT:
            yield invalid(f"{path}.lun", lun, texts.range_text(0, _DISK_LIMIT))


def quobyte_problems(source: Source, path: str) -> Iterator[Problem]:
    """A volume of a cluster of registries."""
    registry = source.get("registry", "")
    if not registry:
        yield required(f"{path}.registry", _REGISTRY)
    elif texts.byte_length(source.get("tenant", "")) > _TENANT_LIMIT:
        yield required(f"{path}.tenant", "must be a UUID and may not exceed a length of 64 characters")
    else:
        for pair in registry.split(","):
            if not _HOST_PORT.fullmatch(pair):
                yield invalid(f"{path}.registry", registry, _REGISTRY)
    yield from required_fields(source, path, "volume")


def flocker_problems(source: Source, path: str) -> Iterator[Problem]:
    """A data set, told by its name or its identity."""
    name, identity = source.get("datasetName", ""), source.get("datasetUUID", "")
    if not name and not identity:
        yield required(path, "one of datasetName and datasetUUID is required")
    if name and identity:
        yield invalid(path, "resource", "datasetName and datasetUUID can not be specified simultaneously")
    if "/" in name:
        yield invalid(f"{path}.datasetName", name, "must not contain '/'")


def cinder_problems(source: Source, path: str) -> Iterator[Problem]:
    """A block volume of a pod, perhaps with a secret."""
    yield from required_fields(source, path, "volumeID")
    if source.get("secretRef") is not None:
        yield from required_fields(source["secretRef"], f"{path}.secretRef", "name")


def flex_problems(source: Source, path: str) -> Iterator[Problem]:
    """A volume of a driver that is a program."""
    yield from required_fields(source, path, "driver")
    for key in source.get("options") or ():
        domain = f".{key.partition('/')[0].lower()}"
        if domain.endswith((".kubernetes.io", ".k8s.io")):
            yield invalid(f"{path}.options[{key}]", key, "kubernetes.io and k8s.io namespaces are reserved")


def azure_disk_problems(source: Source, path: str) -> Iterator[Problem]:
    """A disk of a third cloud."""
    yield from required_fields(source, path, "diskName", "diskURI")
    mode, kind, uri = source.get("cachingMode"), source.get("kind"), source.get("diskURI", "")
    if mode is not None and mode not in _CACHING_MODES:
        yield not_supported(f"{path}.cachingMode", mode, _CACHING_MODES)
    if kind is not None and kind not in _DISK_KINDS:
        yield not_supported(f"{path}.kind", kind, _DISK_KINDS)
    if kind == "Managed" and not uri.startswith("/subscriptions/"):
        yield not_supported(f"{path}.diskURI", uri, (_MANAGED_DISK,))
    if kind is not None and kind != "Managed" and not uri.startswith("https://"):
        yield not_supported(f"{path}.diskURI", uri, (_BLOB_DISK,))


def storage_os_problems(source: Source, path: str) -> Iterator[Problem]:
    """A volume of a storage cluster, perhaps with a secret."""
    yield from required_formatted(source.get("volumeName"), f"{path}.volumeName", texts.dns1123_label)
    if source.get("volumeNamespace"):
        yield from formatted(source["volumeNamespace"], f"{path}.volumeNamespace", texts.dns1123_label)
    if source.get("secretRef") is not None:
        yield from required_fields(source["secretRef"], f"{path}.secretRef", "name")


def csi_problems(source: Source, path: str) -> Iterator[Problem]:
    """A volume of a CSI driver that lives and dies with the pod."""
    yield from driver_name_problems(source.get("driver", ""), f"{path}.driver")
    secret = source.get("nodePublishSecretRef")
    if secret is None:
        return
    if not secret.get("name"):
        yield required(f"{path}.nodePublishSecretRef.name")
    else:
        yield from formatted(secret["name"], f"{path}.name", texts.dns1123_subdomain)
