"""Options that several commands share, and the lab spec that they make."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])


def lab_options(command: Command, *, several: bool = False) -> Command:
    """What decides what a lab is; with `several`, of several labs that differ in schedulers or replicas."""
    again = " Several times: one after another." if several else ""
    options = [
        click.option(
            "--engine", default="embedded", show_default=True, help="embedded (in this process) | local (real programs)"
        ),
        click.option(
            "--scheduler",
            **({"multiple": True} if several else {"default": None}),
            help="reference | kube-scheduler | plugins | kueue | kai | none; without it reference on embedded, "
            f"kube-scheduler on local.{again}",
        ),
        click.option(
            "--kubelet",
            default="builtin",
            show_default=True,
            help="Who plays the kubelets: builtin | kwok | kubemark | none.",
        ),
        click.option(
            "--heartbeats",
            default="",
            metavar="DURATION",
            help="Duration of node leases, and with it the controllers' patience, or off; without it, the profile's.",
        ),
        click.option(
            "--profile",
            default="scale",
            show_default=True,
            help="production keeps fsync, fairness and client limits; unthrottled removes them; "
            "scale is unthrottled plus the tuning of KAI's scale tests.",
        ),
        click.option(
            "--set",
            "settings",
            multiple=True,
            metavar="COMPONENT.FIELD=VALUE",
            help="A setting of a component: a flag (binder.qps=20), or a path in its configuration file "
            "(kube-scheduler.clientConnection.qps=20).",
        ),
        click.option("--scheduler-config", type=click.Path(path_type=Path), help="Laid over the scheduler's own."),
        click.option("--feature-gates", multiple=True, metavar="GATE=BOOL,...", help="For the control plane."),
        click.option("--runtime-config", multiple=True, metavar="GROUP/VERSION=BOOL,...", help="APIs to serve."),
        click.option("--audit-log", is_flag=True, help="Let the API server keep an audit log."),
        click.option(
            "--ha",
            is_flag=False,
            flag_value="stacked",
            default="none",
            help="Three API servers on three etcd members, two schedulers, behind a balancer: stacked | external."
            f"{' Several with commas between (none,stacked): one after another.' if several else ''}",
        ),
        click.option("--stages", multiple=True, type=click.Path(path_type=Path), help="KWOK Stage files to play by."),
        click.option("--cluster-stages", is_flag=True, help="Play by the Stage objects that are in the lab."),
        click.option(
            "--operators",
            default="all",
            show_default=True,
            help="Operators to simulate: all, none, or of training,runai,volumes. A real one needs its own left out.",
        ),
        click.option("--bin-dir", type=click.Path(path_type=Path), help="A folder with programs to prefer."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def lab_spec(
    *,
    name: str,
    nodes: int,
    engine: str,
    scheduler: str | None,
    kubelet: str,
    heartbeats: str,
    profile: str,
    settings: tuple[str, ...],
    scheduler_config: Path | None,
    feature_gates: tuple[str, ...],
    runtime_config: tuple[str, ...],
    audit_log: bool,
    ha: str,
    stages: tuple[Path, ...],
    cluster_stages: bool,
    operators: str,
    bin_dir: Path | None,
    time: str = "real",
    seed: int = 0,
) -> Any:
    """The checked LabSpec that the options mean."""
    import os

    from kubedyno.lab import spec as specs
    from kubedyno.plane import settings as plane_settings
    from kubedyno.sim.kubelet.plans import job_times

    return specs.check(
        specs.LabSpec(
            name=name,
            nodes=nodes,
            engine=engine,
            scheduler=scheduler or specs.DEFAULT_SCHEDULERS.get(engine, specs.NO_SCHEDULER),
            kubelet=kubelet,
            heartbeats=heartbeats,
            profile=profile,
            time=time,
            seed=seed,
            settings=plane_settings.parse(settings),
            scheduler_config=_read_config(scheduler_config),
            feature_gates=specs.parse_gates(feature_gates),
            runtime_config=specs.parse_runtime_config(runtime_config),
            audit_log=audit_log,
            ha=ha,  # type: ignore[arg-type] # checked by specs.check
            stages=tuple(str(path.absolute()) for path in stages),
            cluster_stages=cluster_stages,
            job_times=job_times(os.environ),
            operators=specs.parse_operators(operators),
            bin_dir=str(bin_dir.absolute()) if bin_dir else None,
            debug=bool(click.get_current_context().find_root().params.get("debug")),
        )
    )


def _read_config(path: Path | None) -> Mapping[str, Any]:
    if path is None:
        return {}
    from kubedyno.kit.errors import UsageError
    from kubedyno.kube import codec

    try:
        documents = codec.read_yaml(path.read_bytes(), source=str(path))
    except OSError as error:
        raise UsageError(f"--scheduler-config {path}: {error.strerror}") from error
    if len(documents) != 1:
        raise UsageError(f"--scheduler-config {path}: holds {len(documents)} documents; give one")
    return documents[0]
