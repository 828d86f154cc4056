"""Rules of annotations that mean something to Kubernetes when they are on a pod."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from kubedyno.kinds.rules.profiles import (
    APP_ARMOR_CONTAINER,
    app_armor_annotation_problems,
    seccomp_annotation_problems,
)
from kubedyno.kube.codec import Object
from kubedyno.kube.problems import Problem, forbidden, invalid

MIRROR: Final = "kubernetes.io/config.mirror"
_DELETION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"
_COST: Final = re.compile(r"0|-?[0-9]+")
_COSTS: Final = range(-(2**31), 2**31)


def annotation_state_problems(annotations: Mapping[str, str], spec: Object, path: str) -> Iterator[Problem]:
    """Annotations of a pod or of a template of pods, with the spec that they speak of."""
    if MIRROR in annotations and not spec.get("nodeName"):
        detail = "must set spec.nodeName if mirror pod annotation is set"
        yield invalid(f"{path}[{MIRROR}]", annotations[MIRROR], detail)
    if _DELETION_COST in annotations and not _is_cost(annotations[_DELETION_COST]):
        yield invalid(f"{path}[{_DELETION_COST}]", annotations[_DELETION_COST], "must be a 32bit integer")
    yield from seccomp_annotation_problems(annotations, path)
    yield from app_armor_annotation_problems(annotations, spec, path)


def _is_cost(text: str) -> bool:
    if not _COST.fullmatch(text) or (text.startswith("0") and text != "0"):
        return False
    return int(text) in _COSTS


def annotation_change_problems(new: Mapping[str, str], old: Mapping[str, str], path: str) -> Iterator[Problem]:
    """Some annotations stay as they were when the pod was made."""
    for key, value in old.items():
        if new.get(key) != value:
            if key.startswith(APP_ARMOR_CONTAINER):
                yield forbidden(f"{path}[{key}]", "may not remove or update AppArmor annotations")
            if key == MIRROR:
                yield forbidden(f"{path}[{key}]", "may not remove or update mirror pod annotation")
    for key in new:
        if key not in old:
            if key.startswith(APP_ARMOR_CONTAINER):
                yield forbidden(f"{path}[{key}]", "may not add AppArmor annotations")
            if key == MIRROR:
                yield forbidden(f"{path}[{key}]", "may not add mirror pod annotation")
