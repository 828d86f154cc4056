"""A scenario is a readable Python function; its keyword-only parameters are what `-p` sets.

@scenario("group/name", tags=("fill",), needs=("quotas",))
async def name(lab: Lab, *, nodes: Annotated[int, Range(1, 50_000)] = 500) -> None:
\"\"\"What it shows, in one sentence.

Parameters:
nodes: how many nodes there are
\"\"\"
"""

import inspect
import math
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any, Final, Literal, TypeAlias, get_args, get_origin, get_type_hints

import msgspec

from kubedyno.kit.errors import UsageError
from kubedyno.kit.nearest import suggestion
from kubedyno.model.features import Feature

Function = Callable[..., Awaitable[None]]
Settings: TypeAlias = Mapping[str, Mapping[str, str]]
"""By scheduler: `{"kai": {"binder.qps": "1000"}}`."""

_TYPES: Final[Mapping[str, type]] = {"int": int, "float": float, "bool": bool, "str": str}
_PARAMETERS: Final = "Parameters:"
_DOCUMENTED: Final = re.compile(r"(\w+): +(.+)")


class Range(msgspec.Struct, frozen=True):
    """The values that a number may have, both ends included; written as `Annotated[int, Range(1, 100)]`."""

    least: float
    most: float = math.inf


class Parameter(msgspec.Struct, frozen=True, kw_only=True):
    """One parameter of a scenario, from its signature and its docstring."""

    name: str
    type: str
    default: Any
    doc: str = ""
    least: float | None = None
    most: float | None = None
    choices: tuple[str, ...] = ()
    """Of a text: what it may be; empty: anything."""

    def check(self, value: Any, scenario_name: str) -> None:
        """UsageError when the value is out of range."""
        if self.choices and value not in self.choices:
            raise UsageError(f"-p {self.name}={value}: scenario {scenario_name}: {suggestion(value, self.choices)}")
        if self.least is not None and value < self.least:
            raise UsageError(f"-p {self.name}={value}: scenario {scenario_name} takes {self.least:g} or more there")
        if self.most is not None and value > self.most:
            raise UsageError(f"-p {self.name}={value}: scenario {scenario_name} takes {self.most:g} at most there")


class Scenario(msgspec.Struct, frozen=True, kw_only=True):
    """A scenario. It can be called as the function that it is."""

    name: str
    function: Function
    tags: tuple[str, ...] = ()
    needs: tuple[Feature, ...] = ()
    """What a scheduler must be able to express; one that lacks any of it is not asked."""
    settings: Settings | Callable[[Mapping[str, Any]], Settings] = {}
    """Settings that it needs, or how they follow from its parameters. What the user sets comes on top."""
    heartbeats: str = ""
    """Duration of node leases that it needs (`8s`); empty: any. What the user says goes before."""
    namespaces: frozenset[str] = frozenset()
    """Where its pods are, if not in the one that it is given; on a lab of its own all namespaces are recorded then."""
    description: str = ""
    parameters: tuple[Parameter, ...] = ()

    async def __call__(self, lab: Any, **parameters: Any) -> None:
        """Run it on a Lab; parameters that are not given have their defaults."""
        await self.function(lab, **parameters)

    def parameter(self, name: str) -> Parameter:
        """The parameter of that name; UsageError with the nearest name."""
        known = {parameter.name: parameter for parameter in self.parameters}
        if name not in known:
            raise UsageError(f"-p {name}=...: scenario {self.name} has no such parameter; {suggestion(name, known)}")
        return known[name]

    def settings_with(self, parameters: Mapping[str, Any]) -> Settings:
        """Settings that it needs with these parameters."""
        return self.settings if isinstance(self.settings, Mapping) else self.settings(parameters)

    def settings_for(self, scheduler: str, parameters: Mapping[str, Any]) -> Mapping[str, str]:
        """The same for one scheduler, by `component.field`."""
        return self.settings_with(parameters).get(scheduler, {})

    def with_defaults(self, given: Mapping[str, str]) -> dict[str, Any]:
        """All parameters: the given texts converted to their types, the defaults of the rest."""
        for name in given:
            self.parameter(name)
        return {
            one.name: _converted(self.name, one, given[one.name]) if one.name in given else one.default
            for one in self.parameters
        }


def scenario(
    name: str | None = None,
    *,
    tags: tuple[str, ...] = (),
    needs: tuple[Feature, ...] = (),
    settings: Settings | Callable[[Mapping[str, Any]], Settings] | None = None,
    heartbeats: str = "",
) -> Callable[[Function], Scenario]:
    """Make the decorated function a scenario; without a name it has the function's."""

    def made(function: Function) -> Scenario:
        doc = inspect.getdoc(function) or ""
        return Scenario(
            name=name or function.__name__.replace("_", "-"),
            function=function,
            tags=tuple(tags),
            needs=tuple(needs),
            settings=settings or {},
            heartbeats=heartbeats,
            description=" ".join(doc.partition("\n\n")[0].split()),
            parameters=_parameters(function, _documented(doc)),
        )

    return made


def parse_parameters(texts: tuple[str, ...]) -> dict[str, str]:
    """`key=value`, any number of times."""
    parsed = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not (equals and key):
            raise UsageError(f"-p {text}: write it as key=value")
        parsed[key] = value
    return parsed


def _parameters(function: Function, docs: Mapping[str, str]) -> tuple[Parameter, ...]:
    hints = get_type_hints(function, include_extras=True)
    found = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is not inspect.Parameter.KEYWORD_ONLY:
            continue
        hint = hints[parameter.name]
        limits = None
        if get_origin(hint) is Annotated:
            hint, *extras = get_args(hint)
            limits = next((extra for extra in extras if isinstance(extra, Range)), None)
        choices: tuple[str, ...] = ()
        if get_origin(hint) is Literal:
            hint, choices = str, get_args(hint)
        if getattr(hint, "__name__", "") not in _TYPES or parameter.default is inspect.Parameter.empty:
            raise UsageError(
                f"scenario {function.__name__}: parameter {parameter.name} needs a default and one of the types "
                f"{', '.join(_TYPES)}"
            )
        found.append(
            Parameter(
                name=parameter.name,
                type=hint.__name__,
                default=parameter.default,
                doc=docs.get(parameter.name, ""),
                least=limits.least if limits is not None else None,
                most=limits.most if limits is not None and math.isfinite(limits.most) else None,
                choices=choices,
            )
        )
    return tuple(found)


def _documented(doc: str) -> dict[str, str]:
    """What the part `Parameters:` of a docstring says of each: `name: text`, which may go on in further lines."""
    _, _, part = doc.partition(f"\n{_PARAMETERS}\n")
    found: dict[str, str] = {}
    name = ""
    for line in part.splitlines():
        if not line.strip() or not line.startswith(" "):
            break
        begun = _DOCUMENTED.fullmatch(line.strip())
        if begun is not None:
            name = begun[1]
            found[name] = begun[2]
        elif name:
            found[name] += f" {line.strip()}"
    return found


def _converted(scenario_name: str, parameter: Parameter, text: str) -> Any:
    try:
        value: Any = msgspec.convert(text, _TYPES[parameter.type], strict=False)
    except msgspec.ValidationError:
        raise UsageError(
            f"-p {parameter.name}={text}: scenario {scenario_name} takes {parameter.type} there, "
            f"for example {parameter.name}={parameter.default}"
        ) from None
    parameter.check(value, scenario_name)
    return value
