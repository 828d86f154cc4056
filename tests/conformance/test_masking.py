"""What the masks hide and what they must not hide."""

import datetime as dt
from typing import Any

import pytest
from tests.conformance.comparing import differences
from tests.conformance.masking import masked

pytestmark = pytest.mark.unit

NOW = dt.datetime(2026, 5, 4, 12, 0, tzinfo=dt.UTC)
UID = "6f0e5b1c-{:04d}-4c1d-8a3b-2f6d1f1f0a01"


def seen(*bodies: Any, **options: bool) -> list[Any]:
    entries = [{"request": "GET /x", "body": body} for body in bodies]
    return [entry["body"] for entry in masked(entries, namespace="conform-7", now=NOW, **options)]


def obj(version: str, **metadata: Any) -> dict[str, Any]:
    return {"kind": "Thing", "metadata": {"resourceVersion": version, **metadata}}


def test_versions_keep_their_order_and_identity() -> None:
    one, two, three = seen(obj("900"), obj("17"), obj("900"))
    assert one == three == obj("<version 2>")
    assert two == obj("<version 1>")


def test_the_version_of_a_list_is_a_bound() -> None:
    def a_list(version: str, *versions: str) -> dict[str, Any]:
        return {"kind": "List", "metadata": {"resourceVersion": version}, "items": [obj(item) for item in versions]}

    _, current, older = seen(obj("17"), a_list("40", "17"), a_list("9"))
    assert current == {
        "kind": "List",
        "metadata": {"resourceVersion": "<up to date>"},
        "items": [obj("<version 1>")],
    }
    assert older["metadata"] == {"resourceVersion": "<older>"}


def test_a_bookmark_is_a_bound_too() -> None:
    entry = {"request": "the watch brings", "type": "BOOKMARK", "bookmark": obj("40")}
    (done,) = masked([entry], namespace="conform-7", now=NOW)
    assert done["bookmark"] == obj("<up to date>")


def test_one_uid_is_one_mark_wherever_it_stands() -> None:
    (done,) = seen(
        {
            "metadata": {"uid": UID.format(1), "labels": {"controller-uid": UID.format(1)}},
            f'k:{{"uid":"{UID.format(2)}"}}': {},
        }
    )
    assert done == {
        "metadata": {"uid": "<uid 1>", "labels": {"controller-uid": "<uid 1>"}},
        'k:{"uid":"<uid 2>"}': {},
    }


@pytest.mark.parametrize(
    ("stamp", "mark"),
    [
        ("2026-05-04T11:59:58Z", "<time>"),
        ("2026-05-04T11:59:58.123456Z", "<time with 6 digits>"),
        ("2021-01-01T00:00:00Z", "2021-01-01T00:00:00Z"),
    ],
)
def test_stamps_of_the_server_keep_their_precision_and_literals_their_value(stamp: str, mark: str) -> None:
    assert seen({"at": stamp}) == [{"at": mark}]


def test_generated_names_are_followed_into_texts() -> None:
    (done,) = seen({"metadata": {"generateName": "a-", "name": "a-4xz7b"}, "message": 'pods "a-4xz7b" not found'})
    assert done["message"] == 'pods "a-<generated 1>" not found'


def test_a_name_that_was_not_generated_as_it_should_shows() -> None:
    metadata = {"generateName": "a-", "name": "a-AEIOU"}
    assert seen({"metadata": metadata}) == [{"metadata": metadata}]


def test_tokens_are_followed_into_requests() -> None:
    page = {"kind": "List", "metadata": {"continue": "ey123"}, "items": []}
    entries = [{"request": "GET /x", "body": page}, {"request": "GET /x?continue=ey123", "body": {}}]
    first, second = masked(entries, namespace="conform-7", now=NOW)
    assert first["body"]["metadata"] == {"continue": "<token>"}
    assert second["request"] == "GET /x?continue=<token>"


@pytest.mark.parametrize(
    ("text", "mark"),
    [
        ("version: 9, current: 1234", "version: 9, current: <some version>"),
        ("too old resource version: 1 (4711)", "too old resource version: 1 (<some version>)"),
        ("the precondition (17) does not match", "the precondition (<version 1>) does not match"),
        ('kept in "conform-7"', 'kept in "<namespace>"'),
        ("must be no more than 63 characters", "must be no more than 63 characters"),
        ("volume kube-api-access-b7x2f", "volume kube-api-access-<generated>"),
    ],
)
def test_versions_and_names_in_texts(text: str, mark: str) -> None:
    assert seen(obj("17"), {"message": text})[1] == {"message": mark}


def test_addresses_and_ports_are_masked_where_the_server_chooses_them() -> None:
    spec = {"clusterIP": "10.96.3.4", "clusterIPs": ["10.96.3.4"], "ports": [{"nodePort": 30123, "port": 30123}]}
    assert seen({"spec": spec}) == [
        {
            "spec": {
                "clusterIP": "<cluster ip>",
                "clusterIPs": ["<cluster ip>"],
                "ports": [{"nodePort": "<node port>", "port": 30123}],
            }
        }
    ]
    assert seen({"clusterIP": "None"}) == [{"clusterIP": "None"}]


def test_ages_in_tables_are_masked_and_unknown_ones_are_not() -> None:
    table = {"kind": "Table", "columnDefinitions": [{"name": "Name", "format": "name"}, {"name": "Age"}]}
    rows = [{"cells": ["5s", "5s"]}, {"cells": ["a", "<unknown>"]}]
    (done,) = seen({**table, "rows": rows})
    assert done["columnDefinitions"][1] == {"name": "Age", "description": "<text>"}
    assert [row["cells"] for row in done["rows"]] == [["5s", "<age>"], ["a", "<unknown>"]]


def test_what_a_controller_writes_is_left_out_where_it_is_said() -> None:
    managers = [{"manager": "kube-controller-manager"}, {"manager": "me"}]
    body = {"metadata": {"resourceVersion": "5", "managedFields": managers}, "status": {"replicas": 1}}
    assert seen(body, controlled=True) == [
        {
            "metadata": {"resourceVersion": "<version>", "managedFields": [{"manager": "me"}]},
            "status": "<of a controller>",
        }
    ]


def test_a_diff_names_the_request_and_both_values() -> None:
    text = differences([{"request": "GET /x", "code": 200}], [{"request": "GET /x", "code": 404}])
    assert text.splitlines()[0] == "1. GET /x"
    assert "    -code: 200" in text
    assert "    +code: 404" in text


def test_a_diff_ends_where_the_requests_part() -> None:
    one = [{"request": "GET /x"}, {"request": "GET /y"}]
    other = [{"request": "GET /z"}, {"request": "GET /q"}]
    assert differences(one, other).count("GET /") == 4
    assert differences(one, one) == ""
