"""Starting a lab: certificates, the engine, processes in order, activities, objects, nodes, settings read back.

async with started(plan, provided=..., clock=..., progress=...) as lab:
    ...
# nothing runs any more
"""

import contextlib
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

import msgspec

from kubedyno.client import kubeconfig
from kubedyno.client.rest import Client
from kubedyno.kit import tasks
from kubedyno.kit.clock import Clock
from kubedyno.kit.progress import Progress, told
from kubedyno.lab import installing, leaders, operating
from kubedyno.lab.effective import effective_settings, refuse_contradictions
from kubedyno.lab.folders import writing
from kubedyno.lab.planning import LabPlan
from kubedyno.lab.programs import Provided
from kubedyno.lab.steering import SchedulerControl
from kubedyno.model.settings import Setting
from kubedyno.plane import embedded, kubeconfigs, pki, tokens
from kubedyno.plane.activity import Activities, hosting
from kubedyno.plane.balancing import balance
from kubedyno.plane.component import OWN_PROGRAM, leading, set_name
from kubedyno.plane.controller_manager import PROGRAM as MANAGER
from kubedyno.plane.controlplane import ADMIN
from kubedyno.plane.health import Prober
from kubedyno.plane.settings import known_flags, refuse_unknown_flag
from kubedyno.plane.supervision import Supervisor, supervise
from kubedyno.schedulers.scheduler import Reader
from kubedyno.server.embedding import new_api
from kubedyno.server.inprocess import InProcess
from kubedyno.sim import hollow_nodes, pools
from kubedyno.sim.pools import applying
from kubedyno.sim.pools.nodes import node_name

DEFAULT_POOL = "default"


class RunningLab(msgspec.Struct, frozen=True, kw_only=True):
    """A lab that is up."""

    plan: LabPlan
    client: Client
    supervisor: Supervisor
    activities: Activities
    scheduler: SchedulerControl
    kubeconfig: Path
    settings: tuple[Setting, ...]
    """What the components run with, as read back."""
    reader: Reader
    """Reads what components serve."""


@contextlib.asynccontextmanager
async def started(
    plan: LabPlan,
    *,
    provided: Provided,
    clock: Clock,
    progress: Progress,
) -> AsyncIterator[RunningLab]:
    """The lab for the duration of the block; a component that dies ends the block with its story."""
    # Whatever the plan has: exporters beside a lab are kubedyno itself.
    programs = {OWN_PROGRAM: Path(sys.executable), **{name: found.path for name, found in provided.found.items()}}
    await _refuse_unknown_flags(plan, programs)
    token = tokens.new_token()
    admin = _write_identities(plan, clock, token)
    async with contextlib.AsyncExitStack() as stack:
        prober = await stack.enter_async_context(Prober(plan.site.pki))
        supervisor = await stack.enter_async_context(
            supervise(folder=plan.site.folder, programs=programs, prober=prober, clock=clock)
        )
        if plan.control_plane.balancer is not None:
            await stack.enter_async_context(balance(plan.control_plane.balancer, prober=prober, clock=clock))
        client = await stack.enter_async_context(_connected(plan, admin, token, clock))
        activities = await stack.enter_async_context(
            hosting(client, clock=clock, seed=plan.spec.seed, supervisor=supervisor)
        )
        with told(progress, clock, _what(plan)):
            await _start(plan, client, supervisor, activities, provided.crd_folders)
        settings = await effective_settings(plan, supervisor.processes, prober)
        refuse_contradictions(settings)
        yield RunningLab(
            plan=plan,
            client=client,
            supervisor=supervisor,
            activities=activities,
            scheduler=SchedulerControl(
                supervisor,
                plan.scheduler_components,
                clock,
                hosted=activities,
                activities=plan.activities,
                leading=lambda: leaders.leader(plan.scheduler_components, prober),
            ),
            kubeconfig=admin,
            settings=tuple(settings),
            reader=prober,
        )


