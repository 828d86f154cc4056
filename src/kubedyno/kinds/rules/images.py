"""Rules of images and when they are pulled."""

from collections.abc import Iterator
from typing import Final

from kubedyno.kube.codec import Object
from kubedyno.kube.problems import Problem, invalid, not_supported, required

_PULL_POLICIES: Final = ("Always", "IfNotPresent", "Never")


def pull_policy_problems(policy: str | None, path: str) -> Iterator[Problem]:
    """When an image is pulled."""
    if not policy:
        yield required(path)
    elif policy not in _PULL_POLICIES:
        yield not_supported(path, policy, _PULL_POLICIES)


def padding_problems(container: Object, path: str) -> Iterator[Problem]:
    """An image without spaces around it."""
    image = container.get("image", "")
    if image != image.strip():
        yield invalid(f"{path}.image", image, "must not have leading or trailing whitespace")
