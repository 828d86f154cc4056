from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubedyno.clusterloader.language.functions import functions
from kubedyno.clusterloader.language.numbers import MOST, number, parse_float, whole
from kubedyno.kit.randomness import stream
from kubedyno.kube import goyaml
from kubedyno.kube.gotemplate.problems import TemplateError
from kubedyno.kube.gotemplate.template import Template

pytestmark = pytest.mark.unit

NAMES = """
    AddFloat AddInt Ceil DefaultParam DivideFloat DivideInt IfThenElse IncludeFile IncludeEmbedFile Loop Lowercase
    MaxFloat MaxInt MinFloat MinInt Mod MultiplyFloat MultiplyInt RandData RandDataWithSeed RandInt RandIntRange Seq
    SliceOfZeros StringSplit SubtractFloat SubtractInt YamlQuote Concat
"""


def included(path: str) -> str:
    if path != "there.txt":
        raise ValueError(f"{path} is not there")
    return "what is there"


def rendered(text: str, data: dict[str, Any] | None = None, *, seed: int = 1) -> str:
    return Template.parsed("t", text, functions(stream(seed, "templates"), included)).render(data or {})


def refused(text: str, data: dict[str, Any] | None = None) -> str:
    """The sentence at the end of the error."""
    with pytest.raises(TemplateError) as caught:
        rendered(text, data)
    message = str(caught.value)
    assert message.startswith("template: t:1:")
    return message.partition(": error calling ")[2]


def test_all_functions_of_clusterloader2_are_there() -> None:
    known = set(functions(stream(1, "templates"), included))
    assert len(NAMES.split()) == 29
    assert known == {*NAMES.split(), "IncludeEmbeddedFile", "StructuralData"}


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("{{AddInt 1 2 3}}", "6"),
        ("{{AddInt}}", "0"),
        ("{{AddInt 1.6 1.6}}", "3"),
        ("{{AddFloat 1 2.5}}", "3.5"),
        ("{{AddFloat 1 2}}", "3"),
        ('{{AddInt "1e3" "0x10p0" 1}}', "1017"),
        ("{{SubtractInt 1 3.9}}", "-2"),
        ("{{SubtractFloat 1 3.5}}", "-2.5"),
        ("{{MultiplyInt 3 2.5}}", "7"),
        ("{{MultiplyFloat}}", "1"),
        ("{{MultiplyFloat 1000 1000}}", "1e+06"),
        ("{{MultiplyInt 1000 1000}}", "1000000"),
        ("{{DivideInt 7 2}}", "3"),
        ("{{DivideInt -7 2}}", "-3"),
        ("{{DivideFloat 7 2}}", "3.5"),
        ("{{Mod 7 3}} {{Mod -7 3}} {{Mod 7.9 -3}}", "1 -1 1"),
        ("{{MaxInt 1 2.9}} {{MinInt 1 2.9}}", "2 1"),
        ("{{MaxFloat 1 2.9}} {{MinFloat -1 2.9}}", "2.9 -1"),
        ("{{Ceil 2.1}} {{Ceil -2.1}} {{Ceil 3}}", "3 -2 3"),
        ('{{MinFloat (Ceil "inf") 3}}', "3"),
        ('{{MinInt 5 "inf"}}', "5"),
        ("{{AddInt .Five .Million}} {{.Five}} {{.Million}}", "1000005 5 1e+06"),
    ],
)
def test_numbers_are_computed_in_floats_and_cut_off_at_the_point(text: str, printed: str) -> None:
    assert rendered(text, {"Five": 5.0, "Million": 1e6}) == printed


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{{DivideInt 1 0}}", "DivideInt: the divisor is 0; look at what it is made of"),
        ("{{DivideFloat 1 .Zero}}", "DivideFloat: the divisor is 0; look at what it is made of"),
        ("{{Mod 1 0.5}}", "Mod: the divisor is 0; look at what it is made of"),
        ('{{AddInt 1 "many"}}', 'AddInt: "many" is no number'),
        ("{{AddInt 1 true}}", "AddInt: true is no number"),
        ('{{AddInt "nan"}}', 'AddInt: "nan" is no number'),
        ("{{AddInt .List}}", "AddInt: a list is no number"),
        ("{{AddInt .}}", "AddInt: a mapping is no number"),
        (
            "{{MultiplyInt .Missing 2}}",
            "MultiplyInt: a value is missing where a number is needed; give it one with DefaultParam",
        ),
        ("{{MaxInt}}", "MaxInt: it is called without numbers; give at least one"),
        ("{{MinFloat}}", "MinFloat: it is called without numbers; give at least one"),
        ("{{MultiplyInt 1e10 1e10}}", "MultiplyInt: 1e+20 is too large for a whole number"),
        ("{{RandInt -3}}", "RandInt: there is no number from 0 to -3; give 0 or more"),
        ("{{Loop -1}}", "Loop: -1 is no size; it must be 0 or more"),
        ("{{Loop 1000001}}", "Loop: 1000001 is too large a size; at most 1000000 are made at once"),
        ("{{Seq 1e9}}", "Seq: 1000000000 is too large a size; at most 1000000 are made at once"),
        ("{{RandData 1e7}}", "RandData: 10000000 is too large a size; at most 1000000 are made at once"),
        ('{{Concat "a" .Missing}}', "Concat: a value is missing; give it one with DefaultParam"),
        ('{{IncludeFile "gone.txt"}}', "IncludeFile: gone.txt is not there"),
    ],
)
def test_what_cannot_be_computed_stops_the_rendering_with_a_sentence(text: str, sentence: str) -> None:
    assert refused(text, {"Zero": 0.0, "List": []}) == sentence


