"""Submissions that never were: `submitted.json` and `sampled.json` as a cluster would have given them, by a seed."""

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from kubedyno.model import samples, submissions
from kubedyno.model.samples import Instant, Lag, Recording, SampledFile, WorkloadSample
from kubedyno.model.submissions import Pace, SubmittedFile, SubmittedWorkload, WorkloadType

NS_PER_S: Final = 1_000_000_000
BEGAN_NS: Final = 1_767_323_045_250_000_000
"""2026-01-02T03:04:05.25Z."""

GENERAL: Final = ("submitted", "accepted", "job", "first_pod", "last_bound", "last_running")
DETAILED: Final = (
    "submitted",
    "accepted",
    "volume_bound",
    "job",
    "podgroup",
    "first_pod",
    "gang_ready",
    "last_pod",
    "queued",
    "first_decided",
    "last_decided",
    "first_bound",
    "gang_bound",
    "last_bound",
    "first_running",
    "last_running",
    "evicted",
    "rescheduled",
)

# Median seconds after the step before, and how wide it scatters (sigma of a lognormal).
_GAPS: Final = {
    "accepted": (0.0035, 0.4),
    "job": (0.0004, 0.9),
    "podgroup": (0.030, 0.5),
    "first_pod": (0.022, 0.6),
    "gang_ready": (0.040, 0.4),
    "last_pod": (0.004, 0.4),
    "first_decided": (0.35, 0.9),
    "last_decided": (0.020, 0.5),
    "first_bound": (0.012, 0.4),
    "gang_bound": (0.015, 0.4),
    "last_bound": (0.003, 0.4),
    "first_running": (1.1, 0.15),
    "last_running": (0.2, 0.3),
}


class Troubles(msgspec.Struct, frozen=True, kw_only=True):
    """What went wrong, as shares of all workloads."""

    refused: float = 0.0
    unbound: float = 0.0
    """Accepted, with pods, never bound."""
    erroneous: float = 0.0
    """Times in an order that cannot be."""
    evicted: float = 0.0
    coarse: float = 0.0
    """Known from the server's stamps only: bounds of a second."""


CALM: Final = Troubles()
TROUBLED: Final = Troubles(refused=0.02, unbound=0.04, erroneous=0.02, evicted=0.03, coarse=0.1)


def make_up(
    count: int,
    *,
    workload_type: WorkloadType = "training",
    workers: int = 1,
    per_s: float = 5.0,
    troubles: Troubles = CALM,
    pvc: bool = False,
    seed: int = 1,
) -> tuple[SubmittedFile, SampledFile]:
    """A submission of so many workloads and what was sampled of it."""
    rng = random.Random(seed)  # noqa: S311 - made-up data
    gang = workers if workload_type == "distributed" else 1
    submitted, sampled = [], []
    for index in range(count):
        name = f"{workload_type}-a1b2c3-{index}"
        t_submit = BEGAN_NS + round((index / per_s + rng.expovariate(per_s * 4)) * NS_PER_S)
        fate = rng.random()
        refused = fate < troubles.refused
        unbound = troubles.refused <= fate < troubles.refused + troubles.unbound
        erroneous = 0 <= fate - troubles.refused - troubles.unbound < troubles.erroneous
        steps = _way(rng, t_submit, index / count, workers=gang, pvc=pvc)
        if refused:
            steps = {"submitted": steps["submitted"]}
        if unbound:
            names = list(steps)
            steps = {step: steps[step] for step in names[: names.index("first_decided")]}
        evicted = rng.random() < troubles.evicted and "last_running" in steps
        if evicted:
            evicted_ns = steps["last_running"].at_ns + round(rng.uniform(3, 60) * NS_PER_S)
            steps["evicted"] = _seen(evicted_ns)
            steps["rescheduled"] = _seen(evicted_ns + round(rng.lognormvariate(1, 0.8) * NS_PER_S))
        if rng.random() < troubles.coarse:
            steps = {step: at if at.source == "submitter" else _coarse(at.at_ns) for step, at in steps.items()}
        if erroneous:
            steps["last_bound"] = _seen(steps["last_running"].at_ns + 2 * NS_PER_S)
        uid = None if refused else f"{rng.getrandbits(128):032x}"
        submitted.append(
            SubmittedWorkload(
                name=name,
                kind="Job" if gang == 1 else "PyTorchJob",
                namespace="default",
                project="team-a",
                queue="team-a",
                gpus=1,
                workers=workers,
                template_hash="5e" * 32,
                planned_ns=t_submit,
                t_submit=t_submit,
                t_accepted=None if refused else steps["accepted"].at_ns,
                uid=uid,
                error='exceeded quota: gpus, requested: 1, used: "8"' if refused else None,
            )
        )
        sampled.append(
            WorkloadSample(
                name=name,
                namespace="default",
                kind=submitted[-1].kind,
                uid=uid,
                project="team-a",
                pods=0 if refused else gang,
                gang=gang,
                steps=steps,
                evictions=gang if evicted else 0,
                evicted_by=("reclaim by team-b/greedy",) if evicted else (),
                errors=_errors(refused=refused, unbound=unbound, erroneous=erroneous),
            )
        )
    order = sorted(range(count), key=lambda index: submitted[index].t_submit)
    return _files([submitted[i] for i in order], [sampled[i] for i in order], workload_type, per_s)


