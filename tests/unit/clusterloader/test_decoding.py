import pytest

from kubedyno.clusterloader.config import (
    ChaosMonkey,
    GlobalQpsLoad,
    Load,
    Namespaces,
    ParallelismLimitedLoad,
    PoissonLoad,
    QpsLoad,
    RandomizedLoad,
    RandomizedTimeLimitedLoad,
    SteppedLoad,
    TimeLimitedLoad,
)
from kubedyno.clusterloader.language.decoding import Draft, decode_config
from kubedyno.clusterloader.language.findings import Findings
from kubedyno.clusterloader.language.located import read
from kubedyno.kit.errors import UsageError

pytestmark = pytest.mark.unit


def decoded(text: str) -> tuple[Draft, list[str]]:
    findings = Findings()
    draft = decode_config(read(text, "config.yaml"), findings)
    findings.stop_at_problems("config.yaml")
    return draft, [str(remark) for remark in findings.remarks]


def refused(text: str) -> str:
    with pytest.raises(UsageError) as caught:
        decoded(text)
    return str(caught.value)


# Fields.


def test_an_empty_file_is_a_config_that_says_nothing() -> None:
    draft, remarks = decoded("")
    assert (draft.name, draft.steps, draft.namespaces, remarks) == ("", (), Namespaces(number=0), [])


def test_keys_count_in_any_case() -> None:
    draft, remarks = decoded(
        """
NAME: a
TuningSets:
- Name: Uniform
  QPSLoad: {QPS: 5}
Steps:
- Phases:
  - NamespaceRange: {MIN: 1, Max: 2, BaseName: b}
    ReplicasPerNamespace: 3
    tuningset: Uniform
    objectbundle:
    - Basename: job
      OBJECTTEMPLATEPATH: job.yaml
      templatefillmap: {Replicas: 1, replicas: 2}
- measurements:
  - Method: Timer
    Instances:
    - Identifier: one
      PARAMS: {Label: x}
"""
    )
    (phase,) = draft.steps[0].phases
    (measurement,) = draft.steps[1].measurements
    assert remarks == []
    assert (phase.replicas, phase.tuning_set) == (3, "Uniform")
    assert phase.bundle[0].fill_map == {"Replicas": 1, "replicas": 2}
    assert (measurement.identifier, measurement.params) == ("one", {"Label": "x"})


def test_numbers_for_templates_are_floats_as_go_makes_them() -> None:
    draft, _ = decoded(
        "steps:\n- phases:\n  - tuningSet: a\n    objectBundle:\n    - basename: b\n      objectTemplatePath: c\n"
        "      templateFillMap: {a: 1, b: [2], c: true, d: '3'}\n- module: {path: m, params: {p: 4}}\n"
    )
    fill_map = draft.steps[0].phases[0].bundle[0].fill_map
    use = draft.steps[1].module
    assert [type(value) for value in fill_map.values()] == [float, list, bool, str]
    assert type(fill_map["b"][0]) is float
    assert use is not None
    assert type(use.params["p"]) is float


def test_unknown_keys_are_remarks_with_line_and_nearest_name() -> None:
    _, remarks = decoded("name: a\nstep: 1\nnamespace:\n  numbers: 4\n")
    assert remarks == [
        "config.yaml, line 2: step: this key is unknown, nothing reads it; did you mean 'steps'?",
        "config.yaml, line 4: namespace.numbers: this key is unknown, nothing reads it; did you mean 'number'?",
    ]


def test_keys_that_stand_twice_are_remarks() -> None:
    draft, remarks = decoded("name: a\nname: b\nName: c\n")
    assert draft.name == "b"
    assert remarks == [
        "config.yaml, line 2: name stands here for the second time; the last one counts",
        "config.yaml, line 2: name: name stands here twice, in different case; this one counts",
    ]


