import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubedyno.kit.errors import UsageError
from kubedyno.kube.selectors import (
    FieldSelector,
    FieldTerm,
    LabelSelector,
    Operator,
    Requirement,
    label_key_problem,
    label_value_problem,
)

pytestmark = pytest.mark.unit

LABELS = {"app": "web", "gpus": "8", "empty": "", "example.com/tier": "b"}
OBJECT = {"metadata": {"name": "a,b"}, "status": {"phase": "Running"}}

# (text, canonical form, matches LABELS) as computed by k8s.io/apimachinery v0.36.3.
GO_LABEL_SELECTORS = [
    ("", "", True),
    ("app", "app", True),
    ("!app", "!app", False),
    ("app=web", "app=web", True),
    ("app==web", "app==web", True),
    ("app!=web", "app!=web", False),
    ("app=", "app=", False),
    ("empty=", "empty=", True),
    ("empty!=", "empty!=", False),
    ("app in (web)", "app in (web)", True),
    ("app in (web,api)", "app in (api,web)", True),
    ("app in (web, api, web)", "app in (api,web)", True),
    ("app notin (web)", "app notin (web)", False),
    ("app notin (api,)", "app notin (,api)", True),
    ("app in (,web)", "app in (,web)", True),
    ("app in ()", "app in ()", False),
    ("empty in ()", "empty in ()", True),
    ("missing notin ()", "missing notin ()", True),
    ("app in (a,,b)", "app in (,a,b)", False),
    ("x in (z,y,x)", "x in (x,y,z)", False),
    ("gpus>4", "gpus>4", True),
    ("gpus<4", "gpus<4", False),
    ("gpus>8", "gpus>8", False),
    ("gpus<9", "gpus<9", True),
    ("app>1", "app>1", False),
    ("z=1,a=2,m!=3", "a=2,m!=3,z=1", False),
    ("app = web , gpus", "app=web,gpus", True),
    ("  app  ", "app", True),
    ("!missing,app", "app,!missing", True),
    ("example.com/tier in (a,b),app=web", "app=web,example.com/tier in (a,b)", True),
    ("in in (in)", "in in (in)", False),
    ("notin=in", "notin=in", False),
    ("in", "in", False),
    ("a=b,a=c", "a=b,a=c", False),
    ("app\tin\n(web)", "app in (web)", True),
    ("a==,b", "a==,b", False),
    ("!in", "!in", True),
    ("a_b.c-d=E_f.g-h", "a_b.c-d=E_f.g-h", False),
    (
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa=bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa=bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",
        False,
    ),
    ("a>9223372036854775807", "a>9223372036854775807", False),
]
# Refused by k8s.io/apimachinery v0.36.3.
GO_REFUSED_LABEL_SELECTORS = [
    "!app=web",
    "app=web,",
    ",app",
    "app web",
    "app in web",
    "app in (web",
    "app in web)",
    "app==(web)",
    "app=web web",
    "a>b",
    "a>1.5",
    "a>",
    "a>-1",
    "=web",
    "a!b",
    "a===b",
    "a=!b",
    "a in (a b)",
    "a in (=)",
    "!!a",
    "!",
    "(a)",
    "-a=b",
    "a=-b",
    "example.com/=b",
    "/a=b",
    "a/b/c=d",
    "Example.com/a=b",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "a=bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",
    "a=b/c",
    "\u00e9=b",
    "a>9223372036854775808",
]
# (text, canonical form, matches OBJECT) as computed by k8s.io/apimachinery v0.36.3.
GO_FIELD_SELECTORS = [
    ("", "", True),
    ("metadata.name=x", "metadata.name=x", False),
    ("metadata.name==x", "metadata.name=x", False),
    ("metadata.name!=x", "metadata.name!=x", True),
    ("metadata.name=a\\,b", "metadata.name=a\\,b", True),
    ("status.phase=Running,spec.nodeName=", "spec.nodeName=,status.phase=Running", True),
    ("spec.nodeName!=", "spec.nodeName!=", False),
    ("status.phase!=Failed,status.phase!=Succeeded", "status.phase!=Failed,status.phase!=Succeeded", True),
    ("b=1,a=2", "a=2,b=1", False),
    (",a=,", "a=", True),
    ("a=b\\=c", "a=b\\=c", False),
    ("a=b\\\\c", "a=b\\\\c", False),
    ("a!=b", "a!=b", True),
    ("=x", "=x", False),
    ("missing=", "missing=", True),
    ("a=b!", "a=b!", False),
    ("a!b=c", "a!b=c", False),
]
# Refused by k8s.io/apimachinery v0.36.3.
GO_REFUSED_FIELD_SELECTORS = [
    "a",
    "a=b=c",
    "a=b\\c",
    "a=b\\",
    "a===b",
    "a=b\\,c=d",
    "a,b",
]

