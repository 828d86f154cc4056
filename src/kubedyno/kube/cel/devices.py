"""Which devices of a ResourceSlice a selector of a claim or a DeviceClass picks.

As the allocator of dynamic resource allocation sees a device: `device.driver`, `device.allowMultipleAllocations`,
`device.attributes[domain].name` and `device.capacity[domain].name`. Names without a domain belong to the driver's.
A domain nobody uses leads to an empty map, so that `device.attributes["other"].x` lacks the key `x`, which is an
error: the allocator fails the claim's pod with it, it does not pass over the device.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from kubedyno.kube.cel.amounts import read_semver
from kubedyno.kube.cel.errors import CelError, CelSyntaxError, EvaluationError
from kubedyno.kube.cel.library import Library, on
from kubedyno.kube.cel.parsing import parsed
from kubedyno.kube.cel.program import Program, compile  # noqa: A004 - as the language calls it
from kubedyno.kube.cel.syntax import Name, Select
from kubedyno.kube.cel.values import Defaulted, equal, is_list, type_name
from kubedyno.kube.codec import Object
from kubedyno.kube.quantities import Quantity

SELECTOR_BUDGET: Final = 1_000_000
"""CELSelectorExpressionMaxCost: what one selector may cost for one device."""
_MOST_VALUES: Final = 48
_FIELDS: Final = frozenset({"driver", "allowMultipleAllocations", "attributes", "capacity"})
_VALUES: Final = ("int", "bool", "string")


def compile_selector(text: str) -> Program:
    """Read a selector. `includes` is always there: stored expressions may use it whatever the feature gate says."""
    for select in _selects(parsed(text)):
        if isinstance(select.operand, Name) and select.operand.name == "device" and select.field not in _FIELDS:
            raise CelSyntaxError(text, select.at, f"undefined field '{select.field}'")
    return compile(text, variables=("device",), functions=_FUNCTIONS)


def _selects(node: Any) -> Iterator[Select]:
    """All field accesses in a tree."""
    if isinstance(node, Select):
        yield node
    if isinstance(node, tuple):
        for part in node:
            yield from _selects(part)
    elif isinstance(node, msgspec.Struct):
        for name in node.__struct_fields__:
            yield from _selects(getattr(node, name))


def selectors_match(owner: str, selectors: Sequence[Program], driver: str, device: Object) -> bool:
    """Whether all selectors of a claim or class pick the device; none after the first that does not is looked at.

    Errors name the `owner` (`class gpu`, `claim default/training`) and the number of the selector, as the allocator's.
    """
    for number, selector in enumerate(selectors):
        try:
            if not device_matches(selector, driver, device):
                return False
        except EvaluationError as error:
            raise EvaluationError(f"{owner}: selector #{number}: CEL runtime error: {error}") from None
    return True


def device_matches(selector: Program, driver: str, device: Object, *, list_attributes: bool = False) -> bool:
    """Whether the selector picks a device (an element of `spec.devices` of a ResourceSlice of that driver).

    An `EvaluationError` where the allocator gives up with an error: an attribute that is not there, a comparison of
    different types, a value that is no boolean. `list_attributes` is the feature gate DRAListTypeAttributes (off in
    1.36 unless asked for): without it a device with such an attribute is an error.
    """
    value = selector.evaluate({"device": seen(driver, device, list_attributes=list_attributes)}, budget=SELECTOR_BUDGET)
    if type(value) is not bool:
        raise EvaluationError(
            f"CEL result of type {type_name(value)} could not be converted to bool: {_refusal(value)}"
        )
    return value


def seen(driver: str, device: Object, *, list_attributes: bool = False) -> dict[str, Any]:
    """The variable `device`; the same for all selectors, so worth keeping where many ask of one device."""
    attributes, capacity = Defaulted(), Defaulted()
    for name, attribute in (device.get("attributes") or {}).items():
        try:
            value = _attribute(attribute, list_attributes=list_attributes)
        except EvaluationError as error:
            raise EvaluationError(f"attribute {name}: {error}") from None
        domain, identifier = _qualified(name, driver)
        attributes.setdefault(domain, {})[identifier] = value
    for name, held in (device.get("capacity") or {}).items():
        domain, identifier = _qualified(name, driver)
        capacity.setdefault(domain, {})[identifier] = Quantity.parse(held["value"])
    return {
        "driver": driver,
        "allowMultipleAllocations": bool(device.get("allowMultipleAllocations")),
        "attributes": attributes,
        "capacity": capacity,
    }


def _qualified(name: str, driver: str) -> tuple[str, str]:
    domain, slash, identifier = name.partition("/")
    return (domain, identifier) if slash else (driver, name)


def _attribute(attribute: Object, *, list_attributes: bool) -> Any:
    try:
        if list_attributes:
            for kind in _VALUES:
                if attribute.get(f"{kind}s") is not None:
                    return list(attribute[f"{kind}s"])
            if attribute.get("versions") is not None:
                return [read_semver(text) for text in attribute["versions"]]
        for kind in _VALUES:
            if attribute.get(kind) is not None:
                return attribute[kind]
        if attribute.get("version") is not None:
            return read_semver(attribute["version"])
    except CelError as error:
        raise EvaluationError(f"parse semantic version: {error}") from None
    raise EvaluationError("unsupported attribute value")


def _refusal(value: Any) -> str:
    kind = type_name(value)
    if kind == "string":
        return "unsupported native conversion from string to 'bool'"
    return f"unsupported type conversion from '{kind}' to bool"


def _includes(held: Any, wanted: Any) -> bool:
    if not is_list(held):
        return equal(held, wanted)
    for at, value in enumerate(held):
        if at >= _MOST_VALUES:
            raise EvaluationError(f"'includes' function cannot be applied to lists longer than {_MOST_VALUES} values")
        if equal(value, wanted):
            return True
    return False


_FUNCTIONS: Final[Library] = {"includes": (on("any any", _includes),)}
