"""Rules of pods that run on Windows."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from kubedyno.kinds.rules import texts
from kubedyno.kinds.rules.visiting import containers_with_paths
from kubedyno.kube.codec import Object
from kubedyno.kube.problems import Problem, forbidden, invalid

_SPEC_LIMIT_KIB: Final = 64
_DOMAIN_LIMIT: Final = 256
_USER_LIMIT: Final = 104
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_NET_BIOS: Final = re.compile(r'[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}')
_DNS_LABEL: Final = "[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_DNS: Final = re.compile(rf"{_DNS_LABEL}(?:\.{_DNS_LABEL})*")
_DOTS_AND_SPACES: Final = re.compile(r"[. ]+")
_BAD_SIGNS: Final = re.compile(r'["/\\:;|=,+*?<>@\[\]]')
_CANNOT: Final = "cannot be set for a windows pod"

# Where the field stands: in the security context, or beside it in the spec.
_LINUX_ONLY: Final = (
    ("appArmorProfile", True), ("seLinuxOptions", True), ("hostUsers", False), ("hostPID", False), ("hostIPC", False),
    ("seccompProfile", True), ("fsGroup", True), ("fsGroupChangePolicy", True), ("sysctls", True),
    ("shareProcessNamespace", False), ("runAsUser", True), ("runAsGroup", True), ("supplementalGroups", True),
    ("supplementalGroupsPolicy", True), ("seLinuxChangePolicy", True),
)  # fmt: skip
_LINUX_ONLY_OF_CONTAINERS: Final = (
    "appArmorProfile", "seLinuxOptions", "seccompProfile", "capabilities", "readOnlyRootFilesystem", "privileged",
    "allowPrivilegeEscalation", "procMount", "runAsUser", "runAsGroup",
)  # fmt: skip
_FLAGS: Final = {"hostPID", "hostIPC", "sysctls"}


def windows_options_problems(options: Mapping[str, Any] | None, path: str) -> Iterator[Problem]:
    """The Windows part of a security context."""
    if options is None:
        return
    if (name := options.get("gmsaCredentialSpecName")) is not None:
        for told in texts.dns1123_subdomain(name):
            yield invalid(f"{path}.gmsaCredentialSpecName", name, told)
    if (spec := options.get("gmsaCredentialSpec")) is not None:
        if not spec:
            yield invalid(f"{path}.gmsaCredentialSpec", spec, "gmsaCredentialSpec cannot be an empty string")
        elif texts.byte_length(spec) > _SPEC_LIMIT_KIB * 1024:
            detail = f"gmsaCredentialSpec size must be under {_SPEC_LIMIT_KIB} KiB"
            yield invalid(f"{path}.gmsaCredentialSpec", spec, detail)
    if (user := options.get("runAsUserName")) is not None:
        for told in _user_complaints(user):
            yield invalid(f"{path}.runAsUserName", user, told)


def _user_complaints(name: str) -> Iterator[str]:
    """What is wrong with a user, perhaps with a domain and a backslash before it."""
    if not name:
        yield "runAsUserName cannot be an empty string"
        return
    if _CONTROL.search(name):
        yield "runAsUserName cannot contain control characters"
        return
    if name.count("\\") > 1:
        yield "runAsUserName cannot contain more than one backslash"
        return
    domain, backslash, user = name.rpartition("\\")
    if texts.byte_length(domain) >= _DOMAIN_LIMIT:
        yield f"runAsUserName's Domain length must be under {_DOMAIN_LIMIT} characters"
    if backslash and not _NET_BIOS.fullmatch(domain) and not _DNS.fullmatch(domain):
        yield "runAsUserName's Domain doesn't match the NetBios nor the DNS format"
    if not user:
        yield "runAsUserName's User cannot be empty"
    elif texts.byte_length(user) > _USER_LIMIT:
        yield f"runAsUserName's User length must not be longer than {_USER_LIMIT} characters"
    if _DOTS_AND_SPACES.fullmatch(user):
        yield "runAsUserName's User cannot contain only periods or spaces"
    if _BAD_SIGNS.search(user):
        yield "runAsUserName's User cannot contain the following characters: \"/\\:;|=,+*?<>@[]"


def host_process_problems(spec: Object, path: str) -> Iterator[Problem]:
    """Either all containers are processes of the host, or none."""
    of_pod = ((spec.get("securityContext") or {}).get("windowsOptions") or {}).get("hostProcess")
    count = host_processes = 0
    for container, at in containers_with_paths(spec, path):
        count += 1
        own = ((container.get("securityContext") or {}).get("windowsOptions") or {}).get("hostProcess")
        if of_pod is not None and own is not None and of_pod != own:
            detail = f"pod hostProcess value must be identical if both are specified, was {str(of_pod).lower()}"
            yield invalid(f"{at}.securityContext.windowsOptions.hostProcess", own, detail)
        host_processes += bool(of_pod if own is None else own)
    if not host_processes:
        return
    if host_processes != count:
        detail = "If pod contains any hostProcess containers then all containers must be HostProcess containers"
        yield invalid(path, "", detail)
    if not spec.get("hostNetwork"):
        detail = "hostNetwork must be true if pod contains any hostProcess containers"
        yield invalid(f"{path}.hostNetwork", value=False, detail=detail)


def linux_pod_problems(spec: Object, path: str) -> Iterator[Problem]:
    """What a pod that says it runs on Linux may not have."""
    detail = "windows options cannot be set for a linux pod"
    if (spec.get("securityContext") or {}).get("windowsOptions") is not None:
        yield forbidden(f"{path}.securityContext.windowsOptions", detail)
    for container, at in containers_with_paths(spec, path):
        if (container.get("securityContext") or {}).get("windowsOptions") is not None:
            yield forbidden(f"{at}.securityContext.windowsOptions", detail)


def windows_pod_problems(spec: Object, path: str) -> Iterator[Problem]:
    """What a pod that says it runs on Windows may not have."""
    context = spec.get("securityContext") or {}
    for name, inside in _LINUX_ONLY:
        value = (context if inside else spec).get(name)
        if value if name in _FLAGS else value is not None:
            yield forbidden(f"{path}.securityContext.{name}" if inside else f"{path}.{name}", _CANNOT)
    for container, at in containers_with_paths(spec, path):
        own = container.get("securityContext") or {}
        for name in _LINUX_ONLY_OF_CONTAINERS:
            if own.get(name) is not None:
                yield forbidden(f"{at}.securityContext.{name}", _CANNOT)
