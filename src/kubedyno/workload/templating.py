"""Templates: YAML with Jinja values, or any YAML at all, and the objects that come of them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import minijinja

from kubedyno.kit.errors import UsageError
from kubedyno.kit.nearest import suggestion
from kubedyno.kube import codec
from kubedyno.kube.codec import Object

VALUES: Final = (
    "name",
    "namespace",
    "project",
    "queue",
    "gpus",
    "workers",
    "index",
    "scheduler_name",
    "pvc",
    "image",
    "submission",
    "workload_type",
)
"""What a template may use; `pvc` is the name of the claim that goes before the workload, or empty."""

_NEEDED: Final = ("apiVersion", "kind", "metadata.name")


class Template:
    """A template that was read; `source` names it in errors."""

    def __init__(self, text: str, *, source: str) -> None:
        self.text = text
        self.source = source
        self._environment = minijinja.Environment(
            undefined_behavior="strict",
            auto_escape_callback=lambda _: False,  # else a name that ends in .yaml gets every value quoted
        )
        try:
            self._environment.add_template(source, text)
            unknown = self._environment.undeclared_variables_in_template(source)
        except minijinja.TemplateError as error:
            raise self._error(error) from error
        wrong = sorted(set(unknown) - {*VALUES, *self._environment.globals})
        if wrong:
            raise UsageError(
                f"{source}: there is no value {wrong[0]!r}: {suggestion(wrong[0], VALUES)}; text with braces of its "
                "own goes between {% raw %} and {% endraw %}"
            )

    def render(self, values: Mapping[str, Any]) -> str:
        """The text with these values in it."""
        try:
            return self._environment.render_template(self.source, **values)
        except minijinja.TemplateError as error:
            raise self._error(error) from error

    def objects(self, rendered: str) -> list[Object]:
        """The objects of a rendered text, each with apiVersion, kind and a name."""
        # Blocks make lines of their own: then a line of what was rendered is not the same line of the file.
        source = f"{self.source} (as rendered)" if "{%" in self.text else self.source
        documents = codec.read_yaml(rendered, source=source)
        if not documents:
            raise UsageError(f"{self.source}: there is no object in it; write one with {', '.join(_NEEDED)}")
        for number, document in enumerate(documents, 1):
            self._check(document, number)
        return documents

    def _check(self, document: Object, number: int) -> None:
        metadata = document.get("metadata")
        found = {
            "apiVersion": document.get("apiVersion"),
            "kind": document.get("kind"),
            "metadata.name": metadata.get("name") if isinstance(metadata, dict) else None,
        }
        where = f"{self.source}: document {number}"
        for field, value in found.items():
            if value is None or value == "":
                raise UsageError(f"{where}: {field} is missing; every object needs {', '.join(_NEEDED)}")
            if not isinstance(value, str):
                raise UsageError(f"{where}: {field}: {value!r} is no text; put it in quotes")

    def _error(self, error: minijinja.TemplateError) -> UsageError:
        line = f":{error.line}" if error.line else ""
        what = error.detail or error.message
        return UsageError(f"{self.source}{line}: the template cannot be rendered: {what}")


def read(path: Path) -> Template:
    """The template in a file."""
    try:
        text = path.read_text()
    except OSError as error:
        raise UsageError(f"--template {path}: {error.strerror}; name a file with the YAML of a workload") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"--template {path}: it is no text; name a file with the YAML of a workload") from error
    return Template(text, source=str(path))
