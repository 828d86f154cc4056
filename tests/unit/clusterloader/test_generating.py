from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubedyno.clusterloader.config import (
    ChaosMonkey,
    Config,
    Dependency,
    GlobalQpsLoad,
    Measurement,
    NamespaceRange,
    Namespaces,
    ObjectBundle,
    ParallelismLimitedLoad,
    Phase,
    Place,
    PoissonLoad,
    QpsLoad,
    RandomizedLoad,
    RandomizedTimeLimitedLoad,
    Step,
    SteppedLoad,
    TimeLimitedLoad,
    TuningSet,
)
from kubedyno.clusterloader.language.compiling import compile_config
from kubedyno.clusterloader.language.generating import yaml_text

pytestmark = pytest.mark.unit

METHODS = ("Sleep", "Timer")
DEPENDENCIES = ("DRAKWOKDriver", "DRATestDriver")
HERE = Place("config.yaml", 1)


def test_the_generated_config_is_in_clusterloader2s_spelling() -> None:
    config = Config(
        name="load",
        path="tests/config.yaml",
        namespaces=Namespaces(number=2),
        tuning_sets={"Uniform": TuningSet("Uniform", SteppedLoad(5, 0.25))},
        dependencies=(
            Dependency(name="kwok", method="DRAKWOKDriver", timeout_s=3661.0, params={"nodes": 3}, place=HERE),
        ),
        chaos=ChaosMonkey(failure_rate=0.01, interval_s=300.0, excluded_nodes=("a",)),
        steps=(
            Step(
                name="create",
                phases=(
                    Phase(
                        namespaces=NamespaceRange(1, 2),
                        replicas=3,
                        tuning_set="Uniform",
                        bundle=(
                            ObjectBundle(
                                basename="job",
                                template_path="job.yaml",
                                fill_map={"Size": 1.0, "Share": 0.5, "Label": "5"},
                                unknown_selector="a=b,!c",
                                place=HERE,
                            ),
                        ),
                        place=HERE,
                    ),
                ),
                place=HERE,
            ),
            Step(
                name="unnamed: measurements Timer",
                measurements=(Measurement(method="Timer", identifier="t", params={"label": "yes"}, place=HERE),),
                place=HERE,
            ),
        ),
    )
    assert yaml_text(config) == (
        "name: load\n"
        "namespace:\n"
        "  number: 2\n"
        "  deleteStaleNamespaces: false\n"
        "  deleteAutomanagedNamespaces: true\n"
        "  enableExistingNamespaces: false\n"
        '  deleteNamespaceTimeout: "10m0s"\n'
        "dependencies:\n"
        "- name: kwok\n"
        "  method: DRAKWOKDriver\n"
        '  timeout: "1h1m1s"\n'
        "  params:\n"
        "    nodes: 3\n"
        "tuningSets:\n"
        "- name: Uniform\n"
        "  steppedLoad:\n"
        "    burstSize: 5\n"
        '    stepDelay: "0.25s"\n'
        "chaosMonkey:\n"
        "  nodeFailure:\n"
        "    failureRate: 0.01\n"
        '    interval: "5m0s"\n'
        "    jitterFactor: 0\n"
        '    simulatedDowntime: "0s"\n'
        "  excludedNodes:\n"
        "    a: {}\n"
        "steps:\n"
        "- name: create\n"
        "  phases:\n"
        "  - namespaceRange:\n"
        "      min: 1\n"
        "      max: 2\n"
        "    replicasPerNamespace: 3\n"
        "    tuningSet: Uniform\n"
        "    objectBundle:\n"
        "    - basename: job\n"
        "      objectTemplatePath: job.yaml\n"
        "      templateFillMap:\n"
        "        Size: 1\n"
        "        Share: 0.5\n"
        '        Label: "5"\n'
        "      listUnknownObjectOptions:\n"
        "        labelSelector:\n"
        "          matchLabels:\n"
        "            a: b\n"
        "          matchExpressions:\n"
        "          - key: c\n"
        "            operator: DoesNotExist\n"
        '- name: "unnamed: measurements Timer"\n'
        "  measurements:\n"
        "  - method: Timer\n"
        "    identifier: t\n"
        "    params:\n"
        '      label: "yes"\n'
    )


TRICKY = st.sampled_from(
    ["y", "NO", "on", "null", "~", "0o17", "017", "1e3", "1_0", "5", ".5", "<<", "=", "a: b", " a", "a ", "a\nb", "%a"]
)
TEXTS = TRICKY | st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
NAMES = st.from_regex(r"[a-z]([a-z0-9-]{0,8}[a-z0-9])?", fullmatch=True)
DURATIONS_S = st.integers(1, 10**6).map(float) | st.floats(1e-9, 1e6)
NUMBERS = st.integers(1, 10**6).map(float) | st.floats(1e-6, 1e9)
COUNTS = st.integers(1, 2**31 - 1)
LEAVES = st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS | st.just("")


