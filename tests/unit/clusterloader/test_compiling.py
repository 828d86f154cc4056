import re
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kubedyno.clusterloader.config import (
    Config,
    NamespaceRange,
    Namespaces,
    ObjectBundle,
    Place,
    QpsLoad,
    Step,
    TuningSet,
)
from kubedyno.clusterloader.language import decoding, loads, phases
from kubedyno.clusterloader.language.compiling import compile_config
from kubedyno.clusterloader.language.generating import yaml_text
from kubedyno.kit.errors import UsageError

pytestmark = pytest.mark.unit

METHODS = ("PodStartupLatency", "SchedulingThroughput", "Sleep", "Timer")
DEPENDENCIES = ("DRAKWOKDriver", "DRATestDriver")
PLACEHOLDER = re.compile(r"\{\{\.(\w+)\}\}")
TIMER = "  measurements:\n  - {method: Timer, identifier: t, params: {action: start}}\n"
CONFIG = """\
name: load
namespace:
  number: 2
tuningSets:
- name: Uniform
  qpsLoad: {qps: {{.CL2_QPS}}}
steps:
- name: create
  phases:
  - namespaceRange: {min: 1, max: 2}
    replicasPerNamespace: 3
    tuningSet: Uniform
    objectBundle:
    - basename: job
      objectTemplatePath: job.yaml
      templateFillMap: {Size: 1}
- measurements:
  - {method: Timer, identifier: t}
  - {method: Sleep, identifier: s}
"""


def compiled(
    text: str = CONFIG,
    files: Mapping[str, str] | None = None,
    values: Mapping[str, Any] | None = None,
    *,
    skip_steps: Sequence[str] = (),
    overwrites: Sequence[str] = (),
) -> Config:
    """Templates of a test know `{{.Name}}` alone."""
    templates = {"job.yaml": "{{.Size}} {{.Name}}", **(files or {}), "config.yaml": text}
    templates |= {f"./{path}": found for path, found in templates.items()}

    def render(path: str, given: Mapping[str, Any]) -> str:
        if path not in templates:
            raise UsageError(f"{path}: there is no such file")
        return PLACEHOLDER.sub(lambda found: str(given.get(found[1], "<no value>")), templates[path])

    return compile_config(
        "tests/config.yaml",
        {"CL2_QPS": 5} if values is None else values,
        render,
        methods=METHODS,
        dependencies=DEPENDENCIES,
        is_file=templates.__contains__,
        mentions=lambda path: frozenset(PLACEHOLDER.findall(templates[path])),
        skip_steps=skip_steps,
        overwrites=overwrites,
    )


def refused(text: str, files: Mapping[str, str] | None = None, **options: Any) -> str:
    with pytest.raises(UsageError) as caught:
        compiled(text, files, **options)
    return str(caught.value)


def test_a_config_is_compiled() -> None:
    config = compiled()
    create, unnamed = config.steps
    (phase,) = create.phases
    assert (config.name, config.path, config.identifier, config.remarks) == ("load", "tests/config.yaml", "", ())
    assert config.namespaces == Namespaces(number=2)
    assert config.tuning_sets == {"Uniform": TuningSet("Uniform", QpsLoad(5.0))}
    assert config.values == {"CL2_QPS": 5}
    assert config.generated == yaml_text(config)
    assert (phase.namespaces, phase.replicas, phase.tuning_set) == (NamespaceRange(1, 2), 3, "Uniform")
    assert phase.bundle == (
        ObjectBundle(
            basename="job", template_path="job.yaml", fill_map={"Size": 1.0}, place=Place("tests/config.yaml", 14)
        ),
    )
    assert [entry.identifier for entry in unnamed.measurements] == ["t", "s"]
    assert [str(step.place) for step in config.steps] == ["tests/config.yaml, line 8", "tests/config.yaml, line 17"]


def test_steps_without_a_name_are_called_by_what_they_do() -> None:
    bundle = ", ".join(f"{{basename: {name}, objectTemplatePath: job.yaml}}" for name in "abcd")
    config = compiled(
        "tuningSets: [{name: u, qpsLoad: {qps: 1}}]\nsteps:\n"
        f"- phases: [{{tuningSet: u, objectBundle: [{bundle}]}}]\n"
        "- measurements: [{method: Timer, identifier: a}, {method: Timer, identifier: b}]\n"
    )
    assert [step.name for step in config.steps] == [
        "unnamed: phases of a, b, c and 1 more",
        "unnamed: measurements Timer",
    ]


