from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubedyno.clusterloader.language.values import Overrides, environment_value, template_values
from kubedyno.kit.errors import ExitCode, UsageError

pytestmark = pytest.mark.unit


def values(*texts: str, **environment: str) -> dict[str, Any]:
    overrides = [Overrides(f"o{number}.yaml", text) for number, text in enumerate(texts, 1)]
    return template_values(overrides, environment, nodes=5, image_registry="images.example")


def refused(*texts: str, **environment: str) -> str:
    with pytest.raises(UsageError) as caught:
        values(*texts, **environment)
    assert caught.value.exit_code is ExitCode.USAGE
    return str(caught.value)


def test_the_cluster_is_always_told() -> None:
    assert values() == {"Nodes": 5, "ImageRegistry": "images.example"}
    assert type(values()["Nodes"]) is int


def test_of_several_files_the_later_wins_and_the_cluster_over_them() -> None:
    found = values("A: 1\nB: one\nNodes: 9\n", "# nothing\n", "B: [true, {c: 2}]\nD: null\n")
    assert found == {"A": 1.0, "B": [True, {"c": 2.0}], "D": None, "Nodes": 5, "ImageRegistry": "images.example"}
    assert type(found["A"]) is float
    assert type(found["B"][1]["c"]) is float


def test_of_the_environment_only_names_with_the_prefix_count() -> None:
    found = values("CL2_A: 1", CL2_B="7", PODS_PER_NODE="3", cl2_c="4")
    assert found == {"CL2_A": 1.0, "CL2_B": 7, "Nodes": 5, "ImageRegistry": "images.example"}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5", 5),
        ("-5", -5),
        ("+05", 5),
        ("9223372036854775807", 2**63 - 1),
        ("9223372036854775808", 2.0**63),
        ("0" * 5000, 0.0),
        ("1e3", 1000.0),
        ("1_000", 1000.0),
        ("0.5", 0.5),
        ("inf", float("inf")),
        ("true", True),
        ("T", True),
        ("False", False),
        ("f", False),
        ("tRUE", "tRUE"),
        ("yes", "yes"),
        ("", ""),
        (" 5", " 5"),
        ("5m", "5m"),
        ("a=b", "a=b"),
    ],
)
def test_a_variable_is_the_first_that_go_can_read(text: str, value: Any) -> None:
    found = environment_value(text)
    assert found == value
    assert type(found) is type(value)


@given(st.integers(-(2**53), 2**53))
def test_equal_numbers_of_a_file_and_the_environment_agree(number: int) -> None:
    assert values(f"CL2_A: {number}", CL2_A=str(number))["CL2_A"] == number


@pytest.mark.parametrize(("text", "variable"), [("true", "True"), ("abc", "abc"), ("0.5", "5e-1"), ("''", "")])
def test_other_equal_values_agree_too(text: str, variable: str) -> None:
    assert values(f"CL2_A: {text}", CL2_A=variable) == values(f"CL2_A: {text}")


@pytest.mark.parametrize(
    ("text", "variable", "both"),
    [
        ("1000000", "2000000", ("1000000", "2000000")),
        ("true", "1", ("true", "1")),
        ("1", "true", ("1", "true")),
        ("'5'", "5", ('"5"', "5")),
        ("null", "x", ("null", '"x"')),
        ("[1]", "1", ("[1]", "1")),
    ],
)
def test_unequal_values_of_a_file_and_the_environment_are_a_conflict(
    text: str, variable: str, both: tuple[str, str]
) -> None:
    assert refused("CL2_A: x\n", f"B: {{CL2_A: 1}}\n\nCL2_A: {text}\nC: 1\n", CL2_A=variable) == (
        f"merge conflict for CL2_A: it is {both[0]} in o2.yaml, line 3, and {both[1]} in the environment; "
        "remove one of them, or make them equal"
    )


def test_a_conflict_in_a_merged_mapping_is_told_at_the_begin() -> None:
    assert refused("\n<<: {CL2_A: 1}\n", CL2_A="2") == (
        "merge conflict for CL2_A: it is 1 in o1.yaml, line 2, and 2 in the environment; "
        "remove one of them, or make them equal"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# a list\n- a\n", "o1.yaml, line 2: overrides are a mapping; write one `name: value` a line"),
        ("only words", "o1.yaml, line 1: overrides are a mapping; write one `name: value` a line"),
        (
            "A: 1\nB: {c: 2\nD: 3\n",
            "o1.yaml, line 3: did not find expected ',' or '}'; overrides are YAML, one `name: value` a line",
        ),
        (
            "A: 1\nB: a\x07\n",
            "o1.yaml, line 2: control characters are not allowed; overrides are YAML, one `name: value` a line",
        ),
        ("A: *b\n", "o1.yaml, line 1: unknown anchor 'b' referenced; overrides are YAML, one `name: value` a line"),
    ],
)
def test_a_file_that_is_no_mapping_is_refused_at_its_line(text: str, message: str) -> None:
    assert refused(text) == message
