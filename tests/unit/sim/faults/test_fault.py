"""Faults as data: how they are written and read, and what they mean at a time."""

import pytest

from kubedyno.kit.clock import NS_PER_S, rfc3339
from kubedyno.kit.errors import ExitCode, UsageError
from kubedyno.sim import marks
from kubedyno.sim.faults import fault
from kubedyno.sim.faults.fault import (
    Crash,
    Fault,
    Flapping,
    GpuLost,
    KubeletRestart,
    NotReady,
    PodFailure,
    SlowStart,
)
from kubedyno.sim.faults.misbehaving import Misreport, SlowStatus, ViewsUnavailable, WrongAdmission

pytestmark = pytest.mark.unit

T = 1_800_000_000 * NS_PER_S


def at(seconds: float) -> int:
    return T + round(seconds * NS_PER_S)


def stamp(seconds: float) -> str:
    return rfc3339(at(seconds))


EVERY_KIND = (
    Crash(id="a", since=stamp(0), until=stamp(60)),
    NotReady(cause="runtime"),
    Flapping(period_s=20, down_share=0.25),
    SlowStart(factor=3, extra="uniform(1s, 2s)"),
    PodFailure(share=0.5, exit_code=137, after_s=4),
    GpuLost(gpus=(0, 3)),
    KubeletRestart(state="lost", down_s=9),
    Misreport(what="allocatable", resource="nvidia.com/gpu", by=-2),
    ViewsUnavailable(how="timeout", delay_s=20),
    WrongAdmission(verdict="rejects", reason="OutOfcpu", share=0.5),
    SlowStatus(extra="uniform(1s, 2s)"),
)


def test_every_kind_survives_its_annotation() -> None:
    assert {type(one) for one in EVERY_KIND} == set(fault.KINDS.values())
    assert fault.read(fault.written(EVERY_KIND)) == EVERY_KIND


def test_the_annotation_is_what_a_person_would_write() -> None:
    assert fault.written((Crash(), Flapping(period_s=20), GpuLost(gpus=(1,)))) == (
        '[{"kind":"crash"},{"kind":"flapping","periodSeconds":20},{"kind":"gpu-lost","gpus":[1]}]'
    )


def test_a_node_tells_its_faults() -> None:
    node = {"metadata": {"name": "n", "annotations": {marks.FAULTS: '[{"kind": "crash"}]'}}}
    assert fault.of(node) == (Crash(),)
    assert fault.of({"metadata": {"name": "n"}}) == ()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('[{"kind": "crsh"}]', "there is no fault 'crsh': did you mean 'crash'?"),
        ('[{"kind": "tired"}]', "there is no fault 'tired': known are: admission, crash, flapping, gpu-lost, "),
        ("[", "truncated"),
        ('{"kind": "crash"}', "Expected `array`, got `object`"),
        ('[{"id": "a"}]', "missing required field `kind`"),
        ('[{"kind": "crash", "gpus": [1]}]', "unknown field `gpus`"),
        ('[{"kind": "crash", "since": "yesterday"}]', "since 'yesterday' is no time: write it like 2026-01-02T03"),
        ('[{"kind": "not-ready", "cause": "mood"}]', "Invalid enum value 'mood'"),
        ('[{"kind": "flapping", "periodSeconds": 0}]', "periodSeconds 0 must be 1 to 1e+09"),
        ('[{"kind": "flapping", "downShare": 1}]', "downShare 1 must be between 0 and 1"),
        ('[{"kind": "slow-start", "factor": 0.5}]', "factor 0.5 must be 1 to 1e+09"),
        ('[{"kind": "slow-start", "extra": "long"}]', "extra: 'long' is no duration"),
        ('[{"kind": "pod-failure", "share": 0}]', "share 0 must be more than 0 and at most 1"),
        ('[{"kind": "pod-failure", "exitCode": 0}]', "exitCode 0 must be 1 to 255"),
        ('[{"kind": "pod-failure", "afterSeconds": -1}]', "afterSeconds -1 must be 0 to 1e+09"),
        ('[{"kind": "gpu-lost"}]', "gpus must name at least one GPU by its index, like [0, 3]"),
        ('[{"kind": "gpu-lost", "gpus": [-1]}]', "gpus must name at least one GPU"),
        ('[{"kind": "kubelet-restart", "downSeconds": -1}]', "downSeconds -1 must be 0 to 1e+09"),
        ('[{"kind": "misreport"}]', "missing required field `what`"),
        ('[{"kind": "misreport", "what": "mood"}]', "Invalid enum value 'mood'"),
        ('[{"kind": "misreport", "what": "allocatable"}]', "by 0: write how much more or, with a minus, less"),
        ('[{"kind": "misreport", "what": "stale", "by": 2}]', "by 2: belongs to allocatable, not to stale"),
        (
            '[{"kind": "misreport", "what": "stale", "resource": "cpu"}]',
            "resource cpu: stale is not about single resources",
        ),
        ('[{"kind": "misreport", "what": "hidden-pods", "share": 2}]', "share 2 must be more than 0 and at most 1"),
        (
            '[{"kind": "misreport", "what": "no-numa", "share": 0.5}]',
            "share 0.5: belongs to hidden-pods, not to no-numa",
        ),
        ('[{"kind": "views-unavailable", "how": "shy"}]', "Invalid enum value 'shy'"),
        (
            '[{"kind": "views-unavailable", "how": "timeout", "delaySeconds": 0}]',
            "delaySeconds 0 must be more than 0 and at most 1e+09",
        ),
        (
            '[{"kind": "views-unavailable", "delaySeconds": 3}]',
            "delaySeconds 3: belongs to timeout, not to error",
        ),
        ('[{"kind": "admission"}]', "missing required field `verdict`"),
        ('[{"kind": "admission", "verdict": "accepts", "reason": "x"}]', "reason 'x': who accepts gives none"),
        ('[{"kind": "admission", "verdict": "rejects", "share": 0}]', "share 0 must be more than 0 and at most 1"),
        ('[{"kind": "slow-status", "extra": "long"}]', "extra: 'long' is no duration"),
    ],
)
def test_what_cannot_be_read_is_told_with_its_place(text: str, sentence: str) -> None:
    with pytest.raises(UsageError) as caught:
        fault.read(text)
    assert str(caught.value).startswith(f"annotation {marks.FAULTS}: ")
    assert sentence in str(caught.value)
    assert caught.value.exit_code == ExitCode.USAGE


