"""`kubedyno report`, as it is run."""

from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.unit.report.test_run_page import TRIAL, folder, rows

from kubedyno.cli import kubedyno
from kubedyno.kit.errors import UsageError

pytestmark = pytest.mark.unit


def test_the_pages_of_runs_are_made_anew(tmp_path: Path) -> None:
    runs = [folder(tmp_path / name, (TRIAL, rows(3))) for name in ("a", "b")]
    (runs[0] / "index.html").write_text("old")
    done = CliRunner().invoke(kubedyno, ["report", *map(str, runs)])
    assert done.output.splitlines() == [str(run / "index.html") for run in runs]
    for run in runs:
        assert "Where workloads sat" not in (run / "index.html").read_text()  # these pods had no nodes
        assert "Workloads over time" in (run / "index.html").read_text()
        assert (run / "trials/1-kai-fill/general.png").is_file()


def test_a_folder_that_is_no_runs_is_told(tmp_path: Path) -> None:
    done = CliRunner().invoke(kubedyno, ["report", str(tmp_path)])
    assert isinstance(done.exception, UsageError)
    assert str(done.exception) == f"{tmp_path}/run.json is missing: the run folder is incomplete; copy it whole"
    assert list(tmp_path.iterdir()) == []
