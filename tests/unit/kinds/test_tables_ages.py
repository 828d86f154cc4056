"""Ages as the API server prints them."""

import pytest

from kubedyno.kinds.tables import ages

pytestmark = pytest.mark.unit

SECOND = 10**9
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR
YEAR = 365 * DAY


@pytest.mark.parametrize(
    ("duration_ns", "shown"),
    [
        (-2 * SECOND, "<invalid>"),
        (-2 * SECOND + 1, "0s"),
        (-1, "0s"),
        (0, "0s"),
        (SECOND - 1, "0s"),
        (119 * SECOND, "119s"),
        (2 * MINUTE, "2m"),
        (2 * MINUTE + 5 * SECOND, "2m5s"),
        (10 * MINUTE - 1, "9m59s"),
        (10 * MINUTE, "10m"),
        (3 * HOUR - 1, "179m"),
        (3 * HOUR, "3h"),
        (7 * HOUR + 59 * MINUTE, "7h59m"),
        (8 * HOUR + 59 * MINUTE, "8h"),
        (47 * HOUR, "47h"),
        (2 * DAY, "2d"),
        (2 * DAY + 5 * HOUR, "2d5h"),
        (8 * DAY - 1, "7d23h"),
        (8 * DAY + 5 * HOUR, "8d"),
        (2 * YEAR - 1, "729d"),
        (2 * YEAR, "2y"),
        (2 * YEAR + 11 * DAY, "2y11d"),
        (8 * YEAR + 11 * DAY, "8y"),
    ],
)
def test_a_duration_has_two_or_three_digits(duration_ns: int, shown: str) -> None:
    assert ages.human(duration_ns) == shown


def test_a_stamp_is_read_with_its_zone_and_fraction() -> None:
    assert ages.stamp_ns("1970-01-01T00:00:01Z") == SECOND
    assert ages.stamp_ns("1970-01-01T02:00:01.000005+02:00") == SECOND + 5000


@pytest.mark.parametrize("written", ["", "yesterday", "2026-01-02", "2026-01-02T03:04:05"])
def test_what_is_no_time_with_a_zone_is_refused(written: str) -> None:
    with pytest.raises(ValueError, match=r"Invalid isoformat string|no time with a zone"):
        ages.stamp_ns(written)


def test_the_age_of_nothing_is_unknown() -> None:
    assert ages.since(None, 0) == "<unknown>"
    assert ages.since("1970-01-01T00:00:00Z", 90 * SECOND) == "90s"
