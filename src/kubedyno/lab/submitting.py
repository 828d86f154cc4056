"""A submission on a cluster, put together: the dialect, what is asked for, the checks, the way to send, the journal."""

import contextlib
import os
import shutil
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from kubedyno import __version__
from kubedyno.client.rest import Client
from kubedyno.client.transport import DEFAULT_CONNECTIONS
from kubedyno.kit.clock import Clock, rfc3339
from kubedyno.kit.errors import UsageError
from kubedyno.kit.places import cache_dir
from kubedyno.kit.progress import Progress
from kubedyno.kube.resources import NAMESPACES
from kubedyno.lab import gathering, operating, selecting
from kubedyno.lab.folders import RECORDS, LabFolder
from kubedyno.lab.recording import recording
from kubedyno.lab.selecting import Selection
from kubedyno.lab.spec import NO_SCHEDULER
from kubedyno.model.dialects import Dialect
from kubedyno.model.submissions import FORMAT, SubmittedFile
from kubedyno.plane import provisioning
from kubedyno.schedulers import dialects
from kubedyno.workload import arrivals, journal, order, preparing, refusing, templating
from kubedyno.workload.commanding import CommandSender
from kubedyno.workload.journal import Journal
from kubedyno.workload.kubectl import KubectlSender
from kubedyno.workload.order import Order
from kubedyno.workload.preparing import Writer
from kubedyno.workload.sending import ApiSender, Resources, Sender
from kubedyno.workload.settings import Settings
from kubedyno.workload.submitting import Submission
from kubedyno.workload.templating import Template

