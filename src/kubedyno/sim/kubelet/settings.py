"""How the kubelet of a node behaves: written on the node as JSON, the same for all nodes of a pool."""

import functools
import math
from collections.abc import Mapping

import msgspec

from kubedyno.kit.draws import Draw
from kubedyno.kit.errors import UsageError, located
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.sim import marks


class Numa(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True, omit_defaults=True):
    """The shape of a node's machine; counts are per the level above. CPUs and memory are the node's, divided."""

    sockets: int = 2
    nodes_per_socket: int = 1
    threads_per_core: int = 2
    hugepages: Mapping[str, str] = {}
    """Quantity by NUMA node's share of each kind of huge pages (`hugepages-2Mi`)."""


class KubeletSettings(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True, omit_defaults=True
):
    """Distributions are texts as `kit.draws` reads them. Policies are spelled as in a kubelet's file."""

    start: str = "0s"
    """From a pod's acceptance until its containers run: image pull, volumes, GPU initialisation."""
    stop: str = "0s"
    """From the request to end until containers have ended; never longer than the pod's grace period."""
    duration: str | None = None
    """How long pods work that say nothing themselves; None: until they are deleted."""
    work: Mapping[str, float] = {}
    """Seconds that pods work by the value of their label `job-type`; of others whoever plays the kubelet decides."""
    failures: float = 0.0
    """Share of the pods that end with exit code 1 instead of 0."""
    topology_manager_policy: str = "none"
    topology_manager_scope: str = "container"
    topology_manager_policy_options: Mapping[str, str] = {}
    cpu_manager_policy: str = "none"
    cpu_manager_policy_options: Mapping[str, str] = {}
    reserved_cpus: int = 0
    """CPUs that no pod gets; the static CPU manager wants at least one."""
    memory_manager_policy: str = "None"
    reserved_memory: Mapping[str, str] = {}
    """Quantity of memory that no pod gets, by number of the NUMA node."""
    numa: Numa | None = None
    """None: one NUMA node, nothing to align."""


DEFAULTS = KubeletSettings()


def check(settings: KubeletSettings) -> KubeletSettings:
    """The settings themselves, when they make sense alone; UsageError with the field otherwise."""
    for field in ("start", "stop", "duration"):
        distribution = getattr(settings, field)
        if distribution is not None:
            with located(field):
                Draw.parse(distribution)
    for job_type, seconds in settings.work.items():
        if not 0 <= seconds < math.inf:
            raise UsageError(f"work.{job_type} is {seconds:g}: write seconds, 0 or more")
    if not 0 <= settings.failures <= 1:
        raise UsageError(f"failures is {settings.failures:g}: write a share from 0 to 1")
    return settings


def written(settings: KubeletSettings) -> str:
    """The annotation's text."""
    return msgspec.json.encode(settings).decode()


@functools.lru_cache(maxsize=256)
def read(text: str) -> KubeletSettings:
    """Settings from the annotation's text; all nodes of a pool share one object."""
    with located(f"annotation {marks.KUBELET}", msgspec.MsgspecError):
        return check(msgspec.json.decode(text, type=KubeletSettings))


def of(node: Object) -> KubeletSettings:
    """The settings of a node."""
    text = meta.annotations(node).get(marks.KUBELET)
    return read(text) if text else DEFAULTS
