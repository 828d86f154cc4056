"""Binding pods to their nodes."""

from kubedyno.client.rest import Client
from kubedyno.kube.resources import PODS
from kubedyno.model.keys import SHARED_GPU_LABEL
from kubedyno.schedulers.reference.reading import PodFacts


async def bind(client: Client, pod: PodFacts, node: str, *, shared_gpu: str = "") -> None:
    """Bind a pod. One that shares a GPU is told whose first, so that whoever comes next knows it, too."""
    namespace, name = pod.key
    if shared_gpu and shared_gpu != pod.shared_gpu:
        patch = {"metadata": {"uid": pod.uid, "labels": {SHARED_GPU_LABEL: shared_gpu}}}
        await client.patch(PODS, name, patch, kind="merge", namespace=namespace)
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": name, "namespace": namespace, "uid": pod.uid},
        "target": {"apiVersion": "v1", "kind": "Node", "name": node},
    }
    await client.create(PODS, binding, namespace=namespace, name=name, subresource="binding")


async def nominate(client: Client, pod: PodFacts, node: str) -> None:
    """Tell for which node a pod waits while others leave it."""
    namespace, name = pod.key
    patch = {"metadata": {"uid": pod.uid}, "status": {"nominatedNodeName": node}}
    await client.patch(PODS, name, patch, kind="merge", namespace=namespace, subresource="status")
