from pathlib import Path

import pytest

from kubedyno.kit.errors import UsageError
from kubedyno.lab import thresholds
from kubedyno.lab.scenario import Scenario
from kubedyno.measure.records import Measurement, Threshold

pytestmark = pytest.mark.unit

KNOWN = ("kai/fill", "kai/burst", "hello")


async def _nothing(_: object) -> None:
    """A scenario that does nothing."""


def scenario(name: str) -> Scenario:
    return Scenario(name=name, function=_nothing)


def measurement(name: str, *samples: float) -> Measurement:
    value = sorted(samples)[len(samples) // 2]
    return Measurement(name=name, unit="s", value=value, lower=value, upper=value, samples=samples)


def read(tmp_path: Path, text: str) -> dict[str, tuple[Threshold, ...]]:
    path = tmp_path / "limits.yaml"
    path.write_text(text)
    return thresholds.read(path, KNOWN)


def test_a_number_is_what_a_value_is_at_most(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        "kai/fill:\n  time to fill: 120\n'kai/*':\n  latency: {at_most: 30, at_least: 0.5, percent: 99}\n",
    )
    source = str(tmp_path / "limits.yaml")
    fill = Threshold(measurement="time to fill", at_most=120, source=source)
    latency = Threshold(measurement="latency", at_most=30, at_least=0.5, percent=99, source=source)
    assert thresholds.of(scenario("kai/fill"), found) == (fill, latency)
    assert thresholds.of(scenario("kai/burst"), found) == (latency,)
    assert thresholds.of(scenario("hello"), found) == ()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("kai/fil: {a: 1}", "there is no scenario 'kai/fil': did you mean 'kai/fill'?"),
        ("'zzz*': {a: 1}", "there is no scenario 'zzz*': known are: hello, kai/burst, kai/fill"),
        ("- kai/fill", "write scenarios with their measurements, like `kai/fill: {time to fill: 120}`"),
        ("", "write scenarios with their measurements, like `kai/fill: {time to fill: 120}`"),
        ("kai/fill: 3", "kai/fill: write measurements with their bounds, like `time to fill: 120`"),
        ("kai/fill: {a: {percent: 99}}", "kai/fill: a: says no bound; write a number, or at_most or at_least"),
        (
            "kai/fill: {a: {at_most: 1, percent: 101}}",
            "kai/fill: a: percent 101 is none; write 0 to 100, like 99",
        ),
        (
            "kai/fill: {a: soon}",
            "kai/fill: a: Expected `object`, got `str`; write a number, or at_most, at_least and percent",
        ),
        (
            "kai/fill: {a: {at_mots: 1}}",
            "kai/fill: a: Object contains unknown field `at_mots`; write a number, or at_most, at_least and percent",
        ),
    ],
)
def test_what_is_wrong_with_a_file_is_told(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(UsageError) as caught:
        read(tmp_path, text)
    assert str(caught.value) == f"--thresholds {tmp_path / 'limits.yaml'}: {sentence}"


def test_a_file_that_is_no_yaml_or_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"limits\.yaml: while parsing a flow node"):
        read(tmp_path, "kai/fill: {")
    with pytest.raises(UsageError, match=r"none\.yaml: No such file or directory"):
        thresholds.read(tmp_path / "none.yaml", KNOWN)


@pytest.mark.parametrize(
    ("threshold", "passed", "name", "detail"),
    [
        (Threshold(measurement="m", at_most=2), True, "m is at most 2", "it was 2 s"),
        (Threshold(measurement="m", at_most=1.5), False, "m is at most 1.5", "it was 2 s"),
        (Threshold(measurement="m", at_least=2, at_most=3), True, "m is at most 3 and at least 2", "it was 2 s"),
        (Threshold(measurement="m", at_least=2.5), False, "m is at least 2.5", "it was 2 s"),
        (Threshold(measurement="m", at_most=5, percent=99), False, "p99 of m is at most 5", "it was 8.86 s"),
        (Threshold(measurement="m", at_most=5, percent=0), True, "p0 of m is at most 5", "it was 1 s"),
        (
            Threshold(measurement="n", at_most=5),
            False,
            "n is at most 5",
            "the trial has no measurement of that name: known are: m",
        ),
    ],
)
def test_a_threshold_is_judged_like_a_check(threshold: Threshold, passed: bool, name: str, detail: str) -> None:
    (check,) = thresholds.judge([threshold], [measurement("m", 1.0, 2.0, 9.0)])
    assert (check.passed, check.name, check.detail) == (passed, name, detail)
