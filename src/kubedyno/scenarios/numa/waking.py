"""Pods that wait for a scheduler which knows better by now: awaited, and woken where nothing else wakes them.

When the over-reserving cache of the real plugin has taken over a report, no waiting pod is tried for it: the report
woke them before, when it came, and the next occasion may be five minutes away. Touching a report is an occasion.
"""

from collections.abc import Iterable
from typing import Final

import msgspec

from kubedyno.kit.clock import NS_PER_S
from kubedyno.kit.errors import CheckFailed
from kubedyno.lab.handles import Workloads
from kubedyno.lab.lab import Lab
from kubedyno.scenarios.numa import truth, zoned
from kubedyno.scenarios.numa.matching import RESYNC_S
from kubedyno.scenarios.numa.zoned import World

WITHIN_S: Final = 120.0
UNWOKEN: Final = "the over-reserving cache takes over a report, and wakes no pod that waits for it"

_BY_ITSELF_S: Final = RESYNC_S + 3.0
"""A report, a period of the cache and a back-off: so long it takes without anybody's help."""
_TOUCHED: Final = "kubedyno/touched"


class Recovered(msgspec.Struct, frozen=True):
    """How long it took until pods ran, and how often they had to be woken."""

    took_s: float | None
    """None: they did not in time."""
    wakings: int = 0

    @property
    def finding(self) -> str:
        """What it says of the scheduler; empty: nothing."""
        return UNWOKEN if self.wakings and self.took_s is not None else ""

    def told(self, ends: truth.Ends) -> str:
        """In a few words, beside where the pods are."""
        if self.took_s is None:
            return ends.told
        woken = f", woken {self.wakings} times" if self.wakings else ""
        return f"{ends.told}; recovered after {self.took_s:.1f} s{woken}"


async def until_placed(lab: Lab, *workloads: Workloads) -> Recovered:
    """Wait until no pod of workloads waits any more: each runs, or was refused."""

    async def placed() -> bool:
        return not (await truth.ends_of(lab, *workloads)).pending

    took_s = await truth.until(lab, placed, within_s=WITHIN_S)
    await truth.until_decided(lab, *workloads)
    return Recovered(took_s)


async def until_running(
    lab: Lab, world: World, *workloads: Workloads, count: int | None = None, within_s: float = WITHIN_S
) -> Recovered:
    """Wait until so many pods of workloads run; None: all."""
    wanted = sum(one.pods for one in workloads) if count is None else count
    begun_ns, wakings = lab.clock.monotonic_ns(), 0
    while True:
        passed_s = (lab.clock.monotonic_ns() - begun_ns) / NS_PER_S
        patience_s = _BY_ITSELF_S if world.knows == "over-reserve" else within_s
        took_s = await truth.until_running(lab, *workloads, count=wanted, within_s=min(patience_s, within_s - passed_s))
        if took_s is not None:
            return Recovered((lab.clock.monotonic_ns() - begun_ns) / NS_PER_S, wakings)
        if lab.clock.monotonic_ns() - begun_ns >= within_s * NS_PER_S:
            return Recovered(None, wakings)
        await touch(lab, await lab.exporters.written())
        wakings += 1


async def expect_fitting(
    lab: Lab, world: World, burst: Workloads, *, target: str, failure: str, expected: str, recorded: str
) -> None:
    """A case of exporters that are at work again: of more pods than fit, all that fit must run, and none be refused."""
    recovered = await until_running(lab, world, burst, count=zoned.FITTING * len(world.names))
    found = await truth.ends_of(lab, burst)
    lab.case(
        target=target,
        component="exporter",
        failure=failure,
        expected=expected,
        observed=recovered.told(found),
        holds=recovered.took_s is not None and not found.unaligned,
        finding=recovered.finding,
    )
    if recovered.took_s is not None:
        lab.record(recorded, "s", recovered.took_s)


async def set_up(lab: Lab, world: World, *workloads: Workloads) -> None:
    """Wait until all pods of workloads run, which a situation begins with; CheckFailed where they do not."""
    if (await until_running(lab, world, *workloads)).took_s is None:
        found = await truth.ends_of(lab, *workloads)
        raise CheckFailed(f"pods that have to be there before did not run within {WITHIN_S:g} s: {found.told}")


async def touch(lab: Lab, names: Iterable[str]) -> None:
    """Change the reports of these nodes, and nothing that they say."""
    change = {"metadata": {"annotations": {_TOUCHED: str(lab.clock.wall_ns())}}}
    for name in names:
        await lab.client.patch(zoned.TOPOLOGIES, name, change, kind="merge")
