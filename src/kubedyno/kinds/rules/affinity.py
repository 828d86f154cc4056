"""Rules of affinity: which nodes a pod wants, and which other pods it wants near or far."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from kubedyno.kinds.rules import texts
from kubedyno.kinds.rules.fields import formatted
from kubedyno.kinds.rules.selectors import selector_problems
from kubedyno.kube.codec import Object
from kubedyno.kube.problems import Problem, forbidden, invalid, required

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_LARGEST_WEIGHT: Final = 100


def affinity_problems(affinity: Mapping[str, Any] | None, path: str) -> Iterator[Problem]:
    """The affinity of a pod."""
    if affinity is None:
        return
    of_nodes = affinity.get("nodeAffinity") or {}
    if of_nodes.get(_REQUIRED) is not None:
        yield from node_selector_problems(of_nodes[_REQUIRED], f"{path}.nodeAffinity.{_REQUIRED}")
    for index, term in enumerate(of_nodes.get(_PREFERRED) or ()):
        at = f"{path}.nodeAffinity.{_PREFERRED}[{index}]"
        yield from _weight_problems(term, at)
        yield from _node_term_problems(term.get("preference") or {}, f"{at}.preference", any_value=True)
    for name in ("podAffinity", "podAntiAffinity"):
        of_pods = affinity.get(name) or {}
        for index, term in enumerate(of_pods.get(_REQUIRED) or ()):
            yield from _pod_term_problems(term, f"{path}.{name}.{_REQUIRED}[{index}]")
        for index, weighted in enumerate(of_pods.get(_PREFERRED) or ()):
            at = f"{path}.{name}.{_PREFERRED}[{index}]"
            yield from _weight_problems(weighted, at)
            yield from _pod_term_problems(weighted.get("podAffinityTerm") or {}, f"{at}.podAffinityTerm")


def _weight_problems(term: Object, path: str) -> Iterator[Problem]:
    weight = term.get("weight", 0)
    if not 0 < weight <= _LARGEST_WEIGHT:
        yield invalid(f"{path}.weight", weight, "must be in the range 1-100")


def node_selector_problems(selector: Mapping[str, Any], path: str) -> Iterator[Problem]:
    """A node selector: terms of which one must match."""
    terms = selector.get("nodeSelectorTerms") or ()
    if not terms:
        yield required(f"{path}.nodeSelectorTerms", "must have at least one node selector term")
    for index, term in enumerate(terms):
        yield from _node_term_problems(term, f"{path}.nodeSelectorTerms[{index}]", any_value=False)


def _node_term_problems(term: Object, path: str, *, any_value: bool) -> Iterator[Problem]:
    for index, requirement in enumerate(term.get("matchExpressions") or ()):
        yield from _expression_problems(requirement, f"{path}.matchExpressions[{index}]", any_value=any_value)
    for index, requirement in enumerate(term.get("matchFields") or ()):
        yield from _field_problems(requirement, f"{path}.matchFields[{index}]")


def _expression_problems(requirement: Object, path: str, *, any_value: bool) -> Iterator[Problem]:
    operator, values = requirement.get("operator", ""), requirement.get("values") or ()
    match operator:
        case "In" | "NotIn":
            if not values:
                yield required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'")
        case "Exists" | "DoesNotExist":
            if values:
                yield forbidden(f"{path}.values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
        case "Gt" | "Lt":
            if len(values) != 1:
                yield required(f"{path}.values", "must be specified single value when `operator` is 'Lt' or 'Gt'")
        case _:
            yield invalid(f"{path}.operator", operator, "not a valid selector operator")
    yield from formatted(requirement.get("key", ""), f"{path}.key", texts.label_key)
    for index, value in enumerate(() if any_value else values):
        yield from formatted(value, f"{path}.values[{index}]", texts.label_value)


def _field_problems(requirement: Object, path: str) -> Iterator[Problem]:
    operator, values = requirement.get("operator", ""), requirement.get("values") or ()
    if operator not in {"In", "NotIn"}:
        yield invalid(f"{path}.operator", operator, "not a valid selector operator")
    elif len(values) != 1:
        detail = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        yield required(f"{path}.values", detail)
    key = requirement.get("key", "")
    if key != "metadata.name":
        yield invalid(f"{path}.key", key, "not a valid field selector key")
        return
    for index, value in enumerate(values):
        yield from formatted(value, f"{path}.values[{index}]", texts.dns1123_subdomain)


def _pod_term_problems(term: Object, path: str) -> Iterator[Problem]:
    yield from selector_problems(term.get("labelSelector"), f"{path}.labelSelector")
    yield from selector_problems(term.get("namespaceSelector"), f"{path}.namespaceSelector")
    for namespace in term.get("namespaces") or ():
        yield from formatted(namespace, f"{path}.namespace", texts.dns1123_label)
    yield from label_keys_problems(term, path)
    key = term.get("topologyKey", "")
    if not key:
        yield required(f"{path}.topologyKey", "can not be empty")
    yield from formatted(key, f"{path}.topologyKey", texts.label_key)


def label_keys_problems(term: Object, path: str) -> Iterator[Problem]:
    """`matchLabelKeys` and `mismatchLabelKeys`, which the server merges into the selector beside them."""
    matching, selector = term.get("matchLabelKeys") or (), term.get("labelSelector")
    differing = term.get("mismatchLabelKeys") or ()
    yield from _keys_problems(matching, selector, f"{path}.matchLabelKeys")
    yield from _keys_problems(differing, selector, f"{path}.mismatchLabelKeys")
    seen = set((selector or {}).get("matchLabels") or ())
    places = {key: index for index, key in enumerate(matching)}
    for expression in (selector or {}).get("matchExpressions") or ():
        key = expression.get("key", "")
        if key in places and key in seen:
            yield invalid(f"{path}[{places[key]}]", key, "exists in both matchLabelKeys and labelSelector")
        seen.add(key)
    for index, key in enumerate(matching):
        if key in differing:
            detail = "exists in both matchLabelKeys and mismatchLabelKeys"
            yield invalid(f"{path}.matchLabelKeys[{index}]", key, detail)


def _keys_problems(keys: Iterable[str], selector: Mapping[str, Any] | None, path: str) -> Iterator[Problem]:
    if keys and selector is None:
        yield forbidden(path, "must not be specified when labelSelector is not set")
        return
    for index, key in enumerate(keys):
        yield from formatted(key, f"{path}[{index}]", texts.label_key)