@contextlib.asynccontextmanager
async def _connected(plan: LabPlan, admin: Path, token: str, clock: Clock) -> AsyncIterator[Client]:
    """A client of the lab's API server. The embedded one is started here, and called without sockets."""
    port = plan.control_plane.embedded_port
    if port is None:
        async with Client.connect(kubeconfig.load(admin), clock=clock) as client:
            yield client
        return
    is_virtual = plan.spec.time == "virtual"
    api = new_api(clock=clock, seed=plan.spec.seed)
    cost_s = embedded.VIRTUAL_COST.call_s if is_virtual else 0.0
    client = Client(InProcess(api, clock=clock, cost_s=cost_s), clock=clock)
    if is_virtual:
        yield client  # nobody outside lives in the same time: there is no address
        return
    async with embedded.reachable(api, port=port, token=token, pki=plan.site.pki):
        yield client


async def _start(
    plan: LabPlan, client: Client, supervisor: Supervisor, activities: Activities, crd_folders: Sequence[Path]
) -> None:
    """Start what can be started as soon as it can: after the API servers, all the rest side by side."""
    servers = [component for component in plan.control_plane.components if component.program != MANAGER]
    managers = [component for component in plan.control_plane.components if component.program == MANAGER]
    await supervisor.start(servers)
    definitions = plan.definitions
    # Before the controllers: the garbage collector looks for new kinds only twice a minute.
    await installing.create_missing(client, definitions)
    activities.start(activity for activity in plan.activities if not activity.decides)
    activities.start(operator.activity for operator in plan.operators)

    async def controllers() -> None:
        await supervisor.start(managers)
        await installing.await_service_account(client, "default")

    async def scheduler() -> None:
        await installing.await_crds(client, definitions)
        await installing.install_crds(client, crd_folders, plan.webhooks)
        await installing.install_objects(client, plan.base_objects)
        await installing.install_webhooks(client, plan.webhooks, plan.site.pki)
        await supervisor.start(plan.scheduler_components)
        activities.start(activity for activity in plan.activities if activity.decides)

    async def operators() -> None:
        await installing.create_missing(client, operating.objects(plan.operators))

    async def nodes() -> None:
        await supervisor.start(plan.kubelet_components)
        if plan.spec.nodes:
            pool = pools.base(DEFAULT_POOL, plan.spec.nodes)
            await applying.apply(client, [pool])
            if plan.spec.kubelet == "kubemark":
                await hollow_nodes.awaited(client, [node_name(pool.name, index) for index in range(pool.size)])

    async with tasks.owning() as group:
        group.create_task(controllers(), name="start the controllers")
        group.create_task(scheduler(), name="start the scheduler")
        group.create_task(operators(), name="prepare the operators")
        group.create_task(nodes(), name="start the nodes")


def _what(plan: LabPlan) -> str:
    spec = plan.spec
    scheduler = "" if plan.scheduler is None else f", {spec.scheduler}"
    return f"starting the control plane{scheduler}" + (f" and {spec.nodes} nodes" if spec.nodes else "")


def _write_identities(plan: LabPlan, clock: Clock, token: str) -> Path:
    """Certificates and a kubeconfig for everybody; the admin's path. Nobody needs any in virtual time.

    The embedded engine knows one user, with `token`; the real one knows everybody by his own.
    """
    if plan.spec.time == "virtual":
        return plan.site.kubeconfig(ADMIN.name)
    with writing(plan.site.folder):
        plan.site.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        material = pki.create(
            plan.site.pki.folder,
            plan.identities,
            clock=clock,
            authorities=tuple(webhooks.authority for webhooks in plan.webhooks),
        )
        if plan.control_plane.embedded_port is None:
            shown = tokens.create(material.tokens, plan.identities)
        else:
            shown = dict.fromkeys((identity.name for identity in plan.identities), token)
        for identity in plan.identities:
            kubeconfigs.write(
                plan.site.kubeconfig(identity.name),
                server=plan.control_plane.url,
                pki=material,
                identity=identity.name,
                lab=plan.spec.name,
                token=shown[identity.name],
            )
    return plan.site.kubeconfig(ADMIN.name)


async def _refuse_unknown_flags(plan: LabPlan, programs: Mapping[str, Path]) -> None:
    """`--set` of a flag that the program doesn't have is a usage error, told before anything starts."""
    for component in plan.components:
        fields = plan.spec.settings.get(set_name(component), {})
        if fields and not component.configured_by_file:
            known = await known_flags(programs[component.program], *leading(component.args))
            for field in fields:
                refuse_unknown_flag(set_name(component), field, known)
