"""Where Chromium is: the machine's, or the one that playwright downloads."""

import shutil
from pathlib import Path

_NAMES = ("chromium", "chromium-browser", "google-chrome")


def executable() -> Path | None:
    """The machine's own; None: playwright's, which `scripts/setup` has downloaded where there was no other."""
    found = next((path for name in _NAMES if (path := shutil.which(name))), None)
    return Path(found) if found else None
