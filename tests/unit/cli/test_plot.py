"""`kubedyno plot` as a user meets it."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from tests.submissions import TROUBLED, Troubles, make_up, write

from kubedyno import cli

pytestmark = pytest.mark.unit

TOP = Path(__file__).parents[3]

Plot = Callable[..., tuple[int, str, str]]


@pytest.fixture
def plot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Plot:
    monkeypatch.chdir(tmp_path)

    def call(*args: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["kubedyno", "plot", *args])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        printed = capsys.readouterr()
        return int(ended.value.code or 0), printed.out, printed.err

    return call


def written(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} - {"submitted.json", "sampled.json"}


def test_it_writes_the_table_and_the_general_plot_and_says_so(plot: Plot, tmp_path: Path) -> None:
    write(tmp_path / "out1", make_up(60, troubles=TROUBLED, seed=3))
    code, out, err = plot("--skip-errors", "-o", "out1")
    assert (code, err) == (0, "")
    table, picture = out.splitlines()
    assert table == "out1/times.csv: 60 workloads"
    assert re.fullmatch(r"out1/general\.png: (\d+) drawn; (\d+) of 60 left out: .*never bound.*", picture)
    assert written(tmp_path / "out1") == {"times.csv", "general.png"}
    assert len((tmp_path / "out1" / "times.csv").read_text().splitlines()) == 61


@pytest.mark.parametrize(
    ("options", "files", "lines"),
    [
        (("--plot", "detailed"), {"detailed.png"}, 31),
        (("--format", "svg", "--format", "html", "--format", "svg"), {"general.svg", "general.html"}, 31),
        (("--head", "10"), {"general.png"}, 11),
        (("--head", "10", "--tail", "4"), {"general.png"}, 5),
        (("--output-dir", "out1", "--no-skip-errors"), {"general.png"}, 31),
    ],
)
def test_options_choose_what_is_drawn(
    plot: Plot, tmp_path: Path, options: tuple[str, ...], files: set[str], lines: int
) -> None:
    folder = write(tmp_path / "out1", make_up(30))
    assert plot("-o", "out1", *options)[0] == 0
    assert written(folder) == files | {"times.csv"}
    assert len((folder / "times.csv").read_text().splitlines()) == lines


def test_the_last_ten_of_twenty_are_those(plot: Plot, tmp_path: Path) -> None:
    files = make_up(20)
    folder = write(tmp_path / "out1", files)
    plot("-o", "out1", "--tail", "10")
    names = [line.partition(",")[0] for line in (folder / "times.csv").read_text().splitlines()[1:]]
    assert names == [workload.name for workload in files[0].workloads[10:]]


def test_settings_give_whole_seconds_and_details(plot: Plot, tmp_path: Path) -> None:
    folder = write(tmp_path / "out1", make_up(5))
    (tmp_path / "settings.yaml").write_text("resolution: 1s\nscheduling_details: true\n")
    code, out, _ = plot("-o", "out1")
    assert (code, "detailed.png" in out) == (0, True)
    line = (folder / "times.csv").read_text().splitlines()[1]
    assert not re.search(r"\d\.\d", line)
    assert "general.png" in plot("-o", "out1", "--plot", "general")[1]


def test_it_can_be_drawn_again_and_gives_the_same_bytes(plot: Plot, tmp_path: Path) -> None:
    folder = write(tmp_path / "out1", make_up(10))
    results = []
    for _ in range(2):
        assert plot("-o", "out1", "--format", "svg", "--format", "html")[0] == 0
        results.append({path.name: path.read_bytes() for path in folder.iterdir()})
    assert results[0] == results[1]


def test_without_a_workload_to_draw_there_is_a_table_and_a_sentence(plot: Plot, tmp_path: Path) -> None:
    folder = write(tmp_path / "out1", make_up(12, troubles=Troubles(unbound=1.0)))
    code, out, err = plot("-o", "out1")
    assert (code, out) == (1, "")
    assert err == (
        "kubedyno: out1: there is nothing to draw: 12 of 12 left out: 12 never bound; "
        "out1/times.csv holds what is known\n"
    )
    assert written(folder) == {"times.csv"}
    assert len((folder / "times.csv").read_text().splitlines()) == 13


def test_a_submission_of_nothing_has_nothing_to_draw(plot: Plot, tmp_path: Path) -> None:
    submitted, sampled = make_up(1)
    empty = (msgspec.structs.replace(submitted, workloads=()), msgspec.structs.replace(sampled, workloads=()))
    write(tmp_path / "out1", empty)
    code, _, err = plot("-o", "out1")
    assert (code, err) == (
        1,
        "kubedyno: out1: there is nothing to draw: no workload; out1/times.csv holds what is known\n",
    )


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("submitted.json", None, "out1/submitted.json does not exist: `kubedyno submit -o out1` makes it"),
        ("submitted.json", lambda data: data[:500], "out1/submitted.json: it is cut off; "),
        (
            "submitted.json",
            lambda _: b'{"kind": "List"}',
            "out1/submitted.json: it is none that `kubedyno submit` wrote",
        ),
        ("sampled.json", None, "out1/sampled.json does not exist: `kubedyno sample -o out1` makes it"),
        (
            "sampled.json",
            lambda data: data[:-20],
            "out1/sampled.json: it is cut off; remove it, and `kubedyno sample -o out1` writes it anew",
        ),
        ("sampled.json", lambda _: b"", "out1/sampled.json: it is cut off; remove it, and "),
        ("sampled.json", lambda _: b"times: 1", "out1/sampled.json: it is no JSON: "),
        (
            "sampled.json",
            lambda _: b'[{"format": 1}]',
            "out1/sampled.json: it is none that `kubedyno sample` wrote: `format` or `workloads` is missing",
        ),
        (
            "sampled.json",
            lambda data: data.replace(b'"format":1', b'"format":7'),
            "out1/sampled.json: it has format 7, and this version of kubedyno reads format 1",
        ),
        (
            "sampled.json",
            lambda data: data.replace(b'"pods":1', b'"pods":"one"', 1),
            "out1/sampled.json: Expected `int`, got `str` - at `$.workloads[0].pods`; it was changed: remove it, and ",
        ),
        (
            "sampled.json",
            lambda data: data.replace(b'"submission":"a1b2c3"', b'"submission":"ffffff"'),
            "out1/sampled.json: it is of submission ffffff, and out1 holds submission a1b2c3: remove it, and ",
        ),
    ],
)
def test_a_file_that_is_missing_cut_or_foreign_is_refused_in_a_sentence(
    plot: Plot, tmp_path: Path, name: str, change: Callable[[bytes], bytes] | None, said: str
) -> None:
    folder = write(tmp_path / "out1", make_up(5))
    file = folder / name
    if change is None:
        file.unlink()
    else:
        file.write_bytes(change(file.read_bytes()))
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    code, out, err = plot("-o", "out1")
    assert (code, out) == (2, "")
    assert err.startswith(f"kubedyno: {said}")
    assert err.count("\n") == 1
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ((), "Missing option '-o'"),
        (("-o", "out1", "--head", "0"), "Invalid value for '--head'"),
        (("-o", "out1", "--plot", "all"), "'all' is not one of 'general', 'detailed'"),
        (("-o", "out1", "--settings", "none.yaml"), "--settings none.yaml: No such file or directory"),
    ],
)
def test_wrong_options_are_refused(plot: Plot, tmp_path: Path, args: tuple[str, ...], said: str) -> None:
    write(tmp_path / "out1", make_up(2))
    code, out, err = plot(*args)
    assert (code, out) == (2, "")
    assert said in err
    assert written(tmp_path / "out1") == set()


def test_a_folder_that_cannot_be_written_is_named(plot: Plot, tmp_path: Path) -> None:
    folder = write(tmp_path / "out1", make_up(2))
    (folder / "times.csv").mkdir()
    code, _, err = plot("-o", "out1")
    assert code == 2
    assert err.startswith("kubedyno: out1/times.csv cannot be written: ")
    assert written(folder) == {"times.csv"}


def test_the_library_that_draws_is_loaded_by_nothing_but_a_picture(tmp_path: Path) -> None:
    write(tmp_path / "out1", make_up(3, troubles=Troubles(unbound=1.0)))
    code = "import sys; from kubedyno import cli\ntry: cli.main()\nfinally: print('matplotlib' in sys.modules)"
    for args in (["--help"], ["-o", str(tmp_path / "out1")]):
        done = subprocess.run(
            [sys.executable, "-c", code, "plot", *args], capture_output=True, text=True, check=False, cwd=tmp_path
        )
        assert done.stdout.splitlines()[-1] == "False"


def test_the_script_of_a_scale_test_is_the_same_command(tmp_path: Path) -> None:
    folder = write(tmp_path / "out2", make_up(6, workload_type="distributed", workers=7, pvc=True))
    done = subprocess.run(
        [TOP / "plotter.py", "--skip-errors", "--plot", "detailed", "-o", "out2"],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
    )
    assert done.stdout == "out2/times.csv: 6 workloads\nout2/detailed.png: 6 drawn\n"
    assert written(folder) == {"times.csv", "detailed.png"}
