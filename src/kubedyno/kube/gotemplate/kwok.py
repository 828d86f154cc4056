"""Templates as KWOK 0.8 renders those of its Stage objects: the data, the functions, and YAML out of the text.

Of sprig there are the functions of `sprig`. What depends on the time, a node or an address pool is given by the caller.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any, Final

import yaml

from kubedyno.kube import goyaml
from kubedyno.kube.gotemplate.functions import Function, Functions, Parameter
from kubedyno.kube.gotemplate.jsonvalues import json_text, with_numbers
from kubedyno.kube.gotemplate.problems import Limits, TemplateError
from kubedyno.kube.gotemplate.quoting import quoted
from kubedyno.kube.gotemplate.sprig import SPRIG
from kubedyno.kube.gotemplate.template import Template
from kubedyno.kube.gotemplate.values import Number

_NAME: Final = "_"  # KWOK calls all its templates so
_INDENT: Final = 2
_TEXT_TAG: Final = "tag:yaml.org,2002:str"
_WORD = re.compile(r"[-+.~\w]*")
_TIME = re.compile(r"\d{4}-\d\d?-\d\d?(?:(?:[Tt]|[ \t]+)\d\d?:\d\d:\d\d.*)?|[-+]?\d[\d_]*(?::[0-5]?\d)+(?:\.[\d_]*)?")
_POD: Final = (Parameter.STRING, Parameter.BOOL, Parameter.STRING, Parameter.STRING, Parameter.STRING)
_CONDITIONS: Final = (
    ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("NetworkUnavailable", "False", "RouteCreated", "RouteController created a route"),
)

# (node, host network, uid, name, namespace) of a pod to its addresses
PodAddresses = Callable[[str, bool, str, str, str], Sequence[str]]


def stage_template(text: str, functions: Functions, *, limits: Limits | None = None) -> Template:
    """A template of a stage; `functions`: those of this module that fit the kind, and more if there are."""
    return Template.parsed(_NAME, text.strip(), {**SPRIG, **functions}, limits=limits)


def render_text(template: Template, obj: Any, functions: Functions | None = None) -> str:
    """What it prints for an object. Numbers are their JSON text, so that even 0 is true, as in KWOK.

    `functions` replace those of the same names for this rendering.
    """
    return template.render(with_numbers(obj), functions)


def render_object(template: Template, obj: Any, functions: Functions | None = None) -> Any:
    """The same read as YAML: a patch, or an object."""
    text = render_text(template, obj, functions)
    try:
        return goyaml.read(text.encode("utf-8", "replace"))[0]
    except ValueError as error:
        raise TemplateError(f"{error}: {text}") from error


def common_functions(*, now: Callable[[], str], start_time: str, version: str) -> dict[str, Function]:
    """Those of every kind; `now` and `start_time` as RFC 3339, `version` that of KWOK (`v0.8.0`)."""
    return {
        "Quote": Function(_quote, (Parameter.ANY,)),
        "YAML": Function(_yaml, (Parameter.ANY,), Parameter.INT),
        "Now": Function(now),
        "StartTime": Function(lambda: start_time),
        "Version": Function(lambda: version),
        "NodeConditions": Function(_node_conditions),
    }


def node_functions(*, ip: str, name: str, port: int) -> dict[str, Function]:
    """Those of nodes: what KWOK says of itself as their kubelet; an empty text or 0 leaves it out."""
    return {"NodeIP": Function(lambda: ip), "NodeName": Function(lambda: name), "NodePort": Function(lambda: port)}


def pod_functions(
    *, node_ip: str, pod_ip: Callable[[], str], node_ips: Callable[[str], Sequence[str]], pod_ips: PodAddresses
) -> dict[str, Function]:
    """Those of pods; `node_ips` and `pod_ips` give the addresses of a node and of a pod, the main one first."""
    return {
        "NodeIP": Function(lambda: node_ip),
        "PodIP": Function(pod_ip),
        "NodeIPWith": Function(lambda node: _first(node_ips(node)), (Parameter.STRING,)),
        "NodeIPsWith": Function(lambda node: list(node_ips(node)), (Parameter.STRING,)),
        "PodIPWith": Function(lambda *pod: _first(pod_ips(*pod)), _POD),
        "PodIPsWith": Function(lambda *pod: list(pod_ips(*pod)), _POD),
    }


def _first(addresses: Sequence[str]) -> str:
    return addresses[0] if addresses else ""


def _node_conditions() -> list[dict[str, Any]]:
    return [
        {
            "type": kind,
            "status": status,
            "reason": reason,
            "message": message,
            "lastHeartbeatTime": None,
            "lastTransitionTime": None,
        }
        for kind, status, reason, message in _CONDITIONS
    ]


def _quote(value: Any) -> str:
    """JSON of a text; of all else, the JSON as a text of its own."""
    text = json_text(value)
    return text if text.startswith('"') else quoted(text)


def _yaml(value: Any, *indents: int) -> str:
    """YAML with sorted keys; one indent (in steps of two) begins a new line and moves all of it to the right."""
    text = yaml.dump(_for_yaml(value), Dumper=_Dumper, default_flow_style=False, allow_unicode=True).removesuffix(
        "...\n"
    )
    if len(indents) == 1 and indents[0] > 0:
        text = f"\n{text}".replace("\n", f"\n{' ' * (indents[0] * _INDENT)}")
    return text


def _for_yaml(value: Any) -> Any:
    """Numbers as what they are; the rest as it is."""
    match value:
        case Number():
            return goyaml.read(value.encode())[0]
        case dict():
            return {key: _for_yaml(held) for key, held in value.items()}
        case list():
            return [_for_yaml(held) for held in value]
    return value


class _Dumper(yaml.SafeDumper):
    """Go's choice of quotes: double ones where a bare word would be read as something else, lines as a block."""

    def ignore_aliases(self, data: Any) -> bool:
        """What stands in two places is written twice."""
        del data
        return True


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else '"' if _is_ambiguous(text) else None
    return dumper.represent_scalar(_TEXT_TAG, text, style=style)


def _is_ambiguous(text: str) -> bool:
    """Whether it is no text when it stands there bare."""
    if _TIME.fullmatch(text):
        return True
    return bool(_WORD.fullmatch(text)) and isinstance(goyaml.read(text.encode())[0], bool | int | float | type(None))


_Dumper.add_representer(str, _represent_text)
