"""Pods in files of a report: SystemPodMetrics, and what WaitForControlledPodsRunning waited for in vain. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from kubedyno.clusterloader.reporting.perfdata import indented
from kubedyno.clusterloader.reporting.summaries import Summary
from kubedyno.kit.clock import NS_PER_S


class SystemContainer(msgspec.Struct, frozen=True, rename="camel"):
    """A container of the control plane, and how often it was started anew since the measurement began."""

    name: str
    image: str
    restart_count: int
    last_restart_reason: str = ""


class SystemPod(msgspec.Struct, frozen=True):
    """A pod of the control plane."""

    name: str
    containers: tuple[SystemContainer, ...] = ()


class FailedPod(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A pod that should run and does not."""

    namespace: str
    controlled_by: str
    name: str
    host: str = ""
    """Its node; empty: it has none."""
    status: str


def system_pods_json(pods: Sequence[SystemPod]) -> str:
    """The text of SystemPodMetrics."""
    return indented({"pods": pods})


def restart_reason(ended: Mapping[str, Any] | None) -> str:
    """How a container ended before it was started anew, in Go's writing of it; empty: it never did."""
    if not ended:
        return ""
    fields = {
        "ExitCode": ended.get("exitCode", 0),
        "Signal": ended.get("signal", 0),
        "Reason": ended.get("reason", ""),
        "Message": ended.get("message", ""),
        "StartedAt": _go_time(ended.get("startedAt")),
        "FinishedAt": _go_time(ended.get("finishedAt")),
        "ContainerID": ended.get("containerID", ""),
    }
    return "&ContainerStateTerminated{" + "".join(f"{name}:{value}," for name, value in fields.items()) + "}"


def _go_time(text: str | None) -> str:
    """A time of an object as Go prints it; what was never set is the year 1 there."""
    return (text or "0001-01-01T00:00:00Z").replace("T", " ").replace("Z", " +0000 UTC")


def failed_pods(pods: Sequence[FailedPod], wall_ns: int) -> Summary:
    """The summary of a wait that failed at this time, in ns since the epoch."""
    name = f"WaitForControlledPodsRunning_{wall_ns // NS_PER_S}_failedpods"
    return Summary(name=name, text=indented(pods))
