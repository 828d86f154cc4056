"""What chance decides for a pod."""

from collections.abc import Callable
from typing import Any

import pytest

from kubedyno.kit.errors import UsageError
from kubedyno.sim.kubelet.plans import JobTimes, Plan, plan_of
from kubedyno.sim.kubelet.settings import DEFAULTS, KubeletSettings

pytestmark = pytest.mark.unit


def pod(labels: dict[str, str] | None = None, **annotations: str) -> dict[str, Any]:
    said = {f"kubedyno/{name.replace('_', '-')}": text for name, text in annotations.items()}
    return {"metadata": {"name": "p", "namespace": "team", "annotations": said, "labels": labels or {}}}


def always(number: float) -> Callable[[str], float]:
    return lambda _purpose: number


def never(purpose: str) -> float:
    raise AssertionError(f"no chance is needed for {purpose}")


@pytest.mark.parametrize(
    ("given", "settings", "plan"),
    [
        (pod(), DEFAULTS, Plan(0.0, None, 0.0, 0)),
        (pod(), KubeletSettings(start="2s", stop="500ms", duration="1m"), Plan(2.0, 60.0, 0.5, 0)),
        (pod(duration="30s"), DEFAULTS, Plan(0.0, 30.0, 0.0, 0)),
        (pod(duration="2.5"), KubeletSettings(duration="1m"), Plan(0.0, 2.5, 0.0, 0)),
        (pod(duration="0s"), KubeletSettings(duration="1m"), Plan(0.0, 0.0, 0.0, 0)),
        (pod(start="1s", stop="3s", exit_code="7"), KubeletSettings(start="9s", stop="9s"), Plan(1.0, None, 3.0, 7)),
        (pod(exit_code="0"), KubeletSettings(failures=1.0), Plan(0.0, None, 0.0, 0)),
        (pod({"job-type": "short-lived"}), DEFAULTS, Plan(0.0, 12.0, 0.0, 0)),
        (pod({"job-type": "short-lived"}), KubeletSettings(duration="1m"), Plan(0.0, 12.0, 0.0, 0)),
        (pod({"job-type": "short-lived"}, duration="3s"), DEFAULTS, Plan(0.0, 3.0, 0.0, 0)),
        (pod({"job-type": "long-running"}), DEFAULTS, Plan(0.0, 99.0, 0.0, 0)),
        (pod({"job-type": "other"}), DEFAULTS, Plan(0.0, None, 0.0, 0)),
    ],
)
def test_annotations_beat_the_label_and_the_label_beats_the_node(
    given: dict[str, Any], settings: KubeletSettings, plan: Plan
) -> None:
    assert plan_of(given, settings, never, job_times=JobTimes(12.0, 99.0)) == plan


def test_what_containers_sleep_beats_the_label_unless_the_node_says_how_long_its_pods_work() -> None:
    asleep = {**pod({"job-type": "short-lived"}), "spec": {"containers": [{"image": "sleep", "args": ["2s"]}]}}
    assert plan_of(asleep, DEFAULTS, never).work_s == 2.0
    assert plan_of(asleep, KubeletSettings(work={"short-lived": 7.0}), never).work_s == 7.0
    assert plan_of(asleep, KubeletSettings(work={"long-running": 7.0}, duration="1m"), never).work_s == 2.0


def test_short_lived_pods_work_half_a_minute_unless_told() -> None:
    assert plan_of(pod({"job-type": "short-lived"}), DEFAULTS, never).work_s == 30.0


def test_distributions_are_drawn_at_the_number_of_their_purpose() -> None:
    numbers = {"start": 0.0, "duration": 0.5, "stop": 0.75, "failure": 0.1}
    settings = KubeletSettings(start="uniform(1s, 3s)", stop="uniform(0s, 4s)", failures=0.2)
    given = pod(duration="choice(1s, 2s, 5s)")
    assert plan_of(given, settings, numbers.__getitem__) == Plan(1.0, 2.0, 3.0, 1)


def test_a_share_of_the_pods_fails() -> None:
    settings = KubeletSettings(failures=0.25)
    codes = [plan_of(pod(), settings, always(number / 100)).exit_code for number in range(100)]
    assert codes == [1] * 25 + [0] * 75


WHERE = "pod team/p: annotation kubedyno/"
FORMS = (
    "write a duration like 2s, or uniform(1s, 3s), normal(2s, 500ms), lognormal(2s, 0.4), "
    "exponential(5s), choice(1s, 2s)"
)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (
            pod(duration="soon"),
            f"{WHERE}duration: 'soon' is no duration: write it like 30s, 1m30s or 250ms",
        ),
        (
            pod(start="uniform(1s)"),
            f"{WHERE}start: 'uniform(1s)' is no distribution: {FORMS}",
        ),
        (pod(stop="-5s"), f"{WHERE}stop: '-5s' is less than nothing"),
        *(
            (
                pod(exit_code=text),
                f"{WHERE}exit-code: {text!r} is no exit code: write a number from 0 to 255",
            )
            for text in ("256", "-1", "x", "", "1.0", "²")
        ),
    ],
)
def test_what_cannot_be_read_is_told_with_pod_and_annotation(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UsageError) as refused:
        plan_of(given, DEFAULTS, never)
    assert str(refused.value) == sentence
    assert refused.value.exit_code == 2


@pytest.mark.parametrize(
    ("containers", "seconds"),
    [
        ([{"command": ["sleep", "30"]}], 30.0),
        ([{"command": ["/bin/sleep"], "args": ["1.5"]}], 1.5),
        ([{"image": "example.com/perf/sleep:v0.0.3", "args": ["5m"]}], 300.0),
        ([{"image": "sleep@sha256:0", "args": ["30s"]}, {"command": ["sleep", "40s"]}], 40.0),
        ([{"image": "sleep", "args": ["30s"]}, {"image": "pause"}], None),
        ([{"image": "pause", "args": ["30s"]}], None),
        ([{"command": ["sleep", "infinity"]}], None),
        ([{"command": ["sh", "-c", "sleep 30"]}], None),
        ([{"image": "sleep", "command": ["run"], "args": ["30s"]}], None),
        ([], None),
    ],
)
def test_pods_that_only_sleep_end_when_they_wake(containers: list[dict[str, Any]], seconds: float | None) -> None:
    given = pod()
    given["spec"] = {"containers": containers}
    assert plan_of(given, DEFAULTS, never).work_s == seconds
    assert plan_of({**pod(duration="3s"), "spec": given["spec"]}, DEFAULTS, never).work_s == 3.0
