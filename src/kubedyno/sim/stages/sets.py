"""The stages that come with us: what real KWOK is given unless others are named."""

from importlib import resources
from pathlib import Path


def default_stages() -> tuple[Path, ...]:
    """The Stage files of nodes and pods."""
    folder = Path(str(resources.files("kubedyno.sim.stages"))) / "sets"
    return tuple(sorted(folder.glob("*.yaml")))
