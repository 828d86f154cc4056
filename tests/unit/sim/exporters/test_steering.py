"""How the annotation of a node steers its exporter."""

import pytest

from kubedyno.kit.errors import ExitCode, UsageError
from kubedyno.sim import marks
from kubedyno.sim.exporters import steering
from kubedyno.sim.exporters.distorting import MissingFingerprint, MoreAvailable
from kubedyno.sim.exporters.steering import USUAL, Steering

pytestmark = pytest.mark.unit


def test_a_node_without_the_annotation_has_an_exporter_that_does_as_usual() -> None:
    assert steering.of({"metadata": {"name": "n"}}) is USUAL
    assert not USUAL


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{}", USUAL),
        ('{"frozen":true}', Steering(frozen=True)),
        ('{"crashed":true}', Steering(crashed=True)),
        ('{"crashLoopSeconds":10.5}', Steering(crash_loop_s=10.5)),
        ('{"refusedWith":503}', Steering(refused_with=503)),
        (
            (
                '{"frozen":true,"distortions":[{"kind":"more-available","resource":"cpu","by":"2","zone":1},'
                '{"kind":"missing-fingerprint"}]}'
            ),
            Steering(frozen=True, distortions=(MoreAvailable(resource="cpu", by="2", zone=1), MissingFingerprint())),
        ),
    ],
)
def test_the_annotation_is_read_and_written(text: str, expected: Steering) -> None:
    assert steering.read(text) == expected
    assert steering.of({"metadata": {"name": "n", "annotations": {marks.EXPORTER: text}}}) == expected
    assert steering.written(expected) == (None if expected == USUAL else text)
    assert bool(expected) is (expected != USUAL)


def test_the_annotation_is_taken_away_where_nothing_is_unusual() -> None:
    assert steering.annotated(USUAL) == {"metadata": {"annotations": {"kubedyno/exporter": None}}}
    patch = steering.annotated(Steering(frozen=True))
    assert patch == {"metadata": {"annotations": {"kubedyno/exporter": '{"frozen":true}'}}}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{", "Input data was truncated"),
        ("[]", "Expected `object`, got `array`"),
        ('{"frosen": true}', "there is no field 'frosen': did you mean 'frozen'?"),
        ('{"frozen": "yes"}', "Expected `bool`, got `str` - at `$.frozen`"),
        ('{"crashLoopSeconds": 0}', "crashLoopSeconds 0 must be 0.1 to 1e+06"),
        ('{"refusedWith": "503"}', "Expected `int | null`, got `str` - at `$.refusedWith`"),
        ('{"refusedWith": 404}', "refusedWith 404 must be 409, 429 or 500 to 599"),
        ('{"refusedWith": 600}', "refusedWith 600 must be 409, 429 or 500 to 599"),
        ('{"distortions": {}}', "Expected `array`, got `object`"),
        (
            '{"distortions": [{"kind": "more-avialable"}]}',
            "distortions[0]: there is no distortion 'more-avialable': did you mean 'more-available'?",
        ),
        ('{"distortions": [{"kind": 3}]}', "distortions[0]: Expected `str`, got `int`"),
        (
            '{"distortions": [{"kind": "negative-ids"}, {}]}',
            "distortions[1]: the field 'kind' is missing: write one of more-available, less-available, swapped-zones,",
        ),
        (
            '{"distortions": [{"kind": "wrong-policy"}]}',
            "Object missing required field `policy` - at `$.distortions[0]`",
        ),
        (
            '{"distortions": [{"kind": "wrong-scope", "scope": "pod", "zone": 1}]}',
            "Object contains unknown field `zone` - at `$.distortions[0]`",
        ),
        ('{"distortions": [{"kind": "sparse-ids", "step": 0}]}', "distortion sparse-ids: step 0 must be 2 to 1000"),
        (
            '{"distortions": [{"kind": "swapped-zones", "zones": [0]}]}',
            "Expected `array` of length 2 - at `$.distortions[0].zones`",
        ),
    ],
)
def test_what_cannot_be_read_is_told_with_the_annotation_and_the_place(text: str, sentence: str) -> None:
    with pytest.raises(UsageError) as caught:
        steering.read(text)
    assert str(caught.value).startswith(f"annotation kubedyno/exporter: {sentence}")
    assert caught.value.exit_code is ExitCode.USAGE
