"""What chance decided for one pod: how long it takes to start, works and takes to stop, and how it ends."""

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec

from kubedyno.kit.draws import Draw
from kubedyno.kit.errors import UsageError
from kubedyno.kit.units import parse_duration_s
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.sim import marks
from kubedyno.sim.kubelet.settings import KubeletSettings

JOB_TYPE: Final = "job-type"
"""Label of a pod; with some values it works for a while by itself, as ClusterLoader2's examples expect."""

_MAX_EXIT_CODE: Final = 255
_SLEEP: Final = "sleep"
_SLEEP_WORDS: Final = 2


class JobTimes(msgspec.Struct, frozen=True):
    """How long pods work by that label, in seconds; milliseconds in the environment, as ClusterLoader2 is told."""

    short_lived_s: float = 30.0
    long_running_s: float = 3600.0

    def of(self, job_type: str | None) -> float | None:
        """For a value of the label; None: it says nothing."""
        return self.by_label.get(job_type or "")

    @property
    def by_label(self) -> dict[str, float]:
        """By all values that say something."""
        return {"short-lived": self.short_lived_s, "long-running": self.long_running_s}

    @property
    def environment(self) -> dict[str, str]:
        """The variables that say the same; none for what is usual."""
        return {
            variable: f"{getattr(self, field) * 1000:g}"
            for variable, field in _VARIABLES.items()
            if getattr(self, field) != getattr(USUAL_TIMES, field)
        }


_VARIABLES: Final = {"CL2_JOB_RUNNING_TIME_MS": "short_lived_s", "CL2_LONG_JOB_RUNNING_TIME_MS": "long_running_s"}
JOB_VARIABLES: Final = frozenset(_VARIABLES)
USUAL_TIMES: Final = JobTimes()


def job_times(env: Mapping[str, str]) -> JobTimes:
    """As the environment says it; UsageError where it says no number."""
    return JobTimes(
        **{field: _seconds(variable, env[variable]) for variable, field in _VARIABLES.items() if env.get(variable)}
    )


def _seconds(variable: str, text: str) -> float:
    try:
        milliseconds = float(text)
    except ValueError:
        milliseconds = math.nan
    if not 0 <= milliseconds < math.inf:
        raise UsageError(f"{variable} is {text!r}: write milliseconds, like 30000")
    return milliseconds / 1000


class Plan(msgspec.Struct, frozen=True):
    """One pod's times in seconds: from acceptance to running, of each run, from the request to end to the end."""

    start_s: float
    work_s: float | None
    """None: until it is deleted."""
    stop_s: float
    exit_code: int
    """With what its containers end after their work."""


def plan_of(
    pod: Object, settings: KubeletSettings, unit: Callable[[str], float], *, job_times: JobTimes = USUAL_TIMES
) -> Plan:
    """The plan of a pod.

    How long it works: as its annotations say, then its node of its label (as KWOK's stages do), then `sleep` as its
    command, then its label by `job_times`, then its node of all pods.

    `unit(purpose)` is a number in [0, 1) that is always the same for this pod and purpose, so that whoever plays the
    pod next makes the same plan. UsageError when an annotation cannot be read; it names pod and annotation.
    """
    said = meta.annotations(pod)
    work = said.get(marks.DURATION)
    if work is not None:
        work_s: float | None = _asked_s(pod, marks.DURATION, work, unit)
    else:
        job_type = meta.labels(pod).get(JOB_TYPE, "")
        work_s = settings.work.get(job_type)
        if work_s is None:
            work_s = asleep_s(pod.get("spec", {}).get("containers") or ())
        if work_s is None:
            work_s = job_times.of(job_type)
        if work_s is None and settings.duration is not None:
            work_s = _drawn_s(settings.duration, "duration", unit)
    start, stop, exit_code = said.get(marks.START), said.get(marks.STOP), said.get(marks.EXIT_CODE)
    return Plan(
        start_s=_drawn_s(settings.start, "start", unit) if start is None else _asked_s(pod, marks.START, start, unit),
        work_s=work_s,
        stop_s=_drawn_s(settings.stop, "stop", unit) if stop is None else _asked_s(pod, marks.STOP, stop, unit),
        exit_code=_chance_of_failure(settings, unit) if exit_code is None else _asked_exit_code(pod, exit_code),
    )


def asleep_s(containers: Sequence[Object]) -> float | None:
    """How long containers take that all do nothing but sleep; None: one of them does something else, or for ever.

    That is `sleep 30` (or `30s`, `5m`) as a command, and as the only argument of an image of that name.
    """
    times = [_sleep_s(container) for container in containers]
    known = [one for one in times if one is not None]
    return max(known) if known and len(known) == len(times) else None


def _sleep_s(container: Object) -> float | None:
    words = [*(container.get("command") or ()), *(container.get("args") or ())]
    image = str(container.get("image", "")).rpartition("/")[2].partition("@")[0].partition(":")[0]
    if not container.get("command") and image == _SLEEP:
        words.insert(0, _SLEEP)
    if len(words) != _SLEEP_WORDS or str(words[0]).rpartition("/")[2] != _SLEEP:
        return None
    text = str(words[1])
    try:
        return parse_duration_s(f"{text}s" if text.replace(".", "", 1).isdecimal() else text)
    except UsageError:
        return None  # `sleep infinity`, or what only a shell understands


_drawing = functools.lru_cache(maxsize=1024)(Draw.parse)


def _drawn_s(text: str, purpose: str, unit: Callable[[str], float]) -> float:
    draw = _drawing(text)
    # A constant needs no number: most pods are planned without any.
    return draw.numbers[0] if draw.shape == "constant" else draw.at(unit(purpose))


def _asked_s(pod: Object, annotation: str, text: str, unit: Callable[[str], float]) -> float:
    try:
        return _drawn_s(text, annotation.partition("/")[2], unit)
    except UsageError as error:
        raise UsageError(f"{_named(pod)}: annotation {annotation}: {error}") from None


def _chance_of_failure(settings: KubeletSettings, unit: Callable[[str], float]) -> int:
    return 1 if settings.failures > 0 and unit("failure") < settings.failures else 0


def _asked_exit_code(pod: Object, text: str) -> int:
    code = int(text) if text.isascii() and text.isdigit() else -1
    if not 0 <= code <= _MAX_EXIT_CODE:
        raise UsageError(
            f"{_named(pod)}: annotation {marks.EXIT_CODE}: {text!r} is no exit code: write a number from 0 to 255"
        )
    return code


def _named(pod: Object) -> str:
    namespace, name = meta.key(pod)
    return f"pod {namespace}/{name}"
