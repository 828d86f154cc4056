"""Reading objects as the API server does; the words are compared with the real one's in the local tests."""

from typing import Any

import pytest

from kubedyno.kube import decoding

pytestmark = pytest.mark.unit


def pod(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}


def test_a_good_object_has_no_problem() -> None:
    good = pod(
        containers=[
            {
                "name": "a",
                "image": "i",
                "resources": {"limits": {"cpu": 1, "memory": "1Gi", "nvidia.com/gpu": "8"}},
                "ports": [{"containerPort": 80}],
                "livenessProbe": {"httpGet": {"port": "http"}},
                "env": None,
            }
        ],
        hostNetwork=True,
        priority=-5,
    )
    assert decoding.read(good, "v1", "Pod") == decoding.Reading(error="", unknown=())


@pytest.mark.parametrize(
    ("spec", "error"),
    [
        (
            {"priority": 2**31},
            "json: cannot unmarshal number 2147483648 into Go struct field PodSpec.spec.priority of type int32",
        ),
        (
            {"hostNetwork": "yes"},
            "json: cannot unmarshal string into Go struct field PodSpec.spec.hostNetwork of type bool",
        ),
        (
            {"volumes": {}},
            "json: cannot unmarshal object into Go struct field PodSpec.spec.volumes of type []v1.Volume",
        ),
        (
            {"priority": "1", "hostNetwork": 1},
            "json: cannot unmarshal string into Go struct field PodSpec.spec.priority of type int32",
        ),
    ],
)
def test_the_first_value_that_does_not_fit_is_the_error(spec: dict[str, Any], error: str) -> None:
    reading = decoding.read(pod(**spec), "v1", "Pod")
    assert reading is not None
    assert reading.error == error


def test_all_unknown_fields_are_named_in_the_order_of_the_document() -> None:
    document = {**pod(containers=[{"imag": 1}, {"name": "b", "env": [{"valuex": ""}]}], nodName=""), "spce": 1}
    reading = decoding.read(document, "v1", "Pod")
    assert reading is not None
    assert reading.unknown == ("spec.containers[0].imag", "spec.containers[1].env[0].valuex", "spec.nodName", "spce")


def test_a_kind_of_somebody_elses_is_not_looked_at() -> None:
    assert decoding.read({}, "example.com/v1", "Toy") is None