label_names = st.builds("{}{}{}".format, st.sampled_from("aZ0"), st.text("bY1-_.", max_size=6), st.sampled_from("cX2"))
label_values = st.one_of(st.just(""), label_names)
requirements = st.one_of(
    st.builds(Requirement.of, label_names, st.sampled_from([Operator.EXISTS, Operator.DOES_NOT_EXIST])),
    st.builds(
        Requirement.of,
        label_names,
        st.sampled_from([Operator.EQUALS, Operator.DOUBLE_EQUALS, Operator.NOT_EQUALS]),
        st.tuples(label_values),
    ),
    st.builds(
        Requirement.of,
        label_names,
        st.sampled_from([Operator.IN, Operator.NOT_IN]),
        st.sets(label_values, min_size=1, max_size=4).map(sorted),
    ),
    st.builds(
        Requirement.of,
        label_names,
        st.sampled_from([Operator.GREATER_THAN, Operator.LESS_THAN]),
        st.tuples(st.integers(min_value=0, max_value=2**63 - 1).map(str)),
    ),
)


@pytest.mark.parametrize(("text", "canonical", "matches"), GO_LABEL_SELECTORS)
def test_label_selectors_agree_with_apimachinery(text: str, canonical: str, matches: bool) -> None:
    selector = LabelSelector.parse(text)
    assert str(selector) == canonical
    assert selector.matches(LABELS) is matches


@pytest.mark.parametrize("text", GO_REFUSED_LABEL_SELECTORS)
def test_label_selectors_that_apimachinery_refuses_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="label"):
        LabelSelector.parse(text)


def test_a_bad_label_selector_is_named_with_a_right_example() -> None:
    with pytest.raises(UsageError) as caught:
        LabelSelector.parse("app in web")
    assert str(caught.value) == (
        "'app in web' is no label selector: expected '('; write it like 'app=web,tier in (a,b),!legacy'"
    )


