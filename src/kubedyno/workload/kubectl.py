"""Submitting with kubectl: a process of it for each workload, or for a batch of them."""

import json
import re
from collections.abc import Sequence
from typing import Final

import msgspec

from kubedyno.client import retrying
from kubedyno.client.errors import shortened
from kubedyno.client.rest import Client
from kubedyno.kit.clock import NS_PER_S
from kubedyno.kit.errors import EngineError
from kubedyno.kube.codec import Object
from kubedyno.workload.preparing import Document, Prepared
from kubedyno.workload.processes import run
from kubedyno.workload.sending import FAULT_S, OUTAGE_S, Refused, Resources, Sent, look_up, refused

_SAID: Final = re.compile(r"Error from server \((\w+)\)")
_AWAY: Final = re.compile(
    r"^(Unable to connect to the server|The connection to the server .* was refused|error: .*(EOF|connection re|TLS))",
    re.MULTILINE,
)
_PASSING: Final = frozenset(
    {"TooManyRequests", "ServiceUnavailable", "InternalError", "Timeout", "ServerTimeout", "Conflict"}
)
_ERROR_LIMIT: Final = 400
_JSON: Final = json.JSONDecoder()


class KubectlSender:
    """`kubectl create -f -`; `command` is the program with the options that name the cluster."""

    def __init__(self, command: Sequence[str], client: Client, resources: Resources, submission: str) -> None:
        self._command = tuple(command)
        self._client = client
        self._clock = client.clock
        self._resources = resources
        self._submission = submission

    async def send(self, workloads: Sequence[Prepared], *, again: bool = False) -> list[Sent]:
        """One process creates all of them; those that it says nothing of are looked for."""
        del again  # kubectl refuses what is there already
        made: dict[tuple[str, str], str | None] = {}
        answered_ns: int | None = None
        began_ns, failures = self._clock.monotonic_ns(), 0
        found: set[tuple[str, str]] = set()
        while True:
            wanted = [
                document for workload in workloads for document in workload.documents if _key(document) not in made
            ]
            body = b"\n---\n".join(document.body for document in wanted)
            outcome = await run((*self._command, "create", "-f", "-", "-o", "json"), body)
            answered_ns = self._clock.wall_ns()
            made |= {_key_of(obj): obj["metadata"].get("uid") for obj in _objects(outcome.out)}
            if outcome.code == 0:
                break
            for document in wanted:
                # It may have been made by a process that never heard of it: the server knows.
                if _key(document) not in made and await self._is_there(document, made):
                    found.add(_key(document))
            if all(_key(document) in made for document in wanted) or not _may_pass(outcome.error):
                break
            waited_s = (self._clock.monotonic_ns() - began_ns) / NS_PER_S
            if not _AWAY.search(outcome.error) and waited_s > FAULT_S:
                break
            if waited_s > OUTAGE_S:
                raise EngineError(f"kubectl made no workload for {waited_s:.0f} s: {shortened(outcome.error)}")
            await self._clock.sleep(retrying.backoff_s(failures))
            failures += 1
        return [_sent(workload, made, found, answered_ns, outcome.error) for workload in workloads]

    async def _is_there(self, document: Document, made: dict[tuple[str, str], str | None]) -> bool:
        resource = self._resources[document.api_version, document.kind]
        try:
            uid = await look_up(self._client, resource, document, submission=self._submission)
        except Refused:
            return False  # somebody else's: kubectl has said so
        if uid is not None:
            made[_key(document)] = uid
        return uid is not None


def _sent(
    workload: Prepared,
    made: dict[tuple[str, str], str | None],
    found: set[tuple[str, str]],
    answered_ns: int,
    error: str,
) -> Sent:
    main = _key(workload.main_document)
    sent = Sent()
    if main in made:
        sent = Sent(accepted_ns=answered_ns, uid=made[main], found=main in found)
    for number, document in enumerate(workload.documents):
        if _key(document) not in made:
            about = [line for line in error.splitlines() if document.name in line] or [error]
            reason = shortened(about[0], _ERROR_LIMIT) or "kubectl said nothing of it"
            return msgspec.structs.replace(sent, error=refused(workload, number, reason))
    return sent


def _may_pass(error: str) -> bool:
    """Whether kubectl may do better later with one of the objects: the server was busy, or away."""
    return any(reason in _PASSING for reason in _SAID.findall(error)) or _AWAY.search(error) is not None


def _objects(out: bytes) -> list[Object]:
    """The objects that kubectl printed: one after another, or in a List."""
    objects: list[Object] = []
    text = out.decode(errors="replace")
    position = 0
    while position < len(text):
        try:
            printed, position = _JSON.raw_decode(text, position)
        except ValueError:
            break
        objects += printed.get("items", []) if printed.get("kind") == "List" else [printed]
        while position < len(text) and text[position].isspace():
            position += 1
    return objects


def _key(document: Document) -> tuple[str, str]:
    return document.kind, document.name


def _key_of(obj: Object) -> tuple[str, str]:
    return obj["kind"], obj["metadata"]["name"]
