"""`kubedyno nodes fail` and `kubedyno nodes recover`."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from kubedyno.cli.selection import cluster_options, in_cluster

if TYPE_CHECKING:
    from kubedyno.sim.faults.injecting import Injection, Injector
    from kubedyno.sim.faults.selecting import Selection

Command = TypeVar("Command", bound=Callable[..., Any])

_UNCORDON: Final = "uncordon"
_NAMES_AT_MOST: Final = 8


def _selection_options(command: Command) -> Command:
    """Which nodes."""
    given = [
        click.argument("names", nargs=-1, metavar="[NODE]..."),
        click.option(
            "--pool", "pools", multiple=True, help="Nodes of this pool or NodePool; may be given several times."
        ),
        click.option("-l", "--selector", default="", help="Nodes with these labels, as kubectl takes them."),
        click.option(
            "--in",
            "within",
            multiple=True,
            metavar="LEVEL=VALUE",
            help="Nodes at this place of the topology: rack=zone-0-rack-3, or any label.",
        ),
        click.option("--all", "everything", is_flag=True, help="All nodes."),
        click.option(
            "--by",
            default="node",
            show_default=True,
            help="What fails together, always as a whole: node, rack, zone, or the key of a label.",
        ),
        click.option("--number", type=int, help="Draw so many of the nodes, or of what fails together."),
        click.option("--share", type=float, help="Draw this share instead: 0.1 is a tenth."),
        click.option("--seed", default=0, show_default=True, help="Of all that is drawn: the same one draws the same."),
        click.option("--json", "as_json", is_flag=True, help="Print each line as a JSON object."),
    ]
    for option in reversed(given):
        command = option(command)
    return command


def _fault_options(command: Command) -> Command:
    """What belongs to single kinds."""
    given = [
        click.option("--gpus", help="gpu-lost: indexes like 0,3, or any:2 for two of each node. Default: any:1."),
        click.option(
            "--cause", help="not-ready, flapping: network (pods go on and may end) | runtime (no work at all)."
        ),
        click.option("--period", help="flapping: how long one turn takes. Default: 60s."),
        click.option("--down-share", help="flapping: the part of it that the node is not ready. Default: 0.5."),
        click.option("--factor", help="slow-start: starts take so many times as long."),
        click.option(
            "--extra",
            help="slow-start: and so much longer; slow-status: so much later, 5s by default. "
            "A duration or distribution like uniform(5s, 20s).",
        ),
        click.option(
            "--pod-share", help="pod-failure, admission, misreport: the share of the pods that it meets. Default: 1."
        ),
        click.option("--exit-code", help="pod-failure: with what their containers end. Default: 1."),
        click.option("--after", help="pod-failure: how long they run before. Default: 0s."),
        click.option("--state", help="kubelet-restart: kept | lost (its record of devices, CPUs and memory)."),
        click.option(
            "--what",
            help="misreport: no-numa | negative-numa | several-numa | stale | allocatable | hidden-pods.",
        ),
        click.option(
            "--resource", help="misreport: what is told wrongly. Default: all devices; with allocatable: cpu."
        ),
        click.option("--amount", help="misreport allocatable: how much more, or with a minus how much less."),
        click.option("--how", help="views-unavailable: error | timeout | refused. Default: error."),
        click.option("--delay", help="views-unavailable timeout: when the answer comes. Default: 15s."),
        click.option("--verdict", help="admission: accepts (what does not fit) | rejects (what fits)."),
        click.option("--reason", help="admission rejects: what it says. Default: TopologyAffinityError."),
        click.option("--grace-period", help="drain: seconds that pods get to end, instead of what they ask for."),
    ]
    for option in reversed(given):
        command = option(command)
    return command


@click.command("fail")
@click.argument("kind")
@_selection_options
@click.option("--for", "for_", metavar="DURATION", help="Recover after this time.")
@click.option("--rate", metavar="N/TIME", help="Fail again and again, each node at this rate: 0.5/h.")
@click.option("--mttr", metavar="DURATION", help="With --rate: how long each outage lasts, also drawn. Default: 5m.")
@click.option("--during", metavar="DURATION", help="With --rate: how long to go on.")
@click.option("--keep", is_flag=True, help="Do not wait: faults end by themselves at their time.")
@_fault_options
@cluster_options
def fail(
    *,
    kind: str,
    for_: str | None,
    rate: str | None,
    mttr: str | None,
    during: str | None,
    keep: bool,
    **given: Any,
) -> None:
    """Let nodes fail.

    \b
    KIND is what happens to them:
      crash              nothing is heard of the node
      not-ready          its kubelet says that it is not ready (--cause)
      flapping           not ready and ready by turns (--period, --down-share, --cause)
      slow-start         pods take longer to start (--factor, --extra)
      pod-failure        containers end with an error (--pod-share, --exit-code, --after)
      gpu-lost           GPUs cannot be used (--gpus)
      kubelet-restart    the kubelet is away for a moment (--state)
      misreport          the pod-resources API tells what is not so (--what, ...)
      views-unavailable  the pod-resources API does not answer (--how, --delay)
      admission          pods are taken or refused wrongly (--verdict, --reason, --pod-share)
      slow-status        statuses of pods are written late (--extra)
      cordon, uncordon, drain (--grace-period): as with kubectl

    It stays until `kubedyno nodes recover`. With --for or --rate, nodes have recovered when the command ends or is
    interrupted.
    """  # noqa: D301 - click's mark for lines that are not to be filled
    from kubedyno.sim.faults import asking
    from kubedyno.sim.faults.fault import check_kind

    check_kind(kind, (*asking.KINDS, _UNCORDON))
    own = {name: given.pop(name.replace("-", "_")) for name in asking.OPTIONS}
    timing = asking.timing(for_=for_, rate=rate, mttr=mttr, during=during)
    nodes = _nodes(given)
    if kind == _UNCORDON:
        if timing != asking.timing() or any(value is not None for value in own.values()):
            from kubedyno.kit.errors import UsageError

            raise UsageError("uncordon: it takes nodes and nothing else")
        _act(lambda injector: injector.uncordon(nodes), given)
        return
    trouble = asking.trouble(kind, {name: value for name, value in own.items() if value is not None})
    _act(lambda injector: injector.fail(trouble, nodes, timing, keep=keep), given)


@click.command("recover")
@_selection_options
@cluster_options
def recover(**given: Any) -> None:
    """Take all faults and cordons from nodes."""
    nodes = _nodes(given)
    _act(lambda injector: injector.recover(nodes), given)


def add(group: click.Group) -> None:
    """Make both commands part of `kubedyno nodes`."""
    group.add_command(fail)
    group.add_command(recover)


def _nodes(given: dict[str, Any]) -> "Selection":
    from kubedyno.sim.faults.selecting import Selection

    return Selection(
        names=given.pop("names"),
        pools=given.pop("pools"),
        labels=given.pop("selector"),
        within=given.pop("within"),
        everything=given.pop("everything"),
        by=given.pop("by"),
        number=given.pop("number"),
        share=given.pop("share"),
    )


def _act(act: "Callable[[Injector], Awaitable[object]]", given: dict[str, Any]) -> None:
    """Do it in the cluster that is meant, and print what was done while it is done."""
    from kubedyno.sim.faults.injecting import Injector

    seed, tell = given.pop("seed"), _print_json if given.pop("as_json") else _print
    in_cluster(lambda client: act(Injector(client, client.clock, seed=seed, tell=tell)), given)


def _print_json(injection: "Injection") -> None:
    import msgspec

    click.echo(msgspec.json.encode(injection))


def _print(injection: "Injection") -> None:
    names = ", ".join(injection.nodes[:_NAMES_AT_MOST])
    more = len(injection.nodes) - _NAMES_AT_MOST
    if more > 0:
        names += f" and {more} more"
    if injection.domain and injection.nodes != (injection.domain,):
        names = f"{injection.domain} ({names})"
    until = f"  until {_clock_time(injection.until)}" if injection.until else ""
    click.echo(f"{_clock_time(injection.at)}  {injection.event:<9}  {injection.kind:<17}  {names}{until}")


def _clock_time(stamp: str) -> str:
    return f"{stamp[11:19]}Z"
