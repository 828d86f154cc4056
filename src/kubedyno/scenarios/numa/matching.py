"""How a scheduler knows NUMA zones: the caches and scores of NodeResourceTopologyMatch, set and read back."""

from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias, get_args

from kubedyno.lab.lab import Lab

Cache: TypeAlias = Literal["passthrough", "over-reserve", "discard-reserved"]
"""The plugin's own words for what it does between two reports of a node."""
Scoring: TypeAlias = Literal["LeastAllocated", "MostAllocated", "BalancedAllocation", "LeastNUMANodes"]
Knows: TypeAlias = Literal["passthrough", "over-reserve", "discard-reserved", "reference"]
"""A cache of the plugin, or our own scheduler, which takes off what it has placed since a report."""

RESYNC_S: Final = 5
"""The period of the over-reserving cache; less is not advised."""

_COMPONENT: Final = "plugins"
_ARGS: Final = "profiles.0.pluginConfig.1.args"
_PERIOD: Final = f"{_ARGS}.cacheResyncPeriodSeconds"
_DISCARDS: Final = f"{_ARGS}.discardReservedNodes"
_STRATEGY: Final = f"{_ARGS}.scoringStrategy.type"


def settings(parameters: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """The settings of the plugin that the parameters `cache` and `scoring` mean; no other scheduler has them."""
    cache = parameters.get("cache", get_args(Cache)[0])
    wanted = {
        _PERIOD: str(RESYNC_S if cache == "over-reserve" else 0),
        _DISCARDS: str(cache == "discard-reserved").lower(),
    }
    if "scoring" in parameters:
        wanted[_STRATEGY] = parameters["scoring"]
    return {_COMPONENT: {f"{_COMPONENT}.{path}": value for path, value in wanted.items()}}


def knows(lab: Lab) -> Knows:
    """How the scheduler of the lab knows, as it says itself; one that says nothing of a cache is our own."""
    period, discards = _told(lab, _PERIOD), _told(lab, _DISCARDS)
    if period is None and discards is None:
        return "passthrough" if _told(lab, "clientConnection.qps") is not None else "reference"
    if discards == "true":
        return "discard-reserved"
    return "over-reserve" if int(period or 0) > 0 else "passthrough"


def scoring(lab: Lab) -> Scoring | None:
    """How the plugin scores nodes, as it says itself; None: it does not say."""
    told = _told(lab, _STRATEGY)
    return next((one for one in get_args(Scoring) if one == told), None)


def _told(lab: Lab, field: str) -> str | None:
    """Of several schedulers that elect a leader, what the first one says: they have one file."""
    return next((told for name in (_COMPONENT, f"{_COMPONENT}-0") if (told := lab.setting(name, field))), None)


def reserves(how: Knows) -> bool:
    """Whether it counts what it has placed itself before a report does."""
    return how in {"over-reserve", "reference"}


def pids(lab: Lab) -> dict[str, int]:
    """The processes of the plugin's scheduler, by component; none of a lab that another process owns."""
    return {name: pid for name, pid in lab.scraper.pids().items() if name.partition("-")[0] == _COMPONENT}
