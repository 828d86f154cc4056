"""KWOK's own test pairs: an object, and every stage that may be played for it with delay, weight and requests."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.kwokmodule import KwokModule

from kubedyno.client.options import PATCH_TYPES
from kubedyno.kit.clock import parse_rfc3339_ns
from kubedyno.kube.codec import Object, read_yaml
from kubedyno.kube.gotemplate.functions import Function, Parameter
from kubedyno.sim.stages import selecting, timing
from kubedyno.sim.stages.stage import Event, Kind, Stage
from kubedyno.sim.stages.steps import ApplyRequest, DeleteRequest, PatchRequest, Request, requests

pytestmark = pytest.mark.local

NOW_NS = parse_rfc3339_ns("2006-01-02T15:04:05Z")
TEXTS = ("NodeIP", "NodeName", "NodePort", "PodIP", "NodeIPWith", "PodIPWith", "Now", "now", "Version")
LISTS = ("NodeIPsWith", "PodIPsWith")


def shown(name: str, arguments: tuple[Any, ...]) -> str:
    """A call as Go prints it: `PodIPWith("node", false)`."""
    return f"{name}({', '.join(json.dumps(argument) for argument in arguments)})" if arguments else name


def said(name: str) -> Function:
    return Function(lambda *arguments: f"<{shown(name, arguments)}>", (), Parameter.ANY)


def said_twice(name: str) -> Function:
    return Function(
        lambda *arguments: [f"<{number} of {shown(name, arguments)}>" for number in (0, 1)], (), Parameter.ANY
    )


FUNCTIONS = {**{name: said(name) for name in TEXTS}, **{name: said_twice(name) for name in LISTS}}


def written(request: Request) -> Object:
    match request:
        case Event():
            return {"kind": "event", "type": request.type, "reason": request.reason, "message": request.message}
        case DeleteRequest():
            return {"kind": "delete"}
        case PatchRequest() | ApplyRequest():
            kind = "patch" if isinstance(request, PatchRequest) else "apply"
            found = {"kind": kind, "type": PATCH_TYPES[request.kind], "data": request.data}
            return found | ({"subresource": request.subresource} if request.subresource else {})


def played(stage: Stage, obj: Object) -> Object:
    # The harness holds objects without their types, so that a patch without type is a merge patch for all kinds.
    done = [written(request) for step in stage.steps for request in requests(step, obj, FUNCTIONS, plain="merge")]
    found: Object = {"stage": stage.name, "next": done + ([{"kind": "immediate"}] if stage.immediate else [])}
    if (wait := timing.wait_of(stage, obj)) is not None:
        found["delay"] = [moment_ns - NOW_NS for moment_ns in wait.span_ns(NOW_NS)]
    if (weight := selecting.weight(stage, obj)) is not None:
        found["weight"] = weight
    return found


def answer(stages: tuple[Stage, ...], obj: Object) -> Object:
    """What is found for the object, in the words of KWOK's pairs."""
    kind = Kind(obj["apiVersion"], obj["kind"])
    about = [stage for stage in stages if stage.kind == kind]
    found = {
        "apiGroup": kind.api_version,
        "kind": kind.name,
        "name": obj["metadata"]["name"],
        "stages": [played(stage, obj) for stage in selecting.candidates(about, obj).stages],
    }
    if namespace := obj["metadata"].get("namespace"):
        found["namespace"] = namespace
    return found


def test_every_pair_of_kwok_holds(kwok_module: KwokModule, subtests: pytest.Subtests, tmp_path: Path) -> None:
    for number, pair in enumerate(kwok_module.pairs):
        with subtests.test(f"{pair.stage_set}/{pair.name}"):
            folder = tmp_path / str(number)
            folder.mkdir()
            (obj,) = read_yaml(pair.given, source="input")
            (expected,) = read_yaml(pair.expected, source="output")
            assert answer(kwok_module.stages(pair.stage_set, folder), obj) == expected
    assert len(kwok_module.pairs) >= 16


def test_every_default_set_of_kwok_can_be_read(
    kwok_module: KwokModule, subtests: pytest.Subtests, tmp_path: Path
) -> None:
    for number, (name, files) in enumerate(kwok_module.sets.items()):
        with subtests.test(name):
            folder = tmp_path / str(number)
            folder.mkdir()
            documents = [document for text in files.values() for document in read_yaml(text, source=name)]
            wanted = {document["metadata"]["name"] for document in documents if document["kind"] == "Stage"}
            assert {stage.name for stage in kwok_module.stages(name, folder)} == wanted
    assert len(kwok_module.sets) >= 8
