"""Formats of texts; what is right and wrong was asked of a real API server."""

import pytest

from kubedyno.kinds.custom import formats

pytestmark = pytest.mark.unit

RIGHT = {
    "date": ["2026-02-28"],
    "date-time": ["2026-01-02T03:04:05Z", "2026-01-02t03:04:05.123+01:00"],
    "duration": ["5m3s", "5 minutes", "-1.5h", "3 weeks"],
    "ipv4": ["10.0.0.1", "010.0.0.1"],
    "ipv6": ["::1", "fe80::1"],
    "cidr": ["10.0.0.0/8", "::/0"],
    "uuid": ["123e4567-e89b-12d3-a456-426614174000", "123E4567E89B12D3A456426614174000"],
    "uri": ["https://example.com/a?b=c", "/path"],
    "hostname": ["example.com", "a", "1a.example"],
    "email": ["a@example.com", "A <a@example.com>"],
    "byte": ["aGVsbG8="],
    "mac": ["00:00:5e:00:53:01", "0000.5e00.5301"],
    "isbn": ["0321751043", "978-0321751041"],
    "hexcolor": ["#FFFFFF", "abc"],
    "rgbcolor": ["rgb(255, 0, 1)"],
    "ssn": ["111-11-1111"],
    "creditcard": ["4111-1111-1111-1111"],
    "password": ["anything"],
    "k8s-short-name": ["short-1"],
    "k8s-long-name": ["long.name-1"],
}
WRONG = {
    "date": ["2026-02-30", "26-02-28", "20260228"],
    "date-time": ["2026-01-02 03:04:05", "2026-01-02T24:04:05Z", "2026-01-02T03:04:05"],
    "duration": ["5", "soon", ""],
    "ipv4": ["10.0.0.256", "::1", "10.0.0"],
    "ipv6": ["10.0.0.1", "x::1"],
    "cidr": ["10.0.0.0/33", "10.0.0.0"],
    "uuid": ["123"],
    "uri": ["example", "http://a b"],
    "hostname": ["-bad-", "a_b"],
    "email": ["nobody"],
    "byte": ["?", ""],
    "mac": ["00:00"],
    "isbn": ["0321751044"],
    "rgbcolor": ["rgb(256,0,0)"],
    "creditcard": ["4111-1111-1111-1112"],
    "k8s-short-name": ["Not-Short", "a.b"],
}


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in RIGHT.items() for text in texts])
def test_a_text_of_the_format_is_allowed(name: str, text: str) -> None:
    assert formats.allows(name, text)


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in WRONG.items() for text in texts])
def test_another_text_is_not(name: str, text: str) -> None:
    assert not formats.allows(name, text)


@pytest.mark.parametrize(
    ("name", "types", "known"),
    [
        ("int32", ["integer"], True),
        ("int8", ["integer"], False),
        ("date", ["integer"], False),
        ("double", ["number"], True),
        ("date-time", ["string"], True),
        ("date", [], True),
        ("date", ["integer", "string"], True),
        ("odd", ["string"], False),
        ("date", ["array"], False),
    ],
)
def test_formats_are_known_for_some_types(name: str, types: list[str], known: bool) -> None:
    assert formats.known(name, types) == (name if known else "")
