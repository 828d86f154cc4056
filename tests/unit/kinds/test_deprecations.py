import pytest

from kubedyno.kinds.deprecations import deprecation
from kubedyno.kube.resources import PODS, by_kind

pytestmark = pytest.mark.unit


def test_versions_on_their_way_out_are_told_of() -> None:
    assert deprecation(by_kind("resource.k8s.io/v1beta2", "ResourceClaim")) == (
        "resource.k8s.io/v1beta2 ResourceClaim is deprecated in v1.36+, unavailable in v1.39+"
    )
    assert deprecation(by_kind("v1", "Endpoints")) == (
        "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"
    )


def test_versions_that_stay_are_not() -> None:
    assert deprecation(PODS) == ""
    assert deprecation(by_kind("resource.k8s.io/v1", "ResourceClaim")) == ""
