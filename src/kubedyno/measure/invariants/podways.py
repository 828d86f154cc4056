"""From one state of a pod to the next: whom it holds a node for, what it counts for, and who takes it away."""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from kubedyno.client.watching import ChangeType
from kubedyno.measure.invariants import departures
from kubedyno.measure.invariants.departures import Departure
from kubedyno.measure.invariants.facts import Key, PodFacts
from kubedyno.measure.invariants.gangs import is_whole
from kubedyno.measure.invariants.rule import Breach, Rule
from kubedyno.measure.invariants.world import Gang, Pod, World


class PodWays:
    """The ways of all pods."""

    def __init__(
        self,
        world: World,
        rules: Mapping[str, Sequence[Rule]],
        tell: Callable[[Rule, Iterable[Breach], int], None],
    ) -> None:
        self.world = world
        self.evicted: set[str] = set()
        """uids of pods that their scheduler took away."""
        self.excused: dict[str, int] = {}
        """Workloads that are ours to take away, and since when."""
        self.excused_pods: dict[Key, int] = {}
        """The same of single pods."""
        self._rules = rules
        self._tell = tell
        self._leaving: dict[str, Departure] = {}
        self._departed: deque[Departure] = deque()

    def settle(self, now_ns: int) -> None:
        """Judge those who went long enough ago that all has been told of why."""
        before_ns = self.world.since(now_ns, self.world.patience.evidence_s)
        while self._departed and self._departed[0].at_ns <= before_ns:
            self._judge(self._departed.popleft())

    def settle_all(self, now_ns: int) -> None:
        """Judge all, gone or going. Of those who went a moment ago nobody may have told yet: they are not missed."""
        self.settle(now_ns)
        for departure in (*self._departed, *self._leaving.values()):
            departures.judge(self.world, departure)
            if departure.cause != "unknown":
                self._judge(departure)
        self._departed.clear()
        self._leaving.clear()

    def going(self) -> Iterator[Departure]:
        """Those who went, or are about to, and have not been judged yet: with what is known of why so far."""
        for departure in (*self._leaving.values(), *self._departed):
            departures.judge(self.world, departure)
            yield departure

    def _judge(self, departure: Departure) -> None:
        departures.judge(self.world, departure)
        if departure.cause == "evicted":
            self.evicted.add(departure.pod.uid)
            gang = self.world.gangs.get(departure.pod.group) if departure.pod.group is not None else None
            if gang is not None:
                gang.evicted += 1
        for rule in self._rules["departed"]:
            self._tell(rule, rule.departed(self.world, departure), departure.at_ns)

    def change(self, kind: ChangeType, facts: PodFacts, at_ns: int, *, listed: bool) -> None:
        """A pod was added, changed or deleted."""
        pod = self.world.pods.get(facts.uid)
        if pod is None:
            if kind != "DELETED":
                self._come(facts, at_ns, listed=listed)
        elif kind == "DELETED":
            self._gone(pod, facts, at_ns)
        else:
            self._go_on(pod, facts, at_ns, listed=listed)

    def _come(self, facts: PodFacts, at_ns: int, *, listed: bool) -> None:
        # Whoever is created with a node was not put there by a scheduler.
        pod = self.world.pods[facts.uid] = Pod(facts, was_placed=facts.node is not None)
        self.world.by_key[facts.key] = facts.uid
        self.world.seen.add(facts.key)
        if facts.holds:
            self._bind(pod, at_ns, is_old=listed)
        if facts.deleting and not facts.finished:
            self._leave(pod, at_ns)

    def _go_on(self, pod: Pod, facts: PodFacts, at_ns: int, *, listed: bool) -> None:
        before = pod.facts
        if before.holds and facts.node != before.node:
            self._move(pod, facts, at_ns)
        elif before.node is None and facts.holds:
            pod.facts = facts
            self._bind(pod, at_ns, is_old=listed)
        elif before.holds and facts.finished:
            self._finish(pod, facts, at_ns)
        pod.facts = facts
        if before.holds and facts.holds and facts.gpu_groups != before.gpu_groups:
            for rule in self._rules["shared"]:
                self._tell(rule, rule.shared(self.world, pod, at_ns), at_ns)
        if facts.deleting and not before.deleting and not facts.finished:
            self._leave(pod, at_ns)
        departure = self._leaving.get(facts.uid)
        if departure is not None and facts.disruption is not None:
            departure.disruption = facts.disruption

    def _bind(self, pod: Pod, at_ns: int, *, is_old: bool) -> None:
        world, facts = self.world, pod.facts
        node = world.node(facts.node or "")
        node.pods[facts.uid] = pod
        for resource, amount in facts.ask.requests:
            node.used[resource] += amount
        world.shares_gpus |= bool(facts.gpu_groups) or facts.reserves
        if not facts.deleting:
            self._count(pod)
        for rule in self._rules["bound"]:
            breaches = rule.bound(world, pod, at_ns)
            if is_old:  # who was there before anybody looked is counted, not judged
                for _ in breaches:
                    pass
            else:
                self._tell(rule, breaches, at_ns)

    def _count(self, pod: Pod) -> None:
        world, facts = self.world, pod.facts
        pod.counted = True
        if facts.group is not None:
            gang = world.gangs.setdefault(facts.group, Gang(Counter()))
            gang.counted[facts.subgroup] += 1
            group = world.groups.get(facts.group)
            gang.was_whole = gang.was_whole or (group is not None and is_whole(group, gang))
        charge = world.charge_of(facts)
        if charge.path:
            world.held.charge(facts.uid, charge)
            world.reach.charge(facts.uid, charge)
            if world.is_fixed(facts):
                world.fixed.charge(facts.uid, charge)

    def _yield(self, pod: Pod, at_ns: int) -> None:
        """The pod no longer counts."""
        world, facts = self.world, pod.facts
        for ledger in (world.held, world.reach, world.fixed):
            ledger.release(facts.uid, at_ns)
        if not pod.counted:
            return
        pod.counted = False
        if facts.group is not None and facts.group in world.gangs:
            counted = world.gangs[facts.group].counted
            counted[facts.subgroup] -= 1
            if not counted[facts.subgroup]:
                del counted[facts.subgroup]
        for rule in self._rules["yielded"]:
            rule.yielded(world, pod, at_ns)

    def _free(self, pod: Pod, at_ns: int) -> None:
        """The pod no longer holds its node."""
        self._yield(pod, at_ns)
        node = self.world.node(pod.facts.node or "")
        if node.pods.pop(pod.facts.uid, None) is not None:
            for resource, amount in pod.facts.ask.requests:
                node.used[resource] -= amount

    def _finish(self, pod: Pod, facts: PodFacts, at_ns: int) -> None:
        if facts.group is not None and facts.group in self.world.gangs:
            self.world.gangs[facts.group].finished += 1
        self._leaving.pop(facts.uid, None)
        self._free(pod, at_ns)

    def _move(self, pod: Pod, facts: PodFacts, at_ns: int) -> None:
        before = pod.facts.node or ""
        self._free(pod, at_ns)
        pod.facts = facts
        for rule in self._rules["moved"]:
            self._tell(rule, rule.moved(self.world, pod, before, at_ns), at_ns)
        if facts.holds:
            pod.was_placed = True  # one violation is enough
            self._bind(pod, at_ns, is_old=True)

    def _leave(self, pod: Pod, at_ns: int) -> None:
        """Somebody takes a pod away that has not ended."""
        facts = pod.facts
        excuses = (self.excused.get(facts.workload or ""), self.excused_pods.get(facts.key))
        is_excused = any(since_ns is not None and since_ns <= at_ns for since_ns in excuses)
        self._leaving[facts.uid] = departures.taken(self.world, facts, at_ns, excused=is_excused)
        self._yield(pod, at_ns)

    def _gone(self, pod: Pod, facts: PodFacts, at_ns: int) -> None:
        world = self.world
        if not pod.facts.finished and facts.uid not in self._leaving:
            self._leave(pod, at_ns)
        departure = self._leaving.pop(facts.uid, None)
        if departure is not None:
            departure.is_gone = True
            departure.disruption = departure.disruption or facts.disruption
            self._departed.append(departure)
        if pod.facts.holds:
            self._free(pod, at_ns)
        del world.pods[facts.uid]
        if world.by_key.get(facts.key) == facts.uid:
            del world.by_key[facts.key]
