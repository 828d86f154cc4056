from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubedyno.kit.errors import ProgramError, UsageError
from kubedyno.plane import settings
from kubedyno.plane.component import Component
from kubedyno.plane.settings import assign, known_flags, lookup, merged, parse, refuse_unknown_flag, with_flags

pytestmark = pytest.mark.unit

Script = Callable[[Path, str], Path]

GO_HELP = """\
Usage of binder:
  -kubeconfig string
    \tPaths to a kubeconfig. Only required if out-of-cluster.
  -qps int
    \tQueries per second to the K8s API server (default 50)
  -zap-devel
    \tDevelopment Mode defaults(encoder=consoleEncoder,logLevel=Debug)
"""

PFLAG_HELP = """\
The Kubernetes scheduler.

Usage:
  kube-scheduler [flags]

Misc flags:

      --config string                The path to the configuration file.
      --write-config-to string       If set, write the configuration values to this file and exit.

Logs flags:

  -v, --v Level                      number for the log level verbosity
      --log_file.max-size uint       with a dot and an underscore
  -h, --help                         help for kube-scheduler
"""


def test_assignments_are_sorted_by_component() -> None:
    assert parse(["binder.qps=20", "kube-scheduler.profiles.0.schedulerName=x", "binder.burst=40", "etcd.a=b=c"]) == {
        "binder": {"qps": "20", "burst": "40"},
        "kube-scheduler": {"profiles.0.schedulerName": "x"},
        "etcd": {"a": "b=c"},
    }


def test_the_last_assignment_counts_and_a_value_may_be_empty() -> None:
    assert parse(["a.b=1", "a.b="]) == {"a": {"b": ""}}


@pytest.mark.parametrize("text", ["", "qps", "qps=20", "binder.qps", ".qps=1", "binder.=1", "="])
def test_anything_else_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse([text])
    assert str(caught.value) == f"--set {text}: write it as component.field=value, for example binder.qps=20"


def test_flags_of_the_user_replace_those_of_the_builder() -> None:
    made = Component(name="x", program="x", args=("--qps=5", "--burst=10", "-qps=6", "--qps-more=1"))
    assert with_flags(made, {"qps": "20", "new": "a=b"}).args == ("--burst=10", "--qps-more=1", "--qps=20", "--new=a=b")
    assert with_flags(made, {}) == made


@pytest.mark.parametrize(
    ("text", "known"),
    [
        (GO_HELP, {"kubeconfig", "qps", "zap-devel"}),
        (PFLAG_HELP, {"config", "write-config-to", "v", "log_file.max-size", "help"}),
        ("", set()),
    ],
)
@pytest.mark.parametrize("stream", [1, 2])
async def test_flags_are_learned_from_help(
    tmp_path: Path, script: Script, text: str, known: set[str], stream: int
) -> None:
    # Programs in the Go manner print their help to standard error and leave with code 2.
    program = script(tmp_path / "program", f"[ \"$1\" = --help ] && cat >&{stream} <<'END'\n{text}END\nexit 2")
    assert await known_flags(program) == known


async def test_a_program_that_cannot_be_asked_is_named(tmp_path: Path) -> None:
    program = tmp_path / "nothing"
    with pytest.raises(ProgramError) as caught:
        await known_flags(program)
    assert str(caught.value) == f"{program} could not be asked for its flags: No such file or directory"


async def test_a_program_that_does_not_answer_is_ended(
    tmp_path: Path, script: Script, monkeypatch: pytest.MonkeyPatch, is_running: Callable[[int], bool]
) -> None:
    monkeypatch.setattr(settings, "_HELP_WITHIN_S", 0.3)
    program = script(tmp_path / "program", f"echo $$ > {tmp_path / 'pid'}; exec sleep 1000")
    with pytest.raises(ProgramError) as caught:
        await known_flags(program)
    assert str(caught.value) == f"{program} --help did not answer within 0 s"
    assert not is_running(int((tmp_path / "pid").read_text()))


