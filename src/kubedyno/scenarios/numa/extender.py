"""An extender of the scheduler, over HTTP on loopback: it answers what a scenario wants, whatever it is asked.

Which extenders there are stands in the scheduler's configuration file, with the port, before a lab starts. There are
four, one for each way in which schedulers work with them, and all are this one process. A pod meets those whose
resource it names, if only with the amount of zero; no other pod does.
"""

import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final, Literal, TypeAlias, get_args
from urllib.parse import urlsplit

import msgspec

from kubedyno.kit.clock import Clock
from kubedyno.lab.lab import Lab
from kubedyno.model.workloads import Workload
from kubedyno.plane.ports import LOOPBACK
from kubedyno.scenarios.numa import zoned
from kubedyno.sim import exposing

Kind: TypeAlias = Literal["names", "ignorable", "whole", "scores"]
"""Filters by the names of nodes; the same, and what it gets wrong is ignored; filters whole nodes; scores nodes."""

SILENT: Final = object()
"""For an answer: there is none."""

_TIMEOUT_S: Final = 1
_SILENT_S: Final = 5.0 * _TIMEOUT_S
_WEIGHT: Final = 10_000
"""Ten points of it outweigh all that plugins can give."""
_VERBS: Final[Mapping[Kind, str]] = {
    "names": "filter",
    "ignorable": "filter",
    "whole": "filter",
    "scores": "prioritize",
}


def configuration(port: int) -> dict[str, Any]:
    """What the configuration file of a kube-scheduler has to say, so that it asks this extender at that port."""
    return {"extenders": [_entry(kind, port) for kind in get_args(Kind)]}


def _entry(kind: Kind, port: int) -> dict[str, Any]:
    verb: dict[str, Any] = {f"{_VERBS[kind]}Verb": _VERBS[kind]}
    if kind == "scores":
        verb["weight"] = _WEIGHT
    return {
        "urlPrefix": f"http://{LOOPBACK}:{port}/{kind}",
        **verb,
        "nodeCacheCapable": kind != "whole",
        "ignorable": kind == "ignorable",
        "httpTimeout": f"{_TIMEOUT_S}s",
        "managedResources": [{"name": _resource(kind), "ignoredByScheduler": True}],
    }


def _resource(kind: Kind) -> str:
    return f"kubedyno/extender-{kind}"


def port_of(lab: Lab) -> int | None:
    """The port at which the scheduler of the lab asks this extender; None: it does not."""
    found = () if lab.spec is None else lab.spec.scheduler_config.get("extenders", ())
    port = urlsplit(found[0].get("urlPrefix", "")).port if found else None
    return port if port is not None and found == configuration(port)["extenders"] else None


def exclusive(kind: Kind, *, name: str) -> Workload:
    """A pod that takes more than half of any zone, and that the extender is asked about."""
    amounts = {**zoned.guaranteed(zoned.LARGE)["limits"], _resource(kind): "0"}
    return zoned.containers({"main": {"requests": amounts, "limits": dict(amounts)}}, name=name)


class Extender:
    """The extender at work."""

    def __init__(self, clock: Clock) -> None:
        self.answers: dict[Kind, Any] = {}
        """To questions of each kind, as plain data in Kubernetes' names; kinds that are missing get `SILENT`."""
        self.asked: Counter[Kind] = Counter()
        self._clock = clock

    def questions(self) -> dict[str, exposing.Question]:
        """What it answers, by path."""
        return {f"/{kind}/{verb}": self._question(kind) for kind, verb in _VERBS.items()}

    def _question(self, kind: Kind) -> exposing.Question:
        async def answered(_: Mapping[str, str]) -> bytes:
            self.asked[kind] += 1
            answer = self.answers.get(kind, SILENT)
            if answer is SILENT:
                await self._clock.sleep(_SILENT_S)  # nobody waits for it so long
                answer = None
            return msgspec.json.encode(answer)

        return answered


@contextlib.asynccontextmanager
async def extending(port: int, clock: Clock) -> AsyncIterator[Extender]:
    """The extender at that port of this machine for the duration of the block."""
    extender = Extender(clock)
    async with exposing.serving({}, questions=extender.questions(), port=port):
        yield extender
