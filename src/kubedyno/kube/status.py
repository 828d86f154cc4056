"""The API's answer to what did not work: `metav1.Status`, read from a body or built for one."""

from typing import Any

import msgspec

REASONS = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    406: "NotAcceptable",
    409: "Conflict",
    410: "Gone",
    413: "RequestEntityTooLarge",
    415: "UnsupportedMediaType",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}
"""The usual reason of each code. AlreadyExists (409), Expired (410) and ServerTimeout (500) are the others."""


class Cause(msgspec.Struct, frozen=True, omit_defaults=True):
    """One part of why a request failed: `field` is the path in the object, reason is machine-readable."""

    reason: str = ""
    message: str = ""
    field: str = ""


class Details(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """What a failed request was about. `kind` is the plural resource name, by the API's custom."""

    name: str = ""
    group: str = ""
    kind: str = ""
    uid: str = ""
    causes: tuple[Cause, ...] = ()
    retry_after_seconds: int = 0


class Status(msgspec.Struct, frozen=True, rename="camel"):
    """`metav1.Status`; `code` is the HTTP status."""

    kind: str = "Status"
    api_version: str = "v1"
    metadata: dict[str, Any] = {}
    status: str = "Failure"
    message: str = ""
    reason: str = ""
    details: Details | None = None
    code: int = 0

    @property
    def causes(self) -> tuple[Cause, ...]:
        """The causes, if the details list any."""
        return self.details.causes if self.details else ()


class _Anything(msgspec.Struct):
    """Enough of a body to see whether it is a Status."""

    kind: str = ""
    status: Any = None


_decoder = msgspec.json.Decoder(Status)
_kind_decoder = msgspec.json.Decoder(_Anything)


def failure(
    code: int,
    message: str,
    *,
    reason: str | None = None,
    name: str = "",
    group: str = "",
    resource: str = "",
    uid: str = "",
    causes: tuple[Cause, ...] = (),
    retry_after_seconds: int = 0,
    empty_details: bool = False,
) -> Status:
    """A failure as the API server writes it; without a reason, the code's usual one.

    `empty_details` writes details that say nothing, as some of the server's parts do.
    """
    details = Details(name, group, resource, uid, causes, retry_after_seconds)
    return Status(
        message=message,
        reason=REASONS.get(code, "Unknown") if reason is None else reason,
        details=None if details == Details() and not empty_details else details,
        code=code,
    )


def body(status: Status) -> bytes:
    """The JSON of a Status: what is empty is left out, the metadata is not."""
    fields = {
        "kind": status.kind,
        "apiVersion": status.api_version,
        "metadata": status.metadata,
        "status": status.status,
        "message": status.message,
        "reason": status.reason,
        "details": status.details,
        "code": status.code,
    }
    return msgspec.json.encode({key: value for key, value in fields.items() if value or key == "metadata"})


def parse(body: bytes, *, code: int) -> Status:
    """The Status in the body of a failed request.

    Not every failure comes from the API machinery: proxies answer HTML, aggregated servers plain text, filters
    nothing at all. Such a body becomes the message of a Status with the usual reason of `code`.
    """
    try:
        seen = _kind_decoder.decode(body)
        # The API server's own timeout filter forgets the kind.
        if seen.kind == "Status" or (not seen.kind and seen.status == "Failure"):
            status = _decoder.decode(body)
            return status if status.code else msgspec.structs.replace(status, code=code)
    except msgspec.DecodeError:
        pass
    return failure(code, body.decode("utf-8", "replace").strip())