def test_bare_words_are_texts_where_texts_are_expected() -> None:
    draft, _ = decoded(
        "name: 5\nnamespace: {prefix: 1e6}\nsteps:\n- name: true\n  measurements: [{method: a, identifier: 2.5}]\n"
    )
    assert (draft.name, draft.namespaces.prefix, draft.steps[0].name) == ("5", "1e+06", "true")
    assert draft.steps[0].measurements[0].identifier == "2.5"


def test_whole_floats_are_whole_numbers() -> None:
    assert decoded("namespace: {number: 1e2}\n")[0].namespaces.number == 100


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "name: [a]\n",
            "config.yaml, line 1: name: expected a text, but there is a list",
        ),
        (
            "namespace:\n  number: ten\n",
            "config.yaml, line 2: namespace.number: expected a whole number, but there is the text 'ten'",
        ),
        (
            "namespace:\n  number: 1.5\n",
            "config.yaml, line 2: namespace.number: expected a whole number, but there is the number 1.5",
        ),
        (
            "namespace:\n  number: -1\n",
            "config.yaml, line 2: namespace.number: -1 is too small; write 0 or more",
        ),
        (
            "namespace:\n  deleteStaleNamespaces: 'true'\n",
            (
                "config.yaml, line 2: namespace.deleteStaleNamespaces: expected true or false, "
                "but there is the text 'true'"
            ),
        ),
        (
            "namespace: {deleteNamespaceTimeout: 5}\n",
            (
                "config.yaml, line 1: namespace.deleteNamespaceTimeout: expected a duration with its unit, "
                'but there is the number 5; write "5s" or "5m"'
            ),
        ),
        (
            "namespace: {deleteNamespaceTimeout: '90'}\n",
            (
                "config.yaml, line 1: namespace.deleteNamespaceTimeout: expected a duration with its unit, "
                'but there is the text \'90\'; write "90s" or "5m"'
            ),
        ),
        (
            "namespace: {deleteNamespaceTimeout: true}\n",
            (
                "config.yaml, line 1: namespace.deleteNamespaceTimeout: expected a duration with its unit, "
                'but there is true; write "5m"'
            ),
        ),
        (
            "namespace: {deleteNamespaceTimeout: 5 min}\n",
            (
                "config.yaml, line 1: namespace.deleteNamespaceTimeout: '5 min' is no duration: "
                "write it like 30s, 1m30s or 250ms"
            ),
        ),
        (
            "namespace: {deleteNamespaceTimeout: -5m}\n",
            (
                "config.yaml, line 1: namespace.deleteNamespaceTimeout: -5m is out of bounds; "
                "write 0s or more, and less than 292 years"
            ),
        ),
        (
            "steps: 5\n",
            "config.yaml, line 1: steps: expected a list, but there is the number 5",
        ),
        (
            "steps:\n- 5\n",
            (
                "config.yaml, line 2: steps[0]: expected a mapping with name, phases, measurements, module, "
                "but there is the number 5"
            ),
        ),
        (
            "steps:\n-\n",
            "config.yaml, line 2: steps[0]: there is nothing in this item of the list; leave out its dash",
        ),
        (
            "- a\n",
            (
                "config.yaml, line 1: the file: expected a mapping with name, automanagedNamespaces, namespace, "
                "dependencies, dependencyConfigs, tuningSets, chaosMonkey, steps, but there is a list"
            ),
        ),
    ],
)
def test_wrong_types_are_refused_with_place_path_and_advice(text: str, message: str) -> None:
    assert refused(text) == message


def test_zero_namespaces_are_one_as_in_clusterloader2() -> None:
    draft, remarks = decoded("namespace:\n  number: 0\n")
    assert draft.namespaces.number == 0
    assert remarks == ["config.yaml, line 2: namespace.number: 0 is taken as 1, as in ClusterLoader2"]


