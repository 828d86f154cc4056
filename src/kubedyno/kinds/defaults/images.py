"""When images are pulled: `Always` if the reference says `latest` or nothing, `IfNotPresent` otherwise."""

import functools
import re

from kubedyno.kinds.defaults.walking import Functions
from kubedyno.kube.codec import Object

_HOST = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?"
_PART = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_REFERENCE = re.compile(
    rf"(?:(?:{_HOST}(?:\.{_HOST})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?/)?{_PART}(?:/{_PART})*"
    r"(?::(?P<tag>\w[\w.-]{0,127}))?"
    r"(?P<digest>@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,})?",
    re.ASCII,
)


@functools.lru_cache(maxsize=4096)
def pull_policy(image: str) -> str:
    """The policy of an image's reference; one that cannot be read is no `latest`."""
    match = _REFERENCE.fullmatch(image)
    is_latest = match is not None and (match["tag"] == "latest" or (match["tag"] is None and match["digest"] is None))
    return "Always" if is_latest else "IfNotPresent"


def _container(container: Object) -> None:
    if "imagePullPolicy" not in container:
        container["imagePullPolicy"] = pull_policy(container.get("image", ""))


def _image_volume(image: Object) -> None:
    if "pullPolicy" not in image:
        image["pullPolicy"] = pull_policy(image.get("reference", ""))


FUNCTIONS: Functions = {
    "core.v1.Container": _container,
    "core.v1.EphemeralContainer": _container,
    "core.v1.ImageVolumeSource": _image_volume,
}
