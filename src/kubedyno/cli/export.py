"""`kubedyno export`."""

from pathlib import Path

import click


@click.command("export")
@click.option("--kubeconfig", type=click.Path(path_type=Path), help="The cluster; without it, the one this runs in.")
@click.option("--context", default=None, help="A context of the kubeconfig.")
@click.option("--views", required=True, metavar="URL", help="The pages of the simulator that plays the kubelets.")
@click.option(
    "--settings", "file", type=click.Path(path_type=Path), help="A file with settings; without it, the usual."
)
@click.option("--selector", default=None, help="Labels of the nodes; without it, all that have NUMA zones.")
@click.option("--seed", default=0, show_default=True, help="Of all that is drawn.")
@click.option("--address", default="127.0.0.1", show_default=True, help="Where /metrics and /report are served.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="The same; 0: not at all.")
def command(
    *,
    kubeconfig: Path | None,
    context: str | None,
    views: str,
    file: Path | None,
    selector: str | None,
    seed: int,
    address: str,
    port: int,
) -> None:
    """Export the NUMA zones of simulated nodes, in the foreground.

    For each node it writes a NodeResourceTopology, as the resource-topology-exporter or node-feature-discovery would.
    What the kubelets tell is read from the pages of `kubedyno simulate`, or of a lab: its port is in `kubedyno status`.
    """
    import os
    from urllib.parse import urlsplit

    from kubedyno.client import access
    from kubedyno.client import kubeconfig as kubeconfigs
    from kubedyno.kit import tasks
    from kubedyno.kit.errors import UsageError
    from kubedyno.sim.exporters import reading
    from kubedyno.sim.exporters.mounting import export_beside
    from kubedyno.sim.exporters.settings import Settings
    from kubedyno.sim.serving import Endpoint

    parts = urlsplit(views)
    if parts.scheme not in {"http", "https"} or not parts.netloc:
        raise UsageError(f"--views {views}: write the URL of a simulator's pages, like http://127.0.0.1:8080")
    settings = Settings() if file is None else reading.read_file(file)
    where = access.in_cluster(os.environ) if kubeconfig is None else kubeconfigs.load(kubeconfig, context=context)
    endpoint = Endpoint(address, port) if port else None
    tasks.run(lambda: export_beside(where, views.rstrip("/"), settings, endpoint, seed=seed, selector=selector))
