"""The Warning headers that a create or update earns: of pods and their templates, the frequent ones.

In the order of the server. Left out are volumes of plugins long removed and paths that overlap within a volume.
"""

from collections.abc import Iterator

from kubedyno.kinds.rules import texts
from kubedyno.kube.codec import Object
from kubedyno.kube.quantities import Quantity
from kubedyno.kube.resources import Resource

_TEMPLATES = {
    ("", "replicationcontrollers"): "spec.template",
    ("", "podtemplates"): "template",
    ("apps", "deployments"): "spec.template",
    ("apps", "replicasets"): "spec.template",
    ("apps", "statefulsets"): "spec.template",
    ("apps", "daemonsets"): "spec.template",
    ("batch", "jobs"): "spec.template",
    ("batch", "cronjobs"): "spec.jobTemplate.spec.template",
}
_NAMING_PODS = {
    ("", "replicationcontrollers"), ("apps", "deployments"), ("apps", "replicasets"), ("batch", "jobs"),
    ("batch", "cronjobs"),
}  # fmt: skip
_DEPRECATED_LABELS = {
    "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    "failure-domain.beta.kubernetes.io/region": 'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
    "failure-domain.beta.kubernetes.io/zone": 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
    "beta.kubernetes.io/instance-type": 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
    "app.kubernetes.io/created-by": "deprecated since v1.9",
    "scheduler.alpha.kubernetes.io/preferAvoidPods": "deprecated since v1.22; use Taints and Tolerations instead",
    "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
}
_DEPRECATED_ANNOTATIONS = {
    "scheduler.alpha.kubernetes.io/critical-pod": (
        'non-functional in v1.16+; use the "priorityClassName" field instead'
    ),
    "security.alpha.kubernetes.io/sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
    "security.alpha.kubernetes.io/unsafe-sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
}
_SECCOMP_OF_POD = "seccomp.security.alpha.kubernetes.io/pod"
_SECCOMP_OF_CONTAINER = "container.seccomp.security.alpha.kubernetes.io/"
_USE_SECCOMP = 'non-functional in v1.27+; use the "seccompProfile" field instead'
_NO_SELECTOR = "a null labelSelector results in matching no pod"
_IN_WHOLE_BYTES = ("memory", "ephemeral-storage")
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def warnings_on_create(obj: Object, resource: Resource) -> list[str]:
    """What the server warns of when this object is created."""
    key = resource.group, resource.plural
    if key == ("", "pods"):
        return [*_of_name(obj, "the Pod's hostname"), *_of_pod(obj, "")]
    if key not in _TEMPLATES:
        return []
    path = _TEMPLATES[key]
    named = _of_name(obj, "Pod names and hostnames") if key in _NAMING_PODS else ()
    return [*named, *_of_pod(_at(obj, path), f"{path}.")]


def warnings_on_update(new: Object, old: Object, resource: Resource) -> list[str]:
    """What the server warns of when an object changes: of templates in a new generation; of pods nothing."""
    path = _TEMPLATES.get((resource.group, resource.plural))
    if path is None or new["metadata"].get("generation") == old["metadata"].get("generation"):
        return []
    if resource.plural == "daemonsets" and _at(new, path) == _at(old, path):
        return []
    # The real server looks at the old template of a replication controller.
    looked_at = old if resource.plural == "replicationcontrollers" else new
    return list(_of_pod(_at(looked_at, path), f"{path}."))


def _at(obj: Object, path: str) -> Object:
    for name in path.split("."):
        obj = obj.get(name) or {}
    return obj


def _of_name(obj: Object, used_in: str) -> Iterator[str]:
    if said := texts.dns1123_label(obj["metadata"]["name"]):
        yield (
            f"metadata.name: this is used in {used_in}, which can result in surprising behavior; "
            f"a DNS label is recommended: [{' '.join(said)}]"
        )


def _has_annotation(annotations: Object, name: str, part: Object, field: str) -> bool:
    """Whether an annotation stands for a field of the security context that is not there."""
    return name in annotations and field not in (part.get("securityContext") or {})


def _of_pod(pod: Object, path: str) -> Iterator[str]:
    """`path` leads to a template and ends with a dot; that of a pod is empty."""
    spec = pod.get("spec") or {}
    annotations = (pod.get("metadata") or {}).get("annotations") or {}
    yield from _of_placement(spec, f"{path}spec")
    for annotation, told in _DEPRECATED_ANNOTATIONS.items():
        if annotation in annotations:
            yield f"{path}metadata.annotations[{annotation}]: {told}"
    yield from _of_repeats(spec.get("hostAliases") or (), "ip", f"{path}spec.hostAliases")
    yield from _of_repeats(spec.get("imagePullSecrets") or (), "name", f"{path}spec.imagePullSecrets")
    for index, secret in enumerate(spec.get("imagePullSecrets") or ()):
        if not secret.get("name"):
            yield f'{path}spec.imagePullSecrets[{index}].name: invalid empty name ""'
    if _has_annotation(annotations, _SECCOMP_OF_POD, spec, "seccompProfile"):
        yield f"{path}metadata.annotations[{_SECCOMP_OF_POD}]: {_USE_SECCOMP}"
    containers = list(_containers(spec, f"{path}spec."))
    for container, here in containers:
        seccomp = f"{_SECCOMP_OF_CONTAINER}{container.get('name', '')}"
        if _has_annotation(annotations, seccomp, container, "seccompProfile"):
            yield f"{path}metadata.annotations[{seccomp}]: {_USE_SECCOMP}"
        yield from _of_resources(container.get("resources") or {}, here)
        yield from _of_environment(container.get("env") or [], here)
    yield from _of_ports(containers)
    yield from _of_port_names(containers)
    if spec.get("terminationGracePeriodSeconds", 0) < 0:
        told = "must be >= 0; negative values are invalid and will be treated as 1"
        yield f"{path}spec.terminationGracePeriodSeconds: {told}"
    if "affinity" in spec:
        yield from _of_pod_affinity(spec["affinity"], f"{path}spec.affinity")


