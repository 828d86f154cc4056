"""Submissions in virtual time, on an API server in this process."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.yard import Connection, Yard

from kubedyno.client.rest import Client
from kubedyno.kit.clock import rfc3339
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import JOBS
from kubedyno.model.submissions import FORMAT, SubmittedFile
from kubedyno.schedulers import dialects
from kubedyno.workload import journal
from kubedyno.workload.order import Order, check
from kubedyno.workload.preparing import Writer
from kubedyno.workload.sending import ApiSender, Sender
from kubedyno.workload.submitting import Submission, Tally
from kubedyno.workload.templating import Template

ID = "abc123"

Ordering = Callable[..., Order]


def order(**given: Any) -> Order:
    """An order as somebody asks for it."""
    dialect = dialects.find(given.pop("dialect", "job"))
    fixed = {"dialect": dialect.name, "scheduler_name": "default-scheduler", "image": "simulated", "template_hash": "h"}
    return check(msgspec.convert({**fixed, "num_workloads": 1, **given}, Order), frozenset(given))


def writer(wanted: Order, text: str | None = None) -> Writer:
    """What writes the workloads of an order, from a template of its own or the dialect's."""
    dialect = dialects.find(wanted.dialect)
    return Writer(
        wanted,
        ID,
        dialect=dialect,
        template=Template(text or dialect.template(wanted.workload_type), source="workload.yaml"),
        claims=Template(dialect.template("pvc"), source="pvc.yaml") if wanted.pvc else None,
    )


def head(wanted: Order, at: str = "2026-01-01T00:00:00.000000Z") -> SubmittedFile:
    return SubmittedFile(
        format=FORMAT,
        kubedyno="0",
        id=ID,
        dialect=wanted.dialect,
        workload_type=wanted.workload_type,
        server="here",
        asked=msgspec.to_builtins(wanted),
        started_at=at,
        ended_at=None,
        simulated=(),
        pace=None,
        workloads=(),
    )


class Desk:
    """Somebody who submits into a folder."""

    def __init__(self, yard: Yard, folder: Path) -> None:
        self.yard = yard
        self.folder = folder
        self.client: Client
        self.connection: Connection
        self.client, self.connection = yard.connect()
        self.tally: Tally | None = None

    async def submit(
        self,
        wanted: Order,
        *,
        resume: bool = False,
        sender: Sender | None = None,
        template: str | None = None,
        trace_s: Sequence[float] = (),
    ) -> SubmittedFile:
        """Submit, or go on; what `submitted.json` says then."""
        writes = writer(wanted, template)
        documents = [document for index in writes.samples() for document in writes.prepared(index).documents]
        resources = {
            (document.api_version, document.kind): await self.client.resource(document.api_version, document.kind)
            for document in documents
        }
        now = rfc3339(self.yard.clock.wall_ns())
        opening = journal.resumed(self.folder, now) if resume else journal.begun(self.folder, head(wanted, now))
        async with opening as kept:
            submission = Submission(
                wanted,
                writer=writes,
                sender=sender or ApiSender(self.client, resources, ID),
                journal=kept,
                clock=self.yard.clock,
                trace_s=trace_s,
            )
            self.tally = submission.tally
            try:
                await submission.run()
            finally:
                kept.write_file()
        return journal.read_file(self.folder / journal.SUBMITTED)

    async def jobs(self) -> list[Object]:
        return (await self.yard.client.list_all(JOBS)).items


@pytest.fixture
def ordering() -> Ordering:
    return order


@pytest.fixture
def writing() -> Callable[..., Writer]:
    return writer


@pytest.fixture
def desk(tmp_path: Path) -> Callable[[Yard], Desk]:
    return lambda yard: Desk(yard, tmp_path / "out")
