"""Templates of configs, modules and objects: parsed once, rendered as often as there are replicas."""

import random
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from kubedyno.clusterloader.language.files import ConfigFolder
from kubedyno.clusterloader.language.functions import functions
from kubedyno.clusterloader.language.identities import identities
from kubedyno.kit.nearest import suggestion
from kubedyno.kube.gotemplate.built_ins import BUILT_IN_NAMES
from kubedyno.kube.gotemplate.problems import Limits, TemplateError
from kubedyno.kube.gotemplate.template import Template

# A config of 5,000 lines takes some 20,000 steps; what takes a hundred times as many is a mistake.
_LIMITS: Final = Limits(output=16 * 1024 * 1024, steps=2_000_000)
_UNKNOWN = re.compile(r'function "(\w+)" not defined$')


class Templates:
    """The templates of one config, whose root file lies in `folder`. All paths begin there, also those in modules.

    What is drawn in templates comes from `rng`, in the order of the renderings.
    """

    def __init__(self, folder: Path, rng: random.Random) -> None:
        self._folder = ConfigFolder(folder)
        self._functions = functions(rng, self._folder.include)
        self._parsed: dict[str, Template] = {}
        self._identities: dict[str, tuple[tuple[str, str], ...]] = {}

    def render(self, path: str, values: Mapping[str, Any]) -> str:
        """What the template prints for the values; one that is missing is nil, and printed as `<no value>`.

        `UsageError` names the file with line and column, and says what is wrong. A file is read once only.
        """
        return self._template(path).render(dict(values))

    def mentions(self, path: str) -> frozenset[str]:
        """Names of the values that the template may read."""
        return self._template(path).mentions

    def identities(self, path: str) -> tuple[tuple[str, str], ...]:
        """The apiVersion and the kind of each document of an object's template, by its text alone."""
        found = self._identities.get(path)
        if found is None:
            found = self._identities[path] = identities(str(self._folder.place(path)), self._folder.read(path))
        return found

    def _template(self, path: str) -> Template:
        template = self._parsed.get(path)
        if template is None:
            template = self._parsed[path] = self._read(path)
        return template

    def _read(self, path: str) -> Template:
        name, text = str(self._folder.place(path)), self._folder.read(path)
        try:
            return Template.parsed(name, text, self._functions, limits=_LIMITS)
        except TemplateError as error:
            told = str(error)
            if error.column is not None:
                # Where it is rendered, Go's words tell the column after the line: so they do here.
                begin = f"template: {name}:"
                line, _, rest = told.removeprefix(begin).partition(": ")
                told = f"{begin}{line}:{error.column}: {rest}"
            unknown = _UNKNOWN.search(told)
            if unknown is not None:
                told = f"{told}; {suggestion(unknown[1], self._functions.keys() | BUILT_IN_NAMES)}"
            raise TemplateError(told) from error
