"""How long pods of Jobs work by their label: from the environment of the command to who plays them."""

from pathlib import Path

import pytest

from kubedyno.kit.errors import UsageError
from kubedyno.lab import planning
from kubedyno.lab.spec import LabSpec, check
from kubedyno.plane.ports import counted_ports
from kubedyno.sim.kubelet.plans import JobTimes, job_times

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("env", "seconds"),
    [
        ({}, (30.0, 3600.0)),
        ({"CL2_JOB_RUNNING_TIME_MS": ""}, (30.0, 3600.0)),
        ({"CL2_JOB_RUNNING_TIME_MS": "500"}, (0.5, 3600.0)),
        ({"CL2_JOB_RUNNING_TIME_MS": "0", "CL2_LONG_JOB_RUNNING_TIME_MS": "90000"}, (0.0, 90.0)),
    ],
)
def test_the_environment_says_milliseconds(env: dict[str, str], seconds: tuple[float, float]) -> None:
    assert job_times(env) == JobTimes(*seconds)


@pytest.mark.parametrize("variable", ["CL2_JOB_RUNNING_TIME_MS", "CL2_LONG_JOB_RUNNING_TIME_MS"])
@pytest.mark.parametrize("text", ["soon", "-1", "nan", "inf"])
def test_what_is_no_time_is_told(text: str, variable: str) -> None:
    with pytest.raises(UsageError) as caught:
        job_times({variable: text})
    assert str(caught.value) == f"{variable} is {text!r}: write milliseconds, like 30000"


@pytest.mark.parametrize(
    ("times", "env"),
    [
        (JobTimes(), {}),
        (JobTimes(0.5), {"CL2_JOB_RUNNING_TIME_MS": "500"}),
        (JobTimes(long_running_s=60.0), {"CL2_LONG_JOB_RUNNING_TIME_MS": "60000"}),
    ],
)
def test_a_simulator_of_its_own_is_told_in_the_same_way(times: JobTimes, env: dict[str, str]) -> None:
    spec = check(LabSpec(name="test", engine="local", job_times=times))
    plan = planning.plan(spec, folder=Path("lab"), draw_port=counted_ports(1))
    [simulator] = plan.kubelet_components
    assert simulator.env == env
