import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubedyno.model.settings import Evidence, Setting, canonical

pytestmark = pytest.mark.unit


def setting(wanted: str | None, value: str) -> Setting:
    return Setting(component="c", field="f", wanted=wanted, value=value, evidence=Evidence.ARGV, source="s")


@pytest.mark.parametrize(
    ("wanted", "value"),
    [
        (None, "anything"),
        ("5000", "5000.0"),
        ("5e3", "5000"),
        ("True", "true"),
        (" x ", "x"),
        ("60s", "1m0s"),
        ("500ms", "0.5s"),
        ("1m0.3s", "60300ms"),
        ("Node,RBAC", "Node,RBAC"),
        ("", ""),
    ],
)
def test_the_same_value_written_otherwise_is_no_contradiction(wanted: str | None, value: str) -> None:
    assert not setting(wanted, value).contradicted


@pytest.mark.parametrize(
    ("wanted", "value"),
    [
        ("20", "50"),
        ("true", "false"),
        ("60", "1m"),
        ("Node,RBAC", "RBAC,Node"),
        ("abc", "ABC"),
        ("0", ""),
        ("1s", "1m"),
    ],
)
def test_another_value_is_one(wanted: str, value: str) -> None:
    assert setting(wanted, value).contradicted


@given(st.text())
def test_every_text_equals_itself(text: str) -> None:
    assert not setting(text, text).contradicted
    assert canonical(canonical(text)) == canonical(text)