def test_all_problems_are_told_at_once() -> None:
    assert refused("name: [a]\nautomanagedNamespaces: x\nsteps:\n- {}\n- phases: [{}]\n") == (
        "config.yaml has 5 problems:\n"
        "  config.yaml, line 1: name: expected a text, but there is a list\n"
        "  config.yaml, line 2: automanagedNamespaces: expected a whole number, but there is the text 'x'\n"
        "  config.yaml, line 4: steps[0]: a step has one of phases, measurements and module, "
        "but there is none of them\n"
        "  config.yaml, line 5: steps[1].phases[0].objectBundle: is missing; name at least one object, "
        "with basename and objectTemplatePath\n"
        "  config.yaml, line 5: steps[1].phases[0]: tuningSet is missing; write tuningSet: Uniform"
    )


# Tuning sets.


@pytest.mark.parametrize(
    ("text", "load"),
    [
        ("qpsLoad: {qps: 0.5}", QpsLoad(0.5)),
        ("randomizedLoad: {averageQps: 10}", RandomizedLoad(10.0)),
        ("steppedLoad: {burstSize: 10, stepDelay: 1m30s}", SteppedLoad(10, 90.0)),
        ("steppedLoad: {burstSize: 10}", SteppedLoad(10, 0.0)),
        ("timeLimitedLoad: {timeLimit: 1h}", TimeLimitedLoad(3600.0)),
        ("RandomizedTimeLimitedLoad: {timeLimit: 250ms}", RandomizedTimeLimitedLoad(0.25)),
        ("parallelismLimitedLoad: {parallelismLimit: 3}", ParallelismLimitedLoad(3)),
        ("globalQPSLoad: {qps: 500, burst: 1000}", GlobalQpsLoad(500.0, 1000)),
        ("poissonLoad: {expectedActionsPerSecond: 2.5}", PoissonLoad(2.5)),
    ],
)
def test_there_are_eight_kinds_of_load(text: str, load: Load) -> None:
    draft, remarks = decoded(f"tuningSets:\n- {{name: a, {text}}}\n")
    (named,) = draft.tuning_sets
    assert named.tuning_set is not None
    assert (named.tuning_set.load, named.place.line, remarks) == (load, 2, [])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "name: a",
            (
                "tuningSets[0]: expected exactly one of globalQPSLoad, parallelismLimitedLoad, poissonLoad, qpsLoad, "
                "randomizedLoad, randomizedTimeLimitedLoad, steppedLoad, timeLimitedLoad, but there is none of them"
            ),
        ),
        (
            "name: a, qpsLoad: {qps: 1}, timeLimitedLoad: {timeLimit: 1s}",
            (
                "tuningSets[0]: expected exactly one of globalQPSLoad, parallelismLimitedLoad, poissonLoad, qpsLoad, "
                "randomizedLoad, randomizedTimeLimitedLoad, steppedLoad, timeLimitedLoad, "
                "but there is qpsLoad and timeLimitedLoad"
            ),
        ),
        ("qpsLoad: {qps: 1}", "tuningSets[0]: name is missing; write name: Uniform"),
        ("name: a, qpsLoad: {qps: 0}", "tuningSets[0].qpsLoad.qps: 0 is too small; write a value above 0"),
        ("name: a, qpsLoad: {qps: -1}", "tuningSets[0].qpsLoad.qps: -1 is too small; write a value above 0"),
        ("name: a, qpsLoad: {}", "tuningSets[0].qpsLoad.qps: is missing; write a value above 0"),
        ("name: a, qpsLoad: 5", "tuningSets[0].qpsLoad: expected a mapping with qps, but there is the number 5"),
        (
            "name: a, steppedLoad: {burstSize: 0, stepDelay: 1s}",
            "tuningSets[0].steppedLoad.burstSize: 0 is too small; write 1 or more",
        ),
        (
            "name: a, timeLimitedLoad: {timeLimit: 0s}",
            "tuningSets[0].timeLimitedLoad.timeLimit: 0s is out of bounds; write more than 0s, and less than 292 years",
        ),
    ],
)
def test_a_tuning_set_that_cannot_be_is_refused(text: str, message: str) -> None:
    assert refused(f"tuningSets:\n- {{{text}}}\n") == f"config.yaml, line 2: {message}"