def test_an_error_names_the_place_in_the_template() -> None:
    with pytest.raises(TemplateError) as caught:
        rendered("a: 1\nb: {{DivideInt .Nodes 0}}", {"Nodes": 3})
    assert str(caught.value) == (
        'template: t:2:5: executing "t" at <DivideInt .Nodes 0>: error calling DivideInt: '
        "the divisor is 0; look at what it is made of"
    )


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("{{DefaultParam .Missing 7}}", "7"),
        ("{{DefaultParam .Null 7}}", "7"),
        ("{{DefaultParam .No 7}} {{DefaultParam .Zero 7}} {{DefaultParam .Empty 7}}.", "false 0 ."),
        ("{{IfThenElse true 1 2}} {{IfThenElse (eq .Zero 1.0) 1 2}}", "1 2"),
        ("{{range $i := Loop 3}}{{$i}},{{end}}", "0,1,2,"),
        ('{{Loop "2"}} {{SliceOfZeros 3}} {{Seq 2.9}} {{Loop 0}}', "[0 1] [0 0 0] [0 0] []"),
        ('{{Lowercase "ABc"}}', "abc"),
        ('{{range StringSplit "a,b,,c"}}<{{.}}>{{end}}', "<a><b><><c>"),
        ('{{Concat "pod-" 3 "-" 1.5 .Zero}}', "pod-3-1.50"),
        ('{{StructuralData "a: b"}}', "a: b"),
        ('{{IncludeFile "there.txt"}}', "what is there"),
        ('{{IncludeEmbedFile "there.txt"}} {{IncludeEmbeddedFile "there.txt"}}', "what is there what is there"),
        ('{{YamlQuote "a: 1\\nb" 2}}.', '"a: 1\\nb"\n    .'),
    ],
)
def test_choices_lists_and_texts(text: str, printed: str) -> None:
    assert rendered(text, {"No": False, "Zero": 0.0, "Empty": "", "Null": None}) == printed


def test_a_condition_must_be_true_or_false() -> None:
    with pytest.raises(TemplateError) as caught:
        rendered('{{IfThenElse "yes" 1 2}}')
    assert str(caught.value) == 'template: t:1:13: executing "t" at <"yes">: expected bool; found "yes"'


@given(text=st.text(st.characters(exclude_categories=["Cs"])), indents=st.integers(0, 5))
def test_what_is_quoted_is_the_same_text_again_in_yaml(text: str, indents: int) -> None:
    shown = rendered(f"a: {{{{YamlQuote .Text {indents}}}}}\nb: 1", {"Text": text})
    assert goyaml.read(shown.encode())[0] == {"a": text, "b": 1}


@given(low=st.integers(-50, 50), high=st.integers(-50, 50), seed=st.integers())
def test_random_numbers_lie_within_their_bounds(low: int, high: int, seed: int) -> None:
    drawn = int(rendered("{{RandIntRange .Low .High}}", {"Low": low, "High": high}, seed=seed))
    assert low <= drawn <= max(low, high)
    assert 0 <= int(rendered(f"{{{{RandInt {abs(low)}}}}}", seed=seed)) <= abs(low)


def test_both_ends_can_be_drawn() -> None:
    assert {rendered("{{RandInt 2}}", seed=seed) for seed in range(40)} == {"0", "1", "2"}
    assert {rendered("{{RandIntRange 4 5}}", seed=seed) for seed in range(40)} == {"4", "5"}


def test_random_data_depends_on_the_generator_and_with_a_seed_on_the_seed_only() -> None:
    assert rendered("{{RandData 40}}", seed=1) == rendered("{{RandData 40}}", seed=1)
    assert rendered("{{RandData 40}}", seed=1) != rendered("{{RandData 40}}", seed=2)
    first = rendered('{{RandDataWithSeed 40 "a"}}', seed=1)
    assert first == rendered('{{RandDataWithSeed 40 "a"}}', seed=2) != rendered('{{RandDataWithSeed 40 "b"}}')
    assert len(first) == 40
    assert first.isascii()
    assert first.isalnum()
    assert rendered('{{RandDataWithSeed 0 "a"}}{{RandData 0}}') == ""


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_is_read_from_its_text(value: float) -> None:
    assert parse_float(repr(value)) == value
    assert number(repr(value)) == number(value) == value


@given(st.floats(-1e18, 1e18))
def test_a_whole_number_is_nearer_to_0_by_less_than_1(value: float) -> None:
    assert abs(whole(value)) <= abs(value) < abs(whole(value)) + 1


@pytest.mark.parametrize(
    "text", ["", " 1", "1 ", "1e999", "0x10", "_1", "1__0", "1_", ".", "+nan", "٣", "5m", "true", "0x.p1"]
)
def test_what_go_does_not_read_as_a_float_is_none(text: str) -> None:
    assert parse_float(text) is None


@pytest.mark.parametrize(
    ("text", "value"),
    [("1_23.50_0_0e+1_2", 1.235e14), ("-.5", -0.5), ("5.", 5.0), ("+Inf", float("inf")), ("0x1p-2", 0.25)],
)
def test_what_go_reads_as_a_float_is_one(text: str, value: float) -> None:
    assert parse_float(text) == value


def test_the_largest_list_is_made() -> None:
    assert rendered(f"{{{{len (Loop {MOST})}}}}") == "1000000"
