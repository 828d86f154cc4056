"""Rules of file paths inside volumes and containers."""

from collections.abc import Iterator

from kubedyno.kube.problems import Problem, invalid


def backstep_problems(target: str, path: str) -> Iterator[Problem]:
    """A path that never goes up."""
    if ".." in target.split("/"):
        yield invalid(path, target, "must not contain '..'")


def descending_problems(target: str, path: str) -> Iterator[Problem]:
    """A path that stays below where it starts."""
    if target.startswith("/"):
        yield invalid(path, target, "must be a relative path")
    yield from backstep_problems(target, path)


def unreserved_problems(target: str, path: str) -> Iterator[Problem]:
    """The same, and not one of the names that the kubelet uses for itself."""
    yield from descending_problems(target, path)
    if target.startswith("..") and not target.startswith("../"):
        yield invalid(path, target, "must not start with '..'")
