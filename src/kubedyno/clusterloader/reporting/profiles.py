"""Profiles in a report: `<host>_<component>_<method>`, as ClusterLoader2 calls them. Pure."""

from kubedyno.clusterloader.reporting.summaries import Summary
from kubedyno.plane.ports import LOOPBACK


def profile_summary(method: str, component: str, program: str, data: bytes) -> Summary:
    """The file of a profile, for `go tool pprof`. All of a lab is on one host, so replicas are told apart by name."""
    host = LOOPBACK if component == program else component
    return Summary(name=f"{host}_{program}_{method}", text=data, extension="pprof")
