"""A scenario is a readable Python function; its keyword-only parameters are what `-p` sets."""

import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, get_type_hints

import msgspec

from kubedyno.kit.errors import UsageError
from kubedyno.kit.nearest import suggestion
from kubedyno.kit.registry import Registry

Function = Callable[..., Awaitable[None]]


class Parameter(msgspec.Struct, frozen=True, kw_only=True):
    """One parameter of a scenario, from its signature."""

    name: str
    type: str
    default: Any


class Scenario(msgspec.Struct, frozen=True, kw_only=True):
    """A registered scenario."""

    name: str
    function: Function
    tags: tuple[str, ...]
    description: str
    parameters: tuple[Parameter, ...]

    def with_defaults(self, given: Mapping[str, str]) -> dict[str, Any]:
        """All parameters: the given texts converted to their types, the defaults of the rest."""
        known = {parameter.name: parameter for parameter in self.parameters}
        for name in given:
            if name not in known:
                raise UsageError(
                    f"-p {name}=...: scenario {self.name} has no such parameter; {suggestion(name, known)}"
                )
        return {
            name: _converted(self.name, parameter, given[name]) if name in given else parameter.default
            for name, parameter in known.items()
        }


def scenario(registry: Registry[Scenario], name: str, *, tags: tuple[str, ...] = ()) -> Callable[[Function], Function]:
    """Register the decorated function as scenario `name`."""

    def register(function: Function) -> Function:
        hints = get_type_hints(function)
        keyword_only = [
            parameter
            for parameter in inspect.signature(function).parameters.values()
            if parameter.kind is inspect.Parameter.KEYWORD_ONLY
        ]
        registry.register(
            name,
            Scenario(
                name=name,
                function=function,
                tags=tags,
                description=(inspect.getdoc(function) or "").partition("\n")[0],
                parameters=tuple(
                    Parameter(name=parameter.name, type=hints[parameter.name].__name__, default=parameter.default)
                    for parameter in keyword_only
                ),
            ),
        )
        return function

    return register


def parse_parameters(texts: tuple[str, ...]) -> dict[str, str]:
    """`key=value`, any number of times."""
    parsed = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not (equals and key):
            raise UsageError(f"-p {text}: write it as key=value")
        parsed[key] = value
    return parsed


def _converted(scenario_name: str, parameter: Parameter, text: str) -> Any:
    types: dict[str, type] = {"int": int, "float": float, "bool": bool, "str": str}
    try:
        return msgspec.convert(text, types[parameter.type], strict=False)
    except msgspec.ValidationError:
        raise UsageError(
            f"-p {parameter.name}={text}: scenario {scenario_name} takes {parameter.type} there, "
            f"for example {parameter.name}={parameter.default}"
        ) from None
