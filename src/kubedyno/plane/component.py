"""A component as data: what to run, where it listens, when it is healthy, what must run before it.

Builders (`etcd`, `apiserver`, ... and the modules of `schedulers`) turn options into these structs; one supervisor
turns them into processes; `--dry-run` prints them. Nothing here does anything.
"""

from collections.abc import Iterable
from pathlib import Path

import msgspec

from kubedyno.plane.webhooks import Webhooks

OWN_PROGRAM = "kubedyno"
"""The program of components that are kubedyno itself in a process of its own: Python, told to run this package."""
OWN_ARGS = ("-m", "kubedyno")


class File(msgspec.Struct, frozen=True, kw_only=True):
    """A file that must be there before the component starts."""

    path: Path
    text: str
    mode: int = 0o600


class Probe(msgspec.Struct, frozen=True, kw_only=True):
    """The component is healthy when GET `url` answers 200 and the body contains `contains`.

    `identity` names the client certificate to show (None: none). Servers on TLS are checked against the lab's CA,
    unless they sign for themselves (`self_signed`: the serving port of kube-scheduler and its like).
    """

    url: str
    contains: str = ""
    identity: str | None = None
    self_signed: bool = False
    shows_token: bool = False
    """Show the identity's bearer token instead of its certificate: to servers that ask the API server who it is."""
    within_s: float | None = None
    """How long the answer may take; None: as long as one about health."""


class Component(msgspec.Struct, frozen=True, kw_only=True):
    """One process of a lab."""

    name: str
    """Unique in the lab: `kube-apiserver`, or `kube-apiserver-1` of several."""
    program: str
    """Name in the catalogue of programs, or `OWN_PROGRAM`."""
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    """Added to a bare environment (PATH and HOME only)."""
    files: tuple[File, ...] = ()
    ports: dict[str, int] = {}
    """Loopback ports by purpose."""
    ready: Probe | None = None
    """None: running is being ready."""
    after: tuple[str, ...] = ()
    """Started when these are healthy, stopped before them."""
    start_timeout_s: float = 60.0
    """How long it may take to become healthy."""
    stop_timeout_s: float = 10.0
    """How long SIGTERM may take before SIGKILL."""
    role: str = ""
    """What it is in the lab: `control-plane`, `scheduler`, `kubelet`."""
    called: str = ""
    """Its name in `--set`; empty: `name`. Replicas share one."""
    configured_by_file: bool = False
    """`--set` names paths in its configuration file, which its builder writes; otherwise flags."""
    replicated: bool = False
    """Others do the same: its death is told, but does not end the lab."""
    decides: bool = False
    """The process that makes scheduling decisions: the one that pausing stops."""
    webhooks: Webhooks | None = None
    """What the API server calls it for."""


def set_name(component: Component) -> str:
    """What the component is called in `--set`."""
    return component.called or component.name


def leading(args: tuple[str, ...]) -> tuple[str, ...]:
    """What comes before the flags: `-m kubedyno simulate` of a component that is kubedyno itself."""
    count = len(OWN_ARGS) + 1 if args[: len(OWN_ARGS)] == OWN_ARGS else 0
    return args[:count]


def flags(options: dict[str, str | int | bool | None]) -> tuple[str, ...]:
    """Command-line flags in the Go manner, in the order given; None leaves a flag out."""
    rendered = []
    for name, value in options.items():
        if value is not None:
            text = str(value).lower() if isinstance(value, bool) else str(value)
            rendered.append(f"--{name}={text}")
    return tuple(rendered)


def flag_values(args: Iterable[str]) -> dict[str, str]:
    """The flags of a command line by name; what is no flag is left out."""
    pairs = (arg.lstrip("-").partition("=") for arg in args if arg.startswith("-"))
    return {name: value for name, _, value in pairs}


def levels(components: tuple[Component, ...]) -> list[list[Component]]:
    """Components by start order: each level needs only the ones before it. A cycle is a programming error."""
    placed: set[str] = set()
    waiting = list(components)
    ordered: list[list[Component]] = []
    while waiting:
        level = [component for component in waiting if placed.issuperset(component.after)]
        if not level:
            raise ValueError(f"components wait for each other: {sorted(c.name for c in waiting)}")
        ordered.append(level)
        placed.update(component.name for component in level)
        waiting = [component for component in waiting if component.name not in placed]
    return ordered
