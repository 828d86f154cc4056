"""Asking a server again that is busy or away for a while."""

from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from kubedyno.client.errors import ApiError, Unreachable
from kubedyno.client.rest import Client
from kubedyno.client.retrying import backoff_s, may_pass
from kubedyno.kit.clock import NS_PER_S

PATIENCE_S: Final = 90.0
"""So long may a server be away."""

Result = TypeVar("Result")


async def patiently(
    client: Client,
    action: Callable[[], Awaitable[Result]],
    *,
    patience_s: float = PATIENCE_S,
    also: Callable[[ApiError], bool] = lambda _error: False,
) -> Result:
    """The result of `action`, repeated while the server is away or fails, and for refusals that `also` excuses.

    It must do no harm when it is done twice. After `patience_s` the last failure is raised.
    """
    begun_ns = client.clock.monotonic_ns()
    attempt = 0
    while True:
        try:
            return await action()
        except (ApiError, Unreachable) as error:
            is_excused = may_pass(error) or (isinstance(error, ApiError) and also(error))
            is_late = (client.clock.monotonic_ns() - begun_ns) / NS_PER_S > patience_s
            if is_late or not is_excused:
                raise
        await client.clock.sleep(backoff_s(attempt))
        attempt += 1
