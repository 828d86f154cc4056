"""The load of many clients on the API server: who they are there, where they work, and what came of a rate."""

import contextlib
from collections.abc import AsyncIterator, Mapping
from typing import Final

import msgspec

from kubedyno.client.access import Access, StaticToken
from kubedyno.client.errors import ApiError
from kubedyno.client.rest import Client
from kubedyno.kit import randomness
from kubedyno.kit.clock import NS_PER_S
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import CLUSTER_ROLE_BINDINGS, NAMESPACES, SERVICE_ACCOUNTS
from kubedyno.lab import installing
from kubedyno.lab.creating import RUN_LABEL
from kubedyno.lab.lab import Lab
from kubedyno.model.keys import WORKLOAD_LABEL
from kubedyno.scenarios.numa.framework import PerformanceCase
from kubedyno.scenarios.numa.loading import Taken, Watch
from kubedyno.scenarios.numa.scales import Cluster
from kubedyno.workload.mixing import Mix, Yard

CLIENTS: Final = 8
"""Clients with connections of their own."""

_NAME: Final = "kubedyno-load"
_WATCH: Final = "WATCH, s"
_ALL: Final = "all requests, s"
"""Of all verbs together; the limits of an API server are not about watches."""
_CALM: Final = 5
"""So many small reads in a row that keep the limit: it has recovered."""
_LOOK_EVERY_S: Final = 0.1
_RECOVERS_WITHIN_S: Final = 60.0


class Requests:
    """Requests of a realistic mix, in an open loop."""

    def __init__(self, lab: Lab, mix: Mix, case: PerformanceCase, *, over_s: float, slo_s: float) -> None:
        self.case = case
        self.most = float("inf")
        self._lab = lab
        self._mix = mix
        self._over_s = over_s
        self._slo_s = slo_s

    async def at(self, rate: float) -> Taken:
        """Ask at this rate, and wait until small reads are quick again."""
        watch = Watch(self._lab)
        await watch.look()
        mixed = await self._mix.run(rate, self._over_s)
        seen = await watch.look()
        recovery_s = await self._recovered()
        by_verb = {f"{verb}, s": seconds for verb, seconds in mixed.by_verb().items()}
        together = tuple(took_s for verb, seconds in by_verb.items() if verb != _WATCH for took_s in seconds)
        return Taken(
            rate=rate,
            samples={_ALL: together, **by_verb} if together else by_verb,
            requests=mixed.sent,
            errors=mixed.errors,
            first_error=mixed.first_error,
            recovery_s=recovery_s,
            achieved=mixed.achieved,
            duration_s=watch.passed_s,
            seen=seen,
            aside=frozenset(by_verb),
        )

    async def _recovered(self) -> float | None:
        """The seconds until reads are quick again, and stay so for a moment; None: they did not become so."""
        clock, calm = self._lab.clock, 0
        begun_ns = clock.monotonic_ns()
        calm_ns = begun_ns
        while calm < _CALM:
            if (clock.monotonic_ns() - begun_ns) / NS_PER_S > _RECOVERS_WITHIN_S:
                return None
            took_s = await self._mix.probe()
            if took_s is not None and took_s <= self._slo_s:
                calm += 1
            else:
                calm, calm_ns = 0, clock.monotonic_ns()
            await clock.sleep(_LOOK_EVERY_S)
        return (calm_ns - begun_ns) / NS_PER_S


@contextlib.asynccontextmanager
async def mixing(lab: Lab, cluster: Cluster, *, clients: int = CLIENTS) -> AsyncIterator[Mix]:
    """The load, prepared; when the block ends, all that it has created is deleted."""
    # Each has another name: a namespace that was deleted takes its time.
    namespace = f"load-{lab.clock.wall_ns():x}"
    labels = {WORKLOAD_LABEL: namespace, **await _run_labels(lab)}
    await installing.ensure_namespace(lab.client, namespace, labels=labels)
    # Its pods are its own to delete: nobody has evicted them.
    lab.on_delete([namespace])
    try:
        yard = Yard(
            namespace=namespace,
            nodes=cluster.names,
            report=await _report(lab) if cluster.aware else None,
            labels=labels,
        )
        rng = randomness.stream(lab.seed, "mix")
        async with _clients(lab, namespace, labels, clients) as several:
            mix = Mix(several, yard, clock=lab.clock, rng=rng)
            try:
                await mix.prepare()
                yield mix
            finally:
                await mix.clear()
    finally:
        await lab.client.delete(NAMESPACES, namespace)


async def _run_labels(lab: Lab) -> dict[str, str]:
    """What everything of the run is known by to whoever cleans up after it."""
    found = meta.labels(await lab.client.get(NAMESPACES, lab.namespace))
    return {RUN_LABEL: found[RUN_LABEL]} if RUN_LABEL in found else {}


async def _report(lab: Lab) -> Object | None:
    written = await lab.exporters.written()
    return next(iter(written.values()), None)


@contextlib.asynccontextmanager
async def _clients(lab: Lab, namespace: str, labels: Mapping[str, str], count: int) -> AsyncIterator[list[Client]]:
    """Clients who are nobody special: a lab's own client is of those whom the API server never puts off."""
    if lab.access is None:
        yield [lab.client]
        return
    async with contextlib.AsyncExitStack() as stack:
        access = await _nobody_special(lab, lab.access, namespace, labels, stack)
        yield [await stack.enter_async_context(Client.connect(access, clock=lab.clock)) for _ in range(count)]


async def _nobody_special(
    lab: Lab, access: Access, namespace: str, labels: Mapping[str, str], stack: contextlib.AsyncExitStack
) -> Access:
    """The same server with the token of a service account that may do everything."""
    client = lab.client
    await client.create(SERVICE_ACCOUNTS, {"metadata": {"name": _NAME, "namespace": namespace}})
    name = f"{_NAME}-{namespace}"
    binding = {
        "metadata": {"name": name, "labels": dict(labels)},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "ServiceAccount", "name": _NAME, "namespace": namespace}],
    }
    await client.create(CLUSTER_ROLE_BINDINGS, binding)
    stack.push_async_callback(_deleted, client, name)
    wanted = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 86_400}}
    token = await client.create(SERVICE_ACCOUNTS, wanted, namespace=namespace, name=_NAME, subresource="token")
    return msgspec.structs.replace(
        access,
        client_certificate=None,
        client_key=None,
        token_source=StaticToken(token["status"]["token"]),
    )


async def _deleted(client: Client, name: str) -> None:
    try:
        await client.delete(CLUSTER_ROLE_BINDINGS, name)
    except ApiError as error:
        if not error.is_not_found:
            raise
