import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubedyno.kube.gotemplate.formatting import sprint
from kubedyno.kube.gotemplate.functions import Function, Parameter
from kubedyno.kube.gotemplate.jsonvalues import with_floats, with_numbers
from kubedyno.kube.gotemplate.problems import LimitExceeded, Limits, TemplateError
from kubedyno.kube.gotemplate.template import Template

pytestmark = pytest.mark.unit

# Results of text/template of Go 1.26 for the data of the file, decoded by encoding/json.
GO = json.loads(Path(__file__).with_name("go_cases.json").read_text())


def failing() -> str:
    raise ValueError("it failed")


def shown(*values: Any) -> str:
    return sprint(values, 1000)


FUNCTIONS = {
    "Two": Function(shown, (Parameter.STRING, Parameter.INT)),
    "Flag": Function(shown, (Parameter.BOOL, Parameter.FLOAT)),
    "Any": Function(lambda first, *_: first, (Parameter.ANY,), Parameter.INT),
    "Map": Function(lambda value: len(value or {}), (Parameter.MAP,)),
    "Fail": Function(failing),
}


def rendered(text: str, data: Any = None, **options: Any) -> str:
    return Template.parsed("t", text, FUNCTIONS, **options).render(data)


@pytest.mark.parametrize("case", GO["cases"], ids=lambda case: case["template"][:60])
def test_a_template_prints_or_refuses_what_go_does(case: dict[str, str]) -> None:
    data = with_numbers(GO["data"]) if case.get("numbers") else with_floats(GO["data"])
    missing_key = case.get("missingkey", "default")
    if "error" in case:
        with pytest.raises(TemplateError) as caught:
            rendered(case["template"], data, missing_key=missing_key)
        assert str(caught.value) == case["error"]
    else:
        assert rendered(case["template"], data, missing_key=missing_key) == case["output"]


def test_whole_numbers_of_python_are_gos_int() -> None:
    assert rendered('{{printf "%T" .}} {{eq . 3}} {{range .}}{{.}}{{end}}', 3) == "int true 012"


def test_a_defined_template_can_be_rendered_by_its_name() -> None:
    template = Template.parsed("t", '{{define "row"}}<{{.}}>{{end}}all')
    assert template.render(1) == "all"
    assert template.render(1, name="row") == "<1>"
    with pytest.raises(TemplateError, match='no template "column" associated with template "t"'):
        template.render(1, name="column")


def test_functions_can_be_replaced_for_one_rendering() -> None:
    template = Template.parsed("t", "{{Now}}", {"Now": Function(lambda: "then")})
    assert template.render(None, {"Now": Function(lambda: "now")}) == "now"
    assert template.render(None) == "then"


def test_a_function_may_have_the_name_of_a_built_in_one_or_of_a_keyword() -> None:
    functions = {"len": Function(lambda _: "ours", (Parameter.ANY,)), "break": Function(lambda: "no end")}
    assert Template.parsed("t", "{{len 1}} {{break}}", functions).render(None) == "ours no end"


def test_rendering_changes_neither_the_template_nor_the_data() -> None:
    data = {"a": [1, {"b": 2}]}
    template = Template.parsed("t", "{{$x := 1}}{{range .a}}{{$x = .}}{{end}}{{$x}}")
    assert [template.render(data), template.render(data)] == ["map[b:2]", "map[b:2]"]
    assert data == {"a": [1, {"b": 2}]}


def test_complex_numbers_are_refused() -> None:
    with pytest.raises(TemplateError, match="complex numbers such as 1i cannot be used here"):
        rendered("{{1i}}")


