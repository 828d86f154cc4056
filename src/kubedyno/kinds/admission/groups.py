"""PodGroupWorkloadExists: a pod group made from a template needs the workload that has it."""

from kubedyno.kinds.admission.attributes import Asked, forbidden
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import WORKLOADS


def check_workload(group: Object, request: Asked) -> None:
    """Refuse a group whose template is not there, or goes with its workload."""
    reference = ((group.get("spec") or {}).get("podGroupTemplateRef") or {}).get("workload")
    if reference is None:
        return
    name, template = reference.get("workloadName", ""), reference.get("podGroupTemplateName", "")
    workload = request.lookup.get(WORKLOADS, request.namespace, name)
    if workload is None:
        raise forbidden(request, f'PodGroup rejected: Workload "{name}" not found')
    if workload["metadata"].get("deletionTimestamp"):
        raise forbidden(request, f'PodGroup rejected: Workload "{name}" is being deleted')
    if all(each.get("name") != template for each in workload["spec"].get("podGroupTemplates") or ()):
        raise forbidden(request, f'PodGroup rejected: PodGroupTemplate "{template}" not found in Workload "{name}"')
