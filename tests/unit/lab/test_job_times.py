"""How long short-lived pods work: from the environment of the command to who plays them."""

from pathlib import Path

import pytest

from kubedyno.kit.errors import UsageError
from kubedyno.lab import planning
from kubedyno.lab.spec import LabSpec, check
from kubedyno.plane.ports import counted_ports
from kubedyno.sim.kubelet.plans import short_lived_s

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("env", "seconds"),
    [
        ({}, 30.0),
        ({"CL2_JOB_RUNNING_TIME_MS": ""}, 30.0),
        ({"CL2_JOB_RUNNING_TIME_MS": "500"}, 0.5),
        ({"CL2_JOB_RUNNING_TIME_MS": "0"}, 0.0),
    ],
)
def test_the_environment_says_milliseconds(env: dict[str, str], seconds: float) -> None:
    assert short_lived_s(env) == seconds


@pytest.mark.parametrize("text", ["soon", "-1", "nan", "inf"])
def test_what_is_no_time_is_told(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        short_lived_s({"CL2_JOB_RUNNING_TIME_MS": text})
    assert str(caught.value) == f"CL2_JOB_RUNNING_TIME_MS is {text!r}: write milliseconds, like 30000"


@pytest.mark.parametrize(("seconds", "env"), [(30.0, {}), (0.5, {"CL2_JOB_RUNNING_TIME_MS": "500"})])
def test_a_simulator_of_its_own_is_told_in_the_same_way(seconds: float, env: dict[str, str]) -> None:
    spec = check(LabSpec(name="test", engine="local", short_lived_s=seconds))
    plan = planning.plan(spec, folder=Path("lab"), draw_port=counted_ports(1))
    [simulator] = plan.kubelet_components
    assert simulator.env == env
