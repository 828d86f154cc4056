from pathlib import Path

import msgspec
import pytest

from kubedyno.kit.errors import UsageError
from kubedyno.model.submissions import SubmittedWorkload
from kubedyno.workload import backends, settings
from kubedyno.workload.settings import Settings

pytestmark = pytest.mark.unit


def test_without_a_file_all_settings_are_defaults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert settings.load(None) == Settings()
    Path("settings.yaml").write_text("")
    assert settings.load(None) == Settings()


def test_the_file_of_the_working_folder_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("settings.yaml").write_text("via: kubectl\nproject: a,b\ncli: {training: [tool, '{{ name }}']}\n")
    found = settings.load(None)
    assert (found.via, found.project, found.cli.training) == ("kubectl", "a,b", ("tool", "{{ name }}"))
    assert found.cli.distributed == Settings().cli.distributed


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("projects: x", "s.yaml: projects: there is no such setting; did you mean 'project'?"),
        ("cli: {train: [x]}", "s.yaml: cli: train: there is no such setting; did you mean 'training'?"),
        ("via: ssh", "s.yaml: via: invalid enum value 'ssh'"),
        ("kubectl_batch: 0", "s.yaml: kubectl_batch: expected `int` >= 1"),
        ("cli: {training: []}", "s.yaml: cli.training: it is empty; write a program and its arguments"),
        ("a: 1\n---\nb: 2", "s.yaml: it holds 2 documents; settings are one"),
        ("- a", "s.yaml:1: a document must be a mapping with apiVersion and kind, not a list"),
        (
            "backend_times: true",
            (
                "s.yaml: backend_times is on, but no backend_source says where they come from: "
                "name a function like `package.module:function`, or switch backend_times off"
            ),
        ),
    ],
)
def test_wrong_settings_are_refused_with_file_and_field(text: str, sentence: str) -> None:
    with pytest.raises(UsageError) as raised:
        settings.read(text, source="s.yaml")
    assert str(raised.value) == sentence


def test_a_file_that_is_named_must_be_there() -> None:
    with pytest.raises(UsageError, match=r"--settings none\.yaml: No such file or directory; name a settings file"):
        settings.load(Path("none.yaml"))


def test_every_setting_is_described() -> None:
    for definition in msgspec.json.schema(Settings)["$defs"].values():
        assert [name for name, field in definition["properties"].items() if not field.get("description")] == []


def known_times(workloads: list[SubmittedWorkload]) -> dict[str, dict[str, str]]:
    return {workload.name: {"seen": "2026-01-01T00:00:00.5Z"} for workload in workloads}


def late_times(_: list[SubmittedWorkload]) -> dict[str, dict[str, str]]:
    return {"w": {"seen": "late"}}


def workload() -> SubmittedWorkload:
    return SubmittedWorkload(
        name="w",
        kind="Job",
        namespace="default",
        project=None,
        queue=None,
        gpus=1,
        workers=1,
        template_hash="h",
        planned_ns=1,
        t_submit=1,
        t_accepted=2,
        uid="u",
        error=None,
    )


def test_times_of_a_backend_come_from_a_function_of_the_users() -> None:
    assert backends.source(Settings()) is None
    source = backends.source(Settings(backend_times=True, backend_source=f"{__name__}:known_times"))
    assert source is not None
    assert backends.times_ns(source, [workload()]) == {"w": {"seen": 1767225600_500_000_000}}


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("nowhere", "backend_source 'nowhere': write it as package.module:function"),
        (
            "no.such:thing",
            "backend_source 'no.such:thing' cannot be imported: No module named 'no'; is it on PYTHONPATH?",
        ),
        ("os:name", "backend_source 'os:name' is no function"),
    ],
)
def test_a_backend_source_that_cannot_be_had_is_refused(name: str, sentence: str) -> None:
    with pytest.raises(UsageError) as raised:
        backends.source(Settings(backend_times=True, backend_source=name))
    assert str(raised.value) == sentence


def test_a_backend_that_answers_nonsense_is_refused() -> None:
    with pytest.raises(UsageError, match="backend_source: Invalid isoformat string: 'late'"):
        backends.times_ns(late_times, [workload()])
