"""Rules of environment variables and of references to fields and resources of the pod."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from kubedyno.kinds.rules import texts
from kubedyno.kinds.rules.fields import formatted, required_formatted
from kubedyno.kinds.rules.paths import backstep_problems
from kubedyno.kube.codec import Object
from kubedyno.kube.problems import Problem, invalid, not_supported, required
from kubedyno.kube.quantities import Quantity

ENV_FIELDS: Final = (
    "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName",
    "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs",
)  # fmt: skip
VOLUME_FIELDS: Final = (
    "metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid",
)  # fmt: skip
_KNOWN_FIELDS: Final = {*ENV_FIELDS, *VOLUME_FIELDS, "spec.restartPolicy", "spec.schedulerName", "status.phase"}
_RESOURCES: Final = (
    "limits.cpu", "limits.ephemeral-storage", "limits.memory",
    "requests.cpu", "requests.ephemeral-storage", "requests.memory",
)  # fmt: skip
_HUGE_PAGES: Final = ("requests.hugepages-", "limits.hugepages-")
_CPU_DIVISORS: Final = ("1m", "1")
_BYTE_DIVISORS: Final = ("1", *(f"1{unit}" for unit in ("k", *"MGTPE")), *(f"1{unit}i" for unit in "KMGTPE"))
_DIVISOR_NAMES: Final = {"cpu": "cpu", "memory": "memory", "ephemeral-storage": "local ephemeral storage"}
_SOURCES: Final = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")


def env_problems(variables: Iterable[Object], path: str) -> Iterator[Problem]:
    """The `env` of a container."""
    for index, variable in enumerate(variables):
        at = f"{path}[{index}]"
        yield from required_formatted(variable.get("name"), f"{at}.name", texts.env_var_name)
        if variable.get("valueFrom") is not None:
            yield from _value_from_problems(variable, f"{at}.valueFrom")


def env_from_problems(sources: Iterable[Object], path: str) -> Iterator[Problem]:
    """The `envFrom` of a container."""
    for index, source in enumerate(sources):
        at = f"{path}[{index}]"
        if source.get("prefix"):
            yield from formatted(source["prefix"], f"{at}.prefix", texts.env_var_name)
        given = [name for name in ("configMapRef", "secretRef") if source.get(name) is not None]
        for name in given:
            yield from required_formatted(source[name].get("name"), f"{at}.{name}.name", texts.dns1123_subdomain)
        if not given:
            yield invalid(path, "", "must specify one of: `configMapRef` or `secretRef`")
        elif len(given) > 1:
            yield invalid(path, "", "may not have more than one field specified at a time")


def _value_from_problems(variable: Object, path: str) -> Iterator[Problem]:
    value_from = variable["valueFrom"]
    given = [name for name in _SOURCES if value_from.get(name) is not None]
    for name in given:
        source, at = value_from[name], f"{path}.{name}"
        if name == "fieldRef":
            yield from field_ref_problems(source, ENV_FIELDS, at)
        elif name == "resourceFieldRef":
            yield from resource_ref_problems(source, at, in_volume=False)
        elif name == "fileKeyRef":
            yield from _file_key_problems(source, at)
        else:
            yield from formatted(source.get("name", ""), f"{at}.name", texts.dns1123_subdomain)
            yield from required_formatted(source.get("key"), f"{at}.key", texts.config_key)
    if not given:
        told = ", ".join(f"`{name}`" for name in _SOURCES[:-1])
        yield invalid(path, "", f"must specify one of: {told} or `{_SOURCES[-1]}`")
    elif variable.get("value"):
        yield invalid(path, "", "may not be specified when `value` is not empty")
    elif len(given) > 1:
        yield invalid(path, "", "may not have more than one field specified at a time")


def _file_key_problems(source: Mapping[str, Any], path: str) -> Iterator[Problem]:
    yield from required_formatted(source.get("key"), f"{path}.key", texts.env_var_name)
    yield from required_formatted(source.get("volumeName"), f"{path}.volumeName", texts.dns1123_label)
    if not source.get("path"):
        yield required(f"{path}.path")
    else:
        yield from backstep_problems(source["path"], f"{path}.path")


def field_ref_problems(selector: Mapping[str, Any], known: Iterable[str], path: str) -> Iterator[Problem]:
    """A reference to a field of the pod; `known` are those that can be had there, sorted."""
    for name in ("apiVersion", "fieldPath"):
        if not selector.get(name):
            yield required(f"{path}.{name}")
            return
    field, subscript = _split(selector["fieldPath"])
    if wrong := _unreadable(selector["apiVersion"], selector["fieldPath"], field, subscript):
        yield invalid(f"{path}.fieldPath", selector["fieldPath"], f"error converting fieldPath: {wrong}")
    elif subscript is not None:
        key = subscript.lower() if field == "metadata.annotations" else subscript
        yield from formatted(key, path, texts.label_key)
    elif (field := "spec.nodeName" if field == "spec.host" else field) not in known:
        yield not_supported(f"{path}.fieldPath", field, known)


def resource_ref_problems(selector: Mapping[str, Any], path: str, *, in_volume: bool) -> Iterator[Problem]:
    """A reference to an amount that a container asks for."""
    resource = selector.get("resource", "")
    if in_volume and not selector.get("containerName"):
        yield required(f"{path}.containerName")
    elif not resource:
        yield required(f"{path}.resource")
    elif resource not in _RESOURCES and not resource.startswith(_HUGE_PAGES):
        yield not_supported(f"{path}.resource", resource, _RESOURCES)
    divisor = str(Quantity.parse(selector.get("divisor", "0")))
    if divisor == "0":
        return
    name = resource.partition(".")[2]
    if name in _DIVISOR_NAMES or resource.startswith(_HUGE_PAGES):
        allowed = _CPU_DIVISORS if name == "cpu" else _BYTE_DIVISORS
        if divisor not in allowed:
            told = "1m and 1" if name == "cpu" else ", ".join(_BYTE_DIVISORS)
            what = _DIVISOR_NAMES.get(name, "hugepages")
            detail = f"only divisor's values {told} are supported with the {what} resource"
            yield invalid(f"{path}.divisor", resource, detail)


def _split(field_path: str) -> tuple[str, str | None]:
    """`metadata.labels['a']` into the field and what stands in brackets."""
    field, bracket, rest = field_path.removesuffix("']").partition("['")
    return (field, rest) if field_path.endswith("']") and bracket and field else (field_path, None)


def _unreadable(version: str, label: str, field: str, subscript: str | None) -> str:
    if version != "v1":
        return f"unsupported pod version: {version}"
    if subscript is not None:
        supported = field in {"metadata.annotations", "metadata.labels"}
        return "" if supported else f"field label does not support subscript: {label}"
    return "" if field in _KNOWN_FIELDS or field == "spec.host" else f"field label not supported: {label}"
