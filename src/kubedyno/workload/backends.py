"""Times that a backend keeps of workloads: from a function of the user's, named in the settings."""

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import msgspec

from kubedyno.kit.clock import parse_rfc3339_ns
from kubedyno.kit.errors import UsageError, located
from kubedyno.model.submissions import SubmittedWorkload
from kubedyno.workload.settings import Settings

Source: TypeAlias = Callable[[Sequence[SubmittedWorkload]], Mapping[str, Mapping[str, str]]]
"""From workloads to RFC 3339 times, by name of the workload and name of the time."""


def source(settings: Settings) -> Source | None:
    """The function that the settings name; None where backend times are off."""
    if not settings.backend_times or settings.backend_source is None:
        return None
    module, colon, name = settings.backend_source.partition(":")
    wrong = f"backend_source {settings.backend_source!r}"
    if not (module and colon and name):
        raise UsageError(f"{wrong}: write it as package.module:function")
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise UsageError(f"{wrong} cannot be imported: {error}; is it on PYTHONPATH?") from error
    if not callable(found):
        raise UsageError(f"{wrong} is no function")
    return found  # type: ignore[no-any-return] # what it gives is checked


def times_ns(given: Source, workloads: Sequence[SubmittedWorkload]) -> dict[str, dict[str, int]]:
    """What the source knows: ns since the epoch, by name of the workload and name of the time."""
    with located("backend_source", msgspec.ValidationError, ValueError):
        answer = msgspec.convert(given(workloads), dict[str, dict[str, str]])
        return {
            workload: {name: parse_rfc3339_ns(stamp) for name, stamp in times.items()}
            for workload, times in answer.items()
        }
