"""Rules of the security contexts of pods and containers."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from kubedyno.kinds.rules import texts
from kubedyno.kinds.rules.internals import internal, invalid_printed
from kubedyno.kinds.rules.profiles import app_armor_problems, seccomp_problems
from kubedyno.kinds.rules.windows import windows_options_problems
from kubedyno.kube.codec import Object
from kubedyno.kube.problems import Problem, duplicate, invalid, not_supported, required

_PROC_MOUNTS: Final = ("Default", "Unmasked")
_SYSCTL: Final = "([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SYSCTL_LIMIT: Final = 253
_IPC_SYSCTLS: Final = {
    "kernel.sem", "kernel.shmall", "kernel.shmmax", "kernel.shmmni", "kernel.shm_rmid_forced", "kernel.shm",
    "kernel.msgmax", "kernel.msgmnb", "kernel.msgmni", "kernel.msg",
}  # fmt: skip


def container_security_problems(context: Mapping[str, Any] | None, path: str, *, host_users: bool) -> Iterator[Problem]:
    """The security context of a container; `host_users` tells whether the pod shares the users of its node."""
    if context is None:
        return
    yield from _id_problems(context, path, "runAsUser", "runAsGroup")
    if (mount := context.get("procMount")) is not None:
        if mount not in _PROC_MOUNTS:
            yield not_supported(f"{path}.procMount", mount, _PROC_MOUNTS)
        if host_users and mount == "Unmasked":
            yield invalid(f"{path}.procMount", mount, "`hostUsers` must be false to use `Unmasked`")
    yield from seccomp_problems(context.get("seccompProfile"), f"{path}.seccompProfile")
    if context.get("allowPrivilegeEscalation") is False:
        yield from _escalation_problems(context, path)
    yield from windows_options_problems(context.get("windowsOptions"), f"{path}.windowsOptions")
    yield from app_armor_problems(context.get("appArmorProfile"), f"{path}.appArmorProfile")


def _escalation_problems(context: Mapping[str, Any], path: str) -> Iterator[Problem]:
    shown = internal("SecurityContext", context)
    if context.get("privileged"):
        detail = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
        yield invalid_printed(path, shown, detail)
    for capability in (context.get("capabilities") or {}).get("add") or ():
        if capability == "CAP_SYS_ADMIN":
            detail = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"
            yield invalid_printed(path, shown, detail)


def pod_security_problems(spec: Object, path: str) -> Iterator[Problem]:
    """The security context of a pod, with what stands beside it in the spec; `path` is that of the context."""
    context = spec.get("securityContext") or {}
    yield from _id_problems(context, path, "fsGroup", "runAsUser", "runAsGroup")
    for index, group in enumerate(context.get("supplementalGroups") or ()):
        for told in texts.user_or_group_id(group):
            yield invalid(f"{path}.supplementalGroups[{index}]", group, told)
    if spec.get("hostPID") and spec.get("shareProcessNamespace"):
        detail = "ShareProcessNamespace and HostPID cannot both be enabled"
        yield invalid(f"{path}.shareProcessNamespace", value=True, detail=detail)
    yield from _sysctl_problems(context, spec, f"{path}.sysctls")
    yield from _choice_problems(context, path, "fsGroupChangePolicy", "Always", "OnRootMismatch")
    yield from seccomp_problems(context.get("seccompProfile"), f"{path}.seccompProfile")
    yield from windows_options_problems(context.get("windowsOptions"), f"{path}.windowsOptions")
    yield from app_armor_problems(context.get("appArmorProfile"), f"{path}.appArmorProfile")
    yield from _choice_problems(context, path, "supplementalGroupsPolicy", "Merge", "Strict")
    # The other policy, `MountOption`, is behind a feature that is off.
    yield from _choice_problems(context, path, "seLinuxChangePolicy", "Recursive")


def _id_problems(context: Mapping[str, Any], path: str, *names: str) -> Iterator[Problem]:
    for name in names:
        if (number := context.get(name)) is not None:
            for told in texts.user_or_group_id(number):
                yield invalid(f"{path}.{name}", number, told)


def _choice_problems(context: Mapping[str, Any], path: str, name: str, *choices: str) -> Iterator[Problem]:
    if (choice := context.get(name)) is not None and choice not in choices:
        yield not_supported(f"{path}.{name}", choice, choices)


def _sysctl_problems(context: Mapping[str, Any], spec: Object, path: str) -> Iterator[Problem]:
    seen: set[str] = set()
    for index, sysctl in enumerate(context.get("sysctls") or ()):
        at = f"{path}[{index}].name"
        name = sysctl.get("name", "")
        if not name:
            yield required(at)
        elif texts.byte_length(name) > _SYSCTL_LIMIT or not re.fullmatch(_SYSCTL, name):
            yield invalid(at, name, f"must have at most {_SYSCTL_LIMIT} characters and match regex ^{_SYSCTL}$")
        elif name in seen:
            yield duplicate(at, name)
        seen.add(name)
        dotted = _dotted(name).partition("*")[0]
        if spec.get("hostNetwork") and dotted.startswith("net."):
            yield invalid(at, name, "may not be specified when 'hostNetwork' is true")
        elif spec.get("hostIPC") and (dotted in _IPC_SYSCTLS or dotted.startswith("fs.mqueue.")):
            yield invalid(at, name, "may not be specified when 'hostIPC' is true")


def _dotted(name: str) -> str:
    """A sysctl with dots where slashes are its separators; then dots stood for slashes."""
    first = re.search(r"[./]", name)
    if first is None or first[0] == ".":
        return name
    return name.translate(str.maketrans("./", "/."))
