"""When the actions of a phase begin: the eight kinds of tuning sets.

An action is one replica in one namespace. Every kind but one is an open loop: it begins actions without waiting for
those before, and is over when all have ended. `parallelismLimitedLoad` alone is a pool.

ClusterLoader2 sleeps for a gap after each begin; such sleeps add up to more than was asked for, the more the shorter
they are. Here the same gaps count from the begin of the phase, so that a rate of hundreds a second is held, and who is
late catches up. That is the only difference: the gap after the last action is waited for too where ClusterLoader2 does
so.
"""

import asyncio
import itertools
import random
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Final, TypeAlias

from kubedyno.clusterloader.config import (
    GlobalQpsLoad,
    Load,
    ParallelismLimitedLoad,
    PoissonLoad,
    QpsLoad,
    RandomizedLoad,
    RandomizedTimeLimitedLoad,
    SteppedLoad,
    TimeLimitedLoad,
    TuningSet,
)
from kubedyno.kit.clock import NS_PER_S, Clock
from kubedyno.kit.pacing import TokenBucket
from kubedyno.kit.tasks import owning

Work: TypeAlias = Callable[[], Awaitable[None]]
"""Does one action. It keeps its errors to itself: what it raises is a defect, and ends all."""

Started: TypeAlias = Callable[[float], None]
"""Told of each action, when it begins, how many seconds later than planned that is; 0 where there is no plan."""

PlannedLoad: TypeAlias = (
    QpsLoad | RandomizedLoad | SteppedLoad | TimeLimitedLoad | RandomizedTimeLimitedLoad | PoissonLoad
)

_AT_ONCE: Final = 100
"""So many actions begin before others may run: a large burst must not stop the answers to its first requests."""


class Buckets:
    """The token buckets of one test: phases with the same tuning set share one, in whatever step they are."""

    def __init__(self) -> None:
        self._buckets: dict[str, TokenBucket] = {}

    def of(self, name: str, load: GlobalQpsLoad) -> TokenBucket:
        """That of the tuning set `name`, made full when it is first asked for."""
        if name not in self._buckets:
            self._buckets[name] = TokenBucket(load.qps, load.burst)
        return self._buckets[name]


async def begin(
    actions: Sequence[Work],
    tuning_set: TuningSet,
    *,
    clock: Clock,
    rng: random.Random,
    buckets: Buckets,
    on_started: Started,
) -> None:
    """Run all actions of a phase as its tuning set says; returns when they have ended and the last gap is over.

    Phases run side by side: give each an `rng` of its own, so that draws repeat. A task is made for an action when its
    time has come, not before.
    """
    if not actions:
        return
    match tuning_set.load:
        case ParallelismLimitedLoad(parallelism_limit=limit):
            await _in_pool(actions, limit, on_started)
        case GlobalQpsLoad() as shared:
            await _by_tokens(actions, buckets.of(tuning_set.name, shared), clock, on_started)
        case planned:
            if isinstance(planned, RandomizedTimeLimitedLoad):
                # Each action has a moment of its own: the first moment is not that of the first action.
                actions = rng.sample(actions, len(actions))
            await _by_plan(actions, times_s(planned, len(actions), rng), clock, on_started)


def times_s(load: PlannedLoad, count: int, rng: random.Random) -> Iterator[float]:
    """When each of `count` actions (at least one) begins, in ascending seconds from the begin of the phase.

    A time beyond those of the actions is when the phase ends at the earliest.
    """
    match load:
        case QpsLoad(qps=qps):
            return (number / qps for number in range(count + 1))
        case RandomizedLoad(average_qps=rate):
            return itertools.accumulate((rng.random() * 2 / rate for _ in range(count)), initial=0.0)
        case SteppedLoad(burst_size=size, step_delay_s=delay_s):
            # The last time is that of the last burst if that is not full: then nothing is left to wait for.
            return (number // size * delay_s for number in range(count + 1))
        case TimeLimitedLoad(time_limit_s=limit_s):
            return (number * limit_s / count for number in range(count + 1))
        case RandomizedTimeLimitedLoad(time_limit_s=limit_s):
            return iter(sorted(rng.random() * limit_s for _ in range(count)))
        case PoissonLoad(expected_actions_per_s=rate):
            return itertools.accumulate((rng.expovariate(rate) for _ in range(count - 1)), initial=0.0)


def planned_s(load: Load, count: int) -> float | None:
    """How long a phase of so many actions takes if none of them does; None: chance or the actions decide."""
    match load:
        case QpsLoad(qps=qps):
            return count / qps
        case TimeLimitedLoad(time_limit_s=limit_s):
            return limit_s
        case SteppedLoad(burst_size=size, step_delay_s=delay_s):
            return count // size * delay_s
        case GlobalQpsLoad(qps=qps, burst=burst):
            return max(0, count - burst) / qps
    return None


class _Launching:
    """Begins actions at their times, and owns none of them."""

    def __init__(self, group: asyncio.TaskGroup, clock: Clock, on_started: Started) -> None:
        self._group = group
        self._clock = clock
        self._on_started = on_started
        self._at_once = 0

    async def wait_until(self, due_ns: int) -> None:
        """Return at a time of the monotonic counter; at once if that is over, but let others run now and then."""
        wait_ns = due_ns - self._clock.monotonic_ns()
        if wait_ns > 0:
            self._at_once = 0
            await self._clock.sleep(wait_ns / NS_PER_S)
        elif self._at_once >= _AT_ONCE:
            self._at_once = 0
            await asyncio.sleep(0)

    def launch(self, action: Work, due_ns: int) -> None:
        """Begin an action that was planned for `due_ns`, and wait for nothing."""
        self._at_once += 1
        self._group.create_task(self._run(action, due_ns))

    async def _run(self, action: Work, due_ns: int) -> None:
        # A timer may fire a little early: that is not late.
        self._on_started(max(0, self._clock.monotonic_ns() - due_ns) / NS_PER_S)
        await action()


async def _by_plan(actions: Sequence[Work], times: Iterator[float], clock: Clock, on_started: Started) -> None:
    begin_ns = clock.monotonic_ns()
    remaining = iter(actions)
    async with owning() as group:
        launching = _Launching(group, clock, on_started)
        for at_s in times:
            due_ns = begin_ns + round(at_s * NS_PER_S)
            await launching.wait_until(due_ns)
            action = next(remaining, None)
            if action is not None:
                launching.launch(action, due_ns)


async def _by_tokens(actions: Sequence[Work], bucket: TokenBucket, clock: Clock, on_started: Started) -> None:
    """One token for each action; phases that share the bucket take turns."""
    async with owning() as group:
        launching = _Launching(group, clock, on_started)
        for action in actions:
            now_ns = clock.monotonic_ns()
            due_ns = now_ns + round(bucket.reserve_s(now_ns) * NS_PER_S)
            await launching.wait_until(due_ns)
            launching.launch(action, due_ns)


async def _in_pool(actions: Sequence[Work], size: int, on_started: Started) -> None:
    """So many workers take one action after the other."""
    remaining = iter(actions)

    async def work() -> None:
        for action in remaining:
            on_started(0.0)
            await action()

    async with owning() as group:
        for _ in range(min(size, len(actions))):
            group.create_task(work())
