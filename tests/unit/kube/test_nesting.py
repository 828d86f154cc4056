import json

import hypothesis
import pytest
from hypothesis import strategies as st

from kubedyno.kube.nesting import MAX_DEPTH, too_deep

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("text", "opener"),
    [
        (b"", ""),
        (b"[" * MAX_DEPTH + b"]" * MAX_DEPTH, ""),
        (b"[" * (MAX_DEPTH + 1), "["),
        (b'{"a":' * (MAX_DEPTH + 1), "{"),
        (b"[]" * 1000, ""),
        (b'"' + b"[" * 1000 + b'"', ""),
        (b'"\\"' + b"[" * 1000 + b'"', ""),
        (b'"\\\\"' + b"[" * 1000, "["),
        (b'"' + b"[" * 1000, "["),
        (b"]" * 1000 + b"[" * 1000, ""),
    ],
    ids=lambda value: str(value)[:20],
)
def test_the_character_that_is_too_deep_is_found(text: bytes, opener: str) -> None:
    assert too_deep(text) == opener


@hypothesis.given(
    st.recursive(st.text(), lambda below: st.lists(below) | st.dictionaries(st.text(), below)), st.integers(0, 300)
)
def test_texts_in_a_value_are_not_counted(value: object, around: int) -> None:
    text = b"[" * around + json.dumps(value).encode() + b"]" * around
    inner = json.dumps(value)

    def depth(part: object) -> int:
        if isinstance(part, dict):
            return 1 + max(map(depth, part.values()), default=0)
        return 1 + max(map(depth, part), default=0) if isinstance(part, list) else 0

    assert bool(too_deep(text)) == (around + depth(json.loads(inner)) > MAX_DEPTH)
