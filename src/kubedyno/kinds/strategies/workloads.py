"""Jobs that generate their own selector, and daemon sets that count their templates."""

from kubedyno.kinds.defaults.apps import TEMPLATE_GENERATION
from kubedyno.kinds.strategies.strategy import Occasion, Strategy
from kubedyno.kube.codec import Object
from kubedyno.kube.meta import annotations as annotations_of

JOB_NAME_LABELS = ("job-name", "batch.kubernetes.io/job-name")
JOB_UID_LABELS = ("controller-uid", "batch.kubernetes.io/controller-uid")


def _create_job(job: Object, _occasion: Occasion) -> None:
    """Labels and selector from the uid; what is read back from etcd has the template's labels as its own by default."""
    spec, metadata = job["spec"], job["metadata"]
    job["status"] = {}
    if spec.get("manualSelector"):
        return
    template = spec.get("template") or {}
    # A label of the user's that says something else stays, and is refused by the rules.
    labels = {
        **dict.fromkeys(JOB_NAME_LABELS, metadata.get("name", "")),
        **dict.fromkeys(JOB_UID_LABELS, metadata["uid"]),
        **((template.get("metadata") or {}).get("labels") or {}),
    }
    selector = spec.get("selector") or {}
    job["spec"] = {
        **spec,
        "selector": {
            **selector,
            "matchLabels": {JOB_UID_LABELS[1]: metadata["uid"], **(selector.get("matchLabels") or {})},
        },
        "template": {**template, "metadata": {**(template.get("metadata") or {}), "labels": labels}},
    }
    if not metadata.get("labels"):
        metadata["labels"] = {**labels}


JOBS = Strategy(on_create=_create_job)


def _create_daemon_set(daemon_set: Object, _occasion: Occasion) -> None:
    daemon_set["status"] = {
        "currentNumberScheduled": 0,
        "numberMisscheduled": 0,
        "desiredNumberScheduled": 0,
        "numberReady": 0,
    }
    annotations = daemon_set["metadata"].get("annotations") or {}
    # The field of an older API lives on as an annotation.
    generation = max(1, _template_generation(daemon_set))
    daemon_set["metadata"]["annotations"] = {**annotations, TEMPLATE_GENERATION: str(generation)}


def _update_daemon_set(new: Object, old: Object, _occasion: Occasion) -> None:
    changed = new["spec"].get("template") != old["spec"].get("template")
    generation = _template_generation(old) + changed
    annotations = new["metadata"].get("annotations") or {}
    new["metadata"]["annotations"] = {**annotations, TEMPLATE_GENERATION: str(generation)}


def _template_generation(daemon_set: Object) -> int:
    text = annotations_of(daemon_set).get(TEMPLATE_GENERATION, "")
    return int(text) if text.isdecimal() else 0


DAEMON_SETS = Strategy(on_create=_create_daemon_set, on_update=_update_daemon_set)