def test_automanaged_namespaces_is_the_old_name_of_the_number() -> None:
    steps = f"steps:\n- name: a\n{TIMER}"
    old = compiled(f"automanagedNamespaces: 7\n{steps}")
    both = compiled(f"automanagedNamespaces: 7\nnamespace: {{number: 3}}\n{steps}", values={})
    assert (old.namespaces.number, both.namespaces.number) == (7, 3)
    assert [str(remark) for remark in both.remarks] == [
        (
            "tests/config.yaml, line 1: automanagedNamespaces: nothing reads it, as namespace.number says otherwise; "
            "leave it out"
        )
    ]


# Modules.


def test_modules_are_taken_in_where_they_stand() -> None:
    config = compiled(
        f"steps:\n- name: first\n{TIMER}- name: ignored\n  module: {{path: outer.yaml, params: {{Label: x}}}}\n"
        f"- name: last\n{TIMER}",
        {
            "outer.yaml": "steps:\n- name: outer {{.Label}} {{.CL2_QPS}}\n"
            f"{TIMER}- module: {{path: modules/inner.yaml}}\n",
            "modules/inner.yaml": f"steps:\n- name: inner {{{{.Label}}}}\n{TIMER}",
        },
    )
    assert [step.name for step in config.steps] == ["first", "outer x 5", "inner <no value>", "last"]
    assert [str(step.place) for step in config.steps] == [
        "tests/config.yaml, line 2",
        "tests/outer.yaml, line 2",
        "tests/modules/inner.yaml, line 2",
        "tests/config.yaml, line 7",
    ]
    assert config.remarks == ()


def test_params_of_a_module_win_over_values() -> None:
    config = compiled(
        "steps:\n- module: {path: m.yaml, params: {CL2_QPS: b}}\n",
        {"m.yaml": f"steps:\n- name: a {{{{.CL2_QPS}}}}\n{TIMER}"},
    )
    assert [step.name for step in config.steps] == ["a b"]


def test_a_module_may_be_used_twice_and_be_empty() -> None:
    use = "- module: {path: m.yaml}\n- module: {path: empty.yaml}\n"
    config = compiled(f"steps:\n{use}{use}", {"m.yaml": f"steps:\n- name: a\n{TIMER}", "empty.yaml": ""}, values={})
    assert [step.name for step in config.steps] == ["a", "a"]


def test_a_module_has_steps_only() -> None:
    config = compiled(
        "steps:\n- module: {path: m.yaml}\n", {"m.yaml": f"name: a\nsteps:\n- name: a\n{TIMER}"}, values={}
    )
    assert [str(remark) for remark in config.remarks] == [
        "tests/m.yaml, line 1: name: this key is unknown, nothing reads it; known are: steps"
    ]


def test_modules_in_a_circle_are_refused_with_the_way() -> None:
    files = {
        "a.yaml": "steps:\n- module: {path: ./b.yaml}\n",
        "b.yaml": "steps:\n- module: {path: /a.yaml}\n",
    }
    assert refused("steps:\n- module: {path: a.yaml}\n", files) == (
        "tests/b.yaml, line 2: the module /a.yaml takes itself in: a.yaml -> b.yaml -> a.yaml; break the circle"
    )
    assert refused("steps:\n- module: {path: config.yaml}\n") == (
        "tests/config.yaml, line 2: the module config.yaml takes itself in: config.yaml -> config.yaml; "
        "break the circle"
    )


def test_a_module_that_cannot_be_read_is_refused() -> None:
    files = {"bad.yaml": "steps: [\n"}
    assert refused("steps:\n- module: {path: bad.yaml}\n- module: {path: none.yaml}\n", files) == (
        "tests/config.yaml has 2 problems:\n"
        "  tests/config.yaml, line 2: the module bad.yaml cannot be taken in: tests/bad.yaml, line 2: this is no YAML: "
        "did not find expected node content\n"
        "  tests/config.yaml, line 3: the module none.yaml cannot be taken in: none.yaml: there is no such file"
    )


# What does not fit.


