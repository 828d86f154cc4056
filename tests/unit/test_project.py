"""What holds for the repository as a whole."""

import ast
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

pytestmark = pytest.mark.unit

TOP = Path(__file__).parents[2]
SOURCE = TOP / "src" / "kubedyno"

# In pieces, or this file would be the first that it finds.
FORBIDDEN = {
    "the host of a package registry": [
        "pypi" + r"\.org",
        "python" + "hosted",
        r"proxy\." + "golang",
        r"sum\." + "golang",
        "registry" + r"\.npmjs",
        "docker" + r"\.io",
        "ghcr" + r"\.io",
        "quay" + r"\.io",
        "registry" + r"\.k8s",
        r"\bgcr" + r"\.io",
        "crates" + r"\.io",
        "arti" + "factory",
    ],
    "a path of the machine that it was made on": ["/" + "root/", "/" + "work/"],
}


def files() -> list[Path]:
    """All files of the repository, those not yet added too."""
    if not (TOP / ".git").exists():
        pytest.skip("this is no checkout")
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=TOP,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return [TOP / name for name in listed.split("\0") if name and (TOP / name).is_file()]


@pytest.mark.parametrize("what", FORBIDDEN)
def test_no_file_names(what: str) -> None:
    pattern = re.compile("|".join(FORBIDDEN[what]).encode(), re.IGNORECASE)
    assert {
        f"{path.relative_to(TOP)}: {found[0].decode()}"
        for path in files()
        if (found := pattern.search(path.read_bytes()))
    } == set()


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-dev.txt"])
def test_every_pin_has_hashes_and_no_index_is_named(name: str) -> None:
    text = (TOP / name).read_text()
    assert not re.search(r"://|--(extra-)?index-url|--find-links|--trusted-host", text)
    entries = re.sub(r"\\\n", " ", text).splitlines()
    pins = [entry for entry in entries if entry.strip() and not entry.startswith("#")]
    assert len(pins) > 10
    for pin in pins:
        assert re.match(r"[A-Za-z0-9._-]+(\[[^]]*\])?==[^\s;]+", pin), pin
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", pin), pin


def test_what_the_project_depends_on_is_pinned() -> None:
    project = tomllib.loads((TOP / "pyproject.toml").read_text())
    for name, wanted in (
        ("requirements.txt", project["project"]["dependencies"]),
        ("requirements-dev.txt", project["project"]["dependencies"] + project["dependency-groups"]["dev"]),
    ):
        pinned = set(re.findall(r"^([A-Za-z0-9._-]+)==", (TOP / name).read_text(), re.MULTILINE))
        assert {re.split(r"[<>=!~\[ ]", requirement)[0] for requirement in wanted} <= pinned


def packages() -> list[Path]:
    return sorted(path.parent for path in SOURCE.glob("*/__init__.py"))


def test_every_package_has_its_layer() -> None:
    contracts = tomllib.loads((TOP / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    named = {name.strip().strip("()") for layer in layers for name in layer.split("|")}
    assert {package.name for package in packages()} <= named


@pytest.mark.parametrize("package", packages(), ids=lambda package: package.name)
def test_every_package_says_what_it_is_for(package: Path) -> None:
    assert ast.get_docstring(ast.parse((package / "__init__.py").read_text()))


@pytest.mark.parametrize("script", sorted((TOP / "scripts").iterdir()), ids=lambda script: script.name)
def test_scripts_can_be_run_and_say_what_they_do(script: Path) -> None:
    assert script.stat().st_mode & 0o111
    first, second = script.read_text().splitlines()[:2]
    assert first.startswith("#!")
    assert second.startswith("# ")
