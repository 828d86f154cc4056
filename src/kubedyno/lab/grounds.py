"""What a trial stands on: a lab of its own, which lives as long as the trial does, or one that was there before."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path

import msgspec

from kubedyno.client.rest import Client
from kubedyno.kit import tasks
from kubedyno.kit.clock import Clock
from kubedyno.kit.errors import NotApplicable
from kubedyno.kit.progress import Progress
from kubedyno.kube.resources import CRDS
from kubedyno.lab import planning, selecting
from kubedyno.lab.cleaning import Cleaner
from kubedyno.lab.folders import LabFolder
from kubedyno.lab.matrix import Trial
from kubedyno.lab.programs import Provided
from kubedyno.lab.selecting import Selection
from kubedyno.lab.starting import RunningLab, started
from kubedyno.lab.steering import AbsentControl, RemoteControl, SchedulerControl
from kubedyno.lab.visiting import Visit
from kubedyno.model.features import Feature, missing
from kubedyno.model.settings import Setting, canonical
from kubedyno.plane.ports import LOOPBACK, free_ports
from kubedyno.schedulers import SCHEDULERS
from kubedyno.sim import mounting
from kubedyno.sim.serving import simulate_beside
from kubedyno.sim.simulating import Simulation


class Ground(msgspec.Struct, frozen=True, kw_only=True):
    """A cluster that a scenario can run on."""

    client: Client
    scheduler: SchedulerControl
    namespace: str
    settings: tuple[Setting, ...] = ()
    pids: Callable[[], Mapping[str, int]] = dict
    """Processes of its components that are on this machine, by component."""
    running: RunningLab | None = None
    """The lab, where it is the trial's own."""
    cleaner: Cleaner | None = None
    """Where others were there before: who removes what the trial made."""
    lacks: Mapping[Feature, str] = {}
    """What the scheduler cannot express here, and why."""
    kubelets_url: str = ""
    """Pages of the simulator of a lab that is another process's; empty: there is none, or the lab is our own."""
    is_foreign: bool = False
    """Whether it is no lab of ours."""
    drives_nodes: bool = False
    """Whether the kubelets of the trial's nodes are played by this process, since nobody else does."""
    keeps_apart: bool = False
    """Whether others have nodes and pods there: then the trial's are for each other alone."""


@contextlib.asynccontextmanager
async def own_ground(
    trial: Trial, *, folder: Path, provided: Provided, clock: Clock, progress: Progress
) -> AsyncIterator[Ground]:
    """A lab of the trial's own below `folder`, for the duration of the block."""
    plan = planning.plan(trial.spec, folder=folder, draw_port=free_ports())
    async with started(plan, provided=provided, clock=clock, progress=progress) as lab:
        yield Ground(
            client=lab.client,
            scheduler=lab.scheduler,
            namespace=trial.scenario.name.replace("/", "-"),
            settings=lab.settings,
            pids=lambda: {name: process.pid for name, process in lab.supervisor.processes.items()},
            running=lab,
            lacks=await _lacks(trial, lab.client),
        )


@contextlib.asynccontextmanager
async def others_ground(trial: Trial, *, selection: Selection, clock: Clock) -> AsyncIterator[Ground]:
    """A lab or cluster that was there before. When the block ends, exactly what the run made there is removed.

    Where nobody plays the kubelets of simulated nodes, those of the trial's nodes are played here meanwhile.
    """
    lab = selecting.lab_of(selection)
    settings = () if lab is None else settings_of(lab)
    _refuse_other_settings(trial, settings, selection)
    scheduler = AbsentControl(clock) if lab is None else RemoteControl(lab.control_socket, clock)
    async with selecting.selected(selection, clock=clock) as client, tasks.owning() as group:
        cleaner = Cleaner(client, trial.run_id, clock)
        playing: asyncio.Task[None] | None = None
        try:
            visit = Visit(client, SCHEDULERS.get(trial.spec.scheduler), where=selection.told, run_id=trial.run_id)
            lacks = {**await _lacks(trial, client), **await visit.lacks()}
            _refuse_lacking(trial, lacks)
            if lab is None:
                await visit.create_missing(cleaner)
                is_played = await visit.probe(clock)
            else:
                is_played = trial.spec.kubelet != "none"
            if not is_played:
                kubelets = simulate_beside(
                    selecting.access(selection), Simulation(seed=trial.seed), None, manages=cleaner.has_node
                )
                playing = group.create_task(kubelets, name="play the kubelets of the trial's nodes")
            yield Ground(
                client=client,
                scheduler=scheduler,
                namespace=f"{trial.scenario.name.replace('/', '-')}-{trial.run_id}",
                settings=settings,
                cleaner=cleaner,
                lacks=lacks,
                kubelets_url="" if lab is None else _kubelets_url(lab),
                is_foreign=lab is None,
                drives_nodes=playing is not None,
                keeps_apart=True,
            )
        finally:
            await scheduler.restore()
            await cleaner.clean()
            if playing is not None:
                playing.cancel()


async def _lacks(trial: Trial, client: Client) -> Mapping[Feature, str]:
    """A scheduler's kinds are what is installed: another release may have other fields."""
    definitions = (await client.list_all(CRDS)).items
    return SCHEDULERS.get(trial.spec.scheduler).lacks_with(definitions)


def _refuse_lacking(trial: Trial, lacks: Mapping[Feature, str]) -> None:
    reasons = "; ".join(missing(trial.scenario.needs, lacks))
    if reasons:
        raise NotApplicable(f"scheduler {trial.spec.scheduler} cannot do it here: {reasons}")


def _refuse_other_settings(trial: Trial, settings: tuple[Setting, ...], selection: Selection) -> None:
    """NotApplicable where a scenario needs settings that a lab which is there already does not have."""
    known = {f"{one.component}.{one.field}": one.value for one in settings}
    for path, value in trial.scenario.settings_for(trial.spec.scheduler, trial.parameters).items():
        if canonical(known.get(path, "")) != canonical(value):
            raise NotApplicable(
                f"it needs {path}={value}, and {selection.told} has {known.get(path, 'not said what it has')}: "
                "let it have a lab of its own"
            )


def _kubelets_url(lab: LabFolder) -> str:
    """The pages of a lab's simulated kubelets; empty: it has none."""
    status = lab.read_status()
    ports = [one.ports.get("metrics") for one in status.components if one.name == mounting.NAME] if status else []
    return f"http://{LOOPBACK}:{ports[0]}" if ports and ports[0] else ""


def settings_of(lab: LabFolder) -> tuple[Setting, ...]:
    """What the components of a lab that stays run with, as its owner read it back."""
    status = lab.read_status()
    return msgspec.convert(status.settings, tuple[Setting, ...]) if status is not None else ()
