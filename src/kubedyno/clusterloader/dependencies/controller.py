"""What `kwok-system` shows of a controller that is no pod there: where it runs, and where it says what it does."""

import os
import socket
from typing import Final

from kubedyno.client.errors import ApiError
from kubedyno.clusterloader.dependencies.depending import Surroundings
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import NAMESPACES
from kubedyno.lab import installing
from kubedyno.lab.creating import RUN_LABEL
from kubedyno.sim.pools.sending import delete_object

NAMESPACE: Final = "kwok-system"
NAME: Final = "kwok-controller"


class Signpost:
    """The namespace in which people look for KWOK, with a ConfigMap that tells where the controller is instead."""

    def __init__(self, around: Surroundings) -> None:
        self._around = around
        self._is_ours = False

    async def put(self) -> None:
        """Show it, unless somebody has such a namespace already."""
        client, labels = self._around.client, {RUN_LABEL: self._around.run_id}
        try:
            found = await client.get(NAMESPACES, NAMESPACE)
        except ApiError as error:
            if not error.is_not_found:
                raise
        else:
            if RUN_LABEL not in meta.labels(found):
                return
        self._is_ours = True
        await installing.ensure_namespace(client, NAMESPACE, labels=labels)
        await installing.apply(client, self._told(labels))

    async def remove(self) -> None:
        """Let it go, if it was put here: a run on others' clusters waits in the end for all that has its label."""
        if self._is_ours:
            namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
            await delete_object(self._around.client, namespace)

    def _told(self, labels: dict[str, str]) -> Object:
        return {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": NAME, "namespace": NAMESPACE, "labels": labels},
            "data": {
                "controller": f"process {os.getpid()} on {socket.gethostname()}: kubedyno, run {self._around.run_id}",
                "log": "the error output of that command; `kubedyno --debug clusterloader ...` says more",
            },
        }
