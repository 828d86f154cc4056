"""Binding a pod to a node: what the `binding` subresource makes of the pod, and when it refuses."""

from kubedyno.kinds.rules.pods import binding_problems
from kubedyno.kinds.strategies.pods import set_condition
from kubedyno.kinds.strategies.refusal import Refused
from kubedyno.kube.codec import Object
from kubedyno.kube.status import failure


def bound(pod: Object, binding: Object, now: str) -> Object:
    """The pod on its node, as a new object that shares what did not change; or `Refused`.

    The labels and annotations of the binding become the pod's. The generation stays: nobody asked for another spec.
    """
    metadata, spec = pod["metadata"], pod["spec"]
    wanted = binding.get("metadata") or {}
    _check_preconditions(metadata, wanted)
    _check_unbound(metadata, spec)
    annotations, labels = wanted.get("annotations"), wanted.get("labels")
    if annotations:
        metadata = {**metadata, "annotations": {**(metadata.get("annotations") or {}), **annotations}}
    if labels:
        metadata = {**metadata, "labels": {**(metadata.get("labels") or {}), **labels}}
    status = dict(pod.get("status") or {})
    status.pop("nominatedNodeName", None)
    set_condition(status, "PodScheduled", now, status="True")
    return {**pod, "metadata": metadata, "spec": {**spec, "nodeName": binding["target"]["name"]}, "status": status}


def check_binding(binding: Object, name: str) -> None:
    """Refuse a binding that does not say what it binds, or to what; `name` is the pod's in the URL."""
    if (binding.get("metadata") or {}).get("name", "") != name:
        raise Refused(failure(400, "name in URL does not match name in Binding object"))
    said = [f"{problem.field}: {problem.message}" for problem in binding_problems(binding)]
    if said:
        # The real server forgets to make an Invalid of it.
        told = said[0] if len(said) == 1 else f"[{', '.join(said)}]"
        raise Refused(failure(500, told, reason=""))


def _check_unbound(metadata: Object, spec: Object) -> None:
    name = metadata["name"]
    if metadata.get("deletionTimestamp"):
        raise _conflict(name, "pods/binding", f"pod {name} is being deleted, cannot be assigned to a host")
    if spec.get("nodeName"):
        raise _conflict(name, "pods/binding", f'pod {name} is already assigned to node "{spec["nodeName"]}"')
    if spec.get("schedulingGates"):
        raise _conflict(name, "pods/binding", f"pod {name} has non-empty .spec.schedulingGates")


def _check_preconditions(metadata: Object, wanted: Object) -> None:
    for field, told in (("uid", "UID"), ("resourceVersion", "ResourceVersion")):
        if wanted.get(field) and wanted[field] != metadata.get(field):
            # The store of the real server speaks here, with the key under which it has the pod.
            key = f"/registry/pods/{metadata.get('namespace')}/{metadata['name']}"
            said = f"{told} in precondition: {wanted[field]}, {told} in object meta: {metadata.get(field)}"
            why = f"Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: {said}"
            raise _conflict(metadata["name"], "pods", f"StorageError: invalid object, {why}")


def _conflict(name: str, resource: str, why: str) -> Refused:
    told = f'Operation cannot be fulfilled on {resource} "{name}": {why}'
    return Refused(failure(409, told, name=name, resource=resource))
