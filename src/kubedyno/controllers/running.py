"""The one entry: all controllers beside each other until they are cancelled."""

from collections.abc import Callable

from kubedyno.client.rest import Client
from kubedyno.controllers.accounts import ServiceAccountController
from kubedyno.controllers.claims import ResourceClaimController
from kubedyno.controllers.collecting.controller import GarbageCollector
from kubedyno.controllers.disruption import DisruptionController
from kubedyno.controllers.engine import Controller, Engine, operate
from kubedyno.controllers.jobs.controller import JobController
from kubedyno.controllers.jobs.ttl import TtlController
from kubedyno.controllers.namespaces import NamespaceController
from kubedyno.controllers.nodes.eviction import TaintEvictionController
from kubedyno.controllers.nodes.lifecycle import NodeLifecycleController
from kubedyno.controllers.nodes.podgc import PodGarbageCollector
from kubedyno.controllers.quotas import QuotaController
from kubedyno.controllers.replicas.deployments import DeploymentController
from kubedyno.controllers.replicas.replicasets import ReplicaSetController, replication_controllers
from kubedyno.controllers.serving import served
from kubedyno.controllers.settings import ControllerSettings
from kubedyno.controllers.volumes.binding import VolumeController
from kubedyno.controllers.volumes.protection import ProtectionController
from kubedyno.kit.clock import Clock

CONTROLLERS: tuple[Callable[[Engine], Controller], ...] = (
    JobController,
    TtlController,
    GarbageCollector,
    NamespaceController,
    ServiceAccountController,
    NodeLifecycleController,
    TaintEvictionController,
    ResourceClaimController,
    PodGarbageCollector,
    ReplicaSetController,
    replication_controllers,
    DeploymentController,
    DisruptionController,
    QuotaController,
    VolumeController,
    ProtectionController,
)


async def run_controllers(client: Client, *, clock: Clock, seed: int, settings: ControllerSettings) -> None:
    """Run all controllers as clients of `client`'s server; returns only by cancellation or a failure for good.

    All waiting is on `clock`, all chance from `seed`: on a virtual clock a run repeats exactly.
    """
    await operate(CONTROLLERS, client, clock=clock, seed=seed, settings=settings, served=await served(client))