FOREIGN_DIALECT: Final = "job"
"""Of a cluster that is no lab of ours: every cluster runs Jobs."""


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What a command asks for."""

    given: Mapping[str, Any]
    """Fields of the order that the command line names."""
    settings: Settings
    selection: Selection
    scheduler: str | None = None


class Ordered(msgspec.Struct, frozen=True, kw_only=True):
    """An order with what it is written with."""

    order: Order
    dialect: Dialect
    template: Template
    claims: Template | None
    trace_s: tuple[float, ...] = ()

    def writer(self, submission: str, resources: Resources | None = None) -> Writer:
        """What writes its workloads; `resources` are those of the server, where it was asked."""

        def is_namespaced(api_version: str, kind: str) -> bool:
            found = (resources or {}).get((api_version, kind))
            return preparing.known_scopes(api_version, kind) if found is None else found.namespaced

        return Writer(
            self.order,
            submission,
            dialect=self.dialect,
            template=self.template,
            claims=self.claims,
            is_namespaced=is_namespaced,
        )


class Sitting(msgspec.Struct, frozen=True):
    """A submission that can be run, and its journal."""

    submission: Submission
    journal: Journal


def ordered(asked: Asked, lab: LabFolder | None) -> Ordered:
    """The order of a new submission: the command line over the settings over the defaults."""
    settings, given = asked.settings, dict(asked.given)
    own = _own_dialect(lab)
    name = asked.scheduler or settings.scheduler
    dialect = dialects.find(name) if name else own or dialects.find(FOREIGN_DIALECT)
    either = dialect.project_kind == NAMESPACES  # then the one that is given goes over the other one of the file
    if not (either and "namespace" in asked.given):
        given.setdefault("projects", _split(settings.project))
    if not (either and "projects" in asked.given):
        given.setdefault("namespace", settings.namespace)
    given.setdefault("via", settings.via)
    kind = given.get("workload_type", "training")
    template = _template(given.get("template"), dialect, kind)
    wanted = Order(
        **given,
        batch=settings.kubectl_batch if given["via"] == "kubectl" else 1,
        dialect=dialect.name,
        # A dialect that is anybody's is for the lab's own scheduler.
        scheduler_name=settings.scheduler_name or _scheduler_name(dialect, own),
        image=settings.image,
        template_hash=preparing.template_hash(template),
    )
    checked = order.check(_typed(wanted), frozenset(asked.given))
    if checked.projects and checked.namespace is not None and dialect.project_kind == NAMESPACES:
        raise UsageError(f"a project is a namespace in dialect {dialect.name}: give --project or --namespace, not both")
    return _with_files(checked, dialect, template)


def reordered(asked: Asked, earlier: SubmittedFile, *, source: str) -> Ordered:
    """The order of a submission that goes on: what the command line names must be what it was."""
    kept = order.restored(earlier.asked, source=source)
    if asked.scheduler is not None and dialects.find(asked.scheduler).name != kept.dialect:
        raise UsageError(f"--scheduler {asked.scheduler}: the submission in {source} is written in {kept.dialect}")
    for field, value in asked.given.items():
        before = getattr(kept, field)
        if before != value:
            raise UsageError(
                f"--resume: {field} was {_shown(before)} when the submission began, not {_shown(value)}: leave it "
                "out, or begin a submission of its own in another folder"
            )
    dialect = dialects.find(kept.dialect)
    template = _template(kept.template, dialect, kept.workload_type)
    if preparing.template_hash(template) != kept.template_hash:
        raise UsageError(
            f"--resume: the template {template.source} has changed since the submission began: put it back"
        )
    return _with_files(kept, dialect, template)


@contextlib.asynccontextmanager
async def begun(
    asked: Asked, folder: Path, *, submission_id: str, clock: Clock, progress: Progress
) -> AsyncIterator[Sitting]:
    """A new submission into a folder, all checks passed, nothing sent yet."""
    journal.refuse_used(folder)
    lab = selecting.lab_of(asked.selection)
    what = ordered(asked, lab)
    async with _connected(asked, what, clock) as client:
        head = SubmittedFile(
            format=FORMAT,
            kubedyno=__version__,
            id=submission_id,
            dialect=what.dialect.name,
            workload_type=what.order.workload_type,
            server=client.transport.server,
            asked=msgspec.to_builtins(what.order),
            started_at=rfc3339(clock.wall_ns()),
            ended_at=None,
            simulated=_simulated(lab),
            pace=None,
            workloads=(),
        )
        writer, sender = await _checked(client, what, asked, submission_id, progress)
        journal.make_folder(folder)
        async with _recorded(client, what, writer, folder, lab), journal.begun(folder, head) as kept:
            yield _sitting(what, writer, sender, kept, clock)


@contextlib.asynccontextmanager
async def resumed(asked: Asked, folder: Path, *, clock: Clock, progress: Progress) -> AsyncIterator[Sitting]:
    """The submission of a folder, to go on with."""
    head = journal.read_journal(folder / journal.JOURNAL).head
    asked = _at_the_same_lab(asked, head)
    what = reordered(asked, head, source=str(folder / journal.JOURNAL))
    async with _connected(asked, what, clock) as client:
        if client.transport.server != head.server:
            raise UsageError(
                f"--resume: the submission went to {head.server}, and this is {client.transport.server}: "
                "name the same cluster"
            )
        writer, sender = await _checked(client, what, asked, head.id, progress)
        lab = selecting.lab_of(asked.selection)
        now = rfc3339(clock.wall_ns())
        async with _recorded(client, what, writer, folder, lab), journal.resumed(folder, now) as kept:
            yield _sitting(what, writer, sender, kept, clock)


@contextlib.asynccontextmanager
async def _recorded(
    client: Client, what: Ordered, writer: Writer, folder: Path, lab: LabFolder | None
) -> AsyncIterator[None]:
    """Record what becomes of the workloads beside them, where no lab of ours does that; proven at an orderly end."""
    if lab is not None:
        yield
        return
    namespaces = {writer.place(index).namespace for index in writer.samples()}
    async with recording(
        client,
        what.dialect.lifecycle.kinds,
        folder / RECORDS,
        probe_in=min(namespaces),
        namespace=min(namespaces) if len(namespaces) == 1 else None,
    ) as (recorded, _):
        yield
        await recorded.prove()


def _at_the_same_lab(asked: Asked, earlier: SubmittedFile) -> Asked:
    """Where no cluster is named, the lab that the submission went to, if it is still there."""
    if asked.selection != Selection():
        return asked
    cluster = gathering.cluster_of(earlier, asked.selection)
    if cluster is None or cluster.lab is None:
        return asked
    return msgspec.structs.replace(asked, selection=Selection(name=cluster.lab.name))


def _connected(asked: Asked, what: Ordered, clock: Clock) -> contextlib.AbstractAsyncContextManager[Client]:
    connections = max(DEFAULT_CONNECTIONS, what.order.in_flight)
    return selecting.selected(asked.selection, clock=clock, connections=connections)


async def _checked(
    client: Client, what: Ordered, asked: Asked, submission_id: str, progress: Progress
) -> tuple[Writer, Sender]:
    """What writes the workloads and what sends them, after the cluster was asked for all that they need."""
    draft = what.writer(submission_id)
    samples = list(draft.samples())
    if what.order.projects:
        namespaces = [draft.place(index).namespace for index in samples]
        await refusing.refuse_missing_projects(client, what.order, what.dialect, namespaces)
    if what.order.via == "cli":
        command = getattr(asked.settings.cli, what.order.workload_type)
        refusing.refuse_missing_program(command[0])
        resources = await refusing.known(client, draft.objects(0))
        return draft, CommandSender(command, draft.given, client, resources)
    resources = await refusing.served(client, what.dialect, [obj for index in samples for obj in draft.objects(index)])
    writer = what.writer(submission_id, resources)
    documents = [document for index in samples for document in writer.prepared(index).documents]
    await refusing.refuse_missing_namespaces(client, documents)
    if what.order.via == "api":
        return writer, ApiSender(client, resources, submission_id)
    program = asked.settings.kubectl or shutil.which("kubectl") or await _own_kubectl(progress)
    refusing.refuse_missing_program(program)
    command = (program, *selecting.kubectl_options(asked.selection))
    return writer, KubectlSender(command, client, resources, submission_id)


async def _own_kubectl(progress: Progress) -> str:
    found = await provisioning.provide(("kubectl",), bin_dir=None, cache=cache_dir(), env=os.environ, progress=progress)
    return str(found["kubectl"].path)


def _sitting(what: Ordered, writer: Writer, sender: Sender, kept: Journal, clock: Clock) -> Sitting:
    submission = Submission(what.order, writer=writer, sender=sender, journal=kept, clock=clock, trace_s=what.trace_s)
    return Sitting(submission, kept)


def _own_dialect(lab: LabFolder | None) -> Dialect | None:
    """The dialect of the lab's scheduler."""
    status = lab.read_status() if lab is not None else None
    return None if status is None or status.scheduler == NO_SCHEDULER else dialects.find(status.scheduler)


