"""Rules of probes and lifecycle hooks."""

from collections.abc import Iterator
from typing import Final

from kubedyno.kinds.rules import texts
from kubedyno.kinds.rules.fields import nonnegative, port_number_or_name
from kubedyno.kube.codec import Object
from kubedyno.kube.problems import Problem, forbidden, invalid, not_supported, required

_SCHEMES: Final = ("HTTP", "HTTPS")
_PROBE_HANDLERS: Final = ("exec", "httpGet", "tcpSocket", "grpc")
_HOOK_HANDLERS: Final = ("exec", "httpGet", "tcpSocket", "sleep")
_COUNTS: Final = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")


def probe_problems(container: Object, path: str) -> Iterator[Problem]:
    """The three probes of a container; `path` is that of the container."""
    for name in ("livenessProbe", "readinessProbe", "startupProbe"):
        probe = container.get(name)
        if probe is None:
            continue
        at = f"{path}.{name}"
        yield from _common_problems(probe, at)
        if name == "readinessProbe":
            if (grace := probe.get("terminationGracePeriodSeconds")) is not None:
                yield invalid(f"{at}.terminationGracePeriodSeconds", grace, "must not be set for readinessProbes")
        elif probe.get("successThreshold", 0) != 1:
            yield invalid(f"{at}.successThreshold", probe.get("successThreshold", 0), "must be 1")


def _common_problems(probe: Object, path: str) -> Iterator[Problem]:
    yield from _handler_problems(probe, _PROBE_HANDLERS, None, path)
    for name in _COUNTS:
        yield from nonnegative(probe.get(name), f"{path}.{name}")
    grace = probe.get("terminationGracePeriodSeconds")
    if grace is not None and grace <= 0:
        yield invalid(f"{path}.terminationGracePeriodSeconds", grace, "must be greater than 0")


def lifecycle_problems(container: Object, spec: Object, path: str) -> Iterator[Problem]:
    """The hooks of a container; `path` is that of the container, `spec` that of its pod."""
    lifecycle = container.get("lifecycle")
    if lifecycle is None:
        return
    grace = spec.get("terminationGracePeriodSeconds")
    for name in ("postStart", "preStop"):
        if lifecycle.get(name) is not None:
            yield from _handler_problems(lifecycle[name], _HOOK_HANDLERS, grace, f"{path}.lifecycle.{name}")


def _handler_problems(owner: Object, kinds: tuple[str, ...], grace_s: int | None, path: str) -> Iterator[Problem]:
    given = [kind for kind in kinds if owner.get(kind) is not None]
    if not given:
        yield required(path, "must specify a handler type")
        return
    yield from _action_problems(given[0], owner[given[0]], grace_s, f"{path}.{given[0]}")
    for kind in given[1:]:
        yield forbidden(f"{path}.{kind}", "may not specify more than 1 handler type")


def _action_problems(kind: str, action: Object, grace_s: int | None, path: str) -> Iterator[Problem]:
    match kind:
        case "exec":
            if not action.get("command"):
                yield required(f"{path}.command")
        case "httpGet":
            if not action.get("path"):
                yield required(f"{path}.path")
            yield from port_number_or_name(action.get("port", 0), f"{path}.port")
            if action.get("scheme", "") not in _SCHEMES:
                yield not_supported(f"{path}.scheme", action.get("scheme", ""), _SCHEMES)
            for header in action.get("httpHeaders") or ():
                for told in texts.http_header_name(header.get("name", "")):
                    yield invalid(f"{path}.httpHeaders", header.get("name", ""), told)
        case "sleep":
            seconds = action.get("seconds", 0)
            if grace_s is not None and not 0 <= seconds <= grace_s:
                detail = f"must be non-negative and less than terminationGracePeriodSeconds ({grace_s})"
                yield invalid(path, seconds, detail)
        case _:
            yield from port_number_or_name(action.get("port", 0), f"{path}.port")
