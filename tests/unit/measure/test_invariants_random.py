"""A correct scheduler on random clusters, told by streams that lag behind each other: no alarm."""

import random
from collections import Counter
from typing import Any

import msgspec
import pytest
from clusters_told import Change, Told

from kubedyno.kit import randomness
from kubedyno.kit.clock import NS_PER_S
from kubedyno.kube.resources import CORE_EVENTS, NODES, PODS, RESOURCE_CLAIMS
from kubedyno.measure.records import Violation

pytestmark = pytest.mark.unit

SEEDS = range(100)
STEPS = 150
GPUS = 8
MOST_LAG_S = 2.5
EVENT_LAG_S = 4.0
PRIORITIES = {"train": 50, "build-preemptible": 75, "build": 100}


class Gang(msgspec.Struct, eq=False):
    """What the scheduler knows of a gang."""

    name: str
    queue: str
    gpus: int
    pods: list[str]
    least: int
    priority: str
    rack: bool
    at: dict[str, str]
    """Nodes of its pods."""

    @property
    def is_fixed(self) -> bool:
        return self.priority == "build"

    @property
    def held(self) -> int:
        return self.gpus * len(self.at)


class Correct:
    """Decides by the true state of the cluster, at random but never wrongly."""

    def __init__(self, seed: int) -> None:
        self.rng = randomness.stream(seed, "cluster")
        self.told = Told(is_deferred=True)
        self.gangs: list[Gang] = []
        self.open: dict[str, str] = {}
        """Nodes that take pods, and their racks."""
        self.used: Counter[str] = Counter()
        self.leaving: dict[str, tuple[str, int]] = {}
        """Pods on their way out: node and GPUs, which they still hold."""
        self.devices = [f"gpu-{number}" for number in range(3)]
        self.claims: dict[str, str] = {}
        self.quota = {"one": self.rng.randint(0, 12), "two": self.rng.randint(0, 12)}
        self.limit = {"one": self.rng.choice([-1, 10, 16]), "two": -1}
        self.count = 0
        told = self.told
        told.topology("t", "zone", "rack")
        told.queue("root", parent=None)
        for name in self.quota:
            told.queue(name, quota=self.quota[name], limit=self.limit[name])
        for number in range(self.rng.randint(3, 6)):
            self.add_node(f"n{number}")
        told.sleep(5)

    def add_node(self, name: str) -> None:
        rack = f"r{self.rng.randint(0, 1)}"
        self.told.node(name, gpus=GPUS, labels={"zone": "z", "rack": rack})
        self.open[name] = rack

    def step(self) -> None:
        actions = [
            self.submit,
            self.submit,
            self.schedule,
            self.schedule,
            self.finish,
            self.delete,
            self.reap,
            self.reap,
        ]
        actions += [self.reclaim, self.preempt, self.cordon, self.fail, self.claim, self.lend]
        self.rng.choice(actions)()
        if self.rng.random() < 0.5:
            self.told.sleep(self.rng.choice([0.01, 0.1, 1.0, 3.0]))

    def submit(self) -> None:
        self.count += 1
        pods = self.rng.choice([1, 1, 2, 4])
        gang = Gang(
            f"g{self.count}",
            self.rng.choice(["one", "two"]),
            self.rng.choice([1, 2, 4]),
            [f"g{self.count}-{number}" for number in range(pods)],
            self.rng.randint(1, pods),
            self.rng.choice(list(PRIORITIES)),
            self.rng.random() < 0.4,
            {},
        )
        spec: dict[str, Any] = {"priorityClassName": gang.priority}
        if gang.rack:
            spec["topologyConstraint"] = {"topology": "t", "requiredTopologyLevel": "rack"}
        self.told.group(gang.name, gang.least, queue=gang.queue, **spec)
        for pod in gang.pods:
            self.told.pod(pod, gpus=gang.gpus, group=gang.name)
        self.gangs.append(gang)

    def held(self, queue: str, *, fixed: bool = False) -> int:
        return sum(gang.held for gang in self.gangs if gang.queue == queue and (gang.is_fixed or not fixed))

    def allowed(self, gang: Gang) -> int:
        """How many more pods its queue may have."""
        bounds = [len(gang.pods)]
        if self.limit[gang.queue] >= 0:
            bounds.append((self.limit[gang.queue] - self.held(gang.queue)) // gang.gpus)
        if gang.is_fixed:
            bounds.append((self.quota[gang.queue] - self.held(gang.queue, fixed=True)) // gang.gpus)
        return max(0, min(bounds))

    def schedule(self) -> None:
        waiting = [gang for gang in self.gangs if len(gang.at) < len(gang.pods)]
        if not waiting:
            return
        gang = self.rng.choice(waiting)
        racks = {self.open[node] for node in gang.at.values() if node in self.open}
        if gang.rack and any(node not in self.open for node in gang.at.values()):
            return
        rack = next(iter(racks), self.rng.choice(["r0", "r1"]))
        places = [
            node
            for node, its in self.open.items()
            if not gang.rack or its == rack
            for _ in range((GPUS - self.used[node]) // gang.gpus)
        ]
        self.rng.shuffle(places)
        pods = [pod for pod in gang.pods if pod not in gang.at][: min(len(places), self.allowed(gang))]
        if len(gang.at) + len(pods) < gang.least:
            return
        for pod, node in zip(pods, places, strict=False):
            self.told.bind(pod, node)
            gang.at[pod] = node
            self.used[node] += gang.gpus

    def take(self, gang: Gang, pod: str) -> None:
        """A pod of a gang is deleted, at once or in its time."""
        node = gang.at.pop(pod)
        gang.pods.remove(pod)
        if self.rng.random() < 0.5:
            self.told.terminate(pod)
            self.leaving[pod] = node, gang.gpus
        else:
            self.told.delete(PODS, pod)
            self.used[node] -= gang.gpus

    def reap(self) -> None:
        if self.leaving:
            pod = self.rng.choice(list(self.leaving))
            node, gpus = self.leaving.pop(pod)
            self.told.delete(PODS, pod)
            self.used[node] -= gpus

    def evict(self, gang: Gang, by: Gang, action: str) -> None:
        for pod in list(gang.at):
            self.take(gang, pod)
            self.told.tell_eviction(gang.name, by=by.name, action=action)
        if not gang.pods:
            self.gangs.remove(gang)

    def forget(self, gang: Gang) -> None:
        """What still waits of it is taken away by whoever sent it."""
        self.told.excuse(gang.name)
        for pod in gang.pods:
            self.told.delete(PODS, pod)
        self.gangs.remove(gang)

    def reclaim(self) -> None:
        for name, other in (("one", "two"), ("two", "one")):
            victims = [one for one in self.gangs if one.queue == name and one.at and not one.is_fixed]
            evictors = [one for one in self.gangs if one.queue == other and not one.at]
            if self.held(name) > self.quota[name] and victims and evictors:
                self.evict(self.rng.choice(victims), self.rng.choice(evictors), "reclaim")
                return

    def preempt(self) -> None:
        for by in self.gangs:
            lower = [
                one
                for one in self.gangs
                if one.queue == by.queue
                and one.at
                and not one.is_fixed
                and PRIORITIES[one.priority] < PRIORITIES[by.priority]
            ]
            if not by.at and lower:
                self.evict(self.rng.choice(lower), by, "preempt")
                return

    def finish(self) -> None:
        gang = next((one for one in self.gangs if len(one.at) == len(one.pods)), None)
        if gang is not None:
            for pod, node in gang.at.items():
                self.told.change(PODS, pod, status={"phase": "Succeeded"})
                self.used[node] -= gang.gpus
            self.gangs.remove(gang)

    def delete(self) -> None:
        if self.gangs and self.rng.random() < 0.5:
            gang = self.rng.choice(self.gangs)
            self.told.excuse(gang.name)
            for pod in list(gang.at):
                self.take(gang, pod)
            self.forget(gang)

    def cordon(self) -> None:
        if len(self.open) > 2 and self.rng.random() < 0.3:
            node = self.rng.choice(list(self.open))
            del self.open[node]
            spec = self.rng.choice([{"unschedulable": True}, {"taints": [{"key": "k", "effect": "NoSchedule"}]}])
            self.told.change(NODES, node, spec=spec)

    def fail(self) -> None:
        """A node goes, and its pods with it."""
        if len(self.open) < 3 or self.rng.random() < 0.8:
            return
        node = self.rng.choice(list(self.open))
        del self.open[node]
        self.told.delete(NODES, node)
        for pod in [pod for pod, (where, _) in self.leaving.items() if where == node]:
            del self.leaving[pod]
            self.told.delete(PODS, pod)
        for gang in list(self.gangs):
            for pod in [pod for pod, where in gang.at.items() if where == node]:
                del gang.at[pod]
                gang.pods.remove(pod)
                self.told.delete(PODS, pod)
            if 0 < len(gang.at) < gang.least:
                for pod in list(gang.at):
                    self.told.excuse(gang.name)
                    self.take(gang, pod)
                self.forget(gang)

    def claim(self) -> None:
        if self.devices:
            self.count += 1
            self.claims[f"c{self.count}"] = device = self.devices.pop()
            self.told.claim(f"c{self.count}", device)
        else:
            name = self.rng.choice(list(self.claims))
            self.devices.append(self.claims.pop(name))
            self.told.delete(RESOURCE_CLAIMS, name)

    def lend(self) -> None:
        """A quota becomes larger: nobody has to give anything back."""
        name = self.rng.choice(list(self.quota))
        self.quota[name] += 1
        self.told.queue(name, quota=self.quota[name], limit=self.limit[name])


def interleaved(changes: list[Change], rng: random.Random) -> list[Change]:
    """The same changes as several watches bring them: each in order, and each behind by a time of its own."""
    arrived_ns: dict[str, int] = {}
    lag_s: dict[str, float] = {}
    found = []
    for resource, kind, obj, at_ns in changes:
        # Pods come by two watches.
        stream = resource.full_name
        if resource == PODS:
            stream += str(int(obj["metadata"]["uid"][-1]) % 2)
        if stream not in lag_s or rng.random() < 0.1:
            lag_s[stream] = rng.uniform(0, EVENT_LAG_S if resource == CORE_EVENTS else MOST_LAG_S)
        arrived_ns[stream] = max(arrived_ns.get(stream, 0), at_ns + round(lag_s[stream] * NS_PER_S))
        found.append((resource, kind, obj, arrived_ns[stream]))
    return sorted(found, key=lambda change: change[3])


def run(seed: int) -> tuple[Correct, tuple[Violation, ...]]:
    cluster = Correct(seed)
    for _ in range(STEPS):
        cluster.step()
    for change in interleaved(cluster.told.changes, randomness.stream(seed, "lags")):
        cluster.told.watched.change(*change)
    cluster.told.end(after_s=10)
    return cluster, cluster.told.watched.violations()


@pytest.mark.parametrize("seed", SEEDS)
def test_a_correct_scheduler_raises_no_alarm(seed: int) -> None:
    cluster, violations = run(seed)
    assert violations == ()
    assert cluster.told.watched.watchdog.late == 0


def test_the_random_runs_bind_evict_and_lose_nodes() -> None:
    """Else they would show nothing."""
    seen: Counter[str] = Counter()
    for seed in SEEDS[::4]:
        cluster, _ = run(seed)
        lives = cluster.told.watched.lives()
        seen.update(life.end or "alive" for life in lives.pods if life.bound_ns is not None)
        seen.update("node gone" for node in lives.nodes if node.gone_ns is not None)
    assert all(seen[what] > 10 for what in ("alive", "evicted", "deleted", "succeeded", "node gone")), seen
