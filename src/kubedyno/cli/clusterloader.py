"""`kubedyno clusterloader`."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from kubedyno.cli import grounding, options
from kubedyno.cli.options import Command

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kubedyno.clusterloader.trials import Test
    from kubedyno.lab.matrix import Trial
    from kubedyno.lab.selecting import Selection
    from kubedyno.lab.spec import LabSpec

_RUNS: Final = "kubedyno"
"""Folder of our own records within the report folder."""
_OTHERS_SCHEDULER: Final = "kube-scheduler"
"""What a cluster has of which nobody says what it has."""
_TELLS_SUMMARIES: Final = 2
_OF_THE_RUN: Final = frozenset(
    {"testconfig", "testsuite", "testoverrides", "nodes", "provider", "report_dir", "image_registry", "kubeconfig"}
    | {
        "context",
        "name",
        "keep",
        "skip_steps",
        "overwrite_test_config",
        "enable_exec_service",
        "prometheus_url",
        "dry_run",
        "verbosity",
        "seed",
        "out",
    }
    | {"scheduler"}
)
"""Options that do not say what a lab is to be."""


_WITHOUT_EFFECT: Final = {
    "alsologtostderr": "what is told is told anyway",
    "logtostderr": "what is told is told anyway",
    "k8s-clients-number": "there is one client, without a limit",
    "enable-prometheus-server": "no server is needed",
    "tear-down-prometheus-server": "no server is needed",
    "prometheus-memory-request": "no server is needed",
    "prometheus-ready-timeout": "no server is needed",
    "prometheus-scrape-etcd": "no server is needed",
    "prometheus-scrape-kube-proxy": "no server is needed",
    "prometheus-scrape-kubelets": "no server is needed",
    "prometheus-scrape-node-exporter": "no server is needed",
    "skip-cluster-verification": "nothing is verified that would have to be",
    "node-preload-images": "simulated nodes load no images",
    "delete-stale-resources": "namespace.deleteStaleNamespaces in the config does it",
    "masterip": "components are found without it",
    "mastername": "components are found without it",
    "master-internal-ip": "components are found without it",
    "port": "nothing is served",
}
"""Flags of ClusterLoader2 that mean nothing here, and why."""


def _flag(name: str, *, help: str) -> "Callable[[Command], Command]":  # noqa: A002 - as click calls it
    """A flag as Go's are: `--flag`, `--flag=true`, `--flag=false`."""
    return click.option(name, is_flag=False, flag_value="true", default="false", type=click.BOOL, help=help)


def _with_flags_without_effect(command: Command) -> Command:
    """The command that also takes those, and says that they have none."""

    def tell(context: click.Context, option: click.Parameter, value: str | None) -> None:
        del context
        if value is not None:
            name = option.opts[0]
            click.echo(f"warning: {name} has no effect here: {_WITHOUT_EFFECT[name[2:]]}", err=True)

    for name in _WITHOUT_EFFECT:
        option = click.option(
            f"--{name}",
            is_flag=False,
            flag_value="true",
            default=None,
            hidden=True,
            expose_value=False,
            callback=tell,
            help=_WITHOUT_EFFECT[name],
        )
        command = option(command)
    return command