@pytest.mark.parametrize(
    ("text", "data", "told"),
    [
        ('{{define "r"}}{{template "r" .}}{{end}}{{template "r" .}}', 1, "more than 40 levels stand in one another"),
        ('{{$x := "ab"}}{{range 100}}{{$x = print $x $x}}{{end}}', 1, "more than 1000 characters are printed"),
        ('{{range 50}}{{printf "%99d" 1}}{{end}}', 1, "more than 1000 characters are printed"),
        ('{{printf "%999999v" .}}', [1] * 1000, "more than 1000 characters are printed"),
        ("{{.}}", ["long"] * 1000, "more than 1000 characters are printed"),
        ("x" * 1001, 1, "more than 1000 characters are printed"),
        ("{{range 1000000000000}}{{end}}", 1, "more than 5000 steps are taken"),
        ("{{range 1000}}{{$x := print $}}{{end}}", ["long"] * 150, "more than 5000 steps are taken"),
    ],
)
def test_a_rendering_ends_at_its_bounds_and_says_where(text: str, data: Any, told: str) -> None:
    with pytest.raises(LimitExceeded, match=rf"^template: t.*: {told}.*; (?:print|look)"):
        rendered(text, data, limits=Limits(output=1000, steps=5000, nesting=40))


@pytest.mark.parametrize(
    "text",
    [
        "{{" + "(" * 100 + "1" + ")" * 100 + "}}",
        "{{if 1}}" * 100 + "{{end}}" * 100,
        "{{if 0}}" + "{{else if 0}}" * 100 + "{{end}}",
    ],
)
def test_a_template_that_is_nested_too_deep_is_refused(text: str) -> None:
    with pytest.raises(LimitExceeded, match="more than 60 controls or parentheses stand in one another; move"):
        rendered(text)


@pytest.mark.parametrize("text", ["{{" + "not (" * 57 + "1" + ")" * 57 + "}}", "{{if 1}}" * 57 + "x" + "{{end}}" * 57])
def test_what_is_nested_less_deep_is_rendered(text: str) -> None:
    assert rendered(text) in {"false", "x"}


def test_data_that_is_nested_too_deep_to_print_is_refused() -> None:
    data: Any = 1
    for _ in range(5000):
        data = [data]
    with pytest.raises(LimitExceeded, match="levels stand in one another"):
        rendered("{{.}}", data)


WORDS = st.sampled_from(
    [
        "{{",
        "}}",
        "{{-",
        "-}}",
        ".",
        ".a",
        "$",
        "$x",
        ":=",
        "=",
        "|",
        "(",
        ")",
        '"',
        "`",
        "'",
        "1",
        "-",
        "0x",
        "nil",
        "if",
        "else",
        "end",
        "range",
        "with",
        "define",
        "template",
        "block",
        "break",
        "/*",
        "*/",
        "print",
        "index",
        "printf",
        '"%v"',
        '"%d"',
        '"%*d"',
        '"%[1]s',
        "é",
        "\\",
        ",",
        "eq",
        '"a"',
        "{{if .}}",
        "{{end}}",
        "{{range .}}",
        " ",
        "\n",
    ]
)


@given(
    st.lists(WORDS, max_size=12).map(" ".join) | st.lists(WORDS, max_size=12).map("".join),
    st.sampled_from([None, 3, {"a": [1, "b"]}, ["x", None], "text"]),
)
@settings(max_examples=200, deadline=None)
def test_whatever_stands_there_is_rendered_or_refused(text: str, data: Any) -> None:
    try:
        assert isinstance(rendered(text, data, limits=Limits(steps=1000)), str)
    except TemplateError as error:
        assert str(error).startswith("template: t")  # noqa: PT017 - both ends are right


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("name: {{.Name}} .NotThis", {"Name"}),
        ("{{$n := print .First 5}}{{print $n .Nodes}}", {"First", "Nodes"}),
        ("{{if and .A (eq $.B 1)}}{{.C}}{{else}}{{.D}}{{end}}", {"A", "B", "C", "D"}),
        ("{{range .Items}}{{.}}{{end}}", {"Items"}),
        ('{{printf "%.Nothing" .X}}{{/* .Comment */}}{{`{{.Raw}}`}}', {"X"}),
        ("{{.A.B}}", {"A"}),
        ('{{define "part"}}{{.Y}}{{end}}{{template "part" .Z}}', {"Y", "Z"}),
    ],
)
def test_a_template_tells_which_fields_it_may_read(text: str, names: set[str]) -> None:
    assert Template.parsed("t", text).mentions == names
