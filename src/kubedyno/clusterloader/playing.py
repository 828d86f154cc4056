"""Playing a config: namespaces, dependencies, steps, and what is left of them when all is over.

Steps run one after the other; what a step holds runs side by side. A step that fails does not stop the test, unless a
measurement says that its failure is fatal.
"""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Iterable

from kubedyno.client import versions
from kubedyno.clusterloader import chaos, namespaces
from kubedyno.clusterloader.config import Config, Measurement, Phase, Step
from kubedyno.clusterloader.config import Dependency as Asked
from kubedyno.clusterloader.dependencies import DEPENDENCIES
from kubedyno.clusterloader.dependencies.depending import Dependency, Surroundings
from kubedyno.clusterloader.loading.phases import Phases, Templates
from kubedyno.clusterloader.measurements import METHODS
from kubedyno.clusterloader.measurements.measuring import Background, Result, Scene
from kubedyno.clusterloader.measurements.measuring import Measurement as Instance
from kubedyno.clusterloader.measurements.params import Params
from kubedyno.clusterloader.measurements.prometheus import reached
from kubedyno.clusterloader.measurements.scrapes import Scrapes
from kubedyno.clusterloader.reporting import junit
from kubedyno.clusterloader.reporting.summaries import Gathered
from kubedyno.kit import randomness, tasks
from kubedyno.kit.clock import NS_PER_S
from kubedyno.kit.errors import EngineError, KubedynoError
from kubedyno.lab.lab import Lab
from kubedyno.sim.kubelet.plans import USUAL_TIMES, JobTimes


class Played:
    """What a test has come to so far: kept apart, so that a failure loses nothing."""

    def __init__(self) -> None:
        self.duration_s = 0.0
        self.problem = ""
        """What ended the test before its steps, or between them; empty: it came to its end."""
        self.kubernetes_version = ""
        """What the server says that it is; empty: it was not asked yet."""
        self.steps: list[junit.Case] = []
        self.gathered: list[Gathered] = []
        self.remarks: list[str] = []
        """What was done otherwise than the config says."""


