"""The workflows of GitHub, as far as they can be judged here."""

import re
import shlex
from pathlib import Path
from typing import Any

import click
import msgspec
import pytest
import yaml

from kubedyno.cli import kubedyno
from kubedyno.dashboard.config import read_settings

pytestmark = pytest.mark.unit

TOP = Path(__file__).parents[3]
FOLDER = TOP / ".github" / "workflows"
WORKFLOWS = sorted(FOLDER.glob("*.yaml"))
PINNED = re.compile(r"[\w.-]+/[\w./-]+@(v\d+|[0-9a-f]{40})")


def read(path: Path) -> dict[str, Any]:
    # YAML 1.1 takes `on` for true.
    loaded = yaml.safe_load(path.read_text())
    return {("on" if key is True else key): value for key, value in loaded.items()}


def steps(path: Path) -> list[dict[str, Any]]:
    return [step for job in read(path)["jobs"].values() for step in job["steps"]]


def test_both_are_there() -> None:
    assert [path.name for path in WORKFLOWS] == ["nightly.yaml", "scale-tests-dashboard.yaml"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_is_whole_and_may_do_little(path: Path) -> None:
    workflow = read(path)
    assert {"name", "on", "permissions", "concurrency", "jobs"} == set(workflow)
    assert workflow["permissions"] == {"contents": "read"}
    for job in workflow["jobs"].values():
        assert job["runs-on"]
        assert 0 < job["timeout-minutes"] <= 180
        assert set(job.get("needs", "").split()) <= set(workflow["jobs"])
    for step in steps(path):
        assert ("uses" in step) != ("run" in step), step
        if "uses" in step:
            assert PINNED.fullmatch(step["uses"]), step
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"] == {"persist-credentials": False}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_nothing_from_outside_is_part_of_a_script_and_no_secret_is_written_out(path: Path) -> None:
    for step in steps(path):
        # Expressions are put into scripts as they are: what they hold would be run.
        assert "${{" not in step.get("run", "")
        for name, value in step.get("env", {}).items():
            assert re.fullmatch(r"\$\{\{ (secrets|vars)\.[A-Z0-9_]+ \}\}", value), name
    assert not re.search(r"AKIA[0-9A-Z]{16}|ghp_\w+|-----BEGIN", path.read_text())


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_the_commands_are_ones_that_we_have(path: Path) -> None:
    found = [shlex.split(step["run"]) for step in steps(path) if "run" in step]
    assert found
    for program, *args in found:
        assert program == "./kubedyno"
        context = click.Context(kubedyno, info_name="kubedyno")
        command: click.Command = kubedyno
        while isinstance(command, click.Group):
            known = command.get_command(context, args.pop(0))
            assert known is not None
            command = known
        command.make_context(command.name, args, parent=context)


def test_the_dashboard_is_built_when_its_configuration_changes_and_deployed_by_who_may() -> None:
    workflow = read(FOLDER / "scale-tests-dashboard.yaml")
    assert workflow["on"]["push"]["paths"] == ["docs/scale-tests/**"]
    jobs = workflow["jobs"]
    build = next(step for step in jobs["build"]["steps"] if "run" in step)
    assert build["env"] == {"SCALE_TESTS_S3_URL": "${{ vars.SCALE_TESTS_S3_URL }}"}
    assert jobs["deploy"]["permissions"] == {"pages": "write", "id-token": "write"}
    assert jobs["deploy"]["needs"] == "build"
    settings = read_settings(TOP / "docs" / "scale-tests" / "dashboard.json")
    assert msgspec.structs.asdict(settings)["days"] == 30


def test_each_night_is_published_with_the_repositorys_secrets_even_if_it_failed() -> None:
    workflow = read(FOLDER / "nightly.yaml")
    assert re.fullmatch(r"\d+ \d+ \* \* \*", workflow["on"]["schedule"][0]["cron"])
    publish, look = workflow["jobs"]["run"]["steps"][-2:]
    assert publish["run"].startswith("./kubedyno publish ")
    assert look["run"].startswith("./kubedyno regressions ")
    for step in (publish, look):
        assert step["if"] == "${{ !cancelled() }}"
        assert {"BUCKET", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} <= set(step["env"])
        assert all(value.startswith("${{ secrets.") for value in step["env"].values())