def write(folder: Path, files: tuple[SubmittedFile, SampledFile]) -> Path:
    """Write both files into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in zip(("submitted.json", "sampled.json"), files, strict=True):
        (folder / name).write_bytes(msgspec.json.encode(content))
    return folder


def _files(
    submitted: Sequence[SubmittedWorkload], sampled: Sequence[WorkloadSample], workload_type: WorkloadType, per_s: float
) -> tuple[SubmittedFile, SampledFile]:
    first = SubmittedFile(
        format=submissions.FORMAT,
        kubedyno="0.1",
        id="a1b2c3",
        dialect="kai",
        workload_type=workload_type,
        server="https://127.0.0.1:6443",
        asked={"num_workloads": len(submitted), "rate": per_s},
        started_at="2026-01-02T03:04:05.250000Z",
        ended_at="2026-01-02T03:10:45.250000Z",
        simulated=("simulated training operator",) if workload_type == "distributed" else (),
        pace=Pace(asked_per_s=per_s, achieved_per_s=per_s * 0.998, late_p99_s=0.004, limited=False),
        workloads=tuple(submitted),
    )
    second = SampledFile(
        format=samples.FORMAT,
        kubedyno="0.1",
        submission="a1b2c3",
        dialect="kai",
        workload_type=workload_type,
        sampled_at="2026-01-02T03:11:00.000000Z",
        samples=2,
        simulated=first.simulated,
        recordings=(
            Recording(
                began_ns=BEGAN_NS - NS_PER_S,
                ended_ns=BEGAN_NS + 420 * NS_PER_S,
                lag=Lag(probes=836, p50_s=0.0021, p99_s=0.0113, max_s=0.0832),
                watches=(samples.Followed(resource="pods", changes=12_345, cuts=3, relists=0),),
                whole=True,
                proof="every watch was resumed where it ended, and a last list showed nothing unseen",
            ),
        ),
        general=GENERAL,
        detailed=DETAILED,
        workloads=tuple(sampled),
    )
    return first, second


def _way(rng: random.Random, t_submit: int, progress: float, *, workers: int, pvc: bool) -> dict[str, Instant]:
    """Steps of a workload whose scheduler gets slower while the queue fills up."""
    load = 1 + 5 * progress**2
    at_s = 0.0
    steps = {"submitted": Instant(t_submit, t_submit, t_submit, "submitter")}
    for step, (median_s, sigma) in _GAPS.items():
        gang_only = step in {"podgroup", "gang_ready", "last_pod", "gang_bound", "first_decided"}
        gap_s = rng.lognormvariate(0, sigma) * median_s * (load if "decided" in step else 1)
        if workers == 1 and gang_only and step != "first_decided":
            gap_s = 0.0
        if step == "job":
            gap_s -= 0.0012  # the watch tells of it before the submitter's request is answered
        at_s += gap_s
        at_ns = t_submit + round(at_s * NS_PER_S)
        steps[step] = Instant(at_ns, at_ns, at_ns, "submitter") if step == "accepted" else _seen(at_ns)
        if step == "accepted" and pvc:
            steps["volume_bound"] = _seen(at_ns + round(rng.lognormvariate(-4, 0.4) * NS_PER_S))
        if step == "last_pod" and load > 3 and rng.random() < 0.5:
            steps["queued"] = _seen(at_ns + round(0.05 * NS_PER_S))
    return steps


def _seen(at_ns: int) -> Instant:
    return Instant(at_ns, at_ns - 1_500_000, at_ns, "watch")


def _coarse(at_ns: int) -> Instant:
    second = at_ns // NS_PER_S * NS_PER_S
    return Instant(second + NS_PER_S // 2, second, second + NS_PER_S, "server")


def _errors(*, refused: bool, unbound: bool, erroneous: bool) -> tuple[str, ...]:
    found = []
    if refused:
        found.append("refused at submission")
    if unbound:
        found.append("last_bound is missing")
    if erroneous:
        found.append("last_running is before last_bound")
    return tuple(found)
