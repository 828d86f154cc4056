"""Texts that differ from node to node: `rack-{{ index // 8 }}`, with the filters and functions of Jinja."""

from collections.abc import Mapping
from typing import Final

import minijinja

from kubedyno.kit.errors import UsageError

VARIABLES: Final = ("index", "name", "pool")
_FUEL: Final = 10_000  # instructions: a label needs ten, an endless loop is cut off


def is_template(text: str) -> bool:
    """Whether the text has anything to fill in."""
    return "{{" in text or "{%" in text or "{#" in text


class Templates:
    """Templates, each compiled once. A name that is not there is an error, not nothing."""

    def __init__(self) -> None:
        self._environment = minijinja.Environment(undefined_behavior="strict", fuel=_FUEL)
        self._known: set[str] = set()

    def render(self, text: str, variables: Mapping[str, str | int]) -> str:
        """The text filled in; UsageError says what is wrong with it."""
        if not is_template(text):
            return text
        try:
            if text not in self._known:
                self._environment.add_template(text, text)
                self._known.add(text)
            return self._environment.render_template(text, **variables)
        except minijinja.TemplateError as error:
            told = error.detail or error.kind
            raise UsageError(f"template {text!r}: {told}; there are {', '.join(variables)}") from None