@pytest.mark.parametrize(
    ("faults", "answers"),
    [
        ((), (False, None, "all", frozenset())),
        ((Crash(),), (True, None, "none", frozenset())),
        ((NotReady(),), (False, "network", "no starts", frozenset())),
        ((NotReady(cause="runtime"),), (False, "runtime", "none", frozenset())),
        ((NotReady(), NotReady(cause="runtime")), (False, "runtime", "none", frozenset())),
        ((Flapping(since=stamp(-10), period_s=60),), (False, "network", "no starts", frozenset())),
        ((Flapping(since=stamp(-40), period_s=60),), (False, None, "all", frozenset())),
        ((GpuLost(gpus=(1, 2)), GpuLost(gpus=(2, 5))), (False, None, "all", frozenset({1, 2, 5}))),
        ((KubeletRestart(since=stamp(-1), down_s=2),), (True, None, "none", frozenset())),
        ((KubeletRestart(since=stamp(-3), down_s=2),), (False, None, "all", frozenset())),
        ((SlowStart(factor=2), PodFailure()), (False, None, "all", frozenset())),
        ((Crash(since=stamp(1)),), (False, None, "all", frozenset())),
        ((Crash(until=stamp(0)),), (False, None, "all", frozenset())),
        ((Crash(since=stamp(0), until=stamp(1)),), (True, None, "none", frozenset())),
    ],
)
def test_what_faults_mean_to_the_kubelet(
    faults: tuple[Fault, ...], answers: tuple[bool, str | None, str, frozenset[int]]
) -> None:
    assert (
        fault.is_down(faults, T),
        fault.unready_cause(faults, T),
        fault.pod_work(faults, T),
        fault.lost_gpus(faults, T),
    ) == answers
    assert fault.is_unready(faults, T) == (answers[1] is not None)


def test_a_flapping_node_turns_by_its_period_from_its_beginning() -> None:
    flapping = (Flapping(since=stamp(0), until=stamp(50), period_s=20, down_share=0.25),)
    turns = []
    now_ns: int | None = T
    while now_ns is not None:
        turns.append(((now_ns - T) / NS_PER_S, fault.is_unready(flapping, now_ns)))
        now_ns = fault.next_change_ns(flapping, now_ns)
    assert turns == [(0, True), (5, False), (20, True), (25, False), (40, True), (45, False), (50, False)]


