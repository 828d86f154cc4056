import pytest

from kubedyno.kube import codec, status
from kubedyno.kube.status import Cause, Details, Status

pytestmark = pytest.mark.unit


def test_a_status_is_read_with_its_details() -> None:
    body = codec.encode(
        {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": 'Pod "a" is invalid',
            "reason": "Invalid",
            "details": {
                "name": "a",
                "kind": "Pod",
                "causes": [{"reason": "FieldValueRequired", "message": "Required value", "field": "spec.containers"}],
                "retryAfterSeconds": 3,
                "somethingNew": 1,
            },
            "code": 422,
        }
    )
    found = status.parse(body, code=422)
    assert found == Status(
        message='Pod "a" is invalid',
        reason="Invalid",
        details=Details(
            name="a",
            kind="Pod",
            causes=(Cause("FieldValueRequired", "Required value", "spec.containers"),),
            retry_after_seconds=3,
        ),
        code=422,
    )
    assert found.causes[0].field == "spec.containers"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", ""),
        (b"Too many requests, please try again later.\n", "Too many requests, please try again later."),
        (b"<html>", "<html>"),
        (b"\xff", "\ufffd"),
        (b'{"kind":"Pod"}', '{"kind":"Pod"}'),
        (b'{"kind":"Status","code":"x"}', '{"kind":"Status","code":"x"}'),
        (b"[1]", "[1]"),
    ],
)
def test_any_other_body_becomes_the_message(body: bytes, message: str) -> None:
    found = status.parse(body, code=429)
    assert (found.message, found.reason, found.code, found.causes) == (message, "TooManyRequests", 429, ())


def test_a_status_without_code_gets_the_answers() -> None:
    assert status.parse(b'{"kind":"Status","reason":"Expired"}', code=410).code == 410


def test_the_timeout_filters_status_has_no_kind() -> None:
    body = b'{"metadata":{},"status":"Failure","message":"Timeout: m","reason":"Timeout","details":{},"code":504}'
    found = status.parse(body, code=504)
    assert (found.reason, found.message, found.code) == ("Timeout", "Timeout: m", 504)


def test_built_ones_look_like_the_api_servers() -> None:
    built = status.failure(
        409, 'pods "a" already exists', reason="AlreadyExists", name="a", resource="pods", retry_after_seconds=1
    )
    assert codec.decode(codec.encode(built)) == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": 'pods "a" already exists',
        "reason": "AlreadyExists",
        "details": {"name": "a", "kind": "pods", "retryAfterSeconds": 1},
        "code": 409,
    }
    assert status.parse(codec.encode(built), code=0) == built
    plain = status.failure(418, "m")
    assert (plain.reason, plain.details) == ("Unknown", None)