def test_an_unknown_flag_brings_the_nearest() -> None:
    refuse_unknown_flag("binder", "qps", frozenset({"qps", "burst"}))
    with pytest.raises(UsageError) as caught:
        refuse_unknown_flag("binder", "brust", frozenset({"qps", "burst"}))
    assert str(caught.value) == "--set binder.brust: binder has no flag --brust; did you mean 'burst'?"


def test_documents_are_merged_object_by_object() -> None:
    base = {"a": {"x": 1, "y": {"deep": 1}}, "list": [1, 2], "kept": True}
    over = {"a": {"y": {"more": 2}}, "list": [3], "new": None}
    assert merged(base, over) == {
        "a": {"x": 1, "y": {"deep": 1, "more": 2}},
        "list": [3],
        "kept": True,
        "new": None,
    }
    assert base == {"a": {"x": 1, "y": {"deep": 1}}, "list": [1, 2], "kept": True}


DOCUMENTS = st.recursive(
    st.integers() | st.text(max_size=3), lambda below: st.dictionaries(st.sampled_from("abc"), below), max_leaves=8
)
OBJECTS = st.dictionaries(st.sampled_from("abc"), DOCUMENTS)


@given(OBJECTS, OBJECTS)
def test_merging_is_idempotent_and_the_upper_one_wins(base: dict[str, Any], over: dict[str, Any]) -> None:
    once = merged(base, over)
    assert merged(once, over) == once
    assert merged({}, over) == over
    assert merged(base, {}) == base


PATHS = st.lists(st.sampled_from("abc"), min_size=1, max_size=4).map(".".join)


@given(OBJECTS, PATHS, st.integers())
def test_what_was_assigned_is_found_and_nothing_else_was_touched(
    document: dict[str, Any], path: str, value: int
) -> None:
    before = merged(document, {})
    changed = assign(document, path, value)
    assert lookup(changed, path) == value
    assert document == before
    head = path.partition(".")[0]
    assert {key: changed[key] for key in changed if key != head} == {
        key: document[key] for key in document if key != head
    }


def test_numbers_in_a_path_are_indexes_of_lists() -> None:
    document = {"profiles": [{"schedulerName": "a"}, {"schedulerName": "b"}], "names": ["x"]}
    changed = assign(document, "profiles.1.schedulerName", "c")
    assert changed["profiles"] == [{"schedulerName": "a"}, {"schedulerName": "c"}]
    assert document["profiles"][1] == {"schedulerName": "b"}
    assert assign(document, "profiles.2.schedulerName", "new")["profiles"][2] == {"schedulerName": "new"}
    assert assign(document, "names.0", "y")["names"] == ["y"]
    assert assign(document, "names.1", "y")["names"] == ["x", "y"]
    assert assign(document, "others.0.name", "new")["others"] == [{"name": "new"}]
    assert lookup(changed, "profiles.1.schedulerName") == "c"


@pytest.mark.parametrize("index", ["3", "first", "-1"])
def test_an_index_outside_of_the_list_is_refused(index: str) -> None:
    with pytest.raises(UsageError) as caught:
        assign({"profiles": [{}, {}]}, f"profiles.{index}.schedulerName", "x")
    assert str(caught.value) == f"--set ...profiles.{index}.schedulerName: '{index}' is no index of a list of 2"


@pytest.mark.parametrize("path", ["x", "a.x", "a.b.c", "list.1", "list.x", "list.0.y"])
def test_where_there_is_nothing_nothing_is_found(path: str) -> None:
    assert lookup({"a": {"b": 1}, "list": [1]}, path) is None


def test_keys_that_have_dots_themselves_are_found() -> None:
    document = {"workers": {"Job.batch": 5, "Job": {"batch": 1}, "Pod": 5}}
    changed = assign(document, "workers.Job.batch", 20)
    assert changed == {"workers": {"Job.batch": 20, "Job": {"batch": 1}, "Pod": 5}}
    assert lookup(changed, "workers.Job.batch") == 20
    assert assign({}, "workers.Job.batch", 1) == {"workers": {"Job": {"batch": 1}}}
