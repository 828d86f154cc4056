import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubedyno.store import ordering
from kubedyno.store.ordering import SortedKeys

pytestmark = pytest.mark.unit

keys = st.text("ab/-", max_size=5)


@given(steps=st.lists(keys, max_size=60), start=keys, stop=st.one_of(st.none(), keys), block=st.integers(1, 4))
def test_keys_are_a_sorted_set(steps: list[str], start: str, stop: str | None, block: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ordering, "_BLOCK_KEYS", block)
        ordered, model = SortedKeys(), set[str]()
        for key in steps:
            (ordered.remove if key in model else ordered.add)(key)
            model ^= {key}
            assert list(ordered) == sorted(model)
            assert len(ordered) == len(model)
            expected = [entry for entry in sorted(model) if entry >= start and (stop is None or entry < stop)]
            assert list(ordered.walk(start, stop)) == expected
            assert ordered.count(start, stop) == len(expected)


def test_thousands_of_keys_stay_in_order() -> None:
    ordered = SortedKeys()
    numbers = [f"{index * 7919 % 5000:04}" for index in range(5000)]
    for number in numbers:
        ordered.add(number)
    assert list(ordered) == sorted(numbers)
    assert ordered.count("1000", "2000") == 1000
    for number in numbers[:4990]:
        ordered.remove(number)
    assert list(ordered) == sorted(numbers[4990:])
