from typing import Annotated, Any

import pytest

from kubedyno.kit.errors import UsageError
from kubedyno.lab import matrix
from kubedyno.lab.matrix import Order
from kubedyno.lab.planning import settings_where_they_belong
from kubedyno.lab.scenario import Range, Scenario, scenario
from kubedyno.lab.spec import LabSpec

pytestmark = pytest.mark.unit


@scenario("fill", settings={"kai": {"scheduler.max-consolidation-preemptees": "16", "binder.qps": "5"}})
async def fill(lab: object, *, nodes: Annotated[int, Range(1, 1000)] = 4, work: str = "1s") -> None:
    """Fill it."""


@scenario("bare")
async def bare(lab: object) -> None:
    """No parameters."""


KAI = LabSpec(name="r", engine="local", scheduler="kai", seed=5, settings={"binder": {"qps": "20"}})
KUBE = LabSpec(name="r", engine="local", scheduler="kube-scheduler", seed=5)


def chosen(one: Scenario = fill, nodes: int | None = None, node_count: str | None = None, **given: str) -> Any:
    return matrix.chosen_parameters(one, given, nodes=nodes, node_count=node_count)


def test_several_values_are_several_trials_but_a_text_keeps_its_commas() -> None:
    assert chosen() == [{"nodes": 4, "work": "1s"}]
    found = matrix.chosen_parameters(
        fill, {"nodes": "100,500,100", "work": "uniform(1s, 2s)"}, nodes=None, node_count=None
    )
    assert [one["nodes"] for one in found] == [100, 500]
    assert {one["work"] for one in found} == {"uniform(1s, 2s)"}


@pytest.mark.parametrize(
    ("given", "nodes", "node_count", "expected"),
    [
        ({}, None, None, 4),
        ({}, None, "9", 9),
        ({}, 7, "9", 7),
        ({"nodes": "6"}, None, "9", 6),
        ({}, 7, None, 7),
    ],
)
def test_where_the_number_of_nodes_comes_from(
    given: dict[str, str], nodes: int | None, node_count: str | None, expected: int
) -> None:
    (found,) = matrix.chosen_parameters(fill, given, nodes=nodes, node_count=node_count)
    assert found["nodes"] == expected


def test_a_scenario_without_nodes_does_not_heed_the_environment() -> None:
    assert matrix.chosen_parameters(bare, {}, nodes=None, node_count="9") == [{}]


@pytest.mark.parametrize(
    ("one", "given", "nodes", "sentence"),
    [
        (fill, {"nodes": "3"}, 7, "--nodes and -p nodes=...: give one of them"),
        (bare, {}, 7, "--nodes 7: scenario bare has no parameter `nodes`"),
        (fill, {}, 0, "-p nodes=0: scenario fill takes 1 or more there"),
        (fill, {"nodes": "5,5000"}, None, "-p nodes=5000: scenario fill takes 1000 at most there"),
        (fill, {"nodes": "5,"}, None, "-p nodes=: scenario fill takes int there, for example nodes=4"),
        (fill, {"node": "5"}, None, "-p node=...: scenario fill has no such parameter; did you mean 'nodes'?"),
    ],
)
def test_what_cannot_be_is_told_before_anything_starts(
    one: Scenario, given: dict[str, str], nodes: int | None, sentence: str
) -> None:
    with pytest.raises(UsageError) as caught:
        matrix.chosen_parameters(one, given, nodes=nodes, node_count=None)
    assert str(caught.value) == sentence


@pytest.mark.parametrize(
    ("interleave", "expected"),
    [
        (False, [("kai", 1), ("kai", 2), ("kube-scheduler", 1), ("kube-scheduler", 2)]),
        (True, [("kai", 1), ("kube-scheduler", 1), ("kai", 2), ("kube-scheduler", 2)]),
    ],
)
def test_the_order_of_schedulers_and_repeats(interleave: bool, expected: list[tuple[str, int]]) -> None:
    order = Order(repeat=2, interleave=interleave, run_id="r1")
    found = matrix.trials([(fill, chosen())], [KAI, KUBE], order, {})
    assert [(trial.spec.scheduler, trial.repeat) for trial in found] == expected
    assert {(trial.repeat, trial.seed) for trial in found} == {(1, 5), (2, 6)}
    assert {trial.run_id for trial in found} == {"r1"}
    assert found[-1].title == "fill on kube-scheduler, repeat 2"


def test_parameters_go_through_one_after_another() -> None:
    several = matrix.chosen_parameters(fill, {"nodes": "1,2"}, nodes=None, node_count=None)
    found = matrix.trials([(fill, several), (bare, [{}])], [KAI], Order(), {})
    assert [(trial.scenario.name, trial.parameters.get("nodes")) for trial in found] == [
        ("fill", 1),
        ("fill", 2),
        ("bare", None),
    ]


def test_it_is_run_once_at_least() -> None:
    with pytest.raises(UsageError, match="--repeat 0: write 1 or more"):
        matrix.trials([(bare, [{}])], [KAI], Order(repeat=0), {})


def test_settings_of_the_scenario_come_below_those_of_the_user() -> None:
    found = matrix.for_scenario(KAI, fill)
    assert found.settings == {"scheduler": {"max-consolidation-preemptees": "16"}, "binder": {"qps": "20"}}
    assert matrix.for_scenario(KUBE, fill).settings == {}


def test_a_setting_goes_to_the_labs_that_have_its_component() -> None:
    settings = {"binder": {"qps": "20"}, "kube-apiserver": {"v": "3"}, "nobody": {"x": "1"}}
    kai, kube = (
        LabSpec(name="r", engine="local", scheduler=name, settings=settings) for name in ("kai", "kube-scheduler")
    )
    first, second = settings_where_they_belong([kai, kube])
    assert set(first.settings) == {"binder", "kube-apiserver", "nobody"}
    assert set(second.settings) == {"kube-apiserver", "nobody"}
    assert settings_where_they_belong([kube])[0].settings == settings
