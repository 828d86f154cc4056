"""What is wrong with a template, in Go's words, and the bounds that one rendering has."""

import msgspec

from kubedyno.kit.errors import UsageError


class TemplateError(UsageError):
    """A template that cannot be read or rendered; the message starts with `template: name:line`, as Go's does."""

    column: int | None = None
    """Of one that cannot be read: characters of the line before what is wrong, which Go does not tell there."""


class LimitExceeded(TemplateError):
    """A rendering went beyond its bounds; the message names the bound and what to do."""


class Limits(msgspec.Struct, frozen=True):
    """How much one rendering may take: `output` in characters (of each text on the way, too), `steps` in nodes.

    `nesting` counts the templates, controls, pipelines and values that stand within one another.
    """

    output: int = 4 * 1024 * 1024
    steps: int = 200_000
    nesting: int = 150
