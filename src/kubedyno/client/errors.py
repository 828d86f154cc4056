"""What can go wrong between us and an API server: it refused, or it could not be reached."""

from kubedyno.kit.errors import EngineError
from kubedyno.kube.status import Cause, Status

MESSAGE_LIMIT = 1000
"""Characters of a server's message that reach a person: admission webhooks can answer pages."""

HTTP_CONFLICT = 409
HTTP_NOT_FOUND = 404
HTTP_GONE = 410
HTTP_TOO_MANY = 429


def shortened(text: str, limit: int = MESSAGE_LIMIT) -> str:
    """`text` on one line, cut to `limit` characters."""
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


class ApiError(EngineError):
    """The API server answered with a failure: the Status, and which request it was about."""

    def __init__(self, status: Status, *, method: str, path: str) -> None:
        self.status = status
        self.method = method
        self.path = path
        said = shortened(status.message) or "without a message"
        super().__init__(f"{method} {path} failed with {status.code} {status.reason}: {said}")

    @property
    def code(self) -> int:
        """The HTTP status code."""
        return self.status.code

    @property
    def reason(self) -> str:
        """The machine-readable reason (`NotFound`, `AlreadyExists`, ...)."""
        return self.status.reason

    @property
    def message(self) -> str:
        """The server's own words, whole."""
        return self.status.message

    @property
    def causes(self) -> tuple[Cause, ...]:
        """The single causes, for an invalid object one per field."""
        return self.status.causes

    @property
    def is_not_found(self) -> bool:
        """There is no such object, or no such resource."""
        return self.code == HTTP_NOT_FOUND

    @property
    def is_already_exists(self) -> bool:
        """An object of that name exists."""
        return self.reason == "AlreadyExists"

    @property
    def is_conflict(self) -> bool:
        """Somebody changed the object since it was read, or a field belongs to another manager."""
        return self.code == HTTP_CONFLICT and not self.is_already_exists

    @property
    def is_gone(self) -> bool:
        """The resource version or continue token is too old: start again with a list."""
        return self.code == HTTP_GONE or self.reason in {"Expired", "Gone"}

    @property
    def is_forbidden(self) -> bool:
        """Authorization, admission or a quota refused."""
        return self.reason == "Forbidden"

    @property
    def is_invalid(self) -> bool:
        """The object failed validation."""
        return self.reason == "Invalid"

    @property
    def is_too_many_requests(self) -> bool:
        """The server asks to come later, or a disruption budget stands against an eviction."""
        return self.code == HTTP_TOO_MANY


class Unreachable(EngineError):
    """No answer: the connection failed, broke, or took too long.

    `sent` is False only when the server cannot have seen the whole request, so that repeating it is safe.
    `permanent` is True when trying again cannot help (a name that does not resolve, a certificate that does not
    verify).
    """

    def __init__(self, *, server: str, cause: str, remedy: str, sent: bool = False, permanent: bool = False) -> None:
        self.server = server
        self.cause = shortened(cause)
        self.sent = sent
        self.permanent = permanent
        super().__init__(f"the API server at {server} {self.cause}: {remedy}")


class Malformed(EngineError):
    """The server answered something that the API does not allow: no JSON, no object."""


class Overdue(EngineError):
    """What was waited for did not come in time."""
