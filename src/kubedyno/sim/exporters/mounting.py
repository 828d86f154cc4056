"""Exporters as a process of their own: what runs in it, and how a lab starts it."""

import contextlib
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec

from kubedyno.client.access import Access
from kubedyno.client.rest import Client
from kubedyno.kit.clock import RealClock
from kubedyno.kit.errors import EngineError
from kubedyno.plane.component import OWN_ARGS, OWN_PROGRAM, Component, File, Probe, flags
from kubedyno.plane.ports import LOOPBACK
from kubedyno.sim import exposing
from kubedyno.sim.exporters import reporting
from kubedyno.sim.exporters.connecting import USER_AGENT
from kubedyno.sim.exporters.exporting import Exporters
from kubedyno.sim.exporters.settings import Settings
from kubedyno.sim.exporters.views import ServedViews, ViewUnavailable
from kubedyno.sim.serving import Endpoint

NAME: Final = "exporters"
REPORT_PAGE: Final = "/report"
_CONNECTIONS: Final = 64


async def export_beside(
    access: Access,
    views_url: str,
    settings: Settings,
    endpoint: Endpoint | None,
    *,
    seed: int = 0,
    selector: str | None = None,
) -> None:
    """Export for the nodes of a cluster until cancelled, asking their simulator at `views_url`.

    `selector` chooses nodes by labels; without it all are served that have NUMA zones.
    """
    clock = RealClock()

    def connect() -> contextlib.AbstractAsyncContextManager[Client]:
        return Client.connect(access, connections=1, clock=clock, manager=USER_AGENT)

    async with (
        Client.connect(access, connections=_CONNECTIONS, clock=clock) as client,
        Client.connect(Access(server=views_url), connections=_CONNECTIONS, clock=clock) as pages,
    ):
        views = ServedViews(pages)
        # Later a simulator that is away is waited for; at the beginning it is more likely the wrong address.
        try:
            await views.changes("")
        except ViewUnavailable as error:
            raise EngineError(f"{error}; name the port of the kubelets that `kubedyno status` shows") from error
        exporters = Exporters(client, views, settings, clock=clock, seed=seed, connect=connect, selector=selector)
        async with _serving(exporters, endpoint) if endpoint is not None else contextlib.nullcontext():
            await exporters.run()


def _serving(exporters: Exporters, endpoint: Endpoint) -> contextlib.AbstractAsyncContextManager[str]:
    """`/metrics` (Prometheus), `/report` (JSON) and `/healthz`."""

    async def health() -> Iterable[str]:
        return ("ok",)

    async def report() -> Iterable[str]:
        return (msgspec.json.encode(exporters.report()).decode(),)

    async def metrics() -> Iterable[str]:
        return (f"{line}\n" for line in reporting.metrics(exporters.report()))

    pages: dict[str, exposing.Page] = {"/healthz": health, REPORT_PAGE: report, exposing.METRICS: metrics}
    return exposing.serving(pages, address=endpoint.address, port=endpoint.port)


def component(
    settings: Settings,
    *,
    kubeconfig: Path,
    views_url: str,
    file: Path,
    port: int,
    seed: int,
    selector: str | None = None,
) -> Component:
    """The process beside a lab; `file` is where its settings are written."""
    return Component(
        name=NAME,
        program=OWN_PROGRAM,
        role="exporter",
        args=(
            *OWN_ARGS,
            "export",
            *flags(
                {
                    "kubeconfig": str(kubeconfig),
                    "views": views_url,
                    "settings": str(file),
                    "seed": seed,
                    "port": port,
                    "selector": selector,
                }
            ),
        ),
        files=(File(path=file, text=msgspec.json.encode(settings).decode()),),
        ports={"metrics": port},
        ready=Probe(url=f"http://{LOOPBACK}:{port}/healthz"),
    )
