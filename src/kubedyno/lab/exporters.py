"""Exporters of NUMA zones as scenarios use them: started for a trial, steered, and looked at.

They run in this process, or beside it as a process of their own. Steering is an annotation of the node, so it is the
same for both.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from typing import Final

import msgspec

from kubedyno.client import kubeconfig
from kubedyno.client.access import Access
from kubedyno.client.errors import ApiError, Unreachable
from kubedyno.client.rest import Client
from kubedyno.kit import tasks
from kubedyno.kit.clock import NS_PER_S, Clock
from kubedyno.kit.errors import EngineError, NotApplicable, UsageError
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import NODES, Resource
from kubedyno.lab.creating import RUN_LABEL
from kubedyno.lab.grounds import Ground
from kubedyno.lab.ledgers import NOBODY, Kubelets, Ledgers, kubelets_of
from kubedyno.lab.starting import RunningLab
from kubedyno.plane.component import Component
from kubedyno.plane.ports import LOOPBACK
from kubedyno.plane.supervision import Supervisor
from kubedyno.sim.exporters import mounting, publishing, steering
from kubedyno.sim.exporters.connecting import USER_AGENT
from kubedyno.sim.exporters.distorting import Distortion
from kubedyno.sim.exporters.exporting import Exporters as OwnExporters
from kubedyno.sim.exporters.reporting import Report
from kubedyno.sim.exporters.settings import Settings
from kubedyno.sim.exporters.steering import Steering
from kubedyno.sim.exporters.views import OwnViews, ServedViews
from kubedyno.sim.kubelet.machines import build_of

WRITTEN_WITHIN_S: Final = 120.0
HEEDED_WITHIN_S: Final = 30.0
_LOOK_EVERY_S: Final = 0.05
_TELL_EVERY_S: Final = 1.0
_WRITERS: Final = 16
_CONNECTIONS: Final = 64


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where exporters of a trial work, and over what."""

    client: Client
    kubelets: Kubelets
    pages: Client | None = None
    """Of the simulator, where it is another process."""
    access: Access | None = None
    """How others connect; None: only within this process."""
    running: RunningLab | None = None
    selector: str | None = None
    """Of the trial's nodes; None: all."""
    is_shared: bool = False
    """Whether others were there before: then nothing of ours may stay."""
    seed: int = 0