class Player:
    """Plays one config on a lab that has its nodes, but for those that dependencies bring."""

    def __init__(
        self,
        config: Config,
        templates: Templates,
        lab: Lab,
        *,
        prefix: str,
        job_times: JobTimes = USUAL_TIMES,
        may_execute: bool = False,
        keeps: bool = False,
        prometheus_url: str = "",
    ) -> None:
        """With `may_execute` steps may run programs on this machine; with `keeps` dependencies stay.

        The names of its namespaces begin with `prefix`. `job_times` is how long pods work by their label `job-type`.
        At `prometheus_url` a server answers queries; without it our own scrapes do.
        """
        self._config = config
        self._templates = templates
        self._lab = lab
        self._may_execute = may_execute
        self._keeps = keeps
        self._prometheus_url = prometheus_url
        self._rng: random.Random = randomness.stream(lab.seed, "clusterloader")
        self._prefix = prefix
        self._job_times = job_times
        self._made: tuple[str, ...] = ()
        """Namespaces that were not there before."""
        self._pods: set[tuple[str, str]] = set()
        """Pods (namespace and name) that phases have made themselves."""
        self._instances: dict[tuple[str, str], Instance] = {}

    async def play(self, played: Played) -> None:
        """Run the whole test. What it comes to is in `played`, and whether that is right in the lab's checks."""
        played.kubernetes_version = await versions.server_version(self._lab.client)
        async with (
            self._prepared(played),
            reached(self._prometheus_url) as prometheus,
            tasks.owning() as group,
        ):
            background = Background(group)
            scene = Scene(
                client=self._lab.client,
                clock=self._lab.clock,
                background=background,
                scraper=self._lab.scraper,
                scrapes=Scrapes(self._lab.scraper, self._lab.clock),
                prometheus=prometheus,
                prefix=self._prefix,
                render=lambda path: self._templates.render(path, self._config.values),
                unleash=lambda monkey, failed: chaos.unleash(monkey, self._lab, self._rng, failed),
                may_execute=self._may_execute,
            )
            phases = Phases(
                self._config,
                self._templates,
                self._lab.client,
                prefix=self._prefix,
                own=self._made,
                clock=self._lab.clock,
                rng=self._rng,
                on_started=self._paced,
            )
            phases.on_accepted = self._accepted
            phases.on_deleting = self._lab.creator.on_deleting
            if self._config.chaos is not None:
                background.start(chaos.unleash(self._config.chaos, self._lab, self._rng, set()), name="let nodes fail")
            try:
                with self._lab.timed():
                    await self._steps(phases, scene, played)
            finally:
                background.end()
                played.remarks += phases.remarks
                self._lab.creator.on_deleting(self._pods)  # with their namespaces, if not before
                if not self._keeps:
                    await phases.clear()

    def _accepted(self, pods: Iterable[tuple[str, str]]) -> None:
        """The audit is to know which pods must be seen, and are not lost when the test is over."""
        self._pods.update(pods)
        self._lab.creator.on_accepted(pods)

    def _paced(self, late_s: float) -> None:
        """Let the audit know how well we keep our times."""
        now_ns = self._lab.clock.wall_ns()
        self._lab.creator.on_paced(now_ns - round(late_s * NS_PER_S), now_ns)

    # Around the steps.

    @contextlib.asynccontextmanager
    async def _prepared(self, played: Played) -> AsyncIterator[None]:
        """Namespaces, then dependencies. Namespaces go first: nodes that have gone could not end their pods."""
        async with tasks.owning() as group:
            background = Background(group)
            try:
                async with contextlib.AsyncExitStack() as dependencies, contextlib.AsyncExitStack() as own:
                    await self._make_namespaces(own)
                    await self._set_up_all(dependencies, background, played)
                    yield
            finally:
                background.end()

    async def _make_namespaces(self, stack: contextlib.AsyncExitStack) -> None:
        wanted, client = self._config.namespaces, self._lab.client
        self._made = await namespaces.prepare(client, wanted, self._prefix, run_id=self._lab.run_id)
        if wanted.deletes_own:
            stack.push_async_callback(namespaces.delete, client, self._made, timeout_s=wanted.delete_timeout_s)

    async def _set_up_all(self, stack: contextlib.AsyncExitStack, background: Background, played: Played) -> None:
        """All dependencies, in their order; what was set up, wholly or in part, is torn down in the reverse one.

        Those that are to stay do so when all are there.
        """
        surroundings = Surroundings(
            client=self._lab.client,
            background=background,
            run_id=self._lab.run_id,
            job_times=self._job_times,
            is_foreign=self._lab.is_foreign,
            drives_nodes=self._lab.drives_nodes,
            own_nodes=self._lab.own_nodes,
            remarks=played.remarks,
        )
        for asked in self._config.dependencies:
            dependency = DEPENDENCIES[asked.method].make(surroundings)
            stack.push_async_callback(dependency.tear_down)
            await self._set_up(asked, dependency)
        if self._keeps:
            stack.pop_all()

    async def _set_up(self, asked: Asked, dependency: Dependency) -> None:
        params = Params(asked.params, of=f"dependency {asked.name}", place=asked.place)
        try:
            async with asyncio.timeout(asked.timeout_s or None):
                await dependency.set_up(params)
        except TimeoutError:
            raise EngineError(
                f"dependency {asked.name} was not set up within {asked.timeout_s:g} s ({asked.place}): "
                "give it a longer timeout"
            ) from None

    # Steps.

    async def _steps(self, phases: Phases, scene: Scene, played: Played) -> None:
        steps = self._config.steps
        for number, step in enumerate(steps, 1):
            if await self._step(number, step, phases, scene, played):
                continue
            if number < len(steps):
                self._lab.expect(
                    "all steps",
                    holds=False,
                    detail=f"step {number} failed for good: {len(steps) - number} were not run",
                )
            return

    async def _step(self, number: int, step: Step, phases: Phases, scene: Scene, played: Played) -> bool:
        """Whether the test goes on."""
        name = self._config.name
        begun_ns = self._lab.clock.monotonic_ns()
        if step.phases:
            errors: list[str] = []
            async with tasks.owning() as group:
                for phase in step.phases:
                    group.create_task(self._phase(phase, phases, errors), name=f"phase of {step.name}")
            self._tell(junit.step_name(name, number, step.name), begun_ns, tuple(errors), played)
            return True
        results: list[Result | None] = [None] * len(step.measurements)
        async with tasks.owning() as group:
            for index, measurement in enumerate(step.measurements):

                async def run(index: int = index, measurement: Measurement = measurement) -> None:
                    result = results[index] = await self._measure(measurement, scene)
                    case = junit.measurement_name(name, number, step.name, index, measurement.identifier)
                    self._tell(case, begun_ns, result.errors, played, skipped=result.skipped)

                group.create_task(run(), name=f"{measurement.method} {measurement.identifier}")
        # They are told as they end, and stand in the order of the config.
        played.steps[-len(results) :] = sorted(played.steps[-len(results) :], key=lambda case: case.name)
        checks = self._lab.checks
        checks[-len(results) :] = sorted(checks[-len(results) :], key=lambda check: check.name)
        for done in results:
            if done is not None:
                gathered_ns = self._lab.clock.wall_ns()
                played.remarks += done.remarks
                played.gathered += [Gathered(summary, gathered_ns) for summary in done.summaries]
        return not any(done is not None and done.is_fatal and done.errors for done in results)

    async def _phase(self, phase: Phase, phases: Phases, errors: list[str]) -> None:
        try:
            errors += await phases.run(phase)
        except KubedynoError as error:
            errors.append(str(error))

    async def _measure(self, measurement: Measurement, scene: Scene) -> Result:
        key = measurement.method, measurement.identifier
        if key not in self._instances:
            self._instances[key] = METHODS[measurement.method].make(measurement.identifier, scene)
        of = f"{measurement.method} {measurement.identifier}"
        try:
            return await self._instances[key].execute(Params(measurement.params, of=of, place=measurement.place))
        except KubedynoError as error:
            return Result(errors=(str(error),))

    def _tell(self, case: str, begun_ns: int, errors: tuple[str, ...], played: Played, *, skipped: str = "") -> None:
        took_s = (self._lab.clock.monotonic_ns() - begun_ns) / NS_PER_S
        played.steps.append(junit.Case(case, took_s, errors, skipped))
        if skipped and not errors:
            self._lab.skip(case, skipped)
        else:
            self._lab.expect(case, not errors, "; ".join(errors) or f"{took_s:.1f} s")
