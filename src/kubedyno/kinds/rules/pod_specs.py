"""Rules of the spec of a pod, wherever it stands: in a pod or in a template of pods."""

from collections.abc import Iterator
from typing import Final

from kubedyno.kinds.rules import texts
from kubedyno.kinds.rules.addresses import ip_problems
from kubedyno.kinds.rules.affinity import affinity_problems
from kubedyno.kinds.rules.containers import (
    PodContext,
    container_problems,
    ephemeral_container_problems,
    init_container_problems,
)
from kubedyno.kinds.rules.dns import dns_problems
from kubedyno.kinds.rules.fields import NO_FIELD, formatted, label_problems
from kubedyno.kinds.rules.internals import internal, invalid_printed
from kubedyno.kinds.rules.pod_volumes import volume_problems
from kubedyno.kinds.rules.requirements import container_requirement_problems, pod_requirement_problems
from kubedyno.kinds.rules.security import pod_security_problems
from kubedyno.kinds.rules.spreading import spread_problems
from kubedyno.kinds.rules.tolerations import toleration_problems
from kubedyno.kinds.rules.visiting import containers_with_paths
from kubedyno.kinds.rules.windows import host_process_problems, linux_pod_problems, windows_pod_problems
from kubedyno.kube.codec import Object
from kubedyno.kube.problems import (
    Problem,
    duplicate,
    forbidden,
    invalid,
    not_found,
    not_supported,
    required,
    too_long,
)

_RESTART_POLICIES: Final = ("Always", "OnFailure", "Never")
_DNS_POLICIES: Final = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_PREEMPTION_POLICIES: Final = ("PreemptLowerPriority", "Never")
_SYSTEMS: Final = ("linux", "windows")
_LONGEST_DEADLINE_S: Final = 2**31 - 1
_HOSTNAME_LIMIT: Final = 64


def pod_spec_problems(
    spec: Object, path: str = "spec", *, is_pod: bool = True, pod_name: str = "", mirror: bool = False
) -> list[Problem]:
    """What is wrong with the spec of a pod (`is_pod`) or of a template of pods.

    The answer depends on `pod_name` only where a volume is ephemeral, and on `mirror` (the pod stands for a static
    one) only where there are resource claims; so it can be remembered for specs that are alike.
    """
    return list(_problems(spec, path, is_pod=is_pod, pod_name=pod_name, mirror=mirror))


def _problems(spec: Object, path: str, *, is_pod: bool, pod_name: str, mirror: bool) -> Iterator[Problem]:
    if spec.get("terminationGracePeriodSeconds") is None:
        yield required(f"{path}.terminationGracePeriodSeconds")
    volumes, wrong = volume_problems(spec.get("volumes") or (), f"{path}.volumes", pod_name=pod_name, is_pod=is_pod)
    yield from wrong
    claim_names = {claim["name"] for claim in spec.get("resourceClaims") or () if claim.get("name")}
    yield from _claim_problems(spec, f"{path}.resourceClaims", mirror=mirror)
    pod = PodContext(spec, volumes, claim_names)
    yield from container_problems(pod, f"{path}.containers")
    yield from init_container_problems(pod, f"{path}.initContainers")
    yield from ephemeral_container_problems(pod, f"{path}.ephemeralContainers")
    yield from pod_requirement_problems(spec, path, claim_names)
    yield from _host_network_problems(spec, path, is_pod=is_pod)
    yield from _choice_problems(spec, path, "restartPolicy", _RESTART_POLICIES)
    yield from _choice_problems(spec, path, "dnsPolicy", _DNS_POLICIES)
    yield from label_problems(spec.get("nodeSelector"), f"{path}.nodeSelector")
    yield from pod_security_problems(spec, f"{path}.securityContext")
    yield from affinity_problems(spec.get("affinity"), f"{path}.affinity")
    yield from dns_problems(spec, f"{path}.dnsConfig")
    yield from _gate_problems(spec, path)
    yield from spread_problems(spec.get("topologySpreadConstraints") or (), f"{path}.topologySpreadConstraints")
    yield from host_process_problems(spec, path)
    yield from _host_users_problems(spec, path)
    yield from _hostname_problems(spec, path)
    yield from _scalar_problems(spec, path)
    yield from _system_problems(spec, path)
    yield from _group_problems(spec, f"{path}.schedulingGroup")
    yield from _file_key_problems(spec, path)


def _claim_problems(spec: Object, path: str, *, mirror: bool) -> Iterator[Problem]:
    names: set[str] = set()
    for index, claim in enumerate(spec.get("resourceClaims") or ()):
        if mirror:
            yield forbidden(NO_FIELD, "static pods do not support resource claims")
            continue
        at = f"{path}[{index}]"
        name = claim.get("name", "")
        if not name:
            yield required(f"{at}.name")
        elif name in names:
            yield duplicate(f"{at}.name", name)
        else:
            yield from formatted(name, f"{at}.name", texts.dns1123_label)
            names.add(name)
        given = [field for field in ("resourceClaimName", "resourceClaimTemplateName") if claim.get(field) is not None]
        if len(given) != 1:
            detail = (
                "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
                if given
                else "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
            )
            yield invalid_printed(at, internal("PodResourceClaim", claim), detail)
        for field in given:
            yield from formatted(claim[field], f"{at}.{field}", texts.dns1123_subdomain)


