"""Leases of all nodes, in a lane of their own: pods that come in a burst do not delay them.

One lease per node, held by the node's name, renewed three times in its duration; the phases are spread over the period.
"""

import asyncio

import msgspec

from kubedyno.client.errors import ApiError, Unreachable
from kubedyno.client.rest import Client
from kubedyno.client.retrying import may_pass
from kubedyno.kit import draws
from kubedyno.kit.clock import NS_PER_S, Clock, rfc3339
from kubedyno.kit.logs import Log
from kubedyno.kit.timetable import Timetable
from kubedyno.kube.resources import LEASES
from kubedyno.sim.kubelet import sending
from kubedyno.sim.kubelet.lag import Lag
from kubedyno.sim.kubelet.nodestates import LEASE_NAMESPACE, lease
from kubedyno.sim.kubelet.sending import Fate

_RENEWALS_PER_DURATION = 3
"""A kubelet renews four times. Renewals are what idle nodes cost a server, and with three a lease that misses two of
them is still in time."""
_MOST_IN_FLIGHT = 16
_LEAST_IN_FLIGHT = 2
_ROOM = 4
"""How many times as slow as at its quickest a server may be and still get all renewals in time."""
_AGAIN_S = 1.0
_LEAST_TIMEOUT_S = 1.0
_COLLECTION = LEASES.path(namespace=LEASE_NAMESPACE)
_log = Log("sim.kubelet")


class _Lease(msgspec.Struct, gc=False):
    """What is known of a node's lease; an empty version: it has not been written yet. Times are monotonic."""

    uid: str
    planned_ns: int
    """When it is to be renewed next. Repetitions do not change that."""
    renewed_ns: int
    """When it was last renewed; before the first time, when its node came."""
    version: str = ""
    renewed: str = ""
    """The time that we wrote last, as it stands there if nobody else wrote."""
    tried: tuple[str, ...] = ()
    """The times of writes since then whose fate is unknown."""


