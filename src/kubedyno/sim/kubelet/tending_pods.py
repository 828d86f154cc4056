"""Tending pods: each bound pod is admitted or refused, started, ended and removed as `lifecycle` decides."""

import asyncio
from collections.abc import Iterable

import msgspec

from kubedyno.client.errors import ApiError, Unreachable
from kubedyno.client.informer import Key
from kubedyno.client.rest import Client
from kubedyno.client.retrying import may_pass
from kubedyno.client.watching import ChangeType, Glance, Heed
from kubedyno.controllers.podfacts import FINISHED
from kubedyno.controllers.queue import WorkQueue
from kubedyno.controllers.stamps import seconds_text
from kubedyno.kit import draws
from kubedyno.kit.clock import NS_PER_S, Clock
from kubedyno.kit.errors import UsageError
from kubedyno.kit.logs import Log
from kubedyno.kit.timetable import Timetable
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import PODS, RESOURCE_CLAIMS
from kubedyno.model.numa import refusals
from kubedyno.model.numa.admission import Rejection
from kubedyno.sim.faults import fault
from kubedyno.sim.kubelet import admission, claims, lifecycle, plans, podstates, sending, telling
from kubedyno.sim.kubelet.fleet import Fleet, NodeEntry, PodEntry
from kubedyno.sim.kubelet.lag import Lag
from kubedyno.sim.kubelet.lateness import LateWrites
from kubedyno.sim.kubelet.lifecycle import Delete, Wait, Write
from kubedyno.sim.kubelet.plans import JobTimes, Plan
from kubedyno.sim.kubelet.sending import Fate, Sent

_MOST_BACKOFF_S = 5.0
_CLAIMS_AGAIN_S = 1.0
_log = Log("sim.kubelet")


