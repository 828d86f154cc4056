"""Which cluster a command works on.

`--kubeconfig` and `--context`, then the lab named by `--name`, then KUBECONFIG, then the only lab that runs. Never the
user's own `~/.kube/config` without being told so.
"""

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from kubedyno.client import kubeconfig as kubeconfigs
from kubedyno.client.access import Access
from kubedyno.client.rest import Client
from kubedyno.client.transport import DEFAULT_CONNECTIONS
from kubedyno.kit import places
from kubedyno.kit.clock import Clock
from kubedyno.kit.errors import UsageError
from kubedyno.lab import folders
from kubedyno.lab.folders import LabFolder

_REMEDY = "choose one with --name, or a cluster with --kubeconfig or KUBECONFIG"


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    """What the command line says of the cluster."""

    kubeconfig: Path | None = None
    context: str | None = None
    name: str | None = None
    """Of a lab."""

    @property
    def told(self) -> str:
        """In words."""
        if self.name is not None:
            return f"lab {self.name}"
        file = f"cluster of {self.kubeconfig}" if self.kubeconfig is not None else "cluster of KUBECONFIG"
        return file if self.context is None else f"{file}, context {self.context}"


@asynccontextmanager
async def selected(
    selection: Selection,
    *,
    env: Mapping[str, str] = os.environ,
    clock: Clock | None = None,
    connections: int = DEFAULT_CONNECTIONS,
) -> AsyncIterator[Client]:
    """A client of the cluster that is meant; UsageError when that is not clear."""
    async with Client.connect(access(selection, env=env), clock=clock, connections=connections) as client:
        yield client


def access(selection: Selection, *, env: Mapping[str, str] = os.environ) -> Access:
    """How to reach the cluster that is meant."""
    if selection.name is not None and (selection.kubeconfig or selection.context):
        raise UsageError("--name is a lab, --kubeconfig and --context are a cluster: give one of them")
    if selection.kubeconfig is not None:
        return kubeconfigs.load(selection.kubeconfig, context=selection.context, env=env)
    if selection.name is not None:
        return kubeconfigs.load(kubeconfig_of(folders.choose(places.state_dir(env), selection.name)), env=env)
    if env.get("KUBECONFIG"):
        return kubeconfigs.load(context=selection.context, env=env)
    if selection.context is not None:
        raise UsageError(f"--context {selection.context}: of which file? Give --kubeconfig or set KUBECONFIG")
    running = running_labs(env)
    if not running:
        raise UsageError("no lab is running: `kubedyno up` makes one, or name a cluster with --kubeconfig")
    if len(running) > 1:
        raise UsageError(f"several labs are running ({', '.join(lab.name for lab in running)}): {_REMEDY}")
    return kubeconfigs.load(kubeconfig_of(running[0]), env=env)


def lab_of(selection: Selection, *, env: Mapping[str, str] = os.environ) -> LabFolder | None:
    """The running lab of ours that is meant; None where it is another cluster, or none that is running."""
    running = running_labs(env)
    if selection.name is not None:
        return next((lab for lab in running if lab.name == selection.name), None)
    file = str(selection.kubeconfig) if selection.kubeconfig is not None else env.get("KUBECONFIG")
    if file:
        return next((lab for lab in running if kubeconfig_of(lab).resolve() == Path(file).resolve()), None)
    return running[0] if len(running) == 1 and selection.context is None else None


def kubectl_options(selection: Selection, *, env: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """The options by which kubectl works on the same cluster."""
    lab = lab_of(selection, env=env)
    file = kubeconfig_of(lab) if lab is not None else selection.kubeconfig
    options = () if file is None else ("--kubeconfig", str(file))
    return options if selection.context is None else (*options, "--context", selection.context)


def running_labs(env: Mapping[str, str] = os.environ) -> list[LabFolder]:
    """The labs of ours that are up."""

    def is_running(lab: LabFolder) -> bool:
        status = lab.read_status()
        return status is not None and status.state == "ready"

    return [lab for lab in folders.labs(places.state_dir(env)) if is_running(lab)]


def kubeconfig_of(lab: LabFolder) -> Path:
    """The file by which its admin reaches a lab; `UsageError` when it is not up."""
    status = lab.read_status()
    if status is None or status.state != "ready":
        state = "is just being started" if status is None else f"is {status.state}"
        raise UsageError(f"lab {lab.name} {state}: wait for it, or start it with `kubedyno up --name {lab.name}`")
    return Path(status.kubeconfig)