def test_a_config_without_steps_is_refused() -> None:
    told = "tests/config.yaml, line 1: there are no steps; write at least one, with phases or measurements"
    assert refused("name: a\n") == told
    assert refused("") == told
    assert refused(f"steps:\n- name: a\n{TIMER}", skip_steps=["a"]) == told


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (
            "tuningSet: Uniform",
            "tuningSet: Unifort",
            "line 10: there is no tuning set 'Unifort'; did you mean 'Uniform'?",
        ),
        ("method: Timer", "method: Timr", "line 18: there is no measurement 'Timr'; did you mean 'Timer'?"),
        (
            "objectTemplatePath: job.yaml",
            "objectTemplatePath: jobs.yaml",
            "line 14: objectTemplatePath: there is no file jobs.yaml; paths begin in the folder of tests/config.yaml",
        ),
        (
            "max: 2",
            "max: 3",
            (
                "line 10: namespaceRange: it goes to 3, but the test has 2 namespaces; "
                "write max: 2, or raise namespace.number"
            ),
        ),
        ("min: 1", "min: 0", "line 10: namespaceRange: namespaces are counted from 1; write min: 1"),
        (
            "number: 2",
            "number: 10000",
            "line 3: namespace.number: 10000 namespaces are too many; write 5000 or fewer",
        ),
        (
            "number: 2",
            "number: 2\n  prefix: Test",
            (
                "line 3: namespace.prefix: 'Test-2' is no DNS-1123 label: use lower case letters, digits and '-', "
                "with a letter or digit at both ends, like 'team-1'"
            ),
        ),
        (
            "steps:\n",
            "- name: Uniform\n  qpsLoad: {qps: 1}\nsteps:\n",
            "line 7: there is a tuning set 'Uniform' already; give this one another name",
        ),
        (
            "steps:\n",
            "dependencies: [{name: a, method: DRAKWOKDrivr}]\nsteps:\n",
            "line 7: there is no dependency 'DRAKWOKDrivr'; did you mean 'DRAKWOKDriver'?",
        ),
        (
            "- measurements",
            "    - {basename: job, objectTemplatePath: job.yaml}\n- measurements",
            "line 17: objectBundle: 'job' of job.yaml is in this bundle twice; give one another basename",
        ),
    ],
)
def test_what_does_not_fit_is_refused(before: str, after: str, message: str) -> None:
    assert refused(CONFIG.replace(before, after, 1)) == f"tests/config.yaml, {message}"


def test_a_range_of_other_namespaces_may_go_anywhere() -> None:
    other = compiled(CONFIG.replace("{min: 1, max: 2}", "{min: 0, max: 99, basename: team}"))
    assert other.steps[0].phases[0].namespaces == NamespaceRange(0, 99, "team")
    own = CONFIG.replace("number: 2", "number: 2\n  prefix: team").replace("max: 2", "max: 9, basename: team")
    assert "it goes to 9, but the test has 2 namespaces" in refused(own)


def test_what_follows_from_a_problem_is_not_told() -> None:
    assert refused(CONFIG.replace("number: 2", "number: two")) == (
        "tests/config.yaml, line 3: namespace.number: expected a whole number, but there is the text 'two'"
    )
    assert refused(CONFIG, values={"CL2_QPS": 0}) == (
        "tests/config.yaml, line 6: tuningSets[0].qpsLoad.qps: 0 is too small; write a value above 0"
    )


def test_the_same_problem_in_many_places_is_told_once() -> None:
    step = "- phases: [{tuningSet: b, objectBundle: [{basename: b, objectTemplatePath: job.yaml}]}]\n"
    assert refused(f"tuningSets: [{{name: a, qpsLoad: {{qps: 1}}}}]\nsteps:\n{step * 1000}") == (
        "tests/config.yaml, line 3 (and 999 more places): there is no tuning set 'b'; known are: a"
    )


# Remarks.


def test_what_nothing_uses_is_a_remark() -> None:
    config = compiled(
        CONFIG.replace("{Size: 1}", "{Sizze: 1, Name: b}")
        .replace("steps:\n", "- {name: Spare, qpsLoad: {qps: 1}}\nsteps:\n")
        .replace("- measurements", "- module: {path: m.yaml, params: {Labl: x}}\n- measurements"),
        {"m.yaml": f"steps:\n- name: a {{{{.Label}}}}\n{TIMER}"},
        {"CL2_QPS": 5, "CL2_QSP": 6, "Nodes": 10, "ImageRegistry": "r"},
    )
    assert [str(remark) for remark in config.remarks] == [
        "tests/config.yaml, line 18: params: m.yaml does not mention .Labl; did you mean 'Label'?",
        "tests/config.yaml, line 15: templateFillMap: .Name is set for each object, what is given counts for nothing",
        "tests/config.yaml, line 15: templateFillMap: job.yaml does not mention .Sizze; did you mean 'Size'?",
        (
            "tests/config.yaml, line 1: the value CL2_QSP is given, but no template mentions .CL2_QSP; "
            "did you mean 'CL2_QPS'?"
        ),
        "tests/config.yaml, line 7: no phase uses the tuning set 'Spare'",
    ]


def test_a_fill_map_that_stands_in_many_places_is_remarked_on_once() -> None:
    step = (
        "- phases: [{tuningSet: a, objectBundle: "
        "[{basename: b, objectTemplatePath: job.yaml, templateFillMap: {Label: 1}}]}]\n"
    )
    config = compiled(f"tuningSets: [{{name: a, qpsLoad: {{qps: 1}}}}]\nsteps:\n{step * 3}", values={})
    assert [str(remark) for remark in config.remarks] == [
        "tests/config.yaml, line 3: templateFillMap: job.yaml does not mention .Label; known are: Name, Size"
    ]


