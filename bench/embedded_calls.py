"""The embedded engine without sockets: how many pods one core creates through the in-process client."""

import itertools
import time

from client_create import NAMESPACE
from embedded_load import pods, run
from result import Result, against_value

from kubedyno.client.rest import Client
from kubedyno.kit.clock import RealClock
from kubedyno.kube.resources import NAMESPACES, PODS, SERVICE_ACCOUNTS
from kubedyno.server.embedding import new_api
from kubedyno.server.inprocess import InProcess

CREATES = 8000
REPEATS = 5
TARGET, GOAL = 8000.0, 20000.0


def calls() -> list[Result]:
    """Creates per second of CPU in this process: client, validation and store, pods of one template."""
    rates = [run(_rate) for _ in range(REPEATS)]
    return [
        against_value("embedded-calls", rates, unit="creates/CPU s", limit=TARGET, goal=GOAL, better="higher"),
    ]


async def _rate() -> float:
    """By the core's own time: one task, and nothing is waited for."""
    clock = RealClock()
    client = Client(InProcess(new_api(clock=clock, seed=0), clock=clock), clock=clock)
    await client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": NAMESPACE}}
    await client.create(SERVICE_ACCOUNTS, account)
    bodies = list(itertools.islice(pods("calls", alike=True), CREATES))
    cpu_s = time.process_time()
    for body in bodies:
        await client.create(PODS, body, namespace=NAMESPACE)
    return CREATES / (time.process_time() - cpu_s)
