from pathlib import Path

import pytest

from kubedyno.kit.errors import UsageError
from kubedyno.kit.registry import Registry
from kubedyno.lab.choosing import choose
from kubedyno.lab.scenario import Scenario, scenario

pytestmark = pytest.mark.unit

ALIASES = {"fill": "kai/fill"}
MINE = '''
import beside
from kubedyno.lab.scenario import scenario

@scenario("my/first", tags=("a",))
async def first(lab, *, nodes: int = beside.NODES) -> None:
    """First."""

@scenario()
async def second_one(lab) -> None:
    """Second."""
'''


@pytest.fixture
def registry() -> Registry[Scenario]:
    found: Registry[Scenario] = Registry("scenario")
    for name in ("kai/fill", "kai/fill-live", "kai/burst", "hello"):

        @scenario(name)
        async def one(lab: object) -> None:
            """One of them."""

        found.register(name, one)
    return found


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("hello", ["hello"]),
        ("fill", ["kai/fill"]),
        ("kai/fill", ["kai/fill"]),
        ("kai/*", ["kai/burst", "kai/fill", "kai/fill-live"]),
        ("kai/fill*", ["kai/fill", "kai/fill-live"]),
        ("*", ["hello", "kai/burst", "kai/fill", "kai/fill-live"]),
        ("kai/[b]*", ["kai/burst"]),
    ],
)
def test_names_globs_and_aliases(registry: Registry[Scenario], text: str, names: list[str]) -> None:
    assert [one.name for one in choose(text, registry, ALIASES)] == names


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("kai/fil", "there is no scenario 'kai/fil': did you mean 'kai/fill'?"),
        ("fil", "there is no scenario 'fil': did you mean 'fill'?"),
        ("volcano/*", "no scenario matches 'volcano/*': `kubedyno list` shows all of them"),
        ("none.py", "none.py: there is no such file"),
        ("none.py::first", "none.py: there is no such file"),
    ],
)
def test_what_is_not_there_is_told_with_the_nearest(registry: Registry[Scenario], text: str, sentence: str) -> None:
    with pytest.raises(UsageError) as caught:
        choose(text, registry, ALIASES)
    assert str(caught.value) == sentence


def test_functions_of_a_file_of_ones_own(registry: Registry[Scenario], tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(MINE)
    (tmp_path / "beside.py").write_text("NODES = 7\n")
    assert [one.name for one in choose(str(path), registry, ALIASES)] == ["my/first", "second-one"]
    for text in ("first", "my/first"):
        (found,) = choose(f"{path}::{text}", registry, ALIASES)
        assert (found.name, found.parameters[0].default) == ("my/first", 7)
    with pytest.raises(UsageError, match="there is no scenario 'secnd_one' in it; did you mean 'second_one'"):
        choose(f"{path}::secnd_one", registry, ALIASES)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1\n", "there is no scenario in it; put @scenario() before an async function"),
        ("import no_such_module\n", "it cannot be imported: ModuleNotFoundError: No module named 'no_such_module'"),
        ("def f(:\n", "it cannot be imported: SyntaxError"),
        (
            "from kubedyno.lab.scenario import scenario\n@scenario()\nasync def f(lab, *, a: set = ()):\n    pass\n",
            "scenario f: parameter a needs a default and one of the types int, float, bool, str",
        ),
    ],
)
def test_a_file_that_is_no_good_is_told(registry: Registry[Scenario], tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "mine.py"
    path.write_text(text)
    with pytest.raises(UsageError) as caught:
        choose(str(path), registry, ALIASES)
    assert str(caught.value).startswith(f"{path}: {said}")
