"""Which scenarios are meant: names, globs, aliases, and functions in files of one's own."""

import contextlib
import fnmatch
import importlib.util
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

from kubedyno.kit.errors import UsageError
from kubedyno.kit.nearest import suggestion
from kubedyno.kit.registry import Registry
from kubedyno.lab.scenario import Scenario

_WILD = frozenset("*?[")


def choose(text: str, registry: Registry[Scenario], aliases: Mapping[str, str]) -> list[Scenario]:
    """The scenarios that one argument means: `kai/fill`, `'kai/*'`, `fill`, `mine.py`, `mine.py::fill_paused`."""
    file, colons, name = text.partition("::")
    if colons or file.endswith(".py"):
        return _of_file(Path(file), name)
    if text in aliases:
        return [registry.get(aliases[text])]
    if _WILD & set(text):
        found = fnmatch.filter(registry, text)
        if not found:
            raise UsageError(f"no scenario matches {text!r}: `kubedyno list` shows all of them")
        return [registry.get(one) for one in found]
    if text not in registry:
        raise UsageError(f"there is no scenario {text!r}: {suggestion(text, [*registry, *aliases])}")
    return [registry.get(text)]


def _of_file(path: Path, name: str) -> list[Scenario]:
    found = {one.function.__name__: one for one in vars(_loaded(path)).values() if isinstance(one, Scenario)}
    if not found:
        raise UsageError(f"{path}: there is no scenario in it; put @scenario() before an async function")
    if not name:
        return list(found.values())
    by_name = {one.name: one for one in found.values()}
    if name not in found and name not in by_name:
        raise UsageError(f"{path}: there is no scenario {name!r} in it; {suggestion(name, found)}")
    return [found[name] if name in found else by_name[name]]


def _loaded(path: Path) -> ModuleType:
    """The module of a file; modules beside it can be imported by it."""
    if not path.is_file():
        raise UsageError(f"{path}: there is no such file")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{path}: it is no file of Python")
    module = importlib.util.module_from_spec(spec)
    folder = str(path.parent.absolute())
    sys.path.insert(0, folder)
    try:
        spec.loader.exec_module(module)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None
    except Exception as error:  # whatever a stranger's module does is its author's business
        raise UsageError(f"{path}: it cannot be imported: {type(error).__name__}: {error}") from error
    finally:
        with contextlib.suppress(ValueError):
            sys.path.remove(folder)
    return module