class Exporters:
    """The exporters of a trial's nodes with NUMA zones."""

    def __init__(self, place: Place | None, *, clock: Clock, group: asyncio.TaskGroup | None = None) -> None:
        """Without a place there are none, and cannot be."""
        self._place = place
        self._clock = clock
        self._group = group
        self._settings = Settings()
        self._own: OwnExporters | None = None
        self._task: asyncio.Task[None] | None = None
        """Works, or asks the process beside what it did."""
        self._beside: Client | None = None
        """Of the pages of the process beside."""
        self._told = Report()

    @property
    def report(self) -> Report:
        """What they did so far; of a process beside as it told within the last second, see `refresh`."""
        if self._own is not None:
            self._told = self._own.report()
        return self._told

    async def refresh(self) -> Report:
        """The report as it is now, wherever they run."""
        if self._beside is not None:
            self._told = await _fetched(self._beside)
        return self.report

    async def start(self, settings: Settings | None = None, *, beside: bool = False) -> None:
        """Start an exporter for every node with NUMA zones, now and later; return when each has written its object.

        They work until the trial ends, or `stop`. `beside` gives them a process of their own. NotApplicable where
        kubelets cannot be asked, or the kind of object is not served.
        """
        place, group = self._usable()
        if self._task is not None:
            raise UsageError("exporters are at work already: stop them first")
        self._settings = settings or Settings()
        await self._refuse_unserved(place)
        self._told = Report()
        if beside:
            await self._start_beside(place, group)
        else:
            self._task = group.create_task(self._work(place), name="exporters")
        await self._until_written(place)

    async def stop(self) -> None:
        """End all of them; what they wrote stays, but on a lab that others use."""
        if self._task is None:
            return
        place, _ = self._usable()
        if self._beside is not None and not tasks.is_being_cancelled():
            with contextlib.suppress(Unreachable):  # what it told last is told
                await self.refresh()
        told = self.report
        self._task.cancel()
        await asyncio.wait([self._task])
        self._task = self._own = None
        if place.is_shared:
            await _remove(place.client, publishing.resource_of(self._settings), told.age_s)

    # Steering.

    async def freeze(self, names: Iterable[str]) -> None:
        """They look, and do not write. Returns when they heed it, as all of these do."""
        await self._steer(names, frozen=True)

    async def thaw(self, names: Iterable[str]) -> None:
        """They write again: at their next look."""
        await self._steer(names, frozen=False)

    async def crash(self, names: Iterable[str], *, loop_s: float | None = None) -> None:
        """They end, and their memory is lost; with `loop_s` they come back so long after, write once and end again."""
        await self._steer(names, crashed=loop_s is None, crash_loop_s=loop_s)

    async def restart(self, names: Iterable[str]) -> None:
        """Those that crashed are there again, and look at once."""
        await self._steer(names, crashed=False, crash_loop_s=None)

    async def refuse(self, names: Iterable[str], code: int) -> None:
        """The API server answers them with this HTTP status: 409 (to writes alone), 429, or 500 to 599."""
        await self._steer(names, refused_with=code)

    async def serve(self, names: Iterable[str]) -> None:
        """The API server does again what they ask for: at their next look, or when they repeat a request."""
        await self._steer(names, refused_with=None)

    async def distort(self, names: Iterable[str], distortions: Sequence[Distortion]) -> None:
        """From their next look on they write what is not so: these distortions, and no earlier ones."""
        await self._steer(names, distortions=tuple(distortions))

    async def straighten(self, names: Iterable[str]) -> None:
        """From their next look on they write what they see."""
        await self._steer(names, distortions=())

    # What they wrote.

    async def written(self) -> Mapping[str, Object]:
        """The objects as they are now, by the names of nodes."""
        place, _ = self._usable()
        listing = await place.client.list_all(publishing.resource_of(self._settings))
        return {one["metadata"]["name"]: one for one in listing.items}

    async def _steer(self, names: Iterable[str], **changes: object) -> None:
        place, _ = self._usable()
        wanted: dict[str, str] = {}
        room = asyncio.Semaphore(_WRITERS)

        async def one(name: str) -> None:
            async with room:
                wanted[name] = await _annotate(place.client, name, changes)

        async with tasks.owning() as group:
            for name in names:
                group.create_task(one(name), name=f"steer the exporter of {name}")
        if self._task is None:
            return
        await self._until(
            lambda report: [name for name, text in wanted.items() if report.steered.get(name, "") != text],
            within_s=HEEDED_WITHIN_S,
            what="heed what their nodes say",
        )

    # Working.

    def _usable(self) -> tuple[Place, asyncio.TaskGroup]:
        why_not = NOBODY if self._place is None or self._group is None else self._place.kubelets.why_not
        if self._place is None or self._group is None or why_not:
            raise NotApplicable(f"there can be no exporters of NUMA zones: {why_not}")
        return self._place, self._group

    async def _refuse_unserved(self, place: Place) -> None:
        resource = publishing.resource_of(self._settings)
        try:
            await place.client.list(resource, limit=1)
        except ApiError as error:
            if not error.is_not_found:
                raise
            raise NotApplicable(
                f"there can be no exporters of NUMA zones: {resource.kind} of {resource.api_version} is not served here"
            ) from None

    async def _work(self, place: Place) -> None:
        if place.kubelets.fleet is not None:
            views: OwnViews | ServedViews = OwnViews(place.kubelets.fleet, self._clock)
        elif place.pages is not None:
            views = ServedViews(place.pages)
        else:
            raise EngineError(f"exporters cannot work: {NOBODY}")

        def connect(connections: int = 1) -> contextlib.AbstractAsyncContextManager[Client]:
            if place.access is None:
                return contextlib.nullcontext(place.client.known_as(USER_AGENT))
            return Client.connect(place.access, connections=connections, clock=self._clock, manager=USER_AGENT)

        async with connect(_CONNECTIONS) as client:
            self._own = OwnExporters(
                client,
                views,
                self._settings,
                clock=self._clock,
                seed=place.seed,
                connect=connect,
                selector=place.selector,
            )
            await self._own.run()

    async def _start_beside(self, place: Place, group: asyncio.TaskGroup) -> None:
        running = place.running
        if running is None or not place.kubelets.url:
            why = "time is virtual" if running is not None else "the lab belongs to another process"
            raise NotApplicable(f"exporters cannot have a process of their own here: {why}; leave `beside` out")
        port = running.plan.site.draw_port()
        component = mounting.component(
            self._settings,
            kubeconfig=running.kubeconfig,
            views_url=place.kubelets.url,
            file=running.plan.site.folder / "exporters.json",
            port=port,
            seed=place.seed,
            selector=place.selector,
        )
        is_up = asyncio.Event()
        self._task = group.create_task(self._keep(component, running.supervisor, is_up), name="exporters beside")
        await is_up.wait()

    async def _keep(self, component: Component, supervisor: Supervisor, is_up: asyncio.Event) -> None:
        """The process, and what it tells of itself now and then, until cancelled."""
        url = f"http://{LOOPBACK}:{component.ports['metrics']}"
        try:
            await supervisor.start([component])
            async with Client.connect(Access(server=url), clock=self._clock) as self._beside:
                is_up.set()
                while True:
                    await self._clock.sleep(_TELL_EVERY_S)
                    with contextlib.suppress(Unreachable):  # if it is gone, its supervisor knows why
                        await self.refresh()
        finally:
            self._beside = None
            await supervisor.stop([component.name])

    async def _until_written(self, place: Place) -> None:
        nodes = (await place.client.list_all(NODES, label_selector=place.selector)).items
        names = [node["metadata"]["name"] for node in nodes if _has_zones(node)]
        await self._until(
            lambda report: [name for name in names if name not in report.age_s],
            within_s=WRITTEN_WITHIN_S,
            what="write their objects",
        )

    async def _until(self, missing: Callable[[Report], list[str]], *, within_s: float, what: str) -> None:
        deadline_ns = self._clock.monotonic_ns() + round(within_s * NS_PER_S)
        while left := missing(await self.refresh()):
            if self._clock.monotonic_ns() > deadline_ns:
                few = ", ".join(left[:3])
                said = "".join(f"; {note}" for note in self._told.notes[-1:])
                raise EngineError(
                    f"exporters of {len(left)} nodes ({few}) did not {what} within {within_s:g} s: "
                    f"failed were {dict(self._told.failures)} of their writes and {dict(self._told.view_failures)} of "
                    f"their questions{said}"
                )
            await self._clock.sleep(_LOOK_EVERY_S)


