from typing import Annotated, Any

import pytest

from kubedyno.kit.errors import UsageError
from kubedyno.lab.scenario import Parameter, Range, Scenario, parse_parameters, scenario
from kubedyno.scenarios import SCENARIOS

pytestmark = pytest.mark.unit


@pytest.fixture
def example() -> Scenario:
    @scenario("group/example", tags=("a", "b"), needs=("gangs",), settings={"kai": {"binder.qps": "7"}})
    async def example(
        lab: object,
        *,
        nodes: Annotated[int, Range(1, 100)] = 4,
        rate: Annotated[float, Range(0.5)] = 1.5,
        gangs: bool = True,
        queue: str = "main",
    ) -> None:
        """First line,
        and the rest of the sentence.

        More of it.

        Parameters:
            nodes: how many nodes
            rate: how many a second,
                in all

        And an end.
        """

    return example


def test_the_signature_makes_the_parameters(example: Scenario) -> None:
    assert example.name == "group/example"
    assert example.tags == ("a", "b")
    assert example.needs == ("gangs",)
    assert example.settings == {"kai": {"binder.qps": "7"}}
    assert example.description == "First line, and the rest of the sentence."
    assert example.parameters == (
        Parameter(name="nodes", type="int", default=4, doc="how many nodes", least=1, most=100),
        Parameter(name="rate", type="float", default=1.5, doc="how many a second, in all", least=0.5),
        Parameter(name="gangs", type="bool", default=True),
        Parameter(name="queue", type="str", default="main"),
    )


def test_without_any_given_the_defaults_hold(example: Scenario) -> None:
    assert example.with_defaults({}) == {"nodes": 4, "rate": 1.5, "gangs": True, "queue": "main"}


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("nodes", "100", 100),
        ("rate", "2", 2.0),
        ("rate", "0.75", 0.75),
        ("gangs", "false", False),
        ("gangs", "True", True),
        ("gangs", "0", False),
        ("queue", "17", "17"),
        ("queue", "", ""),
    ],
)
def test_texts_become_their_types(example: Scenario, name: str, text: str, value: Any) -> None:
    chosen = example.with_defaults({name: text})[name]
    assert chosen == value
    assert type(chosen) is type(value)


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("nodes", "many", "-p nodes=many: scenario group/example takes int there, for example nodes=4"),
        ("nodes", "0", "-p nodes=0: scenario group/example takes 1 or more there"),
        ("nodes", "101", "-p nodes=101: scenario group/example takes 100 at most there"),
        ("rate", "0.25", "-p rate=0.25: scenario group/example takes 0.5 or more there"),
        ("nodes", "1.5", "-p nodes=1.5: scenario group/example takes int there, for example nodes=4"),
        ("rate", "", "-p rate=: scenario group/example takes float there, for example rate=1.5"),
        ("gangs", "maybe", "-p gangs=maybe: scenario group/example takes bool there, for example gangs=True"),
        ("node", "1", "-p node=...: scenario group/example has no such parameter; did you mean 'nodes'?"),
        (
            "x",
            "1",
            "-p x=...: scenario group/example has no such parameter; known are: gangs, nodes, queue, rate",
        ),
    ],
)
def test_a_wrong_parameter_is_told_with_what_to_write(example: Scenario, name: str, text: str, sentence: str) -> None:
    with pytest.raises(UsageError) as caught:
        example.with_defaults({name: text})
    assert str(caught.value) == sentence


async def test_a_scenario_is_called_as_the_function_that_it_is() -> None:
    seen: list[object] = []

    @scenario()
    async def my_own(lab: object, *, nodes: int = 4) -> None:
        """Mine."""
        seen.extend((lab, nodes))

    assert my_own.name == "my-own"
    await my_own("lab", nodes=7)
    assert seen == ["lab", 7]


def test_a_parameter_needs_a_default_and_a_type_that_can_be_written() -> None:
    async def without(lab: object, *, nodes: int) -> None:
        """No default."""

    async def strange(lab: object, *, nodes: list[int] = []) -> None:  # noqa: B006 - never called
        """A type that no text means."""

    for function in (without, strange):
        with pytest.raises(UsageError, match="parameter nodes needs a default and one of the types int, float"):
            scenario()(function)


def test_parameters_of_the_command_line() -> None:
    assert parse_parameters(("a=1", "b=x=y", "c=", "a=2")) == {"a": "2", "b": "x=y", "c": ""}


@pytest.mark.parametrize("text", ["a", "=1", ""])
def test_a_parameter_needs_a_key(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_parameters((text,))
    assert str(caught.value) == f"-p {text}: write it as key=value"


def test_every_scenario_of_the_catalogue_says_what_it_shows_and_takes_its_own_defaults() -> None:
    assert "hello" in SCENARIOS
    for name in SCENARIOS:
        one = SCENARIOS.get(name)
        assert one.name == name
        assert one.description.endswith(".")
        texts = {parameter.name: str(parameter.default) for parameter in one.parameters}
        assert one.with_defaults(texts) == one.with_defaults({})