@pytest.mark.parametrize(
    ("selector", "canonical", "matches"),
    [
        ({}, "", True),
        ({"matchLabels": None, "matchExpressions": None}, "", True),
        (None, "", False),
        ({"matchLabels": {"gpus": "8", "app": "web"}}, "app=web,gpus=8", True),
        ({"matchExpressions": [{"key": "app", "operator": "In", "values": ["web", "api"]}]}, "app in (api,web)", True),
        ({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["web"]}]}, "app notin (web)", False),
        ({"matchExpressions": [{"key": "no", "operator": "NotIn", "values": ["web"]}]}, "no notin (web)", True),
        ({"matchExpressions": [{"key": "app", "operator": "Exists"}]}, "app", True),
        ({"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}, "!app", False),
        (
            {"matchLabels": {"app": "web"}, "matchExpressions": [{"key": "gpus", "operator": "Exists"}]},
            "app=web,gpus",
            True,
        ),
    ],
)
def test_selector_objects(selector: dict[str, object] | None, canonical: str, matches: bool) -> None:
    parsed = LabelSelector.from_object(selector)
    assert str(parsed) == canonical
    assert parsed.matches(LABELS) is matches


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        ({"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["1"]}]}, "'Gt' is no operator"),
        ({"matchExpressions": [{"key": "a", "operator": "In"}]}, "needs values"),
        ({"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["x"]}]}, "takes no values"),
        ({"matchExpressions": [{"operator": "Exists"}]}, "no label key"),
        ({"matchLabels": {"a b": "c"}}, "'a b' is no label key"),
        ({"matchLabels": {"a": "c/d"}}, "'c/d' is no label value"),
    ],
)
def test_wrong_selector_objects_are_refused(selector: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        LabelSelector.from_object(selector)


def test_an_operator_takes_one_value_only() -> None:
    with pytest.raises(UsageError, match="exactly one value"):
        Requirement.of("a", Operator.EQUALS, ("b", "c"))


@pytest.mark.parametrize("value", ["x", "9223372036854775808", "4.5", ""])
def test_labels_that_are_no_numbers_are_neither_greater_nor_less(value: str) -> None:
    assert not LabelSelector.parse("a>1").matches({"a": value})
    assert not LabelSelector.parse("a<1").matches({"a": value})


@pytest.mark.parametrize("key", ["a", "A.b_c-d", "example.com/a", "a" * 63, "x/" + "a" * 63])
def test_right_label_keys(key: str) -> None:
    assert label_key_problem(key) is None


@pytest.mark.parametrize(
    "key", ["", "/", "a/", "/a", "a/b/c", "-a", "a-", "A.com/a", "a" * 64, "a" * 254 + "/b", "a\n", "\u00e9"]
)
def test_wrong_label_keys_are_named(key: str) -> None:
    problem = label_key_problem(key)
    assert problem is not None
    assert repr(key) in problem


@pytest.mark.parametrize(
    ("value", "right"), [("", True), ("a", True), ("a" * 63, True), ("a" * 64, False), ("-", False)]
)
def test_label_values(value: str, right: bool) -> None:
    assert (label_value_problem(value) is None) is right


@given(st.lists(requirements, max_size=4))
def test_a_label_selector_parses_back(entries: list[Requirement]) -> None:
    text = ",".join(map(str, entries))
    selector = LabelSelector.parse(text)
    assert sorted(map(str, selector.requirements)) == sorted(map(str, entries))
    assert LabelSelector.parse(str(selector)) == selector


@given(requirements, st.dictionaries(label_names, label_values, max_size=3), label_values)
def test_negations_select_the_rest(entry: Requirement, labels: dict[str, str], value: str) -> None:
    opposites = {
        Operator.EQUALS: Operator.NOT_EQUALS,
        Operator.IN: Operator.NOT_IN,
        Operator.EXISTS: Operator.DOES_NOT_EXIST,
    }
    for known in (labels, labels | {entry.key: value}):
        for operator, opposite in opposites.items():
            if entry.operator is operator:
                negated = Requirement.of(entry.key, opposite, entry.values)
                assert entry.matches(known) != negated.matches(known)


@pytest.mark.parametrize(("text", "canonical", "matches"), GO_FIELD_SELECTORS)
def test_field_selectors_agree_with_apimachinery(text: str, canonical: str, matches: bool) -> None:
    selector = FieldSelector.parse(text)
    assert str(selector) == canonical
    assert selector.matches(OBJECT) is matches


@pytest.mark.parametrize("text", [*GO_REFUSED_FIELD_SELECTORS])
def test_field_selectors_that_apimachinery_refuses_are_refused(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        FieldSelector.parse(text)
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("spec.unschedulable=true", True),
        ("spec.replicas=3", True),
        ("spec.replicas!=3", False),
        ("spec.none=", True),
        ("spec=", True),
        ("spec.replicas.deeper=", True),
        ("metadata.name=", True),
        ("=,!=", True),
    ],
)
def test_fields_are_compared_as_texts(text: str, matches: bool) -> None:
    obj = {"spec": {"unschedulable": True, "replicas": 3, "none": None}, "metadata": None}
    assert FieldSelector.parse(text).matches(obj) is matches


@given(
    st.lists(
        st.builds(FieldTerm, st.from_regex(r"\A[a-z]{1,5}(\.[a-z]{1,5}){0,2}\Z"), st.text(max_size=8), st.booleans()),
        max_size=4,
    )
)
def test_a_field_selector_parses_back(terms: list[FieldTerm]) -> None:
    selector = FieldSelector.parse(",".join(map(str, terms)))
    assert sorted(map(str, selector.terms)) == sorted(map(str, terms))
    assert FieldSelector.parse(str(selector)) == selector