@click.command("clusterloader")
@_with_flags_without_effect
@click.option("--testconfig", multiple=True, metavar="FILE", help="A config to run; several times: one after another.")
@click.option("--testsuite", metavar="FILE", help="A list of configs with their overrides, instead of --testconfig.")
@click.option("--testoverrides", multiple=True, metavar="FILE", help="Values for templates; later files win.")
@click.option(
    "--nodes", type=int, envvar="NUM_NODES", help="What .Nodes is; so many are made unless a dependency does."
)
@click.option("--provider", default="kubedyno", show_default=True, help="Written into the report; nothing else.")
@click.option("--report-dir", type=click.Path(path_type=Path), help="Where summaries, junit.xml and our records go.")
@click.option(
    "--registry-k8s-repo",
    "image_registry",
    default="images.example",
    show_default=True,
    help="What .ImageRegistry is; simulated nodes load no images.",
)
@click.option("--kubeconfig", type=click.Path(path_type=Path), help="Run on this cluster; KUBECONFIG does the same.")
@click.option("--context", help="One of its contexts.")
@click.option("--name", metavar="LAB", help="Run on this lab, which is made where it is not there, and stays.")
@click.option("--keep", is_flag=True, help="Leave the lab and its nodes up, and print how to reach it.")
@click.option("--skip-steps", multiple=True, metavar="NAME", help="Leave out steps of this name.")
@click.option(
    "--overwrite-test-config", multiple=True, metavar="PATH=VALUE", help="Set a field of the compiled config."
)
@_flag("--enable-exec-service", help="Let Exec run programs on this machine.")
@click.option(
    "--prometheus-url", default="", metavar="URL", help="Ask this Prometheus server instead of scraping ourselves."
)
@_flag("--dry-run", help="Compile, print the generated config, and run nothing.")
@click.option("--v", "verbosity", type=int, default=0, envvar="KLOG_V", metavar="LEVEL", help="2 and more: tell more.")
@click.option("--seed", default=0, show_default=True, help="Seed of all randomness.")
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path("runs"), show_default=True, help="Without a report folder."
)
@click.option("--time", default="real", show_default=True, help="real | virtual: no waiting; embedded engine.")
@options.lab_options
def command(
    *,
    testconfig: tuple[str, ...],
    testsuite: str | None,
    testoverrides: tuple[str, ...],
    nodes: int | None,
    provider: str,
    report_dir: Path | None,
    image_registry: str,
    kubeconfig: Path | None,
    context: str | None,
    name: str | None,
    keep: bool,
    skip_steps: tuple[str, ...],
    overwrite_test_config: tuple[str, ...],
    enable_exec_service: bool,
    prometheus_url: str,
    dry_run: bool,
    verbosity: int,
    seed: int,
    out: Path,
    time: str,
    **lab: Any,
) -> None:
    """Run ClusterLoader2's configs: on a lab of their own, or on a cluster.

    Without --kubeconfig and KUBECONFIG they run on the embedded engine; --engine local is the real API server.
    """
    from kubedyno.clusterloader import assembling, unattended
    from kubedyno.clusterloader.assembling import Asked
    from kubedyno.clusterloader.reporting import folders
    from kubedyno.kit import tasks
    from kubedyno.kit.clock import RealClock
    from kubedyno.kit.errors import UsageError
    from kubedyno.lab.selecting import Selection

    is_foreign = not (keep or name) and _is_foreign(kubeconfig, context)
    asked = Asked(
        configs=testconfig,
        suite=testsuite or "",
        overrides=testoverrides,
        nodes=nodes,
        image_registry=image_registry,
        skip_steps=skip_steps,
        overwrites=overwrite_test_config,
        seed=seed,
        may_execute=enable_exec_service,
        prometheus_url=prometheus_url,
        keeps=keep or name is not None,
        is_foreign=is_foreign,
        nodes_there=_nodes_there(kubeconfig, context) if is_foreign and nodes is None else 0,
        environment=os.environ,
    )
    if prometheus_url and time == "virtual":
        raise UsageError("--prometheus-url needs --time real: a server's samples are of real time")
    tests = assembling.tests(asked)
    # The tests of a suite are often one config with several overrides.
    for remark in dict.fromkeys(str(remark) for test in tests for remark in test.config.remarks):
        click.echo(f"warning: {remark}", err=True)
    if dry_run:
        for test in tests:
            click.echo(f"# {test.config.path}\n{test.config.generated}", nl=False)
        return
    if report_dir is not None:
        folders.write_configs(report_dir, [test.config for test in tests])
    run_id = grounding.new_id(RealClock().wall_ns())
    stays = name or (f"cl2-{run_id.rpartition('-')[2]}" if keep else None)
    where = Selection(kubeconfig=kubeconfig, context=context, name=stays)
    ground, spec = _ground(run_id, where, seed, {"time": time, **lab})
    if spec.engine == "embedded":
        for remark in dict.fromkeys(unattended.remarks(tests)):
            click.echo(f"warning: {remark}", err=True)
    trials = _trials(tests, spec, run_id)
    click.echo(grounding.headline(run_id, [spec], trials, ground))
    from kubedyno.cli.performing import Run, perform

    run = Run(id=run_id, trials=trials, out=out if report_dir is None else report_dir / _RUNS, others=ground)
    try:
        code = tasks.run(lambda: perform(run), virtual=run.is_virtual)
    finally:
        _report(tests, report_dir, provider=provider, verbosity=verbosity)
    sys.exit(code)


