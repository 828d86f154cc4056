"""cl2-metadata.json: facts about a run as one flat object of texts, which test infrastructure adds to its own. Pure.

What ClusterLoader2 writes there comes from its provider alone, and is empty for all but one of them, so the names of
the facts are ours.
"""

from collections.abc import Mapping
from typing import Final

from kubedyno import __version__
from kubedyno.clusterloader.reporting.perfdata import indented

FILE_NAME: Final = "cl2-metadata.json"


def facts(*, provider: str, nodes: int, kubernetes_version: str) -> dict[str, str]:
    """What is known of every run: on what it ran, and with what."""
    return {
        "kubedynoVersion": __version__,
        "kubernetesVersion": kubernetes_version,
        "nodes": str(nodes),
        "provider": provider,
    }


def metadata_json(told: Mapping[str, str]) -> str:
    """The text of the file."""
    return indented(told)
