import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kubedyno.clusterloader.language.located import Node, read
from kubedyno.kit.errors import UsageError
from kubedyno.kube import goyaml

pytestmark = pytest.mark.unit

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-1000, 1000) | st.text("ab:#-{}[]&*!|>'\"%@` \n", max_size=6),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text("abcYN01.~", max_size=4), below, max_size=3),
    max_leaves=12,
)


def plain(node: Node) -> object:
    """The value put together from the nodes below it."""
    if isinstance(node.value, dict):
        return {key: plain(below) for key, _, below in node.entries()}
    if isinstance(node.value, list):
        return [plain(below) for below in node.items()]
    return node.value


def test_keys_and_values_know_their_lines() -> None:
    root = read("# comment\nname: a\nsteps:\n- x: 1\n\n- z:\n    2\n", "c.yaml").root
    found = {below.path: (place.line, below.place.line) for _, place, below in root.entries()}
    (_, _, steps) = list(root.entries())[1]
    items = {item.path: item.place.line for item in steps.items()}
    ((_, _, late),) = list(steps.items())[1].entries()
    assert found == {"name": (2, 2), "steps": (3, 4)}
    assert items == {"steps[0]": 4, "steps[1]": 6}
    assert (late.path, late.place.line) == ("steps[1].z", 7)


def test_scalars_are_what_kubernetes_reads() -> None:
    root = read("a: yes\nb: 0x10\nc: '5'\nd: 1e3\ne: 010\nyes: 1\n0x10: 2\n", "c.yaml").root
    assert root.value == {"a": True, "b": 16, "c": "5", "d": 1000.0, "e": 8, "true": 1, "16": 2}
    assert {key: place.line for key, place, _ in root.entries()} == {
        "a": 1,
        "b": 2,
        "c": 3,
        "d": 4,
        "e": 5,
        "true": 6,
        "16": 7,
    }


def test_what_is_merged_keeps_its_line() -> None:
    root = read("base: &b\n  x: 1\n  z: 2\nuse:\n  <<: *b\n  z: 3\n", "c.yaml").root
    use = next(below for key, _, below in root.entries() if key == "use")
    assert use.value == {"x": 1, "z": 3}
    assert {key: place.line for key, place, _ in use.entries()} == {"x": 2, "z": 6}


@given(JSON)
def test_nodes_are_the_value_that_is_read(value: object) -> None:
    text = yaml.safe_dump(value, default_flow_style=False)
    try:
        expected, _ = goyaml.read(text.encode())
    except ValueError:
        with pytest.raises(UsageError):
            read(text, "c.yaml")
        return
    lines = text.count("\n") + 1
    root = read(text, "c.yaml").root
    assert plain(root) == expected == root.value
    assert 1 <= root.place.line <= lines


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: a\nsteps: [\n", "config.yaml, line 3: this is no YAML: did not find expected node content"),
        ("name: a: b\n", "config.yaml, line 1: this is no YAML: mapping values are not allowed in this context"),
        ("name: a\n\tsteps: 1\n", "config.yaml, line 2: this is no YAML: "),
        ("name: a\nb: \x07\n", "config.yaml, line 2: this is no YAML: "),
        ("name: a\nb: *c\n", "config.yaml, line 2: there is no anchor &c before *c"),
        ("a: &a [*a]\n", "config.yaml, line 1: there is no anchor &a before *a"),
        ("a: 1\nb: .inf\n", "config.yaml, line 2: .inf is no number that JSON knows; put a text in quotes"),
        ("a: 1\n? [b]\n: 2\n", "config.yaml, line 2: a key is a word, no list, mapping or alias"),
        ("x:\n  ~: 2\n", "config.yaml, line 2: '~' cannot be a key: "),
        ("[" * 300, "config.yaml, line 1: more than 200 levels of lists and mappings"),
    ],
)
def test_what_is_no_yaml_is_refused_with_its_line(text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        read(text, "config.yaml")
    assert str(caught.value).startswith(message)