# The command line.


def test_steps_are_skipped_by_name() -> None:
    text = f"steps:\n- name: a\n{TIMER}- name: b\n{TIMER}- name: a\n{TIMER}- module: {{path: m.yaml}}\n"
    config = compiled(text, {"m.yaml": f"steps:\n- name: a\n{TIMER}"}, {}, skip_steps=["a", "bb"])
    assert [(step.name, step.place.file) for step in config.steps] == [
        ("b", "tests/config.yaml"),
        ("a", "tests/m.yaml"),
    ]
    assert [str(remark) for remark in config.remarks] == [
        "tests/config.yaml, line 1: --skip-steps bb: there is no such step; did you mean 'b'?"
    ]


def test_fields_are_overwritten_by_the_names_of_go() -> None:
    config = compiled(
        overwrites=[
            "Name=other",
            "Namespace.Number=3",
            "Namespace.Prefix=mine",
            "Namespace.DeleteStaleNamespaces=T",
            "Namespace.DeleteAutomanagedNamespaces=0",
            "Namespace.EnableExistingNamespaces=true",
        ]
    )
    assert config.name == "other"
    assert config.namespaces == Namespaces(
        number=3, prefix="mine", deletes_stale=True, deletes_own=False, takes_existing=True
    )
    steps = f"steps:\n- name: a\n{TIMER}"
    assert compiled(steps, overwrites=["AutomanagedNamespaces=4"]).namespaces.number == 4


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ("Name", "write it as Path.To.Field=value, like Namespace.Prefix=my-test"),
        ("Name=a=b", "write it as Path.To.Field=value, like Namespace.Prefix=my-test"),
        ("Namespace.prefix=a", "there is no field 'Namespace.prefix' to set; did you mean 'Namespace.Prefix'?"),
        ("Namespace.Number=x", "'x' is no value of it; write Namespace.Number=10"),
        ("Namespace.Number=-1", "'-1' is no value of it; write Namespace.Number=10"),
        ("Namespace.Number=2147483648", "'2147483648' is no value of it; write Namespace.Number=10"),
        (
            "Namespace.DeleteStaleNamespaces=yes",
            "'yes' is no value of it; write Namespace.DeleteStaleNamespaces=true",
        ),
    ],
)
def test_what_cannot_be_overwritten_is_refused(assignment: str, message: str) -> None:
    assert refused(CONFIG, overwrites=[assignment]) == f"--overwrite-test-config {assignment}: {message}"


# Anything.


KEYS = st.sampled_from(
    sorted(
        {
            name
            for module in (decoding, loads, phases)
            for known in vars(module).values()
            if isinstance(known, dict)
            for name in known.values()
            if isinstance(name, str)
        }
    )
)
ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.floats()
    | st.text(max_size=5)
    | st.integers(-5, 5)
    | st.sampled_from(["5m", "Timer", "config.yaml", "job.yaml", "In"]),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(KEYS, below, max_size=4),
    max_leaves=30,
)
SHAPED = st.fixed_dictionaries(
    {},
    optional={
        "namespace": st.dictionaries(KEYS, ANYTHING, max_size=3) | ANYTHING,
        "tuningSets": st.lists(st.dictionaries(KEYS, ANYTHING, max_size=4), max_size=2) | ANYTHING,
        "chaosMonkey": st.fixed_dictionaries({"nodeFailure": st.dictionaries(KEYS, ANYTHING, max_size=4)}) | ANYTHING,
        "steps": st.lists(
            st.fixed_dictionaries(
                {},
                optional={
                    "name": ANYTHING,
                    "phases": st.lists(st.dictionaries(KEYS, ANYTHING, max_size=5), max_size=2) | ANYTHING,
                    "measurements": st.lists(st.dictionaries(KEYS, ANYTHING, max_size=4), max_size=2) | ANYTHING,
                    "module": st.dictionaries(KEYS, ANYTHING, max_size=2) | ANYTHING,
                },
            ),
            max_size=3,
        )
        | ANYTHING,
    },
)


@given(SHAPED | ANYTHING)
def test_whatever_is_written_compiles_or_is_refused_with_its_place(document: Any) -> None:
    told = ""
    steps: tuple[Step, ...] = ()
    try:
        steps = compiled(yaml.dump(document, Dumper=yaml.CSafeDumper)).steps
    except UsageError as error:
        told = str(error)
    assert steps or "config.yaml" in told
