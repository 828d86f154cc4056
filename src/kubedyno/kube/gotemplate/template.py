"""A template: parse once, render for many data."""

from collections.abc import Mapping
from typing import Any, Literal

from kubedyno.kube.gotemplate.built_ins import BUILT_IN_NAMES, built_ins
from kubedyno.kube.gotemplate.executing import Execution, Source
from kubedyno.kube.gotemplate.functions import Functions
from kubedyno.kube.gotemplate.mentioning import mentioned
from kubedyno.kube.gotemplate.parsing import Trees, parse
from kubedyno.kube.gotemplate.problems import Limits, TemplateError

MissingKey = Literal["default", "zero", "error"]


class Template:
    """A parsed template with those that it defines. Made by `parsed`; rendering does not change it."""

    def __init__(
        self, source: Source, trees: Trees, functions: Functions, missing_key: MissingKey, limits: Limits
    ) -> None:
        self._source = source
        self._trees = trees
        self._functions = functions
        self._built_ins = built_ins(limits.output)
        self._missing_key = missing_key
        self._limits = limits

    @classmethod
    def parsed(
        cls,
        name: str,
        text: str,
        functions: Functions | None = None,
        *,
        missing_key: MissingKey = "default",
        limits: Limits | None = None,
    ) -> "Template":
        """Reads the text; `TemplateError` (`template: name:line: ...`) when it is none or calls what is not there.

        `functions` come before the built-in ones of the same name. `missing_key` is Go's option for maps.
        """
        functions = functions or {}
        trees = parse(name, text, BUILT_IN_NAMES | functions.keys())
        return cls(Source(name, text), trees, functions, missing_key, limits or Limits())

    @property
    def mentions(self) -> frozenset[str]:
        """Names of the fields of its data that it may read."""
        return frozenset(name for nodes in self._trees.values() for name in mentioned(nodes))

    def render(self, data: Any, functions: Functions | None = None, *, name: str | None = None) -> str:
        """What it prints for the data: JSON's types, whole numbers as Go's int, `Number` for a `json.Number`.

        `functions` replace those of the same names for this rendering (the time, an address). `name` renders a
        template that this one defines. `TemplateError` says what is wrong and where.
        """
        name = self._source.name if name is None else name
        if name not in self._trees:
            raise TemplateError(f'template: no template "{name}" associated with template "{self._source.name}"')
        known: Mapping[str, Any] = {**self._functions, **functions} if functions else self._functions
        execution = Execution(
            self._source, self._trees, known, self._built_ins, missing_key=self._missing_key, limits=self._limits
        )
        return execution.render(name, data)
