"""Stores of runs that nobody ran: for tests of the dashboard, for its benchmark, and to show it.

They are generated from a seed, and say so: in the version of kubedyno, in the command, and in a tag of each test.
`python -m tests.generated_store FOLDER` makes one whose last run began a day ago.
"""

import asyncio
import random
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from hashlib import sha1
from pathlib import Path

import msgspec
from tests.records import RUN, TRIAL

from kubedyno.kit.clock import RealClock
from kubedyno.measure.records import Host, Measurement, Program, RunRecord, TrialRecord, TrialSummary, Verdict
from kubedyno.results.comparison.history import Turns, find_turns, lines_of
from kubedyno.results.folder import RunFolder
from kubedyno.results.ginkgo import ginkgo
from kubedyno.results.publishing import manifest, rows
from kubedyno.results.publishing.manifest import MANIFEST, REGRESSIONS, Entry, Manifest
from kubedyno.results.publishing.opening import open_place
from kubedyno.results.publishing.own_rows import row_of
from kubedyno.results.publishing.places import Place
from kubedyno.results.publishing.store import Store

DAYS = 60
END = datetime(2026, 11, 15, 2, tzinfo=UTC)
"""When the last run begins."""
FAILED_DAY = 52
"""Of the planted failure, from 0 on."""
FAILURE = "37 of 4000 pods were not scheduled within 600 s"
LOG_LINE = "E1107 02:11:09.123456       1 binder.go:211] planted: binding was refused: context deadline exceeded"
SLOWER_DAY = 43
"""Since when one figure of one line is slower."""
SLOWER_BY = 0.18
SCENARIOS = {"fill": 120.0, "gang": 45.0, "reclaim": 80.0, "topology": 30.0}
SCHEDULERS = {"kai": 1.0, "volcano": 1.25}
_HOST = Host(cores=16, memory_bytes=64 * 2**30, kernel="generated", architecture="x86_64", python="3.11")


def commit_of(day: int) -> str:
    return sha1(f"generated {day}".encode(), usedforsecurity=False).hexdigest()


def run_id(day: int, end: datetime = END) -> str:
    return f"{_began(day, end):%Y%m%d-%H%M%S}-generated"


async def publish_generated(place: Place, *, days: int = DAYS, end: datetime = END) -> None:
    """Publish a run for each day, with a failure and a regression among them, and look for the latter."""
    store = Store(place, clock=RealClock(), generator=random.Random(1))  # noqa: S311 - pauses, no secrets
    with tempfile.TemporaryDirectory() as folder:
        for day in range(DAYS - days, DAYS):
            await store.publish(_run_folder(Path(folder), day, end), commit=commit_of(day), ref="main")
    lines = lines_of(await store.rows())
    found = Turns(lines=len(lines), regressions=tuple(find_turns(lines, threshold=0.05)))
    await place.write(REGRESSIONS, msgspec.json.encode(found))


def _began(day: int, end: datetime = END) -> datetime:
    return end - timedelta(days=DAYS - 1 - day)


def _run_folder(out: Path, day: int, end: datetime) -> Path:
    folder = RunFolder(out, run_id(day, end))
    run = _run(run_id(day, end), _began(day, end), programs={"kube-apiserver": f"v1.{35 + day // 30}.0"})
    folder.begin(run)
    failed = False
    for trial in _trials(day):
        logs = None
        if trial.verdict == Verdict.FAILED:
            failed = True
            logs = out / f"logs-{day}"
            logs.mkdir()
            (logs / "binder.log").write_text(f"I1107 02:11:08.000000       1 all is well\n{LOG_LINE}\n")
        folder.trial(trial, objects=(), series=(), logs=logs)
    return folder.end(msgspec.structs.replace(run, verdict=Verdict.FAILED if failed else Verdict.PASSED))


def _run(name: str, began: datetime, *, programs: dict[str, str]) -> RunRecord:
    return msgspec.structs.replace(
        RUN,
        id=name,
        kubedyno="generated",
        command=("python", "-m", "tests.generated_store"),
        started_at=began.isoformat().replace("+00:00", "Z"),
        host=_HOST,
        programs={key: Program(version=version, source="generated", path="") for key, version in programs.items()},
        verdict=Verdict.PASSED,
        exit_code=0,
    )