def _scheduler_name(dialect: Dialect, own: Dialect | None) -> str:
    anybodys = dialect.scheduler_name == dialects.find(FOREIGN_DIALECT).scheduler_name
    return own.scheduler_name if own is not None and anybodys else dialect.scheduler_name


def _simulated(lab: LabFolder | None) -> tuple[str, ...]:
    status = lab.read_status() if lab is not None else None
    components = () if status is None else status.components
    return operating.simulated(component.name for component in components)


def _template(path: str | None, dialect: Dialect, kind: Any) -> Template:
    if path is not None:
        return templating.read(Path(path))
    return Template(dialect.template(kind), source=f"the {kind} template of dialect {dialect.name}")


def _with_files(wanted: Order, dialect: Dialect, template: Template) -> Ordered:
    claims: Template | None = None
    if wanted.pvc:
        claims = Template(dialect.template("pvc"), source=f"the volume claim template of dialect {dialect.name}")
    trace_s = arrivals.read_trace(Path(wanted.trace), count=wanted.total) if wanted.trace is not None else ()
    return Ordered(order=wanted, dialect=dialect, template=template, claims=claims, trace_s=trace_s)


def _split(projects: str | None) -> tuple[str, ...]:
    return tuple(part for part in (projects or "").replace(",", " ").split() if part)


def _typed(wanted: Order) -> Order:
    """Checked against the types and limits of its fields."""
    try:
        return msgspec.convert(msgspec.to_builtins(wanted), Order)
    except msgspec.ValidationError as error:
        raise UsageError(f"{error}") from error


def _shown(value: Any) -> str:
    return msgspec.json.encode(value).decode()
