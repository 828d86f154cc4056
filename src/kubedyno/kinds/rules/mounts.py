"""Rules of the volumes that a container mounts or takes as devices."""

from collections.abc import Iterator, Mapping
from typing import Final

from kubedyno.kinds.rules.paths import descending_problems
from kubedyno.kube.codec import Object
from kubedyno.kube.problems import Problem, forbidden, invalid, not_found, not_supported, required

_PROPAGATIONS: Final = ("Bidirectional", "HostToContainer", "None")
_RECURSIVE: Final = ("Disabled", "Enabled", "IfPossible")


def mount_problems(container: Object, volumes: Mapping[str, Object], path: str) -> Iterator[Problem]:
    """The `volumeMounts` of a container; `path` is theirs, `volumes` are those of the pod that are right."""
    devices = {entry.get("name", ""): entry.get("devicePath", "") for entry in container.get("volumeDevices") or ()}
    taken: set[str] = set()
    for index, mount in enumerate(container.get("volumeMounts") or ()):
        at = f"{path}[{index}]"
        name, target = mount.get("name", ""), mount.get("mountPath", "")
        if not name:
            yield required(f"{at}.name")
        if name not in volumes:
            yield not_found(f"{at}.name", name)
        if not target:
            yield required(f"{at}.mountPath")
        if target in taken:
            yield invalid(f"{at}.mountPath", target, "must be unique")
        taken.add(target)
        if name in devices:
            yield invalid(f"{at}.name", name, "must not already exist in volumeDevices")
        if target in devices.values():
            yield invalid(f"{at}.mountPath", target, "must not already exist as a path in volumeDevices")
        yield from _sub_path_problems(mount, at, path)
        yield from _propagation_problems(mount, container, f"{path}.mountPropagation")
        yield from _recursive_problems(mount, f"{path}.recursiveReadOnly")


def _sub_path_problems(mount: Object, at: str, path: str) -> Iterator[Problem]:
    # The server tells these without the place of the mount in the list.
    if mount.get("subPath"):
        yield from descending_problems(mount["subPath"], f"{path}.subPath")
    if mount.get("subPathExpr"):
        if mount.get("subPath"):
            detail = "subPathExpr and subPath are mutually exclusive"
            yield invalid(f"{at}.subPathExpr", mount["subPathExpr"], detail)
        yield from descending_problems(mount["subPathExpr"], f"{path}.subPathExpr")


def _propagation_problems(mount: Object, container: Object, path: str) -> Iterator[Problem]:
    propagation = mount.get("mountPropagation")
    if propagation is None:
        return
    if propagation not in _PROPAGATIONS:
        yield not_supported(path, propagation, _PROPAGATIONS)
    if propagation == "Bidirectional" and not (container.get("securityContext") or {}).get("privileged"):
        yield forbidden(path, "Bidirectional mount propagation is available only to privileged containers")


def _recursive_problems(mount: Object, path: str) -> Iterator[Problem]:
    mode = mount.get("recursiveReadOnly")
    if mode is None or mode == "Disabled":
        return
    if mode not in _RECURSIVE:
        yield not_supported(path, mode, _RECURSIVE)
        return
    if not mount.get("readOnly"):
        yield forbidden(path, "may only be specified when readOnly is true")
    if mount.get("mountPropagation", "None") != "None":
        yield forbidden(path, "may only be specified when mountPropagation is None or not specified")


def device_problems(container: Object, volumes: Mapping[str, Object], path: str) -> Iterator[Problem]:
    """The `volumeDevices` of a container."""
    mounts = {entry.get("name", ""): entry.get("mountPath", "") for entry in container.get("volumeMounts") or ()}
    names: set[str] = set()
    paths: set[str] = set()
    for index, device in enumerate(container.get("volumeDevices") or ()):
        at = f"{path}[{index}]"
        name, target = device.get("name", ""), device.get("devicePath", "")
        if not name:
            yield required(f"{at}.name")
        if name in names:
            yield invalid(f"{at}.name", name, "must be unique")
        if name not in volumes:
            yield not_found(f"{at}.name", name)
        elif not volumes[name].keys() & {"persistentVolumeClaim", "ephemeral"}:
            detail = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
            yield invalid(f"{at}.name", name, detail)
        yield from _device_path_problems(target, f"{at}.devicePath", paths)
        if name in mounts:
            yield invalid(f"{at}.name", name, "must not already exist in volumeMounts")
        if target in mounts.values():
            yield invalid(f"{at}.devicePath", target, "must not already exist as a path in volumeMounts")
        if name:
            names.add(name)


def _device_path_problems(target: str, path: str, taken: set[str]) -> Iterator[Problem]:
    """Where a device appears; `taken` are the paths of those before and gets this one."""
    if not target:
        yield required(path)
    if target in taken:
        yield invalid(path, target, "must be unique")
    if ".." in target.split("/"):
        yield invalid(path, target, "can not contain backsteps ('..')")
    else:
        taken.add(target)
