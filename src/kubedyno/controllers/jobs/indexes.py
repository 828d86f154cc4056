"""Completion indexes: the text `0-3,5,7,8` of a status, the index of a pod, and which indexes want a pod."""

from collections.abc import Iterable, Mapping
from typing import Any

from kubedyno.kube import meta

COMPLETION_INDEX = "batch.kubernetes.io/job-completion-index"
FAILURE_COUNT = "batch.kubernetes.io/job-index-failure-count"
IGNORED_FAILURE_COUNT = "batch.kubernetes.io/job-index-ignored-failure-count"

_MOST = 2**31 - 1


def parse(text: str | None, completions: int) -> set[int]:
    """The indexes below `completions` that a text names; parts that are no numbers are left out."""
    found: set[int] = set()
    for part in (text or "").split(","):
        first, dash, last = part.partition("-")
        if not first.isdigit() or (dash and not last.isdigit()):
            continue
        found.update(range(int(first), min(int(last if dash else first), completions - 1) + 1))
    return found


def text(indexes: Iterable[int]) -> str:
    """The shortest text of the indexes; two neighbours are written with a comma, three with a dash."""
    parts: list[str] = []
    first = last = -2
    for index in [*sorted(indexes), None]:
        if index is not None and index == last + 1:
            last = index
            continue
        if first >= 0:
            parts.append(str(first) if first == last else f"{first}{',' if last == first + 1 else '-'}{last}")
        if index is not None:
            first = last = index
    return ",".join(parts)


def of_pod(pod: Mapping[str, Any]) -> int | None:
    """The completion index in a pod's annotation; None without a proper one."""
    return _count(meta.annotations(pod).get(COMPLETION_INDEX))


def failures(pod: Mapping[str, Any]) -> int:
    """How many failures that count its index had before this pod."""
    return _count(meta.annotations(pod).get(FAILURE_COUNT)) or 0


def all_failures(pod: Mapping[str, Any]) -> int:
    """How many failures its index had before this pod, those included that a policy ignores."""
    return failures(pod) + ignored_failures(pod)


def ignored_failures(pod: Mapping[str, Any]) -> int:
    """How many failures of its index before this pod a policy ignores."""
    return _count(meta.annotations(pod).get(IGNORED_FAILURE_COUNT)) or 0


def _count(written: str | None) -> int | None:
    if written is None or not written.isascii() or not written.isdigit():
        return None
    number = int(written)
    return number if number <= _MOST else None


def of_pods(pods: Iterable[Mapping[str, Any]]) -> set[int]:
    """The indexes of the pods that have one."""
    return {index for pod in pods if (index := of_pod(pod)) is not None}


def first_free(taken: set[int], count: int, completions: int) -> list[int]:
    """The `count` smallest indexes below `completions` that are not taken."""
    found: list[int] = []
    for index in range(completions):
        if len(found) == count:
            break
        if index not in taken:
            found.append(index)
    return found
