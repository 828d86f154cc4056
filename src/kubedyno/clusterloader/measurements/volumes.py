"""Waits for volumes: WaitForBoundPVCs and WaitForAvailablePVs."""

from collections import Counter
from collections.abc import Iterable

import msgspec

from kubedyno.clusterloader.measurements.counting import awaited
from kubedyno.clusterloader.measurements.measuring import DONE, Method, Result, Scene
from kubedyno.clusterloader.measurements.params import SELECTOR_PARAMS, Params
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, Resource


class _Wanted(msgspec.Struct, frozen=True):
    resource: Resource
    phase: str
    param: str
    """Says how many."""


_CLAIMS = _Wanted(PERSISTENT_VOLUME_CLAIMS, "Bound", "desiredPVCCount")
_VOLUMES = _Wanted(PERSISTENT_VOLUMES, "Available", "desiredPVCount")


class WaitForPhase:
    """Waits until exactly so many objects are in a phase."""

    def __init__(self, wanted: _Wanted, scene: Scene) -> None:
        self._wanted = wanted
        self._scene = scene

    async def execute(self, params: Params) -> Result:
        """So many as the parameter says, of a selector, within `timeout`."""
        wanted = self._wanted
        desired = params.whole(wanted.param)

        def told(counts: Counter[str], _: Iterable[Object]) -> str:
            return f"{counts[wanted.phase]} of {desired} {wanted.resource.plural} are {wanted.phase}"

        problem = await awaited(
            self._scene,
            wanted.resource,
            params.selector,
            lambda one: str(one.get("status", {}).get("phase", "")),
            lambda counts: counts[wanted.phase] == desired,
            timeout_s=params.duration_s("timeout", "60s"),
            told=told,
        )
        return Result(errors=(problem,)) if problem else DONE


def _method(wanted: _Wanted) -> Method:
    return Method(
        make=lambda _, scene: WaitForPhase(wanted, scene), params=("action", wanted.param, "timeout", *SELECTOR_PARAMS)
    )


WAIT_FOR_BOUND_PVCS = _method(_CLAIMS)
WAIT_FOR_AVAILABLE_PVS = _method(_VOLUMES)
