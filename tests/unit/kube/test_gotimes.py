"""What Go says of texts that are no times; all as the real server told them."""

import pytest

from kubedyno.kube.gotimes import time_problem

pytestmark = pytest.mark.unit

_AS = 'as "2006-01-02T15:04:05Z07:00": cannot parse'
_AS_MICRO = 'as "2006-01-02T15:04:05.000000Z07:00": cannot parse'


@pytest.mark.parametrize(
    "text",
    [
        "2021-01-01T00:00:00Z",
        "2021-01-01T00:00:00.5Z",
        "2021-01-01T00:00:00,5Z",
        "2021-01-01T00:00:00+01:00",
        "2021-01-01T00:00:00+24:00",
        "2021-01-01T1:00:00Z",
        "2024-02-29T00:00:00Z",
        "0001-01-01T00:00:00Z",
    ],
)
def test_times_are_read(text: str) -> None:
    assert time_problem(text) == ""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("yesterday", f'parsing time "yesterday" {_AS} "yesterday" as "2006"'),
        ("", f'parsing time "" {_AS} "" as "2006"'),
        ("2021-1-1T00:00:00Z", f'parsing time "2021-1-1T00:00:00Z" {_AS} "1-1T00:00:00Z" as "01"'),
        ("2021-01-01 00:00:00Z", f'parsing time "2021-01-01 00:00:00Z" {_AS} " 00:00:00Z" as "T"'),
        ("2021-01-01T00:00:00", f'parsing time "2021-01-01T00:00:00" {_AS} "" as "Z07:00"'),
        ("2021-01-01T00:00:00Zx", 'parsing time "2021-01-01T00:00:00Zx": extra text: "x"'),
        ("2021-13-01T00:00:00Z", 'parsing time "2021-13-01T00:00:00Z": month out of range'),
        ("2021-02-30T00:00:00Z", 'parsing time "2021-02-30T00:00:00Z": day out of range'),
        ("2021-01-01T00:00:60Z", 'parsing time "2021-01-01T00:00:60Z": second out of range'),
        (
            "2021-01-01T00:00:00+25:00",
            'parsing time "2021-01-01T00:00:00+25:00": time zone offset hour out of range',
        ),
        ('a"b', f'parsing time "a\\"b" {_AS} "a\\"b" as "2006"'),
    ],
)
def test_what_is_no_time_is_told_where_it_ends_to_be_one(text: str, said: str) -> None:
    assert time_problem(text) == said


def test_times_with_microseconds_need_all_their_digits() -> None:
    assert time_problem("2021-01-01T00:00:00.123456Z", micro=True) == ""
    short = "2021-01-01T00:00:00Z"
    assert time_problem(short, micro=True) == f'parsing time "{short}" {_AS_MICRO} "Z" as ".000000"'
