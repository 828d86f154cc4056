from typing import Any

import pytest

from kubedyno.kit.errors import UsageError
from kubedyno.kit.registry import Registry
from kubedyno.lab.scenario import Parameter, Scenario, parse_parameters, scenario
from kubedyno.scenarios import SCENARIOS

pytestmark = pytest.mark.unit


@pytest.fixture
def example() -> Scenario:
    registry: Registry[Scenario] = Registry("scenario")

    @scenario(registry, "group/example", tags=("a", "b"))
    async def example(
        lab: object, *, nodes: int = 4, rate: float = 1.5, gangs: bool = True, queue: str = "main"
    ) -> None:
        """First line.

        More of it.
        """

    assert example.__name__ == "example"
    return registry.get("group/example")


def test_the_signature_makes_the_parameters(example: Scenario) -> None:
    assert example.name == "group/example"
    assert example.tags == ("a", "b")
    assert example.description == "First line."
    assert example.parameters == (
        Parameter(name="nodes", type="int", default=4),
        Parameter(name="rate", type="float", default=1.5),
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
        ("rate", "0.25", 0.25),
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
