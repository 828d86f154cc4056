"""When a request may be sent again: decisions only, no waiting.

A request is repeated when the server said that it did nothing (429), when it cannot have seen the request, or when
repeating does no harm (GET). A POST whose fate is unknown is never repeated: the pod may exist.
"""

from collections.abc import Mapping

from kubedyno.client.errors import HTTP_TOO_MANY, ApiError, Unreachable

MAX_RETRIES = 10
"""As in client-go."""

MAX_RECONNECTS = 5
"""Of a server that refuses connections: about three seconds with the backoff below, a quick restart of it."""

MAX_RETRY_AFTER_S = 60.0
"""A server that asks for more is not waited for so long."""

FIRST_BACKOFF_S = 0.1
MAX_BACKOFF_S = 5.0

HTTP_SERVER_ERROR = 500
_PASSING = frozenset({408, HTTP_TOO_MANY})


def is_passing(code: int) -> bool:
    """Whether a server that answers so may do better later: it was busy, or out of order."""
    return code in _PASSING or code >= HTTP_SERVER_ERROR


def may_pass(error: ApiError | Unreachable) -> bool:
    """Whether the same request may do better later: the server was away, busy or out of order."""
    return not error.permanent if isinstance(error, Unreachable) else is_passing(error.code)


def backoff_s(attempt: int) -> float:
    """Seconds before attempt number `attempt` + 1: doubling from 0.1 s up to 5 s."""
    return min(MAX_BACKOFF_S, FIRST_BACKOFF_S * 2.0 ** min(attempt, 16))


def after_failure(failure: Unreachable, *, attempt: int) -> float | None:
    """Seconds to wait before repeating a request that got no answer; None to give up. `attempt` counts from 0."""
    if failure.sent or failure.permanent or attempt >= MAX_RECONNECTS:
        return None
    return backoff_s(attempt)


def after_answer(error: ApiError, headers: Mapping[str, str], *, method: str, attempt: int) -> float | None:
    """Seconds to wait before repeating a request that was answered with `error`; None to give up."""
    if attempt >= MAX_RETRIES:
        return None
    asked_s = retry_after_s(headers)
    if error.code == HTTP_TOO_MANY:
        # Without Retry-After it is no overload: an eviction that a disruption budget forbids answers 429, too.
        return asked_s
    if method == "GET" and error.code >= HTTP_SERVER_ERROR:
        if asked_s is not None:
            return asked_s
        if error.reason == "ServerTimeout":
            return backoff_s(attempt)
    return None


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Seconds in the Retry-After header; the API server never writes the form with a date."""
    value = headers.get("Retry-After")
    if value is None or not value.isascii() or not value.isdigit():
        return None
    return min(float(value), MAX_RETRY_AFTER_S)
