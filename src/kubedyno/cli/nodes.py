"""`kubedyno nodes`."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from kubedyno.cli import nodes_fail
from kubedyno.cli.selection import cluster_options, in_cluster

if TYPE_CHECKING:
    from kubedyno.client.rest import Client
    from kubedyno.kube.codec import Object
    from kubedyno.sim.pools.applying import Applied

_VERBS: Final = (("create", "created"), ("change", "changed"), ("replace", "replaced"), ("delete", "deleted"))

_dry_run = click.option("--dry-run", is_flag=True, help="Say what would change, and change nothing.")
_as_json = click.option("--json", "as_json", is_flag=True, help="Print what was done as JSON.")


@click.group("nodes")
def command() -> None:
    """Simulated nodes of a lab or cluster: pools of them, and what befalls them."""


@command.command("apply")
@click.option(
    "-f",
    "files",
    multiple=True,
    required=True,
    type=click.Path(path_type=Path),
    help="A file with pools or NodePools; may be given several times.",
)
@_dry_run
@_as_json
@cluster_options
def apply(*, files: tuple[Path, ...], dry_run: bool, as_json: bool, **cluster: Any) -> None:
    """Create and change pools as files say.

    Nodes are created, changed in place, or deleted, until each pool is what its file says, and new ones are Ready.
    Pools that no file names stay as they are.
    """
    from kubedyno.sim.pools import applying, reading, sending

    wanted = reading.read_files(files)

    async def work(client: "Client") -> "tuple[list[Applied], list[Object]]":
        node_pools = [
            await client.apply(document, field_manager=sending.FIELD_MANAGER, force=True, dry_run=dry_run)
            for document in wanted.objects
        ]
        return await applying.apply(client, wanted.pools, dry_run=dry_run), node_pools

    applied, node_pools = in_cluster(work, cluster, what="applying pools")
    _tell(applied, dry_run=dry_run, as_json=as_json, node_pools=node_pools)


@command.command("scale")
@click.argument("sizes", nargs=-1, required=True, metavar="POOL=COUNT...")
@_dry_run
@_as_json
@cluster_options
def scale(*, sizes: tuple[str, ...], dry_run: bool, as_json: bool, **cluster: Any) -> None:
    """Change how many nodes pools have.

    Nodes with the highest numbers go first.
    """
    from kubedyno.sim.pools import applying

    counts = _counts(sizes)
    scaled = in_cluster(lambda client: applying.scale(client, counts, dry_run=dry_run), cluster, what="scaling pools")
    _tell(scaled, dry_run=dry_run, as_json=as_json)


@command.command("delete")
@click.argument("pools", nargs=-1, required=True, metavar="POOL...")
@_dry_run
@_as_json
@cluster_options
def delete(*, pools: tuple[str, ...], dry_run: bool, as_json: bool, **cluster: Any) -> None:
    """Delete pools with all their nodes."""
    from kubedyno.sim.pools import applying

    deleted = in_cluster(lambda client: applying.delete(client, pools, dry_run=dry_run), cluster, what="deleting pools")
    _tell(deleted, dry_run=dry_run, as_json=as_json)


@command.command("snapshot")
@click.option("-o", "output", type=click.Path(path_type=Path), help="The file to write; without it, standard output.")
@cluster_options
def snapshot(*, output: Path | None, **cluster: Any) -> None:
    """Write pools that are like a cluster's nodes.

    Names, addresses and other identities are left out.
    """
    from kubedyno.kit.durable import write_atomic
    from kubedyno.kit.errors import UsageError
    from kubedyno.kube.resources import NODES
    from kubedyno.sim.pools import snapshotting, writing

    nodes = in_cluster(lambda client: client.list_all(NODES), cluster, what="reading the nodes").items
    pools = snapshotting.pools(nodes)
    if output is None:
        click.echo(writing.text(pools), nl=False)
        return
    try:
        write_atomic(output, writing.text(pools))
    except OSError as error:
        raise UsageError(f"-o {output}: {error.strerror}; name a file that can be written") from error
    click.echo(f"{output}: {_counted(len(pools), 'pool')} like {_counted(len(nodes), 'node')}")


def _counts(sizes: Sequence[str]) -> dict[str, int]:
    from kubedyno.kit.errors import UsageError

    counts: dict[str, int] = {}
    for size in sizes:
        pool, equals, number = size.partition("=")
        if not (pool and equals and number.isdecimal()):
            raise UsageError(f"{size}: write a pool and how many nodes it gets, like gpu=500")
        if pool in counts:
            raise UsageError(f"{size}: pool {pool} is named twice; leave one out")
        counts[pool] = int(number)
    return counts


def _tell(applied: "Sequence[Applied]", *, dry_run: bool, as_json: bool, node_pools: "Iterable[Object]" = ()) -> None:
    import msgspec

    if as_json:
        names = [document["metadata"]["name"] for document in node_pools]
        told = {"pools": applied, "nodePools": names, "dryRun": dry_run}
        click.echo(msgspec.json.format(msgspec.json.encode(told)).decode())
        return
    done_to = "NodePool to apply" if dry_run else "NodePool applied"
    rows = [(document["metadata"]["name"], document["spec"]["nodeCount"], done_to) for document in node_pools]
    for pool in applied:
        numbers = (pool.created, pool.changed, pool.replaced, pool.deleted)
        done = [
            f"{number} to {verb}" if dry_run else f"{number} {past}"
            for number, (verb, past) in zip(numbers, _VERBS, strict=True)
            if number
        ]
        rows.append((pool.pool, pool.size, ", ".join(done) or "nothing to change"))
    name_width = max((len(name) for name, _, _ in rows), default=0)
    size_width = max((len(str(size)) for _, size, _ in rows), default=0)
    for name, size, what in rows:
        unit = "node " if size == 1 else "nodes"
        click.echo(f"{name:<{name_width}}  {size:>{size_width}} {unit}  {what}")


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


nodes_fail.add(command)