def test_an_initial_delay_is_a_remark() -> None:
    _, remarks = decoded("tuningSets:\n- name: a\n  initialDelay: 5s\n  qpsLoad: {qps: 1}\n")
    assert remarks == [
        (
            "config.yaml, line 3: tuningSets[0].initialDelay: nothing reads it, ClusterLoader2 neither; "
            "take a step with a Sleep measurement"
        )
    ]


# Dependencies, chaos, measurements, phases.


def test_dependencies_are_accepted_by_both_names() -> None:
    draft, remarks = decoded(
        "dependencies:\n- {name: a, method: DRATestDriver, timeout: 5m, params: {Namespace: dra}}\n"
        "dependencyConfigs:\n- {name: kwok-dra, params: {nodes: 3}}\n- {name: DRATestDriver}\n"
    )
    told = [(entry.name, entry.method, entry.timeout_s, entry.params) for entry in draft.dependencies]
    assert remarks == []
    assert told == [
        ("a", "DRATestDriver", 300.0, {"Namespace": "dra"}),
        ("kwok-dra", "DRAKWOKDriver", 0.0, {"nodes": 3}),
        ("DRATestDriver", "DRATestDriver", 0.0, {}),
    ]


def test_a_dependency_without_a_method_is_refused() -> None:
    assert refused("dependencies:\n- name: kwok-dra\n") == (
        "config.yaml, line 2: dependencies[0]: method is missing; write method: DRAKWOKDriver"
    )


@pytest.mark.parametrize("excluded", ["[b, a]", "{a: {}, b: {}}"])
def test_a_chaos_monkey_is_read(excluded: str) -> None:
    draft, _ = decoded(
        f"chaosMonkey:\n  nodeFailure: {{failureRate: 0.1, interval: 5m, jitterFactor: 2, simulatedDowntime: 10m}}\n"
        f"  excludedNodes: {excluded}\n"
    )
    assert draft.chaos == ChaosMonkey(
        failure_rate=0.1,
        interval_s=300.0,
        jitter_factor=2.0,
        simulated_downtime_s=600.0,
        excluded_nodes=("a", "b"),
    )
    assert decoded("chaosMonkey: {excludedNodes: [a]}\n")[0].chaos is None


def test_a_chaos_monkey_that_cannot_be_is_refused() -> None:
    assert refused("chaosMonkey:\n  nodeFailure: {failureRate: 5, jitterFactor: -1}\n") == (
        "config.yaml has 3 problems:\n"
        '  config.yaml, line 2: chaosMonkey.nodeFailure: interval is missing; write interval: "5m"\n'
        "  config.yaml, line 2: chaosMonkey.nodeFailure.failureRate: 5 is no share of all nodes; "
        "write a number from 0 to 1\n"
        "  config.yaml, line 2: chaosMonkey.nodeFailure.jitterFactor: -1 is too small; write 0 or more"
    )


def test_instances_are_measurements_of_their_own_whose_params_win() -> None:
    draft, _ = decoded(
        "steps:\n- measurements:\n  - method: M\n    params: {a: 1, b: 1}\n"
        "    instances:\n    - identifier: one\n      params: {b: 2}\n    - identifier: two\n"
    )
    told = [(entry.method, entry.identifier, entry.params, entry.place.line) for entry in draft.steps[0].measurements]
    assert told == [("M", "one", {"a": 1, "b": 2}, 6), ("M", "two", {"a": 1, "b": 1}, 8)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{identifier: a}", "steps[0].measurements[0]: method is missing; write method: PodStartupLatency"),
        (
            "{method: Timer}",
            "steps[0].measurements[0]: it has neither identifier nor instances; write identifier: Timer",
        ),
        (
            "{method: Timer, identifier: a, instances: [{identifier: b}]}",
            (
                "steps[0].measurements[0].identifier: there are instances too, which have identifiers of their own; "
                "leave this one out"
            ),
        ),
        (
            "{method: Timer, instances: [{params: {}}]}",
            "steps[0].measurements[0].instances[0]: identifier is missing; write identifier: Timer",
        ),
        (
            "{method: Timer, identifier: a, params: [b]}",
            "steps[0].measurements[0].params: expected a mapping, but there is a list",
        ),
    ],
)
def test_a_measurement_that_cannot_be_is_refused(text: str, message: str) -> None:
    assert refused(f"steps:\n- measurements:\n  - {text}\n") == f"config.yaml, line 3: {message}"