class PodTender:
    """Works on all pods of a fleet; `job_times` is how long pods work by their label `job-type`."""

    def __init__(
        self,
        client: Client,
        fleet: Fleet,
        *,
        clock: Clock,
        group: asyncio.TaskGroup,
        seed: int,
        lag: Lag,
        job_times: JobTimes,
    ) -> None:
        self._client = client
        self._fleet = fleet
        self._clock = clock
        self._seed = seed
        self._lag = lag
        self._job_times = job_times
        self._keys: WorkQueue[Key] = WorkQueue(clock, group.create_task, most_s=_MOST_BACKOFF_S)
        self._turns: Timetable[Key] = Timetable(clock, group.create_task)
        self._unseen: WorkQueue[str] = WorkQueue(clock, group.create_task, most_s=_MOST_BACKOFF_S)
        self._late = LateWrites()

    def seen(self, pod: Object, seen_ns: int) -> None:
        """A bound pod is new or has changed; `seen_ns` 0: it was there before us."""
        entry = self._fleet.pod_seen(pod, seen_ns)
        if entry is not None:
            self._keys.add(entry.key)
            self._lag.note_depth(len(self._keys))

    def heeds(self, kind: ChangeType, glance: Glance, raw: bytes) -> Heed:
        """Half of all news are of our own writes, and most of those say nothing new."""
        del raw
        if kind == "DELETED":
            return "metadata"
        metadata = glance.metadata
        entry = self._fleet.pods.get((metadata.namespace, metadata.name))
        is_known = entry is not None and entry.echo and entry.echo == int(metadata.resourceVersion)
        return "not" if is_known else "whole"

    def gone(self, key: Key) -> None:
        """A pod is no more."""
        self._fleet.pod_gone(key)
        self._turns.drop(key)
        self._late.forget(key)

    def revisit(self, node: NodeEntry) -> None:
        """Look at all pods of a node again: it is new, or came back, or something else became of it."""
        if self._fleet.pods_on(node.name):
            self._unseen.add(node.name)

    async def look_again(self) -> None:
        """Read the pods of nodes that are to be looked at again, as a kubelet does when it starts."""
        while True:
            name = await self._unseen.get()
            try:
                listing = await self._client.list_all(PODS, field_selector=f"spec.nodeName={name}")
            except (ApiError, Unreachable) as error:
                if not may_pass(error):
                    raise
                self._lag.retries += 1
                self._unseen.retry(name)
            else:
                self._unseen.forget(name)
                for pod in in_turn(listing.items):
                    # A pod that went meanwhile must not come back by this list: what is new comes by the watch.
                    known = self._fleet.pods.get(meta.key(pod))
                    if known is not None and known.uid == pod["metadata"]["uid"]:
                        self.seen(pod, 0)
            finally:
                self._unseen.done(name)

    async def follow_turns(self) -> None:
        """Pods for which a time has come."""
        while True:
            key, _ = await self._turns.take()
            self._keys.add(key)

    async def work(self) -> None:
        """Do for each pod what is next."""
        while True:
            key = await self._keys.get()
            self._lag.queue_depth = len(self._keys)
            try:
                await self._step(key)
            except ApiError as error:
                self._lag.refused += 1
                _log.warning(f"pod {key[0]}/{key[1]} is left as it is: {error}")
            finally:
                self._keys.done(key)

    async def _step(self, key: Key) -> None:
        entry = self._fleet.pods.get(key)
        if entry is None or (pod := entry.pod) is None:
            return
        node, now_ns = self._fleet.nodes.get(entry.node), self._clock.wall_ns()
        if node is None or (node.faults and not _may_work(node, pod, now_ns)):
            entry.seen_ns = 0  # it waits for its node, not for us
            return
        if self._late:
            now_ns = self._late.decided_ns(key, entry.uid) or now_ns
        if (pod.get("status") or {}).get("phase") in FINISHED:
            self._fleet.release(entry)
        elif not await self._is_taken(entry, node, pod, now_ns):
            return
        plan = self._plan(entry, node, pod, now_ns)
        decision = lifecycle.decide(
            pod,
            plan,
            now_ns=now_ns,
            addresses=_Addresses(self._fleet, entry, node),
            step_ns=entry.asked_ns or entry.step_ns or None,
        )
        match decision:
            case Write():
                await self._write(entry, node, pod, plan, decision, now_ns=now_ns)
            case Delete():
                await self._delete(entry, pod, plan)
            case Wait():
                podstates.forget_unneeded(pod)
                self._late.forget(key)
                self._come_back(key, decision.until_ns)
            case None:
                self._late.forget(key)
                self._turns.drop(key)
                entry.pod = None

    def _come_back(self, key: Key, at_ns: int) -> None:
        """Look at the pod again at that wall time."""
        self._turns.put(key, self._clock.monotonic_ns() + at_ns - self._clock.wall_ns())

    async def _write(
        self, entry: PodEntry, node: NodeEntry, pod: Object, plan: Plan, decision: Write, *, now_ns: int
    ) -> None:
        sent = await self._send(entry, node, pod, decision.status, now_ns)
        if sent is None:
            return
        if decision.is_step:
            entry.step_ns = now_ns
        if entry.pod is None and not node.faults and not sent.is_going and lifecycle.is_final(pod, plan, decision):
            entry.echo = entry.version
        if entry.seen_ns and decision.status.get("phase") == "Running":
            planned_ns = entry.seen_ns + round(plan.start_s * NS_PER_S)
            self._lag.start.add((self._clock.wall_ns() - planned_ns) / NS_PER_S)
            entry.seen_ns = 0

    async def _is_taken(self, entry: PodEntry, node: NodeEntry, pod: Object, now_ns: int) -> bool:
        """Whether the node has taken the pod, and nothing keeps it from starting."""
        if not entry.charged and not await self._accept(entry, node, pod, now_ns):
            return False
        claiming = pod["spec"].get("resourceClaims")
        return not (claiming and await self._waits_for_claims(entry, node, pod, now_ns))

    async def _accept(self, entry: PodEntry, node: NodeEntry, pod: Object, now_ns: int) -> bool:
        """Charge the pod to its node, after the kubelet's checks if it is new there. False: it is refused."""
        status = pod.get("status") or {}
        address = status.get("podIP")
        if address and not pod["spec"].get("hostNetwork"):
            self._fleet.note_address(entry, node, address)
        has_started, is_going = status.get("startTime"), pod["metadata"].get("deletionTimestamp")
        # A pod that goes before anybody has heard that it was refused just goes.
        rejection = entry.refusal if has_started or not is_going else None
        if rejection is None:
            if has_started or is_going:
                node.ledger.charge(pod)
            else:
                rejection = _judged(node, pod, now_ns)
        if rejection is not None:
            await self._refuse(entry, node, pod, rejection, now_ns)
            return False
        entry.charged = True
        self._fleet.changes.note(node.name)
        return True

    async def _waits_for_claims(self, entry: PodEntry, node: NodeEntry, pod: Object, now_ns: int) -> bool:
        """Whether its claims keep the pod from starting: then it is accepted, and looked at again."""
        status = pod.get("status") or {}
        if status.get("phase") == "Running" or pod["metadata"].get("deletionTimestamp"):
            return False
        missing = await self._missing_claim(pod)
        if missing is None:
            return False
        entry.seen_ns = 0  # it waits for its claims, not for us
        if not status.get("startTime"):
            accepted = podstates.accepted(pod, now=seconds_text(now_ns), addresses=_Addresses(self._fleet, entry, node))
            if await self._send(entry, node, pod, accepted, now_ns):
                event = telling.event(pod, claims.REASON, missing, host=entry.node, now_ns=now_ns)
                await telling.tell(self._client, event)
        else:
            self._turns.put(entry.key, self._clock.monotonic_ns() + round(_CLAIMS_AGAIN_S * NS_PER_S))
        return True

    async def _refuse(self, entry: PodEntry, node: NodeEntry, pod: Object, rejection: Rejection, now_ns: int) -> None:
        """The pod fails, and an event says why."""
        if node.faults:
            entry.refusal = rejection  # it may be long until it is written, and stays refused
        status = admission.rejected_status(pod, rejection, seconds_text(now_ns))
        if await self._send(entry, node, pod, status, now_ns):
            event = telling.event(pod, rejection.reason, rejection.message, host=entry.node, now_ns=now_ns)
            await telling.tell(self._client, event)

    async def _missing_claim(self, pod: Object) -> str | None:
        """Why the pod's claims cannot be prepared yet; None when they can."""
        namespace = pod["metadata"]["namespace"]
        found = {}
        for name in claims.claim_names(pod):
            try:
                found[name] = await self._client.get(RESOURCE_CLAIMS, name, namespace=namespace)
            except (ApiError, Unreachable) as error:
                if not (isinstance(error, ApiError) and error.is_not_found) and not may_pass(error):
                    raise
        return claims.claims_ready(pod, found)

    def _plan(self, entry: PodEntry, node: NodeEntry, pod: Object, now_ns: int) -> Plan:
        plan = entry.plan
        if plan is None:
            name = f"{entry.key[0]}/{entry.key[1]}"

            def unit(purpose: str) -> float:
                return draws.unit(self._seed, f"{purpose} {name}")

            try:
                plan = plans.plan_of(pod, node.settings, unit, job_times=self._job_times)
            except UsageError as error:
                _log.warning(f"{error}; it runs as if it said nothing")
                silent = {**pod, "metadata": {**pod["metadata"], "annotations": {}}}
                plan = plans.plan_of(silent, node.settings, unit, job_times=self._job_times)
            if node.faults:
                start_s = fault.start_s(node.faults, now_ns, usual_s=plan.start_s, at=unit("slow start"))
                plan = msgspec.structs.replace(plan, start_s=start_s)
            entry.plan = plan
        if node.faults and (failure := fault.failing(node.faults, now_ns, entry.uid)) is not None:
            started_ns = podstates.started_ns(pod)
            if started_ns is not None:
                work_s = (failure.fails_at_ns(started_ns) - started_ns) / NS_PER_S
                return msgspec.structs.replace(plan, work_s=work_s, exit_code=failure.exit_code)
        return plan

    async def _send(
        self, entry: PodEntry, node: NodeEntry, pod: Object, status: Object, decided_ns: int
    ) -> Sent | None:
        """Write a status; None: it was not done, or not yet."""
        if node.faults and self._waits(entry, node, status, decided_ns):
            return None
        path = PODS.path(namespace=entry.key[0], name=entry.key[1])
        sent = await sending.patch_status(self._client, path, entry.uid, status)
        return sent if self._settle(entry, pod, sent) else None

    def _waits(self, entry: PodEntry, node: NodeEntry, status: Object, decided_ns: int) -> bool:
        """Whether the node's faults keep a status from being written yet."""
        at = draws.unit(self._seed, f"slow status {entry.key[0]}/{entry.key[1]} {status.get('phase')}")
        due_ns = self._late.due_ns(
            entry.key, entry.uid, node.faults, decided_ns=decided_ns, now_ns=self._clock.wall_ns(), at=at
        )
        if due_ns is None:
            return False
        entry.seen_ns = 0  # it waits for its node, not for us
        self._come_back(entry.key, due_ns)
        return True

    def _settle(self, entry: PodEntry, pod: Object, sent: Sent) -> bool:
        """After a write: what it made of the pod comes by the watch, or has come already."""
        if sent.fate is Fate.LATER or sent.fate is Fate.CONFLICT:
            self._lag.retries += 1
            if sent.wait_s is not None:
                self._keys.add_after(entry.key, sent.wait_s)
            else:
                self._keys.retry(entry.key)
            return False
        self._keys.forget(entry.key)
        self._late.forget(entry.key)
        if sent.fate is Fate.DONE:
            entry.version = max(entry.version, int(sent.version or 0))
        if entry.pod is pod or (
            entry.pod is not None and int(entry.pod["metadata"]["resourceVersion"]) < entry.version
        ):
            entry.pod = None
        return sent.fate is Fate.DONE

    async def _delete(self, entry: PodEntry, pod: Object, plan: Plan) -> None:
        sent = await sending.delete(self._client, PODS.path(namespace=entry.key[0], name=entry.key[1]), entry.uid)
        if self._settle(entry, pod, sent) and entry.asked_ns:
            grace_s = pod["metadata"].get("deletionGracePeriodSeconds") or 0
            planned_ns = entry.asked_ns + round(min(plan.stop_s, grace_s) * NS_PER_S)
            self._lag.stop.add((self._clock.wall_ns() - planned_ns) / NS_PER_S)
            entry.asked_ns = 0


