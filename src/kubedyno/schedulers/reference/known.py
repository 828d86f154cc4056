"""What the scheduler knows of the cluster: kept up to date by every change, so that a cycle looks at nothing old."""

from collections.abc import Callable, Iterable, Mapping

import msgspec

from kubedyno.client.watching import ChangeType
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.model.queues import Queue
from kubedyno.schedulers.reference import reading
from kubedyno.schedulers.reference.devices import ClaimFacts, Devices, claim_facts
from kubedyno.schedulers.reference.grouping import gang_job, is_broken, priority_of, single_job
from kubedyno.schedulers.reference.jobs import Job, JobKey, Key
from kubedyno.schedulers.reference.nodes_table import facts_of
from kubedyno.schedulers.reference.reading import KAI, POD, GroupFacts, PodFacts
from kubedyno.schedulers.reference.room import NodesRoom
from kubedyno.schedulers.reference.settings import Settings
from kubedyno.schedulers.reference.sharing import Books
from kubedyno.schedulers.reference.zones import report_of


class Known:
    """Nodes, pods, groups, queues and topologies, as far as decisions need them.

    `changed` is called when something happened that may let a job start, or must be answered.
    """

    def __init__(self, settings: Settings, changed: Callable[[], None]) -> None:
        self.room = NodesRoom(settings.placement)
        self.queues: dict[str, Queue] = {}
        self.books = Books(self.queues)
        self.pods: dict[Key, PodFacts] = {}
        self.groups: dict[JobKey, GroupFacts] = {}
        self.assumed: dict[str, str] = {}
        """Nodes by uid of pods that have been given one, of which the API does not know yet."""
        self.orphans: dict[JobKey, str] = {}
        """Jobs that cannot be decided about, and why."""
        self.devices = Devices()
        self.broken: dict[JobKey, None] = {}
        """Gangs of which some run, but fewer than must."""
        self._changed = changed
        self._members: dict[JobKey, dict[Key, PodFacts]] = {}
        self._classes: dict[str, int] = {}
        self._dirty: dict[JobKey, None] = {}
        self._evicting: set[str] = set()
        self._claiming: dict[str, PodFacts] = {}
        """By uid: pods without nodes that have volume claims."""
        self._held_back: set[str] = set()
        self._users: dict[Key, dict[Key, None]] = {}
        """Keys of pods by device claim."""
        self._claims_of: dict[str, tuple[Key, ...]] = {}
        """Device claims by uid of a pod."""
        self._allocated: dict[str, ClaimFacts] = {}
        """Claims by uid that have been given devices of which the API does not know yet."""
        self.room.packing.claimed = self._freed

    # News.

    def node(self, change: ChangeType, node: Object) -> None:
        """A node came, changed or went."""
        name = node["metadata"]["name"]
        if change == "DELETED":
            self.room.drop_node(name)
            self._changed()
        elif self.room.put_node(name, facts_of(node)):
            self._changed()

    def pod(self, change: ChangeType, pod: Object) -> None:
        """A pod came, changed or went."""
        key = meta.key(pod)
        before = self.pods.get(key)
        if change == "DELETED":
            if before is not None:
                self._gone(before)
            return
        now = reading.pod_facts(pod)
        if before is not None and before.uid != now.uid:
            self._gone(before)
            before = None
        if now.is_finished or now.node:
            self.assumed.pop(now.uid, None)
        # News of a pod that is being evicted may be older than that.
        now.is_going = now.is_going or now.uid in self._evicting
        self._put(before, now)

    def _put(self, before: PodFacts | None, now: PodFacts) -> None:
        self.pods[now.key] = now
        if now.claims or now.device_claims:
            self._put_claiming(before, now)
        if now.is_finished:
            if self.room.packing.release(now.uid) or before is None or not before.is_finished:
                self._mark(now)
                self._changed()
        elif now.node:
            self._put_bound(before, now)
        elif now.uid in self.assumed and not now.is_waiting:
            self.forget(now)
        if now.is_going and (before is None or not before.is_going):
            self._mark(now)
            self._changed()
        self._put_member(before, now)

    def _put_claiming(self, before: PodFacts | None, now: PodFacts) -> None:
        if now.device_claims:
            self._claims_of[now.uid] = now.device_claims
        for claim in now.device_claims:
            self._users.setdefault(claim, {})[now.key] = None
        if before is not None:
            now.needs = before.needs
            if before.device_claims != now.device_claims:
                self._changed()
        if now.is_waiting:
            self._claiming[now.uid] = now
        else:
            self._count_devices(now)
            self._claiming.pop(now.uid, None)
            self._held_back.discard(now.uid)

    def _put_member(self, before: PodFacts | None, now: PodFacts) -> None:
        """Count a pod to its job; of gangs those that have done their work, too."""
        is_member = now.is_ours and (not now.is_finished or (now.has_succeeded and now.job[0] != POD))
        if before is not None and (before.job != now.job or not is_member):
            self._leave_job(before)
        if not is_member:
            return
        self._members.setdefault(now.job, {})[now.key] = now
        if before is None or before.is_waiting != now.is_waiting or before.job != now.job:
            self._mark(now)
            if now.is_waiting:
                self._changed()

    def _put_bound(self, before: PodFacts | None, now: PodFacts) -> None:
        packing = self.room.packing
        held = packing.held.get(now.uid)
        if held is None or held.node != now.node:
            if held is not None:
                packing.release(now.uid)
                self._changed()
            packing.hold(now.uid, now.needs, now.node, group=now.shared_gpu, key=now.key, is_running=now.is_running)
            self._mark(now)
        else:
            if held.waiting:
                packing.are_there([now.uid])
            if packing.is_heard_of(held, now.key, is_running=now.is_running):
                self._changed()
        if now.is_going:
            packing.leave(now.uid)
        if before is None or before.node != now.node:
            self._mark(now)

    def _gone(self, pod: PodFacts) -> None:
        self.pods.pop(pod.key, None)
        self.assumed.pop(pod.uid, None)
        self._evicting.discard(pod.uid)
        self._claiming.pop(pod.uid, None)
        self._held_back.discard(pod.uid)
        self.room.packing.release(pod.uid)
        for claim in self._claims_of.pop(pod.uid, ()):
            users = self._users.get(claim, {})
            users.pop(pod.key, None)
            if not users:
                self._users.pop(claim, None)
        self._leave_job(pod)
        self._changed()

    def _leave_job(self, pod: PodFacts) -> None:
        members = self._members.get(pod.job)
        if members is not None and members.pop(pod.key, None) is not None:
            if not members:
                del self._members[pod.job]
            self._mark(pod)

    def group(self, change: ChangeType, group: Object, read: Callable[[Object], GroupFacts], kind: str) -> None:
        """A PodGroup came, changed or went."""
        key: JobKey = (kind, *meta.key(group))
        if change == "DELETED":
            self.groups.pop(key, None)
        else:
            facts = read(group)
            before = self.groups.get(key)
            self.groups[key] = facts
            if before is not None and msgspec.structs.replace(before, has_condition=facts.has_condition) == facts:
                return
        self._dirty[key] = None
        self._changed()

    def queue(self, change: ChangeType, queue: Object) -> None:
        """A Queue came, changed or went."""
        name = queue["metadata"]["name"]
        if change == "DELETED":
            self.queues.pop(name, None)
        else:
            now = reading.queue_of(queue)
            if self.queues.get(name) == now:
                return  # its status is ours to ignore
            self.queues[name] = now
        self._changed()

    def topology(self, change: ChangeType, topology: Object) -> None:
        """A Topology came, changed or went."""
        name = topology["metadata"]["name"]
        if change == "DELETED":
            self.room.topologies.pop(name, None)
        else:
            self.room.topologies[name] = reading.levels_of(topology)
        self._changed()

    def zones(self, change: ChangeType, found: Object) -> None:
        """A NodeResourceTopology came, changed or went."""
        report = None if change == "DELETED" else report_of(found)
        self.room.packing.put_zones(found["metadata"]["name"], report)
        self._changed()

    def priority_class(self, change: ChangeType, found: Object) -> None:
        """A PriorityClass came, changed or went."""
        name = found["metadata"]["name"]
        if change == "DELETED":
            self._classes.pop(name, None)
        else:
            self._classes[name] = int(found.get("value") or 0)
        for key, group in self.groups.items():
            if group.priority_class == name:
                self._dirty[key] = None
        self._changed()

    def device_class(self, change: ChangeType, found: Object) -> None:
        """A DeviceClass came, changed or went."""
        self._count_all(self.devices.put_class(found["metadata"]["name"], None if change == "DELETED" else found))
        self._changed()

    def device_slice(self, change: ChangeType, found: Object) -> None:
        """A ResourceSlice came, changed or went."""
        self._count_all(self.devices.put_slice(found["metadata"]["name"], None if change == "DELETED" else found))
        self._changed()

    def device_claim(self, change: ChangeType, found: Object) -> None:
        """A ResourceClaim came, changed or went."""
        key = meta.key(found)
        claim = None if change == "DELETED" else claim_facts(found)
        uid = found["metadata"].get("uid") or ""
        if claim is not None and not claim.is_allocated and uid in self._allocated:
            return  # older news than what was decided
        self._allocated.pop(uid, None)
        before = self.devices.claims.get(key)
        if before == claim:
            return
        self._count_all(self.devices.put_claim(key, claim))
        for user in self._users.get(key, ()):
            if self.pods[user].node:
                self._count_devices(self.pods[user])
        self._changed()

    # What was decided.

    def assume(self, pod: PodFacts, node: str, *, waiting: bool = False) -> None:
        """A pod was given a node; its room is taken, or reserved while others leave."""
        self.assumed[pod.uid] = node
        self.room.packing.hold(pod.uid, pod.needs, node, waiting=waiting)
        self._mark(pod)

    def kept(self, pod: PodFacts, node: str) -> None:
        """The same for a pod whose room is taken already."""
        self.assumed[pod.uid] = node
        self._mark(pod)

    def forget(self, pod: PodFacts) -> None:
        """What was given to a pod is taken back: it waits again."""
        if self.assumed.pop(pod.uid, None) is not None:
            self.room.packing.release(pod.uid)
            self._mark(pod)
            self._changed()

    def leaves(self, pod: PodFacts) -> None:
        """A pod is being evicted."""
        pod.is_going = True
        self._evicting.add(pod.uid)
        self.room.packing.leave(pod.uid)
        self._mark(pod)

    def stays(self, pod: PodFacts) -> None:
        """A pod could not be evicted."""
        pod.is_going = False
        self._evicting.discard(pod.uid)
        self.room.packing.stay(pod.uid)
        self._mark(pod)

    def wish(self, pod: PodFacts, nodes: tuple[bytes, ...], devices: tuple[tuple[str, int], ...], claimed: int) -> None:
        """What the claims of a waiting pod ask of its node: that it is reached, and has devices."""
        for signature, _ in devices:
            if self.devices.know(signature):
                self._count_all(self.devices.nodes())
        needs = msgspec.structs.replace(pod.needs, volumes=nodes, devices=devices, claimed=claimed)
        if pod.needs != needs:
            pod.needs = needs
            self._mark(pod)

    def allocate(self, pod: PodFacts, claim: ClaimFacts) -> None:
        """A claim of a pod was given devices; the pod itself takes none of them any more."""
        self._allocated[claim.uid] = claim
        self._count_all(self.devices.put_claim(claim.key, claim))
        self._reread(pod)

    def deallocate(self, pod: PodFacts, claim: ClaimFacts) -> None:
        """A claim could not be given its devices after all."""
        if self._allocated.pop(claim.uid, None) is not None:
            self._count_all(self.devices.put_claim(claim.key, claim))
            self._reread(pod)

    def _reread(self, pod: PodFacts) -> None:
        node = self.assumed.get(pod.uid)
        self._count_devices(pod)
        if node is not None:
            self.room.packing.release(pod.uid)
            self.room.packing.hold(pod.uid, pod.needs, node)
        self._mark(pod)

    def _count_devices(self, pod: PodFacts) -> None:
        """A pod that has its devices wants none, but has so many."""
        found = [claim for key in pod.device_claims if (claim := self.devices.claims.get(key)) is not None]
        wanted: dict[str, int] = {}
        for claim in found:
            for request in () if claim.is_allocated else claim.requests:
                wanted[request.signature] = wanted.get(request.signature, 0) + request.count
        own = sum(len(claim.devices) for claim in found if claim.owner == pod.uid)
        needs = msgspec.structs.replace(pod.needs, devices=tuple(wanted.items()), claimed=own)
        if needs != pod.needs:
            pod.needs = needs
            self._mark(pod)

    def _freed(self, uid: str) -> Mapping[str, int]:
        """The devices that were made for a pod alone."""
        return self.devices.freed(
            device
            for key in self._claims_of.get(uid, ())
            if (claim := self.devices.claims.get(key)) is not None and claim.owner == uid
            for device in claim.devices
        )

    def _count_all(self, nodes: Iterable[str]) -> None:
        for node in nodes:
            self.room.put_devices(node, self.devices.amounts(node))

    def hold_back(self, pod: PodFacts, *, held: bool) -> None:
        """The volumes of a waiting pod hold it back, or do not any more."""
        if (pod.uid in self._held_back) != held:
            (self._held_back.add if held else self._held_back.discard)(pod.uid)
            self._mark(pod)

    def with_claims(self) -> list[PodFacts]:
        """Waiting pods that have volume claims."""
        return [pod for pod in self._claiming.values() if pod.is_waiting and pod.uid not in self.assumed]

    # Jobs.

    def refresh(self) -> None:
        """Bring the books up to date."""
        for key in self._dirty:
            job = self._job(key)
            if job is None:
                self.books.drop(key)
            else:
                self.books.put(job)
        self._dirty.clear()

    def capacity(self) -> dict[str, float]:
        """What the cluster has, in the units of queues; devices of claims count as GPUs."""
        found = self.room.capacity()
        found["gpu"] += self.devices.total
        return found

    def waiting_of(self, key: JobKey) -> list[PodFacts]:
        """The pods of a job that have no node."""
        return [
            pod
            for pod in self._members.get(key, {}).values()
            if pod.is_waiting and not pod.node and pod.uid not in self.assumed
        ]

    def _mark(self, pod: PodFacts) -> None:
        self._dirty[pod.job] = None

    def _job(self, key: JobKey) -> Job | None:
        """A job as it is now; None: there is nothing to decide about it."""
        self.orphans.pop(key, None)
        self.broken.pop(key, None)
        members = self._members.get(key)
        if not members:
            return None
        if key[0] == POD:
            (pod,) = members.values()
            return single_job(pod, self.assumed.get(pod.uid), is_held_back=pod.uid in self._held_back)
        facts = self.groups.get(key)
        pods = sorted(members.values(), key=lambda pod: (pod.created, len(pod.key[1]), pod.key[1]))
        if facts is None:
            self.orphans[key] = f"waiting for pod group {key[2]}, which does not exist"
            return None
        job = gang_job(
            facts, pods, self.assumed, held_back=self._held_back, priority=priority_of(facts, pods, self._classes)
        )
        if job is not None and key[0] == KAI and is_broken(job) and not any(pod.has_succeeded for pod in pods):
            self.broken[key] = None
        return job
