"""What submitting costs: our submitter against the bare loop with the same bodies, and beside kubectl.

The jobs are suspended, so that the server does nothing for them but keep them. The bare loop is the one that
`client_create` measures the client with.
"""

import asyncio
import os
import secrets
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import aiohttp
import msgspec
import uvloop
from result import Result, against_noise, against_ratio, against_value

from kubedyno.client import kubeconfig
from kubedyno.client.access import Access
from kubedyno.client.credentials import source_of, tls_context
from kubedyno.client.rest import Client
from kubedyno.kit.clock import RealClock
from kubedyno.kit.collecting import collect_seldom
from kubedyno.kit.places import cache_dir
from kubedyno.kit.progress import Quiet
from kubedyno.kube.resources import JOBS
from kubedyno.model.submissions import FORMAT, SubmittedFile
from kubedyno.plane import provisioning
from kubedyno.schedulers import dialects
from kubedyno.workload import journal
from kubedyno.workload.order import Order, check
from kubedyno.workload.preparing import Writer
from kubedyno.workload.sending import ApiSender
from kubedyno.workload.submitting import Submission
from kubedyno.workload.templating import Template
from labs import Lab, kubedyno, lab, state_folder

IN_FLIGHT = 16
CREATES = 500
REPEATS = 10
RATE_PER_S = 100.0
RATE_CREATES = 500
RATE_REPEATS = 3
WITHIN = 0.99
"""The part of the asked rate that must be achieved."""
LATE_MS = 20.0
APPLIED = 1000
APPLY_REPEATS = 3
PROCESSES = 40
"""Submissions with a process of kubectl each."""
PROCESSES_AT_ONCE = 8

SUSPENDED = "spec.suspend=true"


def _order(count: int, **more: object) -> Order:
    given = {"num_workloads": count, "fields": (SUSPENDED,), **more}
    fixed = {"dialect": "job", "scheduler_name": "nobody", "image": "i", "template_hash": ""}
    return check(msgspec.convert({**fixed, **given}, Order), frozenset(given))


def _writer(order: Order, submission: str) -> Writer:
    dialect = dialects.find(order.dialect)
    template = Template(dialect.template(order.workload_type), source="bench")
    return Writer(order, submission, dialect=dialect, template=template, claims=None)


def _new_id() -> str:
    return f"b{secrets.token_hex(4)}"


async def _submit(client: Client, order: Order) -> tuple[float, SubmittedFile]:
    """Submit as the command does, record and all; the seconds that it took, and what is on record."""
    submission = _new_id()
    writer = _writer(order, submission)
    sender = ApiSender(client, {(JOBS.api_version, JOBS.kind): JOBS}, submission)
    head = SubmittedFile(
        format=FORMAT,
        kubedyno="",
        id=submission,
        dialect=order.dialect,
        workload_type=order.workload_type,
        server="",
        asked={},
        started_at="",
        ended_at=None,
        simulated=(),
        pace=None,
        workloads=(),
    )
    with tempfile.TemporaryDirectory(prefix="kubedyno-bench-") as folder:
        async with journal.begun(Path(folder), head) as kept:
            sitting = Submission(order, writer=writer, sender=sender, journal=kept, clock=RealClock())
            begun = time.perf_counter()
            await sitting.run()
            took_s = time.perf_counter() - begun
            kept.write_file()
            return took_s, kept.state.file()


async def _bare(access: Access, order: Order) -> float:
    """The loop that somebody would write by hand, with bodies made before; the seconds that it took."""
    writer = _writer(order, _new_id())
    bodies = [writer.prepared(index).documents[0].body for index in range(order.total)]
    credential = await source_of(access, RealClock()).fetch()
    context = tls_context(access, credential)
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    if credential.token:
        headers["Authorization"] = f"Bearer {credential.token}"
    url = f"{access.server}{JOBS.path(namespace='default')}"
    connector = aiohttp.TCPConnector(limit=IN_FLIGHT, ssl=context if context is not None else False)
    pending = iter(bodies)
    async with aiohttp.ClientSession(connector=connector, headers=headers) as session:

        async def work() -> None:
            for body in pending:
                async with session.post(url, data=body) as response:
                    if response.status >= 300:  # noqa: PLR2004 - HTTP
                        raise RuntimeError(f"{response.status}: {await response.text()}")
                    await response.read()

        begun = time.perf_counter()
        async with asyncio.TaskGroup() as group:
            for _ in range(IN_FLIGHT):
                group.create_task(work())
        return time.perf_counter() - begun


