"""In which form an answer is sent: the object, a table, or its metadata alone; as JSON or YAML."""

import functools
from typing import Literal

import msgspec

from kubedyno.kube import status
from kubedyno.server.bodies import YAML
from kubedyno.server.messages import JSON, Refused

Form = Literal["object", "table", "metadata"]

_FORMS: dict[str, Form] = {
    "Table": "table",
    "PartialObjectMetadata": "metadata",
    "PartialObjectMetadataList": "metadata",
}
_AVAILABLE = "application/json, application/yaml, application/vnd.kubernetes.protobuf"
_STREAMS = ", application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"


class Representation(msgspec.Struct, frozen=True):
    """How to answer."""

    form: Form = "object"
    yaml: bool = False
    kind: str = ""
    """Of metadata alone: whether those of one object are asked for, or those of a list, by the kind."""


PLAIN = Representation()
"""The object, as JSON."""


@functools.lru_cache(maxsize=256)
def representation(accept: str, *, of_list: bool = False) -> Representation:
    """The first of the accepted media types that this server can send; 406 when there is none."""
    if accept in {"", JSON, "*/*"}:
        return PLAIN
    is_known = False
    for entry in accept.split(","):
        media, *rest = (part.strip() for part in entry.split(";"))
        values = {name: value for name, _, value in (part.partition("=") for part in rest)}
        if media not in {JSON, YAML, "*/*"}:
            continue
        is_known = True
        asked = values.get("as", "")
        if not asked or (asked in _FORMS and values.get("g") == "meta.k8s.io" and values.get("v") == "v1"):
            return Representation(_FORMS.get(asked, "object"), media == YAML, asked)
    if is_known:
        raise Refused(status.failure(406, f"only the following media types are accepted: {_AVAILABLE}"))
    raise Refused(
        status.failure(
            406,
            f"406: Not Acceptable\n\nAvailable representations: {_AVAILABLE}{_STREAMS if of_list else ''}",
            empty_details=True,
        )
    )


def accepts_aggregated_discovery(accept: str) -> bool:
    """Whether discovery may be one document (`apidiscovery.k8s.io/v2`)."""
    for entry in accept.split(","):
        media, *rest = (part.strip() for part in entry.split(";"))
        values = {name: value for name, _, value in (part.partition("=") for part in rest)}
        if media == JSON and values.get("as") == "APIGroupDiscoveryList" and values.get("v") == "v2":
            return True
    return False
