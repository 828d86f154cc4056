"""Where kubedyno keeps things on a machine, by the XDG rules."""

import os
from collections.abc import Mapping
from pathlib import Path


def cache_dir(env: Mapping[str, str] = os.environ) -> Path:
    """What can be made again: programs, toolchains."""
    return Path(env.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kubedyno"


def state_dir(env: Mapping[str, str] = os.environ) -> Path:
    """What belongs to running labs: their folders, sockets and logs."""
    return Path(env.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "kubedyno"
