"""The embedded engine: the API server and its controllers in this process, reachable by others over HTTPS."""

import contextlib
import ssl
from collections.abc import AsyncIterator

import msgspec

from kubedyno.controllers.running import run_controllers
from kubedyno.controllers.settings import ControllerSettings
from kubedyno.plane.activity import Activity, Ground
from kubedyno.plane.controlplane import ADMIN, ControlPlane
from kubedyno.plane.identities import Identity, Pki
from kubedyno.plane.ports import LOOPBACK
from kubedyno.plane.site import Profile, Site
from kubedyno.server import http
from kubedyno.server.api import Api

SERVER = Identity(name="server", user="kubedyno-server", server=True)

CONTROLLERS = "controllers"
MANAGER = "kube-controller-manager"
"""Whose fields the controllers' are: they do its work."""


class VirtualCost(msgspec.Struct, frozen=True):
    """What is charged in virtual time, seconds of its clock: there nothing takes time by itself."""

    call_s: float = 0.001
    """For each request to the API."""
    cycle_s: float = 0.01
    """For each cycle of the scheduler."""


VIRTUAL_COST = VirtualCost()


def plan(site: Site) -> ControlPlane:
    """A control plane without processes: one address."""
    port = site.draw_port()
    return ControlPlane(
        components=(), balancer=None, url=f"https://{LOOPBACK}:{port}", identities=(ADMIN, SERVER), embedded_port=port
    )


def controllers(profile: Profile) -> Activity:
    """What the controller-manager would run."""
    settings = ControllerSettings()
    if profile.node_grace_s is not None:
        settings = msgspec.structs.replace(settings, node_grace_s=profile.node_grace_s)

    async def run(ground: Ground) -> None:
        await run_controllers(ground.client, clock=ground.clock, seed=ground.seed, settings=settings)

    return Activity(name=CONTROLLERS, role="control-plane", run=run, program=MANAGER)


@contextlib.asynccontextmanager
async def reachable(api: Api, *, port: int, token: str, pki: Pki) -> AsyncIterator[None]:
    """The API at its address on loopback, for the duration of the block."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pki.cert(SERVER.name), pki.key(SERVER.name))
    async with http.serving(api, token=token, tls=context, port=port):
        yield
