"""Rules of the containers of a pod."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from kubedyno.kinds.rules import texts
from kubedyno.kinds.rules.environment import env_from_problems, env_problems
from kubedyno.kinds.rules.fields import required_formatted
from kubedyno.kinds.rules.images import padding_problems, pull_policy_problems
from kubedyno.kinds.rules.mounts import device_problems, mount_problems
from kubedyno.kinds.rules.probes import lifecycle_problems, probe_problems
from kubedyno.kinds.rules.requirements import container_requirement_problems
from kubedyno.kinds.rules.restarting import resize_policy_problems, restart_problems
from kubedyno.kinds.rules.security import container_security_problems
from kubedyno.kube.codec import Object
from kubedyno.kube.problems import Problem, duplicate, forbidden, invalid, not_found, not_supported, required

_PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
_MESSAGE_POLICIES: Final = ("File", "FallbackToLogsOnError")
_ONLY_SIDECARS: Final = "may not be set for init containers without restartPolicy=Always"
_NOT_EPHEMERAL: Final = (
    "ports", "resources", "resizePolicy", "restartPolicy", "restartPolicyRules",
    "livenessProbe", "readinessProbe", "startupProbe", "lifecycle",
)  # fmt: skip
_CANNOT_BE_EPHEMERAL: Final = "cannot be set for an Ephemeral Container"


class PodContext(msgspec.Struct, frozen=True):
    """What the rules of containers need to know of the pod around them."""

    spec: Object
    volumes: Mapping[str, Object]
    claim_names: Collection[str]

    @property
    def host_users(self) -> bool:
        """Whether the pod shares the users of its node."""
        return self.spec.get("hostUsers") is not False


def container_problems(pod: PodContext, path: str) -> Iterator[Problem]:
    """The main containers; `path` is theirs."""
    containers = pod.spec.get("containers") or ()
    if not containers:
        yield required(path)
        return
    names: set[str] = set()
    for index, container in enumerate(containers):
        at = f"{path}[{index}]"
        yield from _common_problems(container, pod, at)
        name = container.get("name", "")
        if name in names:
            yield duplicate(f"{at}.name", name)
        names.add(name)
        yield from lifecycle_problems(container, pod.spec, at)
        yield from probe_problems(container, at)
        yield from restart_problems(container, at)
    yield from host_port_problems(containers, path)


def init_container_problems(pod: PodContext, path: str) -> Iterator[Problem]:
    """The init containers, of which some run on as sidecars."""
    names = {container.get("name", "") for container in pod.spec.get("containers") or ()}
    for index, container in enumerate(pod.spec.get("initContainers") or ()):
        at = f"{path}[{index}]"
        yield from _common_problems(container, pod, at)
        yield from restart_problems(container, at)
        name = container.get("name", "")
        if name in names:
            yield duplicate(f"{at}.name", name)
        elif name:
            names.add(name)
        # The server counts from the container on, so the place it tells is always the first.
        yield from host_port_problems((container,), path)
        if container.get("restartPolicy") == "Always":
            yield from lifecycle_problems(container, pod.spec, at)
            yield from probe_problems(container, at)
            continue
        for field in ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe"):
            if container.get(field) is not None:
                yield forbidden(f"{at}.{field}", _ONLY_SIDECARS)
        for place, policy in enumerate(container.get("resizePolicy") or ()):
            if policy.get("restartPolicy") == "RestartContainer":
                detail = "must not be set to 'RestartContainer' for non-sidecar initContainers"
                yield invalid(f"{at}.resizePolicy[{place}].restartPolicy", "RestartContainer", detail)


def ephemeral_container_problems(pod: PodContext, path: str) -> Iterator[Problem]:
    """The containers that come into a running pod."""
    others = {
        container.get("name", "") for part in ("containers", "initContainers") for container in pod.spec.get(part) or ()
    }
    names = set(others)
    for index, container in enumerate(pod.spec.get("ephemeralContainers") or ()):
        at = f"{path}[{index}]"
        yield from _common_problems(container, pod, at)
        yield from padding_problems(container, at)
        name = container.get("name", "")
        if name in names:
            yield duplicate(f"{at}.name", name)
        names.add(name)
        target = container.get("targetContainerName", "")
        if target and target not in others:
            yield not_found(f"{at}.targetContainerName", target)
        for field in _NOT_EPHEMERAL:
            if container.get(field):
                yield forbidden(f"{at}.{field}", _CANNOT_BE_EPHEMERAL)
        for place, mount in enumerate(container.get("volumeMounts") or ()):
            for field in ("subPath", "subPathExpr"):
                if mount.get(field):
                    yield forbidden(f"{at}.volumeMounts[{place}].{field}", _CANNOT_BE_EPHEMERAL)


def _common_problems(container: Object, pod: PodContext, path: str) -> Iterator[Problem]:
    yield from required_formatted(container.get("name"), f"{path}.name", texts.dns1123_label)
    if not container.get("image"):
        yield required(f"{path}.image")
    policy = container.get("terminationMessagePolicy", "")
    if not policy:
        yield required(f"{path}.terminationMessagePolicy")
    elif policy not in _MESSAGE_POLICIES:
        yield not_supported(f"{path}.terminationMessagePolicy", policy, _MESSAGE_POLICIES)
    yield from _port_problems(container.get("ports") or (), f"{path}.ports")
    yield from env_problems(container.get("env") or (), f"{path}.env")
    yield from env_from_problems(container.get("envFrom") or (), f"{path}.envFrom")
    yield from mount_problems(container, pod.volumes, f"{path}.volumeMounts")
    yield from device_problems(container, pod.volumes, f"{path}.volumeDevices")
    yield from pull_policy_problems(container.get("imagePullPolicy"), f"{path}.imagePullPolicy")
    yield from container_requirement_problems(container.get("resources") or {}, f"{path}.resources", pod.claim_names)
    yield from resize_policy_problems(container, pod.spec.get("restartPolicy", ""), f"{path}.resizePolicy")
    context = container.get("securityContext")
    yield from container_security_problems(context, f"{path}.securityContext", host_users=pod.host_users)


def _port_problems(ports: Sequence[Object], path: str) -> Iterator[Problem]:
    names: set[str] = set()
    for index, port in enumerate(ports):
        at = f"{path}[{index}]"
        name = port.get("name", "")
        if name and (wrong := texts.port_name(name)):
            yield from (invalid(f"{at}.name", name, told) for told in wrong)
        elif name in names:
            yield duplicate(f"{at}.name", name)
        elif name:
            names.add(name)
        if not port.get("containerPort"):
            yield required(f"{at}.containerPort")
        for field in ("containerPort", "hostPort"):
            if number := port.get(field):
                yield from (invalid(f"{at}.{field}", number, told) for told in texts.port_number(number))
        yield from protocol_problems(port.get("protocol"), f"{at}.protocol")


def protocol_problems(protocol: str | None, path: str) -> Iterator[Problem]:
    """The protocol of a port."""
    if not protocol:
        yield required(path)
    elif protocol not in _PROTOCOLS:
        yield not_supported(path, protocol, _PROTOCOLS)


def host_port_problems(containers: Sequence[Object], path: str) -> Iterator[Problem]:
    """No two containers can have the same port of the node."""
    taken: set[str] = set()
    for index, container in enumerate(containers):
        for place, port in enumerate(container.get("ports") or ()):
            if not port.get("hostPort"):
                continue
            told = f"{port.get('protocol', '')}/{port.get('hostIP', '')}/{port['hostPort']}"
            if told in taken:
                yield duplicate(f"{path}[{index}].ports[{place}].hostPort", told)
            taken.add(told)
