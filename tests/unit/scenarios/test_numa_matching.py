"""The settings of the real plugin: from a scenario's parameters, and read back."""

from typing import cast

import pytest

from kubedyno.kit.errors import UsageError
from kubedyno.lab import matrix
from kubedyno.lab.lab import Lab
from kubedyno.lab.spec import LabSpec
from kubedyno.scenarios.numa import matching, wrong_node
from kubedyno.scenarios.numa.matching import Knows
from kubedyno.scenarios.numa.stale import stale

pytestmark = pytest.mark.unit

ARGS = "profiles.0.pluginConfig.1.args"
PLUGINS = LabSpec(name="r", engine="local", scheduler="plugins")


class Told:
    """A lab that has read back so much."""

    def __init__(self, component: str = "plugins", **fields: str) -> None:
        self._known = {(component, f"{ARGS}.{field}"): value for field, value in fields.items()}
        if fields.pop("silent", None) is None:
            self._known[component, "clientConnection.qps"] = "5000"

    def setting(self, component: str, field: str) -> str | None:
        return self._known.get((component, field))


def lab(component: str = "plugins", **fields: str) -> Lab:
    return cast("Lab", Told(component, **fields))


@pytest.mark.parametrize(
    ("cache", "period", "discards"),
    [("passthrough", "0", "false"), ("over-reserve", "5", "false"), ("discard-reserved", "0", "true")],
)
def test_a_cache_is_set_for_the_plugin_alone(cache: str, period: str, discards: str) -> None:
    wanted = matrix.for_scenario(PLUGINS, stale, stale.with_defaults({"cache": cache}))
    assert wanted.settings == {
        "plugins": {f"{ARGS}.cacheResyncPeriodSeconds": period, f"{ARGS}.discardReservedNodes": discards}
    }
    reference = LabSpec(name="r", scheduler="reference")
    assert matrix.for_scenario(reference, stale, stale.with_defaults({"cache": cache})).settings == {}


def test_a_score_is_set_and_outweighs_others_where_the_node_is_what_is_tested() -> None:
    scenario = wrong_node.wrong_node
    wanted = matrix.for_scenario(PLUGINS, scenario, scenario.with_defaults({"scoring": "MostAllocated"}))
    assert wanted.settings["plugins"][f"{ARGS}.scoringStrategy.type"] == "MostAllocated"
    assert wanted.settings["plugins"]["profiles.0.plugins.multiPoint.enabled.1.weight"] == "1000"


@pytest.mark.parametrize(
    ("told", "knows"),
    [
        (lab(cacheResyncPeriodSeconds="0", discardReservedNodes="false"), "passthrough"),
        (lab(cacheResyncPeriodSeconds="5", discardReservedNodes="false"), "over-reserve"),
        (lab(cacheResyncPeriodSeconds="5", discardReservedNodes="true"), "discard-reserved"),
        (lab("plugins-0", cacheResyncPeriodSeconds="5"), "over-reserve"),
        (lab(), "passthrough"),
        (lab(silent="yes"), "reference"),
    ],
)
def test_what_the_scheduler_says_of_itself_counts(told: Lab, knows: Knows) -> None:
    assert matching.knows(told) == knows
    assert matching.reserves(knows) == (knows in {"over-reserve", "reference"})


def test_a_score_is_read_back() -> None:
    told = Told()
    told._known["plugins", f"{ARGS}.scoringStrategy.type"] = "LeastNUMANodes"
    assert matching.scoring(cast("Lab", told)) == "LeastNUMANodes"
    assert matching.scoring(lab()) is None


def test_several_caches_are_several_trials() -> None:
    found = matrix.chosen_parameters(stale, {"cache": "passthrough,over-reserve"}, nodes=4, node_count=None)
    assert [one["cache"] for one in found] == ["passthrough", "over-reserve"]


def test_a_cache_that_does_not_exist_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match=r"-p cache=over-reserv: scenario numa/stale: .*over-reserve"):
        stale.with_defaults({"cache": "over-reserv"})