def _of_placement(spec: Object, path: str) -> Iterator[str]:
    for label in spec.get("nodeSelector") or ():
        if label in _DEPRECATED_LABELS:
            yield f"{path}.nodeSelector[{label}]: {_DEPRECATED_LABELS[label]}"
    if "affinity" in spec:
        yield from _of_node_affinity(spec["affinity"].get("nodeAffinity") or {}, f"{path}.affinity.nodeAffinity")
    for index, constraint in enumerate(spec.get("topologySpreadConstraints") or ()):
        here = f"{path}.topologySpreadConstraints[{index}]"
        key = constraint.get("topologyKey")
        if key in _DEPRECATED_LABELS:
            yield f"{here}.topologyKey: {key} is {_DEPRECATED_LABELS[key]}"
        if "labelSelector" not in constraint:
            yield f"{here}.labelSelector: {_NO_SELECTOR}"


def _of_node_affinity(affinity: Object, path: str) -> Iterator[str]:
    terms = [
        (term, f"{path}.{_REQUIRED}.nodeSelectorTerms[{index}]")
        for index, term in enumerate((affinity.get(_REQUIRED) or {}).get("nodeSelectorTerms") or ())
    ]
    terms += [
        (term.get("preference") or {}, f"{path}.{_PREFERRED}[{index}].preference")
        for index, term in enumerate(affinity.get(_PREFERRED) or ())
    ]
    for term, here in terms:
        for index, expression in enumerate(term.get("matchExpressions") or ()):
            key = expression.get("key")
            if key in _DEPRECATED_LABELS:
                yield f"{here}.matchExpressions[{index}].key: {key} is {_DEPRECATED_LABELS[key]}"


def _of_pod_affinity(affinity: Object, path: str) -> Iterator[str]:
    for side in ("podAffinity", "podAntiAffinity"):
        terms = affinity.get(side) or {}
        for index, term in enumerate(terms.get(_REQUIRED) or ()):
            if "labelSelector" not in term:
                yield f"{path}.{side}.{_REQUIRED}[{index}].labelSelector: {_NO_SELECTOR}"
        for index, term in enumerate(terms.get(_PREFERRED) or ()):
            if "labelSelector" not in (term.get("podAffinityTerm") or {}):
                yield f"{path}.{side}.{_PREFERRED}[{index}].podAffinityTerm.labelSelector: {_NO_SELECTOR}"


def _of_repeats(entries: list[Object] | tuple[()], field: str, path: str) -> Iterator[str]:
    seen = set()
    for index, entry in enumerate(entries):
        value = entry.get(field, "")
        if value in seen:
            yield f'{path}[{index}].{field}: duplicate {field} "{value}"'
        seen.add(value)


def _containers(spec: Object, path: str) -> Iterator[tuple[Object, str]]:
    """The containers in the order in which the server visits them, with their paths."""
    for group in ("initContainers", "containers", "ephemeralContainers"):
        for index, container in enumerate(spec.get(group) or ()):
            yield container, f"{path}{group}[{index}]"


def _of_resources(resources: Object, path: str) -> Iterator[str]:
    for name in _IN_WHOLE_BYTES:
        for kind in ("limits", "requests"):
            written = (resources.get(kind) or {}).get(name)
            if written is not None and Quantity.parse(written).milli() % 1000:
                yield (
                    f"{path}.resources.{kind}[{name}]: "
                    f'fractional byte value "{Quantity.parse(written)}" is invalid, must be an integer'
                )


def _of_environment(variables: list[Object], path: str) -> Iterator[str]:
    seen = set()
    for index, variable in enumerate(variables):
        name, value = variable.get("name", ""), variable.get("value", "")
        reference = f"$({name})"
        extends = "valueFrom" not in variable and value != reference and reference in value
        if name in seen and not extends:
            told = "which may be dropped when using apply"
            yield f'{path}.env[{index}]: hides previous definition of "{name}", {told}'
        seen.add(name)


def _of_ports(containers: list[tuple[Object, str]]) -> Iterator[str]:
    known: dict[tuple[int, str], list[tuple[str, int, str]]] = {}
    for container, path in containers:
        for index, port in enumerate(container.get("ports") or ()):
            here = f"{path}.ports[{index}]"
            address, number = port.get("hostIP", ""), port.get("hostPort", 0)
            others = known.setdefault((port.get("containerPort", 0), port.get("protocol", "")), [])
            for other_address, other_number, there in others:
                if (address, number) == (other_address, other_number):
                    yield f"{here}: duplicate port definition with {there}"
                elif not number or not other_number:
                    yield f"{here}: overlapping port definition with {there}"
                elif number == other_number and (not address) != (not other_address):
                    yield f"{here}: dangerously ambiguous port definition with {there}"
            others.append((address, number, here))


def _of_port_names(containers: list[tuple[Object, str]]) -> Iterator[str]:
    known: dict[str, str] = {}
    for container, path in containers:
        for index, port in enumerate(container.get("ports") or ()):
            name, here = port.get("name", ""), f"{path}.ports[{index}]"
            if name in known:
                there = known[name]
                told = f"services and probes that select ports by name will use {there}"
                yield f'{here}: duplicate port name "{name}" with {there}, {told}'
            elif name:
                known[name] = here
