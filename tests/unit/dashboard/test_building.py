import posixpath
import re
import stat
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result
from tests.unit.cli.test_compare import write_run

from kubedyno.cli import kubedyno
from kubedyno.dashboard.config import Settings, beside, live
from kubedyno.dashboard.files import site_files

pytestmark = pytest.mark.unit


def run(*args: str | Path, **env: str) -> Result:
    return CliRunner(env={"SCALE_TESTS_S3_URL": "", **env}).invoke(kubedyno, [str(arg) for arg in args])


@pytest.fixture
def store(tmp_path: Path) -> Path:
    run("publish", write_run(tmp_path / "runs", "a", [1.0]), "--to", tmp_path / "store", "--commit", "abc")
    return tmp_path / "store"


def config(site: Path) -> dict[str, object]:
    read: dict[str, object] = msgspec.json.decode((site / "config.json").read_bytes())
    return read


def test_a_folder_is_copied_into_the_site(store: Path, tmp_path: Path) -> None:
    (store / "Public" / "regressions.json").write_text('{"format": 1, "regressions": []}')
    site = tmp_path / "site"
    done = run("dashboard", "build", "--from", store, "--out", site)
    assert done.exit_code == 0, done.output
    assert done.output == f"{site}: 4 files of {store}\n"
    assert config(site) == {
        "format": 1,
        "title": "Scale tests",
        "store": "data/",
        "commit_url": "",
        "days": 30,
        "complete": False,
    }
    copied = sorted(path.relative_to(site / "data").as_posix() for path in (site / "data").rglob("*.json"))
    assert copied == [
        "Public/a/report.json",
        "Public/index/2026-01.json",
        "Public/manifest.json",
        "Public/regressions.json",
    ]
    for name in copied:
        assert (site / "data" / name).read_bytes() == (store / name).read_bytes()


def test_what_was_copied_before_goes_when_it_is_built_again(store: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    run("dashboard", "build", "--from", store, "--out", site)
    (site / "data" / "Public" / "pruned").mkdir()
    assert run("dashboard", "build", "--from", store, "--out", site).exit_code == 0
    assert not (site / "data" / "Public" / "pruned").exists()
    assert (site / "data" / "Public" / "a" / "report.json").exists()


def test_a_store_without_an_index_as_others_write_them_gets_one_in_the_site(tmp_path: Path) -> None:
    public = tmp_path / "theirs" / "Public"
    (public / "x").mkdir(parents=True)
    (public / "manifest.json").write_text(
        '{"runs": [{"timestamp": "2026-07-03T00:00:00Z", "path": "Public/x/report.json", "commit": "abc"}]}'
    )
    (public / "x" / "report.json").write_text(
        '{"metadata": {}, "results": {"status": "success", "tests": '
        '[{"test_name": "fill", "status": "success", "details": {"nodes": 10, "time": "4s"}}]}}'
    )
    assert run("dashboard", "build", "--from", tmp_path / "theirs", "--out", tmp_path / "site").exit_code == 0
    (row,) = msgspec.json.decode((tmp_path / "site" / "data" / "Public" / "index" / "2026-07.json").read_bytes())[
        "runs"
    ]
    assert (row["id"], row["source"], row["commit"]) == ("x", "kai", "abc")
    assert [figure["value"] for figure in row["tests"][0]["figures"]] == [4.0]


def test_a_report_that_is_not_there_is_told(store: Path, tmp_path: Path) -> None:
    (store / "Public" / "a" / "report.json").unlink()
    done = run("dashboard", "build", "--from", store, "--out", tmp_path / "site")
    assert done.exit_code == 0
    assert done.output.splitlines()[1:] == ["missing: Public/a/report.json"]


def test_a_manifest_cannot_write_outside_the_site(store: Path, tmp_path: Path) -> None:
    (tmp_path / "evil.json").write_text("{}")
    path = store / "Public" / "manifest.json"
    path.write_text('{"runs": [{"timestamp": "2026-01-02T03:04:05Z", "path": "../evil.json"}]}')
    site = tmp_path / "deep" / "site"
    assert run("dashboard", "build", "--from", store, "--out", site).exit_code == 0
    assert not (site / "evil.json").exists()


@pytest.mark.parametrize("way", ["option", "environment", "config"])
def test_a_store_on_the_web_is_read_by_the_page_itself(tmp_path: Path, way: str) -> None:
    url = "https://results.example/some/prefix"
    settings = tmp_path / "dashboard.json"
    named = {"store": url} if way == "config" else {}
    settings.write_bytes(msgspec.json.encode({"title": "Ours", "days": 14, **named}))
    args = ("--from", url) if way == "option" else ()
    env = {"SCALE_TESTS_S3_URL": url} if way == "environment" else {}
    done = run("dashboard", "build", *args, "--out", tmp_path / "site", "--config", settings, **env)
    assert done.exit_code == 0, done.output
    assert done.output == f"{tmp_path / 'site'}: reads {url}/\n"
    told = config(tmp_path / "site")
    assert (told["store"], told["title"], told["days"], told["complete"]) == (f"{url}/", "Ours", 14, True)
    page = (tmp_path / "site" / "index.html").read_text()
    assert "connect-src 'self' https://results.example;" in page
    assert "<title>Ours</title>" in page
    assert not (tmp_path / "site" / "data").exists()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("{", "is no configuration of a dashboard"),
        ('{"colour": "x"}', "unknown field `colour`"),
        ('{"days": 0}', "days"),
        ('{"commit_url": "javascript:alert(1)//{commit}"}', "write an http(s) address with {commit}"),
        ('{"commit_url": "https://example.test/"}', "write an http(s) address with {commit}"),
    ],
)
def test_a_wrong_configuration_is_refused(tmp_path: Path, settings: str, message: str) -> None:
    file = tmp_path / "dashboard.json"
    file.write_text(settings)
    done = run("dashboard", "build", "--from", "https://x.example", "--out", tmp_path / "site", "--config", file)
    assert message in str(done.exception)
    assert not (tmp_path / "site").exists()