def _host_network_problems(spec: Object, path: str, *, is_pod: bool) -> Iterator[Problem]:
    if not spec.get("hostNetwork"):
        return
    for index, container in enumerate(spec.get("containers") or ()):
        for place, port in enumerate(container.get("ports") or ()):
            own, host = port.get("containerPort", 0), port.get("hostPort", 0)
            if (is_pod or host) and own != host:
                at = f"{path}.containers[{index}].ports[{place}].hostPort"
                yield invalid(at, host, "must match `containerPort` when `hostNetwork` is true")


def _choice_problems(spec: Object, path: str, name: str, choices: tuple[str, ...]) -> Iterator[Problem]:
    choice = spec.get(name)
    if not choice:
        yield required(f"{path}.{name}")
    elif choice not in choices:
        yield not_supported(f"{path}.{name}", choice, choices)


def _gate_problems(spec: Object, path: str) -> Iterator[Problem]:
    for index, gate in enumerate(spec.get("readinessGates") or ()):
        at = f"{path}.readinessGates[{index}].conditionType"
        yield from formatted(gate.get("conditionType", ""), at, texts.label_key)
    seen: set[str] = set()
    for index, gate in enumerate(spec.get("schedulingGates") or ()):
        name, at = gate.get("name", ""), f"{path}.schedulingGates[{index}]"
        yield from formatted(name, at, texts.label_key)
        if name in seen:
            yield duplicate(at, name)
        seen.add(name)


def _host_users_problems(spec: Object, path: str) -> Iterator[Problem]:
    if spec.get("hostUsers") is not False:
        return
    detail = "when `hostUsers` is false"
    for field, shown in (("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC")):
        if spec.get(field):
            yield forbidden(f"{path}.{shown}", detail)
    for container, at in containers_with_paths(spec, path):
        if container.get("volumeDevices"):
            yield forbidden(f"{at}.volumeDevices", detail)


def _hostname_problems(spec: Object, path: str) -> Iterator[Problem]:
    override, at = spec.get("hostnameOverride"), f"{path}.hostnameOverride"
    if override is None:
        return
    if spec.get("setHostnameAsFQDN"):
        yield forbidden(at, "may not be specified when setHostnameAsFQDN is true")
    if spec.get("hostNetwork"):
        yield forbidden(at, "may not be specified when hostNetwork is true")
    if texts.byte_length(override) > _HOSTNAME_LIMIT:
        yield too_long(at, _HOSTNAME_LIMIT)
    yield from formatted(override, at, texts.dns1123_subdomain)


def _scalar_problems(spec: Object, path: str) -> Iterator[Problem]:
    for name in ("serviceAccountName", "nodeName"):
        yield from _name_problems(spec, path, name, texts.dns1123_subdomain)
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= _LONGEST_DEADLINE_S:
        yield invalid(f"{path}.activeDeadlineSeconds", deadline, texts.range_text(1, _LONGEST_DEADLINE_S))
    for name in ("hostname", "subdomain"):
        yield from _name_problems(spec, path, name, texts.dns1123_label)
    yield from toleration_problems(spec.get("tolerations") or (), f"{path}.tolerations")
    for index, alias in enumerate(spec.get("hostAliases") or ()):
        at = f"{path}.hostAliases[{index}]"
        yield from ip_problems(f"{at}.ip", alias.get("ip", ""))
        for place, hostname in enumerate(alias.get("hostnames") or ()):
            yield from formatted(hostname, f"{at}.hostnames[{place}]", texts.dns1123_subdomain)
    yield from _name_problems(spec, path, "priorityClassName", texts.dns1123_subdomain)
    if (runtime := spec.get("runtimeClassName")) is not None:
        yield from formatted(runtime, f"{path}.runtimeClassName", texts.dns1123_subdomain)
    if spec.get("preemptionPolicy") is not None:
        yield from _choice_problems(spec, path, "preemptionPolicy", _PREEMPTION_POLICIES)
    if (overhead := spec.get("overhead")) is not None:
        yield from container_requirement_problems({"limits": overhead}, f"{path}.overhead")


def _name_problems(spec: Object, path: str, name: str, check: texts.Format) -> Iterator[Problem]:
    if spec.get(name):
        yield from formatted(spec[name], f"{path}.{name}", check)


def _system_problems(spec: Object, path: str) -> Iterator[Problem]:
    system = spec.get("os")
    if system is None:
        return
    name = system.get("name", "")
    if not name:
        yield required(f"{path}.os.name")
    elif name not in _SYSTEMS:
        yield not_supported(f"{path}.os", name, _SYSTEMS)
    elif name == "linux":
        yield from linux_pod_problems(spec, path)
    else:
        yield from windows_pod_problems(spec, path)


def _group_problems(spec: Object, path: str) -> Iterator[Problem]:
    group = spec.get("schedulingGroup")
    if group is None:
        return
    name = group.get("podGroupName")
    if name is None:
        yield invalid(f"{path}.podGroupName", None, "must specify one of: `podGroupName`")
    else:
        yield from formatted(name, f"{path}.podGroupName", texts.dns1123_subdomain)


def _file_key_problems(spec: Object, path: str) -> Iterator[Problem]:
    """Variables that are read from files need an empty directory for them."""
    volumes = {volume.get("name", ""): volume for volume in spec.get("volumes") or ()}
    for container, at in containers_with_paths(spec, path):
        for index, variable in enumerate(container.get("env") or ()):
            reference = (variable.get("valueFrom") or {}).get("fileKeyRef")
            if reference is None:
                continue
            name = reference.get("volumeName", "")
            where = f"{at}.env[{index}].valueFrom.fileKeyRef.volumeName"
            if name not in volumes:
                yield not_found(where, name)
            elif volumes[name].get("emptyDir") is None:
                yield invalid(where, name, "referenced volume must be of type emptyDir")
