"""`kubedyno compare` on run folders as they are written."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result
from tests.records import RUN, TRIAL

from kubedyno.cli import kubedyno
from kubedyno.kit.errors import UsageError
from kubedyno.measure.records import Measurement
from kubedyno.results.folder import RunFolder

pytestmark = pytest.mark.unit


def write_run(out: Path, run_id: str, values: Sequence[float], *, scheduler: str = "kai") -> Path:
    folder = RunFolder(out, run_id)
    run = msgspec.structs.replace(RUN, id=run_id)
    folder.begin(run)
    for number, value in enumerate(values, start=1):
        measured = Measurement(name="time to fill", unit="s", value=value, lower=value, upper=value, samples=(value,))
        record = msgspec.structs.replace(TRIAL, measurements=(measured,), repeat=number, scheduler=scheduler)
        folder.trial(record, objects=(), series=(), logs=None)
    return folder.end(run)


def compare(*args: str | Path) -> Result:
    return CliRunner().invoke(kubedyno, ["compare", *map(str, args)])


@pytest.fixture
def before(tmp_path: Path) -> Path:
    return write_run(tmp_path / "before", "a", [1.0, 1.01, 1.02, 1.03, 1.04])


def test_what_got_slower_is_said_and_is_the_exit_code(before: Path, tmp_path: Path) -> None:
    after = write_run(tmp_path / "after", "b", [1.5, 1.51, 1.52, 1.53, 1.54])
    done = compare(before, after)
    assert done.exit_code == 1
    assert done.output.splitlines() == [
        "hello (nodes=4): 1 slower",
        "                    A     B  change      95% interval  visible from  repeats for 5.0%",
        "time to fill  s  1.02  1.52  +49.0%  +47.1% to +51.0%          3.2%            enough  slower",
        "",
        "regressed: 1 of 1 figures got worse by more than 5.0%; most of all hello: time to fill, +49.0%",
    ]
    assert compare(before, after, "--threshold", "60").exit_code == 0
    assert compare(after, before).exit_code == 0


def test_several_runs_are_one_set(before: Path, tmp_path: Path) -> None:
    for number, value in enumerate((1.0, 1.01, 1.02, 1.03, 1.04)):
        write_run(tmp_path / "many", f"run-{number}", [value])
    done = compare(before, tmp_path / "many")
    assert (done.exit_code, done.output.splitlines()[-1]) == (
        0,
        "no regression: one of 5.0% would have been seen in each of 1 figures",
    )


def test_one_scheduler_of_a_set_is_chosen_by_its_name(tmp_path: Path) -> None:
    write_run(tmp_path / "both", "a", [1.0, 1.01, 1.02, 1.03, 1.04])
    write_run(tmp_path / "both", "b", [0.5, 0.51, 0.52, 0.53, 0.54], scheduler="reference")
    done = compare(f"{tmp_path}/both@kai", f"{tmp_path}/both@reference")
    assert "hello (nodes=4): 1 faster" in done.output
    assert "scheduler          kai  reference" in done.output
    wrong = compare(f"{tmp_path}/both@kia", f"{tmp_path}/both@reference")
    assert isinstance(wrong.exception, UsageError)
    assert str(wrong.exception) == f"{tmp_path}/both has no trial on 'kia': did you mean 'kai'?"


def test_a_comparison_is_printed_for_programs(before: Path) -> None:
    done = compare(before, before, "--json")
    (figure,) = msgspec.json.decode(done.output)["figures"]
    assert (figure["outcome"], figure["chance"], figure["figure"]["name"]) == ("same", 1.0, "time to fill")


def test_what_cannot_be_read_is_said(before: Path, tmp_path: Path) -> None:
    def sentence(folder: Path) -> str:
        done = compare(before, folder)
        assert isinstance(done.exception, UsageError)
        return str(done.exception)

    empty = tmp_path / "empty"
    assert sentence(empty) == f"{empty} is no folder: name a run's folder, or one that holds several"
    (empty / "x.partial").mkdir(parents=True)
    assert sentence(empty) == (
        f"{empty} is no run's folder and holds none: there is no run.json; x.partial is not finished"
    )
    trial = before / "trials" / "2-hello" / "trial.json"
    text = trial.read_text()
    trial.write_text(text.replace('"format": 1', '"format": 99'))
    assert sentence(before) == f"{trial} has format 99, and this kubedyno reads up to 1: use the one that wrote it"
    trial.write_text(text[:100])
    assert sentence(before).startswith(f"{trial} is no record of a run: Input data was truncated")
    trial.unlink()
    assert sentence(before) == f"{trial} is missing: the run folder is incomplete; copy it whole"
