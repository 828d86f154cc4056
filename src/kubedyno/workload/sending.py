"""Sending a workload to the API server: each object once, whatever happens on the way.

A refusal ends the workload, a server that is busy or away is waited for. A request whose fate is unknown is sent again:
names are unique, so an object that exists already and carries the label of this submission is the one that was meant.
"""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Protocol

import msgspec

from kubedyno.client import retrying
from kubedyno.client.errors import ApiError, Unreachable, shortened
from kubedyno.client.rest import Client
from kubedyno.kit.clock import NS_PER_S, Clock
from kubedyno.kit.errors import EngineError
from kubedyno.kube.resources import Resource
from kubedyno.workload.preparing import SUBMISSION_LABEL, Document, Prepared

OUTAGE_S: Final = 300.0
"""How long a server that is away or refuses everybody is waited for."""
FAULT_S: Final = 30.0
"""The same for one that answers with an error of its own, which may be due to the workload."""

_AWAY: Final = frozenset({429, 503})
_ERROR_LIMIT: Final = 400


class Sent(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a workload."""

    accepted_ns: int | None = None
    """When the creation of the workload itself was answered, wall ns."""
    uid: str | None = None
    found: bool = False
    """It was there before it was sent: an earlier request did it."""
    error: str | None = None


class Sender(Protocol):
    """A way to submit. It never raises for what is wrong with a workload: `Sent.error` says that."""

    async def send(self, workloads: Sequence[Prepared], *, again: bool = False) -> list[Sent]:
        """What came of each of the workloads, which are sent together; `again`: they may be there already."""
        ...


Resources = Mapping[tuple[str, str], Resource]
"""By apiVersion and kind."""


class Refused(Exception):
    """A workload cannot be had as it is."""


class Patience:
    """Waits out a server that is away, with growing pauses, for a limited time."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._since_ns: int | None = None
        self._failures = 0

    async def after(self, error: ApiError | Unreachable) -> None:
        """Return when it is time to try again; Refused or EngineError when it is of no use."""
        if isinstance(error, Unreachable) and error.permanent:
            raise error
        if isinstance(error, ApiError) and not _may_pass(error):
            raise Refused(shortened(error.message, _ERROR_LIMIT) or str(error)) from error
        now_ns = self._clock.monotonic_ns()
        if self._since_ns is None:
            self._since_ns = now_ns
        waited_s = (now_ns - self._since_ns) / NS_PER_S
        away = isinstance(error, Unreachable) or error.code in _AWAY
        if waited_s > (OUTAGE_S if away else FAULT_S):
            if not away:
                raise Refused(shortened(str(error), _ERROR_LIMIT)) from error
            raise EngineError(f"the API server took no workload for {waited_s:.0f} s: {error}") from error
        await self._clock.sleep(retrying.backoff_s(self._failures))
        self._failures += 1


def _may_pass(error: ApiError) -> bool:
    """A busy server, one that is starting up, or a quota that two requests changed at once."""
    missing_kind = error.is_not_found and (error.status.details is None or error.status.details.kind != "namespaces")
    return retrying.may_pass(error) or error.is_conflict or missing_kind


class ApiSender:
    """Requests to the API server, one after another for the objects of a workload."""

    def __init__(self, client: Client, resources: Resources, submission: str) -> None:
        self._client = client
        self._clock = client.clock
        self._resources = resources
        self._submission = submission

    async def send(self, workloads: Sequence[Prepared], *, again: bool = False) -> list[Sent]:
        """One workload after another."""
        del again  # the server refuses what is there already
        return [await self._send(workload) for workload in workloads]

    async def _send(self, workload: Prepared) -> Sent:
        sent = Sent()
        for number, document in enumerate(workload.documents):
            try:
                uid, found = await self._create(document)
            except Refused as refusal:
                return msgspec.structs.replace(sent, error=refused(workload, number, str(refusal)))
            if number == workload.main:
                sent = Sent(accepted_ns=self._clock.wall_ns(), uid=uid, found=found)
        return sent

    async def _create(self, document: Document) -> tuple[str | None, bool]:
        """The uid of the object, and whether it was there already."""
        resource = self._resources[document.api_version, document.kind]
        patience = Patience(self._clock)
        while True:
            try:
                # As kubectl does it: a field that the server does not know would be dropped in silence.
                created = await self._client.create(
                    resource, document.body, namespace=document.namespace, field_validation="Strict"
                )
                return created["metadata"].get("uid"), False
            except ApiError as error:
                if error.is_already_exists:
                    uid = await look_up(self._client, resource, document, submission=self._submission)
                    if uid is not None:
                        return uid, True
                    continue  # deleted since
                await patience.after(error)
            except Unreachable as error:
                await patience.after(error)


async def look_up(client: Client, resource: Resource, document: Document, *, submission: str | None) -> str | None:
    """The uid of an object that is there; None: there is none. Refused when it is of another submission."""
    patience = Patience(client.clock)
    while True:
        try:
            found = await client.get(resource, document.name, namespace=document.namespace)
        except ApiError as error:
            if error.is_not_found:
                return None
            await patience.after(error)
        except Unreachable as error:
            await patience.after(error)
        else:
            theirs = (found["metadata"].get("labels") or {}).get(SUBMISSION_LABEL)
            if submission is not None and theirs != submission:
                whose = f"submission {theirs}" if theirs else "somebody else"
                raise Refused(f"{document.kind} {document.name} exists already, made by {whose}")
            uid: str | None = found["metadata"].get("uid")
            return uid


def refused(workload: Prepared, number: int, reason: str) -> str:
    """Why a workload was refused at its object `number`, and what of it was made before."""
    before = [f"{document.kind} {document.name}" for document in workload.documents[:number]]
    if not before:
        return reason
    more = f" and {len(before) - 1} more" if len(before) > 1 else ""
    return f"{reason} (made before: {before[0]}{more})"


@contextlib.contextmanager
def resumable(command: str) -> Iterator[None]:
    """What ends a submission early is told with how to go on."""
    try:
        yield
    except EngineError as error:
        raise EngineError(f"{error}; what was submitted is on record, `{command}` goes on") from error
