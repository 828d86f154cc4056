"""Why a tool failed, from its log: the cause that can be named, else its last meaningful lines."""

import re
from pathlib import Path

_LINES = 3
_LINE_CHARS = 200
_TAIL_BYTES = 64 * 1024

_CAUSES = (
    (re.compile(r"no space left on device", re.IGNORECASE), "the disk is full: free some space and run it again"),
    (
        re.compile(
            r"dial tcp|no such host|i/o timeout|network is unreachable|TLS handshake timeout"
            r"|Failed to establish a new connection|Temporary failure in name resolution",
            re.IGNORECASE,
        ),
        "the network does not answer: run it again with network access",
    ),
    (re.compile(r"No module named '?pip"), "this Python has no pip: install pip"),
)

# Progress, headings and stack frames say nothing about the cause.
_NOISE = re.compile(r"^(# \S+|go: (downloading|finding|extracting) .*|\s*at .*|\^C)?$")


def explain(log: Path) -> str:
    """A part of a sentence: the cause and what to do about it, and where the whole log is."""
    return complaint(log) or f"it printed nothing (log: {log})"


def complaint(log: Path) -> str:
    """The same, and empty where the log says nothing: a tool that succeeds prints its progress at most."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, file.seek(0, 2) - _TAIL_BYTES))
            text = file.read().decode(errors="replace")
    except OSError:
        text = ""
    lines = [line.strip()[:_LINE_CHARS] for line in text.splitlines() if not _NOISE.match(line.strip())]
    for pattern, cause in _CAUSES:
        telling = [line for line in lines if pattern.search(line)]
        if telling:
            return f"{cause} ({telling[-1]}; log: {log})"
    said = "; ".join(lines[-_LINES:])
    return f"{said} (log: {log})" if said else ""
