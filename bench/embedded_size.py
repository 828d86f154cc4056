"""What the embedded engine's process weighs with a large cluster in it."""

import asyncio
import itertools
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
from client_create import NAMESPACE
from embedded_load import flood, pods, run
from result import Result, against_value

from kubedyno.client import kubeconfig
from kubedyno.client.rest import Client
from kubedyno.kube.resources import PODS
from kubedyno.lab import installing
from kubedyno.sim import pools
from kubedyno.sim.pools import applying
from labs import lab

NODE_COUNT = 5000
PER_NODE = 8
POD_COUNT = NODE_COUNT * PER_NODE
CONCURRENCY = 32
LIMIT_MIB = 1536.0
_LOOK_EVERY_S = 0.5


def size() -> list[Result]:
    """Memory of the process that holds 5,000 nodes and 40,000 running pods: at the end, and at its highest."""
    with lab("--engine", "embedded", "--scheduler", "none") as made:
        run(lambda: _fill(made.kubeconfig))
        status = Path(f"/proc/{made.status.owner_pid}/status").read_text()
    return [
        against_value("embedded-size", [_mib(status, "VmRSS")], unit="MiB", limit=LIMIT_MIB),
        against_value("embedded-size-peak", [_mib(status, "VmHWM")], unit="MiB", limit=LIMIT_MIB),
    ]


async def _fill(path: Path) -> None:
    """Create nodes and pods, and return when all pods run: then the watch logs have their changes too."""
    async with Client.connect(kubeconfig.load(path), connections=CONCURRENCY) as client:
        await installing.ensure_namespace(client, NAMESPACE)
        # Eight pods of eight CPUs each: kubelets refuse what does not fit.
        roomy = msgspec.structs.replace(pools.base("default", NODE_COUNT), cpu=64, memory="512Gi")
        await applying.apply(client, [roomy])
        await flood(client, _placed(), concurrency=CONCURRENCY)
        while await _is_any_waiting(client):  # noqa: ASYNC110 - a watch of them all would weigh on the server
            await asyncio.sleep(_LOOK_EVERY_S)
        page = await client.list(PODS, namespace=NAMESPACE, limit=1)
        if page["metadata"].get("remainingItemCount") != POD_COUNT - 1:
            raise RuntimeError(f"there are not {POD_COUNT} pods: {page['metadata']}")


async def _is_any_waiting(client: Client) -> bool:
    page = await client.list(PODS, namespace=NAMESPACE, field_selector="status.phase!=Running", limit=1)
    return bool(page["items"])


def _placed() -> Iterator[bytes]:
    """The pods, node after node."""
    for number, body in enumerate(itertools.islice(pods("size", alike=True), POD_COUNT)):
        yield body.replace(b'"spec":{', b'"spec":{"nodeName":"default-%d",' % (number // PER_NODE), 1)


def _mib(status: str, field: str) -> float:
    found = re.search(rf"^{field}:\s+(\d+) kB$", status, re.MULTILINE)
    if found is None:
        raise RuntimeError(f"the kernel does not tell {field}")
    return int(found[1]) / 1024
