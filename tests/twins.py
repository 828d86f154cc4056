"""Two servers that are asked the same at the same times: one takes short ways, the other never does."""

from collections.abc import Hashable
from typing import Any, TypeVar

import msgspec

from kubedyno.kit.clock import NS_PER_S, VirtualClock
from kubedyno.kube import codec
from kubedyno.kube.codec import Object
from kubedyno.server.embedding import new_api
from kubedyno.server.memory import Memory
from kubedyno.server.messages import Answer, Request
from kubedyno.store.invariants import validate

T = TypeVar("T")

_START_NS = 1_700_000_000 * NS_PER_S
_COMPARED = ("pods", "nodes", "events", "leases.coordination.k8s.io", "jobs.batch")


class _Forgetful(Memory[T]):
    """Knows nothing, so that everything goes the long way."""

    def get(self, shape: Hashable) -> T | None:
        del shape
        return None


class Counting(Memory[T]):
    """Counts what was known."""

    taken = 0

    def get(self, shape: Hashable) -> T | None:
        found = super().get(shape)
        self.taken += found is not None
        return found


class Twins:
    """The two servers; what they answer is compared with each request."""

    def __init__(self) -> None:
        self.clock = VirtualClock(start_ns=_START_NS)
        self.quick, self.slow = (new_api(clock=self.clock, seed=1) for _ in range(2))
        self.patched: Counting[Any] = Counting()
        self.created: Counting[Any] = Counting()
        self.updated: Counting[Any] = Counting()
        quick, slow = self.quick.state, self.slow.state
        quick.rewrites._memory, slow.rewrites._memory = self.patched, _Forgetful()
        quick.newcomers._memory, slow.newcomers._memory = self.created, _Forgetful()
        quick.renewals._memory, slow.renewals._memory = self.updated, _Forgetful()
        self.send("POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "default"}})

    def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        content_type: str = "application/json",
        **query: str,
    ) -> Answer:
        """What both answer to the request."""
        sent = b"" if body is None else body if isinstance(body, bytes) else msgspec.json.encode(body)
        request = Request(method, path, query, sent, content_type, user_agent="tester/1")
        quick, slow = self.quick.handle(request), self.slow.handle(request)
        assert isinstance(quick, Answer)
        assert quick == slow
        return quick

    def get(self, path: str) -> Object:
        """An object."""
        return codec.decode(self.send("GET", path).body)

    def pass_time(self, delay_s: float) -> None:
        """Let both be later; backwards, too."""
        self.clock._now_ns += round(delay_s * NS_PER_S)  # nobody sleeps here whom it could wake

    def compare(self) -> None:
        """All that watchers were told, and what the stores hold besides."""
        stores = [api.state.store for api in (self.quick, self.slow)]
        for resource in _COMPARED:
            logs = [list(store.shelves[resource].log) for store in stores]
            assert logs[0] == logs[1]
        for store in stores:
            validate(store)
