from pathlib import Path

import pytest

from kubedyno.kit.errors import ExitCode, UsageError
from kubedyno.sim.stages.reading import read_files
from kubedyno.sim.stages.sets import default_stages
from kubedyno.sim.stages.stage import Kind, Stage, kinds

pytestmark = pytest.mark.unit


def stage(spec: str, name: str = "s") -> str:
    """A Stage whose spec is these lines."""
    lines = "\n".join(f"  {line}" for line in spec.strip("\n").splitlines())
    return f"apiVersion: kwok.x-k8s.io/v1alpha1\nkind: Stage\nmetadata: {{name: {name}}}\nspec:\n{lines}\n"


def written(folder: Path, text: str, name: str = "stages.yaml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def read(folder: Path, text: str) -> tuple[Stage, ...]:
    return read_files([written(folder, text)])


POD = "resourceRef: {apiGroup: v1, kind: Pod}"

BAD = [
    (
        "a broken jq query",
        f"{POD}\nselector: {{matchExpressions: [{{key: '.status.phase >', operator: Exists}}]}}",
        "spec.selector.matchExpressions[0].key: unexpected EOF at line 1, column 16 of jq query '.status.phase >'",
    ),
    (
        "a jq query that calls what is not there",
        f"{POD}\nselector: {{matchExpressions: [{{jq: {{key: 'nothing(1)', operator: Exists}}}}]}}",
        (
            "spec.selector.matchExpressions[0].jq.key: function not defined: nothing/1 at line 1, column 1 "
            "of jq query 'nothing(1)'"
        ),
    ),
    (
        "a broken CEL expression",
        f"{POD}\nselector: {{matchExpressions: [{{cel: {{expression: 'self.a =='}}}}]}}",
        (
            "spec.selector.matchExpressions[0].cel.expression: Syntax error: mismatched input '<EOF>' expecting "
            "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, "
            "IDENTIFIER} at line 1, column 10 of CEL expression 'self.a =='"
        ),
    ),
    (
        "a CEL expression over another variable",
        f"{POD}\nselector: {{matchExpressions: [{{cel: {{expression: 'pod.a'}}}}]}}",
        (
            "spec.selector.matchExpressions[0].cel.expression: undeclared reference to 'pod' (in container '') "
            "at line 1, column 1 of CEL expression 'pod.a'"
        ),
    ),
    (
        "a broken template",
        f"{POD}\nnext:\n  statusTemplate: |\n    phase: Running\n    {{{{ if .x }}}}",
        "spec.next.statusTemplate: unexpected EOF at line 2 of the template",
    ),
    (
        "a template that calls what its kind does not have",
        f"{POD}\nsteps:\n- patch: {{template: 'a: {{{{ NodePort }}}}'}}",
        'spec.steps[0].patch.template: function "NodePort" not defined at line 1 of the template',
    ),
    (
        "a broken template of another object",
        f"{POD}\nsteps:\n- apply: {{template: '{{{{ end }}}}'}}",
        "spec.steps[0].apply.template: unexpected {{end}} at line 1 of the template",
    ),
    (
        "a broken template among patches",
        f"{POD}\nnext: {{patches: [{{template: '{{{{ .a '}}]}}",
        "spec.next.patches[0].template: unclosed action at line 1 of the template",
    ),
    (
        "an unknown field",
        f"{POD}\nselectors: {{}}",
        "spec.selectors: there is no such field: did you mean 'selector'?",
    ),
    (
        "an unknown field deeper down",
        f"{POD}\nsteps:\n- patch: {{templates: a}}",
        "spec.steps[0].patch.templates: there is no such field: did you mean 'template'?",
    ),
    (
        "a value of a wrong type",
        f"{POD}\ndelay: {{durationMilliseconds: 1s}}",
        "spec.delay.durationMilliseconds: expected `int | null`, got `str`",
    ),
    (
        "a negative weight",
        f"{POD}\nweight: -1",
        "spec.weight: expected `int` >= 0",
    ),
    (
        "a patch of no type",
        f"{POD}\nsteps:\n- patch: {{type: yaml}}",
        "spec.steps[0].patch.type: invalid enum value 'yaml'",
    ),
    (
        "no kind",
        "selector: {}",
        "spec: object missing required field `resourceRef`",
    ),
    (
        "an operator that there is not",
        f"{POD}\nselector: {{matchExpressions: [{{key: .a, operator: Has}}]}}",
        (
            'spec.selector.matchExpressions[0]: operator "Has" is not supported; write the operator In or NotIn with '
            "values, Exists or DoesNotExist without"
        ),
    ),
    (
        "an operator without values",
        f"{POD}\nselector: {{matchExpressions: [{{key: .a, operator: In}}]}}",
        (
            "spec.selector.matchExpressions[0]: for 'in', 'notin' operators, values set can't be empty; write the "
            "operator In or NotIn with values, Exists or DoesNotExist without"
        ),
    ),
    (
        "an empty condition",
        f"{POD}\nselector: {{matchExpressions: [{{operator: In}}]}}",
        "spec.selector.matchExpressions[0]: it says nothing: write jq with key and operator, or cel with expression",
    ),
    (
        "an empty expression",
        f"{POD}\nweightFrom: {{}}",
        "spec.weightFrom: it says nothing: write jq or cel with expression",
    ),
    (
        "a broken delay",
        f"{POD}\ndelay: {{durationFrom: {{jq: {{expression: '.a['}}}}}}",
        "spec.delay.durationFrom.jq.expression: unexpected EOF at line 1, column 4 of jq query '.a['",
    ),
    (
        "a jitter in CEL",
        f"{POD}\ndelay: {{jitterDurationFrom: {{cel: {{expression: '1'}}}}}}",
        "spec.delay.jitterDurationFrom: KWOK takes no cel for it: write jq with expression",
    ),
    (
        "a type of event that there is not",
        f"{POD}\nsteps:\n- event: {{type: Error}}",
        "spec.steps[0].event.type: 'Error' is no type of event: write Normal or Warning",
    ),
    (
        "another user",
        f"{POD}\nsteps:\n- patch: {{template: 'a: b', impersonation: {{username: jane}}}}",
        (
            "spec.steps[0]: patches in the name of another user (jane) are not supported: leave impersonation "
            "(statusPatchAs) out, or let KWOK play the stage (--kubelet kwok)"
        ),
    ),
]


@pytest.mark.parametrize(("spec", "sentence"), [row[1:] for row in BAD], ids=[row[0] for row in BAD])
def test_what_is_wrong_is_said_with_file_stage_and_field(spec: str, sentence: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        read(tmp_path, stage(spec))
    assert str(caught.value) == f"{tmp_path}/stages.yaml: stage s: {sentence}"
    assert caught.value.exit_code == ExitCode.USAGE


BAD_FILES = [
    ("kind: Pod\napiVersion: v1\n", "there is no Stage of kwok.x-k8s.io/v1alpha1 in it: name files of KWOK's stages"),
    ("", "there is no Stage of kwok.x-k8s.io/v1alpha1 in it: name files of KWOK's stages"),
    (
        "apiVersion: kwok.x-k8s.io/v1beta1\nkind: Stage\n",
        "Stage of kwok.x-k8s.io/v1beta1 is not known: write apiVersion kwok.x-k8s.io/v1alpha1 and kind Stage",
    ),
    (
        "apiVersion: kwok.x-k8s.io/v1alpha1\nkind: Stages\n",
        "Stages of kwok.x-k8s.io/v1alpha1 is not known: write apiVersion kwok.x-k8s.io/v1alpha1 and kind Stage",
    ),
    ("apiVersion: kwok.x-k8s.io/v1alpha1\nkind: Stage\nspec: {}\n", "a Stage has no name: write metadata.name"),
    (
        "apiVersion: kwok.x-k8s.io/v1alpha1\nkind: Stage\nmetadata: {name: s}\n",
        "stage s: spec: it is missing: write resourceRef, selector and steps",
    ),
    (
        f"{stage(POD)}spce: {{}}\n",
        "stage s: spce: there is no such field: did you mean 'spec'?",
    ),
    (
        f"{stage(POD)}---\n{stage(POD)}",
        "stage s: another stage of Pod has this name, in {path}: name one of them differently, or leave it out",
    ),
]


@pytest.mark.parametrize(("text", "sentence"), BAD_FILES, ids=range(len(BAD_FILES)))
def test_what_is_wrong_with_a_file_is_said(text: str, sentence: str, tmp_path: Path) -> None:
    path = tmp_path / "stages.yaml"
    with pytest.raises(UsageError) as caught:
        read(tmp_path, text)
    assert str(caught.value) == f"{path}: {sentence.format(path=path)}"


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"absent\.yaml: the file cannot be read: No such file or directory$"):
        read_files([tmp_path / "absent.yaml"])


def test_yaml_that_cannot_be_read_is_said_with_its_place(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"stages\.yaml:2:1: "):
        read(tmp_path, "a: [\n")


def test_other_objects_beside_stages_are_passed_over(tmp_path: Path) -> None:
    beside = "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: c}\n---\n"
    usage = "apiVersion: kwok.x-k8s.io/v1alpha1\nkind: ClusterResourceUsage\nmetadata: {name: u}\n---\n"
    (found,) = read(tmp_path, f"{beside}{usage}{stage(POD)}")
    assert (found.name, found.kind) == ("s", Kind("v1", "Pod"))


def test_a_list_of_stages_is_read(tmp_path: Path) -> None:
    items = "".join(
        f"- apiVersion: kwok.x-k8s.io/v1alpha1\n  kind: Stage\n  metadata: {{name: {name}}}\n"
        f"  spec: {{resourceRef: {{kind: {kind}}}}}\n"
        for name, kind in (("a", "Pod"), ("b", "Node"))
    )
    found = read(tmp_path, f"apiVersion: v1\nkind: List\nitems:\n{items}")
    assert kinds(found) == {Kind("v1", "Pod"), Kind("v1", "Node")}


def test_next_becomes_steps_in_kwoks_order(tmp_path: Path) -> None:
    spec = f"""
{POD}
next:
  delete: true
  statusTemplate: 'phase: Running'
  finalizers: {{empty: true}}
  event: {{type: Normal, reason: R, message: M}}
"""
    (found,) = read(tmp_path, stage(spec))
    event, finalizers, patch, delete = found.steps
    assert event.event is not None
    assert finalizers.finalizers is not None
    assert patch.patch is not None
    assert (patch.patch.root, patch.patch.subresource, patch.patch.kind) == ("status", "status", None)
    assert delete.delete


def test_steps_go_before_next(tmp_path: Path) -> None:
    (found,) = read(tmp_path, stage(f"{POD}\nnext: {{delete: true}}\nsteps: [{{finalizers: {{empty: true}}}}]"))
    (step,) = found.steps
    assert not step.delete


def test_our_default_stages_are_stages_of_nodes_and_pods() -> None:
    paths = default_stages()
    assert [path.name for path in paths] == ["node.yaml", "pod.yaml"]
    assert kinds(read_files(paths)) == {Kind("v1", "Node"), Kind("v1", "Pod")}
