"""Submitting: each workload at its time, once, and on record before and after.

Three ways to pace: a plan says when each begins (`--rate`, `--arrival`); iterations of so many at once with a delay
after each; or as many in flight as were asked for, without a pause.
"""

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Sequence
from typing import Any, Final, TypeAlias

import msgspec

from kubedyno.kit import randomness
from kubedyno.kit.clock import NS_PER_S, Clock, rfc3339
from kubedyno.kit.tasks import owning
from kubedyno.model.submissions import SubmittedWorkload
from kubedyno.workload import arrivals, pacing
from kubedyno.workload.journal import Journal
from kubedyno.workload.order import Order
from kubedyno.workload.preparing import Prepared, Writer
from kubedyno.workload.sending import Sender

_GRACE_S: Final = 5.0
"""How long requests that are on their way may take to be answered after an interruption."""

Start: TypeAlias = Callable[[Coroutine[Any, Any, None]], None]
"""Begins a submission."""


class Tally(msgspec.Struct):
    """How far a submission is, live."""

    total: int
    done: int = 0
    """Accepted or refused, earlier sittings included."""
    refused: int = 0
    first_refusal: str = ""
    left_out: int = 0
    """Because the time was over."""


class Submission:
    """One sitting of a submission: what the journal has no entry of is sent."""

    def __init__(
        self,
        order: Order,
        *,
        writer: Writer,
        sender: Sender,
        journal: Journal,
        clock: Clock,
        trace_s: Sequence[float] = (),
    ) -> None:
        self._order = order
        self._writer = writer
        self._sender = sender
        self._journal = journal
        self._clock = clock
        self._trace_s = trace_s
        self._mine: list[int] = []
        self._deadline_ns: int | None = None
        self._stopping = False
        self.tally = Tally(total=order.total)
        for entry in journal.state.entries.values():
            self._count(entry)

    async def run(self) -> None:
        """Send all that is to be sent; the journal then says that the submission ended.

        Interrupted, it lets requests on their way be answered; what was sent is in the journal.
        """
        missing = [index for index in range(self._order.total) if index not in self._journal.state.entries]
        asked_per_s: float | None = None
        if self._order.duration_s is not None:
            self._deadline_ns = self._clock.monotonic_ns() + round(self._order.duration_s * NS_PER_S)
        if self._order.arrival is not None:
            offsets = self._offsets(missing)
            asked_per_s = self._order.rate_per_s or pacing.planned_rate(offsets)
            await self._by_plan(missing, offsets)
        elif self._order.parallelism is not None:
            await self._in_flight(missing, self._order.parallelism)
        else:
            await self._by_iterations(missing)
        state = self._journal.state
        entries = [state.entries[index] for index in self._mine if index in state.entries]
        self.tally.left_out = self._order.total - len(state.entries)
        self._journal.end(rfc3339(self._clock.wall_ns()), pacing.judged(entries, asked_per_s=asked_per_s))

    def _offsets(self, missing: Sequence[int]) -> list[float]:
        """When each of the missing ones is due, from the first of them on."""
        rng = randomness.stream(self._order.seed, "arrivals")
        whole = list(itertools.islice(arrivals.offsets_s(self._order, rng, self._trace_s), self._order.total))
        return [whole[index] - whole[missing[0]] for index in missing]

    async def _by_plan(self, missing: Sequence[int], offsets_s: Sequence[float]) -> None:
        """Each at its time, as long as no more are in flight than may be: then it is late, and on record as that."""
        places = asyncio.Semaphore(self._order.in_flight)
        remaining = iter(missing)

        async def one(index: int, planned_ns: int) -> None:
            try:
                await self._submit([index], planned_ns)
            finally:
                places.release()

        async with self._answered() as start:
            async for planned_ns in pacing.planned(offsets_s, self._clock):
                if self._is_over():
                    break
                await places.acquire()
                start(one(next(remaining), planned_ns))

    async def _by_iterations(self, missing: Sequence[int]) -> None:
        """So many at once; the delay begins when all of them are answered."""
        for number, iteration in enumerate(_batched(missing, self._order.num_processes)):
            if number and self._order.delay_s:
                await self._clock.sleep(self._order.delay_s)
            if self._is_over():
                break
            planned_ns = self._clock.wall_ns()
            async with self._answered() as start:
                for parcel in _batched(iteration, self._order.batch):
                    start(self._submit(parcel, planned_ns))

    async def _in_flight(self, missing: Sequence[int], count: int) -> None:
        """As many in flight as may be; each begins when another was answered."""
        parcels = _batched(missing, self._order.batch)

        async def work() -> None:
            for parcel in parcels:
                if self._is_over():
                    break
                await self._submit(parcel, self._clock.wall_ns())

        async with self._answered() as start:
            for _ in range(count):
                start(work())

    @contextlib.asynccontextmanager
    async def _answered(self) -> AsyncIterator[Start]:
        """Starts submissions, and ends when all are answered. Interrupted, it gives them a moment to be."""
        flying: set[asyncio.Task[None]] = set()
        async with owning() as group:

            def start(submission: Coroutine[Any, Any, None]) -> None:
                task = group.create_task(submission)
                flying.add(task)
                task.add_done_callback(flying.discard)

            try:
                yield start
                while flying:
                    await asyncio.wait(flying)
            except asyncio.CancelledError:
                self._stopping = True
                if flying:
                    await asyncio.wait(flying, timeout=_GRACE_S)
                raise

    def _is_over(self) -> bool:
        """Whether nothing more is to begin."""
        return self._stopping or (self._deadline_ns is not None and self._clock.monotonic_ns() >= self._deadline_ns)

    async def _submit(self, indexes: Sequence[int], planned_ns: int) -> None:
        """Send the workloads of a parcel, and keep on record what came of them."""
        workloads = [self._writer.prepared(index) for index in indexes]
        before = {index: self._journal.state.open[index] for index in indexes if index in self._journal.state.open}
        intents = []
        submit_ns = self._clock.wall_ns()
        for workload in workloads:
            intents.append(self._intent(workload, planned_ns, submit_ns))
            if workload.index not in before:  # else its first intent stays: it tells when it was really sent
                self._journal.intend(workload.index, intents[-1])
        outcomes = await self._sender.send(workloads, again=bool(before))
        for index, intent, sent in zip(indexes, intents, outcomes, strict=True):
            earlier = before.get(index) if sent.found else None
            entry = msgspec.structs.replace(
                earlier or intent,
                # The answer to an earlier sitting's request was lost: when it was given is not known.
                t_accepted=sent.accepted_ns if earlier is None else None,
                uid=sent.uid,
                error=sent.error,
            )
            self._journal.enter(index, entry)
            self._count(entry)
            if earlier is None:
                self._mine.append(index)

    def _intent(self, workload: Prepared, planned_ns: int, submit_ns: int) -> SubmittedWorkload:
        main = workload.main_document
        return SubmittedWorkload(
            name=workload.name,
            kind=main.kind,
            namespace=main.namespace or "",
            project=workload.project,
            queue=workload.queue,
            gpus=self._order.num_gpus,
            workers=self._order.num_workers,
            template_hash=self._order.template_hash,
            planned_ns=planned_ns,
            t_submit=submit_ns,
            t_accepted=None,
            uid=None,
            error=None,
        )

    def _count(self, entry: SubmittedWorkload) -> None:
        self.tally.done += 1
        if entry.error is not None:
            self.tally.refused += 1
            self.tally.first_refusal = self.tally.first_refusal or f"{entry.name}: {entry.error}"


def _batched(indexes: Iterable[int], size: int) -> Iterator[list[int]]:
    """So many at a time, the last of them fewer."""
    remaining = iter(indexes)
    while batch := list(itertools.islice(remaining, size)):
        yield batch