PHASE = "steps:\n- phases:\n  - tuningSet: a\n    objectBundle: [{basename: b, objectTemplatePath: c}]\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "    replicasPerNamespace: -1\n",
            "line 5: steps[0].phases[0].replicasPerNamespace: -1 is too small; write 0 or more",
        ),
        (
            "    namespaceRange: {min: 2, max: 1}\n",
            "line 5: steps[0].phases[0].namespaceRange.max: 1 is less than min, which is 2; write 2 or more",
        ),
        (
            "    namespaceRange: {min: 1}\n",
            "line 5: steps[0].phases[0].namespaceRange.max: 0 is less than min, which is 1; write 1 or more",
        ),
        (
            "    namespaceRange: {min: 1, max: 1}\n    namespaceList: [x]\n",
            "line 6: steps[0].phases[0].namespaceList: there is a namespaceRange too; leave out one of them",
        ),
        (
            "    namespaceList: [X]\n",
            (
                "line 5: steps[0].phases[0].namespaceList: 'X' is no DNS-1123 label: use lower case letters, digits "
                "and '-', with a letter or digit at both ends, like 'team-1'"
            ),
        ),
    ],
)
def test_a_phase_that_cannot_be_is_refused(text: str, message: str) -> None:
    assert refused(PHASE + text) == f"config.yaml, {message}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "{basename: Job, objectTemplatePath: c}",
            (
                "basename: 'Job' is no DNS-1123 subdomain: use lower case letters, digits, '-' and '.', "
                "with a letter or digit at both ends of every part, like 'node-1.example'"
            ),
        ),
        (
            "{basename: b, objectTemplatePath: c, listUnknownObjectOptions: {labelSelector: {}}}",
            (
                "listUnknownObjectOptions.labelSelector: it is empty, which means every object; "
                "name a label in matchLabels"
            ),
        ),
        (
            (
                "{basename: b, objectTemplatePath: c, listUnknownObjectOptions: {labelSelector: "
                "{matchExpressions: [{key: a, operator: Is}]}}}"
            ),
            (
                "listUnknownObjectOptions.labelSelector: 'Is' is no operator of a label selector: "
                "use In, NotIn, Exists or DoesNotExist"
            ),
        ),
    ],
)
def test_an_object_that_cannot_be_is_refused(text: str, message: str) -> None:
    told = refused(f"steps:\n- phases:\n  - tuningSet: a\n    objectBundle:\n    - {text}\n")
    assert told == f"config.yaml, line 5: steps[0].phases[0].objectBundle[0].{message}"


def test_selectors_of_unknown_objects_are_texts() -> None:
    draft, _ = decoded(
        "steps:\n- phases:\n  - tuningSet: a\n    objectBundle:\n    - basename: b\n      objectTemplatePath: c\n"
        "      listUnknownObjectOptions:\n        labelSelector:\n          matchLabels: {Group: load, a: 1}\n"
        "          matchExpressions: [{key: b, operator: NotIn, values: [z, x]}, {key: c, operator: Exists}]\n"
    )
    assert draft.steps[0].phases[0].bundle[0].unknown_selector == "Group=load,a=1,b notin (x,z),c"


def test_a_step_is_one_of_three() -> None:
    assert refused(
        "steps:\n- phases: [{tuningSet: a, objectBundle: [{basename: b, objectTemplatePath: c}]}]\n"
        "  module: {path: m}\n"
    ) == (
        "config.yaml, line 2: steps[0]: a step has one of phases, measurements and module, "
        "but there is phases and module"
    )
    assert refused("steps:\n- module: {params: {}}\n") == (
        "config.yaml, line 2: steps[0].module: path is missing; write path: modules/measurements.yaml"
    )
