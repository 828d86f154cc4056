"""NodeResourceTopology objects under the definition that comes with scheduler-plugins."""

import os
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.definitions import defined
from tests.labs import lab_in_process
from tests.numanodes import GPU, kubelet, node, pod

from kubedyno.kit.places import cache_dir
from kubedyno.kit.progress import Quiet
from kubedyno.kube.resources import NODE_RESOURCE_TOPOLOGIES
from kubedyno.plane import provisioning
from kubedyno.sim.exporters.distorting import (
    Distortion,
    NegativeIds,
    ShuffledOrder,
    SparseIds,
    WrongPolicy,
    WrongZoneNames,
    WrongZoneType,
    distorted,
)
from kubedyno.sim.exporters.drafting import drafted
from kubedyno.sim.exporters.settings import Settings
from kubedyno.sim.exporters.viewing import host_of, view_of
from kubedyno.sim.exporters.writing import written
from kubedyno.sim.kubelet.ledger import NodeLedger

pytestmark = pytest.mark.local

DISTORTED: dict[str, list[Distortion]] = {
    "straight": [],
    "wrong names": [WrongZoneNames(), WrongZoneType(), WrongPolicy(policy="no-such")],
    "wrong numbers": [SparseIds(), NegativeIds(), ShuffledOrder()],
}


@pytest.mark.parametrize("style", ["rte", "nfd"])
async def test_its_definition_takes_what_exporters_write_straight_and_distorted(tmp_path: Path, style: Any) -> None:
    folder = await provisioning.assets(
        "scheduler-plugins", bin_dir=None, cache=cache_dir(), env=os.environ, progress=Quiet()
    )
    definition = yaml.safe_load((folder / "noderesourcetopologies.yaml").read_text())
    ledger = NodeLedger(node(kubelet()))
    assert ledger.admit(pod("a", {"cpu": "4", "memory": "4Gi", GPU: "2"})) is None
    straight = drafted(view_of(ledger), host_of(ledger), Settings(style=style))
    newest = NODE_RESOURCE_TOPOLOGIES[0]
    async with (
        lab_in_process(tmp_path / "lab", engine="embedded", kubelet="none") as lab,
        defined(lab.client, definition),
    ):
        for name, distortions in DISTORTED.items():
            draft = distorted(straight, distortions)
            # Without uids, so that nobody tidies them away.
            found = {"metadata": {"name": name.replace(" ", "-")}}
            wanted = written(found, draft.zones, draft.host, draft.settings, fingerprint=draft.fingerprint)
            taken = await lab.client.create(newest, wanted, field_validation="Strict")
            kept = {field: taken["metadata"][field] for field in wanted["metadata"]}
            assert {**taken, "metadata": kept} == wanted