def in_turn(pods: Iterable[Object]) -> list[Object]:
    """Pods of a list in the order in which they are to be admitted: what runs already has its place before others."""

    def turn(pod: Object) -> tuple[bool, str, int]:
        metadata = pod["metadata"]
        is_new = not (pod.get("status") or {}).get("startTime")
        # Many are created in one second: of those the one comes first that was bound first.
        return is_new, metadata["creationTimestamp"], int(metadata["resourceVersion"])

    return sorted(pods, key=turn)


class _Addresses:
    """The addresses of one pod, drawn when they are asked for."""

    __slots__ = ("_entry", "_fleet", "_node")

    def __init__(self, fleet: Fleet, entry: PodEntry, node: NodeEntry) -> None:
        self._fleet = fleet
        self._entry = entry
        self._node = node

    @property
    def host_ips(self) -> tuple[str, ...]:
        """Of the node."""
        return (self._node.address,)

    def pod_ips(self) -> tuple[str, ...]:
        """Of the pod itself."""
        address = self._fleet.address_for(self._entry, self._node)
        return (address,) if address else ()


def _judged(node: NodeEntry, pod: Object, now_ns: int) -> Rejection | None:
    """Why the node refuses a pod that is new there, rightly or by one of its faults; None: it is charged."""
    wrong = fault.wrong_admission(node.faults, now_ns, pod["metadata"]["uid"]) if node.faults else None
    if wrong is None:
        return node.ledger.admit(pod)
    if wrong.verdict == "accepts":
        return node.ledger.admit(pod, anyway=True)
    usual = refusals.unaligned()
    return Rejection(wrong.reason or usual.reason, usual.message)


def _may_work(node: NodeEntry, pod: Object, now_ns: int) -> bool:
    """Whether the node's faults let its kubelet work on this pod."""
    match fault.pod_work(node.faults, now_ns):
        case "all":
            return True
        case "none":
            return False
    # Without a network, what runs goes on, and only pods on the host's network start.
    running = (pod.get("status") or {}).get("phase") == "Running" or pod["metadata"].get("deletionTimestamp")
    return bool(running or pod["spec"].get("hostNetwork"))