async def _by_turns(access: Access) -> dict[str, list[float]]:
    """Creates a second of both sides; the first round warms up and is dropped."""
    found: dict[str, list[float]] = {"ours": [], "peer": []}
    order = _order(CREATES, parallelism=IN_FLIGHT)
    async with Client.connect(access, connections=IN_FLIGHT) as client:
        for repeat in range(REPEATS + 1):
            for side in ("ours", "peer") if repeat % 2 else ("peer", "ours"):
                took_s = (await _submit(client, order))[0] if side == "ours" else await _bare(access, order)
                if repeat:
                    found[side].append(CREATES / took_s)
            await client.delete_collection(JOBS, namespace="default", propagation="Background")
    return found


async def _at_a_rate(access: Access) -> list[SubmittedFile]:
    async with Client.connect(access) as client:
        order = _order(RATE_CREATES, rate_per_s=RATE_PER_S)
        return [(await _submit(client, order))[1] for _ in range(RATE_REPEATS)]


def submit() -> list[Result]:
    """Submitting against the bare loop, at a rate, and beside kubectl, on the local engine."""
    collect_seldom()  # as the command does
    with ExitStack() as stack:
        made = stack.enter_context(lab("--engine", "local", "--scheduler", "none"))
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            access = kubeconfig.load(made.kubeconfig)
            found = runner.run(_by_turns(access))
            files = runner.run(_at_a_rate(access))
            kubectl = runner.run(_kubectl())
        paces = [file.pace for file in files if file.pace is not None]
        return [
            against_noise("submit-bare", found["ours"], found["peer"], unit="creates/s"),
            against_value(
                "submit-rate",
                [pace.achieved_per_s / RATE_PER_S for pace in paces],
                unit="of the asked rate",
                limit=WITHIN,
                better="higher",
            ),
            against_value("submit-late", [pace.late_p99_s * 1000 for pace in paces], unit="ms p99", limit=LATE_MS),
            *_beside_kubectl(made, kubectl),
        ]


async def _kubectl() -> str:
    found = await provisioning.provide(("kubectl",), bin_dir=None, cache=cache_dir(), env=os.environ, progress=Quiet())
    return str(found["kubectl"].path)


def _beside_kubectl(made: Lab, kubectl: str) -> list[Result]:
    """Whole commands, their start included: the same jobs by one `kubectl apply`, and by a process for each."""
    with state_folder() as env, tempfile.TemporaryDirectory(prefix="kubedyno-bench-") as name:
        folder = Path(name)
        (folder / "each.yaml").write_text(f"kubectl: {kubectl}\nscheduler: job\n")
        at = ("--kubeconfig", str(made.kubeconfig), "--settings", str(folder / "each.yaml"), "--field", SUSPENDED)
        ours, applied, each = [], [], []
        for repeat in range(APPLY_REPEATS):
            count = ("-n", str(APPLIED), "--scheduler", "job", "--field", SUSPENDED)
            (folder / "jobs.yaml").write_text(kubedyno("submit", "--print", *count, env=env))
            out = str(folder / f"ours-{repeat}")
            submit_ours = ["submit", "-n", str(APPLIED), "--parallelism", str(IN_FLIGHT), "-o", out, *at]
            ours.append(_timed_ms(submit_ours, env) / APPLIED)
            begun = time.perf_counter()
            subprocess.run(
                [kubectl, "--kubeconfig", made.kubeconfig, "apply", "-f", folder / "jobs.yaml"],
                check=True,
                stdout=subprocess.DEVNULL,
            )
            applied.append((time.perf_counter() - begun) * 1000 / APPLIED)
            out = str(folder / f"each-{repeat}")
            several = ["-n", str(PROCESSES), "-p", str(PROCESSES_AT_ONCE)]
            each.append(_timed_ms(["submit", "--via", "kubectl", *several, "-o", out, *at], env) / PROCESSES)
        return [
            against_ratio("submit-apply", ours, applied, unit="ms/workload", limit=1.0, better="lower"),
            against_ratio("submit-processes", ours, each, unit="ms/workload", limit=1.0, better="lower"),
        ]


def _timed_ms(args: Sequence[str], env: dict[str, str]) -> float:
    begun = time.perf_counter()
    kubedyno(*args, env=env)
    return (time.perf_counter() - begun) * 1000
