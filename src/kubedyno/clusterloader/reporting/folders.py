"""A report folder as a whole: what each test left, the cases of all of them, and some facts."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from kubedyno.clusterloader.config import Config
from kubedyno.clusterloader.reporting import junit, metadata, summaries
from kubedyno.clusterloader.reporting.junit import Case
from kubedyno.clusterloader.reporting.summaries import Gathered


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """One test, when it is over or was ended."""

    config: Config
    duration_s: float
    problem: str = ""
    """What ended it before its steps, or between them; empty: it came to its end."""
    steps: tuple[Case, ...] = ()
    gathered: tuple[Gathered, ...] = ()

    @property
    def cases(self) -> tuple[Case, ...]:
        """The test as a whole, then its steps."""
        failures = (*((self.problem,) if self.problem else ()), *(line for one in self.steps for line in one.failures))
        name = junit.overall_name(self.config.name, self.config.path)
        return Case(name, self.duration_s, failures), *self.steps


def write_configs(folder: Path, configs: Iterable[Config]) -> None:
    """The compiled configs: before anything is run, so that they are there whatever happens."""
    for config in configs:
        summaries.put(folder, summaries.generated_config_name(config.name, config.identifier), config.generated)


def write(folder: Path, tests: Sequence[Told], *, facts: Mapping[str, str]) -> None:
    """All that is known when the run is over."""
    for test in tests:
        for one in test.gathered:
            summaries.write(
                folder,
                one.summary,
                config_name=test.config.name,
                identifier=test.config.identifier,
                wall_ns=one.wall_ns,
            )
    cases = [case for test in tests for case in test.cases]
    duration_s = sum(test.duration_s for test in tests)
    summaries.put(folder, junit.FILE_NAME, junit.document(cases, duration_s=duration_s))
    summaries.put(folder, metadata.FILE_NAME, metadata.metadata_json(facts))
