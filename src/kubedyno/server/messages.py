"""What comes to the server and what leaves it, free of any transport; and refusals, as exceptions."""

from collections.abc import Mapping

import msgspec

from kubedyno.kit.errors import KubedynoError
from kubedyno.kube import status
from kubedyno.kube.resources import Resource
from kubedyno.kube.status import Cause, Status
from kubedyno.store.records import Record

JSON = "application/json"
TEXT = "text/plain; charset=utf-8"
TEXT_METRICS = "text/plain; version=0.0.4; charset=utf-8; escaping=underscores"


class Request(msgspec.Struct, frozen=True, gc=False):
    """A request whose sender is known. `path` is unquoted; of a repeated query parameter the first value counts."""

    method: str
    path: str
    query: Mapping[str, str] = {}
    body: bytes = b""
    content_type: str = JSON
    accept: str = JSON
    user_agent: str = ""


class Answer(msgspec.Struct, frozen=True, gc=False):
    """A whole answer."""

    status: int
    body: bytes
    content_type: str = JSON
    warnings: tuple[str, ...] = ()
    headers: tuple[tuple[str, str], ...] = ()


class Refused(KubedynoError):
    """The request is answered with this Status."""

    def __init__(self, why: Status, *, warnings: tuple[str, ...] = ()) -> None:
        self.status = why
        self.warnings = warnings
        super().__init__(why.message)


def refusal(refused: Refused) -> Answer:
    """The answer that tells a refusal."""
    retry_s = refused.status.details.retry_after_seconds if refused.status.details else 0
    return Answer(
        refused.status.code,
        status.body(refused.status),
        warnings=refused.warnings,
        headers=(("Retry-After", str(retry_s)),) if retry_s else (),
    )


def bad_request(message: str) -> Refused:
    """400 with a sentence."""
    return Refused(status.failure(400, message))


def other_namespace() -> Refused:
    """400 of an object that says another namespace than the path."""
    return bad_request("the namespace of the provided object does not match the namespace sent on the request")


def not_found(resource: Resource, name: str) -> Refused:
    """404 of an object."""
    said = f'{resource.full_name} "{name}" not found'
    return Refused(status.failure(404, said, name=name, group=resource.group, resource=resource.plural))


def no_such_resource() -> Refused:
    """404 of a path that belongs to no resource of a group that is served."""
    return Refused(status.failure(404, "the server could not find the requested resource", empty_details=True))


def method_not_allowed() -> Refused:
    """405."""
    said = "the server does not allow this method on the requested resource"
    return Refused(status.failure(405, said, empty_details=True))


def already_exists(resource: Resource, record: Record) -> Refused:
    """409 of a create; `record` is what is there."""
    name = record.name
    deleted = "object is being deleted: " if record.deleting else ""
    said = f'{deleted}{resource.full_name} "{name}" already exists'
    return Refused(
        status.failure(409, said, reason="AlreadyExists", name=name, group=resource.group, resource=resource.plural)
    )


def conflict(resource: Resource, name: str, problem: str, *, causes: tuple[Cause, ...] = ()) -> Refused:
    """409 of a write that expected another state."""
    said = f'Operation cannot be fulfilled on {resource.full_name} "{name}": {problem}'
    return Refused(status.failure(409, said, name=name, group=resource.group, resource=resource.plural, causes=causes))


MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"


def expired(message: str, *, continue_token: str = "") -> Refused:
    """410: the history that was asked for is gone."""
    why = status.failure(410, message, reason="Expired")
    if continue_token:
        why = msgspec.structs.replace(why, metadata={"continue": continue_token})
    return Refused(why)


def version_too_large(asked: int, current: int) -> Refused:
    """504: the version that was asked for has not happened here."""
    return Refused(
        status.failure(
            504,
            f"Timeout: Too large resource version: {asked}, current: {current}",
            causes=(Cause("ResourceVersionTooLarge", "Too large resource version"),),
            retry_after_seconds=1,
        )
    )
