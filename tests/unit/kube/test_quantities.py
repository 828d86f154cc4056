from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubedyno.kit.errors import UsageError
from kubedyno.kube.quantities import Family, Quantity

pytestmark = pytest.mark.unit

# (text, canonical form, Value(), MilliValue()) as computed by k8s.io/apimachinery v0.36.3. None: int64 overflows
# there, or (-0.1n) it rounds a negative number upwards, which it does not do with others.
GO_QUANTITIES: list[tuple[str, str, int | None, int | None]] = [
    ("0", "0", 0, 0),
    ("1", "1", 1, 1000),
    ("10", "10", 10, 10000),
    ("100", "100", 100, 100000),
    ("1000", "1k", 1000, 1000000),
    ("1001", "1001", 1001, 1001000),
    ("12345", "12345", 12345, 12345000),
    ("1000000", "1M", 1000000, 1000000000),
    ("123456789", "123456789", 123456789, 123456789000),
    ("9223372036854775807", "9223372036854775807", 9223372036854775807, None),
    ("+5", "5", 5, 5000),
    ("-1", "-1", -1, -1000),
    ("-1000", "-1k", -1000, -1000000),
    ("007", "7", 7, 7000),
    ("1.", "1", 1, 1000),
    (".5", "500m", 1, 500),
    ("0.5", "500m", 1, 500),
    ("1.5", "1500m", 2, 1500),
    ("1.500", "1500m", 2, 1500),
    ("1.234", "1234m", 2, 1234),
    ("0.001", "1m", 1, 1),
    ("0.0001", "100u", 1, 1),
    ("0.1", "100m", 1, 100),
    ("2.25", "2250m", 3, 2250),
    ("100m", "100m", 1, 100),
    ("1000m", "1", 1, 1000),
    ("1500m", "1500m", 2, 1500),
    ("1m", "1m", 1, 1),
    ("1001m", "1001m", 2, 1001),
    ("999m", "999m", 1, 999),
    ("0m", "0", 0, 0),
    ("-250m", "-250m", -1, -250),
    ("2500000m", "2500", 2500, 2500000),
    ("1u", "1u", 1, 1),
    ("1000u", "1m", 1, 1),
    ("1500u", "1500u", 1, 2),
    ("999999u", "999999u", 1, 1000),
    ("1n", "1n", 1, 1),
    ("10n", "10n", 1, 1),
    ("1000n", "1u", 1, 1),
    ("999n", "999n", 1, 1),
    ("1000000000n", "1", 1, 1000),
    ("0.5n", "1n", 1, 1),
    ("1.5n", "2n", 1, 1),
    ("0.0000000001", "1n", 1, 1),
    ("0.0000000011", "2n", 1, 1),
    ("-0.0000000001", "-1n", None, None),
    ("1k", "1k", 1000, 1000000),
    ("1.5k", "1500", 1500, 1500000),
    ("1000k", "1M", 1000000, 1000000000),
    ("0.001k", "1", 1, 1000),
    ("1500k", "1500k", 1500000, 1500000000),
    ("999k", "999k", 999000, 999000000),
    ("1M", "1M", 1000000, 1000000000),
    ("1.5M", "1500k", 1500000, 1500000000),
    ("2500M", "2500M", 2500000000, 2500000000000),
    ("1G", "1G", 1000000000, 1000000000000),
    ("0.25G", "250M", 250000000, 250000000000),
    ("1T", "1T", 1000000000000, 1000000000000000),
    ("1.5T", "1500G", 1500000000000, 1500000000000000),
    ("1P", "1P", 1000000000000000, 1000000000000000000),
    ("1.001P", "1001T", 1001000000000000, 1001000000000000000),
    ("1E", "1E", 1000000000000000000, None),
    ("9E", "9E", 9000000000000000000, None),
    ("-1k", "-1k", -1000, -1000000),
    ("-1.5M", "-1500k", -1500000, -1500000000),
    ("1Ki", "1Ki", 1024, 1024000),
    ("1.5Ki", "1536", 1536, 1536000),
    ("0.5Ki", "512", 512, 512000),
    ("1024Ki", "1Mi", 1048576, 1048576000),
    ("1025Ki", "1025Ki", 1049600, 1049600000),
    ("1023Ki", "1023Ki", 1047552, 1047552000),
    ("0.0001Ki", "102400u", 1, 103),
    ("1.0001Ki", "1024102400u", 1025, 1024103),
    ("01Ki", "1Ki", 1024, 1024000),
    ("0Ki", "0", 0, 0),
    ("1Mi", "1Mi", 1048576, 1048576000),
    ("1.5Mi", "1536Ki", 1572864, 1572864000),
    ("0.3Mi", "314572800m", 314573, 314572800),
    ("1024Mi", "1Gi", 1073741824, 1073741824000),
    ("1000Mi", "1000Mi", 1048576000, 1048576000000),
    ("1Gi", "1Gi", 1073741824, 1073741824000),
    ("1.5Gi", "1536Mi", 1610612736, 1610612736000),
    ("100Gi", "100Gi", 107374182400, 107374182400000),
    ("1536Gi", "1536Gi", 1649267441664, 1649267441664000),
    ("0.1Gi", "107374182400m", 107374183, 107374182400),
    ("1Ti", "1Ti", 1099511627776, 1099511627776000),
    ("1.25Ti", "1280Gi", 1374389534720, 1374389534720000),
    ("2048Ti", "2Pi", 2251799813685248, 2251799813685248000),
    ("1Pi", "1Pi", 1125899906842624, 1125899906842624000),
    ("3Pi", "3Pi", 3377699720527872, 3377699720527872000),
    ("1Ei", "1Ei", 1152921504606846976, None),
    ("7Ei", "7Ei", 8070450532247928832, None),
    ("8Ei", "9223372036854775807", 9223372036854775807, None),
    ("100Ei", "9223372036854775807", 9223372036854775807, None),
    ("-1Ki", "-1Ki", -1024, -1024000),
    ("-2Mi", "-2Mi", -2097152, -2097152000),
    ("-1.5Ki", "-1536", -1536, -1536000),
    ("-512Ki", "-512Ki", -524288, -524288000),
    ("1e3", "1e3", 1000, 1000000),
    ("1E3", "1e3", 1000, 1000000),
    ("1e+3", "1e3", 1000, 1000000),
    ("1e-3", "1e-3", 1, 1),
    ("12e3", "12e3", 12000, 12000000),
    ("12e-3", "12e-3", 1, 12),
    ("1.5e3", "1500", 1500, 1500000),
    ("1e0", "1", 1, 1000),
    ("100e2", "10e3", 10000, 10000000),
    ("1e1", "10", 10, 10000),
    ("1e2", "100", 100, 100000),
    ("123e4", "1230e3", 1230000, 1230000000),
    ("1e9", "1e9", 1000000000, 1000000000000),
    ("1e18", "1e18", 1000000000000000000, None),
    ("1e-9", "1e-9", 1, 1),
    ("1e-12", "1e-9", 1, 1),
    ("15e-10", "2e-9", 1, 1),
    ("1.5e-10", "1e-9", 1, 1),
    ("0e3", "0", 0, 0),
    ("-2e3", "-2e3", -2000, -2000000),
    ("1024e0", "1024", 1024, 1024000),
    ("1e-1", "100e-3", 1, 100),
]