def _trials(day: int) -> Iterator[TrialRecord]:
    drawn = random.Random(day)  # noqa: S311 - data, no secrets
    for scenario, usual_s in SCENARIOS.items():
        for scheduler, factor in SCHEDULERS.items():
            planted = (scenario, scheduler) == ("gang", "kai") and day >= SLOWER_DAY
            failed = (scenario, scheduler, day) == ("fill", "kai", FAILED_DAY)
            time_s = usual_s * factor * drawn.gauss(1, 0.02) * (1 + SLOWER_BY if planted else 1)
            yield msgspec.structs.replace(
                TRIAL,
                scenario=scenario,
                tags=("generated", "nightly"),
                parameters={"nodes": 500},
                scheduler=scheduler,
                duration_s=time_s + 20,
                measurements=(
                    _measured("time to schedule", "s", time_s, 0.03),
                    _measured("pods per second", "1/s", 4000 / time_s, 0.03),
                    _measured("placement latency p99", "s", time_s / 9, 0.06),
                ),
                verdict=Verdict.FAILED if failed else Verdict.PASSED,
                message=FAILURE if failed else "",
            )


def _measured(name: str, unit: str, value: float, spread: float) -> Measurement:
    return Measurement(
        name=name, unit=unit, value=value, lower=value * (1 - spread), upper=value * (1 + spread), samples=()
    )


async def write_large(place: Place, *, runs: int, tests: int, end: datetime = END) -> None:
    """A store of many runs within the last thirty days, its index written at once: what a busy team has."""
    rows_by_month: dict[str, list[rows.RunRow]] = {}
    entries = []
    for number in range(runs):
        drawn = random.Random(number)  # noqa: S311 - data, no secrets
        began = end - timedelta(minutes=number * 29 * 24 * 60 / runs)
        run = _run(f"{began:%Y%m%d-%H%M%S}-{number:05d}", began, programs={"kube-apiserver": "v1.36.0"})
        trials = [_one_of_many(place_of, drawn) for place_of in range(tests)]
        summaries = tuple(
            TrialSummary(
                folder=f"trials/{at}",
                scenario=one.scenario,
                scheduler=one.scheduler,
                verdict=one.verdict,
                duration_s=one.duration_s,
                message=one.message,
            )
            for at, one in enumerate(trials)
        )
        run = msgspec.structs.replace(run, trials=summaries)
        entry = Entry(timestamp=run.started_at, path=manifest.report_path(run.id), commit=commit_of(number))
        entries.append(entry)
        rows_by_month.setdefault(entry.month, []).append(row_of(run, trials, commit=entry.commit, ref="main"))
        if number == 0:
            await place.write(entry.path, msgspec.json.encode(ginkgo(run, trials, {})))
    for month, of_month in rows_by_month.items():
        await place.write(rows.shard_path(month), rows.encode(rows.with_rows(rows.Shard(), of_month)))
    await place.write(MANIFEST, manifest.encode(manifest.with_runs(Manifest(), entries)))


def _one_of_many(number: int, drawn: random.Random) -> TrialRecord:
    failed = drawn.random() < 0.01
    time_s = (30 + number) * drawn.gauss(1, 0.05)
    return msgspec.structs.replace(
        TRIAL,
        scenario=f"scenario {number:02d}",
        tags=("generated",),
        parameters={"nodes": 500},
        scheduler="kai" if number % 2 else "volcano",
        duration_s=time_s,
        measurements=(
            _measured("time to schedule", "s", time_s, 0.03),
            _measured("pods per second", "1/s", 4000 / time_s, 0.03),
            _measured("placement latency p99", "s", time_s / 9, 0.06),
        ),
        verdict=Verdict.FAILED if failed else Verdict.PASSED,
        message=FAILURE if failed else "",
    )


if __name__ == "__main__":
    asyncio.run(
        publish_generated(open_place(sys.argv[1], {}), end=datetime.now(UTC) - timedelta(days=1))  # noqa: TID251
    )
