import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubedyno.kit.errors import UsageError
from kubedyno.kit.units import format_bytes, format_duration, parse_duration_s

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30s", 30),
        ("1m30s", 90),
        ("1h30m", 5400),
        ("250ms", 0.25),
        ("1.5h", 5400),
        (".5s", 0.5),
        ("2us", 2e-6),
        ("2µs", 2e-6),
        ("3ns", 3e-9),
        ("-1m", -60),
        ("0", 0),
        ("12", 12),
        ("1e3", 1000),
        ("-2.5", -2.5),
    ],
)
def test_durations_are_read_as_go_writes_them(text: str, seconds: float) -> None:
    assert parse_duration_s(text) == pytest.approx(seconds)


@given(
    st.integers(min_value=0, max_value=99),
    st.integers(min_value=0, max_value=59),
    st.integers(min_value=0, max_value=59),
    st.integers(min_value=0, max_value=999),
)
def test_parts_of_a_duration_add_up(hours: int, minutes: int, seconds: int, milliseconds: int) -> None:
    text = f"{hours}h{minutes}m{seconds}s{milliseconds}ms"
    assert parse_duration_s(text) == pytest.approx(hours * 3600 + minutes * 60 + seconds + milliseconds / 1000)
    assert parse_duration_s(f"-{text}") == -parse_duration_s(text)


@pytest.mark.parametrize("text", ["", "-", "s", "1 h", "1x", "h1", "1h 30m", "--1s", "1s1", "nan", "inf", "-infinity"])
def test_what_is_no_duration_is_refused_with_examples(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_duration_s(text)
    assert str(caught.value) == f"{text!r} is no duration: write it like 30s, 1m30s or 250ms"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 ms"),
        (0.34, "340 ms"),
        (0.9994, "999 ms"),
        (0.9996, "1.0 s"),
        (12.34, "12.3 s"),
        (59.94, "59.9 s"),
        (59.96, "1 min 00 s"),
        (60, "1 min 00 s"),
        (245, "4 min 05 s"),
        (3599.4, "59 min 59 s"),
        (3599.6, "1 h 00 min"),
        (7380, "2 h 03 min"),
    ],
)
def test_durations_for_people(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (1.5 * 1024**2, "1.5 MiB"),
        (3 * 1024**3, "3.0 GiB"),
        (5 * 1024**4, "5.0 TiB"),
        (5000 * 1024**4, "5000.0 TiB"),
    ],
)
def test_sizes_for_people(size: float, text: str) -> None:
    assert format_bytes(size) == text