SUFFIXES = {
    "n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 1000), "": Fraction(1),
    "k": Fraction(10**3), "M": Fraction(10**6), "G": Fraction(10**9), "T": Fraction(10**12), "P": Fraction(10**15),
    "E": Fraction(10**18), "Ki": Fraction(2**10), "Mi": Fraction(2**20), "Gi": Fraction(2**30),
    "Ti": Fraction(2**40), "Pi": Fraction(2**50), "e3": Fraction(1000), "E-6": Fraction(1, 10**6),
}  # fmt: skip

quantities = st.builds(
    Quantity,
    st.integers(min_value=-(10**24), max_value=10**24),
    st.sampled_from(Family),
)


@pytest.mark.parametrize(("text", "canonical", "value", "milli"), GO_QUANTITIES)
def test_quantities_agree_with_apimachinery(text: str, canonical: str, value: int | None, milli: int | None) -> None:
    quantity = Quantity.parse(text)
    assert str(quantity) == canonical
    assert value is None or quantity.to_int() == value
    assert milli is None or quantity.milli() == milli


@pytest.mark.parametrize(
    "text",
    ["", "-", ".", "k", "1i", "1 ", " 1", "1e", "e3", "abc", "1.2.3", "1KI", "1ki", "--1", "1e3k", "1mm", "0x10",
     "1,5", "1Zi", "1e1.5", "1e999", "1e99999999999", "\u0663", "1" * 400],
)  # fmt: skip
def test_a_bad_text_is_named_with_a_right_example(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        Quantity.parse(text)
    assert repr(text) in str(caught.value)
    assert "500m" in str(caught.value)


def test_numbers_of_manifests_are_quantities() -> None:
    assert str(Quantity.parse(3)) == "3"
    assert str(Quantity.parse(0.5)) == "500m"
    assert str(Quantity.parse(-0.25)) == "-250m"
    assert Quantity.parse(1e22) == Quantity.parse("1e22")


@pytest.mark.parametrize("number", [True, float("nan"), float("inf")])
def test_what_is_no_number_is_no_quantity(number: float) -> None:
    with pytest.raises(UsageError, match="is no quantity"):
        Quantity.parse(number)


def test_equal_values_are_equal_whatever_their_suffix() -> None:
    assert Quantity.parse("1") == Quantity.parse("1000m") == Quantity.parse("1e0")
    assert len({Quantity.parse("1Ki"), Quantity.parse("1024"), Quantity.parse("1024000m")}) == 1
    assert Quantity.parse("1") != 1


def test_quantities_sort_by_value() -> None:
    texts = ["1Gi", "1G", "500m", "-1", "2", "1.5"]
    assert [str(q) for q in sorted(map(Quantity.parse, texts))] == ["-1", "500m", "1500m", "2", "1G", "1Gi"]
    assert Quantity.parse("1") <= Quantity.parse("1000m")
    assert Quantity.parse("1Ki") > Quantity.parse("1k")
    assert Quantity.parse("1Ki") >= Quantity.parse("1k")


def test_a_quantity_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        Quantity.parse("1").nanos = 2  # type: ignore[misc]


@pytest.mark.parametrize(
    ("left", "right", "total", "difference"),
    [
        ("1Gi", "512Mi", "1536Mi", "512Mi"),
        ("500m", "1.5", "2", "-1"),
        ("1Gi", "1", "1073741825", "1073741823"),
        ("0", "1Gi", "1Gi", "-1Gi"),
        ("1e3", "1", "1001", "999"),
        ("1n", "1E", "1000000000000000000000000001n", "-999999999999999999999999999n"),
    ],
)
def test_sums_are_printed_like_their_first_part_that_is_not_zero(
    left: str, right: str, total: str, difference: str
) -> None:
    assert str(Quantity.parse(left) + Quantity.parse(right)) == total
    assert str(Quantity.parse(left) - Quantity.parse(right)) == difference


def test_beyond_int64_nothing_is_lost() -> None:
    assert str(Quantity.parse("9E") * 1000) == "9000E"
    assert str(3 * Quantity.parse("7Ei")) == "21Ei"
    assert Quantity.parse("1000E").to_int() == 10**21


def test_only_nothing_is_zero() -> None:
    assert Quantity.parse("0Gi").is_zero()
    assert not Quantity.parse("0.1n").is_zero()


@given(quantities)
def test_the_canonical_form_parses_back(quantity: Quantity) -> None:
    parsed = Quantity.parse(str(quantity))
    if abs(quantity.to_int()) < 2**63:  # binary texts are capped there
        assert parsed == quantity
        assert str(parsed) == str(quantity)


@given(
    st.integers(min_value=0, max_value=2**62),
    st.text("0123456789", max_size=12),
    st.sampled_from(sorted(SUFFIXES)),
    st.sampled_from(["", "+", "-"]),
)
def test_a_text_means_its_number_rounded_up_to_nanos(whole: int, fraction: str, suffix: str, sign: str) -> None:
    exact = (whole + Fraction(int(fraction or 0), 10 ** len(fraction))) * SUFFIXES[suffix]
    if suffix.endswith("i"):
        exact = min(exact, Fraction(2**63 - 1))
    nanos = -(-(exact * 10**9) // 1)
    assert Quantity.parse(f"{sign}{whole}.{fraction}{suffix}").nanos == (-nanos if sign == "-" else nanos)


@given(quantities, quantities, st.integers(min_value=-1000, max_value=1000))
def test_arithmetic_is_exact(left: Quantity, right: Quantity, factor: int) -> None:
    assert (left + right) - right == left
    assert left - right == left + -right
    assert left * factor == factor * left
    assert (left + right) * factor == left * factor + right * factor
    assert (left < right) == (left - right < Quantity.parse(0))


@given(quantities)
def test_whole_and_milli_units_are_the_next_ones_away_from_zero(quantity: Quantity) -> None:
    for count, unit in ((quantity.to_int(), 10**9), (quantity.milli(), 10**6)):
        assert abs(count) * unit >= abs(quantity.nanos) > (abs(count) - 1) * unit
        assert count * quantity.nanos >= 0