def trees(leaves: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.dictionaries(
        TEXTS,
        st.recursive(
            leaves,
            lambda below: st.lists(below, max_size=2) | st.dictionaries(TEXTS, below, max_size=2),
            max_leaves=4,
        ),
        max_size=3,
    )


PARAMS = trees(LEAVES | st.integers(-(2**63), 2**63))
LOADS = st.one_of(
    st.builds(QpsLoad, NUMBERS),
    st.builds(RandomizedLoad, NUMBERS),
    st.builds(SteppedLoad, COUNTS, DURATIONS_S | st.just(0.0)),
    st.builds(TimeLimitedLoad, DURATIONS_S),
    st.builds(RandomizedTimeLimitedLoad, DURATIONS_S),
    st.builds(ParallelismLimitedLoad, COUNTS),
    st.builds(GlobalQpsLoad, NUMBERS, COUNTS),
    st.builds(PoissonLoad, NUMBERS),
)
OBJECTS = st.builds(
    ObjectBundle,
    basename=NAMES,
    template_path=st.just("job.yaml"),
    fill_map=trees(LEAVES),
    unknown_selector=st.sampled_from(["", "a=b", "a in (b,c),!d", "a=1,a notin (2)", "a,b="]),
    place=st.just(HERE),
)
MEASUREMENTS = st.builds(
    Measurement, method=st.sampled_from(METHODS), identifier=TEXTS, params=PARAMS, place=st.just(HERE)
)


@st.composite
def configs(draw: st.DrawFn) -> Config:
    names = draw(st.lists(TEXTS, min_size=1, max_size=3, unique=True))
    number = draw(st.integers(1, 5000))
    namespaces = st.builds(
        Namespaces,
        number=st.just(number),
        prefix=st.just("") | NAMES,
        deletes_stale=st.booleans(),
        deletes_own=st.booleans(),
        takes_existing=st.booleans(),
        delete_timeout_s=DURATIONS_S | st.just(0.0),
    )
    phases = st.builds(
        Phase,
        namespaces=st.none()
        | st.lists(NAMES, min_size=1, max_size=2).map(tuple)
        | st.integers(1, number).map(lambda first: NamespaceRange(first, number))
        | st.builds(NamespaceRange, st.just(0), st.integers(0, 9), st.just("other-team")),
        replicas=st.integers(0, 2**31 - 1),
        tuning_set=st.sampled_from(names),
        bundle=st.lists(OBJECTS, min_size=1, max_size=2, unique_by=lambda member: member.basename).map(tuple),
        place=st.just(HERE),
    )
    steps = st.builds(
        Step, name=TEXTS, phases=st.lists(phases, min_size=1, max_size=2).map(tuple), place=st.just(HERE)
    ) | st.builds(
        Step, name=TEXTS, measurements=st.lists(MEASUREMENTS, min_size=1, max_size=2).map(tuple), place=st.just(HERE)
    )
    dependencies = st.builds(
        Dependency,
        name=TEXTS,
        method=st.sampled_from(DEPENDENCIES),
        timeout_s=DURATIONS_S | st.just(0.0),
        params=PARAMS,
        place=st.just(HERE),
    )
    chaos = st.builds(
        ChaosMonkey,
        failure_rate=st.floats(0, 1),
        interval_s=DURATIONS_S,
        jitter_factor=st.floats(0, 10),
        simulated_downtime_s=DURATIONS_S,
        excluded_nodes=st.sets(TEXTS, max_size=2).map(lambda found: tuple(sorted(found))),
    )
    return Config(
        name=draw(TEXTS | st.just("")),
        path="tests/config.yaml",
        namespaces=draw(namespaces),
        tuning_sets={name: TuningSet(name, draw(LOADS)) for name in names},
        dependencies=tuple(draw(st.lists(dependencies, max_size=2))),
        chaos=draw(st.none() | chaos),
        steps=tuple(draw(st.lists(steps, min_size=1, max_size=3))),
    )


def placeless(value: Any) -> Any:
    """Without places, which are those of another text."""
    match value:
        case Place():
            return None
        case msgspec.Struct():
            return type(value), [placeless(getattr(value, field.name)) for field in msgspec.structs.fields(value)]
        case tuple() | list():
            return [placeless(below) for below in value]
    return value


@given(configs())
def test_the_generated_config_compiles_to_the_same(config: Config) -> None:
    text = yaml_text(config)
    again = compile_config(
        config.path,
        {},
        lambda _path, _values: text,
        methods=METHODS,
        dependencies=DEPENDENCIES,
        is_file=lambda _path: True,
        mentions=lambda _path: frozenset(),
    )
    assert placeless(msgspec.structs.replace(again, remarks=(), generated="")) == placeless(config)
