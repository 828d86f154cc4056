import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubedyno.plane.component import Component, flags, levels, set_name

pytestmark = pytest.mark.unit


def component(name: str, *after: str) -> Component:
    return Component(name=name, program="any", after=after)


def names(ordered: list[list[Component]]) -> list[list[str]]:
    return [[one.name for one in level] for level in ordered]


def test_flags_are_written_in_the_go_manner_and_in_order() -> None:
    assert flags({"zeta": "text", "port": 80, "on": True, "off": False, "left-out": None, "empty": "", "zero": 0}) == (
        "--zeta=text",
        "--port=80",
        "--on=true",
        "--off=false",
        "--empty=",
        "--zero=0",
    )


def test_replicas_share_a_name_in_settings() -> None:
    assert set_name(component("etcd")) == "etcd"
    assert set_name(Component(name="etcd-1", program="etcd", called="etcd")) == "etcd"


def test_each_level_needs_only_those_before_it() -> None:
    components = (component("d", "b", "c"), component("b", "a"), component("a"), component("c", "a"), component("e"))
    assert names(levels(components)) == [["a", "e"], ["b", "c"], ["d"]]
    assert levels(()) == []


@pytest.mark.parametrize(
    ("components", "stuck"),
    [
        ((component("a", "b"), component("b", "a"), component("c")), "['a', 'b']"),
        ((component("a", "a"),), "['a']"),
        ((component("a", "nobody"),), "['a']"),
    ],
)
def test_who_waits_for_each_other_is_named(components: tuple[Component, ...], stuck: str) -> None:
    with pytest.raises(ValueError, match=r"^components wait for each other: ") as caught:
        levels(components)
    assert str(caught.value).endswith(stuck)


@given(st.lists(st.sets(st.integers(min_value=0, max_value=30)), max_size=12), st.randoms())
def test_everybody_comes_once_and_after_what_it_needs(edges: list[set[int]], shuffled: st.DataObject) -> None:
    components = [
        component(str(index), *(str(other) for other in others if other < index)) for index, others in enumerate(edges)
    ]
    shuffled.shuffle(components)
    placed: set[str] = set()
    for level in levels(tuple(components)):
        assert level
        assert all(placed.issuperset(one.after) for one in level)
        placed.update(one.name for one in level)
    assert placed == {one.name for one in components}
