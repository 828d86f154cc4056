"""What is asked for in words."""

from typing import Any

import pytest

from kubedyno.kit.draws import Draw
from kubedyno.kit.errors import ExitCode, UsageError
from kubedyno.sim.faults import asking, fault
from kubedyno.sim.faults.aiming import AnyGpus
from kubedyno.sim.faults.fault import Crash, Flapping, GpuLost, KubeletRestart, NotReady, PodFailure, SlowStart
from kubedyno.sim.faults.injecting import Trouble
from kubedyno.sim.faults.maintaining import Cordon, Drain
from kubedyno.sim.faults.misbehaving import Misreport, SlowStatus, ViewsUnavailable, WrongAdmission
from kubedyno.sim.faults.scheduling import Timing

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("kind", "options", "made"),
    [
        ("crash", {}, Crash()),
        ("not-ready", {"cause": "runtime"}, NotReady(cause="runtime")),
        ("flapping", {"period": "1m30s", "down-share": "0.2"}, Flapping(period_s=90, down_share=0.2)),
        ("slow-start", {"factor": "3", "extra": "uniform(1s, 2s)"}, SlowStart(factor=3, extra="uniform(1s, 2s)")),
        (
            "pod-failure",
            {"pod-share": "0.5", "exit-code": "137", "after": "10s"},
            PodFailure(share=0.5, exit_code=137, after_s=10),
        ),
        ("gpu-lost", {"gpus": "3, 0,3"}, GpuLost(gpus=(0, 3))),
        ("gpu-lost", {"gpus": "any:2"}, AnyGpus(2)),
        ("gpu-lost", {}, AnyGpus(1)),
        ("kubelet-restart", {"state": "lost"}, KubeletRestart(state="lost")),
        ("misreport", {"what": "stale"}, Misreport(what="stale")),
        (
            "misreport",
            {"what": "allocatable", "resource": "nvidia.com/gpu", "amount": "-2"},
            Misreport(what="allocatable", resource="nvidia.com/gpu", by=-2),
        ),
        ("misreport", {"what": "hidden-pods", "pod-share": "0.5"}, Misreport(what="hidden-pods", share=0.5)),
        ("views-unavailable", {}, ViewsUnavailable(how="error")),
        ("views-unavailable", {"how": "timeout", "delay": "20s"}, ViewsUnavailable(how="timeout", delay_s=20)),
        ("admission", {"verdict": "accepts"}, WrongAdmission(verdict="accepts")),
        (
            "admission",
            {"verdict": "rejects", "reason": "OutOfcpu", "pod-share": "0.5"},
            WrongAdmission(verdict="rejects", reason="OutOfcpu", share=0.5),
        ),
        ("slow-status", {"extra": "uniform(1s, 9s)"}, SlowStatus(extra="uniform(1s, 9s)")),
        ("cordon", {}, Cordon()),
        ("drain", {"grace-period": "5"}, Drain(grace_s=5)),
    ],
)
def test_every_kind_takes_its_options(kind: str, options: dict[str, str], made: Trouble) -> None:
    assert asking.trouble(kind, options) == made


def test_every_fault_can_be_asked_for() -> None:
    assert set(asking.KINDS) == {*fault.KINDS, "cordon", "drain"}


