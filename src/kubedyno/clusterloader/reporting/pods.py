"""Pods in files of a report: SystemPodMetrics, and what WaitForControlledPodsRunning waited for in vain. Pure."""

from collections.abc import Sequence

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


def failed_pods(pods: Sequence[FailedPod], wall_ns: int) -> Summary:
    """The summary of a wait that failed at this time, in ns since the epoch."""
    name = f"WaitForControlledPodsRunning_{wall_ns // NS_PER_S}_failedpods"
    return Summary(name=name, text=indented(pods))
