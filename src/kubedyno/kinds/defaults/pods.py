"""Defaults of pods and of what is in them, wherever pod templates occur."""

from collections.abc import Callable, Iterator

from kubedyno.kinds.defaults.walking import Constants, Functions
from kubedyno.kube.codec import Object
from kubedyno.kube.quantities import Quantity

_MODE = 0o644
_CONTAINER = {"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"}
_FORGOTTEN_ANNOTATIONS = tuple(
    f"pod.{stage}.kubernetes.io/{name}"
    for stage in ("alpha", "beta")
    for name in ("init-containers", "init-container-statuses")
)

CONSTANTS: Constants = {
    "core.v1.PodSpec": {
        "dnsPolicy": "ClusterFirst",
        "restartPolicy": "Always",
        "securityContext": {},
        "terminationGracePeriodSeconds": 30,
        "schedulerName": "default-scheduler",
    },
    "core.v1.Container": _CONTAINER,
    "core.v1.EphemeralContainer": _CONTAINER,
    "core.v1.Probe": {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3},
    "core.v1.HTTPGetAction": {"path": "/", "scheme": "HTTP"},
    "core.v1.GRPCAction": {"service": ""},
    "core.v1.ObjectFieldSelector": {"apiVersion": "v1"},
    "core.v1.SecretVolumeSource": {"defaultMode": _MODE},
    "core.v1.ConfigMapVolumeSource": {"defaultMode": _MODE},
    "core.v1.DownwardAPIVolumeSource": {"defaultMode": _MODE},
    "core.v1.ProjectedVolumeSource": {"defaultMode": _MODE},
    "core.v1.ServiceAccountTokenProjection": {"expirationSeconds": 3600},
    "core.v1.HostPathVolumeSource": {"type": ""},
}


def _pod(pod: Object) -> None:
    spec = pod["spec"]
    for container in _containers(spec):
        resources = container["resources"]
        if limits := resources.get("limits"):
            resources["requests"] = {**limits, **(resources.get("requests") or {})}
    if "resources" in spec:
        _default_pod_resources(spec)
    spec.setdefault("enableServiceLinks", True)
    if spec.get("hostNetwork"):
        for container in _containers(spec):
            for port in container.get("ports") or ():
                if port["containerPort"]:
                    port.setdefault("hostPort", port["containerPort"])
    if spec.get("terminationGracePeriodSeconds", 0) < 0:
        spec["terminationGracePeriodSeconds"] = 1
    _forget_annotations(pod)


def _containers(spec: Object) -> Iterator[Object]:
    yield from spec.get("containers") or ()
    yield from spec.get("initContainers") or ()


def _forget_annotations(obj: Object) -> None:
    """Init containers were annotations once; the server forgets them."""
    annotations = obj["metadata"].get("annotations")
    if annotations:
        for name in _FORGOTTEN_ANNOTATIONS:
            annotations.pop(name, None)
        if not annotations:
            del obj["metadata"]["annotations"]


def _default_pod_resources(spec: Object) -> None:
    """What the pod as a whole asks for, once some of it is said, from its containers and then from its limits."""
    resources = spec["resources"]
    limits, requests = {**resources.get("limits", {})}, {**resources.get("requests", {})}
    if limits or requests:
        for name, amount in _total(spec, "limits").items():
            if name.startswith("hugepages-") and name not in requests:
                limits.setdefault(name, amount)
    if limits:
        resources["limits"] = limits
        for name, amount in _total(spec, "requests").items():
            if name in {"cpu", "memory"}:
                requests.setdefault(name, amount)
        for name, amount in limits.items():
            if name in {"cpu", "memory"} or name.startswith("hugepages-"):
                requests.setdefault(name, amount)
    if requests:
        resources["requests"] = requests


def _total(spec: Object, part: str) -> dict[str, str]:
    """What all containers need together at any time; init containers run one by one before, sidecars stay."""
    running: dict[str, Quantity] = {}
    for container in spec.get("containers") or ():
        _merge(running, container["resources"].get(part), Quantity.__add__)
    sidecars: dict[str, Quantity] = {}
    starting: dict[str, Quantity] = {}
    for container in spec.get("initContainers") or ():
        needed = container["resources"].get(part)
        now = dict(sidecars)
        _merge(now, needed, Quantity.__add__)
        if container.get("restartPolicy") == "Always":
            _merge(running, needed, Quantity.__add__)
            sidecars = now
        _merge(starting, {name: str(amount) for name, amount in now.items()}, max)
    _merge(running, {name: str(amount) for name, amount in starting.items()}, max)
    return {name: str(amount) for name, amount in running.items()}


def _merge(
    into: dict[str, Quantity], amounts: dict[str, str] | None, combine: Callable[[Quantity, Quantity], Quantity]
) -> None:
    for name, text in (amounts or {}).items():
        amount = Quantity.parse(text)
        into[name] = combine(into[name], amount) if name in into else amount


def _pod_spec(spec: Object) -> None:
    # The old name of the field is kept as an alias.
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if account:
        spec["serviceAccountName"] = spec["serviceAccount"] = account


def _pod_status(status: Object) -> None:
    """The first address and the list of all are kept in step; the first one wins."""
    first, addresses = status.get("podIP"), status.get("podIPs")
    if first and (not addresses or addresses[0].get("ip") != first):
        status["podIPs"] = [{"ip": first}]
    elif addresses and not first and addresses[0].get("ip"):
        status["podIP"] = addresses[0]["ip"]


def _volume(volume: Object) -> None:
    if len(volume) <= 1:  # its name
        volume["emptyDir"] = {}


FUNCTIONS: Functions = {
    "core.v1.Pod": _pod,
    "core.v1.PodTemplateSpec": _forget_annotations,
    "core.v1.PodSpec": _pod_spec,
    "core.v1.PodStatus": _pod_status,
    "core.v1.Volume": _volume,
}