@pytest.mark.parametrize(
    ("faults", "after_s"),
    [
        ((), None),
        ((Crash(),), None),
        ((Crash(since=stamp(-5)),), None),
        ((Crash(since=stamp(5), until=stamp(9)),), 5),
        ((Crash(since=stamp(-5), until=stamp(9)), GpuLost(gpus=(0,), until=stamp(3))), 3),
        ((Crash(until=stamp(-1)),), None),
        ((KubeletRestart(since=stamp(-1), down_s=5),), 4),
        ((KubeletRestart(since=stamp(-9), down_s=5),), None),
        ((Flapping(since=stamp(7)),), 7),
        ((Flapping(since=stamp(-7), until=stamp(-1)),), None),
    ],
)
def test_it_is_known_when_the_meaning_changes_by_itself(faults: tuple[Fault, ...], after_s: float | None) -> None:
    expected = None if after_s is None else at(after_s)
    assert fault.next_change_ns(faults, T) == expected


def test_slow_starts_multiply_and_add() -> None:
    slow = (SlowStart(factor=3), SlowStart(extra="uniform(10s, 20s)"), Crash(since=stamp(1)))
    assert fault.start_s(slow, T, usual_s=2, at=0.5) == 21
    assert fault.start_s((), T, usual_s=2, at=0.5) == 2


def test_a_share_of_pods_fails_and_always_the_same_ones() -> None:
    failing = (PodFailure(id="f", share=0.3, exit_code=3),)
    uids = [f"uid-{index}" for index in range(1000)]
    met = [uid for uid in uids if fault.failing(failing, T, uid)]
    assert 250 < len(met) < 350
    assert met == [uid for uid in uids if fault.failing(failing, T, uid)]
    others = (PodFailure(id="g", share=0.3),)
    assert met != [uid for uid in uids if fault.failing(others, T, uid)]
    assert fault.failing((PodFailure(until=stamp(0)),), T, "uid-1") is None


def test_a_pod_fails_after_its_start_or_after_the_fault_whichever_is_later() -> None:
    failing = PodFailure(since=stamp(0), after_s=10)
    assert failing.fails_at_ns(at(-100)) == at(10)
    assert failing.fails_at_ns(at(7)) == at(17)


def test_a_restart_is_told_once_and_when_the_kubelet_is_back() -> None:
    restart = KubeletRestart(id="r", since=stamp(0), down_s=5)
    assert fault.restarts((restart,), at(4), ()) == ()
    assert fault.restarts((restart,), at(5), ()) == (restart,)
    assert fault.restarts((restart,), at(6), {"r"}) == ()
    assert [fault.is_over(restart, at(seconds)) for seconds in (4, 5)] == [False, True]


def test_what_is_over_may_go() -> None:
    assert [fault.is_over(Crash(until=stamp(3)), at(seconds)) for seconds in (2, 3)] == [False, True]
    assert not fault.is_over(Crash(), T)


@pytest.mark.parametrize(
    ("faults", "late_s"),
    [
        ((), 0),
        ((Crash(),), 0),
        ((SlowStatus(),), 5),
        ((SlowStatus(extra="uniform(2s, 4s)"),), 3),
        ((SlowStatus(extra="1s"), SlowStatus(extra="2s")), 3),
        ((SlowStatus(since=stamp(1)), SlowStatus(until=stamp(0))), 0),
    ],
)
def test_statuses_are_as_late_as_all_faults_together_make_them(faults: fault.Faults, late_s: float) -> None:
    assert fault.status_late_s(faults, T, at=0.5) == late_s


def test_a_share_of_the_pods_is_judged_wrongly_and_always_the_same() -> None:
    uids = [f"uid-{number}" for number in range(1000)]
    wrong = WrongAdmission(id="a", verdict="rejects", share=0.3)
    met = [uid for uid in uids if fault.wrong_admission((wrong,), T, uid)]
    assert len(met) == pytest.approx(300, abs=60)
    assert met == [uid for uid in uids if fault.wrong_admission((Crash(), wrong), T, uid)]
    assert not any(fault.wrong_admission((), T, uid) for uid in uids)
    over = WrongAdmission(verdict="rejects", until=stamp(0))
    assert fault.wrong_admission((over,), T, "uid-0") is None
