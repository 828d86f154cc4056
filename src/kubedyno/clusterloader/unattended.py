"""What nobody attends to on the embedded engine: kinds without a controller, and requests that no scheduler grants."""

from collections.abc import Iterable, Iterator
from typing import Final

from kubedyno.clusterloader.trials import Test

WITHOUT_CONTROLLER: Final = frozenset({("apps", "DaemonSet"), ("apps", "StatefulSet"), ("batch", "CronJob")})
"""Kinds, with their groups, whose objects would have pods elsewhere."""
_EXTENDED: Final = "ExtendedResourceName"
"""A parameter of DRATestDriver."""


def remarks(tests: Iterable[Test]) -> Iterator[str]:
    """What is to be known before the tests run on the embedded engine."""
    for test in tests:
        kinds: dict[str, str] = {}
        for member in (member for step in test.config.steps for phase in step.phases for member in phase.bundle):
            for api_version, kind in test.templates.identities(member.template_path):
                if (api_version.rpartition("/")[0], kind) in WITHOUT_CONTROLLER:
                    kinds.setdefault(kind, str(member.place))
        for kind, place in kinds.items():
            yield (
                f"{place}: the embedded engine has no controller of {kind}s, so they will have no pods: "
                "run it with --engine local"
            )
        for dependency in test.config.dependencies:
            if dependency.params.get(_EXTENDED):
                yield (
                    f"{dependency.place}: {_EXTENDED} is for kube-scheduler: the reference scheduler looks for devices "
                    "in claims alone, so pods will wait for ever: run it with --engine local"
                )