def _is_foreign(kubeconfig: Path | None, context: str | None) -> bool:
    """Whether the tests are to run on a cluster that is no lab of this run's."""
    return bool(kubeconfig or context or os.environ.get("KUBECONFIG"))


def _nodes_there(kubeconfig: Path | None, context: str | None) -> int:
    """How many nodes the cluster has for pods."""
    from kubedyno.clusterloader import node_count
    from kubedyno.kit import tasks
    from kubedyno.lab import selecting
    from kubedyno.lab.selecting import Selection

    async def count() -> int:
        async with selecting.selected(Selection(kubeconfig=kubeconfig, context=context)) as client:
            return await node_count.nodes_there(client)

    return tasks.run(count)


def _ground(run_id: str, where: "Selection", seed: int, lab: "Mapping[str, Any]") -> "tuple[Selection | None, LabSpec]":
    """What the tests run on, None: a lab of their own; and what that is."""
    if where.name is not None:
        return where, _staying(where.name, seed, lab)
    if not _is_foreign(where.kubeconfig, where.context):
        spec: LabSpec = options.lab_spec(name=f"run-{run_id}", nodes=0, seed=seed, **lab)
        return None, spec
    scheduler = lab["scheduler"] or _OTHERS_SCHEDULER
    return where, grounding.others_spec(where, (scheduler,), seed, of_the_run=_OF_THE_RUN)


def _staying(name: str, seed: int, lab: "Mapping[str, Any]") -> "LabSpec":
    """The lab that stays: the one of that name, or a new one."""
    import shlex

    from kubedyno.cli.progress import renderer
    from kubedyno.kit import places, tasks
    from kubedyno.lab import folders, launching, selecting
    from kubedyno.lab.selecting import Selection

    folder = folders.folder(places.state_dir(), name)
    if any(one.name == name for one in selecting.running_labs(os.environ)):
        return grounding.others_spec(Selection(name=name), (), seed, of_the_run=_OF_THE_RUN)
    spec: LabSpec = options.lab_spec(name=name, nodes=0, seed=seed, **lab)
    kubeconfig = tasks.run(lambda: launching.launch(folder, spec, renderer()))
    click.echo(f"export KUBECONFIG={shlex.quote(str(kubeconfig))}")
    return spec


def _trials(tests: "Sequence[Test]", spec: "LabSpec", run_id: str) -> "list[Trial]":
    from kubedyno.lab import matrix

    chosen = [(test.scenario, [test.scenario.with_defaults({})]) for test in tests]
    return matrix.trials(chosen, [spec], matrix.Order(run_id=run_id), {})


def _report(tests: "Sequence[Test]", report_dir: Path | None, *, provider: str, verbosity: int) -> None:
    """Write the report folder, also of a run that was ended; without one the summaries are printed."""
    from kubedyno.clusterloader.reporting import folders, metadata

    for text in dict.fromkeys(text for test in tests for text in test.played.remarks):
        click.echo(f"warning: {text}", err=True)
    if report_dir is not None:
        facts = metadata.facts(
            provider=provider,
            nodes=max(test.nodes for test in tests),
            kubernetes_version=max(test.played.kubernetes_version for test in tests),
        )
        folders.write(report_dir, [test.told for test in tests], facts=facts)
        click.echo(f"the report is in {report_dir}")
    elif verbosity >= _TELLS_SUMMARIES:
        for test in tests:
            for one in test.played.gathered:
                click.echo(f"{one.summary.name}:\n{one.summary.shown}", nl=False)
