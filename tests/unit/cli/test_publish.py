"""`kubedyno publish` and `index`, as they are run."""

from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result
from tests.unit.cli.test_compare import write_run

from kubedyno.cli import kubedyno
from kubedyno.kit.errors import UsageError

pytestmark = pytest.mark.unit


def run(*args: str | Path, **env: str) -> Result:
    return CliRunner(env=env).invoke(kubedyno, [str(arg) for arg in args])


def test_runs_are_published_once_and_pruned(tmp_path: Path) -> None:
    first, second = (write_run(tmp_path / "runs", run_id, [1.0, 1.1]) for run_id in ("a", "b"))
    store = tmp_path / "store"
    done = run("publish", first, second, "--to", store, GITHUB_SHA="abc")
    assert done.exit_code == 0
    assert [line.partition(": ")[0] for line in done.output.splitlines()] == [
        f"{store}/Public/a/report.json",
        f"{store}/Public/b/report.json",
    ]
    again = run("publish", first, "--to", f"file://{store}", GITHUB_SHA="abc")
    assert again.output == f"{store}/Public/a/report.json: was there already\n"
    manifest = msgspec.json.decode((store / "Public" / "manifest.json").read_bytes())
    assert [entry["commit"] for entry in manifest["runs"]] == ["abc", "abc"]
    # These runs say that they are of January 2026.
    pruned = run("publish", first, "--to", store, "--prune-older-than", "7", GITHUB_SHA="abc")
    assert pruned.output.splitlines()[-1] == "2 runs older than 7 days were taken out"
    assert [path.name for path in (store / "Public").iterdir() if path.is_dir()] == ["index"]


def test_an_index_is_rebuilt_and_what_is_broken_is_told(tmp_path: Path) -> None:
    store = tmp_path / "store"
    run("publish", write_run(tmp_path / "runs", "a", [1.0]), "--to", store)
    (store / "Public" / "manifest.json").write_text("{")
    (store / "Public" / "other").mkdir()
    (store / "Public" / "other" / "report.json").write_text("[]x")
    reason = "it is half-written or no JSON: JSON is malformed: trailing characters (byte 3)"
    done = run("index", "rebuild", "--from", store)
    assert done.exit_code == 0
    assert done.output.splitlines() == [
        "2 runs",
        f"broken: Public/other/report.json: {reason}",
    ]


def test_sets_of_a_store_are_chosen_by_branch_tag_commit_or_run(tmp_path: Path) -> None:
    store = tmp_path / "store"
    slow, quick = [1.5, 1.51, 1.52, 1.53, 1.54], [1.0, 1.01, 1.02, 1.03, 1.04]
    run("publish", write_run(tmp_path / "runs", "a", quick), "--to", store, "--ref", "v1.0", "--commit", "abc123")
    run("publish", write_run(tmp_path / "runs", "b", slow), "--to", store, "--ref", "main", "--commit", "def456")
    for first, second in (("v1.0", "main"), ("abc", "def"), ("a", "b")):
        done = run("compare", f"{store}#{first}", f"{store}#{second}")
        assert (done.exit_code, done.output.splitlines()[0]) == (1, "hello (nodes=4): 1 slower")
    missing = run("compare", f"{store}#v2", f"{store}#main")
    assert isinstance(missing.exception, UsageError)
    assert str(missing.exception) == f"{store} has no run of 'v2': there is main, v1.0"


def test_regressions_along_a_store_are_told_and_written_for_the_dashboard(tmp_path: Path) -> None:
    store = tmp_path / "store"
    assert run("regressions", "--from", store).output == "no regression along 0 lines\n"
    for number in range(16):
        folder = write_run(tmp_path / "runs", f"r{number:02d}", [1.0 + number / 1000 + (number >= 8) * 0.5])
        run("publish", folder, "--to", store, "--commit", f"c{number}")
    done = run("regressions", "--from", store, "--write")
    assert done.exit_code == 1
    assert done.output.splitlines() == [
        "since             commit  test          figure           before  after  change",
        "2026-01-02T03:04  c7..c8  hello on kai  time to fill  s   1.003  1.511  +50.6%  slower",
        "",
        "regressed: 1 of 1 lines are at a level that is worse than the one before",
    ]
    written = msgspec.json.decode((store / "Public" / "regressions.json").read_bytes())
    assert [(turn["run"], turn["is_last"]) for turn in written["regressions"]] == [("r08", True)]
    assert run("regressions", "--from", store, "--threshold", "60").exit_code == 0
    assert run("regressions", "--from", store, "--days", "1").output == "no regression along 0 lines\n"
