"""JSONPath as columns and scale paths use it."""

from typing import Any

import pytest

from kubedyno.kinds.custom.paths import BadPath, read

pytestmark = pytest.mark.unit

OBJECT = {
    "metadata": {"labels": {"a.b/c": "dotted"}, "name": "x"},
    "spec": {"replicas": 3, "nothing": None},
    "status": {
        "conditions": [
            {"type": "Ready", "status": "True", "weight": 1},
            {"type": "Old", "status": "False", "weight": 5},
            {"status": "Unknown"},
        ]
    },
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (".spec.replicas", [3]),
        (".spec.nothing", [None]),
        (".spec.nothing.deeper", []),
        (".spec.missing", []),
        (".spec.replicas.deeper", []),
        (r".metadata.labels.a\.b/c", ["dotted"]),
        (".metadata.labels['a.b/c']", ["dotted"]),
        (".status.conditions[0].type", ["Ready"]),
        (".status.conditions[-1].status", ["Unknown"]),
        (".status.conditions[7].type", []),
        (".status.conditions[0:2].status", ["True", "False"]),
        (".status.conditions[*].type", ["Ready", "Old"]),
        ('.status.conditions[?(@.type=="Ready")].status', ["True"]),
        (".status.conditions[?(@.type == 'Old')].weight", [5]),
        (".status.conditions[?(@.weight>2)].type", ["Old"]),
        (".status.conditions[?(@.type)].status", ["True", "False"]),
        ('.status.conditions[?(@.type!="Ready")].type', ["Old"]),
        ('.spec[?(@.type=="Ready")]', []),
        (".metadata.*", [{"a.b/c": "dotted"}, "x"]),
        (".", [OBJECT]),
    ],
)
def test_a_path_gives_what_is_there(path: str, found: list[Any]) -> None:
    assert read(path, OBJECT) == found


@pytest.mark.parametrize("path", ["spec", ".spec[", ".spec[]", ".a[?(b)]", '.a[?(@.b=="c"', ".a[?(@.b==c)]", ".a b"])
def test_what_is_no_path_is_refused(path: str) -> None:
    with pytest.raises(BadPath):
        read(path, OBJECT)
