"""What Go says of texts that are no base64; all as the real server told them."""

import pytest

from kubedyno.kube.gobytes import bytes_problem

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("text", ["", "YWJj", "ab==", "abc=", "ab\ncd", "ab\n=\n=\n", "ab\r\n==", "YR==", "\n"])
def test_base64_is_read_line_ends_included(text: str) -> None:
    assert bytes_problem(text) == ""


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("!", 0),
        ("a", 0),
        ("abcda", 4),
        ("abcde!", 5),
        ("a===", 1),
        ("=", 0),
        ("ab=", 3),
        ("ab=c", 2),
        ("abc=x", 4),
        ("ab==\nz", 5),
        ("-_aa", 0),
        ("ab\nc!", 4),
    ],
)
def test_what_is_none_is_told_by_its_first_wrong_byte(text: str, at: int) -> None:
    assert bytes_problem(text) == f"illegal base64 data at input byte {at}"
