"""What becomes of a kubelet's writes."""

from collections.abc import Mapping
from typing import Any

import pytest

from kubedyno.client.errors import ApiError, Unreachable
from kubedyno.client.rest import Client
from kubedyno.client.transport import Response
from kubedyno.kube import codec
from kubedyno.kube.status import failure
from kubedyno.sim.kubelet import sending
from kubedyno.sim.kubelet.sending import Fate, Sent

pytestmark = pytest.mark.unit


class Answering:
    """A transport that gives one answer and keeps what it was asked."""

    server = "test"

    def __init__(self, answer: Response | Exception) -> None:
        self._answer = answer
        self.asked: dict[str, Any] = {}

    async def request(self, method: str, path: str, **more: Any) -> Response:
        self.asked = {"method": method, "path": path, **more}
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


def answering(answer: Response | Exception) -> tuple[Client, Answering]:
    transport = Answering(answer)
    return Client(transport), transport  # type: ignore[arg-type] # as much of a transport as is needed


def unreachable(*, permanent: bool = False) -> Unreachable:
    return Unreachable(server="test", cause="is away", remedy="wait", sent=True, permanent=permanent)


def refused(code: int, reason: str, headers: Mapping[str, str] | None = None) -> Response:
    return Response(code, headers or {}, codec.encode(failure(code, "no", reason=reason)))


@pytest.mark.parametrize(
    ("answer", "sent"),
    [
        (Response(200, {}, b'{"metadata": {"resourceVersion": "7"}}'), Sent(Fate.DONE, "7")),
        (Response(201, {}, b'{"metadata": {"resourceVersion": "8"}, "spec": {}}'), Sent(Fate.DONE, "8")),
        (Response(200, {}, b'{"kind": "Status", "metadata": {}}'), Sent(Fate.DONE, "")),
        (Response(200, {}, b"<html>"), Sent(Fate.LATER)),
        (refused(404, "NotFound"), Sent(Fate.GONE)),
        (refused(409, "Conflict"), Sent(Fate.CONFLICT)),
        (refused(409, "AlreadyExists"), Sent(Fate.CONFLICT)),
        (refused(408, "Timeout"), Sent(Fate.LATER)),
        (refused(429, "TooManyRequests", {"Retry-After": "3"}), Sent(Fate.LATER, wait_s=3.0)),
        (refused(429, "TooManyRequests"), Sent(Fate.LATER)),
        (refused(500, "InternalError"), Sent(Fate.LATER)),
        (refused(503, "ServiceUnavailable", {"Retry-After": "1"}), Sent(Fate.LATER, wait_s=1.0)),
        (Response(502, {}, b"bad gateway"), Sent(Fate.LATER)),
        (unreachable(), Sent(Fate.LATER)),
    ],
)
async def test_every_answer_has_its_fate(answer: Response | Exception, sent: Sent) -> None:
    client, _ = answering(answer)
    assert await sending.send(client, "POST", "/x", {}) == sent


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (refused(403, "Forbidden"), ApiError),
        (refused(422, "Invalid"), ApiError),
        (refused(401, "Unauthorized"), ApiError),
        (unreachable(permanent=True), Unreachable),
    ],
)
async def test_what_no_repetition_can_help_is_raised(answer: Response | Exception, error: type[Exception]) -> None:
    client, _ = answering(answer)
    with pytest.raises(error):
        await sending.send(client, "POST", "/x", {})


async def test_a_status_is_patched_for_one_uid_as_a_kubelet() -> None:
    client, transport = answering(Response(200, {}, b"{}"))
    await sending.patch_status(client, "/api/v1/namespaces/n/pods/p", "u", {"phase": "Running"})
    assert (transport.asked["method"], transport.asked["path"]) == ("PATCH", "/api/v1/namespaces/n/pods/p/status")
    assert transport.asked["content_type"] == "application/strategic-merge-patch+json"
    assert transport.asked["query"] == {"fieldManager": "kubelet"}
    assert codec.decode(transport.asked["body"]) == {"metadata": {"uid": "u"}, "status": {"phase": "Running"}}


async def test_a_pod_is_deleted_at_once_if_it_is_still_the_same() -> None:
    client, transport = answering(Response(200, {}, b"{}"))
    await sending.delete(client, "/api/v1/namespaces/n/pods/p", "u")
    assert transport.asked["method"] == "DELETE"
    assert codec.decode(transport.asked["body"]) == {"gracePeriodSeconds": 0, "preconditions": {"uid": "u"}}
