"""Policy options of the topology and CPU managers, with the faults for which a kubelet would not start."""

from collections.abc import Mapping

import msgspec

from kubedyno.kit.errors import UsageError

_MOST_NODES = 8
_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE = frozenset({"0", "f", "F", "FALSE", "false", "False"})
_CPU_OPTIONS = {
    "full-pcpus-only": ("full_cores", "stable"),
    "strict-cpu-reservation": ("strict_reservation", "stable"),
    "prefer-align-cpus-by-uncorecache": ("by_cache", "stable"),
    "distribute-cpus-across-numa": ("across_nodes", "beta"),
    "align-by-socket": ("by_socket", "alpha"),
    "distribute-cpus-across-cores": ("across_cores", "alpha"),
}
_APART = (
    ("full-pcpus-only", "distribute-cpus-across-cores"),
    ("distribute-cpus-across-numa", "distribute-cpus-across-cores"),
    ("prefer-align-cpus-by-uncorecache", "distribute-cpus-across-cores"),
    ("prefer-align-cpus-by-uncorecache", "distribute-cpus-across-numa"),
)


class TopologyOptions(msgspec.Struct, frozen=True):
    """`topologyManagerPolicyOptions`."""

    prefer_closest: bool = False
    most_nodes: int = _MOST_NODES

    @classmethod
    def parse(cls, written: Mapping[str, str]) -> "TopologyOptions":
        """The options as they are written in the kubelet's configuration."""
        closest, most = False, _MOST_NODES
        for name, value in written.items():
            if name == "prefer-closest-numa-nodes":
                closest = _boolean(name, value)
            elif name == "max-allowable-numa-nodes":
                most = _node_limit(name, value)
            else:
                raise UsageError(f'unknown Topology Manager Policy option: "{name}"')
        return cls(closest, most)


class CpuOptions(msgspec.Struct, frozen=True):
    """`cpuManagerPolicyOptions` of the static policy."""

    full_cores: bool = False
    across_nodes: bool = False
    by_socket: bool = False
    across_cores: bool = False
    strict_reservation: bool = False
    by_cache: bool = False

    @classmethod
    def parse(cls, written: Mapping[str, str], *, alpha: bool = False, beta: bool = True) -> "CpuOptions":
        """The options as they are written; `alpha` and `beta` are the feature gates for options of that stage."""
        fields = {}
        for name, value in written.items():
            if name not in _CPU_OPTIONS:
                raise UsageError(f'unknown CPU Manager Policy option: "{name}"')
            field, stage = _CPU_OPTIONS[name]
            if (stage == "alpha" and not alpha) or (stage == "beta" and not beta):
                raise UsageError(
                    f'CPU Manager Policy {stage.title()}-level Options not enabled, but option "{name}" provided'
                )
            fields[field] = _boolean(name, value)
        for one, other in _APART:
            if fields.get(_CPU_OPTIONS[one][0]) and fields.get(_CPU_OPTIONS[other][0]):
                raise UsageError(f"static policy options {one} and {other} can not be used at the same time")
        return cls(**fields)


def _boolean(name: str, value: str) -> bool:
    if value not in _TRUE | _FALSE:
        raise UsageError(f'bad value for option "{name}": strconv.ParseBool: parsing "{value}": invalid syntax')
    return value in _TRUE


def _node_limit(name: str, value: str) -> int:
    try:
        limit = int(value)
    except ValueError:
        raise UsageError(
            f'unable to convert policy option to integer "{name}": strconv.Atoi: parsing "{value}": invalid syntax'
        ) from None
    if limit < _MOST_NODES:
        raise UsageError(f'the minimum value of "{name}" should not be less than {_MOST_NODES}')
    return limit