@pytest.mark.parametrize(
    ("kind", "options", "sentence"),
    [
        ("crush", {}, "there is no fault 'crush': did you mean 'crash'?"),
        (
            "gone",
            {},
            (
                "there is no fault 'gone': known are: admission, cordon, crash, drain, flapping, gpu-lost, "
                "kubelet-restart, misreport, not-ready, pod-failure, slow-start, slow-status, views-unavailable"
            ),
        ),
        ("crash", {"gpus": "0"}, "--gpus: a crash does not have that; it has no options"),
        ("slow-start", {"gpus": "0"}, "--gpus: a slow-start does not have that; its options are --factor, --extra"),
        (
            "gpu-lost",
            {"gpus": "first"},
            "--gpus: 'first' are no GPUs: write their indexes, like 0,3, or any:2 for two of each node",
        ),
        ("gpu-lost", {"gpus": "-1"}, "--gpus: '-1' are no GPUs"),
        ("gpu-lost", {"gpus": "any:few"}, "--gpus: 'few' is no whole number"),
        ("flapping", {"period": "often"}, "--period: 'often' is no duration: write it like 30s, 1m30s or 250ms"),
        ("flapping", {"period": "0s"}, "--period 0 must be 1 to 1e+09"),
        ("flapping", {"down-share": "half"}, "--down-share: 'half' is no number"),
        ("pod-failure", {"exit-code": "0"}, "--exit-code 0 must be 1 to 255"),
        ("drain", {"grace-period": "-5"}, "--grace-period: -5 is less than nothing: write seconds, 0 or more"),
        ("pod-failure", {"exit-code": "1.5"}, "--exit-code: '1.5' is no whole number"),
        ("not-ready", {"cause": "mood"}, "--cause: 'mood' is none of network, runtime"),
        ("kubelet-restart", {"state": "solid"}, "--state: 'solid' is none of kept, lost"),
        ("slow-start", {"extra": "long"}, "--extra: 'long' is no duration"),
        (
            "misreport",
            {},
            (
                "--what: misreport needs it; write one of no-numa, negative-numa, several-numa, stale, allocatable, "
                "hidden-pods"
            ),
        ),
        ("misreport", {"what": "mood"}, "--what: 'mood' is none of no-numa, negative-numa, several-numa, stale, "),
        ("misreport", {"what": "allocatable"}, "--amount 0: write how much more or, with a minus, less"),
        ("misreport", {"what": "allocatable", "amount": "much"}, "--amount: 'much' is no whole number"),
        ("misreport", {"what": "stale", "amount": "1"}, "--amount 1: belongs to allocatable, not to stale"),
        ("misreport", {"what": "stale", "resource": "cpu"}, "--resource cpu: stale is not about single resources"),
        ("misreport", {"what": "hidden-pods", "pod-share": "0"}, "--pod-share 0 must be more than 0 and at most 1"),
        ("views-unavailable", {"how": "shy"}, "--how: 'shy' is none of error, timeout, refused"),
        ("views-unavailable", {"delay": "3s"}, "--delay 3: belongs to timeout, not to error"),
        ("views-unavailable", {"how": "timeout", "delay": "0s"}, "--delay 0 must be more than 0 and at most 1e+09"),
        ("admission", {}, "--verdict: admission needs it; write one of accepts, rejects"),
        ("admission", {"verdict": "doubts"}, "--verdict: 'doubts' is none of accepts, rejects"),
        ("admission", {"verdict": "accepts", "reason": "x"}, "--reason 'x': who accepts gives none"),
        ("slow-status", {"extra": "long"}, "--extra: 'long' is no duration"),
        ("slow-status", {"factor": "3"}, "--factor: a slow-status does not have that; its options are --extra"),
    ],
)
def test_what_is_wrong_is_told_with_its_option(kind: str, options: dict[str, str], sentence: str) -> None:
    with pytest.raises(UsageError) as caught:
        asking.trouble(kind, options)
    assert str(caught.value).startswith(sentence)
    assert caught.value.exit_code == ExitCode.USAGE


@pytest.mark.parametrize(
    ("asked", "made"),
    [
        ({}, Timing()),
        ({"for_": "90s"}, Timing(for_s=90)),
        ({"rate": "1/h", "during": "30m"}, Timing(rate_per_s=1 / 3600, during_s=1800)),
        (
            {"rate": "1/h", "during": "30m", "mttr": "uniform(1m, 2m)"},
            Timing(rate_per_s=1 / 3600, repair=Draw("uniform", (60, 120)), during_s=1800),
        ),
    ],
)
def test_times_are_read(asked: dict[str, str], made: Timing) -> None:
    assert asking.timing(**asked) == made


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"for_": "long"}, "--for: 'long' is no duration: write it like 30s, 1m30s or 250ms"),
        ({"for_": "-5s"}, "--for -5s: write more than nothing, like 60s"),
        ({"for_": "0"}, "--for 0: write more than nothing, like 60s"),
        ({"rate": "often", "during": "1h"}, "--rate: 'often' is no rate: write how many in which time, like 0.5/h"),
        ({"rate": "1/h", "during": "ever"}, "--during: 'ever' is no duration"),
        ({"rate": "1/h", "during": "1h", "mttr": "soon"}, "--mttr: 'soon' is no duration"),
        ({"rate": "1/h"}, "--rate: say with --during for how long nodes fail, like --during 30m"),
        ({"rate": "1/h", "for_": "1h"}, "--for: with --rate, --mttr says how long each outage lasts"),
        ({"mttr": "1h"}, "--mttr: belongs to --rate; without a rate, --for says how long it lasts"),
        ({"during": "1h"}, "--during: belongs to --rate"),
    ],
)
def test_times_that_mean_nothing_are_told(asked: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UsageError) as caught:
        asking.timing(**asked)
    assert str(caught.value).startswith(sentence)
    assert caught.value.exit_code == ExitCode.USAGE
