"""Waiting for workloads with stall detection: while there is progress it goes on, without any it says why."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from kubedyno.client.rest import Client
from kubedyno.kit import tasks
from kubedyno.kit.clock import NS_PER_S, Clock
from kubedyno.kit.errors import CheckFailed
from kubedyno.lab import explaining
from kubedyno.lab.standing import Awaited, Goal, Standing
from kubedyno.model.lifecycles import Followed

STALLED_AFTER_S: Final = 60.0
_WHILE_OTHERS_ARE_BOUND: Final = 5
"""So much longer is the patience then: one cycle of a scheduler may bind thousands of others, one after another."""

_WORDS: Final[Mapping[Goal, str]] = {
    "created": "pods were not created",
    "scheduled": "pods were not scheduled",
    "running": "pods did not run",
    "completed": "pods did not complete",
    "unschedulable": "workloads were not said to be unschedulable",
    "gone": "pods did not go away",
}


class Waiting:
    """Waits for the workloads of one trial."""

    def __init__(
        self,
        client: Client,
        standing: Standing,
        kinds: tuple[Followed, ...],
        *,
        namespace: str,
        clock: Clock,
    ) -> None:
        self._client = client
        self._standing = standing
        self._kinds = kinds
        self._namespace = namespace
        self._clock = clock

    async def until(
        self,
        goal: Goal,
        needs: Mapping[str, int],
        *,
        stalled_after_s: float | None,
        about: Callable[[], Awaitable[str]],
    ) -> None:
        """Return when so many pods of each workload have reached the goal.

        CheckFailed when nothing happened to them for `stalled_after_s`, and longer while others are bound: it names
        them, why they wait, and what `about` knows of the lab.
        """
        patience_s = STALLED_AFTER_S if stalled_after_s is None else stalled_after_s
        awaited = self._standing.awaiting(goal, needs, self._clock.wall_ns())
        try:
            if not await self._reached(awaited, patience_s):
                raise CheckFailed(await self._why_not(awaited, patience_s, await about()))
        finally:
            self._standing.forget(awaited)

    async def _reached(self, awaited: Awaited, patience_s: float) -> bool:
        """False: it stalled."""
        if awaited.reached.is_set():
            return True
        async with tasks.owning() as group:
            reached = group.create_task(awaited.reached.wait(), name=f"await {awaited.goal}")
            stalled = group.create_task(self._stalled(awaited, patience_s), name=f"stall of {awaited.goal}")
            await asyncio.wait((reached, stalled), return_when=asyncio.FIRST_COMPLETED)
            reached.cancel()
            stalled.cancel()
        return awaited.reached.is_set()

    async def _stalled(self, awaited: Awaited, patience_s: float) -> None:
        """Return when there was no progress for so long, also of others; or for much longer."""
        while True:
            bound_s, quiet_s = self._since(self._standing.bound_ns), self._since(awaited.progress_ns)
            left_s = min(patience_s - min(bound_s, quiet_s), _WHILE_OTHERS_ARE_BOUND * patience_s - quiet_s)
            if left_s <= 0:
                return
            await self._clock.sleep(left_s)

    def _since(self, time_ns: int) -> float:
        return (self._clock.wall_ns() - time_ns) / NS_PER_S

    async def _why_not(self, awaited: Awaited, patience_s: float, about: str) -> str:
        goal = awaited.goal
        quiet = f"{patience_s:g} s"
        if self._standing.bound_ns > awaited.progress_ns:
            quiet = f"{self._since(awaited.progress_ns):.0f} s, while others were bound"
        missing = {
            workload: number - have
            for workload, number in sorted(awaited.needs.items())
            if (have := getattr(self._standing.tally(workload), goal)) < number
        }
        found = explaining.late(await explaining.gather(self._client, self._namespace, self._kinds), goal, missing)
        return (
            f"{sum(missing.values())} of {awaited.total} {_WORDS[goal]}, and nothing happened to them for "
            f"{quiet}{about}:{explaining.sentences(found)}"
        )
