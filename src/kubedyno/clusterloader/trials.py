"""A config as a scenario: the same runner, recorder, audit and page as for every other."""

import asyncio
import re
from typing import Final

import msgspec

from kubedyno.clusterloader import namespaces
from kubedyno.clusterloader.config import Config
from kubedyno.clusterloader.language.rendering import Templates
from kubedyno.clusterloader.playing import Played, Player
from kubedyno.clusterloader.reporting import summaries
from kubedyno.clusterloader.reporting.folders import Told
from kubedyno.kit.clock import NS_PER_S
from kubedyno.kit.errors import KubedynoError
from kubedyno.lab.lab import Lab
from kubedyno.lab.scenario import Scenario
from kubedyno.sim.kubelet.plans import USUAL_TIMES, JobTimes
from kubedyno.sim.pools import Pool, applying

POOL: Final = "node"
"""Nodes that no dependency brings are node-0, node-1, ..."""
_NOT_IN_NAMES: Final = re.compile(r"[^a-z0-9]+")
_NAME_LENGTH: Final = 40


class Test(msgspec.Struct, frozen=True, kw_only=True):
    """A compiled config, ready to be run; what it comes to is in `played`."""

    config: Config
    templates: Templates
    nodes: int
    """What its templates were told."""
    makes_nodes: int
    """How many are made for it, beside those of its dependencies."""
    prefix: str
    """What the names of its namespaces begin with."""
    job_times: JobTimes = USUAL_TIMES
    """How long pods work by their label `job-type`."""
    may_execute: bool = False
    """Whether its steps may run programs on this machine."""
    keeps: bool = False
    """Whether its nodes and dependencies stay."""
    prometheus_url: str = ""
    """Of the server that answers queries; without it our own scrapes do."""
    played: Played

    @property
    def told(self) -> Told:
        """What its part of a report says, as far as it came."""
        played = self.played
        return Told(
            config=self.config,
            duration_s=played.duration_s,
            problem=played.problem,
            steps=tuple(played.steps),
            gathered=tuple(played.gathered),
        )

    @property
    def scenario(self) -> Scenario:
        """What the runner runs."""

        async def play(lab: Lab) -> None:
            begun_ns = lab.clock.monotonic_ns()
            try:
                if self.makes_nodes:
                    # Not as the lab's own, which would be for its workloads alone on a lab that was there before.
                    await applying.apply(lab.client, [Pool(name=POOL, count=self.makes_nodes)])
                player = Player(
                    self.config,
                    self.templates,
                    lab,
                    prefix=self.prefix,
                    job_times=self.job_times,
                    may_execute=self.may_execute,
                    keeps=self.keeps,
                    prometheus_url=self.prometheus_url,
                )
                await player.play(self.played)
            except asyncio.CancelledError:
                self.played.problem = "it was interrupted, or the lab came to its end"
                raise
            except KubedynoError as error:
                self.played.problem = str(error)
                raise
            finally:
                self.played.duration_s = (lab.clock.monotonic_ns() - begun_ns) / NS_PER_S
                lab.summaries.update(summaries.named(one.summary for one in self.played.gathered))
                lab.summaries["generatedConfig.yaml"] = self.config.generated

        return Scenario(
            name=f"clusterloader/{_slug(f'{self.config.name} {self.config.identifier}')}",
            function=play,
            tags=("clusterloader",),
            namespaces=namespaces.all_of(self.config, self.prefix),
            description=f"ClusterLoader2's config {self.config.path}.",
        )


def _slug(name: str) -> str:
    """As it may stand in the name of a namespace."""
    return _NOT_IN_NAMES.sub("-", name.lower())[:_NAME_LENGTH].strip("-") or "test"
