"""What can be set of the reference scheduler."""

from pathlib import Path

import pytest

from kubedyno.kit.errors import UsageError
from kubedyno.lab import planning
from kubedyno.lab.spec import LabSpec, check
from kubedyno.model.settings import Evidence
from kubedyno.plane.ports import counted_ports
from kubedyno.schedulers.reference import REFERENCE, settings
from kubedyno.schedulers.reference.settings import Settings

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("written", "tuned", "expected"),
    [
        ({}, False, Settings()),
        ({}, True, Settings(consolidation_preemptees=0)),
        ({"placement": "spread"}, False, Settings(placement="spread")),
        ({"max-consolidation-preemptees": "7"}, True, Settings(consolidation_preemptees=7)),
        ({"max-consolidation-preemptees": "-1"}, False, Settings(consolidation_preemptees=-1)),
        ({"default-staleness-grace-period": "1m30s"}, False, Settings(staleness_grace_s=90.0)),
    ],
)
def test_what_is_written_is_what_is_set(written: dict[str, str], tuned: bool, expected: Settings) -> None:
    assert settings.read(written, tuned=tuned) == expected


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (
            {"placements": "spread"},
            "--set reference.placements: the reference scheduler has no such setting; did you mean 'placement'?",
        ),
        ({"placement": "spreads"}, "--set reference.placement=spreads: did you mean 'spread'?"),
        (
            {"max-consolidation-preemptees": "many"},
            "--set reference.max-consolidation-preemptees=many: write a number of pods; 0 is off, -1 without limit",
        ),
        (
            {"default-staleness-grace-period": "soon"},
            (
                "--set reference.default-staleness-grace-period=soon: 'soon' is no duration: "
                "write it like 30s, 1m30s or 250ms"
            ),
        ),
    ],
)
def test_what_cannot_be_set_is_a_usage_error(written: dict[str, str], said: str) -> None:
    with pytest.raises(UsageError) as error:
        settings.read(written)
    assert str(error.value) == said


def plan(**options: object) -> planning.LabPlan:
    spec = check(LabSpec(name="test", engine="embedded", scheduler="reference", **options))  # type: ignore[arg-type]
    return planning.plan(spec, folder=Path("unused"), draw_port=counted_ports(1))


def test_a_plan_takes_settings_and_refuses_unknown_ones() -> None:
    plan(settings={"reference": {"placement": "spread"}})
    with pytest.raises(UsageError, match="has no such setting"):
        plan(settings={"reference": {"colour": "red"}})
    with pytest.raises(UsageError, match="this lab has no component 'references'; did you mean 'reference'"):
        plan(settings={"references": {"placement": "spread"}})


async def test_what_is_set_is_told() -> None:
    site = plan(settings={"reference": {"placement": "spread"}}, profile="scale").site
    told = {one.field: one for one in await REFERENCE.read_back([], None, site)}  # type: ignore[arg-type]
    assert {field: one.value for field, one in told.items()} == {
        "placement": "spread",
        "max-consolidation-preemptees": "0",
        "default-staleness-grace-period": "60s",
    }
    assert {one.evidence for one in told.values()} == {Evidence.REPORTED}
    assert not any(one.contradicted for one in told.values())
