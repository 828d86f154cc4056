"""One trial of a scenario without the command: what the runner makes of it, in memory."""

import asyncio
import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from kubedyno.kit import places, tasks
from kubedyno.kit.clock import Clock, RealClock
from kubedyno.kit.progress import Quiet
from kubedyno.kit.virtualtime import LoopClock
from kubedyno.lab import matrix, planning, running
from kubedyno.lab.grounds import own_ground
from kubedyno.lab.matrix import Trial
from kubedyno.lab.programs import Provided, provide
from kubedyno.lab.scenario import Scenario
from kubedyno.lab.spec import DEFAULT_SCHEDULERS, LabSpec, check
from kubedyno.measure.columns import Lived, ObjectRow, SeriesRow
from kubedyno.measure.records import RunRecord, TrialRecord, TrialSummary
from kubedyno.plane.ports import counted_ports


class Tried(msgspec.Struct, kw_only=True):
    """What came out of a trial; it is also what the runner tells it to."""

    record: TrialRecord | None = None
    objects: list[ObjectRow] = []
    series: list[SeriesRow] = []
    lived: Lived = Lived()

    def begin(self, run: RunRecord) -> None:
        """Nothing is written."""

    def trial(
        self,
        record: TrialRecord,
        *,
        objects: Iterable[Sequence[ObjectRow]],
        series: Iterable[Sequence[SeriesRow]],
        lived: Lived,
        summaries: Mapping[str, str | bytes],
        logs: Path | None,
    ) -> TrialSummary:
        """Keep what came out."""
        del summaries, logs
        self.record = record
        self.objects = [row for some in objects for row in some]
        self.series = [row for some in series for row in some]
        self.lived = lived
        return TrialSummary(
            folder="",
            scenario=record.scenario,
            scheduler=record.scheduler,
            verdict=record.verdict,
            duration_s=record.duration_s,
            message=record.message,
        )

    def end(self, run: RunRecord) -> Path:
        """There is no folder."""
        del run
        return Path()


def try_scenario(
    scenario: Scenario,
    *,
    engine: str = "embedded",
    scheduler: str | None = None,
    time: str = "real",
    seed: int = 0,
    settings: Mapping[str, Mapping[str, str]] | None = None,
    lab: Mapping[str, Any] | None = None,
    **parameters: Any,
) -> TrialRecord:
    """Run one trial to its end on a lab of its own; what came out. `lab` are further fields of the LabSpec."""
    return tried(
        scenario,
        engine=engine,
        scheduler=scheduler,
        time=time,
        seed=seed,
        settings=settings or {},
        parameters=parameters,
        **(lab or {}),
    ).record  # type: ignore[return-value] # a trial always has one


def tried(
    scenario: Scenario, *, engine: str, scheduler: str | None, parameters: Mapping[str, Any], **lab: Any
) -> Tried:
    """The same with all rows of the recording."""
    spec = check(LabSpec(name="try", engine=engine, scheduler=scheduler or DEFAULT_SCHEDULERS[engine], **lab))
    texts = {name: str(value) for name, value in parameters.items()}
    known = scenario.with_defaults(texts)
    trial = Trial(
        scenario=scenario,
        parameters=known,
        spec=matrix.for_scenario(spec, scenario, known),
        run_id="try",
    )
    sink = Tried()

    async def run() -> None:
        clock: Clock = LoopClock(asyncio.get_running_loop()) if spec.time == "virtual" else RealClock()
        with tempfile.TemporaryDirectory(prefix="kubedyno-") as folder:
            path = Path(folder)
            provided = await provided_for(trial.spec)
            ground = own_ground(trial, folder=path, provided=provided, clock=clock, progress=Quiet())
            await running.run_trial(trial, ground=ground, folder=path, sink=sink, clock=clock, progress=Quiet())

    tasks.run(run, virtual=spec.time == "virtual")
    return sink


async def provided_for(spec: LabSpec) -> Provided:
    """The programs and CRDs that a lab needs; what is missing is built."""
    plan = planning.plan(spec, folder=Path("unused"), draw_port=counted_ports(1))
    return await provide(plan, cache=places.cache_dir(), env=os.environ, progress=Quiet())
