"""Selectors of devices with what the allocator of Kubernetes 1.36 makes of them."""

import json
from pathlib import Path
from typing import Any

import pytest

from kubedyno.kube.cel import CelSyntaxError, EvaluationError
from kubedyno.kube.cel.devices import compile_selector, device_matches, selectors_match

pytestmark = pytest.mark.unit

_RECORDED = json.loads((Path(__file__).parent / "devices.json").read_text())
_GPU = _RECORDED["devices"]["gpu-0"]["device"]


def _outcome(expression: str, driver: str, device: dict[str, Any]) -> dict[str, Any]:
    try:
        selector = compile_selector(expression)
    except CelSyntaxError as error:
        return {"compile": str(error)}
    try:
        return {"value": device_matches(selector, driver, device)}
    except EvaluationError as error:
        return {"error": str(error)}


@pytest.mark.parametrize(("expression", "name", "expected"), _RECORDED["cases"])
def test_a_selector_picks_what_the_allocator_picks(expression: str, name: str, expected: dict[str, Any]) -> None:
    assert _outcome(expression, **_RECORDED["devices"][name]) == expected


def test_lists_of_values_are_attributes_only_where_the_feature_is_on() -> None:
    device = {"attributes": {"lanes": {"ints": [1, 2]}, "firmware": {"versions": ["1.2.3", "2.0.0"]}}}
    selector = compile_selector(
        'device.attributes["d"].lanes.includes(2) && device.attributes["d"].firmware.size() == 2'
    )
    assert device_matches(selector, "d", device, list_attributes=True) is True
    with pytest.raises(EvaluationError, match="attribute lanes: unsupported attribute value"):
        device_matches(selector, "d", device)


def test_all_selectors_must_match_and_errors_name_the_one_that_failed() -> None:
    gpu = compile_selector('device.driver == "gpu.nvidia.com"')
    large = compile_selector('device.capacity["gpu.nvidia.com"].memory.compareTo(quantity("80Gi")) >= 0')
    broken = compile_selector('device.attributes["gpu.nvidia.com"].nothing == 1')
    assert selectors_match("class gpu", [], "gpu.nvidia.com", _GPU) is True
    assert selectors_match("class gpu", [gpu], "gpu.nvidia.com", _GPU) is True
    assert selectors_match("class gpu", [gpu, large, broken], "gpu.nvidia.com", _GPU) is False
    with pytest.raises(
        EvaluationError, match=r"^claim default/one: selector #1: CEL runtime error: no such key: nothing$"
    ):
        selectors_match("claim default/one", [gpu, broken], "gpu.nvidia.com", _GPU)
