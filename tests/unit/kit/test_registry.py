import pytest

from kubedyno.kit.errors import UsageError
from kubedyno.kit.nearest import suggestion
from kubedyno.kit.registry import Registry

pytestmark = pytest.mark.unit


@pytest.fixture
def fruits() -> Registry[int]:
    registry: Registry[int] = Registry("fruit")
    for number, name in enumerate(("pear", "apple", "cherry")):
        registry.register(name, number)
    return registry


def test_things_are_found_by_name_and_listed_in_order(fruits: Registry[int]) -> None:
    assert fruits.get("apple") == 1
    assert list(fruits) == ["apple", "cherry", "pear"]
    assert "pear" in fruits
    assert "plum" not in fruits


def test_a_second_thing_of_one_name_is_refused(fruits: Registry[int]) -> None:
    with pytest.raises(ValueError, match=r"^fruit 'pear' is registered twice$"):
        fruits.register("pear", 9)
    assert fruits.get("pear") == 0


def test_a_wrong_name_brings_the_nearest(fruits: Registry[int]) -> None:
    with pytest.raises(UsageError) as caught:
        fruits.get("aple")
    assert str(caught.value) == "there is no fruit 'aple': did you mean 'apple'?"


def test_a_name_like_no_other_brings_all(fruits: Registry[int]) -> None:
    with pytest.raises(UsageError) as caught:
        fruits.get("xyz")
    assert str(caught.value) == "there is no fruit 'xyz': known are: apple, cherry, pear"


def test_of_many_names_some_are_told() -> None:
    told = suggestion("xyz", [f"node-{index:03}" for index in range(1000)])
    assert told.startswith("known are: node-000, node-001, ")
    assert told.endswith(", node-023, and 976 more")


def test_without_any_names_that_is_said() -> None:
    assert suggestion("x", []) == "none are known"
