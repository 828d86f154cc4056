"""What a scenario asks of its lab: settings that follow from parameters, leases; and parameters with few values."""

from collections.abc import Mapping
from typing import Any, Literal

import pytest
from click.testing import CliRunner

from kubedyno.cli.list import command
from kubedyno.kit.errors import UsageError
from kubedyno.lab import matrix
from kubedyno.lab.matrix import Order
from kubedyno.lab.scenario import scenario
from kubedyno.lab.spec import LabSpec
from kubedyno.model.workloads import Workload, pod

pytestmark = pytest.mark.unit

KAI = LabSpec(name="r", engine="local", scheduler="kai", settings={"binder": {"qps": "20"}})


def wanted(parameters: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    return {"kai": {"scheduler.pace": parameters["pace"], "binder.qps": "1"}}


@scenario("group/chosen", settings=wanted, heartbeats="8s")
async def chosen(lab: object, *, pace: Literal["slow", "fast"] = "slow", count: int = 1) -> None:
    """Show something.

    Parameters:
        pace: how fast
        count: how many
    """


def test_settings_follow_from_parameters_and_the_users_come_on_top() -> None:
    found = matrix.trials([(chosen, [{"pace": "fast", "count": 1}])], [KAI], Order(), {})
    assert found[0].spec.settings == {"scheduler": {"pace": "fast"}, "binder": {"qps": "20"}}
    assert matrix.for_scenario(KAI, chosen).settings["scheduler"] == {"pace": "slow"}
    assert chosen.settings_for("kueue", {"pace": "fast"}) == {}


def test_leases_are_as_long_as_the_scenario_needs_unless_the_user_says_otherwise() -> None:
    assert matrix.for_scenario(KAI, chosen).heartbeats == "8s"
    own = LabSpec(name="r", engine="local", scheduler="kai", heartbeats="40s")
    assert matrix.for_scenario(own, chosen).heartbeats == "40s"


def test_a_text_of_few_values_is_checked_and_several_are_several_trials() -> None:
    parameter = chosen.parameter("pace")
    assert (parameter.type, parameter.choices, parameter.default) == ("str", ("slow", "fast"), "slow")
    several = matrix.chosen_parameters(chosen, {"pace": "slow,fast"}, nodes=None, node_count=None)
    assert [one["pace"] for one in several] == ["slow", "fast"]
    with pytest.raises(UsageError, match=r"-p pace=quick: scenario group/chosen: .*slow"):
        chosen.with_defaults({"pace": "quick"})


def test_the_list_tells_what_a_text_may_be() -> None:
    told = CliRunner().invoke(command, [])
    assert "-p cache=passthrough  (passthrough | over-reserve | discard-reserved)" in told.output


def test_fields_of_a_pods_spec_go_over_those_that_follow_from_its_shape() -> None:
    shape = Workload(name="w", spec={"schedulerName": "other", "nodeName": "n"})
    made = pod(shape, 0, scheduler_name="mine")["spec"]
    assert (made["schedulerName"], made["nodeName"], made["restartPolicy"]) == ("other", "n", "Never")
