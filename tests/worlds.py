"""Parts of worlds in virtual time: a connection that loses requests, and waiting for a state."""

from collections.abc import Callable
from typing import Any

from kubedyno.client.errors import Unreachable
from kubedyno.client.informer import Informer
from kubedyno.client.rest import Client
from kubedyno.client.transport import Response
from kubedyno.kit import randomness
from kubedyno.kit.clock import NS_PER_S
from kubedyno.kit.virtualtime import LoopClock
from kubedyno.kube import codec
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import Resource
from kubedyno.kube.status import failure
from kubedyno.server.inprocess import InProcess


class Unreliable(InProcess):
    """Loses a share of writes: some before the server has them, as many answers after; the server may be away."""

    def __init__(self, *args: Any, losses: float, seed: int = 1, **more: Any) -> None:
        super().__init__(*args, **more)
        self.losses = losses
        self.is_away = False
        self.writes: list[tuple[str, str, bytes]] = []
        """Method, path and body of what was sent, lost or not."""
        self._rng = randomness.stream(seed, "losses")

    async def request(self, method: str, path: str, **more: Any) -> Response:
        if self.is_away:
            raise Unreachable(server="test", cause="refused the connection", remedy="start it")
        if method == "GET":
            return await super().request(method, path, **more)
        self.writes.append((method, path, more.get("body") or b""))
        fate = self._rng.random()
        if fate < self.losses / 2:
            return Response(500, {}, codec.encode(failure(500, "an internal error", reason="InternalError")))
        answer = await super().request(method, path, **more)
        if fate < self.losses:
            raise Unreachable(server="test", cause="broke the connection", remedy="try again", sent=True)
        return answer


class World:
    """What a test does and sees; waiting ends after `within_s`."""

    within_s = 3600.0

    def __init__(self, client: Client, clock: LoopClock) -> None:
        self.client = client
        self.clock = clock
        self.began_ns = clock.wall_ns()

    def passed_s(self) -> float:
        """Virtual seconds since the beginning."""
        return (self.clock.wall_ns() - self.began_ns) / NS_PER_S

    async def until(self, resource: Resource, predicate: Callable[[list[Object]], object]) -> list[Object]:
        """All objects of a kind, once they are as the predicate wants them."""
        return await until(self.client, resource, predicate, within_s=self.within_s)


async def until(
    client: Client, resource: Resource, predicate: Callable[[list[Object]], object], *, within_s: float
) -> list[Object]:
    """All objects of a kind, once they are as the predicate wants them."""
    async with Informer(client, resource) as informer:
        await informer.wait_until(
            lambda found: bool(predicate(list(found.items))), timeout_s=within_s, what=resource.plural
        )
        return list(informer.items)
