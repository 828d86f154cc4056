"""Rules of templates of pods, in workloads and on their own."""

from collections.abc import Iterator
from typing import Final

from kubedyno.kinds.rules.fields import annotation_problems, label_problems
from kubedyno.kinds.rules.pod_annotations import annotation_state_problems
from kubedyno.kinds.rules.pod_specs import pod_spec_problems
from kubedyno.kinds.rules.profiles import app_armor_match_problems, seccomp_match_problems
from kubedyno.kinds.rules.rules import Rules
from kubedyno.kube.codec import Object
from kubedyno.kube.problems import Problem, forbidden


def pod_template_problems(template: Object, path: str) -> Iterator[Problem]:
    """What is wrong with a template of pods (`metadata` and `spec`) that stands at `path`."""
    metadata, spec = template.get("metadata") or {}, template.get("spec") or {}
    annotations = metadata.get("annotations") or {}
    yield from label_problems(metadata.get("labels"), f"{path}.labels")
    yield from annotation_problems(annotations, f"{path}.annotations")
    yield from annotation_state_problems(annotations, spec, f"{path}.annotations")
    yield from pod_spec_problems(spec, f"{path}.spec", is_pod=False)
    yield from seccomp_match_problems(annotations, spec, f"{path}.spec")
    yield from app_armor_match_problems(annotations, spec, f"{path}.spec")
    if spec.get("ephemeralContainers"):
        yield forbidden(f"{path}.spec.ephemeralContainers", "ephemeral containers not allowed in pod template")


def _create(obj: Object) -> Iterator[Problem]:
    return pod_template_problems(obj.get("template") or {}, "template")


def _update(new: Object, _old: Object) -> Iterator[Problem]:
    return _create(new)


RULES: Final = {("", "PodTemplate"): Rules(create=_create, update=_update)}
