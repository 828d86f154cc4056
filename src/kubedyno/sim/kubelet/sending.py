"""Sending a kubelet's writes: one attempt each, and what came of it. Answers are not decoded, there are too many."""

from collections.abc import Mapping
from enum import Enum, auto

import msgspec

from kubedyno.client.errors import ApiError, Unreachable
from kubedyno.client.options import PATCH_TYPES
from kubedyno.client.rest import Client
from kubedyno.client.retrying import is_passing, retry_after_s
from kubedyno.client.transport import DEFAULT_TIMEOUT_S
from kubedyno.kube import codec, status
from kubedyno.kube.codec import Object

MANAGER = "kubelet"
"""The field manager, as a kubelet's own."""

_JSON = "application/json"
_WRITTEN_BY: Mapping[str, str] = {"fieldManager": MANAGER}
_OK = 300
_NOT_FOUND = 404
_CONFLICT = 409


class Fate(Enum):
    """What became of a write."""

    DONE = auto()
    GONE = auto()
    """There is no such object any more."""
    CONFLICT = auto()
    """It is another object, or another version of it."""
    LATER = auto()
    """The server could not; it may next time."""


class Sent(msgspec.Struct, frozen=True, gc=False):
    """The outcome of one write."""

    fate: Fate
    version: str = ""
    """The object's resourceVersion after it."""
    wait_s: float | None = None
    """How long the server asks to wait; None: it does not say."""
    is_going: bool = False
    """Whether the object is to be deleted: that may have come just before."""


class _Metadata(msgspec.Struct):
    resourceVersion: str = ""  # noqa: N815 - as the API spells it
    deletionTimestamp: str = ""  # noqa: N815 - as above


class _Answer(msgspec.Struct):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)


_ANSWERS = msgspec.json.Decoder(_Answer)


async def send(
    client: Client,
    method: str,
    path: str,
    body: Object,
    *,
    content_type: str = _JSON,
    query: Mapping[str, str] | None = None,
    timeout_s: float = DEFAULT_TIMEOUT_S,
) -> Sent:
    """Send one request. Raises `ApiError` where no repetition can help: forbidden, or the object is refused."""
    try:
        response = await client.request_raw(
            method,
            path,
            query=_WRITTEN_BY if query is None else query,
            body=codec.encode(body),
            content_type=content_type,
            accept=_JSON,
            timeout_s=timeout_s,
        )
    except Unreachable as failure:
        if failure.permanent:
            raise
        return Sent(Fate.LATER)
    code = response.status
    if code < _OK:
        try:
            metadata = _ANSWERS.decode(response.body).metadata
            return Sent(Fate.DONE, metadata.resourceVersion, is_going=bool(metadata.deletionTimestamp))
        except msgspec.DecodeError:
            return Sent(Fate.LATER)  # somebody else answered: nobody knows whether it was done
    if code == _NOT_FOUND:
        return Sent(Fate.GONE)
    if code == _CONFLICT:
        return Sent(Fate.CONFLICT)
    if is_passing(code):
        return Sent(Fate.LATER, wait_s=retry_after_s(response.headers))
    raise ApiError(status.parse(response.body, code=code), method=method, path=path)


async def patch_status(client: Client, path: str, uid: str, status_part: Object) -> Sent:
    """Patch the status of the object with that uid; another one of the same name is a conflict."""
    body = {"metadata": {"uid": uid}, "status": status_part}
    return await send(client, "PATCH", f"{path}/status", body, content_type=PATCH_TYPES["strategic"])


async def delete(client: Client, path: str, uid: str) -> Sent:
    """Delete the object with that uid at once."""
    return await send(client, "DELETE", path, {"gracePeriodSeconds": 0, "preconditions": {"uid": uid}}, query={})
