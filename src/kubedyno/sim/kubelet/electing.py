"""Holding shards: the leases of `sharding`, read and written in time."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping

from kubedyno.client.errors import ApiError, Unreachable
from kubedyno.client.rest import Client
from kubedyno.client.retrying import may_pass
from kubedyno.kit import tasks
from kubedyno.kit.clock import NS_PER_S, Clock, rfc3339
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import LEASES
from kubedyno.sim.kubelet import sending, sharding
from kubedyno.sim.kubelet.sending import Fate
from kubedyno.sim.kubelet.sharding import Held, View

Shards = frozenset[int]

_STOPPED_YET_S = 0.05
_LEAVE_WITHIN_S = 3.0
_COLLECTION = LEASES.path(namespace=sharding.NAMESPACE)


class Election:
    """One simulator among several; `held` are its shards, `changed` is set whenever they change."""

    def __init__(self, client: Client, *, me: str, shards: int, clock: Clock) -> None:
        self.held: Shards = frozenset()
        self.playing: Shards = frozenset()
        """Set by whoever plays: the shards that are not given away yet."""
        self.changed = asyncio.Event()
        self._client = client
        self._me = me
        self._shards = shards
        self._clock = clock
        self._seen = View()
        self._renewed_ns: dict[int, int] = {}
        """When each of our shards was last renewed, or a little before."""

    async def run(self) -> None:
        """Take part until cancelled; a shard that cannot be renewed in time is let go."""
        while True:
            try:
                async with asyncio.timeout(self._patience_s()):
                    await self._round()
            except TimeoutError:
                pass  # what has become too old is let go below
            except (ApiError, Unreachable) as error:
                if not may_pass(error):
                    raise
            self._keep_renewed()
            await self._clock.sleep(sharding.RETRY_S)

    async def leave(self) -> None:
        """Give all shards away, so that others need not wait until they run out."""
        with contextlib.suppress(ApiError, Unreachable, TimeoutError):
            async with asyncio.timeout(_LEAVE_WITHIN_S):
                seen, now_ns = await self._look(), self._clock.monotonic_ns()
                await self._give_away(
                    sharding.shards_of(self._me, seen, shards=self._shards, now_ns=now_ns), seen.shards
                )
                if seen.own is not None:
                    await self._remove(seen.own)

    def _patience_s(self) -> float:
        """How long a round may take: nobody else may have a shard that we believe to be ours."""
        now_ns = self._clock.monotonic_ns()
        oldest_ns = min(self._renewed_ns.values(), default=now_ns)
        return sharding.RENEW_WITHIN_S - (now_ns - oldest_ns) / NS_PER_S

    def _keep_renewed(self) -> None:
        now_ns = self._clock.monotonic_ns()
        for number, renewed_ns in list(self._renewed_ns.items()):
            if now_ns - renewed_ns >= sharding.RENEW_WITHIN_S * NS_PER_S:
                del self._renewed_ns[number]
        self._set(frozenset(self._renewed_ns))

    def _set(self, shards: Shards) -> None:
        if shards != self.held:
            self.held = shards
            self.changed.set()

    async def _round(self) -> None:
        """Read all leases, then write ours."""
        seen = await self._look()
        now_ns, now = self._clock.monotonic_ns(), rfc3339(self._clock.wall_ns())
        await self._write(seen.own, sharding.member_lease(self._me, seen.own, renewed=now))
        for lease in seen.silent:
            await self._remove(lease)
        turn = sharding.turn(seen, me=self._me, shards=self._shards, now_ns=now_ns)
        for number in self._renewed_ns.keys() - set(turn.hold):
            del self._renewed_ns[number]
        if turn.release:
            self._set(frozenset(self._renewed_ns))
            while self.playing.intersection(turn.release):  # nobody else may play them before we have stopped
                await self._clock.sleep(_STOPPED_YET_S)
            await self._give_away(turn.release, seen.shards)
        for number in turn.hold:
            await self._hold(number, seen.shards.get(number))

    async def _hold(self, number: int, known: Held | None) -> None:
        began_ns, now = self._clock.monotonic_ns(), rfc3339(self._clock.wall_ns())
        fate = await self._write(known, sharding.shard_lease(number, known, holder=self._me, renewed=now))
        if fate is Fate.DONE:
            self._renewed_ns[number] = began_ns
        elif fate is not Fate.LATER:  # then what we hold is ours until its time is up
            self._renewed_ns.pop(number, None)

    async def _look(self) -> View:
        listing = await self._client.list_all(LEASES, namespace=sharding.NAMESPACE, label_selector=sharding.LABEL)
        now_ns = self._clock.monotonic_ns()
        self._seen = sharding.view(listing.items, me=self._me, now_ns=now_ns, before=self._seen)
        return self._seen

    async def _give_away(self, numbers: Iterable[int], known: Mapping[int, Held]) -> None:
        now = rfc3339(self._clock.wall_ns())
        for number in numbers:
            held = known[number]
            await self._write(held, sharding.shard_lease(number, held, holder="", renewed=now))

    async def _write(self, known: Held | None, lease: Object) -> Fate:
        if known is None:
            sent = await sending.send(self._client, "POST", _COLLECTION, lease)
        else:
            sent = await sending.send(self._client, "PUT", f"{_COLLECTION}/{known.name}", lease)
        return sent.fate

    async def _remove(self, lease: Held) -> None:
        options = {"preconditions": {"resourceVersion": lease.version}}
        await sending.send(self._client, "DELETE", f"{_COLLECTION}/{lease.name}", options, query={})


@contextlib.asynccontextmanager
async def taking_part(client: Client, *, me: str, shards: int, clock: Clock) -> AsyncIterator[Election]:
    """A member of the election for the duration of the block; whoever plays its shards must end within it."""
    async with tasks.owning() as group:
        election = Election(client, me=me, shards=shards, clock=clock)
        running = group.create_task(election.run(), name="hold shards")
        try:
            yield election
        finally:
            running.cancel()
            await asyncio.wait([running])
            await election.leave()


async def shard_sets(election: Election) -> AsyncGenerator[Shards, None]:
    """The shards that are ours, whenever they change."""
    while True:
        election.changed.clear()
        yield election.held
        await election.changed.wait()