class Heartbeats:
    """The leases of the nodes that live. `lease_s` is their duration."""

    def __init__(
        self, client: Client, *, clock: Clock, group: asyncio.TaskGroup, lease_s: int, seed: int, lag: Lag
    ) -> None:
        self._client = client
        self._clock = clock
        self._group = group
        self._lease_s = lease_s
        self._period_ns = lease_s * NS_PER_S // _RENEWALS_PER_DURATION
        # A server that does not answer must not keep others from their turn until they are late, too.
        self._timeout_s = max(_LEAST_TIMEOUT_S, lease_s / _RENEWALS_PER_DURATION)
        self._seed = seed
        self._lag = lag
        self._leases: dict[str, _Lease] = {}
        self._due: Timetable[str] = Timetable(clock, group.create_task)
        self._in_flight = 0
        self._one_back = asyncio.Event()
        self._quickest_s = 0.0

    def begin(self, node: str, uid: str) -> None:
        """Renew the lease of a node from now on; its first time comes within one period."""
        known = self._leases.get(node)
        if known is not None and known.uid == uid:
            return
        now_ns, phase = self._clock.monotonic_ns(), draws.unit(self._seed, f"lease {node}")
        planned_ns = now_ns + round(phase * self._period_ns)
        self._leases[node] = _Lease(uid, planned_ns, now_ns)
        self._due.put(node, planned_ns)

    def end(self, node: str) -> None:
        """Renew it no more: the node is gone, or is to seem so."""
        if self._leases.pop(node, None) is not None:
            self._due.drop(node)
            self._lag.contested.discard(node)

    async def run(self) -> None:
        """Renew what is due until cancelled."""
        while True:
            node, due_ns = await self._due.take()
            while self._in_flight >= self._may_be_in_flight(due_ns):
                self._one_back.clear()
                await self._one_back.wait()
            self._in_flight += 1
            self._group.create_task(self._renew_in_turn(node), name="renew a lease")

    def _may_be_in_flight(self, due_ns: int) -> int:
        """As many as a server at ease needs, so that leases give way on one at its limit; more when they get late."""
        if self._clock.monotonic_ns() - due_ns > self._lease_s * NS_PER_S // 2:
            return _MOST_IN_FLIGHT
        per_s = len(self._leases) * NS_PER_S / self._period_ns
        return max(_LEAST_IN_FLIGHT, min(_MOST_IN_FLIGHT, round(_ROOM * per_s * self._quickest_s)))

    async def _renew_in_turn(self, node: str) -> None:
        try:
            known = self._leases.get(node)
            if known is None:
                return
            begun_ns = self._clock.monotonic_ns()
            renewed = await self._renew(node, known)
            if self._leases.get(node) is not known:
                return  # ended, or begun anew, meanwhile
            now_ns = self._clock.monotonic_ns()
            if not renewed:
                self._due.put(node, now_ns + round(_AGAIN_S * NS_PER_S))
                return
            took_s = (now_ns - begun_ns) / NS_PER_S
            self._quickest_s = min(self._quickest_s or took_s, took_s)
            self._note(known, now_ns)
            # However late this one was, the next ones keep to its phase: else all would come at once after an outage.
            known.planned_ns += self._period_ns * ((now_ns - known.planned_ns) // self._period_ns + 1)
            self._due.put(node, known.planned_ns)
        finally:
            self._in_flight -= 1
            self._one_back.set()

    def _note(self, known: _Lease, now_ns: int) -> None:
        self._lag.lease.add((now_ns - known.planned_ns) / NS_PER_S)
        if now_ns - known.renewed_ns > self._lease_s * NS_PER_S:
            self._lag.late_leases += 1
        known.renewed_ns = now_ns

    async def _renew(self, node: str, known: _Lease) -> bool:
        """Whether it is renewed; a lease that is not as we left it is looked at, and written once more."""
        fate = await self._write(node, known)
        if fate is Fate.CONFLICT and await self._look(node, known):
            fate = await self._write(node, known)
        return fate is Fate.DONE

    async def _write(self, node: str, known: _Lease) -> Fate:
        """Write the lease: created once, then replaced at the version that we know."""
        now = rfc3339(self._clock.wall_ns())
        body = lease(node, known.uid, duration_s=self._lease_s, renewed=now)
        if known.version:
            # Nobody asks who wrote a lease's fields, but a server that keeps account of it spends a fifth of its work
            # for a renewal on that. One empty entry ends the account.
            body["metadata"] |= {"resourceVersion": known.version, "managedFields": [{}]}
            sent = await sending.send(self._client, "PUT", f"{_COLLECTION}/{node}", body, timeout_s=self._timeout_s)
        else:
            sent = await sending.send(self._client, "POST", _COLLECTION, body, timeout_s=self._timeout_s)
        match sent.fate:
            case Fate.DONE:
                known.version, known.renewed, known.tried = sent.version, now, ()
            case Fate.GONE:
                known.version = ""
            case Fate.LATER:
                known.tried = (*known.tried, now)
                self._lag.retries += 1
        return sent.fate

    async def _look(self, node: str, known: _Lease) -> bool:
        """Somebody else wrote the lease since we did, or before us. False: it cannot be seen now."""
        try:
            async with asyncio.timeout(self._timeout_s):
                found = await self._client.get(LEASES, node, namespace=LEASE_NAMESPACE)
        except TimeoutError:
            return False
        except (ApiError, Unreachable) as error:
            if isinstance(error, ApiError) and error.is_not_found:
                known.version = ""
                return True
            if not may_pass(error):
                raise
            return False
        spec = found.get("spec") or {}
        if known.renewed and spec.get("renewTime") not in {known.renewed, *known.tried}:
            self._contest(node, str(spec.get("holderIdentity")))
        known.version = found["metadata"]["resourceVersion"]
        return True

    def _contest(self, node: str, holder: str) -> None:
        if not self._lag.contested:
            # Most likely it is so with all nodes: the metric counts them.
            _log.warning(
                f"node {node} has two simulators: {holder} renewed its lease beside us; end one of them, or give each "
                "nodes of its own"
            )
        self._lag.contested.add(node)