async def _fetched(pages: Client) -> Report:
    response = await pages.request_raw("GET", mounting.REPORT_PAGE)
    return msgspec.json.decode(response.body, type=Report)


async def _remove(client: Client, resource: Resource, names: Iterable[str]) -> None:
    for name in names:
        try:
            await client.delete(resource, name)
        except ApiError as error:
            if not error.is_not_found:  # its node may have gone before it
                raise


def _has_zones(node: Object) -> bool:
    try:
        return build_of(node).numa is not None
    except UsageError:
        return False


async def _annotate(client: Client, name: str, changes: Mapping[str, object]) -> str:
    """Steer the exporter of a node; the annotation that it has then."""
    try:
        node = await client.get(NODES, name)
    except ApiError as error:
        if not error.is_not_found:
            raise
        raise UsageError(f"node {name} has no exporter: there is no such node") from None
    if not _has_zones(node):
        raise UsageError(f"node {name} has no exporter: its kubelet aligns nothing to NUMA zones")
    wanted: Steering = steering.check(msgspec.structs.replace(steering.of(node), **changes))
    await client.patch(NODES, name, steering.annotated(wanted), kind="merge")
    return steering.written(wanted) or ""


@contextlib.asynccontextmanager
async def exporting(
    ground: Ground, *, seed: int, run_id: str, clock: Clock
) -> AsyncIterator[tuple[Exporters, Ledgers]]:
    """The exporters and ledgers of a trial. When the block ends, no exporter works any more."""
    kubelets = kubelets_of(ground.running, ground.kubelets_url)
    async with contextlib.AsyncExitStack() as stack:
        pages = None
        if kubelets.fleet is None and kubelets.url:
            connected = Client.connect(Access(server=kubelets.url), connections=_CONNECTIONS, clock=clock)
            pages = await stack.enter_async_context(connected)
        place = Place(
            client=ground.client,
            kubelets=kubelets,
            pages=pages,
            access=access_of(ground),
            running=ground.running,
            selector=f"{RUN_LABEL}={run_id}" if ground.keeps_apart else None,
            is_shared=ground.cleaner is not None,
            seed=seed,
        )
        async with tasks.owning() as group:
            exporters = Exporters(place, clock=clock, group=group)
            try:
                yield exporters, Ledgers(kubelets, pages)
            finally:
                await exporters.stop()


def access_of(ground: Ground) -> Access | None:
    """How others get connections of their own; on the embedded engine they need none."""
    running = ground.running
    if running is None or running.plan.control_plane.embedded_port is not None:
        return None
    return kubeconfig.load(running.kubeconfig)
