"""The definitions of the kinds that operators look after: what makes a server serve them."""

from collections.abc import Sequence
from importlib import resources
from typing import Final

from kubedyno.kube import codec
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import DISTRIBUTED_WORKLOADS, INTERACTIVE_WORKLOADS, TRAINING_WORKLOADS, Resource

RUNAI_WORKLOADS: Final = (TRAINING_WORKLOADS, INTERACTIVE_WORKLOADS, DISTRIBUTED_WORKLOADS)


def definitions(kinds: Sequence[Resource]) -> list[Object]:
    """The CustomResourceDefinitions of these kinds, as far as a lab needs them."""
    folder = resources.files("kubedyno.controllers.operators") / "crds"
    found: list[Object] = []
    for kind in kinds:
        file = folder / f"{kind.full_name}.yaml"
        found += codec.read_yaml(file.read_bytes(), source=str(file))
    return found
