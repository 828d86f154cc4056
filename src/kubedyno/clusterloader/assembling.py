"""From files and options to tests: what is rendered with which values, and how many nodes there are to be."""

import functools
import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from kubedyno.clusterloader import namespaces
from kubedyno.clusterloader.config import Config, Place, Remark
from kubedyno.clusterloader.dependencies import DEPENDENCIES
from kubedyno.clusterloader.language.compiling import compile_config
from kubedyno.clusterloader.language.files import ConfigFolder, read_text
from kubedyno.clusterloader.language.rendering import Templates
from kubedyno.clusterloader.language.suites import decode_suite
from kubedyno.clusterloader.language.values import Overrides, template_values
from kubedyno.clusterloader.measurements import METHODS, REFUSED, prometheus
from kubedyno.clusterloader.measurements.params import Params
from kubedyno.clusterloader.playing import Played
from kubedyno.clusterloader.trials import Test
from kubedyno.kit import randomness
from kubedyno.kit.errors import UsageError
from kubedyno.kit.nearest import suggestion
from kubedyno.sim.kubelet.plans import JOB_VARIABLES, job_times

_EXAMPLES: Final = ("pkg", "dependency", "kwok", "examples")
"""Where configs with kwok-dra are known to lie; ours are in a folder of the checkout."""


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What the command line says of all tests."""

    configs: tuple[str, ...] = ()
    suite: str = ""
    overrides: tuple[str, ...] = ()
    nodes: int | None = None
    image_registry: str = "images.example"
    skip_steps: tuple[str, ...] = ()
    overwrites: tuple[str, ...] = ()
    seed: int = 0
    may_execute: bool = False
    """Whether steps may run programs on this machine."""
    keeps: bool = False
    """Whether nodes and dependencies stay."""
    prometheus_url: str = ""
    """Of the server that answers queries; without it our own scrapes do."""
    is_foreign: bool = False
    """Whether the cluster is somebody else's: then no nodes are made but by dependencies."""
    nodes_there: int = 0
    """How many nodes that cluster has for pods."""
    environment: Mapping[str, str] = {}


class _Named(msgspec.Struct, frozen=True):
    """One config to be compiled."""

    path: str
    identifier: str = ""
    overrides: tuple[str, ...] = ()


def tests(asked: Asked) -> list[Test]:
    """All tests, compiled; UsageError where anything is wrong with any of them."""
    if asked.nodes is not None and asked.nodes < 0:
        raise UsageError(f"--nodes {asked.nodes}: write 0 or more")
    if asked.prometheus_url:
        prometheus.address(asked.prometheus_url)
    # Where others may run tests too, theirs must not meet ours; on a lab of its own a test repeats for a seed.
    is_alone = not (asked.is_foreign or asked.keeps)
    rng = randomness.stream(asked.seed, "namespaces") if is_alone else random.SystemRandom()
    return [_test(named, asked, rng) for named in _named(asked)]


def _named(asked: Asked) -> Iterator[_Named]:
    if bool(asked.configs) == bool(asked.suite):
        raise UsageError("name what is to be run: either --testconfig FILE, or --testsuite FILE")
    for path in asked.configs:
        yield _Named(path)
    if asked.suite:
        for one in decode_suite(read_text(Path(asked.suite)), asked.suite).scenarios:
            yield _Named(one.config_path, one.identifier, one.override_paths)


def _test(named: _Named, asked: Asked, rng: random.Random) -> Test:
    place = found(named.path)
    templates = Templates(place.parent, random.Random(asked.seed))  # noqa: S311 - repeats for a seed
    overrides = [Overrides(path, read_text(Path(path))) for path in (*asked.overrides, *named.overrides)]
    compiled = functools.partial(_compiled, named, asked, place=place, templates=templates, overrides=overrides)
    config = compiled(nodes=1 if asked.nodes is None else asked.nodes)
    brought = sum(_brought(config))
    nodes = asked.nodes if asked.nodes is not None else (brought + asked.nodes_there) or 1
    if nodes != config.values["Nodes"]:
        config = compiled(nodes=nodes)
        brought = sum(_brought(config))
    return Test(
        config=config,
        templates=templates,
        nodes=nodes,
        makes_nodes=0 if brought or asked.is_foreign else nodes,
        prefix=namespaces.prefix_of(config.namespaces, rng),
        job_times=job_times(asked.environment),
        may_execute=asked.may_execute,
        keeps=asked.keeps,
        prometheus_url=asked.prometheus_url,
        played=Played(),
    )


def _compiled(
    named: _Named, asked: Asked, *, place: Path, templates: Templates, overrides: Sequence[Overrides], nodes: int
) -> Config:
    values = template_values(overrides, asked.environment, nodes=nodes, image_registry=asked.image_registry)
    folder = ConfigFolder(place.parent)

    @functools.cache
    def mentioned(path: str) -> frozenset[str]:
        names = templates.mentions(path)
        return names | JOB_VARIABLES if path == place.name else names

    config = compile_config(
        str(place),
        values,
        templates.render,
        identifier=named.identifier,
        methods={*METHODS, *REFUSED},
        dependencies=DEPENDENCIES,
        is_file=lambda path: folder.place(path).is_file(),
        mentions=mentioned,
        skip_steps=asked.skip_steps,
        overwrites=asked.overwrites,
    )
    _refuse(config)
    for path in sorted({one.template_path for step in config.steps for phase in step.phases for one in phase.bundle}):
        templates.identities(path)  # what is wrong with it is told before anything runs
    return msgspec.structs.replace(config, remarks=(*config.remarks, *_unread(config)))


def _refuse(config: Config) -> None:
    """UsageError that names all methods that simulated nodes cannot answer."""
    first: dict[str, Place] = {}
    for one in (one for step in config.steps for one in step.measurements):
        if one.method in REFUSED:
            first.setdefault(one.method, one.place)
    if first:
        raise UsageError(
            "\n".join(
                f"{place}: {method} is not offered: {REFUSED[method]}; leave it out" for method, place in first.items()
            )
        )


def found(path: str) -> Path:
    """The file of a config. The examples of kwok-dra are found by the paths that they have elsewhere, too."""
    place = Path(path)
    parts = place.parts[1:] if place.parts[:1] == ("clusterloader2",) else place.parts
    example = Path(__file__).parents[3] / "examples" / "clusterloader" / place.name
    if not place.exists() and parts[:-1] in {_EXAMPLES, ()} and example.is_file():
        return example
    return place


def _brought(config: Config) -> Iterator[int]:
    """Nodes that each of its dependencies makes."""
    for one in config.dependencies:
        params = Params(one.params, of=f"dependency {one.name}", place=one.place)
        yield DEPENDENCIES[one.method].brings_nodes(params)


def _unread(config: Config) -> Iterator[Remark]:
    """Parameters that nothing reads."""
    calls: list[tuple[str, Mapping[str, Any], Any, Place]] = [
        (one.method, one.params, METHODS[one.method].params, one.place)
        for step in config.steps
        for one in step.measurements
    ]
    calls += [(one.method, one.params, DEPENDENCIES[one.method].params, one.place) for one in config.dependencies]
    for method, params, known, place in calls:
        for name in params:
            if name not in known:
                yield Remark(place, f"{method} does not read the parameter {name!r}; {suggestion(name, known)}")