def test_wrong_usage_is_told(tmp_path: Path) -> None:
    assert "no store is named" in str(run("dashboard", "build", "--out", tmp_path / "site").exception)
    empty = run("dashboard", "build", "--from", tmp_path / "nowhere", "--out", tmp_path / "site")
    assert "publish a run to it first" in str(empty.exception)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    taken = run("dashboard", "build", "--from", "https://x.example", "--out", tmp_path / "mine")
    assert "neither empty nor a site built before" in str(taken.exception)
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["letter.txt"]
    file = run("dashboard", "build", "--from", "https://x.example", "--out", tmp_path / "mine" / "letter.txt")
    assert "is a file: name a folder" in str(file.exception)
    gone = run("dashboard", "build", "--from", "https://x.example", "--config", tmp_path / "none.json")
    assert "cannot be read" in str(gone.exception)


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    done = run("dashboard", "build", "--from", "https://x.example", "--out", blocked / "site")
    assert "cannot be written" in str(done.exception)


def test_the_page_loads_nothing_from_elsewhere_and_has_no_inline_script() -> None:
    files = site_files(beside(Settings(), complete=True))
    page = files["index.html"].decode()
    assert "__" not in page
    assert "script-src 'self'; worker-src 'self'; style-src 'self'" in page
    assert re.findall(r"<script[^>]*>([^<]*)</script>", page) == [""]
    assert not re.search(r"\son\w+=|style=", page)
    named = re.findall(r'(?:src|href)="([^"#]+)"', page)
    assert named
    assert set(named) <= set(files)
    scripts = {name: content.decode() for name, content in files.items() if name.endswith(".js")}
    for name, text in scripts.items():
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(", text), name
        for imported in re.findall(r'^import .*from "([^"]+)";$', text, re.MULTILINE):
            assert posixpath.normpath(posixpath.join(posixpath.dirname(name), imported)) in scripts, name
    assert "MIT" in files["vendor/uplot/LICENSE"].decode()


def test_a_title_is_text() -> None:
    page = site_files(live(Settings(title="<script>"), "https://x.example"))["index.html"].decode()
    assert "&lt;script&gt;" in page
    assert "<script>" not in page


def test_the_files_can_be_read_by_a_web_server(tmp_path: Path) -> None:
    run("dashboard", "build", "--from", "https://x.example", "--out", tmp_path / "site")
    assert all(path.stat().st_mode & stat.S_IROTH for path in (tmp_path / "site").rglob("*") if path.is_file())
